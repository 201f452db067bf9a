"""What a network gains from wordings, from samples that follow it, and from labels of the parser.

    python benchmarks/training_data.py geoquery/template_2 --model FOLDER --source DATA --out runs/training-data

For a recipe (or a .toml file): grammar, model and samples, then one training for each row below, all with the same
options, and the accuracy of each on dev and test. `--set` changes options of training, `--seeds 0,1` repeats all of it
with other seeds. The same command resumes after a stop. With `--tiny` everything is small: minutes on a CPU, and
figures that say only that it works.

    samples      original and synthetic pairs
    follow       the same, synthetic pairs chosen by the model's loss (candidates=4)
    reworded     other wordings of the samples beside them, kept if the parser or the model of `samples` reads them back
    unchecked    all wordings that are new
    labelled     inputs of dev (no outputs) that the parser labels with p(output | input) of 0.9 or more
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from csl.examples import read_examples
from csl.examples.formats import read_rows
from csl.examples.score import by_category, score

OPTIONS = {  # those of the results page
    "steps": 1200, "batch_size": 128, "optimizer": "adamw", "learning_rate": 0.001, "schedule": "linear", "warmup": 100,
    "evaluate_every": 300,
}  # fmt: skip
TINY = {
    "steps": 30, "batch_size": 16, "evaluate_every": 10, "layers": 1, "heads": 1, "d_model": 16, "d_ff": 32,
    "max_target": 64,
}  # fmt: skip
SURE = 0.9  # p(output | input) of the parser, at least, for a label
MOST_COPIES = 10  # of wordings: they are fewer than samples, and should not be lost among them


def csl(*arguments: object) -> str:
    """Give a command; what it prints to stdout."""
    words = [str(argument) for argument in arguments]
    print("$ csl", *words, file=sys.stderr, flush=True)
    return subprocess.run([sys.executable, "-m", "csl", *words], check=True, text=True, stdout=subprocess.PIPE).stdout


def copies(wordings: Path, samples: Path) -> list[object]:
    """Give the arguments that make wordings about half as many as samples."""
    few, many = (sum(1 for _ in read_examples(path)) for path in (wordings, samples))
    return ["--synthetic", wordings] * max(1, min(MOST_COPIES, many // (2 * few)))


class Comparison:
    """The trainings of one recipe and seed, in one folder."""

    def __init__(self, folder: Path, run: Path, options: list[object], seed: str) -> None:
        self.folder, self.run, self.options, self.seed = folder, run, options, seed
        self.data, self.samples = run / "data", run / "samples.tsv"
        dev = self.data / "dev.tsv"
        self.dev = dev if dev.stat().st_size else None

    def train(self, name: str, *arguments: object) -> dict[str, dict[str, float]]:
        """Train a model and measure it."""
        dev = ["--dev", self.dev] if self.dev else []
        csl(
            "train", self.data / "train.tsv", "--synthetic", self.samples, *arguments, *dev, *self.options,
            "--seed", self.seed, "--out", self.folder / name,
        )  # fmt: skip
        return {part: self.accuracy(name, part) for part in ("dev", "test") if part == "test" or self.dev}

    def accuracy(self, name: str, part: str) -> dict[str, float]:
        """Give the accuracy of a model, unmasked and greedy, in per cent: of all, and of each category."""
        predicted = self.folder / f"{name}-{part}.tsv"
        csl("predict", self.folder / name, self.data / f"{part}.tsv", "--no-mask", "--out", predicted)
        examples = list(read_examples(self.data / f"{part}.tsv", columns=("category",)))
        outputs = [row.output for row in read_rows(predicted, inputs_only=True).rows]
        total = score(examples, outputs)[0]
        groups = {
            name: score([examples[i] for i in places], [outputs[i] for i in places])[0]
            for name, places in by_category(examples).items()
        }
        return {key: round(100 * found.accuracy, 1) for key, found in ({"all": total} | groups).items()}

    def wordings(self, name: str, *arguments: object) -> Path:
        """Word the samples anew; keep the file under another name."""
        csl("reword", self.run, *arguments, *self.options)
        kept = self.folder / f"{name}.tsv"
        shutil.copyfile(self.run / "reworded.tsv", kept)
        return kept

    def rows(self) -> Iterator[tuple[str, dict[str, dict[str, float]]]]:
        """Give the accuracies of one training after the other."""
        yield "samples", self.train("samples")
        yield "follow", self.train("follow", "--set", "candidates=4")
        reader = "--reader", self.folder / "samples"
        for name, arguments in (("reworded", reader), ("unchecked", ("--no-check",))):
            kept = self.wordings(name, *arguments)
            if kept.stat().st_size:
                yield name, self.train(name, *copies(kept, self.samples))
        if self.dev:
            labels = self.folder / "labels.tsv"
            labels.write_text(csl("parse", self.run, self.dev, "--file", "--abstain-below", SURE), encoding="utf-8")
            yield "labelled", self.train("labelled", "--labelled", labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("--model", default="scratch")
    parser.add_argument("--source", type=Path, help="the original files of data sets")
    parser.add_argument("--out", type=Path, default=Path("runs/training-data"))
    parser.add_argument("--seeds", default="0", help="as 0,1,2")
    parser.add_argument("--samples", type=int, default=60_000)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="an option of training")
    parser.add_argument("--tiny", action="store_true")
    arguments = parser.parse_args()
    options: list[object] = ["--model", arguments.model, "--device", "auto"]
    chosen = [f"{key}={value}" for key, value in (TINY if arguments.tiny else OPTIONS).items()]
    options += [word for setting in (*chosen, *arguments.set) for word in ("--set", setting)]
    for seed in arguments.seeds.split(","):
        number = 500 if arguments.tiny else arguments.samples
        source = ["--source", arguments.source] if arguments.source else []
        settings = "--set", f"sampling.number={number}", "--set", "sampling.new=true"
        printed = csl(
            "run", arguments.recipe, "--until", "sample", "--seed", seed, *settings, *source, "--runs", arguments.out
        )
        run = Path(printed.splitlines()[-1].removeprefix("run folder: "))
        folder = arguments.out / "models" / arguments.recipe / seed
        for name, accuracies in Comparison(folder, run, options, seed).rows():
            print(f"{arguments.recipe}, seed {seed}, {name}: {accuracies}", flush=True)


if __name__ == "__main__":
    main()
