# The commands of the README. Everything happens in .venv and var/, both ignored by git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export DATA_DIR ?= $(CURDIR)/var

.PHONY: run test lint bench services messages

run: $(VENV)/.runtime
	@DEMO=1 LOG_FORMAT=console $(BIN)/python manage.py serve

test: $(VENV)/.development
	@$(BIN)/python -m tests.install
	@$(MAKE) --no-print-directory lint
	@$(BIN)/python -m tests.both_databases

lint: $(VENV)/.development
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports
	@$(BIN)/mypy

# Collects the words of the pages into locale/, and packs the translations. Needs gettext.
messages: $(VENV)/.development
	@$(BIN)/python manage.py makemessages --all --no-location --no-obsolete --ignore=.venv --ignore=var
	@$(BIN)/python manage.py compilemessages --ignore=.venv --verbosity 0

bench: $(VENV)/.development
	@$(BIN)/python -m bench.run

services: $(VENV)/.development
	@$(BIN)/python -m tests.services sh -c 'export DEMO=1 LOG_FORMAT=console DATA_DIR=$(CURDIR)/var/services CELERY_BROKER_URL=$$TEST_REDIS_URL; \
	  rm -rf "$$DATA_DIR"; exec $(BIN)/python manage.py serve'

$(VENV)/bin/python:
	@$(PYTHON) -m venv $(VENV) || { echo "Python 3.11 with venv is needed: set PYTHON=/path/to/python3.11"; exit 1; }

$(VENV)/.runtime: requirements.txt | $(VENV)/bin/python
	@echo "Installing what the contest needs (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.development: requirements.txt requirements-dev.txt | $(VENV)/bin/python
	@echo "Installing what the tests need (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $(VENV)/.runtime $@
