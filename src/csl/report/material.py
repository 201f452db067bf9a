"""What a report is made from: the files of a run folder, as far as they are there."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csl.errors import InputError
from csl.examples import Example, read_examples, split_tokens
from csl.examples.formats import read_inputs
from csl.files import read_json
from csl.grammar import Grammar, Rule
from csl.grammar.notation import read_rules
from csl.induction.config import InductionConfig
from csl.model.model import Model
from csl.options import changed
from csl.runs.fitting import load_model, read_run, training_file
from csl.runs.sampling import card_path


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
        config = read_object(folder / "config.json", induction=dict, train=str)
        return cls(
            folder,
            grammar,
            tuple(read_rules(seeds)) if seeds.exists() else (),
            load_model(folder) if (folder / "model.npz").exists() else None,
            _training(folder),
            tuple(read_examples(test, columns=("category",))) if test else (),
            tuple(split_tokens(line) for line in read_inputs(unlabelled)) if unlabelled else (),
            tuple(_samples(folder / "samples.tsv")),
            changed(InductionConfig(), config.get("induction", {}), folder / "config.json"),
            config,
            read_object(folder / "run.json", title=str, settings=dict, versions=dict),
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
    card = read_object(card_path(path), files=dict, columns=list)
    names = [*card.get("files", {})] or [path.name]
    if outside := [name for name in names if Path(name).name != name]:
        raise InputError(f"names the file {outside[0]!r}, which is not beside it", card_path(path))
    columns = [str(column) for column in card.get("columns", [])[2:]]
    found = [path.with_name(name) for name in names if os.path.exists(path.with_name(name))]
    return [example for file in found if file.stat().st_size for example in read_examples(file, columns=columns)]


def read_object(path: Path, **kinds: type) -> dict[str, Any]:
    """Read a JSON object; a file that is not there is an empty one. Fields that it has must be of these kinds."""
    if not path.exists():
        return {}
    try:
        found = read_json(path)
        if not isinstance(found, dict):
            raise TypeError("not a JSON object")
        for key, kind in kinds.items():
            if not isinstance(found.get(key, kind()), kind):
                raise TypeError(f"{key!r} is not as it was written")
        return found
    except (ValueError, TypeError) as error:
        raise InputError(f"{error}; make the run again", path) from error
