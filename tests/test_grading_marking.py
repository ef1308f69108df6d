"""One submission: its run is checked, mended and scored by the rules, its claims are taken; numbers are by hand."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from modules import module_at

from treceval_py.explaining.scoring import Scorer
from treceval_py.explaining.variants import Variant
from treceval_py.grading.claims import reconciling
from treceval_py.grading.claims.claims import Claimed, claimed
from treceval_py.grading.intake.intake import one, submissions
from treceval_py.grading.marking import marking
from treceval_py.grading.marking.marking import Grader, baseline_record, limits_of
from treceval_py.grading.marking.scoring import Assignment, AssignmentScorer, Named, Scored
from treceval_py.grading.marking.similarity import alike
from treceval_py.grading.processes.kept import plain
from treceval_py.grading.records import AgainstBaseline, Checked, FileRead, Graded
from treceval_py.grading.rules import MeasureRule, Rules, read_rules

AP = Rules(measures=(MeasureRule("AP"),))

QRELS = "q1 0 b 0\nq1 0 a 1\nq2 0 b 1\nq2 0 a 0\n"

RUN = "q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\nq2 Q0 a 1 2 t\nq2 Q0 b 2 1 t\n"
"""AP is 1 in q1 and 1/2 in q2, so their mean is 0.75."""

Files = Mapping[str, str | bytes]


def grader(folder: Path, rules: Rules = AP, *, qrels: str = QRELS, baseline: str = "") -> Grader:
    (folder / "qrels.txt").write_text(qrels)
    (folder / "base.txt").write_text(baseline)
    return Grader(Assignment(str(folder / "qrels.txt"), str(folder / "base.txt") if baseline else "", rules))


def graded(
    folder: Path,
    files: Files,
    rules: Rules = AP,
    *,
    claims: Sequence[Claimed] = (),
    qrels: str = QRELS,
    baseline: str = "",
) -> Graded:
    """Grade what ada hands in."""
    (folder / "ada").mkdir()
    for name, data in files.items():
        (folder / "ada" / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    made = grader(folder, rules, qrels=qrels, baseline=baseline)
    return made.grade(one(str(folder / "ada"), limits_of(rules)), claims)


def of_run(folder: Path, run: str | bytes, rules: Rules = AP, *, qrels: str = QRELS, baseline: str = "") -> Graded:
    return graded(folder, {"run.txt": run}, rules, qrels=qrels, baseline=baseline)


# --- a run ---


def test_a_run_is_scored_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    found = of_run(tmp_path, RUN)
    assert (found.student, found.source) == ("ada", str(tmp_path / "ada"))
    assert (found.status, found.reason, found.run, found.kind) == ("scored", "", "run.txt", "run")
    assert (found.lines, found.queries, found.documents) == (4, 2, 4)
    assert (found.measures, found.profile) == ({"AP": 0.75}, "trec_eval-10")
    assert found.hash_of_run == hashlib.sha256(RUN.encode()).hexdigest()
    assert (found.missing_queries, found.repairs, found.claims, found.against) == ((0, 2), (), (), None)
    assert list(found.signatures) == ["AP"]
    assert found.signatures["AP"].startswith("AP(rel=1)|p:trec_eval-10|missing:empty|#:2|")


def test_it_is_told_how_many_judged_queries_a_run_lacks(tmp_path: Path) -> None:
    qrels = QRELS + "q3 0 a 1\nq4 0 a 1\n"
    assert of_run(tmp_path, "q1 Q0 a 1 2 t\n", qrels=qrels).missing_queries == (3, 4)


def test_a_compressed_run_is_known_by_the_hash_of_the_file_that_was_handed_in(tmp_path: Path) -> None:
    data = gzip.compress(RUN.encode())
    found = graded(tmp_path, {"run.txt.gz": data})
    assert (found.status, found.measures) == ("scored", {"AP": 0.75})
    assert found.hash_of_run == hashlib.sha256(data).hexdigest()


def test_of_each_kind_of_finding_twenty_are_kept_and_all_are_counted(tmp_path: Path) -> None:
    run = "".join(f"q1 Q0 d{number} {number} nan t\n" for number in range(1, 26))
    found = of_run(tmp_path, run)
    kept = [each.line for each in found.findings if each.code == "R104"]
    assert (found.counts["R104"], kept) == (25, list(range(1, 21)))


# --- rules, each from end to end ---


def test_the_rules_say_which_measures_are_computed(tmp_path: Path) -> None:
    rules = Rules(measures=(MeasureRule("P@1"), MeasureRule("RR")))
    assert of_run(tmp_path, RUN, rules).measures == {"P@1": 0.5, "RR": 0.75}


def test_the_rules_say_under_which_profile_a_run_is_scored(tmp_path: Path) -> None:
    tied = "q1 Q0 a 1 5 t\nq1 Q0 b 2 5 t\n"
    # Of equal scores trec_eval takes the higher id first, ranx the first line; a is the relevant one.
    found = of_run(tmp_path, tied, AP._replace(profile="ranx"), qrels="q1 0 a 1\n")
    assert (found.measures, found.profile) == ({"AP": 1.0}, "ranx")


def test_a_claim_is_right_under_the_profile_of_the_rules(tmp_path: Path) -> None:
    files = {"run.txt": "q1 Q0 a 1 5 t\nq1 Q0 b 2 5 t\n", "claims.txt": "RR = 1.0000\n"}  # which is not computed
    found = graded(tmp_path, files, AP._replace(profile="ranx"), qrels="q1 0 a 1\n")
    assert [each.verdict for each in found.claims] == ["correct"]


@pytest.mark.parametrize(("complete", "ap"), [(True, 1 / 4), (False, 1 / 2)])
def test_the_rules_say_whether_queries_that_a_run_lacks_are_averaged(tmp_path: Path, complete: bool, ap: float) -> None:
    found = of_run(tmp_path, "q2 Q0 a 1 2 t\nq2 Q0 b 2 1 t\n", AP._replace(complete=complete))
    assert found.measures == {"AP": ap}


@pytest.mark.parametrize(("complete", "verdict"), [(True, "convention"), (False, "correct")])
def test_a_claim_is_right_over_the_queries_that_the_rules_average(tmp_path: Path, complete: bool, verdict: str) -> None:
    files = {"run.txt": "q2 Q0 a 1 2 t\nq2 Q0 b 2 1 t\n", "claims.txt": "RR = 0.5000\n"}  # which is not computed
    assert [each.verdict for each in graded(tmp_path, files, AP._replace(complete=complete)).claims] == [verdict]


@pytest.mark.parametrize(("level", "ap"), [(1, 1.0), (2, 1 / 2)])
def test_the_rules_say_from_which_label_on_a_document_is_relevant(tmp_path: Path, level: int, ap: float) -> None:
    found = of_run(tmp_path, "q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\n", AP._replace(level=level), qrels="q1 0 a 1\nq1 0 b 2\n")
    assert found.measures == {"AP": ap}


@pytest.mark.parametrize(("level", "verdict"), [(1, "convention"), (2, "correct")])
def test_a_claim_is_right_at_the_level_of_the_rules(tmp_path: Path, level: int, verdict: str) -> None:
    files = {"run.txt": "q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\n", "claims.txt": "RR = 0.5000\n"}
    found = graded(tmp_path, files, AP._replace(level=level), qrels="q1 0 a 1\nq1 0 b 2\n")
    assert [each.verdict for each in found.claims] == [verdict]


@pytest.mark.parametrize(
    ("tolerance", "verdict"), [(0.0, "not reproduced"), (0.005, "not reproduced"), (0.02, "correct")]
)
def test_the_rules_say_how_far_off_a_claim_may_be(tmp_path: Path, tolerance: float, verdict: str) -> None:
    files = {"run.txt": RUN, "claims.txt": "AP = 0.7617\n"}  # 0.0117 too much
    found = graded(tmp_path, files, AP._replace(tolerance=tolerance))
    assert [each.verdict for each in found.claims] == [verdict]


def test_the_rules_say_which_numbers_are_to_be_claimed(tmp_path: Path) -> None:
    files = {"run.txt": RUN, "claims.txt": "AP = 0.75\n"}
    found = graded(tmp_path, files, AP._replace(expected=("AP", "RR")))
    assert found.claims == (
        Checked("AP", "0.75", "claims.txt:1", "correct", 0.75, run="run.txt"),
        Checked("RR", "", "", "no claim", 0.75, "no number was claimed for RR"),
    )


def test_the_rules_say_how_many_documents_are_kept_to_find_what_is_alike(tmp_path: Path) -> None:
    found = of_run(tmp_path, RUN, AP._replace(similarity_depth=3))
    assert found.tops is not None
    assert found.tops.shape == (2, 3)
    assert (found.tops >= 0).tolist() == [[True, True, False], [True, True, False]]


def test_the_rules_say_how_large_a_file_may_be() -> None:
    assert limits_of(AP._replace(megabytes=2.5)).file_bytes == 2_621_440  # 2.5 * 1024 * 1024


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    found = of_run(tmp_path, RUN + "# a comment\n" * 100, AP._replace(megabytes=0.001))  # 1048 bytes
    assert (found.status, found.reason) == (
        "missing",
        "no file could be opened: run.txt: it has 1,256 bytes, more than 1,048 bytes",
    )


@pytest.mark.parametrize(("megabytes", "status"), [(0.001, "refused"), (0.01, "scored")])
def test_a_compressed_file_that_is_too_large_when_it_is_unpacked_is_refused(
    tmp_path: Path, megabytes: float, status: str
) -> None:
    packed = gzip.compress((RUN + "# a comment\n" * 100).encode())  # 1256 bytes
    assert len(packed) < 1048
    found = graded(tmp_path, {"run.txt.gz": packed}, AP._replace(megabytes=megabytes))
    assert found.status == status
    reason = "run.txt.gz is more than 0.001 MB when unpacked"
    assert found.reason == (reason if status == "refused" else "")


@pytest.mark.parametrize(("more", "status"), [(0, "scored"), (1, "refused")])
def test_a_file_may_be_as_large_as_the_rules_say_and_no_larger(tmp_path: Path, more: int, status: str) -> None:
    text = RUN + "#" * (1048 - len(RUN) - 1 + more) + "\n"
    found = graded(tmp_path, {"run.txt.gz": gzip.compress(text.encode())}, AP._replace(megabytes=0.001))
    assert (len(text), found.status) == (1048 + more, status)


# --- mending ---

TWICE = RUN + "q2 Q0 b 2 1 t\n"


def test_a_broken_run_is_scored_after_repairs_that_lose_nothing(tmp_path: Path) -> None:
    found = of_run(tmp_path, TWICE)
    assert (found.status, found.reason, found.measures) == ("repaired", "", {"AP": 0.75})
    assert found.repairs == ("1 exact duplicate was removed (line 5)",)
    assert found.hash_of_run == hashlib.sha256(TWICE.encode()).hexdigest()
    assert (found.counts["R120"], found.lines) == (1, 5)


def test_without_repairs_in_the_rules_a_broken_run_is_refused(tmp_path: Path) -> None:
    found = of_run(tmp_path, TWICE, AP._replace(repair=False))
    assert (found.status, found.measures, found.repairs) == ("refused", {}, ())
    assert found.reason == "line 5: document 'b' is listed again in query 'q2' with the same score (first on line 4)"


def test_a_run_with_one_error_that_can_be_mended_and_one_that_cannot_is_refused(tmp_path: Path) -> None:
    found = of_run(tmp_path, TWICE + "q2 Q0 c 3 nan t\n")
    assert (found.status, found.measures, found.repairs) == ("refused", {}, ())
    assert found.reason == (
        "line 5: document 'b' is listed again in query 'q2' with the same score (first on line 4) (and 1 more such finding)"
    )


@pytest.mark.parametrize("profile", ["trec_eval-10", "ranx"])
def test_a_document_that_comes_again_with_another_score_is_refused_under_every_profile(
    tmp_path: Path, profile: str
) -> None:
    # ranx would take the last line without a word; which of the two scores is meant only the student can tell.
    found = of_run(tmp_path, RUN + "q2 Q0 b 3 0.5 t\n", AP._replace(profile=profile))
    assert (found.status, found.reason) == (
        "refused",
        "line 5: document 'b' is listed again in query 'q2' with score 0.5 (first on line 4, with 1)",
    )


# --- why a run is refused ---


def test_the_reason_is_the_first_error_and_no_warning_before_it(tmp_path: Path) -> None:
    found = of_run(tmp_path, "q1 Q0 a first 2 t\nq1 Q0 b 2 nan t\nq2 Q0 b 1 2 t\n")
    assert set(found.counts) >= {"R104", "R109"}
    assert found.reason == "line 2: score 'nan' is not a number, so it cannot be ranked"


@pytest.mark.parametrize(
    ("errors", "more"), [(1, ""), (2, " (and 1 more such finding)"), (1235, " (and 1,234 more such findings)")]
)
def test_the_reason_says_how_many_errors_there_are_besides(tmp_path: Path, errors: int, more: str) -> None:
    run = "".join(f"q1 Q0 d{number} {number} nan t\n" for number in range(1, errors + 1))
    assert of_run(tmp_path, run).reason == f"line 1: score 'nan' is not a number, so it cannot be ranked{more}"


def test_a_run_that_the_check_passes_and_scoring_refuses_is_refused_with_the_reason(tmp_path: Path) -> None:
    rules = Rules(profile="msmarco", measures=(MeasureRule("RR@10"),))
    found = of_run(tmp_path, "q1 Q0 a first 2 t\nq2 Q0 b second 1 t\n", rules)
    assert (found.status, found.reason) == (
        "refused",
        "run.txt has no rank column of whole numbers to rank it by",
    )
    assert (found.counts["R109"], found.lines, found.measures, found.tops) == (2, 2, {}, None)


def test_a_run_of_a_format_without_lines_is_refused_as_such(tmp_path: Path) -> None:
    found = graded(tmp_path, {"run.json": '{"q1": {"a": 2.5}}'})
    assert (found.status, found.reason) == (
        "refused",
        "its format has no lines, such as JSON or Parquet; only runs with lines are graded",
    )


def damaged_zip(**files: str) -> bytes:
    """Return a zip archive of files that are not compressed, with another byte at the end of the last one."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, text in files.items():
            archive.writestr(name.replace("_", "."), text)
        end = archive.start_dir
    data = bytearray(stream.getvalue())
    data[end - 2] ^= 1
    return bytes(data)


