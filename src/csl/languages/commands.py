"""Commands: a word and its arguments, with white space between them: `cp notes.txt /tmp`, `light on kitchen 50`.

Nothing tells one output from any other text; that there are few kinds of them does (`are_commands`).
"""

from collections.abc import Sequence

from csl.languages.lexing import atom, fail, lex, lexer, same_tokens, string_pattern
from csl.languages.program import Constituent, Program

KINDS = 2  # numbers of arguments that a command takes, at most, on the mean
MANY = 5  # outputs of each kind, at least, on the mean


class Commands:
    """The language of commands without brackets."""

    name = "commands"
    quotes = "\"'"
    _lexeme = lexer(rf"{string_pattern(quotes)}|[^\s\"]++")

    def read(self, text: str) -> Program:
        """Read a text whose first word is a name."""
        lexed = lex(self._lexeme, text, self.quotes)
        if not lexed.lexemes or not lexed.lexemes[0][0].isalpha():
            fail(lexed, 0, "a command starts with a word")
        items = tuple(atom(lexed, i) for i in range(len(lexed.lexemes)))
        if len(items) == 1:
            return Program(lexed.tokens, lexed.gaps, items[0])
        root = Constituent("call", items[0].label, 0, len(lexed.tokens), items[1:])
        return Program(lexed.tokens, lexed.gaps, root)

    def same(self, a: str, b: str) -> bool:
        """Compare tokens."""
        return same_tokens(self._lexeme, a, b, self.quotes)


def are_commands(outputs: Sequence[str]) -> bool:
    """Whether outputs without structure are commands: few first words, most with as many arguments each time."""
    distinct = [words for text in dict.fromkeys(outputs) if (words := text.split())]
    kinds = {(words[0], len(words)) for words in distinct}
    names = {name for name, _ in kinds}
    arguments = sum(number - 1 for _, number in kinds)
    return arguments >= len(kinds) <= KINDS * len(names) and MANY * len(kinds) <= len(distinct)
