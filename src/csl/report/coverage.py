"""What the grammar does not cover: inputs without an output, and rule pairs that training never shows.

An input gets no output because no rule knows a token, no rules fit together, or only outputs are derived that are not
valid. Of some such inputs, the largest parts that the grammar derives are found; that costs O(n³) for n tokens.

A rule pair is a rule in a place: at nonterminal i of another rule, or at the top of a derivation. It is new if no
derivation of any training pair has it. An input depends on new pairs if every derivation of its pair has some; those of
a derivation with fewest are listed. Unlabelled inputs are taken with the output that the grammar gives them.

Annotating an input is taken to teach the new pairs and the unknown tokens that it has. What else an input with unknown
tokens needs is not known, nor what an input needs that no rules fit: such inputs are not counted.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from csl.engine import ONE_THREAD, Threads
from csl.examples import Example
from csl.report.derivations import Bools, ContextRule, Derivations, Reading, evenly

UNCOVERED, TOKENS = 200, 50
PAIRS, INPUTS, SUGGESTIONS = 300, 300, 10
PAIR_INPUTS = 20  # of those, that are listed for a pair
UNKNOWN, NO_RULE, INVALID = "unknown tokens", "no rule", "no valid output"

Lacks = frozenset[ContextRule | str]
"""Rule pairs that training never shows, and tokens that no rule knows."""


@dataclass(frozen=True)
class UncoveredInput:
    """An input without an output."""

    input: str
    output: str | None  # the expected one; None if it is unlabelled
    reason: str
    unknown: list[str]  # its tokens that are in no rule's source
    spans: list[tuple[int, int]]  # the parts [i, j) of it, in tokens, that the grammar does derive


@dataclass(frozen=True)
class Uncovered:
    """Inputs without an output, and why."""

    of: str  # test, or unlabelled if there is no test set
    inputs_total: int
    covered: int  # some derivation gives the input, with whatever output
    derivable: int | None  # some derivation gives the input and its output; None without test set
    total: int  # inputs without an output
    reasons: dict[str, int]
    unknown_tokens: list[tuple[str, int]]  # with the number of inputs, most frequent first
    inputs: list[UncoveredInput]  # some of them


def describe_uncovered(
    of: str,
    sources: Sequence[tuple[str, ...]],
    examples: Sequence[Example],
    readings: Sequence[Reading | None],
    derivations: Derivations,
    engine: Threads = ONE_THREAD,
) -> Uncovered:
    """Describe the inputs that have no reading; `examples` are their pairs, or empty if they are unlabelled."""
    deriver = derivations.deriver
    covered = deriver.covered(sources, engine).tolist()
    tokens: Counter[str] = Counter()
    found: list[tuple[int, str, list[str]]] = []
    for k, source in enumerate(sources):
        if not readings[k]:
            unknown = deriver.unknown_tokens(source)
            tokens.update(unknown)
            found.append((k, INVALID if covered[k] else UNKNOWN if unknown else NO_RULE, unknown))
    counts = Counter(reason for _, reason, _ in found)
    return Uncovered(
        of=of,
        inputs_total=len(sources),
        covered=sum(covered),
        derivable=int(deriver.derivable(examples, engine).sum()) if examples else None,
        total=len(found),
        reasons={reason: counts[reason] for reason in (UNKNOWN, NO_RULE, INVALID)},
        unknown_tokens=sorted(tokens.items(), key=lambda item: (-item[1], item[0]))[:TOKENS],
        inputs=[
            UncoveredInput(
                input=" ".join(sources[k]),
                output=examples[k].target_text if examples else None,
                reason=reason,
                unknown=unknown,
                spans=deriver.covered_spans(sources[k]) if reason != INVALID else [],
            )
            for k, reason, unknown in evenly(found, UNCOVERED)
        ],
    )


@dataclass(frozen=True)
class RulePair:
    """A rule in a place where no derivation of a training pair has it."""

    parent: int | None  # None: at the top of a derivation
    slot: int  # the nonterminal of the parent, counted from 1; 0 at the top
    child: int
    total: int  # inputs that depend on it
    inputs: list[int]  # some of them, as places in `inputs` of the coverage


@dataclass(frozen=True)
class Dependent:
    """An input that every derivation derives with new rule pairs, and those of a derivation with fewest."""

    input: str
    output: str  # the expected one, or the parser's output for an unlabelled input
    right: bool | None  # whether the parser has it correct all the same
    pairs: list[int]  # places in `pairs` of the coverage


@dataclass(frozen=True)
class Suggestion:
    """An input that is worth annotating: an unlabelled one if there are any, otherwise one of the test set."""

    input: str
    adds: int  # inputs that then depend on nothing new any more, this one included
    pairs: list[int]  # what it adds: places in `pairs` of the coverage
    tokens: list[str]  # what it adds: tokens that no rule knows


@dataclass(frozen=True)
class Coverage:
    """Compositional coverage: rule pairs that inputs need and that training never shows."""

    of: str  # test, or unlabelled if there is no test set
    inputs_total: int
    derived: int  # inputs that the grammar derives
    dependent: int  # of these, that depend on new rule pairs
    right_known: int | None  # derived inputs without new pairs that the parser has correct; None without test set
    right_dependent: int | None  # dependent inputs that the parser has correct
    pairs_total: int  # distinct new rule pairs
    train_pairs: int  # distinct rule pairs in derivations of training pairs
    pairs: list[RulePair]  # those that most inputs depend on first
    inputs: list[Dependent]
    suggest: list[Suggestion]  # each counts what those before it leave


def describe_coverage(
    of: str,
    train: Sequence[Example],
    examples: Sequence[Example],
    right: Sequence[bool] | None,
    derivations: Derivations,
    pool: Sequence[Example] = (),
) -> Coverage:
    """Describe what is new in the examples, and which of the pool, or of themselves, are worth annotating.

    `right` tells which of them the parser has correct, if that is known. An unlabelled input that the grammar does not
    cover has no tokens in its output.
    """
    known = derivations.rule_pairs(list(dict.fromkeys(train)))
    new, needs = _lacks(examples, known, derivations)
    offers = _lacks(pool, known, derivations)[1] if pool else needs
    dependent = [k for k, pairs in enumerate(new) if pairs]
    total = Counter(pair for pairs in new for pair in pairs or ())
    order = sorted(total, key=lambda pair: (-total[pair], pair))[:PAIRS]
    place: dict[ContextRule | str, int] = {pair: n for n, pair in enumerate(order)}

    def places(lacks: Lacks) -> list[int]:
        return sorted(place[lack] for lack in lacks if lack in place)

    inputs = [
        Dependent(
            examples[k].source_text, examples[k].target_text, None if right is None else right[k], places(needs[k])
        )
        for k in evenly(dependent, INPUTS)
    ]

    def rule_pair(pair: ContextRule) -> RulePair:
        parent, slot = derivations.context(pair[0]) or (None, 0)
        found = [k for k, row in enumerate(inputs) if place[pair] in row.pairs][:PAIR_INPUTS]
        return RulePair(None if parent is None else parent + 1, slot, pair[1] + 1, total[pair], found)

    sources = [example.source for example in pool or examples]
    return Coverage(
        of=of,
        inputs_total=len(examples),
        derived=sum(pairs is not None for pairs in new),
        dependent=len(dependent),
        right_known=None if right is None else sum(right[k] for k, p in enumerate(new) if p == frozenset()),
        right_dependent=None if right is None else sum(right[k] for k in dependent),
        pairs_total=len(total),
        train_pairs=int(known.sum()),
        pairs=[rule_pair(pair) for pair in order],
        inputs=inputs,
        suggest=[
            Suggestion(" ".join(source), filled, places(gives), sorted(x for x in gives if isinstance(x, str)))
            for source, filled, gives in choose(needs, list(zip(sources, offers, strict=True)), SUGGESTIONS)
        ],
    )


def _lacks(
    examples: Sequence[Example], known: Bools, derivations: Derivations
) -> tuple[list[frozenset[ContextRule] | None], list[Lacks]]:
    """Give the new rule pairs that each pair depends on, None if it is not derived; and what each input lacks.

    An input lacks the new rule pairs or, if it is not derived, the tokens that no rule knows.
    """
    new = [
        frozenset(pair for pair in derivations.pairs_of(rules) if not known[pair]) if rules else None
        for rules in derivations.best(examples, avoid=~known)
    ]
    unknown = derivations.deriver.unknown_tokens
    lacks: list[Lacks] = [
        frozenset(unknown(example.source)) if pairs is None else pairs
        for example, pairs in zip(examples, new, strict=True)
    ]
    return new, lacks


Source = tuple[str, ...]


def choose(
    needs: Iterable[Lacks], offers: Sequence[tuple[Source, Lacks]], number: int
) -> list[tuple[Source, int, Lacks]]:
    """Choose up to `number` of the offers, inputs with what they lack, to fill needs.

    Each time it is the one that leaves most inputs without a lack; among equals the one that gives what most inputs
    lack, then the shortest. Returns the input, how many inputs it leaves without a lack, and what it gives to any.
    """
    shortest: dict[Lacks, Source] = {}
    for source, lacks in sorted(offers, key=lambda offer: (len(offer[0]), offer[0])):
        shortest.setdefault(lacks, source)
    chosen: list[tuple[Source, int, Lacks]] = []
    left = Counter(need for need in needs if need)
    while shortest and left and len(chosen) < number:
        wanted: Counter[ContextRule | str] = Counter()  # how many inputs lack each thing
        for need, count in left.items():
            wanted.update(dict.fromkeys(need, count))
        worth = {offer: (filled, sum(wanted[x] for x in offer)) for offer, filled in _filled(left, wanted, shortest)}
        best = max(shortest, key=worth.__getitem__)
        if not worth[best][0]:
            break
        chosen.append((shortest[best], worth[best][0], frozenset(x for x in best if wanted[x])))
        rest: Counter[Lacks] = Counter()
        for need, count in left.items():
            rest[need - best] += count
        del rest[frozenset()]
        left = rest
    return chosen


def _filled(
    needs: Mapping[Lacks, int], wanted: Mapping[ContextRule | str, int], offers: Iterable[Lacks]
) -> Iterable[tuple[Lacks, int]]:
    """Count for each offer the inputs that lack nothing else.

    A need is looked for under the rarest thing in it only, so that all of this costs about as much as there are things
    lacking.
    """
    under: dict[ContextRule | str, list[Lacks]] = {}
    for need in needs:
        under.setdefault(min(need, key=wanted.__getitem__), []).append(need)
    for offer in offers:
        yield offer, sum(needs[need] for lack in offer for need in under.get(lack, ()) if need <= offer)
