"""Wording synthetic programs anew: a model trained in reverse, and the wordings that are read back."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from csl.examples import Example, write_examples
from csl.files import hash_folder
from csl.hub import need_torch
from csl.log import Log
from csl.parsing.limits import Abstained
from csl.preparing.surviving import surviving
from csl.runs.folder import Figures
from csl.runs.recipe import Recipe
from csl.runs.stage import Stage, Work
from csl.runs.stages.train import Train
from csl.seq2seq.reword import Read, Rewording, Write

log = Log("reword")


class Reverse(Train):
    """Train the model of the recipe from outputs to inputs; the last weights count."""

    group = ""

    def __init__(self) -> None:
        super().__init__("reverse")
        self.reads, self.may_read, self._place = ("data/train.tsv", "samples.tsv"), (), "reverse"
        self.artefacts = {
            "reverse/model/": "a model from outputs to inputs: `csl predict reverse`",
            "metrics/reverse.jsonl": "its training, a line each 50 steps",
        }

    def _parts(self, work: Work) -> tuple[list[Example], list[Example], list[Example]]:
        return _reversed(work.folder.examples()), _reversed(work.folder.samples()), []


def _reversed(pairs: Sequence[Example]) -> list[Example]:
    return [Example(pair.target, pair.source) for pair in pairs]


class Reword(Stage):
    """Word the programs of the samples anew, and keep the wordings that are read as their program."""

    name = "reword"
    reads = ("data/train.tsv", "samples.tsv", "reverse/model/")
    may_read = ("data/output.cfg", "prepared/")
    artefacts = {"reworded.tsv": "synthetic programs in other words"}

    def needs(self, recipe: Recipe) -> Sequence[str]:
        return (*self.reads, *(("grammar.txt", "model.npz") if recipe.reword.check else ()))

    def options(self, work: Work) -> Any:
        options = work.recipe.reword
        contents = {"contents": hash_folder(Path(options.model), deep=False)} if options.model else {}
        return options.model_dump() | contents

    def check_installed(self) -> None:
        need_torch()

    def run(self, work: Work) -> Figures:
        options, folder = work.recipe.reword, work.folder
        train, samples = folder.examples(), folder.samples()
        programs: dict[tuple[str, ...], Example] = {}
        for pair in samples:
            programs.setdefault(pair.target, pair)
        chosen = list(programs.values())[: options.number]
        rewording = Rewording(
            self._writer(work), self._readers(work) if options.check else {},
            surviving(train, folder.preparation()), {*train, *samples},
        )  # fmt: skip
        pairs = write_examples(folder.path / "reworded.tsv", rewording.reword(chosen))
        if not pairs:
            log.warning("no wording was kept: train longer (--set steps=N), or see why below")
        return {
            "programs": len(chosen), "pairs": pairs, "kept": dict(sorted(rewording.kept.items())),
            "refused": {reason.value: count for reason, count in sorted(rewording.refused.items())},
        }  # fmt: skip

    def _writer(self, work: Work) -> Write:
        from csl.seq2seq.predictor import Seq2Seq  # noqa: PLC0415 — torch only where it is needed

        model = Seq2Seq.load(work.folder.path / "reverse", work.device)
        beams, done = work.recipe.reword.wordings, 0

        def write(programs: Sequence[str]) -> list[list[str]]:
            nonlocal done
            done += len(programs)
            log.progress(f"wording programs up to number {done:,} …")
            return [[found.text for found in outputs] for outputs in model.predict(programs, beams=beams, k=beams)]

        return write

    def _readers(self, work: Work) -> dict[str, Read]:
        from csl.seq2seq.predictor import Seq2Seq  # noqa: PLC0415 — torch only where it is needed

        parser, options = work.folder.parser(), work.recipe.reword

        def parse(texts: Sequence[str]) -> list[str]:
            found = parser.answers(texts, work.engine)
            return ["" if isinstance(answer, Abstained) else answer.text for answer in found]

        readers: dict[str, Read] = {"parser": parse}
        if options.model:
            model = Seq2Seq.load(options.model, work.device)
            readers["model"] = lambda texts: [found[0].text for found in model.predict(texts)]
        return readers

    def summary(self, figures: Figures) -> str:
        kept, refused = (
            ", ".join(f"{count:,} {name}" for name, count in figures[key].items()) or "none"
            for key in ("kept", "refused")
        )
        programs = figures["programs"]
        return f"{figures['pairs']:,} new wordings of {programs:,} programs; kept: {kept}; refused: {refused}"
