"""Contents of the model files of clusterers and of evlearn transformers."""

from typing import Any

import numpy as np

from evlearn.belief import FocalSets, check_masses
from evlearn.cluster import BPEC, CCM, CECM, ECM, EVCLUS, RECM, SECM, BootClus, ECMdd, EKNNClus, MergedMixture
from evlearn.cluster.centroids.adaptive import AdaptiveMetric, AdaptiveModel
from evlearn.cluster.centroids.model import FARTHEST, Coordinates, EuclideanModel, Statistics
from evlearn.cluster.centroids.warmup_buffer import BufferLimits, WarmupBuffer
from evlearn.cluster.focal_families import KINDS, FocalFamily
from evlearn.cluster.model_based.bootclus import BootstrapModel
from evlearn.cluster.model_based.merged_mixture import MergedModel
from evlearn.cluster.neighbors.eknnclus import NeighborModel
from evlearn.cluster.neighbors.label_search import Support
from evlearn.cluster.outlier_rule import OutlierRule
from evlearn.cluster.pairwise.landmarks import LandmarkModel
from evlearn.cluster.pairwise.pair_graph import TRANSFORMS, Transform
from evlearn.cluster.pairwise.scales import Quantile
from evlearn.cluster.relational.medoids import (
    KINDS_OF_MEDOIDS,
    MedoidDissimilarities,
    MedoidKind,
    MedoidModel,
    Medoids,
)
from evlearn.cluster.relational.squared_dissimilarities import Squares
from evlearn.cluster.relational.weighted_means import RelationalModel
from evlearn.cluster.set_costs import DEAREST, SetCosts
from evlearn.export.contents.contents import (
    ANY_NUMBER,
    DESCENT,
    INDICES,
    N_FEATURES,
    POSITIVE,
    SHARES,
    Contents,
    Part,
    check_count,
    check_features,
    check_sets,
)
from evlearn.metric_learning import FDA, PCCA, LocalFDA
from evlearn.metric_learning.features import KERNEL_ATTRIBUTES, KERNEL_PARAMS, KERNELS
from evlearn.mixture.bootstrap import GaussianReplicates
from evlearn.mixture.em import Mixture
from evlearn.mixture.gaps import Gaps
from evlearn.mixture.units import Units
from evlearn.storage.fields import (
    LARGEST_CLAIM,
    Check,
    array,
    check_keys,
    check_length,
    flag,
    instance,
    number,
    optional,
    quadratic_forms,
    sentences,
    shortened,
    text,
    whole,
)

_SQUARABLE = number(1e-154, 1e154)  # the square neither overflows nor underflows
_MAX_COST = 10 * DEAREST  # with rounding errors
_PROTOTYPES = array(2, low=-FARTHEST, high=FARTHEST)  # in the coordinates of a model
_SETS = instance(FocalSets)


def _covariance(location: str, value: Any) -> None:
    if isinstance(value, np.ndarray) and value.ndim == 1:  # variances
        array(1, low=np.finfo(float).tiny)(location, value)
        return
    array(2)(location, value)
    quadratic_forms(location, value[None])
    sizes = np.linalg.eigvalsh(value)
    if sizes.size and not sizes[0] > 1e-14 * sizes[-1]:
        raise ValueError(f"{location} must be a covariance matrix that is not singular")


# Parts of models

