"""All output languages, and which of them a set of outputs is in.

A new language is one file and one line in `LANGUAGES`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from csl.languages.calls import Calls
from csl.languages.code import Code
from csl.languages.commands import Commands, are_commands
from csl.languages.json_ import Json
from csl.languages.language import Language
from csl.languages.sexpr import SExpressions
from csl.languages.sql import Sql
from csl.languages.tokens import Tokens
from csl.languages.top import Top

COMMANDS = Commands()
LANGUAGES: tuple[Language, ...] = (Json(), Top(), SExpressions(), Sql(), Calls(), COMMANDS, Tokens(), Code())
"""In order of preference; the last reads everything."""

ENOUGH = 0.9
"""A language is preferred to those after it if it reads this share of the outputs."""
LOOKED_AT = 1000
HOPELESS = 50
"""A language that reads none of so many outputs is not tried on the others."""


@dataclass(frozen=True, slots=True)
class Detected:
    """A language and the share of outputs that it reads."""

    language: Language
    share: float


def language(name: str) -> Language:
    """Return a language by its name; `sql:DIALECT` is SQL in a dialect that sqlglot knows."""
    for known in LANGUAGES:
        if known.name == name:
            return known
    kind, _, dialect = name.partition(":")
    if kind == "sql":
        return Sql(dialect)
    raise ValueError(f"no output language {name!r}; there are {', '.join(known.name for known in LANGUAGES)}")


def detect(outputs: Sequence[str]) -> Detected:
    """Return the first language that reads nearly all outputs, or the one that reads most.

    Looks at 1,000 outputs at most, evenly spread. Where a language finds no constituents in any output (`yes`, `no`),
    they are left to commands, if they look like such, tokens and code.
    """
    sample = outputs[:: max(1, len(outputs) // LOOKED_AT)][:LOOKED_AT]
    best = Detected(LANGUAGES[-1], 0.0)
    for known in LANGUAGES:
        if known is COMMANDS and not are_commands(outputs):
            continue
        share = _share(known, sample, flat=known in LANGUAGES[-2:])
        if share >= ENOUGH:
            return Detected(known, share)
        if share > best.share:
            best = Detected(known, share)
    return best


def _share(language: Language, outputs: Sequence[str], flat: bool) -> float:
    """Return the share of outputs that a language reads, zero if all are flat and must not be."""
    read = 0
    for i, output in enumerate(outputs):
        if i == HOPELESS and not read:
            return 0.0
        try:
            program = language.read(output)
        except ValueError:
            continue
        read += 1
        flat = flat or bool(program.root.children)
    return read / len(outputs) if flat and outputs else 0.0
