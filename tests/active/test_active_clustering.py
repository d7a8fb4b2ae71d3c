import os
import pickle
import subprocess
import sys
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import pairwise_distances

from evlearn.active import ActiveClustering, PairAnswer, PairOracle, StopQuerying
from evlearn.active.answers import STRATEGIES
from evlearn.cluster import CECM, EVCLUS
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_bananas
from evlearn.partition import CredalPartition
from evlearn.utils.parameters import with_switches


class Recorder:
    """Oracle that records its queries."""

    def __init__(self, oracle):
        self.oracle = oracle
        self.queries = []

    def __call__(self, first, second):
        self.queries.append((first, second))
        return self.oracle(first, second)


def blobs(n_samples, n_clusters, seed):
    random = np.random.RandomState(seed)
    y = random.randint(n_clusters, size=n_samples)
    return np.column_stack([3 * y, y % 2]) + random.standard_normal((n_samples, 2)), y


def learner_on(X, n_clusters=2, seed=0, method=CECM, **parameters):
    return ActiveClustering(method(n_clusters), random_state=seed, **parameters).start(X)


# Queries


@pytest.mark.slow
@settings(max_examples=20)
@given(
    n_samples=st.integers(5, 30),
    n_clusters=st.integers(2, 4),
    seed=st.integers(0, 10_000),
    strategy=st.sampled_from(sorted(STRATEGIES)),
    closed_world=st.booleans(),
    share_unknown=st.sampled_from([0.0, 0.3]),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_queries_are_neither_repeated_nor_implied_and_constraints_agree_with_the_oracle(
    n_samples, n_clusters, seed, strategy, closed_world, share_unknown
):
    X, y = blobs(n_samples, n_clusters, seed)
    labels = np.where(np.random.RandomState(seed + 1).uniform(size=n_samples) < share_unknown, -1, y)
    oracle = Recorder(PairOracle(labels))
    learner = learner_on(X, n_clusters, seed, strategy=strategy, closed_world=closed_world, n_neighbors=2)
    constraints = PairwiseConstraints()
    for _ in range(12):
        query = learner.ask()
        if query is None:
            break
        first, second = query[:2]
        assert first != second
        # Both answers are consistent with the earlier ones.
        (constraints + PairwiseConstraints(must_link=[(first, second)])).closure()
        (constraints + PairwiseConstraints(cannot_link=[(first, second)])).closure()
        learner.answer(query, oracle(first, second))
        constraints = learner.constraints_
        assert len(constraints.violations(np.where(labels < 0, np.nan, labels))) == 0
    pairs = [tuple(sorted(pair)) for pair in oracle.queries]
    assert len(set(pairs)) == len(pairs)


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
@pytest.mark.slow
def test_the_same_seed_gives_the_same_questions_and_the_same_bits(strategy):
    X, y = make_bananas(60, random_state=0)
    runs = []
    for n_jobs in (1, 2):
        oracle = Recorder(PairOracle(y))
        estimator = EVCLUS(2, focal_sets="full", n_jobs=n_jobs)
        learner = ActiveClustering(estimator, strategy=strategy, random_state=3).start(X).run(oracle, 8)
        runs.append((oracle.queries, learner.estimator_.masses_))
    assert runs[0][0] == runs[1][0]
    np.testing.assert_array_equal(runs[0][1], runs[1][1])


def test_the_most_doubtful_sample_is_compared_with_the_representative_of_its_most_plausible_cluster():
    X = np.array([[0.0], [0.1], [0.2], [2.4], [5.0], [5.1], [5.2]])
    learner = learner_on(X)
    partition = learner.estimator_.credal_partition_
    query = learner.ask()
    assert query.first == 3
    assert query.cluster == partition.to_hard()[3]
    singleton = partition.focal_sets.singleton_positions[query.cluster]
    assert partition.masses[query.second, singleton] >= 0.99 * partition.masses[:, singleton].max()
    assert "sample 3 may be in cluster" in query.reason
    assert learner.ask() is query


def test_the_query_after_no_is_about_the_next_cluster_and_after_yes_about_the_next_sample():
    X, _ = blobs(30, 3, 0)
    learner = learner_on(X, 3)
    first = learner.ask()
    learner.answer(first, False)
    second = learner.ask()
    assert (second.first, second.cluster != first.cluster) == (first.first, True)
    learner.answer(second, True)
    assert learner.ask().first != first.first


def test_a_sample_is_not_chosen_more_often_than_permitted():
    X, _ = blobs(12, 2, 0)
    learner = learner_on(X, 2, max_queries_per_sample=1)
    learner.run(lambda first, second: None, 100)
    samples = [answer.first for answer in learner.history_]
    # A round continues through all clusters; no other round starts with the sample.
    assert max(np.bincount(samples)) <= 2
    rounds = [sample for sample, successor in pairwise([*samples, None]) if sample != successor]
    assert len(set(rounds)) == len(rounds)
    assert learner.ask() is None


@pytest.mark.parametrize("are_different", [True, False])
def test_in_a_closed_world_the_last_cluster_is_inferred_once_the_others_are_known_to_be_apart(are_different):
    X, _ = blobs(40, 2, 1)
    learner = learner_on(X, 2, closed_world=True)
    first, second = learner._representatives
    query = learner.ask()
    if are_different:
        learner.answer((first, second), False)
    learner.answer(query, False)
    last = second if query.second == first else first
    inferred = [answer for answer in learner.history_ if answer.inferred]
    assert inferred == ([PairAnswer(query.first, last, True, inferred=True)] if are_different else [])
    assert learner.constraints_.n_must_link == len(inferred)


def test_in_a_closed_world_conclusions_do_not_depend_on_the_order_of_answers():
    X, _ = blobs(40, 2, 1)
    learner = learner_on(X, 2, closed_world=True)
    first, second = learner._representatives
    query = learner.ask()
    learner.answer(query, False)
    assert not any(answer.inferred for answer in learner.history_)
    learner.answer((first, second), False)  # the clusters are known to differ only later
    last = second if query.second == first else first
    expected = PairAnswer(query.first, last, True, inferred=True)
    assert learner.history_[-1] == expected
    learner.answer((0, 1), None)
    learner.forget(0, 1)  # an unrelated pair
    assert learner.history_[-1] == expected
    learner.forget(*query[:2])
    assert not any(answer.inferred for answer in learner.history_)


def test_queries_end_if_labels_do_not_change_for_patience_refits():
    X, y = blobs(60, 2, 3)
    learner = learner_on(X, 2, patience=3).run(PairOracle(y), 1000)
    assert learner.ask() is None
    assert learner.agreements_[-3:] == [1, 1, 1]
    assert len(learner.history_) < 60


# Fits


@pytest.mark.parametrize("method", [EVCLUS, CECM])
@pytest.mark.slow
def test_a_refit_starts_at_the_last_solution_and_uses_all_answers(method):
    X, y = blobs(60, 3, 0)
    learner = learner_on(X, 3, method=method, n_neighbors=0).run(PairOracle(y), 10)
    start = learner._warm_start(learner.estimator_).init
    expected = learner.estimator_.cluster_centers_ if method is CECM else learner.estimator_.masses_
    np.testing.assert_array_equal(start, expected)
    repetition = learner._warm_start(learner.estimator_).fit(X, constraints=learner.constraints_.closure())
    np.testing.assert_array_equal(repetition.labels_, learner.estimator_.labels_)
    assert len(learner.agreements_) <= 10
    assert isinstance(learner.estimator_.credal_partition_, CredalPartition)
    assert learner.estimator_.init == method().init


def test_dissimilarities_give_the_same_queries_as_the_features_they_are_computed_from():
    X, y = make_bananas(50, random_state=1)
    queries = []
    for metric, data in (("euclidean", X), ("precomputed", pairwise_distances(X))):
        oracle = Recorder(PairOracle(y))
        ActiveClustering(EVCLUS(2, metric=metric), random_state=0).start(data).run(oracle, 6)
        queries.append(oracle.queries)
    assert queries[0] == queries[1]


@pytest.mark.slow
def test_two_consecutive_runs_have_the_same_queries_as_one_long_run():
    X, y = make_bananas(50, random_state=1)
    single, double = Recorder(PairOracle(y)), Recorder(PairOracle(y))
    # Warm starts have the same constraints only if the first run ends with a round, so that no fit is repeated.
    learner = learner_on(X, 2, n_neighbors=0).run(single, 9)
    ends = [place for place, answer in enumerate(learner.history_, start=1) if answer.same_cluster]
    learner_on(X, 2, n_neighbors=0).run(double, ends[0]).run(double, 9 - ends[0])
    assert single.queries == double.queries


@pytest.mark.slow
@pytest.mark.parametrize("n_queries", [25, 50])
@pytest.mark.parametrize("name", ["iris", "bananas"])
def test_queries_improve_the_partition_more_than_as_many_random_pairs(name, n_queries):
    active, random = [], []
    for seed in range(3):
        X, y = load_iris(return_X_y=True) if name == "iris" else make_bananas(150, random_state=seed)
        estimator = EVCLUS(len(set(y)), focal_sets="pairs", random_state=seed)
        learner = ActiveClustering(estimator, random_state=seed).start(X).run(PairOracle(y), n_queries)
        pairs = PairwiseConstraints.sample(y, n_queries, random_state=seed)
        active.append(adjusted_rand_score(y, learner.estimator_.labels_))
        random.append(adjusted_rand_score(y, clone(estimator).fit(X, constraints=pairs.expand(X)).labels_))
    assert np.mean(active) > np.mean(random)


# Answers


def test_a_contradictory_answer_is_ignored_and_the_message_contains_the_chain():
    X, _ = blobs(10, 2, 0)
    learner = learner_on(X)
    learner.answer((0, 1), True)
    learner.answer((1, 2), True)
    with pytest.warns(UserWarning, match="0 - 1 - 2"):
        learner.answer((0, 2), False)
    assert learner.constraints_ == PairwiseConstraints(must_link=[(0, 1), (1, 2)])
    learner.answer((2, 3), False)
    with pytest.warns(UserWarning, match=r"cannot_link holds \(2, 3\).*2 - 1 - 0 - 3"):
        learner.answer((0, 3), True)
    with pytest.warns(UserWarning, match=r"both hold \(0, 1\)"):
        learner.answer((0, 1), False)
    assert len(learner.history_) == 3
    assert learner.ask() is not None


def test_a_contradiction_can_be_an_error_and_the_answers_remain():
    X, _ = blobs(10, 2, 0)
    learner = learner_on(X, contradictions="raise")
    learner.answer((0, 1), True)
    learner.answer((1, 2), True)
    with pytest.raises(ValueError, match="0 - 1 - 2"):
        learner.answer((0, 2), False)
    assert len(learner.refit().constraints_) == 2


def test_a_wrong_answer_can_be_removed():
    X, _ = blobs(10, 2, 0)
    learner = learner_on(X)
    learner.answer((0, 1), True)
    learner.answer((1, 2), True)
    learner.forget(1, 0)
    learner.answer((0, 2), False)
    assert learner.constraints_ == PairwiseConstraints(must_link=[(1, 2)], cannot_link=[(0, 2)])
    with pytest.raises(ValueError, match=r"no answer about the pair \(0, 1\)"):
        learner.forget(0, 1)


@pytest.mark.slow
def test_an_erring_oracle_does_not_end_a_run():
    X, y = blobs(40, 3, 0)
    random = np.random.RandomState(0)

    def erring(first, second):
        return bool((y[first] == y[second]) ^ (random.uniform() < 0.3))

    learner = learner_on(X, 3, closed_world=True).run(erring, 30)
    assert sum(not answer.inferred for answer in learner.history_) == 30
    learner.constraints_.closure()  # no error: the recorded answers are consistent


def test_an_unknown_pair_is_recorded_without_a_constraint():
    X, _ = blobs(10, 2, 0)
    learner = learner_on(X)
    query = learner.ask()
    learner.answer(query, None)
    assert [answer.same_cluster for answer in learner.history_] == [None]
    assert len(learner.constraints_) == 0
    assert learner.ask()[:2] != query[:2]


@pytest.mark.slow
def test_a_file_of_answers_is_continued(tmp_path):
    X, y = blobs(30, 2, 0)
    file = tmp_path / "answers.csv"
    learner = learner_on(X, answers_file=file).run(PairOracle(np.where(y == 0, y, np.nan)), 6)
    assert len(file.read_text().splitlines()) == 7
    resumed = learner_on(X, answers_file=file)
    assert resumed.history_ == learner.history_
    assert resumed.constraints_ == learner.constraints_
    oracle = Recorder(PairOracle(y))
    resumed.run(oracle, 5)
    before = {frozenset(answer[:2]) for answer in learner.history_}
    assert not before & {frozenset(pair) for pair in oracle.queries}
    assert len(file.read_text().splitlines()) == 12


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n", "first line must be first,second,answer"),
        ("first,second,answer\n1,2,perhaps\n", "line 2 of .* got '1,2,perhaps'"),
        ("first,second,answer\n1,99,same\n", "samples are 0 to 9"),
    ],
)
def test_a_file_without_answers_is_named_in_the_error(tmp_path, text, message):
    file = tmp_path / "answers.csv"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        learner_on(blobs(10, 2, 0)[0], answers_file=file)


