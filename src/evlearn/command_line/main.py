"""From what a user types to a command, and from how it ended to an exit code."""

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

METHODS = ("ccm", "ecm", "bpec", "evclus", "recm", "cecm")
_FAILED, _INTERRUPTED, _CLOSED = 1, 130, 141

_ABOUT = """\
Clustering that says what it does not know.

Every row of a table is one of three things: sure (it belongs to one cluster), torn (it belongs to
one of several, and the data cannot say which), or an outlier (it belongs to none).

  evlearn cluster data.csv --n-clusters 3 --out result.csv --report report.html --model model.json
  evlearn predict model.json new.csv --out judged.csv

`evlearn cluster --help` explains the options.
"""
_CODES = """\
exit codes:
  0  done
  1  something is wrong with the data, a parameter or a file; stderr says what
  2  the command itself was not understood
  3  done, but the fit ended before it had settled (max_iter, or Ctrl-C); results are written
  130  interrupted before there was anything to write
"""
_CLUSTER = """\
Cluster the rows of a table, and say which are sure, torn or outliers.

methods (--method):
  ccm      like k-means, with doubt: round clusters, any number of rows. Try it first
  ecm      like ccm, with more torn rows: also between clusters with another one in their middle
  bpec     finds the number of clusters by itself, from peaks of density
  evclus   compares pairs of rows; also for a square table of dissimilarities
  recm     like ecm, for a square table of dissimilarities: --set metric=precomputed
  cecm     like ecm, with constraints (--constraints)

what happens to the columns:
  Numbers are scaled, categories and dates become features, and missing values become doubt (ccm, ecm) or are
  filled in. Identifiers, free text and constant columns are left out. The command says what it did with each
  column. --as-is uses the columns of numbers without scaling

the columns of the result (--out):
  sample      the name of the row (--names), or its number from 0
  cluster     the best single label, as in k-means
  assignment  1: sure. 1|2: torn between clusters 1 and 2. any: all clusters are possible. outlier: none is.
              unknown: the row has a missing value, and the model accepts none
  doubt       doubt between clusters: 1 minus the belief in the best one, from 0 to 1. It may be 0 for outliers
  outlier_score
              the mass on "no cluster", from 0 to 1: the row is an outlier from 0.5 on
  mass_...    masses: how one unit of belief is divided among sets of clusters. mass_none is "no cluster",
              mass_1_2 is "1 or 2, unknown which", mass_any is "any cluster"
  --notation sets writes these as in the papers: {1,2}, ∅ and Ω

constraints (--constraints):
  A CSV file with two rows in each line, by name (--names) or number, and the word must or cannot:
    anna,ben,must
    anna,carl,cannot

which rows are sure (--level, --leave):
  a row is sure if its belief in one cluster reaches the level, torn if not, and an outlier if at least half of its
  mass is on no cluster. --level 0.9 asks for more belief than the default, 0.6. --leave 5% finds the level that
  leaves about 5 % of the rows torn, for a person to look at. The summary prints the level

examples:
  evlearn cluster customers.csv --n-clusters auto --names id --out result.csv --report customers.html
  evlearn cluster iris.csv --n-clusters 3 --names flower --without species --as-is
  evlearn cluster people.csv --n-clusters 4 --out result.parquet --model people.json
  evlearn cluster people.csv --n-clusters 4 --leave 5% --out result.csv
  evlearn cluster people.csv --method bpec --set n_neighbors=50
  evlearn cluster distances.csv --n-clusters 4 --method evclus --set metric=precomputed
"""
_PREDICT = """\
Predict new rows with a model that `evlearn cluster --model` or `evlearn.save_model` wrote.
Columns are found by their names, in any order; others are ignored. Every row gets a row in the result. If it has
a missing value and the model accepts none, it is "unknown".

examples:
  evlearn predict model.json new.csv > judged.csv
  evlearn predict model.json new.parquet --out judged.parquet --report judged.html
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        What the user typed after ``evlearn``; None asks the system.

    Returns
    -------
    int
        The exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that does not know Ω
    parser = make_parser()
    options = parser.parse_args(arguments)
    decimal = options.decimal or ("," if options.thousands == "." else ".")
    if options.thousands == decimal:
        parser.error(f"--thousands {decimal} is also the decimal mark; give two different marks.")
    try:
        code = _run(options)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("\nevlearn: interrupted.", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:  # `evlearn predict ... | head`: nobody reads on, and Python must not try at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _CLOSED
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        print(f"evlearn: {error or type(error).__name__}", file=sys.stderr)
        return _FAILED


def _run(options: Namespace) -> int:
    # Loaded only now, so that --help answers at once.
    from evlearn.command_line import commands

    command = {"cluster": commands.cluster, "predict": commands.predict}[options.command]
    return command(options)


def make_parser() -> ArgumentParser:
    """The parser of the command."""
    parser = _Parser(prog="evlearn", description=_ABOUT)
    parser.add_argument("--version", action="version", version=f"evlearn {evlearn.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="{cluster,predict}", title="commands")
    cluster = commands.add_parser("cluster", help="cluster a table", description=_CLUSTER)
    cluster.add_argument("data", help="a CSV file, a Parquet file, or a folder of Parquet files")
    _add_method_options(cluster)
    table = _add_table_options(cluster)
    table.add_argument(
        "--drop-missing", action="store_true", help="with --as-is: fit without rows with missing values"
    )
    results = _add_result_options(cluster)
    results.add_argument("--model", metavar="FILE.json", help="save the fitted model, for `evlearn predict`")
    predict = commands.add_parser("predict", help="predict new rows", description=_PREDICT)
    predict.add_argument("saved", metavar="model.json", help="the model")
    predict.add_argument("data", help="a CSV file, a Parquet file, or a folder of Parquet files")
    _add_table_options(predict)
    _add_result_options(predict)
    return parser


class _Parser(ArgumentParser):
    """A parser whose texts stay as they are written; commands get one of the same kind."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(
            formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False, epilog=_CODES, **keywords
        )


