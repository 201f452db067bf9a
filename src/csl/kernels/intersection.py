"""Forests cut down: to the derivations of one output, or to those whose output is valid.

Both are the same construction, the product of a forest with labels. A vertex is split by the labels that its
derivations can have, an application by the labels of its children. For a known output y the label is the stretch of y
that is derived, named by its first occurrence; for an output CFG it is the category, and the typings of a rule say
which labels go together. What the goal cannot reach is left out.

Products are built children first, so that a part is numbered after its children; written out, the numbers are reversed.

A product can be much larger than the forest. An input whose product, or the search for it, passes the budget is given
up. As in `forests`, the inputs behind one that fills the share of a batch are left to the next call.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from csl.kernels.budget import ENTRIES, SHARE, STEPS, spent
from csl.kernels.derive import CHILD, LENGTH, START, first_place
from csl.kernels.room import with_room
from csl.kernels.source_chart import COVERED, TOO_MANY, UNCOVERED, Forests, given_up

IntArray = npt.NDArray[np.int32]
OffsetArray = npt.NDArray[np.int64]

ARGUMENTS = 3  # its place among the arrays of a forest that is written: spans, applications, rules, arguments, children


class Typings(NamedTuple):
    """The typings of all rules: those of rule r are the rows `offsets[r]:offsets[r + 1]`: category, then children's."""

    offsets: OffsetArray
    rows: IntArray
    root: int
    n_categories: int


@njit(cache=True, nogil=True)
def _write_out(goal, product, origin, spans, out, vertex, size):
    """Append what the goal, a part of the product, reaches to the forest `out`, parents first.

    `origin[part]` is the vertex it is a part of, whose span it has. Returns the arrays of the forest (spans,
    applications, rules, arguments, children), the vertex and the number of applications after the last.
    """
    rules, arguments, children, part_apps = product
    out_spans, applications, out_rules, out_arguments, out_children = out
    reached = np.zeros(goal + 1, np.bool_)
    reached[goal] = True
    for t in range(goal, -1, -1):
        if reached[t]:
            for p in range(arguments[part_apps[t]], arguments[part_apps[t + 1]]):
                reached[children[p]] = True
    number = np.empty(goal + 1, np.int32)
    for t in range(goal, -1, -1):
        if reached[t]:
            number[t] = vertex
            vertex += 1
    vertex -= reached.sum()
    for t in range(goal, -1, -1):
        if not reached[t]:
            continue
        for a in range(part_apps[t], part_apps[t + 1]):
            out_rules = with_room(out_rules, size, 1)
            out_arguments = with_room(out_arguments, size + 1, 1)
            out_rules[size] = rules[a]
            at = out_arguments[size]
            for p in range(arguments[a], arguments[a + 1]):
                out_children = with_room(out_children, at, 1)
                out_children[at] = number[children[p]]
                at += 1
            size += 1
            out_arguments[size] = at
        out_spans = with_room(out_spans, vertex, 1)
        out_spans[vertex] = spans[origin[t]]
        vertex += 1
        applications = with_room(applications, vertex, 1)
        applications[vertex] = size
    return (out_spans, applications, out_rules, out_arguments, out_children), vertex, size


@njit(cache=True, nogil=True)
def _empty():
    offsets, ids = np.zeros(256, np.int64), np.empty(256, np.int32)
    return np.empty((256, 3), np.int32), offsets, ids, offsets.copy(), ids.copy()


@njit(cache=True, nogil=True)
def _forests(status, vertices, out, vertex, size):
    spans, applications, rules, arguments, children = out
    return Forests(
        status,
        vertices,
        spans[:vertex].copy(),
        applications[: vertex + 1].copy(),
        rules[:size].copy(),
        arguments[: size + 1].copy(),
        children[: arguments[size]].copy(),
    )


@njit(cache=True, nogil=True)
def _product():
    """Start a product: (rules, arguments, children) of its applications, and part → its applications."""
    return np.empty(256, np.int32), np.zeros(256, np.int64), np.empty(256, np.int32), np.zeros(256, np.int64)


@njit(cache=True, nogil=True)
def _note(found, n_found, label, rule, parts, n):
    """Note an application to n parts, with the label of what it makes, for the vertex at hand."""
    labels, rules, arguments, children = found
    labels, rules = with_room(labels, n_found, 1), with_room(rules, n_found, 1)
    arguments = with_room(arguments, n_found + 1, 1)
    labels[n_found], rules[n_found] = label, rule
    at = arguments[n_found]
    for t in range(n):
        children = with_room(children, at + t, 1)
        children[at + t] = parts[t]
    arguments[n_found + 1] = at + n
    return labels, rules, arguments, children


