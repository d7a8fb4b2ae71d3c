"""Where doubt comes from: clusters that overlap, a clustering that changes, or a sample like no other."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evlearn.utils.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class KindsOfDoubt:
    """Three kinds of doubt about each sample, told apart.

    Overlap stays however many samples there are, and another feature may end it. What replications disagree
    about goes away with more samples, or is a sign that there are other clusters than these. An outlier is a
    question to ask of the sample itself.

    Attributes
    ----------
    sets : ndarray of bool of shape (n_samples, n_clusters)
        The clusters that each sample may belong to.
    best : ndarray of int of shape (n_samples,)
        The best cluster of each sample, or -1.
    overlap : ndarray of shape (n_samples,)
        The probability of other clusters than the best in the model that was fitted to all samples; zero where
        labels are hard.
    replication : ndarray of shape (n_samples,)
        The share of replications whose best cluster is another.
    outlier : ndarray of shape (n_samples,)
        The share of samples that are at least as far from the others, by the measure of their clusters.
    """

    sets: BoolArray
    best: IntArray
    overlap: FloatArray
    replication: FloatArray
    outlier: FloatArray

    @property
    def kinds(self) -> npt.NDArray[np.str_]:
        """One word for each sample: "sure", "outlier", or what a torn sample owes its doubt to.

        That is "overlap" or "replication", whichever is larger; for hard labels it is always "replication".
        """
        n_candidates = self.sets.sum(axis=1)
        torn = np.where(self.overlap > self.replication, "overlap", "replication")
        return np.where(n_candidates == 0, "outlier", np.where(n_candidates == 1, "sure", torn))

    def counts(self) -> dict[str, int]:
        """How many samples there are of each kind.

        Returns
        -------
        dict from str to int
            The numbers of "sure", "overlap", "replication" and "outlier".
        """
        kinds = self.kinds
        return {kind: int((kinds == kind).sum()) for kind in ("sure", "overlap", "replication", "outlier")}

    def describe(self, sample: int) -> str:
        """What is known about a sample, in words.

        Parameters
        ----------
        sample : int
            The number of the sample.

        Returns
        -------
        str
            A few sentences.
        """
        kind, share = self.kinds[sample], f"{100 * self.replication[sample]:.0f} %"
        members = [str(cluster) for cluster in np.flatnonzero(self.sets[sample])]
        if kind == "outlier":
            return (
                f"Sample {sample} is an outlier: {100 * self.outlier[sample]:.2g} % of the samples are as far "
                f"from the others, by the measure of their clusters. The nearest cluster is {self.best[sample]}."
            )
        if kind == "sure":
            return f"Sample {sample} is in cluster {members[0]}; {share} of the replications put it elsewhere."
        between = f"Sample {sample} is torn between the clusters {', '.join(members[:-1])} and {members[-1]}. "
        if kind == "overlap":
            return between + (
                f"They overlap there: the model gives {100 * self.overlap[sample]:.0f} % to others than cluster "
                f"{self.best[sample]}, and {share} of the replications put it elsewhere. More "
                "samples would not help."
            )
        return between + (
            f"The clustering itself changes there: {share} of the replications put it elsewhere than in cluster "
            f"{self.best[sample]}. More samples may help, or another number of clusters."
        )


__all__ = ["KindsOfDoubt"]
