"""Formats with few columns or a header, as other programs write them: recognised, read, written."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path
from typing import Any

import pytest

import treceval_py as te
from treceval_py.io import gzipped, source
from treceval_py.io.formats import Kind, formats_of
from treceval_py.io.named import recognised, seen

RECOGNISED: dict[str, tuple[Kind, str, bytes]] = {
    # MS MARCO's ranks against scores: ranks rise, scores fall or have fractions.
    "ranks": ("run", "msmarco", b"1 a 1\n1 b 2\n2 c 1\n"),
    "ranks with a gap": ("run", "msmarco", b"1 a 4\n1 b 10\n"),
    "equal ranks": ("run", "msmarco", b"1 a 1\n1 b 1\n1 c 2\n"),
    "a rank for each query": ("run", "msmarco", b"1 a 1\n2 b 1\n"),
    "a number for each query": ("run", "trec_results", b"1 a 7\n2 b 9\n"),
    "ranks in any order": ("run", "trec_results", b"1 a 2\n1 b 3\n1 c 1\n"),
    "equal numbers": ("run", "trec_results", b"1 a 1\n1 b 1\n"),
    "whole scores": ("run", "tevatron", b"1 a 9\n1 b 7\n2 c 8\n"),
    "equal whole scores": ("run", "tevatron", b"1 a 9\n1 b 9\n1 c 7\n"),
    "fractions": ("run", "tevatron", b"1\ta\t0.5\n1\tb\t0.75\n"),
    "fractions after a whole number": ("run", "tevatron", b"1 a 9\n1 b 7.5\n"),
    "ids like markup": ("run", "msmarco", b"<? a 1\n<? b 2\n"),
    "text in the third column": ("run", "trec_results", b"1 a x\n"),
    "one of two lines damaged": ("run", "tevatron", b"1 a 0.5\n1 b\n"),
    "two of three lines damaged": ("run", "trec_results", b"1 a 0.5\n1 b\n1 c\n"),
    # ColBERT's ranks and scores against TREC's judgments.
    "rank and score": ("run", "colbert", b"1\t66\t1\t22.5\n1\t7\t2\t21.0\n"),
    "rank and whole score": ("run", "colbert", b"1 66 1 22\n1 7 2 21\n"),
    "one rank and score": ("run", "colbert", b"1 66 1 22.5\n"),
    "one rank and whole score": ("run", "trec_results", b"1 66 1 22\n"),
    "rank and rising score": ("run", "trec_results", b"1 66 1 22.5\n1 7 2 23.5\n"),
    "ranks from 0": ("run", "colbert", b"1 66 0 22.5\n1 7 1 21.5\n"),
    "ranks from 2": ("run", "trec_results", b"1 66 2 22.5\n1 7 3 21.5\n"),
    "a rank left out": ("run", "trec_results", b"1 66 1 22.5\n1 7 3 21.5\n"),
    "numbers as documents": ("run", "trec_results", b"1 0 1 1\n1 0 2 0\n"),
    # Judgments.
    "three columns": ("qrels", "cranfield", b"1 184 2\n1 29 2\n1 31 3\n1 486 -1\n"),
    "one judgment for each query": ("qrels", "cranfield", b"1 a 1\n2 b 1\n"),
    "ranks in place of judgments": ("qrels", "qrels", b"1 a 1\n1 b 2\n2 c 1\n"),
    "the highest grade": ("qrels", "cranfield", b"1 a 10\n1 b 0\n"),
    "a higher grade": ("qrels", "qrels", b"1 a 11\n1 b 0\n"),
    "judgments without documents": ("qrels", "qrels", b"1 0 1\n2 0 0\n"),
    "one of the documents is 0": ("qrels", "cranfield", b"1 0 1\n2 1 0\n"),
    "a sample": ("qrels", "sampled", b"11 0 a 2 -1\n11 0 b 1 1\n"),
    "a stratum in words": ("qrels", "sampled", b"11 0 a top -1\n11 0 b rest 1\n"),
    "a stratum that is a fraction": ("qrels", "sampled", b"11 0 a 0.5 -1\n11 0 b 0.25 1\n"),
    "preferences": ("qrels", "qrels", b"1 g s a 3\n1 g s b 2\n"),
    "a run without its tag": ("qrels", "qrels", b"1 0 a 1 9\n1 0 b 2 8\n"),
    # Headers.
    "commas": ("run", "csv", b"qid,docid,score\n1,a,0.5\n"),
    "commas and names of frames": ("qrels", "csv", b'"query_id","doc_id","relevance"\n1,a,1\n'),
    "commas without a header": ("run", "trec_results", b"1,a,0.5\n"),
    "other names": ("run", "trec_results", b"name,value,score\n1,a,0.5\n"),
    "tabs": ("run", "tsv", b"docno\tquery\tscore\n1\ta\t0.5\n"),
    "BEIR's judgments as a run": ("run", "trec_results", b"query-id\tcorpus-id\tscore\n1\ta\t1\n"),
    "BEIR's header over scores": ("run", "tsv", b"query-id\tcorpus-id\tscore\n1\ta\t0.5\n"),
    # JSON.
    "ranked lists": ("run", "json", b'{"1": ["a", "b"]}'),
    "records": ("run", "json", b'[{"qid": "1", "docid": "a", "score": 1.5}]'),
    "FlagEmbedding's results": ("run", "json", b'{"eval_name": "x", "search_results": {"1": {"a": 1.5}}}'),
    "a record": ("run", "jsonl", b'{"qid": "1", "docid": "a", "score": 1.5}'),
}


@pytest.mark.parametrize("case", RECOGNISED)
def test_a_format_is_recognised_by_what_the_columns_hold(case: str) -> None:
    kind, name, data = RECOGNISED[case]
    assert recognised(io.BytesIO(data), kind)[0] == name


def test_three_columns_that_may_be_ranks_or_scores_are_refused_with_both_formats() -> None:
    with pytest.raises(te.errors.InputError) as caught:
        te.read_run(text="1 a 7\n2 b 9\n")
    assert caught.value.todo == "Name its format: msmarco (qid docid rank) or tevatron (qid docid score)."
    with pytest.raises(te.errors.InputError, match="these are judgments of 3 columns") as caught:  # small, in no order
        te.read_run(text="1 a 3\n1 b 7\n1 c 5\n")
    assert "Or name its format: msmarco (qid docid rank) or tevatron (qid docid score)." in caught.value.todo
    assert te.read_run(text="1 a 7\n2 b 9\n", format="msmarco").to_dict() == {"1": {"a": -7.0}, "2": {"b": -9.0}}
    assert te.read_run(text="1 a 7\n2 b 9\n", format="tevatron").to_dict() == {"1": {"a": 7.0}, "2": {"b": 9.0}}


READ: dict[str, tuple[str, dict[str, dict[str, float]], list[int] | None]] = {
    "tevatron": ("1 a 9\n1 b 7\n", {"1": {"a": 9.0, "b": 7.0}}, None),
    "colbert": ("1\t66\t1\t22.5\n1\t7\t2\t21.0\n", {"1": {"66": 22.5, "7": 21.0}}, [1, 2]),
    "csv": (
        "# by me\n\nscore,docno,query-id\n0.5,\"a \"\"b\"\", c\",1\n\ninf,b,1\n", {"1": {'a "b", c': 0.5, "b": float("inf")}}, None,
    ),
    "csv of ranks": ("qid,pid,rank\n1,a,2\n1,b,1\n", {"1": {"a": -2.0, "b": -1.0}}, [2, 1]),
    "tsv": ("qid\tdocid\tsimilarity\tother\n1\ta b\t0.5\tx\n2\tc\t1\ty\n1\td\t2\tz\n", {"1": {"a b": 0.5, "d": 2.0}, "2": {"c": 1.0}}, None),
    "ranked lists": ('{"1": ["a", "b"], "2": ["c"]}', {"1": {"a": -1.0, "b": -2.0}, "2": {"c": -1.0}}, [1, 2, 1]),
    "ranked lists on lines": ('{"1": ["a"]}\n{"2": ["c"]}\n', {"1": {"a": -1.0}, "2": {"c": -1.0}}, [1, 1]),
    "records": ('[{"query": "1", "doc": "a", "sim": 1}, {"query": "1", "doc": "b", "sim": 2}]', {"1": {"a": 1.0, "b": 2.0}}, None),
    "FlagEmbedding's": ('{\n "eval_name": "x",\n "search_results": {"1": {"a": 0.9}}\n}', {"1": {"a": 0.9}}, None),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_runs_of_other_programs_are_read(case: str) -> None:
    text, run, ranks = READ[case]
    table = te.read_run(text=text)
    assert table.to_dict() == run
    assert (None if table.ranks is None else table.ranks.tolist()) == ranks
    assert table.tag == "run"


def test_judgments_of_other_programs_are_read() -> None:
    for text in ("1 a 2\n1 b 0\n", "qid,docid,label\n1,a,2\n1,b,0\n", "query\tdocno\trel\n1\ta\t2\n1\tb\t0\n"):
        assert te.read_qrels(text=text).to_dict() == {"1": {"a": 2, "b": 0}}, text
    assert te.read_qrels(text='{"1": ["a", "b"]}').to_dict() == {"1": {"a": 1, "b": 1}}  # the relevant documents
    assert te.read_qrels(text='[{"qid": "1", "docid": "a", "rel": 2}]').to_dict() == {"1": {"a": 2}}


def test_judgments_of_a_sample_keep_their_strata(tmp_path: Path) -> None:
    text = "11 0 a 2 -1\n12 0 c 1 2\n11 0 b 1 1\n"
    qrels = te.read_qrels(text=text)
    assert qrels.to_dict() == {"11": {"a": -1, "b": 1}, "12": {"c": 2}}
    assert qrels.sample is not None
    assert qrels.sample.strata.tolist() == ["2", "1", "1"]  # of a, b and c
    te.io.write_qrels(qrels, tmp_path / "sampled", format="sampled")
    assert (tmp_path / "sampled").read_bytes() == b"11 0 a 2 -1\n11 0 b 1 1\n12 0 c 1 2\n"
    te.io.write_qrels({"1": {"a": 1}}, tmp_path / "whole", format="sampled")
    assert (tmp_path / "whole").read_bytes() == b"1 0 a 1 1\n"
    with pytest.raises(te.errors.InputError, match=r"document 'a' occurs twice in query '11' \(first on line 1\)"):
        te.read_qrels(text="11 0 a 2 -1\n11 0 a 1 1\n", format="sampled")


WRONG = {
    "qid,docid,score\n1,a\n": "<text>:2: 2 fields, but the header has 3. Correct the line.",
    "qid,docid,score\n1,a,x\n": "<text>:2: the score of document 'a' of query '1' is \"x\", which is not a number. "
    "Write it as 12, 12.5 or 1.25e1.",
    "qid,docid,score\n1,a,nan\n": "<text>:2: the score of document 'a' of query '1' is NaN, so it cannot be ranked. "
    "Find its cause.",
    "qid,docid,score\n1,a,1_0\n": "<text>:2: the score of document 'a' of query '1' is \"1_0\", which is not a number. "
    "Write it as 12, 12.5 or 1.25e1.",
    "qid,docid,score\n1,a,1\n\n1,a,2\n": "<text>:4: document 'a' occurs twice in query '1' (first on line 2). "
    "Keep one of the two.",
    "qid,docid,score,sim\n1,a,1,2\n": "<text>:1: columns 'score' and 'sim' could both be the score. "
    "Rename or drop the one that is not the score.",
    "qid,docid,score\n": "<text>: no data lines, only a header. Is it the right file?",
    '{"1": ["a"], "2": {"b": 1}}': "<text>: query '2' has an object instead of a list of documents. "
    "Write {qid: {docid: value}}.",
    '{"1": ["a", 3]}': "<text>: query '1' has a list with something other than ids instead of a list of documents. "
    "Write {qid: {docid: value}}.",
    '{"search_results": 3}': "<text>: query 'search_results' has 3 instead of an object {docid: value}. "
    "Write {qid: {docid: value}}.",
    '[{"qid": "1", "docid": "a"}]': "<text>: the object has no field 'score' (or sim, similarity); its fields are: "
    "'qid', 'docid'. Add it.",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_in_them_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(te.errors.InputError) as caught:
        te.read_run(text=text)
    assert str(caught.value) == WRONG[text]


@pytest.mark.filterwarnings("ignore::treceval_py.errors.TrecevalWarning")
@pytest.mark.parametrize("name", formats_of("run", written=True))
def test_a_run_is_the_same_after_writing_and_recognising_each_format(name: str, tmp_path: Path) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    run = {"1": {"a": 3.5, "b": 2.0}, "2": {"c": 1.0, "d": 0.25}}
    te.write_run(run, tmp_path / "run", format=name)
    assert recognised(tmp_path / "run", "run")[0] == name
    expected = {"1": {"a": -1.0, "b": -2.0}, "2": {"c": -1.0, "d": -2.0}} if name == "msmarco" else run
    assert te.read_run(tmp_path / "run").to_dict() == expected


@pytest.mark.parametrize("name", formats_of("qrels", written=True))
def test_judgments_are_the_same_after_writing_and_recognising_each_format(name: str, tmp_path: Path) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    qrels = {"1": {"a": 2, "b": 0}, "2": {"c": -1}}
    te.io.write_qrels(qrels, tmp_path / "qrels", format=name)
    alike = {"msmarco": "qrels", "tsv": "beir"}  # files with the same content
    assert recognised(tmp_path / "qrels", "qrels")[0] == alike.get(name, name)
    assert te.read_qrels(tmp_path / "qrels").to_dict() == qrels


def test_a_writer_warns_of_what_its_format_lacks(tmp_path: Path) -> None:
    run = te.Run({"1": {"a": 1.5}}, tag="mine")
    with pytest.warns(te.errors.TrecevalWarning) as said:
        te.write_run(run, tmp_path / "run.tsv", format="msmarco")
    place = tmp_path / "run.tsv"
    assert [str(each.message) for each in said] == [
        f"{place}: MS MARCO's format has no scores, only ranks.",
        f"{place}: MS MARCO's format has no tag, which was 'mine'.",
    ]
    te.write_run(run, tmp_path / "run.txt")  # without a word, as it lacks nothing
    te.write_run({"1": {"a": -1.0}}, tmp_path / "run.csv", format="csv")  # nor is there a tag to lose
    sample = te.read_qrels(text="1 0 a 2 1\n")
    with pytest.warns(te.errors.TrecevalWarning, match="TREC's format has no strata"):
        te.io.write_qrels(sample, tmp_path / "qrels")


# --- one opening ---


@pytest.mark.filterwarnings("ignore::treceval_py.errors.SuspectRunWarning")  # its scores follow its ids
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_is_opened_once_and_its_head_decompressed_once(
    packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = b"".join(b"1 Q0 d%d %d %d t\n" % (rank * 7 % 1009, rank, 2000 - rank) for rank in range(1, 1001))
    (tmp_path / "run").write_bytes(gzip.compress(lines) if packed else lines)
    opened: list[object] = []
    read: list[int] = []

    class Counted(source.File):
        def __init__(self, *arguments: Any) -> None:
            opened.append(arguments[0])
            super().__init__(*arguments)

    readinto = gzipped.Gzip.readinto

    def counted(self: gzipped.Gzip, buffer: Any) -> int:
        read.append(readinto(self, buffer))
        return read[-1]

    monkeypatch.setattr(source, "File", Counted)
    monkeypatch.setattr(gzipped.Gzip, "readinto", counted)
    assert len(te.read_run(tmp_path / "run").docids) == 1000
    te.evaluate({"1": {"d1": 1}}, tmp_path / "run", ["map"])
    assert len(opened) == 2  # once for each
    assert sum(read) == 2 * len(lines) * packed


def test_a_file_that_was_looked_at_can_be_read_several_times(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(b"1 Q0 a 1 1 t\n")
    _, looked = seen(tmp_path / "run")
    assert os.fspath(looked) == str(tmp_path / "run")  # type: ignore[arg-type]
    assert [te.read_run(looked, "trec_results").to_dict() for _ in range(2)] == [{"1": {"a": 1.0}}] * 2


# --- what others published ---

SHARED = Path(te.__file__).parents[2] / "shared" / "public-cases"


@pytest.mark.skipif(not SHARED.exists(), reason="../shared is absent")
def test_the_public_cases_are_read() -> None:
    # One relevant document first in each: 1.0 by definition.
    assert (
        te.evaluate(
            SHARED / "flagembedding-search-results.qrels", SHARED / "flagembedding-search-results.json", ["map"]
        ).mean["map"]
        == 1.0
    )
    assert te.evaluate(SHARED / "colbert.qrels", SHARED / "colbert-ranking.tsv", ["RR"]).mean["RR"] == 1.0
    assert te.read_qrels(SHARED / "cranfield-3col.qrels")["1"] == {"184": 2, "29": 2, "31": 3, "486": -1}
    sample = te.read_qrels(SHARED / "sampled-5col.qrels")
    assert sample["11"] == {"15805248": -1, "24092809": 0, "25240409": 1, "25240410": 0}
    assert sample.sample is not None
    assert sample.sample.strata.tolist() == ["2", "2", "1", "1", "1"]
    assert dict(te.check(SHARED / "sampled-5col.qrels").counts) == {"F018": 1, "Q318": 1}
    assert dict(te.check(SHARED / "cranfield-3col.qrels").counts) == {"F018": 1}
