"""Figures that compare methods or show random data; their numbers are not printed in the papers.

- k-CEVCLUS, Figures 3 and 4: k-CEVCLUS and CECM by the number of constraints. CEVCLUS by gradient descent is not
  implemented.
- NN-EVCLUS, Figures 23 to 26: consistency and nonspecificity of the methods of Tables 3 and 6, best of 5.
  Partitions are normalized (no mass on the empty set). The paper does not specify this, but its statement that
  EVCLUS dominates sECMdd and wECMdd on Protein holds only for normalized partitions, which was known before the
  choice.
- Bootclus, Example 3: its data are a random draw that was not published. Ours is another draw of 30 samples of the
  same mixture, and pairs of different probability are chosen. Example 4 continues with the masses of these
  samples.

Each function yields pictures. ``python -m benchmarks.studies.reproduction kcevclus --figure 4`` prints their
numbers, and also draws them with ``--folder FOLDER``.
"""

import time

import numpy as np
from matplotlib import pyplot as plt
from scipy.spatial.distance import cdist, pdist
from scipy.special import softmax
from sklearn.metrics import adjusted_rand_score

from benchmarks.common.cells import published
from benchmarks.studies.reproduction import figures, kcevclus, nnevclus_methods
from benchmarks.studies.reproduction.figures import Picture
from evlearn import papers
from evlearn.cluster import Quantile
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import same_cluster_probability
from evlearn.metrics import consistency_index, nonspecificity_index
from evlearn.plotting import ComparisonDisplay, CredalPartitionDisplay, PairsDisplay

#: Data sets of the figures of the k-CEVCLUS paper, and of the NN-EVCLUS paper as far as available.
CONSTRAINED = {3: ("Banana_200", "Glass"), 4: ("Iris", "Ecoli")}
FEATURES = {
    23: ("Wine", "Iris", "Ecoli", "Heart", "Seeds"),
    24: ("Glass", "Segment", "S2", "S4", "D31"),
}
SLOW = ("Segment", "S2", "S4", "D31")
N_CONSTRAINTS = (0, 20, 50, 100, 150, 200)
RUNS = 20


# k-CEVCLUS, Figures 3 and 4


def constrained(number, quick):
    """Yield a picture for each data set: medians and quartiles of k-CEVCLUS and CECM."""
    data = kcevclus.load_small()
    for name in CONSTRAINED[number]:
        if name not in data:
            print(f"left out: {name}, without data")
            continue
        counts = N_CONSTRAINTS[::5] if quick else N_CONSTRAINTS
        points = {
            method: [run_constrained(method, name, *data[name], count, 3 if quick else RUNS) for count in counts]
            for method in ("k-CEVCLUS", "CECM")
        }
        yield Picture(
            f"kcevclus_{number}_{name.lower()}", draw_curves(name, counts, points), in_words(counts, points)
        )


def run_constrained(method, name, X, y, n_constraints, n_runs):
    """Return the quartiles of the ARI, CPU seconds and nonspecificity over runs, an array of shape (3, 3)."""
    runs = []
    for seed in range(n_runs):
        constraints = PairwiseConstraints.sample(y, n_constraints, random_state=seed)
        start = time.process_time()
        model = model_of(method, name, X, y, seed).fit(X, constraints=constraints)
        seconds = time.process_time() - start
        nonspecificity = model.credal_partition_.nonspecificity()
        runs.append((adjusted_rand_score(y, model.labels_), seconds, nonspecificity))
    return np.quantile(runs, [0.25, 0.5, 0.75], axis=0)


def model_of(method, name, X, y, seed):
    """Return a method with the settings of Section 4.3."""
    n_clusters = len(np.unique(y))
    if method == "CECM":
        return papers.cecm(n_clusters, focal_sets="simple", delta=pdist(X).max(), random_state=seed)
    d0 = Quantile(kcevclus.QUANTILES[name])
    return papers.k_cevclus(n_clusters, d0=d0, n_partners="all", random_state=seed)


def draw_curves(name, counts, points):
    """Return a display of curves with quartiles; its attribute `figure_` is the figure."""
    figure, panels = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
    for position, (panel, quantity) in enumerate(
        zip(panels, ("ARI", "CPU seconds", "nonspecificity"), strict=True)
    ):
        for method, quartiles in points.items():
            low, middle, high = np.array(quartiles)[:, :, position].T
            panel.errorbar(counts, middle, yerr=[middle - low, high - middle], marker="o", capsize=2, label=method)
        panel.set(xlabel="constraints", ylabel=quantity, ylim=(0, None))
    panels[0].legend(frameon=False)
    figure.suptitle(name)
    return Drawing(figure)


