"""What students are told, read line by line."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from command import treceval
from grading_samples import (
    ADA,
    BOB,
    COURSE,
    DAN,
    ENTRIES,
    EVE,
    EVIDENCE,
    FAY,
    FORMULA,
    GRADES,
    LI,
    LOSSES,
    SCRIPT,
    finding,
)
from syrupy.assertion import SnapshotAssertion

from treceval_py.checking.findings import Finding
from treceval_py.grading.grades import Mark, Marks, Pair
from treceval_py.grading.grading import grade_one
from treceval_py.grading.outputs.feedback import feedback, stated
from treceval_py.grading.records import (
    AgainstBaseline,
    Checked,
    FileRead,
    Graded,
    Loss,
    LostDocument,
    RunRead,
)


def told(graded: Graded = ADA, place: int = 0, *, marks: Marks | None = None, **rules: Any) -> str:
    """Return the feedback of somebody, under rules that differ from those of the class."""
    entry = ENTRIES[place]._replace(graded=graded)
    entry = entry if marks is None else entry._replace(marks=marks)
    return feedback(entry, GRADES._replace(entries=(entry,), pairs=(), rules=GRADES.rules._replace(**rules)))


def section(text: str, heading: str) -> str:
    """Return the lines of a section, without those that are empty at its ends."""
    _, _, rest = text.partition(f"\n{heading}\n{'-' * len(heading)}\n")
    return rest.split("\n\n\n")[0].strip("\n")


def test_feedback_says_all_of_this(snapshot: SnapshotAssertion) -> None:
    texts = {entry.name: feedback(entry, GRADES) for entry in ENTRIES}
    texts |= {f"{entry.name}, in a course": feedback(entry, COURSE) for entry in COURSE.entries}
    assert texts == snapshot
    for name, text in texts.items():
        assert max(map(len, text.splitlines())) <= 100, name
        assert text.replace("\n", "").isprintable(), name
        assert text.endswith("\n"), name
        assert not any(line != line.rstrip() for line in text.split("\n")), name


def test_feedback_says_nothing_about_other_students() -> None:
    names = [entry.graded.student for entry in ENTRIES]
    for entry in ENTRIES:
        made = feedback(entry, GRADES)
        others = [name for name in names if name not in (entry.graded.student, SCRIPT) and name.isprintable()]
        assert not [name for name in others if name in made]
        assert "alike" not in made
    assert feedback(ENTRIES[0], GRADES._replace(pairs=(Pair(1, -1, "same file", 1.0, 50),))) == told()


# Points and status --------------------------------------------------------------------------------


def test_changes_of_points_add_up_and_who_is_excused_has_none() -> None:
    points = section(feedback(COURSE.entries[0], COURSE), "Points")
    numbers = re.findall(r"(?m)^  \S.*?\s([-+]?\d+\.\d\d)(?: of [\d.]+)?$", points)
    assert numbers == ["40.00", "15.00", "15.00", "-7.00", "+3.50", "66.50"]
    made = feedback(COURSE.entries[1], COURSE)
    assert "\nPoints\n" not in made
    assert "What to do next" not in made


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"handed_in": "2026-11-02T23:10:05+00:00"}, "2026-11-02 23:10 UTC."),
        ({"handed_in": "2026-11-02T23:10:05"}, "2026-11-02 23:10."),
        ({"handed_in": "2026-11-02T23:10:05+01:00"}, "2026-11-02 23:10 UTC+01:00."),
        ({"handed_in": "2026-11-02", "attempt": "1", "late": False}, "2026-11-02 00:00."),
        ({"handed_in": "2026-11-02", "attempt": "2", "late": True}, "2026-11-02 00:00, attempt 2: late."),
    ],
)
def test_a_time_is_shown_to_the_minute(more: dict[str, Any], said: str) -> None:
    assert f"It was handed in on {said}" in " ".join(told(ADA._replace(**more)).split())


@pytest.mark.parametrize(("members", "said"), [(1, ""), (2, "counts for each of its 2 members")])
def test_members_of_a_group_read_that_it_handed_in_together(members: int, said: str) -> None:
    made = feedback(ENTRIES[0], GRADES._replace(entries=ENTRIES[:1] * members, pairs=()))
    assert ("Your group" in made) == bool(said)
    assert said in " ".join(made.split())


# Lists that are cut -------------------------------------------------------------------------------


def of_files(role: str, number: int) -> Graded:
    return ADA._replace(files=tuple(FileRead(f"{each}.txt", role, "", 1) for each in range(number)))


def of_places(number: int) -> Graded:
    """Return a submission with so many places of a mistake, of which ten at most are kept."""
    kept = tuple(finding("R120", "error", line, 0, "twice") for line in range(1, min(number, 10) + 1))
    return ADA._replace(findings=kept, counts={"R120": number})


def of_losses(number: int) -> Graded:
    lost = tuple(Loss(str(qid), 0.1, 0.2) for qid in range(min(number, 7)))
    return ADA._replace(against=AgainstBaseline("b", "AP", 0.1, 0.2, 50, 0, number, 0, None, lost))


def of_documents(number: int) -> Graded:
    documents = tuple(LostDocument(f"d{each}", 1, None, each) for each in range(1, number + 1))
    against = AgainstBaseline("b", "AP", 0.1, 0.2, 1, 0, 1, 0, None, (Loss("1", 0.1, 0.2, documents),))
    return ADA._replace(against=against)


CUT = {
    "What was read": (50, lambda number: of_files("not used", number), "file"),
    "What was not read": (50, lambda number: of_files("unread", number), "file"),
    "Your runs": (50, lambda number: ADA._replace(runs=(RunRead("r", status="scored"),) * number), "run"),
    "What was repaired before scoring": (50, lambda number: ADA._replace(repairs=("x",) * number), "repair"),
    "What the check of your run found": (5, of_places, "place"),
    "Numbers that you claimed": (50, lambda number: ADA._replace(claims=ADA.claims[:1] * number), "number"),
    "Other numbers in your files": (50, lambda number: ADA._replace(claims=EVIDENCE[:1] * number), "number"),
    "Compared with the baseline": (5, of_losses, "query"),
    "Documents of a query": (5, of_documents, "document"),
}


@pytest.mark.parametrize("heading", CUT)
def test_a_long_list_is_cut_and_what_is_left_out_is_counted(heading: str) -> None:
    most, made, what = CUT[heading]
    many = {"query": "queries"}.get(what, f"{what}s")
    shown = "Compared with the baseline" if heading == "Documents of a query" else heading
    found = [re.findall(r"and [\d,]+ more \w+", section(told(made(most + more)), shown)) for more in (0, 1, 2, 1000)]
    assert found == [[], [f"and 1 more {what}"], [f"and 2 more {many}"], [f"and 1,000 more {many}"]]


# Sections -----------------------------------------------------------------------------------------

NAN = finding("R104", "error", 1, 9, "the score is NaN", "Write a number.")
JUDGED = ADA._replace(kind="judged-ranking", profile="coursework")
OTHER = NAN._replace(line=2, todo="Leave the line out.")


def faulty(*findings: Finding) -> Graded:
    return ADA._replace(findings=findings, counts={each.code: 1 for each in findings})


def beside(value: float, baseline: float, p: float | None, *, equal: int = 0, losses: tuple[Loss, ...] = ()) -> Graded:
    counted = (50 - equal, 0, equal)
    return ADA._replace(against=AgainstBaseline("/home/teacher/b.run", "AP", value, baseline, 50, *counted, p, losses))


COMPARED, FOUND, READ, VALUES = (
    "Compared with the baseline",
    "What the check of your run found",
    "What was read",
    "The values of your run",
)


def sections() -> dict[str, tuple[str, str]]:
    return {
        "a file that was tried": (READ, told(DAN._replace(run="run.csv"), 3)),
        "a judged ranking": (READ, told(JUDGED)),
        "different advice": (FOUND, told(faulty(NAN, OTHER)._replace(counts={"R104": 2}))),
        "one mistake": (FOUND, told(faulty(NAN))),
        "another file": (FOUND, told(faulty(NAN._replace(file="old/run1.txt.bak", column=0)))),
        "errors before warnings": (
            FOUND,
            told(faulty(NAN._replace(code="F003", severity="warning"), NAN)),
        ),
        "findings by the judgments": (FOUND, told(faulty(NAN, NAN._replace(code="X202")))),
        "findings of a judged ranking": (FOUND, told(faulty(NAN)._replace(kind="judged-ranking"))),
        "missing queries": (VALUES, told(ADA._replace(missing_queries=(3, 50)))),
        "missing query, left out": (VALUES, told(ADA._replace(missing_queries=(1, 1)), complete=False)),
        "another convention": (VALUES, told(JUDGED._replace(against=None))),
        "no measure of the class": (VALUES, told(ADA._replace(measures={"RR": 0.5}))),
        "a level": (VALUES, told(level=2)),
        "without a baseline": (VALUES, feedback(ENTRIES[0], GRADES._replace(baseline_measures={}))),
        "left out where missing": (COMPARED, told(complete=False)),
        "equal": (COMPARED, told(beside(0.25004, 0.25, 0.5))),
        "above": (COMPARED, told(beside(0.25006, 0.25, 0.0001))),
        "below": (COMPARED, told(beside(0.24994, 0.25, 0.00009))),
        "almost all equal": (COMPARED, told(beside(0.26, 0.25, 0.5, equal=49))),
        "all equal": (COMPARED, told(beside(0.25, 0.25, 1.0, equal=50))),
        "one query": (COMPARED, told(beside(0.26, 0.25, None))),
        "equal in a query": (COMPARED, told(beside(0.24, 0.25, None, losses=(Loss("1", 0.25, 0.25), *LOSSES[:2])))),
        "like the baseline": (COMPARED, feedback(ENTRIES[9], GRADES)),
    }


def test_sections_say_what_is_special(snapshot: SnapshotAssertion) -> None:
    assert {case: section(text, heading) for case, (heading, text) in sections().items()} == snapshot


# Claims -------------------------------------------------------------------------------------------

CLAIMS = [
    Checked("AP", "0.31", "", "correct", 0.31),
    Checked("AP", "31", "", "correct", 0.31, "as a percentage"),
    Checked("AP", "0.30", "", "rounding", 0.31, "cut off after one digit"),
    Checked("AP", "0.3124", "", "rounding", 0.3125, "off by one in the last of its 4 decimals"),
    Checked("AP", "0.312345", "", "convention", 0.3123467, "ties are in the order of the file", "x"),
    Checked("AP", "0,5", "", "mistake", 0.25, "divided by the queries of the run"),
    Checked("AP", "0.123456789012 %", "", "mistake", 1 / 3),  # ten decimals at most
    Checked("AP", "0.9", "", "not reproduced", 0.25, "nearest is P@1, 0.8"),
    Checked("AP", FORMULA, "", "unchecked", None, "it is not a number"),
    Checked("AP", "", "", "no claim"),
    Checked(
        "AP", "0.31", "", "not reproduced", 0.31, "rejected by the teacher; the check found that the number is right"
    ),
]


def test_what_became_of_a_claim_is_a_sentence(snapshot: SnapshotAssertion) -> None:
    assert [stated(claim) for claim in CLAIMS] == snapshot


def test_a_claim_with_a_million_digits_is_cut() -> None:
    made = stated(Checked("AP", "0." + "3" * 1_000_000, "", "mistake", 1 / 3))
    assert len(made) < 250
    assert made.endswith("it is 0.3333333333.")


@pytest.mark.parametrize(
    ("claim", "option"),
    [
        (Checked("AP", "0.30", "", "mistake", 0.3), "AP=0.30"),
        (Checked("nDCG@10", "30,5 %", "", "not reproduced", 0.3), "nDCG@10=30.5%"),
        (Checked("AP", "0.30", "", "convention", 0.3, counts=False), ""),
        (Checked("AP", "0.30", "", "rounding", 0.3), ""),
        (Checked("AP", "no number", "", "mistake", 0.3), ""),
    ],
)
def test_a_number_that_can_be_explained_has_a_command_that_explains_it(claim: Checked, option: str) -> None:
    graded = ADA._replace(claims=(Checked("AP", "0.3", "", "correct", 0.3), claim))
    explaining = [words for words in commands(told(graded)) if " explain " in words]
    assert [shlex.split(words)[-3] for words in explaining] == [option] * bool(option)
    assert "explain --" not in told(graded._replace(kind="judged-ranking"))


# What to do ---------------------------------------------------------------------------------------

NOTHING = Marks((Mark("claims", 0.0, 60.0, "no number was claimed"),), 0.0, 60.0, None)


def steps() -> dict[str, str]:
    return {
        "no run": told(EVE, 4),
        "failed": told(FAY, 5),
        "refused": told(DAN, 3),
        "repaired, with warnings": told(BOB, 1),
        "errors": told(ADA._replace(counts={"R104": 1})),
        "missing query": told(ADA._replace(missing_queries=(1, 50))),
        "unread document": told(LI, 0),
        **{
            verdict: told(ADA._replace(claims=(Checked("AP", "1", "", verdict),)))
            for verdict in ("mistake", "not reproduced", "convention", "rounding", "unchecked", "no claim")
        },
        "unchecked without a run": told(DAN._replace(claims=DAN.claims[:1]), 3),
        "no claim, which costs points": told(ADA._replace(claims=()), marks=NOTHING),
        "no claim, though all points": told(ADA._replace(claims=())),
        "points are missing": feedback(ENTRIES[8], GRADES),
    }


def test_the_next_steps_are_those_that_matter(snapshot: SnapshotAssertion) -> None:
    assert {case: section(text, "What to do next") for case, text in steps().items()} == snapshot


# Names --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("run-1.txt", "run-1.txt"),
        ("sub/run 1.txt", "'run 1.txt'"),
        ("$(reboot).txt", "FILE"),
        ("-rf", "FILE"),
        ("a\nb", "FILE"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "FILE"),
    ],
)
def test_a_file_name_that_a_shell_would_run_is_not_put_into_a_command(name: str, shown: str) -> None:
    assert f"treceval check {shown}" in commands(told(ADA._replace(run=name, counts={"R104": 1})))


@pytest.mark.parametrize("more", [0, 1])
def test_long_names_are_cut_and_long_parts_have_lines_of_their_own(more: int) -> None:
    entry = ENTRIES[0]._replace(graded=ADA._replace(student="x" * (80 + more)))
    assert feedback(entry, GRADES).split("\n")[0] == "Feedback for " + ("x" * 79 + "…" if more else "x" * 80)
    marks = Marks((Mark("p" * (30 + more), 1.0, 2.0, ""),), 1.0, 2.0, None)
    assert len(section(told(marks=marks), "Points").split("\n")) == 2 + more


# Commands -----------------------------------------------------------------------------------------


def commands(text: str) -> list[str]:
    """Return the commands of a feedback, whole: a line that ends with a backslash goes on in the next one."""
    lines = re.sub(r" \\\n +", " ", text).split("\n")
    return [line.strip() for line in lines if line.startswith("    treceval ")]


@pytest.mark.parametrize(("length", "lines"), [(43, 1), (44, 2)])
def test_a_command_leaves_room_for_a_backslash(length: int, lines: int) -> None:
    # 54 characters before the name and a space; 98 fit, since a line that goes on ends with " \\".
    made = told(ADA._replace(measures={"AP": 0.5}, run="r" * length))
    command = made.partition("(you need the judgments):\n")[2].partition("\n\n")[0]
    assert len(command.splitlines()) == lines
    assert f"treceval --profile trec_eval-10 -c -m AP qrels.txt {'r' * length}" in commands(made)


@pytest.mark.slow
def test_every_command_of_a_feedback_runs_and_shows_what_the_feedback_says(tmp_path: Path) -> None:
    pairs = {1: "abcdef", 2: "bcdefg", 3: "cdefgh"}
    (tmp_path / "in").mkdir()
    (tmp_path / "qrels.txt").write_text("".join(f"{qid} 0 {docid} 1\n" for qid in (*pairs, 4) for docid in "ace"))
    run = "".join(
        f"{qid} Q0 {docid} {rank} {9 - rank} t\n"
        for qid, docids in pairs.items()
        for rank, docid in enumerate(docids, 1)
    )
    (tmp_path / "in" / "my run.txt").write_text(run)
    # Three, two and two of the first five: 7/15 over the three queries of the run, of four that are judged.
    (tmp_path / "in" / "claims.txt").write_text("P@5 = 0.4667\n")
    entry, book = grade_one(tmp_path / "qrels.txt", tmp_path / "in")
    told = feedback(entry, book)
    assert "P@5 = 0.4667: the number is right under another convention" in " ".join(told.split())
    found = commands(told)
    (tmp_path / "in" / "qrels.txt").write_text((tmp_path / "qrels.txt").read_text())
    assert [words.split()[1] for words in found] == ["check", "check", "--profile", "explain"]
    printed = []
    for words in found:
        done = treceval(shlex.split(words)[1:], folder=tmp_path / "in")
        assert done.status == 0, done.err
        printed.append(done.out.decode())
    assert "X202" in printed[0]
    assert "1 of 4 judged queries is missing" in printed[0]
    assert printed[1].startswith(found[1].split()[-1])
    for name, value in entry.graded.measures.items():
        assert re.search(rf"^{name}\s+all\s+{value:.4f}$", printed[2], re.MULTILINE)
    assert "0.4667" in printed[3]
