# Everything runs from .venv, which is made at first use and again when the dependencies change.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

# What is compiled once is not compiled again by each process of a test run.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test faults mutants conformance check fix screenshots snapshots bench clean

help:  ## Say what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

demo: .venv/run  ## Review this machine's licence texts on an embedded cluster, in the deck
	@$(BIN)/jobdeck demo

test: .venv/dev  ## Run all tests but those of make faults and make check
	@$(BIN)/python -m pytest -n 5 --dist worksteal --ignore tests/faults --ignore tests/test_tidy.py

faults: .venv/dev  ## Run the tests that kill and stop processes (SEED=n or n-m: seeded storms of faults instead)
	@$(BIN)/python -m $(if $(SEED),tests.storm $(SEED),pytest -n 3 --dist worksteal tests/faults)

mutants: .venv/dev  ## Put faults in on purpose: each must be found by a test
	@$(BIN)/python tests/mutants.py

conformance: .venv/dev  ## Hold a server to both contracts: URL=http://… (without one: a server started for it)
	@JOBDECK_CONFORMANCE_URL=$(URL) $(BIN)/python -m pytest tests/conformance

check: .venv/dev  ## Lint, format, types and the house rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest tests/test_tidy.py

fix: .venv/dev  ## Mend what the linter can mend, and format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

screenshots: .venv/dev  ## Take the pictures of the README from the running program
	@$(BIN)/python -m tests.screenshots

snapshots: .venv/dev  ## Take anew what the tests hold every screen against
	@$(BIN)/python -m tests.deck.snapshots

bench: .venv/dev  ## Measure, beside bare Dask and bare SQLite; JSON on standard output (QUICK=1: fewer runs)
	@$(BIN)/python -m tests.bench

clean:  ## Remove the virtual environment and every cache
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Bytecode is compiled here: without it each start would parse every import anew wherever the environment
# forbids Python to write it.
define install
	@echo 'Making $@ (minutes at first use, then not again until the dependencies change)' >&2
	@test -x $(BIN)/python || { command -v uv >/dev/null && uv venv --quiet --python $(PYTHON) .venv || $(PYTHON) -m venv .venv; }
	@if command -v uv >/dev/null; \
	then uv pip install --quiet --compile-bytecode --python $(BIN)/python --constraint constraints.txt --editable "$(1)"; \
	else $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable "$(1)"; fi
	@$(BIN)/python -m compileall -q backend tui
	@touch $@
endef

.venv/run: pyproject.toml constraints.txt
	$(call install,.)

.venv/dev: .venv/run
	$(call install,.[dev])
