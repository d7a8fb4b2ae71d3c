"""Tests against the R package: losses, gradients and masses of stored weights, and results of training."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.svm import OneClassSVM

from evlearn.belief import FocalSets
from evlearn.cluster import Quantile
from evlearn.constraints import PairwiseConstraints
from evlearn.neural import NNEVCLUS
from evlearn.neural.losses import Losses, SideInformation
from evlearn.neural.network import EvidentialNetwork, OutlierLink, layers
from evlearn.neural.training import total_loss, train_on_all_pairs
from evlearn.utils.parameters import with_switches

CASES = {
    "nnevclus_fourclass_c4_pairs_nH20_fhat": "fourclass",
    "nnevclus_fourclass_c4_pairs_nH5x5_fhat": "fourclass",
    "nnevclus_fourclass_c4_simple_nH10_nofhat": "fourclass",
    "nnevclus_bananas200_const": "bananas_n200_seed7",
    "nnevclus_bananas200_semisup": "bananas_n200_seed7",
    "nnevclus_bananas200_const_2layers_semisup": "bananas_n200_seed7",
}


class Case:
    """Stored case: data, network and loss."""

    def __init__(self, reference_file, name, data):
        with np.load(reference_file(f"{name}.npz")) as arrays:
            self.arrays = dict(arrays)
        facts = json.loads(reference_file(f"{name}.json").read_text())
        self.parameters, self.scalars = facts["parameters"], facts["scalars"]
        table = np.genfromtxt(reference_file(f"data/{data}.csv"), delimiter=",", skip_header=1)
        self.truth = table[:, 2]
        self.X = (table[:, :2] - table[:, :2].mean(axis=0)) / table[:, :2].std(axis=0, ddof=1)
        self.focal_sets = FocalSets.from_membership(self.arrays["F"].astype(bool))
        assert (self.focal_sets.membership == self.arrays["F"]).all()
        self.scores = torch.from_numpy(self.arrays["fhat"]) if "fhat" in self.arrays else None

    def network(self, suffix):
        """Return the network with the initial ("0") or final ("") weights."""
        matrices = [self.arrays[key + suffix] for key in "UVW" if key + suffix in self.arrays]
        body = layers(matrices[0].shape[1] - 1, [len(matrix) for matrix in matrices[:-1]], len(matrices[-1]))
        link = None if self.scores is None else OutlierLink("r")
        with torch.no_grad():
            linear = [part for part in body if isinstance(part, torch.nn.Linear)]
            network = EvidentialNetwork(body, link).double()
            for part, matrix in zip(linear, matrices, strict=True):
                part.bias.copy_(torch.from_numpy(matrix[:, 0]))
                part.weight.copy_(torch.from_numpy(matrix[:, 1:]))
            if link is not None:
                link.beta.copy_(torch.from_numpy(self.arrays["beta" + suffix]))
        return network

    def side_information(self):
        empty = np.empty(0, dtype=int)
        must, cannot = (self.arrays.get(key, empty.reshape(0, 2) + 1) - 1 for key in ("ML_1b", "CL_1b"))
        pairs = np.vstack([must, cannot])
        labeled, clusters = (self.arrays.get(key, empty + 1) - 1 for key in ("Is_1b", "y_1b"))
        return SideInformation(labeled, clusters, pairs, np.arange(len(pairs)) < len(must))

    @property
    def unit(self):
        """Ratio of R's loss to ours; R divides errors of labels by the number of clusters."""
        nu = self.parameters["nu"] if len(self.side_information().labeled) else 0.0
        return 1 - nu + nu / self.parameters["c"]

    @property
    def weights(self):
        """Weights with which our loss is proportional to R's."""
        settings, unit = self.parameters, self.unit
        label_weight = settings["nu"] / settings["c"] / unit
        return {
            "constraint_weight": settings["xi"] / unit,
            "l2": settings["lambda"] / unit,
            "label_weight": label_weight,
        }

    def loss(self, network):
        settings = self.parameters
        losses = Losses.of(self.focal_sets, torch.zeros((), dtype=torch.float64), **self.weights)
        targets = torch.from_numpy(1 - np.exp(np.log(0.05) * (self.arrays["D"] / settings["d0"]) ** 2))
        partners = torch.from_numpy(self.arrays["J_1b"] - 1)
        side_information, X = self.side_information(), torch.from_numpy(self.X)

        def loss():
            masses = network(X, self.scores)
            stress = losses.partner_pairs(masses, partners, targets)
            value = total_loss(
                masses[torch.from_numpy(side_information.samples)], stress, network, losses, side_information
            )
            return self.unit * value

        return loss


