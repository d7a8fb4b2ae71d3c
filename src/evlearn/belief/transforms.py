r"""Equivalent forms of mass functions, for arrays.

All functions accept masses of shape ``(..., f)``, with a column for each focal set:

- implicability :math:`b(A)=\sum_{B\subseteq A}m(B)` and belief :math:`Bel(A)=b(A)-m(\emptyset)`,
- plausibility :math:`Pl(A)=\sum_{B\cap A\ne\emptyset}m(B)`,
- commonality :math:`q(A)=\sum_{B\supseteq A}m(B)`,
- the contour function :math:`pl(\omega)=Pl(\{\omega\})`,
- the canonical weights :math:`\ln w(A)=-\sum_{B\supseteq A}(-1)^{|B|-|A|}\ln q(B)`.

For a full family, the fast Möbius transform makes c passes over 2^c values; for other families, it is a matrix
product. Because a family is ordered by size, this matrix is triangular and can be inverted for any family.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.validation import as_mass_array
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_choice

#: Largest negative rounding error of an inversion; larger negative values are errors of the input.
_NOISE = 1e-12


def implicability(masses: npt.ArrayLike, focal_sets: FocalSets, at: FocalSets | None = None) -> FloatArray:
    """Compute the mass of all subsets of each set, including the empty set.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns.
    at : FocalSets, default=None
        Sets to evaluate; None means `focal_sets`.

    Returns
    -------
    ndarray of shape (..., len(at))
        Implicabilities, with a column for each set.
    """
    values = as_mass_array(masses, focal_sets)
    if focal_sets.is_full and at in (None, focal_sets):
        return _transform_by_codes(values, focal_sets, _sum_over_subsets)
    return values @ focal_sets.subset_matrix(at).astype(values.dtype)


def belief(masses: npt.ArrayLike, focal_sets: FocalSets, at: FocalSets | None = None) -> FloatArray:
    """Compute the degree of belief of each set, the mass of its nonempty subsets.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns.
    at : FocalSets, default=None
        Sets to evaluate; None means `focal_sets`.

    Returns
    -------
    ndarray of shape (..., len(at))
        Degrees of belief, with a column for each set.

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
    """Compute the plausibility of each set, the mass of all sets that intersect it.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns.
    at : FocalSets, default=None
        Sets to evaluate; None means `focal_sets`.

    Returns
    -------
    ndarray of shape (..., len(at))
        Plausibilities, with a column for each set.
    """
    values = as_mass_array(masses, focal_sets)
    if focal_sets.is_full and at in (None, focal_sets):
        return _transform_by_codes(values, focal_sets, _plausibility_bits)
    return values @ focal_sets.intersects_matrix(at).astype(values.dtype)


def commonality(masses: npt.ArrayLike, focal_sets: FocalSets, at: FocalSets | None = None) -> FloatArray:
    """Compute the commonality of each set, the mass of its supersets.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns.
    at : FocalSets, default=None
        Sets to evaluate; None means `focal_sets`.

    Returns
    -------
    ndarray of shape (..., len(at))
        Commonalities, with a column for each set.
    """
    values = as_mass_array(masses, focal_sets)
    if focal_sets.is_full and at in (None, focal_sets):
        return _transform_by_codes(values, focal_sets, _sum_over_supersets)
    supersets = (at or focal_sets).subset_matrix(focal_sets).T
    return values @ supersets.astype(values.dtype)


