"""The smoke tier: a fit, a prediction, a file and a mathematical law for each public estimator."""

import numpy as np
import pytest

import evlearn
from estimator_cases import CASES, N_NEW, outputs
from evlearn.belief import FocalSets, contour, expand_masses, pignistic

pytestmark = pytest.mark.smoke


def assert_equal(actual, expected):
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        if name == "focal sets":
            assert actual[name] == value
        else:
            np.testing.assert_array_equal(actual[name], value, err_msg=name)


@pytest.mark.parametrize("name", CASES)
class TestEstimator:
    def test_a_fit_has_the_documented_attributes(self, name):
        model = CASES[name].fitted
        assert model.n_features_in_ > 0
        if hasattr(model, "credal_partition_"):
            assert model.credal_partition_ == evlearn.CredalPartition(model.masses_, model.focal_sets_)

    def test_a_prediction_has_a_row_for_each_sample(self, name):
        expected = CASES[name].expected
        assert expected
        for key, value in expected.items():
            assert key == "focal sets" or len(value) == N_NEW, key

    def test_a_file_keeps_the_predictions(self, name, tmp_path):
        case = CASES[name]
        if "model file" in case.exempt:
            with pytest.raises(TypeError, match="joblib"):
                evlearn.save_model(case.fitted, tmp_path / "model.json")
            return
        evlearn.save_model(case.fitted, tmp_path / "model.json")
        assert_equal(outputs(evlearn.load_model(tmp_path / "model.json"), case.new), case.expected)

    def test_a_law_holds(self, name):
        """Pignistic probabilities are between belief and plausibility; rows are transformed independently."""
        case = CASES[name]
        if not hasattr(case.fitted, "predict"):
            half = case.fitted.transform(case.new[: N_NEW // 2])
            np.testing.assert_allclose(half, case.expected["transform"][: N_NEW // 2], rtol=0, atol=1e-9)
            return
        partition = evlearn.predict_mass(case.fitted, case.new)
        masses, sets = partition.masses, partition.focal_sets
        np.testing.assert_allclose(masses.sum(axis=1), 1, rtol=0, atol=1e-6)
        on_all_sets = expand_masses(masses, sets, FocalSets.full(partition.n_clusters))
        singletons = on_all_sets[:, FocalSets.full(partition.n_clusters).singleton_positions]
        supported = 1 - on_all_sets[:, :1]
        probabilities = supported * pignistic(masses, sets)
        assert np.all(singletons <= probabilities + 1e-6)
        assert np.all(probabilities <= contour(masses, sets) + 1e-6)
