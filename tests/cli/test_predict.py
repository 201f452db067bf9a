"""`csl predict`: files and the screen, one output or several, and what it refuses."""

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from csl.examples import read_examples

from ..raw import GEO
from . import commands
from .commands import csl, done

CPU = ("predict", "--device", "cpu", "--threads", 1)


def predict(*arguments: object) -> Result:
    result = csl(*CPU, *arguments)
    assert result.exit_code == 0, result.exception
    return result


def table(*arguments: object) -> list[list[str]]:
    return [line.split("\t") for line in predict(*arguments).stdout.splitlines()]


def refused(*arguments: object) -> str:
    return commands.refused(*CPU, *arguments)


@pytest.fixture(scope="session")
def known(trained: Path) -> Path:
    return trained.parent / "train.tsv"


def test_outputs_go_to_the_screen_or_to_a_file_in_the_order_of_the_inputs(
    trained: Path, known: Path, tmp_path: Path
) -> None:
    result = predict(trained, known)
    assert (result.stdout, result.stderr) == (known.read_text("utf-8"), "")
    result = predict(trained, known, "--out", tmp_path / "made.tsv")
    assert result.stdout == ""
    assert f"{tmp_path / 'made.tsv'}: 8 predictions; " in result.stderr
    assert (tmp_path / "made.tsv").read_text("utf-8") == known.read_text("utf-8")


def test_only_outputs_of_the_cfg_are_written(trained: Path, known: Path, tmp_path: Path) -> None:
    cfg = tmp_path / "output.cfg"
    cfg.write_text("ROOT => LEFT ( ##X )\nROOT => ##X\nX => JUMP\nX => LOOK\n", "utf-8")
    valid = {"JUMP", "LOOK", "LEFT ( JUMP )", "LEFT ( LOOK )"}
    for options in ((), ("--beams", 4)):
        found = dict(table(trained, known, "--output-cfg", cfg, *options))
        assert set(found.values()) <= valid
        assert (found["jump"], found["look"]) == ("JUMP", "LOOK")
        if not options:  # greedily: the likeliest valid token at each step
            assert found["walk left"] in {"LEFT ( JUMP )", "LEFT ( LOOK )"}
    cfg.write_text("ROOT => ##X\n", "utf-8")
    assert f"{cfg}:1: " in refused(trained, known, "--output-cfg", cfg)
    assert "--no-mask" in refused(trained, known, "--output-cfg", cfg, "--no-mask")


def test_the_output_cfg_of_the_run_is_used_unless_turned_off(trained: Path, known: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run / "augmented")
    shutil.move(run / "augmented" / "run.json", run / "run.json")
    (run / "data").mkdir()
    (run / "data" / "output.cfg").write_text("ROOT => JUMP\n", "utf-8")
    for folder in (run / "augmented", run / "augmented" / "model"):
        assert {output for _, output in table(folder, known)} == {"JUMP"}
        assert predict(folder, known, "--no-mask").stdout == known.read_text("utf-8")
        for option, accuracy in (("--mask", "12.5%"), ("--no-mask", "100.0%")):
            assert accuracy in done("evaluate", folder, known, "--device", "cpu", option)[-1]


def test_training_keeps_an_output_cfg_for_prediction(known: Path, tmp_path: Path) -> None:
    (tmp_path / "valid.cfg").write_text("ROOT => JUMP ##X\nX => WALK\n", "utf-8")
    sizes = {"layers": 1, "heads": 1, "d_model": 8, "d_ff": 8, "steps": 1, "batch_size": 2}
    options = [part for key, value in sizes.items() for part in ("--set", f"{key}={value}")]
    csl_train = ("train", known, "--out", tmp_path / "t5", "--device", "cpu", "--output-cfg", tmp_path / "valid.cfg")
    done(*csl_train, *options)
    assert {output for _, output in table(tmp_path / "t5", known)} == {"JUMP WALK"}
    run = tmp_path / "run"  # of `csl augment` on raw text
    shutil.copytree(tmp_path / "t5" / "data", run / "data")
    shutil.copy(tmp_path / "t5" / "run.json", run)
    (run / "prepared").mkdir()
    (run / "prepared" / "decoding.lark").write_text('start: root\nroot: "LOOK" " "? "LOOK"\n', "utf-8")
    done(
        "train", known, "--synthetic", run / "data" / "train.tsv", "--out", tmp_path / "t6", "--device", "cpu", *options
    )
    assert {output for _, output in table(tmp_path / "t6", known)} == {"LOOK LOOK"}
    lark = run / "prepared" / "decoding.lark"
    assert {output for _, output in table(tmp_path / "t5", known, "--output-cfg", lark)} == {"LOOK LOOK"}
    assert f"{lark}: " in refused(tmp_path / "t5", known, "--output-cfg", lark, "--joint", "space")


