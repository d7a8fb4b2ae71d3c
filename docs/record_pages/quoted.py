"""Tables and sentences with results, which other pages include instead of copying numbers."""

from benchmarks.common import needs
from benchmarks.get_data import by_packages

from .tables import table

ENGINES = {"processes": "joblib with 2 processes", "dask": "Dask with 2 processes"}
MODELS = ("EII", "EEE", "VVV")
MIXTURES = {
    "EII": "Mixture 1: equal balls (EII)",
    "EEE": "Mixture 2: equal ellipses (EEE)",
    "VVV": "Mixture 3: different ellipses (VVV)",
}
#: Strategies by their names in the results.
STRATEGIES = {
    "random pairs, expanded": "random pairs",
    "random objects": "random samples",
    "margin": "margin",
    "margin, closed world": "margin, closed world",
    "doubt": "doubt",
    "entropy": "entropy",
    "nonspecificity": "nonspecificity",
    "random pairs": "random pairs, not expanded",
    "margin, no expansion": "margin, ``n_neighbors=0``",
}
#: Methods that are falsely sure on many data sets, by their names in the results; the last is another class.
OVERCONFIDENT = ("EKNNClus", "MergedMixture", "mixture")
#: Tests of drift by their names in the results, and kinds of batches in the order of the table.
DRIFT_TESTS = {
    "DriftMonitor, CCM": "`DriftMonitor`",
    "columns": "columns (Kolmogorov-Smirnov)",
    "MMD": "MMD",
    "classifier": "classifier",
    "clusters, CCM": "cluster sizes (chi-squared)",
    "PSI": "PSI above 0.2",
}
BATCHES = ("unchanged", "shift", "small shift", "spread", "new cluster", "sizes", "outliers", "moved cluster")
NOMINAL, MAX_SHORTFALL = 0.9, 0.1  # nominal coverage, and the shortfall from which it is marked


def parts(read_results):
    """Return the texts of the guide and of the index of the benchmarks."""
    return {
        "overconfident": overconfident(read_results("answers"), read_results("answers_one_call")),
        "engine": engine(read_results("scale_engine")),
        "iterations": iterations(
            read_results("scale_engines"), read_results("scale_ecm_iteration"), read_results("scale_embeddings")
        ),
        "ensemble": ensemble(read_results("scale_ensemble")),
        "ensemble_sizes": ensemble_sizes(read_results("scale_ensemble")),
        "coverage": coverage(read_results("reproduction_coverage")),
        "active_labels": active_labels(read_results("answers_active_labels")),
        "questions": queries(read_results("peers_active")),
        "review": review(read_results("answers_review")),
        "processes": processes(read_results("peers_nn_evclus")),
        "eknnclus": eknnclus(read_results("scale_eknnclus")),
        "cells": cells(),
        "drift": drift(read_results("answers_drift")["judged"]),
        "conformal_classes": conformal_classes(read_results("conformal_classes")["judged"]),
    }


def overconfident(results, ensemble_results):
    """Return the methods that are often falsely sure, as a warning."""
    part = results["lists"]["validation"]
    n_sets = len({entry["data"] for entry in part["entries"]})
    counts = {
        method: len(part["summary"]["all"][method]["falsely_sure"]) for method in (*OVERCONFIDENT, "CCM", "ECM")
    }
    named_counts = ", ".join(f"**{method} on {counts[method]}**" for method in OVERCONFIDENT[:-1])
    n_all = sum(len({entry["data"] for entry in part["entries"]}) for part in ensemble_results["lists"].values())
    n_ensemble = len(ensemble_results["pooled"]["falsely_sure"]["CredalEnsemble"])
    return (
        ".. warning::\n\n"
        "   A method is falsely sure on a data set if it is sure of more than 90 % of the samples, and fewer than "
        f"70 % of these are right. Of {n_sets} data sets that were not used to choose defaults, this happens to "
        f"{named_counts} and **ParsimoniousGaussianMixture on {counts['mixture']}**; to CCM on {counts['CCM']} "
        f"and to ECM on {counts['ECM']}. The default ensemble is falsely sure on {n_ensemble} of {n_all}. See "
        ":doc:`/record/answers`.\n\n"
    )


