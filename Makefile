# `make` prints this help. Everything runs inside .venv, which is made from requirements/lock.txt.
PYTHON ?= python3
# How many processes run the tests. Six keep two cores busy: many tests wait for disks and brokers.
JOBS ?= 6
BIN := .venv/bin
SOURCES := records metadata_log replay controller api migrations client tests benchmarks
# What npm installs, where there is an npm: clients that the suite runs, and the page's type checker.
NODE_MODULES := $(if $(shell command -v npm),requirements/node_modules/.package-lock.json)

# The compiled codec, where there are a compiler and Python's headers; else the codec in Python is used.
HEADER := import os, sysconfig; print(os.path.join(sysconfig.get_path("include"), "Python.h"))
COMPILED := $(if $(and $(shell command -v cc),$(wildcard $(shell $(PYTHON) -c '$(HEADER)'))),.venv/compiled)

# What runs again on each PostgreSQL of the system (Debian's), besides the one from the wheel.
OF_POSTGRES := $(addprefix tests/,replay/sql_history replay/snapshot shared_log/test_postgres.py \
  api/test_sql.py api/test_snapshot_database.py api/test_history_keeper.py)

# What runs again on uvloop (tests/event_loops.py).
OF_LOOPS := $(addprefix tests/,api clients contracts controller stories)

.PHONY: compiled help demo test suite lint types check heavy bench torture mutants redecide conformance site lock clean
help: ## Show what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: .venv/installed ## Run the main job on a generated history and say what to try next
	@scripts/demo.sh

# Types are checked beside the tests: without a cache that takes one core the better part of a minute.
test: lint ## Run everything that CI runs
	@$(MAKE) --no-print-directory --jobs=2 types suite

suite: .venv/installed .venv/generators/installed .venv/suites/installed $(COMPILED) $(NODE_MODULES)
	$(BIN)/pytest --numprocesses $(JOBS) --dist loadscope --no-loadscope-reorder

lint: .venv/installed ## Check style and the direction of imports
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/lint-imports --no-logo

types: .venv/installed $(NODE_MODULES) ## Check types; those of the report's page where node is at hand
	$(BIN)/mypy
	$(if $(NODE_MODULES),requirements/node_modules/.bin/tsc --project api/report/jsconfig.json,\
	@echo "no node: the types of api/report are not checked")

requirements/node_modules/.package-lock.json: requirements/package-lock.json
	npm ci --prefix requirements --silent --no-audit --no-fund
	@touch $@

