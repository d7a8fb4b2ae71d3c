"""Text features: the error names the column and a transformer for it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline

import evlearn
from evlearn.classify import EvidentialKNNClassifier
from evlearn.cluster import ECM, EVCLUS
from evlearn.preprocessing import TableEncoder

COLUMNS = {"size": [1.0, 2.0, 8.0, 9.0], "2nd": ["1", "2", "3", "4"], "side": ["left", "right", "left", "right"]}


@pytest.mark.parametrize("estimator", [ECM(2), EVCLUS(2), EvidentialKNNClassifier()])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_the_column_is_named_and_there_is_advice(estimator, frame):
    words = (
        r"could not .*'side' contains values that are not numbers\. .*TableEncoder\(\) before E.* in a Pipeline"
    )
    with pytest.raises(ValueError, match=words):
        estimator.fit(frame(COLUMNS), [0, 0, 1, 1])


@pytest.mark.parametrize("kind", [list, np.array])
def test_a_feature_of_an_array_has_a_number(kind):
    rows = kind([[1, 2, "a"], [3, 4, "b"]])
    with pytest.raises(ValueError, match=r"'a'\)?\. Feature number 2 contains values that are not numbers"):
        ECM(2).fit(rows)


def test_the_advice_works():
    frame = pd.concat([pd.DataFrame(COLUMNS)] * 10, ignore_index=True)
    model = make_pipeline(TableEncoder(), ECM(2, random_state=0)).fit(frame)
    assert len(evlearn.predict_mass(model, frame.head(3))) == 3
