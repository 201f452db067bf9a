"""The stages of a run: done once for what they depend on, in any run that shares it."""

import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from csl.examples import Example, read_examples
from csl.errors import InputError
from csl.runs.fitting import fit_into, load_model, training_file
from csl.runs.nqg import load_model as load_nqg
from csl.runs.pipeline import Pipeline, wanted_stages
from csl.runs.recipe import Recipe, read_recipe
from csl.model.config import FitConfig
from csl.seq2seq.predictions import Predictions

from .tiny import TRAIN, recipe_of, write_parts

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


@dataclass
class Lab:
    """A folder with a small recipe, and what its runs say."""

    folder: Path
    said: list[str] = field(default_factory=list)

    def write(self, part: str, pairs: dict[str, str]) -> None:
        write_parts(self.folder, {part: pairs})

    @property
    def recipe(self) -> Recipe:
        return read_recipe(str(self.folder / "tiny.toml"))

    @property
    def root(self) -> Path:
        return self.folder / "runs"

    def run(
        self, seed: int = 0, *, until: str = "evaluate", train: bool = False, options: dict[str, Any] | None = None,
        **more: Any,
    ) -> Path:  # fmt: skip
        self.said.clear()
        pipeline = Pipeline(self.root, wanted_stages(until, train), device="cpu", say=self.said.append, **more)
        settings = options or {}
        return pipeline.run(self.recipe.changed(settings), settings, seed)

    def verdicts(self) -> dict[str, str]:
        """What was said last of each stage: cached, would be done, left out, or what it found."""
        return dict(line.split(": ", 1) for line in self.said)

    @property
    def cached(self) -> set[str]:
        return {stage for stage, verdict in self.verdicts().items() if verdict.startswith("cached")}

    def cache(self, stage: str) -> list[Path]:
        return sorted((self.root / ".cache").glob(f"{stage}-*"))


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    made = Lab(tmp_path)
    write_parts(tmp_path, {"train": TRAIN, "dev": DEV, "test": TEST})
    (tmp_path / "tiny.toml").write_text(recipe_of("train", "dev", "test") + TRAINING, encoding="utf-8")
    return made


