"""Chart parsing with an output CFG: which categories derive a string that may hold wildcards.

A wildcard (a negative symbol, the nonterminal index of a rule) stands for any one category. An item is a category
with the stretch it derives and the categories of the wildcards inside. Starts go from right to left, so that all items
further right are complete. From a start, walks go down a trie of the right-hand sides: over a terminal, over a
wildcard, or over an item that begins where the walk stands. A new item is at once the first step of further walks,
which closes the chart under left recursion and unit productions.

Some wildcards are tracked: they have a slot. Two parts of a match must agree on the slots they share, so a repeated
index has one type. Where the question is only whether there is a typing, just the repeated wildcards are tracked.

Cost for n symbols and right-hand sides with up to c categories: at most n^(c + 1) walks for each node of the trie,
times the assignments of categories to slots. On programs, where brackets leave little choice, it is close to linear.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from csl.kernels.hashing import find_slot

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
OffsetArray = npt.NDArray[np.int64]

NONE = -1
_CATEGORY = 1 << 31  # in the key of an edge, category c is this + c; terminals are smaller

# Columns of the rows that make up items and walks. From SLOTS on: 1 + the category in each slot, 0 = not inside.
CATEGORY, END, FOLLOWING = 0, 1, 2  # an item; FOLLOWING is the next item with the same start
NODE, AT = 0, 1  # a walk: the node of the trie it has come to, and the position
SLOTS = 3


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


@njit(cache=True, nogil=True, inline="always")
def _below(cfg: CompiledCfg, node: int, symbol: int) -> int:
    """Find the node below `node` over a symbol, or NONE."""
    key = (np.uint64(node) << np.uint64(32)) | np.uint64(symbol)
    return cfg.children[find_slot(cfg.keys, cfg.children, key)]  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, inline="always")
def _with_room(rows: IntArray, used: int) -> IntArray:
    """Return the rows, or a copy twice as long if all are used."""
    if used < rows.shape[0]:
        return rows
    longer = np.empty((2 * used, rows.shape[1]), rows.dtype)
    longer[:used] = rows
    return longer


@njit(cache=True, nogil=True, inline="always")
def _push(walks: IntArray, n_walks: int, walk: IntArray, node: int, at: int) -> IntArray:
    """Put on top of the stack what comes of a walk that goes to a node and a position."""
    walks = _with_room(walks, n_walks)
    walks[n_walks] = walk
    walks[n_walks, NODE], walks[n_walks, AT] = node, at
    return walks


@njit(cache=True, nogil=True)
def _is_known(items: IntArray, item: int, category: int, walk: IntArray, n_slots: int) -> bool:
    """Tell whether a chain of items has this category with the end and the slots of the walk."""
    while item != NONE:
        if items[item, CATEGORY] == category and items[item, END] == walk[AT]:
            t = SLOTS
            while t < SLOTS + n_slots and items[item, t] == walk[t]:
                t += 1
            if t == SLOTS + n_slots:
                return True
        item = items[item, FOLLOWING]
    return False


@njit(cache=True, nogil=True)
def _agree(item: IntArray, walk: IntArray, n_slots: int) -> bool:
    """Tell whether an item and a walk have the same category in each slot that both fill."""
    t = SLOTS
    while t < SLOTS + n_slots and (item[t] == 0 or walk[t] == 0 or item[t] == walk[t]):
        t += 1
    return t == SLOTS + n_slots


@njit(cache=True, nogil=True)
def _over_wildcard(cfg: CompiledCfg, walk: IntArray, slot: int, walks: IntArray, n_walks: int) -> tuple[IntArray, int]:
    """Walk on over a wildcard, taken for each category that the trie has there."""
    k = cfg.first_edge[walk[NODE]]
    while k != NONE:
        category = cfg.category_edges[k, 0]
        if slot == NONE or walk[SLOTS + slot] in (0, 1 + category):
            walks = _push(walks, n_walks, walk, cfg.category_edges[k, 1], walk[AT] + 1)
            if slot != NONE:
                walks[n_walks, SLOTS + slot] = 1 + category
            n_walks += 1
        k = cfg.category_edges[k, 2]
    return walks, n_walks


@njit(cache=True, nogil=True)
def _over_items(
    cfg: CompiledCfg, walk: IntArray, items: IntArray, item: int, n_slots: int, walks: IntArray, n_walks: int
) -> tuple[IntArray, int]:
    """Walk on over each item of a chain that fits."""
    while item != NONE:
        below = _below(cfg, walk[NODE], _CATEGORY + items[item, CATEGORY])
        if below != NONE and _agree(items[item], walk, n_slots):
            walks = _push(walks, n_walks, walk, below, items[item, END])
            for t in range(SLOTS, SLOTS + n_slots):
                walks[n_walks, t] = max(walk[t], items[item, t])
            n_walks += 1
        item = items[item, FOLLOWING]
    return walks, n_walks


@njit(cache=True, nogil=True)
def _chart(
    cfg: CompiledCfg, target: IntArray, slots: IntArray, n_slots: int, items: IntArray, walks: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Fill the chart of a target; `slots[p]` is the slot of the wildcard at p, NONE if it is not tracked.

    `items` and `walks` are room to work in, with SLOTS + n_slots columns or more. Returns the first item of each start,
    and the two, which may have grown.
    """
    n, n_items = len(target), 0
    first = np.full(n + 1, NONE, np.int32)
    walk = np.empty_like(walks[0])
    for start in range(n - 1, -1, -1):
        walks[0, :] = 0
        walks[0, AT] = start
        n_walks = 1
        while n_walks > 0:
            n_walks -= 1
            walk[:] = walks[n_walks]
            node, at = walk[NODE], walk[AT]
            k = cfg.first_left[node]
            while k != NONE:
                category, k = cfg.left_sides[k, 0], cfg.left_sides[k, 1]
                if _is_known(items, first[start], category, walk, n_slots):
                    continue
                items = _with_room(items, n_items)
                items[n_items] = walk
                items[n_items, CATEGORY], items[n_items, FOLLOWING] = category, first[start]
                first[start] = n_items
                n_items += 1
                below = _below(cfg, 0, _CATEGORY + category)
                if below != NONE:
                    walks = _push(walks, n_walks, walk, below, at)
                    n_walks += 1
            if at == n:
                continue
            if target[at] > 0:
                below = _below(cfg, node, target[at])
                if below != NONE:
                    walks = _push(walks, n_walks, walk, below, at + 1)
                    n_walks += 1
            elif target[at] < 0:
                walks, n_walks = _over_wildcard(cfg, walk, slots[at], walks, n_walks)
            if at > start and cfg.first_edge[node] != NONE:  # items that begin at the start have begun their own walks
                walks, n_walks = _over_items(cfg, walk, items, first[at], n_slots, walks, n_walks)
    return first, items, walks


