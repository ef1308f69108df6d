"""The gradebook of an invented class, as CSV, as a workbook and as JSON."""

from __future__ import annotations

import csv
import io
import json

import grading_samples as samples
import pytest
from grading_samples import ADA, BOB, ENTRIES, FORMULA, GRADES, LONG, UMLAUT

from treceval_py.grading.grades import Entry
from treceval_py.grading.marking.points import Mark, Marks
from treceval_py.grading.outputs.gradebook import gradebook_csv, graded_json, perfect, sheets_of, shown
from treceval_py.grading.records import Checked, Graded


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def row_of(place: int) -> dict[str, str]:
    return rows(gradebook_csv(GRADES))[place]


# CSV ----------------------------------------------------------------------------------------------


def test_the_columns_are_named_in_order() -> None:
    assert gradebook_csv(GRADES).split("\n")[0] == (
        "student,points,out of,passed,points: run,points: claims,status,reason,AP,nDCG@10,AP less baseline,"
        "queries above,queries below,claims: correct,claims: rounding,claims: convention,claims: mistake,"
        "claims: not reproduced,claims: unchecked,claims: no claim,run,lines,queries,queries missing,errors,warnings,"
        "repairs,to look into,feedback"
    )


def test_there_is_a_line_for_each_student_in_the_order_of_names_given() -> None:
    assert [row["feedback"] for row in rows(gradebook_csv(GRADES))] == [
        f"feedback/{entry.name}.txt" for entry in ENTRIES
    ]


def test_a_student_s_line_has_points_numbers_and_counts() -> None:
    # 30 + 45 points; 0.5 - 0.25 is exact in binary; 17 of R120 are errors, 1 of R130 is a warning; two repairs
    bob = BOB._replace(against=BOB.against and BOB.against._replace(value=0.5))
    made = rows(gradebook_csv(GRADES._replace(entries=(ENTRIES[1]._replace(graded=bob),), pairs=())))[0]
    assert (made["points"], made["points: run"], made["points: claims"]) == ("75.00", "30.00", "45.00")
    assert (made["passed"], made["status"]) == ("yes", "repaired")
    assert (made["AP"], made["AP less baseline"]) == ("0.2", "0.25")
    assert (made["errors"], made["warnings"], made["repairs"]) == ("17", "1", "2")
    assert (made["claims: rounding"], made["claims: convention"], made["claims: correct"]) == ("1", "1", "0")


def test_points_of_parts_that_were_rounded_one_by_one_still_make_the_total() -> None:
    # three thirds of 20 points: 6.67 each, and 20 together
    thirds = tuple(Mark(f"claim {name}", 6.67, 6.67, "") for name in ("AP", "RR", "P@10"))
    entry = Entry(ADA, Marks((Mark("run", 40.0, 40.0, ""), *thirds), 60.0, 60.0, None), "ada")
    made = rows(gradebook_csv(GRADES._replace(entries=(entry,), pairs=())))[0]
    assert (made["points"], made["points: run"], made["points: claims"]) == ("60.00", "40.00", "20.00")


def test_thousands_of_claims_make_no_columns_of_their_own() -> None:
    many = tuple(Mark(f"claim {number}", 0.0, 0.02, "") for number in range(3000))
    entry = Entry(ADA, Marks(many, 0.0, 60.0, None), "ada")
    assert len(sheets_of(GRADES._replace(entries=(entry,), pairs=()))[0].columns) < 40


def test_without_a_pass_mark_nobody_passes_or_fails() -> None:
    entry = ENTRIES[0]._replace(marks=ENTRIES[0].marks._replace(passed=None))
    assert rows(gradebook_csv(GRADES._replace(entries=(entry,), pairs=())))[0]["passed"] == ""


def test_who_has_no_run_has_no_numbers() -> None:
    made = row_of(3)
    assert (made["status"], made["reason"]) == ("refused", "the scores are no numbers")
    assert [made[name] for name in ("AP", "nDCG@10", "AP less baseline", "run", "lines")] == [""] * 5


def test_without_a_baseline_there_are_no_columns_about_it() -> None:
    made = rows(gradebook_csv(GRADES._replace(baseline="", baseline_measures={})))[0]
    assert not {"AP less baseline", "queries above", "queries below"} & set(made)


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
    entry = ENTRIES[0]._replace(graded=ADA._replace(student=name))
    made = gradebook_csv(GRADES._replace(entries=(entry,), pairs=()))
    assert rows(made)[0]["student"] == cell
    assert made.count("\n") == 2


