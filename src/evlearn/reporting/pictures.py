"""Plots of a report: a map that is robust to outliers, and technical plots for the appendix."""

import io
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.decomposition import PCA

from evlearn.explain.columns import Numbers
from evlearn.reporting import page as html
from evlearn.reporting.samples import Samples
from evlearn.utils.formatting import format_rounded, format_share
from evlearn.utils.typing import BoolArray, FloatArray

_MAX_DENSE_CELLS = 50_000_000
_TAIL = 0.05  # share of the samples at each end of an axis that does not affect the view
_VIEW_MARGIN = 1.0  # of the view, relative to the width of the bulk
_DPI = 120
_LEGEND_WIDTH = 60  # characters per line of the legend
_PROJECTION_MARGIN = 3.0  # relative to the width of the bulk; values are clipped before the projection


def map_picture(samples: Samples) -> str | None:
    """Return a map of the samples, or None if they have fewer than 2 features."""
    from evlearn.plotting import CredalPartitionDisplay
    from evlearn.plotting.partition_display import rivals_of

    values, names = _coordinates(samples)
    if values is None:
        return None
    points, axes, share = _project(values, names, samples.verdict.outlier)
    low, high = _view_limits(points, samples.verdict.outlier)
    clipped = np.clip(points, low, high)
    off_map = (clipped != points).any(axis=1)
    clusters = samples.partition.to_hard()
    display = CredalPartitionDisplay(
        points=clipped,
        clusters=clusters,
        torn=samples.verdict.torn,
        outliers=samples.verdict.outlier,
        lower_hulls=(),
        upper_hulls=(),
        rivals=rivals_of(samples.verdict.candidates, clusters),
        cluster_names=samples.partition.cluster_names,
        axis_labels=axes,
    )

    def draw(ax: Any) -> None:
        display.plot(ax, hulls=False)
        _move_legend_below(ax)
        _mark_clipped(ax, points[off_map], low, high)
        if names is None:
            ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
        else:
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(lambda value, _: format_rounded(float(value)))

    return render_figure(draw, _caption(share, int(off_map.sum())), (6.8, 5.4))


def technical_pictures(model: Any, samples: Samples) -> list[str]:
    """Return plots for specialists."""
    from evlearn.plotting import DoubtDisplay, MassesDisplay, ObjectiveDisplay

    partition = samples.partition
    caption = "Mass of each sample on sets of clusters; samples are sorted by cluster."
    pictures = [render_figure(lambda ax: MassesDisplay.from_result(partition, ax=ax), caption, (9, 5))]
    if partition.n_clusters > 1:
        caption = "Mass shared by pairs of clusters."
        pictures.append(render_figure(lambda ax: DoubtDisplay.from_result(partition, ax=ax), caption, (6.5, 5)))
    if len(getattr(model, "objective_history_", ())) > 1:
        caption = "Objective after each iteration; it should have stabilized."
        pictures.append(render_figure(lambda ax: ObjectiveDisplay.from_estimator(model, ax=ax), caption, (7, 4)))
    return pictures


def cluster_colors(n_clusters: int) -> list[str]:
    """Return the colors of clusters on the map."""
    from evlearn.plotting.palette import cluster_color

    return [cluster_color(k) for k in range(n_clusters)]


