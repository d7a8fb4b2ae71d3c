"""
Explaining clusters
===================

We cluster 178 Italian wines into 3 clusters, and explain the differences between the clusters in the original
units, and why some wines are torn between 2 clusters.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn.cluster import CCM
from evlearn.explain import explain_clusters

wines = load_wine(as_frame=True).data
wines.index = [f"wine {number}" for number in range(len(wines))]
model = make_pipeline(StandardScaler(), CCM(3, random_state=0)).fit(wines)
print(explain_clusters(model, wines))

# %%
# After reading this explanation, the clusters can be named. The names are used in all descriptions.
names = ["strong", "tannic", "light"]
explanation = explain_clusters(model, wines, cluster_names=names)
torn = explanation.torn[0]
print(torn)

# %%
# Plot the 2 columns that support each cluster of that wine, and the wine itself.
verdict = explanation.verdict
for k, name in enumerate(names):
    members = verdict.candidates[:, k] & verdict.sure
    plt.scatter(wines["malic_acid"][members], wines["hue"][members], label=name, s=20)
plt.scatter(
    wines["malic_acid"][verdict.torn],
    wines["hue"][verdict.torn],
    color="0.5",
    marker="x",
    label="torn",
)
x, y = wines[["malic_acid", "hue"]].iloc[torn.position]
plt.annotate(torn.sample, (x, y), (x + 0.8, y + 0.35), arrowprops={"arrowstyle": "->"})
plt.xlabel("malic_acid")
plt.ylabel("hue")
plt.legend(title="cluster")
plt.show()

# %%
# Print one row for each wine that should be reviewed.
print(
    explanation.to_frame("samples")[["sample", "candidates", "doubt"]]
    .round(2)
    .to_string(index=False)
)
