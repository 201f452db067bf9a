"""Charts over inputs alone: which spans a grammar derives, and the packed forest of all derivations of an input.

With one nonterminal, a span of the input is derivable or it is not. Starts i are taken from right to left. From each,
the trie of the sources is walked rightwards over positions j in order; all walks that meet at the same node and
position become one state, with an edge for each way to come there. That keeps recognition at O(n³) edges for each
node of the trie, however many nonterminals a source has. The edges, followed back from the state where a source ends,
spell out every match and nothing else, so that unpacking costs no more than what it writes.

A forest is a hypergraph. A vertex is a span with the number of rules with a lone nonterminal as source (units) that
may still be applied there in a row; an application is a rule with a child vertex for each of its nonterminals. Each
derivation is contained once. Vertices are numbered so that children come after their parents: the goal is the first.

An input that needs more than its budget is given up: the cubic number of edges, and the number of applications of an
ambiguous grammar, stay bounded.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from csl.kernels.budget import ENTRIES, SHARE, Budget, spent
from csl.kernels.derive import Trie, edge
from csl.kernels.room import with_room

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
OffsetArray = npt.NDArray[np.int64]

UNCOVERED, COVERED, TOO_MANY, STOPPED = 0, 1, 2, 3  # status of an input; TOO_MANY, STOPPED: given up

NODE, FIRST, FOLLOWING = 0, 1, 2  # a state: trie node, first edge to it (the root has none), next end in its cell
FROM, CELL, ONTO, NEXT = 0, 1, 2, 3  # an edge: state before, span taken (−1: a terminal), trie node, next edge


class Forests(NamedTuple):
    """Packed forests of several inputs, end to end; offsets have one more entry than what they divide."""

    status: IntArray  # of each input
    vertices: OffsetArray  # input → its vertices; none unless it is COVERED
    spans: IntArray  # vertex → (start, stop, units that may still be applied)
    applications: OffsetArray  # vertex → its applications
    rules: IntArray  # application → rule
    arguments: OffsetArray  # application → its places in `children`
    children: IntArray  # vertices


@njit(cache=True, nogil=True)
def _add_edge(edges: IntArray, size: int, source: int, cell: int, onto: int, lists: IntArray, at: int) -> IntArray:
    """Write an edge and put it first on list `at`: of those that arrive at a position, or at a state."""
    edges = with_room(edges, size, 1)
    edges[size, FROM], edges[size, CELL], edges[size, ONTO], edges[size, NEXT] = source, cell, onto, lists[at]
    lists[at] = size
    return edges


@njit(cache=True, nogil=True)
def _add_state(states: IntArray, size: int, node: int) -> IntArray:
    states = with_room(states, size, 1)
    states[size, NODE], states[size, FIRST], states[size, FOLLOWING] = node, -1, -1
    return states


@njit(cache=True, nogil=True)
def _recognise(
    trie: Trie, x: IntArray, slot: IntArray, states: IntArray, edges: IntArray, budget: Budget, levels: int
) -> tuple[IntArray, IntArray, IntArray, int]:
    """Find all matches of sources in x. Symbols ≤ 0 of x match nothing.

    Returns the cells, the states, the edges and the number of items; cell i · (n + 1) + j holds the first state where a
    source that matches [i, j) ends, or −1. All that is good only if the budget is not spent. `slot` has an entry for
    each trie node, all −1, and is left that way; `states` and `edges` are what an earlier call returned, to be used
    again. `levels` tables as large as `cells` count as items. Lone nonterminals are not matched: they need a derivable
    span.
    """
    n = len(x)
    width = n + 1
    tables = width * width * levels // ENTRIES
    if spent(budget, tables):
        return np.empty(0, np.int32), states, edges, tables
    cells = np.full(width * width, -1, np.int32)
    pending = np.full(width, -1, np.int32)
    lone = edge(trie, 0, 0)
    n_states = n_edges = 0
    for i in range(n - 1, -1, -1):
        root = n_states
        states = _add_state(states, n_states, 0)
        n_states += 1
        below = edge(trie, 0, x[i]) if x[i] > 0 else -1
        if below >= 0:
            edges = _add_edge(edges, n_edges, root, -1, below, pending, i + 1)
            n_edges += 1
        for j in range(i + 1, width):
            cell = i * width + j
            first = n_states
            e = pending[j]
            pending[j] = -1
            while e >= 0:  # edges that lead to the same node meet in one state
                following, node = edges[e, NEXT], edges[e, ONTO]
                if slot[node] < 0:
                    slot[node] = n_states
                    states = _add_state(states, n_states, node)
                    if trie.head[node] >= 0:
                        states[n_states, FOLLOWING] = cells[cell]
                        cells[cell] = n_states
                    n_states += 1
                edges[e, NEXT] = states[slot[node], FIRST]
                states[slot[node], FIRST] = e
                e = following
            for s in range(first, n_states):
                slot[states[s, NODE]] = -1
            if lone >= 0 and cells[cell] >= 0:  # the span may be what a source begins with
                states = _add_state(states, n_states, lone)
                edges = _add_edge(edges, n_edges, root, cell, lone, states[:, FIRST], n_states)
                n_states += 1
                n_edges += 1
            if spent(budget, tables + n_states + n_edges):
                return cells, states, edges, tables + n_states + n_edges
            if j == n:
                continue
            for s in range(first, n_states):
                if tables + n_states + n_edges > budget.items:
                    break
                node = states[s, NODE]
                below = edge(trie, node, x[j]) if x[j] > 0 else -1
                if below >= 0:
                    edges = _add_edge(edges, n_edges, s, -1, below, pending, j + 1)
                    n_edges += 1
                below = edge(trie, node, 0)
                if below >= 0:
                    for q in range(j + 1, width):
                        if cells[j * width + q] >= 0:
                            edges = _add_edge(edges, n_edges, s, j * width + q, below, pending, q)
                            n_edges += 1
    return cells, states, edges, tables + n_states + n_edges


@njit(cache=True, nogil=True)
def given_up(budget: Budget) -> int:
    """Say why an input is given up."""
    return STOPPED if budget.stop[0] else TOO_MANY


@njit(cache=True, nogil=True)
def covered(trie: Trie, budget: Budget, values: IntArray, offsets: OffsetArray) -> IntArray:
    """Return the status of each input: whether it has a derivation, to any output."""
    out = np.zeros(len(offsets) - 1, np.int32)
    slot = np.full(len(trie.head), -1, np.int32)
    states, edges = np.empty((64, 3), np.int32), np.empty((64, 4), np.int32)
    for k in range(len(out)):
        x = values[offsets[k] : offsets[k + 1]]
        cells, states, edges, used = _recognise(trie, x, slot, states, edges, budget, 1)
        if spent(budget, used):
            out[k] = given_up(budget)
        else:
            out[k] = COVERED if cells[len(x)] >= 0 else UNCOVERED
    return out


@njit(cache=True, nogil=True)
def derivable_spans(trie: Trie, budget: Budget, x: IntArray) -> BoolArray:
    """Return a square table: whether x[i:j] has a derivation. It is empty if the budget does not suffice."""
    slot = np.full(len(trie.head), -1, np.int32)
    states, edges = np.empty((64, 3), np.int32), np.empty((64, 4), np.int32)
    cells, _, _, used = _recognise(trie, x, slot, states, edges, budget, 1)
    if spent(budget, used):
        return np.empty((0, 0), np.bool_)
    table: BoolArray = (cells >= 0).reshape(len(x) + 1, len(x) + 1)
    return table


@njit(cache=True, nogil=True)
def _apply(rules: IntArray, arguments: OffsetArray, size: int, rule: int, stop: int) -> tuple[IntArray, OffsetArray]:
    """Append an application whose children end at `stop`."""
    rules, arguments = with_room(rules, size, 1), with_room(arguments, size + 1, 1)
    rules[size] = rule
    arguments[size + 1] = stop
    return rules, arguments


@njit(cache=True, nogil=True)
def _unpack_cell(
    trie: Trie,
    states: IntArray,
    edges: IntArray,
    end: int,
    levels: int,
    path: IntArray,
    rules: IntArray,
    arguments: OffsetArray,
    children: IntArray,
    size: int,
    budget: Budget,
) -> tuple[IntArray, OffsetArray, IntArray, int]:
    """Append the applications of a cell, whose first end state is `end`, after the `size` there are.

    Children are written as cell · levels + levels − 1, to be numbered later. Stops when the budget is spent.
    """
    while end >= 0:
        depth = 0
        path[0] = states[end, FIRST]
        while depth >= 0 and not spent(budget, size + arguments[size]):
            e = path[depth]
            if e < 0:
                depth -= 1
                if depth >= 0:
                    path[depth] = edges[path[depth], NEXT]
                continue
            before = states[edges[e, FROM], FIRST]
            if before >= 0:
                depth += 1
                path[depth] = before
                continue
            rule = trie.head[states[end, NODE]]
            while rule >= 0:
                at = arguments[size]
                children = with_room(children, at, depth + 1)
                for d in range(depth, -1, -1):  # the path was walked from right to left
                    if edges[path[d], CELL] >= 0:
                        children[at] = edges[path[d], CELL] * levels + levels - 1
                        at += 1
                rules, arguments = _apply(rules, arguments, size, rule, at)
                size += 1
                rule = trie.following[rule]
            path[depth] = edges[e, NEXT]
        end = states[end, FOLLOWING]
    return rules, arguments, children, size


@njit(cache=True, nogil=True)
def forests(trie: Trie, max_units: int, budget: Budget, values: IntArray, offsets: OffsetArray) -> Forests:
    """Build the forest of each input that has a derivation with at most `max_units` units in a row.

    An input that needs more than the budget gets the status TOO_MANY or STOPPED and no vertices. The inputs behind one
    that fills the share of a batch are left to the next call: the result may be shorter than what was asked for.
    """
    n_inputs = len(offsets) - 1
    status = np.zeros(n_inputs, np.int32)
    vertices = np.zeros(n_inputs + 1, np.int64)
    spans = np.empty((256, 3), np.int32)
    applications = np.zeros(256, np.int64)
    rules = np.empty(256, np.int32)
    arguments = np.zeros(256, np.int64)
    children = np.empty(256, np.int32)
    slot = np.full(len(trie.head), -1, np.int32)
    states, edges = np.empty((64, 3), np.int32), np.empty((64, 4), np.int32)
    lone = edge(trie, 0, 0)
    units = trie.head[lone] if lone >= 0 else -1
    levels = 1 + max_units if units >= 0 else 1
    k = 0
    while k < n_inputs:
        x = values[offsets[k] : offsets[k + 1]]
        n = len(x)
        width = n + 1
        vertex = vertices[k]
        size = first = applications[vertex]
        cells, states, edges, used = _recognise(trie, x, slot, states, edges, budget, levels)
        if spent(budget, used):
            status[k] = given_up(budget)
        elif cells[n] >= 0:
            status[k] = COVERED
        if status[k] == COVERED:
            # what is written stands behind the forests of the inputs before
            rest = Budget(budget.items - used + first + arguments[first], budget.stop)
            number = np.full(width * width * levels, -2, np.int64)  # −2: not reached, −1: reached, then the vertex
            number[n * levels + levels - 1] = -1
            path = np.empty(width, np.int32)
            for key in _top_down(n, levels):
                if number[key] == -2:
                    continue
                cell, left = key // levels, key % levels
                spans = with_room(spans, vertex, 1)
                spans[vertex, 0], spans[vertex, 1], spans[vertex, 2] = cell // width, cell % width, left
                number[key] = vertex
                begin = arguments[size]
                rules, arguments, children, size = _unpack_cell(
                    trie, states, edges, cells[cell], levels, path, rules, arguments, children, size, rest
                )
                rule = units if left > 0 else -1
                while rule >= 0:
                    at = arguments[size]
                    children = with_room(children, at, 1)
                    children[at] = key - 1  # the same cell with one unit less
                    rules, arguments = _apply(rules, arguments, size, rule, at + 1)
                    size += 1
                    rule = trie.following[rule]
                for at in range(begin, arguments[size]):
                    number[children[at]] = -1
                vertex += 1
                applications = with_room(applications, vertex, 1)
                applications[vertex] = size
                if spent(rest, size + arguments[size]):
                    status[k] = given_up(budget)
                    break
            if status[k] == COVERED:
                for at in range(arguments[first], arguments[size]):
                    children[at] = number[children[at]]
            else:
                vertex, size = vertices[k], first
        k += 1
        vertices[k] = vertex
        if size + arguments[size] > budget.items // SHARE:
            break
    n_vertices, n_applications = vertices[k], applications[vertices[k]]
    return Forests(
        status[:k].copy(),
        vertices[: k + 1].copy(),
        spans[:n_vertices].copy(),
        applications[: n_vertices + 1].copy(),
        rules[:n_applications].copy(),
        arguments[: n_applications + 1].copy(),
        children[: arguments[n_applications]].copy(),
    )


@njit(cache=True, nogil=True)
def _top_down(n: int, levels: int) -> OffsetArray:
    """Order the keys cell · levels + units left so that what can be a child comes after its parents."""
    out = np.empty(n * (n + 1) // 2 * levels, np.int64)
    at = 0
    for i in range(n):
        for j in range(n, i, -1):
            for left in range(levels - 1, -1, -1):
                out[at] = (i * (n + 1) + j) * levels + left
                at += 1
    return out
