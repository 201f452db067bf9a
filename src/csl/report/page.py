"""The page of a report: one HTML file that needs no network, no server and, to be read, no script.

The template writes all data as HTML with autoescape on; the style sheet and the script beside it are put in as they
are. The page lets nothing but that script run, by its hash. The same data gives the same bytes. Cost: linear in the
data, a second for a few thousand rules.
"""

import difflib
import hashlib
import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from importlib.resources import files
from importlib.util import find_spec
from itertools import groupby, zip_longest
from pathlib import Path

from csl.engine import ONE_THREAD, Threads
from csl.errors import InputError
from csl.examples.score import percent
from csl.files import write_text
from csl.report.coverage import UncoveredInput
from csl.report.derivations import TreeRow
from csl.report.drawing import Drawing, draw, line_chart
from csl.report.report import Report, make_report

SECTIONS = {  # heading, and the command that adds a section that a run does not have
    "summary": ("Summary", ""),
    "scores": ("Accuracy", "csl report RUN --test FILE"),
    "induction": ("Induction", "csl induce TRAIN --out RUN"),
    "fit": ("Fit", "csl fit RUN"),
    "training": ("Training", "csl run RECIPE --train"),
    "types": ("Categories and values", ""),  # of raw text only
    "rules": ("Rules", ""),
    "trees": ("Derivations", "csl report RUN --test FILE"),
    "uncovered": ("Not covered", "csl report RUN --test FILE"),
    "synthetic": ("Synthetic pairs", "csl sample RUN --out RUN/samples.tsv"),
    "coverage": ("Compositional coverage", "csl report RUN --test FILE"),
    "setup": ("Reproduce", ""),
}
CHARTS = {  # by section: a curve and its title
    "induction": {"objective": "Objective", "rules": "Rules"},
    "fit": {"fit": "Mean log p(x, y)"},
    "training": {"loss": "Loss", "dev": "Accuracy on dev"},
    "scores": {"risk": "Share of wrong outputs"},
}
BY = {"risk": "coverage in %"}  # what a curve is drawn over, if not steps


def write_report(
    run: Path, out: Path, *, test: Path | None = None, unlabelled: Path | None = None, engine: Threads = ONE_THREAD
) -> None:
    """Write the page of a run folder."""
    need_jinja()
    write_text(out, render(make_report(run, test=test, unlabelled=unlabelled, engine=engine)))


def need_jinja() -> None:
    """Refuse to start without the library that writes the page."""
    if find_spec("jinja2") is None:
        raise InputError("the report needs jinja2; pip install 'compositional-structure-learner[report]'")


def render(report: Report) -> str:
    """Make the page of a report."""
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 — an extra, needed only here
    from markupsafe import Markup  # noqa: PLC0415

    rules = {rule.id: rule for rule in report.rules.rows}

    def draw_tree(derivation: Sequence[int]) -> Drawing:
        return draw(derivation, rules)

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "count": count, "number": number, "share": percent,
        "draw": draw_tree, "differences": differences, "parts": parts,
    }  # fmt: skip
    js, trees = _asset("report.js"), _mixed(report.trees)
    charts = {
        section: [
            chart
            for name, title in titles.items()
            if (chart := line_chart(title, report.curves[name], BY.get(name, "step")))
        ]
        for section, titles in CHARTS.items()
    }
    present = {"setup", *(name for name in SECTIONS if charts.get(name) or getattr(report, name, None))}
    return environment.from_string(_asset("report.html")).render(
        data=report,
        rules=rules,
        rows=sorted(rules.values(), key=lambda rule: -(rule.saves or 0.0)),
        trees=trees,
        opened=next((k for k, row in enumerate(trees) if len(row.rules) > 4), 0),
        charts=charts,
        setup=_setup(report),
        sections=[(name, heading) for name, (heading, _) in SECTIONS.items() if name in present],
        absent=[section for name, section in SECTIONS.items() if name not in present and section[1]],
        css=Markup(_asset("report.css")),
        js=Markup(js),
        script_hash="sha256-" + b64encode(hashlib.sha256(js.encode()).digest()).decode(),
    )


def _asset(name: str) -> str:
    return (files("csl.report") / "assets" / name).read_text(encoding="utf-8")


def count(value: float) -> str:
    """Write a whole number, or a figure rounded to one."""
    return f"{value:,.0f}".replace("-", "−")


def number(value: float) -> str:
    """Write a figure: large ones whole, small ones with four digits."""
    return count(value) if abs(value) >= 1000 else f"{value:.4g}".replace("-", "−")


def differences(other: str, text: str) -> Iterator[tuple[bool, str]]:
    """Cut a text into pieces, and tell of each whether it differs from the other text, token by token.

    >>> list(differences("run twice", "run left twice"))
    [(False, 'run'), (True, 'left'), (False, 'twice')]
    """
    tokens = text.split()
    for kind, _, _, start, stop in difflib.SequenceMatcher(None, other.split(), tokens, autojunk=False).get_opcodes():
        if start < stop:
            yield kind != "equal", " ".join(tokens[start:stop])


def parts(row: UncoveredInput) -> Iterator[tuple[str, str]]:
    """Cut an input into pieces, and tell of each whether it is covered, unknown, or neither (empty)."""

    def kind(place: int, token: str) -> tuple[str, object]:
        if token in row.unknown:
            return "unknown", place
        spans = [(i, j) for i, j in row.spans if i <= place < j]
        return "covered" if spans else "", spans

    marked = [(kind(place, token), token) for place, token in enumerate(row.input.split())]
    for (name, _), group in groupby(marked, key=lambda item: item[0]):
        yield name, " ".join(token for _, token in group)


def _mixed(rows: Sequence[TreeRow]) -> list[TreeRow]:
    """Take the first derivation of each kind, then the second of each, and so on."""
    kinds: dict[object, list[TreeRow]] = {}
    for row in rows:
        kinds.setdefault((row.origin, row.right), []).append(row)
    return [row for turn in zip_longest(*kinds.values()) for row in turn if row]


def _setup(report: Report) -> list[tuple[str, str]]:
    """Give what is needed to repeat the run, as texts to copy."""
    texts = [("Recipe", report.recipe.strip())] if report.recipe else []
    texts.append(("Options", json.dumps(report.options, indent=2, ensure_ascii=False)))
    texts.append(("Versions", "\n".join(f"{name} {version}" for name, version in report.versions.items())))
    return texts
