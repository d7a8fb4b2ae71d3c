"""Methods with the parameters of the papers and of the R packages, if they differ from our defaults."""

from functools import partial

from evlearn import cluster
from evlearn.cluster import MedoidKind, Quantile
from evlearn.utils.parameters import with_switches

ECM = partial(cluster.ECM, focal_sets="full", alpha=1.0, beta=2.0, init="k-means++", n_init=1)
CCM = partial(cluster.CCM, focal_sets="pairs", beta=2.0, init="k-means++", n_init=1)
BPEC = partial(cluster.BPEC, focal_sets="full", alpha=1.0, beta=2.0)
CECM = partial(cluster.CECM, focal_sets="full", alpha=1.0, init="k-means++")
RECM = partial(cluster.RECM, focal_sets="full", alpha=1.0, beta=1.5, init="random", n_init=1)
EVCLUS = partial(cluster.EVCLUS, d0=Quantile(0.9))
EKNNClus = partial(cluster.EKNNClus, q=0.5, n_init=1)


def ECMdd(n_clusters=3, *, medoids="single", **parameters):  # noqa: N802
    """Return ECMdd with the exponent of the weights of the paper."""
    kind = MedoidKind(medoids, weight_exponent=2.0)
    return cluster.ECMdd(n_clusters, **{"medoids": kind, "beta": 2.0, "init": "spread"} | parameters)


def BootClus(n_clusters=None, *, variance_floor=0.0, **parameters):  # noqa: N802
    """Return BootClus without a minimum variance of components."""
    model = cluster.BootClus(n_clusters, **{"n_bootstrap": 500} | parameters)
    return with_switches(model, variance_floor=variance_floor)
