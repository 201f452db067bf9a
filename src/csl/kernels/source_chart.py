"""Charts over inputs: which spans a grammar derives, and the packed forest of all derivations of an input.

With one nonterminal, a span of the input is derivable or it is not. Starts i are taken from right to left. From each,
the trie of the sources is walked rightwards over positions j in order; all walks that meet at the same node and
position become one state, with an edge for each way to come there. That keeps recognition at O(n³) edges for each
node of the trie, however many nonterminals a source has. The edges, followed back from the state where a source ends,
spell out every match and nothing else, so that unpacking costs no more than what it writes.

A forest is a hypergraph. A vertex is a span with the number of rules with a lone nonterminal as source (units) that
may still be applied there in a row; an application is a rule with a child vertex for each of its nonterminals. Each
derivation is contained once. Vertices are numbered so that children come after their parents: the goal is the first.

Where the outputs of inputs are known, rules whose target does not occur there are left out: it is still for a product
(`csl.kernels.intersection`) to keep the derivations of the output, but it meets a tenth of the others.

An input that needs more than its budget is given up: the cubic number of edges, and the number of applications of an
ambiguous grammar, stay bounded.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.kernels.budget import COVERED, ENTRIES, SHARE, UNCOVERED, Budget, given_up, spent
from csl.kernels.derive import Trie, edge
from csl.kernels.flat import Rules, copy_to, reserve
from csl.kernels.kernel import kernel
from csl.kernels.occurrence import occurs

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
OffsetArray = npt.NDArray[np.int64]

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


# building forests


class Applications(NamedTuple):
    """Applications in the making, as in `Forests`: the arrays may be longer than what is used."""

    rules: IntArray
    arguments: OffsetArray
    children: IntArray


class Vertices(NamedTuple):
    """Vertices in the making."""

    spans: IntArray
    applications: OffsetArray


@kernel
def no_applications() -> Applications:
    """Start a list of applications."""
    return Applications(np.empty(256, np.int32), np.zeros(256, np.int64), np.empty(256, np.int32))


@kernel
def no_vertices() -> Vertices:
    """Start a list of vertices."""
    return Vertices(np.empty((256, 3), np.int32), np.zeros(256, np.int64))


@kernel
def add_application(made: Applications, size: int, rule: int, children: IntArray) -> Applications:
    """Append an application after the `size` there are."""
    rules, arguments, places = made
    rules, arguments = reserve(rules, size + 1), reserve(arguments, size + 2)
    at = arguments[size]
    places = reserve(places, at + len(children))
    for t in range(len(children)):
        places[at + t] = children[t]
    rules[size], arguments[size + 1] = rule, at + len(children)
    return Applications(rules, arguments, places)


@kernel
def add_vertex(made: Vertices, vertex: int, span: IntArray, size: int) -> Vertices:
    """Append a vertex after the `vertex` there are, whose applications are the last of `size`."""
    spans, applications = reserve(made.spans, vertex + 1), reserve(made.applications, vertex + 2)
    copy_to(spans[vertex], span)
    applications[vertex + 1] = size
    return Vertices(spans, applications)


@kernel
def finished_forests(
    status: IntArray, offsets: OffsetArray, done: int, vertices: Vertices, applications: Applications
) -> Forests:
    """Copy what is used of the arrays of the first `done` inputs."""
    n_vertices = offsets[done]
    size = vertices.applications[n_vertices]
    return Forests(
        status[:done].copy(),
        offsets[: done + 1].copy(),
        vertices.spans[:n_vertices].copy(),
        vertices.applications[: n_vertices + 1].copy(),
        applications.rules[:size].copy(),
        applications.arguments[: size + 1].copy(),
        applications.children[: applications.arguments[size]].copy(),
    )


# recognition


class Outputs(NamedTuple):
    """The output of each input, and which rules may be in a derivation of it; empty arrays if any output will do."""

    rules: Rules  # whose values go on with the outputs
    offsets: OffsetArray  # the output of input k is `rules.values[offsets[k]:offsets[k + 1]]`
    fits: OffsetArray  # rule → 2 · (1 + the last input that it was looked at for) + whether it fits


@kernel
def any_output() -> Outputs:
    """Say that outputs are not known."""
    nothing, none = np.empty(0, np.int32), np.empty(0, np.int64)
    return Outputs(Rules(nothing, none, none), none, none)


@kernel
def _fits(outputs: Outputs, k: int, rule: int) -> bool:
    """Whether the target of a rule occurs in the output of input k."""
    (values, begin, middle), offsets, fits = outputs
    if len(fits) == 0:
        return True
    if fits[rule] // 2 != 1 + k:
        found = occurs(values, middle[rule], begin[rule + 1], offsets[k], offsets[k + 1])
        fits[rule] = 2 * (1 + k) + found
    return fits[rule] % 2 == 1


@kernel
def _any_fits(trie: Trie, outputs: Outputs, k: int, node: int) -> bool:
    """Whether a rule whose source ends at a node of the trie fits."""
    rule = trie.head[node]
    while rule >= 0 and not _fits(outputs, k, rule):
        rule = trie.following[rule]
    return rule >= 0


class Recognised(NamedTuple):
    """All matches of sources in an input: cell i · (n + 1) + j → first state where a source ends on [i, j), or −1."""

    cells: IntArray
    states: IntArray
    edges: IntArray
    used: int | np.int64  # items; if they are more than the budget, the rest is not complete
    outputs: Outputs
    k: int  # the input


@kernel
def _room(trie: Trie) -> tuple[IntArray, IntArray, IntArray]:
    """Make arrays for `_recognise` to work in."""
    return np.full(len(trie.head), -1, np.int32), np.empty((64, 3), np.int32), np.empty((64, 4), np.int32)


@kernel
def _add_edge(edges: IntArray, size: int, source: int, cell: int, onto: int, pending: IntArray, at: int) -> IntArray:
    """Write an edge and put it first on the list of those that arrive at a position."""
    edges = reserve(edges, size + 1)
    edges[size, FROM], edges[size, CELL], edges[size, ONTO], edges[size, NEXT] = source, cell, onto, pending[at]
    pending[at] = size
    return edges


@kernel
def _add_state(states: IntArray, size: int, node: int) -> IntArray:
    states = reserve(states, size + 1)
    states[size, NODE], states[size, FIRST], states[size, FOLLOWING] = node, -1, -1
    return states


@kernel
def _recognise(
    trie: Trie,
    x: IntArray,
    room: tuple[IntArray, IntArray, IntArray],
    budget: Budget,
    levels: int,
    outputs: Outputs,
    k: int,
) -> Recognised:
    """Find all matches of sources in x, which is input k. Symbols ≤ 0 of x match nothing.

    `room` is an array with −1 for each trie node, which is left that way, and arrays for states and edges; an earlier
    result's can be used again. `levels` tables as large as `cells` count as items. Lone nonterminals are not matched:
    they need a derivable span.
    """
    slot, states, edges = room
    n = len(x)
    width = n + 1
    tables = width * width * levels // ENTRIES
    if spent(budget, tables):
        return Recognised(np.empty(0, np.int32), states, edges, tables, outputs, k)
    cells = np.full(width * width, -1, np.int32)
    pending = np.full(width, -1, np.int32)
    n_states = n_edges = np.int64(0)
    for i in range(n - 1, -1, -1):
        root = n_states
        states = _add_state(states, n_states, np.int64(0))
        n_states += 1
        below = edge(trie, np.int64(0), x[i]) if x[i] > 0 else -1
        if below >= 0:
            edges = _add_edge(edges, n_edges, root, np.int64(-1), below, pending, i + 1)
            n_edges += 1
        for j in range(i + 1, width):
            cell = i * width + j
            first = n_states
            e = pending[j]
            pending[j] = -1
            while e >= 0:  # edges that lead to the same node meet in one state
                following, node = edges[e, NEXT], np.int64(edges[e, ONTO])
                if slot[node] < 0:
                    slot[node] = n_states
                    states = _add_state(states, n_states, node)
                    if _any_fits(trie, outputs, k, node):
                        states[n_states, FOLLOWING] = cells[cell]
                        cells[cell] = n_states
                    n_states += 1
                edges[e, NEXT] = states[slot[node], FIRST]
                states[slot[node], FIRST] = e
                e = following
            for s in range(first, n_states):
                slot[states[s, NODE]] = -1
            if trie.lone >= 0 and cells[cell] >= 0:  # the span may be what a source begins with
                states = _add_state(states, n_states, trie.lone)
                edges = _add_edge(edges, n_edges, root, cell, trie.lone, pending, j)
                states[n_states, FIRST], pending[j] = n_edges, -1
                n_states += 1
                n_edges += 1
            used = tables + n_states + n_edges
            if spent(budget, used):
                return Recognised(cells, states, edges, used, outputs, k)
            if j == n:
                continue
            for s in range(first, n_states):
                if tables + n_states + n_edges > budget.items:
                    break
                node = np.int64(states[s, NODE])
                below = edge(trie, node, x[j]) if x[j] > 0 else -1
                if below >= 0:
                    edges = _add_edge(edges, n_edges, s, np.int64(-1), below, pending, j + 1)
                    n_edges += 1
                below = edge(trie, node, np.int32(0))
                if below >= 0:
                    for q in range(j + 1, width):
                        if cells[j * width + q] >= 0:
                            edges = _add_edge(edges, n_edges, s, j * width + q, below, pending, q)
                            n_edges += 1
    return Recognised(cells, states, edges, tables + n_states + n_edges, outputs, k)


@kernel
def covered(trie: Trie, budget: Budget, values: IntArray, offsets: OffsetArray) -> IntArray:
    """Return the status of each input: whether it has a derivation, to any output."""
    out = np.zeros(len(offsets) - 1, np.int32)
    anything = any_output()
    slot, states, edges = _room(trie)
    for k in range(len(out)):
        x = values[offsets[k] : offsets[k + 1]]
        found = _recognise(trie, x, (slot, states, edges), budget, np.int64(1), anything, k)
        cells, states, edges, used = found[:4]
        if spent(budget, used):
            out[k] = given_up(budget)
        else:
            out[k] = COVERED if cells[len(x)] >= 0 else UNCOVERED
    return out


@kernel
def derivable_spans(trie: Trie, budget: Budget, x: IntArray) -> BoolArray:
    """Return a square table: whether x[i:j] has a derivation. It is empty if the budget does not suffice."""
    found = _recognise(trie, x, _room(trie), budget, np.int64(1), any_output(), np.int64(0))
    if spent(budget, found.used):
        return np.empty((0, 0), np.bool_)
    table: BoolArray = (found.cells >= 0).reshape(len(x) + 1, len(x) + 1)
    return table


# forests


@kernel
def _unpack_cell(
    trie: Trie, found: Recognised, cell: int, levels: int, work: IntArray, made: Applications, size: int, budget: Budget
) -> tuple[Applications, int]:
    """Append the applications of a cell after the `size` there are.

    Children are written as cell · levels + levels − 1, to be numbered later. Stops when the budget is spent. `work` has
    two rows that are as long as the input.
    """
    _, states, edges, _, outputs, k = found
    end = found.cells[cell]
    path, children = work[0], work[1]
    while end >= 0:
        depth = 0
        path[0] = states[end, FIRST]
        while depth >= 0 and not spent(budget, size + made.arguments[size]):
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
            n = 0
            for d in range(depth, -1, -1):  # the path was walked from right to left
                if edges[path[d], CELL] >= 0:
                    children[n] = edges[path[d], CELL] * levels + levels - 1
                    n += 1
            rule = trie.head[states[end, NODE]]
            while rule >= 0:
                if _fits(outputs, k, rule):
                    made = add_application(made, size, rule, children[:n])
                    size += 1
                rule = trie.following[rule]
            path[depth] = edges[e, NEXT]
        end = states[end, FOLLOWING]
    return made, size


@kernel
def forests(
    trie: Trie, max_units: int, budget: Budget, values: IntArray, offsets: OffsetArray, outputs: Outputs
) -> Forests:
    """Build the forest of each input that has a derivation with at most `max_units` units in a row.

    An input that needs more than the budget gets the status TOO_MANY or STOPPED and no vertices. The inputs behind one
    that fills the share of a batch are left to the next call: the result may be shorter than what was asked for.
    """
    n_inputs = len(offsets) - 1
    status, ends = np.zeros(n_inputs, np.int32), np.zeros(n_inputs + 1, np.int64)
    vertices, made = no_vertices(), no_applications()
    slot, states, edges = _room(trie)
    units = trie.head[trie.lone] if trie.lone >= 0 else -1
    levels = 1 + max_units if units >= 0 else 1
    less, span = np.empty(1, np.int32), np.empty(3, np.int32)
    k = 0
    while k < n_inputs:
        x = values[offsets[k] : offsets[k + 1]]
        n = len(x)
        width = n + 1
        vertex = ends[k]
        size = first = vertices.applications[vertex]
        found = _recognise(trie, x, (slot, states, edges), budget, levels, outputs, k)
        cells, states, edges, used = found[:4]
        if spent(budget, used):
            status[k] = given_up(budget)
        elif cells[n] >= 0:
            status[k] = COVERED
            # what is written stands behind the forests of the inputs before
            rest = Budget(budget.items - used + first + made.arguments[first], budget.stop)
            number = np.full(width * width * levels, -2, np.int64)  # −2: not reached, −1: reached, then the vertex
            number[n * levels + levels - 1] = -1
            work = np.empty((2, width), np.int32)
            for key in _top_down(n, levels):
                if number[key] == -2:
                    continue
                cell, left = key // levels, key % levels
                number[key] = vertex
                begin = made.arguments[size]
                made, size = _unpack_cell(trie, found, cell, levels, work, made, size, rest)
                rule = units if left > 0 else -1
                less[0] = key - 1  # the same cell with one unit less
                while rule >= 0:
                    if _fits(outputs, k, rule):
                        made = add_application(made, size, np.int32(rule), less)
                        size += 1
                    rule = trie.following[rule]
                for at in range(begin, made.arguments[size]):
                    number[made.children[at]] = -1
                span[0], span[1], span[2] = cell // width, cell % width, left
                vertices = add_vertex(vertices, vertex, span, size)
                vertex += 1
                if spent(rest, size + made.arguments[size]):
                    status[k] = given_up(budget)
                    break
            if status[k] == COVERED:
                for at in range(made.arguments[first], made.arguments[size]):
                    made.children[at] = number[made.children[at]]
            else:
                vertex, size = ends[k], first
        k += 1
        ends[k] = vertex
        if size + made.arguments[size] > budget.items // SHARE:
            break
    return finished_forests(status, ends, k, vertices, made)


@kernel
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
