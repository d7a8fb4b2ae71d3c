"""Base class of networks of prototypes: scaling, initialization by k-means, and restarts."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from evlearn.classify.base import LARGEST, EvidentialClassifier
from evlearn.classify.distinct_rows import distinct_rows
from evlearn.classify.labels import Labels
from evlearn.classify.prototype_networks import pack, squared_distances, unpack
from evlearn.classify.sample_weights import read_weights
from evlearn.storage import fields
from evlearn.utils.convergence import Trace, best_of, publish_trace, warn_caller, warn_of_collapse
from evlearn.utils.lbfgs import minimize_lbfgs
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import Steps
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import (
    check_choice,
    check_integer,
    check_no_extreme_rows,
    check_real,
    check_shape,
)

_GRADIENT = 1e-8
#: Number of additional starts if the error is not reduced sufficiently, and the required reduction.
_RESTARTS = 5
_MIN_REDUCTION = 0.01
#: Required reduction if all samples are assigned to the same class, unless its share exceeds the limit below.
_MIN_REDUCTION_ONE_CLASS = 0.5
_DOMINANT_SHARE = 0.9


class PrototypeClassifier(EvidentialClassifier):
    """Base class: subclasses define `_start` and `_make_loss`, which are used for training."""

    _center: fields.Stored[fields.Vector]
    _unit: fields.Stored[fields.ScaleVector]
    prototypes_: fields.Stored[fields.Matrix]
    scales_: fields.StoredIfSet[fields.Vector]

    n_prototypes: int | str
    init: Any
    class_weight: Any
    n_init: int
    max_iter: int
    tol: float
    random_state: Any

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Labels:
        self._check_parameters()
        data, labels, counts, _ = self._read_training(X, y, sample_weight)
        sample_weights = read_weights(counts, self.class_weight, labels, data)
        weights = np.ones(len(data)) if sample_weights is None else sample_weights.total
        if not weights.all():
            data, labels, weights = data[weights > 0], labels.take(weights > 0), weights[weights > 0]
        check_no_extreme_rows("X", data)
        data, labels, weights = _merge_equal(data, labels, weights)
        self._warn_of_many_prototypes(len(data))
        shares = weights / weights.sum()
        self._center = shares @ data
        spread = (
            np.sqrt(shares @ (data - self._center) ** 2)
            if self._switches["standardize"]
            else np.ones(data.shape[1])
        )
        self._unit = np.where(spread > 0, spread, 1)
        with one_blas_thread():
            trace, is_successful = self._train(self._scale(data), labels, weights)
        self._network = trace.state
        self.prototypes_ = trace.state.prototypes * self._unit + self._center
        self.scales_ = trace.state.scales
        publish_trace(self, trace, "the loss", max_iter=self.max_iter)
        if not is_successful:
            warn_of_collapse(
                f"after {_RESTARTS} more starts, {type(self).__name__} hardly predicts training samples better "
                "than the shares of the classes, or assigns all to one class",
                "Use more prototypes, a larger n_init or other features; X may be independent of y.",
            )
        return labels

    def _warn_of_many_prototypes(self, n_distinct: int) -> None:
        """Warn of overfitting if there are too many prototypes."""
        if isinstance(self.n_prototypes, str) or not isinstance(self.init, str):
            return
        if 2 * self.n_prototypes > n_distinct:
            warn_caller(
                f"n_prototypes={self.n_prototypes} exceeds half of the {n_distinct} distinct training samples: "
                "predictions for new samples may be poor. It is the total number for all classes; use at most "
                f"{n_distinct // 2}, or 'auto'."
            )

    def _check_parameters(self) -> None:
        check_integer("n_init", self.n_init, 1)
        check_integer("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0)

    def _scale(self, data: FloatArray) -> FloatArray:
        """Return scaled samples, clipped so that squares do not overflow."""
        return np.asarray(np.clip((data - self._center) / self._unit, -LARGEST, LARGEST))

    def _train(self, data: FloatArray, labels: Labels, weights: FloatArray) -> tuple[Trace[Any], bool]:
        """Train the network, with more starts if required; return the best result and its success."""
        random = check_random_state(self.random_state)
        loss = self._make_loss(data, labels, weights)
        traces: list[Trace[Any]] = []
        is_successful, is_fixed = False, not isinstance(self.init, str)
        n_init, max_starts = (1, 1) if is_fixed else (self.n_init, self.n_init + _RESTARTS)
        report = Steps(self.max_iter, max_starts)
        while len(traces) < n_init or (not is_successful and len(traces) < max_starts):
            start = self._start(data, labels, weights, random)

            def evaluate(values: FloatArray, start: Any = start) -> tuple[float, FloatArray]:
                value, gradient = loss.evaluate(unpack(values, start))
                return value, pack(gradient)

            limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "gradient_tol": _GRADIENT}
            trace = minimize_lbfgs(evaluate, pack(start), report=report, **limits)
            traces.append(trace.with_state(unpack(trace.state, start)))
            best = best_of(traces)
            is_successful = self._beats_baseline(best.state, data, labels, weights)
            if best.interrupted:
                break
        return best, is_successful

    def _beats_baseline(self, network: Any, data: FloatArray, labels: Labels, weights: FloatArray) -> bool:
        """Return True if the squared error is sufficiently below that of the shares of the classes."""
        if labels.codes is None or len(np.unique(labels.codes)) < 2:
            return True  # the error is not informative for soft labels
        truth = labels.targets(0)
        probabilities = self._probabilities(network, data)
        class_shares = weights @ truth / weights.sum()
        is_diverse = np.ptp(probabilities.argmax(axis=1)) > 0 or class_shares.max() > _DOMINANT_SHARE
        min_reduction = _MIN_REDUCTION if is_diverse else _MIN_REDUCTION_ONE_CLASS
        error, baseline = (
            weights @ np.square(prediction - truth).sum(axis=1) for prediction in (probabilities, class_shares)
        )
        return bool(error < (1 - min_reduction) * baseline)

    def _probabilities(self, network: Any, data: FloatArray) -> FloatArray:
        """Return the probabilities of scaled samples."""
        raise NotImplementedError

    def _start(self, data: FloatArray, labels: Labels, weights: FloatArray, random: np.random.RandomState) -> Any:
        """Return initial parameters."""
        raise NotImplementedError

    def _make_loss(self, data: FloatArray, labels: Labels, weights: FloatArray) -> Any:
        """Return the training loss."""
        raise NotImplementedError

    def _read_init(self, name: str, shape: tuple[int, ...], **limits: float) -> FloatArray | None:
        """Return an entry of `init`, or None if it is missing."""
        values = None if isinstance(self.init, str) else self.init.get(name)
        if values is None:
            return None
        array = np.asarray(values, dtype=np.float64)
        check_shape(f"init[{name!r}]", array, shape)
        low, high = limits.get("low", -np.inf), limits.get("high", np.inf)
        if not np.isfinite(array).all() or array.min() < low or array.max() > high:
            raise ValueError(f"init[{name!r}] must be finite numbers from {low:g} to {high:g}.")
        return array

    def _read_init_prototypes(self, n_features: int) -> FloatArray | None:
        """Return the scaled prototypes of `init`, or None."""
        if isinstance(self.init, str):
            return None
        return self._scale(np.asarray(self._read_init("prototypes", (len(self.init["prototypes"]), n_features))))

    def _check_init(self, *optional: str) -> None:
        if isinstance(self.init, str):
            check_choice("init", self.init, ("kmeans",))
            return
        names = ("prototypes", *optional)
        if not isinstance(self.init, Mapping) or "prototypes" not in self.init or not set(self.init) <= set(names):
            raise ValueError(
                f"init must be 'kmeans' or a dict with the key 'prototypes', and optional keys {list(optional)}; "
                f"got {self.init!r}."
            )

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()
        self._check_parameters()
        network, n_classes = self._network, len(self.classes_)
        n_prototypes, n_features = network.prototypes.shape
        fields.check_features(self, n_features)
        for name in ("_center", "_unit"):
            check_shape(name, getattr(self, name), (n_features,))
        check_shape("prototypes_", self.prototypes_, (n_prototypes, n_features))
        if n_prototypes == 0 or self.focal_sets_.frame_size != n_classes:
            raise ValueError("its network does not match classes_")


def _merge_equal(data: FloatArray, labels: Labels, weights: FloatArray) -> tuple[FloatArray, Labels, FloatArray]:
    """Merge equal samples and their weights, in sorted order.

    So initialization by k-means, which depends on the order and number of rows, is the same for weights and
    copies.
    """
    label_values = labels.plausibilities() if labels.partition is None else labels.partition.masses
    first, inverse = distinct_rows(np.hstack([data, label_values]))
    return data[first], labels.take(first), np.asarray(np.bincount(inverse, weights), dtype=np.float64)


def shares_of(weights: FloatArray) -> FloatArray | None:
    """Return weights with the sum 1; None if they are equal."""
    return None if np.ptp(weights) == 0 else weights / weights.sum()


def centers_of(
    data: FloatArray, n_centers: int, weights: FloatArray, random: np.random.RandomState
) -> tuple[FloatArray, npt.NDArray[np.int32]]:
    """Compute centers by k-means, at most one per sample.

    Returns
    -------
    centers : ndarray of shape (n_centers, n_features)
        Centers.
    cells : ndarray of int of shape (n_samples,)
        Nearest center of each sample.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # centers coincide if there are fewer distinct samples
        kmeans = KMeans(min(n_centers, len(data)), n_init=1, random_state=random).fit(data, sample_weight=weights)
    return kmeans.cluster_centers_, kmeans.labels_


def scales_of(squares: FloatArray, weights: FloatArray) -> FloatArray:
    """Return inverse root mean square distances of samples to each center."""
    means = (weights * squares).sum(axis=0) / weights.sum(axis=0)
    tiny = float(np.finfo(float).tiny)
    means = np.where(means > tiny, means, squares.mean())
    return np.asarray(1 / np.sqrt(np.where(means > tiny, means, 1)))


def cell_table(data: FloatArray, centers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return squared distances to centers, and indicators of the nearest center.

    Returns
    -------
    squares, cells : ndarray of shape (n_samples, n_centers)
        Squared distances and indicators.
    """
    squares = squared_distances(data, centers)
    return squares, np.eye(len(centers))[squares.argmin(axis=1)]
