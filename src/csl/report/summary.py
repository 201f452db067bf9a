"""The head of a report and its end: title and figures, options and versions."""

from pathlib import Path
from typing import Any

from csl.arrays import load_arrays
from csl.examples.score import percent
from csl.files import read_lines
from csl.report.curves import FOLDERS
from csl.report.material import Material, read_object
from csl.report.schema import Coverage, Fact, FitStep, Rules, Scores, SyntheticPairs, UncoveredInputs
from csl.runs.fitting import REMEDY

NAMES = {
    "csl": "CSL", "t5": "sequence-to-sequence", "augmented": "with augmentation", "ensemble": "ensemble",
    "nqg": "NQG", "nqg_t5": "NQG-T5", "span_label": "NQG's model on this grammar",
}  # fmt: skip


def title(material: Material) -> str:
    """Name the run: the title of its recipe and its seed, or its folder."""
    run = material.run
    if "title" not in run:
        return material.folder.resolve().name
    changes = [f"{key} = {value}" for key, value in run.get("settings", {}).items()]
    return ", ".join([run["title"], *changes, f"seed {run.get('seed', 0)}"])


def summarise(
    rules: Rules,
    fit: list[FitStep],
    states: int | None,
    uncovered: UncoveredInputs | None,
    scores: Scores | None,
    synthetic: SyntheticPairs | None,
    coverage: Coverage | None,
) -> list[Fact]:
    """Give the figures that say most, in the order of the stages."""
    rows = rules["rows"]
    open_rules = sum(row["arity"] > 0 for row in rows)
    seeds = sum(row["seed"] for row in rows)
    facts = [fact("rules", len(rows), f"{open_rules:,} with nonterminals" + (f", {seeds:,} seeds" if seeds else ""))]
    if rules["examples"] is None:
        facts.append(Fact(label="training examples", value="–", note="not found: what rules save is not known"))
    else:
        facts.append(fact("training examples", rules["examples"], f"{rules['derived']:,} derived by the grammar"))
    if rules["objective"] is not None and rules["size_before"] is not None:
        note = f"the training pairs as rules: {rules['size_before']:,.0f}"
        facts.append(Fact(label="objective", value=f"{rules['objective']:,.0f}", note=note))
    if states is not None:
        note = f"mean log p(x, y) at the last step: {fit[-1]['train']:.2f}" if fit else ""
        facts.append(fact("states", states, note))
    if synthetic:
        note = f"{synthetic['distinct']:,} distinct"
        note += "" if synthetic["new"] is None else f", {synthetic['new']:,} not in training"
        facts.append(fact("synthetic pairs", synthetic["total"], note))
    if uncovered:
        total = uncovered["inputs_total"]
        note = f"{uncovered['covered']:,} of {total:,}"
        note += "" if uncovered["derivable"] is None else f"; {uncovered['derivable']:,} with the right output"
        facts.append(share(f"{uncovered['of']} inputs covered", uncovered["covered"], total, note))
    for name, score in (scores["systems"] if scores else {}).items():
        note = f"{score['right']:,} of {score['examples']:,} right, {score['answered']:,} answered"
        facts.append(share(f"accuracy, {NAMES[name]}", score["right"], score["examples"], note))
    if coverage:
        totals = coverage["totals"]
        note = f"{totals['dependent']:,} of {totals['derived']:,} that are derived, {totals['pairs']:,} new rule pairs"
        facts.append(
            share(f"{coverage['of']} inputs in need of new rule pairs", totals["dependent"], totals["derived"], note)
        )
    return facts


def fact(label: str, value: int, note: str) -> Fact:
    """Give a count."""
    return Fact(label=label, value=f"{value:,}", note=note)


def share(label: str, part: int, whole: int, note: str) -> Fact:
    """Give a share."""
    return Fact(label=label, value=percent(part, whole), note=note)


def options(material: Material) -> dict[str, Any]:
    """Gather the options of all stages, and what they were applied to, without paths."""
    folder, run = material.folder, material.run
    found: dict[str, Any] = {key: run[key] for key in ("recipe", "seed", "settings") if key in run}
    if "train" in material.config:
        found["data"] = {"train": Path(material.config["train"]).name, "examples": material.config.get("examples")}
    found["data"] = found.get("data", {}) | {
        key: value for key, value in read_object(folder / "data" / "card.json").items() if key != "csl_version"
    }
    found["induction"] = material.config.get("induction")
    if material.model:
        found["fit"] = load_arrays(folder / "model.npz", REMEDY)[1]["fit"]
    found["sampling"] = read_object(folder / "samples.card.json").get("sampling")
    for part in FOLDERS.values():
        found[f"train, {part}"] = read_object(folder / part / "train.json").get("train")
    recipe = folder / "recipe.toml"
    if recipe.exists():
        found["recipe.toml"] = "\n".join(line for _, line in read_lines(recipe))
    return {key: value for key, value in found.items() if value not in (None, {})}


def versions(material: Material) -> dict[str, str]:
    """Give the versions that the run was made with, as far as it says."""
    found = {"csl": material.run.get("csl", material.config.get("csl")), **material.run.get("versions", {})}
    return {name: str(version) for name, version in found.items() if version}
