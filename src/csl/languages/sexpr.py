"""S-expressions: `(f a (g "b c") :key 1)`, with or without spaces beside the brackets.

The first atom of a list is its operator; `:key value` is a member unless the keyword is the operator itself. A reader
mark before a bracket (`#`, `'`) belongs to the list. One pass over the lexemes, without recursion.
"""

from csl.languages.lexing import DEEPEST, Lexed, atom, fail, lex, lexer, same_tokens, string_pattern
from csl.languages.program import Constituent, Program

_MARKS = frozenset("#'`,@")


class SExpressions:
    """The language of S-expressions."""

    name = "sexpr"
    quotes = '"'
    _lexeme = lexer(rf'{string_pattern(quotes)}|[()]|[#\'`,@](?=\()|[^\s()"]++')

    def read(self, text: str) -> Program:
        """Read a list, several in a row, or a lone atom."""
        lexed = lex(self._lexeme, text, self.quotes)
        return Program(lexed.tokens, lexed.gaps, _parse(lexed))

    def same(self, a: str, b: str) -> bool:
        """Compare tokens."""
        return same_tokens(self._lexeme, a, b, self.quotes)


def _parse(lexed: Lexed) -> Constituent:
    starts = lexed.starts
    marked = not _MARKS.isdisjoint(lexed.lexemes)
    stack: list[tuple[int, list[Constituent]]] = [(0, [])]  # lexeme after the bracket, items
    for i, lexeme in enumerate(lexed.lexemes):
        if lexeme == "(":
            if len(stack) > DEEPEST:
                fail(lexed, i, f"brackets are nested more than {DEEPEST} deep")
            stack.append((i + 1, []))
        elif lexeme == ")":
            first, items = stack.pop()
            if not stack:
                fail(lexed, i, "')' closes no bracket")
            items = _with_marks(items) if marked else items
            stack[-1][1].append(_list(lexed, first, items, starts[i + 1]))
        else:
            stack[-1][1].append(atom(lexed, i))
    if len(stack) > 1:
        fail(lexed, stack[-1][0] - 1, "'(' is not closed")
    items = _with_marks(stack[0][1])
    if not items:
        fail(lexed, 0, "no list")
    if len(items) == 1:
        return items[0]
    outside = next((item for item in items if item.kind not in ("call", "list")), None)
    if outside:
        fail(lexed, starts.index(outside.start), f"{outside.label!r} is in no list")
    return Constituent("list", "", 0, starts[-1], tuple(items))


def _list(lexed: Lexed, first: int, items: list[Constituent], end: int) -> Constituent:
    """Build the constituent of a list whose first lexeme after the bracket is `first`."""
    start = lexed.starts[first - 1]
    if items and items[0].kind == "name":
        return Constituent("call", items[0].label, start, end, tuple(_with_members(items[1:])))
    return Constituent("list", "", start, end, tuple(_with_members(items)))


def _with_marks(items: list[Constituent]) -> list[Constituent]:
    """Let each list begin with the reader marks before it."""
    marked: list[Constituent] = []
    for item in items:
        start = item.start
        while item.kind in ("call", "list") and marked and marked[-1].label in _MARKS and marked[-1].kind == "name":
            start = marked.pop().start
        marked.append(Constituent(item.kind, item.label, start, item.end, item.children))
    return marked


def _with_members(items: list[Constituent]) -> list[Constituent]:
    """Join each keyword and the item after it."""
    members: list[Constituent] = []
    key: Constituent | None = None
    for item in items:
        if item.kind == "name" and item.label[0] == ":" and len(item.label) > 1:
            members += [key] if key else []
            key = item
        elif key:
            members.append(Constituent("member", key.label[1:], key.start, item.end, (item,)))
            key = None
        else:
            members.append(item)
    return members + ([key] if key else [])
