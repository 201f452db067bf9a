"""SMCalFlow-CS: requests to a calendar assistant and their Lispress programs (appendix, "SMCalFlow-CS").

Two data sets of one form. `prepare` makes the official n-shot splits of Yin et al. 2021 from the official files and
lists of example ids. `prepare_fifth` makes splits of the same kind from a fifth of the training data, and tests on the
official dev set. A few seconds for the full set.
"""

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from csl.datasets.fetch import Home
from csl.datasets.lispress import WHOLE, Literal, literals_of, parse_program, tokenise, tokenise_sentence
from csl.datasets.lispress_cfg import output_cfg
from csl.datasets.task import DataSet, Task, compare_sizes, read_split
from csl.errors import InputError
from csl.examples import Example
from csl.files import parse_json, read_lines
from csl.grammar import Rule, parse_rule

SIZES = {"8": ("25412", "1324", "1325"), "16": ("25420", "1324", "1325"), "32": ("25436", "1324", "1325")}
SINGLE, CROSS = "single", "cross"
CALENDAR = "CreatePreflightEventWrapper"  # programs of the domain of events have it
ORG_CHART = frozenset(
    {"FindManager", "FindReports", "FindTeamOf"}
)  # programs about people's positions have one of them

FREE_TEXT = frozenset({"String", "PersonName", "LocationKeyphrase"})
"""Literals that hold words of the sentence; the other types name members of a fixed list (`DayOfWeek`, `Month`)."""

_BY_NAME = (
    "Execute :intension ( refer ( extensionConstraint ( RecipientWithNameLike "
    ":constraint ( Constraint[Recipient] ) :name # ( NT_1 ) ) ) )"
)
HALLUCINATIONS = tuple(
    parse_rule(f"NT_1 ### {target}")
    for target in (
        "AttendeeListHasPeople :people ( NT_1 )",
        "AttendeeListHasRecipient :recipient ( NT_1 )",
        _BY_NAME,
        f"AttendeeListHasRecipient :recipient ( {_BY_NAME} )",
        "Constraint[DateTime] :date ( ?= ( NextDOW :dow # ( NT_1 ) ) )",
    )
)
"""Seed rules that wrap a program fragment which no word of the sentence stands for."""


def prepare(source: Path, split: str) -> Task:
    """Prepare an official split: from a folder of the archive, or from all turns and a list of ids.

    The former is `source_domain_with_target_numN` with `train.jsonl`, `valid.jsonl` and `test.jsonl`. The latter are
    files of these names with the turns of all splits, beside `split_numN.json`.
    """
    own = f"source_domain_with_target_num{split}"
    folder = source / own if (source / own).is_dir() else source
    ids = None if folder.resolve().name == own else folder / f"split_num{split}.json"
    for path in (folder / "train.jsonl", folder / "test.jsonl", *([ids] if ids else [])):
        if not path.is_file():
            remedy = f"it is in the archive's folder {own}; smcalflow-cs-fifth needs less"
            raise InputError(f"not found; {remedy}: train_fifth.jsonl and valid.jsonl", path)
    turns = {part: read_turns(folder / f"{part}.jsonl") for part in ("train", "valid", "test")}
    if ids:
        examples = {name: example for part in turns.values() for name, example in part.items()}
        parts = read_split(ids, ("train", "valid_s", "valid", "test_s", "test"), examples)
        every, dev, test = parts[0], parts[1] + parts[2], parts[3] + parts[4]
    else:
        every, dev, test = (sorted(part.values(), key=_is_cross) for part in turns.values())
    train = [e for e in every if copies_its_literals(e)]
    notes = [_filter_note(len(every) - len(train)), *compare_sizes(SIZES[split], train, dev, test)]
    return _task(folder, train, dev, test, notes)


def _is_cross(example: Example) -> bool:
    return example.meta["category"] == CROSS


def prepare_fifth(source: Path, split: str) -> Task:
    """Prepare a split of the same kind from `train_fifth.jsonl`, tested on all of `valid.jsonl`.

    Training has the single-domain examples of the former and n of its cross-domain ones, drawn with a fixed seed such
    that more shots include the fewer.
    """
    path = source / "train_fifth.jsonl"
    every = list(read_turns(path).values())
    kept = [e for e in every if copies_its_literals(e)]
    pool = [e for e in kept if _is_cross(e)]
    if len(pool) < int(split):
        raise InputError(f"has {len(pool)} cross-domain examples, fewer than the {split} of the split", path)
    random.Random(0).shuffle(pool)
    notes = [
        _filter_note(len(every) - len(kept)),
        f"the {split} cross-domain examples are drawn from the {len(pool)} of the file",
        "the test set is the official dev set, and training has a fifth of the data: figures of the official splits "
        "are for orientation only",
    ]
    train = [e for e in kept if not _is_cross(e)] + pool[: int(split)]
    return _task(source, train, [], list(read_turns(source / "valid.jsonl").values()), notes)


