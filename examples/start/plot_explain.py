"""
What are these clusters?
========================

178 Italian wines in three clusters: what makes each of them different, in the units of the laboratory, and why
some wines are torn between two.
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
# Whoever reads that knows what to call them. Names go into all sentences.
names = ["strong", "tannic", "light"]
explanation = explain_clusters(model, wines, cluster_names=names)
torn = explanation.torn[0]
print(torn)

# %%
# The two columns that speak for each cluster of that wine, and the wine itself.
verdict = explanation.verdict
for k, name in enumerate(names):
    own = verdict.candidates[:, k] & verdict.sure
    plt.scatter(wines["malic_acid"][own], wines["hue"][own], label=name, s=20)
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
# A row for each wine that a person should taste.
print(
    explanation.to_frame("samples")[["sample", "candidates", "doubt"]]
    .round(2)
    .to_string(index=False)
)
