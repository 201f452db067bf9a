"""An output CFG for Lispress, read off the brackets and argument slots of training programs (appendix, "SMCalFlow-CS").

A category is what can stand between the brackets of a place. The place of an argument is its slot: what fills
`:recipient` of one function can fill `:recipient` of another. Slots of one name differ only where they share no
filler (`:constraint` of an event, of a recipient, of a time). The language's generic functions (`?=`, `refer`, …) have
no slots of their own: their arguments take the name of the place that the whole call fills. The place of a literal is
its type.

A function that occurs with several lists of arguments may also be called with others: an argument can follow those
that it followed in training. The text of a literal is any sequence of tokens seen in literals of its type. Linear in
the size of the programs.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from csl.datasets.lispress import QUOTE, Argument, Call, Literal, parse_program
from csl.grammar.output_cfg import ROOT, Category, OutputCfg, Production

SAME = frozenset({"andConstraint", "orConstraint"})
"""Generic functions whose arguments are of the type of the whole."""

GENERIC = frozenset({"?=", "?~=", "?<", "?>", "Execute", "extensionConstraint", "negate", "refer", "singleton"}) | SAME
"""Functions whose type depends on what they are applied to."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value can stand: the slot's name and the function that has it, or the type of a literal."""

    name: str
    owner: str


_PLAN = Place("plan", "")


def output_cfg(programs: Iterable[tuple[str, ...]]) -> OutputCfg:
    """Build a CFG that accepts all the programs (as tokens) and what recombines them."""
    fillers: dict[Place, set[str]] = {}
    calls: dict[tuple[Place, Call | Literal], None] = {}
    for program in programs:
        _collect(parse_program(program), _PLAN, fillers, calls)
    categories = _categories(fillers)
    productions = [Production(ROOT, ("(", categories[_PLAN], ")"))]
    shapes: dict[str, dict[tuple[Argument, ...], None]] = defaultdict(dict)
    for _, call in calls:
        if isinstance(call, Call) and call.head not in GENERIC:
            shapes[call.head][call.arguments] = None
    chains = {head: _chain(head, list(lists), categories) for head, lists in shapes.items()}
    for place, call in calls:
        productions += _productions(place, call, categories, chains)
    return OutputCfg(productions)


def _collect(
    tree: Call | Literal,
    place: Place,
    fillers: dict[Place, set[str]],
    calls: dict[tuple[Place, Call | Literal], None],
) -> None:
    """Note which functions fill which places, and each distinct call with its place."""
    if tree.head not in SAME:
        fillers.setdefault(place, set()).add(_signature(tree))
    calls[place, _shallow(tree)] = None
    if isinstance(tree, Call):
        for k, argument in enumerate(tree.arguments, start=1):
            _collect(argument.value, _place_of(tree.head, place, argument, k), fillers, calls)


def _signature(tree: Call | Literal) -> str:
    """Name the function that makes a value, and the generic functions around it: `?= NextDOW`."""
    if isinstance(tree, Call) and tree.head in GENERIC and tree.arguments:
        return f"{tree.head} {_signature(tree.arguments[0].value)}"
    return tree.head


def _shallow(tree: Call | Literal) -> Call | Literal:
    """Reduce the arguments of a call to their kind, so that calls of one form are equal."""
    if isinstance(tree, Literal):
        return tree
    return Call(tree.head, tuple(Argument(a.slot, a.marked, _kind(a.value)) for a in tree.arguments))


def _kind(value: Call | Literal) -> Call | Literal:
    return Literal(value.head, (), quoted=False) if isinstance(value, Literal) else Call("", ())


def _place_of(head: str, place: Place, argument: Argument, k: int) -> Place:
    """Return the place of the k-th argument of a call that itself fills `place`."""
    if isinstance(argument.value, Literal):
        return Place(argument.value.head, "")
    if head in SAME:
        return place
    if head in GENERIC:
        return Place(place.name, f"{place.owner} {head}")
    return Place(f"{head}.{k}" if argument.slot is None else argument.slot[1:].rstrip("0123456789"), head)


