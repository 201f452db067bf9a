"""Grammars edited or written by hand: accepted as the grammar of a run, so that all later stages follow them.

A run has a checksum of its grammar.txt, and nothing reads one that differs: it may be damaged. Accepting it records the
new checksum. The keys of later stages depend on it, so that they are repeated.
"""

from dataclasses import replace

from csl.errors import InputError
from csl.grammar import Grammar
from csl.grammar.check import faults
from csl.grammar.notation import grammar_file, read_rules
from csl.induction.config import InductionConfig
from csl.lock import folder_lock
from csl.log import Log
from csl.parsing.deriver import Deriver
from csl.runs.folder import GRAMMAR, Done, Figures
from csl.runs.recipe import only
from csl.runs.stage import Run
from csl.runs.stages.data import Data
from csl.runs.stages.induce import Induce

log = Log("accept")
OF_THE_SEARCH = ("objective", "objective_before", "reasons")  # figures that an edited grammar does not have


def accept(run: Run) -> Figures:
    """Check the grammar.txt of a run folder and record it; in a folder that is no run yet, copy the data first."""
    folder, induce = run.folder, Induce()
    path = grammar_file(folder.path)
    grammar = Grammar(read_rules(path))
    if not len(grammar):
        raise InputError("no rules in this file", path)
    with folder_lock(folder.path):
        if not folder.is_run:
            run.do([Data()])
        train, cfg = folder.training(), folder.output_cfg()
        if not train:
            raise InputError("no training examples in this folder; `csl induce` copies them there", folder.path)
        for fault in faults(path, cfg):
            log.warning(f"{path}:{fault.line}: {fault.message}: {fault.rule}")
        log.progress("deriving the training examples …")
        derivable = int(Deriver(grammar).derivable(train, run.work.engine).sum())
        name = next((name for name, done in folder.record.stages.items() if GRAMMAR in done.files), induce.name)
        config = only(InductionConfig, run.work.recipe.induction)
        new = Done(run.key(induce), 0, induce.options(run.work), {"config": config.model_dump()}, {})
        done = folder.record.stages.get(name, new)
        figures = {key: value for key, value in done.figures.items() if key not in OF_THE_SEARCH} | {
            "rules": len(grammar), "arities": [rule.arity for rule in grammar].count(0), "derivable": derivable,
            "examples": len(train), "savings": [], "edited": True,
        }  # fmt: skip
        folder.add(name, replace(done, figures=figures, files=done.files | {GRAMMAR: folder.checksum(GRAMMAR)}))
    return figures
