"""Arrays as runs and as judgments, in the form that models and vector indexes return: one row per query.

A run is a matrix of scores with one column per document, or ``(scores, ids)`` or ``(scores, ids, qids)``, as faiss and
``torch.topk`` return them. Judgments are a matrix of labels. Numbers are not converted to text: documents with equal
scores are compared by the digits that their text would have.

Arrays of any library work if NumPy can read them; no such library is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from numbers import Integral, Real
from typing import Any

import numpy as np

from treceval_py._types import AnyArray, IntArray
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import FLOAT32, Ranking, limit_of
from treceval_py.data.run import Run, decimal
from treceval_py.data.table import ids_of
from treceval_py.errors import DataError
from treceval_py.judging.judged import JudgedRun
from treceval_py.judging.locating import in_order
from treceval_py.scan import scanner

FORMS = "Give scores (Q, D), or a tuple of scores (Q, k), ids (Q, k) and, if they are not 0 to Q - 1, qids (Q,)."


def is_matrix(given: object) -> bool:
    """Return whether this is a two-dimensional array of any library; a frame is not one."""
    if type(given) is np.ndarray:
        return given.ndim == 2
    readable = hasattr(given, "__array__") or hasattr(given, "__dlpack__")
    return readable and hasattr(given, "dtype") and len(getattr(given, "shape", ())) == 2


def is_arrays(given: Any) -> bool:
    """Return whether this is a run as arrays: a matrix of scores, or a tuple or list of scores, ids and qids."""
    if isinstance(given, (tuple, list)):
        return 2 <= len(given) <= 3 and is_matrix(given[0]) and (given[1] is None or is_matrix(given[1]))
    # A matrix of text may be a table of lines.
    return is_matrix(given) and getattr(given.dtype, "kind", "f") not in "OSU"


def labels_and_scores(qrels: Any, run: Any) -> tuple[Any, Any]:
    """Return labels and scores given as lists, as scikit-learn takes them, as two matrices; other forms unchanged.

    Each has a list for each query, or is one flat list, or array, of one query. Lists that can be something else are
    unchanged: whole numbers may be ids, and rows of three a query, a document and a value.

    Raises
    ------
    DataError
        There is not a score for each label, the run has documents, or rows of three have two meanings.
    """
    labels, scores = rows = [_rows_of_numbers(given) for given in (qrels, run)]
    listed = run if type(run) is list else ()
    if labels is not None and listed and all(type(row) is list and set(map(type, row)) == {str} for row in listed):
        fault = "row 1 of the judgments looks like labels, and row 1 of the run like document ids"
        todo = 'Say which document each label is of: {"q1": {"a": 1, …}} and {"q1": ["a", "b", "c"]}.'
        raise DataError(fault, todo)
    if labels is None or scores is None or (is_matrix(qrels) and is_matrix(run)):
        return qrels, run
    if not isinstance(qrels, np.ndarray) and not isinstance(run, np.ndarray):
        ids = 2 if all(len(row) == 3 for part in rows for row in part) else None
        every = [*qrels, *run]
        if ids and all(type(row) is list and all(isinstance(value, Integral) for value in row) for row in every):
            fault = "rows of three whole numbers can be (qid, docid, value), or labels and scores"
            todo = "Give np.array(…) for labels and scores, or tuples for (qid, docid, value)."
            raise DataError(fault, todo)
        if all(isinstance(value, Integral) for row in scores for value in row[:ids]):
            return qrels, run
    for number, (given, scored) in enumerate(zip_longest(labels, scores, fillvalue=())):
        if len(given) != len(scored):
            fault = f"row {number + 1} has {len(given)} labels and {len(scored)} scores"
            raise DataError(fault, "Give a score for each label.")
    longest = max(map(len, labels))
    return tuple(np.array([[*row, *[np.nan] * (longest - len(row))] for row in part]) for part in rows)  # type: ignore[return-value]


def _rows_of_numbers(given: Any) -> Any:
    """Return the rows of lists or of an array of numbers; None for anything else."""
    if isinstance(given, np.ndarray):
        given = given.tolist() if given.ndim in (1, 2) and given.dtype.kind in "biuf" else None
    if not isinstance(given, (list, tuple)) or not given:
        return None
    rows = [given] if isinstance(given[0], Real) else given
    numbers = all(
        isinstance(row, (list, tuple)) and row and all(isinstance(value, Real) for value in row) for row in rows
    )
    return rows if numbers else None


def _array(given: Any, content: str) -> AnyArray:
    """Convert an array of any library to NumPy, without gradients and in this process's memory."""
    if isinstance(given, np.ndarray):
        return given
    try:
        if hasattr(given, "detach"):  # torch
            given = given.detach().cpu()
            if str(given.dtype) == "torch.bfloat16":  # NumPy lacks this type; float32 represents all its values
                given = given.float()
        elif not hasattr(given, "__array__"):
            return np.from_dlpack(given)
        elif hasattr(given, "get") and hasattr(given, "device"):  # cupy
            given = given.get()
        return np.asarray(given)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise DataError(f"{content} of type {type(given).__name__} cannot be read: {error}", FORMS) from error


