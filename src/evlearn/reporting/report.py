"""The report itself: what a clustering says, in sentences, pictures and tables."""

import importlib
import os
import platform
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.pipeline import Pipeline

import evlearn
from evlearn.belief import FocalSets
from evlearn.belief.notation import FRAME_LABEL, read_set, written
from evlearn.explain import ClusterProfile, Difference, SampleExplanation, plain
from evlearn.partition import SURE_LEVEL, CredalPartition
from evlearn.partition.estimators import partition_for, split_pipeline
from evlearn.partition.summary import counted
from evlearn.reporting import page as html
from evlearn.reporting import pictures
from evlearn.reporting.objects import Objects
from evlearn.reporting.review import review_table
from evlearn.utils.files import replacing
from evlearn.utils.typing import EstimatorLike, PathLike, TableLike
from evlearn.utils.validation import check_integer, check_real

_MOST_GROUPS = 5
_MOST_COMPARED = 12
_MOST_IN_PAGE = 2000  # samples in the table that the page itself holds
#: What a report says in the place of pictures.
NO_PICTURES = (
    "A report without pictures, because matplotlib is not installed. To have them, run "
    'pip install "evidential-learn[plot]" and write the report again.'
)


def report(
    estimator: EstimatorLike | CredalPartition,
    X: TableLike | None,
    path: PathLike,
    *,
    cluster_names: Sequence[str] | None = None,
    level: float = SURE_LEVEL,
    n_rows: int = 20,
    title: str | None = None,
    review_path: PathLike | None = None,
) -> Path:
    """Write what was found about samples to one HTML file, for people who do not program.

    The page says how many samples are sure, torn or outliers; what makes each cluster different, in the units and
    words of the table; which samples a person should look at, and why. It begins with a warning if the fit has
    problems or one cluster contains nearly all samples. A map shows all samples, and an appendix has what
    specialists ask for. The file holds everything. It opens from disk, without a network, and prints.
    Pictures need matplotlib, ``pip install "evidential-learn[plot]"``; without it the report has a sentence in
    their place.

    Parameters
    ----------
    estimator : fitted estimator or CredalPartition
        An evlearn or scikit-learn clusterer, a `sklearn.pipeline.Pipeline` that ends in one, or a partition.
    X : pandas, polars or pyarrow table, dict of columns, array-like of shape (n_samples, n_columns), or None
        The samples as people know them: for an estimator, the table that it accepts, with the samples of the fit
        or new ones; for a partition, any table with a row for each of its samples, or None. Names of rows and
        columns are shown where X has any.
    path : str or path
        The file, which ends in ``.html`` or ``.htm``. An older file is replaced.
    cluster_names : sequence of str or None, default=None
        A name for each cluster; None means those of the partition, or numbers.
    level : float, default=0.6
        A sample with at least this belief in one cluster is sure, see `evlearn.CredalPartition.verdict`.
        The page says it. `evlearn.CredalPartition.level_leaving` finds the level that leaves a given share of the
        samples to a person.
    n_rows : int, default=20
        The most samples that a table shows.
    title : str or None, default=None
        The title of the page; None makes one.
    review_path : str, path or None, default=None
        A CSV file to write, too: all samples that a person should look at, with the reasons and all columns. The
        page holds the same table, for the first 2,000 of them, as a download.

    Returns
    -------
    Path
        The page.

    See Also
    --------
    evlearn.explain.explain_clusters : The sentences alone.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import evlearn
    >>> from evlearn.cluster import ECM
    >>> from evlearn.datasets import load_butterfly
    >>> X = load_butterfly().data
    >>> model = ECM(2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     evlearn.report(
    ...         model, X, Path(folder) / "butterfly.html", cluster_names=["left", "right"]
    ...     ).name
    'butterfly.html'
    """
    check_real("level", level, 0, 1, open_low=True)
    check_integer("n_rows", n_rows, 1)
    _check_ending("path", path, (".html", ".htm"), "open the page in a browser and print it to have a PDF.")
    if review_path is not None:
        _check_ending("review_path", review_path, (".csv",), "any spreadsheet opens that.")
    partition = partition_for(estimator, X)
    if cluster_names is not None:
        partition = partition.rename(cluster_names=cluster_names)
    objects = Objects.of(partition, X, _seen(estimator, X), level)
    if _knows_no_features(estimator):
        objects = Objects.of(partition, None, None, level)
    if review_path is not None:
        with replacing(review_path) as file:
            file.write(review_table(objects))
    return write_report(estimator, objects, path, n_rows=n_rows, title=title)


