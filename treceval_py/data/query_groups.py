"""Groups of queries: an attribute, such as a topic set or kind of question, with a label for each query."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from treceval_py.data.ids import first_of, shown
from treceval_py.errors import DataError, brief, listed

ATTRIBUTE = "group"
"""The default name of an attribute."""

FEWEST = 3
"""From this number of queries on, labels that all differ are taken for other data, such as texts."""


class QueryGroups(NamedTuple):
    """The groups of queries by one attribute.

    Attributes
    ----------
    attribute : str
        What distinguishes the groups, such as ``topic_set``.
    labels : tuple of str, length G
        The groups, in order of their first queries.
    of : mapping of str to str
        The group of each query. Other queries belong to no group.
    name : str
        The groups' origin, for messages.
    lines : mapping of str to int
        The line of each query, if the groups come from a file.
    digest : str
        The SHA-256 of that file.

    Examples
    --------
    >>> groups = QueryGroups.from_labels("set", {"303": "old", "601": "new", "602": "new"})
    >>> groups.labels
    ('old', 'new')
    >>> groups.members(["602", "303", "999"])
    {'old': [1], 'new': [0]}
    """

    attribute: str
    labels: tuple[str, ...]
    of: Mapping[str, str]
    name: str = ""
    lines: Mapping[str, int] = MappingProxyType({})
    digest: str = ""

    @classmethod
    def from_labels(
        cls, attribute: str, labels: Mapping[str, str], *, name: str = "", lines: Mapping[str, int] | None = None
    ) -> QueryGroups:
        """Build from the label of each query; an empty label means that the query belongs to no group.

        Parameters
        ----------
        attribute : str
            What the labels are about, such as "type".
        labels : mapping of str to str
            The label of each query. White space within it, or within the attribute, becomes a single space.
        name : str
            The file that the labels come from, for messages.
        lines : mapping of str to int, optional
            The line of each query in that file, for messages.

        Raises
        ------
        DataError
            No query has a label, or all of at least three queries have different labels.
        """
        attribute = " ".join(attribute.split())
        of = {qid: written for qid, label in labels.items() if (written := " ".join(label.split()))}
        distinct, file = tuple(dict.fromkeys(of.values())), name or None
        if not distinct:
            raise DataError(f"no query has a label of {shown(attribute)}", "Choose another attribute.", file=file)
        if len(distinct) == len(of) >= FEWEST:
            fault = f"each of {len(of)} queries has a different {shown(attribute)}, so there are no groups"
            todo = f"Choose another {'column, as in FILE:COLUMN' if name else 'attribute'}."
            raise DataError(fault, todo, file=file)
        return cls(attribute, distinct, of, name, lines or {})

    def members(self, qids: Sequence[str]) -> dict[str, list[int]]:
        """Return, for each group, the positions of its members in a list of queries.

        Parameters
        ----------
        qids : sequence of str, length Q
            The queries.

        Returns
        -------
        dict of str to list of int
            All groups, in the order of `labels`; positions are numbers from 0 to Q - 1.
        """
        members: dict[str, list[int]] = {label: [] for label in self.labels}
        for place, qid in enumerate(qids):
            if (label := self.of.get(qid)) is not None:
                members[label].append(place)
        return members

    def notes(self, qids: Sequence[str]) -> list[str]:
        """Return notes on those of `qids` without a group, and on queries with a group that are not among `qids`."""

        def are(some: Sequence[str]) -> str:
            return "1 query is" if len(some) == 1 else f"{len(some)} queries are"

        notes = []
        if without := [qid for qid in qids if qid not in self.of]:
            notes.append(f"{are(without)} in no group of {self.attribute} ({first_of(without)}) and left out.")
        there = frozenset(qids)
        if unknown := [qid for qid in self.of if qid not in there]:
            line = self.lines.get(unknown[0])
            file = os.path.basename(self.name) or self.name  # notes may be passed on: without folders
            place = (f"{file}:{line}: " if line else f"{file}: ") if file else ""
            among = f"among the {len(qids)} with values ({first_of(unknown)})"
            notes.append(f"{place}{are(unknown)} in groups of {self.attribute} but not {among}.")
        used = {self.of[qid] for qid in qids if qid in self.of}
        if empty := [label for label in self.labels if label not in used]:
            groups, have = ("group", "has") if len(empty) == 1 else ("groups", "have")
            notes.append(f"{groups} {first_of(empty)} of {self.attribute} {have} no query with values.")
        return notes

    def __repr__(self) -> str:
        return f"<QueryGroups {brief(self.attribute)!r} of {len(self.of):,} queries: {listed(self.labels)}>"


def check_attributes(groups: Iterable[QueryGroups]) -> None:
    """Refuse two attributes with the same name.

    Raises
    ------
    DataError
        Two attributes have the same name.
    """
    seen: dict[str, str] = {}
    for by in groups:
        if by.attribute in seen:
            where = " and ".join(filter(None, dict.fromkeys([seen[by.attribute], by.name])))
            fault = f"two attributes of queries are named {shown(by.attribute)}{f' ({where})' if where else ''}"
            raise DataError(fault, "Rename one, in the header line of its file.")
        seen[by.attribute] = by.name
