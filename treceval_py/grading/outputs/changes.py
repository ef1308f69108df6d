"""The changes since the previous grading, by student."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from treceval_py.grading.outputs.gradebook import shown

Changes = dict[tuple[str, int], list[str]]
"""For each student and submission a line for each change; a second student of the same name has the number 1."""


def read_before(path: str) -> list[Any]:
    """Return the record of an earlier grading; empty if it cannot be read."""
    try:
        with open(path, "rb") as stream:
            record = json.load(stream)
    except (OSError, ValueError, RecursionError):
        return []
    return record if isinstance(record, list) else []


def changed(before: Sequence[Any], after: Sequence[Mapping[str, Any]]) -> Changes:
    """Compare two gradings, as `graded_json` describes all submissions; damaged earlier ones are skipped."""
    old, new = _by_student(before), _by_student(after)
    changes = {}
    for key in sorted({**old, **new}, key=lambda key: (key[0].casefold(), key)):
        was = old.get(key, {}) if key in new else {"submission": "graded"}
        now = new.get(key, {"submission": "gone"}) if key in old else {"submission": "new"}
        lines = [
            f"{shown(fact)}: {shown(was.get(fact, '')) or 'none'} -> {shown(now.get(fact, '')) or 'none'}"
            for fact in {**now, **was}
            if was.get(fact, "") != now.get(fact, "")
        ]
        if lines:
            changes[key] = lines
    return changes


def changes_txt(changes: Changes, students: int) -> str:
    """Return changes as text: a paragraph for each student."""
    paragraphs = ["\n  ".join([shown(student), *lines]) + "\n" for (student, _), lines in changes.items()]
    return "\n".join([f"Changed since the last grading: {len(changes)} of {students} students.\n", *paragraphs])


def _by_student(entries: Sequence[Any]) -> dict[tuple[str, int], dict[str, str]]:
    """Return the facts of each submission that are compared, as texts by name; a damaged one is left out."""
    seen = Counter[str]()
    by_student = {}
    for entry in entries:
        with suppress(KeyError, TypeError, ValueError, AttributeError):
            facts = {
                "points": "excused" if entry["excused"] else f"{entry['points']:.2f}",
                "status": entry["status"],
                "run": f"{entry['run']} ({entry['sha256'][:8]})" if entry["run"] else "",
                **{name: "" if value is None else f"{value:.4f}" for name, value in entry["measures"].items()},
                **{f"claim {claim['measure']} = {claim['text']}": claim["verdict"] for claim in entry["claims"]},
            }
            by_student[entry["student"], seen[entry["student"]]] = facts
            seen[entry["student"]] += 1
    return by_student
