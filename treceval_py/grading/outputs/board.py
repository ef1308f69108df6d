"""The board of a class: its runs ranked under pseudonyms that only the students themselves know."""

from __future__ import annotations

import hashlib
import hmac
import math
import unicodedata
from collections.abc import Mapping
from html import escape

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.boards.columns import highest, rank_interval, ranks_for_programs
from treceval_py.boards.intervals import ranges_of, rounded, shared_ranks
from treceval_py.data.ids import encode
from treceval_py.errors import visible
from treceval_py.grading.grades import Entry, Grades
from treceval_py.grading.outputs.gradebook import set_apart
from treceval_py.grading.records import JUDGED, REPAIRED, SCORED
from treceval_py.measures import parse_measures
from treceval_py.measures.registry import MEAN, SUM
from treceval_py.rendering import render
from treceval_py.rendering.envelope import Made
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Column, Document, Table

CONSONANTS, VOWELS = "bdfghjklmnprstvz", "aiou"
"""Sixteen consonants and four vowels: five of them in turn encode 16 bits in a word that can be said aloud."""


def with_pseudonyms(book: Grades) -> Grades:
    """Return a class whose students have pseudonyms, if the rules have a key for them.

    Members of a group share one; a run that cannot be compared with the others has none. A pseudonym depends only on
    the key and the student, so it is the same in all tasks of a course, and nobody can compute it without the key.

    Parameters
    ----------
    book : Grades
        The class.

    Returns
    -------
    Grades
        The class. Without a key, nobody has a pseudonym.

    References
    ----------
    Daniel S. Wilkerson. A Proposal for Proquints: Identifiers that are Readable, Spellable, and Pronounceable. 2009.
    """
    if not book.rules.board_key:
        return book
    key = book.rules.board_key.encode()
    taken: set[str] = set()
    shared: dict[str, str] = {}
    entries = []
    for entry in sorted(book.entries, key=_identity):
        # Without a submission, there is no group.
        name = shared.get(entry.graded.source, "") if entry.graded.source else ""
        if not name:
            digest = hmac.digest(key, _identity(entry).encode("utf-8", "surrogateescape"), hashlib.sha256)
            words = 2
            while (name := _said(digest, words)) in taken:  # about one in 100,000 students
                words += 1
            taken.add(name)
            if entry.graded.source:
                shared[entry.graded.source] = name
        entries.append(entry._replace(pseudonym=name))
    order = {entry.name: place for place, entry in enumerate(book.entries)}
    apart = set_apart(book)
    return book._replace(
        entries=tuple(
            entry._replace(pseudonym="") if _is_own(entry, book) or entry.name in apart else entry
            for entry in sorted(entries, key=lambda entry: order[entry.name])
        )
    )


def class_board(book: Grades) -> Mapping[str, bytes]:
    """Return the files of the class's board.

    Parameters
    ----------
    book : Grades
        The class, whose students have pseudonyms.

    Returns
    -------
    mapping of str to bytes
        ``board.html``, a page that loads nothing from elsewhere, and ``board.csv``; empty without pseudonyms.
    """
    if not book.measures or not any(entry.pseudonym for entry in book.entries):
        return {}
    document = Document("board", [_table(book)], lambda _: Made())
    title = escape(visible(book.rules.title) or "Board of the class")
    page = (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{title}</title>\n{render(document, 'html', Style())}"
    )
    return {"board.html": encode(page), "board.csv": encode(render(document, "csv", Style()))}


def _is_own(entry: Entry, book: Grades) -> bool:
    """Tell whether a run is scored by judgments that no other run has."""
    return book.rules.own_labels and entry.graded.kind == JUDGED


def _identity(entry: Entry) -> str:
    """Return a student's identity in all tasks: the number or address of the roster, else the name."""
    person = entry.person
    known = "" if person is None else person.number or person.email or person.name
    return unicodedata.normalize("NFC", known or entry.graded.student).casefold()


def _said(digest: bytes, words: int) -> str:
    """Return the beginning of a digest as words of five letters, each for 16 bits."""
    return "-".join(_word(int.from_bytes(digest[2 * number : 2 * number + 2], "big")) for number in range(words))


def _word(bits: int) -> str:
    letters = []
    for shift, kind in ((12, CONSONANTS), (10, VOWELS), (6, CONSONANTS), (4, VOWELS), (0, CONSONANTS)):
        letters.append(kind[bits >> shift & len(kind) - 1])
    return "".join(letters)


def _table(book: Grades) -> Table:
    """Return a table of the comparable runs, best first."""
    first = book.measures[0]
    scored = [entry for entry in book.entries if entry.graded.status in (SCORED, REPAIRED)]
    own = [entry for entry in scored if _is_own(entry, book)]
    others = [entry for entry in scored if not entry.pseudonym and entry not in own]
    by_name = {  # a group is one row
        entry.pseudonym: entry.graded
        for entry in scored
        if entry.pseudonym and math.isfinite(entry.graded.measures.get(first, math.nan))
    }
    order = sorted(by_name, key=lambda name: (-rounded(by_name[name].measures[first]), name))
    rows = [by_name[name] for name in order]
    ranges = _ranges(book, [row.values for row in rows])
    means = [[row.measures.get(name, math.nan) for row in rows] for name in book.measures]
    notes = [
        "Names are pseudonyms. Your own is in your feedback.",
        f"Ranked by {visible(first)}; runs with equal values share a rank.",
    ]
    if any(ranges) and len(rows) > 1:
        notes.append(
            "95 % ranks: interval of each run's rank, by a bootstrap over queries (1,000 draws, seed 1). On other "
            "queries, runs whose intervals overlap may swap places."
        )
    if book.baseline_measures.get(first) is not None:
        notes.append(f"The baseline's {visible(first)} is {book.baseline_measures[first]:.4f}.")
    for left, why in ((own, "scored by the judgments in the file itself"), (others, "scored under other conventions")):
        if left:
            count = "1 run is" if len(left) == 1 else f"{len(left)} runs are"
            notes.append(f"{count} left out: {why}.")
    columns = (
        Column("rank", shared_ranks(means[0])),
        rank_interval(ranges, "95 %"),
        Column("run", order, text=True, head=True),
        *(Column(name, cells, best=highest(cells)) for name, cells in zip(book.measures, means, strict=True)),
        *ranks_for_programs(ranges),
    )
    title = visible(book.rules.title)
    return Table(
        columns,
        "runs",
        heading=f"{title}: runs ranked by {visible(first)}" if title else f"Runs ranked by {visible(first)}",
        notes=tuple(notes),
    )


def _ranges(book: Grades, values: list[FloatArray | None]) -> list[tuple[int, int] | None]:
    """Return the intervals of ranks; all None if values of queries are unknown or not averaged."""
    (measure,) = parse_measures(book.measures[0])
    known = [row for row in values if row is not None]
    if len(known) < len(values) or not known or measure.family.average not in (MEAN, SUM):
        return [None] * len(values)
    table = np.array(known, dtype=np.float64)
    if book.rules.complete:
        table = np.nan_to_num(table, nan=0.0)
    return ranges_of(table[:, ~np.isnan(table).any(axis=0)])
