"""Commands of ``evlearn``: cluster and predict."""

from __future__ import annotations

import csv
import io
import json
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from evlearn.belief.notation import format_name
from evlearn.blocks import open_dataset
from evlearn.cluster import BPEC, CCM, CECM, ECM, EVCLUS, RECM
from evlearn.cluster.base import add_problems
from evlearn.command_line.judging import first_step, fitted_cells, fitted_names, judge, report_rows, takes_text
from evlearn.command_line.results import Progress, ResultFormat, check_distinct, check_output, open_writer
from evlearn.command_line.tables import (
    CellType,
    Chunk,
    NotNumbersError,
    Sample,
    Table,
    open_table,
    read_constraints,
)
from evlearn.ensemble import CredalEnsemble
from evlearn.exceptions import CollapseWarning
from evlearn.export.models import load_model, save_model
from evlearn.model_selection import select_n_clusters
from evlearn.partition import SURE_LEVEL, CredalPartition
from evlearn.partition.summary import PartitionSummary
from evlearn.partition.verdict import level_of_share
from evlearn.preprocessing import TableEncoder
from evlearn.preprocessing.columns import format_of
from evlearn.preprocessing.description import suspicions_of
from evlearn.preprocessing.reading import looks_like_number
from evlearn.reporting.report import NO_PICTURES, can_draw, write_report
from evlearn.reporting.samples import review_table
from evlearn.utils.files import atomic_write
from evlearn.utils.typing import FloatArray
from evlearn.utils.urls import is_url

METHODS = {
    "ensemble": CredalEnsemble,
    "ccm": CCM,
    "ecm": ECM,
    "bpec": BPEC,
    "evclus": EVCLUS,
    "recm": RECM,
    "cecm": CECM,
}
# Methods that estimate the number of clusters themselves.
_AUTOMATIC = ("ensemble", "bpec")
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".pq")
SUCCESS, UNFINISHED = 0, 3
_MAX_NUMBERS_IN_MEMORY = 1 << 27  # larger data are read in blocks from a temporary file
_MAX_NAMES = 20
_MAX_REPORT_ROWS = 100_000  # a report about more rows shows a random subset
_MAX_LEARNING_ROWS = 200_000  # the encoding of more rows is learned from a random subset


def cluster(options: Namespace) -> int:
    """Cluster a table."""
    progress = Progress(options.quiet)
    _check_outputs(options, progress)
    estimator = _make_estimator(options)
    table = _open(options, progress)
    precomputed = getattr(estimator, "metric", None) == "precomputed"
    if precomputed and options.standardize:
        raise ValueError(
            "--standardize needs features, but metric=precomputed needs dissimilarities; use only one of them."
        )
    as_is = options.as_is or precomputed
    columns = _choose_columns(table, options, progress, numbers=as_is)

    types: dict[str, CellType] = dict.fromkeys(columns, "number")
    encoder = None
    if not as_is:
        encoder, types = _learn_columns(table, columns, options, estimator, progress)

    def chunks() -> Iterator[Chunk]:
        return table.chunks(columns, options.names, types)

    drop = options.drop_missing and not precomputed
    reader = _FeatureReader(
        table, encoder, drop=drop, allows_missing=bool(get_tags(estimator).input_tags.allow_nan)
    )
    problems = _choose_number(estimator, options, reader, chunks, progress)
    is_unfinished = _fit(estimator, reader, chunks, options, progress)
    if isinstance(estimator, CredalEnsemble):
        progress.log(f"evlearn: {estimator.describe()}")
    add_problems(estimator, problems)
    if table.has_names and not precomputed and encoder is None:
        estimator.feature_names_in_ = np.array(columns, dtype=object)
    model = estimator if encoder is None else Pipeline([("table", encoder), ("cluster", estimator)])
    if options.model is not None:
        save_model(model, options.model)
    # Masses of the fit, if available; otherwise, masses are predicted.
    writer = _ResultWriter(model, table, chunks, options, progress, getattr(estimator, "credal_partition_", None))
    print(writer.write(reader.complete))
    return UNFINISHED if is_unfinished else SUCCESS


