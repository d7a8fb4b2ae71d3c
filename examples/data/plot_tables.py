"""
Clustering a table with categories and missing values
=====================================================

The data are 344 penguins of 3 species with 4 measurements, the island and the sex; some values are missing. A
pipeline clusters the table and identifies torn penguins.
"""

import matplotlib.pyplot as plt
import pandas as pd
from palmerpenguins import load_penguins
from sklearn.pipeline import make_pipeline

import evlearn
from evlearn.cluster import ECM
from evlearn.explain import explain_clusters
from evlearn.preprocessing import TableEncoder

penguins = load_penguins()
table = penguins.drop(columns=["species", "year"])
print(table.head())

# %%
# The encoder scales the columns, encodes categories, keeps missing values, and reports its choices. We drop the
# sex, because it splits each species and we want to find groups similar to species.
model = make_pipeline(TableEncoder(drop=["sex"]), ECM(3, random_state=0)).fit(table)
print(model[0].describe())

# For 2 penguins, only the island is known. All penguins on Torgersen are of the same species, so the first one can
# be assigned to it. There are 2 species on Biscoe, so the second one is more doubtful.
partition = evlearn.predict_mass(model, table)
print(partition.summary())
verdict = partition.verdict()
unmeasured = table["bill_length_mm"].isna()
print(
    partition.to_frame()
    .loc[unmeasured.to_numpy(), ["assignment", "doubt", "Ω"]]
    .round(2)
)

# %%
# Compare the clusters with the species, which were not used for clustering.
verdicts = pd.Series(verdict.labels(), name="verdict")
print(pd.crosstab(penguins["species"], verdicts))

# %%
# Explain the clusters in the original units.
print(explain_clusters(model, table))

# %%
# Plot 2 of the columns. Crosses are torn samples.
sure = verdict.sure
plt.scatter(
    table["flipper_length_mm"][sure],
    table["bill_length_mm"][sure],
    c=partition.to_hard()[sure],
    cmap="viridis",
    s=15,
)
plt.scatter(
    table["flipper_length_mm"][~sure],
    table["bill_length_mm"][~sure],
    color="tab:red",
    marker="x",
    label="torn",
)
plt.xlabel("flipper length (mm)")
plt.ylabel("bill length (mm)")
plt.legend()
plt.show()
