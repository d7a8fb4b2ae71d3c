"""Criteria for the number of clusters, each a curve over the numbers 1, 2, ..., for `estimate_n_clusters`.

Several clusterings for each number of clusters are compared with each other, with the neighborhoods of samples,
with clusterings of halves of the samples, and with k-means for a Gaussian sample of the same covariance.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.linalg import eigh, eigvalsh, qr, svd
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.mixture import GaussianMixture

from evlearn.cluster import belief_peaks
from evlearn.cluster.model_based.merged_mixture import merge
from evlearn.utils.convergence import recording_problems
from evlearn.utils.typing import FloatArray, IntArray

#: Labels of a clustering for each number of clusters.
Labelings: TypeAlias = list[IntArray]

#: Numbers of neighbors in graphs: usual, few, many.
_N_NEIGHBORS, _FEW_NEIGHBORS, _MANY_NEIGHBORS = 10, 5, 20
_KMEANS_STARTS, _N_SPLITS = 3, 2
#: Value that is added to spectral gaps and shares of edges.
_SMALLEST_GAP = 0.01
_RIDGE, _MAX_COMPONENTS, _MIXTURE_ITERATIONS = 1e-3, 10, 60
#: Singular value, relative to the largest, below which features are linearly dependent.
_SMALLEST_SCALE = 1e-6
#: Further numbers of components of mixtures whose components are merged, and minimum number of rows of each.
_MANY_COMPONENTS, _ROWS_EACH = (15, 18), 10
#: Half of the width of the intervals in which densities along an axis are compared, relative to its length.
_VALLEY = 0.15
#: Shares of the samples that are minimum sizes of the clusters of HDBSCAN, and the smallest minimum size.
_DENSE_SHARES, _DENSE_SIZE = (0.015, 0.03, 0.06), 5
#: Share of the rows from which a component is large, quantile of usual edges of spanning trees, and bounds of
#: logarithms of distances, relative to these.
_LARGE_SHARE, _USUAL_EDGES, _MIN_LOG, _MAX_LOG = 0.03, 0.9, -1.0, 3.0
#: Value of a single component, from which the distance that separates 2 components is subtracted.
_SINGLE_LINKAGE = 1.0


class Sample(NamedTuple):
    """Distinct rows, their distances, and numbers of clusters.

    Attributes
    ----------
    rows : ndarray of shape (n, n_features)
        Rows.
    distances : ndarray of shape (n, n)
        Euclidean distances.
    neighbors : ndarray of int of shape (n, 20)
        Nearest neighbors, in ascending order of their distances.
    numbers : range
        Numbers of clusters, from 1.
    seed : int
        Seed of all random numbers.
    """

    rows: FloatArray
    distances: FloatArray
    neighbors: IntArray
    numbers: range
    seed: int

    @classmethod
    def of(cls, rows: FloatArray, max_clusters: int, seed: int) -> "Sample":
        """Return the sample of distinct rows."""
        distances = np.asarray(squareform(pdist(rows)))
        order = np.argsort(distances + np.diag(np.full(len(rows), -1.0)), axis=1, kind="stable")
        return cls(rows, distances, order[:, 1 : _MANY_NEIGHBORS + 1], range(1, max_clusters + 1), seed)


def compute_criteria(rows: FloatArray, max_clusters: int, seed: int) -> dict[str, FloatArray]:
    """Return the values of all criteria for 1 to `max_clusters` clusters.

    Parameters
    ----------
    rows : ndarray of shape (n, n_features)
        Distinct rows, at least 2 for each cluster.
    max_clusters : int
        Largest number of clusters.
    seed : int
        Seed.

    Returns
    -------
    dict of str to ndarray of shape (max_clusters,)
        Values by the name of the criterion.
    """
    with warnings.catch_warnings(), recording_problems():
        warnings.simplefilter("ignore")
        sample = Sample.of(rows, max_clusters, seed)
        kmeans, inertias = _kmeans(rows, sample.numbers, seed)
        eigenvalues, vectors = _spectrum(sample.neighbors[:, :_N_NEIGHBORS], max_clusters)
        ward, heights = _ward(rows, sample.numbers)
        curves, labelings = _mixtures(sample)
        labelings |= {"k-means": kmeans, "spectral": _rotated_labels(vectors, sample.numbers), "ward": ward}
        curves |= {
            "wss": -np.log(np.maximum(inertias, 1e-12 * inertias[0]) / inertias[0]),
            "ward_heights": heights,
            "eigengap": -np.diff(eigenvalues),
            "eigengap_few": -np.diff(_spectrum(sample.neighbors[:, :_FEW_NEIGHBORS], max_clusters)[0]),
            "eigengap_many": -np.diff(_spectrum(sample.neighbors, max_clusters)[0]),
            "eigenratio": np.diff(np.log(np.maximum(1 - eigenvalues, 0) + _SMALLEST_GAP)),
            "peaks": _peaks(sample),
            "dense": _dense(sample),
        }
        curves |= _persistence(sample) | _coherence(sample, (labelings["spectral"], labelings["merged"]))
        curves |= _stability(sample)
        curves |= _comparison(sample, labelings)
        curves |= _reference(sample, curves["wss"], labelings["k-means"])
    return curves


def _kmeans(rows: FloatArray, numbers: Sequence[int], seed: int) -> tuple[Labelings, FloatArray]:
    models = [KMeans(number, n_init=_KMEANS_STARTS, random_state=seed).fit(rows) for number in numbers]
    return [model.labels_ for model in models], np.array([model.inertia_ for model in models])


def _ward(rows: FloatArray, numbers: Sequence[int]) -> tuple[Labelings, FloatArray]:
    """Return the clusters of Ward's method, and the logarithm of the height at which each number is reached."""
    tree = linkage(rows, "ward")
    heights = np.maximum(tree[::-1, 2], 1e-12 * tree[-1, 2])[: len(numbers)]
    return list(cut_tree(tree, n_clusters=list(numbers)).T), np.log(heights / heights[0])


