"""Files of examples: what was written is what is read, nothing is seen half done, and bad files get one clear line."""

import gzip
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csl import files
from csl.errors import InputError
from csl.examples import Example, read_examples, write_examples
from csl.files import atomic_write_text, read_lines, write_json, write_text

EXAMPLES = [Example.of("jump twice", "JUMP JUMP", id="7"), Example.of("où ça 😀", '" { \\ }', id="8")]
FORMATS = ["x.tsv", "x.tsv.gz", "x.jsonl", "x.jsonl.gz", "x.json", "x.json.gz", "x.txt"]


def refusal(path: Path, content: bytes, **options: str) -> str:
    """Write a file and give the message with which reading it fails, without the folder."""
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(read_examples(path, **options))  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(f"{path.parent}/")


@pytest.mark.parametrize("name", FORMATS)
def test_round_trip(tmp_path: Path, name: str) -> None:
    assert write_examples(tmp_path / name, EXAMPLES, columns=["id"]) == 2
    back = list(read_examples(tmp_path / name, columns=["id"]))
    assert back == EXAMPLES
    assert [example.meta for example in back] == [{"id": "7"}, {"id": "8"}]


@pytest.mark.parametrize(
    ("name", "first"), [("x.json", b"{"), ("x.jsonl", b"{"), ("x.tsv", b"j"), ("x.jsonl.gz", b"\x1f")]
)
def test_the_name_decides_the_format(tmp_path: Path, name: str, first: bytes) -> None:
    write_examples(tmp_path / name, EXAMPLES)
    assert (tmp_path / name).read_bytes()[:1] == first


tokens = st.lists(st.text(min_size=1).filter(lambda t: t.split() == [t] and _encodable(t)), min_size=1).map(tuple)


def _encodable(text: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in text)


@pytest.mark.parametrize("name", ["x.tsv", "x.jsonl.gz"])
@given(pairs=st.lists(st.builds(Example, tokens, tokens), min_size=1, max_size=5))
def test_any_tokens_round_trip(tmp_path_factory: pytest.TempPathFactory, name: str, pairs: list[Example]) -> None:
    pairs = [pair for pair in pairs if not pair.source_text.startswith("\ufeff")]  # a byte order mark is no token
    path = tmp_path_factory.mktemp("examples") / name
    write_examples(path, [*pairs, *EXAMPLES])
    assert list(read_examples(path)) == [*pairs, *EXAMPLES]


def test_the_same_examples_give_the_same_compressed_bytes(tmp_path: Path) -> None:
    for name in ("a.tsv.gz", "b.tsv.gz"):
        write_examples(tmp_path / name, EXAMPLES)
    assert (tmp_path / "a.tsv.gz").read_bytes() == (tmp_path / "b.tsv.gz").read_bytes()


def test_further_columns_are_named_or_ignored(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("a\tA\tone\ttwo\tthree\n", encoding="utf-8")
    assert [e.meta for e in read_examples(tmp_path / "x.tsv")] == [{}]
    assert [e.meta for e in read_examples(tmp_path / "x.tsv", columns=["p", "q"])] == [{"p": "one", "q": "two"}]


def test_json_fields_have_other_names(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"utterance": "a", "plan": "A", "n": 1, "input": "kept"}\n', encoding="utf-8")
    (example,) = read_examples(tmp_path / "x.jsonl", source_field="utterance", target_field="plan")
    assert (example, example.meta) == (Example.of("a", "A"), {"input": "kept"})


def test_a_meta_value_never_replaces_the_pair(tmp_path: Path) -> None:
    write_examples(tmp_path / "x.jsonl", [Example.of("a", "A", input="other")])
    assert list(read_examples(tmp_path / "x.jsonl")) == [Example.of("a", "A")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_byte_order_mark_and_blank_lines(tmp_path: Path, end: bytes, mark: bytes) -> None:
    (tmp_path / "x.tsv").write_bytes(mark + end.join([b"a\tA", b"", b"  ", b"b  c\tB"]))
    assert list(read_examples(tmp_path / "x.tsv")) == [Example.of("a", "A"), Example.of("b c", "B")]


def test_reading_streams(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_bytes(b"a\tA\nbroken\n")
    examples = read_examples(tmp_path / "x.tsv")
    assert next(examples) == Example.of("a", "A")
    with pytest.raises(InputError):
        next(examples)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.tsv", b"", "x.tsv: no examples"),
        ("x.tsv", b"\n \n", "x.tsv: no examples"),
        ("x.jsonl.gz", gzip.compress(b"", mtime=0), "x.jsonl.gz: no examples"),
        ("x.tsv", b"a\tA\njump JUMP\n", "x.tsv:2: one column"),
        ("x.tsv", b"a\tA\n\tB\n", "x.tsv:2: the input is empty"),
        ("x.tsv", b"a\tA\nb\t \n", "x.tsv:2: the output is empty"),
        ("x.tsv", b"\t\n", "x.tsv:1: the input is empty"),
        ("x.tsv", b"a\tA\nb\t\xff\n", "x.tsv:2: not valid UTF-8"),
        ("x.tsv.gz", gzip.compress(b"a\tA\nb\t\xff\n", mtime=0), "x.tsv.gz:2: not valid UTF-8"),
        ("x.tsv", b"a\tA\rb\tB\r", "x.tsv:1: carriage return"),
        ("x.jsonl", b'{"input": "a", "output": "A"}\n{"input": \n', "x.jsonl:2: not valid JSON"),
        ("x.jsonl", b"[" * 100_000, "x.jsonl:1: not valid JSON"),
        ("x.json", b'[{"input": "a", "output": "A"}]\n', "x.json:1: expected a JSON object"),
        ("x.jsonl", b'{"input": "a", "plan": "A"}\n', "x.jsonl:1: no text field 'output'; the line has input, plan"),
        ("x.jsonl", b"{}\n", "x.jsonl:1: no text field 'input'; the line has no fields"),
        ("x.jsonl", b'{"input": "a", "output": 1}\n', "x.jsonl:1: no text field 'output'"),
        ("x.jsonl", b'{"input": "a", "output": "  "}\n', "x.jsonl:1: the output is empty"),
        ("x.jsonl", b'{"input": "a", "output": "\\ud800"}\n', "x.jsonl:1: not valid JSON (half of a surrogate pair"),
        ("x.tsv.gz", b"a\tA\n", "x.tsv.gz: not a complete gzip file"),
        ("x.tsv.gz", gzip.compress(b"a\tA\n" * 99, mtime=0)[:-9], "x.tsv.gz: not a complete gzip file"),
        ("x.tsv.gz", gzip.compress(b"a\tA\n", mtime=0)[:10] + b"\xff" * 20, "x.tsv.gz: not a complete gzip file"),
    ],
)
def test_a_bad_file_gets_one_line_with_the_place(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    assert refusal(tmp_path / name, content).startswith(message)


@pytest.mark.parametrize("name", ["x.tsv", "x.tsv.gz", "x.jsonl"])
def test_a_missing_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=rf"{name}: cannot be read: No such file"):
        list(read_examples(tmp_path / name))


@pytest.mark.parametrize("name", ["x.tsv", "x.tsv.gz"])
def test_a_folder_is_neither_read_nor_written(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=rf"{name}: cannot be read: Is a directory"):
        list(read_lines(tmp_path / name))
    with pytest.raises(InputError, match=rf"{name}: cannot be written: it is a folder"):
        write_text(tmp_path / name, "text")


def test_a_file_in_place_of_the_parent_folder(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "text")
    with pytest.raises(InputError, match="cannot be written"):
        write_text(tmp_path / "file" / "x.tsv", "text")


@pytest.mark.parametrize("value", ["a\tb", "a\nb", "a\rb"])
def test_a_column_that_would_break_the_table_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(InputError, match=r"x\.tsv:2: a tab or a line break"):
        write_examples(tmp_path / "x.tsv", [EXAMPLES[0], Example.of("a", "A", id=value)], columns=["id"])
    assert list(tmp_path.iterdir()) == []


def fail_in_block(path: Path) -> None:
    with atomic_write_text(path) as file:
        file.write("half")
        file.flush()
        raise KeyboardInterrupt


def fail_in_examples(path: Path) -> None:
    def examples() -> object:
        yield EXAMPLES[0]
        raise KeyboardInterrupt

    write_examples(path, examples())  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["x.tsv", "x.tsv.gz"])
