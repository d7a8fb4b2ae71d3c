"""Few samples for the number of clusters: no sample is sure if each can have its own cluster."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

import evlearn
from evlearn import cluster
from evlearn.cluster import CCM, ECM, EVCLUS, RECM, SECM, BootClus, FocalFamily
from evlearn.ensemble import CredalEnsemble
from evlearn.exceptions import CollapseWarning
from evlearn.mixture import ParsimoniousGaussianMixture

PROTOTYPES = ["BPEC", "CCM", "CECM", "ECM", "ECMdd", "EVCLUS", "RECM", "SECM"]
MIXTURES = ["BootClus", "MergedMixture"]
NO_EVIDENCE = "n_samples=3 is not more than n_clusters=3: .* carries no evidence. Use fewer clusters"


def make(name, n_clusters, **options):
    kind = getattr(cluster, name)
    seed = {"random_state": 0} if "random_state" in kind().get_params() else {}
    return kind(n_clusters, **seed, **options)


def draw_samples(n_samples):
    return np.random.default_rng(0).normal(size=(n_samples, 2))


def fit_with_warning(model, X, **options):
    with pytest.warns(CollapseWarning) as record:
        model.fit(X, **options)
    return model, str(record[0].message)


def test_all_clusterers_with_a_number_of_clusters_are_tested():
    classes = (getattr(cluster, name) for name in cluster.__all__)
    names = {
        kind.__name__
        for kind in classes
        if isinstance(kind, type) and "n_clusters" in kind.__init__.__annotations__
    }
    assert names == {*PROTOTYPES, *MIXTURES}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", PROTOTYPES)
def test_no_sample_is_sure_if_each_can_have_its_own_cluster(name):
    X = draw_samples(3)
    with pytest.warns(CollapseWarning, match=NO_EVIDENCE):
        model = make(name, 3).fit(X)
    for partition in (model.credal_partition_, model.predict_mass(X), model.predict_mass(draw_samples(20))):
        assert not partition.verdict(0.02).sure.any()
        assert partition.verdict().torn.all()
        np.testing.assert_allclose(partition.masses.sum(axis=1), 1)
    assert "sure             0    (0.0 %)" in str(model.credal_partition_.summary())
    assert model.predict_set(X).all()
    assert model.predict_proba(X).max() < 0.35
    # Labels are those of the clusters, as always.
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if name != "EVCLUS":  # clusters of EVCLUS have no locations
        assert sorted(model.labels_) == [0, 1, 2]


@pytest.mark.parametrize("name", ["BPEC", "CCM", "CECM", "ECM", "ECMdd", "SECM"])
def test_fewer_than_two_samples_for_each_cluster_are_reported(name):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        make(name, 3).fit(draw_samples(5))
    messages = [str(warning.message) for warning in record if warning.category is CollapseWarning]
    assert "n_samples=5 is less than 2 for each of n_clusters=3" in messages[0]


@pytest.mark.parametrize("name", [*PROTOTYPES, *MIXTURES])
def test_enough_samples_are_not_reported(name):
    X, _ = make_blobs([12, 12, 12], centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    model = make(name, 3).fit(X)
    assert "_lacks_evidence" not in model.__dict__
    assert model.credal_partition_.verdict().sure.mean() > 0.5


def test_one_cluster_needs_no_evidence():
    assert "_lacks_evidence" not in ECM(1, random_state=0).fit(draw_samples(1).repeat(1, axis=0)).__dict__


@pytest.mark.parametrize("kind", [ECM, CCM, SECM])
def test_weights_count_as_numbers_of_samples(kind):
    X, model = np.array([[0.0, 0], [5, 0], [0, 5]]), kind(3, random_state=0)
    repeated = kind(3, random_state=0).fit(np.repeat(X, 10, axis=0))
    weighted = model.fit(X, sample_weight=[10, 10, 10])
    np.testing.assert_allclose(weighted.predict_mass(X).masses, repeated.predict_mass(X).masses, atol=1e-9)
    assert weighted.credal_partition_.verdict().sure.all()
    X_larger = np.vstack([X, draw_samples(20)])
    model, message = fit_with_warning(kind(3, random_state=0), X_larger, sample_weight=[1, 1, 1] + 20 * [0])
    assert message.startswith("n_samples=3 is not more than n_clusters=3")
    assert model.credal_partition_.verdict().torn.all()
    model, _ = fit_with_warning(kind(3, random_state=0), X, sample_weight=[0.2, 0.3, 0.5])
    assert model.credal_partition_.verdict().torn.all()


@pytest.mark.parametrize("kind", [ECM, CCM, RECM, EVCLUS])
def test_a_fit_does_not_depend_on_an_earlier_fit(kind):
    X, _ = make_blobs(60, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    options = {} if kind in (CCM,) else {"focal_sets": FocalFamily("simple", include_omega=False)}
    model, _ = fit_with_warning(kind(3, random_state=0, **options), draw_samples(3))
    assert model.focal_sets_.has_omega
    model.fit(X)
    other = kind(3, random_state=0, **options).fit(X)
    np.testing.assert_array_equal(model.masses_, other.masses_)
    assert not model.focal_sets_.has_omega


@pytest.mark.parametrize("kind", [ECM, CCM])
def test_small_batches_cause_no_warning(kind):
    X, _ = make_blobs(60, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    model = ECM(3, random_state=0).partial_fit(X[:3])
    assert not model.predict_mass(X).verdict().sure.any()
    for start in range(3, 60, 3):
        model.partial_fit(X[start : start + 3])
    assert model.predict_mass(X).verdict().sure.mean() > 0.5


@pytest.mark.parametrize("name", ["ECM", "RECM", "ECMdd", "CECM", "EVCLUS"])
@pytest.mark.filterwarnings("ignore::evlearn.exceptions.CollapseWarning")
def test_model_files_keep_the_doubt(name, tmp_path):
    model = make(name, 3).fit(draw_samples(3))
    evlearn.save_model(model, tmp_path / "model.json")
    loaded_model = evlearn.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(
        loaded_model.predict_mass(draw_samples(9)).masses, model.predict_mass(draw_samples(9)).masses
    )
    assert loaded_model.predict_mass(draw_samples(9)).verdict().torn.all()


@pytest.mark.filterwarnings("ignore::evlearn.exceptions.CollapseWarning")
def test_to_sql_refuses_models_without_evidence():
    with pytest.raises(ValueError, match="to_sql needs a fit with evidence, and this ECM was fitted to at most"):
        evlearn.to_sql(ECM(3, random_state=0).fit(draw_samples(3)), "t", features=["x", "y"])


def test_members_with_a_cluster_for_each_sample_carry_no_evidence():
    members = [KMeans(3, n_init=1, random_state=seed) for seed in range(3)]
    model, message = fit_with_warning(CredalEnsemble(members, random_state=0), draw_samples(3))
    assert message.startswith("n_samples=3 is not more than n_clusters=3")
    assert model.credal_partition_.verdict().torn.all()


def test_mixtures_of_few_samples_carry_no_evidence():
    mixture = ParsimoniousGaussianMixture(2, covariance_models="EII", reg_covar=0.1, random_state=0)
    model, message = fit_with_warning(
        BootClus(None, mixture=mixture, random_state=0), np.array([[0.0, 0], [5, 0]])
    )
    assert message.startswith("n_samples=2 is not more than n_clusters=2")
    assert model.credal_partition_.verdict().torn.all()


def test_landmarks_and_samples_in_chunks_are_counted(tmp_path):
    for model, X in (
        (EVCLUS(3, solver="landmark", random_state=0), draw_samples(3)),
        (ECM(3), iter([draw_samples(3)])),
    ):
        model, message = fit_with_warning(model, X)
        assert message.startswith("n_samples=3 is not more than n_clusters=3")
        assert model.predict_mass(draw_samples(9)).verdict().torn.all()
