"""Chart parsing with an output CFG: which categories derive a string that may hold wildcards.

A wildcard (a negative symbol, the nonterminal index of a rule) stands for any one category. An item is a category
with the span it derives and the categories of the wildcards inside. Starts go from right to left, so that all items
further right are complete. From a start, walks go down a trie of the right-hand sides: over a terminal, over a
wildcard, or over an item that begins where the walk stands. A new item is at once the first step of further walks,
which closes the chart under left recursion and unit productions.

Some wildcards are tracked: they have a slot. Two parts of a match must agree on the slots they share, so a repeated
index has one type. Where the question is only whether there is a typing, just the repeated wildcards are tracked.

Cost for n symbols: at most n²·V steps (V nodes in the trie; times the assignments, where slots are tracked), each over
at most n items. On programs, where brackets leave little choice, it is close to linear.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.errors import InputError
from csl.kernels.budget import COVERED, ITEMS, TOO_MANY, Budget, untimed
from csl.kernels.flat import copy_to, reserve
from csl.kernels.hashing import find_slot
from csl.kernels.kernel import kernel

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
OffsetArray = npt.NDArray[np.int64]

NONE = -1
_CATEGORY = np.int64(1 << 31)  # in the key of an edge, category c is this + c; terminals are smaller

# Columns of an agenda's rows and of items. From SLOTS on: 1 + the category in each slot, 0 = not inside.
PLACE, AT, FOLLOWING, SLOTS = 0, 1, 2, 3


class Room(NamedTuple):
    """Arrays to work in, reused from target to target."""

    items: IntArray  # (category, end, next item with the same start, slots …)
    agenda: IntArray  # of a start: (node, or number of nodes + category; position; next with the same two; slots …)
    newest: IntArray


class CompiledCfg(NamedTuple):
    """A CFG with categories 0, 1, …, as a trie of its right-hand sides; node 0 is the top.

    Chains run through `category_edges` and `left_sides`: row k holds, last, the number of the next row, or NONE.
    """

    keys: npt.NDArray[np.uint64]  # hash table of all edges: node · 2³² + symbol …
    children: IntArray  # … → the node below
    first_edge: IntArray  # node → its first row in category_edges
    category_edges: IntArray  # (category, node below, next)
    first_left: IntArray  # node → its first row in left_sides
    left_sides: IntArray  # (category of a production that ends at the node, next)
    root: int
    n_categories: int


def compile_cfg(productions: Sequence[tuple[int, Sequence[int]]], n_categories: int, root: int) -> CompiledCfg:
    """Compile productions (left-hand category, right-hand symbols: a terminal id ≥ 1, or category c as −1 − c)."""
    child: dict[tuple[int, int], int] = {}
    ends = []
    for category, symbols in productions:
        node = 0
        for symbol in symbols:
            node = child.setdefault((node, symbol), len(child) + 1)
        ends.append((node, category))
    size = 16
    while size < 2 * len(child):
        size *= 2
    keys, children = np.zeros(size, np.uint64), np.full(size, NONE, np.int32)
    first_edge, category_edges = np.full(len(child) + 1, NONE, np.int32), np.empty((len(child), 3), np.int32)
    for k, ((node, symbol), below) in enumerate(child.items()):
        key = np.uint64(node << 32 | (symbol if symbol > 0 else _CATEGORY - 1 - symbol))
        slot = find_slot(keys, children, key)
        keys[slot], children[slot] = key, below
        if symbol < 0:
            category_edges[k] = (-1 - symbol, below, first_edge[node])
            first_edge[node] = k
    first_left, left_sides = np.full(len(child) + 1, NONE, np.int32), np.empty((len(ends), 2), np.int32)
    for k, (node, category) in enumerate(ends):
        left_sides[k] = (category, first_left[node])
        first_left[node] = k
    return CompiledCfg(keys, children, first_edge, category_edges, first_left, left_sides, root, n_categories)


@kernel
def _below(cfg: CompiledCfg, node: int, symbol: int) -> int:
    """Find the node below `node` over a symbol, or NONE."""
    key = (np.uint64(node) << np.uint64(32)) | np.uint64(symbol)
    return cfg.children[find_slot(cfg.keys, cfg.children, key)]


@kernel
def _add(agenda: IntArray, size: int, newest: IntArray, place: int, at: int, slots: IntArray) -> tuple[IntArray, int]:
    """Put a place on the agenda, unless it was reached with these slots before.

    `newest[at, place]` is the row that reached it last, the first of a chain. The table is never cleared: an entry
    counts only if the row that it names says the same.
    """
    row = newest[at, place]
    chain = row if row < size and agenda[row, PLACE] == place and agenda[row, AT] == at else NONE
    row = chain
    while row != NONE:
        t = 0
        while t < len(slots) and agenda[row, SLOTS + t] == slots[t]:
            t += 1
        if t == len(slots):
            return agenda, size
        row = agenda[row, FOLLOWING]
    agenda = reserve(agenda, size + 1)
    agenda[size, PLACE], agenda[size, AT], agenda[size, FOLLOWING] = place, at, chain
    for t in range(len(slots)):
        agenda[size, SLOTS + t] = slots[t]
    newest[at, place] = size
    return agenda, size + 1


@kernel
def _over_wildcard(
    cfg: CompiledCfg, node: int, at: int, slots: IntArray, slot: int, agenda: IntArray, size: int, newest: IntArray
) -> tuple[IntArray, int]:
    """Walk on over a wildcard, taken for each category that the trie has there."""
    before = 0 if slot == NONE else slots[slot]
    k = cfg.first_edge[node]
    while k != NONE:
        category = cfg.category_edges[k, 0]
        if before in (0, 1 + category):
            if slot != NONE:
                slots[slot] = 1 + category
            agenda, size = _add(agenda, size, newest, cfg.category_edges[k, 1], at + 1, slots)
        k = cfg.category_edges[k, 2]
    if slot != NONE:
        slots[slot] = before
    return agenda, size


@kernel
def _over_items(
    cfg: CompiledCfg,
    node: int,
    slots: IntArray,
    items: IntArray,
    item: int,
    agenda: IntArray,
    size: int,
    newest: IntArray,
) -> tuple[IntArray, int]:
    """Walk on over each item of a chain, if the trie has its category there and it agrees on the slots."""
    both = np.empty_like(slots)
    while item != NONE:
        below = _below(cfg, node, _CATEGORY + items[item, PLACE])
        t = 0
        while below != NONE and t < len(slots):
            inside = items[item, SLOTS + t]
            if inside != 0 and slots[t] != 0 and inside != slots[t]:
                below = NONE
            both[t] = max(inside, slots[t])
            t += 1
        if below != NONE:
            agenda, size = _add(agenda, size, newest, below, items[item, AT], both)
        item = items[item, FOLLOWING]
    return agenda, size


@kernel
def _chart(
    cfg: CompiledCfg, target: IntArray, slot_of: IntArray, n_slots: int, room: Room, budget: Budget
) -> tuple[IntArray, Room, bool]:
    """Fill the chart of a target; `slot_of[p]` is the slot of the wildcard at p, NONE if it is not tracked.

    Returns the first item of each start; the room, which may have grown; and whether the chart is complete.
    """
    n, n_nodes, n_items = len(target), len(cfg.first_edge), 0
    first = np.full(n + 1, NONE, np.int32)
    slots = np.zeros(n_slots, np.int32)
    items, agenda, newest = room
    for start in range(n - 1, -1, -1):
        slots[:] = 0
        agenda, size = _add(agenda, 0, newest, 0, start, slots)
        done = 0
        while done < size:
            if n_items + size > budget.items:
                return first, Room(items, agenda, newest), False
            place, at = agenda[done, PLACE], agenda[done, AT]
            for t in range(n_slots):
                slots[t] = agenda[done, SLOTS + t]
            done += 1
            if place >= n_nodes:
                category = place - n_nodes
                items = reserve(items, n_items + 1)
                copy_to(items[n_items], agenda[done - 1])
                items[n_items, PLACE], items[n_items, FOLLOWING] = category, first[start]
                first[start] = n_items
                n_items += 1
                below = _below(cfg, 0, _CATEGORY + category)
                if below != NONE:
                    agenda, size = _add(agenda, size, newest, below, at, slots)
                continue
            k = cfg.first_left[place]
            while k != NONE:
                agenda, size = _add(agenda, size, newest, n_nodes + cfg.left_sides[k, 0], at, slots)
                k = cfg.left_sides[k, 1]
            if at == n:
                continue
            if target[at] > 0:
                below = _below(cfg, place, target[at])
                if below != NONE:
                    agenda, size = _add(agenda, size, newest, below, at + 1, slots)
            if cfg.first_edge[place] == NONE:
                continue
            if target[at] < 0:
                agenda, size = _over_wildcard(cfg, place, at, slots, slot_of[at], agenda, size, newest)
            if at > start:  # items that begin at the start begin walks of their own when they are found
                agenda, size = _over_items(cfg, place, slots, items, first[at], agenda, size, newest)
    return first, Room(items, agenda, newest), True


@kernel
def _room(cfg: CompiledCfg, n_slots: int, longest: int) -> Room:
    """Make room for targets up to a length with so many slots."""
    n_places = len(cfg.first_edge) + cfg.n_categories
    return Room(
        np.empty((256, SLOTS + n_slots), np.int32),
        np.empty((256, SLOTS + n_slots), np.int32),
        np.zeros((longest + 1, n_places), np.int32),
    )


@kernel
def _repeated(target: IntArray, slots: IntArray) -> int:
    """Give each wildcard that occurs more than once a slot; return the number of slots."""
    n_slots = 0
    slots[:] = NONE
    for i, symbol in enumerate(target):
        if symbol < 0 and slots[i] == NONE:
            for j in range(i + 1, len(target)):
                if target[j] == symbol:
                    slots[i] = slots[j] = n_slots
            n_slots += slots[i] != NONE
    return n_slots


@kernel
def parse_each(cfg: CompiledCfg, values: IntArray, offsets: OffsetArray, from_root: bool, budget: Budget) -> IntArray:
    """Return the status of each target: whether any category, or the start symbol, derives it."""
    status = np.zeros(len(offsets) - 1, np.int32)
    longest = np.int64(0)
    for i in range(len(status)):
        longest = max(longest, offsets[i + 1] - offsets[i])
    room = _room(cfg, np.int64(0), longest)
    for i in range(len(status)):
        target = values[offsets[i] : offsets[i + 1]]
        slots = np.empty(len(target), np.int32)
        n_slots = _repeated(target, slots)
        if room.items.shape[1] < SLOTS + n_slots:
            room = _room(cfg, n_slots, room.newest.shape[0])
        first, room, complete = _chart(cfg, target, slots, n_slots, room, budget)
        found = len(target) == 1 and target[0] < 0  # a lone nonterminal can be of any category
        item = first[0] if complete else NONE
        while item != NONE and not found:
            whole = room.items[item, AT] == len(target)
            found = whole and (not from_root or room.items[item, PLACE] == cfg.root)
            item = room.items[item, FOLLOWING]
        status[i] = COVERED if found else status[i] if complete else TOO_MANY
    return status


@kernel
def list_typings(cfg: CompiledCfg, target: IntArray, budget: Budget) -> tuple[IntArray, bool]:
    """List typings; tell whether these are all."""
    k, slots = np.int64(0), np.empty(len(target), np.int32)
    for p in range(len(target)):
        k = max(k, -target[p])
        slots[p] = -1 - target[p] if target[p] < 0 else NONE
    first, room, complete = _chart(cfg, target, slots, k, _room(cfg, k, len(target)), budget)
    items = room.items
    rows = np.empty((items.shape[0] + cfg.n_categories, 1 + k), np.int32)
    n_rows = 0
    is_lone = len(target) == 1 and target[0] < 0
    if is_lone:  # it has the type of what is put there
        for category in range(cfg.n_categories):
            rows[category, :] = category
        n_rows = cfg.n_categories
    item = first[0] if complete else NONE
    while item != NONE:
        category = items[item, PLACE]
        if items[item, AT] == len(target) and not (is_lone and items[item, SLOTS] == 1 + category):
            rows[n_rows, 0] = category
            for t in range(k):
                rows[n_rows, 1 + t] = items[item, SLOTS + t] - 1
            n_rows += 1
        item = items[item, FOLLOWING]
    return rows[:n_rows].copy(), complete


def _check_complete(complete: bool) -> None:
    if not complete:
        raise InputError(f"the output CFG is too ambiguous: the chart of a target has over {ITEMS:,} items")


def typable(cfg: CompiledCfg, values: IntArray, offsets: OffsetArray) -> BoolArray:
    """Tell whether each of the targets `values[offsets[i]:offsets[i + 1]]` has at least one typing."""
    return _covered(parse_each(cfg, values, offsets, False, untimed()))


def accepted(cfg: CompiledCfg, values: IntArray, offsets: OffsetArray) -> BoolArray:
    """Tell whether the start symbol derives each of the targets, for some category in place of each wildcard."""
    return _covered(parse_each(cfg, values, offsets, True, untimed()))


def _covered(status: IntArray) -> BoolArray:
    _check_complete(bool((status <= COVERED).all()))
    covered: BoolArray = status == COVERED
    return covered


def typings(cfg: CompiledCfg, target: IntArray) -> IntArray:
    """List all typings of a target with the wildcards −1 … −k, one a row: its category, then that of each wildcard."""
    rows, complete = list_typings(cfg, target, untimed())
    _check_complete(complete)
    return rows
