"""Preference judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from treceval_py.data.ids import decode, shown
from treceval_py.errors import DataError, brief


class Preference(NamedTuple):
    """One line of preference judgments: the level of a document in a sub-group of a group.

    Attributes
    ----------
    group, subgroup : bytes
        The group of preferences, and the sub-group in which documents are compared.
    docid : bytes
        The document.
    level : float
        Its level; higher levels are preferred.
    line : int
        The line of the file, from 1; 0 if unknown.
    """

    group: bytes
    subgroup: bytes
    docid: bytes
    level: float
    line: int = 0

    def __repr__(self) -> str:
        names = "/".join(brief(decode(field)) for field in self[:3])
        return f"<Preference {names}: {self.level:g}>"


class Preferences:
    """Preference judgments: within a sub-group, a document with a higher level is preferred to one with a lower level.

    See trec_eval's formats ``prefs`` and ``qrels_prefs``.

    Attributes
    ----------
    qids : tuple of str, length Q
        The queries, in order of their first lines.
    rows : dict
        The lines of each query, in file order.
    name : str
        The judgments' origin, for messages.
    """

    __slots__ = ("name", "qids", "rows")
    bare = ()

    def __init__(self, rows: Mapping[str, Sequence[Preference]], *, name: str = "<preferences>") -> None:
        if not isinstance(rows, Mapping):
            todo = "Give a dictionary of lists of Preference."
            raise DataError(f"preferences cannot be made from {shown(rows)}", todo)
        self.rows = {qid: list(lines) for qid, lines in rows.items() if lines}
        self.qids = tuple(self.rows)
        self.name = name

    @property
    def max_rel(self) -> int:
        """1: levels of preferences are not a scale."""
        return 1

    def __repr__(self) -> str:
        queries = "1 query" if len(self.qids) == 1 else f"{len(self.qids):,} queries"
        return f"<Preferences {brief(self.name)!r}: {queries}>"
