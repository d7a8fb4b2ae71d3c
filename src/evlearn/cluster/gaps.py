r"""Missing values as doubt: what samples with gaps may look like, and the masses that this leaves them.

A Gaussian mixture with one covariance matrix, fitted by a few steps of EM to what is there, says what the missing
cells :math:`x_m` of a sample may be, given the others :math:`x_o`. Some completions :math:`x^{(1)},\dots,x^{(S)}`
are drawn from :math:`p(x_m\mid x_o)`. With :math:`m_s` the masses of the s-th and :math:`p_s` their pignistic
probabilities, the sample gets

.. math:: m=(1-a)\,\frac1S\sum_sm_s+a\,m_\Omega,\qquad a=\frac1{S^2}\sum_{s,t}\tfrac12\|p_s-p_t\|_1 .

Belief in one cluster is linear in masses and its maximum is convex: a sample is at most as sure as its completions
are on average. Where nothing is missing all completions are the sample itself, and nothing changes.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import KNNImputer

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.partition import CredalPartition
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import check_shape

#: How many completions a sample has.
COMPLETIONS = 20
# So many samples, spread evenly, are learned from. With more features than this each is taken by itself.
_MOST_ROWS, _MOST_FEATURES = 2_000, 100
# EM starts near where it would end, and more steps make it surer than it should be.
_STEPS = 4
_NEIGHBORS = 5
# In units of a feature: what is farther counts as if it were there, so that one outlier does not tilt the mixture.
_FARTHEST = 10.0
_FLATTEST = 1e-6
_NUMBERS_AT_A_TIME = 1 << 20

Assign = Callable[[FloatArray], FloatArray]


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
    covariance : ndarray of shape (n_features, n_features)
        The covariance matrix of all of them.
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
        check_shape("covariance", self.covariance, (n_features, n_features))
        check_shape("noise", self.noise, (len(self.noise), n_features))
        if not (n_components and n_features and len(self.noise)):
            raise ValueError(
                f"means and noise must not be empty, got shapes {self.means.shape}, {self.noise.shape}."
            )

    @classmethod
    def learn(cls, data: FloatArray, n_components: int, labels: IntArray | None = None) -> "Gaps":
        """What the samples say about missing cells, from clusters that are known or by k-means."""
        places = np.linspace(0, len(data) - 1, min(len(data), _MOST_ROWS)).round().astype(np.intp)
        some = np.asarray(data[places], dtype=np.float64)
        with np.errstate(over="ignore"):
            centre, scale = _units_of(some)
        rows = np.clip((some - centre) / scale, -_FARTHEST, _FARTHEST)
        filled = KNNImputer(n_neighbors=_NEIGHBORS).fit_transform(rows) if np.isnan(rows).any() else rows
        known = _k_means(filled, n_components) if labels is None else labels[places]
        shares = np.eye(max(n_components, int(known.max()) + 1))[known]
        mixture = _maximised(filled[None], shares[:, shares.any(axis=0)], 0.0)
        for _ in range(_STEPS):
            mixture = _em_step(rows, mixture)
        return cls(centre, scale, *mixture, _noise(mixture[2], rows))

    def fill(self, data: FloatArray) -> FloatArray:
        """The samples with one completion of each: what can be learned from has the spread of complete samples."""
        filled = np.array(data)
        rows = np.flatnonzero(np.isnan(data).any(axis=1))
        for block in row_blocks(len(rows), self._rows_at_a_time):
            some = rows[block]
            completed = self.completions(data[some])
            filled[some] = completed[some % len(completed), np.arange(len(some))]
        return filled

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

    def masses(self, rows: FloatArray, assign: Assign, focal_sets: FocalSets) -> FloatArray:
        """The masses of samples, on the family with the set of all clusters, from those of complete ones."""
        family = focal_sets.with_omega()
        gaps = np.isnan(rows).any(axis=1)
        out = np.zeros((len(rows), len(family)), dtype=rows.dtype)
        if not gaps.all():
            out[~gaps] = belief.expand(assign(rows[~gaps]), focal_sets, family)
        for block in row_blocks(int(gaps.sum()), self._rows_at_a_time):
            some = np.flatnonzero(gaps)[block]
            out[some] = self._averaged(rows[some], assign, focal_sets)
        return out

    def _averaged(self, rows: FloatArray, assign: Assign, focal_sets: FocalSets) -> FloatArray:
        family = focal_sets.with_omega()
        completed = self.completions(rows)
        each = assign(np.ascontiguousarray(completed.reshape(-1, rows.shape[1])))
        chances = CredalPartition(each, focal_sets, validate=False).to_fuzzy("pignistic")
        ignorance = _disagreement(chances.reshape(len(completed), len(rows), -1))
        ignorance[np.isnan(rows).all(axis=1)] = 1
        means = each.reshape(len(completed), len(rows), -1).mean(axis=0)
        masses = belief.expand(means, focal_sets, family) * (1 - ignorance)[:, None]
        masses[:, -1] += ignorance
        return np.asarray(masses)

    def _inside(self, rows: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.clip((rows.astype(np.float64) - self.centre) / self.scale, -_FARTHEST, _FARTHEST)

    @cached_property
    def _rows_at_a_time(self) -> int:
        n_features = len(self.centre)
        wide = n_features * n_features if n_features <= _MOST_FEATURES else n_features
        return max(1, _NUMBERS_AT_A_TIME // max(wide, len(self.noise) * n_features))


@dataclass(frozen=True)
class GapModel:
    """A row model for samples with gaps, made of one for complete samples.

    Attributes
    ----------
    model : RowModel
        The model for complete samples.
    gaps : Gaps
        What is known about missing cells.
    """

    model: Any
    gaps: Gaps

    @property
    def focal_sets(self) -> FocalSets:
        """The sets that carry mass: the set of all clusters is always one of them."""
        family: FocalSets = self.model.focal_sets
        return family.with_omega()

    def assign(self, rows: Any, weights: Any = None) -> FloatArray:
        """The masses of rows."""
        return self.gaps.masses(rows, self.model.assign, self.model.focal_sets)


@dataclass(frozen=True)
class Conditional:
    """What is missing given what is there, for some patterns of gaps under one covariance matrix.

    Attributes
    ----------
    patterns : ndarray of bool of shape (n_patterns, n_features)
        Which features are missing.
    covariance : ndarray of shape (n_features, n_features)
        The covariance matrix; of many features its diagonal only.
    precisions : ndarray of shape (n_patterns, n_features, n_features) or (n_patterns, n_features)
        The inverse for the features that are there, zero elsewhere.
    """

    patterns: BoolArray
    covariance: FloatArray
    precisions: FloatArray

    @classmethod
    def of(cls, covariance: FloatArray, patterns: BoolArray) -> "Conditional":
        """The conditional distributions for some patterns."""
        variances = np.diagonal(covariance)
        if len(covariance) > _MOST_FEATURES:
            return cls(patterns, covariance, np.where(patterns, 0.0, 1 / variances))
        there = ~patterns[:, :, None] & ~patterns[:, None, :]
        matrices = np.where(there, covariance, 0.0)
        # A missing feature is one of variance one that has nothing to do with the others.
        diagonal = np.arange(len(covariance))
        matrices[:, diagonal, diagonal] = np.where(patterns, 1.0, variances)
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
        logs, guesses = np.empty((len(rows), len(means))), np.empty((len(means), *rows.shape))
        for k, mean in enumerate(means):
            apart = np.where(missing, 0.0, rows - mean)
            if self.precisions.ndim == 2:
                squares = (apart * apart * self.precisions[places]).sum(axis=1)
            else:
                squares = np.einsum("ni,nij,nj->n", apart, self.precisions[places], apart)
            logs[:, k] = np.log(shares[k]) - 0.5 * squares
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
            return np.diag(np.diagonal(self.covariance) * (counts @ self.patterns))
        total = np.zeros_like(self.covariance)
        for pattern, precision, count in zip(self.patterns, self.precisions, counts, strict=True):
            left = self.covariance - self.covariance @ precision @ self.covariance
            total += count * left * np.outer(pattern, pattern)
        return total


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
    scatter = np.zeros((n_features, n_features)) + left
    for share, rows, mean in zip(posterior.T, guesses, means, strict=True):
        apart = rows - mean
        scatter += (apart * share[:, None]).T @ apart
    variances = np.maximum(np.diagonal(scatter) / n_rows, _FLATTEST)
    prior = n_features + 1.0
    covariance = (scatter + prior * np.diag(variances)) / (n_rows + prior)
    diagonal = np.maximum(np.diagonal(covariance), _FLATTEST)
    if n_features > _MOST_FEATURES:
        covariance = np.zeros_like(covariance)
    np.fill_diagonal(covariance, diagonal)
    return counts / counts.sum(), means, covariance


def _noise(covariance: FloatArray, rows: FloatArray) -> FloatArray:
    """Draws around a centre whose mean is zero, and that follow the features whatever their order is."""
    drawn = np.random.default_rng(0).standard_normal((COMPLETIONS, len(covariance)))
    drawn -= drawn.mean(axis=0)
    ordered = np.empty_like(drawn)
    ordered[:, np.lexsort(np.nan_to_num(rows)[::-1])] = drawn
    sizes, axes = np.linalg.eigh(covariance)
    return np.asarray(ordered @ ((axes * np.sqrt(np.maximum(sizes, 0))) @ axes.T))


def _disagreement(chances: FloatArray) -> FloatArray:
    """How far the probabilities of two completions are apart on average, (n_completions, n_rows, n_clusters)."""
    number = len(chances)
    # The sum of differences of all pairs: a number counts as often as others are below, less as others are above.
    ranks = 2 * np.arange(number) - number + 1
    return np.asarray(np.einsum("s,snk->n", ranks, np.sort(chances, axis=0)) / number**2)


def _systematic(shares: FloatArray, number: int) -> IntArray:
    """So many components for each row, as often as their probabilities ask for, (number, n_rows)."""
    levels = (np.arange(number) + 0.5) / number
    above = shares.cumsum(axis=1)[None] < levels[:, None, None] - 1e-12
    return np.asarray(np.minimum(above.sum(axis=2), shares.shape[1] - 1))


__all__ = ["COMPLETIONS", "GapModel", "Gaps"]
