"""Descents end in one way: each estimator reports its trace, and each interruption is treated equally."""

import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.neighbors import kneighbors_graph

from evlearn.classify import EvidentialKNNClassifier, EvidentialNeuralClassifier, EvidentialRBFClassifier
from evlearn.cluster import BPEC, CCM, CECM, ECM, EVCLUS, RECM, SECM, BootClus, ECMdd, EKNNClus
from evlearn.constraints import PairwiseConstraints
from evlearn.ensemble import CredalEnsemble
from evlearn.metric_learning import PCCA
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.utils.convergence import Trace, best_descent, best_of, descend
from evlearn.utils.parameters import with_switches

X, Y = load_iris(return_X_y=True)
SEED = {"random_state": 0}
CONSTRAINTS = PairwiseConstraints([(0, 10), (50, 60), (100, 110)], [(0, 50), (60, 110), (10, 100)])

#: Methods whose objective never increases, and methods without this guarantee.
FALL = {
    "ECM": ECM(3, **SEED),
    "CCM": CCM(3, **SEED),
    "BPEC": BPEC(3),
    "SECM": SECM(3, connectivity=partial(kneighbors_graph, n_neighbors=5), **SEED),
    "RECM": RECM(3, **SEED),
    "EVCLUS": EVCLUS(3, **SEED),
    "EVCLUS of some pairs": EVCLUS(3, n_partners=20, init="random", **SEED),
    "EVCLUS of landmarks": EVCLUS(3, solver="landmark", n_landmarks=60, **SEED),
    "EVCLUS in two steps": EVCLUS(3, focal_sets="neighbor_pairs", **SEED),
    "BootClus": BootClus(3, covariance_models="VVV", n_bootstrap=20, **SEED),
    "CredalEnsemble": CredalEnsemble([ECM(3, **SEED), RECM(3, **SEED)], **SEED),
    "EvidentialKNNClassifier": EvidentialKNNClassifier(),
    "EvidentialKNNClassifier as it begins": EvidentialKNNClassifier(optimize=False),
    "EvidentialNeuralClassifier": EvidentialNeuralClassifier(max_iter=30, **SEED),
    "EvidentialRBFClassifier": EvidentialRBFClassifier(**SEED),
    "PCCA": PCCA(**SEED),
    "kernel PCCA": PCCA(kernel="rbf", max_iter=30, **SEED),
}
OTHERS = {
    "CECM": CECM(3, **SEED),
    "ECMdd": ECMdd(3, **SEED),
    "ECMdd of the median": ECMdd(3, medoids="median", **SEED),
    "ECMdd with weights": ECMdd(3, medoids="weighted", **SEED),
    "EVCLUS with own partners": with_switches(EVCLUS(3, n_partners=20, init="random", **SEED), pair_update="own"),
    "EVCLUS with fresh partners": EVCLUS(3, solver="stochastic", init="random", **SEED),
    "EKNNClus": EKNNClus(**SEED),
    "NNEVCLUS": {"max_iter": 25, "solver": "lbfgs"},
    "NNEVCLUS with adam": {"max_iter": 25, "solver": "adam", "init": "random"},
    "NNEVCLUS in batches": {"max_iter": 5, "solver": "rmsprop", "init": "random"},
    "NNEVCLUS with held-out pairs": {"max_iter": 5, "solver": "held out"},
}


def fitted(model):
    if isinstance(model, dict):
        neural = pytest.importorskip("evlearn.neural")
        if model["solver"] == "held out":
            model = model | {"solver": neural.Solver("rmsprop", validation_fraction=0.2)}
        model = neural.NNEVCLUS(3, **model, **SEED)
    if isinstance(model, (PCCA, CECM)):
        return model.fit(X, constraints=CONSTRAINTS)
    return model.fit(X, Y) if hasattr(model, "predict_interval") or "Classifier" in repr(model) else model.fit(X)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", [*FALL, *OTHERS])
