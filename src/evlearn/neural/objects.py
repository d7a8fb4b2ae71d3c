"""The objects of a training set: what the network sees of them, and their target conflicts."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from evlearn.belief.types import FloatArray, IntArray
from evlearn.blocks import Rows
from evlearn.cluster.pairs import Transform, distances_between
from evlearn.neural.model import Reader, as_tensor


class Seen(NamedTuple):
    """What a network sees of some objects.

    Attributes
    ----------
    inputs : Tensor of shape (n, n_inputs)
        The inputs.
    scores : Tensor of shape (n,) or None
        Scores of the outlier model.
    """

    inputs: Tensor
    scores: Tensor | None


class Dissimilarity:
    """How unlike objects are: a matrix, a metric, a function, or the distance of what a transformer makes of them.

    Parameters
    ----------
    given : None, array-like of shape (n, n), callable or transformer
        Dissimilarities of all objects; or a function of two sets of rows; or something with ``transform``, whose
        features are compared by their Euclidean distance; None for the metric.
    metric : str or callable
        The metric of attributes.
    """

    def __init__(self, given: Any, metric: Any) -> None:
        self._transformer = given if hasattr(given, "transform") else None
        self._function = given if callable(given) and self._transformer is None else None
        self._matrix = given if self._transformer is None and self._function is None else None
        self._metric = metric

    @property
    def euclidean(self) -> bool:
        """Whether it is the Euclidean distance of `features`."""
        return (
            self._matrix is None
            and self._function is None
            and (self._transformer is not None or self._metric == "euclidean")
        )

    def features(self, rows: FloatArray) -> FloatArray:
        """What is compared.

        Parameters
        ----------
        rows : ndarray of shape (n, n_features)
            Rows as the user has them.

        Returns
        -------
        ndarray of shape (n, n_compared)
            The rows, or what the transformer makes of them.
        """
        return rows if self._transformer is None else np.asarray(self._transformer.transform(rows))

    def square(self, indices: IntArray, rows: FloatArray) -> FloatArray:
        """The dissimilarities of some objects with each other.

        Parameters
        ----------
        indices : ndarray of int of shape (n,)
            The numbers of the objects.
        rows : ndarray of shape (n, n_features)
            Their rows, as the user has them.

        Returns
        -------
        ndarray of shape (n, n)
            Dissimilarities.
        """
        if self._matrix is not None:
            return np.asarray(self._matrix[np.ix_(indices, indices)], dtype=np.float64)
        if self._function is not None:
            found = np.asarray(self._function(rows, rows), dtype=np.float64)
            if found.shape != (len(rows), len(rows)) or not (np.isfinite(found) & (found >= 0)).all():
                raise ValueError(
                    "dissimilarities must be a function from two sets of rows to a matrix of numbers that are not "
                    f"negative, got shape {found.shape} for {len(rows)} rows."
                )
            return found
        features = self.features(rows)
        return distances_between(features, features, "euclidean" if self.euclidean else self._metric)


class Objects(ABC):
    """The objects of a training set.

    Attributes
    ----------
    n_objects : int
        How many there are.
    """

    n_objects: int

    @abstractmethod
    def see(self, indices: IntArray) -> Seen:
        """What the network sees of some objects.

        Parameters
        ----------
        indices : ndarray of int
            Their numbers.

        Returns
        -------
        Seen
            Inputs and scores.
        """

    @abstractmethod
    def targets(self, indices: IntArray) -> Tensor:
        """The target conflicts of some objects with each other.

        Parameters
        ----------
        indices : ndarray of int of shape (n,)
            Their numbers.

        Returns
        -------
        Tensor of shape (n, n)
            Target conflicts.
        """


class ArrayObjects(Objects):
    """Objects in memory; what the network sees of them is made once.

    Parameters
    ----------
    data : ndarray of shape (n, n_features)
        Their rows.
    reader : Reader
        What the network is told about a row.
    dissimilarity : Dissimilarity
        How unlike they are.
    transform : Transform
        From dissimilarities to target conflicts.
    like : Tensor
        Where numbers live, and in which precision.
    """

    def __init__(
        self, data: FloatArray, reader: Reader, dissimilarity: Dissimilarity, transform: Transform, like: Tensor
    ) -> None:
        self.n_objects = len(data)
        self._data, self._dissimilarity, self._transform, self._like = data, dissimilarity, transform, like
        inputs = reader.inputs(data)
        self._inputs = as_tensor(inputs, like)
        self._scores = as_tensor(reader.scores(inputs), like)
        self._last: tuple[Any, Tensor] = (None, like)
        self._features = None
        if dissimilarity.euclidean and transform.kind == "exponential":
            self._features = as_tensor(_in_units(dissimilarity.features(data), transform.d0), like)

    def see(self, indices: IntArray) -> Seen:
        """What the network sees of some objects.

        Parameters
        ----------
        indices : ndarray of int
            Their numbers.

        Returns
        -------
        Seen
            Inputs and scores.
        """
        chosen = self._positions(indices)
        return Seen(self._inputs[chosen], None if self._scores is None else self._scores[chosen])

    def _positions(self, indices: IntArray) -> Tensor:
        """The numbers as torch wants them; those of the last call are not sent again."""
        if indices is not self._last[0]:
            self._last = (indices, torch.from_numpy(indices).to(self._like.device))
        return self._last[1]

    def targets(self, indices: IntArray) -> Tensor:
        """The target conflicts of some objects with each other.

        Parameters
        ----------
        indices : ndarray of int of shape (n,)
            Their numbers.

        Returns
        -------
        Tensor of shape (n, n)
            Target conflicts.
        """
        if self._features is not None:
            return exponential_targets(self._features[self._positions(indices)])
        distances = self._dissimilarity.square(indices, self._data[indices])
        return as_tensor(self._transform(distances), self._like)  # type: ignore[no-any-return]


class RowObjects(Objects):
    """Objects anywhere; they are read when they are needed.

    Parameters
    ----------
    rows : Rows
        Their rows.
    reader : Reader
        What the network is told about a row.
    dissimilarity : Dissimilarity
        How unlike they are.
    transform : Transform
        From dissimilarities to target conflicts.
    like : Tensor
        Where numbers live, and in which precision.
    """

    def __init__(
        self, rows: Rows, reader: Reader, dissimilarity: Dissimilarity, transform: Transform, like: Tensor
    ) -> None:
        self.n_objects = len(rows)
        self._rows, self._reader, self._dissimilarity = rows, reader, dissimilarity
        self._transform, self._like = transform, like
        self._last: tuple[IntArray, FloatArray] = (np.empty(0, dtype=np.intp), np.empty((0, 0)))

    def _take(self, indices: IntArray) -> FloatArray:
        """Rows as the user has them; those that the last call began with are not read again."""
        if not np.array_equal(indices, self._last[0][: len(indices)]):
            order = np.argsort(indices, kind="stable")
            found = np.empty((len(indices), self._rows.n_features))
            found[order] = self._rows.take(indices[order]) + self._rows.origin
            self._last = (indices, found)
        return self._last[1][: len(indices)]

    def see(self, indices: IntArray) -> Seen:
        """What the network sees of some objects.

        Parameters
        ----------
        indices : ndarray of int
            Their numbers.

        Returns
        -------
        Seen
            Inputs and scores.
        """
        inputs = self._reader.inputs(self._take(indices))
        return Seen(as_tensor(inputs, self._like), as_tensor(self._reader.scores(inputs), self._like))

    def targets(self, indices: IntArray) -> Tensor:
        """The target conflicts of some objects with each other.

        Parameters
        ----------
        indices : ndarray of int of shape (n,)
            Their numbers.

        Returns
        -------
        Tensor of shape (n, n)
            Target conflicts.
        """
        rows = self._take(indices)
        if self._dissimilarity.euclidean and self._transform.kind == "exponential":
            features = _in_units(self._dissimilarity.features(rows), self._transform.d0)
            return exponential_targets(as_tensor(features, self._like))
        distances = self._dissimilarity.square(indices, rows)
        return as_tensor(self._transform(distances), self._like)  # type: ignore[no-any-return]


def _in_units(features: FloatArray, d0: float) -> FloatArray:
    """Features in units of d0, and centred, because large numbers leave nothing of small distances."""
    centred: FloatArray = features - features.mean(axis=0)
    return centred / d0


def exponential_targets(features: Tensor) -> Tensor:
    r"""Target conflicts :math:`1-0.05^{d^2}` of Euclidean distances, which are 0.95 at distance 1.

    Parameters
    ----------
    features : Tensor of shape (n, n_features)
        What is compared, centred, in units of `d0`.

    Returns
    -------
    Tensor of shape (n, n)
        Target conflicts.
    """
    rate = float(np.log(0.05))
    half = (features * features).sum(dim=1) * rate
    squares = torch.addmm(half[:, None] + half[None, :], features, features.T, alpha=-2 * rate)
    return squares.clamp_(max=0).expm1_().neg_()
