"""Reports on clusterings as HTML files."""

from evlearn.reporting.report import report

__all__ = ["report"]
