"""The k best outputs of an input: its forest, split by contexts, as Python objects.

The vertices of a forest are split by the contexts in which they are used; each application then has a probability of
its own, and the k best derivations with distinct outputs are found from the leaves to the top (`csl.parsing.forest`).
Costs as many objects as there are applications, times the contexts of each.
"""

import numpy as np
import numpy.typing as npt

from csl.grammar import Rule
from csl.kernels.budget import Budget
from csl.kernels.source_chart import Forests
from csl.parsing.forest import OBJECT, Application, Forest, Ranked
from csl.parsing.limits import check


def best_outputs(
    arrays: Forests,
    rules: tuple[Rule, ...],
    contexts: npt.NDArray[np.int64],
    log_p: npt.NDArray[np.float64],
    k: int,
    budget: Budget,
) -> list[Ranked]:
    """Give the k best derivations with distinct outputs in the one forest of `arrays`; the cost is −log p."""
    return Forest(_in_context(arrays, contexts, log_p, budget), rules).best(k, distinct=True, budget=budget)


def _in_context(
    arrays: Forests, contexts: npt.NDArray[np.int64], log_p: npt.NDArray[np.float64], budget: Budget
) -> list[list[Application]]:
    check(budget, OBJECT * len(arrays.rules))
    children, arguments = arrays.children.tolist(), arrays.arguments.tolist()
    applications, rules = arrays.applications.tolist(), arrays.rules.tolist()
    wanted = [{0}] + [set[int]() for _ in applications[1:-1]] if len(applications) > 1 else []
    used = 0
    for v, here in enumerate(wanted):  # parents first: when v is reached, all its contexts are known
        used += OBJECT * len(here) * (applications[v + 1] - applications[v])
        check(budget, used)
        for a in range(applications[v], applications[v + 1]):
            for i, p in enumerate(range(arguments[a], arguments[a + 1])):
                wanted[children[p]].add(int(contexts[rules[a]]) + i)
    number = {key: n for n, key in enumerate((v, c) for v, here in enumerate(wanted) for c in sorted(here))}
    vertices: list[list[Application]] = []
    for v, c in number:
        check(budget, used)
        vertices.append([])
        for a in range(applications[v], applications[v + 1]):
            inner = int(contexts[rules[a]])
            args = [number[children[p], inner + i] for i, p in enumerate(range(arguments[a], arguments[a + 1]))]
            vertices[-1].append((-float(log_p[c, rules[a]]), rules[a], args))
    return vertices
