"""The grid of the robustness study: every estimator and every hostile input, in a process that is watched.

A cell is an estimator, what is asked of it (``fit``, ``new data``, ``parameters``) and an input. It ends as one of
`GOOD` or `FAILURES`. The process that runs cells is killed when one takes too long, and replaced when it dies.
"""

import copy
import dis
import importlib
import inspect
import multiprocessing
import traceback
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.utils._param_validation import InvalidParameterError

from benchmarks.studies.robustness import inputs
from evlearn.classify import EvidentialKNNClassifier
from evlearn.partition import CredalPartition

ROOMS = ("cluster", "classify", "mixture", "metric_learning", "neural", "ensemble")
GOOD = ("ok", "warned", "refused")
FAILURES = ("bad error", "bad message", "bad numbers", "other result", "NumPy warning", "hang", "crash")
SECONDS = 40
KINDS = (ValueError, TypeError, NotFittedError, FileNotFoundError, InvalidParameterError)

# Short fits: estimators that are not named here run as they are.
SETTINGS = {
    "BootClus": {"n_clusters": 3, "n_bootstrap": 8, "covariance_models": ["EII", "VVV"]},
    "ParsimoniousGaussianMixture": {"n_components": 3, "covariance_models": ["EII", "VVI", "VVV"], "n_init": 1},
    "NNEVCLUS": {"max_iter": 30, "tol": 0.01},
    "CredalEnsemble": {"clusterers": [KMeans(3, n_init=1), KMeans(3, n_init=2)], "n_clusters": 3},
    "BPEC": {"n_clusters": 3, "n_neighbors": 5},
    "EvidentialForestClassifier": {"n_estimators": 20},
    "FusionClassifier": {"estimators": [("near", EvidentialKNNClassifier())]},
    "EKNNClus": {"n_neighbors": 5},
}
VARIANTS = {
    "ECM, adaptive": ("ECM", {"metric": "adaptive"}),
    "CECM, adaptive": ("CECM", {"metric": "adaptive"}),
    "EVCLUS, landmarks": ("EVCLUS", {"solver": "landmark", "n_landmarks": 10}),
    "EVCLUS, stochastic": ("EVCLUS", {"solver": "stochastic"}),
    "ECMdd, weighted": ("ECMdd", {"medoids": "weighted"}),
    "ECMdd, median": ("ECMdd", {"medoids": "median"}),
}
OF_DISSIMILARITIES = ("EVCLUS", "RECM", "ECMdd", "EKNNClus", "NNEVCLUS")
# Parameters that are not numbers of the method: workers, what is printed.
NOT_TRIED = ("n_jobs", "verbose")


@dataclass(frozen=True)
class Subject:
    """An estimator as it is tried."""

    cls: type
    settings: dict
    precomputed: bool = False

    def make(self, **settings):
        """A new estimator."""
        seed = {"random_state": 0} if "random_state" in self.parameters else {}
        kind = {"metric": "precomputed"} if self.precomputed else {}
        return self.cls(**copy.deepcopy(seed | kind | self.settings | settings))

    @property
    def parameters(self):
        """The names of its parameters."""
        return list(inspect.signature(self.cls).parameters)

    @property
    def data(self):
        """Good data of its kind."""
        X, y = inputs.good_data()
        return (pairwise_distances(X) if self.precomputed else X), y

    @property
    def takes(self):
        """The arguments of its ``fit``."""
        return list(inspect.signature(self.cls.fit).parameters)

    @property
    def inputs(self):
        """The inputs that mean something for it."""
        found = dict(inputs.FIT)
        if inspect.signature(self.cls.fit).parameters["y"].default is not None or "transform" in dir(self.cls):
            found |= inputs.LABELS
        if "constraints" in self.takes:
            found |= inputs.CONSTRAINTS
        return found | (inputs.DISSIMILARITIES if self.precomputed else {})


def subjects():
    """All public estimators, and variants of some."""
    found = {}
    for room in ROOMS:
        module = importlib.import_module(f"evlearn.{room}")
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) and issubclass(thing, BaseEstimator) and hasattr(thing, "fit"):
                found[name] = Subject(thing, SETTINGS.get(name, {}))
    for name, (base, settings) in VARIANTS.items():
        found[name] = Subject(found[base].cls, found[base].settings | settings)
    for name in OF_DISSIMILARITIES:
        found[f"{name}, dissimilarities"] = Subject(found[name].cls, found[name].settings, precomputed=True)
    return found


