"""How good the systems of a run are, by length, by category, and by what CSL covers.

A system is a file predictions/NAME.tsv. Without predictions of csl, the parser of the run is asked.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from csl.errors import InputError
from csl.examples import Example
from csl.examples.score import Score as Counts
from csl.examples.score import groups, same_output, score
from csl.report.schema import Group, Score, Scores
from csl.seq2seq.predictions import Predictions

SYSTEMS = ("csl", "t5", "augmented", "ensemble", "nqg", "nqg_t5", "span_label")


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
        name: [same_output(output, example.target_text) for output, example in zip(given, examples, strict=True)]
        for name, given in outputs.items()
    }

    def rows(grouped: Mapping[str, Sequence[int]]) -> list[Group]:
        return [
            Group(
                name=name.removesuffix(" tokens"),
                examples=len(places),
                right={system: sum(hits[k] for k in places) for system, hits in right.items()},
            )
            for name, places in grouped.items()
            if places
        ]

    lengths = groups([Example(example.source, example.target) for example in examples])
    categories = groups(examples)
    covered: dict[str, list[int]] = {"covered by csl": [], "others": []}
    for k, output in enumerate(outputs.get("csl", ())):
        covered["covered by csl" if output else "others"].append(k)
    return Scores(
        systems={name: _score(*score(examples, given)) for name, given in outputs.items()},
        by_length=rows(lengths),
        by_category=None if categories == lengths else rows(categories),
        breakdown=rows(covered) or None,
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
