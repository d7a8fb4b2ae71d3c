"""Fits and predictions of classifiers."""

import warnings

from evlearn import classify

from .data import blobs

PARAMETERS = {
    "EvidentialKNNClassifier": {"n_neighbors": 10, "alpha": 0.3},
    "EvidentialNeuralClassifier": {"n_prototypes": 5, "max_iter": 20, "random_state": 0},
}


class Classifiers:
    """2,000 samples of 4 classes."""

    params = tuple(PARAMETERS)
    param_names = ("method",)

    def setup(self, name):
        """Create a classifier, and fit another for predictions."""
        warnings.simplefilter("ignore")
        self.X, self.y = blobs(2_000, 4), [row % 4 for row in range(2_000)]
        self.model = getattr(classify, name)(**PARAMETERS[name])
        self.fitted = getattr(classify, name)(**PARAMETERS[name]).fit(self.X, self.y)

    def time_fit(self, name):
        self.model.fit(self.X, self.y)

    def time_predict_mass(self, name):
        self.fitted.predict_mass(self.X)

    def track_objective(self, name):
        return float(self.fitted.objective_)
