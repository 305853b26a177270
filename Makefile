# make run    the quick experiment, in .venv (made where it is missing)
# make test   all checks: format, lint, types, tests
PYTHON ?= python3.11
CORES ?= all
BIN := .venv/bin
# Stages call `python`: it has to be the environment's own.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: run test clean

run: $(BIN)/.run
	snakemake --cores $(CORES) --configfile workflow/config/quick.yaml

test: $(BIN)/.test
	ruff format --check .
	ruff check .
	snakefmt --check Snakefile workflow/rules
	mypy
	snakemake --lint
	pytest

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
