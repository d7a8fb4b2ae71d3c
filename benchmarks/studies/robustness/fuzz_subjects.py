"""Small files of all kinds that the library reads, with their mutations and uses."""

import contextlib
import hashlib
import json
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.metrics import pairwise_distances
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

import evlearn
from benchmarks.studies.robustness.fuzz_mutations import archive_mutant, bytes_mutant, json_mutant
from evlearn import CredalPartition, watching
from evlearn.belief import FocalSets
from evlearn.classify import (
    EvidentialForestClassifier,
    EvidentialKNNClassifier,
    EvidentialNeuralClassifier,
    EvidentialRBFClassifier,
)
from evlearn.cluster import BPEC, CCM, CECM, ECM, EVCLUS, RECM, SECM, BootClus, ECMdd, EKNNClus, MergedMixture
from evlearn.conformal import ConformalClusterer, UnseenClassDetector
from evlearn.datasets import make_fourclass
from evlearn.ensemble import CredalEnsemble
from evlearn.metric_learning import FDA, PCCA, LocalFDA
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.preprocessing import GowerDistances, TableEncoder
from evlearn.storage import checkpoints, codec
from evlearn.storage.archives import digest_of_arrays, read_archive

N_SAMPLES = 20
X, Y = make_fourclass(N_SAMPLES, random_state=0)
D = pairwise_distances(X)
K = np.exp(-D)
GAPS = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
TABLE = pd.DataFrame({"a": GAPS[:, 0], "b": GAPS[:, 1], "c": np.array(["x", "y", "z"], dtype=object)[Y % 3]})
MODELS = {
    "ECM": (ECM(2, random_state=0), X),
    "ECM adaptive": (ECM(2, metric="adaptive", random_state=0), X),
    "ECM partial_fit": (ECM(2, random_state=0), X),
    "ECM adaptive partial_fit": (ECM(2, metric="adaptive", random_state=0), X),
    "ECM float32 no outliers": (
        ECM(3, delta=float("inf"), focal_sets="pairs", random_state=0),
        X.astype(np.float32),
    ),
    "CCM": (CCM(2, random_state=0), X),
    "SECM": (SECM(2, connectivity=np.eye(len(X), k=1), random_state=0), X),
    "BPEC": (BPEC(n_neighbors=5), X),
    "CECM": (CECM(2, random_state=0), X),
    "CECM adaptive": (CECM(2, metric="adaptive", random_state=0), X),
    "EVCLUS": (EVCLUS(2, random_state=0), X),
    "EVCLUS rank cityblock": (
        EVCLUS(2, dissimilarity_transform="rank", metric="cityblock", random_state=0),
        X[:12],
    ),
    "EVCLUS linear": (EVCLUS(2, dissimilarity_transform="linear", random_state=0), X),
    "EVCLUS landmark": (EVCLUS(2, solver="landmark", n_landmarks=10, random_state=0), X),
    "EVCLUS stochastic float32": (EVCLUS(2, solver="stochastic", random_state=0), X.astype(np.float32)),
    "EVCLUS precomputed": (EVCLUS(2, metric="precomputed", random_state=0), D),
    "EVCLUS landmark precomputed": (
        EVCLUS(2, solver="landmark", n_landmarks=9, metric="precomputed", random_state=0),
        D,
    ),
    "RECM": (RECM(2, random_state=0), X),
    "RECM precomputed shift": (RECM(2, metric="precomputed", nonmetric="shift", random_state=0), D**3),
    "ECMdd": (ECMdd(2, random_state=0), X),
    "ECMdd weighted": (ECMdd(2, medoids="weighted", random_state=0), X),
    "ECMdd median": (ECMdd(2, medoids="median", random_state=0), X),
    "ECMdd precomputed": (ECMdd(2, metric="precomputed", random_state=0), D),
    "BootClus": (BootClus(2, covariance_models="EEE", n_bootstrap=3, random_state=0), X),
    "EKNNClus": (EKNNClus(5, random_state=0), X),
    "EKNNClus manhattan": (EKNNClus(5, metric="manhattan", graph="union", random_state=0), X),
    "EKNNClus precomputed": (EKNNClus(5, metric="precomputed", random_state=0), D),
    "StandardScaler": (StandardScaler(), X),
    "RobustScaler": (RobustScaler(), X),
    "MinMaxScaler": (MinMaxScaler(clip=True), X),
    "MaxAbsScaler": (MaxAbsScaler(), X),
    "PCCA": (PCCA(2, random_state=0), X),
    "PCCA kernel": (PCCA(1, kernel="rbf", random_state=0), X),
    "PCCA precomputed": (PCCA(1, kernel="precomputed", random_state=0), K),
    "FDA": (FDA(), X),
    "LocalFDA": (LocalFDA(n_neighbors=3), X),
    "FDA kernel": (FDA(kernel="poly"), X),
    "EvidentialKNN": (EvidentialKNNClassifier(3), X),
    "EvidentialKNN soft": (EvidentialKNNClassifier(3), X),
    "EvidentialNeural": (EvidentialNeuralClassifier(3, max_iter=5, random_state=0), X),
    "EvidentialForest": (EvidentialForestClassifier(3, random_state=0), X),
    "EvidentialRBF": (EvidentialRBFClassifier(max_iter=5, random_state=0), X),
    "mixture": (ParsimoniousGaussianMixture(2, covariance_models="EEE", random_state=0), X),
    "MergedMixture": (MergedMixture(2, random_state=0), X),
    "CredalEnsemble": (CredalEnsemble([KMeans(2), GaussianMixture(2, covariance_type="diag")], random_state=0), X),
    "CredalEnsemble dempster": (
        CredalEnsemble([make_pipeline(StandardScaler(), ECM(2)), KMeans(2)], rule="dempster", random_state=0),
        X,
    ),
    "UnseenClassDetector": (UnseenClassDetector(EvidentialKNNClassifier(3), cv=2, random_state=0), X),
    "ConformalClusterer": (ConformalClusterer(KMeans(2), n_splits=2, n_neighbors=3, random_state=0), X),
    "SimpleImputer": (SimpleImputer(add_indicator=True), GAPS),
    "KNNImputer": (KNNImputer(n_neighbors=2), GAPS),
    "OneHotEncoder": (OneHotEncoder(handle_unknown="ignore", sparse_output=False), X.round()),
    "OrdinalEncoder": (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), X.round()),
    "PCA": (PCA(1, whiten=True), X),
    "TruncatedSVD": (TruncatedSVD(1, random_state=0), X),
    "ColumnTransformer": (
        make_pipeline(
            make_column_transformer(
                (make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]),
                (OneHotEncoder(handle_unknown="ignore"), ["c"]),
            ),
            CCM(2, random_state=0),
        ),
        TABLE,
    ),
    "ColumnTransformer remainder": (
        make_pipeline(
            make_column_transformer((SimpleImputer(), [0]), ("drop", [2]), remainder=KNNImputer(n_neighbors=2)),
            EvidentialKNNClassifier(3),
        ),
        TABLE,
    ),
    "TableEncoder": (make_pipeline(TableEncoder(missing="impute"), CCM(2, random_state=0)), TABLE),
    "GowerDistances": (
        make_pipeline(GowerDistances(), EVCLUS(2, metric="precomputed", random_state=0)),
        TABLE,
    ),
    "NNEVCLUS": (None, X),
    "pipeline of scalers": (make_pipeline(StandardScaler(), MinMaxScaler(), CCM(2, random_state=0)), X),
    "pipeline of features": (
        make_pipeline(RobustScaler(), PCCA(2, kernel="rbf", random_state=0), ECM(2, random_state=0)),
        X,
    ),
}
#: Models with arrays in an archive beside the JSON file; the file that is mutated.
SPLIT_MODELS = ("large model json", "large model npz")
PARTITIONS = (
    "partition json",
    "partition json names",
    "partition npz",
    "partition npz mmap",
    "partition lists json",
    "partition lists npz mmap",
)
CHECKPOINTS = {
    "checkpoint ECM": ECM(2, random_state=0, n_init=2),
    "checkpoint ECM adaptive": ECM(2, metric="adaptive", random_state=0),
    "checkpoint ECM neighbor_pairs": ECM(3, focal_sets="neighbor_pairs", random_state=0),
    "checkpoint CCM": CCM(2, random_state=0),
    "checkpoint BPEC": BPEC(n_neighbors=5),
}
NEURAL = "checkpoint NNEVCLUS"


