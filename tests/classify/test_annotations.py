"""Annotations: tables of answers, and their conversion to mass functions."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.classify import Annotations, EvidentialForestClassifier

LONG = {
    "sample": ["a", "a", "b", "b", "c"],
    "annotator": ["Eve", "Bob", "Eve", "Bob", "Eve"],
    "answer": ["cat", "cat", "dog", "cat|dog", None],
    "confidence": [0.9, 0.6, 0.8, 1.0, None],
}
WIDE = {"Eve": ["cat", "dog", None], "Bob": ["cat", "cat | dog", None]}
CONFIDENCE = {"Eve": [0.9, 0.8, None], "Bob": [0.6, 1.0, None]}
EXPECTED = [[0, 0.96, 0, 0.04], [0, 0, 0.8, 0.2], [0, 0, 0, 1]]


def frames(columns):
    return [pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns), columns]


@pytest.mark.parametrize("table", frames(LONG), ids=lambda table: type(table).__module__)
def test_a_row_for_each_answer(table):
    labels = Annotations(table).to_partition(reliabilities=None)
    np.testing.assert_allclose(labels.masses, EXPECTED, atol=1e-12)
    assert labels.sample_names == ("a", "b", "c")
    assert labels.cluster_names == ("cat", "dog")


@pytest.mark.parametrize("library", range(4))
def test_a_column_for_each_annotator(library):
    labels = Annotations(frames(WIDE)[library], confidence=frames(CONFIDENCE)[library])
    assert labels.annotators == ("Bob", "Eve")
    np.testing.assert_allclose(labels.to_partition(reliabilities=None).masses, EXPECTED, atol=1e-12)


def test_the_names_of_samples_are_the_index_or_a_column():
    frame = pd.DataFrame(WIDE, index=pd.Index(["x", "y", "z"], name="animal"))
    assert Annotations(frame).to_partition().sample_index.equals(frame.index)
    assert Annotations(pd.DataFrame(WIDE)).to_partition().sample_names is None
    numbers = pd.DataFrame({"sample": [7, 7, 5], "answer": ["x", "y", "x"]})
    assert Annotations(numbers).to_partition().sample_index.equals(pd.Index([7, 5]))
    table = pl.DataFrame({"sample": ["x", "y", "z"]} | WIDE)
    assert Annotations(table).to_partition().sample_names == ("x", "y", "z")
    assert Annotations(table).annotators == ("Bob", "Eve")


def test_sets_may_be_lists_tuples_or_sets():
    answers = [["cat", "dog"], ("cat", "dog"), {"cat", "dog"}, "dog|cat"]
    table = pd.DataFrame({"sample": range(5), "answer": [*answers, "cow"]})
    candidates = Annotations(table).to_partition().verdict().candidates
    assert (candidates[:4] == [True, False, True]).all()  # cat, cow, dog
    assert (candidates[4] == [False, True, False]).all()


def test_integer_classes_are_preserved_in_columns_with_missing_values():
    table = pd.DataFrame({"Eve": [0, 1, None, 2], "Bob": [0, None, 1, 2]})
    labels = Annotations(table)
    assert labels.classes == (0, 1, 2)
    assert labels.to_partition().focal_sets.names is None
    assert labels.to_partition().to_hard().tolist() == [0, 1, 1, 2]


def test_samples_are_selected_and_sorted():
    labels = Annotations(LONG).to_partition(reliabilities=None, samples=pd.Index(["c", "new", "a"]))
    np.testing.assert_allclose(labels.masses, [EXPECTED[2], EXPECTED[2], EXPECTED[0]], atol=1e-12)
    assert labels.sample_names == ("c", "new", "a")


def test_a_classifier_rejects_labels_of_other_samples():
    X = pd.DataFrame({"size": [1.0, 2, 3]}, index=["a", "b", "c"])
    model, labels = EvidentialForestClassifier(5, random_state=0), Annotations(LONG)
    model.fit(X, labels.to_partition())
    with pytest.raises(ValueError, match="other samples than X"):
        model.fit(X, labels.to_partition(samples=["b", "a", "c"]))


def test_the_average_is_over_existing_answers():
    table = {"Eve": ["cat", "cat"], "Bob": ["dog", None], "Ann": ["cat", None]}
    masses = Annotations(table).to_partition(rule="average", reliabilities=None).masses
    np.testing.assert_allclose(masses, [[0, 2 / 3, 1 / 3, 0], [0, 1, 0, 0]], atol=1e-12)


def test_certain_annotators_who_disagree_support_both_classes():
    masses = Annotations({"Eve": ["cat"], "Bob": ["dog"]}).to_partition(reliabilities=None).masses
    np.testing.assert_allclose(masses, [[0, 0.5, 0.5, 0]], atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 6), st.floats(0, 0.99)), min_size=1, max_size=5))
def test_the_combination_follows_dempsters_rule(answers):
    full = FocalSets.full(3)
    names = [[k for k in range(3) if code >> k & 1] for code, _ in answers]
    table = {"sample": [0] * len(answers), "annotator": range(len(answers)), "answer": names}
    labels = Annotations(table | {"confidence": [confidence for _, confidence in answers]}, classes=range(3))
    sources = np.zeros((len(answers), len(full)))
    sources[:, -1] = [1 - confidence for _, confidence in answers]
    for row, name, (_, confidence) in zip(sources, names, answers, strict=True):
        row[full.index(name)] += confidence
    partition = labels.to_partition(reliabilities=None)
    expected = belief.combine(sources, full)
    np.testing.assert_allclose(
        belief.expand_masses(partition.masses[0], partition.focal_sets, full), expected, atol=1e-9
    )


def crowd(seed=0):
    """Return true classes, and answers of annotators with different skills."""
    random = np.random.default_rng(seed)
    y, skills = random.integers(3, size=300), (0.95, 0.8, 0.6, 0.0)
    return y, {
        str(skill): np.where(random.random(300) < skill, y, random.integers(3, size=300)) for skill in skills
    }


def test_reliabilities_are_estimated():
    _, table = crowd()
    reliabilities = Annotations(table).reliabilities()
    np.testing.assert_allclose([reliabilities[name] for name in table], [float(name) for name in table], atol=0.1)


def test_learned_reliabilities_improve_labels():
    y, table = crowd()
    labels = Annotations(table)
    accuracies = {
        reliabilities: (labels.to_partition(reliabilities=reliabilities).to_hard() == y).mean()
        for reliabilities in ("learned", None)
    }
    assert accuracies["learned"] > accuracies[None] + 0.02
    partition = labels.to_partition(reliabilities={"0.95": 1, "0.8": 0, "0.6": 0, "0.0": 0})
    assert (partition.to_hard() == table["0.95"]).all()


def test_annotators_without_common_samples_have_prior_reliabilities():
    labels = Annotations({"sample": [1, 2, 3], "annotator": ["a", "b", "b"], "answer": ["x", "y", "x"]})
    assert labels.reliabilities() == pytest.approx({"a": 0.8, "b": 0.8})
    assert labels.to_partition().masses[:, :-1].sum() == 3


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({"answer": ["cat", "dog"]}, {}, "must have a column 'sample'"),
        ({"sample": [1, 2], "answer": ["cat", None]}, {}, "contain 1 class"),
        ({"sample": [1, 2], "answer": ["cat", "cow"]}, {"classes": ["cat", "dog"]}, "'cow', which is not one of"),
        ({"sample": [1, None], "answer": ["cat", "dog"]}, {}, "'sample' has empty cells"),
        ({"sample": [1, 2], "answer": ["cat", "dog"], "confidence": [1, 2]}, {}, "confidence must be a number"),
        ({"sample": [1, 1], "Eve": ["cat", "dog"]}, {}, "a single row for each sample"),
        ({"Eve": ["cat", "dog"]}, {"confidence": {"Bob": [1, 1]}}, "'Eve' is missing"),
        ({"Eve": ["cat", "dog"]}, {"confidence": {"Eve": [1]}}, "confidence must have 2 rows"),
    ],
)
def test_invalid_tables_are_rejected(table, options, message):
    with pytest.raises(ValueError, match=message):
        Annotations(table, **options)


def test_invalid_options_are_rejected():
    labels = Annotations(LONG)
    with pytest.raises(ValueError, match="'Bob' is missing"):
        labels.to_partition(reliabilities={"Eve": 1})
    with pytest.raises(ValueError, match=r"reliabilities\['Bob'\]"):
        labels.to_partition(reliabilities={"Eve": 1, "Bob": 2})
    with pytest.raises(ValueError, match="contains no sample of the table"):
        labels.to_partition(samples=["A", "B"])
    with pytest.raises(ValueError, match="rule must be"):
        labels.to_partition(rule="yager")


def test_the_average_uses_confidences_and_reliabilities():
    table = {
        "sample": ["a", "a", "b", "b"],
        "annotator": ["Eve", "Bob", "Eve", "Bob"],
        "answer": ["cat", "dog", "cat", "cat|dog"],
        "confidence": [0.9, 0.6, None, 1.0],
    }
    labels = Annotations(table, classes=["cat", "dog", "cow"])
    partition = labels.to_partition(rule="average", reliabilities={"Eve": 0.5, "Bob": 0.8})
    masses = dict(zip(partition.focal_sets.labels, partition.masses.T, strict=True))
    np.testing.assert_allclose(masses["{cat}"], [0.9 * 0.5 / 2, 0.5 / 2])
    np.testing.assert_allclose(masses["{dog}"], [0.6 * 0.8 / 2, 0], atol=1e-12)
    np.testing.assert_allclose(masses["{cat,dog}"], [0, 0.8 / 2], atol=1e-12)
    np.testing.assert_allclose(masses["Ω"], [1 - 0.225 - 0.24, 1 - 0.25 - 0.4])
    assert partition.masses.sum(axis=1) == pytest.approx([1, 1])


def expected_informative(answers, trust, n_classes):
    """Return the probability that each annotator is informative, by enumeration of all cases of the model.

    Answers are tuples of the sample, the annotator, the confidence and the set; the prior of classes is uniform.
    """

    def cases(person, confidence, answer, truth):
        n_sets = math.comb(n_classes, len(answer))
        likelihood = (truth in answer) / math.comb(n_classes - 1, len(answer) - 1)
        yield True, trust[person] * confidence * likelihood
        yield True, trust[person] * (1 - confidence) / n_sets
        yield False, (1 - trust[person]) / n_sets

    probabilities = []
    for sample, person, confidence, answer in answers:
        joint = {True: 0.0, False: 0.0}
        for truth in range(n_classes):
            others = 1.0
            for other in answers:
                if other[0] == sample and other[1] != person:
                    others *= sum(weight for _, weight in cases(*other[1:], truth))
            for is_informative, weight in cases(person, confidence, answer, truth):
                joint[is_informative] += weight * others
        probabilities.append(joint[True] / (joint[True] + joint[False]))
    return probabilities


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.integers(0, 2),
            st.sampled_from([0.3, 0.7, 1.0]),
            st.frozensets(st.integers(0, 2), min_size=1, max_size=2),
        ),
        min_size=1,
        max_size=10,
        unique_by=lambda answer: answer[:2],
    )
)
def test_reliabilities_are_those_of_expectation_and_maximization_by_hand(answers):
    table = dict(zip(("sample", "annotator", "confidence", "answer"), zip(*answers, strict=True), strict=True))
    trust = dict.fromkeys(table["annotator"], 0.8)
    for _ in range(200):
        probabilities, previous = expected_informative(answers, trust, 3), dict(trust)
        for person in trust:
            values = [
                probability
                for probability, answer in zip(probabilities, answers, strict=True)
                if answer[1] == person
            ]
            trust[person] = (sum(values) + 4) / (len(values) + 5)
        if max(abs(trust[person] - previous[person]) for person in trust) < 1e-6:
            break
    assert Annotations(table, classes=range(3)).reliabilities() == pytest.approx(trust, abs=1e-9)


def repeated(table, times):
    return {name: list(cells) * times for name, cells in table.items()}


@pytest.mark.parametrize("rule", ["dempster", "average"])
@pytest.mark.parametrize("reliabilities", ["learned", None, {"Eve": 0.7, "Bob": 0.4}])
def test_a_repeated_answer_of_an_annotator_counts_once(rule, reliabilities):
    table = {
        "sample": [*"aabbcc"],
        "annotator": ["Eve", "Bob"] * 3,
        "answer": ["cat", "cat", "dog", "cat|dog", "dog", "cat"],
        "confidence": [0.9, 0.6, 0.8, 1.0, 0.5, None],
    }
    original, copies = Annotations(table), Annotations(repeated(table, 6))
    assert copies.reliabilities() == original.reliabilities()
    partitions = (labels.to_partition(rule=rule, reliabilities=reliabilities) for labels in (original, copies))
    np.testing.assert_array_equal(*(labels.masses for labels in partitions))


def test_repeated_answers_of_a_single_annotator_do_not_change_the_reliability():
    table = {"sample": ["a"] * 6, "annotator": ["Eve"] * 6, "answer": ["cat"] * 6, "confidence": [0.9] * 6}
    labels = Annotations(table, classes=["cat", "dog"])
    assert labels.reliabilities() == pytest.approx({"Eve": 0.8})
    np.testing.assert_allclose(labels.to_partition().masses, [[0, 0.9, 0, 0.1]], atol=1e-12)


def test_different_answers_of_an_annotator_are_averaged():
    table = {
        "sample": ["a"] * 5,
        "annotator": ["Eve", "Eve", "Eve", "Bob", "Eve"],
        "answer": ["cat", "dog", "dog", "cat", "cat"],
        "confidence": [0.8, 0.6, 0.6, 0.5, 0.8],
    }
    full = FocalSets.full(2)
    eve, bob = [0, 0.4, 0.3, 0.3], [0, 0.5, 0, 0.5]
    labels = Annotations(table)
    np.testing.assert_allclose(
        labels.to_partition(reliabilities=None).masses[0],
        belief.combine([eve, bob], full),
        atol=1e-12,
    )
    partition = labels.to_partition(reliabilities={"Eve": 0.5, "Bob": 1})
    discounted = belief.discount(np.array(eve), full, 0.5)
    np.testing.assert_allclose(partition.masses[0], belief.combine([discounted, bob], full), atol=1e-12)
    average = labels.to_partition(rule="average", reliabilities=None).masses[0]
    np.testing.assert_allclose(average, np.mean([eve, bob], axis=0), atol=1e-12)


def test_different_answers_of_one_person_are_one_source_when_reliabilities_are_learned():
    table = {
        "sample": [*"aabbcc"],
        "annotator": ["Eve", "Bob"] * 3,
        "answer": [*"xxxyyy"],
        "confidence": [0.8] * 6,
    }
    extended = {name: [*cells, *cells[::2]] for name, cells in table.items()}
    extended["confidence"][6:] = [0.8 + 1e-9] * 3  # a different answer
    assert Annotations(extended).reliabilities() == pytest.approx(Annotations(table).reliabilities(), abs=1e-6)


def test_the_order_of_rows_of_a_table_does_not_matter():
    y, table = crowd()
    long = pd.DataFrame(table).rename_axis("sample").reset_index().melt("sample", None, "annotator", "answer")
    labels, shuffled = Annotations(long), Annotations(long.sample(frac=1, random_state=0))
    assert shuffled.reliabilities() == pytest.approx(labels.reliabilities(), abs=1e-9)
    partition = shuffled.to_partition(samples=range(len(y)))
    np.testing.assert_allclose(partition.masses, labels.to_partition().masses, atol=1e-9)


def test_names_of_classes_with_separators_are_read_from_json():
    table = {"sample": [0, 1, 2], "answer": ['["a|b"]', '["a|b", "c"]', "c|d"]}
    labels = Annotations(table)
    assert labels.classes == ("a|b", "c", "d")
    candidates = labels.to_partition().verdict().candidates
    assert candidates.tolist() == [[True, False, False], [True, True, False], [False, True, True]]
    assert Annotations({"sample": [0, 1], "answer": ["[low", "high]"]}).classes == ("[low", "high]")
