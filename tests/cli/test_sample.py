"""`csl sample`: what is drawn, where it goes, and how it leads back to rules and examples."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from csl.examples import Example, read_examples
from csl.grammar import read_grammar
from csl.parsing.derivation import Derivation
from csl.parsing.deriver import Deriver
from csl.runs.folder import RunFolder

from .commands import command, contents, done, refused, write
from .conftest import PAIRS


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text("utf-8").splitlines()]


def card(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"), parse_constant=pytest.fail)


@pytest.fixture
def run(fitted: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(fitted, tmp_path / "run"))


def test_samples_go_to_the_run_folder_with_a_card(run: Path) -> None:
    lines = done("sample", run, "-n", 500, "--seed", 3)
    assert lines[0].startswith("sample: 500 pairs (strategy model, depth 2 to 5, seed 3), ")
    assert lines[-1].endswith(str(run / "samples.tsv"))
    samples = list(read_examples(run / "samples.tsv"))
    assert len(samples) == 500
    assert Deriver(read_grammar(run)).derivable(samples).all()
    found = card(run / "samples.card.json")
    assert (found["asked"], found["written"], found["exhausted"]) == (500, 500, False)
    assert (found["files"], found["columns"]) == ({"samples.tsv": 500}, ["input", "output"])
    assert (found["sampling"]["seed"], len(found["config_hash"]), found["licence"]) == (3, 64, None)
    figures = RunFolder(run).record.stages["sample"].figures
    assert (figures["pairs"], figures["distinct"]) == (500, len(set(samples)))
    assert any("already complete" in line for line in done("sample", run))  # with the options given before
    assert not any("already complete" in line for line in done("sample", run, "--seed", 4))


def test_the_licence_of_prepared_data_is_on_the_card(run: Path, tmp_path: Path) -> None:
    for text, licence in (('{"licence": "BSD"}', "BSD"), ("[" * 3000, None), ("[]", None), ("", None)):
        (run / "data" / "card.json").write_text(text, "utf-8")
        done("sample", run, "-n", 1, "--out", tmp_path / "s.tsv")
        assert card(tmp_path / "s.card.json")["licence"] == licence


def test_preview_shows_derivations_and_writes_nothing(run: Path) -> None:
    before = contents(run)
    lines = done("sample", run, "--preview", 3, "--out", run.parent / "s.tsv")
    blocks = "\n".join(lines).strip("\n").split("\n\n")
    assert len(blocks) == 3
    for block in blocks:
        source, target, *tree = block.splitlines()
        assert source.islower()
        assert target.isupper()
        assert all("###" in line for line in tree)
    assert contents(run) == before
    assert list(run.parent.iterdir()) == [run]


def test_unique_and_new_pairs(fitted: Path, tmp_path: Path) -> None:
    options = ("--strategy", "uniform", "--unique", "--new")
    done("sample", fitted, "-n", 50, *options, "--out", tmp_path / "s.tsv")
    samples, known = list(read_examples(tmp_path / "s.tsv")), set(read_examples(fitted / "data" / "train.tsv"))
    assert len(set(samples)) == len(samples) == 50
    assert not set(samples) & known
    done("sample", fitted, "-n", 500, "--out", tmp_path / "r.tsv")
    repeated = list(read_examples(tmp_path / "r.tsv"))
    assert len(set(repeated)) < len(repeated)
    assert set(repeated) & known


def test_provenance_leads_back_to_rules_and_examples(fitted: Path, tmp_path: Path) -> None:
    done("sample", fitted, "-n", 100, "--provenance", "--out", tmp_path / "s.tsv")
    lines, grammar = (fitted / "grammar.txt").read_text("utf-8").splitlines(), read_grammar(fitted)
    train, by_text = list(read_examples(fitted / "data" / "train.tsv")), {str(rule): rule for rule in grammar}
    first: dict[str, int] = {}  # the first example that does not derive without a rule
    for text, rule in by_text.items():
        without = Deriver(type(grammar)(r for r in grammar if r != rule))
        first[text] = next(k for k, e in enumerate(train, 1) if not without.derivable([e]).all())
    for source, target, derivation, parents in rows(tmp_path / "s.tsv"):
        texts = [lines[int(number) - 1] for number in derivation.split()]
        assert Derivation.from_rules([by_text[text] for text in texts]).example == Example.of(source, target)
        assert [first[text] for text in texts] == [int(parent) for parent in parents.split()]
    assert card(tmp_path / "s.card.json")["columns"][2:] == ["derivation", "parents"]


def test_shards_have_the_same_lines_as_one_file(fitted: Path, tmp_path: Path) -> None:
    done("sample", fitted, "-n", 10, "--out", tmp_path / "one.tsv")
    done("sample", fitted, "-n", 10, "--shards", 3, "--out", tmp_path / "geo.v1.tsv")
    shards = [tmp_path / f"geo.v1-0000{k}-of-00003.tsv" for k in (1, 2, 3)]
    assert [len(rows(path)) for path in shards] == [4, 4, 2]
    assert b"".join(path.read_bytes() for path in shards) == (tmp_path / "one.tsv").read_bytes()
    assert card(tmp_path / "geo.v1.card.json")["files"] == {p.name: n for p, n in zip(shards, (4, 4, 2), strict=True)}


def test_json_lines_and_gzip(fitted: Path, tmp_path: Path) -> None:
    for name in ("a.tsv", "a.jsonl", "a.tsv.gz", "a.jsonl.gz"):
        done("sample", fitted, "-n", 20, "--provenance", "--out", tmp_path / name)
    plain = list(read_examples(tmp_path / "a.tsv"))
    assert all(list(read_examples(tmp_path / f"a.{end}")) == plain for end in ("jsonl", "tsv.gz", "jsonl.gz"))
    assert gzip.decompress((tmp_path / "a.tsv.gz").read_bytes()) == (tmp_path / "a.tsv").read_bytes()
    first = json.loads((tmp_path / "a.jsonl").read_text("utf-8").splitlines()[0])
    assert list(first) == ["input", "output", "derivation", "parents"]


@pytest.mark.parametrize("strategy", ["model", "coverage"])
def test_the_same_bytes_for_any_threads_and_hash_seed(strategy: str, fitted: Path, tmp_path: Path) -> None:
    one, three = tmp_path / "one.tsv", tmp_path / "three.tsv"
    options = ("-n", "9000", "--strategy", strategy, "--provenance", "--out")
    done("sample", fitted, *options, one)
    assert command("sample", fitted, *options, three, "--threads", "3", PYTHONHASHSEED="4711").returncode == 0
    assert one.read_bytes() == three.read_bytes()
    assert len(rows(one)) == 9000
    done("sample", fitted, *options, three, "--seed", 1)
    assert one.read_bytes() != three.read_bytes()


def test_a_grammar_with_fewer_pairs_writes_what_there_is_and_says_so(run: Path, tmp_path: Path) -> None:
    options = ("-n", 1000, "--unique", "--strategy", "uniform", "--max-depth", 2)
    lines = done("sample", run, *options, "--out", tmp_path / "s.tsv")
    assert len(rows(tmp_path / "s.tsv")) == 3 + 2 * 3 * 3  # twice; and, after
    assert any("fewer than 1,000" in line for line in lines)
    assert card(tmp_path / "s.card.json")["exhausted"] is True
    assert any(line.startswith("warning: only 21 of 1,000") for line in done("sample", run, *options))


def test_uniform_needs_no_model_and_model_does(induced: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(induced, tmp_path / "run"))
    done("sample", run, "-n", 10, "--strategy", "uniform", "--new")
    assert len(rows(run / "samples.tsv")) == 10
    assert "model.npz" in refused("sample", run, "-n", 10, "--strategy", "model")
    assert "`csl fit`" in refused("sample", run, "-n", 10, "--strategy", "model", "--out", tmp_path / "s.tsv")


def test_a_damaged_model_is_refused_not_taken_for_nothing_to_sample(run: Path) -> None:
    (run / "model.npz").write_bytes((run / "model.npz").read_bytes()[:-9])
    assert str(run / "model.npz") in refused("sample", run, "-n", 10)
    assert not (run / "samples.tsv").exists()


def test_an_infinite_temperature_makes_valid_json(fitted: Path, tmp_path: Path) -> None:
    lines = done("sample", fitted, "-n", 50, "--temperature", "inf", "--out", tmp_path / "s.tsv")
    assert any("strategy tempered, temperature inf" in line for line in lines)
    assert card(tmp_path / "s.card.json")["sampling"]["temperature"] == "inf"


def test_with_an_output_cfg_every_output_is_valid(fitted: Path, tmp_path: Path) -> None:
    run = tmp_path / "typed"
    run.mkdir()
    (run / "grammar.txt").write_bytes((fitted / "grammar.txt").read_bytes())
    (tmp_path / "output.cfg").write_text("ROOT => ##X ##X\nX => WALK\nX => JUMP\n", "utf-8")
    train = write(tmp_path / "train.tsv", PAIRS)
    done("grammar", "accept", run, "--train", train, "--output-cfg", tmp_path / "output.cfg")
    done("sample", run, "-n", 50, "--strategy", "uniform")
    assert {row[1] for row in rows(run / "samples.tsv")} == {"WALK WALK", "WALK JUMP", "JUMP WALK", "JUMP JUMP"}


def test_a_place_that_cannot_be_written_to_is_refused(run: Path, tmp_path: Path) -> None:
    assert str(tmp_path) in refused("sample", run, "-n", 5, "--out", tmp_path)
    (tmp_path / "file").touch()
    assert str(tmp_path / "file") in refused("sample", run, "-n", 5, "--out", tmp_path / "file" / "s.tsv")
    before = contents(run)
    for name in ("data/train.tsv", "grammar.txt", "model.npz", "run.json", "recipe.toml"):
        assert str(run / name) in refused("sample", run, "-n", 5, "--out", run / name)
    assert contents(run) == before


def test_samples_of_another_user_are_not_overwritten(run: Path) -> None:
    (run / "samples.tsv").write_text("mine\n")
    for options in ([], ["--no-resume"]):
        assert "'samples.tsv'" in refused("sample", run, "-n", 5, *options)
    assert (run / "samples.tsv").read_text() == "mine\n"
