"""Rows of Arrow: the scanner reads every layout of ids and numbers as Python's objects are read, or leaves them to Python."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treceval_py as te
from treceval_py.data import objects
from treceval_py.data.arrow import batches_of, joined
from treceval_py.io import parquet
from treceval_py.scan import scanner

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
polars = pytest.importorskip("polars")

pytestmark = pytest.mark.skipif(scanner() is None, reason="without the scanner, no rows are read so")

# a view holds 12 bytes of a text, and refers to longer ones
TEXTS = ["", "a", "é", "twelve bytes", "thirteen byte", "日本" * 99, "a\0b", "a b", "a"]

TEXT: dict[str, Callable[[list[str]], Any]] = {
    "string": pa.array,
    "large string": lambda texts: pa.array(texts, pa.large_string()),
    "dictionary of 8 bits": lambda texts: pa.array(texts).cast(pa.dictionary(pa.int8(), pa.string())),
    "dictionary of 32 bits": lambda texts: pa.array(texts).cast(pa.dictionary(pa.uint32(), pa.large_string())),
}
if hasattr(pa, "string_view"):  # from version 16 on
    TEXT["view"] = lambda texts: pa.array(texts, pa.string_view())

WHOLE = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


def limits(kind: str) -> list[int]:
    bits = int(kind.removeprefix("u").removeprefix("int"))
    return [0, 2**bits - 1] if kind.startswith("u") else [-(2 ** (bits - 1)), -1, 0, 2 ** (bits - 1) - 1]


def read(table: Any, *names: str | None) -> Any:
    numbers: dict[bytes, int] = {}
    rows = joined(list(batches_of(table, names or ("qid", "docid", "score", None), numbers)))
    queries = np.repeat(rows.queries, np.diff(rows.starts)).tolist()
    return [list(numbers)[query].decode() for query in queries], rows.docids.text(), rows.values.tolist(), rows.ranks


def as_they_are(table: Any) -> list[Any]:
    return [list(map(str, table[name].to_pylist())) for name in ("qid", "docid")] + [table["score"].to_pylist()]


@pytest.mark.parametrize("text", TEXT)
def test_ids_of_every_layout_are_texts(text: str) -> None:
    made = {"score": np.arange(float(len(TEXTS))), "qid": TEXT[text](sorted(TEXTS)), "docid": TEXT[text](TEXTS)}
    whole = pa.table(made)
    for table in (whole, whole.slice(3, 4), whole.slice(0, 0), pa.concat_tables([whole.slice(4), whole.slice(0, 5)])):
        if table.num_rows:
            assert list(read(table)[:3]) == as_they_are(table)


@pytest.mark.parametrize("kind", WHOLE)
def test_whole_numbers_of_every_width_are_ids_in_decimal_and_values(kind: str) -> None:
    ids = pa.array(limits(kind), kind)
    few = pa.array(limits(kind)[:1], kind)
    for column in (ids, ids.dictionary_encode(), pa.concat_arrays([few, ids, few]).slice(1, len(ids))):
        table = pa.table({"qid": column, "docid": column, "score": np.zeros(len(ids))})
        assert list(read(table)[:3]) == as_they_are(table)
    values = ids if kind != "uint64" else pa.array([0, 2**63 - 1], kind)
    table = pa.table({"qid": ["1"] * len(values), "docid": ids, "score": values, "rank": values})
    *_, scores, ranks = read(table, "qid", "docid", "score", "rank")
    assert scores == ranks.tolist() == values.to_pylist()


def test_floats_are_values() -> None:
    for kind, values in ((pa.float32(), [0.1, float("inf")]), (pa.float64(), [0.1, -0.0])):
        table = pa.table({"qid": ["1", "1"], "docid": ["a", "b"], "score": pa.array(values, kind)})
        assert read(table)[2] == table["score"].to_pylist()


PLAIN = {"qid": ["1", "1"], "docid": ["a", "b"], "score": [1.0, 2.0]}

LEFT: dict[str, dict[str, Any]] = {
    "a missing query": {"qid": ["1", None]},
    "a missing document": {"docid": pa.array([None, "b"])},
    "a missing score": {"score": [1.0, None]},
    "a missing entry of a dictionary": {"docid": pa.DictionaryArray.from_arrays(pa.array([0, 1]), ["a", None])},
    "floats as ids": {"docid": [1.0, 2.0]},
    "bytes as ids": {"docid": [b"a", b"b"]},
    "truths as ids": {"qid": [True, False]},
    "text as scores": {"score": ["1", "2"]},
    "truths as scores": {"score": [True, False]},
    "a dictionary of scores": {"score": pa.array([1.0, 2.0]).dictionary_encode()},
    "short floats": {"score": pa.array(np.array([1, 2], np.float16))},
    "beyond 63 bits": {"score": pa.array([2**63, 0], pa.uint64())},
    "nothing": {"docid": pa.nulls(2)},
}


@pytest.mark.parametrize("case", LEFT)
def test_what_is_not_plain_is_left_to_python(case: str) -> None:
    assert read(pa.table(PLAIN))[2] == [1.0, 2.0]
    table = pa.table(PLAIN | LEFT[case])
    with pytest.raises(ValueError, match=r"left to Python|decimal point|beyond 64 bits"):
        read(table)


def test_a_part_of_a_column_without_what_is_missing_is_plain() -> None:
    table = pa.table(PLAIN | LEFT["a missing document"])
    assert read(table.slice(1))[1] == ["b"]
    with pytest.raises(ValueError, match="left to Python"):
        read(table.slice(0, 1))


def test_names_must_be_there_once_and_ranks_must_be_whole() -> None:
    two = pa.table(
        [pa.array(["1"]), pa.array(["a"]), pa.array([1.0]), pa.array([1.0])], ["qid", "docid", "score", "score"]
    )
    with pytest.raises(ValueError, match="two columns"):
        read(two)
    with pytest.raises(ValueError, match="left to Python"):
        read(pa.table(PLAIN), "qid", "docid", "other", None)
    with pytest.raises(ValueError, match="not whole numbers"):
        read(pa.table(PLAIN), "qid", "docid", "score", "score")


def test_a_stream_can_be_read_once() -> None:
    class Kept:
        capsule = pa.table(PLAIN).__arrow_c_stream__()

        def __arrow_c_stream__(self) -> Any:
            return self.capsule

    assert read(Kept())[1] == ["a", "b"]
    with pytest.raises((ValueError, IndexError)):
        read(Kept())


@pytest.mark.parametrize(
    "make", [pa.table, polars.DataFrame, polars.LazyFrame, lambda columns: pa.table(columns).to_pandas()]
)
def test_frames_are_read_without_an_object_for_each_row(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"docno": ["b", "a", "b"], "qid": [2, 10, 10], "score": np.float32([0.1, 0.5, 0.25]), "rank": [1, 1, 2]}
    with monkeypatch.context() as patched:
        patched.setattr(objects, "ids_of", None)
        run = te.Run(make(columns))
        assert te.Qrels(make({**columns, "rel": [2, 0, -1]})).to_dict() == {"2": {"b": 2}, "10": {"a": 0, "b": -1}}
        ranked = te.Run(make({name: columns[name] for name in ("docno", "qid", "rank")}))
        scattered = te.Run(make({"docno": ["b", "a", "c"], "qid": ["2", "1", "2"], "score": [1, 2, 3]}))
    assert run.to_dict() == {"2": {"b": float(np.float32(0.1))}, "10": {"a": 0.5, "b": 0.25}}
    assert run.ranks is not None
    assert (run.ranks.tolist(), ranked.to_dict()) == ([1, 1, 2], {"2": {"b": -1.0}, "10": {"a": -1.0, "b": -2.0}})
    assert scattered.to_dict() == {"2": {"b": 1.0, "c": 3.0}, "1": {"a": 2.0}}
    message = r"^document 'b' occurs twice in query '10' of the run \(rows 1 and 3\)\. Keep one of them\.$"
    with pytest.raises(te.errors.DataError, match=message):
        te.Run(make({**columns, "qid": [10, 2, 10]}))


def test_text_that_is_not_utf_8_is_refused_as_before() -> None:
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.int32([0, 1]).tobytes()), pa.py_buffer(b"\xff")]
    )
    with pytest.raises(te.errors.DataError, match=r"the pyarrow\.Table cannot be read: 'utf-8' codec can't decode"):
        te.Run(pa.table({"qid": ["1"], "docid": broken, "score": [1.0]}))


# --- Parquet, judged while it is read ---

QRELS = {"1": {"d1": 1, "d3": 2}, "2": {"d2": 1, "x": 1}, "3": {"d9": 1}, "9": {"a": 1}}
MEASURES = ["map", "nDCG@2", "P@2", "num_ret"]


def rows(lengths: list[int], **more: Any) -> dict[str, Any]:
    """Rows of queries 1, 2, 3, … with so many documents, d1, d2, …, each."""
    columns = {
        "qid": [str(query) for query, length in enumerate(lengths, 1) for _ in range(length)],
        "docid": [f"d{rank}" for length in lengths for rank in range(1, length + 1)],
        "score": [10.0 - rank // 2 for length in lengths for rank in range(1, length + 1)],
        "rank": [rank for length in lengths for rank in range(1, length + 1)],
        "tag": ["mine"] * sum(lengths),
    }
    return columns | more


RUNS = {
    "short queries": rows([2, 1, 2, 1, 3]),
    "a query longer than two portions": rows([1, 9, 2]),
    "one query": rows([7]),
    "portions end with queries": rows([3, 3, 3]),
    "whole numbers as ids and scores": rows([4, 4], docid=list(range(8)), score=list(range(8))),
    "ranks contradict scores": rows([12] * 3, score=[float(row) for row in range(36)]),
    "ranks start again within a query": rows([8], rank=[1, 2, 3, 1, 2, 3, 4, 5]),
    "ranks start again with a portion": rows([4, 3], rank=[3, 4, 5, 1, 1, 2, 3]),
    "a query goes on after another, and its ranks start again": rows([6], qid=[*"111213"], rank=[2, 3, 4, 1, 1, 1]),
    "constant scores": rows([8, 8, 8], score=[1.0] * 24),
    "no ranks": {name: column for name, column in rows([5, 5]).items() if name != "rank"},
    "ranks with a gap": rows([5], rank=[1, 2, None, 4, 5]),
    "scattered queries": rows([8], qid=[*"12121212"]),
    "scattered over portions": rows([8], qid=[*"11112221"]),
    "a query goes on in the middle of a portion": rows([7], qid=[*"1112312"]),
    "nothing judged": rows([5, 5], docid=[f"y{row}" for row in range(10)]),
}


def judged(qrels: Any, run: Any, **options: Any) -> list[Any]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = te.evaluate(qrels, run, MEASURES, **options)
    values = [results.matrix.tolist(), results.averages.tolist(), results.qids, results.missing, results.unjudged]
    return [*values, results.tag, [sign.text for sign in results.signs], [str(each.message) for each in caught]]


@pytest.mark.parametrize("size", [4, 99])
@pytest.mark.parametrize("name", RUNS)
def test_parquet_is_judged_in_pieces_as_its_table_is(
    name: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.parquet"
    pq.write_table(pa.table(RUNS[name]), path, row_group_size=size)
    table = te.read_run(path)
    assert table.to_dict() == te.Run(pa.table(RUNS[name])).to_dict()
    monkeypatch.setattr(parquet, "BATCH", 3)
    for options in ({}, {"depth": 2}, {"profile": "ranx"}, {"threads": 1, "judged_only": True}):
        of_file = judged(QRELS, path, **options)
        wanted = judged(QRELS, table, **options)
        assert [str(part).replace(str(path), "X") for part in of_file] == [
            str(part).replace(str(path), "X").replace("<run>", "X") for part in wanted
        ]


BAD: dict[str, dict[str, Any]] = {
    "NaN": {"score": [9.0, 8.0, 7.0, float("nan")]},
    "a missing document": {"docid": ["a", "b", "c", None]},
    "lists as queries": {"qid": [["1"]] * 4},
    "an empty document": {"docid": ["a", "b", "c", ""]},
    "an empty query": {"qid": ["1", "1", "2", ""]},
    "a document in two portions": {"docid": ["a", "b", "c", "a"], "qid": ["1"] * 4},
    "a document twice in a portion": {"docid": ["a", "a", "c", "d"], "qid": ["1"] * 4},
    "several faults": {"score": [float("nan"), 1.0, 1.0, 1.0], "docid": ["a", "b", "c", None]},
}


@pytest.mark.parametrize("fault", BAD)
def test_a_fault_in_parquet_has_one_message_however_it_is_read(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.parquet"
    pq.write_table(pa.table(rows([4]) | BAD[fault]), path)
    monkeypatch.setattr(parquet, "BATCH", 2)
    messages = []
    for act in (te.read_run, lambda run: te.evaluate({"1": {"a": 1}}, run, "map")):
        with pytest.raises(te.errors.InputError) as caught:
            act(path)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    pq.write_table(pa.table(rows([4])), path)
    assert te.evaluate({"1": {"d1": 1}}, path, "map").mean["map"] == 1.0


def test_the_tag_is_that_of_the_last_row_even_if_groups_follow_without_rows(tmp_path: Path) -> None:
    table = pa.table(rows([2], tag=["first", "last"]))
    with pq.ParquetWriter(tmp_path / "run.parquet", table.schema) as writer:
        writer.write_table(table)
        writer.write_table(table.slice(0, 0))
    assert te.read_run(tmp_path / "run.parquet").tag == "last"
    assert te.evaluate({"1": {"d1": 1}}, tmp_path / "run.parquet", "map").tag == "last"
