"""Mass tables: Z_d, the probability of finishing a derivation within, or in exactly, d levels, by state and kind."""

import numpy as np

from csl.errors import InputError
from csl.grammar import Grammar
from csl.grammar.output_cfg import ROOT, OutputCfg
from csl.kernels.sample import EXACT, WITHIN, Local, Tables, child_products, cumulated
from csl.model.model import FloatArray, context_starts
from csl.sampling.automaton import Automaton

NUMBERS = 2**29  # in tables, at most: 4 GB
NEVER = 1 << 40  # more levels than any depth


def build_tables(automaton: Automaton, context: FloatArray, rules: FloatArray, depth: int) -> Tables:
    """Build the tables for p(s | context) and p(r | s) up to a depth.

    Z_d[s, q] sums p(r | s) over the transitions to kind q, times the masses of their children within d − 1 levels. The
    mass of exactly d levels is a sum of its own, never a difference: the rarest depth keeps its precision.
    """
    a, states = automaton, rules.shape[0]
    made = np.repeat(np.arange(a.n_kinds), np.diff(a.kinds))
    order = np.lexsort((a.rule, made))  # by kind, then rule
    rule, made = a.rule[order], made[order]
    starts = np.flatnonzero(np.r_[True, (np.diff(rule) != 0) | (np.diff(made) != 0)]) if len(rule) else np.zeros(0, int)
    pairs = np.r_[starts, len(rule)].astype(np.int64)
    pair_rule, pair_kind = rule[starts], made[starts]
    kinds = np.searchsorted(pair_kind, np.arange(a.n_kinds + 1)).astype(np.int64)
    sizes = np.diff(a.arguments)[order]
    arguments = np.r_[0, np.cumsum(sizes)].astype(np.int64)
    classes = np.concatenate([a.classes[a.arguments[t] : a.arguments[t + 1]] for t in order] or [a.classes])

    numbers = 2 * (depth + 1) * ((states + len(context)) * a.n_kinds + len(rule) + states * len(pair_rule))
    check_size(numbers)
    state = np.zeros((2, depth + 1, states, a.n_kinds))
    reach = np.zeros((2, depth + 1, len(context), a.n_kinds))
    cdf = np.zeros((2, depth + 1, len(rule)))
    pair_cdf = np.zeros((2, depth + 1, states, len(pair_rule)))
    member_class, member_context = np.repeat(np.arange(len(a.context)), np.diff(a.members)), a.context
    before = np.zeros(len(a.context))  # masses of the classes within d − 2 levels
    for d in range(1, depth + 1):
        mass = np.zeros((2, len(a.context)))
        for mode in (WITHIN, EXACT):
            np.add.at(mass[mode], member_class, reach[mode, d - 1][member_context[member_class], a.kind])
        products = child_products(arguments, classes, mass[WITHIN], mass[EXACT], before, d)
        before = mass[WITHIN]
        for mode in (WITHIN, EXACT):
            cdf[mode, d] = cumulated(products[mode], pairs)
            weight = rules[:, pair_rule] * np.add.reduceat(products[mode], pairs[:-1])
            for s in range(states):
                pair_cdf[mode, d, s] = cumulated(np.ascontiguousarray(weight[s]), kinds)
            np.add.at(state[mode, d].T, pair_kind, weight.T)
            reach[mode, d] = context @ state[mode, d]
    return Tables(
        context, state, reach, pair_cdf, cdf, kinds, pairs, pair_rule, a.goal, arguments, classes, a.context, a.members,
        a.kind,
    )  # fmt: skip


def check_size(numbers: int) -> None:
    """Refuse tables of too many numbers."""
    if numbers > NUMBERS:
        raise InputError(
            f"sampling needs tables of {8 * numbers / 2**30:.0f} GB; choose a smaller max_depth, or strategy uniform"
        )


def build_local(grammar: Grammar, output_cfg: OutputCfg | None, p: FloatArray | None = None) -> Local:
    """Build what `draw_local` needs: the typings of all rules by category, how quickly each can be finished, and p."""
    if output_cfg is None:
        number, rows = {ROOT.name: 0}, [(0, r, (0,) * rule.arity) for r, rule in enumerate(grammar)]
    else:
        number = {name: k for k, name in enumerate(output_cfg.categories)}
        rows = sorted(
            (number[t.category], r, tuple(number[child] for child in t.children))
            for r, rule in enumerate(grammar)
            for t in output_cfg.typings(rule.target)
        )
    quickest, levels = [NEVER] * len(number), [NEVER] * len(rows)
    changed = True
    while changed:
        changed = False
        for k, (category, _, children) in enumerate(rows):
            new = 1 + max((quickest[child] for child in children), default=0)
            if new < levels[k]:
                levels[k], changed = new, True
                quickest[category] = min(quickest[category], new)
    first_row: dict[tuple[int, int], int] = {}  # of each rule of a category
    for k, (category, r, _) in enumerate(rows):
        first_row.setdefault((category, r), k)
    table = np.full((len(rows), max(1, grammar.max_arity)), -1, np.int64)
    for k, (_, _, children) in enumerate(rows):
        table[k, : len(children)] = children
    return Local(
        np.searchsorted([category for category, _ in first_row], np.arange(len(number) + 1)).astype(np.int64),
        np.r_[list(first_row.values()), len(rows)].astype(np.int64),
        np.array([r for _, r in first_row], np.int64),
        np.array([category for category, _, _ in rows], np.int64),
        table,
        np.array(levels, np.int64),
        context_starts(grammar),
        np.array([rule.arity for rule in grammar], np.int64),
        number[ROOT.name],
        np.zeros((0, 0)) if p is None else p,
    )


def ends(local: Local) -> bool:
    """Tell whether any derivation of a whole output comes to an end."""
    first, last = (local.rows[local.categories[local.root + k]] for k in (0, 1))
    return bool((local.levels[first:last] < NEVER).any())
