"""Segmentation of brain tissues and phantoms: errors, and detection of mixed voxels by doubt.

``python -m benchmarks.studies.answers.images``

Design: phantoms, whose tissues are bounded by level sets of a smooth random field, are blurred so that voxels are
mixtures of tissues, and noise is added. The treatment of neighbors in SECM was chosen on these (`VARIANTS`). Test:
the template MNI152 at 1 mm (T1, and maps of gray and white matter) from the package nilearn, whose folder must be
on the path. The tissue of a voxel is the largest of gray matter, white matter and the rest; a voxel is mixed if
that share is less than 0.7. One choice was not blind: ECM on MNI152 had suggested, before the phantoms were
generated, that SECM should exclude the set of all clusters; results with that set are reported too.
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
from evlearn.cluster import CCM, ECM, SECM, FocalFamily, segment_image
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
#: Variants of SECM that were compared on the phantoms, in the order of the experiments.
VARIANTS = (
    "ECM on averages over neighbors, without their spread",
    "averaged distances, each neighbor as much as the voxel itself",
    "averaged distances, the share of neighbors by the noise (median of differences): chosen",
    "the same by the quartile of differences",
    "the same by the tenth of differences",
    "masses of neighbors as evidence on plain distances, three strengths",
    "masses of neighbors as evidence on averaged distances, three strengths",
    "averaged distances with the costs of CCM",
    "averaged distances with the set of all clusters",
)


def phantom(name, seed):
    """Return an image, and the shares of tissues in its voxels."""
    shape, levels, noise, blur, grain = PHANTOMS[name]
    random = np.random.RandomState(seed)
    field = ndimage.gaussian_filter(random.randn(*shape), grain, mode="wrap")
    tissue = np.digitize(field, np.quantile(field, np.linspace(0, 1, len(levels) + 1)[1:-1]))
    parts = [(tissue == level).astype(float) for level in range(len(levels))]
    shares = np.stack(
        [ndimage.gaussian_filter(part, blur, mode="wrap") if blur else part for part in parts], axis=-1
    )
    return shares @ np.array(levels, dtype=float) + noise * random.randn(*shape), shares


def brain():
    """Return the template, its mask, and the shares of the rest, gray and white matter."""
    datasets = import_module("nilearn.datasets")
    image, gray, white = (
        np.asarray(load_template(resolution=1).dataobj, dtype=np.float32)
        for load_template in (
            datasets.load_mni152_template,
            datasets.load_mni152_gm_template,
            datasets.load_mni152_wm_template,
        )
    )
    mask = np.asarray(datasets.load_mni152_brain_mask(resolution=1).dataobj) > 0
    return image, mask, np.stack([np.clip(1 - gray - white, 0, 1), gray, white], axis=-1)


def smoothed(image, mask):
    """Return Gaussian averages within the mask, as wide as averages over neighbors."""
    weights = ndimage.gaussian_filter(mask.astype(image.dtype), 0.6)
    return ndimage.gaussian_filter(np.where(mask, image, 0), 0.6) / np.where(mask, weights, 1)


def of_kmeans(rows, c):
    """Return labels, and doubt from the 2 nearest centers."""
    model = KMeans(c, n_init=3, random_state=0).fit(rows[:: max(1, len(rows) // 100_000)])
    distances = np.sort(model.transform(rows), axis=1)
    return model.predict(rows), distances[:, 0] / distances[:, 1]


def of_mixture(rows, c):
    """Return labels, and doubt from probabilities."""
    model = GaussianMixture(c, random_state=0).fit(rows[:: max(1, len(rows) // 100_000)])
    probabilities = model.predict_proba(rows)
    return probabilities.argmax(axis=1), 1 - probabilities.max(axis=1)


def of_partition(partition: CredalPartition):
    """Return labels and doubt of a credal partition."""
    return partition.to_hard(), partition.doubt()


def spatial(**options):
    """Return SECM as a method, by `segment_image`."""

    def method(image, mask, c):
        segmentation = segment_image(image, c, mask=mask, estimator=SECM(**options), random_state=0)
        return segmentation.labels[mask], segmentation.doubt[mask]

    return method


def plain(fit, prepare=None):
    """Return a method that ignores neighbors."""

    def method(image, mask, c):
        image = image if prepare is None else prepare(image, mask)
        return fit(image[mask][:, None], c)

    return method


def evidential(kind, **options):
    """Return a fit of ECM or CCM to rows."""
    return lambda rows, c: of_partition(kind(c, random_state=0, **options).fit(rows).credal_partition_)


METHODS = {
    "k-means": plain(of_kmeans),
    "Gaussian mixture": plain(of_mixture),
    "ECM": plain(evidential(ECM)),
    "ECM without Ω": plain(evidential(ECM, focal_sets=FocalFamily(include_omega=False))),
    "CCM": plain(evidential(CCM)),
    "ECM without Ω, smoothed image": plain(evidential(ECM, focal_sets=FocalFamily(include_omega=False)), smoothed),
    "SECM": spatial(),
    "SECM, costs of CCM": spatial(cost="ccm"),
    "SECM with Ω": spatial(focal_sets=FocalFamily(include_omega=True)),
    "SECM, neighbors alike": spatial(neighbor_share=6 / 7),
}


def evaluate(method, image, mask, shares):
    """Return the error, adjusted Rand index, AUROC of mixed voxels by doubt, and CPU seconds."""
    shares = shares[mask]
    truth, top = shares.argmax(axis=1), shares.max(axis=1) / shares.sum(axis=1)
    start = time.process_time()
    labels, doubt = method(image, mask, shares.shape[1])
    seconds = time.process_time() - start
    values = image[mask]
    order = np.argsort(
        [values[labels == label].mean() for label in range(labels.max() + 1)]
    )  # from dark to bright
    ranked = np.argsort(order)[labels]
    mixed = {f"auroc_{level:g}": top < level for level in (0.6, MIXED, 0.8)}
    return {
        "error": float((ranked != truth).mean()),
        "ari": float(adjusted_rand_score(truth, labels)),
        **{name: float(roc_auc_score(is_mixed, doubt)) for name, is_mixed in mixed.items() if is_mixed.any()},
        "seconds": seconds,
    }


def design():
    """Return means over seeds, for each phantom and method."""
    rows = []
    for name in PHANTOMS:
        images = [phantom(name, seed) for seed in SEEDS]
        for label, method in METHODS.items():
            results = [
                evaluate(method, image, np.ones(image.shape, dtype=bool), shares) for image, shares in images
            ]
            means = {key: round(float(np.mean([result[key] for result in results])), 3) for key in results[0]}
            rows.append({"image": name, "method": label, **means})
            print(rows[-1], flush=True)
    return rows


def brain_results():
    """Return the results of all methods on MNI152."""
    image, mask, shares = brain()
    rows = []
    for label, method in METHODS.items():
        result = evaluate(method, image, mask, shares)
        rows.append({"method": label, **{key: round(value, 3) for key, value in result.items()}})
        print(rows[-1], flush=True)
    return {"voxels": int(mask.sum()), "mixed": MIXED, "methods": rows}


def main():
    warnings.simplefilter("ignore")
    results = {"tried": VARIANTS, "seeds": len(SEEDS), "design": design()}
    try:
        results["brain"] = brain_results()
    except ModuleNotFoundError as error:
        print(f"{error.name} is not installed: the brain is skipped, and nothing is written")
        return
    record.write("answers_images", results, packages=["nilearn", "nibabel"])


if __name__ == "__main__":
    main()
