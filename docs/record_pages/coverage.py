"""Coverage of conformal sets: labels of replications, true components, outliers, errors."""

import numpy as np
from matplotlib.figure import Figure

from .tables import provenance, table, verdict

LEVELS = (0.8, 0.9, 0.95)
#: Number of standard errors from which a low coverage is significant.
MORE_THAN_CHANCE = 2
#: Methods for sets of true components: title, marker and color.
KINDS = {
    "drawn": ("labels drawn", "o", "#0072B2"),
    "hard": ("labels hard", "s", "#E69F00"),
    "posterior": ("posterior", "^", "#999999"),
    "BootClus": ("BootClus", "D", "#CC79A7"),
}
#: Minimum share of sure samples for comparisons of errors.
MIN_SURE_SHARE = 0.05


def parts(read_results):
    """Return the texts and figures of the page."""
    results = read_results("answers_coverage")
    return {
        "verdict": in_short(results),
        "provenance": provenance(results),
        "draws": draws(results),
        "clusterers": clusterers(results),
        "below": below(results),
        "sets": sets(results),
        "plausible": plausible(results),
        "truth": truth(results),
        "figure": figure(results),
        "outliers": outliers(results),
        "errors_summary": errors_summary(results),
        "errors": errors(results),
    }


def in_short(results):
    """Return the main results on coverage, components and errors."""
    shares = ", ".join(
        f"{kind} {mean(entries, 'sets 0.9'):.2f}" for kind, entries in by_clusterer(results).items()
    )
    low = sum(1 for _ in low_coverages(results))
    n_cells = 2 * len(LEVELS) * len(results["replication"])
    covers = [entry["drawn covers"] for entry in results["truth"].values()]
    torn_entries = [
        entry
        for entry in results["errors"].values()
        if entry["sure"] >= MIN_SURE_SHARE and entry["torn wrong"] is not None
    ]
    return verdict(
        "**Labels of a replication** have the nominal coverage, except with hdbscan. At 0.90, mean over data "
        f"sets: {shares}.",
        f"{low} of {n_cells} shares are below the nominal coverage by more than {MORE_THAN_CHANCE} standard "
        "errors; they are listed.",
        "**True components** are not guaranteed. With labels drawn from a Gaussian mixture, sets at 0.90 contain "
        f"them in {min(covers):.2f} to {max(covers):.2f} of all cases.",
        f"**Errors**: where some samples are torn, {100 * mean(torn_entries, 'sure wrong'):.0f} % of the sure "
        f"and {100 * mean(torn_entries, 'torn wrong'):.0f} % of the torn samples are wrong "
        f"({len(torn_entries)} cases). As an order of samples by doubt, the sets are not better than the ratio "
        "of 2 distances of k-means.",
    )


def by_clusterer(results):
    """Return the entries of all data sets, by clusterer."""
    groups = {}
    for name, entry in results["replication"].items():
        groups.setdefault(name.rsplit(", ", 1)[1], []).append(entry)
    return groups


def mean(entries, key):
    """Return the mean of a figure over data sets."""
    return float(np.mean([entry[key] for entry in entries]))


def draws(results):
    """Return the numbers of draws."""
    counts = [
        f"{max(entry['draws'] for entry in entries)} times for {kind}"
        for kind, entries in by_clusterer(results).items()
    ]
    names = {name.rsplit(", ", 1)[0] for name in results["replication"]}
    return f"There are {len(names)} data sets, and each was drawn up to {', '.join(counts)}.\n\n"


def clusterers(results):
    """Return means by clusterer over data sets: coverage of p-values, coverage of sets, and their size."""
    rows = []
    for kind, entries in by_clusterer(results).items():
        row = [kind, len(entries)]
        for quantity in ("exact", "sets", "size"):
            row.append(" / ".join(f"{mean(entries, f'{quantity} {level}'):.3f}" for level in LEVELS))
        rows.append(row)
    header = ["clusterer", "sets", "p-values, .80 / .90 / .95", "predict_set, .80 / .90 / .95", "mean size"]
    return table(header, rows)


def below(results):
    """Return the table of significantly low coverages."""
    rows = list(low_coverages(results))
    n_cells = len(LEVELS) * len(results["replication"])
    text = (
        f"{len(rows)} of {2 * n_cells} shares are below the nominal coverage by more than "
        f"{MORE_THAN_CHANCE} standard errors"
    )
    if not rows:
        return text + ".\n\n"
    return text + ":\n\n" + table(["data", "sets", "nominal", "coverage", "standard error"], rows)


