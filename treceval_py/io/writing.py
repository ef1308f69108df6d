"""Write runs and judgments as text or Parquet: in TREC's formats, and in those of other programs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, repeat
from types import NoneType
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

import numpy as np

from treceval_py._types import Data, FloatArray, IntArray
from treceval_py.data.ids import Ids, decode, encode, shown
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import PLAIN, arrange
from treceval_py.data.run import DEFAULT_TAG, Run
from treceval_py.data.table import Table
from treceval_py.errors import DataError, listed, warn
from treceval_py.io.formats import Format, formats_of, imported
from treceval_py.io.source import BYTE_ORDER_MARK, compression_of
from treceval_py.io.target import PACKED, written_whole
from treceval_py.scan import scanner

Lines = bytes | memoryview
AnyTable = TypeVar("AnyTable", bound="Run | Qrels")


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
            if next(table.more or iter(()), None) is not None:
                raise DataError(f"{declared.title} is written as a whole")
    lost = _lost(table, declared, tag)
    name = os.fsdecode(target) if isinstance(target, (str, os.PathLike)) else getattr(target, "name", "<file>")
    for sentence in lost:
        warn(f"{name}: {sentence}.")
    return lost


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
    elif table.sample is not None and (drawn := table.sample.by) in format.lacks:
        lost.append(f"{format.title} has no {drawn}, so these are no longer judgments of a sample")
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
    """What ids must not contain in a format, and query ids must not begin with."""

    forbidden: re.Pattern[bytes]
    fault: str
    where: str
    opening: tuple[bytes, ...] = (b"#", BYTE_ORDER_MARK)


def any_id(where: str) -> Text:
    """Return that a format can hold all ids that are not empty."""
    return Text(re.compile(rb"(?!)"), "is empty", where, ())


TREC = Text(re.compile(rb"[\s\0]"), "is empty or contains white space", "a TREC file")


def trec_run(run: Run, tag: str) -> Iterator[Lines]:
    """Return a run in TREC's format, as portions of text."""
    name = _checked(encode(tag), "tag", TREC)
    return (_trec_lines(part, name) for part in map(ranked, checked(run, TREC)))


def _trec_lines(part: Run, name: bytes) -> Lines:
    """Return the lines of a run whose documents are best first."""
    return joined(by_row(part), b" Q0 ", part.docids, b" ", ranks_of(part), b" ", part.scores, b" " + name + b"\n")


def trec_lines(part: Run, tag: str) -> Lines:
    """Return the lines of some queries of a TREC run, whose documents are best first.

    Parameters
    ----------
    part : Run
        The queries.
    tag : str
        The name of the run.

    Raises
    ------
    DataError
        An id or the tag cannot be written.
    """
    name = _checked(encode(tag), "tag", TREC)
    return _trec_lines(check_ids(part, TREC), name)


def ranked(run: Run) -> Run:
    """Return a run with the documents of each query best first."""
    order = arrange(run, PLAIN).order
    return run.having(run.docids.take(order), run.scores[order])


def ranks_of(part: Table[Any]) -> IntArray:
    """Return the number of each row in its query, from 1. (D,)."""
    return np.arange(1, len(part.docids) + 1) - np.repeat(part.offsets[:-1], np.diff(part.offsets))


def by_row(part: Table[Any], qids: Ids | None = None) -> Ids:
    """Return the query of each row, or what is given in its place."""
    qids = Ids.from_bytes(list(map(encode, part.qids))) if qids is None else qids
    return qids.take(np.repeat(np.arange(len(qids)), np.diff(part.offsets)))


def joined(*columns: bytes | Ids | IntArray | FloatArray) -> Lines:
    """Return rows of text, one after another: bytes are the same in each, and scores are read as the same float64."""
    compiled = scanner()
    if compiled is not None:
        given = [(column.buffer, column.offsets) if isinstance(column, Ids) else column for column in columns]
        return cast("Lines", compiled.joined(*given))
    return b"".join(chain.from_iterable(zip(*map(_texts, columns), strict=False)))


def _texts(column: bytes | Ids | IntArray | FloatArray) -> Iterable[bytes]:
    if isinstance(column, bytes):
        return repeat(column)
    # Numbers all in one call, which is much faster than one for each.
    return column.raw() if isinstance(column, Ids) else repr(column.tolist())[1:-1].encode().split(b", ")


def judgment_lines(first: bytes, second: bytes, text: Text, qrels: Qrels, _: str) -> Iterator[Lines]:
    """Return lines of query, document and judgment, with something between them, as portions of text."""
    return (joined(by_row(part), first, part.docids, second, part.rels, b"\n") for part in checked(qrels, text))


trec_qrels = partial(judgment_lines, b" 0 ", b" ", TREC)


def checked(table: AnyTable, text: Text) -> Iterator[AnyTable]:
    """Return the portions of a table, whose ids are all checked before the first one, and what is still to be read."""
    more: Iterator[Any] = (check_ids(part, text) for part in table.more or ())
    return chain(check_ids(table, text).portions(), more)


def check_ids(table: AnyTable, text: Text) -> AnyTable:
    """Return a table, if its ids can be written to a file."""
    for qid in table.qids:
        checked_query(qid, text)
    # All at once, because there may be millions.
    if text.forbidden.search(table.docids.buffer) or not np.diff(table.docids.offsets).all():
        for docid in table.docids.raw():
            _checked(docid, "docid", text)
    return table


def checked_query(qid: str, text: Text) -> bytes:
    """Return the bytes of a query id that can be written to a file."""
    raw = _checked(encode(qid), "query id", text)
    if decode(raw) != qid:  # several lone surrogates that are one character together
        raise DataError(f"query id {qid!a} cannot be written as UTF-8", "Use valid Unicode text.")
    if raw.startswith(text.opening):
        change = "comments" if raw.startswith(b"#") else "begin with a byte-order mark, which readers skip"
        raise DataError(f"query id {qid!r} would make its lines {change}", "Let it begin with another character.")
    if text.opening and (packed := compression_of(raw + b" ")):
        problem = f"query id {qid!r} would make the file look compressed by {packed}"
        raise DataError(problem, "Let it begin with another character.")
    return raw


def _checked(raw: bytes, kind: str, text: Text) -> bytes:
    if raw and not text.forbidden.search(raw):
        return raw
    raise DataError(f"{kind} {decode(raw)!r} {text.fault}, so it cannot be written to {text.where}", "Use another one.")
