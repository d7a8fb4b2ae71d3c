"""Results with default parameters: labels, doubt and verdicts, with other methods."""

from matplotlib.figure import Figure

from benchmarks.studies.answers.methods import LIBRARY_METHODS
from benchmarks.studies.answers.summary import BETTER, duels

from .tables import duel_table, interval_text, provenance, table, verdict

LISTS = ("design", "validation")


def parts(read_results):
    """Return the texts and figures of the page."""
    current = of_four(read_results("answers"))
    return {
        "verdict": in_short(current),
        "provenance": provenance(current),
        "sizes": sizes(current),
        "labels": labels(current),
        "groups": groups(current),
        **{
            f"duels_{figure}": duel_table(comparisons, method_text)
            for figure, comparisons in of_validation(current).items()
        },
        "picks": picks(current),
        "costs": costs(current),
        "doubt": doubt(current),
        "verdicts": verdicts(current),
        "falsely_sure": falsely_sure(current),
        "halfway": special(current, "half way"),
        "clouds": special(current, "one cloud"),
        "ended": unfinished(current),
        **{f"sets_{list_name}": sets(current, list_name) for list_name in LISTS},
        "figure": figure(current),
    }


def of_four(value):
    """Return results in which the ensemble has the name of its 4 members, which were its defaults then."""
    if isinstance(value, dict):
        return {of_four(key): of_four(part) for key, part in value.items()}
    if isinstance(value, list):
        return [of_four(part) for part in value]
    return "CredalEnsemble of 4" if value == "CredalEnsemble" else value


def in_short(results):
    """Return the results of the main methods on the validation list."""
    summaries = summaries_of(results, "validation")
    selected = {name: summaries[name] for name in ("ECM", "CCM", "EVCLUS")}
    n_sets = len({entry["data"] for entry in results["lists"]["validation"]["entries"]})

    def texts_of(figure, form="+.3f", percent=False):
        return "; ".join(
            f"{name} {interval_text(entry[figure], form, percent)}" for name, entry in selected.items()
        )

    errors = "; ".join(
        f"{name} {percent(entry['sure_error'])} and {percent(entry['torn_error'])} %"
        for name, entry in selected.items()
    )
    multiples = "; ".join(
        f"{name} on {entry['torn_twice']} of {entry['sets_with_torn']} sets" for name, entry in selected.items()
    )
    false_counts = "; ".join(
        f"{name} {len(summaries[name]['falsely_sure'])}" for name in LIBRARY_METHODS if name in summaries
    )
    return verdict(
        f"All figures are for the {n_sets} validation data sets, which were not used to choose the defaults.",
        "**Labels are as good as those of k-means, not better.** Difference of the ARI from k-means: "
        f"{texts_of('ari_over_k_means')}.",
        "**Torn samples are wrong far more often than sure ones.** Errors among sure and among torn samples: "
        f"{errors}. Torn samples are wrong at least twice as often: {multiples}.",
        "**Comparison with a ratio of distances.** Share of right labels among sure samples, minus that among "
        f"as many samples with the smallest ratio of k-means: {texts_of('sure_gain', '+.1f', True)}.",
        f"**ECM is not best everywhere**: see *Best methods by kind of data*. Mean ARI: {best_of(results)}.",
        f"**Overconfidence:** number of data sets on which a method is falsely sure: {false_counts}. They are "
        "listed below.",
    )


def method_text(method):
    """Return the name of a method, in bold for methods of this library."""
    return f"**{method}**" if method in LIBRARY_METHODS else method


def lists(results):
    """Return the lists with results."""
    return [list_name for list_name in LISTS if results["lists"].get(list_name, {}).get("entries")]


def summaries_of(results, list_name, part="all"):
    """Return the summaries of all methods for a list and group."""
    return results["lists"].get(list_name, {}).get("summary", {}).get(part, {})


def split_methods(names):
    """Split names of methods into those of this library and others."""
    library_methods = [name for name in names if name in LIBRARY_METHODS]
    return library_methods, [name for name in names if name not in LIBRARY_METHODS]


def methods(results):
    """Return all methods, those of this library first."""
    names = dict.fromkeys(name for list_name in lists(results) for name in summaries_of(results, list_name))
    return sorted(names, key=lambda name: name not in LIBRARY_METHODS)


def sizes(results):
    counts = []
    for list_name in lists(results):
        entries = results["lists"].get(list_name, {}).get("entries", [])
        families = len({entry["family"] for entry in entries})
        counts.append(
            f"the {list_name} list has {len({entry['data'] for entry in entries})} sets of {families} families"
        )
    return f"In this run {' and '.join(counts)}.\n\n"


