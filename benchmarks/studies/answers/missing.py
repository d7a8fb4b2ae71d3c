"""Missing values at random in 6 tables: evidential treatment compared with nearest-neighbor imputation.

``python -m benchmarks.studies.answers.missing --write``

The same 0, 20, 40 or 60 % of the values of a table are removed for both treatments. Labels are evaluated by the
adjusted Rand index, and doubt by the area under the risk-coverage curve (AURC): an error is a sample whose class
is not the majority class of its cluster. Other completions were tried on some of the first 3 tables (averages
instead of draws, half of each, more components, neighbors for draws); none was consistently better.
"""

import warnings

import numpy as np
from sklearn.impute import KNNImputer
from sklearn.metrics import adjusted_rand_score

from benchmarks.common import command_line, record
from benchmarks.studies.answers import data
from evlearn.cluster import ECM, EVCLUS
from evlearn.metrics import aurc_score
from evlearn.metrics.risk_coverage import majority_classes

TABLES = {
    "design": ("iris", "wdbc", "segment"),
    "confirmation": ("wine", "seeds", "digits 20"),
}
SHARES = (0.0, 0.2, 0.4, 0.6)
SEEDS = range(3)
MAX_ROWS = 400
METHODS = {
    "ECM": lambda problem: ECM(problem.n_clusters, random_state=0),
    "EVCLUS": lambda problem: EVCLUS(problem.n_clusters, random_state=0),
}


def table(name):
    """Return a table with at most `MAX_ROWS` rows."""
    problem = data.load("design", name)
    if len(problem.y) <= MAX_ROWS:
        return problem
    rows = np.sort(np.random.default_rng(0).choice(len(problem.y), MAX_ROWS, replace=False))
    return problem._replace(X=problem.X[rows], y=problem.y[rows])


def remove_values(X, share, seed):
    """Remove values at random; a larger share includes the missing values of a smaller one."""
    order = np.random.default_rng(seed).random(X.shape)
    return np.where(order < share, np.nan, X)


def evaluate(problem, partition):
    """Return the accuracy of labels, the quality of doubt in ranking errors, and the mean doubt."""
    labels, doubt = partition.to_hard(), partition.doubt()
    return {
        "ari": adjusted_rand_score(problem.y, labels),
        "aurc": aurc_score(problem.y, majority_classes(problem.y, labels), doubt),
        "doubt": float(doubt.mean()),
    }


def compare(name, method, share, seeds=SEEDS):
    """Return the scores of both treatments on a table, as means over seeds of the missing values."""
    problem, scores = table(name), {"gaps": [], "imputed": []}
    for seed in seeds if share else seeds[:1]:
        X = remove_values(problem.X, share, seed)
        for treatment, table_values in (("gaps", X), ("imputed", KNNImputer().fit_transform(X))):
            scores[treatment].append(
                evaluate(problem, METHODS[method](problem).fit(table_values).credal_partition_)
            )
    means = {
        treatment: {key: np.mean([result[key] for result in results]) for key in results[0]}
        for treatment, results in scores.items()
    }
    return {
        "data": name,
        "method": method,
        "share": share,
        **{
            f"{key}_{treatment}": round(float(value), 3)
            for treatment, means_of_treatment in means.items()
            for key, value in means_of_treatment.items()
        },
    }


def averages(rows):
    """Means over tables, for each method and share."""
    keys = [key for key in rows[0] if key not in ("data", "method", "share")]
    return [
        {"method": method, "share": share}
        | {
            key: round(
                float(np.mean([row[key] for row in rows if (row["method"], row["share"]) == (method, share)])), 3
            )
            for key in keys
        }
        for method in METHODS
        for share in SHARES
    ]


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--write", action="store_true", help="write the record")
    parser.add_argument("--tables", choices=list(TABLES), help="run a single list")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {}
    for group in [options.tables] if options.tables else TABLES:
        results[group] = []
        for name in TABLES[group]:
            for method in options.methods:
                for share in SHARES:
                    results[group].append(compare(name, method, share))
                    print(results[group][-1], flush=True)
    if options.write:
        results["means"] = averages([row for rows in results.values() for row in rows])
        record.write("answers_missing", results)


if __name__ == "__main__":
    main()
