"""The categories of a data set as text: an output CFG to read, to edit, and to give back with `--output-cfg`.

Categories come in the order in which they are reached from ROOT, the commonest productions of each first, with comments
that count their uses in training. A placeholder such as `«city»0` stands for the first value of a type in an output,
`«city»1` for the second; the comment before them names some values of the type.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby

from csl.grammar.output_cfg import ROOT, Category, Production
from csl.preparing.preparation import Preparation, Prepared
from csl.preparing.values import Entry, is_placeholder, type_of_placeholder

SHOWN = 5  # values of a type


def listing(found: Prepared) -> str:
    """Write the categories of prepared training examples as an output CFG with comments."""
    by_category: dict[Category, list[Production]] = defaultdict(list)
    for production in found.categories.cfg.productions:
        by_category[production.lhs].append(production)
    values: dict[str, list[Entry]] = defaultdict(list)
    for entry in sorted(found.preparation.values.entries, key=lambda entry: -entry.count):
        values[entry.type].append(entry)
    language, examples = found.preparation.language.name, len(found.examples)
    types = f"{len(values):,} type{'' if len(values) == 1 else 's'} of values"
    lines = [f"# {language}, {examples:,} outputs: {len(by_category):,} categories, {types}"]
    for category in _reached(by_category):
        productions = by_category[category]
        counts = found.categories.counts
        productions = sorted(productions, key=lambda p: -counts[p])  # stable: those of one type stay together
        total = sum(counts[first] for first in {_what(p): p for p in productions}.values())
        lines += ["", f"# {_printable(category.name)}: {_uses(total)}"]
        for (kind, count), group in groupby(productions, key=lambda p: (_value_type(p), counts[p])):
            alike = list(group)
            each = " each" if len(alike) > 1 else ""
            comment = each if kind is None else _of_values(found.preparation, kind, values[kind])
            lines.append(f"# {_uses(count)}{comment}")
            lines += map(str, alike)
    return "\n".join(lines) + "\n"


def _reached(by_category: dict[Category, list[Production]]) -> Iterator[Category]:
    """Give all categories, in the order in which they are reached from ROOT."""
    seen = {ROOT: None}
    agenda = [ROOT]
    for category in agenda:
        yield category
        for production in by_category[category]:
            new = [below for below in production.categories if below not in seen]
            seen |= dict.fromkeys(new)
            agenda += dict.fromkeys(new)


def _value_type(production: Production) -> str | None:
    match production.rhs:
        case (str(token),) if is_placeholder(token):
            return type_of_placeholder(token)
    return None


def _what(production: Production) -> object:
    """Tell productions apart, but for placeholders of one type: these share their uses."""
    return _value_type(production) or production


def _uses(count: int) -> str:
    return f"{count:,} use{'' if count == 1 else 's'}"


def _of_values(preparation: Preparation, kind: str, entries: Sequence[Entry]) -> str:
    some = "; ".join(
        f"{' '.join(entry.words)} → {preparation.spacing.write(entry.tokens)}" for entry in entries[:SHOWN]
    )
    more = "; …" if len(entries) > SHOWN else ""
    return f", {len(entries):,} value{'' if len(entries) == 1 else 's'} of type {kind}: {_printable(some)}{more}"


def _printable(text: str) -> str:
    """Keep a comment on its line, whatever the data has."""
    return "".join(character if character.isprintable() else "�" for character in text)
