"""Other packages beside ours, in one run: quality, CPU seconds and memory, on the same data.

``python -m benchmarks.studies.peers [--quick] [--limit SECONDS] [--only WORDS ...]``

Install the packages of ``requirements.txt`` and this library into an environment of their own, and run it
with the Python of that environment: about half an hour, one busy process at a time. It writes
``benchmarks/results/peers_side_by_side.json``. Methods whose package is missing are left out. Every pair of data
and method has a process of its own with one thread, and SECONDS of CPU. Time is CPU seconds of a fit after a first
one to some of the objects, which loads what is loaded once; memory is the peak beyond what there was before.
``--only`` runs those whose kind, data and method contain one of the WORDS, as in "cluster iris", and keeps what
is on record for the others.
``--quick`` runs three data sets with one seed and writes nothing.
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
from benchmarks.common.papers import ECM, EVCLUS, RECM, BootClus, EKNNClus
from benchmarks.studies.peers import data as peers_data
from benchmarks.studies.peers.methods import CLASSIFIERS, CLUSTERERS, PEERS, SQUARE, Masses, read
from evlearn.datasets import same_cluster_probability
from evlearn.metrics import consistency_index, nonspecificity_index

NAME = "peers_side_by_side"
SEEDS, LIMIT, WARM_UP, PAIRS = 3, 120, 100, 20_000
CLOSE = 0.01  # a probability that is so near to an interval is covered by it
PEAK = Path("/proc/self/clear_refs")
SHORT, REPEATS = 0.2, 20  # a call shorter than this many seconds is repeated, at the most so often
#: Loaded before the work is shared out.
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
#: R's recorded runs on data as they are, and our estimator with R's options.
RECORDED = {
    "ecm_fourclass_c4_full": ("fourclass", lambda s: ECM(4, delta=20**0.5, random_state=s)),
    "ecm_s2_c15_simple": ("s2", lambda s: ECM(15, focal_sets="simple", delta=10, random_state=s)),
    "ecm_gauss4_n100000_c4_full": ("gauss4_n100000", lambda s: ECM(4, delta=10, random_state=s)),
    "recm_protein_c4_full": (
        "protein",
        lambda s: RECM(
            4, alpha=0.2, beta=1.1, delta=20**0.5, metric="precomputed", squared_input=True, random_state=s
        ),
    ),
    "kevclus_protein_fullD_c4_simple": (
        "protein",
        lambda s: EVCLUS(4, d0_quantile=1, metric="precomputed", random_state=s),
    ),
    "kevclus_gauss4_n10000_k100_c4_simple": (
        "gauss4_n10000",
        lambda s: EVCLUS(4, d0_quantile=0.9, n_partners=100, random_state=s),
    ),
    "kevclus_s2_k100_c15_simple": ("s2", lambda s: EVCLUS(15, d0_quantile=0.9, n_partners=100, random_state=s)),
    "EkNNclus_fourclass_K60_y0n": ("fourclass", lambda s: EKNNClus(60, q=0.9, random_state=s)),
    "bootclus_iris_G3_B500": (
        "iris",
        lambda s: BootClus(3, covariance_models="VEV", n_bootstrap=500, variance_floor=0, random_state=s),
    ),
}


def cluster(name, method, seed):
    """A method on data: what a fit costs, and how good it is."""
    data, call = peers_data.load(name), CLUSTERERS[method].call
    warm_up(lambda: call(data.first(WARM_UP), 0))
    (labels, said), costs = measured(lambda: call(data, seed))
    return costs | judge(data, labels, said)


def same_criterion(name, method, seed):
    """ECM of ours, or of evclust, from the same start with the same delta: the criterion at its prototypes."""
    from benchmarks.studies.peers.ecm import objective

    data = peers_data.load(name)
    X, c = data.X, data.n_clusters
    start = KMeans(c, n_init=1, max_iter=2, random_state=seed).fit(X).cluster_centers_
    delta = ECM(c, random_state=0).fit(X).delta_

    def fit(X):
        if method == "ECM":
            model = ECM(c, init=start, delta=delta).fit(X)
            return model.cluster_centers_, model.labels_, model.credal_partition_
        from evclust.ecm import ecm

        result = ecm(X, c=c, g0=start, delta=delta, disp=False)
        return (
            np.asarray(result["g"]),
            np.asarray(result["y_pl"]),
            Masses(result["mass"], np.asarray(result["F"]) > 0),
        )

    warm_up(lambda: fit(X[:WARM_UP]))
    (centers, labels, said), costs = measured(lambda: fit(X))
    return costs | {"criterion": objective(X, centers, delta)} | judge(data, labels, said)


def classify(name, method, seed):
    """A classifier with half of the objects of each class, and the share of errors in the other half."""
    X, y = peers_data.table(name)
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    X = (X - X[train].mean(axis=0)) / np.maximum(X[train].std(axis=0), 1e-12)
    y = peers_data.codes(y)
    call = CLASSIFIERS[method].call
    warm_up(lambda: call(0).fit(X[train][:WARM_UP], y[train][:WARM_UP]))
    model, costs = measured(lambda: call(seed).fit(X[train], y[train]))
    start = time.process_time()
    predicted = np.asarray(model.predict(X[test]))
    seconds = time.process_time() - start
    return costs | {"predict_seconds": seconds, "error": float(np.mean(predicted.astype(int) != y[test]))}


def recorded(name, method, seed):
    """Ours on what R's recorded run was given, with its options."""
    _, estimator = RECORDED[method]
    if name.startswith("gauss4"):
        with np.load(reference.data(f"{name}.npz")) as file:
            X, y = file["x"], file["y"]
    elif name == "protein":
        y, X = peers_data.load(name)[0], peers_data.load(name).D
    else:
        X, y = peers_data.table(name)
    warm_up(lambda: estimator(0).fit(X[:WARM_UP, :WARM_UP]))
    model, costs = measured(lambda: estimator(seed).fit(X))
    return costs | {"ari": adjusted_rand_score(y, model.labels_), "criterion": float(model.objective_)}


