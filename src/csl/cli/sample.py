"""`csl sample`: new pairs from the grammar of a run folder."""

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from csl.cli.console import LiveLine, new_console
from csl.cli.engine import AddressOption, EngineOption, ThreadsOption, engine_of

if TYPE_CHECKING:
    from rich.console import Console

    from csl.sampling.sampler import Sampler


def sample(
    run: Annotated[Path, typer.Argument(help="The run folder with the grammar, and the model if one is needed.")],
    number: Annotated[int, typer.Option("-n", min=1, help="How many pairs.")] = 100_000,
    out: Annotated[
        Path | None, typer.Option(help="A .tsv or .jsonl file, or either with .gz; default: samples.tsv in RUN.")
    ] = None,
    preview: Annotated[int, typer.Option(min=0, help="Only show so many, with their derivations.")] = 0,
    strategy: Annotated[str | None, typer.Option(help="model, tempered, uniform or coverage.")] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Divides θ of rules; inf: all alike. Means tempered.")
    ] = None,
    depth_bias: Annotated[float | None, typer.Option(help="δ for rules with many nonterminals.")] = None,
    max_depth: Annotated[int | None, typer.Option(help="Levels of a derivation, at most; 0: as training.")] = None,
    unique: Annotated[bool, typer.Option("--unique", help="Each pair once.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Drop pairs that are in the training set.")] = False,
    seed: Annotated[int | None, typer.Option(help="Of the draws.")] = None,
    preset: Annotated[str, typer.Option(help="auto, scan, cogs, geoquery or smcalflow.")] = "auto",
    config: Annotated[Path | None, typer.Option(help="A TOML file with options, applied over the preset.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any option as key=value; may be repeated.")
    ] = None,
    train: Annotated[Path | None, typer.Option(help="What counts as known; default: what induced the grammar.")] = None,
    provenance: Annotated[bool, typer.Option("--provenance", help="Add derivation and parent examples.")] = False,
    shards: Annotated[int, typer.Option(min=1, help="Files to write.")] = 1,
    threads: ThreadsOption = 1,
    engine: EngineOption = "threads",
    address: AddressOption = None,
    input_field: Annotated[str, typer.Option(help="JSON lines: the field with the input.")] = "input",
    output_field: Annotated[str, typer.Option(help="JSON lines: the field with the output.")] = "output",
) -> None:
    """Sample new pairs.

    With an output CFG in the run folder every output is valid. The same seed gives the same bytes.
    """
    from csl.errors import InputError
    from csl.examples import read_examples
    from csl.files import refuse_input_as_output
    from csl.lock import folder_lock
    from csl.options import parse_setting, read_options
    from csl.runs.fitting import load_model, read_run, training_file
    from csl.runs.sampling import describe, source_licence, write_samples
    from csl.sampling.config import preset as find_preset
    from csl.sampling.config import preset_with
    from csl.sampling.sampler import Sampler

    console, start = new_console(), time.perf_counter()
    if temperature is not None and strategy not in (None, "tempered"):
        raise InputError(f"--temperature is of strategy tempered, not {strategy}; leave one of them out")
    grammar, output_cfg = read_run(run)
    given = read_options(config, "sampling", find_preset(preset)) if config else {}
    flags = {
        "strategy": strategy or ("tempered" if temperature is not None else None),
        "temperature": temperature, "depth_bias": depth_bias, "max_depth": max_depth, "seed": seed,
        "unique": unique or None, "new": new or None,
    }  # fmt: skip
    given |= {key: value for key, value in flags.items() if value is not None}
    given |= map(parse_setting, settings or [])
    options = preset_with(preset, given)
    model = load_model(run) if options.strategy in ("model", "tempered") else None
    wanted = options.new or provenance or options.strategy == "coverage"
    file = train or (training_file(run) if wanted else None)
    known = list(read_examples(file, source_field=input_field, target_field=output_field)) if file else []
    sampler = Sampler(grammar, options, model=model, output_cfg=output_cfg, train=known)
    if preview:
        _preview(console, sampler, preview)
        return
    path = out or run / "samples.tsv"
    refuse_input_as_output(path, file)
    stopped = "stopped; nothing was written"
    own = folder_lock(run) if path.parent.resolve() == run.resolve() else nullcontext()
    with own, LiveLine(console, "sampling …", stopped) as live, engine_of(threads, engine, address) as opened:
        written = write_samples(
            path, sampler, number, shards=shards, engine=opened, provenance=provenance,
            about={"run": str(run), "licence": source_licence(run)},
            progress=lambda n: live.update(f"{n:,} of {number:,} pairs"),
        )  # fmt: skip
    console.print(f"{written:,} pairs ({describe(sampler.config)}); {time.perf_counter() - start:.1f} s")
    if sampler.exhausted:
        console.print(f"fewer than {number:,}: the grammar has no more of this kind, or only very improbable ones")
    console.print(f"wrote {path}" if shards == 1 else f"wrote {shards} shards of {path}")


def _preview(console: "Console", sampler: "Sampler", count: int) -> None:
    """Show samples with their derivations."""
    from csl.parsing.drawing import draw_derivation

    for sample in sampler.stream(count):
        console.print(sample.example.source_text, style="bold")
        console.print(sample.example.target_text, style="bold cyan")
        console.print(draw_derivation(sampler.derivation(sample)))
        console.print()
