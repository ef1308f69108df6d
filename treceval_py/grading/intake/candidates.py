"""Find out what each file of a submission could be: from its content first, then from its name.

A file may be several things at once, and each is tried: all possible runs are scored, and all possible documents are
searched for claims. The run that counts is chosen after all runs were scored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from treceval_py._types import Source
from treceval_py.diagnosis.columns import MOST_GRADE, counts_up, falls, form_of, is_constant, whole_number
from treceval_py.errors import InputError
from treceval_py.grading.claims.documents.reading import is_document
from treceval_py.grading.claims.naming import is_name
from treceval_py.grading.intake.archives import IntakeError
from treceval_py.grading.intake.folders import Item, Submission
from treceval_py.grading.intake.platforms import NUMBERED, stem_of
from treceval_py.grading.records import JUDGED, FileRead
from treceval_py.io.formats import format_of, lines_of, sight_of
from treceval_py.io.source import peek

HEAD = 1 << 16
"""Bytes from which a file is judged."""

MOST_RUNS, MOST_TEXTS = 20, 20
"""Most files of a submission that are scored, and that are searched for claims; others are reported."""

LARGEST_TEXT = 1 << 20
"""A larger file without a document format is data, unless its first lines name a measure."""

RUN, MSMARCO, RANKING, LIKE, GUESS = range(5)
"""Evidence for a run, strongest first: three kinds of lines, lines of a damaged run, that there is nothing better."""

_LOOKS: dict[int | None, tuple[str, str]] = {
    RUN: ("run", "it has the lines of a run"),
    MSMARCO: ("msmarco", "it has the lines of an MS MARCO run"),
    RANKING: (JUDGED, "it has the lines of a ranking with judgments"),
    LIKE: ("", "it has the lines of a run, with mistakes"),
    GUESS: ("", "it does not look like a run, but nothing else looks more like one"),
}
"""The kind of a run, and the evidence in words."""


class RunFile(NamedTuple):
    """A file, which may be a run, and what else it could be.

    Attributes
    ----------
    item : Item
        The file.
    strength : int or None
        Evidence for a run, if there is any.
    text : str
        The kind of document; empty if it has no claims.
    names : bool
        Whether its first lines name a measure, so that it may have claims.
    fault : str
        Why it is neither a run nor a text, if so.
    turn : tuple
        When it was handed in, as far as known, for comparison with other runs of the submission: the platform's number
        of the file, the number in its name, and the time of its last change.
    """

    item: Item
    strength: int | None = None
    text: str = ""
    names: bool = False
    fault: str = ""
    turn: tuple[int, int, str] = (0, 0, "")

    @property
    def kind(self) -> str:
        """``run``, ``msmarco`` or ``judged-ranking``; empty if its lines fit none of them."""
        return _LOOKS.get(self.strength, ("", ""))[0]

    @property
    def why(self) -> str:
        """The evidence for a run, or what else it is; a sentence without a full stop."""
        return self.fault or _LOOKS.get(self.strength, ("", ""))[1]

    @property
    def name(self) -> str:
        """Its name without folders."""
        return self.item.name.rsplit("/", 1)[-1]

    @property
    def named(self) -> bool:
        """Whether it is named like a run."""
        return _NAME_OF_A_RUN.search(self.name) is not None

    @property
    def likeliest(self) -> tuple[bool, bool, bool, int]:
        """The order of files that could be runs; names and sizes break ties between weaker kinds of evidence."""
        certain = self.strength == RUN
        return not certain, not self.named, self.strength != RANKING, 0 if certain else -self.item.size

    def told(self, role: str, why: str = "") -> FileRead:
        """Return the report on it."""
        return FileRead(self.item.name, role, why or self.why, self.item.size)


class Handed(NamedTuple):
    """The possible roles of the files of a submission.

    Attributes
    ----------
    runs : tuple of RunFile
        All possible runs, the likeliest first.
    texts : tuple of Item
        All files that may have claims: those whose first lines name a measure, then documents with their own format.
    files : tuple of FileRead
        All files by name, with what each could be: ``run``, ``judged ranking``, ``report`` (not yet searched for
        claims), ``unread``, ``not used`` or ``refused``.
    """

    runs: tuple[RunFile, ...]
    texts: tuple[Item, ...]
    files: tuple[FileRead, ...]


def head_of(source: Source) -> bytes:
    """Return the beginning of a file, decompressed, in the form that `candidates` expects of the judgments.

    Raises
    ------
    InputError
        The file cannot be opened.
    """
    return peek(source, HEAD)[0]


_NAME_OF_A_RUN = re.compile(r"(?i)(^|[^a-z])(run|result|ranking|submission|trec|output)s?([^a-z]|$)|\.(run|trec|res)$")
_NAME_OF_JUDGMENTS = re.compile(r"(?i)qrel|judg")
_PICTURES = re.compile(r"(?i)\.(png|jpe?g|gif|webp|heic|heif|tiff?|bmp|svg)$")

EARLIER = "it is from an earlier attempt"


def candidates(submission: Submission, *, qrels: bytes = b"") -> Handed:
    """Return what each file of a submission could be.

    Parameters
    ----------
    submission : Submission
        The submission.
    qrels : bytes
        The beginning of the judgments, from `head_of`; without it they are recognised only by their form.

    Returns
    -------
    Handed
        The runs, the texts, and a report on each file.
    """
    roles: dict[str, FileRead] = {}
    files = []
    again = _handed_in_again(submission.items)
    judged = _fields_of(_lines_of(qrels))
    for item in submission.items:
        if item in again:
            roles[item.name] = RunFile(item).told("not used", f"{again[item]} was uploaded later in its place")
            continue
        try:
            with item.opened() as stream:
                head = head_of(stream)
        except (IntakeError, InputError) as error:
            roles[item.name] = RunFile(item).told("refused", error.what)
        else:
            files.append(_looked_at(item, head, judged, alone=len(submission.items) - len(again) == 1))
    runs = _runs_of(files, roles)
    texts = _texts_of(files, [run.item for run in runs], roles)
    for file in files:
        roles.setdefault(file.item.name, file.told("unread" if file.fault == _UNREAD else "not used"))
    return Handed(tuple(runs), tuple(texts), tuple(sorted((*submission.refused, *roles.values()))))


# --- what a file could be ---

_DATA = ("text", "csv", "json")
"""Documents that may also be data."""

SHORTEST = 10
"""Fewest lines from which the form alone makes a run of a file that could be prose or parameters."""

_UNREAD = "it is not text, though it is named like text"
_TEXT = re.compile(r"(?i)\.(txt|md|csv|tsv|html?|tex)$")

Rows = Sequence[Sequence[bytes]]


def _looked_at(item: Item, head: bytes, judged: Rows, *, alone: bool) -> RunFile:
    """Return what a file could be, judged by its beginning; ``judged`` are the fields of the judgments."""
    file = RunFile(item)
    name, lines = file.name, _lines_of(head)
    names = _name_measures(lines)
    strength = _as_run(head, name, lines, judged, names=names)
    if isinstance(strength, str):
        return file._replace(fault=strength)
    text = is_document(name, head)
    if strength in (RUN, RANKING):
        # A page may have both a run and text.
        return file._replace(strength=strength, text=text if text == "html" else "")
    if text == "other":  # such as a zip archive, or the format of an older program
        return file._replace(text=text)
    data = text in _DATA
    if strength is None and not names and (data or not text):
        strength = GUESS if file.named or (alone and not _NAME_OF_JUDGMENTS.search(name)) else None
    if strength in (MSMARCO, LIKE) or (data and not names and item.size > LARGEST_TEXT):
        text = ""
    fault = ""
    if strength is None and not text:
        fault = _UNREAD if b"\0" in head and _TEXT.search(name) else "it is neither a run nor a text"
        fault = "it is a picture, and numbers in pictures are not read" if _PICTURES.search(name) else fault
    return file._replace(strength=strength, text=text, names=names, fault=fault if head else "it is empty")


def like_a_run(head: bytes, name: str) -> bool:
    """Tell whether a file may be a run, by its beginning; quicker than `candidates`."""
    lines = _lines_of(head)
    return isinstance(_as_run(head, name, lines, (), names=_name_measures(lines)), int)


_SEPARATOR = re.compile(rb"[\s,;|]+")
_SIGN = re.compile(rb"[\s,;|:={}\[\]\"*`]+")
_NUMBER = re.compile(rb"[+-]?(\d|nan|inf|none|null)", re.IGNORECASE)


def _as_run(head: bytes, name: str, lines: Sequence[bytes], judged: Rows, *, names: bool) -> int | str | None:
    """Return the evidence for a run in the lines of a file (None if there is none), or what else they are."""
    if not is_document(name, b"text"):
        return "it is a program, or a part of one"
    form = form_of(lines[:20])
    if form == "qrels":
        return _judged(_fields_of(lines), judged)
    if form == "run" and _are_of_a_run(lines):
        return RUN
    if names:
        return None
    if head.lstrip()[:1] in (b"{", b"["):
        return LIKE if _JSON.match(head) else None
    if form in _FEW:
        return _FEW[form] if _is_ranking(head, lines, judged) else None
    separated = [_SEPARATOR.sub(b" ", line) for line in lines[:20]]
    other = form_of(separated)
    if other in ("near", "colbert") or format_of(sight_of(head, len(head) < HEAD), "run") is not None:
        return LIKE
    return LIKE if other == "run" and (len(lines) >= SHORTEST or _are_of_a_run(separated)) else None


_FEW: dict[str, int | str] = {
    "msmarco": MSMARCO,
    "tevatron": LIKE,
    "colbert": LIKE,
    "cranfield": "these are judgments of three columns, not a run",
}
"""What files of few columns are, if they are not settings."""

_JSON = re.compile(
    rb'\s*\{\s*"[^"]{1,200}"\s*:\s*\{\s*"[^"]{1,200}"\s*:\s*-?[\d.]'
    rb'|\s*\[?\s*\{[^{}]{0,400}"(?i:doc|pid|passage|corpus|search_results)[^"]{0,20}"\s*:'
)
"""Beginnings of runs in JSON: a dictionary of dictionaries, and records with one document each."""

_ID = re.compile(r"[A-Za-z][-_]?\d+|.*\d{5}.*")
"""``q1``, ``p_10`` and ``AP880212-0047`` are ids, though they can be read as names of measures."""


def _name_measures(lines: Sequence[bytes]) -> bool:
    """Tell whether the first lines name a measure."""
    words = {word.decode("utf-8", "replace") for line in lines[:20] for word in _SIGN.split(line[:1000])}
    return any(is_name(word) and not _ID.fullmatch(word) for word in words)


def _are_of_a_run(lines: Sequence[bytes]) -> bool:
    """Distinguish lines of a run from prose and tables with as many fields: by Q0, or by ranks and scores."""
    rows = [fields for line in lines[:50] if len(fields := line.split(None, 6)) > 5]
    ranked = (fields[3].isdigit() and _NUMBER.match(fields[4]) is not None for fields in rows)
    return 2 * sum(is_constant(fields[1]) or rank for fields, rank in zip(rows, ranked, strict=True)) > len(rows)


def _is_ranking(head: bytes, lines: Sequence[bytes], judged: Rows) -> bool:
    """Distinguish a run with few fields per line from settings such as ``k = 3``."""
    rows = [line.split() for line in lines]
    queries = {fields[0] for fields in judged}
    enough = len(rows) >= SHORTEST or b"\t" in head or any(fields[0] in queries for fields in rows)
    return enough and rows[0][1:2] not in ([b"="], [b":"])


def _judged(rows: Rows, judged: Rows) -> int | str:
    """Distinguish a ranking with judgments from judgments, by the order of lines, and from a run without scores."""
    if judged and (rows == judged[: len(rows)] or _are_in_order_of(rows, judged)):
        return "these are the judgments of the assignment, not a run"
    numbers = [whole_number(fields[3]) for fields in rows]
    scores = falls(rows, 3) and any(number is None or number > MOST_GRADE for number in numbers)
    if scores or counts_up(rows, 3):
        return LIKE
    ascending = all(a[0] != b[0] or a[2] < b[2] for a, b in pairwise(rows))
    if ascending and all(fields[1] == b"0" for fields in rows):
        return "these are judgments: the documents of each query are in the order of their ids"
    return RANKING


def _are_in_order_of(rows: Rows, judged: Rows) -> bool:
    """Tell whether lines are some of the judgments, in the same order and with the same labels."""
    places = {tuple(fields[:4]): number for number, fields in enumerate(judged)}
    whole = {fields[0] for fields in judged} - {judged[-1][0]}  # the last query may be cut off
    positions = [places.get(tuple(fields[:4])) for fields in rows if fields[0] in whole]
    return len(positions) >= SHORTEST and all(a is not None and b is not None and a < b for a, b in pairwise(positions))


def _lines_of(head: bytes) -> list[bytes]:
    """Return the first lines with data, without a last line that may be cut off."""
    return lines_of(head, 1000, ended=len(head) < HEAD)


def _fields_of(lines: Sequence[bytes]) -> list[list[bytes]]:
    """Return the fields of the lines with at least four fields."""
    return [fields for line in lines if len(fields := line.split()) >= 4]


# --- which of them are runs, and which texts ---


def _runs_of(files: Sequence[RunFile], roles: dict[str, FileRead]) -> list[RunFile]:
    """Return the possible runs, the likeliest first; guesses only if there are no others."""
    choices = [file for file in files if file.strength is not None]
    choices = [file for file in choices if file.strength != GUESS] or choices
    last = max((file.item.attempt for file in choices), default="")
    sure = next((file.item.name for file in choices if file.strength in (RUN, MSMARCO)), "")
    chosen = []
    for file in choices:
        if file.item.attempt != last:
            roles[file.item.name] = file.told("not used", EARLIER)
        elif sure and file.strength == RANKING and not file.named and _NAME_OF_JUDGMENTS.search(file.name):
            why = f"these are judgments, by the name of the file, and {sure} is a run"
            roles[file.item.name] = file.told("not used", why)
        else:
            chosen.append(file)
    turns = _turns([file.item for file in chosen])
    runs = [file._replace(turn=turn) for file, turn in zip(chosen, turns, strict=True)]
    runs.sort(key=lambda file: file.item.name)
    runs.sort(key=lambda file: file.turn, reverse=True)
    runs.sort(key=lambda file: file.likeliest)
    for file in runs[:MOST_RUNS]:
        roles[file.item.name] = file.told("judged ranking" if file.strength == RANKING else "run")
    for file in runs[MOST_RUNS:]:
        roles[file.item.name] = file.told("unread", f"{file.why}, but no more than {MOST_RUNS} are scored")
    return runs[:MOST_RUNS]


def _handed_in_again(items: Sequence[Item]) -> dict[Item, str]:
    """Return the files that later versions on the platform replace, each with the name of the last version.

    On Canvas, ``run-2.txt`` replaces ``run.txt`` and ``run-1.txt``, if it was uploaded last.
    """
    series: dict[str, list[Item]] = {}
    for item in sorted(items, key=lambda item: item.number):
        if item.number:
            series.setdefault(NUMBERED.sub("", item.name), []).append(item)
    return {
        item: versions[-1].name
        for versions in series.values()
        if NUMBERED.search(versions[-1].name) and not NUMBERED.search(versions[0].name)
        for item in versions[:-1]
    }


_VERSION = re.compile(
    r"(?i)(?P<stem>.*?)(?:[\W_]+(?:v|version[\W_]*)?|(?<=run)|(?<=result)|(?<=results)|(?<=ranking)|(?<=submission)|(?<=output))"
    r"\(?(?P<number>\d{1,14})\)?"
)
"""A name with the number of a version: ``run-2``, ``run (2)``, ``run_v2``, ``run2``."""


def _version_of(item: Item) -> tuple[str, int]:
    """Return the path of a file without its ending and version number, and that number."""
    folder, _, name = item.name.casefold().rpartition("/")
    parts = _VERSION.fullmatch(stem_of(name))
    return (f"{folder}/{stem_of(name)}", 0) if parts is None else (f"{folder}/{parts['stem']}", int(parts["number"]))


def _turns(items: Sequence[Item]) -> list[tuple[int, int, str]]:
    """Return the order in which files were handed in, as far as known for all: see `RunFile`."""
    known = [(item, *_version_of(item)) for item in items]
    often = Counter(stem for _, stem, _ in known)
    timed = all(item.time for item in items)
    return [(item.number, (often[stem] > 1) * number, item.time if timed else "") for item, stem, number in known]


def last_of(runs: Sequence[RunFile]) -> tuple[RunFile, str]:
    """Return the run that was handed in last, and how that is known.

    Parameters
    ----------
    runs : sequence of RunFile
        One or more, the likeliest first.

    Returns
    -------
    RunFile
        The last one; the first of ``runs`` if the order is unknown.
    str
        How it is known, a sentence without a full stop; empty if it is unknown.
    """
    last = max(runs, key=lambda run: run.turn)
    before = max((run.turn for run in runs if run is not last), default=last.turn)
    known = next((at for at, (a, b) in enumerate(zip(last.turn, before, strict=True)) if a != b), None)
    changed = f"it was changed last, {last.item.time.replace('T', ' ')}"
    words = ("it was uploaded last", "its name has the highest number", changed)
    return last, "" if known is None else words[known]


def _texts_of(files: Sequence[RunFile], scored: Sequence[Item], roles: dict[str, FileRead]) -> list[Item]:
    """Return the files that may have claims, the likeliest first."""
    texts = [file for file in files if file.text and (file.item.name not in roles or file.item in scored)]
    reports = [file.item for file in texts if file.names or file.text not in _DATA]
    first = max((item.attempt for item in (*scored, *reports)), default="")
    chosen: list[Item] = []
    for file in sorted(texts, key=lambda file: (not file.names, file.item not in reports)):
        role, why = "report", "it may have claims"
        if file.item.attempt < first:
            role, why = "not used", EARLIER
        elif len(chosen) == MOST_TEXTS:
            role = "unread" if file.item in reports else "not used"
            why = f"no more than {MOST_TEXTS} files are searched for claims"
        else:
            chosen.append(file.item)
        roles.setdefault(file.item.name, file.told(role, why))
    return chosen
