"""Batches hold the proportion, take every pair in turn, depend on seed and step alone, and have few shapes.

Micro-batches, and the shares of processes, are the same pairs.
"""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.seq2seq.batches import IGNORED, LENGTHS, Batch, Batches, Encoded, rounded

PAD, POOL = 7, 32  # batches looked at together
shares = st.one_of(st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.floats(0, 1))


def encoded(n: int, seed: int = 0, longest: int = 60) -> Encoded:
    """Pairs of random lengths; ids may be those of padding, as nothing says they may not."""
    chance = np.random.default_rng(seed)
    sources, targets = (
        [chance.integers(0, 9, length).tolist() for length in chance.integers(1, longest, n)] for _ in "xy"
    )
    return Encoded(sources, targets)


def new_batches(originals: int, synthetics: int, share: float, size: int, seed: int = 5) -> Batches:
    return Batches(encoded(originals, 1), encoded(synthetics, 2), share, size, seed, PAD)


def pools(batches: Batches, number: int) -> list[list[int]]:
    """The numbers of the pairs in each of the first pools."""
    return [[int(i) for s in range(POOL) for i in batches.members(p * POOL + s)] for p in range(number)]


def equal(a: Batch, b: Batch) -> bool:
    same = all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("source", "mask", "labels"))
    return same and a.tokens == b.tokens


# the mix


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), shares, st.integers(1, 9))
def test_pools_hold_the_proportion(originals: int, synthetics: int, share: float, size: int) -> None:
    made, total = 0, 0
    for pool in pools(new_batches(originals, synthetics, share, size), 4):
        assert len(pool) == POOL * size
        made += sum(i >= originals for i in pool)
        total += len(pool)
        assert abs(made - share * total) <= 0.5


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), shares, st.integers(1, 9))
def test_no_pair_is_seen_twice_before_all_of_its_part_are_seen_once(
    originals: int, synthetics: int, share: float, size: int
) -> None:
    if not originals + synthetics:
        return
    counts: Counter[int] = Counter()
    for pool in pools(new_batches(originals, synthetics, share, size), 3):
        counts.update(pool)
        assert set(counts) <= set(range(originals + synthetics))
        for part in (range(originals), range(originals, originals + synthetics)):
            seen = [counts[i] for i in part] or [0]
            assert max(seen) - min(seen) <= 1


@pytest.mark.parametrize(("originals", "synthetics"), [(7, 0), (0, 7)])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_where_one_part_is_empty_all_pairs_are_of_the_other(originals: int, synthetics: int, share: float) -> None:
    [pool] = pools(new_batches(originals, synthetics, share, 7), 1)
    assert Counter(pool) == dict.fromkeys(range(7), POOL)


def test_every_batch_has_both_parts() -> None:
    for share, counts in ((0.5, {8}), (0.3, {4, 5})):
        batches = new_batches(50, 50, share, 16)
        assert {int((batches.members(step) >= 50).sum()) for step in range(POOL)} == counts


# order


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 5 * POOL), min_size=1, max_size=8), st.integers(0, 3))
def test_a_batch_depends_on_seed_and_step_alone(steps: list[int], seed: int) -> None:
    in_turn = new_batches(20, 30, 0.3, 4, seed)
    wanted = {step: in_turn[step] for step in range(max(steps) + 1)}
    other = new_batches(20, 30, 0.3, 4, seed)
    assert all(equal(other[step], wanted[step]) for step in steps)


def test_seeds_parts_and_epochs_have_orders_of_their_own() -> None:
    orders = [sorted(pool) for seed in (0, 1) for pool in pools(new_batches(100, 100, 0.5, 4, seed), 2)]
    assert len({tuple(order) for order in orders}) == 4
    [pool] = pools(Batches(encoded(9999, longest=2), encoded(9999, longest=2), 0.5, 4, 0, PAD), 1)
    assert {i for i in pool if i < 9999} != {i - 9999 for i in pool if i >= 9999}
    found = pools(new_batches(2 * POOL * 4, 0, 0, 4), 4)  # twice all of them
    assert sorted(found[0] + found[1]) == sorted(found[2] + found[3])
    assert sorted(found[0]) not in (sorted(found[2]), sorted(found[3]))