def cells(names=None, parameters=True):
    """All cells, as (subject, stage, input)."""
    for name, subject in subjects().items():
        if names and name not in names:
            continue
        yield from ((name, "fit", one) for one in subject.inputs)
        yield from ((name, "new data", one) for one in inputs.NEW)
        if not subject.precomputed:
            yield from ((name, "new data", one) for one in inputs.HEADERS)
        if parameters and name == subject.cls.__name__:
            tried = [one for one in subject.parameters if one not in NOT_TRIED]
            yield from ((name, "parameters", f"{one}={value}") for one in tried for value in inputs.PARAMETERS)


def watched(cells, seconds=SECONDS):
    """The outcomes of cells: (cell, (outcome, message)), run in a process that is watched."""
    watcher = None
    for cell in cells:
        watcher = watcher or Watched(serve)
        outcome = watcher.run(cell, seconds)
        if outcome[0] in ("hang", "crash"):
            watcher.close()
            watcher = None
        yield cell, outcome
    if watcher:
        watcher.close()


class Watched:
    """A process that does what it is sent, as `serve` does."""

    def __init__(self, serve):
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other,))
        self.process.start()
        other.close()
        self.pipe.recv()  # ready

    def run(self, cell, seconds):
        """The outcome of a cell, or of whatever is sent."""
        self.pipe.send(cell)
        if not self.pipe.poll(seconds):
            return "hang", f"not done after {seconds} seconds"
        try:
            return self.pipe.recv()
        except EOFError:
            self.process.join()
            return "crash", f"the process died with exit code {self.process.exitcode}"

    def close(self):
        """End the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def serve(pipe):
    """Run the cells that come, until nobody asks."""
    known = subjects()
    pipe.send("ready")
    fitted = {}
    while True:
        try:
            pipe.send(run(known, fitted, *pipe.recv()))
        except EOFError:
            return


def run(known, fitted, name, stage, which):
    """One cell, here and now: its outcome, and the message that a user sees."""
    subject = known[name]
    if name not in fitted:
        X, y = subject.data
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted[name] = subject.make().fit(X, y)
    work = {"fit": try_fit, "new data": try_new_data, "parameters": try_parameter}[stage]
    return judged(lambda: work(subject, fitted[name], which), subject)


def judged(work, subject):
    """The outcome of work that returns what is wrong with its result, or None."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            problem = work()
        except Exception as error:  # whatever it is: judging it is the purpose
            return judge_error(error, subject)
    return judge_result(problem, said)


def try_fit(subject, model, which):
    """Fit hostile data; what is wrong with the result, or None."""
    hostile = subject.inputs[which]
    X, y, arguments = hostile.apply(*subject.data)
    other = subject.make()
    other.fit(X, **({"y": y} | arguments))
    problem = wrong_numbers(other, X)
    if problem is None and hostile.harmless and which != "each row many times":
        return wrong_labels(other, X, *subject.data)
    return problem


def try_new_data(subject, model, which):
    """Predict for hostile data; what is wrong with the result, or None."""
    if which in inputs.HEADERS:
        return try_headers(subject, inputs.HEADERS[which])
    hostile = inputs.NEW[which]
    X, _, _ = hostile.apply(*subject.data)
    problem = wrong_predictions(model, X)
    if problem is None and hostile.harmless and "memory" in str(which):
        return wrong_labels(model, X, *subject.data)
    return problem


def try_headers(subject, change):
    """Predict for a frame whose columns are not those of the training; what is wrong if it is accepted."""
    X, y = subject.data
    frame = inputs.with_headers(X)
    model = subject.make().fit(frame, y)
    return wrong_predictions(model, change(frame)) or "labels for columns that are not those of the training"


def try_parameter(subject, model, which):
    """Fit good data with a hostile parameter; what is wrong with the result, or None."""
    parameter, value = which.split("=", 1)
    X, y = subject.data
    other = subject.make(**{parameter: inputs.PARAMETERS[value]})
    return wrong_numbers(other.fit(X, y), X)


