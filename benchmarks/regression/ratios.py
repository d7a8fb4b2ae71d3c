"""Ratios of the time of a method to that of a scikit-learn method on the same data, measured in one run."""

import os
import subprocess
import sys
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier

from evlearn.classify import EvidentialForestClassifier
from evlearn.cluster import CCM, EVCLUS, EKNNClus
from evlearn.conformal import ConformalClusterer
from evlearn.model_selection import select_n_clusters

from .limits import cpu, ratio

CLUSTERS, FEATURES = 5, 8
LONG_ROUNDS = 3  # of cases that take seconds
FIRST_FIT = """
import time
import numpy as np
from {module} import {name}
{name}(3, random_state=0).fit(np.random.default_rng(0).normal(size=(150, 4)))
print(time.process_time())
"""


def sample(n_samples):
    """Return samples of 5 clusters with 2 % outliers, and their clusters."""
    random = np.random.default_rng(0)
    centers, labels = 3 * random.standard_normal((CLUSTERS, FEATURES)), random.integers(CLUSTERS, size=n_samples)
    X = centers[labels] + random.standard_normal((n_samples, FEATURES))
    n_outliers = n_samples // 50
    X[:n_outliers] = random.uniform(-10, 10, (n_outliers, FEATURES))
    return X, labels


def seconds(call):
    """Return a function that measures the CPU seconds of a call."""
    return lambda: cpu(call)[0]


class SmallFit:
    """Fit of CCM, and of k-means with 10 starts."""

    params = ("150", "1000", "10000")
    param_names = ("samples",)

    def setup(self, n_samples):
        """Draw the samples, and load both methods."""
        warnings.simplefilter("ignore")
        self.X = sample(int(n_samples))[0]
        self._fit()

    def track_over_kmeans(self, n_samples):
        return ratio(seconds(self._fit), seconds(lambda: KMeans(CLUSTERS, n_init=10, random_state=0).fit(self.X)))

    def _fit(self):
        return CCM(CLUSTERS, random_state=0).fit(self.X)


class Forest:
    """Evidential forest, and a random forest with as many trees and out-of-bag predictions; 5,000 samples."""

    def setup(self):
        """Draw the samples, and fit both forests."""
        self.X, self.y = sample(5_000)
        self.model = EvidentialForestClassifier(random_state=0)
        self.other = RandomForestClassifier(200, oob_score=True, random_state=0)
        self.model.fit(self.X, self.y)
        self.other.fit(self.X, self.y)

    def track_fit_over_random_forest(self):
        return ratio(
            seconds(lambda: self.model.fit(self.X, self.y)),
            seconds(lambda: self.other.fit(self.X, self.y)),
            LONG_ROUNDS,
        )

    def track_masses_over_probabilities(self):
        return ratio(
            seconds(lambda: self.model.predict_mass(self.X)), seconds(lambda: self.other.predict_proba(self.X))
        )


class Replications:
    """Conformal clusters of CCM, and a fit of CCM; 1,000 samples."""

    def setup(self):
        """Draw the samples."""
        warnings.simplefilter("ignore")
        self.X = sample(1_000)[0]

    def track_over_kmeans(self):
        """Return the ratio to k-means with 10 starts, which does not change with the cost of CCM."""
        kmeans = seconds(lambda: KMeans(CLUSTERS, n_init=10, random_state=0).fit(self.X))
        return ratio(
            seconds(lambda: ConformalClusterer(CCM(CLUSTERS), random_state=0).fit(self.X)), kmeans, LONG_ROUNDS
        )


class Selection:
    """Selection of the number of clusters of 10,000 samples."""

    def setup(self):
        """Draw the samples."""
        warnings.simplefilter("ignore")
        self.X = sample(10_000)[0]

    def time_select(self):
        select_n_clusters(CCM(), self.X, random_state=0)


class Predictions:
    """Clusters of 20,000 samples by EVCLUS and by k-means."""

    def setup(self):
        """Fit both to 1,000 samples."""
        warnings.simplefilter("ignore")
        X, self.X = sample(1_000)[0], sample(20_000)[0]
        self.model = EVCLUS(CLUSTERS, random_state=0).fit(X)
        self.other = KMeans(CLUSTERS, random_state=0).fit(X)

    def track_over_kmeans(self):
        return ratio(
            seconds(lambda: self.model.predict(self.X)),
            lambda: cpu(lambda: [self.other.predict(self.X) for _ in range(5)])[0] / 5,
        )


class Growth:
    """Fits of EK-NNclus to 1,000 and 10,000 samples."""

    def setup(self):
        """Draw the samples."""
        warnings.simplefilter("ignore")
        self.small, self.large = sample(1_000)[0], sample(10_000)[0]

    def track_exponent(self):
        def fit(X):
            return seconds(lambda: EKNNClus(random_state=0).fit(X))

        return float(np.log10(ratio(fit(self.large), fit(self.small), LONG_ROUNDS)))


class FirstFit:
    """First fit of a new process: CCM and k-means, with modules in byte code, as after an installation."""

    def track_over_kmeans(self):
        return ratio(self._program("evlearn.cluster", "CCM"), self._program("sklearn.cluster", "KMeans"))

    def _program(self, module, name):
        code = FIRST_FIT.format(module=module, name=name)
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        return lambda: float(subprocess.check_output([sys.executable, "-c", code], text=True, env=environment))
