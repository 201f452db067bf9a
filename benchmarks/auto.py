"""What `auto` makes of data that it does not know: three small languages with an oracle, no option given.

    python benchmarks/auto.py [LANGUAGE ...]

Each language is a synchronous grammar with categories, written below. Pairs are drawn from it; its oracle gives all
outputs of an input. Two splits: `random`, and `new`, where what HELD_OUT names together is in the test set only. For
each `csl augment` does without files: rules of the grammar; test inputs that are covered, and parsed right; then for
three ways to sample, all without an output CFG: samples that are right (sentences of the language with their output),
and test inputs all of whose combinations (a rule in a nonterminal of another) are in 4,000 samples.
"""

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice

import csl
from csl.examples import Example
from csl.grammar import Rule
from csl.parsing.derivation import Derivation
from csl.sampling.config import PRESETS, SampleConfig
from csl.sampling.sampler import Sampler

Tokens = tuple[str, ...]

COLUMNS = "name|name age|age salary|salary town|city department|dept phone|phone"
QUERIES = f"""
ROOT = show the @LIST of @TABLE | SELECT @LIST FROM @TABLE
ROOT = show the @LIST of @TABLE whose @WHERE | SELECT @LIST FROM @TABLE WHERE @WHERE
ROOT = show the @LIST of @TABLE sorted by @COLUMN | SELECT @LIST FROM @TABLE ORDER BY @COLUMN
ROOT = show the @LIST of @TABLE whose @WHERE sorted by @COLUMN | SELECT @LIST FROM @TABLE WHERE @WHERE ORDER BY @COLUMN
ROOT = what is the @MEAN @NUMBER of @TABLE | SELECT @MEAN ( @NUMBER ) FROM @TABLE
ROOT = what is the @MEAN @NUMBER of @TABLE whose @WHERE | SELECT @MEAN ( @NUMBER ) FROM @TABLE WHERE @WHERE
ROOT = what is the @MEAN @NUMBER of @TABLE per @COLUMN | SELECT @COLUMN , @MEAN ( @NUMBER ) FROM @TABLE GROUP BY @COLUMN
ROOT = how many @TABLE are there | SELECT COUNT ( * ) FROM @TABLE
LIST = @COLUMN | @COLUMN
LIST = @COLUMN.1 and @COLUMN.2 | @COLUMN.1 , @COLUMN.2
WHERE = @TEST | @TEST
WHERE = @TEST.1 and whose @TEST.2 | @TEST.1 AND @TEST.2
TEST = @NUMBER is over @N | @NUMBER > @N
TEST = @NUMBER is under @N | @NUMBER < @N
TEST = town is @CITY | city = @CITY
COLUMN : {COLUMNS}
NUMBER : age|age salary|salary
MEAN : average|AVG total|SUM highest|MAX lowest|MIN
TABLE : employees|employees managers|managers customers|customers
CITY : Paris|Paris Rome|Rome Oslo|Oslo
N : 10|10 25|25 42|42 1000|1000
"""
ROBOT = """
ROOT = @DO | @DO
ROOT = @DO.1 then @DO.2 | SEQ ( @DO.1 ; @DO.2 )
ROOT = before you @DO.2 , @DO.1 | SEQ ( @DO.1 ; @DO.2 )
DO = @ACT | @ACT
DO = @ACT @K times | LOOP @K { @ACT }
DO = if you see the @THING , @ACT | IF ( see ( @THING ) ) { @ACT }
ACT = go @WAY @K steps | GO @WAY @K
ACT = pick up the @THING | PICK ( @THING )
ACT = put the @THING.1 on the @THING.2 | PLACE ( @THING.1 , @THING.2 )
ACT = say @WORD | SAY @WORD
THING = @KIND | @KIND
THING = @COLOUR @KIND | @COLOUR ( @KIND )
THING = @SIZE @COLOUR @KIND | @SIZE ( @COLOUR ( @KIND ) )
WAY : north|NORTH south|SOUTH east|EAST west|WEST
SIZE : big|BIG tiny|SMALL
KIND : box|box ball|ball cup|cup key|key
COLOUR : red|red green|green blue|blue
K : 2|2 3|3 4|4 5|5 6|6 7|7
WORD : hello|hello thanks|thanks sorry|sorry
"""
DATES = """
ROOT = am @DAY | @DAY
ROOT = vom @DAY.1 bis zum @DAY.2 | @DAY.1 / @DAY.2
ROOT = @SPAN nach dem @DAY | @DAY + @SPAN
ROOT = @SPAN vor dem @DAY | @DAY - @SPAN
ROOT = jeden @WEEKDAY im @MONTH | R / XXXX - @MONTH - XX & @WEEKDAY
ROOT = am @DAY um @HOUR Uhr | @DAY T @HOUR : 00
DAY = @ORDINAL @MONTH | XXXX - @MONTH - @ORDINAL
DAY = @ORDINAL @MONTH @YEAR | @YEAR - @MONTH - @ORDINAL
SPAN = @Z Tage | P @Z D
SPAN = @Z Wochen | P @Z W
ORDINAL : ersten|01 zweiten|02 dritten|03 vierten|04 zehnten|10 zwanzigsten|20 dreißigsten|30
MONTH : Januar|01 Februar|02 März|03 April|04 Mai|05 Juni|06 Juli|07 August|08 Oktober|10
WEEKDAY : Montag|W1 Dienstag|W2 Mittwoch|W3 Freitag|W5 Sonntag|W7
Z : zwei|2 drei|3 vier|4 fünf|5 sechs|6 zehn|10
HOUR : eins|01 zwei|02 acht|08 neun|09 zwölf|12
YEAR : 1999|1999 2012|2012 2020|2020 2024|2024
"""
HELD_OUT: dict[str, tuple[str, Callable[[str], bool], int]] = {
    "queries": (QUERIES, lambda x: (" per " in x and "salary" in x) or ("sorted" in x and "whose" in x), 400),
    "robot": (ROBOT, lambda x: ("times" in x and ("then" in x or "before" in x)) or ("tiny" in x and "put" in x), 800),
    "dates": (DATES, lambda x: ("jeden" in x and ("März" in x or "Mai" in x)) or ("Wochen" in x and "20" in x), 500),
}
WAYS = {
    "auto": PRESETS["auto"],
    "model": SampleConfig(),
    "even": SampleConfig(depths="even", max_depth=12),
}


