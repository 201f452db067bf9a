"""FunQL, the query language of GeoQuery: the original form, the paper's variant, and the variant's grammar.

The paper uses the variant of Shaw et al. 2021 (appendix, "GeoQuery"). It makes hidden arguments explicit:

| original                        | variant                               |
| ------------------------------- | ------------------------------------- |
| `state(all)`                    | `state`                               |
| `city(loc_2(x))`                | `intersection ( city , loc_2 ( x ) )` |
| `largest_one(density_1(x))`     | `largest_one ( density_1 , x )`       |
| `most(state(loc_1(river(all))))` | `most ( state , loc_1 , river )`     |

`to_variant` and `from_variant` are inverse on everything the corpus has; both are linear in the size of a term.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from csl.errors import InputError
from csl.files import read_lines
from csl.grammar.output_cfg import ROOT, Category, OutputCfg, Production
from csl.splits.programs import check_depth

FILTERS = frozenset({"capital", "city", "country", "lake", "major", "mountain", "place", "river", "state"})
"""Predicates of one argument that keep some members of a set; `all` as argument stands for everything."""

BY_COUNT = frozenset({"most", "fewest"})  # the member of a filter that stands in a relation to most others
BY_MEASURE = frozenset({"largest_one", "smallest_one"})  # the member for which a number is greatest or smallest

_TOKEN = re.compile(r"\s*('[^']*'|\w+|[(),])")


@dataclass(frozen=True, slots=True)
class Term:
    """A FunQL expression: an operator and its arguments; constants and variables have none."""

    operator: str
    arguments: tuple["Term", ...] = ()


def parse_term(text: str) -> Term:
    """Read a term in either form; raises ValueError with the reason if it is not one."""
    tokens = [match[1] for match in _TOKEN.finditer(text)]
    if "".join(tokens) != "".join(re.findall(r"'[^']*'|\S", text)):
        raise ValueError(f"unexpected character in the FunQL term {text!r}")
    check_depth(tokens)
    term, end = _parse(tokens, 0)
    if end != len(tokens):
        raise ValueError(f"unexpected {tokens[end]!r} after the FunQL term {' '.join(tokens[:end])!r}")
    return term


def _parse(tokens: Sequence[str], start: int) -> tuple[Term, int]:
    if start == len(tokens) or tokens[start] in {"(", ")", ","}:
        raise ValueError(f"expected an operator after {' '.join(tokens[:start])!r}")
    if tokens[start + 1 : start + 2] != ["("]:
        return Term(tokens[start]), start + 1
    arguments: list[Term] = []
    end = start + 1
    while not arguments or tokens[end : end + 1] == [","]:
        argument, end = _parse(tokens, end + 1)
        arguments.append(argument)
    if tokens[end : end + 1] != [")"]:
        raise ValueError(f"no closing bracket after {' '.join(tokens[:end])!r}")
    return Term(tokens[start], tuple(arguments)), end + 1


def format_term(term: Term) -> str:
    """Write a term the way the corpus does: `answer(city(cityid('austin', _)))`."""
    if not term.arguments:
        return term.operator
    return f"{term.operator}({', '.join(map(format_term, term.arguments))})"


def tokens_of(term: Term) -> Iterator[str]:
    """Yield the tokens of a term in the variant: functions in prefix form, brackets and commas on their own."""
    yield term.operator
    for mark, argument in zip("(" + "," * len(term.arguments), term.arguments, strict=False):
        yield mark
        yield from tokens_of(argument)
    if term.arguments:
        yield ")"


def entities_of(term: Term) -> Iterator[Term]:
    """Yield the entity terms, such as `stateid('texas')`, from left to right."""
    if is_entity(term):
        yield term
    else:
        for argument in term.arguments:
            yield from entities_of(argument)


def is_entity(term: Term) -> bool:
    """Whether the term names an entity: `cityid('austin', 'tx')`, `riverid('red')`."""
    return term.operator.endswith("id") and bool(term.arguments) and term.arguments[0].operator.startswith("'")


def to_variant(term: Term, placeholders: Mapping[Term, str]) -> Term:
    """Turn original FunQL into the paper's variant, with entities replaced by their placeholders."""
    if term in placeholders:
        return Term(placeholders[term])
    if term.operator in FILTERS and len(term.arguments) == 1:
        if term.arguments[0] == Term("all"):
            return Term(term.operator)
        return Term("intersection", (Term(term.operator), to_variant(term.arguments[0], placeholders)))
    if term.operator in BY_MEASURE | BY_COUNT and len(term.arguments) == 1:
        # largest_one(density_1(x)) names one operator on the way to x, most(state(loc_1(x))) two.
        names, inner = [], term.arguments[0]
        for _ in range(1 if term.operator in BY_MEASURE else 2):
            if len(inner.arguments) != 1:
                raise ValueError(f"{term.operator} needs a chain of operators, not {format_term(term.arguments[0])}")
            names.append(Term(inner.operator))
            inner = inner.arguments[0]
        return Term(term.operator, (*names, to_variant(inner, placeholders)))
    return Term(term.operator, tuple(to_variant(argument, placeholders) for argument in term.arguments))


def from_variant(term: Term, entities: Mapping[str, Term]) -> Term:
    """Turn the paper's variant back into original FunQL, with placeholders replaced by their entities."""
    if not term.arguments:
        if term.operator in entities:
            return entities[term.operator]
        return Term(term.operator, (Term("all"),)) if term.operator in FILTERS else term
    first, last = term.arguments[0], from_variant(term.arguments[-1], entities)
    if term.operator == "intersection" and first.operator in FILTERS and not first.arguments:
        return Term(first.operator, (last,))
    if term.operator in BY_MEASURE and len(term.arguments) == 2:
        return Term(term.operator, (Term(first.operator, (last,)),))
    if term.operator in BY_COUNT and len(term.arguments) == 3:
        related = Term(term.arguments[1].operator, (last,))
        if first.operator in FILTERS and not first.arguments:
            return Term(term.operator, (Term(first.operator, (related,)),))
        return Term(term.operator, (Term("intersection", (from_variant(first, entities), related)),))
    return Term(term.operator, tuple(from_variant(argument, entities) for argument in term.arguments))


