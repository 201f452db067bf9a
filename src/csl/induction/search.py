"""The greedy search for a grammar (paper, appendix "Grammar Induction Algorithm Details").

A step looks at every rule r_c of the grammar: it goes if the other rules derive it; otherwise its candidate actions
are the rules r_add that with a rule of the grammar make up r_c. What r_add removes is the group of all r_c that it was
found for, so one pass over the grammar gives all actions with their R_remove. Each rule chooses the action that saves
most; those that still save something are executed, best first; what can then no longer be derived is put back.

From step to step only pairs with a new rule are looked for, and the cost of a rule is computed once, and only when its
size alone does not rule it out. Nothing here depends on ids or on the order of rules: ties are broken by content.

Grammars of natural data can be so ambiguous that it takes very long to decide what is derivable. So a derivation has a
budget, and so have all derivations of a step and of the final removal. What is not decided within it counts as not
derivable: the rule stays. Budgets count items of charts, not seconds, so that results do not depend on the machine.
"""

import itertools
import warnings
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.engine import Threads
from csl.errors import LimitWarning
from csl.grammar.store import RuleStore
from csl.grammar.vocabulary import Ragged
from csl.induction.config import InductionConfig
from csl.induction.derivations import Derivations, Uses
from csl.induction.objective import UNIT, Costs, Ids, Objective
from csl.kernels.budget import untimed
from csl.kernels.cfg_chart import CompiledCfg, typable
from csl.kernels.derivations import are_derivations
from csl.kernels.derive import Parser, Trie, build_trie, derive_rules, remove_derivable
from csl.kernels.flat import SOURCE, TARGET, Rules, max_arity, sides, take
from csl.kernels.hashing import Table, build_table
from csl.kernels.nqg_split import touched
from csl.kernels.select import best_candidates, execute
from csl.kernels.store import rule_hashes, source_hashes
from csl.kernels.unify import Shape, unify
from csl.log import Log
from csl.parsing.code_length import output_bits

log = Log("induce")
FIRST_ITEMS = 2**12  # of a derivation, in a first pass over all
ITEMS = 2**17  # of a derivation; at most 1,955 were needed for SCAN, GeoQuery and COGS, 23,019 for SMCalFlow-CS
SHARE = 2**13  # items an example, of all derivations of a step, and of the final removal: some seconds in all
BATCH = 128  # derivations, after which is looked at how many items are left
CHUNK = 2**21  # items of derivations one after the other, after which progress is shown
NO_OUTPUT = 2**30  # bits, of outputs that can no longer be derived
TOO_DEAR = 2**60  # the price of a rule that the output CFG refuses
EVERY = 200  # rules, after which progress is shown
AHEAD = 64  # examples of a rule, at most, that are derived without it before its turn comes


class Chart(NamedTuple):
    """What a parser takes beside the rules of the store: the trie of sources, the largest arity."""

    trie: Trie
    arity: int


class Snapshot(NamedTuple):
    """A grammar in the making, to come back to."""

    alive: npt.NDArray[np.bool_]
    fresh: npt.NDArray[np.bool_]
    paired: npt.NDArray[np.bool_]
    pairs: Ids
    derived: Ragged


