"""
A table as it is
================

344 penguins of three species: four measurements, the island, the sex, and gaps. One pipeline goes from the table
to clusters, and says which penguins are torn.
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
# The encoder chooses scales, makes features of categories, keeps gaps, and says what it did. The sex is left out:
# it divides every species, and we look for kinds of penguins.
model = make_pipeline(TableEncoder(drop=["sex"]), ECM(3, random_state=0)).fit(table)
print(model[0].describe())

# %%
# Two penguins were not measured at all; the island is all that is known. On Torgersen there is one kind, and the
# first is likely to be of it. On Biscoe there are two, and the second is in more doubt.
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
# Clusters beside species, which the clusterer has not seen.
said = pd.Series(verdict.labels(), name="verdict")
print(pd.crosstab(penguins["species"], said))

# %%
# What makes the clusters different, in the units of the table.
print(explain_clusters(model, table))

# %%
# A picture of two of the columns. Crosses are torn.
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
plt.xlabel("length of the flipper (mm)")
plt.ylabel("length of the bill (mm)")
plt.legend()
plt.show()
