import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from sklearn.datasets import load_iris

from evlearn import CredalPartition
from evlearn.constraints import PairwiseConstraints
from evlearn.plotting import ConstraintsDisplay, CredalPartitionDisplay

X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0], [3.0, 1.0]])
CONSTRAINTS = PairwiseConstraints(must_link=[(0, 1), (2, 4)], cannot_link=[(0, 2), (3, 4), (1, 4)])
LABELS = [0, 0, 0, 1, 1]
KINDS = {
    "must-link": [(0, 1)],
    "cannot-link": [(1, 4)],
    "must-link, violated": [(2, 4)],
    "cannot-link, violated": [(0, 2), (3, 4)],
}


def draw(display):
    display.figure_.canvas.draw()
    return display


def entries(display):
    return [text.get_text() for text in display.legend_.get_texts()]


def ends(lines):
    return {frozenset(map(tuple, segment.tolist())) for segment in lines.get_segments()}


def expected(pairs):
    return {frozenset([tuple(X[first].tolist()), tuple(X[second].tolist())]) for first, second in pairs}


def test_constraints_are_lines_between_their_objects():
    display = draw(ConstraintsDisplay.from_constraints(CONSTRAINTS, X))
    assert list(display.lines_) == ["must-link", "cannot-link"]
    assert ends(display.lines_["must-link"]) == expected([(0, 1), (2, 4)])
    assert ends(display.lines_["cannot-link"]) == expected([(0, 2), (3, 4), (1, 4)])
    assert all(lines in display.ax_.collections for lines in display.lines_.values())
    np.testing.assert_array_equal(display.points_.get_offsets(), X)
    assert entries(display) == ["must-link: 2", "cannot-link: 3"]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("feature 0", "feature 1")


@pytest.mark.parametrize("labels", [LABELS, CredalPartition.from_hard(LABELS)])
def test_violated_constraints_are_emphasized(labels):
    display = draw(ConstraintsDisplay.from_constraints(CONSTRAINTS, X, labels=labels))
    assert {kind: ends(lines) for kind, lines in display.lines_.items()} == {
        kind: expected(pairs) for kind, pairs in KINDS.items()
    }
    for kind in ("must-link", "cannot-link"):
        respected, violated = display.lines_[kind], display.lines_[f"{kind}, violated"]
        assert violated.get_linewidth()[0] > 2 * respected.get_linewidth()[0]
        assert to_rgb(violated.get_color()[0]) != to_rgb(respected.get_color()[0])
    assert entries(display) == [f"{kind}: {len(pairs)}" for kind, pairs in KINDS.items()]


def test_must_links_are_solid_and_cannot_links_dashed():
    display = draw(ConstraintsDisplay.from_constraints(CONSTRAINTS, X, labels=LABELS))
    for kind, lines in display.lines_.items():
        ((_, dashes),) = lines.get_linestyle()
        assert (dashes is None) == kind.startswith("must")
    handles = dict(zip(entries(display), display.legend_.legend_handles, strict=True))
    assert handles["must-link: 1"].get_linestyle() == "-"
    assert handles["cannot-link: 1"].get_linestyle() == "--"


def test_lines_on_a_partition_keep_its_legend():
    partition = CredalPartition.from_hard(LABELS)
    below = CredalPartitionDisplay.from_result(partition, X, hulls=False)
    title, before = below.legend_.get_title().get_text(), [text.get_text() for text in below.legend_.get_texts()]
    display = draw(ConstraintsDisplay.from_constraints(CONSTRAINTS, X, labels=partition, ax=below.ax_))
    assert display.ax_ is below.ax_
    assert display.points_ is None
    assert entries(display) == [*before, *(f"{kind}: {len(pairs)}" for kind, pairs in KINDS.items())]
    assert display.legend_.get_title().get_text() == title


@pytest.mark.slow
def test_samples_with_many_features_have_the_coordinates_of_the_partition_display():
    irises = load_iris().data
    partition = CredalPartition.from_hard(load_iris().target)
    below = CredalPartitionDisplay.from_result(partition, irises)
    display = ConstraintsDisplay.from_constraints(CONSTRAINTS, irises, ax=below.ax_)
    np.testing.assert_array_equal(display.points, below.points)


def test_a_subset_of_many_constraints_is_drawn_and_mentioned_in_the_legend():
    labels = np.repeat([0, 1], 50)
    constraints = PairwiseConstraints.from_labels(labels)
    points = np.random.default_rng(0).random((100, 2))
    display = draw(ConstraintsDisplay.from_constraints(constraints, points, max_lines=60))
    counts = {kind: len(lines.get_segments()) for kind, lines in display.lines_.items()}
    assert sum(counts.values()) == 60
    assert entries(display) == [
        f"must-link: {counts['must-link']} of 2,450",
        f"cannot-link: {counts['cannot-link']} of 2,500",
    ]


def test_the_plot_can_be_drawn_again_on_given_axes():
    figure, ax = plt.subplots()
    display = ConstraintsDisplay.from_constraints(CONSTRAINTS, X)
    assert display.plot(ax, legend=False) is display
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.legend_ is None


def test_without_constraints_there_are_no_lines():
    assert draw(ConstraintsDisplay.from_constraints(PairwiseConstraints(), X, labels=LABELS)).lines_ == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"constraints": [(0, 1)]}, "constraints must be PairwiseConstraints, got list"),
        ({"labels": [0, 1]}, r"one label for each of the 5 rows of X, got \(2,\)"),
        ({"X": X[:3]}, r"must_link has the pair \(2, 4\), but there are 3 samples"),
        ({"max_lines": 0}, "max_lines must be a whole number of at least 1"),
    ],
)
def test_wrong_arguments_are_explained(arguments, message):
    with pytest.raises(ValueError, match=message):
        ConstraintsDisplay.from_constraints(**({"constraints": CONSTRAINTS, "X": X} | arguments))
