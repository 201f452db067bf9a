"""Files that are damaged, at any byte: it is noticed and reported, and the work is repeated to the same bytes."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

from csl.arrays import DamagedError, load_arrays
from csl.errors import InputError
from csl.runs.folder import RunFolder

from .conftest import EM, Csl, contents


def damaged(content: bytes, number: int) -> list[bytes]:
    """Damage a file in so many places: cut there, a bit turned, a block of zeros."""
    rng, found = random.Random(0), []
    for _ in range(number):
        place, bit = rng.randrange(len(content)), rng.randrange(8)
        found.append(content[:place])
        found.append(content[:place] + bytes([content[place] ^ (1 << bit)]) + content[place + 1 :])
        found.append(content[:place] + bytes(len(content[place : place + 512])) + content[place + 512 :])
    return [each for each in found if each != content]


def test_damage_is_noticed_or_changes_nothing(run: Path) -> None:
    path = run / "model.npz"
    (whole, _), refused, unchanged = load_arrays(path, ""), 0, 0
    for content in damaged(path.read_bytes(), 80):
        path.write_bytes(content)
        with pytest.raises(InputError):  # run.json has the checksum of the whole file
            RunFolder(run).model()
        try:
            arrays, _ = load_arrays(path, "")  # and the file has one of its values
        except DamagedError:
            refused += 1
        else:  # a byte without a meaning, as the date of a member
            assert arrays.keys() == whole.keys()
            assert all(np.array_equal(arrays[key], whole[key]) for key in whole)
            unchanged += 1
    assert refused > 10 * unchanged


def test_values_that_were_changed_with_care_are_noticed(run: Path) -> None:
    """An archive that is sound in itself, whose checksum is that of other values."""
    with np.load(run / "model.npz") as file:
        members = {name: file[name] for name in file.files}
    members["theta_rule"] = members["theta_rule"] + 1e-9
    np.savez(run / "model.npz", **members)
    with pytest.raises(DamagedError):
        load_arrays(run / "model.npz", "")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("model.npz", f"fit run {EM}"),
        ("metrics/fit.jsonl", f"fit run {EM}"),
        ("metrics/induce.jsonl", "induce train.tsv --out run --preset scan"),
        ("samples.tsv", "sample run -n 5 --set max_depth=4"),
    ],
)
def test_a_damaged_result_is_reported_and_made_again(csl: Csl, run: Path, name: str, line: str) -> None:
    before = (run / name).read_bytes()
    (run / name).write_bytes(before[:-3])
    code, output, errors = csl(line)
    assert code == 0, errors
    assert any(text.startswith("warning:") and Path(name).name in text for text in output.splitlines())
    assert "seconds" in before.decode(errors="ignore") or (run / name).read_bytes() == before


def test_a_damaged_checkpoint_is_reported_and_the_stage_starts_from_the_beginning(csl: Csl, run: Path) -> None:
    before = contents(run)
    model = (run / "model.npz").read_bytes()
    record = json.loads((run / "run.json").read_text())
    record["started"] = ["fit"]
    del record["stages"]["fit"]
    (run / "run.json").write_text(json.dumps(record))
    (run / "model.npz").unlink()
    (run / "checkpoints").mkdir()
    (run / "checkpoints" / "fit-fit-0.npz").write_bytes(model[:100])
    code, output, errors = csl(f"fit run {EM}")
    assert code == 0, errors
    assert "fit-fit-0.npz" in output
    assert contents(run).keys() == before.keys()
    assert (run / "model.npz").read_bytes() == model
