"""Data and methods of Section 4.1 of the NN-EVCLUS paper (Denoeux 2021), if available.

For details that the paper leaves open, see `nnevclus.py`.
"""

from typing import NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from benchmarks.common import reference
from benchmarks.common.cells import published
from evlearn import papers
from evlearn.cluster import FocalFamily, Quantile
from evlearn.cluster.neighbors.belief_peaks import belief_peaks
from evlearn.neural import Solver

STARTS, SEEDS = 5, 5
NEIGHBORS = 50
LARGE = 1000  # number of samples from which fits take seconds
FEW_SAMPLES = ("Wine", "Heart", "Glass", "Segment")
#: Functions of `evlearn.papers` by method.
KINDS = {
    "EVCLUS": "evclus",
    "NN-EV": "nn_evclus",
    "ECM": "ecm",
    "CCM": "ccm",
    "sECMdd": "ecmdd",
    "wECMdd": "ecmdd",
    "BPEC": "bpec",
    "Bootclus": "bootclus",
}
#: Functions and settings of the methods on the Protein data: Table 5. "max" is the largest dissimilarity.
PROTEIN = {
    "EVCLUS": ("evclus", {"d0": Quantile(1.0), "init": "random", "tol": 1e-6}),
    "NN-EVCLUS": (
        "nn_evclus",
        {"focal_sets": "simple", "n_components": 3, "network": (20,), "d0": Quantile(1.0)},
    ),
    "RECM": ("recm", {"focal_sets": "simple", "delta": "max"}),
    "sECMdd": ("ecmdd", {"medoids": "single", "focal_sets": "pairs", "delta": "max", "init": "random"}),
    "wECMdd": ("ecmdd", {"medoids": "weighted", "focal_sets": "pairs", "delta": "max", "init": "random"}),
}
SCALES = {"raw": None, "standardized": StandardScaler(), "from 0 to 1": MinMaxScaler()}


class Data(NamedTuple):
    """Features and classes."""

    X: np.ndarray
    y: np.ndarray

    @property
    def n_clusters(self):
        """Number of classes."""
        return len(np.unique(self.y))

    def scaled(self, scale):
        """Return the features in one of `SCALES`."""
        return self.X if SCALES[scale] is None else SCALES[scale].fit_transform(self.X)


def load(name):
    """Return a data set of Table 2, prepared as in the paper."""
    if name == "Ecoli":
        return ecoli()
    if name.startswith("Glass"):
        X, y = read_data("glass_uci")
        return Data(X if name == "Glass without Id" else np.column_stack([np.arange(len(X)), X]), y)
    if name.startswith("Segment"):
        X, y = read_data("segment")
        return Data(np.delete(X, [0, 1, 2] if name == "Segment without places" else [2, 3, 4], axis=1), y)
    return Data(*read_data({"Heart": "heart_statlog", "S2": "s2_raw"}.get(name, name.lower())))


def read_data(file):
    with reference.data(f"{file}.csv").open() as lines:
        last = next(lines).strip().split(",").index("y")
        table = np.loadtxt(lines, delimiter=",", usecols=range(last + 1))
    return table[:, :last], table[:, last].astype(int)


def ecoli():
    """Return the classes cp, im with imU, and pp, identified by size, with the 5 non-binary features."""
    X, y = read_data("ecoli")
    by_size = {size: label for label, size in zip(*np.unique(y, return_counts=True), strict=True)}
    cp, im, pp, imu = (by_size[size] for size in (143, 77, 52, 35))
    mask = np.isin(y, [cp, im, pp, imu])
    return Data(X[mask][:, [0, 1, 4, 5, 6]], np.where(y == imu, im, y)[mask])


class Runs(NamedTuple):
    """Adjusted Rand indices of the best of each 5 runs and of all runs, and objectives of all runs."""

    best: list
    singles: list
    objectives: list


def protocol(name, method, n_batches=None, n_starts=None):
    """Return the runs of a cell of Table 3, and its settings as text."""
    data = load(name)
    scale, changes = preparation(name, method)
    defaults = effort(method, len(data.X))
    n_batches, n_starts = n_batches or defaults[0], n_starts or defaults[1]
    runs = repeat(method, data, scale, n_batches, n_starts, **changes)
    description = f"{scale} attributes, {words(settings(method, data.n_clusters) | changes)}"
    if method == "Bootclus":
        return runs, f"{description}; mean over {len(runs.best)} of {n_batches} seeds{failures(runs, n_batches)}"
    return runs, f"{description}; best of {n_starts}" if random_start(method) else description


def preparation(name, method):
    """Return the scale of the features, and parameters that differ from those of other data."""
    if name == "Iris" and method in ("EVCLUS", "NN-EV", "NN-EV-bp"):
        return "raw", {"d0": Quantile(0.6)}
    if method == "Bootclus":
        return "raw", {"n_bootstrap": 30} if name in FEW_SAMPLES else {}
    return "standardized", {}


