"""Texts as tokens that give back every byte, and programs as trees of constituents over such tokens.

A token is a slice of the text without white space in it; the white space between tokens is kept beside them, so that
`str(text)` is the text that was read. Rules are learnt from the tokens; the constituents say which of them belong
together.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal["call", "list", "member", "string", "number", "name", "words"]
"""What a constituent is:

- `call`: an operator with arguments: `f(a, b)`, `(f a b)`, `[IN:F …]`, a clause of SQL; `label` is the operator;
- `list`: any number of like items: a JSON object or array, the columns of a SELECT; `label` is empty or what it lists;
- `member`: one entry of a record or one keyword argument: `"name": value`; `label` is the key, the value its child;
- `string`, `number`: a literal, with its quotes; `label` is its content without quotes and escapes;
- `name`: an identifier or symbol that stands alone, or a span of punctuation that does; `label` is its text;
- `words`: a span of words copied from the input, as in `[SL:TODO pick up eggs ]`.
"""


class Constituent(NamedTuple):
    """Tokens `start` to `end` of a program; those in no child (operator, brackets, commas) are its own.

    A named tuple, which is faster to build than a frozen dataclass: a program has dozens.
    """

    kind: Kind
    label: str
    start: int
    end: int
    children: tuple["Constituent", ...] = ()

    def walk(self) -> Iterator["Constituent"]:
        """Give this constituent and all below it, from the top, left to right."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class Text:
    """Tokens and the white space before each of them and after the last: `gaps` has one more entry."""

    tokens: tuple[str, ...]
    gaps: tuple[str, ...]

    def __str__(self) -> str:
        between = zip(self.gaps, (*self.tokens, ""), strict=True)
        return "".join(gap + token for gap, token in between)


@dataclass(frozen=True, slots=True)
class Program(Text):
    """An output in its language: `root` spans all of its tokens."""

    root: Constituent
