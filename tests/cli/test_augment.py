"""`csl augment`: every stage, every file, and the warnings."""

import json
import shutil
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from csl.datasets import scan
from csl.examples import Example, read_examples, write_examples
from csl.runs.folder import RunFolder

from .commands import contents, done, refused, write

WEAK = {"a b": "Q", "c d": "R", "e f g": "S", "h i": "T", "k": "U"}
FIVE = {"a": "A", "b": "B", "c": "C", "a and b": "A B", "b and a": "B A"}
OPTIONS = ("-n", 2000, "--temperature", "inf")


def figures(run: Path, stage: str) -> dict[str, Any]:
    return RunFolder(run).record.stages[stage].figures


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "train.tsv"
    write_examples(path, [pair for pair in scan.prepare(None, "length").train if len(pair.source) <= 4][:300])
    return path


@pytest.fixture(scope="module")
def run(train: Path) -> tuple[Path, list[str]]:
    """A run folder, and what the command printed."""
    return train.parent / "run", done("augment", train, "--out", train.parent / "run", *OPTIONS)


@pytest.fixture(scope="module")
def weak(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A run folder of examples that do not recombine, and what the command printed."""
    folder = tmp_path_factory.mktemp("weak")
    return folder / "run", done("augment", write(folder / "weak.tsv", WEAK), "--out", folder / "run", "-n", 10)


@pytest.fixture(scope="module")
def five(weak: tuple[Path, list[str]], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A run folder of five examples, in place of the weak run."""
    folder = tmp_path_factory.mktemp("five")
    shutil.copytree(weak[0], folder / "run")
    options = ("-n", 100, "--temperature", "inf", "--no-resume")
    return folder / "run", done("augment", write(folder / "five.tsv", FIVE), "--out", folder / "run", *options)


def test_each_stage_reports_what_it_found_and_new_pairs_are_shown(run: tuple[Path, list[str]], train: Path) -> None:
    folder, lines = run
    stages = [str(train), "data", "prepare", "induce", "fit", "check", "sample", "merge"]
    starts = dict.fromkeys(line.split(":")[0] for line in lines)
    assert [start for start in starts if start in stages] == stages  # slow ones also show how far they are
    assert str(folder / "augmented.tsv") in lines[-1]
    shown = [line.strip().split(" → ") for line in lines if line.startswith("  ")]
    assert len(shown) == 10
    assert not {Example.of(x, y) for x, y in shown} & set(read_examples(train))


def test_the_run_folder(run: tuple[Path, list[str]], train: Path) -> None:
    folder = run[0]
    assert set(contents(folder)) == {
        "run.json", "recipe.toml", "data/train.tsv", "data/card.json", "grammar.txt", "model.npz", "samples.tsv",
        "samples.card.json", "augmented.tsv", "metrics/induce.jsonl", "metrics/fit.jsonl",
    }  # fmt: skip
    lines = Counter(read_examples(folder / "augmented.tsv"))
    original, synthetic = (Counter(read_examples(path)) for path in (train, folder / "samples.tsv"))
    assert lines == Counter({pair: 7 * n for pair, n in original.items()}) + synthetic  # 2000 / 300, rounded
    assert figures(folder, "merge") == {
        "original": 300, "synthetic": 2000, "copies": [7, 1], "lines": 4100, "columns": ["input", "output"],
        "file": "augmented.tsv",
    }  # fmt: skip
    assert figures(folder, "check")["examples"] == 30
    card = json.loads((folder / "samples.card.json").read_text("utf-8"), parse_constant=pytest.fail)
    assert card["sampling"]["temperature"] == "inf"


def test_the_same_command_again_changes_nothing(run: tuple[Path, list[str]], train: Path) -> None:
    before = contents(run[0])
    again = done("augment", train, "--out", run[0], *OPTIONS)
    assert sum("already complete" in line for line in again) == 7
    assert contents(run[0]) == before
    assert [line for line in again if line.startswith("  ")] == [line for line in run[1] if line.startswith("  ")]


def test_other_samples_use_the_grammar_and_model_of_the_folder(train: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done("augment", train, "--out", run, "-n", 10)
    lines = done("augment", train, "--out", run, "-n", 20, "--weights", "--new", "--unique")
    assert [line.split(":")[0] for line in lines if "already complete" in line] == [
        "data", "prepare", "induce", "fit", "check",
    ]  # fmt: skip
    rows = [line.split("\t") for line in (run / "augmented.tsv").read_text("utf-8").splitlines()]
    assert Counter((row[3], row[2]) for row in rows) == {("original", "1"): 300, ("synthetic", "1"): 20}
    made = {Example.of(row[0], row[1]) for row in rows if row[3] == "synthetic"}
    assert len(made) == 20
    assert not made & set(read_examples(train))


def test_another_run_is_refused_and_nothing_is_lost_unless_it_may_be_replaced(
    run: tuple[Path, list[str]], train: Path, weak: tuple[Path, list[str]], five: tuple[Path, list[str]]
) -> None:
    before = contents(run[0])
    assert "--no-resume" in refused("augment", weak[0].parent / "weak.tsv", "--out", run[0])
    assert "--no-resume" in refused("augment", train, "--out", run[0], "--preset", "geoquery")
    assert contents(run[0]) == before
    replaced = set(read_examples(five[0] / "data" / "train.tsv"))
    assert replaced == {Example.of(x, y) for x, y in FIVE.items()}


def test_inputs_are_not_overwritten(five: tuple[Path, list[str]]) -> None:
    run = five[0]
    before = contents(run)
    for name in ("augmented.tsv", "samples.tsv", "data/train.tsv"):
        assert str(run / name) in refused("augment", run / name, "--out", run, "--no-resume")
    assert contents(run) == before


def test_examples_that_do_not_recombine_give_warnings_not_a_failure(weak: tuple[Path, list[str]]) -> None:
    run, lines = weak
    warnings = [line.removeprefix("warning: ") for line in lines if line.startswith("warning: ")]
    assert figures(run, "check")["warnings"] == warnings[:2]
    assert "only 0" in warnings[0]
    assert "--seed-rules" in warnings[1]
    assert warnings[2].startswith("nothing to sample")
    assert list(read_examples(run / "augmented.tsv")) == list(read_examples(run.parent / "weak.tsv"))


def test_five_examples_are_enough_to_recombine(five: tuple[Path, list[str]]) -> None:
    run, lines = five
    assert any(line.startswith("warning: ") and "only 1;" in line for line in lines)
    assert Example.of("c and a", "C A") in set(read_examples(run / "augmented.tsv"))


def test_fewer_pairs_than_asked_for_are_a_warning(tmp_path: Path) -> None:
    (tmp_path / "two.cfg").write_text("ROOT => ##X ##X\nX => A\nX => B\nX => C\n", "utf-8")
    options = ("--unique", "--new", "--strategy", "uniform", "--output-cfg", tmp_path / "two.cfg", "-n", 1000)
    lines = done("augment", write(tmp_path / "five.tsv", FIVE), "--out", tmp_path / "run", *options)
    assert any(line.startswith("warning: only 7 of 1,000") for line in lines)
    assert figures(tmp_path / "run", "merge")["synthetic"] == 3 * 3 - 2


STATES = ("Texas", "Ohio", "Utah", "Iowa", "Maine")
QUESTIONS = {
    "How large is {}?": "size(state('{}'))", "Which rivers cross {}?": "rivers(cross(state('{}')))",
    "How large is the capital of {}?": "size(capital(state('{}')))",
}  # fmt: skip


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("questions") / "questions.csv"
    rows = [f"{n},{q.format(s)},{p.format(s.lower())}" for n, s in enumerate(STATES) for q, p in QUESTIONS.items()]
    path.write_text("\r\n".join(["number,question,program", *rows, ""]), "utf-8", newline="")
    return path


def test_the_set_is_written_in_the_format_that_was_read(questions: Path, tmp_path: Path) -> None:
    options = ("--input-column", "question", "--output-column", "program", "--force", "-n", 5)
    done("augment", questions, "--out", tmp_path / "run", *options)
    written = (tmp_path / "run" / "augmented.csv").read_bytes()
    assert written.startswith(questions.read_bytes())
    samples = list(read_examples(tmp_path / "run" / "samples.tsv"))
    assert samples
    new = [f",{pair.source_text},{pair.target_text}" for pair in samples]
    assert written.decode().removeprefix(questions.read_bytes().decode()).split("\r\n")[: len(new)] == new


def test_the_set_can_be_written_in_another_format(questions: Path, tmp_path: Path) -> None:
    options = ("--input-column", "question", "--output-column", "program", "--force", "-n", 5, "--weights")
    done("augment", questions, "--out", tmp_path / "run", *options, "--format", "chat")
    rows = [json.loads(line) for line in (tmp_path / "run" / "augmented.jsonl").read_text("utf-8").splitlines()]
    turns = [[turn["role"] for turn in row["messages"]] for row in rows]
    assert turns == [["user", "assistant"]] * len(rows)
    assert rows[0]["messages"][1]["content"] == "size(state('texas'))"
    assert {row["origin"] for row in rows} == {"original", "synthetic"}


def test_samples_are_written_in_the_format_asked_for(questions: Path, tmp_path: Path) -> None:
    options = ("--input-column", "question", "--output-column", "program", "--force", "-n", 5)
    done("augment", questions, "--out", tmp_path / "run", *options)
    done("sample", tmp_path / "run", "-n", 2, "--out", tmp_path / "x.csv", "--format", "csv")
    header, *rows = (tmp_path / "x.csv").read_text("utf-8").splitlines()
    assert header == "number,question,program"
    assert len(rows) == 2
    assert "--out" in refused("sample", tmp_path / "run", "--format", "csv")


def test_outputs_that_do_not_parse_are_named(questions: Path, tmp_path: Path) -> None:
    train = tmp_path / "train.tsv"
    pairs = [line.split(",")[1:] for line in questions.read_text("utf-8").splitlines()[1:]] * 2
    train.write_text("".join(f"{x}\t{y}\n" for x, y in pairs) + "What else?\tsize(state(\n", "utf-8")
    lines = done("augment", train, "--out", tmp_path / "run", "--force", "-n", 5)
    [warning] = [line for line in lines if "size(state(" in line and line.startswith("warning")]
    assert f"example {len(pairs) + 1}" in warning


@pytest.fixture(scope="module")
def sql(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sql") / "sql.csv"
    rows = [
        f'"{question} {name}?","SELECT {column} FROM papers WHERE author = ""{name}""{order}"'
        for name in ("Ada Lovelace", "Alan Turing", "Grace Hopper", "Kurt Goedel")
        for question, column, order in (
            ("Which papers did we read by", "title", ""), ("How many papers are there by", "COUNT(*)", ""),
            ("What are the newest papers by", "title", " ORDER BY year DESC"),
        )
    ]  # fmt: skip
    path.write_text("question,query\n" + "\n".join(rows) + "\n", "utf-8")
    return path


def test_synthetic_sql_is_read_by_its_own_parser(sql: Path, tmp_path: Path) -> None:
    import sqlglot

    more = tmp_path / "values.tsv"
    done("augment", sql, "--out", tmp_path / "first", "--force", "-n", 20)
    kinds = sorted({entry.type for entry in RunFolder(tmp_path / "first").preparation().values.entries})
    assert len(kinds) == 1
    more.write_text(f"{kinds[0]}\tEdsger Dijkstra\n", "utf-8")
    done("augment", sql, "--out", tmp_path / "run", "--force", "-n", 20, "--values", more)
    samples = list(read_examples(tmp_path / "run" / "samples.tsv"))
    assert {pair.target_text for pair in samples} >= {
        'SELECT title FROM papers WHERE author = "Edsger Dijkstra"',
        'SELECT COUNT(*) FROM papers WHERE author = "Edsger Dijkstra"',
    }
    for pair in samples:
        sqlglot.parse_one(pair.target_text)


def test_chats_are_loaded_as_a_dataset(questions: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    options = ("--input-column", "question", "--output-column", "program", "--force", "-n", 5, "--format", "chat")
    done("augment", questions, "--out", tmp_path / "run", *options)
    path = str(tmp_path / "run" / "augmented.jsonl")
    loaded = datasets.load_dataset("json", data_files=path, split="train", cache_dir=str(tmp_path / "cache"))
    assert {tuple(turn["role"] for turn in row["messages"]) for row in loaded} == {("user", "assistant")}


def test_columns_of_parquet_files_keep_their_types(questions: Path, tmp_path: Path) -> None:
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    lines = [line.split(",") for line in questions.read_text("utf-8").splitlines()[1:]]
    columns = {"question": [x for _, x, _ in lines], "program": [y for *_, y in lines]}
    parquet.write_table(arrow.table({**columns, "when": [datetime(2020, 1, 1)] * len(lines)}), tmp_path / "x.parquet")
    done("augment", tmp_path / "x.parquet", "--out", tmp_path / "run", "--force", "-n", 5)
    before, after = (parquet.read_table(path) for path in (tmp_path / "x.parquet", tmp_path / "run/augmented.parquet"))
    assert after.schema.equals(before.schema)
    assert after.slice(0, len(lines)).equals(before)
    assert after.num_rows > len(lines)
