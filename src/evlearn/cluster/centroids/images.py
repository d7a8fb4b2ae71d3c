"""Images and volumes, from pixels to clusters and back."""

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
    """What `segment_image` has found.

    Attributes
    ----------
    labels : ndarray of int, of the shape of the image
        The most plausible cluster of each pixel, from dark to bright; -1 outside the mask.
    doubt : ndarray of float, of the shape of the image
        One minus the belief in that cluster, see `evlearn.CredalPartition.doubt`; NaN outside the mask.
    mask : ndarray of bool, of the shape of the image
        Which pixels are part of it.
    model : SECM
        The fitted estimator; its samples are the pixels within the mask, row by row.
    """

    labels: IntArray
    doubt: FloatArray
    mask: BoolArray
    model: SECM

    @property
    def partition(self) -> CredalPartition:
        """The mass functions of the pixels within the mask, row by row."""
        return self.model.credal_partition_

    def to_image(self, values: ArrayLike, *, outside: float = 0) -> FloatArray:
        """Values of the pixels within the mask as an image, such as a column of the masses.

        Parameters
        ----------
        values : array-like of shape (n_pixels,)
            A value for each pixel within the mask, row by row.
        outside : float, default=0
            What stands outside the mask.

        Returns
        -------
        ndarray, of the shape of the image
            The image.
        """
        given = np.asarray(values)
        n_pixels = int(self.mask.sum())
        if given.shape != (n_pixels,):
            raise ValueError(f"values must be one for each of {n_pixels} pixels, got shape {given.shape}.")
        image = np.full(self.mask.shape, outside, dtype=np.result_type(given, type(outside)))
        image[self.mask] = given
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
    """Clusters of the pixels of an image, or of the voxels of a volume, and where these are in doubt.

    Pixels that share a side, or voxels that share a face, are neighbours, and distances are averaged over them:
    see `SECM`, which does the work. Two million voxels take some seconds.

    Parameters
    ----------
    image : array-like of shape (height, width) or (depth, height, width), and one more axis for channels
        The image or volume. Values should be finite within the mask.
    n_clusters : int, default=3
        The number of clusters.
    mask : array-like of bool, of the shape of the image without channels, or None, default=None
        Which pixels to use; None means all.
    channel_axis : int or None, default=None
        The axis of the channels, such as -1 for colours that come last; None if there is one value for each pixel.
    estimator : SECM or None, default=None
        Other choices: an estimator whose parameters are taken, but for the two that are given here. If it has a
        `connectivity`, that one counts. None means the defaults.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated.

    Returns
    -------
    ImageSegmentation
        Labels and doubt as images, and the fitted estimator with the masses.

    See Also
    --------
    SECM : The estimator, for any graph of neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from evlearn.cluster import segment_image
    >>> image = np.zeros((20, 20))
    >>> image[5:15, 5:15] = 1
    >>> image += np.random.default_rng(0).normal(scale=0.3, size=image.shape)
    >>> found = segment_image(image, 2, random_state=0)
    >>> int(found.labels[10, 10]), int(found.labels[0, 0])
    (1, 0)
    >>> found.doubt.shape
    (20, 20)
    """
    pixels = np.asarray(image)
    if channel_axis is None:
        pixels = pixels[..., None]
    else:
        if not -pixels.ndim <= channel_axis < pixels.ndim:
            raise ValueError(f"channel_axis={channel_axis} is no axis of an image of shape {pixels.shape}.")
        pixels = np.moveaxis(pixels, channel_axis, -1)
    shape = pixels.shape[:-1]
    if len(shape) not in (2, 3):
        raise ValueError(
            f"image must have 2 or 3 axes, besides one for channels, got {len(shape)} in the shape "
            f"{np.shape(image)}; name the axis of the channels with channel_axis."
        )
    inside = np.ones(shape, dtype=bool) if mask is None else _checked(mask, shape)
    model: SECM = clone(SECM() if estimator is None else estimator)
    model.set_params(n_clusters=n_clusters, random_state=random_state)
    if model.connectivity is None:
        model.connectivity = grid_to_graph(*shape, mask=None if mask is None else inside, dtype=np.float32)
    model.fit(pixels[inside])
    model.connectivity = None  # of this image, and not of the next
    labels, doubt = np.full(shape, -1), np.full(shape, np.nan)
    labels[inside], doubt[inside] = model.labels_, model.credal_partition_.doubt()
    return ImageSegmentation(labels, doubt, inside, model)


def _checked(mask: Any, shape: tuple[int, ...]) -> BoolArray:
    inside = np.asarray(mask)
    if inside.shape != shape or not np.isin(inside, (0, 1)).all():
        raise ValueError(f"mask must be True or False for each pixel, of shape {shape}, got {_kind(inside)}.")
    if not inside.any():
        raise ValueError("mask must be True for some pixels.")
    return inside.astype(bool)


def _kind(array: Any) -> str:
    return f"an array of {array.dtype} and of shape {array.shape}"


__all__ = ["ImageSegmentation", "segment_image"]
