"""What a model file may hold: each name, for every class, and what its value must be; and that all of it agrees.

This is a closed list. What is not on it is not written, and refused when read. Compiled code looks at arrays
without bounds, so whatever reaches it is checked here, or in the `__post_init__` of the part that it belongs to.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from evlearn.belief import FocalSets, check_masses
from evlearn.cluster import BPEC, CCM, CECM, ECM, EVCLUS, RECM, BootClus, ECMdd, EKNNClus, MergedMixture
from evlearn.cluster.centroids.adaptive import AdaptiveModel
from evlearn.cluster.centroids.model import FARTHEST, Coordinates, EuclideanModel, Statistics
from evlearn.cluster.model_based.bootclus import BootstrapModel
from evlearn.cluster.model_based.merged_mixture import MergedModel
from evlearn.cluster.neighbors.eknnclus import NeighborModel
from evlearn.cluster.neighbors.label_search import Support
from evlearn.cluster.pairwise.landmarks import LandmarkModel
from evlearn.cluster.pairwise.pair_graph import TRANSFORMS, Transform
from evlearn.cluster.relational.medoids import MedoidModel, Medoids
from evlearn.cluster.relational.squared_dissimilarities import Squares
from evlearn.cluster.relational.weighted_means import RelationalModel
from evlearn.cluster.set_costs import DEAREST, SetCosts
from evlearn.metric_learning import FDA, PCCA, KernelFDA, KernelPCCA, LocalFDA
from evlearn.metric_learning.features import KERNELS
from evlearn.mixture.bootstrap import GaussianReplicates
from evlearn.mixture.em import Mixture
from evlearn.mixture.units import Units
from evlearn.utils.stored_values import (
    LARGEST_CLAIM,
    Check,
    array,
    check_length,
    flag,
    instance,
    number,
    optional,
    quadratic_forms,
    shortened,
    text,
    whole,
)

#: What is about the training set alone, and not in the file.
OF_TRAINING_OBJECTS = (
    *("credal_partition_", "masses_", "labels_", "conflict_", "transformed_dissimilarities_"),
    *("intervals_", "mixture_", "_fitted_to"),
)

_SQUARABLE = number(1e-154, 1e154)  # its square is a number, and not zero
_POSITIVE = number(0, above=True)
_ANY_NUMBER = number(finite=False)
_COSTLIEST = 10 * DEAREST  # with rounding
_INSIDE = array(2, low=-FARTHEST, high=FARTHEST)  # in the coordinates of a model
_SETS = instance(FocalSets)
_INDICES = array(1, "i", low=0)
_SHARES = 1 + 1e-4  # the largest mass, with rounding in single precision


# Parts of models

#: The classes that a file may name inside a model, and what their fields must be.
PARTS: dict[str, tuple[Any, dict[str, Check]]] = {
    one.__name__: (one, checks)
    for one, checks in (
        (Coordinates, {"centre": array(1), "scale": _SQUARABLE}),
        (
            SetCosts,
            {
                "focal_sets": _SETS,
                "spread": array(1, low=0, high=_COSTLIEST),
                "gain": array(1, low=0, high=_COSTLIEST),
                "empty": number(0, finite=False),
                "beta": number(1, above=True),
            },
        ),
        (
            Statistics,
            {
                "cost": _ANY_NUMBER,
                "powers": array(1, low=0),
                "sums": array(2),
                "scatter": optional(array(3)),
            },
        ),
        (
            EuclideanModel,
            {
                "costs": instance(SetCosts),
                "coordinates": instance(Coordinates),
                "prototypes": _INSIDE,
                "fixed": flag,
            },
        ),
        (
            AdaptiveModel,
            {
                "costs": instance(SetCosts),
                "coordinates": instance(Coordinates),
                "prototypes": _INSIDE,
                "metrics": quadratic_forms,
                "reg_covar": number(0),
                "fixed": flag,
            },
        ),
        (
            Transform,
            {"kind": text(*TRANSFORMS), "d0": _SQUARABLE, "ranks": optional(array(1)), "near": number(0)},
        ),
        (
            LandmarkModel,
            {
                "indices": _INDICES,
                "landmarks": optional(array(2)),
                "masses": array(2, low=0, high=_SHARES),
                "focal_sets": _SETS,
                "transform": instance(Transform),
                "metric": text(),
            },
        ),
        (
            RelationalModel,
            {"costs": instance(SetCosts), "weights": array(2), "gram": array(2), "mean": number(0)},
        ),
        (Squares, {"scale": _POSITIVE, "squared": flag, "mean": number(0), "shift": number(0)}),
        (
            Medoids,
            {
                "chosen": _INDICES,
                "objects": _INDICES,
                "factors": array(2, low=0),
                "weights": optional(array(2, low=0)),
            },
        ),
        (
            MedoidModel,
            {
                "focal_sets": _SETS,
                "medoids": instance(Medoids),
                "factors": array(1, low=0),
                "empty": number(0, finite=False),
                "beta": number(1, above=True),
                "unit": _POSITIVE,
            },
        ),
        (Mixture, {"weights": array(2, low=0, high=_SHARES), "means": array(3), "covariances": array(4)}),
        (Units, {"centre": array(1), "scale": _POSITIVE}),
        (GaussianReplicates, {"mixtures": instance(Mixture), "units": instance(Units)}),
        (
            BootstrapModel,
            {
                "masses": array(2, low=0, high=_SHARES),
                "focal_sets": _SETS,
                "replicates": instance(GaussianReplicates),
                "probabilities": array(3, low=0, high=_SHARES),
                "confidence": number(0, 1),
            },
        ),
        (
            MergedModel,
            {
                "mixture": instance(GaussianReplicates),
                "components": _INDICES,
                "focal_sets": _SETS,
            },
        ),
        (Support, {"scale": _POSITIVE, "power": number(0, 100, above=True), "min_distance": number(0, 1)}),
        (
            NeighborModel,
            {
                "training": optional(array(2)),
                "labels": array(1, "i", low=0),
                "support": instance(Support),
                "n_neighbors": optional(whole(1)),
                "metric": text(),
                "focal_sets": _SETS,
            },
        ),
    )
}


# Estimators

#: What JSON holds as it is.
_PLAIN = (bool, int, float, str, NoneType)


@dataclass(frozen=True)
class Contents:
    """What the file of an estimator holds.

    Attributes
    ----------
    estimator : type
        The class.
    required : dict of str to callable
        What it has learned in any case, and what that must be.
    others : dict of str to callable
        What it may have learned besides.
    agree : callable
        Raises unless the parts of the estimator agree with each other.
    parameters : dict of str to callable or None
        What its parameters must be; None if the signature says so.
    """

    estimator: Any
    required: Mapping[str, Check]
    others: Mapping[str, Check]
    agree: Callable[[Any], None]
    parameters: Mapping[str, Check] | None = None

    def check_parameter(self, name: str, value: Any) -> bool:
        """Raise unless the value of a parameter is of its kind; say whether the estimator has such a parameter."""
        where = f"{self.estimator.__name__}.{name}"
        if self.parameters is None:
            hints = _hints(self.estimator)
            if name not in hints:
                raise ValueError(f"{where} is not a parameter")
            if not _is_of(value, hints[name]):
                raise ValueError(f"{where} is of the wrong kind: {shortened(value)}")
            return True
        if name not in self.estimator().get_params():
            if value is None or value is False:
                return False
            raise ValueError(f"{where} is not a parameter in the release of scikit-learn that is installed")
        self.parameters.get(name, flag)(where, value)
        return True


@cache
def _hints(estimator: type) -> dict[str, Any]:
    return {
        name: hint for name, hint in get_type_hints(estimator.__dict__["__init__"]).items() if name != "return"
    }


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a value is of the type that a signature asks for; whole numbers are numbers, words are any words."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return any(_is_of_kind(value, kind) for kind in kinds)


def _is_of_kind(value: Any, kind: Any) -> bool:
    if kind is Any:
        return True
    if get_origin(kind) is Literal:
        return type(value) in {type(one) for one in get_args(kind)}
    if kind in _PLAIN:
        return type(value) is kind or (kind is float and type(value) is int)
    # Arrays, sequences and sets of many types; a file holds no paths but as words.
    return type(value) not in _PLAIN and get_origin(kind) is not os.PathLike


def _agree_on_prototypes(estimator: Any) -> None:
    model = estimator._model
    _check_sets(estimator)
    _check_features(estimator, model.n_features)
    n_clusters, n_features = model.prototypes.shape
    check_length("cluster_centers_", estimator.__dict__.get("cluster_centers_"), (n_clusters, n_features))
    check_length("metrics_", estimator.__dict__.get("metrics_"), (n_clusters, n_features, n_features))
    _check_count(estimator, "n_clusters_", n_clusters)
    told: Statistics | None = estimator.__dict__.get("_statistics")
    if told is None:
        return
    adaptive = isinstance(model, AdaptiveModel)
    n_sets = len(model.focal_sets)
    check_length("_statistics.powers", told.powers, (n_sets,))
    check_length("_statistics.sums", told.sums, (n_sets - 1 if adaptive else n_clusters, n_features))
    check_length("_statistics.scatter", told.scatter, (n_clusters, n_features, n_features))
    if (told.scatter is not None) != adaptive or not {
        "_seen_weight",
        "n_samples_seen_",
    } <= estimator.__dict__.keys():
        raise ValueError("what was learned in portions is not complete")


def _agree_on_landmarks(estimator: Any) -> None:
    model = estimator._model
    _check_sets(estimator)
    check_masses(model.masses, model.focal_sets)
    _check_metric(estimator, model.metric, model.landmarks)
    _check_reach(estimator, model.landmarks, model.indices)


def _agree_on_relations(estimator: Any) -> None:
    model, training = estimator._model, estimator._training
    _check_sets(estimator)
    n_clusters, n_samples = model.weights.shape
    _check_metric(estimator, estimator.metric, training)
    if training is None:
        _check_features(estimator, n_samples)
    else:
        check_length("_training", training, (n_samples, estimator.n_features_in_))
    check_length("prototype_weights_", estimator.__dict__.get("prototype_weights_"), (n_clusters, n_samples))


def _agree_on_medoids(estimator: Any) -> None:
    model, training = estimator._model, estimator._training
    _check_sets(estimator)
    _check_metric(estimator, estimator.metric, training)
    if training is not None:
        check_length("_training", training, (len(model.medoids.objects), estimator.n_features_in_))
    _check_reach(estimator, training, model.medoids.objects)
    check_length("medoid_indices_", estimator.__dict__.get("medoid_indices_"), model.medoids.chosen.shape)


def _agree_on_replicates(estimator: Any) -> None:
    model = estimator._model
    _check_sets(estimator)
    check_masses(model.masses, model.focal_sets)
    replicates = model.replicates
    _, n_components, n_features = replicates.mixtures.means.shape
    _check_features(estimator, n_features)
    if n_components != model.focal_sets.frame_size:
        raise ValueError(f"its mixtures have {n_components} components, and there are other clusters")
    replicates.posterior(replicates.units.centre[None])  # raises if a covariance matrix is singular
    _check_count(estimator, "n_clusters_", n_components)
    _check_count(estimator, "n_bootstrap_", len(replicates))


def _agree_on_merged(estimator: Any) -> None:
    model = estimator._model
    _check_sets(estimator)
    mixture = model.mixture
    _, n_components, n_features = mixture.mixtures.means.shape
    _check_features(estimator, n_features)
    mixture.posterior(mixture.units.centre[None])  # raises if a covariance matrix is singular
    check_length("components_", estimator.__dict__.get("components_"), (n_components,))
    if not np.array_equal(model.focal_sets.membership, FocalSets.simple(model.focal_sets.frame_size).membership):
        raise ValueError("its sets must be single clusters and all of them")


def _agree_on_neighbors(estimator: Any) -> None:
    model = estimator._model
    _check_sets(estimator)
    _check_metric(estimator, model.metric, model.training)
    _check_features(estimator, len(model.labels) if model.training is None else model.training.shape[1])
    _check_count(estimator, "n_clusters_", model.focal_sets.frame_size)


def _agree_on_components(estimator: Any) -> None:
    n_components, n_features = estimator.components_.shape
    _check_features(estimator, n_features)
    check_length("ratios_", estimator.__dict__.get("ratios_"), (n_components,))


def _agree_on_kernels(estimator: Any) -> None:
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
    _check_kernel(estimator)


def _check_kernel(estimator: Any) -> None:
    text(*KERNELS)("kernel", estimator.kernel)
    optional(_POSITIVE)("gamma", estimator.gamma)
    _POSITIVE("degree", estimator.degree)
    number()("coef0", estimator.coef0)


def _agree_on_scales(*needed: tuple[str, str]) -> Callable[[Any], None]:
    """A check that arrays have a number for each feature, and are there if a parameter says that they are used."""

    def agree(estimator: Any) -> None:
        for name, value in vars(estimator).items():
            if isinstance(value, np.ndarray):
                check_length(name, value, (estimator.n_features_in_,))
        for parameter, name in needed:
            if getattr(estimator, parameter) and estimator.__dict__.get(name) is None:
                raise ValueError(f"{name} is missing, and {parameter} is true")

    return agree


def _check_sets(estimator: Any) -> None:
    if estimator._model.focal_sets != estimator.focal_sets_:
        raise ValueError("its model and focal_sets_ are about other sets")


def _check_features(estimator: Any, n_features: int) -> None:
    if estimator.n_features_in_ != n_features:
        raise ValueError(f"it is for {n_features} features, and n_features_in_ is {estimator.n_features_in_}")


def _check_metric(estimator: Any, metric: str, training: Any) -> None:
    if estimator.metric != metric or not isinstance(metric, str):
        raise ValueError(f"its metric is {shortened(estimator.metric)}, and that of its model {shortened(metric)}")
    if (metric == "precomputed") != (training is None):
        raise ValueError(f"with metric={shortened(metric)} it must hold the samples to compare with, or none")


def _check_reach(estimator: Any, training: Any, objects: Any) -> None:
    """Raise unless a row has a value for each sample, or for each feature of a sample."""
    if training is not None:
        _check_features(estimator, training.shape[1])
    elif estimator.n_features_in_ > LARGEST_CLAIM:
        raise ValueError(f"n_features_in_ is {estimator.n_features_in_}, which is too large")
    elif objects.max(initial=0) >= estimator.n_features_in_:
        raise ValueError(f"it names a sample beyond the {estimator.n_features_in_} that a row is compared with")


def _check_count(estimator: Any, name: str, count: int) -> None:
    if estimator.__dict__.get(name, count) != count:
        raise ValueError(f"{name} must be {count}, got {shortened(getattr(estimator, name))}")


def _named(where: str, value: Any) -> None:
    array(1, "O")(where, value)


_N_FEATURES: dict[str, Check] = {"n_features_in_": whole(1)}
_FEATURE_NAMES: dict[str, Check] = {"feature_names_in_": _named}
_CLUSTERER = _N_FEATURES | {"focal_sets_": _SETS}
_DESCENT: dict[str, Check] = _FEATURE_NAMES | {
    "objective_": _ANY_NUMBER,
    "objective_history_": array(1, finite=False),
    "n_iter_": whole(),
    "converged_": flag,
}
_OF_PROTOTYPES: dict[str, Check] = _DESCENT | {
    "metrics_": array(3),
    "alpha_": number(0),
    "beta_": number(1),
    "penalty_": _ANY_NUMBER,
    "n_clusters_": whole(1),
    "_statistics": instance(Statistics),
    "_seen_weight": _POSITIVE,
    "n_samples_seen_": whole(),
}
_PAIR_LOSS: dict[str, Check] = _DESCENT | {"ratios_": array(1, finite=False)}
_KERNELS: dict[str, Check] = _N_FEATURES | {
    "support_": _INDICES,
    "_support_rows": array(2),
    "_intercept": lambda where, value: (array(1) if isinstance(value, np.ndarray) else number())(where, value),
    "dual_coef_": array(2),
}
_SCALES = optional(array(1, finite=False))  # of a feature that was never seen there is no number


def _counted(where: str, value: Any) -> None:
    (array(1, "if", low=0) if isinstance(value, np.ndarray) else number(0))(where, value)


def _range(where: str, value: Any) -> None:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ValueError(f"{where} must be two numbers, got {shortened(value)}")
    for one in value:
        number()(where, one)


def _scaler(
    estimator: Any, names: tuple[str, ...], needed: tuple[tuple[str, str], ...] = (), always: tuple[str, ...] = ()
) -> Contents:
    stored: dict[str, Check] = dict.fromkeys(names, _SCALES) | {"n_samples_seen_": _counted}
    required: dict[str, Check] = {name: array(1, finite=False) for name in always}
    ranges: dict[str, Check] = {"feature_range": _range, "quantile_range": _range}
    return Contents(estimator, _N_FEATURES | required, _FEATURE_NAMES | stored, _agree_on_scales(*needed), ranges)


def _clusterer(
    estimator: Any, model: tuple[type, ...], others: dict[str, Check], agree: Any, **required: Check
) -> Contents:
    return Contents(estimator, _CLUSTERER | {"_model": instance(*model)} | required, others, agree)


_TRAINING = optional(array(2))
_PROTOTYPES = ((EuclideanModel, AdaptiveModel), _OF_PROTOTYPES, _agree_on_prototypes)
_CLUSTERERS = (
    *(
        _clusterer(one, *_PROTOTYPES, cluster_centers_=array(2), delta_=number(0, finite=False))
        for one in (BPEC, CCM, CECM, ECM)
    ),
    _clusterer(
        EVCLUS,
        (LandmarkModel,),
        _DESCENT | {"d0_": number(0), "d1_": number(0), "stress_": _ANY_NUMBER},
        _agree_on_landmarks,
    ),
    _clusterer(
        RECM,
        (RelationalModel,),
        _DESCENT
        | {
            "prototype_weights_": array(2),
            "alpha_": number(0),
            "beta_": number(1),
            "delta_": number(0, finite=False),
            "shift_": number(0, finite=False),
        },
        _agree_on_relations,
        _unit=instance(Squares),
        _training=_TRAINING,
    ),
    _clusterer(
        ECMdd,
        (MedoidModel,),
        _DESCENT
        | {
            "beta_": number(1),
            "medoid_indices_": _INDICES,
            "prototype_weights_": array(2, low=0),
            "delta_": number(0, finite=False),
        },
        _agree_on_medoids,
        _training=_TRAINING,
    ),
    _clusterer(
        BootClus,
        (BootstrapModel,),
        _DESCENT | {"n_clusters_": whole(1), "n_bootstrap_": whole(1)},
        _agree_on_replicates,
    ),
    _clusterer(
        MergedMixture,
        (MergedModel,),
        _DESCENT | {"components_": _INDICES, "overlaps_": array(1)},
        _agree_on_merged,
    ),
    _clusterer(
        EKNNClus, (NeighborModel,), _DESCENT | {"n_clusters_": whole(1), "scale_": _POSITIVE}, _agree_on_neighbors
    ),
)
_LINEAR = _N_FEATURES | {"components_": array(2)}
_TRANSFORMERS = (
    *(Contents(one, _LINEAR, _PAIR_LOSS, _agree_on_components) for one in (FDA, LocalFDA, PCCA)),
    Contents(KernelPCCA, _KERNELS, _PAIR_LOSS, _agree_on_kernels),
    Contents(KernelFDA, _KERNELS, _PAIR_LOSS | {"intercept_": array(1)}, _agree_on_kernels),
    _scaler(StandardScaler, ("mean_", "var_", "scale_"), (("with_mean", "mean_"), ("with_std", "scale_"))),
    _scaler(RobustScaler, ("center_", "scale_"), (("with_centering", "center_"), ("with_scaling", "scale_"))),
    _scaler(MinMaxScaler, ("data_min_", "data_max_", "data_range_"), always=("scale_", "min_")),
    _scaler(MaxAbsScaler, ("max_abs_",), always=("scale_",)),
)

#: The estimators that have files, by name.
ESTIMATORS: dict[str, Contents] = {one.estimator.__name__: one for one in (*_CLUSTERERS, *_TRANSFORMERS)}
#: Those that can stand before others in a pipeline.
TRANSFORMERS = tuple(one.estimator for one in _TRANSFORMERS)


def n_features_out(transformer: Any) -> int:
    """How many features a transformer gives to what follows it."""
    for name in ("components_", "dual_coef_"):
        if name in vars(transformer):
            return len(getattr(transformer, name))
    return int(transformer.n_features_in_)


__all__ = ["ESTIMATORS", "OF_TRAINING_OBJECTS", "PARTS", "TRANSFORMERS", "Contents", "n_features_out"]
