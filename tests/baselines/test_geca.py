"""GECA swaps what the description says: a plain twin agrees on small data, and so does the paper's figure."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import csl
from csl.baselines import geca
from csl.baselines.config import GecaConfig
from csl.baselines.geca import Geca
from csl.datasets import scan
from csl.errors import InputError
from csl.examples import Example
from csl.parsing.deriver import Deriver

Sequence = tuple[str, ...]
Fragment = tuple[Sequence, ...]

SEPARATOR = ""
THREE = [Example.of("jump", "JUMP"), Example.of("walk", "WALK"), Example.of("jump and walk", "JUMP WALK")]


def made(train: list[Example], **options: object) -> set[Example]:
    """All pairs that GECA makes."""
    return {swap.example for swap in Geca(train, GecaConfig(**options)).stream(10**9)}  # type: ignore[arg-type]


# The twin: as plain as it gets.


def places(sequence: Sequence, span: Sequence) -> list[int]:
    return [i for i in range(len(sequence)) if sequence[i : i + len(span)] == span]


def with_holes(sequence: Sequence, fragment: Fragment) -> Sequence | None:
    """Replace every occurrence of every span by a hole; none if occurrences overlap or a side has no hole."""
    taken = sorted((p, len(span), f"[{k}]") for k, span in enumerate(fragment) for p in places(sequence, span))
    if any(p + n > q for (p, n, _), (q, _, _) in pairwise(taken)):
        return None
    out = list(sequence)
    for p, n, hole in reversed(taken):
        out[p : p + n] = [hole]
    middle = out.index(SEPARATOR)
    return tuple(out) if all(any(s.startswith("[") for s in side) for side in (out[:middle], out[middle:])) else None


def templates(sequence: Sequence, window: int) -> Iterator[tuple[Fragment, Sequence]]:
    """Yield (fragment, template); the span that comes first is the first of its fragment."""
    starts = ((i, n) for i in range(len(sequence)) for n in range(1, window + 1) if i + n <= len(sequence))
    spans = dict.fromkeys(sequence[i : i + n] for i, n in starts)
    inside = [span for span in spans if SEPARATOR not in span]
    for fragment in [*((span,) for span in inside), *combinations(inside, 2)]:
        if template := with_holes(sequence, fragment):
            yield fragment, template


def fill(template: Sequence, fragment: Fragment) -> Example:
    spans = {f"[{k}]": span for k, span in enumerate(fragment)}
    tokens = [token for s in template for token in spans.get(s, (s,))]
    middle = tokens.index(SEPARATOR)
    return Example(tuple(tokens[:middle]), tuple(tokens[middle + 1 :]))


def twin(train: list[Example], window: int) -> set[Example]:
    fillers, filled = defaultdict(set), defaultdict(set)
    for example in train:
        for fragment, template in templates((*example.source, SEPARATOR, *example.target), window):
            fillers[template].add(fragment)
            filled[fragment].add(template)
    tokens = {fragment: {token for span in fragment for token in span} for fragment in filled}
    pairs = {(f, g) for group in fillers.values() for f in group for g in group if not tokens[f] & tokens[g]}
    return {fill(template, g) for f, g in pairs for template in filled[f]} - set(train)


SIDES = st.lists(st.sampled_from("abcAB"), min_size=1, max_size=5).map(tuple)
SETS = st.lists(st.builds(Example, SIDES, SIDES), min_size=1, max_size=8)


@settings(deadline=None, max_examples=200)
@given(SETS, st.integers(1, 3))
def test_twin_agrees(train: list[Example], window: int) -> None:
    assert made(train, window=window) == twin(train, window)


@pytest.mark.parametrize(
    "lines",
    [
        ["a b|A B", "c b|C B", "a d|A D"],
        ["the a ran|ran ( a )", "the b ran|ran ( b )", "a b saw the a|saw ( b , a )", "the b hid|hid ( b )"],
        ["x x|X X X", "y y|Y Y Y", "x z y|X Z Y", "y x x|Y X X"],
    ],
)
def test_twin_agrees_on_data_with_structure(lines: list[str]) -> None:
    train = [Example.of(*line.split("|")) for line in lines]
    for window in (1, 2, 4):
        assert made(train, window=window) == twin(train, window)


# What the paper says.


def test_the_figure_of_the_paper() -> None:
    derived = {Example.of("walk and walk", "WALK WALK"), Example.of("jump and jump", "JUMP JUMP")}
    assert made(THREE, window=2) == derived
    csl_only = [
        Example.of("walk and jump", "WALK JUMP"),
        Example.of("walk and walk and jump", "WALK WALK JUMP"),
        Example.of("walk and jump and walk and walk", "WALK JUMP WALK WALK"),
    ]
    assert Deriver(csl.induce(THREE)).derivable([*derived, *csl_only]).all()


def test_all_commands_with_jump_come_from_jump_alone() -> None:
    commands = [Example(command, scan.interpret(command) or ()) for command in scan.commands()]
    short = [example for example in commands if len(example.source) <= 4]
    train = [e for e in short if "jump" not in e.source or len(e.source) == 1]
    assert made(train, window=1) == set(short) - set(train)


# The stream.


def test_tokens_in_common_prevent_a_swap() -> None:
    train = [Example.of("a x", "A X"), Example.of("a y", "A Y"), Example.of("b x", "B X")]
    assert Example.of("b y", "B Y") in made(train, window=1)
    shared = [Example.of("a x", "A X"), Example.of("a x y", "A X Y"), Example.of("b x", "B X")]
    assert made(shared, window=2) == {Example.of("b x y", "B X Y")}  # a → b, not x → x y


def test_the_seed_alone_decides_and_a_beginning_is_one() -> None:
    train = [Example.of(f"{x} {y}", f"{x.upper()} {y.upper()}") for x in "abcdef" for y in "uvwxyz"][::3]
    train += [Example.of(f"a {y}", f"A {y.upper()}") for y in "uvwxyz"]
    long, again = ([swap.example for swap in Geca(train, GecaConfig(window=1)).stream(50)] for _ in range(2))
    short = [swap.example for swap in Geca(train, GecaConfig(window=1)).stream(5)]
    assert long == again
    assert short == long[:5]
    assert long != [swap.example for swap in Geca(train, GecaConfig(window=1, seed=1)).stream(50)]


def test_unique_pairs_come_once_and_others_once_a_swap() -> None:
    train = [Example.of(x, y) for x, y in (("a u", "A U"), ("b u", "B U"), ("a v", "A V"))]
    every = list(Geca(train, GecaConfig(window=1)).stream(100))
    once = Geca(train, GecaConfig(window=1, unique=True))
    assert [swap.example for swap in once.stream(100)] == [Example.of("b v", "B V")]
    assert once.exhausted
    assert len(every) > 1
    assert {swap.example for swap in every} == {Example.of("b v", "B V")}
    assert list(once.stream(1)) != []
    assert not once.exhausted


def test_a_swap_says_where_it_is_from() -> None:
    found = Geca([THREE[0], *THREE], GecaConfig(window=2, unique=True))
    swaps = {swap.example.source_text: swap for swap in found.stream(10)}
    swap = swaps["walk and walk"]
    assert (swap.parent, found.fragment(swap.old), found.fragment(swap.new)) == (4, ("jump", "JUMP"), ("walk", "WALK"))
    assert (found.fragments, found.swaps) == (2, 4)


def test_nothing_to_swap_is_no_error() -> None:
    assert (
        made([]) == made(THREE[:1]) == made([Example.of("a b c", "A B C"), Example.of("d e", "D")], window=1) == set()
    )


def test_too_many_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geca, "MOST_PAIRS", 3)
    with pytest.raises(InputError, match="4 pairs of fragments to compare: too many; lower window"):
        made(THREE, window=2)
