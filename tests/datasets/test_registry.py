import hashlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from csl import __version__
from csl.datasets.registry import DATA_SETS, data_set, write_task
from csl.datasets.task import DataSet, Task, read_split
from csl.errors import InputError
from csl.examples import Example, read_examples
from csl.files import hash_folder, read_json
from csl.grammar import Rule
from csl.grammar.notation import read_grammar
from csl.grammar.output_cfg import OutputCfg

TASK = Task(
    train=[Example.of("spring ein mal", "JUMP", kind="kurz"), Example.of("grüße zwei mal", "GRÜSSE GRÜSSE")],
    dev=[Example.of("a", "A")],
    test=[Example.of("b", "B")],
    seed_rules=[Rule(("spring",), ("JUMP",))],
    output_cfg=OutputCfg.parse(["ROOT => JUMP"]),
    columns=("kind",),
    origin="written for this test",
    licence="none",
    notes=["a note"],
)


def test_unknown_names_and_missing_sources_are_input_errors_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'geoquerry'; did you mean 'geoquery'"):
        data_set("geoquerry")
    with pytest.raises(InputError, match="scan, cogs, geoquery"):
        data_set("xyz")
    with pytest.raises(InputError, match="'turnleft'; did you mean 'turn_left'"):
        data_set("scan").prepare(None, "turnleft")
    for name, split in (("cogs", "gen"), ("scan", "mcd1"), ("geoquery", "standard"), ("smcalflow-cs-fifth", "8")):
        with pytest.raises(InputError, match=rf"--source.*csl data fetch {name}"):
            data_set(name).prepare(None, split)
    with pytest.raises(InputError, match="nowhere: is not a folder"):
        data_set("cogs").prepare(tmp_path / "nowhere", "gen")


@pytest.mark.parametrize("known", DATA_SETS.values(), ids=lambda known: known.name)
def test_a_prepared_task_has_the_licence_of_its_data_set(known: DataSet, tmp_path: Path) -> None:
    assert known.generated <= set(known.splits)
    made = replace(known, make=lambda source, split: TASK).prepare(tmp_path, known.splits[0])
    assert made == replace(TASK, licence=known.licence)


ITEMS = {1: Example.of("a", "A"), 2: Example.of("b", "B"), "x.1": Example.of("c", "C")}


def test_a_split_is_lists_of_ids(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"train": [2, "x.1"], "test": [1], "name": "s"}')
    assert read_split(tmp_path / "s.json", ("train", "dev", "test"), ITEMS) == [
        [ITEMS[2], ITEMS["x.1"]], [], [ITEMS[1]],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 3000, "expected lists of ids"),
        ("[1]", "expected lists of ids"),
        ("{", "expected lists of ids"),
        ('{"train": [1]}', "expected lists of ids.*'test'"),
        ('{"train": [1], "test": 2}', "expected lists of ids"),
        ('{"train": [true], "test": []}', "expected lists of ids"),
        ('{"train": [[1]], "test": []}', "expected lists of ids"),
        ('{"train": [7], "test": [1, 8]}', "2 ids .* 7"),
        ('{"train": [1], "test": [1]}', "an id occurs twice"),
    ],
)
def test_a_broken_split_is_an_input_error(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(InputError, match=rf"s\.json: {reason}"):
        read_split(tmp_path / "s.json", ("train", "test"), ITEMS)


def test_a_written_task_can_be_read_back(tmp_path: Path) -> None:
    card = write_task(TASK, tmp_path, name="tiny", split="one")
    assert list(read_examples(tmp_path / "train.tsv", columns=("kind",))) == TASK.train
    assert [e.meta["kind"] for e in read_examples(tmp_path / "train.tsv", columns=("kind",))] == ["kurz", ""]
    assert list(read_grammar(tmp_path / "seed_rules.txt")) == TASK.seed_rules
    assert TASK.output_cfg is not None
    assert OutputCfg.read(tmp_path / "output.cfg").productions == TASK.output_cfg.productions
    assert json.loads((tmp_path / "card.json").read_text("utf-8")) == card
    assert card["sizes"] == {"train.tsv": 2, "dev.tsv": 1, "test.tsv": 1, "seed_rules.txt": 1, "output.cfg": 1}
    assert (card["name"], card["split"], card["csl_version"]) == ("tiny", "one", __version__)
    for name, checksum in card["sha256"].items():
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == checksum


def test_the_same_task_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write_task(TASK, tmp_path / folder, name="tiny", split="one")
    assert hash_folder(tmp_path / "a") == hash_folder(tmp_path / "b")


def test_files_of_an_earlier_task_do_not_stay(tmp_path: Path) -> None:
    write_task(TASK, tmp_path, name="tiny", split="one")
    (tmp_path / "mine.txt").write_text("kept")
    write_task(Task(TASK.train, [], TASK.test), tmp_path, name="tiny", split="two")
    assert {p.name for p in tmp_path.iterdir()} == {"train.tsv", "test.tsv", "card.json", "mine.txt"}


def test_files_that_are_not_of_a_task_stay(tmp_path: Path) -> None:
    (tmp_path / "seed_rules.txt").write_text("mine")
    with pytest.raises(InputError, match=r"'seed_rules\.txt'.*choose another folder"):
        write_task(TASK, tmp_path, name="tiny", split="one")
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"seed_rules.txt": "mine"}


def test_a_task_that_was_not_written_to_the_end_is_written_again(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        raise KeyboardInterrupt

    cfg: Any = SimpleNamespace(productions=[1], write=fail)
    with pytest.raises(KeyboardInterrupt):
        write_task(replace(TASK, output_cfg=cfg), tmp_path, name="tiny", split="one")
    assert (tmp_path / "train.tsv").exists()
    card = write_task(TASK, tmp_path, name="tiny", split="one")
    assert read_json(tmp_path / "card.json") == card
