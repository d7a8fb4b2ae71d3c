"""Coverage of the sets of `evlearn.conformal.ConformalClusterer`.

``python -m benchmarks.studies.answers.coverage [replication] [truth] [validity] [errors] [--write] [--n-jobs 2]``

*replication*: 40 % of a data set are clustered, another 40 % are clustered as an independent study, and the
coverage of the labels of that study is measured on the remaining 20 %. *truth*: the same for the true components
of mixtures, compared with sets of posterior probabilities of the same mixture and of BootClus. *validity*:
frequency of small p-values of ordinary samples and of planted outliers. *errors*: labeled data, errors among sure
and torn samples, compared with the same number of samples that other methods select. Each entry is written to
``benchmarks/results/answers_coverage.json`` when it is complete. It takes more than an hour of CPU time.
"""

import time
import warnings

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering
from sklearn.mixture import GaussianMixture

from benchmarks.common import command_line, record
from benchmarks.studies.answers import data as answers_data
from benchmarks.studies.answers.methods import gaussian_mixture, hdbscan, k_means
from evlearn.cluster import ECM, EVCLUS, BootClus
from evlearn.cluster.base import with_seed
from evlearn.conformal import ConformalClusterer
from evlearn.conformal.replication import best_clusters, fit_adapter, match_columns
from evlearn.metrics.risk_coverage import majority_classes

NAME = "answers_coverage"
LEVELS = (0.8, 0.9, 0.95)
SIZES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
MAX_SAMPLES, REPLICATIONS = 800, 5  # samples of a labeled data set, and replications of each fit
#: The same for data that are drawn repeatedly.
MAX_SAMPLES_DRAWN, REPLICATIONS_DRAWN, DRAWS = 400, 2, 200
#: Slow fits (EVCLUS with more clusters than this) have fewer draws.
FEW_CLUSTERS, DRAWS_OF_SLOW = 5, 50
#: Data sets used to choose the settings come first.
DATA = ("wine", "digits 20", "s2", "wdbc")
DATA += ("iris", "seeds", "fourclass", "aggregation", "segment", "ecoli", "r15", "vehicles_evclass", "letter_IJL")
LABELED = (*DATA, "s1", "a1", "d31", "flame", "jain", "glass", "ionosphere_evclass", "diabetes_mclust", "yeast")
CLUSTERERS = {
    "k-means": lambda c: KMeans(c, n_init=3),
    "Gaussian mixture": lambda c: GaussianMixture(c, n_init=2, covariance_type="diag", reg_covar=1e-3),
    "spectral": lambda c: SpectralClustering(c, affinity="nearest_neighbors", n_init=3),
    "hdbscan": lambda c: HDBSCAN(min_cluster_size=10, copy=True),
    "ECM": lambda c: ECM(c, n_init=3),
    "EVCLUS": lambda c: EVCLUS(c, n_init=1),
}
#: Mixtures: distance of centers, number of samples, number of features, degrees of freedom, ratio of spreads,
#: number of fitted clusters, and curvature of the components.
MIXTURES = {
    "4 sd apart": (4, 400, 2, None, 1, 3, 0),
    "3 sd apart": (3, 400, 2, None, 1, 3, 0),
    "2.5 sd apart": (2.5, 400, 2, None, 1, 3, 0),
    "2 sd apart": (2, 400, 2, None, 1, 3, 0),
    "3 sd apart, 1000 samples": (3, 1000, 2, None, 1, 3, 0),
    "3 sd apart, 120 samples": (3, 120, 2, None, 1, 3, 0),
    "3 sd apart, 10 features": (3, 400, 10, None, 1, 3, 0),
    "unequal spreads": (4, 400, 2, None, 2, 3, 0),
    "Student, 10 degrees": (4, 400, 2, 10, 1, 3, 0),
    "Student, 4 degrees": (4, 400, 2, 4, 1, 3, 0),
    "4 clusters for 3": (3, 400, 2, None, 1, 4, 0),
    "2 clusters for 3": (3, 400, 2, None, 1, 2, 0),
    "bent": (4, 400, 2, None, 1, 3, 0.3),
    "very bent": (4, 400, 2, None, 1, 3, 1),
}


