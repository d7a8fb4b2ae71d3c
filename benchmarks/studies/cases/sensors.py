"""Case study: exercises recorded by a smartwatch, with reviews of videos by a therapist.

10 persons did 7 shoulder exercises with each arm, with acceleration and rotation at 50 Hz (data from seglearn). A
sample is a window of 4 seconds, described by the mean, standard deviation, minimum and maximum of 6 channels. The
recordings of 2 persons are labeled. The others arrive person by person. The system names the exercise of each
window, or a therapist reviews the video: a wrong name costs 1, a review 0.2. Reviewed windows are labeled, and the
model is fitted again before the next person. Each person moves differently, so each batch has a different
distribution.

Protocol, written before the first run: 5 random orders of persons; features standardized for methods that need it;
review if the expected cost of the best name exceeds 0.2, by probabilities or by masses. Peers: a calibrated
forest, logistic regression and nearest neighbors. Our methods: `EvidentialForestClassifier`, the first
recommendation of the guide, and `EvidentialKNNClassifier`. All with defaults. No other variant was tried.
"""

import numpy as np

from benchmarks.studies.answers.data import folder
from benchmarks.studies.cases import classifiers
from benchmarks.studies.cases.decisions import acts_of_masses, acts_of_probabilities, gains, interval, intervals
from evlearn import predict_mass
from evlearn.belief import loss_matrix

WINDOW, LABELED, ORDERS, LOOK = 200, 2, 5, 0.2
COSTS = {"wrong name": 1.0, "look": LOOK}
METHOD = classifiers.METHOD
PEERS = classifiers.peers(100)
METHODS = PEERS | classifiers.library_methods()


def load():
    """Return features of windows, exercises, persons, and the names of exercises."""
    data = np.load(folder("seglearn") / "data" / "watch_dataset.npy", allow_pickle=True).item()
    X, y, persons = [], [], []
    for recording, exercise, person in zip(data["X"], data["y"], data["subject"], strict=True):
        windows = recording[: len(recording) // WINDOW * WINDOW].reshape(-1, WINDOW, recording.shape[1])
        figures = (windows.mean(axis=1), windows.std(axis=1), windows.min(axis=1), windows.max(axis=1))
        X.append(np.hstack(figures))
        y += [int(exercise)] * len(windows)
        persons += [int(person)] * len(windows)
    return np.vstack(X), np.array(y), np.array(persons), list(data["y_labels"])


def acts(model, X):
    """Return the exercises by number; the number after the last is a review."""
    last = model[-1] if hasattr(model, "steps") else model
    losses = loss_matrix(len(last.classes_), rejection_cost=LOOK)
    if hasattr(last, "predict_mass"):
        return acts_of_masses(predict_mass(model, X), losses)
    return acts_of_probabilities(model.predict_proba(X), losses)


def stream(make, X, y, persons, order):
    """Return the shares of reviewed and of wrongly named windows, for each arriving person."""
    n_exercises = y.max() + 1
    is_labeled = np.isin(persons, order[:LABELED])
    batches = []
    for person in order[LABELED:]:
        new = np.flatnonzero(persons == person)
        chosen = acts(make().fit(X[is_labeled], y[is_labeled]), X[new])
        reviewed = chosen == n_exercises
        batches.append((float(reviewed.mean()), float((chosen != y[new])[~reviewed].sum() / len(new))))
        is_labeled[new[reviewed]] = True
    return np.array(batches)


def study(orders=ORDERS, chosen=tuple(METHODS), arriving=8):
    """Return all results, over orders of persons."""
    X, y, persons, names = load()
    rows, by_batch = [], {}
    for seed in range(orders):
        order = np.random.default_rng(seed).permutation(np.unique(persons))[: LABELED + arriving]
        row = {}
        for name in chosen:
            batches = stream(METHODS[name], X, y, persons, order)
            looks, wrong = 100 * batches.mean(axis=0)
            row[name] = {
                "looks": float(looks),
                "wrong": float(wrong),
                "wrong_of_named": float(100 * wrong / (100 - looks)) if looks < 100 else 0.0,
                "first_looks": float(100 * batches[0, 0]),
                "last_looks": float(100 * batches[-1, 0]),
                "cost": float(wrong + LOOK * looks),
            }
            by_batch.setdefault(name, []).append(batches[:, 1] + LOOK * batches[:, 0])
        rows.append(row)
    peers = [name for name in chosen if name in PEERS]
    return {
        "samples": len(y),
        "exercises": names,
        "repetitions": orders,
        "costs": COSTS,
        "variants": 0,
        "methods": intervals(rows),
        "gains": gains(rows, METHOD, peers, "cost"),
        "by_batch": {
            name: [interval(100 * values) for values in np.array(costs).T] for name, costs in by_batch.items()
        },
    }