class Drawing:
    """A figure in the form of a display."""

    def __init__(self, figure):
        self.figure_ = figure


def in_words(counts, points):
    """Return the medians as text."""
    return "; ".join(
        f"{method}, {count} constraints: ARI {median[0]:.2f}, {median[1]:.2f} CPU seconds, N* {median[2]:.2f}"
        for method, quartiles in points.items()
        for count, (_, median, _) in zip(counts, quartiles, strict=True)
    )


# NN-EVCLUS, Figures 23 to 26


def of_features(number, quick):
    """Yield a picture for each data set: the methods of Table 3 by consistency and nonspecificity."""
    for name in FEATURES[number]:
        if quick and name in SLOW:
            continue
        try:
            data = nnevclus_methods.load(name)
        except FileNotFoundError as error:
            print(f"left out: {error}")
            continue
        rows = [row for row in published("nnevclus_table03") if row["dataset"] == name and row["ari"]]
        methods = [row["method"] for row in rows if not (quick and row["method"].startswith(("NN", "Boot")))]
        partitions = {method: best_partition(name, method, data) for method in methods}
        yield dominance(f"nnevclus_{number}_{name.lower()}", name, partitions, data.y)


def best_partition(name, method, data):
    """Return the partition with the lowest objective of several runs, or of one if the method is deterministic."""
    scale, changes = nnevclus_methods.preparation(name, method)
    X = data.scaled(scale)
    is_random = nnevclus_methods.random_start(method)
    seeds = range(nnevclus_methods.effort(method, len(X))[1] if is_random else 1)
    return best_of(nnevclus_methods.fit(method, X, data.n_clusters, seed, **changes) for seed in seeds)


def best_of(models):
    """Return the partition of the model with the lowest objective."""
    return min(models, key=lambda model: getattr(model, "objective_", 0.0)).credal_partition_


def of_proteins(quick):
    """Yield Figure 26a: the methods of Table 6 by consistency and nonspecificity."""
    D, y = figures.load()["protein"]
    methods = [name for name in nnevclus_methods.PROTEIN if not (quick and name == "NN-EVCLUS")]
    seeds = range(nnevclus_methods.STARTS)
    partitions = {
        method: best_of(nnevclus_methods.fit_protein(method, D, seed) for seed in seeds) for method in methods
    }
    yield dominance("nnevclus_26_protein", "Protein", partitions, y)


def dominance(name, title, partitions, y):
    """Return a picture of the consistency of partitions with classes against their nonspecificity."""
    partitions = {method: partition.normalize() for method, partition in partitions.items()}
    display = ComparisonDisplay.from_partitions(partitions, y)
    display.ax_.set_title(title)
    lines = [
        f"{method}: CI {consistency_index(partition, y):.3f}, NS {nonspecificity_index(partition):.3f}"
        + (", dominated" if is_dominated else "")
        for (method, partition), is_dominated in zip(partitions.items(), display.dominated_, strict=True)
    ]
    return Picture(name, display, "; ".join(lines))


# Bootclus, Examples 3 and 4


def example_3(quick):
    """Yield the histograms of Figure 4 for 4 pairs, and the masses of Figure 5, of another draw of 30 samples."""
    random, means = np.random.default_rng(0), np.array([(0, 1), (1, 0), (1, 1)])
    X = means[random.integers(3, size=30)] + np.sqrt(0.1) * random.standard_normal((30, 2))
    posterior = softmax(-cdist(X, means, "sqeuclidean") / (2 * 0.1), axis=1)
    truth = same_cluster_probability(posterior)
    model = papers.bootclus(3, model="EII", n_bootstrap=200 if quick else 1000, random_state=0).fit(X)
    pairs = np.column_stack(np.triu_indices(len(X), k=1))
    chosen = pairs[np.argsort(truth[tuple(pairs.T)])[np.linspace(0, len(pairs) - 1, 4).astype(int)]]
    display = PairsDisplay.from_estimator(model, X, pairs=chosen, probabilities=truth[tuple(chosen.T)])
    intervals = model.intervals_
    true = truth[tuple(intervals.pairs.T)]
    covered = np.mean((intervals.lower <= true) & (true <= intervals.upper))
    words = f"the intervals of {covered:.0%} of all pairs contain the true probability; confidence level 90%"
    yield Picture("bootclus_example_3", display, words)
    display = CredalPartitionDisplay.from_result(model, X)
    n_torn = int((model.credal_partition_.to_rough("max_mass").sum(axis=1) > 1).sum())
    yield Picture("bootclus_example_4", display, f"{n_torn} of 30 samples have the largest mass on a pair")