KINDS = {"cluster": cluster, "same_criterion": same_criterion, "classify": classify, "recorded": recorded}


def warm_up(call):
    """Load what is loaded once; few objects may be too few for a method, and that is no result."""
    with contextlib.suppress(Exception):
        call()


def measured(call):
    """What a call gives, its CPU seconds, and its peak of memory beyond what there was before, in MB.

    Clocks of CPU tick slowly on some machines, so that short calls are repeated.
    """
    before = resident("VmRSS")
    if PEAK.exists():
        PEAK.write_text("5")  # it begins again
    start, calls = time.process_time(), 0
    while calls == 0 or (time.process_time() - start < SHORT and calls < REPEATS):
        found = call()
        calls += 1
    seconds = (time.process_time() - start) / calls
    return found, {"cpu_seconds": seconds, "memory_mb": max(0.0, resident("VmHWM") - before)}


def resident(name):
    """Memory of this process in MB, as far as Linux tells."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(name)), 0.0)


def judge(data, labels, said):
    """Indices of the objects that are no outliers, how outliers were found, and what was wrong with masses."""
    partition, wrong = read(said)
    inside = np.full(len(data.y), True) if data.outliers is None else ~data.outliers
    found = {
        "ari": adjusted_rand_score(data.y[inside], labels[inside]),
        "clusters": len(np.unique(labels)),
    } | wrong
    if partition is None:
        return found
    found["consistency"] = consistency_index(partition[inside], data.y[inside])
    found["nonspecificity"] = nonspecificity_index(partition[inside])
    if data.outliers is not None:
        refused = ~partition.to_rough().any(axis=1)  # by the largest mass, as in the papers
        found |= {"outliers_found": refused[~inside].mean(), "false_alarms": refused[inside].mean()}
    if data.posterior is not None:
        found |= against_posterior(partition[inside], data.posterior[inside])
    return {key: float(value) for key, value in found.items()}


def against_posterior(partition, posterior):
    """Of pairs: how far their probability to be together is from the true one, and how often that is covered."""
    pairs = np.random.default_rng(0).integers(len(posterior), size=(PAIRS, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    truth = same_cluster_probability(posterior, pairs)
    masses = partition.relational(pairs)
    covered = (masses.same <= truth + CLOSE) & (truth <= masses.plausibility_same + CLOSE)
    error = np.abs(same_cluster_probability(partition.to_fuzzy(), pairs) - truth)
    return {"pair_error": error.mean(), "covered": covered.mean()}


def work(key, n_seeds, limit, path):
    """In a process of its own: run the seeds, as long as there is time, and write what was found so far."""
    import resource  # which Windows has not

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


def run(key, n_seeds, limit):
    """What a process found, as columns, or how it ended. It is forked, so that packages are loaded only once."""
    entry = dict(zip(("kind", "data", "method"), key, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "runs.json")
        process = multiprocessing.get_context("fork").Process(target=work, args=(key, n_seeds, limit, path))
        process.start()
        process.join()
        if path.exists():
            runs = json.loads(path.read_text())
            return entry | {name: [significant(one.get(name)) for one in runs] for name in runs[0]}
        error = path.with_suffix(".txt")
        return entry | {"ended": error.read_text()[:400] if error.exists() else f"more than {limit} s"}


def significant(value):
    return None if value is None or not np.isfinite(value) else float(f"{value:.5g}")


def tasks():
    """Kinds, data and methods, as far as they fit each other and are installed."""
    for data in SAME_CRITERION:
        yield from (("same_criterion", data, name) for name in ("ECM", "evclust ecm"))
    for case, (data, _) in RECORDED.items():
        yield "recorded", data, case
    for data in CLASSIFIED:
        yield from (("classify", data, name) for name in CLASSIFIERS)
    for data in peers_data.GENERATED + peers_data.OF_PAPERS:
        yield from (("cluster", data, name) for name, method in CLUSTERERS.items() if fits(method, data))


def fits(method, data):
    """Whether a method takes such data: dissimilarities, or so many objects."""
    size = data.partition("_")[2]
    too_many = method.square and size.isdigit() and int(size) > SQUARE
    return not too_many and (method.relational or data != "protein")


def installed(method):
    known = CLUSTERERS | CLASSIFIERS
    return method not in known or known[method].installed()


def of_r():
    """R's recorded seconds, criteria and indices, by case."""
    found = {}
    for row in (row for row in reference.timings() if row["case"] in RECORDED):
        case = found.setdefault(row["case"], {"cpu_seconds": [], "criterion": [], "ari": []})
        case["cpu_seconds"].append(float(row["cpu_seconds"]))
        case["criterion"].append(float(row["crit"]))
        extra = dict(word.split("=") for word in row["extra"].split())
        case["ari"] += [float(extra["ARI"])] if "ARI" in extra else []
    return found


