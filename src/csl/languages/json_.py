"""JSON: objects are lists of members, arrays lists of values.

The key of a member is one token with its quotes unless there is white space in it; strings that are values are cut into
words. Python's own reader says whether a text is JSON; one pass over the lexemes then finds the constituents.
"""

import json
from dataclasses import dataclass, field

from csl.languages.lexing import DEEPEST, Lexed, atom, fail, lex, lexer, string_pattern
from csl.languages.program import Constituent, Program


class Json:
    """The language of JSON values."""

    name = "json"
    quotes = '"'
    _lexeme = lexer(rf'{string_pattern(quotes)}|[\[\]{{}},:]|[^\s\[\]{{}},:"]++')

    def read(self, text: str) -> Program:
        """Read one JSON value."""
        _loads(text)
        lexed = lex(self._lexeme, text, self.quotes, ":")
        return Program(lexed.tokens, lexed.gaps, _parse(lexed))

    def same(self, a: str, b: str) -> bool:
        """Compare as objects: the order of members does not count, nor how numbers and characters are written."""
        try:
            return _comparable(_loads(a)) == _comparable(_loads(b))
        except ValueError:
            return a.split() == b.split()


def _loads(text: str) -> object:
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise ValueError(f"position {error.pos + 1}: {error.msg}") from error
    except RecursionError as error:
        raise ValueError(f"position 1: brackets are nested more than {DEEPEST} deep") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"position 1: {constant} is not JSON")


def _comparable(value: object) -> object:
    """Tell `true` from 1, which Python takes for equal."""
    match value:
        case bool():
            return ("boolean", value)
        case dict():
            return {key: _comparable(item) for key, item in value.items()}
        case list():
            return [_comparable(item) for item in value]
    return value


def _parse(lexed: Lexed) -> Constituent:
    """Find the constituents of valid JSON."""
    starts = lexed.starts
    stack: list[_Open] = [_Open(0)]
    for i, lexeme in enumerate(lexed.lexemes):
        if lexeme in "[{":
            if len(stack) > DEEPEST:
                fail(lexed, i, f"brackets are nested more than {DEEPEST} deep")
            stack.append(_Open(starts[i]))
        elif lexeme == ":":
            stack[-1].key = stack[-1].children.pop()
        elif lexeme in "]}":
            done = stack.pop()
            stack[-1].add(Constituent("list", "", done.start, starts[i + 1], tuple(done.children)))
        elif lexeme != ",":
            stack[-1].add(atom(lexed, i))
    return stack[0].children[0]


@dataclass(slots=True)
class _Open:
    """A bracket that is not closed yet, and the key whose value comes next."""

    start: int
    children: list[Constituent] = field(default_factory=list)
    key: Constituent | None = None

    def add(self, value: Constituent) -> None:
        if self.key:
            value = Constituent("member", self.key.label, self.key.start, value.end, (value,))
            self.key = None
        self.children.append(value)
