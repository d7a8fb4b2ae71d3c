"""Cells missing at random in six tables: gaps as doubt, beside nearest-neighbour imputation and the same method.

``python -m benchmarks.studies.answers.missing --write``

A table loses 0, 20, 40 or 60 of 100 cells, the same ones for both ways. Labels are judged by the adjusted Rand
index, and doubt by the area under the risk-coverage curve (AURC): an error is a sample whose class is not that of
the majority of its cluster. Other ways to complete samples were tried on some of the first three tables (averages
in the place of draws, half of both, more components, neighbours for draws); none was better throughout.
"""

import warnings

import numpy as np
from sklearn.impute import KNNImputer
from sklearn.metrics import adjusted_rand_score

from benchmarks.common import command_line, record
from benchmarks.studies.answers import data
from evlearn.cluster import ECM, EVCLUS
from evlearn.metrics import aurc_score, majority_classes

TABLES = {
    "design": ("iris", "wdbc", "segment"),
    "confirmation": ("wine", "seeds", "digits 20"),
}
SHARES = (0.0, 0.2, 0.4, 0.6)
SEEDS = range(3)
MOST_ROWS = 400
METHODS = {
    "ECM": lambda problem: ECM(problem.n_clusters, random_state=0),
    "EVCLUS": lambda problem: EVCLUS(problem.n_clusters, random_state=0),
}


def table(name):
    """A table with at most so many rows."""
    problem = data.load("design", name)
    if len(problem.y) <= MOST_ROWS:
        return problem
    rows = np.sort(np.random.default_rng(0).choice(len(problem.y), MOST_ROWS, replace=False))
    return problem._replace(X=problem.X[rows], y=problem.y[rows])


def with_gaps(X, share, seed):
    """Cells missing at random; a larger share has the gaps of a smaller one."""
    order = np.random.default_rng(seed).random(X.shape)
    return np.where(order < share, np.nan, X)


def judged(problem, partition):
    """How right labels are, how well doubt tells errors, and how much of it there is."""
    labels, doubt = partition.to_hard(), partition.doubt()
    return {
        "ari": adjusted_rand_score(problem.y, labels),
        "aurc": aurc_score(problem.y, majority_classes(problem.y, labels), doubt),
        "doubt": float(doubt.mean()),
    }


def compared(name, method, share, seeds=SEEDS):
    """Both ways on one table, as means over seeds of which cells are missing."""
    problem, ways = table(name), {"gaps": [], "imputed": []}
    for seed in seeds if share else seeds[:1]:
        X = with_gaps(problem.X, share, seed)
        for way, given in (("gaps", X), ("imputed", KNNImputer().fit_transform(X))):
            ways[way].append(judged(problem, METHODS[method](problem).fit(given).credal_partition_))
    means = {way: {key: np.mean([one[key] for one in found]) for key in found[0]} for way, found in ways.items()}
    return {
        "data": name,
        "method": method,
        "share": share,
        **{f"{key}_{way}": round(float(value), 3) for way, found in means.items() for key, value in found.items()},
    }


def averages(rows):
    """Means over tables, for each method and share."""
    keys = [key for key in rows[0] if key not in ("data", "method", "share")]
    return [
        {"method": method, "share": share}
        | {
            key: round(
                float(np.mean([one[key] for one in rows if (one["method"], one["share"]) == (method, share)])), 3
            )
            for key in keys
        }
        for method in METHODS
        for share in SHARES
    ]


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--write", action="store_true", help="write the record")
    parser.add_argument("--tables", choices=list(TABLES), help="one of the two lists only")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {}
    for group in [options.tables] if options.tables else TABLES:
        found[group] = []
        for name in TABLES[group]:
            for method in options.methods:
                for share in SHARES:
                    found[group].append(compared(name, method, share))
                    print(found[group][-1], flush=True)
    if options.write:
        found["means"] = averages([row for rows in found.values() for row in rows])
        record.write("answers_missing", found)


if __name__ == "__main__":
    main()
