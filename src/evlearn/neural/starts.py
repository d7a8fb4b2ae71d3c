"""Where training starts: weights that imitate a fit of EVCLUS to some samples."""

import copy
import warnings
from typing import Any

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from evlearn.belief import FocalSets
from evlearn.cluster import EVCLUS
from evlearn.exceptions import CollapseWarning
from evlearn.neural.model import as_tensor
from evlearn.neural.network import EvidentialNetwork
from evlearn.neural.objects import Objects
from evlearn.neural.problem import Problem
from evlearn.neural.reading import some, take
from evlearn.neural.training import make_lbfgs
from evlearn.partition import CredalPartition
from evlearn.utils.typing import FloatArray, IntArray

_OBJECTS = 200
_ITERATIONS = 50


def example_samples(problem: Problem, random: np.random.RandomState) -> IntArray:
    """Some samples, enough to know a start by."""
    return some(len(problem.rows), _size(problem.focal_sets.frame_size), random)


def _size(n_clusters: int) -> int:
    return max(_OBJECTS, 20 * n_clusters)


def example_masses(problem: Problem, random: np.random.RandomState) -> tuple[IntArray, FloatArray]:
    """Some samples, and the masses that EVCLUS gives them; its clusters are numbered as the labels are.

    Returns
    -------
    chosen : ndarray of int of shape (n,)
        The samples.
    masses : ndarray of shape (n, n_focal_sets)
        Their masses.
    """
    focal_sets, known = problem.focal_sets, problem.known
    n_clusters = focal_sets.frame_size
    labelled = random.permutation(known.labelled)[: _size(n_clusters) // 2]
    chosen = np.concatenate([labelled, np.setdiff1d(example_samples(problem, random), labelled)])
    found = _evclus(problem, chosen, "auto", random)
    if len(labelled) == 0:
        return chosen, found.masses
    clusters = dict(zip(known.labelled, known.clusters, strict=True))
    agreement = np.zeros((n_clusters, n_clusters))
    np.add.at(agreement, [clusters[one] for one in labelled], found.to_possibilistic()[: len(labelled)])
    return chosen, _renumbered(found.masses, focal_sets, linear_sum_assignment(-agreement)[1])


def refined_masses(
    problem: Problem, masses: FloatArray, chosen: IntArray, random: np.random.RandomState
) -> FloatArray:
    """The masses of some samples, after EVCLUS has gone on from them: a network hardly leaves zeros."""
    return _evclus(problem, chosen, masses, random).masses


def _evclus(problem: Problem, chosen: IntArray, init: Any, random: np.random.RandomState) -> CredalPartition:
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
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is but a start
        warnings.simplefilter("ignore", CollapseWarning)
        return method.fit(problem.dissimilarity.square(chosen, take(problem.rows, chosen))).credal_partition_


def _renumbered(masses: FloatArray, focal_sets: FocalSets, order: IntArray) -> FloatArray:
    """Masses in which cluster k is what cluster ``order[k]`` was; sets that there are not become all clusters."""
    places = focal_sets.positions(focal_sets.membership[:, order])
    found = np.zeros_like(masses)
    np.add.at(found.T, np.where(places < 0, len(focal_sets) - 1, places), masses.T)
    return found


def imitate(network: EvidentialNetwork, objects: Objects, indices: IntArray, masses: FloatArray) -> None:
    """Teach a network the masses of some samples, as a start."""
    inputs, scores = objects.see(indices)
    wanted = as_tensor(masses, inputs)

    def loss() -> Tensor:
        apart: Tensor = network(inputs, scores) - wanted
        return (apart**2).sum(dim=1).mean()

    before = copy.deepcopy(network.state_dict())
    make_lbfgs(network, loss)(_ITERATIONS)
    if not all(bool(torch.isfinite(one).all()) for one in network.state_dict().values()):
        network.load_state_dict(before)
