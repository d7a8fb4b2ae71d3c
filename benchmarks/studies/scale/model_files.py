"""Model files of evlearn and skops: sizes, times, and types that a reader must trust.

``python -m benchmarks.studies.scale.model_files [--write]``

Each model is fitted to handwritten digits and written with `save_model` and with `skops.io.dump`, both without
compression; *bytes* include the ``.npz`` file of large arrays. Times are medians of `REPEATS` repetitions, in
milliseconds of CPU. *Equal* means that the loaded model predicts the labels of the fitted one for all samples.
*Types* is the number of types that a reader must list in skops (`trusted`), because it does not know them. If
skops cannot write or load a model, *failed* is its message.
"""

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import evlearn
from benchmarks.common import command_line, processes, record
from evlearn.classify import EvidentialForestClassifier, EvidentialKNNClassifier, EvidentialNeuralClassifier
from evlearn.cluster import CCM, ECM, EVCLUS
from evlearn.ensemble import CredalEnsemble

NAME, REPEATS, MAX_TEXT = "scale_model_files", 15, 100
MODELS = {
    "CCM": lambda: CCM(10, random_state=0),
    "ECM": lambda: ECM(10, random_state=0),
    "EVCLUS": lambda: EVCLUS(10, random_state=0),
    "CredalEnsemble": lambda: CredalEnsemble(n_clusters=10, random_state=0),
    "EvidentialKNNClassifier": lambda: EvidentialKNNClassifier(),
    "EvidentialNeuralClassifier": lambda: EvidentialNeuralClassifier(random_state=0),
    "EvidentialForestClassifier": lambda: EvidentialForestClassifier(random_state=0),
}


def milliseconds(function):
    """Return the median CPU time of a function."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        function()
        times.append(1e3 * (time.process_time() - start))
    return float(np.median(times))


def of_evlearn(model, X, folder):
    """Return the size and times of a model file of evlearn."""
    path = folder / "model.json"
    evlearn.save_model(model, path)
    return {
        "bytes": sum(file.stat().st_size for file in folder.iterdir()),
        "save": milliseconds(lambda: evlearn.save_model(model, path)),
        "load": milliseconds(lambda: evlearn.load_model(path)),
        "equal": bool(np.array_equal(evlearn.load_model(path).predict(X), model.predict(X))),
        "types": 0,
    }


def of_skops(model, X, folder):
    """Return the size and times of a file of skops, or its error message."""
    import skops.io

    path = folder / "model.skops"
    try:
        skops.io.dump(model, path)
        types = skops.io.get_untrusted_types(file=path)
        labels = skops.io.load(path, trusted=types).predict(X)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"[:MAX_TEXT]}
    return {
        "bytes": path.stat().st_size,
        "save": milliseconds(lambda: skops.io.dump(model, path)),
        "load": milliseconds(lambda: skops.io.load(path, trusted=types)),
        "equal": bool(np.array_equal(labels, model.predict(X))),
        "types": len(types),
    }


WRITERS = {"evlearn": of_evlearn, "skops": of_skops}


def main():
    warnings.simplefilter("ignore")
    processes.with_one_thread()
    reader = command_line.parser(__doc__)
    reader.add_argument("--write", action="store_true", help=f"write to results/{NAME}.json")
    arguments = reader.parse_args()
    X, y = load_digits(return_X_y=True)
    results = {}
    for name, make in MODELS.items():
        model, results[name] = make().fit(X, y), {}
        for writer, function in WRITERS.items():
            with tempfile.TemporaryDirectory() as folder:
                results[name][writer] = function(model, X, Path(folder))
        command_line.show(name, results[name])
    if arguments.write:
        record.write(NAME, {"samples": len(y), "models": results}, ("skops",))


if __name__ == "__main__":
    main()
