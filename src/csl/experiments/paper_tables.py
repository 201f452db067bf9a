"""The paper's tables with the figures of runs beside the paper's: `csl table`.

Runs of a recipe as it is are compared with the paper; in the tables of a sweep, also runs that differ in what was
swept. Runs with other settings are left out, and a note names them; they are shown only if a recipe has no other runs
and all have the same settings. Means are over seeds first, then over splits; a deviation is that of a sample, of the
means that the seeds have over the splits.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from math import inf, isfinite
from statistics import fmean, stdev

from csl.errors import InputError
from csl.experiments.paper import Column, paper
from csl.experiments.records import Run
from csl.experiments.table import OURS, PAPER, Cell, Row, Table, with_runs
from csl.runs.recipe import NqgOptions

Value = Callable[[Run], float | None]
Heads = list[tuple[str, str]]  # group and name of each column
GECA = "sampling.method"  # if it is geca, the augmented model of a run is T5+GECA
NQG = {"NQG-T5": "nqg_t5", "BERT + SpanLabel": "span_label"}  # rows of runs with NQG, and the systems there
COUNTED = "± is the standard deviation over seeds, (n) the number of runs where there are several."


def make_table(kind: str, runs: Sequence[Run], *, everything: bool = False) -> Table:
    """Make a table of the columns and rows that have a run; with `everything`, of all that the paper has too."""
    table = TABLES[kind](runs)
    return table if everything else with_runs(table, by_row=kind in ("breakdown", "states", "variance"))


def main(runs: Sequence[Run]) -> Table:
    """Accuracy by system and split, with the systems that the paper cites."""
    draft = Draft(runs, "main", GECA, *(f"nqg.{key}" for key in NqgOptions.model_fields))
    geca = [run for run in draft.runs if _by_geca(run)]
    nqg = [run for run in draft.runs if run.counts("nqg")]
    every: list[Run] = []  # of a recipe those as it is, else those with NQG, else those with GECA
    for group in ([run for run in draft.runs if run not in geca and run not in nqg], nqg, geca):
        every += [run for run in group if run.recipe not in {other.recipe for other in every}]
    chosen = {"T5+GECA": geca, "T5+CSL-Aug.": [run for run in every if run not in geca], **dict.fromkeys(NQG, nqg)}
    systems = paper().systems | NQG | {"T5+GECA": "augmented"}
    breakdown, parsers = paper().tables["breakdown"], paper().tables["parsers"]
    others = {
        "CSL": {split: row["all CSL"] for split, row in breakdown.rows.items()},
        "T5+CSL ensemble": {split: row["all Ens."] for split, row in breakdown.rows.items()},
        "BERT + SpanLabel": parsers.rows["BERT + SpanLabel"],
    }
    columns = draft.columns()
    for name, figures in (draft.paper.rows | others).items():
        system, own = systems.get(name, ""), chosen.get(name, every)
        ours = [draft.mean(column, accuracy(system, column.category), name, own) for column in columns]
        draft.add((name,), _cells(figures), ours)
    return draft.table(
        "Accuracy", ("System",), _heads(columns),
        f"CSL and the ensemble: {breakdown.source}; BERT + SpanLabel, on the grammar of CSL: {parsers.source}.",
        "The paper's T5 is T5-Base, its BERT is BERT-Base; ours are those of the recipes.",
    )  # fmt: skip


def breakdown(runs: Sequence[Run]) -> Table:
    """Accuracy on inputs that CSL covers, on the others, and on all."""
    draft = Draft(runs, "breakdown")
    heads = [(part, name) for part, _, name in (column.partition(" ") for column in draft.paper.columns)]
    for split in draft.columns():
        figures = draft.paper.rows.get(str(split), {})
        ours = [draft.mean(split, _share(part, name, split.category), f"{part} {name}") for part, name in heads]
        draft.add((str(split),), _cells(figures), ours)
    return draft.table(
        "Accuracy by what CSL covers", ("Split",), heads,
        "covered: CSL gives an output; others: it gives none. Ens.: CSL's output if there is one, else T5's. Aug.: "
        "T5+CSL-Aug.",
    )  # fmt: skip


def states(runs: Sequence[Run]) -> Table:
    """Log probabilities by number of context states."""
    draft = Draft(runs, "states", "fit.states")
    known = draft.paper.rows
    swept = [run for run in draft.runs if f"{run.recipe} train p(x, y)" in known or "fit.states" in run.settings]
    numbers = sorted({*map(int, draft.paper.columns), *(run.states for run in swept)} - {0})
    heads = [("", str(number)) for number in numbers]
    recipes = dict.fromkeys([*(name.split()[0] for name in known), *(run.recipe for run in swept)])
    for recipe, part, given in product(recipes, ("train", "dev", "test"), ("p(x, y)", "p(y | x)")):
        split, value = Column("", recipe, (recipe,)), _log_prob(part, given)
        ours = [draft.mean(split, value, runs=[run for run in swept if run.states == n]) for n in numbers]
        draft.add((recipe, part, given), _cells(known.get(f"{recipe} {part} {given}", {})), ours)
    return draft.table(
        "Mean log probability by number of context states", ("Recipe", "Part", "Log prob."), heads,
        "ours: over the pairs that the grammar derives.", digits=2,
    )  # fmt: skip


def temperature(runs: Sequence[Run]) -> Table:
    """Accuracy of the augmented model by sampling temperature, or by strategy where that has none."""

    def row(run: Run) -> str:
        options = run.options.sampling
        return f"{options.temperature:g}" if options.needs_model else options.strategy

    draft = Draft(_trained(runs), "temperature", "sampling.temperature", "sampling.strategy")
    return _augmented(draft, "sampling temperature", row)


def semi(runs: Sequence[Run]) -> Table:
    """Accuracy of the augmented model by number of synthetic examples, with and without unlabelled inputs."""

    def row(run: Run) -> str:
        options = run.options
        return f"{options.sampling.number:,}{' + unlabelled' if options.fit.unlabelled else ''}"

    draft = Draft(_trained(runs), "semi", "sampling.number", "fit.unlabelled", "fit.ratio")
    return _augmented(draft, "number of synthetic examples", row)


def variance(runs: Sequence[Run]) -> Table:
    """Mean and deviation over seeds, by split."""
    draft = Draft(runs, "variance")
    heads = [("", name) for name in paper().systems]
    for recipe in dict.fromkeys([*draft.paper.rows, *(run.recipe for run in draft.runs)]):
        found = draft.paper.rows.get(recipe)
        known = {"T5+CSL-Aug.": Cell(found["mean"], found["deviation"], runs=3)} if found else {}
        split = Column("", recipe, (recipe,))
        draft.add((recipe,), known, [draft.mean(split, accuracy(name)) for name in paper().systems.values()])
    return draft.table("Mean and deviation of accuracy", ("Recipe",), heads)


TABLES = {
    "main": main, "breakdown": breakdown, "states": states, "temperature": temperature, "semi": semi,
    "variance": variance,
}  # fmt: skip


class Draft:
    """A table in the making: the runs that count, the rows so far, and notes."""

    def __init__(self, runs: Sequence[Run], kind: str, *swept: str) -> None:
        self.paper = paper().tables[kind]
        self._notes = [f"{run.folder}: not evaluated yet." for run in runs if run.systems is None]
        self._rows: list[tuple[tuple[str, ...], Mapping[str, Cell], Sequence[Cell | None]]] = []  # labels, paper, ours
        self._partial: dict[tuple[str, str], dict[str, None]] = {}  # column, which splits → rows
        self.runs = [
            run for recipe in sorted({run.recipe for run in runs}) for run in self._chosen(runs, recipe, swept)
        ]

    def _chosen(self, runs: Sequence[Run], recipe: str, swept: Sequence[str]) -> list[Run]:
        """Choose the runs of a recipe that are as it is, but for what was swept."""
        groups: dict[str, list[Run]] = {}
        for run in (run for run in runs if run.recipe == recipe):
            changed = ", ".join(f"{key} = {run.settings[key]}" for key in sorted(run.settings) if key not in swept)
            groups.setdefault(changed, []).append(run)
        chosen = groups.pop("", [])
        if not chosen and len(groups) == 1:
            changed, chosen = groups.popitem()
            self._notes.append(f"{recipe}: all runs have {changed}.")
        if groups:
            self._notes.append(f"{recipe}: left out, runs with {'; '.join(sorted(groups))}.")
        return chosen

    def columns(self) -> list[Column]:
        """List the paper's columns, and those of ours that have runs."""
        known = paper().columns
        have = {run.recipe for run in self.runs}
        shown = {*self.paper.columns, *self.paper.rows}
        titles = {run.recipe: run.title for run in self.runs if not any(run.recipe in c.recipes for c in known)}
        return [c for c in known if str(c) in shown or have & {*c.recipes}] + [
            Column("other runs", title, (recipe,)) for recipe, title in titles.items()
        ]

    def mean(self, column: Column, value: Value, name: str = "", runs: Iterable[Run] | None = None) -> Cell | None:
        """Give the mean of a value over the seeds and splits of a column; None where no run has it."""
        splits: dict[str, dict[int, float]] = {}
        seen: dict[tuple[str, int], Run] = {}
        for run in self.runs if runs is None else runs:
            if run.recipe not in column.recipes:
                continue
            other = seen.setdefault((run.recipe, run.seed), run)
            if _figures(other) != _figures(run):
                raise InputError(f"{run.recipe}, seed {run.seed}, is also in {other.folder}; name one", run.folder)
            if (found := value(run)) is not None:
                splits.setdefault(run.recipe, {})[run.seed] = found
        if not splits:
            return None
        if len(splits) < len(column.recipes):
            part = f"{len(splits)} of {len(column.recipes)} splits, {', '.join(splits)}"
            self._partial.setdefault((str(column), part), {})[name] = None
        seeds = set.intersection(*({*figures} for figures in splits.values()))
        means = [fmean(figures[seed] for figures in splits.values()) for seed in sorted(seeds)]
        return Cell(
            fmean(fmean(figures.values()) for figures in splits.values()),
            stdev(means) if len(means) > 1 else None,
            sum(map(len, splits.values())),
        )

    def add(self, labels: tuple[str, ...], known: Mapping[str, Cell], ours: Sequence[Cell | None]) -> None:
        """Add the paper's figures, by the name of the column, and ours."""
        self._rows.append((labels, known, ours))

    def table(self, title: str, labels: tuple[str, ...], heads: Heads, *notes: str, digits: int = 1) -> Table:
        """Finish the table; rows without figures are left out."""
        rows: list[Row] = []
        for names, known, ours in self._rows:
            rows.append(Row(names, PAPER, tuple(known.get(f"{group} {name}".strip()) for group, name in heads)))
            rows.append(Row(names, OURS, tuple(ours)))
        rows = [row for row in rows if any(row.cells)]
        partial = [f"{column} ({', '.join(names)}): {part}." for (column, part), names in self._partial.items()]
        if not any(row.source == OURS for row in rows):
            self._notes.append("None of the runs has a figure for this table.")
        all_notes = (f"paper: Qiu et al. 2022, {self.paper.source}.", *notes, COUNTED, *partial, *self._notes)
        return Table(title, labels, tuple(heads), tuple(rows), all_notes, digits)


