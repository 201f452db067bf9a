"""Chart parsing with an output CFG: which categories derive a string that may hold wildcards.

The chart is filled bottom-up. Start positions go from right to left, so that everything further right is complete;
end positions go upwards. From a start, partial matches walk the trie of right-hand sides: over a terminal, or over a
whole item that begins where the walk stands. When a right-hand side is complete its category becomes an item, and an
item is the first step of new walks, which closes a cell under unit productions too.

A wildcard (a negative symbol, the nonterminal index of a rule) stands for any one category. Some wildcards are
tracked: they have a slot, and each item carries the assignment of categories to the slots it covers. Two parts of a
match must agree on the slots they share; so a repeated index gets one type. A wildcard that is not tracked just holds
every category.

Cost for n symbols: at most n²·V partial matches (V nodes in the trie; times the assignments, where slots are tracked),
each extended over at most n items. On programs, where brackets leave little choice, it is close to linear.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, types
from numba.typed import Dict

from csl.kernels.cfg_trie import CompiledCfg

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
OffsetArray = npt.NDArray[np.int64]

NONE = -1
EMPTY = 0  # the assignment that says nothing
_TRIPLE = types.UniTuple(types.int64, 3)


class Assignments(NamedTuple):
    """The assignments met so far, as paths in a trie of their own, so that equal assignments are equal numbers.

    `paths[a]` is (the assignment above, slot, category); slots grow along a path. `numbers` maps the triple to a.
    """

    paths: Any
    numbers: Any


class Agenda(NamedTuple):
    """What is left to do for one start position, by end.

    An entry is (place, assignment, next entry with the same end). Its place is a node of the trie that was reached or,
    from the number of nodes on, a category that was found. `first[end]` is the first entry.
    """

    entries: Any
    first: OffsetArray


class Items(NamedTuple):
    """What was found: (end, assignment, next item with the same start and category), from `first[start, category]`."""

    entries: Any
    first: OffsetArray


@njit(cache=True, nogil=True)
def _child(cfg: CompiledCfg, node: int, symbol: int) -> int:
    """Find the node below `node` over `symbol`, or NONE."""
    low, high = (cfg.terminals[node], cfg.edges[node + 1]) if symbol > 0 else (cfg.edges[node], cfg.terminals[node])
    last = high
    while low < high:
        middle = (low + high) // 2
        if cfg.symbol[middle] < symbol:
            low = middle + 1
        else:
            high = middle
    return cfg.child[low] if low < last and cfg.symbol[low] == symbol else NONE


@njit(cache=True, nogil=True)
def _extend(assignments: Assignments, above: int, slot: int, category: int) -> int:
    """Find the assignment `above` with one more slot, which is higher than all of its own."""
    path = (np.int64(above), np.int64(slot), np.int64(category))
    if path not in assignments.numbers:
        assignments.numbers[path] = len(assignments.paths)
        assignments.paths.append(path)
    return assignments.numbers[path]  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _merge(assignments: Assignments, a: int, b: int) -> int:
    """Find the assignment that says what a and b say, or NONE if they contradict each other."""
    if b in (EMPTY, a):
        return a
    if a == EMPTY:
        return b
    n_slots = 1 + max(assignments.paths[a][1], assignments.paths[b][1])
    merged = np.full(n_slots, NONE)
    for one in (a, b):
        path = one
        while path != EMPTY:
            path, slot, category = assignments.paths[path]
            if merged[slot] not in (NONE, category):
                return NONE
            merged[slot] = category
    path = EMPTY
    for slot in range(n_slots):
        if merged[slot] != NONE:
            path = _extend(assignments, path, slot, merged[slot])
    return path


@njit(cache=True, nogil=True)
def _push(agenda: Agenda, end: int, place: int, assignment: int) -> None:
    agenda.entries.append((np.int64(place), np.int64(assignment), agenda.first[end]))
    agenda.first[end] = len(agenda.entries) - 1


@njit(cache=True, nogil=True)
def _begin(cfg: CompiledCfg, symbol: int, slot: int, start: int, agenda: Agenda, assignments: Assignments) -> None:
    """Begin the walks of a start position with its symbol: a wildcard is an item of every category."""
    if symbol < 0:
        for category in range(cfg.n_categories):
            assignment = EMPTY if slot == NONE else _extend(assignments, EMPTY, slot, category)
            _push(agenda, start + 1, len(cfg.terminals) + category, assignment)
    else:
        node = _child(cfg, 0, symbol)
        if node != NONE:
            _push(agenda, start + 1, node, EMPTY)


@njit(cache=True, nogil=True)
def _walk_on(
    cfg: CompiledCfg,
    symbols: IntArray,
    at: int,
    node: int,
    assignment: int,
    agenda: Agenda,
    items: Items,
    assignments: Assignments,
) -> None:
    """Walk on from a node that was reached at position `at`: over the items that begin there and over its symbol."""
    for edge in range(cfg.edges[node], cfg.terminals[node]):
        item = items.first[at, -1 - cfg.symbol[edge]]
        while item != NONE:
            end, other, item = items.entries[item]
            merged = _merge(assignments, assignment, other)
            if merged != NONE:
                _push(agenda, end, cfg.child[edge], merged)
    if symbols[at] > 0:
        below = _child(cfg, node, symbols[at])
        if below != NONE:
            _push(agenda, at + 1, below, assignment)


@njit(cache=True, nogil=True)
def _is_new(seen: OffsetArray, seen_tracked: Any, cell: int, place: int, assignment: int) -> Any:
    """Tell whether this place is reached with this assignment for the first time in this cell; note that it was."""
    if assignment == EMPTY:
        new = seen[place] != cell
        seen[place] = cell
        return new
    key = np.int64(place) << 32 | np.int64(assignment)
    new = key not in seen_tracked
    seen_tracked.add(key)
    return new


@njit(cache=True, nogil=True)
def _chart(cfg: CompiledCfg, symbols: IntArray, slots: IntArray) -> Any:
    """Fill the chart; return what derives the whole string as pairs (category, assignment), and the assignments."""
    n, n_nodes = len(symbols), len(cfg.terminals)
    nothing = (np.int64(EMPTY), np.int64(NONE), np.int64(NONE))
    assignments = Assignments([nothing], Dict.empty(_TRIPLE, types.int64))
    agenda = Agenda([nothing], np.full(n + 1, NONE, np.int64))
    items = Items([nothing], np.full((n, cfg.n_categories), NONE, np.int64))
    whole = [(np.int64(0), np.int64(0))]
    whole.clear()  # an empty typed list; not a comprehension, beside which numba 0.68 drops stores to agenda.first[…]
    seen, seen_tracked = np.zeros(n_nodes + cfg.n_categories, np.int64), {np.int64(0)}
    cell = 0
    for start in range(n - 1, -1, -1):
        agenda.entries.clear()
        _begin(cfg, symbols[start], slots[start], start, agenda, assignments)
        for end in range(start + 1, n + 1):
            cell += 1
            if len(seen_tracked) > 0:  # clearing an empty set is not free
                seen_tracked.clear()
            while agenda.first[end] != NONE:
                place, assignment, agenda.first[end] = agenda.entries[agenda.first[end]]
                if not _is_new(seen, seen_tracked, cell, place, assignment):
                    continue
                if place < n_nodes:
                    for k in range(cfg.ends[place], cfg.ends[place + 1]):
                        _push(agenda, end, n_nodes + cfg.lhs[k], assignment)
                    if end < n:
                        _walk_on(cfg, symbols, end, place, assignment, agenda, items, assignments)
                    continue
                category = place - n_nodes
                items.entries.append((np.int64(end), assignment, items.first[start, category]))
                items.first[start, category] = len(items.entries) - 1
                if start == 0 and end == n:
                    whole.append((category, assignment))
                node = _child(cfg, 0, -1 - category)
                if node != NONE:
                    _push(agenda, end, node, assignment)
    return whole, assignments.paths


@njit(cache=True, nogil=True)
def _repeated_slots(symbols: IntArray) -> IntArray:
    """Give each wildcard that occurs more than once a slot, numbered by first occurrence; NONE for everything else."""
    slots = np.full(len(symbols), NONE, np.int32)
    n_slots = 0
    for i, symbol in enumerate(symbols):
        if symbol < 0 and slots[i] == NONE:
            for j in range(i + 1, len(symbols)):
                if symbols[j] == symbol:
                    slots[i] = slots[j] = n_slots
            n_slots += slots[i] != NONE
    return slots


@njit(cache=True, nogil=True)
def typable(cfg: CompiledCfg, values: IntArray, offsets: OffsetArray) -> BoolArray:
    """Tell whether each of the targets `values[offsets[i]:offsets[i + 1]]` has at least one typing."""
    result = np.zeros(len(offsets) - 1, np.bool_)
    for i in range(len(result)):
        target = values[offsets[i] : offsets[i + 1]]
        result[i] = len(_chart(cfg, target, _repeated_slots(target))[0]) > 0
    return result


@njit(cache=True, nogil=True)
def accepted(cfg: CompiledCfg, values: IntArray, offsets: OffsetArray) -> BoolArray:
    """Tell whether the start symbol derives each of the targets, for some category in place of each wildcard."""
    result = np.zeros(len(offsets) - 1, np.bool_)
    for i in range(len(result)):
        target = values[offsets[i] : offsets[i + 1]]
        for category, _ in _chart(cfg, target, _repeated_slots(target))[0]:
            result[i] |= category == cfg.root
    return result


@njit(cache=True, nogil=True)
def typings(cfg: CompiledCfg, target: IntArray) -> IntArray:
    """List all typings of a target with the wildcards -1 … -k, one a row: its category, then that of each wildcard."""
    whole, paths = _chart(cfg, target, np.where(target < 0, -1 - target, NONE).astype(np.int32))
    rows = np.zeros((len(whole), 1 - min(0, target.min())), np.int32)
    for i, (category, assignment) in enumerate(whole):
        rows[i, 0] = category
        path = assignment
        while path != EMPTY:
            path, slot, child = paths[path]
            rows[i, 1 + slot] = child
    return rows
