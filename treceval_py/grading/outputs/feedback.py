"""Feedback for one student: a text in plain language that explains every point."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from shlex import quote
from textwrap import wrap

from treceval_py.checking.catalogue import CODES
from treceval_py.checking.findings import ERROR, SEVERITIES, WARNING, Finding
from treceval_py.checking.show import by_severity
from treceval_py.grading import records
from treceval_py.grading.attention import UNREAD, not_read
from treceval_py.grading.claims.claims import claimed
from treceval_py.grading.grades import Entry, Grades
from treceval_py.grading.outputs.gradebook import by_weight, counted, shown
from treceval_py.grading.records import JUDGED, REPAIRED, SCORED, VERDICTS, Checked, Graded, Loss
from treceval_py.grading.rules import Rules
from treceval_py.io.formats import DATASET
from treceval_py.rendering.numbers import number

WIDTH = 100
# How many items of a list are shown before "and 12 more": of short ones, and of places, queries and documents.
MANY, FEW = 50, 5
NAME, SENTENCE = 80, 600

# For these, `treceval explain` can say more.
WRONG = (records.CONVENTION, records.MISTAKE, records.NOT_REPRODUCED)

KINDS = {
    "run": "a run (query Q0 document rank score tag)",
    "msmarco": "a run in the format of MS MARCO (query document rank)",
    JUDGED: "a judged ranking (query Q0 document judgment, best first), scored by the judgments of the assignment",
}

_named, _said = partial(shown, most=NAME), partial(shown, most=SENTENCE)
_signed = partial(number, digits=4, signed=True)


def feedback(entry: Entry, grades: Grades) -> str:
    """Return the feedback for a student: points with reasons, files, findings, values, claims and next steps.

    Parameters
    ----------
    entry : Entry
        The student's submission.
    grades : Grades
        The class; the feedback uses only its assignment and baseline, never another student.

    Returns
    -------
    str
        Plain text in lines of at most 100 characters, ended by a newline.
    """
    graded = entry.graded
    text = heading_of(entry.student, grades.rules.title) + "\n".join(_filled(_summary(entry, grades)))
    sections: dict[str, Iterable[str]] = {
        "Points": _points(entry),
        "What was not read": _unread(graded),
        "What was read": _read(graded),
        "Your runs": _runs(graded, grades),
        "What was repaired before scoring": _cut([f"  - {_said(repair)}" for repair in graded.repairs], "repair"),
        "What the check of your run found": _findings(graded, grades),
        "The values of your run": _numbers(graded, grades),
        "Compared with the baseline": _against(graded, entry, grades),
        "Numbers that you claimed": _claims(graded, grades),
        "Other numbers in your files": _evidence(graded),
        "What to do next": _todo(entry),
    }
    for heading, body in sections.items():
        if lines := [part for line in body for part in _filled(line)]:
            text += "\n".join(["\n\n", heading, "-" * len(heading), *lines])
    return text + "\n"


def heading_of(student: str, title: str) -> str:
    """Return the first lines of a feedback."""
    first = _filled(f"Feedback for {_named(student)}")
    lines = [*first, "=" * len(first[0]), "", *([*_filled(_said(title)), ""] if title else [])]
    return "\n".join(lines) + "\n"


def stated(claim: Checked) -> str:
    """Describe the verdict on a number in one or two sentences."""
    claimed, why = " = ".join(filter(None, (_named(claim.measure), _named(claim.text)))), _said(claim.why)
    if why.startswith(records.BY_TEACHER):
        return f"{claimed} was {why}."
    meaning = (VERDICTS | records.EVIDENCE)[claim.verdict].partition(":")[0]
    said = f"{claimed}: {meaning}{f': {why}' if why else ''}."
    if claim.value is not None and claim.verdict in (records.ROUNDING, *WRONG):
        # With four decimals, or as many as the claim has, the difference is visible.
        decimals = claim.text.replace(",", ".").partition(".")[2]
        digits = min(max(len(decimals) - len(decimals.lstrip("0123456789")), 4), 10)
        said += f" Under the rules of this assignment it is {claim.value:.{digits}f}."
    return said + (f" It stands in: {_said(claim.sentence)}" if claim.verdict == records.ASKED else "")


def _summary(entry: Entry, grades: Grades) -> str:
    graded, marks = entry.graded, entry.marks
    said = f"{marks.total:.2f} of {marks.most:.2f} points"
    if marks.excused:
        why = "; ".join(_said(change.why) for change in marks.changes)
        said = f"You are excused{f' ({why})' if why else ''}; no points are counted"
    elif marks.passed is not None:
        said += ": passed" if marks.passed else ": not passed"
    became = records.STATUSES[graded.status].partition(":")[0]
    said += f". {became[0].upper()}{became[1:]}{f': {_said(graded.reason)}' if graded.reason else ''}."
    if graded.handed_in:
        attempt = f", attempt {_named(graded.attempt)}" if graded.attempt not in ("", "1") else ""
        when = f"{datetime.fromisoformat(graded.handed_in):%Y-%m-%d %H:%M %Z}".rstrip()
        said += f" It was handed in on {when}{attempt}{': late' * bool(graded.late)}."
    sharing = sum(other.graded.source == graded.source for other in grades.entries) if graded.source else 0
    if sharing > 1:
        said += f" Your group handed it in together: it counts for each of its {sharing} members."
    return said


def _points(entry: Entry) -> Iterator[str]:
    marks = entry.marks
    if marks.excused:
        return
    rows = [(mark.part, f"{mark.points:.2f}", f" of {mark.most:.2f}", mark.why) for mark in marks.items]
    rows += [(change.kind, number(change.points, 2, signed=True), "", change.why) for change in marks.changes]
    rows.append(("Total", f"{marks.total:.2f}", f" of {marks.most:.2f}", ""))
    widest = min(max(len(_named(part)) for part, *_ in rows), 30)
    most = max(len(points) for _, points, _, _ in rows)
    for part, points, of, why in rows:
        name = _named(part)
        if len(name) > widest:
            yield f"  {name}"
            name = ""
        yield f"  {name:<{widest}}  {points:>{most}}{of}"
        if why:
            yield f"      {_said(why)}"


def _unread(graded: Graded) -> Iterator[str]:
    unread = [f"  - {_said(not_read(file))}" for file in graded.files if file.role in UNREAD]
    yield from _cut(unread, "file")
    if unread:
        yield "  Their content gave no points; your grader can see that they were not read."


def _read(graded: Graded) -> Iterator[str]:
    if graded.run and graded.status in (SCORED, REPAIRED):
        size = f"{counted(graded.lines, 'line')}, {counted(graded.queries, 'query')}"
        size += f", {counted(graded.documents, 'document')}"
        yield f"  {_named(graded.run)} was taken as {KINDS.get(graded.kind, 'a run')}: {size}."
    elif graded.run:
        yield f"  {_named(graded.run)} was tried as a run, but could not be scored."
    elif graded.files:
        yield "  No run was scored."
    files = [file for file in graded.files if file.role not in UNREAD]
    said = [file.role + f": {_said(file.why)}" * bool(file.why) for file in files]
    names = [f"  - {_named(file.name)} ({counted(file.bytes, 'byte')})" for file in files]
    yield from _cut(list(map(", ".join, zip(names, said, strict=True))), "file")


def _runs(graded: Graded, grades: Grades) -> Iterator[str]:
    """Yield lines about several runs: which one counts and why, and the values of all."""
    if len(graded.runs) < 2:
        return
    yield f"  You handed in {len(graded.runs)} runs. {_said(graded.chosen)}."
    lines = []
    for run in graded.runs:
        parts = [f"{name} = {run.measures[name]:.4f}" for name in grades.measures if name in run.measures]
        parts = parts or [f"{run.status}: {_said(run.reason)}"]
        if run.right:
            parts.append(f"{run.right} of your claims {'is' if run.right == 1 else 'are'} right for it")
        lines.append(f"  - {_named(run.name)}{' (counts)' * (run.name == graded.run)}: {', '.join(parts)}")
    yield from _cut(lines, "run")


def _findings(graded: Graded, grades: Grades) -> Iterator[str]:
    if not graded.counts:
        yield from ["  Nothing: the file is clean."] * bool(graded.run)
        return
    total = by_severity(graded.counts)
    said = ", ".join(counted(total[severity], severity) for severity in SEVERITIES if total[severity])
    yield (
        f"  {said}. Errors keep a file from being scored, or make other programs report wrong numbers; warnings are "
        "probable mistakes; notes are for information."
    )
    for code in sorted(graded.counts, key=by_weight):
        times = graded.counts[code]
        kept = [finding for finding in graded.findings if finding.code == code]
        yield from ("", f"  {code}, {CODES[code].severity}" + (f", {times:,} times" if times > 1 else ""))
        lines = [f"    {_place(finding, graded)}: {_said(finding.what)}" for finding in kept]
        yield from _cut(lines, "place", FEW, times)
        yield from (f"    To do: {_said(todo)}" for todo in dict.fromkeys(finding.todo for finding in kept) if todo)
    # Some findings come from the judgments.
    judgments = ["--qrels", _file(grades.qrels)] * any(code.startswith("X") for code in graded.counts)
    kind = ["--as", graded.kind] * (graded.kind == JUDGED)
    yield ""
    yield from _command("To see all findings", ["check", *judgments, *kind, _file(graded.run)])
    yield from _command("To see what a code means", ["check", "--explain", min(graded.counts)])


def _place(finding: Finding, graded: Graded) -> str:
    parts = (
        _named(finding.file) * (not finding.file.endswith(graded.run)),
        f"line {finding.line}" * bool(finding.line),
        f"column {finding.column}" * bool(finding.column),
    )
    return ", ".join(filter(None, parts)) or "the whole file"


def _numbers(graded: Graded, grades: Grades) -> Iterator[str]:
    if not graded.measures:
        return
    # Values under different conventions must not be compared.
    other = graded.profile != grades.rules.profile
    baseline = {} if other else grades.baseline_measures
    names = [name for name in grades.measures if name in graded.measures] or list(graded.measures)
    widest = max(len("measure"), *map(len, names))
    yield f"  {'measure':<{widest}}  {'yours':>9}" + (f"  {'baseline':>9}  {'difference':>10}" if baseline else "")
    for name in names:
        value = graded.measures[name]
        beside = f"  {baseline[name]:>9.4f}  {_signed(value - baseline[name]):>10}" if name in baseline else ""
        yield f"  {name:<{widest}}  {value:>9.4f}{beside}"
    yield ""
    missing, judged = graded.missing_queries
    if missing:
        counts = "each counts as 0" if grades.rules.complete else "the means are over the others"
        yield f"  Your run lacks {missing:,} of the {counted(judged, 'judged query')}: {counts}."
    yield f"  These are means over the queries, by the conventions of the profile {graded.profile}:"
    yield from (f"    {name}: {graded.signatures[name]}" for name in names if name in graded.signatures)
    if other:
        yield f"  They cannot be compared with values under {grades.rules.profile}, the profile of this assignment."
    if _is_repeatable(graded):
        words = [*_conventions(grades.rules), *(part for name in names for part in ("-m", name))]
        words += [_file(grades.qrels), _file(graded.run)]
        yield from _command("To compute them (you need the judgments)", words)


def _against(graded: Graded, entry: Entry, grades: Grades) -> Iterator[str]:
    for pair in grades.pairs:
        if pair.second < 0 and grades.entries[pair.first].name == entry.name:
            yield f"  Your run is like the baseline: {pair.kind}."
    if (against := graded.against) is None:
        return
    difference = _signed(against.value - against.baseline)
    side = "equal to" if difference == "0.0000" else "above" if difference[0] == "+" else "below"
    over = f"the {counted(against.queries, 'query')} that both have"
    if grades.rules.complete:
        over = f"the {counted(against.queries, 'judged query')} (those that a run lacks count as 0)"
    yield (
        f"  By {against.measure}, over {over}, your run ({against.value:.4f}) is {side} the baseline, "
        f"{_named(os.path.basename(against.name))} ({against.baseline:.4f})."
    )
    counts = f"higher in {against.better:,}, lower in {against.worse:,}, equal in {against.equal:,}"
    yield f"  Query by query, yours is {counts}."
    if against.p is not None and against.equal < against.queries:
        p = "below 0.0001" if against.p < 0.0001 else f"{against.p:.4f}"
        yield (
            "  If both systems were equally good, a mean difference at least as large would come about by chance with "
            f"probability {p} (paired t-test)."
        )
    if against.losses:
        yield from ("", "  Where you lost most:")
        yield from _cut(["\n".join(_lost(loss)) for loss in against.losses], "query", FEW, against.worse)


def _lost(loss: Loss) -> Iterator[str]:
    difference = _signed(loss.value - loss.baseline)
    yield f"    query {_named(loss.qid)}: {loss.value:.4f} instead of {loss.baseline:.4f} ({difference})"
    lines = [
        f"      {_named(docid)}, relevant (judged {label}): "
        + ("you did not retrieve it" if rank is None else f"rank {rank:,} in yours")
        + (", not retrieved" if baseline is None else f", rank {baseline:,}")
        + " in the baseline"
        for docid, label, rank, baseline in loss.documents
    ]
    yield from _cut(lines, "document", FEW)


def _claims(graded: Graded, grades: Grades) -> Iterator[str]:
    claims = [claim for claim in graded.claims if claim.verdict in VERDICTS]
    yield from _numbers_of(claims)
    wrong = [claim for claim in claims if claim.counts and claim.verdict in WRONG]
    read = next(filter(None, (claimed(claim.measure, claim.text, "").claim for claim in wrong)), None)
    if _is_repeatable(graded) and read is not None:
        option = f"{read.measure.notation}={read.value:.{read.digits}f}{'%' * read.percent}"
        words = ["explain", *_conventions(grades.rules), "--claim", option, _file(grades.qrels), _file(graded.run)]
        yield from ("", *_command("To see how a number was computed (you need the judgments)", words))


def _evidence(graded: Graded) -> Iterator[str]:
    """Yield lines about the numbers that are not declared; the counts add up to all numbers that were found."""
    counts = Counter(claim.verdict for claim in graded.claims if claim.verdict != records.NO_CLAIM)
    others = [claim for kind in reversed(records.EVIDENCE) for claim in graded.claims if claim.verdict == kind]
    if others:
        kinds = [f"{counts.total() - len(others)} claimed", *(f"{counts[kind]} {kind}" for kind in records.EVIDENCE)]
        yield (
            f"  {counted(counts.total(), 'number')} beside names of measures: {', '.join(kinds)}. Numbers "
            "that you did not claim cost no points. A person looks at the numbers in question: they equal no value of "
            "your runs or the baseline, under any convention."
        )
    yield from _numbers_of(others)


def _numbers_of(claims: Sequence[Checked]) -> Iterator[str]:
    lines = [f"  - {stated(claim)}" + f" ({_named(claim.place)})" * bool(claim.place) for claim in claims]
    return _cut(lines, "number")


_STEPS = {
    records.MISSING: "Hand in your run: a text file with one line for each retrieved document. A line has the query, "
    "Q0, the document, its rank, its score and a name for the run, separated by spaces.",
    records.FAILED: "Hand in a smaller or simpler run. If yours is neither large nor unusual, ask your grader.",
    REPAIRED: "Correct the file itself: other programs may refuse it, or score it wrongly.",
    records.REFUSED: "Correct the errors first.",
    WARNING: "Look at each warning: correct the file, or be ready to explain why it is right.",
    "queries": "Rank documents for every judged query, or find out why your system returned nothing for some.",
    "unread": "Hand in the unread documents as plain text, or ask your grader to look at them.",
    records.MISTAKE: "Correct the mistakes that are named with your numbers, and compute these again.",
    records.NOT_REPRODUCED: "Find out where the numbers that could not be reproduced come from: another run, other "
    "judgments?",
    records.CONVENTION: "Use the convention of the assignment, and name the convention of each number.",
    records.ROUNDING: "Round numbers once, at the end, and to the nearest digit.",
    records.NO_CLAIM: "Declare each number once: in a file claims.csv with the columns measure and value, or in a text "
    "file that has nothing but lines such as MAP = 0.1234.",
}
"""What to do next, by statuses and verdicts, and a few other facts."""


def _todo(entry: Entry) -> Iterator[str]:
    graded, marks = entry.graded, entry.marks
    if marks.excused:
        return
    counts = by_severity(graded.counts)
    facts = {graded.status, *(claim.verdict for claim in graded.claims)}
    scored = graded.status in (SCORED, REPAIRED)
    declared = any(claim.counts and claim.verdict != records.NO_CLAIM for claim in graded.claims)
    lacking = any(mark.part == "claims" and mark.points < mark.most for mark in marks.items) and not declared
    facts |= {records.REFUSED} if graded.status == SCORED and counts[ERROR] else set()
    facts |= {WARNING} if counts[WARNING] else set()
    facts |= {"queries"} if graded.missing_queries[0] else set()
    facts |= {"unread"} if any(file.role in UNREAD for file in graded.files) else set()
    # Without a run, numbers are unchecked for another reason than their form.
    facts |= {records.NO_CLAIM} if lacking or (scored and records.UNCHECKED in facts) else set()
    missing = "; the section Points says why some are missing" * (marks.total < marks.most)
    steps = [step for fact, step in _STEPS.items() if fact in facts] or [f"Nothing has to be corrected{missing}."]
    yield from (f"  - {step}" for step in steps)


# Commands -----------------------------------------------------------------------------------------


def _command(label: str, words: Sequence[str]) -> Iterator[str]:
    """Yield a command to copy; if it needs several lines, each but the last ends with a backslash."""
    yield f"  {label}:"
    line = "    treceval"
    for word in map(quote, words):
        if len(line) + len(word) > WIDTH - 3:
            yield f"{line} \\"
            line = "     "
        line += f" {word}"
    yield line


def _is_repeatable(graded: Graded) -> bool:
    """Tell whether the command line, given the file as it was handed in, computes the same numbers."""
    return graded.status == SCORED and graded.kind != JUDGED


def _conventions(rules: Rules) -> list[str]:
    """Return the options that make the command line score by the rules."""
    level = [] if rules.level is None else ["-l", str(rules.level)]
    return ["--profile", rules.profile, *(["-c"] if rules.complete else []), *level]


def _file(path: str) -> str:
    """Return a file's name for a command; FILE if a shell could misread the name."""
    name = path if path.startswith(DATASET) else os.path.basename(path)
    harmless = name.isprintable() and not name.startswith("-") and not set(name) & set("'\"\\$`;&|<>*?!#")
    return name if harmless and 0 < len(name) <= NAME else "FILE"


# Words and lines ----------------------------------------------------------------------------------


def _filled(text: str) -> list[str]:
    """Break lines; what goes on stands below the text, after its indentation. A word longer than a line is split."""
    lines = []
    for line in text.split("\n"):
        indent = " " * len(line[: len(line) - len(line.lstrip(" "))] + "  " * line.lstrip(" ").startswith("- "))
        lines += wrap(shown(line, 2000), WIDTH, subsequent_indent=indent, break_on_hyphens=False) or [""]
    return lines


def _cut(lines: Sequence[str], one: str, most: int = MANY, total: int = 0) -> Iterator[str]:
    """Yield the first lines, and say how many more there are; by default as many as there are lines."""
    yield from lines[:most]
    left = max(total, len(lines)) - min(most, len(lines))
    if left:
        indent = " " * (len(lines[0]) - len(lines[0].lstrip())) if lines else "    "
        yield f"{indent}and {counted(left, f'more {one}')}"
