"""Induction with threads and with Ray, on one and two cores: ratios of wall times, bytes broadcast, a worker killed.

    python benchmarks/scaling.py [--data DIR] [--size 100000]

The set is the large one of benchmarks/induction.py. Each row runs in a process of its own, after a smaller induction
that loads compiled code, in the workers too. All rows must find the same grammar.

`CPU` is processor time of the driver, and `spread` what of it went into work that is spread (threads: doing it, Ray:
sending it and taking in the results). Unlike wall time it does not depend on what else the machine does. From the first
row, N threads can be at most CPU / (CPU - spread + spread / N) times as fast.

`broadcast` is what the driver puts where workers take it, once for each machine: in all, and in a step (median and
largest). The last row is the one before with a worker killed (SIGKILL) at work in a step half way; what that costs is
the time of this step against the same one before.
"""

import argparse
import hashlib
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from csl.engine.engine import Engine, are_few
from csl.engine.threads import Threads
from csl.induction.config import PRESETS
from csl.induction.induce import Step, induce
from induction import load

ROWS = [("threads", 1, False), ("threads", 2, False), ("ray", 1, False), ("ray", 2, False), ("ray", 2, True)]
WARM = 4000  # examples to warm up with: enough to be sent to workers


def workers() -> list[int]:
    """Find the Ray workers of this process that are at work: its grandchildren, named after their task."""
    parents, found = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if (folder / "cmdline").read_bytes().startswith(b"ray::work"):
                found.append(int(folder.name))
        except OSError:
            continue
    return [process for process in found if parents.get(parents[process]) == os.getpid()]


def kill_one() -> None:
    while not (found := workers()):
        time.sleep(0.001)
    os.kill(found[0], signal.SIGKILL)


def spread_time(engine: Engine) -> list[float]:
    """Let a list hear of the CPU time of each call that is large enough to be spread."""
    times: list[float] = []
    inner = engine.chunks

    def chunks(function: Any, items: Any, *state: Any, parts: int = 0, least: int | None = None) -> list[Any]:
        start = time.process_time()
        found = inner(function, items, *state, parts=parts, least=least)
        if parts or not are_few(items, least):
            times.append(time.process_time() - start)
        return found

    engine.chunks = chunks  # type: ignore[method-assign]
    return times


def measure(size: int, data: Path, name: str, number: int, kill_in: int) -> dict[str, object]:
    """Induce; with `kill_in`, a worker is killed in the step of this number, counted over all partitions."""
    task = load(f"large/{size}", data)
    engine: Engine
    if name == "ray":
        from csl.engine.ray import Ray  # noqa: PLC0415 — an extra

        engine = Ray(None, number)
    else:
        engine = Threads(number)
    options = {"seeds": task.seed_rules, "output_cfg": task.output_cfg, "engine": engine}
    induce(task.train[:WARM], PRESETS["smcalflow"], **options)
    seconds: list[float] = []
    sent: list[int] = []
    last, before = time.perf_counter(), engine.sent

    def note(_: Step) -> None:
        nonlocal last, before
        seconds.append(time.perf_counter() - last)
        sent.append(engine.sent - before)
        last, before = time.perf_counter(), engine.sent
        if len(seconds) + 1 == kill_in:
            threading.Thread(target=kill_one).start()

    spread = spread_time(engine)
    start, first, cpu = last, before, time.process_time()
    induced = induce(task.train, PRESETS["smcalflow"], **options, progress=note)
    text = "\n".join(map(str, induced.grammar))
    return {
        "seconds": time.perf_counter() - start, "steps": seconds,
        "cpu": time.process_time() - cpu, "spread": sum(spread), "sent": engine.sent - first, "sent_steps": sent,
        "grammar": hashlib.sha256(text.encode()).hexdigest(),
    }  # fmt: skip


def show(name: str, found: dict, base: dict) -> None:
    total, steps = found["sent"] / 1e6, [sent / 1e6 for sent in found["sent_steps"]]
    broadcast = f"{total:9.1f} {statistics.median(steps):9.2f} {max(steps):9.1f}" if total else ""
    wall = f"{found['seconds']:8.1f} {base['seconds'] / found['seconds']:7.2f}x"
    print(f"{name:28} {wall} {found['cpu']:8.1f} {found['spread']:8.1f}  {broadcast}", flush=True)
    assert found["grammar"] == base["grammar"], "another grammar"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("CSL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default, help="folder with the original benchmark files")
    parser.add_argument("--size", type=int, default=100_000, help="examples")
    parser.add_argument("--here", nargs=3, metavar=("ENGINE", "NUMBER", "KILL"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        name, number, kill_in = arguments.here
        print(json.dumps(measure(arguments.size, arguments.data, name, int(number), int(kill_in))))
        return
    if not (arguments.data / "smcalflow_cs").is_dir():
        print(f"left out: no data in {arguments.data}")
        return
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    columns = f"{'wall s':>8} {'faster':>8} {'CPU s':>8} {'spread':>8}  broadcast MB: all, step, largest step"
    print(f"{f'{arguments.size:,} pairs':28} {columns}")
    results = []
    for name, number, kill in ROWS:
        at = len(results[-1]["steps"]) // 2 if kill else 0
        line = [sys.executable, __file__, "--data", arguments.data, "--size", str(arguments.size)]
        done = subprocess.run([*line, "--here", name, str(number), str(at)], check=True, capture_output=True, text=True)
        results.append(json.loads(done.stdout.splitlines()[-1]))
        show(f"{name} {number}{', one killed' if kill else ''}", results[-1], results[0])
        if kill:
            with_kill, without = (result["steps"][at - 1] for result in (results[-1], results[-2]))
            steps = len(results[-1]["steps"])
            print(f"step {at} of {steps}: {with_kill:.2f} s with a worker killed, {without:.2f} s without")


if __name__ == "__main__":
    main()