def test_no_cell_of_the_csv_begins_as_a_formula_does() -> None:
    for row in csv.reader(io.StringIO(gradebook_csv(GRADES))):
        for cell in row:
            assert not cell.startswith(("=", "+", "@", "\t", "\r"))
            assert not cell.startswith("-") or float(cell) < 0  # a number below zero


def test_who_is_alike_is_named_as_what_it_is() -> None:
    assert row_of(0)["to look into"] == "same ranking: \\u202efdp.txt"
    assert row_of(6)["to look into"] == "same ranking: Ada Lovelace"
    assert row_of(9)["to look into"] == "nearly the same: (the baseline)"


GOOD = ADA._replace(measures={"AP": 0.9991, "nDCG@10": 1.0})


def test_a_run_as_good_as_the_judgments_is_to_be_looked_into() -> None:
    grades = GRADES._replace(entries=(ENTRIES[0]._replace(graded=GOOD),), pairs=())
    sentence = "AP is 0.9991, as if the judgments were handed in as a run"
    assert perfect(grades) == {0: sentence}
    assert rows(gradebook_csv(grades))[0]["to look into"] == sentence
    (about,) = (sheet for sheet in sheets_of(grades) if sheet.name == "About")
    assert ("to look into", f"Ada Lovelace: {sentence}") in zip(
        *(column.cells for column in about.columns), strict=True
    )


@pytest.mark.parametrize(
    "graded",
    [
        GOOD._replace(measures={"AP": 0.9989, "nDCG@10": 1.0}),
        GOOD._replace(measures={"AP": 5000.0, "nDCG@10": 1.0}),
        GOOD._replace(missing_queries=(41, 50)),
        GOOD._replace(measures={}),
    ],
    ids=["below 0.999", "no share", "nine queries", "no value"],
)
def test_another_run_is_not(graded: Graded) -> None:
    assert perfect(GRADES._replace(entries=(ENTRIES[0]._replace(graded=graded),))) == {}


def test_an_empty_class_has_a_line_of_titles() -> None:
    made = gradebook_csv(GRADES._replace(entries=(), pairs=()))
    assert made.startswith("student,points,out of,passed,status,")
    assert made.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "most", "expected"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("\x00\x00", 5, "\\x00…"), ("", 3, "")]
)
def test_text_is_shown_in_so_many_characters(text: str, most: int, expected: str) -> None:
    assert shown(text, most) == expected


# The workbook -------------------------------------------------------------------------------------


def opened(grades: object = GRADES) -> object:
    pytest.importorskip("xlsxwriter", reason="writes workbooks, which needs XlsxWriter: .[grade] has it")
    openpyxl = pytest.importorskip("openpyxl", reason="reads workbooks, which needs openpyxl: .[dev] has it")
    from treceval_py.grading.outputs.workbook import gradebook_xlsx

    return openpyxl.load_workbook(io.BytesIO(gradebook_xlsx(grades)))  # type: ignore[arg-type]


def table(book: object, name: str) -> list[list[object]]:
    return [[cell.value for cell in row] for row in book[name].rows]  # type: ignore[index]


def test_a_workbook_has_these_sheets() -> None:
    assert opened().sheetnames == ["Grades", "Claims", "Findings", "Alike", "About"]  # type: ignore[attr-defined]


def test_the_sheet_of_grades_has_points_as_numbers() -> None:
    made = table(opened(), "Grades")
    assert made[0][:6] == ["student", "points", "out of", "passed", "points: run", "points: claims"]
    assert made[2][:6] == ["Bob", 75, 100, "yes", 30, 45]
    assert [row[1] for row in made[1:]] == [100, 75, 47.5, 0, 0, 0, 40, 40, 70, 50.25]


def test_no_cell_of_a_workbook_is_a_formula_or_a_link() -> None:
    book = opened()
    cells = [cell for sheet in book for row in sheet.rows for cell in row]  # type: ignore[attr-defined]
    assert {cell.data_type for cell in cells} <= {"s", "n"}
    assert not any(cell.hyperlink for cell in cells)
    assert FORMULA in [cell.value for cell in cells]


def test_addresses_and_digits_in_names_stay_text() -> None:
    entries = tuple(
        ENTRIES[0]._replace(graded=ADA._replace(student=name)) for name in ("https://example.org", "007", "1e5")
    )
    made = table(opened(GRADES._replace(entries=entries, pairs=())), "Grades")
    assert [row[0] for row in made[1:]] == ["https://example.org", "007", "1e5"]


