"""Pairs with a high loss are chosen more often, within bounds; the choice is repeated by a training that resumes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csl.seq2seq.batches import Batches, Encoded
from csl.seq2seq.following import LEAST, MOST, choose, weights_of

losses = st.lists(st.floats(0, 1e6), min_size=1, max_size=50).map(np.array)


@given(losses, st.integers(0, 50), st.integers(0, 100))
def test_places_are_drawn_once_each_and_the_seed_decides(found: np.ndarray, number: int, seed: int) -> None:
    number = min(number, len(found))
    first, second = (choose(found, number, np.random.default_rng(seed)) for _ in range(2))
    assert len(set(first.tolist())) == number
    assert first.tolist() == second.tolist()


@given(losses)
def test_weights_grow_with_the_loss_and_are_bounded(found: np.ndarray) -> None:
    weights = weights_of(found)
    assert ((weights >= LEAST) & (weights <= MOST)).all()
    assert (np.diff(weights[np.argsort(found)]) >= 0).all()


def test_one_of_many_is_drawn_in_proportion_to_its_weight() -> None:
    found = np.array([0.0, 1.0, 1.0, 100.0, 2.0])
    draws = [choose(found, 1, np.random.default_rng(seed))[0] for seed in range(4000)]
    shares = np.bincount(draws, minlength=len(found)) / len(draws)
    weights = weights_of(found)
    assert shares == pytest.approx(weights / weights.sum(), abs=0.03)


def test_chosen_pairs_take_the_places_of_synthetic_ones_until_the_next_choice() -> None:
    rows = [[n] for n in range(10)]
    batches = Batches(Encoded(rows, rows), Encoded(rows, rows), 0.5, 4, seed=0, pad=0)
    plain = [batches.members(step).tolist() for step in range(6)]
    pool = batches.synthetic(2, 4, times=3)
    assert len(pool) == 3 * 4
    assert set(pool) <= set(range(10, 20))
    batches.choose(2, np.array([11, 12, 13, 14]))
    members = [batches.members(step).tolist() for step in range(6)]
    assert [members[k] for k in (0, 1, 4, 5)] == [plain[k] for k in (0, 1, 4, 5)]
    assert [members[k][2:] for k in (2, 3)] == [[11, 12], [13, 14]]
    assert [members[k][:2] for k in (2, 3)] == [plain[k][:2] for k in (2, 3)]
