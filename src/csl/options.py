"""Options: values from TOML files and from the command line, checked against a config class.

A config class stands beside the thing that it configures; what is common to all of them is here.
"""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from csl.errors import InputError, nearest
from csl.files import read_lines

Config = TypeVar("Config", bound=BaseModel)

RENAMED = {
    "piece": "micro_batch_size", "seeds": "seed_rules", "unlabeled": "unlabelled", "input_field": "input_column",
    "output_field": "output_column",
}  # fmt: skip


def find_preset(presets: Mapping[str, Config], name: str) -> Config:
    """Return a preset by name."""
    if name not in presets:
        raise InputError(f"no preset {name!r}; {nearest(name, presets)}")
    return presets[name]


def read_toml(path: Path | str) -> dict[str, Any]:
    """Read a TOML file."""
    try:
        return tomllib.loads("\n".join(line for _, line in read_lines(path)))
    except ValueError as error:  # a number with too many digits is one, too
        raise InputError(f"not valid TOML: {error}", path) from error
    except RecursionError as error:
        raise InputError("not valid TOML: nested too deeply", path) from error


def read_options(path: Path | str, section: str, config: BaseModel) -> dict[str, object]:
    """Read options of a config from a TOML file, at its top or in the table [section]."""
    values = read_toml(path)
    options = values.pop(section, None)
    if options is None:
        options, values = values, {}
    if not isinstance(options, dict):
        raise InputError(f"`{section}` is not a table", path)
    if stray := [key for key, value in values.items() if not isinstance(value, dict)]:
        raise InputError(f"{stray[0]!r} is outside the table [{section}]; move it below that line", path)
    changed(config, options, path)
    return options


def parse_setting(text: str) -> tuple[str, str]:
    """Split `key=value`."""
    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set {text}: expected key=value, for example --set steps=100")
    return key.strip(), value.lstrip()  # a prefix may end with a blank


def changed(
    config: Config, values: Mapping[str, object] | Iterable[tuple[str, object]], path: Path | str | None = None
) -> Config:
    """Return the config with some values changed; an unknown key or a wrong value is refused by name.

    Values that nobody gave stay unset (`model_fields_set`), so that a choice made later can fill them in.
    """
    new, fields = dict(values), type(config).model_fields
    for key in new:
        if key in fields:
            continue
        if RENAMED.get(key) in fields:
            raise InputError(f"the option {key!r} is now {RENAMED[key]!r}", path)
        raise InputError(f"no option {key!r}; {nearest(key, fields)}", path)
    try:
        return type(config).model_validate(config.model_dump(exclude_unset=True) | new)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{first['loc'][0]} = {first['input']!r}: {first['msg'].lower()}", path) from error
