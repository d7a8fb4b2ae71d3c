"""What the two networks of prototypes share: standard units, starts by k-means, the best of several descents."""

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
from evlearn.utils.convergence import Trace, best_of, publish_trace, warn_caller, warn_of_collapse
from evlearn.utils.lbfgs import lower_by_lbfgs
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import Steps
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_real,
    check_shape,
    refuse_remote,
)

_GRADIENT = 1e-8
# Starts that are added where a network has learned nothing, and the share of the error that it has to take away.
_RESTARTS = 5
_LEARNED = 0.01
# The same for a network that puts all training samples into one class, unless nearly all are of that class.
_LEARNED_IN_ONE_CLASS = 0.5
_NEARLY_ALL = 0.9


class PrototypeClassifier(EvidentialClassifier):
    """Base class: a network says `_start` and `_make_loss`, and is trained here."""

    n_prototypes: int | str
    init: Any
    class_weight: Any
    n_init: int
    max_iter: int
    tol: float
    standardize: bool
    random_state: Any

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Labels:
        self._check_parameters()
        data, labels, counts, _ = self._read_training(X, y, sample_weight)
        given = read_weights(counts, self.class_weight, labels, data)
        weights = np.ones(len(data)) if given is None else given.total
        if not weights.all():
            data, labels, weights = data[weights > 0], labels.take(weights > 0), weights[weights > 0]
        refuse_remote("X", data)
        data, labels, weights = _merged(data, labels, weights)
        self._warn_of_many_prototypes(len(data))
        shares = weights / weights.sum()
        self._centre = shares @ data
        spread = np.sqrt(shares @ (data - self._centre) ** 2) if self.standardize else np.ones(data.shape[1])
        self._unit = np.where(spread > 0, spread, 1)
        with one_blas_thread():
            trace, learned = self._train(self._enter(data), labels, weights)
        self._network = trace.state
        self.prototypes_ = trace.state.prototypes * self._unit + self._centre
        self.scales_ = trace.state.scales
        publish_trace(self, trace, "the loss", max_iter=self.max_iter)
        if not learned:
            warn_of_collapse(
                f"after {_RESTARTS} more starts, {type(self).__name__} says hardly more of the training samples "
                "than the shares of the classes, or gives all to one class",
                "Try more prototypes, a larger n_init or other features; or X says nothing about y.",
            )
        return labels

    def _warn_of_many_prototypes(self, n_distinct: int) -> None:
        """Warn if there are so many prototypes that a network may do well on training samples only."""
        if isinstance(self.n_prototypes, str) or not isinstance(self.init, str):
            return
        if 2 * self.n_prototypes > n_distinct:
            warn_caller(
                f"n_prototypes={self.n_prototypes} exceeds half of the {n_distinct} distinct training samples: "
                "predictions for new samples may be poor. It is the number for all classes together; use at most "
                f"{n_distinct // 2}, or 'auto'."
            )

    def _check_parameters(self) -> None:
        check_integer("n_init", self.n_init, 1)
        check_integer("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0)
        check_flag("standardize", self.standardize)

    def _enter(self, data: FloatArray) -> FloatArray:
        """The coordinates of the network, in which squares do not overflow."""
        return np.asarray(np.clip((data - self._centre) / self._unit, -LARGEST, LARGEST))

    def _train(self, data: FloatArray, labels: Labels, weights: FloatArray) -> tuple[Trace[Any], bool]:
        """The best of all starts, and whether it has learned anything: if none has, there are some more."""
        random = check_random_state(self.random_state)
        loss = self._make_loss(data, labels, weights)
        trained: list[Trace[Any]] = []
        learned, given = False, not isinstance(self.init, str)
        n_init, most = (1, 1) if given else (self.n_init, self.n_init + _RESTARTS)
        report = Steps(self.max_iter, most)
        while len(trained) < n_init or (not learned and len(trained) < most):
            start = self._start(data, labels, weights, random)

            def evaluate(values: FloatArray, start: Any = start) -> tuple[float, FloatArray]:
                value, gradient = loss.evaluate(unpack(values, start))
                return value, pack(gradient)

            limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "gradient_tol": _GRADIENT}
            trace = lower_by_lbfgs(evaluate, pack(start), report=report, **limits)
            trained.append(trace.at(unpack(trace.state, start)))
            best = best_of(trained)
            learned = self._has_learned(best.state, data, labels, weights)
            if best.interrupted:
                break
        return best, learned

    def _has_learned(self, network: Any, data: FloatArray, labels: Labels, weights: FloatArray) -> bool:
        """Whether the squared error of the probabilities is well below that of the shares of the classes."""
        if labels.codes is None or len(np.unique(labels.codes)) < 2:
            return True  # of labels with doubt this says little
        truth = labels.targets(0)
        said = self._probabilities(network, data)
        usual = weights @ truth / weights.sum()
        several = np.ptp(said.argmax(axis=1)) > 0 or usual.max() > _NEARLY_ALL
        needed = _LEARNED if several else _LEARNED_IN_ONE_CLASS
        error, nothing = (weights @ np.square(one - truth).sum(axis=1) for one in (said, usual))
        return bool(error < (1 - needed) * nothing)

    def _probabilities(self, network: Any, data: FloatArray) -> FloatArray:
        """What a network says of data in its own coordinates."""
        raise NotImplementedError

    def _start(self, data: FloatArray, labels: Labels, weights: FloatArray, random: np.random.RandomState) -> Any:
        """Parameters to begin with."""
        raise NotImplementedError

    def _make_loss(self, data: FloatArray, labels: Labels, weights: FloatArray) -> Any:
        """What is made small."""
        raise NotImplementedError

    def _given(self, name: str, shape: tuple[int, ...], **limits: float) -> FloatArray | None:
        """A part of `init`, if it has it."""
        values = None if isinstance(self.init, str) else self.init.get(name)
        if values is None:
            return None
        found = np.asarray(values, dtype=np.float64)
        check_shape(f"init[{name!r}]", found, shape)
        low, high = limits.get("low", -np.inf), limits.get("high", np.inf)
        if not np.isfinite(found).all() or found.min() < low or found.max() > high:
            raise ValueError(f"init[{name!r}] must be finite numbers from {low:g} to {high:g}.")
        return found

    def _given_prototypes(self, n_features: int) -> FloatArray | None:
        """Prototypes to begin with, in the coordinates of the network."""
        if isinstance(self.init, str):
            return None
        return self._enter(np.asarray(self._given("prototypes", (len(self.init["prototypes"]), n_features))))

    def _check_init(self, *others: str) -> None:
        if isinstance(self.init, str):
            check_choice("init", self.init, ("kmeans",))
            return
        names = ("prototypes", *others)
        if not isinstance(self.init, Mapping) or "prototypes" not in self.init or not set(self.init) <= set(names):
            raise ValueError(
                f"init must be 'kmeans' or a dict with the key 'prototypes' and, if you like, {list(others)}; got "
                f"{self.init!r}."
            )


