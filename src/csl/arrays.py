"""Arrays in a file with a few words about them: npz, without pickle, written atomically, with a checksum of it all."""

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from csl.errors import FAILURES, InputError, from_system
from csl.files import atomic_write

Arrays = dict[str, npt.NDArray[Any]]

DAMAGED = "damaged file"

# what reading a damaged file can raise: a changed bit may ask for a password or an unknown compression (RuntimeError)
DAMAGE = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    EOFError,
    RuntimeError,
    MemoryError,
    zipfile.BadZipFile,
)


class DamagedError(InputError):
    """A file that is not as it was written."""


def save_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]], about: Mapping[str, object]) -> None:
    """Write arrays, and `about`, which must be JSON."""
    text = json.dumps({**about, "sha256": _checksum(arrays, about)})
    with atomic_write(path) as file:
        np.savez(file, about=np.array(text), **arrays)  # type: ignore[arg-type]


def load_arrays(path: Path, remedy: str) -> tuple[Arrays, dict[str, Any]]:
    """Read what `save_arrays` wrote; a damaged file is refused with this remedy."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise from_system(error, "cannot be read", path) from error
    try:
        with file, np.load(file, allow_pickle=False) as members:
            arrays = {name: members[name] for name in members.files}
        about = json.loads(str(arrays.pop("about")))
        if about.pop("sha256") != _checksum(arrays, about):
            raise ValueError("the checksum differs")
        return arrays, about
    except DAMAGE as error:
        if isinstance(error, OSError) and error.errno in FAILURES:
            raise from_system(error, "cannot be read", path) from error
        raise DamagedError(f"{DAMAGED}; {remedy}", path) from error


def _checksum(arrays: Mapping[str, npt.NDArray[Any]], about: Mapping[str, object]) -> str:
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(arrays):
        values = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {values.dtype.str} {arrays[name].shape}".encode())
        digest.update(values.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
