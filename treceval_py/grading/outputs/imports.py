"""Files for learning platforms: grades and feedback in the columns that each platform imports."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

from treceval_py.data.ids import encode, quoted
from treceval_py.errors import EvaluationError
from treceval_py.grading.grades import Entry, Grades, Person
from treceval_py.grading.outputs.gradebook import csv_of, shown
from treceval_py.rendering.tables import Column, Table

Texts = Mapping[str, str]
"""The feedback of each entry, by the entry's name."""

MADE = (1980, 1, 1, 0, 0, 0)
"""A fixed time for members of a zip archive, so that the same grades give the same bytes."""


class Platform(NamedTuple):
    """A learning platform.

    Attributes
    ----------
    file : str
        The file that is written for it.
    make : callable
        Makes the file from a class and the feedback of its students. Also returns the students left out, with reasons.
    where : str
        Where to upload the file on the platform.
    """

    file: str
    make: Callable[[Grades, Texts], tuple[bytes, dict[str, str]]]
    where: str


def _csv(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    cells = [*zip(*rows, strict=True)] or [()] * len(titles)
    return encode(csv_of(Table(tuple(map(Column, titles, cells)))))


def _points(entry: Entry, excused: str) -> str:
    return excused if entry.marks.excused else f"{entry.marks.total:.2f}"


def _known(entry: Entry, platform: str) -> tuple[Person, dict[str, str], str]:
    """Return the student, the row of the roster by titles, and the number of the account on the platform."""
    person = entry.person or Person("")
    return person, dict(person.row), entry.account if entry.platform == platform else ""


# Moodle -------------------------------------------------------------------------------------------

_IDENTIFIER = re.compile(r"\D*\d+")
_OF_THE_GRADE = re.compile(r"\((.+)\)$")

NUMBER, GRADE, MODIFIED, COMMENTS = "Identifier", "Grade", "Last modified (grade)", "Feedback comments"
"""The columns of a grading worksheet that Moodle reads, by their English titles."""

UNKNOWN = "participant number unknown; give Moodle's grading worksheet as the roster"


def _moodle(book: Grades, texts: Texts) -> tuple[bytes, dict[str, str]]:
    """Return a grading worksheet: the roster if it is one; otherwise one made from the numbers in folder names."""
    everybody = [_known(entry, "moodle") for entry in book.entries]
    titles = next((titles for _, row, _ in everybody if _grade_of(titles := tuple(row))), ())
    grade = _grade_of(titles)
    after = (after for title, after in pairwise(titles) if title.casefold().endswith(f"({grade.casefold()})"))
    comments = COMMENTS if COMMENTS in titles else next(after, "")
    made = (*titles, MODIFIED) if grade == GRADE and MODIFIED not in titles else titles
    identifiers = [row.get(titles[0], "") for _, row, _ in everybody] if grade else []
    prefix = next((name.rstrip("0123456789") for name in identifiers if _IDENTIFIER.fullmatch(name)), "Participant ")
    rows, left = [], {}
    for entry, (person, row, number) in zip(book.entries, everybody, strict=True):
        # Moodle reads an empty grade as no grade, and comments as HTML.
        points, comment = _points(entry, ""), f"<pre>{escape(texts[entry.name], quote=False)}</pre>"
        name = shown(entry.student)
        if grade and (number or _IDENTIFIER.fullmatch(row.get(titles[0], ""))):
            # Students missing from the worksheet may have joined the course later.
            known = row or {titles[0]: prefix + number, titles[1]: name}
            filled = {**known, grade: points, comments: comment}
            rows.append([filled.get(title, "") for title in made])
        elif number:
            rows.append([prefix + number, name, person.email, points, "", comment])
        else:
            left[entry.student] = UNKNOWN
    return _csv(made or (NUMBER, "Full name", "Email address", GRADE, MODIFIED, COMMENTS), rows), left


def _grade_of(titles: Sequence[str]) -> str:
    """Return the title of a worksheet's grade column, in any language; empty if this is not a worksheet.

    For example "Last modified (grade)" and "Grade", or in German "Zuletzt geändert (Bewertung)" and "Bewertung".
    """
    named = {grade[1].casefold() for title in titles if (grade := _OF_THE_GRADE.search(title))}
    if titles[:1] == (NUMBER,):
        named.add(GRADE.casefold())
    return next((title for title in titles[1:] if title.casefold() in named), "")


# Canvas -------------------------------------------------------------------------------------------

STUDENT = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
"""The first columns of a Canvas gradebook."""

EXCUSED = "EX"

_ASSIGNMENT = re.compile(r".+ \(\d+\)")
_COMPUTED = re.compile(r"(?:Current|Final|Override) (?:Score|Points|Grade|Status)")


def _canvas(book: Grades, texts: Texts) -> tuple[bytes, dict[str, str]]:  # noqa: ARG001 - Canvas takes no comments
    """Return a gradebook with one assignment; Canvas finds students by number, SIS id or name."""
    everybody = [_known(entry, "canvas") for entry in book.entries]
    titles = next((tuple(row) for _, row, _ in everybody if "ID" in row and "Section" in row), ())
    before = titles[: titles.index("Section") + 1] if titles else STUDENT
    column = _assignment(titles, book.rules.title or "treceval")
    rows = []
    for entry, (person, row, account) in zip(book.entries, everybody, strict=True):
        known = (entry.student, account, person.number, person.login or person.email, "")
        own = row if titles and row else dict(zip(STUDENT, known, strict=True))
        rows.append([*(shown(own.get(title, "")) for title in before), _points(entry, EXCUSED)])
    # Canvas reads the points of a new assignment from this row; for an existing one they would be changed.
    possible = [["    Points Possible", *[""] * (len(before) - 1), f"{book.rules.points:.2f}"]]
    return _csv((*before, column), rows if column in titles else [*possible, *rows]), {}


def _assignment(titles: Sequence[str], wanted: str) -> str:
    """Return the column of an assignment: the one of that name in the gradebook, or the only one; otherwise a new one.

    Canvas finds the assignment by the number after its name.
    """
    assignments = [title for title in titles if _ASSIGNMENT.fullmatch(title) and not _COMPUTED.search(title)]
    called = [title for title in assignments if title.rpartition(" (")[0].casefold() == wanted.casefold()]
    return next(iter(called or assignments * (len(assignments) == 1)), wanted)


# Gradescope ---------------------------------------------------------------------------------------

_SUBMISSION = re.compile(r"(?:^|[/\\])submission_(\d+)$")

SETUP = "#!/usr/bin/env bash\ncommand -v python3 > /dev/null || (apt-get update && apt-get install -y python3)\n"

RUN = '''#!/usr/bin/env python3
"""Give a submission the grade that was computed before."""

import json
import pathlib
import shutil
import sys

with open("submission_metadata.json", encoding="utf-8") as stream:
    submission = json.load(stream)
with open("source/students.json", encoding="utf-8") as stream:
    students = json.load(stream)
names = [str(submission.get("id", ""))]
for key in ("email", "sid", "name"):
    names += [str(user.get(key) or "") for user in submission.get("users", ())]
found = next((students[name] for name in map(str.casefold, names) if students.get(name)), None)
if found is None:
    sys.exit("There is no grade for " + ", ".join(filter(None, names)))
pathlib.Path("results").mkdir(exist_ok=True)
shutil.copyfile("source/results/" + found, "results/results.json")
'''


def gradescope_results(entry: Entry, text: str) -> dict[str, Any]:
    """Return the content of results.json for Gradescope's autograder; `text` is the feedback.

    References
    ----------
    Gradescope. Autograder Specifications. https://gradescope-autograders.readthedocs.io/en/latest/specs/
    """
    tests = [
        {"name": shown(mark.part), "score": mark.points, "max_score": mark.most, "output": shown(mark.why)}
        for mark in entry.marks.items
    ]
    return {"score": entry.marks.total, "output": text, "tests": tests}


def _gradescope(book: Grades, texts: Texts) -> tuple[bytes, dict[str, str]]:
    """Return an autograder that gives each student the grade computed here, since Gradescope imports no scores."""
    files = {"setup.sh": SETUP, "run_autograder": RUN}
    students: dict[str, str] = {}
    left = {}
    for entry in book.entries:
        if entry.marks.excused:
            left[entry.student] = "excused, which Gradescope does not support"
            continue
        name = f"{entry.name}.json"
        files[f"results/{name}"] = json.dumps(gradescope_results(entry, texts[entry.name]), indent=1) + "\n"
        person, *_ = _known(entry, "gradescope")
        exported = _SUBMISSION.findall(entry.graded.source * (entry.platform == "gradescope"))
        for key in filter(None, (*exported, person.email, person.number, person.login, entry.student)):
            # A key that fits two students identifies neither.
            students[key.casefold()] = name if students.get(key.casefold(), name) == name else ""
    files["students.json"] = json.dumps(students, indent=1, sort_keys=True) + "\n"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path, content in files.items():
            member = zipfile.ZipInfo(path, MADE)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o100755 << 16
            archive.writestr(member, content.encode("utf-8", "surrogatepass"))
    return stream.getvalue(), left


PLATFORMS = {
    "moodle": Platform("import-moodle.csv", _moodle, "Moodle: in the assignment, choose Upload grading worksheet"),
    "canvas": Platform("import-canvas.csv", _canvas, "Canvas: in Grades, choose Import"),
    "gradescope": Platform(
        "import-gradescope.zip",
        _gradescope,
        "Gradescope: upload it under Configure Autograder, then choose Regrade All Submissions",
    ),
}
"""The platforms, by the values of ``--to``."""


def check_platforms(names: Sequence[str]) -> None:
    """Raise `EvaluationError` for platforms that have no import file."""
    for name in set(names) - PLATFORMS.keys():
        raise EvaluationError(f"unknown platform {quoted(encode(name))}", f"Choose from {', '.join(PLATFORMS)}.")