class Search:
    """A grammar in the making: rules of a store that are alive, among them seeds, which stay."""

    def __init__(
        self,
        store: RuleStore,
        objective: Objective,
        seeds: Ids,
        config: InductionConfig,
        engine: Threads,
        output_cfg: CompiledCfg | None = None,
    ) -> None:
        self.store, self.objective, self.config, self._engine = store, objective, config, engine
        self._output_cfg = output_cfg
        self.examples = np.empty(0, np.int32)
        self.derivations = Derivations()  # of the examples
        self.candidates = 0  # in the last step
        self.undecided = 0  # rules and examples whose derivation was given up in the final removal
        self._left = SHARE * 1000  # items for derivations
        self.careful = False  # once it is set, rules without terminals split no rule
        self.splits: dict[
            tuple[int, ...], tuple[int, int, bool]
        ] = {}  # parts of the splits of `deep`, and are they valid
        self.alive, self._seed = np.zeros(0, np.bool_), np.zeros(0, np.bool_)  # rules of the grammar; seeds among them
        self.fresh = np.zeros(0, np.bool_)  # rules that came since derivable ones were last removed
        self._paired = np.zeros(0, np.bool_)  # rules whose pairs with all other rules alive are known
        self._valid = np.zeros(0, np.bool_)  # rules that the output CFG allows, as far as it was asked
        self._asked = np.zeros(0, np.bool_)
        self._targets, self._typable = RuleStore(), np.zeros(0, np.bool_)  # those met; which the output CFG derives
        self._hashes = np.empty(0, np.uint64)  # of the erased sources
        self._pairs = np.empty((0, 3), np.int32)  # all (r_c, g, r_add) with r_c and g alive
        self.cover_store()
        self.alive[seeds] = self._seed[seeds] = True

    @property
    def rules(self) -> Ids:
        """The ids of the rules of the grammar, ascending."""
        return np.flatnonzero(self.alive).astype(np.int32)

    def total(self) -> int:
        """Return the objective, in units of `csl.induction.objective`."""
        return self.objective.total(self.rules)

    def add(self, rules: Ids, examples: Ids, fresh: npt.NDArray[np.bool_] | bool = True) -> None:
        """Put rules into the grammar, and examples to those that it must derive."""
        self.cover_store()
        self.alive[rules] = True
        self.fresh[rules] = fresh
        self.examples = np.concatenate([self.examples, examples])
        self.derivations.begin(examples)

    def replace(self, added: Ids, removed: Ids) -> None:
        """Put rules into the grammar and take others out, which the caller knows to be derivable or puts back later."""
        self.alive[removed] = False
        self.fresh[added] |= ~self.alive[added]
        self.alive[added] = True

    def snapshot(self) -> Snapshot:
        """Return the state of the grammar, for `restore`."""
        return Snapshot(self.alive.copy(), self.fresh.copy(), self._paired.copy(), self._pairs, self.derivations.now)

    def restore(self, state: Snapshot) -> None:
        """Go back to an earlier state; the store keeps what it has met since."""
        for array, before in ((self.alive, state.alive), (self.fresh, state.fresh), (self._paired, state.paired)):
            array[:] = False
            array[: len(before)] = before
        self._pairs = state.pairs
        self.derivations.restore(state.derived)

    def derive(self, examples: Ids) -> list[set[int]]:
        """Return the distinct rules of one derivation of each example; none if it cannot be derived."""
        return self._rules_used(self._chart(), examples, np.full(len(examples), -1, np.int32))

    def step(self) -> int:
        """Take one step; return the number of actions."""
        self._allot()
        self.remove_derivable()
        self._find_pairs()
        self.candidates = 0
        taken = self._act() if len(self._pairs) else 0
        self.cover_store()
        self.derivations.update(self.alive, self._engine)
        return taken

    def remove_derivable(self) -> None:
        """Remove the rules that the others derive, the costliest first; raw examples by size, before they cost work."""
        rules = self.removable()
        new, old, chart = rules[self.fresh[rules]], rules[~self.fresh[rules]], self._chart()
        self._remove(chart, self._largest(new, self.objective.sizes()[new]))
        self._remove(chart, self.costliest(old))
        self.fresh[:] = False

    def finish(self) -> dict[int, int]:
        """Remove what is derivable, and then what no example needs; return how many examples use each rule left."""
        self._allot()
        self.remove_derivable()
        return self.prune()

    def _allot(self) -> None:
        """Start a new budget for derivations."""
        self._left, self.undecided = SHARE * max(1000, len(self.examples)), 0

    def prune(self) -> dict[int, int]:
        """Remove the rules that no example needs, the costliest first; return how many examples use each rule left.

        One derivation an example is kept. Rule r can go when every example whose derivation uses it has another one
        without it. Since the grammar only shrinks, a rule once found needed stays needed.
        """
        self._left, before = SHARE * max(1000, len(self.examples)), self.undecided
        self.derivations.update(self.alive, self._engine)
        state = (self.examples, *self.derivations.now, self._parser(self.alive))
        unknown = np.flatnonzero(~self._engine.map(_are_derivations, np.arange(len(self.examples)), *state))
        uses, own = Uses(self.derivations.now, len(self.alive)), list[int]()
        for k, found in zip(unknown.tolist(), self.derive(self.examples[unknown]), strict=True):
            example = int(self.examples[k])
            uses.change(k, found or {example})
            if found <= {example}:
                own.append(example)  # seeds with lone sources, as max_units bounds chains; or too ambiguous
        hard = self.undecided - before
        self.alive[own] = True
        rules = self.removable()
        if hard:
            rules = np.setdiff1d(rules, own)
            line = f"{hard:,} examples are too long or too ambiguous to derive: each stays a rule of its own"
            warnings.warn(line, LimitWarning, stacklevel=2)
        self._remove_unused(uses, rules)
        return {r: uses.count(r) for r in self.rules.tolist()}

    def _remove_unused(self, uses: Uses, rules: Ids) -> None:
        """Remove those of the rules that no example needs; keep their uses up to date."""
        chart, order, removed = self._chart(), self.costliest(rules), set[int]()
        first = np.array([(uses.users(r, 1) or [0])[0] for r in order.tolist()], np.int32)
        known = zip(order.tolist(), self._rules_used(chart, self.examples[first], order), strict=True)
        perhaps = [r for r, again in known if again or not uses.count(r)]
        for k, (r, ahead) in enumerate(zip(perhaps, self._ahead(chart, perhaps, uses), strict=True)):
            if k % EVERY == EVERY - 1:
                log.progress(f"removing rules that no example needs: {k:,} of {len(perhaps):,} checked")
            still = {e: found for e, found in ahead.items() if r in uses.rules(e) and found.isdisjoint(removed)}
            new = self._without(chart, r, uses.users(r), still)
            if new is not None:
                self.alive[r] = False
                removed.add(r)
                for example, derivation in new.items():
                    uses.change(example, derivation)

    def _ahead(self, chart: Chart, rules: list[int], uses: Uses) -> list[dict[int, set[int]]]:
        """Derive the first users of each rule without it, all at once, by the grammar as it is before any is removed.

        A derivation without rules that go later is the one that would be found then; what has none stays without.
        """
        some = [uses.users(r, AHEAD) for r in rules]
        examples = np.array([e for part in some for e in part], np.int32)
        banned = np.repeat(np.array(rules, np.int32), list(map(len, some)))
        found = iter(self._rules_used(chart, self.examples[examples], banned))
        return [dict(zip(part, found, strict=False)) for part in some]

    def _without(
        self, chart: Chart, r: int, users: list[int], found: dict[int, set[int]]
    ) -> dict[int, set[int]] | None:
        """Derive examples without a rule, in batches that double; None as soon as one cannot be."""
        if not all(found.values()):
            return None
        rest, done = [e for e in users if e not in found], 0
        while done < len(rest):
            batch = rest[done : 2 * done + 1]
            new = self._rules_used(chart, self.examples[batch], np.full(len(batch), r, np.int32))
            if not all(new):
                return None
            found, done = found | dict(zip(batch, new, strict=True)), done + len(batch)
        return found

    def _rules_used(self, chart: Chart, queries: Ids, banned: Ids) -> list[set[int]]:
        """Return the distinct rules of one derivation of each query; none if it cannot be derived."""
        return _rows(*self._derive(chart, queries, banned))

    def cover_store(self) -> None:
        """Let the arrays over rules cover all rules of the store."""
        more = len(self.store) - len(self.alive)
        if more:
            for name in ("alive", "_seed", "fresh", "_paired", "_valid", "_asked"):
                setattr(self, name, np.concatenate([getattr(self, name), np.zeros(more, np.bool_)]))
            self._valid[-more:] = True
            new = np.arange(len(self.store) - more, len(self.store), dtype=np.int32)
            self._hashes = np.concatenate([self._hashes, source_hashes(self.store.arrays, new[0])])

    def valid(self, rules: Ids) -> npt.NDArray[np.bool_]:
        """Tell which rules the output CFG allows; it is asked about each once, and only where that matters."""
        new, cfg = np.unique(rules[~self._asked[rules]]), self._output_cfg
        if len(new) and cfg:
            known = len(self._targets)
            targets = self._targets.add_sides(self.store, new, TARGET, erased=False)
            places = np.arange(known, len(self._targets), dtype=np.int32)
            arguments = (places, self._targets.arrays, cfg)
            found = self._engine.map(_are_typable, *arguments, doing="checking outputs of rules")
            self._typable = np.concatenate([self._typable, found])
            self._valid[new] = self._typable[targets]
        self._asked[new] = True
        return np.asarray(self._valid[rules])

    def removable(self) -> Ids:
        """Return the rules of the grammar that are no seeds."""
        return np.flatnonzero(self.alive & ~self._seed).astype(np.int32)

    def costliest(self, rules: Ids) -> Ids:
        """Order rules by what they cost, the costliest first."""
        return self._largest(rules, self.objective.costs(rules)[rules])

    def _largest(self, rules: Ids, cost: Costs) -> Ids:
        return rules[np.lexsort((rule_hashes(self.store.arrays, rules), -cost))]

    def _chart(self) -> Chart:
        arrays, rules = self.store.arrays, self.rules
        return Chart(build_trie(arrays, rules), max(1, max_arity(arrays, rules)))

    def _derive(self, chart: Chart, queries: Ids, banned: Ids) -> tuple[Ids, Costs]:
        """Derive rules, each without the one in `banned`; return the rules used, end to end, and their offsets."""
        both = np.stack([queries, banned], axis=1)
        used, offsets, items = self._derive_within(FIRST_ITEMS, chart, both)
        hard = np.flatnonzero(items > FIRST_ITEMS)
        if not len(hard):
            return used, offsets
        parts = np.split(used, offsets[1:-1])
        for start in range(0, len(hard), BATCH):
            if self._left <= 0:
                self.undecided += len(hard) - start
                break
            places = hard[start : start + BATCH]
            used, offsets, items = self._derive_within(ITEMS, chart, both[places])
            for place, part in zip(places, np.split(used, offsets[1:-1]), strict=True):
                parts[place] = part
            self.undecided += int((items > ITEMS).sum())
            log.progress(f"deriving {len(both):,} rules: {start + len(places):,} of {len(hard):,} ambiguous ones")
        return np.concatenate(parts), np.concatenate([[0], np.cumsum(list(map(len, parts)))])

    def _derive_within(self, most: int, chart: Chart, both: Ids) -> tuple[Ids, Costs, Costs]:
        """Derive rules with at most so many items each; also return how many each took."""
        state = (most, self.store.arrays, self.alive, chart.trie, chart.arity, self.config.max_units)
        found = self._engine.chunks(_derive, both, *state, doing="deriving rules")
        used, lengths, items = (
            np.concatenate(part) for part in zip(*((a, np.diff(b), c) for a, b, c in found), strict=True)
        )
        self._left -= int(items.sum())
        return used, np.concatenate([[0], np.cumsum(lengths)]), items

    def _remove(self, chart: Chart, order: Ids) -> None:
        """Remove, in this order, what the others derive."""
        hints, offsets = self._derive(chart, order, order)
        perhaps = np.flatnonzero(np.diff(offsets))  # the grammar only shrinks: what it does not derive, it never will
        parser = Parser(self.store.arrays, chart.trie, self.alive, chart.arity, self.config.max_units)
        rules, (hints, offsets), done = order[perhaps], take(hints, offsets, perhaps), 0
        while done < len(rules) and self._left > 0:
            arguments = (parser, untimed(ITEMS), rules[done:], hints, offsets[done:], CHUNK)
            used, ends, given_up, items = self._engine.call(remove_derivable, *arguments)
            gone = np.flatnonzero(np.diff(ends))
            self.derivations.note(rules[done + gone], used, np.append(ends[gone], ends[-1]))
            done, self._left, self.undecided = done + len(ends) - 1, self._left - items, self.undecided + given_up
            if done < len(rules):
                log.progress(f"removing derivable rules: {done:,} of {len(rules):,} checked")
        self.undecided += len(rules) - done

    def _find_pairs(self) -> None:
        """Bring `_pairs` up to date: drop those of removed rules, find those with new ones."""
        rules = self.rules
        self._paired &= self.alive
        self._pairs = self._pairs[self.alive[self._pairs[:, 0]] & self.alive[self._pairs[:, 1]]]
        new, old = rules[~self._paired[rules]], rules[self._paired[rules]]
        found = [self._pairs, self._unify(new, rules), self._unify(old, new)]
        self.cover_store()
        pairs = np.concatenate(found)
        kept = self._valid[pairs[:, 2]] & (pairs[:, 2] != pairs[:, 0])
        if self.careful:  # ⟨NT_1 NT_2, NT_2 NT_1⟩ says nothing about what it joins: it splits no rule
            kept &= ~without_terminals(self.store.arrays, pairs[:, 1])
        self._pairs = pairs[kept]
        self._paired[rules] = True

    def _unify(self, rules: Ids, partners: Ids) -> Ids:
        """Find all (r_c, g, r_add) with r_c in `rules`, not a seed, and g in `partners`."""
        table, config = build_table(self._hashes, partners), self.config
        shape = Shape(config.max_nonterminals, config.repeated_target, config.lone_target)
        state = (self.store.arrays, table, shape)
        found = self._engine.stream(_unify, rules[~self._seed[rules]], *state, doing="looking for candidates: rules")
        return np.concatenate([np.column_stack([pairs, self.store.add(candidates)]) for pairs, candidates in found])

    def _act(self) -> int:
        """Let each rule choose its best action, and execute them; return the number of actions."""
        # actions: candidate → the rules it removes (R_remove); and back: rule → its actions
        key = np.unique(self._pairs[:, 2].astype(np.int64) << 32 | self._pairs[:, 0])
        candidate, members = (key >> 32).astype(np.int32), (key & 0xFFFFFFFF).astype(np.int32)
        added, action, group_sizes = np.unique(candidate, return_inverse=True, return_counts=True)
        offsets = np.concatenate([[0], np.cumsum(group_sizes)])
        back = np.argsort(members, kind="stable")
        rules, choices = np.unique(members, return_counts=True)
        back_offsets = np.concatenate([[0], np.cumsum(choices)])
        self.candidates = len(added)

        cost, size = self.objective.costs(rules), self.objective.sizes()[added]
        saved = np.add.reduceat(cost[members], offsets[:-1])
        fixed = self.config.objective == "csl"  # that of NQG depends on the grammar
        known = self.alive[added] | ((cost[added] >= 0) & fixed)
        price = np.where(self.alive[added], 0, np.where(known, cost[added], size))  # a lower bound until it is known
        tie = np.empty(len(added), np.int64)
        tie[np.lexsort((rule_hashes(self.store.arrays, added), size))] = np.arange(len(added))
        while True:
            best = best_candidates(action[back], back_offsets, saved - price, tie)
            chosen = np.unique(best[best >= 0])
            invalid = chosen[~self.valid(added[chosen])]
            price[invalid], known[invalid] = TOO_DEAR, True
            todo = chosen[~known[chosen]]
            if not len(todo) and not len(invalid):
                break
            price[todo] = self.objective.costs(added[todo])[added[todo]]
            if not fixed:
                price[todo] += [self._added_bits(added[a], members[offsets[a] : offsets[a + 1]]) for a in todo]
            known[todo] = True
        order = chosen[np.lexsort((tie[chosen], (price - saved)[chosen]))]
        before = self.alive.copy()
        final = self.objective.costs(added[order]).copy()
        final[added[order]] = np.where(before[added[order]], final[added[order]], price[order])
        taken = execute(order, members, offsets, added, final, self.alive)
        self.fresh |= self.alive & ~before
        self._put_back(np.flatnonzero(before & ~self.alive).astype(np.int32))
        return int(taken)

    def _added_bits(self, r_add: int, removed: Ids) -> int:
        """Estimate what an action adds to the code length of the outputs, as NQG does, in units of the objective.

        It is seen on some of the examples that the new rule may be used in; the others count as these.
        """
        near = self.examples[touched(self.store.arrays, r_add, self.examples, False)]
        some = np.random.default_rng(self.config.seed).permutation(near)[: self.config.evidence]
        if not len(some):
            return 0
        after = self.alive.copy()
        after[r_add], after[removed] = True, False
        before, now = (output_bits(self._parser(alive), some) for alive in (self.alive, after))
        if not np.isfinite(now):
            return NO_OUTPUT * UNIT
        return round((now - before) * len(near) / len(some) * UNIT) if np.isfinite(before) else 0

    def _parser(self, alive: npt.NDArray[np.bool_]) -> Parser:
        """Build a parser of some rules."""
        arrays, rules = self.store.arrays, np.flatnonzero(alive).astype(np.int32)
        return Parser(arrays, build_trie(arrays, rules), alive, max(1, max_arity(arrays, rules)), self.config.max_units)

    def _put_back(self, removed: Ids) -> None:
        """Put back the rules that are not derivable now that all actions are executed.

        Most are made up by one of their pairs; only the others need a look.
        """
        pairs = self._pairs[self.alive[self._pairs[:, 1:]].all(axis=1)]
        made_up, first = np.unique(pairs[:, 0], return_index=True)
        self.derivations.note(made_up, pairs[first, 1:].ravel(), np.arange(0, 2 * len(first) + 1, 2))
        rest = np.setdiff1d(removed, made_up)
        used, offsets = self._derive(self._chart(), rest, np.full(len(rest), -1, np.int32))
        self.derivations.note(rest, used, offsets)
        self.alive[rest[np.diff(offsets) == 0]] = True


