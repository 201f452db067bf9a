import subprocess
import sys

HEAVY = ("torch", "numba", "ray", "transformers", "numpy")

REPORT = """
import contextlib, io, sys
from typer.main import get_command
from csl.cli import app

def each(command, line):
    yield line
    for name, inner in getattr(command, "commands", {}).items():
        yield from each(inner, [*line, name])

for line in each(get_command(app), []):
    for option in ("--help", "-h"):
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            app([*line, option], standalone_mode=False)
        assert "Usage" in shown.getvalue(), line
        heavy = [name for name in HEAVY if name in sys.modules]
        assert not heavy, (line, heavy)
    print("csl", *line)
"""


def test_help_of_every_command_imports_nothing_heavy() -> None:
    program = f"HEAVY = {HEAVY!r}\n{REPORT}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {"csl", "csl data", "csl data prepare", "csl train", "csl nqg fit"} <= {*done.stdout.splitlines()}


def test_no_arguments_show_the_help() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from csl.cli import main; main()"], capture_output=True, text=True, check=False
    )
    assert "Usage" in done.stdout + done.stderr
