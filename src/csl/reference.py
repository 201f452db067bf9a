"""The whole method in plain Python, to read from top to bottom: examples → grammar → model → new examples.

It follows Qiu et al. 2022, "Improving Compositional Generalization with Latent Structure and Data Augmentation", and
keeps its letters. No command uses it: the rest of the package does the same, fast, and `tests/test_reference.py` checks
that the results are the same. In this order, with what it costs:

    UNIFY                 Figure 4              unify               O(n) spans for a pair of rules
    objective             Eqs. 6 and 7          occurs, cost        O(|D| n²) for a rule
    derivations           §2, §3.1.1            Chart, derivable    exponential in the nonterminals of a rule
    greedy search         §3.1.4, appendix B.3  Search              O(|G|²) calls of UNIFY and |G| charts a step
    probabilistic model   Eqs. 3, 4, 8 and 9    Model               O(|S|) for p(r | r_p, i)
    inference             Eq. 1, §3.1.5         inside, viterbi     O(|S|) for an application in the chart
    learning θ            §3.1.3                fit                 a visit to each derivation of each pair, per pass
    sampling              §3.2, appendix C.6    tempered, forward   a visit to each derivation within the depth
                                                sample              draws until one is accepted

A hundred short examples take some seconds. What the paper does not say: logarithms in the objective are base 2; the
source of a new rule is never a lone nonterminal; partitions order examples by the length of their input in characters.
Not here: estimating p̂ from a sample of the examples, and parsing with an output CFG (callers pass `valid` instead).
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations, pairwise, product
from math import exp, fsum, log, log2, prod
from typing import NamedTuple, TypeVar

from csl.examples import Example
from csl.grammar import Nt, Rule, Symbol, parse_rule
from csl.parsing.derivation import Derivation

Side = tuple[Symbol, ...]
V = TypeVar("V")

NEW = Nt(10**6)  # a nonterminal that no rule has
JUMP, WALK = parse_rule("jump ### JUMP"), parse_rule("walk ### WALK")  # the rules of Figure 3, for the docstrings
TWICE, AND = parse_rule("NT_1 twice ### NT_1 NT_1"), parse_rule("NT_1 and NT_2 ### NT_1 NT_2")

# UNIFY


def fill(side: Iterable[Symbol], parts: Mapping[Symbol, Sequence[Symbol]]) -> Side:
    """Replace symbols of a side by strings.

    >>> fill(TWICE.target, {Nt(1): ("WALK", "LEFT")})
    ('WALK', 'LEFT', 'WALK', 'LEFT')
    """
    return tuple(new for symbol in side for new in parts.get(symbol, (symbol,)))


def places(part: Side, whole: Side) -> list[int]:
    """List where a string occurs in another.

    >>> places(("A", "A"), ("A", "A", "A", "B", "A", "A"))
    [0, 1, 4]
    """
    return [p for p in range(len(whole) - len(part) + 1) if whole[p : p + len(part)] == part]


def erased(side: Side) -> list[str | None]:
    """Erase the indices of nonterminals.

    >>> erased(AND.source)
    [None, 'and', None]
    """
    return [None if isinstance(symbol, Nt) else symbol for symbol in side]


def unify_below(r_c: Rule, g: Rule) -> Iterator[Rule]:
    """Find the rules r_add with r_add ∘ g ⇒ r_c: g's source and target in r_c become a nonterminal.

    Skipped: a span that occurs twice, as nothing tells which one the target belongs to; a target that overlaps itself.

    >>> print(*unify_below(parse_rule("jump twice and NT_1 ### JUMP JUMP NT_1"), JUMP))
    NT_1 twice and NT_2 ### NT_1 NT_1 NT_2
    >>> list(unify_below(parse_rule("jump and jump ### JUMP JUMP"), JUMP))
    []
    """
    n = len(g.source)
    for i in range(len(r_c.source) - n + 1 if n < len(r_c.source) else 0):
        span = r_c.source[i : i + n]
        if erased(span) != erased(g.source) or len(places(span, r_c.source)) > 1:
            continue
        names: dict[Symbol, Side] = {own: (other,) for own, other in zip(g.source, span, strict=True)}
        part = fill(g.target, names)
        found = places(part, r_c.target)
        if not found or any(q - p < len(part) for p, q in pairwise(found)):
            continue
        covered = {q for p in found for q in range(p + 1, p + len(part))}
        beta = [NEW if p in found else symbol for p, symbol in enumerate(r_c.target) if p not in covered]
        if not any(isinstance(symbol, Nt) and symbol in beta for symbol in span):  # else one stays behind
            yield Rule.canonical((*r_c.source[:i], NEW, *r_c.source[i + n :]), beta)


def unify_above(r_c: Rule, g: Rule) -> Iterator[Rule]:
    """Find the rules r_add with g ∘ r_add ⇒ r_c: what a nonterminal of g stands for in r_c.

    >>> print(*unify_above(parse_rule("jump twice ### JUMP JUMP"), TWICE))
    jump ### JUMP
    """
    n = len(r_c.source) - len(g.source) + 1
    for i, hole in enumerate(g.source if n > 0 else ()):
        span, around = r_c.source[i : i + n], (*r_c.source[:i], NEW, *r_c.source[i + n :])
        lone = n == 1 and isinstance(span[0], Nt)
        if not isinstance(hole, Nt) or lone or erased(around) != erased(g.source) or len(places(span, r_c.source)) > 1:
            continue
        target = fill(g.target, {own: (other,) for own, other in zip(g.source, around, strict=True)})
        length = (len(r_c.target) - len(target)) // target.count(NEW) + 1
        filling = r_c.target[target.index(NEW) :][: max(0, length)]
        own = all(symbol in span for symbol in filling if isinstance(symbol, Nt))
        if filling and own and fill(target, {NEW: filling}) == r_c.target:
            yield Rule.canonical(span, filling)


@cache
def unify(r_c: Rule, g: Rule) -> frozenset[Rule]:
    """UNIFY(r_c, g) of Figure 4: all r_add with r_add ∘ g ⇒ r_c or g ∘ r_add ⇒ r_c.

    >>> r_c = parse_rule("jump and NT_1 ### JUMP NT_1")
    >>> print(*unify(r_c, JUMP), *unify(r_c, AND), sep="; ")
    NT_1 and NT_2 ### NT_1 NT_2; jump ### JUMP
    """
    return frozenset(chain(unify_below(r_c, g), unify_above(r_c, g)))


# The objective


class Options(NamedTuple):
    """What decides which grammar is induced: the main fields of `csl.induction.config.InductionConfig`.

    >>> Options(k_alpha=0, k_beta=100, k_t=4, max_nonterminals=2, partitions=16).k_beta  # SCAN, Table 6
    100
    """

    log: Callable[[float], float] = log2  # as in the published system; the paper prints ln
    k_alpha: float = 4  # weight of log p̂(α | β)
    k_beta: float = 16  # weight of log p̂(β | α)
    k_t: float = 8  # cost of a terminal
    k_nt: float = 1  # cost of a nonterminal
    max_nonterminals: int = 4
    repeated_target: bool = True  # may a nonterminal occur more than once in a target?
    lone_target: bool = True  # may a target be a lone nonterminal?
    partitions: int = 1
    steps: int = 20  # of a partition, at most
    max_units: int = 2  # rules in a row whose source is a lone nonterminal, at most


def occurs(side: Side, text: Sequence[str]) -> bool:
    """Tell whether a side is a substring of a text, for some nonempty strings in place of its nonterminals.

    >>> occurs(AND.source, "jump and walk".split()), occurs(AND.source, "jump and".split())
    (True, False)
    """
    ends = set(range(len(text) + 1))  # where a match of the symbols so far can end
    for symbol in side:
        if isinstance(symbol, Nt):
            ends = set(range(min(ends, default=len(text)) + 1, len(text) + 1))
        else:
            ends = {p + 1 for p in ends if p < len(text) and text[p] == symbol}
    return bool(ends)


def size(rule: Rule, options: Options) -> float:
    """|α| + |β|.

    >>> size(TWICE, Options(k_t=8, k_nt=1))
    11
    """
    return sum(options.k_nt if isinstance(symbol, Nt) else options.k_t for symbol in rule.source + rule.target)


def cost(rule: Rule, D: Mapping[Example, int], options: Options) -> float:
    """|α| + |β| − k_α log p̂(α | β) − k_β log p̂(β | α): what a rule adds to L_D(G) (Eqs. 6 and 7).

    D is examples with their counts. If α and β never occur together, they count half a time; a side that never occurs
    has no penalty. Costs are multiples of 2⁻²⁰, so that sums are exact and ties are ties.

    >>> D = {Example.of("jump", "JUMP"): 1, Example.of("jump back", "HOP"): 1}
    >>> cost(JUMP, D, Options(k_alpha=4, k_beta=16))  # two terminals, and p̂(JUMP | jump) = ½
    32.0
    """
    with_alpha = {example for example in D if occurs(rule.source, example.source)}
    with_beta = {example for example in D if occurs(rule.target, example.target)}
    both = max(0.5, sum(D[example] for example in with_alpha & with_beta))
    penalty = 0.0
    for k, given in ((options.k_beta, with_alpha), (options.k_alpha, with_beta)):
        penalty -= k * options.log(both / sum(D[example] for example in given)) if given else 0
    return size(rule, options) + round(penalty * 2**20) / 2**20


# Derivations

Node = tuple[int, int, int, Side | None]
Context = tuple[Rule | None, int]  # nonterminal i of rule r_p
ROOT: Context = (None, 0)


def matches(alpha: Side, x: Sequence[Symbol], i: int, j: int) -> Iterator[list[tuple[int, int]]]:
    """List the spans of the nonterminals of α, for each way to match α with x[i:j].

    >>> list(matches(AND.source, "jump and walk and run".split(), 0, 5))
    [[(0, 1), (2, 5)], [(0, 3), (4, 5)]]
    """
    if not alpha:
        yield from [[]] if i == j else []
    elif isinstance(alpha[0], Nt):
        for k in range(i + 1, j + 1):
            yield from ([(i, k), *rest] for rest in matches(alpha[1:], x, k, j))
    elif i < j and x[i] == alpha[0]:
        yield from matches(alpha[1:], x, i + 1, j)


class Chart:
    """All derivations of an input x, or of a pair ⟨x, y⟩, by a variant of CKY for rules with any number of symbols.

    The node (i, j, u, β) stands for the derivations of x[i:j] with the output β and at most u unit rules in a row at
    the top. Unit rules have a lone nonterminal as source; without a bound, there could be infinitely many derivations.
    `cells[i, j, u]` maps each β to the applications (rule, child nodes) of the node. With y, only substrings of y are
    outputs; without, outputs do not matter and β is None. Nonterminals of x derive themselves, by no rule.

    >>> chart = Chart([JUMP, TWICE], ("jump", "twice"), ("JUMP", "JUMP"))
    >>> [(str(rule), children) for rule, children in chart.cells[0, 2, 1]["JUMP", "JUMP"]]
    [('NT_1 twice ### NT_1 NT_1', ((0, 1, 1, ('JUMP',)),))]
    """

    def __init__(
        self, rules: Collection[Rule], x: Sequence[Symbol], y: Sequence[Symbol] | None = None, max_units: int = 1
    ) -> None:
        self.rules, self.x, self.y, self.max_units = rules, x, None if y is None else tuple(y), max_units
        self.goal: Node = (0, len(x), max_units, self.y)
        self.cells: dict[tuple[int, int, int], dict[Side | None, list[tuple[Rule | None, tuple[Node, ...]]]]] = {}
        spans = sorted(combinations(range(len(x) + 1), 2), key=lambda span: span[1] - span[0])
        for (i, j), u in product(spans, range(max_units + 1)):
            cell = self.cells[i, j, u] = defaultdict(list)
            if j == i + 1 and isinstance(x[i], Nt):
                cell[None if y is None else (x[i],)].append((None, ()))
            for rule, children in self._applications(i, j, u):
                parts: dict[Symbol, Side] = {Nt(k): child[3] or () for k, child in enumerate(children, start=1)}
                beta = fill(rule.target, parts)
                if self.y is None or places(beta, self.y):
                    cell[None if y is None else beta].append((rule, children))

    def _applications(self, i: int, j: int, u: int) -> Iterator[tuple[Rule, tuple[Node, ...]]]:
        """List the rules that match x[i:j], with all choices of nodes for their nonterminals."""
        for rule in self.rules:
            unit = rule.source == (Nt(1),)
            below = u - 1 if unit else self.max_units
            for spans in matches(rule.source, self.x, i, j) if u or not unit else ():
                nodes = ([(*span, below, beta) for beta in self.cells[*span, below]] for span in spans)
                yield from ((rule, children) for children in product(*nodes))

    def fold(self, combine: Callable[[Rule, Context, list[V]], V], choose: Callable[[list[V]], V]) -> V:
        """Walk through the chart: `combine` the parts of an application, `choose` among the applications of a node.

        >>> chart = Chart([JUMP, AND], "jump and jump and jump and jump".split())
        >>> chart.fold(lambda rule, context, parts: prod(parts), sum)  # the number of derivations
        5
        """

        @cache
        def value(node: Node, context: Context) -> V:
            return choose(
                [
                    combine(rule, context, [value(child, (rule, i)) for i, child in enumerate(children, start=1)])
                    for rule, children in self.cells.get(node[:3], {}).get(node[3], ())
                    if rule is not None
                ]
            )

        return value(self.goal, ROOT)


def derivable(rules: Collection[Rule], query: Rule | Example, max_units: int = 2) -> bool:
    """Tell whether rules derive an example, or another rule.

    >>> derivable([JUMP, TWICE, AND], parse_rule("jump twice and NT_1 ### JUMP JUMP NT_1"))
    True
    """
    chart = Chart(rules, query.source, query.target, max_units)
    return query.target in chart.cells[chart.goal[:3]]


def derivations(
    rules: Collection[Rule], x: Sequence[str], y: Sequence[str] | None = None, max_units: int = 1
) -> list[Derivation]:
    """List all derivations of an input, or of a pair: Z_⟨x,*⟩ and Z_⟨x,y⟩ of §2.

    >>> [z.example.target_text for z in derivations([JUMP, TWICE, AND], "jump and jump twice".split())]
    ['JUMP JUMP JUMP JUMP', 'JUMP JUMP JUMP']
    """
    return Chart(rules, x, y, max_units).fold(
        lambda rule, context, parts: [Derivation(rule, children) for children in product(*parts)],
        lambda found: list(chain(*found)),
    )


# The greedy search


@dataclass
class Search:
    """The search for a grammar G that derives the examples (§3.1.4, appendix B.3). Seed rules are never removed.

    `valid` tells whether a target can be part of an output; `tie` orders rules with the same cost or gain.

    >>> D = ["jump", "JUMP"], ["walk", "WALK"], ["jump twice", "JUMP JUMP"], ["walk and jump", "WALK JUMP"]
    >>> D += ["walk and jump twice", "WALK JUMP JUMP"], ["walk twice", "WALK WALK"]
    >>> print(*Search([Example.of(*pair) for pair in D], Options()).induce(), sep="; ")
    jump ### JUMP; walk ### WALK; NT_1 twice ### NT_1 NT_1; NT_1 and NT_2 ### NT_1 NT_2
    """

    examples: Sequence[Example]
    options: Options
    seeds: Collection[Rule] = ()
    valid: Callable[[Side], bool] = lambda target: True
    tie: Callable[[Rule], object] = str

    def __post_init__(self) -> None:
        self.D, self.G, self.fresh = Counter(self.examples), {*self.seeds}, set[Rule]()
        self.cost = cache(lambda rule: cost(rule, self.D, self.options))

    def induce(self) -> list[Rule]:
        """Add the examples, partition by partition, each time until no action is left; return G."""
        ordered = sorted(self.D, key=lambda e: (len(e.source_text), e.source_text, e.target_text))
        number = min(self.options.partitions, len(ordered))
        quotient, remainder = divmod(len(ordered), number)
        for k in range(number):
            start = k * quotient + min(k, remainder)  # the first partitions have one example more
            partition = {Rule.from_example(e) for e in ordered[start : start + quotient + (k < remainder)]}
            self.G |= partition
            self.fresh |= partition
            for _ in range(self.options.steps):
                self.drop_derivable()
                if not self.act():
                    break
        self.drop_derivable()
        self.prune()
        return sorted(self.G, key=lambda rule: (rule.arity, str(rule)))

    def drop_derivable(self) -> None:
        """Remove rules that the others derive: fresh ones, the largest first, then others, the costliest first."""

        def order(rule: Rule) -> tuple[object, ...]:
            fresh = rule in self.fresh
            return not fresh, -(size(rule, self.options) if fresh else self.cost(rule)), self.tie(rule)

        for rule in sorted(self.G - {*self.seeds}, key=order):
            if derivable(self.G - {rule}, rule, self.options.max_units):
                self.G.remove(rule)
        self.fresh = set()

    def candidates(self) -> Iterator[tuple[Rule, Rule, Rule]]:
        """List all (r_c, g, r_add): UNIFY finds r_add for the rules r_c and g of G, and the options allow it."""
        for r_c, g in product(self.G - {*self.seeds}, self.G):
            for r_add in unify(r_c, g) - {r_c} if r_c != g else ():
                repeated = any(r_add.target.count(Nt(i)) > 1 for i in range(1, r_add.arity + 1))
                lone = r_add.target == (Nt(1),)
                if (
                    r_add.arity <= self.options.max_nonterminals
                    and (self.options.repeated_target or not repeated)
                    and (self.options.lone_target or not lone)
                    and self.valid(r_add.target)
                ):
                    yield r_c, g, r_add

    def act(self) -> int:
        """Let each rule r_c choose the action that saves most, and execute what was chosen; return how many.

        An action adds r_add and removes R_remove: all rules that r_add, with some rule g of G, makes up.
        """
        pairs, R_remove = defaultdict(set), defaultdict(set)  # r_c → all (g, r_add); r_add → R_remove
        for r_c, g, r_add in self.candidates():
            pairs[r_c].add((g, r_add))
            R_remove[r_add].add(r_c)

        def gain(r_add: Rule) -> float:
            """L_D(G) − L_D(EXEC(G, a))."""
            return sum(map(self.cost, R_remove[r_add] & self.G)) - (0 if r_add in self.G else self.cost(r_add))

        rank = {r_add: (-gain(r_add), size(r_add, self.options), self.tie(r_add)) for r_add in R_remove}
        best = {min((r_add for _, r_add in made_of), key=rank.__getitem__) for made_of in pairs.values()}
        before, taken = set(self.G), 0
        for r_add in sorted(best, key=rank.__getitem__):
            if gain(r_add) > 0:  # still, after the actions before
                self.G = (self.G | {r_add}) - R_remove[r_add]  # EXEC(G, a)
                taken += 1
        self.fresh |= self.G - before
        made_up = {r_c for r_c in before - self.G if any({*pair} <= self.G for pair in pairs[r_c])}
        self.G |= {r for r in before - self.G - made_up if not derivable(self.G, r, self.options.max_units)}
        return taken

    def prune(self) -> None:
        """Remove rules, the costliest first, that no example needs."""
        max_units = self.options.max_units
        self.G |= {Rule.from_example(e) for e in self.D if not derivable(self.G, e, max_units)}
        for rule in sorted(self.G - {*self.seeds}, key=lambda rule: (-self.cost(rule), self.tie(rule))):
            if all(derivable(self.G - {rule}, example, max_units) for example in self.D):
                self.G.remove(rule)


# The probabilistic model


def softmax(theta: Sequence[float]) -> list[float]:
    """e^θ, normalised (Eqs. 8 and 9).

    >>> softmax([0.0, 0.0, log(2)])
    [0.25, 0.25, 0.5]
    """
    powers = [exp(value) for value in theta]
    return [power / fsum(powers) for power in powers]


class Model:
    """A grammar with θ[context][state] and θ[state][rule]. Contexts are the root, then NT_1, NT_2, … of each rule.

    >>> model = Model([JUMP, TWICE], [[log(3), 0], [0, 0]], [[log(9), 0], [0, 0]])
    >>> round(model.p(JUMP, ROOT), 9), round(model.p(JUMP, (TWICE, 1)), 9)  # .9 · .75 + .5 · .25, .9 · .5 + .5 · .5
    (0.8, 0.7)
    """

    def __init__(
        self, rules: Iterable[Rule], theta_context: Iterable[Sequence[float]], theta_rule: Iterable[Sequence[float]]
    ) -> None:
        self.rules = list(rules)
        self.contexts = [ROOT, *((rule, i) for rule in self.rules for i in range(1, rule.arity + 1))]
        self.p_state = dict(zip(self.contexts, map(softmax, theta_context), strict=True))  # p(s | r_p, i)
        self.p_rule = [dict(zip(self.rules, softmax(row), strict=True)) for row in theta_rule]  # p(r | s)

    def p(self, r: Rule, context: Context) -> float:
        """Give the probability of rule r in the context (r_p, i), summed over the states s (Eq. 4)."""
        return fsum(p_s * p_r[r] for p_s, p_r in zip(self.p_state[context], self.p_rule, strict=True))


def applications(z: Derivation, context: Context = ROOT) -> Iterator[tuple[Rule, Context]]:
    """List the rules of a derivation, each with its context.

    >>> z = Derivation(TWICE, (Derivation(JUMP),))
    >>> [(str(r), str(r_p), i) for r, (r_p, i) in applications(z)]
    [('NT_1 twice ### NT_1 NT_1', 'None', 0), ('jump ### JUMP', 'NT_1 twice ### NT_1 NT_1', 1)]
    """
    yield z.rule, context
    for i, child in enumerate(z.children, start=1):
        yield from applications(child, (z.rule, i))


def probability(model: Model, z: Derivation, context: Context = ROOT) -> float:
    """Give p(z), the product of p(r | r_p, i) over the rules of z (Eq. 3).

    >>> uniform = Model([JUMP, TWICE], [[0], [0]], [[0, 0]])
    >>> probability(uniform, Derivation(TWICE, (Derivation(JUMP),)))
    0.25
    """
    return prod(model.p(r, c) for r, c in applications(z, context))


def inside(model: Model, x: Sequence[str], y: Sequence[str] | None = None, max_units: int = 1) -> float:
    """Give p(x, y), the sum of p(z) over the derivations of a pair (Eq. 1); without y, p(x). See Eq. 2 for p(y | x).

    >>> uniform = Model([JUMP, TWICE, AND], [[0]] * 4, [[0, 0, 0]])
    >>> x = "jump and jump twice".split()
    >>> round(inside(uniform, x, ["JUMP"] * 3) / inside(uniform, x), 9)
    0.5
    """
    return Chart(model.rules, x, y, max_units).fold(lambda r, context, parts: model.p(r, context) * prod(parts), fsum)


def viterbi(
    model: Model, x: Sequence[str], y: Sequence[str] | None = None, max_units: int = 1
) -> tuple[float, list[Rule]]:
    """Give p(z) and the rules, in preorder, of the most probable derivation of an input, or of a pair (§3.1.5).

    >>> model = Model([JUMP, TWICE, AND], [[0]] * 4, [[log(2), log(2), 0]])
    >>> p, rules = viterbi(model, "jump and jump twice".split(), ["JUMP"] * 3)
    >>> round(p, 5), Derivation.from_rules(rules).example.target_text
    (0.0128, 'JUMP JUMP JUMP')
    """

    def combine(r: Rule, context: Context, parts: list[tuple[float, list[Rule]]]) -> tuple[float, list[Rule]]:
        return model.p(r, context) * prod(p for p, _ in parts), [r, *chain(*(rules for _, rules in parts))]

    def choose(found: list[tuple[float, list[Rule]]]) -> tuple[float, list[Rule]]:
        return max(found, key=lambda best: best[0], default=(0.0, []))

    return Chart(model.rules, x, y, max_units).fold(combine, choose)


def fit(model: Model, examples: Iterable[Example], max_units: int = 1, floor: float = 1e-6) -> Model:
    """Make Π p(x, y) larger (§3.1.3), by a pass of expectation–maximisation.

    Probabilities become proportional to how often they are expected to be used, plus a floor for what is never used.
    The paper takes Adam on the same likelihood, whose gradient by log p is this expectation.

    >>> D = [Example.of("jump", "JUMP")] * 3 + [Example.of("walk", "WALK")]
    >>> round(fit(Model([JUMP, WALK], [[0]], [[0, 0]]), D).p(JUMP, ROOT), 4)
    0.75
    """
    uses_of_state = {context: [floor] * len(model.p_rule) for context in model.contexts}
    uses_of_rule = [dict.fromkeys(model.rules, floor) for _ in model.p_rule]
    for example, count in Counter(examples).items():
        p_xy = inside(model, example.source, example.target, max_units)
        for z in derivations(model.rules, example.source, example.target, max_units):
            expected = count * probability(model, z) / p_xy
            for (r, c), s in product(applications(z), range(len(model.p_rule))):
                share = expected * model.p_rule[s][r] * model.p_state[c][s] / model.p(r, c)
                uses_of_state[c][s] += share
                uses_of_rule[s][r] += share
    theta_context = [[log(uses) for uses in row] for row in uses_of_state.values()]
    return Model(model.rules, theta_context, [[log(uses) for uses in row.values()] for row in uses_of_rule])


# Sampling


def tempered(rule: Rule, theta: float, temperature: float = 1, delta: float = 0, above: int = 1) -> float:
    """Change a θ[state][rule] for sampling: a temperature (appendix C.6), and δ for many nonterminals (§3.2).

    >>> tempered(JUMP, 3.0, temperature=2, delta=6), tempered(AND, 3.0, temperature=2, delta=6)
    (1.5, 7.5)
    """
    return theta / temperature + delta * (rule.arity > above)


def levels(z: Derivation) -> int:
    """Count the levels of a derivation.

    >>> levels(Derivation(TWICE, (Derivation(JUMP),)))
    2
    """
    return 1 + max(map(levels, z.children), default=0)


def derivations_within(rules: Iterable[Rule], depth: int) -> list[Derivation]:
    """List all derivations of at most so many levels.

    >>> [z.example.target_text for z in derivations_within([JUMP, WALK, TWICE], 2)]
    ['JUMP', 'WALK', 'JUMP JUMP', 'WALK WALK']
    """
    found: list[Derivation] = []
    for _ in range(depth):
        found = [Derivation(rule, children) for rule in rules for children in product(found, repeat=rule.arity)]
    return found


def forward(model: Model, found: Collection[Derivation]) -> dict[Derivation, float]:
    """Give the probability that forward sampling draws each of these derivations: all that count as finished (§3.2).

    Nonterminals are expanded one after the other, from the top and from left to right. Each draws its rule from
    p(r | r_p, i), among the rules with which what is drawn so far can become one of the derivations.

    >>> model = Model([JUMP, WALK, TWICE], [[0]] * 2, [[0, 0, log(2)]])
    >>> {z.example.source_text: round(p, 3) for z, p in forward(model, derivations_within(model.rules, 2)).items()}
    {'jump': 0.25, 'walk': 0.25, 'jump twice': 0.25, 'walk twice': 0.25}
    """
    paths = {z: tuple(applications(z)) for z in found}
    choices = defaultdict(set)  # what is drawn so far → what can come next
    for path in paths.values():
        for k, choice in enumerate(path):
            choices[path[:k]].add(choice)
    p = {drawn: {choice: model.p(*choice) for choice in ways} for drawn, ways in choices.items()}
    return {
        z: prod(p[path[:k]][choice] / fsum(p[path[:k]].values()) for k, choice in enumerate(path))
        for z, path in paths.items()
    }


def expand(model: Model, chance: random.Random, depth: int, context: Context = ROOT) -> Derivation | None:
    """Draw a state from p(s | r_p, i), a rule from p(r | s), and so on for its nonterminals; None if it gets too deep.

    >>> expand(Model([JUMP], [[0]], [[0]]), random.Random(0), depth=1).example.target_text
    'JUMP'
    """
    (p_rule,) = chance.choices(model.p_rule, model.p_state[context])
    (rule,) = chance.choices(model.rules, [*p_rule.values()])
    children: list[Derivation] = []
    for i in range(1, rule.arity + 1):
        child = expand(model, chance, depth - 1, (rule, i)) if depth > 1 else None
        if child is None:
            return None
        children.append(child)
    return Derivation(rule, tuple(children))


def sample(
    model: Model, chance: random.Random, depths: range, valid: Callable[[tuple[str, ...]], bool] = lambda target: True
) -> Derivation:
    """Draw a derivation from p(z), given that its levels are in `depths` and its output is valid (§3.2): else, again.

    >>> model = Model([JUMP, TWICE, AND], [[0]] * 4, [[2, 1, 1]])
    >>> sample(model, random.Random(7), range(3, 6)).example.source_text
    'jump and jump and jump'
    """
    while True:
        z = expand(model, chance, depths[-1])
        if z is not None and levels(z) in depths and valid(z.example.target):
            return z
