"""
A scoring service
=================

This example implements a service that loads a model from a file and scores single rows in JSON, with Python's
standard library. The rows are 178 wines of 3 cultivars from Italy, with 13 chemical measurements.
"""

import json
import tempfile
import threading
import urllib.error
import urllib.request
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import evlearn
from evlearn.classify import EvidentialKNNClassifier

wines = load_wine(as_frame=True)
names = list(wines.data.columns)
cultivar = wines.target.map(dict(enumerate(["Barolo", "Grignolino", "Barbera"])))
train = wines.data.index % 2 == 0
fitted = make_pipeline(StandardScaler(), EvidentialKNNClassifier())
fitted.fit(wines.data[train].to_numpy(), cultivar[train])

# %%
# After the fit, the model is saved as a JSON file. Loading it does not execute any code.
file = Path(tempfile.mkdtemp()) / "wines.json"
evlearn.save_model(fitted, file)


# %%
# The service loads the model once. It was fitted to an array, because for a single row the construction of a frame
# and its checks take 10 times as long as the prediction. A response contains the most plausible cultivar, the verdict
# and its candidates as text, and the masses. Invalid input results in a response with status 400 and an error message
# with a remedy.
model = evlearn.load_model(file)


def score(request):
    """Return the prediction for one row, given as a JSON object with the names of the features."""
    row = json.loads(request)
    if not isinstance(row, dict) or set(row) != set(names):
        raise ValueError(f"give a JSON object with the keys {', '.join(names)}.")
    values = np.array(
        [[row[name] for name in names]], dtype=np.float64
    )  # null becomes NaN
    prediction = evlearn.predict_mass(model, values)
    sets, verdict = prediction.focal_sets, prediction.verdict()
    return {
        "cluster": sets.names[prediction.to_hard()[0]],
        "verdict": "sure"
        if verdict.sure[0]
        else "torn"
        if verdict.torn[0]
        else "outlier",
        "candidates": verdict.labels(sets.names)[0],
        "doubt": round(float(prediction.doubt()[0]), 4),
        "masses": dict(
            zip(sets.labels, prediction.masses[0].round(4).tolist(), strict=True)
        ),
    }


def application(environ, start_response):
    """Respond to a WSGI request; any WSGI server can run this function."""
    try:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        status, answer = "200 OK", score(environ["wsgi.input"].read(length))
    except (TypeError, ValueError) as error:
        status, answer = "400 Bad Request", {"error": str(error)}
    body = json.dumps(answer).encode()
    head = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    start_response(status, head)
    return [body]


# %%
# Here the server runs in a thread. In production, run it in a separate process behind a server with authentication
# and encryption.
class SilentHandler(WSGIRequestHandler):
    def log_message(self, *_):
        pass


server = make_server("127.0.0.1", 0, application, handler_class=SilentHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()


def send_request(row):
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.server_port}", json.dumps(row).encode()
    )
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


# %%
# The first request is a wine that was not used for training; in the second one, 3 values are missing; in the third
# one, the magnesium is multiplied by 10, as if measured in another unit, so it differs from all training samples.
wine = wines.data.loc[61].to_dict()
incomplete = wine | dict.fromkeys(["flavanoids", "color_intensity", "proline"])
scaled = wine | {"magnesium": 10 * wine["magnesium"]}
answers = {
    "original": send_request(wine),
    "three missing values": send_request(incomplete),
    "another unit": send_request(scaled),
}
for status, answer in answers.values():
    print(status, answer)

# %%
# Invalid requests are rejected without stopping the service.
for row in ({"alcohol": 13.0}, wine | {"alcohol": "strong"}, [1, 2, 3]):
    status, answer = send_request(row)
    print(status, answer["error"][:90])

# %%
# The figure shows the masses of the 3 wines: with less information, more mass is on the set of all classes.
table = pd.DataFrame({name: answer["masses"] for name, (_, answer) in answers.items()})
ax = table.fillna(0).T.plot.barh(stacked=True, figsize=(7, 2.6), colormap="viridis")
ax.set(xlabel="mass", xlim=(0, 1))
ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
ax.invert_yaxis()
plt.tight_layout()

server.shutdown()
server.server_close()
