"""Builder of graphs of ONNX operators; values are in double precision unless stated otherwise."""

from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from evlearn.utils.typing import FloatArray

#: Input of an operator: the name of a value, or a constant.
Value = str | float | npt.NDArray[Any]

#: Versions of the ONNX operators and of the file format, of 2022, which most engines support.
OPSET, IR_VERSION = 17, 8


class Graph:
    """Operators and constants, in topological order.

    Parameters
    ----------
    outer : Graph or None, default=None
        The enclosing graph; its values can be used.
    """

    def __init__(self, outer: "Graph | None" = None) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = [] if outer is None else outer.constants
        self._names: Iterator[int] = count() if outer is None else outer._names

    def __call__(self, operator: str, *inputs: Value, **attributes: Any) -> str:
        """Add an operator with one output, and return the name of the output."""
        return self.outputs(operator, 1, *inputs, **attributes)[0]

    def outputs(self, operator: str, n_outputs: int, *inputs: Value, **attributes: Any) -> list[str]:
        """Add an operator, and return the names of its outputs."""
        from onnx import helper

        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        outputs = [self._name() for _ in range(n_outputs)]
        self.nodes.append(helper.make_node(operator, names, outputs, **attributes))
        return outputs

    def name_output(self, value: str, name: str) -> None:
        """Name an output of the graph."""
        from onnx import helper

        self.nodes.append(helper.make_node("Identity", [value], [name]))

    def constant(self, value: object) -> str:
        """Add a constant; numbers are in double precision unless they are arrays of another type."""
        from onnx import numpy_helper

        array = value if isinstance(value, np.ndarray) else np.asarray(value, dtype=np.float64)
        name = self._name()
        # Copied in C order, in which the array is read.
        self.constants.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    # Compositions of operators

    def whole(self, value: object) -> str:
        """Add a constant of integers."""
        return self.constant(np.asarray(value, dtype=np.int64))

    def sum(self, value: str, axis: int, *, keep: bool = False) -> str:
        """Return the sum along an axis."""
        return self("ReduceSum", value, self.whole([axis]), keepdims=int(keep))

    def minimum(self, value: str, axis: int = 1) -> str:
        """Return the minimum along an axis, which is kept."""
        return self("ReduceMin", value, axes=[axis], keepdims=1)

    def maximum(self, value: str, axis: int = 1) -> str:
        """Return the maximum along an axis, which is kept."""
        return self("ReduceMax", value, axes=[axis], keepdims=1)

    def shares(self, value: str) -> str:
        """Divide rows by their sums."""
        return self("Div", value, self.sum(value, 1, keep=True))

    def with_axis(self, value: str, axis: int) -> str:
        """Insert an axis."""
        return self("Unsqueeze", value, self.whole([axis]))

    def numbers(self, truths: str, kind: type[np.generic] = np.float64) -> str:
        """Convert truth values or numbers to numbers of a type."""
        from onnx import helper

        return self("Cast", truths, to=helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def concatenate(self, *columns: str) -> str:
        """Concatenate columns."""
        return self("Concat", *columns, axis=1)

    def after_zeros(self, value: str) -> str:
        """Prepend a column of zeros, for an empty set without mass."""
        # From an existing column, because the number of rows is unknown.
        return self.concatenate(self("Mul", self.sum(value, 1, keep=True), 0.0), value)

    def squares(self, rows: str, points: FloatArray) -> str:
        """Return the squared distances of rows to points, from differences to avoid cancellation."""
        differences = self("Sub", self.with_axis(rows, 1), points)
        return self("ReduceSumSquare", differences, axes=[2], keepdims=0)

    def only_where(self, truths: str, value: Value, otherwise: Value) -> str:
        """Select values by a condition."""
        return self("Where", truths, value, otherwise)

    def _name(self) -> str:
        return f"value_{next(self._names)}"


class Output(NamedTuple):
    """Outputs of a model for rows.

    Attributes
    ----------
    masses : str
        Name of the masses, of shape (n_rows, n_focal_sets).
    scores : str or None, default=None
        Name of the scores, of shape (n_rows, n_classes), whose maximum is the label; None uses the plausibilities.
    """

    masses: str
    scores: str | None = None
