"""Grid of the robustness study: each estimator with each hostile input, in a monitored process.

A cell consists of an estimator, a stage (``fit``, ``new data``, ``parameters``) and an input. Its outcome is one
of `GOOD` or `FAILURES`. The process that runs cells is killed if a cell takes too long, and replaced if it dies.
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

PACKAGES = ("cluster", "classify", "mixture", "metric_learning", "neural", "ensemble")
GOOD = ("ok", "warned", "refused")
FAILURES = ("bad error", "bad message", "bad numbers", "other result", "NumPy warning", "hang", "crash")
SECONDS = 40
KINDS = (ValueError, TypeError, NotFittedError, FileNotFoundError, InvalidParameterError)

# Settings for fast fits; the defaults are used for all other estimators.
SETTINGS = {
    "BootClus": {"n_clusters": 3, "n_bootstrap": 8, "covariance_models": ["EII", "VVV"]},
    "ParsimoniousGaussianMixture": {"n_components": 3, "covariance_models": ["EII", "VVI", "VVV"], "n_init": 1},
    "NNEVCLUS": {"max_iter": 30, "tol": 0.01},
    "CredalClusterer": {"clusterer": KMeans(3, n_init=1)},
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
    "CredalEnsemble, default members": ("CredalEnsemble", {"clusterers": "auto"}),
    "FDA, kernel": ("FDA", {"kernel": "rbf"}),
    "PCCA, kernel": ("PCCA", {"kernel": "rbf"}),
}
OF_DISSIMILARITIES = ("EVCLUS", "RECM", "ECMdd", "EKNNClus", "NNEVCLUS")
# Parameters without influence on results: workers, verbosity.
EXCLUDED = ("n_jobs", "verbose")


@dataclass(frozen=True)
class Subject:
    """An estimator with its settings."""

    cls: type
    settings: dict
    precomputed: bool = False

    def make(self, **settings):
        """Return a new estimator."""
        seed = {"random_state": 0} if "random_state" in self.parameters else {}
        kind = {"metric": "precomputed"} if self.precomputed else {}
        return self.cls(**copy.deepcopy(seed | kind | self.settings | settings))

    @property
    def parameters(self):
        """Names of the parameters."""
        return list(inspect.signature(self.cls).parameters)

    @property
    def data(self):
        """Valid data for the estimator."""
        X, y = inputs.good_data()
        return (pairwise_distances(X) if self.precomputed else X), y

    @property
    def takes(self):
        """Arguments of ``fit``."""
        return list(inspect.signature(self.cls.fit).parameters)

    @property
    def inputs(self):
        """Inputs that are meaningful for the estimator."""
        cases = dict(inputs.FIT)
        if inspect.signature(self.cls.fit).parameters["y"].default is not None or "transform" in dir(self.cls):
            cases |= inputs.LABELS
        if "constraints" in self.takes:
            cases |= inputs.CONSTRAINTS
        return cases | (inputs.DISSIMILARITIES if self.precomputed else {})


def subjects():
    """Return all public estimators, and variants of some of them."""
    results = {}
    for package in PACKAGES:
        module = importlib.import_module(f"evlearn.{package}")
        for name in module.__all__:
            kind = getattr(module, name)
            if inspect.isclass(kind) and issubclass(kind, BaseEstimator) and hasattr(kind, "fit"):
                results[name] = Subject(kind, SETTINGS.get(name, {}))
    for name, (base, settings) in VARIANTS.items():
        results[name] = Subject(results[base].cls, results[base].settings | settings)
    for name in OF_DISSIMILARITIES:
        results[f"{name}, dissimilarities"] = Subject(results[name].cls, results[name].settings, precomputed=True)
    return results


def cells(names=None, parameters=True):
    """Yield all cells as (subject, stage, input)."""
    for name, subject in subjects().items():
        if names and name not in names:
            continue
        yield from ((name, "fit", item) for item in subject.inputs)
        yield from ((name, "new data", item) for item in inputs.NEW)
        if not subject.precomputed:
            yield from ((name, "new data", item) for item in inputs.HEADERS)
        if parameters and name == subject.cls.__name__:
            names_of_parameters = [item for item in subject.parameters if item not in EXCLUDED]
            yield from (
                (name, "parameters", f"{item}={value}")
                for item in names_of_parameters
                for value in inputs.PARAMETERS
            )


def run_monitored(cells, seconds=SECONDS):
    """Run cells in a monitored process; yield (cell, (outcome, message))."""
    worker = None
    for cell in cells:
        worker = worker or WorkerProcess(serve)
        outcome = worker.run(cell, seconds)
        if outcome[0] in ("hang", "crash"):
            worker.close()
            worker = None
        yield cell, outcome
    if worker:
        worker.close()


class WorkerProcess:
    """A process that runs `serve` on requests."""

    def __init__(self, serve):
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other,))
        self.process.start()
        other.close()
        self.pipe.recv()  # ready

    def run(self, cell, seconds):
        """Return the outcome of a cell, or of another request."""
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
    """Run the cells that arrive, until the pipe is closed."""
    registry = subjects()
    pipe.send("ready")
    fitted = {}
    while True:
        try:
            pipe.send(run(registry, fitted, *pipe.recv()))
        except EOFError:
            return


def run(registry, fitted, name, stage, input_name):
    """Run a cell in this process; return its outcome and the message to the user."""
    subject = registry[name]
    if name not in fitted:
        X, y = subject.data
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted[name] = subject.make().fit(X, y)
    attempt = {"fit": try_fit, "new data": try_new_data, "parameters": try_parameter}[stage]
    return evaluate(lambda: attempt(subject, fitted[name], input_name), subject)


def evaluate(attempt, subject):
    """Return the outcome of a function that returns a description of faults, or None."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        try:
            problem = attempt()
        except Exception as error:  # all errors are evaluated
            return judge_error(error, subject)
    return judge_result(problem, records)


