"""Outputs of several languages in one file: refused, as nothing that is learnt from one holds for the other.

Looks at some outputs, evenly spread; reading one takes up to a millisecond.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from csl.errors import InputError
from csl.examples.formats.row import Row, Rows
from csl.languages.language import Language
from csl.languages.registry import ENOUGH, LANGUAGES

STRICT = tuple(
    language for language in LANGUAGES if language.name not in ("commands", "tokens", "code")
)  # which read any text
LOOKED_AT = 1000  # outputs


def one_language(found: Rows, path: Path | str, *, skip_bad: bool = False) -> Rows:
    """Refuse rows in another language than most, or leave them out; those that are in no language are not meant."""
    main = _mixed(found.rows[:: -(-len(found.rows) // LOOKED_AT)])
    if main is None:
        return found
    rows, errors = [], []
    for row in found.rows:
        if other := _other(row, main):
            message = f"the output is {other.name}, but most are {main.name}; make two files of it, or use --skip-bad"
            errors.append(InputError(message, path, row.line))
        else:
            rows.append(row)
    if not skip_bad:
        raise errors[0]
    return replace(found, rows=rows, skipped=[*found.skipped, *errors])


def _mixed(rows: Sequence[Row]) -> Language | None:
    """Find the main language of rows that are nearly all in some language, but not in one."""
    own = Counter(place for row in rows if (place := _first(row)) is not None)
    if not own:
        return None
    main = STRICT[own.most_common(1)[0][0]]
    others = sum(_other(row, main) is not None for row in rows)
    return main if others and own.total() >= ENOUGH * len(rows) else None


def _other(row: Row, main: Language) -> Language | None:
    """Find the language of a row that is in another one: the main one does not read it, or is less strict."""
    first, place = _first(row), STRICT.index(main)
    if first is None or first == place or (first > place and _constituents(main, row) >= 0):
        return None
    return STRICT[first]


def _first(row: Row) -> int | None:
    """Give the place of the strictest language that finds constituents in an output."""
    return next((place for place, language in enumerate(STRICT) if _constituents(language, row) > 0), None)


def _constituents(language: Language, row: Row) -> int:
    """Count the constituents at the top of an output; -1 if the language does not read it."""
    try:
        return len(language.read(row.output).root.children)
    except ValueError:
        return -1
