r"""Model of missing values: a small Gaussian mixture of the observed values, and completions drawn from it.

A Gaussian mixture with one covariance matrix is fitted to the observed values by a few steps of EM. It determines
the distribution :math:`p(x_m\mid x_o)` of the missing values :math:`x_m` of a sample, given the observed values
:math:`x_o`, from which completions :math:`x^{(1)},\dots,x^{(S)}` are drawn.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import check_shape

#: Number of completions of a sample.
COMPLETIONS = 20
# Maximum and minimum number of evenly spaced samples for the fit, and maximum number of imputed values of all
# components.
_MAX_ROWS, _MIN_ROWS, _MAX_IMPUTED = 2_000, 200, 1 << 24
# Maximum number of components, and of features with a full covariance matrix.
_MAX_COMPONENTS, _MAX_FEATURES = 50, 100
# Number of EM steps. EM starts close to convergence, and more steps make the mixture overconfident.
_STEPS = 4
_NEIGHBORS = 5
# Largest coordinate in units of a feature. Larger ones are clipped, so that one outlier does not distort the
# mixture.
_FARTHEST = 10.0
_MIN_VARIANCE = 1e-6
_MAX_NUMBERS = 1 << 20
# Largest sum of weights that can be numbers of copies, which floats represent exactly.
_MAX_COPIES = 2.0**53


class Filled(NamedTuple):
    """Complete samples with weights.

    Attributes
    ----------
    data : ndarray of shape (n_rows, n_features)
        Samples, some of them repeated with different completions.
    places : ndarray of int of shape (n_rows,)
        Index of the completed sample of each row, in ascending order.
    weights : ndarray of shape (n_rows,)
        Weights of the rows; those of the completions of a sample sum to its weight.
    """

    data: FloatArray
    places: IntArray
    weights: FloatArray


@fields.stored
@dataclass(frozen=True)
class Gaps:
    """A Gaussian mixture that models missing values, in its own units.

    Attributes
    ----------
    center, scale : ndarray of shape (n_features,)
        Units: median, and a distance from it that most samples do not exceed.
    shares : ndarray of shape (n_components,)
        Weights of the components.
    means : ndarray of shape (n_components, n_features)
        Means of the components.
    covariance : ndarray of shape (n_features, n_features) or (n_features,)
        Common covariance matrix; only the variances if there are many features.
    noise : ndarray of shape (n_completions, n_features)
        Draws from a component relative to its mean.
    """

    center: fields.Vector
    scale: fields.PositiveVector
    shares: Annotated[FloatArray, fields.array(1, low=np.finfo(float).tiny, high=fields.LARGEST_MASS)]
    means: Annotated[FloatArray, fields.array(2, low=-1e6, high=1e6)]
    covariance: Annotated[FloatArray, fields.covariance]
    noise: Annotated[FloatArray, fields.array(2, low=-1e9, high=1e9)]

    def __post_init__(self) -> None:
        n_components, n_features = self.means.shape
        check_shape("center", self.center, (n_features,))
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
        """Fit a mixture to samples, starting from given labels or from k-means.

        Integer weights are numbers of copies. Other weights are scaled to a mean of 1, and samples are selected
        systematically in proportion to them.
        """
        if n_components > _MAX_COMPONENTS:
            n_components, labels = _MAX_COMPONENTS, None
        max_rows = max(_MIN_ROWS, _MAX_IMPUTED // (n_components * data.shape[1]))
        ends = np.arange(len(data)) + 1.0 if weights is None else _counts_of(weights).cumsum()
        n_copies = int(ends[-1].round())
        places = np.linspace(0, n_copies - 1, min(n_copies, _MAX_ROWS, max_rows)).round().astype(np.intp)
        places = np.searchsorted(ends, places + 0.5)
        sample = np.asarray(data[places], dtype=np.float64)
        with np.errstate(over="ignore"):
            center, scale = _units_of(sample)
        rows = np.clip((sample - center) / scale, -_FARTHEST, _FARTHEST)
        has_gaps = bool(np.isnan(rows).any())
        filled = _impute(rows) if has_gaps else rows
        initial_labels = _k_means(filled, n_components) if labels is None else labels[places]
        shares = np.eye(max(n_components, int(initial_labels.max()) + 1))[initial_labels]
        mixture = _maximize(filled[None], shares[:, shares.any(axis=0)], 0.0)
        for _ in range(_STEPS if has_gaps else 0):  # not needed for complete data
            mixture = _em_step(rows, mixture)
        return cls(center, scale, *mixture, _noise(mixture[2], rows))

    def of_features(self, columns: slice) -> "Gaps":
        """Return the mixture of some of the features."""
        covariance = self.covariance[columns] if self.covariance.ndim == 1 else self.covariance[columns, columns]
        center, scale, noise = self.center[columns], self.scale[columns], self.noise[:, columns]
        return Gaps(center, scale, self.shares, self.means[:, columns], covariance, noise)

    def fill(self, data: FloatArray, draws: IntArray | None = None) -> FloatArray:
        """Return the samples with one completion each, which preserves the variance of the data.

        Parameters
        ----------
        data : ndarray of shape (n_samples, n_features)
            The samples.
        draws : ndarray of int of shape (n_samples,), default=None
            Indices of the completions, modulo their number; None uses the indices of the rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The complete samples.
        """
        filled = np.array(data)
        draws = np.arange(len(data)) if draws is None else draws
        rows = np.flatnonzero(np.isnan(data).any(axis=1))
        for block in row_blocks(len(rows), self.rows_at_a_time):
            block_rows = rows[block]
            completed = self.completions(data[block_rows])
            filled[block_rows] = completed[draws[block_rows] % len(completed), np.arange(len(block_rows))]
        return filled

    def fill_weighted(self, data: FloatArray, weights: FloatArray) -> "Filled":
        """Return complete samples; an incomplete one of weight 2 has 2 completions, like 2 equal samples."""
        counts, number = _counts_of(weights), len(self.noise)
        starts = (counts.cumsum() - counts + 1e-6).astype(np.intp)  # tolerance of rounding errors
        copies = np.ones(len(data), dtype=np.intp)
        if counts is weights:
            repeated = np.isnan(data).any(axis=1) & (weights > 1)
            copies[repeated] = np.minimum(weights[repeated], number)
        places = np.repeat(np.arange(len(data)), copies)
        order = np.arange(len(places)) - np.repeat(copies.cumsum() - copies, copies)
        # If there are more copies than completions, some copies share a completion.
        whole, rest = np.divmod(weights, copies)
        shared = np.where(copies[places] > 1, whole[places] + (order < rest[places]), weights[places])
        return Filled(self.fill(data[places], starts[places] + order), places, shared)

    def completions(self, rows: FloatArray) -> FloatArray:
        """Return completions of samples, (n_completions, n_samples, n_features)."""
        missing = np.isnan(rows)
        coordinates = self._to_units(rows)
        patterns, pattern_of = np.unique(missing, axis=0, return_inverse=True)
        pattern_of = pattern_of.ravel()
        conditional = Conditional.of(self.covariance, patterns)
        shares, imputed = conditional.expect(coordinates, pattern_of, self.shares, self.means)
        components = _systematic(shares, len(self.noise))
        residuals = conditional.residuals(self.noise)[:, pattern_of]
        completed = imputed[components, np.arange(len(rows))] + residuals
        with np.errstate(over="ignore"):
            return np.where(missing, completed * self.scale + self.center, rows).astype(rows.dtype, copy=False)

    def _to_units(self, rows: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.clip((rows.astype(np.float64) - self.center) / self.scale, -_FARTHEST, _FARTHEST)

    @cached_property
    def rows_at_a_time(self) -> int:
        """Maximum number of rows per block."""
        return max(1, _MAX_NUMBERS // max(self.covariance.size, len(self.noise) * len(self.center)))


def gaps_of(estimator: Any, fitted: str) -> Gaps:
    """Return the model of missing values of an estimator; raise if there is none, for the reason `fitted`."""
    gaps: Gaps | None = estimator.__dict__.get("_gaps")
    if gaps is None:
        raise ValueError(
            f"Input X contains NaN, and this {type(estimator).__name__} has no model of missing "
            f"values: it was fitted {fitted}. Fit it to an array or a frame, or put an imputer such as "
            "sklearn.impute.KNNImputer before it."
        )
    return gaps


@dataclass(frozen=True)
class Conditional:
    """Conditional distributions of missing values given observed ones, for patterns of missing values.

    Attributes
    ----------
    patterns : ndarray of bool of shape (n_patterns, n_features)
        True where features are missing.
    covariance : ndarray of shape (n_features, n_features) or (n_features,)
        Covariance matrix, or variances.
    precisions : ndarray of shape (n_patterns, n_features, n_features) or (n_patterns, n_features)
        Inverse covariance of the observed features, 0 elsewhere.
    """

    patterns: BoolArray
    covariance: FloatArray
    precisions: FloatArray

    @classmethod
    def of(cls, covariance: FloatArray, patterns: BoolArray) -> "Conditional":
        """Compute the conditional distributions for some patterns."""
        if covariance.ndim == 1:
            return cls(patterns, covariance, np.where(patterns, 0.0, 1 / covariance))
        is_observed = ~patterns[:, :, None] & ~patterns[:, None, :]
        matrices = np.where(is_observed, covariance, 0.0)
        # Treat a missing feature as an independent one of variance 1.
        diagonal = np.arange(len(covariance))
        matrices[:, diagonal, diagonal] = np.where(patterns, 1.0, np.diagonal(covariance))
        return cls(patterns, covariance, np.linalg.inv(matrices) * is_observed)

    def regress(self, differences: FloatArray, places: Any) -> FloatArray:
        """Return the expected values of the missing features, from the differences of the others."""
        if self.precisions.ndim == 2:
            return np.zeros_like(differences)
        products = np.einsum("...ij,...j->...i", self.precisions[places], differences)
        return np.asarray(products @ self.covariance)

    def expect(
        self, rows: FloatArray, places: IntArray, shares: FloatArray, means: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities of components, and the rows as completed by each component."""
        missing = self.patterns[places]
        logs, imputed = np.empty((len(rows), len(means))), np.broadcast_to(rows, (len(means), *rows.shape))
        if missing.any():
            imputed = np.array(imputed)
        for k, mean in enumerate(means):
            differences = np.where(missing, 0.0, rows - mean)
            if self.precisions.ndim == 2:
                squares = (differences * differences * self.precisions[places]).sum(axis=1)
            else:
                squares = np.einsum("ni,nij,nj->n", differences, self.precisions[places], differences)
            logs[:, k] = np.log(shares[k]) - 0.5 * squares
            if missing.any():
                imputed[k] = np.where(missing, mean + self.regress(differences, places), rows)
        logs -= logs.max(axis=1, keepdims=True)
        weights = np.exp(logs)
        return weights / weights.sum(axis=1, keepdims=True), imputed

    def residuals(self, noise: FloatArray) -> FloatArray:
        """Return draws minus their conditional mean given the observed features, (n_draws, n_patterns, ...)."""
        observed = np.where(self.patterns, 0.0, noise[:, None])
        return np.where(self.patterns, noise[:, None] - self.regress(observed, slice(None)), 0.0)

    def uncertainty(self, counts: FloatArray) -> FloatArray:
        """Return the conditional covariance of missing values, summed over patterns with counts."""
        if self.precisions.ndim == 2:
            return np.asarray(self.covariance * (counts @ self.patterns))
        total = np.zeros_like(self.covariance)
        for pattern, precision, count in zip(self.patterns, self.precisions, counts, strict=True):
            conditional = self.covariance - self.covariance @ precision @ self.covariance
            total += count * conditional * np.outer(pattern, pattern)
        return total


