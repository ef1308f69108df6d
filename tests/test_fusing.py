"""Fusing whole runs: from Python, by the command, in little memory, with notes and a record."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Done, treceval
from readers import use_reader
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.fusing import files, fusing, listing
from treceval_py.fusing.fusing import Fused, opened
from treceval_py.fusing.methods import METHODS, Fusion
from treceval_py.io import source
from treceval_py.runs.record import hash_of_query, read_sidecar

ONE = {"1": {"a": 9.0, "b": 8.0, "c": 7.0}, "2": {"x": 3.0, "y": 1.0}}
OTHER = {"2": {"y": 0.5, "z": 0.25}, "1": {"b": 0.9, "d": 0.5}}


def lines(run: dict[str, dict[str, float]], tag: str) -> str:
    """Return the lines of a run whose documents are given best first."""
    return "".join(
        f"{qid} Q0 {docid} {rank} {score!r} {tag}\n"
        for qid, documents in run.items()
        for rank, (docid, score) in enumerate(documents.items(), 1)
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one.txt").write_text(lines(ONE, "one"))
    (tmp_path / "other.txt").write_text(lines(OTHER, "other"))
    return tmp_path


def fuse(folder: Path, *arguments: str, stdin: bytes = b"") -> Done:
    return treceval(["fuse", *arguments], folder=folder, stdin=stdin)


def written(folder: Path, *names: str) -> dict[str, bytes]:
    """Return the bytes of a run and its record, or of other files."""
    return {name: (folder / name).read_bytes() for name in names or ("fused.txt", "fused.txt.json")}


def run_of(seed: int, queries: int = 30, least: int = 0, most: int = 12) -> dict[str, dict[str, float]]:
    """Return a run with the queries of 40 in an order of its own, and scores of which some are equal."""
    rng = random.Random(seed)
    return {
        f"q{number}": {
            f"document-{docid}": rng.randrange(4 * most) / 4
            for docid in rng.sample(range(20), rng.randrange(least, most))
        }
        for number in rng.sample(range(40), queries)
    }


def quiet(runs: Any, *arguments: Any, **options: Any) -> te.Run:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", te.errors.TrecevalWarning)
        return te.fuse(runs, *arguments, **options)


# The fused run.


def test_the_command_writes_a_run_in_the_order_of_trec_eval(folder: Path) -> None:
    done = fuse(folder, "one.txt", "other.txt", "-o", "fused.txt")
    assert (done.status, done.out, done.err) == (0, b"", b"written: fused.txt, fused.txt.json\n")
    # 1/62 + 1/61 = 0.03252…, 1/61 = 0.01639…, 1/62 = 0.01612…, 1/63 = 0.01587…
    assert (folder / "fused.txt").read_text() == (
        f"1 Q0 b 1 {1 / 61 + 1 / 62!r} rrf-k60\n"
        f"1 Q0 a 2 {1 / 61!r} rrf-k60\n"
        f"1 Q0 d 3 {1 / 62!r} rrf-k60\n"
        f"1 Q0 c 4 {1 / 63!r} rrf-k60\n"
        f"2 Q0 y 1 {1 / 61 + 1 / 62!r} rrf-k60\n"
        f"2 Q0 x 2 {1 / 61!r} rrf-k60\n"
        f"2 Q0 z 3 {1 / 62!r} rrf-k60\n"
    )


def test_equal_scores_are_in_descending_order_of_ids() -> None:
    assert list(te.fuse([{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "a": 1.0}}])["q"]) == ["b", "a"]
    long = {"q": {"document-a": 2.0, "document-b": 1.0}}, {"q": {"document-b": 2.0, "document-a": 1.0}}
    assert list(te.fuse(long)["q"]) == ["document-b", "document-a"]


def test_python_and_the_command_fuse_alike(folder: Path) -> None:
    for method in METHODS:
        assert fuse(folder, "one.txt", "other.txt", "-o", "fused.txt", "--method", method).status == 0
        fused, written = te.fuse([ONE, OTHER], method), te.read_run(folder / "fused.txt")
        assert (written.to_dict(), written.tag) == (fused.to_dict(), fused.tag), method
        assert te.fuse([str(folder / "one.txt"), folder / "other.txt"], method).to_dict() == fused.to_dict()


def test_runs_of_all_formats_can_be_fused(folder: Path) -> None:
    expected = te.fuse([ONE, OTHER]).to_dict()
    te.write_run(OTHER, folder / "other.json", format="json")
    (folder / "other.gz").write_bytes(gzip.compress((folder / "other.txt").read_bytes()))
    with (folder / "one.txt").open("rb") as one:
        assert te.fuse([one, folder / "other.json"]).to_dict() == expected
    assert fuse(folder, "one.txt", "other.gz", "-o", "fused.txt.gz").status == 0
    assert te.read_run(folder / "fused.txt.gz").to_dict() == expected
    assert fuse(folder, "one.txt", "-", "-o", "fused.txt", stdin=lines(OTHER, "other").encode()).status == 0
    assert te.read_run(folder / "fused.txt").to_dict() == expected


@pytest.mark.slow
def test_scores_are_written_so_that_they_are_read_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    sizes = 10.0 ** rng.integers(-12, 22, 3000)
    numbers = [0.0, 1e-4, 1e9, 1e10, 1e16, 123456.0, 5e-324]
    scores = [*(rng.random(3000) * sizes), *np.rint(rng.random(99) * sizes[:99]), *numbers]
    one = {"qé": {f"d{at}": float(score) for at, score in enumerate(scores)}, "2": {"a": 0.1 + 0.2}}
    te.write_run(one, folder / "one.txt")
    te.write_run({"2": {"a": 0.0}, "qé": {"d0": 0.0}}, folder / "zero.txt")
    written = []
    for reader in ("", "python"):
        use_reader(monkeypatch, reader)
        options = ["-k", "9999", "--method", "combsum", "--norm", "none"]
        assert fuse(folder, "one.txt", "zero.txt", "-o", "fused.txt", *options).status == 0
        written.append((folder / "fused.txt").read_bytes())
    assert written[0] == written[1]
    assert te.read_run(folder / "fused.txt").to_dict() == one
    texts = {line.split()[4] for line in written[0].decode().splitlines()}
    assert texts == {repr(score) for documents in one.values() for score in documents.values()}


@pytest.mark.parametrize("reader", ["python", ""])
@pytest.mark.parametrize("scattered", [False, True])
def test_what_does_not_fit_in_memory_is_fused_alike(
    folder: Path, monkeypatch: pytest.MonkeyPatch, reader: str, scattered: bool
) -> None:
    use_reader(monkeypatch, reader)
    runs = [run_of(seed, least=1) for seed in (1, 2, 3)]
    names = [f"run{number}.txt" for number in range(3)]
    for name, run in zip(names, runs, strict=True):
        text = lines(run, name).splitlines(keepends=True)
        if scattered:
            random.Random(4).shuffle(text)
        (folder / name).write_text("".join(text))
    expected = quiet(runs)
    monkeypatch.setattr(source, "BLOCK_SIZE", 300)
    monkeypatch.setattr(source, "SMALL_BLOCK_SIZE", 300)
    monkeypatch.setattr(listing, "IN_MEMORY", 100)
    monkeypatch.setattr(fusing, "GROUP", 2)
    found = quiet([folder / name for name in names])
    assert found.to_dict() == expected.to_dict()
    assert set(found.qids) == set(expected.qids)
    if not scattered:
        assert found.qids == expected.qids


def test_queries_are_in_the_order_of_the_first_run_then_of_later_ones() -> None:
    runs = [{"3": {"a": 1.0}, "1": {"a": 1.0}}, {"5": {"a": 1.0}, "1": {"a": 1.0}}, {"4": {"a": 1.0}, "3": {"b": 1.0}}]
    assert quiet(runs).qids == ("3", "1", "5", "4")


def test_threads_change_nothing() -> None:
    runs = [run_of(seed, queries=40, most=20) for seed in (5, 6)]
    with opened(runs) as listed, pytest.MonkeyPatch.context() as patch:
        patch.setattr(fusing, "GROUP", 3)
        one, four = (Fused(listed, lambda _: Fusion(), threads=threads).run("t") for threads in (1, 4))
    assert list(one.items()) == list(four.items())


def test_depth_of_input_and_output() -> None:
    assert quiet([ONE, OTHER], depth=1).to_dict() == {
        "1": {"b": 1 / 61, "a": 1 / 61},
        "2": {"y": 1 / 61, "x": 1 / 61},
    }
    assert {qid: len(documents) for qid, documents in te.fuse([ONE, OTHER], k=4).items()} == {"1": 4, "2": 3}
    for k, sizes in ((3, [3, 3]), (2, [2, 2]), (1, [1, 1])):
        fused = quiet([ONE, OTHER], k=k)
        assert [len(fused[qid]) for qid in fused] == sizes


@pytest.mark.parametrize(
    ("settings", "tag"),
    [
        ({}, "rrf-k60"),
        ({"rrf_k": 10, "weights": (0.7, 0.3)}, "rrf-k10-0.7-0.3"),
        ({"method": "weighted", "weights": (2, 1)}, "weighted-min-max-2-1"),
        ({"method": "combsum", "norm": "zmuv", "depth": 100}, "combsum-zmuv+depth100"),
        ({"method": "rbc"}, "rbc-0.8"),
        ({"method": "borda"}, "borda"),
        ({"tag": "mine"}, "mine"),
    ],
)
def test_the_tag_says_how_a_run_was_fused(settings: dict[str, Any], tag: str) -> None:
    assert te.fuse([ONE, OTHER], **settings).tag == tag


def test_a_query_without_documents_is_not_fused() -> None:
    for method in METHODS:
        fused = quiet([{"1": {}, "2": {"a": 1.0}}, {"1": {}, "2": {"b": 1.0, "a": 0.0}}], method)
        assert list(fused) == ["2"]


# What is refused.


def test_a_run_that_could_not_be_replaced_keeps_its_record(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fuse(folder, "one.txt", "other.txt", "-o", "fused.txt").status == 0
    before = written(folder)
    whole = files.written_whole

    @contextmanager
    def full(path: str) -> Iterator[Any]:
        """Fail where the last bytes are written, as a full disk does."""
        with whole(path) as stream:
            yield stream
            raise te.errors.OutputError("cannot be written: no space left", "Free some.", file=path)

    monkeypatch.setattr(files, "written_whole", full)
    assert fuse(folder, "one.txt", "other.txt", "-o", "fused.txt", "--method", "combsum").status == 1
    assert written(folder) == before


WIDE, BELOW, TINY = ({"1": {"a": high, "b": low}} for high, low in ((1e308, -1e308), (-1.0, -2.0), (5e-324, -1e100)))

REFUSED: dict[str, tuple[Any, dict[str, Any]]] = {
    "one run": ([ONE], {}),
    "no query in common": ([ONE, {"7": {"a": 1.0}}], {}),
    "a third run without a common query": ([ONE, OTHER, {"7": {"a": 1.0}}], {}),
    "strict": ([ONE, {"1": {"a": 1.0}}], {"strict": True}),
    "three weights": ([ONE, OTHER], {"weights": (1, 2, 3)}),
    "a weight that is text": ([ONE, OTHER], {"weights": [1, "x"]}),
    "weights that are text": ([ONE, OTHER], {"weights": "0.3,0.7"}),
    "k 0": ([ONE, OTHER], {"k": 0}),
    "k 1.5": ([ONE, OTHER], {"k": 1.5}),
    "depth 0": ([ONE, OTHER], {"depth": 0}),
    "depth 2 as text": ([ONE, OTHER], {"depth": "2"}),
    "a list of methods": ([ONE, OTHER], {"method": ["rrf"]}),
    "rrf_k as text": ([ONE, OTHER], {"rrf_k": "60"}),
    "rbc_phi None": ([ONE, OTHER], {"method": "rbc", "rbc_phi": None}),
    "a text as runs": ("ab", {}),
    "one run as runs": (ONE, {}),
    "None as runs": (None, {}),
    "a table as runs": (te.Run(ONE), {}),
    "a file that is not there": (["nosuch", ONE], {}),
    "scores below 0": ([ONE, BELOW], {"method": "combsum", "norm": "none"}),
    "scores too wide": ([WIDE, ONE], {"method": "combsum"}),
    "scores too wide for their largest": ([TINY, ONE], {"method": "combmax", "norm": "max"}),
}


def test_what_cannot_be_fused_is_refused(snapshot: SnapshotAssertion) -> None:
    said = {}
    for case, (runs, options) in REFUSED.items():
        with pytest.raises(te.errors.TrecevalError) as refused:
            te.fuse(runs, **options)
        said[case] = f"{type(refused.value).__name__}: {refused.value}"
    assert said == snapshot
    assert quiet([ONE, OTHER], strict=True).to_dict() == quiet([ONE, OTHER]).to_dict()


@pytest.mark.parametrize("size", [40, 10_000])
def test_a_document_that_occurs_twice_is_refused_with_its_lines(
    folder: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(source, "BLOCK_SIZE", size)
    text = "# a comment\n1 Q0 a 1 3.0 t\n1 Q0 b 2 2.0 t\n2 Q0 a 1 1.0 t\n\n1 Q0 a 3 1.0 t\n"
    (folder / "twice.txt").write_text(text)
    done = fuse(folder, "one.txt", "twice.txt", "-o", "fused.txt")
    assert done.status == 1
    assert done.err.decode() == (
        "twice.txt:6: document 'a' occurs twice in query '1' (first on line 2). Keep one of the two lines.\n"
    )


def test_scores_too_large_to_be_added_can_be_ranked() -> None:
    other = {"1": {"b": 3.0, "a": 2.0, "c": 1.0, "d": 0.0}}
    assert dict(te.fuse([WIDE, other], "combsum", norm="rank")["1"]) == {"a": 1.75, "b": 1.5, "c": 0.5, "d": 0.25}


def test_a_file_that_is_no_record_is_not_replaced_by_one(folder: Path) -> None:
    (folder / "fused.json").write_text(json.dumps(ONE))
    done = fuse(folder, "one.txt", "other.txt", "-o", "fused")
    assert done.status == 1
    assert "fused.json: this is not the record of a run, and would be overwritten. Name another run." in (
        done.err.decode()
    )
    assert json.loads((folder / "fused.json").read_text()) == ONE
    assert not (folder / "fused").exists()
    (folder / "other.json").mkdir()
    assert b"other.json: this is not the record of a run" in fuse(folder, "one.txt", "other.txt", "-o", "other").err
    assert not (folder / "other").exists()


def test_a_malformed_line_is_refused_and_the_old_run_stays(folder: Path) -> None:
    assert fuse(folder, "one.txt", "other.txt", "-o", "fused.txt").status == 0
    before = written(folder)
    (folder / "bad.txt").write_text("1 Q0 a 1 3.0 t\n2 Q0 b 2 nan t\n")
    (folder / "low.txt").write_text("1 Q0 a 1 -3.0 t\n")
    for name, options, place in (
        ("bad.txt", [], "bad.txt:2:"),
        ("low.txt", ["--method", "combsum", "--norm", "max"], "treceval:"),
    ):
        done = fuse(folder, "one.txt", name, "-o", "fused.txt", *options)
        assert (done.status, done.err.decode().partition(" ")[0]) == (1, place)
    assert written(folder) == before
    assert sorted(os.listdir(folder)) == ["bad.txt", "fused.txt", "fused.txt.json", "low.txt", "one.txt", "other.txt"]


def test_what_cannot_be_written_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    (folder / "spaces.json").write_text('{"1": {"a b": 1.0}}')
    (folder / "comment.json").write_text('{"1": {"a": 1.0}, "#1": {"a": 1.0}}')
    said = {}
    for arguments in (
        "one.txt other.txt -o one.txt", "nosuch.txt other.txt -o fused.txt --tag two~words", "one.txt spaces.json -o fused.txt",
        "one.txt comment.json -o fused.txt", "- - -o fused.txt", "one.txt nothing.txt -o no/fused.txt",
    ):  # fmt: skip
        given = [each.replace("~", " ") for each in arguments.split()]
        done = fuse(folder, *given, stdin=(folder / "one.txt").read_bytes())
        assert (done.status, done.out) == (1, b"")
        said[arguments] = done.err.decode()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(listing._Column, "extend", full)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/temporary")
    said["a full disk"] = fuse(folder, "one.txt", "other.txt", "-o", "fused.txt").err.decode()
    assert said == snapshot
    assert not (folder / "fused.txt").exists()


def test_options_that_do_not_fit_are_refused(folder: Path, snapshot: SnapshotAssertion) -> None:
    said = {}
    for arguments in (
        "--weights 1,x", "--norm zmuv", "--rbc-phi 0.5", "--method combsum --rrf-k 10", "--weights 1", "-o -", "-o new/",
        "--method rbc --rbc-phi 1", "--method rbc --rbc-phi 0", "--rrf-k -1", "-k 0", "--depth 0",
    ):  # fmt: skip
        output = [] if arguments.startswith("-o") else ["-o", "fused.txt"]
        done = fuse(folder, "one.txt", "other.txt", *output, *arguments.split())
        said[arguments] = (done.status, done.err.decode())
    assert min(status for status, _ in said.values()) > 0
    assert said == snapshot
    assert not (folder / "fused.txt").exists()


# Notes.


def notes(runs: Any, *arguments: Any, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        te.fuse(runs, *arguments, **options)
    assert all(each.category is te.errors.TrecevalWarning and each.filename == __file__ for each in given)
    return [str(each.message) for each in given]


MANY = {str(number): {"a": 2.0, "b": 1.0} for number in range(20)}
LESS = {qid: {"a": 2.0, "c": 1.0} for qid in list(MANY)[1:]}
GROWN = {qid: {docid: 2 * score for docid, score in documents.items()} for qid, documents in ONE.items()}
RENAMED = {qid: {f"D{docid}": score for docid, score in documents.items()} for qid, documents in ONE.items()}
TIED, BOTH, SINGLE = {"1": {"a": 1.0, "b": 1.0, "c": 0.0}}, {"1": {"a": 3.0, "b": 1.0}}, {"1": {"a": 1.0}}
LARGE, SMALL = {"1": {"a": 30.0, "b": 20.0, "c": 10.0}}, {"1": {"b": 0.9, "a": 0.8, "d": 0.7}}


def scores_of(prefix: str, count: int) -> dict[str, float]:
    return {f"{prefix}{number}": float(number) for number in range(count)}


NOTED: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "a missing query": ([MANY, LESS], {}),
    "nine tenths of the queries": ([MANY, dict(list(LESS.items())[:18])], {}),
    "less than nine tenths of the queries": ([MANY, dict(list(LESS.items())[:17])], {}),
    "less than half of the queries": ([MANY, dict(list(LESS.items())[:9]) | {"x": {"a": 1.0}}], {}),
    "the same order": ([ONE, GROWN], {}),
    "hardly any documents in common": ([ONE, RENAMED], {}),
    "one document in a hundred in common": ([{"1": scores_of("d", 100)}, {"1": scores_of("x", 99) | {"d0": 9.0}}], {}),
    "one document in 101 in common": ([{"1": scores_of("d", 101)}, {"1": scores_of("x", 100) | {"d0": 9.0}}], {}),
    "of three runs": ([ONE, OTHER, RENAMED], {}),
    "ties": ([TIED, BOTH], {}),
    "ties by ranks": ([TIED, BOTH], {"method": "combsum", "norm": "rank"}),
    "no ties by scores": ([TIED, BOTH], {"method": "combsum"}),
    "one score": ([SINGLE, BOTH], {"method": "combsum"}),
    "one score, zmuv": ([SINGLE, BOTH], {"method": "combsum", "norm": "zmuv"}),
    "one score by ranks": ([SINGLE, BOTH], {"method": "combsum", "norm": "rank"}),
    "one score, rrf": ([SINGLE, BOTH], {}),
    "one run dominates": ([SMALL, LARGE], {"method": "combsum", "norm": "none"}),
    "scores of ten times the size": ([{"1": {"a": 2.0}}, {"1": {"a": 20.0}}], {"method": "combsum", "norm": "none"}),
    "scores of more": ([{"1": {"a": 2.0}}, {"1": {"a": 20.5}}], {"method": "combsum", "norm": "none"}),
    "no run dominates": ([SMALL, LARGE], {"method": "combsum"}),
    "k 3": ([ONE, OTHER], {"k": 3}),
    "k 1": ([ONE, OTHER], {"k": 1}),
    "k 4": ([ONE, OTHER], {"k": 4}),
}


def test_what_may_be_wrong_is_noted(snapshot: SnapshotAssertion) -> None:
    assert {case: notes(runs, **options) for case, (runs, options) in NOTED.items()} == snapshot


def test_ranks_that_contradict_scores_are_noted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    (folder / "distances.txt").write_text("1 Q0 a 1 0.1 t\n1 Q0 b 2 0.5 t\n2 Q0 y 1 0.2 t\n2 Q0 x 2 0.3 t\n")
    text = "1 Q0 a 1 0.1 t\n1 Q0 b 2 0.5 t\n1 Q0 c 3 0.05 t\n2 Q0 y 1 0.2 t\n2 Q0 z 2 0.3 t\n"
    (folder / "odd.txt").write_text(text)
    whole = [fuse(folder, "one.txt", name, "-o", "fused.txt").err.decode() for name in ("distances.txt", "odd.txt")]
    monkeypatch.setattr(source, "BLOCK_SIZE", 60)
    monkeypatch.setattr(source, "SMALL_BLOCK_SIZE", 60)
    assert fuse(folder, "one.txt", "odd.txt", "-o", "fused.txt").err.decode() == whole[1]
    assert whole == snapshot


# The record.


def test_the_record_has_the_inputs_and_the_settings(folder: Path, snapshot: SnapshotAssertion) -> None:
    assert (
        fuse(folder, "one.txt", "other.txt", "-o", "fused.txt", "--method", "weighted", "--weights", "3,1").status == 0
    )
    record = read_sidecar(str(folder / "fused.txt"))
    assert record is not None
    # tied: c and d of the first query, which are last in their lists and count as 0
    assert [record["run"][key] for key in ("k", "lines", "queries", "tied")] == [1000, 7, 2, 2]
    # b of {a, b, c} and {b, d}, y of {x, y} and {y, z}: 2 of the 4 that are possible
    assert record["overlap"] == [{"inputs": [1, 2], "at_10": 0.5, "at_100": 0.5, "all": 0.5}]
    for made in (record["run"], *record["inputs"]):
        assert made.pop("sha256") == hashlib.sha256((folder / made["file"]).read_bytes()).hexdigest()
    assert record["directory"] == str(folder)
    assert "tuned" not in record
    assert {key: record[key] for key in ("run", "fusion", "inputs", "queries", "notes")} == snapshot


def test_the_record_of_an_input_is_in_that_of_the_fused_run(folder: Path) -> None:
    queries = [hash_of_query("1"), hash_of_query("2")]
    digest = hashlib.sha256((folder / "one.txt").read_bytes()).hexdigest()
    made = {"run": {"sha256": digest}, "retriever": "bm25", "tuned": {"queries": queries[:1], "nested": True}}
    (folder / "one.txt.json").write_text(json.dumps(made))
    (folder / "other.txt.json").write_text(json.dumps({"run": {"sha256": "that of another run"}}))
    assert fuse(folder, "one.txt", "other.txt", "-o", "fused.txt").status == 0
    record = read_sidecar(str(folder / "fused.txt"))
    assert record is not None
    assert [each["record"] for each in record["inputs"]] == [made, None]
    assert record["tuned"] == {"queries": queries[:1], "nested": True}
    digest = hashlib.sha256((folder / "other.txt").read_bytes()).hexdigest()
    edited = {"queries": queries[:1], "nested": True}
    for tuned, passed_on in (({"queries": queries, "nested": False}, {"queries": sorted(queries), "nested": False}),
                             (True, edited), ({"queries": 3}, edited)):  # fmt: skip
        (folder / "other.txt.json").write_text(json.dumps({"run": {"sha256": digest}, "tuned": tuned}))
        assert fuse(folder, "one.txt", "other.txt", "-o", "fused.txt").status == 0
        record = read_sidecar(str(folder / "fused.txt"))
        assert record is not None
        assert record["tuned"] == passed_on


def test_a_record_without_paths_names_no_folder_of_its_inputs_either(folder: Path) -> None:
    (folder / "distances.txt").write_text("1 Q0 a 1 0.1 t\n1 Q0 b 2 0.5 t\n")
    runs = [str(folder / name) for name in ("one.txt", "distances.txt", "first.txt")]
    assert fuse(folder, *runs[:2], "-o", runs[2]).status == 0
    for given in (runs[:2], ["one.txt", runs[2]]):
        for option in ("--paths", "--no-paths"):
            assert fuse(folder, *given, "-o", "second.txt", option).status == 0
            text = (folder / "second.txt.json").read_text("utf-8")
            assert (str(folder) in text) == (option == "--paths")
            assert "distances.txt: in 1 of 1 queries scores grow" in text


def test_a_record_of_an_older_run_does_not_stay_beside_a_new_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **options: Any) -> None:
        raise te.errors.OutputError("cannot be written: no space left")

    assert fuse(folder, "one.txt", "other.txt", "-o", "fused.txt").status == 0
    monkeypatch.setattr(files, "write_sidecar", full)
    assert fuse(folder, "one.txt", "other.txt", "-o", "fused.txt", "--method", "combsum").status == 1
    assert te.read_run(folder / "fused.txt").tag == "combsum-min-max"
    assert not (folder / "fused.txt.json").exists()


def test_a_device_gets_the_run_and_no_record(folder: Path) -> None:
    assert fuse(folder, "one.txt", "other.txt", "-o", os.devnull).status == 0
    assert not os.path.exists(f"{os.devnull}.json")


def test_scores_are_written_so_that_they_are_read_again(folder: Path) -> None:
    rng = np.random.default_rng(1)
    runs = [{"1": dict(zip(map(str, range(200)), (rng.random(200) * 10.0**scale).tolist(), strict=True))} for scale in
            (-9, 9)]  # fmt: skip
    for number, run in enumerate(runs):
        te.write_run(run, folder / f"run{number}")
    assert fuse(folder, "run0", "run1", "-o", "fused.txt", "--method", "combsum", "--norm", "none").status == 0
    assert te.read_run(folder / "fused.txt")["1"] == {
        docid: score + runs[1]["1"][docid] for docid, score in runs[0]["1"].items()
    }
