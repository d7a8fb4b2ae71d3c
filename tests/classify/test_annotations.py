"""Annotations: tables of answers, and their conversion to mass functions."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from evlearn import CredalPartition, belief
from evlearn.belief import FocalSets
from evlearn.classify import Annotations, EvidentialForestClassifier
from evlearn.classify.confusions import AnswerContours

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
    labels = Annotations(table).to_partition(rule="dempster")
    np.testing.assert_allclose(labels.masses, EXPECTED, atol=1e-12)
    assert labels.sample_names == ("a", "b", "c")
    assert labels.cluster_names == ("cat", "dog")


@pytest.mark.parametrize("library", range(4))
def test_a_column_for_each_annotator(library):
    labels = Annotations(frames(WIDE)[library], confidence=frames(CONFIDENCE)[library])
    assert labels.annotators == ("Bob", "Eve")
    np.testing.assert_allclose(labels.to_partition(rule="dempster").masses, EXPECTED, atol=1e-12)


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
    labels = Annotations(LONG).to_partition(rule="dempster", samples=pd.Index(["c", "new", "a"]))
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
    masses = Annotations(table).to_partition(rule="average").masses
    np.testing.assert_allclose(masses, [[0, 2 / 3, 1 / 3, 0], [0, 1, 0, 0]], atol=1e-12)


def test_certain_annotators_who_disagree_support_both_classes():
    masses = Annotations({"Eve": ["cat"], "Bob": ["dog"]}).to_partition(rule="dempster").masses
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
    partition = labels.to_partition(rule="dempster")
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


def asymmetric(seed=0, n_samples=400, n_annotators=6, share_of_copies=0.0):
    """Return true classes, answers of annotators who recognize class 0 only, and their confusion matrix."""
    random = np.random.default_rng(seed)
    matrix = np.array([[0.9, 0.1], [0.45, 0.55]])
    y = random.integers(2, size=n_samples)
    answers = (random.random((n_annotators, n_samples)) < matrix[y, 1]).astype(int)
    for number in range(1, n_annotators):
        copies = random.random(n_samples) < share_of_copies
        answers[number, copies] = answers[0, copies]
    return y, {f"p{number}": row for number, row in enumerate(answers)}, matrix


def log_loss(partition, y):
    return -np.log(partition.to_fuzzy()[np.arange(len(y)), y]).mean()


def test_confusion_matrices_are_estimated():
    _, table = crowd()
    confusions = Annotations(table).confusions()
    for name in table:
        expected = float(name) * np.eye(3) + (1 - float(name)) / 3
        np.testing.assert_allclose(confusions[name], expected, atol=0.12)
    np.testing.assert_allclose(sum(confusions.values()).sum(axis=1), len(table))


def test_errors_that_depend_on_the_class_improve_labels():
    y, table, matrix = asymmetric()
    labels = Annotations(table)
    np.testing.assert_allclose(np.mean(list(labels.confusions().values()), axis=0), matrix, atol=0.1)
    accuracy = (labels.to_partition().to_hard() == y).mean()
    assert accuracy > (labels.to_partition(rule="average").to_hard() == y).mean() + 0.05


def test_a_matrix_with_few_answers_is_close_to_the_mean():
    _, table, _ = asymmetric()
    table["newcomer"] = [1 - table["p0"][0]] + [None] * 399
    confusions = Annotations(table).confusions()
    mean = np.mean([confusions[name] for name in table if name != "newcomer"], axis=0)
    assert np.abs(confusions["newcomer"] - mean).max() < 0.2


@pytest.mark.parametrize("seed", range(3))
def test_dependence_is_detected_and_reduces_the_log_loss(seed):
    dependences = {}
    for share in (0.0, 0.5):
        y, table, _ = asymmetric(seed, share_of_copies=share)
        labels = Annotations(table)
        dependences[share] = labels.dependence()
        if share:
            loss = log_loss(labels.to_partition(), y)
            labels.__dict__["_model"] = independent(labels)
            assert loss < log_loss(labels.to_partition(), y) - 0.05
    assert dependences[0.5] > dependences[0.0] + 0.05
    assert 0.1 <= dependences[0.0] < 0.3


def independent(labels):
    """Return the model of answers without dependence between annotators."""
    evidence, annotators = labels._evidence, len(labels.annotators)
    answers = AnswerContours(
        evidence.samples, evidence.annotators, evidence.contours(), len(labels.samples), annotators
    )
    matrices = np.stack(list(labels.confusions().values()))
    logs = answers.sum_of_samples(np.log(answers.times(matrices))) + np.log(labels._model.frequencies)
    return replace(labels._model, probabilities=softmax(logs, axis=1))


def test_plausibilities_are_proportional_to_probabilities_of_the_model():
    y, table = crowd()
    labels = Annotations(table)
    partition = labels.to_partition()
    np.testing.assert_allclose(partition.to_fuzzy(), labels._model.probabilities, atol=1e-12)
    assert partition.masses[:, 0].max() == 0
    assert (partition.to_hard() == y).mean() > 0.9


def test_unlikely_classes_of_many_share_their_plausibility():
    random = np.random.default_rng(0)
    y = random.integers(12, size=200)
    table = {name: np.where(random.random(200) < 0.7, y, random.integers(12, size=200)) for name in "abcd"}
    partition = Annotations(table).to_partition()
    assert len(partition.focal_sets) < 200
    assert (partition.to_hard() == y).mean() > 0.85


def test_sets_are_better_than_classes_drawn_from_them():
    random = np.random.default_rng(0)
    y, table = crowd()
    sets, draws = {}, {}
    for name, answers in table.items():
        pairs = [(k, random.choice([c for c in range(3) if c != k])) for k in y]
        is_set = random.random(300) < 0.4
        sets[name] = [pairs[i] if is_set[i] else answers[i] for i in range(300)]
        draws[name] = [random.choice(pairs[i]) if is_set[i] else answers[i] for i in range(300)]
    labels = [Annotations(answers).to_partition() for answers in (sets, draws)]
    assert log_loss(labels[0], y) < log_loss(labels[1], y)


def likelihood(labels, annotator, contour):
    return labels.confusions()[annotator] @ contour


def test_the_likelihood_of_a_set_is_the_sum_of_those_of_its_classes():
    _, table = crowd()
    base = {name: cells.tolist() for name, cells in table.items()}
    for cell, contour in (([0, 1], [1, 1, 0]), ({0: 0.7, 1: 0.1}, [0.9, 0.3, 0.2]), ({2: 1.0}, [0, 0, 1])):
        extended = {name: [*cells, None] for name, cells in base.items()}
        extended["0.8"][-1] = cell
        labels = Annotations(extended)
        expected = labels._model.frequencies * likelihood(labels, "0.8", contour)
        np.testing.assert_allclose(labels.to_partition().to_fuzzy()[-1], expected / expected.sum(), atol=1e-9)


@pytest.mark.parametrize("cell", [None, [0, 1, 2], {}, "unsure", {(0, 1, 2): 1.0}])
def test_an_unknown_class_is_no_information(cell):
    _, table = crowd()
    base = {name: cells.tolist() for name, cells in table.items()}
    base["0.95"][0] = None
    extended = base | {"0.95": [cell, *base["0.95"][1:]]}
    labels = [Annotations(answers, classes=range(3), unknown=["unsure"]) for answers in (base, extended)]
    partitions = [answers.to_partition() for answers in labels]
    np.testing.assert_allclose(partitions[0].to_fuzzy(), partitions[1].to_fuzzy(), atol=1e-12)
    assert labels[0].dependence() == labels[1].dependence()


def test_samples_without_information_may_belong_to_any_class():
    _, table = crowd()
    extended = {name: [*cells.tolist(), None, None] for name, cells in table.items()}
    extended["0.8"][-1] = [0, 1, 2]
    masses = Annotations(extended).to_partition().masses
    np.testing.assert_array_equal(masses[-2:, -1], 1)


def test_graded_answers_are_read_from_cells_and_json():
    cells = [{"cat": 0.6, "dog|cow": 0.3}, {"dog": 1.0, "cow": None}, '{"cow": 0.5}', {"cat": 0, "dog": 0.5}]
    table = {"sample": range(4), "annotator": [*"aabb"], "answer": cells, "confidence": [1, 0.5, None, None]}
    partition = Annotations(table, classes=["cat", "dog", "cow"]).to_partition(rule="dempster")
    masses = dict(zip(partition.focal_sets.labels, partition.masses.T, strict=True))
    np.testing.assert_allclose(masses["{cat}"], [0.6, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(masses["{dog,cow}"], [0.3, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(masses["{dog}"], [0, 0.5, 0, 0.5], atol=1e-12)
    np.testing.assert_allclose(masses["{cow}"], [0, 0, 0.5, 0], atol=1e-12)


def test_names_of_columns_of_other_libraries_are_recognized():
    _, table = crowd()
    wide = pd.DataFrame(table)
    melted = wide.rename_axis("sample").reset_index().melt("sample", None, "annotator", "answer")
    expected = Annotations(melted)
    for names in (["task", "worker", "label"], ["task", "annotator", "label"]):
        labels = Annotations(melted.set_axis(names, axis=1))
        assert labels.annotators == expected.annotators
        np.testing.assert_array_equal(labels.to_partition().masses, expected.to_partition().masses)
    np.testing.assert_allclose(Annotations(wide).to_partition().masses, expected.to_partition().masses, atol=1e-9)
    assert Annotations({"label": [0, 1], "task": [5, 6]}).annotators == ("",)
    assert Annotations({"label": [0, 1], "Eve": [0, 0]}).annotators == ("Eve", "label")


@pytest.mark.parametrize("kind", ["probabilities", "partition"])
def test_predictions_of_a_classifier_are_another_annotator(kind):
    y, table = crowd()
    table = {name: table[name] for name in ("0.6", "0.8")}
    probabilities = np.full((300, 3), 0.1) + 0.7 * np.eye(3)[np.where(np.arange(300) % 5, y, 0)]
    predictions = probabilities if kind == "probabilities" else CredalPartition.from_fuzzy(probabilities)
    labels = Annotations(table)
    before = labels.to_partition()
    extended = labels.with_annotator("forest", predictions)
    assert extended.annotators == ("0.6", "0.8", "forest")
    assert log_loss(extended.to_partition(), y) < log_loss(before, y) - 0.1
    assert labels.annotators == ("0.6", "0.8")
    np.testing.assert_array_equal(labels.to_partition().masses, before.masses)
    probabilities[0] = np.nan
    partial = labels.with_annotator("forest", probabilities[[2, 0]], samples=[2, 0])
    np.testing.assert_allclose(partial._evidence.contours()[-1], probabilities[2])
    assert len(partial._evidence.samples) == 601


@pytest.mark.parametrize(
    ("predictions", "options", "message"),
    [
        (np.full((300, 2), 0.5), {}, "must have 3 columns"),
        (np.full((300, 3), 0.5), {}, "sum 1 in each row"),
        (np.full((299, 3), 1 / 3), {}, "each of 300 samples, got 299"),
        (np.full((2, 3), 1 / 3), {"samples": [0, 300]}, "different samples of the table"),
        (np.full((2, 3), 1 / 3), {"samples": [1, 1]}, "different samples of the table"),
        (CredalPartition.from_hard([0, 1], cluster_names=["a", "b"]), {}, "must have the classes"),
        (np.full((300, 3), 1 / 3), {"name": "0.8"}, "name must differ"),
    ],
)
def test_invalid_predictions_are_rejected(predictions, options, message):
    with pytest.raises(ValueError, match=message):
        Annotations(crowd()[1]).with_annotator(**{"name": "forest", "predictions": predictions} | options)


def test_the_next_queries_are_about_doubtful_samples_to_informative_annotators():
    _, table = crowd()
    answers = {name: cells.tolist() for name, cells in table.items()}
    for name in ("0.95", "0.8", "0.6", "0.0"):
        answers[name][:5] = [None] * 5
    answers["0.8"][:2] = [0, 1]
    labels = Annotations(answers)
    queries = labels.next_queries(5)
    assert sorted(queries["sample"]) == [0, 1, 2, 3, 4]
    assert set(queries["annotator"]) == {"0.95"}
    assert queries["error"] == sorted(queries["error"], reverse=True)
    assert min(queries["information"]) > 0.1
    assert set(labels.next_queries(5, annotators=["0.0", "0.6"])["annotator"]) == {"0.6"}
    assert len(labels.next_queries(400)["sample"]) == 5
    with pytest.raises(ValueError, match="annotators must be among"):
        labels.next_queries(annotators=["Eve"])
    with pytest.raises(ValueError, match="n_queries"):
        labels.next_queries(-1)


def test_information_is_the_expected_decrease_of_entropy():
    _, table = crowd()
    model = Annotations({name: [*cells.tolist(), None] for name, cells in table.items()})._model
    classes, matrix = model.probabilities[-1], model.matrices[1]
    joint = classes[:, None] * matrix
    posterior = joint / joint.sum(axis=0)
    entropy = -(classes * np.log2(classes)).sum()
    expected = entropy + (joint.sum(axis=0) * (posterior * np.log2(posterior)).sum(axis=0)).sum()
    assert model.gains(300)[1] == pytest.approx(expected)


def test_annotators_without_common_samples_are_trusted():
    labels = Annotations({"sample": [1, 2, 3], "annotator": ["a", "b", "b"], "answer": ["x", "y", "x"]})
    assert labels.confusions()["a"] == pytest.approx(np.array([[0.8, 0.2], [0.2, 0.8]]))
    assert labels.dependence() == 0
    assert labels.to_partition().masses[:, :-1].sum() == 3
    assert labels.next_queries()["annotator"] == ["b", "a", "a"]


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
        ({"Eve": [{"cat": 0.7, "dog": 0.7}]}, {}, "sum of at most 1"),
        ({"Eve": [{"cat": 2, "dog": 0.7}]}, {}, "confidence must be a number"),
        ({"Eve": ["cat", "?"]}, {"classes": ["cat", "dog"]}, r"unknown=\['\?'\]"),
    ],
)
def test_invalid_tables_are_rejected(table, options, message):
    with pytest.raises(ValueError, match=message):
        Annotations(table, **options)


def test_invalid_options_are_rejected():
    labels = Annotations(LONG)
    with pytest.raises(ValueError, match="'Bob' is missing"):
        labels.to_partition(rule="dempster", reliabilities={"Eve": 1})
    with pytest.raises(ValueError, match=r"reliabilities\['Bob'\]"):
        labels.to_partition(rule="dempster", reliabilities={"Eve": 1, "Bob": 2})
    with pytest.raises(ValueError, match="contains no sample of the table"):
        labels.to_partition(samples=["A", "B"])
    with pytest.raises(ValueError, match="rule must be"):
        labels.to_partition(rule="yager")
    with pytest.raises(ValueError, match="reliabilities must be None"):
        labels.to_partition(reliabilities={"Eve": 1, "Bob": 1})


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


def expected_confusions(answers, n_annotators, n_classes, n_steps=200):
    """Return the matrices of the EM algorithm, by loops over answers; answers are (sample, annotator, contour)."""
    prior = np.full((n_classes, n_classes), 0.2 / (n_classes - 1))
    np.fill_diagonal(prior, 0.8)
    matrices, samples = [prior] * n_annotators, sorted({sample for sample, _, _ in answers})
    votes = {sample: sum(c / c.sum() for i, _, c in answers if i == sample) + 1e-9 for sample in samples}
    first = classes = {sample: shares / shares.sum() for sample, shares in votes.items()}
    for _ in range(n_steps):
        counts = np.zeros((n_annotators, n_classes, n_classes))
        for sample, person, contour in answers:
            for k in range(n_classes):
                joint = contour * matrices[person][k]
                counts[person, k] += classes[sample][k] * joint / joint.sum()
        mean = counts.sum(axis=0) + 5 * prior
        mean /= mean.sum(axis=1, keepdims=True)
        matrices = [(table + 6 * mean) / (table.sum(axis=1, keepdims=True) + 6) for table in counts]
        sums = [sum(shares.values()) + 1 for shares in (classes, first)]
        frequencies = sums[0] / sums[0].sum() + sums[1] / sums[1].sum()
        previous = classes
        classes = {sample: frequencies.copy() for sample in samples}
        for sample, person, contour in answers:
            classes[sample] *= matrices[person] @ contour
        classes = {sample: values / values.sum() for sample, values in classes.items()}
        if max(np.abs(classes[sample] - previous[sample]).max() for sample in samples) < 1e-5:
            break
    return matrices


@settings(max_examples=8, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.integers(0, 2),
            st.sampled_from([0.3, 0.7, 1.0]),
            st.frozensets(st.integers(0, 2), min_size=1, max_size=2),
        ),
        min_size=2,
        max_size=10,
        unique_by=lambda answer: answer[:2],
    )
)
def test_confusions_are_those_of_expectation_and_maximization_by_hand(answers):
    assume(len({answer[0] for answer in answers}) < len(answers))
    table = dict(zip(("sample", "annotator", "confidence", "answer"), zip(*answers, strict=True), strict=True))
    labels = Annotations(table, classes=range(3))
    numbers = {name: k for k, name in enumerate(labels.annotators)}
    contours = [
        (sample, numbers[person], np.array([1.0 if k in names else 1 - confidence for k in range(3)]))
        for sample, person, confidence, names in answers
    ]
    expected = expected_confusions(contours, len(numbers), 3)
    np.testing.assert_allclose(list(labels.confusions().values()), expected, atol=1e-9)


def repeated(table, times):
    return {name: list(cells) * times for name, cells in table.items()}


@pytest.mark.parametrize("rule", ["confusions", "dempster", "average"])
@pytest.mark.parametrize("reliabilities", [None, {"Eve": 0.7, "Bob": 0.4}])
def test_a_repeated_answer_of_an_annotator_counts_once(rule, reliabilities):
    table = {
        "sample": [*"aabbcc"],
        "annotator": ["Eve", "Bob"] * 3,
        "answer": ["cat", "cat", "dog", "cat|dog", "dog", "cat"],
        "confidence": [0.9, 0.6, 0.8, 1.0, 0.5, None],
    }
    original, copies = Annotations(table), Annotations(repeated(table, 6))
    np.testing.assert_array_equal(*(list(labels.confusions().values()) for labels in (original, copies)))
    reliabilities = None if rule == "confusions" else reliabilities
    partitions = (labels.to_partition(rule=rule, reliabilities=reliabilities) for labels in (original, copies))
    np.testing.assert_array_equal(*(labels.masses for labels in partitions))


def test_repeated_answers_of_a_single_annotator_do_not_change_the_reliability():
    table = {"sample": ["a"] * 6, "annotator": ["Eve"] * 6, "answer": ["cat"] * 6, "confidence": [0.9] * 6}
    labels = Annotations(table, classes=["cat", "dog"])
    assert labels.confusions()["Eve"] == pytest.approx(np.array([[0.8, 0.2], [0.2, 0.8]]))
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
        labels.to_partition(rule="dempster").masses[0],
        belief.combine([eve, bob], full),
        atol=1e-12,
    )
    partition = labels.to_partition(rule="dempster", reliabilities={"Eve": 0.5, "Bob": 1})
    discounted = belief.discount(np.array(eve), full, 0.5)
    np.testing.assert_allclose(partition.masses[0], belief.combine([discounted, bob], full), atol=1e-12)
    average = labels.to_partition(rule="average").masses[0]
    np.testing.assert_allclose(average, np.mean([eve, bob], axis=0), atol=1e-12)


def test_different_answers_of_one_person_are_one_source_for_confusions():
    table = {
        "sample": [*"aabbcc"],
        "annotator": ["Eve", "Bob"] * 3,
        "answer": [*"xxxyyy"],
        "confidence": [0.8] * 6,
    }
    extended = {name: [*cells, *cells[::2]] for name, cells in table.items()}
    extended["confidence"][6:] = [0.8 + 1e-9] * 3  # a different answer
    confusions = [list(Annotations(answers).confusions().values()) for answers in (extended, table)]
    np.testing.assert_allclose(*confusions, atol=1e-6)


def test_the_order_of_rows_of_a_table_does_not_matter():
    y, table = crowd()
    long = pd.DataFrame(table).rename_axis("sample").reset_index().melt("sample", None, "annotator", "answer")
    labels, shuffled = Annotations(long), Annotations(long.sample(frac=1, random_state=0))
    np.testing.assert_allclose(shuffled.confusions()["0.8"], labels.confusions()["0.8"], atol=1e-9)
    partition = shuffled.to_partition(samples=range(len(y)))
    np.testing.assert_allclose(partition.masses, labels.to_partition().masses, atol=1e-9)


def test_names_of_classes_with_separators_are_read_from_json():
    table = {"sample": [0, 1, 2], "answer": ['["a|b"]', '["a|b", "c"]', "c|d"]}
    labels = Annotations(table)
    assert labels.classes == ("a|b", "c", "d")
    candidates = labels.to_partition().verdict().candidates
    assert candidates.tolist() == [[True, False, False], [True, True, False], [False, True, True]]
    assert Annotations({"sample": [0, 1], "answer": ["[low", "high]"]}).classes == ("[low", "high]")
