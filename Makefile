# Every target sets up what it needs: Python 3.11, pip and make are all that has to be there.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
PEERS := .venv-peers
PEERS_STAMP := $(PEERS)/.ready
FLOWER := .venv-flower
FLOWER_STAMP := $(FLOWER)/.ready
PAPER := .venv-paper
PAPER_STAMP := $(PAPER)/.ready
# All but ray, which is large and optional: requirements/ray.txt.
LOCKED_EXTRAS := aggregator agent parquet experiments picture demo
# What `make paper-quick` runs of the real data, where they are.
QUICK_DATA = $(if $(wildcard $(or $(FGPR_DATA),data)/cmapss),"table2 --repeats 3 --item 2 --item 4 --item 7 --item 11") \
	$(if $(wildcard $(or $(FGPR_DATA),data)/sarcos),"table3 --repeats 1 --system fgpr-evidence --variant random")
PAPER_BIN = $(if $(wildcard $(PAPER_STAMP)),$(PAPER)/bin,$(BIN))
# What docs/experiments.md says made it.
define PAPER_RUNS
make setup-paper
make paper
make paper-report
endef
export PAPER_RUNS
# Parallel clients and tests want one BLAS thread each: two pools on two cores fight.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
# Hundreds of processes begin in tests, and a third of their start is compiling unless bytecode is kept.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help setup setup-peers setup-flower setup-paper paper paper-report paper-quick demo test fuzz check openapi fmt bench bench-secagg attack proofs tamper bench-log kill load mutants liars privacy new-engines bench-predict lock clean containers-check machine pause replay defences soak canary recover agent-kills
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /  make \1\t/' | expand -t 20

setup: $(STAMP) ## make .venv with the locked packages (does nothing when it is up to date)

$(STAMP): pyproject.toml requirements/dev.txt requirements/build.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

demo: setup ## run a whole federation on this machine
	$(BIN)/fgpr-demo --report build/demo $(ARGS)

# Three at a time, also on two cores: servers, deadlines and other processes are waited for.
test: setup ## run every test
	$(BIN)/pytest -n 3 --dist worksteal $(ARGS)

fuzz: setup ## send 300 generated requests to each operation of the REST interface in each way (FGPR_FUZZ_EXAMPLES=n); writes build/reports/fuzz.json
	PYTHONPATH=tests $(BIN)/python -m fuzz $(ARGS)

check: setup containers-check ## style, types and import contracts, exactly as CI
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/fgpr-aggregator openapi --origin http://127.0.0.1:8000 | cmp - docs/openapi.json

