# Every target creates .venv when there is none and reuses it after. PYTHON: what to create it with, 3.11 or later.
PYTHON ?= python3
JOBS ?= 2
BENCH ?=
BIN := .venv/bin

# Basilisk caps these below what we pin, so benchmarks against it have an environment of their own.
CAPPED_BY_BASILISK := matplotlib|pandas|pillow|sgp4

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-slow coverage lint format docs bench clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

venv: .venv/dev ## create .venv and install the project with the tools of its developers

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; try: make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/dev: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: .venv/installed ## fly the main closed loop, a small Monte Carlo and a filter study; tables here, figures and a page in out/demo
	rm -rf out/demo
	$(BIN)/gnc --version
	$(BIN)/gnc run pointing --trials 20 --out out/demo/pointing
	$(BIN)/gnc report out/demo/pointing
	$(BIN)/gnc monte-carlo pointing --trials 200 --set run.duration_s=3600 --out out/demo/monte-carlo
	$(BIN)/gnc report out/demo/monte-carlo
	$(BIN)/gnc study sample-rate --rates 5,1,0.2,0.1 --trials 50 --out out/demo/study
	@echo 'open out/demo/pointing/report.html; more: gnc list'

test: venv ## run the fast tests
	$(BIN)/python -m pytest -q -n $(JOBS)

test-slow: venv ## run the tests marked slow
	$(BIN)/python -m pytest -q -n $(JOBS) -m slow

coverage: venv ## measure coverage: the kernels' own tests as plain Python, all others compiled
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n $(JOBS) -m 'not slow and not jit' tests/gnc --ignore=tests/gnc/integrators --cov --cov-report=
	$(BIN)/python -m pytest -q -n $(JOBS) -m 'not slow' tests/gnc/integrators tests/models tests/estimators tests/controllers tests/scenarios --cov --cov-append --cov-report=term

lint: venv ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p gnc

format: venv ## put the code into the agreed form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/docs ## build the documentation into site/, strictly: a warning is an error
	$(BIN)/python -m docs.equation_map
	$(BIN)/python -m sphinx -W --keep-going -q -j $(JOBS) -d site/.doctrees docs site
	@echo 'open site/index.html'

.venv/docs: .venv/dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,docs]'
	touch $@

bench: .venv-bench/installed ## measure against peers; BENCH=part for one part
	.venv-bench/bin/python -m benchmarks $(BENCH)

.venv-bench/installed: pyproject.toml constraints.txt
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	grep -vE '^($(CAPPED_BY_BASILISK))==' constraints.txt > .venv-bench/constraints.txt
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -c .venv-bench/constraints.txt -e '.[dev,bench]' \
	|| { echo 'not every peer can be installed here: measuring without Basilisk and Pinocchio'; \
	     .venv-bench/bin/python -m pip install --quiet -c .venv-bench/constraints.txt -e '.[dev]'; }
	touch $@

clean: ## remove what can be made again, the environments included
	rm -rf .venv .venv-bench build dist out site docs/api htmlcov .coverage .coverage.* *.egg-info
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
