"""Random rules, grammars, inputs, output CFGs, parameters and data, for tests that compare with `csl.reference`."""

import random
from math import log, log2, prod

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from csl import reference
from csl.examples import Example
from csl.grammar import Grammar, Nt, Rule, compose, parse_grammar
from csl.grammar.output_cfg import ROOT, OutputCfg, Production
from csl.induction.config import InductionConfig
from csl.model.model import FloatArray, Model
from csl.parsing.derivation import Derivation

Tokens = tuple[str, ...]

SCAN_RULES = """
jump ### I_JUMP
look ### I_LOOK
run ### I_RUN
walk ### I_WALK
turn left ### I_TURN_LEFT
turn right ### I_TURN_RIGHT
turn opposite left ### I_TURN_LEFT I_TURN_LEFT
turn opposite right ### I_TURN_RIGHT I_TURN_RIGHT
turn around left ### I_TURN_LEFT I_TURN_LEFT I_TURN_LEFT I_TURN_LEFT
turn around right ### I_TURN_RIGHT I_TURN_RIGHT I_TURN_RIGHT I_TURN_RIGHT
NT_1 left ### I_TURN_LEFT NT_1
NT_1 right ### I_TURN_RIGHT NT_1
NT_1 opposite left ### I_TURN_LEFT I_TURN_LEFT NT_1
NT_1 opposite right ### I_TURN_RIGHT I_TURN_RIGHT NT_1
NT_1 around left ### I_TURN_LEFT NT_1 I_TURN_LEFT NT_1 I_TURN_LEFT NT_1 I_TURN_LEFT NT_1
NT_1 around right ### I_TURN_RIGHT NT_1 I_TURN_RIGHT NT_1 I_TURN_RIGHT NT_1 I_TURN_RIGHT NT_1
NT_1 twice ### NT_1 NT_1
NT_1 thrice ### NT_1 NT_1 NT_1
NT_1 and NT_2 ### NT_1 NT_2
NT_1 after NT_2 ### NT_2 NT_1
""".strip().splitlines()


@st.composite
def random_rules(draw: st.DrawFn, targets: str = "AB", longest: int = 4, max_arity: int = 3, holes: int = 1) -> Rule:
    """Short rules over few tokens, so that they often fit together; targets may repeat nonterminals."""
    shape = draw(st.lists(st.sampled_from([*"ab", *[None] * holes]), min_size=1, max_size=longest))
    while shape.count(None) > max_arity:
        shape.remove(None)
    own = [Nt(i) for i in range(1, shape.count(None) + 1)]
    names = iter(own)
    extra = draw(st.lists(st.sampled_from([*targets, *own]), min_size=not own, max_size=longest - len(own) + 1))
    return Rule(tuple(next(names) if s is None else s for s in shape), tuple(draw(st.permutations(own + extra))))


grammars = st.lists(random_rules(longest=3, holes=2), min_size=1, max_size=6).map(
    lambda rules: list(Grammar([*rules, *parse_grammar(["a ### A"])]))
)
inputs = st.lists(st.sampled_from("aab?"), min_size=1, max_size=5).map(tuple)

PRODUCTIONS = [
    "ROOT => ##X", "ROOT => ##X ##Y", "ROOT => A ##Y", "X => A", "X => B", "X => A ##X", "X => ##Y", "X => ##Y ##X",
    "Y => B", "Y => A A", "Y => ##Y ##X", "Y => B ##X ##Y", "Z => A", "X => ##Z",
]  # fmt: skip
output_cfgs = st.lists(st.sampled_from(PRODUCTIONS), min_size=5, unique=True).map(
    lambda lines: OutputCfg(map(Production.parse, ["ROOT => ##X", *lines]))
)


def count_derivations(rules: list[Rule], x: Tokens, max_units: int) -> int:
    return reference.Chart(rules, x, None, max_units).fold(lambda rule, context, parts: prod(parts), sum)


def all_derivations(rules: list[Rule], x: Tokens, max_units: int, most: int = 200) -> list[Derivation]:
    """All derivations of an input; no test of inputs that have many."""
    assume(count_derivations(rules, x, max_units) < most)
    return reference.derivations(rules, x, None, max_units)


def typing_count(tree: Derivation, cfg: OutputCfg, category: str = ROOT.name) -> int:
    """In how many ways the category derives the output of a derivation, counted by the types of its parts."""
    return sum(
        prod(typing_count(child, cfg, name) for child, name in zip(tree.children, typing.children, strict=True))
        for typing in cfg.typings(tree.rule.target)
        if typing.category == category
    )


def random_theta(grammar: Grammar, states: int, seed: int, spread: float = 1.5) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    contexts = 1 + sum(rule.arity for rule in grammar)
    return rng.normal(0, spread, (contexts, states)), rng.normal(0, spread, (states, len(grammar)))


def all_log_p(model: Model) -> FloatArray:
    return model.log_p(np.arange(len(model.theta_context)), np.arange(len(model.grammar)))


# data for induction

configs = st.builds(
    InductionConfig,
    search=st.sampled_from(["paper", "deep"]),
    k_alpha=st.sampled_from([0, 1, 4]),
    k_beta=st.sampled_from([5, 16, 100]),
    k_t=st.sampled_from([4, 8]),
    max_nonterminals=st.integers(1, 4),
    repeated_target=st.booleans(),
    lone_target=st.booleans(),
    partitions=st.sampled_from([1, 3]),
    max_units=st.integers(0, 2),
    drop_duplicates=st.booleans(),
    logarithm=st.sampled_from(["log2", "ln"]),
)


def little_data(seed: int, size: int = 30) -> list[Example]:
    """Sample pairs from a little random grammar."""
    chance = random.Random(seed)
    words = [Rule((w,), (w.upper(),)) for w in "abcde"[: chance.randint(2, 5)]]
    shapes = list(
        parse_grammar(
            [
                "NT_1 twice ### NT_1 NT_1",
                "NT_1 and NT_2 ### NT_1 NT_2",
                "NT_1 after NT_2 ### NT_2 NT_1",
                "the NT_1 ### NT_1",
                "NT_1 left ### L NT_1",
                "around NT_1 ### NT_1 L NT_1",
                "f NT_1 g ### F ( NT_1 )",
            ]
        )
    )
    shapes = chance.sample(shapes, chance.randint(2, 4))
    examples = []
    while len(examples) < size:
        rule = chance.choice(shapes)
        while rule.arity:
            deep = len(rule.source) < 5 and chance.random() < 0.3
            rule = compose(rule, chance.randint(1, rule.arity), chance.choice(shapes if deep else words))
        examples.append(Example(rule.source, rule.target))  # type: ignore[arg-type]
    return examples + [Example(w.source, w.target) for w in words if chance.random() < 0.7]  # type: ignore[arg-type]


def options(config: InductionConfig) -> reference.Options:
    base = log if config.logarithm == "ln" else log2
    return reference.Options(log=base, **config.model_dump(include=set(reference.Options._fields)))
