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

from evlearn.active import ActiveClustering, Answer, LabelOracle, StopAsking
from evlearn.active.strategies import STRATEGIES
from evlearn.cluster import CECM, EVCLUS
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_bananas
from evlearn.partition import CredalPartition


class Recorder:
    """An oracle that remembers what it was asked."""

    def __init__(self, oracle):
        self.oracle = oracle
        self.asked = []

    def __call__(self, first, second):
        self.asked.append((first, second))
        return self.oracle(first, second)


def blobs(n_samples, n_clusters, seed):
    random = np.random.RandomState(seed)
    y = random.randint(n_clusters, size=n_samples)
    return np.column_stack([3 * y, y % 2]) + random.standard_normal((n_samples, 2)), y


def learner_on(X, n_clusters=2, seed=0, method=CECM, **parameters):
    return ActiveClustering(method(n_clusters), random_state=seed, **parameters).start(X)


# What is asked


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
def test_no_pair_is_asked_twice_and_nothing_that_follows_and_constraints_agree_with_the_oracle(
    n_samples, n_clusters, seed, strategy, closed_world, share_unknown
):
    X, y = blobs(n_samples, n_clusters, seed)
    labels = np.where(np.random.RandomState(seed + 1).uniform(size=n_samples) < share_unknown, -1, y)
    oracle = Recorder(LabelOracle(labels))
    learner = learner_on(X, n_clusters, seed, strategy=strategy, closed_world=closed_world, n_neighbors=2)
    said = PairwiseConstraints()
    for _ in range(12):
        query = learner.ask()
        if query is None:
            break
        first, second = query[:2]
        assert first != second
        # Either answer could be true, as far as earlier ones tell.
        (said + PairwiseConstraints(must_link=[(first, second)])).closure()
        (said + PairwiseConstraints(cannot_link=[(first, second)])).closure()
        learner.answer(query, oracle(first, second))
        said = learner.constraints_
        assert len(said.violations(np.where(labels < 0, np.nan, labels))) == 0
    pairs = [tuple(sorted(pair)) for pair in oracle.asked]
    assert len(set(pairs)) == len(pairs)


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_the_same_seed_gives_the_same_questions_and_the_same_bits(strategy):
    X, y = make_bananas(60, random_state=0)
    runs = []
    for n_jobs in (1, 2):
        oracle = Recorder(LabelOracle(y))
        estimator = EVCLUS(2, focal_sets="full", n_jobs=n_jobs)
        learner = ActiveClustering(estimator, strategy=strategy, random_state=3).start(X).run(oracle, 8)
        runs.append((oracle.asked, learner.estimator_.masses_))
    assert runs[0][0] == runs[1][0]
    np.testing.assert_array_equal(runs[0][1], runs[1][1])


def test_the_object_in_the_greatest_doubt_is_compared_with_the_surest_of_its_most_plausible_cluster():
    X = np.array([[0.0], [0.1], [0.2], [2.4], [5.0], [5.1], [5.2]])
    learner = learner_on(X)
    partition = learner.estimator_.credal_partition_
    query = learner.ask()
    assert query.first == 3
    assert query.cluster == partition.to_hard()[3]
    singleton = partition.focal_sets.singleton_positions[query.cluster]
    assert partition.masses[query.second, singleton] >= 0.99 * partition.masses[:, singleton].max()
    assert "sample 3 may be in cluster" in query.why
    assert learner.ask() is query


def test_after_a_no_the_next_cluster_is_asked_about_and_after_a_yes_the_next_object():
    X, _ = blobs(30, 3, 0)
    learner = learner_on(X, 3)
    first = learner.ask()
    learner.answer(first, False)
    second = learner.ask()
    assert (second.first, second.cluster != first.cluster) == (first.first, True)
    learner.answer(second, True)
    assert learner.ask().first != first.first


def test_an_object_is_not_chosen_more_often_than_allowed():
    X, _ = blobs(12, 2, 0)
    learner = learner_on(X, 2, max_queries_per_sample=1)
    learner.run(lambda first, second: None, 100)
    asked = [answer.first for answer in learner.history_]
    # A round goes on through all clusters; no other round begins with the sample.
    assert max(np.bincount(asked)) <= 2
    rounds = [one for one, other in pairwise([*asked, None]) if one != other]
    assert len(set(rounds)) == len(rounds)
    assert learner.ask() is None


