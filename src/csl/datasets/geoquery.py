"""GeoQuery: questions about the geography of the United States and their FunQL queries (appendix, "GeoQuery").

From `corpus.xml` and `geobase`: sentences in lower case without the final mark, entities replaced by placeholders on
both sides, queries in the paper's variant of FunQL. The column `entities` keeps what each placeholder stood for, so
that `restore` gives back the original query. Less than a second for all 880 examples.

Splits are those of the paper, from lists of ids, and six of our own (`csl.splits`), so that choices of options need not
rest on the dev sets of a few.
"""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from csl.datasets.fetch import Home
from csl.datasets.funql import (
    Term,
    entities_of,
    format_term,
    from_variant,
    output_cfg,
    parse_term,
    read_operator_types,
    to_variant,
    tokens_of,
)
from csl.datasets.task import DataSet, Task, compare_sizes, read_split
from csl.errors import InputError, from_system
from csl.examples import Example
from csl.files import read_lines
from csl.grammar import Rule
from csl.grammar.output_cfg import OutputCfg
from csl.splits.divergence import profiles
from csl.splits.programs import DEFAULT_ENTITIES, entity_pattern
from csl.splits.splits import Split, template_split, tmcd_split

SIZES = {
    "standard": ("600", "", "280"),
    "template_1": ("438", "110", "332"),
    "template_2": ("439", "110", "331"),
    "template_3": ("440", "110", "330"),
    "tmcd_1": ("440", "110", "330"),
    "tmcd_2": ("440", "110", "330"),
    "tmcd_3": ("440", "110", "330"),
    "length": ("440", "110", "330"),
}
OWN = {f"own_{kind}_{seed}": (kind, seed) for kind in ("template", "tmcd") for seed in (1, 2, 3)}
"""Splits of our own, with the kind and seed of each."""
OWN_TRAIN, OWN_DEV = 440, 110

COUNTRY_NAMES = ("continental us", "united states", "america", "country", "usa", "us")
"""How people name the country that FunQL calls `countryid('usa')`; geobase does not list it."""


def prepare(source: Path, split: str) -> Task:
    """Prepare one split from the folder with `corpus.xml`, `geobase`, `funql_grammar.txt` and `splits/SPLIT.json`.

    Splits of our own need no list of ids.
    """
    examples = read_corpus(source / "corpus.xml", read_states(source / "geobase"))
    if split in OWN:
        ordered = [examples[number] for number in sorted(examples)]
        made = own_split(ordered, *OWN[split])
        train, dev, test = ([ordered[i] for i in part] for part in (made.train, made.dev, made.test))
        notes = ["a split of our own: the paper has no figures of it"]
    else:
        train, dev, test = read_split(source / "splits" / f"{split}.json", ("train", "dev", "test"), examples)
        notes = compare_sizes(SIZES[split], train, dev, test)
    tokens = {token for example in examples.values() for token in example.target}
    return Task(
        train=train,
        dev=dev,
        test=test,
        seed_rules=identity_rules(train),
        output_cfg=_read_cfg(source / "funql_grammar.txt", tokens),
        columns=("entities",),
        origin="GeoQuery with FunQL queries, University of Texas at Austin (Zelle and Mooney 1996; Kate et al. 2005)",
        notes=notes,
    )


def own_split(examples: Sequence[Example], kind: str, seed: int) -> Split:
    """Make a split of our own, `template` or `tmcd`, as `csl data split --sizes 440,110,330` does."""
    pattern = entity_pattern(DEFAULT_ENTITIES)
    if kind == "template":
        made = template_split(examples, OWN_TRAIN, seed, pattern)
    else:
        made = tmcd_split(profiles(examples, pattern), OWN_TRAIN, seed)
    return made.with_dev(OWN_DEV, seed)


def _read_cfg(path: Path, tokens: Iterable[str]) -> OutputCfg:
    """Make the output CFG of the types of operators, and of the placeholders and numbers among the tokens."""
    cfg = output_cfg(
        read_operator_types(path),
        placeholders=sorted(t for t in tokens if re.fullmatch(r"m\d+", t)),
        numbers=sorted(t for t in tokens if t.isdecimal()),
    )
    try:
        cfg.check()
    except InputError as error:
        raise InputError(f"the operators make no output CFG: {error}", path) from error
    return cfg


def read_states(geobase: Path) -> dict[str, str]:
    """Read the names of the states from geobase, by their abbreviations."""
    facts = (re.match(r"state\('([^']*)',\s*'([^']*)',", line) for _, line in read_lines(geobase))
    states = {fact[2]: fact[1] for fact in facts if fact}
    if not states:
        raise InputError("no facts of the form state('texas','tx',…); is this the file geobase?", geobase)
    return states


