"""Grammar induction: rules, coverage and CPU time on the benchmark sets, and growth on SMCalFlow-style data.

    python benchmarks/induction.py [--data DIR] [ROW ...]

Each row runs in a process of its own: once to warm up (compiled code is loaded), then once measured on one thread,
then once on two. `covered` is the share of test inputs derivable to their right output. Rows whose data is not in DIR
are left out. The large sets are made from the training set of smcalflow-cs-fifth: a random example, each word that is
copied from input to output replaced by a random one that some example copies, until there are enough distinct ones.
Seeds and output CFG are made from the result, as `csl data prepare` makes them.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

from csl.datasets.lispress_cfg import output_cfg
from csl.datasets.registry import data_set
from csl.datasets.smcalflow import HALLUCINATIONS, copy_rules
from csl.datasets.task import Task
from csl.engine import Threads
from csl.examples import Example
from csl.induction.config import PRESETS
from csl.induction.induce import induce
from csl.parsing.deriver import Deriver

PUBLISHED = {  # CPU seconds of the published implementation on a 2-core machine, less imports
    "scan/jump": 28, "scan/length": 37, "scan/turn_left": 54, "scan/mcd1": 14, "scan/mcd2": 14,
    "geoquery/standard": 43, "geoquery/tmcd_1": 25, "geoquery/length": 9,
}  # fmt: skip
FOLDERS = {"smcalflow-cs-fifth": "smcalflow_cs", "large": "smcalflow_cs"}
ROWS = [
    "scan/jump", "scan/turn_left", "scan/length", "scan/mcd1", "scan/mcd2",
    "geoquery/standard", "geoquery/tmcd_1", "geoquery/tmcd_2", "geoquery/length",
    "geoquery/template_1", "geoquery/template_2", "cogs/gen", "smcalflow-cs-fifth/16", "large/25000", "large/100000",
]  # fmt: skip


def load(row: str, data: Path) -> Task:
    name, split = row.split("/")
    if name == "large":
        train = enlarged(load("smcalflow-cs-fifth/16", data).train, int(split))
        return Task(train, [], [], [*copy_rules(train), *HALLUCINATIONS], output_cfg(e.target for e in train))
    return data_set(name).prepare(data / FOLDERS.get(name, name), split)


def enlarged(examples: list[Example], size: int) -> list[Example]:
    rng = random.Random(0)
    copied = [[t for t in dict.fromkeys(e.source) if t in e.target and t.isalpha()] for e in examples]
    pool = sorted({token for tokens in copied for token in tokens})
    made: dict[Example, None] = dict.fromkeys(examples)
    while len(made) < size:
        i = rng.randrange(len(examples))
        new = {token: rng.choice(pool) for token in copied[i]}
        sides = (tuple(new.get(t, t) for t in side) for side in (examples[i].source, examples[i].target))
        made[Example(*sides)] = None
    return list(made)[:size]


def measure(row: str, data: Path) -> None:
    task = load(row, data)
    name = row.partition("/")[0]
    config = PRESETS["smcalflow" if name in ("large", "smcalflow-cs-fifth") else name]
    small = task.train[:200] if name == "large" else task.train
    induce(small, config, seeds=task.seed_rules, output_cfg=task.output_cfg)
    times = {}
    for threads in (1, 2):
        cpu, wall = time.process_time(), time.perf_counter()
        induced = induce(task.train, config, seeds=task.seed_rules, output_cfg=task.output_cfg, engine=Threads(threads))
        times[threads] = (time.process_time() - cpu, time.perf_counter() - wall)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    deriver = Deriver(induced.grammar)
    open_rules = sum(rule.arity > 0 for rule in induced.grammar)
    cpu = times[1][0]
    ratio = f"{PUBLISHED[row] / cpu:.0f}x" if row in PUBLISHED else ""
    covered = f"train {deriver.derivable(task.train).mean():.1%}"
    if task.test:
        right = deriver.derivable(task.test)
        covered = f"{right.mean():.2%}"
        if name == "smcalflow-cs-fifth":
            kinds = [e.meta["category"] for e in task.test]
            covered = " ".join(
                f"{kind[0].upper()} {right[[k == kind for k in kinds]].mean():.1%}" for kind in ("single", "cross")
            )
    print(
        f"{row:22} {len(set(task.train)):>8,} {len(induced.grammar):>7,} {open_rules:>6,}  {covered:>16}"
        f" {cpu:>8.2f} {ratio:>7} {times[1][1] / times[2][1]:>7.2f}x {memory:>6.2f} GB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("CSL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default, help="folder with the original benchmark files")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("rows", nargs="*", default=ROWS)
    arguments = parser.parse_args()
    if arguments.here:
        measure(arguments.rows[0], arguments.data)
        return
    print(
        f"{'data':22} {'distinct':>8} {'rules':>7} {'open':>6}  {'covered':>16} {'CPU s':>8} {'faster':>7}"
        f" {'2 thr.':>8} {'memory':>9}"
    )
    for row in arguments.rows:
        name = row.partition("/")[0]
        if not (arguments.data / FOLDERS.get(name, name)).is_dir():
            print(f"{row:22} left out: no data in {arguments.data}")
            continue
        subprocess.run([sys.executable, __file__, "--here", "--data", arguments.data, row], check=True)


if __name__ == "__main__":
    main()
