"""ONNX operators of evidential classifiers: evidence of neighbors or prototypes, combined by Dempster's rule."""

from typing import Any

import numpy as np

from evlearn.classify.base import LARGEST
from evlearn.classify.neighbor_evidence import CrispEvidence, SoftEvidence
from evlearn.classify.prototype_networks import ENNParameters, RBFParameters
from evlearn.classify.weights_of_evidence import NEVER
from evlearn.export.onnx.graph import Graph, Output, Value
from evlearn.neighbors import BoxTree
from evlearn.utils.typing import FloatArray


def write_neighbors(graph: Graph, classifier: Any, rows: str) -> Output:
    """Write the masses from the nearest training samples; the model contains all training samples."""
    tree: BoxTree = classifier._tree
    weights, number = classifier._counts, classifier.n_neighbors_
    width = min(number, classifier._n_samples) if weights is None else _widest(weights, number)
    squares, neighbors = _nearest(graph, tree.samples, width, rows)
    counts: Value = 1.0
    if weights is not None:
        heavy = graph("Gather", weights, neighbors)
        before = graph("CumSum", heavy, graph.constant(np.array(1)), exclusive=1)
        counts = graph("Min", graph("Max", graph("Sub", float(number), before), 0.0), heavy)
    evidence, gamma, alpha = classifier._evidence, classifier.gamma_, classifier.alpha_
    if isinstance(evidence, CrispEvidence):
        return Output(_crisp(graph, evidence, squares, neighbors, counts, gamma, alpha))
    return Output(_soft(graph, evidence, squares, neighbors, counts, gamma, alpha))


def _widest(weights: FloatArray, number: int) -> int:
    """Return the largest number of neighbors needed to reach a total weight of `number`."""
    sums = np.cumsum(np.sort(weights))
    return min(int(np.searchsorted(sums, number)) + 1, len(weights))


