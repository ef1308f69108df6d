"""A ranked run as a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from treceval_py._types import AnyArray, BoolArray, Data, FloatArray, Frame, IntArray
from treceval_py.data.columns import DOCUMENT, QUERY, SCORE
from treceval_py.data.ids import Ids
from treceval_py.data.table import (
    Table,
    check_unique,
    from_flat,
    from_nested,
    ids_of,
    in_row,
    place_in,
    scores_of,
    with_bare,
)
from treceval_py.errors import DataError

DEFAULT_TAG = "run"
"""The tag of a run without one."""

RUN_NAME = "<run>"
"""The name, in messages, of a run that is not from a file."""


class Run(Table[float]):
    """A ranked run: ``run["301"]`` is ``{docid: score}``.

    Parameters
    ----------
    scores : mapping, frame or rows
        ``{qid: {docid: score}}``; a score may be infinite but not NaN. Or ``{qid: [docid, …]}`` with the best document
        first; a DataFrame of pandas, polars, pyarrow or DuckDB with columns such as ``qid``, ``docid`` and ``score``
        (or only ``rank``); or rows of these. Whole numbers are ids, written in decimal.
    tag : str, optional
        The name of the system that produced the run.

    Attributes
    ----------
    scores : (D,) float64 array
        The score of each row; higher is better.
    tag : str
        The tag of the file's last line, or as given.
    ranks : (D,) int array or None
        The rank column of the file, if it has whole numbers only. The scores rank documents; ranks are only compared
        with them. If only an order is given, scores are the negative ranks.

    Raises
    ------
    DataError
        The object has an unsupported form, an id is neither text nor a whole number, or a score is not a number.

    Examples
    --------
    >>> run = Run({"1": {"d1": 0.5, "d2": 0.25}}, tag="mine")
    >>> run["1"]["d2"]
    0.25
    """

    _value, _type, _beside = "score", np.float64, "ranks"
    scores: FloatArray
    tag: str = DEFAULT_TAG
    ranks: IntArray | None

    def __init__(self, scores: Data | None = None, *, tag: str = DEFAULT_TAG) -> None:
        given: Any = {} if scores is None else scores
        columns = from_nested(given, "run")
        if columns is None:
            from treceval_py.data.objects import columns_of

            columns = columns_of(given, "run")
        self._set(*columns[:4], name=RUN_NAME)
        self.tag, self.ranks = tag, columns.ranks

    @classmethod
    def from_columns(
        cls,
        qids: Sequence[str],
        offsets: IntArray,
        docids: Ids,
        scores: FloatArray,
        *,
        tag: str = DEFAULT_TAG,
        name: str = RUN_NAME,
        ranks: IntArray | None = None,
    ) -> Run:
        """Build from the attributes `qids`, `offsets`, `docids`, `scores`, `ranks`, `tag`, `name`, without checks."""
        self = cls.__new__(cls)
        self._set(qids, offsets, docids, scores, name=name)
        self.tag, self.ranks = tag, ranks
        return self

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        *,
        qid: str | None = None,
        docid: str | None = None,
        score: str | None = None,
        tag: str = DEFAULT_TAG,
    ) -> Run:
        """Build from a frame with other column names.

        Parameters
        ----------
        frame : DataFrame
            One row per document of a query, in any order; of pandas, polars, pyarrow or DuckDB.
        qid, docid, score : str, optional
            The names of its columns. Default: detected.
        tag : str
            The name of the system.

        Raises
        ------
        DataError
            A column is missing, an id is neither text nor a whole number, a score is not a number, or a document occurs
            twice in a query.
        """
        from treceval_py.data.objects import columns_of

        columns = columns_of(frame, "run", {QUERY: qid, DOCUMENT: docid, SCORE: score})
        return cls.from_columns(*columns[:4], tag=tag, ranks=columns.ranks)

    @classmethod
    def from_arrays(
        cls,
        qids: Sequence[str],
        ids: AnyArray,
        scores: AnyArray,
        *,
        docids: Sequence[str] | None = None,
        tag: str = DEFAULT_TAG,
    ) -> Run:
        """Build from the results of a vector index for a batch of queries, or from columns.

        Parameters
        ----------
        qids : sequence of str or int, length Q
            The queries.
        ids : (Q, k) array of int or str
            The documents found. Integers are positions in `docids` or, without it, ids in decimal. A negative integer
            (Faiss pads with -1) or an empty text marks a missing result, which is left out.
        scores : (Q, k) array
            Their scores, higher is better. Negate distances.
        docids : sequence of str, optional
            The id at each position of the index.
        tag : str
            The name of the system.

        Raises
        ------
        DataError
            Shapes differ, a position is beyond `docids`, a document occurs twice in a query, or a score is NaN.

        Notes
        -----
        If `ids` and `scores` have shape (Q,), each element is one document of the query in the same place.

        Examples
        --------
        >>> import numpy as np
        >>> run = Run.from_arrays(["q1"], np.array([[2, 0, -1]]), np.array([[0.9, 0.5, 0.0]]), docids=["a", "b", "c"])
        >>> run["q1"]
        {'c': 0.9, 'a': 0.5}
        """
        try:
            qids, ids, scores = list(qids), np.asarray(ids), np.asarray(scores)
        except (TypeError, ValueError):
            raise DataError("these are not a list and two arrays", "Give Q queries and two arrays.") from None
        if ids.ndim not in (1, 2) or ids.shape != scores.shape or len(qids) != len(ids):
            shapes = f"{len(qids)} queries, ids of shape {ids.shape} and scores of shape {scores.shape}"
            raise DataError(f"{shapes} do not fit", "Give Q queries and two arrays of shape (Q, k).")
        if ids.dtype.kind not in "iuUO":
            raise DataError(f"ids of type {ids.dtype}", "Give integers or text.")
        names: Sequence[str] = ids_of(qids, "query", in_row)
        positions = ids.dtype.kind in "iu"
        there = ids >= 0 if positions else ids != ""
        ids, values, lengths = ids[there], scores[there], there.reshape(len(ids), -1).sum(axis=1)
        if not positions:
            column = Ids.from_text(ids_of(ids.tolist(), "document", in_row))
        elif docids is None:
            column = decimal(ids)
        else:
            beyond = int(ids.max(initial=-1))
            if beyond >= len(docids):
                fault = f"position {beyond} is beyond the {len(docids)} docids"
                raise DataError(fault, "Give the docids of the index, in its order.")
            column = Ids.from_text(ids_of([docids[at] for at in ids.tolist()], "document", lambda _: ""))
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        if len(set(names)) < len(names):  # a query occurs in several rows
            rows = np.repeat(np.array(names, dtype=object), lengths).tolist()
            kept, offsets, column, order = from_flat(rows, column.text(), "run")
            names, offsets = with_bare(kept, offsets, [qid for qid in dict.fromkeys(names) if qid not in set(kept)])
            values = values if order is None else values[order]
        else:
            check_unique(names, offsets, column, "run")
        numbers = scores_of(values, partial(place_in, names, offsets, column))
        return cls.from_columns(names, offsets, column, numbers, tag=tag)

    def where(self, keep: BoolArray) -> Run:
        """Return the run with only the rows where ``keep`` (D,) is true; a query may lose all documents."""
        before = np.concatenate([[0], np.cumsum(keep)]).astype(np.int64)
        ranks = None if self.ranks is None else self.ranks[keep]
        return self.having(self.docids.take(np.flatnonzero(keep)), self.scores[keep], before[self.offsets], ranks)

    def having(
        self, docids: Ids, scores: FloatArray, offsets: IntArray | None = None, ranks: IntArray | None = None
    ) -> Run:
        """Return a run with the same queries but other `docids`, `scores`, `ranks` and, if given, `offsets`."""
        offsets = self.offsets if offsets is None else offsets
        run = Run.__new__(Run)
        run._set(self.qids, offsets, docids, scores, name=self.name, bare=self.bare)
        run.tag, run.ranks = self.tag, ranks
        return run

    def to_arrays(self) -> tuple[list[str], AnyArray, FloatArray]:
        """Return the run like the results of a vector index: for each query its k best documents, best first.

        Returns
        -------
        qids : list of str, length Q
            The queries.
        ids : (Q, k) array of str objects
            Their documents by descending score, equal scores in table order; k is the length of the longest list.
            Shorter lists are padded with empty texts.
        scores : (Q, k) float64 array
            The scores, padded with minus infinity.
        """
        longest = int(np.diff(self.offsets).max(initial=0))
        ids = np.full((len(self), longest), "", dtype=object)
        scores = np.full((len(self), longest), -np.inf)
        for row in range(len(self)):
            start, stop = self.span(row)
            order = np.argsort(-self.scores[start:stop], kind="stable")
            ids[row, : stop - start] = np.array(self.docids.text(start, stop), dtype=object)[order]
            scores[row, : stop - start] = self.scores[start:stop][order]
        return list(self.qids), ids, scores

    def __reduce__(self) -> tuple[object, ...]:
        build = partial(Run.from_columns, tag=self.tag, name=self.name, ranks=self.ranks)
        return build, (*with_bare(self.qids, self.offsets, self.bare), self.docids, self.scores)


def joined(runs: Sequence[Run]) -> Run:
    """Join runs of different queries; name and tag are those of the last one."""
    whole, last = Run.__new__(Run), runs[-1]
    offsets = np.concatenate([[0], *(np.diff(run.offsets) for run in runs)]).cumsum(dtype=np.int64)
    qids, bare = (tuple(chain.from_iterable(getattr(run, name) for run in runs)) for name in ("qids", "bare"))
    docids = Ids.concatenate([run.docids for run in runs])
    whole._set(qids, offsets, docids, np.concatenate([run.scores for run in runs]), name=last.name, bare=bare)
    ranks = [run.ranks for run in runs if run.ranks is not None]
    whole.tag, whole.ranks = last.tag, np.concatenate(ranks) if len(ranks) == len(runs) else None
    return whole


def decimal(numbers: AnyArray) -> Ids:
    """Return non-negative whole numbers as a column of ids, without creating a text per number."""
    # As text of equal width, padded with NULs, which are then removed.
    digits = numbers.astype("S20").view(np.uint8).reshape(len(numbers), 20)
    written = digits != 0
    return Ids(digits[written].tobytes(), np.append(0, written.sum(axis=1).cumsum(dtype=np.int64)))
