# make demo: create the environment, install, score the shipped data.   make test: all tests.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test lint types check clean

demo: $(VENV)/installed
	@$(BIN)/treceval -m map -m recip_rank -m ndcg -m ndcg_cut.10 data/qrels.tsv data/runs/jaccard.txt data/runs/bm25.txt data/runs/minilm.txt

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed-dev
	$(BIN)/mypy

check: test lint types

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python setup.cfg pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build *.egg-info
