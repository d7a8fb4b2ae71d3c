"""Sources of doubt: overlapping clusters, unstable clusterings, and outliers."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evlearn.utils.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class DoubtSources:
    """Sources of doubt about each sample: overlap, replication and outliers.

    Overlap remains with more samples; another feature may remove it. Disagreement of replications vanishes with
    more samples, or shows that there are other clusters. Outliers are problems of single samples.

    Attributes
    ----------
    sets : ndarray of bool of shape (n_samples, n_clusters)
        Clusters that each sample may belong to.
    best : ndarray of int of shape (n_samples,)
        Best cluster of each sample, or -1.
    overlap : ndarray of shape (n_samples,)
        Probability of clusters other than the best one in the model of all samples; 0 if labels are hard.
    replication : ndarray of shape (n_samples,)
        Share of replications with another best cluster.
    outlier : ndarray of shape (n_samples,)
        Outlier p-value: share of samples with at least the same outlier score.
    """

    sets: BoolArray
    best: IntArray
    overlap: FloatArray
    replication: FloatArray
    outlier: FloatArray

    @property
    def kinds(self) -> npt.NDArray[np.str_]:
        """The kind of each sample: "sure", "outlier", or for torn samples, "overlap" or "replication".

        This is the larger of both doubts; for hard labels it is always "replication".
        """
        n_candidates = self.sets.sum(axis=1)
        torn = np.where(self.overlap > self.replication, "overlap", "replication")
        return np.where(n_candidates == 0, "outlier", np.where(n_candidates == 1, "sure", torn))

    def counts(self) -> dict[str, int]:
        """Count the samples of each kind.

        Returns
        -------
        dict from str to int
            Numbers of "sure", "overlap", "replication" and "outlier" samples.
        """
        kinds = self.kinds
        return {kind: int((kinds == kind).sum()) for kind in ("sure", "overlap", "replication", "outlier")}

    def describe(self, sample: int) -> str:
        """Describe the doubt about a sample.

        Parameters
        ----------
        sample : int
            Number of the sample.

        Returns
        -------
        str
            Plain text of a few sentences.
        """
        kind, share = self.kinds[sample], f"{100 * self.replication[sample]:.0f} %"
        members = [str(cluster) for cluster in np.flatnonzero(self.sets[sample])]
        if kind == "outlier":
            return (
                f"Sample {sample} is an outlier: {100 * self.outlier[sample]:.2g} % of the samples are as far "
                f"from others, relative to their clusters. The nearest cluster is {self.best[sample]}."
            )
        if kind == "sure":
            return f"Sample {sample} is in cluster {members[0]}; {share} of the replications assign another one."
        text = f"Sample {sample} is torn between the clusters {', '.join(members[:-1])} and {members[-1]}. "
        if kind == "overlap":
            return text + (
                f"They overlap there: the model gives {100 * self.overlap[sample]:.0f} % to clusters other than "
                f"{self.best[sample]}, and {share} of the replications assign it to another cluster. More "
                "samples would not help."
            )
        return text + (
            f"The clustering itself is unstable there: {share} of the replications assign it to a cluster other "
            f"than {self.best[sample]}. More samples or another number of clusters may help."
        )
