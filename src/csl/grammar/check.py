"""Faults of a grammar file that reading it does not show: rules that can go, and rules that can never be used.

Checking is linear in the number of rules; with an output CFG each target is parsed once.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from csl.grammar.notation import numbered_rules
from csl.grammar.output_cfg import OutputCfg
from csl.grammar.symbols import Rule


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with the rule on a line."""

    line: int
    rule: Rule
    message: str


def faults(path: Path | str, output_cfg: OutputCfg | None = None, given: Collection[Rule] = ()) -> Iterator[Fault]:
    """Yield the faults of a grammar file, by line: duplicates, and targets without a typing if there is a CFG.

    Rules that are `given` may lack a typing.
    """
    first: dict[Rule, int] = {}
    for line, rule in numbered_rules(path):
        if first.setdefault(rule, line) != line:
            yield Fault(line, rule, f"same rule as on line {first[rule]}; remove one of them")
        elif output_cfg and rule not in given and not output_cfg.typings(rule.target):
            yield Fault(
                line, rule, "no category of the output CFG derives the target; no valid output can use the rule"
            )
