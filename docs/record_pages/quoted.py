"""Figures that other pages quote: tables and sentences, so that no page has a number of its own."""

from benchmarks.common import needs
from benchmarks.get_data import by_packages

from .tables import table

ENGINES = {"processes": "joblib with two processes", "dask": "Dask with two processes"}
MODELS = ("EII", "EEE", "VVV")
MIXTURES = {
    "EII": "Mixture 1: equal balls (EII)",
    "EEE": "Mixture 2: equal ellipses (EEE)",
    "VVV": "Mixture 3: different ellipses (VVV)",
}
#: What is asked, by the name that it has in the results.
ASKED = {
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
PROMISED, SHORT = 0.9, 0.1  # coverage that was promised, and how far below it is marked


def parts(read):
    """What pages of the guide and the index of the record include."""
    return {
        "engine": engine(read("scale_engine")),
        "iterations": iterations(read("scale_engines"), read("scale_ecm_iteration"), read("scale_embeddings")),
        "ensemble": ensemble(read("scale_ensemble")),
        "ensemble_sizes": ensemble_sizes(read("scale_ensemble")),
        "coverage": coverage(read("reproduction_coverage")),
        "active_labels": active_labels(read("answers_active_labels")),
        "questions": questions(read("peers_active")),
        "review": review(read("answers_review")),
        "processes": processes(read("peers_nn_evclus")),
        "eknnclus": eknnclus(read("scale_eknnclus")),
        "cells": cells(),
    }


def engine(found):
    """An iteration of ECM on fifty million rows, by engine."""
    rows = [["reading Parquet to the temporary file, once", f"{found['spill_cpu']:.0f} s", None, None]]
    rows += [
        [
            ENGINES[one["engine"]],
            f"{between(one['cpu_per_iteration'])} s",
            f"{one['ratio']:.2f} ({between(one['ratios'], 2)})",
            f"{one['largest_worker_bytes'] / 1e6:.0f} MB",
        ]
        for one in found["results"]
    ]
    header = ["", "CPU of an iteration", "over a bare loop: median, all rounds", "largest process"]
    return table(header, rows, widths=(36, 20, 26, 18))


def iterations(engines, few, many):
    """What an engine adds with fewer rows, and an iteration in memory beside one of k-means."""
    dask = next(one for one in engines["iterations"] if one["engine"] == "dask")
    features = [one["ratio"] for one in few["iteration"]]
    clusters = [one["ratio"] for one in many["iterations"] if one["clusters"] >= 50]
    return (
        "An engine adds a few milliseconds per block, so the larger the data, the less it matters: "
        f":doc:`/record/scale` has {dask['ratio']:.1f} ({between(dask['ratios'])}) for Dask with ten million "
        f"rows, on a busy machine. In memory, an iteration costs {between(features)} times that of scikit-learn's "
        "k-means with up to five clusters and 50 features (``benchmarks.studies.peers.ecm``), and "
        f"{between(clusters)} times with 50 or more clusters, where distances are matrix products.\n\n"
    )


def ensemble(found):
    """Halves of mixtures and of k-means on other sets."""
    ari, aurc = (
        {name: f"{one[figure]:.2f}" for name, one in found["means_of_others"].items()}
        for figure in ("ari", "aurc")
    )
    pieces, n_sets = "mixture of 1.5 c, 10 halves", len({row["data"] for row in found["others"]})
    return (
        f"It is not always so. On {n_sets} other sets, from iris to S2, halves of mixtures have a mean adjusted "
        f"Rand index of {ari[pieces]} (a single mixture {ari['mixture']}, k-means {ari['k-means']}). The area "
        f"under the risk-coverage curve, small if doubt finds errors, is {aurc[pieces]}; that of a single mixture "
        f"is {aurc['mixture']}, and that of the ratio of two distances of k-means {aurc['k-means']}.\n\n"
    )


def ensemble_sizes(found):
    """What large ensembles cost."""
    million, less = (
        f"{one['cpu_seconds']:.0f} s of CPU and {one['peak_megabytes'] / 1e3:.1f} GB"
        for n in (10**6, 10**5)
        for one in found["sizes"]
        if one["n_samples"] == n
    )
    return (
        f"A million samples in ten features and ten times k-means take {million}, a hundred thousand {less}.\n\n"
    )


def coverage(found):
    """How often intervals of BootClus cover the truth, with the published shares in brackets."""
    cells = {
        (one["true_model"], one["assumed_model"]): one
        for one in found["cells"]
        if (one["interval"], one["confidence"]) == ("BelPl", PROMISED)
    }

    def share(one):
        text = f"{one['coverage']:.2f}"
        text = f"**{text}**" if one["coverage"] < PROMISED - SHORT else text
        return f"{text} ({one['coverage_published']:.2f})"

    rows = [[MIXTURES[true], *(share(cells[true, assumed]) for assumed in (*MODELS, "Auto"))] for true in MIXTURES]
    header = ["the truth", *(f"{name} assumed" for name in MODELS), "chosen by BIC"]
    return table(header, rows, widths=(40, 15, 15, 15, 15))


def active_labels(found):
    """How many labels that were asked for do as much as labels at random."""
    digits, others = [found[kind]["digits"] for kind in ("classes", "sets")], found["classes"]["breast_cancer"]

    def needed(strategies, of):
        counts = sorted({one[name]["needed"] for one in of for name in strategies})
        return f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"

    rest = ("doubt", "entropy", "nonspecificity")
    return (
        f"On half of the digits, {needed(['margin'], digits)} labels that were asked for did as much as "
        f'{digits[0]["most"]} at random (``strategy="margin"``), and on breast cancer '
        f"{needed(['margin'], [others])} as much as {others['most']}; "
        '``"doubt"``, ``"entropy"`` and ``"nonspecificity"`` needed '
        f"{needed(rest, digits)} and {needed(rest, [others])}.\n\n"
    )


def questions(found):
    """Adjusted Rand indices after 25 and 50 questions, by what is asked."""
    cases, some = found["adjusted_rand_index"], [found["queries"].index(number) for number in (25, 50)]
    names = [name for name in ASKED if all(name in case for case in cases.values())]
    rows = [["no question", *(f"{case['margin']['mean'][0]:.2f}" for case in cases.values())]]
    rows += [
        [ASKED[name], *(" / ".join(f"{case[name]['mean'][at]:.2f}" for at in some) for case in cases.values())]
        for name in names
    ]
    return table(["after 25 / 50 questions", *cases], rows)


def review(found):
    """Errors against the classes, and what is left after a person has seen a tenth."""
    columns = ("expected", "errors", "errors_left", "left_at_random", "left_at_best")
    rows = [
        [f"{one['data']}, {one['method']}", *(f"{one[name]:.0f}" for name in columns)]
        for one in found["errors"]
        if one["method"] != "ECM"
    ]
    header = ["data and method", "expected", "errors", "left", "left at random", "left at best"]
    return table(
        header, rows, title="Errors against the classes, and what is left after a person has seen a tenth"
    )


def processes(found):
    """One process and two."""
    seconds = {one["processes"]: f"{one['seconds']:.1f}" for one in found["processes"]}
    return (
        "This pays off for large networks. For small ones the exchange costs more than it saves: with eighteen "
        f"hidden units two processes took {seconds['two']} seconds where one took {seconds['one']}.\n\n"
    )


def eknnclus(found):
    """A fit to the largest size."""
    largest = max(found["sizes"]["runs"], key=lambda run: run["n"])
    return (
        f"{largest['n']:,} samples with a given graph of 30 neighbours took {largest['fit_cpu_seconds']:.0f} "
        "seconds of CPU.\n\n"
    )


def cells():
    """How many cells of each study can be run with the repository and packages alone."""
    rows = [
        [f"``benchmarks.studies.{study}``", f"{sum(map(by_packages, some)):,}", f"{len(some):,}"]
        for study, some in needs.studies().items()
    ]
    return table(["study", "with packages alone", "in all"], rows, widths=(50, 25, 25))


def between(values, digits=1):
    """The least and the largest."""
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"
