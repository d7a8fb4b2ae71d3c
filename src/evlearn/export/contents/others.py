"""Contents of the model files of classifiers, mixtures, ensembles and conformal clusterers."""

from typing import Any

import numpy as np

from evlearn.belief import FocalSets, check_masses
from evlearn.classify import (
    EvidentialForestClassifier,
    EvidentialKNNClassifier,
    EvidentialNeuralClassifier,
    EvidentialRBFClassifier,
    FusionClassifier,
)
from evlearn.classify.box_tree import BoxTree
from evlearn.classify.leaves import Leaves
from evlearn.classify.metric_search import GivenDistances, MetricSearch
from evlearn.classify.neighbor_evidence import CrispEvidence, SoftEvidence
from evlearn.classify.prototype_networks import ENNParameters, RBFParameters
from evlearn.classify.weights_of_evidence import sets_of_evidence
from evlearn.conformal import ConformalClusterer, UnseenClassDetector
from evlearn.conformal.outliers import OutlierScorer
from evlearn.conformal.p_values import Scores
from evlearn.conformal.strangeness import CRITERIA, Strangeness
from evlearn.conformal.support import ClustererAdapter
from evlearn.ensemble import CredalEnsemble
from evlearn.ensemble.credal_ensemble import EnsembleModel
from evlearn.ensemble.fusion import RULES
from evlearn.ensemble.recovery import Landmarks
from evlearn.export.contents.contents import (
    ANY_NUMBER,
    DESCENT,
    FEATURE_NAMES,
    N_FEATURES,
    SHARES,
    Contents,
    Part,
    check_count,
    check_features,
    check_sets,
    labels,
    list_of,
)
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.mixture.covariance_models import MULTIVARIATE, ONE_DIMENSIONAL
from evlearn.mixture.gaps import Gaps
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import predicted_partition, predicts_masses, split_pipeline
from evlearn.storage.fields import (
    Check,
    array,
    check_length,
    flag,
    instance,
    number,
    optional,
    sentences,
    text,
    whole,
)

_SETS = instance(FocalSets)
_UNITS = array(1, low=1e-300)


def _estimator(location: str, value: object) -> None:
    if not any(hasattr(value, name) for name in ("predict_mass", "predict_proba", "predict")):
        raise ValueError(f"{location} must be a clusterer that predicts")


# Classifiers


def _fields_of_tree(tree: BoxTree) -> dict[str, Any]:
    """Return the samples, from which the tree can be rebuilt."""
    return {"rows": tree.samples}


def _make_tree(rows: Any) -> BoxTree:
    if not rows.size:
        raise ValueError("rows must not be empty")
    return BoxTree.of(np.ascontiguousarray(rows))


def _validate_neighbors(estimator: Any) -> None:
    estimator._check_parameters()
    evidence, sets = estimator._evidence, estimator.focal_sets_
    n_samples, n_features = _size_of_search(estimator)
    check_features(estimator, n_features)
    check_count(estimator, "_n_samples", n_samples)
    check_length("_counts", estimator._counts, (n_samples,))
    if evidence.focal_sets != sets or sets.frame_size != len(estimator.classes_):
        raise ValueError("its labels and focal_sets_ have different sets")
    check_length("gamma_", estimator.gamma_, (evidence.n_scales,))
    gaps = estimator.__dict__.get("_gaps")
    if gaps is not None:
        check_features(estimator, len(gaps.center))
    if isinstance(evidence, SoftEvidence):
        check_length("denials", evidence.denials, (n_samples, len(sets) - 1))
        return
    _check_simple(sets)
    check_length("codes", evidence.codes, (n_samples,))
    if evidence.codes.max() >= sets.frame_size or evidence.codes.dtype != np.int32:
        raise ValueError("codes must be class indices of 32 bits")


