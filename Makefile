# `make demo` and `make test` set up everything they need in .venv; nothing else is done by hand.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test lint bench clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,model,seq2seq]'
	touch $@

demo: $(READY)
	$(BIN)/csl data prepare scan --split jump --out runs/demo/data
	$(BIN)/csl augment runs/demo/data/train.tsv --out runs/demo/run
	$(BIN)/csl grammar show runs/demo/run
	$(BIN)/csl grammar explain runs/demo/run "jump around left twice and walk"
	$(BIN)/csl evaluate runs/demo/run runs/demo/data/test.tsv

test: $(READY)
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/induction.py
	$(BIN)/python benchmarks/model.py
	$(BIN)/python benchmarks/sampling.py
	$(BIN)/python benchmarks/seq2seq.py

clean:
	rm -rf .venv runs
