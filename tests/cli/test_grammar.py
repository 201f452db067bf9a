import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from csl.cli import app
from csl.errors import InputError

SCAN = """# a comment

NT_1 and NT_2 ### NT_1 NT_2
NT_1 twice ### NT_1 NT_1
walk ### WALK
jump ### JUMP
"""


def grammar(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["grammar", *map(str, arguments)])


def command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the real command."""
    return subprocess.run(
        [sys.executable, "-c", "from csl.cli import main; main()", "grammar", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder."""
    (tmp_path / "grammar.txt").write_text(SCAN)
    return tmp_path


def test_show_sorts_rules_and_gives_arity_and_size(run: Path) -> None:
    result = grammar("show", run / "grammar.txt")
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "4 rules, 13 symbols: 2 of arity 0, 1 of arity 1, 1 of arity 2",
        "arity  size  rule",
        "    0     2  jump ### JUMP",
        "    0     2  walk ### WALK",
        "    1     4  NT_1 twice ### NT_1 NT_1",
        "    2     5  NT_1 and NT_2 ### NT_1 NT_2",
    ]


def test_show_takes_a_run_folder(run: Path) -> None:
    assert grammar("show", run).output == grammar("show", run / "grammar.txt").output


def test_show_has_colours_at_a_terminal_only(run: Path) -> None:
    assert "\x1b[" not in command("show", run).stdout
    assert "\x1b[36mNT_1\x1b[0m twice" in command("show", run, FORCE_COLOR="1", TERM="xterm").stdout


def test_show_does_not_wrap_or_interpret_what_rules_hold(tmp_path: Path) -> None:
    rule = "[bold] :smile: " + "x " * 100 + "### [/bold]"
    (tmp_path / "grammar.txt").write_text(rule + "\n")
    assert grammar("show", tmp_path).output.splitlines()[-1].endswith(rule)


def test_any_token_can_be_shown_by_a_terminal_that_knows_ascii_only(tmp_path: Path) -> None:
    path = tmp_path / "größe.txt"
    path.write_text("größe ### NT\\u{d800} 大\n", encoding="utf-8")
    done = command("show", path, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "gr\\xf6\\xdfe ### NT\\u{d800} \\u5927" in done.stdout
    done = command("show", tmp_path / "大", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_check_of_a_good_grammar_is_one_line(run: Path) -> None:
    result = grammar("check", run)
    assert (result.exit_code, result.output) == (0, f"{run / 'grammar.txt'}: 4 rules, each once\n")


def test_check_lists_duplicates_by_line(run: Path) -> None:
    path = run / "grammar.txt"
    path.write_text(SCAN + "NT_4 and NT_2 ### NT_4 NT_2\n")
    result = grammar("check", path)
    assert result.exit_code == 1
    assert result.output == (f"{path}:7: same rule as on line 3; remove one of them: NT_1 and NT_2 ### NT_1 NT_2\n")


@pytest.mark.parametrize("in_run", [True, False])
def test_check_lists_rules_whose_target_has_no_typing(run: Path, in_run: bool) -> None:
    cfg = run / ("output.cfg" if in_run else "valid.cfg")
    cfg.write_text("ROOT => ##ROOT ##ROOT\nROOT => JUMP\n")
    arguments = [run] if in_run else [run / "grammar.txt", "--output-cfg", cfg]
    result = grammar("check", *arguments)
    assert result.exit_code == 1
    assert len(result.output.splitlines()) == 1
    assert result.output.startswith(f"{run / 'grammar.txt'}:5: no category of the output CFG derives the target")
    cfg.write_text("ROOT => ##ROOT ##ROOT\nROOT => JUMP\nROOT => WALK\n")
    result = grammar("check", *arguments)
    assert (result.exit_code, result.output.count("\n")) == (0, 1)
    assert f"{cfg} derives every target" in result.output


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("missing.txt", None, "missing.txt: cannot be read: No such file"),
        ("grammar.txt", "jump JUMP\n", "grammar.txt:1: expected one ###"),
        ("grammar.txt", "jump ### JUMP\nNT_1 ### NT_2\n", "grammar.txt:2: NT_2 is in the target but not in the source"),
        ("grammar.txt", "x ### \\frac\n", "grammar.txt:1: broken escape in \\frac; write a backslash as \\\\"),
        ("grammar.txt", b"\xff\n", "grammar.txt:1: not valid UTF-8"),
        ("", None, "no grammar.txt in this folder"),
    ],
)
def test_files_that_cannot_be_read_are_one_line_and_exit_2(
    tmp_path: Path, name: str, text: str | bytes | None, message: str
) -> None:
    if text is not None:
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    done = command("show", tmp_path / name)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
    assert message in done.stderr
    error = grammar("check", tmp_path / name).exception
    assert isinstance(error, InputError)
    assert message in str(error)


def test_a_broken_output_cfg_is_named(run: Path) -> None:
    (run / "output.cfg").write_text("ROOT => ##A\n")
    done = command("check", run)
    assert done.returncode == 2
    assert f"{run / 'output.cfg'}:1: undefined category A" in done.stderr
