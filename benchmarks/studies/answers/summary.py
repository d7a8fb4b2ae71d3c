"""What the entries of `answers.py` come to: means over families of data, with intervals, and who is ahead."""

import math

import numpy as np

BASE = "k-means"
RESAMPLES, SEED = 4000, 0
TIE = 0.01  # of an index
BETTER = {"ari": 1, "accuracy": 1, "u65": 1, "aurc": -1}  # large or small is good
#: Figures that are averaged, as they are or as a difference to k-means on the same data.
FIGURES = (
    *("ari", "error", "aurc", "augrc", "aurc_normalized", "augrc_normalized"),
    *("sure", "torn", "outlier", "sure_error", "torn_error", "sure_gain", "cpu_seconds", "memory_mb"),
)
OFTEN_SURE, SELDOM_RIGHT, TWICE = 0.9, 0.7, 2.0


def summarize(entries):
    """By method, for all data and for each group."""
    groups = list(dict.fromkeys(one["group"] for one in entries))
    parts = {"all": entries} | {group: [one for one in entries if one["group"] == group] for group in groups}
    return {name: {method: about(part, method) for method in methods(part)} for name, part in parts.items()}


def methods(entries):
    return list(dict.fromkeys(one["method"] for one in entries))


def about(entries, method):
    """What the entries say about a method."""
    own = by_data(entries, method)
    ended = [name for name, one in own.items() if "ended" in one]
    found = {"sets": len(own) - len(ended), "ended": ended}
    for figure in FIGURES:
        values = by_family([(one["family"], one.get(figure)) for one in own.values()])
        if values:
            found[figure] = interval(list(values.values()))
    of_base = duel(own, by_data(entries, BASE), "ari")
    if of_base:
        found["ari_over_k_means"] = {key: of_base[key] for key in ("mean", "low", "high", "families")}
        found |= {key: of_base[key] for key in ("won", "tied", "lost")}
    return found | of_verdicts(own)


def by_data(entries, method):
    return {one["data"]: one for one in entries if one["method"] == method}


def duels(entries, ours, peers, figures=("ari", "aurc")):
    """Each of ours beside each of the others, by figure."""
    return {
        figure: {
            one: {other: duel(by_data(entries, one), by_data(entries, other), figure) for other in peers}
            for one in ours
        }
        for figure in figures
    }


def duel(own, theirs, figure):
    """By how much a figure is better than that of another method on the same data, and on how many families."""
    sign = BETTER[figure]
    pairs = [
        (one["family"], minus(one.get(figure), theirs.get(name, {}).get(figure))) for name, one in own.items()
    ]
    differences = [sign * one for one in by_family(pairs).values()]
    if not differences:
        return None
    won, lost = (sum(side * one > TIE for one in differences) for side in (1, -1))
    return interval(differences) | {"won": won, "tied": len(differences) - won - lost, "lost": lost}


def of_verdicts(own):
    """Who is falsely sure, and on how many data torn samples are wrong twice as often as sure ones."""
    judged = {name: one for name, one in own.items() if "sure" in one}
    if not judged:
        return {}
    # Where nothing is wrong there is nothing to be found.
    both = [
        one
        for one in judged.values()
        if None not in (one["sure_error"], one["torn_error"]) and one["sure_error"] + one["torn_error"] > 0
    ]
    twice = [one for one in both if one["torn_error"] >= TWICE * one["sure_error"]]
    return {
        "falsely_sure": [name for name, one in judged.items() if is_falsely_sure(one)],
        "sets_with_torn": len(both),
        "torn_twice": len(twice),
    }


def is_falsely_sure(one):
    """More than nine in ten are called sure, and fewer than seven in ten of these are right."""
    return one["sure"] > OFTEN_SURE and one["sure_error"] is not None and 1 - one["sure_error"] < SELDOM_RIGHT


def minus(one, other):
    return None if one is None or other is None else one - other


def by_family(pairs):
    """The mean of each family, of those that have a value."""
    families = {}
    for family, value in pairs:
        if value is not None and math.isfinite(value):
            families.setdefault(family, []).append(value)
    return {family: float(np.mean(values)) for family, values in families.items()}


def interval(values):
    """The mean over families, and a bootstrap interval of 95 % for it."""
    values = np.asarray(values)
    draws = np.random.default_rng(SEED).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(values[draws].mean(axis=1), [0.025, 0.975])
    return {"mean": round(values.mean(), 4), "low": round(low, 4), "high": round(high, 4), "families": len(values)}
