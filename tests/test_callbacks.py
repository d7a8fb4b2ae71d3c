"""Support of scikit-learn's callbacks in fits."""

import inspect
import io
import os
import pickle
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import evlearn
from evlearn import watching
from evlearn.classify import EvidentialKNNClassifier, EvidentialNeuralClassifier, EvidentialRBFClassifier
from evlearn.cluster import BPEC, CCM, CECM, ECM, EVCLUS, RECM, SECM, BootClus, ECMdd, EKNNClus, MergedMixture
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_fourclass
from evlearn.ensemble import CredalEnsemble
from evlearn.metric_learning import FDA, PCCA
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.neural import NNEVCLUS

callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")

X, Y = make_fourclass(120, random_state=0)
PAIRS = PairwiseConstraints([[0, 1]], [[0, 100]])
#: Methods with a single descent from a single start.
DESCENTS = [
    ECM(4),
    CCM(4),
    SECM(4),
    BPEC(n_neighbors=30),
    CECM(4, n_init=1),
    RECM(4, n_init=1),
    ECMdd(4, n_init=1),
    EVCLUS(4),
    EVCLUS(4, solver="landmark", n_landmarks=60),
    EKNNClus(n_init=1),
    BootClus(4, covariance_models="EII", n_bootstrap=20),
    CredalEnsemble([ECM(4), CCM(4)], tol=1e-9),
    NNEVCLUS(4, max_iter=35, init="random"),
    NNEVCLUS(4, max_iter=12, solver="rmsprop", init="random"),
    PCCA(),
    PCCA(kernel="rbf"),
    EvidentialNeuralClassifier(max_iter=30),
    EvidentialRBFClassifier(max_iter=30),
]


class Counting:
    """Callback that records its calls."""

    def __init__(self):
        self.calls = []

    def setup(self, estimator, context):
        self.calls.append(("setup", context))

    def teardown(self, estimator, context):
        self.calls.append(("teardown", context))

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(("begin", context))

    def on_fit_task_end(self, estimator, context):
        self.calls.append(("end", context))

    def contexts(self, event, *names):
        return [
            context for kind, context in self.calls if kind == event and (not names or context.task_name in names)
        ]


class Spreading(Counting):
    """Callback that records its calls, also for inner estimators."""

    max_propagation_depth = None


def fitted(model):
    model = clone(model)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    parameters = {"constraints": PAIRS} if isinstance(model, (CECM, PCCA)) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (
            model.fit(X, Y, **parameters)
            if is_classifier(model) or isinstance(model, FDA)
            else model.fit(X, **parameters)
        )


def masses_of(model):
    for name in ("masses_", "components_", "dual_coef_", "prototypes_"):
        if hasattr(model, name):
            return getattr(model, name)
    raise AssertionError(model)


def name_of(model):
    return type(model).__name__


# Estimators with callbacks


def test_every_public_estimator_takes_callbacks():
    packages = [getattr(evlearn, name) for name in dir(evlearn)]
    public = [getattr(value, name) for value in packages for name in getattr(value, "__all__", ())]
    classes = [value for value in public if inspect.isclass(value) and issubclass(value, BaseEstimator)]
    assert len(classes) > 25
    assert [value.__name__ for value in classes if not hasattr(value, "set_callbacks")] == []


@pytest.mark.parametrize("model", DESCENTS, ids=name_of)
def test_every_iteration_is_a_task(model):
    counting = Counting()
    model = fitted(clone(model).set_callbacks(counting))
    steps = ("iteration", "sweep", "pass")
    assert len(counting.contexts("end", *steps)) == model.n_iter_ > 0
    assert counting.calls[0][0] == "setup"
    assert counting.calls[-1][0] == "teardown"
    starts, ends = (sorted(map(id, counting.contexts(event))) for event in ("begin", "end"))
    assert starts == ends
    assert len(set(starts)) == len(starts)
    root = counting.calls[0][1]
    assert (root.task_name, root.parent, counting.calls[-2]) == ("fit", None, ("end", root))
    descent = counting.contexts("end", *steps)[0].parent
    assert (descent.parent, descent.max_subtasks) == (root, model.max_iter)


