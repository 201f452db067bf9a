"""The page of a report: one HTML file that needs no network, no server and, to be read, no script.

The template writes all data as HTML with autoescape on; the style sheet and the script beside it are put in as they
are. The page lets nothing but that script run, by its hash. The same data gives the same bytes. Cost: linear in the
data, a second for a few thousand rules.
"""

import difflib
import hashlib
import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from csl.engine.engine import Engine
from csl.engine.threads import ONE_THREAD
from csl.examples.score import percent
from csl.files import write_text
from csl.report.chart import Chart, Point, line_chart
from csl.report.collect import collect
from csl.report.drawing import draw
from csl.report.schema import Report, Tree, TreeRow, Uncovered

Row = Mapping[str, Any]

SECTIONS = {
    "summary": "Summary",
    "scores": "Accuracy",
    "induction": "Induction",
    "fit": "Fit",
    "training": "Training",
    "rules": "Rules",
    "trees": "Derivations",
    "uncovered": "Not covered",
    "synthetic": "Synthetic pairs",
    "coverage": "Compositional coverage",
    "setup": "To reproduce it",
}
REMEDIES = {  # the command that adds what a run has not
    "scores": "csl report RUN --test FILE",
    "induction": "csl induce TRAIN --out RUN",
    "fit": "csl fit RUN",
    "training": "csl run RECIPE --train",
    "trees": "csl report RUN --test FILE",
    "uncovered": "csl report RUN --test FILE",
    "synthetic": "csl sample RUN --out RUN/samples.tsv",
    "coverage": "csl report RUN --test FILE",
}
REASONS = {
    "unknown tokens": "A token is in no rule.",
    "no rule": "All tokens are known, but no rules derive the whole input.",
    "no valid output": "Rules derive the input, but to no output that the output grammar accepts.",
}


def write_report(
    run: Path, out: Path, *, test: Path | None = None, unlabelled: Path | None = None, engine: Engine = ONE_THREAD
) -> None:
    """Look at a run folder and write its page."""
    write_text(out, render(collect(run, test=test, unlabelled=unlabelled, engine=engine)))


def render(data: Report) -> str:
    """Make the page of a report."""
    rules = {rule["id"]: rule for rule in data["rules"]["rows"]}

    def draw_tree(tree: Tree) -> object:
        return draw(tree, rules)

    trees = _mixed(data["trees"])
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "count": count, "number": number, "share": percent,
        "draw": draw_tree, "differences": differences, "parts": parts,
    }  # fmt: skip
    js = _asset("report.js")
    present = {name for name in SECTIONS if name in ("summary", "setup") or data[name]}  # type: ignore[literal-required]
    return environment.from_string(_asset("report.html")).render(
        data=data,
        rules=rules,
        rows=sorted(rules.values(), key=lambda rule: -(rule["saves"] or 0.0)),
        trees=trees,
        opened=next((k for k, row in enumerate(trees) if len(draw(row["tree"], rules).nodes) > 4), 0),
        reasons=REASONS,
        charts=_charts(data),
        setup=_setup(data),
        sections=[(name, heading) for name, heading in SECTIONS.items() if name in present],
        absent=[(SECTIONS[name], remedy) for name, remedy in REMEDIES.items() if name not in present],
        css=Markup(_asset("report.css")),
        js=Markup(js),
        script_hash="sha256-" + b64encode(hashlib.sha256(js.encode()).digest()).decode(),
    )


def _asset(name: str) -> str:
    return (files("csl.report") / "assets" / name).read_text(encoding="utf-8")


def count(value: float) -> str:
    """Write a whole number, or what is one for the reader."""
    return f"{value:,.0f}".replace("-", "−")


def number(value: float) -> str:
    """Write a figure: large ones whole, small ones with the digits that tell."""
    return count(value) if abs(value) >= 1000 else f"{value:.4g}".replace("-", "−")


def differences(other: str, text: str) -> Iterator[tuple[bool, str]]:
    """Cut a text into pieces, and say of each whether it differs from the other text, token by token.

    >>> list(differences("run twice", "run left twice"))
    [(False, 'run'), (True, 'left'), (False, 'twice')]
    """
    tokens = text.split()
    for kind, _, _, start, stop in difflib.SequenceMatcher(None, other.split(), tokens, autojunk=False).get_opcodes():
        if start < stop:
            yield kind != "equal", " ".join(tokens[start:stop])


def parts(row: Uncovered) -> Iterator[tuple[str, str]]:
    """Cut an input into pieces, and say of each whether it is covered, unknown, or neither (empty)."""

    def kind(place: int, token: str) -> tuple[str, object]:
        if token in row["unknown"]:
            return "unknown", place
        spans = [(i, j) for i, j in row["spans"] if i <= place < j]
        return "covered" if spans else "", spans

    marked = [(kind(place, token), token) for place, token in enumerate(row["input"].split())]
    for (name, _), group in groupby(marked, key=lambda item: item[0]):
        yield name, " ".join(token for _, token in group)


def _mixed(rows: Sequence[TreeRow]) -> list[TreeRow]:
    """Take the first derivation of each kind, then the second of each, and so on."""
    met: Counter[tuple[str, bool | None]] = Counter()

    def turn(row: TreeRow) -> int:
        kind = row["origin"], row["right"]
        met[kind] += 1
        return met[kind]

    return sorted(rows, key=turn)


def _charts(data: Report) -> dict[str, Chart | None]:
    induction = [step | {"step": k} for k, step in enumerate(data["induction"] or [], start=1)]  # on over partitions
    stages: dict[str, list[Row]] = {}
    for point in data["fit"] or []:
        stages.setdefault(point["stage"], []).append(point)
    fit = [_series(f"{name}, {part}", rows, part) for name, rows in stages.items() for part in ("train", "dev")]
    training = (data["training"] or {}).items()
    return {
        "objective": line_chart("Objective", "step", [_series("", induction, "objective")]),
        "size": line_chart("Rules", "step", [_series("", induction, "rules")]),
        "fit": line_chart("Mean log p(x, y)", "step", fit),
        "loss": line_chart("Loss", "step", [_series(*item, "loss") for item in training]),
        "dev": line_chart("Accuracy on dev", "step", [_series(*item, "dev") for item in training]),
    }


def _series(name: str, rows: Sequence[Row], key: str) -> tuple[str, list[Point]]:
    return name, [(row["step"], row[key]) for row in rows if row[key] is not None]


def _setup(data: Report) -> list[tuple[str, str]]:
    """Give what is needed to make the run again, as texts to copy."""
    config = dict(data["config"])
    recipe = config.pop("recipe.toml", None)
    texts = [("Recipe", str(recipe).strip())] if recipe else []
    texts.append(("Options", json.dumps(config, indent=2, ensure_ascii=False)))
    texts.append(("Versions", "\n".join(f"{name} {version}" for name, version in data["versions"].items())))
    return texts
