"""Defaults on data that are not clean: gross errors, outliers, and clusters of very different sizes.

``python -m benchmarks.studies.unclean [ROW ...] [--seeds design|validation] [--methods NAME ...] [--write NAME]``

Every method has the true number of clusters and a seed, and otherwise its default parameters. Rows are

- *errors*: gross errors;
- *outliers*: planted outliers;
- *clean*: the same data without outliers;
- *sizes*: clusters of very different sizes;
- *typo*: the iris data with 1 wrong value;
- *uniform*: Gaussian clusters in 8 dimensions with 2 % outliers;
- *butterfly*;
- *table*: 20 raw columns with gaps and errors;
- *embeddings*: 300,000 unit vectors; runs only if it is named.

The seeds *design* are for tuning. The record is made with the seeds *validation*, which are not used for tuning.
``--write unclean`` writes to ``benchmarks/results/unclean.json``.
"""

import subprocess
import time
import warnings

import numpy as np
from sklearn.metrics import adjusted_rand_score, roc_auc_score, roc_curve
from sklearn.pipeline import make_pipeline

from benchmarks.common import command_line, record
from benchmarks.common.reference import ROOT
from benchmarks.studies.unclean import generators
from benchmarks.studies.unclean.methods import (
    DETECTORS,
    FAST,
    METHODS,
    PLAIN,
    SLOW,
    Answer,
    empty_mass,
    evidential,
)
from evlearn.cluster import CCM
from evlearn.preprocessing import TableEncoder

NAME = "unclean"
SEEDS = {"design": 0, "validation": 1000}  # the first seed of each kind
SHARES, DISTANCES, DIMENSIONS = (0.01, 0.03, 0.05), (10, 30, 100, 1000), (2, 5, 20)
N_SAMPLES = {"RECM": 500, "MergedMixture": 500, "BootClus": 300, "CredalEnsemble": 500}  # others 1,000
OUTLIER_DIMENSIONS = (2, 5, 20, 60)
DETECTING = ("CCM", "ECM", "EVCLUS", "RECM", "MergedMixture")
EXPECTED_FALSE = 0.01  # false positives at which scores are compared
SIMILAR_DIMENSIONS = (2, 2, 3, 4, 5, 6, 8, 10, 15, 20)
N_EMBEDDINGS, N_NEW, UNSEEN, EMBEDDING_FALSE = 300_000, 20_000, 0.05, 0.02
#: Repetitions of each cell.
REPETITIONS = {"errors": 2, "errors, slow": 1, "outliers": 4, "clean": 4, "sizes": 5, "uniform": 6, "table": 5}


def measures(problem, answer):
    """Return what is measured of an answer."""
    planted, y = problem.planted, problem.y
    row = {"ari": adjusted_rand_score(y[~planted], answer.labels[~planted])}
    if answer.outlier is None:
        return row
    row |= {"sure": answer.sure.mean(), "torn": answer.torn.mean(), "false": answer.outlier[~planted].mean()}
    if planted.any():
        row |= {"flagged": answer.outlier[planted].mean()} | ranking(planted, answer.score)
    return row | {"warned": float(bool(answer.messages))}


def ranking(planted, score, false=EXPECTED_FALSE):
    """Return the AUROC of a score, and the share of outliers above a threshold with the given false positives."""
    false_shares, detected, _ = roc_curve(planted, score)
    return {"auroc": roc_auc_score(planted, score), "ranked": detected[false_shares <= false].max()}


def repeated(draw, answers, first_seed, n_repetitions, **cell):
    """Return an entry for each method."""
    rows = {name: [] for name in answers}
    for repetition in range(n_repetitions):
        for name, (n, answer) in answers.items():
            problem = draw(np.random.default_rng(first_seed + repetition), n)
            started = time.process_time()
            answered = answer(problem.X, problem.n_clusters, first_seed + repetition)
            seconds = time.process_time() - started
            rows[name].append(measures(problem, answered) | {"cpu": seconds, "messages": answered.messages})
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
    shown = (f"{key} {value:.3f}" for key, value in (result | worst).items() if key in means or key in worst)
    print("; ".join(map(str, cell.values())), "|", ", ".join(shown), flush=True)
    return result


