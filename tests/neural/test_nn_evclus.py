"""Tests of `NNEVCLUS`."""

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from evlearn import watching
from evlearn.belief import FocalSets
from evlearn.cluster import ECM, EVCLUS, FocalFamily, Quantile, neighbor_pairs
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_fourclass
from evlearn.neural import NNEVCLUS, Solver
from evlearn.plotting import MassContourDisplay, ObjectiveDisplay, PairsDisplay
from evlearn.storage.archives import digest_of_arrays, header_array, read_archive, write_archive
from evlearn.utils.parameters import with_switches

X, Y = make_fourclass(200, random_state=0)
MANY_SAMPLES = make_fourclass(2000, random_state=1)[0]
quick = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def model():
    return NNEVCLUS(4, focal_sets="pairs", random_state=0).fit(X)


@parametrize_with_checks([NNEVCLUS(max_iter=30), NNEVCLUS(solver="rmsprop", max_iter=20, outlier_model="svm")])
@quick
@pytest.mark.slow
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# Results


@pytest.mark.slow
def test_masses_are_masses_and_predictions_are_the_same_map(model):
    masses = model.masses_
    assert masses.shape == (200, 12)
    assert (masses >= 0).all()
    np.testing.assert_allclose(masses.sum(axis=1), 1, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(model.predict_mass(X).masses, masses)
    np.testing.assert_array_equal(model.predict(X[:7]), model.labels_[:7])
    assert model.converged_
    assert (np.diff(model.objective_history_) <= 0).all()


@pytest.mark.slow
def test_free_masses_have_a_lower_loss(model):
    transform = Transform("exponential", model.d0_, d1=model.d1_)
    settings = {"dissimilarity_transform": transform, "loss": "mse", "n_init": 3, "random_state": 0}
    free = EVCLUS(4, focal_sets="pairs", **settings).fit(X)
    assert free.objective_ <= model.objective_ <= 3 * free.objective_


def test_the_loss_is_that_of_the_masses(model):
    conflicts = model.masses_ @ model.focal_sets_.conflict_matrix @ model.masses_.T
    targets = Transform("exponential", model.d0_, d1=model.d1_)(pairwise_distances(X))
    loss = ((conflicts - targets) ** 2)[~np.eye(200, dtype=bool)].mean()
    assert model.objective_ == pytest.approx(loss, rel=1e-9)


def test_clusters_are_found(model):
    assert adjusted_rand_score(Y, model.labels_) > 0.6
    assert model.credal_partition_.summary().n_torn > 10


@pytest.mark.slow
@quick
@pytest.mark.parametrize("solver", ["lbfgs", "adam", "rmsprop"])
def test_the_same_seed_gives_the_same_bits_whatever_the_workers(solver):
    def masses(**settings):
        return NNEVCLUS(4, solver=solver, max_iter=20, **settings).fit(X).masses_

    first = masses(random_state=3)
    for n_jobs in (1, 2):
        np.testing.assert_array_equal(masses(random_state=3, n_jobs=n_jobs), first)
    assert not np.array_equal(masses(random_state=4), first)


@quick
@pytest.mark.slow
def test_the_threads_and_random_state_of_torch_do_not_change():
    before, state = torch.get_num_threads(), torch.get_rng_state()
    NNEVCLUS(2, max_iter=10, random_state=0).fit(X)
    NNEVCLUS(2, max_iter=2, random_state=0, solver="rmsprop").fit(X)
    assert torch.get_num_threads() == before
    assert torch.equal(torch.get_rng_state(), state)


@quick
@pytest.mark.slow
def test_translation_and_scale_of_the_data_change_nothing():
    plain = NNEVCLUS(4, random_state=0, max_iter=40).fit(X)
    transformed = NNEVCLUS(4, random_state=0, max_iter=40).fit(X * 4 + 1000)
    np.testing.assert_allclose(transformed.masses_, plain.masses_, rtol=0, atol=1e-3)


@pytest.mark.slow
def test_renumbered_labels_renumber_the_clusters():
    labels = np.where(np.arange(200) % 5 == 0, Y, -1)
    model = NNEVCLUS(4, random_state=0).fit(X, labels=labels)
    assert (model.labels_[labels >= 0] == label_numbers(labels)).mean() > 0.85
    swapped = np.where(labels >= 0, 10 - labels, -1)
    renumbered = NNEVCLUS(4, random_state=0).fit(X, labels=swapped)
    assert (renumbered.labels_[labels >= 0] == label_numbers(swapped)).mean() > 0.85


def label_numbers(labels):
    return np.unique(labels[labels >= 0], return_inverse=True)[1]


# Types of data


@quick
def test_frames_keep_names():
    names = [f"row {k}" for k in range(200)]
    plain = NNEVCLUS(4, max_iter=10, random_state=0).fit(X)
    frame = pd.DataFrame(X, columns=["a", "b"], index=names)
    model = NNEVCLUS(4, max_iter=10, random_state=0).fit(frame)
    np.testing.assert_allclose(model.masses_, plain.masses_, rtol=0, atol=1e-5)  # sums in another order
    assert list(model.credal_partition_.sample_names) == names
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert NNEVCLUS(4, max_iter=10, random_state=0).fit(pl.DataFrame(X, schema=["a", "b"])).n_features_in_ == 2


@pytest.mark.slow
@quick
def test_parquet_files_chunks_and_memory_give_the_same_answer(tmp_path):
    settings = {"max_iter": 3, "random_state": 0, "solver": "rmsprop", "dtype": "float64", "outlier_model": "svm"}
    memory = NNEVCLUS(4, **settings).fit(MANY_SAMPLES)
    frame = pd.DataFrame(MANY_SAMPLES, columns=["a", "b"])
    frame.to_parquet(tmp_path / "x.parquet")
    parquet = NNEVCLUS(4, **settings).fit(tmp_path / "x.parquet")
    chunks = NNEVCLUS(4, **settings).fit(np.array_split(MANY_SAMPLES, 7))
    for model, rows in ((parquet, frame), (chunks, MANY_SAMPLES)):
        assert model.objective_ == pytest.approx(memory.objective_, rel=1e-6)
        np.testing.assert_allclose(model.predict_mass(rows).masses, memory.masses_, rtol=0, atol=1e-5)
    out = parquet.predict_mass(tmp_path / "x.parquet", out=tmp_path / "masses.npy")
    np.testing.assert_allclose(out.masses, memory.masses_, rtol=0, atol=1e-5)
    with pytest.raises(AttributeError, match="stored only for data in memory"):
        _ = parquet.masses_


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # warnings at the shutdown of a Dask cluster do not matter
@pytest.mark.xdist_group("a cluster of processes")
def test_data_on_a_cluster_give_the_same_answer(tmp_path):
    distributed = pytest.importorskip("distributed")
    array = pytest.importorskip("dask.array").from_array(MANY_SAMPLES, chunks=(500, 2))
    settings = {"max_iter": 2, "random_state": 0, "solver": "rmsprop"}
    memory = NNEVCLUS(4, **settings).fit(MANY_SAMPLES)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        model = NNEVCLUS(4, **settings).fit(array)
        assert model.objective_ == pytest.approx(memory.objective_, rel=1e-5)
        assert (model.labels_.compute() == memory.labels_).mean() > 0.999
        np.testing.assert_array_equal(memory.predict(array).compute(), memory.labels_)
        # Files are copied locally, for any number of workers.
        pd.DataFrame(MANY_SAMPLES, columns=["x", "y"]).to_parquet(tmp_path / "many.parquet")
        streamed = NNEVCLUS(4, **settings).fit(tmp_path / "many.parquet")
        assert streamed.objective_ == memory.objective_


@quick
def test_single_precision_stays_single():
    model = NNEVCLUS(4, max_iter=10, random_state=0).fit(X.astype(np.float32))
    assert model.masses_.dtype == np.float32
    np.testing.assert_allclose(model.masses_.sum(axis=1), 1, rtol=0, atol=1e-6)


@pytest.mark.slow
def test_dissimilarities_alone_are_enough():
    D = pairwise_distances(X)
    model = with_switches(NNEVCLUS(4, metric="precomputed", random_state=0), n_components=2).fit(D)
    new = make_fourclass(50, random_state=5)[0]
    assert adjusted_rand_score(Y, model.labels_) > 0.6
    direct = NNEVCLUS(4, random_state=0).fit(X)
    distances = pairwise_distances(new, X)
    assert adjusted_rand_score(model.predict(distances), direct.predict(new)) > 0.8


@pytest.mark.slow
@quick
@pytest.mark.parametrize("solver", ["lbfgs", "rmsprop"])
def test_dissimilarities_may_be_a_matrix_a_function_or_a_transformer(solver):
    scaler = StandardScaler().fit(X)
    settings = {"random_state": 0, "max_iter": 10, "solver": solver}
    features = scaler.transform(X)
    results = [
        NNEVCLUS(4, **settings).fit(X, dissimilarities=dissimilarities).masses_
        for dissimilarities in (
            scaler,
            pairwise_distances(features),
            lambda a, b: pairwise_distances(scaler.transform(a), scaler.transform(b)),
        )
    ]
    plain = NNEVCLUS(4, **settings).fit(X)
    for masses in results[1:]:
        np.testing.assert_allclose(masses, results[0], rtol=0, atol=2e-2 if solver == "rmsprop" else 1e-3)
    assert not np.allclose(results[0], plain.masses_, atol=1e-2)


@quick
@pytest.mark.parametrize("transform", ["linear", "rank", lambda d: np.minimum(d / 9, 1)])
@pytest.mark.parametrize("solver", ["lbfgs", "rmsprop"])
def test_other_transforms_and_metrics_work(transform, solver):
    settings = {"metric": "cityblock", "max_iter": 30 if solver == "lbfgs" else 8, "random_state": 0}
    model = NNEVCLUS(4, dissimilarity_transform=transform, solver=solver, **settings).fit(X)
    assert adjusted_rand_score(Y, model.labels_) > 0.4


@pytest.mark.slow
@quick
@pytest.mark.parametrize("n_partners", [20, 5])
def test_some_partners_are_enough(n_partners):
    model = NNEVCLUS(4, focal_sets="pairs", n_partners=n_partners, random_state=0, max_iter=300).fit(X)
    assert adjusted_rand_score(Y, model.labels_) > 0.6


# Networks


class Small(torch.nn.Module):
    def __init__(self, n_outputs):
        super().__init__()
        self.first = torch.nn.Linear(2, 8)
        self.norm = torch.nn.LayerNorm(8)
        self.last = torch.nn.Linear(8, n_outputs)

    def forward(self, inputs):
        return self.last(torch.tanh(self.norm(self.first(inputs))))


@pytest.mark.slow
def test_any_network_is_trained_and_the_given_one_stays_as_it_is():
    network = Small(6)
    before = copy.deepcopy(network.state_dict())
    model = NNEVCLUS(4, network=network, random_state=0).fit(X)
    assert adjusted_rand_score(Y, model.labels_) > 0.6
    assert all(torch.equal(before[name], weights) for name, weights in network.state_dict().items())
    assert isinstance(model.network_.body, Small)
    second = clone(model).fit(X)
    np.testing.assert_array_equal(second.masses_, model.masses_)


def test_a_wrong_number_of_outputs_raises_an_error_with_the_right_number():
    message = r"network must have 6 outputs for each row, one for each focal set \(∅, \{0\}.*, got shape \(5,\)"
    with pytest.raises(ValueError, match=message):
        NNEVCLUS(4, network=Small(5), random_state=0).fit(X)


@quick
@pytest.mark.slow
def test_hidden_layers_have_the_given_sizes():
    model = NNEVCLUS(3, network=(7, 5), max_iter=10, random_state=0).fit(X)
    assert [part.out_features for part in model.network_.body[::2]] == [7, 5, 5]
    assert NNEVCLUS(3, max_iter=10, random_state=0).fit(X).network_.body[0].out_features == 8


@pytest.mark.slow
@quick
def test_large_weights_are_discouraged():
    def size(l2):
        model = NNEVCLUS(4, l2=l2, random_state=0, max_iter=100).fit(X)
        return sum(float((weights.detach() ** 2).sum()) for weights in model.network_.parameters())

    assert size(1e-2) < 0.7 * size(0)


# Outliers


@pytest.mark.slow
@pytest.mark.parametrize("link", ["r", "paper"])
@pytest.mark.parametrize("outlier_model", ["svm", IsolationForest(random_state=0)])
def test_rows_far_from_the_data_have_mass_on_the_empty_set(link, outlier_model):
    model = with_switches(NNEVCLUS(4, outlier_model=outlier_model, random_state=0), outlier_link=link).fit(X)
    remote = model.predict_mass([[80.0, 0.0], [-50.0, 60.0], [0.0, -90.0]])
    training_masses = model.predict_mass(X).masses[:, 0]
    assert (remote.masses[:, 0] > np.quantile(training_masses, 0.9)).all()
    if outlier_model == "svm" and link == "r":
        assert remote.outliers().all()
        assert 0 < model.credal_partition_.outliers().sum() < 20


# Labels and constraints


@pytest.mark.slow
def test_labels_and_constraints_are_followed():
    random = np.random.RandomState(0)
    B = np.vstack([random.normal(size=(60, 2)), random.normal((3, 0), size=(60, 2))])
    halves = (B[:, 1] > 0).astype(int)  # independent of the clusters
    labels = np.full(120, -1)
    labels[::3] = halves[::3]
    settings = {"random_state": 0, "network": (20,), "focal_sets": "full"}
    free = NNEVCLUS(2, **settings).fit(B)
    labeled = NNEVCLUS(2, label_weight=0.9, **settings).fit(B, labels=labels)
    score = [adjusted_rand_score(halves[::3], model.labels_[::3]) for model in (free, labeled)]
    assert score[0] < 0.2 < 0.8 < score[1]
    constraints = PairwiseConstraints.sample(halves, 150, random_state=0)
    constrained = NNEVCLUS(2, constraint_weight=5.0, **settings).fit(B, constraints=constraints)
    assert len(constraints.violations(constrained.labels_)) < 0.5 * len(constraints.violations(free.labels_))


@quick
@pytest.mark.slow
def test_labels_and_constraints_work_in_mini_batches():
    labels = np.where(np.arange(len(MANY_SAMPLES)) % 20 == 0, 0, -1)
    truth = make_fourclass(2000, random_state=1)[1]
    labels = np.where(labels == 0, truth, -1)
    constraints = PairwiseConstraints.sample(truth, 300, random_state=0)
    model = NNEVCLUS(4, max_iter=30, random_state=0).fit(MANY_SAMPLES, labels=labels, constraints=constraints)
    assert (model.labels_[labels >= 0] == label_numbers(labels)).mean() > 0.8


@pytest.mark.slow
@quick
@pytest.mark.parametrize("guide", ["peaks", "evclus"])
@pytest.mark.parametrize("init", ["evclus", "random"])
def test_guides_lead_to_all_clusters(guide, init):
    random = np.random.RandomState(0)
    centers = np.array([(x, y) for x in range(4) for y in range(3)]) * 10.0
    truth = random.randint(12, size=1200)
    B = centers[truth] + random.normal(size=(1200, 2))
    model = NNEVCLUS(12, d0=Quantile(0.1), init=(init, guide), network=(40,), max_iter=60, random_state=0).fit(B)
    assert adjusted_rand_score(truth, model.labels_) > 0.85


# Long trainings


@pytest.mark.slow
@quick
def test_held_out_pairs_determine_the_end():
    model = NNEVCLUS(4, solver=Solver(validation_fraction=0.2), max_iter=40, random_state=0).fit(MANY_SAMPLES)
    assert model.objective_ == model.objective_history_[1:].min()
    assert model.n_iter_ == len(model.objective_history_) - 1


@quick
def test_the_best_weights_are_kept():
    model = NNEVCLUS(4, solver=Solver("adam", learning_rate=0.5), max_iter=60, init="random", random_state=0).fit(
        X
    )
    targets = Transform("exponential", model.d0_, d1=model.d1_)(pairwise_distances(X))
    conflicts = model.masses_ @ model.focal_sets_.conflict_matrix @ model.masses_.T
    loss = ((conflicts - targets) ** 2)[~np.eye(200, dtype=bool)].mean()
    assert model.objective_ == model.objective_history_[::10].min() == pytest.approx(loss, rel=1e-4)


@pytest.mark.slow
@quick
def test_more_starts_are_never_worse():
    single = NNEVCLUS(4, init="random", random_state=1, max_iter=50).fit(X)
    multiple = NNEVCLUS(4, init="random", n_init=3, random_state=1, max_iter=50).fit(X)
    assert multiple.objective_ <= single.objective_


@pytest.mark.slow
def test_an_unfinished_training_warns():
    with pytest.warns(ConvergenceWarning, match="the loss still changed after max_iter=3 iterations"):
        NNEVCLUS(4, max_iter=3, random_state=0).fit(MANY_SAMPLES)


@pytest.mark.parametrize("solver", ["lbfgs", "rmsprop"])
def test_an_interrupt_keeps_the_best_so_far(solver):
    def stop(progress):
        if progress.estimator == "NNEVCLUS" and progress.n_done >= 3:
            raise KeyboardInterrupt

    with watching(stop), pytest.warns(ConvergenceWarning, match="interrupted after"):
        model = NNEVCLUS(4, solver=solver, n_init=2, random_state=0).fit(X)
    assert adjusted_rand_score(Y, model.labels_) > 0.4


@quick
def test_progress_is_shown(capsys):
    NNEVCLUS(4, solver="rmsprop", max_iter=4, verbose=1, random_state=0).fit(X)
    lines = capsys.readouterr().out.strip().splitlines()
    assert len(lines) == 4
    assert lines[1].startswith("NNEVCLUS iteration    2   objective 0.0")


SCRIPT = """
    import sys, warnings
    import numpy as np
    warnings.simplefilter("ignore")
    import evlearn.storage.checkpoints
    evlearn.storage.checkpoints._SECONDS = 0.0  # a checkpoint after every epoch
    from evlearn.neural import NNEVCLUS, Solver
    data, checkpoint, result = sys.argv[1:]
    options = dict(solver=Solver(patience=60), max_iter=60, checkpoint=checkpoint, outlier_model="svm")
    model = NNEVCLUS(4, random_state=1, **options)
    model.fit(np.load(data))
    np.savez(result, history=model.objective_history_, masses=model.masses_)
"""


@pytest.mark.slow
def test_a_killed_training_is_resumed_with_the_same_bits(tmp_path):
    np.save(tmp_path / "x.npy", MANY_SAMPLES)
    (tmp_path / "fit.py").write_text(textwrap.dedent(SCRIPT))
    checkpoint = tmp_path / "fit.checkpoint"

    def start(result):
        arguments = [tmp_path / "x.npy", checkpoint, tmp_path / result]
        return subprocess.Popen([sys.executable, tmp_path / "fit.py", *map(str, arguments)])

    first = start("never.npz")
    while not checkpoint.exists() and first.poll() is None:
        time.sleep(0.01)
    time.sleep(0.2)
    assert first.poll() is None, "the training was over before it could be killed"
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert checkpoint.exists()
    assert start("resumed.npz").wait() == 0
    assert not checkpoint.exists()
    assert start("whole.npz").wait() == 0
    with np.load(tmp_path / "resumed.npz") as resumed, np.load(tmp_path / "whole.npz") as whole:
        for name in resumed.files:
            np.testing.assert_array_equal(resumed[name], whole[name])


@pytest.mark.slow
def test_a_checkpoint_stays_until_the_masses_are_stored(tmp_path, monkeypatch):
    monkeypatch.setattr("evlearn.storage.checkpoints._SECONDS", 0.0)
    path, masses_file, rows = tmp_path / "state", tmp_path / "m.npy", MANY_SAMPLES[:300]
    files = {"checkpoint": path, "store_masses": masses_file}
    model = NNEVCLUS(2, solver=Solver("rmsprop", patience=30), init="random", max_iter=30, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        expected = model.fit(rows).masses_
        epochs = []
        with watching(lambda event: event.estimator == "NNEVCLUS" and epochs.append(event.n_done)):
            with monkeypatch.context() as patch:
                patch.setattr("evlearn.blocks.targets.NpyTarget.finish", full_disk)
                with pytest.raises(OSError, match=r"m\.npy could not be written: no space left"):
                    model.set_params(**files).fit(rows)
            assert os.listdir(tmp_path) == ["state"]
            n_epochs = len(epochs)
            masses = model.fit(rows).masses_
    assert len(epochs) - n_epochs < n_epochs / 2, "the training was not resumed at its end"
    np.testing.assert_array_equal(masses, expected)
    assert os.listdir(tmp_path) == ["m.npy"]


def full_disk(target):
    raise OSError("no space left")


@pytest.mark.slow
def test_a_checkpoint_of_another_training_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("evlearn.storage.checkpoints._SECONDS", 0.0)

    def stop(progress):
        if progress.estimator == "NNEVCLUS" and progress.n_done == 2:
            raise KeyboardInterrupt

    path = tmp_path / "state"
    with watching(stop), pytest.warns(ConvergenceWarning, match="interrupted"):
        NNEVCLUS(4, checkpoint=path, random_state=0).fit(MANY_SAMPLES)
    with pytest.raises(ValueError, match=r"belongs to another fit: l2 was 0\.0 and is 0\.5 now"):
        NNEVCLUS(4, checkpoint=path, random_state=0, l2=0.5).fit(MANY_SAMPLES)
    with pytest.raises(ValueError, match="belongs to another fit: method was 'NNEVCLUS' and is 'ECM' now"):
        ECM(4, checkpoint=path, random_state=0).fit(MANY_SAMPLES)
    settings = {"n_clusters": 4, "checkpoint": path, "random_state": 0}
    with pytest.raises(ValueError, match="dissimilarity_transform was 'exponential' and is 'linear' now"):
        NNEVCLUS(**settings, dissimilarity_transform="linear").fit(MANY_SAMPLES)
    with pytest.raises(ValueError, match="belongs to another fit: max_iter was 1000 and is 5"):
        NNEVCLUS(**settings, max_iter=5).fit(MANY_SAMPLES)
    other = MANY_SAMPLES.copy()
    other[len(MANY_SAMPLES) // 2] += 1e-9
    with pytest.raises(ValueError, match="belongs to another fit: data was"):
        NNEVCLUS(**settings).fit(other)
    with pytest.raises(ValueError, match="belongs to another fit: dissimilarities was None"):
        NNEVCLUS(**settings).fit(MANY_SAMPLES, dissimilarities=manhattan)
    with pytest.raises(ValueError, match="belongs to another fit: labels was"):
        NNEVCLUS(**settings).fit(MANY_SAMPLES, labels=np.where(np.arange(len(MANY_SAMPLES)) < 2, 0, -1))
    with pytest.raises(ValueError, match="checkpoint needs n_init=1 and a number as random_state"):
        NNEVCLUS(4, checkpoint=path).fit(MANY_SAMPLES)


def manhattan(first, second):
    return pairwise_distances(first, second, metric="manhattan")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda s: s.pop("rate"), "lacks 'rate'"),
        (lambda s: s.update(more=np.ones(1)), "must not have 'more'"),
        (lambda s: s.update(counts=np.array([0, 0, 9, 0])), "history must have shape"),
        (lambda s: s.update(counts=np.array([0, 0, -9, 0])), "counts must"),
        (lambda s: s.update(rate=np.array(np.nan)), "rate must hold finite numbers"),
        (lambda s: s.update(rate=np.array(1e300)), "rate must be above 0 and at most"),
        (lambda s: s.update(rate=np.array(0.0)), "rate must be above 0 and at most"),
        (lambda s: s.update(step_0=np.ones(2)), "step_0 must"),
        (lambda s: s.update(squares_0=np.ones((1, 1))), "squares_0 must have shape"),
        (lambda s: s.update(squares_0=-s["squares_0"] - 1), "squares_0 must hold"),
        (lambda s: s.update({"now_body.0.weight": np.ones((1, 1))}), "now_body.0.weight must have shape"),
        (
            lambda s: s.update({"best_body.0.weight": s["best_body.0.weight"] * np.inf}),
            "best_body.0.weight must hold",
        ),
    ],
)
def test_a_checkpoint_whose_numbers_do_not_fit_the_network_is_refused(tmp_path, monkeypatch, change, reason):
    monkeypatch.setattr("evlearn.storage.checkpoints._SECONDS", 0.0)
    path, rows = tmp_path / "state", MANY_SAMPLES[:300]
    model = NNEVCLUS(2, solver="rmsprop", init="random", checkpoint=path, random_state=0)

    def stop(progress):
        if progress.n_done == 2:
            raise KeyboardInterrupt

    with watching(stop), pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(rows)
    with path.open("rb") as file:
        state = read_archive(file, ("|u1", "<i8", "<f4", "<f8"))
    header = json.loads(state.pop("header").tobytes())
    change(state)
    header["digest"] = digest_of_arrays(state)
    with path.open("wb") as file:
        write_archive(file, {"header": header_array(header), **state})
    with pytest.raises(ValueError, match=f"^checkpoint state is not a state.*{reason}.*delete this file"):
        model.fit(rows)


