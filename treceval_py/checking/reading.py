"""Read a file for a check: its text in pieces of whole queries, and faults of its bytes.

Reading continues as long as there is text: UTF-16 is decoded, a byte-order mark is dropped, and carriage returns that
end lines alone become newlines. If reading must stop, a finding says why.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import BinaryIO, NamedTuple, cast

import numpy as np

from treceval_py._types import IntArray, Source
from treceval_py.checking.beginnings import HEAD, MACINTOSH, are_line_ends, text_of
from treceval_py.checking.findings import Collector
from treceval_py.diagnosis.lines import ODD_SPACES
from treceval_py.errors import InputError
from treceval_py.io.source import at_line, blocks, peek


class Chunk(NamedTuple):
    """A piece of a file.

    Attributes
    ----------
    first : int
        Number of its first line.
    text : bytes
        Whole lines, each with a newline; whole queries, if the lines of each query are together.
    """

    first: int
    text: bytes


_INVISIBLE = "\u00ad\u200c-\u200f\u202a-\u202e"
"""Invisible characters that may be intended, for example where a script joins letters; no space replaces them."""

_NUL = re.compile("\0")
_CONTROL = re.compile("[\x01-\x08\x0e-\x1f\x7f-\x9f]")
_ODD = re.compile(f"[{ODD_SPACES}{_INVISIBLE}]")
_SPACE = re.compile(f"[{ODD_SPACES}]")
_NOT_UTF_8 = re.compile("[\udc80-\udcff]")
_ODD_BYTES = re.compile(
    rb"\xc2[\xa0\xad]|\xe1\x9a\x80|\xe2\x80[\x80-\x8f\xa8-\xaf]|\xe2\x81[\x9f\xa0]|\xe3\x80\x80|\xef\xbb\xbf"
)
_CONTROL_BYTES = re.compile(rb"[\x01-\x08\x0e-\x1f\x7f]|\xc2[\x80-\x9f]")


_PLAIN = bytes([*b"\t\n\v\f\r", *range(0x20, 0x7F)])
"""The bytes that never give a finding."""

_CONTROLS = {
    "\x08": "a backspace",
    "\x1a": "an end-of-file mark of DOS",
    "\x1b": "an escape character",
    "\x7f": "a delete character",
}


def chunks(source: Source, collector: Collector) -> Iterator[Chunk]:
    """Yield the text of a file, and collect faults of its bytes.

    Parameters
    ----------
    source : str, path or binary file
        The file, ``"-"`` for standard input, or an open binary file; plain, gzip, bzip2, xz or zstd.
    collector : Collector
        Takes the findings. Those that count over the whole file are added when reading ends.

    Yields
    ------
    chunk : Chunk
        Lines of the file, in order, without a byte-order mark. UTF-16 becomes UTF-8, and carriage returns that end
        lines alone become newlines.
    """
    bytewise = _Bytes(collector)
    with ExitStack() as opened:
        try:
            head, given = peek(source, HEAD)
            bytewise.head = head
            if given is not source and not isinstance(given, os.PathLike):
                opened.callback(cast("BinaryIO", given).close)  # a pipe that was opened here
            text = text_of(given, head, collector)
            if text is None:
                return
            for block in blocks(text, name=collector.file, whole_queries=True, columns=True):
                yield bytewise.look(bytes(block))
            bytewise.ended = True
        except InputError as error:
            bytewise.refuse(at_line(error, bytewise.lines))
        finally:
            bytewise.finish()


def without_data(text: bytes) -> tuple[IntArray, IntArray, int]:
    """Find blank lines and comments, by the rules of the readers.

    Parameters
    ----------
    text : bytes
        Lines, each with a newline.

    Returns
    -------
    blank, comments : (N,) int arrays
        Numbers of these lines, from 0.
    lines : int
        Number of lines.
    """
    raw = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(raw == ord("\n"))
    starts = np.concatenate([[0], ends[:-1] + 1])
    begins = raw[starts]
    empty = begins == ord("\n")
    comment = begins == ord("#")
    # A line that begins with white space may be blank or a comment. Such lines are few, so a loop is fast enough.
    indented = np.flatnonzero((begins == ord(" ")) | ((begins >= 9) & (begins <= 13) & ~empty))
    for line in indented:
        data = text[starts[line] : ends[line]].lstrip()
        empty[line] = not data
        comment[line] = data.startswith(b"#")
    return np.flatnonzero(empty), np.flatnonzero(comment), len(ends)


class _Tally:
    """How often something occurs in a file, and where it occurs first."""

    def __init__(self) -> None:
        self.count = 0
        self.place = (0, 0)

    def take(self, count: int, line: int, column: int = 0) -> None:
        self.place = self.place if self.count else (line, column)
        self.count += count


class _Bytes:
    """Checks the bytes of a file, chunk by chunk.

    Attributes
    ----------
    head : bytes
        Beginning of the file.
    lines : int
        Number of lines checked so far.
    ended : bool
        Whether the file was read to its end.
    """

    def __init__(self, collector: Collector) -> None:
        self.head = b""
        self.lines = 0
        self.ended = False
        self._collector = collector
        self._blank, self._comments, self._nuls, self._returns = _Tally(), _Tally(), _Tally(), _Tally()
        self._data = _Tally()  # comments that look like data
        self._mac = False

    def look(self, text: bytes) -> Chunk:
        """Collect odd bytes of a chunk; return it with its line number and with newlines at its line ends."""
        first = self.lines + 1
        if b"\r" in text:
            text = self._look_at_returns(text, first)
        blank, comments, lines = without_data(text)
        if len(blank):
            self._blank.take(len(blank), first + int(blank[0]))
        if len(comments):
            self._look_at_comments(text, comments, first)
        rest = text.translate(None, _PLAIN)
        if rest:
            self._look_at_odd(text, rest, first)
        self.lines += lines
        return Chunk(first, text)

    def _look_at_comments(self, text: bytes, comments: IntArray, first: int) -> None:
        ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))
        starts = np.concatenate([[0], ends[:-1] + 1])
        for line in comments.tolist():
            data = _DATA.match(text, starts[line], ends[line])
            (self._comments if data is None else self._data).take(1, first + line)

    def _look_at_returns(self, text: bytes, first: int) -> bytes:
        if first == 1 and b"\n" not in text.strip() and are_line_ends(text):
            self._mac = True
            if not self._collector.counts["F008"]:  # if compressed, it may have been reported
                self._collector.add("F008", *MACINTOSH)
        if self._mac:
            return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        ended = text.count(b"\r\n")
        if ended:
            at = text.index(b"\r\n")
            self._returns.take(ended, first + text.count(b"\n", 0, at))
        if text.count(b"\r") > ended:
            stray, todo = "a carriage return in the middle of the line", "End lines with newlines."
            for line, column in _inner_returns(text, first):
                self._collector.add("F008", stray, todo, line=line, column=column)
        return text

    def _look_at_odd(self, text: bytes, rest: bytes, first: int) -> None:
        """Look for rare characters; ``rest`` holds the bytes of the text that are not plain, and so tells which."""
        try:
            decoded = text.decode("utf-8")
        except UnicodeDecodeError:
            decoded = text.decode("utf-8", "surrogateescape")
            self._each(decoded, first, _NOT_UTF_8, "F011", _about_byte)
        if b"\0" in rest:
            line, column, _ = next(_first_of_lines(decoded, first, _NUL))
            self._nuls.take(rest.count(b"\0"), line, column)
        # Removing the plain bytes can join others, so these searches can find too much, but never too little.
        if _CONTROL_BYTES.search(rest):
            self._each(decoded, first, _CONTROL, "F012", _about_control)
        if _ODD_BYTES.search(rest):
            self._each(decoded, first, _ODD, "F013", _about_odd_space)

    def _each(
        self, text: str, first: int, pattern: re.Pattern[str], code: str, about: Callable[[str], tuple[str, str]]
    ) -> None:
        if self._collector.wants(code):
            for line, column, matched in _first_of_lines(text, first, pattern):
                self._collector.add(code, *about(matched), line=line, column=column)

    def refuse(self, error: InputError) -> None:
        """Collect why reading had to stop."""
        code = next((code for code, words in _REFUSALS.items() if error.what.startswith(words)), "F002")
        if code == "F005":  # so near the beginning that the reader takes the file for UTF-16
            self._collector.add(code, "a NUL byte", _ABOUT_NULS, line=1, column=self.head.find(0) + 1)
        else:
            self._collector.add(code, error.what, error.todo, line=error.line or 0)

    def finish(self) -> None:
        """Collect the findings that are counted over the whole file."""
        collector = self._collector
        if self.ended and self.lines == self._blank.count + self._comments.count + self._data.count:
            collector.add("F017", "no line with data, only blank lines or comments", "Is it the right file?")
        for code, tally, one, many, todo in (
            ("F005", self._nuls, "a NUL byte", "NUL bytes", _ABOUT_NULS),
            ("F009", self._returns, "a line that ends with CR LF", "lines that end with CR LF", "Use newlines alone."),
            ("F014", self._blank, "a blank line", "blank lines", "Delete it." if self._blank.count == 1 else _DELETE),
            ("F015", self._comments, "a comment", "comments", "Delete it." if self._comments.count == 1 else _DELETE),
            ("F019", self._data, "a comment that looks like data", "comments that look like data", _ABOUT_DATA),
        ):
            if tally.count:
                counted = one if tally.count == 1 else f"{tally.count:,} {many}, of which this is the first"
                collector.add(code, counted, todo, line=tally.place[0], column=tally.place[1])


_REFUSALS = {
    "F001": "the file is empty",
    "F005": "this looks like UTF-16",
    "F007": "the compressed data is damaged",
    "F010": "a line has more than",
    "F021": "the file ends within this line",
}
"""How the reader's messages begin, by finding; all other messages are F002."""

