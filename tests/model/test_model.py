"""A model as a parser: best outputs, marginal probabilities and valid outputs, against all derivations one by one."""

from math import log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csl import reference
from csl.engine import Threads
from csl.examples import Example
from csl.grammar import Grammar, Rule, parse_grammar
from csl.grammar.output_cfg import OutputCfg
from csl.kernels.inside import fewest_levels
from csl.model.model import Model, context_starts
from csl.parsing.deriver import Deriver
from csl.parsing.forest import compacted
from csl.parsing.limits import Abstained
from csl.reference import levels, probability

from ..grammars import all_derivations, all_log_p, grammars, inputs, output_cfgs, random_theta, typing_count

Output = tuple[str, ...]
units = st.sampled_from([0, 1, 2])
states = st.sampled_from([1, 2, 5])
seeds = st.integers(0, 100)


class Case:
    """A random model, an input with all its derivations, and the best of those for each output."""

    def __init__(
        self, rules: list[Rule], x: Output, max_units: int, n_states: int, seed: int, cfg: OutputCfg | None = None
    ) -> None:
        grammar = Grammar(rules)
        theta = random_theta(grammar, n_states, seed)
        self.model = Model(grammar, *theta, cfg, max_units)
        self.plain = reference.Model(grammar, *theta)
        self.trees = all_derivations(list(grammar), x, max_units)
        self.best: dict[Output, float] = {}
        for tree in self.trees if cfg is None else [tree for tree in self.trees if typing_count(tree, cfg)]:
            target, value = tree.example.target, log(probability(self.plain, tree))
            self.best[target] = max(value, self.best.get(target, value))


@settings(deadline=None, max_examples=100)
@given(grammars, inputs, units, states, seeds)
def test_a_parse_is_the_best_derivation(rules: list[Rule], x: Output, max_units: int, n_states: int, seed: int) -> None:
    case = Case(rules, x, max_units, n_states, seed)
    check_parses(case, x)


@settings(deadline=None, max_examples=100)
@given(grammars, inputs, units, states, seeds, output_cfgs)
def test_with_an_output_cfg_parses_are_the_best_valid_ones(
    rules: list[Rule], x: Output, max_units: int, n_states: int, seed: int, cfg: OutputCfg
) -> None:
    case = Case(rules, x, max_units, n_states, seed, cfg)
    assert all(map(cfg.accepts, case.best))
    if case.best:
        check_parses(case, x)
        return
    untyped = Case(rules, x, max_units, n_states, seed).best  # no types fit: the best of all counts, if it is valid
    valid = {output: value for output, value in untyped.items() if cfg.accepts(output)}
    values = sorted(untyped.values(), reverse=True)
    if len(values) > 1 and values[0] - values[1] < 1e-9:
        return  # of equals, either
    parse = case.model.parse(x)
    if not valid or max(valid.values()) < values[0]:
        assert parse is None
        return
    assert parse is not None
    assert valid[parse.target] == values[0]
    assert parse.log_prob == pytest.approx(values[0], abs=1e-9)


@settings(deadline=None, max_examples=100)
@given(grammars, inputs, units)
def test_the_fewest_levels_are_those_of_the_flattest_derivation(rules: list[Rule], x: Output, max_units: int) -> None:
    case = Case(rules, x, max_units, 1, 0)
    (found,) = fewest_levels(case.model.deriver.forests([x]))
    assert found == min(map(levels, case.trees), default=0)


def test_a_valid_output_is_given_though_its_pieces_have_no_category() -> None:
    grammar = parse_grammar(["NT_1 and NT_2 ### NT_1 , NT_2", "list NT_1 ### SELECT NT_1", "a ### A", "b ### B"])
    cfg = OutputCfg.parse(
        ["ROOT => SELECT ##COL , ##COL", "ROOT => SELECT ##COL , ##COL , ##COL", "COL => A", "COL => B"]
    )
    model = Model(grammar, *random_theta(grammar, 2, 0), cfg)
    parse = model.parse("list a and b")
    assert parse is not None
    assert parse.text == "SELECT A , B"
    assert model.parse("list a") is None


