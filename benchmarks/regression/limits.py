"""Ratios of the time of a method to that of its bare arithmetic, measured in one run."""

import time
import warnings
from statistics import median

import numpy as np
from sklearn.cluster import KMeans

from evlearn.belief import FocalSets
from evlearn.cluster import ECM, EVCLUS

from .data import blobs

ROUNDS = 5


def cpu(call):
    """Return the CPU seconds of a call, and its result."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def of_iterations(fit, iterations):
    """Return the CPU seconds per iteration, from the difference between a long and a short fit."""
    (short, first), (long, second) = (cpu(lambda count=count: fit(count)) for count in (2, 2 + iterations))
    return (long - short) / (second.n_iter_ - first.n_iter_)


def ratio(method, bare, n_rounds=ROUNDS):
    """Return the ratio of the median times of a method and a bare loop, timed alternately."""
    rounds = [(method(), bare()) for _ in range(n_rounds)]
    first, second = map(median, zip(*rounds, strict=True))
    return first / second


class ECMIteration:
    """Iterations of ECM with all sets of 4 clusters, and of Lloyd's algorithm: 100,000 samples, 10 features."""

    def setup(self):
        """Draw samples without clusters, so that neither method stops early."""
        warnings.simplefilter("ignore")
        self.X = np.random.default_rng(0).standard_normal((100_000, 10))
        self.start = self.X[:4]

    def track_over_lloyd(self):
        settings = {"init": self.start, "tol": 0, "n_init": 1}
        of_sets = {"focal_sets": "full", "alpha": 1, "beta": 2, "delta": 20}

        def lloyd(count):
            return KMeans(4, max_iter=count, algorithm="lloyd", **settings).fit(self.X)

        def ecm(count):
            return ECM(4, max_iter=count, **settings, **of_sets).fit(self.X)

        return ratio(lambda: of_iterations(ecm, 20), lambda: of_iterations(lloyd, 20))


class EVCLUSSweep:
    """Sweep of EVCLUS over 100,000 samples with 50 partners, and a loop that gathers the same rows."""

    def setup(self):
        """Draw the pairs and the masses."""
        from evlearn.kernels.evclus import gather_graph, sweep_graph

        self.gather, self.sweep = gather_graph, sweep_graph
        random = np.random.default_rng(0)
        n, p, sets = 100_000, 50, FocalSets.simple(4)
        self.C = np.ascontiguousarray(sets.conflict_matrix)
        self.M = random.dirichlet(np.full(len(sets), 0.2), size=n)
        self.Y = np.ascontiguousarray(self.M @ self.C)
        self.graph = (
            np.arange(n + 1, dtype=np.intp) * p,
            random.integers(n, size=n * p, dtype=np.int32),
            random.random(n * p, dtype=np.float32),
            random.permutation(n).astype(np.int32),
        )
        empty, n_sets = np.zeros(0, dtype=np.intp), len(sets)
        self.terms = (np.zeros(n + 1, np.intp), empty, np.zeros(0, np.uint8), np.zeros((2, n_sets, n_sets)), 0.0)

    def track_over_gather(self):
        return ratio(
            lambda: cpu(lambda: self.sweep(self.M, self.Y, self.C, *self.graph, *self.terms))[0],
            lambda: cpu(lambda: self.gather(self.Y, *self.graph))[0],
        )


class LandmarkPass:
    """Masses of 50,000 samples from 500 landmarks, and the products and exponentials that this requires."""

    def setup(self):
        """Fit to a subset of the samples."""
        warnings.simplefilter("ignore")
        self.X = blobs(50_000, 10, dtype="float32")
        self.model = EVCLUS(4, solver="landmark", n_landmarks=500, random_state=0).fit(self.X[:5_000])
        self.landmarks = self.X[:500]
        self.Y = np.random.default_rng(0).random((500, len(self.model.focal_sets_)), dtype=np.float32)

    def track_over_products(self):
        def bare():
            squares = (self.landmarks**2).sum(axis=1)
            for rows in np.array_split(self.X.astype(np.float64), 25):
                distances = (rows**2).sum(axis=1)[:, None] + squares - 2 * rows @ self.landmarks.T
                np.expm1(-0.01 * distances) @ self.Y

        return ratio(lambda: cpu(lambda: self.model.predict_mass(self.X))[0], lambda: cpu(bare)[0])


class NNEVCLUSEpoch:
    """Epoch of 20 mini-batches of 250 samples, and of a loop in plain torch with the same network."""

    def setup(self):
        """Create the data, and load torch."""
        import torch

        from evlearn.neural import NNEVCLUS, Solver

        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.estimator, self.torch = NNEVCLUS, torch
        self.solver = Solver("rmsprop", batch_size=250)
        self.X, self.sets = blobs(5_000, 2, 15), FocalSets.simple(15)

    def track_over_torch(self):
        settings = {"solver": self.solver, "network": (30,), "init": "random"}

        def fit(count):
            model = self.estimator(15, focal_sets=self.sets, max_iter=count, tol=0, random_state=0, **settings)
            return model.fit(self.X)

        def bare():
            return cpu(lambda: [self.step(part) for part in self.parts()])[0] / 10

        self.make_network()
        return ratio(lambda: of_iterations(fit, 10), bare)

    def make_network(self):
        torch = self.torch
        self.network = torch.nn.Sequential(
            torch.nn.Linear(2, 30), torch.nn.ReLU(), torch.nn.Linear(30, len(self.sets))
        )
        self.inputs = torch.as_tensor((self.X - self.X.mean(0)) / self.X.std(0), dtype=torch.float32)
        self.conflict = torch.as_tensor(np.array(self.sets.conflict_matrix), dtype=torch.float32)
        self.optimizer = torch.optim.RMSprop(self.network.parameters(), lr=1e-3, alpha=0.9)

    def parts(self):
        """Return the mini-batches of 10 epochs."""
        return (part for _ in range(10) for part in self.torch.randperm(len(self.X)).chunk(20))

    def step(self, part):
        """Run a step of the bare loop."""
        z = self.inputs[part]
        squares = (z * z).sum(dim=1)
        targets = -self.torch.expm1(-3 * (squares[:, None] + squares[None, :] - 2 * z @ z.T).clamp(min=0))
        self.optimizer.zero_grad()
        masses = self.torch.softmax(self.network(z), dim=1)
        errors = (masses @ self.conflict @ masses.T - targets) ** 2
        loss = (errors.sum() - errors.diagonal().sum()) / (len(part) * (len(part) - 1))
        loss.backward()
        self.optimizer.step()
