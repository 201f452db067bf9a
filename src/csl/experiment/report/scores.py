"""How good the systems of a run are, by length, by category, and by what CSL covers.

A system is a file predictions/NAME.tsv. Without predictions of csl, the parser of the run is asked.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from csl.data import Example
from csl.data.score import LENGTHS, MOST_CATEGORIES, same, score
from csl.data.score import Score as Counts
from csl.errors import InputError
from csl.experiment.report.schema import Group, Score, Scores
from csl.seq2seq.predictions import Predictions

SYSTEMS = ("csl", "t5", "augmented", "ensemble")


def read_predictions(folder: Path, examples: Sequence[Example]) -> tuple[dict[str, list[str]], list[str]]:
    """Read the outputs of each system, and name the systems whose predictions are of other inputs."""
    found, other = {}, []
    for name in SYSTEMS:
        path = folder / "predictions" / f"{name}.tsv"
        if not path.exists():
            continue
        predictions = Predictions.read(path)
        try:
            predictions.check([example.source_text for example in examples], "the test set")
            found[name] = predictions.outputs
        except InputError:
            other.append(name)
    return found, other


def describe_scores(examples: Sequence[Example], outputs: Mapping[str, Sequence[str]], left_out: list[str]) -> Scores:
    """Compare the outputs of systems, empty where there is none, with the right ones."""
    right = {
        name: [same(output, example.target_text) for output, example in zip(given, examples, strict=True)]
        for name, given in outputs.items()
    }

    def group(name: str, places: Sequence[int]) -> Group:
        return Group(
            name=name,
            examples=len(places),
            right={system: sum(hits[k] for k in places) for system, hits in right.items()},
        )

    def groups(names: Sequence[str], order: Sequence[str]) -> list[Group]:
        places: dict[str, list[int]] = {name: [] for name in order}
        for k, name in enumerate(names):
            places[name].append(k)
        return [group(name, found) for name, found in places.items() if found]

    starts = [1, *(end + 1 for end in LENGTHS)]
    labels = [f"{a}–{b}" for a, b in zip(starts, LENGTHS, strict=False)] + [f"over {LENGTHS[-1]}"]
    lengths = [labels[sum(len(example.source) > end for end in LENGTHS)] for example in examples]
    categories = [example.meta.get("category", "") for example in examples]
    some = 1 < len(set(categories)) <= MOST_CATEGORIES
    covered = ["covered by csl" if output else "others" for output in outputs.get("csl", ())]
    return Scores(
        systems={name: _score(*score(examples, given)) for name, given in outputs.items()},
        by_length=groups(lengths, labels),
        by_category=groups(categories, sorted(set(categories))) if some else None,
        breakdown=groups(covered, ["covered by csl", "others"]) if covered else None,
        left_out=left_out,
    )


def _score(total: Counts, groups: Mapping[str, Counts]) -> Score:
    def counts(part: Counts) -> dict[str, int]:
        return {"examples": part.examples, "answered": part.covered, "right": part.right}

    return Score(
        examples=total.examples,
        answered=total.covered,
        right=total.right,
        groups={name: counts(part) for name, part in groups.items()},
    )
