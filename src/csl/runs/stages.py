"""The stages of an experiment: data → induce → fit → sample → train → nqg → evaluate → report.

Each has a key, a hash of its options and of all that it reads, by which its result is kept (see `cache`). Of the data
only the files that a stage reads count, of other stages all. Training has two parts, with and without synthetic pairs,
so that models without them are shared by all ways to sample. NQG has two parts as well, its model on its own grammar
and on that of CSL; it is left out unless the recipe names an encoder.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from csl import __version__
from csl.baselines.geca import Geca, GecaConfig
from csl.baselines.nqg.config import NqgFitConfig, NqgInductionConfig
from csl.examples import Example, read_examples, split_tokens
from csl.examples.formats import read_inputs
from csl.files import hash_file, hash_folder, link, read_json, write_text
from csl.options import changed
from csl.examples.score import Score, groups, same_output, score
from csl.datasets.registry import FILES, data_set, read_seed_rules, write_task
from csl.datasets.task import Task
from csl.engine.engine import Engine
from csl.engine.threads import ONE_THREAD
from csl.errors import InputError
from csl.runs.cache import Done, Figures, hash_of
from csl.runs.fitting import fit_into, load_model, read_run
from csl.runs.fitting import result_of as fit_result
from csl.runs.geca import write_swaps
from csl.runs.nqg import fit_into as fit_nqg_into
from csl.runs.nqg import induce_into as induce_nqg_into
from csl.runs.nqg import load_model as load_nqg
from csl.runs.recipe import DEV, Recipe
from csl.runs.run import induce_into
from csl.runs.run import result_of as induction_result
from csl.runs.sampling import write_samples
from csl.grammar.notation import read_rules
from csl.grammar.output_cfg import OutputCfg
from csl.model.config import FitConfig
from csl.model.evaluate import evaluate
from csl.parsing.deriver import Deriver
from csl.sampling.config import SampleConfig
from csl.sampling.sampler import Sampler
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.predictions import ensemble

Say = Callable[[str], None]

PARTS = ("train", "dev", "test")
STAGES = ("data", "induce", "fit", "sample", "train", "nqg", "evaluate", "report")
TRAIN = ("plain", "augmented")  # the parts of stage train
NQG = ("predecessor", "span_label")  # those of nqg
SYSTEMS = {"plain": "t5", "augmented": "augmented", "predecessor": "nqg", "span_label": "span_label"}  # their models
NEEDS = {
    "data": (), "induce": ("data",), "fit": ("induce",), "sample": ("fit",), "plain": ("data",),
    "augmented": ("sample",), "predecessor": ("data",), "span_label": ("induce",), "evaluate": ("fit",),
    "report": ("sample", "evaluate"),
}  # fmt: skip
USES = {"evaluate": (*TRAIN, *NQG), "report": (*TRAIN, *NQG)}  # if they are there


class Stages:
    """The keys and the work of the stages of one run; those that are done are kept in `done`."""

    def __init__(
        self,
        recipe: Recipe,
        settings: Mapping[str, object],
        seed: int,
        run: Path,
        *,
        source: Path | None = None,
        device: str = "auto",
        engine: Engine = ONE_THREAD,
        say: Say = lambda _: None,
        progress: Say = lambda _: None,
    ) -> None:
        self._recipe, self._settings, self._seed, self._run = recipe, settings, seed, run
        self._source, self._device, self._engine = source, device, engine
        self._say, self._progress = say, progress
        self.done: dict[str, Done] = {}

    @property
    def left_out(self) -> Sequence[str]:
        """The stages that the recipe does not ask for."""
        return () if self._recipe.nqg.encoder else NQG

    def key(self, stage: str) -> str:
        """Hash all that the result of a stage depends on; what it needs must be done."""
        reads = [*NEEDS[stage], *(name for name in USES.get(stage, ()) if name in self.done)]
        before = {name: self.done[name].key for name in reads if name != "data"}
        checksums = self._card["sha256"] if "data" in self.done else {}
        files = {name: checksums[name] for name in self._data_files(stage) if name in checksums}
        return hash_of([__version__, stage, self._options(stage), files, before])

    def work(self, stage: str, folder: Path) -> Figures:
        """Do a stage in a folder; return what was found."""
        return {
            "data": self._data, "induce": self._induce, "fit": self._fit, "sample": self._sample,
            "plain": self._plain, "augmented": self._augmented, "predecessor": self._predecessor,
            "span_label": self._span_label, "evaluate": self._evaluate, "report": self._report,
        }[stage](folder)  # fmt: skip

    def _options(self, stage: str) -> object:
        recipe = self._recipe
        match stage:
            case "data":
                return self._originals()
            case "induce":
                return recipe.induction.model_dump()
            case "fit":
                unlabelled = recipe.fit.unlabelled
                inputs = hash_file(Path(unlabelled)) if unlabelled not in ("", DEV) else unlabelled
                return [self._fit_config.model_dump(), inputs, recipe.fit.ratio if inputs else None]
            case "sample":
                config = self._geca_config if recipe.sampling.method == "geca" else self._sample_config
                return [config.model_dump(), recipe.sampling.number]
            case "plain" | "augmented":
                return self._train_config(stage).model_dump() | _contents(recipe.train.model)
            case "predecessor" | "span_label":
                return [recipe.nqg.model_dump() | _contents(recipe.nqg.encoder), self._seed]
            case "report":
                return [recipe.title, self._settings, self._seed]
            case _:
                return None

    def _data_files(self, stage: str) -> Sequence[str]:
        match stage:
            case "induce":
                return "train.tsv", "seed_rules.txt", "output.cfg"
            case "predecessor":
                return "train.tsv", "output.cfg"
            case "fit":
                return ("dev.tsv",) if self._recipe.fit.unlabelled == DEV else ()
            case "plain" | "augmented":
                return "train.tsv", "dev.tsv"
            case "evaluate":
                return "dev.tsv", "test.tsv"
            case "report":
                return FILES
            case _:
                return ()

    # the options, with the seed of the run

    @property
    def _fit_config(self) -> FitConfig:
        return changed(self._recipe.fit.config, {"seed": self._seed})

    @property
    def _sample_config(self) -> SampleConfig:
        return changed(self._recipe.sampling.config, {"seed": self._seed})

    @property
    def _geca_config(self) -> GecaConfig:
        return changed(self._recipe.sampling.geca, {"seed": self._seed})

    def _train_config(self, stage: str) -> TrainConfig:
        share = {} if stage == "augmented" else {"synthetic": 0}
        return changed(self._recipe.train, {"seed": self._seed, **share})

    @property
    def _nqg_config(self) -> NqgFitConfig:
        return self._recipe.nqg.part(NqgFitConfig, self._seed)

    # data

    def _originals(self) -> dict[str, object]:
        """Say what the data is made of: the data set and its original files, or the files of the recipe."""
        data = self._recipe.data
        if not data.set:
            return {key: hash_file(path) for key, path in data.files.items()}
        folder = self._original_folder()
        return {"set": data.set, "split": data.split, "files": hash_folder(folder) if folder else {}}

    def _original_folder(self) -> Path | None:
        """Find the folder of a data set's original files, unless it needs none."""
        data = self._recipe.data
        if data.split in data_set(data.set).generated:
            return None
        if self._source is None:
            raise InputError(
                f"{data.set}, split {data.split}, is made from original files: name their folder with --source or in "
                f"CSL_DATA; `csl data fetch {data.set} --out DIR` gets them or says where they are"
            )
        if not self._source.is_dir():
            raise InputError("is not a folder; --source names the one with the original files", self._source)
        own = self._source / data.set.removesuffix("-tenth").replace("-", "_")
        return own if own.is_dir() else self._source

    def _data(self, folder: Path) -> Figures:
        data = self._recipe.data
        if data.set:
            self._progress(f"preparing {data.set} …")
            task = data_set(data.set).prepare(self._original_folder(), data.split)
        else:
            task = _read_task(data.files)
        write_task(task, folder / "data", name=data.set or Path(data.train).name, split=data.split)
        for note in task.notes:
            self._say(f"data: {note}")
        return {part: len(getattr(task, part)) for part in PARTS}

    @property
    def _data_folder(self) -> Path:
        return self.done["data"].folder / "data"

    @cached_property
    def _card(self) -> dict[str, Any]:
        return dict(read_json(self._data_folder / "card.json"))

    def _examples(self, part: str) -> list[Example]:
        path = self._data_folder / f"{part}.tsv"
        return list(read_examples(path, columns=("category",))) if path.exists() else []

    @property
    def _output_cfg(self) -> OutputCfg | None:
        path = self._data_folder / "output.cfg"
        return OutputCfg.read(path) if path.exists() else None

    # grammar, model, samples

    def _induce(self, folder: Path) -> Figures:
        config, train = self._recipe.induction, self._examples("train")
        self._progress("inducing a grammar (a first run compiles for a while) …")
        induce_into(
            folder, train, config, seeds=read_seed_rules(self._data_folder),
            output_cfg=self._output_cfg, engine=self._engine,
            about={"train": "data/train.tsv", "examples": len(train)}, say=self._prefixed("induce"),
            progress=lambda step, _: self._progress(f"inducing: {step.rules:,} rules, objective {step.objective:,.0f}"),
        )  # fmt: skip
        grammar, _ = read_run(folder)
        derivable = Deriver(grammar, config.max_units).derivable(train, self._engine)
        return {"rules": len(grammar), **induction_result(folder), "derivable": int(derivable.sum())}

    def _fit(self, folder: Path) -> Figures:
        config, options = self._fit_config, self._recipe.fit
        for name in ("grammar.txt", "output.cfg", "metrics.jsonl"):
            going_on = name == "metrics.jsonl" and (folder / name).exists()  # it may have lines of the fit
            if (path := self.done["induce"].folder / name).exists() and not going_on:
                link(path, folder / name)
        inputs = self._unlabelled(folder)
        self._progress("building the forests of the training pairs …")
        fit_into(
            folder, self._examples("train"), config, unlabelled=inputs, ratio=options.ratio, engine=self._engine,
            say=self._prefixed("fit"),
            progress=lambda report: self._progress(
                f"fitting: step {report.step:,} of {report.steps:,}, mean log p(x, y) {report.train:.3f}"
            ),
        )  # fmt: skip
        figures = {"states": config.states, **fit_result(folder)}
        if inputs:  # whether an input is covered does not depend on the parameters
            figures["labelled"] = sum(map(bool, load_model(folder).parse_all(inputs, self._engine)))
        return figures

    def _unlabelled(self, folder: Path) -> list[tuple[str, ...]]:
        """Read inputs without outputs, those of dev or of a file, which the run keeps a copy of."""
        name = self._recipe.fit.unlabelled
        if name == DEV:
            if not (self._data_folder / "dev.tsv").exists():
                raise InputError("fit.unlabelled = dev: the data has no dev set; name a file of inputs")
            return [example.source for example in self._examples("dev")]
        inputs = [line for line in read_inputs(name) if line] if name else []
        if inputs:
            write_text(folder / "unlabelled.txt", "".join(f"{line}\n" for line in inputs))
        return [split_tokens(line) for line in inputs]

    def _sample(self, folder: Path) -> Figures:
        number, train, path = self._recipe.sampling.number, self._examples("train"), folder / "samples.tsv"
        about: dict[str, object] = {"licence": self._card["licence"] or None}

        def show(n: int) -> None:
            self._progress(f"sampling: {n:,} of {number:,} pairs")

        if self._recipe.sampling.method == "geca":
            write_swaps(path, Geca(train, self._geca_config, self._progress), number, about=about, progress=show)
        else:
            model = load_model(self.done["fit"].folder)
            sampler = Sampler(model.grammar, self._sample_config, model=model, output_cfg=model.output_cfg, train=train)
            write_samples(path, sampler, number, engine=self._engine, about=about, progress=show)
        made, known = _read_samples(path), set(train)
        return {"pairs": len(made), "distinct": len(set(made)), "new": sum(pair not in known for pair in made)}

    # sequence-to-sequence models

    def _plain(self, folder: Path) -> Figures:
        return self._train("plain", folder, [])

    def _augmented(self, folder: Path) -> Figures:
        return self._train("augmented", folder, _read_samples(self.done["sample"].folder / "samples.tsv"))

    def _train(self, stage: str, folder: Path, synthetic: Sequence[Example]) -> Figures:
        from csl.seq2seq.train import Progress, train  # noqa: PLC0415 — torch only where it is needed

        config, examples = self._train_config(stage), self._examples("train")

        def show(report: Progress) -> None:
            line = f"{stage}: step {report.step:,} of {config.steps:,}, loss {report.loss:.4f}"
            self._progress(line)
            if report.dev is not None:
                self._say(f"{line}, dev {report.dev:.1%}")

        self._progress(f"{stage}: loading …")
        train(
            examples, folder / stage, config, synthetic=synthetic, dev=self._examples("dev"), device=self._device,
            about={"original": len(examples), "synthetic": len(synthetic)}, say=self._prefixed(stage), progress=show,
        )  # fmt: skip
        return dict(read_json(folder / stage / "train.json")["result"])

    # NQG

    def _predecessor(self, folder: Path) -> Figures:
        """Induce NQG's grammar, and fit its model to it."""
        own, train = folder / "predecessor", self._examples("train")
        config = self._recipe.nqg.part(NqgInductionConfig, self._seed)
        self._progress("NQG: inducing a grammar (a first run compiles for a while) …")
        induce_nqg_into(
            own, train, config, output_cfg=self._output_cfg,
            about={"train": "../data/train.tsv", "examples": len(train)},
            progress=lambda added: self._progress(f"NQG: inducing, {added.rules:,} rules"),
        )  # fmt: skip
        return self._fit_nqg(own)

    def _span_label(self, folder: Path) -> Figures:
        """Fit NQG's model to CSL's grammar (paper, "BERT + SpanLabel")."""
        for name in ("grammar.txt", "output.cfg"):
            if (path := self.done["induce"].folder / name).exists():
                link(path, folder / "span_label" / name)
        return self._fit_nqg(folder / "span_label")

    def _fit_nqg(self, folder: Path) -> Figures:
        self._progress("NQG: loading the encoder, building forests …")
        fitted = fit_nqg_into(
            folder, self._examples("train"), self._recipe.nqg.encoder, self._nqg_config, device=self._place,
            say=self._prefixed("NQG"),
            progress=lambda report: self._progress(
                f"NQG: step {report.step:,} of {report.steps:,}, mean log p(y | x) {report.log_prob:.3f}"
            ),
        )  # fmt: skip
        return {"rules": len(fitted.model.grammar), "left_out": len(fitted.left_out), "log_prob": fitted.log_prob}

    @property
    def _place(self) -> str:
        from csl.seq2seq.predictor import choose_device  # noqa: PLC0415 — torch only where it is needed

        return str(choose_device(self._device))

    # evaluation

    def _evaluate(self, folder: Path) -> Figures:
        """Score the model of the grammar on all parts of the data, and every system on the test set."""
        model = load_model(self.done["fit"].folder)
        figures: Figures = {"systems": {}, "parts": {}}
        for part in PARTS:
            if examples := self._examples(part):
                self._progress(f"parsing {part} …")
                found = evaluate(model, examples, self._engine)
                logs = {key: _number(getattr(found, key)) for key in ("log_p_xy", "log_p_y_given_x")}
                figures["parts"][part] = {**_counts(found.score), **logs, "derivable": found.derivable}
        if not examples:  # of test
            return figures
        systems = {"csl": found.outputs} | self._predicted([example.source_text for example in examples])
        if "t5" in systems:
            systems["ensemble"] = ensemble(systems["csl"], systems["t5"])
            if "nqg" in systems:
                systems["nqg_t5"] = ensemble(systems["nqg"], systems["t5"])
            figures["breakdown"] = _breakdown(examples, systems)
        for name, outputs in systems.items():
            total, by_group = score(examples, outputs)
            figures["systems"][name] = {
                **_counts(total),
                "groups": {group: _counts(part) for group, part in by_group.items()},
            }
            lines = (f"{example.source_text}\t{output}\n" for example, output in zip(examples, outputs, strict=True))
            write_text(folder / "predictions" / f"{name}.tsv", "".join(lines))
        return figures | {key: figures["parts"]["test"][key] for key in ("log_p_xy", "log_p_y_given_x", "derivable")}

    def _predicted(self, inputs: list[str]) -> dict[str, list[str]]:
        """Give the outputs of the models that were trained."""
        outputs = {}
        for stage in (stage for stage in SYSTEMS if stage in self.done):
            folder = self.done[stage].folder / stage
            self._progress(f"predicting with the {stage} model …")
            if stage in NQG:
                parses = load_nqg(folder, self._place).parse_all([split_tokens(line) for line in inputs])
                outputs[SYSTEMS[stage]] = [found.text if found else "" for found in parses]
            else:
                from csl.seq2seq.predictor import Seq2Seq  # noqa: PLC0415 — torch only where it is needed

                model = Seq2Seq.load(folder, self._device)
                outputs[SYSTEMS[stage]] = [found[0].text for found in model.predict(inputs)]
        return outputs

    def _report(self, folder: Path) -> Figures:
        """Write the report of the run folder, which has the results of all other stages by now."""
        from csl.report.page import write_report  # noqa: PLC0415 — only where it is wanted

        self._progress("writing the report …")
        write_report(self._run, folder / "report.html", engine=self._engine)
        return {"bytes": (folder / "report.html").stat().st_size}

    def _prefixed(self, stage: str) -> Say:
        return lambda line: self._say(f"{stage}: {line}")


