"""Files of examples: what was written is what is read, nothing is seen half done, and bad files get one clear line."""

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csl.errors import InputError
from csl.examples import Example, read_examples, split_tokens, write_examples
from csl.files import (
    atomic_write,
    atomic_write_text,
    is_stream,
    parse_json,
    read_lines,
    refuse_input_as_output,
    remove_unfinished,
    write_json,
    write_text,
)

EXAMPLES = [Example.of("jump twice", "JUMP JUMP", id="7"), Example.of("où ça 😀", '" { \\ }', id="8")]
FORMATS = ["x.tsv", "x.tsv.gz", "x.jsonl", "x.jsonl.gz", "x.json", "x.json.gz", "x.txt", "x.csv", "x.csv.gz"]


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


token = st.text(min_size=1).filter(lambda text: split_tokens(text) == (text,) and _encodable(text))
tokens = st.lists(token, min_size=1).map(tuple)


def _encodable(text: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in text)


@pytest.mark.parametrize("name", ["x.tsv", "x.jsonl.gz"])
@given(pairs=st.lists(st.builds(Example, tokens, tokens), min_size=1, max_size=5))
def test_any_tokens_round_trip(tmp_path_factory: pytest.TempPathFactory, name: str, pairs: list[Example]) -> None:
    pairs = [pair for pair in pairs if not pair.source_text.startswith("\ufeff")]  # a byte order mark is no token
    path = tmp_path_factory.mktemp("examples") / name
    write_examples(path, [*pairs, *EXAMPLES])
    assert list(read_examples(path)) == [*pairs, *EXAMPLES]


def test_what_is_being_written_can_be_removed_before_the_process_ends_at_once(tmp_path: Path) -> None:
    done, writing = atomic_write(tmp_path / "done"), atomic_write(tmp_path / "x")
    with done:
        pass
    writing.__enter__()
    assert len(list(tmp_path.iterdir())) == 2
    remove_unfinished()
    assert [path.name for path in tmp_path.iterdir()] == ["done"]


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
        ("x.jsonl", b'{"input": "a", "plan": "A"}\n', "x.jsonl:1: no column 'output'; the file has input, plan"),
        ("x.jsonl", b"{}\n", "x.jsonl:1: no column 'input'; the file has no columns"),
        ("x.jsonl", b'{"input": "a", "output": 1}\n', "x.jsonl:1: the column 'output' must be a text"),
        ("x.jsonl", b'{"input": NaN, "output": "A"}\n', "x.jsonl:1: the column 'input' must be a text"),
        ("x.jsonl", b'{"input": null, "output": "A"}\n', "x.jsonl:1: the column 'input' must be a text"),
        ("x.jsonl", b'{"input": "a", "output": "A", "input": "b"}\n', "x.jsonl:1: not valid JSON (the key 'input' oc"),
        ("x.tsv", b"a\tA\n" + b"a " * 100_000 + b"\tA\n", "x.tsv:2: the input has 100,000 tokens; at most 10,000"),
        ("x.jsonl", b'{"input": "a", "output": "' + b"A " * 10_001 + b'"}', "x.jsonl:1: the output has 10,001 tokens"),
        ("x.tsv", b"a" * 10_000_000 + b"\tA\n", "x.tsv:1: a line of more than 8 MiB"),
        ("x.tsv.gz", gzip.compress(b"a\tA\n" * 5_000_000, 1), "x.tsv.gz: unpacks to over 50 times its size"),
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


