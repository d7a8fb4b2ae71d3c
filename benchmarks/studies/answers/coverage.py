"""Whether the sets of `evlearn.conformal.ConformalClusterer` cover what they promise, and where they do not.

``python -m benchmarks.studies.answers.coverage [replication] [truth] [validity] [errors] [--write] [--n-jobs 2]``

*replication*: two fifths of a data set are clustered, two fifths are somebody else's study of the same size, and
of the last fifth, which neither has seen, it is counted how often her labels are in our sets. *truth*: the same
for the components of mixtures that are known, beside sets of posterior probabilities of the same mixture and of
BootClus. *validity*: how often p-values of outliers are small, and how many planted outliers are found. *errors*:
labelled data, errors among sure and torn samples, beside equally many that other methods keep. It writes
``benchmarks/results/answers_coverage.json``, an entry as soon as it is there, and takes more than an hour of CPU.
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
from evlearn.conformal.support import best_clusters, fit_speaker, matched_columns
from evlearn.metrics import majority_classes

NAME = "answers_coverage"
LEVELS = (0.8, 0.9, 0.95)
SIZES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
MOST, REPLICATIONS = 800, 5  # rows of a labelled set, and replications of each fit
#: The same where data are drawn again and again.
MOST_DRAWN, REPLICATIONS_DRAWN, DRAWS = 400, 2, 200
#: Of fits that take seconds there are fewer draws: EVCLUS with more clusters than these.
FEW_CLUSTERS, DRAWS_OF_SLOW = 5, 50
#: Sets that the choices were made on come first.
DATA = ("wine", "digits 20", "s2", "wdbc")
DATA += ("iris", "seeds", "fourclass", "aggregation", "segment", "ecoli", "r15", "vehicles_evclass", "letter_IJL")
LABELLED = (*DATA, "s1", "a1", "d31", "flame", "jain", "glass", "ionosphere_evclass", "diabetes_mclust", "yeast")
CLUSTERERS = {
    "k-means": lambda c: KMeans(c, n_init=3),
    "Gaussian mixture": lambda c: GaussianMixture(c, n_init=2, covariance_type="diag", reg_covar=1e-3),
    "spectral": lambda c: SpectralClustering(c, affinity="nearest_neighbors", n_init=3),
    "hdbscan": lambda c: HDBSCAN(min_cluster_size=10, copy=True),
    "ECM": lambda c: ECM(c, n_init=3),
    "EVCLUS": lambda c: EVCLUS(c, n_init=1),
}
#: Mixtures: distance of centres, samples, features, degrees of freedom, ratio of spreads, clusters of the fit, and
#: how much components are bent.
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
    """Coverage of labels of another study, by data set and clusterer."""
    pairs = [(name, kind) for kind in clusterers for name in names]
    jobs = (delayed(replications_of)(name, kind, clusterers[kind], n_draws) for name, kind in pairs)
    entries = Parallel(n_jobs=n_jobs, return_as="generator")(jobs)
    for (name, kind), entry in zip(pairs, entries, strict=True):
        if entry is not None:
            yield f"{name}, {kind}", entry


def replications_of(name, kind, make, n_draws):
    """Means over draws, with the standard error of what p-values cover."""
    problem, start = answers_data.load("design", name), time.process_time()
    if kind == "EVCLUS" and problem.n_clusters > FEW_CLUSTERS:
        n_draws = min(n_draws, DRAWS_OF_SLOW)
    draws = [one_replication(problem, make, seed) for seed in range(n_draws)]
    draws = [one for one in draws if one is not None]
    if len(draws) < 2:
        return None
    entry = {key: float(np.mean([one[key] for one in draws])) for key in draws[0]}
    for level in LEVELS:
        exact = [one[f"exact {level}"] for one in draws]
        entry[f"standard error {level}"] = float(np.std(exact, ddof=1) / len(draws) ** 0.5)
    return entry | {"draws": len(draws), "cpu": time.process_time() - start}


def one_replication(problem, make, seed):
    """One draw: what p-values alone cover, what sets cover, their size, and how often plausibilities are small."""
    rows = np.random.default_rng(seed).permutation(len(problem.X))[:MOST_DRAWN]
    ours, other, fresh = np.split(problem.X[rows], [2 * len(rows) // 5, 4 * len(rows) // 5])
    estimator = make(problem.n_clusters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = ConformalClusterer(estimator, n_replications=REPLICATIONS_DRAWN, random_state=seed).fit(ours)
        except ValueError:  # hdbscan may find nothing but noise
            return None
        labels = labels_of_another(model, estimator, ours, other, fresh, seed)
    known = labels >= 0
    if not known.any():
        return None
    return covered(model, fresh[known], labels[known])


def labels_of_another(model, estimator, ours, other, fresh, seed):
    """The labels of a study of other samples, numbered like ours; -1 for noise."""
    random = np.random.RandomState(seed)
    speaker = fit_speaker(with_seed(clone(estimator), random), other, model.n_neighbors)
    everyone = np.vstack([ours, fresh])
    wanted = np.append(model.predict(ours), np.zeros(len(fresh), dtype=int))
    said = matched_columns(speaker.support(everyone), wanted, model.n_clusters_, np.arange(len(ours)))[len(ours) :]
    if not speaker.is_soft:
        return best_clusters(said)
    sums = said.cumsum(axis=1)
    return np.minimum((random.uniform(size=(len(said), 1)) * sums[:, -1:] >= sums).sum(axis=1), said.shape[1] - 1)


def covered(model, X, labels):
    """Shares of labels that are covered; a label without a counterpart is not."""
    lost = np.zeros((len(X), 1))
    p_values = np.hstack([model.predict_p_values(X), lost])[np.arange(len(X)), labels]
    plausible = np.hstack([model.predict_mass(X).to_possibilistic(), lost])[np.arange(len(X)), labels]
    result = {}
    for level in LEVELS:
        sets = model.predict_set(X, level=level)
        inside = np.hstack([sets, lost > 0])[np.arange(len(X)), labels]
        result[f"exact {level}"] = (p_values > 1 - level).mean()
        result[f"sets {level}"], result[f"size {level}"] = inside.mean(), sets.sum(axis=1).mean()
    return result | {f"plausible {size}": (plausible <= size).mean() for size in SIZES}


def truth(kinds=MIXTURES, n_draws=20, n_jobs=2):
    """Coverage at 0.9 of the components that samples come from, and sizes."""
    for name, kind in kinds.items():
        draws = Parallel(n_jobs=n_jobs)(delayed(one_mixture)(*kind, seed) for seed in range(n_draws))
        entry = {key: float(np.mean([one[key] for one in draws])) for key in draws[0]}
        entry["standard error"] = float(np.std([one["drawn covers"] for one in draws]) / n_draws**0.5)
        yield name, entry


def mixture_samples(random, n, apart, d, freedom, ratio, bend=0.0):
    """Three components at the corners of a triangle, and who is of which.

    The first may be wider. Bent components are parabolas: the second feature falls with the square of the first.
    """
    y = random.integers(3, size=n)
    centres = np.zeros((3, d))
    angles = 2 * np.pi * np.arange(3) / 3
    centres[:, :2] = apart / np.sqrt(3) * np.column_stack([np.cos(angles), np.sin(angles)])
    noise = random.normal(size=(n, d)) * np.where(y == 0, ratio, 1)[:, None]
    if freedom:
        noise /= np.sqrt(random.chisquare(freedom, size=(n, 1)) / freedom)
    noise[:, 1] -= bend * (noise[:, 0] ** 2 - 1)
    return centres[y] + noise, y


def one_mixture(apart, n, d, freedom, ratio, c, bend, seed):
    random = np.random.default_rng(seed)
    X, _ = mixture_samples(random, n, apart, d, freedom, ratio, bend)
    fresh, y = mixture_samples(random, 2000, apart, d, freedom, ratio, bend)
    mixture = GaussianMixture(c, n_init=2, covariance_type="full" if d < 5 else "diag", reg_covar=1e-3)
    result = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for labels in ("drawn", "hard"):
            model = ConformalClusterer(mixture, labels=labels, n_replications=REPLICATIONS, random_state=seed).fit(
                X
            )
            sets = model.predict_set(fresh)
            result |= judged(labels, sets, matched(model.predict(fresh), y, c))
        bootstrapped = BootClus(c, n_bootstrap=50, random_state=seed).fit(X).predict_mass(fresh)
    result |= judged(
        "BootClus", bootstrapped.upper_approximation("interval_dominance"), matched(bootstrapped.to_hard(), y, c)
    )
    probabilities = model.estimator_.predict_proba(fresh)
    return result | judged("posterior", smallest_sets(probabilities, 0.9), matched(model.predict(fresh), y, c))


def matched(labels, y, c):
    """The cluster of the component that each sample comes from; c for components without one."""
    table = np.zeros((c, 3))
    np.add.at(table, (labels, y), 1)
    clusters, components = linear_sum_assignment(table, maximize=True)
    names = np.full(3, c)
    names[components] = clusters
    return names[y]


def judged(name, sets, labels):
    with_lost = np.hstack([sets, np.zeros((len(sets), 1), dtype=bool)])
    return {
        f"{name} covers": with_lost[np.arange(len(sets)), labels].mean(),
        f"{name} size": sets.sum(axis=1).mean(),
    }


def smallest_sets(probabilities, level):
    """The most probable clusters, as few as have a probability of `level` together."""
    order = np.argsort(-probabilities, axis=1)
    before = np.take_along_axis(probabilities, order, axis=1).cumsum(axis=1) - np.take_along_axis(
        probabilities, order, axis=1
    )
    sets = np.zeros(probabilities.shape, dtype=bool)
    np.put_along_axis(sets, order, before < level, axis=1)
    return sets


def validity(n_draws=40, n=400, n_jobs=2):
    """How often p-values of outliers are small, for ordinary samples and for planted ones."""
    for d, ratio in ((2, 1), (2, 5), (5, 1), (10, 1), (20, 1)):
        draws = Parallel(n_jobs=n_jobs)(delayed(one_planting)(d, ratio, n, seed) for seed in range(n_draws))
        name = f"{d} features" if ratio == 1 else f"{d} features, one cluster wider"
        yield name, {key: float(np.mean([one[key] for one in draws])) for key in draws[0]}


def one_planting(d, ratio, n, seed):
    """Samples of three components, the first of which may be wider, and others planted around the last."""
    random = np.random.default_rng(seed)
    apart = 6 * ratio
    X, _ = mixture_samples(random, n, apart, d, None, ratio)
    fresh, y = mixture_samples(random, 2000, apart, d, None, ratio)
    model = ConformalClusterer(KMeans(3, n_init=2), n_replications=1, random_state=seed).fit(X)
    p_values = model.predict_outlier_p_values(fresh)
    result = {f"ordinary {size}": (p_values <= size).mean() for size in SIZES}
    middle = fresh[y == 2].mean(axis=0)
    directions = random.normal(size=(500, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    reach = np.quantile(np.linalg.norm(fresh[y == 2] - middle, axis=1), 0.99)
    for farther in (1, 1.25, 1.5):
        # So many times as far from the middle of the cluster as 99 % of its samples are.
        planted = middle + farther * reach * directions
        result[f"found at {farther}"] = (model.predict_outlier_p_values(planted) <= 0.01).mean()
    return result


def errors(names=LABELLED, n_jobs=2):
    """Errors among sure and torn samples, and among as many as other methods are least in doubt about."""
    jobs = (delayed(errors_of_set)(name) for name in names)
    for found in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
        yield from found.items()


def errors_of_set(name):
    """Around the same k-means and the same mixture as those beside it, with their seed."""
    problem = answers_data.load("design", name)
    c, rows = problem.n_clusters, np.random.default_rng(0).permutation(len(problem.X))[:MOST]
    X, y = problem.X[rows], problem.y[rows]
    ours = {
        "k-means": KMeans(c, n_init=10, random_state=0),
        "Gaussian mixture": GaussianMixture(c, n_init=5, random_state=0),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peers = {"k-means ratio": k_means, "posterior": gaussian_mixture, "hdbscan": hdbscan}
        answers = {peer: method(X, c, 0) for peer, method in peers.items()}
        models = {
            kind: ConformalClusterer(estimator, n_replications=REPLICATIONS, random_state=0).fit(X)
            for kind, estimator in ours.items()
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
        kept = np.argsort(answer.doubt, kind="stable")[: max(1, round(share * len(y)))]
        result[f"{peer} wrong"] = float((majority_classes(y, answer.labels) != y)[kept].mean())
    return result


PARTS = {"replication": replication, "truth": truth, "validity": validity, "errors": errors}


def main():
    """Run parts, and write each entry as soon as it is there; others stay on record."""
    reader = command_line.parser(__doc__)
    reader.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all of them if none is named")
    reader.add_argument("--write", action="store_true", help=f"write to results/{NAME}.json")
    reader.add_argument("--n-jobs", type=int, default=2, help="processes")
    reader.add_argument("--clusterers", nargs="*", choices=list(CLUSTERERS), help="those of replications to run")
    given = reader.parse_args()
    for part in given.parts or PARTS:
        options = {"n_jobs": given.n_jobs}
        if part == "replication" and given.clusterers:
            options["clusterers"] = {kind: CLUSTERERS[kind] for kind in given.clusterers}
        for name, entry in PARTS[part](**options):
            command_line.show(part, {name: entry})
            if given.write:
                keep(part, name, entry)


def keep(part, name, entry):
    """Put an entry among the others that are on record."""
    there = (record.RESULTS / f"{NAME}.json").exists()
    known = {key: one for key, one in record.read(NAME).items() if key in PARTS} if there else {}
    record.write(NAME, known | {part: known.get(part, {}) | {name: entry}})


if __name__ == "__main__":
    main()
