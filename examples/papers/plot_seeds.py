"""
Comparing and combining partitions of the Seeds data
====================================================

The lecture of 2017 on evidential clustering compares hard, fuzzy and evidential partitions of 210 seeds of wheat
(Kama, Rosa and Canadian, 7 features) on a map, and combines them :cite:p:`denoeux2018comparing`. This example
repeats the analysis with methods from this library and from scikit-learn, without rough c-means and fuzzy
c-medoids.

The data cannot be distributed with the library. They are the Seeds data of the UCI repository: put ``seeds.csv``,
with 7 features and the variety in the last column, into a folder ``shared/data`` beside the project, or set the
environment variable ``EVLEARN_DATA`` to its folder. Without the file, this page shows the Iris data.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from evlearn import CredalPartition
from evlearn.cluster import ECM, EVCLUS, Quantile
from evlearn.ensemble import combine_partitions
from evlearn.metrics import compare_partitions
from evlearn.plotting import ComparisonDisplay, CredalPartitionDisplay

folders = [
    os.environ.get("EVLEARN_DATA", "."),
    *(folder / "shared" / "data" for folder in Path.cwd().parents),
]
file = next(
    (path for folder in folders if (path := Path(folder, "seeds.csv")).exists()), None
)
if file is not None:
    table = pd.read_csv(file)
    X, y = StandardScaler().fit_transform(table.iloc[:, :7]), table.iloc[:, -1]
else:
    print(
        "seeds.csv was not found: these are NOT the data of the lecture, but the Iris data."
    )
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)

# %%
# Compute evidential partitions, and convert each: the most plausible cluster (hard), probabilities (fuzzy), and
# the set with the largest mass (rough).

evidential = {
    "ECM": ECM(3, focal_sets="pairs", alpha=1, beta=2, random_state=0)
    .fit(X)
    .credal_partition_,
    "EVCLUS": EVCLUS(3, focal_sets="full", d0=Quantile(0.9), random_state=0)
    .fit(X)
    .credal_partition_,
}
partitions = dict(evidential)
for name, partition in evidential.items():
    partitions[f"{name}, hard"] = partition.to_hard()
    partitions[f"{name}, fuzzy"] = partition.to_fuzzy()
    partitions[f"{name}, rough"] = CredalPartition.from_rough(partition.to_rough())
partitions["k-means"] = KMeans(3, n_init=10, random_state=0).fit_predict(X)
partitions["Ward"] = AgglomerativeClustering(3).fit_predict(X)
comparison = compare_partitions(partitions, y)
print(comparison)

# %%
# On the map, hard partitions are close to each other, independent of the method; nonspecificity increases towards
# the evidential partitions.

ComparisonDisplay.from_comparison(comparison)
plt.show()

# %%
# Combine the hard partitions by the rule of Dubois and Prade, as in the lecture: samples with contradictory labels
# are torn.

hard = [partitions[name] for name in ("k-means", "Ward", "ECM, hard", "EVCLUS, hard")]
combined = combine_partitions(hard, rule="dubois_prade", random_state=0)
print(combined.summary())
display = CredalPartitionDisplay.from_result(combined, PCA(2).fit_transform(X))
display.ax_.set(
    xlabel="first principal component",
    ylabel="second principal component",
    title="combined",
)
plt.show()

# %%
# The combination contradicts the true varieties about as rarely as the best of the combined partitions, which
# could not be identified without the true varieties.

print(
    compare_partitions(
        {
            "combined": combined,
            **{f"hard {n}": labels for n, labels in enumerate(hard)},
        },
        y,
    )
)
