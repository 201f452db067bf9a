"""Samples in files: streamed, in shards if there are many, with a data card beside them."""

import hashlib
import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from csl import __version__
from csl.examples import Example, write_examples
from csl.files import hash_file, read_json, write_json
from csl.engine.engine import Engine
from csl.engine.threads import ONE_THREAD
from csl.errors import InputError
from csl.runs.fitting import training_file
from csl.sampling.config import SampleConfig
from csl.sampling.sampler import Sample, Sampler

PROVENANCE = ("derivation", "parents")


def write_samples(
    path: Path,
    sampler: Sampler,
    count: int,
    *,
    shards: int = 1,
    engine: Engine = ONE_THREAD,
    provenance: bool = False,
    about: dict[str, object] | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> int:
    """Write `count` samples, or as many as there are; return how many. `progress` hears of every thousand.

    With `provenance` each pair has two more columns: the numbers of the rules of its derivation (lines of the grammar)
    and, for each of these, of the first training example that uses it (0: none).
    """
    stream = sampler.stream(count, engine)
    parents = sampler.parents() if provenance else {}
    written = 0

    def rows(samples: Iterator[Sample]) -> Iterator[Example]:
        nonlocal written
        for sample in samples:
            written += 1
            if written % 1000 == 0:
                progress(written)
            if not provenance:
                yield sample.example
                continue
            meta = {
                "derivation": " ".join(str(r + 1) for r in sample.rules),
                "parents": " ".join(str(parents.get(r, 0)) for r in sample.rules),
            }
            yield Example(sample.example.source, sample.example.target, meta)

    columns, size = PROVENANCE if provenance else (), -(-count // shards)
    files = [path if shards == 1 else shard_name(path, k, shards) for k in range(shards)]
    sizes = {file.name: write_examples(file, rows(islice(stream, size)), columns=columns) for file in files}
    config = in_json(sampler.config)
    config_hash = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()
    card = {
        "csl": __version__, "asked": count, "written": written, "exhausted": sampler.exhausted, "files": sizes,
        "sampling": config, "config_hash": config_hash, "columns": ["input", "output", *columns],
        "sha256": {file.name: hash_file(file) for file in files},
    }  # fmt: skip
    write_json(card_path(path), card | (about or {}))
    return written


def in_json(config: SampleConfig) -> dict[str, object]:
    """Give the options as JSON can have them: it has no infinity."""
    return {key: str(value) if value == float("inf") else value for key, value in config.model_dump().items()}


def shard_name(path: Path, k: int, shards: int) -> Path:
    """Name shard k: samples.tsv → samples-00001-of-00004.tsv."""
    stem = _stem(path)
    return path.with_name(f"{stem}-{k + 1:05}-of-{shards:05}{path.name.removeprefix(stem)}")


def card_path(path: Path) -> Path:
    """Name the data card of a file: samples.tsv → samples.card.json."""
    return path.with_name(f"{_stem(path)}.card.json")


def _stem(path: Path) -> str:
    """Take the endings from a file name: geo.1.tsv.gz → geo.1."""
    return Path(path.name.removesuffix(".gz")).stem


def source_licence(run: Path) -> str | None:
    """Find the licence of a run's training data in the card that `csl data prepare` wrote beside it."""
    try:
        return str(read_json(training_file(run).with_name("card.json"))["licence"])
    except (InputError, ValueError, KeyError, TypeError):
        return None  # not known: the card says null


def describe(config: SampleConfig) -> str:
    """Say in a few words how samples are drawn."""
    extra = f", temperature {config.temperature:g}" if config.strategy == "tempered" else ""
    if config.strategy in ("model", "tempered"):  # the others know no such thing
        extra += ", each depth alike" if config.depths == "even" else ""
        extra += f", depth bias {config.depth_bias:g}" if config.depth_bias else ""
    extra += f", one of {config.balance:g} draws kept" if config.balance > 1 else ""
    kept = " unique" * config.unique + " new" * config.new
    deepest = config.max_depth or "that of training"
    return f"strategy {config.strategy}{extra}, depth {config.min_depth} to {deepest}{kept}, seed {config.seed}"
