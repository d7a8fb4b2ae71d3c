"""Model files of all public estimators and of pipelines from a raw table: the same bits after loading.

`test_estimator_properties.py` compares the predictions of each estimator before and after loading.
"""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

import evlearn
from estimator_cases import CASES, TRAINING_SAMPLE_ATTRIBUTES, public_estimators
from evlearn import CredalPartition
from evlearn.classify import (
    EvidentialKNNClassifier,
)
from evlearn.cluster import CCM, ECM, EVCLUS
from evlearn.datasets import make_fourclass
from evlearn.ensemble import CredalEnsemble
from evlearn.export.models import find_schema
from evlearn.preprocessing import GowerDistances, TableEncoder

X, y = make_fourclass(120, random_state=0)
NEW = make_fourclass(50, random_state=1)[0]
WORDS = np.array(["a", "b", "c", "d"])[y]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


def reloaded(model, path):
    evlearn.save_model(model, path)
    return evlearn.load_model(path)


def quietly(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


def test_soft_labels_are_kept(path):
    soft = CredalPartition.from_fuzzy(np.random.default_rng(0).dirichlet(np.ones(3), size=len(X)))
    model = EvidentialKNNClassifier().fit(X, soft)
    assert reloaded(model, path).predict_mass(NEW) == model.predict_mass(NEW)


@pytest.mark.slow
def test_a_network_is_kept_as_numbers(path):
    pytest.importorskip("torch")
    from evlearn.neural import NNEVCLUS

    for options in ({}, {"network": [7, 5], "dtype": "float32", "standardize": False}):
        model = quietly(NNEVCLUS(3, max_iter=5, random_state=0, **options), X)
        assert reloaded(model, path).predict_mass(NEW) == model.predict_mass(NEW)
    with pytest.raises(TypeError, match=r"OneClassSVM.*use joblib.dump"):
        evlearn.save_model(quietly(NNEVCLUS(3, max_iter=2, outlier_model="svm", random_state=0), X), path)


# A raw table


def customers(n, seed):
    random = np.random.default_rng(seed)
    group = random.integers(3, size=n)
    frame = pd.DataFrame(
        {
            "income": np.exp(random.normal(9 + group, 0.3)),
            "age": random.integers(18, 90, size=n).astype(float),
            "city": random.choice(np.array(["Lyon", "Oslo", "Bern"], dtype=object), size=n),
            "member": random.random(n) < 0.4,
            "visits": random.poisson(3 + 2 * group),
            "since": np.datetime64("2020-01-01") + random.integers(2000, size=n).astype("timedelta64[D]"),
            "grade": pd.Categorical(random.choice(["low", "high"], size=n), ["low", "high"], ordered=True),
        },
        index=[f"customer {seed}-{k}" for k in range(n)],
    )
    frame.loc[random.random(n) < 0.15, "income"] = np.nan
    frame.loc[random.random(n) < 0.15, "city"] = None
    return frame


TABLE, LATER = customers(150, 0), customers(60, 1)
LATER.iloc[0, 2] = "an unseen city"
NUMBERS = ["income", "age", "visits"]
ENCODERS = {
    "mean, one hot": make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
        (OneHotEncoder(handle_unknown="ignore"), ["city", "member"]),
    ),
    "median with indicator": make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median", add_indicator=True), RobustScaler()), NUMBERS),
        (
            make_pipeline(
                SimpleImputer(strategy="most_frequent"),
                OneHotEncoder(drop="if_binary", handle_unknown="ignore", sparse_output=False),
            ),
            ["city"],
        ),
    ),
    "neighbors, ordinal": make_column_transformer(
        (make_pipeline(KNNImputer(n_neighbors=3), MinMaxScaler()), NUMBERS),
        (
            make_pipeline(
                SimpleImputer(strategy="constant", fill_value="?"),
                OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
            ),
            ["city"],
        ),
        ("drop", ["since", "grade"]),
        remainder="passthrough",
    ),
    "selected columns": ColumnTransformer(
        [
            (
                "numbers",
                make_pipeline(SimpleImputer(), StandardScaler()),
                make_column_selector(dtype_include="number"),
            ),
            ("words", "drop", ["city"]),
            ("grades", OrdinalEncoder(), ["grade"]),
            ("dates", "drop", ["since"]),
        ],
        remainder=OrdinalEncoder(),
        verbose_feature_names_out=False,
    ),
    "numbers only": make_column_transformer(
        (SimpleImputer(), [0, 1]), (StandardScaler(), slice(4, 5)), ("drop", ["city"])
    ),
}


