"""The tables of the guide on images."""

from .tables import provenance, table


def parts(read):
    """What the page includes."""
    found = read("answers_images")
    return {"brain": brain(found["brain"]), "phantoms": phantoms(found["design"]), "made": provenance(found)}


def brain(found):
    """All methods on MNI152."""
    rows = [[one["method"], one["error"], one["auroc_0.7"], f"{one['seconds']:.1f}"] for one in found["methods"]]
    return table(["MNI152", "error", "AUROC of mixed voxels", "seconds"], rows)


def phantoms(found):
    """Errors, and AUROC where there are mixed voxels, for some methods."""
    names = list(dict.fromkeys(one["image"] for one in found))
    known = {(one["image"], one["method"]): one for one in found}
    methods = ("Gaussian mixture", "ECM without Ω", "ECM without Ω, smoothed image", "SECM")

    def cell(name, method):
        one = known[name, method]
        return f"{one['error']:.3f}" + (f", {one['auroc_0.7']:.3f}" if "auroc_0.7" in one else "")

    return table(["error, AUROC", *methods], [[name, *(cell(name, one) for one in methods)] for name in names])