@pytest.mark.parametrize(
    "model",
    [
        *DESCENTS,
        MergedMixture(4, covariance_models="EII"),
        FDA(),
        EvidentialKNNClassifier(),
        CECM(4, focal_sets="neighbor_pairs", n_init=2),
        pytest.param(NNEVCLUS(4, max_iter=20, n_init=2, focal_sets="neighbor_pairs"), marks=pytest.mark.slow),
    ],
    ids=name_of,
)
def test_no_more_tasks_come_than_were_announced(model):
    announced = []

    class Asking(Spreading):
        def on_fit_task_begin(self, estimator, context):
            super().on_fit_task_begin(estimator, context)
            announced.append((context, context.max_subtasks))

    fitted(clone(model).set_callbacks(Asking()))
    assert None not in [number for _, number in announced]
    assert [context for context, number in announced if context.max_subtasks != number] == []


@pytest.mark.parametrize("model", DESCENTS, ids=name_of)
def test_a_fit_with_callbacks_gives_the_same_bits(model):
    np.testing.assert_array_equal(
        masses_of(fitted(clone(model).set_callbacks(Counting()))), masses_of(fitted(model))
    )


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_every_start_has_its_own_iterations(n_jobs):
    counting = Counting()
    model = RECM(4, init="random", n_init=5, n_jobs=n_jobs, random_state=0).set_callbacks(counting).fit(X)
    descents = counting.contexts("end", "iterations")
    assert counting.calls[0][1].max_subtasks == len(descents) == 5
    lengths = [
        len([context for context in counting.contexts("end", "iteration") if context.parent is start])
        for start in descents
    ]
    assert sum(lengths) == len(counting.contexts("end", "iteration"))
    assert model.n_iter_ in lengths


def test_two_steps_are_two_descents():
    counting = Counting()
    model = ECM(4, focal_sets="neighbor_pairs", random_state=0).set_callbacks(counting).fit(X)
    last = counting.contexts("end", "iterations")[1]
    assert (
        len([context for context in counting.contexts("end", "iteration") if context.parent is last])
        == model.n_iter_
    )


def test_resamples_models_and_settings_are_tasks_too():
    counting = Spreading()
    fitted(BootClus(4, covariance_models=["EII", "VVI"], n_bootstrap=20).set_callbacks(counting))
    assert len(counting.contexts("end", "resample")) == 20
    assert len(counting.contexts("end", "model")) == 2
    assert [context.task_name for context in counting.calls[0][1] if context.parent is counting.calls[0][1]] == [
        "fit",
        "bootstrap",
        "sweeps",
    ]
    counting = Counting()
    fitted(ParsimoniousGaussianMixture([1, 2], covariance_models=["EII"]).set_callbacks(counting))
    assert len(counting.contexts("end", "model")) == 2
    counting = Counting()
    fitted(EvidentialKNNClassifier(n_neighbors="auto", alpha=0.5).set_callbacks(counting))
    assert len(counting.contexts("end", "setting")) == counting.contexts("end", "search")[0].max_subtasks > 1


def test_a_fit_without_iterations_is_one_task():
    counting = Counting()
    FDA().set_callbacks(counting).fit(X, Y)
    assert [(event, context.task_name, context.max_subtasks) for event, context in counting.calls] == [
        (event, "fit", 0) for event in ("setup", "begin", "end", "teardown")
    ]


# Fits inside fits


@pytest.mark.slow
def test_propagated_callbacks_are_called_for_inner_fits():
    counting = Spreading()
    fitted(CredalEnsemble([ECM(4), CCM(4)], tol=1e-9).set_callbacks(counting))
    assert [context.estimator_name for context in counting.contexts("begin", "fit")] == [
        "CredalEnsemble",
        "ECM",
        "CCM",
    ]
    assert [context.source_estimator_name for context in counting.contexts("end", "fit")] == [
        "CredalEnsemble"
    ] * 2 + [None]
    assert len(counting.contexts("setup")) == len(counting.contexts("teardown")) == 1
    counting = Counting()
    model = fitted(CredalEnsemble([ECM(4), CCM(4)], tol=1e-9).set_callbacks(counting))
    assert [context.estimator_name for context in counting.contexts("begin", "fit")] == ["CredalEnsemble"]
    assert len(counting.contexts("end", "inner-fit")) == 2
    assert not any("callback" in name for member in model.clusterers_ for name in vars(member))


