"""The grammar that pairs of raw text are drawn from: one of phrases.

A grammar that parses much has rules for single words (⟨states, state⟩). What is drawn from it is valid, but nobody
talks like that. So pairs are drawn from a second grammar, whose rules are longer (⟨rivers in NT_1, river(NT_1)⟩): with
heavier weights of log p̂, and without the seed rules that give an operator an argument that nobody said. It covers
less, which does not matter where nothing is parsed but what was drawn.

A rule with a lone target (⟨dim the NT_1 percent, NT_1⟩) says that its words mean nothing, whatever they stand around.
If training has them around one rule only, that is all that is known of them: the two become one rule.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from csl.engine import ONE_THREAD, Threads
from csl.examples import Example
from csl.grammar import Grammar, Nt, Rule, compose
from csl.grammar.output_cfg import OutputCfg
from csl.induction.config import InductionConfig
from csl.induction.induce import induce
from csl.model.config import choose
from csl.model.fit import fit
from csl.model.model import Model
from csl.parsing.deriver import Deriver

CONFIG = InductionConfig()


def learn_phrases(
    examples: Sequence[Example],
    seed_rules: Iterable[Rule],
    output_cfg: OutputCfg | None,
    seed: int = 0,
    engine: Threads = ONE_THREAD,
) -> Model:
    """Induce and fit the grammar of phrases of prepared examples."""
    spoken = [rule for rule in seed_rules if rule.source != (Nt(1),)]
    grammar = induce(examples, CONFIG, seeds=spoken, output_cfg=output_cfg, engine=engine).grammar
    grammar = joined(grammar, examples, engine)
    config, _ = choose(len(grammar), len(examples), prepared=True)
    return fit(grammar, examples, config.model_copy(update={"seed": seed}), output_cfg=output_cfg, engine=engine).model


def joined(grammar: Grammar, examples: Sequence[Example], engine: Threads = ONE_THREAD) -> Grammar:
    """Join each rule with a lone target to the rule that it is applied to, if examples apply it to one at most."""
    deriver = Deriver(grammar, CONFIG.max_units)
    numbers, sizes, _ = deriver.derive_all(list(dict.fromkeys(examples)), engine)
    derivations, rules = np.split(numbers, np.cumsum(sizes)[:-1]), dict.fromkeys(grammar)
    known = [[deriver.rules[k] for k in derivation] for derivation in derivations]  # in preorder
    while True:
        applied: dict[Rule, set[Rule]] = {rule: set() for rule in rules if _only_wraps(rule)}
        for derivation in known:
            for rule, below in pairwise(derivation):
                if rule in applied:
                    applied[rule].add(below)
        single = {rule for rule, below in applied.items() if len(below) <= 1}
        if not single:
            return Grammar(rules)
        known = [list(_join(derivation, single)) for derivation in known]
        rules = dict.fromkeys(rule for rule in rules if rule not in single)
        rules |= dict.fromkeys(rule for derivation in known for rule in derivation)


def _only_wraps(rule: Rule) -> bool:
    """Whether a rule adds words to the input and nothing to the output."""
    return rule.target == (Nt(1),) and len(rule.source) > 1


def _join(derivation: Sequence[Rule], single: Container[Rule]) -> Iterator[Rule]:
    """Compose rules with the rule that follows; derivations are in preorder."""
    stack: list[Rule] = []
    for rule in reversed(derivation):
        stack.append(compose(rule, 1, stack.pop()) if rule in single else rule)
    return reversed(stack)
