# make demo: create the environment, install, score the shipped data.   make test: the tests that are not slow, in two
# minutes.   make test-all: all tests, and those of reading with both readers.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo retrieve test test-all lint types check docs cards site clean

demo: $(VENV)/installed
	@$(BIN)/treceval -m map -m recip_rank -m ndcg -m ndcg_cut.10 data/qrels.tsv data/runs/jaccard.txt data/runs/bm25.txt data/runs/minilm.txt

# What `treceval retrieve` needs, some 2 GB; without it, its tests say that they are skipped. On a machine without a
# GPU, install torch's CPU build before, or pip takes the one for GPUs.
retrieve: $(VENV)/installed-retrieve

# A process for each core. The tests of a file stay in one, which prepares once what they share; some could not run beside
# each other. Byte code is written even where the environment forbids it, or each process compiles all tests again.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses auto --dist loadfile

# The tests that are not slow (CONTRIBUTING.md says which are), with the compiled scanner.
test: $(VENV)/installed-dev
	TRECEVAL_READER=compiled $(PYTEST) -m 'not slow'

# What is tested with the Python reader too; what is computed from runs does not depend on how they were read.
READING = by_query drop_in evaluator formats graded gzipped judged_ranking lint_reading lists messages mutations objects_in \
    peers readers reading run_file scanner signatures source_systems spelling trec_eval trec_eval_command

# Then the slow ones, and those of reading with the Python reader, but for tests that have compared the two readers already.
test-all: test
	TRECEVAL_READER=compiled $(PYTEST) -m slow
	TRECEVAL_READER=python $(PYTEST) -m 'not both_readers' $(READING:%=tests/test_%.py)

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python .ci/docstrings.py

types: $(VENV)/installed-dev
	$(BIN)/mypy

check: test lint types

# The pages in docs/ that list what is declared, the same in full in docs/full/, and the stubs of the public names. A test
# fails if a file in git is stale.
docs: $(VENV)/installed
	$(BIN)/python docs/make.py
	$(BIN)/python docs/names.py

# Score cards of other tools and docs/conformance.md, in environments of their own, some 6 GB; TOOLS="ranx beir" makes some.
cards: $(VENV)/installed
	$(BIN)/python conformance/cards.py $(if $(TOOLS),--only $(TOOLS))

# The site, in build/site; each warning is an error. Everything is read again, as no page says what it was made from.
site: $(VENV)/installed-docs
	rm -rf build/site
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --fresh-env --jobs auto --quiet -d build/doctrees docs build/site

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python setup.cfg setup.py pyproject.toml treceval_py/scan/_scan.pyx
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@$(BIN)/python -m compileall -q treceval_py
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	@touch $@

$(VENV)/installed-docs: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

$(VENV)/installed-retrieve: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[retrieve,ray,retrieve-dev]'
	@touch $@

clean:
	rm -rf $(VENV) build *.egg-info treceval_py/scan/_scan.c treceval_py/scan/_scan.*.so