class Language:
    """A synchronous grammar with categories, and its oracle."""

    def __init__(self, text: str) -> None:
        self.rules: dict[str, list[tuple[Tokens, Tokens]]] = {}
        for line in text.strip().splitlines():
            category, sign, rest = line.split(" ", 2)
            for rule in [rest.replace(" | ", "|", 1)] if sign == "=" else rest.split():
                x, y = rule.split("|", 1)
                self.rules.setdefault(category, []).append((tuple(x.split()), tuple(y.split())))
        self.outputs = cache(self._outputs)

    def draw(self, rng: random.Random, category: str = "ROOT") -> tuple[Tokens, Tokens]:
        """Draw a pair, each rule of a category as likely as any other."""
        source, target = rng.choice(self.rules[category])
        parts = {s: self.draw(rng, _category(s)) for s in source if s[0] == "@"}
        return tuple(
            tuple(t for s in side for t in (parts[s][k] if s in parts else (s,)))
            for k, side in enumerate((source, target))
        )  # type: ignore[return-value]

    def _outputs(self, category: str, x: Tokens) -> frozenset[Tokens]:
        """Give all outputs of an input."""
        return frozenset(
            tuple(t for s in target for t in filled.get(s, (s,)))
            for source, target in self.rules[category]
            for filled in self._matches(source, x)
        )

    def _matches(self, source: Tokens, x: Tokens) -> Iterator[dict[str, Tokens]]:
        if len(source) > len(x) or (not source and x):
            return
        if not source:
            yield {}
        elif source[0][0] != "@":
            yield from self._matches(source[1:], x[1:]) if x[0] == source[0] else ()
        else:
            for end in range(1, len(x) - len(source) + 2):
                for rest in self._matches(source[1:], x[end:]):
                    yield from ({source[0]: y, **rest} for y in self.outputs(_category(source[0]), x[:end]))


def _category(symbol: str) -> str:
    return symbol[1:].partition(".")[0]


def combinations(derivation: Derivation) -> Iterator[tuple[Rule, int, Rule]]:
    """List each rule with its place in a rule above."""
    for place, child in enumerate(derivation.children):
        yield derivation.rule, place, child.rule
        yield from combinations(child)


def pairs(
    language: Language, seed: int, number: int, wanted: Callable[[str], bool], known: Sequence[Example] = ()
) -> list[Example]:
    """Draw distinct pairs that are wanted and not known."""
    rng, found = random.Random(seed), dict.fromkeys(known)
    while len(found) < len(known) + number:
        example = Example(*language.draw(rng))
        if wanted(example.source_text):
            found[example] = None
    return list(found)[len(known) :]


def measure(name: str, split: str) -> str:
    """Learn a language from one split; give a line of the table."""
    text, held_out, number = HELD_OUT[name]
    language = Language(text)
    if split == "random":
        train = pairs(language, 1, number, lambda _: True)
        test = pairs(language, 2, 300, lambda _: True, train)
    else:
        train = pairs(language, 3, number, lambda x: not held_out(x))
        test = pairs(language, 4, 200, held_out)
    grammar = csl.induce(train)
    model = csl.fit(grammar, train)
    parses = model.parse_all([example.source for example in test])
    right = [p for p, e in zip(parses, test, strict=True) if p and p.target == e.target]
    line = (
        f"{name:8} {split:7} {len(grammar):5} {sum(map(bool, parses)) / len(test):9.1%} {len(right) / len(test):7.1%}"
    )
    for config in WAYS.values():
        sampler = Sampler(grammar, config, model=model)
        samples = list(islice(sampler.stream(4000), 4000))
        good = sum(s.example.target in language.outputs("ROOT", s.example.source) for s in samples[:1000])
        seen = {c for s in samples for c in combinations(sampler.derivation(s))}
        met = sum(seen.issuperset(combinations(parse.derivation)) for parse in right)
        line += f"  {good / min(1000, len(samples)):7.1%} {met / len(test):7.1%}"
    return line


if __name__ == "__main__":
    print("language split   rules   covered   right" + "".join(f"  {way + ':':>7} seen   " for way in WAYS))
    for chosen in sys.argv[1:] or HELD_OUT:
        for split in ("random", "new"):
            print(measure(chosen, split), flush=True)
