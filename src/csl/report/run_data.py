"""What a report reads from a run folder, as far as it is there: the only module here that knows the folder's files."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from csl.arrays import load_arrays
from csl.errors import InputError
from csl.examples import Example, read_examples
from csl.examples.formats import read_inputs
from csl.files import parse_json, read_json, read_lines
from csl.grammar import Grammar, Rule
from csl.grammar.notation import read_rules
from csl.induction.config import InductionConfig
from csl.model.model import Model
from csl.options import changed
from csl.runs.fitting import REMEDY, STAGES, load_model, read_run, training_file
from csl.runs.sampling import card_path
from csl.seq2seq.predictions import Predictions

SYSTEMS = {  # those that may have predictions, as the summary names them
    "csl": "CSL", "t5": "sequence-to-sequence", "augmented": "with augmentation", "ensemble": "ensemble",
    "nqg": "NQG", "nqg_t5": "NQG-T5", "span_label": "NQG's model on this grammar",
}  # fmt: skip
TRAINED = {"t5": "plain", "augmented": "augmented"}  # systems with a training curve, and their folders
NUMBERS: dict[str | None, tuple[str, ...]] = {  # of a line of metrics, by its stage; training has no stage
    "induce": ("partition", "step", "rules", "objective"), "nqg-induce": ("step",),
    **dict.fromkeys(STAGES, ("step", "train")), None: ("step", "loss"),
}  # fmt: skip
Metrics = list[dict[str, Any]]


@dataclass(frozen=True)
class RunData:
    """A run folder: its grammar, and the examples to look at. Without a file there are no examples."""

    folder: Path
    grammar: Grammar
    test: tuple[Example, ...]
    unlabelled: tuple[tuple[str, ...], ...]

    @classmethod
    def read(cls, folder: Path, test: Path | None = None, unlabelled: Path | None = None) -> "RunData":
        """Read a run folder; `test` is data/test.tsv of the folder by default."""
        grammar, _ = read_run(folder)
        own = folder / "data" / "test.tsv"
        test = test or (own if own.exists() else None)
        return cls(
            folder,
            grammar,
            tuple(read_examples(test, columns=("category",))) if test else (),
            tuple(tuple(line.split()) for line in read_inputs(unlabelled)) if unlabelled else (),
        )

    @cached_property
    def train(self) -> tuple[Example, ...]:
        """The training examples; none if they are not known, or not here any more."""
        path = self.folder / "data" / "train.tsv"
        if not path.exists():
            try:
                path = training_file(self.folder)
            except InputError:
                return ()
        return tuple(read_examples(path))

    @cached_property
    def seed_rules(self) -> frozenset[Rule]:
        """The rules that were given to induction."""
        path = self.folder / "seeds.txt"
        return frozenset(read_rules(path)) if path.exists() else frozenset()

    @cached_property
    def model(self) -> Model | None:
        """The model, if the run has one."""
        return load_model(self.folder) if (self.folder / "model.npz").exists() else None

    @cached_property
    def induction(self) -> InductionConfig:
        """The options of induction."""
        return changed(InductionConfig(), self._config.get("induction", {}), self.folder / "config.json")

    @cached_property
    def samples(self) -> Sequence[Example]:
        """The samples, with the columns that their card names, from one file or several shards."""
        path = self.folder / "samples.tsv"
        card = _read_object(card_path(path), files=dict, columns=list)
        names = [*card.get("files", {})] or [path.name]
        if outside := [name for name in names if Path(name).name != name]:
            raise InputError(f"names the file {outside[0]!r}, which is not beside it", card_path(path))
        columns = [str(column) for column in card.get("columns", [])[2:]]
        found = [file for name in names if (file := path.with_name(name)).exists() and file.stat().st_size]
        return [example for file in found for example in read_examples(file, columns=columns)]

    def metrics(self, part: str = "") -> Metrics:
        """Read metrics.jsonl of the folder, or of a folder in it."""
        path = self.folder / part / "metrics.jsonl"
        if not path.exists():
            return []
        try:
            lines = [parse_json(line) for _, line in read_lines(path)]
            for line in lines:
                numbers = [*(line[key] for key in NUMBERS[line.get("stage")]), line.get("dev") or 0]
                if not all(isinstance(number, int | float) for number in numbers):
                    raise TypeError
            return lines
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise InputError("not metrics that csl writes; repeat the run", path) from error

    def predictions(self) -> tuple[dict[str, list[str]], list[str]]:
        """Read the outputs of each system; also name the systems whose predictions are for other inputs."""
        inputs = [example.source_text for example in self.test]
        found, other = {}, []
        for name in SYSTEMS:
            path = self.folder / "predictions" / f"{name}.tsv"
            if not path.exists():
                continue
            predictions = Predictions.read(path)
            try:
                predictions.check(inputs, "the test set")
                found[name] = predictions.outputs
            except InputError:
                other.append(name)
        return found, other

    @cached_property
    def _config(self) -> dict[str, Any]:
        return _read_object(self.folder / "config.json", induction=dict, train=str)

    @cached_property
    def _run(self) -> dict[str, Any]:
        return _read_object(self.folder / "run.json", title=str, settings=dict, versions=dict)

    @property
    def title(self) -> str:
        """The title of the recipe with settings and seed, or the name of the folder."""
        if "title" not in self._run:
            return self.folder.resolve().name
        changes = [f"{key} = {value}" for key, value in self._run.get("settings", {}).items()]
        return ", ".join([self._run["title"], *changes, f"seed {self._run.get('seed', 0)}"])

    @property
    def versions(self) -> dict[str, str]:
        """The versions that the run was made with, as far as they are known."""
        found = {"csl": self._run.get("csl", self._config.get("csl")), **self._run.get("versions", {})}
        return {name: str(version) for name, version in found.items() if version}

    @property
    def recipe(self) -> str:
        """The text of the recipe, empty if there is none."""
        path = self.folder / "recipe.toml"
        return "\n".join(line for _, line in read_lines(path)) if path.exists() else ""

    @property
    def options(self) -> dict[str, Any]:
        """The options of all stages, and what they were applied to, without paths."""
        found: dict[str, Any] = {key: self._run[key] for key in ("recipe", "seed", "settings") if key in self._run}
        card = _read_object(self.folder / "data" / "card.json")
        if "train" in self._config:
            found["data"] = {"train": Path(self._config["train"]).name, "examples": self._config.get("examples")}
        found["data"] = found.get("data", {}) | {key: card[key] for key in card if key != "csl_version"}
        found["induction"] = self._config.get("induction")
        if self.model:
            found["fit"] = load_arrays(self.folder / "model.npz", REMEDY)[1]["fit"]
        found["sampling"] = _read_object(self.folder / "samples.card.json").get("sampling")
        for part in TRAINED.values():
            found[f"train, {part}"] = _read_object(self.folder / part / "train.json").get("train")
        return {key: value for key, value in found.items() if value not in (None, {})}


def _read_object(path: Path, **kinds: type) -> dict[str, Any]:
    """Read a JSON object; a missing file is an empty one. The fields named must be of these kinds, if present."""
    if not path.exists():
        return {}
    try:
        found = read_json(path)
        if not isinstance(found, dict):
            raise TypeError("not a JSON object")
        for key, kind in kinds.items():
            if not isinstance(found.get(key, kind()), kind):
                raise TypeError(f"{key!r} is of the wrong type")
        return found
    except (ValueError, TypeError) as error:
        raise InputError(f"{error}; repeat the run", path) from error