_OPERATOR_TYPE = re.compile(r"\*n:(\w+) -> \(\{ (\*t:Num|'.*'|\w+ \( .+ \)) \}\)(?: zero-fertility)?\s*")


@dataclass(frozen=True, slots=True)
class OperatorType:
    """A line of the operator grammar such as `*n:State -> ({ loc_1 ( *n:City ) })`."""

    result: str
    body: tuple[str, ...]  # tokens; those that start with `*n:` are types

    @property
    def is_function(self) -> bool:
        """Whether the variant, too, applies the operator to one argument, and not to make a whole query."""
        rewritten = self.body[0] in FILTERS | BY_COUNT | BY_MEASURE
        return len(self.body) == 4 and self.body[2].startswith("*n:") and not rewritten and self.result != "Query"

    @property
    def signature(self) -> tuple[Category, Category]:
        """The categories of the result and of the first argument."""
        return _category(self.result), _category(self.body[2].removeprefix("*n:"))


def read_operator_types(path: Path) -> list[OperatorType]:
    """Read the types of the FunQL operators, one a line, in the notation of the WASP parser."""
    types = []
    for number, line in read_lines(path):
        if line.strip() and not line.startswith("#"):
            match = _OPERATOR_TYPE.fullmatch(line)
            if match is None or "*n:" in match[2].split():
                raise InputError("expected a line like *n:State -> ({ loc_1 ( *n:City ) })", path, number)
            types.append(OperatorType(match[1], tuple(match[2].split())))
    return types


def output_cfg(types: Iterable[OperatorType], placeholders: Iterable[str], numbers: Iterable[str]) -> OutputCfg:
    """Build the output CFG of the variant from the types of the original operators.

    There is one category for each type (City, State, River, Place, Country, Num); a placeholder is of every type that
    has entities. Operators that can change places with each other have categories too, so that a rule may hold one
    or have a nonterminal in its place: operators of one argument, by result and argument (`traverse_2` in
    `traverse_2 ( state )` is a RiverFromState); relations, where they are not all of these (`next_to_2` in `most (
    state , next_to_2 , state )` is a StateToState); measures, by what they measure (`density_1` in `largest_one (
    density_1 , state )`); filters that are no sets of their own (`major`).
    """
    types = list(types)
    productions: dict[Production, None] = {}
    sets = {t.body[0] for t in types if t.body[1:] == ("(", "all", ")")}
    for declared in types:
        for lhs, rhs in _variant_productions(declared, types, sets, list(placeholders), list(numbers)):
            productions[Production(lhs, tuple(rhs))] = None
    return OutputCfg(productions)


def _variant_productions(
    declared: OperatorType,
    types: Sequence[OperatorType],
    sets: set[str],
    placeholders: Sequence[str],
    numbers: Sequence[str],
) -> Iterator[tuple[Category, Iterable[str | Category]]]:
    """Yield the productions of the variant that follow from the type of one original operator."""
    result, operator = _category(declared.result), declared.body[0]
    arguments = [_category(token[3:]) for token in declared.body if token.startswith("*n:")]
    if operator.startswith("'"):  # the names of entities, hidden behind placeholders
        return
    if operator == "*t:Num":
        for number in numbers:
            yield result, (number,)
    elif operator.endswith("id"):
        for placeholder in placeholders:
            yield result, (placeholder,)
    elif operator in FILTERS and not arguments:
        yield result, (operator,)
    elif operator in FILTERS and operator in sets:
        if arguments != [result]:  # otherwise covered by the intersection of two sets of one type
            yield result, ("intersection", "(", operator, ",", *arguments, ")")
    elif operator in FILTERS:
        yield Category("Filter"), (operator,)
        yield result, ("intersection", "(", Category("Filter"), ",", *arguments, ")")
    elif operator in BY_MEASURE:
        measures = Category(f"{result.name}Measure")
        yield measures, (declared.body[2],)
        yield result, (operator, "(", measures, ",", *arguments, ")")
    elif operator in BY_COUNT:
        for name, other in _relations(result, types):
            relation = _relation_category(result, other, types)
            yield relation, (name,)
            yield result, (operator, "(", result, ",", relation, ",", other, ")")
    elif declared.is_function:
        function = Category(f"{result.name}From{arguments[0].name}")
        yield function, (operator,)
        yield result, (function, "(", *arguments, ")")
    else:
        yield result, (_category(token[3:]) if token.startswith("*n:") else token for token in declared.body)


def _relations(result: Category, types: Iterable[OperatorType]) -> Iterator[tuple[str, Category]]:
    """Yield (operator, type of the other side) of a type's relations to things; their names end in _1 or _2."""
    for t in types:
        if t.is_function and t.body[0].endswith(("_1", "_2")):
            of, other = t.signature
            if of == result and other != Category("Num"):
                yield t.body[0], other


def _relation_category(result: Category, other: Category, types: Iterable[OperatorType]) -> Category:
    """Find the category of a type's relations to another: that of its functions, if all of them are relations."""
    relations = {name for name, to in _relations(result, types) if to == other}
    functions = {t.body[0] for t in types if t.is_function and t.signature == (result, other)}
    return Category(f"{result.name}{'From' if relations == functions else 'To'}{other.name}")


def _category(name: str) -> Category:
    return ROOT if name == "Query" else Category(name)
