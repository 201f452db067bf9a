"""Inside, outside and Viterbi passes agree with sums, derivatives and maxima over all derivations, one by one."""

from math import fsum, log

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from csl import reference
from csl.examples import Example
from csl.grammar import Grammar, Rule, parse_grammar
from csl.kernels.budget import COVERED, untimed
from csl.kernels.inside import Scores, count_derivations, expectations, lazy_scores, log_inside, table_scores, viterbi
from csl.kernels.source_chart import Forests
from csl.model.model import FloatArray, context_starts, softmax
from csl.parsing.derivation import Derivation
from csl.parsing.deriver import Deriver

from ..grammars import all_derivations, grammars, inputs, random_theta

states = st.sampled_from([1, 2, 5])
seeds = st.integers(0, 100)
batches = st.lists(inputs, min_size=1, max_size=3)
BUDGET = untimed()


class Case:
    """A random model, and some pairs with all their derivations."""

    def __init__(self, rules: list[Rule], sources: list[tuple[str, ...]], n_states: int, seed: int) -> None:
        self.grammar = Grammar(rules)
        self.trees: dict[Example, list[Derivation]] = {}
        for x in dict.fromkeys(sources):
            for tree in all_derivations(list(self.grammar), x, 1, most=100):
                self.trees.setdefault(tree.example, []).append(tree)
        assume(self.trees)
        self.pairs = list(self.trees)
        self.contexts = context_starts(self.grammar)
        theta = random_theta(self.grammar, n_states, seed)
        plain = reference.Model(self.grammar, *theta)
        self.p = {tree: reference.probability(plain, tree) for trees in self.trees.values() for tree in trees}
        self.context, self.rule = softmax(theta[0]), np.ascontiguousarray(softmax(theta[1]).T)
        self.deriver = Deriver(self.grammar, 1)
        self.forests = self.deriver.pair_forests(self.pairs)

    def gradient(self, copies: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        return gradient(self.forests, copies, self.context, self.rule, self.contexts)


def gradient(
    forests: Forests, copies: FloatArray, context: FloatArray, rule: FloatArray, contexts: npt.NDArray[np.int64]
) -> tuple[float, FloatArray, FloatArray]:
    """The sum of log p over all inputs, and its gradients; 0 for what does not occur."""
    places = np.arange(len(forests.status))
    total, some, by_some, others, by_others = expectations(forests, places, copies, context, rule, contexts)
    by_context, by_rule = np.zeros_like(context), np.zeros_like(rule)
    by_context[some], by_rule[others] = by_some, by_others
    return total, by_context, by_rule


@settings(deadline=None, max_examples=100)
@given(grammars, batches, states, seeds)
def test_the_inside_value_is_the_sum_over_derivations(
    rules: list[Rule], sources: list[tuple[str, ...]], n_states: int, seed: int
) -> None:
    case = Case(rules, sources, n_states, seed)
    expected = [log(fsum(case.p[tree] for tree in case.trees[pair])) for pair in case.pairs]
    places = np.arange(len(case.pairs))
    found = log_inside(case.forests, places, case.context, case.rule, case.contexts)
    assert found == pytest.approx(expected, abs=1e-9)
    again = log_inside(case.forests, places[::-1], case.context, case.rule, case.contexts)
    assert again.tolist() == found[::-1].tolist()
    assert count_derivations(case.forests).tolist() == [len(case.trees[pair]) for pair in case.pairs]


@settings(deadline=None, max_examples=60)
@given(grammars, batches, states, seeds)
def test_the_gradient_is_that_of_the_sum_over_derivations(
    rules: list[Rule], sources: list[tuple[str, ...]], n_states: int, seed: int
) -> None:
    torch = pytest.importorskip("torch")
    case = Case(rules, sources, n_states, seed)
    copies = np.arange(1.0, 1 + len(case.pairs))
    total, by_context, by_rule = case.gradient(copies)
    context, rule = (torch.tensor(p, requires_grad=True) for p in (case.context, case.rule))
    p = context @ rule.T
    number = {r: k for k, r in enumerate(case.grammar)}

    def probability(tree: Derivation, c: int = 0) -> object:
        product = p[c, number[tree.rule]]
        for i, child in enumerate(tree.children):
            product = product * probability(child, int(case.contexts[number[tree.rule]]) + i)
        return product

    expected = sum(
        n * torch.log(sum(map(probability, case.trees[pair]))) for n, pair in zip(copies, case.pairs, strict=True)
    )
    expected.backward()
    assert total == pytest.approx(expected.item(), abs=1e-9)
    assert by_context == pytest.approx(context.grad.numpy(), rel=1e-7, abs=1e-9)
    assert by_rule == pytest.approx(rule.grad.numpy(), rel=1e-7, abs=1e-9)


@settings(deadline=None, max_examples=100)
@given(grammars, batches, states, seeds)
def test_a_gradient_times_its_probability_counts_rules_and_contexts(
    rules: list[Rule], sources: list[tuple[str, ...]], n_states: int, seed: int
) -> None:
    case = Case(rules, sources, n_states, seed)
    copies = np.ones(len(case.pairs))
    _, by_context, by_rule = case.gradient(copies)
    counts = np.zeros(len(case.grammar))
    number = {r: k for k, r in enumerate(case.grammar)}
    for trees in case.trees.values():
        for tree in trees:
            for rule in tree.rules():
                counts[number[rule]] += case.p[tree] / fsum(case.p[tree] for tree in trees)
    assert (case.rule * by_rule).sum(axis=1) == pytest.approx(counts, abs=1e-8)
    uses = (case.context * by_context).sum(axis=1)
    assert uses[0] == pytest.approx(len(case.pairs))
    assert uses.sum() == pytest.approx(counts.sum())


@settings(deadline=None, max_examples=100)
@given(grammars, batches, states, seeds)
def test_viterbi_finds_the_best_derivation(
    rules: list[Rule], sources: list[tuple[str, ...]], n_states: int, seed: int
) -> None:
    case = Case(rules, sources, n_states, seed)
    scores, used, offsets = viterbi(case.forests, lazy_scores(case.context, case.rule), case.contexts, BUDGET)
    for k, pair in enumerate(case.pairs):
        best = max(log(case.p[tree]) for tree in case.trees[pair])
        tree = Derivation.from_rules(case.deriver.rules[r] for r in used[offsets[k] : offsets[k + 1]])
        assert scores[k] == pytest.approx(best, abs=1e-9)
        assert tree in case.trees[pair]
        assert log(case.p[tree]) == pytest.approx(best, abs=1e-9)


@settings(deadline=None, max_examples=50)
@given(grammars, batches, states, seeds, st.sampled_from([1, 2, 4]))
def test_scores_that_share_a_slot_stay_apart(
    rules: list[Rule], sources: list[tuple[str, ...]], n_states: int, seed: int, slots: int
) -> None:
    case = Case(rules, sources, n_states, seed)
    few = Scores(np.full(slots, -1), np.empty(slots), case.context, case.rule)
    expected = viterbi(case.forests, lazy_scores(case.context, case.rule), case.contexts, BUDGET)
    for found, wanted in zip(viterbi(case.forests, few, case.contexts, BUDGET), expected, strict=True):
        assert found.tolist() == wanted.tolist()


def test_inputs_without_a_derivation_are_minus_infinity() -> None:
    grammar = parse_grammar(["a ### A", "NT_1 b ### NT_1 B"])
    forests = Deriver(grammar).forests([("a",), ("?",), ("a", "b"), ()])
    context, rule = np.ones((2, 1)), np.array([[0.25], [0.75]])
    contexts = context_starts(grammar)
    found = log_inside(forests, np.arange(4), context, rule, contexts)
    assert np.exp(found) == pytest.approx([0.25, 0, 0.75 * 0.25, 0])
    scores, used, offsets = viterbi(forests, table_scores(np.log(context @ rule.T)), contexts, BUDGET)
    assert scores.tolist() == found.tolist()
    assert used.tolist() == [0, 1, 0]
    assert offsets.tolist() == [0, 1, 1, 3, 3]


def chain(length: int) -> tuple[Grammar, Forests]:
    grammar = parse_grammar(["a ### A", "NT_1 x ### X NT_1", "NT_1 y ### NT_1 Y"])
    source = ("a", *("xy"[k % 2] for k in range(length)))
    forests = Deriver(grammar).forests([source])
    assert forests.status.tolist() == [COVERED]
    return grammar, forests


@pytest.mark.parametrize("n_states", [1, 2, 256])
def test_long_derivations_do_not_underflow(n_states: int) -> None:
    grammar, forests = chain(600)
    theta = random_theta(grammar, n_states, 3)
    theta[1][:, 1] -= 25  # p(x) is about e^-25 in every state: e^-7500 all in all
    context, rule = softmax(theta[0]), np.ascontiguousarray(softmax(theta[1]).T)
    contexts = context_starts(grammar)
    p = np.log(context @ rule.T)  # contexts: the root, below x, below y
    expected = p[0, 2] + 300 * p[2, 1] + 299 * p[1, 2] + p[1, 0]
    scores, used, _ = viterbi(forests, table_scores(p), contexts, BUDGET)
    assert len(used) == 601
    assert scores[0] == pytest.approx(expected)
    places, copies = np.array([0]), np.array([1.0])
    assert log_inside(forests, places, context, rule, contexts)[0] == pytest.approx(scores[0])
    total, by_context, by_rule = gradient(forests, copies, context, rule, contexts)
    assert total == pytest.approx(scores[0])
    assert (rule * by_rule).sum(axis=1) == pytest.approx([1, 300, 300])
    assert (context * by_context).sum(axis=1) == pytest.approx([1, 300, 300])


def test_many_derivations_do_not_overflow() -> None:
    grammar = parse_grammar(["a ### A", "NT_1 and NT_2 ### NT_1 NT_2"])
    n = 120
    source = " and ".join("a" * n).split()
    forests = Deriver(grammar).forests([source])
    found = log_inside(forests, np.array([0]), np.ones((3, 1)), np.array([[0.5], [0.5]]), context_starts(grammar))
    catalan = sum(np.log((n - 1 + k) / k) for k in range(2, n))
    assert found[0] == pytest.approx(catalan + (2 * n - 1) * np.log(0.5))
