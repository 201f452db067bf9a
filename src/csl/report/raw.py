"""Raw text in a report: categories and values, texts as the grammar knows them, and why synthetic pairs are believed.

Without a preparation a text is its tokens. Costs a parse of each input.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from csl.engine import ONE_THREAD, Threads
from csl.examples import Example, split_tokens
from csl.grammar.output_cfg import OutputCfg, Production
from csl.model.model import Model
from csl.preparing.parser import Answer, Parser
from csl.preparing.plausible import Fluency, Plausible
from csl.preparing.preparation import Preparation
from csl.preparing.trees import Slot
from csl.preparing.values import Entry, Reading, is_placeholder, type_of_placeholder

MEMBERS, VALUES = 200, 100  # of a category, and of a type, that are shown


@dataclass(frozen=True)
class Members:
    """A category and what it can be; placeholders of one type are one."""

    name: str
    total: int
    members: list[str]


@dataclass(frozen=True)
class Value:
    """A value: words of inputs, the text of outputs, and how often training has it."""

    words: str
    text: str
    count: int


@dataclass(frozen=True)
class ValueType:
    """A type of values, the commonest first."""

    name: str
    total: int
    values: list[Value]


@dataclass(frozen=True)
class Types:
    """What was found in raw text."""

    language: str
    categories: list[Members]
    types: list[ValueType]


@dataclass(frozen=True)
class Belief:
    """Why a synthetic pair is believed: its best parse gives it back, its values are known, and little of it is new."""

    parsed_back: bool | None  # None without a model
    values: list[tuple[str, str, str]]  # type, words, text
    new_words: list[str]  # side by side, as nowhere in training
    new_fillers: list[tuple[str, str]]  # what is where it is nowhere in training


@dataclass(frozen=True)
class Texts:
    """The way from the raw texts of a run to what its grammar knows, and back."""

    preparation: Preparation | None
    model: Model | None
    engine: Threads = ONE_THREAD

    def known(self, pairs: Sequence[Example]) -> list[Example]:
        """Give pairs as the grammar knows them."""
        if not (prepared := self.preparation):
            return list(pairs)
        found = [prepared.example(pair.source_text, pair.target_text) for pair in pairs]
        return [Example(new.source, new.target, pair.meta) for new, pair in zip(found, pairs, strict=True)]

    def read(self, texts: Sequence[str]) -> list[Reading]:
        """Give inputs as they are best parsed or, where they are not, as they are most probably meant."""
        if not (prepared := self.preparation):
            return [Reading(split_tokens(text), {}, 0.0) for text in texts]
        return [
            answer.reading if answer else prepared.readings(text)[0]
            for text, answer in zip(texts, self._answers(texts), strict=True)
        ]

    def _answers(self, texts: Sequence[str]) -> list[Answer | None]:
        """Parse inputs; None where there is no output, or no model."""
        if not self.model:
            return [None] * len(texts)
        found = Parser(self.model, self.preparation).answers(texts, self.engine)
        return [answer if isinstance(answer, Answer) else None for answer in found]

    def write(self, target: Sequence[str], reading: Reading) -> str:
        """Give an output as text."""
        return self.preparation.output(target, reading.values) if self.preparation else " ".join(target)

    def beliefs(self, pairs: Sequence[Example], train: Sequence[Example]) -> list[Belief | None]:
        """Say of synthetic pairs why they are believed; `train` has the prepared training examples."""
        if not (prepared := self.preparation):
            return [None] * len(pairs)
        plausible, fluency = Plausible(prepared, train), Fluency(train)
        answers = self._answers([pair.source_text for pair in pairs])
        found: list[Belief | None] = []
        for pair, answer in zip(pairs, answers, strict=True):
            tree = prepared.schema.tree(prepared.read(pair.target_text))
            linked = prepared.values.link(prepared.words(pair.source_text), tree, prepared.schema.sorted)
            words = fluency.new_neighbours(linked.source)
            fillers = plausible.new_fillers(prepared.tree(linked.tree.tokens))
            back = bool(answer and answer.text == pair.target_text) if self.model else None
            values = [(entry.type, *_value(prepared, entry)) for entry in linked.values.values()]
            new_words = [" ".join(filter(None, two)) for two in words]
            found.append(Belief(back, values, new_words, [(filler, _place(slot)) for slot, filler in fillers]))
        return found

    def types(self, cfg: OutputCfg | None) -> Types | None:
        """Describe categories and values; None without a preparation."""
        if not (prepared := self.preparation):
            return None
        members: dict[str, dict[str, None]] = defaultdict(dict)
        for production in cfg.productions if cfg else ():
            members[production.lhs.name][_member(production)] = None
        values: dict[str, list[Entry]] = defaultdict(list)
        for entry in sorted(prepared.values.entries, key=lambda entry: -entry.count):
            values[entry.type].append(entry)
        return Types(
            prepared.language.name,
            [Members(name, len(found), list(found)[:MEMBERS]) for name, found in members.items()],
            [
                ValueType(kind, len(found), [Value(*_value(prepared, e), e.count) for e in found[:VALUES]])
                for kind, found in sorted(values.items(), key=lambda item: (-sum(e.count for e in item[1]), item[0]))
            ],
        )


PLAIN = Texts(None, None)


def _value(prepared: Preparation, entry: Entry) -> tuple[str, str]:
    forms = prepared.casing.forms if prepared.casing else {}
    return " ".join(forms.get(word, word) for word in entry.words), prepared.spacing.write(entry.tokens)


def _member(production: Production) -> str:
    match production.rhs:
        case (str(token),) if is_placeholder(token):
            return f"«{type_of_placeholder(token)}»"
    return str(production).split(" ", 2)[2]


def _place(slot: Slot) -> str:
    """Name a slot: an operator with the number of the argument if it takes several, a key, or the top."""
    match slot:
        case (operator, "1", _) | (operator, "*"):
            return operator
        case (operator, _, place):
            return f"{operator}, argument {int(place) + 1}"
        case (_, key):
            return key
    return "the top"
