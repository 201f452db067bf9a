"""The paper's tables with the figures of runs beside the paper's: `csl table`.

Runs stand in rows of their own by set-up: with the paper's options, with ours, and with each set of changed options,
which a note names. In the tables of a sweep what was swept is no change. Changed runs are left out of the other tables,
and a note names them, if a recipe has others. Means are over seeds first, then over splits; a deviation is that of a
sample, of the means that the seeds have over the splits.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from math import inf, isfinite
from statistics import fmean, stdev

from csl.errors import InputError
from csl.experiments.paper import Column, paper
from csl.experiments.records import Run
from csl.experiments.table import OURS, PAPER, SAME, Cell, Row, Table, with_runs
from csl.model.config import INFERENCE
from csl.runs.recipe import NqgOptions

Value = Callable[[Run], float | None]
Heads = list[tuple[str, str]]  # group and name of each column
Figures = Sequence[tuple[Column, Value]]  # of a row: the splits of each column, and what is measured there
Labels = tuple[str, ...]  # of a row
Cells = tuple[Cell | None, ...]
STATES = "fit.states"
GECA = "sampling.method"  # if it is geca, the augmented model of a run is T5+GECA
NQG = {"NQG-T5": "nqg_t5", "BERT + SpanLabel": "span_label"}  # rows of runs with NQG, and the systems there
OF_NQG = tuple(f"nqg.{key}" for key in NqgOptions.model_fields)
OF_DRAWS = ("sampling.temperature", "sampling.strategy", "sampling.depths")
BY_ROW = ("breakdown", "states", "variance", "grammars")  # tables whose rows are splits
COUNTED = "± is the standard deviation over seeds, (n) the number of runs where there are several."


def make_table(kind: str, runs: Sequence[Run], *, everything: bool = False) -> Table:
    """Make a table of the columns and rows that have a run; with `everything`, of all that the paper has too."""
    table = TABLES[kind](runs)
    return table if everything else with_runs(table, by_row=kind in BY_ROW)


def main(runs: Sequence[Run]) -> Table:
    """Accuracy by system and split, with the systems that the paper cites."""
    draft = Draft(runs, "main", GECA, *OF_NQG)
    systems = paper().systems | NQG | {"T5+GECA": "augmented"}
    breakdown, parsers = paper().tables["breakdown"], paper().tables["parsers"]
    others = {
        "CSL": {split: row["all CSL"] for split, row in breakdown.rows.items()},
        "T5+CSL ensemble": {split: row["all Ens."] for split, row in breakdown.rows.items()},
        "BERT + SpanLabel": parsers.rows["BERT + SpanLabel"],
    }
    columns = draft.columns()
    for name, figures in (draft.paper.rows | others).items():
        ours = [(column, accuracy(systems.get(name, ""), column.category)) for column in columns]
        draft.add((name,), _cells(figures), ours, partial(_of_row, name))
    return draft.table(
        "Accuracy", ("System",), _heads(columns),
        f"CSL and the ensemble: {breakdown.source}; BERT + SpanLabel, on the grammar of CSL: {parsers.source}.",
        "The paper's T5 is T5-Base, its BERT is BERT-Base; ours are those of the recipes.",
    )  # fmt: skip


def _of_row(name: str, runs: Sequence[Run]) -> list[Run]:
    """Choose the runs for a row of the main table: of each split those as they are, else with NQG, else with GECA."""
    geca = [run for run in runs if _by_geca(run)]
    nqg = [run for run in runs if run.counts("nqg")]
    every: list[Run] = []
    for group in ([run for run in runs if run not in geca and run not in nqg], nqg, geca):
        every += [run for run in group if run.split not in {other.split for other in every}]
    chosen = {"T5+GECA": geca, "T5+CSL-Aug.": [run for run in every if run not in geca], **dict.fromkeys(NQG, nqg)}
    return chosen.get(name, every)


def parsers(runs: Sequence[Run]) -> Table:
    """Accuracy of the models of CSL and of NQG on the same grammar, that of CSL."""
    draft = Draft(runs, "parsers", GECA, *OF_NQG)
    columns = draft.columns()
    for name, system in (("BERT + SpanLabel", "span_label"), ("CSL Gen. Model", "csl")):
        draft.add((name,), _cells(draft.paper.rows[name]), [(c, accuracy(system, c.category)) for c in columns])
    return draft.table(
        "Accuracy of two models on the grammar of CSL", ("Parsing Model",), _heads(columns),
        "BERT + SpanLabel is of runs with an encoder: --set nqg.encoder=NAME --train.",
    )  # fmt: skip


def grammars(runs: Sequence[Run]) -> Table:
    """Sizes, coverage and time of grammars, and numbers of parameters, of CSL and of NQG."""
    draft = Draft(runs, "grammars", GECA, *OF_NQG, of=("data", "induction", "fit"), sweep=True)
    columns: dict[str, tuple[tuple[Value, Value], int]] = {  # of CSL and of NQG; digits
        "rules": ((lambda run: run.rules, lambda run: run.nqg_rules), 0),
        "with NT": ((lambda run: _minus(run.rules, run.closed), lambda run: _minus(run.nqg_rules, run.nqg_closed)), 0),
        "derived %": ((_derived, lambda _: None), 1),
        "seconds": ((lambda run: run.induction_seconds, lambda run: run.nqg_seconds), 1),
        "parameters": ((lambda run: run.parameters, lambda run: run.nqg_parameters), 0),
    }
    splits = [name.rpartition(" ")[0] for name in draft.paper.rows]
    for split in dict.fromkeys([*splits, *(run.split for run in draft.runs)]):
        for of, system in enumerate(("CSL", "NQG")):
            ours = [(Column("", split, (split,)), values[of]) for values, _ in columns.values()]
            draft.add((split, system), _cells(draft.paper.rows.get(f"{split} {system}", {})), ours)
    return draft.table(
        "Grammars", ("Recipe", "System"), [("", name) for name in columns],
        "with NT: rules with nonterminals. derived: pairs of the test set that the grammar derives. seconds: of "
        "induction; the paper says less than a minute and around 15 minutes. parameters: the paper says GeoQuery, "
        "and over 110 million of NQG with BERT-Base.",
        digits=tuple(digits for _, digits in columns.values()),
    )  # fmt: skip


def domains(runs: Sequence[Run]) -> Table:
    """Synthetic pairs by category and sampling, of data sets that tell the category of a pair."""
    draft = Draft([run for run in runs if run.categories], "domains", *OF_DRAWS, sweep=True)
    splits: dict[tuple[str, str], list[str]] = {}
    for column in paper().columns:
        if column.category:
            splits.setdefault((column.set, column.category), []).extend(column.recipes)
    columns = [
        Column(name, category, tuple(dict.fromkeys(found)), category) for (name, category), found in splits.items()
    ]

    def count(column: Column) -> Value:
        return lambda run: run.categories.get(column.category, 0) if run.categories else None

    return _by_rows(draft, ("Synthetic pairs by category", "Sampling temperature"), _draws, columns, count, digits=0)


def breakdown(runs: Sequence[Run]) -> Table:
    """Accuracy on inputs that CSL covers, on the others, and on all."""
    draft = Draft(runs, "breakdown")
    heads = [(part, name) for part, _, name in (column.partition(" ") for column in draft.paper.columns)]
    for split in draft.columns():
        figures = draft.paper.rows.get(str(split), {})
        draft.add((str(split),), _cells(figures), [(split, _share(*head, split.category)) for head in heads])
    return draft.table(
        "Accuracy by what CSL covers", ("Split",), heads,
        "covered: CSL gives an output; others: it gives none. Ens.: CSL's output if there is one, else T5's. Aug.: "
        "T5+CSL-Aug.",
        *(
            f"{source}: CSL's output is that of {INFERENCE[inference]}."
            for source, found in draft.setups.items()
            for inference in sorted({run.inference for run in found if run.inference})
        ),
    )  # fmt: skip


def states(runs: Sequence[Run]) -> Table:
    """Log probabilities by number of context states."""
    draft = Draft(runs, "states", STATES, of=("data", "induction", "fit"), sweep=True)
    known = draft.paper.rows
    swept = [run for run in draft.runs if f"{run.split} train p(x, y)" in known or STATES in run.settings]
    numbers = sorted({*map(int, draft.paper.columns), *(run.states for run in swept)} - {0})
    splits = dict.fromkeys([*(name.split()[0] for name in known), *(run.split for run in swept)])
    for split, part, given in product(splits, ("train", "dev", "test"), ("p(x, y)", "p(y | x)")):
        value, column = _log_prob(part, given), Column("", split, (split,))
        ours = [(column, _where(lambda run: run.states, number, value)) for number in numbers]
        draft.add((split, part, given), _cells(known.get(f"{split} {part} {given}", {})), ours)
    return draft.table(
        "Mean log probability by number of context states", ("Recipe", "Part", "Log prob."),
        [("", str(number)) for number in numbers], "ours: over the pairs that the grammar derives.", digits=2,
    )  # fmt: skip


def temperature(runs: Sequence[Run]) -> Table:
    """Accuracy of the augmented model by sampling temperature, or by strategy where that has none."""
    draft = Draft(_trained(runs), "temperature", *OF_DRAWS, sweep=True)
    names = "Accuracy of T5+CSL-Aug. by sampling temperature", "Sampling temperature"
    return _by_rows(draft, names, _draws, draft.columns(), _augmented)


def semi(runs: Sequence[Run]) -> Table:
    """Accuracy of the augmented model by number of synthetic examples, with and without unlabelled inputs."""

    def row(run: Run) -> str:
        options = run.options
        return f"{options.sampling.number:,}{' + unlabelled' if options.fit.unlabelled else ''}"

    draft = Draft(_trained(runs), "semi", "sampling.number", "fit.unlabelled", "fit.ratio", sweep=True)
    names = "Accuracy of T5+CSL-Aug. by number of synthetic examples", "Number of synthetic examples"
    return _by_rows(draft, names, row, draft.columns(), _augmented)


def variance(runs: Sequence[Run]) -> Table:
    """Mean and deviation over seeds, by split."""
    draft = Draft(runs, "variance")
    heads = [("", name) for name in paper().systems]
    for split in dict.fromkeys([*draft.paper.rows, *(run.split for run in draft.runs)]):
        found = draft.paper.rows.get(split)
        known = {"T5+CSL-Aug.": Cell(found["mean"], found["deviation"], runs=3)} if found else {}
        ours = [(Column("", split, (split,)), accuracy(system)) for system in paper().systems.values()]
        draft.add((split,), known, ours)
    return draft.table("Mean and deviation of accuracy", ("Recipe",), heads)


TABLES = {
    "main": main, "breakdown": breakdown, "states": states, "parsers": parsers, "grammars": grammars,
    "temperature": temperature, "domains": domains, "semi": semi, "variance": variance,
}  # fmt: skip


class Draft:
    """A table in the making: the runs that count, by set-up, the rows so far, and notes.

    Settings that were `swept`, and those of tables of the recipe that do not matter here (all but `of`), are no change.
    In the table of a `sweep` all set-ups are shown.
    """

    def __init__(
        self, runs: Sequence[Run], kind: str, *swept: str, of: Sequence[str] = (), sweep: bool = False
    ) -> None:
        self.paper = paper().tables[kind]
        self._swept, self._of, self._sweep = swept, of, sweep
        self._notes = [f"{run.folder}: not evaluated yet." for run in runs if run.systems is None]
        self._rows: list[tuple[Labels, Mapping[str, Cell], list[tuple[str, Cells]]]] = []  # with the paper's, and ours
        self._partial: dict[tuple[str, str], dict[str, None]] = {}  # column, which splits → rows
        kept = [run for recipe in sorted({run.recipe for run in runs}) for run in self._kept(runs, recipe)]
        self.setups = self._by_setup(kept)
        self.runs = [run for found in self.setups.values() for run in found]

    def _changed(self, run: Run) -> str:
        """Say what is changed over the recipe and matters here."""
        return ", ".join(
            f"{key} = {value}"
            for key, value in sorted(run.changes.items())
            if key not in self._swept and (not self._of or key.partition(".")[0] in self._of)
        )

    def _kept(self, runs: Sequence[Run], recipe: str) -> list[Run]:
        """Leave out changed runs of a recipe that has others, unless it was swept."""
        every = [run for run in runs if run.recipe == recipe]
        plain = [run for run in every if not self._changed(run)]
        if self._sweep or not plain:
            return every
        if left_out := sorted({self._changed(run) for run in every} - {""}):
            self._notes.append(f"{recipe}: left out, runs with {'; '.join(left_out)}.")
        return plain

    def _by_setup(self, runs: Sequence[Run]) -> dict[str, list[Run]]:
        """Group runs by whose options they have, and what was changed; a note says what a mark stands for."""
        setups: dict[str, list[Run]] = {}
        marks: dict[str, str] = {}
        for run in sorted(runs, key=lambda run: (not run.as_in_paper, self._changed(run))):
            source, changed = SAME if run.as_in_paper else OURS, self._changed(run)
            mark = marks.setdefault(changed, f" [{len(marks) + ('' not in marks)}]" if changed else "")
            setups.setdefault(f"{source}{mark}", []).append(run)
        self._notes += [f"{mark.strip()} with {changed}." for changed, mark in marks.items() if changed]
        return setups

    def columns(self) -> list[Column]:
        """List the paper's columns, and those of ours that have runs."""
        known = paper().columns
        have = {run.split for run in self.runs}
        shown = {*self.paper.columns, *self.paper.rows}
        titles = {run.split: run.title for run in self.runs if not any(run.split in c.recipes for c in known)}
        return [c for c in known if str(c) in shown or have & {*c.recipes}] + [
            Column("other runs", title, (split,)) for split, title in titles.items()
        ]

    def add(
        self,
        labels: Labels,
        known: Mapping[str, Cell],
        ours: Figures,
        chosen: Callable[[Sequence[Run]], Sequence[Run]] = lambda runs: runs,
    ) -> None:
        """Add the paper's figures, by the name of the column, and ours, of the chosen runs of each set-up."""
        figures = []
        for source, runs in self.setups.items():
            found = chosen(runs)
            figures.append((source, tuple(self._mean(column, value, labels[0], found) for column, value in ours)))
        self._rows.append((labels, known, figures))

    def _mean(self, column: Column, value: Value, label: str, runs: Iterable[Run]) -> Cell | None:
        """Give the mean of a value over the seeds and splits of a column; None where no run has it."""
        splits: dict[str, dict[int, float]] = {}
        seen: dict[tuple[str, int], Run] = {}
        for run in runs:
            if run.split not in column.recipes or (found := value(run)) is None:
                continue
            other = seen.setdefault((run.split, run.seed), run)
            if splits.setdefault(run.split, {}).setdefault(run.seed, found) != found:
                raise InputError(f"{run.recipe}, seed {run.seed}, is also in {other.folder}; name one", run.folder)
        if not splits:
            return None
        if missing := len(splits) < len(column.recipes):
            part = f"{len(splits)} of {len(column.recipes)} splits, {', '.join(splits)}"
            self._partial.setdefault((str(column), part), {})[label] = None
        seeds = set.intersection(*({*figures} for figures in splits.values()))
        means = [fmean(figures[seed] for figures in splits.values()) for seed in sorted(seeds)]
        return Cell(
            fmean(fmean(figures.values()) for figures in splits.values()),
            stdev(means) if len(means) > 1 else None,
            sum(map(len, splits.values())),
            missing,
        )

    def table(self, title: str, labels: Labels, heads: Heads, *notes: str, digits: int | tuple[int, ...] = 1) -> Table:
        """Finish the table; rows without figures are left out."""
        rows: list[Row] = []
        for names, known, ours in self._rows:
            rows.append(Row(names, PAPER, tuple(known.get(f"{group} {name}".strip()) for group, name in heads)))
            rows += [Row(names, source, cells) for source, cells in ours]
        rows = [row for row in rows if any(row.cells)]
        partial = [
            f"* {' '.join([column, *([] if column in names else ['(' + ', '.join(names) + ')'])])}: {part}."
            for (column, part), names in self._partial.items()
        ]
        if all(row.source == PAPER for row in rows):
            self._notes.append("None of the runs has a figure for this table.")
        same = any(source.startswith(SAME) for source in self.setups)
        sources = [f"{SAME}: our runs with the paper's options; {OURS}: with ours."] if same else []
        all_notes = (f"paper: Qiu et al. 2022, {self.paper.source}.", *notes, COUNTED, *sources, *partial, *self._notes)
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


