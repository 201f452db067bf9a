"""From examples to a grammar: the figures on the benchmark sets, determinism, resuming, and limits."""

import itertools
import random
from pathlib import Path

import numpy as np
import pytest

import csl
from csl.datasets import cogs, geoquery, scan
from csl.datasets.task import Task
from csl.engine import Threads
from csl.errors import InputError
from csl.examples import Example
from csl.grammar import Grammar, Rule, parse_grammar
from csl.grammar.output_cfg import OutputCfg
from csl.induction.config import PRESETS, InductionConfig
from csl.induction.induce import Induced, State, Step, induce
from csl.parsing.deriver import Deriver

from ..grammars import SCAN_RULES


def induced(task: Task, preset: str) -> Grammar:
    return induce(task.train, PRESETS[preset], seeds=task.seed_rules, output_cfg=task.output_cfg).grammar


def derivable(grammar: Grammar, examples: list[Example]) -> float:
    """The share of the pairs that the grammar derives, in percent."""
    return 100 * float(Deriver(grammar).derivable(examples).mean())


def text(result: Induced) -> str:
    """All that is known about a grammar, to compare two runs."""
    lines = [f"{rule} {result.cost[rule]} {result.uses[rule]}" for rule in result.grammar]
    return "\n".join([*lines, f"{result.size_before} {result.objective}"])


# benchmark sets


def check_scan(task: Task) -> None:
    grammar = induced(task, "scan")
    assert set(map(str, grammar)) == set(SCAN_RULES)
    assert Deriver(grammar).derivable(task.test).all()


@pytest.mark.parametrize("split", ["jump", "turn_left", "length"])
def test_scan_gives_the_clean_twenty_rules(split: str) -> None:
    check_scan(scan.prepare(None, split))


@pytest.mark.parametrize("split", ["mcd1", "mcd2"])
def test_scan_mcd_gives_the_clean_twenty_rules(split: str, shared_data: Path) -> None:
    check_scan(scan.prepare(shared_data / "scan", split))


@pytest.mark.parametrize(
    ("split", "most_rules", "least_derivable"),
    [
        ("standard", 250, 77.5),
        ("tmcd_1", 181, 46.4),
        ("tmcd_2", 205, 38.8),
        ("length", 159, 29.1),
        ("template_1", 206, 69.3),
        ("template_2", 226, 55.6),
    ],
)
def test_geoquery_figures(split: str, most_rules: int, least_derivable: float, shared_data: Path) -> None:
    task = geoquery.prepare(shared_data / "geoquery", split)
    grammar = induced(task, "geoquery")
    assert len(grammar) <= most_rules
    assert derivable(grammar, task.test) >= least_derivable
    assert derivable(grammar, task.train) == 100
    assert task.output_cfg is not None
    assert all(task.output_cfg.typings(rule.target) or rule in task.seed_rules for rule in grammar)


@pytest.mark.slow
def test_cogs_figures(shared_data: Path) -> None:
    task = cogs.prepare(shared_data / "cogs", "gen")
    grammar = induced(task, "cogs")
    assert sum(rule.arity > 0 for rule in grammar) <= 40
    assert derivable(grammar, task.test) >= 99.9
    assert derivable(grammar, task.train) == 100


# determinism


def test_threads_and_order_do_not_matter(commands: list[Example]) -> None:
    config = InductionConfig(partitions=3)
    once = text(induce(commands, config))
    for threads in (1, 2, 3):
        assert text(induce(commands, config, engine=Threads(threads))) == once
    assert text(induce(commands[::-1], config)) == once


def test_threads_do_not_matter_with_seeds_and_an_output_cfg(shared_data: Path) -> None:
    task = geoquery.prepare(shared_data / "geoquery", "length")
    options = {"seeds": task.seed_rules, "output_cfg": task.output_cfg}
    engines = map(Threads, (1, 2, 3))
    assert len({text(induce(task.train, PRESETS["geoquery"], **options, engine=engine)) for engine in engines}) == 1


def test_a_sample_for_the_counts_is_repeatable_and_loses_nothing(commands: list[Example]) -> None:
    config = InductionConfig(sample_size=40, seed=3)
    result = induce(commands, config)
    assert text(result) == text(induce(commands, config))
    assert derivable(result.grammar, commands) == 100


# resuming


class Memory:
    """A checkpoint that keeps the last state, and stops the search after some more."""

    def __init__(self) -> None:
        self.state: State | None = None
        self.left = 10**9

    def load(self) -> State | None:
        return self.state

    def save(self, state: State) -> None:
        self.state = state
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


