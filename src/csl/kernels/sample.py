"""Drawing derivations: exactly from p(z | valid, depth), or one rule at a time from p(r | context).

Mass tables tell how probable it is to finish within d levels, and rows in how many it can be done, so that every draw
can be finished: nothing is rejected. Draw number i depends only on the seed and on i; so draws can be made in any
order, on any number of threads.

A derivation of d levels can have exponentially many rules. One that has more leaves than an input may have tokens is
broken off: it is too long in any case, and `expand` leaves it empty.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.kernels.flat import SOURCE, TARGET, arity_of, bounds, copy_to, reserve
from csl.kernels.hashing import mix, sequence_hash
from csl.kernels.kernel import compiled, kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


WITHIN, EXACT = 0, 1  # masses of finishing within d levels, and in exactly d levels


class Tables(NamedTuple):
    """Masses by mode (WITHIN, EXACT) and levels d = 0 … D, and the automaton they belong to (csl.sampling.automaton).

    Transitions are sorted by the kind they make and then by rule; those of one kind and rule are a pair.
    """

    context: Floats  # p(s | context)
    state: Floats  # [mode, d, s, kind]: mass of a kind in a state
    reach: Floats  # [mode, d, context, kind]: mass of a kind in a context
    pair_cdf: Floats  # [mode, d, s, pair]: cumulated within its kind
    cdf: Floats  # [mode, d, transition]: the mass of the children, cumulated within its pair
    kinds: Ints  # kind → its pairs (offsets)
    pairs: Ints  # pair → its transitions (offsets)
    rule: Ints  # pair → rule
    goal: npt.NDArray[np.bool_]
    arguments: Ints
    classes: Ints
    class_context: Ints
    members: Ints
    kind: Ints


@kernel
def cumulated(weights, offsets):
    """Cumulate within groups."""
    out = np.empty(len(weights))
    for g in range(len(offsets) - 1):
        total = 0.0
        for i in range(offsets[g], offsets[g + 1]):
            total += weights[i]
            out[i] = total
    return out


@kernel
def child_products(arguments, classes, within, exact, before, d):
    """Return, by mode, the mass of the children of each transition whose parent has d levels.

    `within` and `exact` are the masses of classes for d − 1 levels, `before` those within d − 2. In exactly d levels
    some child is the first that has exactly d − 1: those before it have fewer, those after it no more.
    """
    out = np.zeros((2, len(arguments) - 1))
    for t in range(len(arguments) - 1):
        first, last = arguments[t], arguments[t + 1]
        product = 1.0
        for p in range(first, last):
            product *= within[classes[p]]
        out[WITHIN, t] = product
        if first == last:
            out[EXACT, t] = 1.0 if d == 1 else 0.0
        fewer = 1.0
        for p in range(first, last):
            rest = 1.0
            for q in range(p + 1, last):
                rest *= within[classes[q]]
            out[EXACT, t] += fewer * exact[classes[p]] * rest
            fewer *= before[classes[p]]
    return out


@kernel
def _uniform(state):
    """Advance a generator (splitmix64) held in state[0]; return a number in [0, 1)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return np.float64(mix(np.int64(state[0])) >> np.uint64(11)) * (1.0 / (1 << 53))


@kernel
def start_generator(seed, number):
    """Return the generator of draw `number`."""
    return np.array([mix(np.int64(mix(seed)) ^ np.int64(number))], np.uint64)


@kernel
def _pick(weights, n, generator):
    """Draw an index below n in proportion to the weights."""
    total = 0.0
    for i in range(n):
        total += weights[i]
    u = _uniform(generator) * total
    last = 0
    for i in range(n):
        if weights[i] > 0:
            last = i
            u -= weights[i]
            if u < 0:
                return i
    return last


