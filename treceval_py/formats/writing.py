"""Runs and judgments as TREC text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from treceval_py.errors import DataError
from treceval_py.formats.source import BYTE_ORDER_MARK
from treceval_py.formats.target import written_whole
from treceval_py.ranking import ranking
from treceval_py.tables import Qrels, Run, decode, encode

__all__ = ["write_qrels", "write_run"]


def write_run(
    run: Run | Mapping[str, Mapping[str, float]], path: str | os.PathLike[str], *, tag: str | None = None
) -> None:
    """Write a run as TREC text: ``qid Q0 docid rank score tag``.

    Documents stand in the order in which they are scored: by descending score, ties by descending docid. Scores are
    written so that reading them gives the same float64 again.

    Parameters
    ----------
    run : Run or dict of dict
        The run.
    path : path
        The file; written whole or not at all, compressed when it ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``.
    tag : str, optional
        The tag; by default the run's own.

    Raises
    ------
    DataError
        An id or the tag is empty or has white space in it, or a query id begins with ``#``.
    OutputError
        The file cannot be written.
    """
    table = run if isinstance(run, Run) else Run(run)
    name = _field(encode(table.tag if tag is None else tag), "tag")
    with written_whole(path) as stream:
        for row, qid in enumerate(table.qids):
            start, stop = table.span(row)
            docids, scores = table.docids.raw(start, stop), table.scores[start:stop]
            values = scores.tolist()
            query = _query(qid)
            lines = [
                b"%s Q0 %s %d %s %s\n" % (query, _field(docids[at], "docid"), rank, repr(values[at]).encode(), name)
                for rank, at in enumerate(ranking(docids, scores).tolist(), 1)
            ]
            stream.write(b"".join(lines))


def write_qrels(qrels: Qrels | Mapping[str, Mapping[str, int]], path: str | os.PathLike[str]) -> None:
    """Write judgments as TREC text: ``qid 0 docid rel``, in the order of the table.

    Raises
    ------
    DataError
        An id is empty or has white space in it, or a query id begins with ``#``.
    OutputError
        The file cannot be written.
    """
    table = qrels if isinstance(qrels, Qrels) else Qrels(qrels)
    with written_whole(path) as stream:
        for line in _qrels_lines(table):
            stream.write(line)


def _qrels_lines(table: Qrels) -> Iterator[bytes]:
    for row, qid in enumerate(table.qids):
        query = _query(qid)
        for docid, rel in table.judgments(row).items():
            yield b"%s 0 %s %d\n" % (query, _field(docid, "docid"), rel)


def _query(qid: str) -> bytes:
    raw = _field(encode(qid), "query id")
    if raw.startswith((b"#", BYTE_ORDER_MARK)):
        what = "comments" if raw.startswith(b"#") else "begin with a byte-order mark, which is skipped"
        raise DataError(f"query id {qid!r} would make its lines {what}", "Let it begin with another character.")
    return raw


def _field(raw: bytes, kind: str) -> bytes:
    if raw.split() == [raw] and b"\0" not in raw:
        return raw
    raise DataError(
        f"{kind} {decode(raw)!r} is empty or has white space in it, so it cannot stand in a TREC file",
        "Use another one.",
    )
