"""Who answers: labels that are known, or a person at a terminal or in a notebook."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from evlearn.constraints.labels import label_codes

_REPLIES: dict[str, bool | None] = {"y": True, "yes": True, "n": False, "no": False, "?": None}
_SHOWN_ATTRIBUTES = 20
_WIDTH = 24


class StopAsking(Exception):  # noqa: N818  (not an error, as StopIteration is none)
    """Raised by an oracle that has had enough; all answers so far are kept.

    Parameters
    ----------
    reason : str, default=""
        Why, for whoever catches it.
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)


class LabelOracle:
    """Answers from known labels, for experiments.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The label of each sample, numbers or text. Nothing is known about samples with -1, NaN or None.

    Examples
    --------
    >>> from evlearn.active import LabelOracle
    >>> oracle = LabelOracle(["cat", "cat", "dog", None])
    >>> oracle(0, 1), oracle(1, 2), oracle(2, 3)
    (True, False, None)
    """

    def __init__(self, y: npt.ArrayLike) -> None:
        self.y = y
        self._codes = label_codes(y, -1, "y")

    def __call__(self, first: int, second: int) -> bool | None:
        """Whether two samples are in the same cluster.

        Parameters
        ----------
        first, second : int
            The samples.

        Returns
        -------
        bool or None
            The answer; None if it is not known.
        """
        one, other = self._codes[[first, second]]
        return None if min(one, other) < 0 else bool(one == other)


class TerminalOracle:
    """A person who answers at a terminal, or in the input box of a notebook.

    Both samples are shown side by side, then a reply is read: ``y`` for the same cluster, ``n`` for different
    ones, ``?`` for "I do not know", ``q`` to stop. Ctrl-C and Ctrl-D stop as well. All answers are kept.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features), default=None
        What to show of the samples, which need not be what is clustered; of a frame also the names of rows and
        columns. None shows the numbers of the samples only.
    show : callable, default=None
        Shows two samples in another way, for example as images: a function of their numbers.
    """

    def __init__(self, X: ArrayLike | None = None, *, show: Callable[[int, int], Any] | None = None) -> None:
        self.X: Any = X
        self.show = show

    def __call__(self, first: int, second: int) -> bool | None:
        """Whether two samples are in the same cluster.

        Parameters
        ----------
        first, second : int
            The samples.

        Returns
        -------
        bool or None
            The answer; None if it is not known.
        """
        print(self._describe(first, second))
        if self.show is not None:
            self.show(first, second)
        while True:
            try:
                reply = input("same cluster? [y/n/?/q] ").strip().lower()
            except (EOFError, KeyboardInterrupt):
                print()
                raise StopAsking from None
            if reply in ("q", "quit"):
                raise StopAsking
            if reply in _REPLIES:
                return _REPLIES[reply]
            print(f"{reply!r} is none of y (same), n (different), ? (I do not know) and q (stop).")

    def _describe(self, first: int, second: int) -> str:
        """The two samples as a table with a line for each feature."""
        names, rows = self._read(first, second)
        lines = [("", *(f"sample {name}" for name in names)), *rows[:_SHOWN_ATTRIBUTES]]
        widths = [max(len(line[place]) for line in lines) for place in range(3)]
        table = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        more = len(rows) - _SHOWN_ATTRIBUTES
        return "\n".join(["", *table, *([f"and {more} more features"] if more > 0 else [])])

    def _read(self, first: int, second: int) -> tuple[list[str], list[tuple[str, str, str]]]:
        if self.X is None:
            return [str(first), str(second)], []
        if hasattr(self.X, "iloc"):
            one, other = self.X.iloc[first], self.X.iloc[second]
            columns, names = list(self.X.columns), [str(self.X.index[first]), str(self.X.index[second])]
        else:
            one, other = np.asarray(self.X[first]).ravel(), np.asarray(self.X[second]).ravel()
            columns, names = [f"feature {number}" for number in range(len(one))], [str(first), str(second)]
        cells = zip(columns, one, other, strict=True)
        return names, [(_text(column), _text(a), _text(b)) for column, a, b in cells]


def _text(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
