"""Doubt of clusters in objects like those of AnnData."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from evlearn.cluster import CredalClusterer, doubt_of
from evlearn.plotting import CredalPartitionDisplay


@pytest.fixture
def cells():
    """Return 2 overlapping types of 30 cells, another type and 1 remote cell, with 3 labels missing."""
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(size=(30, 3)) + 2.5 * k for k in range(2)])
    X = np.vstack([X, random.normal(size=(20, 3)) - 20, [[60.0, 0, 0]]])
    labels = np.repeat(["NK", "T", "B"], [30, 30, 21]).astype(object)
    labels[[3, 40, 70]] = np.nan
    names = [f"cell {number}" for number in range(len(X))]
    obs = pd.DataFrame({"type": labels, "size": X[:, 0]}, index=names)
    return SimpleNamespace(obs=obs, obsm={"X_pca": X, "X_umap": X[:, :2]}, uns={}, X=csr_matrix(X))


def test_columns_are_those_of_the_clusterer(cells):
    partition = doubt_of(cells, "type", key_added="d", n_neighbors=5)
    codes = pd.Categorical(cells.obs["type"]).codes.astype(int)
    model = CredalClusterer(codes, n_neighbors=5, random_state=0).fit(cells.obsm["X_pca"])
    frame = model.predict_frame(cells.obsm["X_pca"])
    assert partition.cluster_names == ("B", "NK", "T")
    assert list(partition.sample_names) == list(cells.obs.index)
    np.testing.assert_array_equal(partition.masses, model.masses_)
    np.testing.assert_array_equal(cells.obs["d"], model.credal_partition_.doubt())
    np.testing.assert_array_equal(cells.obs["d_verdict"], frame["verdict"])
    np.testing.assert_array_equal(cells.obs["d_outlier_score"], frame["outlier_score"])
    assert cells.obs["d_verdict"].iloc[-1] == "outlier"


def test_labels_are_kept_and_cells_without_a_label_get_one(cells):
    doubt_of(cells, groupby="type")
    labeled = cells.obs["type"].notna()
    assert (cells.obs["doubt_cluster"] == cells.obs["type"])[labeled].all()
    assert cells.obs["doubt_cluster"].astype(str)[~labeled].tolist() == ["NK", "T", "B"]


def test_the_table_of_clusters_and_the_parameters_are_in_uns(cells):
    doubt_of(cells, groupby="type", outlier_share=0.1, n_neighbors=7)
    result = cells.uns["doubt"]
    assert result["params"] == {"groupby": "type", "use_rep": "X_pca", "n_neighbors": 7, "outlier_share": 0.1}
    table = result["clusters"]
    assert table.index.tolist() == ["B", "NK", "T"]
    assert table["n_cells"].sum() == 81
    np.testing.assert_allclose(table[["sure", "torn", "outlier"]].sum(axis=1), 1)
    np.testing.assert_allclose(
        table["mean_doubt"], cells.obs.groupby("doubt_cluster", observed=False)["doubt"].mean()
    )
    assert (cells.obs["doubt_verdict"] == "outlier").sum() == 8


def test_unused_categories_and_sparse_expressions_are_accepted(cells):
    expected = doubt_of(cells, groupby="type")
    cells.obs["type"] = pd.Categorical(cells.obs["type"], categories=["A", "B", "NK", "T"])
    partition = doubt_of(cells, groupby="type", use_rep="X")
    assert partition.cluster_names == ("B", "NK", "T")
    np.testing.assert_array_equal(partition.masses, expected.masses)


def test_the_result_is_drawn_on_an_embedding(cells):
    partition = doubt_of(cells, groupby="type")
    display = CredalPartitionDisplay.from_anndata(cells)
    expected = CredalPartitionDisplay.from_result(partition, cells.obsm["X_umap"])
    np.testing.assert_array_equal(display.points, cells.obsm["X_umap"])
    np.testing.assert_array_equal(display.clusters[:-1], expected.clusters[:-1])
    np.testing.assert_array_equal(display.torn, expected.torn)
    np.testing.assert_array_equal(display.outliers, expected.outliers)
    assert display.ax_.get_xlabel() == "UMAP1"
    assert list(display.cluster_names) == ["B", "NK", "T"]
    assert not any(display.lower_lines_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groupby": "leiden"}, "groupby='leiden' is not a column of adata.obs; it has 'type', 'size'"),
        ({"groupby": "type", "use_rep": "X_scvi"}, "use_rep='X_scvi' is not a key of adata.obsm; it has 'X_pca'"),
        ({"groupby": "type", "outlier_share": 0.7}, "outlier_share"),
    ],
)
def test_wrong_parameters_are_refused_and_nothing_is_written(cells, options, message):
    columns = list(cells.obs)
    with pytest.raises(ValueError, match=message):
        doubt_of(cells, **options)
    assert list(cells.obs) == columns
    assert not cells.uns


def test_a_plot_needs_a_result_and_an_embedding(cells):
    with pytest.raises(ValueError, match=r"no result with key='doubt'; call evlearn.cluster.doubt_of first"):
        CredalPartitionDisplay.from_anndata(cells)
    with pytest.raises(ValueError, match=r"basis='tsne' needs adata.obsm\['X_tsne'\]"):
        CredalPartitionDisplay.from_anndata(cells, "tsne")
