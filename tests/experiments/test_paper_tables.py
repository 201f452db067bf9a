"""Figures of runs beside the paper's."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from csl.errors import InputError
from csl.experiments.paper_tables import TABLES, make_table
from csl.experiments.records import read_runs
from csl.experiments.table import OURS, PAPER, SAME, Table

Writer = Callable[..., Path]


def score(right: int, examples: int = 100, answered: int | None = None, **groups: int) -> dict[str, Any]:
    counts = {"examples": examples, "answered": examples if answered is None else answered, "right": right}
    return counts | {"groups": {name: score(count) for name, count in groups.items()}}


@pytest.fixture
def run(tmp_path: Path) -> Writer:
    """Write a run folder as `csl run` does: `run(recipe, seed, csl=…, settings=…)`."""

    def write(recipe: str, seed: int = 0, /, *, settings: dict[str, Any] | None = None, **given: Any) -> Path:
        settings = settings or {}
        changes = ",".join(f"{key}={value}" for key, value in settings.items())
        folder = tmp_path / "runs" / recipe / changes / f"seed-{seed}"
        folder.mkdir(parents=True)
        systems = {name: score(s) if isinstance(s, int) else s for name, s in given.items() if name in SYSTEMS}
        evaluated = {
            "systems": systems,
            **{name: given[name] for name in ("parts", "breakdown", "inference") if name in given},
        }
        states = settings.get("fit.states", 4)
        fitted = {"states": states, "log_prob": -1.5, "parameters": 10 * states}
        stages = {
            "induce": {"hash": "i", "seconds": 3.5, "figures": {"rules": 1020, "arities": 1000}},
            "fit": {"hash": "f", "seconds": 2, "figures": fitted},
            "sample": {"hash": "s", "seconds": 2, "figures": {"categories": given.get("categories", {})}},
        }
        if "nqg" in given:
            stages["nqg"] = {"hash": "n", "seconds": 900.0, "figures": {"rules": 30, "arities": 10}}
        if not given.get("unfinished"):
            stages["evaluate"] = {"hash": f"{recipe}{changes}", "seconds": 1, "figures": evaluated}
        record = {"csl": "1", "recipe": recipe, "title": recipe.title(), "seed": seed, "settings": settings}
        (folder / "run.json").write_text(json.dumps(record | {"stages": stages}), "utf-8")
        options = {"data.train": "train.tsv", "sampling.strategy": "model", **settings}
        lines = [f"{key} = {json.dumps(value).replace('Infinity', 'inf')}" for key, value in options.items()]
        (folder / "recipe.toml").write_text("\n".join(lines) + "\n", "utf-8")
        return folder

    return write


SYSTEMS = ("csl", "t5", "augmented", "ensemble", "nqg", "nqg_t5", "span_label")


def made(kind: str, tmp_path: Path, *, everything: bool = True) -> Table:
    return make_table(kind, read_runs([tmp_path / "runs"]), everything=everything)


def shown(table: Table, source: str, *labels: str) -> dict[str, str]:
    names = [f"{group} {name}".strip() for group, name in table.columns]
    rows = [row.cells for row in table.rows if row.source == source and row.labels == labels]
    assert len(rows) <= 1
    return {name: table.text(cells[i], i) for cells in rows for i, name in enumerate(names) if cells[i]}


def test_main_has_the_paper_the_cited_systems_and_ours(run: Writer, tmp_path: Path) -> None:
    run("scan/jump", csl=100, t5=98)
    table = made("main", tmp_path)
    assert labels(table, OURS) == ["T5", "CSL"]
    assert shown(table, OURS, "T5") == {"SCAN Jump": "98.0"}
    assert shown(table, PAPER, "T5")["SCAN Left"] == "62.0"
    assert shown(table, PAPER, "CSL")["GeoQuery Len."] == "26.6"
    assert shown(table, PAPER, "T5+CSL ensemble")["GeoQuery Len."] == "51.7"
    assert shown(table, PAPER, "LeAR") == {"COGS Gen.": "97.7"}
    assert shown(table, PAPER, "BERT + SpanLabel")["COGS Gen."] == "99.2"
    assert len(table.columns) == 15
    assert not any("splits" in note or "left out" in note for note in table.notes)


def labels(table: Table, source: str) -> list[str]:
    return [row.labels[0] for row in table.rows if row.source == source]


def test_only_columns_with_a_run_are_shown_with_all_systems_of_the_paper(run: Writer, tmp_path: Path) -> None:
    run("scan/jump", csl=100)
    table = made("main", tmp_path, everything=False)
    assert table.columns == (("SCAN", "Jump"),)
    assert labels(table, OURS) == ["CSL"]
    assert labels(table, PAPER) == ["NQG-T5", "T5", "T5+GECA", "T5+CSL-Aug.", "CSL", "T5+CSL ensemble"]
    assert shown(table, PAPER, "T5") == {"SCAN Jump": "99.5"}


def test_in_tables_by_split_only_rows_with_a_run_are_shown(run: Writer, tmp_path: Path) -> None:
    run("geoquery/length", csl=score(45, answered=60))
    run("mine", csl=50)
    table = made("breakdown", tmp_path, everything=False)
    assert labels(table, OURS) == ["GeoQuery Len.", "other runs Mine"]
    assert shown(table, PAPER, "GeoQuery Len.") == {
        "covered %": "29.0", "covered CSL": "91.6", "others CSL": "0.0", "all CSL": "26.6"
    }  # fmt: skip
    assert labels(table, PAPER) == ["GeoQuery Len."]


def test_runs_with_pairs_of_geca_are_a_row_of_their_own(run: Writer, tmp_path: Path) -> None:
    run("scan/jump", csl=100, t5=98, augmented=99)
    run("scan/jump", csl=100, t5=98, augmented=97, settings={"sampling.method": "geca"})
    recipe = run("scan/length", t5=10, augmented=11) / "recipe.toml"
    recipe.write_text(recipe.read_text("utf-8") + 'sampling.method = "geca"\n', "utf-8")
    table = made("main", tmp_path)
    assert shown(table, OURS, "T5") == {"SCAN Jump": "98.0", "SCAN Len.": "10.0"}
    assert shown(table, OURS, "T5+GECA") == {"SCAN Jump": "97.0", "SCAN Len.": "11.0"}
    assert shown(table, OURS, "T5+CSL-Aug.") == {"SCAN Jump": "99.0"}
    assert shown(table, PAPER, "T5+GECA")["SCAN Jump"] == "99.7"
    assert not any("left out" in note for note in table.notes)


def test_runs_with_nqg_have_its_rows(run: Writer, tmp_path: Path) -> None:
    flan = {"nqg.encoder": "flan", "nqg.steps": 300}
    run("scan/jump", csl=100, t5=98, augmented=99)
    run("scan/jump", csl=100, t5=97, nqg=60, nqg_t5=96, span_label=95, settings=flan)
    run("scan/jump", csl=100, t5=98, augmented=91, settings={"sampling.method": "geca"})
    run("scan/length", t5=10, augmented=90, nqg=70, nqg_t5=80, span_label=75, settings=flan)
    run("scan/turn_left", t5=11, nqg=70, span_label=85)  # a recipe of one's own may name an encoder
    table = made("main", tmp_path)
    assert shown(table, OURS, "NQG-T5") == {"SCAN Jump": "96.0", "SCAN Len.": "80.0"}
    assert shown(table, OURS, "BERT + SpanLabel") == {"SCAN Jump": "95.0", "SCAN Left": "85.0", "SCAN Len.": "75.0"}
    assert shown(table, OURS, "T5") == {"SCAN Jump": "98.0", "SCAN Left": "11.0", "SCAN Len.": "10.0"}
    assert shown(table, OURS, "T5+CSL-Aug.") == {"SCAN Jump": "99.0", "SCAN Len.": "90.0"}
    assert shown(table, OURS, "T5+GECA") == {"SCAN Jump": "91.0"}
    assert not any("left out" in note for note in table.notes)
    run("scan/jump", nqg=60, nqg_t5=90, settings={"nqg.encoder": "bert"})
    with pytest.raises(InputError, match="scan/jump, seed 0"):
        made("main", tmp_path)


def test_seeds_have_a_mean_and_the_deviation_of_a_sample(run: Writer, tmp_path: Path) -> None:
    for seed, right in enumerate((70, 72, 77)):
        run("geoquery/length", seed, csl=right)
    assert shown(made("main", tmp_path), OURS, "CSL") == {"GeoQuery Len.": "73.0 ± 3.6 (3)"}


def test_a_column_of_several_splits_is_the_mean_of_their_means(run: Writer, tmp_path: Path) -> None:
    for seed, right in ((0, 60), (1, 70), (2, 80)):
        run("geoquery/tmcd_1", seed, csl=right)
    for seed, right in ((0, 90), (1, 94)):
        run("geoquery/tmcd_3", seed, csl=right, t5=50)
    table = made("main", tmp_path)
    # 70 and 92; seeds 0 and 1, which both splits have, have 75 and 82
    assert shown(table, OURS, "CSL") == {"GeoQuery TMCD": "81.0 ± 4.9* (5)"}
    assert "* GeoQuery TMCD (CSL): 2 of 3 splits, geoquery/tmcd_1, geoquery/tmcd_3." in table.notes
    assert "* GeoQuery TMCD (T5): 1 of 3 splits, geoquery/tmcd_3." in table.notes
    for number in (1, 2, 3):
        run(f"scan/mcd{number}", csl=90 + number)
    table = made("main", tmp_path)
    assert shown(table, OURS, "CSL")["SCAN MCD"] == "92.0 (3)"
    assert not any("SCAN" in note for note in table.notes)


def test_categories_are_columns_and_the_fifth_and_own_recipes_have_no_figures_of_the_paper(
    run: Writer, tmp_path: Path
) -> None:
    run("smcalflow-cs/32", csl=score(40, single=71, cross=11))
    run("smcalflow-cs-fifth/16", csl=score(40, single=70, cross=10))
    run("mine", csl=33)
    table = made("main", tmp_path)
    own = {"SMCalFlow-CS fifth 16-S": "70.0", "SMCalFlow-CS fifth 16-C": "10.0", "other runs Mine": "33.0"}
    assert shown(table, OURS, "CSL") == {"SMCalFlow-CS 32-S": "71.0", "SMCalFlow-CS 32-C": "11.0", **own}
    assert not any({*own} & {*shown(table, PAPER, label)} for label in labels(table, PAPER))
    assert len(table.columns) == 18


def test_changed_runs_are_left_out_and_named_or_marked_if_there_are_no_others(run: Writer, tmp_path: Path) -> None:
    run("geoquery/length", csl=50)
    for states in (1, 2):
        run("geoquery/length", csl=90, settings={"fit.states": states})
    for steps in (9, 10):
        run("scan/jump", csl=30 + steps, settings={"train.steps": steps})
    table = made("main", tmp_path)
    assert shown(table, OURS, "CSL") == {"GeoQuery Len.": "50.0"}
    assert {shown(table, f"{OURS} [{n}]", "CSL")["SCAN Jump"] for n in (1, 2)} == {"39.0", "40.0"}
    assert "geoquery/length: left out, runs with fit.states = 1; fit.states = 2." in table.notes
    assert {"[1] with train.steps = 10.", "[2] with train.steps = 9."} <= {*table.notes}


def test_runs_with_the_papers_options_stand_apart_from_ours(run: Writer, tmp_path: Path) -> None:
    run("geoquery/length", csl=50)
    run("paper/geoquery/length", csl=27)
    run("paper/scan/jump", csl=99, settings={"fit.states": 3})
    table = made("main", tmp_path)
    assert shown(table, OURS, "CSL") == {"GeoQuery Len.": "50.0"}
    assert shown(table, SAME, "CSL") == {"GeoQuery Len.": "27.0"}
    assert shown(table, f"{SAME} [1]", "CSL") == {"SCAN Jump": "99.0"}
    assert [row.source for row in table.rows if row.labels == ("CSL",)] == [PAPER, SAME, f"{SAME} [1]", OURS]


def test_a_setting_as_in_the_recipe_is_no_change(run: Writer, tmp_path: Path) -> None:
    run("geoquery/length", csl=50, settings={"fit.states": 64, "sampling.strategy": "tempered"})
    assert shown(made("main", tmp_path), OURS, "CSL") == {"GeoQuery Len.": "50.0"}


def test_sweeps_with_other_settings_stay_apart(run: Writer, tmp_path: Path) -> None:
    for settings, value in (({}, -9.0), ({"fit.optimizer": "em"}, -8.0), ({"induction.k_t": 2}, -7.0)):
        parts = {"train": {"log_p_xy": value, "log_p_y_given_x": 0.0}}
        run("scan/mcd1", csl=1, parts=parts, settings={"fit.states": 2, "sampling.number": 7, **settings})
    table = made("states", tmp_path)
    found = [shown(table, source, "scan/mcd1", "train", "p(x, y)") for source in (OURS, f"{OURS} [1]", f"{OURS} [2]")]
    assert found == [{"2": "-9.00"}, {"2": "-8.00"}, {"2": "-7.00"}]
    assert table.notes[-2:] == ("[1] with fit.optimizer = em.", "[2] with induction.k_t = 2.")


def test_two_runs_for_one_figure_must_agree(run: Writer, tmp_path: Path) -> None:
    semi = {"sampling.number": 1000, "fit.unlabelled": "dev"}
    run("scan/mcd1", csl=1, augmented=60, settings=semi)
    run("scan/mcd1", csl=1, augmented=60, settings=semi | {"fit.ratio": 1.0})
    assert shown(made("semi", tmp_path), OURS, "1,000 + unlabelled") == {"SCAN MCD": "60.0*"}
    run("scan/mcd1", csl=1, augmented=61, settings=semi | {"fit.ratio": 2.0})
    with pytest.raises(InputError, match=r"fit.ratio=2.0/seed-0: scan/mcd1, seed 0"):
        made("semi", tmp_path)


def test_breakdown(run: Writer, tmp_path: Path) -> None:
    parts = {"covered": {"examples": 60, "t5": 30, "csl": 45, "augmented": 57},
             "others": {"examples": 40, "t5": 10, "csl": 0, "augmented": 20}}  # fmt: skip
    systems = {"csl": score(45, answered=60), "t5": 40, "augmented": 77, "ensemble": 55}
    run("geoquery/length", breakdown=parts, inference="typed", **systems)
    run("scan/jump", csl=100)
    run("paper/scan/jump", csl=100, inference="paper")
    run("cogs/gen", csl=score(30, answered=60))
    table = made("breakdown", tmp_path)
    assert shown(table, OURS, "GeoQuery Len.") == {
        "covered %": "60.0", "covered T5": "50.0", "covered CSL": "75.0", "covered Aug.": "95.0", "others T5": "25.0",
        "others CSL": "0.0", "others Aug.": "50.0", "all T5": "40.0", "all CSL": "45.0", "all Ens.": "55.0",
        "all Aug.": "77.0",
    }  # fmt: skip
    assert shown(table, PAPER, "GeoQuery Len.")["others Aug."] == "61.3"
    assert shown(table, OURS, "SCAN Jump") == {"covered %": "100.0", "covered CSL": "100.0", "all CSL": "100.0"}
    assert shown(table, OURS, "COGS Gen.")["covered CSL"] == "50.0"
    assert {*labels(table, OURS)} == {"GeoQuery Len.", "SCAN Jump", "COGS Gen."}
    assert len(labels(table, PAPER)) == 15
    assert any(note.startswith(f"{SAME}: ") and "derivation of all" in note for note in table.notes)
    assert any(note.startswith(f"{OURS}: ") and "types" in note for note in table.notes)


def test_breakdown_by_category(run: Writer, tmp_path: Path) -> None:
    none = {"covered": {"examples": 0, "t5": 0}, "others": {"examples": 100, "t5": 20}}
    csl = score(0, answered=0, cross=0)
    csl["groups"]["cross"]["answered"] = 0
    run("smcalflow-cs/8", csl=csl, t5=score(20, cross=20), breakdown=none | {"groups": {"cross": none}})
    table = made("breakdown", tmp_path)
    assert shown(table, OURS, "SMCalFlow-CS 8-C") == {
        "covered %": "0.0", "others T5": "20.0", "others CSL": "0.0", "all T5": "20.0", "all CSL": "0.0"
    }  # fmt: skip
    assert shown(table, OURS, "SMCalFlow-CS 8-S") == {}


def test_states(run: Writer, tmp_path: Path) -> None:
    def parts(log_p_xy: float | None) -> dict[str, Any]:
        return {part: {"log_p_xy": log_p_xy, "log_p_y_given_x": -0.001} for part in ("train", "dev", "test")}

    run("scan/mcd1", csl=100, parts=parts(-9.5))  # with 4 states, as the recipe has it
    run("scan/mcd1", csl=100, parts=parts(-9.5), settings={"fit.states": 4})
    run("scan/mcd1", csl=100, parts=parts(-8.25), settings={"fit.states": 16})
    run("scan/jump", csl=100, parts=parts(None), settings={"fit.states": 2})
    run("cogs/gen", csl=100, parts=parts(-20))
    table = made("states", tmp_path)
    assert [name for _, name in table.columns] == ["1", "2", "3", "4", "8", "16", "32"]
    assert shown(table, OURS, "scan/mcd1", "train", "p(x, y)") == {"4": "-9.50", "16": "-8.25"}
    assert shown(table, PAPER, "scan/mcd1", "dev", "p(x, y)")["4"] == "-13.32"
    assert shown(table, OURS, "scan/mcd1", "test", "p(y | x)") == {"4": "0.00", "16": "0.00"}
    assert shown(table, OURS, "scan/jump", "dev", "p(y | x)") == {"2": "0.00"}
    assert {row.labels[0] for row in table.rows} == {"scan/mcd1", "scan/mcd2", "scan/mcd3", "scan/jump"}


def test_temperature(run: Writer, tmp_path: Path) -> None:
    run("geoquery/length", csl=1, augmented=60)
    forward = {"sampling.strategy": "forward"}
    for temperature, right in ((1.0, 65), (2.0, 70), (float("inf"), 75)):
        run("geoquery/length", csl=1, augmented=right, settings=forward | {"sampling.temperature": temperature})
    run("geoquery/length", csl=1, augmented=50, settings={"sampling.strategy": "tempered", "sampling.temperature": 2.0})
    run("scan/jump", csl=1)
    table = made("temperature", tmp_path)
    ours = {"1": "65.0", "2": "70.0", "inf": "75.0", "model": "60.0", "tempered 2": "50.0"}
    assert labels(table, OURS) == [*ours]
    assert labels(table, PAPER) == ["1", "10", "inf"]
    assert [shown(table, OURS, name)["GeoQuery Len."] for name in ours] == [*ours.values()]
    assert shown(table, PAPER, "inf")["GeoQuery Len."] == "51.5"


def test_semi(run: Writer, tmp_path: Path) -> None:
    run("scan/mcd1", csl=1, augmented=60, settings={"sampling.number": 1000})
    run("scan/mcd1", csl=1, augmented=80, settings={"sampling.number": 1000, "fit.unlabelled": "dev"})
    table = made("semi", tmp_path)
    assert shown(table, OURS, "1,000") == {"SCAN MCD": "60.0*"}
    assert shown(table, OURS, "1,000 + unlabelled") == {"SCAN MCD": "80.0*"}
    assert shown(table, PAPER, "1,000 + unlabelled")["SCAN MCD"] == "88.9"
    assert labels(table, PAPER) == ["1,000", "1,000 + unlabelled", "100,000", "100,000 + unlabelled"]


def test_parsers(run: Writer, tmp_path: Path) -> None:
    run("geoquery/length", csl=27, span_label=24, settings={"nqg.encoder": "bert"})
    run("geoquery/length", csl=27)
    table = made("parsers", tmp_path)
    assert shown(table, PAPER, "BERT + SpanLabel")["GeoQuery Len."] == "23.3"
    assert shown(table, OURS, "BERT + SpanLabel") == {"GeoQuery Len.": "24.0"}
    assert shown(table, OURS, "CSL Gen. Model") == {"GeoQuery Len.": "27.0"}


def test_grammars(run: Writer, tmp_path: Path) -> None:
    derived = {"test": {"examples": 200, "derivable": 150}}
    run("geoquery/standard", csl=1, nqg=1, parts=derived, settings={"nqg.encoder": "bert"})
    run("geoquery/standard", csl=1, parts=derived, settings={"induction.k_t": 2, "train.steps": 9})
    table = made("grammars", tmp_path)
    ours = {"rules": "1,020", "with NT": "20", "derived %": "75.0", "seconds": "3.5", "parameters": "40"}
    assert shown(table, PAPER, "geoquery/standard", "CSL") == {"seconds": "60.0", "parameters": "51,200"}
    assert shown(table, OURS, "geoquery/standard", "CSL") == ours
    assert shown(table, f"{OURS} [1]", "geoquery/standard", "CSL") == ours
    assert shown(table, OURS, "geoquery/standard", "NQG") == {"rules": "30", "with NT": "20", "seconds": "900.0"}
    assert "[1] with induction.k_t = 2." in table.notes


def test_domains(run: Writer, tmp_path: Path) -> None:
    for shots, cross in (("8", 10), ("16", 20)):
        settings = {"sampling.strategy": "forward", "sampling.temperature": 10.0}
        run(f"paper/smcalflow-cs/{shots}", categories={"cross": cross, "single": 70}, settings=settings)
    run("smcalflow-cs-fifth/8", categories={"single": 80}, unfinished=True)
    table = made("domains", tmp_path)
    assert shown(table, PAPER, "1") == {"SMCalFlow-CS cross": "1,114"}
    assert shown(table, SAME, "10") == {"SMCalFlow-CS single": "70* (2)", "SMCalFlow-CS cross": "15* (2)"}
    fifth = {"SMCalFlow-CS fifth single": "80*", "SMCalFlow-CS fifth cross": "0*"}
    assert shown(table, OURS, "model") == fifth


def test_variance(run: Writer, tmp_path: Path) -> None:
    for seed, right in enumerate((76, 78)):
        run("geoquery/tmcd_1", seed, csl=50, augmented=right)
    run("scan/jump", csl=100)
    table = made("variance", tmp_path)
    assert shown(table, PAPER, "geoquery/tmcd_1") == {"T5+CSL-Aug.": "77.2 ± 1.1 (3)"}
    assert shown(table, OURS, "geoquery/tmcd_1") == {"T5+CSL-Aug.": "77.0 ± 1.4 (2)", "CSL": "50.0 ± 0.0 (2)"}
    assert shown(table, OURS, "scan/jump") == {"CSL": "100.0"}


@pytest.mark.parametrize("kind", TABLES)
def test_every_table_stands_without_figures_of_ours(kind: str, run: Writer, tmp_path: Path) -> None:
    folder = run("cogs/gen", unfinished=True)
    table = made(kind, tmp_path)
    assert (f"{folder}: not evaluated yet." in table.notes) == (kind not in ("temperature", "semi", "domains"))
    if kind != "grammars":  # it needs no evaluation
        assert labels(table, OURS) == []
        assert sum(cell is not None for row in table.rows for cell in row.cells) >= 2
        assert "None of the runs has a figure for this table." in table.notes
        assert made(kind, tmp_path, everything=False).rows == ()


# reading runs


def test_runs_are_found_at_any_depth_once_and_not_in_caches(run: Writer, tmp_path: Path) -> None:
    folder = run("scan/jump", csl=100)
    run("a/.cache/b", csl=100)
    assert [found.folder for found in read_runs([folder, tmp_path, folder.parent])] == [folder]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "run.json: "),
        ("[1]", "run.json: "),
        ('{"recipe": "a"}', "run.json: .*title"),
        ('{"recipe": "a", "title": "A", "seed": 0, "stages": {"evaluate": {"figures": {"systems": {"csl": 3}}}}}',
         r"run.json: .*stages\.evaluate\.figures\.systems\.csl"),
        (b"\xff", "run.json:1: .*UTF-8"),
    ],
)  # fmt: skip
def test_a_damaged_or_foreign_record_is_refused_in_a_line(text: str | bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=reason):
        read_runs([tmp_path])


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no run\.json"):
        read_runs([tmp_path])
    with pytest.raises(InputError, match="absent: "):
        read_runs([tmp_path / "absent"])


def test_a_damaged_recipe_is_refused_where_it_is_needed(run: Writer, tmp_path: Path) -> None:
    folder = run("scan/jump", csl=100, augmented=90)
    (folder / "recipe.toml").write_text("sampling = 1\n", "utf-8")
    assert shown(made("variance", tmp_path), OURS, "scan/jump") == {"T5+CSL-Aug.": "90.0", "CSL": "100.0"}
    for kind in ("main", "temperature"):  # they tell what the synthetic pairs are
        with pytest.raises(InputError, match=r"recipe\.toml: .*sampling"):
            made(kind, tmp_path)
