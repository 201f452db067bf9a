"""Readers of the original files of the data sets: SCAN, COGS, GeoQuery, SMCalFlow-CS."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from csl.datasets import cogs, geoquery, scan, smcalflow
from csl.datasets.registry import write_task
from csl.datasets.task import Task
from csl.examples import Example, read_examples
from csl.grammar.notation import read_rules
from csl.grammar.output_cfg import OutputCfg

from .reader import Reader, plain, texts

SCAN = {
    "tasks.txt": "IN: jump OUT: I_JUMP\nIN: run twice OUT: I_RUN I_RUN\nIN: turn left OUT: I_TURN_LEFT\n",
    "mcd1.json": '{"trainIdxs": [2, 0], "devIdxs": [], "testIdxs": [1]}',
}
COGS_LINES = """A rose was helped by a dog .\trose ( x _ 1 ) AND help . theme ( x _ 3 , x _ 1 ) AND \
help . agent ( x _ 3 , x _ 6 ) AND dog ( x _ 6 )\tin_distribution
Emma wanted to see the boy on a bed .\t* boy ( x _ 5 ) ; want . agent ( x _ 1 , Emma ) AND \
want . xcomp ( x _ 1 , x _ 3 ) AND see . agent ( x _ 3 , Emma ) AND see . theme ( x _ 3 , x _ 5 ) AND \
boy . nmod . on ( x _ 5 , x _ 8 ) AND bed ( x _ 8 )\tpp
shark\tLAMBDA a . shark ( a )\tprimitive
Paula\tPaula\tprimitive
"""
GEO = {
    "corpus.xml": """<?xml version="1.0"?>
<!DOCTYPE examples [ <!ELEMENT examples (example*)> ]>
<examples>
<example id="0"><nl lang="en"> Which rivers cross Austin Texas ? </nl>
  <mrl lang="geo-funql"> answer(river(traverse_2(cityid('austin', 'tx')))) </mrl></example>
<example id="1"><nl lang="en"> Name a state . </nl><mrl lang="geo-funql"> answer(state(all)) </mrl></example>
<example id="2"><nl lang="en"> the largest state ? </nl>
  <mrl lang="geo-funql"> answer(largest_one(area_1(state(all)))) </mrl></example>
</examples>
""",
    "geobase": "/* facts */\nstate('texas','tx','austin',1,2,3).\ncity('texas','tx','austin',1).\n",
    "funql_grammar.txt": """*n:Query -> ({ answer ( *n:State ) })
