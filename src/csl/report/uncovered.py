"""Why inputs get no output: tokens that no rule knows, no rules that fit together, or only outputs that are not valid.

All inputs are counted. Of some, the largest parts that the grammar does derive are found; an input costs O(n³).
"""

from collections import Counter
from collections.abc import Sequence

from csl.engine.engine import Engine
from csl.engine.threads import ONE_THREAD
from csl.examples import Example
from csl.report.derivations import Derivations, Reading
from csl.report.schema import Uncovered, UncoveredInputs
from csl.report.selection import evenly

INPUTS, TOKENS = 200, 50
UNKNOWN, NO_RULE, INVALID = "unknown tokens", "no rule", "no valid output"


def describe_uncovered(
    of: str,
    sources: Sequence[tuple[str, ...]],
    examples: Sequence[Example],
    readings: Sequence[Reading | None],
    derivations: Derivations,
    engine: Engine = ONE_THREAD,
) -> UncoveredInputs:
    """Describe the inputs that have no reading; `examples` are their pairs, or nothing if they are unlabelled."""
    deriver = derivations.deriver
    covered = deriver.covered(sources, engine).tolist()
    reasons = dict.fromkeys((UNKNOWN, NO_RULE, INVALID), 0)
    tokens: Counter[str] = Counter()
    found: list[tuple[int, str]] = []
    for k, source in enumerate(sources):
        if readings[k]:
            continue
        unknown = deriver.unknown_tokens(source)
        reason = INVALID if covered[k] else UNKNOWN if unknown else NO_RULE
        reasons[reason] += 1
        tokens.update(unknown)
        found.append((k, reason))
    return UncoveredInputs(
        of=of,
        inputs_total=len(sources),
        covered=sum(covered),
        derivable=int(deriver.derivable(examples, engine).sum()) if examples else None,
        total=len(found),
        reasons=reasons,
        unknown_tokens=sorted(tokens.items(), key=lambda item: (-item[1], item[0]))[:TOKENS],
        inputs=[
            Uncovered(
                input=" ".join(sources[k]),
                output=examples[k].target_text if examples else None,
                reason=reason,
                unknown=deriver.unknown_tokens(sources[k]),
                spans=deriver.covered_spans(sources[k]) if reason != INVALID else [],
            )
            for k, reason in evenly(found, INPUTS)
        ],
    )