@njit(cache=True, nogil=True)
def _add_parts(found, n_found, n_labels, part_of, product, parts, count):
    """Turn the noted applications into parts, one a label, in the order of labels; `part_of[label]` is filled.

    Returns the product and its numbers of parts and of applications.
    """
    labels, found_rules, found_arguments, found_children = found
    rules, arguments, children, part_apps = product
    following = np.empty(n_found, np.int32)  # chains of applications with the same label, from `part_of[label]`
    for label in range(n_labels):
        part_of[label] = -1
    for f in range(n_found - 1, -1, -1):
        following[f] = part_of[labels[f]]
        part_of[labels[f]] = f
    for label in range(n_labels):
        f = part_of[label]
        if f < 0:
            continue
        part_of[label] = parts
        while f >= 0:
            rules, arguments = with_room(rules, count, 1), with_room(arguments, count + 1, 1)
            rules[count] = found_rules[f]
            at = arguments[count]
            for p in range(found_arguments[f], found_arguments[f + 1]):
                children = with_room(children, at, 1)
                children[at] = found_children[p]
                at += 1
            count += 1
            arguments[count] = at
            f = following[f]
        parts += 1
        part_apps = with_room(part_apps, parts, 1)
        part_apps[parts] = count
    return (rules, arguments, children, part_apps), parts, count


@njit(cache=True, nogil=True)
def _max_arity(arguments):
    """Return the largest number of children of an application, at least 1."""
    most = 1
    for a in range(len(arguments) - 1):
        most = max(most, arguments[a + 1] - arguments[a])
    return most


@njit(cache=True, nogil=True)
def _used(product, parts, count, n_found, steps):
    """Count the items of a product, what is noted for the vertex at hand, and steps."""
    return parts + count + product[1][count] + 2 * n_found + steps // STEPS


@njit(cache=True, nogil=True)
def _label(items, parts, n_labels, place, length):
    """Find a stretch among those of a vertex, which are numbered as they are found; a new one gets the next number."""
    label = 0
    while label < n_labels and (items[parts + label, START] != place or items[parts + label, LENGTH] != length):
        label += 1
    return label


@njit(cache=True, nogil=True)
def with_outputs(forests, first_input, budget, largest, values, begin, middle, y_values, y_offsets):
    """Keep the derivations of input k whose output is y k = `y_values[y_offsets[k]:y_offsets[k + 1]]`.

    `values`, `begin`, `middle` are the rules. The result begins with `first_input`. Inputs without such a derivation
    are UNCOVERED. Forests of more than `largest` items are given up.
    """
    n_inputs = len(forests.status) - first_input
    status, vertices = np.zeros(n_inputs, np.int32), np.zeros(n_inputs + 1, np.int64)
    out, vertex, size = _empty(), 0, 0
    product, origin = _product(), np.empty(256, np.int64)
    found = (np.empty(64, np.int32), np.empty(64, np.int32), np.zeros(64, np.int64), np.empty(64, np.int32))
    items = np.zeros((256, CHILD), np.int32)  # part → the stretch of y it derives
    part_of = np.empty(64, np.int32)
    chosen = np.empty(_max_arity(forests.arguments), np.int32)
    done = 0
    while done < n_inputs:
        k = first_input + done
        status[done] = UNCOVERED if forests.status[k] == COVERED else forests.status[k]
        v0, v1 = forests.vertices[k], forests.vertices[k + 1]
        y = y_values[y_offsets[k] : y_offsets[k + 1]]
        # vertex → its first part, and the one after its last
        first, last = np.zeros(v1 - v0 + 1, np.int64), np.zeros(v1 - v0 + 1, np.int64)
        parts, count, steps = 0, 0, 0
        for v in range(v1 - 1, v0 - 1, -1):
            n_found, n_labels = 0, 0
            for a in range(forests.applications[v], forests.applications[v + 1]):
                rule = forests.rules[a]
                args = forests.children[forests.arguments[a] : forests.arguments[a + 1]] - v0
                n = len(args)
                more = True
                for t in range(n):
                    chosen[t] = first[args[t]]
                    more = more and first[args[t]] < last[args[t]]
                while more:
                    place, length = first_place(values, middle[rule], begin[rule + 1], y, items, chosen)
                    if place >= 0:
                        label = _label(items, parts, n_labels, place, length)
                        if label == n_labels:
                            n_labels += 1
                            items = with_room(items, parts + label, 1)
                            items[parts + label, START], items[parts + label, LENGTH] = place, length
                        found = _note(found, n_found, label, rule, chosen, n)
                        n_found += 1
                        steps += label
                    steps += 1
                    if spent(budget, _used(product, parts, count, n_found, steps)):
                        break
                    t = n - 1
                    while t >= 0:  # the next choice, as on an odometer
                        chosen[t] += 1
                        if chosen[t] < last[args[t]]:
                            break
                        chosen[t] = first[args[t]]
                        t -= 1
                    more = t >= 0
            if spent(budget, _used(product, parts, count, n_found, steps)):
                status[done] = given_up(budget)
                break
            while len(part_of) < n_labels:
                part_of = np.empty(2 * len(part_of), np.int32)
            first[v - v0] = parts
            product, parts, count = _add_parts(found, n_found, n_labels, part_of, product, parts, count)
            last[v - v0] = parts
            origin = with_room(origin, first[v - v0], parts - first[v - v0])
            origin[first[v - v0] : parts] = v
        goal = first[0]
        while goal < last[0] and items[goal, LENGTH] != len(y):
            goal += 1
        if goal < last[0]:
            before, size_before = vertex, size
            out, vertex, size = _write_out(goal, product, origin, forests.spans, out, vertex, size)
            status[done] = COVERED
            if size + out[ARGUMENTS][size] - size_before - out[ARGUMENTS][size_before] > largest:
                status[done] = TOO_MANY
                vertex, size = before, size_before
        done += 1
        vertices[done] = vertex
        if size + out[ARGUMENTS][size] > budget.items // SHARE:
            break
    return _forests(status[:done].copy(), vertices[: done + 1].copy(), out, vertex, size)


