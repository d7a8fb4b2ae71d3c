"""
Choosing a method
=================

A few questions lead from your data to a method. :doc:`/guide/which_method` contains the same information as a
table, with reasons and costs.
"""

import matplotlib.pyplot as plt

QUESTION, METHOD = "#F2F2F2", "#CFE8F7"


def box(axes, position, text, color):
    shape = "round,pad=0.6" if color == QUESTION else "square,pad=0.6"
    frame = {"boxstyle": shape, "facecolor": color, "edgecolor": "0.3"}
    return axes.text(*position, text, ha="center", va="center", fontsize=11, bbox=frame)


def arrow(axes, start, end, answer):
    (x, y), (to_x, to_y) = start.get_position(), end.get_position()
    edges = {
        "patchA": start.get_bbox_patch(),
        "patchB": end.get_bbox_patch(),
        "shrinkA": 0,
        "shrinkB": 2,
    }
    axes.annotate(
        "",
        (to_x, to_y),
        (x, y),
        arrowprops={"arrowstyle": "-|>", "color": "0.3", **edges},
    )
    if x == to_x:
        axes.text(
            x + 0.12, 0.5 * (y + to_y), answer, ha="left", va="center", fontsize=11
        )
    else:
        axes.text(6.95, y + 0.1, answer, ha="center", va="bottom", fontsize=11)


# %%
# The questions are on the left, from top to bottom. Methods are blue.

steps = [
    (
        "Do samples have features?",
        "no",
        "yes",
        "RECM if clusters are compact,\nEVCLUS otherwise",
    ),
    (
        "Are clusters curved,\nor of any shape?",
        "yes",
        "no",
        "EVCLUS with constraints, or with\na dissimilarity that follows the shape",
    ),
    (
        "Do you know that some pairs\nare in the same cluster or not?",
        "yes",
        "no",
        "CECM",
    ),
    (
        "Are clusters ellipsoids, and\nmust doubt be calibrated?",
        "yes",
        "no",
        "BootClus, with bootstrap\nconfidence intervals",
    ),
    (
        "Do you know some labels, or\nare rows images or signals?",
        "yes",
        "no",
        "NNEVCLUS, with any PyTorch\nnetwork",
    ),
    (
        "Do you know how many\nclusters there are?",
        "no",
        "yes",
        "belief_peaks suggests a number,\nBPEC uses it directly",
    ),
    ("Do you want evidential\nc-means as in the papers?", "yes", "no", "ECM"),
]
figure, axes = plt.subplots(figsize=(9, 11.5), layout="constrained")
axes.set(xlim=(3.2, 10.8), ylim=(-4.8, 10.6))
axes.set_axis_off()
questions = [
    box(axes, (5, 10 - 2 * number), step[0], QUESTION)
    for number, step in enumerate(steps)
]
questions.append(
    box(axes, (5, 10 - 2 * len(steps)), "CCM,\nthe method to try first", METHOD)
)
for number, (_, answer, next_answer, method) in enumerate(steps):
    arrow(
        axes, questions[number], box(axes, (9, 10 - 2 * number), method, METHOD), answer
    )
    arrow(axes, questions[number], questions[number + 1], next_answer)
box(
    axes,
    (9, 10 - 2 * len(steps)),
    "Larger than memory?\nECM, CCM, BPEC, NNEVCLUS and EVCLUS\nwith landmarks read data in blocks.",
    "white",
)
plt.show()
