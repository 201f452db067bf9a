r"""Output CFGs as grammars for constrained decoders: GBNF (llama.cpp, xgrammar) and Lark (llguidance).

Such a grammar is of texts, not of tokens: the *joint* says what stands between two tokens. It accepts exactly the texts
of the CFG with that joint. There is no left recursion in it, and no rule derives the empty text.

llguidance first cuts a text into literals, always the longest that may stand there: of `"a" "b" | "ab" "c"` it would
refuse `ab`. Where a text can be misread so, Lark's literals are pieces of tokens none of which begins another. It is
slow where many literals are possible, so the alternatives of a rule that are one literal form a terminal.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from types import MappingProxyType
from typing import Literal

from csl.grammar.left_recursion import without_left_recursion
from csl.grammar.output_cfg import ROOT, Category, OutputCfg

MAYBE_SPACE = '" "?'
START = "start: root"
APOSTROPHE = ('"\'" [a-zA-Z]', "'[a-zA-Z]")  # inside of a string, in GBNF and as a regular expression
NO_FORCING = '%llguidance {"no_forcing": true}\n'  # every way to cut a text into the tokens of a model is allowed

Sides = list[list[str]]  # the literals and names of each alternative


Joint = Literal["space", "optional", "words", "none"]
"""What stands between two neighbouring tokens: a space; at most one; one between words, at most one elsewhere; none."""

JOINTS: dict[Joint, list[str]] = {"space": ['" "'], "optional": [MAYBE_SPACE], "words": [MAYBE_SPACE], "none": []}


@dataclass(frozen=True)
class Free:
    """A text of any characters of a class, such as `0-9` or `^"`.

    Where the class excludes some, a backslash escapes one, and an apostrophe before a letter is no quote.
    """

    characters: str

    @property
    def gbnf(self) -> str:
        """This in GBNF."""
        if not self.characters.startswith("^"):
            return f"[{self.characters}]+"
        return f'([{self.characters}\\\\] | "\\\\" [^\\n]{" | " + APOSTROPHE[0] if self._has_apostrophe else ""})+'

    @property
    def regex(self) -> str:
        """This as a regular expression."""
        if not self.characters.startswith("^"):
            return f"[{self.characters}]+"
        return f"([{self.characters}\\\\]|\\\\.{'|' + APOSTROPHE[1] if self._has_apostrophe else ''})+"

    @property
    def _has_apostrophe(self) -> bool:
        return "'" in self.characters


Spelling = Mapping[str, Sequence[str | Free]]
"""Tokens of a CFG that stand for several tokens of a text, some of them free."""

NO_SPELLING: Spelling = MappingProxyType({})


def to_gbnf(cfg: OutputCfg, joint: Joint = "space", spelling: Spelling = NO_SPELLING) -> str:
    """Write a CFG as GBNF.

    >>> print(to_gbnf(OutputCfg.parse(["ROOT => f ( ##X )", "X => a", "X => b"])), end="")
    root ::= "f" " " "(" " " x " " ")"
    x ::= "a" | "b"
    """

    def write(token: str) -> Iterator[str]:
        for i, part in enumerate(parts := spelling.get(token, [token])):
            yield from _between(joint, _edge(parts[i - 1], -1), _edge(part, 0)) if i else []
            yield part.gbnf if isinstance(part, Free) else _literal(part)

    rules = _rules(cfg, joint, spelling, write, _Names("-"))
    return "".join(f"{name} ::= {_alternatives(sides)}\n" for name, sides in rules.items())


def to_lark(cfg: OutputCfg, joint: Joint = "space", spelling: Spelling = NO_SPELLING) -> str:
    """Write a CFG as Lark, in the dialect of llguidance.

    >>> print(to_lark(OutputCfg.parse(["ROOT => f ( ##X )", "X => a", "X => b", "X => ##ROOT"])), end="")
    %llguidance {"no_forcing": true}
    start: root
    root: "f" " " "(" " " x " " ")"
    x: X | root
    X: "a" | "b"
    """
    cut: dict[str, list[str]] = {}
    if can_be_misread(cfg, joint, spelling):
        tokens = {s for p in cfg.productions for s in p.rhs if isinstance(s, str) and s not in spelling}
        pieces = prefix_free({*tokens, " "})
        cut = {token: _cut(token, pieces) for token in tokens}

    def write(token: str) -> Iterator[str]:
        if token in spelling:
            yield _regex(spelling[token], joint)
        else:
            yield from map(_literal, cut.get(token, [token]))

    lines = [START]
    for name, sides in _rules(cfg, joint, spelling, write, _Names("_", {"start"})).items():
        literals = [side for side in sides if len(side) == 1 and side[0].startswith(('"', "/"))]
        if len(literals) > 1:
            others = [side for side in sides if side not in literals]
            lines += [f"{name}: {_alternatives([[name.upper()], *others])}"]
            lines += [f"{name.upper()}: {_alternatives(literals)}"]
        else:
            lines += [f"{name}: {_alternatives(sides)}"]
    return NO_FORCING + "".join(f"{line}\n" for line in lines)


def with_leading_space(lark: str) -> str:
    """Allow a space before the first token, in a grammar that `to_lark` wrote."""
    return lark.replace(f"{START}\n", f"start: {MAYBE_SPACE} root\n", 1)


def _regex(parts: Sequence[str | Free], joint: Joint) -> str:
    """Write the parts of a token as one regular expression of Lark: it is read as a whole."""
    text = ""
    for i, part in enumerate(parts):
        gap = _between(joint, _edge(parts[i - 1], -1), _edge(part, 0)) if i else []
        text += "".join({MAYBE_SPACE: " ?"}.get(space, " ") for space in gap)
        text += part.regex if isinstance(part, Free) else re.escape(part).replace("\\ ", " ")
    return "/" + text.replace("/", "\\/") + "/"


def _edge(part: str | Free, end: int) -> str:
    """Give the first (`end` 0) or last (-1) character of a part; a letter for one that is free."""
    return "x" if isinstance(part, Free) else part[end]


def _between(joint: Joint, *edges: str) -> list[str]:
    """Write what is between two tokens, by the characters that may meet there."""
    return ['" "'] if joint == "words" and all(map(_is_of_word, edges)) else JOINTS[joint]


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def can_be_misread(cfg: OutputCfg, joint: Joint, spelling: Spelling = NO_SPELLING) -> bool:
    """Tell whether a token can be followed by what another token that it begins goes on with."""
    heads, lasts = _ends(cfg, 0), _ends(cfg, -1)
    next_characters: dict[str, set[str]] = defaultdict(set)
    for p in cfg.productions:
        for one, other in pairwise(p.rhs):
            after = {_edge(spelling.get(token, [token])[0], 0) for token in heads[other]} if joint != "space" else set()
            for token in lasts[one]:
                apart = joint == "words" and _is_of_word(token[-1])
                next_characters[token] |= {c for c in after if not (apart and _is_of_word(c))}
                next_characters[token] |= {" "} if joint != "none" else set()
    tokens = {s for p in cfg.productions for s in p.rhs if isinstance(s, str) and s not in spelling}
    return any(
        text[n] in next_characters[text[:n]] for text in tokens for n in range(1, len(text)) if text[:n] in tokens
    )


def _ends(cfg: OutputCfg, end: int) -> Mapping[str | Category, set[str]]:
    """Find the tokens that outputs of each symbol begin with (`end` 0) or end with (-1)."""
    found: dict[str | Category, set[str]] = {s: {s} for p in cfg.productions for s in p.rhs if isinstance(s, str)}
    found |= {p.lhs: set() for p in cfg.productions}
    grown = True
    while grown:
        grown = False
        for p in cfg.productions:
            new = found[p.rhs[end]] - found[p.lhs]
            found[p.lhs] |= new
            grown = grown or bool(new)
    return found


def prefix_free(texts: Iterable[str]) -> set[str]:
    """Cut texts into pieces of which none begins another; each text is a sequence of pieces, in one way.

    >>> sorted(prefix_free(["state", "stateid", "identity"]))
    ['entity', 'id', 'state']
    """
    pieces = set(texts)
    while True:
        begun = {text: text[:n] for text in pieces for n in range(1, len(text)) if text[:n] in pieces}
        if not begun:
            return pieces
        pieces = pieces - begun.keys() | {text[len(start) :] for text, start in begun.items()}


def _cut(text: str, pieces: Collection[str]) -> list[str]:
    """Cut a text into pieces."""
    found, start = [], 0
    for end in range(1, len(text) + 1):
        if text[start:end] in pieces:
            found.append(text[start:end])
            start = end
    return found


class _Names:
    """Gives each category a name of lower-case letters, digits and hyphens that no other has."""

    def __init__(self, hyphen: str, taken: Iterable[str] = ()) -> None:
        self._hyphen, self._taken = hyphen, set(taken)

    def __call__(self, category: Category) -> str:
        plain = re.sub("[^a-z0-9]+", self._hyphen, category.name.lower()).strip(self._hyphen)
        plain = plain if plain[:1].isalpha() else f"c{self._hyphen}{plain}".strip(self._hyphen)
        numbered = (plain if i == 1 else f"{plain}{self._hyphen}{i}" for i in count(1))
        name = next(name for name in numbered if name not in self._taken)
        self._taken.add(name)
        return name


def _rules(
    cfg: OutputCfg, joint: Joint, spelling: Spelling, write: Callable[[str], Iterable[str]], new_name: _Names
) -> dict[str, Sides]:
    """Give the right-hand sides of each rule, the start symbol first; `write` gives the literals of a token."""
    flat = without_left_recursion(cfg)
    names = {category: new_name(category) for category in dict.fromkeys([ROOT, *(p.lhs for p in flat.productions)])}
    heads, lasts = (
        {symbol: [_edge(spelling.get(token, [token])[end], end) for token in tokens] for symbol, tokens in ends.items()}
        for end, ends in ((0, _ends(flat, 0)), (-1, _ends(flat, -1)))
    )

    def written(rhs: Sequence[str | Category]) -> Iterator[str]:
        for i, symbol in enumerate(rhs):
            yield from _between(joint, *lasts[rhs[i - 1]], *heads[symbol]) if i else []
            yield from [names[symbol]] if isinstance(symbol, Category) else write(symbol)

    rules: dict[str, Sides] = {name: [] for name in names.values()}
    for p in flat.productions:
        rules[names[p.lhs]].append(list(written(p.rhs)))
    return rules


def _alternatives(sides: Sides) -> str:
    return " | ".join(" ".join(side) for side in sides)


def _literal(text: str) -> str:
    """Quote a text; characters that do not print are written by their code."""
    escapes = {'"': '\\"', "\\": "\\\\"}
    return '"' + "".join(escapes.get(c) or (c if c.isprintable() else _code(c)) for c in text) + '"'


def _code(character: str) -> str:
    return f"\\u{ord(character):04x}" if ord(character) < 2**16 else character
