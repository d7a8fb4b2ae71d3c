"""Tests of `CredalEnsemble` with views: groups of columns as separate sources."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score, pairwise_distances, roc_auc_score

import evlearn
from benchmarks.studies.answers.views import changed, generated
from evlearn.ensemble import CredalEnsemble
from evlearn.ensemble.views import View, ViewsModel, columns_of, combined_probabilities, in_one_unit


def stacked(views):
    """Return the columns of all views, and the groups."""
    ends = np.cumsum([view.shape[1] for view in views])
    return np.hstack(views), [group.tolist() for group in np.split(np.arange(ends[-1]), ends[:-1])]


@pytest.fixture(scope="module")
def problem():
    """4 views of 5 clusters, of which each has 2 in the same place, and a view of noise."""
    views, y = generated(np.random.default_rng(0), n_samples=250)
    return *stacked(changed(views, 1, 0, seed=0)[0]), y


@pytest.fixture(scope="module")
def fitted(problem):
    X, columns, _ = problem
    return CredalEnsemble(n_clusters=5, views=columns, random_state=0).fit(X)


def test_views_confirm_each_other_and_noise_has_no_influence(problem, fitted):
    assert adjusted_rand_score(problem[2], fitted.labels_) > 0.9
    assert fitted.view_reliabilities_[:4].min() > 0.1
    assert fitted.view_reliabilities_[4] < 0.03
    of_noise = [
        weight for weight, name in zip(fitted.weights_, fitted.member_names_, strict=True) if "view 4" in name
    ]
    assert len(of_noise) == 3
    assert sum(of_noise) < 0.03
    assert fitted.weights_.sum() == pytest.approx(1)
    assert f"view 4: reliability {fitted.view_reliabilities_[4]:.2f}" in fitted.describe()


def test_rows_with_a_view_of_another_sample_are_in_doubt():
    views, y = generated(np.random.default_rng(1), n_samples=250)
    parts, is_foreign = changed(views, 0, 1, seed=1)
    X, columns = stacked(parts)
    model = CredalEnsemble(n_clusters=5, views=columns, random_state=0).fit(X)
    assert roc_auc_score(is_foreign, model.credal_partition_.doubt()) > 0.65
    assert adjusted_rand_score(y, model.labels_) > 0.8


def test_new_rows_whose_views_contradict_each_other_are_torn():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = np.hstack([8 * y[:, None] + random.normal(size=(120, 2)) for _ in range(2)])
    model = CredalEnsemble(n_clusters=2, views=[[0, 1], [2, 3]], random_state=0).fit(X)
    rows = np.array([[0, 0, 0, 0], [8, 8, 8, 8], [0, 0, 8, 8], [8, 8, 0, 0]], dtype=float)
    verdict = model.predict_mass(rows).verdict()
    assert verdict.sure.tolist() == [True, True, False, False]
    assert verdict.torn.tolist() == [False, False, True, True]


def test_a_view_with_a_gross_error_has_no_influence_and_rows_far_away_in_all_views_are_outliers():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = np.hstack([8 * y[:, None] + random.normal(size=(120, 2)) for _ in range(3)])
    model = CredalEnsemble(n_clusters=2, views=[[0, 1], [2, 3], [4, 5]], random_state=0).fit(X)
    rows = np.array([[0, 0, 0, 0, 1e6, 1e6], [1e6] * 6])
    verdict = model.predict_mass(rows).verdict()
    assert model.predict(rows)[0] == model.predict(np.zeros((1, 6)))[0]
    assert verdict.sure.tolist() == [True, False]
    assert verdict.outlier.tolist() == [False, True]


def test_probabilities_are_those_of_discounted_shares():
    clusters, counts = np.array([0, 0, 1, 1]), np.ones(4)
    neighbors = [np.array([[0, 1]]), np.array([[1, 2]])]
    values = combined_probabilities(neighbors, clusters, counts, np.array([[0.5], [0.9]]), 2)
    first = (np.array([2, 0]) + 0.5) / 3 / 0.5  # the shares of both clusters are 1/2
    expected = 0.5 + 0.5 * first  # the second view has evidence 1 for both
    np.testing.assert_allclose(values, [expected / expected.sum()])


def test_columns_by_name_and_by_index_are_equivalent(problem, fitted):
    X, columns, _ = problem
    frame = pd.DataFrame(X, columns=[f"column {k}" for k in range(X.shape[1])])
    views = [[f"column {k}" for k in group] for group in columns]
    model = CredalEnsemble(n_clusters=5, views=views, random_state=0).fit(frame)
    np.testing.assert_array_equal(model.masses_, fitted.masses_)


def test_columns_in_no_view_are_not_used(problem):
    X, columns, _ = problem
    model = CredalEnsemble(n_clusters=5, views=columns[:3], random_state=0).fit(X)
    other = X.copy()
    other[:, columns[4]] += 100
    np.testing.assert_array_equal(model.predict_mass(other).masses, model.masses_)


def test_distance_matrices_are_views(problem):
    X, columns, y = problem
    matrices = [pairwise_distances(X[:, group], metric="manhattan") for group in columns]
    distances, groups = stacked(matrices)
    model = CredalEnsemble(n_clusters=5, views=groups, random_state=0).fit(distances)
    assert adjusted_rand_score(y, model.labels_) > 0.8
    assert model.view_reliabilities_[4] < 0.3 * model.view_reliabilities_[:4].min()


def test_model_files_contain_the_views(problem, fitted, tmp_path):
    evlearn.save_model(fitted, tmp_path / "model.json")
    loaded = evlearn.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_mass(problem[0]).masses, fitted.masses_)
    assert loaded.views == fitted.views
    assert loaded.describe() == fitted.describe()


def test_the_order_of_rows_and_weights_of_0_do_not_matter(problem, fitted):
    X, columns, _ = problem
    order = np.random.default_rng(0).permutation(len(X))
    other = CredalEnsemble(n_clusters=5, views=columns, random_state=0).fit(X[order])
    np.testing.assert_allclose(other.masses_, fitted.masses_[order], atol=1e-9)
    extended = np.vstack([X, np.zeros((5, X.shape[1]))])
    weights = np.append(np.ones(len(X)), np.zeros(5))
    weighted = CredalEnsemble(n_clusters=5, views=columns, random_state=0).fit(extended, sample_weight=weights)
    np.testing.assert_allclose(weighted.masses_[: len(X)], fitted.masses_, atol=1e-9)


def test_missing_values_are_doubt(problem):
    X, columns, _ = problem
    X = X[:, : columns[2][-1] + 1].copy()
    X[:20, columns[0]] = np.nan
    model = CredalEnsemble(n_clusters=5, views=columns[:3], random_state=0).fit(X)
    doubt = model.credal_partition_.doubt()
    assert doubt[:20].mean() > doubt[20:].mean()


def test_the_number_of_clusters_is_estimated_in_one_unit():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    view = 10 * np.eye(3)[y] + random.normal(size=(150, 3))
    X = np.hstack([view, 1000 * view + 1000 * random.normal(size=(150, 3))])
    views = [[0, 1, 2], [3, 4, 5]]
    parts = in_one_unit(X, [np.array(group) for group in views])
    np.testing.assert_allclose([part.var(axis=0).sum() for part in np.split(parts, 2, axis=1)], 1)
    assert CredalEnsemble(views=views, random_state=0).fit(X).n_clusters_ == 3


@pytest.mark.filterwarnings("ignore::evlearn.exceptions.CollapseWarning")
@pytest.mark.parametrize("X", [np.zeros((8, 2)), np.arange(12.0).reshape(6, 2), np.ones((1, 2))])
def test_few_distinct_samples(X):
    model = CredalEnsemble(n_clusters=1, views=[[0], [1]], random_state=0).fit(X)
    np.testing.assert_allclose(model.masses_.sum(axis=1), 1, atol=1e-9)


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ([], "views must be a list of lists"),
        ("ab", "views must be a list of lists"),
        ([[0], "b"], r"views\[1\] must be a list of names or indices"),
        ([[0], []], r"views\[1\] must be a list of names or indices"),
        ([[0, 5]], r"views\[0\] contains 5, which is not a column"),
        ([["c"]], r"views\[0\] contains 'c', which is not a column"),
        ([[0, 0]], r"views\[0\] contains a column 2 times"),
    ],
)
def test_invalid_views_are_an_error(views, message):
    with pytest.raises(ValueError, match=message):
        columns_of(views, 2, ["a", "b"])


def test_views_of_given_clusterers_are_an_error(problem):
    with pytest.raises(ValueError, match="views is only for clusterers='auto'"):
        CredalEnsemble([CredalEnsemble(n_clusters=2)], views=[[0]]).fit(problem[0])


def test_inconsistent_models_are_an_error(fitted):
    model = fitted._model
    for changes in (
        {"counts": model.counts[1:]},
        {"clusters": model.clusters + 5},
        {"clusters": model.clusters[:0]},
    ):
        with pytest.raises(ValueError, match="clusters"):
            ViewsModel(**{**vars(model), **changes})
    view = model.views[0]
    with pytest.raises(ValueError, match="columns"):
        View(columns=view.columns[1:], tree=view.tree, influence=0.5)
