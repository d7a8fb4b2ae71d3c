r"""What samples with gaps may look like: a small Gaussian mixture of what is there, and completions drawn from it.

A Gaussian mixture with one covariance matrix, fitted by a few steps of EM to what is there, says what the missing
cells :math:`x_m` of a sample may be, given the others :math:`x_o`. Some completions :math:`x^{(1)},\dots,x^{(S)}`
are drawn from :math:`p(x_m\mid x_o)`.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import KNNImputer

from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import check_shape

#: How many completions a sample has.
COMPLETIONS = 20
# So many samples, spread evenly, are learned from, and fewer if guesses of all components would fill the memory.
_MOST_ROWS, _FEWEST_ROWS, _MOST_GUESSES = 2_000, 200, 1 << 24
# More components would be of no use. With more features than this each is taken by itself.
_MOST_COMPONENTS, _MOST_FEATURES = 50, 100
# EM starts near where it would end, and more steps make it surer than it should be.
_STEPS = 4
_NEIGHBORS = 5
# In units of a feature: what is farther counts as if it were there, so that one outlier does not tilt the mixture.
_FARTHEST = 10.0
_FLATTEST = 1e-6
_NUMBERS_AT_A_TIME = 1 << 20
# Whole numbers are exact, and can be numbers of copies, up to this sum of weights.
_MOST_COPIES = 2.0**53


class Filled(NamedTuple):
    """Complete samples with weights.

    Attributes
    ----------
    data : ndarray of shape (n_rows, n_features)
        The samples, some of them several times with different completions.
    places : ndarray of int of shape (n_rows,)
        The number of the sample that each row is a completion of, in ascending order.
    weights : ndarray of shape (n_rows,)
        The weights of the rows; those of the completions of a sample add up to its weight.
    """

    data: FloatArray
    places: IntArray
    weights: FloatArray


@dataclass(frozen=True)
class Gaps:
    """What is known about missing cells: a Gaussian mixture, in units of its own.

    Attributes
    ----------
    centre, scale : ndarray of shape (n_features,)
        The units: median, and how far most samples are from it.
    shares : ndarray of shape (n_components,)
        How much of the data each component has.
    means : ndarray of shape (n_components, n_features)
        Their centres.
    covariance : ndarray of shape (n_features, n_features) or (n_features,)
        The covariance matrix of all of them; of many features their variances only.
    noise : ndarray of shape (n_completions, n_features)
        Draws from a component around its centre.
    """

    centre: FloatArray
    scale: FloatArray
    shares: FloatArray
    means: FloatArray
    covariance: FloatArray
    noise: FloatArray

    def __post_init__(self) -> None:
        n_components, n_features = self.means.shape
        check_shape("centre", self.centre, (n_features,))
        check_shape("scale", self.scale, (n_features,))
        check_shape("shares", self.shares, (n_components,))
        check_shape("covariance", self.covariance, (n_features,) * self.covariance.ndim)
        check_shape("noise", self.noise, (len(self.noise), n_features))
        if not (n_components and n_features and len(self.noise)):
            raise ValueError(
                f"means and noise must not be empty, got shapes {self.means.shape}, {self.noise.shape}."
            )

    @classmethod
    def learn(
        cls,
        data: FloatArray,
        n_components: int,
        labels: IntArray | None = None,
        weights: FloatArray | None = None,
    ) -> "Gaps":
        """Return a mixture fitted to samples, from clusters that are known or by k-means.

        A weight that is a whole number is a number of copies. Other weights are scaled to a mean of 1, and samples
        are drawn in proportion to them, in even steps.
        """
        if n_components > _MOST_COMPONENTS:
            n_components, labels = _MOST_COMPONENTS, None
        most = max(_FEWEST_ROWS, _MOST_GUESSES // (n_components * data.shape[1]))
        ends = np.arange(len(data)) + 1.0 if weights is None else _counts_of(weights).cumsum()
        n_copies = int(ends[-1].round())
        places = np.linspace(0, n_copies - 1, min(n_copies, _MOST_ROWS, most)).round().astype(np.intp)
        places = np.searchsorted(ends, places + 0.5)
        some = np.asarray(data[places], dtype=np.float64)
        with np.errstate(over="ignore"):
            centre, scale = _units_of(some)
        rows = np.clip((some - centre) / scale, -_FARTHEST, _FARTHEST)
        filled = KNNImputer(n_neighbors=_NEIGHBORS).fit_transform(rows) if np.isnan(rows).any() else rows
        known = _k_means(filled, n_components) if labels is None else labels[places]
        shares = np.eye(max(n_components, int(known.max()) + 1))[known]
        mixture = _maximised(filled[None], shares[:, shares.any(axis=0)], 0.0)
        for _ in range(_STEPS if np.isnan(rows).any() else 0):  # or else clusters are known well enough
            mixture = _em_step(rows, mixture)
        return cls(centre, scale, *mixture, _noise(mixture[2], rows))

    def of_features(self, which: slice) -> "Gaps":
        """What is known about some of the features."""
        covariance = self.covariance[which] if self.covariance.ndim == 1 else self.covariance[which, which]
        centre, scale, noise = self.centre[which], self.scale[which], self.noise[:, which]
        return Gaps(centre, scale, self.shares, self.means[:, which], covariance, noise)

    def fill(self, data: FloatArray, draws: IntArray | None = None) -> FloatArray:
        """Return the samples with one completion of each, so that they have the spread of complete samples.

        Parameters
        ----------
        data : ndarray of shape (n_samples, n_features)
            The samples.
        draws : ndarray of int of shape (n_samples,), default=None
            The numbers of the completions, which are repeated after the last; None takes the numbers of the rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Complete samples.
        """
        filled = np.array(data)
        draws = np.arange(len(data)) if draws is None else draws
        rows = np.flatnonzero(np.isnan(data).any(axis=1))
        for block in row_blocks(len(rows), self.rows_at_a_time):
            some = rows[block]
            completed = self.completions(data[some])
            filled[some] = completed[draws[some] % len(completed), np.arange(len(some))]
        return filled

    def fill_weighted(self, data: FloatArray, weights: FloatArray) -> "Filled":
        """Return complete samples; one with gaps and a weight of 2 has 2 completions, as 2 equal samples have."""
        counts, number = _counts_of(weights), len(self.noise)
        starts = (counts.cumsum() - counts + 1e-6).astype(np.intp)  # with rounding
        copies = np.ones(len(data), dtype=np.intp)
        if counts is weights:
            several = np.isnan(data).any(axis=1) & (weights > 1)
            copies[several] = np.minimum(weights[several], number)
        places = np.repeat(np.arange(len(data)), copies)
        order = np.arange(len(places)) - np.repeat(copies.cumsum() - copies, copies)
        # Of more copies than completions, some have the same completion.
        whole, rest = np.divmod(weights, copies)
        shared = np.where(copies[places] > 1, whole[places] + (order < rest[places]), weights[places])
        return Filled(self.fill(data[places], starts[places] + order), places, shared)

    def completions(self, rows: FloatArray) -> FloatArray:
        """Samples as they may be, (n_completions, n_samples, n_features)."""
        missing = np.isnan(rows)
        inside = self._inside(rows)
        patterns, places = np.unique(missing, axis=0, return_inverse=True)
        places = places.ravel()
        conditional = Conditional.of(self.covariance, patterns)
        shares, guesses = conditional.expect(inside, places, self.shares, self.means)
        components = _systematic(shares, len(self.noise))
        left = conditional.residuals(self.noise)[:, places]
        found = guesses[components, np.arange(len(rows))] + left
        with np.errstate(over="ignore"):
            return np.where(missing, found * self.scale + self.centre, rows).astype(rows.dtype, copy=False)

    def _inside(self, rows: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.clip((rows.astype(np.float64) - self.centre) / self.scale, -_FARTHEST, _FARTHEST)

    @cached_property
    def rows_at_a_time(self) -> int:
        """How many rows may be completed at a time."""
        return max(1, _NUMBERS_AT_A_TIME // max(self.covariance.size, len(self.noise) * len(self.centre)))


def gaps_of(estimator: Any, fitted: str) -> Gaps:
    """What an estimator knows about missing cells; or else an error, with how it may have been fitted."""
    gaps: Gaps | None = estimator.__dict__.get("_gaps")
    if gaps is None:
        raise ValueError(
            f"Input X contains NaN, and this {type(estimator).__name__} does not know what samples with gaps may "
            f"look like: it was fitted {fitted}. Fit it to an array or a frame, or put an imputer such as "
            "sklearn.impute.KNNImputer before it."
        )
    return gaps


@dataclass(frozen=True)
class Conditional:
    """What is missing given what is there, for some patterns of gaps under one covariance matrix.

    Attributes
    ----------
    patterns : ndarray of bool of shape (n_patterns, n_features)
        Which features are missing.
    covariance : ndarray of shape (n_features, n_features) or (n_features,)
        The covariance matrix, or variances.
    precisions : ndarray of shape (n_patterns, n_features, n_features) or (n_patterns, n_features)
        The inverse for the features that are there, zero elsewhere.
    """

    patterns: BoolArray
    covariance: FloatArray
    precisions: FloatArray

    @classmethod
    def of(cls, covariance: FloatArray, patterns: BoolArray) -> "Conditional":
        """The conditional distributions for some patterns."""
        if covariance.ndim == 1:
            return cls(patterns, covariance, np.where(patterns, 0.0, 1 / covariance))
        there = ~patterns[:, :, None] & ~patterns[:, None, :]
        matrices = np.where(there, covariance, 0.0)
        # A missing feature is one of variance one that has nothing to do with the others.
        diagonal = np.arange(len(covariance))
        matrices[:, diagonal, diagonal] = np.where(patterns, 1.0, np.diagonal(covariance))
        return cls(patterns, covariance, np.linalg.inv(matrices) * there)

    def regress(self, differences: FloatArray, places: Any) -> FloatArray:
        """What is to be expected of the missing features, from the differences of the others."""
        if self.precisions.ndim == 2:
            return np.zeros_like(differences)
        products = np.einsum("...ij,...j->...i", self.precisions[places], differences)
        return np.asarray(products @ self.covariance)

    def expect(
        self, rows: FloatArray, places: IntArray, shares: FloatArray, means: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The probabilities of components, and rows as each of them would complete them."""
        missing = self.patterns[places]
        logs, guesses = np.empty((len(rows), len(means))), np.broadcast_to(rows, (len(means), *rows.shape))
        if missing.any():
            guesses = np.array(guesses)
        for k, mean in enumerate(means):
            apart = np.where(missing, 0.0, rows - mean)
            if self.precisions.ndim == 2:
                squares = (apart * apart * self.precisions[places]).sum(axis=1)
            else:
                squares = np.einsum("ni,nij,nj->n", apart, self.precisions[places], apart)
            logs[:, k] = np.log(shares[k]) - 0.5 * squares
            if missing.any():
                guesses[k] = np.where(missing, mean + self.regress(apart, places), rows)
        logs -= logs.max(axis=1, keepdims=True)
        found = np.exp(logs)
        return found / found.sum(axis=1, keepdims=True), guesses

    def residuals(self, noise: FloatArray) -> FloatArray:
        """Draws from a component, less what the features that are there would say: (n_draws, n_patterns, ...)."""
        known = np.where(self.patterns, 0.0, noise[:, None])
        return np.where(self.patterns, noise[:, None] - self.regress(known, slice(None)), 0.0)

    def uncertainty(self, counts: FloatArray) -> FloatArray:
        """The covariance of what is missing, added up over patterns that occur so many times."""
        if self.precisions.ndim == 2:
            return np.asarray(self.covariance * (counts @ self.patterns))
        total = np.zeros_like(self.covariance)
        for pattern, precision, count in zip(self.patterns, self.precisions, counts, strict=True):
            left = self.covariance - self.covariance @ precision @ self.covariance
            total += count * left * np.outer(pattern, pattern)
        return total


