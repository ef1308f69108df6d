"""Formats beside TREC's: recognised, read, written, converted."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from command import REFUSED, table, treceval
from hypothesis import given, settings
from hypothesis import strategies as st
from readers import use_reader
from syrupy.assertion import SnapshotAssertion

from treceval_py.data.groups import JudgmentGroups
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import DataError, InputError, shortened
from treceval_py.io.conversion import convert
from treceval_py.io.formats import Kind, formats_of
from treceval_py.io.judged_ranking import read_judged_ranking
from treceval_py.io.named import read_judgments, read_qrels, read_run, recognised
from treceval_py.io.source import peek
from treceval_py.io.writing import write_qrels, write_run
from treceval_py.scan import scanner

pytestmark = pytest.mark.filterwarnings(
    "ignore:.* (has no (tag|scores|strata)|left out):treceval_py.errors.TrecevalWarning"
)

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

RUN = {"1": {"a": 2.5, "b": 0.25}, "2": {"c": -1e-7}}
QRELS = {"1": {"a": 2, "b": 0}, "2": {"c": -1}}

JSON_RUN = b'{"1": {"a": 2.5, "b": 0.25}, "2": {"c": -1e-7}}'
JSON_QRELS = b'{"1": {"a": 2, "b": 0},\n "2": {"c": -1}}\n'
LINES_RUN = (
    b'{"qid": "1", "docid": "a", "score": 2.5}\n{"qid": "1", "docid": "b", "score": 0.25}\n'
    b'{"qid": "2", "docid": "c", "score": -1e-7}\n'
)
LINES_QRELS = (
    b'{"qid": "1", "docid": "a", "rel": 2}\n{"qid": "1", "docid": "b", "rel": 0}\n'
    b'{"qid": "2", "docid": "c", "rel": -1}\n'
)
TREC_RUN = b"1 Q0 a 1 2.5 t\n1 Q0 b 2 0.25 t\n2 Q0 c 1 -1e-7 t\n"
TREC_QRELS = b"1 0 a 2\n1 0 b 0\n2 0 c -1\n"
WRITTEN_JSON = b'{\n"1": {"a": 2.5, "b": 0.25},\n"2": {"c": -1e-07}\n}\n'
HIGHEST = 2**63 - 1

MSMARCO_RUN = b"1\ta\t1\n1\tb\t2\n2\tc\t1\n"
BEIR_QRELS = b"query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n2\tc\t-1\n"


def parquet(**columns: Any) -> bytes:
    written = io.BytesIO()
    pq.write_table(pa.table(columns), written)
    return written.getvalue()


def refusal(read: Callable[..., object], data: bytes | str | os.PathLike[str], *arguments: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(io.BytesIO(data) if isinstance(data, bytes) else data, *arguments)
    return str(caught.value)


READERS = ("python", "compiled") if scanner() is not None else ("python",)


def refusals(read: Callable[..., object], cases: Mapping[str, list[bytes]], patch: pytest.MonkeyPatch) -> str:
    """Return what is refused in each format, and how, whatever reads it."""
    found = []
    for reader in READERS:
        use_reader(patch, reader)
        lines = {
            f"{name}: {shortened(repr(data), 120)}": refusal(read, data, name)
            for name, every in cases.items()
            for data in every
        }
        found.append(table(lines))
    assert found == found[:1] * len(READERS)
    return found[0]


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    use_reader(monkeypatch, request.param)
    return str(request.param)


# --- recognition ---

MANY_KILOBYTES = json.dumps({"1": {f"document-{number}": 1.0 for number in range(1000)}}).encode() + b"\n"


RECOGNISED: list[tuple[str, Kind, list[bytes]]] = [
    ("trec_results", "run", [TREC_RUN, b"1 a 7\n1 b 9\n1 c 8\n", BEIR_QRELS, b"{x} Q0 a 1 1 t\n", b"", b"%PDF-1.7"]),
    (
        "msmarco",
        "run",
        [MSMARCO_RUN, b"1 a 1", b"\xef\xbb\xbf# by me\n\n  1 a 1\n", b"# a comment\n" * 5000 + MSMARCO_RUN],
    ),
    ("msmarco", "run", [pack(MSMARCO_RUN) for pack in (gzip.compress, bz2.compress, lzma.compress)]),
    ("qrels", "qrels", [TREC_QRELS, MSMARCO_RUN, b"query-id corpus-id score\n1 a 1\n", b"\n # \n"]),
    ("beir", "qrels", [BEIR_QRELS, b"\r\nQuery-ID\tcorpus-id\tscore\r\n"]),
    ("json", "run", [JSON_RUN, b'\xef\xbb\xbf\n{\n"1": {"a": 1}}', b'{"1": {"a": 1}}\n', MANY_KILOBYTES]),
    ("json", "run", [b'{"1": {"a": 1},\n"2": {"a": 1}}\n']),
    ("json", "qrels", [JSON_QRELS]),
    ("jsonl", "run", [LINES_RUN, LINES_RUN.split(b"\n")[0], MANY_KILOBYTES * 2]),
    ("jsonl", "run", [b'{"1": {"a": 1}}\n\n{"2": {"a": 1}}\n']),
    ("jsonl", "qrels", [LINES_QRELS]),
    ("parquet", "run", [b"PAR1\x15\x04"]),
    ("parquet", "qrels", [b"PAR1\x15\x04"]),
]


def test_formats_are_recognised() -> None:
    for name, kind, every in RECOGNISED:
        assert [data[:200] for data in every if recognised(io.BytesIO(data), kind)[0] != name] == [], (name, kind)


def test_a_name_of_a_data_set_and_a_path_stay_what_they_are(tmp_path: Path) -> None:
    assert recognised("ir_datasets:vaswani", "qrels") == ("ir_datasets", "ir_datasets:vaswani")
    (tmp_path / "run").write_bytes(MSMARCO_RUN)
    name, source = recognised(tmp_path / "run", "run")
    assert (name, os.fspath(source)) == ("msmarco", str(tmp_path / "run"))  # type: ignore[arg-type]
    assert refusal(read_run, "nowhere/run") == "nowhere/run: no such file. Check the name."


def test_an_open_file_stays_where_it_stands() -> None:
    file = io.BytesIO(b"what came before\n" + TREC_RUN)
    file.seek(17)
    assert recognised(file, "run") == ("trec_results", file)
    assert file.tell() == 17


class Pipe(io.RawIOBase):
    """A stream that cannot be rewound and gives a few bytes at a time."""

    name = "<pipe>"

    def __init__(self, data: bytes) -> None:
        self.rest = data
        self.taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data, self.rest = self.rest[: min(len(buffer), 7)], self.rest[min(len(buffer), 7) :]
        buffer[: len(data)] = data
        self.taken += len(data)
        return len(data)


def test_no_byte_of_a_pipe_is_lost_and_it_is_not_read_whole() -> None:
    packed = [gzip.compress(MSMARCO_RUN), lzma.compress(LINES_RUN * 3)[:100]]
    for data in [TREC_RUN, MSMARCO_RUN, JSON_RUN, LINES_RUN, *packed, TREC_RUN * 10_000]:
        pipe = Pipe(data)
        _, source = recognised(pipe, "run")  # type: ignore[arg-type]
        assert pipe.taken < 20_000
        assert source.read() == data  # type: ignore[union-attr]


def test_a_pipe_keeps_its_name() -> None:
    assert refusal(read_run, Pipe(b"1 a 0\n")) == "<pipe>:1: rank '0' is not 1 or more. Ranks count from 1."  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data", [MSMARCO_RUN, gzip.compress(MSMARCO_RUN), JSON_RUN, parquet(qid=["1"], docid=["a"], score=[1.5])]
)
def test_a_named_pipe_is_recognised_and_read(data: bytes, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run")
    writer = threading.Thread(target=(tmp_path / "run").write_bytes, args=(data,))
    writer.start()
    run = read_run(tmp_path / "run")
    writer.join()
    assert run.to_dict() == read_run(io.BytesIO(data)).to_dict()
    assert run.name == str(tmp_path / "run")


def test_standard_input_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(MSMARCO_RUN)
    code = "from treceval_py.io.named import read_run; print(read_run('-').to_dict())"
    with (tmp_path / "run").open("rb") as file:
        for feed in ({"input": MSMARCO_RUN}, {"stdin": file}):
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, **feed)  # type: ignore[call-overload]
            assert eval(done.stdout) == {"1": {"a": -1.0, "b": -2.0}, "2": {"c": -1.0}}


def test_what_is_peeked_at_of_a_pipe_comes_again_for_another_look() -> None:
    head, source = peek(Pipe(TREC_RUN), 10)  # type: ignore[arg-type]
    again, source = peek(source, 20)
    assert (head, again, source.read()) == (TREC_RUN[:10], TREC_RUN[:20], TREC_RUN)  # type: ignore[union-attr]


def test_damaged_data_are_left_for_the_reader_to_refuse() -> None:
    long = json.dumps({"1": {str(number): number / 7 for number in range(5000)}}).encode()
    for data, name in ((gzip.compress(MSMARCO_RUN * 1000)[:40], None), (gzip.compress(long)[:-20], "json")):
        assert "the compressed data is damaged or cut off" in refusal(read_run, data, name)


def test_recognition_loads_no_reader() -> None:
    code = (
        "import sys, io; import treceval_py.io.trec; before = set(sys.modules);"
        "from treceval_py.io.named import recognised; recognised(io.BytesIO(b'1 Q0 a 1 1 t\\n'), 'run');"
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert eval(done.stdout) == ["treceval_py.io.named"]


# --- every format, refused ---

LINE = b'{"qid": "0", "docid": "z", "score": 1}\n\n'

NO_RUNS, NO_JUDGMENTS = (
    {name: [text.encode() for text in texts] for name, texts in REFUSED[kind].items()}
    for kind in ("no_runs", "no_judgments")
)
NO_RUNS["json"] += [b'{"1": {"a": 1' + b"0" * 400 + b"}}", b'{"1": ' + b"[" * 200_000, b'{"1":\n\n {"\xff": 1}}']
NO_RUNS["parquet"].append(gzip.compress(b"PAR1", mtime=0))
THIRD = [*NO_RUNS.pop("third_lines"), b'{"qid": "1", "docid": "\xff", "score": 1}']
NO_RUNS["jsonl"] = [b"\n\n", *(LINE + third + b"\n" for third in THIRD)]


def test_what_is_no_run_is_refused(monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    found = refusals(read_run, NO_RUNS, monkeypatch)
    assert found == snapshot


def test_what_are_no_judgments_is_refused(monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    assert refusals(read_qrels, NO_JUDGMENTS, monkeypatch) == snapshot


# --- every format, read ---


LISTS = {"qid": ["1", "1", "2"], "docid": ["a", "b", "c"]}
SAME_RUNS = [
    *(TREC_RUN, JSON_RUN, LINES_RUN, b'{"1": {"a": 2.5, "b": 0.25}}\n{"2": {"c": -1e-7}}\n'),
    b'{"query-id": "1", "corpus-id": "a", "score": 2.5}\n{"query_id": "1", "pid": "b", "score": 0.25, "rank": 2}\n%s'
    % b'{"query": "2", "doc_id": "c", "score": -1e-7}',
    parquet(**LISTS, score=[2.5, 0.25, -1e-7]),
    parquet(text=["", "", ""], corpus_id=["a", "b", "c"], query=[1, 1, 2], score=[2.5, 0.25, -1e-7]),
]
SAME_QRELS = [
    *(TREC_QRELS, BEIR_QRELS, JSON_QRELS, LINES_QRELS, b'{"1": {"a": 2, "b": 0}}\n{"2": {"c": -1}}\n'),
    b'{"qid": "1", "docid": "a", "relevance": 2}\n{"qid": "1", "docid": "b", "label": 0}\n%s'
    % b'{"qid": "2", "docid": "c", "score": -1}',
    parquet(**LISTS, rel=[2, 0, -1]),
    parquet(**LISTS, label=pa.array([2, 0, -1], pa.int8())),
]


def test_files_of_all_formats_are_the_same() -> None:
    for data in SAME_RUNS:
        assert read_run(io.BytesIO(data)).to_dict() == RUN, data
    for data in SAME_QRELS:
        assert read_qrels(io.BytesIO(data)).to_dict() == QRELS, data


def test_a_format_can_be_named() -> None:
    assert read_run(io.BytesIO(MSMARCO_RUN), "msmarco").tag == "run"
    assert read_qrels(io.BytesIO(TREC_QRELS), "msmarco").to_dict() == QRELS
    assert isinstance(read_judgments(io.BytesIO(TREC_QRELS), "qrels_jg"), JudgmentGroups)
    assert isinstance(read_judgments(io.BytesIO(TREC_QRELS)), Qrels)


def test_an_unknown_format_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(DataError) as caught:
        read_run(io.BytesIO(TREC_RUN), "trec")
    assert str(caught.value) == (
        "unknown format 'trec' of runs. "
        "Choose one of trec_results, msmarco, colbert, tevatron, csv, tsv, json, jsonl, parquet."
    )
    with pytest.raises(DataError, match="unknown format 'prefs' of relevance judgments"):
        read_qrels(io.BytesIO(TREC_QRELS), "prefs")


def test_the_formats_of_judgments_are_those_of_trec_eval_and_more() -> None:
    of_trec_eval = ["qrels", "qrels_jg", "prefs", "qrels_prefs"]
    assert list(formats_of("qrels", "judgments"))[:4] == of_trec_eval
    assert list(formats_of("judgments")) == of_trec_eval[1:]


# --- MS MARCO ---


def test_ranks_of_ms_marco_become_scores(reader: str) -> None:
    run = read_run(io.BytesIO(b"1 a 2\r\n# mine\n\n 1\tb 1\n2 c 7"), "msmarco")
    assert run.to_dict() == {"1": {"a": -2.0, "b": -1.0}, "2": {"c": -7.0}}
    assert run.ranks is not None
    assert run.ranks.tolist() == [2, 1, 7]
    scattered = read_run(io.BytesIO(b"1 a 1\n2 c 1\n1 b %d\n" % HIGHEST))
    assert scattered.to_dict() == {"1": {"a": -1.0, "b": -(2.0**63)}, "2": {"c": -1.0}}


# --- BEIR ---


def test_the_header_of_beir_may_be_missing_where_the_format_is_named_and_ids_have_spaces(reader: str) -> None:
    assert read_qrels(io.BytesIO(BEIR_QRELS.split(b"\n", 1)[1]), "beir").to_dict() == QRELS
    data = b"query-id\tcorpus-id\tscore\r\nq 1\t a  b\t1\r\n\r\n#x\tb\t1\r\n"
    assert read_qrels(io.BytesIO(data)).to_dict() == {"q 1": {" a  b": 1}}


# --- JSON ---


def test_a_query_in_json_may_have_no_documents_infinite_scores_and_white_space_in_ids() -> None:
    run = read_run(io.BytesIO(b'{"1": {}, "2": {"a": Infinity, "b": -Infinity}, "3": {}}'))
    assert run.to_dict() == {"1": {}, "2": {"a": float("inf"), "b": float("-inf")}, "3": {}}
    assert read_qrels(io.BytesIO(b'{"my query": {"a\\nb": 1}}')).to_dict() == {"my query": {"a\nb": 1}}


# --- JSON Lines ---


def test_queries_in_json_lines_may_be_scattered() -> None:
    data = b'{"2": {"c": 1}}\n{"qid": "1", "docid": "a", "score": 1}\n{"2": {"b": 3}}\n'
    assert read_run(io.BytesIO(data)).to_dict() == {"2": {"c": 1.0, "b": 3.0}, "1": {"a": 1.0}}


# --- Parquet ---


TWO = {"qid": ["1", "1"], "docid": ["a", "b"]}
NO_TABLES: dict[str, dict[str, Any]] = {
    "no docids": {"qid": ["1"], "page": ["a"], "score": [1.0]},
    "no scores": {"qid": ["1"], "docid": ["a"], "rel": [1]},
    "qids that are fractions": {"qid": [1.0], "docid": ["a"], "score": [1.0]},
    "docids that are bytes": {"qid": ["1"], "docid": [b"a"], "score": [1.0]},
    "scores that are text": {"qid": ["1"], "docid": ["a"], "score": ["x"]},
    "scores that are true": {"qid": ["1"], "docid": ["a"], "score": [True]},
    "a qid missing": {**TWO, "qid": ["1", None], "score": [1.0, 2.0]},
    "a docid missing": {**TWO, "docid": ["a", None], "score": [1.0, 2.0]},
    "a score missing": {**TWO, "score": [1.0, None]},
    "a score that is NaN": {**TWO, "score": [1.0, float("nan")]},
    "a document twice": {"qid": ["1", "2", "1"], "docid": ["a", "a", "a"], "score": [1.0, 2.0, 3.0]},
    "an empty docid": {**TWO, "docid": ["a", ""], "score": [1.0, 2.0]},
    "no rows": {
        name: pa.array([], pa.float64() if name == "score" else pa.string()) for name in ("qid", "docid", "score")
    },
}
NO_RELS: dict[str, Any] = {
    "judgments that are fractions": [1.0],
    "a judgment beyond 64 bits": pa.array([2**63], pa.uint64()),
    "a judgment missing": pa.array([None], pa.int64()),
}


def test_what_is_no_table_is_refused(snapshot: SnapshotAssertion) -> None:
    found = {name: refusal(read_run, parquet(**columns)) for name, columns in NO_TABLES.items()}
    for name, rels in NO_RELS.items():
        found[name] = refusal(read_qrels, parquet(qid=["1"], docid=["a"], rel=rels))
    assert table(found) == snapshot


def test_judgments_are_read_to_the_end_of_64_bits() -> None:
    every = {"1": {"a": HIGHEST, "b": -HIGHEST - 1}}
    assert read_qrels(io.BytesIO(json.dumps(every).encode())).to_dict() == every
    assert read_qrels(io.BytesIO(parquet(**TWO, rel=[HIGHEST, -HIGHEST - 1]))).to_dict() == every
    unsigned = parquet(**TWO, rel=pa.array([HIGHEST, 0], pa.uint64()))
    assert read_qrels(io.BytesIO(unsigned)).to_dict()["1"]["a"] == HIGHEST


def test_text_of_any_kind_is_an_id() -> None:
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        qids, docids = pa.array(["é", "b", "é"], kind), pa.array(["a", "b", "c"], kind)
        data = parquet(qid=qids, docid=docids, score=pa.array([1, 2, 3], pa.float32()))
        assert read_run(io.BytesIO(data)).to_dict() == {"é": {"a": 1.0, "c": 3.0}, "b": {"b": 2.0}}, kind


def test_integers_are_ids_in_decimal() -> None:
    data = parquet(qid=[7, -7], docid=pa.array([2**64 - 1, 0], pa.uint64()), score=[1, 2])
    assert read_run(io.BytesIO(data)).to_dict() == {"7": {"18446744073709551615": 1.0}, "-7": {"0": 2.0}}


def test_ranks_and_tag_are_read_from_parquet() -> None:
    run = read_run(
        io.BytesIO(parquet(qid=["1", "2", "1"], docid=["a", "b", "c"], score=[3, 2, 1], rank=[1, 5, 2], run=["x"] * 3))
    )
    assert run.ranks is not None
    assert (run.ranks.tolist(), run.tag, run["1"]) == ([1, 2, 5], "x", {"a": 3.0, "c": 1.0})


def test_several_row_groups_are_one_table(tmp_path: Path) -> None:
    columns = {"qid": [str(row // 10) for row in range(100)], "docid": [f"d{row}" for row in range(100)]}
    pq.write_table(pa.table({**columns, "score": np.arange(100.0)}), tmp_path / "run", row_group_size=7)
    run = read_run(tmp_path / "run")
    assert (len(run), run["9"]["d99"]) == (10, 99.0)


def test_a_damaged_parquet_file_is_refused_in_one_line() -> None:
    whole = parquet(qid=["1"], docid=["a"], score=[1.0])
    for length in (4, 50, 300):
        message = refusal(read_run, whole[:length])
        assert message.startswith("<file>: the Parquet file is damaged or cut off (")
        assert message.endswith("). Copy or download the file again.")
        assert "\n" not in message
    message = "<file>: this is not a Parquet file. Is the whole file compressed? Decompress it first."
    assert refusal(read_run, gzip.compress(whole)) == message
    file = io.BytesIO(whole)
    read_run(file)
    assert not file.closed


def test_parquet_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refusal(read_run, b"PAR1") == (
        "<file>: Parquet needs the package pyarrow, which is not installed. pip install '.[parquet]', in your clone of treceval_py"
    )


# --- data sets ---


class Judged(NamedTuple):
    query_id: str
    doc_id: str
    relevance: Any
    iteration: str = "0"


class DataSet:
    """What ``ir_datasets.load`` returns, as far as it is used."""

    def __init__(self, rows: list[Any] | Exception | None) -> None:
        self.rows = rows

    def has_qrels(self) -> bool:
        return self.rows is not None

    def qrels_iter(self) -> Iterator[Any]:
        if isinstance(self.rows, Exception):
            raise self.rows
        yield from self.rows or ()


@pytest.fixture
def datasets(monkeypatch: pytest.MonkeyPatch) -> dict[str, DataSet]:
    known: dict[str, DataSet] = {}
    module = types.ModuleType("ir_datasets")
    module.load = known.__getitem__  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ir_datasets", module)
    return known


def test_judgments_of_a_data_set_are_read_and_converted(datasets: dict[str, DataSet], tmp_path: Path) -> None:
    datasets["beir/scifact/test"] = DataSet([Judged("1", "a", 2), Judged("2", "c", -1), Judged("1", "b", 0)])
    qrels = read_qrels("ir_datasets:beir/scifact/test")
    assert (qrels.to_dict(), qrels.name) == (QRELS, "ir_datasets:beir/scifact/test")
    assert read_qrels("beir/scifact/test", "ir_datasets").to_dict() == QRELS
    convert("ir_datasets:beir/scifact/test", tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_bytes() == BEIR_QRELS


@pytest.mark.parametrize("command", ["", "compare", "board --no-cache", "explain", "report -o page.html"])
def test_a_data_set_takes_the_place_of_a_file_of_judgments(
    command: str, datasets: dict[str, DataSet], tmp_path: Path
) -> None:
    datasets["vaswani"] = DataSet([Judged("1", "a", 1), Judged("2", "c", 1)])
    for name in ("one", "two")[: 1 if command == "explain" else 2]:
        (tmp_path / name).write_text(f"1 Q0 a 1 1 {name}\n2 Q0 b 1 1 {name}\n")
    runs = sorted(path.name for path in tmp_path.iterdir())
    done = treceval([*command.split(), "ir_datasets:vaswani", *runs, "-m", "map"], folder=tmp_path)
    assert (done.status, b"unknown" in done.err) == (0, False), done.err


NO_DATASETS: dict[str, list[Any] | Exception | None] = {
    "no judgments": None,
    "no rows": [],
    "no connection": OSError("no route\nto host."),
    "an error without words": RuntimeError(),
    "rows of two": [("1", "a")],
    "a document twice": [Judged("1", "a", 1), Judged("1", "a", 2)],
    "half a grade": [Judged("1", "a", 0.5)],
}


def test_a_data_set_that_cannot_be_used_is_refused(
    datasets: dict[str, DataSet], monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    datasets.update({name: DataSet(every) for name, every in NO_DATASETS.items()})
    found = {name: refusal(read_qrels, f"ir_datasets:{name}") for name in [*NO_DATASETS, "unknown"]}
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    found["without the package"] = refusal(read_qrels, "ir_datasets:vaswani")
    assert all(line.startswith("ir_datasets:") for line in found.values())
    assert table(found) == snapshot


# --- the judged ranking ---


def test_a_judged_ranking_is_judgments_and_a_run(reader: str) -> None:
    qrels, run = read_judged_ranking(io.BytesIO(b"1 Q0 b 0\n2 Q0 c -1\n1 Q0 a 2\n"))
    assert qrels.to_dict() == {"1": {"b": 0, "a": 2}, "2": {"c": -1}}
    assert run.to_dict() == {"1": {"b": -1.0, "a": -2.0}, "2": {"c": -1.0}}
    assert run.ranks is not None
    assert (run.ranks.tolist(), run.tag, run.name) == ([1, 2, 1], "run", "<file>")
    assert refusal(read_judged_ranking, b"1 Q0 a 0\n\n1 Q0 a 1\n") == (
        "<file>:3: document 'a' occurs twice in query '1' (first on line 1). Keep one of the two lines."
    )


# --- writing ---


def written(table: Run | Qrels, path: Path, format: str) -> bytes:
    if isinstance(table, Run):
        write_run(table, path, format=format)
    else:
        write_qrels(table, path, format=format)
    return path.read_bytes()


WRITTEN: list[tuple[Run | Qrels, str, bytes]] = [
    (Run(RUN), "msmarco", MSMARCO_RUN),
    (Run({"1": {"a": 1, "b": 2, "c": 2}}), "msmarco", b"1\tc\t1\n1\tb\t2\n1\ta\t3\n"),
    (Run(RUN), "json", WRITTEN_JSON),
    (Run({"1": {"b": 0.5}}), "jsonl", b'{"qid": "1", "docid": "b", "score": 0.5}\n'),
    (Qrels(QRELS), "msmarco", TREC_QRELS),
    (Qrels(QRELS), "beir", BEIR_QRELS),
    (Qrels({"1": {"é": 1}}), "json", b'{\n"1": {"\\u00e9": 1}\n}\n'),
    (Qrels(QRELS), "jsonl", LINES_QRELS),
    (Run({}), "json", b"{}\n"),
]


def test_tables_are_written(tmp_path: Path) -> None:
    for records, name, text in WRITTEN:
        assert written(records, tmp_path / "file", name) == text


def test_what_cannot_stand_in_a_format_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    cases: list[tuple[Run | Qrels, str]] = [
        (Run({"1": {"a b": 1}}), "msmarco"),
        (Qrels({"1": {"a\tb": 1}}), "beir"),
        (Qrels({"#1": {"a": 1}}), "beir"),
        (Run({"1": {"\udcff": 1}}), "parquet"),
        (Run({"1": {"a": 1}}), "beir"),
        (Qrels({"1": {"a": 1}}), "prefs"),
    ]
    found = {}
    for records, name in cases:
        with pytest.raises(DataError) as caught:
            written(records, tmp_path / "file", name)
        found[f"{name}: {records.to_dict()!a}"] = str(caught.value)
    with pytest.raises(DataError) as caught:
        write_run(RUN, tmp_path / "run.parquet.gz", format="parquet")
    found["run.parquet.gz"] = str(caught.value)
    assert os.listdir(tmp_path) == []
    assert table(found) == snapshot


def test_every_format_that_is_written_can_be_read() -> None:
    assert set(formats_of("run", written=True)) == set(formats_of("run"))
    assert set(formats_of("qrels", written=True)) == set(formats_of("qrels")) - {"ir_datasets"}


# --- round trips ---

anything = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8) | st.sampled_from(
    ["0007", "7", "NaN", "null", "qid", "\udcff", "a b", 'quo"te', "\\", "{", "tab\t", "line\n", "\u2028", "\x85", "#"]
)
# A field of a TREC file, of which no query is a comment.
plain = anything.map(lambda text: "".join(text.split()).replace("\0", "").replace("\x1c", "")).filter(
    lambda text: bool(text) and text[0] not in "#\ufeff"
)


def ordered(table: Run | Qrels) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(qid, [(docid, repr(value)) for docid, value in table[qid].items()]) for qid in table]


@pytest.mark.slow
@pytest.mark.both_readers
@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(plain, plain, st.integers(1, 2**40)), min_size=1, max_size=9, unique_by=lambda row: row[:2]))
def test_both_readers_see_the_same_run_of_ms_marco(lines: list[tuple[str, str, int]]) -> None:
    text = "".join(f"{qid}\t{docid} {rank}\n" for qid, docid, rank in lines).encode("utf-8", "surrogateescape")
    found = []
    for name in ("", "python"):
        with pytest.MonkeyPatch.context() as patch:
            use_reader(patch, name)
            run = read_run(io.BytesIO(text), "msmarco")
        assert run.ranks is not None
        found.append((ordered(run), run.ranks.tolist()))
    assert found[0] == found[1]


# --- conversion ---


CONVERTED = [
    (TREC_RUN, "out.tsv", MSMARCO_RUN),
    (TREC_QRELS, "out.tsv", BEIR_QRELS),
    (TREC_RUN, "out.json", WRITTEN_JSON),
    (BEIR_QRELS, "out.jsonl", LINES_QRELS),
    (BEIR_QRELS, "out.qrels", TREC_QRELS),
    (LINES_QRELS, "out.txt", TREC_QRELS),
    (JSON_RUN, "out", b"1 Q0 a 1 2.5 run\n1 Q0 b 2 0.25 run\n2 Q0 c 1 -1e-07 run\n"),
    (MSMARCO_RUN, "out", b"1 Q0 a 1 -1.0 run\n1 Q0 b 2 -2.0 run\n2 Q0 c 1 -1.0 run\n"),
    (parquet(qid=["1"], docid=["a"], rel=[1]), "out", b"1 0 a 1\n"),
    (parquet(qid=["1"], docid=["a"], score=[1.0]), "out", b"1 Q0 a 1 1.0 run\n"),
]


def test_files_are_converted(tmp_path: Path) -> None:
    for data, name, text in CONVERTED:
        done = convert(io.BytesIO(data), tmp_path / name)
        assert ((tmp_path / name).read_bytes(), done.guessed) == (text, False)


def test_a_converted_file_is_compressed_as_its_name_says(tmp_path: Path) -> None:
    assert convert(io.BytesIO(TREC_RUN), tmp_path / "out.tsv.gz").format == "msmarco"
    assert gzip.decompress((tmp_path / "out.tsv.gz").read_bytes()) == MSMARCO_RUN


def test_a_run_keeps_its_tag_and_ranks_in_parquet(tmp_path: Path) -> None:
    done = convert(io.BytesIO(b"1 Q0 a 5 1 t\n1 Q0 b 3 2 t\n"), tmp_path / "out.parquet")
    run = read_run(tmp_path / "out.parquet")
    assert run.ranks is not None
    assert (done.lost, run.tag, run.ranks.tolist(), run.to_dict()) == ((), "t", [5, 3], {"1": {"a": 1.0, "b": 2.0}})


ONE = b'{"1": {"a": 1}}'
KINDS: list[tuple[bytes, dict[str, Any], type, bool]] = [
    (ONE, {}, Qrels, True),
    (ONE, {"kind": "run"}, Run, False),
    (ONE, {"target_format": "trec_results"}, Run, False),
    (ONE, {"target_format": "beir"}, Qrels, False),
    (b'{"1": {"a": 1, "b": 1.5}}', {}, Run, False),
    (b'{"qid": "1", "docid": "a", "score": 1}', {}, Qrels, True),
    (b'{"qid": "1", "docid": "a", "score": 1.0}', {}, Run, False),
    (b'{"qid": "1", "docid": "a", "label": 1}', {}, Qrels, False),
    (parquet(qid=["1"], docid=["a"], score=[1]), {}, Qrels, True),
    (parquet(qid=["1"], docid=["a"], score=[1]), {"kind": "run"}, Run, False),
    (b"1 0 a 1\n", {"source_format": "msmarco"}, Qrels, False),
    (b"1 a 1\n", {"source_format": "msmarco"}, Run, False),
]


def test_the_kind_of_a_file_is_told(tmp_path: Path) -> None:
    for data, options, kind, guessed in KINDS:
        done = convert(io.BytesIO(data), tmp_path / "out", **options)
        assert (type(done.table), done.guessed) == (kind, guessed), (data, options)


def test_what_cannot_be_converted_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    cases: list[tuple[bytes, dict[str, Any]]] = [
        (TREC_RUN, {"target_format": "beir"}),
        (TREC_QRELS, {"target_format": "trec_results"}),
        (TREC_QRELS, {"tag": "t"}),
        (TREC_QRELS, {"source_format": "beir", "kind": "run"}),
        (TREC_QRELS, {"source_format": "prefs"}),
        (b"1\n", {}),
        (b"1 2\n", {}),
        (b"1 2 3 4 5\n", {}),
        (b"1 2 3 4 5 6\n1 2\n", {}),
        (b"1 2 3\n1 2\n", {}),
        (b"", {}),
        (b'{"a b": {"c": 1.5}}', {}),
    ]
    found = {}
    for data, options in cases:
        with pytest.raises((DataError, InputError)) as caught:
            convert(io.BytesIO(data), tmp_path / "out", **options)
        found[f"{data!r} {options}"] = str(caught.value)
    assert os.listdir(tmp_path) == []
    assert table(found) == snapshot


def test_what_is_lost_is_said(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    empty = b'{"1": {"a": 1.5}, "2": {}%s}'
    cases: list[tuple[bytes, str, int]] = [  # and how many notes there are
        (TREC_RUN, "out.tsv", 2),
        (MSMARCO_RUN, "out.tsv", 0),
        (TREC_RUN, "out.json", 1),
        (TREC_RUN, "out.jsonl", 1),
        (TREC_RUN, "out.parquet", 0),
        (empty % b"", "out.json", 0),
        (TREC_QRELS, "out.json", 0),
    ]
    found = [convert(io.BytesIO(data), tmp_path / name).lost for data, name, _ in cases]
    assert [len(lost) for lost in found] == [count for *_, count in cases]
    said = {f"{data!r} {name}": " | ".join(lost) for (data, name, _), lost in zip(cases, found, strict=True)}
    assert table(said) == snapshot


# --- the command ---


def test_the_command_says_what_is_lost_and_what_it_took_a_file_for(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "run").write_bytes(TREC_RUN)
    (tmp_path / "in.json").write_bytes(b'{"1": {"a": 1}}')
    commands = {  # what is printed, and the exit status
        "run out.tsv --tag mine": (0, ""),
        "in.json -": (0, "1 0 a 1\n"),
        "--kind run in.json -": (0, "1 Q0 a 1 1.0 run\n"),
        "run - --to parquet": (2, ""),
        "run out --to doc": (2, ""),
        "run out --from prefs": (2, ""),
        "nope -": (1, ""),
    }
    found = {each: treceval(["convert", *each.split()], folder=tmp_path) for each in commands}
    assert {each: (done.status, done.out.decode()) for each, done in found.items()} == commands
    assert (tmp_path / "out.tsv").read_bytes() == MSMARCO_RUN
    assert table({each: done.err.decode() for each, done in found.items()}) == snapshot


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_a_full_standard_output_is_reported(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(TREC_RUN)
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "treceval_py", "convert", str(tmp_path / "run"), "-"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    message = "treceval: standard output cannot be written: No space left on device.\n"
    assert (done.returncode, done.stderr) == (1, message)
