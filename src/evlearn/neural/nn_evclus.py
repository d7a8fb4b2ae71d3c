"""NN-EVCLUS: network that maps features to mass functions whose conflicts match dissimilarities."""

import copy
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cache, partial, reduce
from numbers import Integral
from operator import add
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from torch import Tensor, nn

from evlearn import RowDataset, belief
from evlearn.belief import FocalSets
from evlearn.blocks.open import needs_blocks
from evlearn.cluster.dissimilarities import read_precomputed
from evlearn.cluster.focal_families import (
    FamilyLike,
    SimilarityOfRows,
    has_two_steps,
    kind_of,
    make_focal_sets,
    mutual_neighbors,
    n_pair_neighbors,
)
from evlearn.cluster.pairwise.pair_graph import TRANSFORMS, TransformKind, draw_partners, read_partners
from evlearn.cluster.pairwise.scales import Quantile, check_d0
from evlearn.cluster.row_clusterer import RowwiseClusterer
from evlearn.constraints import NamedConstraints, PairwiseConstraints
from evlearn.constraints.named import resolve_constraints
from evlearn.neural.dissimilarity import make_dissimilarity, make_transform
from evlearn.neural.losses import Losses, SideInformation, find_guides, read_side_information
from evlearn.neural.network import EvidentialNetwork, NeuralModel, OutlierLink, draw_weights, layers
from evlearn.neural.reading import draw_indices, make_reader, read_rows
from evlearn.neural.starts import Problem, draw_examples, imitate_masses, make_example_masses, refine_masses
from evlearn.neural.training import (
    SOLVERS,
    Batches,
    Best,
    Solver,
    process_rank,
    share_number,
    torch_seed,
    total_loss,
    train_in_batches,
    train_on_all_pairs,
)
from evlearn.neural.training_samples import ArraySamples, RowSamples, TrainingSamples
from evlearn.storage import fields
from evlearn.storage.checkpoints import Checkpoint, identity_of
from evlearn.utils.convergence import Report, Trace, atomic_fit, best_descent, publish_trace
from evlearn.utils.parallel import SharedLimit
from evlearn.utils.progress import Steps, expect_tasks
from evlearn.utils.reading import Numbers, read_numbers
from evlearn.utils.typing import DataLike, EstimatorLike, Metric, NumbersLike, RandomSeed
from evlearn.utils.validation import check_choice, check_flag, check_integer, check_real, check_shape

#: Maximum numbers of samples for "lbfgs" by default, and for any solver without mini-batches.
_AUTO_LBFGS_SAMPLES, _MAX_SAMPLES_OF_ALL_PAIRS = 1000, 20_000


#: Minimum number of clusters for guides by default.
_MIN_CLUSTERS_FOR_GUIDES = 10


#: Maximum number of samples from which guides are selected.
_GUIDE_SAMPLE = 5000


_MAX_BATCH_SIZE = 250


_LEARNING_RATE, _LEARNING_RATE_OF_CUSTOM_NETWORKS = 5e-3, 1e-3


#: Maximum number of samples of a Shepard diagram.
_SHEPARD_SAMPLES = 300


#: Ratio of all pairs to the pairs in use up to which a matrix of all pairs is faster than a list.
_MAX_SPARSITY = 16


InitialWeights: TypeAlias = Literal["evclus", "random", "given"]


Guides: TypeAlias = Literal["auto", "peaks", "evclus"] | None


