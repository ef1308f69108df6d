# make demo: create the environment, install, score the shipped data.   make test: the tests that are not slow, in two
# minutes.   .ci/run: what must hold for every change.   make everything: all there is to test, in about an hour.
#
# pip is enough. Where uv is at hand it takes pip's place: the same environments, in seconds.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
UV ?= $(shell command -v uv 2>/dev/null)

ifeq ($(UV),)
NEW = $(PYTHON) -m venv
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
else
NEW = $(UV) venv --quiet --allow-existing --python $(PYTHON)
INSTALL = $(UV) pip install --quiet --python $(BIN)/python
endif

.PHONY: demo retrieve test test-python-reader test-all everything costs mutants fuzz lint types check docs cards site lock clean

demo: $(VENV)/installed
	@$(BIN)/treceval data/qrels.tsv data/runs/*.txt -m MAP -m ndcg@10 -m "P(rel=2)@5"

# What `treceval retrieve` needs, some 2 GB; without it, its tests say that they are skipped. On a machine without a
# GPU, install torch's CPU build before, or pip takes the one for GPUs.
retrieve: $(VENV)/installed-retrieve

# A process for each core. The tests of a file stay in one, which prepares once what they share; some could not run beside
# each other. Byte code is written even where the environment forbids it, or each process compiles all tests again.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses auto --dist loadfile

# The tests that are not slow (CONTRIBUTING.md says which are), with the compiled scanner.
test: $(VENV)/installed-test
	TRECEVAL_READER=compiled $(PYTEST) -m 'not slow'

# What is tested with the Python reader too, but for tests that have compared the two readers already; what is computed
# from runs does not depend on how they were read. SPEED=slow runs the slow tests.
READING = checking_reading cli_messages cli_trec_eval data_objects io_damaged io_formats io_gzipped io_judged_ranking \
    io_readers io_reading measuring_by_query measuring_graded measuring_lists measuring_spelling runs scan \
    scoring_drop_in scoring_evaluator scoring_peers scoring_signatures scoring_source_systems scoring_trec_eval

SPEED = not slow
test-python-reader: $(VENV)/installed-test
	TRECEVAL_READER=python $(PYTEST) -m 'not both_readers and $(SPEED)' $(READING:%=tests/test_%.py)

test-all: test test-python-reader retrieve
	TRECEVAL_READER=compiled $(PYTEST) -m slow
	$(MAKE) test-python-reader SPEED=slow

everything:
	.ci/run everything

# What every command and its refusals cost as their input doubles, and the memory that they declare, in five minutes.
costs: $(VENV)/installed-test
	$(BIN)/python tests/costs.py

# Breaks lines of the package and counts what the quick tests notice. SAMPLE=60 tries some of the 300.
mutants: $(VENV)/installed-test
	$(BIN)/python .ci/mutants.py run $(if $(SAMPLE),--sample $(SAMPLE))

# Coverage-guided fuzzing of what reads files, by Atheris in an environment of its own, $(SECONDS) seconds a target;
# TARGET=json fuzzes one. There are wheels for Python 3.11 to 3.13, of which the last finds less.
SECONDS ?= 300
fuzz: build/fuzz/bin/atheris
	for target in $(or $(TARGET),scan json saved documents); do build/fuzz/bin/python tests/fuzz.py $$target \
	    -max_total_time=$(SECONDS) -timeout=20 -artifact_prefix=build/fuzz/ || exit; done

build/fuzz/bin/atheris: setup.cfg setup.py treceval_py/scan/_scan.pyx
	$(PYTHON) -m venv build/fuzz
	build/fuzz/bin/python -m pip install --quiet --constraint locks/test.txt --editable . atheris
	@touch $@

lint: $(VENV)/installed-docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python .ci/layers.py
	$(BIN)/python .ci/docstrings.py

types: $(VENV)/installed-test
	$(BIN)/mypy

check: test lint types

# The pages in docs/ that list what is declared, and the stubs of the public names. A test fails if a file in git is stale.
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

# The versions that tests run in, locks/*.txt, made anew from setup.cfg by uv. KEEP=1 changes only what setup.cfg demands.
lock: $(VENV)/bin/python
	$(BIN)/python .ci/lock.py $(or $(UV),uv) $(if $(KEEP),--keep)

$(VENV)/bin/python:
	$(NEW) $(VENV)

$(VENV)/installed: $(VENV)/bin/python setup.cfg setup.py treceval_py/scan/_scan.pyx
	$(INSTALL) --constraint locks/test.txt --editable .
	@$(BIN)/python -m compileall -q treceval_py
	@touch $@

$(VENV)/installed-%: locks/%.txt $(VENV)/installed
	$(INSTALL) --requirement $<
	@touch $@

clean:
	rm -rf $(VENV) build *.egg-info treceval_py/scan/_scan.c treceval_py/scan/_scan.*.so