@kernel
def _search(cdf, start, stop, generator):
    """Draw an index in [start, stop) in proportion to the steps of cumulated weights."""
    u = _uniform(generator) * cdf[stop - 1]
    low, high = start, stop - 1
    while low < high:
        half = (low + high) // 2
        if cdf[half] > u:
            high = half
        else:
            low = half + 1
    return low


@kernel
def _class_mass(tables, mode, d, c):
    """Return the mass of a class."""
    total = 0.0
    for p in range(tables.members[c], tables.members[c + 1]):
        total += tables.reach[mode, d, tables.class_context[c], tables.kind[p]]
    return total


@kernel
def _pick_kind(tables, c, mode, d, weights, generator):
    """Draw the kind of a child of class c."""
    first = tables.members[c]
    n = tables.members[c + 1] - first
    for i in range(n):
        weights[i] = tables.reach[mode, d, tables.class_context[c], tables.kind[first + i]]
    return tables.kind[first + _pick(weights, n, generator)]


@kernel
def _pick_transition(tables, context, kind, mode, d, weights, generator):
    """Draw the state and then the transition of a node; return pair and transition."""
    states = tables.context.shape[1]
    for s in range(states):
        weights[s] = tables.state[mode, d, s, kind] * tables.context[context, s]
    s = _pick(weights, states, generator)
    pair = _search(tables.pair_cdf[mode, d, s], tables.kinds[kind], tables.kinds[kind + 1], generator)
    return pair, _search(tables.cdf[mode, d], tables.pairs[pair], tables.pairs[pair + 1], generator)


@kernel
def _pick_deep(tables, first, last, d, weights, generator):
    """Draw which child of a node with exactly d levels is the first with exactly d − 1; `last` if the node has none."""
    fewer = 1.0
    for p in range(first, last):
        rest = 1.0
        for q in range(p + 1, last):
            rest *= _class_mass(tables, np.int64(WITHIN), d - 1, tables.classes[q])
        weights[p - first] = fewer * _class_mass(tables, np.int64(EXACT), d - 1, tables.classes[p]) * rest
        fewer *= _class_mass(tables, np.int64(WITHIN), d - 2, tables.classes[p]) if d > 1 else 0.0
    return first + _pick(weights, last - first, generator) if first < last else last


@kernel
def _start(tables, depth, least, even, weights, generator):
    """Draw the mode, the levels and the kind of the top; `even`: each number of levels is as likely as any other."""
    mode, d = WITHIN, depth
    if least > 1 or even:
        mode = EXACT
        for i in range(least, depth + 1):
            weights[i - least] = 0.0
            for q in range(len(tables.goal)):
                if tables.goal[q]:
                    weights[i - least] += tables.reach[EXACT, i, 0, q]
            if even and weights[i - least] > 0:
                weights[i - least] = 1.0
        d = least + _pick(weights, depth + 1 - least, generator)
    for q in range(len(tables.goal)):
        weights[q] = tables.reach[mode, d, 0, q] if tables.goal[q] else 0.0
    return mode, d, _pick(weights, len(tables.goal), generator)


