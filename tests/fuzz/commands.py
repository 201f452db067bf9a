"""Commands on damaged files, as readers: no traceback, and errors that `csl` prints as one line."""

from functools import cache
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from csl.cli import app

from .reader import Files, Reader
from .run_readers import RECIPE, TEST, run_files

FILES = {
    "csl.tsv": "".join(f"{x}\t{y}\n" for x, y in TEST.items()),
    "t5.tsv": "".join(f"{x}\t\n" for x in TEST),
    "inputs.txt": "jump twice\nrun and walk\n",
    "options.toml": "states = 2\noptimizer = 'em'\nsteps = 2\n",
    "base.toml": "[induction]\nk_alpha = 1\n",
    "r.toml": RECIPE.replace('"train.tsv"', '"data/train.tsv"').replace('"test.tsv"', '"data/test.tsv"'),
    "o.cfg": "ROOT => ##A\nROOT => ##ROOT ##A\nA => WALK\nA => RUN\nA => JUMP\n",
}
GRAMMAR, MODEL = ("grammar.txt",), ("grammar.txt", "model.npz")
PAIRS = ("data/train.tsv", "data/test.tsv")


@cache
def files() -> Files:
    """Give a run folder with what commands take beside it."""
    return {**run_files(), **{name: content.encode() for name, content in FILES.items()}}


def command(line: str, *names: str, weight: float = 0.05) -> Reader:
    """Make a reader of a command line; a word that starts with @ is a file in the folder, @ alone the folder."""

    def read(folder: Path) -> Any:
        words = [f"{folder}/{word[1:]}" if word.startswith("@") else word for word in line.split()]
        result = CliRunner().invoke(app, words)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code in (0, 1, 2), result.output  # 1: not covered, or faults were found
        assert "Traceback" not in result.output
        return result.stdout

    return Reader(f"csl {line.partition(' @')[0]}", files, names, read, weight=weight, writes=True, named=False)


READERS = [
    command("grammar show @", *GRAMMAR),
    command("grammar check @grammar.txt --output-cfg @o.cfg", *GRAMMAR, "o.cfg"),
    command("grammar coverage @ @data/test.tsv", *GRAMMAR, *PAIRS),
    command("grammar explain @ walk", *GRAMMAR),
    command("parse @ @inputs.txt", *MODEL, "inputs.txt"),
    command("evaluate @ @data/test.tsv", *MODEL, *PAIRS),
    command("sample @ -n 5 --new --provenance --out @s.tsv", *MODEL, "run.json", "data/train.tsv", "data/card.json"),
    command(
        "induce @data/train.tsv --out @new --seed-rules @seed_rules.txt --output-cfg @o.cfg",
        "seed_rules.txt",
        "o.cfg",
        *PAIRS,
    ),
    command("fit @ --config @options.toml", *GRAMMAR, "metrics/fit.jsonl", "options.toml", "run.json", "recipe.toml"),
    command("augment @data/train.tsv --out @new -n 5", "data/train.tsv", "data/card.json", weight=0.01),
    command("report @", "run.json", "metrics/induce.jsonl", "samples.tsv", "samples.card.json"),
    command("run @r.toml --runs @runs --until induce", "r.toml", "base.toml", "seed_rules.txt", *PAIRS),
    command("runs @", "run.json"),
    command("table main @", "run.json", "recipe.toml"),
    command("ensemble @csl.tsv @t5.tsv --test @data/test.tsv", "csl.tsv", "t5.tsv", *PAIRS),
    command("data split @data/train.tsv --by tmcd --out @new", "data/train.tsv"),
    command("data divergence @data/train.tsv @data/test.tsv", *PAIRS),
]
