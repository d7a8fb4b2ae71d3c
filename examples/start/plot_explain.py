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

from evlearn import predict_mass
from evlearn.cluster import CCM
from evlearn.explain import explain_clusters
from evlearn.plotting import CredalPartitionDisplay

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
# Plot 2 columns that separate the clusters. Filled markers are sure wines, rings are torn between the clusters of
# their 2 colors, and the cross is an outlier.
columns = wines[["flavanoids", "color_intensity"]]
partition = predict_mass(model, wines)
display = CredalPartitionDisplay.from_result(
    partition, columns, hulls=False, legend=False
)
for points in [*display.torn_points_, display.outlier_points_]:
    points.set_sizes([110])
ax = display.ax_
for k, position in enumerate([(3.9, 10.5), (1.6, 11.5), (3.1, 2.0)]):
    ax.text(*position, names[k], fontsize=16)
x, y = columns.iloc[torn.position]
arrow = {"arrowstyle": "->"}
ax.annotate(torn.sample, (x, y), (x + 0.5, y + 2), fontsize=13, arrowprops=arrow)
ax.set_title("Which wines should be checked?", fontsize=15)
plt.show()

# %%
# Print one row for each wine that should be reviewed.
print(
    explanation.to_frame("samples")[["sample", "candidates", "doubt"]]
    .round(2)
    .to_string(index=False)
)
