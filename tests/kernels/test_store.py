"""Rules are interned: one id for equal rules, in the order of their first coming; and hash tables chain in order."""

import random
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.grammar import Nt, Rule, parse_rule
from csl.grammar.store import RuleStore
from csl.grammar.vocabulary import Vocabulary
from csl.kernels.flat import max_arity, sides, take
from csl.kernels.hashing import build_table, erased_hash, find_slot, sequence_hash
from csl.kernels.store import rule_hashes, source_hashes
from csl.reference import erased

from ..grammars import random_rules
from .encoded import Encoded

rule_lists = st.lists(random_rules(), min_size=1, max_size=30)


def decoded(store: RuleStore, vocabulary: Vocabulary) -> list[Rule]:
    return [store.rule(i, vocabulary) for i in range(len(store))]


@settings(deadline=None, max_examples=100)
@given(st.lists(rule_lists, min_size=1, max_size=4))
def test_equal_rules_get_one_id_in_the_order_of_their_first_coming(batches: list[list[Rule]]) -> None:
    store, vocabulary, known = RuleStore(), Vocabulary(), {}
    for batch in batches:
        expected = [known.setdefault(rule, len(known)) for rule in batch]
        assert store.add_rules(batch, vocabulary).tolist() == expected
    assert decoded(store, vocabulary) == list(known)


def test_source_and_target_are_told_apart() -> None:
    store, vocabulary = RuleStore(), Vocabulary()
    rules = [parse_rule(line) for line in ("a ### b c", "a b ### c", "NT_1 ### NT_1 a", "NT_1 a ### NT_1")]
    assert store.add_rules(rules, vocabulary).tolist() == [0, 1, 2, 3]


def test_a_store_grows() -> None:
    chance = random.Random(0)
    words = [f"w{i}" for i in range(300)]
    rules = [
        Rule(
            tuple(chance.choices(words, k=chance.randint(1, 9))), tuple(chance.choices(words, k=chance.randint(1, 99)))
        )
        for _ in range(5_000)
    ]
    store, vocabulary = RuleStore(), Vocabulary()
    ids = store.add_rules(rules, vocabulary)
    assert ids.tolist() == list(range(5_000))
    assert store.add_rules(rules, vocabulary).tolist() == ids.tolist()
    assert decoded(store, vocabulary) == rules


@settings(deadline=None, max_examples=50)
@given(rule_lists, st.data())
def test_what_is_selected_can_be_added_elsewhere(rules: list[Rule], data: st.DataObject) -> None:
    encoded = Encoded(rules)
    chosen = data.draw(st.lists(st.sampled_from(encoded.rules), unique=True))
    other = RuleStore()
    ids = other.add(encoded.store.select(encoded.ids_of(chosen) if chosen else encoded.ids[:0]))
    assert ids.tolist() == list(range(len(chosen)))
    assert decoded(other, encoded.vocabulary) == chosen


@settings(deadline=None, max_examples=50)
@given(rule_lists, st.integers(1, 9), st.integers(1, 9))
def test_sizes_sides_and_arity(rules: list[Rule], terminal: int, nonterminal: int) -> None:
    encoded = Encoded(rules)
    for start in range(len(encoded.rules) + 1):
        expected = [
            sum(nonterminal if isinstance(s, Nt) else terminal for s in rule.source + rule.target)
            for rule in encoded.rules[start:]
        ]
        assert encoded.store.sizes(terminal, nonterminal, start).tolist() == expected
    for side, name in enumerate(("source", "target")):
        values, offsets = sides(encoded.arrays, encoded.ids, side)
        parts = [values[a:b] for a, b in pairwise(offsets)]
        assert [encoded.vocabulary.decode(s) for s in parts] == [getattr(rule, name) for rule in encoded.rules]
    assert max_arity(encoded.arrays, encoded.ids) == max(rule.arity for rule in rules)


@settings(deadline=None, max_examples=50)
@given(rule_lists)
def test_erased_sides_of_another_store_are_one_when_they_differ_by_indices_only(rules: list[Rule]) -> None:
    encoded = Encoded(rules)
    for side, name in enumerate(("source", "target")):
        ids = RuleStore().add_sides(encoded.store, encoded.ids, side)
        known: dict[tuple[str | None, ...], int] = {}
        expected = [known.setdefault(tuple(erased(getattr(rule, name))), len(known)) for rule in encoded.rules]
        assert ids.tolist() == expected


@settings(deadline=None, max_examples=50)
@given(rule_lists)
def test_hashes_depend_on_content_alone(rules: list[Rule]) -> None:
    encoded = Encoded(rules)
    reverse = RuleStore()
    reverse.add_rules(encoded.rules[::-1], encoded.vocabulary)
    hashes = rule_hashes(encoded.arrays, encoded.ids)
    assert len(set(hashes.tolist())) == len(encoded.rules)
    assert rule_hashes(reverse.arrays, encoded.ids).tolist() == hashes.tolist()[::-1]
    of_sources = source_hashes(encoded.arrays, 0)
    for rule, h in zip(encoded.rules, of_sources, strict=True):
        same = [erased(rule.source) == erased(other.source) for other in encoded.rules]
        assert (of_sources == h).tolist() == same


def test_only_the_erased_hash_forgets_indices() -> None:
    a, b = np.array([3, -1, 5, -2], np.int32), np.array([3, -2, 5, -1], np.int32)
    assert erased_hash(a, 0, 4) == erased_hash(b, 0, 4)
    assert sequence_hash(a, 0, 4) != sequence_hash(b, 0, 4)
    assert sequence_hash(a, 1, 3) == sequence_hash(np.array([-1, 5], np.int32), 0, 2)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.randoms(use_true_random=False))
def test_chains_hold_the_entries_of_one_hash_in_order(numbers: list[int], chance: random.Random) -> None:
    hashes = np.array(numbers, np.uint64) * np.uint64(2**60 + 1)
    entries = chance.sample(range(len(numbers)), chance.randint(0, len(numbers)))
    table = build_table(hashes, np.array(entries, np.int32))
    for number in range(14):
        key = np.uint64(number) * np.uint64(2**60 + 1)
        chain, entry = [], table.first[find_slot(table.keys, table.first, key)]
        while entry >= 0:
            chain.append(int(entry))
            entry = table.following[entry]
        assert chain == [e for e in entries if numbers[e] == number]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=9), st.data())
def test_rows_of_a_ragged_array_are_taken_in_the_order_asked(rows: list[list[int]], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1)))
    offsets = np.cumsum([0, *map(len, rows)])
    flat = np.array([v for row in rows for v in row], np.int32)
    values, new = take(flat, offsets, np.array(chosen, np.int64))
    assert [values[a:b].tolist() for a, b in pairwise(new)] == [rows[c] for c in chosen]
