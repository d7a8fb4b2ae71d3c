"""Tissues of a brain and of phantoms: errors, and whether doubt knows the voxels that hold two of them.

``python -m benchmarks.studies.answers.images``

Design: phantoms, whose tissues end at level sets of a smooth random field, are blurred so that voxels hold
shares of several, and get noise. How SECM takes neighbours into account was chosen on these (`TRIED`). Judged:
the template MNI152 at 1 mm (T1, and maps of grey and white matter), which comes with the package nilearn, whose
folder must be on the path. The tissue of a voxel is the largest of grey, white and the rest; a voxel is mixed if
that is less than 0.7 of it. One choice was not blind: that SECM leaves out the set of all clusters was seen on
MNI152, with ECM, before the phantoms were made; the figures with that set stand beside the others.
"""

import time
import warnings
from importlib import import_module

import numpy as np
from scipy import ndimage
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.mixture import GaussianMixture

from benchmarks.common import record
from evlearn.cluster import CCM, ECM, SECM, segment_image
from evlearn.partition import CredalPartition

MIXED = 0.7
SEEDS = range(3)
#: Shape, levels, noise, blur and grain of the field.
PHANTOMS = {
    "two levels, noise .6": ((96, 96), (0, 1), 0.6, 0, 4),
    "two levels, noise .3": ((96, 96), (0, 1), 0.3, 0, 4),
    "two levels, blurred, noise .1": ((96, 96), (0, 1), 0.1, 1, 4),
    "three levels, blurred, noise .02": ((40, 40, 40), (0, 1, 1.8), 0.02, 1, 3),
    "three levels, blurred, noise .1": ((40, 40, 40), (0, 1, 1.8), 0.1, 1, 3),
    "three levels, blurred, noise .3": ((40, 40, 40), (0, 1, 1.8), 0.3, 0.7, 3),
    "as a brain, noise .05": ((40, 40, 40), (0.35, 0.65, 0.86), 0.05, 0.8, 3),
    "as a brain, fine, noise .03": ((40, 40, 40), (0.35, 0.65, 0.86), 0.03, 0.8, 1.7),
}
#: What was tried on the phantoms before SECM was what it is, in the order of trials.
TRIED = (
    "ECM on averages over neighbours, without their spread",
    "averaged distances, each neighbour as much as the voxel itself",
    "averaged distances, the share of neighbours by the noise (median of differences): chosen",
    "the same by the quartile of differences",
    "the same by the tenth of differences",
    "masses of neighbours as evidence on plain distances, three strengths",
    "masses of neighbours as evidence on averaged distances, three strengths",
    "averaged distances with the costs of CCM",
    "averaged distances with the set of all clusters",
)


def phantom(name, seed):
    """An image, and the shares of tissues in its voxels."""
    shape, levels, noise, blur, grain = PHANTOMS[name]
    random = np.random.RandomState(seed)
    field = ndimage.gaussian_filter(random.randn(*shape), grain, mode="wrap")
    tissue = np.digitize(field, np.quantile(field, np.linspace(0, 1, len(levels) + 1)[1:-1]))
    parts = [(tissue == one).astype(float) for one in range(len(levels))]
    shares = np.stack([ndimage.gaussian_filter(one, blur, mode="wrap") if blur else one for one in parts], axis=-1)
    return shares @ np.array(levels, dtype=float) + noise * random.randn(*shape), shares


def brain():
    """The template, its mask, and the shares of the rest, grey and white matter."""
    load = import_module("nilearn.datasets")
    image, grey, white = (
        np.asarray(one(resolution=1).dataobj, dtype=np.float32)
        for one in (load.load_mni152_template, load.load_mni152_gm_template, load.load_mni152_wm_template)
    )
    mask = np.asarray(load.load_mni152_brain_mask(resolution=1).dataobj) > 0
    return image, mask, np.stack([np.clip(1 - grey - white, 0, 1), grey, white], axis=-1)


def smoothed(image, mask):
    """Gaussian averages within the mask, as wide as the averages over neighbours are."""
    inside = ndimage.gaussian_filter(mask.astype(image.dtype), 0.6)
    return ndimage.gaussian_filter(np.where(mask, image, 0), 0.6) / np.where(mask, inside, 1)


