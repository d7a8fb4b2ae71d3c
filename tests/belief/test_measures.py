from functools import partial

import numpy as np
import pytest
from hypothesis import given

from evlearn import belief as bf
from evlearn.belief import FocalSets
from strategies import mass_functions

DISTANCES = [partial(bf.mass_distance, metric=metric) for metric in ("jousselme", "belief")]


@pytest.mark.parametrize("distance", DISTANCES)
@given(problem=mass_functions(3))
def test_distances_are_metrics(distance, problem):
    focal_sets, first, second, third = problem
    distances = distance(first, second, focal_sets)
    assert (distances >= 0).all()
    np.testing.assert_allclose(distances, distance(second, first, focal_sets), atol=1e-12)
    np.testing.assert_array_equal(distance(first, first, focal_sets), 0)
    is_different = np.abs(first - second).max(axis=1) > 1e-6
    assert (distances[is_different] > 1e-9).all()
    assert (distance(first, third, focal_sets) <= distances + distance(second, third, focal_sets) + 1e-12).all()


@given(mass_functions(2))
def test_distances_are_at_most_one(problem):
    focal_sets, first, second = problem
    assert (bf.mass_distance(first, second, focal_sets, metric="jousselme") <= 1 + 1e-12).all()
    assert (bf.mass_distance(first, second, focal_sets, normalize=True, metric="belief") <= 1 + 1e-12).all()


@given(mass_functions(2))
@pytest.mark.slow
def test_distances_do_not_depend_on_unused_sets(problem):
    focal_sets, first, second = problem
    full = FocalSets.full(focal_sets.frame_size)
    wide = [bf.expand_masses(m, focal_sets, full) for m in (first, second)]
    for distance in DISTANCES:
        np.testing.assert_allclose(distance(first, second, focal_sets), distance(*wide, full), atol=1e-12)


def test_distances_on_the_pairwise_frame_agree_with_r(reference):
    arrays = reference("pair_distances").arrays
    pairwise = FocalSets.full(["s", "not s"])
    for distance, expected in ((DISTANCES[0], "jousselme"), (DISTANCES[1], "bel_dist")):
        np.testing.assert_allclose(
            distance(arrays["m1"], arrays["m2"], pairwise), arrays[expected], rtol=0, atol=1e-12
        )


@given(mass_functions())
def test_nonspecificity_lies_between_zero_and_the_bits_of_the_frame(problem):
    focal_sets, masses = problem
    bits = np.log2(focal_sets.frame_size)
    values = bf.nonspecificity(masses, focal_sets)
    assert ((values >= 0) & (values <= bits + 1e-12)).all()
    by_hand = [
        sum(m * np.log2(len(subset) or focal_sets.frame_size) for m, subset in zip(row, focal_sets, strict=True))
        for row in masses
    ]
    np.testing.assert_allclose(values, by_hand, atol=1e-12)


def test_belief_distance_on_large_frames_is_an_error():
    focal_sets = FocalSets.simple(17)
    with pytest.raises(ValueError, match=r"2\^17 subsets.*jousselme"):
        bf.mass_distance(np.eye(19)[0], np.eye(19)[1], focal_sets, metric="belief")
    assert bf.mass_distance(np.eye(19)[0], np.eye(19)[1], focal_sets, metric="jousselme") == 1
