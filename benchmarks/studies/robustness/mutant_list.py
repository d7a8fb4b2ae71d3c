"""Errors in central lines of the library, which good tests should detect.

The mutants of `FROM_THE_REVIEW` survived in a review, or were killed only by tests that require the reference
folder; those of `FROM_THE_THIRD_REVIEW` survived in a later review. The others were chosen from the source, 1 to 3
lines in each file that contains a method: a formula, a guard, a tie, a factor, the check of a path. The list was
complete before the first run, and no mutant was replaced afterwards.
"""

from typing import NamedTuple


class Mutant(NamedTuple):
    """An error in one line.

    Attributes
    ----------
    file : str
        File, relative to ``src/evlearn``.
    old : str
        Original code, which occurs exactly once; with a neighboring line if the line alone occurs twice.
    new : str
        Code of the mutant.
    consequence : str
        Consequence for users.
    equivalent : str
        Reason why the mutant is equivalent to the original; such mutants do not count. Empty for all others.
    """

    file: str
    old: str
    new: str
    consequence: str
    equivalent: str = ""


#: Tests of a file, or of all files of a folder; the longest matching name counts.
TESTS = {
    "belief/": ("tests/belief",),
    "partition/": ("tests/partition",),
    "storage/archives.py": ("tests/storage/test_partitions.py",),
    "metrics/": ("tests/metrics",),
    "constraints/pairwise.py": (
        "tests/constraints",
        "tests/cluster/pairwise/test_irqp.py",
        "tests/cluster/pairwise/test_evclus.py",
    ),
    "constraints/": ("tests/constraints",),
    "ensemble/": ("tests/ensemble",),
    "mixture/": ("tests/mixture", "tests/cluster/model_based/test_bootclus.py"),
    "model_selection/": ("tests/model_selection",),
    "metric_learning/": ("tests/metric_learning",),
    "classify/": ("tests/classify/test_networks.py", "tests/classify/test_knn.py", "tests/classify"),
    "classify/annotations.py": ("tests/classify/test_annotations.py",),
    "classify/confusions.py": ("tests/classify/test_annotations.py",),
    "classify/prototype_classifiers.py": ("tests/classify/test_weights.py", "tests/classify/test_networks.py"),
    "classify/forest.py": ("tests/classify/test_forest.py", "tests/classify/test_weights.py"),
    "classify/leaves.py": ("tests/classify/test_forest.py", "tests/classify/test_weights.py"),
    "conformal/": ("tests/conformal/test_conformal_clusterer.py",),
    "conformal/nonconformity.py": ("tests/conformal/test_unseen_classes.py",),
    "conformal/unseen_classes.py": ("tests/conformal/test_unseen_classes.py",),
    "active/": (
        "tests/active/test_oracles.py",
        "tests/active/test_active_labeling.py",
        "tests/active/test_active_clustering.py",
    ),
    "active/review_queue.py": ("tests/active/test_review_queue.py",),
    "preprocessing/": ("tests/preprocessing",),
    "command_line/": ("tests/command_line/test_command_line.py",),
    "command_line/results.py": (
        "tests/command_line/test_outputs.py",
        "tests/command_line/test_command_line.py",
    ),
    "command_line/judging.py": (
        "tests/command_line/test_batches.py",
        "tests/command_line/test_command_line.py",
    ),
    "utils/quantiles.py": ("tests/cluster/centroids/test_starts.py",),
    "utils/validation.py": ("tests/active/test_review_queue.py",),
    "utils/cells.py": ("tests/test_cells.py", "tests/command_line/test_dialects.py"),
    "utils/files.py": ("tests/test_files.py", "tests/command_line/test_outputs.py"),
    "blocks/targets.py": ("tests/blocks/test_targets.py", "tests/blocks/test_columns.py"),
    "cluster/base.py": ("tests/blocks/test_targets.py", "tests/model_selection/test_select.py"),
    "cluster/row_clusterer.py": ("tests/blocks/test_targets.py", "tests/cluster/centroids/test_checkpoints.py"),
    "cluster/outlier_rule.py": ("tests/cluster/test_outlier_rule.py",),
    "cluster/centroids/kmeans.py": ("tests/cluster/centroids/test_robust_kmeans.py",),
    "cluster/isolation.py": ("tests/cluster/test_isolation.py",),
    "cluster/centroids/secm.py": ("tests/cluster/centroids/test_secm.py",),
    "cluster/centroids/online.py": ("tests/cluster/centroids/test_streams.py",),
    "neural/losses.py": ("tests/neural/test_losses.py",),
    "kernels/simplex_qp.pyx": ("tests/kernels/test_simplex_qp.py", "tests/cluster/pairwise/test_evclus.py"),
    "kernels/evclus.pyx": ("tests/kernels/test_evclus_kernel.py", "tests/cluster/pairwise/test_evclus.py"),
    "kernels/gram_body.h": ("tests/kernels/test_evclus_kernel.py", "tests/cluster/pairwise/test_evclus.py"),
    "kernels/prototypes_body.h": (
        "tests/kernels/test_prototypes.py",
        "tests/cluster/centroids/test_ecm.py",
        "tests/cluster/centroids/test_ccm.py",
        "tests/cluster/centroids/test_prototype_methods.py",
    ),
    "kernels/neighbors_body.h": ("tests/kernels/test_neighbors.py", "tests/classify/test_knn.py"),
    "kernels/agreements_body.h": ("tests/kernels/test_agreements.py",),
    "kernels/faces.h": ("tests/kernels/test_simplex_qp.py",),
    "kernels/neighbor_loss.pyx": ("tests/kernels/test_neighbors.py", "tests/classify/test_knn.py"),
    "kernels/gaussian.pyx": (
        "tests/kernels/test_gaussian.py",
        "tests/mixture",
        "tests/cluster/model_based/test_bootclus.py",
    ),
    "kernels/seeds.pyx": ("tests/kernels/test_seeds.py",),
    "kernels/trees.pyx": ("tests/classify/test_forest.py",),
    "kernels/same_cluster.pyx": ("tests/cluster/model_based/test_bootclus.py",),
    "kernels/label_search.pyx": ("tests/kernels", "tests/cluster/neighbors/test_eknnclus.py"),
    "cluster/set_costs.py": (
        "tests/kernels/test_prototypes.py",
        "tests/cluster/centroids/test_ecm.py",
        "tests/cluster/centroids/test_ccm.py",
        "tests/cluster/centroids/test_prototype_methods.py",
    ),
    "cluster/centroids/model.py": (
        "tests/kernels/test_prototypes.py",
        "tests/cluster/centroids/test_ecm.py",
        "tests/cluster/centroids/test_ccm.py",
        "tests/cluster/centroids/test_prototype_methods.py",
    ),
    "cluster/centroids/adaptive.py": (
        "tests/cluster/centroids/test_ecm.py",
        "tests/cluster/centroids/test_prototype_methods.py",
    ),
    "cluster/centroids/starts.py": (
        "tests/cluster/centroids/test_starts.py",
        "tests/cluster/centroids/test_ecm.py",
        "tests/cluster/centroids/test_prototype_methods.py",
    ),
    "cluster/centroids/fit.py": (
        "tests/cluster/centroids/test_ecm.py",
        "tests/cluster/centroids/test_ccm.py",
        "tests/cluster/centroids/test_prototype_methods.py",
    ),
    "cluster/pairwise/solvers.py": (
        "tests/cluster/pairwise/test_stochastic.py",
        "tests/cluster/pairwise/test_evclus.py",
    ),
    "cluster/pairwise/landmarks.py": (
        "tests/cluster/pairwise/test_landmarks.py",
        "tests/cluster/pairwise/test_evclus.py",
    ),
    "cluster/pairwise/irqp.py": ("tests/cluster/pairwise/test_irqp.py", "tests/cluster/pairwise/test_evclus.py"),
    "cluster/pairwise/pair_graph.py": (
        "tests/cluster/pairwise/test_pairs.py",
        "tests/cluster/pairwise/test_evclus.py",
        "tests/ensemble",
        "tests/cluster/model_based/test_bootclus.py",
    ),
    "cluster/centroids/constrained_descent.py": ("tests/cluster/centroids/test_cecm.py",),
    "cluster/relational/weighted_means.py": ("tests/cluster/relational/test_recm.py",),
    "cluster/relational/medoids.py": ("tests/cluster/relational/test_ecmdd.py",),
    "neighbors.py": (
        "tests/cluster/neighbors/test_belief_peaks.py",
        "tests/cluster/neighbors/test_eknnclus.py",
    ),
    "cluster/neighbors/belief_peaks.py": (
        "tests/cluster/neighbors/test_belief_peaks.py",
        "tests/cluster/centroids/test_bpec.py",
    ),
    "cluster/model_based/intervals.py": ("tests/cluster/model_based/test_bootclus.py",),
    "cluster/model_based/bootclus.py": ("tests/cluster/model_based/test_bootclus.py",),
    "cluster/neighbors/label_search.py": ("tests/cluster/neighbors/test_eknnclus.py",),
    "cluster/neighbors/eknnclus.py": ("tests/cluster/neighbors/test_eknnclus.py",),
}

