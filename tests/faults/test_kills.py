"""A process is killed, at any moment, and the work goes on: to the same bytes, and nothing saved is done twice."""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from csl.runs.fitting import fit_into, load_model
from csl.runs.run import induce_into
from csl.runs.sampling import write_samples

from csl.examples import Example
from csl.induction.config import InductionConfig
from csl.lock import folder_lock
from csl.model.config import FitConfig
from csl.sampling.config import SampleConfig
from csl.sampling.sampler import Sampler

Start, Files = Callable[[Callable[[], object]], Any], dict[str, bytes]
EVERY = int(os.environ.get("CSL_KILL_EVERY", "9"))  # 1: all places, in a minute
FILE_EVENTS = {"open", "os.rename", "os.remove", "os.link", "os.mkdir"}


def die_at(number: int) -> None:
    """Let this process be killed when it opens, renames, removes or links a file for the nth time."""
    left = number

    def watch(event: str, _: object) -> None:
        nonlocal left
        if event in FILE_EVENTS:
            left -= 1
        if event in FILE_EVENTS and left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def contents(folder: Path) -> Files:
    """The files of a run, without the seconds in its log."""
    return without_seconds({path.name: path.read_bytes() for path in folder.iterdir()})


def without_seconds(files: Files) -> Files:
    lines = [json.loads(line) for line in files["metrics.jsonl"].splitlines()]
    log = [{key: value for key, value in line.items() if key != "seconds"} for line in lines]
    return files | {"metrics.jsonl": json.dumps(log).encode()}


@pytest.mark.parametrize("way", ["at a file", "at any time"])
def test_killed_again_and_again_it_comes_to_the_same_end(
    way: str, tmp_path: Path, start: Start, learn: Callable[..., None], learnt: Files
) -> None:
    rng, folder, told = random.Random(7), tmp_path / "run", tmp_path / "told.txt"
    kills, status = 0, None
    while status != 0:
        number, seconds = rng.randrange(10, 120), rng.uniform(0, 0.01 * (2 + kills))

        def work(number: int = number) -> None:
            with told.open("a") as file:
                if way == "at a file":
                    die_at(number)
                learn(folder, lambda step: print(step, file=file, flush=True))

        child = start(work)
        if way == "at any time":
            time.sleep(seconds)
            child.kill()
        status = child.wait()
        assert status in (0, -signal.SIGKILL)
        kills += status != 0
    assert kills > 2
    steps = told.read_text().splitlines()  # each is told after it was saved
    assert len(steps) == len(set(steps))
    assert contents(folder) == without_seconds(learnt)


def small(folder: Path) -> None:
    """Do the work of three commands on four examples."""
    pairs = [Example.of(*pair) for pair in (("a", "A"), ("b", "B"), ("a and b", "A B"), ("b and a", "B A"))]
    induce_into(folder, pairs, InductionConfig(partitions=2))
    fit_into(folder, pairs, FitConfig(states=1, optimizer="em", steps=2))
    with folder_lock(folder):
        model = load_model(folder)
        write_samples(folder / "samples.tsv", Sampler(model.grammar, SampleConfig(), model=model), 20)


def test_killed_at_any_file_it_comes_to_the_same_end(tmp_path: Path, start: Start) -> None:
    small(tmp_path / "whole")
    whole = contents(tmp_path / "whole")

    def work(folder: Path, number: int) -> None:
        die_at(number)
        small(folder)

    for number in count(1, EVERY):
        folder = tmp_path / f"run-{number}"
        if not start(partial(work, folder, number)).wait():
            break
        assert start(partial(small, folder)).wait() == 0, f"killed at file {number}"
        assert contents(folder) == whole, f"killed at file {number}"
    assert number > 100
