"""Other packages beside ours: quality, time and memory in one run, and what R took."""

import math
from statistics import fmean, median

from matplotlib.figure import Figure

from .tables import provenance, table, verdict

OF_PAPERS = ("iris", "wine", "seeds", "fourclass", "protein", "heart", "glass", "ecoli", "segment", "d31", "s2")
SIZES = ("outliers_1000", "outliers_10000", "outliers_100000")
PREFIXES = ("evclust", "soft-clustering", "scikit-fuzzy", "hdbscan", "evtools")
SKLEARN = (
    "KMeans",
    "GaussianMixture",
    "BayesianGaussianMixture",
    "KNeighborsClassifier",
    "RandomForestClassifier",
)
COLOURS = {
    "evidential-learn": "#0072B2",
    "scikit-learn": "#E69F00",
    "evclust": "#D55E00",
    "soft-clustering": "#009E73",
    "scikit-fuzzy": "#CC79A7",
    "hdbscan": "#000000",
    "evtools": "#56B4E9",
}


def parts(read):
    """Texts and figures of the page."""
    results = read("peers_side_by_side")
    return {
        "verdict": in_short(results),
        "provenance": provenance(results) + incomplete(results),
        "limit": (
            f"A method that took more than {results['limit']} seconds of CPU, or gave an error, has a dash (–) "
            "in the tables and is listed under `What went wrong`_.\n\n"
        ),
        "papers": quality(results, OF_PAPERS),
        "best": best_of_each(results),
        "doubt": doubt(results),
        "gaussians": generated(results, "gaussians_1000", ("pair_error", "covered")),
        "outliers": generated(results, "outliers_1000", ("outliers_found", "false_alarms")),
        "bananas": quality(results, ("bananas_1000",)),
        "sizes": sizes(results),
        "criterion": criterion(results),
        "wrong": wrong(results),
        "classify": classify(results),
        "of_r": of_r(results),
        "others": others(read),
        "figure": figure(results),
    }


def in_short(results):
    """Labels, doubt, outliers and times: where ours are behind, and where they are ahead."""
    rows, differences = best_pairs(results)
    ahead, behind = sum(one > 0 for one in differences), sum(one < 0 for one in differences)
    peer, of_r = ([float(row[-1]) for row in some if row[-1]] for some in (same_ends(results), r_rows(results)))
    entries = of_kind(results, "cluster")
    found, false = (average(entries["outliers_1000", "ECM"], key) for key in ("outliers_found", "false_alarms"))
    errors = {
        name: average(entries["gaussians_1000", name], "pair_error")
        for name in ("GaussianMixture", "BootClus", "ECM")
    }
    told = ", ".join(f"{name} {value:.2f}" for name, value in errors.items())
    covered = average(entries["gaussians_1000", "BootClus"], "covered")
    return verdict(
        f"**Labels**: the best of ours is ahead of the best of the others on {ahead} of {len(rows)} data sets and "
        f"behind on {behind}. For labels alone, use k-means, a Gaussian mixture or hdbscan.",
        "**Doubt** is the reason to use ours: whether torn samples are wrong more often is on the page "
        ":doc:`answers`. By consistency and nonspecificity alone, most of our partitions do not beat the "
        "labels of k-means; the section on doubt says why.",
        f"**Outliers**: ECM finds {100 * found:.0f} % with {100 * false:.1f} % false alarms.",
        f"**Probabilities of pairs**, mean error: {told}. The interval of BootClus holds the true one in "
        f"{100 * covered:.0f} % of all pairs.",
        f"**Time**: {min(peer):.0f} to {max(peer):.0f} times less CPU than PyPI's evclust for the same criterion, "
        f"and {min(of_r):.0f} to {max(of_r):.0f} times less than recorded runs of R on another machine.",
    )


def incomplete(results):
    """What to say of data of the papers that not all methods were run on."""
    missing = ", ".join(not_complete(of_kind(results, "cluster")))
    return f"This run was not finished: some methods are missing on {missing}.\n\n" if missing else ""


