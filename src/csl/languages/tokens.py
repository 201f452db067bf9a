"""Tokens between spaces, as in prepared benchmark data: `f ( a , b )`, `I_WALK I_TURN_LEFT`.

Brackets, quotes and separators have to stand alone; where brackets balance they make constituents.
"""

import re

from csl.languages.grouping import group
from csl.languages.lexing import fail, lex, lexer
from csl.languages.program import Program

_APART = re.compile(
    r"[()\[\]{},;\"]"  # alone
    r"|(?:[^\s()\[\]{},;\"]|(?<=\w)\[[^\s()\[\]{}]*\])+(?<![\w\]][.?!:])"  # `Constraint[Event]`, not `you?`
)


class Tokens:
    """The language of tokens between spaces."""

    name = "tokens"
    quotes = '"'
    _lexeme = lexer(r"\S++")

    def read(self, text: str) -> Program:
        """Read any text whose punctuation is set apart by spaces."""
        lexed = lex(self._lexeme, text)
        quoted = False
        for i, token in enumerate(lexed.tokens):
            quoted ^= token == '"'
            if not quoted and not _APART.fullmatch(token):
                fail(lexed, i, f"{token!r} is not one token")
        if not lexed.tokens:
            fail(lexed, 0, "no token")
        return Program(lexed.tokens, lexed.gaps, group(lexed))

    def same(self, a: str, b: str) -> bool:
        """Compare tokens."""
        return a.split() == b.split()
