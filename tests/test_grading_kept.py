"""Records on disk: what is kept is read as it was, and what is damaged, foreign or old is no record."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grading_samples import BOB, LI

from treceval_py.errors import OutputError
from treceval_py.grading.claims.claims import claimed
from treceval_py.grading.intake.intake import one
from treceval_py.grading.processes import (
    VERSION,
    Job,
    forget,
    key_of,
    plain,
    read_record,
    write_record,
)
from treceval_py.grading.records import Graded

FULL = BOB._replace(
    student="Ada \udcff",  # as a name of a file that is no UTF-8 is held
    reason="a reason",
    measures={"AP": 0.1 + 0.2, "P@10": 1 / 3},
    hash_of_run="ab" * 32,
    hash_of_ranking="cd" * 32,
    tops=np.array([[2**63 - 1, 5], [7, -1]], dtype=np.int64),
    runs=LI.runs,
    chosen=LI.chosen,
    values=np.array([0.1 + 0.2, np.nan, 1.0]),
    handed_in=LI.handed_in,
    late=False,
    attempt="2",
)


def packed(record: Any) -> bytes:
    return gzip.compress(json.dumps(record).encode())


GOOD = {"version": VERSION, "graded": plain(Graded("ada", "in/ada", "missing"))}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.json.gz"


# --- what is kept ---


def types_of(value: Any) -> Any:
    """Return the type of a value and, if it has parts, of each of them."""
    return (type(value), *map(types_of, value)) if isinstance(value, tuple) else type(value)


def test_a_record_with_every_field_comes_back_as_it_was_with_the_types_that_it_had(path: Path) -> None:
    assert [name for name, usual in Graded._field_defaults.items() if getattr(FULL, name) is usual] == []
    write_record(str(path), FULL)
    found = read_record(str(path))
    assert found is not None
    assert repr(plain(found)) == repr(plain(FULL))
    assert types_of(found) == types_of(FULL)
    assert found.tops is not None
    assert found.tops.dtype == np.int64
    data = path.read_bytes()
    write_record(str(path), found)
    assert path.read_bytes() == data


# --- what is no record ---


def changed(**fields: object) -> bytes:
    """Return the good record with fields changed."""
    return packed({**GOOD, "graded": {**GOOD["graded"], **fields}})  # type: ignore[dict-item]


DAMAGED = {
    "empty": b"",
    "no gzip": b"no gzip",
    "without its checksum": packed(GOOD)[:-9],
    "other bytes within": packed(GOOD)[:30] + b"\0\0\0\0" + packed(GOOD)[34:],
    "no JSON": gzip.compress(b"no JSON"),
    "no text": gzip.compress(b"\xff\xfe"),
    "a list": packed([]),
    "no record": packed({"version": VERSION}),
    **{f"version {version}": packed({**GOOD, "version": version}) for version in (VERSION - 1, VERSION + 1, None)},
    "unknown field": changed(unknown=1),
    "file is a number": changed(files=[1]),
    "comparison without losses": changed(against={"name": "b"}),
    "documents that are no numbers": changed(tops="text"),
    "lists of documents of several lengths": changed(tops=[[1, 1], [1]]),
    "values that are no numbers": changed(values=["x"]),
    "one number of two": changed(missing_queries=1),
}


def test_what_is_missing_damaged_or_of_another_version_is_no_record(path: Path) -> None:
    assert read_record(str(path)) is None
    path.write_bytes(packed(GOOD))
    assert read_record(str(path)) == Graded("ada", "in/ada", "missing")
    found = {}
    for name, data in DAMAGED.items():
        path.write_bytes(data)
        found[name] = read_record(str(path))
    assert {name: each for name, each in found.items() if each is not None} == {}
    path.unlink()
    path.mkdir()
    assert read_record(str(path)) is None
    path.rmdir()
    write_record(f"{path}.elsewhere", FULL)
    path.symlink_to(f"{path}.elsewhere")
    assert read_record(str(path)) is None


# --- what is removed ---


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_records_that_are_not_kept_are_removed_with_what_was_half_written_of_any(tmp_path: Path) -> None:
    for name in ("a.json.gz", "b.json.gz", ".a.json.gz.treceval0", ".b.json.gz.treceval0", "files.json", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "c.json.gz").symlink_to("notes.txt")
    forget(str(tmp_path), {"a.json.gz"})
    assert names(tmp_path) == ["a.json.gz", "files.json", "notes.txt"]


@pytest.mark.skipif(os.name != "posix", reason="what the system says of a folder")
def test_what_cannot_be_removed_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").mkdir()
    with pytest.raises(
        OutputError, match=r"a\.json\.gz: cannot be removed: (Is a directory|Operation not permitted)\.$"
    ):
        forget(str(tmp_path), set())


# --- what a record depends on ---


def test_a_record_depends_on_all_that_a_grade_depends_on(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "run.txt").write_text("1 Q0 a 1 1 t\n")
    ada = one(str(tmp_path / "ada"))
    claim = claimed("AP", "0.5", "claims.csv:2")
    job = Job(ada, (claim,))
    (tmp_path / "ada" / "run.txt").write_text("1 Q0 b 1 1 t\n")
    other = one(str(tmp_path / "ada"))
    (item,) = other.items
    job = job._replace(submission=other)
    keys = [
        key_of(job, "context"),
        key_of(job, "another context"),
        key_of(Job(ada, (claim,)), "context"),  # its file has changed, and cannot be read
        *(key_of(job._replace(claimed=each), "context") for each in ((), (claim, claim), (claim._replace(run="x"),))),
        key_of(job._replace(run="run.txt"), "context"),
        *(
            key_of(job._replace(submission=other._replace(**each)), "context")
            for each in ({"late": True}, {"group": "x"})
        ),
        *(
            key_of(job._replace(submission=other._replace(items=(item._replace(**each),))), "context")
            for each in ({"name": "x"}, {"attempt": "2"}, {"number": 2}, {"time": "2026"})
        ),
    ]
    (tmp_path / "ada" / "run.txt").write_text("1 Q0 c 1 1 t\n")
    keys.append(key_of(job._replace(submission=one(str(tmp_path / "ada"))), "context"))
    assert len(set(keys)) == len(keys) == 14
    assert {len(each) for each in keys} == {32}
    (tmp_path / "ada" / "run.txt").write_text("1 Q0 b 1 1 t\n")
    assert key_of(job._replace(submission=one(str(tmp_path / "ada"))), "context") == keys[0]
