"""The stream of samples: repeatable, filtered as asked, ended when nothing new comes, valid and derivable."""

from collections import Counter
from collections.abc import Sequence
from itertools import islice, zip_longest

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from csl.engine import Threads
from csl.errors import InputError
from csl.examples import Example
from csl.grammar import Grammar, parse_grammar
from csl.grammar.output_cfg import OutputCfg
from csl.kernels.cfg_chart import accepted
from csl.kernels.sample import context_counts
from csl.model.config import FitConfig
from csl.model.fit import fit
from csl.model.model import Model, context_starts
from csl.parsing.deriver import Deriver
from csl.reference import derivations_within, levels
from csl.sampling import sampler as sampler_module
from csl.sampling.config import PRESETS, SampleConfig
from csl.sampling.sampler import Sample, Sampler

from ..grammars import random_theta
from .conftest import Quick
from .frequencies import chi_square_excess, exact, frequencies

GRAMMAR = parse_grammar(
    ["jump ### J", "walk ### W", "NT_1 twice ### NT_1 NT_1", "NT_1 and NT_2 ### NT_1 NT_2", "hop ### H"]
)
TRAIN = [Example.of("jump", "J"), Example.of("jump", "J"), Example.of("walk twice", "W W"), Example.of("x", "Y")]
STRATEGIES = ["model", "tempered", "forward", "uniform", "coverage"]
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


def flat_model(grammar: Grammar, states: int = 2) -> Model:
    return Model(grammar, *random_theta(grammar, states, seed=3, spread=0.5))


def sampler(strategy: str = "model", *, train: Sequence[Example] = (), **options: object) -> Sampler:
    config = SampleConfig.model_validate(
        {"strategy": strategy, "temperature": 2.0 if strategy == "tempered" else 1.0, "max_depth": 4, **options}
    )
    return Sampler(GRAMMAR, config, model=flat_model(GRAMMAR), train=train)


def pairs(samples: Sequence[Sample]) -> list[Example]:
    return [sample.example for sample in samples]


# repeatable


@every_strategy
@pytest.mark.parametrize("unique", [False, True])
def test_any_number_of_threads_gives_the_same_stream(strategy: str, unique: bool) -> None:
    count = 1500 if unique else 10_000
    one, two, three = (list(sampler(strategy, unique=unique).stream(count, Threads(threads))) for threads in (1, 2, 3))
    assert one == two == three
    assert len(one) == count


@every_strategy
def test_a_stream_can_be_had_again_and_seeds_differ(strategy: str) -> None:
    some = sampler(strategy)
    first = list(some.stream(500))
    assert list(some.stream(500)) == first
    assert list(some.stream(10_000))[:500] == first
    assert list(sampler(strategy, seed=1).stream(500)) != first
    assert list(sampler(strategy, seed=2**63 - 1).stream(500)) != first


def test_no_samples_are_none_at_all() -> None:
    assert list(sampler().stream(0)) == []


def test_samples_come_as_they_are_asked_for() -> None:
    assert len(list(islice(sampler().stream(10**12), 5))) == 5


@every_strategy
def test_two_streams_do_not_disturb_each_other(strategy: str) -> None:
    some = sampler(strategy, unique=True, new=True, min_depth=1, max_depth=2, train=TRAIN)
    one, other = list(some.stream(9)), list(some.stream(1000))
    streams = some.stream(9), some.stream(1000)
    both = list(zip_longest(*streams))
    assert [sample for sample, _ in both if sample] == one
    assert [sample for _, sample in both if sample] == other
    assert [stream.exhausted for stream in streams] == [False, True]


# what is kept


@every_strategy
def test_unique_gives_each_pair_once(strategy: str) -> None:
    found = pairs(list(sampler(strategy, unique=True).stream(1000)))
    assert len(set(found)) == 1000
    assert len(set(pairs(list(sampler(strategy).stream(3000))))) < 3000


@every_strategy
@pytest.mark.parametrize("unique", [False, True])
def test_new_pairs_are_not_in_training(strategy: str, unique: bool) -> None:
    keep = list(sampler(strategy, min_depth=1, max_depth=2, train=TRAIN).stream(2000))
    assert set(TRAIN[:3]) <= set(pairs(keep))
    count = 15 if unique else 2000
    found = list(sampler(strategy, min_depth=1, max_depth=2, new=True, unique=unique, train=TRAIN).stream(count))
    assert len(found) == (3 + 3 + 9 - 2 if unique else 2000)
    assert not set(TRAIN) & set(pairs(found))


