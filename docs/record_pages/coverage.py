"""Whether sets of clusters cover what they promise: labels of replications, true components, outliers, errors."""

import numpy as np
from matplotlib.figure import Figure

from .tables import provenance, table, verdict

LEVELS = (0.8, 0.9, 0.95)
#: A share that is lower than asked by so many standard errors is more than chance.
MORE_THAN_CHANCE = 2
#: Sets of true components, with a marker and a colour.
KINDS = {
    "drawn": ("labels drawn", "o", "#0072B2"),
    "hard": ("labels hard", "s", "#E69F00"),
    "posterior": ("posterior", "^", "#999999"),
    "BootClus": ("BootClus", "D", "#CC79A7"),
}
#: Errors are compared where at least this share is sure.
ENOUGH = 0.05


def parts(read):
    """Texts and figures of the page."""
    results = read("answers_coverage")
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
    """Where the promise is kept, where it is not, and what it is no promise of."""
    shares = ", ".join(
        f"{kind} {mean(entries, 'sets 0.9'):.2f}" for kind, entries in by_clusterer(results).items()
    )
    low = sum(1 for _ in lower_than_asked(results))
    n_cells = 2 * len(LEVELS) * len(results["replication"])
    covers = [one["drawn covers"] for one in results["truth"].values()]
    known = [one for one in results["errors"].values() if one["sure"] >= ENOUGH and one["torn wrong"] is not None]
    return verdict(
        "**Labels of a replication** are in the sets as often as asked, except around hdbscan. At 0.90, mean "
        f"over sets of data: {shares}.",
        f"{low} of {n_cells} shares are lower than asked by more than {MORE_THAN_CHANCE} standard errors; they "
        "are listed.",
        "**True components** are not promised. With labels drawn from a Gaussian mixture, sets at 0.90 hold "
        f"them in {min(covers):.2f} to {max(covers):.2f} of all cases.",
        f"**Errors**: where some samples are torn, {100 * mean(known, 'sure wrong'):.0f} % of the sure and "
        f"{100 * mean(known, 'torn wrong'):.0f} % of the torn samples are wrong ({len(known)} cases). As an "
        "order of samples by doubt, the sets are no better than the ratio of two distances of k-means.",
    )


def by_clusterer(results):
    """Entries of all sets, by clusterer."""
    found = {}
    for name, entry in results["replication"].items():
        found.setdefault(name.rsplit(", ", 1)[1], []).append(entry)
    return found


def mean(entries, key):
    """The mean of a figure over sets."""
    return float(np.mean([one[key] for one in entries]))


def draws(results):
    """How often data were drawn."""
    counts = [
        f"{max(one['draws'] for one in entries)} times for {kind}"
        for kind, entries in by_clusterer(results).items()
    ]
    names = {name.rsplit(", ", 1)[0] for name in results["replication"]}
    return f"There are {len(names)} sets, and each was drawn up to {', '.join(counts)}.\n\n"


def clusterers(results):
    """Coverage by clusterer, mean over sets: of p-values, of sets, and the size of these."""
    rows = []
    for kind, entries in by_clusterer(results).items():
        row = [kind, len(entries)]
        for what in ("exact", "sets", "size"):
            row.append(" / ".join(f"{mean(entries, f'{what} {level}'):.3f}" for level in LEVELS))
        rows.append(row)
    header = ["clusterer", "sets", "p-values, .80 / .90 / .95", "predict_set, .80 / .90 / .95", "mean size"]
    return table(header, rows)


def below(results):
    """Where coverage is lower than asked by more than chance."""
    rows = list(lower_than_asked(results))
    n_cells = len(LEVELS) * len(results["replication"])
    text = (
        f"{len(rows)} of {2 * n_cells} shares are lower than asked by more than {MORE_THAN_CHANCE} standard errors"
    )
    if not rows:
        return text + ".\n\n"
    return text + ":\n\n" + table(["data", "what", "asked", "covered", "standard error"], rows)


def lower_than_asked(results):
    """The cells of that table."""
    for name, entry in results["replication"].items():
        for level in LEVELS:
            error = entry[f"standard error {level}"]
            for what in ("exact", "sets"):
                if level - entry[f"{what} {level}"] > MORE_THAN_CHANCE * error:
                    kind = "p-values" if what == "exact" else "predict_set"
                    yield [name, kind, f"{level:.2f}", f"{entry[f'{what} {level}']:.3f}", f"{error:.3f}"]