@compiled()
def draw(tables, depth, least, even, seed, start, count, longest):
    """Draw derivations number start … start + count − 1 from p(z | valid, least ≤ levels ≤ depth).

    With `even` the number of levels is drawn first, each alike, and then from p(z | valid, levels). Returns their rules
    in preorder, end to end, and the offsets. Those with more than `longest` leaves are not finished.
    """
    offsets = np.zeros(count + 1, np.int64)
    out = np.empty(max(1024, 8 * count), np.int32)
    widest = 1
    for t in range(len(tables.arguments) - 1):
        widest = max(widest, tables.arguments[t + 1] - tables.arguments[t])
    weights = np.empty(max(tables.context.shape[1], len(tables.goal), depth + 1, widest))
    stack = np.empty((256, 4), np.int64)  # context, kind, mode, levels
    size = 0
    for i in range(count):
        generator = start_generator(seed, start + i)
        mode, d, kind = _start(tables, depth, least, even, weights, generator)
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, kind, mode, d
        top, leaves = 1, 0
        while top > 0 and leaves <= longest:
            top -= 1
            mode, d = stack[top, 2], stack[top, 3]
            pair, t = _pick_transition(tables, stack[top, 0], stack[top, 1], mode, d, weights, generator)
            out = reserve(out, size + 1)
            out[size] = tables.rule[pair]
            size += 1
            first, last = tables.arguments[t], tables.arguments[t + 1]
            leaves += first == last
            stack = reserve(stack, top + last - first)
            deep = _pick_deep(tables, first, last, d, weights, generator) if mode == EXACT else -1
            for p in range(first, last):  # the first child goes on top
                c, place = tables.classes[p], top + (last - 1 - p)
                inner, levels = EXACT if p == deep else WITHIN, d - 2 if p < deep else d - 1
                stack[place, 0] = tables.class_context[c]
                stack[place, 1] = _pick_kind(tables, c, inner, levels, weights, generator)
                stack[place, 2], stack[place, 3] = inner, levels
            top += last - first
        offsets[i + 1] = size
    return out[:size].copy(), offsets


class Local(NamedTuple):
    """What applies at a category, for choices made one rule at a time: rows (typings) sorted by category and rule."""

    categories: Ints  # category → its rules (offsets)
    rows: Ints  # rule of a category → its rows (offsets)
    rule: Ints  # rule of a category → rule
    category: Ints  # of rows
    children: Ints  # [row, place]: category
    levels: Ints  # row → fewest levels in which it can be finished
    contexts: Ints  # rule → its first context
    arity: Ints  # of rules
    root: int
    p: Floats  # [context, rule]: p(r | context); of shape (0, 0): all rules alike


@kernel
def _choices(local, context, wanted, d, least, used, room):
    """List the rules that can still be finished as one of the `wanted` categories, with weights; return how many."""
    choice, weights, seen = room
    n = 0
    for c in wanted:
        for g in range(local.categories[c], local.categories[c + 1]):
            r = local.rule[g]
            if seen[r] or (least > 1 and local.arity[r] == 0):
                continue
            for row in range(local.rows[g], local.rows[g + 1]):
                seen[r] = seen[r] or local.levels[row] <= d
            if seen[r]:
                choice[n] = r
                weights[n] = local.p[context, r] if local.p.shape[0] > 0 else 1.0
                if used.shape[0] > 0:
                    weights[n] = 1.0 / (1.0 + used[context, r]) ** 2
                n += 1
    for i in range(n):
        seen[choice[i]] = False
    return n


@kernel
def _open_rows(local, r, wanted, d, rows, end):
    """Put the rows of rule r that can be finished as one of the `wanted` categories at the end of `rows`."""
    for c in wanted:
        first, last = local.categories[c], local.categories[c + 1]
        g = first + np.searchsorted(local.rule[first:last], r)
        if g < last and local.rule[g] == r:
            rows = reserve(rows, end + local.rows[g + 1] - local.rows[g])
            for row in range(local.rows[g], local.rows[g + 1]):
                if local.levels[row] <= d:
                    rows[end] = row
                    end += 1
    return rows, end


@kernel
def _distinct(values, marked, out):
    """Write the distinct values to `out`; return how many."""
    n = 0
    for value in values:
        if not marked[value]:
            marked[value] = True
            out[n] = value
            n += 1
    for i in range(n):
        marked[out[i]] = False
    return n


@kernel
def _keep_fitting(local, rows, place, kind, marked):
    """Move the rows whose child at a place is of one of the categories `kind` to the front; return how many."""
    for c in kind:
        marked[c] = True
    n = 0
    for row in rows:
        if marked[local.children[row, place]]:
            rows[n] = row
            n += 1
    for c in kind:
        marked[c] = False
    return n


