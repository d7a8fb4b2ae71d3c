"""Default parameters on data with gross errors, outliers, and clusters of very different sizes.

``python -m benchmarks.studies.unclean [ROW ...] [--seeds design|validation] [--methods NAME ...] [--write NAME]``

Each method has the true number of clusters and a seed, and otherwise its default parameters. Rows are

- *errors*: gross errors;
- *outliers*: planted outliers;
- *clean*: the same data without outliers;
- *sizes*: clusters of very different sizes;
- *typo*: the Iris data with 1 wrong value;
- *uniform*: Gaussian clusters in 8 dimensions with 2 % outliers;
- *butterfly*;
- *table*: 20 raw columns with missing values and errors;
- *embeddings*: 300,000 unit vectors; runs only on request.

The seeds *design* are for tuning; the seeds *validation* of the record are not. Each row has its methods; with
``--methods``, all rows have the given ones. ``--write unclean`` writes to ``benchmarks/results/unclean.json``, and
keeps the entries of other rows and methods in this file.
"""

import subprocess
import time
import warnings
from functools import partial
from itertools import product

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, pairwise_distances, roc_auc_score, roc_curve
from sklearn.pipeline import make_pipeline

from benchmarks.common import command_line, record
from benchmarks.common.reference import ROOT
from benchmarks.studies.unclean import generators
from benchmarks.studies.unclean.generators import TOPICS
from benchmarks.studies.unclean.methods import (
    DETECTORS,
    FAST,
    METHODS,
    PLAIN,
    SLOW,
    Answer,
    answer_of,
    evidential,
)
from benchmarks.studies.unclean.targets import checks
from evlearn import tabular_clusterer
from evlearn.cluster import CCM
from evlearn.preprocessing import TableEncoder

NAME = "unclean"
SEEDS = {"design": 0, "validation": 1000}  # the first seed of each kind
SHARES, DISTANCES, DIMENSIONS = (0.01, 0.03, 0.05), (10, 30, 100, 1000), (2, 5, 20)
N_SAMPLES = {"RECM": 500, "MergedMixture": 500, "BootClus": 300}  # others 1,000
OUTLIER_DIMENSIONS = (2, 5, 20, 60)
DETECTING = ("CCM", "ECM", "EVCLUS", "RECM", "MergedMixture", "CredalEnsemble")
EXPECTED_FALSE = 0.01  # false positives at which scores are compared
SIMILAR_DIMENSIONS = (2, 2, 3, 4, 5, 6, 8, 10, 15, 20)
N_EMBEDDINGS, N_NEW, UNSEEN, EMBEDDING_FALSE = 300_000, 20_000, 0.05, 0.02
OUTLIER_RATES = (0.001, 0.01, 0.02, 0.05)  # set explicitly, in addition to the default
#: Repetitions of each cell.
REPETITIONS = {"errors": 2, "errors, slow": 1, "outliers": 4, "clean": 4, "sizes": 5, "uniform": 6, "table": 5}


def measures(problem, answer):
    """Return the scores of an answer."""
    planted, y = problem.planted, problem.y
    row = {"ari": adjusted_rand_score(y[~planted], answer.labels[~planted])}
    if answer.outlier is None:
        return row
    row |= {"sure": answer.sure.mean(), "torn": answer.torn.mean(), "false": answer.outlier[~planted].mean()}
    if planted.any():
        row |= {"flagged": answer.outlier[planted].mean()} | ranking(planted, answer.score)
    return row | {"warned": float(bool(answer.messages))}


def ranking(planted, score, false=EXPECTED_FALSE):
    """Return the AUROC of a score, and the share of outliers above a threshold with the false positive rate."""
    false_shares, detected, _ = roc_curve(planted, score)
    return {"auroc": roc_auc_score(planted, score), "ranked": detected[false_shares <= false].max()}


def run_repetitions(draw, methods, first_seed, n_repetitions, **cell):
    """Return an entry for each method."""
    rows = {name: [] for name in methods}
    for repetition in range(n_repetitions):
        for name, (n, fit) in methods.items():
            problem = draw(np.random.default_rng(first_seed + repetition), n)
            start = time.process_time()
            result = fit(problem.X, problem.n_clusters, first_seed + repetition)
            seconds = time.process_time() - start
            rows[name].append(measures(problem, result) | {"cpu": seconds, "messages": result.messages})
    return [entry(cell | {"method": name}, of_name) for name, of_name in rows.items()]


