"""The stage that prepares raw text, and what the stages after it make of it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from csl.errors import InputError
from csl.examples import Example, write_examples
from csl.grammar import Grammar, Rule
from csl.grammar.output_cfg import OutputCfg
from csl.model.model import Model
from csl.preparing.preparation import prepare
from csl.runs.folder import RunFolder
from csl.runs.recipe import Recipe
from csl.runs.stage import Run, Work
from csl.runs.stages.prepare import find_preparation
from csl.runs.stages.registry import AUGMENT, DATA, INDUCE, PREPARE
from csl.runs.stages.sample import DEEPER, for_raw_text
from csl.sampling.config import PRESETS

from ..raw import GEO, SETS
from .tiny import TRAIN

QUICK = {"fit.states": 4, "fit.steps": 5, "fit.optimizer": "em", "fit.restarts": 1, "sampling.number": 50}
PREPARED = {"prepared/train.tsv", "prepared/output.cfg", "prepared/seed_rules.txt", "prepared/preparation.json"}
PREPARED |= {"prepared/decoding.cfg", "prepared/decoding.lark"}


def run_of(folder: Path, pairs: list[tuple[str, str]], **options: Any) -> Run:
    train = folder / "train.tsv"
    write_examples(train, [Example.of(*pair) for pair in pairs])
    settings = {"data.train": str(train)} | {name.replace("__", "."): value for name, value in options.items()}
    recipe = Recipe("raw").with_preset("auto").changed(settings | QUICK).seeded(0)
    return Run(Work(RunFolder(folder / "run"), recipe))


@pytest.mark.parametrize("name", SETS)
def test_raw_pairs_are_prepared(name: str, tmp_path: Path) -> None:
    run = run_of(tmp_path, SETS[name])
    figures = run.do((DATA, PREPARE))["prepare"]
    found = prepare(SETS[name])
    assert figures["language"] == name
    assert figures["values"] == len(found.preparation.values.entries) > 0
    assert set(run.folder.record.stages["prepare"].files) == PREPARED
    assert run.folder.training() == found.examples  # no token has a space in it
    assert run.folder.preparation() == found.preparation
    cfg = run.folder.output_cfg()
    assert cfg
    assert cfg.productions == found.categories.cfg.productions
    assert run.folder.seed_rules() == found.seed_rules


def test_flat_outputs_are_left_alone(tmp_path: Path) -> None:
    run = run_of(tmp_path, list(TRAIN.items()))
    assert run.do((DATA, PREPARE))["prepare"] == {"language": "tokens"}
    assert not (tmp_path / "run" / "prepared").exists()
    assert run.folder.training() == run.folder.examples()
    assert run.folder.preparation() is None


def test_prepared_data_is_left_alone_on_request(tmp_path: Path) -> None:
    assert "prepare" not in run_of(tmp_path, GEO, data__language="none").do((DATA, PREPARE))


def test_a_language_is_forced_or_refused(tmp_path: Path) -> None:
    assert run_of(tmp_path, GEO, data__language="code").do((DATA, PREPARE))["prepare"]["language"] == "code"
    with pytest.raises(InputError, match="klingon"):
        find_preparation([Example.of(*pair) for pair in GEO], "klingon")


def test_an_output_cfg_of_the_categories_is_used(tmp_path: Path) -> None:
    found = prepare(GEO)
    kept = [p for p in found.categories.cfg.productions if p.rhs != ("capital",)]
    OutputCfg(kept).write(tmp_path / "my.cfg")
    run = run_of(tmp_path, GEO, data__output_cfg=str(tmp_path / "my.cfg"))
    run.do((DATA, PREPARE))
    cfg = run.folder.output_cfg()
    assert cfg
    assert cfg.productions == tuple(kept)


def test_an_output_cfg_for_outputs_as_they_are_leaves_these_alone() -> None:
    pairs = [Example.of(f"say {x}", f"say ( {x} )") for x in "abc"]
    cfg = OutputCfg.parse(["ROOT => say ( ##X )", "X => a", "X => b", "X => c"])
    assert find_preparation(pairs, output_cfg=cfg) is None
    assert find_preparation(pairs) is not None


def test_an_output_cfg_of_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="csl types"):
        find_preparation([Example.of(*pair) for pair in GEO], output_cfg=OutputCfg.parse(["ROOT => x"]))


def test_values_of_a_file_are_added_with_their_capitals(tmp_path: Path) -> None:
    lines = "# more states\nstateid\tNorth Dakota\tstateid('north dakota')\n\nstateid\tNevada\n"
    (tmp_path / "values.tsv").write_text(lines, "utf-8")
    run = run_of(tmp_path, GEO, data__values=str(tmp_path / "values.tsv"))
    run.do((DATA, PREPARE))
    assert (tmp_path / "run" / "data" / "values.tsv").read_text("utf-8") == lines
    preparation = run.folder.preparation()
    assert preparation
    for name in ("North Dakota", "Nevada"):
        (reading,) = preparation.readings(f"How big is {name}?")
        assert preparation.output(("«stateid»0",), reading.values) == f"stateid('{name.lower()}')"
        assert preparation.input(reading.source, reading.values) == f"How big is {name}?"


@pytest.mark.parametrize(
    ("line", "remedy"),
    [("statid\tMaine\tm", "stateid"), ("stateid", "tabs"), ("stateid\t\tx", "tabs"), ("a\tb\tc\td", "tabs")],
)
def test_bad_lines_of_values_are_refused(line: str, remedy: str, tmp_path: Path) -> None:
    (tmp_path / "values.tsv").write_text(f"stateid\tMaine\n{line}\n", "utf-8")
    run = run_of(tmp_path, GEO, data__values=str(tmp_path / "values.tsv"))
    with pytest.raises(InputError, match=remedy) as refused:
        run.do((DATA, PREPARE))
    assert str(refused.value).startswith(f"{tmp_path / 'values.tsv'}:2: ")
    assert "\n" not in str(refused.value)


def test_values_without_types_are_refused(tmp_path: Path) -> None:
    (tmp_path / "values.tsv").write_text("x\ty\tz\n", "utf-8")
    with pytest.raises(InputError, match="values"):
        run_of(tmp_path, list(TRAIN.items()), data__values=str(tmp_path / "values.tsv")).do((DATA, PREPARE))


def test_a_complete_preparation_is_kept(tmp_path: Path) -> None:
    run_of(tmp_path, GEO).do((DATA, PREPARE))
    again = run_of(tmp_path, GEO)
    assert again.is_current(PREPARE)
    assert not run_of(tmp_path, GEO, data__keep_case=True).is_current(PREPARE)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"language": "klingon"}', "null"])
def test_a_damaged_preparation_is_one_clear_line(text: str, tmp_path: Path) -> None:
    run = run_of(tmp_path, GEO)
    run.do((DATA, PREPARE))
    path = tmp_path / "run" / "prepared" / "preparation.json"
    path.write_text(text, "utf-8")
    for folder in (run.folder, _accepting(run.folder, text)):
        with pytest.raises(InputError) as refused:
            folder.preparation()
        assert str(refused.value).startswith(str(path))
        assert "\n" not in str(refused.value)


def _accepting(folder: RunFolder, text: str) -> RunFolder:
    """Give a folder whose record has the checksum of the damaged file."""
    record = folder.path / "run.json"
    value = json.loads(record.read_text("utf-8"))
    value["stages"]["prepare"]["files"]["prepared/preparation.json"] = folder.checksum("prepared/preparation.json")
    record.write_text(json.dumps(value), "utf-8")
    return RunFolder(folder.path)


def test_the_grammar_is_learnt_from_prepared_examples(tmp_path: Path) -> None:
    run = run_of(tmp_path, GEO)
    figures = run.do((DATA, PREPARE, INDUCE))["induce"]
    assert figures["derivable"] == figures["examples"] == len(GEO)
    assert "«stateid»0 ### «stateid»0" in set(map(str, run.folder.grammar()))


def test_samples_are_raw_text_and_training_is_known(tmp_path: Path) -> None:
    run = run_of(tmp_path, GEO, sampling__force=True)
    run.do(AUGMENT)
    made = run.folder.samples()
    assert made
    assert not {*made} & {Example.of(*pair) for pair in GEO}
    assert not [pair for pair in made if "«" in pair.source_text + pair.target_text]


def test_where_samples_would_do_harm_none_are_drawn_unless_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("csl.runs.stages.check.PRECISE", 1.1)  # no grammar is as good as that
    run = run_of(tmp_path, GEO)
    figures = run.do(AUGMENT)
    assert figures["check"]["refused"]
    assert figures["sample"]["pairs"] == 0
    assert any("--force" in record.getMessage() for record in caplog.records)
    assert [*run.folder.samples()] == []
    forced = run_of(tmp_path, GEO, sampling__force=True).do(AUGMENT)
    assert forced["sample"]["pairs"] > 0


def test_options_of_sampling_that_are_given_hold_for_raw_text_too() -> None:
    grammar, nothing = Grammar([Rule(("a",), ("b",))]), np.zeros((1, 1))
    deep, flat = (Model(grammar, nothing, nothing, levels=levels) for levels in (None, 3))
    auto = Recipe().with_preset("auto")
    assert for_raw_text(auto.sampling, deep) == PRESETS["raw"]
    assert for_raw_text(auto.sampling, flat).max_depth == 3 + DEEPER
    hot = auto.changed({"sampling.temperature": 5.0, "sampling.max_depth": 4}).seeded(3).sampling
    config = for_raw_text(hot, flat)
    assert (config.strategy, config.temperature, config.max_depth, config.seed) == ("tempered", 5.0, 4, 3)
    uniform = auto.changed({"sampling.strategy": "uniform"}).sampling
    assert for_raw_text(uniform, flat).strategy == "uniform"
