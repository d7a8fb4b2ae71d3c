"""Warnings of a collapse are part of the results of a fit."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import k_means
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import evlearn
from evlearn.cluster import CCM, ECM, EVCLUS, RECM, ECMdd, EKNNClus, MergedMixture
from evlearn.cluster.base import add_problems
from evlearn.cluster.fit_warnings import warn_of_small_clusters
from evlearn.conformal import ConformalClusterer
from evlearn.ensemble import CredalEnsemble
from evlearn.exceptions import CollapseWarning

THREE_SAMPLES = np.array([[0.0, 0], [1, 1], [5, 5]])
BLOBS = make_blobs(60, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)[0]
ESTIMATORS = {
    "CCM": CCM(3, random_state=0),
    "ECM": ECM(3, random_state=0),
    "EVCLUS": EVCLUS(3, random_state=0),
    "RECM": RECM(3, random_state=0),
    "ECMdd": ECMdd(3, random_state=0),
    "CredalEnsemble": CredalEnsemble([ECM(3, random_state=0)], random_state=0),
}


def fit_to_three_samples(estimator):
    """Fit an estimator for 3 clusters to 3 samples."""
    with pytest.warns(CollapseWarning):
        return estimator.fit(THREE_SAMPLES)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_warning_is_the_first_line_of_results_predictions_and_loaded_models(name, tmp_path):
    estimator = fit_to_three_samples(ESTIMATORS[name])
    (problem,) = estimator.credal_partition_.problems
    assert problem == (
        "n_samples=3 is not more than n_clusters=3: every sample can be a separate cluster, so the result "
        "carries no evidence. Use fewer clusters or more samples."
    )
    assert str(estimator.credal_partition_.summary()).startswith(f"Warning: {problem}\n")
    assert estimator.predict_mass(THREE_SAMPLES).problems == (problem,)
    evlearn.save_model(estimator, tmp_path / "model.json")
    assert evlearn.load_model(tmp_path / "model.json").predict_mass(THREE_SAMPLES[:1]).problems == (problem,)


def test_a_good_fit_removes_the_problems_of_an_earlier_fit(tmp_path):
    estimator = fit_to_three_samples(ECM(3, random_state=0))
    estimator.fit(BLOBS)
    assert estimator.credal_partition_.problems == estimator.predict_mass(BLOBS).problems == ()
    evlearn.save_model(estimator, tmp_path / "model.json")
    assert "_problems" not in (tmp_path / "model.json").read_text()


def test_a_fit_that_raises_keeps_the_problems_of_an_earlier_fit():
    estimator = fit_to_three_samples(ECM(3, random_state=0))
    with pytest.raises(ValueError, match="n_clusters"):
        estimator.set_params(n_clusters=0).fit(BLOBS)
    assert len(estimator.credal_partition_.problems) == 1


def test_problems_pass_through_pipelines_and_frames():
    model = make_pipeline(StandardScaler(), CCM(3, random_state=0))
    with pytest.warns(CollapseWarning):
        model.fit(THREE_SAMPLES)
    assert len(evlearn.predict_mass(model, THREE_SAMPLES).problems) == 1


def test_a_single_cluster_is_a_problem_of_eknnclus():
    with pytest.warns(CollapseWarning, match="^all samples are in one cluster"):
        model = EKNNClus(random_state=0).fit(np.ones((20, 2)))
    expected = "All samples are in one cluster. Lower n_neighbors or q to find more."
    assert model.credal_partition_.problems == model.predict_mass(np.zeros((1, 2))).problems == (expected,)


def make_discrete_samples():
    """Return samples with a feature of 3 values."""
    rng = np.random.RandomState(0)
    return np.column_stack([rng.normal(size=90), np.repeat([0.0, 1, 2], 30)])


def test_a_problem_of_the_mixture_is_a_problem_of_the_clusterer():
    with pytest.warns(CollapseWarning, match="^in some components, all samples have the same value"):
        model = MergedMixture(3, component_numbers=3, random_state=0).fit(make_discrete_samples())
    assert [problem.split(":")[0] for problem in model.credal_partition_.problems] == [
        "In some components, all samples have the same value of a feature"
    ]


def test_a_component_of_one_sample_is_not_a_problem_of_merged_clusters():
    X = np.concatenate([BLOBS, [[30.0, 30]]])
    model = MergedMixture(1, component_numbers=4, covariance_models="EII", random_state=0).fit(X)
    assert model.credal_partition_.problems == ()


def test_problems_of_ensemble_members_are_not_problems_of_the_ensemble():
    inner = ECM(35, random_state=0)
    with pytest.warns(CollapseWarning):
        ensemble = CredalEnsemble([inner, ECM(3, random_state=0)], n_clusters=3, random_state=0).fit(BLOBS)
    assert ensemble.credal_partition_.problems == ()
    assert len(ensemble.clusterers_[0].credal_partition_.problems) == 1


@pytest.mark.slow
def test_a_conformal_clusterer_has_the_problems_of_its_clusterer(tmp_path):
    cloud = np.random.default_rng(0).normal(size=(300, 5))
    with pytest.warns(CollapseWarning):
        model = ConformalClusterer(CCM(3, random_state=0), random_state=0).fit(cloud)
    (problem,) = model.credal_partition_.problems
    assert problem.startswith("The 3 clusters explain no more of these data than of one Gaussian cloud")
    evlearn.save_model(model, tmp_path / "model.json")
    assert evlearn.load_model(tmp_path / "model.json").predict_mass(cloud).problems == (problem,)


def test_added_problems_precede_those_of_the_fit():
    estimator = fit_to_three_samples(ECM(3, random_state=0))
    add_problems(estimator, ["The number of clusters is uncertain."])
    assert len(estimator.credal_partition_.problems) == 2
    assert estimator.predict_mass(THREE_SAMPLES).problems[0] == "The number of clusters is uncertain."


@pytest.mark.parametrize(
    ("sizes", "advice"),
    [((995, 5, 0), "check the data for wrong or extreme values"), ((500, 500, 0), "Use fewer clusters")],
)
def test_fewer_clusters_are_not_recommended_if_one_has_nearly_all_samples(sizes, advice):
    with pytest.warns(
        CollapseWarning, match=rf"^of 3 clusters, some hold one sample or none: 2 \(empty\)\. .*{advice}"
    ):
        warn_of_small_clusters(np.repeat(np.arange(3), sizes), 3)


def make_unequal_clusters():
    """Return 3 clusters of different sizes, of which CCM with ``beta=2`` does not find the smallest."""
    rng = np.random.default_rng(0)
    sizes, centers = (300, 40, 15), np.array([[0, 0, 0], [8, 0, 0], [0, 8, 0]])
    return np.concatenate([rng.normal(center, size=(n, 3)) for n, center in zip(sizes, centers, strict=True)])


@pytest.mark.parametrize("beta", [2.0, "auto"])
def test_an_implausible_sum_of_squares_is_a_problem_that_automatic_beta_solves(beta):
    X = make_unequal_clusters()
    model = CCM(3, beta=beta, random_state=0)
    if beta == "auto":
        assert model.fit(X).credal_partition_.problems == ()
        return
    with pytest.warns(CollapseWarning, match="times that of k-means"):
        model.fit(X)
    (problem,) = model.credal_partition_.problems
    assert problem.endswith("Compare the labels with those of k-means, and use beta='auto' or a smaller value.")
    squares = [
        (cdist(X, centers) ** 2).min(axis=1).sum() for centers in (model.cluster_centers_, k_means(X, 3)[0])
    ]
    assert f"is {squares[0] / squares[1]:.1f} times that of k-means" in problem


def test_gross_errors_do_not_hide_an_implausible_sum_of_squares():
    X = np.concatenate([make_unequal_clusters(), [[0, 0, 3e3], [0, -3e3, 0], [3e3, 0, 0]]])
    with pytest.warns(CollapseWarning, match="times that of k-means"):
        CCM(3, beta=2.0, random_state=0).fit(X)