heavy: .venv/installed .venv/dbt/installed .venv/pythons/installed .venv/suites/installed .venv/suites/librdkafka/installed ## Run the tests that take minutes: a Spark cluster, more real logs, all samples, uvloop, other releases of PostgreSQL and Python
	METALOG_REQUIRE_CLIENTS=1 SAMPLES=whole $(BIN)/pytest -m "heavy or sampled" tests
	METALOG_EVENT_LOOP=uvloop $(BIN)/pytest --numprocesses $(JOBS) --dist loadscope --no-loadscope-reorder $(OF_LOOPS)
	for programs in $(wildcard /usr/lib/postgresql/*/bin); do \
	  METALOG_POSTGRES=$$programs $(BIN)/pytest $(OF_POSTGRES) || exit 1; \
	done
	$(if $(COMPILED),METALOG_CODEC=python $(MAKE) --no-print-directory suite)

compiled: .venv/compiled ## Compile the codec and install it here; needs a C compiler

bench: .venv/installed ## Measure speed as ratios; ARGS=--json for one JSON document
	$(BIN)/python -m benchmarks $(ARGS)

torture: .venv/installed .venv/patroni/installed ## Break the log in every way we know; ARGS="crashes --minutes 10"
	$(BIN)/python -m tests.torture --require-targets $(ARGS)

mutants: .venv/installed ## Change the code in 400 places and see which tests notice; resumable
	$(BIN)/python -m tests.mutants $(ARGS)

redecide: .venv/installed ## Decide all requests of logs anew and compare; ARGS=LOG for one of yours
	$(BIN)/python -m tests.redecide $(ARGS)

conformance: .venv/installed ## Decide the batches of real Kafka logs anew and compare; ARGS=--differences
	$(BIN)/python -m tests.conformance $(ARGS)

site: .venv/installed ## Build the documentation as a web site in .site; begin at .site/index.html
	$(BIN)/python -m tests.site .site

lock: .venv/installed ## Pin the newest allowed versions anew
	$(BIN)/uv pip compile pyproject.toml --extra archive --extra duckdb --extra http --extra mcp --extra otel --extra postgres --extra spark --extra connect --extra uvloop \
	  --group dev --group bench --universal \
	  --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --upgrade --quiet --no-header --output-file requirements/lock.txt
	$(BIN)/uv pip compile --group generators --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --upgrade --quiet --no-header \
	  --output-file requirements/generators.txt
	$(BIN)/uv pip compile --group patroni --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --upgrade --quiet --no-header \
	  --output-file requirements/patroni.txt

clean: ## Remove the environment and what the demo and the mutants made
	rm -rf .venv .mutants .site demo

.venv/installed: requirements/lock.txt requirements/uv.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/lock.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

.venv/compiled: $(wildcard compiled/*.p* compiled/*.toml) .venv/installed
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --reinstall ./compiled
	@touch $@

.venv/generators/installed: requirements/generators.txt | .venv/installed
	$(BIN)/uv venv --quiet --clear .venv/generators
	$(BIN)/uv pip install --quiet --python .venv/generators/bin/python --require-hashes -r $<
	@touch $@

# Run by an account that may not read this directory or the Python of this environment.
.venv/patroni/installed: requirements/patroni.txt | .venv/installed
	$(BIN)/uv venv --quiet --clear --python /usr/bin/python3 .venv/patroni
	$(BIN)/uv pip install --quiet --python .venv/patroni/bin/python --require-hashes -r $<
	@touch $@

.venv/dbt/installed: requirements/dbt.txt | .venv/installed
	$(BIN)/uv venv --quiet --clear .venv/dbt
	$(BIN)/uv pip install --quiet --python .venv/dbt/bin/python --require-hashes -r $<
	@touch $@

# Clients of Spark Connect with other Pythons: those of pyenv, unless PYTHONS names some.
PYTHONS ?= $(wildcard $(HOME)/.pyenv/versions/3.1[23].*/bin/python)
.venv/pythons/installed: requirements/lock.txt | .venv/installed
	rm -rf .venv/pythons && mkdir .venv/pythons
	set -e; for python in $(PYTHONS); do \
	  folder=.venv/pythons/$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	  $(BIN)/uv venv --quiet --python $$python $$folder; \
	  $(BIN)/uv pip install --quiet --python $$folder/bin/python --constraint $< --editable '.[connect]'; \
	done
	@touch $@

# The suite of kafka-python is in its source distribution; the hash is that of the installed version.
.venv/suites/installed: requirements/lock.txt | .venv/installed
	rm -rf .venv/suites/kafka* && mkdir -p .venv/suites/kafka-python
	sed -n '/^kafka-python==/,/# via/p' requirements/lock.txt | $(BIN)/python -m pip download --quiet \
	  --disable-pip-version-check --require-hashes --no-deps --no-build-isolation --no-binary :all: \
	  --dest .venv/suites --requirement /dev/stdin
	tar --extract --strip-components=1 --directory .venv/suites/kafka-python --file .venv/suites/kafka_python-*.tar.gz
	@touch $@

# librdkafka's suite is with its sources in a package of npm; a minute of CPU to compile.
.venv/suites/librdkafka/installed: requirements/librdkafka/package-lock.json | .venv/suites/installed
	npm ci --prefix requirements/librdkafka --ignore-scripts --silent --no-audit --no-fund
	rm -rf $(@D)
	cp -R requirements/librdkafka/node_modules/@confluentinc/kafka-javascript/deps/librdkafka $(@D)
	cd $(@D) && (./configure --disable-curl --disable-gssapi --disable-optimization && $(MAKE) libs && \
	  $(MAKE) -C tests test-runner) >build.log 2>&1 || (tail -20 build.log; exit 1)
	@touch $@
