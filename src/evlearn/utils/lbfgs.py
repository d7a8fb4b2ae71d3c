"""A smooth function made small by L-BFGS, with a history, and an end when nothing much is gained any more."""

from collections.abc import Callable
from dataclasses import replace

from scipy.optimize import OptimizeResult, minimize

from evlearn.utils.convergence import Report, Trace
from evlearn.utils.typing import FloatArray

_WINDOW = 10


def lower_by_lbfgs(
    evaluate: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    *,
    tol: float,
    max_iter: int,
    gradient_tol: float,
    lower: FloatArray | None = None,
    report: Report | None = None,
) -> Trace[FloatArray]:
    """Minimise a function by L-BFGS; the loop is that of scipy, and ends at Ctrl-C with the last iteration."""
    trace = Trace(start, [evaluate(start)[0]])
    if not len(start):  # of which older versions of scipy make an error
        return replace(trace, converged=True)

    def watch(intermediate_result: OptimizeResult) -> None:
        nonlocal trace
        history = [*trace.history, float(intermediate_result.fun)]
        before, now = history[-1 - _WINDOW :][0], history[-1]
        trace = Trace(intermediate_result.x.copy(), history, len(history) > _WINDOW and before - now <= tol * now)
        if report is not None:
            report(trace.n_iter, now)
        if trace.converged:
            raise StopIteration

    bounds = None if lower is None else [(least, None) for least in lower]
    options = {"maxiter": max_iter, "maxfun": 50 * max_iter, "ftol": 0, "gtol": gradient_tol}
    try:
        found = minimize(
            evaluate, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options, callback=watch
        )
    except KeyboardInterrupt:
        return replace(trace, interrupted=True)
    # Also where the line search finds nothing lower: that is the precision there is.
    return replace(trace, converged=trace.converged or found.nit < max_iter)