def contour(masses: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """Compute the plausibility of each element of the frame.

    This is one matrix product, without another array as large as `masses`.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns.

    Returns
    -------
    ndarray of shape (..., frame_size)
        Plausibilities, with a column for each element.
    """
    values = as_mass_array(masses, focal_sets)
    return np.asarray(values @ focal_sets.membership.astype(values.dtype))


def canonical_weights(masses: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """Compute the weights of the simple mass functions whose conjunction is `masses`.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions with some mass on the frame.
    focal_sets : FocalSets
        Sets of the columns, ``FocalSets.full(...)``.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        Weight of each set; 1, by convention, for the frame.
    """
    values = as_mass_array(masses, focal_sets)
    _require_full(focal_sets, "canonical_weights")
    if not (values[..., -1] > 0).all():
        raise ValueError(
            "canonical weights need some mass on the whole frame in each mass function; "
            "discount the others first, for example with discount(masses, focal_sets, 1e-12)."
        )
    logs = -np.log(commonality(values.astype(np.float64), focal_sets))
    logs = superset_inverse(logs, focal_sets)
    logs[..., -1] = 0
    return np.exp(logs).astype(values.dtype)


def masses_from(
    form: Literal["belief", "commonality", "implicability", "plausibility", "weights"],
    values: npt.ArrayLike,
    focal_sets: FocalSets,
) -> FloatArray:
    """Return the mass functions that another form of them determines.

    Parameters
    ----------
    form : {"belief", "commonality", "implicability", "plausibility", "weights"}
        Form of the values: the result of the function of that name, or of `canonical_weights`.
    values : array-like of shape (..., n_focal_sets)
        Values on the focal sets. Weights are positive; the weight of the frame is not used.
    focal_sets : FocalSets
        Sets of the columns; ``FocalSets.full(...)`` for plausibilities and weights.

    Returns
    -------
    ndarray of shape (..., n_focal_sets)
        Masses.

    Examples
    --------
    >>> from evlearn.belief import FocalSets, belief, masses_from
    >>> sets = FocalSets.full(2)
    >>> masses_from("belief", belief([0.1, 0.2, 0.3, 0.4], sets), sets).round(12)
    array([0.1, 0.2, 0.3, 0.4])
    """
    check_choice("form", form, _FORMS)
    return _FORMS[form](values, focal_sets)


def masses_from_implicability(values: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """Return the mass functions with these implicabilities."""
    array = as_mass_array(values, focal_sets, name="values")
    if focal_sets.is_full:
        masses = _transform_by_codes(array.astype(np.float64), focal_sets, _difference_over_subsets)
    else:
        masses = array.astype(np.float64) @ focal_sets.moebius_matrix
    return _remove_noise(masses, array.dtype)


def _masses_from_belief(values: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """Return the mass functions with these degrees of belief."""
    # Bel is the implicability of the masses without the empty set, which gets the rest of the mass.
    masses = masses_from_implicability(values, focal_sets)
    masses[..., 0] = np.clip(1 - masses[..., 1:].sum(axis=-1), 0, None)
    return masses


def _masses_from_plausibility(values: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """Return the mass functions with these plausibilities."""
    array = as_mass_array(values, focal_sets, name="values")
    _require_full(focal_sets, "masses_from('plausibility', ...)")
    return masses_from_implicability(1 - array[..., complement_positions(focal_sets)], focal_sets)


def masses_from_commonality(values: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """Return the mass functions with these commonalities."""
    array = as_mass_array(values, focal_sets, name="values")
    return _remove_noise(superset_inverse(array.astype(np.float64), focal_sets), array.dtype)


def superset_inverse(values: FloatArray, focal_sets: FocalSets) -> FloatArray:
    """Invert sums over supersets, without checking that the result is a mass function."""
    if focal_sets.is_full:
        return _transform_by_codes(values, focal_sets, _difference_over_supersets)
    return values @ focal_sets.moebius_matrix.T


def masses_from_weights(weights: npt.ArrayLike, focal_sets: FocalSets) -> FloatArray:
    """Return the mass functions with these canonical weights."""
    array = as_mass_array(weights, focal_sets, name="weights")
    _require_full(focal_sets, "masses_from('weights', ...)")
    if not (array > 0).all():
        raise ValueError(
            "weights must be positive, because mass functions without mass on the frame have no canonical weights."
        )
    logs = np.log(array.astype(np.float64))
    logs[..., -1] = 0
    # A set's commonality is the product of the weights of the sets that do not contain it.
    total = logs.sum(axis=-1, keepdims=True)
    commonalities = np.exp(total - _transform_by_codes(logs, focal_sets, _sum_over_supersets))
    return masses_from_commonality(commonalities, focal_sets).astype(array.dtype)


_FORMS: dict[str, Callable[[npt.ArrayLike, FocalSets], FloatArray]] = {
    "belief": _masses_from_belief,
    "commonality": masses_from_commonality,
    "implicability": masses_from_implicability,
    "plausibility": _masses_from_plausibility,
    "weights": masses_from_weights,
}


def complement_positions(focal_sets: FocalSets) -> npt.NDArray[np.intp]:
    """Return the position of the complement of each set in a full family."""
    return focal_sets.positions(~focal_sets.membership)


def _require_full(focal_sets: FocalSets, function: str) -> None:
    if not focal_sets.is_full:
        raise ValueError(
            f"{function} needs all subsets of the frame as focal_sets, got {len(focal_sets)} sets on "
            f"{focal_sets.frame_size} elements; use `expand_masses` onto FocalSets.full(...)."
        )


def _remove_noise(masses: FloatArray, dtype: np.dtype[Any]) -> FloatArray:
    lowest = masses.min(initial=0)
    noise = _NOISE if dtype == np.float64 else 1e-5
    if lowest < -noise:
        raise ValueError(
            f"values are not those of mass functions: one of the masses would be {lowest:.3g}. "
            "Check their order (see focal_sets.labels) and that they are not rounded."
        )
    return np.maximum(masses, 0, out=masses).astype(dtype, copy=False)


# Fast Möbius transforms. `bits` has shape (2^c, n): subsets are on the first axis for contiguous memory access.


def _transform_by_codes(values: FloatArray, focal_sets: FocalSets, transform: Any) -> FloatArray:
    by_code = np.empty((len(focal_sets), int(np.prod(values.shape[:-1]))), dtype=values.dtype)
    by_code[focal_sets.bit_codes] = values.reshape(-1, len(focal_sets)).T
    transformed = transform(by_code)[focal_sets.bit_codes]
    return np.ascontiguousarray(transformed.T).reshape(values.shape)


def _split_by_elements(bits: FloatArray) -> Any:
    """Yield, for each element, views of the subsets without it and with it."""
    for element in range(bits.shape[0].bit_length() - 1):
        split = bits.reshape(bits.shape[0] >> element + 1, 2, 1 << element, bits.shape[1])
        yield split[:, 0], split[:, 1]


def _sum_over_subsets(bits: FloatArray) -> FloatArray:
    for without_element, with_element in _split_by_elements(bits):
        with_element += without_element
    return bits


def _difference_over_subsets(bits: FloatArray) -> FloatArray:
    for without_element, with_element in _split_by_elements(bits):
        with_element -= without_element
    return bits


def _sum_over_supersets(bits: FloatArray) -> FloatArray:
    for without_element, with_element in _split_by_elements(bits):
        without_element += with_element
    return bits


def _difference_over_supersets(bits: FloatArray) -> FloatArray:
    for without_element, with_element in _split_by_elements(bits):
        without_element -= with_element
    return bits


def _plausibility_bits(bits: FloatArray) -> FloatArray:
    # Pl(A) = b(frame) - b(complement of A), and complements are in reverse order.
    implied = _sum_over_subsets(bits)
    return np.asarray(implied[-1] - implied[::-1])
