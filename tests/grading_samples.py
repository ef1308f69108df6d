"""A class of ten invented students, graded by hand, in which every status and every verdict comes once at least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec

import pytest

from treceval_py.checking.findings import Finding
from treceval_py.errors import TrecevalError
from treceval_py.grading import processes as workers
from treceval_py.grading.attention import with_questions
from treceval_py.grading.claims.claims import Claimed, claims_of
from treceval_py.grading.claims.documents.reading import read_document
from treceval_py.grading.grades import Change, Entry, Grades, Mark, Marks, Pair, Person, Question
from treceval_py.grading.marking.marking import Grader
from treceval_py.grading.records import AgainstBaseline, Checked, FileRead, Graded, Loss, LostDocument, RunRead
from treceval_py.grading.rules import DEFAULT_RULES


def claims_in(data: bytes, name: str) -> list[Claimed]:
    """Return the numbers in a submitted file of any format."""
    return claims_of(read_document(data, name), name)


FORMULA = '=HYPERLINK("http://evil")'
SCRIPT = "<script>alert(1)</script>"
CONTROL = "Eve\x1b[31m\x00\x07"
OVERRIDE = "\u202efdp.txt"
LONG = "x" * 300
UMLAUT = "Ödön von Horváth-日本語"

SIGNATURE = "AP|q:50|tie:docid|treceval:0.1.0"


def graded_here(
    setup: workers.Setup, jobs: Sequence[workers.Job], *, after: Callable[[], None] | None = None, **_: object
) -> list[workers.Reply]:
    """Grade in the test's process; in place of `graded_by_processes`, whose processes take a while to start."""
    grader = Grader(setup.assignment)
    found = []
    for job in jobs:
        reply = workers._answered(job, grader, setup)
        if isinstance(reply, TrecevalError):
            raise reply
        found.append(reply)
        if after is not None:
            after()
    return found


def quick(monkeypatch: pytest.MonkeyPatch, *, pages: bool = False) -> None:
    """Grade in the test's process, and unless wanted write no workbooks."""
    monkeypatch.setattr("treceval_py.grading.exercise.graded_by_processes", graded_here)
    for module in ("folder", "pages"):
        found = find_spec if pages else lambda _: None
        monkeypatch.setattr(f"treceval_py.grading.outputs.{module}.find_spec", found)


def marks(run: float, claims: float, why: str = "the run was scored") -> Marks:
    """Return marks for a run (40 at most) and claims (60 at most); who has 50 passes."""
    items = (
        Mark("run", run, 40.0, why),
        Mark("claim AP", claims / 2, 30.0, "half of the points"),
        Mark("claim nDCG@10", claims / 2, 30.0, "half of the points"),
    )
    return Marks(items, run + claims, 100.0, run + claims >= 50)


def finding(code: str, severity: str, line: int, column: int, what: str, todo: str = "") -> Finding:
    return Finding(code, severity, "run.txt", line, column, what, todo)


def scored(student: str, ap: float, ndcg: float, **more: object) -> Graded:
    """Return a submission that was scored; `more` replaces what it has."""
    against = AgainstBaseline("bm25.run", "AP", ap, 0.25, 50, 20, 28, 2, 0.0312 if ap < 0.25 else 0.41)
    made = Graded(
        student,
        f"class.zip/{student}",
        "scored",
        files=(FileRead("run.txt", "run", "it is the only file with the lines of a run", 65536),),
        run="run.txt",
        kind="run",
        lines=5000,
        queries=50,
        documents=4321,
        missing_queries=(0, 50),
        profile="trec_eval-10",
        measures={"AP": ap, "nDCG@10": ndcg},
        signatures={"AP": SIGNATURE, "nDCG@10": SIGNATURE.replace("AP", "nDCG@10")},
        against=against,
    )
    return made._replace(**more)  # type: ignore[arg-type]


KEEP = "Keep one."
TWICE = range(7, 17)