def smaller(data):
    """The same data with fewer objects, if there are such."""
    family, _, size = data.partition("_")
    return f"{family}_{int(size) // 10}" if size.isdigit() else None


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--limit", type=int, default=LIMIT, help="CPU seconds for a method on data")
    parser.add_argument("--only", nargs="*", help="words in kind, data and method")
    arguments = parser.parse_args()
    processes.with_one_thread()
    load_peers()
    absent = sorted({data for _, data, _ in tasks() if not peers_data.is_there(data)})
    if absent:
        print(f"left out, because benchmarks.get_data has not found them: {', '.join(absent)}", flush=True)
    entries = {}
    if arguments.only:
        entries = {(one["kind"], one["data"], one["method"]): one for one in record.read(NAME)["entries"]}
    for key in filter(wanted(arguments), tasks()):
        kind, data, method = key
        if data in absent:
            continue
        before = entries.get((kind, smaller(data), method), {})
        if "ended" in before:
            entries[key] = before | {"data": data, "ended": "not tried, for it failed on fewer"}
        else:
            entries[key] = run(key, 1 if arguments.quick else SEEDS, arguments.limit)
        print(json.dumps(entries[key]), flush=True)
        if not arguments.quick:
            found = {"seeds": SEEDS, "limit": arguments.limit, "entries": list(entries.values()), "of_r": of_r()}
            record.write(NAME, found, (*PEERS, "torch"))


def load_peers():
    """Load what the packages load once."""
    for name in MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def wanted(arguments):
    """Whether a task is asked for, and its method is installed."""

    def is_wanted(key):
        _, data, method = key
        asked = not arguments.only or any(words in " ".join(key) for words in arguments.only)
        return asked and installed(method) and (data in QUICK or not arguments.quick)

    return is_wanted