def not_complete(entries):
    """Data of the papers, with features, on which some methods were not run that were run on Iris."""
    expected = [name for data, name in entries if data == "iris"]
    return [d for d in OF_PAPERS if d != "protein" and any((d, name) not in entries for name in expected)]


def package(method):
    if method in SKLEARN:
        return "scikit-learn"
    return next((name for name in PREFIXES if method.startswith(name)), "evidential-learn")


def shown(method):
    """How a method is written: ours stand out."""
    return f"**{method}**" if package(method) == "evidential-learn" else method


def of_kind(results, kind):
    """Entries by data and method."""
    return {(one["data"], one["method"]): one for one in results["entries"] if one["kind"] == kind}


def methods(entries):
    """Names of methods, ours first, then in the order in which they were run."""
    names = dict.fromkeys(method for _, method in entries)
    return sorted(names, key=lambda name: list(COLOURS).index(package(name)))


def average(entry, name, middle=fmean):
    """The mean over seeds, or None if there is nothing."""
    values = [value for value in (entry or {}).get(name, []) if value is not None]
    return middle(values) if values else None


def written(value, form=".2f"):
    return "" if value is None else f"{value:{form}}"


def quality(results, data_sets):
    """The adjusted Rand index, by method and data; the best of a column stands out."""
    entries = of_kind(results, "cluster")
    names, columns = methods(entries), []
    for data in data_sets:
        column = [average(entries.get((data, name)), "ari") for name in names]
        best = max((round(value, 2) for value in column if value is not None), default=None)
        texts = [written(value) for value in column]
        late = ["ended" in entries.get((data, name), {}) for name in names]
        columns.append(
            [
                "–" if end else f"**{text}**" if text and float(text) == best else text
                for text, end in zip(texts, late, strict=True)
            ]
        )
    rows = [[shown(name), *cells] for name, *cells in zip(names, *columns, strict=True) if any(cells)]
    return table(["method", *(data.partition("_")[0] for data in data_sets)], rows)


def best_of_each(results):
    """The best of ours and the best of the others on each data set, and how often ours is ahead."""
    rows, differences = best_pairs(results)
    ahead, behind = sum(one > 0 for one in differences), sum(one < 0 for one in differences)
    count = f"Ours is ahead on {ahead} of {len(rows)} data sets and behind on {behind}.\n\n"
    return table(["data", "best of ours", "ARI", "best of others", "ARI", "difference"], rows) + count


def best_pairs(results):
    """These rows, chosen with the truth in hand, and the differences."""
    entries = of_kind(results, "cluster")
    rows, differences = [], []
    for data in dict.fromkeys(data for data, _ in entries if data not in not_complete(entries)):
        found = {name: average(entries.get((data, name)), "ari") for name in methods(entries)}
        ranks = sorted((name for name in found if found[name] is not None), key=lambda name: -found[name])
        our = next((name for name in ranks if package(name) == "evidential-learn"), None)
        their = next((name for name in ranks if package(name) != "evidential-learn"), None)
        if our and their:
            differences.append(round(found[our] - found[their], 2))
            cells = [our, written(found[our]), their, written(found[their])]
            rows.append([data, *cells, f"{differences[-1]:+.2f}"])
    return rows, differences


def doubt(results):
    """Consistency and nonspecificity, averaged over small data of the papers."""
    entries = of_kind(results, "cluster")
    names = [name for name in methods(entries) if all(usable(entries, data, name) for data in common(entries))]
    rows = []
    for name in names:
        means = [
            fmean(average(entries[data, name], index) for data in common(entries))
            for index in ("ari", "consistency", "nonspecificity")
        ]
        rows.append([shown(name), *map(written, means)])
    over = ", ".join(common(entries))
    return f"Means over {over}:\n\n" + table(["method", "ARI", "consistency", "nonspecificity"], rows)


def common(entries):
    """Small data of the papers, with features."""
    small = ("iris", "wine", "seeds", "heart", "glass", "ecoli", "fourclass")
    return [data for data in small if (data, "KMeans") in entries]


def usable(entries, data, name):
    return average(entries.get((data, name)), "consistency") is not None


