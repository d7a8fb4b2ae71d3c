"""Constraints on samples that go by their names, whatever row they are in."""

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
    """Pairs of samples, by their names in the index of a frame, that are in the same cluster or in different ones.

    Numbers of rows change when rows are sorted, filtered, or split by a cross-validation; names do not. Where an
    estimator is fitted to some of the samples, constraints with one that is not there are left out.

    Parameters
    ----------
    must_link : array-like of shape (n_pairs, 2) or iterable of pairs, default=()
        Pairs of names in the same cluster.
    cannot_link : array-like of shape (n_pairs, 2) or iterable of pairs, default=()
        Pairs of names in different clusters.

    See Also
    --------
    PairwiseConstraints : Constraints on samples that go by the numbers of their rows.

    Examples
    --------
    >>> from evlearn.constraints import NamedConstraints
    >>> constraints = NamedConstraints(
    ...     must_link=[("anna", "ben")], cannot_link=[("anna", "carl")]
    ... )
    >>> constraints
    NamedConstraints(1 must-link, 1 cannot-link)
    >>> constraints.among(["carl", "dora", "anna"]).cannot_link
    array([[0, 2]])
    """

    def __init__(self, must_link: NamedPairs = (), cannot_link: NamedPairs = ()) -> None:
        self._must_link = _read(must_link, "must_link")
        self._cannot_link = _read(cannot_link, "cannot_link")
        apart = {frozenset(pair) for pair in self._cannot_link}
        wrong = [pair for pair in self._must_link if frozenset(pair) in apart]
        wrong += [pair for pair in self._cannot_link if pair[0] == pair[1]]
        if wrong:
            raise ValueError(
                f"{wrong[0]!r} is a pair that must be in one cluster and that cannot be; keep it in one of "
                "must_link and cannot_link, and no sample apart from itself."
            )

    @property
    def must_link(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """The must-links."""
        return self._must_link

    @property
    def cannot_link(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """The cannot-links."""
        return self._cannot_link

    def among(self, names: Iterable[Hashable]) -> PairwiseConstraints:
        """The constraints between samples of these names, by their numbers.

        Parameters
        ----------
        names : iterable
            The names of the samples, such as the index of a frame.

        Returns
        -------
        PairwiseConstraints
            Constraints with a sample that is not there are dropped. It is an error if none of their samples is
            there, or if several have the name of one.
        """
        listed = list(names)
        places = {name: place for place, name in enumerate(listed)}
        mentioned = [name for pairs in (self._must_link, self._cannot_link) for pair in pairs for name in pair]
        known = [name for name in mentioned if name in places]
        if mentioned and not known:
            raise ValueError(
                f"the constraints name samples such as {mentioned[0]!r}, and none of these is among the "
                f"{len(listed)} samples, which have names such as {listed[0] if listed else None!r}; give the "
                "index of the frame the names that are in the constraints."
            )
        if len(places) < len(listed):
            twice = Counter(listed)
            for name in known:
                if twice[name] > 1:
                    raise ValueError(f"{name!r} is in a constraint, and {twice[name]} samples have that name.")
        kept = (
            [(places[one], places[other]) for one, other in pairs if one in places and other in places]
            for pairs in (self._must_link, self._cannot_link)
        )
        return PairwiseConstraints(*kept)

    def __repr__(self) -> str:
        return f"NamedConstraints({len(self._must_link)} must-link, {len(self._cannot_link)} cannot-link)"


def numbered(constraints: Any, X: Any, n_samples: int) -> PairwiseConstraints | None:
    """The constraints of a fit by the numbers of its samples, or an error that says what is wrong with them."""
    if isinstance(constraints, NamedConstraints):
        if not hasattr(X, "iloc"):
            raise ValueError(
                f"the constraints go by the names of samples, and X is {type(X).__name__}, which has none: give a "
                "pandas frame with the names as its index. In a pipeline, set_output(transform='pandas') keeps "
                "them."
            )
        return constraints.among(X.index)
    if constraints is None:
        return None
    if not isinstance(constraints, PairwiseConstraints):
        raise TypeError(
            f"constraints must be PairwiseConstraints, got {type(constraints).__name__}; write "
            "PairwiseConstraints(must_link=..., cannot_link=...), or NamedConstraints for names of samples."
        )
    constraints.check_samples(n_samples)
    return constraints


def _read(pairs: Any, name: str) -> _Pairs:
    listed = pairs.to_numpy(dtype=object) if hasattr(pairs, "iloc") else pairs
    listed = listed.tolist() if hasattr(listed, "tolist") else listed
    found: dict[frozenset[Hashable], tuple[Hashable, Hashable]] = {}
    for one in listed:
        if isinstance(one, (str, bytes)) or not isinstance(one, Iterable) or len(pair := tuple(one)) != 2:
            raise ValueError(f"{name} must be pairs of names such as [('anna', 'ben')], got {one!r} in it.")
        found.setdefault(frozenset(pair), pair)
    return tuple(found.values())
