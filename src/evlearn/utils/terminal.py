"""A line on a terminal that the next one replaces."""

import os
import sys
import time
from typing import Literal, TextIO

#: A line is replaced at most once in so many seconds: more often nobody can read.
_SECONDS = 0.1
#: Of terminals that do not tell.
_COLUMNS = 80


class TerminalLine:
    """A line of stdout or stderr that changes while something is going on.

    Parameters
    ----------
    stream : {"stdout", "stderr"}
        Where it is. The stream is looked up whenever something is written, because programs exchange it.
    """

    def __init__(self, stream: Literal["stdout", "stderr"]) -> None:
        self._name = stream
        self._width = 0
        self._shown = float("-inf")

    @property
    def is_live(self) -> bool:
        """Whether somebody looks at a terminal, on which a line can change."""
        return self._stream is not None and self._stream.isatty()

    def show(self, text: str) -> None:
        """Replace the line, unless that has just been done."""
        now = time.monotonic()
        if now - self._shown >= _SECONDS:
            self._shown = now
            text = text[: self._columns - 1]  # some terminals go to the next line when the last one is written
            self._write("\r" + text.ljust(self._width))
            self._width = len(text)

    def clear(self) -> None:
        """Take the line away."""
        if self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width, self._shown = 0, float("-inf")

    def end(self, text: str) -> None:
        """End the line with this text, which stays."""
        self.clear()
        self._write(text + "\n")

    @property
    def _stream(self) -> TextIO | None:
        stream: TextIO | None = getattr(sys, self._name)  # None where there is no console
        return stream

    @property
    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _COLUMNS if self._stream else _COLUMNS
        except (OSError, ValueError):
            return _COLUMNS

    def _write(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(text)
            self._stream.flush()
