"""Tables and examples of the Bootclus paper (Denoeux 2020), compared with ours.

``python -m benchmarks.studies.reproduction bootclus`` writes results/reproduction_bootclus.json in some 5 minutes.
Tables 2 to 4 (coverage) are computed by ``python -m benchmarks.studies.reproduction.coverage``, which takes 15
minutes and writes results/reproduction_coverage.json. This module computes Example 2, Tables 5 to 12 and the
results of Section 4.2 about Iris, Diabetes and GvHD, and the causes of differences.

Details that the paper leaves open, and our choices:

- ECM gets the raw Iris data and standardized Diabetes data, which reproduces the published tables; the other
  methods get the data described in the paper.
- Tables 6, 8, 10 and 12 depend on random numbers. Ours are means over seeds.
- On Diabetes, EM stops as early as that of mclust, which the paper used: when the log-likelihood changes by a
  relative amount of 1e-5. The study of defaults reports which cells agree with our default tolerance.
- k-EVCLUS has the pair of clusters of the published table. On Diabetes, our implementation would choose another
  one, {ch, no}, with a lower stress.
- Clusters are named after the classes that match best.
"""

import functools
from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, confusion_matrix
from sklearn.preprocessing import StandardScaler

from benchmarks.common import record, reference
from benchmarks.common.cells import cell, published, with_data, without_data
from benchmarks.studies.reproduction import comparisons, coverage
from benchmarks.studies.reproduction.figures import name_clusters
from evlearn import papers
from evlearn.cluster import EVCLUS, FocalFamily, Quantile
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.mixture.covariance_models import MULTIVARIATE

PAPER = "Bootclus"
COVERAGE = 0.03
MASSES = 0.1
ROUNDED = 0.005
# mclust stops when the log-likelihood changes by a relative amount of 1e-5, which is 4e-5 per sample in these
# data.
EARLY = 4e-5
EARLY_DIABETES = 1.6e-4  # the same for Diabetes
MUTUAL_NEIGHBORS = FocalFamily("neighbor_pairs", include_omega=False)
MIXTURE = "raw attributes, variance_floor=0, EM with tol=1e-6"
BY_ECM = "focal_sets=FocalFamily('neighbor_pairs', include_omega=False), alpha=1, beta=2, delta=100, best of 5"
BY_EVCLUS = (
    "standardized attributes, d0=Quantile(level=0.9), n_partners=50, the pair of clusters of the published table"
)
IRIS, DIABETES = ("se", "ve", "vi"), ("ch", "no", "ov")


def study(quick):
    """Return all cells."""
    n_seeds = 1 if quick else 5
    cells = with_data(
        coverages,
        example,
        partial(irises, n_seeds),
        partial(diabetes, n_seeds),
        partial(cells_in_blood, 1 if quick else 5),
    )
    for entry in cells:
        if not entry["within"] and not quick:
            entry["cause"] = entry["cause"] or explain(entry, n_seeds)
    return {"cells": cells, "without_data": cells_without_data()}


# Tables 2 to 4


def coverages():
    """Return the cells of the recorded study of coverage."""
    return cells_of_coverage(record.load("reproduction_coverage"))


def cells_of_coverage(results):
    """Return the cells of a study of coverage."""
    settings = f"{results['n_bootstrap']} resamples of {results['datasets']} data sets, EM with tol=1e-6"
    cells = []
    for entry in results["cells"]:
        true, assumed = entry["true_model"], entry["assumed_model"]
        location = f"{PAPER}, Table {2 + list(coverage.TRUE.values()).index(true)}"
        row = f"{entry['confidence']:.2f}, {entry['interval']}"
        for name in ("coverage", "length"):
            if entry[f"{name}_published"] is not None:
                coverage_cell = cell(
                    location,
                    row,
                    f"{assumed}: {name}",
                    entry[f"{name}_published"],
                    entry[name],
                    COVERAGE,
                    settings,
                )
                coverage_cell |= {
                    "runs": results["datasets"],
                    "spread": entry.get(f"{name}_std"),
                    "assumed": assumed,
                    "true": true,
                }
                cells.append(coverage_cell)
    return cells