def _contents(model: str) -> dict[str, object]:
    """Hash a model that is a folder here."""
    return {"contents": hash_folder(Path(model), deep=False)} if model and Path(model).is_dir() else {}


def _read_samples(path: Path) -> list[Example]:
    """Read samples; GECA may have none."""
    return list(read_examples(path)) if path.stat().st_size else []


def _read_task(files: Mapping[str, Path]) -> Task:
    """Read the files of a recipe."""
    train, dev, test = (
        list(read_examples(files[part], columns=("category",))) if part in files else [] for part in PARTS
    )
    return Task(
        train, dev, test,
        seed_rules=list(read_rules(files["seeds"])) if "seeds" in files else [],
        output_cfg=OutputCfg.read(files["output_cfg"]) if "output_cfg" in files else None,
        columns=("category",) if any(example.meta for example in test) else (),
    )  # fmt: skip


def _counts(found: Score) -> dict[str, int]:
    return {"examples": found.examples, "answered": found.covered, "right": found.right}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _breakdown(examples: Sequence[Example], systems: Mapping[str, Sequence[str]]) -> Figures:
    """Count what each system has right on inputs that CSL covers and on the others (paper, "Performance Breakdown")."""

    def count(places: Sequence[int]) -> dict[str, int]:
        right = {
            system: sum(same_output(outputs[i], examples[i].target_text) for i in places)
            for system, outputs in systems.items()
        }
        return {"examples": len(places), **right}

    def split(places: Sequence[int]) -> Figures:
        covered = [i for i in places if systems["csl"][i]]
        return {"covered": count(covered), "others": count([i for i in places if not systems["csl"][i]])}

    categories = groups(examples) if any("category" in example.meta for example in examples) else {}
    return split(range(len(examples))) | {"groups": {name: split(places) for name, places in categories.items()}}
