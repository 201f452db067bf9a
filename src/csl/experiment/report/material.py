"""What a report is made from: the files of a run folder, as far as they are there."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csl.data import Example, read_examples
from csl.data.files import read_inputs, read_lines
from csl.data.options import changed
from csl.errors import InputError
from csl.experiment.fitting import load_model, read_run, training_file
from csl.experiment.sampling import card_path
from csl.grammar import Grammar, Rule
from csl.grammar.notation import read_rules
from csl.induction.config import InductionConfig
from csl.model.model import Model


@dataclass(frozen=True)
class Material:
    """A run: its grammar, and what else it has. An empty set of examples means that there is none."""

    folder: Path
    grammar: Grammar
    seeds: tuple[Rule, ...]
    model: Model | None
    train: tuple[Example, ...]
    test: tuple[Example, ...]
    unlabelled: tuple[tuple[str, ...], ...]
    samples: tuple[Example, ...]
    induction: InductionConfig
    config: dict[str, Any]  # config.json
    run: dict[str, Any]  # run.json

    @classmethod
    def read(cls, folder: Path, test: Path | None = None, unlabelled: Path | None = None) -> "Material":
        """Read a run folder; `test` is data/test.tsv of the folder unless it is named."""
        grammar, _ = read_run(folder)
        own = folder / "data" / "test.tsv"
        test = test or (own if own.exists() else None)
        seeds = folder / "seeds.txt"
        config = read_object(folder / "config.json")
        return cls(
            folder,
            grammar,
            tuple(read_rules(seeds)) if seeds.exists() else (),
            load_model(folder) if (folder / "model.npz").exists() else None,
            _training(folder),
            tuple(read_examples(test, columns=("category",))) if test else (),
            tuple(tuple(line.split()) for line in read_inputs(unlabelled)) if unlabelled else (),
            tuple(_samples(folder / "samples.tsv")),
            changed(InductionConfig(), config.get("induction", {}), folder / "config.json"),
            config,
            read_object(folder / "run.json"),
        )


def _training(folder: Path) -> tuple[Example, ...]:
    path = folder / "data" / "train.tsv"
    if not path.exists():
        try:
            path = training_file(folder)
        except InputError:  # not known, or not here any more: the sections about training are empty
            return ()
    return tuple(read_examples(path))


def _samples(path: Path) -> Sequence[Example]:
    """Read the samples, with the columns that their card names, from one file or several shards."""
    card = read_object(card_path(path))
    files = [path.with_name(name) for name in card.get("files", {})] or [path]
    columns = card.get("columns", [])[2:]
    found = [file for file in files if file.exists() and file.stat().st_size]
    return [example for file in found for example in read_examples(file, columns=columns)]


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object; a file that is not there is an empty one."""
    if not path.exists():
        return {}
    try:
        return dict(json.loads("\n".join(line for _, line in read_lines(path))))
    except (ValueError, TypeError) as error:
        raise InputError("not a JSON object; make the run again", path) from error
