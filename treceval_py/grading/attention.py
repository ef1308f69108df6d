"""The list "needs a human": what a person should check, for each submission and for the class."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from treceval_py.errors import visible
from treceval_py.grading.claims.claims import claimed
from treceval_py.grading.claims.rounding import readings
from treceval_py.grading.grades import Entry, Grades, Question
from treceval_py.grading.marking.similarity import SAME_FILE, SAME_RANKING
from treceval_py.grading.records import (
    ASKED,
    NO_CLAIM,
    NOT_REPRODUCED,
    OF_WHICH,
    REPAIRED,
    SCORED,
    UNCHECKED,
    Checked,
    FileRead,
    Graded,
)
from treceval_py.grading.rule_keys import ANYWHERE
from treceval_py.measures import Measure, parse_measures

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
    """Add to each entry the questions that a person should look at.

    Parameters
    ----------
    grades : Grades
        The class. Existing questions of its entries are kept.

    Returns
    -------
    Grades
        The same class; the questions of each entry are in the order of `KINDS`, without duplicates.
    """
    everybodys = _of_everybody(grades)
    by_entry: list[list[Question]] = [
        [*entry.questions, *_of_submission(entry, grades, everybodys)] for entry in grades.entries
    ]
    for place, sentence in perfect(grades).items():
        by_entry[place].append(Question("too good", sentence))
    for place, sentence in _alike(grades):
        by_entry[place].append(Question("alike", sentence))
    for place, sentence in _right_for_others(grades):
        by_entry[place].append(Question("another's claim", sentence))
    kinds = list(KINDS)
    entries = (
        entry._replace(questions=tuple(sorted(dict.fromkeys(questions), key=lambda asked: kinds.index(asked.kind))))
        for entry, questions in zip(grades.entries, by_entry, strict=True)
    )
    return grades._replace(entries=tuple(entries))


def needing(grades: Grades) -> list[tuple[Entry | None, Question]]:
    """Return all questions of a class, in the order of `KINDS`; those about unmatched claims have no entry."""
    questions: list[tuple[Entry | None, Question]] = [
        (entry, question) for entry in grades.entries for question in entry.questions
    ]
    questions += [(None, Question("nobody's", stray)) for stray in grades.strays]
    kinds = list(KINDS)
    return sorted(questions, key=lambda pair: kinds.index(pair[1].kind))


# What is known from a submission alone ------------------------------------------------------------


def _of_everybody(grades: Grades) -> set[str]:
    """Return the sentences with an unknown number that most submissions have, such as those of the exercise itself."""
    by_source = {entry.graded.source: entry.graded.claims for entry in grades.entries}
    counts = Counter(
        sentence
        for claims in by_source.values()
        for sentence in {claim.sentence for claim in claims if claim.verdict == ASKED}
    )
    return {sentence for sentence, number in counts.items() if number > max(2, len(by_source) / 2)}


def _of_submission(entry: Entry, grades: Grades, everybodys: Collection[str]) -> Iterator[Question]:
    graded = entry.graded
    for file in graded.files:
        if file.role in UNREAD:
            yield Question("unread", not_read(file))
    if len(graded.runs) > 1:
        yield Question("several runs", f"{len(graded.runs)} runs were handed in; {graded.chosen}")
    anywhere = grades.rules.claims == ANYWHERE
    declared = any((claim.counts or anywhere) and claim.verdict != NO_CLAIM for claim in graded.claims)
    if graded.files and grades.rules.points_claims and not declared:
        searched = [file.name for file in graded.files if file.role == "report"]
        where = f", though {_and(searched)} {'was' if len(searched) == 1 else 'were'} read" if searched else ""
        pictures = [file.name for file in graded.files if _PICTURE.search(file.name)]
        where += f"; numbers may be in {_and(pictures)}" if pictures else ""
        yield Question("no claims", f"no number was declared{where}")
    asked = [claim for claim in graded.claims if claim.verdict == ASKED and claim.sentence not in everybodys]
    if asked:
        said = "; ".join(f"{told_number(claim)}: “{claim.sentence}”" for claim in asked[:MOST_NAMED])
        more = f"; and {len(asked) - MOST_NAMED} more, in the sheet Claims" if len(asked) > MOST_NAMED else ""
        yield Question("unknown number", f"{said}{more}")
    for claim in graded.claims:
        if claim.verdict == UNCHECKED and claim.why.endswith(OF_WHICH):
            yield Question("unclear", f"{told_number(claim)} could not be checked: {claim.why}")
            return


def told_number(claim: Checked) -> str:
    """Return a number with its measure and place."""
    return f"{claim.measure} = {claim.text} ({claim.place})"


def not_read(file: FileRead) -> str:
    """Say that a file was not read, and why; without a full stop."""
    return file.why if file.name in file.why else f"{file.name} was not read: {file.why}"


def perfect(grades: Grades) -> dict[int, str]:
    """Find the runs that are as good as the judgments themselves, which may have been handed in as a run.

    Parameters
    ----------
    grades : Grades
        The class.

    Returns
    -------
    dict of int to str
        By number of the entry, a sentence without a full stop. The first measure is 0.999 to 1, over 10 or more
        queries. It is a question to look into.
    """
    name = grades.measures[0] if grades.measures else ""
    said = {}
    for place, entry in enumerate(grades.entries):
        missing, judged = entry.graded.missing_queries
        value = entry.graded.measures.get(name, math.nan)
        if PERFECT <= value <= 1.0 + 1e-9 and judged - missing >= FEWEST_QUERIES:
            said[place] = f"{name} is {value:.4f}, as if the judgments were handed in as a run"
    return said


# Runs that are alike ------------------------------------------------------------------------------


def equal_runs(grades: Grades, kinds: Sequence[str] = (SAME_FILE, SAME_RANKING)) -> list[frozenset[int]]:
    """Return the groups of entries with the same ranking, largest first; -1 is the baseline.

    Parameters
    ----------
    grades : Grades
        The class.
    kinds : sequence of str
        Kinds of pairs that join two runs.

    Returns
    -------
    list of frozenset of int
        Numbers of entries, at least two in each group.
    """
    group: dict[int, set[int]] = {}
    for pair in grades.pairs:
        if pair.kind in kinds:
            joined = group.get(pair.first, {pair.first}) | group.get(pair.second, {pair.second})
            group.update(dict.fromkeys(joined, joined))
    return sorted({frozenset(same) for same in group.values()}, key=lambda same: (-len(same), sorted(same)))


def _alike(grades: Grades) -> Iterator[tuple[int, str]]:
    """Yield numbers of entries, with the runs that theirs is like; equal runs are all named, others by their pairs."""
    like: dict[int, dict[str, set[int]]] = {}
    for group in equal_runs(grades):
        for place in group:
            like.setdefault(place, {})[SAME_RANKING] = set(group - {place})
    for group in equal_runs(grades, (SAME_FILE,)):
        for place in group:
            like[place] = {SAME_FILE: set(group - {place}), SAME_RANKING: like[place][SAME_RANKING] - group}
    for pair in grades.pairs:
        if pair.kind not in (SAME_FILE, SAME_RANKING):
            for one, other in ((pair.first, pair.second), (pair.second, pair.first)):
                like.setdefault(one, {}).setdefault(pair.kind, set()).add(other)
    for place in sorted(like.keys() - {-1}):
        said = [f"{kind} as {_named(grades, others)}" for kind, others in like[place].items() if others]
        yield place, "; ".join(said)


def _named(grades: Grades, places: Collection[int]) -> str:
    """Name the runs of some entries; if the baseline is one of them, the others are only counted."""
    names = [visible(grades.entries[place].student) for place in sorted(places) if place >= 0]
    if -1 in places:
        names = [BASELINE, f"{len(names)} more"] if names else [BASELINE]
    return _and(names)


def _and(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    shown = [*names[:MOST_NAMED], f"{more} more"] if more > 0 else [*names]
    return " and ".join([*([", ".join(shown[:-1])] if len(shown) > 1 else []), shown[-1]])


# Numbers of others --------------------------------------------------------------------------------


def _right_for_others(grades: Grades) -> Iterator[tuple[int, str]]:
    """Yield numbers of entries, with a sentence about a claimed number that is right for another student's run."""
    values = [_values(entry.graded) for entry in grades.entries]
    baseline = _by_measure(grades.baseline_measures)
    for place, entry in enumerate(grades.entries):
        for claim in entry.graded.claims:
            given = _given(claim)
            if given is None or _gives([baseline], *given):
                continue
            if _is_coarse(*given, entry.graded.missing_queries[1]):
                continue
            others = [
                other
                for other, theirs in enumerate(values)
                if grades.entries[other].graded.source != entry.graded.source and _gives(theirs, *given)
            ]
            if others:
                yield (
                    place,
                    f"{claim.measure} = {claim.text} ({claim.place}) is right for the run of {_named(grades, others)}",
                )


