"""Evidential clustering and classification: which objects are sure, torn between clusters, or outliers."""

import importlib
from typing import Any

from evlearn.partition import CredalPartition

__all__ = ["CredalPartition", "__version__", "load_model", "report", "save_model"]

__version__ = "0.1.0.dev0"

# Looked up when somebody asks for them, so that `import evlearn` loads neither scikit-learn nor matplotlib.
_LATER = {
    "report": "evlearn.reporting",
    "save_model": "evlearn.model_files",
    "load_model": "evlearn.model_files",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
