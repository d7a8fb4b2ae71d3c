"""What the commands do."""

from __future__ import annotations

import csv
import io
import json
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from evlearn.belief.notation import written
from evlearn.blocks import open_rows
from evlearn.cluster import BPEC, CCM, CECM, ECM, EVCLUS, RECM
from evlearn.cluster.base import add_problems
from evlearn.command_line.judging import described, first_step, fitted_cells, judge, names_of, takes_text
from evlearn.command_line.pairs import read_constraints
from evlearn.command_line.progress import Progress
from evlearn.command_line.results import Form, check_distinct, check_output, open_writer
from evlearn.command_line.sample import Sample
from evlearn.command_line.tables import CellType, Chunk, NotNumbersError, Table, open_table
from evlearn.exceptions import CollapseWarning
from evlearn.model_files import load_model, save_model
from evlearn.model_selection import select_n_clusters
from evlearn.partition import SURE_LEVEL, CredalPartition, PartitionSummary
from evlearn.partition.verdict import level_for
from evlearn.preprocessing import TableEncoder
from evlearn.preprocessing.columns import format_of
from evlearn.preprocessing.description import suspicions_of
from evlearn.preprocessing.reading import looks_like_number
from evlearn.reporting.report import NO_PICTURES, can_draw, write_report
from evlearn.reporting.review import review_table
from evlearn.utils.files import replacing
from evlearn.utils.places import is_url
from evlearn.utils.typing import FloatArray

METHODS = {"ccm": CCM, "ecm": ECM, "bpec": BPEC, "evclus": EVCLUS, "recm": RECM, "cecm": CECM}
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".pq")
DONE, EARLY = 0, 3
_IN_MEMORY = 1 << 27  # numbers; more are read in blocks, from a temporary file
_MOST_NAMES = 20
_REPORTED = 100_000  # samples; of more, a report shows a subset
_LEARNED = 200_000  # rows; of more, what is in the columns is learned from a subset


def cluster(options: Namespace) -> int:
    """Cluster a table."""
    progress = Progress(options.quiet)
    _check_outputs(options, progress)
    estimator = _make_estimator(options)
    table = _open(options, progress)
    precomputed = getattr(estimator, "metric", None) == "precomputed"
    if precomputed and options.standardize:
        raise ValueError("--standardize is for features, and metric=precomputed says that there are none.")
    as_is = options.as_is or precomputed
    columns = _choose(table, options, progress, numbers=as_is)

    types: dict[str, CellType] = dict.fromkeys(columns, "number")
    encoder = None
    if not as_is:
        encoder, types = _learn_columns(table, columns, options, estimator, progress)

    def chunks() -> Iterator[Chunk]:
        return table.chunks(columns, options.names, types)

    drop = options.drop_missing and not precomputed
    usable = _Usable(table, encoder, drop=drop, gaps=bool(get_tags(estimator).input_tags.allow_nan))
    problems = _choose_number(estimator, options, usable, chunks, progress)
    early = _fit(estimator, usable, chunks, options, progress)
    add_problems(estimator, problems)
    if table.has_names and not precomputed and encoder is None:
        estimator.feature_names_in_ = np.array(columns, dtype=object)
    model = estimator if encoder is None else Pipeline([("table", encoder), ("cluster", estimator)])
    if options.model is not None:
        save_model(model, options.model)
    # Masses of the fit, where these are known; else each row is judged as a new one.
    told = _Told(model, table, chunks, options, progress, getattr(estimator, "credal_partition_", None))
    print(told.tell(usable.complete))
    return EARLY if early else DONE


def predict(options: Namespace) -> int:
    """Judge the rows of a table with a model of an earlier command: a row for each, also with gaps."""
    progress = Progress(options.quiet)
    _check_outputs(options, progress)
    _check_saved(options)
    model = load_model(options.saved)
    table = _open(options, progress, known=names_of(model))
    columns = _known_columns(model, table, options, progress)
    cells = fitted_cells(model, columns)
    types = {name: one.type for name, one in cells.items()}

    def chunks() -> Iterator[Chunk]:
        for chunk in table.chunks(columns, options.names, types):
            yield Chunk(chunk.names, {name: cells[name].convert(column) for name, column in chunk.columns.items()})

    told = _Told(model, table, chunks, options, progress, None)
    progress.say(told.tell(screen=options.out is None))
    return DONE


