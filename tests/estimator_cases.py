"""All public estimators in fast configurations on small data, for tests that must hold for each of them.

Exempt properties of an estimator are listed in `Case.exempt` with the reason. Properties that are currently
violated are listed in `Case.defects`: their tests are expected to fail until the defect is fixed.
"""

import inspect
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import evlearn
from evlearn.classify import (
    EvidentialForestClassifier,
    EvidentialKNNClassifier,
    EvidentialNeuralClassifier,
    EvidentialRBFClassifier,
    FusionClassifier,
)
from evlearn.cluster import (
    BPEC,
    CCM,
    CECM,
    ECM,
    EVCLUS,
    RECM,
    SECM,
    BootClus,
    CredalClusterer,
    ECMdd,
    EKNNClus,
    MergedMixture,
)
from evlearn.conformal import ConformalClassifier, ConformalClusterer, UnseenClassDetector
from evlearn.constraints import PairwiseConstraints
from evlearn.ensemble import CredalEnsemble
from evlearn.metric_learning import FDA, PCCA, LocalFDA
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.neural import NNEVCLUS
from evlearn.preprocessing import GowerDistances, TableEncoder

#: Attributes that describe the training samples only, and are not in model files.
TRAINING_SAMPLE_ATTRIBUTES = (
    *("credal_partition_", "masses_", "labels_", "conflict_", "transformed_dissimilarities_"),
    *("intervals_", "mixture_", "_fitted_to"),
)

N_TRAINING, N_NEW = 60, 23


def public_estimators() -> dict[str, type]:
    """Return every public class with a `fit` method, by name."""
    packages = [getattr(evlearn, name) for name in dir(evlearn) if inspect.ismodule(getattr(evlearn, name, None))]
    return {
        name: value
        for package in packages
        for name in getattr(package, "__all__", ())
        if inspect.isclass(value := getattr(package, name)) and hasattr(value, "fit")
    }


# Data


