"""The frame of outputs: what nearly all begin and end with, such as `answer ( … )`.

It says nothing about an input. But a rule that has it, ⟨NT_1 with most people, answer ( largest ( people , NT_1 ) )⟩,
can only be the topmost, and what it has learnt cannot be combined. With the seed rule ⟨NT_1, answer ( NT_1 )⟩ the
search takes the frame off, and rules are of parts that may stand anywhere. Ours: the paper has no such rule. An output
CFG must tell that the frame is never part of an output: where frames can stand in frames, an input has too many
derivations.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from csl.examples import Example
from csl.grammar import Nt, Rule
from csl.grammar.output_cfg import ROOT, OutputCfg

SHARE = 0.95  # of the outputs, at least, have the frame


def frame_rule(examples: Iterable[Example], cfg: OutputCfg) -> Rule | None:
    """Give the rule with the longest frame that is of the start symbol alone, around another category.

    >>> cfg = OutputCfg.parse(["ROOT => answer ( ##STATE )", "STATE => m0", "STATE => next_to ( ##STATE )"])
    >>> pairs = Example.of("m0", "answer ( m0 )"), Example.of("by m0", "answer ( next_to ( m0 ) )")
    >>> print(frame_rule(pairs, cfg))
    NT_1 ### answer ( NT_1 )
    """
    outputs = list(dict.fromkeys(example.target for example in examples))
    before, after = _shared(outputs), _shared([output[::-1] for output in outputs])[::-1]
    for size in range(len(before) + len(after), 0, -1):
        for left in range(min(len(before), size), max(0, size - len(after)) - 1, -1):
            start, end = before[:left], after[len(after) - size + left :]
            framed = sum(len(o) > size and o[:left] == start and o[len(o) - len(end) :] == end for o in outputs)
            typings = cfg.typings((*start, Nt(1), *end)) if framed >= SHARE * len(outputs) else ()
            if typings and all(t.category == ROOT.name and ROOT.name not in t.children for t in typings):
                return Rule((Nt(1),), (*start, Nt(1), *end))
    return None


def _shared(outputs: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Give the longest beginning that enough outputs have, and something after it."""
    beginning: tuple[str, ...] = ()
    wanted = SHARE * len(outputs)
    while True:
        place = len(beginning)
        tokens = Counter(output[place] for output in outputs if len(output) > place + 1)
        token, count = max(tokens.items(), key=lambda item: item[1], default=("", 0))
        if not count or count < wanted:
            return beginning
        beginning = (*beginning, token)
        outputs = [output for output in outputs if len(output) > place + 1 and output[place] == token]