# Before


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
        progress.say(f"evlearn: {NO_PICTURES}")


def _check_saved(options: Namespace) -> None:
    """Raise if the first file of `evlearn predict` cannot be a model."""
    if is_url(options.saved):
        return
    if Path(options.saved).suffix.lower() != ".json":
        raise ValueError(
            f"{options.saved!r} is not a model: these end in .json. The order is "
            "`evlearn predict model.json data.csv`."
        )
    if not Path(options.saved).is_file():
        raise FileNotFoundError(
            f"there is no model file {options.saved!r}; write one with `evlearn cluster --model` or "
            "evlearn.save_model."
        )


def _make_estimator(options: Namespace) -> Any:
    kind = METHODS[options.method]
    parameters = dict(_setting(text) for text in options.set)
    if options.n_clusters is not None and options.n_clusters != "auto":
        parameters["n_clusters"] = options.n_clusters
    elif options.n_clusters is None and "n_clusters" not in parameters and options.method != "bpec":
        raise ValueError(
            f"--n-clusters is needed by {options.method}: a number, or auto; bpec finds one by itself."
        )
    known = kind().get_params()
    unknown = sorted(parameters.keys() - known.keys())
    if unknown:
        raise ValueError(f"--set {unknown[0]}: {options.method} has the parameters {', '.join(sorted(known))}.")
    if options.constraints is not None and options.method not in ("cecm", "evclus"):
        raise ValueError(f"--constraints needs --method cecm or evclus, got {options.method}.")
    given = {"random_state": options.seed, "n_jobs": options.jobs}
    return kind(**{name: value for name, value in given.items() if name in known} | parameters)


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set wants NAME=VALUE, got {text!r}; for example --set alpha=2.")
    try:
        return name.strip(), json.loads(value)
    except json.JSONDecodeError:
        return name.strip(), value.strip()


def _open(options: Namespace, progress: Progress, known: Sequence[str] = ()) -> Table:
    table = open_table(
        options.data,
        delimiter=options.delimiter,
        decimal=options.decimal,
        thousands=options.thousands,
        encoding=options.encoding,
        header=options.header,
        known=known,
    )
    for remark in table.remark.splitlines():
        progress.say(f"evlearn: {remark}")
    return table


def _choose(table: Table, options: Namespace, progress: Progress, *, numbers: bool) -> list[str]:
    """The columns with the features: all, or all that hold numbers."""
    asked, chosen = _candidates(table, options)
    if not numbers:
        if not chosen:
            raise ValueError(f"no column of {table.path.name} is left.")
        return chosen
    numeric = dict(zip(table.columns, table.numeric, strict=True))
    texts = [name for name in chosen if not numeric[name]]
    if asked and texts:
        raise ValueError(
            f"--columns has {texts[0]!r}, which holds text in {table.path.name}; it must hold numbers."
        )
    chosen = [name for name in chosen if numeric[name]]
    if not chosen:
        raise ValueError(f"{table.path.name} has no column of numbers among {_shortened(table.columns)}.")
    if texts:
        progress.say(f"evlearn: left out, because they hold text: {_shortened(texts)}")
    progress.say(f"evlearn: features: {_shortened(chosen)}")
    return chosen


def _candidates(table: Table, options: Namespace) -> tuple[list[str], list[str]]:
    """Return the columns of --columns, and these or else all columns, but those of --without and --names."""
    asked = _listed(options.columns, table)
    without = _listed(options.without, table)
    named = [] if options.names is None else [options.names]
    _check_columns(table, "--columns", asked)
    _check_columns(table, "--without", without)
    _check_columns(table, "--names", named)
    return asked, [name for name in asked or table.columns if name not in without and name not in named]


