"""Values: names and numbers that stand in an output because they stand in the input.

A leaf of an output whose words are in the input is *linked* to them. The slots whose leaves are mostly linked hold
values; each has a *type*, named after its operator or key, and slots that share values share their type. A value is the
largest constituent that its words decide (`stateid('texas')`, not only `texas`). In examples to learn from, a value is
replaced by a placeholder of its type on both sides (`«stateid»0`), and comes back exactly as it was.

How they are found: `csl.preparing.linking`. Linear in the tokens of the pairs.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import log
from typing import Any

from csl.preparing.linking import (
    DISTINCT,
    Path,
    Span,
    Words,
    climb,
    comparable,
    count_seen,
    deciding,
    find_aliases,
    known_spans,
    leaves_in,
    longest_from,
    merge_types,
    open_slots,
    slot_name,
    type_name,
)
from csl.preparing.trees import Node

VARIANTS = 16  # ways to read the values of an input, at most
OPTIONS = 3  # types that one span of words may have, at most
OPEN_SPANS = 2  # spans of unknown words that are taken for values, at most
OPEN_TYPES = 6  # types that they may have
COPIED = 0.5  # of the values of such a type are copied in one way, at least
MOST = 6  # placeholders of one type in an example are numbered below this

_PLACEHOLDER = re.compile(r"«(.+)»\d+")


@dataclass(frozen=True)
class Entry:
    """A value: the words of the input, and the tokens of the output that they stand for."""

    type: str
    words: Words
    tokens: Words
    count: int


@dataclass(frozen=True)
class Reading:
    """An input with placeholders, the values that they stand for, and how probable it is that they are of that type."""

    source: Words
    values: Mapping[str, Entry]
    log_prob: float


@dataclass(frozen=True)
class Linked:
    """A pair with placeholders, and the values that they stand for."""

    source: Words
    tree: Node
    values: Mapping[str, Entry]


def is_placeholder(token: str) -> bool:
    """Whether a token stands for a value."""
    return token[:1] == "«" and _PLACEHOLDER.fullmatch(token) is not None


def type_of_placeholder(token: str) -> str:
    """Give the type of the value that a placeholder stands for."""
    return token[1:].rpartition("»")[0]


def template(tokens: Iterable[str]) -> Words:
    """Give one side of an example with types in place of values."""
    return tuple(type_of_placeholder(token) if is_placeholder(token) else token for token in tokens)


@dataclass(frozen=True)
class Values:
    """The types of a data set and what is known of them."""

    slots: Mapping[str, str]  # name of a slot of values → type of the leaves in it
    types: Mapping[str, str]  # name of a slot, or label of a constituent → type of the values that they are
    climbs: frozenset[str]  # what decides the constituent around it: kinds of constituents, or single values
    aliases: Mapping[Words, tuple[Words, ...]]  # words of a leaf → parts of them that inputs have instead
    seen: Mapping[Words, int]  # how often the words of a value are in an input, and not part of a longer value
    entries: tuple[Entry, ...]

    @classmethod
    def learn(cls, pairs: Sequence[tuple[Words, Node]]) -> "Values":
        """Find the types and values of a training set of (normal form of the input, output)."""
        sources, trees = [source for source, _ in pairs], [tree for _, tree in pairs]
        found = [list(leaves_in(*pair, {})) for pair in pairs]
        slots = open_slots(trees, found)
        aliases = find_aliases(pairs, slots, found)
        found = [[link for link in leaves_in(*pair, aliases) if slot_name(link.node) in slots] for pair in pairs]
        seen = count_seen(sources, found)
        found = [[link for link in links if link.words in seen] for links in found]
        leaves = {slot: slot for slot in sorted(slots)} | merge_types(found)
        climbs: frozenset[str] = frozenset()
        while more := deciding(trees, found, leaves) - climbs:
            climbs |= more
            found = [list(climb(tree, links, more, leaves)) for tree, links in zip(trees, found, strict=True)]
        values = cls(leaves, merge_types(found), climbs, aliases, seen, ())
        counts = Counter(
            (values.type_of(link.node), source[slice(*link.spans[0])], link.node.tokens)
            for source, links in zip(sources, found, strict=True)
            for link in links
        )
        return replace(values, entries=tuple(Entry(*key, count) for key, count in sorted(counts.items())))

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` takes; words and tokens have no spaces in them."""
        return {
            "slots": dict(self.slots),
            "types": dict(self.types),
            "climbs": sorted(self.climbs),
            "aliases": {" ".join(words): [" ".join(part) for part in parts] for words, parts in self.aliases.items()},
            "seen": {" ".join(words): count for words, count in self.seen.items()},
            "entries": [[e.type, " ".join(e.words), " ".join(e.tokens), e.count] for e in self.entries],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Values":
        """Rebuild what `to_json` gave."""
        return cls(
            data["slots"],
            data["types"],
            frozenset(data["climbs"]),
            {_split(words): tuple(map(_split, parts)) for words, parts in data["aliases"].items()},
            {_split(words): count for words, count in data["seen"].items()},
            tuple(Entry(kind, _split(words), _split(tokens), count) for kind, words, tokens, count in data["entries"]),
        )

    def extended(self, entries: Iterable[Entry]) -> "Values":
        """Add values that training lacks; what is known of others stays."""
        known = {(entry.type, entry.words, entry.tokens) for entry in self.entries}
        new = [entry for entry in entries if (entry.type, entry.words, entry.tokens) not in known]
        seen = {tuple(map(comparable, entry.words)): entry.count for entry in new}
        return replace(self, seen=seen | dict(self.seen), entries=(*self.entries, *dict.fromkeys(new)))

    def copied(self, kind: str, words: Words) -> Words | None:
        """Write words as training copies values of a type into outputs; None if it copies them in no one way."""
        return next((manner.write(words) for manner in self._manners if manner.type == kind), None)

    def is_copied(self, kind: str, tokens: Words) -> bool:
        """Whether tokens look like a value that training copies."""
        return any(manner.type == kind and manner.fits(tokens) for manner in self._manners)

    def type_of(self, node: Node) -> str:
        """Name the type of a constituent that is a value."""
        name = type_name(node)
        return self.types.get(name, name)

    def link(self, source: Words, tree: Node, lists: Container[str] = ()) -> Linked:
        """Replace the values of a pair by placeholders; items of these lists are put in the order of the input."""
        links = [link for link in leaves_in(source, tree, self.aliases) if slot_name(link.node) in self.slots]
        links = [link for link in links if link.words in self.seen or link.words not in self._by_words]
        while links != (higher := list(climb(tree, links, self.climbs, self.slots))):
            links = higher
        free: dict[tuple[str, Words], list[Span]] = {}
        taken: set[int] = set()
        for link in sorted(links, key=lambda link: (-len(link.words), link.spans)):
            key = (self.type_of(link.node), link.node.tokens)
            spans = [span for span in link.spans if taken.isdisjoint(range(*span))]
            if spans and key not in free:
                free[key] = spans
                taken.update(i for span in spans for i in range(*span))
        names: dict[tuple[str, Words], str] = {}
        placed: dict[Span, str] = {}
        values: dict[str, Entry] = {}
        numbers: Counter[str] = Counter()
        for (kind, tokens), spans in sorted(free.items(), key=lambda item: item[1]):
            if numbers[kind] < MOST:
                names[kind, tokens] = placeholder = f"«{kind}»{numbers[kind]}"
                numbers[kind] += 1
                placed |= dict.fromkeys(spans, placeholder)
                values[placeholder] = Entry(kind, source[slice(*spans[0])], tokens, 1)
        keys = ((link.path, (self.type_of(link.node), link.node.tokens)) for link in links)
        places = {path: names[key] for path, key in keys if key in names}
        source = _with_placeholders(source, placed)
        return Linked(source, _replaced(tree, places, {token: i for i, token in enumerate(source)}, lists), values)

    @cached_property
    def _by_words(self) -> dict[Words, list[Entry]]:
        """The commonest entry of each type, for words."""
        best: dict[tuple[Words, str], Entry] = {}
        for entry in sorted(self.entries, key=lambda entry: entry.count):
            best[tuple(map(comparable, entry.words)), entry.type] = entry
        found: dict[Words, list[Entry]] = defaultdict(list)
        for (words, _), entry in sorted(best.items()):
            found[words].append(entry)
        return found

    @cached_property
    def _longest(self) -> Mapping[str, int]:
        return longest_from(self._by_words)

    def readings(self, source: Words) -> list[Reading]:
        """Give the ways to read the values of an input, the most probable first."""
        words = tuple(map(comparable, source))
        spans = sorted(known_spans(words, self._by_words, self._longest), key=lambda span: (span[0] - span[1], span))
        chosen: list[Span] = []
        for span in spans:
            if all(span[1] <= a or b <= span[0] for a, b in chosen):
                chosen.append(span)
        chosen.sort()
        ways: list[tuple[float, dict[Span, Entry]]] = [(0.0, {})]
        for span in chosen:
            options = self._options(words[slice(*span)])
            ways = [(p + q, {**way, span: entry} if entry else way) for p, way in ways for q, entry in options]
            ways = sorted(ways, key=lambda way: -way[0])[:VARIANTS]
        return [_reading(source, way, p) for p, way in ways]

    def open_readings(self, reading: Reading, spans: Mapping[Span, Container[str]]) -> list[Reading]:
        """Give readings in which these spans are values, each of one of its types that copy their words."""
        if not 0 < len(spans) <= OPEN_SPANS:
            return []
        found = []
        ways = [[manner for manner in self._manners if manner.type in types] for types in spans.values()]
        for manners in product(*(manners[:OPEN_TYPES] for manners in ways)):
            values = dict(reading.values)
            placed = {}
            for (a, b), manner in zip(spans, manners, strict=True):
                number = sum(entry.type == manner.type for entry in values.values())
                name = f"«{manner.type}»{number}"
                values[name] = Entry(manner.type, reading.source[a:b], manner.write(reading.source[a:b]), 0)
                placed[a, b] = name
            penalty = sum(log(manner.share) for manner in manners)
            found.append(Reading(_with_placeholders(reading.source, placed), values, reading.log_prob + penalty))
        return found

    @cached_property
    def _manners(self) -> list["_Manner"]:
        """How the values of each type are copied from the input, the commonest type first."""
        counts: dict[str, Counter[tuple[str, Words, Words]]] = defaultdict(Counter)
        entries: Counter[str] = Counter()
        once: Counter[str] = Counter()  # values seen once foretell how many were not seen
        for entry in self.entries:
            entries[entry.type] += 1
            once[entry.type] += entry.count == 1
            counts[entry.type].update(dict.fromkeys(_copied(entry), 1))
        found = []
        for kind, ways in counts.items():
            (name, before, after), number = min(ways.items(), key=_simplest_first, default=(("", (), ()), 0))
            if number >= COPIED * entries[kind] and number >= DISTINCT:
                share = (once[kind] + 0.5) / (once.total() + 0.5 * len(entries))
                found.append(_Manner(kind, name, before, after, share))
        return sorted(found, key=lambda manner: (-manner.share, manner.type))

    def _options(self, words: Words) -> list[tuple[float, Entry | None]]:
        """Give the values that words can be, and none if they are not always one, with log probabilities."""
        entries = sorted(self._by_words[words], key=lambda entry: -entry.count)[:OPTIONS]
        linked = sum(entry.count for entry in entries)
        total = max(linked, self.seen.get(words, linked))
        found: list[tuple[float, Entry | None]] = [(log(entry.count / total), entry) for entry in entries]
        return [*found, (log((total - linked) / total), None)] if total > linked else found


_COPIES = ("same", "capital", "title", "upper", "joined", "JOINED")  # ways to copy words, the simplest first


def _copy(words: Words, way: str) -> Words:
    match way:
        case "capital":
            return (words[0].capitalize(), *words[1:])
        case "title":
            return tuple(word.capitalize() for word in words)
        case "upper":
            return tuple(word.upper() for word in words)
        case "joined":
            return ("_".join(words),)
        case "JOINED":
            return ("_".join(words).upper(),)
    return words


def _copied(entry: Entry) -> Iterator[tuple[str, Words, Words]]:
    """Give the ways in which a value can be copied, with the tokens before and after the words."""
    for way in _COPIES:
        copied = _copy(entry.words, way)
        for i in range(len(entry.tokens) - len(copied) + 1):
            if entry.tokens[i : i + len(copied)] == copied:
                yield way, entry.tokens[:i], entry.tokens[i + len(copied) :]
                break


def copied_span(entry: Entry) -> Span | None:
    """Find where in its tokens a value has the words of the input."""
    before, after = next(((before, after) for _, before, after in _copied(entry)), (entry.tokens, ()))
    return (len(before), len(entry.tokens) - len(after)) if before != entry.tokens else None


def _simplest_first(way: tuple[tuple[str, Words, Words], int]) -> tuple[int, int, Words, Words]:
    (name, before, after), number = way
    return -number, _COPIES.index(name), before, after


@dataclass(frozen=True)
class _Manner:
    """How values of a type are copied from the input."""

    type: str
    way: str
    before: Words
    after: Words
    share: float  # of all values that training lacks

    def write(self, words: Words) -> Words:
        """Give the tokens of a value that is on no list."""
        return (*self.before, *_copy(words, self.way), *self.after)

    def fits(self, tokens: Words) -> bool:
        """Whether tokens can be such a value."""
        before, after = len(self.before), len(self.after)
        around = tokens[:before] == self.before and tokens[len(tokens) - after :] == self.after
        return around and len(tokens) > before + after


def _split(text: str) -> Words:
    return tuple(text.split(" "))


def _with_placeholders(source: Words, spans: Mapping[Span, str]) -> Words:
    found: list[str] = []
    at = 0
    for (a, b), placeholder in sorted(spans.items()):
        found += (*source[at:a], placeholder)
        at = b
    return (*found, *source[at:])


def _replaced(
    node: Node, places: Mapping[Path, str], order: Mapping[str, int], lists: Container[str], path: Path = ()
) -> Node:
    """Put placeholders in their places, and the items of lists whose order says nothing in that of the input."""
    if path in places:
        return Node("name", places[path], node.slot, (places[path],))
    children = [_replaced(child, places, order, lists, (*path, i)) for i, child in enumerate(node.children)]
    if node.label in lists:
        children.sort(key=lambda child: min(order.get(token, len(order)) for token in child.tokens))
    return replace(node, children=tuple(children))


def _reading(source: Words, way: Mapping[Span, Entry], log_prob: float) -> Reading:
    """Give an input with numbers for the values of each type, in order; equal values are one."""
    names: dict[Entry, str] = {}
    numbers: Counter[str] = Counter()
    for entry in way.values():
        if entry not in names:
            names[entry] = f"«{entry.type}»{numbers[entry.type]}"
            numbers[entry.type] += 1
    placed = {span: names[entry] for span, entry in way.items()}
    return Reading(_with_placeholders(source, placed), {name: entry for entry, name in names.items()}, log_prob)