def _augmented(column: Column) -> Value:
    return accuracy("augmented", column.category)


def _where(key: Callable[[Run], object], wanted: object, value: Value) -> Value:
    """Give a value of those runs only whose key is as wanted."""
    return lambda run: value(run) if key(run) == wanted else None


def _draws(run: Run) -> str:
    """Name how pairs are drawn: by the temperature if as in the paper, else by the strategy."""
    options = run.options.sampling
    if options.strategy == "forward":
        return f"{options.temperature:g}"
    temperature = f" {options.temperature:g}" if options.strategy == "tempered" else ""
    return f"{options.strategy}{temperature}" + (", even depths" if options.depths == "even" else "")


def _by_rows(
    draft: Draft,
    names: tuple[str, str],
    row: Callable[[Run], str],
    columns: Sequence[Column],
    value: Callable[[Column], Value],
    digits: int = 1,
) -> Table:
    """Make a table with a title and a head of the rows, which are by what was swept."""
    labels = {run.folder: row(run) for run in draft.runs}
    for name in sorted({*draft.paper.rows, *labels.values()}, key=_number):
        ours = [(column, _where(lambda run: labels[run.folder], name, value(column))) for column in columns]
        draft.add((name,), _cells(draft.paper.rows.get(name, {})), ours)
    return draft.table(names[0], (names[1],), _heads(columns), digits=digits)


def _number(label: str) -> tuple[float, str]:
    """Give the number that a label starts with, to sort by; words come last."""
    first = label.split(maxsplit=1)[0].replace(",", "")
    return float(first) if first[0].isdigit() else inf, label


def _minus(number: int | None, less: int) -> float | None:
    return None if number is None else number - less


def _derived(run: Run) -> float | None:
    share = run.part_share("test", "derivable")
    return None if share is None else 100 * share


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
