"""Write runs and judgments as text or Parquet: in TREC's formats, and in those of other programs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import Data, FloatArray
from treceval_py.data.ids import decode, encode, shown
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import order_of
from treceval_py.data.run import Run
from treceval_py.errors import DataError, listed, warn
from treceval_py.io.source import BYTE_ORDER_MARK
from treceval_py.io.target import PACKED, written_whole


def write_run(
    run: Run | Data, path: str | os.PathLike[str], *, tag: str | None = None, format: str = "trec_results"
) -> None:
    """Write a run, by default as TREC text: ``qid Q0 docid rank score tag``.

    In TREC's and MS MARCO's formats, documents are in scoring order: by descending score, ties by descending docid. In
    the other formats they are in the order of the table. Reading the scores again gives the same float64.

    Parameters
    ----------
    run : Run, or an object of another form
        The run.
    path : path
        The file; written whole or not at all, and compressed if it ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``.
    tag : str, optional
        The tag. Default: the run's own. MS MARCO's format, JSON and JSON Lines have no tag.
    format : str
        ``trec_results``, ``msmarco`` (``qid docid rank``, without scores), ``json``, ``jsonl`` or ``parquet``.

    Raises
    ------
    DataError
        The format is unknown, or an id or the tag cannot be written in it. In TREC's format, ids and tags must not be
        empty or contain white space, and a query id must not begin with ``#``.
    OutputError
        The file cannot be written.

    Warns
    -----
    TrecevalWarning
        The format cannot hold queries without documents.
    """
    if not isinstance(tag, (str, NoneType)):
        raise DataError(f"the tag is {shown(tag)}, not text", "Give the name of the system.")
    _write(run if isinstance(run, Run) else Run(run), path, format, tag)


def write_qrels(qrels: Qrels | Data, path: str | os.PathLike[str], *, format: str = "qrels") -> None:
    """Write judgments in the order of the table, by default as TREC text: ``qid 0 docid rel``.

    Parameters
    ----------
    qrels : Qrels, or an object of another form
        The judgments.
    path : path
        The file; written whole or not at all, and compressed if it ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``.
    format : str
        ``qrels`` or ``msmarco``, ``beir`` (``query-id corpus-id score`` with a header), ``json``, ``jsonl`` or
        ``parquet``.

    Raises
    ------
    DataError
        The format is unknown, or an id cannot be written in it. In TREC's format, ids must not be empty or contain
        white space, and a query id must not begin with ``#``.
    OutputError
        The file cannot be written.

    Warns
    -----
    TrecevalWarning
        The format cannot hold queries without documents.
    """
    _write(qrels if isinstance(qrels, Qrels) else Qrels(qrels), path, format)


def _write(table: Run | Qrels, path: str | os.PathLike[str], format: str, tag: str | None = None) -> None:
    portions = written_as(table, format, tag)
    # A Parquet file is read at random positions.
    if format == "parquet" and isinstance(path, (str, os.PathLike)) and os.fsdecode(path).endswith(PACKED):
        raise DataError("a Parquet file is compressed internally, not as a whole", "Let its name end in .parquet.")
    with written_whole(path) as stream:
        for portion in portions:
            stream.write(portion)
    warn_of_bare(table, format)


def warn_of_bare(table: Run | Qrels, format: str) -> None:
    """Warn about queries that a format cannot hold, because no line names them."""
    count = len(table.bare)
    if count and format != "json":
        without = "without documents" if isinstance(table, Run) else "without judgments"
        queries, them = ("1 query", "it") if count == 1 else (f"{count} queries", "them")
        warn(f"{table.name}: {queries} {without} ({listed(table.bare, 3)}) left out; to keep {them}, write JSON.")


def written_as(table: Run | Qrels, format: str, tag: str | None = None) -> Iterator[bytes]:
    """Return a run or judgments as the bytes of a file, in portions; ids are checked before the first portion.

    Raises
    ------
    DataError
        As for `write_run` and `write_qrels`.
    """
    if isinstance(table, Run):
        writers, kind, formats = RUN_WRITERS, "a run", "Its formats"
        tag = table.tag if tag is None else tag
    else:
        writers, kind, formats = QRELS_WRITERS, "judgments", "Their formats"
    if not isinstance(format, str) or format not in writers:
        raise DataError(f"{kind} cannot be written as {shown(format)}", f"{formats} are {', '.join(writers)}.")
    return writers[format](table, tag)


class _Text(NamedTuple):
    """Characters that ids must not contain in a text format."""

    forbidden: re.Pattern[bytes]
    fault: str
    where: str


_TREC = _Text(re.compile(rb"[\s\0]"), "is empty or contains white space", "a TREC file")
_MSMARCO = _TREC._replace(where="an MS MARCO file")
_BEIR = _Text(re.compile(rb"[\t\r\n\0]"), "is empty or contains a tab or a line break", "a BEIR file")


def _trec_run(run: Run, tag: str) -> Iterator[bytes]:
    name = _checked(encode(tag), "tag", _TREC)
    _check_ids(run, _TREC)
    return (_trec_lines(qid, docids, scores, name) for qid, docids, scores in _ranked(run))


def _trec_lines(qid: bytes, docids: Sequence[bytes], scores: FloatArray, name: bytes) -> bytes:
    # All scores in one call, which is much faster than one call per score.
    texts = repr(scores.tolist())[1:-1].encode().split(b", ")
    ranked = zip(range(1, len(docids) + 1), docids, texts, strict=False)
    return b"".join([b"%s Q0 %s %d %s %s\n" % (qid, docid, rank, score, name) for rank, docid, score in ranked])


def trec_lines(
    lists: Sequence[tuple[str, Sequence[bytes], FloatArray]], tag: str, *, fast: bool = False
) -> bytes | memoryview:
    """Return the lines of some queries of a TREC run.

    Parameters
    ----------
    lists : sequence of (str, sequence of bytes, (N,) float array)
        Queries with their documents, best first, and the documents' scores.
    tag : str
        The name of the run.
    fast : bool
        Use pyarrow, whose import pays off for hundreds of thousands of lines. The lines are the same.

    Raises
    ------
    DataError
        An id or the tag cannot be written.
    """
    name, qids = _checked(encode(tag), "tag", _TREC), [_checked_query(qid, _TREC) for qid, _, _ in lists]
    for _, docids, _ in lists:
        if _TREC.forbidden.search(b"".join(docids)) or not all(docids):
            for docid in docids:
                _checked(docid, "docid", _TREC)
    if fast and lists:
        return _fast_lines(qids, [docids for _, docids, _ in lists], [scores for *_, scores in lists], name)
    return b"".join(
        [_trec_lines(qid, docids, scores, name) for qid, (_, docids, scores) in zip(qids, lists, strict=True)]
    )


def _fast_lines(qids: list[bytes], docids: list[Sequence[bytes]], scores: list[FloatArray], name: bytes) -> memoryview:
    import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import pyarrow.compute as pc  # type: ignore[import-untyped,import-not-found,unused-ignore]

    text, sizes = pa.large_binary(), list(map(len, docids))
    values = np.concatenate(scores)
    written, large = pc.cast(pa.array(values), pa.large_string()), np.abs(values)
    # pyarrow writes the same digits as Python, but has other rules for exponents and for decimals of whole numbers.
    other = (large < 1e-4) | (large >= 1e9) | (values == np.rint(values))
    if other.any():
        texts = pa.array(list(map(repr, values[other].tolist())), pa.large_string())
        written = pc.replace_with_mask(written, pa.array(other), texts)
    ranks = np.concatenate([np.arange(1, size + 1) for size in sizes])
    lines = pc.binary_join_element_wise(
        pa.array([qid + b" Q0" for qid in qids], text).take(pa.array(np.repeat(np.arange(len(qids)), sizes))),
        pa.array(list(chain.from_iterable(docids)), text),
        pc.cast(pc.cast(pa.array(ranks), pa.large_string()), text),
        pc.cast(written, text),
        pa.scalar(name + b"\n", text),
        pa.scalar(b" ", text),
    )
    _, offsets, buffer = lines.buffers()
    size = int(np.frombuffer(offsets, dtype=np.int64, count=len(lines) + 1)[-1])
    return memoryview(buffer)[:size] if size else memoryview(b"")


def _msmarco_run(run: Run, _: str) -> Iterator[bytes]:
    _check_ids(run, _MSMARCO)
    return (
        b"".join([b"%s\t%s\t%d\n" % (qid, docid, rank) for rank, docid in enumerate(docids, 1)])
        for qid, docids, _ in _ranked(run)
    )


def _ranked(run: Run) -> Iterator[tuple[bytes, list[bytes], FloatArray]]:
    """Yield each query with its documents, best first, and their scores."""
    for row, qid in enumerate(run.qids):
        start, stop = run.span(row)
        docids, scores = run.docids.raw(start, stop), run.scores[start:stop]
        order = order_of(docids, scores)
        yield encode(qid), [docids[at] for at in order.tolist()], scores[order]


def _trec_qrels(qrels: Qrels, _: str) -> Iterator[bytes]:
    _check_ids(qrels, _TREC)
    return _lines(qrels, b"%s 0 %s %d\n")


def _beir_qrels(qrels: Qrels, _: str) -> Iterator[bytes]:
    _check_ids(qrels, _BEIR)
    return chain([b"query-id\tcorpus-id\tscore\n"], _lines(qrels, b"%s\t%s\t%d\n"))


def _lines(qrels: Qrels, layout: bytes) -> Iterator[bytes]:
    for row, qid in enumerate(qrels.qids):
        start, stop = qrels.span(row)
        query, rels = encode(qid), qrels.rels[start:stop].tolist()
        yield b"".join(
            [layout % (query, docid, rel) for docid, rel in zip(qrels.docids.raw(start, stop), rels, strict=True)]
        )


def _json(table: Run | Qrels, _: str) -> Iterator[bytes]:
    """Write one query per line, so that files can be compared line by line; non-ASCII characters are escaped."""
    import json

    before = b"{\n"
    for qid, documents in chain(table.items(), zip(table.bare, repeat({}))):
        yield before + f"{json.dumps(qid)}: {json.dumps(documents)}".encode()
        before = b",\n"
    yield b"{}\n" if before == b"{\n" else b"\n}\n"


def _json_lines(table: Run | Qrels, _: str) -> Iterator[bytes]:
    import json

    value = "score" if isinstance(table, Run) else "rel"
    for qid, documents in table.items():
        records = [{"qid": qid, "docid": docid, value: number} for docid, number in documents.items()]
        yield "".join([json.dumps(record) + "\n" for record in records]).encode()


def _parquet(table: Run | Qrels, tag: str) -> Iterator[bytes]:
    from treceval_py.io.parquet import parquet_bytes

    return iter([parquet_bytes(table, tag)])


_OBJECTS = {"json": _json, "jsonl": _json_lines, "parquet": _parquet}

RUN_WRITERS: dict[str, Callable[[Any, Any], Iterator[bytes]]] = {
    "trec_results": _trec_run,
    "msmarco": _msmarco_run,
    **_OBJECTS,
}
"""Writers of runs and their tags, by format."""

QRELS_WRITERS: dict[str, Callable[[Any, Any], Iterator[bytes]]] = {
    "qrels": _trec_qrels,
    "msmarco": _trec_qrels,
    "beir": _beir_qrels,
    **_OBJECTS,
}
"""Writers of judgments, which have no tag, by format."""


def _check_ids(table: Run | Qrels, text: _Text) -> None:
    for qid in table.qids:
        _checked_query(qid, text)
    # All at once, because there may be millions.
    if text.forbidden.search(table.docids.buffer) or not np.diff(table.docids.offsets).all():
        for docid in table.docids.raw():
            _checked(docid, "docid", text)


def _checked_query(qid: str, text: _Text) -> bytes:
    raw = _checked(encode(qid), "query id", text)
    if raw.startswith((b"#", BYTE_ORDER_MARK)):
        change = "comments" if raw.startswith(b"#") else "begin with a byte-order mark, which readers skip"
        raise DataError(f"query id {qid!r} would make its lines {change}", "Let it begin with another character.")
    return raw


def _checked(raw: bytes, kind: str, text: _Text) -> bytes:
    if raw and not text.forbidden.search(raw):
        return raw
    raise DataError(f"{kind} {decode(raw)!r} {text.fault}, so it cannot be written to {text.where}", "Use another one.")
