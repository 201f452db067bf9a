"""What a report reads from a run folder, as far as it is there: the only module here that knows the folder's files."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from csl.errors import InputError
from csl.examples import Example, read_examples
from csl.examples.formats import read_inputs, read_rows
from csl.examples.score import Score
from csl.files import parse_json, read_json, read_lines
from csl.grammar import Grammar, Rule
from csl.grammar.notation import read_rules
from csl.induction.config import InductionConfig
from csl.model.model import Model
from csl.options import changed
from csl.runs.folder import RunFolder
from csl.seq2seq.predictions import Predictions

TRAINED = {"t5": "plain", "augmented": "augmented"}  # systems with a training curve, and their stages
NUMBERS = {  # of a line of metrics, by stage
    "induce": ("partition", "step", "rules", "objective"), "fit": ("step", "train"), "refit": ("step", "train"),
    "plain": ("step", "loss"), "augmented": ("step", "loss"),
}  # fmt: skip
Metrics = list[dict[str, Any]]


@dataclass(frozen=True)
class RunData:
    """A run folder: its grammar, and the examples to look at. Without a file there are no examples."""

    run: RunFolder
    grammar: Grammar
    test: tuple[Example, ...]
    unlabelled: tuple[str, ...]

    @classmethod
    def read(cls, folder: Path, test: Path | None = None, unlabelled: Path | None = None) -> "RunData":
        """Read a run folder; `test` is data/test.tsv of the folder by default."""
        run = RunFolder.open(folder)
        return cls(
            run,
            run.grammar(),
            tuple(read_rows(test).examples() if test else run.examples("test")),
            tuple(read_inputs(unlabelled)) if unlabelled else (),
        )

    @cached_property
    def train(self) -> tuple[Example, ...]:
        """The training examples, as the grammar knows them."""
        return tuple(self.run.training())

    @cached_property
    def seed_rules(self) -> frozenset[Rule]:
        """The rules that were given to induction."""
        path = self.run.file("seed_rules.txt")
        return frozenset(read_rules(path)) if path else frozenset()

    @cached_property
    def model(self) -> Model | None:
        """The model, if the run has one."""
        return self.run.model() if self.run.file("model.npz") else None

    @cached_property
    def induction(self) -> InductionConfig:
        """The options of induction."""
        return changed(InductionConfig(), self._figures("induce").get("config", {}), self.folder / "run.json")

    @cached_property
    def samples(self) -> Sequence[Example]:
        """The samples, with the columns that their card names."""
        path = self.run.file("samples.tsv")
        card = _read_object(self.folder / "samples.card.json", columns=list)
        columns = [str(column) for column in card.get("columns", [])[2:]]
        return list(read_examples(path, columns=columns)) if path and path.stat().st_size else []

    def metrics(self, stage: str) -> Metrics:
        """Read the metrics of a stage."""
        path = self.folder / "metrics" / f"{stage}.jsonl"
        if not path.exists():
            return []
        try:
            lines = [parse_json(line) for _, line in read_lines(path)]
            for line in lines:
                numbers = [*(line[key] for key in NUMBERS[stage]), line.get("dev") or 0]
                if not all(isinstance(number, int | float) for number in numbers):
                    raise TypeError
            return lines
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise InputError("not metrics that csl writes; repeat the run", path) from error

    @property
    def labels(self) -> dict[str, str]:
        """The names of the systems that were evaluated, as people know them."""
        return {str(name): str(label) for name, label in self._figures("evaluate").get("labels", {}).items()}

    @property
    def risk_coverage(self) -> dict[str, list[tuple[float, float]]]:
        """Of trained systems: coverage, and the share of wrong outputs, where only the most confident are given."""
        curves = self._figures("evaluate").get("risk_coverage", {})
        return {str(name): [(float(x), float(y)) for x, y in points] for name, points in curves.items()}

    @property
    def checks(self) -> list[tuple[str, Score]]:
        """How held-out inputs were parsed before pairs were drawn: all, and of raw text those with new templates."""
        found = self._figures("check")
        if not found:
            return []
        parts = {"held-out inputs": found, "held-out inputs with new templates": found["new"]}
        counted = [(name, Score(part["examples"], part["covered"], part["right"])) for name, part in parts.items()]
        return [(name, score) for name, score in counted if score.examples]

    @property
    def refused(self) -> str:
        """Why the check advised against synthetic pairs, if it did."""
        return str(self._figures("check").get("refused", ""))

    def predictions(self) -> tuple[dict[str, list[str]], list[str]]:
        """Read the outputs of each system; also name the systems whose predictions are for other inputs."""
        inputs = [example.source_text for example in self.test]
        found, other = {}, []
        for name in self.labels:
            path = self.run.file(f"predictions/{name}.tsv")
            if path is None:
                continue
            predictions = Predictions.read(path)
            try:
                predictions.check(inputs, "the test set")
                found[name] = predictions.outputs
            except InputError:
                other.append(name)
        return found, other

    @property
    def folder(self) -> Path:
        """The path of the run folder."""
        return self.run.path

    def _figures(self, stage: str) -> dict[str, Any]:
        done = self.run.record.stages.get(stage)
        return done.figures if done else {}

    @property
    def title(self) -> str:
        """The title of the recipe with settings and seed, or the name of the folder."""
        record = self.run.record
        if not record.title:
            return self.folder.resolve().name
        changes = [f"{key} = {value}" for key, value in record.settings.items()]
        return ", ".join([record.title, *changes, f"seed {record.seed}"])

    @property
    def versions(self) -> dict[str, str]:
        """The versions that the run was made with, as far as they are known."""
        found = _read_object(self.folder / "run.json", versions=dict)
        known = {"csl": found.get("csl"), **found.get("versions", {})}
        return {name: str(version) for name, version in known.items() if version}

    @property
    def recipe(self) -> str:
        """The text of the recipe, empty if there is none."""
        path = self.folder / "recipe.toml"
        return "\n".join(line for _, line in read_lines(path)) if path.exists() else ""

    @property
    def options(self) -> dict[str, Any]:
        """The options of all stages, and what they were applied to, without paths."""
        record = self.run.record
        known = {"recipe": record.recipe, "seed": record.seed, "settings": record.settings}
        found: dict[str, Any] = known if self.run.is_run else {}
        card = _read_object(self.folder / "data" / "card.json")
        found["data"] = {key: card[key] for key in card if key != "csl_version"}
        found["induction"] = self._figures("induce").get("config")
        found["fit"] = self._figures("fit").get("config")
        found["sampling"] = _read_object(self.folder / "samples.card.json").get("sampling")
        found |= {f"train, {name}": record.stages[name].options for name in TRAINED.values() if name in record.stages}
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
