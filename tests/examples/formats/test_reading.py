"""Readers: texts exactly as they are in the file, whatever its format, and one clear line for what cannot be read."""

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from csl.errors import InputError
from csl.examples.formats import Row, read_rows

PAIRS = [Row("List  the states.", "answer(state(all))"), Row('où "ça", 😀?', "f(a,  'b;c')\\n")]
CALL = {"type": "function", "function": {"name": "on", "arguments": '{"name":  "Fan"}'}}


def lines(*entries: object) -> str:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)


def turns(source: str, target: str) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": source}, {"role": "assistant", "content": target}]}


CSV = """id,question,query\r
1,List  the states.,answer(state(all))\r
2,"où ""ça"", 😀?","f(a,  'b;c')\\n"\r
"""
FILES = {
    "tsv": ("x.tsv", "".join(f"{row.input}\t{row.output}\n" for row in PAIRS)),
    "csv": ("x.csv", CSV),
    "jsonl": ("x.jsonl", lines(*({"output": row.output, "input": row.input} for row in PAIRS))),
    "chat": ("x.jsonl", lines(*(turns(row.input, row.output) for row in PAIRS))),
    "prompt-completion": ("x.jsonl", lines(*({"prompt": row.input, "completion": row.output} for row in PAIRS))),
}  # fmt: skip