@pytest.mark.parametrize("after", [1, 2, 3, 5])
@pytest.mark.parametrize("config", [PRESETS["scan"], InductionConfig(partitions=2), InductionConfig(steps=2)])
def test_a_search_stopped_again_and_again_ends_the_same(
    after: int, config: InductionConfig, commands: list[Example]
) -> None:
    seeds = list(parse_grammar(["jump ### I_JUMP"]))
    whole: list[Step] = []
    expected = text(induce(commands, config, seeds=seeds, progress=whole.append))
    memory, stops = Memory(), 0
    steps: list[Step] = []
    while True:
        memory.left = after
        try:
            result = induce(commands, config, seeds=seeds, checkpoint=memory, progress=steps.append)
            break
        except KeyboardInterrupt:
            stops += 1
    assert text(result) == expected
    assert stops == len(whole) // after
    assert [s for s in whole if s in steps] == steps  # those that were reported are the same, too


@pytest.mark.parametrize(
    "change",
    [
        {"values": np.full(10**4, 10**6, np.int32)}, {"values": np.zeros(10**4, np.int32)},
        {"values": np.full(10**4, -7, np.int32)}, {"begin": np.array([0, -5, 10**9])}, {"middle": np.array([10**9])},
        {"fresh": np.ones(1, bool)},
    ],
)  # fmt: skip
def test_a_state_that_would_lead_kernels_astray_is_refused(
    change: dict[str, np.ndarray], commands: list[Example]
) -> None:
    memory = Memory()
    memory.left = 1
    with pytest.raises(KeyboardInterrupt):
        induce(commands, InductionConfig(), checkpoint=memory)
    assert memory.state
    memory.state = memory.state._replace(**change)
    with pytest.raises(InputError, match="does not hold rules of this run"):
        induce(commands, InductionConfig(), checkpoint=memory)


# limits


def pairs(*lines: str) -> list[Example]:
    return [Example.of(*line.split(" -> ")) for line in lines]


def check_derives(grammar: Grammar, examples: list[Example]) -> None:
    assert Deriver(grammar).derivable(examples).all()


def test_one_example_only() -> None:
    result = induce(pairs("a b -> A B"), InductionConfig())
    assert list(map(str, result.grammar)) == ["a b ### A B"]
    assert result.objective == result.size_before == 32
    assert result.uses == {next(iter(result.grammar)): 1}


def test_an_output_of_two_hundred_tokens() -> None:
    long = Example(("walk", "far"), ("WALK",) * 200)
    distinct = Example(("count",), tuple(map(str, range(200))))
    examples = [long, distinct, *pairs("walk -> WALK", "walk twice -> WALK WALK", "walk far twice -> " + "WALK " * 400)]
    check_derives(induce(examples, InductionConfig()).grammar, examples)


def test_a_hundred_thousand_identical_examples() -> None:
    result = induce(pairs("a b -> A B") * 100_000, InductionConfig())
    assert len(result.grammar) == 1
    assert result.objective == 32


def test_where_nothing_compresses_every_example_is_a_rule() -> None:
    examples = [Example.of(f"a{i} b{i} c{i}", f"A{i} B{i} C{i}") for i in range(2_000)]
    steps: list[Step] = []
    result = induce(examples, InductionConfig(), progress=steps.append)
    assert set(result.grammar) == set(map(Rule.from_example, examples))
    assert [step.actions for step in steps] == [0]
    assert result.objective == result.size_before


def test_random_pairs_over_few_tokens_stay_derivable() -> None:
    chance = random.Random(5)

    def side(letters: str) -> tuple[str, ...]:
        return tuple(chance.choices(letters, k=chance.randint(1, 8)))

    examples = [Example(side("abc"), side("ABC")) for _ in range(300)]
    check_derives(induce(examples, InductionConfig(max_units=1)).grammar, examples)


def test_an_input_with_two_outputs_keeps_both() -> None:
    examples = pairs("run -> RUN", "run -> JOG", "run twice -> RUN RUN", "run twice -> JOG JOG", "hop twice -> HOP HOP")
    result = induce(examples * 3, InductionConfig())
    check_derives(result.grammar, examples)
    assert "NT_1 twice ### NT_1 NT_1" in map(str, result.grammar)


def test_tokens_that_read_like_notation_are_ordinary() -> None:
    words = ["NT_1", "###", "NT_2", "#", "\\", "\\NT_1"]
    examples = [
        *(Example((w,), (w, w)) for w in words),
        *(Example((v, "and", w), (v, v, w, w)) for v in words for w in words),
    ]
    grammar = induce(examples, InductionConfig()).grammar
    check_derives(grammar, examples)
    assert {rule.arity for rule in grammar} == {0, 2}
    assert len(grammar) == len(words) + 1
    assert parse_grammar(map(str, grammar)) == grammar


def test_seeds_that_equal_examples() -> None:
    examples = pairs("run -> RUN", "run twice -> RUN RUN", "hop twice -> HOP HOP")
    seeds = [Rule.from_example(e) for e in examples[1:]]
    grammar = induce(examples, InductionConfig(), seeds=[*seeds, *seeds]).grammar
    assert set(seeds) <= set(grammar)
    check_derives(grammar, examples)


def test_a_seed_that_changes_nothing_does_not_keep_the_search_going() -> None:
    examples = pairs("a -> A", "b -> B", "a and b -> A B", "b and a -> B A")
    steps: list[Step] = []
    induce(examples, InductionConfig(steps=9), seeds=parse_grammar(["NT_1 ### NT_1"]), progress=steps.append)
    assert steps[-1].actions == 0