LOSSES = (
    Loss(
        "301",
        0.01,
        0.5,
        (LostDocument("FBIS3-10082", 2, None, 1), LostDocument(SCRIPT, 1, 1200, 3), LostDocument("LA-1", 1, 9, None)),
    ),
    *(Loss(f"{qid}", 0.1, 0.1 + (320 - qid) / 100) for qid in range(302, 309)),
)

ADA = scored(
    "Ada Lovelace",
    0.3125,
    0.5,
    claims=(
        Checked("AP", "0.3125", "claims.csv:2", "correct", 0.3125),
        Checked("nDCG@10", "0.50", "claims.csv:3", "correct", 0.5),
    ),
)
BOB = scored(
    "Bob",
    0.2,
    0.375,
    status="repaired",
    lines=5012,
    findings=(
        *(finding("R120", "error", line, 7, f"document 'd{line}' comes twice in query '301'", KEEP) for line in TWICE),
        finding("R130", "warning", 0, 0, "41 % of the documents share their score with another one"),
    ),
    counts={"R120": 17, "R130": 1},
    repairs=("17 exact duplicates removed (first: line 7)", "byte-order mark removed"),
    against=AgainstBaseline("bm25.run", "AP", 0.2, 0.25, 50, 20, 28, 2, 0.0312, LOSSES),
    claims=(
        Checked("AP", "0.1999", "claims.csv:4", "rounding", 0.2, "cut off after four digits"),
        Checked("nDCG@10", "0.3512", "claims.csv:5", "convention", 0.375, "the gain is 2^rel - 1", "gdeval"),
    ),
)
CARLA = scored(
    UMLAUT,
    0.25,
    0.25,
    missing_queries=(3, 50),
    claims=(
        Checked("AP", "0.2660", "README.md:12", "mistake", 0.25, "the sum is divided by the queries of the run"),
        Checked("nDCG@10", "0.9", "README.md:13", "not reproduced", 0.25, "nearest is nDCG@1, 0.8123"),
    ),
)
DAN = Graded(
    FORMULA,
    f"class.zip/{FORMULA}",
    "refused",
    "the scores are no numbers",
    files=(
        FileRead("run.csv", "refused", "it has commas between its columns", 1234),
        *(FileRead(f"page{number}.pdf", "not used", "it is a PDF document", 99) for number in range(22)),
    ),
    findings=(finding("R112", "error", 1, 4, "the columns are separated by commas", "Separate them by spaces."),),
    counts={"R112": 1},
    claims=(
        Checked("AP", "@SUM(A1)", "claims.csv:6", "unchecked", None, "it is not a number"),
        Checked("nDCG@10", "", "", "no claim"),
    ),
)
EVE = Graded(CONTROL, f"class.zip/{CONTROL}", "missing", "the folder is empty")
FAY = Graded(SCRIPT, f"class.zip/{SCRIPT}", "failed", "it took more than 120 seconds")
EVIDENCE = (
    Checked("AP", "0.3125", "report.md:1", "confirmed", 0.3125, counts=False, sentence="AP is 0.3125."),
    Checked("AP", "0.25", "report.md:2", "explained", 0.3125, "it is the value of the baseline", counts=False),
    Checked("AP", "0.4", "report.md:3", "asked", 0.3125, "nothing gives it", counts=False, sentence="=1+1"),
    Checked("AP", "0.5", "report.md:4", "asked", 0.3125, "nothing gives it", counts=False, sentence="<i>AP</i>"),
)
GUS = scored(OVERRIDE, 0.3125, 0.5, run="b\u202efdp.run", findings=(), hash_of_run="ab" * 32, claims=EVIDENCE)
HAL = scored(LONG, 0.05, 0.0625, claims=(Checked(LONG, LONG, LONG, "unchecked", None, LONG),))
IDA = scored("-1+1;=cmd|' /C calc'!A0", 0.125, 0.125)
JOE = scored("joe\tsixpack@", 0.25, 0.25, against=None)