def test_the_sheet_of_claims_has_each_claim_in_a_line() -> None:
    made = table(opened(), "Claims")
    assert made[0] == ["student", "measure", "claimed", "value", "verdict", "why", "profile", "place"]
    assert made[4] == [
        "Bob",
        "nDCG@10",
        "0.3512",
        0.375,
        "convention",
        "the gain is 2^rel - 1",
        "gdeval",
        "claims.csv:5",
    ]
    # Ada 2, Bob 2, Carla 2, Dan 2, Hal 1
    assert len(made) == 1 + 9


def test_the_sheet_of_findings_says_how_many_are_not_listed() -> None:
    made = [row for row in table(opened(), "Findings") if row[0] == "Bob"]
    what = "document 'd7' comes twice in query '301'"
    assert made[0] == ["Bob", "error", "R120", "run.txt", 7, 7, what, "Keep one."]
    # 17 were found, and the lines from 7 to 16 are kept
    assert made[-1] == ["Bob", "error", "R120", None, None, None, "7 more of this code", None]


def test_the_sheet_of_pairs_says_that_they_are_questions() -> None:
    made = table(opened(), "Alike")
    question = "a question to look into, not a verdict"
    assert made[1:] == [
        ["Ada Lovelace", "\\u202efdp.txt", "same ranking", 1, 50, question],
        ["joe\\tsixpack@", "(the baseline)", "nearly the same", 0.97215, 50, question],
    ]


def test_titles_stay_in_sight_and_filter() -> None:
    for sheet in opened():  # type: ignore[attr-defined]
        assert sheet.freeze_panes == "B2"
        assert sheet.auto_filter.ref is not None


def test_a_workbook_of_the_same_grades_is_the_same_bytes_at_another_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xlsxwriter", reason="writes workbooks, which needs XlsxWriter: .[grade] has it")
    import time

    from treceval_py.grading.outputs.workbook import gradebook_xlsx

    first = gradebook_xlsx(GRADES)
    monkeypatch.setattr(time, "time", lambda: 2_000_000_000.0)
    monkeypatch.setattr(time, "localtime", lambda *_: time.gmtime(2_000_000_000))
    assert gradebook_xlsx(GRADES) == first
    assert b"1980-01-01T00:00:00Z" in _member(first, "docProps/core.xml")


def _member(data: bytes, name: str) -> bytes:
    import zipfile

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(name)


def test_a_text_that_excel_cannot_hold_is_cut() -> None:
    entry = ENTRIES[0]._replace(graded=ADA._replace(student="x" * 100_000))
    made = table(opened(GRADES._replace(entries=(entry,), pairs=())), "Grades")
    assert made[1][0] == "x" * 999 + "…"


def test_a_value_that_is_no_number_is_text_in_a_workbook() -> None:
    entry = ENTRIES[0]._replace(graded=ADA._replace(measures={"AP": float("nan"), "nDCG@10": float("inf")}))
    made = table(opened(GRADES._replace(entries=(entry,), pairs=())), "Grades")
    assert made[1][8:10] == ["nan", "inf"]


# JSON ---------------------------------------------------------------------------------------------


def test_json_of_a_submission_has_points_measures_claims_and_findings() -> None:
    made = graded_json(ENTRIES[1], GRADES)
    assert (made["student"], made["status"], made["points"], made["most"], made["passed"]) == (
        "Bob",
        "repaired",
        75.0,
        100.0,
        True,
    )
    assert made["marks"][1] == {"part": "claim AP", "points": 22.5, "most": 30.0, "why": "half of the points"}
    assert made["measures"] == {"AP": 0.2, "nDCG@10": 0.375}
    assert made["claims"][0]["verdict"] == "rounding"
    assert made["findings"][0]["line"] == 7
    assert made["severities"] == {"error": 17, "warning": 1, "note": 0}
    assert made["against"]["losses"][0]["documents"][0]["docid"] == "FBIS3-10082"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_json_holds_every_submission(entry: Entry) -> None:
    text = json.dumps(graded_json(entry, GRADES), allow_nan=False, ensure_ascii=False)
    text.encode("utf-8")
    assert json.loads(text)["student"] == entry.graded.student


def test_json_has_no_bytes_that_are_no_unicode_and_no_nan() -> None:
    graded = ADA._replace(student="a\udcff", measures={"AP": float("nan")})
    made = graded_json(ENTRIES[0]._replace(graded=graded), GRADES)
    assert made["student"] == "a\\xff"
    assert made["measures"] == {"AP": None}


def test_the_samples_have_all_statuses_and_verdicts() -> None:
    from treceval_py.grading.records import STATUSES, VERDICTS

    assert {entry.graded.status for entry in ENTRIES} == set(STATUSES)
    claims: list[Checked] = [claim for entry in samples.ENTRIES for claim in entry.graded.claims]
    assert {claim.verdict for claim in claims} == set(VERDICTS)
