"""SCAN: navigation commands and action sequences (Lake & Baroni 2018; the paper's section "SCAN").

The set is finite and defined by a phrase-structure grammar and an interpretation function, so it is generated here
and needs no download; as in the paper there is no preprocessing, there are no seed rules and no output CFG:

    C → S and S | S after S | S        a command: one or two parts
    S → V twice | V thrice | V         a part, repeated or not
    V → W opposite L | W around L | D | U
    D → W L                            with W → U | turn
    L → left | right
    U → walk | look | run | jump

The MCD splits (Keysers et al. 2020) are lists of line numbers of the published `tasks.txt`, whose order is a random
shuffle; they need that file and their own index file. Generating all 20,910 pairs takes a tenth of a second.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path

from csl.datasets.task import Task
from csl.errors import InputError
from csl.examples import Example
from csl.files import read_json, read_lines

SPLITS = ("jump", "turn_left", "length", "mcd1", "mcd2", "mcd3")

LONGEST_TRAINING_OUTPUT = 22  # the length split trains on outputs of up to this many actions
PARTS_OF_TRAINING_FILE = 10  # one line in ten of an add-primitive training file is the primitive on its own

_PRIMITIVES = ("walk", "look", "run", "jump")
_DIRECTIONS = ("left", "right")
_REPEATS = {"twice": 2, "thrice": 3}

Actions = tuple[str, ...]


def commands() -> Iterator[tuple[str, ...]]:
    """Enumerate every command of the grammar once, always in the same order."""
    directed = [(verb, direction) for verb in (*_PRIMITIVES, "turn") for direction in _DIRECTIONS]
    manners = [(verb, manner, direction) for manner in ("opposite", "around") for verb, direction in directed]
    verbs: list[tuple[str, ...]] = [*((u,) for u in _PRIMITIVES), *directed, *manners]
    parts = [(*verb, *repeat) for verb in verbs for repeat in ((), *((word,) for word in _REPEATS))]
    yield from parts
    for first, conjunction, second in product(parts, ("and", "after"), parts):
        yield (*first, conjunction, *second)


def interpret(command: Sequence[str]) -> Actions | None:
    """Give the actions that a command stands for, or None if it is not a command of the grammar.

    >>> interpret("look left twice after jump".split())
    ('I_JUMP', 'I_TURN_LEFT', 'I_LOOK', 'I_TURN_LEFT', 'I_LOOK')
    """
    words = tuple(command)
    for conjunction in ("and", "after"):
        if conjunction in words:
            middle = words.index(conjunction)
            first, second = _interpret_part(words[:middle]), _interpret_part(words[middle + 1 :])
            if first is None or second is None:
                return None
            return first + second if conjunction == "and" else second + first
    return _interpret_part(words)


def _interpret_part(words: tuple[str, ...]) -> Actions | None:
    if words and words[-1] in _REPEATS:
        once = _interpret_verb(words[:-1])
        return None if once is None else once * _REPEATS[words[-1]]
    return _interpret_verb(words)


def _interpret_verb(words: tuple[str, ...]) -> Actions | None:
    match words:
        case (verb,) if verb in _PRIMITIVES:
            return (f"I_{verb.upper()}",)
        case (verb, *manner, direction) if verb in (*_PRIMITIVES, "turn") and direction in _DIRECTIONS:
            turn = (f"I_TURN_{direction.upper()}",)
            action = () if verb == "turn" else (f"I_{verb.upper()}",)
            match manner:
                case []:
                    return turn + action
                case ["opposite"]:
                    return turn + turn + action
                case ["around"]:
                    return (turn + action) * 4
    return None


def prepare(source: Path | None, split: str) -> Task:
    """Make one split; `source` is only needed for the MCD splits."""
    notes = []
    dev: list[Example] = []
    if split in ("jump", "turn_left"):
        train, test = _add_primitive(tuple(split.split("_")))
    elif split == "length":
        pairs = list(_pairs())
        train = [pair for pair in pairs if len(pair.target) <= LONGEST_TRAINING_OUTPUT]
        test = [pair for pair in pairs if len(pair.target) > LONGEST_TRAINING_OUTPUT]
        notes.append("The paper's table of sizes says 11,990 training pairs; the published split has 16,990.")
    else:
        train, dev, test = _from_indices(source, split)
    return Task(
        train=train,
        dev=dev,
        test=test,
        origin="Lake & Baroni 2018, generated from their grammar; MCD indices by Keysers et al. 2020",
        licence="BSD",
        notes=notes,
    )


def _pairs() -> Iterator[Example]:
    for command in commands():
        actions = interpret(command)
        assert actions is not None, command
        yield Example(command, actions)


def _add_primitive(primitive: tuple[str, ...]) -> tuple[list[Example], list[Example]]:
    """Split so that training sees the primitive only on its own, and testing only inside longer commands.

    The published training files repeat the lone primitive until it makes up exactly a tenth of the file: 1,467 of
    14,670 lines for jump, 2,189 of 21,890 for turn left.
    """
    alone: list[Example] = []
    test: list[Example] = []
    others: list[Example] = []
    for pair in _pairs():
        chosen = alone if pair.source == primitive else test if _contains(pair.source, primitive) else others
        chosen.append(pair)
    copies = len(others) // (PARTS_OF_TRAINING_FILE - 1)
    return others + alone * copies, test


def _contains(words: tuple[str, ...], phrase: tuple[str, ...]) -> bool:
    return any(words[i : i + len(phrase)] == phrase for i in range(len(words) - len(phrase) + 1))


def _from_indices(source: Path | None, split: str) -> tuple[list[Example], list[Example], list[Example]]:
    if source is None:
        raise InputError(f"the split {split} needs tasks.txt and {split}.json; give their folder with --source")
    index_file = source / f"{split}.json"
    tasks = list(_read_tasks(source / "tasks.txt"))
    try:
        record = read_json(index_file)
    except ValueError as error:
        raise InputError(f"not valid JSON ({error})", index_file) from error
    train, dev, test = (_indices(record, name, len(tasks), index_file) for name in ("train", "dev", "test"))
    if len({*train, *dev, *test}) < len(train) + len(dev) + len(test):
        raise InputError("a line number occurs twice; expected three disjoint lists", index_file)
    return [tasks[i] for i in train], [tasks[i] for i in dev], [tasks[i] for i in test]


def _indices(record: object, name: str, limit: int, path: Path) -> list[int]:
    indices = record.get(f"{name}Idxs") if isinstance(record, dict) else None
    if not isinstance(indices, list) or not all(type(i) is int and 0 <= i < limit for i in indices):
        raise InputError(f"expected {name}Idxs, a list of line numbers of tasks.txt from 0 to {limit - 1}", path)
    return indices


def _read_tasks(path: Path) -> Iterable[Example]:
    for number, line in read_lines(path):
        before, marker, actions = line.partition(" OUT: ")
        pair = Example.of(before.removeprefix("IN: "), actions)
        if not (marker and before.startswith("IN: ")) or interpret(pair.source) != pair.target:
            raise InputError("not a SCAN pair; expected IN: command OUT: its actions", path, number)
        yield pair
