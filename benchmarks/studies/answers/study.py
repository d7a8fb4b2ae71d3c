"""Quality of the results with default parameters, compared with other methods: labels, doubt and sure samples.

``python -m benchmarks.studies.answers [--list design|validation] [--methods NAME ...] [--sets NAME ...] [--name
NAME] [--n-jobs N]``

Each method gets the data, the true number of clusters and a seed, and uses its defaults otherwise. An entry for
each data set and method, and means over families of data are written to ``benchmarks/results/answers.json``. It
takes 2 hours of CPU time, half of them for evclust. A run of selected lists, methods or data sets writes nothing,
unless ``--name`` is given. The script can be run in an environment with an older version, to see changes. Some
data sets come with the packages of ``requirements.txt``, some methods with those of the study of peers.

`judge_sets` evaluates the methods on other data, for example on data that were not used for any choice.
"""

import importlib.util
import json
import sys
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.common import command_line, processes, record
from benchmarks.common.reference import ROOT
from benchmarks.studies.answers import data as answers_data
from benchmarks.studies.answers.methods import BY_DEFAULT, METHODS, fits, k_means
from benchmarks.studies.answers.summary import summarize

NAME, SEED, LIMIT = "answers", 0, 60
MEMORY = 8 << 30  # maximum number of bytes of a method


def metrics():
    """Return our metrics of doubt, even if the installed version does not contain them."""
    try:
        from evlearn.metrics.risk_coverage import augrc_score, aurc_score, majority_classes
    except ImportError:
        path = ROOT / "src" / "evlearn" / "metrics" / "risk_coverage.py"
        specification = importlib.util.spec_from_file_location("risk_coverage", path)
        module = importlib.util.module_from_spec(specification)
        sys.modules["risk_coverage"] = module
        specification.loader.exec_module(module)
        return module.aurc_score, module.augrc_score, module.majority_classes
    return aurc_score, augrc_score, majority_classes


aurc_score, augrc_score, majority_classes = metrics()


def judge_sets(problems, methods=BY_DEFAULT, seed=SEED):
    """Return entries and their summary for user data.

    Parameters
    ----------
    problems : iterable of tuple
        Names, features and classes. Features are standardized. A class of -1 means an outlier.
    methods : iterable of str, default=BY_DEFAULT
        Names of the methods.
    seed : int, default=SEED
        Seed of the methods.

    Returns
    -------
    dict
        A dict with ``entries`` and ``summary``.
    """
    entries = [
        entry
        for name, X, y in problems
        for entry in evaluate(answers_data.make_problem(name, np.asarray(X, dtype=float), y), methods, seed)
    ]
    return {"entries": entries, "summary": summarize(entries)}


def evaluate(problem, methods, seed=SEED):
    """Yield an entry for each method."""
    reference = k_means(problem.X, problem.n_clusters, seed)
    for method in filter(partial(fits, n_samples=len(problem.y)), methods):
        yield {
            "data": problem.name,
            "family": problem.family,
            "group": problem.group,
            "method": method,
            **run_in_process(partial(attempt, problem, method, seed, reference)),
        }


