import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from csl.errors import InputError
from csl.examples import read_examples
from csl.splits import tmcd
from csl.splits.divergence import Profile, divergence, profile, profiles
from csl.splits.programs import DEFAULT_ENTITIES, entity_pattern
from csl.splits.splits import random_split, tmcd_split
from csl.splits.tmcd import Search

ENTITIES = entity_pattern(DEFAULT_ENTITIES)


def counted(program: str) -> Profile:
    return profile(program.split(), ENTITIES)


programs = st.recursive(
    st.sampled_from("abc"), lambda inner: st.builds("{} ( {} )".format, st.sampled_from("fg"), inner), max_leaves=3
)


@settings(max_examples=50, deadline=None)
@given(st.lists(programs, min_size=4, max_size=20), st.integers(0, 3))
def test_the_search_knows_the_divergence_of_every_swap(chosen: list[str], seed: int) -> None:
    found = [counted(program) for program in chosen]
    rng = np.random.default_rng(seed)
    search = Search(found, min_count=0)
    search.start(len(found) // 2, rng)
    for g in rng.permutation(np.flatnonzero(search.train))[:3]:
        search.move(int(g), -1)
        incoming = np.flatnonzero(search.train < search.size)
        for q, predicted in zip(incoming, search.divergence(adding=incoming), strict=True):
            search.move(int(q), 1)
            sides = _sides(search, found)
            assert search.divergence()[0] == pytest.approx(predicted)
            if all(any(p.compounds for p in side) for side in sides):
                assert divergence(*sides).compound == pytest.approx(predicted)
            search.move(int(q), -1)
        search.move(int(g), 1)


def _sides(search: Search, found: list[Profile]) -> tuple[list[Profile], list[Profile]]:
    train, test = [], []
    for members, count in zip(search.members, search.train, strict=True):
        train += [found[i] for i in members[:count]]
        test += [found[i] for i in members[count:]]
    return train, test


@settings(max_examples=50, deadline=None)
@given(st.lists(programs, min_size=6, max_size=30), st.integers(0, 3), st.integers(1, 3))
def test_tmcd_keeps_every_test_atom_in_training(chosen: list[str], seed: int, min_count: int) -> None:
    found = [counted(program) for program in chosen]
    try:
        split = tmcd_split(found, 2 * len(found) // 3, seed, min_count)
    except InputError:
        reject()  # training is too small for these atoms
    assert len(split.train) == 2 * len(found) // 3
    assert divergence([found[i] for i in split.train], [found[i] for i in split.test]).rarest_atom >= min_count


def test_tmcd_says_when_training_is_too_small_for_all_atoms() -> None:
    with pytest.raises(InputError, match="ask for more training examples"):
        tmcd_split([counted(f"f{i}") for i in range(10)], 5, seed=0)


def test_tmcd_with_drawn_candidates_still_beats_a_random_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tmcd, "CANDIDATES", 8)
    found = [counted(f"{f} ( {g} ( {a} ) )") for f in "fgh" for g in "klm" for a in "abcdef" for _ in range(2)]
    made, drawn = tmcd_split(found, 54, seed=0), random_split(len(found), 54, seed=0)
    measured = [
        divergence([found[i] for i in split.train], [found[i] for i in split.test]).compound for split in (made, drawn)
    ]
    assert measured[0] > measured[1] + 0.1
    assert made == tmcd_split(found, 54, seed=0)


@pytest.fixture(scope="module")
def geoquery(shared_data: Path) -> list[Profile]:
    return profiles(list(read_examples(shared_data / "geoquery" / "anonymised_880.tsv")), ENTITIES)


def published(shared_data: Path, name: str) -> dict[str, list[int]]:
    ids: dict[str, list[int]] = json.loads((shared_data / "geoquery" / "splits" / f"{name}.json").read_text())
    return ids


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_tmcd_on_geoquery_reaches_the_divergence_of_the_published_split(
    shared_data: Path, geoquery: list[Profile], seed: int
) -> None:
    found = geoquery
    theirs = published(shared_data, "tmcd_1")
    ours = tmcd_split(found, 440, seed)
    with_dev = ours.with_dev(110, seed)
    assert (len(with_dev.train), len(with_dev.dev), len(with_dev.test)) == (440, 110, 330)

    def compound(train: list[int], test: list[int]) -> float:
        return divergence([found[i] for i in train], [found[i] for i in test]).compound

    assert compound(ours.train, ours.test) >= compound(theirs["train"], theirs["dev"] + theirs["test"])
    assert compound(with_dev.train, with_dev.test) >= compound(theirs["train"], theirs["test"])


@pytest.mark.parametrize("name", ["tmcd_1", "tmcd_2"])
def test_the_published_tmcd_splits_keep_the_atom_constraint(
    shared_data: Path, geoquery: list[Profile], name: str
) -> None:
    found = geoquery
    ids = published(shared_data, name)
    rest = [found[i] for i in ids["dev"] + ids["test"]]
    assert divergence([found[i] for i in ids["train"]], rest).rarest_atom >= 2