PROCESSES = """
    import sys, warnings
    import numpy as np
    import torch.distributed as dist
    warnings.simplefilter("ignore")
    from evlearn.neural import NNEVCLUS
    dist.init_process_group("gloo")
    data, result = sys.argv[1:]
    X = np.load(data)
    settings = dict(max_iter=6, random_state=0, dtype="float64", outlier_model="svm", l2=1e-4)
    model = NNEVCLUS(4, focal_sets="pairs", init=("evclus", "peaks"), **settings).fit(X)
    if dist.get_rank() == 0:
        np.savez(result, history=model.objective_history_, masses=model.masses_)
    # Without a seed, processes share one, and a file is written once.
    unseeded = NNEVCLUS(4, max_iter=2, store_masses=result + ".npy").fit(X)
    histories = [None, None]
    dist.all_gather_object(histories, unseeded.objective_history_.tolist())
    assert histories[0] == histories[1]
    assert hasattr(unseeded, "masses_") == (dist.get_rank() == 0)
    dist.destroy_process_group()
"""


@pytest.mark.slow
@quick
def test_two_processes_have_the_loss_of_one(tmp_path):
    np.save(tmp_path / "x.npy", MANY_SAMPLES)
    (tmp_path / "fit.py").write_text(textwrap.dedent(PROCESSES))
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    arguments = [tmp_path / "fit.py", tmp_path / "x.npy", tmp_path / "two.npz"]
    outcome = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, timeout=240)
    assert outcome.returncode == 0, outcome.stderr
    settings = {"max_iter": 6, "random_state": 0, "dtype": "float64", "outlier_model": "svm", "l2": 1e-4}
    single = NNEVCLUS(4, focal_sets="pairs", init=("evclus", "peaks"), **settings).fit(MANY_SAMPLES)
    with np.load(tmp_path / "two.npz") as arrays:
        np.testing.assert_allclose(arrays["history"], single.objective_history_, rtol=1e-9)
        np.testing.assert_allclose(arrays["masses"], single.masses_, rtol=0, atol=1e-8)


