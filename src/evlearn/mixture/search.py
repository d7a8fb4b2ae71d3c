"""Search over covariance models and numbers of components: candidates for selection by BIC, and their starts.

EM starts from hard partitions by Ward's method and by k-means, of the data in several scales.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from joblib import delayed
from sklearn.exceptions import ConvergenceWarning

from evlearn.mixture.covariance_models import n_free_parameters
from evlearn.mixture.em import Fitted, Mixture, run_em, runs_per_call
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import Trace
from evlearn.utils.parallel import one_blas_thread, run_jobs
from evlearn.utils.progress import Count
from evlearn.utils.typing import FloatArray, IntArray

# Maximum number of samples for Ward's method, which compares all pairs; the others join the nearest mean.
WARD_SAMPLES = 2000
# Share of the total variance below which a variance is a rounding error.
_ROUNDING = 1e-20


def first_partitions(
    X: FloatArray, numbers: Sequence[int], n_init: int, random: np.random.RandomState
) -> dict[int, list[IntArray]]:
    """Return the partitions to start from, for each number of components."""
    spaces = _spaces(X)
    multiple = [number for number in numbers if number > 1]
    partitions: dict[int, list[IntArray]] = {number: [] for number in multiple}
    for start in range(n_init if multiple else 0):
        space = spaces[start % len(spaces)]
        labelings = _ward(space, multiple, random) if start < len(spaces) else _k_means(space, multiple, random)
        for number, labels in labelings.items():
            partitions[number].append(labels)
    if 1 in numbers:
        partitions[1] = [np.zeros(len(X), dtype=np.intp)]
    return partitions


def _spaces(X: FloatArray) -> list[FloatArray]:
    deviations = X.std(axis=0)
    standardized = X / np.where(deviations > 0, deviations, 1.0)
    # A compromise between original and whitened scales (Scrucca and Raftery 2015).
    variances, axes = np.linalg.eigh(standardized.T @ standardized / len(X))
    is_positive = variances > 1e-12 * variances[-1]
    half_whitened = standardized @ (axes[:, is_positive] * variances[is_positive] ** -0.25)
    return [X, standardized, half_whitened if is_positive.any() else standardized]


def _ward(X: FloatArray, numbers: Sequence[int], random: np.random.RandomState) -> dict[int, IntArray]:
    # Imported here to keep the import of evlearn fast.
    from scipy.cluster.hierarchy import linkage

    n = len(X)
    size = max(WARD_SAMPLES, max(numbers))
    chosen = np.arange(n) if n <= size else np.sort(random.choice(n, size, replace=False))
    tree = linkage(X[chosen], "ward")
    partitions = {number: _cut(tree, number) for number in numbers}
    if len(chosen) == n:
        return partitions
    return {number: _nearest_mean(X, chosen, labels, number) for number, labels in partitions.items()}


def _cut(tree: FloatArray, number: int) -> IntArray:
    """Cut a tree into clusters, numbered in the order of their first samples."""
    from scipy.cluster.hierarchy import cut_tree, fcluster

    labels = fcluster(tree, number, criterion="maxclust")
    if labels.max() < number:  # ties, which only the slower function can cut
        labels = cut_tree(tree, n_clusters=number)[:, 0]
    first, inverse = np.unique(labels, return_index=True, return_inverse=True)[1:]
    return np.asarray(first.argsort().argsort()[inverse], dtype=np.intp)


def _nearest_mean(X: FloatArray, chosen: IntArray, labels: IntArray, number: int) -> IntArray:
    from sklearn.metrics import pairwise_distances_argmin  # slow to import, like `sklearn.cluster`

    means = np.array([X[chosen[labels == k]].mean(axis=0) for k in range(number)])
    nearest: IntArray = pairwise_distances_argmin(X, means)
    return nearest


def _k_means(X: FloatArray, numbers: Sequence[int], random: Any) -> dict[int, IntArray]:
    from sklearn.cluster import KMeans

    with warnings.catch_warnings():
        # Fewer distinct samples than clusters: the empty cluster is detected later.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return {
            number: KMeans(number, n_init=1, random_state=random).fit(X).labels_.astype(np.intp)
            for number in numbers
        }


class Candidate(NamedTuple):
    """The best mixture of a model with a number of components, or the reason of its failure.

    Attributes
    ----------
    outcome : Trace or None
        Result of EM, without responsibilities; None after a failure.
    reason : str
        Reason of the failure.
    """

    outcome: Trace[Fitted] | None
    reason: str


class Settings(NamedTuple):
    """Settings of EM; see `run_em`."""

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
    # With one component, several names are the same model.
    tasks = list(dict.fromkeys((simplest(*pair), pair[1]) for pair in pairs))
    jobs = [delayed(_best_of_starts)(X, starts[number], model, number, settings) for model, number in tasks]
    results, interrupted = run_jobs(jobs, n_jobs, Count("search", "model", len(jobs)).set_done)
    candidates: dict[tuple[str, int], Candidate] = dict(zip(tasks, results, strict=False))
    if interrupted:
        if all(candidate.outcome is None for candidate in candidates.values()):
            raise KeyboardInterrupt
        candidates = {task: _mark_interrupted(candidate) for task, candidate in candidates.items()}
    missing = Candidate(None, "the search was interrupted before")
    return {(model, number): candidates.get((simplest(model, number), number), missing) for model, number in pairs}


def least_variances(X: FloatArray, starts: Sequence[FloatArray], share: float) -> FloatArray:
    """Return the smallest allowed variance of a component along each feature."""
    if not starts:
        return np.zeros(X.shape[1])
    total = X.var(axis=0)
    residual = np.mean([_variances_within(X, start) for start in starts], axis=0)
    discrete = residual <= _ROUNDING * total
    return np.zeros(X.shape[1]) if discrete.all() else np.asarray(share * np.where(discrete, total, residual))


def bic(log_likelihood: float, model: str, mixture: Mixture, n_samples: int) -> float:
    """Return the Bayesian information criterion, with scikit-learn's sign: lower is better."""
    return float(n_free_parameters(model, *mixture.means.shape) * np.log(n_samples) - 2 * log_likelihood)


