"""The list "needs a human": what a person should check, for each submission and for the class."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from treceval_py.errors import visible
from treceval_py.grading import records
from treceval_py.grading.claims.claims import claimed
from treceval_py.grading.claims.reconciling import by_measure, readings
from treceval_py.grading.grades import Entry, Grades, Question
from treceval_py.grading.marking.similarity import SAME_FILE, SAME_RANKING
from treceval_py.grading.records import Checked, FileRead
from treceval_py.grading.rules import ANYWHERE
from treceval_py.measuring import Measure

KINDS = {
    "unread": "a document was not read",
    "several runs": "there are several runs, one of which was chosen",
    "no claims": "claims were expected, and none was declared",
    "unclear": "it is not clear to which run a claimed number belongs",
    "unknown number": "a report gives a number for a measure that equals nothing known: whose is it?",
    "alike": "the run is like another one",
    "too good": "the scores are nearly perfect",
    "another's claim": "a claimed number is right for another student's run",
    "nobody's": "a submission or a claim cannot be given to one student",
    "kept edit": "a file was edited by hand and is kept",
}
"""The reasons, and their meaning."""

BASELINE = "the baseline"

_PICTURE = re.compile(r"(?i)\.(png|jpe?g|gif|webp|heic|tiff?|bmp)$")

UNREAD = ("unread", "refused")
"""Roles of files that nobody has read."""


PERFECT, FEWEST_QUERIES = 0.999, 10
"""A run with at least this value, on at least this many queries, is as good as the judgments themselves."""

FEWEST_DECIMALS = 4
"""Numbers with fewer decimals are right for some other run by chance."""

MOST_NAMED = 3
"""Most similar runs that a sentence names."""


def with_questions(grades: Grades) -> Grades:
    """Add to each entry the questions for a person, in the order of `KINDS`; existing ones are kept."""
    everybodys = _of_everybody(grades)
    by_entry = [[*entry.questions, *_of_submission(entry, grades, everybodys)] for entry in grades.entries]
    for place, said in _alike(grades):
        by_entry[place].append(Question("alike", said))
    for place, said in _right_for_others(grades):
        by_entry[place].append(Question("another's claim", said))
    asked = [tuple(sorted(dict.fromkeys(questions), key=_order)) for questions in by_entry]
    entries = zip(grades.entries, asked, strict=True)
    return grades._replace(entries=tuple(entry._replace(questions=questions) for entry, questions in entries))


def needing(grades: Grades) -> list[tuple[Entry | None, Question]]:
    """Return all questions of a class, in the order of `KINDS`; those about unmatched claims have no entry."""
    of_nobody = [(None, Question("nobody's", stray)) for stray in grades.strays]
    of_entries = [(entry, question) for entry in grades.entries for question in entry.questions]
    return sorted([*of_entries, *of_nobody], key=lambda pair: _order(pair[1]))


def _order(question: Question) -> int:
    return [*KINDS].index(question.kind)


# What is known from a submission alone ------------------------------------------------------------


def _of_everybody(grades: Grades) -> set[str]:
    """Return the sentences with an unknown number that most submissions have, such as those of the exercise itself."""
    by_source = {entry.graded.source: entry.graded.claims for entry in grades.entries}.values()
    asked = ({claim.sentence for claim in claims if claim.verdict == records.ASKED} for claims in by_source)
    counts = Counter(sentence for sentences in asked for sentence in sentences)
    return {sentence for sentence, number in counts.items() if number > max(2, len(by_source) / 2)}


def _of_submission(entry: Entry, grades: Grades, everybodys: Collection[str]) -> Iterator[Question]:
    graded = entry.graded
    yield from (Question("unread", not_read(file)) for file in graded.files if file.role in UNREAD)
    if len(graded.runs) > 1:
        yield Question("several runs", f"{len(graded.runs)} runs were handed in; {graded.chosen}")
    anywhere = grades.rules.claims == ANYWHERE
    declared = any((claim.counts or anywhere) and claim.verdict != records.NO_CLAIM for claim in graded.claims)
    if graded.files and grades.rules.points_claims and not declared:
        searched = [file.name for file in graded.files if file.role == "report"]
        where = f", though {_and(searched)} {'was' if len(searched) == 1 else 'were'} read" if searched else ""
        pictures = [file.name for file in graded.files if _PICTURE.search(file.name)]
        where += f"; numbers may be in {_and(pictures)}" if pictures else ""
        yield Question("no claims", f"no number was declared{where}")
    asked = [claim for claim in graded.claims if claim.verdict == records.ASKED and claim.sentence not in everybodys]
    if asked:
        said = "; ".join(f"{_number(claim)}: “{claim.sentence}”" for claim in asked[:MOST_NAMED])
        more = f"; and {len(asked) - MOST_NAMED} more, in the sheet Claims" if len(asked) > MOST_NAMED else ""
        yield Question("unknown number", f"{said}{more}")
    for claim in graded.claims:
        if claim.verdict == records.UNCHECKED and claim.why.endswith(records.OF_WHICH):
            yield Question("unclear", f"{_number(claim)} could not be checked: {claim.why}")
            break
    # As good as the judgments themselves, which may have been handed in as a run.
    name = "".join(grades.measures[:1])
    missing, judged = graded.missing_queries
    value = graded.measures.get(name, math.nan)
    if PERFECT <= value <= 1.0 + 1e-9 and judged - missing >= FEWEST_QUERIES:
        yield Question("too good", f"{name} is {value:.4f}, as if the judgments were handed in as a run")


def _number(claim: Checked) -> str:
    """Return a number with its measure and place."""
    return f"{claim.measure} = {claim.text} ({claim.place})"


def not_read(file: FileRead) -> str:
    """Say that a file was not read, and why; without a full stop."""
    return file.why if file.name in file.why else f"{file.name} was not read: {file.why}"


# Runs that are alike ------------------------------------------------------------------------------


def _alike(grades: Grades) -> Iterator[tuple[int, str]]:
    """Yield numbers of entries, with the runs that theirs is like: all that are equal, not only those of its pairs."""
    like: dict[int, dict[str, set[int]]] = {}
    for pair in grades.pairs:
        ends = {pair.first, pair.second}
        for kind in (SAME_FILE, SAME_RANKING) if pair.kind == SAME_FILE else (pair.kind,):
            joined = ends.union(*(like.setdefault(place, {}).setdefault(kind, {place}) for place in ends))
            for place in joined if kind in (SAME_FILE, SAME_RANKING) else ends:  # all of a group are equal
                like[place][kind] = joined if kind in (SAME_FILE, SAME_RANKING) else like[place][kind] | ends
    for place in sorted(like.keys() - {-1}):
        own, known = like[place], {place}
        said = []
        for kind in (SAME_FILE, SAME_RANKING, *(own.keys() - {SAME_FILE, SAME_RANKING})):
            if others := own.get(kind, set()) - (known if kind in (SAME_FILE, SAME_RANKING) else {place}):
                said.append(f"{kind} as {_runs_of(grades, others)}")
                known |= others
        yield place, "; ".join(said)


def _runs_of(grades: Grades, places: Collection[int]) -> str:
    """Name the runs of some entries; if the baseline is one of them, the others are only counted."""
    names = [visible(grades.entries[place].student) for place in sorted(places) if place >= 0]
    if -1 in places:
        names = [BASELINE, *([f"{len(names)} more"] if names else [])]
    return _and(names)


def _and(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    shown = [*names[:MOST_NAMED], f"{more} more"] if more > 0 else [*names]
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


# Numbers of others --------------------------------------------------------------------------------


def _right_for_others(grades: Grades) -> Iterator[tuple[int, str]]:
    """Yield numbers of entries, with a sentence about a claimed number that is right for another student's run."""
    known = (records.SCORED, records.REPAIRED)
    everyone = [entry.graded for entry in grades.entries]
    means = [[own.measures, *(run.measures for run in own.runs[1:])] * (own.status in known) for own in everyone]
    values = [[*map(by_measure, own)] for own in means]
    baseline = [by_measure(grades.baseline_measures)]
    for place, entry in enumerate(grades.entries):
        for claim in entry.graded.claims:
            read = claimed(claim.measure, claim.text, claim.place).claim
            if claim.verdict not in (records.NOT_REPRODUCED, records.ASKED) or read is None:
                continue
            numbers = [
                (reading.value, 0.5 * 10.0**-reading.digits + 1e-9)
                for reading in readings(read)
                if reading.digits >= FEWEST_DECIMALS and 0 < reading.value < 1
            ]
            judged = entry.graded.missing_queries[1]
            if _gives(baseline, read.measure, numbers) or _is_coarse(read.measure, numbers, judged):
                continue
            others = [
                at
                for at, (other, theirs) in enumerate(zip(grades.entries, values, strict=True))
                if other.graded.source != entry.graded.source and _gives(theirs, read.measure, numbers)
            ]
            if others:
                yield place, f"{_number(claim)} is right for the run of {_runs_of(grades, others)}"


def _is_coarse(measure: Measure, numbers: list[tuple[float, float]], queries: int) -> bool:
    """Tell whether a mean has so few possible values, like a share of documents, that other runs often have it."""
    cutoff = dict(measure.parameters).get("cutoff", 1)
    steps = queries * (cutoff if isinstance(cutoff, int) else 1)
    counts = ((value * steps, near * steps) for value, near in numbers)
    return steps < 10**FEWEST_DECIMALS and all(abs(count - round(count)) <= near for count, near in counts)


def _gives(runs: list[dict[Measure, float]], measure: Measure, numbers: list[tuple[float, float]]) -> bool:
    values = [means.get(measure, math.nan) for means in runs]
    return any(abs(value - number) <= near for value in values for number, near in numbers)