def _categories(fillers: dict[Place, set[str]]) -> dict[Place, Category]:
    """Give one category to places of one name that share a filler, directly or through others."""
    groups: dict[str, list[tuple[set[str], list[Place]]]] = defaultdict(list)
    for place, own in fillers.items():
        shared = [group for group in groups[place.name] if group[0] & own]
        apart = [group for group in groups[place.name] if not group[0] & own]
        merged = (own.union(*(f for f, _ in shared)), [*(p for _, places in shared for p in places), place])
        groups[place.name] = [*apart, merged]
    seen = {place: i for i, place in enumerate(fillers)}
    categories = {}
    for name, classes in groups.items():
        for i, places in enumerate(sorted(([seen[p] for p in places] for _, places in classes), key=min), start=1):
            categories.update({k: Category(name if i == 1 else f"{name}_{i}") for k in places})
    return {place: categories[k] for place, k in seen.items()}


_Step = tuple[str | Category, ...]  # one argument: `:slot # ( category )`


@dataclass(frozen=True, slots=True)
class _Chain:
    """How a function takes its arguments: productions of its own, and what a place that it fills expands to."""

    productions: tuple[Production, ...]
    wholes: tuple[_Step, ...]


def _chain(head: str, lists: Sequence[tuple[Argument, ...]], categories: dict[Place, Category]) -> _Chain:
    """Turn the lists of arguments of a function into productions.

    One list is one right-hand side. Of several, each call that can go on (`Constraint[Event] :attendees ( … )`) is a
    category, named after its last argument; it grows by one argument at a time.
    """
    steps = [
        [(_step_name(head, a, k), _step(a, categories[_place_of(head, _PLAN, a, k)])) for k, a in enumerate(args, 1)]
        for args in lists
    ]
    if len(lists) == 1:
        return _Chain((), ((head, *(symbol for _, step in steps[0] for symbol in step)),))
    edges: dict[tuple[str | Category, str, _Step], None] = {}
    for arguments in steps:
        so_far: str | Category = head
        for name, step in arguments:
            edges[so_far, name, step] = None
            so_far = Category(name)
    continued = {name for arguments in steps for name, _ in arguments[:-1]}
    final = {name for arguments in steps for name, _ in arguments[-1:]}
    wholes = [(before, *step) for before, name, step in edges if name in final]
    if () in lists:
        wholes.append((head,))
    prefixes = (Production(Category(name), (before, *step)) for before, name, step in edges if name in continued)
    return _Chain(tuple(prefixes), tuple(wholes))


def _step_name(head: str, argument: Argument, k: int) -> str:
    return f"{head}:{k}" if argument.slot is None else head + argument.slot


def _step(argument: Argument, category: Category) -> _Step:
    slot = () if argument.slot is None else (argument.slot,)
    return (*slot, *(["#"] if argument.marked else []), "(", category, ")")


def _productions(
    place: Place, call: Call | Literal, categories: dict[Place, Category], chains: dict[str, _Chain]
) -> list[Production]:
    lhs = categories[place]
    if isinstance(call, Literal):
        text = Category(f"{call.head}Text")
        rhs = (call.head, QUOTE, text, QUOTE) if call.quoted else (call.head, text)
        forms: list[tuple[str | Category, ...]] = [(token,) for token in call.tokens]
        if call.quoted:
            forms += [(token, text) for token in call.tokens]
        return [Production(lhs, rhs), *(Production(text, form) for form in forms)]
    if call.head in GENERIC:
        steps = (_step(a, categories[_place_of(call.head, place, a, k)]) for k, a in enumerate(call.arguments, 1))
        return [Production(lhs, (call.head, *(symbol for step in steps for symbol in step)))]
    chain = chains[call.head]
    return [*chain.productions, *(Production(lhs, whole) for whole in chain.wholes)]
