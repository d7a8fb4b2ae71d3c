"""BootClus compared with the R package and with the tables of Denoeux (2020)."""

import numpy as np
import pandas as pd
import pytest

from evlearn.belief import FocalSets
from evlearn.cluster import BootClus
from evlearn.cluster.model_based.bootclus import masses_from_intervals, masses_of_probabilities
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.partition import CredalPartition
from evlearn.utils.parameters import with_switches


class Case:
    """Reference file: intervals of R, and the start and the end of its fit of masses."""

    def __init__(self, stored):
        arrays = stored.arrays
        self.sets = FocalSets.pairs(arrays["F"].shape[1], include_omega=False)
        self.positions = self.sets.positions(arrays["F"].astype(bool))
        n = len(arrays["m0"])
        self.pairs = np.column_stack(np.triu_indices(n, k=1))
        self.bounds = [arrays[name][tuple(self.pairs.T)] for name in ("CI_lower", "CI_upper")]
        self.start = self.reorder(np.hstack([np.zeros((n, 1)), arrays["m0"]]))
        self.result = self.reorder(arrays["mass_refit"])
        self.shares = arrays["gmm_z"]

    def reorder(self, masses):
        result = np.empty_like(masses)
        result[:, self.positions] = masses
        return result

    def objective(self, masses):
        relation = CredalPartition(masses, self.sets).relational(self.pairs)
        return (
            (relation.same_cluster - self.bounds[0]) ** 2 + (relation.plausibility_same - self.bounds[1]) ** 2
        ).mean()

    def fit(self, start, **options):
        return masses_from_intervals(self.pairs, *self.bounds, start, self.sets, **options)


def test_masses_on_irises_are_those_of_r(reference):
    case = Case(reference("bootclus_iris_G3_B200"))
    np.testing.assert_allclose(case.fit(case.start, tol=1e-10).state.masses, case.result, rtol=0, atol=1e-6)
    # The default tolerance suffices, and a start from the mixture is as good as the random start of R.
    assert np.abs(case.fit(case.start).state.masses - case.result).max() < 1e-4
    trace = case.fit(masses_of_probabilities(case.shares, case.sets))
    assert trace.objective < case.objective(case.result) * (1 + 1e-6)


def test_masses_of_two_clusters_fit_better_than_those_of_r(reference):
    # R adds a term for the set of both clusters that is not in the paper; without it the fit is twice as good.
    case = Case(reference("bootclus_faithful100_G2_B200"))
    for start in (case.start, masses_of_probabilities(case.shares, case.sets)):
        assert case.fit(start).objective < 0.5 * case.objective(case.result)


@pytest.mark.parametrize(
    ("name", "model", "n_clusters"),
    [("bootclus_iris_G3_B200", "VEV", 3), ("bootclus_faithful100_G2_B200", "VVV", 2)],
)
@pytest.mark.slow
def test_intervals_are_near_those_of_r(reference, reference_file, name, model, n_clusters):
    arrays = reference(name).arrays
    table = pd.read_csv(reference_file("data/iris.csv" if n_clusters == 3 else "data/faithful.csv"))
    X = table.iloc[:, :4].to_numpy() if n_clusters == 3 else table.iloc[:100, :2].to_numpy()
    mixture = ParsimoniousGaussianMixture(n_clusters, variance_floor=0, random_state=0).fit(X)
    assert mixture.model_ == model  # the model of all resamples
    options = {"covariance_models": model, "n_bootstrap": 500}
    fitted = with_switches(BootClus(n_clusters, **options, random_state=0), variance_floor=0).fit(X)
    positions = tuple(fitted.intervals_.pairs.T)
    for bound, stored in (
        (fitted.intervals_.lower, arrays["CI_lower"]),
        (fitted.intervals_.upper, arrays["CI_upper"]),
    ):
        differences = np.abs(bound - stored[positions])
        assert differences.mean() < 0.015
        # Percentiles of 200 resamples, the number of R, vary by a few hundredths.
        assert np.quantile(differences, 0.9) < 0.05


def confusion(model, y, names):
    """Count the samples of each class by the set with their largest mass; clusters are named by majority."""
    majority = [np.bincount(y[model.labels_ == k], minlength=3).argmax() for k in range(3)]
    table = {}
    for label, place in zip(y, model.masses_.argmax(axis=1), strict=True):
        members = "+".join(sorted(names[majority[k]] for k in model.focal_sets_[place]))
        table[names[label], members] = table.get((names[label], members), 0) + 1
    return table


@pytest.mark.slow
def test_irises_as_in_tables_5_and_6(reference_file):
    table = pd.read_csv(reference_file("data/iris.csv"))
    X, y = table.iloc[:, :4].to_numpy(), table["y"].to_numpy() - 1
    model = BootClus(3, covariance_models="VEV", n_bootstrap=1000, random_state=0)
    with_switches(model, variance_floor=0).fit(X)
    counts = confusion(model, y, ["se", "ve", "vi"])
    published = {
        ("se", "se"): 50, ("ve", "ve"): 38, ("ve", "vi"): 1, ("ve", "ve+vi"): 11,
        ("vi", "vi"): 47, ("vi", "ve+vi"): 3,
    }  # fmt: skip
    assert set(counts) == set(published)
    for cell, count in published.items():
        assert counts[cell] == pytest.approx(count, abs=3), cell
    # Only sample 84 is in a wrong cluster.
    (ve, vi) = (
        np.bincount(model.labels_[rows], minlength=3).argmax() for rows in (slice(50, 100), slice(100, 150))
    )
    heaviest = model.masses_.argmax(axis=1)
    assert np.flatnonzero(heaviest[50:100] == model.focal_sets_.index((vi,))).tolist() == [33]
    pair = model.focal_sets_.index(tuple(sorted((int(ve), int(vi)))))
    for number, mass in ((69, 0.991), (71, 0.918), (73, 0.795), (78, 0.897), (84, 0.117)):
        assert model.masses_[number - 1, pair] == pytest.approx(mass, abs=0.1)


@pytest.mark.parametrize(("tol", "max_difference"), [(1.6e-4, 3), (1e-6, 6)])
@pytest.mark.slow
def test_diabetes_as_in_table_10(reference_file, tol, max_difference):
    # The EM algorithm of R stops at about the first tolerance, and replicates vary less. At convergence, about 5
    # more chemical diabetics are torn between "chemical" and "normal".
    table = pd.read_csv(reference_file("data/diabetes_mclust.csv"))
    X, y = table[["glucose", "insulin", "sspg"]].to_numpy(), pd.Categorical(table["class"]).codes
    mixture = ParsimoniousGaussianMixture(3, covariance_models="VVV", tol=tol, variance_floor=0)
    counts = confusion(BootClus(mixture=mixture, n_bootstrap=1000, random_state=0).fit(X), y, ["ch", "no", "ov"])
    published = {
        ("ch", "ch"): 18, ("ch", "no"): 6, ("ch", "ch+no"): 8, ("ch", "ch+ov"): 4,
        ("no", "ch"): 2, ("no", "no"): 68, ("no", "ch+no"): 6,
        ("ov", "ch"): 2, ("ov", "ov"): 25, ("ov", "ch+ov"): 6,
    }  # fmt: skip
    assert set(counts) == set(published)
    differences = {cell: abs(counts[cell] - count) for cell, count in published.items()}
    assert max(differences.values()) <= max_difference, counts
