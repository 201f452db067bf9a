"""Imports only go down the layers, and every module says what it is for."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "csl"

# From top to bottom. A layer may import itself and the rows below; layers in one row know nothing of each other.
ROWS = [
    ["__main__"],
    ["cli"],
    ["api", "experiments", "reference"],
    ["runs.stages"],
    ["report"],
    ["runs"],
    ["seq2seq", "baselines", "sampling", "preparing"],
    ["datasets"],
    ["model", "induction", "splits"],
    ["parsing"],
    ["grammar"],
    ["engine", "examples"],
    ["kernels", "lock", "arrays", "options", "hub", "languages", "logistic"],
    ["files", "log"],
    ["errors"],
]
ROW_OF = {layer: row for row, layers in enumerate(ROWS) for layer in layers}
MODULES = sorted(PACKAGE.rglob("*.py"))


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield (line, module) of every import, wherever it stands, as a full name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import; write the full name"
            yield node.lineno, node.module or ""
            if node.module == "csl":  # `from csl import grammar` names a layer, `from csl import __version__` does not
                yield from ((node.lineno, f"csl.{a.name}") for a in node.names if a.name in ROW_OF)


def layer_of(module: str) -> str | None:
    """Return the layer of a module of the package; the package itself is none."""
    package, *rest = module.split(".")
    if package != "csl" or not rest:
        return None
    return next((name for name in (".".join(rest[:2]), rest[0]) if name in ROW_OF), rest[0])


def wrong_imports(name: str, source: str) -> list[str]:
    """List the imports of a module that do not go down."""
    own = layer_of(name)
    if own is None:  # csl/__init__.py opens everything, on demand
        return []
    found = ((line, module, layer_of(module)) for line, module in imports(ast.parse(source)))
    return [
        f"{name}, line {line}: {own} imports {module}"
        for line, module, layer in found
        if layer is not None and layer != own and ROW_OF[layer] <= ROW_OF[own]
    ]


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_every_layer_has_its_place() -> None:
    assert {layer_of(module_name(path)) for path in MODULES} - {None} <= set(ROW_OF)


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_only_go_down(path: Path) -> None:
    assert wrong_imports(module_name(path), path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("name", "source", "wrong"),
    [
        ("csl.grammar.rules", "from csl.examples import Example", False),
        ("csl.grammar.rules", "import csl.grammar.symbols, csl.errors", False),
        ("csl.grammar.rules", "from csl import __version__", False),
        ("csl.grammar.rules", "from csl.parsing.forest import Forest", True),
        ("csl.grammar.rules", "def f():\n    import csl.parsing", True),
        ("csl.grammar.rules", "from csl import induction", True),
        ("csl.induction.auto", "from csl.datasets.scan import prepare", True),
        ("csl.examples", "import numpy, cslib.parsing", False),
        ("csl", "from csl.api import induce", False),
    ],
)
def test_the_check_itself(name: str, source: str, wrong: bool) -> None:
    assert bool(wrong_imports(name, source)) is wrong