LONG = "# a comment\n" * 10_000
"""More than what is looked at to see what a file is."""


def test_a_run_that_is_damaged_far_behind_its_beginning_is_refused(tmp_path: Path) -> None:
    found = graded(tmp_path, {"work.zip": damaged_zip(run_txt=RUN + LONG)})
    assert (found.status, found.reason) == ("refused", "it cannot be read: its bytes do not match their checksum")
    assert (found.run, found.hash_of_run, found.counts, found.measures) == ("work.zip/run.txt", "", {}, {})


def test_compressed_data_that_are_cut_off_are_refused(tmp_path: Path) -> None:
    lines = "".join(f"q{number} Q0 {hashlib.sha256(b'%d' % number).hexdigest()} 1 1 t\n" for number in range(5000))
    packed = gzip.compress(lines.encode())
    found = graded(tmp_path, {"run.txt.gz": packed[:-1000]})
    assert (found.status, found.counts["F007"]) == ("refused", 1)


# --- where there is no run ---


def test_a_folder_without_files_has_no_run(tmp_path: Path) -> None:
    found = graded(tmp_path, {})
    assert (found.status, found.reason, found.run) == ("missing", "no file was handed in", "")


def test_files_none_of_which_is_a_run_are_no_run(tmp_path: Path) -> None:
    found = graded(tmp_path, {"essay.txt": "A text.\n", "notes.txt": "Another one.\n"})
    assert (found.status, found.reason) == ("missing", "none of the files is a run")


