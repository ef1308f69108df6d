"""Fusing whole runs: from Python, by the command, in little memory, with notes and a record."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Done, treceval

import treceval_py as te
from treceval_py.fusing import files, fusing, listing
from treceval_py.fusing.fusing import Fused, opened
from treceval_py.fusing.methods import METHODS, Fusion
from treceval_py.io import source
from treceval_py.io.sidecar import hash_of_query, read_sidecar

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
        warnings.simplefilter("ignore", te.TrecevalWarning)
        return te.fuse(runs, *arguments, **options)


# The fused run.


def test_the_command_writes_a_run_in_the_order_of_trec_eval(folder: Path) -> None:
    done = fuse(folder, "one.txt", "other.txt", "-o", "fused.txt")
    assert (done.status, done.out, done.err) == (0, b"", b"")
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


def test_equal_scores_are_in_descending_order_of_ids(folder: Path) -> None:
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
def test_pyarrow_writes_the_same_lines(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(2)
    sizes = 10.0 ** rng.integers(-12, 22, 3000)
    numbers = [0.0, 1e-4, 1e9, 1e10, 1e16, 123456.0, 5e-324]
    scores = [*(rng.random(3000) * sizes), *np.rint(rng.random(99) * sizes[:99]), *numbers]
    one = {"qé": {f"d{at}": float(score) for at, score in enumerate(scores)}, "2": {"a": 0.1 + 0.2}}
    te.write_run(one, folder / "one.txt")
    te.write_run({"2": {"a": 0.0}, "qé": {"d0": 0.0}}, folder / "zero.txt")
    written = []
    for many in (files.MANY, 1):
        monkeypatch.setattr(files, "MANY", many)
        options = ["-k", "9999", "--method", "combsum", "--norm", "none"]
        assert fuse(folder, "one.txt", "zero.txt", "-o", "fused.txt", *options).status == 0
        written.append((folder / "fused.txt").read_bytes())
    assert written[0] == written[1]
    assert te.read_run(folder / "fused.txt").to_dict() == one


@pytest.mark.parametrize("reader", ["python", ""])
@pytest.mark.parametrize("scattered", [False, True])
def test_what_does_not_fit_in_memory_is_fused_alike(
    folder: Path, monkeypatch: pytest.MonkeyPatch, reader: str, scattered: bool
) -> None:
    monkeypatch.setenv("TRECEVAL_READER", reader)
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


def test_depth_of_input_and_output(folder: Path) -> None:
    assert quiet([ONE, OTHER], depth=1).to_dict() == {
        "1": {"b": 1 / 61, "a": 1 / 61},
        "2": {"y": 1 / 61, "x": 1 / 61},
    }
    with pytest.warns(te.TrecevalWarning, match="1 of 2 queries has more than 3 documents; the best 3 are kept"):
        fused = te.fuse([ONE, OTHER], k=3)
    assert [len(fused[qid]) for qid in fused] == [3, 3]
    with pytest.warns(te.TrecevalWarning, match="2 of 2 queries have more than 1 document; the best one is kept"):
        te.fuse([ONE, OTHER], k=1)
    for settings in ({"depth": 0}, {"k": 0}):
        with pytest.raises(te.DataError, match=r"is 0\. Give a whole number from 1, or omit it\."):
            te.fuse([ONE, OTHER], **settings)  # type: ignore[arg-type]


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


def test_a_query_without_documents_stays_one() -> None:
    for method in METHODS:
        fused = quiet([{"1": {}, "2": {"a": 1.0}}, {"1": {}, "2": {"b": 1.0, "a": 0.0}}], method)
        assert list(fused) == ["1", "2"]
        assert fused["1"] == {}


# What is refused.


def refusal(runs: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(te.TrecevalError) as refused:
        te.fuse(runs, *arguments, **options)
    return str(refused.value)


def test_a_run_that_could_not_be_replaced_keeps_its_record(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fuse(folder, "one.txt", "other.txt", "-o", "fused.txt").status == 0
    before = {name: (folder / name).read_bytes() for name in ("fused.txt", "fused.txt.json")}
    whole = files.written_whole

    @contextmanager
    def full(path: str) -> Iterator[Any]:
        """Fail where the last bytes are written, as a full disk does."""
        with whole(path) as stream:
            yield stream
            raise te.OutputError("cannot be written: no space left", "Free some.", file=path)

    monkeypatch.setattr(files, "written_whole", full)
    assert fuse(folder, "one.txt", "other.txt", "-o", "fused.txt", "--method", "combsum").status == 1
    assert {name: (folder / name).read_bytes() for name in before} == before


def test_a_folder_that_is_not_there_is_said_before_anything_is_read(folder: Path) -> None:
    done = fuse(folder, "one.txt", "nothing.txt", "-o", "no/fused.txt")
    assert (done.status, b"the folder of the run file does not exist" in done.err) == (1, True), done.err


def test_runs_that_cannot_be_fused_are_refused(folder: Path) -> None:
    assert refusal([ONE]) == "there is only 1 run to fuse. Give two or more."
    assert refusal([ONE, {"7": {"a": 1.0}}]) == "run 1 shares no query with run 2. Give runs of the same queries."
    assert refusal([ONE, OTHER, {"7": {"a": 1.0}}]) == (
        "run 3 shares no query with the other runs. Give runs of the same queries."
    )
    assert refusal([ONE, {"1": {"a": 1.0}}], strict=True) == (
        "run 2 lacks 1 of 2 queries (2). Remove strict to fuse each query from the runs that have it."
    )
    assert refusal([ONE, OTHER], weights=(1, 2, 3)) == "there are 3 weights for 2 runs. Give one weight per run."
    assert refusal([ONE, OTHER], weights=[1, "x"]) == (
        "the weights are 1, 'x'. Give a number for each run, such as [0.3, 0.7]."
    )
    assert refusal([ONE, OTHER], weights="0.3,0.7").startswith("the weights are '0.3,0.7'. Give a number for each run")
    assert refusal([ONE, OTHER], k=1.5) == "k is 1.5. Give a whole number from 1, or omit it."
    assert refusal([ONE, OTHER], depth="2") == "depth is '2'. Give a whole number from 1, or omit it."
    assert refusal([ONE, OTHER], ["rrf"]).startswith("unknown fusion method a list.")
    assert refusal([ONE, OTHER], rrf_k="60").startswith("the constant of rrf is '60'.")
    assert refusal([ONE, OTHER], "rbc", rbc_phi=None).startswith("the persistence of rbc is None.")
    for runs in ("ab", ONE, None, te.Run(ONE)):
        message = refusal(runs)
        assert message.startswith("runs cannot be ")
        assert message.endswith(". Give a list of two or more.")
    assert refusal([folder / "nosuch", ONE]) == f"{folder / 'nosuch'}: no such file. Check the name."


def test_scores_that_a_method_cannot_take_are_refused() -> None:
    below = {"1": {"a": -1.0, "b": -2.0}}
    assert refusal([ONE, below], "combsum", norm="none") == (
        "run 2: query '1': a score is -2.0, less than the 0 of a document that the run lacks. "
        "Choose another normalisation or method, such as min-max or rrf."
    )
    wide = {"1": {"a": 1e308, "b": -1e308}}
    assert refusal([wide, ONE], "combsum").startswith("run 1: query '1': scores go from -1e+308 to 1e+308")


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
    wide, other = {"1": {"a": 1e308, "b": -1e308}}, {"1": {"b": 3.0, "a": 2.0, "c": 1.0, "d": 0.0}}
    assert dict(te.fuse([wide, other], "combsum", norm="rank")["1"]) == {"a": 1.75, "b": 1.5, "c": 0.5, "d": 0.25}
    assert refusal([wide, ONE], "combsum").endswith("Choose another normalisation or method, such as rank or rrf.")
    tiny = {"1": {"a": 5e-324, "b": -1e100}}
    assert "scores go from -1e+100 to 5e-324, by which they cannot be divided." in refusal(
        [tiny, ONE], "combmax", norm="max"
    )


def test_standard_input_is_one_run(folder: Path) -> None:
    done = fuse(folder, "-", "-", "-o", "fused.txt", stdin=(folder / "one.txt").read_bytes())
    assert "standard input (-) is given for several runs. Give - only once." in done.err.decode()


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
    before = [(folder / name).read_bytes() for name in ("fused.txt", "fused.txt.json")]
    (folder / "bad.txt").write_text("1 Q0 a 1 3.0 t\n2 Q0 b 2 nan t\n")
    done = fuse(folder, "one.txt", "bad.txt", "-o", "fused.txt")
    assert (done.status, done.err.decode().partition(" ")[0]) == (1, "bad.txt:2:")
    done = fuse(folder, "one.txt", "other.txt", "-o", "fused.txt", "--method", "combsum", "--norm", "max", "--strict")
    (folder / "low.txt").write_text("1 Q0 a 1 -3.0 t\n")
    before = [(folder / name).read_bytes() for name in ("fused.txt", "fused.txt.json")]
    done = fuse(folder, "one.txt", "low.txt", "-o", "fused.txt", "--method", "combsum", "--norm", "max")
    assert done.status == 1
    assert [(folder / name).read_bytes() for name in ("fused.txt", "fused.txt.json")] == before
    assert sorted(os.listdir(folder)) == sorted(
        ["bad.txt", "low.txt", "fused.txt", "fused.txt.json", "one.txt", "other.txt"]
    )


def test_what_cannot_be_written_is_refused(folder: Path) -> None:
    done = fuse(folder, "one.txt", "other.txt", "-o", "one.txt")
    assert done.err == b"one.txt: this file is an input, and would be overwritten. Name another file.\n"
    done = fuse(folder, "nosuch.txt", "other.txt", "-o", "fused.txt", "--tag", "two words")
    assert done.err.decode() == (
        "treceval: tag 'two words' is empty or contains white space, so it cannot be written to a TREC file. "
        "Use another one.\n"
    )
    (folder / "spaces.json").write_text('{"1": {"a b": 1.0}}')
    done = fuse(folder, "one.txt", "spaces.json", "-o", "fused.txt")
    assert done.err.decode().startswith("treceval: docid 'a b' is empty or contains white space")
    (folder / "comment.json").write_text('{"1": {"a": 1.0}, "#1": {"a": 1.0}}')
    done = fuse(folder, "one.txt", "comment.json", "-o", "fused.txt")
    assert done.err.decode().startswith("treceval: query id '#1' would make its lines comments")


def test_a_full_disk_is_said_to_be_that_of_temporary_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(listing._Column, "extend", full)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/temporary")
    done = fuse(folder, "one.txt", "other.txt", "-o", "fused.txt")
    assert done.err.decode() == (
        "/temporary: temporary files cannot be written: No space left on device. "
        "Set TMPDIR to a folder with more space.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--weights", "1,x"], "Invalid value for '--weights': '1,x' is not a list of numbers separated by commas"),
        (["--norm", "zmuv"], "rrf uses ranks, not scores. Remove the normalisation."),
        (["--rbc-phi", "0.5"], "--rbc-phi is for the method rbc."),
        (["--method", "combsum", "--rrf-k", "10"], "--rrf-k is for the method rrf."),
        (["--weights", "1"], "there is 1 weight for 2 runs. Give one weight per run."),
        (["-o", "-"], "-: a run is a file, with its record next to it. Name a file."),
        (["-o", "new/"], "new/: a run is a file, with its record next to it. Name a file."),
        (
            ["--method", "rbc", "--rbc-phi", "1"],
            "the persistence of rbc is 1.0. Give a number between 0 and 1; 0.8 is usual.",
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(folder: Path, arguments: list[str], message: str) -> None:
    done = fuse(folder, "one.txt", "other.txt", "-o", "fused.txt", *arguments)
    assert done.status
    assert message in done.err.decode()
    assert not (folder / "fused.txt").exists()


# Notes.


def notes(runs: Any, *arguments: Any, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        te.fuse(runs, *arguments, **options)
    assert all(each.category is te.TrecevalWarning and each.filename == __file__ for each in given)
    return [str(each.message) for each in given]


def test_queries_that_a_run_lacks_are_noted() -> None:
    many = {str(number): {"a": 2.0, "b": 1.0} for number in range(20)}
    less = {qid: {"a": 2.0, "c": 1.0} for qid in list(many)[1:]}
    assert notes([many, less]) == [
        "1 of 20 queries is not in every run (run 2 lacks 1); it is fused from the runs that have it."
    ]
    few = {qid: less[qid] for qid in list(less)[:9]} | {"x": {"a": 1.0}}
    said = (
        "12 of 21 queries are not in every run (run 1 lacks 1, run 2 lacks 11); they are fused from the runs that have"
    )
    assert notes([many, few]) == [f"{said} them. Are these runs of the same queries?"]


def test_runs_that_are_alike_and_runs_of_other_collections_are_noted() -> None:
    grown = {qid: {docid: 2 * score for docid, score in documents.items()} for qid, documents in ONE.items()}
    assert notes([ONE, grown]) == ["run 1 and run 2 rank the same documents in the same order in all queries."]
    renamed = {qid: {f"D{docid}": score for docid, score in documents.items()} for qid, documents in ONE.items()}
    said, doubt = "has hardly any documents in common with", "Do they rank the same collection, by the same ids?"
    assert notes([ONE, renamed]) == [f"run 1 {said} run 2. {doubt}"]
    assert notes([ONE, OTHER, renamed]) == [f"run 3 {said} any other run. {doubt}"]


def test_equal_scores_are_noted_where_ranks_count() -> None:
    tied = {"1": {"a": 1.0, "b": 1.0, "c": 0.0}}
    other = {"1": {"a": 3.0, "b": 1.0}}
    said = ["run 1: 2 documents have the same score as another one of their query; the larger id is ranked first."]
    assert notes([tied, other]) == said
    assert notes([tied, other], "combsum", norm="rank") == said
    assert notes([tied, other], "combsum") == []


def test_lists_of_one_score_are_noted_where_it_has_to_be_decided_what_they_count() -> None:
    single = {"1": {"a": 1.0}}
    other = {"1": {"a": 3.0, "b": 1.0}}
    assert notes([single, other], "combsum") == [
        "run 1: 1 list has the same score for all documents, which count as 1."
    ]
    assert notes([single, other], "combsum", norm="zmuv") == [
        "run 1: 1 list has the same score for all documents, which count as 0."
    ]
    assert notes([single, other], "combsum", norm="rank") == notes([single, other]) == []


def test_a_run_whose_scores_decide_alone_is_noted() -> None:
    large = {"1": {"a": 30.0, "b": 20.0, "c": 10.0}}
    small = {"1": {"b": 0.9, "a": 0.8, "d": 0.7}}
    assert notes([small, large], "combsum", norm="none") == [
        "run 2 has scores around 20 and run 1 around 0.8, so the former dominates. Choose a normalisation."
    ]
    assert notes([small, large], "combsum") == []


def test_ranks_that_contradict_scores_are_noted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "distances.txt").write_text("1 Q0 a 1 0.1 t\n1 Q0 b 2 0.5 t\n2 Q0 y 1 0.2 t\n2 Q0 x 2 0.3 t\n")
    done = fuse(folder, "one.txt", "distances.txt", "-o", "fused.txt")
    assert done.err.decode() == (
        "note: distances.txt: in 2 of 2 queries scores grow with the rank. If they are distances, negate "
        "them: higher scores rank first.\n"
    )
    monkeypatch.setattr(source, "BLOCK_SIZE", 60)
    monkeypatch.setattr(source, "SMALL_BLOCK_SIZE", 60)
    text = "1 Q0 a 1 0.1 t\n1 Q0 b 2 0.5 t\n1 Q0 c 3 0.05 t\n2 Q0 y 1 0.2 t\n2 Q0 z 2 0.3 t\n"
    (folder / "odd.txt").write_text(text)
    done = fuse(folder, "one.txt", "odd.txt", "-o", "fused.txt")
    assert done.err.decode() == (
        "note: odd.txt: in 2 of 2 queries the rank column contradicts the scores; the scores are used.\n"
    )


# The record.


def test_the_record_has_the_inputs_and_the_settings(folder: Path) -> None:
    assert (
        fuse(folder, "one.txt", "other.txt", "-o", "fused.txt", "--method", "weighted", "--weights", "3,1").status == 0
    )
    record = read_sidecar(str(folder / "fused.txt"))
    assert record is not None
    # tied: c and d of the first query, which are last in their lists and count as 0
    assert record["run"] == {
        "file": "fused.txt", "tag": "weighted-min-max-3-1", "k": 1000, "lines": 7, "queries": 2, "tied": 2,
        "sha256": hashlib.sha256((folder / "fused.txt").read_bytes()).hexdigest(),
    }  # fmt: skip
    assert record["fusion"] | {"missing_documents": "", "missing_queries": "", "ranks": ""} == {
        "method": "weighted", "formula": "Σ w s", "norm": "min-max", "norm_formula": "(s − min) / (max − min)",
        "list_of_one_score": "1", "weights": [3, 1], "depth": None,
        "missing_documents": "", "missing_queries": "", "ranks": "",
    }  # fmt: skip
    assert record["inputs"] == [
        {
            "file": f"{name}.txt", "sha256": hashlib.sha256((folder / f"{name}.txt").read_bytes()).hexdigest(),
            "tag": name, "lines": count, "queries": 2, "record": None, "tied": 0,
        }
        for name, count in (("one", 5), ("other", 4))
    ]  # fmt: skip
    assert record["queries"] == {"all": 2, "in_every_run": 2}
    # b of {a, b, c} and {b, d}, y of {x, y} and {y, z}: 2 of the 4 that are possible
    assert record["overlap"] == [{"inputs": [1, 2], "at_10": 0.5, "at_100": 0.5, "all": 0.5}]
    assert record["directory"] == str(folder)
    assert record["notes"] == []
    assert "tuned" not in record


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


def test_a_record_without_paths_names_no_folder(folder: Path) -> None:
    (folder / "distances.txt").write_text("1 Q0 a 1 0.1 t\n1 Q0 b 2 0.5 t\n")
    runs = [str(folder / name) for name in ("one.txt", "distances.txt")]
    for option in ("--paths", "--no-paths"):
        assert fuse(folder, *runs, "-o", str(folder / "fused.txt"), option).status == 0
        text = (folder / "fused.txt.json").read_text("utf-8")
        assert (str(folder) in text) == (option == "--paths")
        assert "note" in text
        assert re.search(r'"[^"]*distances\.txt: in 1 of 1 queries scores grow', text)


def test_a_record_without_paths_has_none_of_its_inputs_either(folder: Path) -> None:
    (folder / "distances.txt").write_text("1 Q0 a 1 0.1 t\n1 Q0 b 2 0.5 t\n")
    runs = [str(folder / name) for name in ("one.txt", "distances.txt", "first.txt")]
    assert fuse(folder, *runs[:2], "-o", runs[2]).status == 0
    assert fuse(folder, "one.txt", runs[2], "-o", "second.txt", "--no-paths").status == 0
    text = (folder / "second.txt.json").read_text("utf-8")
    assert str(folder) not in text
    assert "distances.txt: in 1 of 1 queries scores grow" in text


def test_a_record_of_an_older_run_does_not_stay_beside_a_new_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **options: Any) -> None:
        raise te.OutputError("cannot be written: no space left")

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
