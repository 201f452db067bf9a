"""Packing loses nothing, mixes nothing, and keeps to its shape."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.seq2seq.batches import IGNORED, Batch, Batches, Encoded, padded
from csl.seq2seq.packing import Packer, Rows

IDS = st.lists(st.integers(1, 99), min_size=1, max_size=12)
PAIRS = st.lists(st.tuples(IDS, IDS), min_size=1, max_size=20)
Pair = tuple[list[int], list[int]]


def batch_of(pairs: list[Pair]) -> Batch:
    (source, mask), (labels, real) = padded([s for s, _ in pairs], 0), padded([t for _, t in pairs], IGNORED)
    return Batch(source, mask, labels, int(real.sum()))


def unpacked(rows: Rows) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The pairs of a pass, as their numbers in the rows say."""
    found = []
    for source, source_pair, labels, labels_pair in zip(
        rows.source, rows.source_pair, rows.labels, rows.labels_pair, strict=True
    ):
        assert (labels[labels_pair == 0] == IGNORED).all()
        for number in range(1, source_pair.max() + 1):
            places = [np.flatnonzero(pair == number) for pair in (source_pair, labels_pair)]
            assert all((np.diff(each) == 1).all() for each in places)  # one after the other: distances are as before
            found.append((tuple(source[places[0]].tolist()), tuple(labels[places[1]].tolist())))
    return found


@settings(deadline=None, max_examples=50)
@given(PAIRS, st.integers(12, 40), st.integers(12, 40), st.integers(1, 5))
def test_every_pair_is_in_one_place_and_passes_have_one_shape(
    pairs: list[Pair], wide: int, long: int, height: int
) -> None:
    packer, batch = Packer(wide, long, height), batch_of(pairs)
    wanted = Counter((tuple(s), tuple(t)) for s, t in pairs)
    passes, [single] = list(packer.passes(batch)), list(packer.passes(batch, single=True))
    assert Counter(pair for rows in passes for pair in unpacked(rows)) == wanted
    assert Counter(unpacked(single)) == wanted
    for rows in passes:
        assert rows.source.shape == rows.source_pair.shape == (height, wide)
        assert rows.labels.shape == rows.labels_pair.shape == (height, long)


@settings(deadline=None, max_examples=20)
@given(PAIRS, st.integers(1, 9), st.integers(1, 3))
def test_the_shape_of_batches_takes_their_longest_pair_and_one_pass(pairs: list[Pair], size: int, parts: int) -> None:
    sources, targets = zip(*pairs, strict=True)
    batches = Batches(Encoded(sources, targets), Encoded([], []), 0, size * parts, 0, 0)
    packer = Packer.of(batches, parts)
    assert packer.wide >= max(map(len, sources))
    assert packer.long >= max(map(len, targets))
    assert all(len(list(packer.passes(batches[step].part(0, parts)))) == 1 for step in range(9))


def test_rows_are_filled() -> None:
    pairs = [([1] * s, [2] * t) for s, t in ((8, 8), (4, 4), (4, 4), (2, 6), (6, 2))]
    assert sorted(map(sorted, Packer(8, 8, 1).rows(batch_of(pairs)))) == [[0], [1, 2], [3, 4]]
