# The commands of the README. Everything happens in .venv and var/, both ignored by git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export DATA_DIR ?= $(CURDIR)/var

.PHONY: run test test-all lint bench services messages lock kit

# `exec`: a signal to make reaches the program itself, and no shell in between.
run: $(VENV)/.runtime
	@exec env DEMO=1 LOG_FORMAT=console $(BIN)/python manage.py serve

test: $(VENV)/.development
	@$(BIN)/python -m tests.install
	@exec $(BIN)/python -m tests.suite

# What is long by nature, and on PostgreSQL the quick tests that `make test` runs on SQLite alone.
test-all: $(VENV)/.development
	@$(BIN)/python -m tests.install
	@exec $(BIN)/python -m tests.suite --all

lint: $(VENV)/.development
	@exec $(BIN)/python -m tests.suite lint types

# Collects the words of the pages into locale/, and packs the translations. Needs gettext.
messages: $(VENV)/.development
	@$(BIN)/python manage.py makemessages --all --no-location --no-obsolete --ignore=.venv --ignore=var --ignore=node_modules
	@$(BIN)/python manage.py compilemessages --ignore=.venv --verbosity 0

# Renews requirements.txt and requirements-dev.txt from their .in files. Needs a package index.
lock: $(VENV)/.development
	@$(BIN)/python -m tools.lock_requirements

# Builds the participants' kit as a wheel in dist/: the same bytes that the site offers.
kit: $(VENV)/.runtime
	@$(BIN)/python -m contest.web.kit_wheel dist

bench: $(VENV)/.development
	@$(BIN)/python -m bench.run

# Keeps its data in DATA_DIR/services. `make services FRESH=1` starts with an empty database.
services: export DATA_DIR := $(DATA_DIR)/services
services: $(VENV)/.development
	@$(if $(FRESH),rm -rf "$$DATA_DIR")
	@exec env DEMO=1 LOG_FORMAT=console $(BIN)/python -m tests.services --keep "$$DATA_DIR/postgres" $(if $(FRESH),--fresh) \
	  sh -c 'CELERY_BROKER_URL=$$TEST_REDIS_URL exec $(BIN)/python manage.py serve'

$(VENV)/bin/python:
	@$(PYTHON) -m venv $(VENV) || { echo "Python 3.11 with venv is needed: set PYTHON=/path/to/python3.11"; exit 1; }

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Succeeds where everything is there already: without an index there is nothing to install from.
COMPLETE := $(PIP) --dry-run --no-index
TORCH := requirements-torch.txt
# What is pinned with hashes first, then torch: see requirements-torch.txt.
define installed
@$(COMPLETE) -r $(1) 2>/dev/null && $(COMPLETE) -r $(TORCH) 2>/dev/null || \
  { echo "Installing what $(2) (a few minutes)"; $(PIP) -r $(1) && $(PIP) -r $(TORCH); }
endef

$(VENV)/.runtime: requirements.txt $(TORCH) | $(VENV)/bin/python
	$(call installed,requirements.txt,the contest needs)
	@touch $@

$(VENV)/.development: requirements-dev.txt $(TORCH) | $(VENV)/bin/python
	$(call installed,requirements-dev.txt,the tests need)
	@touch $(VENV)/.runtime $@
