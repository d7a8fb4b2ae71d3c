"""Value of active queries compared with an equal number of random pairs, on Iris and the bananas.

``python -m benchmarks.studies.peers.active [--seeds 10]``

Mean adjusted Rand index over seeds after 0, 5, ..., 50 queries, answered by the true labels. Random pairs are
fitted from scratch, with their closure, and expanded to 5 neighbors like the answers of the learner. Bananas are
200 samples drawn for each seed; Iris has 150. It takes a few minutes of CPU time.

Choices after seeing results: "margin" as the default strategy, on the first 4 of these seeds; expansion of the
closure of the answers instead of the answers alone, after which single fits on the bananas ended near an index of
0, on Iris and on bananas of 8 other seeds.
"""

import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from benchmarks.common import command_line, record
from evlearn import papers
from evlearn.active import ActiveClustering, PairOracle
from evlearn.cluster import EVCLUS
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_bananas

STEP, LAST = 5, 50
PROBLEMS = {
    "Iris, EVCLUS": ("iris", EVCLUS),
    "bananas, EVCLUS": ("bananas", EVCLUS),
    "Iris, CECM": ("iris", papers.cecm),
}
LEARNERS = {
    "margin": {},
    "margin, closed world": {"closed_world": True},
    "doubt": {"strategy": "doubt"},
    "entropy": {"strategy": "entropy"},
    "nonspecificity": {"strategy": "nonspecificity"},
    "random objects": {"strategy": "random"},
    "margin, no expansion": {"n_neighbors": 0},
}


def make_problem(problem, seed):
    name, method = PROBLEMS[problem]
    X, y = load_iris(return_X_y=True) if name == "iris" else make_bananas(200, random_state=seed)
    options = {"metric": "adaptive"} if method is papers.cecm else {}
    return X, y, method(len(set(y)), focal_sets="pairs", random_state=seed, **options)


def active_curve(problem, seed, parameters):
    X, y, estimator = make_problem(problem, seed)
    learner = ActiveClustering(estimator, random_state=seed, **parameters).start(X)
    scores = [adjusted_rand_score(y, learner.estimator_.labels_)]
    for _ in range(STEP, LAST + 1, STEP):
        learner.run(PairOracle(y), STEP)
        scores.append(adjusted_rand_score(y, learner.estimator_.labels_))
    assert len(learner.constraints_.violations(y)) == 0
    return scores


def random_curve(problem, seed, n_neighbors):
    X, y, estimator = make_problem(problem, seed)
    pairs = np.random.RandomState(1000 + seed).permutation(np.column_stack(np.triu_indices(len(y), 1)))[:LAST]
    is_same = y[pairs[:, 0]] == y[pairs[:, 1]]
    scores = []
    for count in range(0, LAST + 1, STEP):
        selected, is_must_link = pairs[:count], is_same[:count]
        constraints = (
            PairwiseConstraints(selected[is_must_link], selected[~is_must_link]).closure().expand(X, n_neighbors)
        )
        scores.append(adjusted_rand_score(y, estimator.fit(X, constraints=constraints).labels_))
    return scores


def measure(curve, problem, n_seeds, *arguments):
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        scores = np.array([curve(problem, seed, *arguments) for seed in range(n_seeds)])
    return {
        "mean": scores.mean(axis=0).round(4).tolist(),
        "standard_deviation": scores.std(axis=0, ddof=1).round(4).tolist(),
        "cpu_seconds_per_seed": round((time.process_time() - start) / n_seeds, 2),
    }


def report(name, row):
    scores = {count: row["mean"][count // STEP] for count in (0, 25, 50)}
    cells = "   ".join(f"{score:.3f}" for score in scores.values())
    print(f"  {name:<28}{cells}   {row['cpu_seconds_per_seed']:>6.2f} s", flush=True)


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    results = {}
    for problem in PROBLEMS:
        print(f"{problem}: ARI after 0, 25, 50 queries, CPU seconds per seed")
        rows = results[problem] = {}
        for n_neighbors, name in ((0, "random pairs"), (5, "random pairs, expanded")):
            rows[name] = measure(random_curve, problem, options.seeds, n_neighbors)
            report(name, rows[name])
        for name, parameters in LEARNERS.items():
            rows[name] = measure(active_curve, problem, options.seeds, parameters)
            report(name, rows[name])
    queries = list(range(0, LAST + 1, STEP))
    record.write("peers_active", {"seeds": options.seeds, "queries": queries, "adjusted_rand_index": results})


if __name__ == "__main__":
    main()
