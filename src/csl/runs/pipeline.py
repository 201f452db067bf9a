"""One run of an experiment: its stages in order, each taken from the cache or done, and put into a run folder."""

from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from csl.lock import folder_lock
from csl.engine.engine import Engine
from csl.engine.threads import ONE_THREAD
from csl.runs.cache import Cache, Figures
from csl.runs.recipe import Recipe
from csl.runs.runs import CACHE, run_folder, write_run
from csl.runs.stages import NEEDS, NQG, STAGES, TRAIN, USES, Stages

Say = Callable[[str], None]


def wanted_stages(until: str = STAGES[-1], train: bool = False) -> set[str]:
    """Give the stages to do, up to one; training only if it is asked for, and NQG if the recipe does."""
    names = STAGES[: STAGES.index(until) + 1]
    training = TRAIN if until == "train" or ("train" in names and train) else ()
    return {*names, *training, *(NQG if "nqg" in names else ())} - {"train", "nqg"}


@dataclass(frozen=True)
class Pipeline:
    """Where and how runs are done: the folder of all runs, the stages to do, and who hears of it."""

    root: Path
    wanted: Collection[str]
    source: Path | None = None
    device: str = "auto"
    engine: Engine = ONE_THREAD
    dry: bool = False
    anew: bool = False
    say: Say = lambda _: None
    progress: Say = lambda _: None

    @cached_property
    def _cache(self) -> Cache:
        return Cache(self.root / CACHE, anew=self.anew)

    def run(self, recipe: Recipe, settings: Mapping[str, object], seed: int) -> Path:
        """Do what is wanted and not there yet; return the run folder. A dry run only tells.

        What is there is put into the run folder even if it was not asked for, or if a later stage fails.
        """
        folder = run_folder(self.root, recipe, settings, seed)
        with nullcontext() if self.dry else folder_lock(folder):
            self._run(folder, recipe, settings, seed)
        return folder

    def _run(self, folder: Path, recipe: Recipe, settings: Mapping[str, object], seed: int) -> None:
        stages = Stages(
            recipe, settings, seed, folder, source=self.source, device=self.device, engine=self.engine,
            say=self.say, progress=self.progress,
        )  # fmt: skip
        try:
            for stage in (stage for stage in NEEDS if stage not in stages.left_out):
                used = (name for name in USES.get(stage, ()) if name in self.wanted and name not in stages.left_out)
                waits = [name for name in (*NEEDS[stage], *used) if name not in stages.done]
                if waits:
                    if self.dry and stage in self.wanted:
                        self.say(f"{stage}: would be done (after {waits[0]})")
                    continue
                if stage == "report" and not self.dry:  # it reads the run folder
                    write_run(folder, recipe, settings, seed, stages.done)
                self._one(stage, stages)
        finally:
            if stages.done and not self.dry:
                write_run(folder, recipe, settings, seed, stages.done)

    def has_dev(self, recipe: Recipe) -> bool:
        """Tell whether there is a dev set; a dry run takes it that there is, unless it knows better."""
        stages = Stages(recipe, {}, 0, self.root, source=self.source)
        replace(self, say=lambda _: None, wanted={"data"})._one("data", stages)
        return bool(stages.done["data"].figures["dev"]) if stages.done else True

    def _one(self, stage: str, stages: Stages) -> None:
        """Find a stage in the cache, or do it."""
        key = stages.key(stage)
        done, why = self._cache.find(stage, key)
        if done:
            self.say(f"{stage}: cached ({describe(stage, done.figures)})")
        elif stage not in self.wanted:
            if stage == TRAIN[0] and "evaluate" in self.wanted:
                self.say("train: left out; --train does it, which takes a GPU at real sizes")
            return
        elif self.dry:
            self.say(f"{stage}: would be done ({why})")
            return
        else:
            if why != "new":
                self.say(f"{stage}: {why}")
            done = self._cache.do(stage, key, lambda folder: stages.work(stage, folder))
            self.say(f"{stage}: {describe(stage, done.figures)}, {done.seconds:.1f} s")
        stages.done[stage] = done


def describe(stage: str, found: Figures) -> str:
    """Say what a stage found, in a few words."""
    match stage:
        case "data":
            return ", ".join(f"{number:,} {part}" for part, number in found.items() if number) + " examples"
        case "induce":
            return f"{found['rules']:,} rules, objective {found['objective_before']:,.0f} → {found['objective']:,.0f}"
        case "fit":
            labelled = f", {found['labelled']:,} inputs labelled" if "labelled" in found else ""
            return f"{found['states']:,} states, mean log p(x, y) {found['log_prob']:.2f}{labelled}"
        case "sample":
            return f"{found['pairs']:,} pairs, {found['distinct']:,} distinct, {found['new']:,} not in training"
        case "plain" | "augmented":
            return f"step {found['step']:,}" + (f", dev {found['dev']:.1%}" if found["dev"] is not None else "")
        case "predecessor" | "span_label":
            return f"{found['rules']:,} rules, mean log p(y | x) {found['log_prob']:.2f}"
        case "evaluate":
            names = {"csl": "CSL", "t5": "T5", "nqg": "NQG", "span_label": "SpanLabel", "nqg_t5": "NQG-T5"}
            shares = [
                f"{names.get(name, name)} {s['right'] / s['examples']:.1%}" for name, s in found["systems"].items()
            ]
            return ", ".join(shares) + " right" if shares else "no test set"
        case _:
            return f"report.html, {found['bytes'] / 1e6:.1f} MB"
