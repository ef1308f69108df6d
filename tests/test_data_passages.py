"""Runs of segments, ranked as documents: MaxP, in every form of a run."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import treceval_py as te
from treceval_py.data.passages import as_documents
from treceval_py.scoring.opening import load_run

SEGMENTS = {"q": {"d2#1": 9.0, "d1#0": 8.0, "d2#0": 7.0, "d1#5": 6.0, "d3#2": 6.0}}
"""d2 by its segment 1, then d1 by its segment 0, then d3."""

DOCUMENTS = {"q": {"d2": 9.0, "d1": 8.0, "d3": 6.0}}
QRELS = {"q": {"d1": 1, "d3": 1, "d4": 1}}
MEASURES = ("num_ret", "RR", "map")
VALUES = {"num_ret": 3, "RR": 1 / 2, "map": (1 / 2 + 2 / 3) / 3}


def rows() -> list[tuple[str, str, float]]:
    return [(qid, docid, score) for qid, scores in SEGMENTS.items() for docid, score in scores.items()]


def in_file(text: str) -> Callable[[Path], Any]:
    def write(folder: Path) -> Path:
        path = folder / "run"
        path.write_text(text)
        return path

    return write


TREC = "".join(f"q Q0 {docid} {rank} {score} t\n" for rank, (_, docid, score) in enumerate(rows(), 1))
FORMS: dict[str, Callable[[Path], Any]] = {
    "dictionary": lambda _: SEGMENTS,
    "lists": lambda _: {"q": [*SEGMENTS["q"]]},
    "Run": lambda _: te.Run(SEGMENTS),
    "frame": lambda _: pd.DataFrame(rows(), columns=["qid", "docid", "score"]),
    "rows": lambda _: rows(),
    "arrays": lambda _: (np.array([[*SEGMENTS["q"].values()]]), np.array([[*SEGMENTS["q"]]]), ["q"]),
    "TREC": in_file(TREC),
    "TREC, ascending": in_file("".join(reversed(TREC.splitlines(keepends=True)))),
    "JSON": in_file(json.dumps(SEGMENTS)),
    "MS MARCO": in_file("".join(f"q\t{docid}\t{rank}\n" for rank, docid in enumerate(SEGMENTS["q"], 1))),
    "stream": lambda _: io.BytesIO(TREC.encode()),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_document_has_the_score_of_its_best_segment_in_every_form(form: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"max_passage": "#"}
    if form == "MS MARCO":
        options["run_format"] = "msmarco"
    assert te.evaluate(QRELS, FORMS[form](tmp_path), MEASURES, **options).mean == pytest.approx(VALUES)
    evaluator = te.Evaluator(QRELS, te.Scoring(MEASURES), te.scoring.Reading(**options))
    assert evaluator.score(FORMS[form](tmp_path)).mean == pytest.approx(VALUES)
    assert [*load_run(FORMS[form](tmp_path), te.scoring.Reading(**options))["q"]] in (
        ["d2", "d1", "d3"],
        ["d3", "d1", "d2"],
    )


def test_an_id_is_cut_at_the_first_separator_and_stays_whole_without_one() -> None:
    # As hit.docid.split(delimiter)[0] in Pyserini's output_writer.py, and docid.split(delimiter)[0] in Anserini.
    run = te.Run({"q": {"a#b#3": 1.0, "d": 2.0, "d#1": 3.0, "#4": 0.5, "e": 0.0}, "r": {"a#1": 1.0}})
    assert as_documents(run, "#").to_dict() == {"q": {"a": 1.0, "d": 3.0, "#4": 0.5, "e": 0.0}, "r": {"a": 1.0}}
    assert as_documents(run, "#b#").to_dict()["q"]["a"] == 1.0
    assert as_documents(run, "_") is as_documents(run, None) is run
    twice = as_documents(as_documents(run, "#"), "#")
    assert twice.to_dict() == as_documents(run, "#").to_dict()


def test_equal_documents_are_ranked_by_their_own_ids() -> None:
    run = {"q": {"x#9": 1.0, "x!#0": 1.0}}
    assert te.evaluate({"q": {"x!": 1}}, run, ["RR"], max_passage="#").mean["RR"] == 1.0  # x! > x
    assert te.evaluate({"q": {"x!#0": 1}}, run, ["RR"]).mean["RR"] == 0.5  # "x#9" > "x!#0", as # > !


def test_ranks_count_documents(tmp_path: Path) -> None:
    run = as_documents(te.read_run(in_file(TREC)(tmp_path)), "#")
    assert run.ranks is not None
    assert run.ranks.tolist() == [1, 2, 3]  # of the ranks 1, 2 and 5 of their best segments
    same = as_documents(te.read_run(text="q Q0 a#1 3 2 t\nq Q0 b#1 3 1 t\nq Q0 a#2 4 0 t\nr Q0 c#1 7 1 t\n"), "#")
    assert same.ranks is not None
    assert same.ranks.tolist() == [1, 1, 1]


def test_a_document_twice_is_refused_before_its_segments_are_joined() -> None:
    text = "q Q0 d#1 1 2 t\nq Q0 d#{} 2 1 t\n"
    assert te.evaluate({"q": {"d": 1}}, te.read_run(text=text.format(2)), ["RR"], max_passage="#").mean["RR"] == 1.0
    with pytest.raises(te.errors.InputError, match="document 'd#1' occurs twice"):
        te.read_run(text=text.format(1))


def test_a_run_without_documents_stays_without_them() -> None:
    with pytest.warns(te.errors.SuspectRunWarning, match="no query of the run is judged"):
        results = te.evaluate({"q": {"d": 1}}, {"q": {}, "r": {"d#1": 1.0}}, ["RR"], complete=True, max_passage="#")
    assert results.mean == {"RR": 0.0}


@pytest.mark.parametrize("separator", ["", 3, b"#", True])
def test_a_separator_is_text(separator: Any) -> None:
    with pytest.raises(te.errors.MeasureError, match="max_passage must be text between document and segment"):
        te.evaluate(QRELS, SEGMENTS, ["RR"], max_passage=separator)
    with pytest.raises(te.errors.MeasureError, match="max_passage must be text"):
        te.fuse([SEGMENTS, SEGMENTS], max_passage=separator)


def test_segments_are_joined_before_runs_are_fused(tmp_path: Path) -> None:
    other = {"q": {"d1": 3.0, "d4#7": 2.0}}
    # RRF with k = 60: d1 has rank 2 and 1, d2 rank 1, d4 rank 2, d3 rank 3.
    expected = {"d1": 1 / 62 + 1 / 61, "d2": 1 / 61, "d4": 1 / 62, "d3": 1 / 63}
    for run in (SEGMENTS, in_file(TREC)(tmp_path)):
        fused = te.fuse([run, other], max_passage="#")
        assert fused["q"] == pytest.approx(expected)
        assert [*fused["q"]] == [*expected]
