"""Targets of the study: one check per cell, method and measure."""

from statistics import mean
from typing import NamedTuple

ARI, FLAGGED = 0.95, 0.9  # of gross errors; the ARI is that of the worst draw
DETECTED, DETECTED_ON_AVERAGE = 0.55, 0.8  # of planted outliers
FALSE = {"Gaussian": 0.01, "Student": 0.01, "exponential": 0.02, "lognormal": 0.02}  # with planted outliers
FALSE_IF_CLEAN = FALSE | {"Student": 0.02}
BELOW, BELOW_ON_AVERAGE = 0.1, 0.02  # ARI compared with k-means
MORE_TORN = 3  # samples of iris
UNSEEN_DETECTED, UNSEEN_FALSE = 0.6, 0.02
#: Methods for comparison, without targets.
OTHERS = ("k-means", "trimmed k-means", "true means", "isolation forest", "local outlier factor")


class Check(NamedTuple):
    """A measured value and its target, which is a lower or an upper bound."""

    row: str
    method: str
    cell: str
    measure: str
    value: float
    target: float
    is_upper: bool = False

    @property
    def is_met(self):
        """True if the value satisfies the target."""
        return self.value <= self.target if self.is_upper else self.value >= self.target


def checks(results):
    """Return the checks of all rows in a file of results."""
    return [
        check
        for row, function in ROWS.items()
        if row in results
        for check in function(tested_entries(results[row]))
    ]


def tested_entries(entries):
    """Return the entries of our methods, and for sizes those of k-means for comparison."""
    return [entry for entry in entries if entry["method"] not in OTHERS or "data" in entry]


def worst_ari(entry):
    """Return the smallest ARI of all draws."""
    return min(entry.get("aris", [entry["ari"]]))


def of_errors(entries):
    """Yield checks of gross errors: the ARI of the other samples, and flagged errors."""
    for entry in entries:
        cell = f"{entry['kind']}, d = {entry['d']}, {100 * entry['share']:.0f} % at {entry['distance']} sd"
        cell += f", n = {entry['n']:,}" if "n" in entry else ""
        yield Check("errors", entry["method"], cell, "ARI", worst_ari(entry), ARI)
        yield Check("errors", entry["method"], cell, "flagged", entry["flagged"], FLAGGED)


def of_outliers(entries):
    """Yield checks of planted outliers: detected in each cell and on average, and false positives."""
    for entry in entries:
        cell = f"{entry['family']}, d = {entry['d']}"
        yield Check("outliers", entry["method"], cell, "flagged", entry["flagged"], DETECTED)
        yield Check("outliers", entry["method"], cell, "false", entry["false"], FALSE[entry["family"]], True)
    for method in dict.fromkeys(entry["method"] for entry in entries):
        detected = mean(entry["flagged"] for entry in entries if entry["method"] == method)
        yield Check("outliers", method, "mean", "flagged", detected, DETECTED_ON_AVERAGE)


def of_clean(entries):
    """Yield checks of falsely flagged samples in data without outliers."""
    for entry in entries:
        cell = f"{entry['family']}, d = {entry['d']}"
        yield Check("clean", entry["method"], cell, "false", entry["false"], FALSE_IF_CLEAN[entry["family"]], True)


def of_sizes(entries):
    """Yield checks of the ARI compared with that of k-means, by draw and on average."""
    plain = {entry["data"]: entry["aris"] for entry in entries if entry["method"] == "k-means"}
    for method in dict.fromkeys(entry["method"] for entry in entries if entry["method"] != "k-means"):
        differences = []
        for entry in entries:
            if entry["method"] == method:
                pairs = zip(plain[entry["data"]], entry["aris"], strict=True)
                below = [reference - ari for reference, ari in pairs]
                cell = f"{entry['data']}, d = {entry['d']}"
                yield Check("sizes", method, cell, "below k-means", max(below), BELOW, True)
                differences += below
        yield Check("sizes", method, "mean", "below k-means", mean(differences), BELOW_ON_AVERAGE, True)


def of_typo(entries):
    """Yield checks of the typo: the change of the number of torn samples, and its detection as an outlier."""
    torn = {entry["method"]: entry["torn_samples"] for entry in entries if entry["data"] == "clean"}
    for entry in entries:
        if entry["data"] == "typo":
            change = abs(entry["torn_samples"] - torn[entry["method"]])
            yield Check("typo", entry["method"], "iris", "change of torn samples", change, MORE_TORN, True)
            yield Check("typo", entry["method"], "iris", "flagged", entry["flagged"], 1)


def of_uniform(entries):
    """Yield checks of the ARI of 5 Gaussian clusters with uniform outliers."""
    for entry in entries:
        yield Check("uniform", entry["method"], f"n = {entry['n']:,}", "ARI", worst_ari(entry), ARI)


def of_butterfly(entries):
    """Yield checks of the butterfly: 10 sure samples, one torn sample and one outlier."""
    for entry in entries:
        right = entry["sure_in_wings"] + (entry["middle"] == "torn") + (entry["last"] == "outlier")
        yield Check("butterfly", entry["method"], "12 samples", "right verdicts", right, 12)


def of_table(entries):
    """Yield checks of the raw table, with the targets of gross errors."""
    for entry in entries:
        yield Check("table", entry["method"], "20 columns", "ARI", worst_ari(entry), ARI)
        yield Check("table", entry["method"], "20 columns", "flagged", entry["flagged"], FLAGGED)


def of_embeddings(entries):
    """Yield checks of unseen topics that are detected by default, and of false positives."""
    for entry in entries:
        if entry["rate"] == "default":
            cell = f"topics {entry['topics']}, n = {entry['n']:,}"
            yield Check("embeddings", entry["method"], cell, "flagged", entry["flagged"], UNSEEN_DETECTED)
            yield Check("embeddings", entry["method"], cell, "false", entry["false"], UNSEEN_FALSE, True)


ROWS = {
    "errors": of_errors,
    "outliers": of_outliers,
    "clean": of_clean,
    "sizes": of_sizes,
    "typo": of_typo,
    "uniform": of_uniform,
    "butterfly": of_butterfly,
    "table": of_table,
    "embeddings": of_embeddings,
}