def predict(options: Namespace) -> int:
    """Predict the rows of a table with a saved model, including rows with missing values."""
    progress = Progress(options.quiet)
    _check_outputs(options, progress)
    _check_saved(options)
    model = load_model(options.saved)
    table = _open(options, progress, expected_names=fitted_names(model))
    columns = _fitted_columns(model, table, options, progress)
    cells = fitted_cells(model, columns)
    types = {name: cell.type for name, cell in cells.items()}

    def chunks() -> Iterator[Chunk]:
        for chunk in table.chunks(columns, options.names, types):
            yield Chunk(chunk.names, {name: cells[name].convert(column) for name, column in chunk.columns.items()})

    writer = _ResultWriter(model, table, chunks, options, progress, None)
    progress.log(writer.write(screen=options.out is None))
    return SUCCESS


# Options


def _check_outputs(options: Namespace, progress: Progress) -> None:
    model = getattr(options, "model", None)
    check_output("--out", options.out, TABLES)
    check_output("--report", options.report, (".html", ".htm"))
    check_output("--review", options.review, (".csv",))
    check_output("--model", model, (".json",))
    inputs = {
        "the data": options.data,
        "the saved model": getattr(options, "saved", None),
        "--constraints": getattr(options, "constraints", None),
    }
    outputs = {"--out": options.out, "--report": options.report, "--review": options.review, "--model": model}
    check_distinct(inputs, outputs)
    if options.report is not None and not can_draw():
        progress.log(f"evlearn: {NO_PICTURES}")


def _check_saved(options: Namespace) -> None:
    """Raise an error if the first file of `evlearn predict` cannot be a model."""
    if is_url(options.saved):
        return
    if Path(options.saved).suffix.lower() != ".json":
        raise ValueError(
            f"{options.saved!r} is not a model file, which ends in .json. The order of arguments is "
            "`evlearn predict model.json data.csv`."
        )
    if not Path(options.saved).is_file():
        raise FileNotFoundError(
            f"there is no model file {options.saved!r}; write one with `evlearn cluster --model` or "
            "evlearn.save_model."
        )


def _make_estimator(options: Namespace) -> Any:
    method = METHODS[options.method]
    parameters = dict(_parse_setting(text) for text in options.set)
    if options.n_clusters is not None and options.n_clusters != "auto":
        parameters["n_clusters"] = options.n_clusters
    elif options.n_clusters is None and "n_clusters" not in parameters and options.method not in _AUTOMATIC:
        raise ValueError(
            f"--n-clusters is required by {options.method}: use a number or auto, or --method ensemble."
        )
    valid = method().get_params()
    unknown = sorted(parameters.keys() - valid.keys())
    if unknown:
        raise ValueError(f"--set {unknown[0]}: {options.method} has the parameters {', '.join(sorted(valid))}.")
    if options.constraints is not None and options.method not in ("cecm", "evclus"):
        raise ValueError(f"--constraints needs --method cecm or evclus, got {options.method}.")
    settings = {"random_state": options.seed, "n_jobs": options.jobs}
    return method(**{name: value for name, value in settings.items() if name in valid} | parameters)


def _parse_setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set needs NAME=VALUE, for example --set alpha=2; got {text!r}.")
    try:
        return name.strip(), json.loads(value)
    except json.JSONDecodeError:
        return name.strip(), value.strip()


def _open(options: Namespace, progress: Progress, expected_names: Sequence[str] = ()) -> Table:
    form = {name: getattr(options, name) for name in ("delimiter", "decimal", "thousands", "encoding")}
    table = open_table(options.data, header=options.header, expected_names=expected_names, **form)
    for remark in table.remark.splitlines():
        progress.log(f"evlearn: {remark}")
    return table


def _choose_columns(table: Table, options: Namespace, progress: Progress, *, numbers: bool) -> list[str]:
    """Return the columns with the features: all columns, or all columns of numbers."""
    requested, columns = _candidates(table, options)
    if not numbers:
        if not columns:
            raise ValueError(
                f"no column of {table.path.name} is selected; change --columns, --without or --names."
            )
        return columns
    is_numeric = dict(zip(table.columns, table.numeric, strict=True))
    texts = [name for name in columns if not is_numeric[name]]
    if requested and texts:
        raise ValueError(
            f"--columns contains {texts[0]!r}, which has text in {table.path.name}; select columns of numbers."
        )
    columns = [name for name in columns if is_numeric[name]]
    if not columns:
        raise ValueError(f"{table.path.name} has no column of numbers among {_format_names(table.columns)}.")
    if texts:
        progress.log(f"evlearn: left out, because they contain text: {_format_names(texts)}")
    progress.log(f"evlearn: features: {_format_names(columns)}")
    return columns