def _size_of_search(estimator: Any) -> tuple[int, int]:
    """Return the numbers of training samples and of features of the neighbor search."""
    search = estimator._tree
    if isinstance(search, BoxTree):
        matches, shape = estimator.metric == "euclidean", _fields_of_tree(search)["rows"].shape
    elif isinstance(search, MetricSearch):
        matches, shape = search.metric == estimator.metric, search.samples.shape
    else:
        matches, shape = estimator.metric == "precomputed", 2 * (estimator.n_features_in_,)
    if not matches:
        raise ValueError("its metric does not match its neighbor search")
    return int(shape[0]), int(shape[1])


def _check_simple(sets: FocalSets) -> None:
    if not np.array_equal(sets.membership, FocalSets.simple(sets.frame_size).membership):
        raise ValueError("its sets must be the single classes and the set of all classes")


def _validate_forest(estimator: Any) -> None:
    estimator._check_parameters()
    sets, leaves = estimator.focal_sets_, estimator._leaves
    n_features = estimator.n_features_in_
    rows = _fields_of_tree(estimator._surroundings)["rows"]
    check_length("rows", rows, (len(rows), n_features))
    for name in ("_center", "_unit"):
        check_length(name, getattr(estimator, name), (n_features,))
    if estimator._n_neighbors > len(rows):
        raise ValueError("it needs more neighbors than there are samples")
    if sets.frame_size != len(estimator.classes_) or sets.intersection_gap is not None:
        raise ValueError("its sets do not match classes_")
    n_nodes, n_leaves = len(leaves.features), len(leaves.masses)
    check_length("thresholds", leaves.thresholds, (n_nodes,))
    check_length("children", leaves.children, (n_nodes, 2))
    check_length("masses", leaves.masses, (n_leaves, len(sets) - 1))
    leaf = leaves.features < 0
    # Children follow their parents, so each path ends at a leaf.
    follows = (leaves.children > np.arange(n_nodes)[:, None]) & (leaves.children < n_nodes)
    if not (follows | leaf[:, None]).all() or (leaves.children[leaf] >= n_leaves).any():
        raise ValueError("a node of its trees has a child that does not exist")
    roots = leaves.roots
    if leaves.features.max(initial=-1) >= n_features or not len(roots) or roots.max() >= n_nodes:
        raise ValueError("its trees refer to features or nodes that do not exist")
    check_masses(np.pad(leaves.masses, ((0, 0), (1, 0))), sets)


def _validate_network(estimator: Any) -> None:
    estimator._check_parameters()
    network, n_classes = estimator._network, len(estimator.classes_)
    n_prototypes, n_features = network.prototypes.shape
    check_features(estimator, n_features)
    for name in ("_center", "_unit"):
        check_length(name, getattr(estimator, name), (n_features,))
    check_length("prototypes_", estimator.prototypes_, (n_prototypes, n_features))
    if n_prototypes == 0 or estimator.focal_sets_.frame_size != n_classes:
        raise ValueError("its network does not match classes_")
    if isinstance(network, ENNParameters):
        check_length("beta", network.beta, (n_prototypes, n_classes))
        for name in ("eta", "xi"):
            check_length(name, getattr(network, name), (n_prototypes,))
        _check_simple(estimator.focal_sets_)
    else:
        check_length("gamma", network.gamma, (n_prototypes,))
        check_length("weights", network.weights, (n_prototypes, n_classes))
        check_length("weights_", estimator.weights_, (n_prototypes, n_classes))
        if estimator.focal_sets_ != sets_of_evidence(list(estimator.focal_sets_.frame)):
            raise ValueError("its sets must be those of weights of evidence")


def _member(location: str, value: object) -> None:
    if not (predicts_masses(value) and hasattr(split_pipeline(value)[1], "classes_")):
        raise ValueError(f"{location} must be an evidential classifier")


