"""The first seconds: `csl augment` on the pairs of the README, as the code is and as it was, in one run.

    python benchmarks/start.py [--before REVISION] [FILE]

| row | what |
| --- | --- |
| cold | nothing is compiled yet: the first run after installing |
| warm | the same again, the fastest of three |

Each run is a process of its own, imports included, and FILE is used in place of the README's pairs. `wall` is what a
user waits, `CPU` what it costs; on a busy machine only CPU seconds and their ratio mean something. Both versions must
write the same samples, which the last line says. `--before ''` measures the code as it is alone.
"""

import argparse
import hashlib
import os
import tempfile
from pathlib import Path

from versions import Cost, checkout, run

NAMES = ("Texas", "Ohio", "Utah")
TEMPLATES = (
    ("How large is {}?", "size(state('{}'))"),
    ("Which rivers cross {}?", "rivers(cross(state('{}')))"),
    ("How large is the capital of {}?", "size(capital(state('{}')))"),
)
WARM = 3  # runs, of which the fastest counts


def readme_pairs(path: Path) -> Path:
    """Write the pairs of the quick start."""
    pairs = [(x.format(name), y.format(name.lower())) for x, y in TEMPLATES for name in NAMES][:-1]
    path.write_text("".join(f"{x}\t{y}\n" for x, y in pairs), "utf-8")
    return path


def measure(code: Path, train: Path, place: Path) -> tuple[dict[str, Cost], str]:
    """Run it cold and warm; return what each took, and a hash of the samples."""
    os.environ["NUMBA_CACHE_DIR"] = str(place / "compiled")
    costs = [run(code, "-m", "csl", "augment", train, "--out", place / f"run-{k}", "-n", 1000) for k in range(1 + WARM)]
    samples = (place / "run-0" / "samples.tsv").read_bytes()
    return {"cold": costs[0], "warm": min(costs[1:], key=lambda cost: cost.cpu)}, hashlib.sha256(samples).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", default="10ee591", help="revision of git to compare with")
    parser.add_argument("file", nargs="?", type=Path, help="pairs, in place of those of the README")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        train = arguments.file.absolute() if arguments.file else readme_pairs(place / "train.tsv")
        found = {}
        for which, revision in (("before", arguments.before), ("now", "")):
            if which == "now" or revision:
                (place / which).mkdir()
                with checkout(revision) as code:
                    found[which] = measure(code, train, place / which)
    print(f"{'':8}" + "".join(f"{which + ': CPU s':>16}{'wall s':>9}" for which in found) + f"{'CPU ratio':>12}")
    for row in ("cold", "warm"):
        costs = [found[which][0][row] for which in found]
        ratio = f"{costs[0].cpu / costs[-1].cpu:11.1f}x" if len(costs) == 2 else ""
        print(f"{row:8}" + "".join(f"{cost.cpu:16.2f}{cost.wall:9.1f}" for cost in costs) + ratio)
    if len(found) == 2:
        print("samples: the same" if found["before"][1] == found["now"][1] else "samples: ANOTHER")


if __name__ == "__main__":
    main()
