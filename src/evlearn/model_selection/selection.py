"""Result of a selection: curves of a criterion for subsamples of the data, and the selected value."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from evlearn.utils.typing import FloatArray, IntArray

#: Maximum number of values that are listed after the best one if the vote is weak.
_RIVALS = 2
#: Parameter names for the number of clusters.
NUMBERS = ("n_clusters", "n_components")
#: Criterion of curves that are 1 for the selected value of a subsample, and 0 elsewhere.
VOTES = "share of votes"
#: Share of votes below which most suggested numbers of clusters are wrong (see the guide).
WEAK_VOTE = 0.6
#: Rules that select a value of a curve.
Rule: TypeAlias = Literal["smallest", "largest", "last_largest", "elbow"]
RULES = get_args(Rule)


@dataclass(frozen=True, eq=False, repr=False)
class ParameterSelection:
    """A criterion for each value of a parameter, and the suggested value; the result of `select_n_clusters`.

    Each subsample of the data has a curve, which selects a value. The suggestion is the most frequent of these
    values, the first of ties. If subsamples disagree, look at the curve.

    Attributes
    ----------
    name : str
        Name of the parameter.
    values : ndarray of shape (n_values,)
        Values of the parameter, in ascending order.
    curves : ndarray of shape (n_curves, n_values)
        Criterion in each subsample; NaN if it is unknown.
    criterion : str
        Name of the criterion.
    rule : {"smallest", "largest", "last_largest", "elbow"}
        Rule that selects a value of a curve.

    See Also
    --------
    evlearn.plotting.ClusterNumberDisplay : Plot the curve and the votes.
    """

    name: str
    values: NDArray[Any]
    curves: FloatArray
    criterion: str
    rule: Rule

    @property
    def choices(self) -> list[Any]:
        """Selected value of each subsample; None if there is none."""
        indices = (choose(self.values, curve, self.rule) for curve in self.curves)
        return [None if place is None else self.values[place].item() for place in indices]

    @property
    def votes(self) -> IntArray:
        """Number of subsamples that selected each value."""
        indices = [index for curve in self.curves if (index := choose(self.values, curve, self.rule)) is not None]
        return np.bincount(indices, minlength=len(self.values)).astype(np.intp)

    @property
    def shares(self) -> FloatArray:
        """Share of subsamples that selected each value; the sum is below 1 if some selected none."""
        return np.asarray(self.votes / len(self.curves))

    @property
    def best(self) -> Any:
        """Value that most subsamples selected, the first of ties; None if no subsample selected one."""
        return self.values[self.votes.argmax()].item() if self.votes.any() else None

    @property
    def confidence(self) -> float:
        """Share of subsamples that selected the best value, as a measure of its reliability."""
        return float(self.shares.max())

    @property
    def problems(self) -> tuple[str, ...]:
        """Warning of a weak vote, if fewer than 60 % of the subsamples selected the best value."""
        if self.confidence >= WEAK_VOTE:
            return ()
        label = "number of clusters" if self.name in NUMBERS else f"choice of {self.name}"
        if self.best is None:
            return (f"The {label} is unknown: no subsample chose one. Try other values, or choose one yourself.",)
        order = np.argsort(-self.votes, kind="stable")
        rivals = [place for place in order[1:] if self.votes[place] > 0][:_RIVALS]
        shares = [
            f"{self.values[place]:.6g} got {100 * self.shares[place]:.0f} %" for place in (order[0], *rivals)
        ]
        advice = "Compare the results of these values" if rivals else "Compare it with other values"
        return (
            f"The {label} is uncertain: {', '.join(shares)} of the votes. {advice}, and choose one by what you "
            "know about the data.",
        )

    @property
    def curve(self) -> FloatArray:
        """Mean of the curves; for votes, the shares of all subsamples."""
        return _mean(self._averaged_curves)

    @property
    def spread(self) -> FloatArray:
        """Standard deviation of the curves."""
        return np.asarray(np.sqrt(_mean((self._averaged_curves - self.curve) ** 2)))

    def __repr__(self) -> str:
        return (
            f"ParameterSelection({self.name}={self.best!r}, chosen by {self.votes.max()} of {len(self.curves)}, "
            f"criterion={self.criterion!r})"
        )

    def __str__(self) -> str:
        # Votes are 0 or 1: their spread follows from their share.
        spreads = [f" ± {spread:.2g}" if self._has_spread else "" for spread in self.spread]
        texts = [f"{mean:.4g}{spread}" for mean, spread in zip(self.curve, spreads, strict=True)]
        rows = [f"Warning: {problem}" for problem in self.problems]
        rows += [f"{self.name:>12}   {self.criterion:>24}   chosen by"]
        for value, text, votes in zip(self.values, texts, self.votes, strict=True):
            mark = "   <- suggested" if value == self.best else ""
            rows.append(f"{value:>12.6g}   {text:>24}   {votes} of {len(self.curves)}{mark}")
        if n_none := len(self.curves) - self.votes.sum():
            rows.append(f"{'none of them':>12}   {'':>24}   {n_none} of {len(self.curves)}")
        return "\n".join(rows)

    @property
    def _averaged_curves(self) -> FloatArray:
        """The curves that are averaged; a subsample without a vote counts as 0 for all values."""
        return np.nan_to_num(self.curves) if self.criterion == VOTES else self.curves

    @property
    def _has_spread(self) -> bool:
        return len(self.curves) > 1 and self.criterion != VOTES


def choose(values: Any, curve: FloatArray, rule: Rule) -> int | None:
    """Return the index of the value that a curve suggests, or None."""
    places = np.flatnonzero(~np.isnan(curve))
    if not len(places):
        return None
    scores = curve[places]
    if rule == "last_largest":
        return int(places[::-1][scores[::-1].argmax()])
    if rule != "elbow":
        return int(places[scores.argmin() if rule == "smallest" else scores.argmax()])
    check_enough(places, rule, values)
    numbers = np.asarray(values, dtype=np.float64)[places]
    below = np.interp(numbers, numbers[[0, -1]], scores[[0, -1]]) - scores
    return int(places[below.argmax()]) if below.max() > 0 else None


def check_enough(places: Any, rule: Rule, values: Any, name: str = "n_clusters") -> None:
    """Raise if there are too few values for an elbow."""
    if rule == "elbow" and len(places) < 3:
        raise ValueError(
            f"{name} must have at least 3 numbers with known values for an elbow, got "
            f"{np.asarray(values)[places].tolist()}; add numbers."
        )


def _mean(curves: FloatArray) -> FloatArray:
    is_known = ~np.isnan(curves)
    counts = is_known.sum(axis=0)
    sums = np.where(is_known, curves, 0.0).sum(axis=0)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))
