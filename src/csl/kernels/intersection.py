"""Forests cut down: to the derivations of one output, or to those whose output is valid.

Both are the product of a forest with labels. A vertex is split into parts by the labels that its derivations can have,
an application by the labels of its children. For a known output y the label is the span of y that is derived, named by
its first occurrence; for an output CFG it is the category, and the typings of a rule say which labels go together. What
the goal cannot reach is left out.

Products are built children first, so that a part is numbered after its children; written out, the numbers are reversed.

A product can be much larger than the forest. An input whose product, or the search for it, passes the budget is given
up. As in `forests`, the inputs behind one that fills the share of a batch are left to the next call.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.kernels.budget import COVERED, ENTRIES, SHARE, STEPS, TOO_MANY, UNCOVERED, Budget, given_up, spent
from csl.kernels.derive import LENGTH, NEXT, START, fillings
from csl.kernels.flat import Rules, reserve
from csl.kernels.kernel import kernel
from csl.kernels.source_chart import (
    Applications,
    Forests,
    Vertices,
    add_application,
    add_vertex,
    finished_forests,
    no_applications,
    no_vertices,
)

IntArray = npt.NDArray[np.int32]
OffsetArray = npt.NDArray[np.int64]


class Typings(NamedTuple):
    """The typings of all rules: those of rule r are the rows `offsets[r]:offsets[r + 1]`: category, then children's."""

    offsets: OffsetArray
    rows: IntArray
    root: int
    n_categories: int


class Labels(NamedTuple):
    """What a forest is multiplied with: typings, or if there are no categories, the output y of each input."""

    rules: Rules
    values: IntArray  # the output of input k is `values[offsets[k]:offsets[k + 1]]`
    offsets: OffsetArray
    typings: Typings


def by_output(rules: Rules, values: IntArray, offsets: OffsetArray) -> Labels:
    """Give the labels that keep the derivations of these outputs, one for each input."""
    return Labels(rules, values, offsets, Typings(np.empty(0, np.int64), np.empty((0, 1), np.int32), 0, 0))


def by_type(typings: Typings) -> Labels:
    """Give the labels that keep the derivations whose output is valid, once for each typing."""
    nothing, offsets = np.empty(0, np.int32), np.zeros(1, np.int64)
    return Labels(Rules(nothing, offsets, offsets), nothing, offsets, typings)


class Task(NamedTuple):
    """The forest of input k, and what it is multiplied with."""

    forests: Forests
    k: int
    labels: Labels
    budget: Budget


class Product(NamedTuple):
    """A product in the making: its parts are vertices, numbered children first."""

    vertices: Vertices
    applications: Applications
    label: IntArray  # part → its label: a span of y (START, LENGTH), or (category, 0); and the NEXT part of its vertex
    first: OffsetArray  # vertex of the forest → its first part, …
    last: OffsetArray  # … and the one after its last
    of_type: IntArray  # [vertex of the forest, category]: part, −1 = none
    parts: int


class Found(NamedTuple):
    """The applications found for a vertex, each with the number of a label."""

    applications: Applications
    number: IntArray
    label: IntArray  # number → label; of categories, which are their own numbers, it is filled beforehand
    size: int | np.int64
    n_labels: int | np.int64
    steps: int  # of the search, in all vertices so far
    work: IntArray  # room for `fillings`
    rows: IntArray  # and what it finds


@kernel
def _is_after(rows, i, j, n):
    """Tell whether row i of `fillings` comes after row j in the order of their n items."""
    t = 2
    while t < 2 + n and rows[i, t] == rows[j, t]:
        t += 1
    return t < 2 + n and rows[i, t] > rows[j, t]


@kernel
def _sort(rows, count, n):
    """Sort the rows of `fillings` by their n items (Shell 1959): sums of floats depend on the order of applications."""
    gap = count // 2
    while gap > 0:
        for i in range(gap, count):
            j = i
            while j >= gap and _is_after(rows, j - gap, j, n):
                for t in range(2 + n):
                    rows[j, t], rows[j - gap, t] = rows[j - gap, t], rows[j, t]
                j -= gap
        gap //= 2


