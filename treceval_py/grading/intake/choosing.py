"""Which file of a submission is the run, and which have claims: by what is in them, and only then by their names."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from treceval_py._types import Source
from treceval_py.checking.beginnings import encoding_of
from treceval_py.checking.lines import looks_like
from treceval_py.errors import InputError
from treceval_py.grading.claims.claims import claims_in
from treceval_py.grading.intake.items import Item, Submission
from treceval_py.grading.intake.limits import IntakeError
from treceval_py.grading.records import FileRead
from treceval_py.io.named import seen
from treceval_py.io.source import peek

__all__ = ["HEAD", "Choice", "choose", "head_of", "like_a_run"]

HEAD = 1 << 16
"""Bytes by which a file is judged."""

MOST_CLAIM_BYTES, MOST_CLAIM_FILES = 1 << 20, 20
"""Larger files have no claims, and further ones are not looked into."""

_RUN, _MSMARCO, _RANKING, _LIKE, _NAMED, _ALONE = range(6)
"""What speaks for a file, the strongest first: three kinds of lines, lines of a damaged run, nothing but the name, or
that there is no other one."""

_LOOKS = {
    _RUN: "its lines are those of a run",
    _MSMARCO: "its lines are those of an MS MARCO run",
    _RANKING: "its lines are those of a ranking with judgments",
    _LIKE: "its lines are like those of a run, with mistakes",
    _NAMED: "it is named like a run, though its lines are not those of one",
    _ALONE: "it is the only file, though its lines are not those of a run",
}

_NAME_OF_A_RUN = re.compile(r"(?i)(^|[^a-z])(run|result|ranking|submission|trec|output)s?([^a-z]|$)|\.(run|trec|res)$")
_NAME_OF_JUDGMENTS = re.compile(r"(?i)qrel|judg")
_CODE = re.compile(r"(?i)\.(py|ipynb|java|c|h|cc|cpp|cs|js|ts|go|rs|r|jl|m|sh|bat|scala|kt|pl|rb|jar|class|pyc)$")
_DOCUMENT = re.compile(r"(?i)\.(pdf|docx?|odt|pptx?|xlsx?|ods|html?|png|jpe?g|gif|svg|tex|rtf)$")


class Choice(NamedTuple):
    """What the files of a submission are used for.

    Attributes
    ----------
    run : Item or None
        The run, or a judged ranking; also a file that is meant as one and cannot be scored. None where there is none.
    claims : tuple of Item
        The files with claims.
    files : tuple of FileRead
        All files, also those that were refused, by name.
    """

    run: Item | None
    claims: tuple[Item, ...]
    files: tuple[FileRead, ...]


class _Candidate(NamedTuple):
    """A file that may be the run; the least one is."""

    kind: int
    unnamed: bool
    size: int
    name: str
    item: Item


def head_of(source: Source) -> bytes:
    """Return the beginning of a file, decompressed, as `choose` takes it of the judgments.

    Raises
    ------
    InputError
        The file cannot be opened.
    """
    return peek(source, HEAD)[0]


def choose(submission: Submission, *, qrels: bytes = b"") -> Choice:
    """Choose the run and the files with claims.

    A file is the run by its lines: a run first, then an MS MARCO run, a ranking with judgments, lines like those of a
    run, and last a file that only its name makes one. Of several that are alike in this, one whose name says so is
    taken, then the largest, then the first by name. The judgments of the assignment, handed in again, are no run.

    Parameters
    ----------
    submission : Submission
        What was handed in.
    qrels : bytes
        The beginning of the judgments, by `head_of`; without it they are known by their name and form only.

    Returns
    -------
    Choice
        With what every file is used for, and why.
    """
    files = list(submission.refused)
    candidates: list[_Candidate] = []
    claims: list[Item] = []
    alone = len(submission.items) == 1
    for item in submission.items:
        try:
            with item.opened() as stream:
                head = head_of(stream)
        except (IntakeError, InputError) as error:
            files.append(FileRead(item.name, "refused", error.what, item.size))
            continue
        kind = _kind_of(head, item, qrels, alone=alone)
        if isinstance(kind, int):
            named = _NAME_OF_A_RUN.search(_last(item)) is not None
            candidates.append(_Candidate(kind, not named, -item.size, item.name, item))
        elif kind == "claims" and len(claims) < MOST_CLAIM_FILES:
            claims.append(item)
            files.append(FileRead(item.name, "claims", "it has numbers that are claimed for measures", item.size))
        else:
            why = f"more than {MOST_CLAIM_FILES} files with claims are not read" if kind == "claims" else kind
            files.append(FileRead(item.name, "not used", why, item.size))
    candidates = sorted(candidates, key=lambda each: (_beaten(each, candidates), each))
    files += _told(candidates)
    run = candidates[0].item if candidates else None
    return Choice(run, tuple(claims), tuple(sorted(files)))


def _last(item: Item) -> str:
    return item.name.rsplit("/", 1)[-1]


def _kind_of(head: bytes, item: Item, qrels: bytes, *, alone: bool) -> int | str:
    """Return what speaks for a file as the run, ``claims``, or why it is not used."""
    name = _last(item)
    if _CODE.search(name):
        return "it is a program, or a part of one"
    found = looks_like(head)
    if found is not None and found.name == "qrels":
        return _judged(head, name, qrels)
    if found is not None and found.name == "run":
        return _RUN
    # What trec_eval prints of counts has three fields a line, too.
    if found is not None and _is_msmarco(head, qrels) and not claims_in(head, name):
        return _MSMARCO
    if seen(io.BytesIO(head))[0].format == "parquet" or _like_a_run(head):
        return _LIKE
    if claims_in(head, name):
        return "claims" if item.size <= MOST_CLAIM_BYTES else "it has claims, but is too large for a file of them"
    if _DOCUMENT.search(name):
        return "it is a document"
    if _NAME_OF_A_RUN.search(name):
        return _NAMED
    if alone and not _NAME_OF_JUDGMENTS.search(name):
        return _ALONE
    return "it is empty" if not head else "its lines are not those of a run, and it has no claims"


def like_a_run(head: bytes, name: str) -> bool:
    """Tell whether a file is one that may be the run, by its beginning; quicker than `choose`, and without claims."""
    if _CODE.search(name):
        return False
    found = looks_like(head)
    if found is None:
        return _like_a_run(head)
    if found.name == "qrels":
        return isinstance(_judged(head, name, b""), int)
    return found.name == "run" or _is_msmarco(head, b"")


SHORTEST = 10
"""Lines of three fields that may be parameters where they are fewer."""


def _is_msmarco(head: bytes, qrels: bytes) -> bool:
    """Tell lines of three fields that are a run from settings such as ``k = 3``."""
    lines = [fields for line in _lines_of(head) if (fields := line.split())]
    if any(fields[1:2] in ([b"="], [b":"]) for fields in lines):
        return False
    if len(lines) >= SHORTEST or b"\t" in head:
        return True
    judged = {fields[0] for fields in _fields_of(qrels)}
    return any(fields[0] in judged for fields in lines)


def _judged(head: bytes, name: str, qrels: bytes) -> int | str:
    """Tell a ranking with judgments from judgments."""
    lines = _fields_of(head)
    if qrels and lines == _fields_of(qrels)[: len(lines)]:
        return "these are the judgments of the assignment, not a run"
    if _NAME_OF_JUDGMENTS.search(name):
        return "these are judgments, by the name of the file, not a run"
    if _are_ranks(lines):
        return _LIKE
    ascending = all(a[0] != b[0] or a[2] < b[2] for a, b in pairwise(lines))
    if ascending and all(fields[1] == b"0" for fields in lines):
        return "these are judgments: the documents of each query stand in the order of their ids"
    return _RANKING


RISING, FALLING = 2, 5
"""So many steps of one in a column, and it has ranks; scores that fall evenly take more, as labels of the best rankings
fall like that too."""


def _are_ranks(lines: Sequence[Sequence[bytes]]) -> bool:
    """Tell ranks, which rise by one in each query, and scores made of them, which fall evenly, from labels."""
    columns: dict[bytes, list[bytes]] = {}
    for fields in lines:
        columns.setdefault(fields[0], []).append(fields[3])
    try:
        numbers = [[float(each) for each in column] for column in columns.values()]
    except ValueError:
        return False
    steps = [b - a for column in numbers for a, b in pairwise(column)]
    if not steps or len(set(steps)) > 1:
        return False
    rising = steps[0] == 1 and all(column[0] in (0, 1) for column in numbers)
    return (rising and len(steps) >= RISING) or (steps[0] < 0 and max(map(len, numbers)) > FALLING)


GLANCE = 1000
"""Lines that are compared."""


def _lines_of(head: bytes) -> list[bytes]:
    """Return the first lines in UTF-8, whatever encoding and line ends they have, without one that may be cut off."""
    whole = len(head) < HEAD
    encoding = encoding_of(head)
    if encoding is not None:
        head = head.decode(encoding, "ignore").encode("utf-8", "ignore")
    lines = head.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return lines[:GLANCE] if whole or len(lines) == 1 else lines[:-1][:GLANCE]


def _fields_of(head: bytes) -> list[list[bytes]]:
    """Return the fields of the first lines with four fields at least."""
    found = (line.split() for line in _lines_of(head))
    return [fields for fields in found if len(fields) >= 4]


_SEPARATOR = re.compile(rb"[\s,;|]+")
_NUMBER = re.compile(rb"[+-]?(\d|nan|inf|none|null)", re.IGNORECASE)


def _like_a_run(head: bytes) -> bool:
    """Tell whether most lines have five fields or more, and numbers where rank and score are."""
    lines = [line for line in _lines_of(head) if line.strip() and line[:1] != b"#"][:50]
    good = 0
    for line in lines:
        fields = [field for field in _SEPARATOR.split(line[:1000].strip(b' \t"')) if field]
        numbers = [_NUMBER.match(field) is not None for field in fields[2:6]]
        good += 5 <= len(fields) <= 12 and sum(numbers) >= 1 + (len(fields) > 5) and fields[0][:1].isalnum()
    return 2 * good > len(lines)


def _told(candidates: Sequence[_Candidate]) -> list[FileRead]:
    """Say of each candidate why it is the run, or why it is not."""
    if not candidates:
        return []
    first, *others = candidates
    role = "judged ranking" if first.kind == _RANKING else "run"
    why = _LOOKS[first.kind]
    rivals = [other for other in others if other.kind < _NAMED or first.kind >= _NAMED]
    if rivals:
        why += f"; of {1 + len(rivals)} files that may be the run it was chosen because {_because(first, rivals[0])}"
    told = [FileRead(first.name, role, why, first.item.size)]
    for other in others:
        why = f"{_LOOKS[other.kind]}, but {first.name} was chosen, because {_because(first, other)}"
        told.append(FileRead(other.name, "not used", why, other.item.size))
    return told


FAR_LARGER = 20
"""So many times the size of a file, and another one is more likely the run, even with mistakes."""


def _beaten(each: _Candidate, candidates: Sequence[_Candidate]) -> bool:
    """Tell whether a file of three or four columns gives way to a damaged run, which is named so or far larger."""
    return each.kind in (_MSMARCO, _RANKING) and any(
        other.kind == _LIKE and (other.unnamed < each.unnamed or other.size <= FAR_LARGER * min(each.size, -1))
        for other in candidates
    )


def _because(first: _Candidate, other: _Candidate) -> str:
    if first.kind == _LIKE and other.kind < _LIKE:
        return "its name says so" if first.unnamed < other.unnamed else "it is far larger"
    if first.kind != other.kind:
        return "its lines say so" if first.kind < _NAMED else "its name says so"
    if first.unnamed != other.unnamed:
        return "its name says so"
    return "it is larger" if first.size != other.size else "its name comes first"