@njit(cache=True, nogil=True)
def _room(n_slots: int) -> tuple[IntArray, IntArray]:
    """Make room for items and walks with so many slots."""
    return np.empty((256, SLOTS + n_slots), np.int32), np.empty((64, SLOTS + n_slots), np.int32)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _each(cfg: CompiledCfg, values: IntArray, offsets: OffsetArray, from_root: bool) -> BoolArray:
    """Tell for each target whether any category, or the start symbol, derives it."""
    result = np.zeros(len(offsets) - 1, np.bool_)
    items, walks = _room(0)
    for i in range(len(result)):
        target = values[offsets[i] : offsets[i + 1]]
        slots = np.empty(len(target), np.int32)
        n_slots = _repeated(target, slots)
        if items.shape[1] < SLOTS + n_slots:
            items, walks = _room(n_slots)
        first, items, walks = _chart(cfg, target, slots, n_slots, items, walks)
        result[i] = len(target) == 1 and target[0] < 0  # a lone nonterminal can be of any category
        item = first[0]
        while item != NONE and not result[i]:
            result[i] = items[item, END] == len(target) and (not from_root or items[item, CATEGORY] == cfg.root)
            item = items[item, FOLLOWING]
    return result


@njit(cache=True, nogil=True)
def typable(cfg: CompiledCfg, values: IntArray, offsets: OffsetArray) -> BoolArray:
    """Tell whether each of the targets `values[offsets[i]:offsets[i + 1]]` has at least one typing."""
    return _each(cfg, values, offsets, False)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def accepted(cfg: CompiledCfg, values: IntArray, offsets: OffsetArray) -> BoolArray:
    """Tell whether the start symbol derives each of the targets, for some category in place of each wildcard."""
    return _each(cfg, values, offsets, True)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def typings(cfg: CompiledCfg, target: IntArray) -> IntArray:
    """List all typings of a target with the wildcards −1 … −k, one a row: its category, then that of each wildcard."""
    k = max(0, -target.min())
    slots = np.where(target < 0, -1 - target, NONE).astype(np.int32)
    items, walks = _room(k)
    first, items, walks = _chart(cfg, target, slots, k, items, walks)
    rows = np.empty((items.shape[0] + cfg.n_categories, 1 + k), np.int32)
    n_rows = 0
    is_lone = len(target) == 1 and target[0] < 0
    if is_lone:  # it has the type of what is put there
        for category in range(cfg.n_categories):
            rows[category, :] = category
        n_rows = cfg.n_categories
    item = first[0]
    while item != NONE:
        category = items[item, CATEGORY]
        if items[item, END] == len(target) and not (is_lone and items[item, SLOTS] == 1 + category):
            rows[n_rows, 0] = category
            rows[n_rows, 1:] = items[item, SLOTS:] - 1
            n_rows += 1
        item = items[item, FOLLOWING]
    return rows[:n_rows].copy()
