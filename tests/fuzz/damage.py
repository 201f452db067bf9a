"""Damage to files, as strategies of hypothesis: valid content in, broken content out.

Most of what random bytes would find is refused at the first byte. Here a valid file is changed in one to four places:
bits, spans, words, lines, line ends, encodings, values inside JSON, the whole file for another one, or no file at all.
"""

import gzip
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

FOLDER = b"<a folder of this name>"  # in place of content: the file is a folder
MISSING = b"<no file>"

SNIPPETS = [
    b"", b" ", b"\t", b"\n", b"\r\n", b"\r", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80",
    "\u00a0".encode(), "\u2028".encode(), "\x85".encode(), b"\x1c", "\u200b".encode(), "\U0001f600".encode(),
    b"#", b"##", b"###", b"\\", b"\\u{", b"\\u{0}", b"\\u{a}", b"\\u{20}", b"\\u{d800}", b"\\u{110000}", b"\\###",
    b"=>", b"NT_1", b"NT_2", b"NT_0", b"NT_99999999999999999999", b"##ROOT", b"ROOT", b"ROOT => ##ROOT",
    b"-1", b"0", b"1", b"1e999", b"nan", b"inf", b"9" * 30, b"9" * 5000, b"true", b"2020-01-01", b"null", b"NaN",
    b'"', b"'", b"'''", b'""', b"[", b"]", b"{", b"}", b"(", b")", b",", b":", b";", b"=", b"*", b"&x;", b"<", b">",
    b"[" * 3000, b"(" * 3000, b"{" * 3000, b'{"a":' * 3000, b"f ( " * 1500 + b"x" + b" )" * 1500, b"f(" * 1500,
    b"../../x", b"/", b"/etc/passwd", b"..", b".", b"x" * 300, b"x" * 100_000, b"x " * 3000,
    b"<script>alert(1)</script>", b"[data]", b"[induction]", b"[fit]\nstates = -1", b"extends = 'x'",
    b"LAMBDA a . ", b" AND ", b" ; ", b"x _ 1",
    b"\xf0\x9f\x98", b"\\ud800", b'\\"', b"\x1f\x8b\x08", b"PK\x03\x04", b"\x93NUMPY",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, 0, 1, -1, 10**30, 1.5, 1e308, float("nan"), float("inf"), "", " ", "x", "0", "\ud800", "\x00", "a\nb",
    "../../x", "/etc/passwd", "x" * 300, "<script>", [], {}, [[]], [None], {"": None}, {"x": []}, [1, 2, 3], ["x"],
    {"a": {"a": {"a": 1}}},
]  # fmt: skip
KINDS = (
    "flip", "cut", "drop", "repeat", "insert", "replace", "word", "words", "line", "lines", "without", "double",
    "ends", "encoding", "gzip", "other", "missing", "folder", "noise", "value", "value", "key",
)  # fmt: skip
_WORD = re.compile(rb"[^\s\"'(),:=\[\]{}]+|[\"'(),:=\[\]{}]")


class Change(NamedTuple):
    """One change: what, two places (taken modulo what there is), and something to put there."""

    kind: str
    at: int
    to: int
    snippet: bytes
    value: Any


CHANGES = st.builds(
    Change,
    st.sampled_from(KINDS),
    st.integers(0, 1 << 24),
    st.integers(0, 1 << 24),
    st.one_of(st.sampled_from(SNIPPETS), st.binary(max_size=8)),
    st.sampled_from(VALUES),
)


def damages() -> st.SearchStrategy[list[tuple[int, Change]]]:
    """Give changes, each with the number of the file that it is made to."""
    return st.lists(st.tuples(st.integers(0, 99), CHANGES), min_size=1, max_size=4)


