"""The Python interface: what `import csl` offers."""

from collections.abc import Callable, Iterable, Sequence

from csl.data import Example
from csl.grammar import Grammar, Rule
from csl.grammar.output_cfg import OutputCfg
from csl.induction.auto import choose
from csl.induction.config import InductionConfig, preset
from csl.induction.induce import Step
from csl.induction.induce import induce as _induce


def induce(
    examples: Sequence[Example],
    config: InductionConfig | str = "auto",
    *,
    seeds: Iterable[Rule] = (),
    output_cfg: OutputCfg | None = None,
    threads: int = 1,
    progress: Callable[[Step], None] | None = None,
) -> Grammar:
    """Induce a grammar that derives every example.

    `config` is an `InductionConfig`, the name of a preset, or "auto", which chooses options, and identity seed rules
    beside yours, by a look at the examples. `progress` is called after every step.
    """
    if config == "auto":
        choice = choose(examples)
        config, seeds = choice.config, [*seeds, *choice.seeds]
    elif isinstance(config, str):
        config = preset(config)
    return _induce(examples, config, seeds=seeds, output_cfg=output_cfg, threads=threads, progress=progress).grammar
