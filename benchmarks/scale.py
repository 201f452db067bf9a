"""Large data: CPU time and memory, as the code is and as it was, in one run.

    python benchmarks/scale.py [--before REVISION] [--data DIR] [ROW ...]

| row | what |
| --- | --- |
| `augment/15000` | `csl augment` on so many pairs like those of TOPv2 (below) |
| `augment/SET` | the same on a set of DIR/real |
| `fit/16` | fitting with the preset, smcalflow-cs-fifth with 16 shots; its induction is not counted |
| `induce/25000`, `induce/100000`, … | induction of SMCalFlow-style pairs (benchmarks/induction.py) |
| `parse/100000` | parsing of 1,024 inputs with the grammar of so many pairs, which is not counted |

Each row runs in a process of its own: once to compile, then once measured, with the code as it was and with the code as
it is. `memory` is the peak of the process. Both must give the same, which the line says. `--before ''` measures the
code as it is alone.

The pairs like those of TOPv2 are the training and test pairs of its reminder domain. To these come pairs in which the
words of each slot are replaced by those that another pair has in that slot.
"""

import argparse
import hashlib
import json
import os
import random
import re
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from csl.induction.config import PRESETS
from csl.induction.induce import induce
from csl.model.config import PRESETS as FITS
from csl.model.fit import fit
from csl.model.model import Model, context_starts
from induction import load
from versions import checkout, run

ROWS = ["augment/15000", "fit/16", "induce/25000", "induce/100000", "parse/100000"]
TOPV2 = "real/topv2_reminder_25spis_decoupled"
LARGEST = 1024  # inputs that are parsed
SMALL = 300  # examples to compile with
_SLOT = re.compile(r"\[(SL:\w+) ([^\[\]]+) \]")


def like_topv2(folder: Path, size: int) -> list[tuple[str, str]]:
    """Make pairs by replacing the words of slots."""
    lines = [line for name in ("train.tsv", "test.tsv") for line in (folder / name).read_text("utf-8").splitlines()]
    pairs = list(dict.fromkeys((line.split("\t")[0], line.split("\t")[1]) for line in lines))
    fillers: dict[str, dict[str, None]] = {}
    for _, output in pairs:
        for slot, words in _SLOT.findall(output):
            fillers.setdefault(slot, {})[words] = None
    options = {slot: list(words) for slot, words in fillers.items()}
    rng, made = random.Random(0), dict.fromkeys(pairs)
    while len(made) < size:
        source, output = rng.choice(pairs)
        for slot, words in _SLOT.findall(output):
            if source.count(words) == output.count(f"[{slot} {words} ]") == 1:
                new = rng.choice(options[slot])
                source = source.replace(words, new)
                output = output.replace(f"[{slot} {words} ]", f"[{slot} {new} ]")
        made[source, output] = None
    return list(made)[:size]


def training_file(what: str, data: Path, folder: Path) -> Path:
    """Give the pairs to augment."""
    if not what.isdigit():
        return next((data / "real" / what).glob("train.*"))
    path = folder / "train.tsv"
    path.write_text("".join(f"{x}\t{y}\n" for x, y in like_topv2(data / TOPV2, int(what))), "utf-8")
    return path


def augment(code: Path, train: Path, place: Path) -> dict[str, float | str]:
    """Measure `csl augment`, the process and all."""
    small = place / f"small{train.suffix}"
    small.write_text("".join(train.read_text("utf-8").splitlines(keepends=True)[:SMALL]), "utf-8")
    run(code, "-m", "csl", "augment", small, "--out", place / "first", "--force")
    cost = run(code, "-m", "csl", "augment", train, "--out", place / "run")
    result = next((place / "run").glob("augmented.*")).read_bytes()
    return {"cpu": cost.cpu, "memory": cost.memory, "result": hashlib.sha256(result).hexdigest()}


def here(kind: str, size: int, data: Path) -> dict[str, float | str]:
    """Measure a row in this process, with whatever code it has."""
    row = f"smcalflow-cs-fifth/{size}" if kind == "fit" else f"large/{size}"
    task, config = load(row, data), PRESETS["smcalflow"]
    some = {"seeds": task.seed_rules, "output_cfg": task.output_cfg}
    induced = induce(task.train[:SMALL], config, **some)
    start = time.process_time()
    if kind == "induce":
        induced = induce(task.train, config, **some)
        cpu, result = time.process_time() - start, "\n".join(map(str, induced.grammar))
    elif kind == "fit":
        grammar = induce(task.train, config, **some).grammar
        fit(grammar, task.train[:SMALL], FITS["smcalflow"].model_copy(update={"steps": 2}))
        start = time.process_time()
        fitted = fit(grammar, task.train, FITS["smcalflow"], output_cfg=task.output_cfg)
        cpu, result = time.process_time() - start, f"{fitted.log_prob:.9f}"
    else:
        grammar = induce(task.train, config, **some).grammar
        rng, contexts = np.random.default_rng(0), int(context_starts(grammar)[-1])
        model = Model(grammar, rng.normal(size=(contexts, 64)), rng.normal(size=(64, len(grammar))))
        inputs = list(dict.fromkeys(e.source for e in task.train))[:: max(1, size // LARGEST)][:LARGEST]
        model.outcomes(inputs[:2])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.process_time()
        found = model.outcomes(inputs)
        cpu, result = time.process_time() - start, "\n".join(getattr(outcome, "text", "") for outcome in found)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"{len(grammar):,} rules, {contexts:,} contexts; parsing adds {(peak - before) / 2**20:.2f} GB")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"cpu": cpu, "memory": memory, "result": hashlib.sha256(result.encode()).hexdigest()}


def measure(row: str, code: Path, data: Path) -> dict[str, float | str]:
    kind, what = row.split("/", 1)
    if kind == "augment":
        with tempfile.TemporaryDirectory() as place:
            return augment(code, training_file(what, data, Path(place)), Path(place))
    *notes, found = run(code, __file__, "--here", "--data", data, row).output.splitlines()
    for note in notes:
        print(f"  {note}")
    return dict(json.loads(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("CSL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default, help="folder with the original benchmark files")
    parser.add_argument("--before", default="10ee591", help="revision of git to compare with")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("rows", nargs="*", default=ROWS)
    arguments = parser.parse_args()
    data = arguments.data.absolute()
    if arguments.here:
        kind, size = arguments.rows[0].split("/")
        print(json.dumps(here(kind, int(size), data)))
        return
    if not (data / "real").is_dir():
        sys.exit(f"left out: no data in {data}")
    print(f"{'':18}{'before: CPU s':>14}{'GB':>7}{'now: CPU s':>12}{'GB':>7}{'faster':>9}  result", flush=True)
    with checkout(arguments.before) as old, checkout("") as new:
        for row in arguments.rows:
            before = measure(row, old, data) if arguments.before else None
            now = measure(row, new, data)
            was = f"{before['cpu']:14.1f}{before['memory'] / 2**30:7.2f}" if before else f"{'':21}"
            ratio = f"{before['cpu'] / now['cpu']:8.2f}x" if before else f"{'':9}"
            same = "" if before is None else "the same" if before["result"] == now["result"] else "ANOTHER"
            print(f"{row:18}{was}{now['cpu']:12.1f}{now['memory'] / 2**30:7.2f}{ratio}  {same}", flush=True)


if __name__ == "__main__":
    main()
