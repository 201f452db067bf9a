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

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path

from csl.datasets.fetch import Home, RemoteFile
from csl.datasets.task import DataSet, Task, read_split
from csl.errors import InputError
from csl.examples import Example
from csl.files import read_lines

LONGEST_TRAINING_OUTPUT = 22  # the length split trains on outputs of up to this many actions
PARTS_OF_TRAINING_FILE = 10  # one line in ten of an add-primitive training file is the primitive on its own

TEMPLATES = ("around_right", "opposite_right", "right", "jump_around_right")  # phrases that only testing has

Tokens = tuple[str, ...]


@cache
def _actions() -> dict[Tokens, Tokens]:
    """Give the actions of every command, always in the same order."""
    primitives: dict[Tokens, Tokens] = {(verb,): (f"I_{verb.upper()}",) for verb in ("walk", "look", "run", "jump")}
    turns: dict[str, Tokens] = {word: (f"I_TURN_{word.upper()}",) for word in ("left", "right")}
    directed = list(product([*primitives.items(), (("turn",), ())], turns.items()))
    verbs = primitives.copy()
    verbs |= {(*verb, word): turn + action for (verb, action), (word, turn) in directed}
    verbs |= {(*verb, "opposite", word): turn + turn + action for (verb, action), (word, turn) in directed}
    verbs |= {(*verb, "around", word): (turn + action) * 4 for (verb, action), (word, turn) in directed}
    repeats: dict[Tokens, int] = {(): 1, ("twice",): 2, ("thrice",): 3}
    parts = {verb + word: action * n for (verb, action), (word, n) in product(verbs.items(), repeats.items())}
    commands = parts.copy()
    for (first, before), conjunction, (second, after) in product(parts.items(), ("and", "after"), parts.items()):
        commands[*first, conjunction, *second] = before + after if conjunction == "and" else after + before
    return commands


def commands() -> Iterator[Tokens]:
    """Enumerate every command of the grammar once, always in the same order."""
    return iter(_actions())


def interpret(command: Sequence[str]) -> Tokens | None:
    """Give the actions that a command stands for, or None if it is not a command of the grammar.

    >>> interpret("look left twice after jump".split())
    ('I_JUMP', 'I_TURN_LEFT', 'I_LOOK', 'I_TURN_LEFT', 'I_LOOK')
    """
    return _actions().get(tuple(command))


def prepare(source: Path | None, split: str) -> Task:
    """Make one split; only the MCD splits need `source`."""
    notes = []
    dev: list[Example] = []
    if split in ("jump", "turn_left"):
        train, test = _add_primitive(tuple(split.split("_")))
    elif split in TEMPLATES:
        train, test = _template(split)
    elif split == "length":
        pairs = _pairs()
        train = [pair for pair in pairs if len(pair.target) <= LONGEST_TRAINING_OUTPUT]
        test = [pair for pair in pairs if len(pair.target) > LONGEST_TRAINING_OUTPUT]
        notes.append("The paper's table of sizes says 11,990 training pairs; the published split has 16,990.")
    else:
        assert source, "needed for the MCD splits"
        tasks = dict(enumerate(_read_tasks(source / "tasks.txt")))
        train, dev, test = read_split(source / f"{split}.json", ("trainIdxs", "devIdxs", "testIdxs"), tasks)
    return Task(
        train=train,
        dev=dev,
        test=test,
        origin="Lake & Baroni 2018, generated from their grammar; MCD indices by Keysers et al. 2020",
        notes=notes,
    )


def _pairs() -> list[Example]:
    return [Example(command, actions) for command, actions in _actions().items()]


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


def _template(split: str) -> tuple[list[Example], list[Example]]:
    """Split so that training never sees a verb with these words (Loula, Baroni & Lake 2018).

    `jump_around_right` holds back jump alone. Commands with `turn` in this place are in neither part: `turn` is no
    action, so how it combines is not told by the other verbs.
    """
    verbs = ("jump",) if split.startswith("jump") else ("walk", "look", "run", "jump")
    words = tuple(split.removeprefix("jump_").split("_"))
    train: list[Example] = []
    test: list[Example] = []
    for pair in _pairs():
        if not _contains(pair.source, ("turn", *words)):
            held_out = any(_contains(pair.source, (verb, *words)) for verb in verbs)
            (test if held_out else train).append(pair)
    return train, test


def _contains(words: tuple[str, ...], phrase: tuple[str, ...]) -> bool:
    return any(words[i : i + len(phrase)] == phrase for i in range(len(words) - len(phrase) + 1))


def _read_tasks(path: Path) -> Iterator[Example]:
    for number, line in read_lines(path):
        before, marker, actions = line.partition(" OUT: ")
        pair = Example.of(before.removeprefix("IN: "), actions)
        if not (marker and before.startswith("IN: ")) or interpret(pair.source) != pair.target:
            raise InputError("not a SCAN pair; expected IN: command OUT: its actions", path, number)
        yield pair


_MCD_SIZES = ("8365", "1046", "1045")

SCAN: DataSet = DataSet(
    "scan",
    prepare,
    published_sizes={
        "jump": ("14670", "", "7706"),
        "turn_left": ("21890", "", "1208"),
        "length": ("11990", "", "3920"),
        "mcd1": _MCD_SIZES,
        "mcd2": _MCD_SIZES,
        "mcd3": _MCD_SIZES,
        **dict.fromkeys(TEMPLATES, ("", "", "")),
    },
    licence="BSD",
    home=Home(
        "https://raw.githubusercontent.com/brendenlake/SCAN/c4b756cbc010d75c912f16c42c8f15dc6b7e6c8f/",
        (RemoteFile("tasks.txt", 4080388, "d824c7d9e9149ba497e25f701981dac79954e04bf670d22e5c209f076ac6c89f"),),
        by_hand="the MCD splits also need mcd1.json, mcd2.json and mcd3.json in the same folder; they are in "
        "https://storage.googleapis.com/cfq_dataset/scan-splits.tar.gz",
    ),
    generated=frozenset(("jump", "turn_left", "length", *TEMPLATES)),
)