FROM_THE_REVIEW = [
    Mutant(
        "metrics/pairwise.py",
        "right += right >= left",
        "right += right > left",
        "pairs of an object with itself are drawn, and the sampled index is biased",
    ),
    Mutant(
        "cluster/centroids/adaptive.py",
        "(1 - reg_covar) * np.maximum(eigenvalues, 0) + reg_covar",
        "np.maximum(eigenvalues, 0) + reg_covar",
        "the regularized metric is not what the documentation says",
    ),
    Mutant(
        "cluster/centroids/fit.py",
        "if statistics.cost > before:  #",
        "if False:  #",
        "a fit ends with prototypes that are worse than those before",
    ),
    Mutant(
        "cluster/centroids/starts.py",
        "np.where(first == second, np.maximum(weights[first] - 1, 0), weights[second])",
        "np.where(first == second, 0, weights[second])",
        "delta='auto' differs between a row of weight two and the row twice",
    ),
    Mutant(
        "cluster/pairwise/solvers.py",
        "max(len(history) - _FREE_SWEEPS, 0) / 20",
        "max(len(history) - _FREE_SWEEPS, 0) / 2000",
        "the stochastic solver never comes to rest",
    ),
    Mutant(
        "classify/prototype_classifiers.py",
        "prototypes = prototypes[crowded] if crowded.any() else prototypes",
        "prototypes = prototypes",
        "a prototype on one remote object has a scale and a say of its own",
    ),
    Mutant(
        "mixture/em.py",
        "<= 1e4 * np.square(self.ranges.max())",
        "<= 1e12 * np.square(self.ranges.max())",
        "a component without end counts as a good fit",
    ),
    Mutant(
        "kernels/simplex_qp.pyx",
        "if pivot > 0.0 and fabs(slope) / pivot < theta:",
        "if pivot > 1e300 and fabs(slope) / pivot < theta:",
        "a direction of little curvature is followed beyond its bottom",
        equivalent="a slope that is followed is above 2e-12 of the problem, and a curvature that counts as none "
        "below 1e-12 of it: the bottom is more than two steps away, and the boundary of the simplex at most one",
    ),
    Mutant(
        "kernels/evclus.pyx",
        "if after >= before:",
        "if after >= before + 1e300:",
        "rounding makes an objective rise that is said to fall",
    ),
    Mutant(
        "kernels/prototypes_body.h",
        "left > least * whole && left > REAL_ZERO",
        "left > REAL_ZERO",
        "an object on a barycenter gets masses made of rounding",
    ),
    Mutant(
        "kernels/label_search.pyx",
        "cdef double BETTER = 1 + 1e-12",
        "cdef double BETTER = 1",
        "equal labels take turns for ever",
    ),
    Mutant(
        "kernels/neighbors_body.h",
        "(candidate < bound) & (numbers[p] != left_out)",
        "(candidate <= bound) & (numbers[p] != left_out)",
        "a neighbor is collected twice",
        equivalent="indices are unique, so no other candidate equals the bound",
    ),
    Mutant(
        "constraints/pairwise.py",
        "2 * weight / max(len(constraints), 1)",
        "1.9 * weight / max(len(constraints), 1)",
        "constraints weigh less than published",
    ),
    Mutant(
        "cluster/pairwise/pair_graph.py",
        "np.tile(delta.reshape(-1), 2)[order]",
        "np.tile(delta.reshape(-1), 2)",
        "pairs get the targets of other pairs",
    ),
    Mutant(
        "cluster/pairwise/landmarks.py",
        "block[:, self.indices]",
        "block[:, : len(self.indices)]",
        "new objects are compared with the wrong training objects",
    ),
]

