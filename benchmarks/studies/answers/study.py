"""How good answers are by default, beside other methods: labels, doubt, and who is called sure.

``python -m benchmarks.studies.answers [--list design|validation] [--methods NAME ...] [--sets NAME ...] [--name
NAME] [--n-jobs N]``

Every method is given the data, the true number of clusters and a seed, and else has its defaults. It writes
``benchmarks/results/answers.json``: an entry for each set and method, and means over families of data. It takes
two hours of CPU, half of them for evclust. A run of some lists, methods or sets writes nothing, unless ``--name``
says where to. The script can be run by the Python of an environment with an older version, to see what has
changed. Some sets come with the packages of ``requirements.txt``, some methods with those of the study of peers.

`judge_sets` takes data of anybody, so that data which nobody has looked at can be judged in the same way.
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
MEMORY = 8 << 30  # bytes that a method may take


def metrics():
    """Our metrics of doubt, also where the installed version does not have them yet."""
    try:
        from evlearn.metrics import augrc_score, aurc_score, majority_classes
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
    """Entries and their summary for given data.

    Parameters
    ----------
    problems : iterable of tuple
        Names, features and classes. Features are standardised. A class of -1 means an outlier.
    methods : iterable of str, default=BY_DEFAULT
        Names of methods.
    seed : int, default=SEED
        The seed of the methods.

    Returns
    -------
    dict
        ``entries`` and ``summary``.
    """
    entries = [
        entry
        for name, X, y in problems
        for entry in judged(answers_data.given(name, np.asarray(X, dtype=float), y), methods, seed)
    ]
    return {"entries": entries, "summary": summarize(entries)}


def judged(problem, methods, seed=SEED):
    """An entry for each method."""
    reference = k_means(problem.X, problem.n_clusters, seed)
    for method in filter(partial(fits, n_samples=len(problem.y)), methods):
        yield {
            "data": problem.name,
            "family": problem.family,
            "group": problem.group,
            "method": method,
            **in_a_process(partial(attempt, problem, method, seed, reference)),
        }


def attempt(problem, method, seed, reference):
    """A method on data: what its answer is worth, and what it costs."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        start, before = time.process_time(), most_memory()
        answer = METHODS[method](problem.X, problem.n_clusters, seed)
        costs = {"cpu_seconds": time.process_time() - start, "memory_mb": (most_memory() - before) / 1e6}
    warned = sorted({one.category.__name__ for one in heard if one.category.__name__ == "CollapseWarning"})
    return judge(problem, answer, reference) | costs | ({"warned": warned} if warned else {})


def most_memory():
    """The most bytes that this process has taken; one that was forked begins with what it has."""
    import resource  # which Windows has not

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def judge(problem, answer, reference):
    """Figures of an answer; samples that are outliers in truth count for nothing but whether they were found."""
    inside = problem.y >= 0
    y, labels, doubt = problem.y[inside], answer.labels[inside], answer.doubt[inside]
    said = majority_classes(y, labels)
    found = {
        "n": len(problem.y),
        "d": problem.X.shape[1],
        "c": problem.n_clusters,
        "clusters": len(np.unique(labels)),
        "ari": adjusted_rand_score(y, labels),
        "error": (y != said).mean(),
    }
    for name, score in (("aurc", aurc_score), ("augrc", augrc_score)):
        found[name] = score(y, said, doubt)
        found[f"{name}_normalized"] = score(y, said, doubt, normalize=True)
    if answer.sure is not None:
        found |= of_verdict(problem, answer, reference, y != said)
    return {key: rounded(value) for key, value in found.items()}


def of_verdict(problem, answer, reference, wrong):
    """Shares and errors of sure, torn and outliers; what k-means has if as many are kept by its doubt."""
    inside = problem.y >= 0
    found = {}
    for kind in ("sure", "torn", "outlier"):
        chosen = getattr(answer, kind)[inside]
        found[kind] = chosen.mean()
        found[f"{kind}_error"] = wrong[chosen].mean() if chosen.any() else None
    if not inside.all():
        found["outliers_found"] = answer.outlier[~inside].mean()
    n_sure = int(answer.sure[inside].sum())
    if n_sure:
        theirs = kept_errors(problem.y[inside], reference.labels[inside], reference.doubt[inside], n_sure)
        found |= {"kept_by_k_means_error": theirs, "sure_gain": theirs - found["sure_error"]}
    return found