def _spectrum(neighbors: IntArray, n_clusters: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues and the eigenvectors of the normalized graph of neighbors."""
    n_rows = len(neighbors)
    graph = _graph(neighbors)
    scales = 1 / np.sqrt(graph.sum(axis=1))
    values, vectors = eigh(
        graph * scales[:, None] * scales, subset_by_index=(n_rows - n_clusters - 1, n_rows - 1), driver="evr"
    )
    return values[::-1], vectors[:, ::-1] * scales[:, None]


def _graph(neighbors: IntArray) -> FloatArray:
    """Return the symmetric graph of neighbors."""
    n_rows, n_neighbors = neighbors.shape
    graph = np.zeros((n_rows, n_rows))
    graph[np.repeat(np.arange(n_rows), n_neighbors), neighbors.ravel()] = 0.5
    return graph + graph.T


def _coherence(sample: Sample, labelings: Sequence[Labelings]) -> dict[str, FloatArray]:
    """Return the logarithm of the connection within clusters over that between clusters, for the worst cluster.

    The connection within a cluster is the spectral gap of its part of the graph of neighbors; that with other
    clusters is the share of its edges.
    """
    graph = _graph(sample.neighbors[:, :_N_NEIGHBORS])
    degrees = graph.sum(axis=1)
    ratio_of: dict[bytes, float] = {}  # many clusters occur for several numbers

    def connection(labels: IntArray) -> float:
        ratios = []
        for cluster in np.unique(labels):
            members = np.flatnonzero(labels == cluster)
            key = members.tobytes()
            if key not in ratio_of:
                ratio_of[key] = _connection_ratio(graph[np.ix_(members, members)], degrees[members])
            ratios.append(ratio_of[key])
        return min(ratios)

    values = np.array([[connection(labels) for labels in pair] for pair in zip(*labelings, strict=True)])
    return {"coherence": values.max(axis=1), "coherence_spectral": values[:, 0]}


def _connection_ratio(part: FloatArray, degrees: FloatArray) -> float:
    """Return the logarithm of the ratio of connections of a cluster: its part of the graph, and all degrees."""
    inner_degrees = part.sum(axis=1)
    gap = 0.0
    if len(part) > 2 and inner_degrees.min() > 0:
        scales = 1 / np.sqrt(inner_degrees)
        second = (len(part) - 2, len(part) - 2)
        gap = 1 - float(eigvalsh(part * scales[:, None] * scales, subset_by_index=second)[0])
    outer_share = 1 - float(inner_degrees.sum() / degrees.sum())
    return float(np.log((max(gap, 0) + _SMALLEST_GAP) / (outer_share + _SMALLEST_GAP)))


def _rotated_labels(vectors: FloatArray, numbers: Sequence[int]) -> Labelings:
    """Return the clusters from a pivoted QR decomposition of the eigenvectors (Damle, Minden and Ying, 2019)."""
    labelings = []
    for number in numbers:
        part = vectors[:, :number]
        pivots = qr(part.T, mode="r", pivoting=True)[1][:number]
        left, _, right = svd(part[pivots].T)
        labelings.append(np.abs(part @ (left @ right)).argmax(axis=1))
    return labelings


def _mixtures(sample: Sample) -> tuple[dict[str, FloatArray], dict[str, Labelings]]:
    """Return criteria and clusters of Gaussian mixtures, fitted to principal components."""
    scores = _principal_scores(sample.rows)
    ridge = max(_RIDGE * float(scores.var(axis=0).mean()), np.finfo(float).tiny)
    settings = {"reg_covar": ridge, "max_iter": _MIXTURE_ITERATIONS, "random_state": sample.seed}

    def fit(kind: str, number: int) -> tuple[float, FloatArray]:
        model = GaussianMixture(number, covariance_type=kind, **settings).fit(scores)
        return -model.bic(scores) / len(scores), np.asarray(model.predict_proba(scores))

    curves: dict[str, FloatArray] = {}
    labelings: dict[str, Labelings] = {}
    for kind in ("full", "diag", "tied"):
        fits = [fit(kind, number) for number in sample.numbers]
        curves[f"bic_{kind}"] = np.array([criterion for criterion, _ in fits])
        labelings[kind] = [shares.argmax(axis=1) for _, shares in fits]
        if kind == "full":
            curves["icl_full"] = curves["bic_full"] - 2 * np.array([_entropy(shares) for _, shares in fits])
            fits += [fit(kind, number) for number in _MANY_COMPONENTS if _ROWS_EACH * number <= len(scores)]
            shares = max(fits, key=lambda pair: pair[0])[1]
            curves["overlap"], labelings["merged"] = _mergers(shares, labelings["full"])
    return curves, labelings


def _principal_scores(rows: FloatArray) -> FloatArray:
    """Return the principal components of rows, at most 10, without those that do not vary."""
    centered = rows - rows.mean(axis=0)
    _, scales, axes = svd(centered, full_matrices=False)
    return np.asarray(centered @ axes[scales > _SMALLEST_SCALE * scales[0]][:_MAX_COMPONENTS].T)


def _entropy(shares: FloatArray) -> float:
    return float(-(shares * np.log(np.maximum(shares, 1e-300))).sum(axis=1).mean())


def _mergers(shares: FloatArray, labelings: Labelings) -> tuple[FloatArray, Labelings]:
    """Return the separation that each merger of components loses, and the merged clusters."""
    n_components, n_numbers, assignments = shares.shape[1], len(labelings), shares.argmax(axis=1)
    separations = np.zeros(max(n_numbers, n_components))
    separations[1:n_components] = 1 - merge(shares, 1)[1][::-1]
    merged = [merge(shares, number)[0][assignments] for number in range(1, min(n_components, n_numbers) + 1)]
    return separations[:n_numbers], [*merged, *labelings[n_components:]]


def _peaks(sample: Sample) -> FloatArray:
    """Return the gaps of the scores of the δ-Bel graph."""
    gaps = np.nan_to_num(belief_peaks(sample.distances, metric="precomputed").gaps)[: len(sample.numbers)]
    return np.pad(gaps, (0, len(sample.numbers) - len(gaps)))


def _dense(sample: Sample) -> FloatArray:
    """Return the share of minimum sizes for which HDBSCAN finds each number of clusters."""
    votes = np.zeros(len(sample.numbers))
    for share in _DENSE_SHARES:
        size = min(max(_DENSE_SIZE, round(share * len(sample.rows))), len(sample.rows))
        model = HDBSCAN(
            min_cluster_size=size, min_samples=min(_DENSE_SIZE, len(sample.rows)), metric="precomputed", copy=True
        )
        number = int(model.fit_predict(sample.distances).max()) + 1
        if number <= len(votes):
            votes[max(number, 1) - 1] += 1 / len(_DENSE_SHARES)
    return votes


def _persistence(sample: Sample) -> dict[str, FloatArray]:
    """Return the distances that separate numbers of large components in density, and the ranges of these numbers.

    Components are connected by mutual reachability distances. The criterion *linkage* is the logarithm of the
    largest distance below which there are at least c large components, relative to usual distances in the spanning
    tree.
    """
    n_rows, n_numbers = len(sample.rows), len(sample.numbers)
    places = np.minimum(_DENSE_SIZE, sample.neighbors.shape[1]) - 1
    cores = sample.distances[np.arange(n_rows), sample.neighbors[:, places]]
    reachability = np.maximum(sample.distances, np.maximum(cores[:, None], cores))
    tree = minimum_spanning_tree(np.maximum(reachability, 1e-300)).tocoo()
    order = np.argsort(tree.data, kind="stable")
    heights = tree.data[order]
    counts = _count_large_components(tree.row[order], tree.col[order], n_rows)
    usual = float(np.quantile(heights, _USUAL_EDGES))
    linkage_curve = np.zeros(n_numbers + 1)
    for k in range(1, n_numbers + 1):
        stages = np.flatnonzero(counts > k)
        # The components after an edge exist until the next edge.
        last = heights[min(stages[-1] + 1, len(heights) - 1)] if len(stages) else 0
        linkage_curve[k] = np.log(np.clip(last / usual, np.exp(_MIN_LOG), np.exp(_MAX_LOG)))
    linkage_curve[0] = _SINGLE_LINKAGE
    return {"linkage": linkage_curve[:-1], "persistence": -np.diff(linkage_curve)}


def _count_large_components(first: IntArray, second: IntArray, n_rows: int) -> IntArray:
    """Return the number of large components after each edge of a spanning tree."""
    smallest = max(_DENSE_SIZE, _LARGE_SHARE * n_rows)
    parents, sizes = list(range(n_rows)), [1] * n_rows

    def root(index: int) -> int:
        while parents[index] != index:
            parents[index] = parents[parents[index]]
            index = parents[index]
        return index

    n_large, counts = 0, []
    for pair in zip(first.tolist(), second.tolist(), strict=True):
        a, b = map(root, pair)
        n_large -= (sizes[a] >= smallest) + (sizes[b] >= smallest)
        parents[a], sizes[b] = b, sizes[a] + sizes[b]
        n_large += sizes[b] >= smallest
        counts.append(n_large)
    return np.array(counts, dtype=np.intp)


def _stability(sample: Sample) -> dict[str, FloatArray]:
    """Return the similarity of the clusters of 2 halves, extended to all rows, by k-means, Ward and spectral."""
    random = np.random.default_rng(sample.seed)
    names = (*_METHODS_OF_HALVES, "strength")
    curves: dict[str, FloatArray] = {name: np.zeros(len(sample.numbers)) for name in names}
    for _ in range(_N_SPLITS):
        order = random.permutation(len(sample.rows))
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        for name, method in _METHODS_OF_HALVES.items():
            first, second = (method(sample, half) for half in halves)
            pairs = list(zip(first[1:], second[1:], strict=True))
            curves[name][1:] += np.array([_rand_index(*pair) for pair in pairs]) / _N_SPLITS
            if name == "stability":
                curves["strength"][1:] += np.array([_strength(*pair) for pair in pairs]) / _N_SPLITS
    return curves


def _kmeans_of_half(sample: Sample, half: IntArray) -> Labelings:
    settings = {"n_init": _KMEANS_STARTS, "random_state": sample.seed}
    return [KMeans(number, **settings).fit(sample.rows[half]).predict(sample.rows) for number in sample.numbers]


def _ward_of_half(sample: Sample, half: IntArray) -> Labelings:
    return _extend(sample, half, _ward(sample.rows[half], sample.numbers)[0])


def _spectral_of_half(sample: Sample, half: IntArray) -> Labelings:
    distances = sample.distances[np.ix_(half, half)]
    order = np.argsort(distances + np.diag(np.full(len(half), -1.0)), axis=1, kind="stable")
    vectors = _spectrum(order[:, 1 : _N_NEIGHBORS + 1], len(sample.numbers))[1]
    return _extend(sample, half, _rotated_labels(vectors, sample.numbers))


_METHODS_OF_HALVES: dict[str, Callable[[Sample, IntArray], Labelings]] = {
    "stability": _kmeans_of_half,
    "stability_ward": _ward_of_half,
    "stability_spectral": _spectral_of_half,
}


def _extend(sample: Sample, half: IntArray, labelings: Labelings) -> Labelings:
    """Return labels of all rows: those of the nearest rows of a half."""
    nearest = sample.distances[:, half].argmin(axis=1)
    return [labels[nearest] for labels in labelings]


def _strength(first: IntArray, second: IntArray) -> float:
    """Return the smallest share, over clusters, of pairs that are also in the same cluster of the other half."""
    table = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(table, (first, second), 1)

    def smallest(counts: FloatArray) -> float:
        sizes = counts.sum(axis=1)
        pairs = (counts * (counts - 1)).sum(axis=1) / np.maximum(sizes * (sizes - 1), 1)
        return float(pairs[sizes > 1].min(initial=1))

    return (smallest(table) + smallest(table.T)) / 2


def _comparison(sample: Sample, labelings: dict[str, Labelings]) -> dict[str, FloatArray]:
    """Return criteria that compare clusterings with each other, with neighborhoods and with distances."""
    names = ("consensus", "graph_best", "graph_mean", "weakest", "silhouette", "smallest", "valley", "valley_best")
    curves: dict[str, FloatArray] = {name: np.zeros(len(sample.numbers)) for name in names}
    curves["smallest"][0] = 1
    for k, number in enumerate(sample.numbers[1:], start=1):
        members = [np.unique(labels[k], return_inverse=True)[1].ravel() for labels in labelings.values()]
        agreements = np.array([_agreement(labels, sample.neighbors[:, :_N_NEIGHBORS]) for labels in members])
        valleys = np.array([_valley(sample.rows, labels) for labels in members])
        pairs = [_rand_index(a, b) for i, a in enumerate(members) for b in members[:i]]
        curves["consensus"][k] = np.mean(pairs)
        curves["graph_best"][k], curves["graph_mean"][k] = agreements[:, 0].max(), agreements[:, 0].mean()
        curves["weakest"][k] = agreements[:, 1].max()
        curves["silhouette"][k] = max(_silhouette(sample.distances, labels) for labels in members)
        curves["smallest"][k] = max(np.bincount(labels).min() for labels in members) / len(sample.rows) * number
        curves["valley"][k], curves["valley_best"][k] = np.median(valleys), valleys.max()
    return curves


def _rand_index(first: IntArray, second: IntArray) -> float:
    """Return the adjusted Rand index, without scikit-learn's checks, which take more time."""
    n_columns = second.max() + 1
    table = np.bincount(first * n_columns + second, minlength=(first.max() + 1) * n_columns).reshape(-1, n_columns)
    pairs, rows, columns = (float((counts * (counts - 1)).sum()) for counts in (table, table.sum(1), table.sum(0)))
    expected = rows * columns / max(len(first) * (len(first) - 1), 1)
    maximum = (rows + columns) / 2
    return (pairs - expected) / (maximum - expected) if maximum > expected else 1.0


def _agreement(labels: IntArray, neighbors: IntArray) -> tuple[float, float]:
    """Return the share of neighbors with the same label, 0 by chance, for all rows and for the worst cluster."""
    shares = np.bincount(labels) / len(labels)
    if len(shares) == 1:
        return 0.0, 0.0
    agreement = (labels[neighbors] == labels[:, None]).mean(axis=1)
    by_cluster = np.bincount(labels, agreement) / np.bincount(labels)
    chance = float(shares @ shares)
    return (float(agreement.mean()) - chance) / (1 - chance), float(((by_cluster - shares) / (1 - shares)).min())


def _silhouette(distances: FloatArray, labels: IntArray) -> float:
    """Return the mean silhouette; clusters of 1 row count as 0."""
    indicators = np.eye(labels.max() + 1)[labels]
    counts = indicators.sum(axis=0)
    sums, places = distances @ indicators, np.arange(len(labels))
    inner = sums[places, labels] / np.maximum(counts[labels] - 1, 1)
    means = sums / counts
    means[places, labels] = np.inf
    outer = means.min(axis=1)
    values = np.where(counts[labels] > 1, (outer - inner) / np.maximum(np.maximum(inner, outer), 1e-300), 0)
    return float(np.nan_to_num(values).mean())


def _valley(rows: FloatArray, labels: IntArray) -> float:
    """Return the depth of the shallowest valley of the density between clusters with close means.

    The density is estimated for the projections of 2 clusters to the line through their means: in the middle, and
    near the means.
    """
    indicators = np.eye(labels.max() + 1)[labels]
    counts = indicators.sum(axis=0)
    means = indicators.T @ rows / counts[:, None]
    squares = ((means[:, None] - means) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    depths = [0.0] if len(means) == 1 else []
    for first, second in enumerate(squares.argmin(axis=1) if len(means) > 1 else ()):
        line = (means[second] - means[first]) / max(float(squares[first, second]), 1e-300)
        members = (labels == first) | (labels == second)
        positions = (rows[members] - means[first]) @ line
        middle, *ends = ((np.abs(positions - place) < _VALLEY).sum() for place in (0.5, 0, 1))
        depths.append(np.log((min(ends) + 1) / (middle + 1)))
    return float(min(depths))


def _reference(sample: Sample, wss: FloatArray, labelings: Labelings) -> dict[str, FloatArray]:
    """Return the advantage of k-means over k-means for a Gaussian and a uniform sample of equal scatter."""
    random = np.random.default_rng(sample.seed)
    centered = sample.rows - sample.rows.mean(axis=0)
    scales, axes = svd(centered, full_matrices=False)[1:]
    cloud = random.normal(size=(len(centered), len(scales))) * scales
    scores = centered @ axes.T
    box = random.uniform(scores.min(axis=0), scores.max(axis=0), size=scores.shape)
    observed = np.array([_separation(sample.distances, sample.rows, labels) for labels in labelings])
    clouds, inertias = _kmeans(cloud, sample.numbers, sample.seed)
    distances = np.asarray(squareform(pdist(cloud)))
    expected = np.array([_separation(distances, cloud, labels) for labels in clouds])
    box_inertias = _kmeans(box, sample.numbers, sample.seed)[1]
    return {
        "gap": wss + np.log(inertias / inertias[0]),
        "gap_box": wss + np.log(box_inertias / box_inertias[0]),
        "silhouette_gap": observed[:, 0] - expected[:, 0],
        "valley_gap": observed[:, 1] - expected[:, 1],
    }


def _separation(distances: FloatArray, rows: FloatArray, labels: IntArray) -> tuple[float, float]:
    if labels.max() == 0:
        return 0.0, 0.0
    return _silhouette(distances, labels), _valley(rows, labels)
