# Everything a contributor or user types. `make help` lists it; `run` and `test` do all set-up themselves.
# Variables: PYTHON=python3.12 chooses the interpreter of a new .venv (make clean first), ARGS="..." is passed on to the command.
.DEFAULT_GOAL := help
.PHONY: help run test check lint types layers fix docs bench clean

export PYTHON
export PYTHONPATH := $(CURDIR)
VENV_PYTHON := .venv/bin/python
RUNTIME := .venv/.installed-runtime
DEV := .venv/.installed-dev
KERNELS := .venv/.compiled-kernels

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-6s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo '  ARGS="..." passes options on, as in: make run ARGS="--store my.duckdb", make test ARGS="-k smd"'

run: $(RUNTIME) $(KERNELS)  ## start the app in the browser, on a free port of this machine
	@.venv/bin/dlsched app $(ARGS)

test: $(DEV) $(KERNELS)  ## run all tests, two processes
	@$(VENV_PYTHON) -m pytest -n 2 --dist loadfile $(ARGS)

check: lint types layers  ## lint, format, types and import layers; changes nothing

lint: $(DEV)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	@$(VENV_PYTHON) -m tools.check_wording

types: $(DEV)
	.venv/bin/mypy $(wildcard dlsched tools tests pages benchmarks app.py)

layers: $(DEV)
	.venv/bin/lint-imports --no-logo

fix: $(DEV)  ## format the code and repair what ruff can
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

docs: $(DEV)  ## build the pages of docs/ into site/
	@NO_MKDOCS_2_WARNING=1 $(VENV_PYTHON) -m mkdocs build --strict --quiet $(ARGS)

bench: $(DEV) $(KERNELS)  ## run the benchmarks (minutes)
	@$(VENV_PYTHON) -m benchmarks $(ARGS)

clean:  ## remove .venv and every cache
	rm -rf .venv site .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis .coverage htmlcov
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Set-up. The stamps make it a no-op until one of the files changes that say what to install.
$(RUNTIME): requirements.txt constraints.txt pyproject.toml
	@tools/setup.sh requirements.txt
	@touch $@

$(DEV): requirements.txt requirements-dev.txt constraints.txt pyproject.toml
	@tools/setup.sh requirements-dev.txt
	@touch $(RUNTIME) $@

# The compiled loops are kept beside their sources; doing it here spares the first run of the app the wait.
$(KERNELS): $(wildcard dlsched/sim/kernels/*.py dlsched/sim/kernels/*/*.py dlsched/policies/*/*kernels/*.py) dlsched/sim/log.py dlsched/domain/plan.py dlsched/domain/policy.py | $(RUNTIME)
	@echo "Preparing fast code, once: two to eight minutes."
	@$(VENV_PYTHON) -c "from dlsched.runner.worker import compile_all; compile_all()"
	@touch $@