def explain(entry, n_seeds):
    """Return the measured cause of a difference."""
    if "assumed" in entry:
        return explain_coverage(entry)
    if entry["table"].endswith("Table 10") or "misclassified by Bootclus" in entry["row"]:
        return explain_diabetes(entry, n_seeds)
    return None


def explain_coverage(entry):
    """Return coverage or length with other choices; see `variants`."""
    studies = variants(entry["true"], entry["assumed"])
    level, interval = entry["row"].split(", ")
    position = ("coverage", "length").index(entry["column"].split(": ")[1])
    values = {name: means[float(level), interval][position] for name, (means, _) in studies.items()}
    best = min(values, key=lambda name: abs(values[name] - entry["published"]))
    text = "; ".join(f"{name}: {value:.3f}" for name, value in values.items())
    text = f"Nearest is “{best}”. Measured on the same 20 data sets: {text}."
    if entry["spread"]:
        errors = abs(entry["ours"] - entry["published"]) / (entry["spread"] * np.sqrt(2 / entry["runs"]))
        text += f" The difference is {errors:.1f} standard errors of two such means."
    if entry["assumed"] == "Auto":
        chosen = "; ".join(", ".join(f"{name} {n}" for name, n in models) for _, models in studies.values())
        text += f" Models chosen, in the same order: {chosen}."
    return text


@functools.cache
def variants(true, assumed):
    """Return small studies with our EM, with the stopping rule of mclust, and without models it fits worse."""
    studies = {
        "EM until it converges": small_study(true, assumed),
        "EM stopped as early as in mclust": small_study(true, assumed, tol=EARLY),
    }
    if assumed == "Auto":
        models = [name for name in MULTIVARIATE if name not in ("EVE", "VVE")]
        studies["without EVE and VVE"] = small_study(true, assumed, models)
        studies["both"] = small_study(true, assumed, models, tol=EARLY)
    return studies


def small_study(true_model, assumed, models=None, n_datasets=20, n_bootstrap=300, **settings):
    """Return mean coverage and length by level and kind of interval, and the frequencies of chosen models."""
    number = next(number for number, name in coverage.TRUE.items() if name == true_model)
    values, chosen = {}, Counter()
    for seed in range(n_datasets):
        rows = coverage.measure(
            number, seed, n_bootstrap, {assumed: models or coverage.ASSUMED[assumed]}, **settings
        )
        chosen[rows[0][-1]] += 1
        for row in rows:
            values.setdefault((row[1], row[3]), []).append(row[4:6])
    return {key: np.mean(pairs, axis=0) for key, pairs in values.items()}, chosen.most_common()


# Example 2


def example():
    """Return 2 mass functions of ECM on the butterfly without its outlier, and their pairwise masses."""
    X = pd.read_csv(reference.data("butterfly.csv")).to_numpy()[:11]
    partition = papers.ecm(2, delta=100, tol=1e-12, max_iter=10_000, random_state=0).fit(X).credal_partition_
    if partition.masses[3, 1] > partition.masses[3, 2]:
        partition = partition.permute_clusters([1, 0])
    pair = partition.relational([(3, 4)])
    values_by_row = {
        "m4": dict(zip(("{ω1}", "{ω2}", "Ω"), partition.masses[3, 1:], strict=True)),
        "m5": dict(zip(("{ω1}", "{ω2}", "Ω"), partition.masses[4, 1:], strict=True)),
        "m45": {"same": pair.same_cluster[0], "different": pair.different[0], "unknown": pair.unknown[0]},
    }
    printed = [row["value"].split() for row in published("prose_numbers") if row["location"] == "Example 2"]
    settings = "alpha=1, beta=2, delta=100, tol=1e-12"
    return [
        cell(f"{PAPER}, Example 2", row, column, float(value), values_by_row[row][column], ROUNDED, settings)
        for row, values in zip(values_by_row, printed[:3], strict=True)
        for column, value in zip(values_by_row[row], values, strict=True)
    ]


# Section 4.2


