"""`csl sample`: new pairs from the grammar of a run folder."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from csl.cli.console import Messages, new_console
from csl.cli.induce import run_stages
from csl.cli.options import Configured, CpuThreads, OutFormat, Resume, shares_options
from csl.errors import InputError

if TYPE_CHECKING:
    from csl.runs.recipe import Recipe
    from csl.runs.stage import Work


@dataclass(frozen=True)
class Drawing:
    """How pairs are drawn; --set has all options."""

    strategy: Annotated[str | None, typer.Option(help="How to draw: see docs/sampling.md.")] = None
    temperature: Annotated[
        float | None,
        typer.Option(
            help="Divides θ of rules; inf: all rules equally likely. Implies tempered, unless the run has forward."
        ),
    ] = None
    unique: Annotated[bool, typer.Option("--unique", help="Each pair once.")] = False
    new: Annotated[bool, typer.Option("--new", help="Drop pairs that are in the training set.")] = False

    def apply(self, configured: Configured, recipe: "Recipe", number: int | None, **given: object) -> "Recipe":
        """Change the options of sampling in a recipe."""
        from csl.sampling.config import TEMPERED

        strategy = self.strategy
        if self.temperature is not None and strategy not in (None, *TEMPERED):
            raise InputError(f"--temperature requires strategy {' or '.join(TEMPERED)}, not {strategy}")
        if self.temperature is not None and strategy is None and recipe.sampling.strategy not in TEMPERED:
            strategy = "tempered"
        own = {
            "number": number, "strategy": strategy, "temperature": self.temperature, "unique": self.unique or None,
            "new": self.new or None, **given,
        }  # fmt: skip
        return configured.apply(_without_auto(configured, recipe, strategy), "sampling", own)


def _without_auto(configured: Configured, recipe: "Recipe", strategy: str | None) -> "Recipe":
    """Give options that auto chose for its own strategy back their defaults, if another strategy is wanted."""
    from csl.options import parse_setting
    from csl.sampling.config import PRESETS, SampleConfig

    auto, drawing = PRESETS["auto"], recipe.sampling
    wanted = dict(map(parse_setting, configured.settings or [])).get("strategy", strategy)
    if wanted in (None, auto.strategy) or drawing.strategy != auto.strategy or configured.preset not in (None, "auto"):
        return recipe
    chosen = [key for key in auto.model_fields_set if getattr(drawing, key) == getattr(auto, key)]
    return recipe.changed({f"sampling.{key}": getattr(SampleConfig(), key) for key in chosen})


@shares_options
def sample(
    run: Annotated[Path, typer.Argument(help="The run folder with the grammar, and the model if one is needed.")],
    *,
    number: Annotated[int | None, typer.Option("-n", min=1, help="How many pairs.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="A .tsv, .jsonl, .csv or .parquet file; -: standard output. Default: in RUN."),
    ] = None,
    shards: Annotated[int, typer.Option(min=1, max=10_000, help="Split --out into so many files.")] = 1,
    preview: Annotated[int, typer.Option(min=0, help="Only show so many, with their derivations.")] = 0,
    provenance: Annotated[bool, typer.Option("--provenance", help="Add columns: derivation, parent examples.")] = False,
    drawing: Drawing,
    depth_bias: Annotated[float | None, typer.Option(help="δ for rules with many nonterminals.")] = None,
    max_depth: Annotated[
        int | None, typer.Option(help="Levels of a derivation, at most; 0: as deep as training examples.")
    ] = None,
    configured: Configured,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of sampling. Default: that of the run.")] = None,
    resume: Resume = True,
    threads: CpuThreads = 1,
    format: OutFormat = None,
) -> None:
    """Sample new pairs, with the options of the run unless others are given.

    With an output CFG in the run folder every output is valid. The same seed gives the same bytes.
    """
    from csl.engine import Threads
    from csl.examples.formats import write_rows
    from csl.examples.formats.keeping import load_rows
    from csl.files import is_stream, refuse_input_as_output
    from csl.runs.folder import RunFolder
    from csl.runs.stage import Work
    from csl.runs.stages.merge import as_rows
    from csl.runs.stages.registry import SAMPLE
    from csl.runs.stages.sample import number_of, pairs_of, write_pairs

    console, start, folder = new_console(stderr=out is not None), time.perf_counter(), RunFolder.open(run)
    recipe = folder.recipe()
    if seed is not None:
        recipe = recipe.seeded(seed)
    own = {"depth_bias": depth_bias, "max_depth": max_depth, "provenance": provenance or None}
    recipe = drawing.apply(configured, recipe, number, **own)
    options = recipe.sampling
    wanted = number_of(folder, options)
    if preview:
        _preview(Work(folder, recipe), preview)
        return
    if out is None:
        if shards > 1 or format:
            raise InputError(f"--{'shards' if shards > 1 else 'format'} requires --out")
        run_stages(run, recipe, (SAMPLE,), threads, resume=resume, replace=True)
        console.print(f"wrote {run / 'samples.tsv'}")
        return
    refuse_input_as_output(out, *(run / name for name in ("run.json", "recipe.toml", *folder.checksums)))
    with Messages("sampling …", "nothing was written", stderr=True):
        source = pairs_of(Work(folder, recipe, engine=Threads(threads)), options, folder.examples())
        about = {"run": str(run), "licence": folder.licence()}
        if format:
            if shards > 1:
                raise InputError("--format and --shards exclude each other")
            kept = folder.file("data/rows.jsonl")
            rows = as_rows(source.stream(wanted), folder.preparation())
            layout = load_rows(kept).layout if kept else None
            written = write_rows(out, rows, layout, format=format, columns=source.columns)
        else:
            written = write_pairs(out, source, wanted, shards=shards, about=about)
    console.print(f"{written:,} pairs ({source.how}); {time.perf_counter() - start:.1f} s")
    if source.exhausted():
        console.print(f"fewer than {wanted:,}: there are no more of this kind, or only very improbable ones")
    if not is_stream(out):
        console.print(f"wrote {out}" if shards == 1 else f"wrote {shards} shards of {out}")


def _preview(work: "Work", count: int) -> None:
    """Show samples with their derivations."""
    from csl.parsing.drawing import draw_derivation
    from csl.runs.stages.sample import sampler_of

    console, sampler = new_console(), sampler_of(work, work.recipe.sampling)
    for sample in sampler.stream(count):
        console.print(sample.example.source_text, style="bold")
        console.print(sample.example.target_text, style="bold cyan")
        console.print(draw_derivation(sampler.derivation(sample)))
        console.print()
