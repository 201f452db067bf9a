"""Benchmark data sets, and tasks: one split of a data set with everything that learning it takes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from csl.datasets.fetch import Home
from csl.errors import InputError, nearest
from csl.examples import Example
from csl.files import read_json
from csl.grammar import Rule
from csl.grammar.output_cfg import OutputCfg

PublishedSizes = tuple[str, str, str]  # train, dev, test as the paper prints them, "" where it has none


@dataclass(frozen=True)
class Task:
    """What preparing a data set gives; `csl data prepare` writes it to a folder."""

    train: list[Example]
    dev: list[Example]
    test: list[Example]
    seed_rules: list[Rule] = field(default_factory=list)
    output_cfg: OutputCfg | None = None
    columns: tuple[str, ...] = ()  # names of the meta columns to keep, such as "category"
    origin: str = ""  # where the original files come from, in words
    licence: str = ""
    notes: list[str] = field(default_factory=list)  # where the files differ from the published figures, and why


@dataclass(frozen=True)
class DataSet:
    """A benchmark data set: how it is prepared, and what there is to know before."""

    name: str
    make: Callable[[Path, str], Task]  # from the folder with the original files and the name of a split
    published_sizes: Mapping[str, PublishedSizes]  # by split; the first split is the default
    licence: str
    home: Home
    generated: frozenset[str] = frozenset()  # splits that need no original files
    category: Callable[[Example], str] | None = None  # of any pair, also a synthetic one

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of its splits."""
        return tuple(self.published_sizes)

    def prepare(self, source: Path | None, split: str) -> Task:
        """Make a task of the original files in the folder `source`."""
        if split not in self.splits:
            raise InputError(f"{self.name} has no split {split!r}; {nearest(split, self.splits)}")
        if source is None and split not in self.generated:
            raise InputError(
                f"{self.name}, split {split}, is made from original files: give their folder with --source; "
                f"`csl data fetch {self.name} --out DIR` downloads them or tells where they are"
            )
        if source is not None and not source.is_dir():
            raise InputError("is not a folder; --source must be the folder with the original files", source)
        return replace(self.make(source or Path(), split), licence=self.licence)


def compare_sizes(published: PublishedSizes, *parts: Sequence[Example]) -> list[str]:
    """Write a note if the parts of a split are not as large as the paper says."""
    found = tuple(str(len(part) or "") for part in parts)
    differs = f"train, dev and test have {found} examples; the paper's table says {published}"
    return [] if found == published else [differs]


def read_split(path: Path, keys: Sequence[str], examples: Mapping[Any, Example]) -> list[list[Example]]:
    """Read a split: a JSON file with disjoint lists of ids under these keys. A list `dev` may be missing."""
    try:
        record = {"dev": [], **read_json(path)}
        lists = [list(record[key]) for key in keys]
        if not all(type(i) in (int, str) for part in lists for i in part):
            raise TypeError("an id is a number or a text")
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"expected lists of ids under {', '.join(keys)} ({error})", path) from error
    ids = [i for part in lists for i in part]
    if unknown := [i for i in ids if i not in examples]:
        raise InputError(f"{len(unknown)} ids are of no example, the first is {unknown[0]!r}", path)
    if len(set(ids)) < len(ids):
        raise InputError("an id occurs twice; expected disjoint lists", path)
    return [[examples[i] for i in part] for part in lists]
