r"""The family of covariance models: for each name the best covariances, and the number of free parameters.

A covariance is volume times shape in an orientation, :math:`\lambda_kD_kA_kD_k^T` with :math:`|A_k|=1`. The three
letters of a name say whether volume, shape and orientation are equal in all components (E) or vary (V); I stands
for round shapes, and for axes that are those of the attributes. See Celeux and Govaert (1995).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from evlearn.belief.types import FloatArray

# Covariances of a model, and where its inner iteration ended, for the next time.
Step = Callable[[FloatArray, FloatArray, Any], tuple[FloatArray, Any]]

INNER_TOL = 1e-8
INNER_ITERATIONS = 100
# Better axes come slowly, and need not be the best: the next iteration of EM goes on from where they are.
AXES_ITERATIONS = 10


class CovarianceModel(NamedTuple):
    """A model of the family.

    Attributes
    ----------
    step : callable
        From scatter matrices (n_components, d, d), counts (n_components,) and where its inner iteration ended the
        last time (or None) to the covariances of largest likelihood, and where it ended now.
    n_parameters : callable
        From the number of components and of attributes to the number of free parameters of the covariances.
    """

    step: Step
    n_parameters: Callable[[int, int], int]


def n_free_parameters(model: str, n_components: int, n_features: int) -> int:
    """The number of free parameters of a mixture: weights, means and covariances.

    Parameters
    ----------
    model : str
        A name of `MODELS`.
    n_components, n_features : int
        The size of the mixture.

    Returns
    -------
    int
        The number.
    """
    return n_components - 1 + n_components * n_features + MODELS[model].n_parameters(n_components, n_features)


def _eii(scatter: FloatArray, counts: FloatArray, state: Any) -> tuple[FloatArray, Any]:
    c, d, _ = scatter.shape
    volume = _traces(scatter).sum() / (counts.sum() * d)
    return np.tile(volume * np.eye(d), (c, 1, 1)), None


def _vii(scatter: FloatArray, counts: FloatArray, state: Any) -> tuple[FloatArray, Any]:
    d = scatter.shape[1]
    return (_traces(scatter) / (counts * d))[:, None, None] * np.eye(d), None


def _eei(scatter: FloatArray, counts: FloatArray, state: Any) -> tuple[FloatArray, Any]:
    pooled = _diagonals(scatter).sum(axis=0) / counts.sum()
    return np.tile(np.diag(pooled), (len(counts), 1, 1)), None


def _vei(scatter: FloatArray, counts: FloatArray, state: Any) -> tuple[FloatArray, Any]:
    volumes, shape = _volumes_and_shape(_diagonals(scatter), counts, state)
    return _from_diagonals(np.outer(volumes, shape)), volumes


def _evi(scatter: FloatArray, counts: FloatArray, state: Any) -> tuple[FloatArray, Any]:
    spreads = _diagonals(scatter)
    sizes = _geometric_mean(spreads)
    return _from_diagonals(spreads * (sizes.sum() / counts.sum() / sizes)[:, None]), None


def _vvi(scatter: FloatArray, counts: FloatArray, state: Any) -> tuple[FloatArray, Any]:
    return _from_diagonals(_diagonals(scatter) / counts[:, None]), None


def _eee(scatter: FloatArray, counts: FloatArray, state: Any) -> tuple[FloatArray, Any]:
    return np.tile(scatter.sum(axis=0) / counts.sum(), (len(counts), 1, 1)), None


def _vee(scatter: FloatArray, counts: FloatArray, state: Any) -> tuple[FloatArray, Any]:
    d = scatter.shape[1]
    volumes = _traces(scatter) / (counts * d) if state is None else state
    for _ in range(INNER_ITERATIONS):
        common = np.tensordot(1 / volumes, scatter, axes=1)
        common /= np.exp(np.linalg.slogdet(common)[1] / d)
        before = volumes
        # The trace of a product of symmetric matrices is the sum over their entries.
        volumes = scatter.reshape(len(counts), -1) @ np.linalg.inv(common).ravel() / (d * counts)
        if np.abs(volumes - before).max() <= INNER_TOL * volumes.min():
            break
    return volumes[:, None, None] * common, volumes


def _eve(scatter: FloatArray, counts: FloatArray, state: Any) -> tuple[FloatArray, Any]:
    return _common_orientation(scatter, counts, state, equal_volumes=True)


def _vve(scatter: FloatArray, counts: FloatArray, state: Any) -> tuple[FloatArray, Any]:
    return _common_orientation(scatter, counts, state, equal_volumes=False)


def _eev(scatter: FloatArray, counts: FloatArray, state: Any) -> tuple[FloatArray, Any]:
    spreads, axes = np.linalg.eigh(scatter)
    return _from_axes(axes, np.tile(spreads.sum(axis=0) / counts.sum(), (len(counts), 1))), None


def _vev(scatter: FloatArray, counts: FloatArray, state: Any) -> tuple[FloatArray, Any]:
    spreads, axes = np.linalg.eigh(scatter)
    volumes, shape = _volumes_and_shape(spreads, counts, state)
    return _from_axes(axes, np.outer(volumes, shape)), volumes


def _evv(scatter: FloatArray, counts: FloatArray, state: Any) -> tuple[FloatArray, Any]:
    sizes = np.exp(np.linalg.slogdet(scatter)[1] / scatter.shape[1])
    return scatter * (sizes.sum() / counts.sum() / sizes)[:, None, None], None


def _vvv(scatter: FloatArray, counts: FloatArray, state: Any) -> tuple[FloatArray, Any]:
    return scatter / counts[:, None, None], None


def _volumes_and_shape(spreads: FloatArray, counts: FloatArray, volumes: Any) -> tuple[FloatArray, FloatArray]:
    """One shape and a volume for each component, by turns, from spreads (n_components, d) along axes."""
    d = spreads.shape[1]
    if volumes is None:
        volumes = spreads.sum(axis=1) / (counts * d)
    for _ in range(INNER_ITERATIONS):
        shape = (1 / volumes) @ spreads
        shape /= _geometric_mean(shape)
        before = volumes
        volumes = spreads @ (1 / shape) / (d * counts)
        if np.abs(volumes - before).max() <= INNER_TOL * volumes.min():
            break
    return volumes, shape


def _common_orientation(
    scatter: FloatArray, counts: FloatArray, axes: Any, *, equal_volumes: bool
) -> tuple[FloatArray, FloatArray]:
    """Shapes of their own on common axes, by turns: shapes for the axes, and better axes for these shapes.

    The axes minimise a sum of traces that is concave once the largest eigenvalues are taken off, so that its
    linear bound has its minimum at the singular vectors of a matrix.
    """
    if axes is None:
        axes = np.linalg.eigh(scatter.sum(axis=0))[1]
    lowered = scatter - np.linalg.eigvalsh(scatter)[:, -1, None, None] * np.eye(scatter.shape[1])
    variances = _variances_along(axes, scatter, counts, equal_volumes)
    for _ in range(AXES_ITERATIONS):
        left, _, right = np.linalg.svd(((axes.T @ lowered) / variances[:, :, None]).sum(axis=0))
        axes, before = (left @ right).T, variances
        variances = _variances_along(axes, scatter, counts, equal_volumes)
        gain = counts @ np.log(before / variances).sum(axis=1)
        if not gain > INNER_TOL * counts.sum():
            break
    return (axes * variances[:, None, :]) @ axes.T, axes


def _variances_along(axes: FloatArray, scatter: FloatArray, counts: FloatArray, equal_volumes: bool) -> FloatArray:
    spreads: FloatArray = ((axes.T @ scatter) * axes.T).sum(axis=2)
    if equal_volumes:
        sizes = _geometric_mean(spreads)
        return np.asarray(spreads * (sizes.sum() / counts.sum() / sizes)[:, None])
    return np.asarray(spreads / counts[:, None])


def _traces(scatter: FloatArray) -> Any:
    return np.trace(scatter, axis1=1, axis2=2)


def _diagonals(scatter: FloatArray) -> Any:
    return np.diagonal(scatter, axis1=1, axis2=2)


def _from_diagonals(variances: FloatArray) -> FloatArray:
    return variances[:, :, None] * np.eye(variances.shape[1])


def _from_axes(axes: FloatArray, variances: FloatArray) -> FloatArray:
    covariances: FloatArray = (axes * variances[:, None, :]) @ axes.swapaxes(1, 2)
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
    # One attribute: nothing but a volume.
    "E": CovarianceModel(_eii, lambda c, d: 1),
    "V": CovarianceModel(_vii, lambda c, d: c),
}
ONE_DIMENSIONAL = ("E", "V")
MULTIVARIATE = tuple(name for name in MODELS if name not in ONE_DIMENSIONAL)

__all__ = ["MODELS", "MULTIVARIATE", "ONE_DIMENSIONAL", "CovarianceModel", "n_free_parameters"]
