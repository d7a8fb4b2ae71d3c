import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

from evlearn.cluster import ECM, EVCLUS, Quantile
from evlearn.datasets import load_butterfly
from evlearn.plotting import ObjectiveDisplay


class Fitted:
    """Attributes of a fitted estimator."""

    def __init__(self, history, converged):
        self.objective_history_ = np.array(history)
        self.converged_ = converged


def texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_the_objective_is_drawn_against_iterations_that_begin_at_zero():
    for model in (
        ECM(n_clusters=2, beta=2, delta=5, init="random", random_state=0),
        EVCLUS(n_clusters=2, d0=Quantile(0.9), random_state=0),
    ):
        model.fit(load_butterfly().data)
        display = ObjectiveDisplay.from_estimator(model)
        display.figure_.canvas.draw()
        np.testing.assert_array_equal(display.line_.get_ydata(), model.objective_history_)
        np.testing.assert_array_equal(display.line_.get_xdata(), np.arange(model.n_iter_ + 1))
        assert display.line_ in display.ax_.lines
        assert display.ax_.get_xlabel() == "iteration"
        assert display.ax_.get_ylabel() == "objective"
        assert display.ax_.get_yscale() == "linear"
        assert all(float(tick).is_integer() for tick in display.ax_.get_xticks())
        last = f"{model.objective_history_[-1]:.4g}"
        assert texts(display) == [f"{type(model).__name__}: {last}, converged after {model.n_iter_} iterations"]


def test_the_last_value_has_a_marker_that_is_hollow_where_the_fit_did_not_converge():
    converged = ObjectiveDisplay.from_estimator(Fitted([3, 2, 1.5], True))
    open_end = ObjectiveDisplay.from_estimator(Fitted([3.0, 2.0], False), name="mine")
    for display in (converged, open_end):
        display.figure_.canvas.draw()
        assert display.line_.get_markevery() == [-1]
        assert display.line_.get_marker() not in ("", "None")
    assert to_rgba(converged.line_.get_markerfacecolor()) != to_rgba("white")
    assert to_rgba(open_end.line_.get_markerfacecolor()) == to_rgba("white")
    assert texts(open_end) == ["mine: 2, not converged after 1 iteration"]


def test_the_distance_to_the_last_value_is_drawn_on_a_logarithmic_scale():
    display = ObjectiveDisplay.from_estimator(Fitted([5, 0, 2, 1], True), kind="distance")
    display.figure_.canvas.draw()
    np.testing.assert_array_equal(display.line_.get_xydata(), [[0, 4], [1, 1], [2, 1]])
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_ylabel() == "distance to the last objective"
    assert texts(display) == ["Fitted: 1, converged after 3 iterations"]


def test_a_history_of_one_value_can_be_drawn():
    for kind, length in (("objective", 1), ("distance", 0)):
        display = ObjectiveDisplay.from_estimator(Fitted([5.0], True), kind=kind)
        display.figure_.canvas.draw()
        assert len(display.line_.get_xdata()) == length


def test_several_fits_on_the_same_axes_differ_and_are_all_in_the_legend():
    figure, ax = plt.subplots()
    ax.plot([0, 1], [2, 2])  # a line from other code
    displays = [
        ObjectiveDisplay.from_estimator(Fitted([5, 3, 2], converged), name=name, ax=ax)
        for name, converged in (("first", True), ("second", False), ("third", True))
    ]
    figure.canvas.draw()
    for look in ("get_color", "get_linestyle", "get_marker"):
        assert len({getattr(display.line_, look)() for display in displays[:2]}) == 2, look
    assert len({display.line_.get_color() for display in displays}) == 3
    assert displays[0].line_.get_color() == ObjectiveDisplay.from_estimator(Fitted([5, 3], True)).line_.get_color()
    assert [text.split(":")[0] for text in texts(displays[-1])] == ["first", "second", "third"]


def test_the_plot_can_be_drawn_again_on_given_axes_without_a_legend():
    figure, ax = plt.subplots()
    display = ObjectiveDisplay.from_estimator(Fitted([5, 3, 2], True))
    assert display.plot(ax, legend=False) is display
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.legend_ is None
    assert ax.get_legend() is None
    assert len(ax.lines) == 1


def test_invalid_input_is_explained():
    with pytest.raises(ValueError, match=r"have objective_history_ and converged_, got ECM.*call"):
        ObjectiveDisplay.from_estimator(ECM())
    with pytest.raises(ValueError, match=r"kind must be one of .*'objective', 'distance'.*, got 'log'"):
        ObjectiveDisplay.from_estimator(Fitted([5, 3, 2], True), kind="log")
