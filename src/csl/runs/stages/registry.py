"""The stages of runs, in the order in which they are carried out. A new stage is a file here, and a line below."""

from csl.errors import InputError, nearest
from csl.runs.stage import Stage
from csl.runs.stages.check import Check
from csl.runs.stages.data import Data
from csl.runs.stages.evaluate import Evaluate
from csl.runs.stages.fit import Fit
from csl.runs.stages.induce import Induce
from csl.runs.stages.merge import Merge
from csl.runs.stages.nqg import NqgFit, NqgInduce
from csl.runs.stages.prepare import Prepare
from csl.runs.stages.report import Report
from csl.runs.stages.reword import Reverse, Reword
from csl.runs.stages.sample import Sample
from csl.runs.stages.train import Train

DATA, PREPARE, INDUCE, FIT, CHECK, SAMPLE, MERGE = Data(), Prepare(), Induce(), Fit(), Check(), Sample(), Merge()
TRAIN = Train()  # of `csl train`
REVERSE, REWORD = Reverse(), Reword()  # of `csl reword`
PLAIN = Train("plain", "t5", "T5")
AUGMENTED = Train("augmented", "augmented", "T5 with augmentation")
NQG_INDUCE = NqgInduce("nqg", "predecessor")
NQG = NqgFit("nqg_fit", "predecessor", "nqg", "NQG")
SPAN_LABEL = NqgFit("span_label", "span_label", "span_label", "SpanLabel", grammar="grammar.txt")
TRAINED = (PLAIN, AUGMENTED, NQG, SPAN_LABEL)
EVALUATE = Evaluate(TRAINED)
REPORT = Report()

STAGES: tuple[Stage, ...] = (  # of `csl run`
    DATA, PREPARE, INDUCE, FIT, SAMPLE, MERGE, PLAIN, AUGMENTED, NQG_INDUCE, NQG, SPAN_LABEL, EVALUATE, REPORT,
)  # fmt: skip
AUGMENT: tuple[Stage, ...] = (DATA, PREPARE, INDUCE, FIT, CHECK, SAMPLE, MERGE)  # of `csl augment`
SYSTEMS = EVALUATE.labels
CONTENTS = {
    "recipe.toml": "all options; `csl run recipe.toml --seed N` repeats the run with seed N",
    "run.json": "what was done: keys, options, seconds, figures and checksums of the stages, and versions",
    **{name: what for stage in (*STAGES, CHECK, TRAIN, REVERSE, REWORD) for name, what in stage.artefacts.items()},
}


def until(name: str) -> tuple[Stage, ...]:
    """List the stages of `csl run` up to one of this name or group."""
    last = max((i for i, stage in enumerate(STAGES) if name in (stage.name, stage.group)), default=-1)
    if last < 0:
        names = dict.fromkeys(stage.group or stage.name for stage in STAGES)
        raise InputError(f"--until {name}: no such stage; {nearest(name, names)}")
    return STAGES[: last + 1]