def write_report(
    estimator: Any,
    objects: Objects,
    path: PathLike,
    *,
    n_rows: int = 20,
    title: str | None = None,
    remark: str = "",
) -> Path:
    """Write a report about samples whose masses are known already."""
    parts = [
        *(
            html.paragraph(f"Warning: {one}", "problem")
            for one in objects.partition.summary(objects.level).problems
        ),
        _summary(objects, remark),
        _clusters(objects),
        _map(objects),
        _samples(objects, n_rows, Path(path).stem),
        _appendix(estimator, objects, n_rows),
    ]
    sizes = f"{objects.partition.n_samples:,} samples, {counted(objects.partition.n_clusters, 'cluster')}"
    made = f"{sizes}. Made by evidential-learn {evlearn.__version__}, {date.today().isoformat()}."
    text = html.page(title or f"{counted(objects.partition.n_clusters, 'cluster').capitalize()}", made, parts)
    with replacing(path) as file:
        file.write(text.encode(errors="backslashreplace"))
    return Path(path)


def can_draw() -> bool:
    """Whether matplotlib is there, without which a report has no pictures."""
    try:
        importlib.import_module("evlearn.plotting")
    except ImportError:
        return False
    return True


def _check_ending(name: str, path: PathLike, endings: tuple[str, ...], hint: str) -> None:
    if Path(path).suffix.lower() not in endings:
        raise ValueError(f"{name} must end in {' or '.join(endings)}, got {os.fspath(path)!r}; {hint}")


def _seen(estimator: Any, X: Any) -> Any:
    """The table as the clusterer sees it; None if that is not known."""
    if isinstance(estimator, CredalPartition) or X is None:
        return None
    before, _ = split_pipeline(estimator)
    return X if before is None else before.transform(X)


def _knows_no_features(estimator: Any) -> bool:
    """Whether the table of an estimator holds dissimilarities, which nobody wants to read about."""
    if isinstance(estimator, CredalPartition):
        return False
    model = split_pipeline(estimator)[1]
    return "precomputed" in (getattr(model, "metric", None), getattr(model, "affinity", None))


def _summary(objects: Objects, remark: str) -> str:
    summary = objects.partition.summary(objects.level)
    total = summary.n_samples

    def share(count: int) -> str:
        return plain.percent(count / total)

    several = list(summary.torn.items())[:_MOST_GROUPS]
    torn = "; ".join(
        f"{count:,} between {_in_words(name, objects.partition.focal_sets)}" for name, count in several
    )
    more = summary.n_torn - sum(count for _, count in several)
    torn += f"; and {more:,} between others" if more else ""
    sentences = [
        f"Of {total:,} samples, {summary.n_sure:,} ({share(summary.n_sure)}) clearly belong to one of "
        f"{counted(summary.n_clusters, 'cluster')}.",
        f"{summary.n_torn:,} ({share(summary.n_torn)}) are torn: {torn}." if torn else "None is torn.",
        f"{summary.n_outliers:,} ({share(summary.n_outliers)}) fit no cluster: outliers."
        if summary.n_outliers
        else "None is an outlier.",
        remark,
    ]
    numbers = [
        (f"{summary.n_sure:,}", "clearly in one cluster"),
        (f"{summary.n_torn:,}", "torn between clusters"),
        (f"{summary.n_outliers:,}", "fit no cluster"),
    ]
    note = f"Clearly: at least {100 * objects.level:.3g} % of what is known speaks for that cluster alone."
    return html.section(
        "In short", html.facts(numbers), html.paragraph(" ".join(sentences)), html.paragraph(note, "note")
    )