def _counts_of(weights: FloatArray) -> FloatArray:
    """Return the weights if they are numbers of copies; otherwise scale those above 0 to a mean of 1."""
    are_counts = weights.sum() <= _MOST_COPIES and (weights == weights.round()).all()
    return weights if are_counts else weights / weights[weights > 0].mean()


def _units_of(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The median of each feature, and a distance from it that nine samples of ten do not exceed."""
    centre = np.nanmedian(rows, axis=0)
    apart = np.abs(rows - centre)
    scale = np.nanquantile(apart, 0.9, axis=0)
    scale = np.where(scale > 0, scale, np.nanmax(apart, axis=0))
    return centre, np.where((scale > 0) & np.isfinite(scale), scale, 1.0)


def _k_means(rows: FloatArray, n_clusters: int) -> IntArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct samples than clusters
        found = KMeans(min(n_clusters, len(rows)), n_init=5, random_state=0).fit(rows)
    return np.asarray(found.labels_)


def _em_step(rows: FloatArray, mixture: tuple[FloatArray, FloatArray, FloatArray]) -> Any:
    """One step of EM: guesses of what is missing, and the mixture that is best for them."""
    shares, means, covariance = mixture
    patterns, places = np.unique(np.isnan(rows), axis=0, return_inverse=True)
    conditional = Conditional.of(covariance, patterns)
    posterior, guesses = conditional.expect(rows, places.ravel(), shares, means)
    return _maximised(guesses, posterior, conditional.uncertainty(np.bincount(places.ravel()).astype(np.float64)))


def _maximised(guesses: FloatArray, posterior: FloatArray, left: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shares, means and covariance for guesses by each component; the covariance is drawn towards its diagonal."""
    n_rows, n_features = guesses.shape[1:]
    counts = np.maximum(posterior.sum(axis=0), 1e-9)
    guesses = np.broadcast_to(guesses, (len(counts), n_rows, n_features))
    means = np.einsum("nk,knd->kd", posterior, guesses) / counts[:, None]
    wide = n_features > _MOST_FEATURES
    scatter = np.zeros((n_features,) if wide else (n_features, n_features)) + left
    for share, rows, mean in zip(posterior.T, guesses, means, strict=True):
        apart = rows - mean
        scatter += share @ (apart * apart) if wide else (apart * share[:, None]).T @ apart
    variances = np.maximum((scatter if wide else np.diagonal(scatter)) / n_rows, _FLATTEST)
    if wide:
        return counts / counts.sum(), means, variances
    prior = n_features + 1.0
    covariance = (scatter + prior * np.diag(variances)) / (n_rows + prior)
    np.fill_diagonal(covariance, np.maximum(np.diagonal(covariance), _FLATTEST))
    return counts / counts.sum(), means, covariance


def _noise(covariance: FloatArray, rows: FloatArray) -> FloatArray:
    """Draws around a centre whose mean is zero, and that follow the features whatever their order is."""
    drawn = np.random.default_rng(0).standard_normal((COMPLETIONS, len(covariance)))
    drawn -= drawn.mean(axis=0)
    ordered = np.empty_like(drawn)
    ordered[:, np.lexsort(np.nan_to_num(rows)[::-1])] = drawn
    if covariance.ndim == 1:
        return np.asarray(ordered * np.sqrt(covariance))
    sizes, axes = np.linalg.eigh(covariance)
    return np.asarray(ordered @ ((axes * np.sqrt(np.maximum(sizes, 0))) @ axes.T))


def _systematic(shares: FloatArray, number: int) -> IntArray:
    """So many components for each row, as often as their probabilities ask for, (number, n_rows)."""
    levels = (np.arange(number) + 0.5) / number
    above = shares.cumsum(axis=1)[None] < levels[:, None, None] - 1e-12
    return np.asarray(np.minimum(above.sum(axis=2), shares.shape[1] - 1))


__all__ = ["COMPLETIONS", "Conditional", "Filled", "Gaps", "gaps_of"]
