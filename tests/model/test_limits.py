"""Grammars that derive inputs in very many ways: nothing explodes, what is given up is told, the rest is as before."""

import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest

from csl.engine import Threads
from csl.errors import LimitWarning
from csl.examples import Example
from csl.grammar import Grammar, parse_grammar
from csl.grammar.output_cfg import OutputCfg
from csl.model.config import FitConfig
from csl.model.fit import fit
from csl.model.model import Model, Parse
from csl.parsing.deriver import Deriver
from csl.parsing.limits import Abstained, Limits
from csl.sampling.config import SampleConfig
from csl.sampling.sampler import Sampler

from ..grammars import random_theta

ADVERSARIES = {
    "units": ["NT_1 NT_2 ### NT_1 NT_2", *(f"NT_1 ### NT_1 u{i}" for i in range(200))],
    "nonterminals": [f"NT_1 NT_2 ### NT_1 x{i} NT_2" for i in range(100)],
    "four": [f"NT_1 NT_2 NT_3 NT_4 ### NT_1 NT_2 x{i} NT_3 NT_4" for i in range(20)],
    "ambiguous": ["a a ### B", "NT_1 NT_2 ### NT_1 NT_2", "NT_1 a ### NT_1 C", "a NT_1 ### NT_1 D", "NT_1 ### NT_1"],
}
CFG = OutputCfg.parse(["ROOT => ##S", "S => ##S ##S", "S => ##T", "T => A", "T => ##S ##T", "T => ##T ##S"])
SMALL = Limits.of("16M")


def joined(number: int) -> str:
    """The output of so many a's in which every rule of "nonterminals" occurs, as far as there is room."""
    return " ".join(f"A x{i % 100}" for i in range(number - 1)) + " A"


def adversary(name: str, output_cfg: OutputCfg | None = None) -> Model:
    grammar = parse_grammar(["a ### A", *ADVERSARIES[name]])
    return Model(grammar, *random_theta(grammar, 2, 0), output_cfg, max_units=2)


@pytest.mark.parametrize("name", ADVERSARIES)
@pytest.mark.parametrize("cfg", [None, CFG])
def test_what_is_too_much_is_given_up_and_the_inputs_around_it_are_parsed(name: str, cfg: OutputCfg | None) -> None:
    model = adversary(name, cfg)
    batch: list[Sequence[str]] = ["a", "a " * 60, "?", "a " * 2000, "a", "a " * 100_000]
    outcomes = model.outcomes(batch, limits=SMALL)
    assert outcomes == model.outcomes(batch, Threads(2), SMALL)
    assert isinstance(outcomes[0], Parse)
    assert outcomes[4] == outcomes[0]
    assert outcomes[2] is Abstained.NOT_COVERED
    assert outcomes[3] is outcomes[5] is Abstained.TOO_MANY
    assert [model.outcomes([x], limits=SMALL)[0] for x in batch] == outcomes


def test_the_memory_of_the_limit_is_not_passed() -> None:
    code = """
import resource, sys
from tests.model.test_limits import ADVERSARIES, CFG, adversary, joined
from csl.parsing.limits import Limits
models = [*map(adversary, ADVERSARIES), adversary("units", CFG), adversary("ambiguous", CFG)]
def work(lengths, limits):
    for model in models:
        for n in lengths:
            model.outcomes(["a " * n], limits=limits)
            model.log_prob("a " * n, joined(n), limits)
work([2], Limits())
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
work([60, 2000], Limits.of("32M"))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 32 * 1024  # kilobytes


def test_a_larger_limit_gives_the_output() -> None:
    model = adversary("units")
    assert model.outcomes(["a " * 40], limits=Limits.of("1M")) == [Abstained.TOO_MANY]
    (outcome,) = model.outcomes(["a " * 40])
    assert isinstance(outcome, Parse)
    assert model.parse("a " * 40) == outcome


def test_a_kernel_stops_when_the_time_is_over() -> None:
    model, patient = adversary("ambiguous"), Limits(items=2**26, seconds=0.02)
    assert model.outcomes(["a", "a " * 1000, "a"], limits=patient)[1] is Abstained.STOPPED
    assert model.outcomes(["a", "a a"], limits=Limits(seconds=600)) == model.outcomes(["a", "a a"])


def test_a_warning_counts_what_is_given_up() -> None:
    model = adversary("nonterminals")
    with pytest.warns(LimitWarning, match="1 of 3 inputs given up: 1 too many derivations"):
        parses = model.parse_all(["a", "?", "a " * 60], limits=SMALL)
    assert [parse is None for parse in parses] == [False, True, True]
    assert np.isnan(model.log_prob("a " * 60, joined(60), SMALL))
    assert model.log_prob("a " * 60, "A " * 60, SMALL) == -np.inf  # no rule has such a target
    assert np.isnan(model.log_prob_inputs(["a " * 60], limits=SMALL)).all()


def test_pairs_with_too_many_derivations_are_left_out_of_a_fit() -> None:
    grammar = parse_grammar(["a ### A", *ADVERSARIES["four"], *ADVERSARIES["nonterminals"]])
    pairs = [Example.of("a", "A"), Example.of("a a", "A x1 A"), Example.of("a " * 200, joined(200))]
    with pytest.warns(LimitWarning, match="1 of 3 pairs left out"):
        fitted = fit(grammar, pairs, FitConfig(states=1, optimizer="em"))
    assert fitted.left_out == (pairs[2],)


@pytest.mark.parametrize("length", [60, 2000, 20_000])
def test_pairs_that_take_too_many_steps_are_not_derived(length: int) -> None:
    rules = ["NT_1 NT_2 NT_3 NT_4 ### NT_1 NT_2 NT_3 NT_4", "NT_1 NT_2 NT_3 NT_4 z ### NT_4 NT_3 NT_2 NT_1"]
    deriver = Deriver(parse_grammar(["a ### A", *rules, "NT_1 NT_2 ### NT_1 NT_2"]))
    pairs = [Example.of("a", "A"), Example(("a",) * length, ("A",) * length), Example.of("a a", "A A")]
    with pytest.warns(LimitWarning, match="1 of . pairs given up"):
        assert deriver.derivable(pairs).tolist() == [True, False, True]


@pytest.mark.parametrize("strategy", ["uniform", "model"])
def test_samples_of_a_grammar_that_grows_at_every_level(strategy: str) -> None:
    model = adversary("four")
    config = SampleConfig(strategy=strategy, max_depth=20, max_length=12)  # type: ignore[arg-type]
    sampler = Sampler(model.grammar, config, model=model)
    samples = list(sampler.stream(20))
    assert len(samples) == 20 or sampler.exhausted  # nearly all that is drawn uniformly is too long
    assert all(len(side) <= 12 for sample in samples for side in (sample.example.source, sample.example.target))


def test_an_output_cfg_that_is_too_ambiguous_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from csl.errors import InputError
    from csl.sampling import automaton, tables

    grammar = Grammar(parse_grammar(["a ### A", "NT_1 NT_2 ### NT_1 NT_2"]))
    model = Model(grammar, *random_theta(grammar, 2, 0), CFG)
    with monkeypatch.context() as patched:
        patched.setattr(automaton, "TRANSITIONS", 1)
        with pytest.raises(InputError, match="choose strategy uniform"):
            Sampler(grammar, SampleConfig(), model=model, output_cfg=CFG)
    monkeypatch.setattr(tables, "NUMBERS", 10)
    with pytest.raises(InputError, match="choose a smaller max_depth"):
        Sampler(grammar, SampleConfig(), model=model, output_cfg=CFG)