def _in_words(label: str, focal_sets: FocalSets) -> str:
    if label == FRAME_LABEL:
        return "all clusters"
    members = np.flatnonzero(read_set(label, focal_sets.names, focal_sets.frame_size))
    names = [written(focal_sets.frame[cluster]) for cluster in members]
    return f"{'' if focal_sets.names else 'clusters '}{plain.listed(names)}"


def _clusters(objects: Objects) -> str:
    explanation = objects.explanation
    n_clusters = objects.partition.n_clusters
    colors = pictures.cluster_colors(n_clusters) if can_draw() else [None] * n_clusters
    boxes = [_card(objects, profile, color) for profile, color in zip(explanation.clusters, colors, strict=True)]
    note = (
        "What sets each cluster apart, the strongest first. Typically: half of the samples have less, and half "
        "more. Mostly: so are eight in ten. Torn samples count for each of their clusters in part."
    )
    parts = [html.paragraph(note, "note")] if explanation.columns else []
    return html.section("The clusters", *parts, html.cards(boxes), _comparison(objects))


def _card(objects: Objects, profile: ClusterProfile, color: str | None) -> str:
    share = plain.percent(profile.n_sure / objects.partition.n_samples)
    more = profile.n_possible - profile.n_sure
    first = f"{profile.n_sure:,} samples ({share}) clearly belong to it" + (
        f", and {more:,} more may." if more else "."
    )
    points = [_point(one) for one in profile.differences]
    if not points and objects.explanation.columns:
        first += " No column sets it apart."
    names = {
        word: [objects.explanation.sample_name(row) for row in rows]
        for word, rows in (("Typical", profile.typical), ("At the border", profile.border))
        if rows
    }
    return html.card(profile.name[:1].upper() + profile.name[1:], color, first, points, names)


def _point(difference: Difference) -> tuple[str, str, str]:
    """The name of the feature, what is different, and what all have."""
    told = difference.text.removeprefix(difference.feature)
    place = told.rindex("(all: ")
    return difference.feature, told[:place], told[place:]


def _comparison(objects: Objects) -> str:
    """The features that set clusters apart, side by side."""
    strongest: dict[str, float] = {}
    for profile in objects.explanation.clusters:
        for one in profile.differences:
            strongest[one.feature] = max(one.effect, strongest.get(one.feature, 0))
    chosen = sorted(strongest, key=lambda name: -strongest[name])[:_MOST_COMPARED]
    if not chosen:
        return ""
    columns = {column.name: column for column in objects.explanation.columns}
    names = [profile.name for profile in objects.explanation.clusters]
    rows: list[list[object]] = [
        [name, *(columns[name].typical(k) for k in range(len(names))), columns[name].typical(-1)]
        for name in chosen
    ]
    note = "What is typical of each cluster: the middle value, or the most frequent category with its share."
    return html.section(
        "Side by side", html.paragraph(note, "note"), html.table(["", *names, "all"], rows), level=3
    )


def _map(objects: Objects) -> str:
    if not can_draw():
        return html.section("A map of the samples", html.paragraph(NO_PICTURES))
    picture = pictures.map_picture(objects)
    return "" if picture is None else html.section("A map of the samples", picture)


def _samples(objects: Objects, n_rows: int, stem: str) -> str:
    torn, outliers = objects.explanation.torn, objects.explanation.outliers
    total = len(torn) + len(outliers)
    if not total:
        return html.section(
            "Samples to look at", html.paragraph("None: no sample is torn, and none is an outlier.")
        )
    some = f"the first {_MOST_IN_PAGE:,} of {total:,}" if total > _MOST_IN_PAGE else f"all {total:,}"
    link = html.download(
        f"Save {some} as a table (CSV)", review_table(objects, _MOST_IN_PAGE), f"{stem}_to_look_at.csv"
    )
    return html.section(
        "Samples to look at",
        link,
        _some_samples("Torn between clusters", "No sample is torn.", torn, n_rows),
        _some_samples("Fit no cluster", "No sample is an outlier.", outliers, n_rows),
    )


