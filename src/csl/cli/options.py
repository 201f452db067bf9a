"""Options that commands share, as dataclasses: a command takes one as an argument, and gets all of its options."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from csl.cli.console import new_console
from csl.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from csl.engine import Threads
    from csl.examples import Example
    from csl.examples.formats import Rows
    from csl.model.model import Model
    from csl.parsing.limits import Abstained, Limits
    from csl.preparing.confidence import Confidence
    from csl.preparing.parser import Answer, Parser
    from csl.runs.recipe import Recipe

EXAMPLES = "Examples: TSV, CSV, JSON lines, chats, Parquet, a Hugging Face dataset; -: standard input."
_STANDARD_INPUT: list[TemporaryDirectory[str]] = []  # where it is kept, until the program ends


def _examples_file(name: str) -> Path:
    """Keep standard input as a file: a run reads its data several times."""
    if name != "-":
        return Path(name)
    if sys.stdin is None:
        raise InputError("standard input is closed", name)
    _STANDARD_INPUT.append(TemporaryDirectory())
    data = sys.stdin.buffer.read()
    path = Path(_STANDARD_INPUT[-1].name) / ("stdin.gz" if data.startswith(b"\x1f\x8b") else "stdin")
    path.write_bytes(data)
    return path


TrainFile = Annotated[Path, typer.Argument(parser=_examples_file, metavar="TRAIN", help=EXAMPLES)]
ExamplesFile = Annotated[Path, typer.Argument(help=EXAMPLES)]


def _folder(name: str) -> Path:
    if not name:
        raise InputError("--out is empty; give the run folder a name")
    return Path(name)


OutFolder = Annotated[Path, typer.Option("--out", parser=_folder, metavar="DIR", help="The run folder to write.")]
OutFormat = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="FORMAT",
        help="Write tsv, csv, jsonl, chat, prompt-completion or parquet; default: as the inputs are, or as --out ends.",
    ),
]  # fmt: skip
Resume = Annotated[
    bool, typer.Option(help="Keep complete stages and resume a stopped one; after changing CSL's code, --no-resume.")
]
CpuThreads = Annotated[int, typer.Option(min=1, max=1024, help="Threads; the result is the same for any number.")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
LARK = ".lark"  # a grammar of valid outputs as csl grammar export writes it
CfgJoint = Annotated[
    Literal["space", "optional", "words", "none"] | None,
    typer.Option(
        help="Between two tokens of the output CFG: a space, at most one, one between words and at most one elsewhere, "
        "or nothing. Default: space; with the categories of raw text: words."
    ),
]
Mask = Annotated[
    bool,
    typer.Option(
        "--mask/--no-mask", help="Only write outputs of the run's output CFG, if any, with values of the input."
    ),
]
TorchThreads = Annotated[
    int | None, typer.Option("--threads", min=1, max=1024, help="CPU threads; default: chosen by torch.")
]

OutputLanguage = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="calls, sexpr, json, top, sql, tokens or code; default: seen from outputs."),
]
KeepCase = Annotated[bool, typer.Option("--keep-case", help="Capitals in inputs matter.")]


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


@dataclass(frozen=True)
class Preparing:
    """How raw text is prepared: what cannot be seen from it."""

    output_language: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="calls, sexpr, json, top, sql, tokens or code; none: prepared already."),
    ] = None
    keep_case: KeepCase = False
    values: Annotated[
        Path | None, typer.Option(metavar="FILE", help="More values: type, words of the input, text of the output.")
    ] = None

    @property
    def settings(self) -> dict[str, object]:
        """The options, as those of a recipe."""
        values = {"data.values": str(self.values)} if self.values else {}
        return {"data.language": self.output_language or "", "data.keep_case": self.keep_case, **values}


@dataclass(frozen=True)
class Reading:
    """How files of examples are read: what cannot be seen from them."""

    input_format: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="tsv, csv, jsonl, chat, prompt-completion, parquet or dataset."),
    ] = None
    input_column: Annotated[str | None, typer.Option(metavar="NAME", help="The column with the input.")] = None
    output_column: Annotated[str | None, typer.Option(metavar="NAME", help="The column with the output.")] = None
    split: Annotated[str | None, typer.Option(metavar="NAME", help="Of a Hugging Face dataset: the split.")] = None
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out rows that cannot be read.")] = False

    @property
    def settings(self) -> dict[str, object]:
        """The options, as those of a recipe."""
        given = {
            "format": self.input_format, "input_column": self.input_column, "output_column": self.output_column,
            "split": self.split, "skip_bad": self.skip_bad,
        }  # fmt: skip
        return {f"data.{name}": value for name, value in given.items() if value}

    def rows(self, path: Path, *, inputs_only: bool = False) -> "Rows":
        """Read a file; say what was left out."""
        from csl.examples.formats import read_rows

        found = read_rows(
            path, self.input_format, input_column=self.input_column, output_column=self.output_column,
            split=self.split, skip_bad=self.skip_bad, inputs_only=inputs_only,
        )  # fmt: skip
        for line in found.remarks(path):
            new_console(stderr=True).print(line)
        return found

    def examples(self, path: Path) -> "list[Example]":
        """Read a file of prepared examples: tokens with white space between them."""
        return self.rows(path).examples()


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


def parser_of(run: Path, inference: str | None = None) -> "Parser":
    """Open the parser of a run folder, with its own way to parse or another."""
    from csl.preparing.parser import Parser
    from csl.runs.folder import RunFolder

    return Parser(model_of(run, inference), RunFolder.open(run).preparation())


AbstainBelow = Annotated[
    float | None,
    typer.Option(
        "--abstain-below", min=0, max=1,
        help="Give no output where the confidence is below this: of raw text that csl augment has checked the "
        "probability that it is correct, else p(output | input). Default: what the check found, else 0; 0: never.",
    ),
]  # fmt: skip


@dataclass(frozen=True)
class Abstaining:
    """A parser that gives no output where it is less sure than `least`."""

    parser: "Parser"
    confidence: "Confidence | None"
    least: float

    @classmethod
    def of(cls, run: Path, parser: "Parser", least: float | None) -> "Abstaining":
        """Take the confidence of a run, and where its check found it to be enough unless `least` is given."""
        from csl.runs.folder import RunFolder

        confidence = RunFolder.open(run).confidence(parser)
        chosen = confidence.calibration.threshold if confidence else 0.0
        return cls(parser, confidence, chosen if least is None else least)

    @property
    def measure(self) -> str:
        """What is compared with `least`."""
        return "the confidence" if self.confidence else "p(output | input)"

    def sure(
        self, texts: "Sequence[str]", found: "Sequence[Answer | Abstained]", engine: "Threads", limits: "Limits"
    ) -> list[float]:
        """Say how sure the outputs of texts are; 0 where there is none."""
        from csl.preparing.parser import Answer

        if self.confidence:
            return self.confidence.of(texts, found, engine, limits)
        answers = [answer for answer in found if isinstance(answer, Answer)]
        given = iter(self.parser.log_probs_given_inputs(answers, engine, limits))
        return [exp(next(given)) if isinstance(answer, Answer) else 0.0 for answer in found]

    def remark(self, unsure: int, total: int) -> str:
        """Say how many inputs get no output; nothing if none does."""
        if not unsure:
            return ""
        return f"{unsure:,} of {total:,} inputs get no output: {self.measure} is below {self.least:g}"


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
