r"""The equivalent forms of a mass function, for whole arrays of them.

Every function takes masses of shape ``(..., f)``, a column for each focal set, and works on all of them at once:

- implicability :math:`b(A)=\sum_{B\subseteq A}m(B)` and belief :math:`Bel(A)=b(A)-m(\emptyset)`,
- plausibility :math:`Pl(A)=\sum_{B\cap A\ne\emptyset}m(B)`,
- commonality :math:`q(A)=\sum_{B\supseteq A}m(B)`,
- the contour function :math:`pl(\omega)=Pl(\{\omega\})`,
- the canonical weights :math:`\ln w(A)=-\sum_{B\supseteq A}(-1)^{|B|-|A|}\ln q(B)`.

On a full family the fast Möbius transform takes c passes over 2^c values; on any other family a small matrix
product does the same. Because a family is ordered by size, that matrix is triangular and can be inverted, so
the way back exists whatever the family.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.validation import as_mass_array
from evlearn.utils.typing import FloatArray

#: Inversions may leave rounding noise of this size below zero; anything larger is an error of the input.
_NOISE = 1e-12


def implicability(masses: npt.ArrayLike, focal_sets: FocalSets, at: FocalSets | None = None) -> FloatArray:
    """The mass of all subsets of each set, the empty set included.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for.
    at : FocalSets, default=None
        The sets to evaluate; None means `focal_sets`.

    Returns
    -------
    ndarray of shape (..., len(at))
        The values, a column for each set.
    """
    values = as_mass_array(masses, focal_sets)
    if focal_sets.is_full and at in (None, focal_sets):
        return _through_bits(values, focal_sets, _sum_over_subsets)
    return values @ focal_sets.subset_matrix(at).astype(values.dtype)


def belief(masses: npt.ArrayLike, focal_sets: FocalSets, at: FocalSets | None = None) -> FloatArray:
    """The mass that supports each set: that of its nonempty subsets.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for.
    at : FocalSets, default=None
        The sets to evaluate; None means `focal_sets`.

    Returns
    -------
    ndarray of shape (..., len(at))
        The degrees of belief, a column for each set.

    Examples
    --------
    >>> from evlearn.belief import FocalSets, belief, plausibility
    >>> sets = FocalSets.full(2)
    >>> belief([0, 0.5, 0.2, 0.3], sets)
    array([0. , 0.5, 0.2, 1. ])
    >>> plausibility([0, 0.5, 0.2, 0.3], sets)
    array([0. , 0.8, 0.5, 1. ])
    """
    values = as_mass_array(masses, focal_sets)
    return implicability(values, focal_sets, at) - values[..., :1]


def plausibility(masses: npt.ArrayLike, focal_sets: FocalSets, at: FocalSets | None = None) -> FloatArray:
    """The mass that does not speak against each set: that of all sets that meet it.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for.
    at : FocalSets, default=None
        The sets to evaluate; None means `focal_sets`.

    Returns
    -------
    ndarray of shape (..., len(at))
        The plausibilities, a column for each set.
    """
    values = as_mass_array(masses, focal_sets)
    if focal_sets.is_full and at in (None, focal_sets):
        return _through_bits(values, focal_sets, _plausibility_bits)
    return values @ focal_sets.intersects_matrix(at).astype(values.dtype)


def commonality(masses: npt.ArrayLike, focal_sets: FocalSets, at: FocalSets | None = None) -> FloatArray:
    """The mass of all supersets of each set.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for.
    at : FocalSets, default=None
        The sets to evaluate; None means `focal_sets`.

    Returns
    -------
    ndarray of shape (..., len(at))
        The commonalities, a column for each set.
    """
    values = as_mass_array(masses, focal_sets)
    if focal_sets.is_full and at in (None, focal_sets):
        return _through_bits(values, focal_sets, _sum_over_supersets)
    supersets = (at or focal_sets).subset_matrix(focal_sets).T
    return values @ supersets.astype(values.dtype)


def contour(masses: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """The plausibility of each element of the frame.

    One matrix product; no other array as large as `masses` is made.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for.

    Returns
    -------
    ndarray of shape (..., frame_size)
        The plausibilities, a column for each element.
    """
    values = as_mass_array(masses, focal_sets)
    return np.asarray(values @ focal_sets.membership.astype(values.dtype))


def canonical_weights(masses: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """The weights of the simple mass functions whose conjunction is `masses`.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions, with some mass on the frame, on a full family.
    focal_sets : FocalSets
        What the columns stand for: ``FocalSets.full(...)``.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        The weight of each set; 1, by convention, for the frame.
    """
    values = as_mass_array(masses, focal_sets)
    _require_full(focal_sets, "canonical_weights")
    if not (values[..., -1] > 0).all():
        raise ValueError(
            "canonical weights need some mass on the whole frame in every mass function; "
            "discount the others first, for example with discount(masses, focal_sets, 1e-12)."
        )
    logs = -np.log(commonality(values.astype(np.float64), focal_sets))
    logs = superset_inverse(logs, focal_sets)
    logs[..., -1] = 0
    return np.exp(logs).astype(values.dtype)


def mass_from_implicability(values: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """The mass functions with these implicabilities on their focal sets.

    Parameters
    ----------
    values : array-like of shape (..., n_focal_sets)
        Implicabilities.
    focal_sets : FocalSets
        What the columns stand for.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        Masses.
    """
    given = as_mass_array(values, focal_sets, name="values")
    if focal_sets.is_full:
        masses = _through_bits(given.astype(np.float64), focal_sets, _difference_over_subsets)
    else:
        masses = given.astype(np.float64) @ focal_sets.moebius_matrix
    return _without_noise(masses, given.dtype)


def mass_from_belief(values: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """The mass functions with these degrees of belief on their focal sets.

    Parameters
    ----------
    values : array-like of shape (..., n_focal_sets)
        Degrees of belief.
    focal_sets : FocalSets
        What the columns stand for.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        Masses.
    """
    # Bel is the implicability of the masses without the empty set, which then takes what is missing to one.
    masses = mass_from_implicability(values, focal_sets)
    masses[..., 0] = np.clip(1 - masses[..., 1:].sum(axis=-1), 0, None)
    return masses


def mass_from_plausibility(values: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """The mass functions with these plausibilities, on a full family.

    Parameters
    ----------
    values : array-like of shape (..., n_focal_sets)
        Plausibilities.
    focal_sets : FocalSets
        What the columns stand for: ``FocalSets.full(...)``.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        Masses.
    """
    given = as_mass_array(values, focal_sets, name="values")
    _require_full(focal_sets, "mass_from_plausibility")
    return mass_from_implicability(1 - given[..., complements(focal_sets)], focal_sets)


def mass_from_commonality(values: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """The mass functions with these commonalities on their focal sets.

    Parameters
    ----------
    values : array-like of shape (..., n_focal_sets)
        Commonalities.
    focal_sets : FocalSets
        What the columns stand for.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        Masses.
    """
    given = as_mass_array(values, focal_sets, name="values")
    return _without_noise(superset_inverse(given.astype(np.float64), focal_sets), given.dtype)


def superset_inverse(values: FloatArray, focal_sets: FocalSets) -> FloatArray:
    """Undo sums over supersets, without asking whether the result is a mass function."""
    if focal_sets.is_full:
        return _through_bits(values, focal_sets, _difference_over_supersets)
    return values @ focal_sets.moebius_matrix.T


def mass_from_weights(weights: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """The mass functions with these canonical weights, on a full family.

    Parameters
    ----------
    weights : array-like of shape (..., n_focal_sets)
        Positive weights; the one of the frame is not used.
    focal_sets : FocalSets
        What the columns stand for: ``FocalSets.full(...)``.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        Masses.
    """
    given = as_mass_array(weights, focal_sets, name="weights")
    _require_full(focal_sets, "mass_from_weights")
    if not (given > 0).all():
        raise ValueError("weights must be positive; a weight of 0 belongs to a mass function without weights.")
    logs = np.log(given.astype(np.float64))
    logs[..., -1] = 0
    # A set's commonality is the product of the weights of the sets that do not contain it.
    total = logs.sum(axis=-1, keepdims=True)
    commonalities = np.exp(total - _through_bits(logs, focal_sets, _sum_over_supersets))
    return mass_from_commonality(commonalities, focal_sets).astype(given.dtype)


def complements(focal_sets: FocalSets) -> npt.NDArray[np.intp]:
    """The position of each set's complement in a full family."""
    return focal_sets.positions(~focal_sets.membership)


