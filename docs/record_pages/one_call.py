"""Parts of the page on the default ensemble, and of its section in the guide."""

import numpy as np

from evlearn.utils.formatting import format_count

from .tables import interval_text, provenance, table, verdict

ENSEMBLE = "CredalEnsemble"
SHARES = ("sure", "sure_wrong", "recall", "precision")


def parts(read_results):
    """Return the texts of the page."""
    results = read_results("answers_one_call")
    comparisons = {name: part["comparison"] for name, part in results["lists"].items()} | {
        "all lists": results["pooled"]
    }
    return {
        "verdict": in_short(comparisons),
        "provenance": provenance(results),
        "ari": scores(comparisons, "ari"),
        "aurc": scores(comparisons, "aurc"),
        "deciles": deciles(read_results("answers_deciles")["summary"]),
        "deciles_provenance": provenance(read_results("answers_deciles")),
        "intervals": intervals(comparisons),
        "verdicts": verdicts(comparisons, results["lists"]),
        "customers": customers(read_results("unclean_customers")),
        "costs": costs(read_results("scale_one_call")),
    }


def in_short(comparisons):
    """Return the main results for all lists together."""
    pooled = comparisons["all lists"]
    ari, aurc = (pooled["over_best"][score] for score in ("ari", "aurc"))
    ari_of, aurc_of = (pooled["means"][score] for score in ("ari", "aurc"))
    best = pooled["best_single"]
    n_sure, n_sure_peer = (len(pooled["falsely_sure"][method]) for method in (ENSEMBLE, "ECM"))
    return verdict(
        f"**Labels**: the mean ARI is {ari_of[ENSEMBLE]:.3f}; the best single method, {best['ari']}, has "
        f"{ari_of[best['ari']]:.3f} (difference {interval_text(ari, '+.3f')}).",
        f"**Doubt**: the mean AURC is {aurc_of[ENSEMBLE]:.3f}, and {aurc_of[best['aurc']]:.3f} with the best "
        f"single method, {best['aurc']} (improvement {interval_text(aurc, '+.3f')}).",
        f"**Falsely sure** on {format_count(n_sure, 'data set')}, and ECM on {n_sure_peer}. On "
        f"{100 * pooled['separated']['share']:.0f} % of the data sets, torn samples are wrong at least 2.5 times "
        "as often as sure ones.",
    )


def scores(comparisons, score):
    """Return the means of a score over families, by method and list."""
    methods = list(next(iter(comparisons.values()))["means"][score])
    rows = [[method, *(part["means"][score][method] for part in comparisons.values())] for method in methods]
    return table(["method", *comparisons], rows)


def deciles(summary):
    """Return the error rate of each tenth of the samples, by increasing doubt."""
    rows = [[method, *(f"{100 * entry['mean']:.0f}" for entry in entries)] for method, entries in summary.items()]
    return table(["method", *map(str, range(1, 11))], rows)


def intervals(comparisons):
    """Return the differences from the best single method of each list."""
    rows = [
        [
            name,
            *(
                text
                for score in ("ari", "aurc")
                for text in (part["best_single"][score], describe_improvement(part, score))
            ),
        ]
        for name, part in comparisons.items()
    ]
    return table(["list", "best ARI", "improvement", "best AURC", "improvement"], rows)


def describe_improvement(comparison, score):
    """Return an improvement over the best single method, with the counts of families."""
    result = comparison["over_best"][score]
    counts = f"{result['won']} won, {result['tied']} tied, {result['lost']} lost"
    return f"{interval_text(result, '+.3f')}; {counts}"


def verdicts(comparisons, lists):
    """Return the shares of sure samples and their errors, and the data sets with false certainty."""
    rows = []
    for name, part in lists.items():
        summary, comparison = part["summary"]["all"][ENSEMBLE], comparisons[name]
        rows.append(
            [
                name,
                summary["sets"],
                *(f"{100 * summary[key]['mean']:.0f} %" for key in ("sure", "sure_error", "torn_error")),
                f"{100 * comparison['separated']['share']:.0f} % of {comparison['separated']['sets']}",
                *(", ".join(comparison["falsely_sure"][method]) or "none" for method in (ENSEMBLE, "ECM")),
            ]
        )
    header = [
        "list",
        "data sets",
        "sure",
        "sure wrong",
        "torn wrong",
        "2.5 times",
        "falsely sure",
        "ECM falsely sure",
    ]
    return table(header, rows)


def customers(results):
    """Return the scores on raw tables of customers: means over tables, and those of k-means."""
    fits = [entry for entry in results["entries"] if "way" in entry]
    peers = [entry for entry in results["entries"] if "way" not in entry]
    groups = {}
    for entry in fits:
        groups.setdefault((entry["n_clusters"], entry["way"], entry["table"]), []).append(entry)
    rows = [
        [
            "estimated" if n_clusters == "auto" else n_clusters,
            way,
            name,
            ", ".join(f"{entry['ari']:.2f}" for entry in group),
            *(f"{100 * np.mean([entry[key] for entry in group]):.0f} %" for key in SHARES),
        ]
        for (n_clusters, way, name), group in groups.items()
    ]
    aris = {
        key: ", ".join(f"{entry[key]:.2f}" for entry in peers) for key in peers[0] if key.startswith("k-means")
    }
    header = ["clusters", "with", "table", "ARI", "sure", "sure wrong", "recall", "precision"]
    peer_texts = "; ".join(f"{name}: {text}" for name, text in aris.items())
    return table(header, rows) + f"The ARI for the same tables with 5 clusters, {peer_texts}.\n\n"


def costs(results):
    """Return CPU times and memory by number of rows."""
    rows = [
        [
            f"{entry['rows']:,}",
            entry["features"],
            "estimated" if entry["n_clusters"] == "auto" else "known",
            entry["source"],
            f"{entry['cpu_seconds']:.1f} s",
            f"{entry['peak_megabytes'] / 1e3:.2f} GB",
            entry["ari"],
        ]
        for entry in results["entries"]
    ]
    return table(["rows", "features", "number of clusters", "data", "CPU", "peak memory", "ARI"], rows)
