"""Tests of the study of images: repeated measurements on phantoms, and the recorded results for the brain."""

import numpy as np
import pytest

from benchmarks.common import record
from benchmarks.studies.answers import images


@pytest.fixture(scope="module")
def committed():
    return record.load("answers_images")


@pytest.mark.parametrize("method", ["ECM", "SECM", "SECM, costs of CCM"])
@pytest.mark.parametrize("name", ["two levels, noise .6", "two levels, blurred, noise .1"])
@pytest.mark.slow
def test_phantoms_are_reproduced(committed, name, method):
    recorded = next(entry for entry in committed["design"] if (entry["image"], entry["method"]) == (name, method))
    mask = np.ones(images.PHANTOMS[name][0], dtype=bool)
    results = [
        images.evaluate(images.METHODS[method], image, mask, shares)
        for image, shares in (images.phantom(name, seed) for seed in images.SEEDS)
    ]
    for key in ("error", "ari", "auroc_0.7"):
        if key in recorded:
            assert np.mean([entry[key] for entry in results]) == pytest.approx(recorded[key], abs=0.01)


def test_all_variants_are_on_record(committed):
    assert committed["tried"] == list(images.VARIANTS)
    assert {entry["method"] for entry in committed["design"]} == set(images.METHODS)


def test_neighbors_help_to_separate_two_levels_with_strong_noise(committed):
    results = {
        entry["method"]: entry["ari"] for entry in committed["design"] if entry["image"] == "two levels, noise .6"
    }
    assert results["SECM"] > results["ECM"] + 0.2


def test_the_brain_satisfies_the_targets(committed):
    results = {entry["method"]: entry for entry in committed["brain"]["methods"]}
    assert committed["brain"]["voxels"] > 1_800_000
    result = results["SECM"]
    assert result["error"] < 0.09
    assert result["auroc_0.7"] > 0.85
    assert result["seconds"] < 60
    others = ("k-means", "Gaussian mixture", "ECM", "CCM", "ECM without Ω, smoothed image")
    assert result["auroc_0.7"] > max(results[name]["auroc_0.7"] for name in others)