def test_where_no_file_could_be_opened_the_first_is_named_with_the_reason(tmp_path: Path) -> None:
    seven = b"7z\xbc\xaf\x27\x1c" + bytes(100)
    found = graded(tmp_path, {"run.7z": seven, "more.7z": seven})
    why = "it is a 7z archive, which cannot be read: hand in a zip archive or the files themselves"
    assert (found.status, found.reason) == ("missing", f"no file could be opened: more.7z: {why}")


def test_where_some_files_could_be_opened_none_of_them_is_a_run(tmp_path: Path) -> None:
    found = graded(tmp_path, {"run.7z": b"7z\xbc\xaf\x27\x1c" + bytes(100), "b.txt": "A text.\n", "c.txt": "A text.\n"})
    assert found.reason == "none of the files is a run"


def test_the_judgments_handed_in_again_under_another_name_are_no_run(tmp_path: Path) -> None:
    # Their documents do not stand in the order of their ids, as those of most judgments do.
    found = graded(tmp_path, {"run.txt": QRELS})
    assert (found.status, found.reason) == ("missing", "none of the files is a run")
    assert found.files == (
        FileRead("run.txt", "not used", "these are the judgments of the assignment, not a run", len(QRELS)),
    )


# --- claims ---


def test_claims_of_the_class_stand_before_those_of_the_files_and_these_by_file(tmp_path: Path) -> None:
    files = {"run.txt": RUN, "b.txt": "P@1 = 0.5\n", "a.txt": "AP = 0.75\nP@2 = 0.5\n"}
    claims = [claimed("RR", "0.75", "claims.csv:7"), claimed("AP", "0.7", "claims.csv:9")]
    found = graded(tmp_path, files, claims=claims)
    assert [(each.measure, each.text, each.place) for each in found.claims] == [
        ("RR", "0.75", "claims.csv:7"),
        ("AP", "0.7", "claims.csv:9"),
        ("AP", "0.75", "a.txt:1"),
        ("P@2", "0.5", "a.txt:2"),
        ("P@1", "0.5", "b.txt:1"),
    ]