def chosen(names, methods, n_samples=None):
    """Return the functions of those evidential and plain methods that were chosen, with numbers of samples."""
    functions = {}
    for name in names:
        if not methods or name in methods:
            fit = PLAIN[name] if name in PLAIN else evidential_method(name)
            functions[name] = n_samples or N_SAMPLES.get(name, 1000), fit
    return functions


def evidential_method(name):
    """Return a function of data, number of clusters and seed."""
    return lambda X, n_clusters, seed: evidential(name, X, n_clusters, seed)


def errors(first_seed, methods=()):
    """Measure gross errors in 5 separated clusters.

    All cells are for fast methods, a few for slow ones, and 1 has 20,000 samples.
    """

    def cells(names, n_repetitions, shares, distances, dimensions, n_samples=None, kinds=generators.KINDS):
        for kind in kinds:
            for d in dimensions:
                for share in shares:
                    for size in distances:

                        def draw(random, n, d=d, share=share, size=size, kind=kind):
                            return generators.gross_errors(random, n, d, share, size, kind)

                        cell = {"kind": kind, "d": d, "share": share, "distance": size}
                        cell |= {"n": n_samples} if n_samples else {}
                        answers = chosen(names, methods, n_samples)
                        yield from repeated(draw, answers, first_seed, n_repetitions, **cell)

    return [
        *cells((*FAST, *PLAIN), REPETITIONS["errors"], SHARES, DISTANCES, DIMENSIONS),
        *cells(SLOW, REPETITIONS["errors, slow"], (0.03,), (10, 100, 1000), (5,)),
        *cells(FAST, 1, (0.03,), (100,), (5,), 20_000, generators.KINDS[:1]),
    ]


def outliers(first_seed, methods=(), share=0.05):
    """Measure planted outliers in clusters of different sizes and shapes."""
    entries = []
    for family in generators.FAMILIES:
        for d in OUTLIER_DIMENSIONS:

            def draw(random, n, d=d, family=family):
                return generators.planted_outliers(random, n, d, family, share)

            cell = {"family": family, "d": d}
            row = "outliers" if share else "clean"
            names = chosen(DETECTING, methods)
            entries += repeated(draw, names, first_seed, REPETITIONS[row], **cell)
            if share and not methods:
                entries += detectors(draw, first_seed, REPETITIONS[row], **cell)
    return entries


def detectors(draw, first_seed, n_repetitions, **cell):
    """Return entries of the outlier detectors of scikit-learn on the same data."""
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
    return outliers(first_seed, methods, share=0.0)


def sizes(first_seed, methods=()):
    """Measure clusters of 242, 48 and 10 samples in the plane, and similar ones in 2 to 20 dimensions."""
    answers = chosen(("CCM", "ECM", "EVCLUS", "RECM", "k-means"), methods)
    entries = []
    for place, d in enumerate((2, *SIMILAR_DIMENSIONS)):

        def draw(random, n, d=d, place=place):
            random = np.random.default_rng([*random.integers(1 << 30, size=2), place])
            counts = generators.similar_sizes(random) if place else generators.UNBALANCED
            return generators.unbalanced(random, counts, d, random.uniform(5, 8))

        name = f"similar {place}" if place else "242/48/10"
        entries += repeated(draw, answers, first_seed, REPETITIONS["sizes"], data=name, d=d)
    return entries


def typo(first_seed, methods=()):
    """Measure the iris data as they are, and with 51 instead of 5.1 in the first row."""
    entries = []
    for typed in (False, True):

        def draw(random, n, typed=typed):
            return generators.iris(typed)

        answers = chosen(("CCM", "ECM", "EVCLUS", "RECM", "MergedMixture"), methods)
        for result in repeated(draw, answers, first_seed, 1, data="typo" if typed else "clean"):
            result["torn_samples"] = round(result["torn"] * 150)
            entries.append(result)
    return entries