CHOSEN = [
    # belief
    Mutant(
        "belief/transforms.py",
        "logs[..., -1] = 0\n    return np.exp(logs)",
        "logs[..., -1] = 1\n    return np.exp(logs)",
        "the canonical weight of the frame is not one",
    ),
    Mutant(
        "belief/transforms.py",
        "return implicability(values, focal_sets, at) - values[..., :1]",
        "return implicability(values, focal_sets, at)",
        "the empty set supports everything",
    ),
    Mutant(
        "belief/transforms.py",
        "noise = _NOISE if dtype == np.float64 else 1e-5",
        "noise = _NOISE",
        "single precision is refused for its rounding",
    ),
    Mutant(
        "belief/combination.py",
        "np.where(impossible, np.nan, masses.sum(axis=-1, keepdims=True))",
        "np.where(impossible, 1, masses.sum(axis=-1, keepdims=True))",
        "total conflict gives numbers that are no masses",
    ),
    Mutant(
        "belief/combination.py",
        "masses[..., -1] += masses[..., 0]",
        "masses[..., -1] = masses[..., 0]",
        "Yager's rule forgets what both sources leave open",
    ),
    Mutant(
        "belief/combination.py",
        "intersections, member | members)",
        "intersections, members)",
        "the rule of Dubois and Prade takes a side in a conflict",
    ),
    Mutant(
        "belief/decision.py",
        "weight * smallest + (1 - weight) * largest",
        "weight * largest + (1 - weight) * smallest",
        "optimists and pessimists change places",
    ),
    Mutant(
        "belief/decision.py",
        "np.column_stack([membership, membership.all(axis=1)])",
        "np.column_stack([membership, membership.any(axis=1)])",
        "an unknown class is possible even where the evidence is for one class",
    ),
    Mutant(
        "belief/decision.py",
        "2.2 / r - 1.2 / r**2",
        "2.2 / r - 1.3 / r**2",
        "the utility u80 of two classes is not 0.8",
    ),
    Mutant(
        "belief/measures.py",
        "np.where(focal_sets.sizes == 0, focal_sets.frame_size, focal_sets.sizes)",
        "np.maximum(focal_sets.sizes, 1)",
        "outliers count as known",
    ),
    Mutant(
        "belief/measures.py",
        "total * 2.0 ** (1 - size)",
        "total * 2.0 ** (2 - size)",
        "a normalized distance exceeds one",
    ),
    # partition
    Mutant(
        "partition/conversions.py",
        "sets = ranks[samples] <= lengths[:, None]",
        "sets = ranks[samples] < lengths[:, None]",
        "possibilities become masses of sets that are one cluster too small",
    ),
    Mutant(
        "partition/conversions.py",
        "tolerance = 1e-9 if values.dtype == np.float64 else 1e-5",
        "tolerance = 1e-9",
        "memberships in single precision are refused",
    ),
    Mutant(
        "partition/relational.py",
        "1 - conflict - singleton)",
        "1 - conflict)",
        "what is known to be the same is unknown too",
    ),
    Mutant(
        "partition/summary.py",
        "nonspecificity=vague / n_samples",
        "nonspecificity=(self.nonspecificity + other.nonspecificity) / 2",
        "summaries of parts of different sizes do not add up",
    ),
    Mutant(
        "storage/archives.py",
        "if begin + math.prod(shape) * dtype.itemsize != stop or empty_and_large:",
        "if begin + math.prod(shape) * dtype.itemsize > stop or empty_and_large:",
        "a file with something behind its array is read without a word",
    ),
    # kernels
    Mutant(
        "kernels/simplex_qp.pyx",
        "cdef double GAP = 1e-12",
        "cdef double GAP = 1e-6",
        "row problems end before their minimum",
    ),
    Mutant(
        "kernels/simplex_qp.pyx",
        "(theta < 0.0 or -m[P[b]] / step[b] < theta)",
        "(theta < 0.0 or -m[P[b]] / step[b] > theta)",
        "a step leaves the simplex",
    ),
    Mutant(
        "kernels/evclus.pyx",
        "u[a] += weight * value",
        "u[a] += value",
        "constraints have the wrong weight",
    ),
    Mutant(
        "kernels/evclus.pyx",
        "G[a * f + b] -= Y[k * n + i, a] * Y[k * n + i, b]",
        "G[a * f + b] -= 0",
        "an object is compared with itself",
    ),
    Mutant(
        "kernels/gram_body.h",
        "*(evlearn_four *)(u + B) -= left[lines];",
        "*(evlearn_four *)(u + B) = -left[lines];",
        "of many partners only the last count",
    ),
    Mutant(
        "kernels/prototypes_body.h",
        "REAL_POW(total[t], (REAL)(-1 / power))",
        "REAL_POW(total[t], (REAL)(-power))",
        "the objective is wrong for every beta but two",
    ),
    Mutant(
        "kernels/prototypes_body.h",
        "u[l] += pj * *(const VEC *)(r + l * LANES)",
        "u[l] += *(const VEC *)(r + l * LANES)",
        "large sets pull prototypes too little or too much",
    ),
    Mutant(
        "kernels/neighbors_body.h",
        "place > 0 && candidate < candidates[place - 1]",
        "place > 0 && candidate >> 64 < candidates[place - 1] >> 64",
        "equally distant neighbors come in another order",
    ),
    Mutant(
        "kernels/neighbors_body.h",
        "group->bounds[p] > group->bound ?",
        "group->bounds[p] < group->bound ?",
        "of many duplicates the wrong ones are neighbors",
    ),
    Mutant(
        "kernels/neighbor_loss.pyx",
        "total = -(<double>c - 1) * frame",
        "total = -(<double>c) * frame",
        "masses of neighbors are normalized by the wrong number",
    ),
    Mutant(
        "kernels/neighbor_loss.pyx",
        "if products[k] < SMALL:",
        "if products[k] < 0:",
        "many near neighbors give an infinite weight",
    ),
    Mutant(
        "kernels/gaussian.pyx",
        "(1 / seen[r, k, p, p] - 1 / seen[r, k, q, q])",
        "(1 / seen[r, k, p, p] + 1 / seen[r, k, q, q])",
        "common axes turn to where the likelihood is not largest",
    ),
    Mutant(
        "kernels/gaussian.pyx",
        "log_volume[0] += 0.5 * log(value)",
        "log_volume[0] += log(value)",
        "densities of flat components are wrong",
    ),
    Mutant(
        "kernels/gaussian.pyx",
        "w[i] = share[start + i] * weight[start + i]",
        "w[i] = share[start + i]",
        "weights do not reach covariances",
    ),
    Mutant(
        "kernels/gaussian.pyx",
        "value > floor[a] + share * covariance[a * d + a]",
        "value > floor[a]",
        "a covariance that is singular up to rounding counts as regular",
    ),
    Mutant(
        "kernels/gaussian.pyx",
        "volume /= d * counts[r, k]",
        "volume /= counts[r, k]",
        "volumes are d times too large",
    ),
    Mutant(
        "kernels/gaussian.pyx",
        "if not change > tol * least:",
        "if change > tol * least:",
        "turns end before volumes have settled",
    ),
    Mutant(
        "kernels/same_cluster.pyx",
        "to[b] += one[b] * other[b]",
        "to[b] = one[b] * other[b]",
        "only the last cluster counts",
    ),
    Mutant(
        "kernels/agreements_body.h",
        "x = x < largest ? x : largest;",
        "x = x < largest + 1 ? x : largest;",
        "agreements are larger than 1",
    ),
    Mutant(
        "kernels/faces.h",
        "(z[i] < -tolerance * face->is_outside[i])",
        "(z[i] < -1e300 * face->is_outside[i])",
        "sets with a negative gradient stay outside",
    ),
    Mutant(
        "kernels/label_search.pyx",
        "best >= 0 and label < best",
        "best >= 0 and label > best",
        "of equal labels not the lowest wins, and results depend on the order of neighbors",
    ),
    # cluster
    Mutant(
        "cluster/set_costs.py",
        "(1 + gamma / size) / (size + gamma)",
        "1 / (size + gamma)",
        "CCM pays too little for its sets",
    ),
    Mutant(
        "cluster/set_costs.py",
        "masses[free] = costs[free] <= 0",
        "masses[free] = 1",
        "an object on a prototype belongs to everything",
    ),
    Mutant(
        "cluster/centroids/model.py",
        "(costs.spread - costs.gain / costs.size)",
        "costs.spread",
        "prototypes are not where the objective is least",
    ),
    Mutant(
        "cluster/centroids/adaptive.py",
        "statistics.powers[1:] * self.costs.gain / self.costs.size**2",
        "statistics.powers[1:] * self.costs.gain / self.costs.size",
        "prototypes with metrics are not where the objective is least",
    ),
    Mutant(
        "cluster/centroids/adaptive.py",
        "_FLATTEST = 1e-12",
        "_FLATTEST = 1e-3",
        "flat clusters are rounded although reg_covar does not say so",
    ),
    Mutant(
        "utils/quantiles.py",
        "share * (ends[-1] - 1)",
        "share * ends[-1]",
        "the quantile behind delta='auto' is not the usual one",
    ),
    Mutant(
        "cluster/centroids/starts.py",
        "weights = weights * max(1.0, n / weights.sum())",
        "weights = weights * 1.0",
        "weights that sum to one change delta='auto'",
    ),
    Mutant(
        "cluster/centroids/fit.py",
        "before - statistics.cost <= self.tol * before",
        "before - statistics.cost <= self.tol",
        "where a fit ends depends on the unit of the data",
    ),
    Mutant(
        "cluster/pairwise/pair_graph.py",
        'np.searchsorted(self.ranks, distances, side="right")',
        'np.searchsorted(self.ranks, distances, side="left")',
        "equal dissimilarities get the rank of smaller ones",
    ),
    Mutant(
        "cluster/pairwise/pair_graph.py",
        "draws + (draws >= number)",
        "draws + (draws > number)",
        "an object is its own partner",
    ),
    Mutant(
        "cluster/pairwise/pair_graph.py",
        "first + np.arange(rows.start, rows.stop)",
        "np.arange(rows.start, rows.stop)",
        "with several forms the objective counts pairs of an object with itself",
    ),
    Mutant(
        "constraints/pairwise.py",
        "np.stack([must_link, 2 - must_link])",
        "np.stack([must_link, 1 - must_link])",
        "cannot-links are penalized by another amount than must-links",
    ),
    Mutant(
        "cluster/pairwise/irqp.py",
        "decrease <= tol * objective",
        "decrease <= tol",
        "where EVCLUS ends depends on the size of the objective",
    ),
    Mutant(
        "cluster/pairwise/irqp.py",
        "np.linspace(0, n_samples - 1, size).round().astype(np.intp)",
        "np.arange(size)",
        "references leave out clusters",
    ),
    Mutant(
        "cluster/pairwise/solvers.py",
        "order[positions + len(rows) * (positions >= block.start)]",
        "order[positions]",
        "an object may be its own partner",
    ),
    Mutant(
        "cluster/centroids/constrained_descent.py",
        "level = (sums / np.cumsum(ordered, axis=1)).min(axis=1, keepdims=True)",
        "level = (sums / np.cumsum(ordered, axis=1)).max(axis=1, keepdims=True)",
        "rows with constraints are not solved",
    ),
    Mutant(
        "cluster/centroids/constrained_descent.py",
        "(row_costs * (before + after) + slopes)",
        "(row_costs * (before + after))",
        "the gain of a sweep leaves out the constraints",
    ),
    Mutant(
        "cluster/relational/weighted_means.py",
        "distances[negative] = _FLOOR * self.mean",
        "distances[negative] = 0",
        "a negative square takes all mass",
    ),
    Mutant(
        "cluster/relational/weighted_means.py",
        "masses.max(axis=1) ** (beta - 1)",
        "masses.max(axis=1)",
        "the objective of RECM is wrong for every beta but two",
    ),
    Mutant(
        "cluster/relational/weighted_means.py",
        "return -2 * smallest if",
        "return -smallest if",
        "dissimilarities are said to be Euclidean and are not",
    ),
    Mutant(
        "cluster/relational/medoids.py",
        "np.argmin(self.unit * variance + self.kind.eta * means[j])",
        "np.argmin(variance + self.kind.eta * means[j])",
        "medoids depend on the unit in another way than the paper's",
    ),
    Mutant(
        "cluster/relational/medoids.py",
        "if successor.objective <= best.objective:",
        "if True:",
        "the last medoids are kept and not the best",
    ),
    Mutant(
        "neighbors.py",
        "_limit_copies(data, n_neighbors + 1)",
        "_limit_copies(data, n_neighbors)",
        "objects with many duplicates have one neighbor too far",
    ),
    Mutant(
        "cluster/neighbors/belief_peaks.py",
        "distances[np.arange(n_higher) >= positions[:, None]] = np.inf",
        "distances[np.arange(n_higher) > positions[:, None]] = np.inf",
        "an object is the nearest one of larger belief to itself",
    ),
    Mutant(
        "cluster/model_based/intervals.py",
        "bounds[block] = low + parts * (high - low)",
        "bounds[block] = low",
        "percentiles are not interpolated",
    ),
    Mutant(
        "cluster/model_based/bootclus.py",
        "1 - upper.reshape(-1, n_reference)",
        "upper.reshape(-1, n_reference)",
        "new objects get the masses of the opposite",
    ),
    Mutant(
        "cluster/model_based/bootclus.py",
        "eta=1 / len(pairs)",
        "eta=0.5 / len(pairs)",
        "the objective is not the mean of squares that it is said to be",
    ),
    Mutant(
        "cluster/neighbors/label_search.py",
        "dropped |= rank >= n_neighbors + is_training[rows]",
        "dropped |= rank >= n_neighbors",
        "a training object is predicted from one neighbor less",
    ),
    Mutant(
        "cluster/neighbors/label_search.py",
        "np.where(diagonal, 0, self(graph.data[entries]))",
        "self(graph.data[entries])",
        "with a graph that has a diagonal objects vote for themselves",
    ),
    Mutant(
        "cluster/neighbors/eknnclus.py",
        "(self.n_neighbors or n_training) + 1, n_training",
        "(self.n_neighbors or n_training), n_training",
        "a training object is predicted from one neighbor less",
    ),
    # classify
    Mutant(
        "classify/knn.py",
        "_FLOOR = 0.1",
        "_FLOOR = 1e-6",
        "classes learn that they reach everywhere, and nothing is unknown",
    ),
    Mutant(
        "classify/neighbor_evidence.py",
        "means = np.where(means > 0, means, overall)",
        "means = np.where(means > 0, means, 1)",
        "a class of duplicates has a scale that depends on the unit",
    ),
    Mutant(
        "classify/neighbor_evidence.py",
        "slopes = (2 * gamma[0] * squares",
        "slopes = (gamma[0] * squares",
        "the gradient of soft labels is wrong",
    ),
    Mutant(
        "classify/prototype_networks.py",
        "strengths * (1 - strengths / MAX_STRENGTH)",
        "strengths * (1 - strengths)",
        "the gradient of strengths is wrong",
    ),
    Mutant(
        "classify/prototype_networks.py",
        "by_weight + 2 * self.l2 * parameters.weights",
        "by_weight + self.l2 * parameters.weights",
        "the gradient of the price of weights is wrong",
    ),
    Mutant(
        "classify/prototype_classifiers.py",
        "weights - weights.mean(axis=1, keepdims=True)",
        "weights",
        "weights of evidence do not sum to zero over the classes",
    ),
    # mixture
    Mutant(
        "mixture/em.py",
        "< tol * em.totals[run]",
        "< tol",
        "where EM ends depends on the number of objects",
    ),
    Mutant(
        "mixture/em.py",
        "scatter += (reg_covar * counts)[..., None, None]",
        "scatter += reg_covar",
        "reg_covar is divided by the size of a component",
    ),
    Mutant(
        "mixture/covariance_models.py",
        "(flat @ inverses)[..., 0] / (d * counts)",
        "(flat @ inverses)[..., 0] / counts",
        "the volumes of VEE are wrong",
    ),
    Mutant(
        "mixture/covariance_models.py",
        '"VEV": CovarianceModel(_vev, lambda c, d: c + d - 1 + c * _rotations(d))',
        '"VEV": CovarianceModel(_vev, lambda c, d: c + d + c * _rotations(d))',
        "BIC counts a parameter that is not there",
    ),
    Mutant(
        "mixture/covariance_models.py",
        "better = np.where(moving[..., None], following, volumes)",
        "better = following",
        "a run depends on those beside it",
    ),
    # metrics
    Mutant(
        "metrics/pairwise.py",
        "squared += d_same * (d_same + d_unknown)",
        "squared += d_same * d_same",
        "the credal Rand index has another distance",
    ),
    Mutant(
        "metrics/pairwise.py",
        "self_conflict = ((empty_form + different_form) * gram).sum()",
        "self_conflict = (different_form * gram).sum()",
        "consistency with labels counts outliers with themselves",
    ),
    Mutant(
        "metrics/risk_coverage.py",
        "n_errors / n_retained, n_errors / n_retained[-1]",
        "n_errors / n_retained[-1], n_errors / n_retained[-1]",
        "the error of what is kept is too low",
    ),
    # model_selection
    Mutant(
        "model_selection/selection.py",
        "return int(places[::-1][scores[::-1].argmax()])",
        "return int(places[scores.argmax()])",
        "of the largest values the first is taken for the last",
    ),
    Mutant(
        "model_selection/selection.py",
        "if below.max() > 0 else None",
        "if below.max() >= 0 else None",
        "a straight line has an elbow",
    ),
    Mutant(
        "model_selection/select.py",
        "return None if name in NUMBERS and len(np.unique(labels)) < value else labels",
        "return labels",
        "fits with fewer clusters than asked for are judged as if they had them",
    ),
    # ensemble
    Mutant(
        "ensemble/recovery.py",
        'np.where(np.isnan(combined), belief.combine(sources, focal_sets, rule="average"), combined)',
        "combined",
        "sources that contradict each other fully give no number",
    ),
    Mutant(
        "ensemble/recovery.py",
        "eta=0.5 / statements.n_pairs",
        "eta=1 / statements.n_pairs",
        "the objective is twice the squared distance that it is said to be",
    ),
    Mutant(
        "ensemble/recovery.py",
        "contrast.T @ PAIR_FRAME.jaccard_matrix @ contrast",
        "contrast.T @ contrast",
        "partitions are near in another distance",
    ),
    # constraints
    Mutant(
        "constraints/pairs.py",
        "scores = distances[:, 0, :, None] + distances[:, 1, None, :]",
        "scores = np.maximum(distances[:, 0, :, None], distances[:, 1, None, :])",
        "constraints are given to other pairs than the nearest",
    ),
    Mutant(
        "constraints/pairs.py",
        "~(shared.any(axis=2, keepdims=True) | shared.any(axis=1, keepdims=True))",
        "~shared.any(axis=2, keepdims=True)",
        "an object near both ends of a constraint gets one",
    ),
    Mutant(
        "constraints/pairs.py",
        "larger -= larger * (larger - 1) // 2 > indices",
        "larger -= 0",
        "of very many objects some pairs have negative numbers",
    ),
    # metric_learning
    Mutant(
        "metric_learning/pcca.py",
        "((gaps**2).sum(axis=1) - 1)",
        "((gaps**2).sum(axis=1) - 0.5)",
        "distances are compared with another threshold than one",
    ),
    Mutant(
        "metric_learning/directions.py",
        "np.sqrt(counts / len(X))[:, None]",
        "np.sqrt(1 / len(counts))",
        "small classes count as much as large ones",
    ),
    Mutant(
        "metric_learning/directions.py",
        "max(reg, n_features * np.finfo(float).eps) * np.eye(n_features)",
        "reg * np.eye(n_features)",
        "without regularization a flat class is an error",
    ),
    # neural
    Mutant(
        "neural/losses.py",
        "self.constraint_weight / (2 * len(is_must_link))",
        "self.constraint_weight / len(is_must_link)",
        "constraints weigh twice as much",
    ),
    Mutant(
        "neural/losses.py",
        "squares.diagonal(offset=start)",
        "squares.diagonal(offset=0)",
        "with several processes the wrong pairs are left out",
    ),
]

