"""Export of a fitted estimator to an ONNX model that returns masses, labels and verdicts."""

import json
import sys
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import evlearn
from evlearn.belief import FocalSets
from evlearn.classify import EvidentialKNNClassifier, EvidentialNeuralClassifier, EvidentialRBFClassifier
from evlearn.classify.base import LARGEST
from evlearn.cluster import BPEC, CCM, ECM, MergedMixture
from evlearn.export.onnx.classifiers import write_evidential_network, write_neighbors, write_weights_of_evidence
from evlearn.export.onnx.clusterers import write_merged_mixture, write_mixture, write_prototypes
from evlearn.export.onnx.graph import IR_VERSION, OPSET, Graph, Output
from evlearn.export.pipeline import Affine, scaler_and_last
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.neighbors import BoxTree
from evlearn.partition import SURE_LEVEL
from evlearn.partition.verdict import OUTLIER_MASS
from evlearn.utils.typing import EstimatorLike
from evlearn.utils.validation import check_choice, check_real

_Write = Callable[[Graph, Any, str], Output]
_WRITERS: dict[type, _Write] = {
    ECM: write_prototypes,
    CCM: write_prototypes,
    BPEC: write_prototypes,
    MergedMixture: write_merged_mixture,
    ParsimoniousGaussianMixture: write_mixture,
    EvidentialKNNClassifier: write_neighbors,
    EvidentialNeuralClassifier: write_evidential_network,
    EvidentialRBFClassifier: write_weights_of_evidence,
}
#: Largest value that is read, except by classifiers and mixtures.
_MAX_VALUE = float(np.finfo(np.float64).max)
#: Tolerance of equality, as in verdicts.
_EQUAL = 1 - 1e-6
#: Verdicts; the last one marks rows without an answer.
_VERDICTS = np.array(["sure", "torn", "outlier", ""], dtype=object)


