"""COGS logical forms without variables, and back (the paper's appendix, "Dataset and Preprocessing Details").

A COGS logical form is a list of facts about variables, and a variable is the position of a word in the sentence:

    * cake ( x _ 3 ) ; give . agent ( x _ 1 , Camila ) AND give . theme ( x _ 1 , x _ 3 ) AND …

A QCFG cannot keep track of variables, so each variable is replaced by the description of what it stands for:

    give ( agent = Camila , theme = * cake ( nmod . in = storage ) , recipient = Emma )

- An entity is a name, a noun, or `*` and a noun (a definite one), with `( nmod . in = … )` if it is modified.
- An event is a verb with its arguments, in the order of the logical form, which is the order of the sentence.
- The subject of an infinitive (`xcomp`) is the subject of the verb above; its whole description is repeated:
  `want ( agent = * moose , xcomp = read ( agent = * moose ) )`. One nonterminal, used twice, writes both.

Both directions take time linear in the length of the form.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Role = tuple[str, ...]  # ("agent",) or ("nmod", ".", "in")

PARTICIPANTS = ("agent", "theme", "recipient")  # roles filled by entities
COMPLEMENTS = ("ccomp", "xcomp")  # roles filled by events
AGENT, CONTROL = ("agent",), ("xcomp",)

_ENTITY_FACT = re.compile(r"(\* )?(\S+) \( x _ (\d+) \)")
_ROLE_FACT = re.compile(r"(\S+) \. (nmod \. \S+|\S+) \( x _ (\d+) , (?:x _ (\d+)|(\S+)) \)")
_LONE_WORD = re.compile(r"(?:LAMBDA \S+ \. )+(\S+) (?:\. \S+ )?\( .*|(\S+)")

_PUNCTUATION = frozenset("()=,*")
_DETERMINERS = frozenset(("a", "the", "A", "The"))
_FUNCTION_WORDS = frozenset(("was", "by", "to", "that", "."))


@dataclass(frozen=True, slots=True)
class Form:
    """A variable-free form: a word, whether it is definite, and its arguments in order."""

    word: str
    definite: bool = False
    arguments: tuple[tuple[Role, "Form"], ...] = ()

    def tokens(self) -> Iterator[str]:
        """Write the form."""
        if self.definite:
            yield "*"
        yield self.word
        for k, (role, value) in enumerate(self.arguments):
            yield "," if k else "("
            yield from role
            yield "="
            yield from value.tokens()
        if self.arguments:
            yield ")"

    def words(self) -> Iterator[str]:
        """Enumerate the predicates and names in it."""
        yield self.word
        for _, value in self.arguments:
            yield from value.words()

    def prepositions(self) -> Iterator[str]:
        """Enumerate the prepositions of its modifiers."""
        for role, value in self.arguments:
            if role[0] == "nmod":
                yield role[-1]
            yield from value.prepositions()


def read_form(tokens: Sequence[str]) -> Form:
    """Read a variable-free form; ValueError with the reason if it is not one."""
    form, end = _read_form(tuple(tokens), 0)
    if end != len(tokens):
        raise ValueError(f"the form ends before {tokens[end]!r}")
    return form


def _read_form(tokens: tuple[str, ...], i: int) -> tuple[Form, int]:
    definite = tokens[i : i + 1] == ("*",)
    i += definite
    if i == len(tokens) or tokens[i] in _PUNCTUATION:
        raise ValueError(f"expected a word after {' '.join(tokens[:i])!r}")
    word, arguments = tokens[i], []
    i += 1
    if tokens[i : i + 1] == ("(",):
        separator = "("
        while tokens[i : i + 1] == (separator,):
            length = 3 if tokens[i + 1 : i + 3] == ("nmod", ".") else 1
            role = tuple(tokens[i + 1 : i + 1 + length])
            i += 1 + length
            if tokens[i : i + 1] != ("=",) or not _PUNCTUATION.isdisjoint(role):
                raise ValueError(f"expected a role and = after {' '.join(tokens[:i])!r}")
            value, i = _read_form(tokens, i + 1)
            arguments.append((role, value))
            separator = ","
        if tokens[i : i + 1] != (")",):
            raise ValueError(f"expected , or ) after {' '.join(tokens[:i])!r}")
        i += 1
    return Form(word, definite, tuple(arguments)), i


# From the original to the variable-free form

Value = int | str  # the number of a variable, or a name


def lone_word(logical_form: str) -> Form | None:
    """Read the logical form of a single word, or return None if it is that of a sentence.

    COGS trains on some words alone: `Paula`, `LAMBDA a . shark ( a )`, `LAMBDA a . LAMBDA e . float . theme ( e , a )`.
    Without variables each is its name or predicate, which is what a rule for a sentence can take in. What is lost,
    the kind of word, is in the original file only: these have no inverse.
    """
    match = _LONE_WORD.fullmatch(logical_form)
    return Form(match[1] or match[2]) if match else None


def remove_variables(logical_form: str) -> Form:
    """Turn the logical form of a sentence into the variable-free form; ValueError with the reason if it cannot be.

    >>> form = remove_variables("* boy ( x _ 1 ) ; see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , Emma )")
    >>> " ".join(form.tokens())
    'see ( agent = * boy , theme = Emma )'
    """
    facts = _Facts.read(logical_form)
    described: set[int] = set()

    def describe(value: Value, subject: tuple[Value, Form] | None = None) -> Form:
        if isinstance(value, str):
            return Form(value)
        if value in described:
            raise ValueError(f"x _ {value} is an argument twice, and not as the subject of an infinitive")
        if value not in facts.words:
            raise ValueError(f"nothing is said about x _ {value}")
        described.add(value)
        own_subject = None
        forms = []
        for role, argument in facts.arguments.get(value, ()):
            if role == AGENT and subject is not None:
                if argument != subject[0]:
                    raise ValueError(f"the infinitive x _ {value} has a subject of its own")
                form = subject[1]
            else:
                form = describe(argument, own_subject if role == CONTROL else None)
            if role == AGENT:
                if any(inner[0] != "nmod" for inner, _ in form.arguments):  # repeated, it could grow without end
                    raise ValueError(f"the agent of x _ {value} is an event")
                own_subject = argument, form
            forms.append((role, form))
        return Form(facts.words[value], value in facts.definite, tuple(forms))

    return describe(facts.outermost())


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a logical form says about each variable: its word, whether it is definite, and its arguments."""

    words: dict[int, str]
    definite: set[int]
    arguments: dict[int, list[tuple[Role, Value]]]

    @classmethod
    def read(cls, logical_form: str) -> "_Facts":
        facts = cls({}, set(), {})
        for fact in re.split(" ; | AND ", logical_form):
            if entity := _ENTITY_FACT.fullmatch(fact):
                variable, word = int(entity[3]), entity[2]
                if entity[1]:
                    facts.definite.add(variable)
            elif role := _ROLE_FACT.fullmatch(fact):
                variable, word = int(role[3]), role[1]
                argument = tuple(role[2].split()), role[5] or int(role[4])
                facts.arguments.setdefault(variable, []).append(argument)
            else:
                raise ValueError(f"not a fact of a COGS logical form: {fact!r}")
            if facts.words.setdefault(variable, word) != word:
                raise ValueError(f"x _ {variable} is both {facts.words[variable]!r} and {word!r}")
        return facts

    def outermost(self) -> int:
        """Give the one event that is not an argument."""
        inner = {value for pairs in self.arguments.values() for _, value in pairs}
        roots = [variable for variable in self.arguments if variable not in inner]
        if len(roots) != 1:
            raise ValueError(f"expected one outermost event, not {len(roots)}")
        return roots[0]


