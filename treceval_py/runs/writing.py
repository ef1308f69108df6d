"""Write search results as a run file, ranked as trec_eval ranks them, with scores that lose no precision.

A line is ``qid Q0 docid rank score tag``. Scores have the fewest digits that give the same value again in their own
width, so different scores stay different and equal scores stay equal. A float32 score survives both a 32-bit reader and
a 64-bit reader whose value is rounded afterwards. Negative zero equals zero and is written as zero.

`pyarrow` assembles the lines, some hundred thousand at a time; assembling millions of Python strings would take longer
than the search.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import AnyArray, BoolArray, IntArray
from treceval_py.corpora.reporting import SILENT, Reporter
from treceval_py.data.ids import Ids, encode, quoted
from treceval_py.errors import OutputError, RunnerError
from treceval_py.io.digests import digest_of_file
from treceval_py.io.source import BYTE_ORDER_MARK, open_zstd
from treceval_py.io.target import written_whole
from treceval_py.runs.record import check_sidecar, remove_sidecar, sidecar_of
from treceval_py.version import pip_install

PORTION = 1 << 18
"""Lines assembled at a time; each takes about 100 bytes meanwhile."""

_FORBIDDEN = re.compile(rb"[\s\0]")


class SearchResults(NamedTuple):
    """Search results for a group of queries.

    Attributes
    ----------
    qids : list of str, length Q
        The queries.
    positions : (Q, k) int array
        Positions of documents in the corpus, from 0, in any order; -1 for no document.
    scores : (Q, k) float32 or float64 array
        Their scores, larger is better; any value where the position is -1.
    """

    qids: list[str]
    positions: IntArray
    scores: AnyArray


class Written(NamedTuple):
    """Counts of a written run file.

    Attributes
    ----------
    lines : int
        Lines of the file.
    queries : int
        Queries that were searched, whether or not they have lines.
    short : int
        Queries with fewer than k lines, including those without any.
    missing : int
        Places for which the search found nothing (position -1).
    without_hits : int
        Queries without any line.
    tied : int
        Lines with the same score as another line of the query.
    """

    lines: int
    queries: int
    short: int
    missing: int
    without_hits: int
    tied: int


def write_search_results(
    path: str | os.PathLike[str],
    groups: Iterable[SearchResults],
    ids: Ids,
    tag: str,
    *,
    k: int,
    queries: int | None = None,
    reporter: Reporter = SILENT,
) -> tuple[Written, dict[str, Any]]:
    """Write search results as a TREC run, as a stage of long work, and remove the record of an earlier run.

    Documents of a query are sorted by descending score, then by descending id (compared as bytes). trec_eval uses the
    same order, so the rank column never contradicts it. The same groups give the same bytes.

    Parameters
    ----------
    path : path
        The file; written whole or not at all, and compressed if it ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``.
    groups : iterable of SearchResults
        Queries with their documents; one group is in memory at a time.
    ids : Ids, length D
        The ids of all documents of the corpus.
    tag : str
        The name of the run.
    k : int
        Number of documents requested per query.
    queries : int, optional
        The number of queries, if known.
    reporter : Reporter
        Progress reporter, advanced with each portion of queries.

    Returns
    -------
    written : Written
        The counts of its lines.
    about : dict
        The part of the run's record that describes them.

    Raises
    ------
    RunnerError
        A score is NaN or infinite, a position is beyond the corpus, a document occurs twice in a query or a query
        twice, arrays do not fit together, an id or the tag cannot be written to a run, or pyarrow is not installed.
    OutputError
        The file cannot be written.
    """
    path = os.fspath(path)
    reporter.begin("write", queries, "queries")
    writer = _Writer(ids, tag, k)
    with written_whole(path) as stream:
        for group in groups:
            _check_form(group, k)
            rows = max(1, PORTION // max(1, group.positions.shape[1]))
            for some in (slice(start, start + rows) for start in range(0, len(group.qids), rows)):
                positions = group.positions[some].astype(np.int64, copy=False)
                stream.write(writer.lines(SearchResults(group.qids[some], positions, group.scores[some])))
                reporter.advance(len(positions))
    reporter.end()
    remove_sidecar(path)  # it describes the run that was replaced; if writing fails, both are kept
    return writer.written, {"file": path, "sha256": digest_of_file(path), "tag": tag, **writer.written._asdict()}


class _Writer:
    """Assembles lines and counts them."""

    def __init__(self, ids: Ids, tag: str, k: int) -> None:
        self.documents = _documents(ids)
        self.tail = check_tag(tag) + b"\n"
        self.k = k
        self.seen: set[str] = set()
        self.written = Written(0, 0, 0, 0, 0, 0)

    def lines(self, piece: SearchResults) -> memoryview:
        """Return the lines of some queries as bytes."""
        import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]
        import pyarrow.compute as pc  # type: ignore[import-untyped,import-not-found,unused-ignore]

        binary = pa.large_binary()
        prefixes = pa.array([self._prefix(qid) for qid in piece.qids], binary)
        counts, rows, ranks, positions, scores = _hits(piece, len(self.documents))
        positions, tied = _ordered_ties(rows, positions, scores, self.documents)
        short, none = int((counts < self.k).sum()), int((counts == 0).sum())
        missing = piece.positions.size - len(positions)
        now = (len(positions), len(piece.qids), short, missing, none, tied)
        self.written = Written(*(before + more for before, more in zip(self.written, now, strict=True)))
        lines = pc.binary_join_element_wise(
            prefixes.take(pa.array(rows)),
            self.documents.take(pa.array(positions)),
            pa.array([b"%d" % rank for rank in range(1, self.k + 1)], binary).take(pa.array(ranks)),
            pc.cast(_written_scores(scores), binary),
            pa.scalar(self.tail, binary),
            pa.scalar(b" ", binary),
        )
        _, offsets, text = lines.buffers()
        size = int(np.frombuffer(offsets, dtype=np.int64, count=len(lines) + 1)[-1])
        return memoryview(text)[:size] if size else memoryview(b"")

    def _prefix(self, qid: str) -> bytes:
        raw = _checked("query id", encode(qid))
        if raw.startswith((b"#", BYTE_ORDER_MARK)):
            lines = "comments" if raw.startswith(b"#") else "begin with a byte-order mark, which readers skip"
            fault = f"query id {quoted(raw)} would make its lines {lines}"
            raise RunnerError(fault, "Let it begin with another character.")
        if qid in self.seen:
            raise RunnerError(f"query {quoted(raw)} occurs twice", "Give each query once.")
        self.seen.add(qid)
        return raw + b" Q0"


def _written_scores(scores: AnyArray) -> Any:
    """Return scores as a column of text that gives the same values again, whatever the reader's precision."""
    import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import pyarrow.compute as pc  # type: ignore[import-untyped,import-not-found,unused-ignore]

    column = pa.array(scores)
    text = pc.cast(column, pa.large_string())
    if scores.dtype == np.float32:
        # The float64 nearest to the fewest digits may lie half-way between two float32 and be rounded to the wrong one.
        # Among all float32, only 7.038531e-26 does. Such a score gets all digits of its own float64.
        again = pc.cast(text, pa.float64()).to_numpy().astype(np.float32)
        if (again != scores).any():
            exact = pc.cast(pc.cast(column, pa.float64()), pa.large_string())
            text = pc.if_else(pa.array(again == scores), text, exact)
    return text


