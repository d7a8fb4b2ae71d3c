"""
A class that nobody has seen
============================

A forest learns nine digits, and is then shown all ten. It calls every four a digit that it knows.
`~evlearn.conformal.UnseenClassDetector` notices, and keeps to the rate of false alarms that one asks for.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from evlearn.classify import EvidentialForestClassifier
from evlearn.conformal import UnseenClassDetector

X, y = load_digits(return_X_y=True)
X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.4, random_state=0)
known = y_train != 4
forest = EvidentialForestClassifier(50, min_samples_split=2, n_witnesses=1, reach=None)
model = UnseenClassDetector(forest, false_alarm_rate=0.05, random_state=0).fit(
    X_train[known], y_train[known]
)
p_values, four = model.p_values(X_new), y_new == 4

# %%
# P-values of known digits are spread evenly, so that 5 % of them are below 0.05. Those of fours are small.
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
bins = np.linspace(0, 1, 21)
for who, colour, name in (
    (~four, "tab:blue", "digits that were learned"),
    (four, "tab:red", "fours"),
):
    ax.hist(
        p_values[who],
        bins,
        weights=np.full(who.sum(), 1 / who.sum()),
        alpha=0.6,
        color=colour,
        label=name,
    )
ax.axhline(0.05, color="grey", linestyle=":", linewidth=1)
ax.set(
    xlabel="p-value",
    ylabel="share of samples",
    title="No four was among the training samples",
)
ax.legend()
plt.show()

# %%
# Five of a hundred known digits are false alarms, as was asked for, and most fours are found.
alarms = model.is_unseen(X_new)
print(
    f"false alarms: {100 * alarms[~four].mean():.1f} %, fours found: "
    f"{100 * alarms[four].mean():.0f} %"
)
taken_for, counts = np.unique(model.predict(X_new[four]), return_counts=True)
print(
    "the forest alone takes fours for",
    dict(zip(taken_for.tolist(), counts.tolist(), strict=True)),
)

# %%
# Which questions tell a stranger? In rehearsals, where each digit played the unseen one, it was these:
for question, weight in model.weights_.items():
    print(f"{question:<20} {weight:.2f}")

# %%
# Of the fours that were not found, some look much like another digit.
missed = np.flatnonzero(four & ~alarms)[:6]
figure, axes = plt.subplots(1, 6, figsize=(7, 1.6), layout="constrained")
for ax in axes:
    ax.axis("off")
for ax, row in zip(axes, missed, strict=False):
    ax.imshow(X_new[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"taken for {model.predict(X_new[[row]])[0]}", fontsize=9)
plt.show()