@pytest.fixture(params=CASES)
def case(request, reference_file):
    return Case(reference_file, request.param, CASES[request.param])


def gradient(network):
    """Return the gradient in R's order: weight matrices by column, with biases first, then beta."""
    linear = [part for part in network.body if isinstance(part, torch.nn.Linear)]
    parts = [np.hstack([layer.bias.grad[:, None], layer.weight.grad]).T.ravel() for layer in linear]
    return np.concatenate(parts if network.link is None else [*parts, network.link.beta.grad])


def test_loss_and_gradient_at_the_stored_start_are_those_of_r(case):
    network = case.network("0")
    loss = case.loss(network)()
    assert loss.item() == pytest.approx(case.scalars["loss0"], rel=1e-12)
    loss.backward()
    values = gradient(network)
    np.testing.assert_allclose(values, case.arrays["grad0"][: len(values)], rtol=0, atol=1e-13)


def test_loss_and_masses_of_the_stored_weights_are_those_of_r(case):
    network = case.network("")
    with torch.no_grad():
        assert case.loss(network)().item() == pytest.approx(case.scalars["loss_at_returned_param"], rel=1e-8)
        np.testing.assert_allclose(
            network(torch.from_numpy(case.X), case.scores), case.arrays["mass"], rtol=0, atol=1e-8
        )
        if "newx" in case.arrays:
            new, scores = torch.from_numpy(case.arrays["newx"]), case.arrays.get("newfhat")
            masses = network(new, None if scores is None else torch.from_numpy(scores))
            np.testing.assert_allclose(masses, case.arrays["mass_pred"], rtol=0, atol=1e-8)


@pytest.mark.slow
def test_training_from_the_stored_start_ends_no_higher_than_r(case, request):
    if case.parameters["n_H"] == [5, 5]:
        reason = "ends in another local minimum, 3 % higher; the next test starts well, and ends far lower"
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    network = case.network("0")
    training = train_on_all_pairs(
        network,
        case.loss(network),
        solver="lbfgs",
        learning_rate=0,
        max_iter=case.scalars["iterations"],
        tol=0,
        report=None,
    )
    assert training.state.objective <= case.scalars["loss_at_returned_param"] * (1 + 1e-9)
    with torch.no_grad():
        assert case.loss(network)().item() == training.state.objective


@pytest.mark.slow
def test_the_estimator_ends_no_higher_than_r(case):
    """The median of 3 seeds, because last digits of the start can decide on the local minimum."""
    objectives = [case.unit * fitted(case, seed).objective_ for seed in range(3)]
    assert np.median(objectives) <= case.scalars["loss_at_returned_param"] * (1 + 1e-9)