def labels(results):
    """Return the adjusted Rand index, its difference from that of k-means, and the counts of families."""
    rows = []
    for name in methods(results):
        row = [method_text(name)]
        for list_name in lists(results):
            entry = summaries_of(results, list_name).get(name, {})
            counts = f"{entry['won']}, {entry['tied']}, {entry['lost']}" if "won" in entry else ""
            row += [interval_text(entry.get("ari")), interval_text(entry.get("ari_over_k_means"), "+.3f"), counts]
        rows.append(row)
    names = ("ARI", "over k-means", "won, tied, lost")
    return table(
        ["method", *(f"{list_name}: {quantity}" for list_name in lists(results) for quantity in names)], rows
    )


def groups(results):
    """Return the adjusted Rand index by group of data, over both lists."""
    names = [name for name in results["lists"]["design"]["summary"] if name != "all"]
    rows = []
    for method in methods(results):
        cells = [
            " / ".join(
                mean(summaries_of(results, list_name, group).get(method, {}).get("ari"))
                for list_name in lists(results)
            )
            for group in names
        ]
        rows.append([method_text(method), *cells])
    return table(["method", *names], rows)


def of_validation(results):
    """Return comparisons with other methods on the validation list, by measure."""
    entries, names = results["lists"]["validation"]["entries"], methods(results)
    return duels(entries, *split_methods(names))


def best_of(results):
    """Return ECM, the best method of this library and the best other method, by kind of data."""
    texts = []
    for group, summaries in results["lists"]["validation"]["summary"].items():
        if group != "all":
            (library_best, *_), (other_best, *_) = (ranked(summaries, "ari", is_own) for is_own in (True, False))
            rivals = dict.fromkeys([("ECM", summaries["ECM"]["ari"]["mean"]), library_best, other_best])
            texts.append(f"{group}: {', '.join(f'{name} {value:.2f}' for name, value in rivals)}")
    return "; ".join(texts)


def ranked(summaries, figure, is_own):
    """Return methods of this library, or others, with results on all families, the best first."""
    n_families = summaries["k-means"][figure]["families"]
    means = [
        (name, entry[figure]["mean"])
        for name, entry in summaries.items()
        if (name in LIBRARY_METHODS) is is_own and entry.get(figure, {}).get("families") == n_families
    ]
    return sorted(means, key=lambda entry: -BETTER[figure] * entry[1])


def picks(results):
    """Return the best methods by kind of data, for labels and for labels with doubt."""
    rows = []
    for group in (name for name in results["lists"]["validation"]["summary"] if name != "all"):
        summaries = summaries_of(results, "validation", group)
        cells = [
            ", ".join(f"{name} {value:.2f}" for name, value in ranked(summaries, figure, is_own)[:2])
            for figure in ("ari", "aurc")
            for is_own in (True, False)
        ]
        n_families = summaries["k-means"]["ari"]["families"]
        rows.append([f"{group} ({n_families} families)", *cells])
    header = ["data", "labels: ours", "labels: others", "labels and doubt: ours", "labels and doubt: others"]
    return table(header, rows)


def costs(results):
    """Return CPU time and memory of a fit, over both lists."""
    rows = []
    for name in methods(results):
        row = [method_text(name)]
        for list_name in lists(results):
            entry = summaries_of(results, list_name).get(name, {})
            row += [
                mean(entry.get("cpu_seconds"), ".2g"),
                mean(entry.get("memory_mb"), ".0f"),
                len(entry.get("ended", ())),
            ]
        rows.append(row)
    names = ("CPU seconds", "memory, MB", "no result")
    return table(
        ["method", *(f"{list_name}: {quantity}" for list_name in lists(results) for quantity in names)], rows
    )


def mean(entry, form=".2f"):
    return f"{entry['mean']:{form}}" if entry else "–"


def doubt(results):
    """Return areas under curves."""
    rows = []
    for name in methods(results):
        row = [method_text(name)]
        for list_name in lists(results):
            entry = summaries_of(results, list_name).get(name, {})
            row += [mean(entry.get("aurc"), ".3f"), mean(entry.get("augrc"), ".3f")]
            row += [interval_text(entry.get("aurc_normalized")), mean(entry.get("augrc_normalized"))]
        rows.append(row)
    names = ("AURC", "AUGRC", "AURC, 0 best, 1 random", "AUGRC, 0 best, 1 random")
    return table(
        ["method", *(f"{list_name}: {quantity}" for list_name in lists(results) for quantity in names)], rows
    )


