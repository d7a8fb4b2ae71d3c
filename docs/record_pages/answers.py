"""How good answers are by default: labels, doubt and verdicts beside other methods, and before and after."""

from matplotlib.figure import Figure

from benchmarks.studies.answers.methods import OURS
from benchmarks.studies.answers.summary import BETTER, duels

from .tables import duel_table, provenance, table, verdict, written

LISTS = ("design", "validation")


def parts(read):
    """Texts and figures of the page."""
    now, before = read("answers"), read("answers_before")
    return {
        "verdict": in_short(now),
        "provenance": provenance(now),
        "provenance_before": provenance(before),
        "sizes": sizes(now),
        "labels": labels(now),
        "groups": groups(now),
        **{f"duels_{figure}": duel_table(found, shown) for figure, found in of_validation(now).items()},
        "picks": picks(now),
        "costs": costs(now),
        "doubt": doubt(now),
        "verdicts": verdicts(now),
        "falsely_sure": falsely_sure(now),
        "halfway": special(now, before, "half way"),
        "clouds": special(now, before, "one cloud"),
        "before": before_and_after(now, before),
        "ended": ended(now),
        **{f"sets_{which}": sets(now, which) for which in LISTS},
        "figure": figure(now),
    }


def in_short(results):
    """What the validation list says of the methods that most people will use."""
    found = about(results, "validation")
    own = {name: found[name] for name in ("ECM", "CCM", "EVCLUS")}
    n_sets = len({one["data"] for one in results["lists"]["validation"]["entries"]})

    def each(figure, form="+.3f", percent=False):
        return "; ".join(f"{name} {written(one[figure], form, percent)}" for name, one in own.items())

    errors = "; ".join(
        f"{name} {percent(one['sure_error'])} and {percent(one['torn_error'])} %" for name, one in own.items()
    )
    twice = "; ".join(
        f"{name} on {one['torn_twice']} of {one['sets_with_torn']} sets" for name, one in own.items()
    )
    falsely = "; ".join(f"{name} {len(found[name]['falsely_sure'])}" for name in OURS if name in found)
    return verdict(
        f"Figures are those of the {n_sets} validation sets, which nobody looked at while defaults were chosen.",
        f"**Labels are as good as those of k-means, not better.** ARI over k-means: {each('ari_over_k_means')}.",
        "**Torn samples are wrong far more often than sure ones.** Errors among sure and among torn samples: "
        f"{errors}. Torn samples are wrong at least twice as often: {twice}.",
        "**Does the verdict beat a simple ratio of distances?** Right labels among sure samples, minus those "
        f"among as many samples that k-means keeps by that ratio: {each('sure_gain', '+.1f', True)}.",
        "**What to pick instead** is told below, by kind of data: ECM is not the best for all. Mean ARI: "
        f"{best_of(results)}.",
        f"**Wrong with confidence:** sets of which a method is falsely sure: {falsely}. They are listed below.",
    )


def shown(method):
    """How a method is written: ours stand out."""
    return f"**{method}**" if method in OURS else method


def lists(results):
    """The lists that were run."""
    return [which for which in LISTS if results["lists"].get(which, {}).get("entries")]


def about(results, which, part="all"):
    """What is known of each method, by list and group."""
    return results["lists"].get(which, {}).get("summary", {}).get(part, {})


def methods(results):
    """All methods, ours first."""
    names = dict.fromkeys(name for which in lists(results) for name in about(results, which))
    return sorted(names, key=lambda name: name not in OURS)


def sizes(results):
    counts = []
    for which in lists(results):
        entries = results["lists"].get(which, {}).get("entries", [])
        families = len({one["family"] for one in entries})
        counts.append(f"the {which} list has {len({one['data'] for one in entries})} sets of {families} families")
    return f"In this run {' and '.join(counts)}.\n\n"


def labels(results):
    """The adjusted Rand index, its difference to that of k-means, and who is ahead."""
    rows = []
    for name in methods(results):
        row = [shown(name)]
        for which in lists(results):
            one = about(results, which).get(name, {})
            counts = f"{one['won']}, {one['tied']}, {one['lost']}" if "won" in one else ""
            row += [written(one.get("ari")), written(one.get("ari_over_k_means"), "+.3f"), counts]
        rows.append(row)
    names = ("ARI", "over k-means", "won, tied, lost")
    return table(["method", *(f"{which}: {what}" for which in lists(results) for what in names)], rows)


