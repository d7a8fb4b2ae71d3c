"""The report itself: what a fitted clustering says, in sentences, pictures and tables."""

import importlib
import io
import os
import platform
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import evlearn
from evlearn.belief import FocalSets
from evlearn.belief.notation import FRAME_LABEL, read_set, written
from evlearn.partition import SURE_LEVEL
from evlearn.partition.estimators import partition_of, split_pipeline
from evlearn.partition.summary import counted
from evlearn.reporting import page as html
from evlearn.reporting.objects import Objects
from evlearn.utils.files import replacing
from evlearn.utils.typing import EstimatorLike
from evlearn.utils.validation import check_integer, check_real

_MOST_GROUPS = 5
#: What a report says in the place of pictures.
NO_PICTURES = (
    "A report without pictures, because matplotlib is not installed. To have them, run "
    'pip install "evidential-learn[plot]" and write the report again.'
)


def report(
    estimator: EstimatorLike,
    X: ArrayLike,
    path: str | os.PathLike[str],
    *,
    level: float = SURE_LEVEL,
    n_rows: int = 20,
    title: str | None = None,
) -> Path:
    """Write what a fitted estimator says about samples to one HTML file, for people who do not program.

    The file holds everything: sentences, pictures, the samples that are most torn and the outliers with their
    names and features, parameters and versions. It opens from disk, without a network, and prints. Pictures need
    matplotlib, ``pip install "evidential-learn[plot]"``; without it the report has a sentence in their place.

    Parameters
    ----------
    estimator : object
        A fitted clusterer of `evlearn.cluster`, or a `sklearn.pipeline.Pipeline` that ends in one.
    X : array-like of shape (n_samples, n_features)
        The samples, as given to `fit`, or new ones. Names of rows and columns are shown where X is a frame.
    path : str or path
        The file, as a rule with the ending ``.html``. An older file is replaced.
    level : float, default=0.6
        The belief in one cluster from which on a sample is called sure, see `evlearn.CredalPartition.verdict`.
        The page says it. `evlearn.CredalPartition.level_leaving` finds the level that leaves a given share of the
        samples to a person.
    n_rows : int, default=20
        The most samples that a table shows.
    title : str or None, default=None
        The title of the page; None makes one.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import evlearn
    >>> from evlearn.cluster import ECM
    >>> from evlearn.datasets import load_butterfly
    >>> X = load_butterfly().data
    >>> model = ECM(2, delta=5, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     evlearn.report(model, X, Path(folder) / "butterfly.html").name
    'butterfly.html'
    """
    check_is_fitted(estimator)
    check_real("level", level, 0, 1, open_low=True)
    check_integer("n_rows", n_rows, 1)
    before, model = split_pipeline(estimator)
    seen = X if before is None else before.transform(X)
    precomputed = getattr(model, "metric", None) == "precomputed"
    objects = Objects.of(partition_of(model, seen), X, None if precomputed else seen, level)
    return write_report(estimator, objects, path, n_rows=n_rows, title=title)


def write_report(
    estimator: Any,
    objects: Objects,
    path: str | os.PathLike[str],
    *,
    n_rows: int = 20,
    title: str | None = None,
    remark: str = "",
) -> Path:
    """Write a report about samples whose masses are known already."""
    before, model = split_pipeline(estimator)
    method = type(model).__name__
    parts = [
        _summary(objects, remark),
        html.section("Pictures", *(_pictures(model, objects) if can_draw() else [html.paragraph(NO_PICTURES)])),
        _clusters(before, model, objects),
        _objects("Samples between clusters", "No sample is torn.", objects, objects.most_torn(n_rows)),
        _objects("Outliers", "No sample is an outlier.", objects, objects.farthest(n_rows)),
        _parameters(before, model),
    ]
    made = f"{method} by evidential-learn {evlearn.__version__}, {date.today().isoformat()}"
    with replacing(path) as file:
        file.write(
            html.page(title or f"{method}: {objects.partition.n_clusters} clusters", made, parts).encode(
                errors="backslashreplace"
            )
        )
    return Path(path)


def can_draw() -> bool:
    """Whether matplotlib is there, without which a report has no pictures."""
    try:
        importlib.import_module("evlearn.plotting")
    except ImportError:
        return False
    return True


def _summary(objects: Objects, remark: str) -> str:
    partition = objects.partition
    summary = partition.summary(objects.level)
    total = summary.n_samples

    def share(count: int) -> str:
        return f"{100 * count / total:.0f} %"

    several = list(summary.torn.items())[:_MOST_GROUPS]
    torn = "; ".join(f"{count:,} between {_in_words(name, partition.focal_sets)}" for name, count in several)
    more = summary.n_torn - sum(count for _, count in several)
    torn += f"; and {more:,} between others" if more else ""
    sentences = [
        f"Of {total:,} samples, {summary.n_sure:,} ({share(summary.n_sure)}) are sure of one of "
        f"{counted(summary.n_clusters, 'cluster')}: at least {100 * objects.level:.3g} % of the belief about "
        "each of them is in that cluster alone.",
        f"{summary.n_torn:,} ({share(summary.n_torn)}) are torn: {torn}." if torn else "None is torn.",
        f"{summary.n_outliers:,} ({share(summary.n_outliers)}) are far from all clusters: outliers."
        if summary.n_outliers
        else "None is an outlier.",
        remark,
    ]
    inside = ~objects.verdict.outlier
    doubt = float(partition.doubt()[inside].mean()) if inside.any() else 1.0
    numbers = [
        (f"{summary.n_sure:,}", "sure"),
        (f"{summary.n_torn:,}", "torn"),
        (f"{summary.n_outliers:,}", "outliers"),
        (f"{doubt:.2f}", "average doubt, from 0 to 1"),
    ]
    return html.section("Summary", html.facts(numbers), html.paragraph(" ".join(sentences)))


