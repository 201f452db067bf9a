"""Inside and outside passes over forests (paper, Eqs. "joint" and "rule").

A context c is a nonterminal of a rule, or the root (c = 0); nonterminal k of rule r is the context `contexts[r] + k`.
The model is p(r | c) = Σ_s p(s | c) p(r | s), given as `context[c, s]` and `rule[r, s]`.

A vertex v under context c is worth I(v, c) = Σ_s p(s | c) J(v, s), where J(v, s) = Σ p(r | s) w over its applications
and the weight w of an application is the product of its children's I. J is kept relative to its largest w, whose
logarithm is kept beside it: nothing underflows, however deep a derivation. One pass costs O(children · states).

Tables may be of float32 or float64; weights and logarithms are float64.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.kernels.budget import STEPS, spent
from csl.kernels.flat import reserve
from csl.kernels.kernel import compiled, kernel


@compiled(fastmath={"reassoc", "contract"}, _nrt=False)
def _dot(a, b):
    total = a.dtype.type(0)
    for s in range(len(a)):
        total += a[s] * b[s]
    return total


@compiled(fastmath={"contract"}, _nrt=False)
def _add(out, factor, values):
    factor = out.dtype.type(factor)
    for s in range(len(out)):
        out[s] += factor * values[s]


@compiled(_nrt=False)
def _exp(x):
    return 1.0 if x == 0 else np.exp(x)  # most are 0


@compiled(_nrt=False)
def _inside(forests, k, model, room):
    """Fill J and `top` (by vertex), `weight` (by application) and `inner` (by child) of input k; return log I(goal).

    `weight[a]` is log w; `inner[p]` is I of a child relative to exp(top) of it. The model is (context, rule, contexts).
    """
    context, rule, contexts = model
    J, top, weight, inner = room
    v0, v1 = forests.vertices[k], forests.vertices[k + 1]
    a0, p0 = forests.applications[v0], forests.arguments[forests.applications[v0]]
    for v in range(v1 - 1, v0 - 1, -1):
        best = -np.inf
        for a in range(forests.applications[v], forests.applications[v + 1]):
            c = contexts[forests.rules[a]]
            total = 0.0
            for p in range(forests.arguments[a], forests.arguments[a + 1]):
                child = forests.children[p] - v0
                inner[p - p0] = _dot(context[c], J[child])
                total += top[child] + np.log(inner[p - p0])
                c += 1
            weight[a - a0] = total
            best = max(best, total)
        for s in range(J.shape[1]):
            J[v - v0, s] = 0.0
        if best == -np.inf:  # nothing of this ever happens
            top[v - v0] = 0.0
            continue
        top[v - v0] = best
        for a in range(forests.applications[v], forests.applications[v + 1]):
            _add(J[v - v0], _exp(weight[a - a0] - best), rule[forests.rules[a]])
    return top[0] + np.log(np.float64(_dot(context[0], J[0])))


@compiled()
def _room(forests, inputs, like):
    """Make room for the largest of some forests, with as many states as an array has columns, and of its kind."""
    n_vertices, n_applications, n_children = 0, 0, 0
    for k in inputs:
        v0, v1 = forests.vertices[k], forests.vertices[k + 1]
        a0, a1 = forests.applications[v0], forests.applications[v1]
        n_vertices, n_applications = max(n_vertices, v1 - v0), max(n_applications, a1 - a0)
        n_children = max(n_children, forests.arguments[a1] - forests.arguments[a0])
    J = np.empty((n_vertices, like.shape[1]), like.dtype)
    return J, np.empty(n_vertices), np.empty(n_applications), np.empty(n_children)


@compiled()
def log_inside(forests, inputs, context, rule, contexts):
    """Return the log of the sum over all derivations of each input; −inf if it has none."""
    room = _room(forests, inputs, context)
    out = np.full(len(inputs), -np.inf)
    for i in range(len(inputs)):
        k = inputs[i]
        if forests.vertices[k] < forests.vertices[k + 1]:
            out[i] = _inside(forests, k, (context, rule, contexts), room)
    return out


@kernel
def occurring(forests, inputs, contexts, n_contexts):
    """List the contexts and the rules that occur in some forests; return also context → its place, rule → its place."""
    context_place, rule_place = np.full(n_contexts, -1, np.int32), np.full(len(contexts) - 1, -1, np.int32)
    context_place[0] = 0  # the root
    for k in inputs:
        for a in range(forests.applications[forests.vertices[k]], forests.applications[forests.vertices[k + 1]]):
            r = forests.rules[a]
            rule_place[r] = 0
            for t in range(forests.arguments[a + 1] - forests.arguments[a]):
                context_place[contexts[r] + t] = 0
    return _number(context_place), _number(rule_place), context_place, rule_place


@kernel
def _number(places):
    """Count through the places that are not −1; return where they are."""
    found, n = np.empty(len(places), np.int64), 0
    for i in range(len(places)):
        if places[i] == 0:
            found[n], places[i] = i, n
            n += 1
    return found[:n].copy()


@compiled(_nrt=False)
def _outside(forests, k, share, model, room, gradient):
    """Add `share` times the gradient of log I(goal) of input k, after its inside pass, to that of others."""
    (context, rule, contexts), (J, top, weight, inner) = model, room
    B, by_context, by_rule, context_place, rule_place = gradient
    v0, v1 = forests.vertices[k], forests.vertices[k + 1]
    a0, p0 = forests.applications[v0], forests.arguments[forests.applications[v0]]
    for v in range(v1 - v0):
        for s in range(B.shape[1]):
            B[v, s] = 0.0
    share /= _dot(context[0], J[0])
    _add(by_context[0], share, J[0])
    _add(B[0], share, context[0])
    for v in range(v0, v1):
        for a in range(forests.applications[v], forests.applications[v + 1]):
            r = forests.rules[a]
            w = _exp(weight[a - a0] - top[v - v0])
            _add(by_rule[rule_place[r]], w, B[v - v0])
            expected = w * _dot(B[v - v0], rule[r])
            c = contexts[r]
            for p in range(forests.arguments[a], forests.arguments[a + 1]):
                child = forests.children[p] - v0
                share = expected / inner[p - p0]
                _add(by_context[context_place[c]], share, J[child])
                _add(B[child], share, context[c])
                c += 1


@compiled()
def expectations(forests, inputs, copies, context, rule, contexts):
    """Add up log I over inputs, each counting `copies` times, and its gradient.

    Returns (the sum; the contexts that occur, and its gradient by `context` of these; the rules that occur, and its
    gradient by `rule` of these). A gradient times the probability it belongs to is the expected number of times that it
    is used.
    """
    model, room = (context, rule, contexts), _room(forests, inputs, context)
    J = room[0]
    used_contexts, used_rules, context_place, rule_place = occurring(forests, inputs, contexts, len(context))
    by_context = np.zeros((len(used_contexts), J.shape[1]), J.dtype)
    by_rule = np.zeros((len(used_rules), J.shape[1]), J.dtype)
    gradient = np.empty_like(J), by_context, by_rule, context_place, rule_place
    total = 0.0
    for i in range(len(inputs)):
        total += copies[i] * _inside(forests, inputs[i], model, room)
        _outside(forests, inputs[i], copies[i], model, room, gradient)
    return total, used_contexts, by_context, used_rules, by_rule


@kernel
def fewest_levels(forests):
    """Give each input the number of levels of its flattest derivation, 0 if it has none."""
    out = np.zeros(len(forests.status), np.int64)
    levels = np.zeros(len(forests.applications) - 1, np.int64)
    for v in range(len(levels) - 1, -1, -1):  # children come after their parents
        for a in range(forests.applications[v], forests.applications[v + 1]):
            most = 0
            for child in forests.children[forests.arguments[a] : forests.arguments[a + 1]]:
                most = max(most, levels[child])
            if a == forests.applications[v] or most + 1 < levels[v]:
                levels[v] = most + 1
    for k in range(len(out)):
        if forests.vertices[k] < forests.vertices[k + 1]:
            out[k] = levels[forests.vertices[k]]
    return out


@compiled()
def count_derivations(forests):
    """Count the derivations of each input, as floats."""
    out, counts = np.zeros(len(forests.status)), np.zeros(len(forests.applications) - 1)
    for v in range(len(counts) - 1, -1, -1):
        for a in range(forests.applications[v], forests.applications[v + 1]):
            product = 1.0
            for child in forests.children[forests.arguments[a] : forests.arguments[a + 1]]:
                product *= counts[child]
            counts[v] += product
    for k in range(len(out)):
        if forests.vertices[k] < forests.vertices[k + 1]:
            out[k] = counts[forests.vertices[k]]
    return out


@compiled()
def log_p(context, rule, contexts, rules):
    """Return log p(r | c) of some contexts and rules; −inf for what never happens."""
    out = np.empty((len(contexts), len(rules)))
    for i in range(len(contexts)):
        for j in range(len(rules)):
            out[i, j] = np.log(_dot(context[contexts[i]], rule[rules[j]]))
    return out


class Scores(NamedTuple):
    """Log p(r | c), computed where it is used: a table of all would be too large. The last ones are kept.

    They are in slot c · rules + r, modulo the number of slots, a power of two.
    """

    keys: npt.NDArray[np.int64]  # c · rules + r of what is in a slot, −1: nothing
    values: npt.NDArray[np.float64]
    context: npt.NDArray[np.float64]
    rule: npt.NDArray[np.float64]


KEPT = 2**20  # slots, at most: 16 MB


def lazy_scores(context: npt.NDArray[np.float64], rule: npt.NDArray[np.float64]) -> Scores:
    """Return the scores of a model, none of them computed yet."""
    slots = _slots(min(KEPT, len(context) * len(rule)))
    return Scores(np.full(slots, -1), np.empty(slots), context, rule)


def table_scores(table: npt.NDArray[np.float64]) -> Scores:
    """Return scores that are given: a table of contexts by rules."""
    slots = _slots(table.size)
    values = np.zeros(slots)
    values[: table.size] = table.ravel()
    return Scores(np.arange(slots), values, *(np.empty((size, 0)) for size in table.shape))


def _slots(number: int) -> int:
    """Return the least power of two that is not less."""
    return 1 << max(0, number - 1).bit_length()


@compiled()
def viterbi(forests, log_p, contexts, budget):
    """Find the best derivation of each input; `log_p` are `Scores`.

    Returns the log probabilities (−inf: no derivation; nan: given up) and the rules in preorder, end to end, with their
    offsets. A vertex is looked through once for each context in which it is used.
    """
    n_inputs = len(forests.status)
    scores = np.full(n_inputs, -np.inf)
    offsets = np.zeros(n_inputs + 1, np.int64)
    out = np.empty(1024, np.int32)
    size = 0
    seen = np.full(contexts[-1], -1, np.int64)  # context → the last vertex that was looked through for it, …
    best, choice = np.empty(contexts[-1]), np.empty(contexts[-1], np.int64)  # … the best there, and its application
    for k in range(n_inputs):
        v0, v1 = forests.vertices[k], forests.vertices[k + 1]
        if v0 < v1:
            a0, p0 = forests.applications[v0], forests.arguments[forests.applications[v0]]
            weight = np.zeros(forests.applications[v1] - a0)
            first_use, next_use, context = _uses(forests, v0, v1, contexts)
            value, taken = np.empty(len(context)), np.empty(len(context), np.int64)  # of a child: log p, application
            steps = 0
            for v in range(v1 - 1, v0 - 1, -1):
                for a in range(forests.applications[v], forests.applications[v + 1]):
                    for p in range(forests.arguments[a], forests.arguments[a + 1]):
                        weight[a - a0] += value[p - p0]
                p = first_use[v - v0]
                while p >= 0:
                    c = context[p]
                    if seen[c] != v:
                        seen[c] = v
                        best[c], choice[c] = _best(forests, v, log_p, c, weight, a0)
                        steps += forests.applications[v + 1] - forests.applications[v]
                    value[p], taken[p] = best[c], choice[c]
                    p = next_use[p]
                if spent(budget, steps // STEPS):
                    break
            if spent(budget, steps // STEPS):
                scores[k] = np.nan
                offsets[k + 1] = size
                continue
            scores[k], goal = _best(forests, v0, log_p, np.int64(0), weight, a0)
            stack = np.empty(64, np.int64)
            stack[0] = goal
            depth = 1
            while depth > 0:
                depth -= 1
                a = stack[depth]
                out = reserve(out, size + 1)
                out[size] = forests.rules[a]
                size += 1
                b, e = forests.arguments[a], forests.arguments[a + 1]
                stack = reserve(stack, depth + e - b)
                for p in range(e - 1, b - 1, -1):
                    stack[depth] = taken[p - p0]
                    depth += 1
        offsets[k + 1] = size
    return scores, out[:size].copy(), offsets


@compiled()
def _uses(forests, v0, v1, contexts):
    """Chain the places where a vertex is a child: vertex → first place; place → the next, and its context."""
    a0, a1 = forests.applications[v0], forests.applications[v1]
    p0 = forests.arguments[a0]
    n = forests.arguments[a1] - p0
    first, following, context = np.full(v1 - v0, -1, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for a in range(a0, a1):
        c = contexts[forests.rules[a]]
        for p in range(forests.arguments[a], forests.arguments[a + 1]):
            child = forests.children[p] - v0
            following[p - p0], context[p - p0] = first[child], c
            first[child] = p - p0
            c += 1
    return first, following, context


@compiled()
def _best(forests, v, log_p, c, weight, a0):
    """Return the best value of a vertex under a context, and its application."""
    keys, values, context, rule = log_p
    best, taken = -np.inf, forests.applications[v]
    first, mask = c * len(rule), len(keys) - 1
    for a in range(forests.applications[v], forests.applications[v + 1]):
        r = forests.rules[a]
        slot = (first + r) & mask
        if keys[slot] != first + r:
            keys[slot], values[slot] = first + r, np.log(_dot(context[c], rule[r]))
        value = values[slot] + weight[a - a0]
        if value > best:
            best, taken = value, a
    return best, taken