def generated(results, data, more):
    """What is known where the truth is known: outliers, or the true probability of pairs."""
    entries = {name: entry for (where, name), entry in of_kind(results, "cluster").items() if where == data}
    kept = ["ari", "consistency", "nonspecificity", *more]
    rows = [
        [shown(name), *(written(average(entries[name], column)) for column in kept)]
        for name in methods([(data, name) for name in entries])
        if "ended" not in entries[name]
    ]
    titles = {
        "ari": "ARI",
        "outliers_found": "outliers found",
        "false_alarms": "false alarms",
        "pair_error": "error",
    }
    return table(["method", *(titles.get(name, name) for name in kept)], rows)


def sizes(results):
    """CPU seconds by number of samples, and memory at the largest that ended."""
    entries = of_kind(results, "cluster")
    rows = []
    for name in methods(entries):
        found = [entries.get((data, name)) for data in SIZES]
        if not any(found):
            continue
        seconds = [seconds_of(entry) for entry in found]
        memory = [average(entry, "memory_mb", max) for entry in found if entry]
        last = next((value for value in reversed(memory) if value is not None), None)
        rows.append([shown(name), *seconds, written(last, ".0f")])
    return table(["method", "1,000", "10,000", "100,000", "MB at the most"], rows)


def seconds_of(entry):
    if entry is None:
        return "all pairs"
    return "–" if "ended" in entry else f"{average(entry, 'cpu_seconds', median):.2g}"


def criterion(results):
    """ECM from the same start with the same delta: its criterion and its seconds."""
    header = ["data", "criterion, ours", "evclust", "CPU s, ours", "evclust", "times"]
    return table(header, same_ends(results))


def same_ends(results):
    """The rows of that table."""
    entries = of_kind(results, "same_criterion")
    rows = []
    for data in dict.fromkeys(data for data, _ in entries):
        our, their = entries.get((data, "ECM")), entries.get((data, "evclust ecm"))
        if not our or not their or "ended" in our:
            continue
        ratio = "" if "ended" in their else f"{average(their, 'cpu_seconds') / average(our, 'cpu_seconds'):.0f}"
        values = [written(average(one, "criterion"), ".6g") for one in (our, their)]
        seconds = [seconds_of(one) for one in (our, their)]
        rows.append([data, values[0], values[1] or "–", *seconds, ratio])
    return rows


def wrong(results):
    """Masses that are no masses, and methods that gave an error."""
    entries = of_kind(results, "cluster")
    rows = []
    for name in methods(entries):
        mine = [entry for (_, method), entry in entries.items() if method == name]
        bad = [entry for entry in mine if "rows_negative" in entry]
        if bad:
            shares = [fmean(average(entry, f"rows_{why}") for entry in bad) for why in ("negative", "not_finite")]
            smallest = min(average(entry, "smallest_mass", min) or 0.0 for entry in bad)
            rows.append([name, f"{len(bad)} of {len(mine)}", *(f"{100 * one:.2g} %" for one in shares), smallest])
    header = ["method", "data sets", "rows negative", "rows not finite", "smallest mass"]
    text = table(header, rows) if rows else "None.\n\n"
    return text + "".join(f"* {line}\n" for line in failures(entries)) + "\n"


def failures(entries):
    """What methods said instead of a result, once for each."""
    reasons = {}
    for (data, name), entry in entries.items():
        if "ended" in entry:
            reasons.setdefault((name, " ".join(entry["ended"].split())), []).append(data)
    for (name, reason), where in reasons.items():
        yield f"{shown(name)} on {', '.join(where)}: {reason.replace('`', '').replace('*', '').replace('|', '/')}."


def classify(results):
    """Errors of classifiers, and the CPU of all their fits."""
    entries = of_kind(results, "classify")
    data_sets = list(dict.fromkeys(data for data, _ in entries))
    rows = []
    for name in methods(entries):
        found = [entries.get((data, name), {}) for data in data_sets]
        errors = [average(entry, "error") for entry in found]
        seconds = sum(average(entry, "cpu_seconds") or 0 for entry in found)
        percents = ["–" if value is None else f"{100 * value:.1f}" for value in errors]
        rows.append([shown(name), *percents, f"{seconds:.2g}"])
    return table(["errors in %", *(data.partition("_")[0] for data in data_sets), "CPU s"], rows)