# Pickles, figures and errors


def test_a_fitted_model_can_be_pickled(model):
    second = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(second.predict_mass(X).masses, model.masses_)


def test_pictures_can_be_drawn(model):
    assert len(PairsDisplay.from_estimator(model).axes_) == 1
    objective = ObjectiveDisplay.from_estimator(model)
    assert objective.line_.get_xdata()[[0, -1]].tolist() == [0, model.n_iter_]
    assert f"converged after {model.n_iter_} iterations" in objective.line_.get_label()
    assert MassContourDisplay.from_estimator(model, X) is not None


@pytest.mark.slow
def test_without_torch_the_error_says_what_to_install():
    code = "import sys; sys.modules['torch'] = None; import evlearn; import evlearn.neural"
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert outcome.returncode == 1
    assert outcome.stderr.strip().endswith(
        "ImportError: evlearn.neural needs PyTorch; install it with `pip install 'evidential-learn[neural]'`."
    )


# Pairs of a second step, and initial weights


@pytest.mark.slow
def test_pairs_are_chosen_from_a_simple_fit_and_lower_its_loss():
    simple = NNEVCLUS(4, random_state=0).fit(X)
    model = NNEVCLUS(4, focal_sets=FocalFamily("neighbor_pairs", n_neighbors=2), random_state=0).fit(X)
    pairs = [subset for subset in model.focal_sets_ if len(subset) == 2]
    assert pairs == neighbor_pairs(simple.credal_partition_, n_neighbors=2).pairs
    assert len(pairs) < 6
    assert model.objective_ < 0.8 * simple.objective_
    assert (model.labels_ == simple.labels_).mean() > 0.9  # clusters keep their numbers


