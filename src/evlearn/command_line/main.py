"""Argument parser, help texts and exit codes of ``evlearn``."""

import io
import os
import sys
from argparse import (
    ArgumentParser,
    ArgumentTypeError,
    BooleanOptionalAction,
    Namespace,
    RawDescriptionHelpFormatter,
)
from collections.abc import Sequence
from typing import Any

import evlearn

METHODS = ("ensemble", "ccm", "ecm", "bpec", "evclus", "recm", "cecm")
_FAILED, _INTERRUPTED, _CLOSED = 1, 130, 141

_DESCRIPTION = """\
Clustering with a verdict on every row.

Every row of a table is sure (it belongs to one cluster), torn (it belongs to one of several clusters,
and the data are insufficient to decide), or an outlier (it belongs to no cluster).

  evlearn cluster data.csv --out result.csv --report report.html --model model.json
  evlearn predict model.json new.csv --out judged.csv

`evlearn cluster --help` explains the options.
"""
_CODES = """\
exit codes:
  0  success
  1  error in the data, a parameter or a file; stderr has the message
  2  error in the command or its options
  3  results are written, but the fit did not converge (max_iter, or Ctrl-C)
  130  interrupted before there were results
"""
_CLUSTER = """\
Cluster the rows of a table into sure rows, torn rows and outliers.

methods (--method):
  ensemble combines methods of different kinds, each with a weight. Start with this method
  ccm      k-means with doubt: round clusters, any number of rows
  ecm      like ccm, with more torn rows: also between clusters with another cluster between them
  bpec     selects the number of clusters automatically, from density peaks
  evclus   compares pairs of rows; also for a square table of dissimilarities
  recm     like ecm, for a square table of dissimilarities: --set metric=precomputed
  cecm     like ecm, with constraints (--constraints)

encoding of the columns:
  Numbers are scaled, categories and dates are encoded as features, and missing values become doubt (ensemble,
  ccm, ecm) or are imputed. Identifiers, free text and constant columns are left out. The encoding of each column
  is printed. --as-is uses the columns of numbers without scaling

columns of the result (--out):
  sample      name of the row (--names), or its number from 0
  cluster     best single label, as in k-means
  assignment  1: sure. 1|2: torn between clusters 1 and 2. any: torn between all clusters. outlier: no cluster.
              unknown: the row has a missing value, which the model does not accept
  doubt       1 minus the belief in the best cluster, from 0 to 1. It may be 0 for outliers
  outlier_score
              mass on "no cluster", from 0 to 1. Outliers have at least 0.5
  mass_...    masses on sets of clusters, with sum 1. mass_none is "no cluster", mass_1_2 is "cluster 1 or 2",
              mass_any is "any cluster"
  --notation sets writes sets as in the papers: {1,2}, ∅ and Ω

constraints (--constraints):
  CSV file. Each line has 2 rows, by name (--names) or number, and the word must or cannot:
    anna,ben,must
    anna,carl,cannot

sure rows (--level, --leave):
  A row is an outlier if at least half of its mass is on "no cluster". Otherwise, it is sure if its belief in one
  cluster is at least the level, and torn if not. --level 0.9 is stricter than the default, 0.6. --leave 5% selects
  the level so that about 5 % of the rows are torn, for review by a person. The summary contains the level

examples:
  evlearn cluster customers.csv --names id --out result.csv --report customers.html
  evlearn cluster iris.csv --n-clusters 3 --names flower --without species --as-is
  evlearn cluster people.csv --n-clusters 4 --out result.parquet --model people.json
  evlearn cluster people.csv --n-clusters 4 --leave 5% --out result.csv
  evlearn cluster people.csv --method bpec --set n_neighbors=50
  evlearn cluster distances.csv --n-clusters 4 --method evclus --set metric=precomputed
"""
_PREDICT = """\
Predict new rows with a model written by `evlearn cluster --model` or `evlearn.save_model`.
Columns are matched by name, in any order; others are ignored. The result has a row for every row of the table. If
a row has a missing value that the model does not accept, its assignment is "unknown".

examples:
  evlearn predict model.json new.csv > judged.csv
  evlearn predict model.json new.parquet --out judged.parquet --report judged.html
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        Arguments after ``evlearn``. None means ``sys.argv[1:]``.

    Returns
    -------
    int
        Exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for terminals without Ω
    parser = make_parser()
    options = parser.parse_args(arguments)
    decimal = options.decimal or ("," if options.thousands == "." else ".")
    if options.thousands == decimal:
        parser.error(f"--thousands {decimal} is also the decimal mark; use 2 different marks.")
    try:
        code = _run(options)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("\nevlearn: interrupted.", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:  # `evlearn predict ... | head`: Python must not flush stdout at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _CLOSED
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        print(f"evlearn: {error or type(error).__name__}", file=sys.stderr)
        return _FAILED


def _run(options: Namespace) -> int:
    # A local import, so that --help is fast.
    from evlearn.command_line import commands

    command = {"cluster": commands.cluster, "predict": commands.predict}[options.command]
    return command(options)


def make_parser() -> ArgumentParser:
    """Return the argument parser."""
    parser = _Parser(prog="evlearn", description=_DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"evlearn {evlearn.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="{cluster,predict}", title="commands")
    cluster = commands.add_parser("cluster", help="cluster a table", description=_CLUSTER)
    cluster.add_argument("data", help="CSV file, Parquet file, or folder of Parquet files")
    _add_method_options(cluster)
    table = _add_table_options(cluster)
    table.add_argument(
        "--drop-missing", action="store_true", help="with --as-is: fit without rows with missing values"
    )
    results = _add_result_options(cluster)
    results.add_argument("--model", metavar="FILE.json", help="save the fitted model, for `evlearn predict`")
    predict = commands.add_parser("predict", help="predict new rows", description=_PREDICT)
    predict.add_argument("saved", metavar="model.json", help="saved model")
    predict.add_argument("data", help="CSV file, Parquet file, or folder of Parquet files")
    _add_table_options(predict)
    _add_result_options(predict)
    return parser


class _Parser(ArgumentParser):
    """Argument parser with preformatted texts, also for subcommands."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(
            formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False, epilog=_CODES, **keywords
        )


