"""`csl induce` as a person meets it: what it prints, what it writes, what it refuses."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from csl.cli import app
from csl.datasets import scan
from csl.errors import InputError
from csl.examples import Example, write_examples
from csl.grammar import read_grammar


def induce(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["induce", *map(str, arguments)])


def command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the real command."""
    line = [sys.executable, "-c", "from csl.cli import main; main()", "induce", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False, env=os.environ | environment)


def refused(*arguments: object) -> str:
    result = induce(*arguments)
    assert isinstance(result.exception, InputError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


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
    path = tmp_path / "small.tsv"
    write_examples(
        path, [Example.of(x, y) for x, y in (("a", "A"), ("b", "B"), ("a and b", "A B"), ("b and a", "B A"))]
    )
    return path


def test_the_summary_tells_sizes_and_the_rules_that_save_most(
    train: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    result = induce(train, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.exception
    grammar = read_grammar(tmp_path / "run" / "grammar.txt")
    assert f"{len(grammar)} rules" in result.output
    arities = [rule.arity for rule in grammar]
    assert (
        f"{arities.count(0)} with 0, {arities.count(1)} with 1, {arities.count(2)} with 2 nonterminals" in result.output
    )
    lines = result.output.splitlines()
    [objective] = [line for line in lines if "derive every example; objective " in line]
    before, after = objective.split("objective ")[1].split(";")[0].replace(",", "").split(" → ")
    assert int(before) > 10 * int(after)
    saves = lines[lines.index(next(line for line in lines if line.split()[:1] == ["saves"])) + 1 :]
    ranked = [line for line in saves if "###" in line]
    assert len(ranked) == 10
    saved = [int(line.split()[0].replace(",", "")) for line in ranked]
    assert saved == sorted(saved, reverse=True)
    assert {line.split(maxsplit=2)[2].strip() for line in ranked} <= set(map(str, grammar))


def test_auto_says_what_it_chose_and_why(train: Path, tmp_path: Path) -> None:
    result = induce(train, "--out", tmp_path / "run")
    reasons = [line for line in result.output.splitlines() if line.startswith("auto: ")]
    assert any("preset scan" in line for line in reasons)
    assert any("identity seed rules" in line for line in reasons)
    preset = induce(train, "--out", tmp_path / "2", "--preset", "cogs").output.splitlines()
    assert not [line for line in preset if line.startswith(("auto: ", "no seed rules: "))]


def test_a_preset_says_which_seeds_it_misses(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("call ann\tcall ( ann )\ncall bob\tcall ( bob )\n", "utf-8")
    said = induce(tmp_path / "train.tsv", "--out", tmp_path / "run", "--preset", "cogs").output
    assert "no seed rules: 100% of the examples have a word on both sides" in said
    (tmp_path / "seeds.txt").write_text("ann ### ann\n", "utf-8")
    options = ("--preset", "cogs", "--seeds", tmp_path / "seeds.txt")
    assert "no seed rules" not in induce(tmp_path / "train.tsv", "--out", tmp_path / "2", *options).output


def test_outside_a_terminal_each_step_is_a_plain_line(small: Path, tmp_path: Path) -> None:
    done = command(small, "--out", tmp_path / "run", "--preset", "cogs")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    steps = [line for line in done.stdout.splitlines() if line.startswith("partition 1/1 step ")]
    assert steps[0].startswith("partition 1/1 step 1: 4 rules, objective ")
    assert "candidates" in steps[0]
    assert len(steps) == len((tmp_path / "run" / "metrics.jsonl").read_text("utf-8").splitlines())


def test_the_grammar_does_not_depend_on_the_hash_seed_or_threads(train: Path, tmp_path: Path) -> None:
    grammars = []
    for seed, threads in (("0", 1), ("4711", 2)):
        folder = tmp_path / seed
        done = command(train, "--out", folder, "--preset", "smcalflow", "--threads", threads, PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stderr
        grammars.append((folder / "grammar.txt").read_bytes())
    assert grammars[0] == grammars[1]


def test_config_file_and_settings_are_applied_over_the_preset(small: Path, tmp_path: Path) -> None:
    config = tmp_path / "options.toml"
    config.write_text("[induction]\nk_t = 3\nsteps = 2\n", "utf-8")
    result = induce(small, "--out", tmp_path / "run", "--preset", "scan", "--config", config, "--set", "steps=1")
    assert result.exit_code == 0, result.exception
    written = (tmp_path / "run" / "config.json").read_text("utf-8")
    assert '"k_t": 3.0' in written
    assert '"steps": 1' in written
    assert '"partitions": 16' in written


def test_seeds_and_an_output_cfg(small: Path, tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("c ### C\n", "utf-8")
    (tmp_path / "2.txt").write_text("# more\nd ### D\n", "utf-8")
    (tmp_path / "out.cfg").write_text("ROOT => ##X ##X\nROOT => ##X\nX => A\nX => B\nX => C\nX => D\n", "utf-8")
    seeds = ("--seeds", tmp_path / "1.txt", "--seeds", tmp_path / "2.txt")
    result = induce(small, "--out", tmp_path / "run", *seeds, "--output-cfg", tmp_path / "out.cfg")
    assert result.exit_code == 0, result.exception
    rules = set(map(str, read_grammar(tmp_path / "run" / "grammar.txt")))
    assert rules == {"a ### A", "b ### B", "c ### C", "d ### D", "NT_1 and NT_2 ### NT_1 NT_2"}
    (tmp_path / "2.txt").write_text("d ### D\nno rule\n", "utf-8")
    assert refused(small, "--out", tmp_path / "2", *seeds).startswith(f"{tmp_path / '2.txt'}:2: ")


def test_a_finished_run_says_so(small: Path, tmp_path: Path) -> None:
    assert induce(small, "--out", tmp_path / "run").exit_code == 0
    again = induce(small, "--out", tmp_path / "run")
    assert again.exit_code == 0
    assert "holds this run already, finished" in " ".join(again.output.split())
    assert "derive every example" not in again.output
    anew = induce(small, "--out", tmp_path / "run", "--no-resume")
    assert anew.exit_code == 0
    assert "derive every example" in anew.output


def test_another_run_in_the_folder_is_refused_by_its_options(small: Path, tmp_path: Path) -> None:
    assert induce(small, "--out", tmp_path / "run").exit_code == 0
    assert "k_t = 8.0" in refused(small, "--out", tmp_path / "run", "--set", "k_t=3")


def test_a_damaged_checkpoint_is_one_line_and_exit_code_2(small: Path, tmp_path: Path) -> None:
    assert induce(small, "--out", tmp_path / "run").exit_code == 0
    (tmp_path / "run" / "grammar.txt").unlink()
    (tmp_path / "run" / "checkpoint.npz").write_bytes(b"PK garbage")
    done = command(small, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "damaged file" in done.stderr
    assert (tmp_path / "run" / "checkpoint.npz").read_bytes() == b"PK garbage"
    assert induce(small, "--out", tmp_path / "run", "--no-resume").exit_code == 0


@pytest.mark.parametrize(("line", "side"), [("a\t \n", "output"), ("\tA\n", "input")])
def test_an_empty_side_is_refused_with_its_line(line: str, side: str, tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    path.write_text("a\tA\n" + line, "utf-8")
    assert refused(path, "--out", tmp_path / "run").startswith(f"{path}:2: the {side} is empty")
    assert not (tmp_path / "run").exists()


def test_an_empty_side_ends_the_command_with_exit_code_2(tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    path.write_text("a\tA\nb\t\n", "utf-8")
    done = command(path, "--out", tmp_path / "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {path}:2: the output is empty; remove the line or fill it in\n"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--preset", "scna"], "no preset 'scna'; did you mean 'scan'?"),
        (["--set", "k_aplha=1"], "no option 'k_aplha'; did you mean 'k_alpha'?"),
        (["--set", "steps=none"], "steps = 'none'"),
        (["--set", "steps"], "expected key=value"),
        (["--config", "absent.toml"], "absent.toml: cannot be read"),
        (["--seeds", "absent.txt"], "absent.txt: cannot be read"),
        (["--output-cfg", "absent.cfg"], "absent.cfg: cannot be read"),
    ],
)
def test_mistyped_options_are_refused_before_anything_is_written(
    options: list[str], reason: str, small: Path, tmp_path: Path
) -> None:
    assert reason in refused(small, "--out", tmp_path / "run", *options)
    assert not (tmp_path / "run").exists()


def test_a_mistyped_key_in_a_file_is_refused_with_the_file(small: Path, tmp_path: Path) -> None:
    config = tmp_path / "options.toml"
    config.write_text("max_nonterminal = 3\n", "utf-8")
    message = refused(small, "--out", tmp_path / "run", "--config", config)
    assert message == f"{config}: no option 'max_nonterminal'; did you mean 'max_nonterminals'?"


def test_tokens_that_look_like_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    write_examples(path, [Example.of("[bold] x [/red]", "[/] :smile:"), Example.of("x", "y")])
    result = induce(path, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.exception
    assert "[bold] x [/red] ### [/] :smile:" in result.output


@pytest.mark.parametrize("name", ["train[bold].tsv", "[/x].tsv"])
def test_a_file_name_that_looks_like_markup(name: str, small: Path, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    small.rename(path)
    result = induce(path, "--out", tmp_path / "run")
    assert result.exit_code == 0
    assert name in result.output


def test_a_long_path_is_not_broken(small: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a_long_name_for_a_folder" / ("x" * 90)
    result = induce(small, "--out", folder)
    assert f"wrote {folder / 'grammar.txt'}" in result.output.splitlines()


def test_help_names_the_options() -> None:
    result = CliRunner().invoke(app, ["induce", "--help"], env={"COLUMNS": "120", "TERM": "dumb"})
    assert result.exit_code == 0
    options = "--out --preset --config --set --seeds --output-cfg --threads --resume --no-resume"
    for text in [*options.split(), "smcalflow", "goes on where it was"]:
        assert text in result.output


def test_files_beside_the_examples_stay(tmp_path: Path) -> None:
    write_examples(tmp_path / "train.tsv", [Example.of("a", "A")])
    for name in ("seeds.txt", "output.cfg"):
        (tmp_path / name).write_text("mine", "utf-8")
    message = refused(tmp_path / "train.tsv", "--out", tmp_path)
    assert "holds 'seeds.txt', but no config.json; name another folder" in message
    assert {(tmp_path / name).read_text("utf-8") for name in ("seeds.txt", "output.cfg")} == {"mine"}


@pytest.fixture(scope="module")
def interrupted(
    tmp_path_factory: pytest.TempPathFactory, stop: Callable[..., tuple[int, str]]
) -> tuple[Path, int, str]:
    """A folder with train.tsv and the run of it that Ctrl-C stopped, with the exit code and what was said then."""
    folder = tmp_path_factory.mktemp("interrupted")
    write_examples(folder / "train.tsv", scan.prepare(None, "length").train)
    return folder, *stop("partition 2/16", signal.SIGINT, "induce", folder / "train.tsv", "--out", folder / "run")


def test_ctrl_c_leaves_a_run_that_goes_on_to_the_same_bytes(interrupted: tuple[Path, int, str]) -> None:
    folder, exit_code, _ = interrupted
    assert exit_code == 130
    assert not (folder / "run" / "grammar.txt").exists()
    assert "going on after step" in induce(folder / "train.tsv", "--out", folder / "run").output
    assert induce(folder / "train.tsv", "--out", folder / "whole").exit_code == 0
    assert (folder / "run" / "grammar.txt").read_bytes() == (folder / "whole" / "grammar.txt").read_bytes()


def test_ctrl_c_says_how_to_go_on(interrupted: tuple[Path, int, str]) -> None:
    assert interrupted[2] == "stopped; the same command goes on from the last step\n"
