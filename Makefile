# `make demo` and `make test` set up everything they need in .venv; nothing else is done by hand.
PYTHON ?= python3
BIN := .venv/bin
# Python compiles what it imports, once, whatever the environment says; pip would compile everything.
unexport PYTHONDONTWRITEBYTECODE
INSTALL = $(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check -c constraints.txt -e
DEMO := runs/scan/jump/fit.optimizer=em/seed-0

.PHONY: demo test test-all lint bench clean

.venv/bin/python:
	$(PYTHON) -m venv --clear .venv

.venv/.demo: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL) '.[report]'
	touch $@

.venv/.ready: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL) '.[dev,seq2seq,lora,report]'
	touch $@ .venv/.demo

# Expectation-maximisation is the quickest fit.
demo: .venv/.demo
	$(BIN)/csl run scan/jump --set fit.optimizer=em
	$(BIN)/csl grammar show $(DEMO)
	$(BIN)/csl grammar explain $(DEMO) "jump around left twice and walk"
	$(BIN)/csl table main runs/scan

# A process for each core, a thread of torch for each. All tests of a file are in one process, and share what it makes.
test: .venv/.ready
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile

# Then the slow ones: long fuzzing, loops of kills, millions of draws, Ray.
test-all: test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile -m slow

lint: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tests/audit.py

bench: .venv/.ready
	for name in induction scaling model sampling seq2seq decoding; do $(BIN)/python benchmarks/$$name.py || exit 1; done

clean:
	rm -rf .venv