def _some_samples(heading: str, nothing: str, found: Sequence[SampleExplanation], n_rows: int) -> str:
    if not found:
        return html.section(heading, html.paragraph(nothing), level=3)
    torn = bool(found[0].clusters)
    first = "those in the greatest doubt" if torn else "those that are the farthest out"
    which = f"The first {n_rows:,} of {len(found):,}, {first}." if len(found) > n_rows else ""
    rows: list[list[object]] = [
        [one.sample, *([" or ".join(one.clusters)] if torn else []), "\n".join(one.sentences[1:])]
        for one in found[:n_rows]
    ]
    columns = ["sample", "may be in", "what speaks for each"] if torn else ["sample", "what is unusual"]
    note = [html.paragraph(which, "note")] if which else []
    return html.section(heading, *note, html.table(columns, rows, long=columns[-1]), level=3)


def _appendix(estimator: Any, objects: Objects, n_rows: int) -> str:
    before, model = (None, None) if isinstance(estimator, CredalPartition) else split_pipeline(estimator)
    doubt = objects.partition.doubt()[~objects.verdict.outlier]
    figures = (
        f"Average doubt: {float(doubt.mean()) if len(doubt) else 1.0:.2f}, from 0 to 1. doubt: the part of the "
        "belief that is not in the most plausible cluster alone. none: the mass of belonging to no cluster. pl: "
        "how plausible each cluster is, from 0 to 1."
    )
    rows = np.concatenate([objects.most_torn()[:n_rows], objects.farthest()[:n_rows]])
    parts = [
        *(pictures.technical_pictures(model, objects) if can_draw() else []),
        _prototypes(before, model, objects),
        html.section("Doubt in figures", html.paragraph(figures), level=3),
        html.table(*objects.figures(rows)) if len(rows) else "",
        _left_out(objects),
        _parameters(before, model),
    ]
    return html.folded("Appendix for specialists", *parts)


def _prototypes(before: Pipeline | None, model: Any, objects: Objects) -> str:
    verdict = objects.verdict
    sure = verdict.candidates[verdict.sure]
    centers = getattr(model, "cluster_centers_", None)
    if centers is not None and before is not None:  # in the user's units, or not at all
        centers = _in_the_units_of_the_user(before, centers, len(objects.columns))
    shown = [] if centers is None else objects.columns[:_MOST_COMPARED]
    rows: list[list[object]] = []
    for k, name in enumerate(objects.partition.cluster_names):
        row: list[object] = [str(name), int(sure[:, k].sum()), int(verdict.candidates[:, k].sum())]
        rows.append(row + ([] if centers is None else [float(value) for value in centers[k][: len(shown)]]))
    note = "Sure: samples of this cluster and no other. Possible: samples that may be in it."
    if centers is not None:
        note += " The features are those of its prototype."
    table = html.table(["cluster", "sure", "possible", *shown], rows)
    return html.section("Clusters in figures", html.paragraph(note), table, level=3)


def _in_the_units_of_the_user(before: Pipeline, centers: Any, n_columns: int) -> Any:
    if not hasattr(before, "inverse_transform"):
        return None
    found = np.asarray(before.inverse_transform(centers))
    return found if found.dtype.kind == "f" and found.shape[1] == n_columns else None


def _left_out(objects: Objects) -> str:
    left = objects.explanation.left_out
    if not left:
        return ""
    rows: list[list[object]] = [[name, why] for name, why in left.items()]
    return html.section("Columns that are not explained", html.table(["column", "because"], rows), level=3)


def _parameters(before: Pipeline | None, model: Any) -> str:
    rows: list[list[object]] = [] if model is None else [["method", type(model).__name__]]
    rows += [] if before is None else [["first", _short(step, 400)] for _, step in before.steps]
    rows += [] if model is None else [[name, _short(value)] for name, value in sorted(model.get_params().items())]
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
    table = html.table(["parameter", "value"], rows) if rows else ""
    return html.section("Parameters and versions", table, html.paragraph(versions), level=3)


def _short(value: Any, length: int = 60) -> str:
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= length else text[: length - 3] + "..."