@pytest.mark.parametrize("missing", ["impute", "keep"])
def test_an_encoder_of_tables_is_kept(missing, path):
    encoder = TableEncoder(missing=missing, drop=["member"], weights={"age": 2.0}).fit(TABLE)
    loaded = reloaded(encoder, path)
    assert np.array_equal(loaded.transform(LATER), encoder.transform(LATER), equal_nan=True)
    assert loaded.describe() == encoder.describe()
    assert loaded.get_params() == encoder.get_params()
    pipeline = make_pipeline(TableEncoder(missing="impute"), CCM(3, random_state=0)).fit(TABLE)
    assert evlearn.predict_mass(reloaded(pipeline, path), LATER) == evlearn.predict_mass(pipeline, LATER)


def test_dissimilarities_of_tables_are_kept(path):
    model = make_pipeline(GowerDistances(weights={"age": 2}), EVCLUS(3, metric="precomputed", random_state=0))
    model.fit(TABLE)
    assert evlearn.predict_mass(reloaded(model, path), LATER) == evlearn.predict_mass(model, LATER)


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("last", [CCM(3, random_state=0), EvidentialKNNClassifier()], ids=["clusters", "classes"])
def test_a_pipeline_from_a_raw_table_is_kept(name, last, path):
    target = np.digitize(TABLE["visits"], [3, 6])
    pipeline = quietly(make_pipeline(ENCODERS[name], PCA(2), last), TABLE, target)
    loaded = reloaded(pipeline, path)
    expected = evlearn.predict_mass(pipeline, LATER)
    assert evlearn.predict_mass(loaded, LATER) == expected
    assert expected.sample_index.equals(LATER.index)
    assert list(loaded[0].get_feature_names_out()) == list(pipeline[0].get_feature_names_out())
    assert list(loaded.feature_names_in_) == list(TABLE.columns)


def test_frames_between_steps_are_supported(path):
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), ECM(3, random_state=0)).set_output(
        transform="pandas"
    )
    pipeline.fit(TABLE[NUMBERS])
    partition = evlearn.predict_mass(reloaded(pipeline, path), LATER[NUMBERS])
    assert np.array_equal(partition.masses, evlearn.predict_mass(pipeline, LATER[NUMBERS]).masses)


def test_passthrough_steps_are_kept(path):
    pipeline = make_pipeline(StandardScaler(), "passthrough", ECM(3, random_state=0)).fit(X)
    loaded = reloaded(pipeline, path)
    assert list(loaded.named_steps) == list(pipeline.named_steps)
    assert np.array_equal(loaded.predict(NEW), pipeline.predict(NEW))


def test_the_best_estimator_of_a_search_is_kept(path):
    search = GridSearchCV(EvidentialKNNClassifier(), {"n_neighbors": [3, 5]}, cv=2).fit(X, y)
    loaded = reloaded(search, path)
    assert type(loaded) is EvidentialKNNClassifier
    assert np.array_equal(loaded.predict(NEW), search.predict(NEW))


def test_large_arrays_are_in_an_archive_that_belongs_to_the_file(path):
    data = np.random.default_rng(0).normal(size=(3000, 40))
    model = EvidentialKNNClassifier(optimize=False).fit(data, np.arange(3000) % 3)
    loaded = reloaded(model, path)
    assert loaded.predict_mass(data[:20]) == model.predict_mass(data[:20])
    assert path.stat().st_size < 200_000
    archive = path.with_suffix(".npz")
    assert archive.stat().st_size < 1_000_000 + 8 * data.size
    other = path.with_name("other.json")
    evlearn.save_model(EvidentialKNNClassifier(optimize=False).fit(data + 1, np.arange(3000) % 3), other)
    other.with_suffix(".npz").replace(archive)
    with pytest.raises(ValueError, match=r"model.npz belongs to another model"):
        evlearn.load_model(path)
    archive.unlink()
    with pytest.raises(ValueError, match=r"its large arrays are in model.npz, which is not in the same folder"):
        evlearn.load_model(path)


