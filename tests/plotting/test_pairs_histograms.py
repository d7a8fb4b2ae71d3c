import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn.cluster import ECM, BootClus
from evlearn.datasets import make_gaussian_mixture
from evlearn.plotting import PairsDisplay

X, _, _ = make_gaussian_mixture(2, 60, random_state=0)
PAIRS = [(0, 1), (3, 40), (5, 5)]


@pytest.fixture(scope="module")
def model():
    return BootClus(3, covariance_models="EEE", n_bootstrap=60, random_state=0).fit(X)


def test_panels_are_histograms_over_resamples(model):
    display = PairsDisplay.from_estimator(model, X, pairs=PAIRS)
    display.figure_.canvas.draw()
    probabilities = model.pair_probabilities(X, PAIRS)
    np.testing.assert_array_equal([panel.probabilities for panel in display.panels], probabilities)
    for number, bars in enumerate(display.bars_):
        heights = [bar.get_height() for bar in bars]
        assert sum(heights) == model.n_bootstrap_
        middles = [bar.get_x() + bar.get_width() / 2 for bar in bars]
        assert np.average(middles, weights=heights) == pytest.approx(probabilities[number].mean(), abs=0.03)
    assert [panel.get_title() for panel in display.axes_] == ["0 and 1", "3 and 40", "5 and 5"]


def test_lines_are_the_intervals_and_the_degrees_of_the_model(model):
    intervals = model.intervals_
    number = int(np.argmax(intervals.upper - intervals.lower))
    pair = intervals.pairs[number]
    display = PairsDisplay.from_estimator(model, X, pairs=[pair])
    positions = [
        [line.get_xdata()[0] for line in lines[0]] for lines in (display.bound_lines_, display.degree_lines_)
    ]
    np.testing.assert_allclose(positions[0], [intervals.lower[number], intervals.upper[number]], atol=1e-5)
    np.testing.assert_allclose(positions[1], [intervals.belief[number], intervals.plausibility[number]], atol=1e-9)
    assert [text.get_text() for text in display.legend_.get_texts()] == [
        "confidence interval",
        "belief and plausibility",
    ]


@pytest.mark.slow
def test_names_pipelines_and_given_axes(model):
    frame = pd.DataFrame(X, columns=["a", "b"], index=[f"row {k}" for k in range(60)])
    pipeline = make_pipeline(StandardScaler(), BootClus(2, n_bootstrap=20, random_state=0)).fit(frame)
    figure, axes = plt.subplots(1, 2)
    display = PairsDisplay.from_estimator(pipeline, frame, pairs=[(0, 1), (2, 3)], ax=axes)
    assert display.figure_ is figure
    assert [panel.get_title() for panel in axes] == ["row 0 and row 1", "row 2 and row 3"]
    with pytest.raises(ValueError, match="estimator must be a BootClus, which has bootstrap resamples, got ECM"):
        PairsDisplay.from_estimator(ECM(2, random_state=0).fit(X), X, pairs=PAIRS)
    with pytest.raises(ValueError, match="ax has 2 axes but there are 3 panels"):
        PairsDisplay.from_estimator(model, X, pairs=PAIRS, ax=axes)
    with pytest.raises(ValueError, match="pairs requires X"):
        PairsDisplay.from_estimator(model, pairs=PAIRS)
