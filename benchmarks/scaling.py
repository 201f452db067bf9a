"""Induction with one and two threads: the ratio of wall times, and what it can be at most.

    python benchmarks/scaling.py [--data DIR] [--size 100000]

The set is the large one of benchmarks/induction.py. Each row runs in a process of its own, after a smaller induction
that loads compiled code. All rows must find the same grammar.

`CPU` is processor time, and `spread` what of it went into work that is spread. Unlike wall time it does not depend on
what else the machine does. From the first row, N threads can be at most CPU / (CPU - spread + spread / N) times as
fast.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from csl import engine
from csl.engine import Threads
from csl.induction.config import PRESETS
from csl.induction.induce import induce
from induction import load

WARM = 4000  # examples to warm up with


def spread_time(threads: Threads) -> list[float]:
    """Let a list hear of the CPU time of each call that takes long enough to be spread."""
    times: list[float] = []
    inner = threads.stream

    def stream(function: Any, items: Any, *state: Any, **how: Any) -> Any:
        start = time.process_time()
        found = list(inner(function, items, *state, **how))
        took = time.process_time() - start
        if took > engine.BRIEF:
            times.append(took)
        return found

    if threads.number == 1:  # several go on while the caller works with what one has found
        threads.stream = stream  # type: ignore[method-assign]
    return times


def measure(size: int, data: Path, number: int) -> dict[str, object]:
    task, threads = load(f"large/{size}", data), Threads(number)
    options = {"seeds": task.seed_rules, "output_cfg": task.output_cfg, "engine": threads}
    induce(task.train[:WARM], PRESETS["smcalflow"], **options)
    spread = spread_time(threads)
    start, cpu = time.perf_counter(), time.process_time()
    induced = induce(task.train, PRESETS["smcalflow"], **options)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    text = "\n".join(map(str, induced.grammar))
    grammar = hashlib.sha256(text.encode()).hexdigest()
    return {"seconds": seconds, "cpu": cpu, "spread": sum(spread), "grammar": grammar}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("CSL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default, help="folder with the original benchmark files")
    parser.add_argument("--size", type=int, default=100_000, help="examples")
    parser.add_argument("--here", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        print(json.dumps(measure(arguments.size, arguments.data, arguments.here)))
        return
    if not (arguments.data / "smcalflow_cs").is_dir():
        print(f"left out: no data in {arguments.data}")
        return
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{f'{arguments.size:,} pairs':28} {'wall s':>8} {'faster':>8} {'CPU s':>8} {'spread':>8}")
    first: dict[str, Any] = {}
    for number in (1, 2):
        line = [
            sys.executable,
            __file__,
            "--data",
            arguments.data,
            "--size",
            str(arguments.size),
            "--here",
            str(number),
        ]
        done = subprocess.run([*line, "--here", str(number)], check=True, capture_output=True, text=True)
        found = json.loads(done.stdout.splitlines()[-1])
        first = first or found
        wall = f"{found['seconds']:8.1f} {first['seconds'] / found['seconds']:7.2f}x"
        print(f"{f'threads {number}':28} {wall} {found['cpu']:8.1f} {found['spread']:8.1f}", flush=True)
        assert found["grammar"] == first["grammar"], "another grammar"


if __name__ == "__main__":
    main()
