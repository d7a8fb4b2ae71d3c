"""Doubt of cells in AnnData objects of scanpy."""

import numpy as np
import pytest

from evlearn.cluster import CredalClusterer, doubt_of
from evlearn.plotting import CredalPartitionDisplay

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def adata():
    scanpy = pytest.importorskip("scanpy", reason="scanpy is not installed")
    return scanpy.datasets.pbmc68k_reduced()


def test_doubt_is_that_of_the_clusterer_for_the_labels(adata):
    partition = doubt_of(adata, groupby="louvain")
    labels = adata.obs["louvain"].cat.codes.to_numpy().astype(int)
    model = CredalClusterer(labels, random_state=0).fit(adata.obsm["X_pca"])
    np.testing.assert_array_equal(adata.obs["doubt"], model.credal_partition_.doubt())
    np.testing.assert_array_equal(adata.obs["doubt_cluster"], adata.obs["louvain"])
    assert list(partition.sample_names) == list(adata.obs_names)
    assert adata.uns["doubt"]["clusters"]["n_cells"].sum() == 700


def test_results_are_written_to_files_and_drawn_on_the_umap_of_scanpy(adata, tmp_path):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    doubt_of(adata, groupby="bulk_labels", key_added="type_doubt", outlier_share=0.02)
    with anndata.settings.override(allow_write_nullable_strings=True):  # texts of pandas 3, in other columns too
        adata.write_h5ad(tmp_path / "cells.h5ad")
    loaded = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert (loaded.obs["type_doubt_verdict"] == "outlier").sum() == 14
    assert loaded.uns["type_doubt"]["params"]["outlier_share"] == 0.02
    np.testing.assert_array_equal(loaded.obs["type_doubt"], adata.obs["type_doubt"])
    display = CredalPartitionDisplay.from_anndata(loaded, key="type_doubt")
    np.testing.assert_allclose(display.points, adata.obsm["X_umap"])
    assert display.outliers.sum() == 14


def test_scanpy_draws_the_columns(adata):
    import scanpy

    doubt_of(adata, groupby="louvain")
    scanpy.pl.umap(adata, color=["louvain", "doubt", "doubt_verdict"], show=False)


def test_sparse_expressions_and_cells_without_a_label_are_accepted(adata):
    from scipy.sparse import csr_matrix

    labels = adata.obs["louvain"].astype(object).to_numpy(copy=True)
    labels[::10] = None
    adata.obs["partial"] = labels
    adata.X = csr_matrix(adata.X)
    doubt_of(adata, groupby="partial", use_rep="X")
    assert adata.obs["doubt_cluster"].notna().all()
    is_right = adata.obs["doubt_cluster"].astype(str) == adata.obs["louvain"].astype(str)
    assert is_right[::10].mean() > 0.7
