"""Tests of the study of cluster tracking: its computations, and recorded figures against targets."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.common import record
from benchmarks.studies.answers import tracking
from evlearn.cluster import CCM

#: Targets: share of samples with preserved numbers, of draws in which a change of a class is detected, and of
#: unchanged draws without an event.
TARGETS = {"preserved": 0.95, "detected": 0.9, "quiet": 0.9}
#: Minimum share of the samples with equal numbers among those for which the best permutation has equal numbers.
OF_BOUND = 0.95
#: Reasons of missed targets; the numbering is close to the best permutation, so none depends on it.
UNSTABLE = "2 fits to different halves divide the samples differently"
NO_CLUSTER = "in some draws, no cluster belongs to the class"
NOT_SEPARATE = "in some draws, the start divides another cluster than the one that contains the new class"
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "nightly_jobs.rst"
UPDATES = {
    "refit": "refit",
    "refit, aligned": "refit, `align_clusters`",
    "refit, tracked": "refit, `track_clusters`",
    "init=": "``init=`` last prototypes",
    "partial_fit": "`partial_fit`, short ``half_life``",
}


def pair():
    """Return 2 models of the same blobs, of which the second has one more blob."""
    centers = 9.0 * np.eye(4)
    random = np.random.default_rng(0)
    y_old, y = np.repeat([0, 1, 2], 40), np.repeat([0, 1, 2, 3], 40)
    X_old, X = (centers[labels] + random.normal(size=(len(labels), 4)) for labels in (y_old, y))
    models = CCM(3, random_state=0).fit(X_old), CCM(4, random_state=1).fit(X)
    return tracking.Comparison(*models, X_old, X, y_old, y)


@pytest.mark.parametrize("method", tracking.METHODS)
def test_all_methods_track_separate_clusters(method):
    example = pair()
    scores = tracking.judge(example, tracking.METHODS[method](example), "addition", 3)
    assert scores["identity"] == scores["cluster of the class"] == 1
    if method in (tracking.TRACKING, tracking.HUNGARIAN):
        assert scores["detected"]
        assert scores["other events"] == 0


def test_prototypes_of_removed_clusters_are_omitted_and_those_of_new_ones_bisect_clusters():
    example = pair()
    centers = tracking.start_from(example.new, example.X, example.X_old, 3)
    np.testing.assert_allclose(np.sort(centers, axis=0), np.sort(example.old.cluster_centers_, axis=0), atol=1.5)
    assert tracking.start_from(example.old, example.X_old, example.X, 4).shape == (4, 4)


def scores(data, fit, kind, method=tracking.TRACKING):
    return record.load(f"tracking_{data}")["results"][fit][kind][method]


def cases(score, kinds, missed):
    """Return data and fits; those whose target is missed are expected failures with the figure."""
    parameters = []
    for data in tracking.DATA["judged"]:
        for fit in ("refit", "init"):
            figure = min(scores(data, fit, kind)[score] for kind in kinds)
            ari = scores(data, fit, "unchanged")["ARI"]
            marks = [
                pytest.mark.xfail(strict=True, reason=f"{reason}: {figure:.2f}, ARI of partitions {ari:.2f}")
                for reason, names in missed.items()
                if (data, fit) in names
            ]
            parameters.append(pytest.param(data, fit, marks=marks))
    return parameters


@pytest.mark.parametrize("data", tracking.DATA["judged"])
@pytest.mark.parametrize("fit", ["refit", "init"])
@pytest.mark.parametrize("kind", ["unchanged", "removal", "addition"])
def test_numbers_are_nearly_those_of_the_best_permutation(data, fit, kind):
    figures = scores(data, fit, kind)
    assert figures["preserved"] >= OF_BOUND * figures["bound"]


ALL = [(data, fit) for data in tracking.DATA["judged"] for fit in ("refit", "init")]
REFITS = [(data, "refit") for data in tracking.DATA["judged"]]
KINDS = ("unchanged", "removal", "addition")
QUIET_MISSED = [("cells", "refit"), ("cells", "init"), ("embeddings", "refit")]
DETECTED_MISSED = {
    UNSTABLE: [("embeddings", "refit")],
    NOT_SEPARATE: [("digits", "init"), ("embeddings", "init")],
    NO_CLUSTER: [("cells", "refit"), ("cells", "init")],
}


def test_there_are_20_draws():
    for data in tracking.DATA["judged"]:
        assert record.load(f"tracking_{data}")["draws"] == tracking.DRAWS == 20


@pytest.mark.parametrize(("data", "fit"), cases("preserved", KINDS, {UNSTABLE: ALL}))
def test_numbers_of_all_samples_are_preserved(data, fit):
    assert min(scores(data, fit, kind)["preserved"] for kind in KINDS) >= TARGETS["preserved"]


@pytest.mark.parametrize(
    ("data", "fit"),
    cases("preserved (sure)", ("unchanged",), {UNSTABLE: REFITS}),
)
def test_numbers_of_samples_that_are_sure_are_preserved(data, fit):
    assert scores(data, fit, "unchanged")["preserved (sure)"] >= TARGETS["preserved"]


@pytest.mark.parametrize(("data", "fit"), cases("quiet", ("unchanged",), {UNSTABLE: QUIET_MISSED}))
def test_unchanged_data_have_no_events(data, fit):
    assert scores(data, fit, "unchanged")["quiet"] >= TARGETS["quiet"]


@pytest.mark.parametrize(("data", "fit"), cases("detected", ("removal", "addition"), DETECTED_MISSED))
def test_removed_and_new_classes_are_detected(data, fit):
    assert min(scores(data, fit, kind)["detected"] for kind in ("removal", "addition")) >= TARGETS["detected"]


@pytest.mark.parametrize("data", tracking.DATA["judged"])
def test_new_classes_of_refits_are_detected_at_least_as_often_as_by_matching(data):
    figures, others = (scores(data, "refit", "addition", name) for name in (tracking.TRACKING, tracking.HUNGARIAN))
    assert figures["detected"] > others["detected"]


def test_the_guide_quotes_the_record():
    results, text = record.load("tracking_nights")["results"], GUIDE.read_text()
    for name, label in UPDATES.items():
        keys = ("agreement", "agreement after a change", "ARI", "ARI after a change")
        cells = "".join(f"     - {results[name][key]:.2f}\n" for key in keys)
        assert f"   * - {label}\n{cells}" in text
    counts = {
        (fit, kind, method): round(20 * scores("digits", fit, kind, method)["detected"])
        for fit in ("refit", "init")
        for kind in ("removal", "addition")
        for method in (tracking.TRACKING, tracking.HUNGARIAN)
    }
    events = [round(20 * (1 - scores("digits", fit, "unchanged")["quiet"])) for fit in ("refit", "init")]
    text = " ".join(text.split())
    assert f"{events[0]} have such events; of 20 fits with ``init=``, {events[1]} have" in text
    removal, addition = (
        [
            counts[fit, kind, method]
            for method in (tracking.TRACKING, tracking.HUNGARIAN)
            for fit in ("refit", "init")
        ]
        for kind in ("removal", "addition")
    )
    assert f"in {removal[0]} of 20 refits and in {removal[1]} of 20 fits with ``init=``" in text
    assert f"(Hungarian algorithm) has {removal[2]} and {removal[3]}" in text
    assert (
        f"in {addition[0]} and {addition[1]} fits, with matching of labels in {addition[2]} and {addition[3]}"
        in text
    )
    shares = {
        (data, fit): f"{100 * scores(data, fit, 'unchanged')['preserved']:.0f} %"
        for data in ("digits", "cells")
        for fit in ("refit", "init")
    }
    assert f"refits preserve the numbers of {shares['digits', 'refit']} of the samples" in text
    assert f"fits with ``init=`` those of {shares['digits', 'init']}, as many as" in text
    assert f"blood cells of 10 types, {shares['cells', 'refit']} and {shares['cells', 'init']}." in text
    for data, fit in shares:
        figures = scores(data, fit, "unchanged")
        assert figures["bound"] - figures["preserved"] < 0.01
