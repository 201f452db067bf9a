"""Raw text: what a network gains from synthetic pairs, on data sets as people have them.

    python benchmarks/raw_training.py make FOLDER OUT [SET ...]        pairs, synthetic pairs and masks; needs no GPU
    python benchmarks/raw_training.py train OUT/SET --model MODEL      one training; --alone: without synthetic pairs
    python benchmarks/raw_training.py score OUT                        a line for each set

FOLDER has a folder for each data set, with a train and a test file in any format that `csl augment` reads. `make` also
makes SET-t of each: a quarter of all its pairs are for the test, with templates that training lacks. `train` takes
1,000 steps of 64, AdamW with a rate of 0.001 that falls to 0, and writes greedy outputs of 500 test inputs, as
the network has them and, with llguidance, masked; it needs torch, transformers and pydantic, and neither Numba nor what
`make` read. `score` gives the accuracies, then those with the values of the inputs, as `csl predict` writes them, and
what the check says of the synthetic pairs.
"""

import argparse
import importlib.util
import json
import random
import shutil
from collections import Counter, defaultdict
from pathlib import Path

from csl.examples import Example, read_examples, write_examples
from csl.examples.formats import read_rows

MOST = 500  # test inputs
TEST = 0.25  # of all pairs, in SET-t
LARGEST = 0.05  # of all pairs may have one template, if it is held out
OPTIONS = {"steps": 1000, "batch_size": 64, "learning_rate": 1e-3, "schedule": "linear", "warmup": 0}


def make(folder: Path, out: Path, names: list[str]) -> None:
    """Write the data of all trainings."""
    for train in sorted(folder.rglob("train.*")):
        name = train.parent.relative_to(folder).as_posix()
        if not names or name in names:
            parts = [read_rows(path).examples() for path in (train, next(train.parent.glob("test.*")))]
            augment(out / name.replace("/", "-"), *parts)
            augment(out / f"{name.replace('/', '-')}-t", *by_template([*parts[0], *parts[1]]))


def by_template(pairs: list[Example]) -> tuple[list[Example], list[Example]]:
    """Hold out templates, drawn one after the other, with all of their pairs."""
    from csl.preparing.values import template  # noqa: PLC0415 — what only `make` needs
    from csl.runs.stages.prepare import find_preparation  # noqa: PLC0415

    pairs = list(dict.fromkeys(pairs))
    found = find_preparation(pairs)
    templates = [template(example.target) for example in found.examples] if found else [pair.target for pair in pairs]
    counts = Counter(templates)
    order = sorted(counts)
    random.Random(0).shuffle(order)
    held: set[tuple[str, ...]] = set()
    for one in order:
        if sum(counts[other] for other in held) < TEST * len(pairs) and counts[one] <= LARGEST * len(pairs):
            held.add(one)
    test = [pair for pair, one in zip(pairs, templates, strict=True) if one in held]
    random.Random(0).shuffle(test)
    return [pair for pair, one in zip(pairs, templates, strict=True) if one not in held], test


def augment(folder: Path, train: list[Example], test: list[Example]) -> None:
    """Run `csl augment --force`, and keep what trainings need."""
    from csl.cli import app  # noqa: PLC0415 — what only `make` needs

    write_examples(folder / "train.tsv", train)
    write_examples(folder / "test.tsv", test[:MOST])
    run = folder / "run"
    app(["augment", str(folder / "train.tsv"), "--out", str(run), "--force"], standalone_mode=False)
    for file in ("samples.tsv", "prepared/decoding.lark", "prepared/preparation.json", "run.json"):
        if (run / file).is_file():
            shutil.copy(run / file, folder)
    shutil.rmtree(run)


def train(folder: Path, model: str, seed: int, alone: bool, device: str, options: dict[str, object]) -> None:
    """Train once, and write outputs."""
    from csl.seq2seq.config import TrainConfig  # noqa: PLC0415 — torch
    from csl.seq2seq.mask import OutputMask  # noqa: PLC0415
    from csl.seq2seq.train import Training  # noqa: PLC0415

    pairs, test = (list(read_examples(folder / f"{part}.tsv")) for part in ("train", "test"))
    synthetic = [] if alone else list(read_examples(folder / "samples.tsv"))
    config = TrainConfig(model=model, seed=seed, **(OPTIONS | options))
    trained = Training(pairs, config, synthetic=synthetic, device=device).run().model
    inputs, lark = [pair.source_text for pair in test], folder / "decoding.lark"
    found = {"plain": [outputs[0].text for outputs in trained.predict(inputs)]}
    if lark.is_file() and importlib.util.find_spec("llguidance"):
        mask = OutputMask.read(lark, trained.codec)
        found["masked"] = [outputs[0].text for outputs in trained.predict(inputs, mask=mask)]
    path = folder / f"outputs-{'alone' if alone else 'samples'}-{seed}.json"
    path.write_text(json.dumps(found), "utf-8")
    print(path, {name: accuracy(test, outputs) for name, outputs in found.items()}, flush=True)


def accuracy(test: list[Example], outputs: list[str]) -> float:
    """Give the share of outputs that are correct, in per cent."""
    from csl.examples.score import score  # noqa: PLC0415

    return round(100 * score(test, outputs)[0].accuracy, 1)


def score_all(out: Path) -> None:
    """Print means over seeds."""
    from csl.preparing.said import Said  # noqa: PLC0415
    from csl.runs.folder import read_preparation  # noqa: PLC0415

    columns = [f"{way} {kind}" for kind in ("alone", "samples") for way in ("plain", "plain+", "masked", "masked+")]
    print(f"{'set':36}" + "".join(f"{column:>16}" for column in columns) + "  check")
    for folder in sorted({path.parent for path in out.rglob("outputs-*.json")}):
        test, found = list(read_examples(folder / "test.tsv")), defaultdict[str, list[float]](list)
        file = folder / "preparation.json"
        said = Said(read_preparation(file)) if file.is_file() else None
        for path in sorted(folder.glob("outputs-*.json")):
            kind = path.stem.split("-")[1]
            for way, outputs in json.loads(path.read_text("utf-8")).items():
                found[f"{way} {kind}"].append(accuracy(test, outputs))
                if said:
                    mended = [said.mend(pair.source_text, text) for pair, text in zip(test, outputs, strict=True)]
                    found[f"{way}+ {kind}"].append(accuracy(test, mended))
        figures = "".join(f"{sum(v) / len(v):16.1f}" if (v := found.get(c)) else f"{'':16}" for c in columns)
        check = json.loads((folder / "run.json").read_text("utf-8"))["stages"]["check"]["figures"]
        print(f"{folder.name:36}{figures}  {check['refused'] or 'kept'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making, training, scoring = (commands.add_parser(name) for name in ("make", "train", "score"))
    making.add_argument("folder", type=Path)
    making.add_argument("out", type=Path)
    making.add_argument("sets", nargs="*")
    training.add_argument("folder", type=Path)
    training.add_argument("--model", required=True)
    training.add_argument("--seed", type=int, default=0)
    training.add_argument("--alone", action="store_true")
    training.add_argument("--device", default="auto")
    training.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="an option of training")
    scoring.add_argument("out", type=Path)
    given = parser.parse_args()
    match given.command:
        case "make":
            make(given.folder, given.out, given.sets)
        case "train":
            options = {key: json.loads(value) for key, value in (text.split("=", 1) for text in given.set)}
            train(given.folder, given.model, given.seed, given.alone, given.device, options)
        case "score":
            score_all(given.out)


if __name__ == "__main__":
    main()
