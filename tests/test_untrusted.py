"""Files from elsewhere are data: nothing in them is run, unpacked, or written where they say."""

import ast
import json
import os
import pickle
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import csl
from csl.arrays import load_arrays
from csl.errors import InputError
from csl.examples import Example
from csl.files import write_json, write_text
from csl.report.page import write_report

from .run_folders import make_run

ROOT = Path(csl.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
# what can run code that a file holds, and what unpacks archives; zipfile only for the name of its exception
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "yaml", "tarfile", "runpy"}
FUNCTIONS = {"eval", "exec", "compile", "__import__"}
METHODS = {"unpack_archive", "extract", "extractall", "system", "popen"}


def calls(tree: ast.AST) -> Iterator[tuple[str, str, ast.Call]]:
    """Yield what calls call: the name before the dot, the name, the call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                yield ast.unparse(node.func.value), node.func.attr, node
            elif isinstance(node.func, ast.Name):
                yield "", node.func.id, node


def faults(tree: ast.AST) -> Iterator[str]:
    """Yield what a module must not have."""
    for node in ast.walk(tree):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        yield from MODULES & {name.partition(".")[0] for name in names}
    for before, name, call in calls(tree):
        options = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        if name in (METHODS if before else FUNCTIONS) or (before, name) == ("torch", "load"):
            yield f"{before}.{name}"
        if (before, name) in (("np", "load"), ("numpy", "load")) and options.get("allow_pickle") != "False":
            yield "np.load that may unpickle"
        yield from {"trust_remote_code", "shell"} & options.keys()


def test_no_code_runs_what_a_file_holds() -> None:
    found = {path.relative_to(ROOT).as_posix(): [*faults(ast.parse(path.read_text("utf-8")))] for path in SOURCES}
    assert {name: what for name, what in found.items() if what} == {}


def test_the_search_for_such_code_finds_it() -> None:
    lines = ["import pickle", "from yaml import load", "eval(x)", "torch.load(f)", "np.load(f)", "f(shell=True)"]
    assert all([*faults(ast.parse(line))] for line in lines)


class Trap:
    """What an attacker pickles: unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("kind", ["pickle", "npy", "npz"])
def test_a_pickled_file_in_place_of_a_model_is_refused_and_not_run(tmp_path: Path, kind: str) -> None:
    trap = Trap(tmp_path / "sprung")
    path = tmp_path / "model.npz"
    if kind == "pickle":
        path.write_bytes(pickle.dumps(trap))
    elif kind == "npy":
        with path.open("wb") as file:
            np.save(file, np.array([trap], object), allow_pickle=True)
    else:
        np.savez(path, about=np.array('{"sha256": ""}'), theta=np.array([trap], object))
    with pytest.raises(InputError, match=r"model\.npz: damaged file"):
        load_arrays(path, "fit again")
    assert not trap.path.exists()


HOSTILE = [
    "<script>alert(1)</script>", "\"onmouseover='alert(2)'", "<img/src=x", "javascript:alert(3)", "{{7*7}}",
    "&lt;b&gt;", "</style><script>", "<!--", "]]>", "'\"><svg/onload=alert(4)>",
]  # fmt: skip


class Page(HTMLParser):
    """Notes the elements of a page, and attributes that could run something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.risky: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.risky += [(name, value) for name, value in attrs if name.startswith("on")]
        self.risky += [(n, v) for n, v in attrs if n in ("href", "src") and not (v or "").startswith("#")]


def test_whatever_a_run_holds_is_text_in_its_report(tmp_path: Path) -> None:
    folder = tmp_path / "<script>run"
    pairs = [Example.of(f"{word} twice", f"{word} {word}", category=word) for word in HOSTILE]
    train = [Example.of(word, word) for word in HOSTILE] + pairs
    make_run(folder, train, [*pairs, Example.of("<blink>", "<marquee>")], preset="smcalflow")
    write_json(folder / "data" / "card.json", {"name": HOSTILE[0], "licence": HOSTILE[1], "notes": HOSTILE})
    rows = "".join(f"{pair.source_text}\t{HOSTILE[0]}\n" for pair in pairs)
    write_text(folder / "predictions" / "t5.tsv", f"{rows}<blink>\t<marquee>\n")
    record = json.loads((folder / "run.json").read_text("utf-8"))
    labels = {"key": "", "seconds": 0, "options": None, "figures": {"labels": {"t5": HOSTILE[0]}}, "files": {}}
    record |= {"title": HOSTILE[0], "settings": {HOSTILE[1]: HOSTILE[2]}, "versions": {HOSTILE[3]: HOSTILE[4]}}
    write_json(folder / "run.json", record | {"recipe": HOSTILE[6], "stages": record["stages"] | {"evaluate": labels}})
    write_text(folder / "recipe.toml", f"# {HOSTILE[0]}\n")
    write_report(folder, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text("utf-8")
    page = Page(text)
    assert page.elements.count("script") == 1
    assert {"img", "svg/onload", "blink", "marquee"}.isdisjoint(page.elements)
    assert page.risky == []
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "{{7*7}}" in text
