"""Parquet files and Hugging Face datasets, through the libraries that everybody reads them with."""

from pathlib import Path

import pytest

from csl.errors import CslError, InputError
from csl.examples.formats import Row, read_rows, to_dataset, write_rows

datasets = pytest.importorskip("datasets")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = [
    {"id": 1, "question": "q", "query": {"b": "x", "a": None}},
    {"id": 2, "question": "r", "query": {"b": "y", "a": 3}},
]
PAIRS = [Row("q", '{"b": "x"}'), Row("r", '{"b": "y", "a": 3}')]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    types = pa.struct([("b", pa.large_string()), ("a", pa.int32())])
    schema = pa.schema([("id", pa.int8()), ("question", pa.string()), ("query", types)])
    pq.write_table(pa.Table.from_pylist(ROWS, schema=schema), tmp_path / "x.parquet")
    return tmp_path / "x.parquet"


def test_columns_of_any_type_are_read_and_null_is_absent(table: Path) -> None:
    found = read_rows(table)
    assert (found.format, found.rows) == ("parquet", PAIRS)


def test_rows_are_written_back_with_their_types(table: Path, tmp_path: Path) -> None:
    found = read_rows(table)
    assert write_rows(tmp_path / "y.parquet", [*found.rows, Row("new", '{"b": "z"}')], found.layout) == 3
    again = pq.read_table(tmp_path / "y.parquet")
    assert again.slice(0, 2).equals(pq.read_table(table))
    assert again.to_pylist()[2] == {"id": None, "question": "new", "query": {"b": "z", "a": None}}


def test_a_damaged_file_is_refused(table: Path) -> None:
    table.write_bytes(table.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"x\.parquet: "):
        read_rows(table)
    with pytest.raises(InputError, match=r"absent\.parquet: "):
        read_rows(table.with_name("absent.parquet"))


def test_a_saved_dataset_with_and_without_splits(tmp_path: Path) -> None:
    data = datasets.Dataset.from_dict({"input": ["a", "b"], "output": ["A", "B"]})
    data.save_to_disk(tmp_path / "one")
    assert read_rows(tmp_path / "one").rows == [Row("a", "A"), Row("b", "B")]
    datasets.DatasetDict(train=data, test=data.select([1])).save_to_disk(tmp_path / "two")
    assert len(read_rows(tmp_path / "two").rows) == 2
    found = read_rows(tmp_path / "two", split="test")
    assert (found.format, found.rows) == ("dataset", [Row("b", "B")])
    with pytest.raises(InputError, match="--split: train, test"):
        read_rows(tmp_path / "two", split="dev")
    with pytest.raises(InputError, match="--split"):
        read_rows(tmp_path / "one", split="train")


def test_a_dataset_of_messages_is_a_chat(tmp_path: Path) -> None:
    turn = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "A"}]
    datasets.Dataset.from_dict({"messages": [turn]}).save_to_disk(tmp_path / "chat")
    found = read_rows(tmp_path / "chat")
    assert found.rows == [Row("a", "A")]
    assert write_rows(tmp_path / "x.jsonl", found, format="chat") == 1
    assert read_rows(tmp_path / "x.jsonl").rows == found.rows


def test_rows_become_a_dataset_of_the_same_shape(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,question,query\n1,q,s\n", "utf-8")
    found = read_rows(tmp_path / "x.csv")
    made = [*found.rows, Row("new", "z", {"origin": "synthetic"})]
    data = to_dataset(made, found.layout, columns=("origin",))
    assert data.column_names == ["id", "question", "query", "origin"]
    assert data[1] == {"id": None, "question": "new", "query": "z", "origin": "synthetic"}


def test_without_the_library_an_error_says_what_to_install(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(CslError, match=r"pip install .*\[datasets\]"):
        read_rows(table)