#: Mutants of new code that survived in a later review, adapted to later changes of the code.
FROM_THE_THIRD_REVIEW = [
    Mutant(
        "classify/forest.py",
        "np.quantile(squares, self.reach)",
        "np.quantile(squares, 1.0)",
        "reach has no effect",
    ),
    Mutant(
        "classify/forest.py",
        "np.minimum(1 - squares / self._reach, 0)",
        "np.minimum(1 - squares / (2 * self._reach), 0)",
        "samples keep their mass at twice the squared distance of reach",
    ),
    Mutant(
        "classify/forest.py",
        "ExtraTreeRegressor(max_features=max_features, random_state=seed)",
        "ExtraTreeRegressor(random_state=seed)",
        "max_features has no effect",
    ),
    Mutant(
        "classify/leaves.py",
        "number[self.roots],",
        "self.roots,",
        "the roots of pruned trees are nodes of other trees",
    ),
    Mutant(
        "classify/leaves.py",
        "shares[~shares.any(axis=1)] = 1",
        "shares[~shares.any(axis=1)] = 0",
        "a sample that is in the bag of every tree has NaN as masses",
    ),
    Mutant(
        "conformal/nonconformity.py",
        "references[-1, 0] + np.log(4)",
        "references[-1, 0]",
        "samples are the strangest at half the documented distance",
    ),
    Mutant(
        "conformal/unseen_classes.py",
        "(parts != number % self.cv) for number, k",
        "(parts != 0) for number, k",
        "all rehearsals leave out the same part",
    ),
    Mutant(
        "conformal/nonconformity.py",
        "distances - self.spacing[neighbors].mean(axis=1)",
        "distances + self.spacing[neighbors].mean(axis=1)",
        "samples in sparse places are strange for their place",
    ),
    Mutant(
        "preprocessing/columns.py",
        "values = clipped if clipped.std() > 0 else values",
        "values = clipped",
        "a column in which few values differ is not scaled",
    ),
    Mutant(
        "active/review_queue.py",
        ' for annotation in annotations if not annotation.get("was_canceled")]',
        " for annotation in annotations]",
        "answers of skipped tasks count",
    ),
    Mutant(
        "active/review_queue.py",
        "        masses[self.is_answered] = 0\n",
        "",
        "masses of answered samples sum to 2",
    ),
    Mutant(
        "classify/confusions.py",
        "self.probabilities[answers.samples] / self.likelihoods",
        "self.probabilities[answers.samples]",
        "a step of expectation and maximization lacks its denominator",
    ),
    Mutant(
        "classify/annotations.py",
        "sets.positions(evidence.sets)), weights)",
        "sets.positions(evidence.sets)), 1.0)",
        'rule="average" ignores confidence and reliabilities',
    ),
    Mutant(
        "cluster/centroids/secm.py",
        "summarize_data(rows, check_weights(sample_weight, rows), None, random)",
        "summarize_data(rows, None, None, random)",
        'delta="auto" ignores sample_weight',
    ),
]

