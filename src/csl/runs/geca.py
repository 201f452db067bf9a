"""Pairs that GECA makes, in files: alone, merged with the training set, and with a data card beside them."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from csl import __version__
from csl.runs.mixture import Mixture
from csl.baselines.geca import Geca
from csl.examples import Example, read_examples, write_examples
from csl.files import hash_file, read_json, write_json
from csl.errors import InputError
from csl.runs.sampling import card_path

PROVENANCE = ("parent", "old", "new")


def write_swaps(
    path: Path,
    geca: Geca,
    count: int,
    *,
    provenance: bool = False,
    about: dict[str, object] | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> int:
    """Write `count` pairs, or as many as there are; return how many. `progress` hears of every thousand.

    With `provenance` each pair has three more columns: the line of the training example that it is made from, the spans
    that were replaced, and those in their place, with a bar between two spans.
    """
    written = 0

    def rows() -> Iterator[Example]:
        nonlocal written
        for swap in geca.stream(count):
            written += 1
            if written % 1000 == 0:
                progress(written)
            if not provenance:
                yield swap.example
                continue
            old, new = (" | ".join(geca.fragment(f)) for f in (swap.old, swap.new))
            meta = {"parent": str(swap.parent), "old": old, "new": new}
            yield Example(swap.example.source, swap.example.target, meta)

    columns = PROVENANCE if provenance else ()
    write_examples(path, rows(), columns=columns)
    config = geca.config.model_dump()
    card = {
        "csl": __version__, "asked": count, "written": written, "exhausted": geca.exhausted,
        "files": {path.name: written}, "geca": config,
        "config_hash": hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest(),
        "fragments": geca.fragments, "swaps": geca.swaps, "columns": ["input", "output", *columns],
        "sha256": {path.name: hash_file(path)},
    }  # fmt: skip
    write_json(card_path(path), card | (about or {}))
    return written


def write_merged(path: Path, train: Sequence[Example], synthetic: Path, weights: bool = False) -> Mixture:
    """Write training and synthetic pairs in equal parts, as `csl augment` does; return the mixture.

    With `weights` each pair is there once, with a weight.
    """
    made = list(read_examples(synthetic)) if read_json(card_path(synthetic))["written"] else []
    mixture = Mixture(train, made)
    columns = ("weight", "origin") if weights else ()
    lines = write_examples(path, mixture.weighted() if weights else mixture, columns=columns)
    card = {
        "csl": __version__, "original": len(train), "synthetic": len(made), "copies": mixture.copies, "lines": lines,
        "columns": ["input", "output", *columns], "samples": str(synthetic),
    }  # fmt: skip
    write_json(card_path(path), card)
    return mixture


def licence_beside(train: Path) -> str | None:
    """Find the licence of a training file in the card that `csl data prepare` wrote beside it."""
    try:
        return str(read_json(train.with_name("card.json"))["licence"])
    except (InputError, ValueError, KeyError, TypeError):
        return None  # not known: the card says null
