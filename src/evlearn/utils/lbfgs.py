"""Minimization of smooth functions by L-BFGS, with a history and a stopping criterion on the objective."""

from collections.abc import Callable
from dataclasses import replace

from scipy.optimize import OptimizeResult, minimize

from evlearn.utils.convergence import Report, Trace
from evlearn.utils.typing import FloatArray

_WINDOW = 10


def minimize_lbfgs(
    evaluate: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    *,
    tol: float,
    max_iter: int,
    gradient_tol: float,
    lower: FloatArray | None = None,
    report: Report | None = None,
) -> Trace[FloatArray]:
    """Minimize a function by L-BFGS of SciPy; Ctrl-C ends it with the last iteration."""
    trace = Trace(start, [evaluate(start)[0]])
    if not len(start):  # older versions of SciPy raise an error
        return replace(trace, converged=True)

    def callback(intermediate_result: OptimizeResult) -> None:
        nonlocal trace
        history = [*trace.history, float(intermediate_result.fun)]
        previous, objective = history[-1 - _WINDOW :][0], history[-1]
        trace = Trace(
            intermediate_result.x.copy(),
            history,
            len(history) > _WINDOW and previous - objective <= tol * objective,
        )
        if report is not None:
            report(trace.n_iter, objective)
        if trace.converged:
            raise StopIteration

    bounds = None if lower is None else [(bound, None) for bound in lower]
    options = {"maxiter": max_iter, "maxfun": 50 * max_iter, "ftol": 0, "gtol": gradient_tol}
    try:
        result = minimize(
            evaluate, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options, callback=callback
        )
    except KeyboardInterrupt:
        return replace(trace, interrupted=True)
    # If the line search finds no lower value, the limit of precision is reached.
    return replace(trace, converged=trace.converged or result.nit < max_iter)