def _known_columns(model: Any, table: Table, options: Namespace, progress: Progress) -> list[str]:
    """The columns that a model was fitted to, in its order."""
    names = names_of(model)
    first = first_step(model)
    if not names or not table.has_names:
        chosen = _candidates(table, options)[1]
        if len(chosen) != first.n_features_in_ and not takes_text(model):
            chosen = _choose(table, options, progress, numbers=True)
        if len(chosen) != first.n_features_in_:
            raise ValueError(
                f"{table.path.name} has {len(chosen)} features, and the model was fitted to "
                f"{first.n_features_in_}; choose them with --columns or --without."
            )
        return chosen
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise ValueError(f"{table.path.name} has no column {missing[0]!r}, which the model was fitted to.")
    _check_columns(table, "--names", [] if options.names is None else [options.names])
    return names


def _shortened(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(map(written, names[:_MOST_NAMES])) + (f", and {more} more" if more > 0 else "")


def _listed(text: str | None, table: Table) -> list[str]:
    """Names between commas; those that hold a comma stand in double quotes, as in a CSV file, or alone."""
    if text is None:
        return []
    lines = [[text]] if text in table.columns else list(csv.reader(io.StringIO(text, ""), skipinitialspace=True))
    return [name.strip() for name in lines[0]] if len(lines) == 1 else [text]


def _check_columns(table: Table, option: str, names: Sequence[str]) -> None:
    for name in names:
        if name not in table.columns:
            raise ValueError(
                f"{option} has {name!r}, which is not a column of {table.path.name}; "
                f"it has {_shortened(table.columns)}."
            )


# The fit


def _learn_columns(
    table: Table, columns: list[str], options: Namespace, estimator: Any, progress: Progress
) -> tuple[TableEncoder, dict[str, CellType]]:
    """Return an encoder fitted to the table, and the types of the columns; report what becomes of each column."""
    rows, types, texts = _typed_rows(table, columns, options)
    gaps = get_tags(estimator).input_tags.allow_nan
    encoder = TableEncoder(
        missing="keep" if gaps else "impute", scaling="standard" if options.standardize else "auto"
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the column .* is left out")  # an error below
        encoder.fit(table.with_orders(rows.columns))
    for facts in encoder.columns_:
        name = facts["column"]
        # Either text was not in the sample, or too many different numbers are beside it.
        first = texts.get(name)
        if facts.get("reason") == "mixed" or (facts["kind"] == "number" and not _is_read(facts, first)):
            cells = [cell for cell in rows.columns[name] if cell is not None and not looks_like_number(cell)]
            if first is None or (cells and looks_like_number(first[1])):
                first = None, cells[0]
            raise NotNumbersError(table.path.name, {name: first})
    suspicions = suspicions_of(encoder.columns_)
    for line in encoder.describe().splitlines()[: min(len(encoder.columns_), _MOST_NAMES) + 1]:
        progress.say(f"evlearn: {line}")
    for line in suspicions[:_MOST_NAMES]:
        progress.say(f"evlearn: {line}")
    return encoder, types


def _is_read(facts: dict[str, Any], cell: tuple[int | None, str] | None) -> bool:
    """Return True if a cell is a number in the format of the column, or if there is no such cell."""
    return cell is None or format_of(facts).parse(cell[1]) is not None


def _typed_rows(
    table: Table, columns: list[str], options: Namespace
) -> tuple[Chunk, dict[str, CellType], dict[str, tuple[int | None, str]]]:
    """Return a sample of the rows, the types of the columns in the whole table, and the first text among numbers.

    A column is one of numbers if all its cells are. The first rows give a guess; where it is wrong, the table is
    read once more.
    """
    types: dict[str, CellType] = {}
    texts: dict[str, tuple[int | None, str]] = {}
    while True:
        sample = Sample(_LEARNED)
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


class _Usable:
    """From chunks to features that a fit takes."""

    def __init__(self, table: Table, encoder: TableEncoder | None, *, drop: bool, gaps: bool) -> None:
        self._table = table
        self._encoder = encoder
        self._drop = drop
        self._gaps = gaps

    def complete(self, chunk: Chunk) -> Any:
        """Which rows take part in the fit."""
        if self._encoder is None and self._drop:
            return chunk.complete
        return np.ones(len(chunk.names), dtype=bool)

    def features(self, chunks: Iterator[Chunk]) -> Iterator[FloatArray]:
        """The features of these rows."""
        start = 0
        for chunk in chunks:
            if self._encoder is not None:
                yield self._encoder.transform(chunk.columns)
                continue
            used = chunk.complete
            values = (chunk.take(used) if self._drop else chunk).values
            if not (np.isfinite(values) | (np.isnan(values) & self._gaps)).all():
                self._refuse(chunk, start)
            start += len(used)
            if len(values):
                yield values

    def _refuse(self, chunk: Chunk, start: int) -> None:
        row = int(np.flatnonzero(~chunk.complete)[0])
        column = next(name for name, one in chunk.columns.items() if not np.isfinite(one[row]))
        raise ValueError(
            f"{self._table.path.name}: column {column!r} has a missing or infinite value in row "
            f"{start + row} (counted from 0). Fill it in, choose other columns with --columns or --without, "
            "leave such rows out with --drop-missing, or do without --as-is."
        )


def _choose_number(
    estimator: Any, options: Namespace, usable: _Usable, chunks: Callable[[], Iterator[Chunk]], progress: Progress
) -> tuple[str, ...]:
    """Select the number of clusters, if it is "auto", and return what is wrong with the choice, if anything."""
    if options.n_clusters != "auto" or options.method == "bpec":
        return ()
    with _gathered(usable.features(chunks())) as data:
        rows = np.nan_to_num(np.asarray(data.take(np.arange(len(data))) if hasattr(data, "map") else data))
    selection = select_n_clusters(estimator, rows, random_state=options.seed, n_jobs=options.jobs)
    if selection.best is None:
        raise ValueError(
            "--n-clusters auto: no subsample of the rows supports a number from 2 to 10; give one yourself."
        )
    estimator.set_params(n_clusters=int(selection.best))
    share = f"{100 * selection.confidence:.0f} % of the votes"
    progress.say(f"evlearn: {selection.best} clusters, with {share}; choose another number with --n-clusters")
    return selection.problems


def _fit(
    estimator: Any, usable: _Usable, chunks: Callable[[], Iterator[Chunk]], options: Namespace, progress: Progress
) -> bool:
    """Fit, report its warnings, and return whether it ended too early."""
    given = {}
    if options.constraints is not None:
        names = [name for chunk in chunks() for name in chunk.take(usable.complete(chunk)).names]
        given["constraints"] = read_constraints(
            options.constraints, names, delimiter=options.delimiter, encoding=options.encoding
        )
        progress.say(f"evlearn: {given['constraints']!r}")
    with warnings.catch_warnings(record=True) as complaints, _gathered(usable.features(chunks())) as data:
        warnings.simplefilter("always")
        with progress.listening():
            estimator.fit(data, **given)
    for complaint in complaints:
        if issubclass(complaint.category, CollapseWarning) and estimator._problems:
            continue  # the first lines of the summary
        progress.say(f"evlearn: {complaint.message}")
    return any(issubclass(one.category, ConvergenceWarning) for one in complaints)


@contextmanager
def _gathered(blocks: Iterator[FloatArray]) -> Iterator[Any]:
    """All rows in memory, or, if these are too many, rows in a temporary file."""
    parts: list[FloatArray] = []
    size = 0
    for block in blocks:
        parts.append(block)
        size += block.size
        if size > _IN_MEMORY:
            with open_rows(chain(parts, blocks)) as rows:
                yield rows
            return
    if not parts:
        raise ValueError("no row is left; are there missing values in all of them?")
    yield np.concatenate(parts)


# The result


class _Told:
    """What is said about all rows: a file of masses, a report, and how many are sure."""

    def __init__(
        self,
        model: Any,
        table: Table,
        chunks: Callable[[], Iterator[Chunk]],
        options: Namespace,
        progress: Progress,
        known: CredalPartition | None,
    ) -> None:
        self._model = model
        self._table = table
        self._chunks = chunks
        self._options = options
        self._progress = progress
        self._known = known

    def tell(self, complete: Callable[[Chunk], Any] | None = None, *, screen: bool = False) -> str:
        """Write everything, chunk after chunk, and return a summary."""
        summary: PartitionSummary | None = None
        options, n_rows, n_unknown = self._options, 0, 0
        level = self._level(complete)
        sample = Sample(_REPORTED if options.report or options.review else 0)
        form = Form(level, plain=options.notation == "plain")
        with open_writer(options.out, form, screen=screen, keep_formulas=options.keep_formulas) as writer:
            for chunk, partition, known in self._judged(complete):
                writer.write(chunk.names, partition, known)
                n_rows, n_unknown = n_rows + len(known), n_unknown + int((~known).sum())
                self._progress.show(f"evlearn: {n_rows:,} rows judged")
                if partition is not None:
                    sample.add(chunk.take(known), partition)
                    some = partition.summary(level)
                    summary = some if summary is None else summary + some
            self._table.check_unchanged()  # or else these are not the rows that the model was fitted to
        self._progress.clear()
        if not n_rows:
            raise ValueError(f"{self._table.path.name} has no rows.")
        if summary is not None:
            summary = replace(summary, is_subset=False)  # these are all rows, though they came in parts
        if (options.report or options.review) and summary is not None:
            self._report(sample, summary)
        missing = (
            f"  unknown {n_unknown:>9}   rows with gaps, of which the model says nothing" if n_unknown else ""
        )
        return "\n".join([*([] if summary is None else [str(summary)]), *([missing] if missing else [])])

    def _judged(self, complete: Callable[[Chunk], Any] | None) -> Iterator[tuple[Chunk, Any, Any]]:
        """Rows, the masses of those that can be judged, and which these are."""
        start = 0
        waiting: list[Chunk] = []
        for chunk in self._chunks():
            if self._known is not None and complete is not None:
                used = complete(chunk)
                stop = start + int(used.sum())
                partition, known = (self._known[start:stop] if stop > start else None), used
                start = stop
                both = chunk
            else:
                both = Chunk.joined([*waiting, chunk])
                partition, known = judge(self._model, both)
            # The first rows wait for one of which something is known: it says which columns there are.
            waiting = [both] if partition is None else []
            if partition is not None:
                yield both, partition, known
        for chunk in waiting:
            yield chunk, None, np.zeros(len(chunk.names), dtype=bool)

    def _level(self, complete: Callable[[Chunk], Any] | None) -> float:
        """The belief that makes a row sure, as it was asked for."""
        if self._options.leave is None:
            return SURE_LEVEL if self._options.level is None else float(self._options.level)
        if self._known is not None:
            return self._known.level_leaving(self._options.leave)
        # Rows are read twice, and only one number of each is kept.
        doubts = [
            partition.doubt()[~partition.outliers()]
            for _, partition, _ in self._judged(complete)
            if partition is not None
        ]
        return level_for(np.concatenate(doubts or [np.empty(0)]), self._options.leave)

    def _report(self, sample: Sample, summary: PartitionSummary) -> None:
        chunk, partition = sample.rows()
        assert partition is not None
        whole = summary.n_samples == len(partition)
        objects = described(self._model, chunk, partition, summary.level)
        if self._options.review is not None:
            with replacing(self._options.review) as file:
                file.write(review_table(objects))
        if self._options.report is not None:
            remark = "" if whole else f"These are a random subset of {summary.n_samples:,} samples."
            write_report(self._model, objects, self._options.report, title=self._options.title, remark=remark)
