"""Butterfly, fourclass and Protein figures of the sources, drawn from data in the reference folder.

Run it with ``python -m benchmarks.studies.reproduction.figures FOLDER``. It writes PNG files into the folder, and
prints the statement of the source about each figure and the counts in ours. Figures of shipped or generated data
are examples of the documentation (``examples/papers``).

Details that the sources leave open, and our choices:

- Butterfly: d0 is 11, which reproduces the published table.
- Fourclass: the paper samples 100 partners for each sample, which is itself a partner of about 100 others. Our
  ``n_partners`` counts both, so it is 200.
- Protein: focal sets are single clusters and Omega, and d0 is the largest dissimilarity, as in Table 5. The plane
  is that of classical scaling; the slide does not describe its projection.
- Protein by RECM: according to Table 5, delta^2 is the largest dissimilarity. With that value our partition is
  poor, with or without squares. In our figure, delta is the largest dissimilarity, and dissimilarities are
  squared.
"""

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, confusion_matrix

from benchmarks.common import command_line, reference
from evlearn import papers
from evlearn.cluster import EVCLUS, Quantile
from evlearn.plotting import (
    BeliefPeaksDisplay,
    ComparisonDisplay,
    CredalPartitionDisplay,
    DoubtDisplay,
    MassesDisplay,
    ObjectiveDisplay,
    PairsDisplay,
)

# Statements of the sources about each figure. "nnevclus" is the NN-EVCLUS paper, "slides" the lecture of 2017.
SOURCES = {
    "butterfly_partition": "nnevclus, Example 2: lower approximations {7, ..., 11} and {1, ..., 5}, upper ones "
    "with object 6, and object 12 an outlier",
    "butterfly_masses": "nnevclus, Figure 1b: object 6 'has the largest mass assigned to Omega', object 12 'the "
    "largest mass assigned to the empty set'; Table 1 has 0.42 and 0.97",
    "butterfly_shepard": "slides: 'larger degrees of conflict correspond to larger dissimilarities'",
    "fourclass_partition": "nnevclus, Figure 2: convex hulls of the lower and upper approximations of four "
    "clusters, and outliers",
    "fourclass_loss": "nnevclus, Figure 3a: 'converges in a few dozens of iterations'; Example 4: loss 4.75e-3",
    "fourclass_shepard": "nnevclus, Figure 3b: degrees of conflict against transformed dissimilarities",
    "fourclass_delta_bel": "nnevclus, Figure 7: 'The four cluster centers correspond to the four points in the "
    "upper-right corner of the graph'",
    "fourclass_ecm": "slides, 4-class data set by ECM; without further details",
    "protein_partition": "slides: 'Ground truth: 4 classes of globins. Only 2 errors.' nnevclus, Table 6: "
    "ARI 0.989",
    "protein_shepard": "no figure of the sources",
    "protein_masses": "no figure of the sources",
    "protein_doubt": "no figure of the sources",
    "protein_dominance": "nnevclus, Figure 26a, where EVCLUS dominates sECMdd and wECMdd, which are not drawn "
    "here; Table 6: ARI 0.989 for EVCLUS and 0.863 for RECM",
}


class Picture(NamedTuple):
    """A display with its counts."""

    name: str
    display: Any
    counts: str


def load():
    """Return the 3 data sets: name -> (features or dissimilarities, true classes)."""
    butterfly = reference.read_table("butterfly")
    fourclass = reference.read_table("fourclass")
    labels = reference.read_table("protein_labels", dtype=str)
    with np.load(reference.data("protein_D.npz")) as protein:
        dissimilarities = protein["D"]
    return {
        "butterfly": (butterfly, None),
        "fourclass": (fourclass[:, :2], fourclass[:, 2].astype(int)),
        "protein": (dissimilarities, labels[:, 1]),
    }


def draw_all():
    """Yield all pictures; the caller must close the figures."""
    data = load()
    yield from draw_butterfly(data["butterfly"][0])
    yield from draw_fourclass(*data["fourclass"])
    yield from draw_protein(*data["protein"])


