"""Text: its encoding and its lines, and tables of values separated by commas, semicolons or tabs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

from treceval_py.errors import InputError
from treceval_py.grading.claims.documents.document import Blocks, Row, Unread

_BYTE_ORDERS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def decoded(data: bytes) -> str:
    """Return the text of a file: in UTF-8 or UTF-16, otherwise in Windows' encoding for Western Europe."""
    for mark, encoding in _BYTE_ORDERS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        # A file that was cut off may end within a letter.
        if error.start > len(data) - 4 and error.reason == "unexpected end of data":
            return data[: error.start].decode("utf-8")
        return data.decode("cp1252", "replace")


def lines_of(text: str) -> list[str]:
    """Split a text into lines, each with its newline, only at the line ends of a file."""
    return list(io.StringIO(text, newline=None))


def read_text(text: str, blocks: Blocks, place: str = ":{}") -> None:
    """Read the lines of a text; ``place`` is the form of their places."""
    for number, line in enumerate(lines_of(text), 1):
        blocks.line(place.format(number), line)


_SEPARATORS = "\t;,|"


def read_delimited(text: str, blocks: Blocks) -> None:
    """Read a table of separated values; several tables in a file are separated by blank lines."""
    lines = lines_of(text)
    first = 1 if lines and SEPARATED.fullmatch(lines[0]) else 0
    beginning = lines[first : first + 100]
    separator = max(_SEPARATORS, key=lambda mark: sum(mark in line for line in beginning))
    if not any(separator in line for line in beginning):
        read_text(text, blocks)
        return
    rows: list[Row] = []
    for line, cells in records(lines, first, separator):
        if any("=" in cell for cell in cells) or len(cells) < 2:
            blocks.grid(rows)
            rows = []
            blocks.line(f":{line}", f"{separator} ".join(cells))
        else:
            rows.append(Row(f":{line}", tuple(cells)))
    blocks.grid(rows)


SEPARATED = re.compile(r'(?i)"?sep=.?"?\s*')
"""The line in which Excel declares the separator."""


def content_of(file: str) -> bytes:
    """Return the content of a teacher's table."""
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=file) from None


def records(lines: Sequence[str], first: int, separator: str, file: str = "") -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table, each with the line of the file on which it begins.

    Parameters
    ----------
    lines : sequence of str
        The lines of the file.
    first : int
        Number of lines to skip before the table.
    separator : str
        The character between cells.
    file : str
        The file, if it is a teacher's: then it is read strictly, and empty rows are left out.

    Raises
    ------
    InputError, Unread
        A row cannot be read: InputError for a teacher's file, Unread for a document.
    """
    reader = csv.reader(lines[first:], delimiter=separator, skipinitialspace=True, strict=bool(file))
    while True:
        line = first + reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            if not file:
                raise Unread(f"it is not a table: line {line}: {error}") from None
            todo = "Put quotes around a field, and double those within it."
            raise InputError(f"this is not a row of a table: {error}", todo, file=file, line=line) from None
        if cells is None:
            return
        if not file or any(cell.strip() for cell in cells):
            yield line, cells
