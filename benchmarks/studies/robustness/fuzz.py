"""Random inputs of the robustness study: small data of all kinds and parameters, for every estimator.

Hypothesis draws the data; `grid` defines failures.
"""

import time

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from benchmarks.studies.robustness import inputs
from benchmarks.studies.robustness.grid import EXCLUDED, FAILURES, WorkerProcess, evaluate, subjects, wrong_numbers

EXAMPLES = 25
SECONDS = 300
SPECIAL = (0.0, -1.0, 1e8, 1e150, -1e150, 1e300, 1e-150, 5e-324, np.nan, np.inf, -np.inf)
SCALES = (1.0, 1.0, 1e-8, 1e8, 1e-150, 1e150)
LAYOUTS = (np.asarray, np.asfortranarray, inputs.read_only, inputs.unaligned, inputs.strided)


@st.composite
def rows(draw):
    """Draw rows with few or many distinct values, of any scale, with duplicates and rarely a special value."""
    n, d = draw(st.integers(1, 14)), draw(st.integers(1, 4))
    value = draw(st.sampled_from([st.floats(-10, 10), st.sampled_from([0.0, 1.0, 2.0])]))
    X = np.array(draw(st.lists(value, min_size=n * d, max_size=n * d))).reshape(n, d)
    X *= draw(st.sampled_from(SCALES))
    if draw(st.booleans()):
        X = X[draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=2 * n))]
    if draw(st.integers(0, 4)) == 0:
        X[draw(st.integers(0, len(X) - 1)), draw(st.integers(0, d - 1))] = draw(st.sampled_from(SPECIAL))
    if draw(st.integers(0, 4)) == 0:
        with np.errstate(all="ignore"):
            return X.astype(draw(st.sampled_from([np.float32, np.float16, np.int64, object, ">f8"])))
    return draw(st.sampled_from(LAYOUTS))(X)


@st.composite
def problems(draw, subject):
    """Draw parameters, X and y for an estimator."""
    parameters = {}
    if "n_clusters" in subject.parameters:
        parameters["n_clusters"] = draw(st.integers(1, 5))
    if draw(st.booleans()):
        name = draw(st.sampled_from([name for name in subject.parameters if name not in EXCLUDED]))
        parameters[name] = draw(st.sampled_from(list(inputs.PARAMETERS.values())))
    X = draw(rows())
    if subject.precomputed and X.dtype == np.float64:
        with np.errstate(all="ignore"):
            X = np.abs(X[:, None] - X[None]).max(axis=2)
    return parameters, X, np.array(draw(st.lists(st.integers(0, 2), min_size=len(X), max_size=len(X))))


def fuzz(subject, number, n_examples):
    """Return counts of outcomes by name, and failures with their input."""
    outcomes, failures = {}, {}

    @seed(number)
    @settings(
        max_examples=n_examples,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(problems(subject))
    def attempt(problem):
        parameters, X, y = problem
        outcome, message = evaluate(lambda: wrong_numbers(subject.make(**parameters).fit(X, y), X), subject)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        if outcome in FAILURES:
            failures[outcome] = f"{message} | {parameters} | {X!r} | {y!r}"[:1500]
            raise AssertionError(outcome)

    try:
        attempt()
    except Exception as error:  # hypothesis reraises the failure, which is in the list already
        if not failures:
            failures["the fuzzer failed"] = repr(error)[:500]
    return outcomes, failures


def serve(pipe):
    """Run requested cases."""
    registry = subjects()
    pipe.send("ready")
    while True:
        try:
            name, number, n_examples = pipe.recv()
        except EOFError:
            return
        pipe.send(fuzz(registry[name], number, n_examples))


def run(minutes, names=None):
    """Test all estimators in rounds until the time is over; return counts of outcomes, and failures."""
    end = time.monotonic() + 60 * minutes
    counts, failures, worker, number = {}, [], None, 0
    while time.monotonic() < end:
        for name in names or subjects():
            if time.monotonic() > end:
                break
            worker = worker or WorkerProcess(serve)
            outcomes, messages = worker.run((name, number, EXAMPLES), SECONDS)
            if not isinstance(outcomes, dict):
                outcomes, messages = {outcomes: 1}, {outcomes: f"{messages}, seed {number}"}
                worker.close()
                worker = None
            for outcome, count in outcomes.items():
                counts.setdefault(name, {}).setdefault(outcome, 0)
                counts[name][outcome] += count
            failures += [[name, outcome, message] for outcome, message in messages.items()]
            if messages:
                print(name, messages, flush=True)
        number += 1
    if worker:
        worker.close()
    return {"minutes": minutes, "counts": counts, "failures": failures}


if __name__ == "__main__":
    import sys

    result = run(float(sys.argv[1]), sys.argv[2:])
    print(*result["failures"], result["counts"], sep="\n")