#: Classes inside the models of clusterers, and the checks of their fields.
PARTS = [
    Part(kind, checks)
    for kind, checks in (
        (
            FocalFamily,
            {"kind": text("auto", *KINDS), "include_omega": optional(flag), "n_neighbors": whole(1)},
        ),
        (Quantile, {"level": number(0, 1, above=True)}),
        (AdaptiveMetric, {"reg_covar": number(0, 1)}),
        (
            MedoidKind,
            {
                "name": text(*KINDS_OF_MEDOIDS),
                "eta": number(0),
                "gamma": number(0),
                "joint_weight_exponent": number(0),
                "weight_exponent": number(1, above=True),
            },
        ),
        (Coordinates, {"center": array(1), "scale": _SQUARABLE}),
        (
            Gaps,
            {
                "center": array(1),
                "scale": array(1, low=np.finfo(float).tiny),
                "shares": array(1, low=np.finfo(float).tiny, high=1 + 1e-4),
                "means": array(2, low=-1e6, high=1e6),
                "covariance": _covariance,
                "noise": array(2, low=-1e9, high=1e9),
            },
        ),
        (
            SetCosts,
            {
                "focal_sets": _SETS,
                "spread": array(1, low=0, high=_MAX_COST),
                "gain": array(1, low=0, high=_MAX_COST),
                "empty": number(0, finite=False),
                "beta": number(1, above=True),
            },
        ),
        (
            Statistics,
            {
                "cost": ANY_NUMBER,
                "powers": array(1, low=0),
                "sums": array(2),
                "scatter": optional(array(3)),
            },
        ),
        (WarmupBuffer, {"rows": array(2), "weights": array(1, low=0), "n_seen_at_check": whole()}),
        (
            EuclideanModel,
            {
                "costs": instance(SetCosts),
                "coordinates": instance(Coordinates),
                "prototypes": _PROTOTYPES,
                "fixed": flag,
                "outliers": optional(instance(OutlierRule)),
            },
        ),
        (
            AdaptiveModel,
            {
                "costs": instance(SetCosts),
                "coordinates": instance(Coordinates),
                "prototypes": _PROTOTYPES,
                "metrics": quadratic_forms,
                "reg_covar": number(0),
                "fixed": flag,
                "outliers": optional(instance(OutlierRule)),
            },
        ),
        (
            OutlierRule,
            {
                "reaches": array(1, low=np.finfo(float).tiny, high=FARTHEST),
                "steepness": number(0, above=True),
            },
        ),
        (
            Transform,
            {"kind": text(*TRANSFORMS), "d0": _SQUARABLE, "ranks": optional(array(1)), "d1": number(0)},
        ),
        (
            LandmarkModel,
            {
                "indices": INDICES,
                "landmarks": optional(array(2)),
                "masses": array(2, low=0, high=SHARES),
                "focal_sets": _SETS,
                "transform": instance(Transform),
                "metric": text(),
            },
        ),
        (
            RelationalModel,
            {"costs": instance(SetCosts), "weights": array(2), "gram": array(2), "mean": number(0)},
        ),
        (Squares, {"scale": POSITIVE, "squared": flag, "mean": number(0), "shift": number(0)}),
        (
            Medoids,
            {
                "chosen": INDICES,
                "objects": INDICES,
                "factors": array(2, low=0),
                "weights": optional(array(2, low=0)),
            },
        ),
        (MedoidDissimilarities, {"dissimilarities": array(2, low=0), "eta": POSITIVE, "gamma": number(0)}),
        (
            MedoidModel,
            {
                "focal_sets": _SETS,
                "medoids": instance(Medoids),
                "factors": array(1, low=0),
                "empty": number(0, finite=False),
                "beta": number(1, above=True),
                "unit": POSITIVE,
                "medoid_dissimilarities": optional(instance(MedoidDissimilarities)),
            },
        ),
        (Mixture, {"weights": array(2, low=0, high=SHARES), "means": array(3), "covariances": array(4)}),
        (Units, {"center": array(1), "scale": POSITIVE}),
        (GaussianReplicates, {"mixtures": instance(Mixture), "units": instance(Units)}),
        (
            BootstrapModel,
            {
                "masses": array(2, low=0, high=SHARES),
                "focal_sets": _SETS,
                "replicates": instance(GaussianReplicates),
                "probabilities": array(3, low=0, high=SHARES),
                "confidence": number(0, 1),
            },
        ),
        (
            MergedModel,
            {
                "mixture": instance(GaussianReplicates),
                "components": INDICES,
                "focal_sets": _SETS,
                "outliers": optional(instance(OutlierRule)),
            },
        ),
        (Support, {"scale": POSITIVE, "power": number(0, 100, above=True), "min_distance": number(0, 1)}),
        (
            NeighborModel,
            {
                "training": optional(array(2)),
                "labels": array(1, "i", low=0),
                "support": instance(Support),
                "n_neighbors": optional(whole(1)),
                "metric": text(),
                "focal_sets": _SETS,
                "shares": optional(array(1, low=0)),
            },
        ),
    )
]


