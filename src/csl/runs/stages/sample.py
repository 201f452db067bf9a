"""Sampling: new pairs from grammar and model, or by GECA; streamed to files, with a data card beside them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from csl import __version__
from csl.baselines.geca import Geca
from csl.datasets.registry import data_set
from csl.engine import Threads
from csl.errors import InputError
from csl.examples import Example, read_examples, write_examples
from csl.files import hash_file, is_stream, write_json
from csl.grammar import write_grammar
from csl.log import Log
from csl.model.model import Model
from csl.preparing.filling import Filling
from csl.preparing.phrases import learn_phrases
from csl.runs.folder import Figures, RunFolder
from csl.runs.recipe import AUTO, Recipe, SampleOptions, only
from csl.runs.stage import Stage, Work, hash_of
from csl.sampling.config import PRESETS, SampleConfig
from csl.sampling.sampler import Sampler

log = Log("sample")
DRAWS = 5  # of pairs with placeholders, for a pair of raw text …
LEAST_DRAWS = 20_000  # … and at least so many
DEEPER = 2  # levels that derivations may have more than those of training, for raw text
RAW_NUMBER = 20_000  # pairs of raw text, unless a number is given
EVERY = 1000  # pairs between two lines of progress


class Sample(Stage):
    """Draw synthetic pairs."""

    name = "sample"
    reads = ("data/train.tsv",)
    may_read = ("data/output.cfg", "prepared/")
    artefacts = {
        "samples.tsv": "synthetic pairs",
        "samples.card.json": "how they were drawn",
        "phrases.txt": "the grammar that synthetic pairs of raw text are drawn from",
        "phrases.npz": "its model",
    }

    def needs(self, recipe: Recipe) -> Sequence[str]:
        if recipe.sampling.method == "geca":
            return self.reads
        return (*self.reads, "grammar.txt", *(("model.npz",) if recipe.sampling.needs_model else ()))

    def options(self, work: Work) -> Any:
        return in_json(work.recipe.sampling)

    def run(self, work: Work) -> Figures:
        options, train = work.recipe.sampling, work.folder.examples()
        number = number_of(work.folder, options)
        log.progress(f"sampling {number:,} pairs …")
        path, about = work.folder.path / "samples.tsv", {"licence": work.folder.licence()}
        try:
            if (check := work.folder.record.stages.get("check")) and not options.force and check.figures["refused"]:
                raise NothingError(f"{check.figures['refused']}; --force draws pairs anyway")
            source = pairs_of(work, options, train)
            if source.phrases:
                write_grammar(work.folder.path / "phrases.txt", source.phrases.grammar)
                source.phrases.save(work.folder.path / "phrases.npz")
        except NothingError as error:
            log.warning(f"nothing to sample: {error}")
            write_examples(path, [])
            write_json(card_path(path), {"csl": __version__, "asked": number, "written": 0, **about})
            how = "none drawn"
        else:
            write_pairs(path, source, number, about=about)
            how = source.how
        made, known = list(read_examples(path)) if path.stat().st_size else [], set(train)
        if len(made) < number:
            log.warning(f"only {len(made):,} of {number:,} pairs: the grammar has no more of this kind")
        new = sum(pair not in known for pair in made)
        figures = {"pairs": len(made), "distinct": len(set(made)), "new": new, "how": how}
        category = data_set(work.recipe.data.set).category if work.recipe.data.set else None
        return figures | ({"categories": dict(sorted(Counter(map(category, made)).items()))} if category else {})

    def summary(self, figures: Figures) -> str:
        categories = "".join(f", {number:,} {name}" for name, number in figures.get("categories", {}).items())
        return (
            f"{figures['pairs']:,} pairs ({figures['how']}), {figures['distinct']:,} distinct, "
            f"{figures['new']:,} not in the training set{categories}"
        )


class NothingError(InputError):
    """No rule of the grammar has nonterminals, or none leads to a valid output."""


@dataclass(frozen=True)
class Pairs:
    """A source of synthetic pairs, the columns beside them, and what a data card and a line say of it."""

    stream: Callable[[int], Iterable[Example]]
    columns: tuple[str, ...]
    about: Mapping[str, Any]
    how: str
    exhausted: Callable[[], bool]
    phrases: Model | None = None  # that pairs of raw text are drawn from


def pairs_of(work: Work, options: SampleOptions, train: Sequence[Example]) -> Pairs:
    """Open what pairs are drawn from: grammar and model, or GECA."""
    if options.method == "geca":
        return swaps(Geca(train, options.geca, log.progress), options.provenance)
    preparation, sampler = work.folder.preparation(), sampler_of(work, options)
    pairs = drawn(sampler, options, work.engine)
    if preparation is None or sampler.model is None:
        return pairs
    filling = Filling(preparation, sampler.model, work.folder.training(), seed=options.seed, engine=work.engine)

    def stream(number: int) -> Iterable[Example]:
        return filling.fill(pairs.stream(draws_for(number)), number, known=train)

    return replace(pairs, stream=stream, phrases=sampler.model)


def draws_for(number: int) -> int:
    """Give how many pairs with placeholders are drawn for so many pairs of raw text."""
    return max(LEAST_DRAWS, DRAWS * number)


def sampler_of(work: Work, options: SampleOptions) -> Sampler:
    """Open the sampler of a run folder; for raw text its grammar is one of phrases."""
    folder, is_raw = work.folder, is_raw_text(work.folder, options)
    cfg, train = folder.output_cfg(), folder.training()
    model = None
    if is_raw:
        model = folder.checked_phrases(options.seed)
        if model is None:
            log.progress("learning phrases to sample from …")
            model = learn_phrases(train, folder.seed_rules(), cfg, options.seed, work.engine)
    config = for_raw_text(options, model) if model else only(SampleConfig, options)
    if config.needs_model and not model:
        model = folder.model()
    try:
        return Sampler(model.grammar if model else folder.grammar(), config, model=model, output_cfg=cfg, train=train)
    except InputError as error:
        raise NothingError(str(error)) from error


def is_raw_text(folder: RunFolder, options: SampleOptions) -> bool:
    """Whether pairs are drawn as auto does for raw text."""
    return options.preset == AUTO and folder.file("prepared/preparation.json") is not None


def number_of(folder: RunFolder, options: SampleOptions) -> int:
    """Give how many pairs are wanted: fewer of raw text, unless the number is given."""
    is_default = is_raw_text(folder, options) and "number" not in options.model_fields_set
    return RAW_NUMBER if is_default else options.number


def for_raw_text(options: SampleConfig, model: Model) -> SampleConfig:
    """Give the options of drawing for raw text, but for what is given: a little deeper than training is."""
    usual = PRESETS[AUTO].model_dump()
    given = {name: value for name, value in only(SampleConfig, options).model_dump().items() if value != usual[name]}
    raw = PRESETS["raw"]
    deepest = min(raw.max_depth, (model.levels or raw.max_depth) + DEEPER)
    return raw.model_copy(update={"max_depth": deepest} | given)


def drawn(sampler: Sampler, options: SampleOptions, engine: Threads) -> Pairs:
    """Give pairs that a sampler draws.

    With provenance each has two more columns: the numbers of the rules of its derivation (lines of the grammar) and,
    for each of these, of the first training example that uses it (0: none).
    """
    parents = sampler.parents() if options.provenance else {}

    def stream(number: int) -> Iterator[Example]:
        for sample in sampler.stream(number, engine):
            if not options.provenance:
                yield sample.example
                continue
            meta = {
                "derivation": " ".join(str(r + 1) for r in sample.rules),
                "parents": " ".join(str(parents.get(r, 0)) for r in sample.rules),
            }
            yield Example(sample.example.source, sample.example.target, meta)

    columns = ("derivation", "parents") if options.provenance else ()
    about = {"sampling": in_json(sampler.config)}
    return Pairs(stream, columns, about, describe(sampler.config), lambda: sampler.exhausted)


def swaps(geca: Geca, provenance: bool) -> Pairs:
    """Give pairs that GECA makes.

    With provenance each has three more columns: the line of the training example that it is made from, the spans that
    were replaced, and those in their place, with a bar between two spans.
    """

    def stream(number: int) -> Iterator[Example]:
        for swap in geca.stream(number):
            if not provenance:
                yield swap.example
                continue
            old, new = (" | ".join(geca.fragment(f)) for f in (swap.old, swap.new))
            meta = {"parent": str(swap.parent), "old": old, "new": new}
            yield Example(swap.example.source, swap.example.target, meta)

    about = {"geca": geca.config.model_dump(), "fragments": geca.fragments, "swaps": geca.swaps}
    columns = ("parent", "old", "new") if provenance else ()
    config = geca.config
    how = f"GECA, window {config.window}{' unique' * config.unique}, seed {config.seed}"
    return Pairs(stream, columns, about, how, lambda: geca.exhausted)


def write_pairs(
    path: Path, source: Pairs, number: int, *, shards: int = 1, about: Mapping[str, object] | None = None
) -> int:
    """Write pairs, as many as asked for or as there are, with a data card beside them; return how many."""
    stream, size = _counted(source.stream(number), number), -(-number // shards)
    files = [path if shards == 1 else shard_name(path, k, shards) for k in range(shards)]
    sizes = {file.name: write_examples(file, islice(stream, size), columns=source.columns) for file in files}
    written = sum(sizes.values())
    if not is_stream(path):
        card = {
            "csl": __version__, "asked": number, "written": written, "exhausted": source.exhausted(), "files": sizes,
            **source.about, "config_hash": hash_of(dict(source.about)), "columns": ["input", "output", *source.columns],
            "sha256": {file.name: hash_file(file) for file in files}, **(about or {}),
        }  # fmt: skip
        write_json(card_path(path), card)
    return written


def _counted(pairs: Iterable[Example], number: int) -> Iterator[Example]:
    for count, pair in enumerate(pairs, 1):
        if count % EVERY == 0:
            log.progress(f"sampling: {count:,} of {number:,} pairs")
        yield pair


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


def describe(config: SampleConfig) -> str:
    """Say in a few words how samples are drawn."""
    tempered = config.strategy == "tempered" or config.temperature != 1
    extra = f", temperature {config.temperature:g}" if tempered else ""
    if config.needs_model:  # the other strategies know no such thing
        extra += ", each depth equally often" if config.depths == "even" else ""
        extra += f", depth bias {config.depth_bias:g}" if config.depth_bias else ""
    extra += f", one of {config.balance:g} draws kept" if config.balance > 1 else ""
    extra += f", outputs by draws^{config.output_power:g}" if config.output_power < 1 else ""
    kept = " unique" * config.unique + " new" * config.new
    deepest = config.max_depth or "that of training"
    return f"strategy {config.strategy}{extra}, depth {config.min_depth} to {deepest}{kept}, seed {config.seed}"