def low_coverages(results):
    """Yield the rows of this table."""
    for name, entry in results["replication"].items():
        for level in LEVELS:
            error = entry[f"standard error {level}"]
            for quantity in ("exact", "sets"):
                if level - entry[f"{quantity} {level}"] > MORE_THAN_CHANCE * error:
                    kind = "p-values" if quantity == "exact" else "predict_set"
                    yield [name, kind, f"{level:.2f}", f"{entry[f'{quantity} {level}']:.3f}", f"{error:.3f}"]


def sets(results):
    """Return the coverage at 0.9 by data set."""
    rows = [
        [
            name,
            f"{entry['exact 0.9']:.3f} ({entry['standard error 0.9']:.3f})",
            f"{entry['sets 0.9']:.3f}",
            f"{entry['size 0.9']:.2f}",
        ]
        for name, entry in results["replication"].items()
    ]
    return table(["data", "p-values (standard error)", "predict_set", "mean size"], rows)


def plausible(results):
    """Return the distribution of plausibilities of labels of replications."""
    entries = list(results["replication"].values())
    sizes = [key for key in entries[0] if key.startswith("plausible")]
    rows = [[kind, *(f"{mean(group, key):.3f}" for key in sizes)] for kind, group in by_clusterer(results).items()]
    return table(["P(plausibility ≤ a), a =", *(key.split()[1] for key in sizes)], rows)


def truth(results):
    """Return the coverage of true components, and sizes."""
    rows = [
        [name]
        + [f"{entry[f'{kind} covers']:.3f} at {entry[f'{kind} size']:.2f}" for kind in KINDS]
        + [f"{entry['standard error']:.3f}"]
        for name, entry in results["truth"].items()
    ]
    header = ["mixture", *(title for title, _, _ in KINDS.values()), "standard error of the first"]
    return table(header, rows)


def figure(results):
    """Draw the coverage of true components against the size of sets."""
    picture = Figure(figsize=(7.5, 4.4), layout="constrained")
    axes = picture.subplots()
    axes.axhspan(0.88, 0.92, color="0.92")
    for kind, (title, marker, color) in KINDS.items():
        points = [(entry[f"{kind} size"], entry[f"{kind} covers"]) for entry in results["truth"].values()]
        axes.scatter(*zip(*points, strict=True), marker=marker, color=color, label=title)
    for name, entry in results["truth"].items():
        place = entry["drawn size"], entry["drawn covers"]
        if not 0.88 <= place[1] <= 0.93 or place[0] > 1.5:  # sets that are too large or have a low coverage
            axes.annotate(name, place, xytext=(5, 4), textcoords="offset points", fontsize=7)
    axes.margins(x=0.15)
    axes.set(xlabel="mean number of clusters in a set", ylabel="share of true components in sets")
    axes.legend(fontsize="small")
    return picture


def outliers(results):
    """Return the distribution of p-values of ordinary samples, and the shares of detected outliers."""
    entries = results["validity"]
    keys = list(next(iter(entries.values())))
    sizes, planted = ([key for key in keys if key.startswith(word)] for word in ("ordinary", "found"))
    rows = [
        [name, *(f"{entry[key]:.3f}" for key in sizes), *(f"{100 * entry[key]:.0f} %" for key in planted)]
        for name, entry in entries.items()
    ]
    header = ["", *(f"P(p ≤ {key.split()[1]})" for key in sizes), *(key for key in planted)]
    return table(header, rows)


def errors_summary(results):
    """Return means over labeled data with a minimum share of sure samples."""
    rows = []
    for kind in ("k-means", "Gaussian mixture"):
        entries = [entry for name, entry in results["errors"].items() if name.endswith(f", {kind}")]
        sure_entries = [entry for entry in entries if entry["sure"] >= MIN_SURE_SHARE]
        torn = [entry for entry in sure_entries if entry["torn wrong"] is not None]
        rows.append(
            [
                kind,
                f"{len(sure_entries)} of {len(entries)}",
                f"{mean(sure_entries, 'sure'):.2f}",
                *(
                    f"{mean(sure_entries, f'{method} wrong'):.3f}"
                    for method in ("sure", "k-means ratio", "posterior", "hdbscan")
                ),
                f"{mean(torn, 'sure wrong'):.3f} / {mean(torn, 'torn wrong'):.3f} ({len(torn)} sets)",
            ]
        )
    header = ["clusterer", "sets", "share of sure", "errors of sure", "k-means ratio", "posterior", "hdbscan"]
    return table([*header, "sure / torn, if some are torn"], rows)


def errors(results):
    """Return the errors by data set."""
    keys = ("sure", "sure wrong", "torn wrong", "k-means ratio wrong", "posterior wrong", "hdbscan wrong")
    rows = [
        [name, *("" if entry[key] is None else f"{entry[key]:.2f}" for key in keys)]
        for name, entry in results["errors"].items()
    ]
    return table(["data", *keys], rows)
