"""Derivations and inputs as rich text: coloured at a terminal, plain elsewhere."""

from collections.abc import Sequence
from itertools import repeat

from rich.text import Text
from rich.tree import Tree

from csl.grammar import Nt, Rule
from csl.grammar.notation import format_rule
from csl.parsing.derivation import Derivation


def draw_rule(rule: Rule) -> Text:
    """Write a rule in its text form, with the nonterminals coloured."""
    symbols = [*rule.source, None, *rule.target]  # None: what stands between the sides
    styles = ("bold cyan" if isinstance(symbol, Nt) else "dim" if symbol is None else "" for symbol in symbols)
    words = format_rule(rule).split(" ")
    return Text(" ").join(Text(word, style) for word, style in zip(words, styles, strict=True))


def draw_derivation(derivation: Derivation, types: Sequence[str] = ()) -> Tree:
    """Draw a derivation as a tree of its rules, with their types in preorder if there are any."""
    labels = map(_typed, derivation.rules(), types or repeat(""))
    root = Tree(next(labels), guide_style="dim")
    agenda = [(child, root) for child in reversed(derivation.children)]
    while agenda:
        child, above = agenda.pop()
        tree = above.add(next(labels))
        agenda += [(below, tree) for below in reversed(child.children)]
    return root


def _typed(rule: Rule, category: str) -> Text:
    return draw_rule(rule) + Text(f"  : {category}" if category else "", "dim")


def draw_spans(source: Sequence[str], spans: Sequence[tuple[int, int]], unknown: Sequence[str]) -> list[Text]:
    """Write an input with the spans in brackets. Spans that overlap go to different lines.

    >>> [line.plain for line in draw_spans(["jump", "twice", "?", "walk"], [(0, 2), (3, 4)], ["?"])]
    ['[jump twice] ? [walk]']
    """
    lines: list[list[tuple[int, int]]] = []
    for span in sorted(spans):
        free = next((line for line in lines if line[-1][1] <= span[0]), None)
        if free is None:
            lines.append([span])
        else:
            free.append(span)
    return [_draw_line(source, line, unknown) for line in lines or [[]]]


def _draw_line(source: Sequence[str], spans: Sequence[tuple[int, int]], unknown: Sequence[str]) -> Text:
    starts, stops = {i for i, _ in spans}, {j for _, j in spans}
    words = []
    inside = False
    for place, token in enumerate(source):
        inside = place in starts or (inside and place not in stops)
        word = Text(token, style="green" if inside else "bold red" if token in unknown else "")
        if place in starts:
            word = Text("[", style="bold green") + word
        if place + 1 in stops:
            word = word + Text("]", style="bold green")
        words.append(word)
    return Text(" ").join(words)
