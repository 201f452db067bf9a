"""The run folder: everything that a run makes is in one place that later stages read and people can look into.

run.json       what was done: for each stage its key, options, seconds, figures, and the checksums of its files
recipe.toml    all options
data/          a copy of the examples, seed rules and output CFG
checkpoints/   where unfinished stages stand; they are removed when the stage is complete

The other files are artefacts of stages (see `csl.runs.stages`). A file that the record does not list was not made by a
run: it is never overwritten or removed. One process at a time works in a folder.
"""

import importlib.metadata
import platform
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from csl import __version__
from csl.errors import InputError
from csl.examples import Example, read_examples
from csl.files import hash_file, read_json, write_json, write_text
from csl.grammar import Grammar, Rule, read_grammar
from csl.grammar.notation import grammar_file, read_rules
from csl.grammar.output_cfg import OutputCfg
from csl.runs.checkpoint import Checkpoint
from csl.runs.recipe import Recipe, read_recipe

if TYPE_CHECKING:
    from csl.model.model import Model
    from csl.preparing.confidence import Confidence
    from csl.preparing.parser import Parser
    from csl.preparing.preparation import Preparation

RECORD, RECIPE, README, GRAMMAR = "run.json", "recipe.toml", "README.md", "grammar.txt"
CHECKPOINTS = "checkpoints"
CONFIDENCE, CONFIDENCE_PHRASES = "confidence.json", "confidence.npz"
DECODING = "data/decoding.lark"  # a grammar of valid outputs, for `csl predict` …
PREPARATION = "data/preparation.json"  # … and the preparation that it is of
PARTS = ("train", "dev", "test")
VERSIONS = ("numpy", "numba", "pydantic", "torch", "transformers")
MARK = "<!-- written by csl -->"

Figures = dict[str, Any]  # what a stage found, as JSON


@dataclass(frozen=True)
class Done:
    """A complete stage."""

    key: str
    seconds: float
    options: Any
    figures: Figures
    files: dict[str, str]  # checksums by name

    @classmethod
    def of(cls, value: Any) -> "Done":
        """Read the JSON of a complete stage."""
        done = cls(**value)
        if not (isinstance(done.key, str) and isinstance(done.figures, dict) and isinstance(done.files, dict)):
            raise TypeError("not a stage")
        if not isinstance(done.figures.get("config", {}), dict):
            raise TypeError("not options")
        for rule, saves, uses in done.figures.get("savings", ()):
            _ = str(rule), saves + uses  # numbers
        for name, checksum in done.files.items():  # a name that leads out of the folder would do harm
            path = Path(name)
            if (
                path.is_absolute()
                or ".." in path.parts
                or not path.name
                or "\0" in name
                or not isinstance(checksum, str)
            ):
                raise ValueError(f"{name}: not a file of the folder")
        return done


@dataclass(frozen=True)
class Record:
    """What a run folder says of itself."""

    recipe: str = ""
    title: str = ""
    seed: int = 0
    settings: dict[str, Any] = field(default_factory=dict)  # what was changed over the recipe
    stages: dict[str, Done] = field(default_factory=dict)
    started: tuple[str, ...] = ()  # stages that are being worked on, or were when the run was stopped


