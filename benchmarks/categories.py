"""Categories of raw text: which test outputs they accept, and what masks made from them cost.

    python benchmarks/categories.py FOLDER [SET ...] --model MODEL

FOLDER has a folder for each data set, with a train and a test file in any format that `csl augment` reads. Of the test
outputs whose tokens training has: how many the categories accept, how many they refuse once two constituents are
swapped, and how many the mask of `csl predict` admits; of all test outputs, how many it admits. Then, in CPU time, the
seconds to make the mask, and the microseconds to check one token of a test output and to compute the mask there.
MODEL has the tokenizer, a Hugging Face name or folder.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from csl.examples import Example
from csl.examples.formats import read_rows
from csl.preparing.preparation import Preparation
from csl.preparing.trees import Node
from csl.preparing.writing import decoding_grammar
from csl.runs.stages.prepare import find_preparation
from csl.seq2seq.codec import new_codec
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.mask import OutputMask

MOST = 2000  # test pairs that are looked at
TIMED = 100  # test outputs that masks are timed on


def main() -> None:
    """Print a line for each data set, and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--model", required=True)
    arguments = parser.parse_args()
    names = ["accepts", "refuses", "admits", "of all", "make, s", "check, µs", "mask, µs"]
    print(f"{'set':34}{'outputs':>9}" + "".join(f"{name:>10}" for name in names))
    found = []
    for train in sorted(arguments.folder.rglob("train.*")):
        name = train.parent.relative_to(arguments.folder).as_posix()
        if not arguments.sets or name in arguments.sets:
            test = read_rows(next(train.parent.glob("test.*"))).examples()[:MOST]
            outputs, figures = measure(read_rows(train).examples(), test, arguments.model)
            found.append(figures)
            print(f"{name:34}{outputs:9,}{line(figures)}", flush=True)
    print(f"{'mean':43}{line(list(np.mean(found, axis=0)))}")


def line(figures: list[float]) -> str:
    """Write four shares, and three times."""
    return "".join(f"{share:10.1%}" for share in figures[:4]) + "".join(f"{value:10.1f}" for value in figures[4:])


def measure(train: list[Example], test: list[Example], model: str) -> tuple[int, list[float]]:
    """Give the number of test outputs whose tokens training has, and the figures."""
    prepared = find_preparation(train)
    if prepared is None:
        raise SystemExit("these outputs have no structure")
    cfg, preparation = prepared.categories.cfg, prepared.preparation
    known = {token for example in prepared.examples for token in example.target}
    trees = list(targets(preparation, test))
    is_known = np.array([known.issuperset(tree.tokens) for tree in trees])
    accepted = [cfg.accepts(tree.tokens) for tree, good in zip(trees, is_known, strict=True) if good]
    swapped = [cfg.accepts(tokens) for k in np.flatnonzero(is_known) if (tokens := swap(trees[k], int(k)))]
    codec = new_codec(TrainConfig(model=model, max_target=1024), (pair.target_text for pair in (*train, *test)))
    start = time.process_time()
    mask = OutputMask(decoding_grammar(prepared.any_order, preparation), codec)
    making = time.process_time() - start
    rows = codec.encode_targets([pair.target_text for pair in test])
    admitted = np.array([mask.accepts(row) for row in rows])
    shares = [np.mean(accepted), 1 - np.mean(swapped), admitted[is_known].mean(), admitted.mean()]
    return int(is_known.sum()), [*map(float, shares), making, *timed(mask, rows[:TIMED], len(codec.tokenizer))]


def timed(mask: OutputMask, rows: list[list[int]], vocabulary: int) -> tuple[float, float]:
    """Give the microseconds to check a token, and to compute a mask."""
    checks = masks = 0.0
    tokens = 0
    for row in rows:
        prefix = mask.start()
        for token in row:
            start = time.process_time()
            following = prefix.followed_by(token)
            between = time.process_time()
            prefix.allowed(vocabulary)
            checks, masks, tokens = checks + between - start, masks + time.process_time() - between, tokens + 1
            if following is None:
                break
            prefix = following
    return checks / tokens * 1e6, masks / tokens * 1e6


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
    main()