@pytest.fixture(params=FILES)
def format(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_the_format_is_seen_from_the_file(tmp_path: Path, format: str, packed: bool) -> None:
    name, content = FILES[format]
    raw = content.encode()
    path = written(tmp_path, name + ".gz" * packed, gzip.compress(raw, mtime=0) if packed else raw)
    found = read_rows(path)
    assert (found.format, found.rows, found.skipped, found.note) == (format, PAIRS, [], "")
    assert read_rows(path, format).rows == PAIRS


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_has_any_format_too(
    tmp_path: Path, format: str, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = FILES[format][1].encode()
    raw = gzip.compress(raw) if packed else raw
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    found = read_rows("-")
    assert (found.format, found.rows) == (format, PAIRS)


def test_columns_are_named_guessed_or_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "x.csv", "id,Question,tokens,SQL\n1,q,t,s\n")
    assert read_rows(path).rows == [Row("q", "s")]
    assert read_rows(path).rows[0].meta == {"id": "1", "tokens": "t"}
    assert read_rows(path, output_column="tokens").rows == [Row("q", "t")]
    assert read_rows(path, input_column="id", output_column="tokens").rows == [Row("1", "t")]
    assert read_rows(written(tmp_path, "two.csv", "a;b\nx,1;y\n")).rows == [Row("x,1", "y")]
    three = written(tmp_path, "three.csv", "a,b,c\nx,y,z\n")
    with pytest.raises(InputError, match="--input-column"):
        read_rows(three)
    with pytest.raises(InputError, match=r"three\.csv:1: no column 'd'; the file has a, b, c"):
        read_rows(three, input_column="a", output_column="d")


def test_a_tsv_may_have_a_header(tmp_path: Path) -> None:
    path = written(tmp_path, "x.tsv", "domain\tutterance\tsemantic_parse\nd\tu\tp\n")
    assert read_rows(path).rows == [Row("u", "p")]
    assert read_rows(path, output_column="domain").rows == [Row("u", "d")]
    plain = written(tmp_path, "plain.tsv", "d\tu\tp\n")
    assert read_rows(plain).rows[0].meta == {"category": "p"}
    assert read_rows(plain, input_column="2", output_column="3").rows == [Row("u", "p")]


def test_the_text_of_a_json_value_is_as_in_the_file(tmp_path: Path) -> None:
    texts = ['{ "b":1,"a" : [1.50, "\\u00e9"]}', "[ ]", "1e2", "true"]
    for text in texts:
        path = written(tmp_path, "x.jsonl", f'{{"x": {{"output": 0}}, "input": "a",  "output" :  {text} }}\n')
        assert read_rows(path).rows == [Row("a", text)]
        assert read_rows(path).layout.json_output


def test_the_last_turn_of_a_chat_with_what_surrounds_it(tmp_path: Path) -> None:
    system = {"role": "system", "content": "be brief"}
    one = {"messages": [system, *turns("a", "A")["messages"]], "tools": [{"name": "on"}]}  # type: ignore[misc]
    more = {"messages": [*one["messages"], *turns("b", "B")["messages"]]}  # type: ignore[misc]
    found = read_rows(written(tmp_path, "x.jsonl", lines(one, more, one)))
    assert found.rows == [Row("a", "A"), Row("b", "B"), Row("a", "A")]
    assert "line 2" in found.note
    assert found.layout.template is not None
    assert (found.layout.template["messages"][0], found.layout.template["tools"]) == (system, [{"name": "on"}])


@pytest.mark.parametrize(
    ("calls", "output"),
    [
        ([CALL], '{"name": "on", "arguments": {"name":  "Fan"}}'),
        ([CALL, CALL], ", ".join(['{"name": "on", "arguments": {"name":  "Fan"}}'] * 2).join("[]")),
        ([{"name": "on", "arguments": {"x": [1, "é"]}}], '{"name": "on", "arguments": {"x": [1, "é"]}}'),
        ([{"function": {"name": "off"}}], '{"name": "off", "arguments": {}}'),
    ],
)
def test_tool_calls_become_json(tmp_path: Path, calls: list[object], output: str) -> None:
    user = {"role": "user", "content": [{"type": "text", "text": "do"}]}
    messages = [user, {"role": "assistant", "tool_calls": calls}]
    assert read_rows(written(tmp_path, "x.jsonl", lines({"messages": messages}))).rows == [Row("do", output)]


def test_prompts_may_be_messages(tmp_path: Path) -> None:
    user, assistant = turns("a", "A")["messages"]  # type: ignore[misc]
    found = read_rows(written(tmp_path, "x.jsonl", lines({"prompt": [user], "completion": [assistant]})))
    assert (found.format, found.rows) == ("prompt-completion", [Row("a", "A")])


def test_inputs_alone(tmp_path: Path) -> None:
    files = {"x.txt": "a, b\nc\n", "x.jsonl": lines({"q": "a, b"}, {"q": "c"}), "x.csv": 'q\n"a, b"\nc\n'}
    for name, content in files.items():
        found = read_rows(written(tmp_path, name, content), inputs_only=True)
        assert [row.input for row in found.rows] == ["a, b", "c"]


GOOD = b'{"input": "a", "output": "A"}\n'
BAD = {  # a good row, a bad one, a good one
    "a truncated JSON line": ("x.jsonl", GOOD + b'{"input": "a", "outp\n' + GOOD),
    "no JSON object": ("x.jsonl", GOOD + b"[1]\n" + GOOD),
    "another kind of output": ("x.jsonl", GOOD + b'{"input": "a", "output": {}}\n' + GOOD),
    "no output": ("x.jsonl", GOOD + b'{"input": "a"}\n' + GOOD),
    "null": ("x.jsonl", GOOD + b'{"input": "a", "output": null}\n' + GOOD),
    "an input that is no text": ("x.jsonl", GOOD + b'{"input": 1, "output": "A"}\n' + GOOD),
    "a ragged row": ("x.csv", b"input,output\na,A\na,A,A\na,A\n"),
    "a short row": ("x.csv", b"input,output\na,A\na\na,A\n"),
    "an open quote": ("x.csv", b'input,output\na,A\n"a,A\na,A\n'),
    "text after a quote": ("x.csv", b'input,output\na,A\n"a"a,A\na,A\n'),
    "a cell of 200 kB": ("x.csv", b"input,output\na,A\na," + b"A" * 200_000 + b"\na,A\n"),
    "one column": ("x.tsv", b"a\tA\na\na\tA\n"),
    "an empty output": ("x.tsv", b"a\tA\na\t \na\tA\n"),
    "a NUL byte": ("x.tsv", b"a\tA\na\tA\0\na\tA\n"),
    "no UTF-8": ("x.tsv", b"a\tA\na\t\xff\na\tA\n"),
    "a carriage return": ("x.tsv", b"a\tA\na\rb\tA\na\tA\n"),
    "a line of 10 MB": ("x.tsv", b"a\tA\n" + b"a" * 10_000_000 + b"\na\tA\n"),
    "too many tokens": ("x.tsv", b"a\tA\na\t" + b"A " * 10_001 + b"\na\tA\n"),
    "a chat without an assistant": (
        "x.jsonl",
        lines(turns("a", "A"), {"messages": [{"role": "user", "content": "a"}]}, turns("a", "A")).encode(),
    ),
    "a chat without a user": ("x.jsonl", lines(turns("a", "A"), {"messages": []}, turns("a", "A")).encode()),
    "a message without a role": ("x.jsonl", lines(turns("a", "A"), {"messages": [{}]}, turns("a", "A")).encode()),
    "arguments that are no JSON": (
        "x.jsonl",
        lines(
            turns("a", "A"),
            {
                "messages": [
                    {"role": "user", "content": "a"},
                    {"role": "assistant", "tool_calls": [{"name": "f", "arguments": "{"}]},
                ]
            },
            turns("a", "A"),
        ).encode(),
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_is_refused_with_its_line_or_left_out_and_counted(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, *BAD[name])
    line = 3 if path.suffix == ".csv" else 2
    with pytest.raises(InputError) as caught:
        read_rows(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert "\n" not in str(caught.value)
    found = read_rows(path, skip_bad=True)
    assert found.rows == [Row("a", "A")] * 2
    assert [str(error) for error in found.skipped] == [str(caught.value)]
    assert "1 bad row" in found.remarks(path)[-1]


@pytest.mark.parametrize(("name", "content"), [("x.tsv", ""), ("x.csv", "input,output\n"), ("x.jsonl", "\n \n")])
def test_a_file_without_rows_is_refused(tmp_path: Path, name: str, content: str) -> None:
    with pytest.raises(InputError, match="no examples"):
        read_rows(written(tmp_path, name, content))


def test_a_file_of_bad_rows_is_refused_even_if_they_may_be_left_out(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="all 2 rows"):
        read_rows(written(tmp_path, "x.tsv", "a\nb\n"), skip_bad=True)


def test_unknown_formats_and_needless_splits_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "x.tsv", "a\tA\n")
    with pytest.raises(InputError, match="'jsonl'"):
        read_rows(path, "json")
    with pytest.raises(InputError, match="--split"):
        read_rows(path, split="test")


def test_all_real_files_are_read_as_they_are(shared_data: Path) -> None:
    if not (shared_data / "real").is_dir():
        pytest.skip("no real data")
    for path in sorted((shared_data / "real").rglob("*.*")):
        if path.is_file() and path.suffix in (".tsv", ".csv", ".jsonl"):
            found = read_rows(path)
            assert not found.skipped
            entries = [found.layout.header] * bool(found.layout.header) + [row.record for row in found.rows]
            assert "".join(f"{entry}\n" for entry in entries) == path.read_bytes().decode().replace("\r\n", "\n")
