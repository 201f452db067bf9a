"""Grammar induction from examples to grammar (paper, "Grammar Induction Algorithm").

Initialisation, partitions by length, steps until nothing improves, and what is left over removed at the end.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from csl.engine import ONE_THREAD, Threads
from csl.errors import InputError
from csl.examples import Example
from csl.grammar import Grammar, Rule
from csl.grammar.output_cfg import OutputCfg
from csl.grammar.store import RuleStore
from csl.grammar.vocabulary import Ragged, Vocabulary
from csl.induction.config import InductionConfig
from csl.induction.deep import deepen
from csl.induction.frame import frame_rule
from csl.induction.objective import UNIT, Objective
from csl.induction.search import Search
from csl.log import Log

log = Log("induce")


@dataclass(frozen=True)
class Step:
    """The result of a step of the search."""

    partition: int
    partitions: int
    step: int
    rules: int
    objective: float
    candidates: int
    actions: int


class State(NamedTuple):
    """Where a search stands after a step: all it needs to resume. The rules are encoded as in `RuleStore`."""

    partition: int
    step: int
    finished: bool  # the partition, that is
    values: npt.NDArray[np.int32]
    begin: npt.NDArray[np.int64]
    middle: npt.NDArray[np.int64]
    fresh: npt.NDArray[np.bool_]
    used: npt.NDArray[np.int32]  # rules of a derivation of each example so far, as places in the rules above
    ends: npt.NDArray[np.int64]


class Checkpoint(Protocol):
    """Keeps the state of a search."""

    def load(self) -> State | None:
        """Return the state saved last, if there is one."""

    def save(self, state: State) -> None:
        """Save the state."""


@dataclass(frozen=True)
class Induced:
    """A grammar with what is worth telling about it."""

    grammar: Grammar
    seeds: tuple[Rule, ...]  # those given, and that of the frame
    size_before: float  # of the examples as rules: what the objective starts from, without penalties
    objective: float
    cost: dict[Rule, float]
    uses: dict[Rule, int]  # how many examples use it, in one derivation each

    def savings(self, config: InductionConfig) -> dict[Rule, float]:
        """Compute what each rule saves: the terminals it writes in each example that uses it, less what it costs."""
        return {
            rule: config.k_t * uses * sum(isinstance(s, str) for s in rule.source + rule.target) - self.cost[rule]
            for rule, uses in self.uses.items()
        }


def induce(
    examples: Sequence[Example],
    config: InductionConfig,
    *,
    seeds: Iterable[Rule] = (),
    output_cfg: OutputCfg | None = None,
    engine: Threads = ONE_THREAD,
    progress: Callable[[Step], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Induced:
    """Induce a grammar that derives every example.

    Seed rules are part of it from the start and stay. With an output CFG, only rules whose target it can derive, for
    some categories in place of the nonterminals, are added. The result does not depend on the engine, nor
    on whether the search was interrupted and went on from a checkpoint.
    """
    check(examples)
    if config.search != "paper" and config.objective != "csl":
        raise InputError(f"search {config.search} compares grammars by the objective csl; use it with objective csl")
    weights = Counter(examples)
    ordered = sorted(weights, key=lambda e: (len(e.source_text), e.source_text, e.target_text))
    vocabulary, store, seeds = Vocabulary(), RuleStore(), list(seeds)
    if config.frame:
        if frame := frame_rule(ordered, output_cfg) if output_cfg else None:
            seeds = list(dict.fromkeys([*seeds, frame]))
        else:
            log.info("no seed rule for a frame: " + ("outputs have none" if output_cfg else "it needs an output CFG"))
    ids = store.add_rules(ordered, vocabulary)
    seed_ids = store.add_rules(seeds, vocabulary)
    compiled = output_cfg.compiled(vocabulary) if output_cfg else None
    counts = np.array([1 if config.drop_duplicates else weights[e] for e in ordered], np.int64)
    objective = Objective(store, ids, counts, len(vocabulary), config, engine)
    search = Search(store, objective, seed_ids, config, engine, compiled)
    state = checkpoint.load() if checkpoint else None
    if state:
        rules, derivations = _restored(state, vocabulary, store)
        search.add(rules, ids[:0], state.fresh)
    partitions = np.array_split(ids, min(config.partitions, len(ids)))
    for partition, part in enumerate(partitions):
        done = 0
        if state and partition <= state.partition:
            search.add(part[:0], part)
            if partition == state.partition:
                search.derivations.restore(derivations)
            if partition < state.partition or state.finished:
                continue
            done = state.step
        else:
            search.add(part, part)
        for step in range(done + 1, config.steps + 1):
            actions = search.step()
            if checkpoint:
                finished = actions == 0 or step == config.steps
                rules, (used, ends) = search.rules, search.derivations.now
                places = np.searchsorted(rules, used).astype(np.int32)
                checkpoint.save(
                    State(partition, step, finished, *store.select(rules), search.fresh[rules], places, ends)
                )
            if progress:
                total = search.total() / UNIT
                progress(
                    Step(partition + 1, len(partitions), step, len(search.rules), total, search.candidates, actions)
                )
            if actions == 0:
                break
    uses = search.finish()
    if search.undecided:
        log.info(f"{search.undecided:,} derivations were too ambiguous to decide: rules that may be superfluous stay")
    elif config.search != "paper":
        uses = deepen(search) or uses
    known = dict(zip(seed_ids.tolist(), seeds, strict=True))
    found = [(known.get(i) or store.rule(i, vocabulary), i) for i in search.rules.tolist()]
    return _result(search, seeds, found, uses, float(objective.sizes()[ids].sum()) / UNIT)


def _restored(state: State, vocabulary: Vocabulary, store: RuleStore) -> tuple[npt.NDArray[np.int32], Ragged]:
    """Give the rules of a state and the derivations; kernels do not look at bounds, and the file may be of others."""
    decode, values, (used, ends) = vocabulary.decode, state.values, (state.used, state.ends)
    try:
        places = zip(state.begin[:-1].tolist(), state.middle.tolist(), state.begin[1:].tolist(), strict=True)
        rules = [Rule(decode(values[b:m]), decode(values[m:e])) for b, m, e in places]
        if state.fresh.dtype != bool or state.fresh.shape != (len(rules),):
            raise ValueError("one mark a rule")
        if ends[0] != 0 or ends[-1] != len(used) or (np.diff(ends) < 0).any() or (used < 0).any():
            raise ValueError("derivations end to end")
        ids = store.add_rules(rules, vocabulary)
        return ids, Ragged(ids[used], ends.astype(np.int64))
    except (ValueError, IndexError, TypeError) as error:
        raise InputError("the checkpoint does not hold rules of this run; start over with --no-resume") from error


def check(examples: Sequence[Example]) -> None:
    """Refuse examples that no grammar can be induced from."""
    if not examples:
        raise InputError("no examples to induce a grammar from")
    for k, example in enumerate(examples, start=1):
        if not example.source or not example.target:
            raise InputError(f"example {k} has an empty side")


def _result(
    search: Search, seeds: Iterable[Rule], found: list[tuple[Rule, int]], uses: dict[int, int], size_before: float
) -> Induced:
    """Give the grammar, whose rules have these ids, with what is known of it; rules with fewest nonterminals first."""
    cost = search.objective.costs(search.rules) / UNIT
    found.sort(key=lambda each: (each[0].arity, str(each[0])))
    return Induced(
        Grammar([rule for rule, _ in found]),
        tuple(seeds),
        size_before,
        search.total() / UNIT,
        {rule: float(cost[i]) for rule, i in found},
        {rule: uses[i] for rule, i in found},
    )
