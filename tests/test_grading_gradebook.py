"""The gradebook of an invented class, as CSV, as a workbook and as JSON."""

from __future__ import annotations

import csv
import io
import json
import re
import time
import zipfile
from typing import Any

import pytest
from grading_samples import ADA, BOB, COURSE, ENTRIES, FORMULA, GRADES, LONG, UMLAUT
from syrupy.assertion import SnapshotAssertion

from treceval_py.grading.grades import Entry, Grades, Mark, Marks
from treceval_py.grading.outputs.gradebook import class_table, csv_of, graded_json, shown, summary
from treceval_py.grading.records import EVIDENCE, STATUSES, VERDICTS, Graded


def alone(*entries: Entry, **more: Any) -> Grades:
    return GRADES._replace(entries=entries, pairs=(), **more)


def of(graded: Graded, marks: Marks = ENTRIES[0].marks) -> Entry:
    return Entry(graded, marks, "ada")


def gradebook_csv(grades: Grades) -> str:
    return csv_of(class_table(grades, grades.entries))


def rows(grades: Grades = GRADES) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(gradebook_csv(grades))))


def test_the_samples_have_all_statuses_and_verdicts() -> None:
    assert {entry.graded.status for entry in ENTRIES} == set(STATUSES)
    assert {claim.verdict for entry in ENTRIES for claim in entry.graded.claims} == {*VERDICTS, *EVIDENCE}


# CSV ----------------------------------------------------------------------------------------------


def test_the_gradebook_has_a_line_for_each_student(snapshot: SnapshotAssertion) -> None:
    assert {"class": gradebook_csv(GRADES), "course": gradebook_csv(COURSE)} == snapshot
    assert [row["feedback"] for row in rows()] == [f"feedback/{entry.name}.txt" for entry in ENTRIES]
    # 40 + 30 - 7 + 3.5
    parts = [rows(COURSE)[0][f"points: {part}"] for part in ("run", "claims", "late", "adjusted")]
    assert (parts, rows(COURSE)[0]["points"]) == (["40.00", "30.00", "-7.00", "3.50"], "66.50")
    # 30 + 45 points; 0.5 - 0.25 is exact in binary; 17 of R120 are errors, 1 of R130 is a warning; two repairs
    bob = BOB._replace(against=BOB.against and BOB.against._replace(value=0.5))
    (made,) = rows(alone(ENTRIES[1]._replace(graded=bob)))
    names = ("points", "points: run", "points: claims", "AP", "AP less baseline", "errors", "warnings", "repairs")
    assert [made[name] for name in names] == ["75.00", "30.00", "45.00", "0.2", "0.25", "17", "1", "2"]


def test_points_are_summed_by_the_kind_of_their_part() -> None:
    parts = (Mark("run", 1.0, 9.0, ""), Mark("measure AP", 0.104, 9.0, ""), Mark("measure RR", 0.102, 9.0, ""))
    many = tuple(Mark(f"claim {number}", 0.001, 0.02, "") for number in range(3000))
    (made,) = rows(alone(of(ADA, Marks((*parts, *many, Mark("bonus", 0.5, 1.0, "")), 4.7, 60.0, None))))
    # 0.104 + 0.102 is rounded once, and 3000 * 0.001
    assert {name: value for name, value in made.items() if name.startswith("points: ")} == {
        "points: run": "1.00",
        "points: measures": "0.21",
        "points: claims": "3.00",
        "points: other": "0.50",
    }


@pytest.mark.parametrize(("passed", "said"), [(None, None), (True, "yes"), (False, "no")])
def test_who_passes_depends_on_a_pass_mark(passed: bool | None, said: str | None) -> None:
    assert rows(alone(of(ADA, ENTRIES[0].marks._replace(passed=passed))))[0].get("passed") == said


def test_columns_about_nothing_are_left_out() -> None:
    about = {"AP less baseline", "queries above", "queries below"}
    assert about < set(rows()[0])
    for without in ({"baseline": "", "baseline_measures": {}}, {"measures": ()}):
        assert not about & set(rows(GRADES._replace(**without))[0])
    optional = {"number", "e-mail", "group", "handed in", "attempt", "late", "points: late", "points: adjusted"}
    assert optional < set(rows(COURSE)[0])
    assert not optional & set(rows()[0])


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        (FORMULA, f"'{FORMULA}"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("  =1+1", "'  =1+1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("\t=1+1", "\\t=1+1"),
        ("\r=1+1", "\\r=1+1"),
        ("x;=1+1", "x;'=1+1"),
        ("a\nb", "a\\nb"),
        ("a=1+1", "a=1+1"),
        ('Ada "the" Lovelace, Lady', 'Ada "the" Lovelace, Lady'),
        ("\u202efdp.txt", "\\u202efdp.txt"),
        ("a\x00b", "a\\x00b"),
        ("a\udcffb", "a\\xffb"),
        (UMLAUT, UMLAUT),
        (LONG, LONG),
    ],
)
def test_a_name_in_csv_is_text_whatever_it_looks_like(name: str, cell: str) -> None:
    grades = alone(of(ADA._replace(student=name)))
    assert rows(grades)[0]["student"] == cell
    assert gradebook_csv(grades).count("\n") == 2
    assert not re.search(r"(?m)(^|,)\"?([=+@\t\r]|-(?!\d))", gradebook_csv(GRADES))