def _in_words(label: str, focal_sets: FocalSets) -> str:
    if label == FRAME_LABEL:
        return "all clusters"
    members = np.flatnonzero(read_set(label, focal_sets.names, focal_sets.frame_size))
    *first, last = (written(focal_sets.frame[cluster]) for cluster in members)
    return f"clusters {', '.join(first)} and {last}"


def _pictures(model: Any, objects: Objects) -> list[str]:
    # Figures that belong to no window and to no pyplot: a report may be written anywhere.
    from matplotlib.figure import Figure

    from evlearn.plotting import CredalPartitionDisplay, DoubtDisplay, MassesDisplay, ObjectiveDisplay
    from evlearn.plotting.names import on_axis

    def drawn(draw: Any, caption: str, size: tuple[float, float]) -> str:
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.add_subplot())
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=110)
        return html.picture(buffer.getvalue(), caption)

    partition = objects.partition
    pictures = []

    def plane(ax: Any) -> None:
        two = len(objects.columns) == 2
        values = objects.values if two else objects.seen
        CredalPartitionDisplay.from_partition(partition, values, level=objects.level, ax=ax)
        if two:
            names = [on_axis(name) for name in objects.columns]
            ax.set(xlabel=ax.get_xlabel().replace("feature 0", names[0], 1), ylabel=names[1])

    if len(objects.columns) > 1:
        caption = (
            "Colours and marks: the most plausible cluster. Hollow marks: torn. Crosses: outliers. "
            "Solid outlines go around the sure samples of a cluster, dashed ones around all that may be in it."
        )
        pictures.append(drawn(plane, caption, (9, 5.5)))
    caption = "How each sample's mass is spread over sets of clusters; samples sorted by cluster."
    pictures.append(drawn(lambda ax: MassesDisplay.from_partition(partition, ax=ax), caption, (9, 5)))
    if partition.n_clusters > 1:
        caption = "Which clusters share samples."
        pictures.append(drawn(lambda ax: DoubtDisplay.from_partition(partition, ax=ax), caption, (6.5, 5)))
    if len(getattr(model, "objective_history_", ())) > 1:
        caption = "The objective, iteration by iteration: it should have settled."
        pictures.append(drawn(lambda ax: ObjectiveDisplay.from_estimator(model, ax=ax), caption, (7, 4)))
    return pictures


def _clusters(before: Pipeline | None, model: Any, objects: Objects) -> str:
    partition = objects.partition
    possible = objects.verdict.candidates
    sure = possible[objects.verdict.sure]
    centers = getattr(model, "cluster_centers_", None)
    if centers is not None and before is not None:  # in the user's units, or not at all
        centers = before.inverse_transform(centers) if hasattr(before, "inverse_transform") else None
    shown = [] if centers is None else objects.shown
    columns = ["cluster", "sure", "possible", *shown]
    rows: list[list[object]] = []
    for k, name in enumerate(partition.cluster_names):
        row: list[object] = [str(name), int(sure[:, k].sum()), int(possible[:, k].sum())]
        rows.append(row + ([] if centers is None else [float(value) for value in centers[k][: len(shown)]]))
    note = "Sure: samples of this cluster and no other. Possible: samples that may be in it."
    if centers is not None:
        note += " The features are those of its prototype."
    return html.section("Clusters", html.paragraph(note), html.table(columns, rows))


def _objects(heading: str, nothing: str, objects: Objects, chosen: Any) -> str:
    if len(chosen) == 0:
        return html.section(heading, html.paragraph(nothing))
    note = (
        "doubt: the part of the belief that is not in the most plausible cluster alone. none: the mass of "
        "belonging to no cluster. pl: how plausible each cluster is, from 0 to 1."
    )
    return html.section(heading, html.paragraph(note), html.table(*objects.rows(chosen)))


def _parameters(before: Pipeline | None, model: Any) -> str:
    rows: list[list[object]] = [] if before is None else [["first", repr(step)] for _, step in before.steps]
    rows += [[name, _short(value)] for name, value in sorted(model.get_params().items())]
    versions = ", ".join(
        f"{name} {version}"
        for name, version in (
            ("evidential-learn", evlearn.__version__),
            ("scikit-learn", sklearn.__version__),
            ("NumPy", np.__version__),
            ("SciPy", scipy.__version__),
            ("Python", platform.python_version()),
        )
    )
    return html.section(
        "Parameters and versions", html.table(["parameter", "value"], rows), html.paragraph(versions)
    )


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
