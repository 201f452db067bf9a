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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log

from csl.languages.words import normal
from csl.preparing.trees import Node

LINKED = 0.5  # of the leaves of a slot, at least, if it holds values
DISTINCT = 3  # values of a slot, at least
TRUSTED = 0.5  # of the inputs with the words of a value have it in the output, at least
DECIDED = 0.9  # of the values that occur more than once decide what is around them, at least
SHARED = 0.5  # of the values of a slot are values of another, at least, if both have one type
VARIANTS = 16  # ways to read the values of an input, at most
OPTIONS = 3  # types that one span of words may have, at most
MOST = 3  # placeholders of one type in an example are numbered below this

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


@dataclass(frozen=True)
class Values:
    """The types of a data set and what is known of them."""

    types: Mapping[str, str]  # slot name → type
    climbs: frozenset[str]  # types and labels of constituents that decide the one around them
    ignored: frozenset[Words]  # words that are too rarely values
    entries: tuple[Entry, ...]

    @classmethod
    def learn(cls, pairs: Sequence[tuple[Words, Node]]) -> "Values":
        """Find the types and values of a training set of (normal form of the input, output)."""
        found = [list(_leaves_in(source, tree)) for source, tree in pairs]
        slots = _open_slots(pairs, found)
        found = [[link for link in links if slot_name(link.node) in slots] for links in found]
        ignored = _ignored([source for source, _ in pairs], found)
        found = [[link for link in links if link.words not in ignored] for links in found]
        first = cls({slot: slot for slot in slots}, frozenset(), ignored, ())
        climbs: frozenset[str] = frozenset()
        trees = [tree for _, tree in pairs]
        while more := _deciding(first, trees, found) - climbs:
            climbs |= more
            found = [list(_climb(first, tree, links, more)) for tree, links in zip(trees, found, strict=True)]
        types = _merge_types(first, found)
        typed = cls(types, climbs, ignored, ())
        counts = Counter(
            (typed.type_of(link), tuple(source[a:b]), link.node.tokens)
            for (source, _), links in zip(pairs, found, strict=True)
            for link in links
            for a, b in link.spans[:1]
        )
        return replace(typed, entries=tuple(Entry(*key, count) for key, count in sorted(counts.items())))

    def type_of(self, link: "_Link") -> str:
        """Name the type of a linked constituent."""
        name = slot_name(link.node) if link.node.is_literal else link.node.label
        return self.types.get(name, name)

    def link(self, source: Words, tree: Node) -> Linked:
        """Replace the values of a pair by placeholders."""
        links = [link for link in _leaves_in(source, tree) if slot_name(link.node) in self.types]
        links = [link for link in links if link.words not in self.ignored]
        for _ in range(len(self.climbs)):
            links = list(_climb(self, tree, links, self.climbs))
        names: dict[tuple[str, Words], str] = {}
        spans: dict[Span, str] = {}
        values: dict[str, Entry] = {}
        numbers: Counter[str] = Counter()
        taken: set[int] = set()
        free: dict[tuple[str, Words], list[Span]] = {}
        for link in sorted(links, key=lambda link: (-len(link.words), link.spans)):
            key = (self.type_of(link), link.node.tokens)
            mine = [span for span in link.spans if taken.isdisjoint(range(*span))]
            if key not in free and mine:
                free[key] = mine
                taken.update(i for span in mine for i in range(*span))
        for key, mine in sorted(free.items(), key=lambda item: item[1]):
            if numbers[key[0]] < MOST:
                names[key] = placeholder = f"«{key[0]}»{numbers[key[0]]}"
                numbers[key[0]] += 1
                spans |= dict.fromkeys(mine, placeholder)
                values[placeholder] = Entry(*(key[0], tuple(source[slice(*mine[0])]), key[1]), 1)
        places = {link.path: names[key] for link in links if (key := (self.type_of(link), link.node.tokens)) in names}
        return Linked(_with_placeholders(source, spans), _replaced(tree, places), values)

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
        spans = sorted(_known_spans(words, self._by_words), key=lambda span: (span[0] - span[1], span))
        chosen: list[Span] = []
        for span in spans:
            if all(span[1] <= a or b <= span[0] for a, b in chosen):
                chosen.append(span)
        ways: list[tuple[float, tuple[Entry, ...]]] = [(0.0, ())]
        chosen.sort()
        for a, b in chosen:
            entries = sorted(self._by_words[words[a:b]], key=lambda entry: -entry.count)[:OPTIONS]
            total = sum(entry.count for entry in entries)
            ways = [(p + log(entry.count / total), (*way, entry)) for p, way in ways for entry in entries]
            ways = sorted(ways, key=lambda way: -way[0])[:VARIANTS]
        return [_reading(source, chosen, way, p) for p, way in ways]


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
            return operator
        case (operator, _, place):
            return f"{operator}.{place}"
    return node.slot[-1]


def _comparable(word: str) -> str:
    return _DIGITS.get(word, word)


def _spellings(node: Node) -> Iterator[Words]:
    """Give the words under which a leaf may be in an input: all of it, or an identifier without what it starts with."""
    parts = _PART.split(node.label) if node.kind in ("name", "string") else []
    for text in (node.label, *(" ".join(parts[i:]) for i in range(1, len(parts)))):
        words = tuple(_comparable(normal(word)) for word in _PIECES.findall(_CAPITAL.sub(" ", text)))
        if any(word[0].isalnum() for word in words):
            yield words


