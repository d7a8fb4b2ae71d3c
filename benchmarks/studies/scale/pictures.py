"""Cost of figures of large data: ``python -m benchmarks.studies.scale.pictures``.

Each case draws one figure into a PNG file in a separate process, and prints CPU and elapsed seconds of the drawing
and the peak memory of that process, including data and imports. All cases are run by default.
"""

import json
import resource
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.common import command_line, processes

CASES = {
    # name: display, number of features, number of clusters, focal sets
    "partition": ("CredalPartitionDisplay", 2, 4, "full"),
    "partition 10-d": ("CredalPartitionDisplay", 10, 4, "full"),
    "partition 30 clusters": ("CredalPartitionDisplay", 2, 30, "simple"),
    "masses": ("MassesDisplay", 2, 4, "full"),
    "masses 30 clusters": ("MassesDisplay", 2, 30, "simple"),
    "doubt": ("DoubtDisplay", 2, 4, "full"),
    "doubt 30 clusters": ("DoubtDisplay", 2, 30, "simple"),
    "relational": ("RelationalDisplay", 2, 4, "full"),
    "shepard": ("PairsDisplay", 2, 4, "simple"),
}


def measure(case, n_samples, folder):
    """Return the measurements of one case from a separate process."""
    return processes.answer(__spec__.name, case, "--objects", n_samples, "--folder", folder, "--here")


def draw(case, n_samples, folder):
    """Draw one figure in this process."""
    import matplotlib

    matplotlib.use("Agg")
    from evlearn import plotting

    display, n_features, n_clusters, focal_sets = CASES[case]
    X, model = _data(n_samples, n_features, n_clusters, focal_sets)
    if display == "PairsDisplay":
        call = _shepard(n_samples)
    else:
        partition = model.predict_mass(X)
        data = (X,) if display == "CredalPartitionDisplay" else ()
        call = partial(getattr(plotting, display).from_result, partition, *data)
    wall, cpu = time.perf_counter(), time.process_time()
    path = Path(folder) / f"{case.replace(' ', '_')}_{n_samples}.png"
    call().figure_.savefig(path)
    return {
        "case": case,
        "objects": n_samples,
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "wall_seconds": round(time.perf_counter() - wall, 2),
        "peak_gigabytes": round(_peak_bytes() / 1e9, 3),
        "file": str(path),
    }


def _data(n_samples, n_features, n_clusters, focal_sets):
    """Return round clusters on a grid with noise, and ECM fitted to a subset."""
    from evlearn.cluster import ECM

    random = np.random.default_rng(0)
    side = int(np.ceil(np.sqrt(n_clusters)))
    centers = np.zeros((n_clusters, n_features))
    centers[:, 0], centers[:, 1] = np.divmod(np.arange(n_clusters), side)
    truth = random.integers(n_clusters, size=n_samples)
    X = random.normal(scale=0.2, size=(n_samples, n_features))
    X += centers[truth]
    noise = random.random(n_samples) < 0.005
    X[noise, :2] = random.uniform(-1.5, side + 0.5, size=(int(noise.sum()), 2))
    start = centers + 0.01 * random.normal(size=centers.shape)
    model = ECM(n_clusters=n_clusters, focal_sets=focal_sets, init=start, delta=0.9, max_iter=300)
    return X, model.fit(X[:5000])


def _shepard(n_samples):
    """Return a Shepard display with 100 pairs per sample on average."""
    from evlearn.plotting import PairsDisplay

    random = np.random.default_rng(0)
    dissimilarities = random.random(100 * n_samples, dtype=np.float32)
    conflicts = random.standard_normal(len(dissimilarities), dtype=np.float32)
    conflicts *= 0.1
    conflicts += dissimilarities
    np.clip(conflicts, 0, 1, out=conflicts)
    return partial(PairsDisplay.from_pairs, dissimilarities, conflicts)


def _peak_bytes():
    # On Linux, ru_maxrss may be that of the parent process.
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return 1024 * int(line.split()[1])
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main():
    parser = command_line.parser(__doc__)
    parser.add_argument("cases", nargs="*", help=f"any of {', '.join(CASES)}")
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="folder of the figures")
    parser.add_argument("--here", action="store_true", help="draw in this process")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for case in arguments.cases or CASES:
            figures = (draw if arguments.here else measure)(case, arguments.objects, arguments.folder or scratch)
            print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
