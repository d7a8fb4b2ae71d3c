"""What a model file may hold of classifiers, mixtures, ensembles and conformal clusterers."""

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
from evlearn.conformal.outliers import Remoteness
from evlearn.conformal.p_values import Scores
from evlearn.conformal.strangeness import QUESTIONS, Strangeness
from evlearn.conformal.support import Speaker
from evlearn.ensemble import CredalEnsemble
from evlearn.ensemble.credal_ensemble import EnsembleModel
from evlearn.ensemble.fusion import RULES
from evlearn.ensemble.recovery import Landmarks
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.mixture.covariance_models import MULTIVARIATE, ONE_DIMENSIONAL
from evlearn.mixture.gaps import Gaps
from evlearn.model_contents.contents import (
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
    listed,
)
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import predicted_partition, predicts_masses, split_pipeline
from evlearn.utils.stored_values import (
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


def _estimator(where: str, value: Any) -> None:
    if not any(hasattr(value, name) for name in ("predict_mass", "predict_proba", "predict")):
        raise ValueError(f"{where} must be a clusterer that predicts")


# Classifiers


def _told_by_tree(tree: BoxTree) -> dict[str, Any]:
    """The samples, from which the tree is built again."""
    return {"rows": tree.samples}


def _make_tree(rows: Any) -> BoxTree:
    if not rows.size:
        raise ValueError("rows must not be empty")
    return BoxTree.of(np.ascontiguousarray(rows))


def _agree_on_evidence(estimator: Any) -> None:
    estimator._check_parameters()
    evidence, sets = estimator._evidence, estimator.focal_sets_
    n_samples, n_features = _size_of_search(estimator)
    check_features(estimator, n_features)
    check_count(estimator, "_n_samples", n_samples)
    check_length("_counts", estimator._counts, (n_samples,))
    if evidence.focal_sets != sets or sets.frame_size != len(estimator.classes_):
        raise ValueError("its labels and focal_sets_ are about other sets")
    check_length("gamma_", estimator.gamma_, (evidence.n_scales,))
    gaps = estimator.__dict__.get("_gaps")
    if gaps is not None:
        check_features(estimator, len(gaps.centre))
    if isinstance(evidence, SoftEvidence):
        check_length("denials", evidence.denials, (n_samples, len(sets) - 1))
        return
    _check_simple(sets)
    check_length("codes", evidence.codes, (n_samples,))
    if evidence.codes.max() >= sets.frame_size or evidence.codes.dtype != np.int32:
        raise ValueError("codes must be numbers of classes, in 32 bits")


def _size_of_search(estimator: Any) -> tuple[int, int]:
    """The numbers of training samples and of features that a search knows."""
    search = estimator._tree
    if isinstance(search, BoxTree):
        kind, shape = estimator.metric == "euclidean", _told_by_tree(search)["rows"].shape
    elif isinstance(search, MetricSearch):
        kind, shape = search.metric == estimator.metric, search.samples.shape
    else:
        kind, shape = estimator.metric == "precomputed", 2 * (estimator.n_features_in_,)
    if not kind:
        raise ValueError("its metric and its search do not agree")
    return int(shape[0]), int(shape[1])


def _check_simple(sets: FocalSets) -> None:
    if not np.array_equal(sets.membership, FocalSets.simple(sets.frame_size).membership):
        raise ValueError("its sets must be single classes and all of them")


def _agree_on_forest(estimator: Any) -> None:
    estimator._check_parameters()
    sets, leaves = estimator.focal_sets_, estimator._leaves
    n_features = estimator.n_features_in_
    rows = _told_by_tree(estimator._surroundings)["rows"]
    check_length("rows", rows, (len(rows), n_features))
    for name in ("_centre", "_unit"):
        check_length(name, getattr(estimator, name), (n_features,))
    if estimator._n_neighbors > len(rows):
        raise ValueError("it compares with more neighbours than there are")
    if sets.frame_size != len(estimator.classes_) or sets.intersection_gap is not None:
        raise ValueError("its sets and classes_ do not agree")
    n_nodes, n_leaves = len(leaves.features), len(leaves.masses)
    check_length("thresholds", leaves.thresholds, (n_nodes,))
    check_length("children", leaves.children, (n_nodes, 2))
    check_length("masses", leaves.masses, (n_leaves, len(sets) - 1))
    leaf = leaves.features < 0
    # Nodes come after their parents, so that the way to a leaf ends.
    after = (leaves.children > np.arange(n_nodes)[:, None]) & (leaves.children < n_nodes)
    if not (after | leaf[:, None]).all() or (leaves.children[leaf] >= n_leaves).any():
        raise ValueError("its trees lead nowhere")
    roots = leaves.roots
    if leaves.features.max(initial=-1) >= n_features or not len(roots) or roots.max() >= n_nodes:
        raise ValueError("its trees ask for features or nodes that are not there")
    check_masses(np.pad(leaves.masses, ((0, 0), (1, 0))), sets)


def _agree_on_network(estimator: Any) -> None:
    estimator._check_parameters()
    network, n_classes = estimator._network, len(estimator.classes_)
    n_prototypes, n_features = network.prototypes.shape
    check_features(estimator, n_features)
    for name in ("_centre", "_unit"):
        check_length(name, getattr(estimator, name), (n_features,))
    check_length("prototypes_", estimator.prototypes_, (n_prototypes, n_features))
    if n_prototypes == 0 or estimator.focal_sets_.frame_size != n_classes:
        raise ValueError("its network and classes_ do not agree")
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


def _member(where: str, value: Any) -> None:
    if not (predicts_masses(value) and hasattr(split_pipeline(value)[1], "classes_")):
        raise ValueError(f"{where} must be an evidential classifier")


def _agree_on_fusion(estimator: Any) -> None:
    classes, members = estimator.classes_, estimator.estimators_
    estimator._check_members()
    check_length("reliabilities_", estimator.reliabilities_, (len(members), len(classes)))
    if len(estimator.estimators) != len(members) or estimator.focal_sets_.frame_size != len(classes):
        raise ValueError("its members, sets and classes_ do not agree")
    if estimator.discounting == "contextual" and not estimator.focal_sets_.is_full:
        raise ValueError("its sets must be all sets of classes")
    for one in members:
        check_features(one, estimator.n_features_in_)
        if not np.isin(split_pipeline(one)[1].classes_, classes).all():
            raise ValueError("a member knows other classes")
    if estimator._family(np.zeros((1, estimator.n_features_in_))) != estimator.focal_sets_:
        raise ValueError("its members speak of other sets")


_CLASSIFIER: dict[str, Check] = N_FEATURES | {"classes_": labels, "focal_sets_": _SETS}
_NETWORK: dict[str, Check] = _CLASSIFIER | {"_centre": array(1), "_unit": _UNITS, "prototypes_": array(2)}


# Mixtures


def _agree_on_mixture(estimator: Any) -> None:
    n_components, n_features = estimator.means_.shape
    check_features(estimator, n_features)
    check_length("weights_", estimator.weights_, (n_components,))
    check_length("covariances_", estimator.covariances_, (n_components, n_features, n_features))
    check_length("variance_floor_", estimator.__dict__.get("variance_floor_"), (n_features,))
    check_count(estimator, "n_components_", n_components)
    estimator.predict_proba(estimator.means_)  # raises if a covariance matrix is singular


# Ensembles


def _make_ensemble(estimator: Any, learned: dict[str, Any]) -> Any:
    for name, value in learned.items():
        setattr(estimator, name, value)
    estimator.clusterers_ = list(estimator._model.clusterers)
    return estimator


def _agree_on_members(estimator: Any) -> None:
    check_sets(estimator)
    model = estimator._model
    landmarks = model.landmarks
    check_masses(landmarks.masses, landmarks.focal_sets)
    check_count(estimator, "n_clusters_", landmarks.focal_sets.frame_size)
    if len(landmarks.known) != len(model.clusterers):
        raise ValueError("it must know what each member says of the landmarks")
    check_length("center", model.center, (estimator.n_features_in_,))
    somewhere = np.zeros((1, estimator.n_features_in_))
    for one, said in zip(model.clusterers, landmarks.known, strict=True):
        check_features(one, estimator.n_features_in_)
        if len(said) != len(landmarks.masses):
            raise ValueError(f"a member speaks of {len(said)} landmarks, and there are {len(landmarks.masses)}")
        if predicted_partition(one, somewhere).focal_sets != said.focal_sets:
            raise ValueError("a member speaks of other sets than it did of the landmarks")


def _make_partition(masses: Any, focal_sets: FocalSets) -> CredalPartition:
    return CredalPartition(masses, focal_sets)


# Conformal clusterers


def _make_conformal(estimator: Any, learned: dict[str, Any]) -> Any:
    for name, value in learned.items():
        setattr(estimator, name, value)
    estimator.estimator_ = estimator._speaker.estimator
    return estimator


def _agree_on_sets(estimator: Any) -> None:
    estimator._check_parameters()
    speaker, remote = estimator._speaker, estimator._remoteness
    check_features(speaker.estimator, estimator.n_features_in_)
    check_length("usual", remote.usual, (estimator.n_clusters_ + 1,))
    if not len(estimator._scores.values) or not len(remote.scores.values):
        raise ValueError("it has no scores to compare with")
    if remote.n_neighbors > len(remote.known):
        raise ValueError("it compares with more neighbours than there are")
    somewhere = np.zeros((1, estimator.n_features_in_))
    if speaker.support(somewhere).shape[1] != estimator.n_clusters_:
        raise ValueError("its estimator has another number of clusters")
    check_length("known", remote.known, (len(remote.known), estimator._seen(somewhere).shape[1]))


def _agree_on_strangeness(estimator: Any) -> None:
    estimator._check_parameters()
    known, n_features = estimator._strangeness, estimator.n_features_in_
    for one in (known.classifier, known.evidence):
        check_features(one, n_features)
    for name in ("centre", "unit"):
        check_length(name, getattr(known, name), (n_features,))
    check_length("within", known.within, (n_features, n_features))
    check_length("usual", estimator._usual, (len(estimator._scores), len(QUESTIONS)))
    check_length("weights", estimator._weights, (len(QUESTIONS),))
    n_samples = len(known.spacing)
    for tree in (known.samples, known.whitened):
        check_length("rows", _told_by_tree(tree)["rows"], (n_samples, n_features))
    if not n_samples or not len(estimator._scores) or (np.diff(estimator._usual, axis=0) < 0).any():
        raise ValueError("it has no usual samples to compare with, in ascending order")
    said = predicted_partition(known.classifier, np.zeros((1, n_features))).focal_sets
    names = [str(one) for one in estimator.classes_]
    if said.frame_size != len(names) or said.with_names(names) != estimator.focal_sets_:
        raise ValueError("its classifier and classes_ do not agree")


_SORTED = array(1, low=-np.inf, finite=False)


def _scores(where: str, value: Any) -> None:
    _SORTED(where, value)
    if np.isnan(value).any() or (np.diff(value) < 0).any():
        raise ValueError(f"{where} must be numbers in ascending order")


#: The classes inside models of these estimators, and what their fields must be.
PARTS = [
    Part(BoxTree, {"rows": array(2, "f", low=-1e150, high=1e150)}, _told_by_tree, _make_tree),
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
    Part(CredalPartition, {"masses": array(2, low=0, high=SHARES), "focal_sets": _SETS}, made=_make_partition),
    Part(
        Landmarks,
        {
            "known": listed(instance(CredalPartition), fewest=1),
            "masses": array(2, low=0, high=SHARES),
            "focal_sets": _SETS,
            "rule": text(*RULES),
        },
    ),
    Part(
        EnsembleModel,
        {
            "clusterers": listed(_estimator, fewest=1),
            "landmarks": instance(Landmarks),
            "center": array(1),
            "reach": number(0, above=True, finite=False),
        },
        nested=True,
    ),
    Part(Speaker, {"estimator": _estimator, "known": instance(type(None)), "n_neighbors": whole(1)}, nested=True),
    Part(
        Strangeness,
        {
            "classifier": _estimator,
            "evidence": instance(EvidentialKNNClassifier),
            "centre": array(1),
            "unit": _UNITS,
            "within": array(2),
            "samples": instance(BoxTree),
            "whitened": instance(BoxTree),
            "spacing": array(1),
        },
        nested=True,
    ),
    Part(Scores, {"values": _scores, "n_samples": whole(1)}),
    Part(
        Remoteness,
        {
            "known": array(2),
            "usual": array(1, low=0),
            "scores": instance(Scores),
            "n_neighbors": whole(1),
        },
    ),
]
#: These estimators.
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
        _agree_on_evidence,
    ),
    Contents(
        EvidentialForestClassifier,
        _CLASSIFIER
        | {
            "_leaves": instance(Leaves),
            "_surroundings": instance(BoxTree),
            "_n_neighbors": whole(),
            "_reach": number(0, finite=False),
            "_centre": array(1),
            "_unit": _UNITS,
            "n_witnesses_": number(0),
            "min_samples_split_": whole(2),
        },
        FEATURE_NAMES | {"_gaps": optional(instance(Gaps)), "oob_partition_": instance(CredalPartition)},
        _agree_on_forest,
    ),
    Contents(
        EvidentialNeuralClassifier,
        _NETWORK | {"_network": instance(ENNParameters)},
        DESCENT | {"scales_": array(1), "memberships_": array(2), "strengths_": array(1)},
        _agree_on_network,
    ),
    Contents(
        EvidentialRBFClassifier,
        _NETWORK | {"_network": instance(RBFParameters), "weights_": array(2)},
        DESCENT | {"scales_": array(1)},
        _agree_on_network,
    ),
    Contents(
        FusionClassifier,
        _CLASSIFIER | {"estimators_": listed(_member, fewest=1), "reliabilities_": array(2, low=0, high=1)},
        FEATURE_NAMES,
        _agree_on_fusion,
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
            "covariance_models_": listed(text(), fewest=1),
            "component_numbers_": listed(whole(1), fewest=1),
            "lower_bound_": ANY_NUMBER,
            "log_likelihood_history_": array(1, finite=False),
            "n_iter_": whole(),
            "converged_": flag,
            "_interrupted": flag,
        },
        _agree_on_mixture,
    ),
    Contents(
        CredalEnsemble,
        N_FEATURES | {"focal_sets_": _SETS, "_model": instance(EnsembleModel)},
        DESCENT | {"n_clusters_": whole(1), "_lacks_evidence": flag, "_problems": sentences},
        _agree_on_members,
        nested=frozenset({"clusterers"}),
        made=_make_ensemble,
    ),
    Contents(
        ConformalClusterer,
        N_FEATURES
        | {
            "focal_sets_": _SETS,
            "_speaker": instance(Speaker),
            "_scores": instance(Scores),
            "_remoteness": instance(Remoteness),
            "n_clusters_": whole(1),
        },
        FEATURE_NAMES | {"n_calibration_": whole(1), "coverage_": optional(number(0, 1)), "_problems": sentences},
        _agree_on_sets,
        nested=frozenset({"estimator"}),
        made=_make_conformal,
    ),
    Contents(
        UnseenClassDetector,
        _CLASSIFIER
        | {
            "_strangeness": instance(Strangeness),
            "_usual": array(2),
            "_weights": array(1, low=0, high=SHARES),
            "_scores": _scores,
            "n_rehearsals_": whole(),
        },
        FEATURE_NAMES,
        _agree_on_strangeness,
        nested=frozenset({"estimator"}),
    ),
)

__all__ = ["OTHERS", "PARTS"]
