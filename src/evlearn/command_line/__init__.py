"""The command ``evlearn``: cluster a table and predict with a stored model, without programming."""

from evlearn.command_line.main import main

__all__ = ["main"]