def test_values_of_raw_text_are_those_of_the_input(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in GEO), "utf-8")
    done("augment", tmp_path / "train.tsv", "--out", tmp_path / "run", "-n", 10)
    lark = tmp_path / "run" / "prepared" / "decoding.lark"
    lark.write_text("start: root\nroot: \"answer(city(loc_2(stateid('texas'))))\"\n", "utf-8")
    sizes = {"layers": 1, "heads": 1, "d_model": 8, "d_ff": 8, "steps": 1, "batch_size": 2}
    options = [part for key, value in sizes.items() for part in ("--set", f"{key}={value}")]
    known = tmp_path / "run" / "data" / "train.tsv"
    done("train", known, "--out", tmp_path / "t5", "--device", "cpu", *options)
    (tmp_path / "inputs.txt").write_text("what cities are in Nebraska?\nwhat cities are in Texas?\n", "utf-8")
    written = [output for _, output in table(tmp_path / "t5", tmp_path / "inputs.txt")]
    assert written == ["answer(city(loc_2(stateid('nebraska'))))", "answer(city(loc_2(stateid('texas'))))"]


def test_inputs_are_lines_or_rows_of_any_format_and_come_back_in_it(trained: Path, tmp_path: Path) -> None:
    tsv = "walk left\tLEFT ( WALK )\njump\tJUMP\n"
    rows = '{"q": "walk left", "output": "LEFT ( WALK )"}\n{"q": "jump", "output": "JUMP"}\n'
    files = {
        "inputs.txt": (b"walk  left\n\njump\n", tsv.replace("walk left", "walk  left")),
        "inputs.tsv": (b"walk left\tANYTHING\tmore\njump\n", tsv),
        "inputs.gz": (gzip.compress(b"walk left\njump"), tsv),
        "inputs.jsonl": (b'{"q": "walk left"}\n\n{"q": "jump"}\n', rows),
        "inputs.csv": (b"q\nwalk left\njump\n", 'q,output\nwalk left,LEFT ( WALK )\njump,JUMP\n'),
    }  # fmt: skip
    for name, (text, expected) in files.items():
        (tmp_path / name).write_bytes(text)
        assert predict(trained, tmp_path / name).stdout == expected
        assert predict(trained, tmp_path / name, "--format", "tsv").stdout.replace("  ", " ") == tsv
    assert f"{tmp_path / 'inputs.jsonl'}:1: " in refused(trained, tmp_path / "inputs.jsonl", "--input-column", "x")
    (tmp_path / "inputs.txt").write_text("", "utf-8")
    assert predict(trained, tmp_path / "inputs.txt").stdout == ""


def test_several_outputs_differ_and_come_best_first_with_their_scores(trained: Path, known: Path) -> None:
    rows = table(trained, known, "--beams", 4, "-k", 4, "--scores")
    assert [row[:2] for row in rows] == [[e.source_text, e.target_text] for e in read_examples(known)]
    for row in rows:
        scores = [float(cell) for cell in row[2::2]]
        assert len(set(row[1::2])) == len(scores) == 4
        assert scores == sorted(scores, reverse=True)
        assert -0.5 < scores[0] <= 0
        assert scores[1] < -1
    assert table(trained, known, "--beams", 4, "-k", 4) == [[row[0], *row[1::2]] for row in rows]
    rows = table(trained, known, "--scores")
    assert {len(row) for row in rows} == {3}
    assert all(-0.5 < float(row[2]) <= 0 for row in rows)


