"""Moves of several rules at once, made when the greedy search has come to its end (`search = "deep"`, or `"auto"`).

The greedy search only makes up a rule from rules that are there. In SCAN `left` never stands alone, so ⟨left,
I_TURN_LEFT⟩ is never tried. Two moves lead on from there; after each the greedy search resumes.

(anti-unification) Rules that are equal but for one pair of spans, as ⟨NT_1 opposite left, L L NT_1⟩ and ⟨NT_1 opposite
    right, R R NT_1⟩, are replaced by what they share, ⟨NT_1 opposite NT_2, NT_2 NT_2 NT_1⟩, and what fills it, ⟨left,
    L⟩ and ⟨right, R⟩. The objective falls by their costs less those of the rules that are new.
(repair) A rule that was good when it came may stand in the way of better ones, as ⟨NT_1 around, NT_1 L NT_1 L NT_1 L
    NT_1⟩ does. It is removed, and the examples that need it are learnt again, the shortest first. This is kept if the
    objective falls, and undone otherwise.

Splits are found by hashing (`csl.kernels.holes`), in time linear in the number of rules. Repair tries each rule once,
on at most `SOME` examples and for a few steps, and gives up after `REPAIRS` failures. Rules that write the same around
what another rule of their source writes are tried together, too. There are no moves in grammars of more than `LARGEST`
rules, nor where derivations are too ambiguous to decide what is needed: they would take too long.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from csl.engine import ONE_THREAD
from csl.induction.config import InductionConfig
from csl.induction.objective import UNIT, Costs, Ids
from csl.induction.search import Search, Snapshot
from csl.kernels.flat import Rules
from csl.kernels.holes import HOLE, source_holes, target_holes
from csl.kernels.store import rule_hashes
from csl.log import Log

log = Log("induce")
MOST = 2 / 3  # of the objective may be left for `auto` to keep the moves: they make up for a missing foothold
LARGEST = 3000  # rules of a grammar in which moves are made
ROUNDS = 20  # of moves, at most
LONGEST = 32  # symbols of a target that is split: splits are quadratic in them
SPLITS = 1000  # groups of splits that are looked at, those that may save most
REPAIRS = 8  # rules that are tried in a row without success, the costliest
SOME = 1000  # examples that tell what needs a rule, the shortest
AGAIN = 16  # examples that are learnt again at a time
STEPS = 4  # of the greedy search before it is seen whether a repair helps

Keys = npt.NDArray[np.uint64]
Sides = tuple[tuple[int, ...], tuple[int, ...]]


class Compound(NamedTuple):
    """An action of several rules: `outer` and a rule of `inner` make up the rule of `members` at the same place."""

    outer: int
    inner: Ids
    members: Ids


class Best(NamedTuple):
    """The best grammar so far: to go back to, its objective, and how many examples use each rule."""

    state: Snapshot
    total: int
    uses: dict[int, int] | None


def deepen(search: Search) -> dict[int, int] | None:
    """Make moves until none lowers the objective; return how many examples use each rule, None if there was none."""
    if len(search.rules) > LARGEST:
        log.info(f"{len(search.rules):,} rules are too many for moves of several rules: there are none")
        return None
    best, tried = Best(search.snapshot(), search.total(), None), set[tuple[int, ...]]()
    search.careful, start = True, best
    for _ in range(ROUNDS):
        if ONE_THREAD.call(anti_unify, search):
            best = _finished(search, best)
        if not _repair_one(search, tried):
            break
    if search.total() < best.total:
        best = _finished(search, best)
    if search.config.search == "auto" and best.total > MOST * start.total:
        search.restore(start.state)
        return None
    return best.uses


def _finished(search: Search, best: Best) -> Best:
    """Remove what no example needs; go back to the best grammar if it is better still."""
    uses = search.finish()
    if _descend(search, search.config.steps):  # there may be examples that no move looked at
        uses = search.finish()
    if search.total() >= best.total:
        search.restore(best.state)
        return best
    log.progress(f"moves of several rules: objective {search.total() / UNIT:,.0f}, {len(search.rules):,} rules")
    return Best(search.snapshot(), search.total(), uses)


def _descend(search: Search, steps: int) -> bool:
    """Let the greedy search go on; return whether it found anything."""
    left = steps
    while left and search.step():
        left -= 1
    return left < steps


# anti-unification


def anti_unify(search: Search) -> bool:
    """Execute compound actions, and descend, until none saves anything; return whether any did."""
    rounds = 0
    while rounds < ROUNDS and _act(search):
        _descend(search, search.config.steps)
        rounds += 1
    return rounds > 0


def _act(search: Search) -> bool:
    """Execute the compound actions that save something, those first whose new rules serve most."""
    found = compounds(search)
    if not found:
        return False
    cost = search.objective.costs(np.concatenate([np.append(c.inner, [c.outer, *c.members]) for c in found]))
    serves = np.bincount(np.concatenate([c.inner for c in found]))
    price = np.where(search.alive, 0, cost)
    shared = [int(cost[c.members].sum() - price[c.outer] - (price[c.inner] // serves[c.inner]).sum()) for c in found]
    tie = rule_hashes(search.store.arrays, np.array([c.outer for c in found], np.int32))
    taken = False
    for k in np.lexsort((tie, -np.array(shared))):
        action = worthwhile(search, found[k], cost)
        if saved(search, action, cost) > 0:
            search.replace(np.append(action.inner, np.int32(action.outer)), action.members)
            taken = True
    return taken


def worthwhile(search: Search, action: Compound, cost: Costs) -> Compound:
    """Leave out the rules that are gone, those that cost no more than what fills their place, and those that do so."""
    price = np.where(search.alive[action.inner], 0, cost[action.inner])
    parts = np.isin(action.members, np.append(action.inner, np.int32(action.outer)))
    kept = search.alive[action.members] & (cost[action.members] > price) & ~parts
    return Compound(action.outer, action.inner[kept], action.members[kept])


def saved(search: Search, action: Compound, cost: Costs) -> int:
    """Give what the objective falls by: the costs of the rules that go less those of the rules that come."""
    added = np.unique(np.append(action.inner, np.int32(action.outer)))
    return int(cost[action.members].sum() - cost[added[~search.alive[added]]].sum())


def compounds(search: Search) -> list[Compound]:
    """Find the rules that are equal but for one pair of spans: each outer part with all that fills it."""
    rules, config = search.store.arrays, search.config
    some = search.removable()
    some = some[rules.begin[some + 1] - rules.middle[some] <= LONGEST]
    keys, rows = _shared(*source_holes(rules, some))
    rows = _promising(search, *_shared(*target_holes(rules, keys, rows)))
    known = search.splits
    new = [row for row in map(tuple, rows.tolist()) if row not in known]
    parts = [part for row in new for part in _split(rules, *row)]
    ids = search.store.add(_encoded(parts))
    search.cover_store()
    good = search.valid(ids) & np.array([_allowed(part, config) for part in parts], np.bool_)
    known.update(zip(new, zip(ids[::2].tolist(), ids[1::2].tolist(), good[::2] & good[1::2], strict=True), strict=True))
    both = np.array([known[row] for row in map(tuple, rows.tolist())], np.int32).reshape(-1, 3)
    both, members = both[both[:, 2] > 0], rows[both[:, 2] > 0, 0].astype(np.int32)
    order = np.argsort(both[:, 0], kind="stable")
    outer, inner, members = both[order, 0], both[order, 1], members[order]
    cuts = np.flatnonzero(np.diff(outer)) + 1
    groups = zip(np.split(outer, cuts), np.split(inner, cuts), np.split(members, cuts), strict=True)
    return [Compound(int(o[0]), f, r) for o, f, r in groups if len(o) > 1]


def _shared(keys: Keys, rows: Costs) -> tuple[Keys, Costs]:
    """Keep the rows whose key another row has."""
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    kept = counts[inverse] > 1
    return keys[kept], rows[kept]


def _promising(search: Search, keys: Keys, rows: Costs) -> Costs:
    """Keep the splits of the groups that save most, if the parts cost no more than their size."""
    values, size = search.store.arrays.values, search.objective.sizes()
    terminal, nonterminal = (round(k * UNIT) for k in (search.config.k_t, search.config.k_nt))
    weight = np.concatenate([[0], np.cumsum(np.where(values > 0, terminal, nonterminal))])
    r, i, j, a, b, holes = rows.T
    source, target = weight[j] - weight[i], weight[b] - weight[a]
    rest = size[r] - source - holes * target + (1 + holes) * nonterminal
    groups, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    gain = -rest[first]
    np.add.at(gain, inverse, np.maximum(search.objective.costs(search.rules)[r] - source - target, 0))
    chosen = np.zeros(len(groups), np.bool_)
    chosen[np.lexsort((groups, -gain))[:SPLITS]] = True
    return rows[(chosen & (gain > 0))[inverse]]


def _split(rules: Rules, r: int, i: int, j: int, a: int, b: int, _: int) -> tuple[Sides, Sides]:
    """Split a rule into its outer and its inner part."""
    values, begin, middle = rules
    target, span = values[middle[r] : begin[r + 1]].tolist(), values[a:b].tolist()
    rest, p = [], 0
    while p < len(target):
        found = target[p : p + len(span)] == span
        rest.append(HOLE if found else target[p])
        p += len(span) if found else 1
    source = [*values[begin[r] : i].tolist(), HOLE, *values[j : middle[r]].tolist()]
    return _numbered(source, rest), _numbered(values[i:j].tolist(), span)


def _numbered(source: Sequence[int], target: Sequence[int]) -> Sides:
    """Renumber the nonterminals of a rule from left to right."""
    names = {s: -k for k, s in enumerate((s for s in source if s < 0), start=1)}
    return tuple(names.get(s, s) for s in source), tuple(names.get(s, s) for s in target)


def _allowed(rule: Sides, config: InductionConfig) -> bool:
    """Tell whether the options allow a rule, and it keeps precision.

    Any rules with a common prefix share ⟨prefix NT_1, NT_1⟩, and ⟨NT_1 NT_2, NT_2 - NT_1⟩ applies to any two spans:
    both are cheap, and make most inputs ambiguous.
    """
    source, target = rule
    inside = [s for s in target if s < 0]
    nonterminals = sum(s < 0 for s in source)
    if target == (-1,) or nonterminals == len(source) or nonterminals > config.max_nonterminals:
        return False
    return config.repeated_target or len(inside) == len(set(inside))


def _encoded(rules: Sequence[Sides]) -> Rules:
    """Lay rules end to end."""
    ends = np.cumsum([0, *(len(side) for rule in rules for side in rule)])
    values = np.array([s for rule in rules for side in rule for s in side], np.int32)
    return Rules(values, ends[::2].copy(), ends[1::2].copy())


# repair


def _repair_one(search: Search, tried: set[tuple[int, ...]]) -> bool:
    """Repair the first rule or group that can be, the costliest first; give up after `REPAIRS` that cannot."""
    some = search.examples[:SOME]
    users: dict[int, set[int]] = {}
    for example, derivation in zip(some.tolist(), search.derive(some), strict=True):
        for r in derivation:
            users.setdefault(r, set()).add(example)
    rules = np.array([r for r in search.removable() if len(users.get(r, ())) > 1], np.int32)
    rules = search.costliest(rules)
    cost, place = search.objective.costs(rules), {r: k for k, r in enumerate(rules.tolist())}
    groups = {*writing_more(search, rules), *((r,) for r in place)} - tried
    order = sorted(groups, key=lambda group: (-int(cost[list(group)].sum()), [place[r] for r in group]))
    for group in order[:REPAIRS]:
        tried.add(group)
        needed = sorted(set().union(*(users[r] for r in group)))
        if ONE_THREAD.call(repair, search, np.array(group, np.int32), np.array(needed, np.int32)):
            return True
    return False


def writing_more(search: Search, rules: Ids) -> list[tuple[int, ...]]:
    """Group the rules that write the same around the target of another rule of their source."""
    values, begin, middle = search.store.arrays
    sides = {
        r: (tuple(values[begin[r] : middle[r]].tolist()), tuple(values[middle[r] : begin[r + 1]].tolist()))
        for r in search.rules.tolist()
    }
    targets: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for source, target in sides.values():
        targets.setdefault(source, []).append(target)
    groups: dict[Sides, list[int]] = {}
    for r in rules.tolist():
        source, target = sides[r]
        for less in targets[source]:
            at = next((k for k in range(len(target) - len(less) + 1) if target[k : k + len(less)] == less), -1)
            if at >= 0 and len(less) < len(target):
                groups.setdefault((target[:at], target[at + len(less) :]), []).append(r)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def repair(search: Search, rules: Ids, users: Ids) -> bool:
    """Remove rules, and learn again what then is no longer derivable; undo it unless the objective falls."""
    state, before, done, batch = search.snapshot(), search.total(), 0, AGAIN
    search.replace(users[:0], rules)
    while done < len(users):
        some = users[done : done + batch]
        missing = some[[not derivation for derivation in search.derive(some)]]
        if not len(missing):
            done, batch = done + batch, 2 * batch
            continue
        search.replace(missing[:AGAIN], users[:0])
        _descend(search, STEPS)
        if search.total() >= before:
            break
    if done < len(users):
        search.restore(state)
        return False
    _descend(search, search.config.steps)
    return True
