"""Experiments: stages are done once for what they depend on, in any run that shares it."""

import json
import logging
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from csl.errors import InputError
from csl.examples import Example, read_examples
from csl.experiments.experiment import Experiment, find_runs, run_folder
from csl.log import PROGRESS
from csl.runs.checkpoint import Checkpoint
from csl.runs.folder import RunFolder
from csl.runs.recipe import Recipe, read_recipe
from csl.runs.stages.nqg import load_model as load_nqg
from csl.seq2seq.predictions import Predictions

from ..runs.tiny import TRAIN, recipe_of, write_parts

DEV = {"jump and walk": "JUMP WALK", "hop": "HOP"}
TEST = {"jump twice": "JUMP JUMP", "jump and hop": "JUMP HOP", "walk and jump": "WALK JUMP"}
TRAINING = """
[train]
layers = 1
heads = 1
d_model = 8
d_ff = 8
steps = 4
batch_size = 4
max_target = 8
"""
ALL = {"data", "induce", "fit", "sample", "merge", "evaluate"}


@dataclass
class Lab:
    """A folder with a small recipe, and the messages of its last run."""

    folder: Path
    caplog: pytest.LogCaptureFixture

    def write(self, part: str, pairs: dict[str, str]) -> None:
        write_parts(self.folder, {part: pairs})

    @property
    def recipe(self) -> Recipe:
        return read_recipe(str(self.folder / "tiny.toml"))

    @property
    def root(self) -> Path:
        return self.folder / "runs"

    def run(
        self, seed: int = 0, *, until: str = "evaluate", options: dict[str, Any] | None = None, **more: Any
    ) -> Path:
        self.caplog.clear()
        experiment = Experiment(self.root, until, device="cpu", **more)
        return experiment.run(self.recipe.changed(options or {}), options or {}, seed)

    def plan(self, *, until: str = "report", options: dict[str, Any] | None = None, **more: Any) -> dict[str, str]:
        experiment = Experiment(self.root, until, **more)
        return dict(experiment.plan(self.recipe.changed(options or {}), options or {}, 0))

    @property
    def kept(self) -> set[str]:
        """The stages that were not repeated."""
        return {record.message.split(":")[0] for record in self.caplog.records if ": cached (" in record.message} | {
            record.message.split(":")[0] for record in self.caplog.records if ": already complete (" in record.message
        }

    def cache(self, stage: str) -> Path:
        return next((self.root / ".cache").glob(f"{stage}-*"))