@compiled()
def draw_local(local, depth, least, seed, start, count, used, longest):
    """Draw derivations rule by rule, from the top and from left to right, from p(r | context).

    The choices are the rules with which the derivation can still be finished: within the depth and, with an output CFG,
    as a valid output. A node's rows are those of its rule that fit what is drawn so far; what its next child can be
    follows from them, and when a child is finished, those that do not fit it go.

    With `used` not of shape (0, 0), `used[context, rule]` counts uses: choices are in proportion to 1 / (1 + uses)²,
    and the counts grow with every draw. With `least` = 2 the rule at the top has nonterminals. Returns rules in
    preorder, end to end, and the offsets. Derivations with more than `longest` leaves are not finished.
    """
    offsets = np.zeros(count + 1, np.int64)
    out = np.empty(max(1024, 8 * count), np.int32)
    n_rules, n_categories = len(local.arity), len(local.categories) - 1
    room = np.empty(n_rules, np.int64), np.empty(n_rules), np.zeros(n_rules, np.bool_)
    wanted, marked = np.empty(n_categories, np.int64), np.zeros(n_categories, np.bool_)
    rows = np.empty(256, np.int64)  # of all open nodes
    stack = np.empty((64, 4), np.int64)  # of open nodes: rule, the next child, where their rows begin and end
    size = 0
    for i in range(count):
        generator = start_generator(seed, start + i)
        wanted[0], n_wanted, context, top, leaves = local.root, 1, 0, 0, 0
        while leaves <= longest:
            d = depth - top
            n = _choices(local, context, wanted[:n_wanted], d, least if top == 0 else 1, used, room)
            r = room[0][_pick(room[1], n, generator)]
            if used.shape[0] > 0:
                used[context, r] += 1.0
            out = reserve(out, size + 1)
            out[size] = r
            size += 1
            leaves += local.arity[r] == 0
            stack = reserve(stack, top + 1)
            begin = stack[top - 1, 3] if top > 0 else 0
            rows, end = _open_rows(local, r, wanted[:n_wanted], d, rows, begin)
            stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = r, 0, begin, end
            top += 1
            while top > 0 and stack[top - 1, 1] == local.arity[stack[top - 1, 0]]:  # finished
                top -= 1
                n_wanted = _distinct(local.category[rows[stack[top, 2] : stack[top, 3]]], marked, wanted)
                if top > 0:
                    place, begin, end = stack[top - 1, 1], stack[top - 1, 2], stack[top - 1, 3]
                    stack[top - 1, 3] = begin + _keep_fitting(local, rows[begin:end], place, wanted[:n_wanted], marked)
                    stack[top - 1, 1] += 1
            if top == 0:
                break
            r, place, begin, end = stack[top - 1, 0], stack[top - 1, 1], stack[top - 1, 2], stack[top - 1, 3]
            n_wanted = _distinct(local.children[rows[begin:end], place], marked, wanted)
            context = local.contexts[r] + place
        offsets[i + 1] = size
    return out[:size].copy(), offsets


@kernel
def _has_more_leaves(rules, used, most):
    """Tell whether more than `most` of the rules used have no nonterminals."""
    leaves = 0
    if len(used) > most:
        for r in used:
            leaves += arity_of(rules, r) == 0
    return leaves > most


