"""Readers of files that people write: examples, inputs, predictions, grammars, output CFGs, options, recipes."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from csl.examples import Example, read_examples, write_examples
from csl.examples.formats import Rows, read_inputs, read_rows, write_rows
from csl.grammar import Grammar
from csl.grammar.notation import read_rules, write_grammar
from csl.grammar.output_cfg import OutputCfg
from csl.induction.config import InductionConfig
from csl.model.config import FitConfig
from csl.options import read_options
from csl.runs.recipe import TABLES, read_recipe
from csl.sampling.config import SampleConfig
from csl.seq2seq.predictions import Predictions

from .reader import Reader, plain, texts

# examples

PAIRS = "jump\tJUMP\tverb\nrun twice\tRUN RUN\nwalk <b> \\frac\tWALK é\tx\ty\n\nlook and run\tLOOK ( RUN )\tverb\n"
ROWS = "".join(
    json.dumps({"input": x, "output": y, "category": "c", "n": 1}) + "\n"
    for x, y in (("jump", "JUMP"), ("run twice", "RUN RUN"), ("walk \U0001f600", "WALK é"))
)


def check_examples(name: str) -> Callable[[Path, Any], None]:
    """No line is lost, and what is written again is read again."""

    def check(folder: Path, examples: list[Example]) -> None:
        lines = plain(folder / name).split(b"\n")
        assert len(examples) == sum(bool(line.removesuffix(b"\r").strip(b" ")) for line in lines) - _only_mark(lines[0])
        for ending in (".tsv", ".jsonl") if not name.startswith("x.jsonl") else (".jsonl",):
            write_examples(folder / f"again{ending}", examples, columns=("category",))
            again = list(read_examples(folder / f"again{ending}", columns=("category",)))
            assert again == examples
            assert [e.meta.get("category", "") for e in again] == [e.meta.get("category", "") for e in examples]
            (folder / f"again{ending}").unlink()

    return check


def _only_mark(line: bytes) -> bool:
    """Tell whether a line is empty but for a byte order mark."""
    return line.startswith(b"\xef\xbb\xbf") and not line.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\r").strip(b" ")


def examples_reader(name: str, content: bytes) -> Reader:
    """Make the reader of a file of examples."""
    return Reader(
        f"examples, {name[1:]}",
        lambda: {name: content},
        (name,),
        lambda folder: list(read_examples(folder / name, columns=("category",))),
        check_examples(name),
    )


CHAT = "".join(
    json.dumps({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": x}, answer], "tools": []})
    + "\n"
    for x, answer in (
        ("fan on", {"role": "assistant", "tool_calls": [{"function": {"name": "on", "arguments": '{"x": "fan"}'}}]}),
        ("hello", {"role": "assistant", "content": "hi é"}),
    )
)
PROMPTS = "".join(json.dumps({"prompt": x, "completion": {"x": [1, None]}}) + "\n" for x in ("a b", "c"))
CSV = 'id,question,query\n1,"jump, twice",JUMP\n\n2,"a ""b""\nc",f(a)\n'


def check_rows(name: str) -> Callable[[Path, Any], None]:
    """Nothing is lost: every line is in a row or in an error, and what is written again is read again."""

    def check(folder: Path, found: Rows) -> None:
        text = plain(folder / name).decode(errors="replace").replace("\r\n", "\n").removeprefix("\ufeff")
        filled = [line for line in text.split("\n") if line.strip(" ")]
        taken = [line for row in found.rows for line in row.record.split("\n") if line.strip(" ")]
        lost = len(filled) - len(taken) - len(found.skipped) - bool(found.layout.header)
        assert lost == 0, (text, found)
        write_rows(folder / f"again-{name}", found)
        again = read_rows(folder / f"again-{name}", found.format, skip_bad=True)
        (folder / f"again-{name}").unlink()
        assert (again.rows, again.skipped) == (found.rows, [])

    return check


def rows_reader(name: str, content: str) -> Reader:
    """Make the reader of a file of rows, of which bad ones are left out."""
    packed = gzip.compress(content.encode(), mtime=0) if name.endswith(".gz") else content.encode()
    return Reader(
        f"rows, {name}",
        lambda: {name: packed},
        (name,),
        lambda folder: read_rows(folder / name, skip_bad=True),
        check_rows(name),
    )


def check_inputs(folder: Path, inputs: list[str]) -> None:
    """No line is lost."""
    name = next(path.name for path in folder.iterdir())
    lines = plain(folder / name).decode().removeprefix("\ufeff").split("\n")
    assert len(inputs) == sum(bool(line.removesuffix("\r").strip(" \t")) for line in lines)
    assert all("\n" not in line and "\t" not in line for line in inputs)


def check_predictions(folder: Path, found: Predictions) -> None:
    """No line is lost, and what is written again is read again."""
    lines = plain(folder / "x.tsv").decode().removeprefix("\ufeff").split("\n")
    assert len(found.inputs) == len(found.outputs) == sum(bool(line.strip()) or "\t" in line for line in lines)
    rows = (f"{x}\t{y}\n" for x, y in zip(found.inputs, found.outputs, strict=True))
    (folder / "again.tsv").write_bytes(b"\xef\xbb\xbf" + "".join(rows).encode())
    again = Predictions.read(folder / "again.tsv")
    (folder / "again.tsv").unlink()
    assert (again.inputs, again.outputs) == (found.inputs, found.outputs)


# grammars

RULES = (
    "# seeds\njump ### JUMP\nNT_1 twice ### NT_1 NT_1\n\nNT_2 and NT_1 ### NT_2 ; NT_1\n\\### \\u{a0} ### \\NT_1 \\\\\n"
)
CFG = """ROOT => ##ACT
ROOT => ##ACT ; ##ROOT
ACT => JUMP
ACT => LEFT ( ##ACT )
# comment
ACT => \\=> \\##X \\u{20}
"""


def read_all_rules(folder: Path) -> Grammar:
    """Read a file of rules."""
    return Grammar(read_rules(folder / "g.txt"))


def check_rules(folder: Path, grammar: Grammar) -> None:
    """No line is lost, and what is written again is read again."""
    lines = plain(folder / "g.txt").decode().removeprefix("\ufeff").split("\n")
    wanted = sum(bool(line.strip()) and not line.startswith("#") for line in lines)
    assert len(list(read_rules(folder / "g.txt"))) == wanted
    write_grammar(folder / "again.txt", grammar)
    assert list(read_rules(folder / "again.txt")) == list(grammar)
    (folder / "again.txt").unlink()
    assert "".join(map(str, grammar)).isprintable()


def check_cfg(folder: Path, cfg: OutputCfg) -> None:
    """Written again it is the same, and it can be asked about outputs."""
    cfg.write(folder / "again.cfg")
    assert OutputCfg.read(folder / "again.cfg").productions == cfg.productions
    (folder / "again.cfg").unlink()
    if len(cfg.productions) < 50 and all(len(p.rhs) < 50 for p in cfg.productions):
        cfg.accepts(["JUMP", ";", "JUMP"])
        cfg.typings(["LEFT", "(", "JUMP", ")"])
    assert str(cfg).encode()


# options and recipes

OPTIONS = {
    "induction": (InductionConfig(), "k_alpha = 1\nsteps = 3\nrepeated_target = false\n"),
    "fit": (FitConfig(), "[fit]\nstates = 4\noptimizer = 'em'\nlearning_rate = 0.5\n"),
    "sampling": (SampleConfig(), "[sampling]\nstrategy = 'tempered'\ntemperature = inf\nmax_depth = 3\n"),
}
RECIPE = """title = "Commands"
extends = "base"
[data]
train = "train.tsv"
test = "test.tsv"
seed_rules = "seed_rules.txt"
[induction]
steps = 3
[fit]
states = 2
optimizer = "em"
steps = 3
[sampling]
number = 20
max_depth = 4
temperature = 2.5
[train]
steps = 2
prefix = "a \\" b"
"""


def options_reader(table: str) -> Reader:
    """Make the reader of a TOML file with options."""
    config, content = OPTIONS[table]
    return Reader(
        f"options, {table}",
        lambda: {"o.toml": content.encode()},
        ("o.toml",),
        lambda folder: read_options(folder / "o.toml", table, config),
    )


def check_recipe(folder: Path, recipe: Any) -> None:
    """Written again it is the same, but for where files are."""
    (folder / "again.toml").write_text(recipe.to_toml(), encoding="utf-8")
    again = read_recipe(str(folder / "again.toml"))
    (folder / "again.toml").unlink()
    for table in TABLES:
        old, new = (getattr(r, table).model_dump() for r in (recipe, again))
        for key in ("train", "dev", "test", "seed_rules", "output_cfg", "unlabelled"):
            old.pop(key, None), new.pop(key, None)
        assert repr(old) == repr(new)
    assert again.title == recipe.title


READERS = [
    examples_reader("x.tsv", PAIRS.encode()),
    examples_reader("x.jsonl", ROWS.encode()),
    examples_reader("x.tsv.gz", gzip.compress(PAIRS.encode(), mtime=0)),
    examples_reader("x.jsonl.gz", gzip.compress(ROWS.encode(), mtime=0)),
    rows_reader("x.csv", CSV),
    rows_reader("x.tsv", PAIRS),
    rows_reader("chat.jsonl", CHAT),
    rows_reader("prompts.jsonl.gz", PROMPTS),
    Reader(
        "inputs, .txt",
        texts({"x.txt": "jump twice\nrun\tx\n\n\ta\n"}),
        ("x.txt",),
        lambda folder: read_inputs(folder / "x.txt"),
        check_inputs,
    ),
    Reader(
        "inputs, .jsonl",
        texts({"x.jsonl": ROWS}),
        ("x.jsonl",),
        lambda folder: read_inputs(folder / "x.jsonl"),
        check_inputs,
    ),
    Reader(
        "predictions",
        texts({"x.tsv": "jump\tJUMP\t-1.0\nrun\t\n\nlook\tLOOK\n"}),
        ("x.tsv",),
        lambda folder: Predictions.read(folder / "x.tsv"),
        check_predictions,
    ),
    Reader("grammar, seed rules", texts({"g.txt": RULES}), ("g.txt",), read_all_rules, check_rules),
    Reader("output CFG", texts({"o.cfg": CFG}), ("o.cfg",), lambda folder: OutputCfg.read(folder / "o.cfg"), check_cfg),
    *map(options_reader, OPTIONS),
    Reader(
        "recipe",
        texts({"r.toml": RECIPE, "base.toml": "[induction]\nk_alpha = 1\n"}),
        ("r.toml", "base.toml"),
        lambda folder: read_recipe(str(folder / "r.toml")),
        check_recipe,
    ),
]
