"""Summary of the entries of the study: means over families of data, with intervals, and comparisons."""

import math

import numpy as np

BASE = "k-means"
RESAMPLES, SEED = 4000, 0
TIE = 0.01  # difference of an index
BETTER = {"ari": 1, "accuracy": 1, "u65": 1, "aurc": -1}  # sign of improvement
#: Scores that are averaged, as values or as differences from k-means on the same data.
FIGURES = (
    *("ari", "error", "aurc", "augrc", "aurc_normalized", "augrc_normalized"),
    *("sure", "torn", "outlier", "sure_error", "torn_error", "sure_gain", "cpu_seconds", "memory_mb"),
)
MIN_SURE, MAX_CORRECT, MIN_RATIO = 0.9, 0.7, 2.0


def summarize(entries):
    """Summarize the entries by method, for all data and for each group."""
    groups = list(dict.fromkeys(entry["group"] for entry in entries))
    parts = {"all": entries} | {group: [entry for entry in entries if entry["group"] == group] for group in groups}
    return {name: {method: about(part, method) for method in methods(part)} for name, part in parts.items()}


def methods(entries):
    return list(dict.fromkeys(entry["method"] for entry in entries))


def about(entries, method):
    """Return the summary of the entries of a method."""
    entries_of_method = by_data(entries, method)
    failed = [name for name, entry in entries_of_method.items() if "ended" in entry]
    summary = {"sets": len(entries_of_method) - len(failed), "ended": failed}
    for figure in FIGURES:
        values = by_family([(entry["family"], entry.get(figure)) for entry in entries_of_method.values()])
        if values:
            summary[figure] = interval(list(values.values()))
    comparison = duel(entries_of_method, by_data(entries, BASE), "ari")
    if comparison:
        summary["ari_over_k_means"] = {key: comparison[key] for key in ("mean", "low", "high", "families")}
        summary |= {key: comparison[key] for key in ("won", "tied", "lost")}
    return summary | of_verdicts(entries_of_method)


def by_data(entries, method):
    return {entry["data"]: entry for entry in entries if entry["method"] == method}


def duels(entries, methods, peers, figures=("ari", "aurc")):
    """Compare each of our methods with each of the peers, by figure."""
    return {
        figure: {
            method: {peer: duel(by_data(entries, method), by_data(entries, peer), figure) for peer in peers}
            for method in methods
        }
        for figure in figures
    }


def duel(entries, peer_entries, figure):
    """Return the mean improvement of a figure over another method on the same data, and counts of families."""
    sign = BETTER[figure]
    pairs = [
        (entry["family"], minus(entry.get(figure), peer_entries.get(name, {}).get(figure)))
        for name, entry in entries.items()
    ]
    differences = [sign * difference for difference in by_family(pairs).values()]
    if not differences:
        return None
    n_won, n_lost = (sum(side * difference > TIE for difference in differences) for side in (1, -1))
    return interval(differences) | {"won": n_won, "tied": len(differences) - n_won - n_lost, "lost": n_lost}


def of_verdicts(entries):
    """Return the falsely sure data sets, and the number with twice as many errors among torn as sure samples."""
    with_verdict = {name: entry for name, entry in entries.items() if "sure" in entry}
    if not with_verdict:
        return {}
    # Data without errors are excluded.
    comparable = [
        entry
        for entry in with_verdict.values()
        if None not in (entry["sure_error"], entry["torn_error"]) and entry["sure_error"] + entry["torn_error"] > 0
    ]
    separated = [entry for entry in comparable if entry["torn_error"] >= MIN_RATIO * entry["sure_error"]]
    return {
        "falsely_sure": [name for name, entry in with_verdict.items() if is_falsely_sure(entry)],
        "sets_with_torn": len(comparable),
        "torn_twice": len(separated),
    }


def is_falsely_sure(entry):
    """Return True if over 90 % of the samples are sure, and fewer than 70 % of these are correct."""
    return entry["sure"] > MIN_SURE and entry["sure_error"] is not None and 1 - entry["sure_error"] < MAX_CORRECT


def minus(value, other):
    return None if value is None or other is None else value - other


def by_family(pairs):
    """Return the mean of each family, over finite values."""
    families = {}
    for family, value in pairs:
        if value is not None and math.isfinite(value):
            families.setdefault(family, []).append(value)
    return {family: float(np.mean(values)) for family, values in families.items()}


def interval(values):
    """Return the mean over families with a 95 % bootstrap interval."""
    values = np.asarray(values)
    draws = np.random.default_rng(SEED).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(values[draws].mean(axis=1), [0.025, 0.975])
    return {"mean": round(values.mean(), 4), "low": round(low, 4), "high": round(high, 4), "families": len(values)}
