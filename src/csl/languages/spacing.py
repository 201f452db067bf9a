"""White space as training has it: a recombined sequence of tokens is written as people would have written it.

The gap between two tokens is the commonest that training has between the same two, else between one of them and a token
like the other, else between two like them. Whether a quote opens or closes a string, and what is inside of it, is told
by counting quotes; indentation that follows the depth of brackets is kept relative to it. Linear in the tokens.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, pairwise

from csl.languages.characters import ALONE
from csl.languages.lexing import NUMBER
from csl.languages.program import Text

_ALONE = re.compile(f"[{ALONE}]")
_LIKE_WORDS = ("word", "number")  # side by side they would be read as one
_INDENT = "\0"  # in a gap: as many units of indentation as brackets are open


_Place = tuple[str, str]
"""A token as its neighbours see it: a name that tells it from all others, and its class."""
_START: _Place = ("start ", "edge")
_END: _Place = ("end ", "edge")


@dataclass(frozen=True)
class Spacing:
    """`gaps` has the commonest gap, and its share, for the contexts of `_contexts`."""

    quotes: str
    unit: str
    """One step of indentation."""
    gaps: Mapping[str, tuple[str, float]]
    _known: dict[tuple[_Place, _Place], str] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def learn(cls, texts: Iterable[Text], quotes: str = "") -> "Spacing":
        """Count the gaps of texts in whose language strings are between any of these quotes."""
        seen = [(text.gaps, _places(text.tokens, quotes)) for text in texts]
        unit = _indentation(seen)
        counts: Counter[tuple[_Place, _Place, str]] = Counter()
        for gaps, places in seen:
            relative = _relative(gaps, places, unit) if unit else gaps
            counts.update(zip(places, places[1:], relative, strict=False))
        return cls(quotes, unit, _distinct(counts))

    def write(self, tokens: Sequence[str]) -> str:
        """Join tokens by the gaps that training has between such tokens."""
        places = _places(tokens, self.quotes)
        gaps = [self._gap(left, right) for left, right in pairwise(places)]
        if self.unit:
            gaps = [gap.replace(_INDENT, self.unit * depth) for gap, depth in zip(gaps, _depths(places), strict=True)]
        return "".join(gap + token for gap, token in zip(gaps, (*tokens, ""), strict=True))

    def _gap(self, left: _Place, right: _Place) -> str:
        key = left, right
        gap = self._known.get(key)
        if gap is None:
            contexts = _contexts(left, right)
            gap = _choose(self.gaps, contexts[:3])
            if gap is None:
                apart = left[1].startswith(_LIKE_WORDS) and right[1].startswith(_LIKE_WORDS)
                gap = " " if apart else _choose(self.gaps, contexts[3:]) or ""
            self._known[key] = gap
        return gap

    @cached_property
    def is_plain(self) -> bool:
        """Whether there are no gaps but single spaces."""
        return all(gap in ("", " ") for gap, _ in self.gaps.values())

    def to_json(self) -> dict[str, object]:
        """Return what `from_json` takes."""
        return {"quotes": self.quotes, "unit": self.unit, "gaps": {key: list(gap) for key, gap in self.gaps.items()}}

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> "Spacing":
        """Rebuild what `to_json` gave."""
        match data:
            case {"quotes": str(quotes), "unit": str(unit), "gaps": dict(gaps)}:
                return cls(quotes, unit, {key: (gap, share) for key, (gap, share) in gaps.items()})
        raise ValueError("not the spacing of texts: `quotes`, `unit` or `gaps` is missing")


def _places(tokens: Sequence[str], quotes: str) -> list[_Place]:
    """Return the places of the start, of all tokens, and of the end."""
    places = [_START]
    inside = ""
    for token in tokens:
        if inside:
            places.append((f"{token} close", "close quote") if token == inside else _place(token, inside))
            inside = "" if token == inside else inside
        elif token in quotes:
            places.append((f"{token} open", "open quote"))
            inside = token
        else:
            places.append(_place(token, ""))
    return [*places, _END]


@lru_cache(maxsize=1 << 16)
def _place(token: str, inside: str) -> _Place:
    """Return the place of a token, in a string between such quotes or in none."""
    return (f"{token} {inside}", f"{_class(token)} {inside}") if inside else (token, _class(token))


def _class(token: str) -> str:
    if token[0] in "([{" and token[-1] not in ")]}":
        return "opening"
    if token in (")", "]", "}"):
        return "closing"
    if NUMBER.fullmatch(token):
        return "number"
    if _ALONE.match(token):
        return "character"
    if token[0] in "'’" and len(token) > 1:
        return "clitic"
    return "word" if any(map(str.isalnum, token)) or "_" in token else f"sign {token}"


def _contexts(left_place: _Place, right_place: _Place) -> list[tuple[str, ...]]:
    """Name what a gap may depend on, from the most specific; tabs are in no token."""
    (left, left_like), (right, right_like) = left_place, right_place
    return [
        (f"{left}\t{right}",),
        (f"{left}\t\t{right_like}", f"{left_like}\t\t\t{right}"),
        (f"{left_like}\t\t\t\t{right_like}",),
        (f"{left}\t", f"\t{right}"),
        (f"{left_like}\t\t", f"\t\t{right_like}"),
        ("",),
    ]


def _choose(gaps: Mapping[str, tuple[str, float]], contexts: Sequence[tuple[str, ...]]) -> str | None:
    """Return the gap of the most specific contexts that training has; of two, that of the surer one."""
    for alike in contexts:
        known = [gaps[context] for context in alike if context in gaps]
        if known:
            return max(known, key=lambda gap: gap[1])[0]
    return None


def _distinct(counts: Mapping[tuple[_Place, _Place, str], int]) -> dict[str, tuple[str, float]]:
    """Return the commonest gap of each context; of two exact tokens only where less specific contexts say otherwise."""
    pairs: dict[tuple[_Place, _Place], dict[str, int]] = {}
    contexts: dict[str, dict[str, int]] = {}
    for (left, right, gap), count in counts.items():
        pairs.setdefault((left, right), {})[gap] = count
        for context in chain(*_contexts(left, right)[1:]):
            here = contexts.setdefault(context, {})
            here[gap] = here.get(gap, 0) + count
    gaps = {context: _commonest(here) for context, here in sorted(contexts.items())}
    for (left, right), here in sorted(pairs.items()):
        both, *others = _contexts(left, right)
        if _choose(gaps, others) != _commonest(here)[0]:
            gaps[both[0]] = _commonest(here)
    return gaps


def _commonest(counts: Mapping[str, int]) -> tuple[str, float]:
    gap = min(counts, key=lambda gap: (-counts[gap], gap))
    return gap, round(counts[gap] / sum(counts.values()), 4)


def _depths(places: Sequence[_Place]) -> list[int]:
    """Return how many brackets are open around each place but the first."""
    depths: list[int] = []
    depth = 0
    for _, like in places[1:]:
        depth -= like == "closing" and depth > 0
        depths.append(depth)
        depth += like == "opening"
    return depths


def _indentation(seen: Iterable[tuple[tuple[str, ...], list[_Place]]]) -> str:
    """Return the commonest indentation that one open bracket gives, empty if there is none."""
    units: Counter[str] = Counter()
    for gaps, places in seen:
        if not any("\n" in gap for gap in gaps):
            continue
        for gap, depth in zip(gaps, _depths(places), strict=True):
            _, newline, indentation = gap.rpartition("\n")
            unit = indentation[: len(indentation) // depth] if newline and depth else ""
            units[unit] += unit * depth == indentation and unit != ""
    return min(+units, key=lambda unit: (-units[unit], unit), default="")


def _relative(gaps: Sequence[str], places: Sequence[_Place], unit: str) -> list[str]:
    """Write indentation that follows the depth of brackets as such."""
    relative: list[str] = []
    for gap, depth in zip(gaps, _depths(places), strict=True):
        head, newline, indentation = gap.rpartition("\n")
        relative.append(head + newline + _INDENT if newline and indentation == unit * depth else gap)
    return relative