def accuracy(system: str, category: str = "") -> Value:
    """Give the percentage of correct outputs of a system, of all test examples or those of a category."""

    def value(run: Run) -> float | None:
        score = run.counts(system, category)
        return _percent(score.right, score.examples) if score else None

    return value


def _percent(count: int, of: int) -> float | None:
    return 100 * count / of if of else None


_BREAKDOWN = {"T5": "t5", "CSL": "csl", "Ens.": "ensemble", "Aug.": "augmented"}


def _share(part: str, name: str, category: str) -> Value:
    """Give a percentage of the breakdown: the inputs that CSL covers, or the correct outputs of a system in a part."""

    def value(run: Run) -> float | None:
        if not (csl := run.counts("csl", category)):
            return None
        if name == "%":
            return _percent(csl.answered, csl.examples)
        counts = {
            "covered": {"examples": csl.answered, "csl": csl.right},
            "others": {"examples": csl.examples - csl.answered, "csl": 0},
        }[part]
        found = run.breakdown  # only of runs with more systems than CSL
        counts |= getattr(found.groups.get(category) if found and category else found, part, {})
        return _percent(counts[system], counts["examples"]) if (system := _BREAKDOWN[name]) in counts else None

    return accuracy(_BREAKDOWN[name], category) if part == "all" else value


