"""What users of small data pay: seconds to import, a first fit, and which extras are loaded (none).

``python -m benchmarks.studies.scale FOLDER small`` runs it, best where the package is installed as users have it.
If it is installed in place, every process compiles its modules anew.
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
    """CPU seconds of the least of five runs, and the extras that were loaded."""
    code = program + REPORT.format(extras=EXTRAS)
    rounds = [json.loads(subprocess.check_output([sys.executable, "-c", code], text=True)) for _ in range(5)]
    return {"cpu_seconds": round(min(one["cpu"] for one in rounds), 3), "extras": rounds[0]["extras"]}


def measure():
    """All of it."""
    found = [{"program": name, **run(program)} for name, program in PROGRAMS.items()]
    for one in found:
        print(one, flush=True)
    return {"programs": found}
