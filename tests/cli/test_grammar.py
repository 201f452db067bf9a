"""`csl grammar`: showing, checking and accepting grammars."""

import json
import shutil
from itertools import product
from pathlib import Path

import pytest

from csl.grammar import OutputCfg
from csl.grammar.export import to_gbnf, to_lark
from csl.runs.folder import RunFolder

from .commands import command, contents, csl, done, refused, write

SCAN = """# a comment

NT_1 and NT_2 ### NT_1 NT_2
NT_1 twice ### NT_1 NT_1
walk ### WALK
jump ### JUMP
"""
QUICK = ("--set", "optimizer=em", "--set", "steps=3")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a grammar written by hand."""
    (tmp_path / "grammar.txt").write_text(SCAN)
    return tmp_path


@pytest.fixture
def run(fitted: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(fitted, tmp_path / "run"))


def test_show_sorts_rules_and_gives_arity_and_size(folder: Path) -> None:
    assert done("grammar", "show", folder / "grammar.txt") == [
        "4 rules, 13 symbols: 2 of arity 0, 1 of arity 1, 1 of arity 2",
        "arity  size  rule",
        "    0     2  jump ### JUMP",
        "    0     2  walk ### WALK",
        "    1     4  NT_1 twice ### NT_1 NT_1",
        "    2     5  NT_1 and NT_2 ### NT_1 NT_2",
    ]
    assert done("grammar", "show", folder) == done("grammar", "show", folder / "grammar.txt")


def test_show_has_colours_at_a_terminal_only(folder: Path) -> None:
    assert "\x1b[" not in command("grammar", "show", folder).stdout
    assert "\x1b[36mNT_1\x1b[0m twice" in command("grammar", "show", folder, FORCE_COLOR="1", TERM="xterm").stdout


def test_show_does_not_wrap_or_interpret_what_rules_have(tmp_path: Path) -> None:
    rule = "[bold] :smile: " + "x " * 100 + "### [/bold]"
    (tmp_path / "grammar.txt").write_text(rule + "\n")
    assert done("grammar", "show", tmp_path)[-1].endswith(rule)


def test_any_token_can_be_shown_by_a_terminal_that_knows_ascii_only(tmp_path: Path) -> None:
    path = tmp_path / "größe.txt"
    path.write_text("größe ### NT\\u{d800} 大\n", encoding="utf-8")
    found = command("grammar", "show", path, PYTHONIOENCODING="ascii")
    assert (found.returncode, found.stderr) == (0, "")
    assert "gr\\xf6\\xdfe ### NT\\u{d800} \\u5927" in found.stdout
    found = command("grammar", "show", tmp_path / "大", PYTHONIOENCODING="ascii")
    assert (found.returncode, found.stdout, found.stderr.count("\n")) == (2, "", 1)


def test_check_is_one_line_or_lists_duplicates_by_line(folder: Path) -> None:
    path = folder / "grammar.txt"
    [line] = done("grammar", "check", folder)
    assert line.startswith(f"{path}: 4 rules")
    path.write_text(SCAN + "NT_4 and NT_2 ### NT_4 NT_2\n")
    result = csl("grammar", "check", path)
    assert (result.exit_code, result.output.count("\n")) == (1, 1)
    assert result.output.startswith(f"{path}:7: ")
    assert "line 3" in result.output


@pytest.mark.parametrize("in_run", [True, False])
def test_check_lists_rules_whose_target_has_no_typing(folder: Path, in_run: bool) -> None:
    cfg = folder / ("data/output.cfg" if in_run else "valid.cfg")
    cfg.parent.mkdir(exist_ok=True)
    cfg.write_text("ROOT => ##ROOT ##ROOT\nROOT => JUMP\n")
    arguments = [folder] if in_run else [folder / "grammar.txt", "--output-cfg", cfg]
    result = csl("grammar", "check", *arguments)
    assert (result.exit_code, result.output.count("\n")) == (1, 1)
    assert result.output.startswith(f"{folder / 'grammar.txt'}:5: ")
    cfg.write_text("ROOT => ##ROOT ##ROOT\nROOT => JUMP\nROOT => WALK\n")
    assert str(cfg) in done("grammar", "check", *arguments)[0]
    cfg.write_text("ROOT => ##A\n")
    assert refused("grammar", "check", *arguments).startswith(f"{cfg}:1: ")


def test_seed_rules_need_no_typing(folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "output.cfg").write_text("ROOT => ##ROOT ##ROOT\nROOT => JUMP\n")
    assert csl("grammar", "check", folder).exit_code == 1
    (folder / "seed_rules.txt").write_text("walk ### WALK\n")
    assert "seed rules aside" in done("grammar", "check", folder)[0]


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("missing.txt", None, "missing.txt: "),
        ("grammar.txt", "jump JUMP\n", "grammar.txt:1: expected one ###"),
        ("grammar.txt", "jump ### JUMP\nNT_1 ### NT_2\n", "grammar.txt:2: NT_2"),
        ("grammar.txt", "x ### \\frac\n", "grammar.txt:1: broken escape in \\frac"),
        ("grammar.txt", b"\xff\n", "grammar.txt:1: not valid UTF-8"),
        ("", None, "no grammar.txt"),
    ],
)
def test_files_that_cannot_be_read_are_refused(tmp_path: Path, name: str, text: str | bytes | None, named: str) -> None:
    if text is not None:
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    for way in ("show", "check"):
        assert named in refused("grammar", way, tmp_path / name)


# accept


def test_an_edited_grammar_is_refused_by_every_command_until_it_is_accepted(run: Path, tmp_path: Path) -> None:
    with (run / "grammar.txt").open("a") as file:
        file.write("hop ### HOP\n")
    before, train = contents(run), run / "data" / "train.tsv"
    for line in (
        ["grammar", "show", run], ["grammar", "check", run], ["grammar", "coverage", run, train],
        ["grammar", "explain", run, "walk"], ["fit", run], ["sample", run, "-n", 3], ["parse", run, "walk"],
        ["sample", run, "-n", 3, "--strategy", "uniform", "--out", tmp_path / "s.tsv"], ["evaluate", run, train],
        ["induce", train, "--out", run, "--preset", "scan"], ["fit", run, "--no-resume"],
        ["nqg", "fit", run, "--encoder", tmp_path], ["report", run], ["augment", train, "--out", run],
    ):  # fmt: skip
        message = refused(*line)
        assert message.startswith(f"{run / 'grammar.txt'}: "), line
        assert "csl grammar accept" in message
    assert contents(run) == before
    done("grammar", "show", run / "grammar.txt")  # the file itself is only a file
    lines = done("grammar", "accept", run)
    assert "7 rules, derive 100.0%" in lines[0]
    assert any("csl fit" in line for line in lines)
    assert "csl fit" in refused("parse", run, "hop")  # the model is of the grammar before
    done("fit", run, *QUICK)
    assert done("parse", run, "hop twice") == ["HOP HOP"]
    done("sample", run, "-n", 200, "--strategy", "uniform")
    assert "hop" in (run / "samples.tsv").read_text()


def test_what_is_recorded_of_an_accepted_grammar(run: Path) -> None:
    old = RunFolder(run).record.stages["induce"]
    (run / "grammar.txt").write_text("walk ### WALK\nrun ### RUN\nNT_1 twice ### NT_1 NT_1\n")
    lines = done("grammar", "accept", run)
    assert "3 rules, derive 44.4%" in lines[0]
    assert any("csl grammar coverage" in line for line in lines)
    new = RunFolder(run).record.stages["induce"]
    assert (new.key, new.options, new.files.keys()) == (old.key, old.options, old.files.keys())
    assert new.figures["edited"] is True
    assert (new.figures["rules"], new.figures["derivable"]) == (3, 4)
    assert "objective" not in new.figures
    assert new.figures["config"] == old.figures["config"]
    assert str(run / "grammar.txt") in refused("fit", run)  # derives too few of its examples
    same = done("induce", run.parent / "run" / "data" / "train.tsv", "--out", run.parent / "new", "--preset", "scan")
    assert any("100.0%" in line for line in same)


def test_induce_keeps_an_accepted_grammar_and_no_resume_induces_again(fitted: Path, run: Path) -> None:
    train, whole = fitted.parent / "train.tsv", (fitted / "grammar.txt").read_bytes()
    (run / "grammar.txt").write_bytes(whole + b"hop ### HOP\n")
    done("grammar", "accept", run)
    assert any("edited" in line for line in done("induce", train, "--out", run, "--preset", "scan"))
    assert (run / "grammar.txt").read_bytes() != whole
    done("induce", train, "--out", run, "--preset", "scan", "--no-resume")
    assert (run / "grammar.txt").read_bytes() == whole
    assert "edited" not in RunFolder(run).record.stages["induce"].figures


def test_a_grammar_written_by_hand_becomes_a_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "grammar.txt").write_text(SCAN + "jump ### JUMP\n")
    (tmp_path / "valid.cfg").write_text("ROOT => ##ROOT ##ROOT\nROOT => JUMP\n")
    train = tmp_path / "train.jsonl"
    train.write_text('{"q": "jump twice", "a": "JUMP JUMP"}\n', "utf-8")
    options = ("--train", train, "--input-column", "q", "--output-column", "a", "--output-cfg", tmp_path / "valid.cfg")
    assert "--train" in refused("grammar", "accept", run)
    assert set(contents(run)) == {"grammar.txt"}
    lines = done("grammar", "accept", run, *options)
    assert [line for line in lines if line.startswith(f"warning: {run / 'grammar.txt'}:7: ")]  # twice
    assert [line for line in lines if line.startswith(f"warning: {run / 'grammar.txt'}:5: ")]  # no valid output
    assert set(contents(run)) == {
        "grammar.txt", "run.json", "recipe.toml", "data/train.tsv", "data/rows.jsonl", "data/output.cfg",
        "data/card.json",
    }  # fmt: skip
    assert list(json.loads((run / "run.json").read_text("utf-8"))["stages"]) == ["data", "induce"]
    done("fit", run, *QUICK)
    assert done("parse", run, "jump twice") == ["JUMP JUMP"]
    assert "--train" in refused("grammar", "accept", run, *options)
    lines = done("augment", train, "--out", run, "-n", 5, *options[2:])
    assert any(line.startswith("induce: already complete") and "edited" in line for line in lines)


@pytest.mark.parametrize(("text", "named"), [("", ""), ("# none\n", ""), ("walk ### WALK\nrun\n", ":2")])
def test_a_broken_grammar_is_not_accepted(run: Path, text: str, named: str) -> None:
    (run / "grammar.txt").write_text(text)
    before = contents(run)
    assert refused("grammar", "accept", run).startswith(f"{run / 'grammar.txt'}{named}: ")
    assert contents(run) == before


def test_folders_without_a_grammar_are_refused(tmp_path: Path) -> None:
    assert str(tmp_path / "absent") in refused("grammar", "accept", tmp_path / "absent")
    train = write(tmp_path / "train.tsv", {"a": "A"})
    (tmp_path / "empty").mkdir()
    assert "grammar.txt" in refused("grammar", "accept", tmp_path / "empty", "--train", train)
    assert list((tmp_path / "empty").iterdir()) == []


def test_an_output_cfg_is_written_for_decoders(tmp_path: Path) -> None:
    lines = ["ROOT => ##ROOT , ##N", "ROOT => ##N", "N => 1", "N => 2"]
    (tmp_path / "run" / "data").mkdir(parents=True)
    cfg = tmp_path / "run" / "data" / "output.cfg"
    OutputCfg.parse(lines).write(cfg)
    for source, form, joint in product((tmp_path / "run", cfg), ("gbnf", "lark"), ("space", "optional", "none")):
        done("grammar", "export", source, "--format", form, "--joint", joint, "--out", tmp_path / "out")
        to_text = {"gbnf": to_gbnf, "lark": to_lark}[form]
        assert (tmp_path / "out").read_text("utf-8") == to_text(OutputCfg.parse(lines), joint)


def test_an_export_without_a_cfg_is_refused(tmp_path: Path) -> None:
    export = ("grammar", "export", "--format", "gbnf", "--out", tmp_path / "out")
    assert f"{tmp_path}: " in refused(*export, tmp_path)
    bad, good = tmp_path / "bad.cfg", tmp_path / "good.cfg"
    bad.write_text("ROOT => ##X\n")
    assert f"{bad}:1: " in refused(*export, bad)
    good.write_text("ROOT => x\n")
    assert f"{good}: " in refused("grammar", "export", good, "--format", "lark", "--out", good)
    assert not (tmp_path / "out").exists()
