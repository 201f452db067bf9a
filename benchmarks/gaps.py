"""Questions with a gap: what typed nonterminals with a hole on the target side can do.

    python benchmarks/gaps.py

The language has sentences (`Emma gave the cake to Liam`, `Paul said that …`, `Emma wanted to hide the cake`) and
questions whose object stands in front: `what did Paul say that Emma gave to Liam ?`, `which cake did …`. Training has
clauses up to two levels deep in sentences, one in questions, and three verbs in sentences only. Outputs come in two
forms:

    plain  say ( agent = Paul , ccomp = give ( agent = Emma , theme = cake , recipient = Liam ) )
    hole   fill ( cake , say ( agent = Paul , ccomp = give ( agent = Emma , theme = _ , recipient = Liam ) ) )

The second is the first once `_` is replaced. In it a clause with a hole is a span, whatever its depth. Each form is
learnt by both searches, with and without an output CFG, which has a category for clauses with a hole. A line for each:
rules, and test questions that are parsed correctly.
"""

import random
from collections.abc import Callable

from csl.examples import Example
from csl.grammar.output_cfg import OutputCfg
from csl.induction.auto import choose
from csl.induction.induce import induce
from csl.model import config as fitting
from csl.model.fit import fit

NAMES = ("Emma", "Liam", "Ava", "Noah", "Mia", "Paul")
NOUNS = ("cake", "book", "key", "ball", "box", "cup")
TO = {"gave": "give", "sent": "send", "lent": "lend", "passed": "pass"}  # verbs with a recipient
VERBS = {"ate": "eat", "saw": "see", "took": "take", "found": "find", "hid": "hide", "sold": "sell"} | TO
SAYING = {"said": "say", "thought": "think", "knew": "know"}
NEW = ("hid", "lent", "sold")  # in no question of training
OLD = tuple(verb for verb in VERBS if verb not in NEW)
CLAUSES = """
ROOT => ##S
S => ##V ( agent = ##N , theme = ##N )
S => ##V ( agent = ##N , theme = ##N , recipient = ##N )
S => ##V ( agent = ##N , ccomp = ##S )
S => ##V ( agent = ##N , xcomp = ##S )
"""
WITH_HOLE = """
ROOT => fill ( ##N , ##G )
ROOT => fill ( ? , ##G )
G => ##V ( agent = ##N , theme = _ )
G => ##V ( agent = ##N , theme = _ , recipient = ##N )
G => ##V ( agent = ##N , ccomp = ##G )
"""

Pair = tuple[str, str]


class Language:
    """Draws sentences and questions."""

    def __init__(self, *, hole: bool) -> None:
        self.hole, self.rng = hole, random.Random(1)

    def categories(self) -> OutputCfg:
        """Give the output CFG."""
        words = [f"N => {noun}" for noun in (*NAMES, *NOUNS, *(() if self.hole else "?"))]
        words += [f"V => {verb}" for verb in sorted({*VERBS.values(), *SAYING.values(), "want"})]
        return OutputCfg.parse([*CLAUSES.split("\n"), *(WITH_HOLE.split("\n") if self.hole else ()), *words])

    def event(self, verb: str, form: str, thing: Pair) -> Pair:
        """Draw who does it, and for whom."""
        agent, to = self.rng.choice(NAMES), self.rng.choice(NAMES)
        words, roles = f"{agent} {form} {thing[0]}".strip(), f"agent = {agent} , theme = {thing[1]}"
        if verb in TO:
            words, roles = f"{words} to {to}", f"{roles} , recipient = {to}"
        return words, f"{VERBS[verb]} ( {roles} )"

    def within(self, depth: int, innermost: Callable[[], Pair]) -> Pair:
        """Put a clause into others."""
        words, output = innermost()
        for _ in range(depth):
            agent, verb = self.rng.choice(NAMES), self.rng.choice(tuple(SAYING))
            words = f"{agent} {verb} that {words}"
            output = f"{SAYING[verb]} ( agent = {agent} , ccomp = {output} )"
        return words, output

    def thing(self) -> Pair:
        """Draw an object."""
        noun = self.rng.choice(NOUNS)
        return (f"the {noun}", noun) if self.rng.random() < 0.7 else (name := self.rng.choice(NAMES), name)

    def sentence(self, depth: int) -> Pair:
        """Draw a sentence."""
        verb = self.rng.choice(tuple(VERBS))
        return self.within(depth, lambda: self.event(verb, verb, self.thing()))

    def wish(self) -> Pair:
        """Draw a sentence with the base form of a verb."""
        verb = self.rng.choice(tuple(VERBS))
        words, output = self.event(verb, f"wanted to {VERBS[verb]}", self.thing())
        return words, f"want ( agent = {words.split()[0]} , xcomp = {output} )"

    def question(self, depth: int, verbs: tuple[str, ...]) -> Pair:
        """Draw a question; the verb after `did` is in its base form."""
        verb, noun = self.rng.choice(verbs), self.rng.choice((*NOUNS, *"?" * len(NOUNS)))
        words, output = self.within(depth, lambda: self.event(verb, verb, ("", "_" if self.hole else noun)))
        agent, past, *rest = words.split()
        front = "what" if noun == "?" else f"which {noun}"
        words = " ".join([front, "did", agent, (VERBS | SAYING)[past], *rest, "?"])
        return words, f"fill ( {noun} , {output} )" if self.hole else output

    def training(self) -> list[Example]:
        """Draw the training examples."""
        parts = [(150, 0), (100, 1), (60, 2)]
        found = [example for number, depth in parts for example in distinct(number, self.sentence, depth)]
        questions = [example for depth in (0, 1) for example in distinct(120, self.question, depth, OLD)]
        return [*found, *distinct(80, self.wish), *questions]

    def tests(self) -> list[list[Example]]:
        """Draw questions as in training, with new verbs, and deeper ones."""
        shallow = [
            distinct(50, self.question, 0, verbs) + distinct(50, self.question, 1, verbs) for verbs in (OLD, NEW)
        ]
        return shallow + [distinct(100, self.question, depth, tuple(VERBS)) for depth in (2, 3)]


def distinct(number: int, draw: Callable[..., Pair], *arguments: object) -> list[Example]:
    """Draw until there are so many."""
    found: dict[Example, None] = {}
    while len(found) < number:
        found[Example.of(*draw(*arguments))] = None
    return list(found)


def measure(train: list[Example], tests: list[list[Example]], search: str, cfg: OutputCfg | None) -> str:
    """Learn from the training examples; give the figures."""
    chosen = choose(train)
    config = chosen.config.model_copy(update={"search": search})
    grammar = induce(train, config, seeds=chosen.seeds, output_cfg=cfg).grammar
    options, _ = fitting.choose(len(grammar), len(train))
    model = fit(grammar, train, options, output_cfg=cfg).model
    line = f"{len(grammar):>6}"
    for test in tests:
        parses = model.parse_all([example.source for example in test])
        right = sum(bool(p) and p.target == e.target for p, e in zip(parses, test, strict=True))
        line += f" {right / len(test):>9.0%}"
    return line


if __name__ == "__main__":
    print("form  search CFG   rules as before new verbs   depth 2   depth 3")
    for hole in (False, True):
        language = Language(hole=hole)
        train, tests = language.training(), language.tests()
        for search in ("paper", "deep"):
            for cfg in (None, language.categories()):
                line = measure(train, tests, search, cfg)
                print(f"{'hole' if hole else 'plain':6}{search:7}{'yes' if cfg else 'no':5}{line}", flush=True)