@pytest.mark.parametrize("known_apart", [True, False])
def test_in_a_closed_world_the_last_cluster_is_inferred_once_the_others_are_known_to_be_apart(known_apart):
    X, _ = blobs(40, 2, 1)
    learner = learner_on(X, 2, closed_world=True)
    one, other = learner._representatives
    query = learner.ask()
    if known_apart:
        learner.answer((one, other), False)
    learner.answer(query, False)
    last = other if query.second == one else one
    inferred = [answer for answer in learner.history_ if answer.inferred]
    assert inferred == ([Answer(query.first, last, True, inferred=True)] if known_apart else [])
    assert learner.constraints_.n_must_link == len(inferred)


def test_in_a_closed_world_conclusions_do_not_depend_on_the_order_of_answers():
    X, _ = blobs(40, 2, 1)
    learner = learner_on(X, 2, closed_world=True)
    one, other = learner._representatives
    query = learner.ask()
    learner.answer(query, False)
    assert not any(answer.inferred for answer in learner.history_)
    learner.answer((one, other), False)  # that the clusters are apart is known later
    last = other if query.second == one else one
    expected = Answer(query.first, last, True, inferred=True)
    assert learner.history_[-1] == expected
    learner.answer((0, 1), None)
    learner.forget(0, 1)  # which has nothing to do with it
    assert learner.history_[-1] == expected
    learner.forget(*query[:2])
    assert not any(answer.inferred for answer in learner.history_)


def test_questions_end_when_labels_stay_the_same_for_as_long_as_patience_says():
    X, y = blobs(60, 2, 3)
    learner = learner_on(X, 2, patience=3).run(LabelOracle(y), 1000)
    assert learner.ask() is None
    assert learner.agreements_[-3:] == [1, 1, 1]
    assert len(learner.history_) < 60


# How it is fitted


@pytest.mark.parametrize("method", [EVCLUS, CECM])
def test_a_refit_starts_where_the_last_one_ended_and_has_all_answers(method):
    X, y = blobs(60, 3, 0)
    learner = learner_on(X, 3, method=method, n_neighbors=0).run(LabelOracle(y), 10)
    start = learner._warm(learner.estimator_).init
    expected = learner.estimator_.cluster_centers_ if method is CECM else learner.estimator_.masses_
    np.testing.assert_array_equal(start, expected)
    again = learner._warm(learner.estimator_).fit(X, constraints=learner.constraints_.closure())
    np.testing.assert_array_equal(again.labels_, learner.estimator_.labels_)
    assert len(learner.agreements_) <= 10
    assert isinstance(learner.estimator_.credal_partition_, CredalPartition)
    assert learner.estimator_.init == method().init


def test_dissimilarities_give_the_same_questions_as_the_attributes_they_came_from():
    X, y = make_bananas(50, random_state=1)
    asked = []
    for metric, data in (("euclidean", X), ("precomputed", pairwise_distances(X))):
        oracle = Recorder(LabelOracle(y))
        ActiveClustering(EVCLUS(2, metric=metric), random_state=0).start(data).run(oracle, 6)
        asked.append(oracle.asked)
    assert asked[0] == asked[1]


def test_two_runs_in_a_row_ask_the_same_as_one_long_one():
    X, y = make_bananas(50, random_state=1)
    once, twice = Recorder(LabelOracle(y)), Recorder(LabelOracle(y))
    # Warm starts see the same constraints only if the first run ends with a round: then nothing is fitted twice.
    learner = learner_on(X, 2, n_neighbors=0).run(once, 9)
    ends = [place for place, answer in enumerate(learner.history_, start=1) if answer.same]
    learner_on(X, 2, n_neighbors=0).run(twice, ends[0]).run(twice, 9 - ends[0])
    assert once.asked == twice.asked