def replication(names=DATA, clusterers=CLUSTERERS, n_draws=DRAWS, n_jobs=2):
    """Yield the coverage of labels of another study, by data set and clusterer."""
    pairs = [(name, kind) for kind in clusterers for name in names]
    jobs = (delayed(replications_of)(name, kind, clusterers[kind], n_draws) for name, kind in pairs)
    entries = Parallel(n_jobs=n_jobs, return_as="generator")(jobs)
    for (name, kind), entry in zip(pairs, entries, strict=True):
        if entry is not None:
            yield f"{name}, {kind}", entry


def replications_of(name, kind, make, n_draws):
    """Return means over draws, with the standard error of the coverage of p-values."""
    problem, start = answers_data.load("design", name), time.process_time()
    if kind == "EVCLUS" and problem.n_clusters > FEW_CLUSTERS:
        n_draws = min(n_draws, DRAWS_OF_SLOW)
    draws = [one_replication(problem, make, seed) for seed in range(n_draws)]
    draws = [draw for draw in draws if draw is not None]
    if len(draws) < 2:
        return None
    entry = {key: float(np.mean([draw[key] for draw in draws])) for key in draws[0]}
    for level in LEVELS:
        exact = [draw[f"exact {level}"] for draw in draws]
        entry[f"standard error {level}"] = float(np.std(exact, ddof=1) / len(draws) ** 0.5)
    return entry | {"draws": len(draws), "cpu": time.process_time() - start}


