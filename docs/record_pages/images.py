"""Tables of the guide on images."""

from .tables import provenance, table


def parts(read_results):
    """Return the texts of the page."""
    results = read_results("answers_images")
    return {"brain": brain(results["brain"]), "phantoms": phantoms(results["design"]), "made": provenance(results)}


def brain(results):
    """Return the results of all methods on MNI152."""
    rows = [
        [entry["method"], entry["error"], entry["auroc_0.7"], f"{entry['seconds']:.1f}"]
        for entry in results["methods"]
    ]
    return table(["MNI152", "error", "AUROC of mixed voxels", "seconds"], rows)


def phantoms(entries):
    """Return errors, and AUROC for images with mixed voxels, for some methods."""
    names = list(dict.fromkeys(entry["image"] for entry in entries))
    entries_by_name = {(entry["image"], entry["method"]): entry for entry in entries}
    methods = ("Gaussian mixture", "ECM without Ω", "ECM without Ω, smoothed image", "SECM")

    def cell(name, method):
        entry = entries_by_name[name, method]
        return f"{entry['error']:.3f}" + (f", {entry['auroc_0.7']:.3f}" if "auroc_0.7" in entry else "")

    return table(
        ["error, AUROC", *methods], [[name, *(cell(name, method) for method in methods)] for name in names]
    )
