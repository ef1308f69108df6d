"""Judgments by several assessors, or for several subtopics."""

from __future__ import annotations

from collections.abc import Mapping

from treceval_py.data.ids import encode, shown
from treceval_py.data.table import ids_of, judgments_of
from treceval_py.errors import DataError, brief


class JudgmentGroups:
    """Judgments by several assessors or groups: one set of judgments per query and group.

    Attributes
    ----------
    qids : tuple of str, length Q
        The queries, in order of their first lines.
    groups : dict
        ``groups[qid][group][docid]`` is the judgment; ids are bytes, groups are in byte order.
    name : str
        The judgments' origin, for messages.
    """

    __slots__ = ("groups", "name", "qids")
    bare = ()

    def __init__(
        self, groups: Mapping[str, Mapping[bytes, Mapping[bytes, int]]], *, name: str = "<judgment groups>"
    ) -> None:
        if not isinstance(groups, Mapping):
            raise DataError(f"judgments by groups cannot be made from {shown(groups)}", "Use JudgmentGroups.from_dict.")
        # As in a file of lines, there is no group without judgments, and no query without groups.
        by_query = {qid: {key: dict(sets[key]) for key in sorted(sets) if sets[key]} for qid, sets in groups.items()}
        self.groups = {qid: sets for qid, sets in by_query.items() if sets}
        self.qids = tuple(self.groups)
        self.name = name

    @classmethod
    def from_dict(cls, judgments: Mapping[str, Mapping[str, Mapping[str, int]]]) -> JudgmentGroups:
        """Build from `judgments`, ``{qid: {group: {docid: rel}}}`` with ids as str; groups are subtopics or assessors.

        Raises
        ------
        DataError
            An id is not text, or a judgment is not an integer.

        Examples
        --------
        >>> JudgmentGroups.from_dict({"1": {"subtopic 1": {"d1": 1}, "subtopic 2": {"d1": 0, "d2": 1}}})
        <JudgmentGroups '<judgment groups>': 1 query>
        """
        form = "Give a dictionary {qid: {group: {docid: rel}}}."
        if not isinstance(judgments, Mapping):
            raise DataError(f"judgments by groups cannot be made from {shown(judgments)}", form)
        nested: dict[str, dict[bytes, dict[bytes, int]]] = {}
        for qid, groups in zip(ids_of(list(judgments), "query", lambda _: ""), judgments.values(), strict=True):
            of = f" of query {shown(qid)}"
            if not isinstance(groups, Mapping):
                raise DataError(f"query {shown(qid)} has {shown(groups)} instead of a dictionary", form)
            of_query = nested.setdefault(qid, {})
            names = ids_of(list(groups), "group", lambda _, of=of: of)  # type: ignore[misc]
            for group, labels in zip(names, groups.values(), strict=True):
                if not isinstance(labels, Mapping):
                    raise DataError(f"group {shown(group)}{of} has {shown(labels)} instead of a dictionary", form)
                docids = ids_of(list(labels), "document", lambda _, of=of: of)  # type: ignore[misc]

                def place(row: int, docids: list[str] = docids, of: str = of) -> str:
                    return f" of document {shown(docids[row])}{of}"

                rels = judgments_of(list(labels.values()), place).tolist()
                of_group = dict(zip(map(encode, docids), rels, strict=True))
                if encode(group) in of_query or len(of_group) < len(labels):
                    alike = "documents of a group" if len(of_group) < len(labels) else "groups"
                    fault = f"two {alike} of query {shown(qid)} are encoded as the same bytes"
                    raise DataError(fault, "Use valid Unicode text.")
                of_query[encode(group)] = of_group
        return cls(nested)

    @property
    def max_rel(self) -> int:
        """The highest judgment of any query, at least 1: the top of the scale as far as the judgments show it."""
        labels = (sets.values() for groups in self.groups.values() for sets in groups.values())
        return max(1, max((max(rels, default=1) for rels in labels), default=1))

    def __repr__(self) -> str:
        queries = "query" if len(self.qids) == 1 else "queries"
        return f"<JudgmentGroups {brief(self.name)!r}: {len(self.qids):,} {queries}>"
