"""Combining partitions of many objects with sampled pairs: time and memory in proportion to the objects.

``python -m benchmarks.studies.scale.ensemble``

Three partitions of 5,000 to 20,000 objects, two by k-means and one by a mixture; each object is compared with 200
others.
"""

import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from benchmarks.common import record
from benchmarks.common.measuring import peak_bytes
from evlearn.datasets import make_fourclass
from evlearn.ensemble import combine_partitions
from evlearn.metrics import consistency_index


def measure(n_samples):
    """CPU seconds, memory, and how well the result and its members agree with the truth."""
    X, y = make_fourclass(n_samples, random_state=0)
    members = [KMeans(4, random_state=seed, n_init=1).fit(X).labels_ for seed in range(2)]
    members.append(GaussianMixture(4, random_state=0).fit(X).predict_proba(X))
    start = time.process_time()
    combined = combine_partitions(members, random_state=0)
    seconds = time.process_time() - start
    return {
        "n_objects": n_samples,
        "cpu_seconds": round(seconds, 2),
        "peak_megabytes": round(peak_bytes(lambda: combine_partitions(members, random_state=0)) / 1e6),
        "consistency": round(consistency_index(combined, y), 4),
        "consistency_of_k_means": round(consistency_index(members[0], y), 4),
    }


def main():
    rows = [measure(n_samples) for n_samples in (5_000, 10_000, 20_000)]
    for row in rows:
        print(row)
    sizes = np.log([row["n_objects"] for row in rows])
    slopes = {
        name: round(float(np.polyfit(sizes, np.log([row[name] for row in rows]), 1)[0]), 2)
        for name in ("cpu_seconds", "peak_megabytes")
    }
    print("slopes", slopes)
    record.write("scale_ensemble", {"rows": rows, "slopes": slopes})


if __name__ == "__main__":
    main()
