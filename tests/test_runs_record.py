"""The record beside a run."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pytest

from treceval_py.runs.record import (
    hash_of_query,
    names_only,
    provenance,
    read_sidecar,
    remove_sidecar,
    sidecar_of,
    write_sidecar,
)

RUN = b"q1 Q0 d1 1 2.5 test\n"


def record_of(content: bytes) -> dict[str, object]:
    return {"run": {"sha256": hashlib.sha256(content).hexdigest()}, "notes": ["caf\udce9.txt"]}


def test_a_record_is_read_while_its_run_is_the_same(tmp_path: Path) -> None:
    run = tmp_path / "run.txt"
    run.write_bytes(RUN)
    write_sidecar(str(run), record_of(RUN))
    assert sidecar_of(str(run)) == f"{run}.json"
    assert read_sidecar(str(run)) == record_of(RUN)
    assert read_sidecar(str(run), "0" * 64) is None
    run.write_bytes(RUN + RUN)
    assert read_sidecar(str(run), hashlib.sha256(RUN).hexdigest()) == record_of(RUN)
    assert read_sidecar(str(run)) is None
    remove_sidecar(str(run))
    remove_sidecar(str(run))
    assert os.listdir(tmp_path) == ["run.txt"]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b"null", b'{"run": 1}', b'{"run": {}}'])
def test_what_is_no_record_is_none(tmp_path: Path, content: bytes) -> None:
    run = tmp_path / "run.txt"
    run.write_bytes(RUN)
    assert read_sidecar(str(run)) is None
    Path(f"{run}.json").write_bytes(content)
    assert read_sidecar(str(run)) is None


def test_a_record_without_its_run_is_none(tmp_path: Path) -> None:
    (tmp_path / "run.txt.json").write_text(json.dumps(record_of(RUN)))
    assert read_sidecar(str(tmp_path / "run.txt")) is None


def test_where_a_command_was_given_can_be_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    begun = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    command = ["treceval", "retrieve", f"{tmp_path}/data", "--model", "BAAI/bge-m3", "--instruction", "a/b: "]
    told = provenance(command, begun, ["numpy", "of-nobody"])
    assert (told["command"], told["directory"], told["begun"]) == (command, str(tmp_path), "2026-01-02T03:04:05+00:00")
    assert told["versions"] == {
        "treceval_py": version("treceval-py"), "numpy": version("numpy"), "of-nobody": "not installed",
    }  # fmt: skip
    named = provenance(command, begun, [], paths=False)
    assert "directory" not in named
    assert named["command"] == ["treceval", "retrieve", "data", *command[3:]]


def test_names_take_the_place_of_paths_and_texts_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "two words" / "run.txt"
    path.parent.mkdir()
    monkeypatch.chdir(tmp_path)
    told = {"run": {"file": str(path), "k": 5}, "notes": ["two words/or more"], "model": {"name": "BAAI/bge-m3"}}
    assert names_only({**told, "inputs": [{"file": "two words/run.txt"}]}) == {
        **told, "run": {"file": "run.txt", "k": 5}, "inputs": [{"file": "run.txt"}],
    }  # fmt: skip
    assert names_only({"host": "box", "reranker": {"by": [{"host": "box", "device": "cpu"}]}}) == {
        "reranker": {"by": [{"device": "cpu"}]}
    }


def test_a_query_is_named_by_its_hash() -> None:
    assert hash_of_query("Q1") == hashlib.sha256(b"Q1").hexdigest()[:16]
    assert hash_of_query("\udce9") == hashlib.sha256(b"\xe9").hexdigest()[:16]
