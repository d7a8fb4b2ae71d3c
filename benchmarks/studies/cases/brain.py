"""Case study: gray matter of a brain, and the voxels that a person should trace by hand.

The template MNI152 (T1, with maps of gray and white matter, from nilearn) at 2 mm, as in many clinical scans.
Voxels at a border contain 2 tissues. A method segments 3 tissues by brightness; a person then corrects the 10 % of
the voxels with the largest doubt. An error costs 1 and a voxel traced by hand 0.2. The maps are used only for
evaluation.

Protocol, written before the first run: each method segments the whole brain once, with its defaults and seed 0;
clusters are ordered from dark to bright. Scores are computed in 10 slabs of coronal slices with the same number of
voxels, and intervals are over slabs. An error is a voxel whose label differs from the largest tissue in the maps.
*Gray matter* is the volume by labels and by memberships (probabilities of the mixture, plausibilities of masses),
compared with that of the maps. Peers: k-means with the ratio of 2 distances, a Gaussian mixture, and the mixture
on the image smoothed within the brain, which uses neighbors too. Our methods: `segment_image` (SECM), and CCM,
which ignores neighbors. SECM was designed on phantoms and evaluated on this brain at 1 mm (`answers.images`). No
other variant was tried.
"""

from importlib import import_module

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture

from benchmarks.studies.answers.images import MIXED, smoothed
from benchmarks.studies.cases.decisions import gains, intervals, select_for_review
from evlearn.cluster import CCM, segment_image

RESOLUTION, BUDGET, SLABS, GRAY = 2, 0.1, 10, 1
COSTS = {"error": 1.0, "voxel traced by hand": 0.2}
METHOD = "SECM"
PEERS = ("k-means", "Gaussian mixture", "Gaussian mixture, smoothed")
METHODS_OF_FIGURE = ("Gaussian mixture, smoothed", METHOD)


def load(resolution=RESOLUTION):
    """Return the template, its mask, and the shares of the rest, gray and white matter."""
    data = import_module("nilearn.datasets")
    image, gray, white = (
        np.asarray(load_template(resolution=resolution).get_fdata(), dtype=np.float32)
        for load_template in (
            data.load_mni152_template,
            data.load_mni152_gm_template,
            data.load_mni152_wm_template,
        )
    )
    mask = np.asarray(data.load_mni152_brain_mask(resolution=resolution).get_fdata()) > 0
    return image, mask, np.stack([np.clip(1 - gray - white, 0, 1), gray, white], axis=-1)


def of_k_means(image, mask):
    """Return labels as memberships, and the ratio of 2 distances."""
    rows = image[mask][:, None]
    model = KMeans(3, n_init=10, random_state=0).fit(rows)
    distances = np.sort(model.transform(rows), axis=1)
    return np.eye(3)[sort_labels(model.labels_, rows)], distances[:, 0] / distances[:, 1]


def of_mixture(image, mask):
    """Return probabilities, and 1 minus the largest."""
    rows = image[mask][:, None]
    model = GaussianMixture(3, n_init=3, random_state=0).fit(rows)
    probabilities = model.predict_proba(rows)[:, np.argsort(model.means_[:, 0])]
    return probabilities, 1 - probabilities.max(axis=1)


def of_ccm(image, mask):
    """Return memberships and doubt of a credal partition."""
    rows = image[mask][:, None]
    model = CCM(3, random_state=0).fit(rows)
    partition = model.credal_partition_.permute_clusters(np.argsort(model.cluster_centers_[:, 0]))
    return partition.to_fuzzy(), partition.doubt()


def of_neighbors(image, mask):
    """Return memberships and doubt of SECM, by `segment_image`."""
    segmentation = segment_image(image, 3, mask=mask, random_state=0)
    memberships = segmentation.partition.to_fuzzy()
    order = np.argsort([image[mask][memberships.argmax(axis=1) == k].mean() for k in range(3)])
    return memberships[:, order], segmentation.doubt[mask]


METHODS = {
    "k-means": of_k_means,
    "Gaussian mixture": of_mixture,
    "Gaussian mixture, smoothed": lambda image, mask: of_mixture(smoothed(image, mask), mask),
    "CCM": of_ccm,
    METHOD: of_neighbors,
}


def sort_labels(labels, rows):
    """Return labels that are numbered from dark to bright."""
    return np.argsort(np.argsort([rows[labels == k].mean() for k in range(3)]))[labels]


def evaluate(shares, memberships, doubt):
    """Return errors before and after the review, detection of mixed voxels, and gray matter of a slab."""
    truth, labels = shares.argmax(axis=1), memberships.argmax(axis=1)
    wrong, reviewed = labels != truth, select_for_review(doubt, BUDGET)
    mixed = shares.max(axis=1) / shares.sum(axis=1) < MIXED
    gray = shares[:, GRAY].sum()
    return {
        "errors": 100 * float(wrong.mean()),
        "errors_left": 100 * float((wrong & ~reviewed).mean()),
        "cost": 100
        * float((COSTS["error"] * (wrong & ~reviewed) + COSTS["voxel traced by hand"] * reviewed).mean()),
        "mixed_found": float(roc_auc_score(mixed, doubt)),
        "gray_by_labels": 100 * float(abs((labels == GRAY).sum() / gray - 1)),
        "gray_by_memberships": 100 * float(abs(memberships[:, GRAY].sum() / gray - 1)),
    }


def study(resolution=RESOLUTION, chosen=tuple(METHODS)):
    """Return all results, over slabs from back to front."""
    image, mask, shares = load(resolution)
    shares = shares[mask]
    front = np.nonzero(mask)[1]
    order = np.argsort(front, kind="stable")
    slabs = np.array_split(order, SLABS)
    rows = [{} for _ in slabs]
    maps = {}
    for name in chosen:
        memberships, doubt = METHODS[name](image, mask)
        if name in METHODS_OF_FIGURE:
            maps[name] = slice_of(mask, doubt)
        for row, slab in zip(rows, slabs, strict=True):
            row[name] = evaluate(shares[slab], memberships[slab], doubt[slab])
    peers = [name for name in chosen if name in PEERS]
    mixed = shares.max(axis=1) / shares.sum(axis=1) < MIXED
    return {
        "samples": int(mask.sum()),
        "repetitions": SLABS,
        "costs": COSTS,
        "variants": 0,
        "mixed": round(100 * float(mixed.mean()), 1),
        "methods": intervals(rows),
        "gains": gains(rows, METHOD, peers, "errors_left"),
        "pictures": {"brightness": slice_of(mask, image[mask]), "mixed": slice_of(mask, mixed)} | maps,
    }


def slice_of(mask, values):
    """Return a horizontal slice as one text per row, with 2 hexadecimal digits per voxel (ff: outside)."""
    volume = np.full(mask.shape, 255)
    volume[mask] = 2 * np.rint(100 * np.clip(values / max(float(np.max(values)), 1e-12), 0, 1)).astype(int)
    return [bytes(row.tolist()).hex() for row in volume[:, :, mask.shape[2] * 9 // 20].T]
