# `make` alone prints what there is. Every target sets up the checkout first; that costs nothing the second time.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests make many small files, and servers wait for disks: in memory, where that has room.
IN_MEMORY := $(shell [ "$$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $$4 }')" -gt 10000000 ] 2>/dev/null && echo TMPDIR=/dev/shm)
PYTEST := $(IN_MEMORY) $(BIN)/python -m pytest
# One file stays on one worker, so a worker starts at most one Spark session.
WORKERS ?= 2
SPREAD := -n $(WORKERS) --dist loadfile

# Stamps are named after what they were made from: a change of any of these files makes a new setup due, and
# a mere change of branch and back does not.
SYSTEM_STAMP := $(VENV)/.system-$(shell cat tools/setup_system.sh | sha256sum | cut -c1-16)
PYTHON_STAMP := $(VENV)/.python-$(shell cat pyproject.toml constraints.txt tools/setup_python.sh | sha256sum | cut -c1-16)
JARS_STAMP := $(VENV)/.jars-$(shell cat src/quacklake/engine/spark/connectors.py tools/setup_jars.sh | sha256sum | cut -c1-16)

.PHONY: help setup demo test quick crowd bench lint types shape format clean distclean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(SYSTEM_STAMP) $(PYTHON_STAMP) $(JARS_STAMP) ## Make .venv with pinned packages and jars; as root also install Java and the database servers

$(SYSTEM_STAMP): | $(PYTHON_STAMP)
	@if tools/setup_system.sh; then touch $@; else code=$$?; [ $$code -eq 3 ] || exit $$code; fi

$(JARS_STAMP): | $(PYTHON_STAMP) $(SYSTEM_STAMP)
	@if tools/setup_jars.sh "$(VENV)"; then rm -f $(VENV)/.jars-* && touch $@; else code=$$?; [ $$code -eq 3 ] || exit $$code; fi

$(PYTHON_STAMP):
	@tools/setup_python.sh "$(PYTHON)" "$(VENV)"
	@rm -f $(VENV)/.python-* && touch $@

demo: setup ## Make a small lake and query it on Spark
	@$(BIN)/python examples/demo.py

test: setup ## Style, types, shape and every test, the slow ones last. Stops at the first stage that fails
	@$(MAKE) lint
	@$(MAKE) types
	@$(MAKE) shape
	@echo "== tests, first stage" && $(PYTEST) $(SPREAD) --ignore=tests/shape -m "not slow" --durations=20
	@echo "== tests, second stage: the slow ones" && $(PYTEST) $(SPREAD) --ignore=tests/shape -m slow --durations=20

quick: setup ## The inner loop: tests without Spark, database servers and the slow ones
	@$(PYTEST) $(SPREAD) -m "not slow and not spark and not server"

crowd: setup ## Every suite inside one of many catalogs, in every kind of database; takes over an hour
	@QUACKLAKE_WHOLE=1 $(PYTEST) $(SPREAD) tests/tenants/crowd --durations=20

bench: setup ## Measure and print tables; BENCH="planning local_scan" picks some
	@$(BIN)/python -m benchmarks $(BENCH)

lint: setup ## Style: ruff's rules and formatting
	@echo "== style" && $(BIN)/ruff check . && $(BIN)/ruff format --check .

types: setup ## mypy, strict
	@echo "== types" && $(BIN)/mypy

shape: setup ## The import rule, the public names, the error tree, the docs
	@echo "== shape" && $(PYTEST) tests/shape

format: setup ## Let ruff format and repair what it can
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

clean: ## Remove caches and build products
	@rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log artifacts
	@find src tests benchmarks examples -type d -name __pycache__ -prune -exec rm -rf {} +

distclean: clean ## Remove the virtual environment too
	@rm -rf $(VENV)
