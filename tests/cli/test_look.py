"""`csl look`: a table for people, JSON for programs, one line for bad files."""

import json
from pathlib import Path

from .commands import csl, refused

CSV = "question,query\nList the states.,answer(state(all))\nstates?,answer(state(all))\n"


def test_format_language_and_pairs_are_shown(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(CSV, "utf-8")
    shown = csl("look", tmp_path / "x.csv").stdout
    assert all(text in shown for text in ("'question' → 'query'", "calls; 2 outputs parse (100.0%)", "call state"))
    found = json.loads(csl("look", tmp_path / "x.csv", "--json").stdout)
    assert (found["format"], found["language"], found["rows"], found["parsed"]) == ("csv", "calls", 2, 2)
    forced = json.loads(csl("look", tmp_path / "x.csv", "--json", "--output-language", "code").stdout)
    assert forced["language"] == "code"


def test_bad_rows_are_refused_or_left_out(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(f"{CSV}ragged\n", "utf-8")
    assert f"{tmp_path / 'x.csv'}:4: " in refused("look", tmp_path / "x.csv")
    result = csl("look", tmp_path / "x.csv", "--skip-bad")
    assert "1 bad row" in result.stderr
    assert "calls" in refused("look", tmp_path / "x.csv", "--output-language", "clals", "--skip-bad")


def test_two_languages_in_a_file_are_refused_or_one_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("a\tf(x)\nb\tf(g(y))\nc\tSELECT a FROM b\n", "utf-8")
    assert f"{tmp_path / 'x.tsv'}:3: " in refused("look", tmp_path / "x.tsv")
    assert json.loads(csl("look", tmp_path / "x.tsv", "--skip-bad", "--json").stdout)["rows"] == 2
