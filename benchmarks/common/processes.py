"""Subprocesses that run modules of the benchmarks."""

import json
import os
import subprocess
import sys

from benchmarks.common.reference import ROOT

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def environment():
    """Return the environment variables of this process, with the repository on the Python path."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"PYTHONPATH": path}


def command(module, *arguments, python=sys.executable):
    """Return the command that runs a module; a module's own name is ``__spec__.name``."""
    return [python, "-m", module, *map(str, arguments)]


def answer(module, *arguments):
    """Run a module and return the JSON of its last line."""
    text = subprocess.check_output(command(module, *arguments), text=True, env=environment())
    return json.loads(text.splitlines()[-1])


def with_one_thread():
    """Restart this process with one thread for BLAS and OpenMP, which read the setting when they are loaded."""
    if not _ONE_THREAD.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | _ONE_THREAD)
