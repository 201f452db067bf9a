"""The names of shards and cards, and what a card says."""

from pathlib import Path

import pytest

from csl.runs.sampling import card_path, describe, in_json, shard_name, source_licence
from csl.sampling.config import SampleConfig


@pytest.mark.parametrize(
    ("name", "shard", "card"),
    [
        ("samples.tsv", "samples-00002-of-00010.tsv", "samples.card.json"),
        ("geo.1.jsonl.gz", "geo.1-00002-of-00010.jsonl.gz", "geo.1.card.json"),
        ("plain", "plain-00002-of-00010", "plain.card.json"),
    ],
)
def test_names_keep_what_is_before_the_endings(name: str, shard: str, card: str) -> None:
    assert shard_name(Path("x", name), 1, 10) == Path("x", shard)
    assert card_path(Path("x", name)) == Path("x", card)


def test_options_in_words_and_in_json() -> None:
    config = SampleConfig(strategy="tempered", temperature=float("inf"), unique=True, seed=4)
    assert describe(config) == "strategy tempered, temperature inf, depth 2 to 20 unique, seed 4"
    assert in_json(config)["temperature"] == "inf"
    assert in_json(SampleConfig())["temperature"] == 1.0


@pytest.mark.parametrize(
    ("card", "licence"), [('{"licence": "BSD"}', "BSD"), ("[" * 3000, None), ("[]", None), ("", None)]
)
def test_a_card_that_is_none_says_nothing_of_a_licence(tmp_path: Path, card: str, licence: str | None) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.tsv").write_text("a\tA\n")
    (tmp_path / "config.json").write_text('{"train": "data/train.tsv"}')
    (tmp_path / "data" / "card.json").write_text(card)
    assert source_licence(tmp_path) == licence