# Estimators


def _validate_prototypes(estimator: Any) -> None:
    model = estimator._model
    check_sets(estimator)
    check_features(estimator, model.n_features)
    n_clusters, n_features = model.prototypes.shape
    check_length("cluster_centers_", estimator.__dict__.get("cluster_centers_"), (n_clusters, n_features))
    check_length("metrics_", estimator.__dict__.get("metrics_"), (n_clusters, n_features, n_features))
    check_count(estimator, "n_clusters_", n_clusters)
    statistics: Statistics | None = estimator.__dict__.get("_statistics")
    if statistics is None:
        return
    adaptive = isinstance(model, AdaptiveModel)
    n_sets = len(model.focal_sets)
    check_length("_statistics.powers", statistics.powers, (n_sets,))
    check_length("_statistics.sums", statistics.sums, (n_sets - 1 if adaptive else n_clusters, n_features))
    check_length("_statistics.scatter", statistics.scatter, (n_clusters, n_features, n_features))
    if (statistics.scatter is not None) != adaptive or not {
        "_seen_weight",
        "n_samples_seen_",
    } <= estimator.__dict__.keys():
        raise ValueError("the state of partial_fit is incomplete")
    young: WarmupBuffer | None = estimator.__dict__.get("_warmup_buffer")
    if young is not None:
        largest = BufferLimits.of(None, n_clusters).size  # fewer rows with a half-life
        n_rows = min(len(young.rows), largest, estimator.n_samples_seen_)
        check_length("_warmup_buffer.rows", young.rows, (n_rows, n_features))
        check_length("_warmup_buffer.weights", young.weights, (n_rows,))


def _validate_landmarks(estimator: Any) -> None:
    model = estimator._model
    check_sets(estimator)
    check_masses(model.masses, model.focal_sets)
    _check_metric(estimator, model.metric, model.landmarks)
    _check_reach(estimator, model.landmarks, model.indices)


def _validate_relations(estimator: Any) -> None:
    model, training = estimator._model, estimator._training
    check_sets(estimator)
    n_clusters, n_samples = model.weights.shape
    _check_metric(estimator, estimator.metric, training)
    if training is None:
        check_features(estimator, n_samples)
    else:
        check_length("_training", training, (n_samples, estimator.n_features_in_))
    check_length("prototype_weights_", estimator.__dict__.get("prototype_weights_"), (n_clusters, n_samples))


def _validate_medoids(estimator: Any) -> None:
    model, training = estimator._model, estimator._training
    check_sets(estimator)
    _check_metric(estimator, estimator.metric, training)
    if training is not None:
        check_length("_training", training, (len(model.medoids.objects), estimator.n_features_in_))
    _check_reach(estimator, training, model.medoids.objects)
    median = model.medoid_dissimilarities is not None
    if median != (estimator._kind.name == "median"):
        raise ValueError(
            f"its parameter medoids is {shortened(estimator.medoids)}, which does not match its model"
        )
    shape = (model.focal_sets.frame_size,) if median else model.medoids.chosen.shape
    check_length("medoid_indices_", estimator.__dict__.get("medoid_indices_"), shape)


def _validate_replicates(estimator: Any) -> None:
    model = estimator._model
    check_sets(estimator)
    check_masses(model.masses, model.focal_sets)
    replicates = model.replicates
    _, n_components, n_features = replicates.mixtures.means.shape
    check_features(estimator, n_features)
    if n_components != model.focal_sets.frame_size:
        raise ValueError(f"its mixtures have {n_components} components, which is not the number of clusters")
    replicates.posterior(replicates.units.center[None])  # raises if a covariance matrix is singular
    check_count(estimator, "n_clusters_", n_components)
    check_count(estimator, "n_bootstrap_", len(replicates))


