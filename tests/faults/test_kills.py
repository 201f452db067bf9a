"""A process is killed, at any file, and the same command resumes: to the same bytes, with each step once."""

import json
import os
import random
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from .conftest import PAIRS, Csl, contents

Wholes = list[dict[str, object]]
EVERY = int(os.environ.get("CSL_KILL_EVERY", "25"))  # 1: all places, in some minutes
DIE_AT = """
import os, signal, sys
from csl.cli import main
left = int(sys.argv.pop(1))

def watch(event, arguments):
    global left
    if event in ("open", "os.rename", "os.remove", "os.link", "os.mkdir") and {place!r} in str(arguments[0]):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(watch)
main()
"""
LINES = (
    "induce train.tsv --out run --preset scan --set partitions=3",
    "fit run --set optimizer=em --set states=2 --set steps=60",
    "sample run -n 20 --set max_depth=4",
)


def files(folder: Path) -> dict[str, object]:
    """The files of a run, without what differs between two: seconds."""
    found: dict[str, object] = dict(contents(folder))
    for name in [name for name in found if name.endswith(".jsonl")]:
        lines = [json.loads(line) for line in (folder / name).read_text().splitlines()]
        found[name] = [{key: value for key, value in line.items() if key != "seconds"} for line in lines]
    record = json.loads((folder / "run.json").read_text())
    for stage in record["stages"].values():
        stage["seconds"] = 0
        stage["files"] = {name: sum_ for name, sum_ in stage["files"].items() if not name.startswith("metrics/")}
    return found | {"run.json": record}


def die_at(csl: Csl, number: int, line: str) -> int:
    """Run a command that is killed when it touches a file of the run for the nth time."""
    command = [sys.executable, "-c", DIE_AT.format(place=str(csl.folder)), str(number), *line.split()]
    line_of_names = [part if "." not in part and part != "run" else str(csl.folder / part) for part in command[4:]]
    return subprocess.run([*command[:4], *line_of_names], cwd=csl.folder, capture_output=True, check=False).returncode


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Wholes:
    """The files of a run that nothing happened to, after each command."""
    folder, found = tmp_path_factory.mktemp("whole"), []
    (folder / "train.tsv").write_text(PAIRS)
    for line in LINES:
        assert Csl(folder)(line)[0] == 0
        found.append(files(folder / "run"))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(LINES)))
def test_killed_at_any_file_a_command_comes_to_the_same_end(csl: Csl, whole: Wholes, place: int) -> None:
    for line in LINES[:place]:
        assert csl(line)[0] == 0
    before = contents(csl.folder / "run") if place else {}
    for number in count(1, EVERY):
        subprocess.run(["rm", "-rf", csl.folder / "run"], check=True)
        for name, content in before.items():
            (csl.folder / "run" / name).parent.mkdir(parents=True, exist_ok=True)
            (csl.folder / "run" / name).write_bytes(content)
        status = die_at(csl, number, LINES[place])
        if status == 0:
            break
        assert status == -signal.SIGKILL
        code, _, errors = csl(LINES[place])
        assert code == 0, f"killed at file {number}: {errors}"
        assert files(csl.folder / "run") == whole[place], f"killed at file {number}"
    assert number > EVERY


@pytest.mark.slow
def test_killed_again_and_again_a_run_comes_to_the_same_end(csl: Csl, whole: Wholes) -> None:
    rng, kills = random.Random(7), 0
    for line in LINES:
        while (status := die_at(csl, rng.randrange(20, 90), line)) != 0:
            assert status == -signal.SIGKILL
            kills += 1
    assert kills > 1
    assert files(csl.folder / "run") == whole[-1]