@pytest.mark.parametrize("max_units", [0, 1, 2])
def test_a_seed_with_a_lone_source_loses_no_example(max_units: int) -> None:
    """Each pair follows from the one before, but from the first only by more units than may stand in a row."""
    examples = [Example.of("a", "A" + " x" * k) for k in range(max_units + 2)]
    config = InductionConfig(max_units=max_units)
    grammar = induce(examples, config, seeds=parse_grammar(["NT_1 ### NT_1 x"])).grammar
    assert Deriver(grammar, max_units).derivable(examples).all()


def test_one_nonterminal_at_most(commands: list[Example]) -> None:
    grammar = induce(commands, InductionConfig(max_nonterminals=1)).grammar
    assert grammar.max_arity == 1
    check_derives(grammar, commands)


def test_more_partitions_than_examples() -> None:
    examples = pairs("run -> RUN", "run twice -> RUN RUN", "hop twice -> HOP HOP")
    steps: list[Step] = []
    grammar = induce(examples, InductionConfig(partitions=50), progress=steps.append).grammar
    check_derives(grammar, examples)
    assert {step.partition for step in steps} == {1, 2, 3}
    assert steps[-1].partitions == 3


def test_options_about_shapes_are_kept(commands: list[Example]) -> None:
    for repeated, lone in itertools.product((False, True), repeat=2):
        config = InductionConfig(repeated_target=repeated, lone_target=lone)
        grammar = induce([*commands, *pairs("please run -> I_RUN", "please jump -> I_JUMP")], config).grammar
        for rule in grammar:
            nonterminals = [s for s in rule.target if not isinstance(s, str)]
            assert repeated or len(set(nonterminals)) == len(nonterminals)
            assert lone or len(rule.target) > 1 or not nonterminals


def test_an_output_cfg_allows_only_what_it_derives() -> None:
    """`NT_1 end` is a piece of no category, so that the rule ⟨NT_1 now, NT_1 end⟩ is only found without the CFG."""
    cfg = OutputCfg.parse([*(f"ROOT => {f} ( ##X ) end" for f in "fgh"), *(f"X => {x}" for x in "abc")])
    whole = pairs(*(f"{f}-ing {x} now -> {f} ( {x} ) end" for f in "fgh" for x in "abc"))
    examples = [*whole, *pairs(*(f"{x} -> {x}" for x in "abc"), *(f"{f}-ing a -> {f} ( a )" for f in "fgh"))]
    free, checked = (induce(examples, InductionConfig(), output_cfg=c).grammar for c in (None, cfg))
    assert "NT_1 now ### NT_1 end" in map(str, free)
    invalid = {rule for rule in checked if not cfg.typings(rule.target)}
    assert invalid <= set(map(Rule.from_example, examples))  # the examples themselves are never refused
    assert "f-ing NT_1 now ### f ( NT_1 ) end" in map(str, checked)
    check_derives(checked, examples)


# the Python interface


@pytest.mark.parametrize("config", ["auto", "cogs"])
def test_no_examples_are_refused(config: str) -> None:
    with pytest.raises(InputError):
        csl.induce([], config)


@pytest.mark.parametrize("example", [Example((), ("A",)), Example(("a",), ())])
def test_an_empty_side_is_refused(example: Example) -> None:
    with pytest.raises(InputError):
        csl.induce([example, *pairs("a -> A")], "cogs")


def test_the_interface_takes_a_preset_by_name_and_chooses_by_itself(commands: list[Example]) -> None:
    expected = induce(commands, PRESETS["scan"]).grammar
    assert csl.induce(commands, "scan") == expected
    assert csl.induce(commands, PRESETS["scan"], threads=2) == expected
    steps: list[Step] = []
    chosen = csl.induce(commands, progress=steps.append, seed_rules=parse_grammar(["fly ### I_FLY"]))
    assert "fly ### I_FLY" in map(str, chosen)
    assert steps
    check_derives(chosen, commands)


def test_an_example_that_cannot_be_derived_in_time_stays_a_rule(caplog: pytest.LogCaptureFixture) -> None:
    """Seventy times `a` has so many derivations by these seeds that the search for one is given up."""
    seeds = [
        "a ### A", "NT_1 NT_2 ### NT_1 NT_2", "NT_1 NT_2 ### NT_2 B NT_1",
        "NT_1 NT_2 NT_3 NT_4 ### NT_1 NT_2 NT_3 NT_4",
    ]  # fmt: skip
    hard = Example(("a",) * 70, ("B", *("A",) * 70))
    with caplog.at_level("INFO", "csl"):
        grammar = induce([hard, Example.of("x", "X")], InductionConfig(), seeds=parse_grammar(seeds)).grammar
    assert "too ambiguous to decide" in caplog.text
    assert Rule(hard.source, hard.target) in set(grammar)