def test_so_many_inputs_are_predicted_at_a_time(trained: Path, known: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from csl.seq2seq.predictor import Seq2Seq

    sizes, plain = [], Seq2Seq._batch

    def spy(model: Seq2Seq, ids: list[list[int]], *rest: Any) -> Any:
        sizes.append(len(ids))
        return plain(model, ids, *rest)

    monkeypatch.setattr(Seq2Seq, "_batch", spy)
    assert predict(trained, known, "--batch-size", 3).stdout == known.read_text("utf-8")
    assert sizes == [3, 3, 2]


def test_the_folder_of_the_model_is_enough(trained: Path, known: Path, tmp_path: Path) -> None:
    shutil.copytree(trained / "model", tmp_path / "moved")
    assert predict(tmp_path / "moved", known).stdout == known.read_text("utf-8")


def test_wrong_arguments_are_refused(trained: Path, known: Path, tmp_path: Path) -> None:
    for arguments, named in (
        ((trained, tmp_path / "absent.txt"), f"{tmp_path / 'absent.txt'}: "),
        ((tmp_path / "absent", known), "`csl train`"),
        ((tmp_path, known), "`csl train`"),
        ((trained, known, "--device", "warp"), "--device cpu"),
        ((trained, known, "-k", 2), "beams"),
        ((trained, known, "--out", tmp_path), f"{tmp_path}: "),
        ((trained, known, "--out", known), f"{known}: "),
    ):
        assert named in refused(*arguments)
    for option in ("--beams", "-k", "--batch-size", "--threads"):
        assert csl(*CPU, trained, known, option, 0).exit_code == 2


def test_ctrl_c_writes_nothing(trained: Path, known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("csl.seq2seq.predictor.Seq2Seq._batch", stop)
    result = csl(*CPU, trained, known, "--out", tmp_path / "made.tsv")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr.startswith("stopped")
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    done(*CPU, trained, known, "--out", tmp_path / "made.tsv")


# confidence


def test_confidences_are_fitted_once_and_then_given_or_acted_on(
    trained: Path, known: Path, fitted: Path, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    assert "--calibrate" in refused(run, known, "--confidence")
    for parser in ((), ("--parser", fitted)):
        result = predict(run, known, "--calibrate", *parser)
        assert result.stdout == ""
        assert f"{run / 'model' / 'confidence.json'}: fitted to 8 examples" in result.stderr
        assert "coverage 100.0%, precision 100.0%" in result.stderr
        rows = table(run, known, "--confidence", *parser)
        assert [row[:2] for row in rows] == [[e.source_text, e.target_text] for e in read_examples(known)]
        sure = [float(row[2]) for row in rows]
        assert all(0.5 < value <= 1 for value in sure)
        result = predict(run, known, "--abstain-below", max(sure), *parser, "--format", "tsv")
        kept = [line.split("\t")[1] != "" for line in result.stdout.splitlines()]
        assert any(kept)
        assert not all(kept)
        assert f"{kept.count(False)} of 8 inputs get no output" in result.stderr
    assert "--parser" in refused(run, known, "--confidence")  # it was fitted with one
    rows = table(run, known, "--confidence", "--parser", fitted, "--beams", 2, "-k", 2, "--scores")
    assert {len(row) for row in rows} == {6}  # input, two outputs with their scores, confidence


def test_a_model_that_was_fitted_without_a_parser_refuses_one(
    trained: Path, known: Path, fitted: Path, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    predict(run, known, "--calibrate")
    assert "without a parser" in refused(run, known, "--confidence", "--parser", fitted)
    (tmp_path / "inputs.txt").write_text("walk left\n", "utf-8")
    assert f"{tmp_path / 'inputs.txt'}:1" in refused(run, tmp_path / "inputs.txt", "--calibrate")
