"""A graph of ONNX operators, written one by one; everything is in double precision unless it says otherwise."""

from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from evlearn.utils.typing import FloatArray

#: What operators take: the name of a value, or a constant.
Value = str | float | npt.NDArray[Any]

#: The version of ONNX's operators: that of 2022, which engines know. With it goes a version of the file format.
OPSET, IR_VERSION = 17, 8


class Graph:
    """Operators and constants, in the order in which they are needed.

    Parameters
    ----------
    outer : Graph or None, default=None
        The graph that this one is a part of; its values can be used.
    """

    def __init__(self, outer: "Graph | None" = None) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = [] if outer is None else outer.constants
        self._names: Iterator[int] = count() if outer is None else outer._names

    def __call__(self, operator: str, *given: Value, **attributes: Any) -> str:
        """The one result of an operator."""
        return self.several(operator, 1, *given, **attributes)[0]

    def several(self, operator: str, n_results: int, *given: Value, **attributes: Any) -> list[str]:
        """The results of an operator."""
        from onnx import helper

        names = [one if isinstance(one, str) else self.constant(one) for one in given]
        found = [self._name() for _ in range(n_results)]
        self.nodes.append(helper.make_node(operator, names, found, **attributes))
        return found

    def named(self, value: str, name: str) -> None:
        """Give a result the name by which it is asked for."""
        from onnx import helper

        self.nodes.append(helper.make_node("Identity", [value], [name]))

    def constant(self, value: Any) -> str:
        """A constant; numbers are in double precision, unless they are arrays of another type."""
        from onnx import numpy_helper

        array = value if isinstance(value, np.ndarray) else np.asarray(value, dtype=np.float64)
        name = self._name()
        # Copied, because an array may lie in memory in another order than it is read.
        self.constants.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    # What is not one operator

    def whole(self, value: Any) -> str:
        """A constant of whole numbers."""
        return self.constant(np.asarray(value, dtype=np.int64))

    def sum(self, value: str, axis: int, *, keep: bool = False) -> str:
        """The sum along an axis."""
        return self("ReduceSum", value, self.whole([axis]), keepdims=int(keep))

    def least(self, value: str, axis: int = 1) -> str:
        """The smallest along an axis, which stays."""
        return self("ReduceMin", value, axes=[axis], keepdims=1)

    def most(self, value: str, axis: int = 1) -> str:
        """The largest along an axis, which stays."""
        return self("ReduceMax", value, axes=[axis], keepdims=1)

    def shares(self, value: str) -> str:
        """Rows divided by their sums."""
        return self("Div", value, self.sum(value, 1, keep=True))

    def with_axis(self, value: str, axis: int) -> str:
        """The same with one more axis."""
        return self("Unsqueeze", value, self.whole([axis]))

    def numbers(self, truths: str, kind: type[np.generic] = np.float64) -> str:
        """Ones and zeros for what is true and what is not, or numbers in another precision."""
        from onnx import helper

        return self("Cast", truths, to=helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def beside(self, *columns: str) -> str:
        """Tables side by side."""
        return self("Concat", *columns, axis=1)

    def after_zeros(self, value: str) -> str:
        """A table with a column of zeros before it: the empty set, which has no mass."""
        # Of a column that is there, because tables are as long as what comes in.
        return self.beside(self("Mul", self.sum(value, 1, keep=True), 0.0), value)

    def squares(self, rows: str, points: FloatArray) -> str:
        """Squared distances of rows to points, from differences: nothing of the place of the data is lost."""
        apart = self("Sub", self.with_axis(rows, 1), points)
        return self("ReduceSumSquare", apart, axes=[2], keepdims=0)

    def only_where(self, truths: str, value: Value, otherwise: Value) -> str:
        """One value where something is true, and another where it is not."""
        return self("Where", truths, value, otherwise)

    def _name(self) -> str:
        return f"value_{next(self._names)}"


class Said(NamedTuple):
    """What a model says of rows.

    Attributes
    ----------
    masses : str
        The masses, of shape (n_rows, n_focal_sets).
    scores : str or None, default=None
        The highest of them is the label, of shape (n_rows, n_classes); None takes the plausibilities.
    """

    masses: str
    scores: str | None = None


__all__ = ["IR_VERSION", "OPSET", "Graph", "Said", "Value"]