@pytest.mark.parametrize("fail", [fail_in_block, fail_in_examples])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, name: str, fail: Callable[[Path], None]
) -> None:
    write_text(tmp_path / name, "old\n")
    with pytest.raises(KeyboardInterrupt):
        fail(tmp_path / name)
    assert list(read_lines(tmp_path / name)) == [(1, "old")]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_the_file_appears_only_when_complete(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "x.txt"
    with atomic_write_text(path) as file:
        file.write("text")
        file.flush()
        assert not path.exists()
    assert path.read_text(encoding="utf-8") == "text"
    assert [p.name for p in path.parent.iterdir()] == ["x.txt"]


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("old", "utf-8")
    (tmp_path / "link.txt").symlink_to("old.txt")
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "old.txt").read_text("utf-8") == "new"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        write_text(tmp_path / "pipe", "through")
        assert reader.communicate()[0] == "through"
    assert (tmp_path / "pipe").is_fifo()


def test_json_is_readable(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"b": "é", "a": [1]})
    assert (tmp_path / "x.json").read_text(encoding="utf-8") == '{\n  "b": "é",\n  "a": [\n    1\n  ]\n}\n'


@pytest.mark.parametrize("name", ["x.tsv", "x.jsonl", "x.tsv.gz"])
@pytest.mark.parametrize("token", ["\ud800", "a b", "a\u2028b", ""])
def test_a_token_that_would_be_read_as_another_is_not_written(tmp_path: Path, name: str, token: str) -> None:
    with pytest.raises(InputError, match=rf"{name}.*(surrogate|white space)"):
        write_examples(tmp_path / name, [Example((token,), ("b",))])
    assert list(tmp_path.iterdir()) == []


def test_a_byte_order_mark_that_is_data_stays(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_bytes(b"\xef\xbb\xbf\xef\xbb\xbfa\tb\n")
    examples = list(read_examples(tmp_path / "x.tsv"))
    assert examples == [Example(("\ufeffa",), ("b",))]
    write_examples(tmp_path / "y.tsv", examples)
    assert list(read_examples(tmp_path / "y.tsv")) == examples


def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_LINE", 1 << 20)
    (tmp_path / "x.tsv.gz").write_bytes(gzip.compress(b"a" * (1 << 23)))
    with pytest.raises(InputError, match=r"x\.tsv\.gz:1: a line of more than 1 MiB"):
        list(read_examples(tmp_path / "x.tsv.gz"))


@pytest.mark.parametrize("text", ["[" * 3000, '"\\ud800"', "{", "9" * 5000])
def test_whatever_is_wrong_with_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 — json has many messages
        files.parse_json(text)
    assert files.parse_json('"\\ud83d\\ude00"') == "\U0001f600"


def test_an_error_is_one_line_whatever_it_quotes(tmp_path: Path) -> None:
    message = str(InputError("a\nb\x1b[31m" + "x" * 10_000, tmp_path / "new\nline"))
    assert message.isprintable()
    assert len(message) < 2500
