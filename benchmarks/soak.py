"""Load: induce, fit, sample and parse over and over, and see whether memory stays flat.

    python benchmarks/soak.py [--minutes 60] [--inputs 100000] [--data DIR]

A round takes a random part of a training set, induces a grammar, fits a model, samples pairs, and parses their inputs
and those of the test set; then it parses inputs of 60 tokens with a grammar that derives them in very many ways, which
are to be given up. Rounds take turns among SCAN, which needs no files, and GeoQuery and COGS if DIR has them. They go
on until the minutes are over and the inputs are parsed. Resident memory is printed about once a minute; its slope is
that of a line through the readings of the second half, when all kernels are loaded and all sizes have been met.
"""

import argparse
import gc
import os
import random
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from csl.datasets.registry import data_set
from csl.datasets.task import Task
from csl.examples import Example
from csl.grammar import parse_grammar
from csl.induction.config import PRESETS as INDUCTION
from csl.induction.induce import induce
from csl.model.config import PRESETS
from csl.model.fit import fit
from csl.model.model import Model, context_starts
from csl.parsing.limits import Abstained, Limits
from csl.sampling.config import PRESETS as SAMPLING
from csl.sampling.sampler import Sampler

SPLITS = {"scan": "jump", "geoquery": "standard", "cogs": "gen"}
PART = 2000  # training examples of a round
SAMPLED = 2000  # pairs of a round
TESTED = 1000  # inputs of the test set that a round parses
FLAT = 0.02  # growth over the second half, as a share of memory, that counts as none
AMBIGUOUS = [
    "a ### A",
    *(f"NT_1 NT_2 ### NT_1 x{i} NT_2" for i in range(50)),
    *(f"NT_1 ### u{i} NT_1" for i in range(50)),
]


@dataclass
class Totals:
    """What was done so far."""

    rounds: int = 0
    parsed: int = 0
    uncovered: int = 0  # of inputs that the model itself had sampled: there should be none
    given_up: int = 0


def resident() -> float:
    """The memory in use now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def work(name: str, task: Task, adversary: Model, seed: int, totals: Totals) -> None:
    """Take one round."""
    rng = random.Random(seed)
    examples: list[Example] = rng.sample(list(task.train), min(PART, len(task.train) * 4 // 5))
    grammar = induce(examples, INDUCTION[name], seeds=task.seed_rules, output_cfg=task.output_cfg).grammar
    config = PRESETS[name].model_copy(update={"optimizer": "em", "steps": 20, "seed": seed})
    model = fit(grammar, examples, config, output_cfg=task.output_cfg).model
    options = SAMPLING[name].model_copy(update={"seed": seed})
    sampler = Sampler(grammar, options, model=model, output_cfg=task.output_cfg, train=examples)
    sampled = [sample.example.source for sample in sampler.stream(SAMPLED)]
    tested = [example.source for example in rng.sample(list(task.test), min(TESTED, len(task.test)))]
    outcomes = model.outcomes([*sampled, *tested])
    hard = adversary.outcomes([("a",) * length for length in (59, 60)], limits=Limits.of("32M"))
    totals.rounds += 1
    totals.parsed += len(outcomes) + len(hard)
    totals.uncovered += sum(outcome is Abstained.NOT_COVERED for outcome in outcomes[: len(sampled)])
    totals.given_up += sum(isinstance(outcome, Abstained) for outcome in hard)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("CSL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    parser.add_argument("--minutes", type=float, default=60, help="how long, at least (default: 60)")
    parser.add_argument("--inputs", type=int, default=100_000, help="how many inputs to parse, at least")
    parser.add_argument("--data", type=Path, default=default, help="folder with the original benchmark files")
    arguments = parser.parse_args()
    names = [name for name in SPLITS if name == "scan" or (arguments.data / name).is_dir()]
    tasks = {name: data_set(name).prepare(arguments.data / name, SPLITS[name]) for name in names}
    grammar = parse_grammar(AMBIGUOUS)
    adversary = Model(grammar, np.zeros((int(context_starts(grammar)[-1]), 1)), np.zeros((1, len(grammar))))

    print(f"{', '.join(names)}; {arguments.minutes:g} minutes and {arguments.inputs:,} inputs, at least")
    print(f"{'minutes':>8} {'rounds':>7} {'parsed':>9} {'given up':>9} {'resident MB':>12}", flush=True)
    totals, start, shown = Totals(), time.monotonic(), 0.0
    readings: list[tuple[float, float]] = []  # minutes, MB
    while (minutes := (time.monotonic() - start) / 60) < arguments.minutes or totals.parsed < arguments.inputs:
        name = names[totals.rounds % len(names)]
        work(name, tasks[name], adversary, totals.rounds, totals)
        if name == names[-1]:  # compare like with like
            gc.collect()
            readings.append(((time.monotonic() - start) / 60, resident()))
            if readings[-1][0] >= shown:
                shown = readings[-1][0] + 1
                print(f"{readings[-1][0]:>8.1f} {_line(totals)} {readings[-1][1]:>12.1f}", flush=True)
    print(f"{minutes:>8.1f} {_line(totals)} {resident():>12.1f}")
    print(_verdict(readings))
    print(
        f"{totals.uncovered} sampled inputs not covered; {totals.given_up} of {2 * totals.rounds} hard inputs given up"
    )


def _line(totals: Totals) -> str:
    return f"{totals.rounds:>7,} {totals.parsed:>9,} {totals.given_up:>9,}"


def _verdict(readings: list[tuple[float, float]]) -> str:
    """Say how memory grew over the second half."""
    late = [reading for reading in readings if reading[0] >= readings[-1][0] / 2]
    if len(late) < 3:
        return "too few readings for a slope; give it more minutes"
    x, y = np.array(late).T
    slope = float(np.polyfit(x, y, 1)[0])
    growth = slope * (x[-1] - x[0]) / y.mean()
    verdict = "flat" if growth < FLAT else "NOT flat"
    return (
        f"second half: {y.min():.1f} to {y.max():.1f} MB, slope {slope * 60:+.1f} MB an hour, "
        f"{growth:+.2%} over {x[-1] - x[0]:.1f} minutes: {verdict}"
    )


if __name__ == "__main__":
    main()
