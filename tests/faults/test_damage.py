"""Files that are damaged, at any byte: it is seen, told in a line, and the last good state is used."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from csl.runs.fitting import load_model

from csl.arrays import DamagedError, load_arrays
from csl.errors import InputError

Files = dict[str, bytes]
Learn = Callable[..., None]


def damaged(content: bytes, number: int) -> list[bytes]:
    """Damage a file in so many places: cut there, a bit turned, a block of zeros."""
    rng, found = random.Random(0), []
    for _ in range(number):
        place, bit = rng.randrange(len(content)), rng.randrange(8)
        found.append(content[:place])
        found.append(content[:place] + bytes([content[place] ^ (1 << bit)]) + content[place + 1 :])
        found.append(content[:place] + bytes(len(content[place : place + 512])) + content[place + 512 :])
    return [each for each in found if each != content]


@pytest.fixture
def run(tmp_path: Path, learnt: Files) -> Path:
    """A finished run."""
    for name, content in learnt.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize("name", ["model.npz", "forests.npz"])
def test_damage_is_seen_or_changes_nothing(name: str, run: Path, learnt: Files) -> None:
    whole, _ = load_arrays(run / name, "")
    refused = unchanged = 0
    for content in damaged(learnt[name], 80):
        (run / name).write_bytes(content)
        try:
            arrays, _ = load_arrays(run / name, "mend it")
        except DamagedError:
            refused += 1
        else:  # a byte that says nothing, as the date of a member
            assert arrays.keys() == whole.keys()
            assert all(np.array_equal(arrays[key], whole[key]) for key in whole)
            unchanged += 1
    assert refused > 10 * unchanged


def test_values_that_were_changed_with_care_are_seen(run: Path) -> None:
    """An archive that is sound in itself, whose checksum is that of other values."""
    with np.load(run / "model.npz") as file:
        members = {name: file[name] for name in file.files}
    members["theta_rule"] = members["theta_rule"] + 1e-9
    np.savez(run / "model.npz", **members)
    with pytest.raises(InputError, match=r"model\.npz: damaged file; fit again with --no-resume"):
        load_model(run)


@pytest.mark.parametrize("name", ["model.npz", "forests.npz"])
def test_what_can_be_made_anew_is(name: str, run: Path, learn: Learn, learnt: Files) -> None:
    (run / name).write_bytes(learnt[name][:-30])
    if name == "forests.npz":
        (run / "model.npz").unlink()  # otherwise there is nothing to do
    said: list[str] = []
    learn(run, say=said.append)
    assert said[1] == f"{run / name}: damaged file; it is made anew"
    assert {path.name: path.read_bytes() for path in run.iterdir()} == learnt


class StopError(Exception):
    """Stands for whatever ends the work."""


@pytest.mark.parametrize(("name", "steps"), [("checkpoint.npz", 4), ("fit-checkpoint.npz", 9)])
def test_the_state_before_a_damaged_one_is_taken(
    name: str, steps: int, tmp_path: Path, learn: Learn, learnt: Files
) -> None:
    told: list[str] = []

    def stop(step: str) -> None:
        told.append(step)
        if len(told) == steps:
            raise StopError

    with pytest.raises(StopError):
        learn(tmp_path, stop)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-30])
    said: list[str] = []
    learn(tmp_path, told.append, said.append)
    previous = name.replace(".npz", ".previous.npz")
    assert f"{tmp_path / name}: damaged file; the state before, {previous}, is taken" in said
    assert told.pop(steps) == told[steps - 1]  # the only step that is done again
    assert len(told) == len(set(told))
    found = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert found | {"metrics.jsonl": b""} == learnt | {"metrics.jsonl": b""}
    assert len(found["metrics.jsonl"].splitlines()) == len(told)