def test_counted_fits_are_not_separate_tasks():
    counting = Spreading()
    mixture = ParsimoniousGaussianMixture(4, covariance_models="EII")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        BootClus(mixture=mixture, n_bootstrap=5, random_state=0).set_callbacks(counting).fit(X)
    assert len(counting.contexts("end", "resample")) == 5
    assert len(counting.contexts("begin", "fit")) == 2
    counting = Counting()
    BootClus(mixture=GaussianMixture(4), n_bootstrap=5, random_state=0).set_callbacks(counting).fit(X)
    assert len(counting.contexts("end", "resample")) == 5


def test_pipelines_and_searches_propagate_their_callbacks():
    counting = Spreading()
    make_pipeline(StandardScaler(), ECM(4, random_state=0)).set_callbacks(counting).fit(X)
    (root,) = counting.contexts("setup")
    names = {context.estimator_name for context in root}
    assert names == {"Pipeline", "StandardScaler", "ECM"}
    counting = Spreading()
    search = GridSearchCV(EvidentialRBFClassifier(max_iter=20, random_state=0), {"l2": [0.1, 0.01]}, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.set_callbacks(counting).fit(X, Y)
    fits = [
        context
        for context in counting.contexts("end", "fit")
        if context.estimator_name == "EvidentialRBFClassifier"
    ]
    assert len(fits) == 5
    assert counting.contexts("end", "iteration")


@pytest.mark.slow
def test_a_fit_in_a_callback_is_not_a_task():
    class Fitting(Counting):
        def on_fit_task_end(self, estimator, context):
            super().on_fit_task_end(estimator, context)
            CCM(4, random_state=0).fit(X)

    fitting, reports = Fitting(), []
    with watching(reports.append):
        ECM(4, random_state=0).set_callbacks(fitting).fit(X)
    assert {context.estimator_name for _, context in fitting.calls} == {"ECM"}
    assert {report.estimator for report in reports} == {"ECM"}


@pytest.mark.slow
def test_progress_bars_show_fits_in_other_processes():
    wide = os.environ | {"COLUMNS": "200"}
    result = subprocess.run(
        [sys.executable, "-c", IN_PROCESSES], capture_output=True, text=True, check=True, env=wide
    )
    assert result.stdout.count("EvidentialRBFClassifier - fit") == 5
    assert result.stderr == ""


IN_PROCESSES = """
from sklearn.callback import ProgressBar
from sklearn.model_selection import GridSearchCV
from evlearn.classify import EvidentialRBFClassifier
from evlearn.datasets import make_fourclass
X, y = make_fourclass(120, random_state=0)
model = EvidentialRBFClassifier(tol=.1, random_state=0)
GridSearchCV(model, {"l2": [.1, .01]}, cv=2, n_jobs=2).set_callbacks(ProgressBar()).fit(X, y)
"""


# Ends


@pytest.mark.parametrize(
    "model", [ECM(4, tol=0), EVCLUS(4, tol=0), RECM(4, tol=0), EKNNClus(n_init=1)], ids=name_of
)
@pytest.mark.parametrize("way", ["returns", "raises"])
def test_a_callback_may_end_a_fit_like_control_c(model, way):
    class Stopper(Counting):
        def on_fit_task_end(self, estimator, context):
            super().on_fit_task_end(estimator, context)
            is_last = context.max_subtasks == 0 and context.task_id == 1
            if is_last and way == "raises":
                raise KeyboardInterrupt
            return is_last

    counting = Stopper()
    model = clone(model).set_params(random_state=0).set_callbacks(counting)
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 "):
        model.fit(X)
    assert model.n_iter_ == 2
    assert len(counting.contexts("begin")) == len(counting.contexts("end"))
    assert counting.calls[-1][0] == "teardown"


def test_an_interruption_while_resamples_are_counted_keeps_those_that_are_ready():
    class Stopper(Counting):
        def on_fit_task_end(self, estimator, context):
            return context.task_name == "resample" and context.task_id == 59

    model = BootClus(4, covariance_models="EII", n_bootstrap=300, random_state=0).set_callbacks(Stopper())
    with pytest.warns(ConvergenceWarning, match="resamples; the result uses these"):
        model.fit(X)
    assert 50 <= model.n_bootstrap_ < 300


@pytest.mark.parametrize("hook", ["setup", "on_fit_task_begin", "on_fit_task_end"])
def test_an_error_of_a_callback_leaves_the_estimator_as_it_was(hook):
    def fail(estimator, context):
        raise RuntimeError("no room for metrics")

    model = ECM(4, random_state=0).fit(X)
    counting = Counting()
    setattr(counting, hook, fail)
    model.set_callbacks(counting)
    before = dict(vars(model))
    with pytest.raises(RuntimeError, match="no room for metrics"):
        model.fit(X + 1)
    assert vars(model) == before
    assert counting.calls[-1][0] == "teardown"
    model.set_callbacks().fit(X)  # and no callback is active


def test_warnings_point_at_the_line_of_the_user():
    with pytest.warns(ConvergenceWarning) as records:
        ECM(4, tol=0, max_iter=2, random_state=0).set_callbacks(Counting()).fit(X)
    assert records[0].filename == __file__


# Callbacks are not parameters


@pytest.mark.slow
def test_clones_and_copies_keep_their_callbacks_and_files_of_models_do_not(tmp_path):
    counting = Counting()
    model = ECM(4, random_state=0).set_callbacks(counting).fit(X)
    assert model.get_params() == ECM(4, random_state=0).get_params()
    n_heard = len(counting.calls)
    refitted = clone(model).fit(X)
    assert len(counting.calls) == 2 * n_heard
    assert not [name for name in vars(refitted) if "ctx" in name or "teardown" in name]
    copied = pickle.loads(pickle.dumps(ECM(4, random_state=0).set_callbacks(callback.ProgressBar()).fit(X)))
    np.testing.assert_array_equal(copied.masses_, model.masses_)
    evlearn.save_model(model, tmp_path / "model.json")
    assert "callback" not in (tmp_path / "model.json").read_text()
    loaded = evlearn.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_mass(X).masses, model.predict_mass(X).masses)
    loaded.fit(X)
    assert len(counting.calls) == 2 * n_heard