def draw_butterfly(X):
    model = fit_butterfly(X)
    partition = model.credal_partition_.rename(sample_names=[str(number) for number in range(1, len(X) + 1)])
    names = np.array(partition.sample_names)
    candidates = partition.to_rough()
    torn, outliers = names[candidates.all(axis=1)], names[~candidates.any(axis=1)]
    display = CredalPartitionDisplay.from_result(partition, X, rule="max_mass")
    display.ax_.set_title("Butterfly by EVCLUS")
    exceptions = f"torn: sample {', '.join(torn)}, outlier: sample {', '.join(outliers)}"
    yield Picture("butterfly_partition", display, f"{kinds(partition)}; {exceptions}")

    display = MassesDisplay.from_result(partition)
    display.ax_.set_title("Butterfly: masses")
    counts = f"m6(Omega) = {partition.masses[5, -1]:.2f}, m12(empty) = {partition.masses[11, 0]:.2f}"
    yield Picture("butterfly_masses", display, counts)

    display = PairsDisplay.from_estimator(model)
    display.axes_[0].set_title("Butterfly: Shepard diagram")
    yield Picture("butterfly_shepard", display, correlation(display))


def draw_fourclass(X, y):
    model = fit_fourclass(X)
    display = CredalPartitionDisplay.from_result(model, X, rule="max_mass", ax=wide_axes())
    display.ax_.set(aspect="equal", title="Fourclass by EVCLUS")
    score = adjusted_rand_score(y, model.labels_)
    yield Picture("fourclass_partition", display, f"{kinds(model.credal_partition_)}; ARI {score:.3f}")

    display = ObjectiveDisplay.from_estimator(model)
    display.ax_.set_title("Fourclass: loss")
    yield Picture("fourclass_loss", display, f"{model.n_iter_} iterations, loss {model.objective_:.2e}")

    display = PairsDisplay.from_estimator(model)
    display.axes_[0].set_title("Fourclass: Shepard diagram")
    yield Picture("fourclass_shepard", display, correlation(display))

    display = BeliefPeaksDisplay.from_data(X, n_neighbors=50, q=0.9)
    display.ax_.set_title("Fourclass: δ-Bel")
    classes = ", ".join(map(str, np.sort(y[display.peaks])))
    yield Picture("fourclass_delta_bel", display, f"{len(display.peaks)} peaks, in classes {classes}")

    model = papers.ecm(4, alpha=2, delta=20**0.5, random_state=0).fit(X)
    display = CredalPartitionDisplay.from_result(model, X, rule="max_mass", ax=wide_axes())
    display.ax_.set(aspect="equal", title="Fourclass by ECM")
    score = adjusted_rand_score(y, model.labels_)
    yield Picture("fourclass_ecm", display, f"{kinds(model.credal_partition_)}; ARI {score:.3f}")


def draw_protein(D, y):
    model = fit_protein(D)
    partition = name_clusters(model.credal_partition_, y)
    display = CredalPartitionDisplay.from_result(partition, classical_scaling(D), rule="max_mass", ax=wide_axes())
    display.ax_.set(
        title="Protein by EVCLUS", xlabel="classical scaling, axis 1", ylabel="classical scaling, axis 2"
    )
    score = f"errors: {n_errors(y, model.labels_)}, ARI {adjusted_rand_score(y, model.labels_):.3f}"
    yield Picture("protein_partition", display, f"{score}; {kinds(partition)}")

    display = PairsDisplay.from_estimator(model)
    display.axes_[0].set_title("Protein: Shepard diagram")
    yield Picture("protein_shepard", display, f"stress {model.objective_:.5f}; {correlation(display)}")

    display = MassesDisplay.from_result(partition)
    display.ax_.set_title("Protein: masses")
    empty, omega = partition.masses[:, 0].mean(), partition.masses[:, -1].mean()
    yield Picture("protein_masses", display, f"average mass of the empty set {empty:.2f}, of Omega {omega:.2f}")

    display = DoubtDisplay.from_result(partition)
    yield Picture("protein_doubt", display, f"nonspecificity {partition.nonspecificity():.3f}")
    yield draw_protein_dominance(D, y, partition)


