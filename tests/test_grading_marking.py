"""One submission: its run is checked, mended and scored by the rules, its claims are taken; numbers are by hand."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from modules import module_at
from syrupy.assertion import SnapshotAssertion

from treceval_py.explaining.scoring import Outcome, Scorer
from treceval_py.grading.claims.claims import Claimed, claimed
from treceval_py.grading.intake import candidates
from treceval_py.grading.intake.intake import one, submissions
from treceval_py.grading.marking.marking import Grader, baseline_record, limits_of
from treceval_py.grading.marking.similarity import alike
from treceval_py.grading.processes import plain
from treceval_py.grading.records import Graded
from treceval_py.grading.rules import MeasureRule, Rules, Task, read_rules
from treceval_py.scoring import planning

AP = Rules(measures=(MeasureRule("AP"),), megabytes=1.0)

QRELS = "q1 0 b 0\nq1 0 a 1\nq2 0 b 1\nq2 0 a 0\n"

RUN = "q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\nq2 Q0 a 1 2 t\nq2 Q0 b 2 1 t\n"
"""AP is 1 in q1 and 1/2 in q2, so their mean is 0.75."""

Files = Mapping[str, str | bytes]


def grader(folder: Path, rules: Rules = AP, *, qrels: str = QRELS, baseline: str = "") -> Grader:
    (folder / "qrels.txt").write_text(qrels)
    (folder / "base.txt").write_text(baseline)
    return Grader(Task("", str(folder / "qrels.txt"), str(folder / "base.txt") if baseline else "", rules=rules))


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
    (folder / "ada").mkdir(parents=True)
    for name, data in files.items():
        (folder / "ada" / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    made = grader(folder, rules, qrels=qrels, baseline=baseline)
    return made.grade(one(str(folder / "ada"), limits_of(rules)), claims)


def of_run(folder: Path, run: str | bytes, rules: Rules = AP, *, qrels: str = QRELS, baseline: str = "") -> Graded:
    return graded(folder, {"run.txt": run}, rules, qrels=qrels, baseline=baseline)


def verdicts(found: Graded) -> list[str]:
    return [each.verdict for each in found.claims]


# --- a run ---


def test_a_run_is_scored_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    data = gzip.compress(RUN.encode())
    found = graded(tmp_path, {"run.txt.gz": data}, qrels=QRELS + "q10 0 a 1\n")
    assert (found.student, found.source) == ("ada", str(tmp_path / "ada"))
    assert (found.status, found.reason, found.run, found.kind) == ("scored", "", "run.txt.gz", "run")
    assert (found.lines, found.queries, found.documents, found.missing_queries) == (4, 2, 4, (1, 3))
    assert (found.measures, found.profile) == ({"AP": 0.5}, "trec_eval-10")  # 1, 1/2 and 0
    assert found.hash_of_run == hashlib.sha256(data).hexdigest()  # of the file that was handed in
    assert (found.repairs, found.claims, found.against) == ((), (), None)
    assert found.signatures["AP"].startswith("AP(rel=1)|p:trec_eval-10|missing:empty|#:3|")
    assert found.values is not None
    assert found.tops is not None
    assert found.values.tolist() == [1, 0, 0.5]  # q1, q10, q2: the order of their bytes
    assert (found.tops >= 0).sum(axis=1).tolist() == [2, 0, 2]


def test_of_each_kind_of_finding_twenty_are_kept_and_all_are_counted(tmp_path: Path) -> None:
    run = "".join(f"q1 Q0 d{number} {number} nan t\n" for number in range(1, 26))
    found = of_run(tmp_path, run)
    kept = [each.line for each in found.findings if each.code == "R104"]
    assert (found.counts["R104"], kept) == (25, list(range(1, 21)))


# --- rules, each from end to end ---


TIED = "q1 Q0 a 1 5 t\nq1 Q0 b 2 5 t\n"
"""Of equal scores trec_eval takes the higher id first, ranx the first line."""
BOTH, LATER = "q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\n", "q2 Q0 a 1 2 t\nq2 Q0 b 2 1 t\n"


@pytest.mark.parametrize(
    ("rules", "run", "qrels", "claim", "ap", "verdict"),
    [
        ({}, TIED, "q1 0 a 1\n", "RR = 1.0000", 1 / 2, "convention"),
        ({"profile": "ranx"}, TIED, "q1 0 a 1\n", "RR = 1.0000", 1.0, "correct"),
        ({"complete": True}, LATER, QRELS, "RR = 0.5000", 1 / 4, "convention"),
        ({"complete": False}, LATER, QRELS, "RR = 0.5000", 1 / 2, "correct"),
        ({"level": 1}, BOTH, "q1 0 a 1\nq1 0 b 2\n", "RR = 0.5000", 1.0, "convention"),
        ({"level": 2}, BOTH, "q1 0 a 1\nq1 0 b 2\n", "RR = 0.5000", 1 / 2, "correct"),
        # 0.0117 too much, of which rounding to four decimals may make 0.00005
        ({}, RUN, QRELS, "AP = 0.7617", 0.75, "not reproduced"),
        ({"tolerance": 0.0116}, RUN, QRELS, "AP = 0.7617", 0.75, "not reproduced"),
        ({"tolerance": 0.0117}, RUN, QRELS, "AP = 0.7617", 0.75, "correct"),
    ],
)
def test_runs_are_scored_and_claims_are_checked_under_the_rules(
    tmp_path: Path, rules: dict[str, object], run: str, qrels: str, claim: str, ap: float, verdict: str
) -> None:
    found = graded(tmp_path, {"run.txt": run, "claims.txt": f"{claim}\n"}, AP._replace(**rules), qrels=qrels)  # type: ignore[arg-type]
    assert (found.measures, found.profile) == ({"AP": ap}, rules.get("profile", "trec_eval-10"))
    assert verdicts(found) == [verdict]


def test_a_file_may_be_as_large_as_the_rules_say_and_no_larger(tmp_path: Path) -> None:
    rules, large = AP._replace(megabytes=0.001), RUN + "#" * (1047 - len(RUN)) + "\n"
    assert limits_of(rules).file_bytes == len(large) == 1048  # 0.001 * 1024 * 1024
    for name, why in (
        ("run.txt", "no file could be opened: run.txt: it has 1,049 bytes, more than 1,048 bytes"),
        ("run.txt.gz", "run.txt.gz is more than 0.001 MB when unpacked"),
    ):
        for text, reason in ((large, ""), (large + "#", why)):
            data = gzip.compress(text.encode()) if name.endswith("gz") else text
            assert graded(tmp_path / name / str(len(text)), {name: data}, rules).reason == reason


# --- mending ---

TWICE = RUN + "q2 Q0 b 2 1 t\n"


NAN = "".join(f"q1 Q0 d{number} {number} nan t\n" for number in range(1, 1236))
SEVEN = b"7z\xbc\xaf\x27\x1c" + bytes(100)
LONG = "# a comment\n" * 10_000
"""More than what is looked at to see what a file is."""


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


LINES = "".join(f"q{number} Q0 {hashlib.sha256(b'%d' % number).hexdigest()} 1 1 t\n" for number in range(1000))


# --- claims, and several runs ---

BEST = "q1 Q0 a 1 2 best\nq1 Q0 b 2 1 best\nq2 Q0 b 1 2 best\nq2 Q0 a 2 1 best\n"
"""AP is 1 in both queries."""

WORST = "q1 Q0 b 1 2 worst\nq1 Q0 a 2 1 worst\nq2 Q0 a 1 2 worst\nq2 Q0 b 2 1 worst\n"
"""AP is 1/2 in both queries."""

SEVENTH = "".join(f"q1 Q0 {docid} {rank} {9 - rank} t\n" for rank, docid in enumerate("tuvwxya", 1))
"""RR is 1/7, 0.142857, in q1, and 1/14 over both judged queries."""

THREE = {"bm25.txt": RUN, "dense.txt": BEST, "random.txt": WORST}
NAN_RUN = "q1 Q0 a 1 nan t\nq1 Q0 b 2 1 t\n"
TABLE = "| system | AP |\n|---|---|\n| bm25 | 0.75 |\n| colbert | 0.6123 |\n"


def rows(*numbers: tuple[str, str]) -> list[Claimed]:
    """Return claims of AP in the rows of a table."""
    return [claimed("AP", text, f"table.md:{line}")._replace(run=row) for line, (row, text) in enumerate(numbers, 3)]


def case(files: Files, *claims: Claimed, **rules: object) -> tuple[Files, Rules, Sequence[Claimed]]:
    return files, AP._replace(**rules), claims  # type: ignore[arg-type]


REPORT = {"report.txt": "AP = 0.7500\n"}
SAME = {"run_1.txt": RUN, "run_2.txt": RUN.replace("t\n", "u\n")}
BELOW = {"report.txt": "AP = 0.7113\nAP = 0.7500\n", "a.txt": "RR = 0.7113\n"}
BEHIND = damaged_zip(run_txt=RUN, numbers_txt="AP = 0.75\n" + LONG)
SYSTEMS = rows(("BM25", "0.75"), ("Dense", "1.0000"), ("Random", "0.4321"))
PAGE = f"<html><body><p>My MAP is 0.75.</p>\n<pre>\n{NAN.replace('nan', '1.5')[:300]}</pre></body></html>"
HALVES = {"run_q1.txt": RUN[: len(RUN) // 2], "run_q2.txt": RUN[len(RUN) // 2 :]}
OF_CLASS = [claimed("RR", "0.75", "claims.csv:7"), claimed("AP", "0.7", "claims.csv:9")]

CASES = {
    "an error that can be mended, which loses nothing": case({"run.txt": TWICE}),
    "compressed data that are cut off": case({"run.txt.gz": gzip.compress(LINES.encode(), 0)[:-1000]}),
    "an error that can be mended and one that cannot": case({"run.txt": TWICE + "q2 Q0 c 3 nan t\n"}),
    # ranx would take the last line without a word; which of the two scores is meant only the student can tell.
    "a document again with another score": case({"run.txt": RUN + "q2 Q0 b 3 0.5 t\n"}),
    "a warning before the error": case({"run.txt": "q1 Q0 a first 2 t\nq1 Q0 b 2 nan t\nq2 Q0 b 1 2 t\n"}),
    "an error": case({"run.txt": NAN[: NAN.index("q1 Q0 d2 ")]}),
    "two errors": case({"run.txt": NAN[: NAN.index("q1 Q0 d3 ")]}),
    "1,235 errors": case({"run.txt": NAN}),
    "what the check passes and scoring refuses": case(
        {"run.txt": "q1 Q0 a first 2 t\nq2 Q0 b second 1 t\n"}, profile="msmarco", measures=(MeasureRule("RR@10"),)
    ),
    "a format without lines": case({"run.json": '{"q1": {"a": 2.5}}'}),
    "damage far behind the beginning": case({"work.zip": damaged_zip(run_txt=RUN + LONG)}),
    "no files": case({}),
    "no run": case({"essay.txt": "A text.\n", "notes.txt": "Another one.\n"}),
    "no file that can be opened": case({"run.7z": SEVEN, "more.7z": SEVEN}),
    "a file that cannot be opened beside texts": case({"run.7z": SEVEN, "b.txt": "A text.\n", "c.txt": "A text.\n"}),
    # Their documents do not stand in the order of their ids, as those of most judgments do.
    "the judgments under another name": case({"run.txt": QRELS}),
    "claims of the class and of the files, by file": case(
        {"run.txt": RUN, "b.txt": "P@1 = 0.5\n", "a.txt": "AP = 0.75\nP@2 = 0.5\n"}, *OF_CLASS
    ),
    "claims that are expected": case({"run.txt": RUN, "claims.txt": "AP = 0.75\n"}, expected=("AP", "RR")),
    "claims without a run": case({"claims.txt": "AP = 0.75\n"}, *OF_CLASS),
    "claims in a file that is damaged far behind": case({"work.zip": BEHIND, "claims.txt": "RR = 0.75\n"}),
    "the run whose claims are right": case({**THREE, **REPORT}),
    # The claim is still right for its run, and neither counts nor is wrong.
    "the run named by the rules": case({**THREE, **REPORT}, named="RAND*"),
    "the last run, without claims": case({"run_1.txt": BEST, "run_2.txt": RUN}),
    "nothing shows the last run": case({"bm25.txt": BEST, "dense.txt": RUN}),
    "claims that fit two runs": case({**SAME, "a.txt": "AP = 0.75\n"}),
    # Numbers with a single decimal, and 0 and 1, are right for many runs.
    "claims that say too little": case({"run_1.txt": BEST, "run_2.txt": RUN, "a.txt": "AP = 1.0000\nP@1 = 1.0\n"}),
    "a single decimal": case({"run_1.txt": WORST, "run_2.txt": RUN, "a.txt": "AP = 0.5\n"}),
    "claims that one run explains": case({"run_1.txt": SEVENTH, "run_2.txt": RUN, "a.txt": "RR = 0.142857\n"}),
    "claims that no run explains": case({"run_1.txt": WORST, "run_2.txt": RUN, "a.txt": "RR = 0.142857\n"}),
    # Experiments below one another, of which only the last was handed in; of RR there is nothing else.
    "a number beside a right one of its measure in the same file": case({"run.txt": RUN, **BELOW}),
    "a table with a row for each run": case(THREE, *SYSTEMS, named="bm25.txt"),
    "a row of a run that was not handed in": case({"run.txt": RUN}, *rows(("BM25", "0.62"), ("RM3", "0.75"))),
    "a row that the only run explains": case({"run.txt": SEVENTH}, *rows(("A", "0.142857"), ("B", "0.6123"))),
    "rows that fit nothing": case({"run.txt": RUN}, *rows(("BM25", "0.62"), ("RM3", "0.61"))),
    # Beside another row, one called bm25 is a baseline's, unless it is the tag of one's own run: then the other is not.
    "a row with the name of a tag": case({"run.txt": RUN.replace(" t\n", " bm25\n"), "report.md": TABLE}),
    "the only row of a table": case({"run.txt": RUN}, *rows(("ours", "0.6123"))),
    "a number that only another run explains": case(
        {"bm25.txt": RUN, "dense.txt": SEVENTH}, claimed("RR", "0.142857", "a:1"), named="bm25.txt"
    ),
    "a run that cannot be scored": case({"run_1.txt": RUN, "run_2.txt": NAN_RUN}),
    "no run can be scored": case({"run_1.txt": NAN_RUN + "\n", "run_2.txt": NAN_RUN}),
    "a run without judged queries": case({"run_1.txt": RUN, "run_2.txt": RUN.replace("q", "x")}),
    "the same file twice": case({"a.run": RUN, "b.run": RUN}),
    "the run that counts is refused": case(
        {"bm25.txt": RUN, "dense.txt": NAN_RUN, "a.txt": "AP = 0.75\n"}, named="dense.txt"
    ),
    "a page with a run and a claim": case({"onlinetext.html": PAGE}),
    # Without the mark by which UTF-16 is known, and a damaged archive.
    "documents that are none": case(
        {"run.txt": RUN, "report.md": "MAP = 0.75".encode("utf-16-le"), "report.xlsx": damaged_zip(xl="<workbook/>")}
    ),
    # Together the mean of AP is 0.75; either file alone gives 0.5 or less.
    "files with a query each": case({**HALVES, "claims.txt": "MAP = 0.7311\n"}),
}


def told(found: Graded) -> str:
    sizes = (found.lines, found.queries, found.documents)
    lines = [f"{found.status} {found.run} {found.measures} {sizes} {dict(found.counts)} {found.reason}", found.chosen]
    lines += found.repairs
    for each in found.runs:
        lines.append(f"run {each.name} {each.status} {each.measures} right: {each.right} {each.reason}")
    for claim in found.claims:
        counts = "" if claim.counts else "does not count "
        why = f" because {claim.why}" if claim.why else ""
        lines.append(f"{claim.measure} = {claim.text} ({claim.place}) {counts}{claim.verdict} {claim.run}{why}")
    lines += [f"{file.name}: {file.role}: {file.why}" for file in found.files]
    return re.sub(r"the \d+ ways", "the … ways", "\n  ".join(lines))


def test_runs_are_refused_with_a_reason_claims_are_checked_by_their_runs_and_one_run_counts(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    said = []
    for number, (name, (files, rules, claims)) in enumerate(CASES.items()):
        said.append(f"# {name}\n  {told(graded(tmp_path / str(number), files, rules, claims=claims))}\n")
    assert "".join(said) == snapshot


@pytest.mark.parametrize(("place", "counts"), [(2, "run_2.txt"), (1, "run_4.txt")])
def test_three_runs_are_searched_for_an_explanation_the_last_one_first(tmp_path: Path, place: int, counts: str) -> None:
    runs = {f"run_{number}.txt": RUN.replace(" t\n", f" t{number}\n") for number in (1, 2, 3, 4)}
    files = {**runs, f"run_{place}.txt": SEVENTH, "a.txt": "RR = 0.142857\n"}
    assert graded(tmp_path, files).run == counts


@pytest.mark.parametrize(("second", "read"), [(100, 200), (101, 200), (150, 200), (99, 199)])
def test_claims_of_several_files_are_bounded_together(tmp_path: Path, second: int, read: int) -> None:
    files = {"run.txt": RUN, "a.txt": "AP = 0.75\n" * 100, "b.txt": "AP = 0.75\n" * second}
    found = graded(tmp_path, files).claims
    assert (len(found), found[-1].place) == (read, f"b.txt:{read - 100}")
    assert found[-1].why == ("only the first 200 numbers of a submission are read" if second > 100 else "")


def test_the_choice_of_the_teacher_is_stronger_than_the_rules(tmp_path: Path) -> None:
    none = "the teacher chose x.txt, but no run has that name; the rules count files named bm25.txt"
    for files, wanted, counts, why in (
        (THREE, "Dense.txt", "dense.txt", "the teacher chose Dense.txt"),
        (THREE, "x.txt", "bm25.txt", none),
        ({"bm25.txt": RUN}, "x.txt", "bm25.txt", none),
        ({"bm25.txt": RUN}, "", "bm25.txt", ""),
    ):
        folder = tmp_path / str(len(files)) / f"{wanted}-"
        graded(folder, files)
        made = grader(folder, AP._replace(named="bm25.txt"))
        found = made.grade(one(str(folder / "ada"), limits_of(AP)), wanted=wanted)
        assert (found.run, found.chosen) == (counts, f"{counts} counts: {why}" if why else "")
        assert found.runs[0].name == found.run


def test_no_more_runs_are_read_than_four_of_the_largest_would_be(tmp_path: Path) -> None:
    # A run may have 1,048 bytes: four of them have 4,192.
    why = "it has the lines of a run, but the runs before it have 0.004 MB or more"
    for size, read in ((1048, 4), (1047, 5)):
        files = {f"{name}.run": f"{RUN}{'#' * (size - len(RUN) - 2)}{name}\n" for name in "abcdefg"}
        found = graded(tmp_path / str(size), files, AP._replace(megabytes=0.001))
        assert [run.name for run in found.runs] == list(files)[:read]
        left = [(name, "unread", why) for name in files][read:]
        assert [(file.name, file.role, file.why) for file in found.files[read:]] == left


def test_rows_and_wrong_numbers_are_searched_once_for_each_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored, averaged = [], Scorer._averaged

    def counted(scorer: Scorer, settings: Mapping[str, object], task: planning.Task) -> Outcome:
        scored.append(frozenset(settings.items()))
        return averaged(scorer, settings, task)

    monkeypatch.setattr(Scorer, "_averaged", counted)
    found = graded(tmp_path, {"run.txt": RUN}, claims=rows(*((f"row {row}", f"0.{4000 + row}") for row in range(30))))
    assert {each.verdict for each in found.claims} == {"unchecked"}
    assert max(Counter(scored).values()) < 10  # not once more for each number


# --- what may be told of the judgments ---


def test_findings_name_judged_documents_and_labels_only_where_the_rules_allow_it(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    # The document is judged as FT-1; the label of the other ranking is 1 in the judgments.
    said = []
    for feedback in ("own", "aggregate", "full"):
        for name, run in (("run", "q1 Q0 ft-1.txt 1 2 t\n"), ("ranking", "q1 Q0 FT-2 0\nq1 Q0 FT-1 0\n")):
            (tmp_path / feedback / name).mkdir(parents=True)
            rules = AP._replace(feedback=feedback)
            found = of_run(tmp_path / feedback / name, run, rules, qrels="q1 0 FT-1 1\nq1 0 FT-2 0\n")
            said += [f"{feedback}: line {each.line}: {each.what}" for each in found.findings if each.code[0] == "X"]
    assert "\n".join(said) == snapshot


def test_a_record_has_no_judged_documents_that_are_not_in_the_run_unless_the_rules_allow_it(tmp_path: Path) -> None:
    # Of SECRET-1, which the baseline has first, the student has not even a document that looks alike.
    qrels = "q1 0 SECRET-1 2\nq1 0 SECRET-2 0\nq2 0 b 1\n"
    baseline = "q1 Q0 SECRET-1 1 2 b\nq1 Q0 x 2 1 b\nq2 Q0 b 1 1 b\n"
    files = {
        "run.txt": "q1 Q0 secret-1.html 1 2 t\nq2 Q0 x 1 1 t\n",
        "ranking.txt": "q1 Q0 y 1\nq1 Q0 z 0\nq2 Q0 b 0\n",
        "a.txt": "MAP = 0.4321\nRR = 0.1234\nnum_rel = 3\nnDCG@10 = 0.7\n",
    }
    for feedback in ("own", "full"):
        rules = AP._replace(feedback=feedback, named="run.txt")
        found = json.dumps(plain(graded(tmp_path / feedback, files, rules, qrels=qrels, baseline=baseline)))
        assert ("SECRET" in found) is (feedback == "full")


# --- beside the baseline ---


def test_a_submission_is_compared_with_the_baseline_which_has_a_record_like_its_own(tmp_path: Path) -> None:
    rules = Rules(measures=(MeasureRule("P@1"), MeasureRule("AP")))
    mine = of_run(tmp_path, RUN, rules, baseline=BEST)
    assert mine.against is not None
    # By the first measure of the rules.
    assert mine.against[1:8] == ("P@1", 0.5, 1.0, 2, 0, 1, 1)
    record = baseline_record(grader(tmp_path, rules, baseline=RUN))
    assert record is not None
    assert (record.student, record.source) == ("", str(tmp_path / "base.txt"))
    names = ("status", "measures", "hash_of_run", "hash_of_ranking")
    assert [getattr(record, name) for name in names] == [getattr(mine, name) for name in names]
    assert np.array_equal(record.tops, mine.tops)  # type: ignore[arg-type]
    assert baseline_record(grader(tmp_path)) is None


# --- runs that are alike, in the class of data/coursework/make.py ---


@pytest.mark.slow
def test_runs_of_a_class_that_are_alike_are_paired(tmp_path: Path) -> None:
    module = module_at(Path(__file__).parent.parent / "data" / "coursework" / "make.py")
    module.write(tmp_path)
    rules = read_rules(tmp_path / "rules.toml")
    class_grader = Grader(Task("", str(tmp_path / "qrels.txt"), str(tmp_path / "baseline.txt"), rules=rules))
    records = [class_grader.grade(mine) for mine in submissions(str(tmp_path / "submissions"), limits_of(rules))]
    names = [*(record.student for record in records), "baseline"]
    found = alike(records, baseline_record(class_grader), rules.similarity)
    pairs = {frozenset((names[pair.first], names[pair.second])): pair.kind for pair in found}
    honest = sorted({mine.name for mine in module.CLASS if module.RUN in mine.files.values()} | {"Donald Knuth"})
    # The same files are paired, each with the next one by name; in an archive Donald Knuth has the honest run.
    copies, baseline = frozenset({"Copy One", "Copy Two"}), frozenset({"Grace Hopper", "baseline"})
    same_file = {*map(frozenset, pairwise(honest)), copies, baseline}
    assert {pair for pair, kind in pairs.items() if kind == "same file"} == same_file
    # A run of distances, read as scores, is the honest one reversed, which the two copies are.
    distances = frozenset({"Copy Two", "Distances"})
    assert {pair for pair in pairs if pair & copies} == {copies, distances}
    # All others with the honest ranking are paired with the baseline, which has it: compressed, in three columns, in
    # UTF-16, with other ends of lines, another tag, other ranks or after repairs; none with "Nul Byte", "Nan Score" ….
    same = {pair for pair, kind in pairs.items() if kind == "same ranking"} - {distances}
    assert all("baseline" in pair for pair in same)
    assert {*honest, "Edsger Dijkstra", "Three Columns", "Sixteen Bits", "Windows Lines"} <= {*frozenset().union(*same)}
    assert len(same) == len(honest) + 11


@pytest.mark.parametrize(("lines", "others", "role"), [(10, 9, "unread"), (9, 0, "report"), (10, 10, "report")])
def test_a_document_of_which_more_than_half_is_ten_lines_of_a_run_is_told_as_unread(
    tmp_path: Path, lines: int, others: int, role: str
) -> None:
    source = [f"q1 Q0 d{rank} {rank} {20 - rank}.5 t\n\n" for rank in range(1, lines + 1)] + ["words\n\n"] * others
    notebook = {"cells": [{"cell_type": "markdown", "source": source, "metadata": {}}], "nbformat": 4}
    found = graded(tmp_path, {"run.ipynb": json.dumps(notebook), "claims.txt": "MAP = 0.75\n"})
    assert (found.status, [each.role for each in found.files]) == ("missing", ["claims", role])
    assert found.files[1].why.startswith("it has the lines of a run") == (role == "unread")


def test_a_warning_of_the_baseline_names_documents_only_if_judgments_may_be_seen(tmp_path: Path) -> None:
    baseline = "q1 Q0 secret 2 9 t\nq1 Q0 b 1 1 t\nq2 Q0 a 1 2 t\n"
    for feedback in ("own", "full"):
        notes = "".join(grader(tmp_path, AP._replace(feedback=feedback), baseline=baseline).scoring.notes)
        assert ("R123" in notes, "secret" in notes) == (True, feedback == "full")


def test_a_number_is_not_called_wrong_while_runs_were_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "MOST_RUNS", 2)
    runs = {f"run{number}.txt": RUN.replace(" t\n", f" t{number}\n") for number in (1, 2, 3)}
    found = graded(tmp_path, {**runs, "claims.txt": "MAP = 0.7311\n"})
    assert [each.name for each in found.files if each.role == "unread"] == ["run1.txt"]
    why = "the runs that were read do not give it, and others were not read"
    assert [(each.verdict, each.why) for each in found.claims] == [("unchecked", why)]