# shapes


def test_padding_mask_and_labels() -> None:
    original, synthetic = encoded(30, 1), encoded(30, 2)
    batches = Batches(original, synthetic, 0.4, 6, 0, PAD)
    sources, targets = [*original.sources, *synthetic.sources], [*original.targets, *synthetic.targets]
    for step in range(2 * POOL):
        batch, members = batches[step], batches.members(step)
        tokens = 0
        for row, pair in enumerate(members):
            source, target = sources[pair], targets[pair]
            tokens += len(target)
            rest, end = batch.source.shape[1] - len(source), batch.labels.shape[1] - len(target)
            assert batch.source[row].tolist() == [*source, *[PAD] * rest]
            assert batch.mask[row].tolist() == [1] * len(source) + [0] * rest
            assert batch.labels[row].tolist() == [*target, *[IGNORED] * end]
        assert batch.tokens == tokens
        assert batch.source.dtype == batch.mask.dtype == batch.labels.dtype == np.int64
        for array, rows in ((batch.source, sources), (batch.labels, targets)):
            assert array.shape == (6, rounded(max(len(rows[i]) for i in members)))


def test_batches_have_mixed_lengths_and_few_shapes() -> None:
    batches = new_batches(4000, 0, 0, 64)
    means = [(batches[step].labels != IGNORED).sum(1).mean() for step in range(POOL)]
    assert max(means) < 1.5 * min(means)  # sorted ones would be 60 times as long
    assert len({(batches[step].source.shape, batches[step].labels.shape) for step in range(POOL)}) <= 2


@settings(deadline=None)
@given(st.integers(1, 5000), st.integers(1, 5000))
def test_lengths_are_rounded_up_to_the_next_of_few(a: int, b: int) -> None:
    allowed = [*LENGTHS, *range(768, 6000, 256)]
    assert rounded(a) == min(length for length in allowed if length >= a)
    assert rounded(np.array([a, b])).tolist() == [rounded(a), rounded(b)]


# micro-batches and processes


def rows(batches: list[Batch]) -> list[tuple[tuple[int, ...], ...]]:
    """The pairs of batches without their padding, in order."""
    return sorted(
        (tuple(s[m == 1].tolist()), tuple(y[y != IGNORED].tolist()))
        for b in batches
        for s, m, y in zip(b.source, b.mask, b.labels, strict=True)
    )


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(9, 20))
def test_micro_batches_make_up_the_batch(number: int, size: int) -> None:
    batch = new_batches(20, 20, 0.5, size)[3]
    parts = list(batch.micro_batches(number))
    assert rows(parts) == rows([batch])
    assert len(parts) == number
    assert {len(part.source) for part in parts} <= {size // number, -(-size // number)}
    assert {part.tokens for part in parts} == {batch.tokens}


def test_micro_batches_have_pairs_of_similar_length_and_little_padding() -> None:
    batch = new_batches(4000, 0, 0, 128)[0]
    parts = list(batch.micro_batches(4))
    lengths = [(part.labels != IGNORED).sum(1) for part in parts]
    assert all(a.max() <= b.min() for a, b in pairwise(lengths))
    assert [part.labels.shape[1] for part in parts] == [rounded(some.max()) for some in lengths]
    assert sum(part.labels.size for part in parts) < 0.75 * batch.labels.size


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(5, 9))
def test_the_shares_of_processes_make_up_the_batch(parts: int, size: int) -> None:
    batch = new_batches(20, 20, 0.5, size)[3]
    shares = [batch.part(i, parts) for i in range(parts)]
    counts = [len(share.source) for share in shares]
    assert max(counts) - min(counts) <= 1
    assert rows(shares) == rows([batch])
    assert sum((share.labels >= 0).sum() for share in shares) == batch.tokens
    assert {share.tokens for share in shares} == {batch.tokens}
