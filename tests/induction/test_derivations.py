"""Which examples use which rules."""

from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csl.grammar.vocabulary import Ragged
from csl.induction.derivations import Uses

RULES = 5
derivations = st.lists(st.lists(st.integers(0, RULES - 1), max_size=4), min_size=1, max_size=6)


@given(derivations, st.data())
def test_uses_follow_the_derivations_that_change(rows: list[list[int]], data: st.DataObject) -> None:
    values = np.array(list(chain.from_iterable(rows)), np.int32)
    uses, now = Uses(Ragged(values, np.cumsum([0, *map(len, rows)])), RULES), [set(row) for row in rows]
    for _ in range(data.draw(st.integers(0, 5))):
        example = data.draw(st.integers(0, len(rows) - 1))
        now[example] = data.draw(st.sets(st.integers(0, RULES - 1)))
        uses.change(example, now[example])
    assert [uses.rules(example) for example in range(len(rows))] == now
    for rule in range(RULES):
        users = [example for example, used in enumerate(now) if rule in used]
        assert uses.users(rule) == users
        assert uses.count(rule) == len(users)
        assert all(uses.users(rule, most) == users[:most] for most in range(3))
