"""Fitting in a run folder: what is kept, what is taken up again, what belongs to another fit."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from csl.examples import Example
from csl.errors import InputError
from csl.arrays import load_arrays, save_arrays
from csl.runs.fitting import fit_into, load_model, read_run, result_of, training_file
from csl.model.config import FitConfig
from csl.model.fit import Progress

EXAMPLES = [Example.of("a", "A"), Example.of("b", "B"), Example.of("a and b", "A B"), Example.of("c", "C")]
EM = FitConfig(states=1, optimizer="em", steps=3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "grammar.txt").write_text("a ### A\nb ### B\nNT_1 and NT_2 ### NT_1 NT_2\n", "utf-8")
    return tmp_path


def test_what_is_left_out_is_known_from_kept_forests_too(folder: Path) -> None:
    first = fit_into(folder, EXAMPLES, EM)
    kept = (folder / "forests.npz").stat().st_mtime_ns
    second = fit_into(folder, EXAMPLES, EM.model_copy(update={"steps": 2}))
    assert first is not None
    assert second is not None
    assert first.left_out == second.left_out == (EXAMPLES[3],)
    assert (folder / "forests.npz").stat().st_mtime_ns == kept
    fit_into(folder, EXAMPLES[:3], EM)
    assert (folder / "forests.npz").stat().st_mtime_ns != kept


def test_a_model_is_that_of_one_set_of_options_and_data(folder: Path) -> None:
    assert fit_into(folder, EXAMPLES, EM) is not None
    assert fit_into(folder, EXAMPLES, EM) is None
    assert fit_into(folder, EXAMPLES, EM, unlabelled=[("b", "and", "b")]) is not None
    assert fit_into(folder, EXAMPLES, EM, unlabelled=[("b", "and", "b")]) is None
    assert fit_into(folder, EXAMPLES[:2], EM) is not None
    assert load_model(folder).parse("b and a") is not None


SEVERAL = FitConfig(states=2, optimizer="em", steps=4, restarts=3)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_of_several_starts_the_likeliest_is_written_with_what_the_others_came_to(folder: Path) -> None:
    said: list[str] = []
    fitted = fit_into(folder, EXAMPLES, SEVERAL, say=said.append)
    assert fitted is not None
    lines = [f"start {k + 1} of 3, seed {k}: mean log p(x, y) {value:.3f}" for k, value in enumerate(fitted.starts)]
    assert said == [*lines, f"kept seed {fitted.seed}, the likeliest"]
    found = {"steps": fitted.steps, "log_prob": max(fitted.starts), "kept": fitted.seed, "starts": [*fitted.starts]}
    assert result_of(folder) == found
    assert [json.loads(line)["seed"] for line in (folder / "metrics.jsonl").open()] == [fitted.seed]
    assert contents(folder).keys() == {"grammar.txt", "model.npz", "forests.npz", "metrics.jsonl"}
    best = load_model(folder).theta_rule
    assert fit_into(folder, EXAMPLES, SEVERAL.starts()[fitted.seed]) is not None
    assert np.array_equal(load_model(folder).theta_rule, best)
    assert result_of(folder).keys() == {"steps", "log_prob"}


class StopError(Exception):
    """Stands for whatever ends the work."""


def test_starts_that_were_finished_are_not_done_again(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("csl.model.fit.CHECK", 1)
    inputs, told = [("b", "and", "b")], list[Progress]()

    def stop(report: Progress) -> None:
        told.append(report)
        if len(told) % 5 == 0:
            raise StopError

    other = Path(shutil.copytree(folder, tmp_path_factory.mktemp("whole") / "run"))
    fit_into(other, EXAMPLES, SEVERAL, unlabelled=inputs)
    steps = 2 * SEVERAL.restarts * SEVERAL.steps  # of fit and refit
    for _ in range(steps // 5):
        with pytest.raises(StopError):
            fit_into(folder, EXAMPLES, SEVERAL, unlabelled=inputs, progress=stop)
    assert fit_into(folder, EXAMPLES, SEVERAL, unlabelled=inputs, progress=stop) is not None
    assert contents(folder) == contents(other)
    assert len(told) == steps  # each of them once


def test_no_checkpoint_of_a_start_is_left_behind(folder: Path) -> None:
    def stop(report: Progress) -> None:
        if report.seed == 2:
            raise StopError

    with pytest.raises(StopError):
        fit_into(folder, EXAMPLES, SEVERAL, progress=stop)
    assert len(list(folder.glob("fit-checkpoint*"))) == 3
    fit_into(folder, EXAMPLES, EM)
    assert not list(folder.glob("*checkpoint*"))


def test_a_broken_log_is_refused(folder: Path) -> None:
    (folder / "metrics.jsonl").write_text('{"stage": "induce"}\n{"stage\n', "utf-8")
    with pytest.raises(InputError, match=r"metrics\.jsonl: not JSON lines; remove the file"):
        fit_into(folder, EXAMPLES, EM)


def test_a_folder_knows_its_output_cfg_and_its_examples(folder: Path) -> None:
    assert read_run(folder)[1] is None
    (folder / "output.cfg").write_text("ROOT => A\n", "utf-8")
    assert read_run(folder)[1] is not None
    with pytest.raises(InputError, match="name it with --train"):
        training_file(folder)
    (folder / "config.json").write_text('{"train": 3}', "utf-8")
    with pytest.raises(InputError, match="name it with --train"):
        training_file(folder)


@pytest.mark.parametrize("train", ["x" * 300, "a\0b", 3, None, [], "\ud800"])
def test_a_name_that_no_file_can_have_is_refused(train: object, folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"train": train}))
    with pytest.raises(InputError, match=r"--train$"):
        training_file(folder)


def test_forests_of_someone_else_are_made_anew_however_well_they_are_sealed(folder: Path) -> None:
    """The checksum is right; the numbers would lead kernels out of their arrays."""
    fit_into(folder, EXAMPLES, EM)
    right, about = load_arrays(folder / "forests.npz", "")
    parameters = load_model(folder).theta_rule
    changes = {
        "vertices": right["vertices"] + 10**9, "applications": right["applications"][::-1], "rules": right["rules"] + 7,
        "arguments": right["arguments"] * 0, "children": right["children"] - 9, "spans": right["spans"][:, :2],
        "status": right["status"][:-1], "copies": right["copies"].astype("<f4"),
    }  # fmt: skip
    for name, changed in changes.items():
        (folder / "model.npz").unlink()
        save_arrays(folder / "forests.npz", {**right, name: np.ascontiguousarray(changed)}, about)
        said: list[str] = []
        fit_into(folder, EXAMPLES, EM, say=said.append)
        assert any("forests.npz" in line and "made anew" in line for line in said), name
        assert np.array_equal(load_model(folder).theta_rule, parameters)
    save_arrays(folder / "forests.npz", {"copies": right["copies"]}, about)
    (folder / "model.npz").unlink()
    fit_into(folder, EXAMPLES, EM)
    assert np.array_equal(load_model(folder).theta_rule, parameters)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_model_that_is_not_numbers_is_refused(folder: Path, value: float) -> None:
    fit_into(folder, EXAMPLES, EM)
    arrays, about = load_arrays(folder / "model.npz", "")
    arrays["theta_rule"][0, 0] = value
    save_arrays(folder / "model.npz", arrays, about)
    with pytest.raises(InputError, match=r"model\.npz: damaged"):
        load_model(folder)