def _validate_fusion(estimator: Any) -> None:
    classes, members = estimator.classes_, estimator.estimators_
    estimator._check_members()
    check_length("reliabilities_", estimator.reliabilities_, (len(members), len(classes)))
    if len(estimator.estimators) != len(members) or estimator.focal_sets_.frame_size != len(classes):
        raise ValueError("its members, sets and classes_ are not consistent")
    if estimator.discounting == "contextual" and not estimator.focal_sets_.is_full:
        raise ValueError("its sets must be all subsets of the classes")
    for member in members:
        check_features(member, estimator.n_features_in_)
        if not np.isin(split_pipeline(member)[1].classes_, classes).all():
            raise ValueError("a member has classes that are not in classes_")
    if estimator._family(np.zeros((1, estimator.n_features_in_))) != estimator.focal_sets_:
        raise ValueError("its members have other focal sets")


_CLASSIFIER: dict[str, Check] = N_FEATURES | {"classes_": labels, "focal_sets_": _SETS}
_NETWORK: dict[str, Check] = _CLASSIFIER | {"_center": array(1), "_unit": _UNITS, "prototypes_": array(2)}


# Mixtures


def _validate_mixture(estimator: Any) -> None:
    n_components, n_features = estimator.means_.shape
    check_features(estimator, n_features)
    check_length("weights_", estimator.weights_, (n_components,))
    check_length("covariances_", estimator.covariances_, (n_components, n_features, n_features))
    check_length("variance_floor_", estimator.__dict__.get("variance_floor_"), (n_features,))
    check_count(estimator, "n_components_", n_components)
    estimator.predict_proba(estimator.means_)  # raises if a covariance matrix is singular


# Ensembles


def _make_ensemble(estimator: Any, state: dict[str, Any]) -> Any:
    for name, value in state.items():
        setattr(estimator, name, value)
    estimator.clusterers_ = list(estimator._model.clusterers)
    return estimator


def _validate_members(estimator: Any) -> None:
    check_sets(estimator)
    model = estimator._model
    landmarks = model.landmarks
    check_masses(landmarks.masses, landmarks.focal_sets)
    check_count(estimator, "n_clusters_", landmarks.focal_sets.frame_size)
    if len(landmarks.partitions) != len(model.clusterers):
        raise ValueError("its landmarks must have a partition of each member")
    check_length("center", model.center, (estimator.n_features_in_,))
    origin = np.zeros((1, estimator.n_features_in_))
    for member, partition in zip(model.clusterers, landmarks.partitions, strict=True):
        check_features(member, estimator.n_features_in_)
        if len(partition) != len(landmarks.masses):
            raise ValueError(
                f"a partition of the landmarks has {len(partition)} samples, but there are {len(landmarks.masses)}"
            )
        if predicted_partition(member, origin).focal_sets != partition.focal_sets:
            raise ValueError("the focal sets of a member differ from those of its landmarks")


def _make_partition(masses: Any, focal_sets: FocalSets) -> CredalPartition:
    return CredalPartition(masses, focal_sets)


# Conformal clusterers


def _make_conformal(estimator: Any, state: dict[str, Any]) -> Any:
    for name, value in state.items():
        setattr(estimator, name, value)
    estimator.estimator_ = estimator._adapter.estimator
    return estimator


def _validate_sets(estimator: Any) -> None:
    estimator._check_parameters()
    adapter, scorer = estimator._adapter, estimator._outlier_scorer
    check_features(adapter.estimator, estimator.n_features_in_)
    check_length("medians", scorer.medians, (estimator.n_clusters_ + 1,))
    if not len(estimator._scores.values) or not len(scorer.scores.values):
        raise ValueError("it has no scores to compare with")
    if scorer.n_neighbors > len(scorer.samples):
        raise ValueError("it needs more neighbors than there are samples")
    origin = np.zeros((1, estimator.n_features_in_))
    if adapter.support(origin).shape[1] != estimator.n_clusters_:
        raise ValueError("its estimator has a different number of clusters")
    check_length("samples", scorer.samples, (len(scorer.samples), estimator._transformed(origin).shape[1]))


