"""What a selection found: curves of a criterion, one for each subsample of the data, and the choice."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from evlearn.utils.typing import FloatArray, IntArray

#: Values that are named beside the best one if the vote is weak.
_RIVALS = 2
#: What estimators call their number of clusters.
NUMBERS = ("n_clusters", "n_components")
#: The criterion of curves that are one for what a subsample chose, and zero elsewhere.
VOTES = "share of votes"
#: With a smaller share of the votes, most suggested numbers of clusters are wrong (see the guide).
WEAK_VOTE = 0.6
#: Which place of a curve is suggested.
Rule: TypeAlias = Literal["smallest", "largest", "last_largest", "elbow"]
RULES = get_args(Rule)


@dataclass(frozen=True, eq=False, repr=False)
class ParameterSelection:
    """A criterion for each value of a parameter, and the value that it suggests; made by `select_n_clusters`.

    Each subsample of the data has a curve of its own, and chooses a value. The suggestion is the value that most
    of them chose, the first of equals. It is a hint and no proof: where subsamples disagree, look at the curve.

    Attributes
    ----------
    name : str
        The parameter.
    values : ndarray of shape (n_values,)
        Its values, in ascending order.
    curves : ndarray of shape (n_curves, n_values)
        The criterion in each subsample; NaN where it is not known.
    criterion : str
        What the curves are.
    rule : {"smallest", "largest", "last_largest", "elbow"}
        Which value of a curve is chosen.

    See Also
    --------
    evlearn.plotting.ClusterNumberDisplay : The picture.
    """

    name: str
    values: NDArray[Any]
    curves: FloatArray
    criterion: str
    rule: Rule

    @property
    def choices(self) -> list[Any]:
        """The value that each subsample chose; None where it suggests none of them."""
        found = (choose(self.values, curve, self.rule) for curve in self.curves)
        return [None if place is None else self.values[place].item() for place in found]

    @property
    def votes(self) -> IntArray:
        """How many subsamples chose each value."""
        found = [place for curve in self.curves if (place := choose(self.values, curve, self.rule)) is not None]
        return np.bincount(found, minlength=len(self.values)).astype(np.intp)

    @property
    def shares(self) -> FloatArray:
        """The share of subsamples that chose each value; with those that suggest none of them, the sum is one."""
        return np.asarray(self.votes / len(self.curves))

    @property
    def best(self) -> Any:
        """The value that most subsamples chose, the first of equals; None where no subsample chose one."""
        return self.values[self.votes.argmax()].item() if self.votes.any() else None

    @property
    def confidence(self) -> float:
        """The share of subsamples that chose the best value: how far the suggestion can be relied on."""
        return float(self.shares.max())

    @property
    def problems(self) -> tuple[str, ...]:
        """A sentence on a weak vote, if fewer than 60 % of the subsamples chose the best value."""
        if self.confidence >= WEAK_VOTE:
            return ()
        what = "number of clusters" if self.name in NUMBERS else f"choice of {self.name}"
        if self.best is None:
            return (f"The {what} is unknown: no subsample chose one. Try other values, or choose one yourself.",)
        order = np.argsort(-self.votes, kind="stable")
        rivals = [place for place in order[1:] if self.votes[place] > 0][:_RIVALS]
        shares = [
            f"{self.values[place]:.6g} got {100 * self.shares[place]:.0f} %" for place in (order[0], *rivals)
        ]
        advice = "Compare the results of these values" if rivals else "Compare it with other values"
        return (
            f"The {what} is uncertain: {', '.join(shares)} of the votes. {advice}, and choose one by what you "
            "know about the data.",
        )

    @property
    def curve(self) -> FloatArray:
        """The mean of the curves; of votes, the share of all that were given."""
        return _mean(self._counted)

    @property
    def spread(self) -> FloatArray:
        """The standard deviation between the curves."""
        return np.asarray(np.sqrt(_mean((self._counted - self.curve) ** 2)))

    def __repr__(self) -> str:
        return (
            f"ParameterSelection({self.name}={self.best!r}, chosen by {self.votes.max()} of {len(self.curves)}, "
            f"criterion={self.criterion!r})"
        )

    def __str__(self) -> str:
        # Votes are all or nothing: their spread says no more than their share.
        spreads = [f" ± {spread:.2g}" if self._has_spread else "" for spread in self.spread]
        said = [f"{mean:.4g}{spread}" for mean, spread in zip(self.curve, spreads, strict=True)]
        rows = [f"Warning: {problem}" for problem in self.problems]
        rows += [f"{self.name:>12}   {self.criterion:>24}   chosen by"]
        for value, text, votes in zip(self.values, said, self.votes, strict=True):
            mark = "   <- suggested" if value == self.best else ""
            rows.append(f"{value:>12.6g}   {text:>24}   {votes} of {len(self.curves)}{mark}")
        if n_none := len(self.curves) - self.votes.sum():
            rows.append(f"{'none of them':>12}   {'':>24}   {n_none} of {len(self.curves)}")
        return "\n".join(rows)

    @property
    def _counted(self) -> FloatArray:
        """The curves whose mean is told: a vote for none of the values is one against each of them."""
        return np.nan_to_num(self.curves) if self.criterion == VOTES else self.curves

    @property
    def _has_spread(self) -> bool:
        return len(self.curves) > 1 and self.criterion != VOTES


def choose(values: Any, curve: FloatArray, rule: Rule) -> int | None:
    """The place of the value that a curve suggests."""
    places = np.flatnonzero(~np.isnan(curve))
    if not len(places):
        return None
    known = curve[places]
    if rule == "last_largest":
        return int(places[::-1][known[::-1].argmax()])
    if rule != "elbow":
        return int(places[known.argmin() if rule == "smallest" else known.argmax()])
    check_enough(places, rule, values)
    numbers = np.asarray(values, dtype=np.float64)[places]
    below = np.interp(numbers, numbers[[0, -1]], known[[0, -1]]) - known
    return int(places[below.argmax()]) if below.max() > 0 else None


def check_enough(places: Any, rule: Rule, values: Any, name: str = "n_clusters") -> None:
    """Raise if there are too few values for an elbow."""
    if rule == "elbow" and len(places) < 3:
        raise ValueError(
            f"{name} must have at least three numbers with known values for an elbow, got "
            f"{np.asarray(values)[places].tolist()}; add numbers."
        )


def _mean(curves: FloatArray) -> FloatArray:
    known = ~np.isnan(curves)
    counts = known.sum(axis=0)
    sums = np.where(known, curves, 0.0).sum(axis=0)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))


__all__ = ["ParameterSelection"]
