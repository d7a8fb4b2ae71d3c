"""Cross-validated masses: predictions for the samples of other folds, with matching cluster numbers."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import evlearn
from evlearn.classify import EvidentialKNNClassifier
from evlearn.cluster import CECM, ECM, EVCLUS
from evlearn.constraints import PairwiseConstraints
from evlearn.model_selection import cross_val_mass

X, y = load_iris(return_X_y=True)


@pytest.mark.slow
def test_masses_of_a_fold_are_those_of_a_fit_to_the_others():
    pipeline = make_pipeline(StandardScaler(), EvidentialKNNClassifier())
    partition = cross_val_mass(pipeline, X, y)
    for train, test in StratifiedKFold(5).split(X, y):
        expected = evlearn.predict_mass(pipeline.fit(X[train], y[train]), X[test])
        assert np.array_equal(partition[test].masses, expected.masses)
    assert np.array_equal(partition.to_hard(), cross_val_predict(pipeline, X, y))


def test_scikit_learn_classifiers_are_supported():
    model = LogisticRegression(max_iter=500)
    expected = cross_val_predict(model, X, y, method="predict_proba")
    assert np.allclose(cross_val_mass(model, X, y).to_fuzzy(), expected)


def test_clusters_have_the_same_numbers_in_all_folds():
    data, truth = make_blobs(200, centers=4, cluster_std=0.5, random_state=3)
    for model in (ECM(4), KMeans(4, n_init=3)):
        partition = cross_val_mass(model, data, cv=KFold(4, shuffle=True, random_state=0))
        assert adjusted_rand_score(truth, partition.to_hard()) == 1
        assert np.isfinite(partition.masses).all()


@pytest.mark.slow
def test_sets_that_only_some_folds_have_are_in_the_result():
    partition = cross_val_mass(ECM(5, focal_sets="neighbor_pairs", random_state=0), X, cv=3)
    assert np.allclose(partition.masses.sum(axis=1), 1)
    folds = [ECM(5, focal_sets="neighbor_pairs", random_state=0).fit(X[k:]) for k in (0, 50)]
    assert len(partition.focal_sets) >= max(len(model.focal_sets_) for model in folds)


def test_dissimilarities_are_split_along_both_axes():
    model = EVCLUS(3, metric="precomputed", random_state=0)
    partition = cross_val_mass(model, pairwise_distances(X), cv=3)
    assert len(partition) == len(X)
    assert adjusted_rand_score(y, partition.to_hard()) > 0.5


def test_frames_keep_their_index_and_jobs_do_not_matter():
    frame = pd.DataFrame(X, index=[f"flower {k}" for k in range(len(X))])
    partition = cross_val_mass(EvidentialKNNClassifier(), frame, pd.Series(y, index=frame.index), cv=3)
    assert partition.sample_index.equals(frame.index)
    repeated = cross_val_mass(EvidentialKNNClassifier(), X, y, cv=3, n_jobs=2)
    assert np.array_equal(partition.masses, repeated.masses)


@pytest.mark.slow
def test_weights_and_constraints_go_to_the_fold_of_their_samples():
    weights = np.ones(len(X))
    weights[:3] = 1e-6
    partition = cross_val_mass(ECM(3, random_state=0), X, cv=3, params={"sample_weight": weights})
    assert partition != cross_val_mass(ECM(3, random_state=0), X, cv=3)
    constraints = PairwiseConstraints.sample(y, 40, random_state=0)
    guided = cross_val_mass(CECM(3, random_state=0), X, cv=3, params={"constraints": constraints})
    assert len(guided) == len(X)


def test_sparse_matrices_are_supported():
    partition = cross_val_mass(LogisticRegression(max_iter=500), csr_array(X), y, cv=3)
    assert len(partition) == len(X)


def test_splits_without_all_samples_raise_an_error():
    with pytest.raises(ValueError, match="cv must put each sample into exactly one test set"):
        cross_val_mass(EvidentialKNNClassifier(), X, y, cv=ShuffleSplit(3, random_state=0))


def test_a_class_missing_from_a_fold_raises_an_error():
    with pytest.raises(ValueError, match=r"different classes.*folds with samples of all classes"):
        cross_val_mass(EvidentialKNNClassifier(), X, y, cv=KFold(3))


def test_a_clusterer_without_predictions_raises_an_error():
    with pytest.raises(ValueError, match="has no predict_mass"):
        cross_val_mass(AgglomerativeClustering(3), X)


def test_constraints_of_selected_samples_are_renumbered():
    constraints = PairwiseConstraints([(0, 5), (5, 7), (2, 3)], [(0, 2), (7, 9)])
    left = constraints.take([7, 5, 9])
    assert left == PairwiseConstraints([(0, 1)], [(0, 2)])
    assert constraints.take(range(20)) == constraints
    assert len(constraints.take([])) == 0
