"""
Doubt of clusters of cells, with scanpy
=======================================

Which clusters of 700 blood cells are unreliable, and which pairs of clusters share torn cells? The Louvain clusters and
the UMAP are those of the data, which come with scanpy.
"""

import scanpy as sc

from evlearn.cluster import doubt_of
from evlearn.plotting import CredalPartitionDisplay

adata = sc.datasets.pbmc68k_reduced()
doubt_of(adata, groupby="louvain", use_rep="X_pca")
print(adata.uns["doubt"]["clusters"].round(2).to_string())

# %%
# Output:
#
# .. code-block:: text
#
#             n_cells  sure  torn  outlier  mean_doubt
#    cluster
#    0            130  0.78  0.18     0.03        0.32
#    1            123  0.85  0.14     0.01        0.27
#    2            117  0.87  0.12     0.01        0.21
#    3             70  0.57  0.41     0.01        0.41
#    4             66  0.91  0.09     0.00        0.21
#    5             54  0.22  0.78     0.00        0.50
#    6             42  0.50  0.50     0.00        0.40
#    7             35  1.00  0.00     0.00        0.07
#    8             31  0.97  0.03     0.00        0.14
#    9             19  0.42  0.58     0.00        0.40
#    10            13  0.62  0.38     0.00        0.32
#
# The pairs of clusters with the most torn cells:
torn = adata.obs[adata.obs["doubt_verdict"] == "torn"]
pairs = torn.groupby(["doubt_cluster", "doubt_second_cluster"], observed=True).size()
print(pairs.nlargest(4).to_string())

# %%
# Output:
#
# .. code-block:: text
#
#    doubt_cluster  doubt_second_cluster
#    5              1                       30
#    3              0                       28
#    6              2                       20
#    1              5                       17
#
# Both plots are on the UMAP of the data: one by this library, with the other cluster of torn cells as the inner color of
# rings, and those of scanpy, which draws any column.
CredalPartitionDisplay.from_anndata(adata, basis="umap")
sc.pl.umap(adata, color=["louvain", "doubt", "doubt_verdict"])