def _nearest(graph: Graph, samples: FloatArray, width: int, rows: str) -> tuple[str, str]:
    """Return the squared distances to the nearest samples, and their indices; ties in ascending order of index."""
    from onnx import TensorProto, helper

    # Row by row, because the differences between all rows and samples need too much memory. A loop, because
    # onnxruntime does not accept a scan over zero rows.
    inner = Graph(graph)
    differences = inner("Sub", graph.constant(samples), inner("Gather", rows, "number", axis=0))
    squares = inner("ReduceSumSquare", differences, axes=[1], keepdims=0)
    results = inner.outputs("TopK", 2, squares, graph.whole([width]), axis=0, largest=0, sorted=1)
    inner.name_output("go_on", "goes_on")
    kinds = TensorProto.DOUBLE, TensorProto.INT64
    body = helper.make_graph(
        inner.nodes,
        "nearest",
        [
            helper.make_tensor_value_info("number", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
        ],
        [
            helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
            *(
                helper.make_tensor_value_info(name, kind, [width])
                for name, kind in zip(results, kinds, strict=True)
            ),
        ],
    )
    n_rows = graph("Squeeze", graph("Shape", rows, start=0, end=1), graph.whole([0]))
    distances, numbers = graph.outputs("Loop", 2, n_rows, np.array(True), body=body)
    return distances, numbers


def _crisp(
    graph: Graph,
    evidence: CrispEvidence,
    squares: str,
    neighbors: str,
    counts: Value,
    gamma: FloatArray,
    alpha: float,
) -> str:
    """Return masses from the weights of evidence of the classes of neighbors."""
    classes = graph("Gather", evidence.codes.astype(np.int64), neighbors)
    supports = _supports(graph, graph("Gather", gamma**2, classes), squares, alpha)
    votes = graph("Mul", graph("Neg", _log_of_rest(graph, supports)), counts)
    numbers = np.arange(evidence.focal_sets.frame_size, dtype=np.int64)
    is_class = graph.numbers(graph("Equal", graph.with_axis(classes, 2), numbers))
    weights = graph.sum(graph("Mul", graph.with_axis(votes, 2), is_class), 1)
    highest = graph.maximum(weights)
    single = graph("Mul", _share(graph, weights), graph("Exp", graph("Sub", weights, highest)))
    return graph.after_zeros(graph.shares(graph.concatenate(single, graph("Exp", graph("Neg", highest)))))


def _soft(
    graph: Graph,
    evidence: SoftEvidence,
    squares: str,
    neighbors: str,
    counts: Value,
    gamma: FloatArray,
    alpha: float,
) -> str:
    """Return masses from the commonalities of the evidence of neighbors."""
    supports = _supports(graph, float(gamma[0] ** 2), squares, alpha)
    denials = graph("Mul", graph.with_axis(supports, 2), graph("Gather", evidence.denials, neighbors))
    repeats = counts if isinstance(counts, float) else graph.with_axis(str(counts), 2)
    logs = graph.sum(graph("Mul", _log_of_rest(graph, denials), repeats), 1)
    common = graph("Exp", graph("Sub", logs, graph.maximum(logs)))
    inverse = evidence.focal_sets.moebius_matrix[1:, 1:].T.astype(np.float64)
    return graph.after_zeros(graph.shares(graph("Max", graph("MatMul", common, inverse), 0.0)))


def _supports(graph: Graph, scales: Value, squares: str, alpha: float) -> str:
    return graph("Mul", graph("Exp", graph("Neg", graph("Mul", scales, squares))), float(alpha))


def write_evidential_network(graph: Graph, classifier: Any, rows: str) -> Output:
    """Write the masses from the evidence of prototypes for classes."""
    network: ENNParameters = classifier._network
    squares = graph.squares(_entered(graph, classifier, rows), network.prototypes)
    supports = graph("Mul", graph("Exp", graph("Mul", squares, -(network.eta**2))), network.strengths)
    against = graph("Mul", graph.with_axis(supports, 2), 1 - network.memberships)
    logs = graph.sum(_log_of_rest(graph, against), 1)
    frame = graph.sum(_log_of_rest(graph, supports), 1, keep=True)
    highest = graph.maximum(logs)
    rest = graph("Abs", _share(graph, graph("Sub", logs, frame)))
    single = graph("Mul", graph("Exp", graph("Sub", logs, highest)), rest)
    whole = graph("Exp", graph("Sub", frame, highest))
    return Output(graph.after_zeros(graph.shares(graph.concatenate(single, whole))))


def write_weights_of_evidence(graph: Graph, classifier: Any, rows: str) -> Output:
    """Write the masses from the evidence of prototypes for and against classes."""
    network: RBFParameters = classifier._network
    squares = graph.squares(_entered(graph, classifier, rows), network.prototypes)
    active = graph("Exp", graph("Mul", squares, -(network.gamma**2) / 2))
    weights, focal_sets = classifier.weights_, classifier.focal_sets_
    # Activations are nonnegative, so the sign of a weight is the same for all rows.
    support = graph("MatMul", active, np.maximum(weights, 0))
    denial = graph("MatMul", active, np.maximum(-weights, 0))
    denied = _log_share(graph, denial)
    others = graph("Sub", graph.sum(denied, 1, keep=True), denied)
    single = _log_of_sum(graph, graph("Add", support, _log_share(graph, support)), others)
    logs = [graph("Sub", single, denial)]
    if not focal_sets.is_full:
        logs.append(_log_of_larger_sets(graph, denial, focal_sets.frame_size))
    elif focal_sets.frame_size > 1:
        members = focal_sets.membership[1 + focal_sets.frame_size :].T.astype(np.float64)
        logs.append(graph("Sub", graph("MatMul", denied, 1 - members), graph("MatMul", denial, members)))
    masses = graph.after_zeros(graph("Softmax", graph.concatenate(*logs), axis=1))
    return Output(masses, graph("MatMul", active, weights))


def _entered(graph: Graph, classifier: Any, rows: str) -> str:
    """Return rows in the coordinates of a prototype network."""
    scaled = graph("Div", graph("Sub", rows, classifier._center), classifier._unit)
    return graph("Clip", scaled, -LARGEST, LARGEST)


def _log_of_rest(graph: Graph, share: str) -> str:
    """Return the logarithm of 1 minus a share."""
    return graph("Log", graph("Sub", 1.0, share))


def _share(graph: Graph, weights: str) -> str:
    """Return the mass of a weight of evidence."""
    return graph("Sub", 1.0, graph("Exp", graph("Neg", weights)))


def _log_share(graph: Graph, weights: str) -> str:
    return graph("Max", graph("Log", _share(graph, weights)), NEVER)


def _log_of_sum(graph: Graph, first: str, second: str) -> str:
    """Return the logarithm of a sum, from logarithms."""
    difference = graph("Neg", graph("Abs", graph("Sub", first, second)))
    return graph("Add", graph("Max", first, second), graph("Log", graph("Add", graph("Exp", difference), 1.0)))


def _log_of_larger_sets(graph: Graph, denial: str, n_classes: int) -> str:
    """Return the log-mass of all sets of at least 2 classes; denials are the evidence against classes."""
    remaining = graph("Exp", graph("Neg", denial))
    no_class: Value = 1.0
    one_class: Value = 0.0
    more_classes: Value = 0.0
    for k in range(n_classes):
        present = graph("Gather", remaining, graph.whole([k]), axis=1)
        absent = graph("Sub", 1.0, present)
        more_classes = graph("Add", more_classes, graph("Mul", one_class, present))
        one_class = graph("Add", graph("Mul", one_class, absent), graph("Mul", no_class, present))
        no_class = graph("Mul", no_class, absent)
    return graph("Max", graph("Log", more_classes), NEVER)