def irises(n_seeds):
    """Return Tables 5 to 8, and the mixture."""
    table = pd.read_csv(reference.data("iris.csv"))
    X, y = table.iloc[:, :4].to_numpy(), np.array(IRIS)[table["y"] - 1]
    mixture = ParsimoniousGaussianMixture(3, variance_floor=0, random_state=0).fit(X)
    counts = crisp_table(y, mixture.predict(X))
    fitted = [
        name_clusters(papers.bootclus(3, model="VEV", random_state=seed).fit(X).credal_partition_, y)
        for seed in range(n_seeds)
    ]
    ecm = papers.ecm(3, focal_sets=MUTUAL_NEIGHBORS, delta=100, n_init=5, random_state=0).fit(X)
    location, row = f"{PAPER}, Section 4.2", "Iris, mixture"
    settings = f"VEV, n_bootstrap=1000, {MIXTURE}"
    return [
        cell(location, row, "VEV is chosen (1: yes)", 1, mixture.model_ == "VEV", 0, MIXTURE),
        cell(location, row, "ARI", 0.90, adjusted_rand_score(y, mixture.predict(X)), ROUNDED, MIXTURE),
        cell(location, row, "versicolor among virginica", 5, counts[1, 2], 0, MIXTURE),
        *masses_of_five(fitted, settings),
        *confusion_cells(6, y, IRIS, fitted, 3, settings),
        *confusion_cells(7, y, IRIS, [name_clusters(ecm.credal_partition_, y)], 1, f"raw attributes, {BY_ECM}"),
        *confusion_cells(8, y, IRIS, by_evclus(X, y, (1, 2), n_seeds), 5, BY_EVCLUS),
    ]


def masses_of_five(fitted, settings):
    """Return Table 5: the masses of 5 samples of Iris."""
    cells = []
    for row in published("bootclus_table05"):
        for name in list(row)[1:]:
            members = tuple(IRIS.index(cluster) for cluster in name.split("_")[1:])
            masses = [entry.masses[int(row["object"]) - 1, entry.focal_sets.index(members)] for entry in fitted]
            cells.append(
                cell(
                    f"{PAPER}, Table 5",
                    f"object {row['object']}",
                    as_set(name[2:]),
                    float(row[name]),
                    masses,
                    MASSES,
                    settings,
                )
            )
    return cells


def diabetes(n_seeds):
    """Return Tables 9 to 12, and the mixture."""
    X, y = load_diabetes()
    mixture = ParsimoniousGaussianMixture(range(1, 10), variance_floor=0, random_state=0).fit(X)
    labels = (
        ParsimoniousGaussianMixture(3, covariance_models="VVV", variance_floor=0, random_state=0).fit(X).predict(X)
    )
    counts, scaled = crisp_table(y, labels), StandardScaler().fit_transform(X)
    fitted = by_bootclus(n_seeds, EARLY_DIABETES)
    ecm = papers.ecm(3, focal_sets=MUTUAL_NEIGHBORS, delta=100, n_init=5, random_state=0).fit(scaled)
    location, row, row_of_errors = (
        f"{PAPER}, Section 4.2",
        "Diabetes, mixture",
        "Diabetes, misclassified by Bootclus",
    )
    settings = "VVV, n_bootstrap=1000, raw attributes, variance_floor=0, EM stopped as in mclust (tol=1.6e-4)"
    by_ecm = f"standardized attributes, {BY_ECM}"
    return [
        cell(location, row, "VVV is chosen (1: yes)", 1, mixture.model_ == "VVV", 0, MIXTURE),
        cell(location, row, "clusters", 3, mixture.n_components_, 0, MIXTURE),
        cell(location, row, "ARI", 0.66, adjusted_rand_score(y, labels), ROUNDED, MIXTURE),
        cell(location, row, "misclassified", 20, counts.sum() - np.trace(counts), 0, MIXTURE),
        cell(
            location,
            row_of_errors,
            "patients",
            14,
            [count_errors(partition, y) for partition in fitted],
            3,
            settings,
        ),
        *(
            cell(f"{PAPER}, Table 9", line["true_class"], as_set(name), int(line[name]), counts[i, j], 0, MIXTURE)
            for i, line in enumerate(published("bootclus_table09"))
            for j, name in enumerate(DIABETES)
        ),
        *confusion_cells(10, y, DIABETES, fitted, 3, settings),
        *confusion_cells(11, y, DIABETES, [name_clusters(ecm.credal_partition_, y)], 0, by_ecm),
        *confusion_cells(12, y, DIABETES, by_evclus(X, y, (1, 2), n_seeds), 5, BY_EVCLUS),
    ]