def entry(cell, rows):
    """Return means over repetitions, the ARI of each, and messages; and print the means."""
    messages = sorted({message[:120] for row in rows for message in row.pop("messages", ())})
    means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    result = cell | {key: round(value, 4) for key, value in means.items()}
    if "ari" in result and len(rows) > 1:
        result["aris"] = [round(float(row["ari"]), 4) for row in rows]
    if messages:
        result["messages"] = messages[:2]
    worst = {"worst ari": min(result["aris"])} if "aris" in result else {}
    texts = (f"{key} {value:.3f}" for key, value in (result | worst).items() if key in means or key in worst)
    print("; ".join(map(str, cell.values())), "|", ", ".join(texts), flush=True)
    return result


def select_methods(names, methods, n_samples=None):
    """Return the functions of the methods of a row, or of the selected ones, with numbers of samples."""
    functions = {}
    for name in methods or names:
        fit = PLAIN[name] if name in PLAIN else evidential_method(name)
        functions[name] = n_samples or N_SAMPLES.get(name, 1000), fit
    return functions


def evidential_method(name):
    """Return a function of data, number of clusters and seed."""
    return lambda X, n_clusters, seed: evidential(name, X, n_clusters, seed)


def errors(first_seed, methods=()):
    """Measure gross errors in 5 separated clusters.

    All cells are run for fast methods, some for slow ones, and one has 20,000 samples.
    """
    kinds, (n_fast, n_slow) = generators.KINDS, (REPETITIONS["errors"], REPETITIONS["errors, slow"])
    entries = []
    for kind, d, share, size in product(kinds, DIMENSIONS, SHARES, DISTANCES):
        entries += errors_in((*FAST, *PLAIN), first_seed, n_fast, methods, kind, d, share, size)
    for kind, size in product(kinds, () if methods else (10, 100, 1000)):
        entries += errors_in(SLOW, first_seed, n_slow, methods, kind, 5, 0.03, size)
    return [*entries, *errors_in(FAST, first_seed, 1, methods, "spread out", 5, 0.03, 100, n=20_000)]


def errors_in(names, first_seed, n_repetitions, methods, kind, d, share, distance, **size):
    """Measure a cell of gross errors; `size` may contain the number of samples n."""

    def draw(random, n):
        return generators.gross_errors(random, n, d, share, distance, kind)

    cell = {"kind": kind, "d": d, "share": share, "distance": distance} | size
    return run_repetitions(draw, select_methods(names, methods, size.get("n")), first_seed, n_repetitions, **cell)


def outliers(first_seed, methods=()):
    """Measure planted outliers in clusters of different sizes and shapes."""
    entries = []
    for family, d in product(generators.FAMILIES, OUTLIER_DIMENSIONS):
        entries += outliers_in(first_seed, methods, family, d)
    return entries


def outliers_in(first_seed, methods, family, d, share=0.05):
    """Measure a cell of planted outliers, or of the same clusters without outliers."""

    def draw(random, n):
        return generators.planted_outliers(random, n, d, family, share)

    cell, n_repetitions = {"family": family, "d": d}, REPETITIONS["outliers" if share else "clean"]
    entries = run_repetitions(draw, select_methods(DETECTING, methods), first_seed, n_repetitions, **cell)
    if share and not methods:
        entries += detectors(draw, first_seed, n_repetitions, **cell)
    return entries


def detectors(draw, first_seed, n_repetitions, **cell):
    """Return entries of scikit-learn's outlier detectors on the same data."""
    entries = []
    for name, detect in DETECTORS.items():
        rows = []
        for repetition in range(n_repetitions):
            problem = draw(np.random.default_rng(first_seed + repetition), 1000)
            rows.append(ranking(problem.planted, detect(problem.X, first_seed + repetition)))
        entries.append(entry(cell | {"method": name}, rows))
    return entries


def clean(first_seed, methods=()):
    """Measure the same clusters without outliers."""
    entries = []
    for family, d in product(generators.FAMILIES, OUTLIER_DIMENSIONS):
        entries += outliers_in(first_seed, methods, family, d, share=0.0)
    return entries


