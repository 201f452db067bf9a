"""Synthetic programs in other words: what a network that maps outputs to inputs says, kept if it is read back.

A grammar words a program as training does. A network trained in reverse, from outputs to inputs, words it more freely,
and sometimes wrongly. A wording is kept only if the values of the program are in it, and a reader (the parser, or a
model from inputs to outputs) gives the program back: the round trip of back-translation. Searching for wordings with as
many beams takes most of the time.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from csl.examples import Example, split_tokens
from csl.examples.score import correct

CHUNK = 500  # programs that are worded together

Write = Callable[[Sequence[str]], Sequence[Sequence[str]]]  # wordings of programs, the best first
Read = Callable[[Sequence[str]], Sequence[str]]  # outputs of inputs; empty where there is none


class Refusal(StrEnum):
    """Why a wording is not kept."""

    EMPTY = "empty"
    KNOWN = "known"  # the pair is in the training set, or among the samples
    VALUES = "values"  # one of the program is missing, or there is another
    NOT_COVERED = "not covered"  # no reader gives an output
    OTHER = "other program"


@dataclass
class Rewording:
    """Words programs, and counts what is kept and refused. Without readers nothing is checked."""

    write: Write
    readers: Mapping[str, Read]
    survive: Callable[[Example, Example], bool]  # of a sampled pair and a new one: are the values of the first there?
    known: set[Example]
    kept: Counter[str] = field(default_factory=Counter)  # by the reader that gave the program back
    refused: Counter[Refusal] = field(default_factory=Counter)

    def reword(self, pairs: Sequence[Example]) -> Iterator[Example]:
        """Give new wordings of the programs of sampled pairs."""
        for chunk in (pairs[begin : begin + CHUNK] for begin in range(0, len(pairs), CHUNK)):
            wordings = self.write([pair.target_text for pair in chunk])
            yield from self._read_back(
                [new for pair, texts in zip(chunk, wordings, strict=True) for new in self._believable(pair, texts)]
            )

    def _believable(self, pair: Example, texts: Iterable[str]) -> Iterator[Example]:
        """Give the pairs of a program and its wordings that are new and, if it is to be checked, have its values."""
        for new in (Example(split_tokens(text), pair.target) for text in dict.fromkeys(texts)):
            if not new.source:
                self.refused[Refusal.EMPTY] += 1
            elif new in self.known:
                self.refused[Refusal.KNOWN] += 1
            elif self.readers and not self.survive(pair, new):
                self.refused[Refusal.VALUES] += 1
            else:
                self.known.add(new)
                yield new

    def _read_back(self, pairs: Sequence[Example]) -> list[Example]:
        """Give the pairs whose input some reader reads as their output; later readers see what others did not keep."""
        if not self.readers:
            self.kept["unchecked"] += len(pairs)
            return list(pairs)
        why = dict.fromkeys(pairs, Refusal.NOT_COVERED)
        for name, read in self.readers.items():
            waiting = list(why)
            outputs = read([pair.source_text for pair in waiting])
            for pair, output, right in zip(waiting, outputs, correct(waiting, outputs), strict=True):
                if right:
                    del why[pair]
                    self.kept[name] += 1
                elif output:
                    why[pair] = Refusal.OTHER
        self.refused.update(why.values())
        return [pair for pair in pairs if pair not in why]
