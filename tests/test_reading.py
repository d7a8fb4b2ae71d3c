"""Fast reading of small arrays, with the same results as for other arrays."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from evlearn import open_dataset
from evlearn.classify import (
    EvidentialForestClassifier,
    EvidentialKNNClassifier,
    EvidentialNeuralClassifier,
    EvidentialRBFClassifier,
    FusionClassifier,
)
from evlearn.cluster import CCM, ECM, EVCLUS, RECM, MergedMixture
from evlearn.preprocessing import TableEncoder

X, Y = make_blobs(60, n_features=3, centers=2, random_state=0)
MODELS = {
    "ECM": ECM(2, random_state=0).fit(X),
    "mixture": MergedMixture(2, component_numbers=2, random_state=0).fit(X),
    "neighbors": EvidentialKNNClassifier(5).fit(X, Y),
    "prototypes": EvidentialNeuralClassifier(4, random_state=0).fit(X, Y),
    "for and against": EvidentialRBFClassifier(2, random_state=0).fit(X, Y),
}
KINDS = {
    "a list": lambda rows: rows.tolist(),
    "another order": np.asfortranarray,
    "every second row": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "whole numbers beside": lambda rows: pd.DataFrame(rows).to_numpy(dtype=object),
    "a subclass": lambda rows: rows.view(np.memmap),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_rows_have_the_same_results_in_every_kind_of_array(name, kind):
    model = MODELS[name]
    expected = model.predict_mass(X[:7]).masses
    np.testing.assert_allclose(model.predict_mass(KINDS[kind](X[:7])).masses, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", MODELS)
def test_errors_describe_the_problem_of_a_row(name):
    model = MODELS[name]
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features as input"):
        model.predict_mass(X[:1, :2].copy())
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        model.predict_mass(X[:0])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        model.predict_mass(X[0])
    infinite = X[:1].copy()
    infinite[0, 1] = np.inf
    with pytest.raises(ValueError, match="Input X contains infinity"):
        model.predict_mass(infinite)
    with pytest.raises(ValueError, match="Complex data not supported"):
        model.predict_mass(X[:1].astype(complex))


@pytest.mark.parametrize("name", ["ECM", "mixture", "neighbors"])
def test_a_missing_value_in_a_row_is_still_doubt(name):
    gap = X[:1].copy()
    gap[0, 0] = np.nan
    assert MODELS[name].predict_mass(gap).masses.shape[0] == 1


@pytest.mark.parametrize("name", ["prototypes", "for and against"])
def test_a_missing_value_in_a_row_is_still_refused(name):
    gap = X[:1].copy()
    gap[0, 0] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        MODELS[name].predict_mass(gap)


def test_a_model_with_feature_names_still_warns_about_arrays():
    model = ECM(2, random_state=0).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict_mass(X[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_mass(pd.DataFrame(X[:1], columns=["a", "b", "c"]))


@pytest.mark.parametrize(
    "estimator", [ECM(2), EvidentialKNNClassifier()], ids=lambda estimator: type(estimator).__name__
)
def test_two_columns_of_one_name_are_refused_by_name(estimator):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["age", "size", "age"])
    with pytest.raises(ValueError, match="X has more than one column with the name 'age'"):
        estimator.fit(frame, np.arange(30) % 2)


class Container:
    """Stand-in for AnnData, whose rows can be indexed without end."""

    def __init__(self, rows):
        self.X, self.obs, self.obsm, self.shape = rows, pd.DataFrame(index=range(len(rows))), {}, rows.shape
        self.obsm["X_umap"] = rows[:, :2]

    def __len__(self):
        return 60

    def __getitem__(self, key):
        raise AssertionError("nothing may be read")

    __array__ = __iter__ = __getitem__


class Variables:
    """Stand-in for an xarray dataset."""

    data_vars, dims = {"height": None, "width": None}, ("sample",)

    __len__ = Container.__len__
    __getitem__ = __array__ = __iter__ = Container.__getitem__


READERS = {
    "CCM": lambda data: CCM(2).fit(data),
    "partial_fit": lambda data: ECM(2).partial_fit(data),
    "EVCLUS": lambda data: EVCLUS(2).fit(data),
    "RECM": lambda data: RECM(2).fit(data),
    "predict": lambda data: MODELS["ECM"].predict(data),
    "forest": lambda data: EvidentialForestClassifier(5).fit(data, Y),
    "fusion": lambda data: FusionClassifier([("a", EvidentialKNNClassifier())]).fit(data, Y),
    "open_dataset": open_dataset,
    "table": lambda data: TableEncoder().fit(data),
}


@pytest.mark.parametrize("name", READERS)
def test_objects_with_several_tables_are_refused_and_one_is_suggested(name):
    with pytest.raises(TypeError, match=r"got Container, .* adata.obsm\['X_umap'\] or adata.X, .* \['X_umap'\]"):
        READERS[name](Container(X))
    with pytest.raises(TypeError, match=r"got Variables, .* X.to_dataframe\(\)\[names\] .* \['height', 'width'\]"):
        READERS[name](Variables())


def test_the_usual_name_is_suggested_without_coordinates():
    empty = Container(X)
    empty.obsm = {}
    with pytest.raises(TypeError, match=r"adata.obsm\['X_pca'\] or adata.X, if X is called adata\.$"):
        CCM(2).fit(empty)


@pytest.mark.parametrize("name", ["CCM", "predict", "forest", "open_dataset"])
def test_annotated_data_are_refused(name):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    data = anndata.AnnData(X)
    data.obsm["X_pca"] = X[:, :2]
    with pytest.raises(TypeError, match=r"got AnnData, .* adata.obsm\['X_pca'\]"):
        READERS[name](data)
