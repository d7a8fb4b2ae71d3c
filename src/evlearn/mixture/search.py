"""All models with all numbers of components, each from all starts: the mixtures among which BIC chooses."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from joblib import delayed

from evlearn.mixture.covariance_models import n_free_parameters
from evlearn.mixture.em import Fitted, Mixture, run_em, runs_at_a_time
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import Trace
from evlearn.utils.parallel import one_blas_thread, run_jobs
from evlearn.utils.progress import Count
from evlearn.utils.typing import FloatArray

# A smaller share of the whole variance is rounding.
_ROUNDING = 1e-20


class Candidate(NamedTuple):
    """The best mixture of a model with a number of components, or why there is none.

    Attributes
    ----------
    outcome : Trace or None
        Where EM ended, without responsibilities.
    reason : str
        Why there is none.
    """

    outcome: Trace[Fitted] | None
    reason: str


class Settings(NamedTuple):
    """How EM runs; see `run_em`."""

    tol: float
    max_iter: int
    reg_covar: float
    variance_floor: float


def search(
    X: FloatArray,
    models: Sequence[str],
    starts: dict[int, list[FloatArray]],
    settings: Settings,
    n_jobs: int | None,
) -> dict[tuple[str, int], Candidate]:
    """Fit each model with each number of components."""
    pairs = [(model, number) for number in starts for model in models]
    # Of one component nothing is equal or different: several names are one model.
    tasks = list(dict.fromkeys((simplest(*pair), pair[1]) for pair in pairs))
    jobs = [delayed(_best_of_starts)(X, starts[number], model, number, settings) for model, number in tasks]
    results, interrupted = run_jobs(jobs, n_jobs, Count("search", "model", len(jobs)).reach)
    found: dict[tuple[str, int], Candidate] = dict(zip(tasks, results, strict=False))
    if interrupted:
        if all(candidate.outcome is None for candidate in found.values()):
            raise KeyboardInterrupt
        found = {task: _stopped(candidate) for task, candidate in found.items()}
    missing = Candidate(None, "it was interrupted before")
    return {(model, number): found.get((simplest(model, number), number), missing) for model, number in pairs}


def least_variances(X: FloatArray, starts: Sequence[FloatArray], share: float) -> FloatArray:
    """The smallest variance that a component may have along each feature."""
    if not starts:
        return np.zeros(X.shape[1])
    whole = X.var(axis=0)
    within = np.mean([_within(X, start) for start in starts], axis=0)
    discrete = within <= _ROUNDING * whole
    return np.zeros(X.shape[1]) if discrete.all() else np.asarray(share * np.where(discrete, whole, within))


def bic(log_likelihood: float, model: str, mixture: Mixture, n_samples: int) -> float:
    """The Bayesian information criterion, with scikit-learn's sign: lower is better."""
    return float(n_free_parameters(model, *mixture.means.shape) * np.log(n_samples) - 2 * log_likelihood)


def simplest(model: str, number: int) -> str:
    """The first name of a model: of one component several names are one model."""
    if number > 1 or len(model) == 1:
        return "E" if number == 1 else model
    return "EII" if model.endswith("II") else "EEI" if model.endswith("I") else "EEE"


def _within(X: FloatArray, start: FloatArray) -> FloatArray:
    """The variance of each feature within the clusters of a start."""
    shares = start if start.ndim == 2 else np.eye(start.max() + 1)[start]
    total = np.zeros(X.shape[1])
    for share in shares.T[shares.any(axis=0)]:
        total += share @ np.square(X - share @ X / share.sum())
    return total / len(X)


def _stopped(candidate: Candidate) -> Candidate:
    outcome = candidate.outcome
    return candidate if outcome is None else candidate._replace(outcome=replace(outcome, interrupted=True))


def _best_of_starts(
    X: FloatArray, starts: Sequence[FloatArray], model: str, number: int, settings: Settings
) -> Candidate:
    best, reason = None, "there are fewer samples than components"
    how = settings._asdict()
    floor = least_variances(X, starts, how.pop("variance_floor"))
    with one_blas_thread():
        for some in row_blocks(len(starts), runs_at_a_time(len(X), number)):
            first = np.stack([start if start.ndim == 2 else np.eye(number)[start] for start in starts[some]])
            for outcome in run_em(X, first, model, floor=floor, **how):
                if outcome.state.problem:
                    reason = outcome.state.problem
                elif best is None or outcome.objective > best.objective:
                    best = outcome.at(outcome.state._replace(responsibilities=np.empty((0, number))))
    return Candidate(best, reason)


__all__ = ["Candidate", "Settings", "bic", "least_variances", "search", "simplest"]
