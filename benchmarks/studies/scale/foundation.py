"""Time and memory of basic operations at large sizes, compared with the bare operation in the same run.

Run it with ``make benchmark`` or ``python -m benchmarks.studies.scale.foundation [CASE ...]``. Ratios are relative
to the bare matrix product, reading, or import on the same machine in the same run; the best of several rounds is
used, because machines are shared. Memory is what NumPy and Python allocate in addition to the input.
"""

import subprocess
import sys
import time

import numpy as np

from benchmarks.common import command_line
from benchmarks.common.measuring import best_time, peak_bytes, random_masses
from evlearn import CredalPartition
from evlearn import belief as bf
from evlearn.belief import FocalSets
from evlearn.metrics import consistency_index, credal_rand_index, nonspecificity_index
from evlearn.metrics.pairwise import estimate_credal_rand_index


def contour():
    """Compute the contour function of 5,000,000 x 17 masses in single precision, and the bare matrix product."""
    focal_sets = FocalSets.pairs(5)
    masses = random_masses(5_000_000, len(focal_sets), np.float32)
    table = focal_sets.membership.astype(np.float32)
    bare = best_time(lambda: masses @ table, rounds=5)
    seconds = best_time(lambda: bf.contour(masses, focal_sets), rounds=5)
    partition = CredalPartition(masses, focal_sets, validate=False)
    return {
        "case": f"contour, 5e6 x {len(focal_sets)} float32",
        "seconds": seconds,
        "ratio_to_bare_product": seconds / bare,
        "to_fuzzy_ratio": best_time(partition.to_fuzzy, rounds=3) / bare,
        "validation_ratio": best_time(lambda: bf.check_masses(masses, focal_sets), rounds=3) / bare,
        "extra_MB": peak_bytes(lambda: bf.contour(masses, focal_sets)) / 1e6,
        "input_MB": masses.nbytes / 1e6,
        "output_MB": masses.shape[0] * 5 * 4 / 1e6,
    }


def million_objects():
    """Compute nonspecificity and consistency with labels for a million samples, and a bare pass that only sums."""
    focal_sets = FocalSets.pairs(5)
    partition = CredalPartition(random_masses(1_000_000, len(focal_sets)), focal_sets)
    y = np.random.default_rng(1).integers(5, size=1_000_000)
    bare = best_time(lambda: partition.masses.T @ partition.masses)
    nonspecificity = best_time(lambda: nonspecificity_index(partition))
    consistency = best_time(lambda: consistency_index(partition, y))
    return {
        "case": "nonspecificity and consistency with labels, 1e6 objects x 17 sets",
        "seconds": nonspecificity + consistency,
        "nonspecificity_ratio_to_bare_gram": nonspecificity / bare,
        "consistency_ratio_to_bare_gram": consistency / bare,
        "nonspecificity_extra_MB": peak_bytes(lambda: nonspecificity_index(partition)) / 1e6,
        "consistency_extra_MB": peak_bytes(lambda: consistency_index(partition, y)) / 1e6,
    }


def exact_rand_index():
    """Compute the exact credal Rand index of 20,000 samples, and the bare products of all 2e8 pairs."""
    n_samples, focal_sets = 20_000, FocalSets.full(3)
    first, second = (CredalPartition(random_masses(n_samples, 8, seed=seed), focal_sets) for seed in (0, 1))

    def bare_products():
        for start in range(0, n_samples, 512):
            rows = slice(start, start + 512)
            for partition in (first, second):
                for _ in range(4):
                    partition.masses[rows] @ partition.masses[start:].T

    bare = best_time(bare_products, rounds=1)
    start = time.perf_counter()
    exact = credal_rand_index(first, second)
    seconds = time.perf_counter() - start
    sampled = estimate_credal_rand_index(first, second, n_pairs=1_000_000, random_state=0)
    return {
        "case": f"exact credal Rand index, {n_samples} objects x 8 sets",
        "seconds": seconds,
        "ratio_to_bare_products": seconds / bare,
        "extra_MB": peak_bytes(lambda: credal_rand_index(first, second)) / 1e6,
        "value": exact,
        "sampled_value": sampled.value,
        "sampled_standard_error": sampled.standard_error,
    }


def sixteen_elements():
    """Compute commonalities and their inverse for 100 mass functions on all 65,536 subsets of 16 elements."""
    focal_sets = FocalSets.full(16)
    masses = random_masses(100, len(focal_sets))
    commonalities = bf.commonality(masses, focal_sets)
    back = bf.masses_from("commonality", commonalities, focal_sets)

    def round_trip():
        bf.masses_from("commonality", bf.commonality(masses, focal_sets), focal_sets)

    passes = best_time(lambda: [masses + masses for _ in range(32)])
    seconds = best_time(round_trip)
    return {
        "case": "q and back, 100 mass functions, c = 16",
        "seconds": seconds,
        "ratio_to_32_bare_additions": seconds / passes,
        "largest_error": float(np.abs(back - masses).max()),
        "extra_MB": peak_bytes(round_trip) / 1e6,
        "building_the_family_seconds": best_time(lambda: FocalSets.full(16), rounds=1),
    }


def many_clusters():
    """Use a frame of 500 clusters with the empty set, the singletons and the frame."""
    start = time.perf_counter()
    focal_sets = FocalSets.simple(500)
    construction = time.perf_counter() - start
    partition = CredalPartition(random_masses(20_000, len(focal_sets), np.float32), focal_sets)
    table = focal_sets.membership.astype(np.float32)
    bare = best_time(lambda: partition.masses @ table)
    return {
        "case": "500 clusters, simple focal sets, 2e4 objects",
        "family_seconds": construction,
        "contour_ratio_to_bare_product": best_time(partition.to_possibilistic) / bare,
        "summary_seconds": best_time(partition.summary),
        "dempster_100_rows_seconds": best_time(
            lambda: bf.combine([partition.masses[:100]] * 2, focal_sets, rule="dempster")
        ),
        "nonspecificity_index_seconds": best_time(lambda: nonspecificity_index(partition), rounds=1),
    }


def import_time():
    """Measure ``import evlearn`` without the imports of its dependencies."""
    code = (
        "import time; import numpy, scipy, sklearn.base; t = time.perf_counter();"
        "import evlearn; print(time.perf_counter() - t)"
    )
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5)]
    return {"case": "import evlearn after numpy, scipy, sklearn.base", "seconds": sorted(times)[2]}


PARTS = {
    part.__name__: part
    for part in (contour, million_objects, exact_rand_index, sixteen_elements, many_clusters, import_time)
}

if __name__ == "__main__":
    command_line.run_parts(__doc__, PARTS, "scale_foundation")