#: Mutants of code that was changed after that review, and of folders that are not covered by the first list.
#: At first, tests killed 30 of these 40 mutants; tests for the other 10 were added afterwards.
CHOSEN_LATER = [
    # conformal
    Mutant(
        "conformal/p_values.py",
        'np.searchsorted(self.values, values, side="left")',
        'np.searchsorted(self.values, values, side="right")',
        "equal scores do not count, and p-values are too small",
    ),
    Mutant(
        "conformal/p_values.py",
        "np.minimum(p_values + level, 1)",
        "p_values",
        "sets do not pay for the errors that outliers may be, and coverage is too low",
    ),
    Mutant(
        "conformal/p_values.py",
        "references = others if len(others) else fitted",
        "references = fitted",
        "new samples are compared with those that the model was fitted to",
    ),
    Mutant(
        "conformal/replication.py",
        "result[:, -1] = np.delete(support, matches, axis=1).sum(axis=1)",
        "result[:, -1] = 0",
        "clusters without a counterpart do not count as errors",
    ),
    Mutant(
        "conformal/replication.py",
        "_score_labels(supports[1 - half][:, :n_clusters], supports[half]",
        "_score_labels(supports[half][:, :n_clusters], supports[half]",
        "labels are judged by the model that gave them",
    ),
    Mutant(
        "conformal/unseen_classes.py",
        "self._compare(rows) / (2 * self.false_alarm_rate)",
        "self._compare(rows) / self.false_alarm_rate",
        "verdicts call other samples outliers than is_unseen",
    ),
    Mutant(
        "conformal/unseen_classes.py",
        "parts = _split_parts(codes[first], self.cv, random)[positions]",
        "parts = _split_parts(codes, self.cv, random)",
        "copies are in different parts, and the rate of false alarms does not hold",
    ),
    Mutant(
        "conformal/nonconformity.py",
        "np.full(len(part), 0.5 / len(part))",
        "np.full(len(part), 1 / len(rows))",
        "questions are weighted by the size of the class that plays the unseen one",
    ),
    # active
    Mutant(
        "utils/validation.py",
        "int(np.ceil(budget * n_samples))",
        "int(budget * n_samples)",
        "a share below one sample is an empty review",
    ),
    Mutant(
        "active/review_queue.py",
        "if name in reserved else name",
        "if False else name",
        "columns of X have the names of those of the review",
    ),
    Mutant(
        "active/answers.py",
        "if not (entry.inferred or _is_about(entry, first, second))",
        "if not _is_about(entry, first, second)",
        "conclusions from an answer outlive it",
    ),
    Mutant(
        "active/oracles.py",
        '((reply, "1"), (before, last))',
        '((before, last), (reply, "1"))',
        'the class "type 1" cannot be named if there is a class "type"',
    ),
    Mutant(
        "active/answers.py",
        "np.lexsort([by_chance, -entropy(partition), -STRATEGIES[strategy](partition)])",
        "np.lexsort([by_chance, -STRATEGIES[strategy](partition), -entropy(partition)])",
        "every strategy asks by entropy",
    ),
    Mutant(
        "active/active_clustering.py",
        "self._answers.relation(*pair) is False for pair",
        "self._answers.relation(*pair) is not True for pair",
        "a cluster is inferred although two representatives may be of the same one",
    ),
    Mutant(
        "active/answers.py",
        "name.isprintable() and _SEPARATOR not in name and",
        "name.isprintable() and",
        'the class "a|b" is read as two classes',
    ),
    Mutant(
        "active/active_labeling.py",
        "            self._partition = None\n        else:",
        "            pass\n        else:",
        "questions are asked by a classifier whose answers were withdrawn",
    ),
    # preprocessing
    Mutant(
        "preprocessing/reading.py",
        "if len(texts) == 1 and name not in exact}",
        "if name not in exact}",
        'the number 1 is "01" although it could be "1.0"',
    ),
    Mutant(
        "preprocessing/reading.py",
        "wrong = cells[~missing & (cells != 0) & (cells != 1)]",
        "wrong = cells[~missing & (cells < 0)]",
        "a 2 in a column of yes and no is accepted",
    ),
    Mutant(
        "preprocessing/reading.py",
        "return int(cell) if _WHOLE.fullmatch(cell.strip()) else _NUMBERS.parse(cell)",
        "return _NUMBERS.parse(cell)",
        "long codes lose their last digits and become the same category",
    ),
    Mutant(
        "preprocessing/columns.py",
        "frequent = sorted(k for k in largest if fold(categories[k]) != OTHER)",
        "frequent = sorted(largest)",
        'there are two features of the name "other"',
    ),
    Mutant(
        "preprocessing/columns.py",
        'rest = position.get(OTHER, -1) if facts["pooled"] else -1',
        "rest = -1",
        "rare categories are unknown instead of other",
    ),
    Mutant(
        "preprocessing/gower.py",
        "counts += weight * is_shared",
        "counts += is_shared",
        "weighted dissimilarities are no means",
    ),
    Mutant(
        "utils/cells.py",
        'digits = f"(?:[0-9]{{1,3}}(?:',
        'digits = f"(?:[0-9]+(?:',
        "thousands marks are accepted after groups of any size",
    ),
    # command_line
    Mutant(
        "command_line/results.py",
        'readings["the file with the arrays of the saved model"] = str(archive_of(saved))',
        "pass",
        "a result replaces the arrays of the model that is read",
    ),
    Mutant(
        "command_line/results.py",
        "if second in writings and is_inside(other, path):",
        "if second in readings and is_inside(other, path):",
        "results are written into the folder that is read",
    ),
    Mutant(
        "command_line/results.py",
        "[escape_formula(cell) if isinstance(cell, str) else cell for cell in cells]",
        "cells",
        "text that begins with = is a formula in a spreadsheet",
    ),
    Mutant(
        "command_line/tables.py",
        "self._keys = self._keys[self._sample_positions()]",
        "self._keys = self._keys[: self._size]",
        "the rows of a report are not drawn with equal chances",
    ),
    Mutant(
        "command_line/judging.py",
        "if cell in self.texts:",
        "if cell in self.texts and not is_missing_text(cell):",
        'the category "none" is read as a missing cell',
    ),
    Mutant(
        "command_line/commands.py",
        "partition.doubt()[~partition.outliers()]",
        "partition.doubt()",
        "--leave counts outliers, whose doubt may be 0, among the samples that may be sure",
    ),
    # other code of the third list of defects
    Mutant(
        "utils/files.py",
        "return os.path.samefile(left, right)",
        "return os.path.realpath(left) == os.path.realpath(right)",
        "data are replaced through a hard link",
    ),
    Mutant(
        "blocks/targets.py",
        "check_key_names([name for name in key_names if name in names])",
        "refuse_key_names([])",
        "Parquet files have two columns of one name and cannot be read",
    ),
    Mutant(
        "belief/combination.py",
        "logs[..., 0] = -np.inf",
        "logs[..., 0] = 0",
        "many sources that contradict each other overflow",
    ),
    Mutant(
        "classify/confusions.py",
        "exponents[:, None] * logs",
        "logs",
        "answers of dependent annotators count like those of independent ones",
    ),
    Mutant(
        "classify/forest.py",
        "factors = np.maximum(factors, _MIN_FACTOR)",
        "factors = np.maximum(factors, 0)",
        "the class of remote samples is always the first",
    ),
    Mutant(
        "classify/forest.py",
        "sums *= max(1.0, len(sums) / sums.sum())",
        "sums *= len(sums) / sums.sum()",
        "samples of weight 2 do not count twice",
    ),
    Mutant(
        "classify/prototype_classifiers.py",
        "np.bincount(inverse, weights)",
        "np.bincount(inverse)",
        "networks ignore sample_weight and class_weight",
    ),
    Mutant(
        "cluster/base.py",
        'if isinstance(parameters.get("store_masses"), (str, os.PathLike)):',
        "if False:",
        "the members of an ensemble write to the same file",
    ),
    Mutant(
        "cluster/row_clusterer.py",
        "and same_file(checkpoint, self._masses_file)",
        "and checkpoint == self._masses_file",
        "masses are deleted with a checkpoint of the same file under another name",
    ),
    Mutant(
        "cluster/centroids/secm.py",
        "graph.data *= counts[graph.indices]",
        "graph.data *= counts[source]",
        "neighbors count alike, whatever their weights",
    ),
    Mutant(
        "cluster/centroids/online.py",
        "np.stack([start[order] for start, order",
        "np.stack([start for start, order",
        "clusters change their numbers within a stream",
    ),
]

