"""CSL, the Compositional Structure Learner: grammars from pairs, and new pairs from grammars.

The public names are listed once, in `__init__.pyi`, for type checkers and for the import on demand below: `import csl`
is quick, and nothing is imported before it is asked for.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"


def _homes() -> dict[str, str]:
    """Give the module of each public name."""
    stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    return {name: module for module, name in re.findall(r"^from (\S+) import (\w+) as \w+$", stub, re.MULTILINE)}


def __getattr__(name: str) -> Any:
    homes = _homes()
    if name == "__all__":
        return sorted(homes)
    if name not in homes:
        raise AttributeError(f"module 'csl' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(homes[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted([*_homes(), *(name for name in globals() if name.startswith("__"))])
