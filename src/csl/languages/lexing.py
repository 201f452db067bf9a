r"""From text to lexemes and tokens: one regular expression cuts a text, a second the strings in it.

A lexeme is what the parser of a language sees: a bracket, a name, a whole string. Tokens are the same, except that a
string is cut into its quotes and its words, so that rules can be learnt about these. Escapes stay as they are, in the
words (`caf\u00e9`) or between them (`\n`). Linear in the text.
"""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from csl.languages.characters import CHARACTERS, JOINT, words_pattern
from csl.languages.program import Constituent

DEEPEST = 200
"""Brackets nested deeper are refused: functions that follow trees by recursion have to end."""

NUMBER = re.compile(r"[+-]?\d+(?:[,_]\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?")


class Lexed(NamedTuple):
    """Tokens and gaps as in `Text`; lexeme `i` is the tokens from `starts[i]` to `starts[i + 1]`."""

    tokens: tuple[str, ...]
    gaps: tuple[str, ...]
    lexemes: tuple[str, ...]
    starts: Sequence[int]
    quotes: str


def lexer(lexeme: str) -> re.Pattern[str]:
    """Compile the regular expression of a lexeme, which has no groups and matches any character but white space."""
    return re.compile(rf"(\s*+)({lexeme}|\Z)")


def string_pattern(quotes: str) -> str:
    r"""Match a string between any of these quotes, with `\` as escape or the quote doubled; an unclosed one to the end.

    An apostrophe between letters closes no string: `'McDonald's'`.
    """
    return "|".join(rf"{_body(quote)}(?:{quote}|\\?\Z)" for quote in quotes)


def _body(quote: str) -> str:
    within = rf"\\[\s\S]|{quote}{quote}" + (r"|(?<=\w)'(?=\w)" if quote == "'" else "")
    return rf"{quote}[^{quote}\\]*+(?:(?:{within})[^{quote}\\]*+)*+"


_INSIDE = lexer(r"\\[nrt]|" + words_pattern(rf"{CHARACTERS}|\\u[0-9a-fA-F]{{4}}|\\[^\snrt]", rf"{JOINT}|''|\"\""))


def lex(pattern: re.Pattern[str], text: str, quotes: str = "", after_key: str = "") -> Lexed:
    """Cut a text into lexemes by a pattern of `lexer`, and those that start with a quote into tokens.

    A string without white space in it that stands before `after_key` is one token, and so is one that is not closed.
    """
    gaps, lexemes = zip(*pairs(pattern, text), strict=True)
    lexemes = lexemes[:-1]
    strings = [i for i, lexeme in enumerate(lexemes) if lexeme[0] in quotes and len(lexeme) > 1]
    tokens: list[str] = []
    between: list[str] = []
    starts: list[int] = []
    done = 0  # lexemes before it are in the lists
    for i in strings:
        string = lexemes[i]
        key = lexemes[i + 1 : i + 2] == (after_key,) and len(string.split()) == 1
        if key or not (i + 1 < len(lexemes) or _closed(string)):
            continue
        starts += range(len(tokens), len(tokens) + i - done + 1)
        tokens += lexemes[done:i]
        between += gaps[done : i + 1]
        words, spaces = cut_string(string)
        tokens += words
        between += spaces
        done = i + 1
    if not done:
        return Lexed(lexemes, gaps, lexemes, range(len(gaps)), quotes)
    starts += range(len(tokens), len(tokens) + len(gaps) - done)
    return Lexed((*tokens, *lexemes[done:]), (*between, *gaps[done:]), lexemes, starts, quotes)


def cut_string(string: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return the tokens of a string with its quotes, and the gaps between them."""
    quote, inside = string[0], string[1:-1]
    if inside.isascii() and inside.isidentifier():  # one word, as most strings are
        return (quote, inside, quote), ("", "")
    words = pairs(_INSIDE, inside)
    return (quote, *[token for _, token in words[:-1]], quote), [gap for gap, _ in words]


def pairs(pattern: re.Pattern[str], text: str) -> list[tuple[str, str]]:
    """Return every lexeme with the white space before it, and the white space at the end with an empty one."""
    found = pattern.findall(text)
    if len(found) > 1 and not found[-2][1]:
        found.pop()  # after white space at the end, an empty match follows
    return found


def same_tokens(pattern: re.Pattern[str], a: str, b: str, quotes: str) -> bool:
    """Say whether two texts have the same tokens, whatever white space stands between them."""
    return a == b or lex(pattern, a, quotes).tokens == lex(pattern, b, quotes).tokens


def atom(lexed: Lexed, lexeme: int) -> Constituent:
    """Return the constituent of a string, a number or a name."""
    text, start, end = lexed.lexemes[lexeme], lexed.starts[lexeme], lexed.starts[lexeme + 1]
    if text[0] in lexed.quotes:
        if lexeme + 1 == len(lexed.lexemes) and not _closed(text):
            fail(lexed, lexeme, f"{text[0]} is not closed")
        return Constituent("string", content(text), start, end)
    number = text[0] in "+-0123456789" and NUMBER.fullmatch(text)
    return Constituent("number" if number else "name", text, start, end)


def content(string: str) -> str:
    """Return what a string says: without its quotes and escapes."""
    quote, inside = string[0], string[1:-1]
    if "\\" in inside and quote == '"':
        try:
            return json.loads(string, strict=False)
        except ValueError:
            pass  # escapes that JSON does not have
    return re.sub(rf"\\([\s\S])|{quote}({quote})", lambda m: m[1] or m[2], inside)


def _closed(string: str) -> bool:
    """Say whether a string that is the last lexeme has its closing quote."""
    return string[-1] == string[0] and re.fullmatch(_body(string[0]) + string[0], string) is not None


def fail(lexed: Lexed, lexeme: int, reason: str) -> NoReturn:
    """Raise a ValueError with the position of a lexeme in the text, from 1 on."""
    before = lexed.starts[lexeme]
    position = sum(map(len, lexed.tokens[:before])) + sum(map(len, lexed.gaps[: before + 1])) + 1
    raise ValueError(f"position {position}: {reason}")