OF_ROBUST_DEFAULTS = [
    Mutant(
        "cluster/outlier_rule.py",
        "result[remote, 0] = 1",
        "result[remote, 1] = 1",
        "samples at an infinite distance belong to a cluster",
    ),
    Mutant(
        "cluster/outlier_rule.py",
        "common = np.where(exceptions, individual, common)",
        "break",
        "small wide clusters are outliers",
    ),
    Mutant(
        "cluster/outlier_rule.py",
        "return rule if rule._is_sharp(separate) else separate",
        "return separate",
        "clusters that cover 2 topics have a long reach",
    ),
    Mutant(
        "cluster/outlier_rule.py",
        "ratios, positive = np.fmin(ratios, segment_ratios), outside",
        "pass",
        "fewer outliers than the rate where many samples are near to segments",
    ),
    Mutant(
        "cluster/outlier_rule.py",
        "ordinary = ratios <= first",
        "ordinary = ratios > 0",
        "outliers make the reach longer",
    ),
    Mutant(
        "cluster/outlier_rule.py",
        "np.where(np.abs(step) < length,",
        "np.where(step < length,",
        "samples beyond the end of a segment are near to it",
    ),
    Mutant(
        "cluster/centroids/kmeans.py",
        "return float(weights @ np.minimum(costs, narrow.bound))",
        "return float(weights @ costs)",
        "gross errors outweigh all other rows",
    ),
    Mutant(
        "cluster/centroids/kmeans.py",
        "isolated[remote[n_neighbors < _MIN_NEIGHBORS]] = True",
        "isolated[remote] = True",
        "small remote clusters are left out",
    ),
    Mutant(
        "cluster/centroids/kmeans.py",
        "isolated = _find_isolated(rows, all_nearest[1], narrow)",
        "isolated = _find_isolated(rows, nearest, narrow)",
        "errors at a few points capture prototypes",
    ),
    Mutant(
        "cluster/centroids/kmeans.py",
        "len(weights) / weights.sum()))",
        "0.0))",
        "weights that sum to 1 have other starts",
    ),
    Mutant(
        "cluster/isolation.py",
        "return labels, scaled[np.arange(len(labels)), labels] > bound",
        "return labels, np.zeros(len(labels), dtype=bool)",
        "no row is isolated",
    ),
    Mutant(
        "cluster/isolation.py",
        "other = _with_far_group(squares, means, bound)",
        "other = None",
        "the rows of a small remote cluster are isolated",
    ),
]

