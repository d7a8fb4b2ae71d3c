"""Evidential clustering and classification: which samples are sure, torn between clusters, or outliers."""

import importlib
from typing import TYPE_CHECKING, Any

from evlearn.partition import CredalPartition as CredalPartition

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
    from evlearn import papers as papers
    from evlearn import partition as partition
    from evlearn import plotting as plotting
    from evlearn import preprocessing as preprocessing
    from evlearn.blocks import RowDataset as RowDataset
    from evlearn.blocks import open_dataset as open_dataset
    from evlearn.ensemble.tabular import tabular_clusterer as tabular_clusterer
    from evlearn.export.models import load_model as load_model
    from evlearn.export.models import save_model as save_model
    from evlearn.export.onnx import to_onnx as to_onnx
    from evlearn.export.sql import to_sql as to_sql
    from evlearn.partition.predictions import decide as decide
    from evlearn.partition.predictions import predict_frame as predict_frame
    from evlearn.partition.predictions import predict_mass as predict_mass
    from evlearn.partition.predictions import predict_set as predict_set
    from evlearn.reporting.report import report as report
    from evlearn.utils.progress import Progress as Progress
    from evlearn.utils.progress import watching as watching

    __version__: str

# The same names at run time. They are loaded on first access, so that `import evlearn` loads neither scikit-learn
# nor an extra.
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
    "papers",
    "partition",
    "plotting",
    "preprocessing",
)
_MODULES = {
    "Progress": "utils.progress",
    "RowDataset": "blocks",
    "decide": "partition.predictions",
    "load_model": "export.models",
    "open_dataset": "blocks",
    "predict_frame": "partition.predictions",
    "predict_mass": "partition.predictions",
    "predict_set": "partition.predictions",
    "report": "reporting",
    "save_model": "export.models",
    "tabular_clusterer": "ensemble.tabular",
    "to_onnx": "export.onnx",
    "to_sql": "export.sql",
    "watching": "utils.progress",
}
__all__ = sorted(["CredalPartition", "__version__", *_MODULES])

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            # Stored, so that the next access does not call this function.
            value = globals()[name] = getattr(importlib.import_module(f"evlearn.{_MODULES[name]}"), name)
            return value
        if name in _PACKAGES:
            try:
                return importlib.import_module(f"evlearn.{name}")
            except ImportError as error:  # A missing extra: the message names it; `hasattr` and `help` still work.
                raise AttributeError(str(error)) from error
        if name == "__version__":
            from importlib.metadata import version

            return version("evidential-learn")
        packages = [package for package in _PACKAGES if name in _read_all(package)]
        remedy = f"; use evlearn.{packages[0]}.{name}" if packages else ""
        raise AttributeError(f"module 'evlearn' has no attribute {name!r}{remedy}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES])


def _read_all(package: str) -> list[str]:
    """Return ``__all__`` of a package, without an import, which may need an extra."""
    import ast
    from importlib import resources

    root = resources.files("evlearn")
    folder = root / package
    source = folder / "__init__.py" if folder.is_dir() else root / f"{package}.py"
    for statement in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return list(ast.literal_eval(statement.value))
    return []
