"""Columns of the user's table, with statistics of each cluster and sentences about them.

`Numbers` is for numbers and dates, `Categories` for text and flags. Both have the same methods: differences of a
cluster, evidence of a value for each cluster, unusual values, and text.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from evlearn.utils.formatting import format_date, format_rounded, format_share, one_line, power_of_ten, resolution
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

_MAX_RANK_DIFFERENCE = 0.2  # of the medians of a cluster and of all samples, to report a range
_DECILE_RANGE = 2.563  # standard deviations between the 10th and the 90th percentile of a Gaussian
_MAX_DEVIATIONS = 3.0  # larger deviations count as this one
_SHARE_OFFSET = 0.01  # added to shares before taking logarithms
_MAX_NUMBER = 1e100  # clips larger numbers, whose differences overflow
_DAY = 86400.0
_MAX_COUNTS = 10  # distinct values; their range is not informative
_STEPS = 20  # rounding steps of typical values within the spread
_YES = {"yes", "y", "true", "1"}
#: Minimum difference between the shares of a cluster and of all other samples that is reported.
MIN_EFFECT = 0.1
_CRITICAL_VALUE = 1.63  # of the Kolmogorov-Smirnov test at the 1 % level
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Difference:
    """A difference between a cluster and all samples in one feature.

    Attributes
    ----------
    feature : str
        Name of the column.
    kind : str
        Type of the difference: "number", "date", "category", or "gap" (share of missing values).
    value : str
        Typical value of the cluster, in the units of the column.
    overall : str
        Typical value of all samples.
    effect : float
        Effect size from 0 to 1. For numbers and dates, the Kolmogorov-Smirnov distance between the cluster and all
        other samples; for categories and missing values, the difference of the shares.
    text : str
        The difference as a sentence.
    """

    feature: str
    kind: str
    value: str
    overall: str
    effect: float
    text: str

    def __str__(self) -> str:
        return self.text


class Column(ABC):
    """A column with statistics of each cluster."""

    kind: str

    def __init__(self, name: str, missing: BoolArray, weights: FloatArray) -> None:
        self.name = name
        self.missing = missing
        self._sizes = _present(weights, missing).mean(axis=0)
        self._missing_shares = _shares(missing, weights)
        self._missing_effects = differences_from_others(
            self._missing_shares[:-1] - self._missing_shares[-1], weights.mean(axis=0)
        )

    def differences(self, cluster: int) -> list[Difference]:
        """Return the differences of a cluster: in its values, and in its share of missing values."""
        differences = self._difference(cluster)
        share, overall = format_share(self._missing_shares[cluster]), format_share(self._missing_shares[-1])
        if share != overall:
            text = f"{self.name}: {share} missing (all: {overall})"
            effect = abs(float(self._missing_effects[cluster]))
            differences.append(
                Difference(self.name, "gap", f"{share} missing", f"{overall} missing", effect, text)
            )
        return differences

    def compare_with_clusters(self, row: int, clusters: IntArray, names: Sequence[str]) -> str:
        """Describe the value of a sample, and the typical values of some clusters."""
        return f"{self.name} is {self.text(row)} ({self._describe_clusters(row, clusters, names)})"

    def compare_with_all(self, row: int) -> str:
        """Describe the value of a sample, and the usual values of all samples."""
        return f"{self.name} is {self.text(row)} ({self._describe_all(row)})"

    @abstractmethod
    def text(self, row: int) -> str:
        """Return the value of a sample as text."""

    @abstractmethod
    def typical(self, cluster: int) -> str:
        """Return the typical value of a cluster or, for -1, of all samples."""

    @abstractmethod
    def scores(self, rows: IntArray) -> FloatArray:
        """Return log-likelihoods of values for each cluster; 0 where they are missing."""

    @abstractmethod
    def unusual(self, rows: IntArray) -> FloatArray:
        """Return the distances of values from all clusters, in standard deviations."""

    @abstractmethod
    def numbers(self) -> FloatArray:
        """Return the column as one or several columns of numbers of similar scale."""

    @abstractmethod
    def _difference(self, cluster: int) -> list[Difference]: ...

    @abstractmethod
    def _describe_clusters(self, row: int, clusters: IntArray, names: Sequence[str]) -> str: ...

    @abstractmethod
    def _describe_all(self, row: int) -> str: ...


class Numbers(Column):
    """A column of numbers, or of dates as seconds since 1970."""

    def __init__(self, name: str, values: FloatArray, weights: FloatArray, *, kind: str = "number") -> None:
        values = np.clip(values, -_MAX_NUMBER, _MAX_NUMBER)
        missing = np.isnan(values)
        super().__init__(name, missing, weights)
        self.kind = kind
        self.values = values
        present, present_weights = _present(values, missing), _present(weights, missing)
        ranked = RankedValues.of(present, present_weights)
        self.low, self.median, self.high = (ranked.quantile(share) for share in (0.1, 0.5, 0.9))
        self.mean = _means(present, present_weights)
        self._effects = ranked.largest_differences(self._sizes)
        left, right = (np.searchsorted(ranked.values, self.median, side=side) for side in ("left", "right"))
        self._rank = (left + right) / (2 * len(present))
        self._counts = len(np.unique(present)) <= _MAX_COUNTS
        self._spread = self._spreads(present)
        self._texts = _writers(present, kind, self.high[-1] - self.low[-1])

    def text(self, row: int) -> str:
        """Return the value of a sample as text."""
        return "missing" if self.missing[row] else self._texts[1](float(self.values[row]))

    def typical(self, cluster: int) -> str:
        """Return the median as text."""
        return "" if np.isnan(self.median[cluster]) else self._texts[0](float(self.median[cluster]))

    def scores(self, rows: IntArray) -> FloatArray:
        """Return negative squared distances to the median of each cluster, halved."""
        distances = np.abs(self._standard(rows, self.median[:-1]))
        return np.where(self.missing[rows, None], 0, -(np.minimum(distances, _MAX_DEVIATIONS) ** 2) / 2)

    def unusual(self, rows: IntArray) -> FloatArray:
        """Return the distance to the nearest median."""
        distances = np.abs(self._standard(rows, self.median)).min(axis=1)
        return np.where(self.missing[rows], 0, distances)

    def numbers(self) -> FloatArray:
        """Return standardized values as one column, clipped to 3 standard deviations."""
        rows = np.arange(len(self.values))
        standardized = np.where(self.missing[:, None], 0, self._standard(rows, self.median[-1:]))
        return np.clip(standardized, -_MAX_DEVIATIONS, _MAX_DEVIATIONS)

    def _standard(self, rows: IntArray, centers: FloatArray) -> FloatArray:
        values = np.where(self.missing[rows], 0, self.values[rows])
        with np.errstate(over="ignore", invalid="ignore"):
            standardized = values[:, None] / self._spread - centers / self._spread
        return np.where(np.isfinite(standardized), standardized, np.inf)

    def _spreads(self, present: FloatArray) -> float:
        """Return the pooled spread within clusters, or that of all samples if clusters hardly vary."""
        spreads = (self.high - self.low)[:-1] / _DECILE_RANGE
        is_valid = np.isfinite(spreads) & (self._sizes > 0)
        pooled = float(np.average(spreads[is_valid], weights=self._sizes[is_valid])) if is_valid.any() else 0.0
        overall = float((self.high - self.low)[-1]) / _DECILE_RANGE
        for spread in (pooled, overall / 10, float(present.std())):
            if 0 < spread < np.inf:
                return spread
        return 1.0

    def _difference(self, cluster: int) -> list[Difference]:
        if np.isnan(self.median[cluster]):
            return []
        median = [self._texts[0](float(self.median[k])) for k in (cluster, -1)]
        means = [f"{self._texts[2](float(self.mean[k]))} on average" for k in (cluster, -1)]
        ranges = [_range(self._texts[0], self.low[k], self.high[k]) for k in (cluster, -1)]
        forms = [("typically ", median), ("", means), ("mostly ", ranges)]
        if abs(self._rank[cluster] - 0.5) < _MAX_RANK_DIFFERENCE and not self._counts:
            forms.reverse()
        # Use the first form in which the rounded values differ.
        for prefix, (value, overall) in forms:
            if value != overall:
                shown_overall = overall.removesuffix(" on average")
                text = f"{self.name}: {prefix}{value} (all: {shown_overall})"
                return [
                    Difference(self.name, self.kind, value, shown_overall, float(self._effects[cluster]), text)
                ]
        return []

    def _describe_clusters(self, row: int, clusters: IntArray, names: Sequence[str]) -> str:
        parts = [f"{self.typical(k)} in {name}" for k, name in zip(clusters, names, strict=True)]
        return f"typical: {', '.join(parts)}"

    def _describe_all(self, row: int) -> str:
        return f"all: mostly {_range(self._texts[0], self.low[-1], self.high[-1])}"


class Categories(Column):
    """A column of categories or flags."""

    kind = "category"

    def __init__(self, name: str, codes: IntArray, words: Sequence[str], weights: FloatArray) -> None:
        super().__init__(name, codes < 0, weights)
        self.codes = codes
        self.words = [one_line(word) or "(empty)" for word in words]
        sums = np.zeros((len(words), weights.shape[1] + 1))
        np.add.at(sums, codes[~self.missing], append_all_samples(weights[~self.missing]))
        total = sums.sum(axis=0)
        self.shares = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
        self._effects = differences_from_others(self.shares[:, :-1] - self.shares[:, -1:], self._sizes)
        yes = [k for k, word in enumerate(self.words) if word.lower() in _YES]
        self._yes_code = yes[0] if len(words) == 2 and len(yes) == 1 else None

    def text(self, row: int) -> str:
        """Return the category of a sample."""
        return "missing" if self.missing[row] else self.words[self.codes[row]]

    def typical(self, cluster: int) -> str:
        """Return the most frequent category and its share; for flags, the share of yes."""
        shares = self.shares[:, cluster]
        if not shares.any():
            return ""
        code = int(shares.argmax()) if self._yes_code is None else self._yes_code
        return f"{format_share(float(shares[code]))} {self.words[code]}"

    def scores(self, rows: IntArray) -> FloatArray:
        """Return logarithms of the share of the category in each cluster."""
        logarithms = np.log(self.shares[self.codes[rows], :-1] + _SHARE_OFFSET)
        return np.where(self.missing[rows, None], 0, logarithms)

    def unusual(self, rows: IntArray) -> FloatArray:
        """Return the rarity of the category as equivalent standard deviations of a Gaussian."""
        deviations = np.sqrt(-2 * np.log(np.clip(self.shares[self.codes[rows], -1], 1e-6, 1)))
        return np.where(self.missing[rows], 0, deviations)

    def numbers(self) -> FloatArray:
        """Return indicators of the 20 most frequent categories."""
        frequent = np.argsort(-self.shares[:, -1], kind="stable")[:20]
        return np.asarray(self.codes[:, None] == frequent, dtype=np.float64)

    def _difference(self, cluster: int) -> list[Difference]:
        effects = self._effects[:, cluster]
        if not self.shares[:, cluster].any():
            return []
        # Of equal effects, report the category that is more frequent in the cluster.
        code = int((np.abs(effects) + 1e-9 * effects).argmax()) if self._yes_code is None else self._yes_code
        share, overall = (format_share(float(self.shares[code, k])) for k in (cluster, -1))
        if share == overall:
            return []
        word = self.words[code]
        text = f"{self.name}: {share} {word} (all: {overall})"
        effect = abs(float(effects[code]))
        return [Difference(self.name, self.kind, f"{share} {word}", f"{overall} {word}", effect, text)]

    def _describe_clusters(self, row: int, clusters: IntArray, names: Sequence[str]) -> str:
        shares = self.shares[self.codes[row]]
        parts = [f"{format_share(float(shares[k]))} of {name}" for k, name in zip(clusters, names, strict=True)]
        return ", ".join(parts)

    def _describe_all(self, row: int) -> str:
        return f"{format_share(float(self.shares[self.codes[row], -1]))} of all"


def _present(values: FloatArray, missing: BoolArray) -> FloatArray:
    """Return the rows that are not missing, without a copy if none is missing."""
    return values[~missing] if missing.any() else values


def _shares(flags: BoolArray, weights: FloatArray) -> FloatArray:
    """Return the weighted share of `flags` in each cluster and in all samples."""
    total = weights.sum(axis=0)
    shares = np.divide(weights[flags].sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
    return np.append(shares, flags.mean())


def _means(values: FloatArray, weights: FloatArray) -> FloatArray:
    all_weights = append_all_samples(weights)
    total = all_weights.sum(axis=0)
    return np.asarray(np.divide(values @ all_weights, total, out=np.full_like(total, np.nan), where=total > 0))


def _range(write: Callable[[float], str], low: float, high: float) -> str:
    first, last = write(float(low)), write(float(high))
    return first if first == last else f"{first} to {last}"


def _writers(values: FloatArray, kind: str, spread: float) -> tuple[Callable[[float], str], ...]:
    """Return functions that format typical values, values of samples, and means."""
    if kind == "date":
        width = float(values.max() - values.min())
        exact = partial(format_date, unit="minute" if width < 10 * _DAY else "day")
        typical = partial(format_date, unit="month") if spread > 1000 * _DAY else exact
        return typical, exact, typical
    precision = resolution(values)
    extent = spread if 0 < spread < np.inf else float(np.abs(values).max())
    step = max(precision, power_of_ten(extent / _STEPS))
    years = precision == 1 and bool(1800 <= values.min() <= values.max() <= 2200)
    separator = "" if years else ","

    def writer(step: float) -> Callable[[float], str]:
        return lambda value: format_rounded(value, step, separator=separator)

    return writer(step), writer(precision or step / 10), writer(step / 10)


@dataclass(frozen=True)
class RankedValues:
    """Values in ascending order, with the shares of each cluster and of all samples at or below each value.

    Attributes
    ----------
    values : ndarray of shape (n_present,)
        Values that are not missing, sorted.
    below : ndarray of shape (n_present, n_clusters + 1)
        Shares of the clusters and, in the last column, of all samples. Zero for clusters without values.
    """

    values: FloatArray
    below: FloatArray

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray) -> "RankedValues":
        """Sort values; `weights` has a column for each cluster."""
        order = np.argsort(values, kind="stable")
        sums = np.cumsum(append_all_samples(weights[order]), axis=0)
        return cls(values[order], np.divide(sums, sums[-1], out=np.zeros_like(sums), where=sums[-1] > 0))

    def quantile(self, share: float) -> FloatArray:
        """Return a quantile of each cluster and of all samples; ties between 2 values give their midpoint."""
        quantiles = np.empty(self.below.shape[1])
        for k, column in enumerate(self.below.T):
            last = len(column) - 1
            low = min(int(np.searchsorted(column, share - _ROUNDING)), last)
            high = min(int(np.searchsorted(column, share + _ROUNDING, side="right")), last)
            # Halves are added, because the sum of both values may overflow.
            quantiles[k] = self.values[low] / 2 + self.values[high] / 2 if column[-1] > 0 else np.nan
        return quantiles

    def largest_differences(self, sizes: FloatArray) -> FloatArray:
        """Return the Kolmogorov-Smirnov distance between each cluster and all other samples."""
        ends = np.append(self.values[1:] != self.values[:-1], True)
        return largest_difference(self.below[ends], sizes)


def append_all_samples(weights: FloatArray) -> FloatArray:
    """Append a column in which each sample has weight 1."""
    return np.column_stack([weights, np.ones(len(weights))])


def largest_difference(shares: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the largest difference between the shares of each cluster and of all other samples.

    Let p be the share of a property in the cluster, q its share in all samples, and s the size of the cluster as a
    share of all samples. The share in the other samples is (q - s p) / (1 - s). The difference is
    (p - q) / (1 - s).
    """
    distances = np.abs(shares[:, :-1] - shares[:, -1:]).max(axis=0, initial=0)
    return differences_from_others(distances, sizes)


def differences_from_others(differences: FloatArray, sizes: FloatArray) -> FloatArray:
    """Convert differences from all samples to differences from all other samples."""
    others = 1 - sizes
    is_partial = (others > _ROUNDING) & (sizes > _ROUNDING)
    return np.where(is_partial, np.clip(differences / np.where(is_partial, others, 1), -1, 1), 0)


def minimum_effects(weights: FloatArray) -> FloatArray:
    """Return the minimum effect to report for each cluster; it is larger for small clusters."""
    squares = (weights**2).sum(axis=0)
    n_inside = np.divide(weights.sum(axis=0) ** 2, squares, out=np.zeros_like(squares), where=squares > 0)
    rest = 1 - weights
    n_outside = rest.sum(axis=0) ** 2 / np.maximum((rest**2).sum(axis=0), _ROUNDING)
    noise = np.sqrt(1 / np.maximum(n_inside, _ROUNDING) + 1 / np.maximum(n_outside, _ROUNDING))
    return np.asarray(np.maximum(MIN_EFFECT, _CRITICAL_VALUE * noise))
