"""`csl sample` as a person meets it: what is drawn, where it goes, and how it leads back to rules and examples."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from csl.cli import app
from csl.errors import InputError
from csl.examples import Example, read_examples, write_examples
from csl.grammar import read_grammar
from csl.parsing.derivation import Derivation
from csl.parsing.deriver import Deriver

PAIRS = {
    "walk": "WALK", "run": "RUN", "jump": "JUMP", "walk twice": "WALK WALK", "run twice": "RUN RUN",
    "walk and run": "WALK RUN", "run twice and walk": "RUN RUN WALK",
}  # fmt: skip


def csl(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def refused(*arguments: object) -> str:
    result = csl(*arguments)
    assert isinstance(result.exception, InputError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a fitted model; its training file has a pair twice."""
    folder = tmp_path_factory.mktemp("sample")
    examples = [Example.of(x, y) for x, y in PAIRS.items()]
    write_examples(folder / "train.tsv", [*examples[:3], examples[0], *examples[3:]])
    assert csl("induce", folder / "train.tsv", "--out", folder / "run").exit_code == 0
    assert csl("fit", folder / "run", "--set", "optimizer=em").exit_code == 0
    return folder / "run"


def test_samples_go_to_the_run_folder_with_a_card(run: Path) -> None:
    result = csl("sample", run, "-n", 500, "--seed", 3)
    assert result.exit_code == 0, result.exception
    assert result.output.startswith(
        "500 pairs (strategy tempered, temperature 2, each depth alike, depth 2 to 3, seed 3); "
    )
    assert result.output.endswith(f"wrote {run / 'samples.tsv'}\n")
    samples = list(read_examples(run / "samples.tsv"))
    assert len(samples) == 500
    assert Deriver(read_grammar(run)).derivable(samples).all()
    card = json.loads((run / "samples.card.json").read_text("utf-8"))
    assert (card["asked"], card["written"], card["exhausted"]) == (500, 500, False)
    assert card["files"] == {"samples.tsv": 500}
    assert card["columns"] == ["input", "output"]
    assert card["sampling"]["seed"] == 3
    assert len(card["config_hash"]) == 64
    assert card["licence"] is None


def test_the_licence_of_prepared_data_is_on_the_card(run: Path, tmp_path: Path) -> None:
    card = run.parent / "card.json"
    card.write_text('{"licence": "BSD"}', "utf-8")
    assert csl("sample", run, "-n", 1, "--out", tmp_path / "s.tsv").exit_code == 0
    card.unlink()
    assert json.loads((tmp_path / "s.card.json").read_text("utf-8"))["licence"] == "BSD"


def test_preview_shows_derivations_and_writes_nothing(run: Path, tmp_path: Path) -> None:
    result = csl("sample", run, "--preview", 3, "--out", tmp_path / "s.tsv")
    assert result.exit_code == 0
    blocks = result.output.strip("\n").split("\n\n")
    assert len(blocks) == 3
    for block in blocks:
        source, target, *tree = block.splitlines()
        assert source.islower()
        assert target.isupper()
        assert all("###" in line for line in tree)
    assert list(tmp_path.iterdir()) == []


def test_unique_and_new_pairs(run: Path, tmp_path: Path) -> None:
    assert (
        csl(
            "sample", run, "-n", 50, "--strategy", "uniform", "--unique", "--new", "--out", tmp_path / "s.tsv"
        ).exit_code
        == 0
    )
    samples = list(read_examples(tmp_path / "s.tsv"))
    assert len(set(samples)) == len(samples) == 50
    assert not set(samples) & set(read_examples(run.parent / "train.tsv"))
    assert csl("sample", run, "-n", 500, "--out", tmp_path / "r.tsv").exit_code == 0
    repeated = list(read_examples(tmp_path / "r.tsv"))
    assert len(set(repeated)) < len(repeated)
    assert set(repeated) & set(read_examples(run.parent / "train.tsv"))


