"""Sensors of a smartwatch that record exercises, person by person, and when a therapist must look at the video.

Ten persons did seven shoulder exercises with each arm, with acceleration and rotation at 50 Hz (the data come with
seglearn). A sample is a window of four seconds, by mean, standard deviation, least and largest value of six
channels. The recordings of two persons are labelled. Those of the others arrive person by person. Of each window
the system names the exercise, or a therapist looks at the video: a wrong name costs 1, a look 0.2. What was looked
at is labelled, and the model is fitted again before the next person. Nobody moves like another, so each new person
is a batch from elsewhere.

Protocol, written before the first run: five random orders of persons; features standardised for methods that need
it; looks where the expected cost of the best name is above 0.2, by probabilities or by masses. Peers: a calibrated
forest, logistic regression and nearest neighbours. Ours: `EvidentialForestClassifier`, which the guide names
first, and `EvidentialKNNClassifier`. All by default. No other variant was tried.
"""

import numpy as np

from benchmarks.studies.answers.data import folder
from benchmarks.studies.cases import classifiers
from benchmarks.studies.cases.decisions import acts_of_masses, acts_of_probabilities, gains, interval, intervals
from evlearn import predict_mass
from evlearn.belief import loss_matrix

WINDOW, LABELLED, ORDERS, LOOK = 200, 2, 5, 0.2
COSTS = {"wrong name": 1.0, "look": LOOK}
OURS = classifiers.OURS
PEERS = classifiers.peers(100)
METHODS = PEERS | classifiers.ours()


def load():
    """Features of windows, exercises, persons, and the names of exercises."""
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
    """Names by number, or one more than the last: a look."""
    last = model[-1] if hasattr(model, "steps") else model
    losses = loss_matrix(len(last.classes_), rejection_cost=LOOK)
    if hasattr(last, "predict_mass"):
        return acts_of_masses(predict_mass(model, X), losses)
    return acts_of_probabilities(model.predict_proba(X), losses)


def stream(make, X, y, persons, order):
    """The windows that are looked at and those that get a wrong name, for each person that arrives."""
    n_exercises = y.max() + 1
    known = np.isin(persons, order[:LABELLED])
    batches = []
    for person in order[LABELLED:]:
        new = np.flatnonzero(persons == person)
        chosen = acts(make().fit(X[known], y[known]), X[new])
        looked = chosen == n_exercises
        batches.append((float(looked.mean()), float((chosen != y[new])[~looked].sum() / len(new))))
        known[new[looked]] = True
    return np.array(batches)


def study(orders=ORDERS, chosen=tuple(METHODS), arriving=8):
    """All figures, over orders of persons."""
    X, y, persons, names = load()
    rows, by_batch = [], {}
    for seed in range(orders):
        order = np.random.default_rng(seed).permutation(np.unique(persons))[: LABELLED + arriving]
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
        "gains": gains(rows, OURS, peers, "cost"),
        "by_batch": {name: [interval(100 * one) for one in np.array(each).T] for name, each in by_batch.items()},
    }
