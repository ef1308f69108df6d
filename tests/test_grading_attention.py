"""What a person should look at."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from grading_samples import ADA, BOB, ENTRIES, EVE, GRADES
from syrupy.assertion import SnapshotAssertion

from treceval_py.grading.attention import KINDS, needing, with_questions
from treceval_py.grading.grades import Entry, Grades, Pair, Question
from treceval_py.grading.records import Checked, FileRead, Graded, RunRead


def class_of(*submissions: Graded, **more: object) -> Grades:
    """Return a class of these, named a, b, c and so on, with their questions."""
    entries = tuple(
        Entry(each._replace(student=name, source=name), ENTRIES[0].marks, name)
        for name, each in zip("abcdefgh", submissions, strict=False)
    )
    return with_questions(GRADES._replace(entries=entries, pairs=(), strays=())._replace(**more))  # type: ignore[arg-type]


def asked(grades: Grades, place: int = 0) -> list[tuple[str, str]]:
    return [tuple(question) for question in grades.entries[place].questions]


def of_files(*files: tuple[str, str, str], **more: Any) -> Graded:
    return ADA._replace(files=tuple(FileRead(*file, 9) for file in files), **more)


RUNS = (RunRead("b.txt"), RunRead("a.txt"))
SILENT: dict[str, Any] = {"claims": (Checked("AP", "", "", "no claim"),)}
READ = [(name, "report", "no number in it is a claim") for name in ("report.pdf", "notes.md", "b.md")]
PICTURE = "it is a picture, and numbers in pictures are not read"
UNCLEAR = Checked(
    *("AP", "0.71", "a.txt:1", "unchecked", 0.75),
    "0.75 (a.txt:2) is right, and nothing shows to which run this number belongs",
)
ASKED = tuple(
    Checked("AP", f"0.{number}", f"a.txt:{number}", "asked", counts=False, sentence=f"AP is 0.{number}.")
    for number in (71, 72, 73, 74)
)
FOUND = Checked("AP", "0.3125", "a.txt:1", "confirmed", counts=False)
SUBMISSIONS = {
    "nothing": ADA,
    "nothing handed in": EVE,
    "unread, with a reason": of_files(("report.pdf", "unread", "pypdf is not installed")),
    "unread, as a sentence": of_files(
        ("report.pdf", "refused", "report.pdf was not read because pypdf is not installed")
    ),
    "not used": of_files(("a.png", "not used", PICTURE)),
    "two runs": ADA._replace(runs=RUNS, run="b.txt", chosen="b.txt counts: it was handed in last"),
    "one run": ADA._replace(runs=RUNS[:1]),
    "no claims": ADA._replace(**SILENT),
    "no claims in a report": of_files(READ[0], **SILENT),
    "no claims in reports": of_files(*READ, **SILENT),
    "no claims, and a picture": of_files(("Shot 1.PNG", "not used", PICTURE), ("b.gif", "not used", PICTURE), **SILENT),
    "a claim": ADA._replace(claims=(*SILENT["claims"], *ADA.claims)),
    "unclear, told once": ADA._replace(claims=(UNCLEAR, UNCLEAR)),
    "three unknown numbers": ADA._replace(claims=(*ADA.claims, *ASKED[:3])),
    "four unknown numbers": ADA._replace(claims=(*ADA.claims, *ASKED)),
    "a right number in a report": of_files(READ[0], claims=(FOUND,)),
    "unchecked for another reason": ADA._replace(claims=(UNCLEAR._replace(why="it is not a number"),)),
}


def test_questions_about_a_submission_are_these(snapshot: SnapshotAssertion) -> None:
    assert {case: asked(class_of(graded)) for case, graded in SUBMISSIONS.items()} == snapshot
    assert asked(class_of(SUBMISSIONS["no claims"], rules=GRADES.rules._replace(points_claims=0.0))) == []
    anywhere = GRADES.rules._replace(claims="anywhere")
    assert asked(class_of(SUBMISSIONS["a right number in a report"], rules=anywhere)) == []


@pytest.mark.parametrize(
    ("having", "others", "asking"),
    [(2, 0, True), (3, 0, False), (3, 2, False), (3, 3, True), (4, 3, False), (4, 4, True)],
)
def test_a_sentence_that_more_than_half_and_more_than_two_submissions_have_is_nobodys(
    having: int, others: int, asking: bool
) -> None:
    grades = class_of(*[ADA._replace(claims=(*ADA.claims, ASKED[0]))] * having, *[BOB] * others)
    assert [kind for kind, _ in asked(grades)] == ["unknown number"] * asking


# Runs that are alike ------------------------------------------------------------------------------


FILE, RANKING, NEARLY = "same file", "same ranking", "nearly the same"
CHAIN = [(at, at + 1, RANKING) for at in range(4)]
ALIKE: dict[str, tuple[int, list[tuple[int, int, str]], list[str]]] = {
    "all that are equal, not only neighbours": (
        3,
        [(0, 1, FILE), (1, 2, RANKING)],
        ["same file as b; same ranking as c", "same file as a; same ranking as c", "same ranking as a and b"],
    ),
    "groups that a later pair joins": (
        4,
        [(0, 1, RANKING), (2, 3, FILE), (1, 3, RANKING)],
        ["same ranking as b, c and d", "same ranking as a, c and d", *(f"same file as {who}; same ranking as a and b" for who in "dc")],
    ),
    "others are counted beside the baseline": (
        5, [*CHAIN, (0, -1, RANKING)], ["same ranking as the baseline and 4 more"] * 5,
    ),
    "the baseline alone": (1, [(0, -1, FILE)], ["same file as the baseline"]),
    "three are named": (4, CHAIN[:3], [f"same ranking as {who}" for who in ("b, c and d", "a, c and d", "a, b and d")]),
    "one more than three": (5, CHAIN, ["same ranking as b, c, d and 1 more"]),
    "those nearly the same, in pairs": (
        3, [(0, 1, NEARLY), (1, 2, NEARLY)], ["nearly the same as b", "nearly the same as a and c", "nearly the same as b"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ALIKE)
def test_runs_that_are_alike_are_named(case: str) -> None:
    students, pairs, said = ALIKE[case]
    grades = class_of(*[ADA] * students, pairs=tuple(Pair(*pair, 1.0, 50) for pair in pairs))
    assert [asked(grades, place) for place in range(len(said))] == [[("alike", what)] for what in said]


# Scores that are too good -------------------------------------------------------------------------

GOOD = ADA._replace(measures={"AP": 0.9991, "nDCG@10": 1.0})


@pytest.mark.parametrize(
    ("value", "missing", "found"),
    [
        (0.999, 0, True),
        (0.99899, 0, False),
        (1.0, 40, True),
        (1.0, 41, False),
        (1.0 + 9e-10, 0, True),
        (1.01, 0, False),
    ],
)
def test_nearly_perfect_values_of_ten_queries_are_too_good(value: float, missing: int, found: bool) -> None:
    graded = GOOD._replace(measures={"AP": value, "nDCG@10": 1.0}, missing_queries=(missing, 50))
    said = [("too good", f"AP is {value:.4f}, as if the judgments were handed in as a run")]
    assert asked(class_of(graded)) == said * found
    assert asked(class_of(GOOD._replace(measures={}))) == asked(class_of(GOOD, measures=())) == []


# Numbers of others --------------------------------------------------------------------------------


def wrong(text: str, measure: str = "AP") -> Graded:
    return ADA._replace(claims=(Checked(measure, text, "notes.md:3", "not reproduced", 0.3125),))


@pytest.mark.parametrize(
    ("claim", "measure", "found"),
    [
        ("0.2718", "AP", True),
        ("0.27183", "Mean Average Precision", True),
        ("27.18", "map", True),  # a percentage has as many decimals as its share
        ("27.18 %", "AP", True),
        ("0.272", "AP", False),  # three decimals
        ("0.27185", "AP", False),
        ("0.0001", "P@1000", True),
        ("0.0000", "P@500", False),  # as good as nothing
        ("0.9999", "GMAP", True),
        ("0.3100", "Bpref", True),  # of 50 queries the share of 15.5
        ("0.3123", "ERR", True),  # half a unit of the last decimal
        ("0.3124", "ERR", True),
        ("0.31230", "ERR", False),
        ("0.2718", "nDCG@10", False),
    ],
)
def test_a_number_that_is_right_for_the_run_of_another_student_is_a_question(
    claim: str, measure: str, found: bool
) -> None:
    values = {"P@1000": 0.00014, "P@500": 0.0, "GMAP": 0.99994, "Bpref": 0.31, "ERR": 0.31235}
    other = BOB._replace(measures={"AP": 0.271828, "nDCG@10": 0.375, **values})
    said = [("another's claim", f"{measure} = {claim} (notes.md:3) is right for the run of b")]
    assert asked(class_of(wrong(claim, measure), other)) == (said if found else [])


@pytest.mark.parametrize(
    ("measure", "found"), [("P@5", False), ("success@1", False), ("P@199", False), ("P@200", True), ("P@1000", True)]
)
def test_an_equal_share_of_few_documents_says_nothing(measure: str, found: bool) -> None:
    # Of 50 queries, P@5 is one of 251 numbers (0.34 is the share of 85 documents of 250), and P@200 one of 10,001.
    assert bool(asked(class_of(wrong("0.3400", measure), BOB._replace(measures={measure: 0.34})))) == found


def test_numbers_of_a_run_that_does_not_count_are_sought_and_those_of_the_baseline_or_explained_ones_are_not() -> None:
    runs = (RunRead("1.txt", measures={"AP": 0.2}), RunRead("2.txt", measures={"AP": 0.2718}))
    other = BOB._replace(measures={"AP": 0.2718})
    claim = wrong("0.2718").claims[0]
    assert [kind for kind, _ in asked(class_of(wrong("0.2718"), BOB._replace(runs=runs)))] == ["another's claim"]
    asking = ADA._replace(claims=(claim._replace(verdict="asked", sentence="x"),))
    assert [kind for kind, _ in asked(class_of(asking, other))] == ["unknown number", "another's claim"]
    assert asked(class_of(wrong("0.2718"), other, baseline_measures={"AP": 0.27181})) == []
    assert asked(class_of(ADA._replace(claims=(claim._replace(verdict="convention"),)), other)) == []
    assert asked(class_of(wrong("0.2718"), other._replace(status="refused"))) == []
    # A group that hands in together is not another student.
    grades = class_of(wrong("0.2718"), other)
    together = (each._replace(graded=each.graded._replace(source="group"), questions=()) for each in grades.entries)
    assert asked(with_questions(grades._replace(entries=tuple(together)))) == []


# All together -------------------------------------------------------------------------------------


def test_questions_that_were_there_stay_and_all_are_in_the_order_of_kinds() -> None:
    grades = class_of(GOOD._replace(claims=()))
    kept = Question("kept edit", "feedback/a.txt was edited by hand")
    entry = grades.entries[0]._replace(questions=(kept,))
    again = with_questions(grades._replace(entries=(entry,)))
    assert [kind for kind, _ in asked(again)] == ["no claims", "too good", "kept edit"]
    assert with_questions(again) == again
    stray = "claims.csv:12: student 'xy' handed nothing in"
    grades = class_of(GOOD, ADA._replace(claims=()), strays=(stray,))
    found = [(entry and entry.student, question.kind) for entry, question in needing(grades)]
    assert found == [("b", "no claims"), ("a", "too good"), (None, "nobody's")]
    assert {question.kind for _, question in needing(grades)} <= set(KINDS)


def test_the_manual_has_all_kinds_with_what_they_mean() -> None:
    manual = (Path(__file__).parent.parent / "docs" / "grade.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| ([a-z' ]+) \| (.+) \|$", manual.partition("## What needs a human")[2], re.MULTILINE))
    assert [kind for kind in rows if kind in KINDS] == list(KINDS)
    assert [kind for kind, words in KINDS.items() if not rows[kind].startswith(words)] == []
