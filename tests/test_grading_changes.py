"""What a grading changed for whom: what is compared, how it is shown, and that a repeated grading keeps it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grading_samples import GRADES
from syrupy.assertion import SnapshotAssertion

from treceval_py.grading.outputs.folder import changed, changes_txt, read_before, write_all

OLD: dict[str, Any] = {
    "student": "Ada",
    "status": "refused",
    "points": 20.0,
    "excused": False,
    "run": "a.txt",
    "sha256": "00112233445566",
    "measures": {},
    "claims": [{"measure": "MAP", "text": "0.3", "verdict": "unchecked"}],
}
NEW = {
    **OLD,
    "status": "scored",
    "points": 55.5,
    "sha256": "ff112233445566",
    "measures": {"AP": 0.30001, "RR": None},
    "claims": [{"measure": "MAP", "text": "0.3", "verdict": "correct"}],
}


Records = list[dict[str, Any]]
CASES: dict[str, tuple[Records, Records]] = {
    "everything": ([OLD], [NEW]),
    "an excuse": ([{**OLD, "points": 0.0}], [{**OLD, "points": 0.0, "excused": True}]),
    "equal as it is printed": ([NEW], [{**NEW, "points": 55.504, "measures": {"AP": 0.30004, "RR": None}}]),
    "not equal as it is printed": ([NEW], [{**NEW, "points": 55.506, "measures": {"AP": 0.30006, "RR": 0.0}}]),
    "eight characters of the hash": ([OLD], [{**OLD, "sha256": "00112233555566"}]),
    "another hash": ([OLD], [{**OLD, "sha256": "00112234445566"}]),
    "no run": ([OLD], [{**OLD, "run": ""}]),
    "new and gone": ([OLD, {**OLD, "student": "cid"}], [{**OLD, "student": "Bob\t"}, {**OLD, "student": "ada"}]),
    "two of one name": ([OLD, NEW], [{**OLD, "points": 2.0}, {**NEW, "points": 1.0}]),
    "damaged records": ([7, {"student": 3}, {**OLD, "points": "x"}, {**OLD, "claims": [1]}, OLD], [OLD]),  # type: ignore[list-item]
}


def test_points_status_run_values_and_claims_are_compared_student_by_student(snapshot: SnapshotAssertion) -> None:
    said = {case: changes_txt(changed(before, after)) for case, (before, after) in CASES.items()}
    assert said["everything"].startswith(
        "1 student changed, came or went since the last grading.\n\nAda\n  points: 20.00 -> 55.50\n"
    )
    assert said == snapshot


def test_damaged_grades_are_passed_over(tmp_path: Path) -> None:
    for text in ("{", "{}", "[" * 100_000):
        (tmp_path / "grades.json").write_text(text)
        assert read_before(str(tmp_path / "grades.json")) == []
    assert read_before(str(tmp_path / "none.json")) == []


def files(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}


def test_the_last_changes_stay_until_something_else_changes(tmp_path: Path) -> None:
    (tmp_path / ".grades").mkdir()
    assert write_all(str(tmp_path), GRADES) == ()
    assert not (tmp_path / "changes.txt").exists()
    first = GRADES.entries[0]
    later = GRADES._replace(entries=(first._replace(marks=first.marks._replace(total=1.0)), *GRADES.entries[1:]))
    assert write_all(str(tmp_path), later) == (
        "1 student changed, came or went since the last grading: see changes.txt",
    )
    once = files(tmp_path)
    assert b"-> 1.00" in once["changes.txt"]
    assert write_all(str(tmp_path), later) == ()
    assert files(tmp_path) == once
