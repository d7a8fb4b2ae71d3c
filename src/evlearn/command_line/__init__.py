"""Command line interface ``evlearn``: cluster a table, and predict with a saved model."""

from evlearn.command_line.main import main

__all__ = ["main"]