def test_an_output_that_is_too_long_for_a_look_is_not_given() -> None:
    grammar = parse_grammar(["NT_1 twice ### NT_1 NT_1", "a ### A"])
    cfg = OutputCfg.parse(["ROOT => A ##ROOT", "ROOT => A"])  # a half of an output is no category
    model = Model(grammar, *random_theta(grammar, 2, 0), cfg)
    parses = model.parse_all([("a", *("twice",) * k) for k in (0, 8, 9, 12)])
    assert [len(parse.target) if parse else None for parse in parses] == [1, 256, None, None]


def check_parses(case: Case, x: Output) -> None:
    parse = case.model.parse(x)
    if parse is None:
        assert not case.best
        return
    assert parse.log_prob == pytest.approx(max(case.best.values()), abs=1e-9)
    assert case.best[parse.target] == pytest.approx(parse.log_prob, abs=1e-9)
    assert parse.derivation.example == Example(x, parse.target)
    assert log(probability(case.plain, parse.derivation)) == pytest.approx(parse.log_prob, abs=1e-9)


@settings(deadline=None, max_examples=50)
@given(grammars, states, seeds)
def test_the_rules_that_can_follow_a_context_share_its_probability(rules: list[Rule], n_states: int, seed: int) -> None:
    grammar = Grammar(rules)
    model = Model(grammar, *random_theta(grammar, n_states, seed))
    table = all_log_p(model)
    assert np.exp(table).sum(axis=1) == pytest.approx(1)
    assert table.shape == (1 + sum(rule.arity for rule in grammar), len(grammar))


@settings(deadline=None, max_examples=50)
@given(grammars, st.lists(inputs, max_size=3), units)
def test_forests_number_the_rules_and_contexts_that_occur(rules: list[Rule], xs: list[Output], max_units: int) -> None:
    grammar = Grammar(rules)
    forests, starts = Deriver(grammar, max_units).forests(xs), context_starts(grammar)
    local = compacted(forests, starts)
    assert local.rules.tolist() == sorted(set(forests.rules.tolist()))
    assert local.rules[local.forests.rules].tolist() == forests.rules.tolist()
    of_rules = [c for r in local.rules for c in range(starts[r], starts[r + 1])]
    assert local.contexts.tolist() == [0, *of_rules]
    assert local.starts.tolist() == context_starts(Grammar(tuple(grammar)[r] for r in local.rules)).tolist()


TOY = parse_grammar(["jump ### J", "walk ### W", "NT_1 twice ### NT_1 NT_1", "NT_1 and NT_2 ### NT_1 NT_2"])


def toy(output_cfg: OutputCfg | None = None, max_units: int = 1) -> Model:
    return Model(TOY, *random_theta(TOY, 2, 0), output_cfg, max_units)


def test_sides_can_be_text_or_tokens() -> None:
    model = toy()
    parse = model.parse("jump twice")
    assert parse is not None
    assert parse == model.parse(["jump", "twice"])
    assert parse.text == "J J"
    assert model.log_prob("jump twice", "J J") == model.log_prob(("jump", "twice"), ["J", "J"]) == parse.log_prob


def test_what_the_grammar_does_not_cover_is_not_parsed() -> None:
    model = toy()
    assert model.parse("hop twice") is None
    assert model.parse("") is None
    assert model.parse_all([]) == []
    assert model.log_probs([]).tolist() == []
    assert model.log_prob("jump", "W") == -np.inf
    assert model.log_prob_inputs([("hop",)]).tolist() == [-np.inf]
    assert model.deriver.unknown_tokens(("hop", "twice")) == ["hop"]


@pytest.mark.parametrize("cfg", [None, OutputCfg.parse(["ROOT => ##S", "S => J", "S => W", "S => ##S ##S"])])
def test_threads_and_batches_do_not_change_parses(cfg: OutputCfg | None) -> None:
    words = ("walk", "jump twice")
    distinct = [tuple(" and ".join(words[k >> bit & 1] for bit in range(6)).split()) for k in range(64)]
    distinct[17] = ("hop",)
    sources = [*distinct * 2, *(("twice", *source) for source in distinct), *distinct]
    model = toy(cfg)
    expected = [model.parse(source) for source in sources]
    assert expected[17] is None
    assert model.parse_all(sources) == expected
    assert toy(cfg).parse_all(sources, engine=Threads(3)) == expected


