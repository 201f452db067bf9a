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
        counts: dict[tuple[_Places, str], int] = {}
        capitals: Counter[bool] = Counter()
        for text in texts:
            normals = tuple(map(normal, text.tokens))
            start = _first_word(normals)
            if start < len(normals):
                capitals[text.tokens[start][0].isupper()] += 1
            for i, token in enumerate(text.tokens):
                key = _places(normals, i, start), token
                counts[key] = counts.get(key, 0) + 1
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


def _distinct(counts: Mapping[tuple[_Places, str], int]) -> dict[str, str]:
    """Return the commonest form at each place, without those that less specific places give anyway."""
    forms: dict[str, str] = {}
    known: dict[_Places, str | None] = {places: None for places, _ in counts}  # the form by less specific places
    for level in (3, 2, 1, 0):
        seen: dict[str, dict[str, int]] = {}
        for (places, form), count in counts.items():
            here = seen.setdefault(places[level], {})
            here[form] = here.get(form, 0) + count
        common = {place: min(here, key=lambda form: (-here[form], form)) for place, here in seen.items()}
        needed = {places[level] for places, form in known.items() if form != common[places[level]]}
        known = {places: common[p] if (p := places[level]) in needed else form for places, form in known.items()}
        forms |= {place: common[place] for place in sorted(needed)}
    return forms
