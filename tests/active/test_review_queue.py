"""Review queues: the order of samples, expected errors, and the answers."""

import json
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn import CredalPartition, predict_mass
from evlearn.active import review_queue
from evlearn.active.review_queue import ReviewAnswers
from evlearn.belief import FocalSets
from evlearn.classify import EvidentialKNNClassifier
from evlearn.cluster import ECM, EVCLUS
from strategies import partitions


def three_gaussians(n=3000, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(3, size=n)
    return np.array([(0, 0), (2.5, 0), (0, 2.5)])[y] + random.standard_normal((n, 2)), y


@pytest.fixture(scope="module")
def mixture():
    """Return samples of a mixture, their components, and the posterior probabilities as a partition."""
    X, y = three_gaussians()
    model = GaussianMixture(3, covariance_type="spherical", means_init=[(0, 0), (2.5, 0), (0, 2.5)]).fit(X)
    return X, y, CredalPartition.from_fuzzy(model.predict_proba(X))


@given(st.integers(1, 6).flatmap(partitions), st.integers(1, 8))
def test_samples_with_the_largest_risk_come_first_and_the_other_risks_are_left(partition, budget):
    queue, complete = review_queue(partition, budget), review_queue(partition, partition.n_samples)
    assert len(queue.samples) == min(budget, partition.n_samples)
    np.testing.assert_array_equal(queue.samples, complete.samples[: len(queue.samples)])
    assert (np.diff(complete.risks) <= 0).all()
    assert ((complete.risks >= 0) & (complete.risks <= 1)).all()
    assert queue.expected_errors_left == pytest.approx(complete.risks[len(queue.samples) :].sum(), abs=1e-9)
    assert complete.expected_errors_left == pytest.approx(0, abs=1e-9)


def test_expected_errors_are_correct_if_probabilities_are(mixture):
    _, y, partition = mixture
    is_wrong = partition.to_hard() != y
    queue = review_queue(partition, 0.1)
    tolerance = 3 * np.sqrt(is_wrong.sum())
    assert abs(queue.expected_errors - is_wrong.sum()) < tolerance
    n_left = is_wrong.sum() - is_wrong[queue.samples].sum()
    assert abs(queue.expected_errors_left - n_left) < tolerance
    # 10 % of the samples contain far more than 10 % of the errors.
    assert n_left < 0.7 * is_wrong.sum()


def test_without_a_budget_all_torn_samples_and_outliers_are_reviewed():
    model = ECM(3, random_state=0).fit(load_iris().data)
    verdict = model.credal_partition_.verdict()
    assert set(review_queue(model).samples) == set(np.flatnonzero(~verdict.sure))
    outlier = CredalPartition.from_rough([[True, False], [False, False]])
    assert review_queue(outlier).samples.tolist() == [1]
    assert review_queue(outlier).risks.tolist() == [1]


def test_a_table_contains_the_samples_with_their_names_and_columns():
    X = load_iris(as_frame=True).data.set_axis([f"flower {k}" for k in range(150)])
    model = ECM(3, random_state=0).fit(X)
    table = review_queue(model, 5).to_frame(X)
    assert list(table.columns) == [*COLUMNS, *X.columns]
    assert table.index[0] == f"flower {table['sample'].iloc[0]}"
    pd.testing.assert_frame_equal(table[X.columns], X.loc[table.index])


COLUMNS = ["sample", "cluster", "candidates", "risk", "doubt", "outlier_score"]
TABLES = {
    "pandas": lambda table: table,
    "polars": pl.from_pandas,
    "pyarrow": lambda table: pa.Table.from_pandas(table, preserve_index=False),
    "dict": lambda table: {name: table[name].to_numpy() for name in table},
}


@pytest.mark.parametrize("library", TABLES)
def test_a_table_is_joined_by_position_whatever_its_index_and_its_columns(library):
    X, _ = three_gaussians(120)
    table = pd.DataFrame(X, columns=["cluster", "b"], index=np.r_[0:60, 0:60])  # as after pandas.concat
    table["risk"], table["cluster_X"], table["when"] = np.arange(120), "original", pd.Timestamp("2026-11-18")
    queue = review_queue(ECM(3, random_state=0).fit(X), budget=60)
    result = queue.to_frame(TABLES[library](table))
    assert list(result.columns) == [
        *COLUMNS,
        *("cluster_X2", "b", "risk_X", "cluster_X", "when"),
    ]
    np.testing.assert_array_equal(result["sample"], queue.samples)
    np.testing.assert_array_equal(result["risk"], queue.risks)
    np.testing.assert_array_equal(result[["cluster_X2", "b"]], X[queue.samples])
    np.testing.assert_array_equal(result["risk_X"], queue.samples)
    assert (result["cluster_X"] == "original").all()
    assert (pd.to_datetime(result["when"]) == pd.Timestamp("2026-11-18")).all()
    expected = table.index[queue.samples] if library == "pandas" else range(60)
    assert list(result.index) == list(expected)


def test_arrays_lists_and_sparse_matrices_are_shown_with_numbered_columns():
    X, _ = three_gaussians(30)
    queue = review_queue(ECM(3, random_state=0).fit(X), budget=7)
    for rows in (X, X.tolist(), csr_array(X)):
        result = queue.to_frame(rows)
        assert list(result.columns) == [*COLUMNS, 0, 1]
        np.testing.assert_array_equal(result[[0, 1]], X[queue.samples])


def test_names_of_the_partition_take_precedence_over_the_index_and_stay_in_order():
    X, _ = three_gaussians(40)
    names = [f"s{k % 20}" for k in range(40)]
    queue = review_queue(ECM(3, random_state=0).fit(pd.DataFrame(X, columns=list("ab"), index=names)), 10)
    result = queue.to_frame(pd.DataFrame(X, columns=list("ab")))
    assert list(result.index) == [names[k] for k in queue.samples]
    np.testing.assert_array_equal(result[["a", "b"]], X[queue.samples])


def test_pipelines_and_estimators_without_a_partition_are_reviewed():
    X, y = three_gaussians(200)
    frame = pd.DataFrame(X, columns=list("ab"), index=[f"s{k}" for k in range(200)])
    pipeline = make_pipeline(StandardScaler(), ECM(3, random_state=0)).fit(frame)
    expected = review_queue(pipeline[-1].credal_partition_, 10)
    for queue in (review_queue(pipeline, 10), review_queue(pipeline, 10, X=frame)):
        np.testing.assert_array_equal(queue.samples, expected.samples)
        np.testing.assert_allclose(queue.risks, expected.risks)
        assert list(queue.to_frame(frame).index) == [f"s{k}" for k in expected.samples]
    assert review_queue(pipeline, 10, X=frame).partition.sample_names[0] == f"s{expected.samples[0]}"

    mixture = GaussianMixture(3, random_state=0).fit(X)
    largest_risks = np.sort(1 - mixture.predict_proba(X).max(axis=1))[::-1][:10]
    np.testing.assert_allclose(review_queue(mixture, 10, X=X).risks, largest_risks, atol=1e-12)

    classifier = make_pipeline(StandardScaler(), EvidentialKNNClassifier()).fit(X[:100], y[:100])
    queue = review_queue(classifier, X=X[100:])
    assert set(queue.samples) == set(np.flatnonzero(~predict_mass(classifier, X[100:]).verdict().sure))
    with pytest.raises(TypeError, match="pass the samples as X"):
        review_queue(classifier)


def test_outliers_have_a_large_risk_although_their_doubt_is_0():
    partition = CredalPartition([[0, 0.7, 0.3, 0], [0.95, 0.05, 0, 0], [0, 0, 0, 1]], FocalSets.full(2))
    assert partition.doubt()[1] == 0
    assert review_queue(partition).samples.tolist() == [1, 2]
    assert review_queue(partition, 1).samples.tolist() == [1]
    table = review_queue(partition).to_frame()
    assert table["doubt"].tolist() == [0, 1]
    assert table["outlier_score"].tolist() == [0.95, 0]


def write_annotations(path, answers):
    """Write an export of Label Studio: the tasks, each with its answer, or None if it was skipped."""
    tasks = json.loads(path.read_text())
    for task, choices in zip(tasks, answers, strict=False):
        if choices is None:
            # As if a person had chosen a cluster, and then skipped the task: the draft remains in the export.
            task["annotations"] = [{"was_canceled": True, "result": task["predictions"][0]["result"]}]
            continue
        value = {"from_name": "cluster", "to_name": "sample", "type": "choices", "value": {"choices": choices}}
        task["annotations"] = [{"was_canceled": False, "result": [value]}]
    path.write_text(json.dumps(tasks))
    return path


@pytest.fixture
def iris_review():
    return review_queue(EVCLUS(3, random_state=0).fit(load_iris().data), 20)


def test_tasks_go_to_label_studio_and_answers_come_back(iris_review, tmp_path):
    path = tmp_path / "tasks.json"
    iris_review.to_label_studio(path, load_iris(as_frame=True).data)
    task = json.loads(path.read_text())[0]
    assert "petal width (cm): " in task["data"]["text"]
    assert task["predictions"][0]["result"][0]["value"]["choices"][0] in iris_review.partition.cluster_names
    interface = ElementTree.fromstring(iris_review.label_studio_config())
    assert [choice.get("value") for choice in interface.iter("Choice")] == ["0", "1", "2", "none of these"]

    choices = [["1"], ["0", "2"], ["none of these"], None, *[["2"]] * 16]
    answers = iris_review.read_label_studio(write_annotations(path, choices))
    first, second, third, fourth, fifth, *_ = iris_review.samples
    assert answers.labels[[first, second, third, fourth, fifth]].tolist() == [1, -1, -1, -1, 2]
    assert answers.candidates[second].tolist() == [True, False, True]
    assert not answers.candidates[third].any()
    assert answers.is_answered.sum() == 19
    assert answers.constraints().must_link.shape == (16 * 15 // 2, 2)
    assert answers.to_partition().verdict().outlier.tolist() == [k == third for k in range(150)]


def test_answers_take_the_place_of_what_was_computed(mixture):
    X, y, partition = mixture
    queue = review_queue(partition, 0.1)
    labels = np.full(len(y), -1)
    labels[queue.samples] = y[queue.samples]
    answers = ReviewAnswers.of(labels, partition.cluster_names)
    corrected = answers.applied_to(partition)
    np.testing.assert_allclose(corrected.masses.sum(axis=1), 1)
    np.testing.assert_array_equal(corrected.to_hard()[queue.samples], y[queue.samples])
    untouched = ~answers.is_answered
    np.testing.assert_allclose(corrected[untouched].to_fuzzy(), partition[untouched].to_fuzzy(), atol=1e-12)
    assert (corrected.to_hard() != y).sum() < (partition.to_hard() != y).sum()
    # The answers are soft labels for a classifier.
    model = EvidentialKNNClassifier().fit(X[answers.is_answered], answers.to_partition()[answers.is_answered])
    assert model.predict(X[:5]).shape == (5,)


def test_a_skipped_annotation_does_not_replace_the_answer_before_it(iris_review, tmp_path):
    path = tmp_path / "tasks.json"
    iris_review.to_label_studio(path)
    tasks = json.loads(write_annotations(path, [["1"]] * 20).read_text())
    for task in tasks:
        skipped = json.loads(json.dumps(task["annotations"][0]))
        skipped["result"][0]["value"]["choices"] = ["2"]
        task["annotations"].append(skipped | {"was_canceled": True})
    path.write_text(json.dumps(tasks))
    assert (iris_review.read_label_studio(path).labels[iris_review.samples] == 1).all()


@given(st.integers(2, 5).flatmap(partitions), st.data())
def test_an_answer_replaces_the_masses_of_its_sample_only(partition, data):
    shape = partition.n_samples, partition.n_clusters
    candidates = np.array(
        data.draw(st.lists(st.booleans(), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    )
    is_answered = np.array(data.draw(st.lists(st.booleans(), min_size=shape[0], max_size=shape[0])))
    candidates = candidates.reshape(shape) | ~is_answered[:, None]
    result = ReviewAnswers(candidates, is_answered, partition.cluster_names).applied_to(partition)
    np.testing.assert_allclose(result.masses.sum(axis=1), 1)
    plausibilities, before = result.to_possibilistic(), partition.to_possibilistic()
    np.testing.assert_allclose(plausibilities[~is_answered], before[~is_answered])
    np.testing.assert_array_equal(plausibilities[is_answered], candidates[is_answered])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda tasks: tasks[0]["data"].update(sample=10**9), "is not in this review queue"),
        (lambda tasks: tasks[0]["data"].update(sample=True), "is not in this review queue"),
        (lambda tasks: tasks[0]["annotations"][0]["result"][0]["value"].update(choices=["9"]), "are not clusters"),
        (lambda tasks: tasks[0].pop("annotations"), "its structure is broken"),
        (lambda tasks: tasks.append(7), "its structure is broken"),
    ],
)
def test_an_invalid_export_is_rejected_with_the_reason(change, reason, iris_review, tmp_path):
    path = tmp_path / "tasks.json"
    iris_review.to_label_studio(path)
    tasks = json.loads(write_annotations(path, [["1"]] * 20).read_text())
    change(tasks)
    path.write_text(json.dumps(tasks))
    with pytest.raises(ValueError, match=f"tasks.json is not an export that can be read: .*{reason}"):
        iris_review.read_label_studio(path)


@pytest.mark.parametrize(("share", "n_reviewed"), [(0.01, 1), (0.5, 2), (0.9, 3), (1.0, 3)])
def test_a_share_of_the_samples_is_rounded_up(share, n_reviewed):
    assert len(review_queue(CredalPartition.from_hard([0, 1, 1]), share).samples) == n_reviewed


@pytest.mark.parametrize("budget", [0, -3, 1.5, 0.0, "all"])
def test_a_budget_is_a_number_of_samples_or_a_share(budget):
    with pytest.raises((ValueError, TypeError), match="budget must be"):
        review_queue(CredalPartition.from_hard([0, 1, 1]), budget)


def test_errors_explain_wrong_calls():
    with pytest.raises(TypeError, match="result must be a CredalPartition or a fitted estimator"):
        review_queue([0, 1])
    with pytest.raises(ValueError, match="labels must be numbers of the 2 clusters, or -1, got 2"):
        ReviewAnswers.of([0, 2, -1], ("a", "b"))
    queue = review_queue(CredalPartition.from_hard([0, 1, 1]), 1)
    with pytest.raises(ValueError, match="X has 2 rows, but there are 3 samples"):
        queue.to_frame(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="the cluster name 'none of these' is reserved"):
        review_queue(
            CredalPartition.from_hard([0, 1], cluster_names=["a", "none of these"]), 1
        ).label_studio_config()
