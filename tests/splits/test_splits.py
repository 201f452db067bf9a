import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csl.errors import InputError
from csl.examples import Example, read_examples
from csl.splits.programs import DEFAULT_ENTITIES, abstract, entity_pattern
from csl.splits.splits import Split, length_split, parse_sizes, random_split, template_split

ENTITIES = entity_pattern(DEFAULT_ENTITIES)


def outputs(*programs: str) -> list[Example]:
    return [Example.of("x", program) for program in programs]


def test_a_split_with_an_empty_side_is_an_input_error() -> None:
    for n_train in (0, 3):
        with pytest.raises(InputError, match="both sides need some"):
            random_split(3, n_train, seed=0)


def test_random_split_has_the_size_asked_for_and_depends_on_the_seed_alone() -> None:
    split = random_split(100, 60, seed=1)
    assert sorted(split.train + split.test) == list(range(100))
    assert len(split.train) == 60
    assert split == random_split(100, 60, seed=1)
    assert split != random_split(100, 60, seed=2)


def test_length_split_trains_on_the_shortest() -> None:
    lengths = [5, 1, 3, 3, 9, 3]
    split = length_split(lengths, 3, seed=0)
    assert 1 in split.train
    assert max(lengths[i] for i in split.train) <= min(lengths[i] for i in split.test)
    assert len({tuple(length_split(lengths, 3, seed).train) for seed in range(20)}) > 1  # ties are drawn


@given(st.lists(st.sampled_from(["f ( m0 )", "f ( m1 )", "g ( 3 )", "g ( 4 )", "h"]), min_size=2), st.integers(0, 5))
def test_template_split_shares_no_template(programs: list[str], seed: int) -> None:
    examples = outputs(*programs)
    templates = [abstract(e.target, ENTITIES) for e in examples]
    n_train = len(examples) // 2
    if min(Counter(templates).values()) > n_train or len(set(templates)) == 1:
        with pytest.raises(InputError):
            template_split(examples, n_train, seed, ENTITIES)
    else:
        split = template_split(examples, n_train, seed, ENTITIES)
        assert len(split.train) <= n_train
        assert not {templates[i] for i in split.train} & {templates[i] for i in split.test}


def test_a_dev_set_is_drawn_from_the_test_set() -> None:
    split = Split([0, 1], [2, 3, 4, 5]).with_dev(1, seed=0)
    assert (split.train, len(split.dev), len(split.test)) == ([0, 1], 1, 3)
    assert sorted(split.dev + split.test) == [2, 3, 4, 5]
    with pytest.raises(InputError, match="leaves no test set"):
        split.with_dev(3, seed=0)


def test_sizes_are_read_and_checked() -> None:
    assert parse_sizes("440,440", 880) == (440, 0)
    assert parse_sizes("440,110,330", 880) == (440, 110)
    with pytest.raises(InputError, match="add up to 30, but there are 31"):
        parse_sizes("10,20", 31)
    for text in ("10", "a,b", "1,2,3,4", "40,-9", ""):
        with pytest.raises(InputError, match="not of the form"):
            parse_sizes(text, 31)


@pytest.mark.parametrize("name", ["template_1", "template_2"])
def test_the_published_template_splits_share_no_template_as_we_define_it(shared_data: Path, name: str) -> None:
    examples = list(read_examples(shared_data / "geoquery" / "anonymised_880.tsv"))
    ids = json.loads((shared_data / "geoquery" / "splits" / f"{name}.json").read_text())
    train = {abstract(examples[i].target, ENTITIES) for i in ids["train"]}
    assert not train & {abstract(examples[i].target, ENTITIES) for i in ids["dev"] + ids["test"]}