OF_SEEDS_AND_TREES = [
    Mutant(
        "kernels/seeds.pyx",
        "if best < 0 or square < least:",
        "if best < 0 or square > least:",
        "the worst candidate becomes a seed",
    ),
    Mutant(
        "kernels/seeds.pyx",
        "square += weights[i] * current[i]",
        "square += current[i]",
        "candidates are compared without weights",
    ),
    Mutant(
        "kernels/trees.pyx",
        "rows[i, feature] > thresholds[node]",
        "rows[i, feature] >= thresholds[node]",
        "rows on a threshold reach the wrong leaf",
    ),
    Mutant(
        "kernels/trees.pyx",
        "weights[node] < smallest",
        "weights[node] <= smallest",
        "nodes of min_samples_split samples are not divided",
    ),
    Mutant(
        "kernels/trees.pyx",
        "out[i, j] += weight * node[j]",
        "out[i, j] += node[j]",
        "trees that contain a sample vote about it",
    ),
]

MUTANTS = (
    *(*FROM_THE_REVIEW, *CHOSEN, *FROM_THE_THIRD_REVIEW, *CHOSEN_LATER),
    *(*OF_ROBUST_DEFAULTS, *OF_SEEDS_AND_TREES),
)


def tests_of(file):
    """Return the tests that may kill the mutants of a file.

    Parameters
    ----------
    file : str
        File, relative to ``src/evlearn``.

    Returns
    -------
    tuple of str
        Test files and folders.
    """
    return TESTS[max((name for name in TESTS if file.startswith(name)), key=len)]
