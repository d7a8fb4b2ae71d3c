"""What the front page and README say in numbers: errors among sure and torn samples, and three proofs."""

from statistics import median

from benchmarks.common.cells import agrees

from . import peers, reproduction, scale
from .tables import table

METHOD, LIST, GROUP = "CCM", "validation", "real tables"
MOST = 0.25  # wrong labels of k-means; with more, clusters are not the classes
NAMES = {
    "penguins": "penguins, 3 species",
    "olive regions": "olive oils, 3 regions",
    "olive areas": "olive oils, 9 areas",
    "oils": "cooking oils, 7 kinds",
    "hawks": "hawks, 3 species",
    "tissues": "gene expression, 7 tissues",
}
HEADER = ("data", "samples", "k-means", f"{METHOD}, all", "sure", "torn")


def parts(read):
    """Texts of the front page."""
    proofs = (f"- **{title}.** {text} See :doc:`/record/{page}`." for title, text, page in proved(read))
    return {
        "story": story(read("answers")) + "\n\n",
        "errors": table(HEADER, errors(read("answers")), widths=(30, 10, 12, 12, 18, 18)),
        "proofs": "\n".join(proofs) + "\n\n",
    }


def chosen(results):
    """The entries of k-means and of ours by data: every real table on which k-means is right often enough."""
    entries = {}
    for one in results["lists"][LIST]["entries"]:
        if one["group"] == GROUP and one["method"] in ("k-means", METHOD):
            entries.setdefault(one["data"], {})[one["method"]] = one
    return {name: both for name, both in entries.items() if both["k-means"]["error"] < MOST}


def errors(results):
    """A row for each set: errors of k-means, and of ours among all, sure and torn samples."""
    return [
        (
            NAMES[name],
            both[METHOD]["n"],
            percent(both["k-means"]["error"]),
            percent(both[METHOD]["error"]),
            *(share(both[METHOD], kind) for kind in ("sure", "torn")),
        )
        for name, both in chosen(results).items()
    ]


def story(results):
    """One row of the table in a sentence."""
    both = chosen(results)["penguins"]
    ours = both[METHOD]
    n, torn = ours["n"], count(ours, "torn")
    theirs, all_wrong = (round(n * one["error"]) for one in (both["k-means"], ours))
    return (
        f"k-means mislabels {theirs} of {n} penguins and does not say which. {METHOD} is torn over {torn} of "
        f"them, and {round(torn * ours['torn_error'])} of its {all_wrong} errors are among those {torn}."
    )


def proved(read):
    """Three claims: a title, a sentence, and the page of the record."""
    cells = [one for name in reproduction.PARTS for one in read(f"reproduction_{name}")["cells"]]
    full = reproduction.full_ones(cells)
    there, in_r = ratios(read("peers_side_by_side"))
    largest = max(
        (run for run in scale.finished(read("scale_sizes")) if (run["method"], run["way"]) == ("ecm", "files")),
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
            f"ECM reaches the criterion of PyPI's evclust with {min(there):.0f} to {max(there):.0f} times less "
            f"CPU time, on the same machine. R's evclust took {min(in_r):.0f} to {max(in_r):.0f} times our time "
            f"in {len(in_r)} runs recorded on another machine.",
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
    """How many times our CPU others took: PyPI's evclust for the same criterion, and R's recorded runs."""
    pairs = peers.of_kind(results, "same_criterion")
    both = [(pairs[data, "ECM"], pairs[data, "evclust ecm"]) for data in dict.fromkeys(data for data, _ in pairs)]
    there = [
        peers.average(their, "cpu_seconds") / peers.average(our, "cpu_seconds")
        for our, their in both
        if "ended" not in their
    ]
    in_r = [
        median(results["of_r"][case]["cpu_seconds"]) / peers.average(entry, "cpu_seconds", median)
        for (_, case), entry in peers.of_kind(results, "recorded").items()
        if case in results["of_r"] and "ended" not in entry
    ]
    return there, in_r


def share(entry, kind):
    return f"{percent(entry[f'{kind}_error'])} of {count(entry, kind)}"


def count(entry, kind):
    return round(entry["n"] * entry[kind])


def percent(share):
    return f"{100 * share:.1f} %"


def markdown(read):
    """The same for README, in Markdown."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in [HEADER, *errors(read("answers"))]]
    lines.insert(1, "|---" * len(HEADER) + "|")
    proofs = [f"- **{title}.** {text}" for title, text, _ in proved(read)]
    return "\n".join([story(read("answers")), "", *lines]), "\n".join(proofs)
