"""The data stage: files of any format become the examples of a run."""

import json
from pathlib import Path

import pytest

from csl.errors import InputError
from csl.examples import Example
from csl.runs.recipe import DataOptions, Recipe
from csl.runs.stages.data import read_task

A, B, C = Example.of("a", "f(a)"), Example.of("b", "f(b)"), Example.of("c", "f(c)")


def test_files_of_several_formats(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("question,query,id\na,f(a),1\n", "utf-8")
    (tmp_path / "test.jsonl").write_text(json.dumps({"text": "b", "program": "f(b)", "category": "x"}) + "\n", "utf-8")
    task, _ = read_task(DataOptions(train=str(tmp_path / "train.csv"), test=str(tmp_path / "test.jsonl")))
    assert (task.train, task.test, task.columns) == ([A], [B], ("category",))


def test_bad_rows_are_left_out_if_asked(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("a\tf(a)\nb\n", "utf-8")
    with pytest.raises(InputError, match=r"train\.tsv:2: "):
        read_task(DataOptions(train=str(tmp_path / "train.tsv")))
    assert read_task(DataOptions(train=str(tmp_path / "train.tsv"), skip_bad=True))[0].train == [A]


def test_each_part_has_its_split_of_a_dataset(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    one, two, three = (
        datasets.Dataset.from_dict({"input": [e.source_text], "output": [e.target_text]}) for e in (A, B, C)
    )
    datasets.DatasetDict(train=one, validation=two, test=three).save_to_disk(tmp_path / "all")
    one.save_to_disk(tmp_path / "one")
    name = str(tmp_path / "all")
    task, _ = read_task(DataOptions(train=name, dev=name, test=name))
    assert (task.train, task.dev, task.test) == ([A], [B], [C])
    assert read_task(DataOptions(train=name, split="test"))[0].train == [C]
    assert read_task(DataOptions(train=str(tmp_path / "one"), test=str(tmp_path / "one")))[0].test == [A]


def test_the_recipe_of_a_run_reads_its_own_copies() -> None:
    recipe = Recipe().changed({"data.train": "x.csv", "data.input_column": "q", "data.format": "csv"})
    assert "input_column" not in recipe.to_toml()
    assert "data/train.tsv" in recipe.to_toml()
    with pytest.raises(InputError, match="'input_column'"):
        Recipe().changed({"data.input_field": "q"})
