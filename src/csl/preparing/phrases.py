"""The grammar that pairs of raw text are drawn from: one of phrases.

A grammar that parses much has rules for single words (⟨states, state⟩). What is drawn from it is valid, but nobody
talks like that. So pairs are drawn from a second grammar, whose rules are longer (⟨rivers in NT_1, river(NT_1)⟩): with
heavier weights of log p̂, and without the seed rules that give an operator an argument that nobody said. It covers
less, which does not matter where nothing is parsed but what was drawn.
"""

from collections.abc import Iterable, Sequence

from csl.engine import ONE_THREAD, Threads
from csl.examples import Example
from csl.grammar import Nt, Rule
from csl.grammar.output_cfg import OutputCfg
from csl.induction.config import InductionConfig
from csl.induction.induce import induce
from csl.model.config import choose
from csl.model.fit import fit
from csl.model.model import Model

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
    config, _ = choose(len(grammar), len(examples), prepared=True)
    return fit(grammar, examples, config.model_copy(update={"seed": seed}), output_cfg=output_cfg, engine=engine).model
