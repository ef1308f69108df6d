"""Records on disk: what is kept is read as it was, and what is damaged, foreign or old is no record."""

from __future__ import annotations

import base64
import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treceval_py.checking.findings import Finding
from treceval_py.errors import OutputError
from treceval_py.grading.processes.kept import (
    VERSION,
    forget,
    forget_unfinished,
    from_plain,
    plain,
    read_record,
    write_record,
)
from treceval_py.grading.records import AgainstBaseline, Checked, FileRead, Graded, Loss, LostDocument, RunRead

FULL = Graded(
    student="Ada \udcff",  # as a name of a file that is no UTF-8 is held
    source="class.zip/Ada",
    status="repaired",
    reason="a reason",
    files=(
        FileRead("run.txt", "run", "its lines are those of a run", 1234),
        FileRead("claims.txt", "claims", "it has numbers that are claimed for measures", 12),
    ),
    run="run.txt",
    kind="run",
    lines=12,
    queries=3,
    documents=11,
    missing_queries=(1, 4),
    findings=(Finding("R120", "error", "run.txt", 3, 7, "document 'a' comes again", "Keep one."),),
    counts={"R120": 2, "X202": 1},
    repairs=("1 exact duplicate was removed (line 3)", "blank lines were removed"),
    profile="trec_eval-10",
    measures={"AP": 0.1 + 0.2, "P@10": 1 / 3},
    signatures={"AP": "AP(rel=1)|p:trec_eval-10"},
    claims=(Checked("AP", "0.3", "claims.txt:1", "convention", 0.25, "under another convention", "ranx"),),
    against=AgainstBaseline(
        "bm25.run",
        "AP",
        0.25,
        0.5,
        3,
        1,
        1,
        1,
        0.0312,
        (Loss("7", 0.1, 0.9, (LostDocument("d1", 2, None, 1), LostDocument("d2", 1, 9, None))), Loss("8", 0.0, 0.5)),
    ),
    hash_of_run="ab" * 32,
    hash_of_ranking="cd" * 32,
    tops=np.array([[2**63 - 1, 5], [7, -1]], dtype=np.int64),
    runs=(
        RunRead("run.txt", "run", "scored", "", {"AP": 0.1 + 0.2}, "ab" * 32, "cd" * 32, 1, "2026-03-01T10:00:00Z"),
        RunRead("old.txt", reason="line 1: there are 3 fields"),
    ),
    chosen="one claim fits it, and none fits the others",
    values=np.array([0.1 + 0.2, np.nan, 1.0]),
    handed_in="2026-03-01T10:00:00Z",
    late=False,
    attempt="2",
)


def same(one: Graded, other: Graded) -> bool:
    """Tell whether two records are the same, arrays included."""
    for first, second in ((one.tops, other.tops), (one.values, other.values)):
        if (first is None) != (second is None):
            return False
        if first is not None and not np.array_equal(first, second, equal_nan=True):  # type: ignore[arg-type]
            return False
    return one._replace(tops=None, values=None) == other._replace(tops=None, values=None)


def packed(record: Any) -> bytes:
    return gzip.compress(json.dumps(record).encode())


# --- what is kept ---


def test_a_record_with_every_field_comes_back_from_json_as_it_was() -> None:
    assert [name for name, usual in Graded._field_defaults.items() if getattr(FULL, name) is usual] == []
    text = json.dumps(plain(FULL))
    assert same(from_plain(json.loads(text)), FULL)


def test_a_record_with_every_field_comes_back_from_the_disk_as_it_was(tmp_path: Path) -> None:
    path = str(tmp_path / "x.json.gz")
    write_record(path, FULL)
    found = read_record(path)
    assert found is not None
    assert same(found, FULL)
    assert found.tops is not None
    assert found.tops.dtype == np.int64


def test_a_record_with_nothing_but_its_status_comes_back_as_it_was(tmp_path: Path) -> None:
    path = str(tmp_path / "x.json.gz")
    write_record(path, Graded("ada", "in/ada", "missing"))
    assert read_record(path) == Graded("ada", "in/ada", "missing")


def test_what_comes_back_has_the_types_that_it_had(tmp_path: Path) -> None:
    found = from_plain(json.loads(json.dumps(plain(FULL))))
    assert type(found.files[0]) is FileRead
    assert type(found.findings[0]) is Finding
    assert type(found.claims[0]) is Checked
    assert type(found.against) is AgainstBaseline
    assert [type(loss) for loss in found.against.losses] == [Loss, Loss]
    assert type(found.against.losses[0].documents[0]) is LostDocument
    assert [type(getattr(found, name)) for name in ("files", "findings", "claims", "repairs", "missing_queries")] == (
        [tuple] * 5
    )


def test_the_same_record_gives_the_same_bytes(tmp_path: Path) -> None:
    write_record(str(tmp_path / "one.json.gz"), FULL)
    write_record(str(tmp_path / "two.json.gz"), FULL)
    assert (tmp_path / "one.json.gz").read_bytes() == (tmp_path / "two.json.gz").read_bytes()


def test_documents_are_kept_as_numbers_of_eight_bytes_the_least_first() -> None:
    shape, text = plain(Graded("a", "a", "scored", tops=np.array([[1, -1]], dtype=np.int64)))["tops"]
    assert shape == [1, 2]
    assert base64.b64decode(text) == b"\1" + bytes(7) + b"\xff" * 8


