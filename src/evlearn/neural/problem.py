"""What a network is to learn, and from which samples."""

from dataclasses import dataclass

from evlearn.belief import FocalSets
from evlearn.blocks import Rows
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.neural.dissimilarity import Dissimilarity
from evlearn.neural.losses import Losses
from evlearn.neural.objects import Objects
from evlearn.neural.reading import Reader
from evlearn.neural.side_information import Known


@dataclass(frozen=True)
class Problem:
    """A problem of NN-EVCLUS.

    Attributes
    ----------
    rows : Rows
        The training set.
    reader : Reader
        What the network sees of a row.
    dissimilarity : Dissimilarity
        How unlike samples are.
    transform : Transform
        From dissimilarities to target conflicts.
    focal_sets : FocalSets
        The sets that carry mass.
    known : Known
        What is known about some samples.
    samples : Samples
        The training set as the network sees it, with its targets.
    losses : Losses
        The terms of the loss.
    """

    rows: Rows
    reader: Reader
    dissimilarity: Dissimilarity
    transform: Transform
    focal_sets: FocalSets
    known: Known
    objects: Objects
    losses: Losses