def test_provenance_leads_back_to_rules_and_examples(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "s.tsv"
    assert csl("sample", run, "-n", 200, "--provenance", "--out", out).exit_code == 0
    lines = (run / "grammar.txt").read_text("utf-8").splitlines()
    grammar = read_grammar(run)
    train = list(read_examples(run.parent / "train.tsv"))
    by_text = {str(rule): rule for rule in grammar}
    deriver = Deriver(grammar)
    for source, target, derivation, parents in rows(out):
        rules = [by_text[lines[int(number) - 1]] for number in derivation.split()]
        assert Derivation.from_rules(rules).example == Example.of(source, target)
        for rule, parent in zip(rules, map(int, parents.split()), strict=True):
            without = Deriver(type(grammar)(r for r in grammar if r != rule))
            using = [k for k, e in enumerate(train, 1) if not without.derivable([e]).all()]
            assert parent == using[0]
            assert deriver.derivable([train[parent - 1]]).all()
    assert json.loads((tmp_path / "s.card.json").read_text("utf-8"))["columns"][2:] == ["derivation", "parents"]


def test_shards_hold_the_same_lines_as_one_file(run: Path, tmp_path: Path) -> None:
    assert csl("sample", run, "-n", 10, "--out", tmp_path / "one.tsv").exit_code == 0
    result = csl("sample", run, "-n", 10, "--shards", 3, "--out", tmp_path / "geo.v1.tsv")
    assert result.output.endswith(f"wrote 3 shards of {tmp_path / 'geo.v1.tsv'}\n")
    shards = [tmp_path / f"geo.v1-0000{k}-of-00003.tsv" for k in (1, 2, 3)]
    assert [len(rows(path)) for path in shards] == [4, 4, 2]
    assert b"".join(path.read_bytes() for path in shards) == (tmp_path / "one.tsv").read_bytes()
    card = json.loads((tmp_path / "geo.v1.card.json").read_text("utf-8"))
    assert card["files"] == {path.name: n for path, n in zip(shards, (4, 4, 2), strict=True)}


def test_json_lines_and_gzip(run: Path, tmp_path: Path) -> None:
    for name in ("a.tsv", "a.jsonl", "a.tsv.gz", "a.jsonl.gz"):
        assert csl("sample", run, "-n", 20, "--provenance", "--out", tmp_path / name).exit_code == 0
    plain = list(read_examples(tmp_path / "a.tsv"))
    assert all(list(read_examples(tmp_path / f"a.{end}")) == plain for end in ("jsonl", "tsv.gz", "jsonl.gz"))
    assert gzip.decompress((tmp_path / "a.tsv.gz").read_bytes()) == (tmp_path / "a.tsv").read_bytes()
    first = json.loads((tmp_path / "a.jsonl").read_text("utf-8").splitlines()[0])
    assert list(first) == ["input", "output", "derivation", "parents"]


@pytest.mark.parametrize("strategy", ["model", "coverage"])
def test_the_same_bytes_for_any_threads_and_hash_seed(strategy: str, run: Path, tmp_path: Path) -> None:
    one, three = tmp_path / "one.tsv", tmp_path / "three.tsv"
    options = ["-n", "9000", "--strategy", strategy, "--provenance"]
    assert csl("sample", run, *options, "--threads", 1, "--out", one).exit_code == 0
    line = [sys.executable, "-m", "csl", "sample", run, *options, "--threads", "3", "--out", three]
    subprocess.run(line, check=True, capture_output=True, env=os.environ | {"PYTHONHASHSEED": "4711"})
    assert one.read_bytes() == three.read_bytes()
    assert len(rows(one)) == 9000


def test_another_seed_gives_other_samples(run: Path, tmp_path: Path) -> None:
    for seed in (0, 1):
        assert csl("sample", run, "-n", 50, "--seed", seed, "--out", tmp_path / f"{seed}.tsv").exit_code == 0
    assert (tmp_path / "0.tsv").read_bytes() != (tmp_path / "1.tsv").read_bytes()


def test_a_grammar_with_fewer_pairs_writes_what_there_is_and_says_so(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "s.tsv"
    result = csl("sample", run, "-n", 1000, "--unique", "--strategy", "uniform", "--max-depth", 2, "--out", out)
    assert result.exit_code == 0, result.exception
    assert len(rows(out)) == 3 + 3 * 3  # twice, and
    assert "fewer than 1,000: the grammar has no more of this kind" in result.output
    assert json.loads((tmp_path / "s.card.json").read_text("utf-8"))["exhausted"] is True


def test_uniform_needs_no_model_and_model_does(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "unfitted"
    folder.mkdir()
    (folder / "grammar.txt").write_bytes((run / "grammar.txt").read_bytes())
    assert csl("sample", folder, "-n", 10, "--strategy", "uniform").exit_code == 0
    assert len(rows(folder / "samples.tsv")) == 10
    assert "fit one with `csl fit`" in refused("sample", folder, "-n", 10)
    assert "name it with --train" in refused("sample", folder, "-n", 10, "--strategy", "uniform", "--new")
    train = ("--train", run.parent / "train.tsv")
    assert csl("sample", folder, "-n", 10, "--strategy", "uniform", "--new", *train).exit_code == 0


def test_an_infinite_temperature_makes_rules_alike_and_the_card_valid_json(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "s.tsv"
    result = csl("sample", run, "-n", 50, "--temperature", "inf", "--out", out)
    assert "strategy tempered, temperature inf" in result.output
    text = (tmp_path / "s.card.json").read_text("utf-8")
    assert json.loads(text, parse_constant=pytest.fail)["sampling"]["temperature"] == "inf"


def test_json_training_data_with_other_fields_counts_as_known(run: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.jsonl"
    known.write_text("".join(json.dumps({"q": x, "a": y}) + "\n" for x, y in PAIRS.items()), "utf-8")
    fields = ("--train", known, "--input-field", "q", "--output-field", "a")
    assert csl("sample", run, "-n", 50, "--new", *fields, "--out", tmp_path / "s.tsv").exit_code == 0
    assert not {e.source_text for e in read_examples(tmp_path / "s.tsv")} & PAIRS.keys()


def test_with_an_output_cfg_every_output_is_valid(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "typed"
    folder.mkdir()
    (folder / "grammar.txt").write_bytes((run / "grammar.txt").read_bytes())
    cfg = "ROOT => ##X ##X\nX => WALK\nX => JUMP\n"
    (folder / "output.cfg").write_text(cfg, "utf-8")
    assert csl("sample", folder, "-n", 50, "--strategy", "uniform").exit_code == 0
    assert {row[1] for row in rows(folder / "samples.tsv")} == {"WALK WALK", "WALK JUMP", "JUMP WALK", "JUMP JUMP"}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--strategy", "unifrom"], "strategy = 'unifrom'"),
        (["--temperature", "0"], "temperature = 0.0"),
        (["--temperature", "2", "--strategy", "model"], "--temperature is of strategy tempered, not model"),
        (["--set", "maxdepth=3"], "no option 'maxdepth'; did you mean 'max_depth'?"),
        (["--preset", "cog"], "did you mean 'cogs'?"),
        (["--set", "min_depth=9", "--max-depth", "5"], "min_depth 9 is more than max_depth 5"),
        (["--config", "absent.toml"], "absent.toml: cannot be read"),
    ],
)
def test_mistyped_options_are_refused_before_anything_is_written(
    options: list[str], reason: str, run: Path, tmp_path: Path
) -> None:
    assert reason in refused("sample", run, *options, "--out", tmp_path / "s.tsv")
    assert list(tmp_path.iterdir()) == []


def test_a_target_that_cannot_be_written_is_refused(run: Path, tmp_path: Path) -> None:
    assert "it is a folder" in refused("sample", run, "-n", 5, "--out", tmp_path)
    (tmp_path / "file").touch()
    assert "cannot be written" in refused("sample", run, "-n", 5, "--out", tmp_path / "file" / "s.tsv")
    assert "not a run folder" in refused("sample", tmp_path / "absent")
