"""A fitted estimator as an ONNX model: from rows to masses, labels and verdicts."""

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
from evlearn.classify.box_tree import BoxTree
from evlearn.cluster import BPEC, CCM, ECM, MergedMixture
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.model_onnx.classifiers import (
    write_evidential_network,
    write_neighbors,
    write_weights_of_evidence,
)
from evlearn.model_onnx.graph import IR_VERSION, OPSET, Graph, Said
from evlearn.model_onnx.mixtures import write_merged_mixture, write_mixture
from evlearn.model_onnx.prototypes import write_prototypes
from evlearn.model_steps import Affine, scaler_and_last
from evlearn.partition import SURE_LEVEL
from evlearn.partition.verdict import OUTLIER_MASS
from evlearn.utils.typing import EstimatorLike
from evlearn.utils.validation import check_choice, check_real

_Write = Callable[[Graph, Any, str], Said]
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
#: Of classifiers and mixtures, what is beyond this is refused, for its square is no number.
_LARGEST = float(np.finfo(np.float64).max)
#: As in verdicts: what is as good as equal.
_EQUAL = 1 - 1e-6
#: What a verdict may be; the last where there is none.
_VERDICTS = np.array(["sure", "torn", "outlier", ""], dtype=object)


def to_onnx(
    estimator: EstimatorLike,
    *,
    level: float = SURE_LEVEL,
    dtype: Literal["float64", "float32"] = "float64",
) -> bytes:
    """An ONNX model that gives the masses of samples, so that programs without Python can score them.

    It has standard operators of ONNX only, and computes in double precision what `predict_mass` computes; of
    networks that were trained in single precision `predict_mass` is the less precise of the two. A sample that has
    a NaN or an infinity among its features gets NaN for all masses, whatever `fit` has learned about gaps. The
    model of an `EvidentialKNNClassifier` holds all its training samples, and whoever gets it has them.

    The input is ``X``, of shape (n_samples, n_features), with any number of samples. The outputs are ``masses``,
    of shape (n_samples, n_focal_sets); ``label``, what `predict` says; and ``verdict``, which is ``sure``,
    ``torn`` or ``outlier``. Where there is no answer the verdict is empty, and the label is -1; an empty text
    where classes are text, and less than all of them where these are negative numbers. What the columns of the
    masses stand for, the names of classes and features, and the class of the estimator are in the metadata of the
    model, as JSON.

    Parameters
    ----------
    estimator : object
        A fitted ECM, CCM, BPEC, MergedMixture, ParsimoniousGaussianMixture, EvidentialKNNClassifier with Euclidean
        distances, EvidentialNeuralClassifier, EvidentialRBFClassifier or NNEVCLUS; or a pipeline of
        ``StandardScaler`` and one of these.
    level : float, default=0.6
        A sample with at least this belief in one cluster is sure, see `CredalPartition.verdict`.
    dtype : {"float64", "float32"}, default="float64"
        The type of ``X`` and of ``masses``. All else is in double precision either way.

    Returns
    -------
    bytes
        The model, to be written to a file that ends in ``.onnx``, or given to an engine.

    See Also
    --------
    to_sql : A query for a database.
    save_model : The estimator as a file for Python.

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
    rows, known = _readable(graph, graph.numbers("X"), scaler, _farthest(last))
    said, focal_sets = write(graph, last, rows), _focal_sets_of(last)
    names = _names(getattr(last, "classes_", np.arange(focal_sets.frame_size)))
    graph.named(graph.numbers(graph.only_where(known, said.masses, np.nan), kind), "masses")
    plausibilities = graph("MatMul", said.masses, focal_sets.membership.astype(np.float64))
    _write_label(graph, said.scores or plausibilities, known, names)
    _write_verdict(graph, said.masses, plausibilities, known, focal_sets, level)
    written = onnx.helper.make_model(
        _closed(graph, last.n_features_in_, len(focal_sets), names, kind),
        producer_name="evidential-learn",
        producer_version=evlearn.__version__,
        ir_version=IR_VERSION,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
    )
    onnx.helper.set_model_props(written, _facts(estimator, last, focal_sets))
    onnx.checker.check_model(written, full_check=True)
    return bytes(written.SerializeToString())


def _writer_of(last: Any) -> _Write:
    """What writes an estimator; others are refused."""
    if "evlearn.neural" in sys.modules:  # or else nothing of it can be there
        from evlearn.neural import NNEVCLUS

        if type(last) is NNEVCLUS and not last._precomputed:
            from evlearn.model_onnx.networks import write_network

            return write_network
    write = _WRITERS.get(type(last))
    if write is None or (type(last) is EvidentialKNNClassifier and not isinstance(last._tree, BoxTree)):
        metric = getattr(last, "metric", None)
        found = type(last).__name__ + ("" if metric is None else f" with metric={metric!r}")
        raise ValueError(
            "to_onnx writes ECM, CCM, BPEC, MergedMixture, ParsimoniousGaussianMixture, EvidentialRBFClassifier, "
            "EvidentialNeuralClassifier, EvidentialKNNClassifier with Euclidean distances of dense rows, and "
            f"NNEVCLUS of features, got {found}; score with predict_mass."
        )
    return write


def _farthest(last: Any) -> float:
    """Values beyond this are refused."""
    return LARGEST if hasattr(last, "classes_") or isinstance(last, ParsimoniousGaussianMixture) else _LARGEST


def _focal_sets_of(last: Any) -> FocalSets:
    if isinstance(last, ParsimoniousGaussianMixture):
        return FocalSets.singletons(last.n_components_)
    found: FocalSets = last.focal_sets_
    return found


def _readable(graph: Graph, rows: str, scaler: Affine | None, farthest: float) -> tuple[str, str]:
    """Rows as the estimator takes them, with zeros for what is no number, and which of them have none of these."""
    if scaler is not None:
        rows = graph("Div", graph("Sub", rows, scaler.shift), scaler.size)
    # What is not a number fails every comparison.
    fine = graph("And", graph("LessOrEqual", rows, farthest), graph("GreaterOrEqual", rows, -farthest))
    known = graph("Greater", graph.least(graph.numbers(fine)), 0.5)
    return graph.only_where(fine, rows, 0.0), known


def _write_label(graph: Graph, scores: str, known: str, names: npt.NDArray[Any]) -> None:
    """The first of the highest, by its name."""
    best = graph("ArgMax", scores, axis=1, keepdims=1)
    number = graph.only_where(known, best, np.array(len(names) - 1))
    graph.named(graph("Squeeze", graph("Gather", names, number), graph.whole([1])), "label")


def _write_verdict(
    graph: Graph, masses: str, plausibilities: str, known: str, focal_sets: FocalSets, level: float
) -> None:
    """Whether a row is sure, torn or an outlier, as `CredalPartition.verdict` has it."""
    empty = graph("Gather", masses, graph.whole([0]), axis=1)
    equal = graph("GreaterOrEqual", plausibilities, graph("Mul", graph.most(plausibilities), _EQUAL))
    alone = graph("Less", graph.sum(graph.numbers(equal), 1, keep=True), 1.5)
    single = (focal_sets.membership & (focal_sets.sizes == 1)[:, None]).astype(np.float64)
    best = graph("ArgMax", plausibilities, axis=1, keepdims=1)
    belief = graph("GatherElements", graph("MatMul", masses, single), best, axis=1)
    inside = graph("Sub", graph.sum(masses, 1, keep=True), empty)
    enough = graph("GreaterOrEqual", belief, graph("Mul", inside, level * _EQUAL))
    place = graph.only_where(graph("And", alone, enough), np.array(0), np.array(1))
    place = graph.only_where(graph("GreaterOrEqual", empty, OUTLIER_MASS), np.array(2), place)
    place = graph.only_where(known, place, np.array(3))
    graph.named(graph("Squeeze", graph("Gather", _VERDICTS, place), graph.whole([1])), "verdict")


def _names(classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Clusters or classes as ONNX has them, and last what is said where there is no answer."""
    if classes.dtype.kind in "iub":
        numbers = classes.astype(np.int64)
        return np.append(numbers, min(numbers.min(), 0) - 1)
    if classes.dtype.kind == "f":
        return np.append(classes.astype(np.float64), np.nan)
    if not all(isinstance(one, str) for one in classes):
        raise ValueError(f"to_onnx writes classes that are text or numbers, got {classes.tolist()}; rename them.")
    return np.array([*map(str, classes), ""], dtype=object)


def _closed(graph: Graph, n_features: int, n_sets: int, names: npt.NDArray[Any], kind: type[np.generic]) -> Any:
    """The graph with its input and its outputs."""
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


def _facts(estimator: Any, last: Any, focal_sets: FocalSets) -> dict[str, str]:
    """What columns stand for, as JSON."""
    best = getattr(estimator, "best_estimator_", estimator)
    named = getattr(best, "feature_names_in_", None)
    frame = list(focal_sets.frame)
    facts = {
        "estimator": type(last).__name__,
        "evlearn": evlearn.__version__,
        "features": None if named is None else [str(one) for one in named],
        "frame": frame,
        "focal_sets": [[frame[k] for k in np.flatnonzero(row)] for row in focal_sets.membership],
    }
    return {name: json.dumps(value, ensure_ascii=False) for name, value in facts.items()}


__all__ = ["to_onnx"]