@fields.stored
class NNEVCLUS(RowwiseClusterer):
    r"""Evidential clustering with a neural network: the more similar 2 samples, the less their masses conflict.

    The loss is that of `evlearn.cluster.EVCLUS`, but the masses are outputs of a network. Therefore, predictions
    are fast, training accepts any number of rows, labels and constraints, and any PyTorch network can be trained
    in this way, such as a convolutional one for images. With an outlier model, rows unlike the training set get
    mass on the empty set.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    focal_sets : str, FocalFamily, FocalSets or list of sets, default="simple"
        Sets of clusters that may carry mass, besides the empty set. "simple": single clusters, and the set of all
        clusters; "pairs": also all pairs, for up to about 10 clusters; "full": all sets, for up to 5;
        "neighbor_pairs": a fit of "simple", and then another with the pairs of neighboring clusters.
    network : None, sequence of int or torch.nn.Module, default=None
        Sizes of hidden layers with ReLU; None means 1 layer with 1.5 times as many units as focal sets. Or any
        network with one output for each focal set, or `network_` of another fit: it is copied, and its weights are
        drawn again unless `init` is "given".
    metric : str or callable, default="euclidean"
        "precomputed" for a square matrix of dissimilarities, or any metric of
        `sklearn.metrics.pairwise_distances`.
    dissimilarity_transform : {"exponential", "linear", "rank"} or callable, default="exponential"
        Transform of dissimilarities to target conflicts, see `evlearn.cluster.EVCLUS`.
    d0 : float, Quantile or "auto", default="auto"
        Dissimilarity from which samples are almost surely in different clusters: a number, or a quantile of
        the dissimilarities; the papers use ``Quantile(0.9)``. "auto" selects it by fits to a sample.
    n_partners : int, "all" or array-like of int of shape (n_samples, k), default="all"
        Number of partners of each sample, or their indices, for training on all samples at once.
    solver : {"auto", "lbfgs", "adam", "rmsprop"} or Solver, default="auto"
        Optimizer, with all samples at once ("lbfgs", "adam") or in mini-batches ("rmsprop"). "auto" uses
        "lbfgs" for up to 1000 samples, and "rmsprop" for more. A `Solver` sets the batch size, the learning rate
        and early stopping.
    l2 : float, default=0.0
        Weight of the penalty of large weights.
    outlier_model : None, "svm" or estimator, default=None
        Model that detects rows unlike the training set. With None, only rows a million times farther away are
        outliers; "svm" is a one-class support vector machine with ``nu=0.2`` and ``gamma=0.2``; or any estimator
        with ``decision_function``, which is fitted to the inputs of the network.
    constraint_weight : float, default=0.5
        Weight of constraints. The same value has a larger effect in EVCLUS, because its loss differs by a factor
        (4, divided by the mean squared target).
    label_weight : float, default=0.5
        Weight of labels, between 0 and 1.
    init : {"evclus", "random", "given"} or pair, default="evclus"
        Initial weights: those that reproduce an EVCLUS fit of a subset, random weights, or the weights of
        `network`. A pair ``(weights, guides)`` also selects guides, which replace labels if there are none: one
        sample for each cluster. Guides are "peaks" of belief; "evclus", the surest samples of an EVCLUS fit;
        "auto", peaks for at least 10 clusters; or None. Without a pair, guides are "auto".
    standardize : bool, default=True
        Whether to standardize the inputs of the network. Dissimilarities are not changed.
    n_init : int, default=1
        Number of initializations; the best result is returned.
    max_iter : int, default=1000
        Maximum number of iterations or epochs.
    tol : float, default=0.0001
        Relative decrease of the loss in 10 iterations below which the training stops; for epochs, the relative
        decrease that counts as better.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision of training. "auto" is double for "lbfgs", and single otherwise.
    device : str, default="cpu"
        Device of torch: "cpu", "cuda", "mps", or "auto" for a GPU if there is one.
    random_state : int, RandomState instance or None, default=None
        Random seed; an int makes results reproducible.
    n_jobs : int or None, default=None
        Number of workers for prediction. Training on a CPU uses 1 thread, and the processes of a torch process
        group.
    store_masses : bool, str or path, default=True
        Destination of the masses. True: memory, for data in memory; a name that ends in ``.npy``: a memory
        map; a name that ends in ``.parquet``: a folder of Parquet files; an existing file is not replaced. False:
        masses and labels are not stored; use `predict` or `predict_mass`.
    checkpoint : str, path or None, default=None
        File for the state of a training with "rmsprop". If the training is interrupted, the same call continues
        from it; at the end, the file is removed. It needs ``n_init=1`` and an int as `random_state`.
    verbose : int, default=0
        Whether to report progress.

    Attributes
    ----------
    network_ : torch.nn.Module
        Trained network, which maps inputs and scores to masses.
    outlier_model_ : estimator or None
        Fitted outlier model.
    credal_partition_ : CredalPartition
        Result, for data in memory or with a file as `store_masses`.
    labels_ : ndarray of int of shape (n_samples,)
        Most plausible cluster of each sample; a Dask array for Dask collections.
    masses_ : ndarray of shape (n_samples, n_focal_sets)
        Masses, read-only.
    focal_sets_ : FocalSets
        Sets of the columns of the masses.
    d0_ : float
        Value used for `d0`.
    d1_ : float
        Dissimilarity up to which the target conflict is 0; 0 unless `d0` is "auto".
    objective_ : float
        Loss of the result: the lowest after every tenth iteration; with mini-batches the mean over the best epoch,
        or the loss of held-out pairs.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        Loss before the first iteration or epoch, and after each; before the first epoch of a few mini-batches.
    n_iter_ : int
        Number of iterations or epochs.
    converged_ : bool
        Whether the training converged.
    conflict_, transformed_dissimilarities_ : ndarray
        Conflicts and targets of the pairs of at most 300 samples, for a Shepard diagram.
    n_features_in_ : int
        Number of features, or of samples if `metric` is "precomputed".
    feature_names_in_ : ndarray of str
        Names of the features, if X has any.

    See Also
    --------
    evlearn.cluster.EVCLUS : Masses without a network, with a lower loss.

    References
    ----------
    Denœux (2021), NN-EVCLUS: neural network-based evidential clustering, Information
    Sciences 572, doi:10.1016/j.ins.2021.05.011.

    Examples
    --------
    >>> from evlearn.datasets import make_fourclass
    >>> from evlearn.neural import NNEVCLUS
    >>> X, _ = make_fourclass(200, random_state=0)
    >>> model = NNEVCLUS(4, focal_sets="pairs", random_state=0).fit(X)
    >>> model.predict_mass([[0, 0], [2, 2]]).to_hard().shape
    (2,)
    """

    _model: fields.Stored[NeuralModel]
    d0_: fields.StoredIfSet[fields.PositiveNumber]
    d1_: fields.StoredIfSet[fields.NonnegativeNumber]

    _fewer_sets = "neighbor_pairs"
    # "outlier_link" is "r" or "paper": masses of the empty set as in the R package, which vanish fast inside the
    # data, or as printed in the paper. "n_components" is the number of principal components of dissimilarities
    # that are inputs of the network.
    _switches = MappingProxyType({"outlier_link": "r", "n_components": 10})

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        focal_sets: FamilyLike = "simple",
        network: Sequence[int] | nn.Module | None = None,
        metric: Metric = "euclidean",
        dissimilarity_transform: TransformKind = "exponential",
        d0: float | Quantile | Literal["auto"] = "auto",
        n_partners: int | Literal["all"] | NumbersLike = "all",
        solver: Literal["auto", "lbfgs", "adam", "rmsprop"] | Solver = "auto",
        l2: float = 0.0,
        outlier_model: Literal["svm"] | EstimatorLike | None = None,
        constraint_weight: float = 0.5,
        label_weight: float = 0.5,
        init: InitialWeights | tuple[InitialWeights, Guides] = "evclus",
        standardize: bool = True,
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-4,
        dtype: Literal["auto", "float32", "float64"] = "auto",
        device: str = "cpu",
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        store_masses: bool | str | os.PathLike[str] = True,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.network = network
        self.metric = metric
        self.dissimilarity_transform = dissimilarity_transform
        self.d0 = d0
        self.n_partners: Any = n_partners
        self.solver = solver
        self.l2 = l2
        self.outlier_model = outlier_model
        self.constraint_weight = constraint_weight
        self.label_weight = label_weight
        self.init = init
        self.standardize = standardize
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.dtype = dtype
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.store_masses = store_masses
        self.checkpoint = checkpoint
        self.verbose = verbose

    @property
    def _folder_of_copies(self) -> str:
        # Training reads rows thousands of times, in random order.
        return tempfile.gettempdir()

    @atomic_fit
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
            in memory: the path of Parquet files, an iterable of arrays, or a result of `evlearn.open_dataset`.
        y : None, default=None
            Not used; present for scikit-learn's conventions.
        labels : array-like of shape (n_samples,), default=None
            Known clusters of samples; -1, NaN or None where unknown.
        constraints : PairwiseConstraints or NamedConstraints, default=None
            Pairs of samples that must, or cannot, be in the same cluster.
        dissimilarities : array-like, callable or transformer, default=None
            Dissimilarities that the conflicts should match, instead of distances of the features: a square matrix;
            a function of 2 sets of rows that returns their matrix; or a fitted transformer, such as those of
            `evlearn.metric_learning`, whose features are compared.

        Returns
        -------
        NNEVCLUS
            Fitted estimator.
        """
        self._check_parameters()
        with one_torch_thread(), torch.inference_mode(False), self._open_rows(X, reset=True) as rows:
            self._train(X, rows, labels, constraints, dissimilarities)
        if not needs_blocks(X):
            self._name_samples(X)
        return self

    # The data

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_clusters", self.n_clusters, 1)
        check_flag("standardize", self.standardize)
        for name in ("constraint_weight", "l2"):
            check_real(name, getattr(self, name), 0)
        check_real("label_weight", self.label_weight, 0, 1)
        check_d0(self.d0)
        if not isinstance(self.solver, Solver):
            check_choice("solver", self.solver, SOLVERS)
        check_choice("dtype", self.dtype, ("auto", "float32", "float64"))
        self._check_init()
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
        if self._initial_weights == "given" and not isinstance(self.network, nn.Module):
            raise ValueError(f"init='given' needs a torch.nn.Module as network, got network={self.network!r}.")
        if (kind := kind_of(self.focal_sets)) is not None:
            check_choice("focal_sets", kind, ("simple", "pairs", "full", "neighbor_pairs"))
        if has_two_steps(self.focal_sets):
            self._check_two_steps()
        if self.checkpoint is not None and (self.n_init > 1 or not isinstance(self.random_state, int)):
            raise ValueError(
                f"checkpoint needs n_init=1 and a number as random_state, got n_init={self.n_init} and "
                f"random_state={self.random_state!r}."
            )
        self._check_masses()

    def _check_init(self) -> None:
        if not isinstance(self.init, str) and not (isinstance(self.init, (tuple, list)) and len(self.init) == 2):
            raise ValueError(
                f"init must be 'evclus', 'random', 'given' or a pair (weights, guides), got {self.init!r}."
            )
        check_choice("init", self._initial_weights, ("evclus", "random", "given"))
        if self._guides is not None:
            check_choice("guides in init", self._guides, ("auto", "peaks", "evclus"))

    @property
    def _initial_weights(self) -> str:
        return self.init if isinstance(self.init, str) else self.init[0]

    @property
    def _guides(self) -> str | None:
        return "auto" if isinstance(self.init, str) else self.init[1]

    @property
    def _solver_options(self) -> Solver:
        return self.solver if isinstance(self.solver, Solver) else Solver(self.solver)

    def _check_two_steps(self) -> None:
        remedy = "list pairs that evlearn.cluster.neighbor_pairs selects after a first fit."
        if isinstance(self.network, nn.Module):
            raise ValueError(
                "focal_sets='neighbor_pairs' needs sizes of layers as network, because the number of outputs "
                f"depends on a first fit; or {remedy}"
            )
        if self.checkpoint is not None:
            raise ValueError(f"focal_sets='neighbor_pairs' does not support checkpoints; {remedy}")

    def _read_data(self, X: Any, *, reset: bool) -> Numbers:
        kinds, min_samples = [np.float64, np.float32], 2 if reset else 1
        numbers = read_numbers(self, X, reset=reset, dtype=kinds, ensure_min_samples=min_samples)
        return read_precomputed(numbers.data, reset=reset) if self._precomputed else numbers

    # The training

    def _train(self, X: Any, rows: RowDataset, labels: Any, constraints: Any, dissimilarities: Any) -> None:
        self._refuse_masses(rows, self.focal_sets)
        random = check_random_state(self.random_state)
        if not isinstance(self.random_state, Integral):
            random = np.random.RandomState(share_number(int(random.randint(2**31 - 1))))
        n_init = 1 if self._initial_weights == "given" else self.n_init
        has_second_step = has_two_steps(self.focal_sets)
        # EVCLUS is fitted for guides, for each initialization, and for the second step.
        expect_tasks(
            (self._guides == "evclus") + (1 + (self._initial_weights == "evclus")) * n_init + 2 * has_second_step
        )
        solver = self._select_solver(len(rows), needs_blocks(X))
        problem = self._make_problem(
            X, rows, self._make_reference_tensor(solver), labels, constraints, dissimilarities, random
        )
        partners = self._make_partners(len(rows), random) if solver != "rmsprop" else None
        checkpoint = self._open_checkpoint(problem) if solver == "rmsprop" else None
        train: _Train = partial(self._train_in_batches, checkpoint=checkpoint)
        if solver != "rmsprop":
            train = partial(self._train_on_all_pairs, partners=partners, solver=solver)
        # Steps begin with the first training, because the EVCLUS fits have another pace.
        steps = cache(lambda: Steps(self.max_iter, n_init + has_second_step))
        best = best_descent(
            partial(self._train_from, problem, train, steps),
            random.randint(np.iinfo(np.int32).max, size=n_init),
            refine=partial(self._train_with_pairs, train, steps, random) if has_second_step else None,
            key=lambda trace: trace.state.objective,
        )
        self._check_loss_is_finite(best)
        self._finish(best, random)
        # After the masses are stored, and by one process only.
        if checkpoint is not None and not best.interrupted and process_rank() == 0:
            checkpoint.remove()

    def _train_from(
        self, problem: Problem, train: "_Train", steps: Callable[[], Report], seed: int
    ) -> Trace["_Fit"]:
        """Train a network whose initial weights depend on a seed."""
        seed_context = torch_seed(int(seed), problem.losses.conflict.device)
        with seed_context if isinstance(self.network, nn.Module) else nullcontext():
            network = self._make_network(problem, int(seed))
            if self._initial_weights == "evclus":
                imitate_masses(
                    network, problem.samples, *make_example_masses(problem, np.random.RandomState(seed))
                )
            trace = train(network, problem, int(seed), report=steps())
        return trace.with_state(_Fit(problem, network, trace.state.objective))

    def _train_with_pairs(
        self, train: "_Train", steps: Callable[[], Report], random: np.random.RandomState, best: Trace["_Fit"]
    ) -> Trace["_Fit"]:
        """Train a network with the pairs of neighboring clusters, from the best network so far."""
        self._check_loss_is_finite(best)
        problem, network = self._with_pairs(best.state.problem, best.state.network, random)
        seed = random.randint(np.iinfo(np.int32).max)
        trace = train(network, problem, int(seed), report=steps())
        return trace.with_state(_Fit(problem, network, trace.state.objective))

    def _check_loss_is_finite(self, trace: Trace["_Fit"]) -> None:
        if not (np.isfinite(trace.state.objective) or trace.interrupted):
            d0 = trace.state.problem.transform.d0
            raise ValueError(
                f"the loss was not finite in any iteration, with d0={d0:.3g}; lower "
                "learning_rate, l2 or constraint_weight, or change the scale of X or d0."
            )

    def _with_pairs(
        self, problem: Problem, network: EvidentialNetwork, random: np.random.RandomState
    ) -> tuple[Problem, EvidentialNetwork]:
        """Return the problem with pairs of neighboring clusters, and a network that reproduces the first fit."""
        rows, model = problem.rows, NeuralModel(problem.reader, network.eval(), problem.focal_sets)
        shares = rows.map(SimilarityOfRows(model), n_jobs=self.n_jobs)
        focal_sets = model.focal_sets.with_sets(
            mutual_neighbors(reduce(add, shares), n_pair_neighbors(self.focal_sets))
        )
        second_problem = replace(
            problem, focal_sets=focal_sets, losses=self._losses(focal_sets, problem.losses.conflict)
        )
        examples = draw_examples(second_problem, random)
        masses = belief.expand_masses(model.assign(read_rows(rows, examples)), model.focal_sets, focal_sets)
        second_network = self._make_network(second_problem, int(random.randint(np.iinfo(np.int32).max)))
        imitate_masses(
            second_network, problem.samples, examples, refine_masses(second_problem, masses, examples, random)
        )
        return second_problem, second_network

    def _make_problem(
        self,
        X: Any,
        rows: RowDataset,
        reference: Tensor,
        labels: Any,
        constraints: Any,
        dissimilarities: Any,
        random: np.random.RandomState,
    ) -> Problem:
        """Return the problem for the arguments of `fit`."""
        pairs = resolve_constraints(constraints, X, len(rows))
        dissimilarity = make_dissimilarity(rows, dissimilarities, self.metric)
        transform = make_transform(
            rows,
            dissimilarity,
            kind=self.dissimilarity_transform,
            d0=self.d0,
            n_clusters=self.n_clusters,
            random=random,
        )
        reader = make_reader(
            rows,
            n_components=self._switches["n_components"] if self._precomputed else None,
            standardize=self.standardize,
            outlier_model=self.outlier_model,
            random=random,
            n_jobs=self.n_jobs,
        )
        if needs_blocks(X):
            samples: TrainingSamples = RowSamples(rows, reader, dissimilarity, transform, reference)
        else:
            samples = ArraySamples(
                read_rows(rows, np.arange(len(rows))), reader, dissimilarity, transform, reference
            )
        focal_sets = make_focal_sets(self.focal_sets, self.n_clusters)
        side_information = read_side_information(labels, pairs, len(rows), self.n_clusters)
        if len(side_information.labeled) == 0:
            side_information = self._add_guides(rows, side_information, random)
        losses = self._losses(focal_sets, reference)
        return Problem(rows, reader, dissimilarity, transform, focal_sets, side_information, samples, losses)

    def _losses(self, focal_sets: FocalSets, reference: Tensor) -> Losses:
        constraint_weight, label_weight, l2 = (
            float(self.constraint_weight),
            float(self.label_weight),
            float(self.l2),
        )
        return Losses.of(
            focal_sets, reference, constraint_weight=constraint_weight, label_weight=label_weight, l2=l2
        )

    def _add_guides(
        self, rows: RowDataset, side_information: SideInformation, random: np.random.RandomState
    ) -> SideInformation:
        """Add guides to the side information, one labeled sample for each cluster, depending on `init`."""
        kind = self._guides
        if kind == "auto":
            kind = "peaks" if self.n_clusters >= _MIN_CLUSTERS_FOR_GUIDES else None
        if kind is None or self.n_clusters < 2 or len(rows) <= self.n_clusters:
            return side_information
        indices = draw_indices(len(rows), _GUIDE_SAMPLE, random)
        sample = read_rows(rows, indices)
        guides = find_guides(
            sample[:, indices] if self._precomputed else sample,
            self.n_clusters,
            kind,
            metric=self.metric,
            d0=self.d0,
            random_state=random.randint(2**31 - 1),
        )
        return replace(side_information, labeled=indices[guides], clusters=np.arange(self.n_clusters))

    def _select_solver(self, n_samples: int, is_streamed: bool) -> str:
        name = self._solver_options.name
        if name == "auto":
            return "lbfgs" if n_samples <= _AUTO_LBFGS_SAMPLES and not is_streamed else "rmsprop"
        if is_streamed and name != "rmsprop":
            raise ValueError(f"solver={name!r} needs data in memory; use solver='rmsprop'.")
        if n_samples > _MAX_SAMPLES_OF_ALL_PAIRS and name != "rmsprop":
            raise ValueError(
                f"solver={name!r} stores a matrix of all pairs, which is too large for n_samples={n_samples}; "
                "use solver='rmsprop'."
            )
        return name

    def _make_reference_tensor(self, solver: str) -> Tensor:
        device = self.device
        if isinstance(device, str) and device == "auto":
            device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        double = solver == "lbfgs" if self.dtype == "auto" else self.dtype == "float64"
        try:
            return torch.zeros((), dtype=torch.float64 if double else torch.float32, device=device)
        except (RuntimeError, TypeError) as error:
            raise ValueError(
                f"device must be 'auto' or an available torch device, got {self.device!r} ({error})."
            ) from error

    @property
    def _learning_rate(self) -> float:
        learning_rate = self._solver_options.learning_rate
        if not isinstance(learning_rate, str):
            return float(learning_rate)
        return _LEARNING_RATE_OF_CUSTOM_NETWORKS if isinstance(self.network, nn.Module) else _LEARNING_RATE

    def _make_partners(self, n_samples: int, random: np.random.RandomState) -> Any:
        if isinstance(self.n_partners, str):
            return None
        if np.ndim(self.n_partners) == 2:
            return read_partners(self.n_partners, n_samples)
        if self.n_partners >= n_samples - 1:
            return None
        return draw_partners(n_samples, self.n_partners, random)

    def _make_network(self, problem: Problem, seed: int) -> EvidentialNetwork:
        reader, focal_sets, reference = problem.reader, problem.focal_sets, problem.losses.conflict
        with torch_seed(seed, reference.device):  # networks draw weights from the random state of torch
            body = self._make_body(len(reader.scale), len(focal_sets))
            if self._initial_weights != "given":
                draw_weights(body)
        link = None if reader.outlier_model is None else self._make_link()
        network = EvidentialNetwork(body, link).to(dtype=reference.dtype, device=reference.device)
        with torch.no_grad():
            shape = tuple(network(*problem.samples.network_inputs(np.arange(2))).shape)
        if shape != (2, len(focal_sets)):
            raise ValueError(
                f"network must have {len(focal_sets)} outputs for each row, one for each focal set "
                f"({', '.join(focal_sets.labels[:6])}{', ...' if len(focal_sets) > 6 else ''}), got shape "
                f"{shape[1:]}."
            )
        return network

    def _make_body(self, n_inputs: int, n_outputs: int) -> nn.Module:
        if isinstance(self.network, nn.Module):
            if isinstance(self.network, EvidentialNetwork):  # from another fit
                return copy.deepcopy(self.network.body).train()
            return copy.deepcopy(self.network)
        sizes = np.ceil(1.5 * n_outputs) if self.network is None else self.network
        return layers(n_inputs, [int(size) for size in np.atleast_1d(sizes)], n_outputs)

    def _make_link(self) -> OutlierLink:
        link = self.network.link if isinstance(self.network, EvidentialNetwork) else None
        if self._initial_weights == "given" and link is not None and link.kind == self._switches["outlier_link"]:
            return copy.deepcopy(link)
        return OutlierLink(self._switches["outlier_link"])

    def _train_on_all_pairs(
        self,
        network: EvidentialNetwork,
        problem: Problem,
        seed: int,
        *,
        partners: Any,
        solver: str,
        report: Report,
    ) -> Trace[Best]:
        """Train on all samples at once."""
        samples, losses, side_information = problem.samples, problem.losses, problem.side_information
        indices = np.arange(samples.n_samples)
        inputs, scores = samples.network_inputs(indices)
        stress = _make_stress(losses, samples.targets(indices), partners)
        known_samples = torch.from_numpy(side_information.samples).to(inputs.device)

        def loss() -> Tensor:
            masses = network(inputs, scores)
            return total_loss(masses[known_samples], stress(masses), network, losses, side_information)

        return train_on_all_pairs(
            network,
            loss,
            solver=solver,
            learning_rate=self._learning_rate,
            max_iter=self.max_iter,
            tol=self.tol,
            report=report,
        )

    def _train_in_batches(
        self,
        network: EvidentialNetwork,
        problem: Problem,
        seed: int,
        *,
        checkpoint: Checkpoint | None,
        report: Report,
    ) -> Trace[Best]:
        size: Any = self._solver_options.batch_size
        if isinstance(size, str):
            size = min(max(len(problem.rows) // 10, 2), _MAX_BATCH_SIZE)
        batches = Batches(
            size=size,
            validation_fraction=self._solver_options.validation_fraction,
            learning_rate=self._learning_rate,
            max_iter=self.max_iter,
            patience=self._solver_options.patience,
            tol=self.tol,
            seed=seed,
            has_random_layers=isinstance(self.network, nn.Module),
        )
        return train_in_batches(
            network,
            problem.samples,
            problem.losses,
            problem.side_information,
            batches,
            checkpoint=checkpoint,
            report=report,
        )

    def _open_checkpoint(self, problem: Problem) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        side_information = problem.side_information
        identity = identity_of(
            self,
            problem.rows,
            labels=[side_information.labeled, side_information.clusters],
            constraints=[side_information.pairs, side_information.is_must_link],
            dissimilarities=problem.dissimilarity.source,
        )
        return Checkpoint(self.checkpoint, identity)

    # The result

    def _finish(self, trace: Trace["_Fit"], random: np.random.RandomState) -> None:
        problem, network = trace.state.problem, trace.state.network
        model = NeuralModel(problem.reader, network.eval(), problem.focal_sets)
        self._model = model
        self.focal_sets_ = model.focal_sets
        self.network_ = network
        self.outlier_model_ = problem.reader.outlier_model
        self.d0_, self.d1_ = problem.transform.d0, problem.transform.d1
        indices = draw_indices(len(problem.rows), _SHEPARD_SAMPLES, random)
        masses = model.assign(read_rows(problem.rows, indices))
        upper = np.triu_indices(len(indices), 1)
        self.conflict_ = (masses @ model.focal_sets.conflict_matrix @ masses.T)[upper]
        self.transformed_dissimilarities_ = (
            problem.samples.targets(indices).cpu().numpy().astype(np.float64)[upper]
        )
        self._check_evidence(len(problem.rows), model.focal_sets.frame_size)
        if self._masses_file is None or process_rank() == 0:  # only 1 process writes a file
            self._publish_masses(problem.rows)
        publish_trace(self, trace, "the loss", max_iter=self.max_iter)
        self.objective_ = trace.state.objective

    def _after_loading(self) -> None:
        """Set the network, and raise unless the attributes from a file are consistent."""
        super()._after_loading()
        model = self._model
        reader = model.reader
        fields.check_features(self, len(reader.mean))
        n_inputs = len(reader.mean) if reader.components is None else len(reader.components)
        check_shape("components", reader.components, (n_inputs, len(reader.mean)))
        check_shape("scale", reader.scale, (n_inputs,))
        if isinstance(reader.middle, np.ndarray):
            check_shape("middle", reader.middle, (n_inputs,))
        weights = model.network.to_stored()["weights"]
        if weights[0].shape[1] != n_inputs or len(weights[-1]) != len(model.focal_sets):
            raise ValueError(f"its network must have {n_inputs} inputs and {len(model.focal_sets)} outputs")
        self.network_, self.outlier_model_ = model.network, None


#: Function from a network, its problem and a seed to the trace of its training.
_Train: TypeAlias = Callable[..., Trace[Best]]


class _Fit(NamedTuple):
    """Trained network, its problem, and the smallest loss."""

    problem: Problem
    network: EvidentialNetwork
    objective: float


def one_torch_thread() -> AbstractContextManager[None]:
    """Limit torch to one thread, because products are small and results should not depend on the machine."""
    return _TORCH.limited()


def _limit_torch() -> Callable[[], None]:
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    return partial(torch.set_num_threads, n_threads)


_TORCH = SharedLimit(_limit_torch)


def _make_stress(losses: Losses, targets: Tensor, partners: Any) -> Any:
    """Return a function from the masses of all samples to the loss of their pairs."""
    if partners is None:
        return lambda masses: losses.all_pairs(masses, targets)
    n, k = partners.shape
    indices = torch.from_numpy(partners.astype(np.int64)).to(targets.device)
    if n > _MAX_SPARSITY * k:
        partner_targets = torch.gather(targets, 1, indices)
        return lambda masses: losses.partner_pairs(masses, indices, partner_targets)
    counts = torch.zeros_like(targets).scatter_add_(1, indices, torch.ones_like(targets[:, :k])) / (n * k)
    return lambda masses: losses.weighted_pairs(masses, targets, counts)