def _validate_merged(estimator: Any) -> None:
    model = estimator._model
    check_sets(estimator)
    mixture = model.mixture
    _, n_components, n_features = mixture.mixtures.means.shape
    check_features(estimator, n_features)
    mixture.posterior(mixture.units.center[None])  # raises if a covariance matrix is singular
    check_length("components_", estimator.__dict__.get("components_"), (n_components,))
    if not np.array_equal(model.focal_sets.membership, FocalSets.simple(model.focal_sets.frame_size).membership):
        raise ValueError("its sets must be the single clusters and the set of all clusters")


def _validate_neighbors(estimator: Any) -> None:
    model = estimator._model
    check_sets(estimator)
    _check_metric(estimator, model.metric, model.training)
    check_features(estimator, len(model.labels) if model.training is None else model.training.shape[1])
    check_count(estimator, "n_clusters_", model.focal_sets.frame_size)


def _validate_components(estimator: Any) -> None:
    n_components, n_features = estimator.components_.shape
    check_features(estimator, n_features)
    check_length("ratios_", estimator.__dict__.get("ratios_"), (n_components,))


def _validate_kernels(estimator: Any) -> None:
    n_components, n_support = estimator.dual_coef_.shape
    precomputed = estimator.kernel == "precomputed"
    rows = (0 if precomputed else n_support, estimator.n_features_in_)
    check_length("support_", estimator.support_, (n_support,))
    check_length("_support_rows", estimator._support_rows, rows)
    for name in ("_intercept", "intercept_"):
        value = estimator.__dict__.get(name)
        if isinstance(value, np.ndarray):
            check_length(name, value, (n_components,))
    if precomputed:
        _check_reach(estimator, None, estimator.support_)


def _validate_components_or_kernels(estimator: Any) -> None:
    """Check the features that were fitted: linear ones, or those of a kernel."""
    _check_kernel(estimator)
    attributes, is_linear = vars(estimator).keys(), estimator.kernel is None
    missing = ({"components_"} if is_linear else _KERNELS.keys()) - attributes
    if missing:
        raise ValueError(f"its structure is broken, because it lacks {min(missing)!r}")
    excess = attributes & (set(KERNEL_ATTRIBUTES) if is_linear else {"components_"})
    if excess:
        raise ValueError(f"with kernel={estimator.kernel!r} it must not have {min(excess)!r}")
    (_validate_components if is_linear else _validate_kernels)(estimator)


def _check_kernel(estimator: Any) -> None:
    optional(text(*KERNELS))("kernel", estimator.kernel)
    optional(POSITIVE)("gamma", estimator.gamma)
    if estimator.kernel_params is not None:
        check_keys("kernel_params", estimator.kernel_params, (), KERNEL_PARAMS)
        POSITIVE("degree", estimator.kernel_params.get("degree", KERNEL_PARAMS["degree"]))
        number()("coef0", estimator.kernel_params.get("coef0", KERNEL_PARAMS["coef0"]))
    for name in ("n_components", "reg", "tol"):
        value = getattr(estimator, name, None)
        if isinstance(value, str):
            text("auto")(name, value)


def _check_metric(estimator: Any, metric: str, training: Any) -> None:
    if estimator.metric != metric or not isinstance(metric, str):
        raise ValueError(f"its metric is {shortened(estimator.metric)}, but its model has {shortened(metric)}")
    if (metric == "precomputed") != (training is None):
        raise ValueError(f"with metric={shortened(metric)}, its training samples are missing or not allowed")


def _check_reach(estimator: Any, training: Any, indices: Any) -> None:
    """Raise unless rows have a value for each training sample, or for each feature."""
    if training is not None:
        check_features(estimator, training.shape[1])
    elif estimator.n_features_in_ > LARGEST_CLAIM:
        raise ValueError(f"n_features_in_ is {estimator.n_features_in_}, which is too large")
    elif indices.max(initial=0) >= estimator.n_features_in_:
        raise ValueError(f"it refers to a sample beyond the {estimator.n_features_in_} columns of a row")


