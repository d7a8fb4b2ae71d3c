"""What the commands do."""

from __future__ import annotations

import csv
import io
import json
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from evlearn.belief.notation import written
from evlearn.blocks import open_rows
from evlearn.cluster import BPEC, CCM, ECM, EVCLUS, RECM
from evlearn.command_line.progress import Progress
from evlearn.command_line.results import check_output, open_writer
from evlearn.command_line.sample import Sample
from evlearn.command_line.tables import Chunk, Table, open_table
from evlearn.model_files import load_model, save_model
from evlearn.partition import SURE_LEVEL, CredalPartition, PartitionSummary
from evlearn.partition.estimators import predicted_partition, split_pipeline
from evlearn.partition.verdict import level_for
from evlearn.reporting.objects import Objects
from evlearn.reporting.report import NO_PICTURES, can_draw, write_report
from evlearn.utils.typing import FloatArray

METHODS = {"ccm": CCM, "ecm": ECM, "bpec": BPEC, "evclus": EVCLUS, "recm": RECM}
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".pq")
DONE, EARLY = 0, 3
_IN_MEMORY = 1 << 27  # numbers; more are read in blocks, from a temporary file
_MOST_NAMES = 20
_REPORTED = 100_000  # samples; of more, a report shows a subset


def cluster(options: Namespace) -> int:
    """Cluster a table."""
    progress = Progress(options.quiet)
    _check_outputs(options, progress)
    estimator = _make_estimator(options)
    table = _open(options, progress)
    columns = _choose(table, options, progress)
    precomputed = getattr(estimator, "metric", None) == "precomputed"
    if precomputed and options.standardize:
        raise ValueError("--standardize is for features, and metric=precomputed says that there are none.")

    def chunks() -> Iterator[Chunk]:
        return table.chunks(columns, options.names, drop_missing=options.drop_missing and not precomputed)

    scaler = _scale(chunks()) if options.standardize else None
    with warnings.catch_warnings(record=True) as complaints, _gathered(chunks(), scaler) as data:
        warnings.simplefilter("always")
        with progress.listening():
            estimator.fit(data)
    for complaint in complaints:
        progress.say(f"evlearn: {complaint.message}")
    early = any(issubclass(one.category, ConvergenceWarning) for one in complaints)
    if table.has_names and not precomputed:
        (estimator if scaler is None else scaler).feature_names_in_ = np.array(columns, dtype=object)
    model = estimator if scaler is None else Pipeline([("scale", scaler), ("cluster", estimator)])
    if options.model is not None:
        save_model(model, options.model)
    # Masses of the fit, where these are known; else each row is judged as a new one.
    known = getattr(estimator, "credal_partition_", None)
    summary = _tell(model, table, chunks, columns, options, progress, known)
    print(summary)
    return EARLY if early else DONE


def predict(options: Namespace) -> int:
    """Judge the rows of a table with a model of an earlier command."""
    progress = Progress(options.quiet)
    _check_outputs(options, progress)
    model = load_model(options.saved)
    table = _open(options, progress, known=_names_of(model))
    columns = _known_columns(model, table, options, progress)

    def chunks() -> Iterator[Chunk]:
        return table.chunks(columns, options.names, drop_missing=options.drop_missing)

    summary = _tell(model, table, chunks, columns, options, progress, None, screen=options.out is None)
    progress.say(str(summary))
    return DONE


# Before


def _check_outputs(options: Namespace, progress: Progress) -> None:
    check_output("--out", options.out, TABLES)
    check_output("--report", options.report, (".html", ".htm"))
    check_output("--model", getattr(options, "model", None), (".json",))
    if options.report is not None and not can_draw():
        progress.say(f"evlearn: {NO_PICTURES}")


def _make_estimator(options: Namespace) -> Any:
    kind = METHODS[options.method]
    parameters = dict(_setting(text) for text in options.set)
    if options.n_clusters is not None:
        parameters["n_clusters"] = options.n_clusters
    elif "n_clusters" not in parameters and options.method != "bpec":
        raise ValueError(f"--n-clusters is needed by {options.method}; bpec finds a number by itself.")
    known = kind().get_params()
    unknown = sorted(parameters.keys() - known.keys())
    if unknown:
        raise ValueError(f"--set {unknown[0]}: {options.method} has the parameters {', '.join(sorted(known))}.")
    given = {"random_state": options.seed, "n_jobs": options.jobs, "verbose": int(not options.quiet)}
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
        options.data, delimiter=options.delimiter, decimal=options.decimal, header=options.header, known=known
    )
    if table.remark:
        progress.say(f"evlearn: {table.remark}")
    return table