@quick
@pytest.mark.slow
def test_mini_batches_and_labels_choose_pairs_too():
    labels = np.where(np.arange(200) % 10 == 0, Y, -1)
    settings = {"solver": "rmsprop", "focal_sets": "neighbor_pairs", "max_iter": 20, "random_state": 0}
    model = NNEVCLUS(4, **settings).fit(X, labels=labels)
    assert (model.labels_ == Y).mean() > 0.7
    assert any(len(subset) == 2 for subset in model.focal_sets_)
    second = NNEVCLUS(4, **settings).fit(X, labels=labels)
    np.testing.assert_array_equal(model.masses_, second.masses_)


@quick
@pytest.mark.parametrize("solver", ["lbfgs", "adam", "rmsprop"])
@pytest.mark.parametrize("outlier_model", [None, "svm"])
@pytest.mark.slow_cells("svm-adam")
def test_given_weights_are_where_training_starts(model, solver, outlier_model):
    settings = {"focal_sets": "pairs", "outlier_model": outlier_model, "random_state": 0}
    first = model if outlier_model is None else NNEVCLUS(4, max_iter=20, **settings).fit(X)
    before = copy.deepcopy(first.network_.state_dict())
    # With a tiny step, the result shows the initial weights.
    tiny_step = {"solver": Solver(solver, learning_rate=1e-12), "max_iter": 10, "dtype": "float64"}
    second = NNEVCLUS(4, network=first.network_, init="given", **tiny_step, **settings).fit(X)
    if solver == "lbfgs":
        assert second.objective_history_[0] == pytest.approx(first.objective_, rel=1e-9)
        assert second.objective_ <= first.objective_
    else:
        np.testing.assert_allclose(second.masses_, first.masses_, atol=1e-6)
    for name, value in first.network_.state_dict().items():
        assert torch.equal(value, before[name])


