"""`csl predict` as a person meets it: files and the screen, one output or several, and what it refuses."""

import gzip
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from csl.cli import app
from csl.errors import InputError
from csl.examples import read_examples


def predict(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["predict", "--device", "cpu", "--threads", "1", *map(str, arguments)])


def table(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def refused(*arguments: object) -> str:
    result = predict(*arguments)
    assert isinstance(result.exception, InputError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


@pytest.fixture(scope="session")
def known(trained: Path) -> Path:
    return trained.parent / "train.tsv"


def test_outputs_go_to_the_screen_in_the_order_of_the_inputs(trained: Path, known: Path) -> None:
    result = predict(trained, known)
    assert (result.exit_code, result.exception) == (0, None)
    assert table(result.stdout) == [[e.source_text, e.target_text] for e in read_examples(known)]
    assert result.stderr == ""


def test_or_to_a_file(trained: Path, known: Path, tmp_path: Path) -> None:
    result = predict(trained, known, "--out", tmp_path / "made.tsv")
    assert result.stdout == ""
    assert f"{tmp_path / 'made.tsv'}: 8 predictions; " in result.stderr
    assert (tmp_path / "made.tsv").read_text("utf-8") == known.read_text("utf-8")


def test_outputs_that_a_cfg_accepts_come_first(trained: Path, known: Path, tmp_path: Path) -> None:
    all_beams = table(predict(trained, known, "--beams", 8, "-k", 8).stdout)
    second = all_beams[0][2]
    (tmp_path / "output.cfg").write_text(f"ROOT => {second}\n", "utf-8")
    found = table(predict(trained, known, "--output-cfg", tmp_path / "output.cfg").stdout)
    assert found == [[source, second if second in outputs else outputs[0]] for source, *outputs in all_beams]
    (tmp_path / "output.cfg").write_text("ROOT => ##X\n", "utf-8")
    assert "output.cfg" in refused(trained, known, "--output-cfg", tmp_path / "output.cfg")


def test_inputs_are_lines_or_the_first_column(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "inputs.txt").write_text("walk  left\n\n  jump\n", "utf-8")
    (tmp_path / "inputs.tsv").write_text("walk left\tANYTHING\tmore\njump\n", "utf-8")
    (tmp_path / "inputs.gz").write_bytes(gzip.compress(b"walk left\njump"))
    for name in ("inputs.txt", "inputs.tsv", "inputs.gz"):
        assert predict(trained, tmp_path / name).stdout == "walk left\tLEFT ( WALK )\njump\tJUMP\n"


def test_inputs_are_a_field_of_json_lines(trained: Path, tmp_path: Path) -> None:
    path = tmp_path / "inputs.jsonl"
    path.write_text('{"input": "jump", "q": "walk left"}\n\n{"input": "run", "q": "look"}\n', "utf-8")
    assert predict(trained, path).stdout == "jump\tJUMP\nrun\tRUN\n"
    assert predict(trained, path, "--input-field", "q").stdout == "walk left\tLEFT ( WALK )\nlook\tLOOK\n"
    assert "inputs.jsonl:1: " in refused(trained, path, "--input-field", "absent")


def test_no_inputs_are_no_failure(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "inputs.txt").write_text("", "utf-8")
    result = predict(trained, tmp_path / "inputs.txt")
    assert (result.exit_code, result.stdout) == (0, "")


def test_several_outputs_come_best_first_with_their_scores(trained: Path, known: Path) -> None:
    rows = table(predict(trained, known, "--beams", 4, "-k", 3, "--scores").stdout)
    pairs = list(read_examples(known))
    assert [row[:2] for row in rows] == [[e.source_text, e.target_text] for e in pairs]
    for row in rows:
        scores = [float(cell) for cell in row[2::2]]
        assert len(scores) == 3
        assert scores == sorted(scores, reverse=True)
        assert -0.5 < scores[0] <= 0
        assert scores[1] < -1
    plain = table(predict(trained, known, "--beams", 4, "-k", 3).stdout)
    assert plain == [[row[0], *row[1::2]] for row in rows]


def test_several_outputs_differ(trained: Path, known: Path) -> None:
    for row in table(predict(trained, known, "--beams", 4, "-k", 4).stdout):
        assert len(set(row[1:])) == 4


def test_one_output_has_a_score_too(trained: Path, known: Path) -> None:
    rows = table(predict(trained, known, "--scores").stdout)
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


def test_the_folder_of_the_model_alone_will_do(trained: Path, known: Path, tmp_path: Path) -> None:
    shutil.copytree(trained / "model", tmp_path / "moved")
    assert predict(tmp_path / "moved", known).stdout == known.read_text("utf-8")


def test_bad_input_is_refused(trained: Path, known: Path, tmp_path: Path) -> None:
    for arguments, reason in (
        ((trained, tmp_path / "absent.txt"), "absent.txt: cannot be read"),
        ((tmp_path / "absent", known), "absent: holds no model that `csl train` wrote"),
        ((tmp_path, known), "holds no model that `csl train` wrote"),
        ((trained, known, "--device", "warp"), "no device 'warp' here; try --device cpu"),
        ((trained, known, "-k", 2), "number of beams, 1"),
        ((trained, known, "--out", tmp_path), "cannot be written: it is a folder; name a file"),
    ):
        assert reason in refused(*arguments)
    for option in ("--beams", "-k", "--batch-size", "--threads"):
        assert predict(trained, known, option, 0).exit_code == 2


def test_errors_are_one_line_on_stderr_and_exit_code_2(trained: Path, tmp_path: Path) -> None:
    absent = tmp_path / "absent.txt"
    command = [sys.executable, "-m", "csl", "predict", str(trained), str(absent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {absent}: cannot be read: No such file or directory\n"


def test_missing_libraries_are_named(trained: Path, known: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert refused(trained, known).startswith("not installed: torch, transformers, ")


def test_ctrl_c_writes_nothing(trained: Path, known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("csl.seq2seq.predictor.Seq2Seq._batch", stop)
    result = predict(trained, known, "--out", tmp_path / "made.tsv")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "stopped; nothing was written\n"
    assert not list(tmp_path.iterdir())
