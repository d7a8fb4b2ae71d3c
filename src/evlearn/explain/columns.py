"""Columns of a table as people know them: what clusters, and single samples, have in them that others have not.

Numbers and dates are one kind of column; whatever is one of some words is the other. Both say the same things:
what is different about a cluster, which cluster a value speaks for, how unusual it is, and all that in words.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from evlearn.explain import plain
from evlearn.explain.weighted import Ranked, against_others, with_all
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

_MIDDLE = 0.2  # how near to the median of all that of a cluster is, if a range says more than a typical value
_IN_DEVIATIONS = 2.563  # from the 10th to the 90th percentile of a Gaussian
_FARTHEST = 3.0  # deviations; what is farther speaks no more against a cluster
_RARE = 0.01  # what a share is raised by before logarithms are taken
_LARGEST = 1e100  # nobody tells numbers apart that are larger, and their differences overflow
_DAY = 86400.0
_FEW = 10  # different values; a range of them says little
_STEPS = 20  # in which typical values are told apart
_YES = {"yes", "y", "true", "1"}


@dataclass(frozen=True)
class Difference:
    """What sets a cluster apart in one feature.

    Attributes
    ----------
    feature : str
        The name of the column.
    kind : str
        What is different: a "number", a "date", a "category", or a "gap" (how many values are missing).
    value : str
        What is typical of the cluster, in the units of the column.
    overall : str
        The same of all samples.
    effect : float
        How different the cluster is from all others, from 0 to 1: the largest difference between the share of the
        cluster and the share of the others with a value up to some border, with a category, or with a gap.
    text : str
        All that as a sentence.
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
    """A column, with what clusters have in it."""

    kind: str

    def __init__(self, name: str, missing: BoolArray, weights: FloatArray) -> None:
        self.name = name
        self.missing = missing
        self._sizes = _present(weights, missing).mean(axis=0)
        self._gaps = _shares(missing, weights)
        self._gap_effects = against_others(self._gaps[:-1] - self._gaps[-1], weights.mean(axis=0))

    def differences(self, cluster: int) -> list[Difference]:
        """What is different about a cluster: its values, and its gaps."""
        found = self._difference(cluster)
        gap, overall = plain.percent(self._gaps[cluster]), plain.percent(self._gaps[-1])
        if gap != overall:
            text = f"{self.name}: {gap} missing (all: {overall})"
            effect = abs(float(self._gap_effects[cluster]))
            found.append(Difference(self.name, "gap", f"{gap} missing", f"{overall} missing", effect, text))
        return found

    def told_with(self, row: int, clusters: IntArray, names: Sequence[str]) -> str:
        """The value of a sample beside what some clusters have."""
        return f"{self.name} is {self.text(row)} ({self._of_clusters(row, clusters, names)})"

    def told_unusual(self, row: int) -> str:
        """The value of a sample beside what all have."""
        return f"{self.name} is {self.text(row)} ({self._of_all(row)})"

    @abstractmethod
    def text(self, row: int) -> str:
        """The value of a sample."""

    @abstractmethod
    def typical(self, cluster: int) -> str:
        """What is typical of a cluster or, for -1, of all."""

    @abstractmethod
    def scores(self, rows: IntArray) -> FloatArray:
        """How much values speak for each cluster, as logarithms of likelihoods; nothing where they are missing."""

    @abstractmethod
    def unusual(self, rows: IntArray) -> FloatArray:
        """How far values are from all clusters, in standard deviations or what is as rare."""

    @abstractmethod
    def numbers(self) -> FloatArray:
        """The column as numbers of about the same size, in one column or several."""

    @abstractmethod
    def _difference(self, cluster: int) -> list[Difference]: ...

    @abstractmethod
    def _of_clusters(self, row: int, clusters: IntArray, names: Sequence[str]) -> str: ...

    @abstractmethod
    def _of_all(self, row: int) -> str: ...