@dataclass(eq=False, slots=True)
class Arrays:
    """A run as arrays.

    Attributes
    ----------
    scores : (R, K) float64 or float32 array
        The scores of each row.
    ids : (R, K) int64 array or None
        The documents, below 0 for none; None if they are the columns of `scores`.
    qids : tuple of str, length R
        The query of each row.
    """

    scores: AnyArray
    ids: IntArray | None
    qids: tuple[str, ...]

    def table(self, judgments: object = None) -> Run:
        """Return the run as a table.

        Parameters
        ----------
        judgments : Qrels, optional
            If there are no ids, a NaN score whose document is unjudged marks an unused place.

        Raises
        ------
        DataError
            A score is NaN, or a document occurs twice in a row.
        """
        ids = self.ids
        if ids is None:
            ids = np.broadcast_to(np.arange(self.scores.shape[1]), self.scores.shape)
            if isinstance(judgments, Qrels):
                ids = np.where(np.isnan(self.scores) & ~_judged(self, judgments), -1, ids)
        return Run.from_arrays(self.qids, ids, self.scores)

    def judged(self, qrels: Qrels, ranking: Ranking, *, complete: bool) -> JudgedRun | None:
        """Find the judged documents of a run as arrays; None if that requires a table.

        Raises
        ------
        DataError
            The labels have another shape, a score is NaN, or a document occurs twice in a row.
        """
        compiled, arguments = scanner(), self._arguments(qrels, ranking)
        if compiled is None or arguments is None or not ranking.plain:
            return None
        hits, num_ret, some, wrong, empty = compiled.judge_arrays(*arguments)
        # The table reports errors, and sets queries without documents apart.
        if wrong is not None or empty:
            return None
        return in_order(qrels, hits, num_ret, some=some, complete=complete, known=ranking.known)

    def _arguments(self, qrels: Qrels, ranking: Ranking) -> tuple[Any, ...] | None:
        """Return the scanner's arguments for judging rows; None if a query has several rows."""
        shape = qrels.known.get("shape")
        if shape is not None and self.ids is None and shape != self.scores.shape:
            raise DataError(
                f"labels of shape {shape} and scores of shape {self.scores.shape} do not fit",
                "Give a score for each label, or scores with ids.",
            )
        places = _places(qrels, self.qids)
        if places is None:
            return None
        numbers, ascend = _numbers(qrels)
        ids = self.ids
        if ids is None and not ascend:
            ids = np.ascontiguousarray(np.broadcast_to(np.arange(self.scores.shape[1]), self.scores.shape))
        narrow, limit = ranking.score_type == FLOAT32, limit_of(ranking.depth)
        arguments = (self.scores, ids, places, len(qrels.qids), numbers, qrels.offsets, qrels.rels)
        return *arguments, narrow, limit, ranking.judged_only


def rows_of(given: Any) -> Arrays | Run:
    """Return a run as rows of arrays, or as a table if its ids are text.

    Parameters
    ----------
    given : (Q, D) array, or tuple of (Q, k) arrays and qids
        As accepted by `is_arrays`. A masked score, or a negative or masked id, means no document was retrieved.

    Raises
    ------
    DataError
        Shapes differ, or scores, ids or qids have unsupported types.
    """
    scores, ids, qids = (*given, None, None)[:3] if isinstance(given, (tuple, list)) else (given, None, None)
    scores = _array(scores, "scores")
    if scores.dtype.kind not in "iuf":
        raise DataError(f"scores of type {scores.dtype}", "Give numbers.")
    if ids is not None:
        ids = _array(ids, "ids")
        if ids.shape != scores.shape:
            raise DataError(f"scores of shape {scores.shape} and ids of shape {ids.shape} do not fit", FORMS)
        if ids.dtype.kind not in "iuUO":
            raise DataError(f"ids of type {ids.dtype}", "Give the scores first, then ids as integers or text.")
    names = _qids(qids, len(scores))
    scores, ids, hidden = _unmasked(scores, ids)
    # 32-bit scores, as most models return, are compared as they are.
    values = np.ascontiguousarray(scores, dtype=np.float32 if scores.dtype == np.float32 else np.float64)
    if ids is not None and ids.dtype.kind in "UO":
        return Run.from_arrays(names, ids if hidden is None else np.where(hidden, "", ids), values)
    if ids is not None:
        if ids.dtype.kind == "u" and ids.dtype.itemsize == 8 and int(ids.max(initial=0)) >= 2**63:
            raise DataError("an id is beyond 63 bits", "Use smaller whole numbers.")
        ids = np.ascontiguousarray(ids, dtype=np.int64)
    if hidden is not None and hidden.any():
        ids = np.where(hidden, -1, np.arange(values.shape[1]) if ids is None else ids)
    return Arrays(values, ids, names)