@kernel
def _expand_side(rules, used, offsets, most, side):
    """Write out one side of what derivations derive, end to end; return it and its offsets."""
    count, size = len(offsets) - 1, 0
    out, out_offsets = np.empty(1024, np.int32), np.zeros(count + 1, np.int64)
    buffer = np.empty(1024, np.int32)
    stack = np.empty((64, 2), np.int64)  # spans of the buffer
    for i in range(count):
        top, end, too_long = 0, 0, _has_more_leaves(rules, used[offsets[i] : offsets[i + 1]], most)
        for q in range(offsets[i + 1] - 1, offsets[i] - 1, -1):
            if too_long:
                break
            a, b = bounds(rules, used[q], side)
            length = 0
            for s in rules.values[a:b]:
                length += 1 if s > 0 else stack[top + s, 1] - stack[top + s, 0]
            if length > most:
                too_long = True
                continue
            buffer = reserve(buffer, end + length)
            at = end
            for s in rules.values[a:b]:
                if s > 0:
                    buffer[at] = s
                    at += 1
                else:  # child k lies k-th from the top
                    for z in range(stack[top + s, 0], stack[top + s, 1]):
                        buffer[at] = buffer[z]
                        at += 1
            top -= arity_of(rules, used[q])
            stack = reserve(stack, top + 1)
            stack[top, 0], stack[top, 1] = end, at
            top += 1
            end = at
        if not too_long:
            length = stack[0, 1] - stack[0, 0]
            out = reserve(out, size + length)
            copy_to(out[size:], buffer[stack[0, 0] : stack[0, 1]])
            size += length
        out_offsets[i + 1] = size
    return out[:size].copy(), out_offsets


@compiled()
def expand(rules, used, offsets, most):
    """Write out the pairs that derivations derive, given by the rules they use in preorder.

    Returns (x values, x offsets, y values, y offsets). A side of more than `most` tokens is left empty.
    """
    x, x_offsets = _expand_side(rules, used, offsets, most, np.int64(SOURCE))
    y, y_offsets = _expand_side(rules, used, offsets, most, np.int64(TARGET))
    return x, x_offsets, y, y_offsets


@kernel
def keep_new(keys, slots, count):
    """Tell which keys (≥ 1) are new; `slots` is an open-addressing table, `count` its entries, both updated.

    Returns (new, slots, count); the table is replaced by a larger one when it is half full.
    """
    new = np.zeros(len(keys), np.bool_)
    for i in range(len(keys)):
        if 2 * count >= len(slots):
            old = slots
            slots = np.zeros(2 * len(old), np.uint64)
            for key in old:
                if key:
                    at = np.int64(key & np.uint64(len(slots) - 1))
                    while slots[at]:
                        at = (at + 1) & (len(slots) - 1)
                    slots[at] = key
        at = np.int64(keys[i] & np.uint64(len(slots) - 1))
        while slots[at] and slots[at] != keys[i]:
            at = (at + 1) & (len(slots) - 1)
        if not slots[at]:
            slots[at] = keys[i]
            count += 1
            new[i] = True
    return new, slots, count


@kernel
def missing(keys, slots):
    """Tell which keys are not in a table that `keep_new` made."""
    out = np.ones(len(keys), np.bool_)
    for i in range(len(keys)):
        at = np.int64(keys[i] & np.uint64(len(slots) - 1))
        while slots[at] and slots[at] != keys[i]:
            at = (at + 1) & (len(slots) - 1)
        out[i] = slots[at] == 0
    return out


@kernel
def pair_keys(x, x_offsets, y, y_offsets):
    """Hash pairs to keys ≥ 1."""
    keys = np.empty(len(x_offsets) - 1, np.uint64)
    for i in range(len(keys)):
        one = sequence_hash(x, x_offsets[i], x_offsets[i + 1])
        both = mix(np.int64(one)) + sequence_hash(y, y_offsets[i], y_offsets[i + 1])
        keys[i] = max(mix(np.int64(both)), np.uint64(1))
    return keys


@kernel
def context_counts(rules, offsets, contexts, arity):
    """Count the uses of rules in contexts over derivations in preorder: [context, rule]."""
    counts = np.zeros((contexts[-1], len(arity)))
    stack = np.empty(64, np.int64)
    for i in range(len(offsets) - 1):
        stack[0] = 0
        top = 1
        for p in range(offsets[i], offsets[i + 1]):
            r = rules[p]
            top -= 1
            counts[stack[top], r] += 1
            stack = reserve(stack, top + arity[r])
            for k in range(arity[r] - 1, -1, -1):
                stack[top] = contexts[r] + k
                top += 1
    return counts
