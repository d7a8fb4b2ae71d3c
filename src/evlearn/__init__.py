"""Evidential clustering and classification: which objects are sure, torn between clusters, or outliers."""

from typing import Any

from evlearn.partition import CredalPartition

__all__ = ["CredalPartition", "__version__", "report"]

__version__ = "0.1.0.dev0"


def __getattr__(name: str) -> Any:
    # A report draws pictures, and matplotlib is loaded for nobody else.
    if name == "report":
        from evlearn.reporting import report

        return report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
