"""Write runs and judgments as text or Parquet: in TREC's formats, and in those of other programs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from types import NoneType
from typing import BinaryIO, NamedTuple

import numpy as np

from treceval_py._types import Data, FloatArray
from treceval_py.data.ids import decode, encode, shown
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import order_of
from treceval_py.data.run import DEFAULT_TAG, Run
from treceval_py.errors import DataError, listed, warn
from treceval_py.io.formats import Format, formats_of, imported
from treceval_py.io.source import BYTE_ORDER_MARK
from treceval_py.io.target import PACKED, written_whole


def write_run(
    run: Run | Data, path: str | os.PathLike[str], *, tag: str | None = None, format: str = "trec_results"
) -> None:
    """Write a run, by default as TREC text: ``qid Q0 docid rank score tag``.

    In lines without a header, documents are in scoring order: by descending score, ties by descending docid. In the
    other formats they are in the order of the table. Reading the scores again gives the same float64.

    Parameters
    ----------
    run : Run, or an object of another form
        The run.
    path : path
        The file; written whole or not at all, and compressed if it ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``.
    tag : str, optional
        The tag. Default: the run's own. Some formats have none.
    format : str
        A format of `read_run`. What it cannot hold, such as scores, is lost with a warning.

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
        The format cannot hold everything, such as scores or queries without documents.
    """
    if not isinstance(tag, (str, NoneType)):
        raise DataError(f"the tag is {shown(tag)}, not text", "Give the name of the system.")
    _check_first(run, "run")
    write_table(run if isinstance(run, Run) else Run(run), path, format, tag)


def write_qrels(qrels: Qrels | Data, path: str | os.PathLike[str], *, format: str = "qrels") -> None:
    """Write judgments in the order of the table, by default as TREC text: ``qid 0 docid rel``.

    Parameters
    ----------
    qrels : Qrels, or an object of another form
        The judgments.
    path : path
        The file; written whole or not at all, and compressed if it ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``.
    format : str
        A format of `read_qrels`. What it cannot hold is lost with a warning.

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
        The format cannot hold everything, such as scores or queries without documents.
    """
    _check_first(qrels, "qrels")
    write_table(qrels if isinstance(qrels, Qrels) else Qrels(qrels), path, format)


def _check_first(given: object, what: str) -> None:
    """Refuse a path in place of a run or of judgments."""
    if isinstance(given, (str, os.PathLike)):
        todo = f"te.write_{what}({what}, path) takes the path second; te.convert(source, target) copies a file."
        raise DataError(f"the first argument is a path, {shown(os.fspath(given))}", todo)


def write_table(
    table: Run | Qrels, target: str | os.PathLike[str] | BinaryIO, format: str, tag: str | None = None
) -> tuple[str, ...]:
    """Write a run or judgments; warn of what is lost, and return it. Parameters and errors as for `write_run`."""
    declared = _format(table, format)
    portions = written_as(table, format, tag)
    if hasattr(target, "writelines"):
        target.writelines(portions)
    else:
        if declared.binary and isinstance(target, (str, os.PathLike)) and os.fsdecode(target).endswith(PACKED):
            problem = f"a {declared.title} file is compressed internally, not as a whole"
            raise DataError(problem, f"Let its name end in {declared.endings[0]}.")
        with written_whole(target) as stream:
            for portion in portions:
                stream.write(portion)
    lost = _lost(table, declared, tag)
    for sentence in lost:
        warn(f"{_target_name(target)}: {sentence}.")
    return lost


def _target_name(target: str | os.PathLike[str] | BinaryIO) -> str:
    return os.fsdecode(target) if isinstance(target, (str, os.PathLike)) else str(getattr(target, "name", "<file>"))


def _lost(table: Run | Qrels, format: Format, tag: str | None) -> tuple[str, ...]:
    """Return what a format cannot hold of a table, as sentences without a full stop."""
    lost = []
    if isinstance(table, Run):
        tag = table.tag if tag is None else tag
        by_rank = table.ranks is not None and np.array_equal(table.scores, -table.ranks)
        if "scores" in format.lacks and not by_rank:
            lost.append(f"{format.title} has no scores, only ranks")
        if "tag" in format.lacks and tag != DEFAULT_TAG:
            lost.append(f"{format.title} has no tag, which was '{tag}'")
    elif "strata" in format.lacks and table.strata is not None:
        lost.append(f"{format.title} has no strata, so these are no longer judgments of a sample")
    if table.bare and not format.bare:
        without = "documents" if isinstance(table, Run) else "judgments"
        queries, them = ("1 query", "it") if len(table.bare) == 1 else (f"{len(table.bare)} queries", "them")
        kept = f"{queries} without {without} ({listed(table.bare, 3)}) left out; to keep {them}, write JSON"
        lost.append(kept)
    return tuple(lost)


def written_as(table: Run | Qrels, format: str, tag: str | None = None) -> Iterator[bytes]:
    """Return a run or judgments as the bytes of a file, in portions; ids are checked before the first portion.

    Raises
    ------
    DataError
        As for `write_run` and `write_qrels`.
    """
    if tag is None and isinstance(table, Run):
        tag = table.tag
    portions: Iterator[bytes] = imported(_format(table, format).write)(table, tag)
    return portions


def _format(table: Run | Qrels, name: str) -> Format:
    kind, noun, their = ("run", "a run", "Its") if isinstance(table, Run) else ("qrels", "judgments", "Their")
    formats = formats_of(kind, written=True)
    if not isinstance(name, str) or name not in formats:
        raise DataError(f"{noun} cannot be written as {shown(name)}", f"{their} formats are {', '.join(formats)}.")
    return formats[name]


class Text(NamedTuple):
    """Characters that ids must not contain in a text format."""

    forbidden: re.Pattern[bytes]
    fault: str
    where: str


TREC = Text(re.compile(rb"[\s\0]"), "is empty or contains white space", "a TREC file")


def trec_run(run: Run, tag: str) -> Iterator[bytes]:
    """Return a run in TREC's format, as portions of text."""
    name = _checked(encode(tag), "tag", TREC)
    check_ids(run, TREC)
    return (_trec_lines(qid, docids, scores, name) for qid, docids, scores in ranked(run))


