"""`csl parse`: one input, a file, a prompt, and what it does not cover."""

import shutil
import subprocess
import sys
from math import exp
from pathlib import Path

import pytest

from csl.examples import Example, write_examples

from .commands import command, csl, done, refused, write
from .conftest import PAIRS


def test_one_input_gives_one_line(fitted: Path) -> None:
    assert done("parse", fitted, "jump after walk and jump") == ["WALK JUMP JUMP"]
    assert done("parse", fitted, "jump and run", "--timeout", "600") == ["JUMP RUN"]


def test_an_output_comes_with_its_scores(fitted: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("jump and walk after run\nhop\n", "utf-8")
    [line] = done("parse", fitted, "jump and walk after run", "--scores")
    joint, given, output = line.split("\t")
    assert float(joint) < float(given) <= 0
    [first, second] = csl("parse", fitted, tmp_path / "in.txt", "--scores").stdout.splitlines()
    assert first.split("\t")[1:] == [output, joint, given]
    assert second == "hop\t\t\t"


def test_an_output_that_is_less_sure_than_asked_for_is_not_given(fitted: Path, tmp_path: Path) -> None:
    texts = ["jump and walk after run", "jump", "hop"]
    (tmp_path / "in.txt").write_text("".join(f"{text}\n" for text in texts), "utf-8")
    given = [float(done("parse", fitted, text, "--scores")[0].split("\t")[1]) for text in texts[:2]]
    between = sum(map(exp, given)) / 2
    assert exp(given[0]) < between < exp(given[1])
    result = csl("parse", fitted, tmp_path / "in.txt", "--abstain-below", between)
    assert [line.split("\t")[1] for line in result.stdout.splitlines()] == ["", "JUMP", ""]
    assert "1 of 3 inputs not covered" in result.stderr
    assert "1 of 3 inputs get no output" in result.stderr
    single = csl("parse", fitted, texts[0], "--abstain-below", between)
    assert (single.exit_code, single.stdout) == (1, "")
    assert done("parse", fitted, texts[1], "--abstain-below", between) == ["JUMP"]


def test_the_way_to_parse_can_be_chosen(fitted: Path) -> None:
    for inference in ("typed", "paper"):
        assert done("parse", fitted, "jump and run", "--inference", inference) == ["JUMP RUN"]
    assert "'paper'" in refused("parse", fitted, "jump", "--inference", "papre")


def test_an_input_that_is_not_covered_gives_exit_code_1_and_names_unknown_tokens(fitted: Path) -> None:
    for text, why in (("hop and jump thrice", "hop, thrice"), ("and and", "and and"), ("", "")):
        result = csl("parse", fitted, text)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
        assert why in result.stderr


def test_a_file_gives_input_and_output_a_line(fitted: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("jump  and walk\tIGNORED\n\nhop\nrun\n", "utf-8")
    for options in (["--threads", 2], ["--file"]):
        result = csl("parse", fitted, tmp_path / "in.txt", *options)
        assert (result.exit_code, result.stdout) == (0, "jump  and walk\tJUMP WALK\nhop\t\nrun\tRUN\n")
        assert "1 of 3 inputs" in result.stderr
    assert "absent" in refused("parse", fitted, "absent", "--file")


def test_a_name_of_a_file_can_be_meant_as_an_input(
    fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("walk").write_text("jump\n")
    assert csl("parse", fitted, "walk").stdout == "jump\tJUMP\n"
    assert "--text" in csl("parse", fitted, "walk").stderr
    assert done("parse", fitted, "walk", "--text") == ["WALK"]
    assert "--file" in refused("parse", fitted, "walk", "--text", "--file")


def test_lines_of_stdin_are_parsed_one_by_one_even_if_they_are_not_text(fitted: Path) -> None:
    line = [sys.executable, "-c", "from csl.cli import main; main()", "parse", fitted]
    found = subprocess.run(line, input=b"jump and walk\n\njump \xff\nrun\n", capture_output=True, check=False)
    assert (found.returncode, found.stdout) == (0, b"JUMP WALK\nRUN\n")
    assert found.stderr.count(b"\n") == 1
    assert b"\\udcff" in found.stderr


def test_with_an_output_cfg_the_best_valid_output_is_given(tmp_path: Path) -> None:
    words = "R => RUN\nJ => JUMP\nW => WALK\nROOT => ##ANY\nANY => ##R ##R\nANY => ##W ##W\n"
    train = write(tmp_path / "train.tsv", PAIRS)
    for name, cfg, output in (
        ("a", "ROOT => ##R ##P\nP => ##J ##W\n", "RUN JUMP WALK"),
        ("b", "ROOT => ##J ##P\nP => ##R ##W\n", "JUMP RUN WALK"),
    ):
        (tmp_path / f"{name}.cfg").write_text(cfg + words, "utf-8")
        (tmp_path / name).mkdir()
        rules = [f"{word} ### {word.upper()}" for word in ("walk", "run", "jump")]
        rules += ["NT_1 twice ### NT_1 NT_1", "NT_1 and NT_2 ### NT_1 NT_2", "NT_1 after NT_2 ### NT_2 NT_1"]
        (tmp_path / name / "grammar.txt").write_text("\n".join(rules) + "\n")
        done("grammar", "accept", tmp_path / name, "--train", train, "--output-cfg", tmp_path / f"{name}.cfg")
        done("fit", tmp_path / name, "--set", "optimizer=em")
        assert done("parse", tmp_path / name, "jump and walk after run") == [output]
        single = csl("parse", tmp_path / name, "jump")
        assert (single.exit_code, single.stdout) == (1, "")
        assert "valid output" in single.stderr


def test_missing_damaged_or_outdated_models_are_refused_in_one_line(fitted: Path, tmp_path: Path) -> None:
    assert "not a run folder" in refused("parse", tmp_path / "absent", "jump")
    run = Path(shutil.copytree(fitted, tmp_path / "run"))
    whole = (run / "model.npz").read_bytes()
    (run / "model.npz").write_bytes(whole[: len(whole) // 2])
    found = command("parse", run, "jump")
    assert (found.returncode, found.stdout, found.stderr.count("\n")) == (2, "", 1)
    assert found.stderr.startswith(f"error: {run / 'model.npz'}: ")
    (run / "model.npz").unlink()
    assert "`csl fit`" in refused("parse", run, "hop")


@pytest.fixture(scope="module")
def ambiguous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose grammar derives long inputs in very many ways."""
    folder = tmp_path_factory.mktemp("ambiguous")
    (folder / "run").mkdir()
    rules = ["a ### A", "b ### B", *(f"NT_1 NT_2 ### NT_1 x{i} NT_2" for i in range(50))]
    (folder / "run" / "grammar.txt").write_text("\n".join(rules) + "\n")
    train = write(folder / "train.tsv", {"a": "A", "a b": "A x1 B"})
    done("grammar", "accept", folder / "run", "--train", train)
    done("fit", folder / "run", "--set", "optimizer=em")
    return folder / "run"


def test_inputs_that_take_too_much_memory_are_told_from_those_not_covered(ambiguous: Path, tmp_path: Path) -> None:
    long, limit = " ".join("a" * 60), ("--max-memory", "2M")
    one = csl("parse", ambiguous, long, *limit)
    assert (one.exit_code, one.stdout) == (1, "")
    assert one.stderr.startswith("given up: ")
    (tmp_path / "inputs.txt").write_text(f"a b\n{long}\na ?\n")
    result = csl("parse", ambiguous, tmp_path / "inputs.txt", *limit, "--file")
    assert [line.split("\t")[0] for line in result.stdout.splitlines()] == ["a b", long, "a ?"]
    assert result.stdout.startswith("a b\tA x1 B")
    covered, given_up = result.stderr.splitlines()
    assert covered.startswith("1 of 3 inputs not covered")
    assert given_up.startswith("1 of 3 inputs given up")
    write_examples(tmp_path / "test.tsv", [Example.of("a b", "A x1 B"), Example.of(long, "A"), Example.of("?", "A")])
    evaluated = done("evaluate", ambiguous, tmp_path / "test.tsv", *limit)
    assert any("1 of 3 inputs given up" in line for line in evaluated)
    assert any("33.3%" in line for line in evaluated)
