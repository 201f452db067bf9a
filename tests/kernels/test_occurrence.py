"""Counts of sides and pairs, and the costs made of them, equal brute force over all substitutions."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from csl import reference
from csl.engine import Threads
from csl.examples import Example
from csl.grammar import Rule, parse_rule
from csl.induction.config import InductionConfig
from csl.induction.objective import UNIT, Objective
from csl.kernels.occurrence import Evidence, count_pairs, count_sides, occurs, postings

from ..grammars import options, random_rules
from .encoded import Encoded

texts = st.lists(st.sampled_from("aab"), min_size=1, max_size=6).map(tuple)
outputs = st.lists(st.sampled_from("AAB"), min_size=1, max_size=6).map(tuple)
weighted = st.dictionaries(st.builds(Example, texts, outputs), st.integers(1, 5), min_size=1, max_size=8)


@settings(deadline=None, max_examples=400)
@given(random_rules(longest=5), texts, outputs)
@example(parse_rule("NT_1 a b ### NT_1 A NT_1"), tuple("aaab"), tuple("AAB"))
@example(parse_rule("a NT_1 ### A NT_1"), ("a",), ("A",))
def test_a_side_occurs_where_some_substitution_makes_it_a_span(
    rule: Rule, source: tuple[str, ...], target: tuple[str, ...]
) -> None:
    encoded = Encoded([rule, text := Rule(source, target)])
    values, begin, middle = encoded.arrays
    t = encoded.ids_of([text])[0]
    found = (
        occurs(values, begin[0], middle[0], begin[t], middle[t]),
        occurs(values, middle[0], begin[1], middle[t], begin[t + 1]),
    )
    assert found == (reference.occurs(rule.source, source), reference.occurs(rule.target, target))


@settings(deadline=None, max_examples=150)
@given(st.lists(random_rules(), min_size=1, max_size=8), weighted)
def test_counts_are_those_of_brute_force(rules: list[Rule], examples: dict[Example, int]) -> None:
    pairs = list(map(Rule.from_example, examples))
    encoded = Encoded([*rules, *pairs])
    ids, weights = encoded.ids_of(pairs), np.array(list(examples.values()), np.int64)
    posts = [postings(encoded.arrays, ids, side, len(encoded.vocabulary)) for side in (0, 1)]
    evidence = Evidence(ids, weights, *posts)
    alpha, beta = (count_sides(encoded.arrays, encoded.ids, side, evidence).tolist() for side in (0, 1))
    both = count_pairs(encoded.arrays, encoded.ids, evidence).tolist()
    for k, rule in enumerate(encoded.rules):
        in_source = Counter({e: n for e, n in examples.items() if reference.occurs(rule.source, e.source)})
        in_target = Counter({e: n for e, n in examples.items() if reference.occurs(rule.target, e.target)})
        assert (alpha[k], beta[k], both[k]) == tuple(
            map(Counter.total, (in_source, in_target, in_source & in_target))
        ), str(rule)


def objective(encoded: Encoded, examples: dict[Example, int], config: InductionConfig) -> Objective:
    ids = encoded.ids_of(map(Rule.from_example, examples))
    weights = np.array(list(examples.values()), np.int64)
    return Objective(encoded.store, ids, weights, len(encoded.vocabulary), config, Threads(1))


weights_of_terms = st.sampled_from([0.0, 0.3, 1.0, 4.0, 100.0])


@settings(deadline=None, max_examples=150)
@given(
    st.lists(random_rules(), min_size=1, max_size=8),
    weighted,
    st.builds(
        InductionConfig,
        k_alpha=weights_of_terms,
        k_beta=weights_of_terms,
        k_t=st.sampled_from([1.0, 4.0, 8.5]),
        k_nt=st.sampled_from([0.5, 1.0]),
        drop_duplicates=st.booleans(),
    ),
)
def test_costs_follow_the_paper(rules: list[Rule], examples: dict[Example, int], config: InductionConfig) -> None:
    if config.drop_duplicates:  # the search then gives each distinct example the weight 1
        examples = dict.fromkeys(examples, 1)
    encoded = Encoded([*rules, *map(Rule.from_example, examples)])
    costs = objective(encoded, examples, config).costs(encoded.ids)
    expected = [reference.cost(rule, examples, options(config)) for rule in encoded.rules]
    assert costs / UNIT == pytest.approx(expected, abs=1 / UNIT)


@settings(deadline=None, max_examples=50)
@given(st.lists(random_rules(), min_size=2, max_size=8, unique=True), weighted, st.integers(1, 7))
def test_costs_asked_for_in_pieces_are_the_same(rules: list[Rule], examples: dict[Example, int], cut: int) -> None:
    encoded = Encoded([*rules, *map(Rule.from_example, examples)])
    whole, pieces = (objective(encoded, examples, InductionConfig()) for _ in range(2))
    known = pieces.costs(encoded.ids[:cut])
    assert (known[cut:] == -1).all()
    assert pieces.costs(encoded.ids).tolist() == whole.costs(encoded.ids).tolist()
    assert whole.total(encoded.ids) == int(whole.costs(encoded.ids).sum())


def test_repeated_nonterminals_count_as_any_tokens_each() -> None:
    """The indices are erased: NT_1 NT_1 occurs wherever there are two tokens."""
    examples = {Example.of("a", "A B"): 1, Example.of("a", "A"): 1}
    rule = parse_rule("NT_1 ### NT_1 NT_1")
    encoded = Encoded([rule, *map(Rule.from_example, examples)])
    config = InductionConfig(k_alpha=0, k_beta=1, k_nt=1)
    assert objective(encoded, examples, config).costs(encoded.ids)[0] == 4 * UNIT  # three symbols, half of the inputs


def test_a_sample_of_the_examples_is_drawn_by_the_seed() -> None:
    examples = {Example.of(f"w{i}", "A"): 1 + i % 3 for i in range(50)}
    encoded = Encoded([*map(Rule.from_example, examples), parse_rule("NT_1 ### A NT_1"), parse_rule("w0 ### B")])

    def costs(**options: int) -> list[int]:
        config = InductionConfig(k_alpha=1, **options)
        return objective(encoded, examples, config).costs(encoded.ids).tolist()

    assert costs(sample_size=20, seed=1) == costs(sample_size=20, seed=1)
    assert costs(sample_size=20, seed=1) != costs(sample_size=20, seed=2)
    assert costs(sample_size=10_000) == costs(sample_size=0) == costs(sample_size=sum(examples.values()))