@pytest.mark.slow
def test_training_from_the_optimum_stays_there():
    settings = {"focal_sets": "pairs", "tol": 1e-9, "max_iter": 20_000, "random_state": 0}
    first = NNEVCLUS(4, l2=0.01, **settings).fit(X[::2])
    second = NNEVCLUS(4, l2=0.01, network=first.network_, init="given", n_init=3, **settings).fit(X[::2])
    assert second.n_iter_ <= 50 < first.n_iter_
    assert second.objective_ == pytest.approx(first.objective_, rel=1e-7)
    np.testing.assert_allclose(second.masses_, first.masses_, atol=1e-3)


def test_weights_of_a_custom_network_are_kept():
    torch.manual_seed(3)
    network = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 6))
    model = NNEVCLUS(4, network=network, init="given", solver=Solver("adam", learning_rate=1e-12), max_iter=1).fit(
        X
    )
    scaled = StandardScaler().fit_transform(X).astype(np.float32)
    with torch.no_grad():
        expected = torch.softmax(network(torch.from_numpy(scaled)), dim=1).numpy()
    np.testing.assert_allclose(model.masses_, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number of at least 1, got 0"),
        ({"solver": "sgd"}, r"solver must be one of \['auto', 'lbfgs', 'adam', 'rmsprop'\], got 'sgd'"),
        ({"label_weight": 2}, "label_weight must be a number at least 0 and at most 1, got 2"),
        ({"constraint_weight": -1}, "constraint_weight must be a number at least 0, got -1"),
        ({"d0": 0}, "d0 must be 'auto' or a number above 0, got 0"),
        ({"outlier_model": "forest"}, r"outlier_model must be one of \['svm'\], got 'forest'"),
        ({"init": ("random", "me")}, "guides in init must be one of"),
        ({"init": "kmeans"}, "init must be one of"),
        ({"dtype": "half"}, "dtype must be one of"),
        ({"focal_sets": "some"}, "focal_sets must be one of"),
        ({"init": "given"}, "init='given' needs a torch.nn.Module as network, got network=None"),
        (
            {"focal_sets": "neighbor_pairs", "network": torch.nn.Linear(2, 6)},
            "focal_sets='neighbor_pairs' needs sizes of layers as network",
        ),
        (
            {"focal_sets": "neighbor_pairs", "checkpoint": "x", "random_state": 0},
            "focal_sets='neighbor_pairs' does not support checkpoints",
        ),
        ({"n_partners": "some"}, "n_partners must be one of"),
        ({"store_masses": "x.csv"}, "store_masses must be None or a path"),
        ({"dissimilarity_transform": "log"}, "dissimilarity_transform must be one of"),
    ],
)
def test_wrong_parameters_are_named_with_what_is_allowed(settings, message):
    with pytest.raises(ValueError, match=message):
        NNEVCLUS(**settings).fit(X)


