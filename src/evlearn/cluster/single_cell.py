"""Doubt of clusters of cells, in the `AnnData` objects of scanpy, which is not imported."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from evlearn.cluster.neighbors.credal_clusterer import CredalClusterer
from evlearn.partition import SURE_LEVEL, CredalPartition
from evlearn.partition.estimators import verdict_frame
from evlearn.utils.formatting import join_first
from evlearn.utils.typing import AnnDataLike, RandomSeed

_VERDICTS = ("sure", "torn", "outlier")
#: Maximum number of keys in a message.
_MAX_LISTED = 10


def doubt_of(
    adata: AnnDataLike,
    groupby: str = "leiden",
    use_rep: str = "X_pca",
    *,
    key_added: str = "doubt",
    outlier_share: float | None = None,
    n_neighbors: int = 10,
    random_state: RandomSeed = 0,
) -> CredalPartition:
    """Compute the doubt of clusters or types of cells, and write it to an `AnnData` object.

    The cells keep their labels. A cell is sure if its neighbors have the same label, torn if they have several
    labels, and an outlier if it is far from all others. Cells without a label (missing values) are noise, and are
    assigned to clusters as well. See `CredalClusterer` for the method.

    Parameters
    ----------
    adata : AnnData
        Annotated data, which are changed.
    groupby : str, default="leiden"
        Column of ``adata.obs`` with the labels of cells: clusters, or types.
    use_rep : str, default="X_pca"
        Key of ``adata.obsm`` with the coordinates of cells; "X" means ``adata.X``.
    key_added : str, default="doubt"
        Key of the results in ``adata.obs`` and ``adata.uns``.
    outlier_share : float or None, default=None
        Share of the cells that are outliers, from 0 to 0.5; None means cells that are farther from their neighbors
        than nearly all others.
    n_neighbors : int, default=10
        Number of neighbors.
    random_state : int, RandomState instance or None, default=0
        Seed for the selection of 5000 cells among which neighbors are searched, if there are more.

    Returns
    -------
    CredalPartition
        Masses of the cells, with their names and those of the clusters. With ``key_added="doubt"``, these are
        written:

        ``adata.obs["doubt"]``
            Doubt, from 0 to 1.
        ``adata.obs["doubt_verdict"]``
            Verdict: sure, torn or outlier.
        ``adata.obs["doubt_cluster"]``
            Most plausible cluster, which is the label of a labeled cell.
        ``adata.obs["doubt_second_cluster"]``
            Next cluster.
        ``adata.obs["doubt_outlier_score"]``
            Mass of the empty set, at least 0.5 for outliers.
        ``adata.uns["doubt"]``
            The parameters, and in ``"clusters"`` for each cluster the number of its cells, the shares of sure and
            torn cells and of outliers, and the mean doubt.

    See Also
    --------
    evlearn.plotting.CredalPartitionDisplay.from_anndata : Plot of the result on an existing embedding.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from types import SimpleNamespace
    >>> from evlearn.cluster import doubt_of
    >>> adata = SimpleNamespace(  # in practice, an AnnData object
    ...     obs=pd.DataFrame({"leiden": ["0"] * 10 + ["1"] * 10}),
    ...     obsm={"X_pca": np.arange(20.0)[:, np.newaxis]},
    ...     uns={},
    ... )
    >>> partition = doubt_of(adata, n_neighbors=4)
    >>> adata.obs["doubt_verdict"].tolist()[7:12]
    ['sure', 'sure', 'torn', 'torn', 'sure']
    """
    import pandas as pd  # AnnData needs it, too

    if groupby not in adata.obs:
        raise ValueError(f"groupby={groupby!r} is not a column of adata.obs; it has {_list(adata.obs)}.")
    labels = pd.Categorical(adata.obs[groupby])
    clusterer = CredalClusterer(
        np.asarray(labels.codes, dtype=np.intp), outlier_share, n_neighbors=n_neighbors, random_state=random_state
    ).fit(_coordinates_of(adata, use_rep))
    partition = clusterer.credal_partition_
    names = [str(labels.categories[int(number)]) for number in partition.cluster_names]
    partition = partition.rename(cluster_names=names, sample_names=adata.obs.index)
    frame = verdict_frame(partition, None, "pandas", SURE_LEVEL)
    has_label = labels.codes >= 0  # remote outliers have no mass on any cluster
    frame.loc[has_label, "cluster"] = [str(label) for label in labels[has_label]]
    frame["cluster"] = pd.Categorical(frame["cluster"], categories=names)
    second = frame["second_cluster"].where(frame["second_cluster"] != frame["cluster"])
    frame["second_cluster"] = pd.Categorical(second, categories=names)
    frame["verdict"] = pd.Categorical(frame["verdict"], categories=list(_VERDICTS))
    for name, values in frame.items():
        adata.obs[key_added if name == "doubt" else f"{key_added}_{name}"] = values.array
    parameters = {"groupby": groupby, "use_rep": use_rep, "n_neighbors": n_neighbors}
    if outlier_share is not None:  # h5ad files have no None
        parameters["outlier_share"] = outlier_share
    adata.uns[key_added] = {"params": parameters, "clusters": _by_cluster(frame)}
    return partition


def _coordinates_of(adata: AnnDataLike, use_rep: str) -> Any:
    if use_rep != "X" and use_rep not in adata.obsm:
        raise ValueError(
            f"use_rep={use_rep!r} is not a key of adata.obsm; it has {_list(adata.obsm)}. Compute it, for example "
            "with scanpy.pp.pca(adata)."
        )
    rows = adata.X if use_rep == "X" else adata.obsm[use_rep]
    return rows.toarray() if issparse(rows) else np.asarray(rows)


def _list(keys: Any) -> str:
    return join_first([repr(str(key)) for key in keys], _MAX_LISTED) or "none"


def _by_cluster(frame: Any) -> Any:
    """Return a row for each cluster: its number of cells, their verdicts and their doubt."""
    groups = frame.groupby("cluster", observed=False)
    table = groups["doubt"].agg(n_cells="size", mean_doubt="mean")
    for verdict in _VERDICTS:
        table[verdict] = (frame["verdict"] == verdict).groupby(frame["cluster"], observed=False).mean()
    table.index = table.index.astype(str)
    return table[["n_cells", *_VERDICTS, "mean_doubt"]]