def test_claims_without_a_run_cannot_be_checked(tmp_path: Path) -> None:
    found = graded(tmp_path, {"claims.txt": "AP = 0.75\n"}, claims=[claimed("RR", "0.75", "claims.csv:7")])
    assert [(each.measure, each.verdict, each.value, each.why) for each in found.claims] == [
        ("RR", "unchecked", None, "there is no run that could be scored"),
        ("AP", "unchecked", None, "there is no run that could be scored"),
    ]


def test_a_file_of_claims_that_is_damaged_far_behind_its_beginning_is_refused_and_the_run_is_scored(
    tmp_path: Path,
) -> None:
    files: Files = {"work.zip": damaged_zip(run_txt=RUN, numbers_txt="AP = 0.75\n" + LONG), "claims.txt": "RR = 0.75\n"}
    found = graded(tmp_path, files)
    assert (found.status, [each.place for each in found.claims]) == ("scored", ["claims.txt:1"])
    assert [(each.name, each.role, each.why) for each in found.files] == [
        ("claims.txt", "claims", "it has numbers that are claimed for measures"),
        ("work.zip/numbers.txt", "refused", "it cannot be read: its bytes do not match their checksum"),
        ("work.zip/run.txt", "run", "its lines are those of a run"),
    ]


def test_claims_of_several_files_are_bounded_together(tmp_path: Path) -> None:
    many = "".join("AP = 0.75\n" for _ in range(150))
    found = graded(tmp_path, {"run.txt": RUN, "a.txt": many, "b.txt": many}).claims
    assert (len(found), found[-1].place) == (200, "b.txt:50")
    assert found[-1].why == "only the first 200 claims of a submission are read"


def test_values_are_those_of_each_judged_query_in_the_order_of_their_bytes(tmp_path: Path) -> None:
    found = of_run(tmp_path, RUN, qrels=QRELS + "q10 0 a 1\n")
    assert found.values is not None
    assert found.values.tolist() == [1, 0, 0.5]  # q1, q10, q2


# --- several runs ---

BEST = "q1 Q0 a 1 2 best\nq1 Q0 b 2 1 best\nq2 Q0 b 1 2 best\nq2 Q0 a 2 1 best\n"
"""AP is 1 in both queries."""

WORST = "q1 Q0 b 1 2 worst\nq1 Q0 a 2 1 worst\nq2 Q0 a 1 2 worst\nq2 Q0 b 2 1 worst\n"
"""AP is 1/2 in both queries."""

THREE = {"bm25.txt": RUN, "dense.txt": BEST, "random.txt": WORST}


def summary(found: Graded) -> list[tuple[str, str, str, bool]]:
    return [(each.text, each.verdict, each.run, each.counts) for each in found.claims]


def test_all_runs_are_scored_and_the_one_whose_claims_are_right_counts(tmp_path: Path) -> None:
    found = graded(tmp_path, {**THREE, "report.txt": "AP = 0.7500\n"})
    assert (found.run, found.measures) == ("bm25.txt", {"AP": 0.75})
    assert found.chosen == "bm25.txt counts: 1 claimed number is right for it, more than for any of the other 2 runs"
    assert [(each.name, each.status, each.measures["AP"], each.right) for each in found.runs] == [
        ("bm25.txt", "scored", 0.75, 1),
        ("dense.txt", "scored", 1.0, 0),
        ("random.txt", "scored", 0.5, 0),
    ]
    assert {each.name: each.role for each in found.files} == {
        "bm25.txt": "run",
        "dense.txt": "not used",
        "random.txt": "not used",
        "report.txt": "claims",
    }


@pytest.mark.parametrize(
    ("rules", "run", "why"),
    [
        (AP._replace(counting="best"), "dense.txt", "dense.txt counts: its AP, 1.0000, is the highest of 3 runs"),
        (AP._replace(named="RAND*"), "random.txt", "random.txt counts: the rules count files named RAND*"),
        (
            AP._replace(named="mine.txt", counting="best"),
            "dense.txt",
            (
                "dense.txt counts: the rules count files named mine.txt, but no run has that name; its AP, "
                "1.0000, is the highest of 3 runs"
            ),
        ),
    ],
)
def test_the_rules_say_which_run_counts(tmp_path: Path, rules: Rules, run: str, why: str) -> None:
    found = graded(tmp_path, {**THREE, "report.txt": "AP = 0.7500\n"}, rules)
    assert (found.run, found.chosen) == (run, why)
    # The claim is still right for its run, and neither counts nor is wrong.
    assert summary(found) == [("0.7500", "correct", "bm25.txt", False)]
    assert found.claims[0].why == "it is a number of bm25.txt, which does not count: it has no effect on the points"


