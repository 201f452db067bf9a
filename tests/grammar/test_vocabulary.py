from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csl.grammar import Nt, Symbol
from csl.grammar.vocabulary import Vocabulary

symbols = st.one_of(
    st.builds(Nt, st.integers(1, 4)), st.sampled_from(["a", "b", "NT_1", "\u3000"]), st.text(min_size=1)
)


@given(st.lists(st.lists(symbols, max_size=4).map(tuple), max_size=4))
def test_decoding_undoes_encoding(sides: list[tuple[Symbol, ...]]) -> None:
    vocabulary = Vocabulary()
    values, offsets = encoded = vocabulary.encode(sides)
    assert len(encoded) == len(sides)
    assert (values.dtype, offsets.dtype) == (np.int32, np.int64)
    assert [vocabulary.decode(values[i:j]) for i, j in pairwise(offsets)] == sides


@given(st.lists(st.text(min_size=1)))
def test_ids_count_tokens_from_1_in_the_order_of_first_use(tokens: list[str]) -> None:
    vocabulary = Vocabulary()
    assert [vocabulary.add(token) for token in tokens] == [1 + list(dict.fromkeys(tokens)).index(t) for t in tokens]
    assert len(vocabulary) == 1 + len(set(tokens))
    assert [vocabulary.token(vocabulary.get(token)) for token in tokens] == tokens


def test_nonterminals_are_negative_and_a_token_of_the_same_name_is_not() -> None:
    assert Vocabulary().encode([(Nt(2), "NT_2", Nt(1))]).values.tolist() == [-2, 1, -1]


def test_an_unknown_token_is_0_and_stays_unknown() -> None:
    vocabulary = Vocabulary()
    assert vocabulary.get("a") == 0
    assert len(vocabulary) == 1