def draw_protein_dominance(D, y, evclus):
    recm, literal = fit_protein_recm(D, D.max()), fit_protein_recm(D, D.max() ** 0.5, squared_input=True)
    partitions = {
        "EVCLUS": evclus,
        "EVCLUS, labels": evclus.to_hard(),
        "RECM": recm.credal_partition_,
        "RECM, labels": recm.labels_,
    }
    display = ComparisonDisplay.from_partitions(partitions, y)
    display.ax_.set_title("Protein: consistency against nonspecificity")
    indices = zip(display.names, display.consistencies, display.nonspecificities, strict=True)
    counts = "; ".join(
        f"{name}: CI {consistency:.2f}, NS {nonspecificity:.2f}" for name, consistency, nonspecificity in indices
    )
    scores = [adjusted_rand_score(y, model.labels_) for model in (recm, literal)]
    counts += f"; ARI of RECM {scores[0]:.3f}, with the delta of Table 5 {scores[1]:.3f}"
    return Picture("protein_dominance", display, counts)


def fit_butterfly(X):
    return EVCLUS(2, focal_sets="full", d0=11, tol=1e-9, random_state=0).fit(X)


def fit_fourclass(X):
    settings = {
        "focal_sets": "pairs",
        "d0": Quantile(0.9),
        "n_partners": 200,
        "loss": "mse",
        "init": "random",
        "n_init": 5,
    }
    return EVCLUS(4, **settings, random_state=0).fit(X)


def fit_protein(D):
    # One sample is nearly as plausible in 2 clusters; only a tight fit with several starts finds the correct one.
    settings = {"metric": "precomputed", "d0": D.max(), "n_init": 5, "tol": 1e-9, "max_iter": 20_000}
    return EVCLUS(4, **settings, random_state=0).fit(D)


def fit_protein_recm(D, delta, *, squared_input=False):
    settings = {"metric": "precomputed", "squared_input": squared_input, "n_init": 5, "random_state": 0}
    with warnings.catch_warnings():  # the dissimilarities are known to be nonmetric
        warnings.simplefilter("ignore")
        return papers.recm(4, focal_sets="simple", delta=delta, **settings).fit(D)


def classical_scaling(D):
    """Return coordinates in the plane of classical scaling (Torgerson)."""
    squares = D**2
    products = -0.5 * (squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean())
    values, vectors = np.linalg.eigh(products)
    return vectors[:, :-3:-1] * np.sqrt(values[:-3:-1])


def name_clusters(partition, y):
    """Return the partition with clusters named after the classes that match best."""
    classes, codes = np.unique(y, return_inverse=True)
    order = linear_sum_assignment(-confusion_matrix(codes, partition.to_hard()))[1]
    return partition.permute_clusters(order).rename(cluster_names=[str(name) for name in classes])


def n_errors(y, labels):
    """Return the number of errors after an optimal matching of clusters and classes."""
    table = confusion_matrix(np.unique(y, return_inverse=True)[1], labels)
    return int(table.sum() - table[linear_sum_assignment(-table)].sum())


def kinds(partition):
    """Return the numbers of sure and torn samples and outliers as text."""
    lower, sizes = partition.to_rough(kind="lower"), partition.to_rough().sum(axis=1)
    cluster_counts = ", ".join(map(str, lower.sum(axis=0)))
    n_torn, n_outliers = (sizes > 1).sum(), (sizes == 0).sum()
    return f"{lower.sum()} in lower approximations ({cluster_counts}), torn: {n_torn}, outliers: {n_outliers}"


def correlation(display):
    (panel,) = display.panels
    return f"correlation {np.corrcoef(panel.x, panel.y)[0, 1]:.3f} over {len(panel.x):,} pairs"


def wide_axes():
    """Return axes with space for a legend."""
    return plt.subplots(figsize=(8, 5.4), layout="compressed")[1]


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder for the PNG files")
    arguments = parser.parse_args()
    plt.switch_backend("Agg")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, display, counts in draw_all():
        display.figure_.savefig(arguments.folder / f"{name}.png", dpi=120)
        plt.close(display.figure_)
        print(f"{name}.png\n  source: {SOURCES[name]}\n  ours:   {counts}")


if __name__ == "__main__":
    main()
