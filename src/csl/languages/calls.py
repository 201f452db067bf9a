"""Calls: `f(a, 'b c', key=1)`, nested, with lists in any brackets and several calls in a row.

An argument of several bare words is `words`: `remind(call mum, time=5 pm)`. Spaces may stand between any two tokens, so
that prepared data (`f ( a , b )`) reads alike. One pass over the lexemes, without recursion.
"""

from dataclasses import dataclass, field

from csl.languages.lexing import DEEPEST, Lexed, atom, fail, lex, lexer, same_tokens, string_pattern
from csl.languages.program import Constituent, Kind, Program

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_SIGNS = frozenset("()[]{},;=:")
_NAME = r"[^\s()\[\]{},;=\"'`:<>!~|&+*/^%](?:[^\s()\[\]{},;=\"'`:<>!~|]|:(?=[\w/])|(?<=\w)'(?=\w))*+"
_NUMBER = r"[+-]?\d++(?:[.:/-]\d++)*+(?![\w:])"


@dataclass(slots=True)
class _Open:
    """A bracket that is not closed yet: what was read since, and the argument that is being read."""

    bracket: str
    label: str
    start: int
    children: list[Constituent] = field(default_factory=list)
    items: list[Constituent] = field(default_factory=list)
    key: Constituent | None = None


class Calls:
    """The language of calls."""

    name = "calls"
    quotes = "\"'`"
    _lexeme = lexer(rf"{string_pattern(quotes)}|{_NUMBER}|{_NAME}|[<>=!~|&+*/^%]++|\S")

    def read(self, text: str) -> Program:
        """Read a call, several in a row, or a lone name or literal."""
        lexed = lex(self._lexeme, text, self.quotes, ":")
        return Program(lexed.tokens, lexed.gaps, _parse(lexed))

    def same(self, a: str, b: str) -> bool:
        """Compare tokens."""
        return same_tokens(self._lexeme, a, b, self.quotes)


def _parse(lexed: Lexed) -> Constituent:
    starts = lexed.starts
    stack = [_Open("", "", 0)]
    for i, lexeme in enumerate(lexed.lexemes):
        top = stack[-1]
        if lexeme not in _SIGNS:
            top.items.append(atom(lexed, i))
        elif lexeme in _CLOSING:
            if len(stack) > DEEPEST:
                fail(lexed, i, f"brackets are nested more than {DEEPEST} deep")
            called = top.items and lexeme == "(" and top.items[-1].kind == "name"
            function = top.items.pop() if called else None
            stack.append(_Open(lexeme, function.label, function.start) if function else _Open(lexeme, "", starts[i]))
        elif lexeme in ")]}":
            if _CLOSING.get(top.bracket) != lexeme:
                fail(lexed, i, f"{lexeme!r} closes no bracket")
            _end_argument(lexed, i, top)
            stack.pop()
            kind: Kind = "call" if top.label else "list"
            done = Constituent(kind, top.label, top.start, starts[i + 1], tuple(top.children))
            stack[-1].items.append(done)
        elif lexeme in ",;":
            if not top.items:
                fail(lexed, i, f"nothing before {lexeme!r}")
            _end_argument(lexed, i, top)
        else:
            if top.key or len(top.items) != 1 or top.items[0].kind not in ("name", "string"):
                fail(lexed, i, f"no name before {lexeme!r}")
            top.key = top.items.pop()
    end = len(lexed.lexemes)
    if len(stack) > 1:
        fail(lexed, end, f"{stack[-1].bracket!r} is not closed")
    return _root(lexed, stack[0])


def _end_argument(lexed: Lexed, i: int, top: _Open) -> None:
    """Make one constituent of what was read of an argument."""
    if not top.items:
        if top.key:
            fail(lexed, i, f"no value for {top.key.label!r}")
        return
    first, last = top.items[0], top.items[-1]
    if len(top.items) > 1:
        if not all(_is_word(item) for item in top.items):
            fail(lexed, i, "a comma or an operator is missing before this")
        label = " ".join(item.label for item in top.items)
        first = Constituent("words", label, first.start, last.end)
    if top.key:
        first = Constituent("member", top.key.label, top.key.start, last.end, (first,))
        top.key = None
    top.children.append(first)
    top.items.clear()


def _is_word(item: Constituent) -> bool:
    return item.kind == "number" or (item.kind == "name" and any(map(str.isalnum, item.label)))


def _root(lexed: Lexed, top: _Open) -> Constituent:
    """Return the only item, or the list of the calls in a row."""
    end = len(lexed.lexemes)
    if len(top.items) > 1 and not top.key and all(item.kind in ("call", "list") for item in top.items):
        top.children += top.items
        top.items.clear()
    _end_argument(lexed, end, top)
    match top.children:
        case []:
            fail(lexed, end, "no call")
        case [child] if child.end == lexed.starts[end] and child.kind not in ("words", "member"):
            return child
        case children if all(child.kind in ("call", "list") for child in children):
            return Constituent("list", "", 0, lexed.starts[end], tuple(children))
    fail(lexed, end, "not only calls")
