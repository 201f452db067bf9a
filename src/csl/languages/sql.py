"""SQL, through sqlglot: it gives the tokens and says whether they parse; a small parser here finds the constituents.

A query is a list of clauses; a clause is a call on what it lists (columns, tables) or on its condition, which is always
a list of AND or OR. Comparisons, functions and aliases are calls as well; what is in brackets is a list. Comments are
part of the gaps. Reading takes about a millisecond a query, nearly all of it in sqlglot, which is imported when needed.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from csl.languages.grouping import Item, Sign, join
from csl.languages.lexing import Lexed, atom, content, cut_string, fail
from csl.languages.program import Constituent, Program

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

_FIRST = re.compile(r"[\s(]*+(?:SELECT|WITH|INSERT|UPDATE|DELETE)\b", re.IGNORECASE)
_OTHERS = ("sqlite", "mysql")
"""Dialects to try where the generic one fails: names in backticks or square brackets; `\\` as escape in strings."""

_SETS = frozenset({"UNION", "INTERSECT", "EXCEPT"})
_JOINS = frozenset({"JOIN", "LEFT", "RIGHT", "INNER", "OUTER", "FULL", "CROSS", "NATURAL"})
_CONDITIONS = frozenset({"WHERE", "HAVING", "ON"})
_CLAUSES = _CONDITIONS | {
    "WITH", "SELECT", "FROM", "JOIN", "USING", "GROUP BY", "ORDER BY", "LIMIT", "OFFSET", "INSERT", "UPDATE", "DELETE",
    "SET", "VALUES", "RETURNING", "WINDOW", "FETCH",
}  # fmt: skip
_LISTING = frozenset({"SELECT", "FROM", "GROUP BY", "ORDER BY", "WITH", "SET", "VALUES"})
_AFTER_CLAUSES = frozenset({"DISTINCT", "ALL", "RECURSIVE", "INTO"})  # these belong to the clause before them
_PREFIXES = frozenset({"DISTINCT", "ALL", "ANY", "SOME", "EXISTS", "NOT", "INTERVAL"})
_SUFFIXES = frozenset({"ASC", "DESC"})
_COMPARISONS = frozenset(
    {"=", "==", "<>", "!=", "<", ">", "<=", ">=", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "GLOB", "IS"}
)
_NEGATED = frozenset(
    {"NOT IN", "NOT LIKE", "NOT ILIKE", "NOT RLIKE", "NOT REGEXP", "NOT GLOB", "NOT BETWEEN", "IS NOT"}
)
_CASE = frozenset({"CASE", "WHEN", "THEN", "ELSE", "END"})
_SIGNS = (
    _SETS | _JOINS | _CLAUSES | _PREFIXES | _SUFFIXES | _COMPARISONS | _CASE
    | _AFTER_CLAUSES | {"AND", "OR", "AS", "BETWEEN", "OVER", "ESCAPE"}
)  # fmt: skip


@dataclass(frozen=True)
class Sql:
    """The language of SQL queries, in a dialect of sqlglot or the generic one."""

    dialect: str = ""
    name = "sql"
    quotes = "\"'`"

    def __post_init__(self) -> None:
        """Refuse a dialect that sqlglot does not know."""
        if self.dialect:
            from sqlglot import Dialect

            Dialect.get_or_raise(self.dialect)

    def read(self, text: str) -> Program:
        """Read a query or another statement on data."""
        lexed = self._lex(text)
        return Program(lexed.tokens, lexed.gaps, _statements(lexed))

    def same(self, a: str, b: str) -> bool:
        """Compare tokens; keywords and bare names without case."""
        try:
            return self._comparable(a) == self._comparable(b)
        except ValueError:
            return a.split() == b.split()

    def _comparable(self, text: str) -> list[str]:
        lexemes = self._lex(text).lexemes
        return [lexeme if lexeme[0] in self.quotes else " ".join(lexeme.upper().split()) for lexeme in lexemes]

    def _lex(self, text: str) -> Lexed:
        if not _FIRST.match(text):
            raise ValueError("position 1: not SELECT, WITH, INSERT, UPDATE or DELETE")
        dialects = (self.dialect,) if self.dialect else ("", *_OTHERS)
        failure = ""
        for dialect in dialects:
            try:
                return _lexed(text, _tokens(text, dialect), self.quotes)
            except ValueError as error:
                failure = failure or str(error)
        raise ValueError(failure)


def _tokens(text: str, dialect: str) -> "list[Token]":
    """Return the tokens that sqlglot finds, if it can parse them."""
    from sqlglot import Dialect
    from sqlglot.errors import ParseError, SqlglotError

    try:
        known = Dialect.get_or_raise(dialect)
        tokens = known.tokenize(text)
        known.parser().parse(tokens, text)
    except ParseError as error:
        place = error.errors[0] if error.errors else {}
        line, column = place.get("line") or 1, place.get("col") or 1
        position = sum(len(part) + 1 for part in text.split("\n")[: line - 1]) + column
        raise ValueError(f"position {position}: {place.get('description') or error}") from error
    except SqlglotError as error:
        raise ValueError(f"position 1: {error}") from error
    except RecursionError as error:
        raise ValueError("position 1: brackets are nested too deep") from error
    return tokens


def _lexed(text: str, found: "Sequence[Token]", quotes: str) -> Lexed:
    """Turn sqlglot's tokens into lexemes; its strings and `GROUP BY` are several tokens of ours."""
    tokens: list[str] = []
    gaps: list[str] = []
    starts = [0]
    lexemes: list[str] = []
    at = 0
    for token in found:
        lexeme = text[token.start : token.end + 1]
        gaps.append(text[at : token.start])
        at = token.end + 1
        lexemes.append(lexeme)
        if lexeme[0] in quotes and lexeme[-1] == lexeme[0] and len(lexeme) > 1:
            words, spaces = cut_string(lexeme)
        else:
            words, spaces = lexeme.split(), re.findall(r"\s+", lexeme)
        tokens += words
        gaps += spaces
        starts.append(len(tokens))
    return Lexed(tuple(tokens), (*gaps, text[at:]), tuple(lexemes), starts, quotes)