def sizes(first_seed, methods=()):
    """Measure clusters of 242, 48 and 10 samples in the plane, and similar ones in 2 to 20 dimensions."""
    answers = select_methods(("CCM", "ECM", "EVCLUS", "RECM", "CredalEnsemble", "k-means"), methods)
    entries = []
    for index, d in enumerate((2, *SIMILAR_DIMENSIONS)):

        def draw(random, n, d=d, index=index):
            random = np.random.default_rng([*random.integers(1 << 30, size=2), index])
            counts = generators.similar_sizes(random) if index else generators.UNBALANCED
            return generators.unbalanced(random, counts, d, random.uniform(5, 8))

        name = f"similar {index}" if index else "242/48/10"
        entries += run_repetitions(draw, answers, first_seed, REPETITIONS["sizes"], data=name, d=d)
    return entries


def typo(first_seed, methods=()):
    """Measure the Iris data, and the same data with 51 instead of 5.1 in the first row."""
    entries = []
    for has_typo in (False, True):

        def draw(random, n, has_typo=has_typo):
            return generators.iris(has_typo)

        answers = select_methods(DETECTING, methods)
        for result in run_repetitions(draw, answers, first_seed, 1, data="typo" if has_typo else "clean"):
            result["torn_samples"] = round(result["torn"] * 150)
            entries.append(result)
    return entries


def uniform(first_seed, methods=()):
    """Measure 5 Gaussian clusters in 8 dimensions with 2 % uniform outliers."""

    def draw(random, n):
        return generators.uniform_outliers(random, n)

    small = select_methods(("CCM", "ECM", "EVCLUS", "MergedMixture", "CredalEnsemble", *PLAIN), methods, 1000)
    large = select_methods(("EVCLUS", "k-means"), methods, 10_000)
    return [
        *run_repetitions(draw, small, first_seed, REPETITIONS["uniform"], n=1000),
        *run_repetitions(draw, large, first_seed, REPETITIONS["uniform"], n=10_000),
    ]


def butterfly(first_seed, methods=()):
    """Measure the butterfly data: sure samples of the wings, and verdicts of samples 6 and 12."""
    problem, entries = generators.butterfly(), []
    for name in methods or ("CCM", "ECM", "EVCLUS", "RECM", "CredalEnsemble"):
        answer = evidential(name, problem.X, problem.n_clusters, first_seed)
        wings = problem.y >= 0
        result = {
            "method": name,
            "ari": round(float(adjusted_rand_score(problem.y[wings], answer.labels[wings])), 4),
            "sure_in_wings": int(answer.sure[wings].sum()),
            "middle": verdict_of(answer, 5),
            "last": verdict_of(answer, 11),
            "messages": [message[:120] for message in answer.messages],
        }
        print(*result.values(), flush=True)
        entries.append(result)
    return entries


def verdict_of(answer, sample):
    """Return the verdict of a sample as text."""
    return next(name for name in ("sure", "torn", "outlier") if getattr(answer, name)[sample])


def table(first_seed, methods=()):
    """Measure pipelines on a table of 20 columns with 4 classes, missing values and multiplied rows."""

    def draw(random, n):
        return generators.raw_table(random, n)

    pipelines = {"TableEncoder, CCM": ccm_pipeline, "tabular_clusterer": tabular_clusterer}
    functions = {name: (1000, partial(fit_pipeline, make)) for name, make in pipelines.items()}
    return run_repetitions(draw, functions, first_seed, REPETITIONS["table"])


def ccm_pipeline(n_clusters, random_state):
    return make_pipeline(TableEncoder(), CCM(n_clusters, random_state=random_state))