def test_a_class_is_summed_up_in_lines() -> None:
    # 100 + 75 + 47.5 + 0 + 0 + 0 + 40 + 40 + 70 + 50.25 = 422.75; the middle two are 40 and 47.5
    assert summary(GRADES)[:2] == [
        "10 students: 6 scored, 1 repaired, 1 refused, 1 missing, 1 failed",
        "points: mean 42.3, median 43.8, of 100; 4 of 10 passed",
    ]
    # Who is excused is in no mean: 66.5 and 75.
    assert summary(COURSE)[1] == "points: mean 70.8, median 70.8, of 100; 2 of 2 passed"
    assert summary(alone(COURSE.entries[1])) == ["1 student: 1 missing"]
    assert summary(COURSE)[-1] == "needs a human: 2 students (1 unread, 1 several runs, 1 nobody's)"


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("\x00\x00", 5, "\\x00…"), ("\x00", 4, "\\x00"), ("", 3, "")],
)
def test_text_is_shown_in_so_many_characters(text: str, most: int, expected: str) -> None:
    assert shown(text, most) == expected


# The workbook -------------------------------------------------------------------------------------


def book_of(grades: Grades) -> bytes:
    pytest.importorskip("xlsxwriter", reason="writes workbooks, which needs XlsxWriter: .[grade] has it")
    from treceval_py.grading.outputs.gradebook import sheets_of, workbook

    return workbook(sheets_of(grades))


def opened(grades: Grades = GRADES) -> Any:
    openpyxl = pytest.importorskip("openpyxl", reason="reads workbooks, which needs openpyxl: .[dev] has it")
    return openpyxl.load_workbook(io.BytesIO(book_of(grades)))


def tables(grades: Grades) -> dict[str, list[list[object]]]:
    return {sheet.title: [[cell.value for cell in row] for row in sheet.rows] for sheet in opened(grades)}


def test_a_workbook_has_all_of_this_in_its_sheets(snapshot: SnapshotAssertion) -> None:
    made, course = tables(GRADES), tables(COURSE)
    assert list(made) == ["Grades", "Needs a human", "Claims", "Files", "Findings", "Alike", "About"]
    assert [*course][3:] == ["Runs", "Files", "Findings", "About"]  # only sheets with rows
    # 17 were found, and the lines from 7 to 16 are kept
    assert [row[6] for row in made["Findings"] if row[:3] == ["Bob", "R120", "error"]][-1] == "7 more of this code"
    assert [row[1] for row in made["Grades"][1:]] == [100, 75, 47.5, 0, 0, 0, 40, 40, 70, 50.25]
    assert len(made["Claims"]) == 1 + 13  # Ada 2, Bob 2, Carla 2, Dan 2, Gus 4, Hal 1
    assert len(course["Files"]) == 1 + 4 + 0 + 1
    lines = {
        f"{of}, {name}": "\n".join(json.dumps(row, ensure_ascii=False) for row in sheet)
        for of, sheets in (("class", made), ("course", course))
        for name, sheet in sheets.items()
    }
    assert lines == snapshot


def test_no_cell_of_a_workbook_is_a_formula_or_a_link_and_titles_stay_in_sight() -> None:
    book = opened()
    cells = [cell for sheet in book for row in sheet.rows for cell in row]
    assert {cell.data_type for cell in cells} <= {"s", "n"}
    assert not any(cell.hyperlink for cell in cells)
    assert FORMULA in [cell.value for cell in cells]
    assert {sheet.freeze_panes for sheet in book} == {"B2"}
    assert all(sheet.auto_filter.ref for sheet in book)


def test_names_stay_text_and_are_cut_and_no_number_is_text() -> None:
    names = ("https://example.org", "007", "1e5", "x" * 1000, "x" * 1001)
    values = {"AP": float("nan"), "nDCG@10": float("inf")}
    made = tables(alone(*(of(ADA._replace(student=name, measures=values)) for name in names)))["Grades"]
    assert [row[0] for row in made[1:]] == [*names[:4], "x" * 999 + "…"]
    assert made[1][10:12] == ["nan", "inf"]


def test_a_workbook_of_the_same_grades_is_the_same_bytes_at_another_time(monkeypatch: pytest.MonkeyPatch) -> None:
    first = book_of(GRADES)
    monkeypatch.setattr(time, "time", lambda: 2_000_000_000.0)
    monkeypatch.setattr(time, "localtime", lambda *_: time.gmtime(2_000_000_000))
    assert book_of(GRADES) == first
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert b"1980-01-01T00:00:00Z" in archive.read("docProps/core.xml")


# JSON ---------------------------------------------------------------------------------------------


def test_json_of_a_submission_has_all_of_this(snapshot: SnapshotAssertion) -> None:
    bob, li = graded_json(ENTRIES[1], GRADES), graded_json(COURSE.entries[0], COURSE)
    assert (bob["points"], bob["most"], bob["passed"]) == (75.0, 100.0, True)
    assert bob["severities"] == {"error": 17, "warning": 1, "note": 0}
    assert {"Bob": bob, "Li": li} == snapshot


def test_json_holds_every_submission_without_nan_and_bytes_that_are_no_unicode() -> None:
    odd = of(ADA._replace(student="a\udcff", measures={"AP": float("nan"), "RR": float("-inf")}))
    for entry in (*ENTRIES, odd):
        text = json.dumps(graded_json(entry, GRADES), allow_nan=False, ensure_ascii=False)
        text.encode("utf-8")
        assert json.loads(text)["student"] == ("a\\xff" if entry is odd else entry.graded.student)
    assert graded_json(odd, GRADES)["measures"] == {"AP": None, "RR": None}
