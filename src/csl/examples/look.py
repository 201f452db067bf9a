"""What is in a file, before anything is learnt from it: sizes, the output language, repetitions, pairs as understood.

Takes one pass over the rows. Outputs are parsed, which takes up to a millisecond each; of large files only some are,
evenly spread.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from csl.examples.formats.row import Row
from csl.languages.language import Language
from csl.languages.program import Constituent
from csl.languages.registry import detect
from csl.languages.words import cut, normal

PARSED = 5000  # outputs, at most
SHOWN = 3  # pairs
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Lengths:
    """The numbers of tokens of some texts."""

    least: int
    median: float
    most: int


@dataclass(frozen=True)
class Understood:
    """A pair as it is understood: its tokens, and the constituents of its output, one a line, indented."""

    line: int
    input: str
    output: str
    input_tokens: tuple[str, ...]
    output_tokens: tuple[str, ...]
    constituents: tuple[str, ...]


@dataclass(frozen=True)
class Unparsed:
    """An output that its language does not read."""

    line: int
    reason: str


@dataclass(frozen=True)
class Look:
    """What is in a file. `parsed` of `tried` outputs are of the language; `unparsed` are the others.

    `shared_words` is the share of the words of outputs that are in their inputs. `duplicates` are pairs that repeat an
    earlier one, `contradictions` the lines of inputs that have several outputs.
    """

    rows: int
    language: str
    tried: int
    parsed: int
    unparsed: tuple[Unparsed, ...]
    input_lengths: Lengths
    output_lengths: Lengths
    shared_words: float
    duplicates: int
    contradictions: tuple[tuple[int, ...], ...]
    pairs: tuple[Understood, ...]


def look(rows: Sequence[Row], language: Language | None = None) -> Look:
    """Look at rows; the language is seen from the outputs unless one is given."""
    language = language or detect([row.output for row in rows]).language
    some = rows[:: -(-len(rows) // PARSED)]
    unparsed, lengths = [], []
    for row in some:
        try:
            lengths.append(len(language.read(row.output).tokens))
        except ValueError as error:
            unparsed.append(Unparsed(row.line, str(error)))
    places = sorted({0, len(rows) // 2, len(rows) - 1})[:SHOWN]
    return Look(
        rows=len(rows),
        language=language.name,
        tried=len(some),
        parsed=len(lengths),
        unparsed=tuple(unparsed),
        input_lengths=_lengths([len(cut(row.input).tokens) for row in some]),
        output_lengths=_lengths(lengths),
        shared_words=_shared_words(some),
        duplicates=len(rows) - len(set(rows)),
        contradictions=_contradictions(rows),
        pairs=tuple(_understood(rows[place], language) for place in places),
    )


def _lengths(counts: Sequence[int]) -> Lengths:
    return Lengths(min(counts), median(counts), max(counts)) if counts else Lengths(0, 0, 0)


def _shared_words(rows: Sequence[Row]) -> float:
    found = total = 0
    for row in rows:
        known = set(_words(row.input))
        words = _words(row.output)
        total += len(words)
        found += sum(word in known for word in words)
    return found / max(1, total)


def _words(text: str) -> list[str]:
    return _WORD.findall(normal(text))


def _contradictions(rows: Sequence[Row]) -> tuple[tuple[int, ...], ...]:
    """Give the lines of each input with more than one output: the first line of each output."""
    lines: dict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        lines[row.input].setdefault(row.output, row.line)
    return tuple(tuple(outputs.values()) for outputs in lines.values() if len(outputs) > 1)


def _understood(row: Row, language: Language) -> Understood:
    words = cut(row.input).tokens
    try:
        program = language.read(row.output)
    except ValueError as error:
        return Understood(row.line, row.input, row.output, words, (), (f"not {language.name}: {error}",))
    return Understood(row.line, row.input, row.output, words, program.tokens, tuple(_outline(program.root)))


def _outline(constituent: Constituent, depth: int = 0) -> Iterator[str]:
    """Write a constituent and those below it, one a line."""
    yield f"{'  ' * depth}{constituent.kind} {constituent.label}".rstrip()
    for child in constituent.children:
        yield from _outline(child, depth + 1)
