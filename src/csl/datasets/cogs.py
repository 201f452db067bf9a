"""COGS: English sentences and their logical forms (Kim & Linzen 2020), as the paper's section "COGS" uses them.

The original files have a sentence, a logical form with variables and a category on each line. The sentence is kept as
it is; the logical form becomes variable-free (`csl.datasets.variable_free`). Seed rules and output CFG are made from
the training file alone. Preparing a split takes a few seconds.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations, product
from pathlib import Path
from typing import NamedTuple

from csl.datasets.fetch import Home, RemoteFile
from csl.datasets.task import DataSet, Task
from csl.datasets.variable_free import COMPLEMENTS, PARTICIPANTS, lone_word, read_form, remove_variables
from csl.errors import InputError
from csl.examples import Example
from csl.files import read_lines
from csl.grammar import Rule
from csl.grammar.output_cfg import ROOT, Category, OutputCfg, Production
from csl.induction.alignment import aligned_words
from csl.splits.programs import check_depth

EVENT = Category("EVENT")
ENTITY = Category("ENTITY")
HEAD = Category("HEAD")
PRIMITIVE = Category("PRIMITIVE")
PREPOSITION = Category("PREPOSITION")


def prepare(source: Path, split: str) -> Task:
    """Make one split: `gen` tests compositional generalisation, `test` is like the training data."""
    test_file = source / f"{split}.tsv"
    notes = []
    if split == "gen":
        notes.append("The paper's table says 12K for dev and test; the published dev and gen have 3,000 and 21,000.")
        if not test_file.exists():
            test_file = source / "gen_half.tsv"
            notes.append("gen.tsv is not in the source folder; test is gen_half.tsv, half of each of its categories.")
    train, dev, test = (list(read_pairs(path)) for path in (source / "train.tsv", source / "dev.tsv", test_file))
    words = Words.of(train)
    if unseen := words.unseen(Words.of([*dev, *test])):
        notes.append(f"Words of dev or test outputs that no training output has: {', '.join(unseen)}.")
    return Task(
        train=train,
        dev=dev,
        test=test,
        seed_rules=seed_rules(train, words),
        output_cfg=output_cfg(words),
        columns=("category",),
        origin="Kim & Linzen 2020, COGS",
        notes=notes,
    )


def read_pairs(path: Path) -> Iterator[Example]:
    """Stream an original file as pairs of a sentence and its variable-free form."""
    number = 0
    for number, line in read_lines(path):
        cells = line.split("\t")
        if len(cells) != 3 or not all(map(str.strip, cells)):
            raise InputError("expected three columns: sentence, logical form, category", path, number)
        sentence, logical_form, category = cells
        try:
            target = tuple((lone_word(logical_form) or remove_variables(logical_form)).tokens())
            check_depth(target)
            read_form(target)  # a word may look like notation
        except (ValueError, RecursionError) as error:
            raise InputError(str(error), path, number) from error
        yield Example(tuple(sentence.split()), target, {"category": category})
    if not number:
        raise InputError("no examples in the file; copy or download it again", path)


class Words(NamedTuple):
    """The words of some outputs: everything in them that is not notation."""

    primitives: set[str]  # predicates and names
    prepositions: set[str]

    @classmethod
    def of(cls, examples: Iterable[Example]) -> "Words":
        """Collect the words of the examples' outputs."""
        words = cls(set(), set())
        for example in examples:
            form = read_form(example.target)
            words.primitives.update(form.words())
            words.prepositions.update(form.prepositions())
        return words

    def unseen(self, other: "Words") -> list[str]:
        """List the words of the other outputs that are not among these; the CFG and the seed rules do not know them."""
        return sorted((other.primitives - self.primitives) | (other.prepositions - self.prepositions))


def seed_rules(train: Sequence[Example], words: Words) -> list[Rule]:
    """Find the rules ⟨x', x⟩ for words x of training outputs, where x' is x itself or aligned with x, sorted.

    The words are predicates, names and prepositions. Alignment (IBM Model 1) sees all tokens, so that `the` finds its
    `*` and `that` its `ccomp`; such pairs, whose output token is notation, are no seed rules.
    """
    targets = words.primitives | words.prepositions
    inputs = {word for example in train for word in example.source}
    pairs = {(x, x) for x in targets & inputs}
    pairs |= {(form, x) for form, x in aligned_words(train).items() if x in targets}
    return [Rule((form,), (x,)) for form, x in sorted(pairs)]


def output_cfg(words: Words) -> OutputCfg:
    """Build the output CFG from the definition of the variable-free form and the words of training outputs.

    Names, nouns and verbs are one category, as in the paper. An event has each of agent, theme and recipient at most
    once, in any order, and then at most one complement; these frames are written out, so that no category derives a
    piece of an argument list. A lone word is an output too.
    """
    productions = [Production(ROOT, (EVENT,)), Production(ROOT, (PRIMITIVE,))]
    for frame in _frames():
        productions.append(Production(EVENT, (PRIMITIVE, *_argument_list(frame))))
    productions += [Production(ENTITY, (HEAD,)), Production(HEAD, (PRIMITIVE,)), Production(HEAD, ("*", PRIMITIVE))]
    if words.prepositions:
        productions.append(Production(ENTITY, (HEAD, "(", "nmod", ".", PREPOSITION, "=", ENTITY, ")")))
    for category, members in ((PREPOSITION, words.prepositions), (PRIMITIVE, words.primitives)):
        productions += [Production(category, (word,)) for word in sorted(members)]
    return OutputCfg(productions)


def _frames() -> Iterator[tuple[str, ...]]:
    for size in range(1, len(PARTICIPANTS) + 1):
        for roles, complement in product(permutations(PARTICIPANTS, size), ((), *((c,) for c in COMPLEMENTS))):
            yield (*roles, *complement)


def _argument_list(frame: Sequence[str]) -> Iterator[str | Category]:
    for k, role in enumerate(frame):
        yield from ("," if k else "(", role, "=", EVENT if role in COMPLEMENTS else ENTITY)
    yield ")"


COGS: DataSet = DataSet(
    "cogs",
    prepare,
    published_sizes={"gen": ("24K", "12K", "12K"), "test": ("", "", "")},
    licence="MIT",
    home=Home(
        "https://raw.githubusercontent.com/najoungkim/COGS/165a7b669eade971fa47bf568a2e51925360fed8/data/",
        (
            RemoteFile("train.tsv", 4146574, "220b3804b562c0156ee986eff1bdd15c27e52142549362a64f57baf86e304c78"),
            RemoteFile("dev.tsv", 522121, "ab66388a309c7ac1ad210c781a6a0ce12281a9ef24619a12422a752cef61bc21"),
            RemoteFile("test.tsv", 521111, "68f8e51e9f6d9cd22d64efe68dd21d7ea5ba327e9a2359481030161aea757035"),
        ),
        by_hand="the generalisation set has no checksum here: download gen.tsv (the version of 2022-09-13 or later) "
        "from https://github.com/najoungkim/COGS/tree/main/data into the same folder",
    ),
)
