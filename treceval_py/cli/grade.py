"""``treceval grade QRELS SUBMISSIONS -o OUT``."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from treceval_py.cli.commands import Command
from treceval_py.cli.options import choice, flag, given, number, option, titled
from treceval_py.cli.printing import Output, note, put, wrote
from treceval_py.cli.progress import working
from treceval_py.errors import visible
from treceval_py.version import pip_install

if TYPE_CHECKING:
    from treceval_py.grading.grades import Grades

BELOW = 3
"""The exit status of a single submission that was scored and is below the mark to pass."""

SHOWN = 20
"""Most submissions that could not be scored to list on the terminal; the overview lists all."""


def _check(ctx: click.Context) -> dict[str, object]:
    """Return what is wrong: other arguments beside --template, and standard input."""
    chosen = ctx.params
    names = ("qrels", "submissions", "claims", "baseline", "rules_file", "roster", "output")
    if chosen["template"]:
        return {
            "--template only writes the folder of a new exercise; remove the other arguments.": given(ctx)
            - {"template", "output"},
            "Missing option '-o': the folder to write to.": not chosen["output"],
        }
    return {
        "Grading cannot read standard input (-); name files.": "-" in [chosen[name] for name in names],
        "Missing argument 'QRELS'.": chosen["qrels"] is None and chosen["rules_file"] is None,
    }


@click.command("grade", cls=Command, peak=(110, 50), check=_check, common="-o --rules --roster --claims --template")
@click.argument("qrels", metavar="QRELS", required=False)
@click.argument("submissions", metavar="SUBMISSIONS", required=False)
@option("-o --output", "OUT", "Folder to write: a new or an earlier one.")
@option("--claims", "FILE", "Claimed values: CSV with student, measure, value.")
@titled("Grading")
@option("--baseline", "RUN", "Run to compare the submissions with.")
@option("--rules rules_file", "FILE", "Measures, thresholds, points and tasks (TOML).")
@option("--roster", "FILE", "Everybody in the class: CSV of a platform, or your own.")
@flag("--template", "Write a new exercise to OUT: rules, texts for students.")
@choice(
    "--to",
    ["moodle", "canvas", "gradescope"],
    "moodle, canvas or gradescope: also write its import file. Repeatable.",
    multiple=True,
    metavar="NAME",
)
@number("--workers", "Grade with N processes [one per core].", least=1, most=256)
@titled("A single submission")
@flag("--single", "SUBMISSIONS is one: print its grade as JSON.")
@option("--student", "NAME", "With --single: the student's name in the claims.")
@click.pass_context
def grade(
    ctx: click.Context,
    /,
    qrels: str,
    submissions: str,
    output: str,
    rules_file: str | None,
    template: bool,
    single: bool,
    student: str | None,
    to: tuple[str, ...],
    **chosen: Any,
) -> None:
    r"""Grade a class: check and score the run in every submission, and verify the claimed values.

    SUBMISSIONS is the export of Moodle, Canvas, Blackboard, Gradescope or another platform (zip, tar or tar.gz), or a
    folder with a file or folder per student. OUT is a folder for a gradebook (CSV and XLSX), a feedback file per
    student and an overview to open in a browser. Students declare values in claims.csv or on lines such as
    MAP = 0.3088.

    \b
    treceval grade qrels.txt submissions.zip -o graded
    treceval grade qrels.txt submissions/ -o graded --claims claims.csv --baseline bm25.txt --rules rules.toml
    treceval grade qrels.txt submissions.zip -o graded --roster participants.csv
    treceval grade submissions/ --rules course.toml -o graded       a course: the rules name the judgments of each task
    treceval grade --template -o exercise                          rules with comments, and what to tell students
    treceval grade qrels.txt submission.zip --single        one submission as JSON, for an autograder

    A submission that cannot be scored does not stop the others. To resume an interrupted grading, repeat the command.
    Exit status: 0: graded. 1: an input file is unreadable, or the single submission cannot be scored. 2: wrong usage.
    3: the single submission fails.
    """
    from treceval_py.grading import grading
    from treceval_py.grading.rules import DEFAULT_RULES, read_rules, write_template

    if template:
        write_template(output)
        wrote(os.path.join(output, ""))
        return
    rules = DEFAULT_RULES if rules_file is None else read_rules(rules_file)
    options = {name for name in given(ctx) if ctx.params[name]}
    for message, applies in _wrong(options, to, course=bool(rules.tasks)).items():
        if applies:
            raise click.UsageError(message)
    if rules.tasks:
        qrels, submissions = "", qrels
    files = {name: chosen[name] for name in ("claims", "baseline")}
    if single:
        ctx.exit(_print_one(qrels, submissions, results=bool(to), rules=rules, student=student, **files))
    if find_spec("xlsxwriter") is None:
        note(f"gradebook.xlsx is not written because xlsxwriter is not installed. {pip_install('grade')}")
    shared: dict[str, Any] = {
        "rules": rules,
        "roster": chosen["roster"],
        "workers": chosen["workers"],
        "without": [] if rules_file is None else [rules_file],
        "to": tuple(dict.fromkeys(to)),
    }
    with working("grading submissions") as after:
        if rules.tasks:
            course = grading.grade_course(submissions, output, after=after, **shared)
            books = {f"{name}: ": book for name, book in zip(course.names, course.tasks, strict=True)}
            notes = course.notes
        else:
            books, notes = {"": grading.grade(qrels, submissions, output, after=after, **shared, **files)}, ()
    for line in (*(f"{task}{line}" for task, book in books.items() for line in book.notes), *notes):
        note(f"{line}.")
    put("".join(_summary(book, task) for task, book in books.items()), None)
    wrote(os.path.join(output, ""))


def _wrong(options: Collection[str], to: Collection[str], *, course: bool) -> dict[str, bool]:
    """Return what is wrong with the arguments for a course, or for one exercise."""
    here, single = options if course else (), "single" in options
    alone = options if single and not course else ()
    other = "needs the rules of one exercise, and these are for a course."
    return {
        "The rules name the judgments of each task; remove QRELS.": "submissions" in here,
        "--claims belongs to a task; write claims_file in [[task]] of the rules.": "claims" in here,
        "--baseline belongs to a task; write baseline in [[task]] of the rules.": "baseline" in here,
        f"--single {other}": "single" in here,
        f"--student {other}": "student" in here,
        "Missing argument 'QRELS'.": not course and "qrels" not in options,
        "Missing argument 'SUBMISSIONS'.": ("qrels" if course else "submissions") not in options,
        "--single prints a grade and writes no files; remove -o.": "output" in alone,
        "--single grades one submission in one process; remove --workers.": "workers" in alone,
        "--roster lists a class, and --single grades one submission; remove one of them.": "roster" in alone,
        "With --single, only --to gradescope is possible.": single and not {*to} <= {"gradescope"},
        "--student names the student of a single submission; add --single.": not single and "student" in options,
        "Missing option '-o': the folder to write to.": not single and "output" not in options,
    }


def _print_one(qrels: str, submission: str, *, results: bool, **options: Any) -> int:
    """Print the grade of one submission, as Gradescope takes results or in full, and return its exit status."""
    from treceval_py.grading.grading import grade_one
    from treceval_py.grading.outputs.feedback import feedback
    from treceval_py.grading.outputs.gradebook import graded_json
    from treceval_py.grading.outputs.imports import gradescope_results
    from treceval_py.grading.records import REPAIRED, SCORED

    entry, book = grade_one(qrels, submission, **options)
    for line in (*book.notes, *book.strays):
        note(f"{line}.")
    made = gradescope_results(entry, feedback(entry, book)) if results else graded_json(entry, book)
    Output("json").put(json.dumps(made, indent=1, allow_nan=False) + "\n")
    if entry.graded.status not in (SCORED, REPAIRED):
        return 1
    return BELOW if entry.marks.passed is False else 0


def _summary(book: Grades, task: str) -> str:
    from treceval_py.grading.outputs.gradebook import summary
    from treceval_py.grading.records import REPAIRED, SCORED

    lost = [entry for entry in book.entries if entry.graded.status not in (SCORED, REPAIRED)]
    first, *others = summary(book)
    lines = [f"{task}{first}", *others]
    lines += [f"  {entry.student}: {entry.graded.status}: {entry.graded.reason}" for entry in lost[:SHOWN]]
    lines += [f"  and {len(lost) - SHOWN} more, see the overview"] * (len(lost) > SHOWN)
    lines += [f"not matched: {stray}" for stray in book.strays[:SHOWN]]
    lines += [f"and {len(book.strays) - SHOWN} more not matched, see the overview"] * (len(book.strays) > SHOWN)
    return "".join(visible(line) + "\n" for line in lines)