def test_a_history_begins_before_the_first_iteration_and_ends_with_the_objective(name):
    model = fitted((FALL | OTHERS)[name])
    history = model.objective_history_
    assert history.shape == (model.n_iter_ + 1,)
    assert np.isfinite(history).all()
    if name in FALL:
        assert (np.diff(history) <= 1e-9 * np.abs(history[:-1])).all()
    if name == "EKNNClus":  # its objective is maximized
        assert history[0] < history[-1] == model.objective_
    elif name.startswith(("ECMdd", "NNEVCLUS")):  # which keep the best state so far
        assert model.objective_ in history
        assert history[0] >= model.objective_
    else:
        assert history[0] >= history[-1] == model.objective_


def test_the_likelihood_of_a_mixture_rises_from_the_bound_of_its_start():
    mixture = ParsimoniousGaussianMixture(3, covariance_models="VVV", variance_floor=0, **SEED).fit(X)
    history = mixture.log_likelihood_history_
    assert history.shape == (mixture.n_iter_ + 1,)
    assert (np.diff(history) >= -1e-9).all()
    assert history[-1] == pytest.approx(len(X) * mixture.lower_bound_)


# The descent loop


def halves(state):
    if state < 1e-3:
        raise KeyboardInterrupt
    return state / 2, state / 2, False


def test_an_interrupted_descent_keeps_the_state_and_the_history_of_its_last_iteration():
    reports = []
    end = descend(halves, Trace(1.0, [1.0]), max_iter=100, report=lambda *report: reports.append(report))
    assert end.interrupted
    assert not end.converged
    assert end.n_iter == len(reports) == 10
    assert end.state == end.objective == reports[-1][1] == 2.0**-10
    assert end.history == [2.0**-k for k in range(11)]


def test_the_best_of_descents_is_one_that_has_begun():
    worse, better = Trace(0, [9.0, 5.0], converged=True), Trace(1, [1.0], interrupted=True)
    best = best_of([worse, better])
    assert best.state == 0
    assert best.interrupted
    with pytest.raises(KeyboardInterrupt):
        best_of([better])


METHODS = {
    "ECM": "ECM(3, tol=0, max_iter=10**6, n_init=3, n_jobs=2, verbose=1)",
    "RECM": "RECM(3, tol=0, max_iter=10**6, n_init=3, verbose=1)",
    "EVCLUS": "EVCLUS(3, init='random', tol=0, max_iter=10**6, verbose=1)",
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
@pytest.mark.parametrize("name", METHODS)
def test_control_c_ends_a_fit_with_the_best_state_so_far(name):
    code = f"""
import numpy as np
from evlearn.cluster import {name}
X = np.random.default_rng(0).standard_normal((1500, 3))
model = {METHODS[name]}.fit(X)
same = "{name}" == "EVCLUS" or np.allclose(model.predict_mass(X).masses, model.masses_, atol=1e-12)
whole = len(model.objective_history_) == model.n_iter_ + 1 and np.isfinite(model.objective_)
print("kept", model.converged_, len(model.labels_), same, whole)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/"
    )
    for line in process.stdout:
        if line.split()[2] == "5":
            process.send_signal(signal.SIGINT)
            break
    out, err = process.communicate(timeout=60)
    assert out.splitlines()[-1] == "kept False 1500 True True"
    assert "interrupted after" in err


def test_an_interruption_ends_all_starts_and_prevents_the_refinement():
    starts = []

    def run(start):
        starts.append(start)
        if start == 2:
            raise KeyboardInterrupt
        return Trace(start, [9.0, float(start)], converged=True)

    best = best_descent(run, [3, 1, 2, 0], refine=lambda trace: pytest.fail("refined"))
    assert best.state == 1
    assert best.interrupted
    assert starts == [3, 1, 2]


def test_the_best_descent_is_refined_unless_the_refinement_does_not_begin():
    def run(start):
        return Trace(start, [9.0, float(start)], converged=True)

    refined = best_descent(run, [2, 1], refine=lambda trace: Trace(-trace.state, [1.0, 5.0]))
    assert (refined.state, refined.interrupted) == (-1, False)
    interrupted = best_descent(run, [2, 1], refine=lambda trace: Trace(-trace.state, [1.0], interrupted=True))
    assert (interrupted.state, interrupted.interrupted) == (1, True)
