"""Raw text: what is learnt from data sets as people have them, with no option.

    python benchmarks/raw_text.py FOLDER [SET ...]

FOLDER has a folder for each data set, with a train and a test file in any format that `csl augment` reads. A line for
each set: the seconds of `csl augment`; how many test inputs are parsed, how many correctly, and how many of those
parsed; of the test outputs whose tokens training has, how many the categories accept, and how many they refuse once two
constituents are swapped; how many synthetic pairs there are.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from csl.cli import app
from csl.examples import Example
from csl.examples.formats import read_rows
from csl.preparing.evaluate import evaluate
from csl.preparing.preparation import Preparation
from csl.preparing.trees import Node
from csl.runs.folder import RunFolder

NUMBER = 20_000  # synthetic pairs
MOST = 2000  # test pairs that are looked at


def main(folder: Path, names: list[str]) -> None:
    """Print a line for each data set."""
    print(f"{'set':34}{'s':>6}{'covered':>9}{'correct':>9}{'precise':>9}{'accepts':>9}{'refuses':>9}{'pairs':>8}")
    for train in sorted(folder.rglob("train.*")):
        name = train.parent.relative_to(folder).as_posix()
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory() as place:
            start = time.perf_counter()
            done = CliRunner().invoke(app, ["augment", str(train), "--out", f"{place}/run", "-n", str(NUMBER)])
            seconds = time.perf_counter() - start
            if done.exit_code:
                print(f"{name:34}{seconds:6.0f}  {done.output.strip().splitlines()[-1][:80]}")
                continue
            test = read_rows(next(train.parent.glob("test.*"))).examples()[:MOST]
            print(f"{name:34}{seconds:6.0f}{figures(RunFolder(f'{place}/run'), test)}", flush=True)


def figures(run: RunFolder, test: list[Example]) -> str:
    """Write the figures of a run."""
    found = evaluate(run.parser(), test)
    score = found.score
    shares = [score.coverage, score.accuracy, score.precision]
    preparation, cfg = run.preparation(), run.output_cfg()
    if preparation and cfg:
        known = {token for example in run.training() for token in example.target}
        trees = [tree for tree in targets(preparation, test) if known.issuperset(tree.tokens)]
        swapped = [tokens for k, tree in enumerate(trees) if (tokens := swap(tree, k))]
        accepted = sum(cfg.accepts(tree.tokens) for tree in trees)
        shares += [accepted / max(1, len(trees)), 1 - sum(map(cfg.accepts, swapped)) / max(1, len(swapped))]
    text = "".join(f"{share:9.1%}" for share in shares).ljust(45)
    return f"{text}{len(run.samples()):8,}{'' if not found.given_up else '  ' + found.given_up}"


def targets(preparation: Preparation, test: list[Example]) -> Iterator[Node]:
    """Give the outputs of test pairs as trees with placeholders."""
    for pair in test:
        source, program = preparation.words(pair.source_text), preparation.read(pair.target_text)
        yield preparation.values.link(source, preparation.schema.tree(program), preparation.schema.sorted).tree


def swap(tree: Node, seed: int) -> tuple[str, ...] | None:
    """Swap two different constituents, neither in the other; None if there are none."""
    spans: list[tuple[int, int]] = []

    def visit(node: Node, start: int) -> int:
        at, children = start, iter(node.children)
        for token in node.pattern:
            at = visit(next(children), at) if token is None else at + 1
        spans.append((start, at))
        return at

    visit(tree, 0)
    tokens = tree.tokens
    pairs = [(x, y) for x in spans for y in spans if x[1] <= y[0] and tokens[slice(*x)] != tokens[slice(*y)]]
    if not pairs:
        return None
    (a, b), (c, d) = pairs[int(np.random.default_rng(seed).integers(len(pairs)))]
    return (*tokens[:a], *tokens[c:d], *tokens[b:c], *tokens[a:b], *tokens[d:])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
