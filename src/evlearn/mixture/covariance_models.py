r"""Family of covariance models: the optimal covariances and the number of free parameters of each model.

A covariance is the product of volume, shape and orientation, :math:`\lambda_kD_kA_kD_k^T` with :math:`|A_k|=1`.
The 3 letters of a name state whether volume, shape and orientation are equal in all components (E) or vary (V); I
stands for spherical shapes, or for axes parallel to those of the features. See Celeux and Govaert (1995).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from evlearn.kernels.gaussian import settle_volumes, turn_axes
from evlearn.utils.typing import FloatArray

# Covariances of a model, and the final state of its inner iteration, for the next call.
Step = tuple[FloatArray, Any]

INNER_TOL = 1e-8
INNER_ITERATIONS = 100
# Later steps only have to improve the likelihood: the next iteration of EM continues from there.
NEXT_ITERATIONS = 3
TURNS = 10


class CovarianceModel(NamedTuple):
    """A model of the family.

    Attributes
    ----------
    step : callable
        Function of scatter matrices (..., n_components, d, d), counts (..., n_components) and the previous state
        of its inner iteration (or None). It returns the covariances of largest likelihood and the new state, an
        array with the same leading axes or None. Singular matrices result in values that are not finite.
    n_parameters : callable
        Function from the numbers of components and features to the number of free parameters of covariances.
    """

    step: Callable[[FloatArray, FloatArray, Any], Step]
    n_parameters: Callable[[int, int], int]


def n_free_parameters(model: str, n_components: int, n_features: int) -> int:
    """Return the number of free parameters of a mixture: weights, means and covariances."""
    return n_components - 1 + n_components * n_features + MODELS[model].n_parameters(n_components, n_features)


def raise_to_floor(covariances: FloatArray, floor: FloatArray) -> FloatArray:
    """Raise covariances so that the variances are not below a floor in any direction.

    In units in which the floor is 1 along each feature, eigenvalues below 1 are set to 1. If components share
    all parameters or none, this is the covariance of largest likelihood above the floor.
    """
    units = np.sqrt(floor)
    scaled = covariances / units[:, None] / units
    finite = np.asarray(np.isfinite(scaled).all(axis=(-1, -2)))
    variances, axes = np.linalg.eigh(np.where(finite[..., None, None], scaled, np.eye(len(floor))))
    low = finite & (variances[..., 0] < 1)
    if not low.any():
        return covariances
    better = _from_axes(axes, np.maximum(variances, 1)) * units[:, None] * units
    return np.asarray(np.where(low[..., None, None], better, covariances))


def _eii(scatter: FloatArray, counts: FloatArray, state: Any) -> Step:
    d = scatter.shape[-1]
    volume = _traces(scatter).sum(axis=-1) / (counts.sum(axis=-1) * d)
    return _for_all(volume[..., None, None] * np.eye(d), counts), None


def _vii(scatter: FloatArray, counts: FloatArray, state: Any) -> Step:
    d = scatter.shape[-1]
    return (_traces(scatter) / (counts * d))[..., None, None] * np.eye(d), None


def _eei(scatter: FloatArray, counts: FloatArray, state: Any) -> Step:
    pooled = _diagonals(scatter).sum(axis=-2) / counts.sum(axis=-1)[..., None]
    return _for_all(_from_diagonals(pooled), counts), None


def _vei(scatter: FloatArray, counts: FloatArray, state: Any) -> Step:
    volumes, shape = _volumes_and_shape(_diagonals(scatter), counts, state)
    return _from_diagonals(volumes[..., None] * shape[..., None, :]), volumes


def _evi(scatter: FloatArray, counts: FloatArray, state: Any) -> Step:
    return _from_diagonals(_with_mean_volume(_diagonals(scatter), counts)), None


def _vvi(scatter: FloatArray, counts: FloatArray, state: Any) -> Step:
    return _from_diagonals(_diagonals(scatter) / counts[..., None]), None


def _eee(scatter: FloatArray, counts: FloatArray, state: Any) -> Step:
    return _for_all(scatter.sum(axis=-3) / counts.sum(axis=-1)[..., None, None], counts), None


def _vee(scatter: FloatArray, counts: FloatArray, state: Any) -> Step:
    d = scatter.shape[-1]
    flat = scatter.reshape(*counts.shape, d * d)

    def improve(volumes: FloatArray) -> tuple[FloatArray, FloatArray]:
        common = (scatter / volumes[..., None, None]).sum(axis=-3)
        signs, logs = np.linalg.slogdet(common)
        common /= np.where(signs > 0, np.exp(logs / d), np.nan)[..., None, None]
        # The trace of a product of symmetric matrices is the sum over their entries.
        inverses = _where_finite(np.linalg.inv, common).reshape(*counts.shape[:-1], d * d, 1)
        return (flat @ inverses)[..., 0] / (d * counts), common

    volumes, common = _converge(improve, _traces(scatter) / (counts * d), state)
    return volumes[..., None, None] * common[..., None, :, :], volumes


def _eve(scatter: FloatArray, counts: FloatArray, state: Any) -> Step:
    spreads, axes = _on_common_axes(scatter, state, None)
    return _from_axes(axes[..., None, :, :], _with_mean_volume(spreads, counts)), axes


def _vve(scatter: FloatArray, counts: FloatArray, state: Any) -> Step:
    spreads, axes = _on_common_axes(scatter, state, counts)
    return _from_axes(axes[..., None, :, :], spreads / counts[..., None]), axes


def _eev(scatter: FloatArray, counts: FloatArray, state: Any) -> Step:
    spreads, axes = np.linalg.eigh(scatter)
    pooled = spreads.sum(axis=-2) / counts.sum(axis=-1)[..., None]
    return _from_axes(axes, pooled[..., None, :]), None


def _vev(scatter: FloatArray, counts: FloatArray, state: Any) -> Step:
    spreads, axes = np.linalg.eigh(scatter)
    volumes, shape = _volumes_and_shape(spreads, counts, state)
    return _from_axes(axes, volumes[..., None] * shape[..., None, :]), volumes


def _evv(scatter: FloatArray, counts: FloatArray, state: Any) -> Step:
    sizes = np.exp(np.linalg.slogdet(scatter)[1] / scatter.shape[-1])
    return scatter * _shares_of_mean(sizes, counts)[..., None, None], None


def _vvv(scatter: FloatArray, counts: FloatArray, state: Any) -> Step:
    return scatter / counts[..., None, None], None


def _converge(
    improve: Callable[[FloatArray], tuple[FloatArray, FloatArray]], start: FloatArray, state: Any
) -> tuple[FloatArray, FloatArray]:
    """Repeat `improve`, which updates volumes and dependent values, until the volumes of each run converge.

    The first call begins with `start`. Later calls run a few iterations from the previous state.
    """
    volumes = start if state is None else state
    better, others = improve(volumes)
    for _ in range(INNER_ITERATIONS if state is None else NEXT_ITERATIONS):
        moving = np.abs(better - volumes).max(axis=-1) > INNER_TOL * better.min(axis=-1)
        if not moving.any():
            break
        volumes = better
        following, improved = improve(volumes)
        # A run that has converged does not change any more.
        better = np.where(moving[..., None], following, volumes)
        others = np.where(moving.reshape(moving.shape + (1,) * (others.ndim - moving.ndim)), improved, others)
    return better, others


def _volumes_and_shape(spreads: FloatArray, counts: FloatArray, state: Any) -> tuple[FloatArray, FloatArray]:
    """Alternate between a common shape and volumes of components, from spreads (..., n_components, d)."""
    spreads = np.ascontiguousarray(spreads)
    c, d = spreads.shape[-2:]
    volumes = spreads.sum(axis=-1) / (counts * d) if state is None else state.copy()
    shape = np.empty((*spreads.shape[:-2], d))
    settle_volumes(
        spreads.reshape(-1, c, d),
        counts.reshape(-1, c),
        volumes.reshape(-1, c),
        shape.reshape(-1, d),
        INNER_ITERATIONS if state is None else NEXT_ITERATIONS,
        INNER_TOL,
    )
    return volumes, shape


def _on_common_axes(scatter: FloatArray, axes: Any, counts: FloatArray | None) -> Step:
    """Return the spreads of components along common axes, and the axes, as columns.

    The axes are rotated once, pair by pair, to the largest likelihood (Flury and Gautschi, 1986). The next
    iteration of EM continues from there; rotations until convergence take longer without a larger likelihood.
    Without counts, volumes are equal and components are weighted by their volumes.
    """
    c, d = scatter.shape[-3:-1]
    axes = np.linalg.eigh(scatter.sum(axis=-3))[1] if axes is None else axes.copy()
    rotated = np.ascontiguousarray(axes.swapaxes(-1, -2)[..., None, :, :] @ scatter @ axes[..., None, :, :])
    weights, share = (_geometric_mean(_diagonals(rotated)), 1 / d) if counts is None else (counts.copy(), 0.0)
    turn_axes(axes.reshape(-1, d, d), rotated.reshape(-1, c, d, d), weights.reshape(-1, c), share, TURNS)
    return _diagonals(rotated), axes


def _where_finite(function: Callable[[FloatArray], FloatArray], matrices: FloatArray) -> FloatArray:
    """Apply a function to the finite matrices; the others become NaN."""
    finite = np.isfinite(matrices).all(axis=(-1, -2), keepdims=True)
    if finite.all():
        return function(matrices)
    return np.asarray(np.where(finite, function(np.where(finite, matrices, np.eye(matrices.shape[-1]))), np.nan))


def _with_mean_volume(spreads: FloatArray, counts: FloatArray) -> FloatArray:
    """Scale the spreads of each component to variances of equal volume."""
    return np.asarray(spreads * _shares_of_mean(_geometric_mean(spreads), counts)[..., None])


def _shares_of_mean(sizes: FloatArray, counts: FloatArray) -> FloatArray:
    return np.asarray((sizes.sum(axis=-1) / counts.sum(axis=-1))[..., None] / sizes)


def _for_all(covariances: FloatArray, counts: FloatArray) -> FloatArray:
    """Repeat a covariance matrix for all components."""
    return np.repeat(covariances[..., None, :, :], counts.shape[-1], axis=-3)


def _traces(scatter: FloatArray) -> Any:
    return np.trace(scatter, axis1=-2, axis2=-1)


def _diagonals(scatter: FloatArray) -> Any:
    return np.diagonal(scatter, axis1=-2, axis2=-1)


def _from_diagonals(variances: FloatArray) -> FloatArray:
    return variances[..., None] * np.eye(variances.shape[-1])


def _from_axes(axes: FloatArray, variances: FloatArray) -> FloatArray:
    covariances: FloatArray = (axes * variances[..., None, :]) @ axes.swapaxes(-1, -2)
    return covariances


def _geometric_mean(values: FloatArray) -> Any:
    return np.exp(np.log(values).mean(axis=-1))


def _rotations(d: int) -> int:
    return d * (d - 1) // 2


MODELS = {
    "EII": CovarianceModel(_eii, lambda c, d: 1),
    "VII": CovarianceModel(_vii, lambda c, d: c),
    "EEI": CovarianceModel(_eei, lambda c, d: d),
    "VEI": CovarianceModel(_vei, lambda c, d: c + d - 1),
    "EVI": CovarianceModel(_evi, lambda c, d: 1 + c * (d - 1)),
    "VVI": CovarianceModel(_vvi, lambda c, d: c * d),
    "EEE": CovarianceModel(_eee, lambda c, d: d + _rotations(d)),
    "VEE": CovarianceModel(_vee, lambda c, d: c + d - 1 + _rotations(d)),
    "EVE": CovarianceModel(_eve, lambda c, d: 1 + c * (d - 1) + _rotations(d)),
    "VVE": CovarianceModel(_vve, lambda c, d: c * d + _rotations(d)),
    "EEV": CovarianceModel(_eev, lambda c, d: d + c * _rotations(d)),
    "VEV": CovarianceModel(_vev, lambda c, d: c + d - 1 + c * _rotations(d)),
    "EVV": CovarianceModel(_evv, lambda c, d: 1 + c * (d - 1) + c * _rotations(d)),
    "VVV": CovarianceModel(_vvv, lambda c, d: c * d + c * _rotations(d)),
    # One feature: only a volume.
    "E": CovarianceModel(_eii, lambda c, d: 1),
    "V": CovarianceModel(_vii, lambda c, d: c),
}
ONE_DIMENSIONAL = ("E", "V")
BALLS = ("EII", "VII")
MULTIVARIATE = tuple(name for name in MODELS if name not in ONE_DIMENSIONAL)