def _statements(lexed: Lexed) -> Constituent:
    """Build the constituents of all statements."""
    stack: list[tuple[int, list[Item]]] = [(0, [])]
    for i, lexeme in enumerate(lexed.lexemes):
        items = stack[-1][1]
        if lexeme == "(":
            stack.append((lexed.starts[i], []))
        elif lexeme == ")" and len(stack) > 1:
            start, inside = stack.pop()
            _add_bracket(stack[-1][1], start, lexed.starts[i + 1], _level(inside))
        else:
            items.append(_item(lexed, i, items[-1] if items else None))
    if len(stack) > 1:
        fail(lexed, len(lexed.lexemes), "'(' is not closed")
    end = lexed.starts[-1]
    children = [child for part in _split(stack[0][1], {";"}) for child in _level(part)]
    if len(children) == 1:
        only = children[0]
        return Constituent(only.kind, only.label, 0, end, only.children)
    return Constituent("list", "", 0, end, tuple(children))


def _item(lexed: Lexed, i: int, before: Item | None) -> Item:
    """Return a keyword or operator as a sign, anything else as a constituent."""
    text, start, end = lexed.lexemes[i], lexed.starts[i], lexed.starts[i + 1]
    near = lexed.lexemes[max(i - 1, 0) : i + 2]
    if text[0] in lexed.quotes and len(text) > 1:
        name = text[0] == "`" or "." in near
        return Constituent("name" if name else "string", content(text), start, end)
    word = " ".join(text.upper().split())
    if text == "*" and not isinstance(before, Constituent):
        return Constituent("name", text, start, end)
    if word in _SIGNS or not any(character.isalnum() or character in "_?$" for character in text):
        return Sign(word, start, end)
    return atom(lexed, i)


def _add_bracket(items: list[Item], start: int, end: int, children: list[Constituent]) -> None:
    """Add what is in brackets: a function call if a name stands before, else a list."""
    before = items[-1] if items else None
    if isinstance(before, Constituent) and before.kind == "name" and before.end == start and before.label != "*":
        items[-1] = Constituent("call", before.label, before.start, end, tuple(children))
    else:
        items.append(Constituent("list", "", start, end, tuple(children)))


def _level(items: list[Item]) -> list[Constituent]:
    """Build the constituents between two brackets: a query, several joined, or expressions between commas."""
    if not any(isinstance(item, Sign) and item.text in _CLAUSES for item in items):
        return _expressions(items)
    joined: list[Item] = []
    query: list[Item] = []
    for item in items:
        if isinstance(item, Sign) and item.text in _SETS:
            joined += [*_query(query), item]
            query = []
        else:
            query.append(item)
    return [item for item in join([*joined, *_query(query)], _SETS, "call") if isinstance(item, Constituent)]


def _query(items: list[Item]) -> list[Constituent]:
    """Build the list of clauses of one query; `ALL` after UNION and brackets around a query are kept before it."""
    clauses: list[list[Item]] = [[]]
    for item in _with_joins(items):
        if isinstance(item, Sign) and (item.text in _CLAUSES or item.text.endswith("JOIN")):
            clauses.append([])
        clauses[-1].append(item)
    first = [item for item in clauses[0] if isinstance(item, Constituent)]
    children = [_clause(clause) for clause in clauses[1:]]
    if not children:
        return first
    return [Constituent("list", "query", (first or children)[0].start, children[-1].end, (*first, *children))]


def _clause(items: list[Item]) -> Constituent:
    """Build the call of a clause on what follows its keyword."""
    keyword, *body = items
    assert isinstance(keyword, Sign)
    while body and isinstance(body[0], Sign) and body[0].text in _AFTER_CLAUSES:
        body = body[1:]
    children: tuple[Constituent, ...]
    if keyword.text in _CONDITIONS:
        children = tuple(_condition(body))
    elif keyword.text in _LISTING:
        parts = _expressions(body)
        children = (Constituent("list", keyword.text, parts[0].start, parts[-1].end, tuple(parts)),) if parts else ()
    else:
        children = tuple(_expressions(body))
    return Constituent("call", keyword.text, keyword.start, items[-1].end, children)


