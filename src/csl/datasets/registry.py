"""The data sets by name, and the folder that a prepared task is written to.

A data set's module is imported when it is asked for; it offers its split names and a function from (folder with the
original files or None, split) to a `Task`.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from csl import __version__
from csl.datasets.task import Task
from csl.errors import InputError, nearest
from csl.examples import write_examples
from csl.files import read_json, write_json
from csl.grammar.notation import write_grammar

FILES = ("train.tsv", "dev.tsv", "test.tsv", "seed_rules.txt", "output.cfg")

Sizes = tuple[str, str, str]  # train, dev, test as the paper prints them, "" where it has none


@dataclass(frozen=True, slots=True)
class DataSet:
    """A benchmark data set: where its code is, and what there is to know before it is prepared."""

    name: str
    module: str
    licence: str
    published_sizes: Mapping[str, Sizes]  # the paper's table of sizes, by split
    generated: frozenset[str] = frozenset()  # splits that need no original files
    prepare_function: str = "prepare"
    splits_constant: str = "SPLITS"

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of its splits; the first is the default."""
        return tuple(getattr(import_module(self.module), self.splits_constant))

    def prepare(self, source: Path | None, split: str) -> Task:
        """Make a task of the original files in the folder `source`."""
        if split not in self.splits:
            raise InputError(f"{self.name} has no split {split!r}; {nearest(split, self.splits)}")
        if source is None and split not in self.generated:
            raise InputError(
                f"{self.name}, split {split}, is made from original files: name their folder with --source; "
                f"`csl data fetch {self.name} --out DIR` gets them or says where they are"
            )
        if source is not None and not source.is_dir():
            raise InputError("is not a folder; --source names the folder with the original files", source)
        task: Task = getattr(import_module(self.module), self.prepare_function)(source, split)
        return task


_SMCALFLOW_LICENCE = "CC-BY-SA-4.0"

DATA_SETS = {
    data_set.name: data_set
    for data_set in (
        DataSet(
            "scan",
            "csl.datasets.scan",
            licence="BSD",
            published_sizes={
                "jump": ("14670", "", "7706"),
                "turn_left": ("21890", "", "1208"),
                "length": ("11990", "", "3920"),
                "mcd1": ("8365", "1046", "1045"),
                "mcd2": ("8365", "1046", "1045"),
                "mcd3": ("8365", "1046", "1045"),
            },
            generated=frozenset(("jump", "turn_left", "length")),
        ),
        DataSet(
            "cogs",
            "csl.datasets.cogs",
            licence="MIT",
            published_sizes={"gen": ("24K", "12K", "12K")},
        ),
        DataSet(
            "geoquery",
            "csl.datasets.geoquery",
            licence="GPL-2.0",
            published_sizes={
                "standard": ("600", "", "280"),
                "template_1": ("438", "110", "332"),
                "template_2": ("439", "110", "331"),
                "template_3": ("440", "110", "330"),
                "tmcd_1": ("440", "110", "330"),
                "tmcd_2": ("440", "110", "330"),
                "tmcd_3": ("440", "110", "330"),
                "length": ("440", "110", "330"),
            },
        ),
        DataSet(
            "smcalflow-cs",
            "csl.datasets.smcalflow",
            licence=_SMCALFLOW_LICENCE,
            published_sizes={
                "8": ("25412", "1324", "1325"),
                "16": ("25420", "1324", "1325"),
                "32": ("25436", "1324", "1325"),
            },
        ),
        DataSet(
            "smcalflow-cs-tenth",
            "csl.datasets.smcalflow",
            licence=_SMCALFLOW_LICENCE,
            published_sizes={},
            prepare_function="prepare_tenth",
            splits_constant="SPLITS_TENTH",
        ),
    )
}


def data_set(name: str) -> DataSet:
    """Look a data set up; an unknown name is an error that says which known one is nearest."""
    if name not in DATA_SETS:
        raise InputError(f"unknown data set {name!r}; {nearest(name, tuple(DATA_SETS))}")
    return DATA_SETS[name]


def write_task(task: Task, folder: Path, **card: Any) -> dict[str, Any]:
    """Write a task to a folder, and last its `card.json`, which starts with the fields given here; return the card.

    The same task gives the same bytes. Files of an earlier task are replaced or removed; others stop it.
    """
    own = _files_of(folder)
    if strange := next((name for name in ("card.json", *FILES) if name not in own and (folder / name).exists()), None):
        raise InputError(f"holds {strange!r}, which is of no data set made here; name another folder", folder)
    files: dict[str, tuple[int, Callable[[Path], object]]] = {
        "train.tsv": (len(task.train), lambda path: write_examples(path, task.train, columns=task.columns)),
        "dev.tsv": (len(task.dev), lambda path: write_examples(path, task.dev, columns=task.columns)),
        "test.tsv": (len(task.test), lambda path: write_examples(path, task.test, columns=task.columns)),
        "seed_rules.txt": (len(task.seed_rules), lambda path: write_grammar(path, task.seed_rules)),
    }
    if task.output_cfg:
        files["output.cfg"] = (len(task.output_cfg.productions), task.output_cfg.write)
    write_json(folder / "card.json", {"sha256": dict.fromkeys(FILES)})  # all are ours from here on, wherever it ends
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
    sizes: dict[str, int] = {}
    checksums: dict[str, str] = {}
    for name, (size, write) in files.items():
        if size:
            write(folder / name)
            sizes[name] = size
            checksums[name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    full_card = {
        **card,
        "origin": task.origin,
        "licence": task.licence,
        "sizes": sizes,
        "sha256": checksums,
        "notes": task.notes,
        "csl_version": __version__,
    }
    write_json(folder / "card.json", full_card)
    return full_card


def _files_of(folder: Path) -> set[str]:
    """List the files that an earlier task has in a folder."""
    try:
        return {"card.json", *read_json(folder / "card.json")["sha256"]}
    except (InputError, ValueError, KeyError, TypeError):
        return set()
