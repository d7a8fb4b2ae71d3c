# `make smoke` while editing, `make test` before a commit, `make check` before a push: the checks of CI.
PYTHON ?= python

.PHONY: check lint types layers smoke test test-all test-long test-timing test-engines test-integrations coverage test-minimum \
	test-newest docs docs-all build sanitize benchmark

# The tests that CI runs for each change.
FREQUENT = not long and not timing and not integration

# Seconds of CPU that a fast test may use; more on a slow machine.
CPU_LIMIT ?= 0.5

# One BLAS thread per test process.
PYTEST = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PYTHON) -m pytest

check: lint types layers test-all docs build

lint:
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) docs/check_words.py

types:
	$(PYTHON) -m mypy

# Checks the source tree, without the loader of an editable install, which hides the files.
layers:
	PYTHONPATH=src $(PYTHON) -c "import sys; \
	sys.meta_path = [f for f in sys.meta_path if type(f).__name__ != 'MesonpyMetaFinder']; \
	from importlinter.cli import lint_imports_command; lint_imports_command()"

# One fit, prediction, file and law per estimator; less than a minute of CPU.
smoke:
	$(PYTEST) -m smoke tests/test_smoke.py

# The fast tier, less than 4 minutes on 2 cores; a test that uses more CPU than CPU_LIMIT fails.
test:
	EVLEARN_CPU_LIMIT=$(CPU_LIMIT) $(PYTEST) -n 2 --dist loadgroup -m "not slow and $(FREQUENT)"

# The tests of CI: all except statistics and time limits. A test that hangs is reported and killed after 10 minutes.
test-all:
	$(PYTEST) -n 2 --dist loadgroup -m "$(FREQUENT)" --durations=40 \
	-o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true

# Statistics over many fits; not part of CI.
test-long:
	$(PYTEST) -n 2 --dist loadgroup -m long

# The tests of CI with coverage; takes more than 50 % longer.
coverage:
	$(PYTEST) -n 2 --dist loadgroup -m "$(FREQUENT)" --cov --cov-report=term

# Time limits, sequentially, on an idle machine.
test-timing:
	$(PYTHON) -m pytest -m timing

# The recipes of the guide on Spark and Ray, which need 0.5 GB and Java; not part of CI.
test-engines:
	$(PYTHON) -m pip install --quiet pyspark ray
	$(PYTHON) -m pytest tests/test_engines.py

# BERTopic, scanpy and MLflow, which need 0.5 GB; each night. They are installed in a separate folder, and without
# dependencies, because some are GPL or large.
INTEGRATIONS ?= build/integrations
test-integrations:
	$(PYTHON) -m pip install --quiet --no-deps --target $(INTEGRATIONS) -r tests/integrations/requirements.txt
	PYTHONPATH="$(PYTHONPATH):$(INTEGRATIONS)" $(PYTEST) -m integration tests/integrations docs/guide/single_cell.rst

# The fast tier in a fresh environment with the oldest versions in pyproject.toml, or with the newest.
test-minimum test-newest:
	PYTHON=$(PYTHON) .ci/versions $(@:test-%=%)

# All pages; examples of the gallery are run if they differ from the main branch.
docs:
	EVLEARN_GALLERY=changed $(MAKE) docs-all

# All pages and all examples; each night and before a release.
docs-all:
	$(PYTHON) -m sphinx -W --keep-going -j 2 -b html docs docs/_build/html
	$(PYTHON) docs/check_links.py docs/_build/html
	$(PYTHON) docs/check_browser.py docs/_build/html

build:
	rm -rf dist
	$(PYTHON) -m build

# Kernels and file readers under AddressSanitizer and UndefinedBehaviorSanitizer; a few minutes, not part of CI.
sanitize:
	PYTHON=$(PYTHON) .ci/sanitize

# Sizes and ratios; not part of CI, because its machines are shared.
benchmark:
	$(PYTHON) -m benchmarks.studies.scale.foundation
