"""The pictures of a report: a map that outliers do not squash, and technical ones for the appendix."""

import io
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.decomposition import PCA

from evlearn.explain import plain
from evlearn.explain.columns import Numbers
from evlearn.reporting import page as html
from evlearn.reporting.objects import Objects
from evlearn.utils.typing import BoolArray, FloatArray

_MOST_CELLS = 50_000_000
_TAIL = 0.05  # of all samples, at either end of an axis, says nothing about how wide the view is
_ROOM = 1.0  # widths of what is between, that may be seen beside it
_DPI = 120
_LETTERS = 60  # in a line of the legend
_FARTHEST = 3.0  # widths; what is farther out is brought that near before directions are looked for


def map_picture(objects: Objects) -> str | None:
    """Samples as points, or nothing if they have no features to place them by."""
    from evlearn.plotting import CredalPartitionDisplay
    from evlearn.plotting.partition_display import rivals_of

    values, names = _coordinates(objects)
    if values is None:
        return None
    points, axes, share = _placed(values, names, objects.verdict.outlier)
    low, high = _view(points, objects.verdict.outlier)
    inside = np.clip(points, low, high)
    outside = (inside != points).any(axis=1)
    clusters = objects.partition.to_hard()
    display = CredalPartitionDisplay(
        points=inside,
        clusters=clusters,
        torn=objects.verdict.torn,
        outliers=objects.verdict.outlier,
        lower_hulls=(),
        upper_hulls=(),
        rivals=rivals_of(objects.verdict.candidates, clusters),
        cluster_names=objects.partition.cluster_names,
        axis_labels=axes,
    )

    def draw(ax: Any) -> None:
        display.plot(ax, hulls=False)
        _legend_below(ax)
        _mark_edge(ax, points[outside], low, high)
        if names is None:
            ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
        else:
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(lambda value, _: plain.number(float(value)))

    return drawn(draw, _caption(share, int(outside.sum())), (6.8, 5.4))


def technical_pictures(model: Any, objects: Objects) -> list[str]:
    """Pictures for those who know the method."""
    from evlearn.plotting import DoubtDisplay, MassesDisplay, ObjectiveDisplay

    partition = objects.partition
    caption = "How each sample's mass is spread over sets of clusters; samples sorted by cluster."
    pictures = [drawn(lambda ax: MassesDisplay.from_partition(partition, ax=ax), caption, (9, 5))]
    if partition.n_clusters > 1:
        caption = "Which clusters share samples."
        pictures.append(drawn(lambda ax: DoubtDisplay.from_partition(partition, ax=ax), caption, (6.5, 5)))
    if len(getattr(model, "objective_history_", ())) > 1:
        caption = "The objective, iteration by iteration: it should have settled."
        pictures.append(drawn(lambda ax: ObjectiveDisplay.from_estimator(model, ax=ax), caption, (7, 4)))
    return pictures


def cluster_colors(n_clusters: int) -> list[str]:
    """The colours of the map."""
    from evlearn.plotting.palette import cluster_color

    return [cluster_color(k) for k in range(n_clusters)]