def without_terminals(rules: Rules, ids: Ids) -> npt.NDArray[np.bool_]:
    """Tell which rules are made of nonterminals alone."""
    terminals = np.concatenate([[0], np.cumsum(rules.values > 0)])
    return np.asarray(terminals[rules.begin[ids + 1]] == terminals[rules.begin[ids]])


def _rows(values: Ids, offsets: Costs) -> list[set[int]]:
    """Give the distinct values of each row."""
    numbers = values.tolist()
    return [set(numbers[a:b]) for a, b in itertools.pairwise(offsets.tolist())]


def _are_derivations(places: Ids, examples: Ids, values: Ids, offsets: Costs, parser: Parser) -> npt.NDArray[np.bool_]:
    """Tell whether examples can be derived by the rules of their derivations alone."""
    return np.asarray(are_derivations(parser, untimed(ITEMS), examples[places], *take(values, offsets, places)))


def _are_typable(ids: Ids, targets: Rules, output_cfg: CompiledCfg) -> npt.NDArray[np.bool_]:
    """Tell which targets, kept as sources, the output CFG derives."""
    return typable(output_cfg, *sides(targets, ids, SOURCE))


def _derive(
    queries: Ids, most: int, rules: Rules, alive: npt.NDArray[np.bool_], trie: Trie, arity: int, max_units: int
) -> tuple[Ids, Costs, Costs]:
    """Derive rules (first column), each without another (second column), by those that are alive."""
    parser, (ids, banned) = Parser(rules, trie, alive, arity, max_units), queries.T.copy()
    found: tuple[Ids, Costs, Costs] = derive_rules(parser, untimed(most), ids, banned)
    return found


def _unify(ids: Ids, rules: Rules, table: Table, shape: Shape) -> tuple[Ids, Rules]:
    """Find the candidates of rules with partners in a table."""
    found: tuple[Ids, Rules] = unify(rules, table, ids, shape)
    return found