def _leaves_in(source: Words, tree: Node) -> Iterator[_Link]:
    """Give the leaves of an output whose words are in the input."""
    words = tuple(_comparable(word) for word in source)
    places: dict[str, list[int]] = defaultdict(list)
    for i, word in enumerate(words):
        places[word].append(i)

    def visit(node: Node, path: Path) -> Iterator[_Link]:
        if node.is_literal:
            for spelled in _spellings(node):
                n = len(spelled)
                spans = tuple((i, i + n) for i in places.get(spelled[0], ()) if words[i : i + n] == spelled)
                if spans:
                    yield _Link(node, path, spelled, spans)
                    return
        for i, child in enumerate(node.children):
            yield from visit(child, (*path, i))

    yield from visit(tree, ())


def _open_slots(pairs: Sequence[tuple[Words, Node]], found: Sequence[Sequence[_Link]]) -> set[str]:
    """Find the slots whose leaves are mostly in the input."""
    leaves = Counter(slot_name(node) for _, tree in pairs for node in tree.walk() if node.is_literal)
    linked = Counter(slot_name(link.node) for links in found for link in links)
    distinct: dict[str, set[Words]] = defaultdict(set)
    for links in found:
        for link in links:
            distinct[slot_name(link.node)].add(link.words)
    return {slot for slot in linked if linked[slot] >= LINKED * leaves[slot] and len(distinct[slot]) >= DISTINCT}


def _ignored(sources: Sequence[Words], found: Sequence[Sequence[_Link]]) -> frozenset[Words]:
    """Find words that stand in inputs more often without their value in the output than with it."""
    known = dict.fromkeys(link.words for links in found for link in links)
    seen: Counter[Words] = Counter()
    linked: Counter[Words] = Counter()
    for source, links in zip(sources, found, strict=True):
        words = tuple(map(_comparable, source))
        seen.update({words[a:b] for a, b in _known_spans(words, known)})
        linked.update({link.words for link in links})
    return frozenset(words for words in known if linked[words] < TRUSTED * seen[words])


def _known_spans(words: Words, known: Mapping[Words, object]) -> Iterator[Span]:
    longest = max(map(len, known), default=0)
    for a in range(len(words)):
        for b in range(a + 1, min(len(words), a + longest) + 1):
            if words[a:b] in known:
                yield a, b


def _around(tree: Node, link: _Link, links: Sequence[_Link]) -> Node | None:
    """Give the constituent around a linked one if all of it may be a value: only literals, and no other link in it."""
    if len(link.path) < 2:  # noqa: PLR2004 — the whole output is no value
        return None
    parent = tree
    for i in link.path[:-1]:
        parent = parent.children[i]
    only = all(node.is_literal or node.children for node in parent.walk())
    inside = sum(other.path[: len(link.path) - 1] == link.path[:-1] for other in links)
    return parent if only and inside == 1 else None


def _deciding(values: Values, trees: Sequence[Node], found: Sequence[Sequence[_Link]]) -> frozenset[str]:
    """Find the types of constituents that decide, wherever they occur, what is around them."""
    around: dict[str, dict[Words, Counter[Words | None]]] = defaultdict(lambda: defaultdict(Counter))
    for tree, links in zip(trees, found, strict=True):
        for link in links:
            parent = _around(tree, link, links)
            around[values.type_of(link)][link.node.tokens][parent.tokens if parent else None] += 1
    deciding = set()
    for name, by_value in around.items():
        often = [counts for counts in by_value.values() if counts.total() > 1]
        agreeing = sum(max((n for tokens, n in counts.items() if tokens), default=0) for counts in often)
        if often and agreeing >= DECIDED * sum(counts.total() for counts in often):
            deciding.add(name)
    return frozenset(deciding)


def _climb(values: Values, tree: Node, links: Sequence[_Link], climbs: frozenset[str]) -> Iterator[_Link]:
    for link in links:
        parent = _around(tree, link, links) if values.type_of(link) in climbs else None
        yield replace(link, node=parent, path=link.path[:-1]) if parent else link


def _merge_types(values: Values, found: Sequence[Sequence[_Link]]) -> dict[str, str]:
    """Give places that share values one type, named after the commonest of them; a key or an operator is its own."""
    counts: dict[str, Counter[Words]] = defaultdict(Counter)
    for links in found:
        for link in links:
            counts[values.type_of(link)][link.node.tokens] += 1
    names = sorted(counts, key=lambda name: (-counts[name].total(), name))
    types: dict[str, str] = {}
    for name in names:
        others = [other for other in names if types.get(other) == other and "." in other and "." in name]
        same = [other for other in others if _overlap(counts[name], counts[other]) >= SHARED]
        types[name] = same[0] if same else name
    return {slot: types.get(slot, slot) for slot in sorted({*values.types, *types})}


def _overlap(a: Mapping[Words, int], b: Mapping[Words, int]) -> float:
    return len(a.keys() & b.keys()) / min(len(a), len(b))


def _with_placeholders(source: Words, spans: Mapping[Span, str]) -> Words:
    found: list[str] = []
    at = 0
    for (a, b), placeholder in sorted(spans.items()):
        found += (*source[at:a], placeholder)
        at = b
    return (*found, *source[at:])


def _replaced(node: Node, places: Mapping[Path, str], path: Path = ()) -> Node:
    if path in places:
        return Node("name", places[path], node.slot, (places[path],))
    children = tuple(_replaced(child, places, (*path, i)) for i, child in enumerate(node.children))
    return replace(node, children=children)


def _reading(source: Words, spans: Sequence[Span], entries: Sequence[Entry], log_prob: float) -> Reading:
    """Number the values of each type in the order of the input; equal values are one."""
    names: dict[Entry, str] = {}
    numbers: Counter[str] = Counter()
    for entry in entries:
        if entry not in names:
            names[entry] = f"«{entry.type}»{numbers[entry.type]}"
            numbers[entry.type] += 1
    placed = {span: names[entry] for span, entry in zip(spans, entries, strict=True)}
    return Reading(_with_placeholders(source, placed), {name: entry for entry, name in names.items()}, log_prob)