def _documents(ids: Ids) -> Any:
    """Return the ids as a column of pyarrow, without a copy, after checking each."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        fault = "writing a run needs the package pyarrow, which is not installed"
        raise RunnerError(fault, pip_install("retrieve")) from None
    raw = np.frombuffer(ids.buffer, dtype=np.uint8)
    # One quick check of all bytes: every forbidden byte is a space or less.
    if not np.diff(ids.offsets).all() or (raw.size and raw.min() <= ord(" ")):
        for docid in ids.raw():
            _checked("document id", docid)
    offsets = np.ascontiguousarray(ids.offsets, dtype=np.int64)
    parts = [None, pa.py_buffer(offsets), pa.py_buffer(ids.buffer)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(ids), parts)


def check_tag(tag: str) -> bytes:
    """Return a tag as bytes; refuse one that a run cannot have.

    Raises
    ------
    RunnerError
        The tag is empty or contains white space.
    """
    return _checked("tag", encode(tag))


def check_output(output: str, sources: Iterable[str]) -> None:
    """Refuse a run file that could not be written, before the work begins.

    Parameters
    ----------
    output : str
        The run file; its record (``.json``) and judgments (``.qrels``) are written next to it.
    sources : iterable of str
        Files that are read and must not be overwritten; other names are ignored.

    Raises
    ------
    OutputError
        The output is not a file, would replace a source, or its folder cannot be written.
    """
    there = [source for source in sources if os.path.exists(source)]
    for path in (output, sidecar_of(output), f"{output}.qrels"):
        if path in {"", "-"} or path.endswith(os.sep) or (_exists(path) and not os.path.isfile(path)):
            raise OutputError("a run is a file, with its record next to it", "Name a file.", file=path or "''")
        if os.path.exists(path) and any(os.path.samefile(path, source) for source in there):
            raise OutputError("the run would replace one of its own input files", "Name another.", file=path)
    check_sidecar(output)
    check_folder(output)


def check_folder(output: str) -> None:
    """Refuse a run file that cannot be created: its folder is missing or not writable, or a package is missing.

    Raises
    ------
    OutputError
        The file cannot be created.
    """
    folder = os.path.dirname(os.path.realpath(output))
    if not os.path.isdir(folder):
        raise OutputError("the folder of the run file does not exist", "Create it, or name another.", file=output)
    if not os.access(folder, os.W_OK):
        raise OutputError("the folder of the run file cannot be written", "Name another.", file=output)
    if output.endswith((".zst", ".zstd")):
        open_zstd(io.BytesIO(), output, "wb").close()  # which raises if its package is missing


def _exists(path: str) -> bool:
    """Return whether a file exists, and refuse a name that no file can have."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror or error}", "Name another file.", file=path) from None
    return True


