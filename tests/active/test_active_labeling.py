"""Active learning of classifiers: the choice of samples, use of answers, and their file."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn.active import ActiveLabeling, LabelAnswer, StopQuerying, TerminalLabelOracle
from evlearn.active.answers import (
    STRATEGIES,
    as_answer,
    most_doubtful_first,
    read_label_answers,
    write_label_answers,
)
from evlearn.classify import (
    Annotations,
    EvidentialForestClassifier,
    EvidentialKNNClassifier,
    EvidentialNeuralClassifier,
    EvidentialRBFClassifier,
)
from evlearn.partition import CredalPartition

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def learner_on(data=X, classes=(0, 1, 2), seed=0, labels=None, **parameters):
    learner = ActiveLabeling(EvidentialKNNClassifier(), classes, random_state=seed, **parameters)
    return learner.start(data, labels=labels)


def oracle(sample):
    return int(Y[sample])


@pytest.mark.slow
def test_accuracy_is_higher_than_with_random_queries():
    # Queries are about half of the digits, and accuracy is measured on the other half.
    data, y = load_digits(return_X_y=True)
    accuracies = {
        strategy: [
            ActiveLabeling(
                EvidentialKNNClassifier(), range(10), strategy=strategy, random_state=seed, batch_size=10
            )
            .start(data[::2])
            .run(lambda sample: int(y[::2][sample]), 120)
            .estimator_.score(data[1::2], y[1::2])
            for seed in range(2)
        ]
        for strategy in ("margin", "random")
    }
    assert min(accuracies["margin"]) > max(accuracies["random"])


def test_samples_are_ordered_by_the_strategy_and_ties_by_entropy():
    partition = CredalPartition.from_fuzzy([[0.5, 0.5, 0], [0.55, 0.225, 0.225], [0.5, 0.25, 0.25]])
    order = most_doubtful_first("doubt", partition, np.random.RandomState(0))
    assert partition.doubt().round(2).tolist() == [0.5, 0.45, 0.5]
    assert STRATEGIES["entropy"](partition).argsort().tolist() == [0, 1, 2]
    assert order.tolist() == [2, 0, 1]


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.slow
def test_no_query_is_repeated_and_all_strategies_improve_the_classifier(strategy, batch_size):
    queries = []

    def record(sample):
        queries.append(sample)
        return None if sample % 5 == 0 else oracle(sample)

    learner = learner_on(strategy=strategy, batch_size=batch_size).run(record, 30)
    assert len(set(queries)) == 30
    assert [answer.sample for answer in learner.history_] == queries
    assert learner.estimator_.score(X, Y) > 0.85


@pytest.mark.slow
def test_queries_depend_on_the_seed_only():
    first, second = (learner_on(batch_size=3).run(oracle, 12).history_ for _ in range(2))
    assert first == second
    assert learner_on(seed=1).run(oracle, 12).history_ != first


def test_the_query_is_about_the_most_doubtful_sample():
    learner = learner_on(strategy="doubt").run(oracle, 15)
    query = learner.ask()
    doubt = learner.estimator_.predict_mass(X).doubt()
    doubt[[answer.sample for answer in learner.history_]] = -1
    assert doubt[query.sample] == doubt.max()
    assert learner.ask() == query
    assert f"sample {query.sample} may be {query.candidates[0]} (plausibility" in query.reason


@pytest.mark.slow
def test_samples_of_a_batch_are_far_apart():
    def spread(batch_size):
        learner = learner_on(strategy="margin").run(oracle, 15)
        learner.set_params(batch_size=batch_size)
        rows = X[learner._next_batch()]
        return np.linalg.norm(rows[:, None] - rows, axis=-1).sum()

    doubtful = learner_on(strategy="margin").run(oracle, 15)
    samples = []
    for _ in range(5):
        query = doubtful.ask()
        samples.append(X[query.sample])
        doubtful.answer(query, None)
    doubtful_rows = np.array(samples)
    assert spread(5) > np.linalg.norm(doubtful_rows[:, None] - doubtful_rows, axis=-1).sum()


def test_answers_may_be_sets_with_a_confidence_or_unknown():
    learner = learner_on()
    learner.answer(3, 0)
    learner.answer(60, [1, 2], confidence=0.8)
    learner.answer(120, LabelAnswer(120, (2,), 0.5))
    learner.answer(90, None)
    labels = learner.labels_
    masses = dict(zip(labels.focal_sets.labels, labels.masses[[3, 60, 120, 90]].T, strict=True))
    np.testing.assert_allclose(masses["{0}"], [1, 0, 0, 0])
    np.testing.assert_allclose(masses["{1,2}"], [0, 0.8, 0, 0])
    np.testing.assert_allclose(masses["{2}"], [0, 0, 0.5, 0])
    np.testing.assert_allclose(masses["Ω"], [0, 0.2, 0.5, 1], atol=1e-12)
    learner.answer(60, 1)  # a correction
    assert learner.refit().estimator_.predict(X[[3, 60, 120]]).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "estimator",
    [
        EvidentialForestClassifier(20),
        EvidentialRBFClassifier(),
        pytest.param(EvidentialNeuralClassifier(), marks=pytest.mark.slow),
        make_pipeline(StandardScaler(), EvidentialKNNClassifier()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_evidential_classifiers_work_with_names_of_classes_and_samples(estimator):
    frame = pd.DataFrame(X, index=[f"iris {k}" for k in range(150)]).add_prefix("x")
    learner = ActiveLabeling(estimator, np.unique(NAMES), batch_size=10, random_state=0).start(frame)
    assert "sample iris" in learner.ask().reason
    learner.run(lambda sample: NAMES[sample], 30)
    assert (learner.estimator_.predict(frame) == NAMES).mean() > 0.85
    assert learner.labels_.sample_names[:2] == ("iris 0", "iris 1")


@pytest.mark.slow
def test_a_file_of_answers_is_continued(tmp_path):
    path = tmp_path / "answers.csv"
    complete = learner_on().run(oracle, 20)
    learner_on(answers_file=path).run(oracle, 8)
    resumed = learner_on(answers_file=path)
    assert [answer.sample for answer in resumed.history_] == [answer.sample for answer in complete.history_[:8]]
    assert resumed.estimator_.score(X, Y) > 0.5
    resumed.answer(149, [1, 2], confidence=0.25)
    assert len(Annotations(pd.read_csv(path)).samples) == 9
    assert path.read_text().splitlines()[-1] == "149,1|2,0.25"
    assert learner_on(answers_file=path).history_ == resumed.history_


HOSTILE = ["a|b", "a", "b", "a|b|c", "", " a", "[a]", '["a"]', "|", 'say "a", b', "line\nbreak", "Ä", "1", "null"]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(HOSTILE) | st.text(max_size=4), min_size=2, max_size=6, unique=True).flatmap(
        lambda classes: st.tuples(
            st.just(classes),
            st.lists(
                st.tuples(st.lists(st.sampled_from(classes), unique=True), st.floats(0, 1)), min_size=1, max_size=8
            ),
        )
    )
)
@pytest.mark.slow
def test_answers_survive_the_file_whatever_the_classes_are_called(tmp_path, example):
    classes, answers = tuple(example[0]), example[1]
    history = [
        as_answer(sample, labels, classes, confidence) for sample, (labels, confidence) in enumerate(answers)
    ]
    write_label_answers(tmp_path / "answers.csv", history)
    assert read_label_answers(tmp_path / "answers.csv", classes) == history


def test_a_class_with_a_separator_in_its_name_is_not_split(tmp_path):
    path = tmp_path / "answers.csv"
    learner = learner_on(classes=["cat", "dog", "cat|dog"], answers_file=path)
    learner.answer(0, "cat|dog", confidence=1 / 3)
    learner.answer(1, ["cat", "dog"])
    assert path.read_text().splitlines()[1:] == ['0,"[""cat|dog""]",0.3333333333333333', "1,cat|dog,1.0"]
    resumed = learner_on(classes=["cat", "dog", "cat|dog"], answers_file=path)
    assert resumed.history_ == [LabelAnswer(0, ("cat|dog",), 1 / 3), LabelAnswer(1, ("cat", "dog"), 1.0)]
    assert resumed.labels_.verdict(0.3).candidates[:2].tolist() == [[False, False, True], [True, True, False]]
    labels = Annotations(pd.read_csv(path), classes=["cat", "dog", "cat|dog"])
    np.testing.assert_array_equal(labels.to_partition().masses, resumed.labels_.masses[:2])


def test_plain_and_older_files_can_be_read(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("sample,answer,confidence\n3,0|2,1\n7,,0.5\n9,1,0.25\n")
    learner = learner_on(answers_file=path)
    assert learner.history_ == [
        LabelAnswer(3, (0, 2)),
        LabelAnswer(7, (), 0.5),
        LabelAnswer(9, (1,), 0.25),
    ]
    path.write_text("sample,answer,confidence\n0,a|b,1\n1,c,1\n")
    learner = learner_on(classes=["a|b", "c"], answers_file=path)
    assert [answer.classes for answer in learner.history_] == [("a|b",), ("c",)]


def test_an_invalid_file_of_answers_is_rejected(tmp_path):
    path = tmp_path / "answers.csv"
    for text, message in {
        "first,second,answer\n": "first line must be sample,answer,confidence",
        "sample,answer,confidence\n1,7,1\n": "line 2 of",
        "sample,answer,confidence\n1,2,3\n": "confidence from 0 to 1",
        "sample,answer,confidence\n999,2,1\n": "about 999, but samples are 0 to 149",
    }.items():
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            learner_on(answers_file=path)


@pytest.mark.parametrize("end", [StopQuerying, KeyboardInterrupt])
def test_an_oracle_can_stop_the_queries(end):
    def stopping_oracle(sample):
        if len(learner.history_) == 6:
            raise end
        return oracle(sample)

    learner = learner_on(labels={0: 0, 60: 1})
    assert "estimator_" in vars(learner)
    assert len(learner.run(stopping_oracle, 50).history_) == 6
    assert len(learner.run(oracle, 5).history_) == 11


def test_forgotten_samples_are_queried_again():
    learner = learner_on(X[::15]).run(lambda k: oracle(15 * k), 100)
    assert learner.ask() is None
    learner.forget(4)
    assert learner.ask().sample == 4
    with pytest.raises(ValueError, match="no answer about sample 4"):
        learner.forget(4)


@pytest.mark.parametrize("change", ["forgotten", "corrected", "unknown"])
def test_an_estimator_does_not_outlive_the_answers_that_it_was_fitted_to(change):
    learner = learner_on(labels={0: 0, 60: 1})
    assert learner.estimator_.predict(X[[60]]) == 1
    if change == "forgotten":
        learner.forget(60)
    else:
        learner.answer(60, 0 if change == "corrected" else None)
    learner.refit()
    assert "estimator_" not in vars(learner)
    query = learner.ask()
    assert "one of the first" in query.reason
    learner.answer(query, oracle(query.sample))
    learner.answer(100, 2)
    assert sorted(learner.refit().estimator_.classes_) == [0, 1, 2]
    fresh = learner_on(labels={answer.sample: answer for answer in learner.history_})
    expected = fresh.estimator_.predict_mass(X).masses
    np.testing.assert_array_equal(learner.estimator_.predict_mass(X).masses, expected)


def test_errors_explain_wrong_use():
    with pytest.raises(NotFittedError, match="call start"):
        ActiveLabeling(EvidentialKNNClassifier(), [0, 1]).ask()
    with pytest.raises(ValueError, match="classes must be at least 2 different names"):
        learner_on(classes=[0])
    with pytest.raises(ValueError, match="batch_size"):
        learner_on(batch_size=0)
    with pytest.raises(TypeError, match="evidential classifier"):
        ActiveLabeling(LogisticRegression(), [0, 1]).start(X)
    with pytest.raises(ValueError, match="'cat' is not one of the classes"):
        learner_on().answer(0, "cat")
    with pytest.raises(ValueError, match="confidence must be"):
        learner_on().answer(0, 1, confidence=2)
    assert clone(ActiveLabeling(EvidentialKNNClassifier(), [0, 1])).batch_size == 1


def test_a_person_answers_at_a_terminal(monkeypatch, capsys):
    replies = iter(["tulip", "setosa", " versicolor | virginica 0.7", "virginica 2", "?", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(replies))
    displayed = []
    person = TerminalLabelOracle(
        np.unique(NAMES), pd.DataFrame(X[:, :1], columns=["sepal"]), show=displayed.append
    )
    assert person(3) == LabelAnswer(3, ("setosa",), 1.0)
    assert person(60) == LabelAnswer(60, ("versicolor", "virginica"), 0.7)
    assert person(70) is None
    with pytest.raises(StopQuerying):
        person(80)
    assert displayed == [3, 60, 70, 80]
    replies = iter(["cat|dog", "cat|dog 0.5", "cat|type 1", "type 1", "type 1 0.25"])
    person = TerminalLabelOracle(["cat", "cat|dog", "type 1"])
    assert [person(0) for _ in range(5)] == [
        LabelAnswer(0, ("cat|dog",)),
        LabelAnswer(0, ("cat|dog",), 0.5),
        LabelAnswer(0, ("cat", "type 1")),
        LabelAnswer(0, ("type 1",)),
        LabelAnswer(0, ("type 1",), 0.25),
    ]
    replies = iter(["type 1", "type 0.5"])
    person = TerminalLabelOracle(["type", "type 1"])
    assert [person(0) for _ in range(2)] == [LabelAnswer(0, ("type 1",)), LabelAnswer(0, ("type",), 0.5)]
    output = capsys.readouterr().out
    assert "sepal       4.6" in output
    assert "'tulip' is not an answer" in output
    assert "'virginica 2' is not an answer" in output
