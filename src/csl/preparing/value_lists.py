"""Lists of values that users give: a line a value, its columns between tabs.

    stateid	New Mexico	stateid('new mexico')
    stateid	Texas

The type is one that training shows (`csl types` lists them), then come the words of the input and the text of the
output. Without the last, the words are copied as training copies values of that type. Empty lines and lines that start
with `#` are skipped.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from csl.errors import InputError
from csl.languages.words import cut, normal
from csl.preparing.preparation import Preparation
from csl.preparing.values import Entry


@dataclass(frozen=True)
class Listed:
    """The values on a list, and the capitals of their words."""

    entries: list[Entry]
    forms: dict[str, str]

    def added_to(self, preparation: Preparation) -> Preparation:
        """Add those whose type the preparation knows, all of them unless it learnt from other pairs."""
        types = {entry.type for entry in preparation.values.entries}
        values = preparation.values.extended(entry for entry in self.entries if entry.type in types)
        casing = preparation.casing
        if casing:
            casing = replace(casing, forms={**self.forms, **casing.forms})
        return replace(preparation, values=values, casing=casing)


def listed(preparation: Preparation, lines: Iterable[tuple[int, str]], path: Path | str) -> Listed:
    """Read the values on numbered lines of a file, for the types of a preparation."""
    entries: list[Entry] = []
    forms: dict[str, str] = {}
    for number, line in lines:
        if line.strip() and not line.startswith("#"):
            columns = [column.strip() for column in line.split("\t")]
            try:
                entries.append(_entry(preparation, columns))
            except ValueError as error:
                raise InputError(str(error), path, number) from error
            forms |= {normal(token): token for token in cut(columns[1]).tokens}
    return Listed(entries, forms)


def with_values(preparation: Preparation, lines: Iterable[tuple[int, str]], path: Path | str) -> Preparation:
    """Add the values on numbered lines of a file, with their capitals."""
    return listed(preparation, lines, path).added_to(preparation)


def _entry(preparation: Preparation, columns: list[str]) -> Entry:
    match columns:
        case [kind, words, text] if kind and words and text:
            _check_type(kind, (entry.type for entry in preparation.values.entries))
            return Entry(kind, preparation.words(words), preparation.read(text).tokens, 1)
        case [kind, words] if kind and words:
            _check_type(kind, (entry.type for entry in preparation.values.entries))
            source = preparation.words(words)
            tokens = preparation.values.copied(kind, source)
            if tokens is None:
                raise ValueError(f"values of type {kind} are not copied in one way; add the text of the output")
            return Entry(kind, source, tokens, 1)
    raise ValueError("expected a type, the words of the input and the text of the output, with tabs between them")


def _check_type(kind: str, known: Iterable[str]) -> None:
    names = sorted(set(known))
    if kind not in names:
        raise ValueError(f"no type {kind!r}; known: {', '.join(names) or 'none'}")
