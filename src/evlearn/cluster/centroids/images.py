"""Segmentation of images and volumes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.feature_extraction.image import grid_to_graph

from evlearn.cluster.centroids.secm import SECM
from evlearn.partition import CredalPartition
from evlearn.utils.typing import BoolArray, FloatArray, IntArray, RandomSeed


@dataclass(frozen=True)
class ImageSegmentation:
    """Result of `segment_image`.

    Attributes
    ----------
    labels : ndarray of int, of the shape of the image
        Most plausible cluster of each pixel, from dark to bright; -1 outside the mask.
    doubt : ndarray of float, of the shape of the image
        One minus the belief in that cluster, see `evlearn.CredalPartition.doubt`; NaN outside the mask.
    mask : ndarray of bool, of the shape of the image
        Whether a pixel is used.
    model : SECM
        Fitted estimator. Its samples are the pixels within the mask, row by row.
    """

    labels: IntArray
    doubt: FloatArray
    mask: BoolArray
    model: SECM

    @property
    def partition(self) -> CredalPartition:
        """Mass functions of the pixels within the mask, row by row."""
        return self.model.credal_partition_

    def to_image(self, values: ArrayLike, *, outside: float = 0) -> FloatArray:
        """Arrange values of the pixels within the mask, such as a column of the masses, as an image.

        Parameters
        ----------
        values : array-like of shape (n_pixels,)
            Value of each pixel within the mask, row by row.
        outside : float, default=0
            Value outside the mask.

        Returns
        -------
        ndarray, of the shape of the image
            Image.
        """
        pixel_values = np.asarray(values)
        n_pixels = int(self.mask.sum())
        if pixel_values.shape != (n_pixels,):
            raise ValueError(
                f"values must have shape ({n_pixels},), one value for each pixel within the mask, "
                f"got {pixel_values.shape}."
            )
        image = np.full(self.mask.shape, outside, dtype=np.result_type(pixel_values, type(outside)))
        image[self.mask] = pixel_values
        return image


def segment_image(
    image: ArrayLike,
    n_clusters: int = 3,
    *,
    mask: ArrayLike | None = None,
    channel_axis: int | None = None,
    estimator: SECM | None = None,
    random_state: RandomSeed = None,
) -> ImageSegmentation:
    """Segment an image or a volume into clusters, with the doubt of each pixel or voxel.

    Pixels that share a side, or voxels that share a face, are neighbors, and distances are averaged over neighbors
    with `SECM`. A volume with 2 million voxels takes some seconds.

    Parameters
    ----------
    image : array-like of shape (height, width) or (depth, height, width), and one more axis for channels
        Image or volume. Values must be finite within the mask.
    n_clusters : int, default=3
        Number of clusters.
    mask : array-like of bool, of the shape of the image without channels, or None, default=None
        Pixels to use; None uses all.
    channel_axis : int or None, default=None
        Axis of the channels, such as -1 for colors in the last axis; None if there is a single value for each
        pixel.
    estimator : SECM or None, default=None
        Estimator with other parameters; its `n_clusters` and `random_state` are not used. Its `connectivity`, if
        any, replaces the grid of pixels. None uses the default parameters.
    random_state : int, RandomState instance or None, default=None
        Seed, for reproducible results.

    Returns
    -------
    ImageSegmentation
        Labels and doubt as images, and the fitted estimator with the masses.

    See Also
    --------
    SECM : The estimator, for any graph of neighbors.

    Examples
    --------
    >>> import numpy as np
    >>> from evlearn.cluster import segment_image
    >>> image = np.zeros((20, 20))
    >>> image[5:15, 5:15] = 1
    >>> image += np.random.default_rng(0).normal(scale=0.3, size=image.shape)
    >>> segmentation = segment_image(image, 2, random_state=0)
    >>> int(segmentation.labels[10, 10]), int(segmentation.labels[0, 0])
    (1, 0)
    >>> segmentation.doubt.shape
    (20, 20)
    """
    pixels = np.asarray(image)
    if channel_axis is None:
        pixels = pixels[..., None]
    else:
        if not -pixels.ndim <= channel_axis < pixels.ndim:
            raise ValueError(f"channel_axis={channel_axis} is not an axis of an image of shape {pixels.shape}.")
        pixels = np.moveaxis(pixels, channel_axis, -1)
    shape = pixels.shape[:-1]
    if len(shape) not in (2, 3):
        raise ValueError(
            f"image must have 2 or 3 axes in addition to that of channels, got {len(shape)} in the shape "
            f"{np.shape(image)}; set channel_axis to the axis of the channels."
        )
    in_mask = np.ones(shape, dtype=bool) if mask is None else _check_mask(mask, shape)
    model: SECM = clone(SECM() if estimator is None else estimator)
    model.set_params(n_clusters=n_clusters, random_state=random_state)
    if model.connectivity is None:
        model.connectivity = grid_to_graph(*shape, mask=None if mask is None else in_mask, dtype=np.float32)
    model.fit(pixels[in_mask])
    model.connectivity = None  # it depends on this image
    labels, doubt = np.full(shape, -1), np.full(shape, np.nan)
    labels[in_mask], doubt[in_mask] = model.labels_, model.credal_partition_.doubt()
    return ImageSegmentation(labels, doubt, in_mask, model)


def _check_mask(mask: Any, shape: tuple[int, ...]) -> BoolArray:
    values = np.asarray(mask)
    if values.shape != shape or not np.isin(values, (0, 1)).all():
        raise ValueError(f"mask must be a boolean array of shape {shape}, got {_describe_array(values)}.")
    if not values.any():
        raise ValueError("mask must be True for at least one pixel.")
    return values.astype(bool)


def _describe_array(array: Any) -> str:
    return f"an array of {array.dtype} and of shape {array.shape}"
