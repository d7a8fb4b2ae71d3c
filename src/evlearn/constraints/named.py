"""Constraints on samples that are identified by names instead of row numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any, TypeAlias

import numpy.typing as npt

from evlearn.constraints.pairwise import PairwiseConstraints

#: Pairs of names of samples: an array of shape (n_pairs, 2), or any iterable of pairs.
NamedPairs: TypeAlias = npt.ArrayLike | Iterable[tuple[Hashable, Hashable]]
_Pairs: TypeAlias = tuple[tuple[Hashable, Hashable], ...]


class NamedConstraints:
    """Pairs of samples in the same cluster or in different ones, identified by names in the index of a frame.

    Row numbers change when rows are sorted, filtered, or split by a cross-validation; names do not. If an
    estimator is fitted to some of the samples, constraints with a missing sample are ignored.

    Parameters
    ----------
    must_link : array-like of shape (n_pairs, 2) or iterable of pairs, default=()
        Pairs of names in the same cluster.
    cannot_link : array-like of shape (n_pairs, 2) or iterable of pairs, default=()
        Pairs of names in different clusters.

    See Also
    --------
    PairwiseConstraints : Constraints on samples that are identified by row numbers.

    Examples
    --------
    >>> from evlearn.constraints import NamedConstraints
    >>> constraints = NamedConstraints(
    ...     must_link=[("anna", "ben")], cannot_link=[("anna", "carl")]
    ... )
    >>> constraints
    NamedConstraints(1 must-link, 1 cannot-link)
    >>> constraints.select(["carl", "dora", "anna"]).cannot_link
    array([[0, 2]])
    """

    def __init__(self, must_link: NamedPairs = (), cannot_link: NamedPairs = ()) -> None:
        self._must_link = _read_pairs(must_link, "must_link")
        self._cannot_link = _read_pairs(cannot_link, "cannot_link")
        separated = {frozenset(pair) for pair in self._cannot_link}
        contradictions = [pair for pair in self._must_link if frozenset(pair) in separated]
        contradictions += [pair for pair in self._cannot_link if pair[0] == pair[1]]
        if contradictions:
            raise ValueError(
                f"{contradictions[0]!r} is a pair that must be in one cluster and that cannot be; keep it in one "
                "of must_link and cannot_link, and do not separate a sample from itself."
            )

    @property
    def must_link(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """Must-links."""
        return self._must_link

    @property
    def cannot_link(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """Cannot-links."""
        return self._cannot_link

    def select(self, names: Iterable[Hashable]) -> PairwiseConstraints:
        """Return the constraints between samples with these names, as row numbers.

        Parameters
        ----------
        names : iterable
            Names of the samples, such as the index of a frame.

        Returns
        -------
        PairwiseConstraints
            Constraints without those that contain a missing sample. It is an error if all of their samples are
            missing, or if several samples have the name of a constrained one.
        """
        sample_names = list(names)
        places = {name: place for place, name in enumerate(sample_names)}
        constraint_names = [
            name for pairs in (self._must_link, self._cannot_link) for pair in pairs for name in pair
        ]
        constrained = [name for name in constraint_names if name in places]
        if constraint_names and not constrained:
            raise ValueError(
                f"the constraints contain names such as {constraint_names[0]!r}, but none of them is among the "
                f"{len(sample_names)} samples, which have names such as "
                f"{sample_names[0] if sample_names else None!r}; set the index of the frame "
                "to the names in the constraints."
            )
        if len(places) < len(sample_names):
            counts = Counter(sample_names)
            for name in constrained:
                if counts[name] > 1:
                    raise ValueError(f"{name!r} is in a constraint, and {counts[name]} samples have that name.")
        selected = (
            [(places[first], places[second]) for first, second in pairs if first in places and second in places]
            for pairs in (self._must_link, self._cannot_link)
        )
        return PairwiseConstraints(*selected)

    def __repr__(self) -> str:
        return f"NamedConstraints({len(self._must_link)} must-link, {len(self._cannot_link)} cannot-link)"


def resolve_constraints(constraints: Any, X: Any, n_samples: int) -> PairwiseConstraints | None:
    """Return the constraints of a fit as row numbers, or raise an error that explains the problem."""
    if isinstance(constraints, NamedConstraints):
        if not hasattr(X, "iloc"):
            raise ValueError(
                f"the constraints contain names of samples, but X is {type(X).__name__}, which has none: pass a "
                "pandas frame with the names as its index. In a pipeline, set_output(transform='pandas') keeps "
                "them."
            )
        return constraints.select(X.index)
    if constraints is None:
        return None
    if not isinstance(constraints, PairwiseConstraints):
        raise TypeError(
            f"constraints must be PairwiseConstraints, got {type(constraints).__name__}; use "
            "PairwiseConstraints(must_link=..., cannot_link=...), or NamedConstraints for names of samples."
        )
    constraints.check_samples(n_samples)
    return constraints


def _read_pairs(pairs: Any, name: str) -> _Pairs:
    values = pairs.to_numpy(dtype=object) if hasattr(pairs, "iloc") else pairs
    values = values.tolist() if hasattr(values, "tolist") else values
    distinct: dict[frozenset[Hashable], tuple[Hashable, Hashable]] = {}
    for entry in values:
        if isinstance(entry, (str, bytes)) or not isinstance(entry, Iterable) or len(pair := tuple(entry)) != 2:
            raise ValueError(f"{name} must be pairs of names such as [('anna', 'ben')], got {entry!r} in it.")
        distinct.setdefault(frozenset(pair), pair)
    return tuple(distinct.values())