def read_corpus(corpus: Path, states: Mapping[str, str]) -> dict[int, Example]:
    """Read and anonymise all examples, by their ids."""
    try:
        root = ET.parse(corpus).getroot()
    except (ET.ParseError, ValueError, LookupError) as error:  # the latter two: an encoding that is not known
        raise InputError(f"not valid XML: {error}", corpus) from error
    except OSError as error:
        raise from_system(error, "cannot be read", corpus) from error
    examples: dict[int, Example] = {}
    for element in root.iter("example"):
        try:
            sentence = _text(element, "nl", "en")
            query = parse_term(_text(element, "mrl", "geo-funql"))
            number = int(element.get("id", ""))
            if number in examples:
                raise ValueError("the id is that of another example")
            examples[number] = anonymise(sentence, query, states)
        except ValueError as error:
            raise InputError(f"example {element.get('id')!r}: {error}", corpus) from error
    if not examples:
        raise InputError("no <example> elements", corpus)
    return examples


def anonymise(sentence: str, query: Term, states: Mapping[str, str]) -> Example:
    """Replace the entities of the query by placeholders, in the query and where the sentence mentions them.

    Longer names are looked for first and have the lower numbers; among names of one length the first mention comes
    first. What the sentence mentions but the query does not use stays as it is. Raises ValueError if the sentence does
    not mention an entity of the query.
    """
    words = normalise_sentence(sentence)
    spans: dict[Term, tuple[int, int]] = {}
    for term in sorted(dict.fromkeys(entities_of(query)), key=_name_length, reverse=True):
        spans[term] = _find_mention(words, names_of(term, states), spans.values(), term)
    numbered = sorted(spans, key=lambda term: (-_name_length(term), spans[term]))
    placeholders = {term: f"m{k}" for k, term in enumerate(numbered)}
    entities = {name: [" ".join(words[slice(*spans[term])]), format_term(term)] for term, name in placeholders.items()}
    for term, (start, end) in sorted(spans.items(), key=lambda item: item[1], reverse=True):
        words[start:end] = [placeholders[term]]
    target = tuple(tokens_of(to_variant(query, placeholders)))
    return Example(tuple(words), target, {"entities": json.dumps(entities)})


def restore(example: Example) -> str:
    """Turn the anonymised query of an example back into original FunQL, with the help of its `entities` column."""
    entities = {name: parse_term(term) for name, (_, term) in json.loads(example.meta["entities"]).items()}
    return format_term(from_variant(parse_term(example.target_text), entities))


def normalise_sentence(sentence: str) -> list[str]:
    """Lower-case and split a sentence; drop its final mark, and the apostrophe of a clitic, which rejoins its word."""
    return re.sub(r"\s*[.?!]\s*$", "", sentence.lower()).replace(" '", "").split()


def names_of(term: Term, states: Mapping[str, str]) -> list[tuple[str, ...]]:
    """List how a sentence can name an entity, as words: `austin texas` and `austin tx` for `cityid('austin', 'tx')`."""
    name, *state = (argument.operator.strip("'") for argument in term.arguments)
    if not name.split():
        raise ValueError(f"{format_term(term)} names nothing")
    if term.operator == "countryid" and name == "usa":
        return [tuple(alias.split()) for alias in COUNTRY_NAMES]
    suffixes = [f" {states[s]}" for s in state if s in states] + [f" {s}" for s in state] + [""]
    return [tuple((name + suffix).split()) for suffix in suffixes]


def _name_length(term: Term) -> int:
    return len(term.arguments[0].operator)


def _find_mention(
    words: Sequence[str], names: Iterable[tuple[str, ...]], taken: Iterable[tuple[int, int]], term: Term
) -> tuple[int, int]:
    """Find the first place where a name, the longest first, stands among words that no other entity has taken."""
    used = {i for start, end in taken for i in range(start, end)}
    for name in names:
        for start in range(len(words) - len(name) + 1):
            end = start + len(name)
            if tuple(words[start:end]) == name and used.isdisjoint(range(start, end)):
                return start, end
    raise ValueError(f"the sentence {' '.join(words)!r} does not mention {format_term(term)}")


def identity_rules(train: Iterable[Example]) -> list[Rule]:
    """Make the seed rules ⟨x, x⟩ for every token x that occurs in both the input and the output of an example."""
    shared = {token for example in train for token in set(example.source) & set(example.target)}
    return [Rule((token,), (token,)) for token in sorted(shared)]


def _text(element: ET.Element, tag: str, language: str) -> str:
    for child in element.iter(tag):
        if child.get("lang") == language and child.text and child.text.strip():
            return child.text.strip()
    raise ValueError(f'no <{tag} lang="{language}">')


GEOQUERY: DataSet = DataSet(
    "geoquery",
    prepare,
    SIZES | dict.fromkeys(OWN, ("", "", "")),
    licence="GPL-2.0",
    home=Home(
        by_hand="take corpus.xml with FunQL from https://www.cs.utexas.edu/~ml/wasp/ and geobase from "
        "https://www.cs.utexas.edu/~ml/nldata/geoquery.html; docs/datasets/geoquery.md lists all files it takes",
    ),
)