*n:Query -> ({ answer ( *n:River ) })
*n:River -> ({ river ( all ) })
*n:River -> ({ river ( *n:River ) })
*n:River -> ({ traverse_2 ( *n:City ) })
*n:City -> ({ cityid ( *n:CityName , *n:StateAbbrev ) })
*n:CityName -> ({ 'austin' })
*n:StateAbbrev -> ({ 'tx' })
*n:State -> ({ state ( all ) })
*n:State -> ({ largest_one ( area_1 ( *n:State ) ) })
*n:Num -> ({ area_1 ( *n:State ) }) zero-fertility
*n:Query -> ({ answer ( *n:Num ) })
*n:State -> ({ most ( state ( *n:State ) ) })
""",
    "splits/standard.json": '{"train": [1, 2], "test": [0]}',
}


def turn(number: int, utterance: str, plan: str, **fields: object) -> str:
    """Write a turn of SMCalFlow."""
    about = {"dialogue_id": f"d{number}", "turn_index": number, "utterance": utterance, "plan": plan}
    return json.dumps(about | fields) + "\n"


PLAN = '( Yield :output ( Create :event ( Constraint[Event] :subject # ( String " team-sync " ) ) ) )'
NUMBER = "( Yield :output ( Find :hour # ( Number 3.0 ) ( Today ) ) )"
TURNS = {
    "train.jsonl": turn(0, "add a team-sync", PLAN, tags=["events"]) + turn(1, "at 3", NUMBER, tags=["events"]),
    "valid.jsonl": turn(2, "find 3", NUMBER, tags=["events_with_orgchart"]) + turn(3, "at 3", NUMBER, tags=[]),
    "test.jsonl": turn(4, "again 3", NUMBER, in_num=[0, 8]),
    "train_fifth.jsonl": turn(5, "add a team-sync", PLAN, in_num=[0])
    + "".join(turn(number, "at 3", NUMBER, in_num=[8]) for number in range(6, 14)),
    "split_num8.json": json.dumps(
        {"train": ["d0.0", "d1.1"], "valid_s": ["d3.3"], "valid": ["d2.2"], "test_s": [], "test": ["d4.4"]}
    ),
}


def check_task(folder: Path, task: Task) -> None:
    """What is prepared is read again, all of it."""
    with TemporaryDirectory() as name:
        out = Path(name)
        card = write_task(task, out, name="x", split="y")
        for part in ("train", "dev", "test"):
            found = (
                list(read_examples(out / f"{part}.tsv", columns=task.columns)) if f"{part}.tsv" in card["sizes"] else []
            )
            assert found == getattr(task, part)
            assert [e.meta for e in found] == [
                {c: e.meta.get(c, "") for c in task.columns} for e in getattr(task, part)
            ]
        if task.seed_rules:
            assert list(read_rules(out / "seed_rules.txt")) == task.seed_rules
        if task.output_cfg:
            assert OutputCfg.read(out / "output.cfg").productions == task.output_cfg.productions


def check_cogs(folder: Path, task: Task) -> None:
    """No line is lost."""
    check_task(folder, task)
    for part, name in (("train", "train.tsv"), ("dev", "dev.tsv"), ("test", "gen.tsv")):
        if (folder / name).is_file():
            lines = plain(folder / name).removeprefix(b"\xef\xbb\xbf").split(b"\n")
            assert len(getattr(task, part)) == len(lines) - (lines[-1] == b"")


def check_turns(folder: Path, examples: dict[str, Example]) -> None:
    """No line is lost."""
    lines = plain(folder / "train.jsonl").decode().removeprefix("\ufeff").split("\n")
    assert len(examples) == sum(bool(line.strip()) for line in lines)


def check_corpus(folder: Path, task: Task) -> None:
    """Every id of the split is an example."""
    check_task(folder, task)
    ids = json.loads((folder / "splits/standard.json").read_text(encoding="utf-8-sig"))
    assert [len(task.train), len(task.test)] == [len(ids["train"]), len(ids["test"])]
    xml = (folder / "corpus.xml").read_text(errors="replace")
    if "<!--" not in xml and "&" not in xml:
        assert all(geoquery.restore(example) for example in task.train)


COGS_FILES = ("train.tsv", "dev.tsv", "gen.tsv")
OFFICIAL = ("train.jsonl", "valid.jsonl", "test.jsonl", "split_num8.json")
READERS = [
    Reader("SCAN", texts(SCAN), tuple(SCAN), lambda folder: scan.prepare(folder, "mcd1"), check_task),
    Reader(
        "COGS", texts(dict.fromkeys(COGS_FILES, COGS_LINES)), COGS_FILES, lambda folder: cogs.prepare(folder, "gen"),
        check_cogs, weight=0.5,
    ),
    Reader(
        "GeoQuery", texts(GEO), tuple(GEO), lambda folder: geoquery.prepare(folder, "standard"), check_corpus,
        weight=0.5,
    ),
    Reader(
        "SMCalFlow-CS, turns", texts(TURNS), ("train.jsonl",),
        lambda folder: smcalflow.read_turns(folder / "train.jsonl"), check_turns,
    ),
    Reader(
        "SMCalFlow-CS", texts(TURNS), OFFICIAL, lambda folder: smcalflow.prepare(folder, "8"), check_task, weight=0.5
    ),
    Reader(
        "SMCalFlow-CS, fifth", texts(TURNS), ("train_fifth.jsonl", "valid.jsonl"),
        lambda folder: smcalflow.prepare_fifth(folder, "8"), check_task, weight=0.5,
    ),
]  # fmt: skip