def _require_full(focal_sets: FocalSets, function: str) -> None:
    if not focal_sets.is_full:
        raise ValueError(
            f"{function} needs all subsets of the frame as focal_sets, got {len(focal_sets)} sets on "
            f"{focal_sets.frame_size} elements; use `expand` onto FocalSets.full(...)."
        )


def _without_noise(masses: FloatArray, dtype: np.dtype[Any]) -> FloatArray:
    lowest = masses.min(initial=0)
    noise = _NOISE if dtype == np.float64 else 1e-5
    if lowest < -noise:
        raise ValueError(
            f"values do not come from mass functions: one of the masses would be {lowest:.3g}. "
            "Check their order (see focal_sets.labels) and that they are not rounded."
        )
    return np.maximum(masses, 0, out=masses).astype(dtype, copy=False)


# Fast Möbius transforms. `bits` has shape (2^c, n): subsets lead, so that every pass runs along memory.


def _through_bits(values: FloatArray, focal_sets: FocalSets, transform: Any) -> FloatArray:
    by_code = np.empty((len(focal_sets), int(np.prod(values.shape[:-1]))), dtype=values.dtype)
    by_code[focal_sets.bit_codes] = values.reshape(-1, len(focal_sets)).T
    transformed = transform(by_code)[focal_sets.bit_codes]
    return np.ascontiguousarray(transformed.T).reshape(values.shape)


def _passes(bits: FloatArray) -> Any:
    """For each element, the subsets without it and with it, as views."""
    for element in range(bits.shape[0].bit_length() - 1):
        split = bits.reshape(bits.shape[0] >> element + 1, 2, 1 << element, bits.shape[1])
        yield split[:, 0], split[:, 1]


def _sum_over_subsets(bits: FloatArray) -> FloatArray:
    for without, with_element in _passes(bits):
        with_element += without
    return bits


def _difference_over_subsets(bits: FloatArray) -> FloatArray:
    for without, with_element in _passes(bits):
        with_element -= without
    return bits


def _sum_over_supersets(bits: FloatArray) -> FloatArray:
    for without, with_element in _passes(bits):
        without += with_element
    return bits


def _difference_over_supersets(bits: FloatArray) -> FloatArray:
    for without, with_element in _passes(bits):
        without -= with_element
    return bits


def _plausibility_bits(bits: FloatArray) -> FloatArray:
    # Pl(A) = b(frame) - b(complement of A), and complements lie in reverse order.
    implied = _sum_over_subsets(bits)
    return np.asarray(implied[-1] - implied[::-1])