ENTRIES = (
    Entry(ADA, marks(40, 60), "Ada_Lovelace"),
    Entry(BOB, marks(30, 45, "the run was scored after repairs: 0.75 of 40 points"), "Bob"),
    Entry(CARLA, marks(40, 7.5), "Odon_von_Horvath"),
    Entry(DAN, marks(0, 0, "there is no run that can be scored"), "HYPERLINK"),
    Entry(EVE, marks(0, 0, "there is no run"), "Eve"),
    Entry(FAY, marks(0, 0, "grading was stopped"), "script"),
    Entry(GUS, marks(40, 0), "fdp.txt"),
    Entry(HAL, marks(40, 0), "x"),
    Entry(IDA, marks(40, 30), "1_1_cmd"),
    Entry(JOE, marks(40, 10.25), "joe_sixpack"),
)

GRADES = with_questions(
    Grades(
        qrels="qrels.txt",
        submissions="class.zip",
        baseline="bm25.run",
        rules=DEFAULT_RULES._replace(title="Retrieval, exercise 3", pass_mark=50.0),
        measures=("AP", "nDCG@10"),
        baseline_measures={"AP": 0.25, "nDCG@10": 0.3},
        entries=ENTRIES,
        pairs=(Pair(0, 6, "same ranking", 1.0, 50), Pair(9, -1, "nearly the same", 0.97215, 50)),
        strays=("claims.csv:12: student 'xy' handed nothing in",),
        notes=("__MACOSX was left out",),
    )
)

# A course: a roster, several runs, what was not read, changes of points, an excuse -----------------

LI = scored(
    "Li_Ming_5003_assignsubmission_file",
    0.3125,
    0.5,
    run="runs/b.txt",
    files=(
        FileRead("runs/b.txt", "run", "it has the lines of a run", 65536),
        FileRead("runs/a.txt", "run", "it has the lines of a run", 65530),
        FileRead("report.docx", "report", "no number in it is a claim", 20480),
        FileRead("scan.pdf", "unread", "scan.pdf has no text layer", 409600),
    ),
    runs=(
        RunRead("runs/b.txt", "scored", "", {"AP": 0.3125, "nDCG@10": 0.5}, right=1),
        RunRead("runs/a.txt", "scored", "", {"AP": 0.25, "nDCG@10": 0.375}, right=1),
        RunRead("runs/old.txt", "refused", "line 3: score 'nan' is not a number"),
    ),
    chosen="runs/b.txt counts: it was handed in last",
    claims=(
        Checked("AP", "0.3125", "notes.md:3", "correct", 0.3125, run="runs/b.txt"),
        Checked(
            *("nDCG@10", "0.3750", "notes.md, table 1, row 2", "correct", 0.375),
            why="it is a number of runs/a.txt, which does not count: it has no effect on the points",
            run="runs/a.txt",
            counts=False,
        ),
    ),
    handed_in="2026-11-02T23:10:00+00:00",
    late=True,
    attempt="2",
)
LATE = marks(40, 30)._replace(
    total=66.5,
    changes=(
        Change("late", -7.0, "1 day late; 10 % of the points for each day"),
        Change("adjusted", 3.5, "the table in the report is right: =1+1"),
    ),
)
ZOE = Graded("zoe", "roster.csv", "missing", "nothing was handed in")

COURSE = with_questions(
    GRADES._replace(
        entries=(
            Entry(LI, LATE, "Li_Ming", Person("李明", "5003", "li@example.org", "li-ming", "B")),
            Entry(ZOE, Marks((), 0.0, 0.0, None, (Change("adjusted", 0.0, "ill"),), True), "Zoe", Person("Zoë Roß")),
            Entry(BOB, marks(30, 45), "Bob", None, (Question("nobody's", "'Bob' is not on the roster"),)),
        ),
        pairs=(),
        strays=(),
    )
)
