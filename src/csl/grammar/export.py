r"""Output CFGs as grammars for constrained decoders: GBNF (llama.cpp, xgrammar) and Lark (llguidance).

Such a grammar is of texts, not of tokens: the *joint* says what stands between two tokens. It accepts exactly the texts
of the CFG with that joint. There is no left recursion in it, and no rule derives the empty text.

llguidance first cuts a text into literals, always into the longest that may stand there: of `"a" "b" | "ab" "c"` it
would refuse `ab`. So where tokens may touch, Lark's literals are pieces of tokens none of which begins another.
"""

import re
from collections.abc import Collection, Iterable
from enum import StrEnum
from itertools import count

from csl.grammar.left_recursion import without_left_recursion
from csl.grammar.output_cfg import ROOT, Category, OutputCfg

MAYBE_SPACE = '" "?'


class Joint(StrEnum):
    """What stands between two neighbouring tokens: a space, at most one space, or nothing."""

    SPACE = "space"
    OPTIONAL = "optional"
    NONE = "none"


class GrammarFormat(StrEnum):
    """The dialects that decoders load."""

    GBNF = "gbnf"
    LARK = "lark"


def export(cfg: OutputCfg, form: GrammarFormat, joint: Joint = Joint.SPACE) -> str:
    """Write a CFG in a dialect."""
    return to_gbnf(cfg, joint) if form == GrammarFormat.GBNF else to_lark(cfg, joint)


def to_gbnf(cfg: OutputCfg, joint: Joint = Joint.SPACE) -> str:
    """Write a CFG as GBNF.

    >>> print(to_gbnf(OutputCfg.parse(["ROOT => f ( ##X )", "X => a", "X => b"])), end="")
    root ::= "f" " " "(" " " x " " ")"
    x ::= "a" | "b"
    """
    return "".join(f"{name} ::= {' | '.join(sides)}\n" for name, sides in _rules(cfg, joint, "-", {}).items())


def to_lark(cfg: OutputCfg, joint: Joint = Joint.SPACE, *, leading_space: bool = False) -> str:
    """Write a CFG as Lark, in the dialect of llguidance; `leading_space` allows one before the first token."""
    tokens = {s for p in cfg.productions for s in p.rhs if isinstance(s, str)}
    touching = joint != Joint.SPACE or any(" " in token for token in tokens)
    pieces = prefix_free({*tokens, " "}) if touching else set()
    rules = _rules(cfg, joint, "_", {token: _cut(token, pieces) for token in tokens if touching}, taken={"start"})
    start = f"start: {MAYBE_SPACE} root\n" if leading_space else "start: root\n"
    return start + "".join(f"{name}: {' | '.join(sides)}\n" for name, sides in rules.items())


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


def _rules(
    cfg: OutputCfg, joint: Joint, hyphen: str, cut: dict[str, list[str]], taken: Iterable[str] = ()
) -> dict[str, list[str]]:
    """Give the right-hand sides of each rule, the start symbol first; `cut` has the literals of a token."""
    flat = without_left_recursion(cfg)
    names = _names(dict.fromkeys([ROOT, *(p.lhs for p in flat.productions)]), hyphen, {*taken})
    between = {Joint.SPACE: ' " " ', Joint.OPTIONAL: f" {MAYBE_SPACE} ", Joint.NONE: " "}[joint]

    def written(symbol: str | Category) -> str:
        if isinstance(symbol, Category):
            return names[symbol]
        return " ".join(map(_literal, cut.get(symbol, [symbol])))

    rules: dict[str, list[str]] = {name: [] for name in names.values()}
    for p in flat.productions:
        rules[names[p.lhs]].append(between.join(map(written, p.rhs)))
    return rules


def _names(categories: Iterable[Category], hyphen: str, taken: set[str]) -> dict[Category, str]:
    """Give each category a name of lower-case letters, digits and hyphens that no other has."""
    names = {}
    for category in categories:
        plain = re.sub("[^a-z0-9]+", hyphen, category.name.lower()).strip(hyphen)
        plain = plain if plain[:1].isalpha() else f"c{hyphen}{plain}".strip(hyphen)
        names[category] = next(n for i in count(1) if (n := plain if i == 1 else f"{plain}{hyphen}{i}") not in taken)
        taken.add(names[category])
    return names


def _literal(text: str) -> str:
    """Quote a text; characters that do not print are written by their code."""
    escapes = {'"': '\\"', "\\": "\\\\"}
    return '"' + "".join(escapes.get(c) or (c if c.isprintable() else _code(c)) for c in text) + '"'


def _code(character: str) -> str:
    return f"\\u{ord(character):04x}" if ord(character) < 2**16 else character
