"""A smooth function made small by L-BFGS, with a history, and an end when nothing much is gained any more."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import OptimizeResult, minimize

_WINDOW = 10


@dataclass
class Descent:
    """Where a descent ended.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        The variables.
    history : list of float
        The function before the first and after each iteration.
    converged : bool, default=False
        Whether it settled.
    interrupted : bool, default=False
        Whether the user stopped it.
    """

    values: npt.NDArray[np.floating[Any]]
    history: list[float]
    converged: bool = False
    interrupted: bool = False


def descend(
    evaluate: Callable[[npt.NDArray[np.floating[Any]]], tuple[float, npt.NDArray[np.floating[Any]]]],
    start: npt.NDArray[np.floating[Any]],
    *,
    tol: float,
    max_iter: int,
    gradient_tol: float,
    lower: npt.NDArray[np.floating[Any]] | None = None,
    report: Callable[[int, float], None] | None = None,
) -> Descent:
    """Minimise a function by L-BFGS.

    Parameters
    ----------
    evaluate : callable
        From variables to the function, positive, and its gradient.
    start : ndarray of shape (n_values,)
        Where to begin.
    tol : float
        Ten iterations that together lower the function by less than this share of it are the last.
    max_iter : int
        The largest number of iterations.
    gradient_tol : float
        An iteration at which all slopes are below this is the last.
    lower : ndarray of shape (n_values,) or None, default=None
        What the variables do not fall below.
    report : callable or None, default=None
        It is told the number of the iteration and the function.

    Returns
    -------
    Descent
        Where it ended, interrupted or not.
    """
    descent = Descent(start, [evaluate(start)[0]])

    def watch(intermediate_result: OptimizeResult) -> None:
        descent.values = intermediate_result.x.copy()
        descent.history.append(float(intermediate_result.fun))
        if report is not None:
            report(len(descent.history) - 1, descent.history[-1])
        before, now = descent.history[-1 - _WINDOW :][0], descent.history[-1]
        if len(descent.history) > _WINDOW and before - now <= tol * now:
            descent.converged = True
            raise StopIteration

    bounds = None if lower is None else [(least, None) for least in lower]
    options = {"maxiter": max_iter, "maxfun": 50 * max_iter, "ftol": 0, "gtol": gradient_tol}
    try:
        found = minimize(
            evaluate, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options, callback=watch
        )
        # Also where the line search finds nothing lower: that is the precision there is.
        descent.converged = descent.converged or found.nit < max_iter
    except KeyboardInterrupt:
        descent.interrupted = True
    return descent