def of_kmeans(rows, c):
    """Labels, and doubt by the two nearest centres."""
    model = KMeans(c, n_init=3, random_state=0).fit(rows[:: max(1, len(rows) // 100_000)])
    near = np.sort(model.transform(rows), axis=1)
    return model.predict(rows), near[:, 0] / near[:, 1]


def of_mixture(rows, c):
    """Labels, and doubt by probabilities."""
    model = GaussianMixture(c, random_state=0).fit(rows[:: max(1, len(rows) // 100_000)])
    probabilities = model.predict_proba(rows)
    return probabilities.argmax(axis=1), 1 - probabilities.max(axis=1)


def of_partition(partition: CredalPartition):
    """Labels and doubt of a credal partition."""
    return partition.to_hard(), partition.doubt()


def spatial(**options):
    """SECM, by the call for images."""

    def method(image, mask, c):
        found = segment_image(image, c, mask=mask, estimator=SECM(**options), random_state=0)
        return found.labels[mask], found.doubt[mask]

    return method


def plain(fit, prepare=None):
    """A method of rows, without neighbours."""

    def method(image, mask, c):
        image = image if prepare is None else prepare(image, mask)
        return fit(image[mask][:, None], c)

    return method


def evidential(kind, **options):
    """From rows to what ECM or CCM say of them."""
    return lambda rows, c: of_partition(kind(c, random_state=0, **options).fit(rows).credal_partition_)


METHODS = {
    "k-means": plain(of_kmeans),
    "Gaussian mixture": plain(of_mixture),
    "ECM": plain(evidential(ECM)),
    "ECM without Ω": plain(evidential(ECM, include_omega=False)),
    "CCM": plain(evidential(CCM)),
    "ECM without Ω, smoothed image": plain(evidential(ECM, include_omega=False), smoothed),
    "SECM": spatial(),
    "SECM, costs of CCM": spatial(cost="ccm"),
    "SECM with Ω": spatial(include_omega=True),
    "SECM, neighbours alike": spatial(neighbor_share=6 / 7),
}


def judged(method, image, mask, shares):
    """Error, adjusted Rand index, AUROC of mixed voxels by doubt, and seconds of CPU."""
    shares = shares[mask]
    truth, top = shares.argmax(axis=1), shares.max(axis=1) / shares.sum(axis=1)
    start = time.process_time()
    labels, doubt = method(image, mask, shares.shape[1])
    seconds = time.process_time() - start
    values = image[mask]
    order = np.argsort([values[labels == one].mean() for one in range(labels.max() + 1)])  # from dark to bright
    ranked = np.argsort(order)[labels]
    mixed = {f"auroc_{level:g}": top < level for level in (0.6, MIXED, 0.8)}
    return {
        "error": float((ranked != truth).mean()),
        "ari": float(adjusted_rand_score(truth, labels)),
        **{name: float(roc_auc_score(one, doubt)) for name, one in mixed.items() if one.any()},
        "seconds": seconds,
    }


def design():
    """Means over seeds, for each phantom and method."""
    rows = []
    for name in PHANTOMS:
        images = [phantom(name, seed) for seed in SEEDS]
        for label, method in METHODS.items():
            found = [judged(method, image, np.ones(image.shape, dtype=bool), shares) for image, shares in images]
            means = {key: round(float(np.mean([one[key] for one in found])), 3) for key in found[0]}
            rows.append({"image": name, "method": label, **means})
            print(rows[-1], flush=True)
    return rows


def of_the_brain():
    """All methods on MNI152."""
    image, mask, shares = brain()
    rows = []
    for label, method in METHODS.items():
        found = judged(method, image, mask, shares)
        rows.append({"method": label, **{key: round(one, 3) for key, one in found.items()}})
        print(rows[-1], flush=True)
    return {"voxels": int(mask.sum()), "mixed": MIXED, "methods": rows}


def main():
    warnings.simplefilter("ignore")
    found = {"tried": TRIED, "seeds": len(SEEDS), "design": design()}
    try:
        found["brain"] = of_the_brain()
    except ModuleNotFoundError as error:
        print(f"{error.name} is not installed: no brain, and nothing is written")
        return
    record.write("answers_images", found, packages=["nilearn", "nibabel"])


if __name__ == "__main__":
    main()
