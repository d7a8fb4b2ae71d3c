"""
A brain: tissues, and voxels that hold two of them
==================================================

The template MNI152 is the mean of 152 brains, 1.9 million voxels of one millimetre. A voxel at the border of two
tissues holds some of both. `~evlearn.cluster.segment_image` finds the tissues from the brightness of voxels and of
their neighbours, and says where it is in doubt. The maps of grey and white matter that come with the template are
used to judge the answer, not to find it.

The template comes with the package nilearn (copyright 1993-2009 Louis Collins, McConnell Brain Imaging Centre,
Montreal Neurological Institute, McGill University).
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from nilearn.datasets import (
    load_mni152_brain_mask,
    load_mni152_gm_template,
    load_mni152_template,
    load_mni152_wm_template,
)
from sklearn.metrics import roc_auc_score

from evlearn.cluster import segment_image

image, grey, white = (
    np.asarray(load(resolution=1).dataobj, dtype=np.float32)
    for load in (load_mni152_template, load_mni152_gm_template, load_mni152_wm_template)
)
mask = np.asarray(load_mni152_brain_mask(resolution=1).dataobj) > 0
found = segment_image(image, 3, mask=mask, random_state=0)
print(f"{mask.sum():,} voxels; levels {found.model.cluster_centers_.ravel().round(2)}")

# %%
# The three clusters are fluid, grey and white matter. How many voxels have another tissue in the maps, and does
# doubt tell the voxels of which no tissue has 70 % from the others?

shares = np.stack([1 - grey - white, grey, white], axis=-1)[mask]
wrong = (found.labels[mask] != shares.argmax(axis=1)).mean()
mixed = shares.max(axis=1) < 0.7
print(f"{wrong:.1%} of the voxels have another tissue in the maps")
print(
    f"{mixed.mean():.0%} of the voxels are mixed; AUROC of doubt "
    f"{roc_auc_score(mixed, found.doubt[mask]):.2f}"
)

# %%
# A horizontal slice, and one from ear to ear. Doubt follows the borders, and fills what is mixed in depth, such as
# the thalamus in the middle.

slices = {"horizontal": np.s_[:, :, 80], "from ear to ear": np.s_[:, 115, :]}
figure, panels = plt.subplots(2, 4, figsize=(11, 6), layout="constrained")
tissues = ListedColormap(["#56B4E9", "#999999", "#F0E442"])
for row, (name, place) in zip(panels, slices.items(), strict=True):
    inside = mask[place]
    truly_mixed = np.full(mask.shape, np.nan)
    truly_mixed[mask] = 1 - shares.max(axis=1)
    layers = [
        (f"T1, {name}", np.where(inside, image[place], np.nan), {"cmap": "gray"}),
        (
            "most plausible tissue",
            np.where(inside, found.labels[place], np.nan),
            {"cmap": tissues},
        ),
        ("doubt", found.doubt[place], {"cmap": "magma", "vmin": 0, "vmax": 1}),
        (
            "mixed, by the maps",
            truly_mixed[place],
            {"cmap": "magma", "vmin": 0, "vmax": 0.55},
        ),
    ]
    for panel, (title, layer, options) in zip(row, layers, strict=True):
        panel.imshow(layer.T, origin="lower", interpolation="nearest", **options)
        panel.set_title(title)
        panel.set_axis_off()
plt.show()
