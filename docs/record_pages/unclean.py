"""Parts of the page on data with errors, outliers and clusters of very different sizes."""

from statistics import mean

from benchmarks.studies.unclean.targets import OTHERS, checks, worst_ari

from .tables import provenance, table, verdict

#: Titles of the rows of the study.
TITLES = {
    "errors": "gross errors",
    "outliers": "planted outliers",
    "clean": "no outliers",
    "sizes": "clusters of very different sizes",
    "typo": "a typo in iris",
    "uniform": "uniform outliers in 8 dimensions",
    "butterfly": "butterfly",
    "table": "raw table",
    "embeddings": "embeddings, unseen topics",
}
PERCENT = ("flagged", "false")


def parts(read_results):
    """Return the texts of the page."""
    current = read_results("unclean") | {"embeddings": read_results("unclean_embeddings")["embeddings"]}
    earlier = read_results("unclean_before") | {
        "embeddings": read_results("unclean_before_embeddings")["embeddings"]
    }
    return {
        "verdict": in_short(current, earlier),
        "provenance": provenance(read_results("unclean")) + provenance(read_results("unclean_embeddings")),
        "before": f"*Before* is commit ``{earlier['commit']}``. " + provenance(read_results("unclean_before")),
        "targets": targets(current, earlier),
        "missed": missed(current),
        "errors": errors(current, earlier),
        "outliers": outliers(current, earlier),
        "clean": clean(current, earlier),
        "sizes": sizes(current, earlier),
        "typo": typo(current, earlier),
        "uniform": uniform(current, earlier),
        "butterfly": butterfly(current, earlier),
        "table": raw_table(current, earlier),
        "embeddings": embeddings(current, earlier),
    }


def in_short(current, earlier):
    """Return the counts of met targets, and the main figures before and after."""
    n_met, n_met_earlier = (sum(check.is_met for check in checks(results)) for results in (current, earlier))

    def of(results, row, method, key, kind=mean):
        return kind(
            entry[key]
            for entry in results[row]
            if entry["method"] == method and key in entry and entry.get("rate") in (None, "default")
        )

    def change(row, key, text, kind=mean, form=".2f", method="CCM"):
        values = (format(of(results, row, method, key, kind), form) for results in (current, earlier))
        return text.format(*values)

    return verdict(
        f"**{n_met} of {len(checks(current))} targets are met** ({n_met_earlier} of {len(checks(earlier))} "
        "before). The others are listed.",
        change("errors", "ari", "**Gross errors**: the mean ARI of the other samples with CCM is {} ({} before), ")
        + change("errors", "flagged", "and {} of the errors are flagged ({} before).", form=".0%"),
        change("outliers", "flagged", "**Planted outliers**: CCM detects {} ({} before), ", form=".0%")
        + change("outliers", "false", "with {} false positives ({} before).", form=".1%"),
        change("clean", "false", "**Without outliers**, CCM flags {} of the samples ({} before).", form=".1%"),
        change("embeddings", "flagged", "**Unseen topics** in new data: CCM detects {} ({} before) ", form=".0%")
        + change("embeddings", "false", "with {} false positives ({} before).", form=".1%"),
    )


def targets(current, earlier):
    """Return a table of the targets that are met, by row and method."""
    groups, groups_before = grouped(current), grouped(earlier)
    rows = []
    for (row, method, measure), group in groups.items():
        earlier_checks = groups_before.get((row, method, measure), [])
        bound = sorted({check.target for check in group}, reverse=group[0].is_upper)
        rows.append(
            [
                TITLES[row],
                method,
                measure,
                ("≤ " if group[0].is_upper else "≥ ") + " / ".join(figure_text(value, measure) for value in bound),
                f"{sum(check.is_met for check in earlier_checks)} of {len(earlier_checks)}"
                if earlier_checks
                else None,
                figure_text(worst(earlier_checks).value, measure) if earlier_checks else None,
                f"{sum(check.is_met for check in group)} of {len(group)}",
                figure_text(worst(group).value, measure),
            ]
        )
    header = ["data", "method", "measure", "target", "met before", "worst before", "met", "worst"]
    return table(header, rows)


def grouped(results):
    """Return the checks by row, method and measure."""
    groups = {}
    for check in checks(results):
        groups.setdefault((check.row, check.method, check.measure), []).append(check)
    return groups


