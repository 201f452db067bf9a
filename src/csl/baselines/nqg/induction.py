"""NQG's grammar induction (Shaw et al. 2021): one rule at a time, the one that shortens the code most.

The grammar starts with a rule for each distinct example and identity rules for the tokens that both sides share. A
candidate is a rule that, with a rule that is derivable already, makes up an existing rule; `csl.kernels.nqg_split`
finds them. Its gain is what the rules that it removes cost, less its own cost, less what it adds to the cost of the
outputs given the inputs: log₂ of the derivations of an input by those of the pair, estimated on a few of the examples
that the candidate may touch. The best candidate is added, and what is then derivable goes, until nothing gains.

A derivation, once possible, stays so: candidates are looked for only in rules that the last addition touches. The cost
of outputs is looked at again only for the candidate that seems best, and for all before the search ends.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.baselines.nqg.config import MAX_NONTERMINALS, NqgInductionConfig
from csl.engine import ONE_THREAD
from csl.errors import InputError
from csl.examples import Example
from csl.grammar import Grammar, Rule
from csl.grammar.store import RuleStore
from csl.grammar.vocabulary import Vocabulary
from csl.kernels.budget import untimed
from csl.kernels.derive import Parser, build_trie, derive_rules, remove_derivable
from csl.kernels.flat import take
from csl.kernels.nqg_split import splits, touched
from csl.kernels.unify import Shape
from csl.parsing.code_length import output_bits

Ids = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

PARENTHESES = ("(", ")")
UNBOUNDED = 2**62  # items


class Addition(NamedTuple):
    """The result of a step of the search."""

    step: int
    rule: Rule
    gain: float
    rules: int  # of the grammar now


def induce(
    examples: Sequence[Example],
    config: NqgInductionConfig,
    progress: Callable[[Addition], None] = lambda _: None,
) -> Grammar:
    """Induce a grammar that derives every example."""
    if not examples:
        raise InputError("no examples to induce a grammar from")
    for k, example in enumerate(examples, start=1):
        if not example.source or not example.target:
            raise InputError(f"example {k} has an empty side")
    ordered = sorted(set(examples), key=lambda e: (len(e.source), e.source, e.target))
    vocabulary, store = Vocabulary(), RuleStore()
    ids = store.add_rules(ordered, vocabulary)
    learnt = ids[: config.sample_size or None]
    shared = sorted({token for e in ordered[: len(learnt)] for token in set(e.source) & set(e.target)})
    seeds = [Rule((token,), (token,)) for token in shared if token not in PARENTHESES]
    parentheses = vocabulary.get(PARENTHESES[0]), vocabulary.get(PARENTHESES[1])
    search = Search(store, learnt, store.add_rules(seeds, vocabulary), parentheses, config)
    step = 0
    while (added := search.step()) is not None:
        step += 1
        progress(Addition(step, store.rule(added[0], vocabulary), added[1], int(search.alive.sum())))
    search.add_underivable(ids)
    rules = [store.rule(int(r), vocabulary) for r in np.flatnonzero(search.alive)]
    return Grammar(sorted(rules, key=lambda rule: (rule.arity, str(rule))))


class Search:
    """A grammar in the making: rules of a store that are alive, among them seeds, which stay."""

    def __init__(
        self, store: RuleStore, examples: Ids, seeds: Ids, parentheses: tuple[int, int], config: NqgInductionConfig
    ) -> None:
        self._store, self._config, self._parentheses = store, config, parentheses
        self._drawn = np.random.default_rng(config.seed).permutation(examples)  # evidence is taken in this order
        self.alive, self._seed = np.zeros(0, np.bool_), np.zeros(0, np.bool_)
        self._size = np.zeros(0)
        self._saved = np.zeros(0)  # candidate → code length of the rules it removes
        self._added = np.zeros(0)  # candidate → what it adds to the cost of outputs, as seen last
        self._seen = np.zeros(0, np.int64)  # candidate → the step when that was
        self._candidates: dict[int, Ids] = {}  # rule alive → the candidates found for it
        self._step = 1
        self._cover_store()
        self.alive[examples] = self.alive[seeds] = self._seed[seeds] = True
        self._trie = self._parser(self.alive).trie
        self._remove_derivable(self._splittable())
        self._split(self._splittable())

    def step(self) -> tuple[int, float] | None:
        """Add the best candidate; return it and its gain, or None if nothing gains."""
        best = self._best()
        if best is None:
            return None
        c, gain = best
        self._step += 1
        self.alive[c] = True
        self._trie = self._parser(self.alive).trie
        near = self._splittable()
        near = near[touched(self._store.arrays, c, near, True)]
        self._remove_derivable(near)
        self._split(near[self.alive[near]])
        return c, gain

    def add_underivable(self, examples: Ids) -> None:
        """Add the examples that the grammar does not derive."""
        _, offsets = self._derivations(examples, np.full(len(examples), -1, np.int32))
        self.alive[examples[np.diff(offsets) == 0]] = True

    def _best(self) -> tuple[int, float] | None:
        """Find the candidate that gains most. Candidates that seem best are looked at, until the best one has been."""
        again = False
        while True:
            gain = np.where(self.alive, -np.inf, self._saved - self._size - self._added)
            c = int(np.argmax(gain))
            if gain[c] > 0:
                if self._seen[c] == self._step:
                    return c, float(gain[c])
                self._added[c], self._seen[c] = self.cost_of_outputs(c), self._step
            elif again:
                return None
            else:  # what was seen in an earlier step may hold no longer
                self._added[self._seen < self._step] = 0.0
                again = True

    def cost_of_outputs(self, c: int) -> float:
        """Estimate what candidate c, without the rules that it removes, adds to the code length of the outputs."""
        near = self._drawn[touched(self._store.arrays, c, self._drawn, False)]
        evidence = near[: self._config.evidence]
        if not len(evidence):
            return 0.0
        rules = self._splittable()
        gone = [r for r in rules[touched(self._store.arrays, c, rules, True)].tolist() if c in self._candidates[r]]
        after = self.alive.copy()
        after[c], after[gone] = True, False
        before, now = (output_bits(self._parser(alive), evidence) for alive in (self.alive, after))
        return (now - before) * len(near) / len(evidence) if np.isfinite(now) else np.inf

    def _splittable(self) -> Ids:
        return np.flatnonzero(self.alive & ~self._seed).astype(np.int32)

    def _parser(self, alive: Mask) -> Parser:
        """Build a parser of some rules."""
        rules = self._store.arrays
        trie = build_trie(rules, np.flatnonzero(alive).astype(np.int32))
        return Parser(rules, trie, alive, MAX_NONTERMINALS, 0)

    def _current(self) -> Parser:
        """Return a parser of the rules alive; the trie serves for as long as rules only go."""
        return Parser(self._store.arrays, self._trie, self.alive, MAX_NONTERMINALS, 0)

    def _derivations(self, rules: Ids, banned: Ids) -> tuple[Ids, npt.NDArray[np.int64]]:
        used, offsets, _ = ONE_THREAD.call(derive_rules, self._current(), untimed(), rules, banned)
        return used, offsets

    def _remove_derivable(self, rules: Ids) -> None:
        """Remove those of the rules that the others derive, the longest code first."""
        order = rules[np.argsort(-self._size[rules], kind="stable")]
        hints, offsets = self._derivations(order, order)
        perhaps = np.flatnonzero(np.diff(offsets))
        kept = take(hints, offsets, perhaps)
        ONE_THREAD.call(remove_derivable, self._current(), untimed(), order[perhaps], *kept, UNBOUNDED)
        for r in order[perhaps][~self.alive[order[perhaps]]]:
            self._saved[self._candidates.pop(int(r), [])] -= self._size[r]

    def _split(self, rules: Ids) -> None:
        """Find the candidates for these rules again."""
        shape = Shape(MAX_NONTERMINALS, self._config.repeated_target, self._config.lone_target)
        origin, candidates = ONE_THREAD.call(splits, self._current(), untimed(), rules, self._parentheses, shape)
        ids, found = self._store.add(candidates), origin[:, 0]
        self._cover_store()
        bounds = np.searchsorted(found, rules)  # wrong if rules are not ascending
        for k, r in enumerate(rules.tolist()):
            stop = bounds[k + 1] if k + 1 < len(rules) else len(found)
            self._saved[self._candidates.get(r, [])] -= self._size[r]
            new = np.unique(ids[bounds[k] : stop])
            self._candidates[r] = new = new[new != r]
            self._saved[new] += self._size[r]

    def _cover_store(self) -> None:
        """Let the arrays over rules cover all rules of the store."""
        known = len(self.alive)
        more = len(self._store) - known
        if more:
            unit = 1 << 20
            sizes = self._store.sizes(round(self._config.k_t * unit), round(self._config.k_nt * unit), known) / unit
            self._size = np.concatenate([self._size, sizes])
            for name in ("alive", "_seed", "_saved", "_added", "_seen"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros(more, array.dtype)]))
