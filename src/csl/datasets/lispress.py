"""Lispress, the program notation of SMCalFlow: tokens whose string literals can be copied, and program trees.

The sentences of SMCalFlow are split at clitics and punctuation (`co - worker`, `doctor 's`), the string literals of its
programs are not (`" co-worker sync "`). `split_word` splits both sides alike, so that a literal that stands in the
sentence is a sequence of its tokens. `detokenise` knows which tokens belong together and gives back the exact program;
where it would be wrong, `tokenise` leaves a word whole or marks it with `▁`. Linear in the length of a program, but
quadratic in that of a literal.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from csl.splits.programs import check_depth

QUOTE = '"'
WHOLE = "▁"  # starts a token that is one word of a literal, whatever its neighbours

_CLITIC = r"n't|'(?:s|d|m|ll|ve|re)"
_ORDINAL = r"st|nd|rd|th"
_MARKS = r"[.,!?]+"
_PIECE = re.compile(
    rf"([-/]|^\#|{_MARKS}$|(?<=\w)(?:{_CLITIC})(?=[.,!?]*$)|(?<=\d)(?:{_ORDINAL})(?=[.,!?]*$))", re.IGNORECASE
)
_JOINED_TO_LEFT = re.compile(rf"[-/]|{_MARKS}|{_CLITIC}", re.IGNORECASE)


def split_word(word: str) -> list[str]:
    """Split a word into tokens: `split_word("up-all-nighter!")` is `up - all - nighter !`."""
    return [piece for piece in _PIECE.split(word) if piece]


def tokenise_sentence(sentence: str) -> tuple[str, ...]:
    """Split a sentence at white space, clitics and punctuation."""
    return tuple(piece for word in sentence.split() for piece in split_word(word))


def tokenise(program: str) -> tuple[str, ...]:
    """Split a program into tokens: those it has, with the words of its string literals split further."""
    tokens: list[str] = []
    for i, part in enumerate(_between_quotes(program.split())):
        tokens += ([QUOTE] if i else []) + (_tokenise_literal(part) if i % 2 else part)
    return tuple(tokens)


def detokenise(tokens: Sequence[str]) -> str:
    """Give back the program that `tokenise` split."""
    words: list[str] = []
    for i, part in enumerate(_between_quotes(tokens)):
        words += ([QUOTE] if i else []) + (_join_literal(part) if i % 2 else part)
    return " ".join(words)


def _between_quotes(tokens: Sequence[str]) -> list[list[str]]:
    """Cut at the quotes: parts 0, 2, … are code, parts 1, 3, … the insides of literals."""
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == QUOTE:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _tokenise_literal(words: Sequence[str]) -> list[str]:
    tokens: list[str] = []
    for i, word in enumerate(words, start=1):
        for pieces in (split_word(word), [word], [WHOLE + word]):  # the last never fails
            if _join_literal(tokens + pieces) == list(words[:i]):
                tokens += pieces
                break
    return tokens


def _join_literal(tokens: Sequence[str]) -> list[str]:
    words: list[str] = []
    left = WHOLE
    for token in tokens:
        if _joined(left, token):
            words[-1] += token
        else:
            words.append(token.removeprefix(WHOLE))
        left = token
    return words


def _joined(left: str, right: str) -> bool:
    if left.startswith(WHOLE) or right.startswith(WHOLE):
        return False
    if left in {"-", "/", "#"} or _JOINED_TO_LEFT.fullmatch(right):
        return True
    return left[-1].isdecimal() and re.fullmatch(_ORDINAL, right, re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument `:slot # ( value )`; positional ones have no slot, and `#` marks literal values."""

    slot: str | None
    marked: bool
    value: "Call | Literal"


@dataclass(frozen=True, slots=True)
class Call:
    """The inside of a bracket that applies a function: `FindManager :recipient ( … )`."""

    head: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """The inside of a bracket that holds a value: `Number 30`, `String " sales meeting "`."""

    head: str
    tokens: tuple[str, ...]  # without the quotes
    quoted: bool

    @property
    def symbols(self) -> tuple[str, ...]:
        """The literal as it stands in a program."""
        return (self.head, QUOTE, *self.tokens, QUOTE) if self.quoted else (self.head, *self.tokens)


def parse_program(tokens: tuple[str, ...]) -> Call | Literal:
    """Read a program as a tree; raises ValueError with the reason if it is not one bracketed expression."""
    if tokens[:1] != ("(",):
        raise ValueError("a program starts with an opening bracket")
    check_depth(tokens)
    tree, end = _parse(tokens, 1)
    if end != len(tokens):
        raise ValueError(f"unexpected {tokens[end]!r} after the end of the program")
    return tree


def _parse(tokens: tuple[str, ...], start: int) -> tuple[Call | Literal, int]:
    """Read the inside of the bracket that opens before `start`; return it and the position after the bracket."""
    if start >= len(tokens) or tokens[start] in {"(", ")"}:
        raise ValueError(f"expected a function after {' '.join(tokens[:start][-4:])!r}")
    head, end = tokens[start], start + 1
    if tokens[end : end + 1] == (QUOTE,) and QUOTE in tokens[end + 1 :]:
        close = tokens.index(QUOTE, end + 1)
        inside: Call | Literal = Literal(head, tuple(tokens[end + 1 : close]), quoted=True)
        end = close + 1
    elif end < len(tokens) and tokens[end] not in {"(", ")", "#"} and not tokens[end].startswith(":"):
        inside = Literal(head, (tokens[end],), quoted=False)
        end += 1
    else:
        arguments = []
        while end < len(tokens) and tokens[end] != ")":
            slot = tokens[end] if tokens[end].startswith(":") else None
            marked = tokens[end + (slot is not None)] == "#" if end + 1 < len(tokens) else False
            end += (slot is not None) + marked
            if tokens[end : end + 1] != ("(",):
                raise ValueError(f"expected an opening bracket after {' '.join(tokens[:end][-4:])!r}")
            value, end = _parse(tokens, end + 1)
            arguments.append(Argument(slot, marked, value))
        inside = Call(head, tuple(arguments))
    if tokens[end : end + 1] != (")",):
        raise ValueError(f"expected a closing bracket after {' '.join(tokens[:end][-4:])!r}")
    return inside, end + 1


def literals_of(tree: Call | Literal) -> Iterator[Literal]:
    """Yield the literals of a program from left to right."""
    if isinstance(tree, Literal):
        yield tree
    else:
        for argument in tree.arguments:
            yield from literals_of(argument.value)
