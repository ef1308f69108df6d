"""One exercise, or one task of a course: processes grade the submissions, and their records give points."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, MutableMapping, Sequence

from treceval_py.data.ids import encode
from treceval_py.errors import EvaluationError, InputError
from treceval_py.grading.adjustments import Adjustment, adjusted, decided
from treceval_py.grading.claims.claims import Claimed, claimed, shown
from treceval_py.grading.claims.documents.text import SEPARATED, SEPARATORS, content_of, decoded, lines_of, records
from treceval_py.grading.claims.naming import is_name
from treceval_py.grading.grades import Entry, Grades, days_late, marks_of, penalised
from treceval_py.grading.intake.folders import close_kept
from treceval_py.grading.intake.platforms import safe_name
from treceval_py.grading.marking.marking import Grader, baseline_record
from treceval_py.grading.marking.similarity import alike
from treceval_py.grading.people import Class, Member, columns_of_students, match_students
from treceval_py.grading.processes import Job, Setup, graded_by_processes
from treceval_py.grading.records import MISSING, FileRead, Graded
from treceval_py.grading.rules import DEFAULT_RULES, Rules, Task, fingerprint
from treceval_py.version import __version__


def claims_of_class(path: str | os.PathLike[str]) -> dict[str, list[Claimed]]:
    """Read the claims of a class: a table with a column for students.

    The first line names the columns. Besides the students, there is either a column ``measure`` and a column ``value``,
    or a column for each measure. The order of columns is free, other columns are ignored, and commas, semicolons or
    tabs separate them. A row without a value claims nothing. A value that is not a number, or has an unknown measure,
    is a claim with a fault.

    Parameters
    ----------
    path : path
        A file in UTF-8, UTF-16 or cp1252, as Excel writes it.

    Returns
    -------
    dict of str to list of Claimed
        The claims of each student, under the name in the file.

    Raises
    ------
    InputError
        The file cannot be read, or is not such a table.
    """
    file = os.fspath(path)
    lines = lines_of(decoded(content_of(file)))
    first = next((at for at, line in enumerate(lines) if line.strip() and not SEPARATED.fullmatch(line)), len(lines))
    separator = max(SEPARATORS, key=lines[first].count) if first < len(lines) else ","
    rows = records(lines, first, separator, file)
    _, written = next(rows, (0, []))
    titles = [title.strip("\ufeff |").strip() for title in written]
    students, measures = columns_of_students(titles), {at: title for at, title in enumerate(titles) if is_name(title)}
    known = {title.lower(): at for at, title in reversed([*enumerate(titles)])}
    pair = (known["measure"], known["value"]) if {"measure", "value"} <= known.keys() else None
    if not students or not (pair or measures):
        names = f"'{shown(lines[first].strip())}'" if titles else "nothing"
        fault = f"expected a line that names student, measure and value, or student and measures, found {names}"
        todo = "Begin the table with student,measure,value or student,MAP,nDCG@10."
        raise InputError(fault, todo, file=file, line=min(first + 1, len(lines)))
    by_student: dict[str, list[Claimed]] = {}
    for line, row in rows:
        cells = [cell.strip() for cell in row]
        if len(cells) != len(titles):
            todo = "Put quotes around a number with a decimal comma." if len(cells) > len(titles) else ""
            fault = f"expected {len(titles)} columns as in the first line, found {len(cells)}"
            raise InputError(fault, todo, file=file, line=line)
        student = " ".join(filter(None, (cells[at] for at in students)))
        if not student:
            raise InputError("there is no student", "Write who claims it.", file=file, line=line)
        said = {cells[pair[0]]: cells[pair[1]]} if pair else {name: cells[at] for at, name in measures.items()}
        if "" in said:
            raise InputError("there is no measure", "Write MAP or nDCG@10, for example.", file=file, line=line)
        place = f"{shown(os.path.basename(file))}:{line}"
        mine = by_student.setdefault(student, [])
        mine += [claimed(measure, value, place) for measure, value in said.items() if value]
    return by_student


FreeDays = MutableMapping[str, int]
"""Free late days that each member has left; members that are not in it have all of theirs."""

MEMORY = 1 << 30
"""Bytes of memory for one submission."""


class Exercise:
    """The submissions of a class for a task.

    Parameters
    ----------
    task : Task
        The task; its judgments and baseline are read here.
    submitted : str
        The path of the submissions.
    people : Class
        The submissions and their owners.
    others : sequence of FileRead
        The files found beside the submissions.

    Attributes
    ----------
    decisions : mapping of int to Adjustment
        The teacher's decisions, by the numbers of the members.
    claimed : mapping of int to list of Claimed
        The claims in the table of the class, by the numbers of the members.
    kept : frozenset of str
        The names of the files of kept records, after `grade`.

    Raises
    ------
    EvaluationError
        A file cannot be read by several processes, or the rules need a baseline and there is none.
    InputError
        The judgments, the baseline or the claims cannot be read.
    """

    def __init__(self, task: Task, submitted: str, people: Class, others: Sequence[FileRead] = ()) -> None:
        for path in filter(None, (task.qrels, task.baseline)):
            if os.path.exists(path) and not os.path.isfile(path):
                fault = "is not a regular file, but several processes must read it"
                raise EvaluationError(fault, "Write it to a file.", file=path)
        if not task.baseline and any(rule.above_baseline for rule in task.rules.measures):
            fault = "the rules give points by the baseline, but there is none"
            raise EvaluationError(fault, "Give a run to compare with (--baseline; in a course baseline of the task).")
        self.task, self.submitted, self.people, self._others = task, submitted, people, others
        self._grader = Grader(task)
        self._baseline = baseline_record(self._grader)
        self.identities = people.identities()
        self.decisions: Mapping[int, Adjustment] = {}
        claims = claims_of_class(task.claims) if task.claims else {}
        self.claimed, self._strays = match_students(claims, self.identities)
        self._graded: tuple[Graded, ...] = ()
        self.kept = frozenset[str]()

    def grade(self, folder: str = "", *, workers: int = 1, after: Callable[[], None] | None = None) -> None:
        """Grade the submissions in several processes, or reuse their kept records.

        Parameters
        ----------
        folder : str
            The folder of records; empty to keep none.
        workers : int
            Number of processes.
        after : callable, optional
            Called after each submission.
        """
        claimed: dict[int, list[Claimed]] = {}
        for at, mine in self.claimed.items():
            number = self.people.members[at].submission
            if number is not None:
                claimed.setdefault(number, []).extend(mine)
            elif mine:
                self._strays.append(f"{mine[0].place}: student '{self.identities[at].names[0]}' handed nothing in")
        decisions = [(self.people.members[at].submission, decision) for at, decision in self.decisions.items()]
        runs = {number: decision.run for number, decision in decisions if decision.run}
        submissions = enumerate(self.people.submissions)
        jobs = [Job(handed_in, tuple(claimed.get(at, ())), runs.get(at, "")) for at, handed_in in submissions]
        setup = Setup(self.task, folder, self._context(), MEMORY)
        try:
            replies = graded_by_processes(setup, jobs, workers=workers, seconds=self.task.rules.seconds, after=after)
        finally:
            close_kept()
        self._graded = tuple(reply.graded for reply in replies)
        self.kept = frozenset(reply.kept for reply in replies if reply.kept)

    def _context(self) -> str:
        """Return a hash of everything that grades depend on besides the submission."""
        from treceval_py.scoring.signatures import Fingerprint

        baseline = self._baseline
        parts = (
            *(__version__, str(Fingerprint(self._grader.scoring.qrels)), self._grader.head),
            *(self.task.qrels, self.task.baseline, fingerprint(self.task.rules)),
            "" if baseline is None else f"{baseline.hash_of_ranking} {sorted(baseline.measures.items())}",
        )
        return hashlib.sha256(repr(parts).encode("utf-8", "surrogateescape")).hexdigest()

    def book(self, free_days: FreeDays) -> Grades:
        """Give points to everybody in the class, by the rules.

        Parameters
        ----------
        free_days : dict of str to int
            Remaining free late days; days used here are subtracted.
        """
        rules = self.task.rules
        whose = [(file, "" if file.role == "note" else " belongs to nobody") for file in self._others]
        notes = [f"{file.name}{said}: {file.why}" for file, said in whose]
        notes += self._grader.scoring.notes
        declared = any(claim.counts for graded in self._graded for claim in graded.claims)
        if rules == DEFAULT_RULES and not self._strays and not declared:
            # Nobody was asked for numbers, then. Teachers who want numbers write rules of their own.
            rules = rules._replace(points_claims=0.0)
            notes.append("nobody declares a number, so points are given for runs alone")
        members = self.people.members
        undated = sum(
            not days_late(self._graded[member.submission], rules, member.person).known
            for member in members
            if member.submission is not None
        )
        if rules.deadline is not None and undated:
            subject = "1 submission has" if undated == 1 else f"{undated} submissions have"
            notes.append(f"{subject} no time in the export, so lateness is unknown and costs nothing")
        means = {} if self._baseline is None else self._baseline.measures
        rows = [(member, self._entry(at, rules, means, free_days)) for at, member in enumerate(members)]
        rows.sort(key=lambda row: _order(row[1]))
        # A joint submission of several members is compared with the others once.
        last_first = reversed([*enumerate(member.submission for member, _ in rows)])
        first = {submission: place for place, submission in last_first if submission is not None}
        places = [*sorted(first.values()), -1]  # the baseline is -1
        graded = [rows[place][1].graded for place in places[:-1]]
        pairs = alike(graded, self._baseline, rules.similarity)
        taken: set[str] = set()
        entries = [entry._replace(name=safe_name(entry.student, taken)) for _, entry in rows]
        return Grades(
            qrels=self.task.qrels,
            submissions=self.submitted,
            baseline=self.task.baseline,
            rules=rules,
            measures=tuple(rule.name for rule in rules.measures),
            baseline_measures=means,
            entries=tuple(entry._replace(graded=entry.graded._replace(tops=None)) for entry in entries),
            pairs=tuple(pair._replace(first=places[pair.first], second=places[pair.second]) for pair in pairs),
            strays=tuple(self._strays),
            notes=tuple(notes),
        )

    def _entry(self, at: int, rules: Rules, means: Mapping[str, float], free_days: FreeDays) -> Entry:
        """Return the entry of a member, without a name for its files."""
        member, decision = self.people.members[at], self.decisions.get(at)
        if member.submission is None:
            graded = Graded("" if member.person is None else member.person.name, "", MISSING, "nothing was handed in")
        else:
            graded = self._graded[member.submission]
        if decision is not None:
            graded = decided(graded, decision)
        entry = Entry(graded, marks_of(graded, rules, means), "", member.person, member.questions)
        marks = entry.marks
        if decision is None or not decision.excused:
            left = free_days.get(_key(entry), rules.free_days)
            marks, used = penalised(marks, days_late(graded, rules, member.person), rules, left)
            free_days[_key(entry)] = left - used
        if decision is not None:
            marks = adjusted(marks, decision, rules)
        platform, account = self._account(member)
        return entry._replace(marks=marks, platform=platform, account=account)

    def _account(self, member: Member) -> tuple[str, str]:
        """Return the platform from which a submission was exported, and the number of the member's account there."""
        if member.submission is None:
            return "", ""
        submission, person = self.people.submissions[member.submission], member.person
        own = list(submission.owners)
        if len(own) > 1:  # the owner with the member's name, number or address
            known = set(enumerate((person or ())[:3]))
            own = [owner for owner in own if any(mine in known for mine in enumerate(owner) if mine[1])]
        return (submission.platform, own[0].number) if len(own) == 1 else ("", "")


def _key(entry: Entry) -> str:
    """Return a key that is unique among the students of a course, even for equal names."""
    return entry.student if entry.person is None else " ".join(entry.person[:4])


def _order(entry: Entry) -> tuple[bool, str, bytes, bytes, str]:
    """Return the sort key of an entry: those of nobody on the roster last, then by name."""
    nobodys = entry.person is None and bool(entry.questions)
    return nobodys, entry.student.casefold(), encode(entry.student), encode(entry.graded.source), _key(entry)