def sets(results):
    """Coverage at 0.9, set by set."""
    rows = [
        [
            name,
            f"{one['exact 0.9']:.3f} ({one['standard error 0.9']:.3f})",
            f"{one['sets 0.9']:.3f}",
            f"{one['size 0.9']:.2f}",
        ]
        for name, one in results["replication"].items()
    ]
    return table(["data", "p-values (standard error)", "predict_set", "mean size"], rows)


def plausible(results):
    """How often the plausibility of a replication's label is small."""
    entries = list(results["replication"].values())
    sizes = [key for key in entries[0] if key.startswith("plausible")]
    rows = [[kind, *(f"{mean(group, key):.3f}" for key in sizes)] for kind, group in by_clusterer(results).items()]
    return table(["P(plausibility ≤ a), a =", *(key.split()[1] for key in sizes)], rows)


def truth(results):
    """Coverage of true components, and sizes."""
    rows = [
        [name]
        + [f"{one[f'{kind} covers']:.3f} at {one[f'{kind} size']:.2f}" for kind in KINDS]
        + [f"{one['standard error']:.3f}"]
        for name, one in results["truth"].items()
    ]
    header = ["mixture", *(title for title, _, _ in KINDS.values()), "standard error of the first"]
    return table(header, rows)


def figure(results):
    """Coverage of true components against the size of sets."""
    picture = Figure(figsize=(7.5, 4.4), layout="constrained")
    axes = picture.subplots()
    axes.axhspan(0.88, 0.92, color="0.92")
    for kind, (title, marker, color) in KINDS.items():
        points = [(one[f"{kind} size"], one[f"{kind} covers"]) for one in results["truth"].values()]
        axes.scatter(*zip(*points, strict=True), marker=marker, color=color, label=title)
    for name, one in results["truth"].items():
        place = one["drawn size"], one["drawn covers"]
        if not 0.88 <= place[1] <= 0.93 or place[0] > 1.5:  # where sets are too large, or hold too little
            axes.annotate(name, place, xytext=(5, 4), textcoords="offset points", fontsize=7)
    axes.margins(x=0.15)
    axes.set(xlabel="mean number of clusters in a set", ylabel="share of true components in sets")
    axes.legend(fontsize="small")
    return picture


def outliers(results):
    """How often p-values of outliers are small, and what is found."""
    entries = results["validity"]
    keys = list(next(iter(entries.values())))
    sizes, planted = ([key for key in keys if key.startswith(word)] for word in ("ordinary", "found"))
    rows = [
        [name, *(f"{one[key]:.3f}" for key in sizes), *(f"{100 * one[key]:.0f} %" for key in planted)]
        for name, one in entries.items()
    ]
    header = ["", *(f"P(p ≤ {key.split()[1]})" for key in sizes), *(key for key in planted)]
    return table(header, rows)


def errors_summary(results):
    """Means over labelled sets of which at least a twentieth is sure."""
    rows = []
    for kind in ("k-means", "Gaussian mixture"):
        entries = [one for name, one in results["errors"].items() if name.endswith(f", {kind}")]
        known = [one for one in entries if one["sure"] >= ENOUGH]
        torn = [one for one in known if one["torn wrong"] is not None]
        rows.append(
            [
                kind,
                f"{len(known)} of {len(entries)}",
                f"{mean(known, 'sure'):.2f}",
                *(
                    f"{mean(known, f'{who} wrong'):.3f}"
                    for who in ("sure", "k-means ratio", "posterior", "hdbscan")
                ),
                f"{mean(torn, 'sure wrong'):.3f} / {mean(torn, 'torn wrong'):.3f} ({len(torn)} sets)",
            ]
        )
    header = ["clusterer", "sets", "share of sure", "errors of sure", "k-means ratio", "posterior", "hdbscan"]
    return table([*header, "sure / torn, where some are torn"], rows)


def errors(results):
    """Errors set by set."""
    keys = ("sure", "sure wrong", "torn wrong", "k-means ratio wrong", "posterior wrong", "hdbscan wrong")
    rows = [
        [name, *("" if one[key] is None else f"{one[key]:.2f}" for key in keys)]
        for name, one in results["errors"].items()
    ]
    return table(["data", *keys], rows)
