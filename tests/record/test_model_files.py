"""Model files of evlearn and skops: the computations of the study, and its recorded figures."""

import numpy as np
import pytest

from benchmarks.common import record
from benchmarks.studies.scale import model_files
from evlearn.cluster import CCM, EVCLUS

X = np.random.default_rng(0).normal(size=(60, 2)) + 6 * np.arange(60)[:, None] % 3
MODELS = record.load(model_files.NAME)["models"]


def test_a_file_of_evlearn_is_measured(tmp_path):
    figures = model_files.of_evlearn(CCM(3, random_state=0).fit(X), X, tmp_path)
    assert figures["equal"]
    assert figures["bytes"] == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_a_file_of_skops_is_measured_or_its_error_is_reported(tmp_path):
    pytest.importorskip("skops")
    assert model_files.of_skops(EVCLUS(3, random_state=0).fit(X), X, tmp_path)["equal"]
    assert "failed" in model_files.of_skops(CCM(3, random_state=0).fit(X), X, tmp_path)


def test_the_record_has_all_models_and_all_of_them_are_read_without_a_list_of_types():
    assert MODELS.keys() == model_files.MODELS.keys()
    for figures in MODELS.values():
        assert figures["evlearn"]["equal"]
        assert figures["evlearn"]["types"] == 0


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.xfail(strict=True, reason="values are checked before use"))
        for name, figures in MODELS.items()
        if "failed" not in figures["skops"]
    ],
)
def test_files_are_loaded_as_fast_as_those_of_skops(name):
    assert MODELS[name]["evlearn"]["load"] <= MODELS[name]["skops"]["load"]
