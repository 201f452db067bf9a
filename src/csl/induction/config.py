"""The options of grammar induction and their presets (paper, table "Hyperparameters for grammar induction")."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from csl.data.files import read_lines
from csl.errors import InputError, nearest


class InductionConfig(BaseModel):
    """Everything, beside the data, that decides which grammar is induced."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    k_alpha: Annotated[float, Field(ge=0, description="weight of log2 p̂(α | β)")] = 4.0
    k_beta: Annotated[float, Field(ge=0, description="weight of log2 p̂(β | α)")] = 16.0
    k_t: Annotated[float, Field(gt=0, description="cost of a terminal")] = 8.0
    k_nt: Annotated[float, Field(gt=0, description="cost of a nonterminal")] = 1.0
    max_nonterminals: Annotated[int, Field(ge=1, le=8, description="largest arity of a rule")] = 4
    repeated_target: Annotated[bool, Field(description="may a nonterminal occur more than once in a target?")] = True
    lone_target: Annotated[bool, Field(description="may a target be a lone nonterminal, as in ⟨the NT_1, NT_1⟩?")] = (
        True
    )
    partitions: Annotated[
        int, Field(ge=1, description="parts of the data, by length, that are learnt one after the other")
    ] = 1
    steps: Annotated[int, Field(ge=1, description="at most so many steps a partition")] = 20
    max_units: Annotated[int, Field(ge=0, description="lone-nonterminal sources in a row in a derivation, at most")] = 2
    sample_size: Annotated[int, Field(ge=0, description="examples for p̂, drawn at random; 0: all")] = 0
    drop_duplicates: Annotated[bool, Field(description="count equal examples once in p̂")] = False
    seed: Annotated[int, Field(ge=0, description="for drawing the examples of sample_size")] = 0


PRESETS = {
    "scan": InductionConfig(
        k_alpha=0, k_beta=100, k_t=4, max_nonterminals=2, partitions=16, steps=5, drop_duplicates=True
    ),
    "cogs": InductionConfig(k_alpha=1, k_beta=5),
    "geoquery": InductionConfig(repeated_target=False),
    "smcalflow": InductionConfig(),
}
"""The paper's settings, with one exception: the published system has lone targets for SCAN and COGS only."""


def preset(name: str) -> InductionConfig:
    """Return a preset by name."""
    if name not in PRESETS:
        raise InputError(f"no preset {name!r}; {nearest(name, PRESETS)}")
    return PRESETS[name]


def read_config(path: Path | str) -> dict[str, object]:
    """Read options from a TOML file, at its top or in a table `[induction]`."""
    try:
        values = tomllib.loads("\n".join(line for _, line in read_lines(path)))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not valid TOML: {error}", path) from error
    section = values.pop("induction", None)
    if section is None:
        section, values = values, {}
    if not isinstance(section, dict):
        raise InputError("`induction` is not a table", path)
    if stray := [key for key, value in values.items() if not isinstance(value, dict)]:
        raise InputError(f"{stray[0]!r} stands outside the table [induction]; move it below that line", path)
    changed(InductionConfig(), section, path)
    return section


def parse_setting(text: str) -> tuple[str, str]:
    """Split `key=value`."""
    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set {text}: expected key=value, for example --set k_t=8")
    return key.strip(), value.strip()


def changed(
    config: InductionConfig, values: dict[str, object] | Iterable[tuple[str, object]], path: Path | str | None = None
) -> InductionConfig:
    """Return the config with some values changed; an unknown key or a wrong value is refused by name."""
    new = dict(values)
    for key in new:
        if key not in InductionConfig.model_fields:
            raise InputError(f"no option {key!r}; {nearest(key, InductionConfig.model_fields)}", path)
    try:
        return InductionConfig.model_validate(config.model_dump() | new)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{first['loc'][0]} = {first['input']!r}: {first['msg'].lower()}", path) from error