def _unmasked(scores: AnyArray, ids: AnyArray | None) -> tuple[AnyArray, AnyArray | None, AnyArray | None]:
    """Return scores and ids without their masks, and the combined mask; None if they have none."""
    hidden = None
    if isinstance(scores, np.ma.MaskedArray):
        scores, hidden = scores.data, np.ma.getmaskarray(scores)
    if isinstance(ids, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(ids)
        ids, hidden = ids.data, masked if hidden is None else hidden | masked
    return scores, ids, hidden


def _qids(given: Any, count: int) -> tuple[str, ...]:
    """Return the queries of rows, by default the row numbers; whole numbers become text."""
    if given is None:
        return tuple(map(str, range(count)))
    if not isinstance(given, (tuple, list)):
        given = _array(given, "qids").tolist() if hasattr(given, "__array__") else list(given)
    if len(given) != count:
        raise DataError(f"{count} rows of scores and {len(given)} qids do not fit", FORMS)
    return tuple(ids_of(given, "query", lambda row: f" of row {row}"))


def qrels_of_labels(given: Any) -> Qrels:
    """Return a matrix of labels as judgments: rows are queries and columns documents, their numbers as text.

    Parameters
    ----------
    given : (Q, D) array
        The labels: whole numbers or booleans. A NaN or masked label means that the document is unjudged.

    Raises
    ------
    DataError
        A label is not a whole number.
    """
    labels = _array(given, "labels")
    there = ~np.ma.getmaskarray(labels) if isinstance(labels, np.ma.MaskedArray) else np.ones(labels.shape, dtype=bool)
    labels = np.ma.getdata(labels)
    if labels.dtype.kind == "f":
        there &= ~np.isnan(labels)
        values = labels[there]
        other = values[(values != np.floor(values)) | (np.abs(values) >= 2.0**63)]
        if len(other):
            fault = f"the label {other[0]} is not a whole number"
            raise DataError(fault, "Labels come first, then scores. Round labels, or multiply them.")
    elif labels.dtype.kind in "iub":
        values = labels[there]
    else:
        raise DataError(f"labels of type {labels.dtype}", "Give whole numbers.")
    if values.dtype.kind == "u" and values.dtype.itemsize == 8 and int(values.max(initial=0)) >= 2**63:
        raise DataError("a label is beyond 64 bits", "Use smaller whole numbers.")
    documents = np.nonzero(there)[1].astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
    qids = list(map(str, range(len(labels))))
    qrels = Qrels.from_columns(qids, offsets, decimal(documents), values.astype(np.int64))
    qrels.known["numbers"] = (documents, True)
    qrels.known["shape"] = labels.shape
    return qrels


def _numbers(qrels: Qrels) -> tuple[IntArray, bool]:
    """Return judged documents as whole numbers (-1 for other ids), and whether they ascend; cached."""
    known: tuple[IntArray, bool] | None = qrels.known.get("numbers")
    if known is None:
        numbers = np.array([_number(raw) for raw in qrels.docids.raw()], dtype=np.int64)
        within = np.ones(len(numbers), dtype=bool)
        within[qrels.offsets[:-1][np.diff(qrels.offsets) > 0]] = False
        rises = numbers[1:] > numbers[:-1]
        ascend = bool((rises | ~within[1:]).all()) and int(numbers.min(initial=0)) >= 0
        known = qrels.known["numbers"] = numbers, ascend
    return known


def _number(raw: bytes) -> int:
    """Return the whole number that an id is written as, or -1."""
    if not raw.isdigit() or (raw[0] == 48 and len(raw) > 1) or len(raw) > 19:
        return -1
    number = int(raw)
    return number if number < 2**63 else -1


def _places(qrels: Qrels, qids: Sequence[str]) -> IntArray | None:
    """Return rows in query order: row numbers, their queries in the judgments, and these queries' positions.

    None if a query has several rows. The result for the last qids is cached, because a loop repeats them.
    """
    kept = qrels.known.get("places")
    if kept is not None and kept[0] == qids:
        places: IntArray = kept[1]
        return places
    if len(set(qids)) < len(qids):
        return None
    order = np.empty(len(qrels.qids), dtype=np.int64)
    order[qrels.ideal.rows] = np.arange(len(order))
    rows = qrels.rows_of(qids)
    place = np.where(rows >= 0, order[rows] if len(order) else -1, -1)
    by_place = np.argsort(place, kind="stable")
    places = np.ascontiguousarray([by_place, rows[by_place], place[by_place]], dtype=np.int64)
    qrels.known["places"] = (qids, places)
    return places


def _judged(rows: Arrays, qrels: Qrels) -> AnyArray:
    """Return, for each score, whether the document of its column is judged for the query of its row. (R, K)."""
    judged = np.zeros(rows.scores.shape, dtype=bool)
    numbers, _ = _numbers(qrels)
    for number, qid in enumerate(rows.qids):
        row = qrels.row_of(qid)
        if row is not None:
            start, stop = qrels.span(row)
            here = numbers[start:stop]
            judged[number, here[(here >= 0) & (here < rows.scores.shape[1])]] = True
    return judged