def wrong_numbers(model, X):
    """What is wrong with a fitted model, or None."""
    for name in ("masses_", "components_", "cluster_centers_", "means_", "covariances_", "objective_"):
        value = getattr(model, name, None)
        if value is not None and not np.isfinite(np.asarray(value, dtype=np.float64)).all():
            return f"{name} is not finite"
    masses = getattr(model, "masses_", None)
    return (masses is not None and wrong_rows("masses_", masses)) or wrong_predictions(model, X)


def wrong_predictions(model, X):
    """What is wrong with predictions, or None."""
    for method in ("predict_mass", "predict_proba", "predict", "predict_set", "transform"):
        if not hasattr(model, method):
            continue
        found = getattr(model, method)(X)
        values = found.masses if isinstance(found, CredalPartition) else np.asarray(found)
        if method in ("predict_mass", "predict_proba") and (problem := wrong_rows(method, values)):
            return problem
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            return f"{method} gave values that are not finite"
    return None


def wrong_rows(name, values):
    """What is wrong with rows that should be masses or probabilities, or None."""
    values = np.asarray(values)
    limit = 1e-5 if values.dtype == np.float32 else 1e-10
    if not np.isfinite(values).all():
        return f"{name} gave NaN or inf"
    if (values < 0).any():
        return f"{name} gave negative values, the least {values.min():.3g}"
    error = np.abs(values.sum(axis=1, dtype=np.float64) - 1).max(initial=0)
    return f"{name} gave rows that sum to one within {error:.3g} only" if error > limit else None


def wrong_labels(model, X, good, y):
    """Whether clusters that nobody can miss were missed, where they were found in good data."""
    if not hasattr(model, "predict"):
        return None
    reference = copy.deepcopy(model).fit(good, y).predict(good)
    if adjusted_rand_score(reference, model.predict(X)) < 1:
        return "other labels than for the same data as they were"
    return None


def judge_result(problem, said):
    """The outcome of a call that came to its end."""
    numeric = [str(one.message) for one in said if issubclass(one.category, RuntimeWarning)]
    if problem:
        return ("other result" if "labels" in problem else "bad numbers"), problem
    if numeric:
        return "NumPy warning", numeric[0]
    messages = [f"{one.category.__name__}: {one.message}" for one in said]
    return ("warned", messages[0]) if messages else ("ok", "")


def judge_error(error, subject):
    """The outcome of a call that raised: an error is good if somebody wrote it for the user to read."""
    kind, message = type(error), str(error)
    told = f"{kind.__name__}: {message.splitlines()[0] if message else ''}"[:300]
    if kind not in KINDS or not raised_on_purpose(error):
        where = traceback.extract_tb(error.__traceback__)[-1]
        return "bad error", f"{told} [{where.filename.split('/')[-1]}:{where.lineno}]"
    if of_scikit_learn(error):
        return "refused", told
    words = {*subject.parameters, *subject.takes, "X", "array", "sample", "feature", "frame", "must_link"}
    return ("refused" if any(word in message for word in words) else "bad message"), told


def raised_on_purpose(error):
    """Whether a ``raise`` of ours or of scikit-learn made it, or scikit-learn's checks of data."""
    last = last_of(error)
    by_raise = dis.opname[last.tb_frame.f_code.co_code[last.tb_lasti]] == "RAISE_VARARGS"
    return of_scikit_learn(error) or (by_raise and package_of(last).split(".")[0] in ("evlearn", "sklearn"))


def of_scikit_learn(error):
    """Whether scikit-learn's checks of data and parameters made it: users know these messages."""
    if isinstance(error, InvalidParameterError):
        return True
    entries = [entry for entry, _ in traceback.walk_tb(error.__traceback__)]
    return any(entry.f_globals.get("__name__") == "sklearn.utils.validation" for entry in entries)


def package_of(entry):
    """The module of an entry of a traceback."""
    return entry.tb_frame.f_globals.get("__name__", "")


def last_of(error):
    """The entry of a traceback where the error was raised."""
    last = error.__traceback__
    while last.tb_next:
        last = last.tb_next
    return last