def _blobs(n_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of 3 clusters of unequal size and spread, in random order, and the clusters."""
    random = np.random.default_rng(seed)
    target = random.permutation(np.arange(n_samples) * 7 % 10)
    target = np.digitize(target, [4, 7])
    centers = np.array([[0.0, 0.0, 0.0], [6.0, 1.0, 0.0], [1.0, 7.0, 2.0]])
    spreads = np.array([0.8, 1.0, 1.2])
    return centers[target] + spreads[target, None] * random.normal(size=(n_samples, 3)), target


POINTS, TARGET = _blobs(N_TRAINING, 0)
NEW_POINTS, NEW_TARGET = _blobs(N_NEW, 1)
NEW_POINTS[:3] = [[3.0, 0.5, 0.0], [2.5, 2.5, 0.7], [-14.0, 9.0, 20.0]]  # torn between 2, between 3, an outlier
LABELS = np.array(["a", "b", "c"])[TARGET]
CONSTRAINTS = PairwiseConstraints.sample(TARGET, 25, random_state=0)


def _distances(rows: np.ndarray) -> np.ndarray:
    return np.sqrt(((rows[:, None] - POINTS) ** 2).sum(axis=2))


def _table(points: np.ndarray, target: np.ndarray, seed: int) -> pd.DataFrame:
    """Return a mixed table with missing values, whose text looks like numbers and dates in some rows."""
    random = np.random.default_rng(seed)
    n_samples = len(points)
    table = pd.DataFrame(
        {
            "income": np.exp(9 + points[:, 0] / 6),
            "age": 40 + points[:, 1],
            "code": np.array(["1.0", "2.0", "beta", "007"], dtype=object)[
                (target + random.integers(2, size=n_samples))
            ],
            "since": np.array(["2020-01-01", "2021-06-30", "unknown"], dtype=object)[target],
            "member": random.random(n_samples) < 0.2 + 0.3 * target,
            "joined": np.datetime64("2020-01-01") + random.integers(900, size=n_samples).astype("timedelta64[D]"),
            "grade": pd.Categorical(
                np.array(["low", "middle", "high"])[target], ["low", "middle", "high"], ordered=True
            ),
        },
        index=[f"{seed}-{number}" for number in range(n_samples)],
    )
    table.loc[table.index[4::9], "income"] = np.nan
    table.loc[table.index[6::11], "code"] = None
    return table


TABLE, NEW_TABLE = _table(POINTS, TARGET, 2), _table(NEW_POINTS, NEW_TARGET, 3)
NEW_TABLE.iloc[5, 2] = "never seen before"


def rows_of(data: Any, rows: Any) -> Any:
    """Return some rows of an array or frame."""
    return data.iloc[rows] if hasattr(data, "iloc") else data[rows]


# Cases


@dataclass(frozen=True)
class Case:
    """An estimator with data to fit it to.

    Attributes
    ----------
    estimator : estimator
        The unfitted estimator; never fitted itself.
    data : {"points", "table", "distances"}
        The kind of data.
    needs : {None, "labels", "constraints"}
        The supervision that `fit` takes.
    exempt : mapping of str to str
        Exempt properties, each with the reason.
    defects : mapping of str to str
        Properties that are currently violated, each with the reason.
    tolerances : mapping of str to float
        Differences that are allowed where a property holds up to the end of a descent.
    """

    estimator: Any
    data: str = "points"
    needs: str | None = None
    exempt: Mapping[str, str] = field(default_factory=dict)
    defects: Mapping[str, str] = field(default_factory=dict)
    tolerances: Mapping[str, float] = field(default_factory=dict)

    @property
    def training(self) -> Any:
        """Training data."""
        return {"points": POINTS, "table": TABLE, "distances": _distances(POINTS)}[self.data]

    @property
    def new(self) -> Any:
        """New data of the same kind."""
        return {"points": NEW_POINTS, "table": NEW_TABLE, "distances": _distances(NEW_POINTS)}[self.data]

    def fit(self, data: Any = None, target: Any = None, model: Any = None, **options: Any) -> Any:
        """Fit a copy of the estimator, or `model`."""
        model = clone(self.estimator) if model is None else model
        data = self.training if data is None else data
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of collapsed clusters and of descents that were not finished
            if self.needs == "labels":
                return model.fit(data, LABELS if target is None else target, **options)
            if self.needs == "constraints":
                return model.fit(data, constraints=CONSTRAINTS if target is None else target, **options)
            return model.fit(data, **options)

    def fit_to_rows(self, rows: Any, **options: Any) -> Any:
        """Fit a copy of the estimator to training rows with these numbers, in this order."""
        data: Any = rows_of(self.training, rows)
        if self.data == "distances":
            data = data[:, rows]
        target: Any = LABELS[rows] if self.needs == "labels" else None
        if self.needs == "constraints":
            places = {int(row): place for place, row in reversed(list(enumerate(rows)))}
            pairs = (CONSTRAINTS.must_link, CONSTRAINTS.cannot_link)
            target = PairwiseConstraints(*([(places[i], places[j]) for i, j in kind] for kind in pairs))
        return self.fit(data, target, **options)

    def new_for_rows(self, rows: Any) -> Any:
        """Return the new data for a model that was fitted to training rows with these numbers."""
        return self.new[:, rows] if self.data == "distances" else self.new

    @cached_property
    def fitted(self) -> Any:
        """Estimator fitted to the training data; tests must not change it."""
        return self.fit()

    @cached_property
    def fitted_in_single_precision(self) -> Any:
        """Estimator fitted to the training data in single precision."""
        return self.fit(self.training.astype(np.float32))

    @cached_property
    def expected(self) -> dict[str, Any]:
        """Outputs of `fitted` for the new data."""
        return outputs(self.fitted, self.new)


def outputs(model: Any, rows: Any) -> dict[str, Any]:
    """Return all predictions of a model for some rows."""
    results: dict[str, Any] = {}
    for name in (
        *("predict", "predict_proba", "predict_set", "predict_p_values", "predict_outlier_p_values"),
        *("transform", "score_samples"),
    ):
        if hasattr(model, name):
            results[name] = np.asarray(getattr(model, name)(rows))
    if hasattr(model, "predict"):
        partition = evlearn.predict_mass(model, rows)
        results["predict_mass"] = partition.masses
        results["focal sets"] = partition.focal_sets
        results["verdict"] = partition.verdict().candidates
        results["doubt"] = partition.doubt()
        results.setdefault("predict_set", evlearn.predict_set(model, rows))
    return results


def _nearest(rows: Any) -> Any:
    return kneighbors_graph(rows, 4)


# Reasons for exemptions
_DRAWS_ROWS = "rows are drawn by their numbers (bootstrap samples, parts, members or landmarks)"
_NETWORK = "a network ends in one of many local optima, and rounding errors are enough to choose another one"
_CONSTRAINED_COPIES = "constraints refer to one of the copies only"
_PAIRS = "a row is compared with its copy and not with itself, so that copies may end apart"
_GRAPH = "a graph of nearest neighbors depends on copies; tests/cluster/centroids/test_secm.py has a given graph"
_UNITS_OF_GAMMA = "gamma is in units of the features"
_NEURAL_NETWORK = dict.fromkeys(("row order", "scaling", "shift", "single precision", "equal copies"), _NETWORK)
_NO_WEIGHTS = "weights are for the default members only"
_RECOVERY = "the partition that explains the members is found by a descent with several local optima"
_DESCENT = dict.fromkeys(("row order", "scaling", "shift", "weights"), 0.02)


CASES: dict[str, Case] = {
    # Classifiers
    "forest": Case(
        EvidentialForestClassifier(12, random_state=0),
        needs="labels",
    ),
    "nearest neighbors": Case(EvidentialKNNClassifier(), needs="labels"),
    "nearest neighbors, fixed": Case(EvidentialKNNClassifier(5, optimize=False), needs="labels"),
    "neural classifier": Case(EvidentialNeuralClassifier(6, random_state=0), needs="labels", tolerances=_DESCENT),
    "radial basis functions": Case(
        EvidentialRBFClassifier(6, random_state=0), needs="labels", tolerances=_DESCENT
    ),
    "fusion": Case(
        FusionClassifier(
            [("near", EvidentialKNNClassifier(5)), ("trees", EvidentialForestClassifier(6, random_state=0))], cv=2
        ),
        needs="labels",
        exempt={"row order": _DRAWS_ROWS},
    ),
    "plain fusion": Case(
        FusionClassifier(
            [
                ("all", EvidentialKNNClassifier(5)),
                ("scaled", make_pipeline(StandardScaler(), EvidentialKNNClassifier(3))),
            ],
            discounting="plain",
            cv=3,
        ),
        needs="labels",
        exempt={"row order": _DRAWS_ROWS},
    ),
    "unseen classes": Case(
        UnseenClassDetector(EvidentialKNNClassifier(5), cv=2, random_state=0),
        needs="labels",
        exempt={"row order": _DRAWS_ROWS},
    ),
    "unseen classes, forest": Case(
        UnseenClassDetector(EvidentialForestClassifier(4), cv=2, random_state=0),
        needs="labels",
        exempt={"row order": _DRAWS_ROWS},
    ),
    "conformal classes": Case(
        ConformalClassifier(EvidentialKNNClassifier(5), cv=4, random_state=0), needs="labels"
    ),
    "conformal classes, aps": Case(
        ConformalClassifier(
            EvidentialKNNClassifier(5), conformity_score="aps", per_class=True, cv=0.5, random_state=0
        ),
        needs="labels",
        exempt=dict.fromkeys(
            ("scaling", "shift", "single precision"), "random numbers are hashes of the features"
        ),
    ),
    # Clusterers
    "ECM": Case(ECM(3, random_state=0)),
    "ECM, adaptive": Case(ECM(3, metric="adaptive", random_state=0)),
    "ECM, neighbor pairs": Case(ECM(3, focal_sets="neighbor_pairs", random_state=0)),
    "CCM": Case(CCM(3, random_state=0)),
    "CECM": Case(
        CECM(3, random_state=0),
        needs="constraints",
        exempt={
            "scaling": "xi balances distances in units of the features against a penalty without units",
            "equal copies": _CONSTRAINED_COPIES,
        },
    ),
    "BPEC": Case(BPEC(3, random_state=0)),
    "SECM": Case(SECM(3, connectivity=_nearest, random_state=0), exempt={"weights": _GRAPH}),
    "SECM, CCM costs": Case(
        SECM(3, connectivity=_nearest, cost="ccm", random_state=0), exempt={"weights": _GRAPH}
    ),
    "EVCLUS": Case(EVCLUS(3, random_state=0), exempt={"equal copies": _PAIRS}),
    "EVCLUS, landmarks": Case(
        EVCLUS(3, solver="landmark", n_landmarks=30, random_state=0), exempt={"row order": _DRAWS_ROWS}
    ),
    "EVCLUS, stochastic": Case(
        EVCLUS(3, solver="stochastic", random_state=0), exempt={"row order": _DRAWS_ROWS, "equal copies": _PAIRS}
    ),
    "EVCLUS, constraints": Case(
        EVCLUS(3, random_state=0), needs="constraints", exempt={"equal copies": _CONSTRAINED_COPIES}
    ),
    "EVCLUS, distances": Case(
        EVCLUS(3, metric="precomputed", random_state=0), data="distances", exempt={"equal copies": _PAIRS}
    ),
    "RECM": Case(RECM(3, random_state=0)),
    "RECM, distances": Case(RECM(3, metric="precomputed", random_state=0), data="distances"),
    "ECMdd": Case(
        ECMdd(3, random_state=0),
        exempt={"scaling": "the rule of the authors for medoids of sets adds a variance to a mean"},
    ),
    "ECMdd, weighted": Case(ECMdd(3, medoids="weighted", random_state=0)),
    "ECMdd, distances": Case(
        ECMdd(3, metric="precomputed", random_state=0),
        data="distances",
        exempt={"scaling": "the rule of the authors for medoids of sets adds a variance to a mean"},
    ),
    "EKNNClus": Case(EKNNClus(n_neighbors=15, random_state=0)),
    "CredalClusterer": Case(CredalClusterer(KMeans(3, n_init=3), random_state=0)),
    "CredalClusterer, noise": Case(CredalClusterer(HDBSCAN(min_cluster_size=7, copy=True), outlier_share=0.1)),
    "CredalClusterer, probabilities": Case(CredalClusterer(GaussianMixture(3, n_init=5), random_state=0)),
    "BootClus": Case(
        BootClus(3, covariance_models="VVV", n_bootstrap=10, random_state=0),
        exempt={"row order": _DRAWS_ROWS},
        tolerances={"equal copies": 1e-4},
    ),
    "MergedMixture": Case(MergedMixture(3, random_state=0)),
    "credal ensemble of default members": Case(CredalEnsemble(n_clusters=3, random_state=0)),
    "credal ensemble of views": Case(CredalEnsemble(n_clusters=3, views=[[0, 1], [1, 2]], random_state=0)),
    "credal ensemble": Case(
        CredalEnsemble([KMeans(3), ECM(3), GaussianMixture(3)], random_state=0),
        tolerances={"equal copies": 1e-4},
        exempt={"weights": _NO_WEIGHTS},
    ),
    "credal ensemble of one kind": Case(
        CredalEnsemble(KMeans(5), n_estimators=3, n_clusters=3, rule="dempster", random_state=0),
        exempt={"row order": _DRAWS_ROWS, "equal copies": _DRAWS_ROWS, "weights": _NO_WEIGHTS},
    ),
    "conformal": Case(
        ConformalClusterer(KMeans(3), n_splits=3, outlier_level=0.05, random_state=0),
        exempt={"row order": _DRAWS_ROWS},
    ),
    "conformal, split": Case(
        ConformalClusterer(
            make_pipeline(PCA(2), GaussianMixture(3)), method="split", outlier_level=0.05, random_state=0
        ),
        exempt={"row order": _DRAWS_ROWS},
    ),
    "NNEVCLUS": Case(NNEVCLUS(3, max_iter=20, random_state=0), exempt=_NEURAL_NETWORK),
    "NNEVCLUS, single precision": Case(
        NNEVCLUS(3, max_iter=20, dtype="float32", random_state=0), exempt=_NEURAL_NETWORK
    ),
    "NNEVCLUS, outlier model": Case(
        NNEVCLUS(3, max_iter=20, solver="adam", outlier_model="svm", random_state=0),
        exempt={**_NEURAL_NETWORK, "model file": "an outlier model is an estimator of any kind, for joblib"},
    ),
    "credal ensemble of pipelines": Case(
        CredalEnsemble([make_pipeline(StandardScaler(), ECM(3)), KMeans(3)], random_state=0),
        exempt={"row order": _RECOVERY, "weights": _NO_WEIGHTS},
        tolerances={"equal copies": 1e-4},
    ),
    # Others
    "Gaussian mixture": Case(
        ParsimoniousGaussianMixture(range(2, 4), covariance_models=["EEE", "VVI"], random_state=0)
    ),
    "FDA": Case(FDA(), needs="labels"),
    "local FDA": Case(LocalFDA(), needs="labels"),
    "kernel FDA": Case(FDA(kernel="rbf"), needs="labels", exempt={"scaling": _UNITS_OF_GAMMA}),
    "PCCA": Case(PCCA(2, random_state=0), needs="constraints"),
    "kernel PCCA": Case(
        PCCA(2, kernel="rbf", random_state=0),
        needs="constraints",
        exempt={"scaling": _UNITS_OF_GAMMA},
        # The loss is so flat that rounding changes where the descent ends.
        tolerances={"row order": 0.1, "shift": 0.1, "single precision": 0.1},
    ),
    "table encoder": Case(TableEncoder(), data="table"),
    "table encoder, imputed": Case(TableEncoder(missing="impute", scaling="standard"), data="table"),
    "Gower distances": Case(GowerDistances(weights={"age": 2}), data="table"),
    # Pipelines
    "scaled CCM": Case(make_pipeline(StandardScaler(), CCM(3, random_state=0))),
    "components and ECM": Case(make_pipeline(PCA(2, whiten=True), ECM(3, random_state=0))),
    "singular values and CCM": Case(
        make_pipeline(TruncatedSVD(2, random_state=0), CCM(3, random_state=0)),
        exempt={"shift": "TruncatedSVD does not center the features"},
    ),
    "table and CCM": Case(
        make_pipeline(TableEncoder(), CCM(3, random_state=0)),
        data="table",
        exempt={"row order": "values for gaps are drawn for each row by its number"},
    ),
    "table and nearest neighbors": Case(
        make_pipeline(TableEncoder(missing="impute"), EvidentialKNNClassifier(5)),
        data="table",
        needs="labels",
    ),
    "Gower distances and EVCLUS": Case(
        make_pipeline(GowerDistances(), EVCLUS(3, metric="precomputed", random_state=0)),
        data="table",
        exempt={"equal copies": _PAIRS},
        tolerances={"row order": 0.02},
    ),
    "FDA and ECM": Case(make_pipeline(FDA(), ECM(3, random_state=0)), needs="labels"),
}
