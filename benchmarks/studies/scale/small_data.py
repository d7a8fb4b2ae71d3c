"""Costs with small data: seconds for the import and a first fit, and loaded extras (none).

``python -m benchmarks.studies.scale FOLDER small`` runs it, preferably with a regular installation of the package.
With an editable install, each process compiles its modules again.
"""

import json
import subprocess
import sys

EXTRAS = ("dask", "distributed", "pyarrow", "torch", "matplotlib", "pandas", "polars")
FIRST_FIT = """
import evlearn
from evlearn.cluster import {name}
import numpy as np
X = np.random.default_rng(0).normal(size=(150, 4))
{name}(3, random_state=0).fit(X)
"""
PROGRAMS = {
    "python alone": "pass",
    "import numpy": "import numpy",
    "import sklearn.cluster": "import sklearn.cluster",
    "import evlearn": "import evlearn",
    "first fit of sklearn's KMeans": FIRST_FIT.format(name="KMeans")
    .replace("import evlearn\n", "")
    .replace("evlearn.cluster", "sklearn.cluster"),
    "first fit of ECM": FIRST_FIT.format(name="ECM"),
    "first fit of EVCLUS": FIRST_FIT.format(name="EVCLUS"),
}
REPORT = """
import json, sys, time
loaded = [name for name in {extras} if name in sys.modules]
print(json.dumps({{"cpu": time.process_time(), "extras": loaded}}))
"""


def run(program):
    """Return the minimum CPU seconds of 5 runs, and the loaded extras."""
    code = program + REPORT.format(extras=EXTRAS)
    rounds = [json.loads(subprocess.check_output([sys.executable, "-c", code], text=True)) for _ in range(5)]
    return {"cpu_seconds": round(min(entry["cpu"] for entry in rounds), 3), "extras": rounds[0]["extras"]}


def measure():
    """Measure all programs."""
    results = [{"program": name, **run(program)} for name, program in PROGRAMS.items()]
    for result in results:
        print(result, flush=True)
    return {"programs": results}