@pytest.mark.slow
@pytest.mark.parametrize("n_queries", [25, 50])
@pytest.mark.parametrize("name", ["iris", "bananas"])
def test_questions_do_more_than_as_many_random_pairs(name, n_queries):
    active, by_chance = [], []
    for seed in range(3):
        X, y = load_iris(return_X_y=True) if name == "iris" else make_bananas(150, random_state=seed)
        estimator = EVCLUS(len(set(y)), focal_sets="pairs", random_state=seed)
        learner = ActiveClustering(estimator, random_state=seed).start(X).run(LabelOracle(y), n_queries)
        pairs = PairwiseConstraints.sample(y, n_queries, random_state=seed)
        active.append(adjusted_rand_score(y, learner.estimator_.labels_))
        by_chance.append(adjusted_rand_score(y, clone(estimator).fit(X, constraints=pairs.expand(X)).labels_))
    assert np.mean(active) > np.mean(by_chance)


# Answers


def test_an_answer_that_contradicts_others_is_not_taken_and_the_message_names_the_chain():
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


def test_a_contradiction_can_be_an_error_and_then_nothing_is_lost_either():
    X, _ = blobs(10, 2, 0)
    learner = learner_on(X, contradictions="raise")
    learner.answer((0, 1), True)
    learner.answer((1, 2), True)
    with pytest.raises(ValueError, match="0 - 1 - 2"):
        learner.answer((0, 2), False)
    assert len(learner.refit().constraints_) == 2


def test_a_wrong_answer_can_be_withdrawn():
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
    learner.constraints_.closure()  # no error: what was taken does not contradict itself


def test_a_pair_that_nobody_knows_about_is_kept_and_is_no_constraint():
    X, _ = blobs(10, 2, 0)
    learner = learner_on(X)
    query = learner.ask()
    learner.answer(query, None)
    assert [answer.same for answer in learner.history_] == [None]
    assert len(learner.constraints_) == 0
    assert learner.ask()[:2] != query[:2]


def test_answers_in_a_file_go_on_where_they_stopped(tmp_path):
    X, y = blobs(30, 2, 0)
    file = tmp_path / "answers.csv"
    learner = learner_on(X, answers_file=file).run(LabelOracle(np.where(y == 0, y, np.nan)), 6)
    assert len(file.read_text().splitlines()) == 7
    resumed = learner_on(X, answers_file=file)
    assert resumed.history_ == learner.history_
    assert resumed.constraints_ == learner.constraints_
    oracle = Recorder(LabelOracle(y))
    resumed.run(oracle, 5)
    before = {frozenset(answer[:2]) for answer in learner.history_}
    assert not before & {frozenset(pair) for pair in oracle.asked}
    assert len(file.read_text().splitlines()) == 12


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n", "first line should be first,second,answer"),
        ("first,second,answer\n1,2,perhaps\n", "line 2 of .* got '1,2,perhaps'"),
        ("first,second,answer\n1,99,same\n", "samples are 0 to 9"),
    ],
)
def test_a_file_that_holds_no_answers_is_named(tmp_path, text, message):
    file = tmp_path / "answers.csv"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        learner_on(blobs(10, 2, 0)[0], answers_file=file)


def test_an_oracle_that_stops_or_fails_loses_no_answer():
    X, y = blobs(30, 2, 0)
    learner = learner_on(X)
    for stop, expected in ((StopAsking, 3), (KeyboardInterrupt, 6)):
        left = iter(range(3))

        def oracle(first, second, left=left, stop=stop):
            if next(left, None) is None:
                raise stop
            return bool(y[first] == y[second])

        learner.run(oracle, 10)
        assert len(learner.history_) == expected

    def broken(first, second):
        raise OSError("the network is down")

    with pytest.raises(OSError, match="network"):
        learner.run(broken, 10)
    assert len(learner.history_) == 6


def test_a_learner_travels_with_its_answers():
    X, y = blobs(30, 2, 0)
    learner = pickle.loads(pickle.dumps(learner_on(X).run(LabelOracle(y), 5)))
    assert len(learner.run(LabelOracle(y), 2).history_) == 7
    assert clone(learner).get_params()["strategy"] == "margin"


# Errors


