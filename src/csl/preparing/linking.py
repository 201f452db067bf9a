"""Links between outputs and inputs: which constituents of an output stand for which words of its input.

A leaf is linked to the words that spell it. Slots whose leaves are mostly linked hold values. A linked constituent
stands for the one around it where it decides that: `texas` for `stateid('texas')`.

Words are compared without case, number words as digits, `_`, `-` and capitals inside of identifiers as spaces; spaces
may also be missing (`5pm`, `5 pm`). Linear in the tokens of the pairs, but for that.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

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

Words = tuple[str, ...]
Span = tuple[int, int]
Path = tuple[int, ...]
_PIECES = re.compile(r"[^\W_]+|[^\w\s]")
_CAPITAL = re.compile(r"(?<=[^\W\d_])(?<![A-Z])(?=[A-Z])")
_PART = re.compile(r"[.:/]")
_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBERS.split())} | {"a": "1", "an": "1"}


@dataclass(frozen=True)
class Link:
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


def type_name(node: Node) -> str:
    """Name the type of a constituent: a leaf by its slot, others by their label."""
    return slot_name(node) if node.is_literal else _one_word(node.label)


def _kind(node: Node, types: Mapping[str, str]) -> str:
    """Tell constituents apart that may decide what is around them: leaves by their type, others by their label."""
    return f"{types.get(name := slot_name(node), name)} leaf" if node.is_literal else node.label


def comparable(word: str) -> str:
    """Give the form by which words in their normal form are compared: number words as digits."""
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
    pieces = [tuple(comparable(normal(word)) for word in _PIECES.findall(_CAPITAL.sub(" ", text))) for text in texts]
    whole = (comparable(normal(label)),)
    return tuple(words for words in (pieces[0], whole, *pieces[1:]) if any(word[:1].isalnum() for word in words))


def leaves_in(source: Words, tree: Node, aliases: Mapping[Words, tuple[Words, ...]]) -> Iterator[Link]:
    """Give the leaves of an output whose words are in the input."""
    words = tuple(comparable(word) for word in source)
    places: dict[str, list[int]] = defaultdict(list)
    for i, word in enumerate(words):
        places[word].append(i)

    waiting: list[tuple[Node, Path]] = [(tree, ())]
    while waiting:
        node, path = waiting.pop()
        if node.is_literal:
            link = _link(node, path, words, places, aliases)
            if link:
                yield link
                continue
        for i in range(len(node.children) - 1, -1, -1):
            waiting.append((node.children[i], (*path, i)))


def _link(
    node: Node,
    path: Path,
    words: Words,
    places: Mapping[str, Sequence[int]],
    aliases: Mapping[Words, tuple[Words, ...]],
) -> Link | None:
    """Link a leaf to the words that spell it, if the input has them; `places` says where it has which word."""
    own = _spellings(node.kind, node.label)
    for spelled in (*own, *(aliases.get(own[0], ()) if own else ())):
        n = len(spelled)
        spans = tuple([(i, i + n) for i in places.get(spelled[0], ()) if words[i : i + n] == spelled])
        if spans:
            return Link(node, path, spelled, spans)
    if own and (span := _run_together(words, "".join(own[0]))):
        return Link(node, path, words[slice(*span)], (span,))
    return None


def _run_together(words: Words, text: str) -> Span | None:
    """Find the first span of words whose letters are those of a text."""
    for start, first in enumerate(words):
        if text.startswith(first):
            end, rest = start + 1, text[len(first) :]
            while rest and end < len(words) and rest.startswith(words[end]):
                end, rest = end + 1, rest[len(words[end]) :]
            if not rest:
                return start, end
    return None


def open_slots(trees: Sequence[Node], found: Sequence[Sequence[Link]]) -> set[str]:
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


def find_aliases(
    pairs: Sequence[tuple[Words, Node]], slots: set[str], found: Sequence[Sequence[Link]]
) -> dict[Words, tuple[Words, ...]]:
    """Find parts of values that stand for the whole in inputs, and mostly for nothing else."""
    whole: Counter[tuple[Words, Words]] = Counter()
    for (source, tree), links in zip(pairs, found, strict=True):
        inside = {link.path for link in links}
        words = tuple(map(comparable, source))
        for path, node in _paths(tree):
            if node.is_literal and path not in inside and slot_name(node) in slots:
                for spelled in _spellings(node.kind, node.label)[:1]:
                    whole.update((part, spelled) for part in _parts(spelled, words))
    parts = dict.fromkeys(part for part, _ in whole)
    longest = longest_from(parts)
    seen: Counter[Words] = Counter()
    for source, _ in pairs:
        words = tuple(map(comparable, source))
        seen.update({words[a:b] for a, b in known_spans(words, parts, longest)})
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


def count_seen(sources: Sequence[Words], found: Sequence[Sequence[Link]]) -> dict[Words, int]:
    """Count how often words of values are in inputs, but for words that are too rarely values."""
    known = dict.fromkeys(link.words for links in found for link in links)
    longest = longest_from(known)
    seen: Counter[Words] = Counter()
    linked: Counter[Words] = Counter()
    for source, links in zip(sources, found, strict=True):
        words = tuple(map(comparable, source))
        inside = [span for link in links for span in link.spans]
        for a, b in known_spans(words, known, longest):
            part = any(c <= a and b <= d and d - c > b - a for c, d in inside)
            if not part:
                seen[words[a:b]] += 1
        linked.update(words[a:b] for a, b in set(inside))
    return {words: seen[words] for words in known if linked[words] > TRUSTED * seen[words] > 0}


def longest_from(known: Iterable[Words]) -> dict[str, int]:
    """Give for each word how many words the longest of the known sequences has that starts with it."""
    longest: dict[str, int] = {}
    for words in known:
        longest[words[0]] = max(len(words), longest.get(words[0], 0))
    return longest


def known_spans(words: Words, known: Container[Words], longest: Mapping[str, int]) -> Iterator[Span]:
    """Give the spans of an input that are known; `longest` is that of `longest_from`."""
    for a, word in enumerate(words):
        for b in range(a + 1, min(len(words), a + longest.get(word, 0)) + 1):
            if words[a:b] in known:
                yield a, b


def _around(tree: Node, link: Link, links: Sequence[Link]) -> Node | None:
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


def deciding(trees: Sequence[Node], found: Sequence[Sequence[Link]], types: Mapping[str, str]) -> frozenset[str]:
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


def climb(tree: Node, links: Sequence[Link], climbs: frozenset[str], types: Mapping[str, str]) -> Iterator[Link]:
    """Let links that decide the constituent around them stand for that."""
    for link in links:
        parent = _around(tree, link, links)
        if parent and (_kind(link.node, types) in climbs or f"{_kind(link.node, types)} in {parent.label}" in climbs):
            yield replace(link, node=parent, path=link.path[:-1])
        else:
            yield link


def merge_types(found: Sequence[Sequence[Link]]) -> dict[str, str]:
    """Give slots that share values one type, named after the commonest of them; a key is a type of its own."""
    counts: dict[str, Counter[Words]] = defaultdict(Counter)
    keys: set[str] = set()
    for links in found:
        for link in links:
            name = type_name(link.node)
            counts[name][link.node.tokens] += 1
            if link.node.is_literal and len(link.node.slot) == 2 and link.node.slot[1] != "*":
                keys.add(name)
    names = sorted(counts, key=lambda name: (-counts[name].total(), name))
    types: dict[str, str] = {}
    for name in names:
        others = [other for other in names if types.get(other) == other and not keys & {name, other}]
        same = [other for other in others if _overlap(counts[name], counts[other]) >= SHARED]
        types[name] = same[0] if same else name
    return types


def _overlap(a: Mapping[Words, int], b: Mapping[Words, int]) -> float:
    return len(a.keys() & b.keys()) / min(len(a), len(b))