def try_fit(subject, model, input_name):
    """Fit hostile data; return a description of faults of the result, or None."""
    hostile = subject.inputs[input_name]
    X, y, arguments = hostile.apply(*subject.data)
    refitted = subject.make()
    refitted.fit(X, **({"y": y} | arguments))
    problem = wrong_numbers(refitted, X)
    if problem is None and hostile.harmless and input_name != "each row many times":
        return wrong_labels(refitted, X, *subject.data)
    return problem


def try_new_data(subject, model, input_name):
    """Predict for hostile data; return a description of faults of the result, or None."""
    if input_name in inputs.HEADERS:
        return try_headers(subject, inputs.HEADERS[input_name])
    hostile = inputs.NEW[input_name]
    X, _, _ = hostile.apply(*subject.data)
    problem = wrong_predictions(model, X)
    if problem is None and hostile.harmless and "memory" in str(input_name):
        return wrong_labels(model, X, *subject.data)
    return problem


def try_headers(subject, change):
    """Predict for a frame with different columns than in training; return a fault if it is accepted."""
    X, y = subject.data
    frame = inputs.with_headers(X)
    model = subject.make().fit(frame, y)
    return wrong_predictions(model, change(frame)) or "labels for columns that are not those of the training"


def try_parameter(subject, model, input_name):
    """Fit valid data with a hostile parameter; return a description of faults of the result, or None."""
    parameter, value = input_name.split("=", 1)
    X, y = subject.data
    refitted = subject.make(**{parameter: inputs.PARAMETERS[value]})
    return wrong_numbers(refitted.fit(X, y), X)


def wrong_numbers(model, X):
    """Return a description of the faults of a fitted model, or None."""
    for name in ("masses_", "components_", "cluster_centers_", "means_", "covariances_", "objective_"):
        value = getattr(model, name, None)
        if value is not None and not np.isfinite(np.asarray(value, dtype=np.float64)).all():
            return f"{name} is not finite"
    masses = getattr(model, "masses_", None)
    return (masses is not None and wrong_rows("masses_", masses)) or wrong_predictions(model, X)


def wrong_predictions(model, X):
    """Return a description of the faults of predictions, or None."""
    for method in ("predict_mass", "predict_proba", "predict", "predict_set", "transform"):
        if not hasattr(model, method):
            continue
        result = getattr(model, method)(X)
        values = result.masses if isinstance(result, CredalPartition) else np.asarray(result)
        if method in ("predict_mass", "predict_proba") and (problem := wrong_rows(method, values)):
            return problem
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            return f"{method} gave values that are not finite"
    return None


def wrong_rows(name, values):
    """Return a description of the faults of rows of masses or probabilities, or None."""
    values = np.asarray(values)
    limit = 1e-5 if values.dtype == np.float32 else 1e-10
    if not np.isfinite(values).all():
        return f"{name} gave NaN or inf"
    if (values < 0).any():
        return f"{name} gave negative values, the least {values.min():.3g}"
    error = np.abs(values.sum(axis=1, dtype=np.float64) - 1).max(initial=0)
    return f"{name} gave rows that sum to one within {error:.3g} only" if error > limit else None


def wrong_labels(model, X, good, y):
    """Return a fault if the labels of clear clusters differ from those for valid data."""
    if not hasattr(model, "predict"):
        return None
    reference = copy.deepcopy(model).fit(good, y).predict(good)
    if adjusted_rand_score(reference, model.predict(X)) < 1:
        return "other labels than for the same data as they were"
    return None


def judge_result(problem, records):
    """Return the outcome of a call without an error."""
    numeric = [str(warning.message) for warning in records if issubclass(warning.category, RuntimeWarning)]
    if problem:
        return ("other result" if "labels" in problem else "bad numbers"), problem
    if numeric:
        return "NumPy warning", numeric[0]
    messages = [f"{warning.category.__name__}: {warning.message}" for warning in records]
    return ("warned", messages[0]) if messages else ("ok", "")


def judge_error(error, subject):
    """Return the outcome of a call with an error, which must be raised on purpose and readable."""
    kind, message = type(error), str(error)
    description = f"{kind.__name__}: {message.splitlines()[0] if message else ''}"[:300]
    if kind not in KINDS or not raised_on_purpose(error):
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return "bad error", f"{description} [{frame.filename.split('/')[-1]}:{frame.lineno}]"
    if of_scikit_learn(error):
        return "refused", description
    words = {*subject.parameters, *subject.takes, "X", "array", "sample", "feature", "frame", "must_link"}
    return ("refused" if any(word in message for word in words) else "bad message"), description


def raised_on_purpose(error):
    """Return True if evlearn or scikit-learn raised the error by a ``raise`` statement or a validation of data."""
    last = last_of(error)
    by_raise = dis.opname[last.tb_frame.f_code.co_code[last.tb_lasti]] == "RAISE_VARARGS"
    return of_scikit_learn(error) or (by_raise and package_of(last).split(".")[0] in ("evlearn", "sklearn"))


def of_scikit_learn(error):
    """Return True if scikit-learn's validation of data or parameters raised the error."""
    if isinstance(error, InvalidParameterError):
        return True
    entries = [entry for entry, _ in traceback.walk_tb(error.__traceback__)]
    return any(entry.f_globals.get("__name__") == "sklearn.utils.validation" for entry in entries)


def package_of(entry):
    """Return the module of an entry of a traceback."""
    return entry.tb_frame.f_globals.get("__name__", "")


def last_of(error):
    """Return the entry of a traceback that raised the error."""
    last = error.__traceback__
    while last.tb_next:
        last = last.tb_next
    return last
