"""Classifiers: comparison with other packages, new classes, and uncertain labels."""

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
UNSEEN = ("detector", "forest", "outlier factor", "distance", "evidential neighbors", "false", "found")


def parts(read_results):
    """Return the texts of the page."""
    classifiers, unseen = read_results("answers_classifiers"), read_results("answers_unseen")
    labels = read_results("answers_doubtful_labels")
    return {
        "verdict": in_short(classifiers["judged"], unseen["judged"], labels["experts"]["mean"]),
        "means": means(classifiers["judged"]),
        "duel": duel(classifiers["judged"]),
        **{
            f"duels_{figure}": duel_table(comparisons)
            for figure, comparisons in comparisons_of(classifiers["judged"]).items()
        },
        "compared": provenance(classifiers),
        "unseen": detection(unseen),
        "unseen_made": provenance(unseen),
        "annotators": annotators(read_results("answers_annotators")["crowd"], "classes"),
        "annotators_sets": annotators(read_results("answers_annotators")["crowd"], "sets"),
        "annotators_made": provenance(read_results("answers_annotators")),
        "labels": uncertain_labels(labels),
        "labels_made": provenance(labels),
    }


def in_short(scores, unseen, labels):
    """Return the main results of the forest, of the detector, and of uncertain labels."""

    def mean(method, key):
        return sum(scores_of_set[method][key] for scores_of_set in scores.values()) / len(scores)

    def compared(key):
        return ", ".join(
            f"{name} {mean(name, key):.3f}" for name in (FOREST, RIVAL, "boosting", "logistic regression")
        )

    ahead = [
        f"{sum(row[FOREST][key] * sign >= row[RIVAL][key] * sign for row in scores.values())} ({name})"
        for key, name, sign in (("accuracy", "accuracy", 1), ("aurc", "AURC", -1), ("u65", "u65", 1))
    ]
    best = sum(
        scores_of_set["detector"] >= max(scores_of_set[key] for key in UNSEEN[1:-2])
        for scores_of_set in unseen.values()
    )
    detected, alarms = (
        sum(scores_of_set[key] for scores_of_set in unseen.values()) / len(unseen) for key in ("found", "false")
    )
    others = "; ".join(f"{name} {value:.3f}" for name, value in labels.items())
    return verdict(
        f"**Accuracy**, mean of {len(scores)} data sets: {compared('accuracy')}.",
        f"**Doubt** (AURC, smaller is better): {compared('aurc')}. The evidential forest is at least as good as "
        f"the calibrated forest on {', '.join(ahead)} of {len(scores)} data sets.",
        f"**New classes**: the detector has the largest area under the ROC curve on {best} of {len(unseen)} "
        f"held-out data sets. At a nominal rate of 5 % false alarms ({100 * alarms:.1f} % observed), it "
        f"detects {100 * detected:.0f} % of such samples.",
        f"**Uncertain labels**: mean accuracy with generated experts: {others}.",
    )


def means(scores):
    """Return means over the data sets, the best of each column in bold."""
    methods = list(next(iter(scores.values())))
    values = {
        method: {
            key: sum(scores_of_set[method].get(key, math.nan) for scores_of_set in scores.values()) / len(scores)
            for key in FIGURES
        }
        for method in methods
    }
    best = {
        key: (min if key in ("log_loss", "aurc", "augrc") else max)(
            method_means[key] for method_means in values.values() if method_means[key] == method_means[key]
        )
        for key in FIGURES
        if key not in ("size", "covers")
    }
    rows = [
        [name, *(figure_text(method_means[key], best.get(key)) for key in FIGURES)]
        for name, method_means in values.items()
    ]
    return table(["mean of 10 data sets", *FIGURES.values()], rows)


def comparisons_of(scores):
    """Return comparisons with other classifiers over the data sets, by measure."""
    rows = [
        {"data": name, "family": name, "method": method, **of_set[method]}
        for name, of_set in scores.items()
        for method in of_set
    ]
    names = list(dict.fromkeys(row["method"] for row in rows if "accuracy" in row))
    library_names = [name for name in names if name.startswith("evidential")]
    return duels(
        rows, library_names, [name for name in names if name not in library_names], ("accuracy", "aurc", "u65")
    )


def duel(scores):
    """Return the results of the evidential and the calibrated forest by data set."""
    rows = []
    for name, scores_of_set in scores.items():
        forest, rival = scores_of_set[FOREST], scores_of_set[RIVAL]
        rows.append([name, *(f"{forest[key]:.4f} / {rival[key]:.4f}" for key in ("accuracy", "aurc", "u65"))])
    return table(["data", "accuracy", "AURC", "u65"], rows)


def detection(results):
    """Return areas under the curve, and alarms at 5 %."""
    rows = []
    for part in ("named", "judged"):
        for name, scores_of_set in results[part].items():
            best = max(scores_of_set[key] for key in UNSEEN[:-2])
            rows.append(
                [
                    name,
                    *(figure_text(scores_of_set[key], best if key not in UNSEEN[-2:] else None) for key in UNSEEN),
                ]
            )
    return table(["data", *UNSEEN], rows)


def uncertain_labels(results):
    """Return accuracies after training with masses, with the most plausible class, and with weights."""
    people, experts = results["people"], results["experts"]
    rows = [
        [
            name,
            f"{experts['mean'][name]:.3f}",
            *(f"{scores_of_data[name]['accuracy']:.3f}" for scores_of_data in people.values()),
        ]
        for name in experts["mean"]
    ]
    return table(["training labels", "experts", *(name.replace("dog", "Dog-") for name in people)], rows)


def annotators(crowd, kind):
    """Return accuracies and log losses of labels from the answers of people."""
    methods = list(next(iter(crowd.values()))[kind])
    rows = [
        [
            name,
            *(
                f"{scores[kind][method]['accuracy']:.3f}/{scores[kind][method]['log_loss']:.2f}"
                for method in methods
            ),
        ]
        for name, scores in crowd.items()
    ]
    return table(["table, answers per sample", *methods], rows)


def figure_text(value, best):
    """Return a figure as text, in bold if it is the best, or None for NaN."""
    if value != value:
        return None
    return f"**{value:.3f}**" if value == best else f"{value:.3f}"