def test_an_oracle_that_stops_or_fails_loses_no_answer():
    X, y = blobs(30, 2, 0)
    learner = learner_on(X)
    for stop, expected in ((StopQuerying, 3), (KeyboardInterrupt, 6)):
        remaining = iter(range(3))

        def oracle(first, second, remaining=remaining, stop=stop):
            if next(remaining, None) is None:
                raise stop
            return bool(y[first] == y[second])

        learner.run(oracle, 10)
        assert len(learner.history_) == expected

    def broken(first, second):
        raise OSError("the network is down")

    with pytest.raises(OSError, match="network"):
        learner.run(broken, 10)
    assert len(learner.history_) == 6


def test_a_pickled_learner_contains_its_answers():
    X, y = blobs(30, 2, 0)
    learner = pickle.loads(pickle.dumps(learner_on(X).run(PairOracle(y), 5)))
    assert len(learner.run(PairOracle(y), 2).history_) == 7
    assert clone(learner).get_params()["strategy"] == "margin"


# Errors


def test_a_clusterer_without_constraints_is_rejected():
    with pytest.raises(TypeError, match="accepts constraints, such as EVCLUS, CECM or NNEVCLUS, got KMeans"):
        ActiveClustering(KMeans(2)).start(np.zeros((5, 2)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strategy": "guess"}, "strategy must be one of"),
        ({"contradictions": "keep"}, "contradictions must be one of"),
        ({"max_queries_per_sample": 0}, "max_queries_per_sample must be"),
        ({"n_neighbors": -1}, "n_neighbors must be"),
        ({"patience": 0}, "patience must be"),
    ],
)
def test_errors_name_the_invalid_parameter(parameters, message):
    with pytest.raises(ValueError, match=message):
        ActiveClustering(CECM(2), **parameters).start(np.zeros((5, 2)))


