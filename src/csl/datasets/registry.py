"""The data sets by name, and the folder that a prepared task is written to."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from csl import __version__
from csl.datasets import cogs, geoquery, scan, smcalflow
from csl.datasets.task import DataSet, Task
from csl.errors import InputError, nearest
from csl.examples import write_examples
from csl.files import hash_file, read_json, write_json
from csl.grammar.notation import write_grammar

FILES = ("train.tsv", "dev.tsv", "test.tsv", "seed_rules.txt", "output.cfg")

DATA_SETS = {known.name: known for known in (scan.SCAN, cogs.COGS, geoquery.GEOQUERY, smcalflow.FULL, smcalflow.FIFTH)}


def data_set(name: str) -> DataSet:
    """Look up a data set; the error for an unknown name tells the nearest known one."""
    if name not in DATA_SETS:
        raise InputError(f"unknown data set {name!r}; {nearest(name, tuple(DATA_SETS))}")
    return DATA_SETS[name]


def write_task(task: Task, folder: Path, **card: Any) -> dict[str, Any]:
    """Write a task to a folder, and last its `card.json`, which starts with the fields given here; return the card.

    The same task gives the same bytes. Files of an earlier task are replaced or removed; other files are an error.
    """
    own = _files_of(folder)
    if foreign := next((name for name in ("card.json", *FILES) if name not in own and (folder / name).exists()), None):
        raise InputError(f"contains {foreign!r}, which is not of a prepared data set; choose another folder", folder)
    files: dict[str, tuple[int, Callable[[Path], object]]] = {
        f"{part}.tsv": (len(examples), partial(write_examples, examples=examples, columns=task.columns))
        for part, examples in (("train", task.train), ("dev", task.dev), ("test", task.test))
    }
    files["seed_rules.txt"] = len(task.seed_rules), partial(write_grammar, rules=task.seed_rules)
    if task.output_cfg:
        files["output.cfg"] = len(task.output_cfg.productions), task.output_cfg.write
    write_json(folder / "card.json", {"sha256": dict.fromkeys(FILES)})  # from here on all of them are ours
    for name in {*FILES, *own} - {"card.json"}:
        (folder / name).unlink(missing_ok=True)
    sizes = {name: size for name, (size, _) in files.items() if size}
    for name in sizes:
        files[name][1](folder / name)
    full_card = {
        **card,
        "origin": task.origin,
        "licence": task.licence,
        "sizes": sizes,
        "sha256": {name: hash_file(folder / name) for name in sizes},
        "notes": task.notes,
        "csl_version": __version__,
    }
    write_json(folder / "card.json", full_card)
    return full_card


def _files_of(folder: Path) -> set[str]:
    """List the files that an earlier task has in a folder."""
    try:
        listed = set(read_json(folder / "card.json")["sha256"])
    except (InputError, ValueError, KeyError, TypeError):
        return set()
    return {"card.json", *listed.intersection(FILES)}
