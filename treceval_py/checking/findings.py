"""What a check finds: where it is, what it is, what to do; and the collection of all that a file gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

from treceval_py.errors import brief, visible

__all__ = ["ENDING", "ERROR", "NOTE", "SEVERITIES", "WARNING", "Code", "Collector", "Finding"]

ERROR, WARNING, NOTE = "error", "warning", "note"

SEVERITIES = (ERROR, WARNING, NOTE)
"""From what cannot be scored, or only by accident, over what is likely a mistake, to what is good to know."""

ENDING = ("F001", "F002", "F005", "F006", "F007", "F010", "F017", "R112", "R113", "R114", "R116", "R117")
"""What keeps a file, or the rest of it, from being looked at: if it were not told, the file would seem clean."""


class Code(NamedTuple):
    """A kind of finding.

    Attributes
    ----------
    code : str
        A letter and three digits: F is about any file, R a run, Q judgments, X a run beside judgments.
    name : str
        A short name in lower case with hyphens, such as ``score-nan``.
    severity : str
        ``error``: scoring refuses it, or other programs make numbers of it by accident. ``warning``: likely a mistake.
        ``note``: no mistake, but good to know.
    title : str
        One sentence without full stop.
    why : str
        What it does to scores, and what other programs make of it; one or two paragraphs.
    example : str
        Lines that give the finding.
    todo : str
        What to do about it, whole sentences.
    fixed : bool
        Whether ``--fix`` mends it.
    """

    code: str
    name: str
    severity: str
    title: str
    why: str
    example: str
    todo: str
    fixed: bool = False


class Finding(NamedTuple):
    """Something that a check found.

    Attributes
    ----------
    code : str
        Its kind, such as ``R104``.
    severity : str
        ``error``, ``warning`` or ``note``.
    file : str
        The file as it was named.
    line : int
        The line of the file, from 1; 0 where it is about the file as a whole.
    column : int
        The character of the line, from 1; 0 where it is about the line, or the file, as a whole.
    what : str
        What was found, without full stop.
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
        """The file, with the line and the column where they are known."""
        return self.file + "".join(f":{number}" for number in (self.line, self.column) if number)

    def __repr__(self) -> str:
        return f"<Finding {brief(str(self), 200)}>"

    def __str__(self) -> str:
        """Return ``file:line:column: severity code: what. todo`` on one line."""
        return visible(
            f"{self.place}: {self.severity} {self.code}: {self.what}." + (f" {self.todo}" if self.todo else "")
        )


class Collector:
    """The findings of one file, so many of each code, and how many there were.

    Parameters
    ----------
    file : str
        The file as messages name it.
    codes : mapping of str to Code
        All codes.
    most : int
        How many findings of each code are kept; 0 keeps all.
    select, ignore : collection of str
        Codes, or their beginnings (``R``, ``R1``), that are kept or left out; without ``select`` all are kept. Those of
        `ENDING` are left out only where ``ignore`` has exactly them.

    Attributes
    ----------
    counts : Counter
        How many findings there are of each code that is wanted.
    every : Counter
        How many there are of each code, wanted or not; of one that is not wanted, checks may have looked for none.
    """

    def __init__(
        self,
        file: str,
        codes: dict[str, Code],
        *,
        most: int = 100,
        select: Collection[str] = (),
        ignore: Collection[str] = (),
    ) -> None:
        self.file = file
        self.counts: Counter[str] = Counter()
        self.every: Counter[str] = Counter()
        self.most = most
        self._codes = codes
        self._select = tuple(select)
        self._ignore = tuple(ignore)
        self._findings: dict[str, list[Finding]] = {}

    def empty(self) -> Collector:
        """Return another collector of the same file, with nothing in it."""
        return Collector(self.file, self._codes, most=self.most, select=self._select, ignore=self._ignore)

    def wants(self, code: str) -> bool:
        """Tell whether findings of a code are kept, so that what is costly to find need not be looked for."""
        if code in ENDING and code in self._codes:
            return code not in self._ignore
        chosen = not self._select or code.startswith(self._select)
        return chosen and not (self._ignore and code.startswith(self._ignore))

    def room(self, code: str) -> bool:
        """Tell whether another finding of a code would be kept; if not, `count` is enough."""
        return self.wants(code) and (not self.most or len(self._findings.get(code, ())) < self.most)

    def add(self, code: str, what: str, todo: str = "", *, line: int = 0, column: int = 0) -> None:
        """Take a finding; ``what`` has no full stop, ``todo`` has."""
        self.every[code] += 1
        if not self.wants(code):
            return
        self.counts[code] += 1
        if self.room(code):
            found = Finding(code, self._codes[code].severity, self.file, line, column, what, todo)
            self._findings.setdefault(code, []).append(found)

    def drop(self, codes: Collection[str]) -> None:
        """Leave out findings of some codes, of which another one is the cause."""
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
            mine, found = self._findings.setdefault(code, []), other._findings.get(code, [])
            mine += found if not self.most else found[: max(self.most - len(mine), 0)]

    def sorted(self) -> list[Finding]:
        """Return the findings that were kept: those of lines by line, then those of the whole file."""
        every: Iterable[Finding] = (each for found in self._findings.values() for each in found)
        return sorted(every, key=lambda each: (each.line == 0, each.line, each.column, each.code, each.what))

    @property
    def errors(self) -> int:
        """How many findings are errors, wanted or not."""
        return sum(number for code, number in self.every.items() if self._codes[code].severity == ERROR)
