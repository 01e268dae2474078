# Each target sets up what it needs: a virtual environment in .venv with the locked versions, and a browser.
# 3.12 first: for 3.11 mitmproxy holds back its own current major and those of openai and anthropic.
PYTHON ?= $(shell for p in python3.12 python3.13 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
ROOMS := interventions proxy environments agents experiments analysis
READY := $(HOME)/.cache/souk/agents

.PHONY: demo test run-tests thorough check lint bench validity storefronts agents containers faults setup small-torch local lock clean

demo: setup  ## set everything up, run the nudge experiment with a simulated shopper, print the effects
	$(BIN)/souk run nudges --agent simulated:balanced --limit 240
	@echo 'next, in this terminal (bash, zsh or fish): export PATH="$(CURDIR)/$(BIN):$$PATH", then: souk --help'

# Compiled modules are kept: else each of a thousand processes would compile them anew.
unexport PYTHONDONTWRITEBYTECODE

# The tests' own processes fill two cores; further threads would wait for each other.
test run-tests check: export OMP_NUM_THREADS := 1

# Playwright's program, which is started hundreds of times, is compiled once.
test run-tests check: export NODE_COMPILE_CACHE := $(CURDIR)/.pytest_cache/node

test: setup  ## everything that must hold
	@$(MAKE) --no-print-directory --jobs 2 lint run-tests

run-tests: small-torch
	$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder --durations 50 --durations-min 1 \
		-m "not containers" tests

thorough: export SOUK_THOROUGH := 1
thorough: export PYTEST_TIMEOUT := 1200
thorough: test  ## the same tests with several times as many trials, studies and generated cases

# A test that starts a browser and is not marked so fails here: there is none.
check: lint  ## what must hold and needs no browser, without slow tests
	SOUK_BROWSER=/bin/false $(BIN)/pytest -n 4 -m "not browser and not slow and not containers" \
		--ignore tests/journeys --ignore tests/lab/storefronts tests

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: local  ## speed, as ratios measured in one run; writes docs/benchmarks.md
	$(BIN)/python -m tests.lab.bench

validity: setup  ## are the printed p values and intervals honest? simulated studies; writes docs/validity.md and .csv
	$(BIN)/python -m tests.lab.bench.validity --keep $(or $(KEEP),validity.jsonl) --write

storefronts: setup  ## shops that are not ours: install them, try all steps in each, write docs/storefronts.md
	-$(BIN)/python -m tests.lab.storefronts.install
	SOUK_THOROUGH=1 $(BIN)/pytest -n 2 --dist loadgroup tests/lab/storefronts; tests=$$?; \
		$(BIN)/python -m tests.lab.storefronts.matrix && exit $$tests

agents: setup  ## programs of others that docs/agents/ runs: install them, and let each shop (needs Node.js)
	npm install --prefix $(READY) --no-audit --no-fund --loglevel=error \
		@playwright/mcp@0.0.83 @browserbasehq/stagehand@3.7.3
	$(PYTHON) -m venv $(READY)/venv
	$(READY)/venv/bin/pip install --quiet --disable-pip-version-check browser-use==0.13.14
	$(PYTHON) -m venv $(READY)/agentlab
	$(READY)/agentlab/bin/pip install --quiet --disable-pip-version-check \
		browsergym-experiments==0.14.3 anthropic pandas requests "openai<2" "litellm<1.79"
	$(READY)/agentlab/bin/pip install --quiet --disable-pip-version-check --no-deps agentlab==0.4.2
	$(BIN)/pytest tests/experiments/executors/test_ready_agents.py

faults: setup  ## random faults over runs (SCHEDULES=500, SEED=0), and what must hold after them; writes docs/faults.md
	$(BIN)/python -m tests.lab.faults --schedules $(or $(SCHEDULES),500) --seed $(or $(SEED),0) \
		$(if $(KEEP),--keep $(KEEP)) --write

containers: setup  ## build the images and try them on the container engine of this machine; skipped without one
	$(BIN)/pytest --verbose -rs --durations 0 --durations-min 1 tests/containers

setup: $(VENV)/.ready

$(VENV)/.ready: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Souk needs Python 3.11, 3.12 or 3.13; none was found"; exit 1; }
	@echo "setting up $(VENV) with $(PYTHON) ..."
	@$(PYTHON) -m environments.browser.system_packages
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)  # a half-made one too
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-compile -r requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m environments.browser.install_browser
	@touch $@

# Tests of local models need torch: its build for the CPU has 0.2 GB; the one with CUDA has 3 and is not brought unasked.
small-torch: setup
	@if test -e $(VENV)/.local || $(BIN)/pip install --quiet --dry-run --no-deps \
		"$$(grep ^torch== requirements-local.lock)+cpu" >/dev/null 2>&1; then $(MAKE) --no-print-directory local; \
	else echo "no build of torch for the CPU was found: tests of local models are skipped; make local adds torch"; fi

local: $(VENV)/.local  ## models that run on this machine: torch and transformers

$(VENV)/.local: $(VENV)/.ready requirements-local.lock
	@echo "adding torch and transformers ..."
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-compile -r requirements-local.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-compile torch  # and what this build needs
	@touch $@

lock:  ## resolve the exact versions anew (needs uv)
	uv pip compile pyproject.toml --extra browsergym --extra gemini --extra mcp --extra postgres --extra ray --extra dev --universal \
		--no-header --no-annotate --output-file requirements.lock

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache runs
