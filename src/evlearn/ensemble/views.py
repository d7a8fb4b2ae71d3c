r"""Views: groups of columns as separate sources, whose reliability follows from the agreement of the views.

Members are fitted to each view. The reliability of a member is its agreement with the neighborhoods of the *other*
views (see `evlearn.ensemble.members`), so that views confirm each other: clusters of a view with noise, or with
structure that no other view has, agree with neighborhoods elsewhere only by chance. The reliability :math:`u_v` of
a view is the mean over its members, by their weights. In the consensus, the weight of a view is proportional to
:math:`u_v`, and is divided among its members. All views together, each with the same variance, are an additional
source of the consensus, because clusters may overlap in each view and be separate in all of them.

With :math:`\pi_k` the share of consensus cluster k, and :math:`P_v(k\mid x)` its share among the nearest landmarks
of x in view v, the evidence of the view is :math:`R_v=P_v(k\mid x)/\pi_k`. It is 1 for all clusters if the
neighborhoods of the view do not depend on the clusters. The evidence of the views is combined by Dempster's rule
with discounting,

.. math:: p_k(x)\propto\pi_k\prod_v\bigl(1-\alpha_v+\alpha_vR_v\bigr),\qquad
   \alpha_v=(1-\varepsilon)\,\sqrt{u_v/\max_wu_w}\,(1-o_v),

with :math:`\varepsilon=0.1`, the probability that the view belongs to another sample, and :math:`o_v` the mass of
the outlier rule of the view: a view in which a sample is far from all others has no influence. If views contradict
each other, several clusters remain probable. The masses are the least committed ones with these probabilities, as
for other default members. The mass of the empty set is the mean of :math:`o_v`, weighted by
:math:`\sqrt{u_v}`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from scipy.special import softmax

from evlearn.belief import FocalSets
from evlearn.cluster.centroids.kmeans import rows_to_fit
from evlearn.cluster.outlier_rule import OutlierRule, Segments
from evlearn.ensemble.consensus import (
    DISTANCE_RANK,
    EXPONENTS,
    FittedConsensus,
    consensus,
    draw_landmarks,
    focal_sets_for,
    least_committed_masses,
    n_neighbors_for,
)
from evlearn.ensemble.members import fit_members, reliabilities, weights_of
from evlearn.mixture.discrete_columns import blur_discrete_columns
from evlearn.neighbors import BoxTree
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_shape

#: Probability that a view belongs to another sample.
_FOREIGN_RATE = 0.1
_BLOCK_ROWS = 4096


def columns_of(views: Any, n_features: int, names: Sequence[str] | None) -> list[IntArray]:
    """Return the columns of each view.

    Parameters
    ----------
    views : list of lists
        Names or indices of the columns of each view.
    n_features : int
        Number of features.
    names : sequence of str or None
        Names of the features.

    Returns
    -------
    list of ndarray of int
        Indices of the columns.
    """
    if isinstance(views, str) or not isinstance(views, Sequence) or not len(views):
        raise ValueError(f"views must be a list of lists of columns, such as [[0, 1], [2, 3]], got {views!r}.")
    return [_columns_of_view(number, view, n_features, names) for number, view in enumerate(views)]


def _columns_of_view(number: int, view: Any, n_features: int, names: Sequence[str] | None) -> IntArray:
    if isinstance(view, str) or not isinstance(view, (Sequence, np.ndarray)) or not len(view):
        raise ValueError(f"views[{number}] must be a list of names or indices of columns, got {view!r}.")
    positions: dict[Any, Any] = {} if names is None else {name: position for position, name in enumerate(names)}
    columns: list[Any] = [positions.get(column, column) for column in view]
    for column in columns:
        is_index = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
        if not is_index or not 0 <= column < n_features:
            raise ValueError(
                f"views[{number}] contains {column!r}, which is not a column; use names of the frame, or indices "
                f"from 0 to {n_features - 1}."
            )
    if len(set(columns)) < len(columns):
        raise ValueError(f"views[{number}] contains a column 2 times: {view!r}; list columns once.")
    return np.array(columns, dtype=np.intp)


def in_one_unit(sample: FloatArray, views: Sequence[IntArray]) -> FloatArray:
    """Return the columns of all views, in which each view has the same variance."""
    parts = [sample[:, columns] for columns in views]
    scales = [np.sqrt(float(part.var(axis=0).sum())) or 1.0 for part in parts]
    return np.hstack([part / scale for part, scale in zip(parts, scales, strict=True)])


@fields.stored
@dataclass(frozen=True, kw_only=True)
class View:
    """Landmarks in the columns of a view.

    Attributes
    ----------
    columns : ndarray of int of shape (n_columns,)
        Columns of the view.
    tree : BoxTree
        Landmarks in these columns.
    influence : float
        Weight of the evidence of the view, from 0 to 1.
    outliers : OutlierRule or None, default=None
        Rule with the reach of the landmarks; None if there are no outliers.
    """

    columns: fields.Indices
    tree: BoxTree
    influence: fields.Fraction
    outliers: OutlierRule | None = None

    def __post_init__(self) -> None:
        check_shape("columns", self.columns, self.tree.points.shape[1:2])

    @classmethod
    def of(
        cls, data: FloatArray, counts: FloatArray, columns: IntArray, influence: float, outlier_rate: float
    ) -> Self:
        """Return a view of landmarks; its outlier rule is learned from them."""
        view = cls(columns=columns, tree=_tree_of(data, columns), influence=influence)
        outliers = None
        if outlier_rate:
            squares = view.nearest(data, first=1)[1]  # the nearest is the landmark itself
            outliers = OutlierRule.learn(np.sqrt(squares), counts, outlier_rate, Segments.empty(), EXPONENTS)
        return cls(columns=columns, tree=view.tree, influence=influence, outliers=outliers)

    def nearest(self, rows: FloatArray, first: int = 0) -> tuple[IntArray, FloatArray]:
        """Return the nearest landmarks, and a squared distance to the landmarks, without the `first` nearest."""
        n_landmarks = len(self.tree.samples)
        n_neighbors = min(n_landmarks, n_neighbors_for(n_landmarks) + 1)
        data = np.ascontiguousarray(rows[:, self.columns], dtype=np.float64)
        indices, squares = self.tree.nearest_of(data, n_neighbors)
        return indices.astype(np.intp), squares[:, min(DISTANCE_RANK + first, n_neighbors - 1), None]

    def scores(self, squares: FloatArray) -> FloatArray:
        """Return the mass of rows on the empty set from their squared distances."""
        return np.zeros(len(squares)) if self.outliers is None else self.outliers.scores(squares, Segments.empty())


@fields.stored
@dataclass(frozen=True, kw_only=True)
class ViewsModel:
    """Views of landmarks and their clusters, which determine the masses of rows.

    Attributes
    ----------
    views : sequence of View
        Landmarks in each view.
    clusters : ndarray of int of shape (n_landmarks,)
        Cluster of each landmark.
    counts : ndarray of shape (n_landmarks,)
        Weights of the landmarks.
    focal_sets : FocalSets
        The empty set, single clusters, pairs, and the set of all clusters.
    """

    views: Annotated[Sequence[View], fields.list_of(fields.instance(View), min_length=1)]
    clusters: fields.Indices
    counts: fields.NonnegativeVector
    focal_sets: FocalSets

    def __post_init__(self) -> None:
        if not self.focal_sets.has_omega or not len(self.clusters):
            raise ValueError("focal_sets must contain the set of all clusters, and clusters must not be empty")
        if self.clusters.max() >= self.focal_sets.frame_size:
            raise ValueError(f"clusters must be less than {self.focal_sets.frame_size}, the number of clusters")
        if not any(view.influence > 0 for view in self.views):
            raise ValueError("the influence of all views must not be 0")
        for name, size in (("counts", len(self.counts)), *(("a view", len(v.tree.samples)) for v in self.views)):
            if size != len(self.clusters):
                raise ValueError(f"{name} has {size} landmarks, but there are {len(self.clusters)} clusters")

    def assign(self, rows: FloatArray, weights: object = None) -> FloatArray:
        """Return the masses of rows."""
        out = np.empty((len(rows), len(self.focal_sets)), dtype=rows.dtype)
        influences = np.array([view.influence for view in self.views])
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            indices, squares = zip(*(view.nearest(rows[block]) for view in self.views), strict=True)
            scores = np.array([view.scores(part) for view, part in zip(self.views, squares, strict=True)])
            probabilities = combined_probabilities(
                indices,
                self.clusters,
                self.counts,
                influences[:, None] * (1 - scores),
                self.focal_sets.frame_size,
            )
            masses = least_committed_masses(probabilities, self.focal_sets)
            outlier_masses = influences @ scores / influences.sum()
            masses *= (1 - outlier_masses)[:, None]
            masses[:, 0] += outlier_masses
            out[block] = masses
        return out


def combined_probabilities(
    neighbors: Sequence[IntArray], clusters: IntArray, counts: FloatArray, influences: FloatArray, n_clusters: int
) -> FloatArray:
    """Return the probabilities of the clusters by Dempster's rule for discounted views.

    Parameters
    ----------
    neighbors : sequence of ndarray of int of shape (n_rows, n_neighbors)
        Nearest landmarks of the rows in each view.
    clusters : ndarray of int of shape (n_landmarks,)
        Cluster of each landmark.
    counts : ndarray of shape (n_landmarks,)
        Weights of the landmarks.
    influences : ndarray of shape (n_views, n_rows)
        Weight of the evidence of each view for each row.
    n_clusters : int
        Number of clusters.

    Returns
    -------
    ndarray of shape (n_rows, n_clusters)
        Probabilities.
    """
    votes = np.eye(n_clusters)[clusters] * (counts / counts.mean())[:, None]
    shares = (votes.sum(axis=0) + 1) / (votes.sum() + n_clusters)
    logs = np.tile(np.log(shares), (len(neighbors[0]), 1))
    for indices, influence in zip(neighbors, influences[:, :, None], strict=True):
        totals = votes[indices].sum(axis=1)
        evidence = (totals / shares + 1) / (totals.sum(axis=1, keepdims=True) + 1)
        logs += np.log1p(influence * (evidence - 1))
    return np.asarray(softmax(logs, axis=1))


def fit_views(
    sample: FloatArray,
    counts: FloatArray,
    n_clusters: int,
    columns: Sequence[IntArray],
    n_landmarks: int,
    outlier_rate: float,
    random: np.random.RandomState,
    n_jobs: int | None,
) -> FittedConsensus:
    """Fit members to the landmarks of each view, and combine them.

    Parameters
    ----------
    sample : ndarray of shape (n, n_features)
        Distinct rows.
    counts : ndarray of shape (n,)
        Weights of the rows.
    n_clusters : int
        Number of clusters.
    columns : sequence of ndarray of int
        Columns of each view.
    n_landmarks : int
        Maximum number of landmarks.
    outlier_rate : float
        Expected share of ordinary samples that are outliers.
    random : RandomState
        Random number generator.
    n_jobs : int or None
        Number of members that are fitted at the same time.

    Returns
    -------
    FittedConsensus
        Model, and the members.
    """
    ordinary = np.all([rows_to_fit(sample[:, view], n_clusters) for view in columns], axis=0)
    if not ordinary.any():
        ordinary[:] = True
    data, counts = draw_landmarks(sample[ordinary], counts[ordinary], n_landmarks, random)
    n_found = min(n_clusters, len(data))
    sources = [data[:, view] for view in columns] + [in_one_unit(data, columns)]
    members: list[IntArray] = []
    names: list[str] = []
    source_of: list[int] = []
    for number, source in enumerate(sources):
        labels = fit_members(source, counts, n_found, random, n_jobs, is_view=True)
        place = f"view {number}" if number < len(columns) else "all views"
        members += labels.values()
        names += [f"{name}, {place}" for name in labels]
        source_of += [number] * len(labels)
    scores = _reliabilities(members, np.array(source_of), counts, sources[:-1], random)
    weights, of_sources = _weights(scores, np.array(source_of))
    clusters, n_iter = consensus(members, weights, counts, n_found, random.randint(np.iinfo(np.int32).max))
    trust = np.asarray(of_sources[:-1])
    relative = trust / trust.max() if trust.max() > 0 else np.ones(len(trust))
    views = [
        View.of(data, counts, view, (1 - _FOREIGN_RATE) * float(share) ** 0.5, outlier_rate)
        for view, share in zip(columns, relative, strict=True)
    ]
    sets = focal_sets_for(np.eye(n_clusters)[clusters])
    model = ViewsModel(views=views, clusters=clusters, counts=counts, focal_sets=sets)
    return FittedConsensus(model, names, weights, scores, n_iter, trust)


def _reliabilities(
    members: list[IntArray],
    source_of: IntArray,
    counts: FloatArray,
    sources: Sequence[FloatArray],
    random: np.random.RandomState,
) -> FloatArray:
    """Return the mean agreement of members with the neighborhoods of the other views, or of the only view."""
    if len(counts) < 2:
        return np.zeros(len(members))
    n_neighbors, agreement = n_neighbors_for(len(counts)), []
    for source in sources:
        neighbors = BoxTree.of(blur_discrete_columns(source, random)).nearest_others(n_neighbors)[0]
        agreement.append(reliabilities(members, counts, neighbors.astype(np.intp)))
    is_other = (source_of[:, None] != np.arange(len(sources))) | (len(sources) == 1)
    return np.asarray((is_other * np.transpose(agreement)).sum(axis=1) / is_other.sum(axis=1))


def _weights(scores: FloatArray, source_of: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the weights of the members, which sum to 1, and the reliabilities of the sources."""
    weights, trust = np.empty(len(scores)), np.empty(source_of.max() + 1)
    for source in range(len(trust)):
        members = source_of == source
        weights[members] = weights_of(scores[members])
        trust[source] = max(float(weights[members] @ scores[members]), 0)
    weights *= (trust if trust.sum() > 0 else np.ones(len(trust)))[source_of]
    return weights / weights.sum(), trust


def _tree_of(data: FloatArray, columns: IntArray) -> BoxTree:
    return BoxTree.of(np.ascontiguousarray(data[:, columns]))