def uniform(first_seed, methods=()):
    """Measure 5 Gaussian clusters in 8 dimensions with 2 % uniform outliers."""

    def draw(random, n):
        return generators.uniform_outliers(random, n)

    small = chosen(("CCM", "ECM", "EVCLUS", "MergedMixture", "k-means", "trimmed k-means"), methods, 1000)
    large = chosen(("EVCLUS", "k-means"), methods, 10_000)
    return [
        *repeated(draw, small, first_seed, REPETITIONS["uniform"], n=1000),
        *repeated(draw, large, first_seed, REPETITIONS["uniform"], n=10_000),
    ]


def butterfly(first_seed, methods=()):
    """Measure the butterfly data: samples of the wings that are sure, and verdicts of samples 6 and 12."""
    problem, entries = generators.butterfly(), []
    for name in ("CCM", "ECM", "EVCLUS", "RECM"):
        if methods and name not in methods:
            continue
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
    """Return the verdict of a sample in a word."""
    return next(name for name in ("sure", "torn", "outlier") if getattr(answer, name)[sample])


def table(first_seed, methods=()):
    """Measure CCM on an encoded table of 20 columns with 4 classes, gaps, and 1 % of the rows times 60."""

    def fit(X, n_clusters, seed):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = make_pipeline(TableEncoder(), CCM(n_clusters, random_state=seed)).fit(X)
        partition = model[-1].credal_partition_
        verdict = partition.verdict()
        messages = tuple(str(warning.message) for warning in caught)
        kinds = verdict.sure, verdict.torn, verdict.outlier
        return Answer(model[-1].labels_, *kinds, empty_mass(partition), messages)

    def draw(random, n):
        return generators.raw_table(random, n)

    return repeated(draw, {"TableEncoder, CCM": (1000, fit)}, first_seed, REPETITIONS["table"])


def embeddings(first_seed, methods=(), n=N_EMBEDDINGS, n_new=N_NEW):
    """Measure unit vectors of 50 topics, and new ones of which 5 % are from unseen topics."""
    texts = generators.Embeddings(np.random.default_rng(first_seed))
    training = texts.draw(np.random.default_rng(first_seed + 1), n)
    new = texts.draw(np.random.default_rng(first_seed + 2), n_new, UNSEEN)
    started = time.process_time()
    model = CCM(training.n_clusters, random_state=first_seed).fit(training.X)
    seconds = time.process_time() - started
    partition = model.predict_mass(new.X)
    outlier, unseen = partition.verdict().outlier, new.planted
    row = {
        "ari": adjusted_rand_score(new.y[~unseen], partition.to_hard()[~unseen]),
        "flagged": outlier[unseen].mean(),
        "false": outlier[~unseen].mean(),
        **ranking(unseen, empty_mass(partition), EMBEDDING_FALSE),
        "cpu": seconds,
    }
    return [entry({"method": "CCM", "n": n, "rate": "default"}, [row])]


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
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS], help="all but embeddings if none is named")
    parser.add_argument("--seeds", choices=SEEDS, default="validation")
    parser.add_argument("--methods", nargs="+", choices=[*METHODS, *PLAIN], default=())
    parser.add_argument("--write", metavar="NAME", help="write to results/NAME.json")
    options = parser.parse_args()
    results = {"seeds": options.seeds, "commit": commit()}
    for row in options.rows or [name for name in ROWS if name not in SEPARATE]:
        started = time.process_time()
        results[row] = ROWS[row](SEEDS[options.seeds], options.methods)
        print(f"{row}: {time.process_time() - started:.0f} s of CPU time\n", flush=True)
    if options.write:
        record.write(options.write, results)


def commit():
    """Return the commit that was measured."""
    words = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


if __name__ == "__main__":
    main()
