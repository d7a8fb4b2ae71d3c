"""
A scoring service
=================

A model in a file, and a service that loads it and scores one row of JSON at a time, with Python's standard library.
The rows are 178 wines of three cultivars in Italy, with thirteen chemical measurements.
"""

import json
import tempfile
import threading
import urllib.error
import urllib.request
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import evlearn
from evlearn.classify import EvidentialKNNClassifier

wines = load_wine(as_frame=True)
cultivar = wines.target.map(dict(enumerate(["Barolo", "Grignolino", "Barbera"])))
train = wines.data.index % 2 == 0
fitted = make_pipeline(StandardScaler(), EvidentialKNNClassifier())
fitted.fit(wines.data[train], cultivar[train])

# %%
# Somebody who fits a model writes it to a file. It is JSON, and nothing in it is run when it is read.
file = Path(tempfile.mkdtemp()) / "wines.json"
evlearn.save_model(fitted, file)


# %%
# The service loads it once. An answer has the class, the verdict, and the masses in words. What the library refuses
# is an answer with the status 400 and its message: what is wrong, and what to do.
model = evlearn.load_model(file)
names = list(model.feature_names_in_)


def score(request):
    """What the model says of one row, given as a JSON object with the names of the features."""
    row = json.loads(request)
    if not isinstance(row, dict) or set(row) != set(names):
        raise ValueError(f"give a JSON object with the keys {', '.join(names)}.")
    said = evlearn.predict_mass(model, pd.DataFrame([row], columns=names))
    verdict, classes = said.verdict(), list(said.focal_sets.frame)
    masses = {}
    for members, mass in zip(said.focal_sets.membership, said.masses[0], strict=True):
        if mass >= 0.0001:
            inside = [name for name, here in zip(classes, members, strict=True) if here]
            words = (
                "any of them" if len(inside) == len(classes) else " or ".join(inside)
            )
            masses[words or "none of them"] = round(float(mass), 4)
    kinds = {"sure": verdict.sure[0], "torn": verdict.torn[0]}
    return {
        "class": classes[said.to_hard()[0]],
        "verdict": next((kind for kind, is_so in kinds.items() if is_so), "outlier"),
        "masses": masses,
    }


def application(environ, start_response):
    """A WSGI application: any server that runs these can take its place."""
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
# It runs in a thread here, and in a process elsewhere. Put a server with authentication and encryption before it.
class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


server = make_server("127.0.0.1", 0, application, handler_class=Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()


def ask(row):
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.server_port}", json.dumps(row).encode()
    )
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


# %%
# A wine that the model has not seen; the same wine with three values that nobody measured; and with ten times the
# magnesium, as if somebody had taken another unit: it is unlike all that the model knows.
wine = wines.data.loc[61].to_dict()
gaps = wine | dict.fromkeys(["flavanoids", "color_intensity", "proline"])
strange = wine | {"magnesium": 10 * wine["magnesium"]}
answers = {"as it is": ask(wine), "three gaps": ask(gaps), "another unit": ask(strange)}
for status, answer in answers.values():
    print(status, answer)

# %%
# Bad requests are refused, and the service goes on.
for row in ({"alcohol": 13.0}, wine | {"alcohol": "strong"}, [1, 2, 3]):
    status, answer = ask(row)
    print(status, answer["error"][:90])

# %%
# What the model says of the three wines: the less it knows, the more mass is on all classes together.
table = pd.DataFrame({name: answer["masses"] for name, (_, answer) in answers.items()})
ax = table.fillna(0).T.plot.barh(stacked=True, figsize=(7, 2.6), colormap="viridis")
ax.set(xlabel="mass", xlim=(0, 1))
ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
ax.invert_yaxis()
plt.tight_layout()

server.shutdown()
server.server_close()
