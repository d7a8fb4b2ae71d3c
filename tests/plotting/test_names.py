"""Tests that names of the user are drawn literally."""

import numpy as np
import pandas as pd
import pytest

from evlearn import CredalPartition
from evlearn.belief import FocalSets
from evlearn.cluster import ECM
from evlearn.constraints import PairwiseConstraints
from evlearn.plotting import (
    ComparisonDisplay,
    ConstraintsDisplay,
    CredalPartitionDisplay,
    DoubtDisplay,
    MassContourDisplay,
    MassesDisplay,
    RelationalDisplay,
)
from evlearn.plotting.axes import shorten, shorten_for_axis

HOSTILE = ["$x^$", "$y$ and $z_$", "a,b", "a\nb", "_under", "", r"\\$", "x" * 200]
N = len(HOSTILE)
VALUES = np.random.RandomState(0).normal(size=(N, 2))
MASSES = np.random.RandomState(1).dirichlet(np.ones(N + 2), size=N)
PARTITION = CredalPartition(MASSES, FocalSets.simple(HOSTILE), sample_names=HOSTILE)
FRAMES = [pd.DataFrame(VALUES, columns=HOSTILE[k : k + 2]) for k in range(N - 1)]


def draw(display):
    figure = display.figure_ if hasattr(display, "figure_") else display.ax_.figure
    figure.canvas.draw()  # parses formulas
    return display


@pytest.mark.parametrize("frame", FRAMES, ids=range(N - 1))
@pytest.mark.slow
def test_columns_of_any_names_are_drawn(frame):
    draw(CredalPartitionDisplay.from_result(PARTITION, frame))
    draw(ConstraintsDisplay.from_constraints(PairwiseConstraints(must_link=[(0, 1)]), frame))
    draw(MassContourDisplay.from_estimator(ECM(2, random_state=0).fit(frame), frame, grid_resolution=5))


@pytest.mark.parametrize("kind", ["bars", "heatmap"])
@pytest.mark.slow
def test_samples_and_clusters_of_any_names_are_drawn(kind):
    draw(MassesDisplay.from_result(PARTITION, kind=kind))
    draw(DoubtDisplay.from_result(PARTITION))
    draw(RelationalDisplay.from_result(PARTITION))


def test_partitions_of_any_names_are_drawn():
    partitions = {name: CredalPartition.from_hard(np.arange(N) % (k + 2)) for k, name in enumerate(HOSTILE)}
    draw(ComparisonDisplay.from_partitions(partitions, np.arange(N) % 2))
    draw(ComparisonDisplay.from_partitions(partitions))


def test_a_formula_is_drawn_as_it_is_written():
    frame = pd.DataFrame(VALUES, columns=["US$ and C$", "y"])
    display = draw(CredalPartitionDisplay.from_result(PARTITION, frame))
    label = display.ax_.xaxis.label
    assert label._preprocess_math(label.get_text()) == ("US$ and C$", False)


def test_names_are_short_on_one_line_and_visible():
    assert shorten("a\nb\tc") == "a b c"
    assert shorten("x" * 30) == "x" * 23 + "…"
    assert len(shorten_for_axis("x" * 300)) == 60
    assert shorten("") == '""'
    assert shorten("_x") == " _x"
    assert shorten("$") == r"\$"
    assert shorten("New York") == "New York"


def test_columns_of_several_levels_are_chosen_by_their_tuples():
    columns = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])
    frame = pd.DataFrame(np.column_stack([VALUES, VALUES[:, 0]]), columns=columns)
    display = CredalPartitionDisplay.from_result(PARTITION, frame, features=[("b", 1), ("a", 2)])
    assert display.ax_.get_xlabel() == "('b', 1)"
    np.testing.assert_array_equal(display.points, frame.to_numpy()[:, [2, 1]])