def of_r(results):
    """R's recorded runs beside ours with the same options."""
    return table(["case", "ARI, R", "ARI, ours", "CPU s, R", "CPU s, ours", "times"], r_rows(results))


def r_rows(results):
    """The rows of that table."""
    entries, rows = of_kind(results, "recorded"), []
    for (_, case), entry in entries.items():
        there = results["of_r"].get(case)
        if there and "ended" not in entry:
            seconds = median(there["cpu_seconds"]), average(entry, "cpu_seconds", median)
            index = fmean(there["ari"]) if there["ari"] else None
            rows.append(
                [
                    f"``{case}``",
                    written(index),
                    written(average(entry, "ari")),
                    *seconds,
                    f"{seconds[0] / seconds[1]:.0f}",
                ]
            )
    return rows


def others(read):
    """A line for each of the other files with peers."""
    ecm, eknn = read("peers_ecm_fit")["fit"], read("peers_eknn")["sizes"]
    network, claims = read("peers_nn_evclus")["fit"][0], read("peers_nn_constraints")["summary"]["counts"]
    asked = read("peers_active")["adjusted_rand_index"]["Iris, EVCLUS"]
    margin, random = (asked[name]["mean"] for name in ("margin", "random pairs, expanded"))
    against_peer = next(one for one in ecm if "peer_ratio" in one)
    largest, ours, theirs = eknn[-1], median(s for s, _ in network["ours"]), median(s for s, _ in network["r"])
    won = claims["NN-EVCLUS against EVCLUS"]
    lines = [
        f"``peers_ecm_fit``: ECM on 100,000 samples takes {against_peer['peer_ratio']:.0f} times less CPU than "
        "PyPI's evclust, for the same criterion.",
        f"``peers_eknn``: evidential nearest neighbours of evtools-dst take {largest['ratio']:.1f} times our CPU "
        f"with {largest['n']:,} samples, for the same loss.",
        f"``peers_nn_evclus``: a network on fourclass takes {ours:.1f} s of CPU, R's recorded run {theirs:.0f} s.",
        f"``peers_nn_constraints``: with constraints, NN-EVCLUS is at least as good as EVCLUS in "
        f"{won['at_least_as_good']} of {won['cells']} cells, and worse in the others.",
        f"``peers_active``: asking about 20 pairs of Iris that EVCLUS doubts raises the ARI from "
        f"{margin[0]:.2f} to {margin[4]:.2f}, and 50 pairs to {margin[10]:.2f}; random pairs, expanded in the "
        f"same way, raise it to {random[4]:.2f} and {random[10]:.2f}.",
    ]
    return "".join(f"* {line}\n" for line in lines) + "\n"


def figure(results):
    """CPU against the adjusted Rand index, means over small data of the papers."""
    entries = of_kind(results, "cluster")
    drawn = Figure(figsize=(8, 5.5), layout="constrained")
    axes = drawn.add_subplot()
    data_sets, seen = common(entries), set()
    for name in methods(entries):
        found = [entries.get((data, name), {}) for data in data_sets]
        if any(average(entry, "ari") is None for entry in found):
            continue
        seconds = math.exp(fmean(math.log(average(entry, "cpu_seconds", median)) for entry in found))
        index, owner = fmean(average(entry, "ari") for entry in found), package(name)
        label = None if owner in seen else owner
        seen.add(owner)
        axes.scatter(seconds, index, color=COLOURS[owner], label=label, s=28, zorder=3)
        below = -9 if owner == "evidential-learn" else 3  # or names lie upon each other
        short = name.removeprefix(f"{owner} ")
        axes.annotate(short, (seconds, index), xytext=(5, below), textcoords="offset points", fontsize=8)
    axes.set(xscale="log", xlabel="CPU seconds of a fit (geometric mean)", ylabel="adjusted Rand index (mean)")
    axes.margins(x=0.12)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    return drawn