def _merged(data: FloatArray, labels: Labels, weights: FloatArray) -> tuple[FloatArray, Labels, FloatArray]:
    """Return each distinct sample once, sorted, with the sum of the weights of its copies.

    So starts by k-means, which depend on the order and number of rows, are the same for weights and for copies.
    """
    answers = labels.plausibilities() if labels.partition is None else labels.partition.masses
    first, inverse = distinct_rows(np.hstack([data, answers]))
    return data[first], labels.take(first), np.asarray(np.bincount(inverse, weights), dtype=np.float64)


def shares_of(weights: FloatArray) -> FloatArray | None:
    """How much samples count, with sum one; None if all count alike."""
    return None if np.ptp(weights) == 0 else weights / weights.sum()


def centres_of(
    data: FloatArray, n_centres: int, weights: FloatArray, random: np.random.RandomState
) -> tuple[FloatArray, npt.NDArray[np.int32]]:
    """Centres by k-means, as many as there are samples at the most.

    Returns
    -------
    centres : ndarray of shape (n_centres, n_features)
        The centres.
    cells : ndarray of int of shape (n_samples,)
        The nearest of them for each sample.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different samples: then centres coincide
        found = KMeans(min(n_centres, len(data)), n_init=1, random_state=random).fit(data, sample_weight=weights)
    return found.cluster_centers_, found.labels_


def scales_of(squares: FloatArray, weights: FloatArray) -> FloatArray:
    """One over the root mean square distance of samples to each centre."""
    means = (weights * squares).sum(axis=0) / weights.sum(axis=0)
    tiny = float(np.finfo(float).tiny)
    means = np.where(means > tiny, means, squares.mean())
    return np.asarray(1 / np.sqrt(np.where(means > tiny, means, 1)))


def cell_table(data: FloatArray, centres: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Squared distances to centres, and ones where a centre is the nearest.

    Returns
    -------
    squares, cells : ndarray of shape (n_samples, n_centres)
        The distances and the ones.
    """
    squares = squared_distances(data, centres)
    return squares, np.eye(len(centres))[squares.argmin(axis=1)]
