"""Fits and predictions of clusterers."""

import warnings

from evlearn import cluster

from .data import blobs

#: Method, parameters and shape of the data. The number of iterations is fixed if it might vary.
CASES = {
    "ECM": ("ECM", {"max_iter": 20, "tol": 0}, (40_000, 10)),
    "ECM adaptive": ("ECM", {"metric": "adaptive", "max_iter": 10, "tol": 0}, (10_000, 8)),
    "CCM": ("CCM", {"max_iter": 20, "tol": 0}, (8_000, 50, 4, "float32")),
    "BPEC": ("BPEC", {}, (2_000, 4)),
    "CECM": ("CECM", {}, (300, 4)),
    "RECM": ("RECM", {}, (300, 4)),
    "ECMdd": ("ECMdd", {}, (300, 4)),
    "EVCLUS": ("EVCLUS", {}, (300, 4)),
    "EVCLUS landmarks": ("EVCLUS", {"solver": "landmark"}, (4_000, 4)),
    "EKNNClus": ("EKNNClus", {}, (2_000, 4)),
    "BootClus": ("BootClus", {"n_bootstrap": 20}, (300, 4)),
}


def make(case):
    """Return the data of a case and its estimator."""
    warnings.simplefilter("ignore")
    name, parameters, shape = CASES[case]
    number = {} if name == "EKNNClus" else {"n_clusters": 4}
    seed = {} if name == "BPEC" else {"random_state": 0}
    return blobs(*shape), getattr(cluster, name)(**number, **parameters, **seed)


class Fits:
    """Fits of each method."""

    params = tuple(CASES)
    param_names = ("method",)

    def setup(self, case):
        """Create the data and the estimator."""
        self.X, self.model = make(case)

    def time_fit(self, case):
        self.model.fit(self.X)

    def peakmem_fit(self, case):
        self.model.fit(self.X)

    def track_objective(self, case):
        return float(self.model.fit(self.X).objective_)


class Predictions:
    """Masses of new samples by a fitted method."""

    params = ("ECM", "CCM", "EVCLUS landmarks")
    param_names = ("method",)

    def setup(self, case):
        """Fit it."""
        self.X, self.model = make(case)
        self.model.fit(self.X)

    def time_predict_mass(self, case):
        self.model.predict_mass(self.X)
