"""Accuracy of `evlearn.model_selection.estimate_n_clusters`, compared with other estimates.

``python -m benchmarks.studies.answers.n_clusters [--write]``

The problems are generated (`number_problems`): new seeds of the families from which the weights were learned
(`train_n_clusters`), and families that were used for no choice. All methods compare 1 to 12 clusters: the vote,
`evlearn.model_selection.select_n_clusters`, silhouettes of k-means (2 to 12), the Bayesian information criterion
of Gaussian mixtures with full covariances, the largest gap between eigenvalues of the graph of 10 nearest
neighbors, and hdbscan. It takes 15 minutes of CPU time.
"""

import warnings

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import kneighbors_graph

from benchmarks.common import command_line, processes, record
from benchmarks.studies.answers import number_problems
from benchmarks.studies.answers.summary import by_family, interval
from evlearn.cluster import ECM
from evlearn.model_selection import estimate_n_clusters, select_n_clusters

NAME, ESTIMATE = "answers_n_clusters", "estimate_n_clusters"
NUMBERS = range(1, 13)
N_NEIGHBORS, RIDGE, SEED = 10, 1e-3, 0
CONFIDENT = 0.5
#: Families, first seed, and number of seeds of each list.
LISTS = {
    "new seeds": (number_problems.TRAINING, 40_000, 4),
    "excluded families": (number_problems.JUDGING, 30_000, 9),
}


def select(X):
    """Return the suggestion of `select_n_clusters`; its vote does not use the estimator."""
    return select_n_clusters(ECM(), X, NUMBERS, random_state=SEED).best or 1


def silhouette(X):
    labels = [KMeans(number, n_init=3, random_state=SEED).fit_predict(X) for number in NUMBERS[1:]]
    return NUMBERS[1 + int(np.argmax([silhouette_score(X, row) for row in labels]))]


def bic(X):
    settings = {"reg_covar": RIDGE * X.var(axis=0).mean(), "random_state": SEED}
    return NUMBERS[int(np.argmin([GaussianMixture(number, **settings).fit(X).bic(X) for number in NUMBERS]))]


def eigengap(X):
    graph = kneighbors_graph(X, N_NEIGHBORS).toarray()
    graph = (graph + graph.T) / 2
    scales = 1 / np.sqrt(graph.sum(axis=1))
    values = np.linalg.eigvalsh(graph * scales[:, None] * scales)[::-1]
    return NUMBERS[int(np.argmax(-np.diff(values[: len(NUMBERS) + 1])))]


def hdbscan(X):
    return max(1, int(HDBSCAN(copy=True).fit_predict(X).max()) + 1)


PEERS = {
    "select_n_clusters": select,
    "silhouette": silhouette,
    "BIC": bic,
    "eigengap": eigengap,
    "hdbscan": hdbscan,
}


def entry_of(family, seed):
    """Return the answers of all methods for a problem."""
    X, y = number_problems.problem(family, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimate = estimate_n_clusters(X, random_state=SEED)
        answers = {ESTIMATE: estimate.best} | {name: int(answer(X)) for name, answer in PEERS.items()}
    entry = {"family": family.__name__, "seed": seed, "rows": len(X), "features": X.shape[1]}
    return entry | {
        "true": int(y.max()) + 1,
        "answers": answers,
        "probabilities": estimate.probabilities.round(4).tolist(),
    }


def summarize(entries):
    """Return shares of correct answers, means over families with intervals, and the reliability of confidence."""
    confident = [entry for entry in entries if max(entry["probabilities"]) >= CONFIDENT]
    return {
        "problems": len(entries),
        "correct": float(np.mean([is_correct(entry) for entry in entries])),
        "methods": {method: accuracy(entries, method) for method in (ESTIMATE, *PEERS)},
        "confident": {
            "problems": len(confident),
            "share": len(confident) / len(entries),
            "correct": float(np.mean([is_correct(entry) for entry in confident])),
        },
        "by_family": {
            method: by_family([(entry["family"], is_correct(entry, method)) for entry in entries])
            for method in (ESTIMATE, *PEERS)
        },
    }


def accuracy(entries, method):
    """Return the shares of correct answers of a method, and the advantage of the vote over it."""
    return {
        "correct": mean_over_families(entries, [is_correct(entry, method) for entry in entries]),
        "within_one": mean_over_families(entries, [is_correct(entry, method, 1) for entry in entries]),
        "advantage": mean_over_families(
            entries, [is_correct(entry) - is_correct(entry, method) for entry in entries]
        ),
    }


def is_correct(entry, method=ESTIMATE, tolerance=0):
    return float(abs(entry["answers"][method] - entry["true"]) <= tolerance)


def mean_over_families(entries, values):
    """Return the mean over families with its interval."""
    pairs = [(entry["family"], value) for entry, value in zip(entries, values, strict=True)]
    return interval(list(by_family(pairs).values()))


def main():
    reader = command_line.parser(__doc__)
    reader.add_argument("--write", action="store_true", help=f"write to results/{NAME}.json")
    arguments = reader.parse_args()
    processes.with_one_thread()
    results = {}
    for name, (families, first, n_seeds) in LISTS.items():
        entries = [entry_of(family, seed) for family in families for seed in range(first, first + n_seeds)]
        results[name] = {"summary": summarize(entries), "entries": entries}
        command_line.show(name, results[name]["summary"])
    if arguments.write:
        record.write(NAME, {"lists": results})


if __name__ == "__main__":
    main()