def one_replication(problem, make, seed):
    """Return coverage of p-values and sets, sizes of sets, and frequencies of small plausibilities of a draw."""
    rows = np.random.default_rng(seed).permutation(len(problem.X))[:MAX_SAMPLES_DRAWN]
    X, X_other, fresh = np.split(problem.X[rows], [2 * len(rows) // 5, 4 * len(rows) // 5])
    estimator = make(problem.n_clusters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = ConformalClusterer(estimator, n_splits=REPLICATIONS_DRAWN, random_state=seed).fit(X)
        except ValueError:  # HDBSCAN may return only noise
            return None
        labels = labels_of_another(model, estimator, X, X_other, fresh, seed)
    is_labeled = labels >= 0
    if not is_labeled.any():
        return None
    return covered(model, fresh[is_labeled], labels[is_labeled])


def labels_of_another(model, estimator, X, X_other, fresh, seed):
    """Return the labels from a study of other samples, matched to the clusters of the model; -1 for noise."""
    random = np.random.RandomState(seed)
    adapter = fit_adapter(with_seed(clone(estimator), random), X_other, model.n_neighbors)
    samples = np.vstack([X, fresh])
    labels = np.append(model.predict(X), np.zeros(len(fresh), dtype=int))
    support = match_columns(adapter.support(samples), labels, model.n_clusters_, np.arange(len(X)))[len(X) :]
    if not adapter.is_soft:
        return best_clusters(support)
    sums = support.cumsum(axis=1)
    return np.minimum(
        (random.uniform(size=(len(support), 1)) * sums[:, -1:] >= sums).sum(axis=1), support.shape[1] - 1
    )


def covered(model, X, labels):
    """Return the shares of labels that are covered; a label without a counterpart is not."""
    unmatched = np.zeros((len(X), 1))
    p_values = np.hstack([model.predict_p_values(X), unmatched])[np.arange(len(X)), labels]
    plausible = np.hstack([model.predict_mass(X).to_possibilistic(), unmatched])[np.arange(len(X)), labels]
    result = {}
    for level in LEVELS:
        sets = model.predict_set(X, level=level)
        is_covered = np.hstack([sets, unmatched > 0])[np.arange(len(X)), labels]
        result[f"exact {level}"] = (p_values > 1 - level).mean()
        result[f"sets {level}"], result[f"size {level}"] = is_covered.mean(), sets.sum(axis=1).mean()
    return result | {f"plausible {size}": (plausible <= size).mean() for size in SIZES}


def truth(kinds=MIXTURES, n_draws=20, n_jobs=2):
    """Yield the coverage at 0.9 of the components that samples come from, and sizes of sets."""
    for name, kind in kinds.items():
        draws = Parallel(n_jobs=n_jobs)(delayed(one_mixture)(*kind, seed) for seed in range(n_draws))
        entry = {key: float(np.mean([draw[key] for draw in draws])) for key in draws[0]}
        entry["standard error"] = float(np.std([draw["drawn covers"] for draw in draws]) / n_draws**0.5)
        yield name, entry


def mixture_samples(random, n, distance, d, freedom, ratio, bend=0.0):
    """Return samples of 3 components at the corners of a triangle, and their components.

    The first component may be wider. Bent components are parabolas: the second feature decreases with the square
    of the first.
    """
    y = random.integers(3, size=n)
    centers = np.zeros((3, d))
    angles = 2 * np.pi * np.arange(3) / 3
    centers[:, :2] = distance / np.sqrt(3) * np.column_stack([np.cos(angles), np.sin(angles)])
    noise = random.normal(size=(n, d)) * np.where(y == 0, ratio, 1)[:, None]
    if freedom:
        noise /= np.sqrt(random.chisquare(freedom, size=(n, 1)) / freedom)
    noise[:, 1] -= bend * (noise[:, 0] ** 2 - 1)
    return centers[y] + noise, y


def one_mixture(distance, n, d, freedom, ratio, c, bend, seed):
    random = np.random.default_rng(seed)
    X, _ = mixture_samples(random, n, distance, d, freedom, ratio, bend)
    fresh, y = mixture_samples(random, 2000, distance, d, freedom, ratio, bend)
    mixture = GaussianMixture(c, n_init=2, covariance_type="full" if d < 5 else "diag", reg_covar=1e-3)
    result = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for labels in ("drawn", "hard"):
            model = ConformalClusterer(mixture, labels=labels, n_splits=REPLICATIONS, random_state=seed).fit(X)
            sets = model.predict_set(fresh)
            result |= coverage_and_size(labels, sets, matched(model.predict(fresh), y, c))
        bootstrapped = BootClus(c, n_bootstrap=50, random_state=seed).fit(X).predict_mass(fresh)
    result |= coverage_and_size(
        "BootClus", bootstrapped.to_rough("interval_dominance"), matched(bootstrapped.to_hard(), y, c)
    )
    probabilities = model.estimator_.predict_proba(fresh)
    return result | coverage_and_size(
        "posterior", smallest_sets(probabilities, 0.9), matched(model.predict(fresh), y, c)
    )


def matched(labels, y, c):
    """Return the cluster matched to the component of each sample; c for components without a cluster."""
    table = np.zeros((c, 3))
    np.add.at(table, (labels, y), 1)
    clusters, components = linear_sum_assignment(table, maximize=True)
    names = np.full(3, c)
    names[components] = clusters
    return names[y]


def coverage_and_size(name, sets, labels):
    with_unmatched = np.hstack([sets, np.zeros((len(sets), 1), dtype=bool)])
    return {
        f"{name} covers": with_unmatched[np.arange(len(sets)), labels].mean(),
        f"{name} size": sets.sum(axis=1).mean(),
    }


def smallest_sets(probabilities, level):
    """Return the smallest sets of the most probable clusters with a total probability of `level`."""
    order = np.argsort(-probabilities, axis=1)
    before = np.take_along_axis(probabilities, order, axis=1).cumsum(axis=1) - np.take_along_axis(
        probabilities, order, axis=1
    )
    sets = np.zeros(probabilities.shape, dtype=bool)
    np.put_along_axis(sets, order, before < level, axis=1)
    return sets


def validity(n_draws=40, n=400, n_jobs=2):
    """Yield the frequency of small p-values of outliers, for ordinary and for planted samples."""
    for d, ratio in ((2, 1), (2, 5), (5, 1), (10, 1), (20, 1)):
        draws = Parallel(n_jobs=n_jobs)(delayed(one_planting)(d, ratio, n, seed) for seed in range(n_draws))
        name = f"{d} features" if ratio == 1 else f"{d} features, one cluster wider"
        yield name, {key: float(np.mean([draw[key] for draw in draws])) for key in draws[0]}


def one_planting(d, ratio, n, seed):
    """Draw 3 components, the first of which may be wider, and plant outliers around the last."""
    random = np.random.default_rng(seed)
    distance = 6 * ratio
    X, _ = mixture_samples(random, n, distance, d, None, ratio)
    fresh, y = mixture_samples(random, 2000, distance, d, None, ratio)
    model = ConformalClusterer(KMeans(3, n_init=2), n_splits=1, random_state=seed).fit(X)
    p_values = model.predict_outlier_p_values(fresh)
    result = {f"ordinary {size}": (p_values <= size).mean() for size in SIZES}
    middle = fresh[y == 2].mean(axis=0)
    directions = random.normal(size=(500, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    reach = np.quantile(np.linalg.norm(fresh[y == 2] - middle, axis=1), 0.99)
    for factor in (1, 1.25, 1.5):
        # Multiples of the distance that covers 99 % of the samples of the cluster.
        planted = middle + factor * reach * directions
        result[f"found at {factor}"] = (model.predict_outlier_p_values(planted) <= 0.01).mean()
    return result


def errors(names=LABELED, n_jobs=2):
    """Yield errors among sure and torn samples, and among equally many samples that other methods retain."""
    jobs = (delayed(errors_of_set)(name) for name in names)
    for entries in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
        yield from entries.items()


def errors_of_set(name):
    """Return the errors around the same k-means and mixture as those of the other methods, with the same seed."""
    problem = answers_data.load("design", name)
    c, rows = problem.n_clusters, np.random.default_rng(0).permutation(len(problem.X))[:MAX_SAMPLES]
    X, y = problem.X[rows], problem.y[rows]
    estimators = {
        "k-means": KMeans(c, n_init=10, random_state=0),
        "Gaussian mixture": GaussianMixture(c, n_init=5, random_state=0),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peers = {"k-means ratio": k_means, "posterior": gaussian_mixture, "hdbscan": hdbscan}
        answers = {peer: method(X, c, 0) for peer, method in peers.items()}
        models = {
            kind: ConformalClusterer(estimator, n_splits=REPLICATIONS, random_state=0).fit(X)
            for kind, estimator in estimators.items()
        }
    return {f"{name}, {kind}": verdict_errors(model, y, answers) for kind, model in models.items()}


def verdict_errors(model, y, answers):
    sizes = model.doubt_.sets.sum(axis=1)
    wrong = majority_classes(y, model.labels_) != y
    share = float((sizes == 1).mean())
    result = {"sure": share, "torn": float((sizes > 1).mean()), "outlier": float((sizes == 0).mean())}
    for kind, chosen in (("sure", sizes == 1), ("torn", sizes > 1)):
        result[f"{kind} wrong"] = float(wrong[chosen].mean()) if chosen.any() else None
    for peer, answer in answers.items():
        selected = np.argsort(answer.doubt, kind="stable")[: max(1, round(share * len(y)))]
        result[f"{peer} wrong"] = float((majority_classes(y, answer.labels) != y)[selected].mean())
    return result


PARTS = {"replication": replication, "truth": truth, "validity": validity, "errors": errors}


def main():
    """Run parts, and write each entry when it is complete; entries that are not selected stay on record."""
    reader = command_line.parser(__doc__)
    reader.add_argument("parts", nargs="*", choices=[[], *PARTS], help="parts to run (default: all)")
    reader.add_argument("--write", action="store_true", help=f"write to results/{NAME}.json")
    reader.add_argument("--n-jobs", type=int, default=2, help="number of processes")
    reader.add_argument("--clusterers", nargs="*", choices=list(CLUSTERERS), help="clusterers of the replications")
    arguments = reader.parse_args()
    former = record.load_if_recorded(NAME) if arguments.parts or arguments.clusterers else {}
    results = {part: former[part] for part in PARTS if part in former}
    for part in arguments.parts or PARTS:
        options = {"n_jobs": arguments.n_jobs}
        if part == "replication" and arguments.clusterers:
            options["clusterers"] = {kind: CLUSTERERS[kind] for kind in arguments.clusterers}
        for name, entry in PARTS[part](**options):
            command_line.show(part, {name: entry})
            results.setdefault(part, {})[name] = entry
            if arguments.write:
                record.write(NAME, results, former=former, complete=False)
    if arguments.write:
        record.write(NAME, results, former=former)


if __name__ == "__main__":
    main()