class RunFolder:
    """A run folder, to read and to write; nothing is created before something is written."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    @classmethod
    def open(cls, path: Path | str) -> "RunFolder":
        """Open a run folder that is there."""
        if not Path(path).is_dir():
            raise InputError("not a run folder; make one with `csl induce` or `csl augment`", path)
        return cls(path)

    @cached_property
    def record(self) -> Record:
        """The record of the run; an empty one if there is none."""
        path = self.path / RECORD
        if not path.exists():
            return Record()
        try:
            value = read_json(path)
            stages = {name: Done.of(done) for name, done in value["stages"].items()}
            names = {key: str(value[key]) for key in ("recipe", "title")}
            started = tuple(map(str, value["started"]))
            return Record(
                **names, seed=int(value["seed"]), settings=dict(value["settings"]), stages=stages, started=started
            )
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise InputError("not the record of a run; choose another folder", path) from error

    @property
    def is_run(self) -> bool:
        """Whether the folder has the record of a run."""
        return (self.path / RECORD).exists()

    def recipe(self) -> Recipe:
        """Read all options of the run."""
        path = self.path / RECIPE
        if not path.exists():
            raise InputError("no recipe.toml in this folder: not a run of `csl induce`, `augment` or `run`", self.path)
        recipe = read_recipe(str(path))
        return replace(recipe, name=self.record.recipe or recipe.name).seeded(self.record.seed)

    # artefacts

    @property
    def checksums(self) -> dict[str, str]:
        """The checksums of all artefacts, by name."""
        return {name: checksum for done in self.record.stages.values() for name, checksum in done.files.items()}

    def damaged(self, done: Done) -> Path | None:
        """Find a file of a stage that is not as it was written."""
        for name, checksum in done.files.items():
            path = self.own(name)
            if not path.is_file() or hash_file(path) != checksum:
                return path
        return None

    def checksum(self, name: str) -> str:
        """Hash an artefact as it is now."""
        return hash_file(self.own(name))

    def own(self, name: str) -> Path:
        """Give the path of an artefact; a link inside the folder could lead anywhere, and is refused."""
        path = self.path
        for part in Path(name).parts:
            path = path / part
            if path.is_symlink():
                raise InputError("a link inside a run folder; remove it, or choose another folder", path)
        return path

    def file(self, name: str) -> Path | None:
        """Give the path of an artefact that is as the run wrote it, or None if there is none."""
        path, checksum = self.path / name, self.checksums.get(name)
        if not path.exists():
            return None
        if checksum and checksum not in self._verified and hash_file(path) != checksum:
            accept = ", accept it with `csl grammar accept`" if name == GRAMMAR else ""
            raise InputError(
                f"not as this run wrote it: damaged or edited; restore it{accept}, or redo its stage with --no-resume",
                path,
            )
        self._verified.add(checksum or "")
        return path

    @cached_property
    def _verified(self) -> set[str]:
        return set()

    def needed(self, name: str, command: str) -> Path:
        """Give the path of an artefact; if there is none, say which command makes it."""
        path = self.file(name)
        if path is None:
            raise InputError(f"no {name} in this folder; make it with `{command}`", self.path)
        return path

    def has_examples(self, part: str) -> bool:
        """Whether the run has examples of this part: train, dev, test or synthetic."""
        return (self.path / "data" / f"{part}.tsv").exists()

    def examples(self, part: str = "train") -> list[Example]:
        """Read the examples of a part; none if the run has none."""
        path = self.file(f"data/{part}.tsv")
        return list(read_examples(path, columns=("category",))) if path else []

    def training(self) -> list[Example]:
        """Read the training examples that grammar and model are learnt from: prepared, if they needed it."""
        path = self.file("prepared/train.tsv")
        return list(read_examples(path)) if path else self.examples()

    def given_seed_rules(self) -> list[Rule]:
        """Read the seed rules that were given."""
        path = self.file("data/seed_rules.txt")
        return list(read_rules(path)) if path else []

    def seed_rules(self) -> list[Rule]:
        """Read the seed rules: those given, and those for values."""
        path = self.file("prepared/seed_rules.txt")
        return list(read_rules(path)) if path else self.given_seed_rules()

    def given_cfg(self) -> OutputCfg | None:
        """Read the CFG of valid outputs that was given."""
        path = self.file("data/output.cfg")
        return OutputCfg.read(path) if path else None

    def output_cfg(self) -> OutputCfg | None:
        """Read the CFG of valid outputs: that of the categories that were found, or the one given."""
        path = self.file("prepared/output.cfg")
        return OutputCfg.read(path) if path else self.given_cfg()

    def decoding_cfg(self) -> OutputCfg | None:
        """Read the CFG that decoders keep to: the categories, with the members of records in any order."""
        path = self.file("prepared/decoding.cfg")
        return OutputCfg.read(path) if path else self.given_cfg()

    def preparation(self) -> "Preparation | None":
        """Read how raw text was prepared, if it was."""
        path = self.file("prepared/preparation.json")
        return read_preparation(path) if path else None

    def parser(self) -> "Parser":
        """Read the parser: the model, for texts as they were given."""
        from csl.preparing.parser import Parser  # noqa: PLC0415 — slow to import

        return Parser(self.model(), self.preparation())

    def confidence(self, parser: "Parser") -> "Confidence | None":
        """Read how confident to be of the parser's outputs, if the check of raw text said so of this model."""
        from csl.model.model import Model  # noqa: PLC0415 — slow to import
        from csl.preparing.confidence import Calibration, Confidence, Evidence  # noqa: PLC0415

        check, path = self.record.stages.get("check"), self.file(CONFIDENCE)
        if path is None or not check or check.figures.get("model") != self.checksums.get("model.npz"):
            return None
        phrases = Model.load(self.needed(CONFIDENCE_PHRASES, "csl augment --no-resume"))
        return Confidence(Evidence(parser, phrases, self.training()), Calibration.load(path))

    def checked_phrases(self, seed: int) -> "Model | None":
        """Read the grammar of phrases that the check learnt from all examples, if it did so with this seed."""
        from csl.model.model import Model  # noqa: PLC0415 — slow to import

        check = self.record.stages.get("check")
        is_this = check and check.figures.get("phrases") == {"seed": seed, "of_all": True}
        path = self.file(CONFIDENCE_PHRASES) if is_this else None
        return Model.load(path) if path else None

    def grammar(self) -> Grammar:
        """Read the grammar."""
        self.file(GRAMMAR)
        return read_grammar(grammar_file(self.path))

    def model(self) -> "Model":
        """Read the model."""
        from csl.model.model import Model  # noqa: PLC0415 — slow to import

        path = self.needed("model.npz", "csl fit")
        model = Model.load(path)
        if model.grammar != self.grammar():
            raise InputError("fitted to another grammar than grammar.txt; fit again with `csl fit`", path)
        return model

    def phrases(self) -> "Model | None":
        """Read the model that synthetic pairs of raw text were drawn from, if there are any."""
        from csl.model.model import Model  # noqa: PLC0415 — slow to import

        path = self.file("phrases.npz")
        return Model.load(path) if path else None

    def samples(self) -> list[Example]:
        """Read the synthetic pairs; there may be none."""
        path = self.needed("samples.tsv", "csl sample")
        return list(read_examples(path)) if path.stat().st_size else []

    def licence(self) -> str | None:
        """Find the licence of the training data in the card beside it."""
        try:
            return str(read_json(self.path / "data" / "card.json")["licence"] or "") or None
        except (InputError, ValueError, KeyError, TypeError):
            return None  # not known: cards say null

    # what stages write

    def checkpoint(self, name: str, key: str, metrics: str) -> Checkpoint:
        """Give the checkpoint of a stage, and the file of its metrics."""
        path, lines = f"{CHECKPOINTS}/{name}.npz", f"metrics/{metrics}.jsonl"
        return Checkpoint(self.own(path), key, self.own(lines))

    def start(self, stage: str, artefacts: Iterable[str], *, resume: bool = True, inputs: Collection[str] = ()) -> None:
        """Make room for a stage: remove what it made before, as the record has it; refuse any other file in its place.

        What a stopped stage left stays for it to resume, unless `resume` is off. `inputs` are artefacts that it reads.
        """
        done, stopped = self.record.stages.get(stage), stage in self.record.started
        if done:
            self._remove(name for name in done.files if name not in inputs)
        for name in artefacts:
            path = self.own(name.rstrip("/"))
            if name.endswith("/"):
                _remove_empty_folders(path)
            if path.exists() and not stopped and name not in inputs:
                raise InputError(f"{name!r} was not made by this run; move it, or choose another folder", self.path)
        if not resume:
            self._remove_checkpoints(stage)
        others = {name: done for name, done in self.record.stages.items() if name != stage}
        started = (*(name for name in self.record.started if name != stage), stage)
        self._write(replace(self.record, stages=others, started=started))

    def _remove(self, names: Iterable[str]) -> None:
        """Remove files that a stage made."""
        paths = [self.own(name) for name in names]
        if folder := next((path for path in paths if path.is_dir()), None):
            raise InputError("a folder where a file of the run was; move it, or choose another folder", folder)
        for path in paths:
            path.unlink(missing_ok=True)

    def begin(self, recipe: Recipe, settings: Mapping[str, object]) -> None:
        """Make the folder that of a run, before the first stage."""
        if not self.is_run and (strange := next((n for n in (RECIPE, CHECKPOINTS) if (self.path / n).exists()), None)):
            raise InputError(f"{strange!r} was not made by a run; move it, or choose another folder", self.path)
        shown = {key: str(value) if value == float("inf") else value for key, value in settings.items()}
        self._write(replace(self.record, recipe=recipe.name, title=recipe.title, seed=recipe.fit.seed, settings=shown))
        write_text(self.own(RECIPE), recipe.to_toml())
        for stage in self.record.stages:  # one that was killed when it was complete may have left some
            self._remove_checkpoints(stage)

    def add(self, stage: str, done: Done) -> None:
        """Record a complete stage."""
        started = tuple(name for name in self.record.started if name != stage)
        self._write(replace(self.record, stages={**self.record.stages, stage: done}, started=started))
        self._remove_checkpoints(stage)

    def _remove_checkpoints(self, stage: str) -> None:
        folder = self.own(CHECKPOINTS)
        for path in (*folder.glob(f"{stage}.npz"), *folder.glob(f"{stage}-*.npz")):
            path.unlink()
        _remove_empty_folders(folder)

    def drop_outdated(self, stages: Collection[str]) -> None:
        """Remove what these stages made: they were done with other options, or on other files."""
        for stage in [name for name in self.record.stages if name in stages]:
            self._remove(self.record.stages[stage].files)
            others = {name: done for name, done in self.record.stages.items() if name != stage}
            self._write(replace(self.record, stages=others))

    def _write(self, record: Record) -> None:
        write_json(self.own(RECORD), {"csl": __version__, **asdict(record), "versions": versions()})
        self.__dict__["record"] = record

    def describe(self, recipe: Recipe, contents: Mapping[str, str]) -> None:
        """Write a page that says what is what, unless the user has one of that name."""
        path = self.own(README)
        if path.exists() and not path.read_text(encoding="utf-8", errors="replace").startswith(MARK):
            return
        lines = [MARK, f"# {recipe.title or self.path.name}", "", f"Recipe {recipe.name}, seed {self.record.seed}."]
        lines += [f"`{key}` = {value}" for key, value in self.record.settings.items()]
        lines += ["", "| file | what |", "| --- | --- |"]
        lines += [f"| `{name}` | {what} |" for name, what in contents.items() if (self.path / name).exists()]
        write_text(path, "\n".join(lines) + "\n")


