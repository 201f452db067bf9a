"""Raw text: what is learnt from data sets as people have them, with no option.

    python benchmarks/raw_text.py FOLDER [SET ...]

FOLDER has a folder for each data set, with a train and a test file in any format that `csl augment` reads. A line for
each set: the seconds of `csl augment`; how many test inputs are parsed, how many correctly, and how many of those
parsed; how many synthetic pairs there are. `benchmarks/categories.py` measures the categories.
"""

import sys
import tempfile
import time
from pathlib import Path

from typer.testing import CliRunner

from csl.cli import app
from csl.examples import Example
from csl.examples.formats import read_rows
from csl.preparing.evaluate import evaluate
from csl.runs.folder import RunFolder

NUMBER = 20_000  # synthetic pairs
MOST = 2000  # test pairs that are looked at


def main(folder: Path, names: list[str]) -> None:
    """Print a line for each data set."""
    print(f"{'set':34}{'s':>6}{'covered':>9}{'correct':>9}{'precise':>9}{'pairs':>8}")
    for train in sorted(folder.rglob("train.*")):
        name = train.parent.relative_to(folder).as_posix()
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory() as place:
            start = time.perf_counter()
            done = CliRunner().invoke(app, ["augment", str(train), "--out", f"{place}/run", "-n", str(NUMBER)])
            seconds = time.perf_counter() - start
            if done.exit_code:
                print(f"{name:34}{seconds:6.0f}  {done.output.strip().splitlines()[-1][:80]}")
                continue
            test = read_rows(next(train.parent.glob("test.*"))).examples()[:MOST]
            print(f"{name:34}{seconds:6.0f}{figures(RunFolder(f'{place}/run'), test)}", flush=True)


def figures(run: RunFolder, test: list[Example]) -> str:
    """Write the figures of a run."""
    found = evaluate(run.parser(), test)
    score = found.score
    shares = [score.coverage, score.accuracy, score.precision]
    text = "".join(f"{share:9.1%}" for share in shares)
    return f"{text}{len(run.samples()):8,}{'' if not found.given_up else '  ' + found.given_up}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
