"""The formats of judgments and runs by name, and how they are detected.

A format is detected from its first bytes or its first line with data. Anything else is read as TREC's format, whose
reader reports errors. Readers of other formats are imported on first use.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from treceval_py._types import Source
from treceval_py.data.columns import JUDGMENT, SCORE, Field, is_header
from treceval_py.data.ids import shown
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import DataError
from treceval_py.io.source import BYTE_ORDER_MARK, LONGEST_LINE, peek, source_of
from treceval_py.io.trec import Judgments, read_judgment_groups, read_preferences, read_trec_qrels, read_trec_run

if TYPE_CHECKING:
    from treceval_py.io.dictionaries import Dictionary
    from treceval_py.io.parquet import ParquetTable

Kind = Literal["run", "qrels"]

Reader = TypeVar("Reader", bound=Callable[[Source], object])


def _late(module: str, function: str) -> Callable[..., Any]:
    """Return a function that is imported on first use."""

    def read(*given: Any) -> Any:
        return getattr(import_module(f"treceval_py.io.{module}"), function)(*given)

    return read


VALUES: dict[str, Callable[[Source, Field], Dictionary | ParquetTable]] = {
    "json": _late("dictionaries", "read_json"),
    "jsonl": _late("dictionaries", "read_json_lines"),
    "parquet": _late("parquet", "read_parquet"),
}
"""Formats that hold judgments or a run: readers of values, in a field of a given name, that are then read as either."""

RUN_FORMATS: dict[str, Callable[[Source], Run]] = {
    "trec_results": read_trec_run,
    "msmarco": _late("three_columns", "read_msmarco_run"),
    **{name: lambda source, read=read: read(source, SCORE).run() for name, read in VALUES.items()},  # type: ignore[misc]
}
"""The formats of runs: TREC's, under trec_eval's name (its ``-T``), and those of other programs."""

QRELS_FORMATS: dict[str, Callable[[Source], Qrels]] = {
    "qrels": read_trec_qrels,
    "msmarco": read_trec_qrels,  # `qid 0 pid rel`: TREC's layout
    "beir": _late("three_columns", "read_beir"),
    **{name: lambda source, read=read: read(source, JUDGMENT).qrels() for name, read in VALUES.items()},  # type: ignore[misc]
    "ir_datasets": _late("datasets", "read_dataset"),
}
"""The formats of relevance judgments; ``ir_datasets`` is a name instead of a file, such as ``ir_datasets:vaswani``."""

JUDGMENT_FORMATS: dict[str, Callable[[Source], Judgments]] = {
    "qrels": read_trec_qrels,
    "qrels_jg": read_judgment_groups,
    "prefs": read_preferences,
    "qrels_prefs": partial(read_preferences, subgroups=False),
    **QRELS_FORMATS,
}
"""The formats of all judgments: TREC's, under trec_eval's names (its ``-R``), then the others of `QRELS_FORMATS`."""

GLANCE = 1 << 12
"""Number of bytes that show the format of most files."""

DATASET = "ir_datasets:"
"""Prefix of the names of data sets with judgments."""


class Sight(NamedTuple):
    """The format that the beginning of a source indicates.

    Attributes
    ----------
    format : str
        ``json``, ``jsonl``, ``parquet``, ``beir`` or ``ir_datasets``; ``""`` for any other.
    fields : tuple of bytes
        For text, the fields of the first line with data.
    """

    format: str
    fields: tuple[bytes, ...] = ()


def read_run(source: Source | None = None, format: str | None = None, *, text: str | None = None) -> Run:
    """Read a run in any format.

    Parameters
    ----------
    source : str, path or binary file
        The file, ``"-"`` for standard input, or an open binary file; plain, gzip, bzip2, xz or zstd.
    format : str, optional
        ``trec_results`` (lines of ``qid Q0 docid rank score tag``), ``msmarco`` (``qid pid rank``), ``json``
        (``{qid: {docid: score}}``), ``jsonl``, ``parquet``. Default: detected.
    text : str, optional
        The text of the file, instead of a source.

    Returns
    -------
    Run
        The run.

    Raises
    ------
    InputError
        The file cannot be read, a line is malformed, or a document occurs twice in a query.
    DataError
        The format is unknown.

    Examples
    --------
    >>> read_run(text="1 Q0 a 1 0.5 mine")["1"]
    {'a': 0.5}
    """
    given = source_of(source, text)
    name, given = recognised(given, "run") if format is None else (format, given)
    return format_named(RUN_FORMATS, name, "runs")(given)


def read_qrels(source: Source | None = None, format: str | None = None, *, text: str | None = None) -> Qrels:
    """Read relevance judgments in any format.

    Parameters
    ----------
    source : str, path or binary file
        The file, ``"-"`` for standard input, or an open binary file; plain, gzip, bzip2, xz or zstd. Or
        ``"ir_datasets:NAME"``, the judgments of a data set of that package.
    format : str, optional
        ``qrels`` or ``msmarco`` (lines of ``qid iteration docid rel``), ``beir`` (``query-id
        corpus-id score`` with a header), ``json`` (``{qid: {docid: rel}}``), ``jsonl``, ``parquet``, ``ir_datasets``.
        Default: detected.
    text : str, optional
        The text of the file, instead of a source.

    Returns
    -------
    Qrels
        The judgments; ``rel`` is an integer, negative for a pool document that was not judged.

    Raises
    ------
    InputError
        The file cannot be read, a line is malformed, or a document is judged twice for a query.
    DataError
        The format is unknown.
    """
    given = source_of(source, text)
    name, given = recognised(given, "qrels") if format is None else (format, given)
    return format_named(QRELS_FORMATS, name, "relevance judgments")(given)


def read_judgments(source: Source, format: str | None = None) -> Judgments:
    """Read judgments of any kind; parameters and errors as for `read_qrels`, with any of `JUDGMENT_FORMATS`.

    Only relevance judgments are detected. Preferences (``prefs``, ``qrels_prefs``) and groups (``qrels_jg``) look like
    them and must be named.
    """
    name, source = recognised(source, "qrels") if format is None else (format, source)
    return format_named(JUDGMENT_FORMATS, name, "judgments")(source)


def format_named(formats: Mapping[str, Reader], name: str, contents: str) -> Reader:
    """Return the reader of a format.

    Raises
    ------
    DataError
        There is no format with this name.
    """
    if not isinstance(name, str) or name not in formats:
        raise DataError(f"unknown format {shown(name)} of {contents}", f"Choose one of {', '.join(formats)}.")
    return formats[name]


def recognised(source: Source, kind: Kind) -> tuple[str, Source]:
    """Detect the format of judgments or of a run from its beginning.

    Parameters
    ----------
    source : str, path or binary file
        The source, compressed or not; or, for judgments, ``"ir_datasets:NAME"``.
    kind : "run" or "qrels"
        Whether a run or judgments are expected.

    Returns
    -------
    format : str
        A name in `RUN_FORMATS` or `QRELS_FORMATS`.
    source : Source
        The source to read from now on: the same one or, for a pipe, a stream of all its bytes.

    Raises
    ------
    InputError
        The source cannot be opened.
    """
    sight, source = seen(source)
    if kind == "qrels":
        return sight.format or "qrels", source
    if sight.format in RUN_FORMATS:
        return sight.format, source
    is_ranking = len(sight.fields) == 3 and re.fullmatch(rb"[+-]?[0-9]+", sight.fields[2])
    return "msmarco" if is_ranking else "trec_results", source


def seen(source: Source) -> tuple[Sight, Source]:
    """Read the beginning of a source; parameters and errors as for `recognised`."""
    if isinstance(source, (str, os.PathLike)) and os.fsdecode(source).startswith(DATASET):
        return Sight("ir_datasets"), source
    for size in (GLANCE, LONGEST_LINE):
        head, source = peek(source, size)
        sight = _sight(head.removeprefix(BYTE_ORDER_MARK), ended=len(head) < size)
        if sight is not None:
            return sight, source
    return Sight(""), source


def _sight(head: bytes, *, ended: bool) -> Sight | None:
    """Return the format that a beginning indicates, or None if more bytes are needed."""
    if head.startswith(b"PAR1"):
        return Sight("parquet")
    if re.match(rb'\s*\{\s*(["}]|$)', head):
        return _json(head.lstrip(), ended=ended)
    line = re.search(rb"^[ \t\v\f\r]*([^\s#][^\n]*)" + (b"" if ended else b"\n"), head, re.MULTILINE)
    if line is None:
        return Sight("") if ended else None
    text = line[1].rstrip()
    return Sight("beir" if text.count(b"\t") == 2 and is_header(text) else "", tuple(text.split()))


def _json(head: bytes, *, ended: bool) -> Sight | None:
    """Distinguish JSON from JSON Lines."""
    first, _, rest = (part.strip() for part in head.partition(b"\n"))
    if rest:
        # In one JSON document, objects do not follow one another directly.
        return Sight("jsonl" if first.endswith(b"}") and rest.startswith(b"{") else "json")
    if not ended:
        return None
    # A single line: a record of JSON Lines, or a whole JSON document.
    from treceval_py.io.dictionaries import is_record

    return Sight("jsonl" if is_record(first) else "json")
