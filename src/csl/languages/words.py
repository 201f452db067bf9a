"""Natural language as words and punctuation that give back every byte.

Words are runs of letters, digits and marks of any script, with what joins them (`co-worker`, `5:30`, `e_mail@x.org`);
clitics (`'s`) and punctuation are tokens of their own, Chinese characters and kana stand one by one, an emoji keeps its
modifiers. Nothing is normalised in the tokens; `normal` gives the form by which they are compared. Linear in the text.
"""

import unicodedata

from csl.languages.characters import words_pattern
from csl.languages.lexing import lex, lexer
from csl.languages.program import Text

_WORDS = lexer(words_pattern())


def cut(text: str) -> Text:
    """Cut a text into words and punctuation: `cut("What's up?").tokens` is `("What", "'s", "up", "?")`."""
    lexed = lex(_WORDS, text)
    return Text(lexed.tokens, lexed.gaps)


def normal(token: str, keep_case: bool = False) -> str:
    """Return the form by which tokens are compared: compatible characters alike, and without case unless it is kept."""
    if token.isascii():
        return token if keep_case else token.lower()
    form = unicodedata.normalize("NFKD", token)
    form = form if keep_case else form.casefold()
    return unicodedata.normalize("NFKC", "".join(form.split())) or token  # some forms have white space: `¨`
