"""Label issues: kinds, order and suggestions, soft labels, and the connection to review queues."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from evlearn import CredalPartition
from evlearn.active import review_queue
from evlearn.classify import EvidentialKNNClassifier, find_label_issues
from evlearn.preprocessing import TableEncoder

NAMES = np.array(["ash", "beech", "cedar"])
WRONG = [3, 60, 90]


def clear_classes():
    """Return samples of separate classes, of which 3 have wrong labels, and the true classes."""
    X, y = make_blobs(150, centers=[(0, 0), (8, 0), (0, 8)], random_state=0)
    labels = y.copy()
    labels[WRONG] = (y[WRONG] + 1) % 3
    return X, NAMES[labels], NAMES[y]


@pytest.mark.parametrize(
    "estimator", [GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression()), EvidentialKNNClassifier(5)]
)
def test_wrong_labels_are_listed_with_the_true_class(estimator):
    X, y, truth = clear_classes()
    issues = find_label_issues(estimator, X, y)
    wrong = issues.kinds == "wrong label"
    assert sorted(issues.samples[wrong]) == WRONG
    frame = issues.to_frame()[wrong]
    assert (frame["label"] == y[frame["sample"]]).all()
    assert (frame["suggestion"] == truth[frame["sample"]]).all()


def test_the_kinds_are_wrong_ambiguous_and_no_class():
    X, y, _ = clear_classes()
    X[100], X[101] = (40, 40), (4, 0)
    y[101] = "cedar"
    X[102:105], y[102:105] = (4, 0), ["ash", "beech", "ash"]
    issues = find_label_issues(LogisticRegression(C=0.1), X, y, budget=1.0)
    kinds = dict(zip(issues.samples.tolist(), zip(issues.kinds, issues.suggestions, strict=True), strict=True))
    assert kinds[100] == ("no class", "")
    assert kinds[101][0] == "wrong label"
    assert kinds[101][1] in {"ash", "beech"}
    assert kinds[102] == ("ambiguous", "{ash,beech}")
    assert kinds[0] == ("no issue", y[0])
    assert issues.scores[issues.samples == 100] >= 0.5


def test_issues_are_sorted_by_score_and_a_budget_limits_them():
    X, y, _ = clear_classes()
    complete = find_label_issues(GaussianNB(), X, y, budget=1.0)
    assert (np.diff(complete.scores) <= 0).all()
    assert sorted(complete.samples) == list(range(len(X)))
    assert complete.expected_errors == pytest.approx(complete.scores.sum())
    default = find_label_issues(GaussianNB(), X, y)
    assert len(default) == (complete.scores >= 0.5).sum()
    assert "no issue" not in default.kinds
    for budget, n_listed in ((2, 2), (0.1, 15), (1000, 150)):
        issues = find_label_issues(GaussianNB(), X, y, budget=budget)
        np.testing.assert_array_equal(issues.samples, complete.samples[:n_listed])


def test_labels_that_the_first_round_contradicts_do_not_influence_the_second():
    shares = []
    for seed in range(3):
        X, y = make_blobs(600, centers=[(0, 0), (3, 0)], random_state=seed)
        is_wrong = (np.random.default_rng(seed).random(600) < 0.25) & (y == 0)
        labels = np.where(is_wrong, 1, y)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        one_round = cross_val_predict(GaussianNB(), X, labels, cv=folds, method="predict_proba")
        order = np.argsort(one_round[np.arange(600), labels])[: is_wrong.sum()]
        issues = find_label_issues(GaussianNB(), X, labels, budget=int(is_wrong.sum()))
        shares.append((is_wrong[issues.samples].mean(), is_wrong[order].mean()))
    with_two_rounds, with_one_round = np.mean(shares, axis=0)
    assert with_two_rounds > with_one_round + 0.02


def test_the_suggestion_is_among_the_candidates_and_the_partition_agrees_with_the_frame():
    X, y = load_iris(return_X_y=True)
    issues = find_label_issues(GaussianNB(), X, y, budget=30)
    ambiguous = issues.kinds == "ambiguous"
    assert ambiguous.any()
    assert issues.partition[ambiguous].verdict(0.7).torn.all()
    assert all(text.startswith("{") or text == "Ω" for text in np.array(issues.suggestions)[ambiguous])
    assert issues.n_samples == 150
    assert issues.partition.cluster_names == ("0", "1", "2")


def test_names_of_samples_are_those_of_the_frame():
    X, y, _ = clear_classes()
    frame = pd.DataFrame(X, columns=["a", "b"], index=[f"s{k}" for k in range(len(X))])
    table = find_label_issues(GaussianNB(), frame, y).to_frame()
    assert list(table.index) == [f"s{k}" for k in table["sample"]]


def test_tables_with_text_and_missing_values():
    X, y, _ = clear_classes()
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(color=np.where(X[:, 0] > 4, "red", "blue"))
    frame.loc[5:20, "a"] = np.nan
    model = make_pipeline(TableEncoder(), EvidentialKNNClassifier(5))
    assert set(WRONG) <= set(find_label_issues(model, frame, y).samples)
    assert set(WRONG) <= set(find_label_issues(EvidentialKNNClassifier(5), frame[["a", "b"]], y).samples)


def test_soft_labels():
    X, y, _ = clear_classes()
    plausibilities = (y[:, None] == NAMES).astype(float)
    plausibilities[3] = plausibilities[7] = 1
    right = y[8] == NAMES
    plausibilities[8] = ~right
    issues = find_label_issues(
        EvidentialKNNClassifier(5), X, CredalPartition.from_possibilistic(plausibilities, cluster_names=NAMES)
    )
    frame = issues.to_frame().set_index("sample")
    assert 8 in frame.index
    assert frame.loc[8, "label"].count(",") == 1
    assert frame.loc[8, "suggestion"] == y[8]
    assert not {3, 7} & set(frame.index[frame["kind"] != "no class"])
    with pytest.raises(ValueError, match="only evidential classifiers accept"):
        find_label_issues(GaussianNB(), X, plausibilities)


def test_a_class_with_few_samples_and_labels_that_contradict_each_other():
    X, y, _ = clear_classes()
    y = np.append(y, ["yew"])
    X = np.vstack([X, [(4, 4)]])
    assert find_label_issues(GaussianNB(), X, y, budget=1.0).n_samples == 151
    random = np.random.default_rng(0).permutation(y)
    assert len(find_label_issues(EvidentialKNNClassifier(1), X, random, budget=5)) == 5


def test_review_queue_and_label_studio(tmp_path):
    X, y, truth = clear_classes()
    issues = find_label_issues(GaussianNB(), X, y)
    queue = review_queue(issues)
    np.testing.assert_array_equal(queue.samples, issues.samples)
    assert review_queue(issues, 2).samples.tolist() == issues.samples[:2].tolist()
    assert queue.to_frame()["label"].tolist() == list(issues.labels)
    path = tmp_path / "tasks.json"
    queue.to_label_studio(path, X)
    tasks = json.loads(path.read_text())
    assert f"label: {issues.labels[0]}" in tasks[0]["data"]["text"]
    for task in tasks:
        choice = {"from_name": "cluster", "value": {"choices": [truth[task["data"]["sample"]]]}}
        task["annotations"] = [{"result": [choice]}]
    path.write_text(json.dumps(tasks))
    answers = queue.read_label_studio(path)
    corrected = answers.applied_to(CredalPartition.from_hard(y))
    np.testing.assert_array_equal(NAMES[corrected.to_hard()], truth)


def test_errors_name_the_parameter_and_a_remedy():
    X, y, _ = clear_classes()
    with pytest.raises(TypeError, match="wrap it in sklearn"):
        find_label_issues(LinearSVC(), X, y)
    with pytest.raises(ValueError, match="budget"):
        find_label_issues(GaussianNB(), X, y, budget=0)
    with pytest.raises(ValueError, match="2 classes"):
        find_label_issues(GaussianNB(), X, np.zeros(len(X)))
