"""Any text, cut as code is: words, numbers, strings, operators and brackets. The fallback; it reads everything.

Brackets make constituents where they balance, and operators that are common in many notations join what is beside them
(`csl.languages.grouping`).
"""

from csl.languages.characters import CHARACTERS
from csl.languages.grouping import group
from csl.languages.lexing import lex, lexer, same_tokens
from csl.languages.program import Program

_OPERATORS = (
    r"===|!==|<=>|\.\.\.|->|=>|==|!=|<>|<=|>=|=~|!~|~=|:=|\+=|-=|\*=|/=|&&|\|\||::|\*\*|<<|>>|\.\.|//|\^\^|\?\?|\|>"
)
_STRING = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"' + r"|(?<![\w)\]])'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'(?!\w)"
_WORD = rf"(?:{CHARACTERS})++(?:['’](?:{CHARACTERS})++)*+"
_NUMBER = rf"\d++(?:[.,:]\d++)*+(?!{CHARACTERS})"


class Code:
    """The language of everything else."""

    name = "code"
    quotes = "\"'"
    _lexeme = lexer(rf"{_STRING}|{_NUMBER}|[$@#]?{_WORD}|{_OPERATORS}|\\\S|\S")

    def read(self, text: str) -> Program:
        """Read any text."""
        lexed = lex(self._lexeme, text, self.quotes)
        return Program(lexed.tokens, lexed.gaps, group(lexed))

    def same(self, a: str, b: str) -> bool:
        """Compare tokens."""
        return same_tokens(self._lexeme, a, b, self.quotes)
