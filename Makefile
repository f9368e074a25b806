# Recollect: two commands for a newcomer (demo, test), the rest for those who build it.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY  := $(VENV)/.ready
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start hundreds of processes, and without bytecode files each would compile all its modules.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: pictures demo test test-all test-page test-postgres test-cluster test-integrations contract mutants check format speed quality everyday clean docs man test-gguf check-supply fuzz

demo: $(INSTALLED)  ## fill a memory from examples/ and ask it five questions
	@$(BIN)/python examples/demo.py

test: check  ## format, lint, types, import arrows and the fast tests
	$(BIN)/pytest -n 2

test-all: check  ## the slow tests too
	$(BIN)/pytest -n 2 -m ""

test-integrations: $(VENV)-integrations/.ready  ## the adapters beside their frameworks, in an environment of their own, offline
	$(VENV)-integrations/bin/mypy recollect/integrations tests/integrations
	$(VENV)-integrations/bin/pytest -n 2 -m "" -o asyncio_mode=auto -o asyncio_default_fixture_loop_scope=function --disable-socket --allow-unix-socket tests/integrations

test-gguf: $(READY)  ## GGUF embedders with llama.cpp, which is compiled from source where there is no wheel: that takes long
	@nice $(BIN)/python -m pip install --quiet -e ".[gguf]"
	$(BIN)/pytest tests/embed/test_gguf.py

contract: $(READY)  ## every promise of the contract, with its tests
	$(BIN)/python -m tests.contract.report

mutants: $(READY)  ## change a number or word behind each promise and expect its tests to fail (ONLY="J12 A13" for some)
	$(BIN)/python -m tests.contract.mutants $(ONLY)

test-page: $(READY)  ## the web page in a real browser; installs Chromium and Playwright if they are missing
	@scripts/install-browser.sh
	@$(BIN)/python -m pip install --quiet -e ".[page-test]"
	$(BIN)/pytest tests/page

test-postgres: $(READY)  ## the PostgreSQL store on a real server, which is started and stopped (or RECOLLECT_TEST_POSTGRES_URL): its own tests, then the conformance, contract and systems suites on it
	$(BIN)/pytest -n 2 -m "" tests/postgres
	$(BIN)/pytest -n 2 -m "" -k postgres tests/conformance tests/upkeep/test_copying.py
	RECOLLECT_TEST_STORE=postgres $(BIN)/pytest -n 2 tests/contract tests/systems

test-cluster: $(READY)  ## three PostgreSQL nodes with Patroni, etcd and pgbouncer on loopback, whose leader is killed; installs what is missing
	@scripts/install-cluster.sh
	@$(BIN)/python -m pip install --quiet -e ".[cluster-test]"
	$(BIN)/pytest -m "" tests/cluster

pictures: $(READY)  ## the pictures of docs/page.md, taken by the tests of the page
	RECOLLECT_PICTURES=docs/pictures $(BIN)/pytest tests/page -k pictures

check-supply: $(READY)  ## bill of materials, licences, a wheel that is built twice, known vulnerabilities (constraints.txt: python -m tests.supply constraints)
	-@$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/python -m tests.supply

fuzz: $(READY)  ## inputs from atheris for the query parser, the chunker, the importers, and the HTTP and MCP servers (RUNS=10000000)
	@$(BIN)/python -m pip install --quiet atheris
	$(BIN)/python -m tests.fuzzing $(if $(RUNS),$(RUNS),1000000)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

speed: $(READY)  ## measure beside the raw parts and the peers (see bench/)
	$(BIN)/python bench/speed.py

quality: $(READY)  ## measure recall on labelled sets beside the peers, with tables and plots (DATA=folder, JOBS=2; see docs/quality.md)
	@$(BIN)/python -m pip install --quiet -e ".[bench]"
	$(BIN)/python bench/quality.py --all $(if $(DATA),--data $(DATA)) $(if $(JOBS),--jobs $(JOBS))
	$(BIN)/python bench/families.py --keep $(if $(DATA),--data $(DATA))

everyday: $(READY)  ## everyday questions, time phrases, conflicts, and one set among all others (DATA=folder)
	$(BIN)/python bench/everyday.py $(if $(DATA),--data $(DATA))
	$(BIN)/python bench/conflicts.py $(if $(DATA),--data $(DATA))
	$(BIN)/python bench/large.py --limit 200 $(if $(DATA),--data $(DATA))

docs: $(READY)  ## the documentation site, into site/ (open site/index.html); a warning is an error
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env -b html -d site/.doctrees docs site

man: $(READY)  ## the manual page, after a change of a command or an option
	$(BIN)/python -m recollect.cli.manual man/recollect.1

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Recollect needs Python 3.11 or newer (make PYTHON=python3.12 …)")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing Recollect into $(VENV) …"
	@$(BIN)/python -m pip install --quiet -e .
	@touch $@

$(READY): $(INSTALLED)
	@echo "Installing the tools for its development into $(VENV) …"
	@$(BIN)/python -m pip install --quiet -e ".[dev]"
	@touch $@

$(VENV)-integrations/.ready: pyproject.toml
	@test -x $(VENV)-integrations/bin/python || $(PYTHON) -m venv $(VENV)-integrations
	@echo "Installing Recollect and the frameworks of its adapters into $(VENV)-integrations …"
	@$(VENV)-integrations/bin/python -m pip install --quiet -e ".[integrations-test]"
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-integrations build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
