"""One mass function, written and read as in the books."""

from __future__ import annotations

import html
from collections.abc import Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from evlearn.belief import combination, kinds, measures, revision, transforms
from evlearn.belief.columns import expand
from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.notation import Frame, SetLike
from evlearn.belief.validation import as_mass_array
from evlearn.utils.typing import FloatArray

_RULES = MappingProxyType(
    {
        "conjunctive": combination.conjunctive,
        "dempster": combination.dempster,
        "disjunctive": combination.disjunctive,
        "yager": combination.yager,
        "dubois_prade": combination.dubois_prade,
        "cautious": combination.cautious,
        "bold": combination.bold,
        "average": combination.average,
    }
)
_NEED_ALL_SETS = ("cautious", "bold")


class MassFunction:
    """A mass function on a small named frame, for teaching and for checking examples by hand.

    Masses are assigned set by set; what has not been assigned is zero. For many mass functions at once use the
    functions of `evlearn.belief` on arrays, or a `CredalPartition`.

    Parameters
    ----------
    frame : sequence of str or int
        The names of the elements of the frame, or their number.
    masses : mapping from sets to float, default=None
        Masses to start with.

    See Also
    --------
    FocalSets : The family of sets behind an array of mass functions.

    Examples
    --------
    A patch of an image is grass, road, tree, obstacle or sky. A sensor says tree or obstacle, and is reliable with
    probability 0.9:

    >>> from evlearn.belief import MassFunction
    >>> m = MassFunction(["G", "R", "T", "O", "S"])
    >>> m["T,O"] = 0.9
    >>> m["Ω"] = 0.1
    >>> m
    m({T,O}) = 0.9
    m(Ω) = 0.1
    >>> m.bel("T,O"), m.pl("G")
    (0.9, 0.1)

    Another sensor says grass or tree, with probability 0.8. ``+`` is Dempster's rule:

    >>> other = MassFunction(["G", "R", "T", "O", "S"], {"G,T": 0.8, "Ω": 0.2})
    >>> m + other
    m({T}) = 0.72
    m({G,T}) = 0.08
    m({T,O}) = 0.18
    m(Ω) = 0.02
    """

    def __init__(self, frame: Frame, masses: Mapping[Any, float] | None = None) -> None:
        self._sets = FocalSets([], frame)
        self._masses: FloatArray = np.zeros(1)
        for subset, mass in (masses or {}).items():
            self[subset] = mass

    @classmethod
    def from_array(cls, masses: Sequence[float] | FloatArray, focal_sets: FocalSets) -> MassFunction:
        """A mass function from one row of a mass array.

        Parameters
        ----------
        masses : sequence of float
            One mass for each focal set.
        focal_sets : FocalSets
            What the masses belong to.

        Returns
        -------
        MassFunction
            The same masses.
        """
        one = cls(focal_sets.names or focal_sets.frame_size)
        one._sets = focal_sets
        one._masses = np.array(as_mass_array(masses, focal_sets), dtype=np.float64)
        return one

    # Masses, set by set

    @classmethod
    def from_random_set(
        cls, frame: Frame, probabilities: Mapping[Hashable, float], images: Mapping[Hashable, SetLike]
    ) -> MassFunction:
        """The mass function of a random set: a state is drawn, and all that is known then is a set.

        In the words of the theory, states have probabilities P, and a multi-valued mapping Γ leads from each
        of them to a set of the frame: m(A) is the probability of the states whose set is A.

        Parameters
        ----------
        frame : sequence of str or int
            The names of the elements of the frame, or their number.
        probabilities : mapping from states to float
            The probability of each state; together 1.
        images : mapping from states to sets
            What each state lets us know.

        Returns
        -------
        MassFunction
            The mass function.

        Examples
        --------
        A witness is sober with probability 0.7, and then says the truth; a drunken one knows nothing.

        >>> from evlearn.belief import MassFunction
        >>> states = {"sober": 0.7, "drunk": 0.3}
        >>> MassFunction.from_random_set(
        ...     ["red", "green"], states, {"sober": "red", "drunk": "Ω"}
        ... )
        m({red}) = 0.7
        m(Ω) = 0.3
        """
        if set(probabilities) != set(images):
            lost = sorted(map(str, set(probabilities) ^ set(images)))
            raise ValueError(f"probabilities and images must have the same states, but only one has {lost}.")
        found = cls(frame)
        for state, probability in probabilities.items():
            found[images[state]] += probability
        found._check()
        return found

    def __setitem__(self, subset: SetLike, mass: float) -> None:
        if not (isinstance(mass, (int, float, np.floating)) and 0 <= mass <= 1):
            raise ValueError(f"a mass must be a number between 0 and 1, got {mass!r} for {subset!r}.")
        larger = self._sets.with_sets([subset])
        self._masses = expand(self._masses, self._sets, larger)
        self._sets = larger
        self._masses[larger.index(subset)] = mass

    def __getitem__(self, subset: SetLike) -> float:
        return float(self._masses[self._sets.index(subset)]) if subset in self._sets else 0.0

    def __iter__(self) -> Iterator[str]:
        return (self._sets.labels[position] for position in np.flatnonzero(self._masses))

    def __len__(self) -> int:
        return int(np.count_nonzero(self._masses))

    @property
    def frame(self) -> tuple[str, ...]:
        """The names of the elements."""
        return self._sets.frame

    @property
    def focal_sets(self) -> FocalSets:
        """The sets that carry mass, and the empty set."""
        return FocalSets.from_membership(
            self._sets.membership[self._masses > 0], self._sets.names or self._sets.frame_size
        )

    def to_array(self, focal_sets: FocalSets | None = None) -> FloatArray:
        """The masses as an array.

        Parameters
        ----------
        focal_sets : FocalSets, default=None
            The order of the masses; None means `self.focal_sets`.

        Returns
        -------
        ndarray of shape (n_focal_sets,)
            The masses, which must sum to one.
        """
        self._check()
        used = self.focal_sets
        values = self._masses[self._sets.positions(used.membership)]
        return values if focal_sets is None else expand(values, used, focal_sets)

    # What it says about sets and elements

    def bel(self, subset: SetLike) -> float:
        """The degree of belief of a set.

        Parameters
        ----------
        subset : set
            The set to ask about.

        Returns
        -------
        float
            The mass of its nonempty subsets.
        """
        return self._at(transforms.belief, subset)

    def pl(self, subset: SetLike) -> float:
        """The plausibility of a set.

        Parameters
        ----------
        subset : set
            The set to ask about.

        Returns
        -------
        float
            The mass of the sets that meet it.
        """
        return self._at(transforms.plausibility, subset)

    def q(self, subset: SetLike) -> float:
        """The commonality of a set.

        Parameters
        ----------
        subset : set
            The set to ask about.

        Returns
        -------
        float
            The mass of its supersets.
        """
        return self._at(transforms.commonality, subset)

    def contour(self) -> dict[str, float]:
        """The plausibility of each element."""
        return self._named(transforms.contour(self.to_array(), self.focal_sets))

    def betp(self) -> dict[str, float]:
        """The pignistic probability of each element."""
        return self._named(revision.pignistic(self.to_array(), self.focal_sets))

    def nonspecificity(self) -> float:
        """How much it leaves open, in bits."""
        return float(measures.nonspecificity(self.to_array(), self.focal_sets))

    def conflict(self, other: MassFunction) -> float:
        """The degree of conflict with another mass function.

        Parameters
        ----------
        other : MassFunction
            A mass function on the same frame.

        Returns
        -------
        float
            The mass that their conjunction gives to the empty set.
        """
        return (self & other)[""]

    # Which kind it is of

    def is_normal(self) -> bool:
        """Whether the empty set has no mass."""
        return bool(kinds.is_normal(self.to_array(), self.focal_sets))

    def is_dogmatic(self) -> bool:
        """Whether the frame has no mass: something is excluded for sure."""
        return bool(kinds.is_dogmatic(self.to_array(), self.focal_sets))

    def is_vacuous(self) -> bool:
        """Whether it knows nothing: all mass is on the frame."""
        return bool(kinds.is_vacuous(self.to_array(), self.focal_sets))

    def is_logical(self) -> bool:
        """Whether it is a set: all mass is on one, which is also called categorical."""
        return bool(kinds.is_logical(self.to_array(), self.focal_sets))

    def is_bayesian(self) -> bool:
        """Whether it is a probability: all mass is on single elements."""
        return bool(kinds.is_bayesian(self.to_array(), self.focal_sets))

    def is_simple(self) -> bool:
        """Whether it supports one set: no other has mass, but for the frame."""
        return bool(kinds.is_simple(self.to_array(), self.focal_sets))

    def is_consonant(self) -> bool:
        """Whether it is a degree of possibility: each focal set is part of the next."""
        return bool(kinds.is_consonant(self.to_array(), self.focal_sets))

    # What becomes of it

    def combine(self, other: MassFunction, rule: str = "dempster") -> MassFunction:
        """Combine with another source.

        Parameters
        ----------
        other : MassFunction
            A mass function on the same frame.
        rule : str, default="dempster"
            "conjunctive", "dempster", "disjunctive", "yager", "dubois_prade", "cautious", "bold" or "average".

        Returns
        -------
        MassFunction
            The combination.
        """
        if not isinstance(other, MassFunction) or other.frame != self.frame:
            raise ValueError(f"other must be a MassFunction on the same frame {list(self.frame)}.")
        if rule not in _RULES:
            raise ValueError(f"rule must be one of {list(_RULES)}, got {rule!r}.")
        if rule in _NEED_ALL_SETS:
            sets = FocalSets.full(self._sets.names or self._sets.frame_size)
        else:
            sets = self.focal_sets.with_omega().with_sets(other.focal_sets)
            if rule != "average":
                sets = sets.closure("intersection")
            if rule in ("disjunctive", "dubois_prade"):
                sets = sets.closure("union")
        masses = _RULES[rule]([self.to_array(sets), other.to_array(sets)], sets)
        if np.isnan(masses).any():
            raise ValueError(
                "the two mass functions exclude each other (conflict 1); Dempster's rule is undefined."
            )
        return MassFunction.from_array(masses, sets)

    def __add__(self, other: MassFunction) -> MassFunction:
        return self.combine(other, "dempster")

    def __and__(self, other: MassFunction) -> MassFunction:
        return self.combine(other, "conjunctive")

    def __or__(self, other: MassFunction) -> MassFunction:
        return self.combine(other, "disjunctive")

    def discount(self, rate: float) -> MassFunction:
        """Weaken it: its source is unreliable with probability `rate`.

        Parameters
        ----------
        rate : float
            Between 0 and 1.

        Returns
        -------
        MassFunction
            The discounted mass function.
        """
        sets = self.focal_sets.with_omega()
        return MassFunction.from_array(revision.discount(self.to_array(sets), sets, rate), sets)

    def condition(self, on: SetLike, *, normalize: bool = True) -> MassFunction:
        """Learn that the truth lies in a set.

        Parameters
        ----------
        on : set
            The set that is known to hold the truth.
        normalize : bool, default=True
            Whether to apply Dempster's normalisation.

        Returns
        -------
        MassFunction
            The conditional mass function.
        """
        sets = self.focal_sets.with_sets([on]).closure("intersection")
        masses = revision.condition(self.to_array(sets), sets, on, normalize=normalize)
        if np.isnan(masses).any():
            raise ValueError(f"on={on!r} is impossible (its plausibility is 0), so it cannot be conditioned on.")
        return MassFunction.from_array(masses, sets)

    def normalize(self, method: Literal["dempster", "yager"] = "dempster") -> MassFunction:
        """Remove the mass of the empty set.

        Parameters
        ----------
        method : {"dempster", "yager"}, default="dempster"
            Share it out in proportion, or give it to the frame.

        Returns
        -------
        MassFunction
            The normalised mass function.
        """
        sets = self.focal_sets.with_omega()
        return MassFunction.from_array(revision.normalize(self.to_array(sets), sets, method), sets)

    def _at(self, transform: Any, subset: SetLike) -> float:
        sets = FocalSets([subset], self._sets.names or self._sets.frame_size)
        return float(transform(self.to_array(), self.focal_sets, at=sets)[-1])

    def _named(self, values: FloatArray) -> dict[str, float]:
        return dict(zip(self.frame, values.tolist(), strict=True))

    def _check(self) -> None:
        total = float(self._masses.sum())
        if abs(total - 1) > 1e-9:
            raise ValueError(
                f"the masses sum to {total:.12g} and not to 1; assign the rest, for example "
                f'm["Ω"] = {max(1 - total, 0):.12g} for what is not known.'
            )

    # Text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MassFunction) or other.frame != self.frame:
            return NotImplemented
        return self.focal_sets == other.focal_sets and bool(np.array_equal(self._used(), other._used()))

    __hash__ = None  # type: ignore[assignment]

    def _used(self) -> FloatArray:
        return self._masses[self._masses > 0]

    def __repr__(self) -> str:
        lines = [f"m({label}) = {self[label]:.6g}" for label in self]
        return "\n".join(lines) if lines else f"m with no masses yet on the frame {{{','.join(self.frame)}}}"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{html.escape(label)}</td><td>{self[label]:.6g}</td></tr>" for label in self)
        return f"<table><thead><tr><th>set</th><th>mass</th></tr></thead><tbody>{rows}</tbody></table>"
