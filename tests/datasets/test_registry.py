import hashlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from csl import __version__
from csl.datasets.registry import DATA_SETS, data_set, write_task
from csl.datasets.task import Task
from csl.errors import InputError
from csl.examples import Example, read_examples
from csl.files import read_json
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


def test_an_unknown_name_names_the_nearest_known_one() -> None:
    with pytest.raises(InputError, match="unknown data set 'geoquerry'; did you mean 'geoquery'"):
        data_set("geoquerry")
    with pytest.raises(InputError, match="known are scan, cogs, geoquery"):
        data_set("xyz")


def test_an_unknown_split_names_the_nearest_known_one() -> None:
    with pytest.raises(InputError, match="scan has no split 'turnleft'; did you mean 'turn_left'"):
        data_set("scan").prepare(None, "turnleft")


def test_a_data_set_that_needs_its_files_says_so() -> None:
    with pytest.raises(InputError, match=r"--source.*csl data fetch cogs"):
        data_set("cogs").prepare(None, "gen")
    with pytest.raises(InputError, match=r"--source.*csl data fetch scan"):
        data_set("scan").prepare(None, "mcd1")


def test_a_source_that_is_no_folder_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a folder"):
        data_set("cogs").prepare(tmp_path / "nowhere", "gen")


@pytest.mark.parametrize("name", DATA_SETS)
def test_sizes_and_generated_splits_are_about_splits_that_exist(name: str) -> None:
    known = data_set(name)
    assert known.splits
    assert set(known.published_sizes) <= set(known.splits)
    assert known.generated <= set(known.splits)


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
    first, second = ({p.name: p.read_bytes() for p in (tmp_path / f).iterdir()} for f in ("a", "b"))
    assert first == second


def test_files_of_an_earlier_task_do_not_stay(tmp_path: Path) -> None:
    write_task(TASK, tmp_path, name="tiny", split="one")
    (tmp_path / "mine.txt").write_text("kept")
    write_task(Task(TASK.train, [], TASK.test), tmp_path, name="tiny", split="two")
    assert {p.name for p in tmp_path.iterdir()} == {"train.tsv", "test.tsv", "card.json", "mine.txt"}


def test_files_that_are_not_of_a_task_stay(tmp_path: Path) -> None:
    (tmp_path / "seed_rules.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds 'seed_rules\.txt', which is of no data set made here"):
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
