"""The gradebook of an invented class, as CSV, as a workbook and as JSON."""

from __future__ import annotations

import csv
import io
import json

import grading_samples as samples
import pytest
from grading_samples import ADA, BOB, COURSE, ENTRIES, FORMULA, GRADES, LONG, UMLAUT

from treceval_py.grading.grades import Entry
from treceval_py.grading.marking.points import Mark, Marks
from treceval_py.grading.outputs.gradebook import gradebook_csv, graded_json, sheets_of, shown
from treceval_py.grading.records import Checked


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def row_of(place: int) -> dict[str, str]:
    return rows(gradebook_csv(GRADES))[place]


# CSV ----------------------------------------------------------------------------------------------


def test_the_columns_are_named_in_order() -> None:
    assert gradebook_csv(GRADES).split("\n")[0] == (
        "student,points,out of,passed,points: run,points: claims,status,reason,needs a human,profile,AP,nDCG@10,AP less baseline,"
        "queries above,queries below,claims: correct,claims: rounding,claims: convention,claims: mistake,"
        "claims: not reproduced,claims: unchecked,claims: no claim,run,lines,queries,queries missing,errors,warnings,"
        "repairs,feedback"
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


def test_what_needs_a_human_is_a_sentence_for_each_kind() -> None:
    assert row_of(0)["needs a human"] == "same ranking as \\u202efdp.txt"
    assert row_of(6)["needs a human"] == "no claim was found; same ranking as Ada Lovelace"
    assert row_of(9)["needs a human"] == "no claim was found; nearly the same as the baseline"


def test_what_a_roster_and_a_platform_say_has_columns_of_its_own() -> None:
    made = rows(gradebook_csv(COURSE))
    titles = ["student", "number", "e-mail", "group", "pseudonym", "handed in", "attempt", "late"]
    assert list(made[0])[:8] == titles
    assert [made[0][title] for title in titles] == [
        *("李明", "5003", "li@example.org", "B", "quiet heron", "2026-11-02T23:10:00+00:00", "2", "yes"),
    ]
    assert [made[1][title] for title in titles] == ["Zoë Roß", *[""] * 7]
    assert made[2]["student"] == "Bob"


def test_changes_of_points_are_columns_and_all_parts_add_up_to_the_points() -> None:
    first = rows(gradebook_csv(COURSE))[0]
    parts = [first[f"points: {part}"] for part in ("run", "claims", "late", "adjusted")]
    # 40 + 30 - 7 + 3.5
    assert (parts, first["points"]) == (["40.00", "30.00", "-7.00", "3.50"], "66.50")


def test_who_is_excused_has_no_points() -> None:
    excused = rows(gradebook_csv(COURSE))[1]
    assert (excused["points"], excused["passed"], excused["status"]) == ("", "excused", "missing")


def test_values_of_another_convention_have_it_beside_them() -> None:
    judged = ENTRIES[0]._replace(graded=ADA._replace(kind="judged-ranking", profile="coursework"))
    entries = (judged, ENTRIES[1], ENTRIES[4])
    for own, said in ((False, "coursework"), (True, "coursework, by its own labels")):
        grades = GRADES._replace(entries=entries, pairs=(), rules=GRADES.rules._replace(own_labels=own))
        assert [row["profile"] for row in rows(gradebook_csv(grades))] == [said, "trec_eval-10", ""]


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
    assert opened().sheetnames == ["Grades", "Needs a human", "Claims", "Runs", "Files", "Findings", "Alike", "About"]  # type: ignore[attr-defined]


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


def test_a_sheet_lists_what_needs_a_human() -> None:
    made = table(opened(COURSE), "Needs a human")
    assert made == [
        ["kind", "student", "what to look at", "feedback"],
        ["unread", "李明", "scan.pdf has no text layer", "feedback/Li_Ming.txt"],
        [
            *("several runs", "李明", "3 runs were handed in; runs/b.txt counts: it was handed in last"),
            "feedback/Li_Ming.txt",
        ],
        ["nobody's", "Bob", "'Bob' is not on the roster", "feedback/Bob.txt"],
    ]


def test_a_sheet_has_all_runs_with_the_one_that_counts() -> None:
    made = table(opened(COURSE), "Runs")
    assert made[0] == ["student", "run", "counts", "why", "status", "handed in", "right claims", "AP", "nDCG@10"]
    assert [row[1:5] + row[6:] for row in made[1:]] == [
        ["runs/b.txt", "yes", "runs/b.txt counts: it was handed in last", "scored", 1, 0.3125, 0.5],
        ["runs/a.txt", "no", None, "scored", 1, 0.25, 0.375],
        ["runs/old.txt", "no", "line 3: score 'nan' is not a number", "refused", 0, None, None],
    ]


def test_a_sheet_has_every_file_and_what_it_was_read_as() -> None:
    made = table(opened(COURSE), "Files")
    assert made[0] == ["student", "file", "bytes", "what it was read as", "why"]
    assert made[4] == ["李明", "scan.pdf", 409600, "unread", "scan.pdf has no text layer"]
    assert len(made) == 1 + 4 + 0 + 1


def test_the_sheet_of_claims_names_the_run_and_whether_it_counts() -> None:
    made = table(opened(COURSE), "Claims")
    assert [row[7:] for row in made[1:3]] == [
        ["notes.md:3", "runs/b.txt", "yes"],
        ["notes.md, table 1, row 2", "runs/a.txt", "no"],
    ]


def test_the_sheet_of_claims_has_each_claim_in_a_line() -> None:
    made = table(opened(), "Claims")
    assert made[0] == [
        *("student", "measure", "claimed", "value", "verdict", "why", "profile", "place", "run", "counts"),
    ]
    assert made[4] == [
        "Bob",
        "nDCG@10",
        "0.3512",
        0.375,
        "convention",
        "the gain is 2^rel - 1",
        "gdeval",
        "claims.csv:5",
        None,
        "yes",
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
    assert made[1][10:12] == ["nan", "inf"]


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


def test_json_has_who_it_is_what_needs_a_human_runs_and_changes() -> None:
    made = graded_json(COURSE.entries[0], COURSE)
    assert [made[key] for key in ("student", "number", "email", "group", "pseudonym")] == [
        *("李明", "5003", "li@example.org", "B", "quiet heron"),
    ]
    assert (made["late"], made["attempt"], made["excused"]) == (True, "2", False)
    assert made["needs_a_human"][0] == {"kind": "unread", "what": "scan.pdf has no text layer"}
    assert [run["name"] for run in made["runs"]] == ["runs/b.txt", "runs/a.txt", "runs/old.txt"]
    assert made["changes"][0]["points"] == -7.0


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