@njit(cache=True, nogil=True)
def with_types(forests, first_input, budget, typings):
    """Keep the derivations whose output the output CFG derives from its start symbol, once for each typing.

    The result begins with `first_input`. Inputs without such a derivation are UNCOVERED.
    """
    n_inputs = len(forests.status) - first_input
    status, vertices = np.zeros(n_inputs, np.int32), np.zeros(n_inputs + 1, np.int64)
    out, vertex, size = _empty(), 0, 0
    product, origin = _product(), np.empty(256, np.int64)
    found = (np.empty(64, np.int32), np.empty(64, np.int32), np.zeros(64, np.int64), np.empty(64, np.int32))
    chosen = np.empty(_max_arity(forests.arguments), np.int32)
    done = 0
    while done < n_inputs:
        k = first_input + done
        status[done] = UNCOVERED if forests.status[k] == COVERED else forests.status[k]
        v0, v1 = forests.vertices[k], forests.vertices[k + 1]
        parts, count, goal = 0, 0, -1
        steps = (v1 - v0 + 1) * typings.n_categories * STEPS // ENTRIES  # the table
        if spent(budget, steps // STEPS):
            status[done] = given_up(budget)
            v0 = v1
        part_of = np.full((v1 - v0 + 1, typings.n_categories), -1, np.int32)
        for v in range(v1 - 1, v0 - 1, -1):
            n_found = 0
            for a in range(forests.applications[v], forests.applications[v + 1]):
                rule, b = forests.rules[a], forests.arguments[a]
                n = forests.arguments[a + 1] - b
                for row in range(typings.offsets[rule], typings.offsets[rule + 1]):
                    t = 0
                    while t < n:
                        chosen[t] = part_of[forests.children[b + t] - v0, typings.rows[row, 1 + t]]
                        if chosen[t] < 0:
                            break
                        t += 1
                    if t == n:
                        found = _note(found, n_found, typings.rows[row, 0], rule, chosen, n)
                        n_found += 1
                steps += typings.offsets[rule + 1] - typings.offsets[rule]
                if spent(budget, _used(product, parts, count, n_found, steps)):
                    break
            if spent(budget, _used(product, parts, count, n_found, steps)):
                status[done] = given_up(budget)
                break
            before = parts
            product, parts, count = _add_parts(
                found, n_found, typings.n_categories, part_of[v - v0], product, parts, count
            )
            origin = with_room(origin, before, parts - before)
            origin[before:parts] = v
            if v == v0:
                goal = part_of[0, typings.root]
        if goal >= 0:
            status[done] = COVERED
            out, vertex, size = _write_out(goal, product, origin, forests.spans, out, vertex, size)
        done += 1
        vertices[done] = vertex
        if size + out[ARGUMENTS][size] > budget.items // SHARE:
            break
    return _forests(status[:done].copy(), vertices[: done + 1].copy(), out, vertex, size)
