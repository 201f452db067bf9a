"""The search `deep` against that of the paper: objective, rules, time, and what the grammars parse.

    python benchmarks/search.py [--data DIR] [--searches S,S] [ROW ...]

Each row runs in a process of its own, on one thread: induction twice, the second measured, then fits from three seeds
with the preset of the data set (one for COGS and SCAN, which has restarts). `derived` is the share of test pairs that
the grammar derives; coverage, accuracy and precision are means. Rows whose data is not in DIR are left out.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean

from csl.datasets.registry import data_set
from csl.datasets.scan import TEMPLATES
from csl.induction.config import PRESETS as INDUCTION
from csl.induction.induce import induce
from csl.model.config import PRESETS
from csl.model.fit import fit
from csl.parsing.deriver import Deriver
from csl.preparing.evaluate import evaluate
from csl.preparing.parser import Parser

SEARCHES = ("paper", "deep")
ROWS = [
    *(f"scan/{split}" for split in ("jump", "turn_left", "length", "mcd1", "mcd2", *TEMPLATES)),
    "geoquery/standard", "geoquery/template_1", "geoquery/template_2", "geoquery/tmcd_1", "geoquery/tmcd_2",
    "geoquery/length", "cogs/gen", "smcalflow-cs-fifth/16",
]  # fmt: skip
FOLDERS = {"smcalflow-cs-fifth": "smcalflow_cs"}
HARD = ("smcalflow-cs-fifth",)  # takes minutes to fit: the grammar only


def measure(row: str, search: str, data: Path) -> None:
    """Print a line for a data set and a search."""
    name, split = row.split("/")
    task = data_set(name).prepare(data / FOLDERS.get(name, name), split)
    preset = name.partition("-")[0]
    config = INDUCTION[preset].model_copy(update={"search": search})
    for _ in range(2):
        start = time.process_time()
        found = induce(task.train, config, seeds=task.seed_rules, output_cfg=task.output_cfg)
        seconds = time.process_time() - start
    derived = Deriver(found.grammar).derivable(task.test).mean()
    line = f"{row:24} {search:6} {found.objective:>11,.1f} {len(found.grammar):>6,} {seconds:>7.2f} {derived:>8.2%}"
    if name not in HARD:
        scores = []
        for seed in range(3 if name == "geoquery" else 1):
            options = PRESETS[preset].model_copy(update={"seed": seed})
            model = fit(found.grammar, task.train, options, output_cfg=task.output_cfg).model
            score = evaluate(Parser(model), task.test).score
            scores.append((score.coverage, score.accuracy, score.precision))
        line += "".join(f" {mean(values):>8.2%}" for values in zip(*scores, strict=True))
    print(line, flush=True)


def main() -> None:
    """Run each row in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("CSL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default, help="folder with the original benchmark files")
    parser.add_argument("--searches", default=",".join(SEARCHES))
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("rows", nargs="*", default=ROWS)
    arguments = parser.parse_args()
    if arguments.here:
        measure(arguments.rows[0], arguments.searches, arguments.data)
        return
    print(
        f"{'data':24} {'search':6} {'objective':>11} {'rules':>6} {'CPU s':>7} {'derived':>8} {'covered':>8}"
        f" {'correct':>8} {'precise':>8}",
        flush=True,
    )
    for row in arguments.rows:
        name = row.partition("/")[0]
        if not (arguments.data / FOLDERS.get(name, name)).is_dir():
            print(f"{row:24} left out: no data in {arguments.data}")
            continue
        for search in arguments.searches.split(","):
            command = [sys.executable, __file__, "--here", "--data", arguments.data, "--searches", search, row]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
