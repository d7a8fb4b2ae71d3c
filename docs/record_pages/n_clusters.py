"""Parts of the page on estimates of the number of clusters."""

import numpy as np
from matplotlib.figure import Figure

from .tables import interval_text, provenance, table, verdict

ESTIMATE = "estimate_n_clusters"
#: Bounds of the probabilities of the best number in the reliability diagram.
BOUNDS = (0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
STYLES = {"new seeds": ("o", "#0072B2"), "excluded families": ("s", "#E69F00")}


def parts(read_results):
    """Return the texts and figures of the page."""
    results = read_results("answers_n_clusters")
    return {
        "verdict": in_short(results["lists"]),
        "provenance": provenance(results),
        "accuracy": accuracy(results["lists"]),
        "families": families(results["lists"]),
        "figure": figure(results["lists"]),
    }


def in_short(lists):
    """Return the main results for each list."""
    summaries = {name: part["summary"] for name, part in lists.items()}
    return verdict(
        *(sentence(name, summary["methods"]) for name, summary in summaries.items()),
        *(confidence(name, summary["confident"]) for name, summary in summaries.items()),
    )


def sentence(name, methods):
    """Return the accuracy of the vote and of the best other method."""
    shares = {method: 100 * scores["correct"]["mean"] for method, scores in methods.items()}
    vote = shares.pop(ESTIMATE)
    peer = max(shares, key=shares.get)
    return (
        f"**{name.capitalize()}**: {vote:.0f} % of the estimates are correct, and {shares[peer]:.0f} % with the "
        f"best other method, {peer}."
    )


def confidence(name, confident):
    """Return the accuracy of estimates with a probability of at least 0.5."""
    share, correct = 100 * confident["share"], 100 * confident["correct"]
    return (
        f"{name.capitalize()}: the best number has a probability of at least 0.5 for {share:.0f} % of the "
        f"problems; {correct:.0f} % of these estimates are correct."
    )


def accuracy(lists):
    """Return the shares of correct answers by method and list."""
    scores = ("correct", "within 1", "advantage")
    header = ["method", *(f"{name}, {score}" for name in lists for score in scores)]
    rows = []
    for method in next(iter(lists.values()))["summary"]["methods"]:
        of_method = [part["summary"]["methods"][method] for part in lists.values()]
        cells = (
            (
                interval_text(score["correct"]),
                f"{score['within_one']['mean']:.2f}",
                "" if method == ESTIMATE else interval_text(score["advantage"], "+.2f"),
            )
            for score in of_method
        )
        rows.append([method, *(cell for triple in cells for cell in triple)])
    return table(header, rows)


def families(lists):
    """Return the shares of correct answers by family."""
    methods = list(next(iter(lists.values()))["summary"]["methods"])
    rows = [
        [family, name, *(f"{part['summary']['by_family'][method][family]:.2f}" for method in methods)]
        for name, part in lists.items()
        for family in part["summary"]["by_family"][ESTIMATE]
    ]
    return table(["family", "list", *methods], rows)


def figure(lists):
    """Return the reliability diagram: shares of correct estimates for ranges of the probability of the best."""
    picture = Figure(figsize=(5.2, 4.4), layout="constrained")
    axes = picture.subplots()
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=1)
    for name, part in lists.items():
        marker, color = STYLES[name]
        points = reliability(part["entries"])
        means, shares, counts = map(np.array, zip(*points, strict=True))
        errors = np.sqrt(shares * (1 - shares) / counts)
        axes.errorbar(means, shares, errors, fmt=marker, color=color, capsize=2, label=name)
        for mean, share, count in points:
            axes.annotate(str(count), (mean, share), xytext=(5, -10), textcoords="offset points", fontsize=7)
    axes.set(xlim=(0, 1), ylim=(0, 1.03), xlabel="mean probability of the best number", ylabel="share correct")
    axes.legend(fontsize="small", loc="upper left")
    return picture


def reliability(entries):
    """Return the mean probability of the best number, the share of correct ones and the count in each range."""
    highest = np.array([max(entry["probabilities"]) for entry in entries])
    correct = np.array([entry["answers"][ESTIMATE] == entry["true"] for entry in entries])
    ranges = np.clip(np.digitize(highest, BOUNDS) - 1, 0, len(BOUNDS) - 2)
    return [
        (float(highest[ranges == k].mean()), float(correct[ranges == k].mean()), int((ranges == k).sum()))
        for k in np.unique(ranges)
    ]