@dataclass
class Subject:
    """Kind of file: a valid file, its suffix, its mutation and its use."""

    content: bytes
    suffix: str
    mutate: Any
    use: Any


def names():
    """Return all kinds."""
    return [*MODELS, *SPLIT_MODELS, *PARTITIONS, *CHECKPOINTS, NEURAL]


def make_subject(name):
    """Return the subject of a name."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, _frequent_checkpoints():
        if name in MODELS:
            labels = CredalPartition.from_fuzzy(np.full((N_SAMPLES, 2), 0.5)) if name.endswith("soft") else Y
            options = {"partial": name.endswith("partial_fit"), "labels": labels}
            return _model(*MODELS[name], Path(folder) / "model.json", **options)
        if name in SPLIT_MODELS:
            return _split_model(Path(folder) / "model.json", name.rpartition(" ")[2])
        if name in PARTITIONS:
            return _partition(name, Path(folder))
        return _neural(Path(folder)) if name == NEURAL else _checkpoint(CHECKPOINTS[name], Path(folder) / "fit")


@contextlib.contextmanager
def _frequent_checkpoints():
    """Write a checkpoint after each iteration."""
    checkpoints._SECONDS, interval = 0.0, checkpoints._SECONDS
    yield
    checkpoints._SECONDS = interval


# Models


def _model(estimator, data, path, *, partial, labels):
    if estimator is None:
        from evlearn.neural import NNEVCLUS

        estimator = NNEVCLUS(2, network=[3], max_iter=3, random_state=0)
    estimator.partial_fit(data) if partial else estimator.fit(data, labels[: len(data)])
    evlearn.save_model(estimator, path)
    content = path.read_bytes()
    document = json.loads(content)

    def mutate(number, random):
        return bytes_mutant(content, random) if number % 10 == 9 else json_mutant(document, number, random)

    def use(mutant):
        loaded = evlearn.load_model(mutant)
        return lambda: _predict(loaded, data, partial=partial)

    return Subject(content, ".json", mutate, use)


def _predict(loaded, data, *, partial):
    rows = data[:3] if loaded.n_features_in_ == data.shape[1] else np.ones((3, loaded.n_features_in_))
    if not hasattr(loaded, "predict"):
        return bool(np.isfinite(np.asarray(loaded.transform(rows), dtype=float)).all())
    features = loaded[:-1].transform(rows) if len(getattr(loaded, "steps", ())) > 1 else rows
    last = loaded[-1] if hasattr(loaded, "steps") else loaded
    masses = evlearn.predict_mass(last, features).masses
    if partial:
        last.partial_fit(features)
    return bool(np.isfinite(masses).all() and np.abs(masses.sum(axis=1) - 1).max() < 1e-3)


def _split_model(path, mutated):
    """Return a model with all but the smallest arrays in an archive; its digest is updated."""
    codec._LARGE, size_limit = 5, codec._LARGE
    estimator = make_pipeline(TableEncoder(missing="impute"), EvidentialKNNClassifier(3)).fit(TABLE, Y)
    evlearn.save_model(estimator, path)
    codec._LARGE = size_limit
    content = {"json": path.read_bytes(), "npz": path.with_suffix(".npz").read_bytes()}
    document = json.loads(content["json"])

    def mutate(number, random):
        if mutated == "npz":
            return archive_mutant(content["npz"], number, random)
        return bytes_mutant(content["json"], random) if number % 10 == 9 else json_mutant(document, number, random)

    def use(mutant):
        if mutated == "npz":
            new_document = dict(document)
            with contextlib.suppress(ValueError), mutant.open("rb") as file:
                new_document["beside"] = digest_of_arrays(read_archive(file, codec.STORED_TYPES))
            mutant.with_suffix(".json").write_text(json.dumps(new_document))
        else:
            mutant.with_suffix(".npz").write_bytes(content["npz"])
        loaded = evlearn.load_model(mutant.with_suffix(".json"))
        return lambda: _predict(loaded, TABLE, partial=False)

    return Subject(content[mutated], f".{mutated}", mutate, use)


# Partitions


def _partition(name, folder):
    sets = FocalSets.full(["a", "b", "ä"]) if name.endswith("names") else FocalSets.pairs(3)
    masses = np.random.default_rng(0).dirichlet(np.ones(len(sets)), size=5)
    names = [f"object {k}" for k in range(5)] if name.endswith("names") else None
    suffix = ".npz" if "npz" in name else ".json"
    partition = CredalPartition(masses, sets, names)
    if "lists" in name:  # masses on few of many sets
        partition = CredalPartition.from_hard(np.arange(257))[:5]
    partition.save(folder / f"p{suffix}")
    content = (folder / f"p{suffix}").read_bytes()
    document = json.loads(content) if suffix == ".json" else None

    def mutate(number, random):
        if document is None:
            return archive_mutant(content, number, random)
        return bytes_mutant(content, random) if number % 10 == 9 else json_mutant(document, number, random)

    def use(mutant):
        loaded = CredalPartition.load(mutant, mmap=name.endswith("mmap"))

        def check():
            loaded.to_hard()
            return bool(np.isfinite(loaded.to_fuzzy("pignistic")).all()) and bool(repr(loaded.summary()))

        return check

    return Subject(content, suffix, mutate, use)


# Checkpoints


def _checkpoint(estimator, path):
    estimator.set_params(checkpoint=path)
    contents = []

    def store_content(progress):
        if path.exists():
            contents.append(path.read_bytes())

    with watching(store_content):
        estimator.fit(X)
    content = contents[-1]

    def use(mutant):
        estimator.set_params(checkpoint=mutant)
        estimator.fit(X)
        return lambda: bool(np.isfinite(estimator.masses_).all())

    return Subject(content, ".npz", _archive_mutator(content), use)


def _archive_mutator(content):
    def seal(header, arrays):
        with contextlib.suppress(TypeError, ValueError):
            header = header | {"digest": digest_of_arrays(arrays)}
        return header

    return lambda number, random: archive_mutant(content, number, random, seal)


def _neural(folder):
    from evlearn.neural import NNEVCLUS, training

    runs, checkpoints, contents = [], [], []
    originals = training.BatchTraining, NNEVCLUS._open_checkpoint

    class Run(training.BatchTraining):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            runs.append(self)

    def open_checkpoint(self, problem):
        checkpoints.append(originals[1](self, problem))
        return checkpoints[-1]

    def store_content(progress):
        if progress.n_done == 3:
            contents.append((folder / "fit").read_bytes())

    training.BatchTraining, NNEVCLUS._open_checkpoint = Run, open_checkpoint
    with watching(store_content):
        NNEVCLUS(2, solver="rmsprop", init="random", max_iter=4, checkpoint=folder / "fit", random_state=0).fit(X)
    training.BatchTraining, NNEVCLUS._open_checkpoint = originals

    def use(mutant):
        checkpoints[0]._path = mutant
        checkpoints[0].load(runs[0].restore)
        return lambda: bool(np.isfinite(runs[0].run_epoch()))

    return Subject(contents[0], ".npz", _archive_mutator(contents[0]), use)


def seed_of(name, seed):
    """Return a seed for a kind of file that does not depend on the other kinds."""
    return [seed, int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")]
