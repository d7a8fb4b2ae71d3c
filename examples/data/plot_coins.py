"""
Coins: pixels that ask their neighbours
=======================================

Two levels, coins and what they lie on, with a lot of noise. `~evlearn.cluster.ECM` looks at pixels one by one;
`~evlearn.cluster.segment_image` averages their distances over neighbours.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import coins

from evlearn.cluster import ECM, segment_image

image = coins()[160:290, 20:280] / 255
noisy = image + np.random.default_rng(0).normal(scale=0.15, size=image.shape)
alone = ECM(2, random_state=0).fit(noisy.reshape(-1, 1))
found = segment_image(noisy, 2, random_state=0)
print(f"{found.model.neighbor_share_:.0%} of a distance are those of the neighbours")
print(found.partition.summary())

# %%
# ECM is in doubt wherever a pixel is grey by chance. With neighbours, doubt is at rims and in dark parts.

figure, panels = plt.subplots(2, 3, figsize=(10, 3.8), layout="constrained")
bright = alone.cluster_centers_.argmax()
layers = {
    "the image": (image, {"cmap": "gray"}),
    "ECM, labels": ((alone.labels_ == bright).reshape(image.shape), {"cmap": "gray"}),
    "ECM, doubt": (
        alone.credal_partition_.doubt().reshape(image.shape),
        {"cmap": "magma", "vmin": 0, "vmax": 1},
    ),
    "with noise": (noisy, {"cmap": "gray"}),
    "with neighbours, labels": (found.labels, {"cmap": "gray"}),
    "with neighbours, doubt": (found.doubt, {"cmap": "magma", "vmin": 0, "vmax": 1}),
}
for panel, (title, (layer, options)) in zip(panels.flat, layers.items(), strict=True):
    panel.imshow(layer, interpolation="nearest", **options)
    panel.set_title(title, fontsize=10)
    panel.set_axis_off()
plt.show()
