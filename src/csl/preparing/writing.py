"""Outputs of raw text as they are written: what a constrained decoder may write.

In the categories of raw text, placeholders stand for values. Here each is what values of its type look like: the text
that they copy from inputs may be any, as new names come, and what is around it stays. A string is read as a whole, from
quote to quote. Linear in the values and productions.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from csl.grammar.export import Free, Spelling, to_lark
from csl.grammar.output_cfg import Category, OutputCfg, Production
from csl.languages.lexing import NUMBER
from csl.preparing.preparation import Preparation
from csl.preparing.values import Entry, copied_span, is_placeholder, type_of_placeholder

BRACKETS = "()[]{}"
DIGITS = Free(r"0-9.+\-")

Part = str | Free


def as_written(cfg: OutputCfg, preparation: Preparation) -> tuple[OutputCfg, Spelling]:
    """Put what values look like in place of their placeholders; strings are tokens, with what they are made of."""
    quotes, spelling = preparation.language.quotes, dict[str, tuple[Part, ...]]()

    def spelled(parts: Iterable[Part]) -> Iterator[str]:
        for lexeme in _lexemes(parts, quotes):
            if len(lexeme) == 1 and isinstance(lexeme[0], str):
                yield lexeme[0]
            else:
                name = " ".join(part if isinstance(part, str) else f"«{part.characters}»" for part in lexeme)
                spelling[name] = lexeme
                yield name

    def symbols(rhs: Sequence[str | Category]) -> Iterator[str | Category]:
        tokens: list[Part] = []
        for symbol in rhs:
            if isinstance(symbol, str) and not is_placeholder(symbol):
                tokens.append(symbol)
                continue
            yield from spelled(tokens)
            tokens = []
            yield symbol if isinstance(symbol, Category) else _category(type_of_placeholder(symbol))
        yield from spelled(tokens)

    productions = [Production(p.lhs, tuple(symbols(p.rhs))) for p in _with_whole_strings(cfg, quotes)]
    by_type: dict[str, list[Entry]] = defaultdict(list)
    for entry in preparation.values.entries:
        by_type[entry.type].append(entry)
    edges = {token[end] for p in cfg.productions for token in p.rhs if isinstance(token, str) for end in (0, -1)}
    brackets = "".join(sorted(edges.intersection(BRACKETS)))
    for kind, entries in by_type.items():
        forms = dict.fromkeys(form for entry in entries for form in _forms(entry, quotes, brackets))
        productions += (Production(_category(kind), tuple(spelled(form))) for form in forms)
    return OutputCfg(productions).trimmed(), spelling


def decoding_grammar(cfg: OutputCfg, preparation: Preparation) -> str:
    """Write the outputs of raw text as a Lark grammar for constrained decoders."""
    written, spelling = as_written(cfg, preparation)
    return to_lark(written, "words", spelling)


def _category(kind: str) -> Category:
    return Category(f"value {kind}")


def _with_whole_strings(cfg: OutputCfg, quotes: str) -> list[Production]:
    """Make a category of each string that has one in it: operators may be strings, or parts of them."""
    sides: dict[Category, list[tuple[str | Category, ...]]] = defaultdict(list)
    for production in cfg.productions:
        sides[production.lhs].append(production.rhs)
    made: dict[Production, None] = {}
    for production in cfg.productions:
        rhs = list(production.rhs)
        for start, end in reversed(list(_strings(rhs, quotes))):
            string = rhs[start - 1 : end + 1]
            for i, symbol in enumerate(string):
                if isinstance(symbol, Category):
                    whole = Category(" ".join(s if isinstance(s, str) else s.name for s in string))
                    made |= {Production(whole, (*string[:i], *side, *string[i + 1 :])): None for side in sides[symbol]}
                    rhs[start - 1 : end + 1] = [whole]
        made[Production(production.lhs, tuple(rhs))] = None
    return list(made)


def _forms(entry: Entry, quotes: str, brackets: str) -> Iterator[tuple[Part, ...]]:
    """Give the tokens of a value with what may be any text: what it copies, else its last string or number."""
    tokens, copied = entry.tokens, copied_span(entry)
    a, b = copied or (0, 0)
    strings = [span for span in _strings(tokens, quotes) if not copied or span[0] <= a <= b <= span[1]]
    numbers = [i for i, token in enumerate(tokens) if NUMBER.fullmatch(token)]
    if strings:
        a, b = strings[-1]
        yield (*tokens[:a], Free(f"^{tokens[a - 1]}"), *tokens[b:])
    elif copied and not all(map(NUMBER.fullmatch, tokens[a:b])):
        others = re.sub(r"([\[\]])", r"\\\1", brackets) + quotes + ("" if b - a > 1 else " ,;")
        yield (*tokens[:a], Free(f"^{others}"), *tokens[b:])
        for quote in quotes:
            yield (*tokens[:a], quote, Free(f"^{quote}"), quote, *tokens[b:])
    elif numbers:
        yield (*tokens[: numbers[-1]], DIGITS, *tokens[numbers[-1] + 1 :])
    else:
        yield tokens


def _strings(tokens: Sequence[Part | Category], quotes: str) -> Iterator[tuple[int, int]]:
    """Find what is between the quotes of each string."""
    start = None
    for i, token in enumerate(tokens):
        if start is None and isinstance(token, str) and token in quotes:
            start = i + 1
        elif start is not None and token == tokens[start - 1]:
            yield start, i
            start = None


def _lexemes(parts: Iterable[Part], quotes: str) -> Iterator[tuple[Part, ...]]:
    """Cut tokens into strings and single tokens."""
    tokens, at = tuple(parts), 0
    for start, end in _strings(tokens, quotes):
        yield from ((token,) for token in tokens[at : start - 1])
        yield tokens[start - 1 : end + 1]
        at = end + 1
    yield from ((token,) for token in tokens[at:])
