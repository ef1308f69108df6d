"""The changes since the previous grading, by student."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from treceval_py.data.ids import encode
from treceval_py.grading.outputs.gradebook import csv_of, sheet_of, shown


class Changed(NamedTuple):
    """A change of a grading for a student.

    Attributes
    ----------
    student : str
        The student.
    what : str
        ``submission``, ``points``, ``status``, ``run``, a measure, or a claim such as ``claim MAP = 0.3088``.
    before, after : str
        Old and new value; empty if there is none.
    """

    student: str
    what: str
    before: str
    after: str


def read_before(path: str) -> list[Any]:
    """Return the record of an earlier grading; empty if it cannot be read."""
    try:
        with open(path, "rb") as stream:
            record = json.load(stream)
    except (OSError, ValueError, RecursionError):
        return []
    return record if isinstance(record, list) else []


def changed(before: Sequence[Any], after: Sequence[Mapping[str, Any]]) -> list[Changed]:
    """Compare two gradings.

    Parameters
    ----------
    before, after : sequence of mapping
        All submissions, as `graded_json` describes them. Damaged earlier ones are skipped.

    Returns
    -------
    list of Changed
        In the order of the students' names.
    """
    old, new = _by_student(before), _by_student(after)
    changes = []
    for key in sorted({**old, **new}, key=lambda key: (key[0].casefold(), key)):
        if key not in new:
            changes.append(Changed(key[0], "submission", "graded", "gone"))
        elif key not in old:
            changes.append(Changed(key[0], "submission", "", "new"))
        else:
            changes += _differences(key[0], _facts(old[key]), _facts(new[key]))
    return changes


def changes_txt(changes: Sequence[Changed], students: int) -> bytes:
    """Return changes as text: a paragraph for each student."""
    names = list(dict.fromkeys(change.student for change in changes))
    lines = [f"Changed since the last grading: {len(names)} of {students} students.", ""]
    for name in names:
        lines.append(shown(name))
        lines += [
            f"  {shown(change.what)}: {shown(change.before) or 'none'} -> {shown(change.after) or 'none'}"
            for change in changes
            if change.student == name
        ]
        lines.append("")
    return encode("\n".join(lines))


def changes_csv(changes: Sequence[Changed]) -> bytes:
    """Return changes as CSV, one per line."""
    rows = [tuple(map(shown, change)) for change in changes]
    return encode(csv_of(sheet_of("", Changed._fields, rows)))


def _by_student(entries: Sequence[Any]) -> dict[tuple[str, int], Mapping[str, Any]]:
    """Return submissions by student and number; a second student of the same name has the number 1."""
    seen = Counter[str]()
    by_student = {}
    for entry in entries:
        if isinstance(entry, Mapping) and isinstance(student := entry.get("student"), str):
            by_student[student, seen[student]] = entry
            seen[student] += 1
    return by_student


def _facts(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts of a submission that are compared, as texts by name."""
    points = "excused" if entry.get("excused") is True else _number(entry.get("points"), 2)
    facts = {"points": points, "status": str(entry.get("status", ""))}
    if entry.get("run"):
        facts["run"] = f"{entry['run']} ({str(entry.get('sha256', ''))[:8]})"
    measures, claims = entry.get("measures"), entry.get("claims")
    if isinstance(measures, Mapping):
        facts |= {str(name): _number(value, 4) for name, value in measures.items()}
    for claim in claims if isinstance(claims, list) else ():
        if isinstance(claim, Mapping):
            facts[f"claim {claim.get('measure')} = {claim.get('text')}"] = str(claim.get("verdict", ""))
    return facts


def _number(value: object, digits: int) -> str:
    return f"{value:.{digits}f}" if isinstance(value, (int, float)) else ""


def _differences(student: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Changed]:
    for fact in dict.fromkeys([*new, *old]):
        before, after = old.get(fact, ""), new.get(fact, "")
        if before != after:
            yield Changed(student, fact, before, after)
