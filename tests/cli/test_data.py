import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from csl.cli import app
from csl.errors import CslError
from csl.examples import Example, read_examples, write_examples


def csl_data(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["data", *map(str, arguments)])


def failure(*arguments: object) -> str:
    """The one line that the real command prints when it refuses its input."""
    command = [sys.executable, "-c", "from csl.cli import main; main()", "data", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stdout == ""
    return done.stderr


def refused(*arguments: object) -> str:
    result = csl_data(*arguments)
    assert isinstance(result.exception, CslError), result.output
    assert result.exception.exit_code == 2
    return str(result.exception)


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    path = tmp_path / "Beispiele (größer).tsv"
    pairs = [Example.of(f"{f} über {a}", f"{f} ( {g} ( {a} ) )") for f in "fgh" for g in "kl" for a in ("ä", "b", "m0")]
    write_examples(path, pairs * 2)
    return path


def test_list_shows_every_data_set_with_its_sizes() -> None:
    result = csl_data("list")
    assert result.exit_code == 0
    for text in ("scan", "turn_left", "14670", "cogs", "geoquery", "tmcd_1", "smcalflow-cs-fifth", "GPL-2.0"):
        assert text in result.output


def test_prepare_writes_a_folder_and_says_what_is_in_it(tmp_path: Path) -> None:
    result = csl_data("prepare", "scan", "--split", "length", "--out", tmp_path / "scan")
    assert result.exit_code == 0, result.exception
    assert "train.tsv: 16,990 examples" in result.output
    assert "note: " in result.output
    card = json.loads((tmp_path / "scan" / "card.json").read_text("utf-8"))
    assert (card["name"], card["split"]) == ("scan", "length")
    assert card["sizes"] == {"train.tsv": 16990, "test.tsv": 3920}


def test_prepare_reads_the_original_files(tmp_path: Path, shared_data: Path) -> None:
    source = shared_data / "geoquery"
    result = csl_data("prepare", "geoquery", "--source", source, "--split", "tmcd_1", "--out", tmp_path)
    assert result.exit_code == 0, result.exception
    assert "train.tsv: 440 examples" in result.output
    assert "productions" in result.output
    assert "seed rules" in result.output


@pytest.mark.parametrize("by", ["random", "length", "template", "tmcd"])
def test_split_writes_both_sides_and_reports_divergence(by: str, examples: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = csl_data("split", examples, "--by", by, "--train-share", "0.75", "--out", out)
    assert result.exit_code == 0, result.exception
    assert "compound divergence: 0." in result.output
    card = json.loads((out / "card.json").read_text("utf-8"))
    assert (card["name"], card["split"], card["seed"]) == (examples.name, by, 0)
    assert 0 <= card["divergence"]["compound"] <= 1
    written = [e.target_text for side in ("train", "test") for e in read_examples(out / f"{side}.tsv")]
    assert sorted(written) == sorted(e.target_text for e in read_examples(examples))


def test_split_is_the_same_for_the_same_seed(examples: Path, tmp_path: Path) -> None:
    for out in ("a", "b"):
        assert csl_data("split", examples, "--by", "tmcd", "--seed", 3, "--out", tmp_path / out).exit_code == 0
    for name in ("train.tsv", "test.tsv", "card.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_split_takes_sizes_with_a_dev_set(examples: Path, tmp_path: Path) -> None:
    result = csl_data("split", examples, "--by", "random", "--sizes", "20,6,10", "--out", tmp_path)
    assert result.exit_code == 0, result.exception
    assert [sum(1 for _ in read_examples(tmp_path / f"{s}.tsv")) for s in ("train", "dev", "test")] == [20, 6, 10]


def test_split_reads_json_lines_with_other_field_names(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl.gz"
    lines = [json.dumps({"utterance": f"say {i}", "plan": f"( say {'x ' * i})"}) for i in range(1, 9)]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    fields = ("--input-column", "utterance", "--output-column", "plan")
    assert csl_data("split", path, "--by", "length", "--out", tmp_path, *fields).exit_code == 0
    assert [e.source_text for e in read_examples(tmp_path / "train.tsv")] == [f"say {i}" for i in range(1, 5)]


def test_outputs_that_are_no_programs_can_be_split_but_not_measured(tmp_path: Path) -> None:
    path = tmp_path / "data.tsv"
    path.write_text("a\tok :)\nb\t( hm\nc\tfine )\n")
    result = csl_data("split", path, "--by", "random", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.exception
    assert "divergence is not measured" in result.output
    assert json.loads((tmp_path / "out" / "card.json").read_text())["divergence"] is None
    assert "output 2: a bracket is not closed" in refused("split", path, "--by", "tmcd", "--out", tmp_path / "out")


def test_divergence_of_a_file_with_itself_is_zero(examples: Path) -> None:
    result = csl_data("divergence", examples, examples)
    assert result.exit_code == 0, result.exception
    assert "atom divergence: 0.0000" in result.output
    assert "test compounds that training lacks: 0 of" in result.output


def test_divergence_names_the_atoms_that_training_lacks(tmp_path: Path) -> None:
    for name, program in (("train.tsv", "f ( a )"), ("test.tsv", "f ( ä )")):
        (tmp_path / name).write_text(f"x\t{program}\n", "utf-8")
    result = csl_data("divergence", tmp_path / "train.tsv", tmp_path / "test.tsv")
    assert "compound divergence: 1.0000" in result.output
    assert "test atoms that training lacks: 1 (ä/0)" in result.output


def test_unknown_names_exit_with_2_and_one_line(tmp_path: Path) -> None:
    assert "did you mean 'geoquery'" in failure("prepare", "geoqueri", "--out", tmp_path)
    assert "did you mean 'jump'" in failure("prepare", "scan", "--split", "jumpp", "--out", tmp_path)
    assert "--source" in failure("prepare", "cogs", "--out", tmp_path)
    assert "cannot be fetched" in failure("fetch", "geoquery", "--out", tmp_path)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "data.tsv: no examples"),
        (b"a\tA\nb\n", "data.tsv:2: one column"),
        (b"a\tA\n\xff\tB\n", "data.tsv:2: not valid UTF-8"),
        (None, "data.tsv: cannot be read: No such file"),
    ],
)
def test_bad_files_exit_with_2_and_one_line(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "data.tsv"
    if content is not None:
        path.write_bytes(content)
    assert message in refused("split", path, "--by", "random", "--out", tmp_path / "out")
    assert message in refused("divergence", path, path)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sizes", "1,2"], "add up to 3, but there are 36"),
        (["--sizes", "viele"], "not of the form"),
        (["--train-share", "0"], "both sides need some"),
        (["--train-share", "1"], "both sides need some"),
        (["--entities", "("], "not a regular expression"),
        (["--sizes", "30,6,0"], "leaves no test set"),
    ],
)
def test_impossible_options_are_refused(options: list[str], message: str, examples: Path, tmp_path: Path) -> None:
    assert message in refused("split", examples, "--by", "random", "--out", tmp_path / "out", *options)


def test_an_input_is_not_overwritten(examples: Path, tmp_path: Path) -> None:
    source = tmp_path / "here"
    source.mkdir()
    for name in ("train.tsv", "dev.tsv", "gen.tsv"):
        (source / name).write_bytes(examples.read_bytes())
    assert "choose another output path" in refused("split", source / "dev.tsv", "--by", "random", "--out", source)
    assert "choose another output path" in refused("prepare", "cogs", "--source", source, "--out", source)
    assert {path.read_bytes() for path in source.iterdir()} == {examples.read_bytes()}


def test_a_file_in_the_place_of_the_folder_is_refused(examples: Path) -> None:
    assert "cannot be created" in refused("split", examples, "--by", "random", "--out", examples)