def test_partial_fit_has_no_callbacks():
    counting = Counting()
    ECM(4, focal_sets="simple", random_state=0).set_callbacks(counting).partial_fit(X)
    assert counting.calls == []


# scikit-learn's callbacks


def test_a_scoring_monitor_scores_the_fitted_estimator():
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = EvidentialRBFClassifier(tol=0.1, random_state=0).set_callbacks(monitor).fit(X, Y)
    scores = {row["task_name"]: row.get("accuracy") for row in monitor.get_logs().data}
    assert scores == {"fit": model.score(X, Y)}
    monitor = callback.ScoringMonitor(scoring="adjusted_rand_score")
    ECM(4, random_state=0).set_callbacks(monitor).fit(X, Y)
    assert monitor.get_logs().data[-1]["adjusted_rand_score"] > 0.5


def test_a_progress_bar_shows_the_fit_and_its_starts(monkeypatch):
    import rich

    screen = io.StringIO()
    monkeypatch.setattr(rich, "_console", rich.console.Console(file=screen, width=100, force_terminal=True))
    fitted(BootClus(4, covariance_models="EII", n_bootstrap=20).set_callbacks(callback.ProgressBar()))
    text = screen.getvalue()
    for line in ("BootClus - fit", "ParsimoniousGaussianMixture - fit #0", "BootClus - bootstrap #1", "sweeps #2"):
        assert line in text
    assert "100%" in text


ON_A_TERMINAL = """
import warnings
warnings.simplefilter("ignore")
from sklearn.callback import ProgressBar
from evlearn.cluster import ECM, EVCLUS, BootClus
from evlearn.datasets import make_fourclass
from evlearn.neural import NNEVCLUS
X, _ = make_fourclass(120, random_state=0)
for model in [ECM(4), EVCLUS(4), BootClus(4, n_bootstrap=20), NNEVCLUS(4, max_iter=20)]:
    model.set_params(random_state=0).set_callbacks(ProgressBar()).fit(X)
"""


@pytest.mark.slow
def test_progress_bars_are_drawn_on_a_terminal():
    pty = pytest.importorskip("pty")
    reader, screen = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(ON_A_TERMINAL)], stdout=screen, env=environment
    ) as process:
        os.close(screen)
        text = b""
        try:
            while piece := os.read(reader, 4096):
                text += piece
        except OSError:  # the process has ended
            pass
    os.close(reader)
    assert process.returncode == 0
    for name in ("ECM - fit", "EVCLUS - fit", "BootClus - bootstrap #1", "NNEVCLUS - iterations #1"):
        assert name in text.decode()
    assert "━".encode() in text
