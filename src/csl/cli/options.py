"""Options that commands share, as dataclasses: a command takes one as an argument, and gets all of its options."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from csl.errors import InputError, nearest

if TYPE_CHECKING:
    from csl.engine.engine import Engine
    from csl.model.model import Model
    from csl.runs.recipe import Recipe

ENGINES = ("threads", "ray")
EXAMPLES = "Examples: .tsv (input<TAB>output) or .jsonl, or either with .gz."

TrainFile = Annotated[Path, typer.Argument(help=EXAMPLES)]


def _folder(name: str) -> Path:
    if not name:
        raise InputError("--out is empty; give the run folder a name")
    return Path(name)


OutFolder = Annotated[Path, typer.Option("--out", parser=_folder, metavar="DIR", help="The run folder to write.")]
Resume = Annotated[
    bool, typer.Option(help="Keep complete stages and resume a stopped one; after changing CSL's code, --no-resume.")
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
TorchThreads = Annotated[
    int | None, typer.Option("--threads", min=1, max=1024, help="CPU threads; default: chosen by torch.")
]


def shares_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of each argument that is one of the dataclasses here."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if is_dataclass(kind) and isinstance(kind, type)}
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            own = get_type_hints(groups[name], include_extras=True)
            parameters += [p.replace(annotation=own[p.name]) for p in signature(groups[name]).parameters.values()]
        else:
            parameters.append(parameter.replace(annotation=hints[name]))

    @wraps(command)
    def called(**values: Any) -> None:
        for name, kind in groups.items():
            values[name] = kind(**{option: values.pop(option) for option in signature(kind).parameters})
        command(**values)

    keyword = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in parameters]
    called.__signature__ = Signature(keyword)  # type: ignore[attr-defined]
    return called


def _renamed(old: str, new: str) -> Callable[[list[str] | None], None]:
    def refuse(value: list[str] | None) -> None:
        if value:
            raise InputError(f"{old} is now {new}")

    return refuse


OldSeeds = Annotated[
    list[str] | None, typer.Option("--seeds", hidden=True, callback=_renamed("--seeds", "--seed-rules"))
]
OldUnlabeled = Annotated[
    list[str] | None,
    typer.Option("--unlabeled", hidden=True, callback=_renamed("--unlabeled", "--unlabelled")),
]


@dataclass(frozen=True)
class Fields:
    """The fields of JSON lines."""

    input_field: Annotated[str, typer.Option(help="JSON lines: the field with the input.")] = "input"
    output_field: Annotated[str, typer.Option(help="JSON lines: the field with the output.")] = "output"

    @property
    def names(self) -> dict[str, str]:
        """The fields, as readers of examples take them."""
        return {"source_field": self.input_field, "target_field": self.output_field}

    @property
    def settings(self) -> dict[str, object]:
        """The fields, as options of a recipe."""
        return {"data.input_field": self.input_field, "data.output_field": self.output_field}


@dataclass(frozen=True)
class Workers:
    """How work is spread."""

    threads: Annotated[int, typer.Option(min=1, max=1024, help="Threads; the result is the same for any number.")] = 1
    engine: Annotated[str, typer.Option(help="threads or ray; the result is the same.")] = "threads"
    address: Annotated[
        str | None, typer.Option(help="A running Ray cluster, with --engine ray; default: start workers here.")
    ] = None

    def check(self) -> None:
        """Refuse an unknown engine."""
        if self.engine not in ENGINES:
            raise InputError(f"--engine {self.engine}: no such engine; {nearest(self.engine, ENGINES)}")
        if self.address and self.engine != "ray":
            raise InputError("--address requires --engine ray")

    @contextmanager
    def open(self) -> "Iterator[Engine]":
        """Open the engine that the options name, and close it at the end."""
        self.check()
        if self.engine == "threads":
            from csl.engine.threads import Threads

            yield Threads(self.threads)
            return
        from csl.engine.ray import Ray

        with Ray(self.address, self.threads) as engine:
            yield engine


@dataclass(frozen=True)
class Budget:
    """How much memory and time parsing one input may take."""

    max_memory: Annotated[
        str, typer.Option(metavar="SIZE", help="For the chart of one input, as 512M or 2G; beyond it, no output.")
    ] = "512M"
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="For one input; beyond it, no output. Default: no limit.")
    ] = None


InferenceOption = Annotated[
    str | None,
    typer.Option(
        help="typed: the best derivation whose types fit; paper: the best of all, if its output is valid. Default: "
        "that of the run."
    ),
]


def model_of(run: Path, inference: str | None = None) -> "Model":
    """Open the model of a run folder, with its own way to parse or another."""
    from csl.model.config import INFERENCE
    from csl.runs.folder import RunFolder

    model = RunFolder.open(run).model()
    for known in INFERENCE:
        if inference == known:
            return model.with_inference(known)
    if inference is not None:
        raise InputError(f"--inference {inference}: no such inference; {nearest(inference, INFERENCE)}")
    return model


@dataclass(frozen=True)
class Configured:
    """Options from a preset, a file, and single settings, the later over the earlier."""

    preset: Annotated[str | None, typer.Option(help="auto, scan, cogs, geoquery or smcalflow.")] = None
    config: Annotated[Path | None, typer.Option(help="A TOML file with options, applied over the preset.")] = None
    settings: Annotated[list[str] | None, typer.Option("--set", help="An option as key=value; may be repeated.")] = None

    def apply(self, recipe: "Recipe", table: str, given: dict[str, object] | None = None) -> "Recipe":
        """Change the options of one table of a recipe; a preset changes grammar, model and samples alike."""
        from csl.options import parse_setting, read_options

        if self.preset:
            recipe = recipe.with_preset(self.preset).seeded(recipe.fit.seed)
        values = read_options(self.config, table, getattr(recipe, table)) if self.config else {}
        values |= {key: value for key, value in (given or {}).items() if value is not None}
        values |= map(parse_setting, self.settings or [])
        return recipe.changed({f"{table}.{key}": value for key, value in values.items()})