def worst(group):
    """Return the check with the worst value."""
    return (max if group[0].is_upper else min)(group, key=lambda check: check.value)


def figure_text(value, measure):
    """Return a value as text, shares of samples in percent."""
    if measure in PERCENT:
        return f"{100 * value:.1f} %"
    return f"{value:.0f}" if "samples" in measure or "verdicts" in measure else f"{value:.2f}"


def missed(current):
    """Return all checks that miss their target."""
    rows = []
    for check in checks(current):
        if not check.is_met:
            figures = (figure_text(figure, check.measure) for figure in (check.value, check.target))
            rows.append([TITLES[check.row], check.method, check.cell, check.measure, *figures])
    if not rows:
        return "All targets are met.\n\n"
    return table(["data", "method", "cell", "measure", "value", "target"], rows)


def cells(results, row, keys):
    """Return the entries of a row by the values of some keys."""
    groups = {}
    for entry in results[row]:
        groups.setdefault(tuple(entry.get(key) for key in keys), []).append(entry)
    return groups


def pair(values, form=".2f", scale=1, kind=mean):
    """Return a figure before and now as text."""
    texts = (format(scale * kind(of_time), form) if of_time else "–" for of_time in values)
    return " → ".join(texts)


def values(groups, key, name):
    """Return the values of a measure in a group of entries, before and now."""
    return [[entry[name] for entry in group.get(key, []) if name in entry] for group in groups]


def worst_values(groups, key):
    """Return the worst ARI of all draws in each entry of a group, before and now."""
    return [[worst_ari(entry) for entry in group.get(key, [])] for group in groups]


def errors(current, earlier):
    """Return gross errors by method, kind and distance."""
    keys = ("method", "kind", "distance", "n")
    groups = cells(earlier, "errors", keys), cells(current, "errors", keys)
    rows = []
    for key, group in groups[1].items():
        method, kind, distance, n = key
        row = [method + (f", n = {n:,}" if n else ""), kind, distance, len(group)]
        worst_of = worst_values(groups, key)
        row += [pair(values(groups, key, "ari")), pair(worst_of, kind=min)]
        if method not in OTHERS:
            for name in ("flagged", "false", "sure", "warned"):
                row.append(pair(values(groups, key, name), ".0f" if name != "false" else ".1f", 100))
        else:
            row += [None] * 4
        rows.append(row)
    shares = ("flagged, %", "false, %", "sure, %", "warned, %")
    methods = list(dict.fromkeys(key[0] for key in groups[1]))
    rows.sort(key=lambda row: methods.index(row[0].partition(",")[0]))
    return table(["method", "kind", "sd", "cells", "ARI", "worst ARI", *shares], rows)


def outliers(current, earlier):
    """Return planted outliers by family, dimension and method."""
    keys = ("family", "d", "method")
    groups = cells(earlier, "outliers", keys), cells(current, "outliers", keys)
    rows = []
    for key in groups[1]:
        is_ours = key[2] not in OTHERS
        flagged, false = (values(groups, key, name) for name in PERCENT)
        ranking = values(groups, key, "auroc"), values(groups, key, "ranked")
        if is_ours:
            row = [pair(flagged, ".0f", 100), pair(false, ".1f", 100), pair(ranking[0], ".3f")]
            row += [pair(ranking[1], ".0f", 100), pair(values(groups, key, "ari"))]
        else:
            row = [None, None, f"{ranking[0][1][0]:.3f}", f"{100 * ranking[1][1][0]:.0f}", None]
        rows.append([*key, *row])
    header = ["clusters", "d", "method", "detected, %", "false, %", "AUROC", "at 1 % false, %", "ARI"]
    return table(header, rows)


def clean(current, earlier):
    """Return samples that are flagged without outliers."""
    keys = ("family", "d", "method")
    groups = cells(earlier, "clean", keys), cells(current, "clean", keys)
    methods = list(dict.fromkeys(key[2] for key in groups[1]))
    rows = []
    for family, d in dict.fromkeys(key[:2] for key in groups[1]):
        texts = (pair(values(groups, (family, d, method), "false"), ".1f", 100) for method in methods)
        rows.append([family, d, *texts])
    return table(["clusters", "d", *(f"{method}, %" for method in methods)], rows)