def _candidates(table: Table, options: Namespace) -> tuple[list[str], list[str]]:
    """Return the columns of --columns, and these (or all) columns without those of --without and --names."""
    requested = _split_names(options.columns, table)
    excluded = _split_names(options.without, table)
    name_columns = [] if options.names is None else [options.names]
    _check_columns(table, "--columns", requested)
    _check_columns(table, "--without", excluded)
    _check_columns(table, "--names", name_columns)
    return requested, [
        name for name in requested or table.columns if name not in excluded and name not in name_columns
    ]


def _fitted_columns(model: Any, table: Table, options: Namespace, progress: Progress) -> list[str]:
    """Return the columns that a model was fitted to, in its order."""
    names = fitted_names(model)
    first = first_step(model)
    if not names or not table.has_names:
        columns = _candidates(table, options)[1]
        if len(columns) != first.n_features_in_ and not takes_text(model):
            columns = _choose_columns(table, options, progress, numbers=True)
        if len(columns) != first.n_features_in_:
            raise ValueError(
                f"{table.path.name} has {len(columns)} features, but the model was fitted to "
                f"{first.n_features_in_}; select them with --columns or --without."
            )
        return columns
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise ValueError(f"{table.path.name} has no column {missing[0]!r}, which the model was fitted to.")
    _check_columns(table, "--names", [] if options.names is None else [options.names])
    return names


def _format_names(names: list[str]) -> str:
    n_hidden = len(names) - _MAX_NAMES
    return ", ".join(map(format_name, names[:_MAX_NAMES])) + (f", and {n_hidden} more" if n_hidden > 0 else "")


def _split_names(text: str | None, table: Table) -> list[str]:
    """Split names at commas. A name with a comma must be in double quotes, or the only name."""
    if text is None:
        return []
    lines = [[text]] if text in table.columns else list(csv.reader(io.StringIO(text, ""), skipinitialspace=True))
    return [name.strip() for name in lines[0]] if len(lines) == 1 else [text]


def _check_columns(table: Table, option: str, names: Sequence[str]) -> None:
    for name in names:
        if name not in table.columns:
            raise ValueError(
                f"{option} contains {name!r}, which is not a column of {table.path.name}; "
                f"it has {_format_names(table.columns)}."
            )


# The fit