def groups(results):
    """The adjusted Rand index by group of data, over both lists."""
    names = [name for name in results["lists"]["design"]["summary"] if name != "all"]
    rows = []
    for method in methods(results):
        cells = [
            " / ".join(mean(about(results, which, group).get(method, {}).get("ari")) for which in lists(results))
            for group in names
        ]
        rows.append([shown(method), *cells])
    return table(["method", *names], rows)


def of_validation(results):
    """Each of ours beside each of the others on the validation list, by figure."""
    entries, names = results["lists"]["validation"]["entries"], methods(results)
    return duels(entries, [one for one in names if one in OURS], [one for one in names if one not in OURS])


def best_of(results):
    """ECM, the best of ours and the best of the others, by kind of data."""
    told = []
    for group, found in results["lists"]["validation"]["summary"].items():
        if group != "all":
            (ours, *_), (others, *_) = (ranked(found, "ari", own) for own in (True, False))
            rivals = dict.fromkeys([("ECM", found["ECM"]["ari"]["mean"]), ours, others])
            told.append(f"{group}: {', '.join(f'{name} {value:.2f}' for name, value in rivals)}")
    return "; ".join(told)


def ranked(found, figure, own):
    """Methods of ours, or others, that gave answers on all families, the best first."""
    n_families = found["k-means"][figure]["families"]
    means = [
        (name, one[figure]["mean"])
        for name, one in found.items()
        if (name in OURS) is own and one.get(figure, {}).get("families") == n_families
    ]
    return sorted(means, key=lambda one: -BETTER[figure] * one[1])


def picks(results):
    """By kind of data: the best of ours and the best of the others, by labels and by labels with doubt."""
    rows = []
    for group in (name for name in results["lists"]["validation"]["summary"] if name != "all"):
        found = about(results, "validation", group)
        cells = [
            ", ".join(f"{name} {value:.2f}" for name, value in ranked(found, figure, own)[:2])
            for figure in ("ari", "aurc")
            for own in (True, False)
        ]
        n_families = found["k-means"]["ari"]["families"]
        rows.append([f"{group} ({n_families} families)", *cells])
    header = ["data", "labels: ours", "labels: others", "labels and doubt: ours", "labels and doubt: others"]
    return table(header, rows)


def costs(results):
    """CPU and memory of a fit, over both lists."""
    rows = []
    for name in methods(results):
        row = [shown(name)]
        for which in lists(results):
            one = about(results, which).get(name, {})
            row += [
                mean(one.get("cpu_seconds"), ".2g"),
                mean(one.get("memory_mb"), ".0f"),
                len(one.get("ended", ())),
            ]
        rows.append(row)
    names = ("CPU seconds", "memory, MB", "no answer")
    return table(["method", *(f"{which}: {what}" for which in lists(results) for what in names)], rows)


def mean(one, form=".2f"):
    return f"{one['mean']:{form}}" if one else "–"


def doubt(results):
    """Areas under curves."""
    rows = []
    for name in methods(results):
        row = [shown(name)]
        for which in lists(results):
            one = about(results, which).get(name, {})
            row += [mean(one.get("aurc"), ".3f"), mean(one.get("augrc"), ".3f")]
            row += [written(one.get("aurc_normalized")), mean(one.get("augrc_normalized"))]
        rows.append(row)
    names = ("AURC", "AUGRC", "AURC, 0 best, 1 random", "AUGRC likewise")
    return table(["method", *(f"{which}: {what}" for which in lists(results) for what in names)], rows)


def verdicts(results):
    """Shares and errors of sure and torn samples."""
    rows = []
    for name in methods(results):
        for which in lists(results):
            one = about(results, which).get(name, {})
            if "falsely_sure" in one:
                shares = " / ".join(percent(one.get(kind)) for kind in ("sure", "torn", "outlier"))
                errors = " / ".join(percent(one.get(kind)) for kind in ("sure_error", "torn_error"))
                twice = f"{one['torn_twice']} of {one['sets_with_torn']}"
                gain = written(one.get("sure_gain"), "+.1f", percent=True)
                rows.append([shown(name), which, shares, errors, twice, gain, len(one["falsely_sure"])])
    header = [
        "method",
        "list",
        "sure / torn / outliers, %",
        "errors of sure / torn, %",
        "torn wrong twice as often as sure",
        "sure samples better than as many of k-means",
        "falsely sure",
    ]
    return table(header, rows)


def percent(one):
    return f"{100 * one['mean']:.0f}" if one else "–"


