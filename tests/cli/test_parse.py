"""`csl parse` as a person meets it: one input, a file, a prompt, and what it does not cover."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from csl.cli import app
from csl.errors import InputError
from csl.examples import Example, write_examples

PAIRS = {
    "walk": "WALK", "run": "RUN", "jump": "JUMP", "walk and run": "WALK RUN", "run and walk": "RUN WALK",
    "walk after run": "RUN WALK",
}  # fmt: skip


def csl(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], input=stdin)


def command(*arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the real command."""
    line = [sys.executable, "-c", "from csl.cli import main; main()", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False, input=stdin)


def refused(*arguments: object) -> str:
    result = csl(*arguments)
    assert isinstance(result.exception, InputError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parse")
    write_examples(folder / "train.tsv", [Example.of(x, y) for x, y in PAIRS.items()])
    assert csl("induce", folder / "train.tsv", "--out", folder / "run", "--preset", "scan").exit_code == 0
    assert csl("fit", folder / "run", "--set", "optimizer=em").exit_code == 0
    return folder / "run"


def test_one_input_gives_one_line(run: Path) -> None:
    result = csl("parse", run, "jump after walk and jump")
    assert (result.exit_code, result.exception) == (0, None)
    assert result.stdout == "WALK JUMP JUMP\n"


def test_k_outputs_come_best_first_with_their_scores(run: Path) -> None:
    result = csl("parse", run, "jump and walk after run", "-k", 5, "--scores")
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert {row[2] for row in rows} == {"RUN JUMP WALK", "JUMP RUN WALK"}
    assert [float(row[0]) for row in rows] == sorted((float(row[0]) for row in rows), reverse=True)
    assert all(float(row[1]) <= 0 for row in rows)
    assert csl("parse", run, "jump and walk after run").stdout == rows[0][2] + "\n"


def test_an_input_that_is_not_covered_ends_with_1_and_names_unknown_tokens(run: Path) -> None:
    done = command("parse", run, "hop and jump thrice")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "not covered: hop and jump thrice (no rule knows: hop, thrice)\n"
    assert "no derivation spans it" in csl("parse", run, "and and").stderr
    assert csl("parse", run, "").exit_code == 1


def test_a_file_gives_input_and_output_a_line(run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("jump  and walk\tIGNORED\n\nhop\nrun\n", "utf-8")
    done = command("parse", run, tmp_path / "in.txt", "--threads", 2)
    assert done.returncode == 0
    assert done.stdout == "jump and walk\tJUMP WALK\nhop\t\nrun\tRUN\n"
    assert done.stderr == "1 of 3 inputs not covered\n"


def test_a_file_with_scores_and_more_outputs_adds_columns(run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("jump and walk after run\nhop\n", "utf-8")
    [first, second] = csl("parse", run, tmp_path / "in.txt", "-k", 2, "--scores").stdout.splitlines()
    cells = first.split("\t")
    assert len(cells) == 1 + 2 * 3
    assert float(cells[2]) >= float(cells[5])
    assert second == "hop\t"


def test_bytes_of_stdin_that_are_no_text_are_a_word_that_no_rule_knows(run: Path) -> None:
    line = [sys.executable, "-c", "from csl.cli import main; main()", "parse", run]
    strict = os.environ | {"PYTHONIOENCODING": "utf-8:strict"}  # as in most places; a container may take anything
    done = subprocess.run(line, input=b"jump \xff\nrun\n", capture_output=True, check=False, env=strict)
    assert (done.returncode, done.stdout) == (0, b"RUN\n")
    assert done.stderr == b"not covered: jump \\udcff (no rule knows: \\udcff)\n"


def test_lines_of_stdin_are_parsed_one_by_one(run: Path) -> None:
    done = command("parse", run, stdin="jump and walk\n\nhop\nrun\n")
    assert (done.returncode, done.stdout) == (0, "JUMP WALK\nRUN\n")
    assert done.stderr == "not covered: hop (no rule knows: hop)\n"


def test_with_an_output_cfg_the_best_valid_output_is_given(run: Path, tmp_path: Path) -> None:
    words = "R => RUN\nJ => JUMP\nW => WALK\n"
    folder = Path(shutil.copytree(run, tmp_path / "run"))
    for cfg, output in (
        ("ROOT => ##R ##P\nP => ##J ##W\n", "RUN JUMP WALK\n"),
        ("ROOT => ##J ##P\nP => ##R ##W\n", "JUMP RUN WALK\n"),
    ):
        (folder / "output.cfg").write_text(cfg + words, "utf-8")
        assert csl("parse", folder, "jump and walk after run", "-k", 2).stdout == output
        assert csl("parse", folder, "jump and walk after run").stdout == output
        alone = csl("parse", folder, "jump")
        assert (alone.exit_code, alone.stdout) == (1, "")
        assert "none to a valid output" in alone.stderr


def test_missing_or_other_models_are_refused_in_one_line(run: Path, tmp_path: Path) -> None:
    assert "not a run folder" in refused("parse", tmp_path / "absent", "jump")
    folder = Path(shutil.copytree(run, tmp_path / "run"))
    with (folder / "grammar.txt").open("a", encoding="utf-8") as file:
        file.write("hop ### HOP\n")
    assert refused("parse", folder, "hop").endswith(
        "model.npz: fitted to another grammar than this folder's grammar.txt; fit again"
    )
    (folder / "model.npz").unlink()
    assert refused("parse", folder, "hop").endswith("no model.npz in this folder; fit one with `csl fit`")
    whole = (run / "model.npz").read_bytes()
    (folder / "model.npz").write_bytes(whole[: len(whole) // 2])
    done = command("parse", folder, "jump")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {folder / 'model.npz'}: damaged file; fit again with --no-resume\n"


@pytest.fixture(scope="module")
def ambiguous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose grammar derives long inputs in very many ways."""
    folder = tmp_path_factory.mktemp("ambiguous")
    rules = ["a ### A", "b ### B", *(f"NT_1 NT_2 ### NT_1 x{i} NT_2" for i in range(50))]
    (folder / "grammar.txt").write_text("\n".join(rules) + "\n")
    write_examples(folder / "train.tsv", [Example.of("a", "A"), Example.of("a b", "A x1 B")])
    assert csl("fit", folder, "--train", folder / "train.tsv", "--set", "optimizer=em").exit_code == 0
    return folder


def test_inputs_that_take_too_much_memory_are_told_apart_from_those_not_covered(ambiguous: Path) -> None:
    long = " ".join("a" * 60)
    one = csl("parse", ambiguous, long, "--max-memory", "2M")
    assert (one.exit_code, one.stdout) == (1, "")
    assert one.stderr == f"given up: {long} (too many derivations for the memory limit)\n"
    (ambiguous / "inputs.txt").write_text(f"a b\n{long}\na ?\n")
    for k in (1, 2):
        result = csl("parse", ambiguous, ambiguous / "inputs.txt", "--max-memory", "2M", "-k", k)
        assert [line.split("\t")[0] for line in result.stdout.splitlines()] == ["a b", long, "a ?"]
        assert result.stdout.splitlines()[0].startswith("a b\tA x1 B")
        assert result.stderr.splitlines() == [
            "1 of 3 inputs not covered",
            "1 of 3 inputs given up: 1 too many derivations for the memory limit",
        ]
    write_examples(ambiguous / "test.tsv", [Example.of("a b", "A x1 B"), Example.of(long, "A"), Example.of("?", "A")])
    evaluated = csl("evaluate", ambiguous, ambiguous / "test.tsv", "--max-memory", "2M")
    assert "1 of 3 inputs given up: 1 too many derivations" in evaluated.stdout
    assert "33.3%" in evaluated.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max-memory", "lots"], "'lots' is not an amount of memory; write it as 512M or 2G"),
        (["--max-memory", "1K"], "a memory limit of 1K is too small"),
        (["--timeout", "0"], "a timeout of 0 seconds leaves no time"),
    ],
)
def test_limits_that_make_no_sense_are_refused(run: Path, options: list[str], message: str) -> None:
    assert message in refused("parse", run, "jump", *options)


def test_enough_time_changes_nothing(run: Path) -> None:
    assert csl("parse", run, "jump and run", "--timeout", "600").stdout == "JUMP RUN\n"
