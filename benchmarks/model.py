"""The probabilistic model on the benchmark sets: time to fit, likelihood, accuracy, parsing speed, memory; and the
number of states (paper, appendix "Varying Context Sensitivity").

    python benchmarks/model.py [--data DIR] [ROW ...]

Each row runs in a process of its own, on one thread. The grammar is induced first, and a few steps are fitted to warm
up. `fit s` is CPU time, with the building of forests; Adam takes the steps of the paper, EM runs to convergence.
Figures are means over three seeds, one for COGS. log p(x, y) is a mean over training pairs. `GB` is the memory that
the rows took beside what induction and imports had taken before. The table over states takes, of five seeds, the one
with the largest log p(x, y) on train. Rows whose data is not in DIR are left out.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean

from csl.datasets.registry import data_set
from csl.datasets.task import Task
from csl.engine import Threads
from csl.examples import Example
from csl.grammar import Grammar
from csl.induction.config import PRESETS as INDUCTION
from csl.induction.induce import induce
from csl.model.config import PRESETS
from csl.model.data import build
from csl.model.fit import fit, optimise
from csl.model.model import Model
from csl.preparing.evaluate import evaluate
from csl.preparing.parser import Parser

ROWS = [
    "scan/jump", "scan/turn_left", "scan/length", "scan/mcd1", "scan/mcd2", "cogs/gen",
    "geoquery/standard", "geoquery/template_1", "geoquery/template_2", "geoquery/tmcd_1", "geoquery/tmcd_2",
    "geoquery/length",
]  # fmt: skip
PAPER = {  # accuracy of CSL by itself; the paper gives means over three splits for template and TMCD
    "cogs/gen": 99.5, "geoquery/standard": 74.3, "geoquery/template_1": 58.9, "geoquery/template_2": 58.9,
    "geoquery/tmcd_1": 39.9, "geoquery/tmcd_2": 39.9, "geoquery/length": 26.6,
} | dict.fromkeys(ROWS[:5], 100.0)  # fmt: skip
STATES = (1, 2, 3, 4, 8, 32)
PAPER_STATES = {  # split: log p(x, y) and log p(y | x) of train, then of dev, by number of states
    "mcd1": [
        (-15.14, -12.55, -10.96, -9.60, -9.21, -9.09), (-0.72, 0, 0, 0, 0, 0),
        (-16.49, -15.04, -17.47, -13.32, -18.85, -20.61), (-0.76, 0, 0, 0, 0, 0),
    ],
    "mcd2": [
        (-14.38, -11.72, -10.62, -10.26, -9.26, -9.13), (-0.58, 0, 0, 0, 0, 0),
        (-17.60, -14.10, -19.84, -17.58, -19.45, -21.82), (-0.97, 0, -1.99, -0.36, 0, -0.04),
    ],
}  # fmt: skip
TABLE = [f"states/{split}/{optimizer}" for split in PAPER_STATES for optimizer in ("adam", "em")]


def induced(name: str, split: str, data: Path) -> tuple[Task, Grammar]:
    task = data_set(name).prepare(data / name, split)
    return task, induce(task.train, INDUCTION[name], seeds=task.seed_rules, output_cfg=task.output_cfg).grammar


def measure(row: str, optimizer: str, data: Path) -> None:
    name, split = row.split("/")
    task, grammar = induced(name, split, data)
    preset = PRESETS[name].model_copy(update={"optimizer": optimizer, "restarts": 1})
    fit(grammar, task.train[:50], preset.model_copy(update={"steps": 2}), output_cfg=task.output_cfg).model.parse("a")
    base = memory()
    for states in (2, 4) if name == "scan" else (preset.states,):
        seconds, steps, values, rates, figures = [], [], [], [], []
        for seed in range(1 if name == "cogs" else 3):
            config = preset.model_copy(update={"seed": seed, "states": states})
            start = time.process_time()
            fitted = fit(grammar, task.train, config, output_cfg=task.output_cfg)
            seconds.append(time.process_time() - start)
            steps.append(fitted.steps)
            values.append(fitted.log_prob)
            start = time.process_time()
            fitted.model.parse_all([example.source for example in task.test])
            rates.append(len(task.test) / (time.process_time() - start))
            score = evaluate(Parser(fitted.model), task.test).score
            figures.append((score.accuracy, score.coverage, score.precision))
        accuracy, coverage, precision = map(mean, zip(*figures, strict=True))
        print(
            f"{row:20} {optimizer:4} {states:>6} {round(mean(steps)):>6,} {mean(seconds):>7.2f} {mean(values):>10.3f}"
            f" {accuracy:>9.2%} {PAPER[row]:>6.1f} {coverage:>9.2%} {precision:>9.2%} {mean(rates):>9,.0f}"
            f" {memory() - base:>6.2f} {memory():>6.2f}",
            flush=True,
        )


def memory() -> float:
    """The most memory used so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def log_probs(model: Model, examples: list[Example]) -> tuple[float, float]:
    found = evaluate(Parser(model), examples)
    return found.log_p_xy, found.log_p_y_given_x


def measure_states(row: str, data: Path) -> None:
    _, split, optimizer = row.split("/")
    task, grammar = induced("scan", split, data)
    forests = build(grammar, task.train, PRESETS["scan"].max_units, Threads(1))
    lines: list[list[str]] = [[], [], [], []]
    for states in STATES:
        config = PRESETS["scan"].model_copy(update={"states": states, "optimizer": optimizer})
        fits = [optimise(grammar, forests, config.model_copy(update={"seed": seed})) for seed in range(5)]
        model = max(fits, key=lambda fitted: fitted.log_prob).model
        for line, value in zip(lines, (*log_probs(model, task.train), *log_probs(model, task.dev)), strict=True):
            line.append(f"{value:>8.2f}".replace("-0.00", " 0.00"))
    for label, line, paper in zip(
        ("train p(x,y)", "train p(y|x)", "dev p(x,y)", "dev p(y|x)"), lines, PAPER_STATES[split], strict=True
    ):
        if optimizer == "adam":
            print(f"{split}  {label:14} paper {''.join(f'{value:>8.2f}' for value in paper)}")
        print(f"{split}  {label:14} {optimizer:5} {''.join(line)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("CSL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default, help="folder with the original benchmark files")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    parser.add_argument("rows", nargs="*", default=[*ROWS, *TABLE], help=f"default: {' '.join(ROWS)} {' '.join(TABLE)}")
    arguments = parser.parse_args()
    row = arguments.rows[0]
    if arguments.here == "states":
        measure_states(row, arguments.data)
    elif arguments.here:
        measure(row, arguments.here, arguments.data)
    else:
        run_all(arguments.rows, arguments.data)


def run_all(rows: list[str], data: Path) -> None:
    """Run each row in a process of its own."""
    print(
        f"{'data':20} {'by':4} {'states':>6} {'steps':>6} {'fit s':>7} {'log p(x,y)':>10} {'accuracy':>9} {'paper':>6}"
        f" {'covered':>9} {'precision':>9} {'parsed/s':>9} {'GB':>6} {'all GB':>6}"
    )
    for row in rows:
        name = row.partition("/")[0]
        if not (data / ("scan" if name == "states" else name)).is_dir():
            print(f"{row:20} left out: no data in {data}")
            continue
        for how in ("states",) if name == "states" else ("adam", "em"):
            subprocess.run([sys.executable, __file__, "--here", how, "--data", data, row], check=True)


if __name__ == "__main__":
    main()