def load_diabetes():
    table = pd.read_csv(reference.data("diabetes_mclust.csv"))
    return table[["glucose", "insulin", "sspg"]].to_numpy(), np.array(DIABETES)[table["y"] - 1]


@functools.cache
def by_bootclus(n_seeds, tol):
    """Return partitions of Bootclus on Diabetes, with several seeds."""
    X, y = load_diabetes()
    mixture = ParsimoniousGaussianMixture(3, covariance_models="VVV", tol=tol, variance_floor=0)
    models = [papers.bootclus(mixture=mixture, random_state=seed).fit(X) for seed in range(n_seeds)]
    return [name_clusters(model.credal_partition_, y) for model in models]


def by_evclus(X, y, pair, n_seeds):
    """Return partitions of k-EVCLUS in 2 steps with 50 distances per sample, on standardized features."""
    X = StandardScaler().fit_transform(X)
    return [two_steps(X, y, pair, seed) for seed in range(2 * n_seeds)]


def two_steps(X, y, pair, seed):
    """Continue a fit with single clusters and Ω with an additional pair of clusters."""
    settings = {"d0": Quantile(0.9), "n_partners": 50, "random_state": seed}
    first = name_clusters(EVCLUS(3, n_init=5, **settings).fit(X).credal_partition_, y)
    sets = first.focal_sets.with_sets([pair])
    start = np.insert(first.masses, sets.index(pair), 0.0, axis=1)
    return name_clusters(EVCLUS(3, focal_sets=sets, init=start, **settings).fit(X).credal_partition_, y)


def confusion_cells(number, y, classes, partitions, tolerance, settings):
    """Return the number of samples of each class with the largest mass on each set."""
    cells = []
    for name, row in zip(classes, published(f"bootclus_table{number:02}"), strict=True):
        for column in list(row)[1:]:
            counts = [has_largest_mass(partition, column)[y == name].sum() for partition in partitions]
            location = f"{PAPER}, Table {number}"
            cells.append(
                cell(location, row["true_class"], as_set(column), int(row[column]), counts, tolerance, settings)
            )
    return cells


def has_largest_mass(partition, column):
    """Return True for samples with the largest mass on a set, which is given as in the tables."""
    members = () if column == "empty" else tuple(partition.cluster_names.index(name) for name in column.split("_"))
    if members not in list(partition.focal_sets):
        return np.zeros(len(partition.masses), dtype=bool)
    return partition.masses.argmax(axis=1) == partition.focal_sets.index(members)


def count_errors(partition, y):
    """Return the number of samples whose set with the largest mass does not contain their class."""
    sets = [partition.focal_sets[position] for position in partition.masses.argmax(axis=1)]
    return sum(
        partition.cluster_names.index(name) not in focal_set for focal_set, name in zip(sets, y, strict=True)
    )


def crisp_table(y, labels):
    """Return counts of classes by clusters, with each cluster in the column of its class."""
    table = confusion_matrix(np.unique(y, return_inverse=True)[1], labels)
    return table[:, linear_sum_assignment(-table)[1]]


def as_set(column):
    return "∅" if column == "empty" else "{" + column.replace("_", ", ") + "}"


