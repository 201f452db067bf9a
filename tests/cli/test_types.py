"""`csl types` writes categories as text that people can read, edit and give back."""

from pathlib import Path

import pytest

from csl.examples import Example, write_examples
from csl.grammar.output_cfg import OutputCfg
from csl.preparing.preparation import prepare

from ..raw import GEO, SETS
from .commands import command, csl, done, refused


@pytest.fixture
def train(tmp_path: Path) -> Path:
    write_examples(tmp_path / "train.tsv", [Example.of(*pair) for pair in GEO])
    return tmp_path / "train.tsv"


@pytest.mark.parametrize("name", SETS)
def test_the_text_has_all_productions(name: str, tmp_path: Path) -> None:
    write_examples(tmp_path / "train.tsv", [Example.of(*pair) for pair in SETS[name]])
    lines = csl("types", tmp_path / "train.tsv").stdout.splitlines()
    cfg = OutputCfg.parse(lines)
    assert set(cfg.productions) == set(prepare(SETS[name]).categories.cfg.productions)
    assert lines[0].startswith(f"# {name}, {len(SETS[name])} outputs")


def test_comments_count_uses_and_name_values(train: Path) -> None:
    lines = csl("types", train).stdout.splitlines()
    above = {line: lines[i - 1] for i, line in enumerate(lines) if i}
    root = next(line for line in lines if line.startswith("ROOT =>"))
    assert above[root] == f"# {len(GEO)} uses"
    placeholder = next(line for line in lines if line.endswith("=> «stateid»0"))
    assert "6 values of type stateid" in above[placeholder]
    assert "stateid('texas')" in above[placeholder]


def test_categories_are_given_back_and_may_be_edited(train: Path, tmp_path: Path) -> None:
    out = tmp_path / "types.cfg"
    assert str(out) in done("types", train, "--out", out)[-1]
    edited = "".join(line for line in out.read_text("utf-8").splitlines(True) if not line.endswith("=> largest\n"))
    assert edited != out.read_text("utf-8")
    out.write_text(edited, "utf-8")
    lines = done("induce", train, "--out", tmp_path / "run", "--output-cfg", out)
    assert any(line.startswith("prepare: outputs are calls") for line in lines)
    assert set(OutputCfg.read(tmp_path / "run/prepared/output.cfg").productions) == set(OutputCfg.read(out).productions)


def test_outputs_without_structure_are_refused(tmp_path: Path) -> None:
    write_examples(tmp_path / "flat.tsv", [Example.of("walk", "WALK"), Example.of("run twice", "RUN RUN")])
    assert "--output-language" in refused("types", tmp_path / "flat.tsv")
    assert "klingon" in refused("types", tmp_path / "flat.tsv", "--output-language", "klingon")


def test_the_input_is_not_overwritten(train: Path) -> None:
    assert str(train) in refused("types", train, "--out", train)


def test_only_the_text_goes_to_standard_output(train: Path) -> None:
    found = command("types", train)
    assert found.returncode == 0
    OutputCfg.parse(found.stdout.splitlines())