@pytest.mark.parametrize("most", [3, 5, 9])
def test_no_side_is_longer_than_allowed(most: int) -> None:
    found = pairs(list(sampler(max_length=most).stream(3000)))
    lengths = [max(len(e.source), len(e.target)) for e in found]
    assert max(lengths) == most
    within = [e for e in pairs(list(sampler().stream(9000))) if len(e.source) <= most and len(e.target) <= most]
    assert within[: len(found)] == found[: len(within)]


# the end


@every_strategy
@pytest.mark.parametrize("threads", [1, 2])
def test_a_finite_grammar_is_exhausted(strategy: str, threads: int) -> None:
    some = sampler(strategy, min_depth=1, max_depth=2, unique=True)
    found = pairs(list(some.stream(1000, Threads(threads))))
    assert some.exhausted
    assert len(found) == len(set(found))
    assert set(found) == {tree.example for tree in derivations_within(GRAMMAR, 2)}


def test_a_stream_that_gets_what_it_asks_for_is_not_exhausted() -> None:
    some = sampler(min_depth=1, max_depth=2, unique=True)
    for count, exhausted in ((15, False), (16, True), (3, False)):
        assert len(list(some.stream(count))) == min(count, 15)
        assert some.exhausted is exhausted


def test_a_stream_ends_where_everything_is_known_or_too_long() -> None:
    known = [tree.example for tree in derivations_within(GRAMMAR, 2)]
    for some in (sampler(max_depth=2, new=True, train=known), sampler(max_length=1)):
        assert list(some.stream(10)) == []
        assert some.exhausted


