"""Case study: biopsies without diagnoses, a tenth of which a pathologist reviews.

A laboratory has 284 needle biopsies of breast lumps, with 30 measurements of cell nuclei for each, and no
diagnosis. A method forms 2 groups, a pathologist names each (a group with mostly malignant biopsies is
"malignant"), and then corrects the 10 % of the biopsies with the largest doubt. An overlooked tumor costs as much
as 50 reviews, a false alarm 5.

Protocol, written before the first run: 20 random halves of scikit-learn's breast cancer data (569 biopsies),
features standardized within the half; each method with its defaults, 2 clusters, the seed of the half. Diagnoses
are used only for evaluation. Doubt is the usual measure of each method: the ratio of the 2 distances of k-means, 1
minus the largest posterior of the mixture, 1 minus the probability of HDBSCAN (noise goes to the nearest cluster,
with doubt 1), and our `doubt()`. The guide recommends CCM; ECM and an ensemble of 4 methods are reported too. One
reference is not a competitor: a calibrated forest trained on the diagnoses of the other half. These data were
among the 71 data sets on which the defaults of the library were designed. No other variant was measured:
`BootClus` and `MergedMixture` were started after the first run and stopped after 8 minutes of CPU time.
"""

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import StandardScaler

from benchmarks.studies.answers import methods
from benchmarks.studies.cases.decisions import gains, interval, intervals, select_for_review
from evlearn.metrics.risk_coverage import majority_classes

BUDGET, SEEDS = 0.1, 20
COSTS = {"overlooked tumor": 50, "false alarm": 5, "look": 1}
METHOD = "CCM"
PEERS = {name: methods.PEERS[name] for name in ("k-means", "Gaussian mixture", "hdbscan", "fuzzy c-means")}
METHODS = PEERS | {name: methods.LIBRARY_METHODS[name] for name in (METHOD, "ECM", "CredalEnsemble")}
FOREST = "forest, given diagnoses"
CURVE = np.arange(0, 0.31, 0.02)


def halves(seed):
    """Return the biopsies of both laboratories; a tumor is 1."""
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    return [(X[rows], 1 - y[rows]) for rows in (order[: len(X) // 2], order[len(X) // 2 :])]


def forest(X, y, other):
    """Return the result of a calibrated forest that is trained on the diagnoses of the other half."""
    model = CalibratedClassifierCV(RandomForestClassifier(200, random_state=0)).fit(*other)
    malignant = model.predict_proba(X)[:, 1]
    return methods.Answer((malignant > 0.5).astype(int), 1 - np.maximum(malignant, 1 - malignant))


def evaluate(y, answer):
    """Return the errors, and their costs, after a review of 10 % of the biopsies."""
    groups = majority_classes(y, answer.labels)
    reviewed = select_for_review(answer.doubt, BUDGET)
    overlooked, alarms = (y == 1) & (groups == 0), (y == 0) & (groups == 1)
    n_left = [int((errors & ~reviewed).sum()) for errors in (overlooked, alarms)]
    cost = (
        COSTS["overlooked tumor"] * n_left[0]
        + COSTS["false alarm"] * n_left[1]
        + COSTS["look"] * int(reviewed.sum())
    )
    return {
        "errors": int((overlooked | alarms).sum()),
        "overlooked_left": n_left[0],
        "alarms_left": n_left[1],
        "errors_left": sum(n_left),
        "cost": cost,
    }


def curve(y, answer):
    """Return the errors left, by the share of reviewed biopsies."""
    wrong = majority_classes(y, answer.labels) != y
    return [int(wrong[~select_for_review(answer.doubt, share)].sum()) for share in CURVE]


def verdicts(y, answer):
    """Return the numbers of sure biopsies, and of errors among them and among the others."""
    wrong = majority_classes(y, answer.labels) != y
    return {
        "sure": int(answer.sure.sum()),
        "wrong_of_sure": int(wrong[answer.sure].sum()),
        "wrong_of_others": int(wrong[~answer.sure].sum()),
    }


def study(seeds=SEEDS, chosen=tuple(METHODS)):
    """Return all results, over random halves."""
    rows, curves, verdict_counts = [], {}, {}
    for seed in range(seeds):
        (X, y), other = halves(seed)
        scaled = StandardScaler().fit_transform(X)
        answers = {name: METHODS[name](scaled, 2, seed) for name in chosen}
        answers[FOREST] = forest(X, y, other)
        rows.append({name: evaluate(y, answer) for name, answer in answers.items()})
        for name, answer in answers.items():
            curves.setdefault(name, []).append(curve(y, answer))
            if answer.sure is not None:
                verdict_counts.setdefault(name, []).append(verdicts(y, answer))
    peers = [name for name in chosen if name in PEERS]
    return {
        "samples": len(y),
        "looks": round(BUDGET * len(y)),
        "repetitions": seeds,
        "costs": COSTS,
        "variants": 0,
        "methods": intervals(rows),
        "gains": gains(rows, METHOD, peers, "cost"),
        "verdicts": {
            name: {key: interval([count[key] for count in counts]) for key in counts[0]}
            for name, counts in verdict_counts.items()
        },
        "shares": [round(float(share), 2) for share in CURVE],
        "curves": {
            name: [round(float(value), 2) for value in np.mean(values, axis=0)] for name, values in curves.items()
        },
    }
