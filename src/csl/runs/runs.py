"""Run folders of experiments: RUNS/<recipe>/seed-<n>, with <key>=<value> between if options were changed.

A run folder holds links to the files of its stages, which are kept in RUNS/.cache; run.json, what was done and found;
recipe.toml, all options; and README.md, what is what. As files are only ever replaced, no link changes another run.
"""

import importlib.metadata
import platform
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from csl import __version__
from csl.files import link, make_folder, read_json, read_lines, write_json, write_text
from csl.errors import InputError
from csl.runs.cache import Done, hash_of
from csl.runs.recipe import Recipe
from csl.runs.stages import NQG, STAGES, SYSTEMS, TRAIN

CACHE = ".cache"
RUN = "run.json"
VERSIONS = ("numpy", "numba", "pydantic", "torch", "transformers")
CONTENTS = {
    "recipe.toml": "all options; `csl run recipe.toml --seed N` makes the run of seed N again",
    RUN: "what was done: hashes, seconds and figures of the stages, and versions",
    "data": "the examples, with seed rules and output CFG if there are any; card.json says where they come from",
    "grammar.txt": "the induced grammar: `csl grammar show`, `csl grammar explain`",
    "seeds.txt": "seed rules of the grammar",
    "output.cfg": "the CFG of valid outputs",
    "config.json": "options of induction",
    "metrics.jsonl": "induction and fit, a line a step",
    "unlabelled.txt": "inputs that the model labelled itself",
    "model.npz": "the model: `csl parse`, `csl evaluate`, `csl sample`",
    "forests.npz": "derivations of the training pairs, for another fit",
    "samples.tsv": "synthetic pairs",
    "samples.card.json": "how they were drawn",
    "plain": "the model trained on the original pairs: `csl predict`",
    "augmented": "the model trained on original and synthetic pairs: `csl predict`",
    "predecessor": "NQG, its grammar and its model: `csl nqg parse`, `csl nqg evaluate`",
    "span_label": "NQG's model on the grammar of the run: the same commands",
    "predictions": "outputs for the test set, a file for each system; empty where it has none",
    "report.html": "the report: open it in a browser",
}


def run_folder(root: Path, recipe: Recipe, settings: Mapping[str, object], seed: int) -> Path:
    """Name the folder of a run."""
    changes = ",".join(f"{key}={_shown(value)}" for key, value in sorted(settings.items()))
    if len(changes) > 100:
        changes = f"{changes[:80]}-{hash_of(changes)[:8]}"
    return root / recipe.name / changes / f"seed-{seed}"


def _shown(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return re.sub(r"[^\w.+-]+", "_", text)


def write_run(
    folder: Path, recipe: Recipe, settings: Mapping[str, object], seed: int, done: Mapping[str, Done]
) -> None:
    """Link the files of stages into a run folder, remove those of other stages, and say what is what."""
    files = {name: stage.folder / name for stage in done.values() for name in stage.files}
    make_folder(folder)
    _remove_others(folder, set(files))
    for name, path in files.items():
        link(path, folder / name)
    write_text(folder / "recipe.toml", recipe.to_toml())
    stages = {
        name: {"hash": stage.key, "seconds": stage.seconds, "figures": stage.figures}
        for name, stage in done.items()
        if name not in SYSTEMS
    }
    for name, parts in (("train", TRAIN), ("nqg", NQG)):
        if fitted := [done[part] for part in parts if part in done]:
            stages[name] = {
                "hash": hash_of([part.key for part in fitted]),
                "seconds": sum(part.seconds for part in fitted),
                "figures": {SYSTEMS[part]: done[part].figures for part in parts if part in done},
            }
    write_json(
        folder / RUN,
        {
            "csl": __version__, "recipe": recipe.name, "title": recipe.title, "seed": seed,
            "settings": {key: str(value) if value == float("inf") else value for key, value in settings.items()},
            "stages": {name: stages[name] for name in STAGES if name in stages}, "versions": _versions(),
        },
    )  # fmt: skip
    write_text(folder / "README.md", _readme(folder, recipe, settings, seed))


def _remove_others(folder: Path, files: set[str]) -> None:
    """Remove what stages of another run have left in a folder."""
    for name in CONTENTS:
        path = folder / name
        if path.is_dir() and not any(file.startswith(f"{name}/") for file in files):
            shutil.rmtree(path)
        for file in path.rglob("*") if path.is_dir() else [path]:
            if file.is_file() and file.relative_to(folder).as_posix() not in files:
                file.unlink()


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in VERSIONS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _readme(folder: Path, recipe: Recipe, settings: Mapping[str, object], seed: int) -> str:
    """Say what is in a run folder."""
    changes = "".join(f", {key} = {_shown(value)}" for key, value in settings.items())
    lines = [
        f"# {recipe.title}",
        "",
        f"Recipe {recipe.name}{changes}, seed {seed}.",
        "",
        "| file | what |",
        "| --- | --- |",
    ]
    for name, what in CONTENTS.items():
        if (folder / name).exists():
            lines.append(f"| `{name}{'/' if (folder / name).is_dir() else ''}` | {what} |")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class RunRecord:
    """What is known of a run folder; `about` is its run.json, empty for folders of `csl induce` and its like."""

    folder: Path
    about: dict[str, Any]
    rules: int | None

    @property
    def stages(self) -> dict[str, Any]:
        """The stages that were done."""
        return self.about.get("stages", {})

    def figure(self, stage: str, *path: str) -> Any:
        """Look a figure up; None if there is none."""
        found: object = self.stages
        for key in (stage, "figures", *path):
            found = found.get(key) if isinstance(found, dict) else None
        return found if isinstance(found, int | float) else None

    def share(self, system: str, count: str = "right") -> float | None:
        """Give the share of the test set that a system has right, or has `answered`."""
        part, whole = (self.figure("evaluate", "systems", system, key) for key in (count, "examples"))
        return None if part is None or whole is None else part / max(1, whole)


def read_record(folder: Path) -> RunRecord:
    """Read the run.json of a run folder, or count the rules of one that has none."""
    if not (folder / RUN).exists():
        return RunRecord(folder, {}, sum(bool(line.strip()) for _, line in read_lines(folder / "grammar.txt")))
    try:
        record = RunRecord(folder, read_json(folder / RUN), None)
        if not isinstance(record.about.get("title", ""), str) or not all(
            isinstance(stage, dict) for stage in record.stages.values()
        ):
            raise TypeError
        return replace(record, rules=record.figure("induce", "rules"))
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError("not the run.json of a run; the same `csl run` writes it anew", folder / RUN) from error


def find_runs(root: Path) -> Iterator[Path]:
    """Find the run folders below a folder, or the folder itself."""
    if not root.is_dir():
        raise InputError("no such folder; `csl run RECIPE` makes runs", root)
    if (root / RUN).exists() or (root / "grammar.txt").exists():
        yield root
        return
    for path in sorted(root.iterdir(), key=_by_numbers):
        if path.is_dir() and not path.name.startswith("."):
            yield from find_runs(path)


def _by_numbers(path: Path) -> list[tuple[int, str]]:
    """Order names as people do: seed-9 comes before seed-10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", path.name)]