def test_without_claims_the_run_that_was_handed_in_last_counts(tmp_path: Path) -> None:
    found = graded(tmp_path, {"run_1.txt": BEST, "run_2.txt": RUN})
    assert (found.run, found.chosen) == ("run_2.txt", "run_2.txt counts: its name has the highest number")


def test_claims_that_fit_several_runs_do_not_tell_which_one_counts(tmp_path: Path) -> None:
    found = graded(tmp_path, {"run_1.txt": RUN, "run_2.txt": RUN.replace("t\n", "u\n"), "a.txt": "AP = 0.75\n"})
    why = "run_2.txt counts: 1 claimed number is right for each of 2 runs; its name has the highest number"
    assert (found.run, found.chosen) == ("run_2.txt", why)
    assert summary(found) == [("0.75", "correct", "run_2.txt", True)]


def test_claims_that_are_right_for_no_run_show_which_one_counts_if_one_explains_them(tmp_path: Path) -> None:
    # Only in run_1 the mean over the one query that it has is 1/7.
    files = {
        "run_1.txt": "".join(f"q1 Q0 {docid} {rank} {9 - rank} t\n" for rank, docid in enumerate("tuvwxya", 1)),
        "run_2.txt": RUN,
        "a.txt": "RR = 0.142857\n",
    }
    found = graded(tmp_path, files)
    why = "run_1.txt counts: 1 claimed number is explained by it, more than by the other run"
    assert (found.run, found.chosen) == ("run_1.txt", why)
    assert summary(found) == [("0.142857", "convention", "run_1.txt", True)]


def test_no_number_is_called_wrong_beside_a_right_one_of_its_measure_in_the_same_file(tmp_path: Path) -> None:
    # Experiments below one another, of which only the last was handed in.
    found = graded(tmp_path, {"run.txt": RUN, "report.txt": "AP = 0.7113\nAP = 0.7500\n", "a.txt": "RR = 0.7113\n"})
    assert summary(found)[1:] == [("0.7113", "unchecked", "run.txt", True), ("0.7500", "correct", "run.txt", True)]
    assert summary(found)[0] == ("0.7113", "not reproduced", "run.txt", True)  # of RR there is nothing else
    assert found.claims[1].why == "0.7500 (report.txt:2) is right, and nothing shows to which run this number belongs"


def test_the_rule_may_be_the_last_run_whatever_is_claimed(tmp_path: Path) -> None:
    files = {"run_1.txt": BEST, "run_2.txt": RUN, "a.txt": "AP = 0.5\nP@1 = 1.0000\n"}
    found = graded(tmp_path, files, AP._replace(counting="last"))
    assert (found.run, found.chosen) == ("run_2.txt", "run_2.txt counts: its name has the highest number")


def test_the_choice_of_the_teacher_is_stronger_than_the_rules(tmp_path: Path) -> None:
    for name, text in {**THREE, "a.txt": "AP = 0.75\n"}.items():
        (tmp_path / "ada").mkdir(exist_ok=True)
        (tmp_path / "ada" / name).write_text(text)
    made = grader(tmp_path, AP._replace(named="bm25.txt"))
    found = made.grade(one(str(tmp_path / "ada"), limits_of(AP)), wanted="dense.txt")
    assert (found.run, found.chosen, found.runs[0].name) == (
        "dense.txt",
        "dense.txt counts: the teacher chose dense.txt",
        "dense.txt",
    )


def test_a_table_with_a_row_for_each_run_is_checked_row_by_row(tmp_path: Path) -> None:
    claims = [
        claimed("AP", text, f"table.md:{line}")._replace(run=row)
        for line, (row, text) in enumerate([("BM25", "0.75"), ("Dense", "1.0000"), ("Random", "0.4321")], 3)
    ]
    found = graded(tmp_path, THREE, AP._replace(named="bm25.txt"), claims=claims)
    assert summary(found) == [
        ("0.75", "correct", "bm25.txt", True),
        ("1.0000", "correct", "dense.txt", False),
        ("0.4321", "not reproduced", "random.txt", False),
    ]
    assert found.claims[2].why.startswith(
        "it is a number of random.txt, which does not count: it has no effect on the points; none of the "
    )


def test_a_row_of_a_run_that_was_not_handed_in_is_not_held_against_the_one_that_was(tmp_path: Path) -> None:
    claims = [claimed("AP", text, "a:1")._replace(run=row) for row, text in [("BM25", "0.62"), ("RM3", "0.75")]]
    found = graded(tmp_path, {"run.txt": RUN}, claims=claims)
    assert summary(found) == [("0.62", "unchecked", "", False), ("0.75", "correct", "run.txt", True)]
    assert found.claims[0].why == "it is a number of BM25, which was not handed in: it has no effect on the points"


def test_of_rows_that_fit_nothing_it_is_not_known_which_is_that_of_the_run(tmp_path: Path) -> None:
    claims = [claimed("AP", text, "a:1")._replace(run=row) for row, text in [("BM25", "0.62"), ("RM3", "0.61")]]
    found = graded(tmp_path, {"run.txt": RUN}, claims=claims)
    assert summary(found) == [("0.62", "unchecked", "run.txt", True), ("0.61", "unchecked", "run.txt", True)]


