"""The methods with the parameters of the papers and of R's package, where the defaults here are others."""

from functools import partial

from evlearn import cluster

ECM = partial(cluster.ECM, focal_sets="full", alpha=1.0, beta=2.0, init="k-means++", n_init=1)
CCM = partial(cluster.CCM, focal_sets="pairs", beta=2.0, init="k-means++", n_init=1)
BPEC = partial(cluster.BPEC, focal_sets="full", alpha=1.0, beta=2.0)
CECM = partial(cluster.CECM, focal_sets="full", alpha=1.0, init="k-means++")
RECM = partial(cluster.RECM, focal_sets="full", alpha=1.0, beta=1.5, init="random", n_init=1)
EVCLUS = partial(cluster.EVCLUS, d0_quantile=0.9)
ECMdd = partial(cluster.ECMdd, beta=2.0, init="spread", psi=2.0)
EKNNClus = partial(cluster.EKNNClus, q=0.5, n_init=1)
BootClus = partial(cluster.BootClus, variance_floor=0.0, n_bootstrap=500)