def engine(results):
    """Return the cost of an iteration of ECM on 50 million rows, by engine."""
    rows = [["reading Parquet to the temporary file, once", f"{results['spill_cpu']:.0f} s", None, None]]
    rows += [
        [
            ENGINES[entry["engine"]],
            f"{range_text(entry['cpu_per_iteration'])} s",
            f"{entry['ratio']:.2f} ({range_text(entry['ratios'], 2)})",
            f"{entry['largest_worker_bytes'] / 1e6:.0f} MB",
        ]
        for entry in results["results"]
    ]
    header = ["", "CPU of an iteration", "relative to a bare loop: median, range", "largest process"]
    return table(header, rows, widths=(36, 20, 26, 18))


def iterations(engines, few_clusters, many_clusters):
    """Return the overhead of an engine with fewer rows, and an iteration relative to k-means."""
    dask = next(entry for entry in engines["iterations"] if entry["engine"] == "dask")
    features = [entry["ratio"] for entry in few_clusters["iteration"]]
    clusters = [entry["ratio"] for entry in many_clusters["iterations"] if entry["clusters"] >= 50]
    return (
        "The overhead of an engine is a few milliseconds per block, so it is less important for larger data: in "
        f" :doc:`/record/scale` the ratio is {dask['ratio']:.1f} ({range_text(dask['ratios'])}) for Dask with "
        f"10 million rows, on a busy machine. In memory, an iteration takes {range_text(features)} times as long "
        "as in scikit-learn's k-means with up to 5 clusters and 50 features (``benchmarks.studies.peers.ecm``), "
        f"and {range_text(clusters)} times with 50 or more clusters, where distances are matrix products.\n\n"
    )


def ensemble(results):
    """Return the results of halves of mixtures and of k-means on other data sets."""
    ari, aurc = (
        {name: f"{entry[figure]:.2f}" for name, entry in results["means_of_others"].items()}
        for figure in ("ari", "aurc")
    )
    pieces, n_sets = "mixture of 1.5 c, 10 halves", len({row["data"] for row in results["others"]})
    return (
        f"This does not hold in general. On {n_sets} other data sets, halves of mixtures have a mean adjusted "
        f"Rand index of {ari[pieces]} (a single mixture {ari['mixture']}, k-means {ari['k-means']}). The area "
        f"under the risk-coverage curve, small if doubt ranks errors well, is {aurc[pieces]}; that of a single "
        f"mixture is {aurc['mixture']}, and that of the ratio of 2 distances of k-means {aurc['k-means']}.\n\n"
    )


def ensemble_sizes(results):
    """Return the cost of large ensembles."""
    million, hundred_thousand = (
        f"{entry['cpu_seconds']:.0f} s of CPU and {entry['peak_megabytes'] / 1e3:.1f} GB"
        for n in (10**6, 10**5)
        for entry in results["sizes"]
        if entry["n_samples"] == n
    )
    return (
        "An ensemble of 10 k-means fits with 10 features takes "
        f"{million} for 1 million samples, and {hundred_thousand} for 100,000.\n\n"
    )


def coverage(results):
    """Return the coverage of intervals of BootClus, with the published values in parentheses."""
    cells = {
        (entry["true_model"], entry["assumed_model"]): entry
        for entry in results["cells"]
        if (entry["interval"], entry["confidence"]) == ("BelPl", NOMINAL)
    }

    def share(entry):
        text = f"{entry['coverage']:.2f}"
        text = f"**{text}**" if entry["coverage"] < NOMINAL - MAX_SHORTFALL else text
        return f"{text} ({entry['coverage_published']:.2f})"

    rows = [[MIXTURES[true], *(share(cells[true, assumed]) for assumed in (*MODELS, "Auto"))] for true in MIXTURES]
    header = ["true model", *(f"{name} assumed" for name in MODELS), "selected by BIC"]
    return table(header, rows, widths=(40, 15, 15, 15, 15))


def active_labels(results):
    """Return the numbers of queried labels that are as good as random labels."""
    digits, others = [results[kind]["digits"] for kind in ("classes", "sets")], results["classes"]["breast_cancer"]

    def needed_labels(strategies, entries):
        counts = sorted({entry[name]["needed"] for entry in entries for name in strategies})
        return f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"

    rest = ("doubt", "entropy", "nonspecificity")
    return (
        f"On half of the digits, {needed_labels(['margin'], digits)} queried labels were as good as "
        f'{digits[0]["most"]} random labels (``strategy="margin"``), and on breast cancer '
        f"{needed_labels(['margin'], [others])} as good as {others['most']}; "
        '``"doubt"``, ``"entropy"`` and ``"nonspecificity"`` required '
        f"{needed_labels(rest, digits)} and {needed_labels(rest, [others])}.\n\n"
    )