REJECTED = {
    "a function": (make_pipeline(FunctionTransformer(np.abs), ECM(2)), "got FunctionTransformer"),
    "rare categories": (
        make_pipeline(OneHotEncoder(min_frequency=2, handle_unknown="ignore", sparse_output=False), ECM(2)),
        r"OneHotEncoder.min_frequency must",
    ),
    "a member that cannot predict": (
        CredalEnsemble([AgglomerativeClustering(2), KMeans(2)]),
        "got AgglomerativeClustering",
    ),
    "weights of transformers": (
        make_pipeline(ColumnTransformer([("a", StandardScaler(), [0])], transformer_weights={"a": 2}), ECM(2)),
        "transformer_weights",
    ),
}


@pytest.mark.parametrize("name", REJECTED)
def test_unsupported_objects_are_refused_with_a_remedy(name, path):
    model, reason = REJECTED[name]
    with pytest.raises(TypeError, match=rf"{reason}.*use joblib.dump"):
        evlearn.save_model(quietly(model, X.round(), y), path)
    assert not path.exists()


@pytest.mark.parametrize("name", public_estimators())
def test_every_public_estimator_has_files(name):
    if name == "NNEVCLUS":
        pytest.importorskip("torch")
    assert find_schema(name).kind.__name__ == name


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, case in CASES.items()
        if find_schema(type(case.estimator).__name__) and hasattr(case.estimator, "predict_mass")
    ],
)
def test_all_that_a_fit_learns_is_written_or_about_the_training_set(name):
    model = CASES[name].fitted
    fields = find_schema(type(model).__name__).fields
    names = {*fields, *TRAINING_SAMPLE_ATTRIBUTES, *model.get_params()}
    # Recomputed, or about the training set.
    of_members = {"clusterers_", "partitions_", "estimator_", "clusterer_", "network_", "outlier_model_"}
    of_samples = {"p_values_", "outlier_p_values_", "doubt_"}
    assert vars(model).keys() <= names | of_members | of_samples


# Files of other programs


def changed(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def part(document, name):
    for key, value in document.items() if isinstance(document, dict) else enumerate(document):
        if key == name:
            return value
        if isinstance(value, (dict, list)):
            match = part(value, name)
            if match is not None:
                return match
    return None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: part(d, "transformers")[0].__setitem__(2, ["income"]), "does not match its number of columns"),
        (
            lambda d: part(d, "transformers")[0].__setitem__(2, ["income", "age", "pension"]),
            "not columns of the dataframe: {'pension'}|A given column is not a column",
        ),
        (lambda d: part(d, "transformers")[1].__setitem__(0, part(d, "transformers")[0][0]), "different names"),
        (lambda d: part(d, "transformers")[1].__setitem__(1, "run"), "one of"),
        (lambda d: part(d, "transformers")[1][1]["estimator"].update({"class": "Popen"}), "its class is 'Popen'"),
        (lambda d: part(d, "categories_").__setitem__(0, {"objects": []}), "at least one category per feature"),
        (lambda d: part(d, "categories_").append({"objects": ["x"]}), "at least one category per feature"),
        (lambda d: part(d, "statistics_")["array"].update(shape=[2], values=[1.0, 2.0]), "must have shape"),
        (lambda d: d["steps"][0]["learned"].update(n_features_in_=10**7), "too large"),
        (lambda d: d["steps"][0]["learned"].update(n_features_in_=3), "a name for each feature"),
        (
            lambda d: d["steps"][1]["parameters"].update(metric={"estimator": {"class": "KMeans"}}),
            "names the class",
        ),
        (lambda d: d.update(beside="0" * 64), "which is not in the same folder"),
    ],
)
def test_an_inconsistent_table_is_refused(change, reason, path):
    evlearn.save_model(make_pipeline(ENCODERS["mean, one hot"], CCM(3, random_state=0)).fit(TABLE), path)
    changed(path, change)
    with pytest.raises(ValueError, match=rf"^model.json is not a model that can be read: .*({reason})"):
        evlearn.load_model(path)
