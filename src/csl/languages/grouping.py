"""Constituents of a notation that is not known: by brackets, separators and operators, the tightest first.

Only what stands directly beside an operator is joined, so that words of the notation (`filter`, `of`) stay what they
are; brackets that do not balance are punctuation. Linear in the number of items for each level of operators.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from csl.languages.lexing import DEEPEST, Lexed, atom
from csl.languages.program import Constituent, Kind

CLOSING = {"(": ")", "[": "]", "{": "}"}
SEPARATORS = (";", ",")
_PREFIXES = frozenset("*-+!~?@#$&%")
_WORD = re.compile(r"\w")
_PATH = frozenset({".", "::", "->"})
_LEVELS: tuple[tuple[frozenset[str], Kind], ...] = (
    (_PATH, "call"),
    (frozenset({"*", "/", "%", "**"}), "call"),
    (frozenset({"+", "-"}), "call"),
    (frozenset({"==", "!=", "<>", "<=", ">=", "<", ">", "=~", "~=", "!~", "===", "!=="}), "call"),
    (frozenset({"=", ":", ":=", "=>"}), "member"),
    (frozenset({"&&"}), "list"),
    (frozenset({"||"}), "list"),
)


@dataclass(frozen=True, slots=True)
class Sign:
    """Tokens that are no constituent of their own: an operator, a comma, a keyword."""

    text: str
    start: int
    end: int
    before_next: bool = False
    """Whether there is white space before it and none after it, as in `f -x`."""


Item = Constituent | Sign


def group(lexed: Lexed) -> Constituent:
    """Find the constituents of lexemes in no particular notation."""
    items = _inside(lexed)
    if items is None:
        items = [_item(lexed, i) for i in range(len(lexed.lexemes))]
    children = _arguments(items)
    end = lexed.starts[-1]
    if len(children) == 1 and (children[0].start, children[0].end) == (0, end):
        return children[0]
    return Constituent("list", "", 0, end, children)


def join(items: Sequence[Item], operators: Collection[str], kind: Kind) -> list[Item]:
    """Make one constituent of each run `a op b op c`; with another operator after it, the run is its first part."""
    if not any(isinstance(item, Sign) and item.text in operators for item in items):
        return list(items)
    joined: list[Item] = []
    i = 0
    while i < len(items):
        item = items[i]
        i += 1
        while isinstance(item, Constituent) and (sign := _sign(items, i)) in operators:
            parts = [item]
            while _sign(items, i) == sign:
                part = items[i + 1]
                assert isinstance(part, Constituent)
                parts.append(part)
                i += 2
            item = _joined(kind, sign, parts)
        joined.append(item)
    return joined


def _sign(items: Sequence[Item], i: int) -> str:
    """Return the operator at `i` if a constituent follows it."""
    if i + 1 < len(items):
        sign, after = items[i], items[i + 1]
        if isinstance(sign, Sign) and isinstance(after, Constituent):
            return sign.text
    return ""


def _prefixed(items: Sequence[Item]) -> list[Item]:
    """Give each prefix operator to what follows it: `-x`, `* donut ( a )`."""
    done: list[Item] = []
    for item in items:
        sign = done[-1] if done else None
        if isinstance(item, Constituent) and isinstance(sign, Sign) and sign.text in _PREFIXES:
            first = len(done) == 1 or isinstance(done[-2], Sign)
            if first or sign.before_next:
                done[-1] = Constituent(item.kind, sign.text + item.label, sign.start, item.end, item.children)
                continue
        done.append(item)
    return done


def _joined(kind: Kind, sign: str, parts: list[Constituent]) -> Constituent:
    start, end = parts[0].start, parts[-1].end
    if sign in _PATH and all(part.kind in ("name", "number") for part in parts):
        return Constituent("name", sign.join(part.label for part in parts), start, end)
    if kind == "member":
        if len(parts) == 2 and parts[0].kind in ("name", "string"):
            return Constituent("member", parts[0].label, start, end, (parts[1],))
        kind = "call"
    return Constituent(kind, sign, start, end, tuple(parts))


def _inside(lexed: Lexed) -> list[Item] | None:
    """Return the items of all lexemes, those in brackets as one; none if brackets do not balance or nest too deep."""
    lexemes, starts = lexed.lexemes, lexed.starts
    stack: list[tuple[int, list[Item]]] = [(-1, [])]  # the opening bracket, what is inside
    strings = _strings(lexemes)
    i = 0
    while i < len(lexemes):
        lexeme, items = lexemes[i], stack[-1][1]
        if i in strings:
            end = strings[i]
            items.append(Constituent("string", " ".join(lexemes[i + 1 : end]), starts[i], starts[end + 1]))
            i = end
        elif lexeme in CLOSING:
            if len(stack) > DEEPEST:
                return None
            stack.append((i, []))
        elif lexeme in (")", "]", "}"):
            opening, inner = stack.pop()
            if not stack or CLOSING[lexemes[opening]] != lexeme:
                return None
            _add_bracket(stack[-1][1], lexemes[opening], starts[opening], starts[i + 1], inner)
        else:
            items.append(_item(lexed, i))
        i += 1
    return stack[0][1] if len(stack) == 1 else None


def _add_bracket(items: list[Item], bracket: str, start: int, end: int, inside: list[Item]) -> None:
    """Add what is in brackets: a call if a name stands before a round one."""
    before = items[-1] if items else None
    if bracket == "(" and isinstance(before, Constituent) and before.kind == "name":
        items[-1] = Constituent("call", before.label, before.start, end, _arguments(inside))
    else:
        items.append(Constituent("list", "", start, end, _arguments(inside)))


def _item(lexed: Lexed, lexeme: int) -> Item:
    text = lexed.lexemes[lexeme]
    if (text[0] in lexed.quotes and len(text) > 1) or _WORD.search(text):
        return atom(lexed, lexeme)
    start, end = lexed.starts[lexeme], lexed.starts[lexeme + 1]
    return Sign(text, start, end, bool(lexed.gaps[start]) and not lexed.gaps[end])


def _strings(lexemes: Sequence[str]) -> dict[int, int]:
    """Return where strings between quotes that are lexemes of their own open and close."""
    quotes = [i for i, lexeme in enumerate(lexemes) if lexeme == '"'] if '"' in lexemes else []
    return dict(zip(quotes[::2], quotes[1::2], strict=False))


def _arguments(items: Sequence[Item]) -> tuple[Constituent, ...]:
    """Return what is between separators, each as one constituent."""
    arguments: list[Constituent] = []
    argument: list[Item] = []
    for item in items:
        if isinstance(item, Sign) and item.text in SEPARATORS:
            arguments += _argument(argument)
            argument = []
        else:
            argument.append(item)
    return (*arguments, *_argument(argument))


def _argument(items: list[Item]) -> list[Constituent]:
    """Join what operators join; what is still several items is a list of them, punctuation alone a name."""
    items = _prefixed(items)
    for operators, kind in _LEVELS if len(items) > 2 else ():
        items = join(items, operators, kind)
    children = [item for item in items if isinstance(item, Constituent)]
    if not items or (len(items) == 1 and children):
        return children
    start, end = items[0].start, items[-1].end
    if not children:
        return [Constituent("name", " ".join(item.text for item in items if isinstance(item, Sign)), start, end)]
    return [Constituent("list", "", start, end, tuple(children))]