@kernel
def _find_outputs(task, v, product, found, held):
    """Find the applications of vertex v that derive spans of y; the product holds `held` items already."""
    forests, k, labels, budget = task
    applications, numbers, label, _, _, steps, work, rows = found
    (values, begin, middle), first, last = labels.rules, product.first, product.last
    v0, y = forests.vertices[k], labels.values[labels.offsets[k] : labels.offsets[k + 1]]
    size, n_labels, heads = np.int64(0), np.int64(0), np.empty(0, np.int32)
    for a in range(forests.applications[v], forests.applications[v + 1]):
        rule, b = forests.rules[a], forests.arguments[a]
        n = forests.arguments[a + 1] - b
        if len(heads) != n:
            heads = np.empty(n, np.int32)
        if work.shape[1] < n:
            work, rows = np.empty((4, n), np.int32), np.empty((16, 2 + n), np.int32)
        t = 0
        while t < n and first[forests.children[b + t] - v0] < last[forests.children[b + t] - v0]:
            heads[t] = first[forests.children[b + t] - v0]
            t += 1
        if t < n:  # a child that derives nothing in y
            continue
        target, used = values[middle[rule] : begin[rule + 1]], held + 2 * size + steps // STEPS
        rows, count, more = fillings(target, y, heads, product.label, work, rows, budget.items - used)
        _sort(rows, count, n)
        steps += more * STEPS
        for row in range(count):
            number = 0
            while number < n_labels and (label[number, 0] != rows[row, 0] or label[number, 1] != rows[row, 1]):
                number += 1
            if number == n_labels:
                label = reserve(label, number + 1)
                label[number, 0], label[number, 1] = rows[row, 0], rows[row, 1]
                n_labels += 1
            numbers = reserve(numbers, size + 1)
            numbers[size] = number
            applications = add_application(applications, size, rule, rows[row, 2 : 2 + n])
            size += 1
            steps += number
        if spent(budget, held + 2 * size + steps // STEPS):
            break
    return Found(applications, numbers, label, size, n_labels, steps, work, rows)


@kernel
def _find_types(task, v, product, found, held):
    """Find the applications of vertex v with the typings of their rules; the product holds `held` items already."""
    forests, k, labels, budget = task
    applications, numbers, label, _, _, steps, work, filled = found
    offsets, rows, _, n_categories = labels.typings
    v0, size = forests.vertices[k], np.int64(0)
    chosen = np.empty(rows.shape[1], np.int32)
    for a in range(forests.applications[v], forests.applications[v + 1]):
        rule, b = forests.rules[a], forests.arguments[a]
        n = forests.arguments[a + 1] - b
        for row in range(offsets[rule], offsets[rule + 1]):
            t = 0
            while t < n:
                chosen[t] = product.of_type[forests.children[b + t] - v0, rows[row, 1 + t]]
                if chosen[t] < 0:
                    break
                t += 1
            if t == n:
                numbers = reserve(numbers, size + 1)
                numbers[size] = rows[row, 0]
                applications = add_application(applications, size, rule, chosen[:n])
                size += 1
        steps += offsets[rule + 1] - offsets[rule]
        if spent(budget, held + 2 * size + steps // STEPS):
            break
    return Found(applications, numbers, label, size, n_categories, steps, work, filled)


@kernel
def _add_parts(product, found, span):
    """Turn the applications found for a vertex into parts, one a label, in the order of labels."""
    vertices, applications, label, first, last, of_type, parts = product
    size = vertices.applications[parts]
    heads, following = np.full(found.n_labels, -1, np.int32), np.empty(found.size, np.int32)
    for f in range(found.size - 1, -1, -1):  # chain the applications with one label
        following[f] = heads[found.number[f]]
        heads[found.number[f]] = f
    for number in range(found.n_labels):
        f = heads[number]
        if f < 0:
            continue
        while f >= 0:
            begin, end = found.applications.arguments[f], found.applications.arguments[f + 1]
            children = found.applications.children[begin:end]
            applications = add_application(applications, size, found.applications.rules[f], children)
            size += 1
            f = following[f]
        label = reserve(label, parts + 1)
        label[parts, START], label[parts, LENGTH] = found.label[number, 0], found.label[number, 1]
        label[parts, NEXT] = parts + 1
        vertices = add_vertex(vertices, parts, span, size)
        parts += 1
    if found.size > 0:
        label[parts - 1, NEXT] = -1
    return Product(vertices, applications, label, first, last, of_type, parts)


@kernel
def _multiply(task, product, found):
    """Build the product of a forest; return it, what was found last, and the part of the goal.

    The goal is −1 if there is none, and −2 if the forest is given up.
    """
    forests, k, labels, budget = task
    n_categories = labels.typings.n_categories
    v0, v1 = forests.vertices[k], forests.vertices[k + 1]
    n = v1 - v0 + 1
    steps = n * n_categories * STEPS // ENTRIES  # the table
    if spent(budget, steps // STEPS):
        return product, found, np.int64(-2)
    first, last = np.zeros(n, np.int64), np.zeros(n, np.int64)
    of_type = np.full((n, n_categories), -1, np.int32)
    product = Product(product.vertices, product.applications, product.label, first, last, of_type, 0)
    found = Found(found.applications, found.number, found.label, 0, 0, steps, found.work, found.rows)
    for v in range(v1 - 1, v0 - 1, -1):
        size = product.vertices.applications[product.parts]
        held = product.parts + size + product.applications.arguments[size]
        if n_categories:
            found = _find_types(task, v, product, found, held)
        else:
            found = _find_outputs(task, v, product, found, held)
        if spent(budget, held + 2 * found.size + found.steps // STEPS):
            return product, found, -2
        first[v - v0] = product.parts
        product = _add_parts(product, found, forests.spans[v])
        last[v - v0] = product.parts
        for part in range(first[v - v0], last[v - v0] if n_categories else 0):
            of_type[v - v0, product.label[part, START]] = part
    if n_categories:
        return product, found, np.int64(of_type[0, labels.typings.root])
    goal, length = first[0], labels.offsets[k + 1] - labels.offsets[k]
    while goal < last[0] and product.label[goal, LENGTH] != length:
        goal += 1
    return product, found, goal if goal < last[0] else -1


@kernel
def _write_out(product, goal, vertices, applications, vertex):
    """Append what the goal reaches to a forest of `vertex` vertices, parents first; return it, and its vertices."""
    starts, (rules, arguments, children) = product.vertices.applications, product.applications
    reached, number = np.zeros(goal + 1, np.bool_), np.empty(goal + 1, np.int32)
    reached[goal] = True
    following = vertex
    for part in range(goal, -1, -1):
        if reached[part]:
            number[part] = following
            following += 1
            for p in range(arguments[starts[part]], arguments[starts[part + 1]]):
                reached[children[p]] = True
    size = vertices.applications[vertex]
    for part in range(goal, -1, -1):
        if reached[part]:
            for a in range(starts[part], starts[part + 1]):
                begin, end = arguments[a], arguments[a + 1]
                applications = add_application(applications, size, rules[a], children[begin:end])
                for p in range(end - begin):
                    applications.children[applications.arguments[size] + p] = number[children[begin + p]]
                size += 1
            vertices = add_vertex(vertices, vertex, product.vertices.spans[part], size)
            vertex += 1
    return vertices, applications, vertex


@kernel
def intersect(forests, first_input, budget, largest, labels):
    """Keep the derivations of each input whose output has the label of its goal; the result begins with `first_input`.

    Inputs without such a derivation are UNCOVERED. Forests of more than `largest` items are given up.
    """
    n_inputs = len(forests.status) - first_input
    status, ends = np.zeros(n_inputs, np.int32), np.zeros(n_inputs + 1, np.int64)
    vertices, made, vertex = no_vertices(), no_applications(), np.int64(0)
    none, label = np.empty(0, np.int64), np.zeros((max(64, labels.typings.n_categories), 2), np.int32)
    for number in range(len(label)):
        label[number, START] = number
    spans = np.zeros((len(label), NEXT + 1), np.int32)
    product = Product(no_vertices(), no_applications(), spans, none, none, np.empty((0, 0), np.int32), 0)
    work, rows = np.empty((4, 1), np.int32), np.empty((16, 3), np.int32)
    found = Found(no_applications(), np.empty(64, np.int32), label, 0, 0, 0, work, rows)
    done = 0
    while done < n_inputs:
        k = first_input + done
        status[done] = UNCOVERED if forests.status[k] == COVERED else forests.status[k]
        product, found, goal = _multiply(Task(forests, k, labels, budget), product, found)
        before = vertices.applications[vertex]
        if goal == -2:
            status[done] = given_up(budget)
        elif goal >= 0:
            vertices, made, vertex = _write_out(product, goal, vertices, made, vertex)
            size, status[done] = vertices.applications[vertex], COVERED
            if size + made.arguments[size] - before - made.arguments[before] > largest:
                vertex, status[done] = ends[done], TOO_MANY
        done += 1
        ends[done] = vertex
        size = vertices.applications[vertex]
        if size + made.arguments[size] > budget.items // SHARE:
            break
    return finished_forests(status, ends, done, vertices, made)
