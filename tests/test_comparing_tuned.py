"""Runs whose settings were chosen on the queries that they are compared on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import treceval_py as te
from treceval_py.runs.record import hash_of_query

QRELS = {f"q{number}": {"a": 1, "b": 0, "c": 1} for number in range(12)}


def run_with(folder: Path, name: str, tuned: dict[str, Any] | None, *, digest: str | None = None) -> str:
    """Write a run and a record that says on which queries it was tuned."""
    path = folder / f"{name}.txt"
    documents = "abc" if name == "plain" else "cab"
    path.write_text(
        "".join(f"{qid} Q0 {doc} {rank} {9 - rank} {name}\n" for qid in QRELS for rank, doc in enumerate(documents, 1))
    )
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    record = {"run": {"sha256": found if digest is None else digest}}
    Path(f"{path}.json").write_text(json.dumps(record if tuned is None else record | {"tuned": tuned}))
    return str(path)


def notes_of(folder: Path, tuned: dict[str, Any] | None, **kept: str) -> list[str]:
    runs = [run_with(folder, "plain", None), run_with(folder, "tuned", tuned, **kept)]
    return [note for note in te.compare(QRELS, runs, measures=["map"]).notes if "chosen" in note]


def test_the_hash_of_a_query_is_the_beginning_of_the_sha256_of_its_id() -> None:
    assert hash_of_query("q1") == hashlib.sha256(b"q1").hexdigest()[:16]


def test_settings_chosen_on_the_queries_compared_are_said(tmp_path: Path) -> None:
    hashes = [hashlib.sha256(qid.encode()).hexdigest()[:16] for qid in QRELS]
    (said,) = notes_of(tmp_path, {"queries": hashes, "nested": False})
    assert said.startswith("the settings of tuned were chosen on the queries compared: its mean is too high there")
    (said,) = notes_of(tmp_path, {"queries": hashes[:3], "nested": False})
    assert "on 3 of the 12 queries compared" in said
    (said,) = notes_of(tmp_path, {"queries": hashes, "nested": True})
    assert "by cross-validation" in said


@pytest.mark.parametrize(
    "tuned", [None, {"queries": ["0123456789abcdef"]}, {"queries": []}, {"queries": 3}, {"queries": [{}, []]}, [], "x"]
)
def test_other_queries_and_other_records_say_nothing(tmp_path: Path, tuned: Any) -> None:
    assert notes_of(tmp_path, tuned) == []


def test_the_record_of_another_run_says_nothing(tmp_path: Path) -> None:
    hashes = [hash_of_query(qid) for qid in QRELS]
    assert notes_of(tmp_path, {"queries": hashes, "nested": False}, digest="0" * 64) == []


def test_board_and_gate_say_it_too(tmp_path: Path) -> None:
    hashes = [hash_of_query(qid) for qid in QRELS]
    runs = [run_with(tmp_path, "plain", None), run_with(tmp_path, "tuned", {"queries": hashes, "nested": False})]
    board = te.board(QRELS, runs, measures=["map"])
    assert any("the settings of tuned were chosen on the queries compared" in note for note in board.notes)
    verdict = te.gating.gate(QRELS, *runs, "map")
    assert any("the settings of tuned were chosen" in note for note in verdict.notes)