def about(run: Path) -> dict[str, Any]:
    found = json.loads((run / "run.json").read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """Inodes and times of all files."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_run_folder_holds_what_was_made_and_what_was_found(lab: Lab) -> None:
    run = lab.run(until="report")
    assert run == lab.root / "tiny" / "seed-0"
    assert names(run) == {
        "README.md", "recipe.toml", "run.json", "data", "grammar.txt", "config.json", "metrics.jsonl", "model.npz",
        "forests.npz", "samples.tsv", "samples.card.json", "predictions", "report.html",
    }  # fmt: skip
    record = about(run)
    assert (record["recipe"], record["title"], record["seed"], record["settings"]) == ("tiny", "tiny", 0, {})
    assert list(record["stages"]) == ["data", "induce", "fit", "sample", "evaluate", "report"]
    figures = {name: stage["figures"] for name, stage in record["stages"].items()}
    assert figures["data"] == {"train": 7, "dev": 2, "test": 3}
    assert figures["induce"]["rules"] == 5
    assert figures["induce"]["derivable"] == 7
    assert figures["induce"]["objective"] < figures["induce"]["objective_before"]
    assert figures["sample"]["pairs"] == 100 >= figures["sample"]["distinct"]
    known = set(read_examples(run / "data" / "train.tsv"))
    assert figures["sample"]["new"] == sum(pair not in known for pair in read_examples(run / "samples.tsv"))
    csl = figures["evaluate"]["systems"]["csl"]
    assert (csl["examples"], csl["answered"], csl["right"]) == (3, 2, 2)
    assert figures["evaluate"]["derivable"] == 2
    assert figures["evaluate"]["parts"]["train"]["right"] == 7
    assert figures["evaluate"]["parts"]["train"]["log_p_xy"] == pytest.approx(figures["fit"]["log_prob"])
    predicted = Predictions.read(run / "predictions" / "csl.tsv")
    assert dict(zip(predicted.inputs, predicted.outputs, strict=True)) == TEST | {"jump and hop": ""}
    stages = [json.loads(line)["stage"] for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    assert set(stages) == {"induce", "fit"}
    assert str(lab.folder) not in "".join(path.read_text("utf-8") for path in run.glob("*.*") if path.suffix != ".npz")


def test_the_same_run_again_does_nothing(lab: Lab) -> None:
    run = lab.run()
    before = snapshot(lab.root / ".cache"), (run / "run.json").read_text("utf-8")
    lab.run()
    assert lab.cached == {"data", "induce", "fit", "sample", "evaluate"}
    assert (snapshot(lab.root / ".cache"), (run / "run.json").read_text("utf-8")) == before


def test_another_temperature_samples_anew_and_does_nothing_else(lab: Lab) -> None:
    first = lab.run()
    before = snapshot(lab.root / ".cache")
    other = lab.run(options={"sampling.temperature": 3.0})
    assert lab.cached == {"data", "induce", "fit", "evaluate"}
    after = snapshot(lab.root / ".cache")
    assert {name: after[name] for name in before} == before
    assert {name.split("-")[0] for name in after.keys() - before.keys()} == {"sample"}
    assert other == lab.root / "tiny" / "sampling.temperature=3" / "seed-0"
    assert about(other)["settings"] == {"sampling.temperature": 3.0}
    assert (first / "model.npz").samefile(other / "model.npz")
    assert (first / "samples.tsv").read_bytes() != (other / "samples.tsv").read_bytes()


def test_synthetic_pairs_can_be_of_geca(lab: Lab) -> None:
    lab.run()
    run = lab.run(options={"sampling.method": "geca", "sampling.window": 1, "sampling.unique": True}, until="report")
    assert lab.cached == {"data", "induce", "fit", "evaluate"}
    made = list(read_examples(run / "samples.tsv"))
    assert Example.of("jump twice", "JUMP JUMP") in made
    assert not {*made} & {*read_examples(lab.folder / "train.tsv")}
    card = json.loads((run / "samples.card.json").read_text("utf-8"))
    assert card["geca"] == {"window": 1, "context": None, "unique": True, "seed": 0}
    lab.write("train", {"walk": "WALK", "run twice": "RUN RUN"})
    lab.run(options={"sampling.method": "geca"}, until="sample")
    assert lab.verdicts()["sample"].startswith("0 pairs, 0 distinct, 0 not in training")


def test_seeds_share_data_and_grammar(lab: Lab) -> None:
    runs = [lab.run(seed) for seed in (0, 1)]
    assert lab.cached == {"data", "induce"}
    assert (runs[0] / "grammar.txt").samefile(runs[1] / "grammar.txt")
    assert (runs[0] / "model.npz").read_bytes() != (runs[1] / "model.npz").read_bytes()
    assert [about(run)["seed"] for run in runs] == [0, 1]


def test_another_test_set_is_only_evaluated(lab: Lab) -> None:
    lab.run()
    lab.write("test", TEST | {"run and jump": "RUN JUMP"})
    run = lab.run()
    assert lab.cached == {"induce", "fit", "sample"}
    assert about(run)["stages"]["evaluate"]["figures"]["systems"]["csl"]["examples"] == 4


def test_other_training_pairs_change_everything(lab: Lab) -> None:
    run = lab.run()
    lab.write("train", TRAIN | {"hop": "HOP"})
    assert lab.run() == run
    assert lab.cached == set()
    assert "hop ### HOP" in (run / "grammar.txt").read_text("utf-8")
    lab.write("train", TRAIN)
    lab.run()
    assert lab.cached == {"data", "induce", "fit", "sample", "evaluate"}
    assert "hop" not in (run / "grammar.txt").read_text("utf-8")


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(lab: Lab) -> None:
    lab.run(dry=True, until="report")
    assert not lab.root.exists()
    assert lab.verdicts()["data"] == "would be done (new)"
    assert lab.verdicts()["induce"] == "would be done (after data)"
    lab.run(until="fit")
    before = snapshot(lab.root)
    lab.run(dry=True, until="report", train=True)
    assert snapshot(lab.root) == before
    assert lab.cached == {"data", "induce", "fit"}
    assert lab.verdicts()["sample"] == "would be done (new)"
    assert lab.verdicts()["plain"] == "would be done (new)"
    assert lab.verdicts()["augmented"] == "would be done (after sample)"
    assert lab.verdicts()["evaluate"] == "would be done (after plain)"


def test_until_stops_there_and_what_was_done_before_stays(lab: Lab) -> None:
    run = lab.run(until="induce")
    assert list(about(run)["stages"]) == ["data", "induce"]
    assert not (run / "model.npz").exists()
    assert "model.npz" not in (run / "README.md").read_text("utf-8")
    lab.run()
    lab.run(until="induce")
    assert list(about(run)["stages"]) == ["data", "induce", "fit", "sample", "evaluate"]
    assert (run / "model.npz").exists()


def test_files_of_stages_that_are_no_longer_of_the_run_go(lab: Lab) -> None:
    run = lab.run(until="report")
    (run / "notes.txt").write_text("mine")
    lab.write("train", TRAIN | {"hop": "HOP"})
    lab.run(until="induce")
    assert names(run) == {
        "README.md", "recipe.toml", "run.json", "data", "grammar.txt", "config.json", "metrics.jsonl", "notes.txt"
    }  # fmt: skip


@pytest.mark.parametrize("way", ["cut", "gone", "changed"])
@pytest.mark.parametrize(
    ("stage", "name"),
    [
        ("induce", "done.json"),
        ("induce", "grammar.txt"),
        ("fit", "model.npz"),
        ("data", "data/train.tsv"),
        ("evaluate", "predictions/csl.tsv"),
    ],
)
def test_a_damaged_result_is_made_anew(lab: Lab, stage: str, name: str, way: str) -> None:
    def files() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in run.rglob("*") if path.suffix in (".txt", ".tsv", ".npz")}

    run = lab.run()
    before = files()
    path = lab.cache(stage)[0] / name
    if way == "gone":
        path.unlink()
    elif way == "changed":
        path.write_bytes(path.read_bytes()[:-3] + b"!\n}")  # of the same size
    else:
        os.truncate(path, path.stat().st_size // 2)  # a link: the same file in every run
    lab.run()
    assert stage not in lab.cached
    assert (f"{stage}: {path} is damaged; made anew" in lab.said) == ((name, way) != ("done.json", "gone"))
    assert files() == before


@pytest.mark.parametrize(
    ("after", "work"), [("stages.read_run", "run.induce"), ("stages.fit_result", "fitting.optimise")]
)
def test_a_stage_that_is_killed_before_its_end_is_not_done_twice(
    lab: Lab, after: str, work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"csl.runs.{after}", stop)
        with pytest.raises(KeyboardInterrupt):
            lab.run(until="fit")
    with monkeypatch.context() as patch:
        patch.setattr(f"csl.runs.{work}", stop)
        lab.run(until="fit" if work == "fitting.optimise" else "induce")
    figures = about(lab.run(until="fit"))["stages"]
    shutil.rmtree(lab.root)
    anew = about(lab.run(until="fit"))["stages"]
    assert [figures[name]["figures"] for name in anew] == [anew[name]["figures"] for name in anew]


def test_what_is_changed_in_a_run_folder_does_not_change_another(lab: Lab) -> None:
    first, other = lab.run(), lab.run(options={"sampling.number": 50})
    kept = (other / "model.npz").read_bytes()
    fit_into(first, list(read_examples(first / "data" / "train.tsv")), FitConfig(states=3, optimizer="em"))
    assert (first / "model.npz").read_bytes() != kept
    assert (other / "model.npz").read_bytes() == kept
    lab.run()
    assert (first / "model.npz").read_bytes() == kept


def test_a_run_that_was_moved_is_still_a_run(lab: Lab) -> None:
    moved = lab.folder / "elsewhere" / "mine"
    shutil.copytree(lab.run(), moved)
    shutil.rmtree(lab.root)
    assert training_file(moved) == moved / "data" / "train.tsv"
    parse = load_model(moved).parse("jump twice")
    assert parse
    assert parse.text == "JUMP JUMP"
    again = read_recipe(str(moved / "recipe.toml"))
    assert again.data.files["test"] == moved / "data" / "test.tsv"


def test_unlabelled_inputs_are_those_of_dev_or_of_a_file(lab: Lab) -> None:
    plain = lab.run()
    semi = lab.run(options={"fit.unlabelled": "dev"})
    assert lab.cached == {"data", "induce"}
    assert about(semi)["stages"]["fit"]["figures"]["labelled"] == 1  # `hop` is not covered
    assert about(plain)["stages"]["fit"]["figures"].keys() == {"states", "steps", "log_prob"}
    assert (plain / "model.npz").read_bytes() != (semi / "model.npz").read_bytes()
    inputs = lab.folder / "inputs.txt"
    inputs.write_text("jump and walk\nhop\n")
    filed = lab.run(options={"fit.unlabelled": str(inputs)})
    assert (filed / "model.npz").read_bytes() == (semi / "model.npz").read_bytes()
    assert (filed / "unlabelled.txt").read_text() == "jump and walk\nhop\n"
    assert 'unlabelled = "unlabelled.txt"' in (filed / "recipe.toml").read_text("utf-8")
    inputs.write_text("run and walk\n")
    lab.run(options={"fit.unlabelled": str(inputs)})
    assert lab.cached == {"data", "induce"}


def test_without_dev_and_test_there_is_less_to_do(lab: Lab) -> None:
    (lab.folder / "tiny.toml").write_text(recipe_of("train"), encoding="utf-8")
    run = lab.run(until="report")
    assert about(run)["stages"]["evaluate"]["figures"]["systems"] == {}
    assert not (run / "predictions").exists()
    assert "no test set" in lab.verdicts()["evaluate"]
    with pytest.raises(InputError, match="no dev set"):
        lab.run(options={"fit.unlabelled": "dev"})


def test_original_files_are_asked_for_before_anything_is_done(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path / "runs", wanted_stages(), dry=True)
    with pytest.raises(InputError, match="--source"):
        pipeline.run(read_recipe("geoquery/length"), {}, 0)
    with pytest.raises(InputError, match="is not a folder"):
        Pipeline(tmp_path / "runs", wanted_stages(), tmp_path / "nowhere").run(read_recipe("cogs/gen"), {}, 0)
    assert not (tmp_path / "runs").exists()
    said: list[str] = []
    Pipeline(tmp_path / "runs", wanted_stages(), dry=True, say=said.append).run(read_recipe("scan/jump"), {}, 0)
    assert said[0] == "data: would be done (new)"


def test_a_data_set_depends_on_its_original_files(tmp_path: Path, shared_data: Path) -> None:
    for name in ("geoquery", "scan"):
        shutil.copytree(shared_data / name, tmp_path / "data" / name)

    def run(source: Path) -> list[str]:
        said: list[str] = []
        pipeline = Pipeline(tmp_path / "runs", wanted_stages("data"), source, say=said.append)
        pipeline.run(read_recipe("geoquery/tmcd_1"), {}, 0)
        return said

    assert "440 train" in run(tmp_path / "data")[0]
    assert "cached" in run(tmp_path / "data" / "geoquery")[0]  # the folder of the set itself will do
    (tmp_path / "data" / "scan" / "tasks.txt").unlink()
    assert "cached" in run(tmp_path / "data")[0]
    with (tmp_path / "data" / "geoquery" / "geobase").open("a") as file:
        file.write("\n")
    assert "cached" not in run(tmp_path / "data")[0]


def test_training_is_done_when_asked_for_and_plain_models_are_shared(lab: Lab) -> None:
    pytest.importorskip("torch")
    run = lab.run(train=True)
    record = about(run)["stages"]
    assert record["train"]["figures"] == {name: {"step": 4, "dev": 0.0} for name in ("t5", "augmented")}
    assert set(record["evaluate"]["figures"]["systems"]) == {"csl", "t5", "augmented", "ensemble"}
    parts = record["evaluate"]["figures"]["breakdown"]
    assert (parts["covered"]["examples"], parts["others"]["examples"]) == (2, 1)
    assert (parts["covered"]["csl"], parts["covered"]["ensemble"], parts["others"]["csl"]) == (2, 2, 0)
    assert names(run / "predictions") == {f"{name}.tsv" for name in ("csl", "t5", "augmented", "ensemble")}
    for name in ("plain", "augmented"):
        assert {"train.json", "metrics.jsonl", "model"} <= names(run / name)
    assert "plain/" in (run / "README.md").read_text("utf-8")
    lab.run()  # without being asked for, it is there
    assert {"plain", "augmented", "evaluate"} <= lab.cached
    lab.run(options={"sampling.number": 50}, dry=True, train=True)
    assert "plain" in lab.cached
    assert "augmented" not in lab.cached


def test_nqg_is_done_when_the_recipe_names_an_encoder(lab: Lab) -> None:
    pytest.importorskip("torch")
    from ..baselines.tiny_encoders import bert

    lab.run(train=True)
    options = {"nqg.encoder": str(bert(lab.folder / "bert")), "nqg.steps": 30, "nqg.batch_size": 8}
    run = lab.run(options=options, until="report")
    assert {"plain", "augmented"} <= lab.cached
    record = about(run)["stages"]
    assert list(record) == ["data", "induce", "fit", "sample", "train", "nqg", "evaluate", "report"]
    assert {name: found["left_out"] for name, found in record["nqg"]["figures"].items()} == {"nqg": 0, "span_label": 0}
    assert record["nqg"]["figures"]["span_label"]["rules"] == record["induce"]["figures"]["rules"]
    systems = record["evaluate"]["figures"]["systems"]
    assert set(systems) == {"csl", "t5", "augmented", "ensemble", "nqg", "nqg_t5", "span_label"}
    assert systems["span_label"]["answered"] == systems["csl"]["answered"] == 2
    outputs = {name: Predictions.read(run / "predictions" / f"{name}.tsv").outputs for name in systems}
    assert outputs["nqg_t5"] == [a or b for a, b in zip(outputs["nqg"], outputs["t5"], strict=True)]
    for name, system in (("predecessor", "nqg"), ("span_label", "span_label")):
        parses = load_nqg(run / name).parse_all([line.split() for line in TEST])
        assert outputs[system] == [found.text if found else "" for found in parses]
        assert f"{name}/" in (run / "README.md").read_text("utf-8")
    assert training_file(run / "predecessor").samefile(run / "data" / "train.tsv")
    lab.run(options=options)
    assert {"predecessor", "span_label", "evaluate"} <= lab.cached
    (lab.folder / "bert" / "notes.txt").write_text("another model under the same name", "utf-8")
    lab.run(options=options, dry=True)
    assert not {"predecessor", "span_label"} & lab.cached
    other = lab.run(1, options=options, until="nqg")
    assert not {"predecessor", "span_label"} & lab.cached
    weights = Path("span_label", "nqg", "weights.safetensors")
    assert (run / weights).read_bytes() != (other / weights).read_bytes()
    lab.run(dry=True)
    assert not {"predecessor", "span_label"} & {*lab.verdicts()}


def test_what_was_done_before_a_failure_is_in_the_run_folder(lab: Lab) -> None:
    lab.write("train", {"walk": "WALK", "run": "RUN"})
    with pytest.raises(InputError, match="no rule of the grammar has nonterminals"):
        lab.run()
    run = lab.root / "tiny" / "seed-0"
    assert list(about(run)["stages"]) == ["data", "induce", "fit"]
    assert (run / "model.npz").exists()


def test_training_is_left_out_unless_it_is_asked_for(lab: Lab) -> None:
    run = lab.run()
    assert lab.verdicts()["train"].startswith("left out; --train")
    assert "train" not in about(run)["stages"]


def test_nothing_is_taken_from_earlier_runs_if_they_are_not_wanted(lab: Lab) -> None:
    lab.run()
    before = snapshot(lab.root / ".cache")
    lab.run(anew=True)
    assert lab.cached == set()
    after = snapshot(lab.root / ".cache")
    assert after.keys() == before.keys()
    assert not [name for name in after if after[name] == before[name] and not name.endswith(".lock")]