def test_wrong_data_are_explained():
    with pytest.raises(TypeError, match=r"network must be sizes of layers or a torch.nn.Module, got "):
        NNEVCLUS(network="big").fit(X)
    with pytest.raises(TypeError, match="outlier_model must have a decision_function"):
        NNEVCLUS(outlier_model=StandardScaler()).fit(X)
    with pytest.raises(ValueError, match="labels has 3 entries for 200 samples"):
        NNEVCLUS(2).fit(X, labels=[0, 1, -1])
    with pytest.raises(ValueError, match="labels has 4 classes, but n_clusters=2; raise n_clusters"):
        NNEVCLUS(2).fit(X, labels=Y)
    with pytest.raises(ValueError, match="dissimilarities must be a square matrix of the 200 samples"):
        NNEVCLUS(2).fit(X, dissimilarities=np.ones((3, 3)))
    with pytest.raises(
        ValueError, match="dissimilarities must be a function that returns a matrix of nonnegative numbers"
    ):
        NNEVCLUS(2).fit(X, dissimilarities=lambda a, b: np.ones(3))
    with pytest.raises(ValueError, match="X must be a square matrix if metric='precomputed'"):
        NNEVCLUS(2, metric="precomputed").fit(np.abs(X))
    with pytest.raises(ValueError, match="negative dissimilarities"):
        NNEVCLUS(2, metric="precomputed").fit(-np.ones((4, 4)))
    with pytest.raises(ValueError, match="solver='lbfgs' needs data in memory; use solver='rmsprop'"):
        NNEVCLUS(2, solver="lbfgs").fit([X, X])
    with pytest.raises(TypeError, match="constraints must be PairwiseConstraints"):
        NNEVCLUS(2).fit(X, constraints=[(0, 1)])