def to_onnx(
    estimator: EstimatorLike,
    *,
    level: float = SURE_LEVEL,
    dtype: Literal["float64", "float32"] = "float64",
) -> bytes:
    """Return an ONNX model that computes the masses of samples, for programs without Python.

    The model contains only standard ONNX operators and computes the result of `predict_mass` in double precision.
    For networks that were trained in single precision, it is more precise than `predict_mass`. A sample with a NaN
    or an infinity among its features gets NaN for all masses, even if the estimator supports missing values. The
    model of an `EvidentialKNNClassifier` contains all training samples.

    The input is ``X``, of shape (n_samples, n_features), with any number of samples. The outputs are ``masses``,
    of shape (n_samples, n_focal_sets); ``label``, the result of `predict`; and ``verdict``, which is ``sure``,
    ``torn`` or ``outlier``. For samples without an answer the verdict is empty and the label is -1. If classes are
    text this label is empty, and if they are negative numbers it is smaller than all of them. The metadata of the
    model contain the focal sets of the columns, the names of classes and features, and the class of the estimator,
    as JSON.

    Parameters
    ----------
    estimator : object
        A fitted ECM, CCM, BPEC, MergedMixture, ParsimoniousGaussianMixture, EvidentialKNNClassifier with Euclidean
        distances, EvidentialNeuralClassifier, EvidentialRBFClassifier or NNEVCLUS; or a pipeline of
        ``StandardScaler`` and one of these.
    level : float, default=0.6
        A sample with at least this belief in one cluster is sure, see `CredalPartition.verdict`.
    dtype : {"float64", "float32"}, default="float64"
        Type of ``X`` and ``masses``. Computations are in double precision in both cases.

    Returns
    -------
    bytes
        The model. Write it to a file with the suffix ``.onnx``, or pass it to an engine.

    See Also
    --------
    to_sql : Return a SQL query for a database.
    save_model : Write the estimator to a file for Python.

    Examples
    --------
    >>> import evlearn
    >>> import onnxruntime
    >>> from evlearn.cluster import ECM
    >>> from evlearn.datasets import load_butterfly
    >>> X = load_butterfly().data
    >>> model = ECM(2, random_state=0).fit(X)
    >>> session = onnxruntime.InferenceSession(evlearn.to_onnx(model))
    >>> masses, label, verdict = session.run(None, {"X": X})
    >>> bool(abs(masses - model.predict_mass(X).masses).max() < 1e-12)
    True
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "to_onnx needs the package onnx; install it with `pip install 'evidential-learn[onnx]'`."
        ) from error
    check_real("level", level, 0, 1, open_low=True)
    check_choice("dtype", dtype, ("float64", "float32"))
    scaler, last = scaler_and_last(estimator, "to_onnx")
    write = _writer_of(last)
    kind = np.dtype(dtype).type
    graph = Graph()
    rows, is_readable = _read_rows(graph, graph.numbers("X"), scaler, _farthest(last))
    output, focal_sets = write(graph, last, rows), _focal_sets_of(last)
    names = _names(getattr(last, "classes_", np.arange(focal_sets.frame_size)))
    graph.name_output(graph.numbers(graph.only_where(is_readable, output.masses, np.nan), kind), "masses")
    plausibilities = graph("MatMul", output.masses, focal_sets.membership.astype(np.float64))
    _write_label(graph, output.scores or plausibilities, is_readable, names)
    _write_verdict(graph, output.masses, plausibilities, is_readable, focal_sets, level)
    model = onnx.helper.make_model(
        _make_graph(graph, last.n_features_in_, len(focal_sets), names, kind),
        producer_name="evidential-learn",
        producer_version=evlearn.__version__,
        ir_version=IR_VERSION,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
    )
    onnx.helper.set_model_props(model, _metadata(estimator, last, focal_sets))
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())


def _writer_of(last: Any) -> _Write:
    """Return the function that writes an estimator; raise if it is not supported."""
    if "evlearn.neural" in sys.modules:  # otherwise the estimator cannot be a network
        from evlearn.neural import NNEVCLUS

        if type(last) is NNEVCLUS and not last._precomputed:
            from evlearn.export.onnx.networks import write_network

            return write_network
    write = _WRITERS.get(type(last))
    if write is None or (type(last) is EvidentialKNNClassifier and not isinstance(last._tree, BoxTree)):
        metric = getattr(last, "metric", None)
        name = type(last).__name__ + ("" if metric is None else f" with metric={metric!r}")
        raise ValueError(
            "to_onnx supports ECM, CCM, BPEC, MergedMixture, ParsimoniousGaussianMixture, "
            "EvidentialRBFClassifier, "
            "EvidentialNeuralClassifier, EvidentialKNNClassifier with Euclidean distances of dense rows, and "
            f"NNEVCLUS with features, got {name}; score with predict_mass."
        )
    return write


def _farthest(last: Any) -> float:
    """Return the largest value that is read."""
    return LARGEST if hasattr(last, "classes_") or isinstance(last, ParsimoniousGaussianMixture) else _MAX_VALUE


def _focal_sets_of(last: Any) -> FocalSets:
    if isinstance(last, ParsimoniousGaussianMixture):
        return FocalSets.singletons(last.n_components_)
    focal_sets: FocalSets = last.focal_sets_
    return focal_sets


def _read_rows(graph: Graph, rows: str, scaler: Affine | None, farthest: float) -> tuple[str, str]:
    """Return scaled rows with zeros instead of unreadable values, and a mask of the rows without such values."""
    if scaler is not None:
        rows = graph("Div", graph("Sub", rows, scaler.shift), scaler.size)
    # NaN fails all comparisons.
    is_valid = graph("And", graph("LessOrEqual", rows, farthest), graph("GreaterOrEqual", rows, -farthest))
    is_readable = graph("Greater", graph.minimum(graph.numbers(is_valid)), 0.5)
    return graph.only_where(is_valid, rows, 0.0), is_readable


def _write_label(graph: Graph, scores: str, is_readable: str, names: npt.NDArray[Any]) -> None:
    """Write the name of the first class with the highest score."""
    best = graph("ArgMax", scores, axis=1, keepdims=1)
    number = graph.only_where(is_readable, best, np.array(len(names) - 1))
    graph.name_output(graph("Squeeze", graph("Gather", names, number), graph.whole([1])), "label")


def _write_verdict(
    graph: Graph, masses: str, plausibilities: str, is_readable: str, focal_sets: FocalSets, level: float
) -> None:
    """Write the verdicts, as in `CredalPartition.verdict`."""
    empty = graph("Gather", masses, graph.whole([0]), axis=1)
    equal = graph("GreaterOrEqual", plausibilities, graph("Mul", graph.maximum(plausibilities), _EQUAL))
    is_unique = graph("Less", graph.sum(graph.numbers(equal), 1, keep=True), 1.5)
    single = (focal_sets.membership & (focal_sets.sizes == 1)[:, None]).astype(np.float64)
    best = graph("ArgMax", plausibilities, axis=1, keepdims=1)
    belief = graph("GatherElements", graph("MatMul", masses, single), best, axis=1)
    nonempty = graph("Sub", graph.sum(masses, 1, keep=True), empty)
    is_believed = graph("GreaterOrEqual", belief, graph("Mul", nonempty, level * _EQUAL))
    code = graph.only_where(graph("And", is_unique, is_believed), np.array(0), np.array(1))
    code = graph.only_where(graph("GreaterOrEqual", empty, OUTLIER_MASS), np.array(2), code)
    code = graph.only_where(is_readable, code, np.array(3))
    graph.name_output(graph("Squeeze", graph("Gather", _VERDICTS, code), graph.whole([1])), "verdict")


def _names(classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the labels in a type of ONNX, followed by the label of rows without an answer."""
    if classes.dtype.kind in "iub":
        numbers = classes.astype(np.int64)
        return np.append(numbers, min(numbers.min(), 0) - 1)
    if classes.dtype.kind == "f":
        return np.append(classes.astype(np.float64), np.nan)
    if not all(isinstance(label, str) for label in classes):
        raise ValueError(
            f"to_onnx supports classes that are text or numbers, got {classes.tolist()}; rename them."
        )
    return np.array([*map(str, classes), ""], dtype=object)


