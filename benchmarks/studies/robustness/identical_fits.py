"""Compare the results of 2 versions of the library bit by bit.

``python -m benchmarks.studies.robustness.identical_fits --keep FILE`` writes a digest of the results of each fit
to a file. With another version on the path and ``--compare FILE``, differing fits are listed and, with
``--write``, the counts are written to ``benchmarks/results/identical_fits.json``. The fits cover all estimators;
versions before the parameters were merged (commit 7c2762b and earlier) are supported.
"""

import argparse
import hashlib
import importlib
import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_moons

SEED = {"random_state": 0}


def digest(*arrays):
    """Return a digest of arrays."""
    state = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        state.update(repr((array.shape, array.dtype.str)).encode() + array.tobytes())
    return state.hexdigest()[:16]


def find(package, *names):
    """Return the first of several names that a package has."""
    module = importlib.import_module(f"evlearn.{package}")
    return next(getattr(module, name) for name in names if hasattr(module, name))


def is_older():
    """Return True for versions with separate parameters for the parts of specifications."""
    return not hasattr(importlib.import_module("evlearn.cluster"), "FocalFamily")


def family(kind, **options):
    """Return parameters for a family of focal sets."""
    if is_older():
        return {"focal_sets": kind, **{_OLD_NAMES.get(name, name): value for name, value in options.items()}}
    return {"focal_sets": find("cluster", "FocalFamily")(kind, **options)}


_OLD_NAMES = {"n_neighbors": "n_pair_neighbors"}


def quantile(level):
    """Return parameters for a quantile of the dissimilarities."""
    return {"d0_quantile": level} if is_older() else {"d0": find("cluster", "Quantile")(level)}


def adaptive(reg_covar):
    """Return parameters for adaptive metrics."""
    if is_older():
        return {"metric": "adaptive", "reg_covar": reg_covar}
    return {"metric": find("cluster", "AdaptiveMetric")(reg_covar)}


def medoids(kind, **options):
    """Return parameters for a kind of medoids."""
    if is_older():
        old_names = {"joint_weight_exponent": "xi", "weight_exponent": "psi"}
        return {"medoids": kind, **{old_names.get(name, name): value for name, value in options.items()}}
    return {"medoids": find("cluster", "MedoidKind")(kind, **options)}


def weight(value):
    """Return parameters for the weight of constraints."""
    return {"xi" if is_older() else "constraint_weight": value}


def solver(name, **options):
    """Return parameters for a solver of NN-EVCLUS."""
    if is_older():
        return {"solver": name, **options}
    return {"solver": find("neural", "Solver")(name, **options)}


def clusterings():
    """Yield names, estimators, data and arguments of fits of clusterers."""
    from evlearn.cluster import BPEC, CCM, CECM, ECM, EVCLUS, RECM, SECM, BootClus, ECMdd, EKNNClus, MergedMixture
    from evlearn.constraints import PairwiseConstraints
    from evlearn.datasets import load_butterfly, make_fourclass
    from evlearn.neural import NNEVCLUS

    X, y = make_fourclass(300, random_state=0)
    butterfly, iris = load_butterfly().data, load_iris().data
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    constraints = {"constraints": PairwiseConstraints.sample(y, 40, random_state=0)}
    yield "ECM", ECM(4, **SEED), X, {}
    yield "ECM, butterfly", ECM(2, **SEED), butterfly, {}
    yield "ECM, iris", ECM(3, **SEED), iris, {}
    yield "ECM, missing values", ECM(4, **SEED), holes, {}
    yield "ECM, weights", ECM(4, **SEED), X, {"sample_weight": 1.0 + np.arange(300) % 3}
    yield "ECM, adaptive", ECM(3, **adaptive(0.01), **SEED), iris, {}
    yield "ECM, papers", ECM(4, focal_sets="full", alpha=1.0, beta=2.0, delta=5.0, **SEED), X, {}
    yield (
        "ECM, neighbor pairs",
        ECM(4, **family("neighbor_pairs", include_omega=False, n_neighbors=2), **SEED),
        X,
        {},
    )
    yield "ECM, single precision", ECM(4, **SEED), X.astype(np.float32), {}
    yield "CCM", CCM(4, **SEED), X, {}
    yield "CCM, with omega", CCM(4, **family("pairs", include_omega=True), **SEED), X, {}
    yield "CCM, missing values", CCM(4, **SEED), holes, {}
    yield "BPEC", BPEC(), X, {}
    yield "BPEC, Euclidean", BPEC(4, metric="euclidean", **SEED), X, {}
    yield "SECM", SECM(4, **SEED), X, {}
    yield "CECM", CECM(4, **SEED), X, constraints
    yield "CECM, weight", CECM(4, **weight(0.2), **SEED), X, constraints
    yield "RECM", RECM(4, **SEED), X, {}
    yield "RECM, iris", RECM(3, **SEED), iris, {}
    yield "ECMdd", ECMdd(4, **SEED), X, {}
    yield "ECMdd, median", ECMdd(3, **medoids("median", gamma=0.3), **SEED), iris, {}
    yield "ECMdd, weighted", ECMdd(3, **medoids("weighted", weight_exponent=1.5), **SEED), iris, {}
    yield "EVCLUS", EVCLUS(4, **SEED), X, {}
    yield "EVCLUS, butterfly", EVCLUS(2, focal_sets="full", **SEED), butterfly, {}
    yield "EVCLUS, quantile", EVCLUS(4, **quantile(0.9), **SEED), X, {}
    yield "EVCLUS, partners", EVCLUS(4, n_partners=50, **SEED), X, {}
    yield "EVCLUS, stochastic", EVCLUS(4, solver="stochastic", **SEED), X, {}
    yield "EVCLUS, landmarks", EVCLUS(4, solver="landmark", n_landmarks=100, **SEED), X, {}
    yield "EVCLUS, constraints", EVCLUS(4, **SEED), X, constraints
    yield "EVCLUS, weight", EVCLUS(4, **weight(0.1), **SEED), X, constraints
    yield "EKNNClus", EKNNClus(**SEED), X, {}
    yield "EKNNClus, union", EKNNClus(20, graph="union", **SEED), X, {}
    yield "BootClus", BootClus(4, n_bootstrap=20, **SEED), X, {}
    yield "BootClus, model", BootClus(3, covariance_models="EEE", n_bootstrap=20, **SEED), iris, {}
    yield "MergedMixture", MergedMixture(2, **SEED), make_moons(300, noise=0.05, random_state=0)[0], {}
    yield "MergedMixture, components", MergedMixture(3, component_numbers=4, **SEED), iris, {}
    yield "NNEVCLUS", NNEVCLUS(4, max_iter=50, **SEED), X, {}
    yield "NNEVCLUS, batches", NNEVCLUS(4, **solver("rmsprop", batch_size=50), max_iter=5, **SEED), X, {}
    yield "NNEVCLUS, outliers", NNEVCLUS(4, outlier_model="svm", max_iter=30, **SEED), X, {}
    yield (
        "CredalEnsemble",
        find("ensemble", "CredalEnsemble")([KMeans(4, n_init=3, **SEED), ECM(4)], **SEED),
        X,
        {},
    )
    conformal = find("conformal", "ConformalClusterer")
    yield "ConformalClusterer", conformal(ECM(4), **SEED), X, {}
    yield "ConformalClusterer, k-means", conformal(KMeans(4, n_init=3), **SEED), X, {}


