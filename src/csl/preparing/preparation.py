"""What turns the raw pairs of a data set into examples, and recombined examples back into raw text.

    raw text ─ cut, read ─▶ words, tree ─ link values ─▶ example ─ learn ─▶ parse, sample ─ fill values ─▶ raw text

All of it is learnt from the training pairs: the language of the outputs, values, categories, spacing, capitals.
"""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

from csl.examples import Example
from csl.grammar import Rule
from csl.grammar.output_cfg import OutputCfg
from csl.languages.casing import Casing
from csl.languages.language import Language
from csl.languages.program import Program
from csl.languages.registry import LANGUAGES, detect, language
from csl.languages.spacing import Spacing
from csl.languages.words import cut, normal
from csl.preparing.categories import Categories
from csl.preparing.trees import Node, Schema
from csl.preparing.values import Entry, Linked, Reading, Values, is_placeholder

FALLBACK = LANGUAGES[-1]  # reads everything
FEW = 0.2  # of the values of a type: if fewer have a capital, a new one has none; likewise numbers


@dataclass(frozen=True)
class Preparation:
    """What is known of the raw text of a data set."""

    language: Language
    schema: Schema
    values: Values
    spacing: Spacing  # of outputs
    input_spacing: Spacing
    casing: Casing | None  # of inputs; None if case is kept
    known: frozenset[str] = frozenset()  # words of inputs that are no values

    def words(self, text: str) -> tuple[str, ...]:
        """Cut an input into words in their normal form."""
        return tuple(normal(token, self.casing is None) for token in cut(text).tokens)

    def read(self, text: str) -> Program:
        """Read an output; one that is not of the language is plain text."""
        try:
            return self.language.read(text)
        except ValueError:
            return FALLBACK.read(text)

    def tree(self, tokens: Sequence[str]) -> Node:
        """Make a tree of the tokens of an output."""
        return self.schema.tree(self.read(self.spacing.write(tokens)))

    def linked(self, source: str, target: str) -> Linked:
        """Find the values of a pair."""
        return self.values.link(self.words(source), self.schema.tree(self.read(target)), self.schema.sorted)

    def example(self, source: str, target: str) -> Example:
        """Make an example of a pair, with placeholders for its values."""
        linked = self.linked(source, target)
        return Example(linked.source, linked.tree.tokens)

    def readings(self, text: str) -> list[Reading]:
        """Give the ways to read the values of an input, the most probable first."""
        return self.values.readings(self.words(text))

    def open_readings(self, text: str, known: Container[str]) -> list[Reading]:
        """Give readings in which names and numbers that no rule knows are values that are on no list.

        A name is known by its capital: it is of a type whose values have one in training.
        """
        found = []
        for reading in self.readings(text):
            spans = self.open_spans(text, reading.source, known)
            found += self.values.open_readings(reading, spans)
        return found

    def open_spans(self, text: str, source: Sequence[str], known: Container[str]) -> dict[tuple[int, int], set[str]]:
        """Find the names and numbers that are not known in a reading of a text; give the types that each may have."""
        forms = {normal(token, self.casing is None): token for token in cut(text).tokens}
        looks = ["" if word in known else _look(forms.get(word, "")) for word in source]
        spans, start = {}, 0
        for is_open, group in groupby(looks, bool):
            stop = start + len(list(group))
            if is_open and (types := self._types_by_look.get(looks[start])):
                spans[start, stop] = types
            start = stop
        return spans

    @cached_property
    def _types_by_look(self) -> dict[str, set[str]]:
        """What values look like → the types in which not only a few do."""
        forms = self.casing.forms if self.casing else {}
        all_of = Counter(entry.type for entry in self.values.entries)
        some = Counter((_look(forms.get(e.words[0], e.words[0])), e.type) for e in self.values.entries)
        types: dict[str, set[str]] = {}
        for (look, kind), number in some.items():
            if number >= FEW * all_of[kind]:
                types.setdefault(look, set()).add(kind)
        return types

    def output(self, tokens: Sequence[str], values: Mapping[str, Entry]) -> str:
        """Write an output: values for placeholders, lists in order, spaces as in training."""
        filled = _filled(tokens, {name: entry.tokens for name, entry in values.items()})
        text = self.spacing.write(filled)
        if self.schema.sorted:
            text = self.spacing.write(self.schema.sort(self.schema.tree(self.read(text))).tokens)
        return text

    def input(self, tokens: Sequence[str], values: Mapping[str, Entry]) -> str:
        """Write an input: values for placeholders, capitals and spaces as in training."""
        filled = _filled(tokens, {name: entry.words for name, entry in values.items()})
        return self.input_spacing.write(self.casing.write(filled) if self.casing else filled)

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` takes."""
        return {
            "language": self.language.name,
            "schema": self.schema.to_json(),
            "values": self.values.to_json(),
            "spacing": self.spacing.to_json(),
            "input_spacing": self.input_spacing.to_json(),
            "casing": self.casing.to_json() if self.casing else None,
            "known": sorted(self.known),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Preparation":
        """Rebuild what `to_json` gave."""
        return cls(
            language(data["language"]),
            Schema.from_json(data["schema"]),
            Values.from_json(data["values"]),
            Spacing.from_json(data["spacing"]),
            Spacing.from_json(data["input_spacing"]),
            Casing.from_json(data["casing"]) if data["casing"] is not None else None,
            frozenset(data["known"]),
        )


@dataclass(frozen=True)
class Prepared:
    """A preparation, the training examples that it makes, and the categories of their outputs."""

    preparation: Preparation
    examples: list[Example]
    categories: Categories
    any_order: OutputCfg  # the same categories, with the members of records in any order, as outputs may have them
    unread: tuple[int, ...]  # places of the pairs whose outputs are not of the language

    @property
    def seed_rules(self) -> list[Rule]:
        """The rules that copy placeholders, and those that the categories suggest."""
        tokens = sorted({token for example in self.examples for token in example.source if is_placeholder(token)})
        return [*(Rule((token,), (token,)) for token in tokens), *self.categories.seed_rules]


def prepare(pairs: Sequence[tuple[str, str]], name: str = "", *, keep_case: bool = False) -> Prepared:
    """Learn how to prepare pairs of raw text; the language of the outputs is detected unless it is named."""
    outputs = [output for _, output in pairs]
    spoken = language(name) if name else detect(outputs).language
    programs: list[Program] = []
    unread: list[int] = []
    for place, output in enumerate(outputs):
        try:
            programs.append(spoken.read(output))
        except ValueError:
            unread.append(place)
            programs.append(FALLBACK.read(output))
    inputs = [cut(text) for text, _ in pairs]
    schema, trees = Schema.learn_trees(programs)
    sources = [tuple(normal(token, keep_case) for token in text.tokens) for text in inputs]
    values = Values.learn(list(zip(sources, trees, strict=True)))
    preparation = Preparation(
        spoken,
        schema,
        values,
        Spacing.learn(programs, spoken.quotes),
        Spacing.learn(inputs, '"'),
        None if keep_case else Casing.learn(inputs),
    )
    linked = [values.link(source, tree, schema.sorted) for source, tree in zip(sources, trees, strict=True)]
    replaced = [pair.tree for pair in linked]
    examples = [Example(pair.source, pair.tree.tokens) for pair in linked]
    categories = Categories.learn(replaced, schema.orders)
    any_order = Categories.learn(replaced, {}) if schema.orders else categories
    known = frozenset(word for example in examples for word in example.source if not is_placeholder(word))
    return Prepared(replace(preparation, known=known), examples, categories, any_order.cfg, tuple(unread))


def _look(token: str) -> str:
    """Tell a name by its capital, and a number; other words look like nothing."""
    return "name" if token[:1].isupper() else "number" if token[:1].isdigit() else ""


def _filled(tokens: Sequence[str], values: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(part for token in tokens for part in values.get(token, (token,)))