def queries(results):
    """Return adjusted Rand indices after 25 and 50 queries, by strategy."""
    cases, places = results["adjusted_rand_index"], [results["queries"].index(number) for number in (25, 50)]
    names = [name for name in STRATEGIES if all(name in case for case in cases.values())]
    rows = [["no query", *(f"{case['margin']['mean'][0]:.2f}" for case in cases.values())]]
    rows += [
        [
            STRATEGIES[name],
            *(" / ".join(f"{case[name]['mean'][place]:.2f}" for place in places) for case in cases.values()),
        ]
        for name in names
    ]
    return table(["after 25 / 50 queries", *cases], rows)


def review(results):
    """Return the errors with respect to the classes before and after a review of 10 % of the samples."""
    columns = ("expected", "errors", "errors_left", "left_at_random", "left_at_best")
    rows = [
        [f"{entry['data']}, {entry['method']}", *(f"{entry[name]:.0f}" for name in columns)]
        for entry in results["errors"]
        if entry["method"] != "ECM"
    ]
    header = ["data and method", "expected", "errors", "remaining", "remaining, random", "remaining, best"]
    return table(
        header,
        rows,
        title="Errors with respect to the classes, and remaining errors after a review of 10 % of the samples",
    )


def processes(results):
    """Return the times of 1 and 2 processes."""
    seconds = {entry["processes"]: f"{entry['seconds']:.1f}" for entry in results["processes"]}
    return (
        "This is useful for large networks. For small ones the exchange costs more than it saves: with 18 hidden "
        f"units 2 processes took {seconds['two']} seconds, and 1 process took {seconds['one']}.\n\n"
    )


def eknnclus(results):
    """Return the time of the largest fit."""
    largest = max(results["sizes"]["runs"], key=lambda run: run["n"])
    return (
        f"{largest['n']:,} samples with a given graph of 30 neighbors took {largest['fit_cpu_seconds']:.0f} "
        "seconds of CPU.\n\n"
    )


def cells():
    """Return the numbers of cells of each study that can be run with the repository and packages alone."""
    rows = [
        [
            f"``benchmarks.studies.{study}``",
            f"{sum(map(by_packages, cells_of_study)):,}",
            f"{len(cells_of_study):,}",
        ]
        for study, cells_of_study in needs.studies().items()
    ]
    return table(["study", "with packages alone", "in all"], rows, widths=(50, 25, 25))


def drift(tables):
    """Return the numbers of alarms of each test, over all tables."""

    def alarms(test, batch):
        entries = [
            of_table["alarms"][test][batch]
            for of_table in tables.values()
            if batch in of_table["alarms"].get(test, {})
        ]
        n_batches = sum(entry["batches"] for entry in entries)
        return f"{sum(entry['alarms'] for entry in entries)}/{n_batches}" if n_batches else "not run"

    return table(
        ["test", *BATCHES],
        [[text, *(alarms(test, batch) for batch in BATCHES)] for test, text in DRIFT_TESTS.items()],
    )


def range_text(values, digits=1):
    """Return the range of values as text."""
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def conformal_classes(tables):
    """Return the coverage and the sizes of conformal sets of classes, and those of MAPIE."""

    def coverage(method):
        values = [entry["sets"][method]["coverage"] for entry in tables.values()]
        return f"{min(values):.3f} and {max(values):.3f}"

    def size(method):
        return f"{sum(entry['sets'][method]['size'] for entry in tables.values()) / len(tables):.2f}"

    gains = [entry["gain"]["folds"] for entry in tables.values()]
    smaller, larger = sum(gain["low"] > 0 for gain in gains), sum(gain["high"] < 0 for gain in gains)
    return (
        f"For {len(tables)} tables with 2 to 26 classes and 100 random splits each, at a level of 0.9, the "
        f"smallest and the largest mean coverage of a table were {coverage('folds')} with the defaults, "
        f"{coverage('split')} with 30 % of the samples for calibration, and {coverage('folds, missing')} with "
        "30 % of all values missing. With the same calibration samples, sets were equal to those of MAPIE. With "
        f"the defaults of both, a set contained {size('folds')} classes on average, and those of MAPIE with folds "
        f"{size('MAPIE, folds')}. Ours were smaller on {smaller} tables, and larger on {larger}, on which the "
        "sets of MAPIE covered too little (``benchmarks/results/conformal_classes.json``).\n\n"
    )
