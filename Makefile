# What CI runs, and what a contributor runs before a commit: `make check`.
PYTHON ?= python

.PHONY: check lint types layers test test-all test-long test-timing test-engines coverage test-minimum test-newest docs build sanitize benchmark

# One BLAS thread for each of the processes that tests run in.
PYTEST = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PYTHON) -m pytest

check: lint types layers test-all docs build

lint:
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) docs/check_words.py

types:
	$(PYTHON) -m mypy

# Reads the source tree; the loader of an editable install would hide the files from it.
layers:
	PYTHONPATH=src $(PYTHON) -c "import sys; \
	sys.meta_path = [f for f in sys.meta_path if type(f).__name__ != 'MesonpyMetaFinder']; \
	from importlinter.cli import lint_imports_command; lint_imports_command()"

# The fast tier: minutes, for the loop of editing and testing.
test:
	$(PYTEST) -n 2 --dist loadgroup -m "not slow and not long and not timing"

# What CI runs: all but statistics and what needs a quiet machine. A test that hangs is named, and ends after ten minutes.
test-all:
	$(PYTEST) -n 2 --dist loadgroup -m "not long and not timing" --durations=40 \
	-o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true

# Statistics over many fits; not part of CI.
test-long:
	$(PYTEST) -n 2 --dist loadgroup -m long

# The tests of CI, line by line; more than half as long again.
coverage:
	$(PYTEST) -n 2 --dist loadgroup -m "not long and not timing" --cov --cov-report=term

# Limits on seconds; by themselves, on a machine that does nothing else.
test-timing:
	$(PYTHON) -m pytest -m timing

# The recipes of the guide on Spark and Ray, half a gigabyte to install and a Java machine; not part of CI.
test-engines:
	$(PYTHON) -m pip install --quiet pyspark ray
	$(PYTHON) -m pytest tests/test_engines.py

# The fast tier in a fresh environment with the oldest versions that pyproject.toml declares, or with the newest.
test-minimum test-newest:
	PYTHON=$(PYTHON) .ci/versions $(@:test-%=%)

docs:
	$(PYTHON) -m sphinx -W --keep-going -j 2 -b html docs docs/_build/html
	$(PYTHON) docs/check_links.py docs/_build/html
	$(PYTHON) docs/check_browser.py docs/_build/html

build:
	rm -rf dist
	$(PYTHON) -m build

# Kernels and readers of files under AddressSanitizer and UndefinedBehaviorSanitizer; some minutes, not part of CI.
sanitize:
	PYTHON=$(PYTHON) .ci/sanitize

# Sizes and ratios; not part of CI's verdict, because machines are shared.
benchmark:
	$(PYTHON) -m benchmarks.studies.scale.foundation
