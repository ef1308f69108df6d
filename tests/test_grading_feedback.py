"""What students are told, read line by line."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command import treceval
from grading_samples import ADA, BOB, COURSE, DAN, ENTRIES, EVE, FAY, FORMULA, GRADES, LONG, SCRIPT, finding

from treceval_py.grading.grades import Entry, Pair
from treceval_py.grading.grading import grade_one
from treceval_py.grading.marking.points import Mark, Marks
from treceval_py.grading.outputs.feedback import feedback, stated
from treceval_py.grading.records import AgainstBaseline, Checked, FileRead, Graded, Loss, LostDocument


def told(graded: Graded, place: int = 0) -> str:
    entry = ENTRIES[place]._replace(graded=graded)
    return feedback(entry, GRADES._replace(entries=(entry,), pairs=()))


def section(text: str, heading: str) -> str:
    """Return the lines of a section, without those that are empty at its ends."""
    _, _, rest = text.partition(f"\n{heading}\n{'-' * len(heading)}\n")
    return rest.split("\n\n\n")[0].strip("\n")


def test_a_student_without_faults_is_told_all_of_this() -> None:
    assert (
        feedback(ENTRIES[0], GRADES)
        == """\
Feedback for Ada Lovelace
=========================

Retrieval, exercise 3

100.00 of 100.00 points: passed. Your run was read and scored.


Points
------
  run              40.00 of 40.00
      the run was read and scored
  claim AP         30.00 of 30.00
      half of the points
  claim nDCG@10    30.00 of 30.00
      half of the points
  Total          100.00 of 100.00


What was read
-------------
  run.txt was taken as a run (query Q0 document rank score tag): 5,000 lines, 50 queries, 4,321
  documents.
  - run.txt (65,536 bytes), run


What the check of your run found
--------------------------------
  Nothing: the file is clean.


The values of your run
----------------------
  measure      yours   baseline  difference
  AP          0.3125     0.2500     +0.0625
  nDCG@10     0.5000     0.3000     +0.2000

  These are means over the queries, by the conventions of the profile trec_eval-10:
    AP: AP|q:50|tie:docid|treceval:0.1.0
    nDCG@10: nDCG@10|q:50|tie:docid|treceval:0.1.0
  To compute them (you need the judgments):
    treceval --profile trec_eval-10 -c -m AP -m nDCG@10 qrels.txt run.txt


Compared with the baseline
--------------------------
  By AP, over the 50 judged queries (those that a run lacks count as 0), your run (0.3125) is above
  the baseline, bm25.run (0.2500).
  Query by query, yours is higher in 20, lower in 28, equal in 2.
  If both systems were equally good, a mean difference at least as large would come about by chance
  with probability 0.4100 (paired t-test).


Numbers that you claimed
------------------------
  - AP = 0.3125 is right. (claims.csv:2)
  - nDCG@10 = 0.50 is right. (claims.csv:3)


What to do next
---------------
  - Nothing has to be corrected.