#: Parameters that describe the training data, not the model.
_DATA_PARAMETERS = frozenset({"connectivity"})
_CLUSTERER = N_FEATURES | {"focal_sets_": _SETS}
_PROTOTYPE_ATTRIBUTES: dict[str, Check] = DESCENT | {
    "metrics_": array(3),
    "alpha_": number(0),
    "beta_": number(1),
    "neighbor_share_": number(0, 1),
    "penalty_": ANY_NUMBER,
    "n_clusters_": whole(1),
    "_statistics": instance(Statistics),
    "_seen_weight": POSITIVE,
    "_warmup_buffer": optional(instance(WarmupBuffer)),
    "n_samples_seen_": whole(),
}
_PAIR_LOSS: dict[str, Check] = DESCENT | {"ratios_": array(1, finite=False)}
_KERNELS: dict[str, Check] = {
    "support_": INDICES,
    "_support_rows": array(2),
    "_intercept": lambda location, value: (array(1) if isinstance(value, np.ndarray) else number())(
        location, value
    ),
    "dual_coef_": array(2),
}


def _clusterer(
    estimator: Any, model: tuple[type, ...], others: dict[str, Check], validate: Any, **required: Check
) -> Contents:
    def validate_all(estimator: Any) -> None:
        validate(estimator)
        gaps = estimator.__dict__.get("_gaps")
        if gaps is not None:
            check_features(estimator, len(gaps.center))

    optional_checks = others | {"_gaps": optional(instance(Gaps)), "_lacks_evidence": flag, "_problems": sentences}
    all_required = _CLUSTERER | {"_model": instance(*model)} | required
    return Contents(estimator, all_required, optional_checks, validate_all, omitted=_DATA_PARAMETERS)


_TRAINING = optional(array(2))
_PROTOTYPE_FIT = ((EuclideanModel, AdaptiveModel), _PROTOTYPE_ATTRIBUTES, _validate_prototypes)
#: Clusterers with model files.
CLUSTERERS = (
    *(
        _clusterer(kind, *_PROTOTYPE_FIT, cluster_centers_=array(2), delta_=number(0, finite=False))
        for kind in (BPEC, CCM, CECM, ECM, SECM)
    ),
    _clusterer(
        EVCLUS,
        (LandmarkModel,),
        DESCENT | {"d0_": number(0), "d1_": number(0), "stress_": ANY_NUMBER},
        _validate_landmarks,
    ),
    _clusterer(
        RECM,
        (RelationalModel,),
        DESCENT
        | {
            "prototype_weights_": array(2),
            "alpha_": number(0),
            "beta_": number(1),
            "delta_": number(0, finite=False),
            "shift_": number(0, finite=False),
        },
        _validate_relations,
        _unit=instance(Squares),
        _training=_TRAINING,
    ),
    _clusterer(
        ECMdd,
        (MedoidModel,),
        DESCENT
        | {
            "beta_": number(1),
            "medoid_indices_": INDICES,
            "prototype_weights_": array(2, low=0),
            "delta_": number(0, finite=False),
        },
        _validate_medoids,
        _training=_TRAINING,
    ),
    _clusterer(
        BootClus,
        (BootstrapModel,),
        DESCENT | {"n_clusters_": whole(1), "n_bootstrap_": whole(1)},
        _validate_replicates,
    ),
    _clusterer(
        MergedMixture,
        (MergedModel,),
        DESCENT | {"components_": INDICES, "overlaps_": array(1)},
        _validate_merged,
    ),
    _clusterer(
        EKNNClus, (NeighborModel,), DESCENT | {"n_clusters_": whole(1), "scale_": POSITIVE}, _validate_neighbors
    ),
)
_COMPONENTS: dict[str, Check] = {"components_": array(2)}
#: evlearn transformers with model files.
TRANSFORMERS = (
    Contents(LocalFDA, N_FEATURES | _COMPONENTS, _PAIR_LOSS, _validate_components),
    Contents(PCCA, N_FEATURES, _PAIR_LOSS | _COMPONENTS | _KERNELS, _validate_components_or_kernels),
    Contents(
        FDA,
        N_FEATURES,
        _PAIR_LOSS | _COMPONENTS | _KERNELS | {"intercept_": array(1)},
        _validate_components_or_kernels,
    ),
)

__all__ = ["CLUSTERERS", "PARTS", "TRANSFORMERS"]
