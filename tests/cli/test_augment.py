"""`csl augment` as a person meets it: every stage, every file, and the warnings."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from csl.cli import app
from csl.datasets import scan
from csl.errors import InputError
from csl.examples import Example, read_examples, write_examples

WEAK = {"a b": "Q", "c d": "R", "e f g": "S", "h i": "T", "k": "U"}


def augment(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["augment", *map(str, arguments)])


def refused(*arguments: object) -> str:
    result = augment(*arguments)
    assert isinstance(result.exception, InputError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


def card(folder: Path) -> dict[str, object]:
    found = json.loads((folder / "augmented.card.json").read_text("utf-8"), parse_constant=pytest.fail)
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "train.tsv"
    write_examples(path, [pair for pair in scan.prepare(None, "length").train if len(pair.source) <= 4][:300])
    return path


@pytest.fixture(scope="module")
def done(train: Path) -> tuple[Path, Result]:
    """A run folder, and what the command said."""
    result = augment(train, "--out", train.parent / "run", "-n", 2000, "--temperature", "inf")
    assert result.exit_code == 0, result.exception
    return train.parent / "run", result


@pytest.fixture
def weak(tmp_path: Path) -> Path:
    write_examples(tmp_path / "weak.tsv", [Example.of(x, y) for x, y in WEAK.items()])
    return tmp_path / "weak.tsv"


def test_each_stage_says_what_it_found(done: tuple[Path, Result], train: Path) -> None:
    folder, result = done
    lines = result.output.splitlines()
    starts = [line.split(":")[0] for line in lines if not line.startswith((" ", "auto", "warning"))]
    assert starts == [
        str(train), "grammar", "check", "model", "samples", "merged", "pairs that the training set does not have",
        "training set",
    ]  # fmt: skip
    assert lines[0] == f"{train}: 300 examples, 300 distinct"
    assert "derive 100.0% of the examples" in result.output
    assert f"training set: {folder / 'augmented.tsv'}; " in lines[-1]


def test_the_pairs_shown_are_new(done: tuple[Path, Result], train: Path) -> None:
    shown = [line.strip().split(" → ") for line in done[1].output.splitlines() if line.startswith("  ")]
    assert len(shown) == 10
    known = set(read_examples(train))
    assert all(Example.of(x, y) not in known for x, y in shown)


def test_everything_on_the_way_is_in_the_folder(done: tuple[Path, Result]) -> None:
    assert {path.name for path in done[0].iterdir()} >= {
        "grammar.txt", "config.json", "model.npz", "metrics.jsonl", "samples.tsv", "samples.card.json",
        "augmented.tsv", "augmented.card.json",
    }  # fmt: skip


def test_both_parts_are_about_equally_large(done: tuple[Path, Result], train: Path) -> None:
    lines = Counter(read_examples(done[0] / "augmented.tsv"))
    original, synthetic = (Counter(read_examples(path)) for path in (train, done[0] / "samples.tsv"))
    assert lines == Counter({pair: 7 * n for pair, n in original.items()}) + synthetic  # 2000 / 300, rounded
    assert card(done[0])["copies"] == [7, 1]


def test_the_card(done: tuple[Path, Result]) -> None:
    found = card(done[0])
    assert (found["original"], found["synthetic"], found["lines"]) == (300, 2000, 4100)
    assert found["columns"] == ["input", "output"]
    assert found["sampling"]["temperature"] == "inf"  # type: ignore[index]
    assert found["held_out"]["examples"] == 30  # type: ignore[index]
    assert isinstance(found["config_hash"], str)
    assert {"csl", "rules", "new", "fit", "warnings", "licence"} <= found.keys()


def test_the_same_command_again_is_answered_from_the_folder(done: tuple[Path, Result], train: Path) -> None:
    folder = done[0]
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    again = augment(train, "--out", folder, "-n", 2000, "--temperature", "inf")
    assert again.exit_code == 0, again.exception
    assert "holds this augmented set already; --no-resume makes it anew" in again.output
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    kinds = ("  ", "warning")
    assert [line for line in again.output.splitlines() if line.startswith(kinds)] == [
        line for line in done[1].output.splitlines() if line.startswith(kinds)
    ]


def test_other_samples_take_grammar_and_model_from_the_folder(train: Path, tmp_path: Path) -> None:
    assert augment(train, "--out", tmp_path / "run", "-n", 10).exit_code == 0
    grammar, model = ((tmp_path / "run" / name).stat().st_mtime_ns for name in ("grammar.txt", "model.npz"))
    more = augment(train, "--out", tmp_path / "run", "-n", 20, "--weights", "--new", "--unique")
    assert more.exit_code == 0, more.exception
    assert "as it is in the folder" in more.output
    assert (tmp_path / "run" / "grammar.txt").stat().st_mtime_ns == grammar
    assert (tmp_path / "run" / "model.npz").stat().st_mtime_ns == model
    rows = [line.split("\t") for line in (tmp_path / "run" / "augmented.tsv").read_text("utf-8").splitlines()]
    assert Counter((row[3], row[2]) for row in rows) == {("original", "1"): 300, ("synthetic", "15"): 20}
    known = set(read_examples(train))
    assert not {Example.of(row[0], row[1]) for row in rows if row[3] == "synthetic"} & known


def test_other_examples_in_the_folder_are_refused_and_nothing_is_lost(
    done: tuple[Path, Result], train: Path, weak: Path
) -> None:
    before = {path.name: path.read_bytes() for path in done[0].iterdir()}
    assert "holds another run" in refused(weak, "--out", done[0])
    assert "holds another run (" in refused(train, "--out", done[0], "--preset", "geoquery")
    assert {path.name: path.read_bytes() for path in done[0].iterdir()} == before


def test_no_resume_makes_everything_anew(weak: Path, train: Path, tmp_path: Path) -> None:
    assert augment(weak, "--out", tmp_path / "run", "-n", 10).exit_code == 0
    assert augment(train, "--out", tmp_path / "run", "-n", 10, "--no-resume").exit_code == 0
    assert card(tmp_path / "run")["original"] == 300


def test_examples_that_do_not_recombine_give_warnings_not_a_failure(weak: Path, tmp_path: Path) -> None:
    result = augment(weak, "--out", tmp_path / "run", "-n", 10)
    assert result.exit_code == 0, result.exception
    warnings = [line for line in result.output.splitlines() if line.startswith("warning: ")]
    assert "rules with nonterminals: only 0; there is little to recombine" in warnings[0]
    assert "held-out inputs covered: only 0 of 1; samples will be narrow" in warnings[1]
    assert any("nothing to sample, augmented.tsv has only the original pairs" in line for line in warnings)
    assert list(read_examples(tmp_path / "run" / "augmented.tsv")) == list(read_examples(weak))
    assert [f"warning: {text}" for text in card(tmp_path / "run")["warnings"]] == warnings  # type: ignore[attr-defined]


def test_five_examples_are_enough_to_recombine(tmp_path: Path) -> None:
    path = tmp_path / "five.tsv"
    pairs = {"a": "A", "b": "B", "c": "C", "a and b": "A B", "b and a": "B A"}
    write_examples(path, [Example.of(x, y) for x, y in pairs.items()])
    result = augment(path, "--out", tmp_path / "run", "-n", 100, "--temperature", "inf")
    assert result.exit_code == 0, result.exception
    assert "warning: rules with nonterminals: only 1" in result.output
    assert Example.of("c and a", "C A") in set(read_examples(tmp_path / "run" / "augmented.tsv"))


def test_fewer_pairs_than_asked_for_are_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "five.tsv"
    pairs = {"a": "A", "b": "B", "c": "C", "a and b": "A B", "b and a": "B A"}
    write_examples(path, [Example.of(x, y) for x, y in pairs.items()])
    (tmp_path / "two.cfg").write_text("ROOT => ##X ##X\nX => A\nX => B\nX => C\n", "utf-8")
    options = ("--unique", "--new", "--strategy", "uniform", "--output-cfg", tmp_path / "two.cfg", "-n", 1000)
    result = augment(path, "--out", tmp_path / "run", *options)
    assert result.exit_code == 0, result.exception
    assert "warning: samples: only 7 of 1,000; nothing else of the kind asked for came up" in result.output
    assert card(tmp_path / "run")["synthetic"] == 3 * 3 - 2


def test_without_torch_the_model_is_fitted_by_em(weak: Path, tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['torch'] = None; from csl.cli import main; main()"
    line = [sys.executable, "-c", hidden, "augment", weak, "--out", tmp_path / "run", "-n", "10"]
    found = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
    assert "torch is not installed: fitting by expectation-maximisation instead of Adam" in found.stdout
    assert card(tmp_path / "run")["fit"]["optimizer"] == "em"  # type: ignore[index]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--preset", "scna"], "did you mean 'scan'?"),
        (["--strategy", "unifrom"], "strategy = 'unifrom'"),
        (["--temperature", "-1"], "temperature = -1.0"),
        (["--temperature", "2", "--strategy", "uniform"], "--temperature is of strategy tempered, not uniform"),
        (["--strategy", "model", "--set", "temperature=3"], "a temperature is for strategy tempered, not model"),
        (["--set", "min_depth=9", "--set", "max_depth=3"], "min_depth 9 is more than max_depth 3"),
        (["--seeds", "absent.txt"], "absent.txt: cannot be read"),
        (["--output-cfg", "absent.cfg"], "absent.cfg: cannot be read"),
    ],
)
def test_mistyped_options_are_refused_before_anything_is_written(
    options: list[str], reason: str, weak: Path, tmp_path: Path
) -> None:
    assert reason in refused(weak, "--out", tmp_path / "run", *options)
    assert "no-file.jsonl: cannot be read" in refused(tmp_path / "no-file.jsonl", "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_json_lines_with_other_fields(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text("".join(json.dumps({"q": x, "a": y}) + "\n" for x, y in WEAK.items()), "utf-8")
    fields = ("--input-field", "q", "--output-field", "a")
    assert augment(path, "--out", tmp_path / "run", "-n", 10, *fields).exit_code == 0
