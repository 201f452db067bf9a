"""`csl induce`: what it prints, what it writes, what it refuses."""

import json
import random
from pathlib import Path

import pytest

from csl.cli import app
from csl.datasets import scan
from csl.examples import write_examples
from csl.grammar import read_grammar

from .commands import CliRunner, command, contents, done, refused, write


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some SCAN commands, the first ones more than once."""
    pairs = scan.prepare(None, "length").train
    chosen = random.Random(3).sample(pairs, 200) + [pair for pair in pairs if len(pair.source) <= 2]
    path = tmp_path_factory.mktemp("data") / "train.tsv"
    write_examples(path, [*chosen, *chosen[:20]])
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write(tmp_path / "small.tsv", {"a": "A", "b": "B", "a and b": "A B", "b and a": "B A"})


def test_the_summary_has_sizes_the_choices_of_auto_and_the_rules_that_save_most(train: Path, tmp_path: Path) -> None:
    lines = done("induce", train, "--out", tmp_path / "run")
    grammar = read_grammar(tmp_path / "run" / "grammar.txt")
    [summary] = [line for line in lines if line.startswith("induce: ")]
    assert f"{len(grammar)} rules, {sum(rule.arity > 0 for rule in grammar)} with nonterminals" in summary
    assert "100.0%" in summary
    before, after = summary.split("objective ")[1].split(", ")[0].replace(",", "").split(" → ")
    assert int(before) > 10 * int(after)
    assert any(line.startswith("auto: ") and "preset scan" in line for line in lines)
    ranked = [line.split(maxsplit=2) for line in lines if "###" in line]
    saved = [int(cells[0].replace(",", "")) for cells in ranked]
    assert len(saved) == 10
    assert saved == sorted(saved, reverse=True)
    assert {cells[2].strip() for cells in ranked} <= set(map(str, grammar))


def test_the_last_check_trusts_the_search_where_there_are_too_many_derivations(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("csl.runs.stages.induce.CHECKED", 1)
    assert any("derive 100.0% of the examples" in line for line in done("induce", small, "--out", tmp_path / "run"))


def test_a_run_folder_has_these_files(small: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done("induce", small, "--out", run)
    assert set(contents(run)) == {
        "run.json", "recipe.toml", "grammar.txt", "data/train.tsv", "data/card.json", "metrics/induce.jsonl",
    }  # fmt: skip
    stages = json.loads((run / "run.json").read_text("utf-8"))["stages"]
    assert list(stages) == ["data", "prepare", "induce"]
    assert stages["induce"]["figures"]["derivable"] == stages["induce"]["figures"]["examples"] == 4
    assert str(tmp_path) not in "".join(text.decode() for text in contents(run).values())


def test_a_preset_says_which_seed_rules_it_misses(tmp_path: Path) -> None:
    train = write(tmp_path / "train.tsv", {"call ann": "call ( ann )", "call bob": "call ( bob )"})
    lines = done("induce", train, "--out", tmp_path / "run", "--preset", "cogs")
    assert any("seed rules" in line and "100%" in line for line in lines)
    assert not any(line.startswith("auto: ") for line in lines)
    (tmp_path / "seeds.txt").write_text("ann ### ann\n", "utf-8")
    lines = done(
        "induce", train, "--out", tmp_path / "2", "--preset", "cogs", "--seed-rules", tmp_path / "seeds.txt"
    )  # fmt: skip
    assert not any("no seed rules" in line for line in lines)
    assert (tmp_path / "2" / "data" / "seed_rules.txt").read_text("utf-8") == "ann ### ann\n"


def test_output_outside_a_terminal_is_plain(small: Path, tmp_path: Path) -> None:
    found = command("induce", small, "--out", tmp_path / "run", "--preset", "cogs")
    assert (found.returncode, found.stderr) == (0, "")
    assert "\x1b" not in found.stdout
    assert (tmp_path / "run" / "metrics" / "induce.jsonl").read_text("utf-8").count('"stage": "induce"') >= 1


@pytest.mark.parametrize("search", ["paper", "deep"])
def test_the_grammar_does_not_depend_on_the_hash_seed_or_threads(train: Path, tmp_path: Path, search: str) -> None:
    options = ("--preset", "smcalflow", "--set", f"search={search}", "--threads")
    done("induce", train, "--out", tmp_path / "1", *options, 1)
    assert command("induce", train, "--out", tmp_path / "2", *options, 2, PYTHONHASHSEED="4711").returncode == 0
    assert (tmp_path / "1" / "grammar.txt").read_bytes() == (tmp_path / "2" / "grammar.txt").read_bytes()


def test_seed_rules_and_an_output_cfg(small: Path, tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("c ### C\n", "utf-8")
    (tmp_path / "2.txt").write_text("# more\nd ### D\n", "utf-8")
    (tmp_path / "out.cfg").write_text("ROOT => ##X ##X\nROOT => ##X\nX => A\nX => B\nX => C\nX => D\n", "utf-8")
    seeds = ("--seed-rules", tmp_path / "1.txt", "--seed-rules", tmp_path / "2.txt")
    done("induce", small, "--out", tmp_path / "run", *seeds, "--output-cfg", tmp_path / "out.cfg")
    rules = set(map(str, read_grammar(tmp_path / "run" / "grammar.txt")))
    assert rules == {"a ### A", "b ### B", "c ### C", "d ### D", "NT_1 and NT_2 ### NT_1 NT_2"}
    (tmp_path / "2.txt").write_text("d ### D\nno rule\n", "utf-8")
    assert refused("induce", small, "--out", tmp_path / "2", *seeds).startswith(f"{tmp_path / '2.txt'}:2: ")
    (tmp_path / "out.cfg").write_text("ROOT => ##X\nROOT => ##X ##X\nX => A\n", "utf-8")
    lines = done("induce", small, "--out", tmp_path / "3", "--output-cfg", tmp_path / "out.cfg")
    assert any(line.startswith("warning: ") and "3 of the 4" in line for line in lines)


def test_a_complete_run_is_kept_and_one_of_other_options_or_data_refused(small: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done("induce", small, "--out", run)
    before = contents(run)
    assert any("already complete" in line and "--no-resume" in line for line in done("induce", small, "--out", run))
    for other in (["--set", "k_t=3"], ["--preset", "cogs"]):
        assert "--no-resume" in (message := refused("induce", small, "--out", run, *other))
        assert str(run) in message
    assert "k_t = 8.0" in refused("induce", small, "--out", run, "--set", "k_t=3")
    assert "another train" in refused("induce", write(tmp_path / "b.tsv", {"a": "A"}), "--out", run)
    assert contents(run) == before
    done("induce", small, "--out", run, "--set", "k_t=3", "--no-resume")
    assert "k_t = 3.0" in refused("induce", small, "--out", run)


@pytest.mark.parametrize(("line", "side"), [("a\t \n", "output"), ("\tA\n", "input")])
def test_an_empty_side_is_refused_with_its_line(line: str, side: str, tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    path.write_text("a\tA\n" + line, "utf-8")
    message = refused("induce", path, "--out", tmp_path / "run")
    assert message.startswith(f"{path}:2: ")
    assert side in message
    assert not (tmp_path / "run" / "data").exists()


@pytest.mark.parametrize("name", ["train[bold].tsv", "[/x].tsv"])
def test_names_and_tokens_that_look_like_markup_are_shown_as_they_are(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, {"[bold] x [/red]": "[/] :smile:", "x": "y"})
    lines = done("induce", path, "--out", tmp_path / "run", "--output-language", "none")
    assert any(name in line for line in lines)
    assert any(line.endswith("[bold] x [/red] ### [/] :smile:") for line in lines)


def test_a_long_path_is_not_broken(small: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a_long_name_for_a_folder" / ("x" * 90)
    assert any(line.endswith(str(folder / "grammar.txt")) for line in done("induce", small, "--out", folder))


def test_help_names_the_options() -> None:
    result = CliRunner().invoke(app, ["induce", "--help"], env={"COLUMNS": "120", "TERM": "dumb"})
    options = "--out --preset --config --set --seed-rules --output-cfg --threads --resume --no-resume smcalflow resumes"
    assert [text for text in options.split() if text not in result.output] == []
    assert "--seeds" not in result.output


def test_files_beside_the_examples_stay(tmp_path: Path) -> None:
    train = write(tmp_path / "train.tsv", {"a": "A"})
    for name in ("seed_rules.txt", "output.cfg"):
        (tmp_path / name).write_text("mine", "utf-8")
    for options in ([], ["--no-resume"]):
        assert "'seed_rules.txt'" in refused("induce", train, "--out", tmp_path, *options)
        assert {(tmp_path / name).read_text("utf-8") for name in ("seed_rules.txt", "output.cfg")} == {"mine"}
