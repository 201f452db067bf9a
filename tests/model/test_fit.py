"""Fitting reaches known optima, is repeatable, goes on after a stop, and stays finite."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.engine import ONE_THREAD, Threads
from csl.errors import InputError
from csl.examples import Example
from csl.grammar import Rule, parse_grammar
from csl.model.config import FitConfig
from csl.model.data import build
from csl.model.fit import Fitted, Progress, fit, likeliest, optimise, with_labels
from csl.model.model import FloatArray, Model, softmax
from csl.parsing.derivation import Derivation

from ..conftest import Prepared
from ..grammars import all_log_p, random_theta

GRAMMAR = parse_grammar(
    ["jump ### J", "walk ### W", "NT_1 twice ### NT_1 NT_1", "NT_1 and NT_2 ### NT_1 NT_2", "hop ### H"]
)
PAIRS = [
    Example.of(*pair)
    for pair in [
        ("jump", "J"),
        ("walk", "W"),
        ("jump twice", "J J"),
        ("walk twice and jump", "W W J"),
        ("walk and jump twice", "W J J"),
        ("jump", "J"),
    ]
]
UNIQUE = [pair for pair in PAIRS if pair.source != ("walk", "and", "jump", "twice")]  # one derivation each
EM = FitConfig(states=3, optimizer="em", seed=1)
ADAM = FitConfig(states=3, steps=200, batch_size=4, seed=1)
both_optimisers = pytest.mark.parametrize("config", [EM, ADAM], ids=["em", "adam"])


def same(a: Fitted | Model, b: Fitted | Model) -> bool:
    """Whether two models have the same parameters, bit by bit."""
    one, other = (x.model if isinstance(x, Fitted) else x for x in (a, b))
    return bool((one.theta_context == other.theta_context).all() and (one.theta_rule == other.theta_rule).all())


def relative_frequencies(trees: Sequence[Derivation]) -> tuple[dict[Rule, float], float]:
    """What maximises the likelihood of derivations with one state, and the mean log likelihood there."""
    counts = Counter(rule for tree in trees for rule in tree.rules())
    total = sum(counts.values())
    mean = sum(n * np.log(n / total) for n in counts.values()) / len(trees)
    return {rule: n / total for rule, n in counts.items()}, float(mean)


# optima


@pytest.mark.parametrize(
    "config",
    [FitConfig(states=1, optimizer="em"), FitConfig(states=1, steps=600, learning_rate=0.03, batch_size=4096)],
    ids=["em", "adam"],
)
def test_with_one_state_the_optimum_is_relative_frequency(config: FitConfig) -> None:
    fitted = fit(GRAMMAR, UNIQUE, config)
    trees = [fitted.model.deriver.derivation(pair) for pair in UNIQUE]
    expected, mean = relative_frequencies([tree for tree in trees if tree])
    assert fitted.log_prob == pytest.approx(mean, abs=0.01)
    for r, rule in enumerate(GRAMMAR):
        assert np.exp(all_log_p(fitted.model)[:, r]) == pytest.approx(expected.get(rule, 0), abs=0.01)


def test_equal_examples_count_as_often_as_they_occur() -> None:
    config = FitConfig(states=1, optimizer="em")
    grammar = parse_grammar(["a ### A", "b ### B"])
    model = fit(grammar, [Example.of("a", "A")] * 3 + [Example.of("b", "B")], config).model
    assert np.exp(all_log_p(model)[0]) == pytest.approx([0.75, 0.25], abs=1e-5)


def test_states_learn_what_depends_on_the_context() -> None:
    fitted = fit(GRAMMAR, PAIRS * 3, FitConfig(states=4, optimizer="em", seed=2))
    assert fitted.log_prob > fit(GRAMMAR, PAIRS * 3, FitConfig(states=1, optimizer="em")).log_prob + 0.5


@pytest.mark.parametrize(("split", "train", "dev"), [("mcd1", -15.113, -16.461), ("mcd2", -14.360, -17.573)])
def test_scan_with_one_state(split: str, train: float, dev: float, prepared: Prepared) -> None:
    task, grammar = prepared("scan", split)
    fitted = fit(grammar, task.train, FitConfig(states=1, optimizer="em", max_units=0))
    assert not fitted.left_out
    assert fitted.log_prob == pytest.approx(train, abs=0.01)
    assert fitted.model.log_probs(task.train).mean() == pytest.approx(fitted.log_prob)
    assert fitted.model.log_probs(task.dev).mean() == pytest.approx(dev, abs=0.01)


# repeatable


@both_optimisers
def test_threads_and_another_run_give_the_same_parameters(config: FitConfig) -> None:
    examples = [Example.of(f"{'walk and ' * (k % 7)}jump", f"{'W ' * (k % 7)}J") for k in range(40)]
    once = fit(GRAMMAR, examples, config)
    for threads in (1, 2, 3):
        again = fit(GRAMMAR, examples, config, engine=Threads(threads))
        assert same(again, once)
        assert (again.log_prob, again.steps) == (once.log_prob, once.steps)


@both_optimisers
def test_the_seed_decides(config: FitConfig) -> None:
    other = config.model_copy(update={"seed": 7})
    assert not same(fit(GRAMMAR, PAIRS, config), fit(GRAMMAR, PAIRS, other))


class Values:
    """Keeps the progress of a fit."""

    def __init__(self) -> None:
        self.reports: list[Progress] = []

    def __call__(self, report: Progress) -> None:
        self.reports.append(report)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 5), st.integers(0, 50))
def test_em_never_loses(states: int, seed: int) -> None:
    values = [
        fit(GRAMMAR, PAIRS, FitConfig(states=states, optimizer="em", seed=seed, steps=n)).log_prob for n in range(1, 12)
    ]
    assert all(after > before - 1e-5 for before, after in pairwise(values))  # the floor costs a bit


# restarts


@both_optimisers
def test_restarts_keep_the_likeliest_of_ordinary_fits(config: FitConfig) -> None:
    seeds = range(4 * config.seed, 4 * config.seed + 4)
    by_hand = [fit(GRAMMAR, PAIRS, config.model_copy(update={"seed": seed})) for seed in seeds]
    best = max(by_hand, key=lambda fitted: fitted.log_prob)
    assert best.seed != seeds[0]  # otherwise this would show nothing
    values, several = Values(), config.model_copy(update={"restarts": 4})
    for threads in (1, 2):
        fitted = fit(GRAMMAR, PAIRS, several, engine=Threads(threads), progress=values)
        assert same(fitted, best)
        assert (fitted.seed, fitted.log_prob, fitted.steps) == (best.seed, best.log_prob, best.steps)
        assert fitted.starts == tuple(one.log_prob for one in by_hand)
    assert list(dict.fromkeys(report.seed for report in values.reports)) == list(seeds)


def test_of_equal_starts_the_first_is_kept() -> None:
    first = fit(GRAMMAR, PAIRS, EM)
    assert likeliest([first, replace(first, seed=9)]).seed == first.seed


def test_the_last_seed_may_be_followed_by_others() -> None:
    config = EM.model_copy(update={"seed": 2**63 - 1, "restarts": 2, "steps": 2})
    assert len(fit(GRAMMAR, PAIRS, config).starts) == 2


# resuming


class Stopped(Exception):  # noqa: N818 — not an error
    pass


class Memory:
    """A checkpoint in memory that stops the fit after some saves."""

    def __init__(self, saves: int) -> None:
        self.left, self.kept = saves, dict[str, FloatArray]()

    def load(self) -> dict[str, FloatArray] | None:
        return {name: value.copy() for name, value in self.kept.items()} or None

    def save(self, state: dict[str, FloatArray]) -> None:
        self.kept = {name: np.array(value) for name, value in state.items()}
        self.left -= 1
        if self.left == 0:
            raise Stopped


def one_fit(config: FitConfig, memory: Memory) -> Fitted:
    return optimise(GRAMMAR, build(GRAMMAR, PAIRS, config.max_units, ONE_THREAD), config, checkpoint=memory)


SLOW_EM = EM.model_copy(update={"states": 4, "steps": 230})


@pytest.mark.parametrize("config", [SLOW_EM, ADAM], ids=["em", "adam"])
@pytest.mark.parametrize("saves", [1, 2, 3])
def test_a_stopped_fit_resumes_to_the_same_end(saves: int, config: FitConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csl.model.fit.CHECK", 7)
    monkeypatch.setattr("csl.model.em.GAIN", 0.0)
    whole, memory = fit(GRAMMAR, PAIRS, config), Memory(saves)
    with pytest.raises(Stopped):
        one_fit(config, memory)
    rest = one_fit(config, memory)
    assert same(rest, whole)
    assert (rest.steps, rest.log_prob) == (whole.steps, whole.log_prob)


@both_optimisers
def test_a_fit_stopped_after_its_last_checkpoint_is_over(config: FitConfig) -> None:
    one_fit(config, every := Memory(-1))
    whole, memory = fit(GRAMMAR, PAIRS, config), Memory(-1 - every.left)
    with pytest.raises(Stopped):
        one_fit(config, memory)
    rest = one_fit(config, memory)
    assert rest.steps == whole.steps
    assert same(rest, whole)


# what cannot be fitted


def test_pairs_without_a_derivation_are_named() -> None:
    odd = [Example.of("jump", "W"), Example.of("fly", "F")]
    fitted = fit(GRAMMAR, [odd[0], *PAIRS, odd[1], odd[0]], EM)
    assert set(fitted.left_out) == set(odd)
    assert same(fitted, fit(GRAMMAR, PAIRS, EM))


@both_optimisers
def test_no_derivable_pair_is_an_error(config: FitConfig) -> None:
    for examples in ([], [Example.of("fly", "F")]):
        with pytest.raises(InputError, match="derives none of the training pairs"):
            fit(GRAMMAR, examples, config)


# numbers


@pytest.mark.parametrize("states", [1, 256])
@both_optimisers
def test_few_and_many_states_and_long_derivations(states: int, config: FitConfig) -> None:
    grammar = parse_grammar(["jump ### J", "NT_1 x ### NT_1 X", "NT_1 y ### NT_1 Y", "NT_1 z ### NT_1"])
    long = Example(("jump", *"xy" * 300), ("J", *"XY" * 300))
    fitted = fit(
        grammar, [long, Example.of("jump x", "J X")], config.model_copy(update={"states": states, "steps": 30})
    )
    assert np.isfinite(fitted.log_prob)
    assert np.isfinite(fitted.model.theta_context).all()
    assert np.isfinite(fitted.model.theta_rule).all()
    assert not fitted.left_out
    parse = fitted.model.parse(long.source)
    assert parse is not None
    assert parse.target == long.target


def test_a_chain_of_many_conjuncts_is_fitted_over_all_its_trees() -> None:
    grammar = parse_grammar(["jump ### J", "NT_1 and NT_2 ### NT_1 NT_2"])
    n = 100
    long = Example(tuple(" and ".join(["jump"] * n).split()), ("J",) * n)
    fitted = fit(grammar, [long], FitConfig(states=1, optimizer="em", steps=20))
    trees = sum(np.log((n - 1 + k) / k) for k in range(2, n))  # the logarithm of a Catalan number
    best = n * np.log(n / (2 * n - 1)) + (n - 1) * np.log((n - 1) / (2 * n - 1))
    assert fitted.log_prob == pytest.approx(trees + best, abs=1e-6)


@both_optimisers
def test_a_rule_never_used_stays_possible_but_improbable(config: FitConfig) -> None:
    model = fit(GRAMMAR, PAIRS, config.model_copy(update={"steps": 1000})).model
    hop = model.log_prob("hop", "H")
    assert np.isfinite(all_log_p(model)).all()
    assert -40 < hop < -3
    parse = model.parse("hop twice")
    assert parse is not None
    assert parse.text == "H H"


# the denominator

WHOLE = ADAM.model_copy(update={"denominator": "batch"})


def test_rules_that_no_derivation_of_the_batch_uses_are_left_as_they_are() -> None:
    before = fit(GRAMMAR, PAIRS, WHOLE.model_copy(update={"steps": 1})).model.theta_rule
    after = fit(GRAMMAR, PAIRS, WHOLE).model.theta_rule
    assert (after[:, 4] == before[:, 4]).all()  # hop is in no pair
    assert (after[:, :4] != before[:, :4]).all()
    assert (fit(GRAMMAR, PAIRS, ADAM).model.theta_rule[:, 4] != before[:, 4]).all()


def test_over_a_batch_with_all_rules_both_denominators_are_the_same() -> None:
    pairs = [Example.of("jump twice and walk twice and hop", "J J W W H")]
    both = [softmax(fit(GRAMMAR, pairs, config).model.theta_rule) for config in (ADAM, WHOLE)]
    assert np.allclose(*both, atol=1e-5)


def test_the_contexts_and_rules_of_pairs_are_those_of_all_their_derivations() -> None:
    data = build(
        GRAMMAR, [Example.of("jump", "J"), Example.of("walk twice", "W W"), Example.of("hop", "H")], 1, ONE_THREAD
    )
    for places, contexts, rules in (([0], [0], [0]), ([1, 2], [0, 1], [1, 2, 4])):
        found = data.occurring(np.array(places))
        assert [found.contexts.tolist(), found.rules.tolist()] == [contexts, rules]


def test_em_has_no_batches_to_normalise_over() -> None:
    with pytest.raises(InputError, match="denominator"):
        fit(GRAMMAR, PAIRS, EM.model_copy(update={"denominator": "batch"}))


# unlabelled inputs


def test_inputs_are_labelled_by_the_model_and_copied() -> None:
    model = Model(GRAMMAR, *random_theta(GRAMMAR, 2, 0))
    inputs = [("hop",), ("hop", "twice"), ("fly",), ("fly", "twice")]
    for ratio, copies in ((1.0, 3), (0.5, 2), (2.0, 6), (0.01, 1)):
        both, labelled = with_labels(model, PAIRS, inputs, ratio)
        assert labelled == 2
        assert both[: len(PAIRS)] == PAIRS
        expected = {Example.of("hop", "H"): copies, Example.of("hop twice", "H H"): copies}
        assert Counter(both[len(PAIRS) :]) == expected


def test_inputs_that_are_not_covered_add_nothing() -> None:
    model = Model(GRAMMAR, *random_theta(GRAMMAR, 2, 0))
    assert with_labels(model, PAIRS, [("fly",)], 1.0) == (PAIRS, 0)
    assert with_labels(model, PAIRS, [], 1.0) == (PAIRS, 0)


def test_a_second_fit_with_labelled_inputs_raises_their_probability() -> None:
    first = fit(GRAMMAR, PAIRS, EM).model
    both, _ = with_labels(first, PAIRS, [("hop", "and", "hop")], 1.0)
    second = fit(GRAMMAR, both, EM).model
    assert second.log_prob("hop and hop", "H H") > first.log_prob("hop and hop", "H H") + 5