def test_a_row_may_have_the_name_of_a_tag(tmp_path: Path) -> None:
    # Beside another row, one called bm25 is a baseline's, unless it is the tag of one's own run: then the other is not.
    table = "| system | AP |\n|---|---|\n| bm25 | 0.75 |\n| colbert | 0.6123 |\n"
    found = graded(tmp_path, {"run.txt": RUN.replace(" t\n", " bm25\n"), "report.md": table})
    assert summary(found) == [("0.75", "correct", "run.txt", True)]


def test_the_only_row_of_a_table_is_that_of_the_run_whatever_its_name(tmp_path: Path) -> None:
    found = graded(tmp_path, {"run.txt": RUN}, claims=[claimed("AP", "0.6123", "a:1")._replace(run="ours")])
    assert summary(found) == [("0.6123", "not reproduced", "run.txt", True)]


def test_a_number_that_only_another_run_explains_is_of_that_run(tmp_path: Path) -> None:
    # Of dense, RR is 1/7 in q1, and 1/14 over both judged queries; in bm25 no rank is above 2.
    dense = "".join(f"q1 Q0 {docid} {rank} {9 - rank} t\n" for rank, docid in enumerate("tuvwxya", 1))
    claims = [claimed("RR", "0.142857", "a:1")]
    found = graded(tmp_path, {"bm25.txt": RUN, "dense.txt": dense}, AP._replace(named="bm25.txt"), claims=claims)
    assert summary(found) == [("0.142857", "convention", "dense.txt", False)]


def test_a_run_that_cannot_be_scored_does_not_count_beside_one_that_can(tmp_path: Path) -> None:
    broken = "q1 Q0 a 1 nan t\nq1 Q0 b 2 1 t\n"
    found = graded(tmp_path, {"run_1.txt": RUN, "run_2.txt": broken})
    assert (found.run, found.status) == ("run_1.txt", "scored")
    assert found.chosen == "run_1.txt counts: it is the only one of 2 runs that can be scored and has judged queries"
    assert [(each.name, each.status) for each in found.runs] == [("run_1.txt", "scored"), ("run_2.txt", "refused")]


def test_the_same_file_twice_is_one_run(tmp_path: Path) -> None:
    found = graded(tmp_path, {"a.run": RUN, "b.run": RUN})
    assert (found.run, found.chosen, len(found.runs)) == ("a.run", "", 1)
    assert found.files[1] == FileRead("b.run", "not used", "it is the same file as a.run", len(RUN))


def test_runs_that_are_too_many_to_be_held_are_scored_again_when_they_are_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = [claimed("AP", "0.5", "a:1"), claimed("P@1", "0.1234", "a:2")]
    expected = graded(tmp_path, THREE, AP._replace(named="random.txt"), claims=claims)
    monkeypatch.setattr(marking, "MOST_HELD", 5)
    scored, score = [], AssignmentScorer.scored

    def counted(scorer: AssignmentScorer, source: Named, kind: str) -> Scored:
        scored.append(source.name)
        return score(scorer, source, kind)

    monkeypatch.setattr(AssignmentScorer, "scored", counted)
    again = grader(tmp_path, AP._replace(named="random.txt"))
    found = again.grade(one(str(tmp_path / "ada"), limits_of(AP)), claims)
    assert scored == ["bm25.txt", "dense.txt", "random.txt", "random.txt"]  # the first one was held
    assert plain(found) == plain(expected)


def test_no_more_runs_are_read_than_four_of_the_largest_would_be(tmp_path: Path) -> None:
    # A run may have 1,048 bytes: after five of 1,000 bytes more than 4,192 are read.
    files = {f"{name}.run": RUN + "#" * (999 - len(RUN)) + f"{name}" for name in "abcdefg"}
    found = graded(tmp_path, files, AP._replace(megabytes=0.001))
    assert [each.name for each in found.runs] == ["a.run", "b.run", "c.run", "d.run", "e.run"]
    assert [(each.name, each.role, each.why) for each in found.files[5:]] == [
        (f"{name}.run", "unread", "its lines are those of a run, but the runs before it have 0.004 MB or more")
        for name in "fg"
    ]


def test_claims_of_a_run_are_not_wrong_because_the_run_that_counts_is_refused(tmp_path: Path) -> None:
    files = {"bm25.txt": RUN, "dense.txt": "q1 Q0 a 1 nan t\n", "a.txt": "AP = 0.75\n"}
    found = graded(tmp_path, files, AP._replace(named="dense.txt"))
    assert (found.run, found.status) == ("dense.txt", "refused")
    assert summary(found) == [("0.75", "correct", "bm25.txt", False)]


def test_hundreds_of_rows_and_of_wrong_numbers_are_searched_once_for_each_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched, means = [], reconciling._means

    def counted(scorer: Scorer, variants: Sequence[Variant]) -> list[tuple[Variant, float]]:
        searched.append(len(variants))
        return means(scorer, variants)

    monkeypatch.setattr(reconciling, "_means", counted)
    claims = [claimed("AP", f"0.{4000 + row}", "a:1")._replace(run=f"row {row}") for row in range(200)]
    found = graded(tmp_path, {"run.txt": RUN}, claims=claims)
    assert {each.verdict for each in found.claims} == {"unchecked"}
    assert len(searched) <= 2  # what one change gives, and what two give


# --- what may be told of the judgments ---


