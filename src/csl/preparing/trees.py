"""Outputs as trees over slots: which operator stands where.

A node has its own tokens and, between them, its children. Its *slot* is the place it fills: an argument of an operator,
an entry of a list, the value under a key. What has no name of its own (a JSON object, a list) is named after its slot.

Where a leaf among its children says what kind of node it is (`"intent": "TurnOn"`, `(call SW.filter …)`,
`keyval('cuisine', …)`), that leaf is the *tag* of the node: part of its label and of its own tokens. A leaf is a tag if
the siblings, coded for each of its values apart, take fewer bits than together. Linear in the tokens of the outputs.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from csl.languages.program import Constituent, Kind, Program

ARITIES = 3  # an operator that is seen with so many numbers of arguments takes any number
LITERALS = ("string", "number", "name", "words")
MOST_TAGS = 0.2  # of the nodes with one label may have a tag of their own, at most
MOST_WITHOUT = 0.02  # of the nodes with one label may lack the tag, at most

MOSTLY_SORTED = 0.95  # of the lists with one label, at least, if their order says nothing
LISTS = 10  # with items of equal labels, at least, to say so

Slot = tuple[str, ...]
Words = tuple[str, ...]
ROOT: Slot = ("ROOT",)


@dataclass(frozen=True)
class Node:
    """A constituent with its own tokens: `pattern` has None in place of each child."""

    kind: Kind
    label: str
    slot: Slot
    pattern: tuple[str | None, ...]
    children: tuple["Node", ...] = ()
    operator: str = ""  # the token that names it, one of its own

    @property
    def is_literal(self) -> bool:
        """Whether this is a leaf: a string, number, name or span of words."""
        return self.kind in LITERALS

    @cached_property
    def tokens(self) -> Words:
        """The tokens of this node and all below it."""
        children = iter(self.children)
        found: list[str] = []
        for token in self.pattern:
            found += next(children).tokens if token is None else (token,)
        return tuple(found)

    def walk(self) -> Iterator["Node"]:
        """Give this node and all below it, from the top, left to right."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Schema:
    """What the outputs of a training set say about labels: where the tag of a node is, and which take any number."""

    tags: Mapping[str, int | str]  # label → place of a child, or key of a member
    variadic: frozenset[str]
    orders: Mapping[str, Sequence[str]]  # label of a record → its keys, in the usual order
    sorted: Mapping[str, Sequence[str]]  # label of a list that is always sorted → the labels of its items, in order

    @classmethod
    def learn(cls, programs: Sequence[Program]) -> "Schema":
        """Find tags, and operators that take any number of arguments."""
        return cls.learn_trees(programs)[0]

    @classmethod
    def learn_trees(cls, programs: Sequence[Program]) -> tuple["Schema", list[Node]]:
        """Learn as `learn` does; return also the trees of the programs."""
        schema = cls({}, frozenset(), {}, {})
        while True:  # a tag names the nodes below it, which may then have tags of their own
            trees = [schema.tree(program) for program in programs]
            found = _find_tags(trees, schema.tags)
            if not found:
                break
            schema = replace(schema, tags={**schema.tags, **found})
        arities: dict[str, set[int]] = defaultdict(set)
        for tree in trees:
            for node in tree.walk():
                if node.kind == "call":
                    arities[node.label].add(len(node.children))
        variadic = frozenset(label for label, seen in arities.items() if len(seen) >= ARITIES)
        if variadic:
            schema = replace(schema, variadic=variadic)
            trees = [schema.tree(program) for program in programs]
        schema = replace(schema, orders=_orders(trees), sorted=_sorted(trees))
        return schema, [schema.tree(program) for program in programs] if schema.orders else trees

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` takes."""
        return {
            "tags": dict(self.tags), "variadic": sorted(self.variadic), "orders": dict(self.orders),
            "sorted": dict(self.sorted),
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Schema":
        """Rebuild what `to_json` gave."""
        return cls(data["tags"], frozenset(data["variadic"]), data["orders"], data["sorted"])

    def tree(self, program: Program) -> Node:
        """Make a tree of a program."""
        return _node(program, program.root, ROOT, self)

    def sort(self, node: Node) -> Node:
        """Put the items of lists that are always sorted in order."""
        children = tuple(map(self.sort, node.children))
        if order := self.sorted.get(node.label):
            children = tuple(sorted(children, key=lambda child: _sort_key(child, order)))
        return replace(node, children=children)


def _node(program: Program, constituent: Constituent, slot: Slot, schema: Schema) -> Node:
    while (only := constituent.children) and len(only) == 1 and _span(only[0]) == _span(constituent):
        constituent = only[0]  # one child and no token of its own
    label = constituent.label or ".".join(slot)
    operator = label
    tag = _tag(constituent, schema.tags.get(label))
    if tag:
        content = program.tokens[tag.start : tag.end]
        words = [token for token in content if any(map(str.isalnum, token))]
        operator = words[-1] if words else content[-1]
        label = f"{label} {''.join(words) or operator}"
    kind: Kind = "list" if label in schema.variadic else constituent.kind
    inner = [child for child in constituent.children if child is not tag]
    pattern = _pattern(program, constituent, inner)
    if kind == "list" and len(pattern) == len(inner):
        kind = "call"  # items side by side, with nothing that says how many there may be
    elif kind == "call" and inner and all(child.kind == "member" for child in inner):
        kind = "list"  # keyword arguments: any of them
    children = []
    for i, child in enumerate(inner):
        if kind == "member":
            place: Slot = (slot[0], label)
        elif kind == "list":
            place = (label, "*")
        else:
            place = (label, str(len(inner)), str(i))
        children.append(_node(program, child, place, schema))
    if order := schema.orders.get(label):
        children.sort(key=lambda child: order.index(child.label) if child.label in order else len(order))
    return Node(kind, label, slot, pattern, tuple(children), operator)


def _span(constituent: Constituent) -> tuple[int, int]:
    return constituent.start, constituent.end


def _pattern(program: Program, constituent: Constituent, inner: Sequence[Constituent]) -> tuple[str | None, ...]:
    """Give the tokens of a constituent with None in place of each child."""
    pattern: list[str | None] = []
    at = constituent.start
    for child in inner:
        pattern += (*program.tokens[at : child.start], None)
        at = child.end
    return (*pattern, *program.tokens[at : constituent.end])


def _orders(trees: Iterable[Node]) -> dict[str, list[str]]:
    """Give the keys of each record in their usual order; none where a key is repeated, or not all items have one."""
    records: dict[str, list[list[str]]] = defaultdict(list)
    mixed: set[str] = set()
    for tree in trees:
        for node in tree.walk():
            keys = [child.label for child in node.children if child.kind == "member"]
            if node.children and len(set(keys)) == len(node.children):
                records[node.label].append(keys)
            elif node.children:
                mixed.add(node.label)
    return {label: _usual_order(rows) for label, rows in records.items() if label not in mixed}


def _usual_order(rows: Sequence[Sequence[str]]) -> list[str]:
    """Put all items of some lists in one order: what mostly comes before another does so, else by their mean places."""
    before: Counter[tuple[str, str]] = Counter()
    places: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        before.update({(a, b) for i, a in enumerate(row) for b in row[i + 1 :] if a != b})
        for i, item in enumerate(row):
            places[item].append((i + 0.5) / len(row))
    left = sorted(places, key=lambda item: (sum(places[item]) / len(places[item]), item))
    order: list[str] = []
    while left:
        free = (item for item in left if all(before[other, item] <= before[item, other] for other in left))
        order.append(next(free, left[0]))  # in a circle, the one that is mostly first
        left.remove(order[-1])
    return order


def _sort_key(node: Node, order: Sequence[str]) -> tuple[int, Words]:
    return (order.index(node.label) if node.label in order else len(order), node.tokens)


def _sorted(trees: Iterable[Node]) -> dict[str, list[str]]:
    """Find lists whose items are always in the order of their labels, and of their tokens where labels are equal."""
    lists: dict[str, list[Node]] = defaultdict(list)
    for tree in trees:
        for node in tree.walk():
            if node.kind == "list" and len(node.children) > 1 and all(child.kind == "call" for child in node.children):
                lists[node.label].append(node)
    found = {}
    for label, nodes in lists.items():
        order = _usual_order([[child.label for child in node.children] for node in nodes])
        keys = [[_sort_key(child, order) for child in node.children] for node in nodes]
        alike = [row for row in keys if len({place for place, _ in row}) < len(row)]  # items told apart by tokens only
        in_order = sum(row == sorted(row) for row in keys)
        if in_order >= MOSTLY_SORTED * len(nodes) and len(alike) >= LISTS:
            found[label] = order
    return found


def _tag(constituent: Constituent, where: int | str | None) -> Constituent | None:
    """Find the tag among the children."""
    if where is None:
        return None
    for i, child in enumerate(constituent.children):
        if where == (child.label if child.kind == "member" else i) and not _inner(child):
            return child
    return None


def _inner(child: Constituent) -> bool:
    """Whether a child has more than a leaf below it."""
    return any(grandchild.children for grandchild in child.children) or (
        child.kind != "member" and bool(child.children)
    )


def _find_tags(trees: Iterable[Node], known: Mapping[str, int | str]) -> dict[str, int | str]:
    """Find the leaves that say most about their siblings, for each label that has one."""
    nodes: dict[str, list[Node]] = defaultdict(list)
    for tree in trees:
        for node in tree.walk():
            if len(node.children) > 1 and node.label not in known and node.label.split(" ")[0] not in known:
                nodes[node.label].append(node)
    return {label: tag for label, group in nodes.items() if (tag := _best_tag(group)) is not None}


def _best_tag(group: list[Node]) -> int | str | None:
    """Find the child whose leaf saves most bits in coding its siblings."""
    options: dict[int | str, list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
    for node in group:
        shapes = [_shape(child) for child in node.children]
        for i, child in enumerate(node.children):
            leaf = child.children[0] if child.kind == "member" and len(child.children) == 1 else child
            if leaf.is_literal and leaf.label[:1].isalpha() and (child.kind == "member" or i == 0):
                rest = (*shapes[:i], *shapes[i + 1 :])
                options[child.label if child.kind == "member" else i].append((" ".join(leaf.tokens), rest))
    best, most = None, 0.0
    for where, rows in options.items():
        values = Counter(value for value, _ in rows)
        if len(rows) < (1 - MOST_WITHOUT) * len(group) or not 1 < len(values) <= MOST_TAGS * len(rows):
            continue
        apart: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for value, rest in rows:
            apart[value][rest] += 1
        together = Counter(rest for _, rest in rows)
        saved = _bits(together, len(together)) - sum(_bits(counts, len(together)) for counts in apart.values())
        if saved > most:
            best, most = where, saved
    return best


def _shape(node: Node) -> str:
    """Describe a node by what it is and what is next below it."""
    if node.is_literal:
        return " ".join(node.tokens).lower()
    if node.kind == "member":
        return f"{node.label}:{','.join(map(_shape, node.children))}"
    return f"{node.label}({','.join('' if child.is_literal else child.label for child in node.children)})"


def _bits(counts: Counter[tuple[str, ...]], shapes: int) -> float:
    """Give the length of a code for shapes: a list of those that there are, and each by its share."""
    total = counts.total()
    listed = (math.log2(shapes + 1) + 1) * len(counts)
    return listed - sum(count * math.log2(count / total) for count in counts.values())
