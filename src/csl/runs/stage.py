"""What a stage is, and how stages are carried out in a run folder.

A stage has a key: a hash of its options and of the contents of all files that it reads. A stage that is complete with
the same key is not repeated; one that was stopped resumes; one that is complete with another key is replaced or, where
that would lose much, refused. A new stage is one file in `csl.runs.stages`, and one line in its list.
"""

import hashlib
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from csl import __version__
from csl.engine import ONE_THREAD, Threads
from csl.errors import InputError
from csl.files import hash_file
from csl.lock import folder_lock
from csl.log import Log
from csl.runs.ahead import FIRST, Ahead
from csl.runs.cache import Cache
from csl.runs.folder import GRAMMAR, RECORD, Done, Figures, RunFolder, files_of
from csl.runs.recipe import Recipe
from csl.seq2seq.predictions import Prediction

log = Log("run")


@dataclass(frozen=True)
class Work:
    """What a stage works with."""

    folder: RunFolder
    recipe: Recipe
    key: str = ""
    engine: Threads = ONE_THREAD
    device: str = "auto"  # of networks
    source: Path | None = None  # original files of benchmark data sets


class Stage(ABC):
    """A step of a run: its name, what it reads, its options and artefacts, how it runs, how it is summed up."""

    name: str
    reads: Sequence[str] = ()  # artefacts that it needs; a name with a slash at the end stands for all files below
    may_read: Sequence[str] = ()  # artefacts that it uses where they are there
    artefacts: Mapping[str, str]  # file, or folder with a slash at the end → what it is
    keeps: bool = False  # a complete result is not replaced by one of other options unless the user says so
    system: str = ""  # the name of the trained parser that the stage makes, if it does
    label: str = ""  # its name in tables
    scores: bool = False  # whether its predictions have log p(output | input)
    group: str = ""  # what `csl run --until` calls several stages by

    def needs(self, recipe: Recipe) -> Sequence[str]:
        """List the artefacts that the stage needs with these options."""
        return self.reads

    def options(self, work: Work) -> Any:
        """Give all that the result depends on, beside the files that are read, as JSON."""
        return None

    def applies(self, recipe: Recipe) -> bool:
        """Whether the recipe asks for this stage."""
        return True

    def check_installed(self) -> None:  # noqa: B027 — most stages need no more than the base install
        """Refuse, before anything is done, if a library that the stage needs is missing."""

    @abstractmethod
    def run(self, work: Work) -> Figures:
        """Do the work, and return what was found."""

    @abstractmethod
    def summary(self, figures: Figures) -> str:
        """Say what was found, in a few words."""

    def predict(self, work: Work, inputs: Sequence[str]) -> list[Prediction]:
        """Give the outputs of the system that the stage made; empty where it has none."""
        raise NotImplementedError


