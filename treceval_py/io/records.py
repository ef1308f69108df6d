"""Rows of formats other than lines with fields: JSON, Parquet, data sets of a package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from treceval_py._types import FloatArray, IntArray
from treceval_py.data.ids import Ids, encode, quoted, repeated
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import DEFAULT_TAG, Run
from treceval_py.data.sample import Sample
from treceval_py.data.table import Grouping, by_query
from treceval_py.errors import DataError, InputError


class Records(NamedTuple):
    """Documents of queries in the order of their source, with values not yet checked.

    Attributes
    ----------
    qids : list of str, length Q
        The queries, in the order of their first rows.
    queries : (S,) int array
        The query of each stretch, that is, of consecutive rows with the same query.
    starts : (S + 1,) int array
        The first row of each stretch, and D. A query without documents has an empty stretch.
    docids : Ids, length D
        The documents.
    name : str
        The name of the source in messages.
    lines : sequence of int or None
        The line of each row, for sources with lines.
    numbered : bool
        Whether messages give the number of a row, from 1.
    """

    qids: list[str]
    queries: IntArray
    starts: IntArray
    docids: Ids
    name: str
    lines: Sequence[int] | None = None
    numbered: bool = False

    @classmethod
    def of_rows(cls, qids: Iterable[str], docids: Sequence[bytes], name: str, lines: Sequence[int]) -> Records:
        """Return rows of lines, each with a query and a document."""
        numbers: dict[str, int] = {}
        queries = np.array([numbers.setdefault(qid, len(numbers)) for qid in qids], dtype=np.int64)
        return cls(list(numbers), queries, np.arange(len(docids) + 1), Ids.from_bytes(docids), name, lines)

    def error(self, row: int, value: str, fault: str, todo: str) -> InputError:
        """Return the error of a row whose ``value``, such as its score, has a fault."""
        stretch = int(np.searchsorted(self.starts, row, side="right")) - 1
        qid = encode(self.qids[int(self.queries[stretch])])
        where = f"document {quoted(encode(self.docids[row]))} of query {quoted(qid)}"
        at = f" (row {row + 1})" if self.numbered else ""
        line = None if self.lines is None else self.lines[row]
        return InputError(f"the {value} of {where}{at} {fault}", todo, file=self.name, line=line)

    def qrels(self, rels: IntArray, sample: Sample | None = None) -> Qrels:
        """Return judgments; ``rels`` (D,) and ``sample`` are those of the rows.

        Raises
        ------
        InputError
            A document is judged twice for a query, or an id is empty.
        """
        qids, offsets, docids, order = self._grouped()
        if order is not None:
            rels, sample = rels[order], None if sample is None else sample[order]
        return Qrels.from_columns(qids, offsets, docids, rels, name=self.name, sample=sample)

    def run(self, scores: FloatArray, *, ranks: IntArray | None = None, tag: str = DEFAULT_TAG) -> Run:
        """Return a run; ``scores`` and ``ranks`` (D,) are those of the rows.

        Raises
        ------
        InputError
            A document occurs twice in a query, or an id is empty.
        """
        qids, offsets, docids, order = self._grouped()
        if order is not None:
            scores, ranks = scores[order], None if ranks is None else ranks[order]
        return Run.from_columns(qids, offsets, docids, scores, tag=tag, name=self.name, ranks=ranks)

    def _grouped(self) -> Grouping:
        """Return the rows by query; empty ids and repeated documents are refused."""
        if "" in self.qids:
            raise InputError("a query id is empty", "Give every query an id.", file=self.name)
        empty = np.flatnonzero(np.diff(self.docids.offsets) == 0)
        if len(empty):
            raise self.error(int(empty[0]), "id", "is empty", "Give every document an id.")
        grouping = by_query(self.qids, self.queries, np.diff(self.starts), self.docids)
        twice = repeated(grouping.docids, grouping.offsets)
        if twice is None:
            return grouping
        query, *rows = twice
        first, second = rows if grouping.order is None else grouping.order[rows].tolist()
        document, qid = quoted(encode(self.docids[second])), quoted(encode(self.qids[query]))
        problem, line = f"document {document} occurs twice in query {qid}", None
        if self.lines is not None:
            problem, line = f"{problem} (first on line {self.lines[first]})", self.lines[second]
        elif self.numbered:
            problem = f"{problem} (rows {first + 1} and {second + 1})"
        raise InputError(problem, "Keep one of the two.", file=self.name, line=line)


def encoded(ids: Iterable[str], name: str, lines: Sequence[int] | None = None) -> list[bytes]:
    """Encode ids as bytes.

    Raises
    ------
    InputError
        An id is not valid Unicode text.
    """
    ids = list(ids)
    try:
        return list(map(str.encode, ids))
    except UnicodeEncodeError:  # a lone surrogate: bytes that were not UTF-8, or a malformed escape
        raw = []
    for row, text in enumerate(ids):
        try:
            raw.append(encode(text))
        except DataError as error:
            line = None if lines is None else lines[row]
            raise InputError(error.what, error.todo, file=name, line=line) from None
    return raw