def _remove_empty_folders(folder: Path) -> None:
    """Remove a folder and those in it, as far as they are empty."""
    for path in (*sorted((p for p in folder.rglob("*") if p.is_dir()), reverse=True), folder):
        with suppress(OSError):  # not empty, or not there
            path.rmdir()


def files_of(folder: Path, artefacts: Iterable[str]) -> Iterator[str]:
    """List the files that artefacts, files or folders with a slash at the end, came to."""
    for name in artefacts:
        path = folder / name
        if name.endswith("/"):
            yield from sorted(p.relative_to(folder).as_posix() for p in path.rglob("*") if p.is_file())
        elif path.is_file():
            yield name


@cache
def versions() -> dict[str, str]:
    """Give the versions of Python and of the libraries that results may depend on."""
    found = {"python": platform.python_version()}
    for name in VERSIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def run_of(model: Path) -> Path | None:
    """Find the run that a model was trained in; `model` is the run folder or a folder or file inside."""
    folders = [model, *model.absolute().parents][:3]
    return next((folder for folder in folders if (folder / RECORD).is_file()), None)


def read_preparation(path: Path) -> "Preparation":
    """Read how raw text was prepared."""
    from csl.preparing.preparation import Preparation  # noqa: PLC0415 — slow to import

    try:
        return Preparation.from_json(read_json(path))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError("not a preparation that csl wrote; redo the run with --no-resume", path) from error


def preparation_of(model: Path) -> "Preparation | None":
    """Read how the raw text was prepared that a model's synthetic pairs are from, if it was."""
    path = _first(model, "prepared/preparation.json", PREPARATION)
    return read_preparation(path) if path else None


def output_cfg_of(model: Path) -> Path | None:
    """Find what the run of a model knows of valid outputs: an output CFG, or a Lark grammar of raw text."""
    return _first(model, "prepared/decoding.lark", DECODING, "data/output.cfg")


def _first(model: Path, *names: str) -> Path | None:
    """Find the first of these files that the run of a model has."""
    run = run_of(model)
    return next((run / name for name in names if (run / name).is_file()), None) if run else None
