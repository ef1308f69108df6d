"""Rows of Arrow, in which libraries of frames and Parquet hold them: read without a Python object for each.

Only the compiled scanner reads them so, and only rows that need no decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import FloatArray, IntArray
from treceval_py.data.ids import Ids
from treceval_py.scan import scanner


class Batch(NamedTuple):
    """Consecutive rows of judgments or of a run.

    Attributes
    ----------
    queries : (S,) int array
        The query of each stretch, that is, of consecutive rows with the same query.
    starts : (S + 1,) int array
        The first row of each stretch, and D.
    docids : Ids, length D
        The documents.
    values : (D,) int or float array
        Their judgments or scores.
    ranks : (D,) int array or None
        Their ranks.
    ordered : bool
        Whether ranks are known to rise, and scores not to rise, within each stretch.
    """

    queries: IntArray
    starts: IntArray
    docids: Ids
    values: FloatArray | IntArray
    ranks: IntArray | None
    ordered: bool


def batches_of(given: Any, names: Sequence[str | None], numbers: dict[bytes, int]) -> Iterator[Batch]:
    """Yield the batches of rows of an object that exports a stream of Arrow.

    Parameters
    ----------
    given : object with ``__arrow_c_stream__``
        The rows.
    names : sequence of str
        The columns of query, document and value, and of ranks or None.
    numbers : dict
        The number of each query so far; new queries are added, in order of their first rows.

    Raises
    ------
    ValueError
        There is no compiled scanner; or another reader must decide about some rows: an id is neither text nor a whole
        number, a value is not a number, or something is missing.
    """
    compiled = scanner()
    if compiled is None:
        raise ValueError("no compiled scanner")
    stream, wanted = given.__arrow_c_stream__(), [None if name is None else name.encode() for name in names]
    while (columns := compiled.arrow_batch(stream, numbers, *wanted)) is not None:
        queries, starts, documents, offsets, *values = columns
        yield Batch(queries, starts, Ids(documents, offsets), *values)


def joined(batches: Sequence[Batch]) -> Batch:
    """Return all rows of batches, one or more, whose queries have common numbers."""
    if len(batches) == 1:
        return batches[0]
    lengths = np.concatenate([np.diff(batch.starts) for batch in batches])
    ranks: Any = [batch.ranks for batch in batches]
    return Batch(
        np.concatenate([batch.queries for batch in batches]),
        np.append(0, np.cumsum(lengths)),
        Ids.concatenate([batch.docids for batch in batches]),
        np.concatenate([batch.values for batch in batches]),
        None if ranks[0] is None else np.concatenate(ranks),
        ordered=False,
    )
