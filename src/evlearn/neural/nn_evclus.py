"""NN-EVCLUS: a network that maps features to mass functions whose conflicts match the dissimilarities."""

import copy
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial, reduce
from numbers import Integral
from operator import add
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from torch import Tensor, nn

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.blocks import Rows
from evlearn.blocks.open import is_elsewhere
from evlearn.cluster.dissimilarities import check_dissimilarities, symmetric_dissimilarities
from evlearn.cluster.focal_families import SimilarityOfRows, in_two_steps, make_focal_sets, mutual_neighbors
from evlearn.cluster.pairwise.pair_graph import TRANSFORMS, TransformKind
from evlearn.cluster.pairwise.partners import draw_partners, read_partners
from evlearn.cluster.rowwise import RowwiseClusterer
from evlearn.constraints import NamedConstraints, PairwiseConstraints
from evlearn.constraints.named import numbered
from evlearn.neural.dissimilarity import make_dissimilarity, make_transform
from evlearn.neural.exchange import agree, process_number
from evlearn.neural.losses import Losses
from evlearn.neural.model import NeuralModel
from evlearn.neural.network import LINKS, EvidentialNetwork, OutlierLink, draw_weights, layers
from evlearn.neural.objects import ArrayObjects, Objects, RowObjects
from evlearn.neural.problem import Problem
from evlearn.neural.reading import make_reader, some, take
from evlearn.neural.side_information import Known, find_guides, read_known
from evlearn.neural.starts import example_masses, example_samples, imitate, refined_masses
from evlearn.neural.training import Batches, Best, known_loss, own_draws, train_in_batches, train_whole
from evlearn.utils.checkpoints import Checkpoint, identity_of
from evlearn.utils.convergence import Report, Trace, publish_trace, whole_or_nothing
from evlearn.utils.parallel import SharedLimit
from evlearn.utils.progress import Steps, expect
from evlearn.utils.reading import Numbers, read_numbers
from evlearn.utils.typing import DataLike, EstimatorLike, Metric, NumbersLike, RandomSeed
from evlearn.utils.validation import check_choice, check_flag, check_integer, check_range, check_real

_WHOLE_UP_TO, _WHOLE_AT_MOST = 1000, 20_000
_GUIDE_FROM = 10
_GUIDE_SAMPLE = 5000
_LARGEST_BATCH = 250
_LEARNING_RATE, _LEARNING_RATE_OF_OTHERS = 5e-3, 1e-3
_SHOWN_OBJECTS = 300
_DENSE = 16  # times as many pairs as are needed: then a matrix of all pairs is still faster than a list of some


