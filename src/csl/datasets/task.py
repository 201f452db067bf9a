"""A task: one split of a data set with everything that learning it takes."""

from dataclasses import dataclass, field

from csl.examples import Example
from csl.grammar import Rule
from csl.grammar.output_cfg import OutputCfg


@dataclass(frozen=True)
class Task:
    """What preparing a data set gives; `csl data prepare` writes it to a folder."""

    train: list[Example]
    dev: list[Example]
    test: list[Example]
    seed_rules: list[Rule] = field(default_factory=list)
    output_cfg: OutputCfg | None = None
    columns: tuple[str, ...] = ()  # names of the meta columns to keep, such as "category"
    origin: str = ""  # where the original files come from, in words
    licence: str = ""
    notes: list[str] = field(default_factory=list)  # where the files differ from the published figures, and why
