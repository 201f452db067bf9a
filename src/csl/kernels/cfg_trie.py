"""The right-hand sides of a CFG as one trie in flat arrays, the form in which the chart kernels see it.

Right-hand sides that begin alike share their nodes, so a chart walks each common prefix once. The trie has at most one
node more than the CFG has symbols on right-hand sides.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int32]


class CompiledCfg(NamedTuple):
    """A CFG with categories 0, 1, …; node 0 of the trie is its top.

    The edges of node v are `edges[v]` … `edges[v + 1] - 1`, sorted by symbol. A category c is the symbol -1 - c, so
    categories come before terminals; the terminals begin at `terminals[v]`. The productions whose right-hand side ends
    at v have the left-hand sides `lhs[ends[v]:ends[v + 1]]`.
    """

    edges: IntArray
    terminals: IntArray
    symbol: IntArray
    child: IntArray
    ends: IntArray
    lhs: IntArray
    n_categories: int
    root: int


def compile_cfg(productions: Sequence[tuple[int, Sequence[int]]], n_categories: int, root: int) -> CompiledCfg:
    """Build the trie of productions (lhs, rhs): lhs a category, rhs of terminals ≥ 1 and categories c as -1 - c."""
    children: list[dict[int, int]] = [{}]
    completed: list[list[int]] = [[]]
    for lhs, rhs in productions:
        node = 0
        for symbol in rhs:
            node = children[node].setdefault(symbol, len(children))
            if node == len(children):
                children.append({})
                completed.append([])
        completed[node].append(lhs)
    edges = _offsets([len(c) for c in children])
    n_category_edges = np.array([sum(s < 0 for s in c) for c in children], np.int32)
    return CompiledCfg(
        edges=edges,
        terminals=edges[:-1] + n_category_edges,
        symbol=np.array([s for c in children for s in sorted(c)], np.int32),
        child=np.array([c[s] for c in children for s in sorted(c)], np.int32),
        ends=_offsets([len(c) for c in completed]),
        lhs=np.array([c for categories in completed for c in categories], np.int32),
        n_categories=n_categories,
        root=root,
    )


def _offsets(lengths: list[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
