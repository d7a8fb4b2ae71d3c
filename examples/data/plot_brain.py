"""
Segmentation of a brain with partial volumes
============================================

The template MNI152 is the mean of 152 brains, with 1.9 million voxels of 1 mm. Voxels at the border of 2 tissues
contain some of both. `~evlearn.cluster.segment_image` finds the tissues from the brightness of the voxels and
their neighbors, and quantifies its doubt. The maps of gray and white matter in the template are used only for
evaluation.

The template comes with the package nilearn (copyright 1993-2009 Louis Collins, McConnell Brain Imaging Center,
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

image, gray, white = (
    np.asarray(load(resolution=1).dataobj, dtype=np.float32)
    for load in (load_mni152_template, load_mni152_gm_template, load_mni152_wm_template)
)
mask = np.asarray(load_mni152_brain_mask(resolution=1).dataobj) > 0
segmentation = segment_image(image, 3, mask=mask, random_state=0)
print(
    f"{mask.sum():,} voxels; levels {segmentation.model.cluster_centers_.ravel().round(2)}"
)

# %%
# The 3 clusters are fluid, gray and white matter. We compute the share of voxels with a different tissue in the
# maps, and check whether doubt detects mixed voxels, in which no tissue exceeds 70 %.

shares = np.stack([1 - gray - white, gray, white], axis=-1)[mask]
error_rate = (segmentation.labels[mask] != shares.argmax(axis=1)).mean()
mixed = shares.max(axis=1) < 0.7
print(f"{error_rate:.1%} of the voxels have a different tissue in the maps")
print(
    f"{mixed.mean():.0%} of the voxels are mixed; AUROC of doubt "
    f"{roc_auc_score(mixed, segmentation.doubt[mask]):.2f}"
)

# %%
# The figure shows a horizontal and a coronal slice. The doubt is large at the borders, and in mixed regions such
# as the thalamus in the center.

slices = {"horizontal": np.s_[:, :, 80], "coronal": np.s_[:, 115, :]}
figure, panels = plt.subplots(2, 4, figsize=(11, 6), layout="constrained")
tissues = ListedColormap(["#56B4E9", "#999999", "#F0E442"])
for row, (name, position) in zip(panels, slices.items(), strict=True):
    is_brain = mask[position]
    mixture = np.full(mask.shape, np.nan)
    mixture[mask] = 1 - shares.max(axis=1)
    layers = [
        (f"T1, {name}", np.where(is_brain, image[position], np.nan), {"cmap": "gray"}),
        (
            "most plausible tissue",
            np.where(is_brain, segmentation.labels[position], np.nan),
            {"cmap": tissues},
        ),
        (
            "doubt",
            segmentation.doubt[position],
            {"cmap": "magma", "vmin": 0, "vmax": 1},
        ),
        (
            "mixture in the maps",
            mixture[position],
            {"cmap": "magma", "vmin": 0, "vmax": 0.55},
        ),
    ]
    for panel, (title, layer, options) in zip(row, layers, strict=True):
        panel.imshow(layer.T, origin="lower", interpolation="nearest", **options)
        panel.set_title(title)
        panel.set_axis_off()
plt.show()