def damaged(files: Mapping[str, bytes], names: Sequence[str], changes: list[tuple[int, Change]]) -> dict[str, bytes]:
    """Return the files that change, with their new content."""
    new: dict[str, bytes] = {}
    for number, change in changes:
        name = names[number % len(names)]
        content = new.get(name, files[name])
        if content in (FOLDER, MISSING):
            continue
        if name.endswith(".gz") and change.kind not in ("flip", "cut", "gzip", "missing", "folder", "noise"):
            try:
                content = gzip.compress(_changed(gzip.decompress(content), name[:-3], change, files), 1, mtime=0)
            except (OSError, EOFError, zlib.error):
                content = _changed(content, name, change, files)
        else:
            content = _changed(content, name, change, files)
        new[name] = content
    return new


def _changed(content: bytes, name: str, change: Change, files: Mapping[str, bytes]) -> bytes:  # noqa: PLR0911
    size = len(content)
    a, b = sorted((change.at % (size + 1), change.to % (size + 1)))
    match change.kind:
        case "flip" if size:
            place = change.at % size
            return content[:place] + bytes([content[place] ^ 1 << change.to % 8]) + content[place + 1 :]
        case "cut":
            return content[:a]
        case "drop":
            return content[:a] + content[b:]
        case "repeat":
            return content[:b] + content[a:b] * (1 + change.to % 3) + content[b:]
        case "insert":
            return content[:a] + change.snippet + content[a:]
        case "replace":
            return content[:a] + change.snippet + content[min(b, a + 20) :]
        case "ends":
            return content.replace(b"\n", (b"\r\n", b"\r", b"\n\n", b"\n \n", "\u2028".encode())[change.at % 5])
        case "encoding":
            text = content.decode("utf-8", "replace")
            return text.encode(("utf-16", "utf-8-sig", "latin-1", "utf-32", "utf-7")[change.at % 5], "replace")
        case "gzip":
            return gzip.compress(content, 1, mtime=0)
        case "other":
            return files[sorted(files)[change.at % len(files)]]
        case "missing":
            return MISSING
        case "folder":
            return FOLDER
        case "noise":
            return change.snippet
        case "word" | "words":
            return _change_word(content, change)
        case "line" | "lines" | "without" | "double":
            return _change_line(content, change)
        case "value" | "key" if name.endswith((".json", ".jsonl")):
            return _change_json(content, name, change)
    return content


def _change_word(content: bytes, change: Change) -> bytes:
    """Put a snippet, or another word of the file, in place of a word."""
    spans = [match.span() for match in _WORD.finditer(content)]
    if not spans:
        return content
    start, end = spans[change.at % len(spans)]
    other = slice(*spans[change.to % len(spans)])
    return content[:start] + (change.snippet if change.kind == "word" else content[other]) + content[end:]


def _change_line(content: bytes, change: Change) -> bytes:
    """Replace a line, swap two, leave one out, or have one twice."""
    lines = content.split(b"\n")
    a, b = change.at % len(lines), change.to % len(lines)
    match change.kind:
        case "line":
            lines[a] = change.snippet
        case "lines":
            lines[a], lines[b] = lines[b], lines[a]
        case "without":
            del lines[a]
        case _:
            lines.insert(b, lines[a])
    return b"\n".join(lines)


def _change_json(content: bytes, name: str, change: Change) -> bytes:
    """Put another value in place of one inside a JSON value, or leave a field out."""
    lines = content.split(b"\n") if name.endswith(".jsonl") else [content]
    at = change.at % len(lines)
    try:
        root = [json.loads(lines[at])]
    except (ValueError, RecursionError):
        return content
    places: list[tuple[Any, Any]] = []
    agenda: list[Any] = [root]
    while agenda:
        node = agenda.pop()
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        places += [(node, key) for key in keys]
        agenda += [node[key] for key in keys if isinstance(node[key], dict | list)]
    node, key = places[change.to % len(places)]
    if change.kind == "key" and node is not root:
        del node[key]
    else:
        node[key] = change.value
    lines[at] = json.dumps(root[0]).encode()
    return b"\n".join(lines)
