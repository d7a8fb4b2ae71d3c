"""Training of `evlearn.model_selection.estimate_n_clusters`.

``python -m benchmarks.studies.answers.train_n_clusters [--seeds N] [--cache FOLDER] [--write]``

The features of 1 to 12 clusters (`evlearn.model_selection.number_features`) are computed for generated problems of
the training families (`number_problems`). A multinomial logistic regression over the numbers is fitted with an L2
penalty. The penalty and the temperature of the probabilities have the best likelihood for problems whose families
are excluded from the fit. Then the temperature is raised until 9 of 10 such problems with a confidence of at least
0.5 are right, because real data differ more from the training families than these differ from each other. The
weights are written to ``src/evlearn/model_selection/number_weights.json``. Criteria can be stored in a folder. It
takes 20 minutes of CPU time.
"""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from benchmarks.common import command_line, processes
from benchmarks.common.reference import ROOT
from benchmarks.studies.answers import number_problems
from evlearn.model_selection.number_criteria import compute_criteria
from evlearn.model_selection.number_features import compute_features
from evlearn.model_selection.number_vote import MAX_CLUSTERS, draw_rows

WEIGHTS = ROOT / "src" / "evlearn" / "model_selection" / "number_weights.json"
N_SEEDS = 10
PENALTIES = (0.03, 0.1, 0.3, 1.0)
SEED, CONFIDENT, MAX_ITER = 0, 0.5, 300
MIN_CORRECT, N_FACTORS = 0.9, 200


class Training(NamedTuple):
    """Features of the numbers of clusters for each problem, positions of the true numbers, and families."""

    features: np.ndarray
    true: np.ndarray
    families: np.ndarray

    def select(self, chosen):
        """Return the selected problems."""
        return Training(self.features[chosen], self.true[chosen], self.families[chosen])


def criteria_of(family, seed, folder=None):
    """Return the criteria of a problem, and its number of clusters."""
    path = None if folder is None else folder / f"{family.__name__}-{seed}.npz"
    X, y = number_problems.problem(family, seed)
    if path is not None and path.exists():
        with np.load(path) as stored:
            return dict(stored), int(y.max()) + 1
    criteria = compute_criteria(draw_rows(X, np.random.RandomState(SEED)), MAX_CLUSTERS, SEED)
    if path is not None:
        np.savez(path, **criteria)
    return criteria, int(y.max()) + 1


def read_training(n_seeds, folder=None):
    """Return the training data, and the names of the features."""
    problems = [(family, seed) for seed in range(n_seeds) for family in number_problems.TRAINING]
    pairs = [criteria_of(family, seed, folder) for family, seed in problems]
    features = [compute_features(criteria) for criteria, _ in pairs]
    tables = np.array([np.column_stack(list(values.values())) for values in features])
    true = np.array([number - 1 for _, number in pairs])
    return Training(tables, true, np.array([family.__name__ for family, _ in problems])), list(features[0])


def scales_of(features):
    """Return the standard deviations of features among the numbers of a problem."""
    return np.sqrt(features.var(axis=1).mean(axis=0)) + 1e-9


def fit(training, penalty, start=None):
    """Return the weights of a multinomial logistic regression with an L2 penalty."""
    features, places = training.features, np.arange(len(training.true))

    def loss(weights):
        shares = probabilities(features, weights)
        likelihood = np.log(np.maximum(shares[places, training.true], 1e-300)).mean()
        shares[places, training.true] -= 1
        gradient = np.einsum("nm,nmp->p", shares, features) / len(features)
        return penalty / 2 * weights @ weights - likelihood, gradient + penalty * weights

    start = np.zeros(features.shape[2]) if start is None else start
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": MAX_ITER}).x


def probabilities(features, weights):
    return softmax(features @ weights)


def softmax(scores):
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def excluded_scores(training, penalty):
    """Return the scores of each problem by the weights from all other families."""
    scores, start = np.zeros(training.features.shape[:2]), fit(training, penalty)
    for family in np.unique(training.families):
        is_excluded = training.families == family
        weights = fit(training.select(~is_excluded), penalty, start)
        scores[is_excluded] = training.features[is_excluded] @ weights
    return scores


def best_temperature(scores, true):
    """Return the factor of scores with the largest likelihood, and the mean negative logarithm of it."""

    def loss(factor):
        return -np.log(np.maximum(softmax(factor * scores)[np.arange(len(true)), true], 1e-300)).mean()

    minimum = minimize_scalar(loss, bounds=(0.05, 5), method="bounded")
    return float(minimum.x), float(minimum.fun)


def cautious_factor(scores, factor, true):
    """Return the largest factor up to a given one for which enough of the confident answers are correct."""
    for smaller in np.linspace(factor, 0, N_FACTORS, endpoint=False):
        if describe(scores, smaller, true)["correct_if_confident"] >= MIN_CORRECT:
            return float(smaller)
    return factor


def describe(scores, factor, true):
    """Return the accuracy for excluded families."""
    shares = softmax(factor * scores)
    correct, confident = shares.argmax(axis=1) == true, shares.max(axis=1) >= CONFIDENT
    return {
        "problems": len(true),
        "correct": round(float(correct.mean()), 3),
        "confident": round(float(confident.mean()), 3),
        "correct_if_confident": round(float(correct[confident].mean()), 3) if confident.any() else 0.0,
    }


def train(training, names):
    """Return the weights, and facts about the training."""
    scales = scales_of(training.features)
    scaled = training._replace(features=training.features / scales)
    trials = {penalty: excluded_scores(scaled, penalty) for penalty in PENALTIES}
    tempered = {penalty: best_temperature(scores, scaled.true) for penalty, scores in trials.items()}
    penalty = min(PENALTIES, key=lambda candidate: tempered[candidate][1])
    likeliest, loss = tempered[penalty]
    factor = cautious_factor(trials[penalty], likeliest, scaled.true)
    weights = factor * fit(scaled, penalty) / scales
    facts = {"penalty": penalty, "likeliest_factor": round(likeliest, 4), "factor": round(factor, 4)}
    facts |= {"loss": round(loss, 4)}
    facts |= {"families": len(np.unique(training.families))}
    facts |= {"excluded_families": describe(trials[penalty], factor, scaled.true)}
    return {name: float(f"{weight:.5g}") for name, weight in zip(names, weights, strict=True)}, facts


def main():
    reader = command_line.parser(__doc__)
    reader.add_argument("--seeds", type=int, default=N_SEEDS, help="number of problems of each family")
    reader.add_argument("--cache", type=Path, help="folder for criteria")
    reader.add_argument("--write", action="store_true", help=f"write {WEIGHTS.name}")
    arguments = reader.parse_args()
    processes.with_one_thread()
    if arguments.cache is not None:
        arguments.cache.mkdir(parents=True, exist_ok=True)
    weights, facts = train(*read_training(arguments.seeds, arguments.cache))
    command_line.show("training", facts)
    if arguments.write:
        WEIGHTS.write_text(json.dumps({"training": facts, "weights": weights}, indent=1) + "\n")


if __name__ == "__main__":
    main()
