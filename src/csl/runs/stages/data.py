"""The data of a run: a split of a benchmark data set, or files, copied into the run folder."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from csl.datasets.registry import data_set, write_task
from csl.datasets.task import Task
from csl.errors import InputError
from csl.examples import Example, write_examples
from csl.examples.example import tally
from csl.examples.formats import container_of, read_rows
from csl.examples.formats.keeping import is_plain, save_rows
from csl.examples.formats.row import Rows
from csl.examples.mixture import one_language
from csl.files import hash_file, hash_folder, read_json, read_lines, write_json, write_text
from csl.grammar.notation import read_rules
from csl.grammar.output_cfg import OutputCfg
from csl.log import Log
from csl.runs.folder import DECODING, PARTS, PREPARATION, Figures
from csl.runs.recipe import READING, DataOptions
from csl.runs.stage import Stage, Work

log = Log("data")
SPLITS = {
    "train": "train",
    "dev": "validation",
    "test": "test",
    "synthetic": "train",
    "labelled": "train",
}  # of a Hugging Face dataset


class Data(Stage):
    """Read the examples, seed rules and output CFG, and write them to `data/`."""

    name = "data"
    keeps = True
    artefacts = {"data/": "the examples, with seed rules and output CFG if there are any; card.json has their origin"}

    def options(self, work: Work) -> Any:
        data = work.recipe.data
        if data.set:
            source = source_folder(data, work.source)
            return {"set": data.set, "split": data.split, "files": hash_folder(source) if source else {}}
        files = {key: [_fingerprint(path) for path in paths] for key, paths in data.files.items()}
        return {**files, "reading": [getattr(data, name) for name in READING]}

    def run(self, work: Work) -> Figures:
        data, folder = work.recipe.data, work.folder.path / "data"
        if data.set:
            log.progress(f"preparing {data.set} …")
            task = data_set(data.set).prepare(source_folder(data, work.source), data.split)
        else:
            task, rows = read_task(data)
            log.info(f"{data.train}: {tally(task.train)}")
        write_task(task, folder, name=data.set or Path(data.train).name, split=data.split)
        if not data.set and not is_plain(rows):
            save_rows(folder / "rows.jsonl", rows)
        for note in task.notes:
            log.info(f"data: {note}")
        figures = {part: len(getattr(task, part)) for part in PARTS}
        if data.synthetic:
            figures["synthetic"] = write_examples(folder / "synthetic.tsv", _examples(data, "synthetic"))
        if data.labelled:
            figures["labelled"] = write_examples(folder / "labelled.tsv", _examples(data, "labelled"))
        if data.decoding:
            write_text(work.folder.path / DECODING, "".join(f"{line}\n" for _, line in read_lines(data.decoding)))
            beside = Path(data.decoding).with_name(Path(PREPARATION).name)
            if beside.is_file():
                write_json(work.folder.path / PREPARATION, read_json(beside))
        if data.values:
            write_text(folder / "values.tsv", "".join(f"{line}\n" for _, line in read_lines(data.values)))
        return figures

    def summary(self, figures: Figures) -> str:
        return ", ".join(f"{number:,} {part}" for part, number in figures.items() if number) + " examples"


def source_folder(data: DataOptions, source: Path | None) -> Path | None:
    """Find the folder of a data set's original files, unless it needs none."""
    if data.split in data_set(data.set).generated:
        return None
    if source is None:
        raise InputError(
            f"{data.set}, split {data.split}, is made from original files: give their folder with --source or in "
            f"CSL_DATA; `csl data fetch {data.set} --out DIR` gets them or says where they are"
        )
    if not source.is_dir():
        raise InputError("not a folder; --source is the folder with the original files", source)
    own = source / data.set.removesuffix("-fifth").replace("-", "_")
    return own if own.is_dir() else source


def read_task(data: DataOptions) -> tuple[Task, Rows]:
    """Read the files of a recipe; return also the rows of the training file."""
    (rows,) = _rows(data, "train")
    dev, test = (list(_examples(data, part)) for part in ("dev", "test"))
    task = Task(
        rows.examples(), dev, test,
        seed_rules=[rule for file in data.seed_rules for rule in read_rules(Path(file))],
        output_cfg=OutputCfg.read(Path(data.output_cfg)) if data.output_cfg else None,
        columns=("category",) if any("category" in example.meta for example in test) else (),
    )  # fmt: skip
    return task, rows


def _examples(data: DataOptions, part: str) -> Iterable[Example]:
    """Read the files of one part as tokens."""
    return (example for rows in _rows(data, part) for example in rows.examples())


def _rows(data: DataOptions, part: str) -> Iterator[Rows]:
    """Read the files of one part; what is seen of them, and left out, is reported."""
    labelled = part == "labelled"
    for path in data.files.get(part, ()):
        found = read_rows(
            path, data.format or None, input_column=data.input_column or None,
            output_column=data.output_column or None, split=_split(data, part, path), skip_bad=data.skip_bad,
            inputs_only=labelled,
        )  # fmt: skip
        if labelled:  # no output: the system abstained
            rows = [row for row in found.rows if row.output]
            log.info(f"{path}: {len(rows):,} of {len(found.rows):,} inputs have an output")
            if not rows:
                raise InputError("no input has an output: the system abstained from all", path)
            found = replace(found, rows=rows)
        if not data.language:
            found = one_language(found, path, skip_bad=data.skip_bad)
        if found.layout.container != "tsv" or found.layout.header:  # something was guessed
            log.info(f"{path}: {found.layout.describe()}")
        for remark in found.remarks(path):
            log.warning(remark)
        yield found


def _split(data: DataOptions, part: str, path: Path) -> str | None:
    """Choose the split of a Hugging Face dataset; a folder with `state.json` has none."""
    if data.split and part == "train":
        return data.split
    return SPLITS.get(part, "train") if container_of(path) == "dataset" and not (path / "state.json").exists() else None


def _fingerprint(path: Path) -> Any:
    """Hash a file or a folder; a dataset of the hub goes by its name."""
    if path.is_dir():
        return hash_folder(path)
    return str(path) if container_of(path) == "dataset" else hash_file(path)
