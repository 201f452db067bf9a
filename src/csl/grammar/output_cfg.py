r"""Output CFGs: which outputs are valid, and which types a rule's target can take.

The text form has one production a line, `LHS => token ##CATEGORY token`, with the start symbol ROOT. Tokens are
escaped as in rules (`csl.grammar.notation`): `\=>` and `\##X` are tokens, and so is a lone `#` on a right-hand side. A
line that starts with `#` is a comment; empty lines are skipped.

A CFG that is read from text is checked: every category is defined, derives some output, and is reached from ROOT, and
no category derives itself by unit productions only. Parsing is done by `csl.kernels.cfg_chart`.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from csl.errors import InputError
from csl.files import read_lines, write_text
from csl.grammar.notation import escape, unescape
from csl.grammar.symbols import Nt, Symbol
from csl.grammar.vocabulary import IntArray, Vocabulary

if TYPE_CHECKING:
    from csl.kernels.cfg_chart import CompiledCfg

ARROW = "=>"
MARK = "##"


@dataclass(frozen=True, slots=True, order=True)
class Category:
    """A nonterminal of the output CFG."""

    name: str

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError(f"a category needs a name; write the token {MARK} as \\{MARK}")


@dataclass(frozen=True, slots=True)
class Production:
    """One production LHS => …; strings on the right are tokens."""

    lhs: Category
    rhs: tuple[str | Category, ...]

    def __post_init__(self) -> None:
        if not self.rhs:
            raise ValueError("the right-hand side is empty; a production needs at least one symbol there")
        if "" in self.rhs:
            raise ValueError("a token cannot be empty")

    @property
    def categories(self) -> list[Category]:
        """The categories on the right."""
        return [s for s in self.rhs if isinstance(s, Category)]

    def __str__(self) -> str:
        lhs = escape(self.lhs.name, lambda name: name == ARROW or name.startswith("#"))
        return f"{lhs} {ARROW} {' '.join(map(_format_symbol, self.rhs))}"

    @classmethod
    def parse(cls, line: str) -> "Production":
        """Read a production; raises ValueError with the reason if it is not one."""
        words = line.split()
        if words.count(ARROW) != 1 or words[1:2] != [ARROW]:
            raise ValueError(f"expected LHS {ARROW} symbols; write the token {ARROW} as \\{ARROW}")
        return cls(Category(unescape(words[0])), tuple(map(_parse_symbol, words[2:])))


ROOT = Category("ROOT")


def _format_symbol(symbol: str | Category) -> str:
    if isinstance(symbol, Category):
        return MARK + escape(symbol.name, lambda _: False)
    return escape(symbol, lambda token: token == ARROW or token.startswith(MARK))


def _parse_symbol(word: str) -> str | Category:
    return Category(unescape(word.removeprefix(MARK))) if word.startswith(MARK) else unescape(word)


@dataclass(frozen=True, slots=True, order=True)
class Typing:
    """A type of a rule's target: `category` derives it with nonterminal i replaced by `children[i - 1]`."""

    category: str
    children: tuple[str, ...]


