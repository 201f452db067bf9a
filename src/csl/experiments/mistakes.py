"""Wrong outputs of a system with the nearest training examples (paper, appendix "SMCalFlow-CS Error Analysis")."""

import random
from dataclasses import dataclass

from csl.errors import InputError
from csl.examples import Example
from csl.examples.nearest import Nearest
from csl.examples.score import by_category, correct
from csl.runs.folder import RunFolder
from csl.seq2seq.predictions import Predictions


@dataclass(frozen=True)
class Mistake:
    """A test example with a wrong output, and the training example whose input is nearest, `distance` tokens away."""

    example: Example
    output: str
    nearest: Example
    distance: int


@dataclass(frozen=True)
class Mistakes:
    """Of a category of the test set: how many examples, without an output, with a wrong one; and some of these."""

    examples: int
    abstained: int
    wrong: int
    some: list[Mistake]


def find_mistakes(folder: RunFolder, system: str, number: int, seed: int) -> dict[str, Mistakes]:
    """Draw `number` wrong outputs of a system from each category of the test set of a run, or from all."""
    path = folder.path / "predictions" / f"{system}.tsv"
    if not path.exists():
        known = ", ".join(sorted(found.stem for found in path.parent.glob("*.tsv"))) or "none; `csl run` makes them"
        raise InputError(f"no predictions of {system!r}; there are: {known}", path)
    predictions, test = Predictions.read(path), folder.examples("test")
    predictions.check([example.source_text for example in test], folder.path / "data" / "test.tsv")
    outputs, right, train = predictions.outputs, correct(test, predictions.outputs), Nearest(folder.examples())
    found = {}
    for name, places in (by_category(test) or {"all": list(range(len(test)))}).items():
        wrong = [i for i in places if outputs[i] and not right[i]]
        drawn = sorted(random.Random(seed).sample(wrong, min(number, len(wrong))))
        some = [Mistake(test[i], outputs[i], *train.find(test[i].source)) for i in drawn]
        found[name] = Mistakes(len(places), sum(not outputs[i] for i in places), len(wrong), some)
    return found