@pytest.fixture
def lab(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Lab:
    caplog.set_level(PROGRESS, "csl")
    write_parts(tmp_path, {"train": TRAIN, "dev": DEV, "test": TEST})
    (tmp_path / "tiny.toml").write_text(recipe_of("train", "dev", "test") + TRAINING, encoding="utf-8")
    return Lab(tmp_path, caplog)


def figures(run: Path) -> dict[str, dict[str, Any]]:
    return {name: done.figures for name, done in RunFolder(run).record.stages.items()}


def results(run: Path) -> dict[str, bytes]:
    """The files of a run, without its record and its metrics, which have times."""
    files = (path for path in run.rglob("*") if path.suffix in (".txt", ".tsv", ".npz", ".toml"))
    return {path.relative_to(run).as_posix(): path.read_bytes() for path in files}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_run_folder_has_what_was_made_and_what_was_found(lab: Lab) -> None:
    run = lab.run(until="report")
    assert run == lab.root / "tiny" / "seed-0"
    assert names(run) == {
        "README.md", "recipe.toml", "run.json", "data", "grammar.txt", "metrics", "model.npz", "samples.tsv",
        "samples.card.json", "augmented.tsv", "predictions", "report.html",
    }  # fmt: skip
    record = json.loads((run / "run.json").read_text("utf-8"))
    assert (record["recipe"], record["title"], record["seed"], record["settings"]) == ("tiny", "tiny", 0, {})
    assert {"python", "numpy"} <= record["versions"].keys()
    found = figures(run)
    assert list(found) == ["data", "induce", "fit", "sample", "merge", "evaluate", "report"]
    assert found["data"] == {"train": 7, "dev": 2, "test": 3}
    assert (found["induce"]["rules"], found["induce"]["derivable"]) == (5, 7)
    assert found["induce"]["objective"] < found["induce"]["objective_before"]
    assert found["sample"]["pairs"] == 100 >= found["sample"]["distinct"]
    known = set(read_examples(run / "data" / "train.tsv"))
    assert found["sample"]["new"] == sum(pair not in known for pair in read_examples(run / "samples.tsv"))
    assert len(list(read_examples(run / "augmented.tsv"))) == found["merge"]["lines"] == 14 * 7 + 100
    csl = found["evaluate"]["systems"]["csl"]
    assert (csl["examples"], csl["answered"], csl["right"]) == (3, 2, 2)
    assert found["evaluate"]["derivable"] == 2
    assert found["evaluate"]["parts"]["train"]["right"] == 7
    assert found["evaluate"]["parts"]["train"]["log_p_xy"] == pytest.approx(found["fit"]["log_prob"])
    predicted = Predictions.read(run / "predictions" / "csl.tsv")
    assert dict(zip(predicted.inputs, predicted.outputs, strict=True)) == TEST | {"jump and hop": ""}
    texts = [path.read_text("utf-8") for path in run.rglob("*") if path.is_file() and path.suffix != ".npz"]
    assert str(lab.folder) not in "".join(texts)


def test_the_same_run_again_does_nothing(lab: Lab) -> None:
    run = lab.run()
    before = {path: path.stat().st_mtime_ns for path in lab.root.rglob("*.*") if path.name != "README.md"}
    assert lab.run() == run
    assert lab.kept == ALL
    changed = [p.name for p, time in before.items() if p.is_file() and p.stat().st_mtime_ns != time]
    assert set(changed) <= {"run.json", "recipe.toml"}


def test_options_of_sampling_repeat_only_what_follows(lab: Lab) -> None:
    first = lab.run()
    other = lab.run(options={"sampling.temperature": 3.0})
    assert lab.kept == {"data", "induce", "fit", "evaluate"}
    assert other == lab.root / "tiny" / "sampling.temperature=3" / "seed-0"
    assert RunFolder(other).record.settings == {"sampling.temperature": 3.0}
    assert (first / "model.npz").samefile(other / "model.npz")
    assert (first / "samples.tsv").read_bytes() != (other / "samples.tsv").read_bytes()


def test_synthetic_pairs_can_be_of_geca(lab: Lab) -> None:
    lab.run()
    run = lab.run(options={"sampling.method": "geca", "sampling.window": 1, "sampling.unique": True}, until="report")
    assert lab.kept == {"data", "induce", "fit", "evaluate"}
    made = list(read_examples(run / "samples.tsv"))
    assert Example.of("jump twice", "JUMP JUMP") in made
    assert not {*made} & {*read_examples(lab.folder / "train.tsv")}
    card = json.loads((run / "samples.card.json").read_text("utf-8"))
    assert card["geca"] == {"window": 1, "unique": True, "seed": 0}
    lab.write("train", {"walk": "WALK", "run twice": "RUN RUN"})
    assert figures(lab.run(options={"sampling.method": "geca"}, until="sample"))["sample"]["pairs"] == 0


def test_seeds_share_data_and_grammar(lab: Lab) -> None:
    runs = [lab.run(seed) for seed in (0, 1)]
    assert lab.kept == {"data", "induce"}
    assert (runs[0] / "grammar.txt").samefile(runs[1] / "grammar.txt")
    assert (runs[0] / "model.npz").read_bytes() != (runs[1] / "model.npz").read_bytes()
    assert [RunFolder(run).record.seed for run in runs] == [0, 1]


def test_another_test_set_is_only_evaluated(lab: Lab) -> None:
    lab.run()
    lab.write("test", TEST | {"run and jump": "RUN JUMP"})
    run = lab.run()
    assert lab.kept == {"induce", "fit", "sample", "merge"}
    assert figures(run)["evaluate"]["systems"]["csl"]["examples"] == 4


def test_other_training_pairs_change_everything(lab: Lab) -> None:
    run = lab.run()
    lab.write("train", TRAIN | {"hop": "HOP"})
    assert lab.run() == run
    assert lab.kept == set()
    assert "hop ### HOP" in (run / "grammar.txt").read_text("utf-8")
    lab.write("train", TRAIN)
    lab.run()
    assert lab.kept == ALL
    assert "hop" not in (run / "grammar.txt").read_text("utf-8")


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(lab: Lab) -> None:
    plan = lab.plan()
    assert not lab.root.exists()
    assert plan["data"] == "would run"
    assert plan["induce"].startswith("would run, after")
    lab.run(until="fit")
    before = results(lab.root)
    plan = lab.plan(train=True)
    assert results(lab.root) == before
    assert {name for name, status in plan.items() if status.startswith("complete")} == {"data", "induce", "fit"}
    assert (plan["sample"], plan["plain"]) == ("would run", "would run")
    assert plan["augmented"].startswith("would run, after")
    assert lab.plan(options={"sampling.number": 50})["fit"].startswith("would run, after")  # of another folder
    assert lab.plan(resume=False)["data"] == "would run"


def test_until_ends_there_and_what_was_done_before_stays(lab: Lab) -> None:
    run = lab.run(until="induce")
    assert list(figures(run)) == ["data", "induce"]
    assert not (run / "model.npz").exists()
    assert "model.npz" not in (run / "README.md").read_text("utf-8")
    lab.run()
    lab.run(until="induce")
    assert set(figures(run)) == ALL
    assert (run / "model.npz").exists()


def test_files_of_outdated_stages_go_and_those_of_the_user_stay(lab: Lab) -> None:
    run = lab.run(until="report")
    assert "report.html" in (run / "README.md").read_text("utf-8")
    (run / "notes.txt").write_text("mine")
    (run / "README.md").write_text("# mine")
    lab.write("train", TRAIN | {"hop": "HOP"})
    lab.run(until="induce")
    assert {path for path in names(run) if not (run / path).is_dir()} == {
        "README.md", "recipe.toml", "run.json", "grammar.txt", "notes.txt"
    }  # fmt: skip
    assert (run / "README.md").read_text() == "# mine"


@pytest.mark.parametrize("way", ["cut", "gone", "changed"])
@pytest.mark.parametrize(
    ("stage", "name"),
    [("induce", "done.json"), ("fit", "model.npz"), ("data", "data/train.tsv"), ("evaluate", "predictions/csl.tsv")],
)
def test_a_damaged_result_is_made_again(lab: Lab, stage: str, name: str, way: str) -> None:
    run = lab.run()
    before = results(run)
    for path in (lab.cache(stage) / name, run / name):
        if not path.exists():
            continue
        if way == "gone":
            path.unlink()
        elif way == "changed":
            path.write_bytes(path.read_bytes()[:-3] + b"!\n}")  # of the same size
        else:
            os.truncate(path, path.stat().st_size // 2)
    lab.run()
    assert results(run) == before
    assert (stage in lab.kept) == (name == "done.json")
    reported = [r for r in lab.caplog.records if r.levelno == logging.WARNING and str(run / name) in r.message]
    assert bool(reported) == (name != "done.json")


def test_what_is_changed_in_a_run_folder_does_not_change_another(lab: Lab) -> None:
    first, other = lab.run(), lab.run(options={"sampling.number": 50})
    kept = results(other)
    shutil.copyfile(other / "data" / "dev.tsv", first / "samples.tsv")  # through a hard link, if that is one
    (first / "model.npz").unlink()
    assert results(other) == kept
    lab.run()
    assert (first / "model.npz").read_bytes() == kept["model.npz"]


def test_a_run_that_was_moved_is_still_a_run(lab: Lab) -> None:
    moved = lab.folder / "elsewhere" / "mine"
    shutil.copytree(lab.run(), moved)
    shutil.rmtree(lab.root)
    for part in ("train", "dev", "test"):
        (lab.folder / f"{part}.tsv").unlink()
    parse = RunFolder(moved).model().parse("jump twice")
    assert parse
    assert parse.text == "JUMP JUMP"
    assert len(RunFolder(moved).examples()) == 7
    again = read_recipe(str(moved / "recipe.toml"))
    assert again.data.files["test"] == (moved / "data" / "test.tsv",)


def test_unlabelled_inputs_are_those_of_dev_or_of_a_file(lab: Lab) -> None:
    plain, semi = lab.run(), lab.run(options={"fit.unlabelled": "dev"})
    assert lab.kept == {"data", "induce"}
    assert figures(semi)["fit"]["labelled"] == 1  # `hop` is not covered
    assert "labelled" not in figures(plain)["fit"]
    assert (plain / "model.npz").read_bytes() != (semi / "model.npz").read_bytes()
    inputs = lab.folder / "inputs.txt"
    inputs.write_text("jump and walk\nhop\n")
    filed = lab.run(options={"fit.unlabelled": str(inputs)})
    assert (filed / "model.npz").read_bytes() == (semi / "model.npz").read_bytes()
    assert (filed / "unlabelled.txt").read_text() == "jump and walk\nhop\n"
    assert 'unlabelled = "unlabelled.txt"' in (filed / "recipe.toml").read_text("utf-8")
    inputs.write_text("run and walk\n")
    lab.run(options={"fit.unlabelled": str(inputs)})
    assert lab.kept == {"data", "induce"}


def test_without_dev_and_test_there_is_less_to_do(lab: Lab) -> None:
    (lab.folder / "tiny.toml").write_text(recipe_of("train"), encoding="utf-8")
    run = lab.run(until="report")
    assert figures(run)["evaluate"]["systems"] == {}
    assert not (run / "predictions").exists()
    with pytest.raises(InputError, match="dev"):
        lab.run(options={"fit.unlabelled": "dev"})


def test_original_files_are_asked_for_before_anything_is_done(tmp_path: Path) -> None:
    root, length = tmp_path / "runs", read_recipe("geoquery/length")
    with pytest.raises(InputError, match="--source"):
        Experiment(root).plan(length, {}, 0)
    with pytest.raises(InputError, match="nowhere"):
        Experiment(root, source=tmp_path / "nowhere").run(length, {}, 0)
    assert not root.exists()
    assert Experiment(root).plan(read_recipe("scan/jump"), {}, 0)[0] == ("data", "would run")


def test_a_data_set_depends_on_its_original_files(lab: Lab, shared_data: Path) -> None:
    source = lab.folder / "data"
    for name in ("geoquery", "scan"):
        shutil.copytree(shared_data / name, source / name)

    def run(source: Path) -> set[str]:
        lab.caplog.clear()
        Experiment(lab.root, "data", source=source).run(read_recipe("geoquery/tmcd_1"), {}, 0)
        return lab.kept

    assert run(source) == set()
    assert run(source / "geoquery") == {"data"}  # the folder of the set itself is enough
    (source / "scan" / "tasks.txt").unlink()
    assert run(source) == {"data"}
    with (source / "geoquery" / "geobase").open("a") as file:
        file.write("\n")
    assert run(source) == set()


def test_training_is_done_when_asked_for_and_plain_models_are_shared(lab: Lab) -> None:
    pytest.importorskip("torch")
    run = lab.run()
    assert not {"plain", "augmented"} & {*figures(run)}
    lab.run(train=True)
    found = figures(run)
    assert found["plain"] == found["augmented"] == {"step": 4, "dev": 0.0}
    assert set(found["evaluate"]["systems"]) == {"csl", "t5", "augmented", "ensemble"}
    parts = found["evaluate"]["breakdown"]
    assert (parts["covered"]["examples"], parts["others"]["examples"]) == (2, 1)
    assert (parts["covered"]["csl"], parts["covered"]["ensemble"], parts["others"]["csl"]) == (2, 2, 0)
    assert names(run / "predictions") == {f"{name}.tsv" for name in ("csl", "t5", "augmented", "ensemble")}
    curves = found["evaluate"]["risk_coverage"]
    wrong = {name: 1 - found["evaluate"]["systems"][name]["right"] / 3 for name in ("t5", "augmented")}
    assert {name: curve[-1] for name, curve in curves.items()} == {name: [1.0, wrong[name]] for name in wrong}
    for name in ("plain", "augmented"):
        assert (run / name / "model" / "model.safetensors").exists()
        assert (run / "metrics" / f"{name}.jsonl").exists()
    assert "plain/" in (run / "README.md").read_text("utf-8")
    lab.run()  # it is there without being asked for
    assert "evaluate" in lab.kept
    assert {"plain", "augmented"} <= {*figures(run)}
    other = lab.run(options={"sampling.number": 50})
    assert "plain" in figures(other)
    assert "augmented" not in figures(other)


def test_nqg_is_done_when_the_recipe_names_an_encoder(lab: Lab) -> None:
    pytest.importorskip("torch")
    from ..baselines.tiny_encoders import bert

    lab.run(train=True)
    options = {"nqg.encoder": str(bert(lab.folder / "bert")), "nqg.steps": 30, "nqg.batch_size": 8}
    run = lab.run(options=options, until="report")
    found = figures(run)
    assert {"plain", "augmented", "nqg", "nqg_fit", "span_label"} <= {*found}
    assert found["nqg_fit"]["left_out"] == found["span_label"]["left_out"] == 0
    assert found["span_label"]["rules"] == found["induce"]["rules"]
    systems = found["evaluate"]["systems"]
    assert set(systems) == {"csl", "t5", "augmented", "ensemble", "nqg", "nqg_t5", "span_label"}
    assert systems["span_label"]["answered"] == systems["csl"]["answered"] == 2
    outputs = {name: Predictions.read(run / "predictions" / f"{name}.tsv").outputs for name in systems}
    assert outputs["nqg_t5"] == [a or b for a, b in zip(outputs["nqg"], outputs["t5"], strict=True)]
    for name, system in (("predecessor", "nqg"), ("span_label", "span_label")):
        parses = load_nqg(run / name).parse_all([line.split() for line in TEST])
        assert outputs[system] == [parse.text if parse else "" for parse in parses]
        assert f"{name}/" in (run / "README.md").read_text("utf-8")
    lab.run(options=options)
    assert {"nqg", "nqg_fit", "span_label", "evaluate"} <= lab.kept
    (lab.folder / "bert" / "notes.txt").write_text("another model under the same name", "utf-8")
    plan = lab.plan(options=options)
    assert plan["nqg"].startswith("complete")
    assert plan["nqg_fit"] == plan["span_label"] == "would run"
    other = lab.run(1, options=options, until="nqg")
    weights = Path("span_label", "nqg", "weights.safetensors")
    assert (run / weights).read_bytes() != (other / weights).read_bytes()
    assert not {"nqg", "nqg_fit", "span_label"} & {*lab.plan()}


def test_a_grammar_with_nothing_to_sample_is_a_warning(lab: Lab) -> None:
    lab.write("train", {"walk": "WALK", "run": "RUN"})
    run = lab.run()
    assert figures(run)["sample"]["pairs"] == 0
    assert any(r.levelno == logging.WARNING and "nonterminals" in r.message for r in lab.caplog.records)
    assert list(read_examples(run / "augmented.tsv")) == list(read_examples(run / "data" / "train.tsv"))


def test_without_resume_everything_is_done_again(lab: Lab) -> None:
    run = lab.run()
    before, inode = results(run), (run / "model.npz").stat().st_ino
    lab.run(resume=False)
    assert lab.kept == set()
    assert results(run) == before
    assert (run / "model.npz").stat().st_ino != inode


@pytest.mark.parametrize(
    "options",
    [
        {"induction.partitions": 2},
        {"fit.optimizer": "adam", "fit.steps": 100},
        {"fit.restarts": 3, "fit.unlabelled": "dev", "fit.steps": 4},
    ],
)
def test_a_stopped_run_resumes_to_the_same_bytes(
    lab: Lab, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped at each checkpoint in turn, and continued by the same command."""
    if options.get("fit.optimizer") == "adam":
        pytest.importorskip("torch")
    monkeypatch.setattr("csl.model.fit.CHECK", 1)
    whole = results(lab.run(options=options))
    shutil.rmtree(lab.root)
    log, logged = Checkpoint.log, list[str]()

    def log_and_stop(checkpoint: Checkpoint, line: str) -> None:
        log(checkpoint, line)
        logged.append(line)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "log", log_and_stop)
        for _ in range(200):
            try:
                run = lab.run(options=options)
            except KeyboardInterrupt:
                continue
            break
    assert results(run) == whole
    assert len(logged) > 2
    assert len(set(logged)) == len(logged)  # no step was done twice
    assert not (run / "checkpoints").exists()


# names of run folders


def test_a_folder_is_named_after_what_was_changed() -> None:
    recipe = read_recipe("scan/jump")
    settings = {"sampling.temperature": float("inf"), "fit.ratio": 2.0, "fit.unlabelled": "/some where/in puts.txt"}
    changes = "fit.ratio=2,fit.unlabelled=_some_where_in_puts.txt,sampling.temperature=inf"
    assert run_folder(Path("runs"), recipe, settings, 3) == Path("runs") / "scan" / "jump" / changes / "seed-3"
    assert run_folder(Path("runs"), recipe, {}, 0) == Path("runs/scan/jump/seed-0")
    long = {run_folder(Path("runs"), recipe, {"train.prefix": "x" * 300 + end}, 0) for end in "ab"}
    assert len(long) == 2
    assert all(len(part) < 200 for name in long for part in name.parts)


def test_runs_are_found_at_any_depth_but_not_in_the_cache_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("jump/seed-10", "jump/seed-9", "b", "4", "b/below", ".cache/induce-0"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "run.json").touch()
    found = [path.relative_to(tmp_path).as_posix() for path in find_runs(tmp_path)]
    assert found == ["4", "b", "jump/seed-9", "jump/seed-10"]
    assert list(find_runs(tmp_path / "b")) == [tmp_path / "b"]
    with pytest.raises(InputError, match="nowhere"):
        list(find_runs(tmp_path / "nowhere"))
