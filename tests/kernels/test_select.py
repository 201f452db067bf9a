"""Choosing and executing actions give what plain versions give."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.kernels.select import best_candidates, execute

RULES = 8
groups = st.lists(st.lists(st.integers(0, RULES - 1), max_size=4, unique=True), min_size=1, max_size=10)
costs = st.lists(st.integers(0, 5), min_size=RULES, max_size=RULES)


def ragged(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([v for row in rows for v in row], np.int32), np.cumsum([0, *map(len, rows)])


@settings(deadline=None, max_examples=200)
@given(groups, st.lists(st.integers(-3, 3), min_size=RULES, max_size=RULES), st.permutations(range(RULES)))
def test_each_rule_chooses_the_largest_positive_gain(rows: list[list[int]], gain: list[int], tie: list[int]) -> None:
    expected = [min((a for a in row if gain[a] > 0), key=lambda a: (-gain[a], tie[a]), default=-1) for row in rows]
    assert best_candidates(*ragged(rows), np.array(gain), np.array(tie)).tolist() == expected


@settings(deadline=None, max_examples=200)
@given(groups, costs, st.lists(st.booleans(), min_size=RULES, max_size=RULES), st.data())
def test_actions_are_taken_in_order_while_they_save_something(
    removes: list[list[int]], cost: list[int], alive: list[bool], data: st.DataObject
) -> None:
    adds = data.draw(st.lists(st.integers(0, RULES - 1), min_size=len(removes), max_size=len(removes)))
    order = data.draw(st.permutations(range(len(removes))))
    grammar = {r for r in range(RULES) if alive[r]}
    taken = 0
    for action in order:
        let_go = grammar.intersection(removes[action])
        price = 0 if adds[action] in grammar else cost[adds[action]]
        if sum(cost[r] for r in let_go) > price:
            grammar = (grammar | {adds[action]}) - set(removes[action])
            taken += 1
    state = np.array(alive)
    assert execute(np.array(order), *ragged(removes), np.array(adds), np.array(cost), state) == taken
    assert set(np.flatnonzero(state).tolist()) == grammar