def test_invalid_answers_are_rejected_and_not_recorded():
    X, _ = blobs(10, 2, 0)
    learner = learner_on(X)
    with pytest.raises(ValueError, match="same_cluster must be True, False or None, got 'yes'"):
        learner.answer((0, 1), "yes")
    with pytest.raises(ValueError, match="samples are 0 to 9"):
        learner.answer((0, 10), True)
    assert learner.history_ == []
    with pytest.raises(NotFittedError):
        ActiveClustering(CECM(2)).ask()


# Terminal

PERSON = """
import pandas as pd
from evlearn.active import ActiveClustering, TerminalPairOracle
from evlearn.cluster import CECM
X = pd.DataFrame({"height": [0.0, 0.1, 0.2, 2.4, 5.0, 5.1, 5.2]}, index=list("abcdefg"))
learner = ActiveClustering(CECM(2), random_state=0).start(X)
for _ in range(3):
    learner.run(TerminalPairOracle(X), 10, verbose=True)
    print("history", [answer.same_cluster for answer in learner.history_])
"""
PROMPT = "[y/n/?/q] "


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_person_at_a_terminal_can_stop_in_3_ways_and_all_answers_are_kept():
    with terminal(PERSON) as (process, keys):
        output = ""
        for reply in ("what\n", "y\n", "q\n", "?\n", "\x04", "n\n", "\x03"):
            output += read_to_prompt(process)
            os.write(keys, reply.encode())
        try:
            rest = process.communicate(timeout=20)[0]
        except subprocess.TimeoutExpired:  # Ctrl-C came before it began to read; type it again
            os.write(keys, b"\x03")
            rest = process.communicate(timeout=100)[0]
        output += rest
    assert process.returncode == 0
    assert "'what' is not one of y (same)" in output
    assert "sample d" in output
    assert "height" in output
    assert "may be in cluster" in output
    histories = [line for line in output.replace(PROMPT, "\n").splitlines() if line.startswith("history")]
    assert histories == ["history [True]", "history [True, None]", "history [True, None, False]"]


