"""Several output languages in one file."""

from pathlib import Path

import pytest

from csl.errors import InputError
from csl.examples.formats import Layout, Row, Rows, read_rows
from csl.examples.mixture import one_language

CALLS = [Row(f"{k}", f"f(g({k}), 'x')", line=k) for k in range(1, 9)]


def rows(*more: Row) -> Rows:
    return Rows(Layout("tsv"), [*CALLS, *more], [])


def test_another_language_is_refused_with_its_line_or_left_out() -> None:
    mixed = rows(Row("a", '{"f": [1]}', line=20), Row("b", "SELECT a FROM b", line=30))
    with pytest.raises(InputError, match=r"x\.tsv:20: .*json.*calls.*--skip-bad"):
        one_language(mixed, "x.tsv")
    left = one_language(mixed, "x.tsv", skip_bad=True)
    assert left.rows == CALLS
    assert [str(error).split(": ")[0] for error in left.skipped] == ["x.tsv:20", "x.tsv:30"]


@pytest.mark.parametrize("output", ["f(g(", "no program at all", "f", "f(x) g(y)"])
def test_outputs_in_no_other_language_are_not_meant(output: str) -> None:
    found = rows(Row("a", output, line=20))
    assert one_language(found, "x.tsv") is found


@pytest.mark.slow
def test_no_real_file_is_mixed(shared_data: Path) -> None:
    for path in sorted((shared_data / "real").rglob("train.*")):
        one_language(read_rows(path), path)