class OutputCfg:
    """A CFG over outputs with start symbol ROOT."""

    def __init__(self, productions: Iterable[Production]) -> None:
        self.productions = tuple(dict.fromkeys(productions))

    @classmethod
    def read(cls, path: Path | str) -> "OutputCfg":
        """Read and check a file."""
        return cls.parse((line for _, line in read_lines(path)), path)

    @classmethod
    def parse(cls, lines: Iterable[str], path: Path | str = "<text>") -> "OutputCfg":
        """Read and check lines of text: `OutputCfg.parse(["ROOT => jump ##N", "N => twice"])`."""
        line_of: dict[Production, int] = {}
        for number, line in enumerate(lines, start=1):
            if line.strip() and not line.startswith("#"):
                try:
                    line_of.setdefault(Production.parse(line), number)
                except ValueError as error:
                    raise InputError(str(error), path, number) from error
        cfg = cls(line_of)
        if problem := cfg._problem():
            message, where = problem
            raise InputError(message, path, line_of[where] if where else None)
        return cfg

    def write(self, path: Path | str) -> None:
        """Write the productions to a file, atomically, in their order."""
        write_text(path, str(self))

    def __str__(self) -> str:
        return "".join(f"{production}\n" for production in self.productions)

    def __repr__(self) -> str:
        return f"OutputCfg({len(self.productions)} productions)"

    def check(self) -> None:
        """Raise an InputError if the CFG is not fit for use; the message says why."""
        if problem := self._problem():
            message, where = problem
            raise InputError(f"{message} (in: {where})" if where else message)

    def trimmed(self) -> "OutputCfg":
        """Give the CFG without the productions that no output uses; ROOT may have none left."""
        productive = self._productive()
        useful = OutputCfg(p for p in self.productions if productive.issuperset(p.categories))
        reachable = useful._reachable()
        return OutputCfg(p for p in useful.productions if p.lhs in reachable)

    def _problem(self) -> tuple[str, Production | None] | None:
        """Find the first thing that is wrong, and the production where it shows."""
        defined = {p.lhs for p in self.productions}
        if ROOT not in defined:
            return f"no production for the start symbol; add a line that begins with {ROOT.name} {ARROW}", None
        productive, reachable = self._productive(), self._reachable()
        for production in self.productions:
            for category in production.categories:
                if category not in defined:
                    return (
                        f"undefined category {category.name}; add a production for it or correct the name",
                        production,
                    )
            if production.lhs not in productive:
                return f"category {production.lhs.name} derives no output; add a production that ends", production
            if production.lhs not in reachable:
                return f"category {production.lhs.name} is not reached from {ROOT.name}; use or remove it", production
        return self._unit_cycle()

    def _productive(self) -> set[Category]:
        """Find the categories that derive at least one string of tokens."""
        missing = [len(set(p.categories)) for p in self.productions]
        users: dict[Category, list[int]] = defaultdict(list)
        for i, production in enumerate(self.productions):
            for category in set(production.categories):
                users[category].append(i)
        found: set[Category] = set()
        agenda = [p.lhs for p, n in zip(self.productions, missing, strict=True) if n == 0]
        while agenda:
            category = agenda.pop()
            if category not in found:
                found.add(category)
                for i in users[category]:
                    missing[i] -= 1
                    if missing[i] == 0:
                        agenda.append(self.productions[i].lhs)
        return found

    def _reachable(self) -> set[Category]:
        """Find the categories that some derivation from ROOT contains."""
        below: dict[Category, list[Category]] = defaultdict(list)
        for production in self.productions:
            below[production.lhs] += production.categories
        found: set[Category] = set()
        agenda = [ROOT]
        while agenda:
            category = agenda.pop()
            if category not in found:
                found.add(category)
                agenda += below[category]
        return found

    def _unit_cycle(self) -> tuple[str, Production] | None:
        """Find a way from a category to itself by unit productions, named from the category that is defined first."""
        units = [p for p in self.productions if len(p.rhs) == 1 and p.categories]
        graph: dict[Category, list[Category]] = defaultdict(list)
        for unit in units:
            graph[unit.categories[0]].append(unit.lhs)
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            cycle: list[Category] = error.args[1][:-1]
            first = next(p.lhs for p in units if p.lhs in cycle)
            at = cycle.index(first)
            names = [c.name for c in (*cycle[at:], *cycle[:at], first)]
            message = f"unit cycle {f' {ARROW} '.join(names)}; remove one of these productions"
            return message, Production(first, (Category(names[1]),))
        return None

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The names of all categories, sorted; their positions are the numbers that kernels use."""
        names = {c.name for p in self.productions for c in (p.lhs, *p.categories)}
        return tuple(sorted(names | {ROOT.name}))

    def compiled(self, vocabulary: Vocabulary) -> "CompiledCfg":
        """Turn the CFG into arrays for kernels. Its tokens are added to the vocabulary."""
        from csl.kernels.cfg_chart import compile_cfg  # noqa: PLC0415 — numba is slow to import

        number = {name: i for i, name in enumerate(self.categories)}
        productions = [
            (number[p.lhs.name], [-1 - number[s.name] if isinstance(s, Category) else vocabulary.add(s) for s in p.rhs])
            for p in self.productions
        ]
        return compile_cfg(productions, len(number), number[ROOT.name])

    @cached_property
    def _own(self) -> tuple[Vocabulary, "CompiledCfg"]:
        vocabulary = Vocabulary()
        return vocabulary, self.compiled(vocabulary)

    def _encode(self, target: Sequence[Symbol]) -> IntArray:
        vocabulary, _ = self._own  # a token that the CFG does not have becomes 0, which matches nothing
        return np.array([-s.index if isinstance(s, Nt) else vocabulary.get(s) for s in target], np.int32)

    def accepts(self, tokens: Sequence[str]) -> bool:
        """Whether ROOT derives the tokens."""
        from csl.kernels.cfg_chart import accepted  # noqa: PLC0415 — numba is slow to import

        return bool(accepted(self._own[1], self._encode(tokens), np.array([0, len(tokens)]))[0])

    def typings(self, target: Sequence[Symbol]) -> tuple[Typing, ...]:
        """All typings of a rule's target, sorted. An index that is repeated has one type.

        >>> from csl.grammar import Nt
        >>> cfg = OutputCfg.parse(["ROOT => answer ( ##STATE )", "STATE => m0", "STATE => next_to ( ##STATE )"])
        >>> cfg.typings(("next_to", "(", Nt(1), ")"))
        (Typing(category='STATE', children=('STATE',)),)
        """
        from csl.kernels.cfg_chart import typings  # noqa: PLC0415 — numba is slow to import

        indices = {s.index for s in target if isinstance(s, Nt)}
        if indices != set(range(1, len(indices) + 1)):
            raise ValueError(f"the target's nonterminals must be numbered 1, 2, …, not {sorted(indices)}")
        if not target:
            return ()
        rows = typings(self._own[1], self._encode(target)).tolist()
        names = self.categories
        return tuple(sorted(Typing(names[x], tuple(names[c] for c in children)) for x, *children in rows))
