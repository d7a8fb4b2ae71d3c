"""Training problem of NN-EVCLUS: the samples and the loss."""

from dataclasses import dataclass

from evlearn.belief import FocalSets
from evlearn.blocks import RowDataset
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.neural.dissimilarity import Dissimilarity
from evlearn.neural.losses import Losses
from evlearn.neural.reading import Reader
from evlearn.neural.side_information import SideInformation
from evlearn.neural.training_samples import TrainingSamples


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
