# Start with `make demo` and `make quick`. Each target does its own set-up in .venv.
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory
VENV := .venv
PYTHON ?= python3
READY := $(VENV)/.ready | native
SUPPLY := .venv-supply
LOGS ?=
ARGS ?=
MINUTES ?= 30
FUZZ := $(CURDIR)/.cache/fuzz/atheris
FUZZ_S ?= 60
FORMATS ?=
# Python keeps what it has compiled: without it every process of a test takes half a second longer to start.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup native vllm vllm-matrix demo test quick nightly freeze soak fuzz sabotage check format docs coverage bench bench-all bench-guard bench-deps bench-drain3 up down stack stack-down lock images sbom audit clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## make .venv from requirements.lock (once; about 5 minutes, 4 of them building llama-cpp-python)
	@:

$(VENV)/.ready: requirements.lock pyproject.toml deploy/setup.sh
	@deploy/setup.sh
	@touch $@

native: ## compile the C files that have changed; every other target does so too
	@$(PYTHON) deploy/compile_c.py

vllm: $(READY) ## add vLLM to .venv: for an NVIDIA GPU if there is one, else for the CPU (VLLM=cpu or gpu); 7 GB, about 2 minutes
	@deploy/vllm/install.sh

vllm-matrix: $(READY) ## the tests of vLLM under every supported version, on the CPU, each in a .venv-vllm-VERSION
	@deploy/vllm/matrix.sh

demo: $(READY) ## everything in one process on your own logs: make demo LOGS="app.log other.log" ARGS="--query 'disk full'"
	@$(VENV)/bin/vectail demo $(ARGS) $(LOGS)

quick: $(READY) ## two thirds of the tests, in a minute on two cores: those that need no server, model or process, and take no second
	@$(VENV)/bin/python -m pytest -n 3 --dist worksteal --quick $(ARGS)

test: $(READY) ## what must pass to land: all tests but the `long` ones, on real servers (Docker, or Java, Maven, redis-server, and root for Milvus; else skipped)
	@$(VENV)/bin/python -m pytest -n 4 --dist loadgroup --servers --record=.cache/durations.jsonl $(ARGS)

nightly: $(READY) vllm bench-deps ## what takes an hour: the tests marked `long`, more kills and odd lines, vLLM, compose, sanitizers, and a soak of 10 minutes
	@$(VENV)/bin/python -m tests.deploy.kubernetes
	@$(VENV)/bin/python -m pytest -n 4 --dist loadgroup --servers --nightly --record=.cache/durations-nightly.jsonl $(ARGS)
	@$(VENV)/bin/python -m tests.soak --minutes 10

freeze: $(READY) ## `make test` on a machine that stalls: processes are frozen at random, beside other work
	@$(VENV)/bin/python -m tests.freeze $(ARGS)

soak: $(READY) ## a worker under twice its load and random faults for MINUTES (default 30), measured and judged
	@$(VENV)/bin/python -m tests.soak --minutes $(MINUTES) $(ARGS)

$(FUZZ)/.ready: tests/fuzz/requirements.lock $(READY)
	@rm -rf $(FUZZ)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: --target $(FUZZ) -r tests/fuzz/requirements.lock
	@touch $@

fuzz: $(FUZZ)/.ready ## coverage-guided fuzzing of decoders, questions and HTTP for FUZZ_S seconds each (default 60): make fuzz FORMATS="json http" (Linux, Python 3.11 to 3.13)
	@PYTHONPATH=$(FUZZ) $(VENV)/bin/python -m tests.fuzz --seconds $(FUZZ_S) $(FORMATS)

sabotage: $(READY) ## plant each bug of tests/sabotage in a copy and check that the tests fail (ARGS="ledger" for some, --list for their names)
	@$(VENV)/bin/python -m tests.sabotage $(ARGS)

check: $(READY) ## ruff (lint and format) and mypy --strict, on source and tests
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy

format: $(READY) ## format the source with ruff
	@$(VENV)/bin/ruff format .
	@$(VENV)/bin/ruff check --fix .

docs: $(READY) ## write docs/settings.md, docs/metrics.md and the alert rules, which are generated from the source
	@$(VENV)/bin/python -m worker.settings.settings_reference > docs/settings.md
	@$(VENV)/bin/python -m worker.watching.metrics_reference > docs/metrics.md
	@$(VENV)/bin/python -m worker.watching.alert_rules > deploy/prometheus/rules/vectail.yml

coverage: $(READY) ## all tests, with branch coverage over source and tests
	@$(VENV)/bin/python -m pytest --cov --cov-report=term --cov-report=html $(ARGS)

bench-deps: $(READY) ## what benchmarks.engines compares vLLM with: sentence-transformers and ONNX Runtime (after `make vllm`)
	@$(VENV)/bin/python -m pip install --quiet --no-deps --require-hashes --only-binary :all: -r benchmarks/requirements.lock

bench-drain3: $(READY) ## what benchmarks.templates compares with: Drain3, built from source in a second
	@$(VENV)/bin/python -m pip install --quiet --no-deps --require-hashes --build-constraint benchmarks/drain3.lock -r benchmarks/drain3.lock

bench: $(READY) ## lines per second through the whole path
	@$(VENV)/bin/python -m benchmarks.throughput $(ARGS) $(LOGS)

bench-guard: $(READY) ## has this tree become slower? Ratios beside benchmarks/guard.json; ARGS="--against REV" compares in turns
	@$(VENV)/bin/python -m benchmarks.guard $(ARGS)

bench-all: $(READY) ## all benchmarks, one after another; writes benchmarks/RESULTS.md (more than an hour)
	@$(VENV)/bin/python -m benchmarks $(ARGS)

up: ## the stack in Docker: Kafka, Milvus, Valkey, a worker, Prometheus and Grafana with our alerts and dashboards
	@docker compose up --build --detach

down: ## stop it; the volumes stay
	@docker compose down

stack: $(READY) ## the same without Docker, on loopback, with a feed: real servers, Prometheus with our alerts, a worker (ARGS="--rate 200")
	@$(VENV)/bin/python -m tests.stack up $(ARGS)

stack-down: $(READY) ## stop it and remove its files
	@$(VENV)/bin/python -m tests.stack down

lock: ## update requirements.lock and deploy/vllm/*.lock (needs uv)
	@deploy/lock.sh --upgrade

images: $(READY) ## look up the digests of docker-compose.yml's images and write deploy/images.yml (ARGS=--check compares)
	@$(VENV)/bin/python deploy/images.py $(ARGS)

$(SUPPLY)/.ready: deploy/supply/requirements.lock $(READY)
	@$(VENV)/bin/python -m venv --clear $(SUPPLY)
	@$(SUPPLY)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: -r deploy/supply/requirements.lock
	@touch $@

sbom: $(SUPPLY)/.ready ## write dist/sbom.cdx.json, what vectail ships (CycloneDX), and a table of the licences; an unknown licence fails
	@$(VENV)/bin/python deploy/supply/sbom.py
	@$(SUPPLY)/bin/python deploy/supply/validate.py dist/sbom.cdx.json

audit: $(SUPPLY)/.ready ## look up requirements.lock in a database of vulnerabilities (pip-audit; needs internet access)
	@$(SUPPLY)/bin/pip-audit --strict --progress-spinner off --disable-pip --require-hashes -r requirements.lock $(ARGS)

clean: ## remove what the tools left behind, and what was compiled; .venv, .venv-vllm-* and downloaded servers stay
	@find consumers sinks -name '*.c.so' -delete
	@rm -rf .coverage .coverage.* htmlcov .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +
