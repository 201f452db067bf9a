"""Raw text: what is learnt from data sets as people have them, with no option.

    python benchmarks/raw_text.py FOLDER [SET ...]

FOLDER has a folder for each data set, with a train and a test file in any format that `csl augment` reads. A line for
each set: the seconds of CPU time of `csl augment`; how many test inputs are parsed, how many correctly, and how many of
those parsed; the same where the parser abstains as `csl parse` does; how many synthetic pairs there are, or why there
are none. `benchmarks/categories.py` measures the categories.
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
    shares = "".join(f"{name:>9}" for name in ("covered", "correct", "precise"))
    print(f"{'set':34}{'s':>6}{shares}{shares}{'pairs':>8}")
    for train in sorted(folder.rglob("train.*")):
        name = train.parent.relative_to(folder).as_posix()
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory() as place:
            start = time.process_time()
            done = CliRunner().invoke(app, ["augment", str(train), "--out", f"{place}/run", "-n", str(NUMBER)])
            seconds = time.process_time() - start
            if done.exit_code:
                print(f"{name:34}{seconds:6.0f}  {done.output.strip().splitlines()[-1][:80]}")
                continue
            test = read_rows(next(train.parent.glob("test.*"))).examples()[:MOST]
            print(f"{name:34}{seconds:6.0f}{figures(RunFolder(f'{place}/run'), test)}", flush=True)


def figures(run: RunFolder, test: list[Example]) -> str:
    """Write the figures of a run: without abstaining, and with it."""
    parser = run.parser()
    confidence = run.confidence(parser)
    least = confidence.calibration.threshold if confidence else 0.0
    found = evaluate(parser, test, sure=confidence.of if confidence else None, least=least)
    text = "".join(
        f"{share:9.1%}"
        for score in (found.always, found.score)
        for share in (score.coverage, score.accuracy, score.precision)
    )
    why = run.record.stages["check"].figures["refused"]
    return f"{text}{len(run.samples()):8,}  {why}{found.given_up}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
