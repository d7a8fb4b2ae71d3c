import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from evlearn.conformal.drift_monitor import STATISTICS
from evlearn.plotting import DriftDisplay


def frame(n_batches, names=None):
    random = np.random.default_rng(0)
    values = pd.DataFrame(random.uniform(0.06, 1, size=(n_batches, len(STATISTICS))), columns=list(STATISTICS))
    p_values = np.where(np.arange(n_batches) % 3 == 2, 0.002, 0.5)
    return values.assign(
        batch=range(n_batches) if names is None else names,
        p_value=p_values,
        alarm=p_values <= 0.05,
        false_alarm_rate=0.05,
    )


def test_p_values_and_alarms_are_drawn():
    table = frame(6)
    display = DriftDisplay.from_frame(table)
    display.figure_.canvas.draw()
    np.testing.assert_array_equal(display.line_.get_ydata(), table["p_value"])
    np.testing.assert_array_equal(display.alarms_.get_xdata(), [2, 5])
    np.testing.assert_array_equal(display.level_.get_ydata(), np.full(12, 0.05))
    assert display.ax_.get_yscale() == "log"
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("batch", "p-value")
    for points, name in zip(display.points_, STATISTICS, strict=True):
        np.testing.assert_array_equal(points.get_ydata(), table[name])
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert texts == ["all statistics", "alarm", "false alarm rate", *STATISTICS]


def test_all_p_values_are_within_the_axes():
    table = frame(3).assign(sizes=[1.0, 1e-4, 0.5])
    display = DriftDisplay.from_frame(table)
    low, high = display.ax_.get_ylim()
    assert low < 1e-4
    assert high > 1


def test_few_names_of_batches_are_drawn():
    display = DriftDisplay.from_frame(frame(100, [f"2026-01-{k:03} $x^$" for k in range(100)]))
    display.figure_.canvas.draw()
    labels = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert 5 < len(labels) <= 12
    assert labels[0] == r"2026-01-000 \$x^\$"


def test_the_plot_can_be_drawn_on_given_axes_without_a_legend():
    figure, ax = plt.subplots()
    display = DriftDisplay.from_frame(frame(4), ax=ax, legend=False)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.legend_ is None


def test_another_table_is_refused():
    with pytest.raises(ValueError, match=r"frame must be a result of DriftMonitor.test_batches.*lacks.*'alarm'"):
        DriftDisplay.from_frame(frame(3).drop(columns="alarm"))
    with pytest.raises(ValueError, match=r"at least one batch; it has 0 rows"):
        DriftDisplay.from_frame(frame(3)[:0])
