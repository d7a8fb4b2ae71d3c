"""Numbers of the front page and README: errors among sure and torn samples, and 3 claims."""

from statistics import median

from benchmarks.common.cells import agrees

from . import peers, reproduction, scale
from .tables import table

METHOD, LIST, GROUP = "CCM", "validation", "real tables"
MAX_ERROR = 0.25  # maximum error of k-means; above it, clusters do not match the classes
NAMES = {
    "penguins": "penguins, 3 species",
    "olive regions": "olive oils, 3 regions",
    "olive areas": "olive oils, 9 areas",
    "oils": "cooking oils, 7 kinds",
    "hawks": "hawks, 3 species",
    "tissues": "gene expression, 7 tissues",
}
HEADER = ("data", "samples", "k-means", f"{METHOD}, all", "sure", "torn")


def parts(read_results):
    """Return the texts of the front page."""
    proofs = (f"- **{title}.** {text} See :doc:`/record/{page}`." for title, text, page in proved(read_results))
    return {
        "story": story(read_results("answers")) + "\n\n",
        "errors": table(HEADER, errors(read_results("answers")), widths=(30, 10, 12, 12, 18, 18)),
        "proofs": "\n".join(proofs) + "\n\n",
    }


def chosen(results):
    """Return the entries of k-means and CCM for all real tables on which the error of k-means is low."""
    entries = {}
    for entry in results["lists"][LIST]["entries"]:
        if entry["group"] == GROUP and entry["method"] in ("k-means", METHOD):
            entries.setdefault(entry["data"], {})[entry["method"]] = entry
    return {name: pair for name, pair in entries.items() if pair["k-means"]["error"] < MAX_ERROR}


def errors(results):
    """Return a row for each data set: errors of k-means, and of CCM among all, sure and torn samples."""
    return [
        (
            NAMES[name],
            pair[METHOD]["n"],
            percent(pair["k-means"]["error"]),
            percent(pair[METHOD]["error"]),
            *(share(pair[METHOD], kind) for kind in ("sure", "torn")),
        )
        for name, pair in chosen(results).items()
    ]


def story(results):
    """Return one row of the table as a sentence."""
    pair = chosen(results)["penguins"]
    entry = pair[METHOD]
    n, torn = entry["n"], count(entry, "torn")
    peer_errors, n_errors = (round(n * result["error"]) for result in (pair["k-means"], entry))
    return (
        f"k-means mislabels {peer_errors} of {n} penguins and does not say which. {METHOD} is torn over {torn} of "
        f"them, and {round(torn * entry['torn_error'])} of its {n_errors} errors are among those {torn}."
    )


def proved(read_results):
    """Return 3 claims: a title, a sentence, and the page with the evidence."""
    cells = [cell for name in reproduction.PARTS for cell in read_results(f"reproduction_{name}")["cells"]]
    full = reproduction.informative_cells(cells)
    peer_ratios, r_ratios = ratios(read_results("peers_side_by_side"))
    largest = max(
        (
            run
            for run in scale.finished(read_results("scale_sizes"))
            if (run["method"], run["way"]) == ("ecm", "files")
        ),
        key=lambda run: run["rows"],
    )
    return [
        (
            "Agreement with the papers and R",
            f"{sum(map(agrees, full))} of {len(full)} published numbers agree within tolerance or chance; where "
            "they do not, the record says why. Tests compare our results with those of R's evclust and evclass.",
            "reproduction",
        ),
        (
            "Speed",
            f"ECM reaches the criterion of PyPI's evclust with {min(peer_ratios):.0f} to {max(peer_ratios):.0f} "
            f"times less CPU time, on the same machine. R's evclust took {min(r_ratios):.0f} to "
            f"{max(r_ratios):.0f} times our time in {len(r_ratios)} runs recorded on another machine.",
            "peers",
        ),
        (
            "A hundred million rows",
            f"ECM clusters {largest['rows'] / 1e6:.0f} million rows from Parquet files and writes their masses in "
            f"{scale.whole(largest, 'wall') / 60:.1f} minutes on two cores, with "
            f"{largest['peak_bytes'] / 1e9:.1f} GB of memory.",
            "scale",
        ),
    ]


def ratios(results):
    """Return ratios of CPU time: PyPI's evclust for the same criterion, and R's recorded runs."""
    pairs = peers.of_kind(results, "same_criterion")
    pairs_of_entries = [
        (pairs[data, "ECM"], pairs[data, "evclust ecm"]) for data in dict.fromkeys(data for data, _ in pairs)
    ]
    peer_ratios = [
        peers.average(their, "cpu_seconds") / peers.average(our, "cpu_seconds")
        for our, their in pairs_of_entries
        if "ended" not in their
    ]
    r_ratios = [
        median(results["of_r"][case]["cpu_seconds"]) / peers.average(entry, "cpu_seconds", median)
        for (_, case), entry in peers.of_kind(results, "recorded").items()
        if case in results["of_r"] and "ended" not in entry
    ]
    return peer_ratios, r_ratios


def share(entry, kind):
    return f"{percent(entry[f'{kind}_error'])} of {count(entry, kind)}"


def count(entry, kind):
    return round(entry["n"] * entry[kind])


def percent(share):
    return f"{100 * share:.1f} %"


def markdown(read_results):
    """Return the same texts for README, in Markdown."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in [HEADER, *errors(read_results("answers"))]]
    lines.insert(1, "|---" * len(HEADER) + "|")
    proofs = [f"- **{title}.** {text}" for title, text, _ in proved(read_results)]
    return "\n".join([story(read_results("answers")), "", *lines]), "\n".join(proofs)