def test_the_best_output_may_be_invalid_and_then_the_best_valid_one_is_given() -> None:
    grammar = parse_grammar(["a ### A", "a ### B", "NT_1 c ### C NT_1"])
    theta = np.zeros((2, 1)), np.array([[2.0, 0.0, 0.0]])
    free = Model(grammar, *theta).parse("a c")
    valid = Model(grammar, *theta, OutputCfg.parse(["ROOT => C ##B", "B => B"])).parse("a c")
    assert free is not None
    assert valid is not None
    assert (free.text, valid.text) == ("C A", "C B")
    assert free.log_prob - valid.log_prob == pytest.approx(2)
    assert Model(grammar, *theta, OutputCfg.parse(["ROOT => A"])).parse("a c") is None


def test_the_papers_inference_gives_no_output_if_the_best_is_invalid(tmp_path: Path) -> None:
    grammar = parse_grammar(["a ### A", "a ### B", "NT_1 c ### C NT_1"])
    theta = np.zeros((2, 1)), np.array([[2.0, 0.0, 0.0]])
    for valid, wanted in (("B", None), ("A", "C A")):
        cfg = OutputCfg.parse(["ROOT => C ##X", f"X => {valid}"])
        model = Model(grammar, *theta, cfg, inference="paper")
        model.save(tmp_path / "model.npz")
        for same in (model, Model.load(tmp_path / "model.npz"), Model(grammar, *theta, cfg).with_inference("paper")):
            parse = same.parse("a c")
            assert (parse and parse.text) == wanted
            assert same.outcomes([("hop",)]) == [Abstained.NOT_COVERED]
        typed = model.with_inference("typed").parse("a c")
        assert typed is not None
        assert typed.text == f"C {valid}"


def test_without_an_output_cfg_both_ways_of_inference_are_the_same() -> None:
    assert toy().with_inference("paper").parse("jump and walk twice") == toy().parse("jump and walk twice")


def test_units_are_applied_as_often_as_allowed() -> None:
    grammar = parse_grammar(["a ### A", "NT_1 ### NT_1 B"])
    for n in (0, 1, 2):
        model = Model(grammar, *random_theta(grammar, 2, 1), max_units=n)
        possible = [np.isfinite(model.log_prob("a", "A" + " B" * k)) for k in range(4)]
        assert possible == [k <= n for k in range(4)]


def test_a_probability_of_zero_is_a_derivation_that_never_happens() -> None:
    grammar = parse_grammar(["a ### A", "a ### B", "NT_1 c ### C NT_1", "NT_1 c ### D NT_1"])
    model = Model(grammar, np.zeros((3, 1)), np.array([[0.0, -2000.0, 0.0, -2000.0]]))
    parse = model.parse("a c c")
    assert parse is not None
    assert parse.text == "C C A"
    assert model.log_prob("a c c", "C C A") == pytest.approx(3 * np.log(0.5))
    assert model.log_prob_inputs([("a", "c", "c")])[0] == pytest.approx(3 * np.log(0.5))
    assert model.log_prob("a c c", "D D B") == -np.inf


def test_parameters_that_do_not_fit_the_grammar_are_refused() -> None:
    context, rule = random_theta(TOY, 2, 0)
    for wrong in ((context[:-1], rule), (context, rule[:, 1:]), (context[:, :1], rule)):
        with pytest.raises(ValueError, match="do not fit the grammar"):
            Model(TOY, *wrong)


def test_sizes_that_kernels_start_with_are_no_limits() -> None:
    wide = " ".join(f"NT_{k}" for k in range(1, 71))
    grammar = parse_grammar([f"{wide} ### {wide}", *(f"a ### A{k}" for k in range(70))])
    cfg = OutputCfg.parse(["ROOT => ##S", "S => ##S ##S", *(f"S => A{k}" for k in range(70))])
    for output_cfg in (None, cfg):
        model = Model(grammar, *random_theta(grammar, 1, 0), output_cfg)
        parse = model.parse(("a",) * 70)
        assert parse is not None
        assert model.log_prob(("a",) * 70, parse.target) == pytest.approx(parse.log_prob)


def test_outputs_that_explode_are_not_given() -> None:
    source = ("jump", *["twice"] * 60)  # an output of 2⁶⁰ tokens
    assert toy().parse(source) is None
    assert np.isfinite(toy().log_prob_inputs([source])[0])
    assert toy().parse(source[:8]) is not None