def classifications():
    """Yield names, classifiers, data and labels."""
    from evlearn.classify import (
        EvidentialForestClassifier,
        EvidentialKNNClassifier,
        EvidentialNeuralClassifier,
        EvidentialRBFClassifier,
        FusionClassifier,
    )

    X, y = load_iris(return_X_y=True)
    yield "EvidentialKNNClassifier", EvidentialKNNClassifier(), X, y
    yield "EvidentialKNNClassifier, text", EvidentialKNNClassifier(5, optimize=False), X, np.array(list("abc"))[y]
    yield "EvidentialNeuralClassifier", EvidentialNeuralClassifier(6, **SEED), X, y
    yield "EvidentialRBFClassifier", EvidentialRBFClassifier(**SEED), X, y
    yield "EvidentialForestClassifier", EvidentialForestClassifier(50, **SEED), X, y
    members = [("neighbors", EvidentialKNNClassifier(5)), ("network", EvidentialNeuralClassifier(6, **SEED))]
    yield "FusionClassifier", FusionClassifier(members), X, y
    yield "UnseenClassDetector", find("conformal", "UnseenClassDetector")(**SEED), X, y


def transformations():
    """Yield names, transformers, data and arguments of fits of transformers."""
    from evlearn.constraints import PairwiseConstraints

    X, y = load_iris(return_X_y=True)
    constraints = {"constraints": PairwiseConstraints.sample(y, 40, random_state=0)}
    ring, parts = find("datasets", "make_core_and_ring", "make_circles")(200, random_state=0)
    pairs = {"constraints": PairwiseConstraints.sample(parts, 40, random_state=0)}
    kernel = {} if is_older() else {"kernel": "rbf"}
    yield "PCCA", find("metric_learning", "PCCA")(2, **SEED), X, constraints
    yield (
        "PCCA, kernel",
        find("metric_learning", "KernelPCCA", "PCCA")(1, gamma=0.3, **kernel, **SEED),
        ring,
        pairs,
    )
    yield "FDA", find("metric_learning", "FDA")(), X, {"y": y}
    yield "FDA, kernel", find("metric_learning", "KernelFDA", "FDA")(gamma=0.3, **kernel), ring, {"y": parts}
    yield "LocalFDA", find("metric_learning", "LocalFDA")(), X, {"y": y}


def all_digests():
    """Return the digest of the results of each fit."""
    warnings.simplefilter("ignore")
    results = {}
    for name, estimator, X, arguments in clusterings():
        model = estimator.fit(X, **arguments)
        results[name] = digest(model.credal_partition_.masses, model.predict_mass(X[:50]).masses)
    for name, estimator, X, y in classifications():
        results[name] = digest(estimator.fit(X, y).predict_mass(X).masses)
    for name, estimator, X, arguments in transformations():
        results[name] = digest(estimator.fit(X, **arguments).transform(X))
    return results


def main():
    """Write or compare digests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", metavar="FILE", type=Path, help="write the digests of this version to a file")
    parser.add_argument("--compare", metavar="FILE", type=Path, help="compare with the digests of another version")
    parser.add_argument("--write", metavar="VERSION", help="write the counts, with the name of the other version")
    options = parser.parse_args()
    current = all_digests()
    if options.keep is not None:
        options.keep.write_text(json.dumps(current, indent=1) + "\n")
    if options.compare is None:
        return
    other = json.loads(options.compare.read_text())
    names = [name for name in current if name in other]
    differing = [name for name in names if current[name] != other[name]]
    print(f"{len(names) - len(differing)} of {len(names)} fits are bit-identical")
    print(*(f"differs: {name}" for name in differing), sep="\n")
    if options.write is not None:
        from benchmarks.common import record

        results = {"other_version": options.write, "fits": names, "differing": differing}
        record.write("identical_fits", results)


if __name__ == "__main__":
    main()
