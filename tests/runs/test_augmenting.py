"""Augmenting in a run folder: how options are chosen, and that the folder tells what is finished."""

from pathlib import Path

import pytest

from csl.examples import Example
from csl.errors import InputError
from csl.runs.augmenting import Plan, augment_into
from csl.grammar.output_cfg import OutputCfg
from csl.induction.config import PRESETS
from csl.model import config as fitting
from csl.sampling import config as sampling

EXAMPLES = [Example.of(x, y) for x, y in {"a": "A", "b": "B", "a and b": "A B", "b and a": "B A"}.items()]
PLAN = Plan(PRESETS["scan"], 20, preset="scan")


def test_auto_chooses_by_the_size_of_the_data_like_the_single_commands() -> None:
    plan = Plan(PRESETS["scan"], 10, seed=3, sampling={"new": True})
    for examples in (100, 10_000):
        fit, draw = plan.configs(50, examples)
        assert fit == fitting.choose(50, examples)[0].model_copy(update={"seed": 3})
        assert draw == sampling.PRESETS["auto"].model_copy(update={"seed": 3, "new": True})
    fit, draw = Plan(PRESETS["cogs"], 10, preset="cogs").configs(10, 100)
    assert (fit, draw) == (fitting.PRESETS["cogs"], sampling.PRESETS["cogs"])


def test_a_folder_without_its_card_is_not_finished(tmp_path: Path) -> None:
    said: list[str] = []
    augment_into(tmp_path, EXAMPLES, PLAN)
    first = (tmp_path / "augmented.tsv").read_bytes()
    (tmp_path / "augmented.card.json").unlink()
    (tmp_path / "augmented.tsv").write_text("half", "utf-8")
    augment_into(tmp_path, EXAMPLES, PLAN, say=said.append)
    assert not [line for line in said if "already" in line]
    assert any("as it is in the folder" in line for line in said)
    assert (tmp_path / "augmented.tsv").read_bytes() == first


def test_a_damaged_card_is_refused(tmp_path: Path) -> None:
    augment_into(tmp_path, EXAMPLES, PLAN)
    (tmp_path / "augmented.card.json").write_text("{", "utf-8")
    with pytest.raises(InputError, match=r"augmented\.card\.json: not a data card; remove it"):
        augment_into(tmp_path, EXAMPLES, PLAN)


def test_outputs_that_the_cfg_does_not_accept_are_told(tmp_path: Path) -> None:
    said: list[str] = []
    cfg = OutputCfg.parse(["ROOT => ##X", "ROOT => ##X ##X", "X => A"])
    augment_into(tmp_path, EXAMPLES, PLAN, output_cfg=cfg, say=said.append)
    assert "the output CFG does not accept 3 of the 4 distinct outputs" in said
    assert not [line for line in said if "holds" in line or "going on" in line]
