import subprocess
import sys

import pytest


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")


@pytest.mark.slow
def test_without_matplotlib_the_error_explains_what_to_install():
    outcome = run("import sys; sys.modules['matplotlib'] = None; import evlearn; import evlearn.plotting")
    assert outcome.returncode == 1
    assert outcome.stderr.strip().endswith(
        "ImportError: evlearn.plotting needs matplotlib; install it with `pip install 'evidential-learn[plot]'`."
    )


@pytest.mark.slow
def test_importing_plotting_chooses_no_backend():
    outcome = run("import sys, evlearn.plotting; print('matplotlib.pyplot' in sys.modules)")
    assert outcome.stdout.strip() == "False", outcome.stderr
