# `make demo` and `make test` set up everything they need in .venv; nothing else is done by hand.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test lint bench clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(if $(wildcard $@),,--clear) .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,model,seq2seq]'
	touch $@

demo: $(READY)
	$(BIN)/csl run scan/jump
	$(BIN)/csl grammar show runs/scan/jump/seed-0
	$(BIN)/csl grammar explain runs/scan/jump/seed-0 "jump around left twice and walk"
	$(BIN)/csl table main runs/scan

test: $(READY)
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tests/audit.py

bench: $(READY)
	$(BIN)/python benchmarks/induction.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/model.py
	$(BIN)/python benchmarks/sampling.py
	$(BIN)/python benchmarks/seq2seq.py

clean:
	rm -rf .venv