def falsely_sure(results):
    """The sets on which a method is falsely sure."""
    lines = []
    for name in methods(results):
        for which in lists(results):
            found = about(results, which).get(name, {}).get("falsely_sure")
            if found:
                lines.append(f"* {shown(name)}, {which}: {', '.join(found)}.")
    return "\n".join(lines or ["No method is falsely sure of any set."]) + "\n\n"


def special(now, before, kind):
    """What is said of samples half way between clusters, or of a cloud without clusters."""
    rows = []
    for results, when in ((before, "before"), (now, "now")):
        for name in OURS:
            found = [one for one in results["special"] if one["method"] == name and one["data"].startswith(kind)]
            if found:
                rows.append([shown(name), when, *(special_cell(one) for one in found)])
    columns = dict.fromkeys(one["data"] for one in now["special"] if one["data"].startswith(kind))
    return table(["method", "", *(name.partition(", ")[2] for name in columns)], rows)


def special_cell(one):
    if "ended" in one:
        return "–"
    of_cloud = ("others_sure", "others_torn", "others_outlier")
    names = ("between_torn", "others_torn") if "between_torn" in one else of_cloud
    return " / ".join(f"{100 * one[name]:.0f}" for name in names)


def before_and_after(now, before):
    """The means that matter, before and now."""
    rows = []
    for name in OURS:
        for which in lists(now):
            pair = [about(results, which).get(name, {}) for results in (before, now)]
            if all("ari" in one for one in pair):
                falsely = [str(len(one["falsely_sure"])) for one in pair]
                cells = [
                    arrow(pair, "ari", ".2f"),
                    arrow(pair, "ari_over_k_means", "+.3f"),
                    arrow(pair, "sure_error", ".2f"),
                    arrow(pair, "torn_error", ".2f"),
                    " → ".join(falsely),
                    arrow(pair, "cpu_seconds", ".2g"),
                ]
                rows.append([shown(name), which, *cells])
    names = ("ARI", "over k-means", "errors of sure", "errors of torn", "falsely sure", "CPU seconds")
    return table(["method", "list", *names], rows)


def arrow(pair, figure, form):
    return " → ".join(mean(one.get(figure), form) for one in pair)


def ended(results):
    """Fits that gave no answer."""
    lines = [
        f"* {shown(one['method'])} on {one['data']} ({which}): {one['ended']}"
        for which in lists(results)
        for one in results["lists"].get(which, {}).get("entries", [])
        if "ended" in one
    ]
    return "\n".join(lines or ["All fits ended with an answer."]) + "\n\n"


def sets(results, which):
    """The adjusted Rand index on every set, of our methods and then of the others."""
    entries = {(one["data"], one["method"]): one for one in results["lists"].get(which, {}).get("entries", [])}
    names = [name for name in methods(results) if any(method == name for _, method in entries)]
    if not entries:
        return "Not run yet.\n\n"
    tables = []
    for some in ([name for name in names if name in OURS], [name for name in names if name not in OURS]):
        rows = []
        for data in dict.fromkeys(data for data, _ in entries):
            one = next(one for key, one in entries.items() if key[0] == data and "n" in one)
            values = [entries.get((data, name), {}).get("ari") for name in some]
            cells = ["" if value is None else f"{value:.2f}" for value in values]
            rows.append([data, f"{one['n']} × {one['d']}, {one['c']}", *cells])
        tables.append(table(["set", "samples × features, clusters", *map(shown, some)], rows))
    return "".join(tables)


def figure(results):
    """Errors of sure and of torn samples on each set, for the methods with a verdict."""
    chosen = [name for name in ("ECM", "CCM", "EVCLUS") if name in about(results, "design")]
    picture = Figure(figsize=(9, 3.2), layout="constrained")
    panels = picture.subplots(1, len(chosen), sharex=True, sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, chosen, strict=True):
        for which, marker in zip(LISTS, ("o", "^"), strict=True):
            entries = results["lists"].get(which, {}).get("entries", [])
            own = [one for one in entries if one["method"] == name and one.get("torn_error") is not None]
            found = [one for one in own if one.get("sure_error") is not None]
            points = [one["sure_error"] for one in found], [one["torn_error"] for one in found]
            panel.scatter(*points, s=14, marker=marker, alpha=0.7, label=which)
        panel.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
        panel.plot([0, 0.5], [0, 1], color="grey", linewidth=0.8, linestyle=":")
        panel.set(title=name, xlabel="errors of sure samples", xlim=(0, 1), ylim=(0, 1))
    panels[0].set_ylabel("errors of torn samples")
    panels[0].legend(fontsize="small")
    return picture