class Numbers(Column):
    """A column of numbers, or of dates as seconds since 1970."""

    def __init__(self, name: str, values: FloatArray, weights: FloatArray, *, kind: str = "number") -> None:
        values = np.clip(values, -_LARGEST, _LARGEST)
        missing = np.isnan(values)
        super().__init__(name, missing, weights)
        self.kind = kind
        self.values = values
        present, own = _present(values, missing), _present(weights, missing)
        ranked = Ranked.of(present, own)
        self.low, self.median, self.high = (ranked.quantile(share) for share in (0.1, 0.5, 0.9))
        self.mean = _means(present, own)
        self._effects = ranked.gaps(self._sizes)
        below, up_to = (np.searchsorted(ranked.values, self.median, side=side) for side in ("left", "right"))
        self._rank = (below + up_to) / (2 * len(present))
        self._counts = len(np.unique(present)) <= _FEW
        self._spread = self._spreads(present)
        self._texts = _writers(present, kind, self.high[-1] - self.low[-1])

    def text(self, row: int) -> str:
        """The value of a sample."""
        return "missing" if self.missing[row] else self._texts[1](float(self.values[row]))

    def typical(self, cluster: int) -> str:
        """The median."""
        return "" if np.isnan(self.median[cluster]) else self._texts[0](float(self.median[cluster]))

    def scores(self, rows: IntArray) -> FloatArray:
        """How near values are to the median of each cluster."""
        far = np.abs(self._standard(rows, self.median[:-1]))
        return np.where(self.missing[rows, None], 0, -(np.minimum(far, _FARTHEST) ** 2) / 2)

    def unusual(self, rows: IntArray) -> FloatArray:
        """The distance to the nearest median."""
        far = np.abs(self._standard(rows, self.median)).min(axis=1)
        return np.where(self.missing[rows], 0, far)

    def numbers(self) -> FloatArray:
        """The values in standard deviations from the median, as one column; no farther than three."""
        rows = np.arange(len(self.values))
        far = np.where(self.missing[:, None], 0, self._standard(rows, self.median[-1:]))
        return np.clip(far, -_FARTHEST, _FARTHEST)

    def _standard(self, rows: IntArray, centres: FloatArray) -> FloatArray:
        known = np.where(self.missing[rows], 0, self.values[rows])
        with np.errstate(over="ignore", invalid="ignore"):
            far = known[:, None] / self._spread - centres / self._spread
        return np.where(np.isfinite(far), far, np.inf)

    def _spreads(self, present: FloatArray) -> float:
        """The standard deviation within clusters, or of all where values hardly differ within clusters."""
        within = (self.high - self.low)[:-1] / _IN_DEVIATIONS
        told = np.isfinite(within) & (self._sizes > 0)
        pooled = float(np.average(within[told], weights=self._sizes[told])) if told.any() else 0.0
        overall = float((self.high - self.low)[-1]) / _IN_DEVIATIONS
        for spread in (pooled, overall / 10, float(present.std())):
            if 0 < spread < np.inf:
                return spread
        return 1.0

    def _difference(self, cluster: int) -> list[Difference]:
        if np.isnan(self.median[cluster]):
            return []
        median = [self._texts[0](float(self.median[k])) for k in (cluster, -1)]
        finer = [f"{self._texts[2](float(self.mean[k]))} on average" for k in (cluster, -1)]
        across = [_range(self._texts[0], self.low[k], self.high[k]) for k in (cluster, -1)]
        forms = [("typically ", median), ("", finer), ("mostly ", across)]
        if abs(self._rank[cluster] - 0.5) < _MIDDLE and not self._counts:
            forms.reverse()
        # The first form in which the reader sees a difference.
        for word, (own, overall) in forms:
            if own != overall:
                short = overall.removesuffix(" on average")
                text = f"{self.name}: {word}{own} (all: {short})"
                return [Difference(self.name, self.kind, own, short, float(self._effects[cluster]), text)]
        return []

    def _of_clusters(self, row: int, clusters: IntArray, names: Sequence[str]) -> str:
        parts = [f"{self.typical(k)} in {name}" for k, name in zip(clusters, names, strict=True)]
        return f"typical: {', '.join(parts)}"

    def _of_all(self, row: int) -> str:
        return f"all: mostly {_range(self._texts[0], self.low[-1], self.high[-1])}"