def _make_graph(
    graph: Graph, n_features: int, n_sets: int, names: npt.NDArray[Any], kind: type[np.generic]
) -> Any:
    """Return the ONNX graph with its input and its outputs."""
    from onnx import TensorProto, helper

    real = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    of_label = TensorProto.STRING if names.dtype == object else helper.np_dtype_to_tensor_dtype(names.dtype)
    n_samples = "n_samples"
    return helper.make_graph(
        graph.nodes,
        "evidential_learn",
        [helper.make_tensor_value_info("X", real, [n_samples, n_features])],
        [
            helper.make_tensor_value_info("masses", real, [n_samples, n_sets]),
            helper.make_tensor_value_info("label", of_label, [n_samples]),
            helper.make_tensor_value_info("verdict", TensorProto.STRING, [n_samples]),
        ],
        graph.constants,
    )


def _metadata(estimator: Any, last: Any, focal_sets: FocalSets) -> dict[str, str]:
    """Return the metadata as JSON."""
    best = getattr(estimator, "best_estimator_", estimator)
    names = getattr(best, "feature_names_in_", None)
    frame = list(focal_sets.frame)
    metadata = {
        "estimator": type(last).__name__,
        "evlearn": evlearn.__version__,
        "features": None if names is None else [str(name) for name in names],
        "frame": frame,
        "focal_sets": [[frame[k] for k in np.flatnonzero(row)] for row in focal_sets.membership],
    }
    return {key: json.dumps(value, ensure_ascii=False) for key, value in metadata.items()}
