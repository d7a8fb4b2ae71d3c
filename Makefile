# What CI runs, and what a contributor runs before a commit: `make check`.
PYTHON ?= python

.PHONY: check lint types layers test docs build sanitize benchmark

check: lint types layers test docs build

lint:
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

types:
	$(PYTHON) -m mypy

# Reads the source tree; the loader of an editable install would hide the files from it.
layers:
	PYTHONPATH=src $(PYTHON) -c "import sys; \
	sys.meta_path = [f for f in sys.meta_path if type(f).__name__ != 'MesonpyMetaFinder']; \
	from importlinter.cli import lint_imports_command; lint_imports_command()"

test:
	$(PYTHON) -m pytest --cov --cov-report=term

docs:
	$(PYTHON) -m sphinx -W --keep-going -j 2 -b html docs docs/_build/html
	$(PYTHON) docs/check_links.py docs/_build/html

build:
	rm -rf dist
	$(PYTHON) -m build

# Kernels and readers of files under AddressSanitizer and UndefinedBehaviorSanitizer; some minutes, not part of CI.
sanitize:
	PYTHON=$(PYTHON) .ci/sanitize

# Sizes and ratios; not part of CI's verdict, because machines are shared.
benchmark:
	$(PYTHON) -m benchmarks.studies.scale.foundation