def test_a_clusterer_that_takes_no_constraints_is_named():
    with pytest.raises(TypeError, match="takes constraints, such as EVCLUS, CECM or NNEVCLUS, got KMeans"):
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
def test_a_wrong_parameter_is_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        ActiveClustering(CECM(2), **parameters).start(np.zeros((5, 2)))


def test_wrong_answers_are_named_and_not_taken():
    X, _ = blobs(10, 2, 0)
    learner = learner_on(X)
    with pytest.raises(ValueError, match="same must be True, False or None, got 'yes'"):
        learner.answer((0, 1), "yes")
    with pytest.raises(ValueError, match="samples are 0 to 9"):
        learner.answer((0, 10), True)
    assert learner.history_ == []
    with pytest.raises(NotFittedError):
        ActiveClustering(CECM(2)).ask()


# A person

PERSON = """
import pandas as pd
from evlearn.active import ActiveClustering, TerminalOracle
from evlearn.cluster import CECM
X = pd.DataFrame({"height": [0.0, 0.1, 0.2, 2.4, 5.0, 5.1, 5.2]}, index=list("abcdefg"))
learner = ActiveClustering(CECM(2), random_state=0).start(X)
for _ in range(3):
    learner.run(TerminalOracle(X), 10, verbose=True)
    print("kept", [answer.same for answer in learner.history_])
"""
PROMPT = "[y/n/?/q] "


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_person_at_a_terminal_answers_and_stops_in_three_ways_and_all_answers_are_kept():
    with terminal(PERSON) as (process, keys):
        printed = ""
        for typed in ("what\n", "y\n", "q\n", "?\n", "\x04", "n\n", "\x03"):
            printed += read_to_prompt(process)
            os.write(keys, typed.encode())
        try:
            rest = process.communicate(timeout=20)[0]
        except subprocess.TimeoutExpired:  # Ctrl-C came just before it began to read; a person types it again
            os.write(keys, b"\x03")
            rest = process.communicate(timeout=100)[0]
        printed += rest
    assert process.returncode == 0
    assert "'what' is not one of y (same)" in printed
    assert "sample d" in printed
    assert "height" in printed
    assert "may be in cluster" in printed
    kept = [line for line in printed.replace(PROMPT, "\n").splitlines() if line.startswith("kept")]
    assert kept == ["kept [True]", "kept [True, None]", "kept [True, None, False]"]


@contextmanager
def terminal(code):
    """A Python process whose input is a terminal of its own, and what the person types on."""
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
        assert character, f"it ended before it asked: {text}"
        text += character
    return text


class Recording:
    """Constraints that remember how they were handed on."""

    def __init__(self, constraints):
        self.constraints = constraints

    def expand(self, X, n_neighbors, metric):
        self.metric = metric
        return self.constraints


@pytest.mark.slow
def test_answers_are_handed_on_by_the_metric_of_the_clusterer():
    neural = pytest.importorskip("evlearn.neural")
    X, _ = blobs(30, 2, 0)
    learner = ActiveClustering(
        neural.NNEVCLUS(2, metric="precomputed", n_components=2, max_iter=500), random_state=0
    ).start(pairwise_distances(X))
    recording = Recording(learner._answers.implied)
    learner._answers.implied = recording
    learner._handed_on()
    assert recording.metric == "precomputed"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"first,second,answer\n1,99999999999999999999,same\n", "line 2 of .* should be two numbers of samples"),
        (b"first,second,answer\n-1,3,same\n", "line 2 of .* should be two numbers of samples"),
        (b"\xff\xfe", "not a file of answers"),
        (b'first,second,answer\n1,2,"' + b"x" * 200_000, "not a file of answers"),
        (b"first,second,answer\n" + b"9" * 5000 + b",2,same\n", "line 2 of .* should be two numbers of samples"),
    ],
)
def test_a_file_of_answers_that_is_none_is_refused_with_the_reason(tmp_path, content, reason):
    (tmp_path / "answers.csv").write_bytes(content)
    model = ActiveClustering(CECM(2, random_state=0), answers_file=tmp_path / "answers.csv")
    with pytest.raises(ValueError, match=reason):
        model.start(np.random.default_rng(0).normal(size=(20, 2)))
