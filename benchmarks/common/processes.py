"""Modules of the benchmarks in processes of their own."""

import json
import os
import subprocess
import sys

from benchmarks.common.reference import ROOT

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def environment():
    """The variables of this process, with which Python finds the benchmarks from any folder."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"PYTHONPATH": path}


def command(module, *arguments, python=sys.executable):
    """The words that run a module; a module names itself by ``__spec__.name``."""
    return [python, "-m", module, *map(str, arguments)]


def answer(module, *arguments):
    """What a module prints as JSON in its last line."""
    text = subprocess.check_output(command(module, *arguments), text=True, env=environment())
    return json.loads(text.splitlines()[-1])


def with_one_thread():
    """Begin again with one thread for BLAS and OpenMP, which read it when they are loaded."""
    if not _ONE_THREAD.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | _ONE_THREAD)