def _checked(kind: str, raw: bytes) -> bytes:
    if raw and not _FORBIDDEN.search(raw):
        return raw
    fault = f"{kind} {quoted(raw)} is empty or contains white space, so it cannot be written to a TREC file"
    raise RunnerError(fault, "Use another one.")


def _check_form(group: SearchResults, k: int) -> None:
    shape, scores = group.positions.shape, group.scores
    if len(shape) != 2 or shape != scores.shape or shape[0] != len(group.qids):
        fault = f"{len(group.qids)} queries have positions of shape {shape} and scores of shape {scores.shape}"
        raise RunnerError(fault, "Give both as (queries, k).")
    if shape[1] > k:
        raise RunnerError(f"queries have {shape[1]} documents, but {k} were requested", "Request as many.")
    if group.positions.dtype.kind not in "iu":
        raise RunnerError(f"positions are {group.positions.dtype}", "Give integers.")
    if scores.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise RunnerError(f"scores are {scores.dtype}", "Give float32 or float64.")


def _hits(piece: SearchResults, documents: int) -> tuple[IntArray, IntArray, IntArray, IntArray, AnyArray]:
    """Check search results, and sort the documents of each query by score.

    Returns the number of documents of each query, (Q,), and for each document, by query and best first, the row of the
    query, the rank from 0, the position and the score, (N,) each.
    """
    there = piece.positions >= 0
    _check_values(piece, there, documents)
    lowest = piece.scores.dtype.type(-np.inf)
    # Adding zero turns negative zero into zero.
    scores = np.where(there, piece.scores, lowest) + piece.scores.dtype.type(0)
    positions = piece.positions
    if (scores[:, 1:] > scores[:, :-1]).any():
        order = np.argsort(-scores, axis=1, kind="stable")
        scores = np.take_along_axis(scores, order, axis=1)
        positions = np.take_along_axis(positions, order, axis=1)
    counts = there.sum(axis=1)
    rows, ranks = np.nonzero(np.arange(positions.shape[1]) < counts[:, None])
    return counts, rows, ranks, positions[rows, ranks], scores[rows, ranks]


def _check_values(piece: SearchResults, there: BoolArray, documents: int) -> None:
    positions, scores = piece.positions, piece.scores
    ordered = np.sort(positions, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    for wrong, fault in (
        (there & ~np.isfinite(scores), "score {1} for the document at position {0}, which is not a number to rank by"),
        ((positions < -1) | (positions >= documents), "position {0} among its documents, but the corpus has {2}"),
        (twice, "the document at position {3} twice"),
    ):
        if wrong.any():
            row, column = (int(place[0]) for place in np.nonzero(wrong))
            values = positions[row, column], scores[row, column], documents, ordered[row, column]
            raise RunnerError(f"query {quoted(encode(piece.qids[row]))} has {fault.format(*values)}", _TODO)


_TODO = "Search again; if embeddings were edited, encode them again."


def _ordered_ties(rows: IntArray, positions: IntArray, scores: AnyArray, documents: Any) -> tuple[IntArray, int]:
    """Sort documents with equal scores by descending id; also return their number."""
    equal = (scores[1:] == scores[:-1]) & (rows[1:] == rows[:-1])
    if not equal.any():
        return positions, 0
    import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import pyarrow.compute as pc  # type: ignore[import-untyped,import-not-found,unused-ignore]

    tied = np.concatenate([[False], equal]) | np.concatenate([equal, [False]])
    places = np.flatnonzero(tied)
    stretch = np.cumsum(np.concatenate([[True], ~equal]))[places]
    positions = positions.copy()
    table = pa.table({"stretch": stretch, "docid": documents.take(pa.array(positions[places]))})
    order = pc.sort_indices(table, sort_keys=[("stretch", "ascending"), ("docid", "descending")])
    positions[places] = positions[places][order.to_numpy()]
    return positions, len(places)
