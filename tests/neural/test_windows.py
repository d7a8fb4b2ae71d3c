"""Tests of mini-batches of large data, which are drawn from a few contiguous segments."""

import warnings
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from evlearn.blocks.dataset import ArrayDataset
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_fourclass
from evlearn.neural import NNEVCLUS, Solver, training
from evlearn.neural.training import Batches


class RecordingDataset(ArrayDataset):
    """Dataset that records the indices of requested rows."""

    requests: ClassVar[list] = []

    def take(self, indices):
        RecordingDataset.requests.append(indices)
        return super().take(indices)


def make_epoch(n_samples, n_features=2, validation_fraction=0.0, seed=0, window=None):
    """Return the mini-batches of an epoch, the requested indices, and the training."""
    X = np.random.default_rng(0).standard_normal((n_samples, n_features))
    RecordingDataset.requests.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "_WINDOW", window or training._WINDOW)
        rows = RecordingDataset(X)
        solver = Solver(batch_size=10, validation_fraction=validation_fraction)
        model = NNEVCLUS(2, network=[2], solver=solver, d0=1.0, random_state=0)
        problem = model._make_problem([X], rows, torch.zeros(1), None, None, None, np.random.RandomState(0))
        batches = Batches(10, validation_fraction, 0.01, 1, 1, 0.0, seed, False)
        network = model._make_network(problem, 0)
        run = training.BatchTraining(network, problem.samples, problem.losses, problem.side_information, batches)
        RecordingDataset.requests.clear()
        parts = []
        for part, _ in run._make_batches(np.random.RandomState(seed)):
            parts.append(part)
            inputs = problem.samples.network_inputs(part).inputs.numpy()
            np.testing.assert_allclose(inputs, problem.reader.inputs(X[part]), rtol=1e-5)
        return parts, list(RecordingDataset.requests), run


@given(st.integers(10, 400), st.integers(1, 5), st.integers(100, 3000), st.sampled_from([0.0, 0.2]))
@settings(max_examples=8, deadline=None)
@pytest.mark.slow
def test_an_epoch_sees_every_sample_once_and_reads_it_once(n_samples, n_features, window, validation_fraction):
    parts, requests, run = make_epoch(n_samples, n_features, validation_fraction, window=window)
    expected = np.arange(n_samples) if isinstance(run._train, range) else run._train
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), expected)
    np.testing.assert_array_equal(np.sort(np.concatenate(requests)), expected)
    assert len(requests) == run._n_windows == -(-len(expected) * n_features // window)
    assert len(parts) == run._n_parts
    assert all((np.diff(indices) > 0).all() for indices in requests)


def test_each_read_has_few_contiguous_segments():
    _, requests, _ = make_epoch(8000, window=4000)
    assert len(requests) == 4
    for indices in requests:
        assert (np.diff(indices) > 1).sum() < training._SEGMENTS_PER_WINDOW


def test_samples_of_one_window_are_shuffled_together():
    (parts, _, _), (others, _, _) = make_epoch(500), make_epoch(500, seed=1)
    random = np.random.RandomState(0)
    np.testing.assert_array_equal(np.concatenate(parts), random.permutation(500))
    assert (np.concatenate(parts) != np.concatenate(others)).any()


@pytest.mark.parametrize("kind", ["nothing", "labels", "constraints"])
@pytest.mark.slow
def test_windows_give_the_same_from_memory_and_from_a_file(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "_WINDOW", 800)
    X, y = make_fourclass(1200, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.to_parquet(tmp_path / "x.parquet")
    options = {
        "nothing": {},
        "labels": {"labels": np.where(np.arange(1200) % 40 == 0, y, -1)},
        "constraints": {"constraints": PairwiseConstraints.sample(y, 30, random_state=0)},
    }[kind]
    settings = {"solver": Solver("rmsprop", patience=100), "max_iter": 3, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        memory = NNEVCLUS(4, **settings).fit(frame, **options)
        file = NNEVCLUS(4, **settings).fit(tmp_path / "x.parquet", **options)
    np.testing.assert_allclose(file.objective_history_, memory.objective_history_, rtol=1e-3)
    np.testing.assert_allclose(file.predict_mass(frame).masses, memory.masses_, atol=0.02)


@pytest.mark.slow
def test_windows_of_sorted_samples_lead_to_as_low_a_loss(monkeypatch):
    X, y = make_fourclass(4000, random_state=0)
    X = X[np.argsort(y, kind="stable")]
    settings = {"solver": Solver("rmsprop", patience=100), "max_iter": 12, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole = NNEVCLUS(4, **settings).fit(X)
        monkeypatch.setattr(training, "_WINDOW", 1600)
        windows = NNEVCLUS(4, **settings).fit(X)
    assert windows.objective_ < 1.1 * whole.objective_
    assert adjusted_rand_score(windows.labels_, whole.labels_) > 0.8


def test_masses_need_not_be_stored():
    X, _ = make_fourclass(100, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = NNEVCLUS(4, max_iter=2, random_state=0, store_masses=False).fit(X)
        stored = NNEVCLUS(4, max_iter=2, random_state=0).fit(X)
    assert not hasattr(model, "labels_")
    np.testing.assert_array_equal(model.predict(X), stored.labels_)