_ABOUT_NULS = "Write the file again: NUL bytes come from a crash or from binary data."
_DELETE = "Delete them."
_ABOUT_DATA = "Lines that begin with # are skipped: if they are data, give their queries other ids."

# A query id that begins with #, then the other fields of a line of a run or of judgments.
_DATA = re.compile(
    rb"\s*#+[^\s#]\S*\s+(?:\S+\s+\S+\s+[+-]?[0-9]+\s+[+-]?\.?[0-9]\S*\s+\S|(?:[Qq]?0|[0-9]+)\s+\S+\s+[+-]?[0-9]+\s*\Z)"
)


def _first_of_lines(text: str, first: int, pattern: re.Pattern[str]) -> Iterator[tuple[int, int, str]]:
    """Yield line, column and text of the first match on each line."""
    line, counted, at = first, 0, 0
    while match := pattern.search(text, at):
        place = match.start()
        line += text.count("\n", counted, place)
        yield line, place - text.rfind("\n", 0, place), match[0]
        counted, at = place, text.index("\n", place)


def _inner_returns(text: bytes, first: int) -> Iterator[tuple[int, int]]:
    """Yield line and column of the first carriage return between fields, for each line that has one."""
    line, counted, at = first, 0, 0
    while (at := text.find(b"\r", at)) >= 0:
        start, end = text.rfind(b"\n", 0, at) + 1, text.index(b"\n", at)
        line += text.count(b"\n", counted, start)
        counted, at = start, end
        begun = text[start:end].rstrip()
        place = begun.find(b"\r", len(begun) - len(begun.lstrip()))
        if place >= 0:
            yield line, 1 + len(begun[:place].decode("utf-8", "surrogateescape"))


def _about_byte(surrogate: str) -> tuple[str, str]:
    return f"byte {ord(surrogate) - 0xDC00:02X} is not valid UTF-8", "Save the file as UTF-8."


def _about_control(control: str) -> tuple[str, str]:
    known = _CONTROLS.get(control, "a control character")
    return f"{known} (U+{ord(control):04X})", "Delete it."


def _about_odd_space(space: str) -> tuple[str, str]:
    name = f"{unicodedata.name(space, 'space').lower()} (U+{ord(space):04X})"
    if not _SPACE.match(space):
        return f"{name}, which is invisible", "Delete it, unless the same id has it elsewhere."
    return f"{name}, which does not separate fields", "Write a plain space, or delete it."
