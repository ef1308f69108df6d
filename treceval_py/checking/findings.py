"""A finding of a check (where, what, what to do), and the collector of all findings of a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

from treceval_py.checking.catalogue import CODES
from treceval_py.errors import brief, visible

ERROR, WARNING, NOTE = "error", "warning", "note"

SEVERITIES = (ERROR, WARNING, NOTE)
"""From data that cannot be scored reliably, through probable mistakes, to information."""

ENDING = ("F001", "F002", "F005", "F006", "F007", "F010", "F017", "F021", "R112", "R113", "R114", "R116", "R117")
"""Findings that end the reading of a file: without them, an unread file would seem clean."""


class Finding(NamedTuple):
    """One finding of a check.

    Attributes
    ----------
    code : str
        Its kind, such as ``R104``.
    severity : str
        ``error``, ``warning`` or ``note``.
    file : str
        The file, as the caller named it.
    line : int
        Line of the file, from 1; 0 if the finding is about the whole file.
    column : int
        Character of the line, from 1; 0 if the finding is about the whole line or file.
    what : str
        What was found, without a full stop.
    todo : str
        What to do about it, with full stops; may be empty.
    """

    code: str
    severity: str
    file: str
    line: int
    column: int
    what: str
    todo: str = ""

    @property
    def place(self) -> str:
        """The file, with line and column if known."""
        return self.file + "".join(f":{number}" for number in (self.line, self.column) if number)

    def __repr__(self) -> str:
        return f"<Finding {brief(str(self), 200)}>"

    def __str__(self) -> str:
        """Return ``file:line:column: severity code: what. todo`` on one line."""
        todo = f" {self.todo}" if self.todo else ""
        return visible(f"{self.place}: {self.severity} {self.code}: {self.what}.{todo}")


class Collector:
    """The findings of one file: a limited number per code, and how many there were.

    Parameters
    ----------
    file : str
        The file, as messages name it.
    most : int
        Number of findings kept per code; 0 keeps all.
    select, ignore : collection of str
        Codes, or their beginnings (``R``, ``R1``), to keep or to leave out; without ``select`` all are kept. Codes of
        `ENDING` are left out only if ``ignore`` names them in full.

    Attributes
    ----------
    counts : Counter
        Number of findings per wanted code.
    every : Counter
        Number of findings per code, wanted or not; checks may skip the search for codes that are not wanted.
    """

    def __init__(
        self, file: str, *, most: int = 100, select: Collection[str] = (), ignore: Collection[str] = ()
    ) -> None:
        self.file = file
        self.counts: Counter[str] = Counter()
        self.every: Counter[str] = Counter()
        self.most = most
        self._select = tuple(select)
        self._ignore = tuple(ignore)
        self._findings: dict[str, list[Finding]] = {}

    def empty(self) -> Collector:
        """Return an empty collector for the same file."""
        return Collector(self.file, most=self.most, select=self._select, ignore=self._ignore)

    def wants(self, code: str) -> bool:
        """Tell whether findings of a code are kept; if not, a costly search can be skipped."""
        if code in ENDING:
            return code not in self._ignore
        chosen = not self._select or code.startswith(self._select)
        return chosen and not (self._ignore and code.startswith(self._ignore))

    def room(self, code: str) -> bool:
        """Tell whether another finding of a code would be kept; if not, it is counted."""
        if self.wants(code) and (not self.most or len(self._findings.get(code, ())) < self.most):
            return True
        self.count(code)
        return False

    def add(self, code: str, what: str, todo: str = "", *, line: int = 0, column: int = 0) -> None:
        """Add a finding; ``what`` has no full stop at its end, ``todo`` has."""
        if self.room(code):
            self.count(code)
            finding = Finding(code, CODES[code].severity, self.file, line, column, what, todo)
            self._findings.setdefault(code, []).append(finding)

    def drop(self, codes: Collection[str]) -> None:
        """Remove the findings of some codes, because another finding is their cause."""
        for code in codes:
            self.counts.pop(code, None)
            self.every.pop(code, None)
            self._findings.pop(code, None)

    def count(self, code: str, number: int = 1) -> None:
        """Count findings that are not kept."""
        self.every[code] += number
        if self.wants(code):
            self.counts[code] += number

    def take(self, other: Collector, *, only: Collection[str] | None = None) -> None:
        """Take the findings of another collector of the same file, or only those of some codes."""
        for code, number in other.every.items():
            if only is not None and code not in only:
                continue
            self.count(code, number)
            if not self.wants(code):
                continue
            mine, theirs = self._findings.setdefault(code, []), other._findings.get(code, [])
            mine += theirs if not self.most else theirs[: max(self.most - len(mine), 0)]

    def sorted(self) -> list[Finding]:
        """Return the findings that were kept: those of lines by line, then those of the whole file."""
        every: Iterable[Finding] = (each for kept in self._findings.values() for each in kept)
        return sorted(every, key=lambda each: (each.line == 0, each.line, each.column, each.code, each.what))

    @property
    def errors(self) -> int:
        """Number of errors, including codes that are not wanted."""
        return sum(number for code, number in self.every.items() if CODES[code].severity == ERROR)
