"""Loading of models and partitions, and predictions for one row by a loaded model."""

import tempfile
from pathlib import Path

import numpy as np

import evlearn
from evlearn.belief import FocalSets
from evlearn.cluster import ECM, EVCLUS

from .data import blobs

MODELS = {"ECM": ECM(4, random_state=0), "EVCLUS": EVCLUS(4, random_state=0)}


class Models:
    """Models of 300 samples."""

    params = tuple(MODELS)
    param_names = ("method",)

    def setup(self, name):
        """Write the file."""
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "model.json"
        evlearn.save_model(MODELS[name].fit(blobs(300, 10)), self.path)
        self.model, self.row = evlearn.load_model(self.path), blobs(1, 10)

    def teardown(self, name):
        self.folder.cleanup()

    def time_load(self, name):
        evlearn.load_model(self.path)

    def time_predict_one_row(self, name):
        self.model.predict_mass(self.row)


class Partitions:
    """Partitions of 100,000 samples."""

    def setup(self):
        """Write the file."""
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "partition.npz"
        masses = np.random.default_rng(0).dirichlet(np.ones(12), 100_000)
        evlearn.CredalPartition(masses, FocalSets.pairs(4)).save(self.path)

    def teardown(self):
        self.folder.cleanup()

    def time_load(self):
        evlearn.CredalPartition.load(self.path)