class NNEVCLUS(RowwiseClusterer):
    r"""Evidential clustering with a neural network: the more alike two samples, the less their masses conflict.

    The loss is that of `evlearn.cluster.EVCLUS`, but masses are what a network makes of the features. It therefore
    predicts at once, learns from any number of rows, accepts labels and constraints, and any PyTorch network can
    be trained in this way, a convolutional one for images. With an outlier model, rows unlike the training set get
    mass on the empty set.

    Parameters
    ----------
    n_clusters : int, default=3
        The number of clusters.
    focal_sets : {"simple", "pairs", "full", "neighbor_pairs"}, FocalSets or list of sets, default="simple"
        The sets of clusters that may carry mass, besides the empty set. "simple": single clusters and all clusters
        together; "pairs": also all pairs, for up to ten clusters or so; "full": all sets, for up to five;
        "neighbor_pairs": a simple fit first, then again with the pairs of clusters that turn out to be neighbours.
    include_omega : bool, default=True
        Whether the set of all clusters belongs to "simple", "pairs" and "neighbor_pairs".
    n_pair_neighbors : int, default=1
        For "neighbor_pairs": how many of its most similar clusters count as a cluster's neighbours.
    network : None, sequence of int or torch.nn.Module, default=None
        The sizes of hidden layers with ReLU; None means one layer with one and a half times as many units as there
        are focal sets. Or your own network, from rows of inputs to one number for each focal set, or
        `network_` of another fit. It is copied, and its weights are drawn again unless `init` is "given".
    metric : str or callable, default="euclidean"
        "precomputed" for a square matrix of dissimilarities, or any metric of
        `sklearn.metrics.pairwise_distances`.
    n_components : int, default=10
        If `metric` is "precomputed": how many principal components of the dissimilarities the network sees.
    dissimilarity_transform : {"exponential", "linear", "rank"} or callable, default="exponential"
        How dissimilarities become target conflicts, see `evlearn.cluster.EVCLUS`.
    d0 : float or None, default=None
        The dissimilarity from which samples are almost surely in different clusters. None means a quantile.
    d0_quantile : float or "auto", default="auto"
        The quantile of the dissimilarities that None means; the papers have 0.9. "auto" selects it as
        `evlearn.cluster.EVCLUS` does, by fits to a sample.
    n_partners : int, "all" or array-like of int of shape (n_samples, k), default="all"
        With all samples at once: how many others each sample is compared with, or which ones.
    solver : {"auto", "lbfgs", "adam", "rmsprop"}, default="auto"
        "lbfgs" and "adam" look at all samples at once; "rmsprop" at mini-batches. "auto" uses "lbfgs" for up to
        1000 samples, and "rmsprop" for more.
    batch_size : int or "auto", default="auto"
        How many samples a mini-batch has; all pairs of these are compared. "auto" is a tenth of the samples, and
        at most 250.
    learning_rate : float or "auto", default="auto"
        The step of "adam" and "rmsprop", which halves it when the loss no longer falls. "auto" is 0.005, and 0.001
        for a given `network`.
    l2 : float, default=0.0
        How much large weights are discouraged.
    validation_fraction : float, default=0.0
        With "rmsprop": the share of samples that is held out; the weights with the least loss of their pairs are
        kept. 0 holds out none, and the loss of training decides.
    patience : int, default=20
        With "rmsprop": how many epochs may pass without a better loss.
    outlier_model : None, "svm" or estimator, default=None
        What tells rows that are unlike the training set: None does so only of rows a million times as far away;
        "svm" is a one-class support vector machine with ``nu=0.2`` and ``gamma=0.2``; or any estimator with
        ``decision_function``, which sees what the network sees.
    outlier_link : {"r", "paper"}, default="r"
        How its scores become mass of the empty set: as in R's package, where it vanishes fast inside the data, or
        as the paper prints it.
    xi : float, default=0.5
        The weight of constraints, where there are any. The same number weighs more in EVCLUS, whose loss is
        another (four times, divided by the mean squared target).
    label_weight : float, default=0.5
        The weight of labels, where there are any, between 0 and 1.
    guide : {"auto", "peaks", "evclus"} or None, default="auto"
        Samples that serve as labels where none are given, one for each cluster: peaks of belief, or those that a
        fit of EVCLUS is surest of. "auto" uses peaks from ten clusters on; None does without.
    init : {"evclus", "random", "given"}, default="evclus"
        Where to start: from weights that imitate a fit of EVCLUS to some of the samples, from random ones, or from
        those that the given `network` has.
    standardize : bool, default=True
        Whether features are brought to mean 0 and deviation 1 for the network. Dissimilarities are not changed.
    n_init : int, default=1
        How many times to start; the best result is kept.
    max_iter : int, default=1000
        The largest number of iterations, or of epochs.
    tol : float, default=0.0001
        Ten iterations that lower the loss by less than this share of it are the last. For epochs: by what share a
        loss must be lower to count as better.
    dtype : {"auto", "float32", "float64"}, default="auto"
        The precision of training. "auto" is double for "lbfgs", and single otherwise.
    device : str, default="cpu"
        Where torch computes: "cpu", "cuda", "mps", or "auto" for a GPU if there is one.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated.
    n_jobs : int or None, default=None
        Workers for prediction. Training on a CPU uses one thread, and several processes if torch's process group
        says so.
    masses_file : str, path or None, default=None
        Where the masses go: None for memory (and nowhere for data that are not in memory), or a name that ends in
        ``.npy`` for a memory map, or in ``.parquet`` for a folder of Parquet files. An existing file is not
        replaced.
    store_masses : bool, default=True
        False: a fit keeps no masses and no labels; ask `predict` or `predict_mass`.
    checkpoint : str, path or None, default=None
        A file for the state of a long training with "rmsprop". If it is killed, the same call goes on from there;
        when it ends, the file is removed. It needs ``n_init=1`` and a number as `random_state`.
    verbose : int, default=0
        Whether to report progress.

    Attributes
    ----------
    network_ : torch.nn.Module
        The trained network: from inputs and scores to masses.
    outlier_model_ : estimator or None
        The fitted outlier model.
    credal_partition_ : CredalPartition
        The result, for data in memory or with `masses_file`.
    labels_ : ndarray of int of shape (n_samples,)
        The most plausible cluster of each sample; a Dask array for Dask collections.
    masses_ : ndarray of shape (n_samples, n_focal_sets)
        The masses, read-only.
    focal_sets_ : FocalSets
        What the columns of the masses stand for.
    d0_ : float
        The dissimilarity used for `d0`.
    d1_ : float
        The dissimilarity up to which two samples do not conflict at all; 0 unless `d0_quantile` is "auto".
    objective_ : float
        The loss of the result, the lowest after every tenth iteration; with mini-batches the mean over the best
        epoch, or that of held-out pairs.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        The loss before the first iteration or epoch, and after each. Before the first epoch it is that of a few
        mini-batches.
    n_iter_ : int
        The number of iterations or epochs.
    converged_ : bool
        Whether the training settled.
    conflict_, transformed_dissimilarities_ : ndarray
        Conflicts and targets of the pairs of at most 300 samples, for a Shepard diagram.
    n_features_in_ : int
        The number of features, or of samples if `metric` is "precomputed".
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    evlearn.cluster.EVCLUS : Free masses instead of a network: a lower loss, and no training.

    References
    ----------
    Denœux (2021).

    Examples
    --------
    >>> from evlearn.datasets import make_fourclass
    >>> from evlearn.neural import NNEVCLUS
    >>> X, _ = make_fourclass(200, random_state=0)
    >>> model = NNEVCLUS(4, focal_sets="pairs", random_state=0).fit(X)
    >>> model.predict_mass([[0, 0], [2, 2]]).to_hard().shape
    (2,)
    """

    _fewer_sets = "neighbor_pairs"

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        focal_sets: Literal["simple", "pairs", "full", "neighbor_pairs"] | FocalSetsLike = "simple",
        include_omega: bool = True,
        n_pair_neighbors: int = 1,
        network: Sequence[int] | nn.Module | None = None,
        metric: Metric = "euclidean",
        n_components: int = 10,
        dissimilarity_transform: TransformKind = "exponential",
        d0: float | None = None,
        d0_quantile: float | Literal["auto"] = "auto",
        n_partners: int | Literal["all"] | NumbersLike = "all",
        solver: Literal["auto", "lbfgs", "adam", "rmsprop"] = "auto",
        batch_size: int | Literal["auto"] = "auto",
        learning_rate: float | Literal["auto"] = "auto",
        l2: float = 0.0,
        validation_fraction: float = 0.0,
        patience: int = 20,
        outlier_model: Literal["svm"] | EstimatorLike | None = None,
        outlier_link: Literal["r", "paper"] = "r",
        xi: float = 0.5,
        label_weight: float = 0.5,
        guide: Literal["auto", "peaks", "evclus"] | None = "auto",
        init: Literal["evclus", "random", "given"] = "evclus",
        standardize: bool = True,
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-4,
        dtype: Literal["auto", "float32", "float64"] = "auto",
        device: str = "cpu",
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        masses_file: str | os.PathLike[str] | None = None,
        store_masses: bool = True,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.include_omega = include_omega
        self.n_pair_neighbors = n_pair_neighbors
        self.network = network
        self.metric = metric
        self.n_components = n_components
        self.dissimilarity_transform = dissimilarity_transform
        self.d0 = d0
        self.d0_quantile = d0_quantile
        self.n_partners: Any = n_partners
        self.solver = solver
        self.batch_size: Any = batch_size
        self.learning_rate = learning_rate
        self.l2 = l2
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.outlier_model = outlier_model
        self.outlier_link = outlier_link
        self.xi = xi
        self.label_weight = label_weight
        self.guide = guide
        self.init = init
        self.standardize = standardize
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.dtype = dtype
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.masses_file = masses_file
        self.store_masses = store_masses
        self.checkpoint = checkpoint
        self.verbose = verbose

    @property
    def _folder_of_copies(self) -> str:
        # Training asks for rows in another order than they are in, thousands of times.
        return tempfile.gettempdir()

    @whole_or_nothing
    def fit(
        self,
        X: DataLike,
        y: object = None,
        *,
        labels: ArrayLike | None = None,
        constraints: PairwiseConstraints | NamedConstraints | None = None,
        dissimilarities: ArrayLike | Callable[..., Any] | EstimatorLike | None = None,
    ) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Features, or dissimilarities if `metric` is "precomputed". Mini-batches also accept data that are not
            in memory: the path of Parquet files, an iterable of arrays, or what `evlearn.blocks.open_rows` gives.
        y : None, default=None
            Not used; present for scikit-learn's conventions.
        labels : array-like of shape (n_samples,), default=None
            The clusters of some samples; -1, NaN or None for the others.
        constraints : PairwiseConstraints or NamedConstraints, default=None
            Pairs of samples that must, or cannot, be in the same cluster.
        dissimilarities : array-like, callable or transformer, default=None
            What the conflicts should match, if that is not the distance of the features: a square matrix; a
            function of two sets of rows that gives their matrix; or a fitted transformer, such as those of
            `evlearn.metric_learning`, whose features are compared.

        Returns
        -------
        NNEVCLUS
            The fitted estimator.
        """
        self._check_parameters()
        with one_torch_thread(), torch.inference_mode(False), self._opened(X, reset=True) as rows:
            self._train(X, rows, labels, constraints, dissimilarities)
        if not is_elsewhere(X):
            self._name_samples(X)
        return self

    # The data

    def _check_parameters(self) -> None:
        for name in ("n_clusters", "n_pair_neighbors", "n_components", "n_init", "max_iter", "patience"):
            check_integer(name, getattr(self, name), 1)
        check_integer("batch_size", self.batch_size, 2, or_auto=True)
        for name in ("include_omega", "standardize"):
            check_flag(name, getattr(self, name))
        for name in ("xi", "l2", "tol"):
            check_real(name, getattr(self, name), 0)
        check_real("learning_rate", self.learning_rate, 0, open_low=True, or_auto=True)
        for name in ("label_weight", "validation_fraction"):
            check_real(name, getattr(self, name), 0, 1)
        check_real("d0_quantile", self.d0_quantile, 0, 1, open_low=True, or_auto=True)
        if self.d0 is not None:
            check_real("d0", self.d0, 0, open_low=True)
        check_choice("solver", self.solver, ("auto", "lbfgs", "adam", "rmsprop"))
        check_choice("outlier_link", self.outlier_link, LINKS)
        check_choice("dtype", self.dtype, ("auto", "float32", "float64"))
        if self.guide is not None:
            check_choice("guide", self.guide, ("auto", "peaks", "evclus"))
        check_choice("init", self.init, ("evclus", "random", "given"))
        if not callable(self.dissimilarity_transform):
            check_choice("dissimilarity_transform", self.dissimilarity_transform, TRANSFORMS)
        if isinstance(self.n_partners, str):
            check_choice("n_partners", self.n_partners, ("all",))
        elif np.ndim(self.n_partners) != 2:
            check_integer("n_partners", self.n_partners, 1)
        if isinstance(self.network, str):
            raise TypeError(f"network must be sizes of layers or a torch.nn.Module, got {self.network!r}.")
        if not isinstance(self.network, nn.Module):
            for size in np.atleast_1d([] if self.network is None else self.network):
                check_integer("network", size, 1)
        if self.init == "given" and not isinstance(self.network, nn.Module):
            raise ValueError(f"init='given' needs a torch.nn.Module as network, got network={self.network!r}.")
        if isinstance(self.focal_sets, str):
            check_choice("focal_sets", self.focal_sets, ("simple", "pairs", "full", "neighbor_pairs"))
        if in_two_steps(self.focal_sets):
            self._check_two_steps()
        if self.checkpoint is not None and (self.n_init > 1 or not isinstance(self.random_state, int)):
            raise ValueError(
                f"checkpoint needs n_init=1 and a number as random_state, got n_init={self.n_init} and "
                f"random_state={self.random_state!r}."
            )
        self._check_masses()

    def _check_two_steps(self) -> None:
        instead = "choose the pairs with evlearn.cluster.neighbor_pairs after a first fit, and list them."
        if isinstance(self.network, nn.Module):
            raise ValueError(
                "focal_sets='neighbor_pairs' needs sizes of layers as network, because nobody knows yet how many "
                f"numbers it must end in; or {instead}"
            )
        if self.checkpoint is not None:
            raise ValueError(f"focal_sets='neighbor_pairs' does not support checkpoints; {instead}")

    def _read(self, X: Any, *, reset: bool) -> Numbers:
        kinds, least = [np.float64, np.float32], 2 if reset else 1
        numbers = read_numbers(self, X, reset=reset, dtype=kinds, ensure_min_samples=least)
        if not self._precomputed:
            return numbers
        data = numbers.data
        check_range("X", data.astype(np.float64, copy=False), fitting=reset)
        check_dissimilarities(data, square=reset)
        return Numbers(symmetric_dissimilarities(data) if reset else data, False)

    # The training

    def _train(self, X: Any, rows: Rows, labels: Any, constraints: Any, dissimilarities: Any) -> None:
        self._refuse_masses(rows, self.focal_sets)
        random = check_random_state(self.random_state)
        if not isinstance(self.random_state, Integral):
            random = np.random.RandomState(agree(int(random.randint(2**31 - 1))))
        n_init, again = 1 if self.init == "given" else self.n_init, in_two_steps(self.focal_sets)
        # EVCLUS may find guides, and comes before every descent from its masses and before the one with pairs.
        expect((self.guide == "evclus") + (1 + (self.init == "evclus")) * n_init + 2 * again)
        solver = self._solver(len(rows), is_elsewhere(X))
        problem = self._pose(X, rows, self._like(solver), labels, constraints, dissimilarities, random)
        partners = self._partners(len(rows), random) if solver != "rmsprop" else None
        checkpoint = self._open_checkpoint(problem) if solver == "rmsprop" else None
        train: Callable[..., Trace[Best]] = partial(self._in_batches, checkpoint=checkpoint)
        if solver != "rmsprop":
            train = partial(self._whole, partners=partners, solver=solver)
        report: Steps | None = None
        best: tuple[Trace[Best], EvidentialNetwork] | None = None
        for seed in random.randint(np.iinfo(np.int32).max, size=n_init):
            draws = own_draws(int(seed), problem.losses.conflict.device)
            with draws if isinstance(self.network, nn.Module) else nullcontext():
                network = self._make_network(problem, int(seed))
                if self.init == "evclus":
                    imitate(network, problem.objects, *example_masses(problem, np.random.RandomState(seed)))
                report = report or Steps(self.max_iter, n_init + again)  # now: what came before has no pace
                trace = train(network, problem, int(seed), report=report)
            if best is None or trace.state.objective < best[0].state.objective:
                best = (trace, network)
            if trace.interrupted:
                break
        assert best is not None
        assert report is not None
        self._refuse_endless(problem, best[0])
        if again and not best[0].interrupted:
            problem, network = self._with_pairs(problem, best[1], random)
            seed = random.randint(np.iinfo(np.int32).max)
            best = train(network, problem, int(seed), report=report), network
            self._refuse_endless(problem, best[0])
        self._finish(problem, *best, random)
        # Only once the masses are where they belong; by 1 of several processes, which the others may outrun.
        if checkpoint is not None and not best[0].interrupted and process_number() == 0:
            checkpoint.remove()

    def _refuse_endless(self, problem: Problem, trace: Trace[Best]) -> None:
        if not (np.isfinite(trace.state.objective) or trace.interrupted):
            raise ValueError(
                f"the loss was never a finite number, with d0={problem.transform.d0:.3g}; lower learning_rate, l2 "
                "or xi where you raised them, or change the scale of X or d0."
            )

    def _with_pairs(
        self, problem: Problem, network: EvidentialNetwork, random: np.random.RandomState
    ) -> tuple[Problem, EvidentialNetwork]:
        """The problem with the pairs of neighbouring clusters, and a network that goes on from the first."""
        rows, model = problem.rows, NeuralModel(problem.reader, network.eval(), problem.focal_sets)
        shares = rows.map(SimilarityOfRows(model), n_jobs=self.n_jobs)
        larger = model.focal_sets.with_sets(mutual_neighbors(reduce(add, shares), self.n_pair_neighbors))
        wider = replace(problem, focal_sets=larger, losses=self._losses(larger, problem.losses.conflict))
        chosen = example_samples(wider, random)
        masses = belief.expand(model.assign(take(rows, chosen)), model.focal_sets, larger)
        made = self._make_network(wider, int(random.randint(np.iinfo(np.int32).max)))
        imitate(made, problem.objects, chosen, refined_masses(wider, masses, chosen, random))
        return wider, made

    def _pose(
        self,
        X: Any,
        rows: Rows,
        like: Tensor,
        labels: Any,
        constraints: Any,
        dissimilarities: Any,
        random: np.random.RandomState,
    ) -> Problem:
        """The problem, from what the user gave."""
        pairs = numbered(constraints, X, len(rows))
        dissimilarity = make_dissimilarity(rows, dissimilarities, self.metric)
        transform = make_transform(
            rows,
            dissimilarity,
            kind=self.dissimilarity_transform,
            d0=self.d0,
            d0_quantile=self.d0_quantile,
            n_clusters=self.n_clusters,
            random=random,
        )
        reader = make_reader(
            rows,
            n_components=self.n_components if self._precomputed else None,
            standardize=self.standardize,
            outlier_model=self.outlier_model,
            random=random,
            n_jobs=self.n_jobs,
        )
        if is_elsewhere(X):
            objects: Objects = RowObjects(rows, reader, dissimilarity, transform, like)
        else:
            objects = ArrayObjects(take(rows, np.arange(len(rows))), reader, dissimilarity, transform, like)
        focal_sets = make_focal_sets(self.focal_sets, self.n_clusters, include_omega=self.include_omega)
        known = read_known(labels, pairs, len(rows), self.n_clusters)
        if len(known.labelled) == 0:
            known = self._guided(rows, known, random)
        losses = self._losses(focal_sets, like)
        return Problem(rows, reader, dissimilarity, transform, focal_sets, known, objects, losses)

    def _losses(self, focal_sets: FocalSets, like: Tensor) -> Losses:
        xi, label_weight, l2 = float(self.xi), float(self.label_weight), float(self.l2)
        return Losses.of(focal_sets, like, xi=xi, label_weight=label_weight, l2=l2)

    def _guided(self, rows: Rows, known: Known, random: np.random.RandomState) -> Known:
        """What is known, with one sample for each cluster as a label, if that is asked for."""
        guide = self.guide
        if guide == "auto":
            guide = "peaks" if self.n_clusters >= _GUIDE_FROM else None
        if guide is None or self.n_clusters < 2 or len(rows) <= self.n_clusters:
            return known
        chosen = some(len(rows), _GUIDE_SAMPLE, random)
        sample = take(rows, chosen)
        found = find_guides(
            sample[:, chosen] if self._precomputed else sample,
            self.n_clusters,
            guide,
            metric=self.metric,
            d0=self.d0,
            d0_quantile=self.d0_quantile,
            random_state=random.randint(2**31 - 1),
        )
        return replace(known, labelled=chosen[found], clusters=np.arange(self.n_clusters))

    def _solver(self, n_samples: int, elsewhere: bool) -> str:
        if self.solver == "auto":
            return "lbfgs" if n_samples <= _WHOLE_UP_TO and not elsewhere else "rmsprop"
        if elsewhere and self.solver != "rmsprop":
            raise ValueError(f"solver={self.solver!r} needs data in memory; use solver='rmsprop'.")
        if n_samples > _WHOLE_AT_MOST and self.solver != "rmsprop":
            raise ValueError(
                f"solver={self.solver!r} keeps a matrix of all pairs, and there are n_samples={n_samples}; "
                "use solver='rmsprop'."
            )
        return self.solver

    def _like(self, solver: str) -> Tensor:
        device = self.device
        if isinstance(device, str) and device == "auto":
            device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        double = solver == "lbfgs" if self.dtype == "auto" else self.dtype == "float64"
        try:
            return torch.zeros((), dtype=torch.float64 if double else torch.float32, device=device)
        except (RuntimeError, TypeError) as error:
            raise ValueError(
                f"device must be 'auto' or a device of torch that is there, got {self.device!r} ({error})."
            ) from error

    @property
    def _learning_rate(self) -> float:
        if not isinstance(self.learning_rate, str):
            return float(self.learning_rate)
        return _LEARNING_RATE_OF_OTHERS if isinstance(self.network, nn.Module) else _LEARNING_RATE

    def _partners(self, n_samples: int, random: np.random.RandomState) -> Any:
        if isinstance(self.n_partners, str):
            return None
        if np.ndim(self.n_partners) == 2:
            return read_partners(self.n_partners, n_samples)
        if self.n_partners >= n_samples - 1:
            return None
        return draw_partners(n_samples, self.n_partners, random)

    def _make_network(self, problem: Problem, seed: int) -> EvidentialNetwork:
        reader, focal_sets, like = problem.reader, problem.focal_sets, problem.losses.conflict
        with own_draws(seed, like.device):  # networks draw weights from torch's own source
            body = self._body(len(reader.scale), len(focal_sets))
            if self.init != "given":
                draw_weights(body)
        link = None if reader.outlier_model is None else self._link()
        network = EvidentialNetwork(body, link).to(dtype=like.dtype, device=like.device)
        with torch.no_grad():
            shape = tuple(network(*problem.objects.see(np.arange(2))).shape)
        if shape != (2, len(focal_sets)):
            raise ValueError(
                f"network must end in {len(focal_sets)} numbers for each row, one for each focal set "
                f"({', '.join(focal_sets.labels[:6])}{', ...' if len(focal_sets) > 6 else ''}), and gives "
                f"{shape[1:]}."
            )
        return network

    def _body(self, n_inputs: int, n_outputs: int) -> nn.Module:
        if isinstance(self.network, nn.Module):
            if isinstance(self.network, EvidentialNetwork):  # of another fit
                return copy.deepcopy(self.network.body).train()
            return copy.deepcopy(self.network)
        sizes = np.ceil(1.5 * n_outputs) if self.network is None else self.network
        return layers(n_inputs, [int(size) for size in np.atleast_1d(sizes)], n_outputs)

    def _link(self) -> OutlierLink:
        given = self.network.link if isinstance(self.network, EvidentialNetwork) else None
        if self.init == "given" and given is not None and given.kind == self.outlier_link:
            return copy.deepcopy(given)
        return OutlierLink(self.outlier_link)

    def _whole(
        self,
        network: EvidentialNetwork,
        problem: Problem,
        seed: int,
        *,
        partners: Any,
        solver: str,
        report: Report,
    ) -> Trace[Best]:
        """All samples at once."""
        objects, losses, known = problem.objects, problem.losses, problem.known
        everybody = np.arange(objects.n_samples)
        inputs, scores = objects.see(everybody)
        stress = _stress(losses, objects.targets(everybody), partners)
        chosen = torch.from_numpy(known.objects).to(inputs.device)

        def loss() -> Tensor:
            masses = network(inputs, scores)
            return known_loss(masses[chosen], stress(masses), network, losses, known)

        return train_whole(
            network,
            loss,
            solver=solver,
            learning_rate=self._learning_rate,
            max_iter=self.max_iter,
            tol=self.tol,
            report=report,
        )

    def _in_batches(
        self,
        network: EvidentialNetwork,
        problem: Problem,
        seed: int,
        *,
        checkpoint: Checkpoint | None,
        report: Report,
    ) -> Trace[Best]:
        size = self.batch_size
        if isinstance(size, str):
            size = min(max(len(problem.rows) // 10, 2), _LARGEST_BATCH)
        batches = Batches(
            size=size,
            held_out=self.validation_fraction,
            learning_rate=self._learning_rate,
            max_iter=self.max_iter,
            patience=self.patience,
            tol=self.tol,
            seed=seed,
            draws=isinstance(self.network, nn.Module),
        )
        return train_in_batches(
            network,
            problem.objects,
            problem.losses,
            problem.known,
            batches,
            checkpoint=checkpoint,
            report=report,
        )

    def _open_checkpoint(self, problem: Problem) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        known = problem.known
        identity = identity_of(
            self,
            problem.rows,
            labels=[known.labelled, known.clusters],
            constraints=[known.pairs, known.must],
            dissimilarities=problem.dissimilarity.given,
        )
        return Checkpoint(self.checkpoint, identity)

    # The result

    def _finish(
        self, problem: Problem, trace: Trace[Best], network: EvidentialNetwork, random: np.random.RandomState
    ) -> None:
        model = NeuralModel(problem.reader, network.eval(), problem.focal_sets)
        self._model = model
        self.focal_sets_ = model.focal_sets
        self.network_ = network
        self.outlier_model_ = problem.reader.outlier_model
        self.d0_, self.d1_ = problem.transform.d0, problem.transform.near
        shown = some(len(problem.rows), _SHOWN_OBJECTS, random)
        masses = model.assign(take(problem.rows, shown))
        upper = np.triu_indices(len(shown), 1)
        self.conflict_ = (masses @ model.focal_sets.conflict_matrix @ masses.T)[upper]
        self.transformed_dissimilarities_ = problem.objects.targets(shown).cpu().numpy().astype(np.float64)[upper]
        self._check_evidence(len(problem.rows), model.focal_sets.frame_size)
        if self.masses_file is None or process_number() == 0:  # a file is written once
            self._publish_masses(problem.rows)
        publish_trace(self, trace, "the loss", max_iter=self.max_iter)
        self.objective_ = trace.state.objective


def one_torch_thread() -> AbstractContextManager[None]:
    """Hold torch to one thread for a while: products are small, and results do not depend on the machine."""
    return _TORCH.held()


def _limit_torch() -> Callable[[], None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    return partial(torch.set_num_threads, before)


_TORCH = SharedLimit(_limit_torch)


def _stress(losses: Losses, targets: Tensor, partners: Any) -> Any:
    """From the masses of all samples to the loss of their pairs."""
    if partners is None:
        return lambda masses: losses.all_pairs(masses, targets)
    n, k = partners.shape
    chosen = torch.from_numpy(partners.astype(np.int64)).to(targets.device)
    if n > _DENSE * k:
        some = torch.gather(targets, 1, chosen)
        return lambda masses: losses.some_pairs(masses, chosen, some)
    counts = torch.zeros_like(targets).scatter_add_(1, chosen, torch.ones_like(targets[:, :k])) / (n * k)
    return lambda masses: losses.weighted_pairs(masses, targets, counts)


__all__ = ["NNEVCLUS"]