def _counts_of(weights: FloatArray) -> FloatArray:
    """Return the weights if they are numbers of copies; otherwise scale those above 0 to a mean of 1."""
    are_counts = weights.sum() <= _MAX_COPIES and (weights == weights.round()).all()
    return weights if are_counts else weights / weights[weights > 0].mean()


def _units_of(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the median of each feature, and the 90 % quantile of distances from it."""
    is_complete = not np.isnan(rows).any()  # then the functions for missing values would take longer
    center = np.median(rows, axis=0) if is_complete else np.nanmedian(rows, axis=0)
    distances = np.abs(rows - center)
    quantile = np.quantile if is_complete else np.nanquantile
    scale = quantile(distances, 0.9, axis=0)
    scale = np.where(scale > 0, scale, np.nanmax(distances, axis=0))
    return center, np.where((scale > 0) & np.isfinite(scale), scale, 1.0)


def _impute(rows: FloatArray) -> FloatArray:
    """Replace missing values by the means of neighbors."""
    from sklearn.impute import KNNImputer  # only for missing values

    return np.asarray(KNNImputer(n_neighbors=_NEIGHBORS).fit_transform(rows))


def _k_means(rows: FloatArray, n_clusters: int) -> IntArray:
    from sklearn.cluster import KMeans  # slow to import, and most fits do not need it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct samples than clusters
        model = KMeans(min(n_clusters, len(rows)), n_init=5, random_state=0).fit(rows)
    return np.asarray(model.labels_)


def _em_step(rows: FloatArray, mixture: tuple[FloatArray, FloatArray, FloatArray]) -> Any:
    """Run one step of EM: impute missing values, and maximize the likelihood."""
    shares, means, covariance = mixture
    patterns, places = np.unique(np.isnan(rows), axis=0, return_inverse=True)
    conditional = Conditional.of(covariance, patterns)
    posterior, imputed = conditional.expect(rows, places.ravel(), shares, means)
    return _maximize(imputed, posterior, conditional.uncertainty(np.bincount(places.ravel()).astype(np.float64)))


def _maximize(
    imputed: FloatArray, posterior: FloatArray, uncertainty: Any
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return shares, means and covariance for imputed values; the covariance is shrunk towards its diagonal."""
    n_rows, n_features = imputed.shape[1:]
    counts = np.maximum(posterior.sum(axis=0), 1e-9)
    imputed = np.broadcast_to(imputed, (len(counts), n_rows, n_features))
    means = np.einsum("nk,knd->kd", posterior, imputed) / counts[:, None]
    is_diagonal = n_features > _MAX_FEATURES
    scatter = np.zeros((n_features,) if is_diagonal else (n_features, n_features)) + uncertainty
    for share, rows, mean in zip(posterior.T, imputed, means, strict=True):
        differences = rows - mean
        scatter += (
            share @ (differences * differences) if is_diagonal else (differences * share[:, None]).T @ differences
        )
    variances = np.maximum((scatter if is_diagonal else np.diagonal(scatter)) / n_rows, _MIN_VARIANCE)
    if is_diagonal:
        return counts / counts.sum(), means, variances
    prior = n_features + 1.0
    covariance = (scatter + prior * np.diag(variances)) / (n_rows + prior)
    np.fill_diagonal(covariance, np.maximum(np.diagonal(covariance), _MIN_VARIANCE))
    return counts / counts.sum(), means, covariance


def _noise(covariance: FloatArray, rows: FloatArray) -> FloatArray:
    """Return draws with mean 0, which do not depend on the order of features."""
    draws = np.random.default_rng(0).standard_normal((COMPLETIONS, len(covariance)))
    draws -= draws.mean(axis=0)
    ordered, keys = np.empty_like(draws), np.nan_to_num(rows)
    if len(np.unique(keys[0])) == len(keys[0]):  # usually, and sorting by all rows takes much longer
        keys = keys[:1]
    ordered[:, np.lexsort(keys[::-1])] = draws
    if covariance.ndim == 1:
        return np.asarray(ordered * np.sqrt(covariance))
    sizes, axes = np.linalg.eigh(covariance)
    return np.asarray(ordered @ ((axes * np.sqrt(np.maximum(sizes, 0))) @ axes.T))


def _systematic(shares: FloatArray, number: int) -> IntArray:
    """Select components of each row by systematic sampling from their probabilities, (number, n_rows)."""
    levels = (np.arange(number) + 0.5) / number
    above = shares.cumsum(axis=1)[None] < levels[:, None, None] - 1e-12
    return np.asarray(np.minimum(above.sum(axis=2), shares.shape[1] - 1))