@pytest.mark.parametrize("feedback", ["own", "aggregate"])
def test_findings_name_no_judged_documents_and_labels_unless_the_rules_allow_it(tmp_path: Path, feedback: str) -> None:
    # The document is judged as FT-1; the label of the other ranking is 1 in the judgments.
    qrels = "q1 0 FT-1 1\nq1 0 FT-2 0\n"
    run = of_run(tmp_path, "q1 Q0 ft-1.txt 1 2 t\n", AP._replace(feedback=feedback), qrels=qrels)
    assert [each.what for each in run.findings if each.code == "X205"] == ["not one document is judged for its query"]
    (tmp_path / "two").mkdir()
    judged = of_run(tmp_path / "two", "q1 Q0 FT-2 0\nq1 Q0 FT-1 0\n", AP._replace(feedback=feedback), qrels=qrels)
    assert [(each.line, each.what) for each in judged.findings if each.code == "X210"] == [
        (0, "labels in the ranking differ from those of the judgments")
    ]


@pytest.mark.parametrize("feedback", ["own", "aggregate", "full"])
def test_a_record_has_no_judged_documents_that_are_not_in_the_run_unless_the_rules_allow_it(
    tmp_path: Path, feedback: str
) -> None:
    # Of SECRET-1, which the baseline has first, the student has not even a document that looks alike.
    qrels = "q1 0 SECRET-1 2\nq1 0 SECRET-2 0\nq2 0 b 1\n"
    baseline = "q1 Q0 SECRET-1 1 2 b\nq1 Q0 x 2 1 b\nq2 Q0 b 1 1 b\n"
    files = {
        "run.txt": "q1 Q0 secret-1.html 1 2 t\nq2 Q0 x 1 1 t\n",
        "ranking.txt": "q1 Q0 y 1\nq1 Q0 z 0\nq2 Q0 b 0\n",
        "a.txt": "MAP = 0.4321\nRR = 0.1234\nnum_rel = 3\nnDCG@10 = 0.7\n",
    }
    rules = AP._replace(feedback=feedback, named="run.txt")
    found = json.dumps(plain(graded(tmp_path, files, rules, qrels=qrels, baseline=baseline)))
    assert ("SECRET" in found) is (feedback == "full")


def test_findings_name_judged_documents_and_labels_where_the_rules_allow_it(tmp_path: Path) -> None:
    qrels = "q1 0 FT-1 1\nq1 0 FT-2 0\n"
    run = of_run(tmp_path, "q1 Q0 ft-1.txt 1 2 t\n", AP._replace(feedback="full"), qrels=qrels)
    assert any("FT-1" in each.what for each in run.findings if each.code == "X205")


# --- beside the baseline ---


def test_a_submission_is_compared_with_the_baseline_by_the_first_measure_of_the_rules(tmp_path: Path) -> None:
    rules = Rules(measures=(MeasureRule("P@1"), MeasureRule("AP")))
    best = "q1 Q0 a 1 2 b\nq1 Q0 b 2 1 b\nq2 Q0 b 1 2 b\nq2 Q0 a 2 1 b\n"
    against = of_run(tmp_path, RUN, rules, baseline=best).against
    assert isinstance(against, AgainstBaseline)
    assert (against.measure, against.value, against.baseline) == ("P@1", 0.5, 1.0)
    assert (against.queries, against.better, against.worse, against.equal) == (2, 0, 1, 1)


def test_the_baseline_is_a_record_like_that_of_a_submission(tmp_path: Path) -> None:
    record = baseline_record(grader(tmp_path, baseline=RUN))
    mine = of_run(tmp_path, RUN, baseline=RUN)
    assert record is not None
    assert (record.student, record.source, record.status, record.kind) == (
        "",
        str(tmp_path / "base.txt"),
        "scored",
        "run",
    )
    assert record.hash_of_run == hashlib.sha256(RUN.encode()).hexdigest() == mine.hash_of_run
    assert (record.measures, record.hash_of_ranking) == ({"AP": 0.75}, mine.hash_of_ranking)
    assert record.tops is not None
    assert mine.tops is not None
    assert record.tops.tolist() == mine.tops.tolist()


def test_without_a_baseline_there_is_no_record_of_it(tmp_path: Path) -> None:
    assert baseline_record(grader(tmp_path)) is None


# --- runs that are alike, in the class of data/coursework/make.py ---


MAKE = Path(__file__).parent.parent / "data" / "coursework" / "make.py"


HONEST_IN_OTHER_FILES = (
    # Compressed, in three columns, in UTF-16, with other ends of lines, another tag, other ranks or repairs.
    *("Barbara Liskov", "Byte Order Mark", "Edsger Dijkstra", "Five Fields", "Grace Hopper", "Header Line", "baseline"),
    *("Rank Contradicts", "Sixteen Bits", "Spaces In Tag", "Three Columns", "Twice Exactly", "Windows Lines"),
)
"""Who hands in the ranking of the honest run, each in a file of its own, by name; the baseline has Grace Hopper's file."""

DAMAGED = ("Nul Byte", "Nan Score", "Text Score", "Decimal Comma", "Twice Otherwise")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> dict[frozenset[str], str]:
    """Return which runs of the class are alike, and how."""
    folder = tmp_path_factory.mktemp("class")
    module_at(MAKE).write(folder)
    rules = read_rules(folder / "rules.toml")
    class_grader = Grader(Assignment(str(folder / "qrels.txt"), str(folder / "baseline.txt"), rules))
    records = [class_grader.grade(each) for each in submissions(str(folder / "submissions"), limits_of(rules))]
    names = [*(each.student for each in records), "baseline"]
    found = alike(records, baseline_record(class_grader), threshold=rules.similarity, depth=rules.similarity_depth)
    return {frozenset((names[pair.first], names[pair.second])): pair.kind for pair in found}


