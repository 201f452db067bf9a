"""Programs as terms: reads outputs in three notations, and takes their entities and literals out.

- Calls, `f ( a , slot = b )`: FunQL, and the variable-free form of COGS.
- Lists, `( f a :slot ( b ) )`: the LISP programs of SMCalFlow. A program is read so if its first token is `(`.
- Sequences without brackets, `WALK WALK JUMP`: terms side by side, none with arguments.

Linear in the number of tokens, and without recursion: any depth of nesting will do.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from csl.errors import InputError

ENTITY = "<entity>"
DEEPEST = 100
DEFAULT_ENTITIES = r"""m[0-9]+|[+-]?[0-9]+([.,:/-][0-9]+)*|"[^"]*"|'[^']*'"""  # placeholders, numbers, quoted words

_BEFORE_BRACKET = ("#", "'", "`")  # LISP's reader marks: part of the notation, not functions


@dataclass(slots=True)
class Term:
    """A function symbol and its arguments; an argument is a slot name with the terms that fill it, mostly one."""

    symbol: str
    arguments: list[tuple[str, list["Term"]]]

    @property
    def atom(self) -> str:
        """The symbol with its number of arguments: `loc_2/1`."""
        return f"{self.symbol}/{len(self.arguments)}"


def check_depth(tokens: Iterable[str]) -> None:
    """Raise a ValueError if brackets are nested deeper than functions that follow them recursively can go."""
    depth = 0
    for token in tokens:
        depth += (token == "(") - (token == ")")
        if depth > DEEPEST:
            raise ValueError(f"brackets are nested more than {DEEPEST} deep")


def entity_pattern(pattern: str) -> re.Pattern[str]:
    """Compile the regular expression that a token must match as a whole to be an entity."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InputError(f"{pattern!r} is not a regular expression: {error}") from error


def abstract(tokens: Sequence[str], entities: re.Pattern[str]) -> tuple[str, ...]:
    """Replace every entity and literal by `<entity>`; what is left is the program's template.

    An entity is a token that matches `entities`, or all tokens from one that opens a double quote to the one that
    closes it: `PersonName " Ann Lee "` becomes `PersonName <entity>`.
    """
    template: list[str] = []
    at = 0
    while at < len(tokens):
        end = _end_of_quotation(tokens, at)
        template.append(ENTITY if end > at or entities.fullmatch(tokens[at]) else tokens[at])
        at = max(end, at + 1)
    return tuple(template)


def _end_of_quotation(tokens: Sequence[str], start: int) -> int:
    """Give the position after the quotation that opens at `start`, or `start` if none does."""
    if not tokens[start].startswith('"'):
        return start
    if len(tokens[start]) > 1 and tokens[start].endswith('"'):
        return start + 1
    return next((at + 1 for at in range(start + 1, len(tokens)) if tokens[at].endswith('"')), start)


def parse(tokens: Sequence[str]) -> list[Term]:
    """Read a program as terms that stand side by side; ValueError if its brackets do not match."""
    return _parse_lists(tokens) if tokens and tokens[0] == "(" else _parse_calls(tokens)


def _parse_calls(tokens: Sequence[str]) -> list[Term]:
    top: list[Term] = []
    open_terms: list[Term] = []  # the calls whose brackets are open, innermost last
    previous = "("
    for token in tokens:
        here = open_terms[-1].arguments[-1][1] if open_terms else top
        if token == "(":
            if previous in ("(", ")", ",", "="):  # a bracket that belongs to no function
                here.append(Term("", []))
            here[-1].arguments.append(("0", []))
            open_terms.append(here[-1])
        elif token == ")":
            if not open_terms:
                raise ValueError("a closing bracket has no opening one")
            closed = open_terms.pop()
            if not closed.arguments[-1][1]:  # `f ( )`, or a comma before the bracket
                closed.arguments.pop()
        elif token == "," and open_terms:
            open_terms[-1].arguments.append((str(len(open_terms[-1].arguments)), []))
        elif token == "=" and open_terms and here and not any(term.arguments for term in here):
            open_terms[-1].arguments[-1] = (" ".join(term.symbol for term in here), [])
        else:
            here.append(Term(token, []))
        previous = token
    if open_terms:
        raise ValueError("a bracket is not closed")
    return top


def _parse_lists(tokens: Sequence[str]) -> list[Term]:
    levels: list[list[Term]] = [[]]
    for token, following in zip(tokens, [*tokens[1:], ""], strict=True):
        if token == "(":
            levels.append([])
        elif token == ")":
            items = levels.pop()
            if not levels:
                raise ValueError("a closing bracket has no opening one")
            levels[-1].append(_list_term(items))
        elif not (token in _BEFORE_BRACKET and following == "("):
            levels[-1].append(Term(token, []))
    if len(levels) > 1:
        raise ValueError("a bracket is not closed")
    return levels[0]


def _list_term(items: list[Term]) -> Term:
    """Make a term of a list: its first symbol is the function, `:slot` names the argument that follows."""
    has_head = bool(items) and not items[0].arguments
    term = Term(items[0].symbol if has_head else "", [])
    slot = ""
    for item in items[has_head:]:
        if item.symbol.startswith(":") and len(item.symbol) > 1 and not item.arguments:
            if slot:
                term.arguments.append((slot, []))
            slot = item.symbol
        else:
            term.arguments.append((slot or str(len(term.arguments)), [item]))
            slot = ""
    if slot:
        term.arguments.append((slot, []))
    return term
