"""Capitals as training has them: a sampled input in normal form gets the case that people would have given it.

The form of a word is the commonest that training has between the same neighbours, or beside one of them, or anywhere
but at the start of a text. Linear in the number of tokens.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from csl.languages.program import Text
from csl.languages.words import normal

_Places = tuple[str, str, str, str]
_START = "^"  # stands for the neighbour of the first word


@dataclass(frozen=True)
class Casing:
    """`forms` has the form of a word at its places (`_places`), unless a less specific place has the same."""

    forms: Mapping[str, str]
    capital: bool
    """Whether texts start with a capital."""

    @classmethod
    def learn(cls, texts: Iterable[Text]) -> "Casing":
        """Count the forms of words in texts."""
        counts: dict[_Places, Counter[str]] = {}
        capitals: Counter[bool] = Counter()
        for text in texts:
            normals = tuple(map(normal, text.tokens))
            start = _first_word(normals)
            if start < len(normals):
                capitals[text.tokens[start][0].isupper()] += 1
            for i, token in enumerate(text.tokens):
                counts.setdefault(_places(normals, i, start), Counter())[token] += 1
        return cls(_distinct(counts), capitals[True] > capitals[False])

    def write(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Give tokens in their normal form the case that training has."""
        start = _first_word(tokens)
        written = []
        for i, token in enumerate(tokens):
            form = _lookup(self.forms, _places(tokens, i, start))
            if form is None:
                form = self.forms.get(token, token)  # a first word that is never first in training
                form = form[:1].upper() + form[1:] if i == start and self.capital else form
            written.append(form)
        return tuple(written)

    def to_json(self) -> dict[str, object]:
        """Return what `from_json` takes."""
        return {"capital": self.capital, "forms": dict(self.forms)}

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> "Casing":
        """Rebuild what `to_json` gave."""
        match data:
            case {"capital": bool(capital), "forms": dict(forms)}:
                return cls(forms, capital)
        raise ValueError("not the casing of inputs: `capital` or `forms` is missing")


def _first_word(tokens: Sequence[str]) -> int:
    """Return the place of the first token with a letter that has case, or the number of tokens."""
    return next((i for i, token in enumerate(tokens) if token.lower() != token.upper()), len(tokens))


def _places(tokens: Sequence[str], i: int, start: int) -> _Places:
    """Name the place of a token, from the most specific; tabs are in no token."""
    token = tokens[i]
    before = _START if i == start else tokens[i - 1] if i else ""
    after = tokens[i + 1] if i + 1 < len(tokens) else ""
    anywhere = f"{_START}\t{token}" if i == start else token
    return f"{before}\t{token}\t{after}", f"{anywhere}\t\t{after}", f"{before}\t\t\t{token}", anywhere


def _lookup(forms: Mapping[str, str], places: Sequence[str]) -> str | None:
    return next((forms[place] for place in places if place in forms), None)


def _distinct(counts: Mapping[_Places, Counter[str]]) -> dict[str, str]:
    """Return the commonest form at each place, without those that less specific places give anyway."""
    forms: dict[str, str] = {}
    for level in (3, 2, 1, 0):
        seen: dict[str, Counter[str]] = {}
        for places, counter in counts.items():
            seen.setdefault(places[level], Counter()).update(counter)
        common = {place: min(counter, key=lambda form: (-counter[form], form)) for place, counter in seen.items()}
        needed = {p[level] for p in counts if _lookup(forms, p[level + 1 :]) != common[p[level]]}
        forms |= {place: common[place] for place in sorted(needed)}
    return forms
