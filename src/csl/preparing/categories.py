"""Categories of outputs: a typed output CFG made from the training outputs alone.

Each slot has a category; slots that share a filler share it. A production says what a category can be: an operator with
a category for each argument, a list of any number of items, a leaf, or a placeholder for a value. Operators that take
the same arguments to the same category have a category of their own, so that one word of the input can be one operator:
`C => ##OP ( ##D )`, `OP => state`. The keys of a record come once each, in the order that training has.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from csl.grammar import Nt, Rule
from csl.grammar.output_cfg import ROOT, Category, OutputCfg, Production
from csl.preparing.trees import ROOT as ROOT_SLOT
from csl.preparing.trees import Node, Slot
from csl.preparing.values import MOST, is_placeholder

SHARED = 0.5  # of the leaves of a slot are leaves of another, at least, if they have one category
OPERATORS = 3  # a leaf that so many operators of a kind are applied to needs no word in the input

Symbols = tuple[str | Category, ...]


@dataclass(frozen=True)
class Categories:
    """An output CFG, how often each production is used in training, and the seed rules that it suggests."""

    cfg: OutputCfg
    counts: dict[Production, int]
    seed_rules: tuple[Rule, ...]

    @classmethod
    def learn(cls, trees: Sequence[Node], orders: Mapping[str, Sequence[str]]) -> "Categories":
        """Find the categories of training outputs; records have their keys in the order given."""
        builder = _Builder(trees, orders)
        for tree in trees:
            for node in tree.walk():
                builder.add(node)
        counts = builder.factored()
        productions = sorted(counts, key=lambda p: (p.lhs != ROOT, p.lhs, -counts[p], str(p)))
        return cls(OutputCfg(productions), {p: counts[p] for p in productions}, tuple(builder.seed_rules()))

    def __str__(self) -> str:
        return "".join(f"{production}\n" for production in self.cfg.productions)


@dataclass(frozen=True)
class _Frame:
    """An operator in its place: what it makes, and its own tokens and arguments without it."""

    lhs: Category
    before: Symbols
    after: Symbols


class _Builder:
    """Collects productions."""

    def __init__(self, trees: Sequence[Node], orders: Mapping[str, Sequence[str]]) -> None:
        self._names = _names(trees)
        self._orders = orders
        self._plain: Counter[Production] = Counter()
        self._operators: dict[_Frame, Counter[str]] = defaultdict(Counter)
        self._applied: dict[tuple[_Frame, tuple[str, ...]], set[str]] = defaultdict(set)  # operators of one leaf

    def add(self, node: Node) -> None:
        """Count the productions of a node."""
        lhs = self._names[node.slot]
        if is_placeholder(node.tokens[0]):
            stem = node.tokens[0].rpartition("»")[0]
            self._plain.update(Production(lhs, (f"{stem}»{i}",)) for i in range(MOST))
        elif node.kind == "list" and (parts := _split(node)):
            self._add_list(lhs, node, *parts)
        else:
            self._add_frame(lhs, node)

    def _add_list(self, lhs: Category, node: Node, before: Symbols, joint: Symbols | None, after: Symbols) -> None:
        order = self._orders.get(node.label) if node.children[0].kind == "member" else None
        item = self._names[node.children[0].slot]
        if order is None:
            items = Category(f"{item.name}_LIST")
            rows = [(lhs, (*before, items, *after)), (items, (item,))]
            if joint is not None:
                rows.append((items, (item, *joint, items)))
        else:
            places = [Category(f"{item.name}_{i + 1}") for i in range(len(order))]
            rows = [(lhs, (*before, places[0], *after))]
            for i, place in enumerate(places):
                member = Category(f"{item.name}_{order[i]}")
                rows.append((place, (member,)))
                if i + 1 < len(places):
                    rows.append((place, (places[i + 1],)))
                    if joint is not None:
                        rows.append((place, (member, *joint, places[i + 1])))
        self._plain.update(Production(*row) for row in rows)

    def _add_frame(self, lhs: Category, node: Node) -> None:
        if node.kind == "member" and node.slot[0] in self._orders:
            lhs = Category(f"{lhs.name}_{node.label}")
        children = iter(node.children)
        rhs = tuple(self._names[next(children).slot] if token is None else token for token in node.pattern)
        own = [i for i, token in enumerate(rhs) if token == node.operator]
        if len(own) != 1 or not node.children:
            self._plain[Production(lhs, rhs)] += 1
            return
        frame = _Frame(lhs, rhs[: own[0]], rhs[own[0] + 1 :])
        self._operators[frame][node.operator] += 1
        if len(node.children) == 1 and node.children[0].is_literal and not is_placeholder(node.children[0].tokens[0]):
            self._applied[frame, node.children[0].tokens].add(node.operator)

    def factored(self) -> Counter[Production]:
        """Give all productions; operators that share a frame have a category of their own."""
        counts = self._plain.copy()
        for (frame, operators), name in zip(self._operators.items(), self._operator_names(), strict=True):
            for operator, count in operators.items():
                if name is None:
                    counts[Production(frame.lhs, (*frame.before, operator, *frame.after))] += count
                else:
                    counts[Production(frame.lhs, (*frame.before, name, *frame.after))] += count
                    counts[Production(name, (operator,))] += count
        return counts

    def _operator_names(self) -> Iterator[Category | None]:
        numbers: Counter[str] = Counter()
        for frame, operators in self._operators.items():
            if len(operators) < 2:
                yield None
            else:
                numbers[frame.lhs.name] += 1
                number = numbers[frame.lhs.name]
                yield Category(f"{frame.lhs.name}_OP{number if number > 1 else ''}")

    def seed_rules(self) -> Iterator[Rule]:
        """Give rules for operators whose argument is not said: ⟨NT_1, NT_1 ( all )⟩."""
        for (frame, leaf), operators in self._applied.items():
            if len(operators) >= OPERATORS:
                target: list[str | Nt] = []
                for symbol in (*frame.before, Nt(1), *frame.after):
                    target += leaf if isinstance(symbol, Category) else (symbol,)
                yield Rule((Nt(1),), tuple(target))


def _split(node: Node) -> tuple[Symbols, Symbols | None, Symbols] | None:
    """Give the tokens before the items of a list, between any two of them, and after; None if these differ."""
    holes = [i for i, token in enumerate(node.pattern) if token is None]
    if not holes:
        return None
    joints = {node.pattern[a + 1 : b] for a, b in pairwise(holes)}
    if len(joints) > 1:
        return None
    before, after = node.pattern[: holes[0]], node.pattern[holes[-1] + 1 :]
    return before, next(iter(joints), None), after  # type: ignore[return-value]


def _shape(node: Node) -> tuple[Hashable, ...]:
    """Say what fills a slot: a value by its type, a leaf by its tokens, an operator with its number of arguments."""
    if is_placeholder(node.tokens[0]):
        return ("value", node.tokens[0].rpartition("»")[0])
    if node.is_literal:
        return ("leaf", node.tokens)
    if node.kind == "member":
        return ("member", node.label)
    return (node.label, "*" if node.kind == "list" else len(node.children))


def _names(trees: Sequence[Node]) -> dict[Slot, Category]:
    """Join slots that share a filler, and name their categories."""
    fillers: dict[Slot, Counter[tuple[Hashable, ...]]] = defaultdict(Counter)
    for tree in trees:
        for node in tree.walk():
            fillers[node.slot][_shape(node)] += 1
    first: dict[tuple[Hashable, ...], Slot] = {}
    above: dict[Slot, Slot] = {slot: slot for slot in fillers}

    def top(slot: Slot) -> Slot:
        while above[slot] != slot:
            slot = above[slot]
        return slot

    def join(slot: Slot, other: Slot) -> None:
        above[top(slot)] = top(other)

    leaves = {slot: {shape for shape in shapes if shape[0] == "leaf"} for slot, shapes in fillers.items()}
    holders: dict[tuple[Hashable, ...], list[Slot]] = defaultdict(list)
    for slot, shapes in fillers.items():
        for shape in shapes:
            if slot == ROOT_SLOT or shape[0] == "member":
                continue
            if shape[0] != "leaf":
                join(slot, first.setdefault(shape, slot))
                continue
            for other in holders[shape]:
                if len(leaves[slot] & leaves[other]) >= SHARED * min(len(leaves[slot]), len(leaves[other])):
                    join(slot, other)
            holders[shape].append(slot)
    groups: dict[Slot, list[Slot]] = defaultdict(list)
    for slot in fillers:
        groups[top(slot)].append(slot)
    names: dict[Slot, Category] = {}
    taken: Counter[str] = Counter()
    for group in groups.values():
        name = _name(group, sum((fillers[slot] for slot in group), Counter()))
        taken[name] += 1
        category = ROOT if group == [ROOT_SLOT] else Category(name if taken[name] == 1 else f"{name}{taken[name]}")
        names |= dict.fromkeys(group, category)
    return names


def _name(group: Sequence[Slot], fillers: Counter[tuple[Hashable, ...]]) -> str:
    """Name a category after a key, or after its commonest filler."""
    keys = Counter(slot[1] for slot in group if len(slot) == 2 and slot[1] != "*")
    kind, what = fillers.most_common(1)[0][0]
    if keys:
        text = keys.most_common(1)[0][0]
    elif kind in ("value", "leaf"):
        text = " ".join(what) if isinstance(what, tuple) else str(what)
    else:
        text = str(kind)
    letters = "".join(character if character.isalnum() else "_" for character in text.upper())
    return letters.strip("_") or "C"
