"""The report: a page to look at in a browser."""

from collections.abc import Sequence
from typing import Any

from csl.log import Log
from csl.runs.folder import Figures
from csl.runs.recipe import Recipe
from csl.runs.stage import Stage, Work

log = Log("report")


class Report(Stage):
    """Write the report of all that the run has by now."""

    name = "report"
    artefacts = {"report.html": "the report: open it in a browser"}

    def reads(self, recipe: Recipe) -> Sequence[str]:
        """Read what every run has."""
        return ("grammar.txt", "samples.tsv", "data/")

    def may_read(self, recipe: Recipe) -> Sequence[str]:
        """Read all files that are results."""
        return ("model.npz", "predictions/", "samples.card.json")

    def options(self, work: Work) -> Any:
        """Give what the page says of the run, beside its files."""
        trained = {name: done.figures for name, done in work.folder.record.stages.items() if name != self.name}
        return [work.recipe.title, work.folder.record.settings, work.folder.record.seed, trained]

    def run(self, work: Work) -> Figures:
        """Write the page."""
        from csl.report.page import write_report  # noqa: PLC0415 — only where it is wanted

        log.progress("writing the report …")
        path = work.folder.path / "report.html"
        write_report(work.folder.path, path, engine=work.engine)
        return {"bytes": path.stat().st_size}

    def summary(self, figures: Figures) -> str:
        """Say how large the page is."""
        return f"report.html, {figures['bytes'] / 1e6:.1f} MB"