def _learn_columns(
    table: Table, columns: list[str], options: Namespace, estimator: Any, progress: Progress
) -> tuple[TableEncoder, dict[str, CellType]]:
    """Return an encoder fitted to the table, and the types of the columns; log its description."""
    rows, types, texts = _typed_rows(table, columns, options)
    allows_missing = get_tags(estimator).input_tags.allow_nan
    encoder = TableEncoder(
        missing="keep" if allows_missing else "impute", scaling="standard" if options.standardize else "auto"
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the column .* is left out")  # raised as an error below
        encoder.fit(table.with_orders(rows.columns))
    for facts in encoder.columns_:
        name = facts["column"]
        # The text is not in the sample, or the column also contains many different numbers.
        first = texts.get(name)
        if facts.get("reason") == "mixed" or (facts["kind"] == "number" and not _is_number(facts, first)):
            cells = [cell for cell in rows.columns[name] if cell is not None and not looks_like_number(cell)]
            if first is None or (cells and looks_like_number(first[1])):
                first = None, cells[0]
            raise NotNumbersError(table.path.name, {name: first})
    suspicions = suspicions_of(encoder.columns_)
    for line in encoder.describe().splitlines()[: min(len(encoder.columns_), _MAX_NAMES) + 1]:
        progress.log(f"evlearn: {line}")
    for line in suspicions[:_MAX_NAMES]:
        progress.log(f"evlearn: {line}")
    return encoder, types


def _is_number(facts: dict[str, Any], cell: tuple[int | None, str] | None) -> bool:
    """Return True if a cell is a number in the format of the column, or None."""
    return cell is None or format_of(facts).parse(cell[1]) is not None


def _typed_rows(
    table: Table, columns: list[str], options: Namespace
) -> tuple[Chunk, dict[str, CellType], dict[str, tuple[int | None, str]]]:
    """Return a sample of the rows, the types of the columns in the whole table, and the first text among numbers.

    In a column of numbers all cells are numbers. Types are guessed from the first rows; if a guess is wrong, the
    table is read again.
    """
    types: dict[str, CellType] = {}
    texts: dict[str, tuple[int | None, str]] = {}
    while True:
        sample = Sample(_MAX_LEARNING_ROWS)
        try:
            for chunk in table.chunks(columns, options.names, types):
                sample.add(chunk)
        except NotNumbersError as error:
            texts |= error.cells
            types |= dict.fromkeys(error.cells, "text")
            continue
        rows = sample.rows()[0]
        for name, column in rows.columns.items():
            types[name] = "number" if column.dtype.kind == "f" else "text"
        return rows, types, texts


@dataclass(frozen=True)
class _FeatureReader:
    """Conversion of chunks to features for a fit."""

    table: Table
    encoder: TableEncoder | None
    drop: bool
    allows_missing: bool

    def complete(self, chunk: Chunk) -> Any:
        """Return True for rows that are used in the fit."""
        if self.encoder is None and self.drop:
            return chunk.complete
        return np.ones(len(chunk.names), dtype=bool)

    def features(self, chunks: Iterator[Chunk]) -> Iterator[FloatArray]:
        """Yield the features of these rows."""
        start = 0
        for chunk in chunks:
            if self.encoder is not None:
                yield self.encoder.transform(chunk.columns)
                continue
            is_complete = chunk.complete
            values = (chunk.take(is_complete) if self.drop else chunk).values
            if not (np.isfinite(values) | (np.isnan(values) & self.allows_missing)).all():
                self._raise_missing(chunk, start)
            start += len(is_complete)
            if len(values):
                yield values

    def _raise_missing(self, chunk: Chunk, start: int) -> None:
        row = int(np.flatnonzero(~chunk.complete)[0])
        column = next(name for name, cells in chunk.columns.items() if not np.isfinite(cells[row]))
        raise ValueError(
            f"{self.table.path.name}: column {column!r} has a missing or infinite value in row "
            f"{start + row} (counted from 0). Fill it in, select other columns with --columns or --without, "
            "exclude such rows with --drop-missing, or omit --as-is."
        )


def _choose_number(
    estimator: Any,
    options: Namespace,
    reader: _FeatureReader,
    chunks: Callable[[], Iterator[Chunk]],
    progress: Progress,
) -> tuple[str, ...]:
    """Select the number of clusters if it is "auto", and return problems of the selection."""
    if options.n_clusters != "auto" or options.method in _AUTOMATIC:
        return ()
    with _gather(reader.features(chunks())) as data:
        rows = np.nan_to_num(np.asarray(data.take(np.arange(len(data))) if hasattr(data, "map") else data))
    selection = select_n_clusters(estimator, rows, random_state=options.seed, n_jobs=options.jobs)
    if selection.best is None:
        raise ValueError(
            "--n-clusters auto: no subsample of the rows supports a number from 2 to 10; set a number."
        )
    estimator.set_params(n_clusters=int(selection.best))
    share = f"{100 * selection.confidence:.0f} % of the votes"
    progress.log(f"evlearn: {selection.best} clusters, with {share}; set another number with --n-clusters")
    return selection.problems


def _fit(
    estimator: Any,
    reader: _FeatureReader,
    chunks: Callable[[], Iterator[Chunk]],
    options: Namespace,
    progress: Progress,
) -> bool:
    """Fit the estimator, log its warnings, and return True if it did not converge."""
    fit_parameters = {}
    if options.constraints is not None:
        names = [name for chunk in chunks() for name in chunk.take(reader.complete(chunk)).names]
        fit_parameters["constraints"] = read_constraints(
            options.constraints, names, delimiter=options.delimiter, encoding=options.encoding
        )
        progress.log(f"evlearn: {fit_parameters['constraints']!r}")
    with warnings.catch_warnings(record=True) as caught_warnings, _gather(reader.features(chunks())) as data:
        warnings.simplefilter("always")
        with progress.watch_fit():
            estimator.fit(data, **fit_parameters)
    for warning in caught_warnings:
        if issubclass(warning.category, CollapseWarning) and estimator._problems:
            continue  # reported in the first lines of the summary
        progress.log(f"evlearn: {warning.message}")
    return any(issubclass(warning.category, ConvergenceWarning) for warning in caught_warnings)


@contextmanager
def _gather(blocks: Iterator[FloatArray]) -> Iterator[Any]:
    """Provide all rows in memory, or, if there are too many, in a temporary file."""
    parts: list[FloatArray] = []
    size = 0
    for block in blocks:
        parts.append(block)
        size += block.size
        if size > _MAX_NUMBERS_IN_MEMORY:
            with open_dataset(chain(parts, blocks)) as rows:
                yield rows
            return
    if not parts:
        raise ValueError("no rows remain, because all rows have missing values; omit --drop-missing.")
    yield np.concatenate(parts)


# Results


@dataclass(frozen=True)
class _ResultWriter:
    """Writer of results: a file of masses, a report, a review list and a summary."""

    model: Any
    table: Table
    chunks: Callable[[], Iterator[Chunk]]
    options: Namespace
    progress: Progress
    fitted_partition: CredalPartition | None

    def write(self, complete: Callable[[Chunk], Any] | None = None, *, screen: bool = False) -> str:
        """Write all results in chunks, and return a summary."""
        summary: PartitionSummary | None = None
        options, n_rows, n_unknown = self.options, 0, 0
        level = self._level(complete)
        sample = Sample(_MAX_REPORT_ROWS if options.report or options.review else 0)
        form = ResultFormat(level, plain=options.notation == "plain")
        with open_writer(options.out, form, screen=screen, keep_formulas=options.keep_formulas) as writer:
            for chunk, partition, is_predicted in self._predicted_chunks(complete):
                writer.write(chunk.names, partition, is_predicted)
                n_rows, n_unknown = n_rows + len(is_predicted), n_unknown + int((~is_predicted).sum())
                self.progress.show(f"evlearn: {n_rows:,} rows processed")
                if partition is not None:
                    sample.add(chunk.take(is_predicted), partition)
                    part_summary = partition.summary(level)
                    summary = part_summary if summary is None else summary + part_summary
            self.table.check_unchanged()  # otherwise, the rows may differ from those of the fit
        self.progress.clear()
        if not n_rows:
            raise ValueError(f"{self.table.path.name} has no rows.")
        if summary is not None:
            summary = replace(summary, is_subset=False)  # the parts are all rows
        if (options.report or options.review) and summary is not None:
            self._report(sample, summary)
        missing = (
            f"  unknown {n_unknown:>9}   rows with missing values, which the model does not accept"
            if n_unknown
            else ""
        )
        return "\n".join([*([] if summary is None else [str(summary)]), *([missing] if missing else [])])

    def _predicted_chunks(self, complete: Callable[[Chunk], Any] | None) -> Iterator[tuple[Chunk, Any, Any]]:
        """Yield chunks of rows, the masses of the rows that can be predicted, and a mask of these rows."""
        start = 0
        waiting: list[Chunk] = []
        for chunk in self.chunks():
            if self.fitted_partition is not None and complete is not None:
                is_selected = complete(chunk)
                stop = start + int(is_selected.sum())
                partition, is_predicted = (
                    (self.fitted_partition[start:stop] if stop > start else None),
                    is_selected,
                )
                start = stop
                rows = chunk
            else:
                rows = Chunk.concatenate([*waiting, chunk])
                partition, is_predicted = judge(self.model, rows)
            # Columns of the result are known after the first prediction; earlier rows are buffered.
            waiting = [rows] if partition is None else []
            if partition is not None:
                yield rows, partition, is_predicted
        for chunk in waiting:
            yield chunk, None, np.zeros(len(chunk.names), dtype=bool)

    def _level(self, complete: Callable[[Chunk], Any] | None) -> float:
        """Return the level, from --level or --leave."""
        if self.options.leave is None:
            return SURE_LEVEL if self.options.level is None else float(self.options.level)
        if self.fitted_partition is not None:
            return self.fitted_partition.find_level(torn_share=self.options.leave)
        # The table is read twice, because only the doubt of each row is stored.
        doubts = [
            partition.doubt()[~partition.outliers()]
            for _, partition, _ in self._predicted_chunks(complete)
            if partition is not None
        ]
        return level_of_share(np.concatenate(doubts or [np.empty(0)]), self.options.leave)

    def _report(self, sample: Sample, summary: PartitionSummary) -> None:
        chunk, partition = sample.rows()
        assert partition is not None
        is_complete = summary.n_samples == len(partition)
        rows = report_rows(self.model, chunk, partition, summary.level)
        if self.options.review is not None:
            with atomic_write(self.options.review) as file:
                file.write(review_table(rows))
        if self.options.report is not None:
            remark = "" if is_complete else f"These are a random subset of {summary.n_samples:,} samples."
            write_report(self.model, rows, self.options.report, title=self.options.title, remark=remark)
