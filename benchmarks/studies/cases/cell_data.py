"""The blood cells of the case study `cells`, which other studies use, too."""

import numpy as np

from benchmarks.studies.answers.data import folder

N_COMPONENTS = 15


def load():
    """Return principal components, the names of types, and 2 coordinates for plots."""
    import h5py

    with h5py.File(folder("scanpy") / "datasets" / "10x_pbmc68k_reduced.h5ad") as file:
        kinds = np.asarray(file["uns"]["bulk_labels_categories"]).astype(str)
        components, coordinates = np.asarray(file["obsm"]["X_pca"]), np.asarray(file["obsm"]["X_umap"])
        return components[:, :N_COMPONENTS], kinds[np.asarray(file["obs"]["bulk_labels"])], coordinates
