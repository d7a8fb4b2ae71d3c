"""What a command says while it works: on stderr, in one line that changes, or line after line in a log."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from evlearn.utils.progress import watching

_SECONDS_ON_SCREEN, _SECONDS_IN_LOG = 0.1, 1.0


class Progress:
    """Says on stderr what is going on."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._live = sys.stderr.isatty()
        self._width = 0
        self._shown = float("-inf")

    def say(self, message: str) -> None:
        """A line that stays."""
        if not self._quiet:
            self.clear()
            print(message, file=sys.stderr, flush=True)

    def show(self, message: str) -> None:
        """A line that the next one replaces. Where stderr is no terminal it stays, at most one in a second."""
        if time.monotonic() - self._shown < (_SECONDS_ON_SCREEN if self._live else _SECONDS_IN_LOG):
            return
        self._shown = time.monotonic()
        if not self._live:
            self.say(message)
        elif not self._quiet:
            self.clear()
            print(message, end="", file=sys.stderr, flush=True)
            self._width = len(message)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Show how far estimators are."""
        with watching(lambda progress: self.show(str(progress))):
            yield
        self.clear()

    def clear(self) -> None:
        """Take away a line that was to be replaced."""
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)
            self._width = 0