# --- what is no record ---


def test_where_there_is_no_file_there_is_no_record(tmp_path: Path) -> None:
    assert read_record(str(tmp_path / "x.json.gz")) is None


GOOD = {"version": VERSION, "graded": plain(Graded("ada", "in/ada", "missing"))}


def test_what_the_damaged_ones_are_made_of_is_a_record(tmp_path: Path) -> None:
    (tmp_path / "x.json.gz").write_bytes(packed(GOOD))
    assert read_record(str(tmp_path / "x.json.gz")) == Graded("ada", "in/ada", "missing")


@pytest.mark.parametrize("version", [0, 1, "2", None])
def test_a_record_of_another_version_is_none(tmp_path: Path, version: object) -> None:
    (tmp_path / "x.json.gz").write_bytes(packed({**GOOD, "version": version}))
    assert read_record(str(tmp_path / "x.json.gz")) is None


def changed(**fields: object) -> bytes:
    """Return the good record with fields changed."""
    return packed({**GOOD, "graded": {**GOOD["graded"], **fields}})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no gzip",
        json.dumps(GOOD).encode(),
        packed(GOOD)[:-9],
        packed(GOOD)[:40],
        packed(GOOD)[:30] + b"\0\0\0\0" + packed(GOOD)[34:],
        gzip.compress(b"no JSON"),
        gzip.compress(b"\xff\xfe"),
        packed([]),
        packed("text"),
        packed({"version": 1}),
        packed({"graded": GOOD["graded"]}),
        packed({"version": VERSION, "graded": {}}),
        packed({"version": VERSION, "graded": []}),
        changed(unknown=1),
        changed(files=[{"name": "run.txt"}]),
        changed(files=[1]),
        changed(files=3),
        changed(against={"losses": []}),
        changed(against={"name": "b"}),
        changed(against="b"),
        changed(tops=[[1, 1], "AAAA"]),
        changed(tops=[[1, 1], "no base64!"]),
        changed(tops=[]),
        changed(missing_queries=1),
    ],
    ids=[
        "empty",
        "no gzip",
        "not compressed",
        "without its checksum",
        "cut off",
        "other bytes within",
        "no JSON",
        "no text",
        "a list",
        "a text",
        "no record",
        "no version",
        "no fields",
        "a list of fields",
        "unknown field",
        "file without fields",
        "file is a number",
        "files are a number",
        "comparison without fields",
        "comparison without losses",
        "comparison is a text",
        "too few numbers",
        "no base64",
        "no numbers",
        "one number of two",
    ],
)
def test_a_damaged_record_is_none(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.json.gz").write_bytes(data)
    assert read_record(str(tmp_path / "x.json.gz")) is None


def test_a_folder_in_the_place_of_a_record_is_none(tmp_path: Path) -> None:
    (tmp_path / "x.json.gz").mkdir()
    assert read_record(str(tmp_path / "x.json.gz")) is None


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX systems")
def test_a_link_in_the_place_of_a_record_is_not_followed(tmp_path: Path) -> None:
    write_record(str(tmp_path / "elsewhere.json.gz"), FULL)
    (tmp_path / "x.json.gz").symlink_to(tmp_path / "elsewhere.json.gz")
    assert read_record(str(tmp_path / "x.json.gz")) is None


def test_a_record_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    path = tmp_path / "none" / "x.json.gz"
    with pytest.raises(OutputError) as caught:
        write_record(str(path), FULL)
    assert (
        str(caught.value)
        == f"{path}: cannot be written: No such file or directory. Check the folder and the space left."
    )


# --- what is removed ---


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_records_that_are_not_kept_are_removed_with_what_was_half_written_of_any(tmp_path: Path) -> None:
    for name in ("a.json.gz", "b.json.gz", ".a.json.gz.k3x9", ".b.json.gz.q_7z", "files.json", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    forget(str(tmp_path), {"a.json.gz"})
    assert names(tmp_path) == ["a.json.gz", "files.json", "notes.txt"]


def test_what_was_half_written_of_named_files_is_removed_and_nothing_else(tmp_path: Path) -> None:
    stay = [".gradebook.csv", ".other.csv.k3x9", "gradebook.csv", "gradebook.csv.k3x9", ".gradebook.csv.k3x9.old", ".x"]
    for name in (*stay, ".gradebook.csv.k3x9", ".gradebook.csv.q_7z"):
        (tmp_path / name).write_bytes(b"")
    forget_unfinished(str(tmp_path), ("gradebook.csv",))
    assert names(tmp_path) == sorted(stay)


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX systems")
def test_of_a_link_that_is_removed_the_file_that_it_names_stays(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "a.json.gz").symlink_to(tmp_path / "mine.txt")
    forget(str(tmp_path), set())
    assert (names(tmp_path), (tmp_path / "mine.txt").read_text()) == (["mine.txt"], "mine")


@pytest.mark.skipif(os.name != "posix", reason="what the system says of a folder")
def test_what_cannot_be_removed_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").mkdir()
    with pytest.raises(
        OutputError, match=r"a\.json\.gz: cannot be removed: (Is a directory|Operation not permitted)\.$"
    ):
        forget(str(tmp_path), set())
