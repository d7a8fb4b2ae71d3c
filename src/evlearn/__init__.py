"""Evidential clustering and classification: which samples are sure, torn between clusters, or outliers."""

import importlib
from typing import TYPE_CHECKING, Any

from evlearn.partition import CredalPartition

__all__ = [
    "CredalPartition",
    "Progress",
    "RowDataset",
    "__version__",
    "decide",
    "load_model",
    "open_dataset",
    "predict_mass",
    "predict_set",
    "report",
    "save_model",
    "to_onnx",
    "to_sql",
    "watching",
]

# Loaded on first access, so that `import evlearn` loads neither scikit-learn nor an extra.
_PACKAGES = (
    "active",
    "belief",
    "classify",
    "cluster",
    "conformal",
    "constraints",
    "datasets",
    "ensemble",
    "exceptions",
    "explain",
    "metric_learning",
    "metrics",
    "mixture",
    "model_selection",
    "neural",
    "partition",
    "plotting",
    "preprocessing",
)
_FUNCTIONS = {
    "Progress": "utils.progress",
    "RowDataset": "blocks",
    "decide": "partition.predictions",
    "load_model": "export.models",
    "open_dataset": "blocks",
    "predict_mass": "partition.predictions",
    "predict_set": "partition.predictions",
    "report": "reporting",
    "save_model": "export.models",
    "to_onnx": "export.onnx",
    "to_sql": "export.sql",
    "watching": "utils.progress",
}

if TYPE_CHECKING:
    from evlearn import active as active
    from evlearn import belief as belief
    from evlearn import classify as classify
    from evlearn import cluster as cluster
    from evlearn import conformal as conformal
    from evlearn import constraints as constraints
    from evlearn import datasets as datasets
    from evlearn import ensemble as ensemble
    from evlearn import exceptions as exceptions
    from evlearn import explain as explain
    from evlearn import metric_learning as metric_learning
    from evlearn import metrics as metrics
    from evlearn import mixture as mixture
    from evlearn import model_selection as model_selection
    from evlearn import neural as neural
    from evlearn import partition as partition
    from evlearn import plotting as plotting
    from evlearn import preprocessing as preprocessing
    from evlearn.blocks import RowDataset, open_dataset
    from evlearn.export.models import load_model, save_model
    from evlearn.export.onnx import to_onnx
    from evlearn.export.sql import to_sql
    from evlearn.partition.predictions import decide, predict_mass, predict_set
    from evlearn.reporting.report import report
    from evlearn.utils.progress import Progress, watching

    __version__: str
else:

    def __getattr__(name: str) -> Any:
        if name in _FUNCTIONS:
            return getattr(importlib.import_module(f"evlearn.{_FUNCTIONS[name]}"), name)
        if name in _PACKAGES:
            try:
                return importlib.import_module(f"evlearn.{name}")
            except ImportError as error:  # A missing extra: the message names it; `hasattr` and `help` still work.
                raise AttributeError(str(error)) from error
        if name == "__version__":
            from importlib.metadata import version

            return version("evidential-learn")
        from evlearn.utils.misplaced import missing_attribute

        raise missing_attribute(name, _PACKAGES)


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES])
