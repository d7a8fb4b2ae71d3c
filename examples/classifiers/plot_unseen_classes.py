"""
Detecting unseen classes
========================

A forest is trained on 9 digits and then applied to all 10. It assigns each digit 4 to another class.
`~evlearn.conformal.UnseenClassDetector` detects most of them, at a chosen rate of false alarms.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from evlearn.classify import EvidentialForestClassifier
from evlearn.conformal import UnseenClassDetector

X, y = load_digits(return_X_y=True)
X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.4, random_state=0)
is_known = y_train != 4
forest = EvidentialForestClassifier(
    50, min_samples_split=2, effective_n_estimators=1, reach=None
)
model = UnseenClassDetector(forest, false_alarm_rate=0.05, random_state=0).fit(
    X_train[is_known], y_train[is_known]
)
p_values, four = model.p_values(X_new), y_new == 4

# %%
# The p-values of known digits are uniform, so about 5 % of them are below 0.05. Those of the digit 4 are small.
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
bins = np.linspace(0, 1, 21)
for group, color, name in (
    (~four, "tab:blue", "known digits"),
    (four, "tab:red", "digit 4"),
):
    ax.hist(
        p_values[group],
        bins,
        weights=np.full(group.sum(), 1 / group.sum()),
        alpha=0.6,
        color=color,
        label=name,
    )
ax.axhline(0.05, color="gray", linestyle=":", linewidth=1)
ax.set(
    xlabel="p-value",
    ylabel="fraction of samples",
    title="The digit 4 is missing in the training samples",
)
ax.legend()
plt.show()

# %%
# About 5 % of the known digits are false alarms, as required, and most digits 4 are detected.
alarms = model.is_unseen(X_new)
print(
    f"false alarms: {100 * alarms[~four].mean():.1f} %, detected digits 4: "
    f"{100 * alarms[four].mean():.0f} %"
)
predictions, counts = np.unique(model.predict(X_new[four]), return_counts=True)
print(
    "predictions of the forest for the digit 4:",
    dict(zip(predictions.tolist(), counts.tolist(), strict=True)),
)

# %%
# The detector combines several scores. Their weights are determined by leaving out each known digit in turn:
for score, weight in model.weights_.items():
    print(f"{score:<20} {weight:.2f}")

# %%
# Some of the undetected digits 4 closely resemble another digit.
undetected = np.flatnonzero(four & ~alarms)[:6]
figure, axes = plt.subplots(1, 6, figsize=(7, 1.6), layout="constrained")
for ax in axes:
    ax.axis("off")
for ax, row in zip(axes, undetected, strict=False):
    ax.imshow(X_new[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"predicted {model.predict(X_new[[row]])[0]}", fontsize=9)
plt.show()
