"""Comparison with other packages in one run: quality, CPU seconds and memory, on the same data.

``python -m benchmarks.studies.peers [--quick] [--limit SECONDS] [--only WORDS ...]``

Install the packages of ``requirements.txt`` and this library into a separate environment, and run the module with
its Python; it takes about half an hour, with one busy process at a time. It writes
``benchmarks/results/peers_side_by_side.json``. Methods of missing packages are skipped. Each pair of data and
method runs in a separate process with one thread and SECONDS of CPU time. The time is CPU seconds of a fit after a
warm-up fit to a subset of the samples, which loads modules; memory is the peak minus the initial memory.
``--only`` runs those whose kind, data and method contain one of the WORDS, as in "cluster iris"; the record of the
others is unchanged. ``--quick`` runs 3 data sets with one seed and writes nothing.
"""

import contextlib
import importlib
import json
import multiprocessing
import os
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import train_test_split

from benchmarks.common import command_line, processes, record, reference
from benchmarks.studies.peers import data as peers_data
from benchmarks.studies.peers.methods import CLASSIFIERS, CLUSTERERS, PEERS, SQUARE, Masses, to_partition
from evlearn import papers
from evlearn.cluster import Quantile
from evlearn.datasets import same_cluster_probability
from evlearn.metrics import consistency_index, nonspecificity_index

NAME = "peers_side_by_side"
SEEDS, LIMIT, WARM_UP, PAIRS = 3, 120, 100, 20_000
CLOSE = 0.01  # tolerance for probabilities to be covered by an interval
PEAK = Path("/proc/self/clear_refs")
SHORT, REPEATS = 0.2, 20  # calls shorter than SHORT seconds are repeated, at most REPEATS times
#: Modules that are loaded before the processes are forked.
MODULES = (
    "sklearn.mixture",
    "sklearn.ensemble",
    "evlearn.neural",
    "hdbscan",
    "skfuzzy",
    "evclust.ecm",
    "soft_clustering",
)
QUICK = ("iris", "fourclass", "outliers_1000")
SAME_CRITERION = ("iris", "seeds", "fourclass", "outliers_1000", "outliers_10000", "outliers_100000")
CLASSIFIED = (
    "iris",
    "wine",
    "seeds",
    "heart",
    "glass_evclass",
    "ionosphere_evclass",
    "vehicles_evclass",
    "segment",
)
#: Recorded runs of R on raw data, and our estimators with the same options.
RECORDED = {
    "ecm_fourclass_c4_full": ("fourclass", lambda s: papers.ecm(4, delta=20**0.5, random_state=s)),
    "ecm_s2_c15_simple": ("s2", lambda s: papers.ecm(15, focal_sets="simple", delta=10, random_state=s)),
    "ecm_gauss4_n100000_c4_full": ("gauss4_n100000", lambda s: papers.ecm(4, delta=10, random_state=s)),
    "recm_protein_c4_full": (
        "protein",
        lambda s: papers.recm(
            4, alpha=0.2, beta=1.1, delta=20**0.5, metric="precomputed", squared_input=True, random_state=s
        ),
    ),
    "kevclus_protein_fullD_c4_simple": (
        "protein",
        lambda s: papers.evclus(4, d0=Quantile(1), metric="precomputed", random_state=s),
    ),
    "kevclus_gauss4_n10000_k100_c4_simple": (
        "gauss4_n10000",
        lambda s: papers.evclus(4, d0=Quantile(0.9), n_partners=100, random_state=s),
    ),
    "kevclus_s2_k100_c15_simple": (
        "s2",
        lambda s: papers.evclus(15, d0=Quantile(0.9), n_partners=100, random_state=s),
    ),
    "EkNNclus_fourclass_K60_y0n": ("fourclass", lambda s: papers.eknnclus(60, q=0.9, random_state=s)),
    "bootclus_iris_G3_B500": (
        "iris",
        lambda s: papers.bootclus(3, model="VEV", n_bootstrap=500, random_state=s),
    ),
}


def cluster(name, method, seed):
    """Return the costs and scores of a clusterer on data."""
    data, call = peers_data.load(name), CLUSTERERS[method].call
    warm_up(lambda: call(data.first(WARM_UP), 0))
    (labels, result), costs = measure(lambda: call(data, seed))
    return costs | judge(data, labels, result)


