"""Images and volumes: from pixels to clusters and back."""

import numpy as np
import pytest
from sklearn.feature_extraction.image import grid_to_graph
from sklearn.metrics import adjusted_rand_score

from evlearn.cluster import ECM, SECM, ImageSegmentation, segment_image


def phantom(shape, noise, seed=0, levels=(0.0, 1.0, 1.8)):
    """Balls within each other, with a level for each, and noise."""
    random = np.random.default_rng(seed)
    places = np.indices(shape) - (np.array(shape) / 2).reshape(-1, *[1] * len(shape))
    apart = np.sqrt((places**2).sum(axis=0)) / min(shape)
    truth = (apart < 0.5).astype(int) + (apart < 0.35)
    return np.array(levels)[truth] + noise * random.standard_normal(shape), truth


@pytest.mark.parametrize("shape", [(40, 50), (16, 20, 24)])
def test_labels_and_doubt_are_images(shape):
    image, truth = phantom(shape, 0.3)
    found = segment_image(image, 3, random_state=0)
    assert isinstance(found, ImageSegmentation)
    assert found.labels.shape == found.doubt.shape == found.mask.shape == shape
    assert found.mask.all()
    alone = ECM(3, include_omega=False, random_state=0).fit(image.reshape(-1, 1)).labels_
    ours = adjusted_rand_score(truth.ravel(), found.labels.ravel())
    assert ours > adjusted_rand_score(truth.ravel(), alone) + 0.15
    assert (found.labels == truth).mean() > 0.85  # dark is 0, bright is 2


def test_it_is_the_estimator_on_the_grid():
    image, _ = phantom((30, 40), 0.2)
    found = segment_image(image, 3, random_state=0)
    model = SECM(3, connectivity=grid_to_graph(30, 40), random_state=0).fit(image.reshape(-1, 1))
    assert np.array_equal(found.partition.masses, model.masses_)
    assert np.array_equal(found.labels.ravel(), model.labels_)
    assert np.array_equal(found.doubt.ravel(), model.credal_partition_.doubt())


def test_a_mask_leaves_out_what_is_no_part():
    image, truth = phantom((40, 40), 0.2)
    mask = truth > 0
    image[~mask] = np.nan
    found = segment_image(image, 2, mask=mask, random_state=0)
    assert (found.labels[~mask] == -1).all()
    assert np.isnan(found.doubt[~mask]).all()
    assert not np.isnan(found.doubt[mask]).any()
    assert found.partition.n_samples == mask.sum()
    assert (found.labels[mask] == truth[mask] - 1).mean() > 0.9
    # Numbers, and what is outside, change nothing.
    image[~mask] = 1000
    again = segment_image(image, 2, mask=mask.astype(np.uint8), random_state=0)
    assert np.array_equal(again.labels, found.labels)


def test_channels_may_be_anywhere():
    first, _ = phantom((30, 30), 0.3)
    second, truth = phantom((30, 30), 0.3, seed=1)
    last = segment_image(np.stack([first, second], axis=-1), 3, channel_axis=-1, random_state=0)
    ahead = segment_image(np.stack([first, second]), 3, channel_axis=0, random_state=0)
    assert np.array_equal(last.labels, ahead.labels)
    assert last.model.n_features_in_ == 2
    one = segment_image(first, 3, random_state=0)
    assert adjusted_rand_score(truth.ravel(), last.labels.ravel()) > adjusted_rand_score(
        truth.ravel(), one.labels.ravel()
    )


def test_values_of_pixels_become_an_image():
    image, truth = phantom((20, 20), 0.1)
    mask = truth > 0
    found = segment_image(image, 2, mask=mask, random_state=0)
    doubt = found.to_image(found.partition.doubt(), outside=np.nan)
    np.testing.assert_array_equal(doubt, found.doubt)
    labels = found.to_image(found.model.labels_, outside=-1)
    assert labels.dtype.kind == "i"
    assert np.array_equal(labels, found.labels)
    with pytest.raises(ValueError, match="one for each of"):
        found.to_image([1.0, 2.0])


def test_options_reach_the_estimator_and_its_graph_is_forgotten():
    image, _ = phantom((20, 20), 0.3)
    chosen = SECM(neighbor_share=0.25, cost="ccm")
    found = segment_image(image, 3, estimator=chosen, random_state=0)
    assert found.model.neighbor_share_ == 0.25
    assert found.model.cost == "ccm"
    assert found.model.connectivity is None
    assert not hasattr(chosen, "labels_")
    # A model of one image labels another one, of another size.
    other, truth = phantom((30, 30), 0.3, seed=5)
    with_graph = found.model.predict_mass(other.reshape(-1, 1), connectivity=grid_to_graph(30, 30)).to_hard()
    plain = found.model.predict(other.reshape(-1, 1))
    assert (with_graph == truth.ravel()).mean() > (plain == truth.ravel()).mean()


def test_another_graph_may_be_given():
    image, truth = phantom((40, 40), 0.8)
    graph = grid_to_graph(40, 40)
    near, far = (
        segment_image(image, 3, estimator=one, random_state=0) for one in (None, SECM(connectivity=graph @ graph))
    )
    assert (far.labels == truth).mean() > (near.labels == truth).mean() + 0.05


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32])
def test_images_of_any_kind_of_number(dtype):
    image, truth = phantom((30, 30), 0.1)
    found = segment_image((20 + 100 * image).clip(0, 255).astype(dtype), 3, random_state=0)
    assert (found.labels == truth).mean() > 0.85


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"image": np.zeros(5)}, "2 or 3 axes"),
        ({"image": np.zeros((2, 3, 4, 5))}, "channel_axis"),
        ({"image": np.zeros((4, 4)), "channel_axis": 7}, "no axis"),
        ({"image": np.zeros((4, 4)), "mask": np.ones((3, 3))}, r"mask must be True or False.*\(4, 4\)"),
        ({"image": np.zeros((4, 4)), "mask": np.full((4, 4), 0.5)}, "mask must be True or False"),
        ({"image": np.zeros((4, 4)), "mask": np.zeros((4, 4))}, "for some pixels"),
        ({"image": np.full((4, 4), np.nan)}, "NaN"),
    ],
)
def test_what_is_no_image_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        segment_image(**arguments)