def render_figure(draw: Any, caption: str, size: tuple[float, float]) -> str:
    """Draw a figure without pyplot, so that no display is needed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    draw(figure.add_subplot())
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI)
    return html.picture(buffer.getvalue(), caption)


def _coordinates(samples: Samples) -> tuple[FloatArray | None, list[str] | None]:
    """Return the values to plot: 2 numeric columns with their names, the model input, or all columns."""
    columns = samples.explanation.columns
    numeric = [column for column in columns if isinstance(column, Numbers) and column.kind == "number"]
    if len(samples.columns) == len(numeric) == 2:
        return _fill_missing(np.column_stack([column.values for column in numeric])), [
            column.name for column in numeric
        ]
    if samples.model_input is not None:
        model_input = samples.model_input
        if issparse(model_input):
            model_input = (
                model_input.toarray() if model_input.shape[0] * model_input.shape[1] <= _MAX_DENSE_CELLS else None
            )
        values = None if model_input is None else np.asarray(model_input, dtype=np.float64)
    else:
        values = np.column_stack([column.numbers() for column in columns]) if columns else None
    return (
        (None, None) if values is None or values.shape[1] < 2 or len(values) < 2 else (_fill_missing(values), None)
    )


def _fill_missing(values: FloatArray) -> FloatArray:
    """Replace missing values by the median of their column."""
    missing = ~np.isfinite(values)
    filled = np.where(missing, np.nan, values)
    for k in np.flatnonzero(missing.any(axis=0)):
        present = filled[~missing[:, k], k]
        filled[missing[:, k], k] = np.median(present) if len(present) else 0
    return filled


def _project(
    values: FloatArray, names: list[str] | None, outlier: BoolArray
) -> tuple[FloatArray, tuple[str, str], float | None]:
    """Return points, names of the axes, and the share of the variance that they show."""
    if names is not None:
        return values, (names[0], names[1]), None
    clipped = np.clip(values, *_limits(values, _PROJECTION_MARGIN))
    bulk = clipped[~outlier] if (~outlier).sum() > 2 else clipped
    with np.errstate(invalid="ignore"):  # variances are 0 if all samples are equal
        components = PCA(n_components=2, random_state=0).fit(bulk)
    share = float(components.explained_variance_ratio_.sum())
    return components.transform(clipped), ("", ""), share if np.isfinite(share) else None


def _view_limits(points: FloatArray, outlier: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return the lower and upper limits of the view."""
    return _limits(points[~outlier] if (~outlier).any() else points, _VIEW_MARGIN)


def _limits(values: FloatArray, margin: float) -> tuple[FloatArray, FloatArray]:
    """Return the lower and upper limit of each column, without extreme values."""
    low, high = np.quantile(values, [_TAIL, 1 - _TAIL], axis=0)
    width = np.where(high > low, high - low, np.inf)  # if most values are equal, none is excluded
    return np.maximum(values.min(axis=0), low - margin * width), np.minimum(
        values.max(axis=0), high + margin * width
    )


def _move_legend_below(ax: Any) -> None:
    """Move the legend below the map, where it is readable on narrow screens."""
    legend = ax.get_legend()
    if legend is None:
        return
    labels = [text.get_text() for text in legend.get_texts()]
    columns = max(1, min(len(labels), _LEGEND_WIDTH // (6 + max(map(len, labels)))))
    title = legend.get_title().get_text()
    legend.remove()
    options = {"loc": "outside lower center", "ncols": columns, "title": title, "frameon": False}
    ax.figure.legend(legend.legend_handles, labels, **options)


def _mark_clipped(ax: Any, points: FloatArray, low: FloatArray, high: FloatArray) -> None:
    """Draw a triangle at the edge for each sample outside the view, in its direction."""
    margin = 0.04 * np.where(high > low, high - low, 1)
    sides = np.column_stack([(low - points) / margin, (points - high) / margin]).argmax(axis=1)
    steps = margin * np.array([[-1, 0], [0, -1], [1, 0], [0, 1]])
    positions = np.clip(points, low, high) + steps[sides]
    for k, marker in enumerate(("<", "v", ">", "^")):
        ax.scatter(*positions[sides == k].T, marker=marker, s=16, color="0.35", zorder=6)
    ax.set(
        xlim=(low[0] - 2 * margin[0], high[0] + 2 * margin[0]),
        ylim=(low[1] - 2 * margin[1], high[1] + 2 * margin[1]),
    )


def _caption(share: float | None, n_outside: int) -> str:
    parts = []
    if share is not None:
        parts.append(
            "Similar samples are close to each other; the axes have no units. "
            f"The map shows {format_share(share)} of the variation between samples."
        )
    parts.append(
        "Colors and marker shapes: most likely cluster. Rings: torn between clusters, with the second cluster as "
        "the inner color. Crosses: outliers, which fit no cluster."
    )
    if n_outside:
        subject, pronoun = ("sample is", "it is") if n_outside == 1 else ("samples are", "they are")
        parts.append(f"{n_outside:,} {subject} outside the map; {pronoun} drawn as triangles at the edge.")
    return " ".join(parts)
