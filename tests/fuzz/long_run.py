"""A long run of the fuzz suite: `python tests/fuzz/long_run.py [PART OF A NAME] --seconds 60 --seed 1`.

The damage is that of `damage`, drawn by a plain random generator, which is several times faster than hypothesis, and a
failure does not end the run: each is shown once, with what brought it up. The end is the table of docs/results.md.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.fuzz.damage import KINDS, SNIPPETS, VALUES, Change, damaged
from tests.fuzz.reader import Reader, try_reader
from tests.fuzz.readers import READERS
from tests.fuzz.test_readers import no_hang, write


def change(rng: random.Random) -> Change:
    """Draw a change."""
    snippet = rng.choice(SNIPPETS) if rng.random() < 0.8 else rng.randbytes(rng.randrange(8))
    return Change(rng.choice(KINDS), rng.getrandbits(24), rng.getrandbits(24), snippet, rng.choice(VALUES))


def run(reader: Reader, seconds: float, rng: random.Random) -> Counter[str]:
    """Damage the files of a reader for a while; count what came of it, and show each failure once."""
    files, folder = dict(reader.files()), Path(tempfile.mkdtemp()) / "x"
    write(folder, files)
    outcomes: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        changes = [(rng.randrange(100), change(rng)) for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4)))]
        new = damaged(files, reader.names, changes)
        if reader.writes:
            shutil.rmtree(folder)
        write(folder, files | new if reader.writes else new)
        try:
            with no_hang():
                outcomes[try_reader(reader, folder)] += 1
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            name = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
            if not outcomes[name]:
                print(f"{reader.name}: {name}: {str(error)[:200]!r} {new}"[:2000], file=sys.stderr, flush=True)
            outcomes[name] += 1
        finally:
            write(folder, {} if reader.writes else {name: files[name] for name in new})
    shutil.rmtree(folder.parent)
    return outcomes


def main() -> None:
    """Read the command line; print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", default="", help="of a reader's name; default: all readers")
    parser.add_argument("--seconds", type=float, default=60, help="for each reader")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, failures = random.Random(options.seed), 0
    print("| reader | tried | refused | read | failed |\n| --- | --: | --: | --: | --: |")
    for reader in READERS:
        if options.part in reader.name:
            found = run(reader, options.seconds, rng)
            refused, read = found["refused"], found["read"]
            failed = found.total() - refused - read
            failures += failed
            print(f"| {reader.name} | {found.total():,} | {refused:,} | {read:,} | {failed:,} |", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