def _task(folder: Path, train: list[Example], dev: list[Example], test: list[Example], notes: list[str]) -> Task:
    if not train:
        raise InputError("the files leave no example to train on; are they of this data set?", folder)
    return Task(
        train=train,
        dev=dev,
        test=test,
        seed_rules=[*copy_rules(train), *HALLUCINATIONS],
        output_cfg=output_cfg(e.target for e in train),
        columns=("category",),
        origin="SMCalFlow, Microsoft Semantic Machines (Andreas et al. 2020); splits of Yin et al. 2021",
        notes=notes,
    )


def read_turns(path: Path) -> dict[str, Example]:
    """Read the turns of a JSON lines file as examples, by their ids `dialogue_id.turn_index`."""
    examples: dict[str, Example] = {}
    for number, line in read_lines(path):
        if line.strip():
            try:
                turn = parse_json(line)
                example = Example(
                    tokenise_sentence(turn["utterance"]), tokenise(turn["plan"]), {"category": _category(turn)}
                )
                parse_program(example.target)
                name = f"{turn['dialogue_id']}.{turn['turn_index']}"
            except (KeyError, TypeError, AttributeError) as error:
                needed = "dialogue_id, turn_index, utterance and plan"
                raise InputError(f"expected a JSON object with {needed} on each line", path, number) from error
            except ValueError as error:
                raise InputError(str(error), path, number) from error
            if not example.source:
                raise InputError("the utterance is empty", path, number)
            if name in examples:
                raise InputError(f"turn {name} is in the file twice; remove one of them", path, number)
            examples[name] = example
    if not examples:
        raise InputError("no turns in the file; copy or download it again", path)
    return examples


def _category(turn: Mapping[str, Any]) -> str:
    """Tell the domain: by tags where the turn has them, else by whether it is in the zero-shot training set."""
    cross = "events_with_orgchart" in turn["tags"] if "tags" in turn else 0 not in turn["in_num"]
    return CROSS if cross else SINGLE


def domain(pair: Example) -> str:
    """Tell the domain of a pair by its program: cross if it asks the org chart for an event."""
    return CROSS if CALENDAR in pair.target and not ORG_CHART.isdisjoint(pair.target) else SINGLE


def copies_its_literals(example: Example) -> bool:
    """Whether the words of every free-text literal stand in the sentence, whatever their case and spacing."""
    sentence = "".join(example.source).lower()
    literals = (v for v in literals_of(parse_program(example.target)) if v.head in FREE_TEXT)
    return all("".join(literal.tokens).replace(WHOLE, "").lower() in sentence for literal in literals)


def copy_rules(train: Iterable[Example]) -> list[Rule]:
    """Make the seed rules for literals that are copied: ⟨sales meeting, String " sales meeting "⟩, ⟨30, Number 30⟩.

    The target is all that stands between the literal's brackets, which is what a nonterminal of this task stands for.
    """
    rules = {
        Rule(copied, literal.symbols): None
        for example in train
        for literal in literals_of(parse_program(example.target))
        if (copied := _copied(literal, example.source))
    }
    return sorted(rules, key=str)


def _copied(literal: Literal, sentence: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the tokens of the sentence that the literal repeats; the number 30.0 repeats 30."""
    if literal.head in FREE_TEXT:
        n = len(literal.tokens)
        found = any(sentence[i : i + n] == literal.tokens for i in range(len(sentence) - n + 1))
        return literal.tokens if n and found else None
    if literal.head == "Number":
        number = "".join(literal.tokens)
        return next(((t,) for t in (number, number.removesuffix(".0")) if t in sentence), None)
    return None


def _filter_note(count: int) -> str:
    return f"{count} training examples were left out because a string literal is not in the input (paper: 22)"


_BY_HAND = (
    "get the archive that https://github.com/microsoft/compositional-generalization-span-level-attention "
    "points to; --source is the folder with its folders source_domain_with_target_num8, 16 and 32"
)
FULL: DataSet = DataSet(
    "smcalflow-cs", prepare, SIZES, licence="CC-BY-SA-4.0", home=Home(by_hand=_BY_HAND), category=domain
)
FIFTH: DataSet = DataSet(
    "smcalflow-cs-fifth",
    prepare_fifth,
    published_sizes=dict.fromkeys(SIZES, ("", "", "")),
    licence=FULL.licence,
    home=FULL.home,
    category=domain,
)
