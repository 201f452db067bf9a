r"""Rules as text, one a line: `NT_1 and NT_2 ### NT_1 NT_2`.

Tokens stand between spaces. What would be taken for notation is escaped with a backslash, so that reading what was
written gives the same rules for any tokens:

- a backslash before a reserved word makes it an ordinary token: `\NT_1`, `\###`, and `\#` at the start of a line;
- `\\` is a backslash, and `\u{a0}` the character with that code: white space and everything that does not print.

Any other backslash is an error, so that a token such as `\frac`, not escaped, is not taken for another one.

A line that starts with `#` is a comment; empty lines are skipped.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from csl.errors import InputError
from csl.files import atomic_write_text, read_lines
from csl.grammar.symbols import Grammar, Nt, Rule, Symbol

SEPARATOR = "###"
_NONTERMINAL = re.compile(r"NT_([1-9][0-9]*)")
_RESERVED = re.compile(r"\\(?=NT_[1-9][0-9]*\Z|#|=>\Z)")
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(\\)|)")


def escape(token: str, reserved: Callable[[str], object]) -> str:
    """Write a token so that it is one word and, if `reserved` holds for it, is not taken for notation."""
    plain = token.isprintable() and " " not in token and "\\" not in token
    word = token if plain else "".join(map(_escape_character, token))
    return "\\" + word if reserved(token) else word


def _escape_character(c: str) -> str:
    if c == "\\":
        return "\\\\"
    return c if c.isprintable() and not c.isspace() else f"\\u{{{ord(c):x}}}"


def unescape(word: str) -> str:
    """Give back the token that `escape` wrote."""

    def character(match: re.Match[str]) -> str:
        code, backslash = match.groups()
        if code and int(code, 16) <= 0x10FFFF:
            return chr(int(code, 16))
        if backslash:
            return "\\"
        raise ValueError(f"broken escape in {word}; write a backslash as \\\\")

    return _ESCAPE.sub(character, word[1:] if _RESERVED.match(word) else word)


def _is_notation(token: str) -> bool:
    return token == SEPARATOR or _NONTERMINAL.fullmatch(token) is not None


@lru_cache(maxsize=1 << 16)
def _format_symbol(symbol: Symbol) -> str:
    return repr(symbol) if isinstance(symbol, Nt) else escape(symbol, _is_notation)


def _parse_symbol(word: str) -> Symbol:
    match = _NONTERMINAL.fullmatch(word)
    return Nt(int(match[1])) if match else unescape(word)


def format_side(side: Iterable[Symbol]) -> str:
    """Write one side of a rule."""
    return " ".join(map(_format_symbol, side))


def format_rule(rule: Rule) -> str:
    """Write a rule as one line, without its end."""
    line = f"{format_side(rule.source)} {SEPARATOR} {format_side(rule.target)}"
    return "\\" + line if line.startswith("#") else line


def parse_rule(line: str) -> Rule:
    """Read a rule; raises ValueError with the reason if it is not one."""
    words = line.split()
    if words.count(SEPARATOR) != 1:
        raise ValueError(f"expected one {SEPARATOR} between source and target")
    middle = words.index(SEPARATOR)
    return Rule.canonical(
        [_parse_symbol(w) for w in words[:middle]],
        [_parse_symbol(w) for w in words[middle + 1 :]],
    )


def parse_grammar(lines: Iterable[str]) -> Grammar:
    """Read a grammar from lines of text: `parse_grammar(["jump ### JUMP", "NT_1 twice ### NT_1 NT_1"])`."""
    return Grammar(parse_rule(line) for line in lines if line.strip() and not line.startswith("#"))


def numbered_rules(path: Path | str) -> Iterator[tuple[int, Rule]]:
    """Stream the rules of a file with the numbers of their lines."""
    for number, line in read_lines(path):
        if line.strip() and not line.startswith("#"):
            try:
                yield number, parse_rule(line)
            except ValueError as error:
                raise InputError(str(error), path, number) from error


def read_rules(path: Path | str) -> Iterator[Rule]:
    """Stream the rules of a file."""
    return (rule for _, rule in numbered_rules(path))


def grammar_file(path: Path | str) -> Path:
    """Return the grammar file of a run folder, or the file itself."""
    path = Path(path)
    if not path.is_dir():
        return path
    if not (path / "grammar.txt").exists():
        raise InputError("no grammar.txt in this folder; has `csl induce` finished?", path)
    return path / "grammar.txt"


def read_grammar(path: Path | str) -> Grammar:
    """Read a grammar file, or the grammar of a run folder."""
    return Grammar(read_rules(grammar_file(path)))


def write_grammar(path: Path | str, rules: Iterable[Rule]) -> None:
    """Write rules to a file, atomically, in the order given."""
    with atomic_write_text(path) as file:
        file.writelines(f"{format_rule(rule)}\n" for rule in rules)
