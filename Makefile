# make run    the quick experiment, in .venv (made where it is missing)
# make test   all checks: format, lint, types, tests
# make pin PACKAGE=numpy==2.5.0   one version of a package, everywhere it is pinned
PYTHON ?= python3.11
CORES ?= all
# Workers of the tests: one more than two cores, since the tests that go through a SLURM mostly wait.
WORKERS ?= 3
BIN := .venv/bin
# Stages call `python`: it has to be the environment's own.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: run test format lint types tests pin clean

run: $(BIN)/.run
	snakemake --cores $(CORES) --configfile workflow/config/quick.yaml

test: format lint types tests

format: $(BIN)/.test
	ruff format --check .
	snakefmt --check Snakefile workflow/rules

lint: $(BIN)/.test
	ruff check .
	snakemake --lint
	check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/ci.yaml

types: $(BIN)/.test
	mypy

tests: $(BIN)/.test
	pytest --numprocesses $(WORKERS) -m "not browser"
	pytest -m browser

pin:
	@$(PYTHON) workflow/tools/pin.py '$(PACKAGE)'

$(BIN)/python:
	$(PYTHON) -m venv .venv

$(BIN)/.run: requirements.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --progress-bar off -r requirements.txt
	touch $@

$(BIN)/.test: requirements.txt requirements-llm.txt requirements-dev.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --progress-bar off -r requirements-dev.txt
	touch $(BIN)/.run $@

clean:
	rm -rf .venv .snakemake .mypy_cache .pytest_cache .ruff_cache .hypothesis