def _names_of(model: Any) -> list[str]:
    """The names of the columns that a model was fitted to, as far as it knows them."""
    before, last = split_pipeline(model)
    return [str(name) for name in getattr(last if before is None else before[0], "feature_names_in_", ())]


def _choose(table: Table, options: Namespace, progress: Progress) -> list[str]:
    """The columns with the features."""
    asked = _listed(options.columns, table)
    without = _listed(options.without, table)
    named = [] if options.names is None else [options.names]
    _check_columns(table, "--columns", asked)
    _check_columns(table, "--without", without)
    _check_columns(table, "--names", named)
    numeric = dict(zip(table.columns, table.numeric, strict=True))
    chosen = [name for name in asked or table.columns if name not in without and name not in named]
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


def _known_columns(model: Any, table: Table, options: Namespace, progress: Progress) -> list[str]:
    """The columns that a model was fitted to, in its order."""
    before, last = split_pipeline(model)
    first = last if before is None else before[0]
    names = _names_of(model)
    if not names or not table.has_names:
        chosen = _choose(table, options, progress)
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
                f"{option} has {name!r}, which is no column of {table.path.name}; "
                f"it has {_shortened(table.columns)}."
            )


# The fit


def _scale(chunks: Iterator[Chunk]) -> StandardScaler:
    scaler = StandardScaler()
    for chunk in chunks:
        scaler.partial_fit(chunk.values)
    return scaler


@contextmanager
def _gathered(chunks: Iterator[Chunk], scaler: StandardScaler | None) -> Iterator[Any]:
    """All rows in memory, or, if these are too many, rows in a temporary file."""
    parts: list[FloatArray] = []
    size = 0
    blocks = (chunk.values if scaler is None else scaler.transform(chunk.values) for chunk in chunks)
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


def _tell(
    model: Any,
    table: Table,
    chunks: Callable[[], Iterator[Chunk]],
    columns: list[str],
    options: Namespace,
    progress: Progress,
    known: CredalPartition | None,
    *,
    screen: bool = False,
) -> PartitionSummary:
    """Write the masses of all rows, chunk after chunk, and the report; return how many are sure."""
    summary: PartitionSummary | None = None
    level = _level(model, chunks, options, known)
    sample = Sample(_REPORTED if options.report is not None else 0)
    with open_writer(options.out, screen=screen, keep_formulas=options.keep_formulas, level=level) as writer:
        for chunk in chunks():
            start = 0 if summary is None else summary.n_samples
            stop = start + len(chunk.values)
            partition = _judge(model, chunk.values) if known is None else known[start:stop]
            writer.write(chunk.names, partition)
            sample.add(chunk, partition)
            some = partition.summary(level)
            summary = some if summary is None else summary + some
            progress.show(f"evlearn: {stop:,} rows judged")
        table.check_unchanged()  # or else these are not the rows that the model was fitted to
    progress.clear()
    if summary is None:
        raise ValueError("no row is left; are there missing values in all of them?")
    if options.report is not None:
        _report(model, sample, columns, summary, options)
    return summary


def _level(
    model: Any, chunks: Callable[[], Iterator[Chunk]], options: Namespace, known: CredalPartition | None
) -> float:
    """The belief from which on a row is sure, as it was asked for."""
    if options.leave is None:
        return SURE_LEVEL if options.level is None else float(options.level)
    if known is not None:
        return known.level_leaving(options.leave)
    # Rows are read twice, and only one number of each is kept.
    doubts = []
    for chunk in chunks():
        partition = _judge(model, chunk.values)
        doubts.append(partition.doubt()[~partition.outliers()])
    return level_for(np.concatenate(doubts or [np.empty(0)]), options.leave)


def _judge(model: Any, values: FloatArray) -> CredalPartition:
    with _nameless():
        return predicted_partition(model, values)


def _seen(model: Any, values: FloatArray) -> FloatArray:
    """What the clusterer of a pipeline gets."""
    before = split_pipeline(model)[0]
    with _nameless():
        return values if before is None else np.asarray(before.transform(values))


@contextmanager
def _nameless() -> Iterator[None]:
    """Columns have been chosen by their names, and the arrays that are made of them have none."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def _report(model: Any, sample: Sample, columns: list[str], summary: PartitionSummary, options: Namespace) -> None:
    chunk, partition = sample.rows()
    whole = summary.n_samples == len(partition)
    if getattr(split_pipeline(model)[1], "metric", None) == "precomputed":
        objects = Objects(partition, chunk.names, [], chunk.values[:, :0], None, summary.level)
    else:
        seen = _seen(model, chunk.values)
        objects = Objects(partition, chunk.names, columns, chunk.values, seen, summary.level)
    remark = "" if whole else f"These are a random subset of {summary.n_samples:,} samples."
    write_report(model, objects, options.report, title=options.title, remark=remark)