def verdicts(results):
    """Return shares and errors of sure and torn samples."""
    rows = []
    for name in methods(results):
        for list_name in lists(results):
            entry = summaries_of(results, list_name).get(name, {})
            if "falsely_sure" in entry:
                shares = " / ".join(percent(entry.get(kind)) for kind in ("sure", "torn", "outlier"))
                errors = " / ".join(percent(entry.get(kind)) for kind in ("sure_error", "torn_error"))
                multiples = f"{entry['torn_twice']} of {entry['sets_with_torn']}"
                gain = interval_text(entry.get("sure_gain"), "+.1f", percent=True)
                rows.append(
                    [method_text(name), list_name, shares, errors, multiples, gain, len(entry["falsely_sure"])]
                )
    header = [
        "method",
        "list",
        "sure / torn / outliers, %",
        "errors of sure / torn, %",
        "torn wrong twice as often as sure",
        "gain of sure samples over as many of k-means",
        "falsely sure",
    ]
    return table(header, rows)


def percent(entry):
    return f"{100 * entry['mean']:.0f}" if entry else "–"


def falsely_sure(results):
    """Return the data sets on which a method is falsely sure."""
    lines = []
    for name in methods(results):
        for list_name in lists(results):
            data_names = summaries_of(results, list_name).get(name, {}).get("falsely_sure")
            if data_names:
                lines.append(f"* {method_text(name)}, {list_name}: {', '.join(data_names)}.")
    return "\n".join(lines or ["No method is falsely sure on any data set."]) + "\n\n"


def special(results, kind):
    """Return shares of verdicts for samples halfway between clusters, or for data without clusters."""
    rows = []
    for name in LIBRARY_METHODS:
        entries = [
            entry for entry in results["special"] if entry["method"] == name and entry["data"].startswith(kind)
        ]
        if entries:
            rows.append([method_text(name), *(special_cell(entry) for entry in entries)])
    columns = dict.fromkeys(entry["data"] for entry in results["special"] if entry["data"].startswith(kind))
    return table(["method", *(name.partition(", ")[2] for name in columns)], rows)


def special_cell(entry):
    if "ended" in entry:
        return "–"
    of_cloud = ("others_sure", "others_torn", "others_outlier")
    names = ("between_torn", "others_torn") if "between_torn" in entry else of_cloud
    return " / ".join(f"{100 * entry[name]:.0f}" for name in names)


def unfinished(results):
    """Return fits without a result."""
    lines = [
        f"* {method_text(entry['method'])} on {entry['data']} ({list_name}): {entry['ended']}"
        for list_name in lists(results)
        for entry in results["lists"].get(list_name, {}).get("entries", [])
        if "ended" in entry
    ]
    return "\n".join(lines or ["All fits have a result."]) + "\n\n"


def sets(results, list_name):
    """Return the adjusted Rand index on all data sets, for methods of this library and then for others."""
    entries = {
        (entry["data"], entry["method"]): entry for entry in results["lists"].get(list_name, {}).get("entries", [])
    }
    names = [name for name in methods(results) if any(method == name for _, method in entries)]
    if not entries:
        return "No results.\n\n"
    tables = []
    for group in split_methods(names):
        rows = []
        for data in dict.fromkeys(data for data, _ in entries):
            entry = next(entry for key, entry in entries.items() if key[0] == data and "n" in entry)
            values = [entries.get((data, name), {}).get("ari") for name in group]
            cells = ["" if value is None else f"{value:.2f}" for value in values]
            rows.append([data, f"{entry['n']} × {entry['d']}, {entry['c']}", *cells])
        tables.append(table(["data set", "samples × features, clusters", *map(method_text, group)], rows))
    return "".join(tables)


def figure(results):
    """Draw the errors of sure and of torn samples on each data set, for methods with a verdict."""
    chosen = [name for name in ("ECM", "CCM", "EVCLUS") if name in summaries_of(results, "design")]
    picture = Figure(figsize=(9, 3.2), layout="constrained")
    panels = picture.subplots(1, len(chosen), sharex=True, sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, chosen, strict=True):
        for list_name, marker in zip(LISTS, ("o", "^"), strict=True):
            entries = results["lists"].get(list_name, {}).get("entries", [])
            torn_entries = [
                entry for entry in entries if entry["method"] == name and entry.get("torn_error") is not None
            ]
            complete_entries = [entry for entry in torn_entries if entry.get("sure_error") is not None]
            points = (
                [entry["sure_error"] for entry in complete_entries],
                [entry["torn_error"] for entry in complete_entries],
            )
            panel.scatter(*points, s=14, marker=marker, alpha=0.7, label=list_name)
        panel.plot([0, 1], [0, 1], color="gray", linewidth=0.8)
        panel.plot([0, 0.5], [0, 1], color="gray", linewidth=0.8, linestyle=":")
        panel.set(title=name, xlabel="errors of sure samples", xlim=(0, 1), ylim=(0, 1))
    panels[0].set_ylabel("errors of torn samples")
    panels[0].legend(fontsize="small")
    return picture
