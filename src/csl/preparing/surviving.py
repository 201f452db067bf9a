"""Whether the values of a program are still in its input when that is worded anew.

Of raw text, values are what training links. Of prepared data, a token of outputs is a value if every training input has
it whose output has it (placeholders such as `m0`, names); one that inputs never have without their outputs must not
come up in a wording of another program either. Linear in the tokens.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from csl.examples import Example
from csl.preparing.preparation import Preparation

Survive = Callable[[Example, Example], bool]


@dataclass(frozen=True)
class Copied:
    """Tokens that go from inputs to outputs in training."""

    outputs: frozenset[str]  # where the output has one, so does the input
    inputs: frozenset[str]  # of these: where the input has one, so does the output

    @classmethod
    def learn(cls, train: Iterable[Example]) -> "Copied":
        """Find the tokens of a training set that are copied."""
        pairs = [(set(pair.source), set(pair.target)) for pair in train]
        written = {token for _, target in pairs for token in target}
        outputs = written - {token for source, target in pairs for token in target - source}
        return cls(
            frozenset(outputs), frozenset(outputs - {token for source, target in pairs for token in source - target})
        )

    def survive(self, pair: Example) -> bool:
        """Whether the copied tokens of the output are in the input, and no others."""
        source, target = set(pair.source), set(pair.target)
        return self.outputs & target <= source and self.inputs & source <= target


def surviving(train: Iterable[Example], preparation: Preparation | None) -> Survive:
    """Give a function that tells whether the values of a pair are in another one of the same program."""
    if preparation is None:
        copied = Copied.learn(train)
        return lambda old, new: copied.survive(new)

    def values(pair: Example) -> set[tuple[str, tuple[str, ...]]]:
        linked = preparation.linked(pair.source_text, pair.target_text)
        return {(entry.type, entry.tokens) for entry in linked.values.values()}

    return lambda old, new: values(old) == values(new)