# And back


def restore_variables(sentence: Sequence[str], form: Form) -> str:
    """Turn a variable-free form back into the logical form, given its sentence; ValueError if the two do not fit.

    From the sentence come the numbers of the variables and nothing else. The k-th entity of the form, from left to
    right, is the k-th noun (the word after a determiner) or name (a capital), and the k-th event is the k-th of the
    words that are left when determiners, `was`, `by`, `to`, `that`, `.` and the form's prepositions are taken away.
    The subject of an infinitive is not counted, for it is the entity that the verb above has as its agent. Nouns are
    compared without case, because COGS writes a `TV` as `tv`.
    """
    return _Restoration(sentence, form).logical_form()


class _Restoration:
    """A walk through a form, from left to right, that takes its entities and events off the sentence."""

    def __init__(self, sentence: Sequence[str], form: Form) -> None:
        self.sentence, self.form = sentence, form
        self.entities, self.events = _mentions(sentence, frozenset(form.prepositions()))
        self.definites: list[tuple[int, str]] = []
        self.facts: list[tuple[int, str]] = []

    def logical_form(self) -> str:
        self.event(self.form)
        for left in (*self.entities, *self.events):
            raise ValueError(f"the form does not account for {self.sentence[left]!r}")
        return "".join(f"* {fact} ; " for fact in _in_order(self.definites)) + " AND ".join(_in_order(self.facts))

    def entity(self, form: Form) -> str:
        position = next(self.entities, None)
        if position is None or form.word not in (self.sentence[position], self.sentence[position].lower()):
            raise ValueError(f"the sentence does not mention {form.word!r} where the form does")
        if position == 0 or self.sentence[position - 1] not in _DETERMINERS:
            if form.definite or form.arguments:
                raise ValueError(f"{form.word!r} is a name, but the form says more about it")
            return form.word
        variable = f"x _ {position}"
        (self.definites if form.definite else self.facts).append((position, f"{form.word} ( {variable} )"))
        for role, value in form.arguments:
            if role[0] != "nmod":
                raise ValueError(f"{form.word!r} is an entity and cannot have the role {role[0]!r}")
            self.facts.append((position, f"{form.word} . {' '.join(role)} ( {variable} , {self.entity(value)} )"))
        return variable

    def event(self, form: Form, subject: tuple[str, Form] | None = None) -> str:
        position = next(self.events, None)
        if position is None or form.definite or not form.arguments:
            raise ValueError(f"{form.word!r} is not an event of the sentence")
        variable = f"x _ {position}"
        own_subject = None
        for role, value in form.arguments:
            if role[0] in COMPLEMENTS:
                argument = self.event(value, own_subject if role == CONTROL else None)
            elif role == AGENT and subject is not None:
                argument = subject[0]
                if value != subject[1]:
                    raise ValueError(f"the infinitive {form.word!r} has a subject of its own")
            elif role[0] in PARTICIPANTS:
                argument = self.entity(value)
            else:
                raise ValueError(f"{form.word!r} is an event and cannot have the role {role[0]!r}")
            if role == AGENT:
                own_subject = argument, value
            self.facts.append((position, f"{form.word} . {role[0]} ( {variable} , {argument} )"))
        return variable


def _mentions(sentence: Sequence[str], prepositions: frozenset[str]) -> tuple[Iterator[int], Iterator[int]]:
    """Find the positions of entities and of events."""
    entities: list[int] = []
    events: list[int] = []
    other = _DETERMINERS | _FUNCTION_WORDS | prepositions
    for position, word in enumerate(sentence):
        if position and sentence[position - 1] in _DETERMINERS:
            entities.append(position)
        elif word not in other:
            (entities if word[0].isupper() else events).append(position)
    return iter(entities), iter(events)


def _in_order(facts: list[tuple[int, str]]) -> list[str]:
    """Sort by position; facts of one variable keep their order."""
    return [text for _, text in sorted(facts, key=lambda fact: fact[0])]
