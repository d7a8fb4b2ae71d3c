"""Classifiers: with other classifiers, classes that were never shown, and labels with doubt."""

import math

from benchmarks.studies.answers.summary import duels

from .tables import duel_table, provenance, table, verdict

FIGURES = {
    "accuracy": "accuracy",
    "log_loss": "log-loss",
    "aurc": "AURC",
    "augrc": "AUGRC",
    "u65": "u65",
    "size": "set size",
    "covers": "covers",
}
FOREST, RIVAL = "evidential forest", "calibrated forest"
UNSEEN = ("detector", "forest", "outlier factor", "distance", "evidential neighbours", "false", "found")


def parts(read):
    """Texts of the page."""
    compared, unseen = read("answers_classifiers"), read("answers_unseen")
    labels = read("answers_doubtful_labels")
    return {
        "verdict": in_short(compared["judged"], unseen["judged"], labels["experts"]["mean"]),
        "means": means(compared["judged"]),
        "duel": duel(compared["judged"]),
        **{f"duels_{figure}": duel_table(found) for figure, found in of_judged(compared["judged"]).items()},
        "compared": provenance(compared),
        "unseen": strangers(unseen),
        "unseen_made": provenance(unseen),
        "labels": doubtful(labels),
        "labels_made": provenance(labels),
    }


def in_short(judged, unseen, labels):
    """The forest beside its rivals, the detector beside the best other, and masses beside best guesses."""

    def mean(method, key):
        return sum(each[method][key] for each in judged.values()) / len(judged)

    def compared(key):
        return ", ".join(
            f"{name} {mean(name, key):.3f}" for name in (FOREST, RIVAL, "boosting", "logistic regression")
        )

    ahead = [
        f"{sum(each[FOREST][key] * sign >= each[RIVAL][key] * sign for each in judged.values())} ({name})"
        for key, name, sign in (("accuracy", "accuracy", 1), ("aurc", "AURC", -1), ("u65", "u65", 1))
    ]
    best = sum(each["detector"] >= max(each[key] for key in UNSEEN[1:-2]) for each in unseen.values())
    found, false = (sum(each[key] for each in unseen.values()) / len(unseen) for key in ("found", "false"))
    others = "; ".join(f"{name} {value:.3f}" for name, value in labels.items())
    return verdict(
        f"**Accuracy**, mean of {len(judged)} sets: {compared('accuracy')}.",
        f"**Doubt** (AURC, small is good): {compared('aurc')}. Set by set the evidential forest is level with the "
        f"calibrated forest or ahead on {', '.join(ahead)} of {len(judged)} sets.",
        f"**A class never shown**: the detector has the largest area under the ROC curve on {best} of "
        f"{len(unseen)} sets that it was not made on. At 5 % false alarms asked for ({100 * false:.1f} % "
        f"seen), it finds {100 * found:.0f} % of such samples.",
        f"**Labels with doubt**: mean accuracy with generated experts: {others}.",
    )


def means(judged):
    """Means over the judged sets, the best of each column in bold."""
    methods = list(next(iter(judged.values())))
    values = {
        one: {key: sum(each[one].get(key, math.nan) for each in judged.values()) / len(judged) for key in FIGURES}
        for one in methods
    }
    best = {
        key: (min if key in ("log_loss", "aurc", "augrc") else max)(
            one[key] for one in values.values() if one[key] == one[key]
        )
        for key in FIGURES
        if key not in ("size", "covers")
    }
    rows = [[name, *(shown(one[key], best.get(key)) for key in FIGURES)] for name, one in values.items()]
    return table(["mean of ten sets", *FIGURES.values()], rows)


def of_judged(judged):
    """Each of ours beside each of the others over the judged sets, by figure."""
    rows = [
        {"data": name, "family": name, "method": one, **of_set[one]}
        for name, of_set in judged.items()
        for one in of_set
    ]
    names = list(dict.fromkeys(one["method"] for one in rows if "accuracy" in one))
    ours = [name for name in names if name.startswith("evidential")]
    return duels(rows, ours, [name for name in names if name not in ours], ("accuracy", "aurc", "u65"))


def duel(judged):
    """The evidential forest beside the calibrated one, set by set."""
    rows = []
    for name, each in judged.items():
        ours, theirs = each[FOREST], each[RIVAL]
        rows.append([name, *(f"{ours[key]:.4f} / {theirs[key]:.4f}" for key in ("accuracy", "aurc", "u65"))])
    return table(["data", "accuracy", "AURC", "u65"], rows)


def strangers(found):
    """Areas under the curve, and alarms at 5 %."""
    rows = []
    for part in ("named", "judged"):
        for name, each in found[part].items():
            best = max(each[key] for key in UNSEEN[:-2])
            rows.append([name, *(shown(each[key], best if key not in UNSEEN[-2:] else None) for key in UNSEEN)])
    return table(["data", *UNSEEN], rows)


def doubtful(found):
    """Accuracies: learned from masses, from best guesses, and from weights."""
    people, experts = found["people"], found["experts"]
    rows = [
        [name, f"{experts['mean'][name]:.3f}", *(f"{each[name]['accuracy']:.3f}" for each in people.values())]
        for name in experts["mean"]
    ]
    return table(["learns from", "experts", *(name.replace("dog", "Dog-") for name in people)], rows)


def shown(value, best):
    """A figure, in bold if it is the best; nothing for one that is not there."""
    if value != value:
        return None
    return f"**{value:.3f}**" if value == best else f"{value:.3f}"
