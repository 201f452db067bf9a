"""Values that nobody has heard of: a network that sees them learns to copy a name, not to choose among known ones.

A known value gets another word in place of one of its own: a number other digits, a word letters drawn by what follows
two letters in the values of its type. Only types that have many values, which training copies, get new ones.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from csl.preparing.linking import Words
from csl.preparing.values import Entry, Values

MANY = 10  # values of a type, at least, if there may be more
SHORTEST, LONGEST = 4, 15  # letters of a word that is made up
START, END = "^^", "$"


class Inventor:
    """Makes up values like those that training has."""

    def __init__(self, values: Values, *, capitals: bool) -> None:
        self._values = values
        self._capitals = capitals  # whether names have one in inputs

    def invent(self, kind: str, rng: np.random.Generator) -> Entry | None:
        """Make up a value of a type; None if it has only those that are known."""
        known = self._known.get(kind)
        if known is None:
            return None
        words = list(known[int(rng.integers(len(known)))])
        place = int(rng.integers(len(words)))
        word = self._word(kind, words[place], rng)
        if word is None:
            return None
        words[place] = word
        tokens = self._values.copied(kind, tuple(words))
        said = (each.capitalize() for each in words) if self._capitals else words
        return Entry(kind, tuple(said), tokens, 0) if tokens and tuple(words) not in known else None

    @cached_property
    def _known(self) -> Mapping[str, Sequence[Words]]:
        """The values of the types that have many, and copy them."""
        found: dict[str, set[Words]] = defaultdict(set)
        for entry in self._values.entries:
            found[entry.type].add(entry.words)
        return {
            kind: sorted(words)
            for kind, words in found.items()
            if len(words) >= MANY and self._values.copied(kind, ("",)) is not None
        }

    @cached_property
    def _letters(self) -> Mapping[tuple[str, str], str]:
        """What follows two letters in the words of a type, each as often as it does."""
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for kind, known in self._known.items():
            for word in (word for words in known for word in words if word.isalpha()):
                text = START + word + END
                for i in range(len(START), len(text)):
                    found[kind, text[i - 2 : i]].append(text[i])
        return {key: "".join(letters) for key, letters in found.items()}

    def _word(self, kind: str, old: str, rng: np.random.Generator) -> str | None:
        """Give a new word in place of another; None if that is neither letters nor digits, or the new one is short."""
        if old.isdecimal():
            first = rng.integers(1, 10)
            return str(first) + "".join(str(digit) for digit in rng.integers(0, 10, len(old) - 1))
        if not old.isalpha():
            return None
        text = START
        while len(text) < LONGEST + len(START):
            options = self._letters[kind, text[-2:]]
            letter = options[int(rng.integers(len(options)))]
            if letter == END:
                break
            text += letter
        return text.removeprefix(START) if len(text) >= SHORTEST + len(START) else None