def code(name, method, is_timed=False):
    """Return the code of a cell of Table 3, or of Table 4 if `is_timed`."""
    method = method.replace("NN-EVCLUS", "NN-EV")
    (row,) = (row for row in published("nnevclus_table02") if row["dataset"] == name)
    n_clusters, n_samples = int(row["c"]), int(row["n"])
    scale, changes = preparation(name, method)
    changes = changes | (timed_changes(method, n_samples) if is_timed else {})
    text = words(settings(method, n_clusters) | changes)
    X = "X" if scale == "raw" else "Z"
    lines, fit_arguments = [], X
    if method.endswith("-bp"):
        lines = [f"peaks = belief_peaks({X}, n_neighbors={NEIGHBORS}, q=0.9).peaks(n_peaks={n_clusters})"]
        if method == "NN-EV-bp":
            lines.append(f"labels = np.full(len({X}), -1)")
            lines.append(f"labels[peaks] = np.arange({n_clusters})")
            fit_arguments = f"{X}, labels=labels"
        else:
            text += f", init={X}[peaks]"
    arguments = ", ".join(part for part in (str(n_clusters), text, "random_state=seed") if part)
    kind = KINDS[method.removesuffix("-bp")]
    return "\n".join([*lines, f"papers.{kind}({arguments}).fit({fit_arguments})"])


def timed_changes(method, n_samples):
    """Return the settings of Table 4 that differ from those of Table 3."""
    return {
        "EVCLUS": {"n_partners": 1000},  # 500 in the paper, which counts one direction only
        "NN-EV": {"network": (30,), "solver": Solver(batch_size=n_samples // 30, learning_rate=0.001)},
    }.get(method, {})


def effort(method, n_samples):
    """Return the number of batches, and of starts per batch; there are fewer for slow fits."""
    if method == "Bootclus":  # the spread over seeds, which may lead to different maxima of the likelihood
        return SEEDS, 1
    if n_samples <= LARGE:
        return (3 if method.startswith("NN") else 5), STARTS
    return (1 if method.startswith("NN") else 3), (2 if method == "NN-EV-bp" else STARTS)


def repeat(method, data, scale, n_batches, n_starts=STARTS, **changes):
    """Return fits with several seeds; deterministic methods are fitted once."""
    X = data.scaled(scale)
    if not random_start(method):
        n_batches = n_starts = 1
    best, singles, objectives = [], [], []
    for batch in range(n_batches):
        results = []
        for start in range(n_starts):
            try:
                model = fit(method, X, data.n_clusters, 100 * batch + start, **changes)
            except ValueError:
                if method != "Bootclus":
                    raise
                continue  # a covariance matrix is singular in all resamples
            results.append((getattr(model, "objective_", 0.0), adjusted_rand_score(data.y, model.labels_)))
        if results:
            best.append(min(results)[1])
        singles += [ari for _, ari in results]
        objectives += [objective for objective, _ in results]
    return Runs(best, singles, objectives)


def failures(runs, n_batches):
    """Return the reason of missing runs as text."""
    return "" if len(runs.best) == n_batches else "; with the others a covariance matrix is singular"


def random_start(method):
    return method not in ("ECM-bp", "CCM-bp", "BPEC")


def settings(method, n_clusters):
    """Return the parameters of a method: Section 4.1 of the paper."""
    two_steps = "pairs" if n_clusters <= 3 else "neighbor_pairs"
    pairs = "pairs" if n_clusters < 5 else "simple"
    quantile = 0.9 if n_clusters < 5 else 0.5 if n_clusters < 10 else 0.2 if n_clusters < 20 else 0.1
    evclus = {"focal_sets": pairs, "d0": Quantile(quantile), "init": "random"}
    ecm = {"focal_sets": FocalFamily(two_steps, include_omega=False), "delta": 5}
    medoids = {"metric": "sqeuclidean", "focal_sets": "simple", "delta": 5, "init": "random"}
    return {
        "EVCLUS": evclus,
        "NN-EV": {},
        "NN-EV-bp": {"label_weight": 0.5},
        "ECM": {**ecm, "init": "random"},
        "ECM-bp": ecm,
        "CCM": {"delta": 5, "init": "random"},
        "CCM-bp": {"delta": 5},
        "sECMdd": {"medoids": "single", **medoids},
        "wECMdd": {"medoids": "weighted", **medoids},
        "BPEC": {**ecm, "n_neighbors": NEIGHBORS, "metric": "adaptive"},
        "Bootclus": {"n_bootstrap": 500},
    }[method]


def fit(method, X, n_clusters, seed, **changes):
    """Fit a method of Table 3."""
    kind = getattr(papers, KINDS[method.removesuffix("-bp")])
    model = kind(n_clusters, **(settings(method, n_clusters) | changes), random_state=seed)
    if not method.endswith("-bp"):
        return model.fit(X)
    peaks = belief_peaks(X, n_neighbors=NEIGHBORS, q=0.9).peaks(n_peaks=n_clusters)
    if kind is not papers.nn_evclus:
        return model.set_params(init=X[peaks]).fit(X)
    labels = np.full(len(X), -1)
    labels[peaks] = np.arange(n_clusters)
    return model.fit(X, labels=labels)


def fit_protein(method, D, seed, **changes):
    """Fit a method of Table 6 to dissimilarities."""
    name, options = PROTEIN[method]
    options = {**options, **changes}
    if options.get("delta") == "max":  # RECM has delta, ECMdd its square in units of the dissimilarities
        options["delta"] = D.max() if method == "RECM" else D.max() ** 0.5
    return getattr(papers, name)(4, metric="precomputed", random_state=seed, **options).fit(D)


def words(parameters):
    """Return the parameters as code."""
    return ", ".join(f"{name}={value!r}" for name, value in parameters.items())
