"""Values: names and numbers that stand in an output because they stand in the input.

A leaf of an output whose words are in the input is *linked* to them. The slots whose leaves are mostly linked hold
values; each has a *type*, named after its operator or key, and slots that share values share their type. A value is the
largest constituent that its words decide (`stateid('texas')`, not only `texas`). In examples to learn from, a value is
replaced by a placeholder of its type on both sides (`«stateid»0`), and comes back exactly as it was.

Words are compared without case, number words as digits, `_`, `-` and capitals inside of identifiers as spaces. Linear
in the tokens of the pairs.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from math import log
from typing import Any

from csl.languages.program import Kind
from csl.languages.words import normal
from csl.preparing.trees import Node

LINKED = 0.5  # of the leaves of a slot, at least, if it holds values
DISTINCT = 3  # values of a slot, at least; or two if nearly all leaves are linked
NEARLY_ALL = 0.9
TRUSTED = 0.1  # of the inputs with the words of a value have it in the output, at least
DECIDED = 0.9  # of the values that occur more than once decide what is around them, at least
ALIAS = 0.5  # of the inputs with a part of a value have the value in the output, at least, if it stands for it
LONG = 3  # letters of a word in such a part, at least
SHARED = 0.5  # of the values of a slot are values of another, at least, if both have one type
VARIANTS = 16  # ways to read the values of an input, at most
OPTIONS = 3  # types that one span of words may have, at most
OPEN_SPANS = 2  # spans of unknown words that are taken for values, at most
OPEN_TYPES = 6  # types that they may have
COPIED = 0.5  # of the values of such a type are copied in one way, at least
MOST = 6  # placeholders of one type in an example are numbered below this

Words = tuple[str, ...]
Span = tuple[int, int]
Path = tuple[int, ...]
_PLACEHOLDER = re.compile(r"«(.+)»\d+")
_PIECES = re.compile(r"[^\W_]+|[^\w\s]")
_CAPITAL = re.compile(r"(?<=[^\W\d_])(?<![A-Z])(?=[A-Z])")
_PART = re.compile(r"[.:/]")
_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBERS.split())} | {"a": "1", "an": "1"}


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
    return _PLACEHOLDER.fullmatch(token) is not None


def type_of_placeholder(token: str) -> str:
    """Give the type of the value that a placeholder stands for."""
    return token[1:].rpartition("»")[0]


@dataclass(frozen=True)
class Values:
    """The types of a data set and what is known of them."""

    types: Mapping[str, str]  # slot name → type
    climbs: frozenset[str]  # what decides the constituent around it: kinds of constituents, or single values
    aliases: Mapping[Words, tuple[Words, ...]]  # words of a leaf → parts of them that inputs have instead
    seen: Mapping[Words, int]  # how often the words of a value are in an input, and not part of a longer value
    entries: tuple[Entry, ...]

    @classmethod
    def learn(cls, pairs: Sequence[tuple[Words, Node]]) -> "Values":
        """Find the types and values of a training set of (normal form of the input, output)."""
        sources, trees = [source for source, _ in pairs], [tree for _, tree in pairs]
        found = [list(_leaves_in(*pair, {})) for pair in pairs]
        slots = _open_slots(trees, found)
        aliases = _aliases(pairs, slots, found)
        found = [[link for link in _leaves_in(*pair, aliases) if slot_name(link.node) in slots] for pair in pairs]
        seen = _seen(sources, found)
        found = [[link for link in links if link.words in seen] for links in found]
        leaves = _types(slots, found)
        climbs: frozenset[str] = frozenset()
        while more := _deciding(trees, found, leaves) - climbs:
            climbs |= more
            found = [list(_climb(tree, links, more, leaves)) for tree, links in zip(trees, found, strict=True)]
        values = cls({**leaves, **_types(slots, found)}, climbs, aliases, seen, ())
        counts = Counter(
            (values.type_of(link.node), source[slice(*link.spans[0])], link.node.tokens)
            for source, links in zip(sources, found, strict=True)
            for link in links
        )
        return replace(values, entries=tuple(Entry(*key, count) for key, count in sorted(counts.items())))

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` takes; words and tokens have no spaces in them."""
        return {
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
        seen = {tuple(map(_comparable, entry.words)): entry.count for entry in new}
        return replace(self, seen=seen | dict(self.seen), entries=(*self.entries, *dict.fromkeys(new)))

    def copied(self, kind: str, words: Words) -> Words | None:
        """Write words as training copies values of a type into outputs; None if it copies them in no one way."""
        return next((manner.write(words) for manner in self._manners if manner.type == kind), None)

    def type_of(self, node: Node) -> str:
        """Name the type of a constituent that is a value."""
        name = _type_name(node)
        return self.types.get(name, name)

    def link(self, source: Words, tree: Node, lists: Container[str] = ()) -> Linked:
        """Replace the values of a pair by placeholders; items of these lists are put in the order of the input."""
        links = [link for link in _leaves_in(source, tree, self.aliases) if slot_name(link.node) in self.types]
        links = [link for link in links if link.words in self.seen or link.words not in self._by_words]
        while links != (higher := list(_climb(tree, links, self.climbs, self.types))):
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
            best[tuple(map(_comparable, entry.words)), entry.type] = entry
        found: dict[Words, list[Entry]] = defaultdict(list)
        for (words, _), entry in sorted(best.items()):
            found[words].append(entry)
        return found

    def readings(self, source: Words) -> list[Reading]:
        """Give the ways to read the values of an input, the most probable first."""
        words = tuple(map(_comparable, source))
        longest = max(map(len, self._by_words), default=0)
        spans = sorted(_known_spans(words, self._by_words, longest), key=lambda span: (span[0] - span[1], span))
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

    def open_readings(self, reading: Reading, spans: Sequence[Span]) -> list[Reading]:
        """Give readings in which these spans are values of the types that copy their words."""
        if not 0 < len(spans) <= OPEN_SPANS:
            return []
        found = []
        for manners in product(self._manners[:OPEN_TYPES], repeat=len(spans)):
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


@dataclass(frozen=True)
class _Link:
    """A constituent of an output and the spans of the input that have its words."""

    node: Node
    path: Path  # from the root, by the places of children
    words: Words  # as they are compared
    spans: tuple[Span, ...]


def slot_name(node: Node) -> str:
    """Name the slot of a leaf: a key, the operator of one argument, or operator and place."""
    match node.slot:
        case (operator, "1", _) | (operator, "*"):
            return _one_word(operator)
        case (operator, _, place):
            return _one_word(f"{operator}.{place}")
    return _one_word(node.slot[-1])


def _one_word(name: str) -> str:
    """Make a name a part of a token: a key may have spaces in it, or be empty."""
    return "_".join(name.split()) or "value"


def _split(text: str) -> Words:
    return tuple(text.split(" "))


def _type_name(node: Node) -> str:
    return slot_name(node) if node.is_literal else _one_word(node.label)


def _kind(node: Node, types: Mapping[str, str]) -> str:
    """Tell constituents apart that may decide what is around them: leaves by their type, others by their label."""
    return f"{types.get(name := slot_name(node), name)} leaf" if node.is_literal else node.label


def _comparable(word: str) -> str:
    return _DIGITS.get(word, word)


@lru_cache(maxsize=100_000)
def _spellings(kind: Kind, label: str) -> tuple[Words, ...]:
    """Give the words under which a leaf may be in an input: as pieces, whole, or an identifier without its first parts.

    >>> _spellings("name", "en.weekly_standup")
    (('en', '.', 'weekly', 'standup'), ('en.weekly_standup',), ('weekly', 'standup'))
    """
    parts = _PART.split(label) if kind in ("name", "string") else []
    texts = [label, *(" ".join(parts[i:]) for i in range(1, len(parts)))]
    texts += [label.replace("-", " ")] if parts and "-" in label else []
    pieces = [tuple(_comparable(normal(word)) for word in _PIECES.findall(_CAPITAL.sub(" ", text))) for text in texts]
    whole = (_comparable(normal(label)),)
    return tuple(words for words in (pieces[0], whole, *pieces[1:]) if any(word[:1].isalnum() for word in words))


def _leaves_in(source: Words, tree: Node, aliases: Mapping[Words, tuple[Words, ...]]) -> Iterator[_Link]:
    """Give the leaves of an output whose words are in the input."""
    words = tuple(_comparable(word) for word in source)
    places: dict[str, list[int]] = defaultdict(list)
    for i, word in enumerate(words):
        places[word].append(i)

    def visit(node: Node, path: Path) -> Iterator[_Link]:
        if node.is_literal:
            own = _spellings(node.kind, node.label)
            for spelled in (*own, *(aliases.get(own[0], ()) if own else ())):
                n = len(spelled)
                spans = tuple((i, i + n) for i in places.get(spelled[0], ()) if words[i : i + n] == spelled)
                if spans:
                    yield _Link(node, path, spelled, spans)
                    return
        for i, child in enumerate(node.children):
            yield from visit(child, (*path, i))

    yield from visit(tree, ())


def _open_slots(trees: Sequence[Node], found: Sequence[Sequence[_Link]]) -> set[str]:
    """Find the slots whose leaves are mostly in the input."""
    leaves = Counter(slot_name(node) for tree in trees for node in tree.walk() if node.is_literal)
    linked = Counter(slot_name(link.node) for links in found for link in links)
    distinct: dict[str, set[Words]] = defaultdict(set)
    for links in found:
        for link in links:
            distinct[slot_name(link.node)].add(link.words)
    return {
        slot
        for slot, number in linked.items()
        if number >= (LINKED if len(distinct[slot]) >= DISTINCT else NEARLY_ALL) * leaves[slot]
        and len(distinct[slot]) > 1
    }


def _aliases(
    pairs: Sequence[tuple[Words, Node]], slots: set[str], found: Sequence[Sequence[_Link]]
) -> dict[Words, tuple[Words, ...]]:
    """Find parts of values that stand for the whole in inputs, and mostly for nothing else."""
    whole: Counter[tuple[Words, Words]] = Counter()
    for (source, tree), links in zip(pairs, found, strict=True):
        inside = {link.path for link in links}
        words = tuple(map(_comparable, source))
        for path, node in _paths(tree):
            if node.is_literal and path not in inside and slot_name(node) in slots:
                for spelled in _spellings(node.kind, node.label)[:1]:
                    whole.update((part, spelled) for part in _parts(spelled, words))
    parts = dict.fromkeys(part for part, _ in whole)
    longest = max(map(len, parts), default=0)
    seen: Counter[Words] = Counter()
    for source, _ in pairs:
        words = tuple(map(_comparable, source))
        seen.update({words[a:b] for a, b in _known_spans(words, parts, longest)})
    aliases: dict[Words, list[Words]] = defaultdict(list)
    for (part, spelled), count in sorted(whole.items(), key=lambda item: (-len(item[0][0]), item)):
        if count > 1 and count >= ALIAS * seen[part]:
            aliases[spelled].append(part)
    return {spelled: tuple(found) for spelled, found in aliases.items()}


def _parts(spelled: Words, words: Words) -> Iterator[Words]:
    """Give the longest parts of a value that are in an input, from each of its words on, if there is a long word."""
    for a in range(len(spelled)):
        for b in range(len(spelled), a, -1):
            part = spelled[a:b]
            if b - a < len(spelled) and max(map(len, part)) >= LONG and _is_in(part, words):
                yield part
                break


def _is_in(part: Words, words: Words) -> bool:
    return any(words[i : i + len(part)] == part for i in range(len(words) - len(part) + 1))


def _paths(node: Node, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    yield path, node
    for i, child in enumerate(node.children):
        yield from _paths(child, (*path, i))


def _seen(sources: Sequence[Words], found: Sequence[Sequence[_Link]]) -> dict[Words, int]:
    """Count how often words of values are in inputs, but for words that are too rarely values."""
    known = dict.fromkeys(link.words for links in found for link in links)
    longest = max(map(len, known), default=0)
    seen: Counter[Words] = Counter()
    linked: Counter[Words] = Counter()
    for source, links in zip(sources, found, strict=True):
        words = tuple(map(_comparable, source))
        inside = [span for link in links for span in link.spans]
        for a, b in _known_spans(words, known, longest):
            part = any(c <= a and b <= d and d - c > b - a for c, d in inside)
            if not part:
                seen[words[a:b]] += 1
        linked.update(words[a:b] for a, b in set(inside))
    return {words: seen[words] for words in known if linked[words] > TRUSTED * seen[words] > 0}


def _known_spans(words: Words, known: Mapping[Words, object], longest: int) -> Iterator[Span]:
    for a in range(len(words)):
        for b in range(a + 1, min(len(words), a + longest) + 1):
            if words[a:b] in known:
                yield a, b


def _around(tree: Node, link: _Link, links: Sequence[_Link]) -> Node | None:
    """Give the constituent around a linked one if all of it may be a value: only literals, and no other link in it."""
    if len(link.path) < 2:  # the whole output is no value
        return None
    parent = tree
    for i in link.path[:-1]:
        parent = parent.children[i]
    if parent.kind in ("member", "list"):
        return None
    only = all(node.is_literal or node.children for node in parent.walk())
    inside = sum(other.path[: len(link.path) - 1] == link.path[:-1] for other in links)
    return parent if only and inside == 1 else None


def _deciding(trees: Sequence[Node], found: Sequence[Sequence[_Link]], types: Mapping[str, str]) -> frozenset[str]:
    """Find what decides, wherever it occurs, the constituent around it.

    All of a kind do if nearly every value that occurs more than once does. A single value does if what is around it has
    literals that the input does not have: `area(name('Paris'), country('France'))`; then so do all others in its place.
    """
    around: dict[str, dict[Words, Counter[Words | None]]] = defaultdict(lambda: defaultdict(Counter))
    by_label: dict[tuple[str, str], dict[Words, Counter[Words | None]]] = defaultdict(lambda: defaultdict(Counter))
    hidden: dict[str, set[str]] = defaultdict(set)  # kind → labels of constituents with literals of their own
    for tree, links in zip(trees, found, strict=True):
        for link in links:
            parent = _around(tree, link, links)
            around[_kind(link.node, types)][link.node.tokens][parent.tokens if parent else None] += 1
            if parent:
                by_label[_kind(link.node, types), parent.label][link.node.tokens][parent.tokens] += 1
            if parent and sum(node.is_literal for node in parent.walk()) > sum(n.is_literal for n in link.node.walk()):
                hidden[_kind(link.node, types)].add(parent.label)
    deciding = set()
    for kind, by_value in around.items():
        if _decided(by_value):
            deciding.add(kind)
        else:
            deciding |= {f"{kind} in {label}" for label in hidden[kind] if _decided(by_label[kind, label])}
    return frozenset(deciding)


def _decided(by_value: Mapping[Words, Counter[Words | None]]) -> bool:
    often = [counts for counts in by_value.values() if counts.total() > 1]
    agreeing = sum(max((n for tokens, n in counts.items() if tokens), default=0) for counts in often)
    return bool(often) and agreeing >= DECIDED * sum(counts.total() for counts in often)


def _climb(tree: Node, links: Sequence[_Link], climbs: frozenset[str], types: Mapping[str, str]) -> Iterator[_Link]:
    for link in links:
        parent = _around(tree, link, links)
        if parent and (_kind(link.node, types) in climbs or f"{_kind(link.node, types)} in {parent.label}" in climbs):
            yield replace(link, node=parent, path=link.path[:-1])
        else:
            yield link


def _types(slots: set[str], found: Sequence[Sequence[_Link]]) -> dict[str, str]:
    """Give places that share values one type, named after the commonest of them; a key or an operator is its own."""
    counts: dict[str, Counter[Words]] = defaultdict(Counter)
    for links in found:
        for link in links:
            counts[_type_name(link.node)][link.node.tokens] += 1
    names = sorted(counts, key=lambda name: (-counts[name].total(), name))
    types: dict[str, str] = {}
    for name in names:
        others = [other for other in names if types.get(other) == other and "." in other and "." in name]
        same = [other for other in others if _overlap(counts[name], counts[other]) >= SHARED]
        types[name] = same[0] if same else name
    return {slot: types.get(slot, slot) for slot in sorted({*slots, *types})}


def _overlap(a: Mapping[Words, int], b: Mapping[Words, int]) -> float:
    return len(a.keys() & b.keys()) / min(len(a), len(b))


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
