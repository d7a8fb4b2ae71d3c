"""Tests of displays of pipelines."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn.cluster import ECM, EVCLUS
from evlearn.datasets import make_fourclass
from evlearn.plotting import (
    CredalPartitionDisplay,
    DoubtDisplay,
    MassContourDisplay,
    MassesDisplay,
    ObjectiveDisplay,
    PairsDisplay,
    RelationalDisplay,
)

X = make_fourclass(80, random_state=0)[0] * [1, 100]


@pytest.fixture(scope="module")
def pipeline():
    return make_pipeline(StandardScaler(), ECM(4, random_state=0)).fit(X)


@pytest.mark.parametrize("display", [MassesDisplay, DoubtDisplay, RelationalDisplay])
def test_the_partition_of_a_pipeline_is_drawn(display, pipeline):
    assert display.from_result(pipeline).figure_ is not None
    new = display.from_result(pipeline, X[:30])
    assert new.figure_ is not None


def test_samples_of_a_pipeline_are_drawn_in_the_units_of_the_user(pipeline):
    display = CredalPartitionDisplay.from_result(pipeline, X)
    np.testing.assert_array_equal(display.points, X)
    np.testing.assert_array_equal(display.clusters, pipeline[-1].labels_)
    new = CredalPartitionDisplay.from_result(pipeline, X[:30])
    np.testing.assert_array_equal(new.clusters, pipeline.predict(X[:30]))


@pytest.mark.parametrize("frame", [False, True])
def test_contours_of_a_pipeline_are_those_of_its_predictions(frame):
    data = pd.DataFrame(X, columns=["a", "b"]) if frame else X
    pipeline = make_pipeline(StandardScaler(), ECM(4, random_state=0)).fit(data)
    display = MassContourDisplay.from_estimator(pipeline, data, grid_resolution=12)
    assert display.ax_.get_xlim()[1] < 50 < display.ax_.get_ylim()[1]


def test_the_objective_of_a_pipeline_is_drawn(pipeline):
    display = ObjectiveDisplay.from_estimator(pipeline)
    assert display.name == "ECM"
    assert len(display.history) == pipeline[-1].n_iter_ + 1
    relational = make_pipeline(StandardScaler(), EVCLUS(4, random_state=0)).fit(X)
    assert len(PairsDisplay.from_estimator(relational).axes_) == 1


def test_a_pipeline_without_masses_is_refused():
    with pytest.raises(ValueError, match="must have predict_mass"):
        MassContourDisplay.from_estimator(make_pipeline(StandardScaler()).fit(X), X)
