"""`csl data …`: the benchmark data sets and split makers."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from csl.cli.console import new_console
from csl.cli.options import ExamplesFile, Reading, shares_options
from csl.files import make_folder, refuse_input_as_output
from csl.splits.programs import DEFAULT_ENTITIES

if TYPE_CHECKING:
    from csl.splits.divergence import Divergence

app = typer.Typer(help="Prepare benchmark data sets, and split your own.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of the data set; `csl data list` shows them.")]
Out = Annotated[Path, typer.Option("--out", help="Folder to write to; created if it does not exist.")]
Entities = Annotated[
    str, typer.Option(help="Regular expression for output tokens that are entities; text in double quotes always is.")
]


class By(StrEnum):
    """The kinds of split."""

    RANDOM = "random"
    LENGTH = "length"
    TEMPLATE = "template"
    TMCD = "tmcd"


class Side(StrEnum):
    """The sides of an example."""

    INPUT = "input"
    OUTPUT = "output"


@app.command("list")
def list_() -> None:
    """Show the data sets, their splits, and their sizes in the paper."""
    from rich.table import Table

    from csl.datasets.registry import DATA_SETS

    table = Table("data set", "split", "licence", "source", title="Sizes as in the paper", show_edge=False)
    for column in ("train", "dev", "test"):
        table.add_column(column, justify="right")
    for known in DATA_SETS.values():
        for split in known.splits:
            sizes = known.published_sizes[split]
            source = "no" if split in known.generated else "needed"
            table.add_row(known.name, split, known.licence, source, *(size or "-" for size in sizes))
        table.add_section()
    new_console().print(table)
    new_console().print("The first split of a data set is the default. Where a source is needed, give --source.")


@app.command()
def prepare(
    name: Name,
    out: Out,
    source: Annotated[Path | None, typer.Option(help="Folder with the original files, unchanged.")] = None,
    split: Annotated[str | None, typer.Option(help="Name of the split; default: the first one.")] = None,
) -> None:
    """Write a data set as the paper uses it: examples, seed rules, output CFG and a card."""
    from csl.datasets.registry import data_set, write_task

    refuse_input_as_output(out, source)
    known = data_set(name)
    split = known.splits[0] if split is None else split
    task = known.prepare(source, split)
    make_folder(out)
    card = write_task(task, out, name=name, split=split)
    new_console().print(f"{name}, split {split}")
    _print_files(card["sizes"], out)
    for note in task.notes:
        new_console().print(f"note: {note}")


@app.command("fetch")
def fetch_(name: Name, out: Out) -> None:
    """Download the original files of a data set, and check their size and SHA-256."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

    from csl.datasets.fetch import fetch
    from csl.datasets.registry import data_set

    home = data_set(name).home
    make_folder(out)
    console = new_console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    bars: dict[str, TaskID] = {}
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:

        def show(file: str, done: int, size: int) -> None:
            if file not in bars:
                bars[file] = progress.add_task(file, total=size)
            progress.update(bars[file], completed=done)

        paths = fetch(home, out, show)
    for path in paths:
        new_console().print(f"{path}: size and SHA-256 are correct")
    if home.by_hand:
        new_console().print(f"note: {home.by_hand}")


@app.command()
@shares_options
def split(
    file: ExamplesFile,
    by: Annotated[
        By,
        typer.Option(help="How to split: see docs/splits.md for what each kind tests."),
    ],
    out: Out,
    train_share: Annotated[float, typer.Option(help="Share of the examples to train on.", min=0, max=1)] = 0.5,
    sizes: Annotated[
        str | None, typer.Option(help="Numbers of examples instead of a share: TRAIN,TEST or TRAIN,DEV,TEST.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random choices.", min=0)] = 0,
    length_of: Annotated[Side, typer.Option(help="Length split: the side whose tokens are counted.")] = Side.OUTPUT,
    min_count: Annotated[
        int, typer.Option(help="TMCD split: each atom of the test set must be in so many training examples.", min=0)
    ] = 2,
    entities: Entities = DEFAULT_ENTITIES,
    *,
    reading: Reading,
) -> None:
    """Split examples into train and test (and dev), and measure the divergence of the split."""
    from dataclasses import asdict

    from csl.datasets.registry import FILES, write_task
    from csl.datasets.task import Task
    from csl.errors import InputError
    from csl.splits.divergence import divergence, profiles
    from csl.splits.programs import entity_pattern
    from csl.splits.splits import length_split, parse_sizes, random_split, template_split, tmcd_split

    for part in FILES:
        refuse_input_as_output(out / part, file)
    pattern = entity_pattern(entities)
    examples = reading.examples(file)
    n_train, n_dev = parse_sizes(sizes, len(examples)) if sizes else (round(train_share * len(examples)), 0)
    try:
        counted = profiles(examples, pattern, file)
    except InputError as error:
        if by == By.TMCD:
            raise
        counted = []
        new_console(stderr=True).print(f"divergence is not measured: {error}")
    match by:
        case By.RANDOM:
            made = random_split(len(examples), n_train, seed)
        case By.LENGTH:
            lengths = [len(e.source if length_of == Side.INPUT else e.target) for e in examples]
            made = length_split(lengths, n_train, seed)
        case By.TEMPLATE:
            made = template_split(examples, n_train, seed, pattern)
        case By.TMCD:
            made = tmcd_split(counted, n_train, seed, min_count)
    measured = divergence([counted[i] for i in made.train], [counted[i] for i in made.test]) if counted else None
    made = made.with_dev(n_dev, seed)
    train, dev, test = ([examples[i] for i in side] for side in (made.train, made.dev, made.test))
    make_folder(out)
    task = Task(train, dev, test, origin=file.name)
    card = write_task(task, out, name=file.name, split=by.value, seed=seed, divergence=measured and asdict(measured))
    _print_files(card["sizes"], out)
    if measured:
        _print_divergence(measured)


@app.command("divergence")
@shares_options
def divergence_(
    train: ExamplesFile,
    test: ExamplesFile,
    entities: Entities = DEFAULT_ENTITIES,
    *,
    reading: Reading,
) -> None:
    """Measure atom and compound divergence between the outputs of two files."""
    from csl.splits.divergence import divergence, profiles
    from csl.splits.programs import entity_pattern

    pattern = entity_pattern(entities)
    counted = (profiles(reading.examples(file), pattern, file) for file in (train, test))
    _print_divergence(divergence(*counted))


def _print_files(sizes: dict[str, int], folder: Path) -> None:
    units = {"seed_rules.txt": "seed rules", "output.cfg": "productions"}
    for name, size in sizes.items():
        new_console().print(f"{folder / name}: {size:,} {units.get(name, 'examples')}")
    new_console().print(f"{folder / 'card.json'}: origin, licence, sizes, checksums")


def _print_divergence(measured: "Divergence") -> None:
    unseen = measured.unseen_atoms
    shown = ", ".join(unseen[:10]) + (", …" if len(unseen) > 10 else "")
    for line in (
        f"atom divergence: {measured.atom:.4f}",
        f"compound divergence: {measured.compound:.4f}",
        f"test atoms that training lacks: {len(unseen)}{' (' + shown + ')' if unseen else ''}",
        f"fewest training examples with an atom of the test set: {measured.rarest_atom}",
        f"test compounds that training lacks: {measured.unseen_compounds} of {measured.test_compounds}",
    ):
        new_console().print(line)
