"""Tests of the map of partitions: distances and legible names."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from evlearn.metrics import compare_partitions
from evlearn.partition import CredalPartition
from evlearn.plotting import ComparisonDisplay

PARTITIONS = {
    "one": [0, 0, 0, 1, 1, 1],
    "renumbered": [1, 1, 1, 0, 0, 0],
    "other": [0, 0, 1, 1, 2, 2],
    "probabilities": [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8], [0.1, 0.9]],
    "nothing known": CredalPartition.from_rough(np.ones((6, 2), dtype=bool)),
}


@pytest.fixture
def display():
    result = ComparisonDisplay.from_partitions(PARTITIONS)
    yield result
    plt.close("all")


def test_equivalent_partitions_have_equal_coordinates(display):
    np.testing.assert_allclose(display.places[0], display.places[1], atol=1e-7)
    assert np.linalg.norm(display.places[0] - display.places[4]) > 0.2


def test_there_is_a_point_and_a_name_for_each(display):
    np.testing.assert_allclose(np.asarray(display.points_.get_offsets()), display.places)
    assert [label.get_text() for label in display.labels_] == list(PARTITIONS)
    assert display.ax_.get_aspect() == 1


def test_nonspecific_partitions_are_darker(display):
    darkness = 1 - np.asarray(display.points_.get_facecolors())[:, 0]
    assert darkness[4] == pytest.approx(1)
    assert darkness[0] == darkness[2] < 0.2


def test_names_stay_inside_the_frame(display):
    display.figure_.draw_without_rendering()
    frame = display.ax_.get_window_extent()
    for label in display.labels_:
        box = label.get_window_extent()
        assert frame.x0 - 2 <= box.x0
        assert box.x1 <= frame.x1 + 2


def test_rounding_errors_of_equal_partitions_are_not_magnified():
    comparison = compare_partitions({"a": [0, 1, 1], "b": [1, 0, 0]})
    map_display = ComparisonDisplay.from_comparison(comparison)
    assert np.ptp(map_display.ax_.get_xlim()) >= 0.02
    plt.close("all")


def test_it_can_be_drawn_on_given_axes_with_sampled_pairs():
    _, ax = plt.subplots()
    map_display = ComparisonDisplay.from_partitions(
        PARTITIONS, distance="belief", n_pairs=50, random_state=0, ax=ax
    )
    assert map_display.ax_ is ax
    redrawn = map_display.plot()
    assert redrawn.ax_ is not ax
    plt.close("all")
