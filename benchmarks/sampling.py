"""Sampling on the benchmark sets: samples a second, tables, validity; how many SCAN samples are SCAN commands; memory.

    python benchmarks/sampling.py [--data DIR] [ROW ...]

Each row runs in a process of its own, on one thread, after a warm-up. Models are fitted by EM, with the states of the
presets. `tables s` is the time to build the tables, `drawn/s` counts draws turned into tokens, `to file/s` pairs of the
whole stream, written as TSV. The rest are shares of 100,000 samples, or 10,000 where the strategy is not `model`:
`valid`, those that the output CFG accepts; `derivable`, those that the grammar derives; `new`, the distinct pairs that
are not in training. `scan/states` gives, by number of states, the share of SCAN commands and, of those, of outputs that
SCAN's interpretation gives. `scan/memory` streams ten million samples with repeats and keeps none. Rows whose data is
not in DIR are left out.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import numpy as np

from csl.datasets.registry import data_set
from csl.datasets.scan import interpret
from csl.datasets.task import Task
from csl.examples import Example, write_examples
from csl.grammar.output_cfg import OutputCfg
from csl.induction.config import PRESETS as INDUCTION
from csl.induction.induce import induce
from csl.kernels.cfg_chart import accepted
from csl.kernels.sample import expand
from csl.model.config import PRESETS as FITTING
from csl.model.fit import fit
from csl.model.model import Model
from csl.parsing.deriver import Deriver
from csl.sampling.config import PRESETS, SampleConfig
from csl.sampling.sampler import CHUNK, Sampler

ROWS = ["scan/jump", "geoquery/standard", "cogs/gen", "smcalflow-cs-fifth/16"]
FOLDERS = {"smcalflow-cs-fifth": "smcalflow_cs"}
STRATEGIES = ("model", "uniform", "coverage")
SAMPLES = 100_000
STATES = (1, 2, 4, 8)
MANY = 10_000_000


def load(row: str, data: Path, states: int | None = None) -> tuple[Task, Model, SampleConfig]:
    name, split = row.split("/")
    task = data_set(name).prepare(data / FOLDERS.get(name, name), split)
    preset = "smcalflow" if name in FOLDERS else name
    grammar = induce(task.train, INDUCTION[preset], seeds=task.seed_rules, output_cfg=task.output_cfg).grammar
    config = FITTING[preset].model_copy(update={"optimizer": "em", "steps": 200, "restarts": 1})
    if states:
        config = config.model_copy(update={"states": states})
    return task, fit(grammar, task.train, config, output_cfg=task.output_cfg).model, PRESETS[preset]


def valid(cfg: OutputCfg | None, examples: list[Example]) -> str:
    if cfg is None:
        return "no CFG"
    vocabulary, compiled = cfg._own
    values = np.array([vocabulary.get(token) for e in examples for token in e.target], np.int32)
    offsets = np.cumsum([0, *(len(e.target) for e in examples)])
    return f"{accepted(compiled, values, offsets).mean():.3%}"


def measure(row: str, data: Path) -> None:
    task, model, preset = load(row, data)
    for strategy in STRATEGIES:
        config = preset.model_copy(update={"strategy": strategy})

        def build(config: SampleConfig = config) -> Sampler:
            return Sampler(model.grammar, config, model=model, output_cfg=task.output_cfg, train=task.train)

        found = [sample.example for sample in islice(build().stream(SAMPLES), 1000)]  # warm
        start = time.process_time()
        sampler = build()
        tables = time.process_time() - start
        start = time.process_time()
        for number in range(0, SAMPLES, CHUNK):
            expand(model.deriver.arrays, *sampler._draw(number), config.max_length)
        drawn = SAMPLES / (time.process_time() - start)
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            written = write_examples(Path(folder) / "out.tsv", (s.example for s in sampler.stream(SAMPLES)))
            stream = written / (time.process_time() - start)
        checked = SAMPLES if strategy == "model" else SAMPLES // 10  # uniform ones are long
        found = [sample.example for sample in sampler.stream(checked)]
        derivable = Deriver(model.grammar).derivable(found).mean()
        new = len(set(found) - set(task.train)) / len(found)
        print(
            f"{row:22} {strategy:9} {len(model.grammar):>6,} {tables:>8.2f} {drawn:>10,.0f} {stream:>10,.0f}"
            f" {valid(task.output_cfg, found):>9} {derivable:>9.3%} {new:>9.1%}",
            flush=True,
        )


def measure_states(data: Path) -> None:
    for states in STATES:
        _, model, preset = load("scan/jump", data, states)
        sampler = Sampler(model.grammar, preset, model=model)
        meant = [(s.example, interpret(s.example.source)) for s in sampler.stream(SAMPLES)]
        commands = [(e, y) for e, y in meant if y is not None]
        right = sum(e.target == y for e, y in commands)
        print(
            f"scan/jump, {states} states: {len(commands) / len(meant):.1%} of samples are SCAN commands,"
            f" {right / max(1, len(commands)):.2%} of those right",
            flush=True,
        )


def measure_memory(data: Path) -> None:
    _, model, preset = load("scan/jump", data)
    sampler = Sampler(model.grammar, preset, model=model)
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    start = time.process_time()
    tokens = sum(len(s.example.source) + len(s.example.target) for s in sampler.stream(MANY))
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(
        f"scan/jump, {MANY:,} samples with repeats ({tokens:,} tokens): {seconds:.0f} CPU s, peak {peak:.0f} MB,"
        f" of which {peak - base:.0f} MB came with the stream",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("CSL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default, help="folder with the original benchmark files")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("rows", nargs="*", default=[*ROWS, "scan/states", "scan/memory"])
    arguments = parser.parse_args()
    row = arguments.rows[0]
    if arguments.here:
        special = {"scan/states": measure_states, "scan/memory": measure_memory}
        special[row](arguments.data) if row in special else measure(row, arguments.data)
        return
    print(
        f"{'data':22} {'strategy':9} {'rules':>6} {'tables s':>8} {'drawn/s':>10} {'to file/s':>10} {'valid':>9}"
        f" {'derivable':>9} {'new':>9}"
    )
    for row in arguments.rows:
        name = row.partition("/")[0]
        if not (arguments.data / FOLDERS.get(name, name)).is_dir():
            print(f"{row:22} left out: no data in {arguments.data}")
            continue
        subprocess.run([sys.executable, __file__, "--here", "--data", arguments.data, row], check=True)


if __name__ == "__main__":
    main()