@pytest.mark.slow
def test_the_same_files_are_paired_each_with_the_next_one_by_name(pairs: dict[frozenset[str], str]) -> None:
    module = module_at(MAKE)
    in_zip = "Donald Knuth"  # whose archive has the honest run
    honest = sorted(each.name for each in module.CLASS if module.RUN in each.files.values() or each.name == in_zip)
    assert len(honest) == 33
    expected = {*map(frozenset, pairwise(honest)), frozenset({"Copy One", "Copy Two"})}
    expected.add(frozenset({"Grace Hopper", "baseline"}))
    assert {pair for pair, kind in pairs.items() if kind == "same file"} == expected


def test_everyone_with_the_ranking_of_the_baseline_is_paired_with_it(pairs: dict[frozenset[str], str]) -> None:
    module = module_at(MAKE)
    honest = {each.name for each in module.CLASS if module.RUN in each.files.values()} | {"Donald Knuth"}
    expected = {frozenset({name, "baseline"}) for name in honest | set(HONEST_IN_OTHER_FILES) - {"baseline"}}
    # A run of distances, read as scores, is the honest one reversed, which the two copies are.
    expected |= {frozenset({"Copy Two", "Distances"})}
    same = {pair for pair, kind in pairs.items() if kind == "same ranking"}
    assert same == expected - {frozenset({"Grace Hopper", "baseline"})}  # who has the same file


def test_unrelated_runs_and_those_that_could_not_be_scored_are_not_paired(pairs: dict[frozenset[str], str]) -> None:
    of_copies = {frozenset({"Copy One", "Copy Two"}), frozenset({"Copy Two", "Distances"})}
    assert {pair for pair in pairs if pair & {"Copy One", "Copy Two"}} == of_copies
    assert not any(pair & set(DAMAGED) for pair in pairs)


@pytest.mark.parametrize("name", ["run.docx", "run.xlsx"])
def test_a_run_in_a_document_is_told_as_unread(tmp_path: Path, name: str) -> None:
    lines, data = [f"q1 Q0 d{rank} {rank} {20 - rank}.5 t" for rank in range(1, 13)], io.BytesIO()
    if name.endswith(".docx"):
        document = pytest.importorskip("docx").Document()
        for line in lines:
            document.add_paragraph(line)
        document.save(data)
    else:
        workbook = pytest.importorskip("openpyxl").Workbook()
        for line in lines:
            workbook.active.append([float(each) if each[0].isdigit() else each for each in line.split()])
        workbook.save(data)
    found = graded(tmp_path, {name: data.getvalue(), "claims.txt": "MAP = 0.75\n"})
    assert (found.status, [each.role for each in found.files]) == ("missing", ["claims", "unread"])
    assert "its lines are those of a run" in found.files[1].why


def test_a_page_with_a_run_is_also_searched_for_claims(tmp_path: Path) -> None:
    lines = "".join(f"q1 Q0 d{rank} {rank} {20 - rank}.5 t\n" for rank in range(1, 13))
    page = f"<html><body><p>My MAP is 0.75.</p>\n<pre>\n{lines}</pre></body></html>"
    found = graded(tmp_path, {"onlinetext.html": page})
    assert (found.status, found.run) == ("refused", "onlinetext.html")
    assert [(each.measure, each.text) for each in found.claims] == [("MAP", "0.75")]


@pytest.mark.parametrize("name", ["report.md", "report.xlsx"])
def test_a_document_that_is_none_is_told_as_unread(tmp_path: Path, name: str) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    text = "MAP = 0.75".encode("utf-16-le")  # without the mark by which UTF-16 is known
    found = graded(tmp_path, {"run.txt": RUN, name: data.getvalue() if name.endswith("x") else text})
    assert [(each.name, each.role) for each in found.files] == [(name, "unread"), ("run.txt", "run")]


@pytest.mark.parametrize(("feedback", "named"), [("own", False), ("full", True)])
def test_a_warning_of_the_baseline_names_documents_only_if_judgments_may_be_seen(
    tmp_path: Path, feedback: str, named: bool
) -> None:
    baseline = "q1 Q0 secret 2 9 t\nq1 Q0 b 1 1 t\nq2 Q0 a 1 2 t\n"
    notes = "".join(grader(tmp_path, AP._replace(feedback=feedback), baseline=baseline).scoring.notes)
    assert "R123" in notes
    assert ("secret" in notes) == named


def test_files_with_a_query_each_are_told_and_accuse_nobody(tmp_path: Path) -> None:
    # Together the mean of AP is 0.75; either file alone gives 0.5 or less.
    first, second = RUN[: len(RUN) // 2], RUN[len(RUN) // 2 :]
    found = graded(tmp_path, {"run_q1.txt": first, "run_q2.txt": second, "claims.txt": "MAP = 0.7311\n"})
    assert found.chosen.endswith(
        "the runs have no query in common, so they may be parts of one, which belong in one file"
    )
    assert [each.verdict for each in found.claims] == ["unchecked"]


def test_a_number_is_not_called_wrong_while_runs_were_not_read(tmp_path: Path) -> None:
    runs = {f"run{number:02}.txt": RUN.replace(" t\n", f" t{number}\n") for number in range(1, 22)}
    found = graded(tmp_path, {**runs, "claims.txt": "MAP = 0.7311\n"})
    assert [each.name for each in found.files if each.role == "unread"] == ["run01.txt"]
    assert [(each.verdict, each.why) for each in found.claims] == [
        ("unchecked", "the runs that were read do not give it, and others were not read")
    ]
