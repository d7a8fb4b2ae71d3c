"""A fit is complete, or the estimator is unchanged."""

import importlib
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from evlearn.active import ActiveClustering, ActiveLabeling
from evlearn.classify import (
    EvidentialForestClassifier,
    EvidentialKNNClassifier,
    EvidentialNeuralClassifier,
    EvidentialRBFClassifier,
    FusionClassifier,
)
from evlearn.cluster import (
    BPEC,
    CCM,
    CECM,
    ECM,
    EVCLUS,
    RECM,
    SECM,
    BootClus,
    CredalClusterer,
    ECMdd,
    EKNNClus,
    MergedMixture,
)
from evlearn.conformal import ConformalClassifier, ConformalClusterer, UnseenClassDetector
from evlearn.constraints import PairwiseConstraints
from evlearn.ensemble import CredalEnsemble
from evlearn.metric_learning import FDA, PCCA, LocalFDA
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.neural import NNEVCLUS
from evlearn.utils.convergence import atomic_fit

PACKAGES = ("active", "classify", "cluster", "conformal", "ensemble", "metric_learning", "mixture", "neural")
CONSTRAINTS = PairwiseConstraints(must_link=[(0, 1), (20, 21)], cannot_link=[(0, 20)])
ESTIMATORS = [
    BPEC(2),
    CCM(2, random_state=0),
    CECM(2, random_state=0),
    ECM(2, random_state=0),
    EVCLUS(2, random_state=0),
    RECM(2, metric="euclidean", random_state=0),
    SECM(2, random_state=0),
    BootClus(2, covariance_models="EII", n_bootstrap=20, random_state=0),
    MergedMixture(2, random_state=0),
    ECMdd(2, random_state=0),
    EKNNClus(10, random_state=0),
    ConformalClusterer(ECM(2, random_state=0), n_splits=2, random_state=0),
    ConformalClassifier(EvidentialKNNClassifier(), cv=2, random_state=0),
    UnseenClassDetector(EvidentialKNNClassifier(), cv=2, random_state=0),
    CredalClusterer(CCM(2, random_state=0)),
    CredalEnsemble([ECM(2, random_state=0)], random_state=0),
    ParsimoniousGaussianMixture(2, covariance_models="EII", random_state=0),
    NNEVCLUS(2, max_iter=3, init="random", random_state=0),
    EvidentialForestClassifier(5, random_state=0),
    EvidentialKNNClassifier(),
    EvidentialNeuralClassifier(4, random_state=0),
    EvidentialRBFClassifier(2, random_state=0),
    FusionClassifier([("near", EvidentialKNNClassifier())], cv=2),
    FDA(1),
    LocalFDA(1),
    FDA(1, kernel="rbf"),
    PCCA(1, random_state=0),
    PCCA(1, kernel="rbf", random_state=0),
    ActiveClustering(EVCLUS(2, random_state=0), random_state=0),
    ActiveLabeling(EvidentialKNNClassifier(), [False, True], random_state=0),
]


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.fixture(params=ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def make(request):
    """Return estimators with the same parameters, not fitted."""
    kind, parameters = type(request.param), request.param.get_params(deep=False)
    return lambda: kind(**parameters)


def blobs(n_features, seed=0):
    random = np.random.RandomState(seed)
    return np.vstack([random.randn(20, n_features), random.randn(20, n_features) + 8])


def learn(model, X, y=None):
    y = np.arange(len(X)) >= len(X) // 2 if y is None else y
    if isinstance(model, ActiveClustering):
        return model.start(X)
    if isinstance(model, ActiveLabeling):
        return model.start(X, labels={0: False, 39: True})
    if isinstance(model, (CECM, PCCA)):
        return model.fit(X, constraints=CONSTRAINTS)
    return model.fit(X, y)


def answers(model, X):
    if isinstance(model, ActiveClustering):
        return model.ask(), model.estimator_.predict_mass(X).masses
    if isinstance(model, ActiveLabeling):
        return model.ask().sample, model.estimator_.predict_mass(X).masses
    method = next(name for name in ("predict_mass", "predict_proba", "transform") if hasattr(model, name))
    result = getattr(model, method)(X)
    return (getattr(result, "masses", result),)


def are_equal(first, second):
    return all(np.array_equal(value, other) for value, other in zip(first, second, strict=True))


def is_unchanged(model, before):
    return vars(model).keys() == before.keys() and all(vars(model)[name] is before[name] for name in before)


def test_every_estimator_is_tested():
    public = {
        name
        for package in PACKAGES
        for name, value in vars(importlib.import_module(f"evlearn.{package}")).items()
        if isinstance(value, type) and (hasattr(value, "fit") or hasattr(value, "refit"))
    }
    assert {type(value).__name__ for value in ESTIMATORS} == public


def failing_after(monkeypatch, kind, number):
    """Raise an error when the given number of attributes has been set."""
    left = [number]

    def set_attribute(self, name, value):
        if name.endswith("_") or name.startswith("_"):
            if not left[0]:
                raise MemoryError(f"no room for {name}")
            left[0] -= 1
        object.__setattr__(self, name, value)

    monkeypatch.setattr(kind, "__setattr__", set_attribute)


@pytest.mark.slow
def test_wherever_a_refit_fails_the_old_fit_stays(make, monkeypatch):
    X, other = blobs(2), blobs(3, seed=1)
    model = learn(make(), X)
    expected, before = answers(model, X), dict(vars(model))
    for number in range(100):
        with monkeypatch.context() as patch:
            failing_after(patch, type(model), number)
            try:
                learn(model, other)
                break
            except MemoryError:
                pass
        assert is_unchanged(model, before)
        assert are_equal(answers(model, X), expected)
    assert number > 2
    assert not is_unchanged(model, before)


def test_wherever_a_first_fit_fails_there_is_no_fit(make, monkeypatch):
    kind = type(make())
    for number in (0, 1, 2):
        model = make()
        with monkeypatch.context() as patch:
            failing_after(patch, kind, number)
            with pytest.raises(MemoryError):
                learn(model, blobs(2))
        with pytest.raises(NotFittedError):
            model.ask() if kind in (ActiveClustering, ActiveLabeling) else check_is_fitted(model)
        assert vars(model).keys() == vars(make()).keys()


@pytest.mark.parametrize("fault", ["infinity", "one sample", "text", "no samples"])
def test_bad_data_leave_the_old_fit(make, fault):
    X = blobs(2)
    model = learn(make(), X)
    expected, before = answers(model, X), dict(vars(model))
    bad = blobs(3)
    bad[-1, -1] = np.inf
    data = {"infinity": bad, "one sample": blobs(3)[:1], "text": np.full((40, 3), "a"), "no samples": blobs(3)[:0]}
    with pytest.raises(ValueError):  # noqa: PT011, every estimator has its own message
        learn(model, data[fault], y=np.arange(len(data[fault])) % 2)
    assert is_unchanged(model, before)
    assert are_equal(answers(model, X), expected)


def test_a_refit_with_unsuitable_classes_leaves_the_old_ones():
    X = blobs(2)
    model = EvidentialKNNClassifier(gamma=[1.0, 2.0]).fit(X, ["b"] * 20 + ["a"] * 20)
    with pytest.raises(ValueError, match="gamma"):
        model.fit(X, ["x"] * 20 + ["y"] * 10 + ["z"] * 10)
    assert model.classes_.tolist() == ["a", "b"]
    assert model.predict(X[:1]) == ["b"]


def test_an_interruption_that_escapes_leaves_the_old_fit(make, monkeypatch):
    X = blobs(2)
    model = learn(make(), X)
    before = dict(vars(model))

    def stop(self, name, value):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(model), "__setattr__", stop)
        with pytest.raises(KeyboardInterrupt):
            learn(model, blobs(3))
    assert is_unchanged(model, before)


