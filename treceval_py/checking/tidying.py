"""Cleans the white space of a run or of judgments: the repairs of `fixing` that need only a single line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from treceval_py.checking.rows import is_plain
from treceval_py.data.ids import decode, encode
from treceval_py.diagnosis.columns import MOST_FIELDS, Kind, is_number, is_quoted, is_whole, names_columns
from treceval_py.diagnosis.lines import ODD_SPACES, lacks_tag

_WHITE = re.compile(rb"[\t\v\f\r ]+")

_ODD = re.compile(f"[{ODD_SPACES}]")

UNTIDY = (b"\r", b"\v", b"\f", b"  ", b" \t", b"\t ", b"\t\t", b"\n ", b"\n\t", b" \n", b"\t\n", b"\n\n")
"""Any text whose white space needs repair contains one of these, or begins with white space."""

SAYS = {
    "crlf": ("1 line that ended with a carriage return now ends",
             "{} lines that ended with carriage returns now end", "with a newline alone"),
    "odd": ("unusual spaces on 1 line were", "unusual spaces on {} lines were", "replaced"),
    "white": ("superfluous white space on 1 line was", "superfluous white space on {} lines was", "removed"),
    "header": ("the header was", "{} headers were", "removed"),
    "quotes": ("quotes on 1 line were", "quotes on {} lines were", "removed"),
    "tag": ("1 line without a tag", "{} lines without a tag", "got one"),
    "blank": ("1 blank line was", "{} blank lines were", "removed"),
    "duplicate": ("1 exact duplicate was", "{} exact duplicates were", "removed"),
    "rank": ("ranks of 1 query were", "ranks of {} queries were", "numbered from 1"),
}  # fmt: skip
"""Sentences for each repair: for one, for several, and how both end."""


class Tally:
    """How often each repair was made, and on which line first.

    Attributes
    ----------
    begun : bool
        Whether a header or data line was seen, repaired or not.
    tag : bytes
        Tag of the last line that has one; lines without a tag get it.
    """

    def __init__(self) -> None:
        self.begun = False
        self.tag = b"run"
        self._counts: Counter[str] = Counter()
        self._first: dict[str, int] = {}

    def add(self, repair: str, lines: Iterable[int]) -> None:
        """Count a repair, made on these lines."""
        for line in lines:
            self._counts[repair] += 1
            self._first[repair] = min(line, self._first.get(repair, line))

    def sentences(self) -> list[str]:
        """Return sentences about the repairs, without full stops."""
        told = []
        for repair, (one, several, end) in SAYS.items():
            count = self._counts[repair]
            if count:
                start = one if count == 1 else several.format(f"{count:,}")
                where = f"{'' if count == 1 else 'first: '}line {self._first[repair]}"
                told.append(f"{start} {end} ({where})")
        return told


def tidied(text: bytes, first: int, kind: Kind, tally: Tally) -> tuple[bytes, Sequence[int]]:
    """Repair the white space of a text.

    Parameters
    ----------
    text : bytes
        Whole lines, each with a newline.
    first : int
        Number of the first line.
    kind : Kind
        Kind of the file. In a line with the wrong number of fields, only the end is changed.
    tally : Tally
        Counts the repairs.

    Returns
    -------
    text : bytes
        The text; the same object if nothing needed repair.
    lines : sequence of int
        The numbers of its lines in the file.
    """
    headed = not tally.begun and _begins_with_names(text)
    if not headed and _is_tidy(text) and (kind.name != "run" or _is_whole(text)):
        tally.begun = True
        tally.tag = (text.rsplit(None, 1)[-1:] or [tally.tag])[0] if kind.name == "run" else tally.tag
        return text, range(first, first + text.count(b"\n"))
    written: list[bytes] = []
    lines: list[int] = []
    for line, raw in enumerate(text.split(b"\n")[:-1], first):
        mended = _mended(raw, line, kind, tally)
        if mended is not None:
            written.append(mended)
            lines.append(line)
    written.append(b"")
    return b"\n".join(written), lines


def _is_tidy(text: bytes) -> bool:
    if text[:1] in (b" ", b"\t", b"\n") or any(each in text for each in UNTIDY):
        return False
    return text.isascii() or _ODD.search(decode(text)) is None


def _is_whole(text: bytes) -> bool:
    """Tell whether tidy lines of a run have six fields on average, and the first one has no quotes."""
    return text.count(b" ") + text.count(b"\t") == 5 * text.count(b"\n") and text[:1] not in (b'"', b"'")


def _begins_with_names(text: bytes) -> bool:
    first = next((line for line in text.split(b"\n", 20)[:20] if not line.startswith(b"#")), b"")
    return names_columns(first.split(None, MOST_FIELDS))


def _mended(raw: bytes, line: int, kind: Kind, tally: Tally) -> bytes | None:
    """Return a line with its white space repaired; None for a blank line."""
    body, layout = raw.rstrip(b"\r"), kind.layout
    plain = body if body.isascii() else encode(_ODD.sub(" ", decode(body)))
    fields = plain.split()
    if not fields:
        tally.add("blank", [line])
        return None
    if body != raw:
        tally.add("crlf", [line])
    if fields[0].startswith(b"#"):
        return body
    if not tally.begun:
        tally.begun = True
        if names_columns(fields):
            tally.add("header", [line])
            return None
    body = _with_fields(body, line, kind, tally)
    plain = body if body.isascii() else encode(_ODD.sub(" ", decode(body)))
    odd = plain != body and not layout.fits(len(body.split())) and _is_sound(plain.split(), kind)
    if odd:
        tally.add("odd", [line])
        body = plain
    if not is_plain(body, body.split(), layout):
        return body
    tidy = _WHITE.sub(_one, body.strip())
    # White space that a replaced space leaves next to another is not a repair of its own.
    if tidy != body and not odd:
        tally.add("white", [line])
    return tidy


def _with_fields(body: bytes, line: int, kind: Kind, tally: Tally) -> bytes:
    """Return a line without quotes around its fields, and with a tag in a run."""
    if kind.name != "qrels" and is_quoted(body):
        tally.add("quotes", [line])
        body = body.replace(b'"', b"").replace(b"'", b"")
    if kind.name == "run":
        fields = body.split()
        if lacks_tag(fields) and (body.isascii() or not _ODD.search(decode(body))):
            tally.add("tag", [line])
            return body.rstrip() + (b"\t" if b"\t" in body else b" ") + tally.tag
        if len(fields) == len(kind.layout.fields):
            tally.tag = fields[-1]
    return body


def _is_sound(fields: list[bytes], kind: Kind) -> bool:
    """Tell whether fields are those of a line, with its constant and its numbers in the right places."""
    if len(fields) != len(kind.layout.fields):
        return False
    if kind.name != "msmarco" and fields[1].upper() not in (b"Q0", b"0"):
        return False
    whole = kind.rank if kind.rel is None else kind.rel
    if kind.score is not None and (not is_number(fields[kind.score]) or is_number(fields[-1])):
        return False  # a numeric tag may be the score of a line without a tag
    return whole is None or is_whole(fields[whole])


def _one(white: re.Match[bytes]) -> bytes:
    """Return one white byte for several: a tab if there is one, since some programs split at tabs only."""
    return b"\t" if b"\t" in white[0] else b" "
