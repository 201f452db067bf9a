"""Arrays in a file with a few words about them: npz, without pickle, written atomically."""

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from csl.data.files import write_bytes
from csl.errors import InputError

Arrays = dict[str, npt.NDArray[Any]]

# what a damaged file can bring up: a changed bit may ask for a password or a compression that nobody has (RuntimeError)
DAMAGE = (OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, RuntimeError, zipfile.BadZipFile)


def save_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]], about: Mapping[str, object]) -> None:
    """Write arrays, and `about`, which must be JSON."""
    buffer = io.BytesIO()
    text = json.dumps({**about, "arrays": sorted(arrays)})
    np.savez(buffer, about=np.array(text), **arrays)  # type: ignore[arg-type]
    write_bytes(path, buffer.getvalue())


def load_arrays(path: Path, remedy: str) -> tuple[Arrays, dict[str, Any]]:
    """Read what `save_arrays` wrote; a damaged file is refused with this remedy."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(str(arrays.pop("about")))
        if about.pop("arrays") != sorted(arrays):
            raise ValueError("arrays are missing")
        return arrays, about
    except DAMAGE as error:
        raise InputError(f"damaged file; {remedy}", path) from error