def _add_method_options(parser: ArgumentParser) -> None:
    method = parser.add_argument_group("the method")
    method.add_argument(
        "-k",
        "--n-clusters",
        "--clusters",
        type=_number,
        metavar="K",
        help="the number of clusters, or auto, which takes longer",
    )
    method.add_argument("-m", "--method", choices=METHODS, default="ccm", help="see above (default: ccm)")
    method.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the method, as in Python; may be repeated: --set delta=2 --set focal_sets=pairs",
    )
    method.add_argument(
        "--standardize",
        action="store_true",
        help="scale numbers to mean 0 and deviation 1, without logarithms or clipping of outliers",
    )
    method.add_argument("--as-is", action="store_true", help="use numbers without scaling, and leave out text")
    method.add_argument("--constraints", metavar="FILE.csv", help="pairs of rows that belong together, or do not")
    method.add_argument("--seed", type=int, default=0, metavar="N", help="for repeatable results (default: 0)")
    method.add_argument("--jobs", type=int, metavar="N", help="how many threads to use; -1 for all")


def _add_table_options(parser: ArgumentParser) -> Any:
    table = parser.add_argument_group("the table")
    table.add_argument("--columns", metavar="A,B,...", help="the columns to use (default: all)")
    table.add_argument("--without", metavar="A,B,...", help="columns that are not features: labels, identifiers")
    table.add_argument("--names", metavar="COLUMN", help="the column with the names of the rows")
    table.add_argument(
        "--header",
        action=BooleanOptionalAction,
        help="whether line 1 of a CSV file has the names of the columns (default: detected)",
    )
    table.add_argument(
        "--delimiter",
        type=_delimiter,
        metavar="C",
        help="the character between the cells of a CSV file, or tab, or space (default: detected)",
    )
    table.add_argument(
        "--decimal", type=_mark, metavar="C", help="the decimal mark of a CSV file (default: detected)"
    )
    table.add_argument(
        "--thousands",
        type=_mark,
        metavar="C",
        help="the mark between groups of 3 digits in a CSV file, as in 1.234.567 (default: none)",
    )
    table.add_argument(
        "--encoding",
        type=_encoding,
        metavar="NAME",
        help="the encoding of a CSV file, such as cp1252 for older files from Windows (default: UTF-8, or "
        "UTF-16 with a byte order mark)",
    )
    return table


def _add_result_options(parser: ArgumentParser) -> Any:
    results = parser.add_argument_group("the results")
    results.add_argument("-o", "--out", metavar="FILE", help="labels and masses, as .csv or .parquet")
    verdict = results.add_mutually_exclusive_group()
    verdict.add_argument(
        "--level", type=_level, metavar="L", help="the belief that makes a row sure (default: 0.6)"
    )
    verdict.add_argument(
        "--leave",
        type=_share,
        metavar="SHARE",
        help="leave about this share of the rows torn, such as 5%% or 0.05; the level follows",
    )
    results.add_argument(
        "--notation",
        choices=("plain", "sets"),
        default="plain",
        help="how sets of clusters are written: plain for spreadsheets and databases (default), or as in papers",
    )
    results.add_argument("--report", metavar="FILE.html", help="pictures and tables as one page, for others")
    results.add_argument("--review", metavar="FILE.csv", help="the torn rows and the outliers, with the reasons")
    results.add_argument(
        "--keep-formulas",
        action="store_true",
        help="leave text in a .csv unchanged; otherwise a ' is put before text that begins with = + - or @, so "
        "that no spreadsheet runs it as a formula",
    )
    results.add_argument("--title", metavar="TEXT", help="the title of the report")
    results.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    return results


def _number(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"a number or the word auto is needed, not {text!r}") from None


def _delimiter(text: str) -> str:
    text = {"tab": "\t", "\\t": "\t", "space": " "}.get(text.lower(), text)
    if len(text) != 1 or text in '"\r\n' or text.isalnum():
        raise ArgumentTypeError(f"a single character is needed, such as ; or the word tab, not {text!r}")
    return text


def _mark(text: str) -> str:
    if len(text) != 1 or text.isalnum() or text in '+-"\t\r\n':
        raise ArgumentTypeError(f"a single mark is needed, such as a comma or a point, not {text!r}")
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
        raise ArgumentTypeError(f"a number above 0 and at most 1 is needed, such as 0.9, not {text!r}")
    return level


def _share(text: str) -> float:
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ArgumentTypeError(f"a share is needed, such as 5% or 0.05, not {text!r}")
    return share
