"""Random sets of outputs, written in each language."""

import json
from collections.abc import Callable, Sequence

from hypothesis import strategies as st

Tree = tuple[str, list["Tree"]]
LEAVES = st.sampled_from(["texas", "new york", "3", "rome", "x", "a_b"])
HEADS = st.sampled_from(["f", "g", "and", "size", "loc"])


def trees() -> st.SearchStrategy[Tree]:
    """Operators above operators or leaves; of a leaf, the list is empty."""
    leaf = LEAVES.map(lambda name: (name, list[Tree]()))

    def above(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        return st.tuples(HEADS, st.lists(children, min_size=1, max_size=3))

    return above(st.recursive(leaf, above, max_leaves=5))


def outputs() -> st.SearchStrategy[dict[str, list[str]]]:
    """Some outputs, by the name of the language that they are written in."""

    def written(found: Sequence[Tree]) -> dict[str, list[str]]:
        return {name: [write(tree) for tree in found] for name, write in WRITERS.items()}

    return st.lists(trees(), min_size=1, max_size=6).map(written)


def _calls(tree: Tree) -> str:
    name, children = tree
    return f"{name}({', '.join(map(_calls, children))})" if children else f"'{name}'"


def _sexpr(tree: Tree) -> str:
    name, children = tree
    return f"({name} {' '.join(map(_sexpr, children))})" if children else f'"{name}"'


def _json(tree: Tree) -> str:
    def value(tree: Tree) -> object:
        name, children = tree
        if not children:
            return int(name) if name.isdigit() else name
        if name == "and":
            return [value(child) for child in children]
        return {"op": name, **{f"key {i}": value(child) for i, child in enumerate(children)}}

    return json.dumps(value(tree))


def _top(tree: Tree) -> str:
    name, children = tree
    return f"[IN:{name.upper()} {' '.join(map(_top, children))} ]" if children else name


def _sql(tree: Tree) -> str:
    name, children = tree
    inner = [_sql(child) if child[1] else f"SELECT b FROM u WHERE c = '{child[0]}'" for child in children]
    condition = " AND ".join(f"a{i} IN ({one})" for i, one in enumerate(inner))
    return f"SELECT {name}_of FROM t WHERE {condition}"


WRITERS: dict[str, Callable[[Tree], str]] = {
    "calls": _calls, "sexpr": _sexpr, "json": _json, "top": _top, "sql": _sql,
    "commands": lambda tree: " ".join(("do", *_leaves(tree))), "tokens": lambda tree: " ".join(_leaves(tree)),
    "code": _calls,
}  # fmt: skip


def _leaves(tree: Tree) -> list[str]:
    name, children = tree
    return [leaf for child in children for leaf in _leaves(child)] if children else name.split()