def _condition(items: list[Item]) -> list[Constituent]:
    """Build a condition, always as a list of what AND or OR join."""
    parts = _expressions(items)
    if len(parts) == 1 and not (parts[0].kind == "list" and parts[0].label in ("AND", "OR")):
        return [Constituent("list", "AND", parts[0].start, parts[0].end, tuple(parts))]
    return parts


def _with_joins(items: list[Item]) -> Iterator[Item]:
    """Make one keyword of `LEFT OUTER JOIN`."""
    words: list[Sign] = []
    for item in items:
        if not isinstance(item, Sign) or item.text not in _JOINS:
            yield item
            continue
        words.append(item)
        if item.text == "JOIN":
            yield Sign(" ".join(word.text for word in words), words[0].start, item.end)
            words = []


def _expressions(items: list[Item]) -> list[Constituent]:
    """Build what is between commas, each as one constituent."""
    return [part for argument in _split(items, {","}) for part in _expression(argument)]


def _expression(items: list[Item]) -> list[Constituent]:
    """Join what operators join, the tightest first; what is still several items is a list of them."""
    items = join(_cases(items), {".", "::", "->", "->>"}, "call")
    items = join(items, {"OVER"}, "call")
    items = join(items, {"*", "/", "%"}, "call")
    items = join(items, {"+", "-", "||"}, "call")
    items = _prefixed(items, _PREFIXES - {"NOT"})
    items = _between(_negated(items))
    items = join(items, _COMPARISONS | _NEGATED, "call")
    items = _prefixed(items, {"NOT"})
    items = join(items, {"AND"}, "list")
    items = join(items, {"OR"}, "list")
    items = _aliased(join(items, {"AS"}, "call"))
    children = tuple(item for item in items if isinstance(item, Constituent))
    if not items or (len(items) == 1 and children):
        return list(children)
    start, end = items[0].start, items[-1].end
    if not children:
        label = " ".join(item.text for item in items if isinstance(item, Sign))
        return [Constituent("name", label, start, end)]
    last = items[-1]
    if len(children) == 1 and isinstance(last, Sign) and last.text in _SUFFIXES:
        return [Constituent("call", last.text, start, end, children)]
    return [Constituent("list", "", start, end, children)]


def _split(items: Sequence[Item], separators: Collection[str]) -> list[list[Item]]:
    parts: list[list[Item]] = [[]]
    for item in items:
        if isinstance(item, Sign) and item.text in separators:
            parts.append([])
        else:
            parts[-1].append(item)
    return parts


def _prefixed(items: Sequence[Item], operators: Collection[str]) -> list[Item]:
    """Make a call of each prefix operator and what follows it."""
    done: list[Item] = []
    for item in reversed(items):
        after = done[-1] if done else None
        if isinstance(item, Sign) and item.text in operators and isinstance(after, Constituent):
            done[-1] = Constituent("call", item.text, item.start, after.end, (after,))
        else:
            done.append(item)
    return done[::-1]


def _negated(items: Sequence[Item]) -> list[Item]:
    """Make one operator of `NOT IN` and of `IS NOT`."""
    done: list[Item] = []
    for item in items:
        before = done[-1] if done else None
        if isinstance(item, Sign) and isinstance(before, Sign):
            text = f"{before.text} {item.text}"
            if text in _NEGATED:
                done[-1] = Sign(text, before.start, item.end)
                continue
        done.append(item)
    return done


def _between(items: Sequence[Item]) -> list[Item]:
    """Make a call of `a BETWEEN b AND c`."""
    done: list[Item] = []
    for item in items:
        done.append(item)
        match done[-5:]:
            case [Constituent() as a, Sign() as sign, Constituent() as b, Sign(text="AND"), Constituent() as c]:
                if sign.text in ("BETWEEN", "NOT BETWEEN"):
                    done[-5:] = [Constituent("call", sign.text, a.start, c.end, (a, b, c))]
    return done


def _aliased(items: Sequence[Item]) -> list[Item]:
    """Make a call of `table alias`, where AS is left out."""
    match items:
        case [Constituent() as a, Constituent(kind="name") as b]:
            return [Constituent("call", "AS", a.start, b.end, (a, b))]
    return list(items)


def _cases(items: Sequence[Item]) -> list[Item]:
    """Make a call of each `CASE … END`, on the parts between its keywords."""
    stack: list[list[Item]] = [[]]
    for item in items:
        stack[-1].append(item)
        if isinstance(item, Sign) and item.text == "CASE":
            stack[-1].pop()
            stack.append([item])
        elif isinstance(item, Sign) and item.text == "END" and len(stack) > 1:
            case = stack.pop()
            parts = [part for inside in _split(case, _CASE) for part in _expression(inside)]
            stack[-1].append(Constituent("call", "CASE", case[0].start, item.end, tuple(parts)))
    return [item for level in stack for item in level]
