"""
Choosing a method
=================

2 methods are recommended; 5 questions lead to the exceptions. :doc:`/guide/which_method` contains the same rules as a
list, and as a table with costs.
"""

import matplotlib.pyplot as plt

QUESTION, METHOD, RECOMMENDED = "#F2F2F2", "#CFE8F7", "#9BD3F0"


def box(axes, position, text, color, **style):
    shape = "round,pad=0.5" if color == QUESTION else "square,pad=0.5"
    frame = {"boxstyle": shape, "facecolor": color, "edgecolor": "0.3"}
    return axes.text(
        *position, text, ha="center", va="center", fontsize=14, bbox=frame, **style
    )


def arrow(axes, start, end, answer, offset):
    edges = {"patchA": start.get_bbox_patch(), "patchB": end.get_bbox_patch()}
    arrow_style = {"arrowstyle": "-|>", "color": "0.3", "shrinkA": 0, "shrinkB": 2}
    (x, y), (to_x, to_y) = start.get_position(), end.get_position()
    axes.annotate("", (to_x, to_y), (x, y), arrowprops=arrow_style | edges)
    axes.text(*offset(x, y, to_y), answer, ha="center", va="center", fontsize=13)


# %%
# The questions are on the left, from top to bottom. Methods are blue.

exceptions = [
    ("Do you have a clusterer\nalready?", "CredalClusterer"),
    (
        "Are there only\ndissimilarities?",
        "RECM for compact clusters,\nEVCLUS otherwise",
    ),
    (
        "Are samples pixels or voxels,\nor have they neighbors?",
        "segment_image, SECM",
    ),
    (
        "Do you know pairs or labels,\nor an expert?",
        "CECM, EVCLUS or\nActiveClustering",
    ),
    ("Do you need a model,\nor a paper's method?", "BootClus, ECM"),
]
figure, axes = plt.subplots(figsize=(8.4, 9), layout="constrained")
axes.set(xlim=(0, 10), ylim=(-3.2, 8.9))
axes.set_axis_off()
last = ("Are features clean numbers,\nand clusters compact?", "CCM")
questions = []
for number, (question, _) in enumerate([*exceptions, last]):
    questions.append(box(axes, (2.6, 8.2 - 1.7 * number), question, QUESTION))
for number, (_, method) in enumerate([*exceptions, last]):
    is_last = number == len(exceptions)
    color, weight = (RECOMMENDED, "bold") if is_last else (METHOD, "normal")
    target = box(axes, (7.7, 8.2 - 1.7 * number), method, color, weight=weight)
    arrow(axes, questions[number], target, "yes", lambda x, y, to_y: (5.3, y + 0.22))
default = box(
    axes,
    (2.6, -2.2),
    "CredalEnsemble;\ntabular_clusterer for raw tables",
    RECOMMENDED,
    weight="bold",
)
for start, end in zip(questions, [*questions[1:], default], strict=True):
    arrow(axes, start, end, "no", lambda x, y, to_y: (x + 0.35, 0.5 * (y + to_y)))
plt.show()
