"""Networks of prototypes with given initial values."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import make_blobs

import evlearn
from evlearn.classify import EvidentialNeuralClassifier, EvidentialRBFClassifier
from evlearn.utils.parameters import with_switches

X, y = make_blobs(120, centers=[[0, 0], [2, 0], [0, 3]], cluster_std=0.7, random_state=0)
pytestmark = pytest.mark.filterwarnings("ignore:the loss still changed:sklearn.exceptions.ConvergenceWarning")


def fitted(model):
    """Return fitted values of a model, as initial values."""
    names = ("prototypes", "scales", "memberships", "strengths", "weights")
    return {name: getattr(model, f"{name}_") for name in names if hasattr(model, f"{name}_")}


@pytest.mark.parametrize(
    "name",
    ["proDS_glass_n7", "proDS_glass_scaled_n7_mu", "proDS_iris_2perclass_crisp_fixedproto", "proDS_iris_n6"],
)
def test_from_rs_start_the_loss_is_no_worse_than_that_of_r(read_case, name):
    case = read_case(name)
    first = {part: case.arrays[f"{part}0"] for part in ("W", "gamma", "beta", "alpha")}
    model = EvidentialNeuralClassifier(
        init={
            "prototypes": first["W"],
            "scales": np.abs(first["gamma"]) / np.sqrt(2),
            "memberships": first["beta"] ** 2 / (first["beta"] ** 2).sum(axis=1, keepdims=True),
            "strengths": 0.99 * expit(first["alpha"]),
        },
        mu=case.parameters["mu"],
        tol=1e-6,
    )
    switches = {"loss_lambda": case.parameters["lambda"], "optimize_prototypes": case.parameters["optimProto"]}
    with_switches(model, standardize=False, **switches)
    model.fit(case.X, case.y)
    assert model.objective_history_[0] == pytest.approx(case.scalars["cost0"], abs=1e-9)
    assert model.objective_ <= case.scalars["cost_at_returned_param"] * (1 + 1e-6)
    if not case.parameters["optimProto"]:
        np.testing.assert_allclose(model.prototypes_, first["W"], atol=1e-12)


@pytest.mark.parametrize("name", ["RBF_glass_scaled_n7", "RBF_ionosphere_n6", "RBF_iris_n6"])
def test_from_rs_start_the_likelihood_is_no_worse_than_that_of_r(read_case, name):
    case = read_case(name)
    first = {part: case.arrays[f"{part}0"] for part in ("P", "Gamma", "W")}
    start = {"prototypes": first["P"], "scales": np.abs(first["Gamma"]) / np.sqrt(2), "weights": first["W"]}
    model = EvidentialRBFClassifier(init=start, l2=case.parameters["lambda"], tol=1e-6)
    with_switches(model, standardize=False)
    model.fit(case.X, case.y)
    assert -model.objective_history_[0] == pytest.approx(case.scalars["loglik0"], abs=1e-9)
    assert -model.objective_ >= case.scalars["loglik"] - 1e-6


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("kind", [EvidentialNeuralClassifier, EvidentialRBFClassifier])
def test_fitted_values_are_valid_initial_values(kind, standardize):
    stretched = X * [1, 100] + 5
    model = with_switches(kind(2, random_state=0), standardize=standardize).fit(stretched, y)
    resumed = with_switches(kind(init=fitted(model)), standardize=standardize).fit(stretched, y)
    # Published weights have the sum 0, with a slightly smaller penalty.
    assert resumed.objective_history_[0] == pytest.approx(
        model.objective_, rel=1e-3 if hasattr(model, "weights_") else 1e-9
    )
    assert resumed.objective_ <= model.objective_ * (1 + 1e-9)
    # Prototypes are in the units of X, scales in units of standard deviations.
    d = (stretched[:1] - model.prototypes_) / (stretched.std(axis=0) if standardize else 1)
    activations = np.exp(-(model.scales_**2) * (d**2).sum(axis=1))
    if kind is EvidentialRBFClassifier:
        scores = activations @ model.weights_
        np.testing.assert_allclose(model.predict_proba(stretched[:1])[0], np.exp(scores) / np.exp(scores).sum())
    else:
        open_mass = np.prod(1 - model.strengths_ * activations)
        factors = 1 - (model.strengths_ * activations)[:, None] * (1 - model.memberships_)
        masses = np.append(factors.prod(axis=0) - open_mass, open_mass)
        np.testing.assert_allclose(model.predict_mass(stretched[:1]).masses[0, 1:], masses / masses.sum())


@pytest.mark.parametrize("kind", [EvidentialNeuralClassifier, EvidentialRBFClassifier])
def test_the_result_from_initial_prototypes_does_not_depend_on_the_seed(kind):
    prototypes = [[0, 0], [2, 0], [0, 3.0]]
    first, second = (kind(init={"prototypes": prototypes}, random_state=seed).fit(X, y) for seed in (0, 1))
    np.testing.assert_array_equal(first.prototypes_, second.prototypes_)
    assert first.prototypes_.shape == (3, 2)
    assert first.score(X, y) > 0.9


@pytest.mark.parametrize("kind", [EvidentialNeuralClassifier, EvidentialRBFClassifier])
def test_initial_and_fitted_values_are_restored_from_files(kind, tmp_path):
    model = kind(init={"prototypes": X[:4]}).fit(X, y)
    evlearn.save_model(model, tmp_path / "model.json")
    loaded = evlearn.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.scales_, model.scales_)
    np.testing.assert_array_equal(loaded.init["prototypes"], X[:4])
    np.testing.assert_array_equal(loaded.predict_mass(X).masses, model.predict_mass(X).masses)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ("middle", "init must be one of"),
        ({"scales": [1.0]}, "init must be 'kmeans' or a dict with the key 'prototypes'"),
        ({"prototypes": X[:2], "gamma": [1, 1]}, r"optional keys \['scales', 'memberships', 'strengths'\]"),
        ({"prototypes": X[:2, :1]}, r"init\['prototypes'\] must have shape \(2, 2\)"),
        ({"prototypes": X[:2], "scales": [1, 1, 1]}, r"init\['scales'\] must have shape \(2,\)"),
        (
            {"prototypes": X[:2], "strengths": [1, 0.5]},
            r"init\['strengths'\] must be finite numbers from 0 to 0.99",
        ),
    ],
)
def test_invalid_initial_values_are_rejected(init, message):
    with pytest.raises(ValueError, match=message):
        EvidentialNeuralClassifier(init=init).fit(X, y)