def same_criterion(name, method, seed):
    """Return the criterion of ECM from this library or evclust, with the same start and delta."""
    from benchmarks.studies.peers.ecm import objective

    data = peers_data.load(name)
    X, c = data.X, data.n_clusters
    start = KMeans(c, n_init=1, max_iter=2, random_state=seed).fit(X).cluster_centers_
    delta = papers.ecm(c, random_state=0).fit(X).delta_

    def fit(X):
        if method == "ECM":
            model = papers.ecm(c, init=start, delta=delta).fit(X)
            return model.cluster_centers_, model.labels_, model.credal_partition_
        from evclust.ecm import ecm

        result = ecm(X, c=c, g0=start, delta=delta, disp=False)
        return (
            np.asarray(result["g"]),
            np.asarray(result["y_pl"]),
            Masses(result["mass"], np.asarray(result["F"]) > 0),
        )

    warm_up(lambda: fit(X[:WARM_UP]))
    (centers, labels, result), costs = measure(lambda: fit(X))
    return costs | {"criterion": objective(X, centers, delta)} | judge(data, labels, result)


def classify(name, method, seed):
    """Train a classifier on half of the samples of each class, and return its error rate on the other half."""
    X, y = peers_data.table(name)
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    X = (X - X[train].mean(axis=0)) / np.maximum(X[train].std(axis=0), 1e-12)
    y = peers_data.codes(y)
    call = CLASSIFIERS[method].call
    warm_up(lambda: call(0).fit(X[train][:WARM_UP], y[train][:WARM_UP]))
    model, costs = measure(lambda: call(seed).fit(X[train], y[train]))
    start = time.process_time()
    predicted = np.asarray(model.predict(X[test]))
    seconds = time.process_time() - start
    return costs | {"predict_seconds": seconds, "error": float(np.mean(predicted.astype(int) != y[test]))}


def recorded(name, method, seed):
    """Run our estimator on the data of a recorded run of R, with the same options."""
    _, estimator = RECORDED[method]
    if name.startswith("gauss4"):
        with np.load(reference.data(f"{name}.npz")) as file:
            X, y = file["x"], file["y"]
    elif name == "protein":
        y, X = peers_data.load(name)[0], peers_data.load(name).D
    else:
        X, y = peers_data.table(name)
    warm_up(lambda: estimator(0).fit(X[:WARM_UP, :WARM_UP]))
    model, costs = measure(lambda: estimator(seed).fit(X))
    return costs | {"ari": adjusted_rand_score(y, model.labels_), "criterion": float(model.objective_)}


KINDS = {"cluster": cluster, "same_criterion": same_criterion, "classify": classify, "recorded": recorded}


def warm_up(call):
    """Load modules by a call; errors are ignored, because a method may fail on few samples."""
    with contextlib.suppress(Exception):
        call()


def measure(call):
    """Return the result of a call, its CPU seconds, and its peak memory minus the initial memory, in MB.

    Short calls are repeated, because CPU clocks have a low resolution on some machines.
    """
    initial = resident("VmRSS")
    if PEAK.exists():
        PEAK.write_text("5")  # resets the peak
    start, calls = time.process_time(), 0
    while calls == 0 or (time.process_time() - start < SHORT and calls < REPEATS):
        result = call()
        calls += 1
    seconds = (time.process_time() - start) / calls
    return result, {"cpu_seconds": seconds, "memory_mb": max(0.0, resident("VmHWM") - initial)}


