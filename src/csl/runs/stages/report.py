"""The report: a page to look at in a browser."""

from typing import Any

from csl.log import Log
from csl.runs.folder import Figures
from csl.runs.stage import Stage, Work

log = Log("report")


class Report(Stage):
    """Write the report of all that the run has by now."""

    name = "report"
    reads = ("grammar.txt", "data/")
    may_read = ("prepared/", "model.npz", "predictions/", "samples.tsv", "samples.card.json")
    artefacts = {"report.html": "the report: open it in a browser"}

    def options(self, work: Work) -> Any:
        trained = {name: done.figures for name, done in work.folder.record.stages.items() if name != self.name}
        return [work.recipe.title, work.folder.record.settings, work.folder.record.seed, trained]

    def check_installed(self) -> None:
        from csl.report.page import need_jinja  # noqa: PLC0415 — only where it is wanted

        need_jinja()

    def run(self, work: Work) -> Figures:
        from csl.report.page import write_report  # noqa: PLC0415 — only where it is wanted

        log.progress("writing the report …")
        path = work.folder.path / "report.html"
        write_report(work.folder.path, path, engine=work.engine)
        return {"bytes": path.stat().st_size}

    def summary(self, figures: Figures) -> str:
        return f"report.html, {figures['bytes'] / 1e6:.1f} MB"
