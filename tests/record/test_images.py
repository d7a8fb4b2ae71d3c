"""The study of images: what was measured on phantoms is found again, and the brain is what was promised."""

import numpy as np
import pytest

from benchmarks.common import record
from benchmarks.studies.answers import images


@pytest.fixture(scope="module")
def committed():
    return record.read("answers_images")


@pytest.mark.parametrize("method", ["ECM", "SECM", "SECM, costs of CCM"])
@pytest.mark.parametrize("name", ["two levels, noise .6", "two levels, blurred, noise .1"])
def test_phantoms_are_found_again(committed, name, method):
    known = next(one for one in committed["design"] if (one["image"], one["method"]) == (name, method))
    everywhere = np.ones(images.PHANTOMS[name][0], dtype=bool)
    found = [
        images.judged(images.METHODS[method], image, everywhere, shares)
        for image, shares in (images.phantom(name, seed) for seed in images.SEEDS)
    ]
    for key in ("error", "ari", "auroc_0.7"):
        if key in known:
            assert np.mean([one[key] for one in found]) == pytest.approx(known[key], abs=0.01)


def test_all_variants_that_were_tried_are_told(committed):
    assert committed["tried"] == list(images.TRIED)
    assert {one["method"] for one in committed["design"]} == set(images.METHODS)


def test_neighbours_tell_two_levels_apart_in_heavy_noise(committed):
    found = {one["method"]: one["ari"] for one in committed["design"] if one["image"] == "two levels, noise .6"}
    assert found["SECM"] > found["ECM"] + 0.2


def test_the_brain_is_what_was_promised(committed):
    found = {one["method"]: one for one in committed["brain"]["methods"]}
    assert committed["brain"]["voxels"] > 1_800_000
    ours = found["SECM"]
    assert ours["error"] < 0.09
    assert ours["auroc_0.7"] > 0.85
    assert ours["seconds"] < 60
    others = ("k-means", "Gaussian mixture", "ECM", "CCM", "ECM without Ω, smoothed image")
    assert ours["auroc_0.7"] > max(found[name]["auroc_0.7"] for name in others)