def fit_pipeline(make, X, n_clusters, seed):
    """Return the answer of a fitted pipeline."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        model = make(n_clusters, random_state=seed).fit(X)
    return answer_of(model[-1].credal_partition_, records)


def embeddings(first_seed, methods=(), n=N_EMBEDDINGS, n_new=N_NEW):
    """Measure unit vectors of 50 topics, and new ones of which 5 % are from unseen topics.

    The first topics are those of the original problem; 2 other draws of topics have a third of the samples.
    """
    entries = []
    for draw, topics_seed in enumerate((0, first_seed + 10, first_seed + 20)):
        texts = generators.Embeddings(np.random.default_rng(topics_seed))
        training = texts.draw(np.random.default_rng(first_seed + 3 * draw + 1), n // 3 if draw else n)
        new = texts.draw(np.random.default_rng(first_seed + 3 * draw + 2), n_new, UNSEEN)
        cell = {"topics": draw + 1, "n": len(training.X)}
        entries += unseen_topics(training, new, first_seed, cell, () if draw else OUTLIER_RATES)
    return entries


def unseen_topics(training, new, seed, cell, rates):
    """Measure CCM with default and other rates, and distances to centers of k-means and of the true topics."""
    start = time.process_time()
    model = CCM(TOPICS, random_state=seed).fit(training.X)
    seconds = time.process_time() - start
    entries = [entry(cell | {"method": "CCM", "rate": "default"}, [of_new(model, new) | {"cpu": seconds}])]
    if "outlier_rate" in model.get_params():
        for rate in rates:
            refitted = CCM(TOPICS, init=model.cluster_centers_, outlier_rate=rate, random_state=seed).fit(
                training.X
            )
            entries.append(entry(cell | {"method": "CCM", "rate": rate}, [of_new(refitted, new)]))
    plain = KMeans(TOPICS, n_init=1, random_state=seed).fit(training.X).cluster_centers_
    true = np.array([training.X[training.y == k].mean(axis=0) for k in range(TOPICS)])
    for name, centers in (("k-means", plain), ("true means", true)):
        distances = pairwise_distances(new.X, centers)
        labels, score = distances.argmin(axis=1), distances.min(axis=1)
        row = measures(new, Answer(labels)) | ranking(new.planted, score, EMBEDDING_FALSE)
        entries.append(entry(cell | {"method": name}, [row]))
    return entries


def of_new(model, new):
    """Return scores of new samples."""
    answer = answer_of(model.predict_mass(new.X))
    return measures(new, answer) | ranking(new.planted, answer.score, EMBEDDING_FALSE)


ROWS = {
    "errors": errors,
    "outliers": outliers,
    "clean": clean,
    "sizes": sizes,
    "typo": typo,
    "uniform": uniform,
    "butterfly": butterfly,
    "table": table,
    "embeddings": embeddings,
}
SEPARATE = ("embeddings",)


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument(
        "rows", nargs="*", choices=[[], *ROWS], help="rows to run (default: all except embeddings)"
    )
    parser.add_argument("--seeds", choices=SEEDS, default="validation")
    parser.add_argument("--methods", nargs="+", choices=[*METHODS, *PLAIN], default=())
    parser.add_argument(
        "--samples", type=int, default=N_EMBEDDINGS, help="number of training samples of embeddings"
    )
    parser.add_argument("--write", metavar="NAME", help="write to results/NAME.json")
    options = parser.parse_args()
    results = {"seeds": options.seeds, "commit": commit()}
    for row in options.rows or [name for name in ROWS if name not in SEPARATE]:
        start = time.process_time()
        size = {"n": options.samples} if row == "embeddings" else {}
        results[row] = ROWS[row](SEEDS[options.seeds], options.methods, **size)
        print(f"{row}: {time.process_time() - start:.0f} s of CPU time\n", flush=True)
    if not options.methods:
        show_targets(checks(results))
    if options.write:
        former = record.load_if_recorded(options.write) if options.rows or options.methods else {}
        record.write(options.write, merge(former, results), former=former)


def merge(stored, results):
    """Return results together with the entries of other rows and methods, and their commits."""
    if not stored:
        return results
    for row in ROWS:
        measured = {entry["method"] for entry in results.get(row, ())}
        others = [entry for entry in stored.get(row, ()) if entry["method"] not in measured]
        if others or row in results:
            results[row] = others + results.get(row, [])
    commits = {*stored.get("other_commits", ()), stored["commit"]} - {results["commit"]}
    return results | {"other_commits": sorted(commits)}


def show_targets(of_run):
    """Print the missed targets, and the number of targets met."""
    for check in of_run:
        if not check.is_met:
            bound = "at most" if check.is_upper else "at least"
            print(*check[:4], f"{check.value:.3f}, target {bound} {check.target}", sep="; ")
    print(f"{sum(check.is_met for check in of_run)} of {len(of_run)} targets are met")


def commit():
    """Return the last commit that changed the sources."""
    words = ["git", "log", "-1", "--format=%h", "--", "src"]
    return subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


if __name__ == "__main__":
    main()
