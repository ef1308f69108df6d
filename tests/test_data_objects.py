"""Judgments and runs in memory: each form gives what the file gives, and everything else is refused in words."""

from __future__ import annotations

import dataclasses
import inspect
import io
import json
import math
import warnings
from collections import namedtuple
from collections.abc import Callable
from decimal import Decimal
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from command import table
from hypothesis import given, settings
from hypothesis import strategies as st
from shared import SHARED, needs_shared
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.data.columns import DOCUMENT, JUDGMENT, QUERY, SCORE
from treceval_py.data.ranking import Ranking

polars = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
pyarrow = pytest.importorskip("pyarrow")

DATA = Path(__file__).parent.parent / "data"
QRELS = {"7": {"119": 2, "108": 0, "9": 1}, "12": {"4": 1}}
RUN = {"7": {"108": 0.9, "119": 0.75, "x": 0.5}, "12": {"3": -1.0, "4": -1.5}}
MEASURES = ["map", "nDCG@10", "P@5", "bpref", "num_rel_ret"]


class Qrel(NamedTuple):
    """As ir_datasets and ir_measures have them."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class ScoredDoc(NamedTuple):
    query_id: str
    doc_id: str
    score: float


@dataclasses.dataclass(slots=True)
class Hit:
    qid: str
    docno: str
    sim: float


def rows_of(nested: dict[str, dict[str, Any]]) -> list[tuple[str, str, Any]]:
    return [(qid, docid, value) for qid, documents in nested.items() for docid, value in documents.items()]


def columns_of(nested: dict[str, dict[str, Any]], *names: str) -> dict[str, list[Any]]:
    return dict(zip(names, map(list, zip(*rows_of(nested), strict=True)), strict=True))


def structured(columns: dict[str, list[Any]]) -> Any:
    made = np.empty(len(next(iter(columns.values()))), dtype=[(name, object) for name in columns])
    for name, column in columns.items():
        made[name] = column
    return made


Nested = dict[str, dict[str, Any]]

FRAMES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas of categories": lambda columns: pd.DataFrame(columns).astype(dict.fromkeys(list(columns)[:2], "category")),
    "pandas of arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    "pandas of objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "pandas with an index": lambda columns: pd.DataFrame(columns).set_index(list(columns)[:2]),
    "polars": polars.DataFrame,
    "polars of categories": lambda columns: polars.DataFrame(columns).with_columns(
        polars.col(list(columns)[:2]).cast(polars.Categorical)
    ),
    "polars, lazy": lambda columns: polars.LazyFrame(columns),
    "pyarrow": pyarrow.table,
    "pyarrow of dictionaries": lambda columns: pyarrow.table(
        {name: column if name == list(columns)[2] else pyarrow.array(column).dictionary_encode()
         for name, column in columns.items()}
    ),
    "a batch of pyarrow": pyarrow.RecordBatch.from_pydict,
    "a reader of pyarrow": lambda columns: pyarrow.table(columns).to_reader(),
    "duckdb": lambda columns: duckdb.arrow(pyarrow.table(columns)),
    "columns": dict,
    "columns of arrays": lambda columns: {name: np.array(column, dtype=object) for name, column in columns.items()},
    "a structured array": structured,
    "records": lambda columns: [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    "JSON's records": lambda columns: json.loads(pd.DataFrame(columns).to_json(orient="records")),
}  # fmt: skip

if hasattr(pyarrow, "string_view"):  # from version 16 on
    FRAMES["pyarrow of views"] = lambda columns: pyarrow.table(
        {name: pyarrow.array(column, type=pyarrow.string_view()) if name in list(columns)[:2] else column
         for name, column in columns.items()}
    )  # fmt: skip

RUNS: dict[str, Callable[[Nested], Any]] = {
    **{name: lambda run, make=make: make(columns_of(run, "qid", "docid", "score")) for name, make in FRAMES.items()},
    "a dictionary": dict,
    "a table": te.Run,
    "NumPy's scores": lambda run: {qid: {d: np.float64(s) for d, s in found.items()} for qid, found in run.items()},
    "NumPy's text": lambda run: {np.str_(q): {np.str_(d): s for d, s in found.items()} for q, found in run.items()},
    "pairs": lambda run: {qid: list(found.items()) for qid, found in run.items()},
    "tuples": rows_of,
    "a generator": lambda run: iter(rows_of(run)),
    "named tuples": lambda run: [ScoredDoc(*row) for row in rows_of(run)],
    "objects": lambda run: (Hit(*row) for row in rows_of(run)),
    "pandas' tuples": lambda run: pd.DataFrame(columns_of(run, "qid", "docid", "score")).itertuples(),
    "flat arrays": lambda run: te.Run.from_arrays(*map(np.array, columns_of(run, "q", "d", "s").values())),
    "text": lambda run: te.read_run(text="".join(f"{q} Q0 {d} 1 {s!r} t\n" for q, d, s in rows_of(run))),
}

JUDGED: dict[str, Callable[[Nested], Any]] = {
    **{name: lambda qrels, make=make: make(columns_of(qrels, "qid", "docid", "rel")) for name, make in FRAMES.items()},
    "a dictionary": dict,
    "a table": te.Qrels,
    "whole floats": lambda qrels: {qid: {d: float(r) for d, r in found.items()} for qid, found in qrels.items()},
    "a column of floats": lambda qrels: pd.DataFrame(columns_of(qrels, "qid", "docid", "rel")).astype({"rel": float}),
    "NumPy's labels": lambda qrels: {qid: {d: np.int8(r) for d, r in found.items()} for qid, found in qrels.items()},
    "pairs": lambda qrels: {qid: list(found.items()) for qid, found in qrels.items()},
    "tuples": rows_of,
    "named tuples": lambda qrels: [Qrel(*row) for row in rows_of(qrels)],
    "a generator": lambda qrels: (Qrel(*row) for row in rows_of(qrels)),
    "flat arrays": lambda qrels: te.Qrels.from_arrays(*map(np.array, columns_of(qrels, "q", "d", "r").values())),
    "text": lambda qrels: te.read_qrels(text="".join(f"{q} 0 {d} {r}\n" for q, d, r in rows_of(qrels))),
}


def written(tmp_path: Path, qrels: Nested = QRELS, run: Nested = RUN) -> tuple[str, str]:
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {r}\n" for q, d, r in rows_of(qrels)))
    (tmp_path / "run").write_text("".join(f"{q} Q0 {d} 1 {s!r} t\n" for q, d, s in rows_of(run)))
    return str(tmp_path / "qrels"), str(tmp_path / "run")


def same(one: te.Results, other: te.Results) -> bool:
    """Tell whether values are equal to the last bit."""
    return (one.qids, one.matrix.tobytes(), one.averages.tobytes()) == (
        other.qids, other.matrix.tobytes(), other.averages.tobytes()
    )  # fmt: skip


# --- each form is the file ---


def test_data_in_memory_give_what_their_file_gives(tmp_path: Path) -> None:
    qrels, run = written(tmp_path)
    wanted = te.evaluate(qrels, run, MEASURES)
    assert [form for form, make in RUNS.items() if not same(te.evaluate(QRELS, make(RUN), MEASURES), wanted)] == []
    assert [form for form, make in JUDGED.items() if not same(te.evaluate(make(QRELS), RUN, MEASURES), wanted)] == []
    fingerprints = {form: str(te.Evaluator(make(QRELS)).fingerprint) for form, make in JUDGED.items()}
    assert set(fingerprints.values()) == {str(te.Evaluator(qrels).fingerprint)}, fingerprints


def real(form: str, qrels: Path, path: Path) -> None:
    judged, ranked = te.read_qrels(qrels).to_dict(), te.read_run(path).to_dict()
    assert same(te.evaluate(JUDGED[form](judged), RUNS[form](ranked)), te.evaluate(qrels, path)), form


def test_real_runs_in_memory_give_what_their_files_give() -> None:
    for form, run in product(("pandas", "polars", "named tuples", "pairs"), ("bm25", "minilm")):
        real(form, DATA / "qrels.tsv", DATA / "runs" / f"{run}.txt")


@pytest.mark.slow
@needs_shared
def test_shared_runs_in_memory_give_what_their_files_give() -> None:
    for form in ("pandas", "polars, lazy", "pyarrow", "duckdb", "tuples"):
        real(form, SHARED / "trec_eval-test" / "qrels.test", SHARED / "trec_eval-test" / "results.test")


def test_what_ir_measures_reads_is_scored_as_it_is(tmp_path: Path) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    qrels, run = written(tmp_path)
    found = te.evaluate(ir_measures.read_trec_qrels(qrels), ir_measures.read_trec_run(run), MEASURES)
    assert same(found, te.evaluate(qrels, run, MEASURES))


FRAME, JUDGMENTS = RUNS["polars"](RUN), JUDGED["pandas"](QRELS)

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "Evaluator": lambda qrels, run: te.Evaluator(qrels, te.Scoring("map")).score(run).matrix.tolist(),
    "compare": lambda qrels, run: (
        te.compare(qrels, {"a": run, "b": run}, "map", resamples=9).measures[0].means.tolist()
    ),
    "assess": lambda qrels, run: te.ranges.assess(qrels, run, "map").ties["map"].lowest.tolist(),
    "explain": lambda qrels, run: te.explain(qrels, run, "map").measures[0].rows[0].outcome.mean,
    "arithmetic": lambda qrels, run: te.explaining.arithmetic(qrels, run, "AP", "7"),
    "arithmetic of a number": lambda qrels, run: te.explaining.arithmetic(qrels, run, "AP", 7),
}


def test_other_functions_take_the_same_forms(tmp_path: Path) -> None:
    files = written(tmp_path)
    found = {name: (act(JUDGMENTS, FRAME), act(*files)) for name, act in FUNCTIONS.items()}
    assert {name: both for name, both in found.items() if both[0] != both[1]} == {}
    assert te.board(JUDGMENTS, [files[1]]).runs == te.board(files[0], [files[1]]).runs


def test_a_run_can_be_judged_by_itself() -> None:
    judged = te.judging.judge(JUDGMENTS, FRAME)
    assert judged.hits.rank.tolist() == te.judging.judge(te.Qrels(QRELS), te.Run(RUN)).hits.rank.tolist() == [2, 1, 2]


def test_writers_and_convert_take_the_same_forms(tmp_path: Path) -> None:
    te.write_run(FRAME, tmp_path / "run")
    assert te.read_run(tmp_path / "run").to_dict() == RUN
    te.io.write_qrels(JUDGMENTS, tmp_path / "qrels")
    assert te.read_qrels(tmp_path / "qrels").to_dict() == QRELS
    assert isinstance(te.convert(FRAME, tmp_path / "run.jsonl").table, te.Run)
    assert te.read_run(tmp_path / "run.jsonl").to_dict() == RUN
    found = te.convert(JUDGMENTS, tmp_path / "qrels.tsv")
    assert (found.format, found.guessed) == ("beir", False)
    assert te.read_qrels(tmp_path / "qrels.tsv").to_dict() == QRELS


def test_whether_whole_numbers_are_judgments_or_scores_is_guessed_as_for_files(tmp_path: Path) -> None:
    whole = {"1": {"a": 1, "b": 2}}
    assert te.convert(whole, tmp_path / "x").guessed
    assert isinstance(te.convert(whole, tmp_path / "x", kind="run").table, te.Run)
    assert isinstance(te.convert(whole, tmp_path / "x", target_format="msmarco").table, te.Qrels)
    assert isinstance(te.convert(whole, tmp_path / "x", target_format="trec_results").table, te.Run)
    assert isinstance(te.convert({"1": ["b", "a"]}, tmp_path / "x").table, te.Run)


def test_a_run_in_memory_is_checked_as_the_lines_of_its_file(tmp_path: Path) -> None:
    tied = {"7": {"119": 1.0, "108": 1.0, "zz": 1.0}, "99": {"a": 1.0}}
    te.write_run(tied, tmp_path / "run", tag="run")
    of_file, of_data = te.check(QRELS, tmp_path / "run"), te.check(JUDGMENTS, RUNS["pandas"](tied))
    assert of_data.file == "<run>"
    assert [each.code for each in of_data.findings] == [each.code for each in of_file.findings] != []
    assert te.check(JUDGMENTS).kind.name == "qrels"  # type: ignore[union-attr]


def test_a_report_takes_the_same_forms() -> None:
    found = te.compare(JUDGMENTS, [FRAME, RUN], "map")
    payload = te.reporting.report_payload(found, qrels=JUDGMENTS, runs=[FRAME, RUN])
    assert payload == te.reporting.report_payload(found, qrels=te.Qrels(QRELS), runs=[te.Run(RUN), te.Run(RUN)])
    assert payload["pr"] is not None


# --- names of columns ---


def test_a_column_may_have_any_of_its_names() -> None:
    for name in [*QUERY.every, "QID", " Query_ID "]:
        assert te.Run(pd.DataFrame({name: ["1"], "docid": ["a"], "score": [1.0]})).to_dict() == {"1": {"a": 1.0}}, name
    for name in DOCUMENT.every:
        assert te.Run([{"qid": "1", name: "a", "score": 1.0}]).to_dict() == {"1": {"a": 1.0}}, name
    for name in JUDGMENT.every:
        found = te.Qrels(polars.DataFrame({"qid": ["1"], "docid": ["a"], name: [1]}))
        assert found.to_dict() == {"1": {"a": 1}}, name


@pytest.mark.parametrize("name", SCORE.every)
def test_names_are_the_same_in_frames_lines_of_json_and_parquet(name: str, tmp_path: Path) -> None:
    record = {"q_id": "1", "doc": "a", name: 0.5}
    pd.DataFrame([record]).to_parquet(tmp_path / "x.parquet")
    for run in (te.Run([record]), te.read_run(text=json.dumps(record)), te.read_run(tmp_path / "x.parquet")):
        assert run.to_dict() == {"1": {"a": 0.5}}


@pytest.mark.parametrize("make", [pd.DataFrame, polars.DataFrame, lambda columns: columns])
def test_two_columns_that_could_both_be_it_are_refused(make: Any) -> None:
    frame = make({"qid": ["1"], "docid": [0], "doc_id": ["d0"], "score": [1.0]})
    message = r"columns 'docid' and 'doc_id',? ?(which)? could both be the document id\. Rename or drop"
    with pytest.raises(te.errors.DataError, match=message):
        te.Run(frame)
    if not isinstance(frame, dict):
        assert te.Run.from_frame(frame, docid="doc_id").to_dict() == {"1": {"d0": 1.0}}


@pytest.mark.parametrize("make", [pd.DataFrame, polars.DataFrame, lambda columns: columns])
def test_the_docid_of_pyterrier_is_the_index_s_number_of_the_document_that_docno_names(make: Any) -> None:
    # the columns of a retriever of PyTerrier 0.13 that adds texts
    columns = {"qid": ["1"], "docid": [0], "docno": ["d0"], "rank": [0], "score": [1.0], "query": ["q"], "text": ["t"]}
    assert te.Run(make(columns)).to_dict() == {"1": {"d0": 1.0}}
    assert te.Qrels(make({"qid": ["1"], "docno": ["d0"], "docid": [0], "label": [2]})).to_dict() == {"1": {"d0": 2}}
    with pytest.raises(te.errors.DataError, match="could both be the document id"):
        te.Run(make({**columns, "doc_id": ["d0"]}))


def test_two_fields_that_could_both_be_it_are_refused_in_files_too(tmp_path: Path) -> None:
    record = {"qid": "1", "query_id": "2", "docid": "a", "score": 1}
    with pytest.raises(
        te.errors.InputError, match=r"^<text>:1: the object has fields 'qid' and 'query_id', which could both"
    ):
        te.read_run(text=json.dumps(record))
    pd.DataFrame([record]).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(te.errors.InputError, match="columns 'qid' and 'query_id' could both be the query id"):
        te.read_run(tmp_path / "x.parquet")


def test_the_text_of_a_query_is_not_its_id_and_a_score_beside_labels_is_that_of_the_run() -> None:
    frame = pd.DataFrame({"qid": ["1"], "query": ["what is it"], "docno": ["a"], "label": [2], "score": [0.5]})
    assert (te.Run(frame).to_dict(), te.Qrels(frame).to_dict()) == ({"1": {"a": 0.5}}, {"1": {"a": 2}})


def test_columns_may_be_named_by_the_caller() -> None:
    frame = polars.DataFrame({"topic": ["1"], "url": ["a"], "value": [0.5], "judge": [1]})
    assert te.Run.from_frame(frame, qid="topic", docid="url", score="value").to_dict() == {"1": {"a": 0.5}}
    assert te.Qrels.from_frame(frame, qid="topic", docid="url", rel="judge").to_dict() == {"1": {"a": 1}}
    message = "has no column 'topics'; its columns are: 'topic', 'url', 'value', 'judge'"
    with pytest.raises(te.errors.DataError, match=message):
        te.Run.from_frame(frame, qid="topics", docid="url", score="value")


def test_a_run_without_scores_is_ordered_by_its_ranks() -> None:
    run = te.Run(pd.DataFrame({"qid": ["1", "1"], "docid": ["a", "b"], "rank": [2, 1]}))
    assert run.to_dict() == {"1": {"a": -2.0, "b": -1.0}}
    assert run.ranks is not None
    assert run.ranks.tolist() == [2, 1]
    with_scores = te.Run([{"qid": "1", "docid": "a", "rank": 1, "score": 3.0}])
    assert (with_scores["1"], list(with_scores.ranks)) == ({"a": 3.0}, [1])  # type: ignore[arg-type]


def test_a_column_of_subtopics_is_read_where_measures_need_it(tmp_path: Path) -> None:
    rows = [("1", "a", 1, "1"), ("1", "a", 1, "2"), ("1", "b", 1, "2")]
    (tmp_path / "qrels").write_text("".join(f"{q} {g} {d} {r}\n" for q, d, r, g in rows))
    run = {"1": {"b": 2.0, "a": 1.0}}
    wanted = te.evaluate(tmp_path / "qrels", run, "alpha_nDCG@10").mean["alpha_nDCG@10"]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance", "subtopic_id"])
    nested = {"1": {"1": {"a": 1}, "2": {"a": 1, "b": 1}}}
    for qrels in (frame, [Qrel(*row) for row in rows], nested, te.data.JudgmentGroups.from_dict(nested)):
        assert te.evaluate(qrels, run, "alpha_nDCG@10").mean["alpha_nDCG@10"] == wanted


# --- ids and values ---


def test_whole_numbers_are_ids() -> None:
    frame = pd.DataFrame({"qid": [7, 7], "docid": [119, 10**12], "score": [1, 2]})
    assert te.Run(frame).to_dict() == {"7": {"119": 1.0, "1000000000000": 2.0}}
    for run in ({7: {119: 1.0}}, {np.int64(7): {np.int32(119): 1}}):
        assert te.Run(run).to_dict() == {"7": {"119": 1.0}}
    assert te.evaluate({7: {119: 1}}, {7: {119: 1.0, 3: 2.0}}, "RR").mean["RR"] == 0.5
    assert te.evaluate({"7": {"119": 1}}, {7: {119: 1.0, 3: 2.0}}, "RR").mean["RR"] == 0.5


def test_a_list_of_ids_is_ranked_best_first_and_one_of_judged_documents_has_the_relevant_ones() -> None:
    run = te.Run({"1": ["b", "a"], "2": []})
    assert (list(run), run.to_dict()) == (["1"], {"1": {"b": -1.0, "a": -2.0}, "2": {}})
    assert run.to_dict()["1"] == te.read_run(text="1 b 1\n1 a 2\n", format="msmarco").to_dict()["1"]
    qrels = {"1": {"a": 1}, "2": {"a": 1}}  # of query 2, nothing is retrieved: 0, if it counts
    assert te.evaluate(qrels, {"1": ["b", "a"], "2": []}, "RR", complete=True).mean["RR"] == 0.25
    assert te.Qrels({"1": ["a", "b"]}).to_dict() == te.Qrels({"1": {"b", "a"}}).to_dict() == {"1": {"a": 1, "b": 1}}


def test_numbers_of_all_libraries_are_numbers() -> None:
    torch_like = np.array(0.5)
    run = {"1": {"a": np.float32(0.5), "b": Decimal("0.25"), "c": np.int8(3), "d": torch_like, "e": 2, "f": math.inf}}
    assert te.Run(run)["1"] == {"a": 0.5, "b": 0.25, "c": 3.0, "d": 0.5, "e": 2.0, "f": math.inf}
    assert te.Qrels({"1": {"a": Decimal(2), "b": np.float64(1), "c": True, "d": np.array(3)}})["1"] == {
        "a": 2, "b": 1, "c": 1, "d": 3,
    }  # fmt: skip
    # Queries that are not plain among one that is: b, of the larger number, is before a.
    run = {"1": {"a": 1.0}, "2": {"a": np.float16(1.0), "b": Decimal(2)}, "3": {"é": 1.0}}
    found = te.evaluate({"1": {"a": 1}, "2": {"a": 1}, "3": {"é": 1}}, run, "RR")
    assert found.matrix[:, 0].tolist() == [1.0, 0.5, 1.0]
    assert te.Run(duckdb.sql("select 1 as qid, 'a' as docid, 0.5 as score")).to_dict() == {"1": {"a": 0.5}}


def test_labels_within_a_byte_and_beyond_are_the_same_numbers() -> None:
    for labels in ({"a": 0, "b": 255}, {"a": 1, "b": 256}, {"a": 1, "b": -1}, {"a": 2**63 - 1, "b": -(2**63)}):
        qrels = te.Qrels({"1": labels})
        assert qrels.rels.tolist() == list(labels.values())
        assert (qrels["1"], qrels.docids.text()) == (labels, ["a", "b"])


def test_numbers_of_numpy_are_options() -> None:
    plain = te.evaluate(QRELS, RUN, MEASURES, level=2, depth=1, judged_only=True)
    options = {"level": np.int64(2), "depth": np.int32(1), "judged_only": np.bool_(True), "threads": np.int8(1)}
    found = te.evaluate(QRELS, RUN, MEASURES, **options)  # type: ignore[arg-type]
    assert same(found, plain)
    assert found.signatures == plain.signatures


# --- text in place of a file ---


def test_text_is_read_where_it_is_named_so() -> None:
    assert te.read_run(text="1 Q0 ä 1 0.5 t\n").to_dict() == {"1": {"ä": 0.5}}
    assert te.read_qrels(text='{"1": {"a": 1}}').to_dict() == {"1": {"a": 1}}
    assert te.read_qrels(text=b"1 0 a 1").to_dict() == {"1": {"a": 1}}  # type: ignore[arg-type]
    assert te.io.read_judgment_groups(text="1 1 a 1\n").qids == ("1",)
    assert te.io.read_preferences(text="1 1 1 a 1\n").qids == ("1",)
    assert te.io.read_judged_ranking(text="1 Q0 a 1\n")[0].to_dict() == {"1": {"a": 1}}
    assert te.scoring.read_norms(text="1 map 0.5 0.1\n") == {("1", "map"): (0.5, 0.1)}
    assert te.grading.read_rules(text="# none\n") == te.grading.read_rules(io.BytesIO(b"# none\n"))
    with pytest.raises(te.errors.InputError, match=r"^<text>:2: "):
        te.read_run(text="1 Q0 a 1 0.5 t\n1 Q0 b\n")


# --- the order of arguments ---


def test_the_order_of_compare_is_judgments_then_runs(tmp_path: Path) -> None:
    qrels, run = written(tmp_path)
    wanted = te.compare(qrels, [run, run], "map", names=["a", "b"])["map"].means.tolist()
    for judged in (QRELS, te.Qrels(QRELS), JUDGMENTS, rows_of(QRELS), io.BytesIO(Path(qrels).read_bytes())):
        for runs in ({"a": RUN, "b": FRAME}, {"a": run, "b": rows_of(RUN)}, {"a": te.Run(RUN), "b": RUN}):
            if isinstance(judged, io.BytesIO):
                judged.seek(0)
            assert te.compare(judged, runs, "map")["map"].means.tolist() == wanted
    results = te.evaluate(qrels, run, "map")
    assert te.compare(runs=[results, results])["map"].means.tolist() == wanted
    assert te.compare(qrels=qrels, runs={"a": run, "b": run}, measures="map")["map"].means.tolist() == wanted


# --- everything else is refused ---

FINE = {"1": {"a": 1}}
Nothing = namedtuple("Nothing", "x y z")

WRONG_RUNS: dict[str, Any] = {
    "None": None, "a number": 5, "a float": 0.5, "bytes": b"1 Q0 a 1 1 t", "a class": dict, "a function": len,
    "an object": object(), "true": True, "an empty list": [], "an empty tuple": (), "an empty set": set(),
    "a list of numbers": [1.0, 2.0], "a list of text": ["a", "b"], "pairs alone": [("1", "a")], "fours": [("1", "Q0", "a", 1)],
    "mixed rows": [("1", "a", 1.0), {"qid": "1"}], "a nested list": [[["1", "a", 1.0]]], "other tuples": [Nothing(1, 2, 3)],
    "objects without fields": [object()], "rows with holes": [{"qid": "1", "docid": "a", "score": 1}, {"qid": "1"}],
    "None as a row": [None], "queries of numbers": {"1": 5}, "queries of text": {"1": "a"}, "no query level": {"a": 0.5},
    "a set of documents": {"1": {"a", "b"}}, "None as documents": {"1": None}, "scores alone": {"1": [0.5, 0.25]},
    "triples": {"1": [("a", 1.0, 2)]}, "pairs and ids": {"1": ["a", ("b", 1.0)]}, "a document twice": {"1": ["a", "a"]},
    "a document twice as rows": [("1", "a", 1.0), ("1", "a", 2.0)], "text as score": {"1": {"a": "1.0"}},
    "None as score": {"1": {"a": None}}, "NaN": {"1": {"a": math.nan}}, "a list as score": {"1": {"a": [1.0]}},
    "a complex score": {"1": {"a": 1j}}, "too large": {"1": {"a": 10**400}}, "a dictionary as score": {"1": {"a": {}}},
    "mixed queries": {"1": {"a": 1.0}, 2: {"a": 1.0}}, "mixed documents": {"1": {"a": 1.0, 2: 1.0}},
    "queries of bytes": {b"1": {"a": 1.0}}, "documents of bytes": {"1": {b"a": 1.0}}, "queries of None": {None: {"a": 1.0}},
    "queries of tuples": {("1",): {"a": 1.0}}, "queries of floats": {1.0: {"a": 1.0}}, "documents of floats": {"1": {1.5: 1.0}},
    "queries of bools": {True: {"a": 1.0}}, "a huge id": {10**5000: {"a": 1.0}}, "an array": np.zeros((2, 3, 4)),
    "an array of text": np.array(["a"]), "a 0-dimensional array": np.array(1.0), "a series": pd.Series([1.0]),
    "a polars series": polars.Series([1.0]), "an index": pd.Index(["a"]), "an empty frame": pd.DataFrame(),
    "a frame without rows": pd.DataFrame({"qid": [], "docid": [], "score": []}),
    "a lazy frame that fails": polars.LazyFrame({"qid": ["1"]}).select(polars.col("x")),
    "a frame without ids": pd.DataFrame({"score": [1.0]}), "a frame without scores": polars.DataFrame({"qid": ["1"], "docid": ["a"]}),
    "a frame with NaN": pd.DataFrame({"qid": ["1"], "docid": ["a"], "score": [math.nan]}),
    "a frame with null": polars.DataFrame({"qid": ["1"], "docid": [None], "score": [1.0]}),
    "a frame of floats as ids": pd.DataFrame({"qid": [1.0, math.nan], "docid": ["a", "b"], "score": [1.0, 2.0]}),
    "a frame of dates": pd.DataFrame({"qid": pd.to_datetime(["2020-01-01"]), "docid": ["a"], "score": [1.0]}),
    "a frame of lists": polars.DataFrame({"qid": ["1"], "docid": [["a"]], "score": [1.0]}),
    "a frame with a column twice": pd.DataFrame([["1", "1", "a", 1.0]], columns=["qid", "qid", "docid", "score"]),
    "a frame of numbered columns": pd.DataFrame([["1", "a", 1.0]]),
    "columns of different lengths": {"qid": ["1"], "docid": ["a", "b"], "score": [1.0]},
    "columns that are numbers": {"qid": 1, "docid": 2, "score": 3}, "columns of text": {"qid": "1", "docid": "a", "score": "b"},
    "ranks that are not whole": pd.DataFrame({"qid": ["1"], "docid": ["a"], "rank": [1.5]}), "text as a path": "1 Q0 a 1 1.0 t\n",
    "a missing file": "no such file", "a path with NUL": "a\0b", "an empty path": "", "a folder": "/",
    "a file of text": io.StringIO("1 Q0 a 1 1.0 t\n"), "an empty stream": io.BytesIO(b""), "results": te.evaluate(FINE, FINE, "map"),
}  # fmt: skip

WRONG_QRELS: dict[str, Any] = {
    "None": None, "a number": 5, "an object": object(), "an empty list": [], "halves": {"1": {"a": 0.5}}, "infinity": {"1": {"a": math.inf}},
    "text as label": {"1": {"a": "1"}}, "NaN": {"1": {"a": math.nan}}, "too large": {"1": {"a": 2**63}}, "None as label": {"1": {"a": None}},
    "a list of labels": {"1": [0.0, 1.0]}, "a document twice": {"1": ["a", "a"]}, "text": {"1": "a"}, "an array": np.zeros((2, 2, 2)),
    "a frame of halves": pd.DataFrame({"qid": ["1"], "docid": ["a"], "rel": [0.5]}),
    "a frame with a gap": polars.DataFrame({"qid": ["1"], "docid": ["a"], "rel": [None]}),
    "a frame without labels": pd.DataFrame({"qid": ["1"], "docid": ["a"]}), "rows of a run": [ScoredDoc("1", "a", 0.5)],
    "mixed ids": {1: {"a": 1}, "2": {"a": 1}}, "groups of nothing": {"1": {"1": {"a": "x"}}}, "a missing file": Path("no such file"),
    "a decimal": {"1": {"a": Decimal("0.5")}}, "no number": {"1": {"a": Decimal("NaN")}}, "a set of sets": {"1": {frozenset()}},
}  # fmt: skip

WRONG_OPTIONS: dict[str, Callable[[], Any]] = {
    f"{function}, {options}": lambda function=function, options=options: attrgetter(function)(te)(FINE, FINE, **options)
    for function in ("evaluate", "ranges.assess", "explain")
    for options in (
        {"level": 1.5}, {"level": True}, {"level": -1}, {"depth": "x"}, {"depth": 2.5}, {"depth": -1}, {"measures": [10]},
        {"measures": b"map"}, {"measures": "nope"}, {"profile": []}, {"profile": "nope"}, {"complete": "yes"},
        {"scoring": "map"}, {"signature": [3]}, {"signature": "x"}, {"threads": 0}, {"threads": 1.5},
    )
}  # fmt: skip
WRONG_OPTIONS |= {
    "no Scoring": lambda: te.Evaluator(FINE, None),  # type: ignore[arg-type]
    "measures as Scoring": lambda: te.Evaluator(FINE, ["map"]),  # type: ignore[arg-type]
    "no Reading": lambda: te.Evaluator(FINE, te.Scoring("map"), 5),  # type: ignore[arg-type]
    "claims of numbers": lambda: te.explain(FINE, FINE, claims=[5]),  # type: ignore[list-item]
    "claims that are none": lambda: te.explain(FINE, FINE, claims="map"),
    "against numbers": lambda: te.explain(FINE, FINE, "map", against=[5]),  # type: ignore[list-item]
    "arithmetic of no measure": lambda: te.explaining.arithmetic(FINE, FINE, None, "1"),
    "arithmetic of a list as query": lambda: te.explaining.arithmetic(FINE, FINE, "AP", ["1"]),  # type: ignore[arg-type]
    "arithmetic of an unjudged query": lambda: te.explaining.arithmetic(FINE, FINE, "AP", "2"),
    "compare one run": lambda: te.compare(FINE, [FINE]),
    "compare one path": lambda: te.compare(FINE, "run.txt"),  # type: ignore[arg-type]
    "compare a frame": lambda: te.compare(FINE, pd.DataFrame({"qid": ["1"]})),  # type: ignore[arg-type]
    "compare numbers": lambda: te.compare(FINE, [1, 2]),  # type: ignore[list-item]
    "compare nothing": te.compare,
    "compare without judgments": lambda: te.compare([FINE, FINE]),
    "baseline": lambda: te.compare(FINE, [FINE, FINE], baseline=1.5),  # type: ignore[arg-type]
    "board of runs in memory": lambda: te.board(FINE, [FINE]),  # type: ignore[list-item]
    "board of a frame": lambda: te.board(FINE, FRAME),
    "check of a kind without lines": lambda: te.check(FINE, kind="judged-ranking"),
    "convert of a format": lambda: te.convert(FINE, "x", source_format="json"),
    "read nothing": te.read_run,
    "read both": lambda: te.read_run("x", text="y"),
    "read a number": lambda: te.read_run(5),  # type: ignore[arg-type]
    "read a dictionary": lambda: te.read_run(FINE),  # type: ignore[arg-type]
    "read text of numbers": lambda: te.read_qrels(text=5),  # type: ignore[arg-type]
    "arrays of numbers": lambda: te.Run.from_arrays(5, 5, 5),  # type: ignore[arg-type]
    "ragged arrays": lambda: te.Run.from_arrays(["1"], [["a"], ["b", "c"]], [[1.0]]),  # type: ignore[arg-type]
    "arrays of judgments": lambda: te.Qrels.from_arrays(5, 5, 5),  # type: ignore[arg-type]
    "digits": lambda: te.compare(FINE, [FINE, FINE], "map").to_text(digits="x"),  # type: ignore[arg-type]
    "a format": lambda: te.compare(FINE, [FINE, FINE], "map").to_text(5),  # type: ignore[arg-type]
    "norms": lambda: te.evaluate(FINE, FINE, "map").standardise(5),  # type: ignore[arg-type]
    "a report of a number": lambda: te.reporting.report_payload(5),  # type: ignore[arg-type]
    "a payload": lambda: te.reporting.write_report("x", 5),  # type: ignore[arg-type]
    "texts": lambda: te.reporting.report_payload(te.compare(FINE, [FINE, FINE], "map"), texts=5),  # type: ignore[arg-type]
    "parsing a number": lambda: te.measuring.parse_measures(10),  # type: ignore[arg-type]
    "other results to compare": lambda: te.scoring.check_comparable([te.evaluate(FINE, FINE, "map"), 5]),  # type: ignore[list-item]
    "grading of numbers": lambda: te.grading.grade(5, 5, 5),  # type: ignore[arg-type]
    "grading of a number": lambda: te.grading.grade_one(5, 5),  # type: ignore[arg-type]
    "groups": lambda: te.data.JudgmentGroups(5),  # type: ignore[arg-type]
    "preferences": lambda: te.data.Preferences(5),  # type: ignore[arg-type]
    "codes of numbers": lambda: te.check(FINE, ignore=[5]),  # type: ignore[list-item]
    "a signature": lambda: te.scoring.Signature.parse(5),  # type: ignore[arg-type]
    "groups of a number": lambda: te.data.JudgmentGroups.from_dict(5),  # type: ignore[arg-type]
}


FIT: dict[str, dict[str, Any]] = {
    **{name: {"qrels": FINE, "run": FINE, "measures": "map"} for name in ("evaluate", "ranges.assess", "explain")},
    "explaining.arithmetic": {"qrels": FINE, "run": FINE, "measure": "AP", "qid": "1"},
    "judging.judge": {"qrels": FINE, "run": FINE},
    "compare": {"qrels": FINE, "runs": [FINE, FINE], "measures": "map", "resamples": 9},
    "gating.gate": {"qrels": FINE, "baseline": FINE, "candidate": FINE, "measures": "map"},
    "board": {"qrels": FINE, "runs": ["run"], "resamples": 9},
    "check": {"qrels": "qrels", "run": "run"},
    "fuse": {"runs": [FINE, FINE]},
    "fusing.tune_fusion": {"runs": [FINE, FINE], "qrels": FINE},
    "convert": {"source": FINE, "target": "x"},
    **{f"read_{kind}": {"source": kind} for kind in ("run", "qrels")},
    "write_run": {"run": FINE, "path": "x"},
    "io.write_qrels": {"qrels": FINE, "path": "x"},
    "scoring.check_comparable": {"results": [te.evaluate(FINE, FINE, "map")] * 2},
}
"""Arguments with which functions work."""


@pytest.mark.filterwarnings("ignore")  # two runs that are the same
def test_an_ellipsis_is_no_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    """It is refused as each argument of each function, but for a few that take whatever is true or can be written."""
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    said = {}
    for name, fit in FIT.items():
        function = attrgetter(name)(te)
        for argument in inspect.signature(function).parameters:
            try:
                function(**{**fit, argument: ...})
                said[f"{name} {argument}"] = "taken"
            except te.errors.TrecevalError as error:
                said[f"{name} {argument}"] = str(error)
    assert sum(line == "taken" for line in said.values()) == 12
    assert table(said) == snapshot


def refused(act: Callable[[], object]) -> te.errors.TrecevalError:
    """Return the error of ours with which something is refused."""
    with pytest.raises(te.errors.TrecevalError) as caught:
        act()
    return caught.value


WRONG_RUNS |= {"a long id": {"1": {"a" * 1000: "x"}}, "text of a run": "1 Q0 a 1 1.0 t\n"}

WRONG: dict[str, Callable[[], Any]] = {
    **{f"a run: {name}": lambda run=run: te.evaluate(FINE, run, "map") for name, run in WRONG_RUNS.items()},
    **{
        f"judgments: {name}": lambda qrels=qrels: te.evaluate(qrels, FINE, "map") for name, qrels in WRONG_QRELS.items()
    },
    **WRONG_OPTIONS,
    "a long name of a measure": lambda: te.evaluate(FINE, FINE, "x" * 1000),
    "a frame of floats with a gap": lambda: te.Qrels(
        pd.DataFrame({"qid": ["1", "1"], "docid": ["a", "b"], "rel": [1.0, math.nan]})
    ),
}
VARYING = (
    "an object",
    "a column twice",
    "a function",
    "objects without",
    "a lazy frame",
    "dates",
    "of lists",
    "a folder",
)
"""Whose messages depend on versions of packages, or on where something lies in memory."""


def by_query(given: Any) -> Any:
    return dict(enumerate(given))


def in_array(given: Any) -> Any:
    return np.array(given)


def in_row(given: Any) -> Any:
    return np.array([given])


@pytest.mark.parametrize(
    ("qrels", "run", "todo", "follow", "rr"),
    [
        ([["d1"], ["d2"]], [["d1", "d3"], ["d3", "d2"]], "dict(enumerate(…))", by_query, 3 / 4),
        ([["d1", "d2", "d4"]], [["d3", "d2", "d1"]], "dict(enumerate(…))", by_query, 1 / 2),
        ([{"d1"}, {"d2"}], [["d1"], ["d3", "d2"]], "dict(enumerate(…))", by_query, 3 / 4),
        ([[7], [8, 9]], [[7, 8], [5, 6]], "dict(enumerate(…))", by_query, 1 / 2),
        ([[["d1", 1]]], [[["d2", 0.5], ["d1", 0.4]]], "dict(enumerate(…))", by_query, 1 / 2),
        ([{"d1": 1}], [{"d2": 0.5, "d1": 0.4}], "dict(enumerate(…))", by_query, 1 / 2),
        ([[0, 1, 0, 0]], [[9, 8, 7, 6]], "give both as np.array(…).", in_array, 1 / 2),
        ([0, 1, 0], [9, 8, 7], "give both as np.array([…]).", in_row, 1 / 2),
    ],
)
def test_a_list_of_queries_is_refused_with_the_form_that_works(
    qrels: Any, run: Any, todo: str, follow: Callable[[Any], Any], rr: float
) -> None:
    with pytest.raises(te.errors.DataError) as caught:
        te.evaluate(qrels, run, ["RR"])
    assert caught.value.todo.endswith(todo if "np" in todo else f"such as {todo}.")
    if follow is by_query:
        with pytest.raises(te.errors.DataError):
            te.evaluate(follow(qrels), run, ["RR"])  # both are needed
    assert te.evaluate(follow(qrels), follow(run), ["RR"]).mean["RR"] == rr


@pytest.mark.parametrize(
    ("labels", "scores", "rr"),
    [
        ([[0, 1], [1, 0]], [[0.9, 0.8], [0.7, 0.6]], 3 / 4),
        ([[0, 1, 0]], [[0.9, 0.8, 0.7]], 1 / 2),
        ([0, 1, 0], [0.9, 0.8, 0.7], 1 / 2),
        ((0, 1, 0), (0.9, 0.8, 0.7), 1 / 2),
        (np.array([0, 1, 0]), np.array([9, 8, 7]), 1 / 2),
        ([0, 1, 0], np.array([[9, 8, 7]]), 1 / 2),
        ([[True, False], [0, 0, 1]], [[0.5, 0.6], [0.9, 0.8, 0.7]], (1 / 2 + 1 / 3) / 2),
        ([[1, 0, 0], [0, 1, 0]], [[1, 2, 0.5], [2.5, 2, 1]], 1 / 2),
    ],
)
def test_labels_and_scores_can_be_lists_as_in_scikit_learn(labels: Any, scores: Any, rr: float) -> None:
    assert te.evaluate(labels, scores, ["RR"]).mean["RR"] == pytest.approx(rr)


def test_lists_have_the_ndcg_of_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    labels, scores = [[1, 0, 1], [0, 2, 1]], [[0.1, 0.2, 0.3], [0.5, 0.4, 0.9]]
    ours = te.evaluate(labels, scores, ["nDCG@2"]).mean["nDCG@2"]
    assert ours == pytest.approx(sklearn.ndcg_score(labels, scores, k=2), abs=1e-12)


def test_each_label_needs_a_score() -> None:
    for labels, scores in (([[0, 1, 1]], [[0.5, 0.4]]), ([[0, 1]], [[0.5, 0.4], [0.5, 0.4]])):
        with pytest.raises(
            te.errors.DataError, match=r"row [12] has [320] labels and 2 scores\. Give a score for each label"
        ):
            te.evaluate(labels, scores, ["RR"])


def test_rows_of_whole_numbers_and_a_score_stay_rows() -> None:
    # query 1, documents 5 and 6: the relevant one is second
    assert te.evaluate([[1, 5, 0], [1, 6, 1]], [[1, 5, 0.9], [1, 6, 0.8]], ["RR"]).mean["RR"] == 1 / 2


@pytest.mark.parametrize(
    "rows",
    [
        [("1", "a", "x")],
        [("1", "0", "a", "1")],
        [("1", "a", 1), ("1", "b")],
        [["1", "a", 1], ["1", "b", "x"]],
        [],
        [[]],
    ],
)
def test_rows_that_are_wrong_are_not_taken_for_queries(rows: Any) -> None:
    with pytest.raises(te.errors.DataError) as caught:
        te.Qrels(rows)
    assert "enumerate" not in caught.value.todo
    assert "np.array" not in caught.value.todo


def test_everything_else_is_refused_in_words(snapshot: SnapshotAssertion) -> None:
    found = {name: refused(act) for name, act in WRONG.items()}
    assert len(found) >= 180
    assert {name: error for name, error in found.items() if not error.what or len(str(error)) >= 500} == {}
    lines = {name: str(error) for name, error in found.items() if not any(each in name for each in VARYING)}
    assert table(lines) == snapshot


# --- garbage ---

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.integers(), st.floats(), st.text(max_size=3), st.binary(max_size=3),
    st.decimals(), st.complex_numbers(), st.builds(object), st.sampled_from(["qid", "docid", "rel", "score", "1", "a"]),
    st.sampled_from([np.float32(1), np.int8(1), np.str_("a"), np.array(1), np.zeros(2), pd.NA, pd.NaT, len, dict]),
)  # fmt: skip
KEYS = st.one_of(
    st.text(max_size=2), st.integers(0, 3), st.sampled_from(["qid", "docid", "rel", "score", "1", "a", None, b"", 1.0])
)
GARBAGE = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.tuples(inner, inner, inner), st.dictionaries(KEYS, inner, max_size=3),
        st.dictionaries(KEYS, st.dictionaries(KEYS, inner, max_size=3), max_size=3), st.builds(iter, st.lists(inner, max_size=2)),
        st.builds(lambda columns: pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in columns.items()}),
                  st.dictionaries(KEYS, st.lists(inner, max_size=2), max_size=4)),
    ),
    max_leaves=8,
)  # fmt: skip


def tried(act: Callable[[], object]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            act()
        except te.errors.TrecevalError as error:
            str(error)


@settings(max_examples=40, deadline=None)
@given(GARBAGE)
def test_garbage_never_raises_anything_but_our_errors(garbage: Any) -> None:
    tried(lambda: te.evaluate(FINE, garbage, "map"))
    tried(lambda: te.evaluate(garbage, FINE, "map"))
    tried(lambda: te.evaluate(FINE, FINE, garbage))


@pytest.mark.slow
@settings(max_examples=3000, deadline=None)
@given(
    GARBAGE, st.sampled_from(["level", "depth", "complete", "profile", "scoring", "signature", "threads", "run_format"])
)
def test_garbage_in_any_place_never_raises_anything_but_our_errors(garbage: Any, option: str) -> None:
    tried(lambda: te.evaluate(FINE, garbage, "map"))
    tried(lambda: te.evaluate(garbage, FINE, "alpha_nDCG@10"))
    tried(lambda: te.evaluate(FINE, FINE, **{option: garbage}))
    tried(lambda: te.compare(garbage, [FINE, garbage]))
    tried(lambda: te.explain(FINE, FINE, "map", claims=garbage))
    tried(lambda: te.check(garbage, garbage))


def test_a_ranking_without_settings_is_that_of_the_default_conventions() -> None:
    ranking, conventions = Ranking(), te.scoring.Conventions()
    for name in ("depth", "judged_only", "order", "score_type", "ties"):
        assert getattr(ranking, name) == getattr(conventions, name), name
