"""
Doubt, wrong labels and novel samples with an evidential forest
===============================================================

The leaves of `~evlearn.classify.EvidentialForestClassifier` account for the number of their training samples. The
forest can therefore predict "one of these 2 classes", and express ignorance about samples that differ from all
training samples. Its out-of-bag predictions help to detect wrong labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from evlearn.classify import EvidentialForestClassifier
from evlearn.metrics import risk_coverage_curve

data = load_breast_cancer()
X, y = data.data, data.target_names[data.target]
X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
model = EvidentialForestClassifier(random_state=0).fit(X_train, y_train)
print(f"{100 * model.score(X_new, y_new):.1f} % accuracy")

# %%
# **Biopsies to review.** The biopsies with the largest doubt contain most of the errors.
doubt = model.predict_mass(X_new).doubt()
curve = risk_coverage_curve(y_new, model.predict(X_new), doubt)
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.plot(100 * (1 - curve.coverage), 100 * curve.risk, color="tab:blue")
ax.set(
    xlabel="reviewed biopsies, in the order of decreasing doubt (%)",
    ylabel="errors among the other biopsies (%)",
    title="Predictions for one half of 569 biopsies",
    xlim=(0, 50),
)
plt.show()

# %%
# **Wrong labels.** Here 5 % of the labels are changed. Each sample is evaluated by the trees that were grown
# without it; the samples with the least out-of-bag probability of their label are the most suspicious ones.
random = np.random.default_rng(0)
wrong = random.choice(len(y), len(y) // 20, replace=False)
labels = y.copy()
labels[wrong] = np.where(y[wrong] == "benign", "malignant", "benign")
model = EvidentialForestClassifier(random_state=0).fit(X, labels)
label_probability = model.oob_partition_.to_fuzzy()[
    np.arange(len(y)), np.searchsorted(model.classes_, labels)
]
suspects = np.argsort(label_probability)[: len(wrong)]
print(
    f"{np.isin(suspects, wrong).sum()} of the {len(wrong)} wrong labels are among "
    f"the {len(wrong)} most suspicious"
)

# **Novel samples.** Here all features are 10 times their usual values, unlike any biopsy in the training data. All
# mass is on the set of both classes, whereas an ordinary forest would predict a class.
print(model.predict_mass(10 * X[:1]).masses.round(2))
