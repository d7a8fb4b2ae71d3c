"""
A forest that says what it has not seen
=======================================

The leaves of `~evlearn.classify.EvidentialForestClassifier` know how few samples they have seen. So a forest can
say "one of these two" and "I have seen nothing like it". Out of bag, it also finds labels that are wrong.
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
print(f"{100 * model.score(X_new, y_new):.1f} % are right")

# %%
# **Biopsies to look at again.** Those of the greatest doubt hold most of the errors.
doubt = model.predict_mass(X_new).doubt()
curve = risk_coverage_curve(y_new, model.predict(X_new), doubt)
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.plot(100 * (1 - curve.coverage), 100 * curve.risk, color="tab:blue")
ax.set(
    xlabel="biopsies of the greatest doubt that a person looks at (%)",
    ylabel="errors among the others (%)",
    title="Half of 569 biopsies, by a forest of the other half",
    xlim=(0, 50),
)
plt.show()

# %%
# **Wrong labels.** One label in twenty is made wrong. The trees that were grown without a sample say what they
# think of its label; the samples whose label they believe in least are the ones to check.
random = np.random.default_rng(0)
wrong = random.choice(len(y), len(y) // 20, replace=False)
given = y.copy()
given[wrong] = np.where(y[wrong] == "benign", "malignant", "benign")
model = EvidentialForestClassifier(random_state=0).fit(X, given)
believed = model.oob_partition_.to_fuzzy()[
    np.arange(len(y)), np.searchsorted(model.classes_, given)
]
suspects = np.argsort(believed)[: len(wrong)]
print(
    f"{np.isin(suspects, wrong).sum()} of the {len(wrong)} wrong labels are among "
    f"the {len(wrong)} most suspect"
)

# %%
# **Nothing like it.** Features of ten times the usual size are of no biopsy that was ever seen: all mass is on the
# set of both classes, where an ordinary forest would have an opinion.
print(model.predict_mass(10 * X[:1]).masses.round(2))