def resident(name):
    """Return a memory figure of this process in MB, on Linux; otherwise 0."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(name)), 0.0)


def judge(data, labels, result):
    """Return indices for samples that are not outliers, detection of outliers, and validity of masses."""
    partition, invalid = to_partition(result)
    is_inlier = np.full(len(data.y), True) if data.outliers is None else ~data.outliers
    scores = {
        "ari": adjusted_rand_score(data.y[is_inlier], labels[is_inlier]),
        "clusters": len(np.unique(labels)),
    } | invalid
    if partition is None:
        return scores
    scores["consistency"] = consistency_index(partition[is_inlier], data.y[is_inlier])
    scores["nonspecificity"] = nonspecificity_index(partition[is_inlier])
    if data.outliers is not None:
        is_rejected = ~partition.to_rough().any(axis=1)  # by the largest mass, as in the papers
        scores |= {"outliers_found": is_rejected[~is_inlier].mean(), "false_alarms": is_rejected[is_inlier].mean()}
    if data.posterior is not None:
        scores |= against_posterior(partition[is_inlier], data.posterior[is_inlier])
    return {key: float(value) for key, value in scores.items()}


def against_posterior(partition, posterior):
    """Return the error of same-cluster probabilities of pairs, and the coverage of their true values."""
    pairs = np.random.default_rng(0).integers(len(posterior), size=(PAIRS, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    truth = same_cluster_probability(posterior, pairs)
    masses = partition.relational(pairs)
    covered = (masses.same_cluster <= truth + CLOSE) & (truth <= masses.plausibility_same + CLOSE)
    error = np.abs(same_cluster_probability(partition.to_fuzzy(), pairs) - truth)
    return {"pair_error": error.mean(), "covered": covered.mean()}


def run_seeds(key, n_seeds, limit, path):
    """Run the seeds in the current process within the time limit, and write the results so far."""
    import resource  # not available on Windows

    kind, data, method = key
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # some packages print
    runs = []
    try:
        for seed in range(n_seeds):
            runs.append(KINDS[kind](data, method, seed))
            path.write_text(json.dumps(runs))
            if time.process_time() > limit / 4:
                break
    except Exception as error:
        path.with_suffix(".txt").write_text(f"{type(error).__name__}: {error}")


def run_task(key, n_seeds, limit):
    """Run a task in a forked process, which shares loaded modules; return its results as columns, or its error."""
    entry = dict(zip(("kind", "data", "method"), key, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "runs.json")
        process = multiprocessing.get_context("fork").Process(target=run_seeds, args=(key, n_seeds, limit, path))
        process.start()
        process.join()
        if path.exists():
            runs = json.loads(path.read_text())
            return entry | {name: [significant(result.get(name)) for result in runs] for name in runs[0]}
        error = path.with_suffix(".txt")
        return entry | {"ended": error.read_text()[:400] if error.exists() else f"more than {limit} s"}


def significant(value):
    return None if value is None or not np.isfinite(value) else float(f"{value:.5g}")


def tasks():
    """Yield valid combinations of kinds, data and methods."""
    for data in SAME_CRITERION:
        yield from (("same_criterion", data, name) for name in ("ECM", "evclust ecm"))
    for case, (data, _) in RECORDED.items():
        yield "recorded", data, case
    for data in CLASSIFIED:
        yield from (("classify", data, name) for name in CLASSIFIERS)
    for data in peers_data.GENERATED + peers_data.OF_PAPERS:
        yield from (("cluster", data, name) for name, method in CLUSTERERS.items() if fits(method, data))


def fits(method, data):
    """Return True if a method supports the kind of data and the number of samples."""
    size = data.partition("_")[2]
    too_many = method.square and size.isdigit() and int(size) > SQUARE
    return not too_many and (method.relational or data != "protein")


def installed(method):
    methods = CLUSTERERS | CLASSIFIERS
    return method not in methods or methods[method].installed()


def of_r():
    """Return R's recorded seconds, criteria and indices, by case."""
    cases = {}
    for row in (row for row in reference.timings() if row["case"] in RECORDED):
        case = cases.setdefault(row["case"], {"cpu_seconds": [], "criterion": [], "ari": []})
        case["cpu_seconds"].append(float(row["cpu_seconds"]))
        case["criterion"].append(float(row["crit"]))
        extra = dict(word.split("=") for word in row["extra"].split())
        case["ari"] += [float(extra["ARI"])] if "ARI" in extra else []
    return cases


def smaller(data):
    """Return the name of the same data with fewer samples, or None."""
    family, _, size = data.partition("_")
    return f"{family}_{int(size) // 10}" if size.isdigit() else None


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--limit", type=int, default=LIMIT, help="CPU seconds per method and data set")
    parser.add_argument("--only", nargs="*", help="words in kind, data and method")
    arguments = parser.parse_args()
    processes.with_one_thread()
    load_peers()
    absent = sorted({data for _, data, _ in tasks() if not peers_data.is_available(data)})
    if absent:
        print(
            f"skipped, because their files are missing (see benchmarks.get_data): {', '.join(absent)}", flush=True
        )
    former = record.load_if_recorded(NAME) if arguments.only else {}
    entries = {(entry["kind"], entry["data"], entry["method"]): entry for entry in former.get("entries", [])}
    for key in filter(task_filter(arguments), tasks()):
        kind, data, method = key
        if data in absent:
            continue
        previous = entries.get((kind, smaller(data), method), {})
        if "ended" in previous:
            entries[key] = previous | {"data": data, "ended": "not tried, for it failed on fewer"}
        else:
            entries[key] = run_task(key, 1 if arguments.quick else SEEDS, arguments.limit)
        print(json.dumps(entries[key]), flush=True)
        if not arguments.quick:
            write(entries, arguments.limit, former, complete=False)
    if not arguments.quick:
        write(entries, arguments.limit, former)


def write(entries, limit, former, *, complete=True):
    """Write the results; an interrupt keeps those so far."""
    results = {"seeds": SEEDS, "limit": limit, "entries": list(entries.values()), "of_r": of_r()}
    record.write(NAME, results, (*PEERS, "torch"), former=former, complete=complete)


def load_peers():
    """Load the modules of the other packages."""
    for name in MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def task_filter(arguments):
    """Return a predicate for tasks that are selected and whose method is installed."""

    def is_selected(key):
        _, data, method = key
        matches = not arguments.only or any(words in " ".join(key) for words in arguments.only)
        return matches and installed(method) and (data in QUICK or not arguments.quick)

    return is_selected
