"""Biopsies without diagnoses, and which of them a pathologist should look at.

A laboratory has 284 needle biopsies of breast lumps, thirty measurements of cell nuclei for each, and no
diagnosis. A method forms two groups, a pathologist names each (the group where most are malignant is "malignant"),
and then looks at a tenth of the biopsies, those of largest doubt, and puts them right. An overlooked tumour costs
as much as 50 looks, a false alarm 5.

Protocol, written before the first run: twenty random halves of scikit-learn's breast cancer data (569 biopsies),
features standardised within the half; every method with its defaults, two clusters, the seed of the half. The
diagnoses only judge. Doubt is the usual one of each method: the ratio of the two distances of k-means, one minus
the largest posterior of the mixture, one minus the probability of hdbscan (noise has the nearest cluster, in full
doubt), and `doubt()` of ours. The guide says CCM; ECM and an ensemble of four methods stand beside it. One row is
not a competitor: a calibrated forest that was given the diagnoses of the other half. These data were among the
71 sets on which defaults of the library were designed. No other variant was measured: `BootClus` and
`MergedMixture` were begun after the first run, and given up after eight minutes of CPU.
"""

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import StandardScaler

from benchmarks.studies.answers import methods
from benchmarks.studies.cases.decisions import gains, interval, intervals, looked_at
from evlearn.metrics import majority_classes

BUDGET, SEEDS = 0.1, 20
COSTS = {"overlooked tumour": 50, "false alarm": 5, "look": 1}
OURS = "CCM"
PEERS = {name: methods.PEERS[name] for name in ("k-means", "Gaussian mixture", "hdbscan", "fuzzy c-means")}
METHODS = PEERS | {name: methods.OURS[name] for name in (OURS, "ECM", "CredalEnsemble")}
FOREST = "forest, given diagnoses"
CURVE = np.arange(0, 0.31, 0.02)


def halves(seed):
    """The biopsies of one laboratory and of the other; a tumour is 1."""
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    return [(X[rows], 1 - y[rows]) for rows in (order[: len(X) // 2], order[len(X) // 2 :])]


def forest(X, y, other):
    """A calibrated forest that knows the diagnoses of the other half."""
    model = CalibratedClassifierCV(RandomForestClassifier(200, random_state=0)).fit(*other)
    malignant = model.predict_proba(X)[:, 1]
    return methods.Answer((malignant > 0.5).astype(int), 1 - np.maximum(malignant, 1 - malignant))


def judged(y, answer):
    """What is overlooked, and what it costs, after somebody looked at a tenth."""
    named = majority_classes(y, answer.labels)
    seen = looked_at(answer.doubt, BUDGET)
    overlooked, alarms = (y == 1) & (named == 0), (y == 0) & (named == 1)
    left = [int((one & ~seen).sum()) for one in (overlooked, alarms)]
    cost = COSTS["overlooked tumour"] * left[0] + COSTS["false alarm"] * left[1] + COSTS["look"] * int(seen.sum())
    return {
        "errors": int((overlooked | alarms).sum()),
        "overlooked_left": left[0],
        "alarms_left": left[1],
        "errors_left": sum(left),
        "cost": cost,
    }


def curve(y, answer):
    """Errors left, by the share that is looked at."""
    wrong = majority_classes(y, answer.labels) != y
    return [int(wrong[~looked_at(answer.doubt, share)].sum()) for share in CURVE]


def verdicts(y, answer):
    """How many are sure, and how many of them and of the others are wrong."""
    wrong = majority_classes(y, answer.labels) != y
    return {
        "sure": int(answer.sure.sum()),
        "wrong_of_sure": int(wrong[answer.sure].sum()),
        "wrong_of_others": int(wrong[~answer.sure].sum()),
    }


def study(seeds=SEEDS, chosen=tuple(METHODS)):
    """All figures, over random halves."""
    rows, curves, told = [], {}, {}
    for seed in range(seeds):
        (X, y), other = halves(seed)
        scaled = StandardScaler().fit_transform(X)
        answers = {name: METHODS[name](scaled, 2, seed) for name in chosen}
        answers[FOREST] = forest(X, y, other)
        rows.append({name: judged(y, one) for name, one in answers.items()})
        for name, one in answers.items():
            curves.setdefault(name, []).append(curve(y, one))
            if one.sure is not None:
                told.setdefault(name, []).append(verdicts(y, one))
    peers = [name for name in chosen if name in PEERS]
    return {
        "samples": len(y),
        "looks": round(BUDGET * len(y)),
        "repetitions": seeds,
        "costs": COSTS,
        "variants": 0,
        "methods": intervals(rows),
        "gains": gains(rows, OURS, peers, "cost"),
        "verdicts": {
            name: {key: interval([one[key] for one in each]) for key in each[0]} for name, each in told.items()
        },
        "shares": [round(float(one), 2) for one in CURVE],
        "curves": {name: [round(float(one), 2) for one in np.mean(each, axis=0)] for name, each in curves.items()},
    }