class Categories(Column):
    """A column of words, or of yes and no."""

    kind = "category"

    def __init__(self, name: str, codes: IntArray, words: Sequence[str], weights: FloatArray) -> None:
        super().__init__(name, codes < 0, weights)
        self.codes = codes
        self.words = [plain.one_line(word) or "(empty)" for word in words]
        sums = np.zeros((len(words), weights.shape[1] + 1))
        np.add.at(sums, codes[~self.missing], with_all(weights[~self.missing]))
        total = sums.sum(axis=0)
        self.shares = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
        self._effects = against_others(self.shares[:, :-1] - self.shares[:, -1:], self._sizes)
        yes = [k for k, word in enumerate(self.words) if word.lower() in _YES]
        self._told = yes[0] if len(words) == 2 and len(yes) == 1 else None

    def text(self, row: int) -> str:
        """The category of a sample."""
        return "missing" if self.missing[row] else self.words[self.codes[row]]

    def typical(self, cluster: int) -> str:
        """The most frequent category, with its share; of yes and no, how many say yes."""
        shares = self.shares[:, cluster]
        if not shares.any():
            return ""
        code = int(shares.argmax()) if self._told is None else self._told
        return f"{plain.percent(float(shares[code]))} {self.words[code]}"

    def scores(self, rows: IntArray) -> FloatArray:
        """How frequent the category is in each cluster."""
        known = np.log(self.shares[self.codes[rows], :-1] + _RARE)
        return np.where(self.missing[rows, None], 0, known)

    def unusual(self, rows: IntArray) -> FloatArray:
        """How rare the category is, in deviations of a Gaussian that are as rare."""
        rare = np.sqrt(-2 * np.log(np.clip(self.shares[self.codes[rows], -1], 1e-6, 1)))
        return np.where(self.missing[rows], 0, rare)

    def numbers(self) -> FloatArray:
        """A column for each of the most frequent categories, between 0 and 1."""
        frequent = np.argsort(-self.shares[:, -1], kind="stable")[:20]
        return np.asarray(self.codes[:, None] == frequent, dtype=np.float64)

    def _difference(self, cluster: int) -> list[Difference]:
        effects = self._effects[:, cluster]
        if not self.shares[:, cluster].any():
            return []
        # Of two that are as different, what there is more of is easier to say.
        code = int((np.abs(effects) + 1e-9 * effects).argmax()) if self._told is None else self._told
        own, overall = (plain.percent(float(self.shares[code, k])) for k in (cluster, -1))
        if own == overall:
            return []
        word = self.words[code]
        text = f"{self.name}: {own} {word} (all: {overall})"
        effect = abs(float(effects[code]))
        return [Difference(self.name, self.kind, f"{own} {word}", f"{overall} {word}", effect, text)]

    def _of_clusters(self, row: int, clusters: IntArray, names: Sequence[str]) -> str:
        shares = self.shares[self.codes[row]]
        parts = [f"{plain.percent(float(shares[k]))} of {name}" for k, name in zip(clusters, names, strict=True)]
        return ", ".join(parts)

    def _of_all(self, row: int) -> str:
        return f"{plain.percent(float(self.shares[self.codes[row], -1]))} of all"


def _present(values: FloatArray, missing: BoolArray) -> FloatArray:
    """The rows without a gap; as they are, where there is none."""
    return values[~missing] if missing.any() else values


def _shares(flags: BoolArray, weights: FloatArray) -> FloatArray:
    """The share of each cluster, and of all, for which something is true."""
    total = weights.sum(axis=0)
    own = np.divide(weights[flags].sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
    return np.append(own, flags.mean())


def _means(values: FloatArray, weights: FloatArray) -> FloatArray:
    every = with_all(weights)
    total = every.sum(axis=0)
    return np.asarray(np.divide(values @ every, total, out=np.full_like(total, np.nan), where=total > 0))


def _range(write: Callable[[float], str], low: float, high: float) -> str:
    first, last = write(float(low)), write(float(high))
    return first if first == last else f"{first} to {last}"


def _writers(values: FloatArray, kind: str, spread: float) -> tuple[Callable[[float], str], ...]:
    """How typical values, values of samples and averages are written."""
    if kind == "date":
        width = float(values.max() - values.min())
        exact = partial(plain.date, unit="minute" if width < 10 * _DAY else "day")
        typical = partial(plain.date, unit="month") if spread > 1000 * _DAY else exact
        return typical, exact, typical
    least = plain.resolution(values)
    size = spread if 0 < spread < np.inf else float(np.abs(values).max())
    step = max(least, plain.power_of_ten(size / _STEPS))
    years = least == 1 and bool(1800 <= values.min() <= values.max() <= 2200)
    separator = "" if years else ","

    def writer(step: float) -> Callable[[float], str]:
        return lambda value: plain.number(value, step, separator=separator)

    return writer(step), writer(least or step / 10), writer(step / 10)