def explain_diabetes(entry, n_seeds):
    """Return the counts with EM until convergence, and the location of patients that the paper has in {no, ov}."""
    _, y = load_diabetes()
    early, late = by_bootclus(n_seeds, EARLY_DIABETES), by_bootclus(n_seeds, 1e-6)
    if "misclassified" in entry["row"]:
        return f"With EM until it converges: {np.mean([count_errors(partition, y) for partition in late]):.1f}."
    column = entry["column"].strip("{}").replace(", ", "_")
    name = DIABETES[("chemical", "normal", "overt").index(entry["row"])]

    def count(partitions, column):
        return np.mean([has_largest_mass(partition, column)[y == name].sum() for partition in partitions])

    text = f"With EM until it converges: {count(late, column):.1f}."
    if column == "no_ov":
        text += (
            f" Ours has {count(early, 'ch_ov'):.1f} in {{ch, ov}}, for which the table has no column: {{no, ov}} "
            "may be a misprint of it."
        )
    return text


def cells_in_blood(n_draws):
    """Return results for GvHD: VVV with a number of clusters chosen by BIC, and pairs with many shared cells."""
    X = pd.read_csv(reference.data("gvhd_pos.csv")).to_numpy()
    draws = [X[np.random.default_rng(seed).choice(len(X), 1000, replace=False)] for seed in range(n_draws)]
    searches = [
        ParsimoniousGaussianMixture(range(4, 11), n_init=2, variance_floor=0, random_state=0).fit(draw)
        for draw in draws
    ]
    tables = [
        pd.DataFrame(search.bic_table_, search.covariance_models_, search.component_numbers_)
        for search in searches
    ]
    best = [table.min(axis=1).idxmin() for table in tables]
    location, note = f"{PAPER}, Section 4.2", "over draws of 1000 cells; the draw of the paper was not published"
    chosen = cell(
        location, "GvHD, VVV is chosen", "share of draws", 1, [model == "VVV" for model in best], 0.5, note
    )
    if not chosen["within"]:
        behind = [f"{table.loc['VVV'].min() - table.min(axis=None):.0f}" for table in tables]
        chosen["cause"] = (
            f"In these draws BIC prefers {', '.join(best)}, and VVV is behind by {', '.join(behind)}: which model "
            "wins depends on the draw, and that of the paper was not published."
        )
    numbers = [table.loc["VVV"].idxmin() for table in tables]
    sizes = [neighboring_sets(draw) for draw in draws]
    return [
        chosen,
        cell(location, "GvHD, clusters of VVV by BIC", "mean over draws", 7, numbers, 1, note),
        cell(location, "GvHD, non-empty focal sets with 7 clusters, K = 2", "mean over draws", 12, sizes, 2, note),
    ]


def neighboring_sets(X):
    """Return the number of single clusters, and of pairs that are among the 2 nearest neighbors of each other."""
    family = FocalFamily("neighbor_pairs", n_neighbors=2)
    settings = {"focal_sets": family, "n_bootstrap": 20, "n_partners": 20}
    model = papers.bootclus(7, model="VVV", **settings, random_state=0).fit(X)
    return len(model.focal_sets_) - 1


def coverage_of(number, quick):
    """Return the cells of Table 2, 3 or 4 from a new run."""
    size = (4, 200) if quick else (100, 1000)
    return cells_of_coverage(coverage.coverage(*size, 1 if quick else 2, [number]))


#: Tables and examples with their functions of `quick`.
PARTS = {
    "Table 2": partial(coverage_of, 1),
    "Table 3": partial(coverage_of, 2),
    "Table 4": partial(coverage_of, 3),
    "Example 2": lambda quick: example(),
    "Tables 5 to 8, Iris": lambda quick: irises(1 if quick else 5),
    "Tables 9 to 12, Diabetes": lambda quick: diabetes(1 if quick else 5),
    "GvHD": lambda quick: cells_in_blood(1 if quick else 5),
}
#: Figures without printed numbers, with their functions of `quick`.
PICTURES = {"Examples 3 and 4, Figures 3 to 5": comparisons.example_3}


def cells_without_data():
    reason = "the random draw of the data was never published"
    return [
        without_data(f"{PAPER}, Table 1 and Example 3", reason, len(published("bootclus_table01")) * 6),
        without_data(f"{PAPER}, Section 4.2, which pairs of clusters of GvHD", reason, 5),
        without_data(
            f"{PAPER}, Tables 2 to 4, standard deviations",
            "they say how much the cells waver, and are shown as such, not compared",
            0,
        ),
    ]