@dataclass
class Run:
    """Stages in a run folder, one after the other.

    With `replace`, complete results of other options are replaced without asking. With a cache, stages are shared with
    other runs. Of several processes that train together only the `main` one writes; `wait` lets it wait for the others.
    """

    work: Work
    settings: Mapping[str, object] = field(default_factory=dict)
    resume: bool = True
    replace: bool = False
    cache: Cache | None = None
    main: bool = True
    wait: Callable[[], None] = lambda: None
    ahead: Ahead = field(default_factory=Ahead)
    _names: list[str] = field(default_factory=list)

    @property
    def folder(self) -> RunFolder:
        """The folder of the run."""
        return self.work.folder

    def do(self, stages: Iterable[Stage]) -> dict[str, Figures]:
        """Carry out the stages that the recipe asks for; return what each found."""
        stages = [stage for stage in stages if stage.applies(self.work.recipe)]
        if not self.main:
            return {stage.name: self._do(stage) for stage in stages}
        with folder_lock(self.folder.path):
            if self.resume:
                self.folder.file(GRAMMAR)  # refuses one that was edited: that work would be lost
            self._protect_inputs(stages)
            for stage in stages:
                self.refuse_other(stage)
            self.folder.begin(self.work.recipe, self.settings)
            self._names = [stage.name for stage in stages]
            try:
                return {stage.name: self._do(stage) for stage in stages}
            finally:
                self.ahead.end()

    def adopt(self, stage: Stage) -> bool:
        """Take a complete stage from the folder or the cache; tell whether there is one."""
        if not self.ready(stage):
            return False
        if self.resume and self.is_current(stage):
            return True
        with folder_lock(self.folder.path):
            return self._from_cache(stage, self.key(stage)) is not None

    def is_current(self, stage: Stage) -> bool:
        """Whether the folder has the result of a stage for these options and files."""
        done = self.folder.record.stages.get(stage.name)
        return bool(done and done.key == self.key(stage) and not self.folder.damaged(done))

    def ready(self, stage: Stage) -> bool:
        """Whether all that a stage needs is there."""
        have = self.folder.checksums
        return all(any(_matches(name, file) for file in have) for name in stage.needs(self.work.recipe))

    def key(self, stage: Stage) -> str:
        """Hash all that the result of a stage depends on."""
        wanted = (*stage.needs(self.work.recipe), *stage.may_read)
        files = {
            file: checksum
            for file, checksum in self.folder.checksums.items()
            if any(_matches(name, file) for name in wanted) and file not in stage.artefacts
        }
        return hash_of([__version__, stage.name, stage.options(self.work), files])

    def status(self, stage: Stage) -> str:
        """Say what would be done: for a dry run."""
        if not self.ready(stage):
            return "would run, after the stages that it needs"
        if self.resume and self.is_current(stage):
            return f"complete ({self._summary(stage, self.folder.record.stages[stage.name])})"
        if self.resume and self.cache and (found := self.cache.find(stage.name, self.key(stage))):
            return f"cached ({self._summary(stage, found)})"
        return "would run"

    def _summary(self, stage: Stage, done: Done) -> str:
        """Sum up a stage that was done before, whose figures are from a file."""
        try:
            return stage.summary(done.figures)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            path = self.folder.path / RECORD
            raise InputError(f"the figures of {stage.name} are damaged; redo it with --no-resume", path) from error

    def _do(self, stage: Stage) -> Figures:
        key, done = self.key(stage), self.folder.record.stages.get(stage.name)
        self.wait()
        if self.resume and done and done.key == key:
            damaged = self.folder.damaged(done)
            if damaged is None:
                log.info(f"{stage.name}: already complete ({self._summary(stage, done)}); use --no-resume to redo it")
                return done.figures
            log.warning(f"{damaged}: damaged or missing; {stage.name} is repeated")
        if not self.main:
            self.wait()
            return stage.run(self._with_key(key))
        if not self.cache:
            return self._work(stage, key)
        with self.cache.lock(stage.name, key):
            found = self._from_cache(stage, key)
            return found if found is not None else self._work(stage, key)

    def _work(self, stage: Stage, key: str) -> Figures:
        missing = next((n for n in stage.needs(self.work.recipe) if not self._has(n)), None)
        if missing:
            raise InputError(f"no {missing} in this folder, which {stage.name} needs", self.folder.path)
        self.folder.start(stage.name, stage.artefacts, resume=self.resume, inputs=self._own_inputs())
        self.wait()  # others may read the checkpoints only now
        start = time.perf_counter()
        if stage.name == FIRST:
            self.ahead.begin(self._names, sum(len(e.source) + len(e.target) for e in self.folder.training()))
        self.ahead.wait_for(stage.name)
        figures = stage.run(self._with_key(key))
        seconds = round(time.perf_counter() - start, 3)
        files = {name: hash_file(self.folder.path / name) for name in files_of(self.folder.path, stage.artefacts)}
        done = Done(key, seconds, stage.options(self.work), figures, files)
        self.folder.add(stage.name, done)
        if self.cache:
            self.cache.keep(stage.name, done, self.folder.path)
        log.info(f"{stage.name}: {stage.summary(figures)}, {seconds:.1f} s")
        return figures

    def _own_inputs(self) -> list[str]:
        """List the artefacts that the recipe names as inputs, as one that was read from the folder does."""
        unlabelled, own = self.work.recipe.fit.unlabelled, self.folder.path / "unlabelled.txt"
        return [own.name] if unlabelled and own.exists() and own.samefile(unlabelled) else []

    def _has(self, name: str) -> bool:
        return self.folder.file(name) is not None  # one that was edited is refused before anything is removed

    def _from_cache(self, stage: Stage, key: str) -> Figures | None:
        found = self.cache.find(stage.name, key) if self.cache else None
        if found is None or self.cache is None:
            return None
        self.folder.start(stage.name, stage.artefacts)
        self.cache.link(stage.name, found, self.folder.path)
        self.folder.add(stage.name, found)
        log.info(f"{stage.name}: cached ({self._summary(stage, found)})")
        return found.figures

    def _with_key(self, key: str) -> Work:
        work = self.work
        return Work(work.folder, work.recipe, key, work.engine, work.device, work.source)

    def _protect_inputs(self, stages: Sequence[Stage]) -> None:
        """Refuse to read what would be replaced, under whatever name."""
        root, recipe = self.folder.path, self.work.recipe
        own = [root / name for name in ("run.json", "recipe.toml")]
        for stage in stages:
            done = self.folder.record.stages.get(stage.name)
            own += [root / name for name in (*stage.artefacts, *(done.files if done else ()))]
        places = {path.resolve() for path in own}
        files = [path for path in own if path.is_file()]
        inputs = [path for paths in recipe.data.files.values() for path in paths]
        for path in (*inputs, *map(Path, filter(None, (recipe.train.model, recipe.nqg.encoder)))):
            inside = {path.resolve(), *path.resolve().parents} & places
            if path.exists() and (inside or any(path.samefile(file) for file in files)):
                raise InputError("is read, and would be overwritten; choose another output path", path)

    def refuse_other(self, stage: Stage) -> None:
        """Refuse a folder that has another result of a stage, and say what differs."""
        new = _flat(stage.options(self.work))  # a file that is missing is named before anything is written
        done = self.folder.record.stages.get(stage.name)
        if not (done and stage.keeps and self.resume) or self.replace or done.key == self.key(stage):
            return
        old = _flat(done.options)
        chosen = done.figures.get("config", {}) | old  # what auto chose, too
        plain = (int, float, bool)
        differ = [
            f"{key} = {chosen[key]}" if isinstance(chosen.get(key), plain) else f"another {key}"
            for key in new | old
            if old.get(key) != new.get(key)
        ] or ["made from other data"]
        raise InputError(
            f"has another result of {stage.name} ({', '.join(differ[:5])}); choose another folder, or --no-resume",
            self.folder.path,
        )


def _matches(name: str, file: str) -> bool:
    return file.startswith(name) if name.endswith("/") else file == name


def _flat(options: Any) -> dict[str, Any]:
    return options if isinstance(options, dict) else {"options": options}


def hash_of(value: object) -> str:
    """Hash a value that JSON can have."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
