"""An example: one (input, output) pair of a data set, as tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from csl.errors import InputError


@dataclass(frozen=True, slots=True)
class Example:
    """A pair ⟨x, y⟩. Two examples are equal when their tokens are; `meta` (named columns) does not count."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    meta: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse a text, which would be taken for tokens of one character."""
        if isinstance(self.source, str) or isinstance(self.target, str):
            raise InputError(f"{self.source!r}, {self.target!r}: a side is a tuple of tokens; for texts: Example.of")

    @classmethod
    def of(cls, source: str, target: str, /, **meta: str) -> "Example":
        """Split both sides at white space: `Example.of("jump twice", "JUMP JUMP")`."""
        return cls(tuple(source.split()), tuple(target.split()), meta)

    @property
    def source_text(self) -> str:
        """The input as one string."""
        return " ".join(self.source)

    @property
    def target_text(self) -> str:
        """The output as one string."""
        return " ".join(self.target)
