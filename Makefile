# make run    the quick experiment, in .venv (made where it is missing)
# make test   all checks: format, lint, types, tests
# make rigs   the tests that start a SLURM or make all conda environments
# make pin PACKAGE=numpy==2.5.0   one version of a package, everywhere it is pinned
PYTHON ?= python3.11
CORES ?= all
WORKERS ?= 2
BIN := .venv/bin
# Stages call `python`: it has to be the environment's own.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: run test format lint types tests rigs pin clean

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
	pytest --numprocesses $(WORKERS) --dist worksteal -m "not browser and not slurm and not environments"
	pytest -m browser

rigs: $(BIN)/.test
	pytest -m "slurm or environments"

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