def test_a_link_is_followed_or_replaced(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("old", "utf-8")
    (tmp_path / "link.txt").symlink_to("old.txt")
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "old.txt").read_text("utf-8") == "new"
    for place in ("old.txt", ".", "link.txt", "/dev/stdout"):
        (tmp_path / "link.txt").unlink()
        (tmp_path / "link.txt").symlink_to(place)
        write_text(tmp_path / "link.txt", "newer", follow_links=False)
        assert not (tmp_path / "link.txt").is_symlink()
        assert (tmp_path / "link.txt").read_text("utf-8") == "newer"
    assert (tmp_path / "old.txt").read_text("utf-8") == "new"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert is_stream(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        write_text(tmp_path / "pipe", "through")
        assert reader.communicate()[0] == "through"
    assert (tmp_path / "pipe").is_fifo()


TO_STREAM = "import sys; from csl.files import write_text; print(1); write_text(sys.argv[1], '2\\n'); print(3)"


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
def test_standard_output_is_appended_to(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-uc", TO_STREAM, name]
    (tmp_path / "log").write_text("0\n")
    with (tmp_path / "log").open("a") as log:
        subprocess.run(command, stdout=log, check=True, cwd=tmp_path)
    assert (tmp_path / "log").read_text() == "0\n1\n2\n3\n"
    assert subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=tmp_path).stdout == b"1\n2\n3\n"
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    assert is_stream(name)


def test_a_closed_standard_output_is_an_error() -> None:
    script = "import sys; from csl.files import write_text; sys.stdout = None; write_text('-', 'lost')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "InputError: -: cannot be written: Bad file descriptor" in done.stderr


def test_files_are_no_streams(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    assert not any(is_stream(path) for path in (tmp_path, tmp_path / "x", tmp_path / "new"))


def test_the_next_write_removes_what_a_killed_process_left(tmp_path: Path) -> None:
    left = tmp_path / ".x.tsv.123.partial"
    others = [tmp_path / ".y.tsv.123.partial", tmp_path / ".x.tsv.partial"]
    for path in (left, *others):
        path.write_text("half")
    with atomic_write(tmp_path / "x.tsv"):
        assert not left.exists()
        write_text(tmp_path / "x.tsv.gz", "text")
        (own,) = tmp_path.glob(f".x.tsv.{os.getpid()}.*")
        script = "import sys; from csl.files import write_text; write_text(sys.argv[1], 'theirs')"
        subprocess.run([sys.executable, "-c", script, tmp_path / "x.tsv"], check=True)
        assert own.exists()
    assert sorted(tmp_path.iterdir()) == sorted([*others, tmp_path / "x.tsv", tmp_path / "x.tsv.gz"])


def test_threads_write_one_file(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: write_text(tmp_path / "x", f"{n}" * 1000), range(64)))
    assert len(set((tmp_path / "x").read_text())) <= 2
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_an_input_is_not_overwritten_under_any_name(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    (tmp_path / "link").symlink_to("x")
    (tmp_path / "loop").symlink_to("loop")
    for output in ("x", "link", "../" + tmp_path.name + "/x"):
        with pytest.raises(InputError, match="choose another output path"):
            refuse_input_as_output(tmp_path / output, None, tmp_path / "x")
    for output in ("new", "loop"):
        refuse_input_as_output(tmp_path / output, tmp_path / "x")
        write_text(tmp_path / output, "text")


WITHOUT_FCNTL = """
import sys
sys.modules["fcntl"] = None
import csl
from csl.files import write_json
from csl.lock import folder_lock
from csl.sampling.sampler import Sampler
pairs = [csl.Example.of(*pair) for pair in (("a", "A"), ("b", "B"), ("a and b", "A B"), ("b and a", "B A"))]
grammar = csl.induce(pairs)
model = csl.fit(grammar, pairs, csl.FitConfig(optimizer="em", states=1, steps=2))
with folder_lock(sys.argv[1]):
    write_json(sys.argv[1] + "/x.json", [str(rule) for rule in grammar])
print(len(list(Sampler(grammar, csl.SampleConfig(), model=model).stream(3))))
"""


@pytest.mark.slow  # it compiles the kernels again
def test_without_fcntl_all_of_the_method_works(tmp_path: Path) -> None:
    """As on Windows."""
    command = [sys.executable, "-W", "ignore", "-c", WITHOUT_FCNTL, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("3\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_json_is_readable(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"b": "é", "a": [1]})
    assert (tmp_path / "x.json").read_text(encoding="utf-8") == '{\n  "b": "é",\n  "a": [\n    1\n  ]\n}\n'


@pytest.mark.parametrize("name", ["x.tsv", "x.jsonl", "x.tsv.gz"])
@pytest.mark.parametrize("token", ["\ud800", "a b", "a\u000bb", ""])
def test_a_token_that_would_be_read_as_another_is_not_written(tmp_path: Path, name: str, token: str) -> None:
    with pytest.raises(InputError, match=rf"{name}.*(surrogate|white space)"):
        write_examples(tmp_path / name, [Example((token,), ("b",))])
    assert list(tmp_path.iterdir()) == []


def test_only_ascii_white_space_parts_tokens(tmp_path: Path) -> None:
    text = "a\u00a0b \x1c c\u2028d  \u3000\tA\u0085B \x0b C\n"
    (tmp_path / "x.tsv").write_text(text, "utf-8", newline="")
    examples = list(read_examples(tmp_path / "x.tsv"))
    assert examples == [Example(("a\u00a0b", "\x1c", "c\u2028d", "\u3000"), ("A\u0085B", "C"))]
    write_examples(tmp_path / "y.tsv", examples)
    assert (tmp_path / "y.tsv").read_bytes() == "a\u00a0b \x1c c\u2028d \u3000\tA\u0085B C\n".encode()


def test_a_byte_order_mark_that_is_data_stays(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_bytes(b"\xef\xbb\xbf\xef\xbb\xbfa\tb\n")
    examples = list(read_examples(tmp_path / "x.tsv"))
    assert examples == [Example(("\ufeffa",), ("b",))]
    write_examples(tmp_path / "y.tsv", examples)
    assert list(read_examples(tmp_path / "y.tsv")) == examples


@pytest.mark.parametrize("text", ["[" * 3000, '"\\ud800"', "{", "9" * 5000, '{"a": 1, "b": {"c": 2, "c": 2}}'])
def test_whatever_is_wrong_with_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 — json has many messages
        parse_json(text)
    assert parse_json('"\\ud83d\\ude00"') == "\U0001f600"


def test_an_error_is_one_line_whatever_it_quotes(tmp_path: Path) -> None:
    message = str(InputError("a\nb\x1b[31m" + "x" * 10_000, tmp_path / "new\nline"))
    assert message.isprintable()
    assert len(message) < 2500