def attempt(problem, method, seed, reference):
    """Run a method on data and return its scores and its costs."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        start, memory = time.process_time(), peak_memory()
        answer = METHODS[method](problem.X, problem.n_clusters, seed)
        costs = {"cpu_seconds": time.process_time() - start, "memory_mb": (peak_memory() - memory) / 1e6}
    names = sorted(
        {warning.category.__name__ for warning in records if warning.category.__name__ == "CollapseWarning"}
    )
    return judge(problem, answer, reference) | costs | ({"warned": names} if names else {})


def peak_memory():
    """Return the peak memory of this process in bytes; a fork starts with that of its parent."""
    import resource  # not available on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def judge(problem, answer, reference):
    """Return the scores of an answer; true outliers count only for the detection of outliers."""
    is_inlier = problem.y >= 0
    y, labels, doubt = problem.y[is_inlier], answer.labels[is_inlier], answer.doubt[is_inlier]
    predicted = majority_classes(y, labels)
    scores = {
        "n": len(problem.y),
        "d": problem.X.shape[1],
        "c": problem.n_clusters,
        "clusters": len(np.unique(labels)),
        "ari": adjusted_rand_score(y, labels),
        "error": (y != predicted).mean(),
    }
    for name, score in (("aurc", aurc_score), ("augrc", augrc_score)):
        scores[name] = score(y, predicted, doubt)
        scores[f"{name}_normalized"] = score(y, predicted, doubt, normalize=True)
    if answer.sure is not None:
        scores |= of_verdict(problem, answer, reference, y != predicted)
    return {key: rounded(value) for key, value in scores.items()}


def of_verdict(problem, answer, reference, wrong):
    """Return shares and errors by verdict, and the error of k-means for an equal share of sure samples."""
    is_inlier = problem.y >= 0
    scores = {}
    for kind in ("sure", "torn", "outlier"):
        chosen = getattr(answer, kind)[is_inlier]
        scores[kind] = chosen.mean()
        scores[f"{kind}_error"] = wrong[chosen].mean() if chosen.any() else None
    if not is_inlier.all():
        scores["outliers_found"] = answer.outlier[~is_inlier].mean()
    n_sure = int(answer.sure[is_inlier].sum())
    if n_sure:
        error_of_peer = retained_error(
            problem.y[is_inlier], reference.labels[is_inlier], reference.doubt[is_inlier], n_sure
        )
        scores |= {"kept_by_k_means_error": error_of_peer, "sure_gain": error_of_peer - scores["sure_error"]}
    return scores


def retained_error(y, labels, doubt, n_retained):
    """Return the error rate of the samples with the least doubt."""
    selected = np.argsort(doubt, kind="stable")[:n_retained]
    return (y != majority_classes(y, labels))[selected].mean()


def special(methods, seed=SEED):
    """Return the verdicts of our methods on samples halfway between clusters and on data without clusters."""
    entries = []
    for method in methods:
        for name, load in (answers_data.HALFWAY | answers_data.CLOUDS).items():
            result = run_in_process(partial(attempt_special, method, load, 3 if "cloud" in name else 4, seed))
            entries.append({"data": name, "method": method, **result})
    return [entry for entry in entries if "others_torn" in entry or "ended" in entry]


def attempt_special(method, load, n_clusters, seed):
    X, y = load()
    return shares(METHODS[method](X, n_clusters, seed), y)


def shares(answer, y):
    """Return shares of torn samples between clusters and in other places."""
    if answer.sure is None:
        return {}
    is_between = y < 0
    scores = {"others_torn": answer.torn[~is_between].mean(), "others_sure": answer.sure[~is_between].mean()}
    scores["others_outlier"] = answer.outlier[~is_between].mean()
    if is_between.any():
        scores |= {"between_torn": answer.torn[is_between].mean(), "between_sure": answer.sure[is_between].mean()}
        scores["ari"] = adjusted_rand_score(y[~is_between], answer.labels[~is_between])
    return {key: rounded(value) for key, value in scores.items()}


def rounded(value):
    """Return a rounded number for a file."""
    if value is None or isinstance(value, int):
        return value
    return float(f"{value:.5g}") if np.isfinite(value) else None


def run_in_process(call, limit=LIMIT):
    """Return the result of a call in a separate process with limits of CPU time and memory, or its error."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "found.json")
        process = get_context("fork").Process(target=write_result, args=(call, limit, path))
        process.start()
        process.join(4 * limit)  # a process that hangs uses no CPU time
        process.kill()
        process.join()
        return json.loads(path.read_text()) if path.exists() else {"ended": f"more than {limit} s"}


def write_result(call, limit, path):
    """Call a function in the current process and write its result atomically."""
    import resource  # not available on Windows

    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + limit, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    try:
        result = call()
    except Exception as error:
        result = {"ended": f"{type(error).__name__}: {error}"[:300]}
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(result, default=float))
    unfinished.rename(path)


def entries_of_set(list_name, methods, name):
    """Return the entries of one data set."""
    entries = list(evaluate(answers_data.load(list_name, name), methods))
    for entry in entries:
        print(list_name, json.dumps(entry), flush=True)
    return entries


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--list", choices=tuple(answers_data.LISTS), action="append", dest="lists")
    parser.add_argument("--methods", nargs="*", choices=tuple(METHODS), default=list(BY_DEFAULT))
    parser.add_argument("--sets", nargs="*", help="data sets of the list")
    parser.add_argument("--name", help=f"name of the results file (default: {NAME} for complete runs)")
    parser.add_argument("--n-jobs", type=int, default=1, help="number of parallel processes")
    arguments = parser.parse_args()
    processes.with_one_thread()
    lists = {}
    with ProcessPoolExecutor(arguments.n_jobs, mp_context=get_context("fork")) as pool:
        for list_name in arguments.lists or answers_data.LISTS:
            names = [
                name for name in answers_data.names(list_name) if not arguments.sets or name in arguments.sets
            ]
            results = pool.map(partial(entries_of_set, list_name, arguments.methods), names)
            entries = [entry for entries_of_name in results for entry in entries_of_name]
            lists[list_name] = {"entries": entries, "summary": summarize(entries)}
    in_part = arguments.lists or arguments.sets or tuple(arguments.methods) != BY_DEFAULT
    results = {"seed": SEED, "limit": LIMIT, "lists": lists}
    if not arguments.sets:
        results["special"] = special(arguments.methods)
    if arguments.name or not in_part:
        record.write(arguments.name or NAME, results, packages=("evclust", "soft-clustering", "torch"))