def test_a_stream_ends_when_new_pairs_are_scarce(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are tens of thousands of pairs, most of them so improbable that to wait for them would take hours."""
    monkeypatch.setattr(sampler_module, "CHUNK", 64)
    some = sampler(unique=True)
    found = len(list(some.stream(50_000)))
    assert some.exhausted
    assert 500 < found < 50_000


def test_a_long_stream_with_repeats_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler_module, "CHUNK", 4)
    monkeypatch.setattr(sampler_module, "PATIENCE", 5)
    some = sampler()
    assert len(list(islice(some.stream(10**12), 40_000))) == 40_000  # 2,000 times what is drawn between two looks


# bad requests


@pytest.mark.parametrize(
    ("strategy", "options", "keyword"),
    [
        *((strategy, {"temperature": 2.0}, "tempered") for strategy in ("model", "uniform", "coverage")),
        *((strategy, {"min_depth": 5}, "max_depth 4") for strategy in STRATEGIES),
        *((strategy, {"min_depth": 3}, "min_depth of 1 or 2") for strategy in ("forward", "uniform", "coverage")),
        ("forward", {"depths": "even"}, "depths = model"),
    ],
)
def test_options_that_exclude_each_other(strategy: str, options: dict[str, float], keyword: str) -> None:
    with pytest.raises(InputError, match=keyword):
        sampler(strategy, **options)


@pytest.mark.parametrize("strategy", ["model", "tempered", "forward"])
def test_strategies_that_need_a_model(strategy: str) -> None:
    with pytest.raises(InputError, match="csl fit"):
        Sampler(GRAMMAR, SampleConfig.model_validate({"strategy": strategy}))
    assert next(Sampler(GRAMMAR, SampleConfig(strategy="uniform")).stream(1)).rules


@every_strategy
@pytest.mark.parametrize(
    ("lines", "depths"),
    [(["a ### A"], (2, 20)), (["f NT_1 ### F NT_1"], (1, 200)), (["a ### A", "f NT_1 NT_2 ### F NT_1 NT_2"], (1, 1))],
    ids=["no open rule", "endless", "possible"],
)
def test_depths_that_no_derivation_has(strategy: str, lines: list[str], depths: tuple[int, int]) -> None:
    grammar = parse_grammar(lines)
    config = SampleConfig.model_validate({"strategy": strategy, "min_depth": depths[0], "max_depth": depths[1]})
    if depths == (1, 1):
        assert next(Sampler(grammar, config, model=flat_model(grammar)).stream(1)).example == Example.of("a", "A")
        return
    recombines = any(rule.arity for rule in grammar)
    why = "no valid derivation has between" if recombines else "no rule of the grammar has nonterminals"
    with pytest.raises(InputError, match=why):
        Sampler(grammar, config, model=flat_model(grammar))


@every_strategy
def test_an_output_cfg_that_the_grammar_never_meets(strategy: str) -> None:
    config = SampleConfig.model_validate({"strategy": strategy})
    cfg = OutputCfg.parse(["ROOT => other ##ROOT", "ROOT => z"])
    with pytest.raises(InputError, match="types"):
        Sampler(GRAMMAR, config, model=flat_model(GRAMMAR), output_cfg=cfg)


def test_depths_can_be_those_of_training() -> None:
    pairs = [Example.of("walk", "WALK"), Example.of("walk twice", "WALK WALK"), Example.of("run", "RUN")]
    pairs += [Example.of("run twice twice", "RUN RUN RUN RUN")]
    grammar = parse_grammar(["walk ### WALK", "run ### RUN", "NT_1 twice ### NT_1 NT_1"])
    model = fit(grammar, pairs, FitConfig(states=1, steps=5, optimizer="em")).model
    assert model.levels == 3
    made = Sampler(grammar, SampleConfig(max_depth=0, depths="even"), model=model)
    assert made.config.max_depth == 3
    assert {len(sample.rules) for sample in made.stream(200)} == {2, 3}
    for unknown in (None, Model(grammar, model.theta_context, model.theta_rule)):
        with pytest.raises(InputError, match=r"max_depth = 0 needs a model .*: csl fit --no-resume"):
            Sampler(grammar, SampleConfig(max_depth=0), model=unknown)


# rare things


def test_valid_outputs_that_are_very_rare_keep_their_proportions() -> None:
    grammar = parse_grammar(["x ### X", "a ### A", "b ### B", "c ### C", "s NT_1 ### S NT_1"])
    cfg = OutputCfg.parse(["ROOT => S ##Y", "Y => A", "Y => B", "Y => C", "ROOT => Q ##W", "W => X"])
    theta = np.zeros((2, 1)), np.array([[0, -45, -45.7, -46.5, -44.0]])
    some = Sampler(grammar, SampleConfig(), model=Model(grammar, *theta), output_cfg=cfg)
    observed = frequencies(some._draw, 100_000, len(grammar))
    assert chi_square_excess(observed, exact(grammar, theta, cfg, (2, 20 - 17))) < 5


@pytest.mark.parametrize("theta", [-3.0, -7.0, -30.0])
def test_depths_that_are_very_rare_keep_their_proportions(theta: float) -> None:
    grammar = parse_grammar(["x ### X", "s NT_1 ### S NT_1", "t NT_1 ### T NT_1"])
    parameters = np.zeros((3, 1)), np.array([[0.0, theta, theta - 0.5]])
    config = SampleConfig(min_depth=6, max_depth=7)
    some = Sampler(grammar, config, model=Model(grammar, *parameters))
    observed = frequencies(some._draw, 100_000, len(grammar))
    assert chi_square_excess(observed, exact(grammar, parameters, None, (6, 7))) < 5


# where samples come from


@every_strategy
def test_the_derivation_of_a_sample_gives_it_back(strategy: str) -> None:
    some = sampler(strategy)
    for sample in some.stream(300):
        tree = some.derivation(sample)
        assert tree.example == sample.example
        assert 2 <= levels(tree) <= 4


def test_parents_are_the_first_lines_that_use_a_rule() -> None:
    assert sampler(train=TRAIN).parents() == {0: 1, 1: 3, 2: 3}
    assert sampler().parents() == {}


# coverage


def unseen(found: Sequence[Sample], grammar: Grammar, train: Sequence[Example]) -> int:
    """How many pairs of context and rule are in samples and in no derivation of a training pair."""
    starts, arity = context_starts(grammar), np.array([rule.arity for rule in grammar])
    used, sizes, _ = Deriver(grammar).derive_all(list(dict.fromkeys(train)), Threads(1))
    known = context_counts(used, np.concatenate([[0], np.cumsum(sizes)]), starts, arity)
    rules = np.array([r for sample in found for r in sample.rules], np.int32)
    offsets = np.cumsum([0, *(len(sample.rules) for sample in found)])
    return int(((context_counts(rules, offsets, starts, arity) > 0) & (known == 0)).sum())


def test_coverage_finds_unseen_combinations_first(quick: Quick) -> None:
    task, model = quick("geoquery", "standard")
    counts = {}
    for strategy in ("model", "uniform", "coverage"):
        config = SampleConfig.model_validate({"strategy": strategy, "max_depth": 5})
        some = Sampler(model.grammar, config, model=model, output_cfg=task.output_cfg, train=task.train)
        counts[strategy] = unseen(list(some.stream(1000)), model.grammar, task.train)
    assert counts["coverage"] >= counts["uniform"]
    assert counts["coverage"] > counts["model"]


# benchmark sets


def slow(name: str) -> ParameterSet:
    return pytest.param(name, marks=pytest.mark.slow)


@pytest.mark.parametrize("strategy", ["model", "uniform"])
@pytest.mark.parametrize("name", ["geoquery/standard", *map(slow, ("cogs/gen", "smcalflow-cs-fifth/16"))])
def test_samples_are_valid_and_derivable(name: str, strategy: str, quick: Quick) -> None:
    data, split = name.split("/")
    task, model = quick(data, split)
    options = PRESETS.get(data, PRESETS["smcalflow"]).model_dump()
    config = SampleConfig.model_validate(options | {"strategy": strategy, "temperature": 1})
    some = Sampler(model.grammar, config, model=model, output_cfg=task.output_cfg, train=task.train)
    count = 20_000 if strategy == "model" else 2000
    found = list(some.stream(count))
    assert len(found) == count
    if task.output_cfg is not None:
        vocabulary, cfg = task.output_cfg._own  # all at once: one by one takes too long
        values = [vocabulary.get(token) for sample in found for token in sample.example.target]
        offsets = np.cumsum([0, *(len(sample.example.target) for sample in found)])
        assert accepted(cfg, np.array(values, np.int32), offsets).all()
    assert all(some.derivation(sample).example == sample.example for sample in found[:500])
    assert model.deriver.derivable(pairs(found[:2000])).all()


# balance


def rare_model() -> Model:
    """`hop` is drawn about once in 400 times."""
    context, rule = random_theta(GRAMMAR, 2, seed=3, spread=0.1)
    rule[:, 4] -= 5.0
    return Model(GRAMMAR, context, rule)


def uses(balance: float, number: int = 20_000) -> np.ndarray:
    some = Sampler(GRAMMAR, SampleConfig(max_depth=4, balance=balance), model=rare_model())
    found = [sample.rules for sample in some.stream(number)]
    assert len(found) == number
    return np.bincount(np.concatenate(found), minlength=len(GRAMMAR)) / number


def test_balance_brings_rare_rules() -> None:
    plain, some, more = uses(1), uses(5), uses(20)
    assert plain[4] < 0.02
    assert 4 * plain[4] < some[4] < 7 * plain[4]  # one draw of five is kept, and all with the rare rule
    assert more[4] > 10 * plain[4]
    assert more[:2].min() > 0.3 * plain[:2].min()  # the others do not go


def test_balance_keeps_a_given_share() -> None:
    some = Sampler(GRAMMAR, SampleConfig(max_depth=4, balance=5), model=rare_model())
    chances = some._chances()
    kept = [max(chances[list(sample.rules)]) for sample in sampler_with(rare_model()).stream(20_000)]
    assert np.mean(kept) == pytest.approx(1 / 5, rel=0.05)


def sampler_with(model: Model) -> Sampler:
    return Sampler(GRAMMAR, SampleConfig(max_depth=4), model=model)


def test_draws_that_balance_leaves_out_do_not_end_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler_module, "CHUNK", 64)
    monkeypatch.setattr(sampler_module, "SCARCE", 0.05)
    some = Sampler(GRAMMAR, SampleConfig(max_depth=4, balance=20), model=rare_model())
    assert len(list(some.stream(8_000))) == 8_000


@pytest.mark.parametrize("depths", ["model", "even"])
def test_a_balanced_stream_does_not_depend_on_threads(depths: str) -> None:
    one, three = (list(sampler(depths=depths, balance=3).stream(6000, Threads(threads))) for threads in (1, 3))
    assert one == three


# outputs by a power of their draws


def counts(power: float, number: int) -> Counter[tuple[str, ...]]:
    return Counter(pair.target for pair in pairs(list(sampler(output_power=power).stream(number))))


def test_an_output_drawn_n_times_comes_up_n_to_the_power_times(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = counts(1, 20 * 4096)
    monkeypatch.setattr(sampler_module, "PATIENCE", 10)
    monkeypatch.setattr(sampler_module, "SCARCE", 1)
    kept = counts(0.5, 10**6)  # the stream ends when the second ten chunks bring less than the first
    few = [output for output, number in drawn.items() if number > 100]
    assert len(few) > 10
    for output in few:
        wanted = drawn[output] ** 0.5
        assert abs(kept[output] - wanted) < 4 * wanted**0.5


def test_with_power_0_each_output_comes_up_once() -> None:
    assert set(counts(0, 100).values()) == {1}


def test_the_power_does_not_depend_on_threads() -> None:
    one, three = (list(sampler(output_power=0.5).stream(3000, Threads(threads))) for threads in (1, 3))
    assert one == three
    assert len(one) == 3000
