"""White space as training has it: a recombined sequence of tokens is written as people would have written it.

The gap between two tokens is the commonest that training has between the same two, else between one of them and a token
like the other, else between two like them. Whether a quote opens or closes a string, and what is inside of it, is told
by counting quotes; indentation that follows the depth of brackets is kept relative to it. Linear in the tokens.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from csl.languages.lexing import NUMBER
from csl.languages.program import Text

_EDGE = "edge"
_LIKE_WORDS = ("word", "number")  # side by side they would be read as one
_INDENT = "\0"  # in a gap: as many units of indentation as brackets are open


@dataclass(frozen=True, slots=True)
class _Place:
    """A token as its neighbours see it: `exact` tells it from all others, `like` is its class."""

    exact: str
    like: str
    depth: int


@dataclass(frozen=True)
class Spacing:
    """`gaps` has the commonest gap, and its share, for the contexts of `_contexts`."""

    quotes: str
    unit: str
    """One step of indentation."""
    gaps: Mapping[str, tuple[str, float]]
    _known: dict[tuple[str, str], str] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def learn(cls, texts: Iterable[Text], quotes: str = "") -> "Spacing":
        """Count the gaps of texts in whose language strings are between any of these quotes."""
        pairs: dict[tuple[str, str, str, str], Counter[str]] = {}
        seen = [(text.gaps, list(_places(text.tokens, quotes))) for text in texts]
        unit = _indentation(seen)
        for gaps, places in seen:
            for gap, left, right in zip(gaps, places, places[1:], strict=False):
                key = left.exact, left.like, right.exact, right.like
                pairs.setdefault(key, Counter())[_relative(gap, unit, right.depth)] += 1
        return cls(quotes, unit, _distinct(pairs))

    def write(self, tokens: Sequence[str]) -> str:
        """Join tokens by the gaps that training has between such tokens."""
        written: list[str] = []
        left: _Place | None = None
        for token, right in zip(("", *tokens, ""), _places(tokens, self.quotes), strict=True):
            if left:
                gap = self._gap(left, right)
                written.append(gap.replace(_INDENT, self.unit * right.depth) + token)
            left = right
        return "".join(written)

    def _gap(self, left: _Place, right: _Place) -> str:
        key = left.exact, right.exact
        if key not in self._known:
            contexts = _contexts(left.exact, left.like, right.exact, right.like)
            apart = left.like.startswith(_LIKE_WORDS) and right.like.startswith(_LIKE_WORDS)
            gap = _choose(self.gaps, contexts[:3])
            self._known[key] = gap if gap is not None else " " if apart else _choose(self.gaps, contexts[3:]) or ""
        return self._known[key]

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


def _places(tokens: Sequence[str], quotes: str) -> Iterator[_Place]:
    """Yield the places of the start, of all tokens, and of the end."""
    yield _Place("start ", _EDGE, 0)
    inside, depth = "", 0
    for token in tokens:
        if inside and token != inside:
            yield _Place(f"{token} {inside}", f"{_class(token)} {inside}", depth)
        elif token and token in quotes:
            role = "close" if inside else "open"
            inside = "" if inside else token
            yield _Place(f"{token} {role}", f"{role} quote", depth)
        else:
            like = _class(token)
            depth -= like == "closing" and depth > 0
            yield _Place(token, like, depth)
            depth += like == "opening"
    yield _Place("end ", _EDGE, depth)


def _class(token: str) -> str:
    if token[0] in "([{" and token[-1] not in ")]}":
        return "opening"
    if token in (")", "]", "}"):
        return "closing"
    if NUMBER.fullmatch(token):
        return "number"
    if token[0] in "'’" and len(token) > 1:
        return "clitic"
    return "word" if any(map(str.isalnum, token)) or "_" in token else f"sign {token}"


def _contexts(left: str, left_like: str, right: str, right_like: str) -> list[tuple[str, ...]]:
    """Name what a gap may depend on, from the most specific; tabs are in no token."""
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


def _distinct(pairs: Mapping[tuple[str, str, str, str], Counter[str]]) -> dict[str, tuple[str, float]]:
    """Return the commonest gap of each context; of two exact tokens only where less specific contexts say otherwise."""
    counts: dict[str, Counter[str]] = {}
    for key, counter in pairs.items():
        for alike in _contexts(*key)[1:]:
            for context in alike:
                counts.setdefault(context, Counter()).update(counter)
    gaps = {context: _commonest(counter) for context, counter in sorted(counts.items())}
    for key, counter in sorted(pairs.items()):
        contexts = _contexts(*key)
        if _choose(gaps, contexts) != _commonest(counter)[0]:
            gaps[contexts[0][0]] = _commonest(counter)
    return gaps


def _commonest(counter: Counter[str]) -> tuple[str, float]:
    gap = min(counter, key=lambda gap: (-counter[gap], gap))
    return gap, round(counter[gap] / counter.total(), 4)


def _indentation(seen: Iterable[tuple[tuple[str, ...], list[_Place]]]) -> str:
    """Return the commonest indentation that one open bracket gives."""
    units: Counter[str] = Counter()
    for gaps, places in seen:
        for gap, right in zip(gaps, places[1:], strict=True):
            indentation = gap.rpartition("\n")[2] if "\n" in gap else ""
            unit = indentation[: len(indentation) // right.depth] if right.depth else ""
            if unit and unit * right.depth == indentation:
                units[unit] += 1
    return min(units, key=lambda unit: (-units[unit], unit), default="")


def _relative(gap: str, unit: str, depth: int) -> str:
    """Write indentation that follows the depth of brackets as such."""
    head, newline, indentation = gap.rpartition("\n")
    return head + newline + _INDENT if newline and unit and indentation == unit * depth else gap