def _validate_strangeness(estimator: Any) -> None:
    estimator._check_parameters()
    strangeness, n_features = estimator._strangeness, estimator.n_features_in_
    for model in (strangeness.classifier, strangeness.evidence):
        check_features(model, n_features)
    for name in ("center", "unit"):
        check_length(name, getattr(strangeness, name), (n_features,))
    check_length("whitening", strangeness.whitening, (n_features, n_features))
    check_length("references", estimator._references, (len(estimator._scores), len(CRITERIA)))
    check_length("weights", estimator._weights, (len(CRITERIA),))
    n_samples = len(strangeness.spacing)
    for tree in (strangeness.samples, strangeness.whitened):
        check_length("rows", _fields_of_tree(tree)["rows"], (n_samples, n_features))
    if not n_samples or not len(estimator._scores) or (np.diff(estimator._references, axis=0) < 0).any():
        raise ValueError("its usual scores must exist, in ascending order")
    sets = predicted_partition(strangeness.classifier, np.zeros((1, n_features))).focal_sets
    names = [str(label) for label in estimator.classes_]
    if sets.frame_size != len(names) or sets.with_names(names) != estimator.focal_sets_:
        raise ValueError("its classifier does not match classes_")


_SORTED = array(1, low=-np.inf, finite=False)


def _scores(location: str, value: Any) -> None:
    _SORTED(location, value)
    if np.isnan(value).any() or (np.diff(value) < 0).any():
        raise ValueError(f"{location} must be numbers in ascending order")


