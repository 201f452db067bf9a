"""Categories of outputs: a typed output CFG made from the training outputs alone.

Each slot has a category: what can stand there. Slots that share a filler share it; what the categories refuse is
nonsense, and new combinations are what they are for.

A production says what a category can be: an operator with a category for each argument, a list of any number of items,
a leaf, or a placeholder for a value. Operators that take the same arguments to the same category have a category of
their own, so that one word of the input can be one operator: `C => ##OP ( ##D )`, `OP => state`. The keys of a record
come once each, in the order that training has.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count as integers
from itertools import pairwise

from csl.grammar import Nt, Rule
from csl.grammar.output_cfg import ROOT, Category, OutputCfg, Production
from csl.languages.lexing import NUMBER
from csl.preparing.trees import ROOT as ROOT_SLOT
from csl.preparing.trees import Node, Slot
from csl.preparing.values import MOST, is_placeholder

SHARED = 0.5  # of the leaves of a slot are leaves of another, at least, if they have one category
OPERATORS = 3  # a leaf that so many operators of a kind are applied to needs no word in the input

Symbols = tuple[str | Category, ...]
Shape = tuple[Hashable, ...]
Fillers = Mapping[Slot, Counter[Shape]]


@dataclass(frozen=True)
class Categories:
    """An output CFG, how often each production is used in training, and the seed rules that it suggests."""

    cfg: OutputCfg
    counts: Mapping[Production, int]
    seed_rules: tuple[Rule, ...]

    @classmethod
    def learn(cls, trees: Sequence[Node], orders: Mapping[str, Sequence[str]]) -> "Categories":
        """Find the categories of training outputs; records have their keys in the order given."""
        fillers: dict[Slot, Counter[Shape]] = defaultdict(Counter)
        for tree in trees:
            for node in tree.walk():
                fillers[node.slot][_shape(node)] += 1
        groups = _sharing(fillers)
        builder = _Builder(_named(groups, fillers), orders)
        for tree in trees:
            for node in tree.walk():
                builder.add(node)
        counts = builder.productions(groups, fillers)
        productions = sorted(counts, key=lambda p: (p.lhs != ROOT, p.lhs, -counts[p], str(p)))
        cfg = OutputCfg(productions).trimmed()  # slots inside of values are filled nowhere
        return cls(cfg, {p: counts[p] for p in cfg.productions}, tuple(builder.seed_rules()))


Groups = Sequence[tuple[list[Slot], Collection[Shape]]]
"""Slots of one category, and what can fill them."""


@dataclass(frozen=True)
class _Body:
    """What a filler is made of: its own tokens and categories, and where among them its operator is, if it has one."""

    symbols: Symbols
    operator: int | None


class _Builder:
    """Collects what fillers are made of, and makes productions of it."""

    def __init__(self, names: Mapping[Slot, Category], orders: Mapping[str, Sequence[str]]) -> None:
        self._names = names
        self._orders = orders
        self._records = {(label, "*") for label in orders}  # slots of members that come in an order
        self._lists: Counter[Production] = Counter()
        self._bodies: dict[Shape, dict[_Body, None]] = defaultdict(dict)
        self._applied: dict[tuple[Symbols, Symbols, tuple[str, ...]], set[str]] = defaultdict(set)

    def add(self, node: Node) -> None:
        """Look at a node of an output."""
        body: _Body
        if is_placeholder(node.tokens[0]):
            stem = node.tokens[0].rpartition("»")[0]
            self._bodies[_shape(node)] |= {_Body((f"{stem}»{i}",), None): None for i in range(MOST)}
            return
        if node.kind == "list" and (parts := _split(node)):
            before, joint, after = parts
            items = self._items(node, joint)
            first = () if before or after else (self._names[node.children[0].slot], *(joint or ()))
            body = _Body((*before, *first, items, *after), None)  # without brackets there are two items, at least
        else:
            children = iter(node.children)
            symbols = tuple(self._category(next(children)) if token is None else token for token in node.pattern)
            own = [i for i, token in enumerate(symbols) if token == node.operator and node.kind != "member"]
            body = _Body(symbols, own[0] if len(own) == 1 and node.children else None)
            self._count_applied(node, body)
        self._bodies[_shape(node)][body] = None

    def _category(self, node: Node) -> Category:
        """Give the category of a node: that of its slot; members that come in an order have one for each key."""
        category = self._names[node.slot]
        return Category(f"{category.name}_{node.label}") if self._is_ordered(_shape(node)) else category

    def _items(self, node: Node, joint: Symbols | None) -> Category:
        """Give the category of the items of a list, with commas or whatever is between them."""
        first = node.children[0]
        item = self._names[first.slot]
        order = self._orders.get(node.label) if first.kind == "member" else None
        if order is None:
            items = Category(f"{item.name}_LIST")
            self._lists[Production(items, (item,))] += 1
            if joint is not None:
                self._lists[Production(items, (item, *joint, items))] += 1
            return items
        places = [Category(f"{item.name}_{i + 1}") for i in range(len(order))]
        for key, place, later in zip(order, places, [*places[1:], None], strict=True):
            member = Category(f"{item.name}_{key}")
            self._lists[Production(place, (member,))] += 1
            if later:
                self._lists[Production(place, (later,))] += 1
                if joint is not None:
                    self._lists[Production(place, (member, *joint, later))] += 1
        return places[0]

    def _count_applied(self, node: Node, body: _Body) -> None:
        """Remember which operators are applied to a leaf."""
        if body.operator is not None and len(node.children) == 1 and node.children[0].kind == "name":
            leaf = node.children[0].tokens
            if leaf[0][0].isalpha():  # neither a variable nor a placeholder
                before, after = body.symbols[: body.operator], body.symbols[body.operator + 1 :]
                self._applied[before, after, leaf].add(node.operator)

    def productions(self, groups: Groups, fillers: Fillers) -> Counter[Production]:
        """Give all productions with their counts; operators that share a frame have a category of their own."""
        counts = self._lists.copy()
        numbers: Counter[str] = Counter()
        for slots, shapes in groups:
            lhs = self._names[slots[0]]
            uses = sum((fillers[slot] for slot in slots), Counter())
            frames: dict[tuple[Symbols, Symbols], Counter[str]] = defaultdict(Counter)
            for shape in sorted(shapes, key=repr):
                for body in self._bodies[shape]:
                    if body.operator is None:
                        name = Category(f"{lhs.name}_{shape[2]}") if self._is_ordered(shape) else lhs
                        counts[Production(name, body.symbols)] += uses[shape]
                    else:
                        frame = body.symbols[: body.operator], body.symbols[body.operator + 1 :]
                        frames[frame][str(body.symbols[body.operator])] += uses[shape]
            for (before, after), operators in frames.items():
                if len(operators) == 1:
                    counts[Production(lhs, (*before, *operators, *after))] += operators.total()
                    continue
                numbers[lhs.name] += 1
                number = numbers[lhs.name]
                category = Category(f"{lhs.name}_OP{number if number > 1 else ''}")
                counts[Production(lhs, (*before, category, *after))] += operators.total()
                counts.update({Production(category, (operator,)): n for operator, n in operators.items()})
        return counts

    def _is_ordered(self, shape: Shape) -> bool:
        return shape[0] == "member" and shape[1] in self._records

    def seed_rules(self) -> Iterator[Rule]:
        """Give rules for operators whose argument is not said: ⟨NT_1, NT_1 ( all )⟩."""
        made: dict[Rule, None] = {}
        for (before, after, leaf), operators in self._applied.items():
            if len(operators) >= OPERATORS:
                target: list[str | Nt] = []
                for symbol in (*before, Nt(1), *after):
                    target += leaf if isinstance(symbol, Category) else (symbol,)
                made[Rule((Nt(1),), tuple(target))] = None
        yield from made


def _split(node: Node) -> tuple[Symbols, Symbols | None, Symbols] | None:
    """Give the tokens before the items of a list, between any two of them, and after; None if these differ."""
    holes = [i for i, token in enumerate(node.pattern) if token is None]
    joints = {node.pattern[a + 1 : b] for a, b in pairwise(holes)}
    if not holes or len(joints) > 1:
        return None
    before, after = node.pattern[: holes[0]], node.pattern[holes[-1] + 1 :]
    return before, next(iter(joints), None), after  # type: ignore[return-value]  # None is for children only


def _shape(node: Node) -> Shape:
    """Say what fills a slot: a value by its type, a leaf by its tokens, an operator with its number of arguments."""
    if is_placeholder(node.tokens[0]):
        return ("value", node.tokens[0].rpartition("»")[0])
    if node.is_literal:
        return ("leaf", node.tokens)
    if node.kind == "member":
        return ("member", node.slot, node.label)
    return ("list" if node.kind == "list" else len(node.children), node.label)


def _sharing(fillers: Fillers) -> Groups:
    """Join all slots that share an operator or a type of values, or many of their leaves."""
    above: dict[Slot, Slot] = {slot: slot for slot in fillers}

    def top(slot: Slot) -> Slot:
        while above[slot] != slot:
            slot = above[slot]
        return slot

    leaves = {slot: {shape for shape in shapes if shape[0] == "leaf"} for slot, shapes in fillers.items()}
    holders: dict[Shape, list[Slot]] = defaultdict(list)
    for slot, shapes in fillers.items():
        for shape in shapes if slot != ROOT_SLOT else ():
            for other in holders[shape][: None if shape[0] == "leaf" else 1]:
                common, least = leaves[slot] & leaves[other], min(len(leaves[slot]), len(leaves[other]))
                if shape[0] != "leaf" or len(common) >= SHARED * least:
                    above[top(slot)] = top(other)
            holders[shape].append(slot)
    groups: dict[Slot, list[Slot]] = defaultdict(list)
    for slot in fillers:
        groups[top(slot)].append(slot)
    made = [(group, sum((fillers[slot] for slot in group), Counter())) for group in groups.values()]
    return [(group, {*uses, *_expected(uses, made)}) for group, uses in made]


def _expected(uses: Counter[Shape], groups: Iterable[tuple[list[Slot], Counter[Shape]]]) -> Iterator[Shape]:
    """Give leaves that may fill the slots of a group as well: any number, and dotted names if one was seen only once.

    A filler that is seen once foretells others (Good and Turing); numbers always come.
    """
    kinds = {kind for shape, number in uses.items() if (kind := _kind(shape)) and (number == 1 or kind == "number")}
    return (shape for _, others in groups for shape in others if _kind(shape) in kinds)


def _kind(shape: Shape) -> str:
    """Name the kind of a leaf that any other of its kind can stand for: a number, or a name with dots in it."""
    match shape:
        case ("leaf", (str(token),)) if NUMBER.fullmatch(token):
            return "number"
        case ("leaf", (str(), ".", *_)):
            return "dotted name"
    return ""


def _named(groups: Groups, fillers: Fillers) -> dict[Slot, Category]:
    """Name categories."""
    names: dict[Slot, Category] = {ROOT_SLOT: ROOT}
    for slots, _ in groups:
        if slots != [ROOT_SLOT]:
            name, taken = _name(slots, sum((fillers[slot] for slot in slots), Counter())), set(names.values())
            numbered = (Category(f"{name}{n if n > 1 else ''}") for n in integers(1))
            names |= dict.fromkeys(slots, next(category for category in numbered if category not in taken))
    return names


def _name(slots: Sequence[Slot], fillers: Counter[Shape]) -> str:
    """Name a category after a key, or after its commonest filler."""
    keys = Counter(slot[1] for slot in slots if len(slot) == 2 and slot[1] != "*")
    _, what, *_ = fillers.most_common(1)[0][0]
    text = keys.most_common(1)[0][0] if keys else " ".join(what) if isinstance(what, tuple) else str(what)
    letters = "".join(character if character.isalnum() else "_" for character in text.upper())
    return letters.strip("_") or "C"