def kept_errors(y, labels, doubt, n_kept):
    """The error rate of the samples of least doubt."""
    kept = np.argsort(doubt, kind="stable")[:n_kept]
    return (y != majority_classes(y, labels))[kept].mean()


def special(methods, seed=SEED):
    """What ours say where the answer is known to be doubt: half way between clusters, and where there are none."""
    entries = []
    for method in methods:
        for name, load in (answers_data.HALFWAY | answers_data.CLOUDS).items():
            found = in_a_process(partial(attempt_special, method, load, 3 if "cloud" in name else 4, seed))
            entries.append({"data": name, "method": method, **found})
    return [one for one in entries if "others_torn" in one or "ended" in one]


def attempt_special(method, load, n_clusters, seed):
    X, y = load()
    return shares(METHODS[method](X, n_clusters, seed), y)


def shares(answer, y):
    """Shares of torn samples between clusters and elsewhere."""
    if answer.sure is None:
        return {}
    between = y < 0
    found = {"others_torn": answer.torn[~between].mean(), "others_sure": answer.sure[~between].mean()}
    found["others_outlier"] = answer.outlier[~between].mean()
    if between.any():
        found |= {"between_torn": answer.torn[between].mean(), "between_sure": answer.sure[between].mean()}
        found["ari"] = adjusted_rand_score(y[~between], answer.labels[~between])
    return {key: rounded(value) for key, value in found.items()}


def rounded(value):
    """A number for a file."""
    if value is None or isinstance(value, int):
        return value
    return float(f"{value:.5g}") if np.isfinite(value) else None


def in_a_process(call, limit=LIMIT):
    """What a call gives in a process of its own, with limits of CPU and memory, or how it ended."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "found.json")
        process = get_context("fork").Process(target=work, args=(call, limit, path))
        process.start()
        process.join(4 * limit)  # one that waits for ever takes no CPU
        process.kill()
        process.join()
        return json.loads(path.read_text()) if path.exists() else {"ended": f"more than {limit} s"}


def work(call, limit, path):
    """In that process: call, and write what was found as a whole."""
    import resource  # which Windows has not

    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + limit, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    try:
        found = call()
    except Exception as error:
        found = {"ended": f"{type(error).__name__}: {error}"[:300]}
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(found, default=float))
    unfinished.rename(path)


def all_of(which, methods, name):
    """The entries of one set."""
    entries = list(judged(answers_data.load(which, name), methods))
    for one in entries:
        print(which, json.dumps(one), flush=True)
    return entries


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--list", choices=tuple(answers_data.LISTS), action="append", dest="lists")
    parser.add_argument("--methods", nargs="*", choices=tuple(METHODS), default=list(BY_DEFAULT))
    parser.add_argument("--sets", nargs="*", help="some sets of the list")
    parser.add_argument("--name", help=f"the file of results; {NAME} if all is run")
    parser.add_argument("--n-jobs", type=int, default=1, help="how many sets are looked at at a time")
    arguments = parser.parse_args()
    processes.with_one_thread()
    lists = {}
    with ProcessPoolExecutor(arguments.n_jobs, mp_context=get_context("fork")) as pool:
        for which in arguments.lists or answers_data.LISTS:
            names = [name for name in answers_data.names(which) if not arguments.sets or name in arguments.sets]
            found = pool.map(partial(all_of, which, arguments.methods), names)
            entries = [one for of_set in found for one in of_set]
            lists[which] = {"entries": entries, "summary": summarize(entries)}
    in_part = arguments.lists or arguments.sets or tuple(arguments.methods) != BY_DEFAULT
    found = {"seed": SEED, "limit": LIMIT, "lists": lists}
    if not arguments.sets:
        found["special"] = special(arguments.methods)
    if arguments.name or not in_part:
        record.write(arguments.name or NAME, found, packages=("evclust", "soft-clustering", "torch"))
