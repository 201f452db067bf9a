"""Experiments: runs of a recipe, with settings and seeds, in folders RUNS/<recipe>/<settings>/seed-<n>.

Runs share the results of stages through RUNS/.cache.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from csl.engine import ONE_THREAD, Threads
from csl.errors import InputError
from csl.experiments.cluster import call_each
from csl.log import Log
from csl.runs.cache import Cache
from csl.runs.folder import RECORD, RunFolder
from csl.runs.recipe import DEV, Recipe
from csl.runs.stage import Run, Stage, Work, hash_of
from csl.runs.stages.registry import CONTENTS, DATA, STAGES, until

log = Log("experiment")
CACHE = ".cache"


@dataclass(frozen=True)
class Experiment:
    """Where and how runs are done."""

    root: Path
    until: str = "report"
    train: bool = False  # sequence-to-sequence models too
    source: Path | None = None
    device: str = "auto"
    engine: Threads = ONE_THREAD
    resume: bool = True

    @cached_property
    def _cache(self) -> Cache:
        return Cache(self.root / CACHE, fresh=not self.resume)

    def wanted(self, recipe: Recipe) -> list[Stage]:
        """List the stages to do; training only if it is asked for."""
        asked = self.train or self.until == "train"
        return [stage for stage in until(self.until) if stage.applies(recipe) and (asked or stage.group != "train")]

    def run(self, recipe: Recipe, settings: Mapping[str, object], seed: int) -> Path:
        """Do what is wanted and not there yet; return the run folder.

        What other runs have made is put into the run folder even if it was not asked for.
        """
        run, wanted = self._open(recipe, settings, seed), self.wanted(recipe)
        for stage in (stage for stage in STAGES if stage.applies(recipe)):
            if stage in wanted:
                run.do([stage])
            elif not run.adopt(stage) and stage.group == "train" and stage.system == "t5" and self.until == "report":
                log.info("train: left out; --train does it, which takes a GPU at real sizes")
        run.folder.drop_outdated({stage.name for stage in STAGES if not run.is_current(stage)})
        run.folder.describe(recipe, CONTENTS)
        return run.folder.path

    def plan(self, recipe: Recipe, settings: Mapping[str, object], seed: int) -> list[tuple[str, str]]:
        """Say for each wanted stage what would be done."""
        run = self._open(recipe, settings, seed)
        return [(stage.name, run.status(stage)) for stage in self.wanted(recipe)]

    def _open(self, recipe: Recipe, settings: Mapping[str, object], seed: int) -> Run:
        folder = RunFolder(run_folder(self.root, recipe, settings, seed))
        work = Work(folder, recipe.seeded(seed), engine=self.engine, device=self.device, source=self.source)
        return Run(work, settings, resume=self.resume, replace=True, cache=self._cache)

    def lacks_dev(self, recipe: Recipe, settings: Mapping[str, object], seed: int) -> bool:
        """Whether a recipe labels the inputs of a dev set that its data does not have."""
        if recipe.fit.unlabelled != DEV:
            return False
        return not self._open(recipe, settings, seed).do([DATA])["data"]["dev"]


def run_all(
    experiment: Experiment,
    plan: Sequence[tuple[Recipe, Mapping[str, object]]],
    seeds: Sequence[int],
    title: Callable[[Recipe, Mapping[str, object], int], None] = lambda *_: None,
) -> dict[str, list[Path]]:
    """Do a run for each recipe and seed; return the run folders, by settings."""
    folders: dict[str, list[Path]] = {}
    several = len({recipe.name for recipe, _ in plan}) > 1
    for recipe, settings in plan:
        name = _name(recipe, settings, several)
        if len(plan) > 1 and experiment.lacks_dev(recipe, settings, seeds[0]):
            log.info(f"{name}: left out, the data has no dev set")
            continue
        for seed in seeds:
            title(recipe, settings, seed)
            folders.setdefault(name, []).append(experiment.run(recipe, settings, seed))
            log.info(f"run folder: {folders[name][-1]}")
    return folders


def run_on_ray(
    experiment: Experiment,
    plan: Sequence[tuple[Recipe, Mapping[str, object]]],
    seeds: Sequence[int],
    address: str | None,
    workers: int,
) -> dict[str, list[Path]]:
    """Do whole runs side by side on the workers of a Ray cluster that share a file system; return the run folders."""
    kept = [(r, s) for r, s in plan if len(plan) == 1 or not experiment.lacks_dev(r, s, seeds[0])]
    runs = [(recipe, settings, seed) for recipe, settings in kept for seed in seeds]
    several = len({recipe.name for recipe, _ in plan}) > 1
    folders: dict[str, list[Path]] = {}
    for (recipe, settings, _), folder in zip(runs, call_each(experiment.run, runs, address, workers), strict=True):
        folders.setdefault(_name(recipe, settings, several), []).append(folder)
        log.info(f"run folder: {folder}")
    return folders


def _name(recipe: Recipe, settings: Mapping[str, object], several: bool) -> str:
    """Name runs by what was changed, and by the recipe if there are several or nothing was changed."""
    changes = [f"{key}={value}" for key, value in settings.items()]
    return ", ".join([recipe.name, *changes] if several or not changes else changes)


def run_folder(root: Path, recipe: Recipe, settings: Mapping[str, object], seed: int) -> Path:
    """Name the folder of a run."""
    changes = ",".join(f"{key}={_shown(value)}" for key, value in sorted(settings.items()))
    if len(changes) > 100:
        changes = f"{changes[:80]}-{hash_of(changes)[:8]}"
    return root / recipe.name / changes / f"seed-{seed}"


def _shown(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return re.sub(r"[^\w.+-]+", "_", text)


def find_runs(root: Path) -> Iterator[Path]:
    """Find the run folders below a folder, or the folder itself."""
    if not root.is_dir():
        raise InputError("no such folder; `csl run RECIPE` makes runs", root)
    if (root / RECORD).exists():
        yield root
        return
    for path in sorted(root.iterdir(), key=_by_numbers):
        if path.is_dir() and not path.name.startswith("."):
            yield from find_runs(path)


def _by_numbers(path: Path) -> list[tuple[int, str]]:
    """Order names as people do: seed-9 comes before seed-10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", path.name)]
