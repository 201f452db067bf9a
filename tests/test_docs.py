"""The examples in README and docs run and print what the pages show; links resolve; every command is documented.

The blocks of a page run in order, in a new folder:

- `console` blocks: lines that start with `$ ` are commands (a backslash at the end continues the line); the lines below
  one, if any, are its expected output. All must exit with 0. A plain `csl` command, without pipes and the like, runs in
  this process, which saves the imports; other commands run in a shell.
- `python` blocks: doctests if they have `>>>`, programs otherwise. The blocks of a page share their names.

In expected output, `...` matches anything. A block that mentions `$CSL_DATA` needs the benchmark data and is skipped
without it. Blocks with another tag, or none, are not run.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from csl.cli import app

CHECKOUT = Path(__file__).parents[1]
PAGES = [*sorted(CHECKOUT.glob("*.md")), *sorted((CHECKOUT / "docs").rglob("*.md"))]
DATA = Path(os.environ.get("CSL_DATA", CHECKOUT.parent / "shared" / "data"))
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def name(page: Path) -> str:
    return str(page.relative_to(CHECKOUT))


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def same_output(expected: str, printed: str) -> bool:
    """Compare the expected with the actual output, without spaces at line ends."""
    got = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    return doctest.OutputChecker().check_output(expected, got, doctest.ELLIPSIS)


def plain(command: str) -> list[str] | None:
    """The arguments of a `csl` command that needs no shell."""
    line = os.path.expandvars(command.replace("\\\n", ""))
    words = list(shlex.shlex(line, posix=True, punctuation_chars=True))
    needs_shell = any(word[:1] in (*"();<>|&",) for word in words) or {*line} & {*"$`*?~"}
    return shlex.split(line)[1:] if words[0] == "csl" and not needs_shell else None


def run_command(command: str, folder: Path) -> tuple[int, str, str]:
    """Run it in the folder, which is the current one; return exit code, stdout and error."""
    arguments = plain(command)
    if arguments is not None:
        result = CliRunner().invoke(app, arguments)
        return result.exit_code, result.stdout, f"{result.stderr}{result.exception or ''}"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def run_console(block: str, folder: Path) -> None:
    commands = COMMAND.findall(block)
    assert "".join(f"$ {command}\n{expected}" for command, expected in commands) == block, "a line outside any command"
    for command, expected in commands:
        code, printed, error = run_command(command, folder)
        assert code == 0, f"{command}\n{printed}{error}"
        assert not expected or same_output(expected, printed), f"{command}\n{printed}"


def run_python(block: str, names: dict[str, Any], page: Path) -> None:
    if ">>>" not in block:
        exec(compile(block, name(page), "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block, names, name(page), str(page), 0)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert result.failed == 0, "".join(report)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name)
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.setenv("CSL_DATA", str(DATA))
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {"__name__": "__main__"}
    for language, block in blocks(page):
        if "$CSL_DATA" in block and not DATA.is_dir():
            continue
        if language == "console":
            run_console(block, folder)
        else:
            run_python(block, names, page)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_resolve(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8"))
    targets = [(page.parent / link if link else page, anchor) for link, anchor in links]
    assert [path for path, _ in targets if not path.exists()] == []
    assert [(path.name, anchor) for path, anchor in targets if anchor and anchor not in anchors(path)] == []


def commands(command: Any, words: str = "csl") -> list[str]:
    """All commands of the command line, as `csl data split`."""
    groups = getattr(command, "commands", {})
    return [leaf for word, part in groups.items() for leaf in commands(part, f"{words} {word}")] or [words]


def test_every_command_is_documented() -> None:
    index = (CHECKOUT / "docs" / "README.md").read_text(encoding="utf-8")
    assert [command for command in commands(typer.main.get_command(app)) if f"`{command}`" not in index] == []


def test_the_readme_fits_on_one_screen() -> None:
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    assert len(readme.split()) <= 500
    first_screen = readme[: readme.index("## Quick start")]
    assert "make demo" in first_screen
    assert "make test" in first_screen


def test_a_wrong_output_is_found(tmp_path: Path) -> None:
    run_console("$ printf 'a  \\nb\\n'\na\n...\n$ true\n", tmp_path)
    with pytest.raises(AssertionError):
        run_console("$ echo a\nb\n", tmp_path)
    with pytest.raises(AssertionError):
        run_console("$ false\n", tmp_path)
    with pytest.raises(AssertionError):
        run_python(">>> 1 + 1\n3\n", {}, CHECKOUT / "README.md")