def _add_method_options(parser: ArgumentParser) -> None:
    method = parser.add_argument_group("method")
    method.add_argument(
        "-k",
        "--n-clusters",
        "--clusters",
        type=_number,
        metavar="K",
        help="number of clusters, or auto (default for ensemble and bpec)",
    )
    method.add_argument(
        "-m", "--method", choices=METHODS, default="ensemble", help="see above (default: ensemble)"
    )
    method.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="parameter of the method, as in Python; may be repeated: --set delta=2 --set focal_sets=pairs",
    )
    method.add_argument(
        "--standardize",
        action="store_true",
        help="scale numbers to mean 0 and standard deviation 1, without logarithms or clipping of outliers",
    )
    method.add_argument("--as-is", action="store_true", help="use numbers without scaling, and leave out text")
    method.add_argument(
        "--constraints", metavar="FILE.csv", help="pairs of rows in the same cluster or in different clusters"
    )
    method.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")
    method.add_argument("--jobs", type=int, metavar="N", help="number of threads; -1 for all")


def _add_table_options(parser: ArgumentParser) -> Any:
    table = parser.add_argument_group("table")
    table.add_argument("--columns", metavar="A,B,...", help="columns to use (default: all)")
    table.add_argument("--without", metavar="A,B,...", help="columns that are not features: labels, identifiers")
    table.add_argument("--names", metavar="COLUMN", help="column with the names of the rows")
    table.add_argument(
        "--header",
        action=BooleanOptionalAction,
        help="whether line 1 of a CSV file contains column names (default: detected)",
    )
    table.add_argument(
        "--delimiter",
        type=_delimiter,
        metavar="C",
        help="delimiter of a CSV file: a character, tab or space (default: detected)",
    )
    table.add_argument("--decimal", type=_mark, metavar="C", help="decimal mark of a CSV file (default: detected)")
    table.add_argument(
        "--thousands",
        type=_mark,
        metavar="C",
        help="thousands mark of a CSV file, as in 1.234.567 (default: none)",
    )
    table.add_argument(
        "--encoding",
        type=_encoding,
        metavar="NAME",
        help="encoding of a CSV file, such as cp1252 for older files from Windows (default: UTF-8, or "
        "UTF-16 with a byte order mark)",
    )
    return table


def _add_result_options(parser: ArgumentParser) -> Any:
    results = parser.add_argument_group("results")
    results.add_argument("-o", "--out", metavar="FILE", help="labels and masses, as .csv or .parquet")
    verdict = results.add_mutually_exclusive_group()
    verdict.add_argument(
        "--level", type=_level, metavar="L", help="belief in one cluster from which a row is sure (default: 0.6)"
    )
    verdict.add_argument(
        "--leave",
        type=_share,
        metavar="SHARE",
        help="select the level so that about this share of the rows is torn, such as 5%% or 0.05",
    )
    results.add_argument(
        "--notation",
        choices=("plain", "sets"),
        default="plain",
        help="notation of sets of clusters: plain for spreadsheets and databases (default), or sets as in papers",
    )
    results.add_argument("--report", metavar="FILE.html", help="plots and tables on one page")
    results.add_argument("--review", metavar="FILE.csv", help="torn rows and outliers, with the reasons")
    results.add_argument(
        "--keep-formulas",
        action="store_true",
        help="do not change text in a .csv; by default, text that starts with = + - or @ gets a leading ', so "
        "that spreadsheets do not run it as a formula",
    )
    results.add_argument("--title", metavar="TEXT", help="title of the report")
    results.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    return results


def _number(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"must be a number or the word auto, got {text!r}") from None


def _delimiter(text: str) -> str:
    text = {"tab": "\t", "\\t": "\t", "space": " "}.get(text.lower(), text)
    if len(text) != 1 or text in '"\r\n' or text.isalnum():
        raise ArgumentTypeError(f"must be a single character such as ;, or the word tab or space, got {text!r}")
    return text


def _mark(text: str) -> str:
    if len(text) != 1 or text.isalnum() or text in '+-"\t\r\n':
        raise ArgumentTypeError(f"must be a single mark, such as a comma or a point, got {text!r}")
    return text


def _encoding(text: str) -> str:
    try:
        "a".encode(text)
    except (LookupError, ValueError):
        raise ArgumentTypeError(
            f"{text!r} is not an encoding; examples are utf-8, utf-16, cp1252 and latin-1"
        ) from None
    return text


def _level(text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = 0.0
    if not 0 < level <= 1:
        raise ArgumentTypeError(f"must be a number above 0 and at most 1, such as 0.9, got {text!r}")
    return level


def _share(text: str) -> float:
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ArgumentTypeError(f"must be a share, such as 5% or 0.05, got {text!r}")
    return share
