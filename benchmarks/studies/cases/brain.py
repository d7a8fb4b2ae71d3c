"""A brain, how much grey matter it has, and which voxels a person should trace by hand.

The template MNI152 (T1, with maps of grey and white matter; it comes with nilearn) at two millimetres, as in many
clinical scans. A voxel at a border holds two tissues. A method finds three tissues from brightness; a person then
corrects a tenth of the voxels, those of largest doubt. An error costs 1 and a voxel traced by hand 0.2. The maps
only judge.

Protocol, written before the first run: each method sees the whole brain once, with its defaults and seed 0;
clusters are numbered from dark to bright. Figures are found in ten slabs of coronal slices with the same number of
voxels, and intervals are over slabs. An error is a voxel whose largest tissue in the maps is another. *Grey
matter* is the volume by labels and by memberships (probabilities of the mixture, and of masses by plausibility),
beside that of the maps. Peers: k-means with the ratio of two distances, a Gaussian mixture, and the mixture on the
image smoothed within the brain, which sees neighbours too. Ours: `segment_image` (SECM), and CCM, which sees no
neighbours. SECM was designed on phantoms and judged on this brain at one millimetre (`answers.images`). No other
variant was tried.
"""

from importlib import import_module

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture

from benchmarks.studies.answers.images import MIXED, smoothed
from benchmarks.studies.cases.decisions import gains, intervals, looked_at
from evlearn.cluster import CCM, segment_image

RESOLUTION, BUDGET, SLABS, GREY = 2, 0.1, 10, 1
COSTS = {"error": 1.0, "voxel traced by hand": 0.2}
OURS = "SECM"
PEERS = ("k-means", "Gaussian mixture", "Gaussian mixture, smoothed")
SHOWN = ("Gaussian mixture, smoothed", OURS)


def load(resolution=RESOLUTION):
    """The template, its mask, and the shares of the rest, grey and white matter."""
    data = import_module("nilearn.datasets")
    image, grey, white = (
        np.asarray(one(resolution=resolution).get_fdata(), dtype=np.float32)
        for one in (data.load_mni152_template, data.load_mni152_gm_template, data.load_mni152_wm_template)
    )
    mask = np.asarray(data.load_mni152_brain_mask(resolution=resolution).get_fdata()) > 0
    return image, mask, np.stack([np.clip(1 - grey - white, 0, 1), grey, white], axis=-1)


def of_k_means(image, mask):
    """Labels as memberships, and the ratio of two distances."""
    rows = image[mask][:, None]
    model = KMeans(3, n_init=10, random_state=0).fit(rows)
    near = np.sort(model.transform(rows), axis=1)
    return np.eye(3)[from_dark(model.labels_, rows)], near[:, 0] / near[:, 1]


def of_mixture(image, mask):
    """Probabilities, and one minus the largest."""
    rows = image[mask][:, None]
    model = GaussianMixture(3, n_init=3, random_state=0).fit(rows)
    probabilities = model.predict_proba(rows)[:, np.argsort(model.means_[:, 0])]
    return probabilities, 1 - probabilities.max(axis=1)


def of_ccm(image, mask):
    """Memberships and doubt of a credal partition."""
    rows = image[mask][:, None]
    model = CCM(3, random_state=0).fit(rows)
    partition = model.credal_partition_.permute_clusters(np.argsort(model.cluster_centers_[:, 0]))
    return partition.to_fuzzy(), partition.doubt()


def of_neighbours(image, mask):
    """The same of SECM, by the call for images."""
    found = segment_image(image, 3, mask=mask, random_state=0)
    memberships = found.partition.to_fuzzy()
    order = np.argsort([image[mask][memberships.argmax(axis=1) == k].mean() for k in range(3)])
    return memberships[:, order], found.doubt[mask]


METHODS = {
    "k-means": of_k_means,
    "Gaussian mixture": of_mixture,
    "Gaussian mixture, smoothed": lambda image, mask: of_mixture(smoothed(image, mask), mask),
    "CCM": of_ccm,
    OURS: of_neighbours,
}


def from_dark(labels, rows):
    """Labels, numbered from dark to bright."""
    return np.argsort(np.argsort([rows[labels == k].mean() for k in range(3)]))[labels]


def judged(shares, memberships, doubt):
    """What one slab has of errors before and after looks, of mixed voxels, and of grey matter."""
    truth, labels = shares.argmax(axis=1), memberships.argmax(axis=1)
    wrong, seen = labels != truth, looked_at(doubt, BUDGET)
    mixed = shares.max(axis=1) / shares.sum(axis=1) < MIXED
    grey = shares[:, GREY].sum()
    return {
        "errors": 100 * float(wrong.mean()),
        "errors_left": 100 * float((wrong & ~seen).mean()),
        "cost": 100 * float((COSTS["error"] * (wrong & ~seen) + COSTS["voxel traced by hand"] * seen).mean()),
        "mixed_found": float(roc_auc_score(mixed, doubt)),
        "grey_by_labels": 100 * float(abs((labels == GREY).sum() / grey - 1)),
        "grey_by_memberships": 100 * float(abs(memberships[:, GREY].sum() / grey - 1)),
    }


def study(resolution=RESOLUTION, chosen=tuple(METHODS)):
    """All figures, over slabs from back to front."""
    image, mask, shares = load(resolution)
    shares = shares[mask]
    front = np.nonzero(mask)[1]
    order = np.argsort(front, kind="stable")
    slabs = np.array_split(order, SLABS)
    rows = [{} for _ in slabs]
    maps = {}
    for name in chosen:
        memberships, doubt = METHODS[name](image, mask)
        if name in SHOWN:
            maps[name] = slice_of(mask, doubt)
        for row, slab in zip(rows, slabs, strict=True):
            row[name] = judged(shares[slab], memberships[slab], doubt[slab])
    peers = [name for name in chosen if name in PEERS]
    mixed = shares.max(axis=1) / shares.sum(axis=1) < MIXED
    return {
        "samples": int(mask.sum()),
        "repetitions": SLABS,
        "costs": COSTS,
        "variants": 0,
        "mixed": round(100 * float(mixed.mean()), 1),
        "methods": intervals(rows),
        "gains": gains(rows, OURS, peers, "errors_left"),
        "pictures": {"brightness": slice_of(mask, image[mask]), "mixed": slice_of(mask, mixed)} | maps,
    }


def slice_of(mask, values):
    """A horizontal slice for a picture: a text for each row, two hexadecimal digits a voxel, ff outside."""
    volume = np.full(mask.shape, 255)
    volume[mask] = 2 * np.rint(100 * np.clip(values / max(float(np.max(values)), 1e-12), 0, 1)).astype(int)
    return [bytes(row.tolist()).hex() for row in volume[:, :, mask.shape[2] * 9 // 20].T]
