"""Report on a clustering as an HTML page."""

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
from evlearn.belief.notation import FRAME_LABEL, format_name, read_set
from evlearn.explain.columns import Difference
from evlearn.explain.profiles import ClusterProfile, SampleExplanation
from evlearn.partition import SURE_LEVEL, CredalPartition
from evlearn.partition.estimators import partition_for, split_pipeline
from evlearn.reporting import page as html
from evlearn.reporting import pictures
from evlearn.reporting.samples import Samples, review_table
from evlearn.utils.files import atomic_write
from evlearn.utils.formatting import format_count, format_share, join_words
from evlearn.utils.typing import EstimatorLike, PathLike, TableLike
from evlearn.utils.validation import check_integer, check_real

_MAX_GROUPS = 5
_MAX_FEATURES = 12
_MAX_EMBEDDED = 2000  # samples in the embedded CSV file
#: Text of a report instead of plots.
NO_PICTURES = (
    "This report has no plots, because matplotlib is not installed. To add them, run "
    'pip install "evidential-learn[plot]" and create the report again.'
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
    """Write a report on a clustering to a single HTML file, for readers who do not program.

    The page shows the numbers of sure, torn and outlying samples, the differences between clusters in the units
    and categories of the table, the samples to review with reasons, and a map of all samples. It starts with a
    warning if the fit has problems or one cluster contains nearly all samples. An appendix has technical details.
    The file is self-contained: it needs no network and can be printed. Plots need matplotlib
    (``pip install "evidential-learn[plot]"``).

    Parameters
    ----------
    estimator : fitted estimator or CredalPartition
        An evlearn or scikit-learn clusterer, a `sklearn.pipeline.Pipeline` that ends in one, or a partition.
    X : pandas, polars or pyarrow table, dict of columns, array-like of shape (n_samples, n_columns), or None
        Samples in their original form: for an estimator, the table that it accepts, with the samples of the fit or
        new ones; for a partition, any table with a row for each of its samples, or None. Names of rows and columns
        are shown.
    path : str or path
        Name of the file, ending in ``.html`` or ``.htm``. An existing file is replaced.
    cluster_names : sequence of str or None, default=None
        Names of the clusters; None uses those of the partition, or numbers.
    level : float, default=0.6
        A sample with at least this belief in one cluster is sure, see `evlearn.CredalPartition.verdict`.
        The page mentions it. `evlearn.CredalPartition.find_level` finds the level at which a given share of the
        samples is torn.
    n_rows : int, default=20
        Maximum number of samples per table.
    title : str or None, default=None
        Title of the page; None uses the number of clusters.
    review_path : str, path or None, default=None
        Name of an additional CSV file of all samples to review, with the reasons and all columns. The page
        contains the first 2,000 of them as a download.

    Returns
    -------
    Path
        Path of the page.

    See Also
    --------
    evlearn.explain.explain_clusters : Only the sentences.

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
    _check_suffix("path", path, (".html", ".htm"), "for a PDF, open the page in a browser and print it.")
    if review_path is not None:
        _check_suffix("review_path", review_path, (".csv",), "spreadsheet programs can open CSV files.")
    partition = partition_for(estimator, X)
    if cluster_names is not None:
        partition = partition.rename(cluster_names=cluster_names)
    samples = Samples.from_table(partition, X, _model_input(estimator, X), level)
    if _uses_dissimilarities(estimator):
        samples = Samples.from_table(partition, None, None, level)
    if review_path is not None:
        with atomic_write(review_path) as file:
            file.write(review_table(samples))
    return write_report(estimator, samples, path, n_rows=n_rows, title=title)


def write_report(
    estimator: Any,
    samples: Samples,
    path: PathLike,
    *,
    n_rows: int = 20,
    title: str | None = None,
    remark: str = "",
) -> Path:
    """Write a report on samples with given masses."""
    parts = [
        *(
            html.paragraph(f"Warning: {problem}", "problem")
            for problem in samples.partition.summary(samples.level).problems
        ),
        _summary(samples, remark),
        _clusters(samples),
        _map(samples),
        _samples(samples, n_rows, Path(path).stem),
        _appendix(estimator, samples, n_rows),
    ]
    sizes = f"{samples.partition.n_samples:,} samples, {format_count(samples.partition.n_clusters, 'cluster')}"
    subtitle = f"{sizes}. Created by evidential-learn {evlearn.__version__}, {date.today().isoformat()}."
    text = html.page(
        title or f"{format_count(samples.partition.n_clusters, 'cluster').capitalize()}", subtitle, parts
    )
    with atomic_write(path) as file:
        file.write(text.encode(errors="backslashreplace"))
    return Path(path)


def can_draw() -> bool:
    """Return True if matplotlib is installed."""
    try:
        importlib.import_module("evlearn.plotting")
    except ImportError:
        return False
    return True


def _check_suffix(name: str, path: PathLike, suffixes: tuple[str, ...], hint: str) -> None:
    if Path(path).suffix.lower() not in suffixes:
        raise ValueError(f"{name} must end in {' or '.join(suffixes)}, got {os.fspath(path)!r}; {hint}")


def _model_input(estimator: Any, X: Any) -> Any:
    """Return the table after the transformers of a pipeline, None if it is unknown."""
    if isinstance(estimator, CredalPartition) or X is None:
        return None
    steps, _ = split_pipeline(estimator)
    return X if steps is None else steps.transform(X)


def _uses_dissimilarities(estimator: Any) -> bool:
    """Return True if the input of an estimator is a matrix of dissimilarities."""
    if isinstance(estimator, CredalPartition):
        return False
    model = split_pipeline(estimator)[1]
    return "precomputed" in (getattr(model, "metric", None), getattr(model, "affinity", None))


def _summary(samples: Samples, remark: str) -> str:
    summary = samples.partition.summary(samples.level)
    total = summary.n_samples

    def share(count: int) -> str:
        return format_share(count / total)

    groups = list(summary.torn.items())[:_MAX_GROUPS]
    torn = "; ".join(
        f"{count:,} between {_describe_set(name, samples.partition.focal_sets)}" for name, count in groups
    )
    n_rest = summary.n_torn - sum(count for _, count in groups)
    torn += f"; and {n_rest:,} between other sets of clusters" if n_rest else ""
    sentences = [
        f"Of {total:,} samples, {summary.n_sure:,} ({share(summary.n_sure)}) clearly belong to one of "
        f"{format_count(summary.n_clusters, 'cluster')}.",
        f"{summary.n_torn:,} ({share(summary.n_torn)}) are torn: {torn}." if torn else "No sample is torn.",
        f"{summary.n_outliers:,} ({share(summary.n_outliers)}) are outliers, which fit no cluster."
        if summary.n_outliers
        else "No sample is an outlier.",
        remark,
    ]
    numbers = [
        (f"{summary.n_sure:,}", "clearly in one cluster"),
        (f"{summary.n_torn:,}", "torn between clusters"),
        (f"{summary.n_outliers:,}", "fit no cluster"),
    ]
    note = f"Clearly: at least {100 * samples.level:.3g} % of the evidence supports that cluster alone."
    return html.section(
        "Summary", html.facts(numbers), html.paragraph(" ".join(sentences)), html.paragraph(note, "note")
    )


def _describe_set(label: str, focal_sets: FocalSets) -> str:
    if label == FRAME_LABEL:
        return "all clusters"
    members = np.flatnonzero(read_set(label, focal_sets.names, focal_sets.frame_size))
    names = [format_name(focal_sets.frame[cluster]) for cluster in members]
    return f"{'' if focal_sets.names else 'clusters '}{join_words(names)}"


def _clusters(samples: Samples) -> str:
    explanation = samples.explanation
    n_clusters = samples.partition.n_clusters
    colors = pictures.cluster_colors(n_clusters) if can_draw() else [None] * n_clusters
    boxes = [_card(samples, profile, color) for profile, color in zip(explanation.clusters, colors, strict=True)]
    note = (
        "Differences of each cluster from all samples, largest first. Typically: the median. Mostly: the range of "
        "the middle 80 %. Torn samples count partly for each of their possible clusters."
    )
    parts = [html.paragraph(note, "note")] if explanation.columns else []
    return html.section("The clusters", *parts, html.cards(boxes), _comparison(samples))


def _card(samples: Samples, profile: ClusterProfile, color: str | None) -> str:
    share = format_share(profile.n_sure / samples.partition.n_samples)
    n_torn = profile.n_possible - profile.n_sure
    lead = f"{profile.n_sure:,} samples ({share}) clearly belong to it" + (
        f", and {n_torn:,} more may belong to it." if n_torn else "."
    )
    points = [_point(difference) for difference in profile.differences]
    if not points and samples.explanation.columns:
        lead += " No feature distinguishes it."
    names = {
        label: [samples.explanation.sample_name(row) for row in rows]
        for label, rows in (("Typical", profile.typical), ("At the border", profile.border))
        if rows
    }
    return html.card(profile.name[:1].upper() + profile.name[1:], color, lead, points, names)


def _point(difference: Difference) -> tuple[str, str, str]:
    """Split a sentence into feature, value of the cluster, and value of all samples."""
    text = difference.text.removeprefix(difference.feature)
    start = text.rindex("(all: ")
    return difference.feature, text[:start], text[start:]


def _comparison(samples: Samples) -> str:
    """Return a table of the features that differ most between clusters."""
    strongest: dict[str, float] = {}
    for profile in samples.explanation.clusters:
        for difference in profile.differences:
            strongest[difference.feature] = max(difference.effect, strongest.get(difference.feature, 0))
    chosen = sorted(strongest, key=lambda name: -strongest[name])[:_MAX_FEATURES]
    if not chosen:
        return ""
    columns = {column.name: column for column in samples.explanation.columns}
    names = [profile.name for profile in samples.explanation.clusters]
    rows: list[list[object]] = [
        [name, *(columns[name].typical(k) for k in range(len(names))), columns[name].typical(-1)]
        for name in chosen
    ]
    note = "Typical values: the median, or the most frequent category with its share."
    return html.section(
        "Side by side", html.paragraph(note, "note"), html.table(["", *names, "all"], rows), level=3
    )


def _map(samples: Samples) -> str:
    if not can_draw():
        return html.section("Map of the samples", html.paragraph(NO_PICTURES))
    picture = pictures.map_picture(samples)
    return "" if picture is None else html.section("Map of the samples", picture)


def _samples(samples: Samples, n_rows: int, stem: str) -> str:
    torn, outliers = samples.explanation.torn, samples.explanation.outliers
    total = len(torn) + len(outliers)
    if not total:
        return html.section("Samples to review", html.paragraph("None: no sample is torn or an outlier."))
    extent = f"the first {_MAX_EMBEDDED:,} of {total:,}" if total > _MAX_EMBEDDED else f"all {total:,}"
    link = html.download(
        f"Download {extent} as a table (CSV)", review_table(samples, _MAX_EMBEDDED), f"{stem}_to_review.csv"
    )
    return html.section(
        "Samples to review",
        link,
        _sample_table("Torn between clusters", "No sample is torn.", torn, n_rows),
        _sample_table("Fit no cluster", "No sample is an outlier.", outliers, n_rows),
    )


def _sample_table(heading: str, empty_text: str, explanations: Sequence[SampleExplanation], n_rows: int) -> str:
    if not explanations:
        return html.section(heading, html.paragraph(empty_text), level=3)
    torn = bool(explanations[0].clusters)
    order = "sorted by doubt" if torn else "sorted by outlier score"
    note_text = (
        f"First {n_rows:,} of {len(explanations):,} samples, {order}." if len(explanations) > n_rows else ""
    )
    rows: list[list[object]] = [
        [sample.sample, *([" or ".join(sample.clusters)] if torn else []), "\n".join(sample.sentences[1:])]
        for sample in explanations[:n_rows]
    ]
    columns = ["sample", "may be in", "supporting values"] if torn else ["sample", "unusual values"]
    note = [html.paragraph(note_text, "note")] if note_text else []
    return html.section(heading, *note, html.table(columns, rows, long=columns[-1]), level=3)


def _appendix(estimator: Any, samples: Samples, n_rows: int) -> str:
    steps, model = (None, None) if isinstance(estimator, CredalPartition) else split_pipeline(estimator)
    doubt = samples.partition.doubt()[~samples.verdict.outlier]
    figures = (
        f"Average doubt: {float(doubt.mean()) if len(doubt) else 1.0:.2f}, from 0 to 1. Columns: doubt is the "
        "part of the belief that is not in the most plausible cluster alone; none is the mass of the empty set, "
        "which means no cluster; pl is the plausibility of each cluster, from 0 to 1."
    )
    rows = np.concatenate([samples.torn_positions()[:n_rows], samples.outlier_positions()[:n_rows]])
    parts = [
        *(pictures.technical_pictures(model, samples) if can_draw() else []),
        _prototypes(steps, model, samples),
        html.section("Doubt in numbers", html.paragraph(figures), level=3),
        html.table(*samples.numeric_table(rows)) if len(rows) else "",
        _excluded_columns(samples),
        _members(model),
        _parameters(steps, model),
    ]
    return html.collapsible("Technical appendix", *parts)


def _prototypes(steps: Pipeline | None, model: Any, samples: Samples) -> str:
    verdict = samples.verdict
    sure = verdict.candidates[verdict.sure]
    centers = getattr(model, "cluster_centers_", None)
    if centers is not None and steps is not None:  # show prototypes only in the units of the user
        centers = _invert_transformers(steps, centers, len(samples.columns))
    columns = [] if centers is None else samples.columns[:_MAX_FEATURES]
    rows: list[list[object]] = []
    for k, name in enumerate(samples.partition.cluster_names):
        row: list[object] = [str(name), int(sure[:, k].sum()), int(verdict.candidates[:, k].sum())]
        rows.append(row + ([] if centers is None else [float(value) for value in centers[k][: len(columns)]]))
    note = "Sure: samples with no other candidate cluster. Possible: samples with this candidate cluster."
    if centers is not None:
        note += " The features are those of the prototype."
    table = html.table(["cluster", "sure", "possible", *columns], rows)
    return html.section("Clusters in numbers", html.paragraph(note), table, level=3)


def _invert_transformers(steps: Pipeline, centers: Any, n_columns: int) -> Any:
    if not hasattr(steps, "inverse_transform"):
        return None
    values = np.asarray(steps.inverse_transform(centers))
    return values if values.dtype.kind == "f" and values.shape[1] == n_columns else None


def _excluded_columns(samples: Samples) -> str:
    excluded = samples.explanation.omitted_columns
    if not excluded:
        return ""
    rows: list[list[object]] = [[name, reason] for name, reason in excluded.items()]
    return html.section("Columns without explanations", html.table(["column", "reason"], rows), level=3)


def _members(model: Any) -> str:
    """Return a section with the weights of the members of an ensemble."""
    if not hasattr(model, "member_names_"):
        return ""
    scores = getattr(model, "reliabilities_", None)
    rows: list[list[object]] = [
        [model.member_names_[k], float(model.weights_[k]), *([] if scores is None else [float(scores[k])])]
        for k in np.argsort(-model.weights_, kind="stable").tolist()
    ]
    note = "Several methods are combined; samples are sure if methods with most of the weight agree."
    if scores is not None:
        note += (
            " The weight of a method depends on its reliability, which is the share of neighbors that it has in "
            "the same cluster, from 0 (as by chance) to 1."
        )
    table = html.table(["method", "weight", *([] if scores is None else ["reliability"])], rows)
    return html.section("Combined methods", html.paragraph(note), table, level=3)


def _parameters(steps: Pipeline | None, model: Any) -> str:
    rows: list[list[object]] = [] if model is None else [["method", type(model).__name__]]
    rows += [] if steps is None else [["preprocessing", _shorten_repr(step, 400)] for _, step in steps.steps]
    rows += (
        []
        if model is None
        else [[name, _shorten_repr(value)] for name, value in sorted(model.get_params().items())]
    )
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


def _shorten_repr(value: object, length: int = 60) -> str:
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= length else text[: length - 3] + "..."