#: Classes inside the models of these estimators, and the checks of their fields.
PARTS = [
    Part(BoxTree, {"rows": array(2, "f", low=-1e150, high=1e150)}, _fields_of_tree, _make_tree),
    Part(MetricSearch, {"samples": array(2, "f", low=-1e150, high=1e150), "metric": text()}),
    Part(GivenDistances, {"distances": instance(type(None))}),
    Part(CrispEvidence, {"focal_sets": _SETS, "codes": array(1, "i", low=0)}),
    Part(SoftEvidence, {"focal_sets": _SETS, "denials": array(2, low=-1e-6, high=SHARES)}),
    Part(
        Leaves,
        {
            "roots": array(1, "i", low=0),
            "features": array(1, "i", low=-1),
            "thresholds": array(1, low=-np.inf, finite=False),
            "children": array(2, "i", low=0),
            "masses": array(2, low=0, high=SHARES),
        },
    ),
    Part(ENNParameters, {"prototypes": array(2), "eta": array(1), "beta": array(2), "xi": array(1)}),
    Part(RBFParameters, {"prototypes": array(2), "gamma": array(1), "weights": array(2)}),
    Part(
        CredalPartition, {"masses": array(2, low=0, high=SHARES), "focal_sets": _SETS}, from_fields=_make_partition
    ),
    Part(
        Landmarks,
        {
            "partitions": list_of(instance(CredalPartition), min_length=1),
            "masses": array(2, low=0, high=SHARES),
            "focal_sets": _SETS,
            "rule": text(*RULES),
        },
    ),
    Part(
        EnsembleModel,
        {
            "clusterers": list_of(_estimator, min_length=1),
            "landmarks": instance(Landmarks),
            "center": array(1),
            "reach": number(0, above=True, finite=False),
        },
        nested=True,
    ),
    Part(
        ClustererAdapter,
        {"estimator": _estimator, "training_rows": instance(type(None)), "n_neighbors": whole(1)},
        nested=True,
    ),
    Part(
        Strangeness,
        {
            "classifier": _estimator,
            "evidence": instance(EvidentialKNNClassifier),
            "center": array(1),
            "unit": _UNITS,
            "whitening": array(2),
            "samples": instance(BoxTree),
            "whitened": instance(BoxTree),
            "spacing": array(1),
        },
        nested=True,
    ),
    Part(Scores, {"values": _scores, "n_samples": whole(1)}),
    Part(
        OutlierScorer,
        {
            "samples": array(2),
            "medians": array(1, low=0),
            "scores": instance(Scores),
            "n_neighbors": whole(1),
        },
    ),
]
#: These estimators, with model files.
OTHERS = (
    Contents(
        EvidentialKNNClassifier,
        _CLASSIFIER
        | {
            "_evidence": instance(CrispEvidence, SoftEvidence),
            "_tree": instance(BoxTree, MetricSearch, GivenDistances),
            "_n_samples": whole(1),
            "gamma_": array(1, low=0),
            "n_neighbors_": whole(1),
            "alpha_": number(0, 1),
        },
        DESCENT | {"_gaps": optional(instance(Gaps)), "_counts": optional(array(1, low=0))},
        _validate_neighbors,
    ),
    Contents(
        EvidentialForestClassifier,
        _CLASSIFIER
        | {
            "_leaves": instance(Leaves),
            "_surroundings": instance(BoxTree),
            "_n_neighbors": whole(),
            "_reach": number(0, finite=False),
            "_center": array(1),
            "_unit": _UNITS,
            "effective_n_estimators_": number(0),
            "min_samples_split_": whole(2),
        },
        FEATURE_NAMES | {"_gaps": optional(instance(Gaps)), "oob_partition_": instance(CredalPartition)},
        _validate_forest,
    ),
    Contents(
        EvidentialNeuralClassifier,
        _NETWORK | {"_network": instance(ENNParameters)},
        DESCENT | {"scales_": array(1), "memberships_": array(2), "strengths_": array(1)},
        _validate_network,
    ),
    Contents(
        EvidentialRBFClassifier,
        _NETWORK | {"_network": instance(RBFParameters), "weights_": array(2)},
        DESCENT | {"scales_": array(1)},
        _validate_network,
    ),
    Contents(
        FusionClassifier,
        _CLASSIFIER | {"estimators_": list_of(_member, min_length=1), "reliabilities_": array(2, low=0, high=1)},
        FEATURE_NAMES,
        _validate_fusion,
        nested=frozenset({"estimators", "estimators_"}),
    ),
    Contents(
        ParsimoniousGaussianMixture,
        N_FEATURES | {"weights_": array(1, low=0, high=SHARES), "means_": array(2), "covariances_": array(3)},
        FEATURE_NAMES
        | {
            "model_": text(*MULTIVARIATE, *ONE_DIMENSIONAL),
            "n_components_": whole(1),
            "variance_floor_": array(1, low=0),
            "n_parameters_": whole(1),
            "bic_": ANY_NUMBER,
            "bic_table_": array(2, finite=False),
            "covariance_models_": list_of(text(), min_length=1),
            "component_numbers_": list_of(whole(1), min_length=1),
            "lower_bound_": ANY_NUMBER,
            "log_likelihood_history_": array(1, finite=False),
            "n_iter_": whole(),
            "converged_": flag,
            "_interrupted": flag,
        },
        _validate_mixture,
    ),
    Contents(
        CredalEnsemble,
        N_FEATURES | {"focal_sets_": _SETS, "_model": instance(EnsembleModel)},
        DESCENT | {"n_clusters_": whole(1), "_lacks_evidence": flag, "_problems": sentences},
        _validate_members,
        nested=frozenset({"clusterers"}),
        set_state=_make_ensemble,
    ),
    Contents(
        ConformalClusterer,
        N_FEATURES
        | {
            "focal_sets_": _SETS,
            "_adapter": instance(ClustererAdapter),
            "_scores": instance(Scores),
            "_outlier_scorer": instance(OutlierScorer),
            "n_clusters_": whole(1),
        },
        FEATURE_NAMES | {"n_calibration_": whole(1), "coverage_": optional(number(0, 1)), "_problems": sentences},
        _validate_sets,
        nested=frozenset({"estimator"}),
        set_state=_make_conformal,
    ),
    Contents(
        UnseenClassDetector,
        _CLASSIFIER
        | {
            "_strangeness": instance(Strangeness),
            "_references": array(2),
            "_weights": array(1, low=0, high=SHARES),
            "_scores": _scores,
            "n_rehearsals_": whole(),
        },
        FEATURE_NAMES,
        _validate_strangeness,
        nested=frozenset({"estimator"}),
    ),
)

__all__ = ["OTHERS", "PARTS"]
