import subprocess
import sys
import time

import pytest

HEAVY = ("torch", "numba", "ray", "transformers", "numpy")

REPORT = """
import sys
from csl.cli import main
try:
    main()
finally:
    print("imported:", *(name for name in {heavy!r} if name in sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["-h"],
        ["data", "--help"],
        ["data", "prepare", "--help"],
        ["grammar", "--help"],
        ["induce", "--help"],
        ["train", "--help"],
        ["predict", "--help"],
        ["evaluate", "--help"],
        ["ensemble", "--help"],
    ],
    ids=" ".join,
)
def test_help_imports_nothing_heavy(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", REPORT.format(heavy=HEAVY), *arguments], capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - start
    with capsys.disabled():
        print(f"\ncsl {' '.join(arguments)}: {seconds:.2f} s ", end="")
    assert done.returncode == 0
    assert "Usage" in done.stdout
    assert done.stderr == "imported:\n"


def test_no_arguments_show_the_help() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from csl.cli import main; main()"], capture_output=True, text=True, check=False
    )
    assert "Usage" in done.stdout + done.stderr
