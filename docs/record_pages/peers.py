"""Comparison with other packages: quality, time and memory, and recorded runs of R."""

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
COLORS = {
    "evidential-learn": "#0072B2",
    "scikit-learn": "#E69F00",
    "evclust": "#D55E00",
    "soft-clustering": "#009E73",
    "scikit-fuzzy": "#CC79A7",
    "hdbscan": "#000000",
    "evtools": "#56B4E9",
}


def parts(read_results):
    """Return the texts and figures of the page."""
    results = read_results("peers_side_by_side")
    return {
        "verdict": in_short(results),
        "provenance": provenance(results) + incomplete(results),
        "limit": (
            f"A method that took more than {results['limit']} seconds of CPU, or raised an error, has a dash (–) "
            "in the tables and is listed under `Invalid results`_.\n\n"
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
        "others": others(read_results),
        "figure": figure(results),
    }


def in_short(results):
    """Return the main results on labels, doubt, outliers and times."""
    rows, differences = best_pairs(results)
    ahead, behind = (
        sum(difference > 0 for difference in differences),
        sum(difference < 0 for difference in differences),
    )
    peer, of_r = (
        [float(row[-1]) for row in rows_of_study if row[-1]]
        for rows_of_study in (same_ends(results), r_rows(results))
    )
    entries = of_kind(results, "cluster")
    detected, alarms = (
        average(entries["outliers_1000", "ECM"], key) for key in ("outliers_found", "false_alarms")
    )
    errors = {
        name: average(entries["gaussians_1000", name], "pair_error")
        for name in ("GaussianMixture", "BootClus", "ECM")
    }
    texts = ", ".join(f"{name} {value:.2f}" for name, value in errors.items())
    covered = average(entries["gaussians_1000", "BootClus"], "covered")
    return verdict(
        f"**Labels**: the best method of this library is better than the best other method on {ahead} of "
        f"{len(rows)} data sets and worse on {behind}. For labels alone, use k-means, a Gaussian mixture or "
        "hdbscan.",
        "**Doubt** is the reason to use this library: :doc:`answers` compares the errors of sure and torn "
        "samples. By consistency and nonspecificity alone, most credal partitions are not better than the "
        "labels of k-means, as the section on doubt explains.",
        f"**Outliers**: ECM detects {100 * detected:.0f} % with {100 * alarms:.1f} % false alarms.",
        f"**Probabilities of pairs**, mean error: {texts}. The interval of BootClus contains the true one for "
        f"{100 * covered:.0f} % of all pairs.",
        f"**Time**: {min(peer):.0f} to {max(peer):.0f} times less CPU than PyPI's evclust for the same criterion, "
        f"and {min(of_r):.0f} to {max(of_r):.0f} times less than recorded runs of R on another machine.",
    )


def incomplete(results):
    """Return a note on data of the papers without results of all methods."""
    missing = ", ".join(not_complete(of_kind(results, "cluster")))
    return f"This run was not finished: some methods are missing on {missing}.\n\n" if missing else ""


def not_complete(entries):
    """Return data of the papers with features on which some methods of Iris were not run."""
    expected = [name for data, name in entries if data == "iris"]
    return [d for d in OF_PAPERS if d != "protein" and any((d, name) not in entries for name in expected)]


def package(method):
    if method in SKLEARN:
        return "scikit-learn"
    return next((name for name in PREFIXES if method.startswith(name)), "evidential-learn")


def method_text(method):
    """Return the name of a method, in bold for methods of this library."""
    return f"**{method}**" if package(method) == "evidential-learn" else method


def of_kind(results, kind):
    """Return the entries of a kind by data and method."""
    return {(entry["data"], entry["method"]): entry for entry in results["entries"] if entry["kind"] == kind}


def methods(entries):
    """Return the names of methods, those of this library first."""
    names = dict.fromkeys(method for _, method in entries)
    return sorted(names, key=lambda name: list(COLORS).index(package(name)))


def average(entry, name, middle=fmean):
    """Return the mean over seeds, or None if there are no values."""
    values = [value for value in (entry or {}).get(name, []) if value is not None]
    return middle(values) if values else None


def figure_text(value, form=".2f"):
    return "" if value is None else f"{value:{form}}"


def quality(results, data_sets):
    """Return the adjusted Rand index by method and data, the best of each column in bold."""
    entries = of_kind(results, "cluster")
    names, columns = methods(entries), []
    for data in data_sets:
        column = [average(entries.get((data, name)), "ari") for name in names]
        best = max((round(value, 2) for value in column if value is not None), default=None)
        texts = [figure_text(value) for value in column]
        late = ["ended" in entries.get((data, name), {}) for name in names]
        columns.append(
            [
                "–" if end else f"**{text}**" if text and float(text) == best else text
                for text, end in zip(texts, late, strict=True)
            ]
        )
    rows = [[method_text(name), *cells] for name, *cells in zip(names, *columns, strict=True) if any(cells)]
    return table(["method", *(data.partition("_")[0] for data in data_sets)], rows)


def best_of_each(results):
    """Return the best method of this library and the best other method on each data set, with counts."""
    rows, differences = best_pairs(results)
    ahead, behind = (
        sum(difference > 0 for difference in differences),
        sum(difference < 0 for difference in differences),
    )
    count = f"The method of this library is better on {ahead} of {len(rows)} data sets and worse on {behind}.\n\n"
    return table(["data", "best of this library", "ARI", "best other", "ARI", "difference"], rows) + count


def best_pairs(results):
    """Return the rows of this table and the differences."""
    entries = of_kind(results, "cluster")
    rows, differences = [], []
    for data in dict.fromkeys(data for data, _ in entries if data not in not_complete(entries)):
        indices = {name: average(entries.get((data, name)), "ari") for name in methods(entries)}
        ranks = sorted((name for name in indices if indices[name] is not None), key=lambda name: -indices[name])
        our = next((name for name in ranks if package(name) == "evidential-learn"), None)
        their = next((name for name in ranks if package(name) != "evidential-learn"), None)
        if our and their:
            differences.append(round(indices[our] - indices[their], 2))
            cells = [our, figure_text(indices[our]), their, figure_text(indices[their])]
            rows.append([data, *cells, f"{differences[-1]:+.2f}"])
    return rows, differences


def doubt(results):
    """Return consistency and nonspecificity, averaged over small data of the papers."""
    entries = of_kind(results, "cluster")
    names = [name for name in methods(entries) if all(usable(entries, data, name) for data in common(entries))]
    rows = []
    for name in names:
        means = [
            fmean(average(entries[data, name], index) for data in common(entries))
            for index in ("ari", "consistency", "nonspecificity")
        ]
        rows.append([method_text(name), *map(figure_text, means)])
    over = ", ".join(common(entries))
    return f"Means over {over}:\n\n" + table(["method", "ARI", "consistency", "nonspecificity"], rows)


def common(entries):
    """Return small data of the papers with features."""
    small = ("iris", "wine", "seeds", "heart", "glass", "ecoli", "fourclass")
    return [data for data in small if (data, "KMeans") in entries]


def usable(entries, data, name):
    return average(entries.get((data, name)), "consistency") is not None


def generated(results, data, additional_columns):
    """Return results on generated data: outliers, or true probabilities of pairs."""
    entries = {
        name: entry for (data_name, name), entry in of_kind(results, "cluster").items() if data_name == data
    }
    columns = ["ari", "consistency", "nonspecificity", *additional_columns]
    rows = [
        [method_text(name), *(figure_text(average(entries[name], column)) for column in columns)]
        for name in methods([(data, name) for name in entries])
        if "ended" not in entries[name]
    ]
    titles = {
        "ari": "ARI",
        "outliers_found": "outliers found",
        "false_alarms": "false alarms",
        "pair_error": "error",
    }
    return table(["method", *(titles.get(name, name) for name in columns)], rows)


def sizes(results):
    """Return CPU seconds by number of samples, and memory at the largest size that finished."""
    entries = of_kind(results, "cluster")
    rows = []
    for name in methods(entries):
        entries_of_method = [entries.get((data, name)) for data in SIZES]
        if not any(entries_of_method):
            continue
        seconds = [seconds_of(entry) for entry in entries_of_method]
        memory = [average(entry, "memory_mb", max) for entry in entries_of_method if entry]
        last = next((value for value in reversed(memory) if value is not None), None)
        rows.append([method_text(name), *seconds, figure_text(last, ".0f")])
    return table(["method", "1,000", "10,000", "100,000", "maximum MB"], rows)


def seconds_of(entry):
    if entry is None:
        return "all pairs"
    return "–" if "ended" in entry else f"{average(entry, 'cpu_seconds', median):.2g}"


def criterion(results):
    """Return criterion and time of ECM from the same start with the same delta."""
    header = ["data", "criterion, ours", "evclust", "CPU s, ours", "evclust", "ratio"]
    return table(header, same_ends(results))


def same_ends(results):
    """Return the rows of this table."""
    entries = of_kind(results, "same_criterion")
    rows = []
    for data in dict.fromkeys(data for data, _ in entries):
        our, their = entries.get((data, "ECM")), entries.get((data, "evclust ecm"))
        if not our or not their or "ended" in our:
            continue
        ratio = "" if "ended" in their else f"{average(their, 'cpu_seconds') / average(our, 'cpu_seconds'):.0f}"
        values = [figure_text(average(entry, "criterion"), ".6g") for entry in (our, their)]
        seconds = [seconds_of(entry) for entry in (our, their)]
        rows.append([data, values[0], values[1] or "–", *seconds, ratio])
    return rows


def wrong(results):
    """Return invalid masses, and methods that raised an error."""
    entries = of_kind(results, "cluster")
    rows = []
    for name in methods(entries):
        entries_of_method = [entry for (_, method), entry in entries.items() if method == name]
        bad = [entry for entry in entries_of_method if "rows_negative" in entry]
        if bad:
            shares = [
                fmean(average(entry, f"rows_{reason}") for entry in bad) for reason in ("negative", "not_finite")
            ]
            smallest = min(average(entry, "smallest_mass", min) or 0.0 for entry in bad)
            rows.append(
                [
                    name,
                    f"{len(bad)} of {len(entries_of_method)}",
                    *(f"{100 * share:.2g} %" for share in shares),
                    smallest,
                ]
            )
    header = ["method", "data sets", "rows negative", "rows not finite", "smallest mass"]
    text = table(header, rows) if rows else "None.\n\n"
    return text + "".join(f"* {line}\n" for line in failures(entries)) + "\n"


def failures(entries):
    """Yield the error messages of methods, once for each."""
    reasons = {}
    for (data, name), entry in entries.items():
        if "ended" in entry:
            reasons.setdefault((name, " ".join(entry["ended"].split())), []).append(data)
    for (name, reason), data_names in reasons.items():
        message = reason.replace("`", "").replace("*", "").replace("|", "/")
        yield f"{method_text(name)} on {', '.join(data_names)}: {message}."


def classify(results):
    """Return errors of classifiers, and the CPU time of all their fits."""
    entries = of_kind(results, "classify")
    data_sets = list(dict.fromkeys(data for data, _ in entries))
    rows = []
    for name in methods(entries):
        entries_of_method = [entries.get((data, name), {}) for data in data_sets]
        errors = [average(entry, "error") for entry in entries_of_method]
        seconds = sum(average(entry, "cpu_seconds") or 0 for entry in entries_of_method)
        percents = ["–" if value is None else f"{100 * value:.1f}" for value in errors]
        rows.append([method_text(name), *percents, f"{seconds:.2g}"])
    return table(["errors in %", *(data.partition("_")[0] for data in data_sets), "CPU s"], rows)


def of_r(results):
    """Return R's recorded runs, and runs of this library with the same options."""
    return table(["case", "ARI, R", "ARI, ours", "CPU s, R", "CPU s, ours", "ratio"], r_rows(results))


def r_rows(results):
    """Return the rows of this table."""
    entries, rows = of_kind(results, "recorded"), []
    for (_, case), entry in entries.items():
        recorded = results["of_r"].get(case)
        if recorded and "ended" not in entry:
            seconds = median(recorded["cpu_seconds"]), average(entry, "cpu_seconds", median)
            index = fmean(recorded["ari"]) if recorded["ari"] else None
            rows.append(
                [
                    f"``{case}``",
                    figure_text(index),
                    figure_text(average(entry, "ari")),
                    *seconds,
                    f"{seconds[0] / seconds[1]:.0f}",
                ]
            )
    return rows


def others(read_results):
    """Return a line for each of the other comparisons."""
    ecm, eknn = read_results("peers_ecm_fit")["fit"], read_results("peers_eknn")["sizes"]
    network, claims = (
        read_results("peers_nn_evclus")["fit"][0],
        read_results("peers_nn_constraints")["summary"]["counts"],
    )
    queries = read_results("peers_active")["adjusted_rand_index"]["Iris, EVCLUS"]
    margin, random = (queries[name]["mean"] for name in ("margin", "random pairs, expanded"))
    against_peer = next(fit for fit in ecm if "peer_ratio" in fit)
    largest, library_seconds, r_seconds = (
        eknn[-1],
        median(s for s, _ in network["ours"]),
        median(s for s, _ in network["r"]),
    )
    won = claims["NN-EVCLUS against EVCLUS"]
    lines = [
        f"``peers_ecm_fit``: ECM on 100,000 samples takes {against_peer['peer_ratio']:.0f} times less CPU than "
        "PyPI's evclust, for the same criterion.",
        f"``peers_eknn``: evidential nearest neighbors of evtools-dst take {largest['ratio']:.1f} times as much "
        f"CPU with {largest['n']:,} samples, for the same loss.",
        f"``peers_nn_evclus``: a network on fourclass takes {library_seconds:.1f} s of CPU, R's recorded run "
        f"{r_seconds:.0f} s.",
        f"``peers_nn_constraints``: with constraints, NN-EVCLUS is at least as good as EVCLUS in "
        f"{won['at_least_as_good']} of {won['cells']} cells, and worse in the others.",
        f"``peers_active``: queries of the 20 most doubtful pairs of Iris with EVCLUS increase the ARI from "
        f"{margin[0]:.2f} to {margin[4]:.2f}, and 50 pairs to {margin[10]:.2f}; random pairs, expanded in the "
        f"same way, increase it to {random[4]:.2f} and {random[10]:.2f}.",
    ]
    return "".join(f"* {line}\n" for line in lines) + "\n"


def figure(results):
    """Draw CPU time against the adjusted Rand index, means over small data of the papers."""
    entries = of_kind(results, "cluster")
    picture = Figure(figsize=(8, 5.5), layout="constrained")
    axes = picture.add_subplot()
    data_sets, owners = common(entries), set()
    for name in methods(entries):
        entries_of_method = [entries.get((data, name), {}) for data in data_sets]
        if any(average(entry, "ari") is None for entry in entries_of_method):
            continue
        seconds = math.exp(fmean(math.log(average(entry, "cpu_seconds", median)) for entry in entries_of_method))
        index, owner = fmean(average(entry, "ari") for entry in entries_of_method), package(name)
        label = None if owner in owners else owner
        owners.add(owner)
        axes.scatter(seconds, index, color=COLORS[owner], label=label, s=28, zorder=3)
        below = -9 if owner == "evidential-learn" else 3  # avoids overlapping names
        short = name.removeprefix(f"{owner} ")
        axes.annotate(short, (seconds, index), xytext=(5, below), textcoords="offset points", fontsize=8)
    axes.set(xscale="log", xlabel="CPU seconds of a fit (geometric mean)", ylabel="adjusted Rand index (mean)")
    axes.margins(x=0.12)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    return picture
