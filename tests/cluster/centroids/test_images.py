"""Segmentation of images and volumes."""

import numpy as np
import pytest
from sklearn.feature_extraction.image import grid_to_graph
from sklearn.metrics import adjusted_rand_score

from evlearn.cluster import ECM, SECM, FocalFamily, segment_image
from evlearn.cluster.centroids.secm import ImageSegmentation


def phantom(shape, noise, seed=0, levels=(0.0, 1.0, 1.8)):
    """Return a noisy image of nested balls with different levels, and its labels."""
    random = np.random.default_rng(seed)
    places = np.indices(shape) - (np.array(shape) / 2).reshape(-1, *[1] * len(shape))
    distances = np.sqrt((places**2).sum(axis=0)) / min(shape)
    truth = (distances < 0.5).astype(int) + (distances < 0.35)
    return np.array(levels)[truth] + noise * random.standard_normal(shape), truth


@pytest.mark.parametrize("shape", [(40, 50), (16, 20, 24)])
@pytest.mark.slow
def test_labels_and_doubt_have_the_shape_of_the_image(shape):
    image, truth = phantom(shape, 0.3)
    segmentation = segment_image(image, 3, random_state=0)
    assert isinstance(segmentation, ImageSegmentation)
    assert segmentation.labels.shape == segmentation.doubt.shape == segmentation.mask.shape == shape
    assert segmentation.mask.all()
    ecm_labels = (
        ECM(3, focal_sets=FocalFamily(include_omega=False), random_state=0).fit(image.reshape(-1, 1)).labels_
    )
    score = adjusted_rand_score(truth.ravel(), segmentation.labels.ravel())
    assert score > adjusted_rand_score(truth.ravel(), ecm_labels) + 0.15
    assert (segmentation.labels == truth).mean() > 0.85  # dark is 0, bright is 2


def test_the_result_is_that_of_the_estimator_with_a_grid():
    image, _ = phantom((30, 40), 0.2)
    segmentation = segment_image(image, 3, random_state=0)
    model = SECM(3, connectivity=grid_to_graph(30, 40), random_state=0).fit(image.reshape(-1, 1))
    assert np.array_equal(segmentation.partition.masses, model.masses_)
    assert np.array_equal(segmentation.labels.ravel(), model.labels_)
    assert np.array_equal(segmentation.doubt.ravel(), model.credal_partition_.doubt())


def test_pixels_outside_the_mask_are_ignored():
    image, truth = phantom((40, 40), 0.2)
    mask = truth > 0
    image[~mask] = np.nan
    segmentation = segment_image(image, 2, mask=mask, random_state=0)
    assert (segmentation.labels[~mask] == -1).all()
    assert np.isnan(segmentation.doubt[~mask]).all()
    assert not np.isnan(segmentation.doubt[mask]).any()
    assert segmentation.partition.n_samples == mask.sum()
    assert (segmentation.labels[mask] == truth[mask] - 1).mean() > 0.9
    # Numbers instead of booleans, and values outside the mask, change nothing.
    image[~mask] = 1000
    repeated = segment_image(image, 2, mask=mask.astype(np.uint8), random_state=0)
    assert np.array_equal(repeated.labels, segmentation.labels)


def test_channels_may_be_any_axis():
    first, _ = phantom((30, 30), 0.3)
    second, truth = phantom((30, 30), 0.3, seed=1)
    last = segment_image(np.stack([first, second], axis=-1), 3, channel_axis=-1, random_state=0)
    ahead = segment_image(np.stack([first, second]), 3, channel_axis=0, random_state=0)
    assert np.array_equal(last.labels, ahead.labels)
    assert last.model.n_features_in_ == 2
    segmentation = segment_image(first, 3, random_state=0)
    assert adjusted_rand_score(truth.ravel(), last.labels.ravel()) > adjusted_rand_score(
        truth.ravel(), segmentation.labels.ravel()
    )


def test_values_of_pixels_are_arranged_as_an_image():
    image, truth = phantom((20, 20), 0.1)
    mask = truth > 0
    segmentation = segment_image(image, 2, mask=mask, random_state=0)
    doubt = segmentation.to_image(segmentation.partition.doubt(), outside=np.nan)
    np.testing.assert_array_equal(doubt, segmentation.doubt)
    labels = segmentation.to_image(segmentation.model.labels_, outside=-1)
    assert labels.dtype.kind == "i"
    assert np.array_equal(labels, segmentation.labels)
    with pytest.raises(ValueError, match="one value for each pixel"):
        segmentation.to_image([1.0, 2.0])


def test_parameters_of_the_estimator_are_used_and_its_graph_is_not_kept():
    image, _ = phantom((20, 20), 0.3)
    chosen = SECM(neighbor_share=0.25, cost="ccm")
    segmentation = segment_image(image, 3, estimator=chosen, random_state=0)
    assert segmentation.model.neighbor_share_ == 0.25
    assert segmentation.model.cost == "ccm"
    assert segmentation.model.connectivity is None
    assert not hasattr(chosen, "labels_")
    # The model labels an image of another size, too.
    other, truth = phantom((30, 30), 0.3, seed=5)
    with_graph = segmentation.model.predict_mass(
        other.reshape(-1, 1), connectivity=grid_to_graph(30, 30)
    ).to_hard()
    plain = segmentation.model.predict(other.reshape(-1, 1))
    assert (with_graph == truth.ravel()).mean() > (plain == truth.ravel()).mean()


def test_another_graph_may_be_used():
    image, truth = phantom((40, 40), 0.8)
    graph = grid_to_graph(40, 40)
    adjacent, wide = (
        segment_image(image, 3, estimator=estimator, random_state=0)
        for estimator in (None, SECM(connectivity=graph @ graph))
    )
    assert (wide.labels == truth).mean() > (adjacent.labels == truth).mean() + 0.05


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32])
def test_images_of_any_number_type(dtype):
    image, truth = phantom((30, 30), 0.1)
    segmentation = segment_image((20 + 100 * image).clip(0, 255).astype(dtype), 3, random_state=0)
    assert (segmentation.labels == truth).mean() > 0.85


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"image": np.zeros(5)}, "2 or 3 axes"),
        ({"image": np.zeros((2, 3, 4, 5))}, "channel_axis"),
        ({"image": np.zeros((4, 4)), "channel_axis": 7}, "is not an axis"),
        ({"image": np.zeros((4, 4)), "mask": np.ones((3, 3))}, r"mask must be a boolean array.*\(4, 4\)"),
        ({"image": np.zeros((4, 4)), "mask": np.full((4, 4), 0.5)}, "mask must be a boolean array"),
        ({"image": np.zeros((4, 4)), "mask": np.zeros((4, 4))}, "for at least one pixel"),
        ({"image": np.full((4, 4), np.nan)}, "NaN"),
    ],
)
def test_invalid_arguments_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        segment_image(**arguments)