containers-check: setup ## Dockerfiles and the compose file, without Docker; haproxy.cfg too where haproxy is installed
	$(BIN)/hadolint docker/*.Dockerfile
	$(BIN)/docker-compose --env-file docker/example.env --file docker/compose.yaml --profile '*' config --quiet
	$(BIN)/compose-lint check --quiet --no-env --strict-config --skip-suppressed --fail-on low --config docker/compose-lint.yml docker/compose.yaml
	if command -v haproxy >/dev/null; then FGPR_PREFIX=/fgpr haproxy -c -q -f docker/haproxy.cfg; fi

openapi: setup ## renew docs/openapi.json after a change of the REST interface
	$(BIN)/fgpr-aggregator openapi --origin http://127.0.0.1:8000 > docs/openapi.json

fmt: setup ## format, and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## time a step and a prediction beside the peers (ARGS=--quick for few sizes, --without-peers); writes build/reports/bench.json
	PYTHONPATH=tests $(BIN)/python -m benchmarks $(ARGS)

setup-peers: $(PEERS_STAMP) ## make .venv-peers with GPyTorch and JAX, which only bench compares with

$(PEERS_STAMP): requirements/peers.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/peers.txt
	@touch $(PEERS_STAMP)

setup-flower: $(FLOWER_STAMP) ## make .venv-flower with Flower, which only bench-secagg compares with

$(FLOWER_STAMP): requirements/flower.txt
	$(PYTHON) -m venv $(FLOWER)
	$(FLOWER)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/flower.txt
	@touch $(FLOWER_STAMP)

setup-paper: $(PAPER_STAMP) ## make .venv-paper with PyTorch and GPyTorch beside everything else, for the baselines that need them

$(PAPER_STAMP): requirements/dev.txt requirements/build.txt requirements/paper.txt pyproject.toml
	$(PYTHON) -m venv $(PAPER)
	$(PAPER)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.txt
	$(PAPER)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(PAPER)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/paper.txt
	$(PAPER)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(PAPER_STAMP)

paper: setup ## all of the paper's evaluation, hours of it, into docs/experiments; goes on where it stopped (with `make setup-paper` before, its PyTorch baselines too)
	@failed=0; for part in example1 example2 example3 sines one-input ablation theorems borehole-corners table1 table2 table3; do \
		$(PAPER_BIN)/fgpr-experiments run $$part --jobs 2 --results docs/experiments || failed=1; done; exit $$failed

paper-report: setup ## renews docs/experiments.md and its pictures from the records in docs/experiments
	$(BIN)/fgpr-experiments report --results docs/experiments --out docs --introduction docs/experiments/introduction.md \
		--json docs/experiments/targets.json --command "$$PAPER_RUNS"

paper-quick: setup ## the paper's evaluation on few seeds, without PyTorch (Tables 2 and 3 need FGPR_DATA); writes build/experiments/quick and build/reports/paper-quick.json
	@missed=0; for part in "example3 --repeats 3" "sines --repeats 3" "one-input --repeats 3" "ablation --repeats 3" \
		"theorems --repeats 3 --variant homogeneous --item M=8 --item M=40" "example1 --repeats 3 --variant matern-3/2" "borehole-corners --repeats 3" \
		"table1 --repeats 3" $(QUICK_DATA); do \
		echo "fgpr-experiments run $$part"; \
		$(BIN)/fgpr-experiments run $$part --jobs 2 --results build/experiments/quick || missed=1; done; \
	$(BIN)/fgpr-experiments report --results build/experiments/quick --out build/experiments/quick --command "make paper-quick" \
		--json build/reports/paper-quick.json --strict || missed=1; exit $$missed

bench-secagg: setup ## CPU and bytes of a round for 10 to 1,000 clients (ARGS=--quick); writes build/reports/bench-secagg.json
	PYTHONPATH=tests $(BIN)/python -m benchmarks_secagg $(ARGS)

privacy: setup ## what differential privacy costs in accuracy on FD001 (needs FGPR_DATA; ARGS=--quick); writes build/reports/privacy.json
	PYTHONPATH=tests $(BIN)/python -m benchmarks_privacy $(ARGS)

new-engines: setup ## the served prior on new engines with few cycles of FD001 (needs FGPR_DATA; ARGS=--quick); writes build/reports/new-engines.json
	PYTHONPATH=tests $(BIN)/python -m benchmarks_new_engines $(ARGS)

bench-predict: setup ## a cold start of an offline prediction: seconds and memory; writes build/reports/bench-predict.json
	PYTHONPATH=tests $(BIN)/python -m benchmarks_predict $(ARGS)

proofs: setup ## every proof of trees up to 300 leaves, and each with any one bit turned over; writes build/reports/proofs.json
	PYTHONPATH=tests $(BIN)/python -m proofs $(ARGS)

attack: setup ## attack the protocol in memory and over HTTP; writes build/reports/attack.json
	PYTHONPATH=tests $(BIN)/python -m attacks $(ARGS)

tamper: setup ## tamper with the log of 20 rounds in every way (ARGS=--postgresql); writes build/reports/tamper.json
	PYTHONPATH=tests $(BIN)/python -m tamper $(ARGS)

bench-log: setup ## append to, prove and verify a log of 100,000 entries; writes build/reports/bench-log.json
	PYTHONPATH=tests $(BIN)/python -m benchmarks_log $(ARGS)

kill: setup ## kill the aggregator at every statement, commit and write of three rounds (ARGS=--quick); writes build/reports/kill.json
	PYTHONPATH=tests $(BIN)/python -m kills $(ARGS)

agent-kills: setup ## kill -9 an agent at each of its steps, 200 times (ARGS="--kills N" or --quick); writes build/reports/agent-kills.json
	PYTHONPATH=tests $(BIN)/python -m agent_kills $(ARGS)

pause: setup ## stop the aggregator at those points while another replica works, lose each request and answer; writes build/reports/pause.json
	PYTHONPATH=tests $(BIN)/python -m kills --only losses paused-sqlite paused-postgresql --report build/reports/pause.json $(ARGS)

replay: setup ## flip each bit of a signed request, send 1,000 captured ones again; writes build/reports/replay.json
	PYTHONPATH=tests $(BIN)/python -m replays $(ARGS)

canary: setup ## look for every secret in what an aggregator wrote, regress updates on it; writes build/reports/canary.json
	PYTHONPATH=tests $(BIN)/python -m canaries $(ARGS)

recover: setup ## kill -9 while contributions come in: seconds to recover, and what is lost; writes build/reports/recover.json
	PYTHONPATH=tests $(BIN)/python -m recoveries $(ARGS)

soak: setup ## rounds after rounds, and what grows with them (ARGS="--minutes 2"); writes build/reports/soak.json
	PYTHONPATH=tests $(BIN)/python -m soak $(ARGS)

defences: setup ## take out each defence of the service once: its tests fail (ARGS="1 5"); writes build/reports/defences.json
	PYTHONPATH=libs:tests $(BIN)/python -m defences $(ARGS)

load: setup ## open-loop load of up to 500 clients, slow sockets, killed replicas (ARGS="--sizes 60"); writes build/reports/load.json
	PYTHONPATH=tests $(BIN)/python -m load $(ARGS)

mutants: setup ## delete each check of the protocol once: the suite turns red; writes build/reports/mutants.json
	PYTHONPATH=libs:tests $(BIN)/python -m mutants $(ARGS)

machine: setup ## random lives of a federation on both databases: 10,000 steps each (ARGS="--seed N"); writes build/reports/machine.json
	PYTHONPATH=tests $(BIN)/python -m machine $(ARGS)

liars: setup ## lying clients among sixty engines, with and without groups (ARGS=--quick); writes build/reports/liars.json
	PYTHONPATH=tests $(BIN)/python -m liars $(ARGS)

lock: setup ## renew the hashed locks under requirements/
	$(BIN)/python -m pip install --quiet "uv>=0.13,<0.14"
	$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11 $(addprefix --extra ,$(LOCKED_EXTRAS)) --group dev --no-emit-package fgpr -o requirements/dev.txt pyproject.toml
	$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11 -o requirements/build.txt requirements/build.in
	for extra in aggregator agent demo; do $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --extra $$extra --no-emit-package fgpr -o requirements/$$extra.txt pyproject.toml; done

clean: ## remove what the targets made
	rm -rf $(VENV) $(PEERS) $(FLOWER) $(PAPER) build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
