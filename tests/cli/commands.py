"""How tests give commands: in this process, or as a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner, Result

from csl.cli import app
from csl.errors import InputError
from csl.examples import Example, write_examples


def csl(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], input=stdin)


def done(*arguments: object) -> list[str]:
    """Give a command that succeeds; return what it printed, by line."""
    result = csl(*arguments)
    assert result.exit_code == 0, result.exception or result.output
    return result.output.splitlines()


def refused(*arguments: object) -> str:
    """Give a command that is refused; return the error, which is one line."""
    result = csl(*arguments)
    assert isinstance(result.exception, InputError), result.exception or result.output
    assert result.exception.exit_code == 2
    assert "\n" not in str(result.exception)
    return str(result.exception)


def command(
    *arguments: object, stdin: str = "", prelude: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the real command, after some lines of Python."""
    line = [sys.executable, "-c", f"{prelude}\nfrom csl.cli import main; main()", *map(str, arguments)]
    return subprocess.run(
        line, capture_output=True, text=True, check=False, input=stdin, env=os.environ | environment
    )  # fmt: skip


def write(path: Path, pairs: dict[str, str]) -> Path:
    write_examples(path, [Example.of(x, y) for x, y in pairs.items()])
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
