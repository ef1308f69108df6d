"""Feedback for one student: a text in plain language that explains every point."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from treceval_py.checking.findings import ERROR, SEVERITIES, WARNING, Finding
from treceval_py.grading.attention import UNREAD, not_read
from treceval_py.grading.claims.claims import claimed
from treceval_py.grading.grades import Entry, Grades
from treceval_py.grading.outputs.gradebook import by_severity, shown
from treceval_py.grading.records import (
    ASKED,
    BY_TEACHER,
    CONFIRMED,
    CONVENTION,
    CORRECT,
    EVIDENCE,
    EXPLAINED,
    FAILED,
    JUDGED,
    MISSING,
    MISTAKE,
    NO_CLAIM,
    NOT_REPRODUCED,
    REFUSED,
    REPAIRED,
    ROUNDING,
    SCORED,
    UNCHECKED,
    VERDICTS,
    AgainstBaseline,
    Checked,
    FileRead,
    Graded,
    Loss,
)
from treceval_py.grading.rule_keys import Rules
from treceval_py.io.formats import DATASET

WIDTH = 100
# How many items of a list are shown before "and 12 more".
FILES, NOT_READ, RUNS, LINES, LOSSES, CLAIMS, REPAIRS = 10, 50, 20, 5, 5, 50, 20
NAME, SENTENCE = 80, 600

WRONG = (CONVENTION, MISTAKE, NOT_REPRODUCED)
"""Verdicts on numbers for which `treceval explain` can say more."""

DECLARE = (
    "Declare each number once: in a file claims.csv with the columns measure and value, or in a text file that has "
    "nothing but lines such as MAP = 0.1234"
)
"""Where numbers count, for those who declared none."""

KINDS = {
    "run": "a run (query Q0 document rank score tag)",
    "msmarco": "a run in the format of MS MARCO (query document rank)",
    "judged-ranking": "a judged ranking (query Q0 document judgment, best first)",
}


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
    title = f"Feedback for {shown(entry.student, NAME)}"
    lines = [*_filled(title, ""), "=" * min(len(title), WIDTH), ""]
    if grades.rules.title:
        lines += [*_filled(shown(grades.rules.title, SENTENCE), ""), ""]
    lines += _filled(_summary(entry, grades), "")
    sections: tuple[tuple[str, Iterable[str]], ...] = (
        ("Points", _points(entry)),
        ("What was not read", _unread(graded)),
        ("What was read", _read(graded)),
        ("Your runs", _runs(graded, grades)),
        ("What was repaired before scoring", _repairs(graded)),
        ("What the check of your run found", _findings(graded, grades)),
        ("The values of your run", _numbers(graded, grades)),
        ("Compared with the baseline", _against(graded, entry, grades)),
        ("Numbers that you claimed", _claims(graded, grades)),
        ("Other numbers in your files", _evidence(graded)),
        ("What to do next", _todo(entry)),
    )
    for heading, body in sections:
        written = list(body)
        if written:
            lines += ["", "", heading, "-" * len(heading), *written]
    return "\n".join(line.rstrip() for line in lines) + "\n"


_STATED = {
    CORRECT: "{claimed} is right{because}.",
    ROUNDING: "{claimed} is right except for its rounding{because}.{right}",
    CONVENTION: "{claimed} is right under another convention{because}.{right}",
    MISTAKE: "{claimed} is what a common mistake gives{because}.{right}",
    NOT_REPRODUCED: "{claimed} could not be reproduced{because}.{right}",
    UNCHECKED: "{claimed} could not be checked{because}.",
    NO_CLAIM: "{name}: a number was expected, but none was declared{because}.",
    CONFIRMED: "{claimed} is the value of your run{because}.",
    EXPLAINED: "{claimed}{because}.",
    ASKED: "{claimed} equals nothing that is known{because}. It stands in: {sentence}",
}


def stated(claim: Checked) -> str:
    """Describe the verdict on a number in one or two sentences."""
    name, why = shown(claim.measure, NAME), shown(claim.why, SENTENCE)
    claimed = f"{name} = {shown(claim.text, NAME)}"
    if why.startswith(BY_TEACHER):
        return f"{claimed} was {why}."
    because = f": {why}" if why else ""
    right = "" if claim.value is None else f" Under the rules of this assignment it is {_as_claimed(claim)}."
    sentence = shown(claim.sentence, SENTENCE)
    return _STATED[claim.verdict].format(name=name, claimed=claimed, because=because, right=right, sentence=sentence)


def score_of(points: float) -> str:
    """Return points with two decimals."""
    return f"{points:.2f}"


def _change(points: float) -> str:
    return f"{points:+.2f}" if round(points, 2) else "0.00"


def _summary(entry: Entry, grades: Grades) -> str:
    graded, marks = entry.graded, entry.marks
    said = f"{score_of(marks.total)} of {score_of(marks.most)} points"
    if marks.excused:
        why = "; ".join(shown(change.why, SENTENCE) for change in marks.changes)
        said = f"You are excused{f' ({why})' if why else ''}; no points are counted"
    elif marks.passed is not None:
        said += ": passed" if marks.passed else ": not passed"
    why = shown(graded.reason, SENTENCE)
    reason = f": {why}" if why else ""
    became = {
        REPAIRED: "Your run was scored after lossless repairs, which are listed below",
        REFUSED: f"What you handed in could not be scored{reason}",
        MISSING: f"No run was found in what you handed in{reason}" if graded.files else why[:1].upper() + why[1:],
        FAILED: f"Grading your submission was stopped{reason}",
    }
    said += f". {became.get(graded.status, 'Your run was read and scored')}."
    if graded.handed_in:
        attempt = f", attempt {shown(graded.attempt, NAME)}" if graded.attempt not in ("", "1") else ""
        said += f" It was handed in on {_when(graded.handed_in)}{attempt}{': late' * bool(graded.late)}."
    sharing = sum(other.graded.source == graded.source for other in grades.entries) if graded.source else 0
    if sharing > 1:
        said += f" Your group handed it in together: it counts for each of its {sharing} members."
    return said


def _when(moment: str) -> str:
    """Return a time for people: to the minute, with UTC if it is in UTC."""
    day, _, time = shown(moment, NAME).partition("T")
    hour = time.removesuffix("Z").removesuffix("+00:00")
    return f"{day} {hour[:5]}".rstrip() + (" UTC" if hour != time else hour[8:])


def _points(entry: Entry) -> Iterator[str]:
    marks = entry.marks
    if marks.excused:
        return
    rows = [(mark.part, f"{score_of(mark.points)} of {score_of(mark.most)}", mark.why) for mark in marks.items]
    # Align changes with the points, not with the maximum after them.
    after = " " * max((len(f" of {score_of(mark.most)}") for mark in marks.items), default=0)
    rows += [(change.kind, f"{_change(change.points)}{after}", change.why) for change in marks.changes]
    rows.append(("Total", f"{score_of(marks.total)} of {score_of(marks.most)}", ""))
    widest = min(max(len(shown(part, NAME)) for part, _, _ in rows), 30)
    broadest = max(len(points) for _, points, _ in rows)
    for part, points, why in rows:
        name = shown(part, NAME)
        if len(name) > widest:
            yield from _filled(name, "  ")
            name = ""
        yield f"  {name:<{widest}}  {points:>{broadest}}"
        if why:
            yield from _filled(shown(why, SENTENCE), "      ")


def _unread(graded: Graded) -> Iterator[str]:
    unread = [file for file in graded.files if file.role in UNREAD]
    for file in unread[:NOT_READ]:
        yield from _filled(f"- {shown(not_read(file), SENTENCE)}", "  ", "    ")
    yield from _more(len(unread) - NOT_READ, "file", "files")
    if unread:
        yield from _filled("Their content gave no points; your grader can see that they were not read.", "  ")


def _read(graded: Graded) -> Iterator[str]:
    if graded.run and graded.status not in (SCORED, REPAIRED):
        yield from _filled(f"{shown(graded.run, NAME)} was tried as a run, but could not be scored.", "  ")
    elif graded.run:
        kind = KINDS.get(graded.kind, graded.kind or "a run")
        if graded.kind == JUDGED:
            kind += " and scored by the judgments of the assignment, not by its own"
        size = [_counted(graded.lines, "line"), _counted(graded.queries, "query", "queries")]
        size.append(_counted(graded.documents, "document"))
        yield from _filled(f"{shown(graded.run, NAME)} was taken as {kind}: {', '.join(size)}.", "  ")
    elif graded.files:
        yield "  No run was scored."
    order = ("run", "judged ranking", "claims", "report")
    read = [file for file in graded.files if file.role not in UNREAD]
    files = sorted(read, key=lambda file: order.index(file.role) if file.role in order else len(order))
    for file in files[:FILES]:
        yield from _filled(_of_file(file, graded), "  ", "      ")
    yield from _more(len(files) - FILES, "file", "files")


def _of_file(file: FileRead, graded: Graded) -> str:
    role = file.role
    why = f": {shown(file.why, SENTENCE)}" if file.why else ""
    if file.name == graded.run and graded.status in (SCORED, REPAIRED):
        why = ""  # an earlier sentence says it
    elif file.name in {run.name for run in graded.runs}:
        role, why = "run", ": it does not count"
    return f"- {shown(file.name, NAME)} ({_counted(file.bytes, 'byte')}), {role}{why}"


def _runs(graded: Graded, grades: Grades) -> Iterator[str]:
    """Yield lines about several runs: which one counts and why, and the values of all."""
    if len(graded.runs) < 2:
        return
    yield from _filled(f"You handed in {len(graded.runs)} runs. {shown(graded.chosen, SENTENCE)}.", "  ")
    for run in graded.runs[:RUNS]:
        parts = [f"{name} = {run.measures[name]:.4f}" for name in grades.measures if name in run.measures]
        parts = parts or [f"{run.status}: {shown(run.reason, SENTENCE)}"]
        if run.right:
            parts.append(f"{_counted(run.right, 'of your claims is', 'of your claims are')} right for it")
        counts = " (counts)" if run.name == graded.run else ""
        yield from _filled(f"- {shown(run.name, NAME)}{counts}: {', '.join(parts)}", "  ", "    ")
    yield from _more(len(graded.runs) - RUNS, "run", "runs")


def _repairs(graded: Graded) -> Iterator[str]:
    for repair in graded.repairs[:REPAIRS]:
        yield from _filled(f"- {shown(repair, SENTENCE)}", "  ", "    ")
    yield from _more(len(graded.repairs) - REPAIRS, "repair", "repairs")


def _findings(graded: Graded, grades: Grades) -> Iterator[str]:
    if not graded.counts:
        if graded.run:
            yield "  Nothing: the file is clean."
        return
    total = by_severity(graded)
    said = ", ".join(_counted(total[severity], severity) for severity in SEVERITIES if total[severity])
    yield from _filled(
        f"{said}. Errors keep a file from being scored, or make other programs report wrong numbers; "
        "warnings are probable mistakes; notes are for information.",
        "  ",
    )
    codes: dict[str, list[Finding]] = {code: [] for code in graded.counts}
    for finding in graded.findings:
        codes.setdefault(finding.code, []).append(finding)
    weight = {code: SEVERITIES.index(findings[0].severity) if findings else 0 for code, findings in codes.items()}
    for code in sorted(codes, key=lambda code: (weight[code], code)):
        yield ""
        yield from _of_code(code, codes[code], graded)
    yield ""
    yield from _command("To see all findings", _check(graded, grades))
    yield from _command("To see what a code means", ["check", "--explain", min(codes)])


def _of_code(code: str, findings: Sequence[Finding], graded: Graded) -> Iterator[str]:
    number = max(graded.counts.get(code, 0), len(findings))
    severity = findings[0].severity if findings else "finding"
    yield f"  {code}, {severity}" + (f", {number:,} times" if number > 1 else "")
    told = list(dict.fromkeys(finding.todo for finding in findings))
    for finding in findings[:LINES]:
        text = f"{_place(finding, graded)}{shown(finding.what, SENTENCE)}"
        if len(told) > 1 and finding.todo:
            text += f". {shown(finding.todo, SENTENCE)}"
        yield from _filled(text, "    ", "      ")
    yield from _more(number - min(LINES, len(findings)), "place", "places", "    ")
    if len(told) == 1 and told[0]:
        yield from _filled(f"To do: {shown(told[0], SENTENCE)}", "    ", "      ")


def _place(finding: Finding, graded: Graded) -> str:
    parts = [] if finding.file.endswith(graded.run) else [shown(finding.file, NAME)]
    parts += [f"line {finding.line}"] if finding.line else []
    parts += [f"column {finding.column}"] if finding.column else []
    return f"{', '.join(parts)}: " if parts else "the whole file: "


def _numbers(graded: Graded, grades: Grades) -> Iterator[str]:
    if not graded.measures:
        return
    # Values under different conventions must not be compared.
    baseline = grades.baseline_measures if graded.profile == grades.rules.profile else {}
    names = [name for name in grades.measures if name in graded.measures] or list(graded.measures)
    widest = max(len("measure"), *map(len, names))
    header = f"  {'measure':<{widest}}  {'yours':>9}"
    yield header + (f"  {'baseline':>9}  {'difference':>10}" if baseline else "")
    for name in names:
        value = graded.measures[name]
        line = f"  {name:<{widest}}  {value:>9.4f}"
        if name in baseline:
            line += f"  {baseline[name]:>9.4f}  {_signed(value - baseline[name]):>10}"
        yield line
    yield ""
    missing, judged = graded.missing_queries
    if missing:
        counts = "each counts as 0" if grades.rules.complete else "the means are over the others"
        lacks = f"Your run lacks {missing:,} of the {_counted(judged, 'judged query', 'judged queries')}: {counts}."
        yield from _filled(lacks, "  ")
    yield from _filled(f"These are means over the queries, by the conventions of the profile {graded.profile}:", "  ")
    for name in names:
        if name in graded.signatures:
            yield from _filled(f"{name}: {graded.signatures[name]}", "    ", "      ")
    if graded.profile != grades.rules.profile:
        yield from _filled(
            f"They cannot be compared with values under {grades.rules.profile}, the profile of this assignment.", "  "
        )
    if graded.status == SCORED and graded.kind != JUDGED:
        measures = [part for name in names for part in ("-m", name)]
        yield from _command(
            "To compute them (you need the judgments)",
            [*_conventions(grades.rules), *measures, *_files(graded, grades)],
        )


def _against(graded: Graded, entry: Entry, grades: Grades) -> Iterator[str]:
    for pair in grades.pairs:
        if pair.second < 0 and grades.entries[pair.first].name == entry.name:
            yield from _filled(f"Your run is like the baseline: {pair.kind}.", "  ")
    if graded.against is not None:
        yield from _compared(graded.against, grades.rules)
        yield from _lost(graded.against)


def _compared(against: AgainstBaseline, rules: Rules) -> Iterator[str]:
    delta = against.value - against.baseline
    side = "equal to" if f"{delta:.4f}" in ("0.0000", "-0.0000") else "above" if delta > 0 else "below"
    name = shown(os.path.basename(against.name), NAME)
    over = f"the {_counted(against.queries, 'query', 'queries')} that both have"
    if rules.complete:
        judged = _counted(against.queries, "judged query", "judged queries")
        over = f"the {judged} (those that a run lacks count as 0)"
    yield from _filled(
        f"By {against.measure}, over {over}, your run "
        f"({against.value:.4f}) is {side} the baseline, {name} ({against.baseline:.4f}).",
        "  ",
    )
    parts = [f"higher in {against.better:,}", f"lower in {against.worse:,}", f"equal in {against.equal:,}"]
    yield from _filled(f"Query by query, yours is {', '.join(parts)}.", "  ")
    if against.p is not None and against.equal < against.queries:
        p = "below 0.0001" if against.p < 0.0001 else f"{against.p:.4f}"
        said = f"a mean difference at least as large would come about by chance with probability {p} (paired t-test)"
        yield from _filled(f"If both systems were equally good, {said}.", "  ")


def _lost(against: AgainstBaseline) -> Iterator[str]:
    if not against.losses:
        return
    yield from ("", "  Where you lost most:")
    for loss in against.losses[:LOSSES]:
        yield from _filled(
            f"query {shown(loss.qid, NAME)}: {loss.value:.4f} instead of {loss.baseline:.4f} "
            f"({_signed(loss.value - loss.baseline)})",
            "    ",
            "      ",
        )
        yield from _fallen(loss)
    yield from _more(against.worse - min(LOSSES, len(against.losses)), "query", "queries", "    ")


def _fallen(loss: Loss) -> Iterator[str]:
    for document in loss.documents[:LINES]:
        yours = "you did not retrieve it" if document.rank is None else f"rank {document.rank:,} in yours"
        theirs = "not retrieved" if document.baseline is None else f"rank {document.baseline:,}"
        said = f"{shown(document.docid, NAME)}, relevant (judged {document.label}): {yours}, {theirs} in the baseline"
        yield from _filled(said, "      ", "        ")
    yield from _more(len(loss.documents) - LINES, "document", "documents", "      ")


def _claims(graded: Graded, grades: Grades) -> Iterator[str]:
    claims = [claim for claim in graded.claims if claim.verdict in VERDICTS]
    yield from _numbers_of(claims)
    if graded.status == SCORED and graded.kind != JUDGED:
        for claim in claims:
            said = _as_option(claim) if claim.counts and claim.verdict in WRONG else ""
            if said:
                words = ["explain", *_conventions(grades.rules), "--claim", said, *_files(graded, grades)]
                yield from ("", *_command("To see how a number was computed (you need the judgments)", words))
                return


def _evidence(graded: Graded) -> Iterator[str]:
    """Yield lines about the numbers that are not declared; the counts add up to all numbers that were found."""
    others = [claim for kind in reversed(EVIDENCE) for claim in graded.claims if claim.verdict == kind]
    if not others:
        return
    declared = sum(claim.verdict in VERDICTS and claim.verdict != NO_CLAIM for claim in graded.claims)
    counts = Counter(claim.verdict for claim in others)
    kinds = ", ".join(f"{counts[kind]} {kind}" for kind in EVIDENCE)
    yield from _filled(
        f"{_counted(declared + len(others), 'number')} beside names of measures: {declared} claimed, {kinds}. "
        "Those that are not claimed give no points and take none. A person looks at those that are asked about: "
        "they equal no value of your runs or the baseline, under any convention.",
        "  ",
    )
    yield from _numbers_of(others)


def _numbers_of(claims: Sequence[Checked]) -> Iterator[str]:
    for claim in claims[:CLAIMS]:
        place = f" ({shown(claim.place, NAME)})" if claim.place else ""
        yield from _filled(f"- {stated(claim)}{place}", "  ", "    ")
    yield from _more(len(claims) - CLAIMS, "number", "numbers")


def _todo(entry: Entry) -> Iterator[str]:
    if entry.marks.excused:
        return
    steps = [*_steps_of_run(entry.graded), *_steps_of_claims(entry)]
    if not steps:
        full = entry.marks.total >= entry.marks.most
        steps = ["Nothing has to be corrected" + ("." if full else "; the section Points says why some are missing.")]
    for step in steps:
        yield from _filled(f"- {step}", "  ", "    ")


def _steps_of_run(graded: Graded) -> Iterator[str]:
    counts = by_severity(graded)
    if graded.status == MISSING:
        yield (
            "Hand in your run: a text file with one line for each retrieved document. A line has the query, Q0, the "
            "document, its rank, its score and a name for the run, separated by spaces."
        )
    elif graded.status == FAILED:
        yield "Hand in a smaller or simpler run. If yours is neither large nor unusual, ask your grader."
    elif graded.status == REPAIRED:
        yield "Correct the file itself: other programs may refuse it, or score it wrongly."
    elif graded.status == REFUSED or counts[ERROR]:
        yield "Correct the errors first."
    if counts[WARNING]:
        yield "Look at each warning: correct the file, or be ready to explain why it is right."
    if graded.missing_queries[0]:
        yield "Rank documents for every judged query, or find out why your system returned nothing for some."
    if any(file.role in UNREAD for file in graded.files):
        yield "Hand in the unread documents as plain text, or ask your grader to look at them."


def _steps_of_claims(entry: Entry) -> Iterator[str]:
    verdicts = {claim.verdict for claim in entry.graded.claims}
    if MISTAKE in verdicts:
        yield "Correct the mistakes that are named with your numbers, and compute these again."
    if NOT_REPRODUCED in verdicts:
        yield "Find out where the numbers that could not be reproduced come from: another run, other judgments?"
    if CONVENTION in verdicts:
        yield "Use the convention of the assignment, and name the convention of each number."
    if ROUNDING in verdicts:
        yield "Round numbers once, at the end, and to the nearest digit."
    declared = any(claim.counts and claim.verdict != NO_CLAIM for claim in entry.graded.claims)
    wanted = not declared and any(mark.part == "claims" and mark.points < mark.most for mark in entry.marks.items)
    # Without a run, numbers are unchecked for another reason than their form.
    unread = UNCHECKED in verdicts and entry.graded.status in (SCORED, REPAIRED)
    if wanted or unread or NO_CLAIM in verdicts:
        yield f"{DECLARE}."


# Commands -----------------------------------------------------------------------------------------


def _command(label: str, words: Sequence[str]) -> Iterator[str]:
    """Yield a command to copy; if it needs several lines, each but the last ends with a backslash."""
    from shlex import quote

    yield f"  {label}:"
    line = "    treceval"
    for word in map(quote, words):
        if len(line) + len(word) > WIDTH - 3:
            yield f"{line} \\"
            line = "     "
        line += f" {word}"
    yield line


def _check(graded: Graded, grades: Grades) -> list[str]:
    """Return the command that shows the findings, with the judgments if some findings need them."""
    judgments = ["--qrels", _file(grades.qrels)] if any(code.startswith("X") for code in graded.counts) else []
    kind = ["--as", graded.kind] if graded.kind == JUDGED else []
    return ["check", *judgments, *kind, _file(graded.run)]


def _conventions(rules: Rules) -> list[str]:
    """Return the options that make the command line score by the rules."""
    level = [] if rules.level is None else ["-l", str(rules.level)]
    return ["--profile", rules.profile, *(["-c"] if rules.complete else []), *level]


def _as_option(claim: Checked) -> str:
    """Return a claim in the form of `explain --claim`; empty if it was not read as a number."""
    read = claimed(claim.measure, claim.text, "").claim
    return "" if read is None else f"{read.measure.notation}={read.value:.{read.digits}f}{'%' * read.percent}"


def _files(graded: Graded, grades: Grades) -> tuple[str, str]:
    return _file(grades.qrels), _file(graded.run)


def _file(path: str) -> str:
    """Return a file's name for a command; FILE if a shell could misread the name."""
    name = path if path.startswith(DATASET) else os.path.basename(path)
    harmless = name.isprintable() and not name.startswith("-") and not set(name) & set("'\"\\$`;&|<>*?!#")
    return name if harmless and 0 < len(name) <= NAME else "FILE"


# Words and lines ----------------------------------------------------------------------------------


def _filled(text: str, indent: str, later: str | None = None) -> list[str]:
    """Break text into lines; a word longer than a line, such as an id, is split."""
    return wrap(
        shown(text, 2000),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if later is None else later,
        break_on_hyphens=False,
    )


def _more(number: int, one: str, many: str, indent: str = "  ") -> Iterator[str]:
    if number > 0:
        yield f"{indent}and {number:,} more {one if number == 1 else many}"


def _counted(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _signed(value: float) -> str:
    said = f"{value:+.4f}"
    return "0.0000" if said in ("+0.0000", "-0.0000") else said


def _as_claimed(claim: Checked) -> str:
    """Return the right value with four decimals or as many as the claim has, so that the difference is visible."""
    decimals = claim.text.replace(",", ".").partition(".")[2]
    digits = len(decimals) - len(decimals.lstrip("0123456789"))
    assert claim.value is not None
    return f"{claim.value:.{min(max(digits, 4), 10)}f}"