@pytest.mark.slow
@quick
@pytest.mark.parametrize(
    "data",
    [np.zeros((30, 2)), np.ones((5, 1)), X[:3], np.repeat(X[:4], 20, axis=0), X * 1e-100, X * 1e100],
    ids=["zeros", "a column of ones", "three rows", "duplicates", "tiny", "huge"],
)
@pytest.mark.parametrize("solver", ["lbfgs", "rmsprop"])
def test_degenerate_data_give_masses_or_a_message(data, solver):
    model = NNEVCLUS(2, solver=solver, max_iter=10, random_state=0, outlier_model="svm").fit(data)
    assert np.isfinite(model.masses_).all()
    np.testing.assert_allclose(model.masses_.sum(axis=1), 1, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_chosen_sets_carry_the_masses():
    family = FocalSets([[0], [1], [2], [0, 1]], 3)
    model = NNEVCLUS(3, focal_sets=family, random_state=0).fit(X)
    assert model.focal_sets_ == family
    assert model.masses_.shape == (200, 5)


# Extreme values and NaN


@pytest.mark.parametrize("solver", ["lbfgs", "rmsprop"])
@pytest.mark.parametrize("remote", [1e8, 1e12, 1e16])
@quick
def test_one_remote_sample_changes_no_target_of_the_others(solver, remote):
    data = np.vstack([X[:80], [[remote, remote]]])
    model = NNEVCLUS(2, solver=solver, d0=5.0, max_iter=10, random_state=0).fit(data)
    reference = NNEVCLUS(2, solver=solver, d0=5.0, max_iter=10, random_state=0).fit(X[:80])
    pairs = np.triu_indices(81, 1)
    targets = model.transformed_dissimilarities_[(pairs[0] < 80) & (pairs[1] < 80)]
    np.testing.assert_allclose(targets, reference.transformed_dissimilarities_, rtol=0, atol=1e-5)


def test_values_too_large_for_squares_in_single_precision_are_errors():
    with pytest.raises(ValueError, match=r"1e\+20 times d0=1 away from the median, too far"):
        NNEVCLUS(2, solver="rmsprop", d0=1.0, random_state=0).fit(np.vstack([X, [[1e20, 0]]]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("settings", [{}, {"standardize": False}, {"outlier_model": "svm"}], ids=str)
@quick
def test_samples_far_beyond_the_training_set_are_outliers_and_never_sure_of_a_cluster(dtype, settings):
    model = NNEVCLUS(4, dtype=dtype, max_iter=20, random_state=0, **settings).fit(X + 1e5)
    remote = np.array([[1e12, 0], [0, -1e20], [1e39, 1e39], [1e200, 0], [1.7e308, -1.7e308]])
    prediction = model.predict_mass(remote)
    np.testing.assert_array_equal(prediction.masses[:, 0], 1)
    assert prediction.outliers().all()
    np.testing.assert_array_equal(model.predict_mass(np.full((1, 2), -3.4e38, np.float32)).masses[:, 0], 1)
    assert not (model.predict_mass(X + 1e5).masses[:, 0] == 1).any()


@quick
def test_values_whose_squares_vanish_are_refused():
    with pytest.raises(ValueError, match="whose squares overflow or underflow"):
        NNEVCLUS(2).fit(X * 1e-200)


@pytest.mark.slow
@quick
def test_a_loss_that_is_never_finite_is_an_error_and_not_convergence():
    with pytest.raises(ValueError, match=r"the loss was not finite in any iteration.*lower learning_rate"):
        NNEVCLUS(2, solver=Solver("rmsprop", learning_rate=1e30), random_state=0).fit(X)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_dissimilarities_that_are_not_finite_are_errors(value):
    dissimilarities = pairwise_distances(X)
    dissimilarities[3, 4] = dissimilarities[4, 3] = value
    with pytest.raises(ValueError, match="dissimilarities has values that are missing, infinite or not numbers"):
        NNEVCLUS(2).fit(X, dissimilarities=dissimilarities)


# Random numbers of torch


def with_dropout():
    return torch.nn.Sequential(
        torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(8, 4)
    )


@pytest.mark.parametrize("solver", ["lbfgs", "adam", "rmsprop"])
@quick
@pytest.mark.slow_cells("rmsprop")
def test_random_networks_depend_on_the_seed_and_do_not_change_the_global_state(solver):
    method = NNEVCLUS(2, network=with_dropout(), solver=solver, max_iter=5, random_state=0)
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    first = method.fit(X).masses_
    assert torch.equal(torch.rand(3), expected)
    np.testing.assert_array_equal(clone(method).fit(X).masses_, first)


@quick
@pytest.mark.slow
def test_a_training_of_a_random_network_is_resumed_with_the_same_result(tmp_path, monkeypatch):
    monkeypatch.setattr("evlearn.storage.checkpoints._SECONDS", 0.0)

    def stop(progress):
        if progress.estimator == "NNEVCLUS" and progress.n_done == 3:
            raise KeyboardInterrupt

    settings = {"network": with_dropout(), "solver": "rmsprop", "max_iter": 8, "random_state": 0}
    expected = NNEVCLUS(2, **settings).fit(X)
    path = tmp_path / "state.npz"
    with watching(stop):
        NNEVCLUS(2, checkpoint=path, **settings).fit(X)
    assert path.exists()
    resumed = NNEVCLUS(2, checkpoint=path, **settings).fit(X)
    assert resumed.objective_history_.tolist() == expected.objective_history_.tolist()


@quick
def test_layers_that_are_not_trained_may_be_in_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr("evlearn.storage.checkpoints._SECONDS", 0.0)
    network = with_dropout()
    network[0].requires_grad_(False)
    model = NNEVCLUS(
        2, network=network, solver="rmsprop", max_iter=3, random_state=0, checkpoint=tmp_path / "s.npz"
    )
    assert model.fit(X).n_iter_ == 3


@quick
def test_held_out_samples_are_evaluated_as_new_ones():
    network = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 4))
    model = NNEVCLUS(
        2,
        network=network,
        solver=Solver("rmsprop", validation_fraction=0.5),
        max_iter=1,
        init="random",
        random_state=0,
    ).fit(X)
    # 5 mini-batches, and 2 samples that determine the number of outputs; no held-out samples.
    assert int(model.network_.body[1].num_batches_tracked) == 6


@pytest.mark.slow
def test_a_fit_within_inference_mode_is_a_fit():
    with torch.inference_mode():
        model = NNEVCLUS(2, max_iter=1000, random_state=0).fit(X[:50])
    assert model.objective_history_[-1] < model.objective_history_[0]


@pytest.mark.slow
def test_outlier_models_without_a_seed_get_one():
    first, second = (
        NNEVCLUS(2, outlier_model=IsolationForest(n_estimators=5), random_state=0).fit(X[:50]) for _ in range(2)
    )
    np.testing.assert_array_equal(first.masses_, second.masses_)


# The scale of dissimilarities


@quick
@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
@pytest.mark.slow
def test_the_scale_is_selected_as_in_evclus(metric):
    random = np.random.default_rng(0)
    centers = np.array([(a, b) for a in range(4) for b in range(3)])
    y = np.repeat(np.arange(12), 20)
    blobs = centers[y] + 0.15 * random.normal(size=(240, 2))
    data = blobs if metric == "euclidean" else pairwise_distances(blobs)
    model = NNEVCLUS(12, metric=metric, max_iter=100, random_state=0).fit(data)
    assert 0 < model.d1_ < 0.5
    assert model.d0_ < 2
    assert adjusted_rand_score(y, model.labels_) > 0.8
    distances = pairwise_distances(blobs)[np.triu_indices(240, 1)]
    fixed = NNEVCLUS(12, metric=metric, d0=Quantile(0.9), init="random", max_iter=1, random_state=0).fit(data)
    assert fixed.d0_ == pytest.approx(np.quantile(distances, 0.9), rel=1e-2)
    assert fixed.d1_ == 0
    assert NNEVCLUS(12, metric=metric, d0=0.7, init="random", max_iter=1, random_state=0).fit(data).d0_ == 0.7


@quick
def test_gross_errors_do_not_count_in_the_scale():
    scales = []
    for size in (100, 10_000):
        errors = size * np.random.default_rng(0).normal(size=(8, 2))
        model = NNEVCLUS(4, init="random", max_iter=1, random_state=0).fit(np.vstack([X, errors]))
        scales.append(model.d0_)
    assert scales[0] == pytest.approx(scales[1], rel=1e-6)
    assert scales[0] < 10


@pytest.mark.slow
def test_15_clusters_are_found_by_default(shared):
    table = np.genfromtxt(shared / "data" / "s2.csv", delimiter=",", skip_header=1)[::2]
    model = NNEVCLUS(15, random_state=0).fit(table[:, :2])
    assert adjusted_rand_score(table[:, 2], model.labels_) > 0.9
