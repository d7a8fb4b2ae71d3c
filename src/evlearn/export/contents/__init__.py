"""Contents of model files: the attributes of each class, checks of their values, and checks of consistency.

This is a closed list: anything else is neither written nor read. Compiled code does not check the bounds of
arrays, so all values that reach it are checked here, or in the `__post_init__` of the part that contains them.
"""

import importlib
from typing import Any

from evlearn.export.contents import clusterers, others, scikit_learn, tables
from evlearn.export.contents.contents import TRAINING_SAMPLE_ATTRIBUTES, Contents, Part
from evlearn.export.contents.scikit_learn import n_features_out

_TRANSFORMERS = (*clusterers.TRANSFORMERS, *scikit_learn.TRANSFORMERS, *tables.TABLES)
_ALL = (*clusterers.CLUSTERERS, *others.OTHERS, *_TRANSFORMERS, *scikit_learn.CLUSTERERS)

#: Estimators with model files by name, except those that need torch.
ESTIMATORS: dict[str, Contents] = {contents.estimator.__name__: contents for contents in _ALL}
#: Estimators that can precede others in a pipeline.
TRANSFORMERS = tuple(contents.estimator for contents in _TRANSFORMERS)
#: Classes inside models by name, except those that need torch.
PARTS: dict[str, Part] = {part.kind.__name__: part for part in (*clusterers.PARTS, *others.PARTS)}

_TORCH_CLASSES = ("NNEVCLUS", "NeuralModel", "EvidentialNetwork", "Reader", "Solver")
#: Classes that can be values of parameters.
SPECIFICATIONS = ("FocalFamily", "Quantile", "AdaptiveMetric", "MedoidKind", "Solver")
#: Names of all estimators with model files.
NAMES = sorted([*ESTIMATORS, "NNEVCLUS"])


def contents_of(kind: Any) -> Contents | None:
    """Return the contents of the file of an estimator class, by name; None if it has no files."""
    if kind == "NNEVCLUS":
        contents: Contents = _neural().NEURAL
        return contents
    return ESTIMATORS.get(kind) if isinstance(kind, str) else None


def part_of(kind: str) -> Part | None:
    """Return the description of a class inside a model, by name; None if it is not on the list."""
    if kind in _TORCH_CLASSES:
        return {part.kind.__name__: part for part in _neural().PARTS}.get(kind)
    return PARTS.get(kind)


def _neural() -> Any:
    # Imported only for networks, because torch is slow to import.
    try:
        return importlib.import_module("evlearn.export.contents.neural")
    except ImportError as error:
        raise ValueError(f"networks need torch: {error}") from error


__all__ = [
    "ESTIMATORS",
    "NAMES",
    "PARTS",
    "SPECIFICATIONS",
    "TRAINING_SAMPLE_ATTRIBUTES",
    "TRANSFORMERS",
    "Contents",
    "Part",
    "contents_of",
    "n_features_out",
    "part_of",
]
