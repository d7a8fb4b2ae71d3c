"""Training problem of NN-EVCLUS, and initial weights, which imitate an EVCLUS fit of a subset of the samples."""

import copy
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from evlearn.belief import FocalSets
from evlearn.blocks import RowDataset
from evlearn.cluster import EVCLUS
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.exceptions import CollapseWarning
from evlearn.neural.dissimilarity import Dissimilarity
from evlearn.neural.losses import Losses, SideInformation
from evlearn.neural.network import EvidentialNetwork, as_tensor
from evlearn.neural.reading import Reader, draw_indices, read_rows
from evlearn.neural.training import make_lbfgs
from evlearn.neural.training_samples import TrainingSamples
from evlearn.partition import CredalPartition
from evlearn.utils.typing import FloatArray, IntArray

#: Minimum number of samples of the EVCLUS fit; 20 per cluster if these are more.
_MIN_EXAMPLES = 200
#: Number of L-BFGS iterations for the initial weights.
_IMITATION_STEPS = 50


@dataclass(frozen=True)
class Problem:
    """Training problem of NN-EVCLUS.

    Attributes
    ----------
    rows : RowDataset
        Training set.
    reader : Reader
        Transform of rows to inputs.
    dissimilarity : Dissimilarity
        Dissimilarity of samples.
    transform : Transform
        Transform from dissimilarities to target conflicts.
    focal_sets : FocalSets
        Sets that carry mass.
    side_information : SideInformation
        Labels and constraints.
    samples : TrainingSamples
        Inputs to the network, and targets.
    losses : Losses
        Terms of the loss.
    """

    rows: RowDataset
    reader: Reader
    dissimilarity: Dissimilarity
    transform: Transform
    focal_sets: FocalSets
    side_information: SideInformation
    samples: TrainingSamples
    losses: Losses


def draw_examples(problem: Problem, random: np.random.RandomState) -> IntArray:
    """Draw the indices of the samples that determine the initial weights."""
    return draw_indices(len(problem.rows), _count_examples(problem.focal_sets.frame_size), random)


def _count_examples(n_clusters: int) -> int:
    return max(_MIN_EXAMPLES, 20 * n_clusters)


def make_example_masses(problem: Problem, random: np.random.RandomState) -> tuple[IntArray, FloatArray]:
    """Draw samples and fit EVCLUS to them; its clusters are matched with the labels.

    Returns
    -------
    chosen : ndarray of int of shape (n,)
        Indices of the samples.
    masses : ndarray of shape (n, n_focal_sets)
        Masses of the samples.
    """
    focal_sets, side_information = problem.focal_sets, problem.side_information
    n_clusters = focal_sets.frame_size
    labeled = random.permutation(side_information.labeled)[: _count_examples(n_clusters) // 2]
    chosen = np.concatenate([labeled, np.setdiff1d(draw_examples(problem, random), labeled)])
    partition = _fit_evclus(problem, chosen, "auto", random)
    if len(labeled) == 0:
        return chosen, partition.masses
    clusters = dict(zip(side_information.labeled, side_information.clusters, strict=True))
    agreement = np.zeros((n_clusters, n_clusters))
    np.add.at(agreement, [clusters[sample] for sample in labeled], partition.to_possibilistic()[: len(labeled)])
    return chosen, _renumber_clusters(partition.masses, focal_sets, linear_sum_assignment(-agreement)[1])


def refine_masses(
    problem: Problem, masses: FloatArray, chosen: IntArray, random: np.random.RandomState
) -> FloatArray:
    """Continue EVCLUS from masses, because a network hardly leaves masses of zero."""
    return _fit_evclus(problem, chosen, masses, random).masses


def _fit_evclus(problem: Problem, chosen: IntArray, init: Any, random: np.random.RandomState) -> CredalPartition:
    method = EVCLUS(
        problem.focal_sets.frame_size,
        focal_sets=problem.focal_sets,
        metric="precomputed",
        dissimilarity_transform=problem.transform,
        init=init,
        tol=1e-3,
        random_state=random,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # an approximate start is sufficient
        warnings.simplefilter("ignore", CollapseWarning)
        return method.fit(problem.dissimilarity.square(chosen, read_rows(problem.rows, chosen))).credal_partition_


def _renumber_clusters(masses: FloatArray, focal_sets: FocalSets, order: IntArray) -> FloatArray:
    """Renumber clusters, so that k is the old ``order[k]``; sets outside the family become all clusters."""
    places = focal_sets.positions(focal_sets.membership[:, order])
    renumbered = np.zeros_like(masses)
    np.add.at(renumbered.T, np.where(places < 0, len(focal_sets) - 1, places), masses.T)
    return renumbered


def imitate_masses(
    network: EvidentialNetwork, samples: TrainingSamples, indices: IntArray, masses: FloatArray
) -> None:
    """Train a network to reproduce the masses of a subset of the samples."""
    inputs, scores = samples.network_inputs(indices)
    targets = as_tensor(masses, inputs)

    def loss() -> Tensor:
        differences: Tensor = network(inputs, scores) - targets
        return (differences**2).sum(dim=1).mean()

    before = copy.deepcopy(network.state_dict())
    make_lbfgs(network, loss)(_IMITATION_STEPS)
    if not all(bool(torch.isfinite(values).all()) for values in network.state_dict().values()):
        network.load_state_dict(before)
