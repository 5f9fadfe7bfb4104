PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One more than there are cores: some tests wait for other programs most of the time.
WORKERS = $(shell $(PYTHON) -c 'import os; print(1 + (os.cpu_count() or 1))')

.PHONY: demo test suite check bench coverage fuzz mutants docs reproduce dist clean

demo: $(VENV)/.installed
	$(BIN)/elsewhere demo

test: $(VENV)/.installed-dev
	$(MAKE) --jobs 2 check suite

suite: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

check: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

# Which branches of the solvers and of the verifier the tests take, with kernels interpreted.
coverage: $(VENV)/.installed-dev
	INTERPRETED=1 $(BIN)/python -m pytest -q --numprocesses $(WORKERS) -m "not slow and not compiled" \
	    tests/solvers tests/verification \
	    --cov elsewhere.solvers --cov elsewhere.verification --cov-branch --cov-fail-under 90 \
	    --cov-report term:skip-covered

MINUTES ?= 10
fuzz: $(VENV)/.installed-dev
	$(BIN)/python -m tools.fuzz $(MINUTES)

# Random changes to the solvers and the verifier, or to MODULES alone, that no test notices.
mutants: $(VENV)/.installed-dev
	$(BIN)/python -m tools.mutate $(MINUTES) $(MODULES)

docs: $(VENV)/.installed-dev
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs site
	@echo "Open site/index.html."

# The paper's evaluation again on the tables in the folder DATA, or on made-up users, and the page about it.
reproduce: $(VENV)/.installed-dev
	$(BIN)/elsewhere reproduce $(if $(DATA),--data "$(DATA)") -o report
	$(BIN)/python -m tools.make_reproduce report

# The sdist and the wheel, checked as an index checks them, and the wheel as a user installs it: with all extras, in an
# environment of its own, where the examples of the README have to print what it says.
dist: TRIAL = dist/trial/bin/python
dist: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,release]'
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(PYTHON) -m venv dist/trial
	$(TRIAL) -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[all]"
	$(BIN)/cyclonedx-py environment --output-reproducible --output-file dist/sbom.json $(TRIAL)
	$(TRIAL) -m pip install --quiet --disable-pip-version-check hypothesis pytest
	$(TRIAL) -m pytest -q -p no:cacheprovider tests/test_docs.py -k README
	rm -rf dist/trial

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "elsewhere needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev]'
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) site jupyter_execute .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
