"""Training: sequence-to-sequence models on original and synthetic pairs."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from csl.examples import Example
from csl.files import hash_folder, read_lines, write_text
from csl.hub import need_torch
from csl.log import Log
from csl.options import changed
from csl.runs.folder import CHECKPOINTS, Figures
from csl.runs.stage import Stage, Work
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.predictions import Prediction

if TYPE_CHECKING:
    from csl.seq2seq.train import Progress

log = Log("train")


class Train(Stage):
    """Train a model: on the original pairs (`plain`), with synthetic ones (`augmented`), or as `csl train` has it."""

    group = "train"
    scores = True

    def __init__(self, name: str = "train", system: str = "", label: str = "") -> None:
        self.name, self.system, self.label = name, system, label
        self.keeps = not system
        self.reads = ("data/train.tsv", "samples.tsv") if name == "augmented" else ("data/train.tsv",)
        self.may_read = ("data/dev.tsv",) if system else ("data/dev.tsv", "data/synthetic.tsv", "data/labelled.tsv")
        self._place = name if system else ""  # where the folder `model` is
        self.artefacts = {
            f"{self._place}/model/".lstrip("/"): "the trained model: `csl predict`",
            f"metrics/{name}.jsonl": "training, a line each 50 steps and at each test on dev",
        }

    def options(self, work: Work) -> Any:
        config = self._config(work)
        model = Path(config.model)
        contents = {"contents": hash_folder(model, deep=False)} if model.is_dir() else {}
        return config.model_dump() | contents

    def _config(self, work: Work) -> TrainConfig:
        return changed(work.recipe.train, {"synthetic": 0} if self.name == "plain" else {})

    def _parts(self, work: Work) -> tuple[list[Example], list[Example], list[Example]]:
        """Give original and synthetic pairs, and those of dev."""
        folder = work.folder
        train, dev = folder.examples(), folder.examples("dev")
        if self.name == "train":
            return [*train, *folder.examples("labelled")], folder.examples("synthetic"), dev
        return train, folder.samples() if self.name == "augmented" else [], dev

    def check_installed(self) -> None:
        need_torch()

    def run(self, work: Work) -> Figures:
        from accelerate import PartialState  # noqa: PLC0415 — torch only where it is needed

        from csl.seq2seq.checkpoint import CheckpointFile  # noqa: PLC0415
        from csl.seq2seq.train import Training  # noqa: PLC0415

        folder = work.folder
        metrics = _Metrics(folder.path / "metrics" / f"{self.name}.jsonl")
        log.progress(f"{self.name}: loading …")
        original, synthetic, dev = self._parts(work)
        training = Training(original, self._config(work), synthetic=synthetic, dev=dev, device=work.device)
        checkpoint = CheckpointFile(folder.path / CHECKPOINTS / f"{self.name}.npz", work.key)
        trained = training.run(checkpoint, metrics.log)
        if PartialState().is_main_process:
            model = folder.path / self._place / "model"
            shutil.rmtree(model, ignore_errors=True)  # of a training that was stopped while it wrote
            trained.model.save(model)
        PartialState().wait_for_everyone()
        return {"step": trained.step, "dev": trained.dev}

    def summary(self, figures: Figures) -> str:
        return f"step {figures['step']:,}" + (f", dev {figures['dev']:.1%}" if figures["dev"] is not None else "")

    def predict(self, work: Work, inputs: Sequence[str]) -> list[Prediction]:
        from csl.seq2seq.predictor import Seq2Seq  # noqa: PLC0415 — torch only where it is needed

        model = Seq2Seq.load(work.folder.path / self._place, work.device)
        return [found[0] for found in model.predict(list(inputs), scores=True)]


class _Metrics:
    """The metrics of a training; lines of later steps are of a training that was stopped after its checkpoint."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = [line for _, line in read_lines(path)] if path.exists() else []
        self._lines = {int(json.loads(line)["step"]): line for line in lines}

    def log(self, report: "Progress") -> None:
        """Add a line."""
        line = json.dumps({key: value for key, value in asdict(report).items() if value is not None})
        self._lines = {step: old for step, old in self._lines.items() if step < report.step} | {report.step: line}
        write_text(self._path, "\n".join(self._lines.values()) + "\n")