def drawn(draw: Any, caption: str, size: tuple[float, float]) -> str:
    """A figure that belongs to no window and to no pyplot: a report may be written anywhere."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    draw(figure.add_subplot())
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI)
    return html.picture(buffer.getvalue(), caption)


def _coordinates(objects: Objects) -> tuple[FloatArray | None, list[str] | None]:
    """What samples are placed by: two columns of numbers with their names, what the model saw, or all columns."""
    columns = objects.explanation.columns
    plane = [column for column in columns if isinstance(column, Numbers) and column.kind == "number"]
    if len(objects.columns) == len(plane) == 2:
        return _filled(np.column_stack([column.values for column in plane])), [column.name for column in plane]
    if objects.seen is not None:
        seen = objects.seen
        if issparse(seen):
            seen = seen.toarray() if seen.shape[0] * seen.shape[1] <= _MOST_CELLS else None
        values = None if seen is None else np.asarray(seen, dtype=np.float64)
    else:
        values = np.column_stack([column.numbers() for column in columns]) if columns else None
    return (None, None) if values is None or values.shape[1] < 2 or len(values) < 2 else (_filled(values), None)


def _filled(values: FloatArray) -> FloatArray:
    """Gaps at the median of their column."""
    gaps = ~np.isfinite(values)
    known = np.where(gaps, np.nan, values)
    for k in np.flatnonzero(gaps.any(axis=0)):
        present = known[~gaps[:, k], k]
        known[gaps[:, k], k] = np.median(present) if len(present) else 0
    return known


def _placed(
    values: FloatArray, names: list[str] | None, outlier: BoolArray
) -> tuple[FloatArray, tuple[str, str], float | None]:
    """Points, what the axes are called, and which share of all differences they show."""
    if names is not None:
        return values, (names[0], names[1]), None
    near = np.clip(values, *_limits(values, _FARTHEST))
    bulk = near[~outlier] if (~outlier).sum() > 2 else near
    with np.errstate(invalid="ignore"):  # shares of no variance, where all samples are the same
        components = PCA(n_components=2, random_state=0).fit(bulk)
    share = float(components.explained_variance_ratio_.sum())
    return components.transform(near), ("", ""), share if np.isfinite(share) else None


def _view(points: FloatArray, outlier: BoolArray) -> tuple[FloatArray, FloatArray]:
    """The corners of a view of the bulk."""
    return _limits(points[~outlier] if (~outlier).any() else points, _ROOM)


def _limits(values: FloatArray, room: float) -> tuple[FloatArray, FloatArray]:
    """For each column, from where to where its values go, but for those that are far out."""
    low, high = np.quantile(values, [_TAIL, 1 - _TAIL], axis=0)
    width = np.where(high > low, high - low, np.inf)  # of values that are mostly the same, all belong
    return np.maximum(values.min(axis=0), low - room * width), np.minimum(values.max(axis=0), high + room * width)


def _legend_below(ax: Any) -> None:
    """The legend below the map, so that letters can be read where the page is narrow."""
    beside = ax.get_legend()
    if beside is None:
        return
    words = [text.get_text() for text in beside.get_texts()]
    columns = max(1, min(len(words), _LETTERS // (6 + max(map(len, words)))))
    title = beside.get_title().get_text()
    beside.remove()
    place = {"loc": "outside lower center", "ncols": columns, "title": title, "frameon": False}
    ax.figure.legend(beside.legend_handles, words, **place)


def _mark_edge(ax: Any, points: FloatArray, low: FloatArray, high: FloatArray) -> None:
    """A triangle at the edge for each sample that is farther out, pointing to where it is."""
    room = 0.04 * np.where(high > low, high - low, 1)
    side = np.column_stack([(low - points) / room, (points - high) / room]).argmax(axis=1)
    steps = room * np.array([[-1, 0], [0, -1], [1, 0], [0, 1]])
    at = np.clip(points, low, high) + steps[side]
    for k, marker in enumerate(("<", "v", ">", "^")):
        ax.scatter(*at[side == k].T, marker=marker, s=16, color="0.35", zorder=6)
    ax.set(xlim=(low[0] - 2 * room[0], high[0] + 2 * room[0]), ylim=(low[1] - 2 * room[1], high[1] + 2 * room[1]))


def _caption(share: float | None, n_outside: int) -> str:
    parts = []
    if share is not None:
        parts.append(
            "Samples that are alike are close to each other; the axes have no units. "
            f"The map shows {plain.percent(share)} of all differences between samples."
        )
    parts.append(
        "Colours and marks: the nearest cluster. Rings: between clusters, the core in the colour of the other "
        "one. Crosses: fit no cluster."
    )
    if n_outside:
        lie, are = ("sample lies", "it is") if n_outside == 1 else ("samples lie", "they are")
        parts.append(f"{n_outside:,} {lie} farther out; {are} drawn at the edge, with a triangle.")
    return " ".join(parts)
