"""Values that are made up: like known ones, copied as these are, the same for the same seed."""

import numpy as np

from csl.preparing.inventing import MANY, Inventor
from csl.preparing.preparation import prepare
from csl.preparing.values import Entry

CITIES = ("dallas", "austin", "boston", "denver", "miami", "tucson", "fresno", "mobile", "dover", "salem", "irving")
PAIRS = [(f"people in {city}", f"population(city('{city}'))") for city in CITIES]
FEW = [(f"people in {city}", f"population(city('{city}'))") for city in CITIES[: MANY - 1]]


def inventor(pairs: list[tuple[str, str]], *, capitals: bool = False) -> Inventor:
    return Inventor(prepare(pairs).preparation.values, capitals=capitals)


def invented(maker: Inventor, seed: int = 0, tries: int = 50) -> list[Entry]:
    rng = np.random.default_rng(seed)
    return [entry for _ in range(tries) if (entry := maker.invent("city", rng))]


def test_new_names_are_copied_as_known_ones_are() -> None:
    made = invented(inventor(PAIRS))
    assert made
    for entry in made:
        assert entry.words[0] not in CITIES
        assert entry.tokens == ("'", *entry.words, "'")


def test_letters_follow_each_other_as_in_known_names() -> None:
    pairs = {"^" + city[0] for city in CITIES} | {city[i : i + 2] for city in CITIES for i in range(len(city) - 1)}
    for entry in invented(inventor(PAIRS)):
        word = entry.words[0]
        assert {"^" + word[0], *(word[i : i + 2] for i in range(len(word) - 1))} <= pairs


def test_names_have_capitals_where_those_of_training_have() -> None:
    for entry in invented(inventor(PAIRS, capitals=True)):
        assert entry.words[0].istitle()
        assert entry.tokens[1] == entry.words[0].lower()


def test_numbers_get_other_digits() -> None:
    pairs = [(f"in {year} ?", f"since(year({year}))") for year in range(1990, 2010)]
    values = prepare(pairs).preparation.values
    maker, rng = Inventor(values, capitals=False), np.random.default_rng(0)
    kind = values.entries[0].type
    made = [entry.words[0] for _ in range(20) if (entry := maker.invent(kind, rng))]
    assert made
    assert all(len(number) == 4 and number.isdecimal() and number[0] != "0" for number in made)


def test_a_type_with_few_values_has_no_others() -> None:
    assert invented(inventor(FEW)) == []


def test_the_seed_decides() -> None:
    assert invented(inventor(PAIRS), 1) == invented(inventor(PAIRS), 1) != invented(inventor(PAIRS), 2)
