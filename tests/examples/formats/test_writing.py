"""Writers: what was read comes back byte for byte, and new rows look like it, in every format."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.errors import InputError
from csl.examples.formats import Layout, Row, read_rows, to_dataset, write_outputs, write_rows

from .test_reading import CALL, FILES, PAIRS, lines, written

FORMATS = ["tsv", "csv", "jsonl", "chat", "prompt-completion", "parquet"]
ENDINGS = {"chat": "jsonl", "prompt-completion": "jsonl"}


@pytest.mark.parametrize("format", FILES)
def test_rows_come_back_byte_for_byte(tmp_path: Path, format: str) -> None:
    path = written(tmp_path, *FILES[format])
    for name in (f"again.{path.suffix[1:]}", "again"):
        assert write_rows(tmp_path / name, read_rows(path)) == 2
        assert (tmp_path / name).read_bytes() == path.read_bytes()


def test_odd_json_lines_come_back_byte_for_byte_with_columns_added(tmp_path: Path) -> None:
    path = written(tmp_path, "x.jsonl", '{ "output":{"b":1.50},"n": null, "input" : "\\u00e9" } \n')
    found = read_rows(path)
    write_rows(tmp_path / "y.jsonl", found)
    assert (tmp_path / "y.jsonl").read_bytes() == path.read_bytes()
    rows = [Row(row.input, row.output, {"origin": "original"}, row.record) for row in found.rows]
    rows.append(Row("é", '{"b":2}', {"origin": "made"}))
    write_rows(tmp_path / "y.jsonl", rows, found.layout, columns=("origin",))
    first, second = (tmp_path / "y.jsonl").read_text("utf-8").splitlines()
    assert first == '{ "output":{"b":1.50},"n": null, "input" : "\\u00e9", "origin": "original"}'
    assert json.loads(second) == {"input": "é", "output": {"b": 2}, "origin": "made"}


@pytest.mark.parametrize("source", FILES)
@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("columns", [(), ("origin", "weight")])
def test_any_format_becomes_any_other(tmp_path: Path, source: str, target: str, columns: tuple[str, ...]) -> None:
    if target == "parquet":
        pytest.importorskip("pyarrow")
    found = read_rows(written(tmp_path, *FILES[source]))
    meta = {"origin": "synthetic", "weight": 2}
    rows = [*(Row(row.input, row.output, meta, row.record) for row in found.rows), Row("new one", "f(x)", meta)]
    path = tmp_path / f"y.{ENDINGS.get(target, target)}"
    assert write_rows(path, rows, found.layout, format=target, columns=columns) == 3
    again = read_rows(path)
    assert (again.format, again.rows) == (target, rows)
    if columns and target != "tsv":
        assert all(row.meta["origin"] == "synthetic" for row in again.rows)


characters = st.characters(codec="utf-8", exclude_characters="\0\r")
text = st.text(characters, min_size=1).filter(lambda t: t.strip(" \t\n\f\v"))


@pytest.mark.parametrize("target", ["csv", "jsonl", "chat", "prompt-completion"])
@settings(deadline=None, max_examples=25)
@given(pairs=st.lists(st.builds(Row, text, text), min_size=1, max_size=4))
def test_any_text_round_trips(tmp_path_factory: pytest.TempPathFactory, target: str, pairs: list[Row]) -> None:
    path = tmp_path_factory.mktemp("rows") / f"x.{ENDINGS.get(target, target)}"
    write_rows(path, pairs, format=target)
    assert read_rows(path).rows == pairs


def test_a_chat_gets_its_system_prompt_and_tools_again(tmp_path: Path) -> None:
    system = {"role": "system", "content": "be brief"}
    tools = [{"type": "function", "function": {"name": "on"}}]
    answer = {"role": "assistant", "content": None, "tool_calls": [CALL | {"id": "call_7"}]}
    other = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}
    chat = {"id": 5, "tools": tools, "messages": [system, {"role": "user", "content": "fan on"}, answer]}
    found = read_rows(written(tmp_path, "x.jsonl", lines(other, chat, chat)))
    call = '{"name": "off", "arguments": {"a": ["é"]}}'
    write_rows(tmp_path / "y.jsonl", [Row("fan off", call), Row("thanks", "welcome")], found.layout)
    first, second = (json.loads(line) for line in (tmp_path / "y.jsonl").read_text("utf-8").splitlines())
    assert "id" not in first
    assert first["tools"] == tools
    assert first["messages"][:2] == [system, {"role": "user", "content": "fan off"}]
    [made] = first["messages"][2]["tool_calls"]
    assert (made["id"], made["type"], made["function"]["name"]) == ("call_1", "function", "off")
    assert json.loads(made["function"]["arguments"]) == {"a": ["é"]}
    assert second["messages"][2] == {"role": "assistant", "content": "welcome"}
    assert [row.output for row in read_rows(tmp_path / "y.jsonl").rows] == [call, "welcome"]


def test_several_calls_and_arguments_as_objects(tmp_path: Path) -> None:
    answer = {"role": "assistant", "tool_calls": [{"name": "on", "arguments": {"x": 1}}]}
    found = read_rows(written(tmp_path, "x.jsonl", lines({"messages": [{"role": "user", "content": "a"}, answer]})))
    call = '{"name": "on", "arguments": {"x": 2}}'
    write_rows(tmp_path / "y.jsonl", [Row("b", f"[{call}, {call}]")], found.layout)
    (record,) = (json.loads(line) for line in (tmp_path / "y.jsonl").read_text("utf-8").splitlines())
    assert record["messages"][1]["tool_calls"] == [json.loads(call)] * 2


@pytest.mark.parametrize("format", ["chat", "jsonl", "csv", "parquet", "prompt-completion"])
def test_other_libraries_load_what_is_written(tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    calls = [f'{{"name": "f{k}", "arguments": {{"a{k}": {v}}}}}' for k, v in enumerate(('"x"', "1", "[2]"))]
    rows = [Row(f"do {k}", call, {"origin": "synthetic"}) for k, call in enumerate(calls)]
    path = tmp_path / f"x.{ENDINGS.get(format, format)}"
    write_rows(path, rows, format=format, columns=("origin",))
    kind = {"jsonl": "json"}.get(path.suffix[1:], path.suffix[1:])
    loaded = datasets.load_dataset(kind, data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
    assert len(loaded) == 3
    if format == "chat":
        arguments = [row["messages"][1]["tool_calls"][0]["function"]["arguments"] for row in loaded]
        assert [json.loads(text) for text in arguments] == [{"a0": "x"}, {"a1": 1}, {"a2": [2]}]
        assert to_dataset(read_rows(path))[0]["messages"][0] == {"role": "user", "content": "do 0", "tool_calls": None}


def test_outputs_of_a_model_have_their_columns(tmp_path: Path) -> None:
    rows = read_rows(written(tmp_path, "x.csv", "id,question,query\n1,a,A\n2,b,B\n"), inputs_only=True)
    made: list[dict[str, Any]] = [{"output": "X", "log_prob": "-1"}, {"output": "", "log_prob": ""}]
    assert write_outputs(tmp_path / "y.csv", rows, made) == 2
    assert (tmp_path / "y.csv").read_text("utf-8") == "question,query,log_prob\na,X,-1\nb,,\n"
    write_outputs(tmp_path / "y.tsv", rows, made)
    assert (tmp_path / "y.tsv").read_text("utf-8") == "a\tX\t-1\nb\t\t\n"


def test_what_a_format_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.tsv: row 2 "):
        write_rows(tmp_path / "x.tsv", [Row("a", "A"), Row("a\tb", "A")])
    with pytest.raises(InputError, match=r"x\.jsonl: row 1 "):
        write_rows(tmp_path / "x.jsonl", [Row("a", "{")], Layout("jsonl", json_output=True))
    with pytest.raises(InputError, match="'origin'"):
        write_rows(tmp_path / "x.csv", [], Layout("csv", columns=("input", "output", "origin")), columns=("origin",))
    with pytest.raises(InputError, match="'jsonl'"):
        write_rows(tmp_path / "x.tsv", PAIRS, format="json")
    assert not list(tmp_path.iterdir())
