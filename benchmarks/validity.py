"""Validity of synthetic pairs of raw text: are outputs of the language, and does each slot hold what belongs there?

    python benchmarks/validity.py FOLDER [SET ...] [--funql FILE]

FOLDER has a folder for each data set, with a train and a test file in any format that `csl augment` reads. Of 2,000
synthetic pairs, drawn as by `csl augment --force`: how many outputs the parser of their language reads (`parsed`), and
in how many each operator, key or value type is in a slot where the correct outputs of training *or test* have it
(`attested`; a lower bound, as no set has all valid outputs). FILE is `funql_grammar.txt` of GeoQuery: in its sets,
`typed` is how many outputs the operator types of FunQL admit, beside the same share of the correct test outputs.
"""

import argparse
import re
from pathlib import Path

from csl import augment
from csl.examples import Example
from csl.examples.formats import read_rows
from csl.grammar.output_cfg import ROOT, Category, OutputCfg, Production
from csl.preparing.plausible import Plausible
from csl.preparing.preparation import Preparation

NUMBER = 2000  # synthetic pairs


def main() -> None:
    """Print a line for each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--funql", type=Path)
    arguments = parser.parse_args()
    funql = read_types(arguments.funql) if arguments.funql else None
    print(f"{'set':34}{'pairs':>7}{'parsed':>9}{'attested':>10}{'typed':>8}{'of test':>9}")
    for train in sorted(arguments.folder.rglob("train.*")):
        name = train.parent.relative_to(arguments.folder).as_posix()
        if not arguments.sets or name in arguments.sets:
            test = read_rows(next(train.parent.glob("test.*"))).examples()
            print(f"{name:34}{line(read_rows(train).examples(), test, funql)}", flush=True)


def line(train: list[Example], test: list[Example], funql: OutputCfg | None) -> str:
    """Draw pairs, and write their figures."""
    made = augment(train, NUMBER, check=False)
    preparation = made.parser.preparation
    if preparation is None or not made.synthetic:
        return f"{len(made.synthetic):7,}  nothing to measure"
    outputs = [pair.target_text for pair in made.synthetic]
    gold = Plausible(preparation, [preparation.example(pair.source_text, pair.target_text) for pair in (*train, *test)])
    prepared = (preparation.example(pair.source_text, pair.target_text) for pair in made.synthetic)
    inside = [not gold.new_fillers(preparation.tree(pair.target)) for pair in prepared]
    figures = f"{len(outputs):7,}{share([parses(preparation, text) for text in outputs]):9.1%}{share(inside):10.1%}"
    if funql is None:
        return figures
    correct = share([funql.accepts(preparation.read(pair.target_text).tokens) for pair in test])
    typed = share([funql.accepts(preparation.read(text).tokens) for text in outputs])
    return f"{figures}{typed:8.1%}{correct:9.1%}" if correct else figures


def share(found: list[bool]) -> float:
    """Give the share that is true."""
    return sum(found) / len(found)


def parses(preparation: Preparation, text: str) -> bool:
    """Whether the language reads an output."""
    try:
        preparation.language.read(text)
    except ValueError:
        return False
    return True


def read_types(path: Path) -> OutputCfg:
    """Read the operator types of FunQL as a CFG of outputs."""
    productions = [Production(ROOT, (Category("Query"),))]
    for text in path.read_text("utf-8").splitlines():
        if found := re.fullmatch(r"\*n:(\w+) -> \(\{ (.*) \}\).*", text):
            symbols = (Category(s.removeprefix("*n:")) if s.startswith("*n:") else s for s in found[2].split())
            productions.append(Production(Category(found[1]), tuple(symbols)))
    return OutputCfg(productions).trimmed()


if __name__ == "__main__":
    main()
