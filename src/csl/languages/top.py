"""TOP brackets: `[IN:CREATE_REMINDER [SL:TODO pick up eggs ] ]`, coupled or decoupled.

An opening bracket is one token with its label. Words directly in a bracket, one after the other, are one `words`.
One pass over the lexemes, without recursion.
"""

from csl.languages.characters import words_pattern
from csl.languages.lexing import DEEPEST, Lexed, fail, lex, lexer, same_tokens
from csl.languages.program import Constituent, Program


class Top:
    """The language of labelled brackets."""

    name = "top"
    quotes = ""
    _lexeme = lexer(rf"\[[A-Za-z]++:[^\s\[\]]++|[\[\]]|{words_pattern()}")

    def read(self, text: str) -> Program:
        """Read a bracket, or several in a row."""
        lexed = lex(self._lexeme, text)
        return Program(lexed.tokens, lexed.gaps, _parse(lexed))

    def same(self, a: str, b: str) -> bool:
        """Compare tokens."""
        return same_tokens(self._lexeme, a, b, self.quotes)


def _parse(lexed: Lexed) -> Constituent:
    tokens = lexed.tokens
    stack: list[tuple[int, list[Constituent]]] = [(0, [])]  # the opening bracket, what is inside
    words = 0  # the first token that is in no constituent yet
    for i, token in enumerate(tokens):
        if token[0] not in "[]":
            continue
        _add_words(lexed, words, i, stack)
        words = i + 1
        if token == "[":
            fail(lexed, i, "'[' has no label")
        if token[0] == "[":
            if len(stack) > DEEPEST:
                fail(lexed, i, f"brackets are nested more than {DEEPEST} deep")
            stack.append((i, []))
            continue
        start, children = stack.pop()
        if not stack:
            fail(lexed, i, "']' closes no bracket")
        stack[-1][1].append(Constituent("call", tokens[start][1:], start, i + 1, tuple(children)))
    start, items = stack[-1]
    if len(stack) > 1:
        fail(lexed, start, f"{tokens[start]!r} is not closed")
    _add_words(lexed, words, len(tokens), stack)
    if not items:
        fail(lexed, 0, "no bracket")
    return items[0] if len(items) == 1 else Constituent("list", "", 0, len(tokens), tuple(items))


def _add_words(lexed: Lexed, start: int, end: int, stack: list[tuple[int, list[Constituent]]]) -> None:
    """Make one constituent of the words between two brackets."""
    if start == end:
        return
    if len(stack) == 1:
        fail(lexed, start, f"{lexed.tokens[start]!r} is in no bracket")
    stack[-1][1].append(Constituent("words", " ".join(lexed.tokens[start:end]), start, end))