@pytest.mark.parametrize("kind", [ECM, CCM])
def test_refused_samples_are_not_counted(kind, monkeypatch):
    X = blobs(2)
    model = kind(2, random_state=0).partial_fit(X)
    expected, before = answers(model, X), dict(vars(model))
    for number in range(4):
        with monkeypatch.context() as patch:
            failing_after(patch, kind, number)
            with pytest.raises(MemoryError):
                model.partial_fit(X + 1)
        assert is_unchanged(model, before)
    assert are_equal(answers(model, X), expected)
    assert model.n_samples_seen_ == 40


def test_a_method_keeps_its_name_and_its_signature():
    assert ECM.fit.__name__ == "fit"
    assert "Find the prototypes" in ECM.fit.__doc__

    class Model:
        @atomic_fit
        def fit(self, X, *, fail=False):
            self.X = X
            if fail:
                raise ValueError("no")
            return self

    model = Model().fit(1)
    with pytest.raises(ValueError, match="no"):
        model.fit(2, fail=True)
    assert model.X == 1


def test_a_warning_is_shown_at_the_line_of_the_user():
    with pytest.warns(ConvergenceWarning) as records:
        ECM(2, beta=2, init="random", max_iter=1, tol=0, random_state=0).fit(blobs(2))
    assert [record.filename for record in records] == [__file__]