def simplest(model: str, number: int) -> str:
    """Return the first name of a model; with one component, several names are the same model."""
    if number > 1 or len(model) == 1:
        return "E" if number == 1 else model
    return "EII" if model.endswith("II") else "EEI" if model.endswith("I") else "EEE"


def _variances_within(X: FloatArray, start: FloatArray) -> FloatArray:
    """Return the variance of each feature within the clusters of a start."""
    shares = start if start.ndim == 2 else np.eye(start.max() + 1)[start]
    total = np.zeros(X.shape[1])
    for share in shares.T[shares.any(axis=0)]:
        total += share @ np.square(X - share @ X / share.sum())
    return total / len(X)


def _mark_interrupted(candidate: Candidate) -> Candidate:
    outcome = candidate.outcome
    return candidate if outcome is None else candidate._replace(outcome=replace(outcome, interrupted=True))


def _best_of_starts(
    X: FloatArray, starts: Sequence[FloatArray], model: str, number: int, settings: Settings
) -> Candidate:
    best, reason = None, "there are fewer samples than components"
    parameters = settings._asdict()
    floor = least_variances(X, starts, parameters.pop("variance_floor"))
    with one_blas_thread():
        for block in row_blocks(len(starts), runs_per_call(len(X), number)):
            first = np.stack([start if start.ndim == 2 else np.eye(number)[start] for start in starts[block]])
            for outcome in run_em(X, first, model, floor=floor, **parameters):
                if outcome.state.problem:
                    reason = outcome.state.problem
                elif best is None or outcome.objective > best.objective:
                    best = outcome.with_state(outcome.state._replace(responsibilities=np.empty((0, number))))
    return Candidate(best, reason)
