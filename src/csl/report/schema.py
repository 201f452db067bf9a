"""What a report shows, as plain data: all of it is JSON, and a page can be drawn from it alone.

Rules are named by their line in grammar.txt, counted from 1. A section for which a run has no data is None. Lists are
cut to what a page can show; the totals beside them count everything. Nothing depends on the time or on where files lie.
"""

from typing import Any, TypedDict


class Fact(TypedDict):
    """A figure of the summary."""

    label: str
    value: str
    note: str  # may be empty


class InductionStep(TypedDict):
    """The grammar after a step of the search."""

    partition: int
    step: int
    rules: int
    objective: float


class FitStep(TypedDict):
    """Mean log p(x, y) at a step of fitting; stage is fit, or refit with inputs that the model labelled."""

    stage: str
    step: int
    train: float
    dev: float | None


class TrainStep(TypedDict):
    """The loss of a sequence-to-sequence model at a step, and its accuracy on dev where it was tested."""

    step: int
    loss: float
    dev: float | None


class Nonterminal(TypedDict):
    """The nonterminal with this index, counted from 1."""

    nt: int


Side = list[str | Nonterminal]


class Pair(TypedDict):
    """An input and an output, tokens separated by spaces."""

    input: str
    output: str


class RuleRow(TypedDict):
    """A rule, and what it does in one derivation of each training pair."""

    id: int
    source: Side
    target: Side
    arity: int
    size: float  # |α| + |β|: k_t for each terminal, k_nt for each nonterminal
    cost: float | None  # the rule's part of the objective: size and penalties; None without the training data
    saves: float | None  # k_t for each token of a distinct training pair that the rule writes, less its cost
    uses: int | None  # training examples whose derivation has it
    seed: bool  # a seed rule, that is given and not induced
    examples: list[Pair]  # the shortest training pairs that use it, at most 3


class Rules(TypedDict):
    """The grammar. The savings of all rules together are `size_before` − `objective`, if all training pairs derive."""

    rows: list[RuleRow]  # all rules
    examples: int | None  # training examples
    derived: int | None  # of these, that the grammar derives
    size_before: float | None  # of the distinct training pairs as rules
    objective: float | None  # of the grammar


class Tree(TypedDict):
    """A rule with the derivations of its nonterminals 1…k."""

    rule: int
    children: list["Tree"]


class TreeRow(TypedDict):
    """A derivation: of a training or synthetic pair, or of what the parser makes of a test input."""

    origin: str  # train, test, synthetic
    input: str
    output: str | None  # the right one; None of an unlabelled input
    predicted: str | None  # what the tree derives, if it is a parse
    right: bool | None  # None if there is nothing to compare
    tree: Tree
    right_tree: Tree | None  # how the grammar derives the right output, if the parse is wrong and there is such a way


class Uncovered(TypedDict):
    """An input without an output. Its spans are the parts [i, j) of it, in tokens, that the grammar does derive."""

    input: str
    output: str | None
    reason: str  # a key of `reasons`
    unknown: list[str]  # its tokens that are in no rule's source
    spans: list[tuple[int, int]]


class UncoveredInputs(TypedDict):
    """Inputs that get no output, and why."""

    of: str  # test, or unlabelled if there is no test set
    inputs_total: int  # inputs that were looked at
    covered: int  # some derivation gives the input, with whatever output
    derivable: int | None  # some derivation gives input and right output; None without test set
    total: int  # inputs that get no output
    reasons: dict[str, int]  # "unknown tokens", "no rule", "no valid output"
    unknown_tokens: list[tuple[str, int]]  # with the number of inputs, most frequent first
    inputs: list[Uncovered]


class Score(TypedDict):
    """Counts of a system over the test set, and over groups of it: categories, or lengths."""

    examples: int
    answered: int
    right: int
    groups: dict[str, dict[str, int]]  # examples, answered, right


class Group(TypedDict):
    """Some of the test examples, and how many of them each system has right."""

    name: str
    examples: int
    right: dict[str, int]


class Scores(TypedDict):
    """How good the systems are (see `scores.SYSTEMS`), as far as there are predictions."""

    systems: dict[str, Score]
    by_length: list[Group]  # by the number of tokens of the input
    by_category: list[Group] | None
    breakdown: list[Group] | None  # inputs to which csl gives an output, and the others
    left_out: list[str]  # systems whose predictions are of other inputs than those of the test set


class Neighbour(TypedDict):
    """A training pair, and how many tokens must be put in, taken out or changed to get from input to input."""

    input: str
    output: str
    distance: int


class Synthetic(TypedDict):
    """A synthetic pair, the rules of its derivation in preorder, and the training pairs nearest to it."""

    input: str
    output: str
    rules: list[int] | None
    nearest: list[Neighbour]


class SyntheticPairs(TypedDict):
    """The samples of a run, and some of them."""

    total: int
    distinct: int
    new: int | None  # samples that are no training pair; None without the training data
    pairs: list[Synthetic]


class RulePair(TypedDict):
    """A rule in a place where no derivation of a training pair has it."""

    parent: int | None  # None: at the top of a derivation
    slot: int  # the nonterminal of the parent, counted from 1; 0 at the top
    child: int
    total: int  # inputs that depend on it
    inputs: list[int]  # some of them, as places in `inputs` of the coverage


class Dependent(TypedDict):
    """An input that has no derivation without new rule pairs, and those of the derivation with fewest."""

    input: str
    output: str  # the right one, or of an unlabelled input what the grammar makes of it
    right: bool | None  # whether the parser has it right all the same
    pairs: list[int]  # places in `pairs` of the coverage


class Suggestion(TypedDict):
    """An input that is worth annotating: an unlabelled one if there are any, otherwise one of the test set."""

    input: str
    adds: int  # inputs that then depend on nothing new any more; the input itself counts if it is one of them
    pairs: list[int]  # what it adds: places in `pairs` of the coverage
    tokens: list[str]  # what it adds: tokens that no rule knows


class CoverageTotals(TypedDict):
    """All inputs that were looked at, by what they depend on."""

    inputs: int
    derived: int  # that the grammar derives
    dependent: int  # of these, that depend on new rule pairs
    right_known: int | None  # derived inputs without new pairs that the parser has right; None without test and model
    right_dependent: int | None  # dependent inputs that the parser has right
    pairs: int  # distinct new rule pairs
    train_pairs: int  # distinct rule pairs in derivations of training pairs


class Coverage(TypedDict):
    """Compositional coverage: rule pairs that inputs need and that training never shows."""

    of: str  # test, or unlabelled if there is no test set
    totals: CoverageTotals
    pairs: list[RulePair]  # those that most inputs depend on first
    inputs: list[Dependent]
    suggest: list[Suggestion]  # ten at most; each counts what those before it leave


class Report(TypedDict):
    """Everything a report shows."""

    title: str
    summary: list[Fact]
    induction: list[InductionStep] | None
    fit: list[FitStep] | None
    training: dict[str, list[TrainStep]] | None  # t5, augmented
    rules: Rules
    trees: list[TreeRow]
    uncovered: UncoveredInputs | None
    scores: Scores | None
    synthetic: SyntheticPairs | None
    coverage: Coverage | None
    config: dict[str, Any]  # sections of options: induction, fit, sampling, …; and "recipe", the text of recipe.toml
    versions: dict[str, str]