def fitted(case, seed):
    """Fit the estimator with the settings of a case."""
    settings, arrays = case.parameters, case.arrays
    side_information = case.side_information()
    labels = np.full(len(case.X), -1)
    labels[side_information.labeled] = side_information.clusters
    model = NNEVCLUS(
        settings["c"],
        focal_sets=case.focal_sets,
        network=settings["n_H"],
        n_partners=arrays["J_1b"] - 1,
        d0=settings["d0"],
        standardize=False,
        outlier_model=None if case.scores is None else "svm",
        **case.weights,
        max_iter=case.scalars["iterations"],
        n_init=3,
        random_state=seed,
    )
    constraints = PairwiseConstraints(
        side_information.pairs[side_information.is_must_link],
        side_information.pairs[~side_information.is_must_link],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # R has the same number of iterations
        return model.fit(case.X, labels=labels if len(side_information.labeled) else None, constraints=constraints)


def test_losses_of_a_mini_batch_are_those_of_r(reference_file):
    case = Case(reference_file, "nnevclus_mb_fourclass", "fourclass")
    batch = case.arrays["batch_1b"] - 1
    losses = Losses.of(case.focal_sets, torch.zeros((), dtype=torch.float64))
    X, targets = torch.from_numpy(case.X[batch]), torch.from_numpy(case.arrays["Dnorm_batch"])

    def check(name, term, scores):
        network = case.network("0")
        value = term(network(X, scores))
        value.backward()
        assert value.item() == pytest.approx(case.scalars[f"{name}_loss"], rel=1e-10)
        if scores is None:
            network.link.beta.grad = torch.zeros(2, dtype=torch.float64)
        values = gradient(network)
        np.testing.assert_allclose(values, case.arrays[f"{name}_grad"][: len(values)], rtol=0, atol=1e-10)

    scores = case.scores[batch]
    check("part1", lambda masses: losses.all_pairs(masses, targets), scores)
    check("part1_nofhat", lambda masses: losses.all_pairs(masses, targets), None)
    clusters = torch.from_numpy(case.arrays["y_batch_1b"] - 1)
    check("part2", lambda masses: losses.labels(masses, clusters) / case.parameters["c"], scores)


def test_the_one_class_svm_is_that_of_r(reference_file):
    case = Case(reference_file, "nnevclus_fourclass_c4_pairs_nH20_fhat", "fourclass")
    scores = OneClassSVM(nu=0.2, gamma=0.2, tol=1e-9).fit(case.X).decision_function(case.X)
    np.testing.assert_allclose(scores, case.arrays["fhat"], rtol=0, atol=2e-2)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.slow
def test_fourclass_of_example_4_is_learned_better_than_published(reference_file, seed):
    case = Case(reference_file, "nnevclus_fourclass_c4_pairs_nH20_fhat", "fourclass")
    model = NNEVCLUS(
        4,
        focal_sets="pairs",
        network=(20,),
        n_partners=100,
        outlier_model="svm",
        d0=Quantile(0.9),
        tol=1e-3,
        random_state=seed,
    ).fit(case.X)
    assert model.objective_ <= 5.64e-3  # published; 5.5e-3 to 5.7e-3 in the R package
    assert adjusted_rand_score(case.truth, model.labels_) > 0.70
    assert 5 <= model.credal_partition_.outliers().sum() <= 15


@pytest.mark.slow
def test_proteins_are_recognized_as_published(reference_file):
    with np.load(reference_file("data/protein_D.npz")) as file:
        D, truth = file["D"], file["y"].ravel()
    model = NNEVCLUS(4, metric="precomputed", network=(20,), d0=D.max(), random_state=0)
    with_switches(model, n_components=3).fit(D)
    assert adjusted_rand_score(truth, model.labels_) == pytest.approx(0.989, abs=5e-4)
    np.testing.assert_allclose(model.predict_mass(D).masses, model.masses_, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("letter_IJL", {"n_clusters": 3, "focal_sets": "pairs"}), ("s2", {"n_clusters": 15, "d0": Quantile(0.1)})],
)
@pytest.mark.slow
def test_half_of_the_data_predicts_the_other_half(reference_file, name, settings):
    table = pd.read_csv(reference_file(f"data/{name}.csv")).sample(frac=1, random_state=0)
    halves = [table[: len(table) // 2], table[len(table) // 2 :]]
    model = NNEVCLUS(random_state=0, **settings).fit(halves[0].drop(columns="y"))
    scores = [adjusted_rand_score(half["y"], model.predict(half.drop(columns="y"))) for half in halves]
    assert abs(scores[0] - scores[1]) < 0.03
    if name == "s2":
        assert min(scores) > 0.89