"""
    )


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_lines_have_a_hundred_characters_at_most_and_show_control_characters(entry: Entry) -> None:
    made = feedback(entry, GRADES)
    assert max(map(len, made.splitlines())) <= 100
    assert made.replace("\n", "").isprintable()
    assert made.endswith("\n")
    assert not any(line != line.rstrip() for line in made.split("\n"))


def test_nobody_is_told_of_another_student() -> None:
    names = [entry.graded.student for entry in ENTRIES]
    for entry in ENTRIES:
        made = feedback(entry, GRADES)
        others = [name for name in names if name not in (entry.graded.student, SCRIPT) and name.isprintable()]
        assert not [name for name in others if name in made]
        assert "alike" not in made or entry.name == "joe_sixpack"


def test_a_run_like_the_baseline_is_told_so() -> None:
    assert section(feedback(ENTRIES[9], GRADES), "Compared with the baseline") == (
        "  Your run is like the baseline: nearly the same."
    )


# Points and status --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("graded", "place", "line"),
    [
        (ADA, 0, "100.00 of 100.00 points: passed. Your run was read and scored."),
        (BOB, 1, "75.00 of 100.00 points: passed. Your run was scored after lossless repairs, which are listed below."),
        (DAN, 3, "0.00 of 100.00 points: not passed. What you handed in could not be scored: the scores are no"),
        (EVE, 4, "0.00 of 100.00 points: not passed. The folder is empty."),
        (FAY, 5, "0.00 of 100.00 points: not passed. Grading your submission was stopped: it took more than 120"),
    ],
)
def test_the_first_sentences_say_what_became_of_the_submission(graded: Graded, place: int, line: str) -> None:
    assert told(graded, place).split("\n")[5] == line


def test_without_a_pass_mark_nothing_is_said_of_passing() -> None:
    entry = ENTRIES[0]._replace(marks=ENTRIES[0].marks._replace(passed=None))
    assert feedback(entry, GRADES).split("\n")[5] == "100.00 of 100.00 points. Your run was read and scored."


def test_changes_of_points_are_told_with_their_reasons_and_add_up() -> None:
    assert (
        section(feedback(COURSE.entries[0], COURSE), "Points")
        == """\
  run             40.00 of 40.00
      the run was read and scored
  claim AP        15.00 of 30.00
      half of the points
  claim nDCG@10   15.00 of 30.00
      half of the points
  late            -7.00
      1 day late; 10 % of the points for each day
  adjusted        +3.50
      the table in the report is right: =1+1
  Total          66.50 of 100.00"""
    )


def test_who_is_excused_is_told_so_with_the_reason_and_without_points() -> None:
    made = feedback(COURSE.entries[1], COURSE)
    assert made.split("\n")[5] == "You are excused (ill); no points are counted. Nothing was handed in."
    assert "\nPoints\n" not in made
    assert "What to do next" not in made


def test_the_first_sentences_say_when_it_was_handed_in_and_who_you_are_on_the_board() -> None:
    first = feedback(COURSE.entries[0], COURSE).split("\n\n")[2]
    assert " ".join(first.split()).endswith(
        "It was handed in on 2026-11-02 23:10 UTC, attempt 2: late. On the board of the class you are listed as quiet heron."
    )


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        ("2026-11-02T23:10:05+00:00", "2026-11-02 23:10 UTC"),
        ("2026-11-02T23:10:05Z", "2026-11-02 23:10 UTC"),
        ("2026-11-02T23:10:05", "2026-11-02 23:10"),
        ("2026-11-02T23:10:05+01:00", "2026-11-02 23:10+01:00"),
        ("2026-11-02", "2026-11-02"),
    ],
)
def test_a_time_is_told_to_the_minute(moment: str, said: str) -> None:
    assert f"It was handed in on {said}." in " ".join(told(ADA._replace(handed_in=moment)).split())


# Files and findings -------------------------------------------------------------------------------


def test_files_that_were_refused_come_first_and_a_long_list_is_cut() -> None:
    made = told(DAN, 3)
    assert section(made, "What was not read").startswith(
        "  - run.csv was not read: it has commas between its columns\n"
    )
    read = section(made, "What was read").split("\n")
    assert read[:2] == ["  No run was scored.", "  - page0.pdf (99 bytes), not used: it is a PDF document"]
    # 22 files, of which 10 are told
    assert read[-1] == "  and 12 more files"


def test_one_more_is_one_more() -> None:
    files = tuple(FileRead(f"{number}.txt", "not used", "", 1) for number in range(11))
    read = section(told(ADA._replace(files=files)), "What was read").split("\n")
    assert read[-2:] == ["  - 9.txt (1 byte), not used", "  and 1 more file"]


def test_findings_stand_under_their_code_errors_first_with_what_to_do_once() -> None:
    assert section(told(BOB, 1), "What the check of your run found") == (
        "  17 errors, 1 warning. Errors keep a file from being scored, or make other programs report wrong\n"
        "  numbers; warnings are probable mistakes; notes are for information.\n"
        "\n"
        "  R120, error, 17 times\n"
        "    line 7, column 7: document 'd7' comes twice in query '301'\n"
        "    line 8, column 7: document 'd8' comes twice in query '301'\n"
        "    line 9, column 7: document 'd9' comes twice in query '301'\n"
        "    line 10, column 7: document 'd10' comes twice in query '301'\n"
        "    line 11, column 7: document 'd11' comes twice in query '301'\n"
        "    and 12 more places\n"
        "    To do: Keep one.\n"
        "\n"
        "  R130, warning\n"
        "    the whole file: 41 % of the documents share their score with another one\n"
        "\n"
        "  To see all findings:\n"
        "    treceval check run.txt\n"
        "  To see what a code means:\n"
        "    treceval check --explain R120"
    )


def test_where_findings_of_a_code_differ_in_what_to_do_each_says_it() -> None:
    two = (
        finding("R104", "error", 1, 9, "the score is NaN", "Write a number."),
        finding("R104", "error", 2, 9, "the score is NaN", "Leave the line out."),
    )
    made = section(told(ADA._replace(findings=two, counts={"R104": 2})), "What the check of your run found")
    assert "    line 1, column 9: the score is NaN. Write a number.\n" in made
    assert "    line 2, column 9: the score is NaN. Leave the line out.\n" in made
    assert "To do" not in made


def test_a_finding_in_another_file_than_the_run_names_it() -> None:
    other = finding("R104", "error", 1, 0, "the score is NaN")._replace(file="old/run1.txt.bak")
    made = section(told(ADA._replace(findings=(other,), counts={"R104": 1})), "What the check of your run found")
    assert "    old/run1.txt.bak, line 1: the score is NaN\n" in made


def test_repairs_are_told_one_by_one() -> None:
    assert section(told(BOB, 1), "What was repaired before scoring") == (
        "  - 17 exact duplicates removed (first: line 7)\n  - byte-order mark removed"
    )


def test_what_was_not_read_has_a_section_of_its_own_before_what_was() -> None:
    made = feedback(COURSE.entries[0], COURSE)
    assert section(made, "What was not read") == (
        "  - scan.pdf has no text layer\n  Their content gave no points; your grader can see that they were not read."
    )
    assert "scan.pdf" not in section(made, "What was read")
    assert "  - Hand in the unread documents as plain text, or ask your grader to look at them.\n" in made
    assert "What was not read" not in feedback(ENTRIES[0], GRADES)


def test_several_runs_are_told_with_their_values_and_why_one_counts() -> None:
    made = section(feedback(COURSE.entries[0], COURSE), "Your runs")
    assert made == (
        "  You handed in 3 runs. runs/b.txt counts: it was handed in last.\n"
        "  - runs/b.txt (counts): AP = 0.3125, nDCG@10 = 0.5000, 1 of your claims is right for it\n"
        "  - runs/a.txt: AP = 0.2500, nDCG@10 = 0.3750, 1 of your claims is right for it\n"
        "  - runs/old.txt: refused: line 3: score 'nan' is not a number"
    )
    assert "Your runs" not in feedback(ENTRIES[0], GRADES)


# Numbers ------------------------------------------------------------------------------------------


def test_missing_queries_are_said_to_count_as_0() -> None:
    made = section(told(ADA._replace(missing_queries=(3, 50))), "The values of your run")
    assert "  Your run lacks 3 of the 50 judged queries: each counts as 0.\n" in made


def test_missing_queries_are_said_to_be_left_out_where_the_rules_say_so() -> None:
    grades = GRADES._replace(rules=GRADES.rules._replace(complete=False))
    made = feedback(ENTRIES[0]._replace(graded=ADA._replace(missing_queries=(1, 1))), grades)
    assert "  Your run lacks 1 of the 1 judged query: the means are over the others.\n" in made


def test_without_a_baseline_there_is_one_column_of_numbers() -> None:
    made = feedback(ENTRIES[0], GRADES._replace(baseline_measures={}))
    assert section(made, "The values of your run").startswith(
        "  measure      yours\n  AP          0.3125\n  nDCG@10     0.5000\n"
    )


def test_where_a_student_lost_documents_are_named_with_both_ranks() -> None:
    made = section(told(BOB, 1), "Compared with the baseline")
    assert (
        "  Where you lost most:\n"
        "    query 301: 0.0100 instead of 0.5000 (-0.4900)\n"
        "      FBIS3-10082, relevant (judged 2): you did not retrieve it, rank 1 in the baseline\n"
        "      <script>alert(1)</script>, relevant (judged 1): rank 1,200 in yours, rank 3 in the baseline\n"
        "      LA-1, relevant (judged 1): rank 9 in yours, not retrieved in the baseline\n"
        "    query 302: 0.1000 instead of 0.2800 (-0.1800)\n"
    ) in made
    # lower in 28 queries, of which 5 are told
    assert made.endswith("\n    and 23 more queries")


def test_where_the_rules_leave_missing_queries_out_runs_are_compared_over_those_that_both_have() -> None:
    grades = GRADES._replace(rules=GRADES.rules._replace(complete=False))
    made = section(feedback(ENTRIES[0], grades), "Compared with the baseline")
    assert made.startswith(
        "  By AP, over the 50 queries that both have, your run (0.3125) is above the baseline, bm25.run\n"
    )


def test_a_number_that_is_wrong_by_its_rounding_has_the_right_one_beside_it_once() -> None:
    assert stated(Checked("AP", "0.3124", "", "rounding", 0.3125, "off by one in the last of its 4 decimals")) == (
        "AP = 0.3124 is right except for its rounding: off by one in the last of its 4 decimals. "
        "Under the rules of this assignment it is 0.3125."
    )


@pytest.mark.parametrize(
    ("own", "counted"),
    [(False, "the judgments of the assignment, not by\n  its own"), (True, "its own judgments")],
)
def test_of_a_judged_ranking_it_is_told_whose_judgments_scored_it(own: bool, counted: str) -> None:
    grades = GRADES._replace(rules=GRADES.rules._replace(own_labels=own))
    made = section(feedback(ENTRIES[0]._replace(graded=ADA._replace(kind="judged-ranking")), grades), "What was read")
    first = "  run.txt was taken as a judged ranking (query Q0 document judgment, best first) and scored by\n  "
    assert " ".join(made.split()).startswith(" ".join(f"{first}{counted}: 5,000 lines".split()))


def test_a_tiny_p_is_below_a_bound_and_not_0() -> None:
    against = AgainstBaseline("b", "AP", 0.5, 0.25, 50, 50, 0, 0, 1e-12)
    assert "by chance\n  with probability below 0.0001 (paired t-test)." in told(ADA._replace(against=against))


def test_more_documents_of_a_query_than_are_told_are_counted() -> None:
    documents = tuple(LostDocument(f"d{number}", 1, None, number) for number in range(1, 18))
    against = AgainstBaseline("b", "AP", 0.1, 0.2, 1, 0, 1, 0, None, (Loss("1", 0.1, 0.2, documents),))
    made = section(told(ADA._replace(against=against)), "Compared with the baseline")
    # 17, of which 5 are told; p of one query is none
    assert made.endswith("\n      and 12 more documents")
    assert "t-test" not in made


# Claims -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        (Checked("AP", "0.31", "", "correct", 0.31), "AP = 0.31 is right."),
        (Checked("AP", "31", "", "correct", 0.31, "as a percentage"), "AP = 31 is right: as a percentage."),
        (
            Checked("AP", "0.30", "", "rounding", 0.31, "cut off after one digit"),
            (
                "AP = 0.30 is right except for its rounding: cut off after one digit. "
                "Under the rules of this assignment it is 0.3100."
            ),
        ),
        (
            Checked("AP", "0.312345", "", "convention", 0.3123467, "ties are in the order of the file", "x"),
            (
                "AP = 0.312345 is right under another convention: ties are in the order of the file. "
                "Under the rules of this assignment it is 0.312347."
            ),
        ),
        (
            Checked("AP", "0,5", "", "mistake", 0.25, "divided by the queries of the run"),
            (
                "AP = 0,5 is what a common mistake gives: divided by the queries of the run. "
                "Under the rules of this assignment it is 0.2500."
            ),
        ),
        (
            Checked("AP", "0.9", "", "not reproduced", 0.25, "nearest is P@1, 0.8"),
            ("AP = 0.9 could not be reproduced: nearest is P@1, 0.8. Under the rules of this assignment it is 0.2500."),
        ),
        (
            Checked("AP", FORMULA, "", "unchecked", None, "it is not a number"),
            'AP = =HYPERLINK("http://evil") could not be checked: it is not a number.',
        ),
        (Checked("AP", "", "", "no claim"), "AP: a number was expected, but none was claimed."),
    ],
)
def test_what_became_of_a_claim_is_a_sentence(claim: Checked, sentence: str) -> None:
    assert stated(claim) == sentence


def test_of_a_claim_the_decision_of_the_teacher_is_told_and_not_what_was_found_without_it() -> None:
    why = "rejected by the teacher; the check found that the number is right"
    assert stated(Checked("AP", "0.31", "", "not reproduced", 0.31, why)) == (
        "AP = 0.31 was rejected by the teacher; the check found that the number is right."
    )


def test_a_claim_with_a_million_digits_is_cut() -> None:
    made = stated(Checked("AP", "0." + "3" * 1_000_000, "", "mistake", 1 / 3))
    assert len(made) < 250
    assert made.endswith("it is 0.3333333333.")  # ten decimals at most


def test_more_claims_than_are_told_are_counted() -> None:
    claims = tuple(Checked("AP", "0.31", "", "correct", 0.31) for _ in range(62))
    assert section(told(ADA._replace(claims=claims)), "Numbers that you claimed").endswith("\n  and 12 more claims")


def test_a_number_of_a_run_that_does_not_count_is_told_as_that() -> None:
    made = section(feedback(COURSE.entries[0], COURSE), "Numbers that you claimed")
    assert " ".join(made.split()).endswith(
        "- nDCG@10 = 0.3750 is right: it is a number of runs/a.txt, which does not count: it has no effect on "
        "the points. (notes.md, table 1, row 2)"
    )


def test_values_of_another_convention_have_no_baseline_beside_them() -> None:
    judged = ADA._replace(kind="judged-ranking", profile="coursework", against=None)
    assert section(told(judged), "The values of your run").startswith("  measure      yours\n")


# What to do ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("graded", "first"),
    [
        (EVE, "  - Hand in your run: a text file with one line for each retrieved document. A line has the query,"),
        (FAY, "  - Hand in a smaller or simpler run. If yours is neither large nor unusual, ask your grader."),
        (DAN, "  - Correct the errors first."),
        (BOB, "  - Correct the file itself: other programs may refuse it, or score it wrongly."),
        (ADA._replace(counts={"R104": 1}), "  - Correct the errors first."),
        (ADA._replace(missing_queries=(1, 50)), "  - Rank documents for every judged query, or find out why your"),
        (
            ADA._replace(claims=(Checked("AP", "1", "", "mistake"),)),
            "  - Correct the mistakes that are named with your numbers",
        ),
        (ADA._replace(claims=(Checked("AP", "1", "", "rounding"),)), "  - Round numbers once, at the end, and to the"),
    ],
)
def test_the_first_thing_to_do_is_what_matters_most(graded: Graded, first: str) -> None:
    assert section(told(graded), "What to do next").startswith(first)


def test_who_lacks_points_without_a_fault_is_sent_to_the_reasons() -> None:
    assert section(feedback(ENTRIES[8], GRADES), "What to do next") == (
        "  - Nothing has to be corrected; the section Points says why some are missing."
    )


def test_a_file_name_that_a_shell_would_run_is_not_put_into_a_command() -> None:
    graded = ADA._replace(run="$(reboot).txt", counts={"R104": 1})
    assert "treceval check FILE" in told(graded)


def test_a_hostile_name_is_cut() -> None:
    first = feedback(ENTRIES[7], GRADES).split("\n")[0]
    assert first == f"Feedback for {LONG[:79]}…"


def test_pairs_of_other_students_do_not_matter() -> None:
    made = feedback(ENTRIES[0], GRADES._replace(pairs=(Pair(1, -1, "same file", 1.0, 50),)))
    assert "alike" not in made


def test_a_file_that_could_not_be_scored_has_no_size_of_a_run() -> None:
    made = section(told(DAN._replace(run="run.csv"), 3), "What was read")
    assert made.startswith("  run.csv was tried as a run, but could not be scored.\n")


def test_the_folder_of_the_baseline_is_not_told() -> None:
    against = AgainstBaseline("/home/teacher/runs/bm25.run", "AP", 0.5, 0.25, 1, 1, 0, 0, None)
    made = told(ADA._replace(against=against))
    assert "baseline, bm25.run" in made
    assert "teacher" not in made


def test_who_claimed_nothing_where_claims_give_points_is_told_how_to() -> None:
    marks = Marks((Mark("claims", 0.0, 60.0, "no number was claimed"),), 0.0, 60.0, None)
    made = feedback(ENTRIES[0]._replace(graded=ADA._replace(claims=()), marks=marks), GRADES)
    assert section(made, "What to do next") == ("  - Claim each expected number once, on a line such as: MAP = 0.1234")


# Commands -----------------------------------------------------------------------------------------


def commands(text: str) -> list[str]:
    """Return the commands of a feedback, whole: a line that ends with a backslash goes on in the next one."""
    lines = re.sub(r" \\\n +", " ", text).split("\n")
    return [line.strip() for line in lines if line.startswith("    treceval ")]


def test_a_long_command_goes_on_after_a_backslash_and_no_line_is_too_long() -> None:
    names = tuple(f"ndcg_cut_{number}" for number in range(100, 120))
    graded = ADA._replace(measures=dict.fromkeys(names, 0.5))
    made = feedback(ENTRIES[0]._replace(graded=graded), GRADES._replace(measures=names, baseline_measures={}))
    measures = " ".join(f"-m {name}" for name in names)
    assert f"treceval --profile trec_eval-10 -c {measures} qrels.txt run.txt" in commands(made)
    assert max(map(len, made.splitlines())) <= 100


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
    assert "P@5 = 0.4667 is right under another convention" in " ".join(told.split())
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
