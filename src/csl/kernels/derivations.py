"""Derivations of examples when rules give way to those that derive them."""

import numpy as np

from csl.kernels.derive import CHILD, Parser, derive, rule_query
from csl.kernels.flat import reserve
from csl.kernels.kernel import kernel


@kernel
def substitute(alive, values, offsets, row, used, ends):
    """Put in place of each rule that is not alive the rules that derive it, until all are alive.

    Rule r is derived by `used[ends[k]:ends[k + 1]]` with k = `row[r]`, by nothing known if that is −1. What was derived
    later comes later, so this has an end. Where it leads to nothing known, a derivation is empty. Returns the
    derivations and their offsets.
    """
    out, out_offsets, count = np.empty(len(values), np.int32), np.zeros(len(offsets), np.int64), np.int64(0)
    stack = np.empty(64, np.int32)
    for e in range(len(offsets) - 1):
        begin, depth = count, offsets[e + 1] - offsets[e]
        stack = reserve(stack, depth)
        for t in range(depth):
            stack[t] = values[offsets[e] + t]
        while depth > 0:
            depth -= 1
            r = stack[depth]
            if alive[r]:
                out = reserve(out, count + 1)
                out[count] = r
                count += 1
            elif row[r] < 0:
                count, depth = begin, 0
            else:
                a, b = ends[row[r]], ends[row[r] + 1]
                stack = reserve(stack, depth + b - a)
                for t in range(a, b):
                    stack[depth] = used[t]
                    depth += 1
        out_offsets[e + 1] = count
    return out[:count].copy(), out_offsets


@kernel
def are_derivations(parser, budget, examples, values, offsets):
    """Tell whether each example can be derived by the rules `values[offsets[k]:offsets[k + 1]]` alone.

    It can be unless more rules with a lone nonterminal as source follow each other than the parser applies in a row.
    """
    rules, work = parser.rules, np.empty((256, CHILD + parser.arity), np.int32)
    some, found = np.zeros(len(parser.alive), np.bool_), np.zeros(len(examples), np.bool_)
    parser = Parser(rules, parser.trie, some, parser.arity, parser.max_units)
    for k in range(len(examples)):
        units = 0
        for p in range(offsets[k], offsets[k + 1]):
            r = values[p]
            some[r] = True
            units += rules.middle[r] - rules.begin[r] == 1 and rules.values[rules.begin[r]] < 0
        found[k] = offsets[k + 1] > offsets[k]
        if units > parser.max_units:
            goal, work, _ = derive(parser, rule_query(rules, examples[k], np.int32(-1)), budget, work)
            found[k] = goal >= 0
        for p in range(offsets[k], offsets[k + 1]):
            some[values[p]] = False
    return found
