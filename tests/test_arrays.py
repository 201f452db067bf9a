"""Arrays in files: what is written comes back, and any damage is one clear error."""

from pathlib import Path

import numpy as np
import pytest

from csl.arrays import DamagedError, load_arrays, save_arrays

ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(3, np.int32)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    save_arrays(tmp_path / "new" / "x.npz", ARRAYS, {"mark": "α", "left": [["x"], 2]})
    return tmp_path / "new" / "x.npz"


def same(path: Path) -> bool:
    arrays, about = load_arrays(path, "make it again")
    equal = all(np.array_equal(arrays[k], ARRAYS[k]) and arrays[k].dtype == ARRAYS[k].dtype for k in ARRAYS)
    return equal and arrays.keys() == ARRAYS.keys() and about == {"mark": "α", "left": [["x"], 2]}


def test_what_is_written_comes_back_and_has_the_same_bytes_each_time(file: Path) -> None:
    assert same(file)
    assert [path.name for path in file.parent.iterdir()] == ["x.npz"]
    save_arrays(file.with_name("y.npz"), ARRAYS, {"mark": "α", "left": [["x"], 2]})
    assert file.read_bytes() == file.with_name("y.npz").read_bytes()


def test_a_file_cut_short_anywhere_is_refused(file: Path) -> None:
    whole = file.read_bytes()
    for length in range(0, len(whole), 7):
        file.write_bytes(whole[:length])
        with pytest.raises(DamagedError, match=r"x\.npz: .*; make it again$"):
            load_arrays(file, "make it again")


def test_a_changed_byte_is_refused_or_changes_nothing(file: Path) -> None:
    whole = file.read_bytes()
    refused = 0
    for place in range(0, len(whole), 3):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << place % 8)]) + whole[place + 1 :])
        try:
            assert same(file)
        except DamagedError:
            refused += 1
    assert refused > len(whole) / 6


def test_files_of_another_kind_are_refused_and_never_unpickled(file: Path) -> None:
    for content in (b"", b"PK", b"not an archive", b"\x93NUMPY\x01\x00"):
        file.write_bytes(content)
        with pytest.raises(DamagedError):
            load_arrays(file, "")
    for members in (
        {"a": np.zeros(3)},
        {"a": np.zeros(3), "about": np.array("[1]")},
        {"about": np.array({"arrays": ["about"]}, object)},
    ):
        np.savez(file, **members)
        with pytest.raises(DamagedError):
            load_arrays(file, "")