def sizes(current, earlier):
    """Return the ARI of clusters of very different sizes."""
    keys = ("data", "d", "method")
    groups = cells(earlier, "sizes", keys), cells(current, "sizes", keys)
    methods = list(dict.fromkeys(key[2] for key in groups[1]))
    rows = []
    for data, d in dict.fromkeys(key[:2] for key in groups[1]):
        texts = []
        for method in methods:
            key = (data, d, method)
            worst_of = worst_values(groups, key)
            if method in OTHERS:
                texts.append(f"{groups[1][key][0]['ari']:.2f} ({worst_of[1][0]:.2f})")
            else:
                texts.append(f"{pair(values(groups, key, 'ari'))} ({pair(worst_of)})")
        rows.append([data, d, *texts])
    return table(["sizes", "d", *methods], rows)


def typo(current, earlier):
    """Return torn samples of iris with and without the typo."""
    keys = ("method", "data")
    groups = cells(earlier, "typo", keys), cells(current, "typo", keys)
    rows = []
    for method in dict.fromkeys(key[0] for key in groups[1]):
        row = [method]
        row += [pair(values(groups, (method, data), "torn_samples"), ".0f") for data in ("clean", "typo")]
        row += [pair(values(groups, (method, "typo"), "flagged"), ".0f")]
        rows.append([*row, *(pair(values(groups, (method, data), "ari")) for data in ("clean", "typo"))])
    header = ["method", "torn, clean", "torn, typo", "typo flagged", "ARI, clean", "ARI, typo"]
    return table(header, rows)


def uniform(current, earlier):
    """Return the ARI of Gaussian clusters with uniform outliers."""
    keys = ("method", "n")
    groups = cells(earlier, "uniform", keys), cells(current, "uniform", keys)
    rows = []
    for key in groups[1]:
        worst_of = worst_values(groups, key)
        row = [key[0], f"{key[1]:,}", pair(values(groups, key, "ari")), pair(worst_of)]
        is_ours = key[0] not in OTHERS
        row += [pair(values(groups, key, name), ".1f", 100) if is_ours else None for name in PERCENT]
        rows.append([*row, pair(values(groups, key, "warned"), ".0f", 100) if is_ours else None])
    return table(["method", "n", "ARI", "worst ARI", "flagged, %", "false, %", "warned, %"], rows)


def butterfly(current, earlier):
    """Return the verdicts of the butterfly."""
    earlier = {entry["method"]: entry for entry in earlier["butterfly"]}
    rows = [
        [entry["method"]]
        + [
            f"{earlier[entry['method']][key]} → {entry[key]}" if entry["method"] in earlier else entry[key]
            for key in ("sure_in_wings", "middle", "last")
        ]
        for entry in current["butterfly"]
    ]
    return table(["method", "sure samples of the wings", "sample 6", "sample 12"], rows)


def raw_table(current, earlier):
    """Return the figures of the raw table."""
    groups = cells(earlier, "table", ("method",)), cells(current, "table", ("method",))
    rows = []
    for key in groups[1]:
        worst_of = worst_values(groups, key)
        row = [key[0], pair(values(groups, key, "ari")), pair(worst_of)]
        rows.append(row + [pair(values(groups, key, name), ".1f", 100) for name in (*PERCENT, "warned")])
    return table(["method", "ARI", "worst ARI", "flagged, %", "false, %", "warned, %"], rows)


def embeddings(current, earlier):
    """Return unseen topics that were detected, by default and with other rates."""
    keys = ("topics", "n", "method", "rate")
    groups = cells(earlier, "embeddings", keys), cells(current, "embeddings", keys)
    rows = []
    for key in groups[1]:
        topics, n, method, rate = key
        now_and_before = groups if method not in OTHERS else groups[1:]
        row = [topics, f"{n:,}", method, rate]
        row += [pair(values(now_and_before, key, name), ".1f", 100) if rate else None for name in PERCENT]
        row += [pair(values(now_and_before, key, "auroc"), ".3f")]
        row += [pair(values(now_and_before, key, "ranked"), ".1f", 100)]
        rows.append([*row, pair(values(now_and_before, key, "ari"))])
    header = ["topics", "n", "method", "rate", "detected, %", "false, %", "AUROC", "at 2 % false, %", "ARI"]
    return table(header, rows)
