"""
Segmentation of a noisy image
=============================

The image has 2 levels, coins and background, and much noise. `~evlearn.cluster.ECM` clusters single pixels,
whereas `~evlearn.cluster.segment_image` averages distances over neighboring pixels.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import coins

from evlearn.cluster import ECM, segment_image

image = coins()[160:290, 20:280] / 255
noisy = image + np.random.default_rng(0).normal(scale=0.15, size=image.shape)
model = ECM(2, random_state=0).fit(noisy.reshape(-1, 1))
segmentation = segment_image(noisy, 2, random_state=0)
print(
    f"{segmentation.model.neighbor_share_:.0%} is the weight of the neighbors in distances"
)
print(segmentation.partition.summary())

# %%
# Without neighbors, ECM is in doubt about all pixels that are gray by chance. With neighbors, the doubt is limited
# to edges and dark regions.

figure, panels = plt.subplots(2, 3, figsize=(10, 3.8), layout="constrained")
bright = model.cluster_centers_.argmax()
layers = {
    "image": (image, {"cmap": "gray"}),
    "ECM, labels": ((model.labels_ == bright).reshape(image.shape), {"cmap": "gray"}),
    "ECM, doubt": (
        model.credal_partition_.doubt().reshape(image.shape),
        {"cmap": "magma", "vmin": 0, "vmax": 1},
    ),
    "noisy image": (noisy, {"cmap": "gray"}),
    "segment_image, labels": (segmentation.labels, {"cmap": "gray"}),
    "segment_image, doubt": (
        segmentation.doubt,
        {"cmap": "magma", "vmin": 0, "vmax": 1},
    ),
}
for panel, (title, (layer, options)) in zip(panels.flat, layers.items(), strict=True):
    panel.imshow(layer, interpolation="nearest", **options)
    panel.set_title(title, fontsize=10)
    panel.set_axis_off()
plt.show()