def _log_prob(part: str, given: str) -> Value:
    key = "log_p_xy" if given == "p(x, y)" else "log_p_y_given_x"

    def value(run: Run) -> float | None:
        figure = run.log_prob(part, key)
        return figure if figure is not None and isfinite(figure) else None

    return value


def _figures(run: Run) -> dict[str, object]:
    return run.model_dump(include={"states", "systems", "parts", "breakdown"})


def _augmented(draft: Draft, by: str, row: Callable[[Run], str]) -> Table:
    """Make a table of the augmented model's accuracy, with rows by what was swept."""
    columns = draft.columns()
    runs: dict[str, list[Run]] = {name: [] for name in draft.paper.rows}
    for run in draft.runs:
        runs.setdefault(row(run), []).append(run)
    for name in sorted(runs, key=_number):
        ours = [draft.mean(column, accuracy("augmented", column.category), name, runs[name]) for column in columns]
        draft.add((name,), _cells(draft.paper.rows.get(name, {})), ours)
    return draft.table(f"Accuracy of T5+CSL-Aug. by {by}", (by.capitalize(),), _heads(columns))


def _number(label: str) -> tuple[float, str]:
    """Give the number that a label starts with, to sort by; words come last."""
    first = label.split(maxsplit=1)[0].replace(",", "")
    return float(first) if first[0].isdigit() else inf, label


def _by_geca(run: Run) -> bool:
    """Tell whether the synthetic pairs of a run are made by GECA, by its settings or its recipe."""
    trained = run.counts("augmented") is not None
    return run.settings.get(GECA) == "geca" or (trained and run.options.sampling.method == "geca")


def _trained(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.counts("augmented")]


def _heads(columns: Iterable[Column]) -> Heads:
    return [(column.set, column.name) for column in columns]


def _cells(figures: Mapping[str, float]) -> dict[str, Cell]:
    return {column: Cell(figure) for column, figure in figures.items()}
