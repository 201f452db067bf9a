"""`csl geca`: what is made, where it goes, and where it is from."""

import json
from pathlib import Path

import pytest

import csl
from csl.examples import Example, read_examples, write_examples

from .commands import contents, done, refused, write

PAIRS = {
    "jump": "JUMP", "walk": "WALK", "run": "RUN", "walk left": "LEFT WALK", "walk right": "RIGHT WALK",
    "walk twice": "WALK WALK", "run left": "LEFT RUN", "jump and walk": "JUMP WALK", "run and walk": "RUN WALK",
}  # fmt: skip


@pytest.fixture
def train(tmp_path: Path) -> Path:
    """A training file with a pair twice."""
    examples = [Example.of(x, y) for x, y in PAIRS.items()]
    write_examples(tmp_path / "train.tsv", [examples[0], *examples])
    return tmp_path / "train.tsv"


def geca(train: Path, name: str, *arguments: object) -> list[str]:
    return done("geca", train, "--out", train.parent / name, *arguments)


def test_all_pairs_are_new_and_the_card_says_what_was_done(train: Path) -> None:
    lines = geca(train, "new.tsv", "--unique", "--window", 1, "--seed", 3)
    made = list(read_examples(train.parent / "new.tsv"))
    assert Example.of("jump twice", "JUMP JUMP") in made
    assert len(made) == len(set(made))
    assert not set(made) & set(read_examples(train))
    assert lines[0] == f"{train}: 10 examples, 9 distinct"
    assert any(line.startswith(f"{len(made)} pairs (window 1 unique, seed 3); ") for line in lines)
    assert any(line.startswith("fewer than 100,000") for line in lines)
    card = json.loads((train.parent / "new.card.json").read_text("utf-8"))
    assert card["geca"] == {"window": 1, "unique": True, "seed": 3}
    assert (card["written"], card["exhausted"]) == (len(made), True)


def test_the_same_seed_gives_the_same_bytes(train: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        geca(train, f"{name}.tsv", "--seed", seed, "-n", 5)
    a, b, c = ((train.parent / f"{name}.tsv").read_bytes() for name in "abc")
    assert a == b != c
    assert a.count(b"\n") == 5


def test_provenance_leads_back_to_example_and_fragments(train: Path) -> None:
    geca(train, "new.jsonl", "--provenance", "--unique", "--window", 1)
    found = next(e for e in read_examples(train.parent / "new.jsonl") if e.source_text == "jump twice")
    parent = list(read_examples(train))[int(found.meta["parent"]) - 1]
    assert parent.source_text == "walk twice"
    assert (found.meta["old"], found.meta["new"]) == ("walk | WALK", "jump | JUMP")


def test_old_and_new_pairs_are_merged(train: Path) -> None:
    merged = train.parent / "merged.tsv"
    lines = geca(train, "new.tsv", "-n", 4, "--merge", merged)
    assert any(str(merged) in line and "10 original pairs × 1 and 4 new × 1" in line for line in lines)
    old, new = list(read_examples(train)), list(read_examples(train.parent / "new.tsv"))
    assert list(read_examples(merged)) == old + new
    geca(train, "new.tsv", "-n", 4, "--merge", merged, "--weights")
    weighted = list(read_examples(merged, columns=("weight", "origin")))
    assert [(e, e.meta["weight"]) for e in weighted] == [*((e, "1") for e in old), *((e, "1") for e in new)]


def test_nothing_to_swap_leaves_the_old_pairs(tmp_path: Path) -> None:
    train = write(tmp_path / "train.tsv", {"a b": "A", "c d e": "B"})
    geca(train, "new.tsv", "--window", 1, "--merge", tmp_path / "merged.tsv")
    assert (tmp_path / "new.tsv").read_bytes() == b""
    assert len(list(read_examples(tmp_path / "merged.tsv"))) == 2


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--window", "0"], "window = 0"),
        (["--weights"], "--merge"),
        (["--merge", "{folder}/new.tsv"], "--merge"),
        (["--merge", "{folder}/../{name}/train.tsv"], "train.tsv: "),
    ],
)
def test_wrong_options_are_refused(train: Path, arguments: list[str], named: str) -> None:
    before = contents(train.parent)
    options = [a.format(folder=train.parent, name=train.parent.name) for a in arguments]
    assert named in refused("geca", train, "--out", train.parent / "new.tsv", *options)
    assert contents(train.parent) == before


def test_python_has_it_too(train: Path) -> None:
    mixture = csl.geca(list(read_examples(train)), 6, csl.GecaConfig(window=1, unique=True))
    geca(train, "new.tsv", "-n", 6, "--window", 1, "--unique")
    assert mixture.synthetic == list(read_examples(train.parent / "new.tsv"))
    assert len(mixture) == 10 + 6
