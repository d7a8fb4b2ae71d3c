"""Fits of several clusterers: ensembles and conformal clusterers."""

import warnings

from .data import blobs


def ensemble():
    from sklearn.cluster import KMeans

    from evlearn.ensemble import CredalEnsemble

    return CredalEnsemble(KMeans(8), n_clusters=4, random_state=0)


def conformal():
    from evlearn.cluster import ECM
    from evlearn.conformal import ConformalClusterer

    return ConformalClusterer(ECM(4, random_state=0), random_state=0)


METHODS = {"CredalEnsemble": ensemble, "ConformalClusterer": conformal}


class Fits:
    """2,000 samples of 4 clusters."""

    params = tuple(METHODS)
    param_names = ("method",)

    def setup(self, name):
        """Create an estimator, and fit another for predictions."""
        warnings.simplefilter("ignore")
        self.X, self.model = blobs(2_000, 4), METHODS[name]()
        self.fitted = METHODS[name]().fit(self.X)

    def time_fit(self, name):
        self.model.fit(self.X)

    def peakmem_fit(self, name):
        self.model.fit(self.X)

    def time_predict_mass(self, name):
        self.fitted.predict_mass(self.X)
