"""What a model file may hold: each name, for every class, and what its value must be; and that all of it agrees.

This is a closed list. What is not on it is not written, and refused when read. Compiled code looks at arrays
without bounds, so whatever reaches it is checked here, or in the `__post_init__` of the part that it belongs to.
"""

import importlib
from typing import Any

from evlearn.model_contents import clusterers, others, scikit_learn, tables
from evlearn.model_contents.contents import OF_TRAINING_OBJECTS, Contents, Part
from evlearn.model_contents.scikit_learn import n_features_out

_TRANSFORMERS = (*clusterers.TRANSFORMERS, *scikit_learn.TRANSFORMERS, *tables.TABLES)
_ALL = (*clusterers.CLUSTERERS, *others.OTHERS, *_TRANSFORMERS, *scikit_learn.CLUSTERERS)

#: The estimators that have files, by name, but for those of torch.
ESTIMATORS: dict[str, Contents] = {one.estimator.__name__: one for one in _ALL}
#: Those that can stand before others in a pipeline.
TRANSFORMERS = tuple(one.estimator for one in _TRANSFORMERS)
#: The classes that a file may name inside a model, but for those of torch.
PARTS: dict[str, Part] = {one.kind.__name__: one for one in (*clusterers.PARTS, *others.PARTS)}

_OF_TORCH = ("NNEVCLUS", "NeuralModel", "EvidentialNetwork", "Reader")
#: The names of all estimators that have files.
NAMES = sorted([*ESTIMATORS, "NNEVCLUS"])


def contents_of(kind: Any) -> Contents | None:
    """What the file of an estimator holds, by the name of its class; None if it has none."""
    if kind == "NNEVCLUS":
        found: Contents = _neural().NEURAL
        return found
    return ESTIMATORS.get(kind) if isinstance(kind, str) else None


def part_of(kind: str) -> Part | None:
    """What a class inside a model holds, by its name; None if it is not on the list."""
    if kind in _OF_TORCH:
        return {one.kind.__name__: one for one in _neural().PARTS}.get(kind)
    return PARTS.get(kind)


def _neural() -> Any:
    # Only where a network is: torch takes longer to load than everything else.
    try:
        return importlib.import_module("evlearn.model_contents.neural")
    except ImportError as error:
        raise ValueError(f"networks need torch: {error}") from error


__all__ = [
    "ESTIMATORS",
    "NAMES",
    "OF_TRAINING_OBJECTS",
    "PARTS",
    "TRANSFORMERS",
    "Contents",
    "Part",
    "contents_of",
    "n_features_out",
    "part_of",
]
