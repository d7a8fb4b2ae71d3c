"""CPU time of fits and predictions relative to scikit-learn.

``python -m benchmarks.studies.scale.ratios [--write] [--case TEXT]`` runs the cases of
``benchmarks.regression.ratios``. Each ratio is that of the medians of 3 or 5 alternating rounds in one process. It
takes about 5 minutes, and writes ``benchmarks/results/scale_ratios.json``.
"""

import argparse
import json
import os
import subprocess
import sys
import time

from benchmarks.common import record
from benchmarks.regression import ratios

#: Names of the figures, with cases, parameters and targets: seconds for the selection, an exponent for the growth,
#: and ratios for the others. The target for ConformalClusterer is half of the ratio of the version before.
FIGURES = {
    "CCM / KMeans(n_init=10), 150 samples": (ratios.SmallFit, "track_over_kmeans", ("150",), 3),
    "CCM / KMeans(n_init=10), 1,000 samples": (ratios.SmallFit, "track_over_kmeans", ("1000",), 3),
    "CCM / KMeans(n_init=10), 10,000 samples": (ratios.SmallFit, "track_over_kmeans", ("10000",), 2),
    "EvidentialForestClassifier.fit / RandomForestClassifier.fit": (
        *(ratios.Forest, "track_fit_over_random_forest", (), 2),
    ),
    "EvidentialForestClassifier.predict_mass / predict_proba": (
        *(ratios.Forest, "track_masses_over_probabilities", (), 3),
    ),
    "ConformalClusterer(CCM) / KMeans(n_init=10), 1,000 samples": (
        *(ratios.Replications, "track_over_kmeans", (), 139.4 / 2),
    ),
    "select_n_clusters, 10,000 samples, seconds": (ratios.Selection, "time_select", (), 3),
    "EVCLUS.predict / KMeans.predict": (ratios.Predictions, "track_over_kmeans", (), 30),
    "EKNNClus, exponent of growth": (ratios.Growth, "track_exponent", (), 1.2),
    "first fit of CCM / first fit of KMeans": (ratios.FirstFit, "track_over_kmeans", (), 1.1),
}


def measure(name):
    """Return a figure."""
    kind, method, parameters, _ = FIGURES[name]
    case = kind()
    if hasattr(case, "setup"):
        case.setup(*parameters)
    start = time.process_time()
    value = getattr(case, method)(*parameters)
    return time.process_time() - start if value is None else value


def measure_alone(name):
    """Return a figure, measured in another process with one thread."""
    threads = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"], "1")
    words = [sys.executable, "-m", "benchmarks.studies.scale.ratios", "--figure", name]
    output = subprocess.check_output(words, text=True, env=os.environ | threads)
    return round(json.loads(output.splitlines()[-1]), 3)


def main():
    reader = argparse.ArgumentParser(record.program())
    reader.add_argument("--write", action="store_true", help="write to results/scale_ratios.json")
    reader.add_argument("--case", default="", help="only figures whose names contain this text")
    reader.add_argument("--figure", choices=FIGURES, help=argparse.SUPPRESS)
    arguments = reader.parse_args()
    if arguments.figure:
        print(json.dumps(measure(arguments.figure)))
        return
    former = record.load_if_recorded("scale_ratios") if arguments.case else {}
    figures = former.get("figures", {})
    for name, (*_, target) in FIGURES.items():
        if arguments.case in name:
            figures[name] = {"now": measure_alone(name), "target": target}
            print(f"{name:60} {figures[name]}", flush=True)
            if arguments.write:
                record.write("scale_ratios", {"figures": figures}, former=former)


if __name__ == "__main__":
    main()
