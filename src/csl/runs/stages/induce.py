"""Grammar induction: from examples to a grammar."""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

from csl.engine import ONE_THREAD, Threads
from csl.errors import CslError
from csl.examples import Example
from csl.grammar import Rule, write_grammar
from csl.grammar.output_cfg import OutputCfg
from csl.induction import auto
from csl.induction.config import InductionConfig
from csl.induction.induce import Induced, State, Step
from csl.induction.induce import induce as search
from csl.log import Log
from csl.options import changed
from csl.parsing.deriver import Deriver
from csl.runs.checkpoint import Checkpoint
from csl.runs.folder import Figures
from csl.runs.recipe import AUTO, InductionOptions, only
from csl.runs.stage import Stage, Work

log = Log("induce")
ARRAYS = ("values", "begin", "middle", "fresh", "used", "ends")
BEST = 10  # rules that save most, kept with the figures
CHECKED = 2**14  # items of the derivation of a training example, at most, in the check at the end


class Induce(Stage):
    """Induce a grammar that derives every training example."""

    name = "induce"
    keeps = True
    reads = ("data/train.tsv",)
    may_read = ("data/seed_rules.txt", "data/output.cfg", "prepared/")
    artefacts = {
        "grammar.txt": "the induced grammar: `csl grammar show`, `csl grammar explain`",
        "seed_rules.txt": "the seed rules of the grammar: those given, and those found in the data",
        "metrics/induce.jsonl": "induction, a line a step",
    }

    def options(self, work: Work) -> Any:
        return options_of(work.recipe.induction)

    def run(self, work: Work) -> Figures:
        folder, train, cfg = work.folder, work.folder.training(), work.folder.output_cfg()
        checkpoint = folder.checkpoint(self.name, work.key, self.name)
        last = time.perf_counter()

        def report(step: Step) -> None:
            nonlocal last
            seconds, last = time.perf_counter() - last, time.perf_counter()
            checkpoint.log(json.dumps({"stage": self.name, **asdict(step), "seconds": round(seconds, 3)}))

        prepared = folder.preparation() is not None
        config, rules, reasons = resolve(work.recipe.induction, train, folder.seed_rules(), cfg, prepared=prepared)
        induced = induce(
            train, config, seed_rules=rules, output_cfg=cfg, engine=work.engine, progress=report, checkpoint=checkpoint
        )
        if induced.seeds:
            write_grammar(folder.path / "seed_rules.txt", induced.seeds)
        write_grammar(folder.path / "grammar.txt", induced.grammar)
        log.progress("deriving the training examples …")
        found = Deriver(induced.grammar, config.max_units).derive_all(train, work.engine, CHECKED)
        derivable = int(((found.sizes > 0) | found.given_up).sum())  # the search knows how it derives them
        if derivable < len(train):
            raise CslError(f"the grammar derives {derivable:,} of {len(train):,} training examples: please report this")
        savings = induced.savings(config)
        best = sorted(savings, key=lambda rule: -savings[rule])[:BEST]
        return {
            "rules": len(induced.grammar), "arities": [rule.arity for rule in induced.grammar].count(0),
            "objective": induced.objective, "objective_before": induced.size_before, "derivable": derivable,
            "examples": len(train), "config": config.model_dump(), "reasons": reasons,
            "savings": [[str(rule), round(savings[rule], 3), induced.uses[rule]] for rule in best],
        }  # fmt: skip

    def summary(self, figures: Figures) -> str:
        closed = figures["arities"]
        size = "edited" if "edited" in figures else "objective {objective_before:,.0f} → {objective:,.0f}"
        return (
            f"{figures['rules']:,} rules, {figures['rules'] - closed:,} with nonterminals, derive "
            f"{figures['derivable'] / max(1, figures['examples']):.1%} of the examples; {size.format(**figures)}"
        )


def options_of(options: Any) -> dict[str, Any]:
    """Give options as JSON; with auto only those that are given, as the others are chosen later."""
    return dict(options.model_dump(exclude_unset=options.preset == AUTO))


def resolve(
    options: InductionOptions,
    examples: Sequence[Example],
    seed_rules: Iterable[Rule],
    output_cfg: OutputCfg | None,
    *,
    prepared: bool = False,
) -> tuple[InductionConfig, list[Rule], list[str]]:
    """Give the options, all seed rules, and what auto chose, with reasons."""
    own = list(seed_rules)
    if options.preset != AUTO:
        if not own and (missed := auto.missed_by_presets(examples)):
            log.info(missed)
        return only(InductionConfig, options), own, []
    log.progress("looking at the examples (the first run compiles for a while) …")
    choice = auto.for_raw_text(examples) if prepared else auto.choose(examples)
    for reason in choice.reasons:
        log.info(f"auto: {reason}")
    given = options.model_dump(exclude_unset=True, exclude={"preset"})
    if given.get("objective") == "nqg":
        given = {"search": "paper"} | given
    return changed(choice.config, given), list(dict.fromkeys([*own, *choice.seeds])), list(choice.reasons)


def induce(
    examples: Sequence[Example],
    config: InductionConfig,
    *,
    seed_rules: Iterable[Rule] = (),
    output_cfg: OutputCfg | None = None,
    engine: Threads = ONE_THREAD,
    progress: Callable[[Step], None] = lambda _: None,
    checkpoint: Checkpoint | None = None,
) -> Induced:
    """Induce a grammar; the same in memory and in a run folder."""
    if output_cfg:
        outputs = {example.target for example in examples}
        invalid = sum(not output_cfg.accepts(output) for output in outputs)
        if invalid:
            log.warning(f"the output CFG does not accept {invalid:,} of the {len(outputs):,} distinct outputs")

    def report(step: Step) -> None:
        place = f"partition {step.partition} of {step.partitions}, " if step.partitions > 1 else ""
        log.progress(
            f"inducing: {place}step {step.step}: {step.rules:,} rules, objective {step.objective:,.0f}, "
            f"{step.candidates:,} candidates"
        )
        progress(step)

    log.progress("inducing a grammar (the first run compiles for a while) …")
    saved = _Search(checkpoint or Checkpoint())
    return search(
        examples, config, seeds=seed_rules, output_cfg=output_cfg, engine=engine, progress=report, checkpoint=saved
    )


class _Search:
    """The states of a search, as arrays in a checkpoint."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint

    def load(self) -> State | None:
        if not self._checkpoint.found:
            return None
        arrays, about = self._checkpoint.found
        log.info(f"resuming after step {about['step']} of partition {about['partition'] + 1}")
        return State(about["partition"], about["step"], about["finished"], *(arrays[name] for name in ARRAYS))

    def save(self, state: State) -> None:
        about = {"partition": state.partition, "step": state.step, "finished": state.finished}
        self._checkpoint.save({name: getattr(state, name) for name in ARRAYS}, about)
