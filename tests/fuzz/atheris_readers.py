"""Let atheris, a coverage-guided fuzzer, damage the files of readers: `python tests/fuzz/atheris_readers.py READER`.

READER is a part of a reader's name (`python tests/fuzz/atheris_readers.py --list`); of several files the first is
damaged. What follows is for libFuzzer: `-max_total_time=60`, `-runs=100000`, a folder to keep what it finds worth
keeping. Needs `pip install atheris`; it is no part of the test run.
"""

import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from tempfile import mkdtemp

import atheris

import csl.kernels

sys.path.insert(0, str(Path(__file__).parents[2]))
for kernel in iter_modules(csl.kernels.__path__):  # first, and as they are: numba compiles what it knows, no more
    import_module(f"csl.kernels.{kernel.name}")
with atheris.instrument_imports(include=["csl", "json", "tomllib", "gzip", "zipfile", "xml"]):
    from tests.fuzz.reader import Reader, try_reader
    from tests.fuzz.readers import READERS

SINGLE = [reader for reader in READERS if not reader.writes]


def fuzz(reader: Reader, arguments: list[str]) -> None:
    """Start from the valid files, and never come back."""
    folder, start = Path(mkdtemp()), Path(mkdtemp())
    for name, content in reader.files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for name in reader.names:
        (start / Path(name).name).write_bytes(reader.files()[name])
    name = reader.names[0]

    def one(content: bytes) -> None:
        (folder / name).write_bytes(content)
        try_reader(reader, folder)

    atheris.Setup([sys.argv[0], *arguments, str(start)], one)
    atheris.Fuzz()


def main() -> None:
    """Choose a reader by a part of its name."""
    wanted = [reader for reader in SINGLE if len(sys.argv) > 1 and sys.argv[1].lower() in reader.name.lower()]
    if not wanted:
        print(__doc__, *(f"  {reader.name}" for reader in SINGLE), sep="\n")
        sys.exit(0 if sys.argv[1:] == ["--list"] else 2)
    print(f"fuzzing {wanted[0].name}: {wanted[0].names[0]}", flush=True)
    fuzz(wanted[0], sys.argv[2:])


if __name__ == "__main__":
    main()