@contextmanager
def terminal(code):
    """Start a Python process with its own terminal as input; yield it and the file to type into."""
    import fcntl
    import pty
    import termios

    keys, screen = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=screen,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(screen)
    try:
        yield process, keys
    finally:
        process.kill()
        process.wait()
        os.close(keys)


def read_to_prompt(process):
    text = ""
    while not text.endswith(PROMPT):
        character = process.stdout.read(1)
        assert character, f"the process ended before the prompt: {text}"
        text += character
    return text


class ConstraintsRecorder:
    """Constraints that record the metric of their expansion."""

    def __init__(self, constraints):
        self.constraints = constraints

    def expand(self, X, n_neighbors, metric):
        self.metric = metric
        return self.constraints


@pytest.mark.slow
def test_answers_are_extended_to_neighbors_by_the_metric_of_the_clusterer():
    neural = pytest.importorskip("evlearn.neural")
    X, _ = blobs(30, 2, 0)
    learner = ActiveClustering(
        with_switches(neural.NNEVCLUS(2, metric="precomputed", max_iter=500), n_components=2), random_state=0
    ).start(pairwise_distances(X))
    recording = ConstraintsRecorder(learner._answers.implied)
    learner._answers.implied = recording
    learner._expanded_constraints()
    assert recording.metric == "precomputed"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"first,second,answer\n1,99999999999999999999,same\n", "line 2 of .* must contain 2 sample numbers"),
        (b"first,second,answer\n-1,3,same\n", "line 2 of .* must contain 2 sample numbers"),
        (b"\xff\xfe", "not a file of answers"),
        (b'first,second,answer\n1,2,"' + b"x" * 200_000, "not a file of answers"),
        (b"first,second,answer\n" + b"9" * 5000 + b",2,same\n", "line 2 of .* must contain 2 sample numbers"),
    ],
)
def test_an_invalid_file_of_answers_is_rejected_with_the_reason(tmp_path, content, reason):
    (tmp_path / "answers.csv").write_bytes(content)
    model = ActiveClustering(CECM(2, random_state=0), answers_file=tmp_path / "answers.csv")
    with pytest.raises(ValueError, match=reason):
        model.start(np.random.default_rng(0).normal(size=(20, 2)))