def _trec_lines(qid: bytes, docids: Sequence[bytes], scores: FloatArray, name: bytes) -> bytes:
    rows = zip(range(1, len(docids) + 1), docids, texts_of(scores), strict=False)
    return b"".join([b"%s Q0 %s %d %s %s\n" % (qid, docid, rank, score, name) for rank, docid, score in rows])


def texts_of(scores: FloatArray) -> list[bytes]:
    """Return scores as text that gives the same float64; all in one call, which is much faster than one per score."""
    return repr(scores.tolist())[1:-1].encode().split(b", ")


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
    name, qids = _checked(encode(tag), "tag", TREC), [_checked_query(qid, TREC) for qid, _, _ in lists]
    for _, docids, _ in lists:
        if TREC.forbidden.search(b"".join(docids)) or not all(docids):
            for docid in docids:
                _checked(docid, "docid", TREC)
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


def ranked(run: Run) -> Iterator[tuple[bytes, list[bytes], FloatArray]]:
    """Yield each query with its documents, best first, and their scores."""
    for row, qid in enumerate(run.qids):
        start, stop = run.span(row)
        docids, scores = run.docids.raw(start, stop), run.scores[start:stop]
        order = order_of(docids, scores)
        yield encode(qid), [docids[at] for at in order.tolist()], scores[order]


def trec_qrels(qrels: Qrels, _: str) -> Iterator[bytes]:
    """Return judgments in TREC's format, as portions of text."""
    return judgment_lines(qrels, b"%s 0 %s %d\n", TREC)


def judgment_lines(qrels: Qrels, layout: bytes, text: Text) -> Iterator[bytes]:
    """Return lines of query, document and judgment, as portions of text."""
    check_ids(qrels, text)
    tables = (
        (encode(qid), qrels.docids.raw(start, stop), qrels.rels[start:stop].tolist())
        for qid, (start, stop) in zip(qrels.qids, map(qrels.span, range(len(qrels.qids))), strict=True)
    )
    return (b"".join([layout % (qid, *row) for row in zip(docids, rels, strict=True)]) for qid, docids, rels in tables)


def check_ids(table: Run | Qrels, text: Text) -> None:
    """Refuse ids that cannot be written to a text file."""
    for qid in table.qids:
        _checked_query(qid, text)
    # All at once, because there may be millions.
    if text.forbidden.search(table.docids.buffer) or not np.diff(table.docids.offsets).all():
        for docid in table.docids.raw():
            _checked(docid, "docid", text)


def _checked_query(qid: str, text: Text) -> bytes:
    raw = _checked(encode(qid), "query id", text)
    if raw.startswith((b"#", BYTE_ORDER_MARK)):
        change = "comments" if raw.startswith(b"#") else "begin with a byte-order mark, which readers skip"
        raise DataError(f"query id {qid!r} would make its lines {change}", "Let it begin with another character.")
    return raw


def _checked(raw: bytes, kind: str, text: Text) -> bytes:
    if raw and not text.forbidden.search(raw):
        return raw
    raise DataError(f"{kind} {decode(raw)!r} {text.fault}, so it cannot be written to {text.where}", "Use another one.")