def _values(graded: Graded) -> list[dict[Measure, float]]:
    """Return the means of each run of a submission."""
    if graded.status not in (SCORED, REPAIRED):
        return []
    return [_by_measure(means) for means in (graded.measures, *(run.measures for run in graded.runs[1:]))]


def _by_measure(means: dict[str, float]) -> dict[Measure, float]:
    return {measure: value for name, value in means.items() for measure in parse_measures(name)}


def _given(claim: Checked) -> tuple[Measure, list[tuple[float, float]]] | None:
    """Return the measure of a claim, and the numbers to look for with their tolerances; None to skip the claim."""
    if claim.verdict not in (NOT_REPRODUCED, ASKED):
        return None
    read = claimed(claim.measure, claim.text, claim.place).claim
    if read is None:
        return None
    numbers = [
        (reading.value, 0.5 * 10.0**-reading.digits + 1e-9)
        for reading in readings(read)
        if reading.digits >= FEWEST_DECIMALS and 0 < reading.value < 1
    ]
    return (read.measure, numbers) if numbers else None


def _is_coarse(measure: Measure, numbers: list[tuple[float, float]], queries: int) -> bool:
    """Tell whether a mean has so few possible values, like a share of documents, that other runs often have it."""
    cutoff = dict(measure.parameters).get("cutoff", 1)
    steps = queries * (cutoff if isinstance(cutoff, int) else 1)
    return steps < 10**FEWEST_DECIMALS and all(
        abs(value * steps - round(value * steps)) <= near * steps for value, near in numbers
    )


def _gives(runs: list[dict[Measure, float]], measure: Measure, numbers: list[tuple[float, float]]) -> bool:
    values = [means[measure] for means in runs if measure in means]
    return any(abs(value - number) <= near for value in values for number, near in numbers)
