"""Single mass functions, in the notation of textbooks."""

from __future__ import annotations

import html
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from evlearn.belief import combination, measures, revision, transforms
from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.notation import Frame, SetLike, read_frame, read_set, read_table
from evlearn.belief.validation import as_mass_array
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_choice

_RULES_OF_FULL_FAMILIES = ("cautious", "bold")


class MassFunction:
    """Mass function on a small named frame, for teaching and for examples.

    Masses are assigned set by set; other sets have mass 0. For many mass functions, use arrays with the functions
    of `evlearn.belief`, or a `CredalPartition`.

    Parameters
    ----------
    frame : sequence of str or int
        Names of the elements of the frame, or their number.
    masses : mapping from sets to float, default=None
        Initial masses.

    See Also
    --------
    FocalSets : Family of sets for arrays of mass functions.

    Examples
    --------
    A patch of an image is grass, road, tree, obstacle or sky. A sensor reports tree or obstacle, and is reliable
    with probability 0.9:

    >>> from evlearn.belief import MassFunction
    >>> m = MassFunction(["G", "R", "T", "O", "S"])
    >>> m["T,O"] = 0.9
    >>> m["Ω"] = 0.1
    >>> m
    m({T,O}) = 0.9
    m(Ω) = 0.1
    >>> m.bel("T,O"), m.pl("G")
    (0.9, 0.1)

    Another sensor reports grass or tree, with probability 0.8. ``+`` is Dempster's rule:

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
        """Return the mass function of a row of a mass array.

        Parameters
        ----------
        masses : sequence of float
            Mass of each focal set.
        focal_sets : FocalSets
            Sets of the masses.

        Returns
        -------
        MassFunction
            Mass function with these masses.
        """
        function = cls(focal_sets.names or focal_sets.frame_size)
        function._sets = focal_sets
        function._masses = np.array(as_mass_array(masses, focal_sets), dtype=np.float64)
        return function

    # Masses of sets

    @classmethod
    def from_random_set(
        cls, frame: Frame, probabilities: Mapping[Hashable, float], images: Mapping[Hashable, SetLike]
    ) -> MassFunction:
        """Return the mass function of a random set.

        States have probabilities P, and a multi-valued mapping Γ maps each state to a set: m(A) is the probability
        of the states with set A.

        Parameters
        ----------
        frame : sequence of str or int
            Names of the elements of the frame, or their number.
        probabilities : mapping from states to float
            Probability of each state, with sum 1.
        images : mapping from states to sets
            Set of each state.

        Returns
        -------
        MassFunction
            Mass function of the random set.

        Examples
        --------
        A witness is sober with probability 0.7, and then reports the truth; a drunk witness is not informative.

        >>> from evlearn.belief import MassFunction
        >>> states = {"sober": 0.7, "drunk": 0.3}
        >>> MassFunction.from_random_set(
        ...     ["red", "green"], states, {"sober": "red", "drunk": "Ω"}
        ... )
        m({red}) = 0.7
        m(Ω) = 0.3
        """
        if set(probabilities) != set(images):
            unmatched = sorted(map(str, set(probabilities) ^ set(images)))
            raise ValueError(
                f"probabilities and images must have the same states, but only one of them has {unmatched}."
            )
        function = cls(frame)
        for state, probability in probabilities.items():
            function[images[state]] += probability
        function._check_total()
        return function

    def __setitem__(self, subset: SetLike, mass: float) -> None:
        if not (isinstance(mass, (int, float, np.floating)) and 0 <= mass <= 1):
            raise ValueError(f"a mass must be a number between 0 and 1, got {mass!r} for {subset!r}.")
        larger = self._sets.with_sets([subset])
        self._masses = expand_masses(self._masses, self._sets, larger)
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
        """Names of the elements."""
        return self._sets.frame

    @property
    def focal_sets(self) -> FocalSets:
        """Sets that carry mass, and the empty set."""
        return FocalSets.from_membership(
            self._sets.membership[self._masses > 0], self._sets.names or self._sets.frame_size
        )

    def to_array(self, focal_sets: FocalSets | None = None) -> FloatArray:
        """Return the masses as an array.

        Parameters
        ----------
        focal_sets : FocalSets, default=None
            Order of the masses; None means `self.focal_sets`.

        Returns
        -------
        ndarray of shape (n_focal_sets,)
            Masses, which must sum to 1.
        """
        self._check_total()
        sets = self.focal_sets
        values = self._masses[self._sets.positions(sets.membership)]
        return values if focal_sets is None else expand_masses(values, sets, focal_sets)

    # Sets and elements

    def bel(self, subset: SetLike) -> float:
        """Return the degree of belief of a set.

        Parameters
        ----------
        subset : set
            A set.

        Returns
        -------
        float
            Mass of its nonempty subsets.
        """
        return self._evaluate(transforms.belief, subset)

    def pl(self, subset: SetLike) -> float:
        """Return the plausibility of a set.

        Parameters
        ----------
        subset : set
            A set.

        Returns
        -------
        float
            Mass of the sets that intersect it.
        """
        return self._evaluate(transforms.plausibility, subset)

    def q(self, subset: SetLike) -> float:
        """Return the commonality of a set.

        Parameters
        ----------
        subset : set
            A set.

        Returns
        -------
        float
            Mass of its supersets.
        """
        return self._evaluate(transforms.commonality, subset)

    def contour(self) -> dict[str, float]:
        """Return the plausibility of each element."""
        return self._by_element(transforms.contour(self.to_array(), self.focal_sets))

    def betp(self) -> dict[str, float]:
        """Return the pignistic probability of each element."""
        return self._by_element(revision.pignistic(self.to_array(), self.focal_sets))

    def nonspecificity(self) -> float:
        """Return the nonspecificity, in bits."""
        return float(measures.nonspecificity(self.to_array(), self.focal_sets))

    def conflict(self, other: MassFunction) -> float:
        """Return the degree of conflict with another mass function.

        Parameters
        ----------
        other : MassFunction
            Mass function on the same frame.

        Returns
        -------
        float
            Mass of the empty set in their conjunction.
        """
        return (self & other)[""]

    # Kinds

    def is_normal(self) -> bool:
        """Return True if the empty set has no mass."""
        return bool(measures.is_kind(self.to_array(), self.focal_sets, "normal"))

    def is_dogmatic(self) -> bool:
        """Return True if the frame has no mass."""
        return bool(measures.is_kind(self.to_array(), self.focal_sets, "dogmatic"))

    def is_vacuous(self) -> bool:
        """Return True if all mass is on the frame: total ignorance."""
        return bool(measures.is_kind(self.to_array(), self.focal_sets, "vacuous"))

    def is_logical(self) -> bool:
        """Return True if all mass is on one set; also called categorical."""
        return bool(measures.is_kind(self.to_array(), self.focal_sets, "logical"))

    def is_bayesian(self) -> bool:
        """Return True if all mass is on single elements: a probability distribution."""
        return bool(measures.is_kind(self.to_array(), self.focal_sets, "bayesian"))

    def is_simple(self) -> bool:
        """Return True if at most one set besides the frame has mass."""
        return bool(measures.is_kind(self.to_array(), self.focal_sets, "simple"))

    def is_consonant(self) -> bool:
        """Return True if focal sets are nested, as for degrees of possibility."""
        return bool(measures.is_kind(self.to_array(), self.focal_sets, "consonant"))

    # Operations

    def combine(self, other: MassFunction, rule: combination.Rule = "dempster") -> MassFunction:
        """Combine the mass function with another one.

        Parameters
        ----------
        other : MassFunction
            Mass function on the same frame.
        rule : str, default="dempster"
            "conjunctive", "dempster", "disjunctive", "yager", "dubois_prade", "cautious", "bold" or "average"; see
            `evlearn.belief.combine`.

        Returns
        -------
        MassFunction
            Combined mass function.
        """
        if not isinstance(other, MassFunction) or other.frame != self.frame:
            raise ValueError(f"other must be a MassFunction on the same frame {list(self.frame)}.")
        check_choice("rule", rule, combination.RULES)
        if rule in _RULES_OF_FULL_FAMILIES:
            sets = FocalSets.full(self._sets.names or self._sets.frame_size)
        else:
            sets = self.focal_sets.with_omega().with_sets(other.focal_sets)
            if rule != "average":
                sets = sets.closure("intersection")
            if rule in ("disjunctive", "dubois_prade"):
                sets = sets.closure("union")
        masses = combination.combine([self.to_array(sets), other.to_array(sets)], sets, rule)
        if np.isnan(masses).any():
            raise ValueError(
                "the mass functions exclude each other (conflict 1), so Dempster's rule is undefined; use another "
                "rule."
            )
        return MassFunction.from_array(masses, sets)

    def __add__(self, other: MassFunction) -> MassFunction:
        return self.combine(other, "dempster")

    def __and__(self, other: MassFunction) -> MassFunction:
        return self.combine(other, "conjunctive")

    def __or__(self, other: MassFunction) -> MassFunction:
        return self.combine(other, "disjunctive")

    def discount(self, rate: float) -> MassFunction:
        """Discount the mass function, because its source is unreliable with probability `rate`.

        Parameters
        ----------
        rate : float
            Discount rate, between 0 and 1.

        Returns
        -------
        MassFunction
            Discounted mass function.
        """
        sets = self.focal_sets.with_omega()
        return MassFunction.from_array(revision.discount(self.to_array(sets), sets, rate), sets)

    def condition(self, on: SetLike, *, normalize: bool = True) -> MassFunction:
        """Condition on a set that contains the truth.

        Parameters
        ----------
        on : set
            Set that contains the truth.
        normalize : bool, default=True
            Whether to apply Dempster's normalization.

        Returns
        -------
        MassFunction
            Conditional mass function.
        """
        sets = self.focal_sets.with_sets([on]).closure("intersection")
        masses = revision.condition(self.to_array(sets), sets, on, normalize=normalize)
        if np.isnan(masses).any():
            raise ValueError(f"on={on!r} is impossible, because its plausibility is 0; condition on another set.")
        return MassFunction.from_array(masses, sets)

    def normalize(self, method: Literal["dempster", "yager"] = "dempster") -> MassFunction:
        """Remove the mass of the empty set.

        Parameters
        ----------
        method : {"dempster", "yager"}, default="dempster"
            Distribute it in proportion to the other masses, or move it to the frame.

        Returns
        -------
        MassFunction
            Normalized mass function.
        """
        sets = self.focal_sets.with_omega()
        return MassFunction.from_array(revision.normalize(self.to_array(sets), sets, method), sets)

    def _evaluate(self, transform: Any, subset: SetLike) -> float:
        sets = FocalSets([subset], self._sets.names or self._sets.frame_size)
        return float(transform(self.to_array(), self.focal_sets, at=sets)[-1])

    def _by_element(self, values: FloatArray) -> dict[str, float]:
        return dict(zip(self.frame, values.tolist(), strict=True))

    def _check_total(self) -> None:
        total = float(self._masses.sum())
        if abs(total - 1) > 1e-9:
            raise ValueError(
                f"the masses sum to {total:.12g} instead of 1; assign the rest, for example "
                f'm["Ω"] = {max(1 - total, 0):.12g} for ignorance.'
            )

    # Text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MassFunction) or other.frame != self.frame:
            return NotImplemented
        return self.focal_sets == other.focal_sets and bool(
            np.array_equal(self._positive_masses(), other._positive_masses())
        )

    __hash__ = None  # type: ignore[assignment]

    def _positive_masses(self) -> FloatArray:
        return self._masses[self._masses > 0]

    def __repr__(self) -> str:
        lines = [f"m({label}) = {self[label]:.6g}" for label in self]
        return "\n".join(lines) if lines else f"m without masses on the frame {{{','.join(self.frame)}}}"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{html.escape(label)}</td><td>{self[label]:.6g}</td></tr>" for label in self)
        return f"<table><thead><tr><th>set</th><th>mass</th></tr></thead><tbody>{rows}</tbody></table>"


def reorder_masses(
    masses: npt.ArrayLike, sets: Collection[SetLike] | npt.NDArray[Any], frame: Frame
) -> tuple[FloatArray, FocalSets]:
    """Reorder masses from any list of sets to the order of `FocalSets`.

    Parameters
    ----------
    masses : array-like of shape (..., n_sets)
        Masses, one column for each entry of `sets`.
    sets : list of sets, or 0/1 array of shape (n_sets, n_elements)
        Sets of the columns, such as R's matrix ``F``.
    frame : int or sequence of str
        Number of elements of the frame, or their names.

    Returns
    -------
    masses : ndarray of shape (..., n_focal_sets)
        Reordered masses, with a column of zeros for the empty set if it was missing.
    focal_sets : FocalSets
        Sets of the columns.

    Examples
    --------
    >>> from evlearn.belief import reorder_masses
    >>> masses, focal_sets = reorder_masses([[0.3, 0.7]], [(0, 1), (1,)], frame=2)
    >>> focal_sets.labels
    ('∅', '{1}', 'Ω')
    >>> masses
    array([[0. , 0.7, 0.3]])
    """
    names, size = read_frame(frame)
    if isinstance(sets, np.ndarray):
        table = read_table(sets)
    else:
        rows = [read_set(subset, names, size) for subset in sets]
        table = np.array(rows, dtype=bool).reshape(-1, size)
    family = FocalSets.from_membership(table, frame)
    columns = family.positions(table)
    values = np.asarray(masses)
    if not np.issubdtype(values.dtype, np.floating):
        values = values.astype(float)
    if values.shape[-1] != len(columns):
        raise ValueError(f"masses has {values.shape[-1]} columns, but sets has {len(columns)} entries.")
    if len(np.unique(columns)) < len(columns):
        raise ValueError(
            "sets contains a set twice; add its columns of masses and list it once. "
            "A table of zeros and ones must be a NumPy array; a list is read as a list of sets."
        )
    reordered = np.zeros((*values.shape[:-1], len(family)), dtype=values.dtype)
    reordered[..., columns] = values
    return reordered, family


def expand_masses(masses: npt.ArrayLike, focal_sets: FocalSets, onto: FocalSets) -> FloatArray:
    """Expand mass functions to a larger family of focal sets.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns.
    onto : FocalSets
        Family that contains all sets of `focal_sets`.

    Returns
    -------
    ndarray of shape (..., len(onto))
        Masses, with zeros for the new sets.
    """
    values = as_mass_array(masses, focal_sets)
    columns = onto.positions(focal_sets.membership)
    if onto.frame_size != focal_sets.frame_size or (columns < 0).any():
        raise ValueError(
            "onto must contain all sets of focal_sets; extend it with `onto.with_sets(focal_sets)` "
            f"(it has {len(onto)} sets on {onto.frame_size} elements)."
        )
    expanded = np.zeros((*values.shape[:-1], len(onto)), dtype=values.dtype)
    expanded[..., columns] = values
    return expanded
