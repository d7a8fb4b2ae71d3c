"""Parts of the page on CCM: errors of k-means and of CCM among all, sure and torn samples."""

from .tables import percent, table

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
    """Return the texts of the page."""
    results = read_results("answers")
    return {
        "story": story(results) + "\n\n",
        "errors": table(HEADER, errors(results), widths=(30, 10, 12, 12, 18, 18)),
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
        f"k-means mislabels {peer_errors} of {n} penguins and does not show which. {METHOD} is torn over {torn} "
        f"of them, and {round(torn * entry['torn_error'])} of its {n_errors} errors are among those {torn}."
    )


def share(entry, kind):
    return f"{percent(entry[f'{kind}_error'])} of {count(entry, kind)}"


def count(entry, kind):
    return round(entry["n"] * entry[kind])
