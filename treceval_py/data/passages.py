"""Segments of documents ranked as documents (MaxP): a document has the score of its best segment."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.data.ids import Ids, encode
from treceval_py.data.run import Run


def best_segments(segments: Sequence[bytes], scores: FloatArray, separator: bytes) -> dict[int, bytes]:
    """Return the best segment of each document of a list: its row and the document, in the order of the list.

    The document is what precedes the first separator, as in Anserini and Pyserini; nothing more is cut off
    if this is done twice. An id without a separator, or that begins with it, is a document.
    """
    documents = [segment.partition(separator)[0] or segment for segment in segments]
    best: dict[bytes, int] = {}
    for row in np.argsort(-scores, kind="stable").tolist():
        best.setdefault(documents[row], row)
    return {row: documents[row] for row in sorted(best.values())}


def as_documents(run: Run, separator: str | None) -> Run:
    """Return a run of segments as a run of documents, and any other run unchanged; ranks count documents."""
    mark = encode(separator or "")
    if not mark or mark not in run.docids.buffer:
        return run
    lists = [
        best_segments(run.docids.raw(start, stop), run.scores[start:stop], mark)
        for start, stop in pairwise(run.offsets.tolist())
    ]
    starts = zip(lists, run.offsets, strict=False)
    rows = np.concatenate([np.array([*best], np.int64) + start for best, start in starts])
    offsets = np.cumsum([0, *map(len, lists)])
    ranks = None
    if run.ranks is not None:
        of_lists = np.split(run.ranks[rows], offsets[1:-1])
        ranks = np.concatenate([np.unique(column, return_inverse=True)[1] + 1 for column in of_lists])
    docids = Ids.from_bytes([*chain.from_iterable(best.values() for best in lists)])
    return Run.from_columns(run.qids, offsets, docids, run.scores[rows], tag=run.tag, name=run.name, ranks=ranks)
