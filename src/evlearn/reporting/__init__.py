"""A fitted clustering as one HTML file, for people who do not program."""

from evlearn.reporting.report import report

__all__ = ["report"]
