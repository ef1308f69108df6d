"""Convert judgments and runs from one format to another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, cast

from treceval_py._types import Data, Source
from treceval_py.data.columns import JUDGMENT, SCORE
from treceval_py.data.ids import shown
from treceval_py.data.objects import could_be
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import DataError, InputError, OutputError, TrecevalError
from treceval_py.io.formats import FORMATS, USUAL, Format, Kind, Sight, format_of, formats_of, imported
from treceval_py.io.named import reader_named, seen
from treceval_py.io.rows import whole_queries
from treceval_py.io.source import name_of
from treceval_py.io.target import PACKED
from treceval_py.io.writing import write_table

_BOTH = frozenset[Kind](("run", "qrels"))


class Conversion(NamedTuple):
    """The result of a conversion.

    Attributes
    ----------
    table : Run or Qrels
        The data that were read and written.
    format : str
        The target format.
    guessed : bool
        Whether the source could also have been the other kind.
    lost : tuple of str
        What the target cannot hold, as sentences without a full stop; also warned of.
    """

    table: Run | Qrels
    format: str
    guessed: bool
    lost: tuple[str, ...]


def convert(
    source: Source | Data,
    target: str | os.PathLike[str] | BinaryIO,
    *,
    kind: Kind | None = None,
    source_format: str | None = None,
    target_format: str | None = None,
    tag: str | None = None,
) -> Conversion:
    """Write judgments or a run in another format.

    Parameters
    ----------
    source : str, path or binary file
        The source: a file, ``"-"`` for standard input, an open binary file, or ``"ir_datasets:NAME"``; or judgments or
        a run in memory, in any form that `evaluate` accepts.
    target : path or binary file
        The target. A file is written whole or not at all, and compressed if its name ends accordingly.
    kind : "run" or "qrels", optional
        Whether the source is judgments or a run. Default: decided by its format, columns or values. If all values in
        JSON or Parquet are whole numbers with no other name than ``score``, the source could be either. Then the target
        format decides; if that can hold both too, the source is read as judgments.
    source_format : str, optional
        A format of `read_run` or `read_qrels`. Default: detected.
    target_format : str, optional
        A format of `write_run` or `write_qrels`. Default: by the ending of the target's name, such as ``.json``,
        otherwise TREC's.
    tag : str, optional
        The tag of the run. Default: its own.

    Returns
    -------
    Conversion
        The table, the format and what was lost.

    Raises
    ------
    InputError
        The source cannot be read, or cannot be recognised as judgments or a run.
    DataError
        The formats do not fit the data, or an id cannot be written to the target.
    OutputError
        The target cannot be written.

    Warns
    -----
    TrecevalWarning
        The target cannot hold everything, such as scores or queries without documents.
    """
    if not isinstance(target, (str, os.PathLike)) and not hasattr(target, "writelines"):
        raise OutputError(f"{shown(target)} is not a file", "Give a path, or an open binary file.")
    if kind not in (None, "run", "qrels"):
        raise DataError(f"unknown kind {shown(kind)}", "Choose run or qrels.")
    kinds = _BOTH if kind is None else frozenset([kind])
    if isinstance(source, (str, os.PathLike)) or hasattr(source, "read"):
        sight, file = seen(cast("Source", source))
        table, guessed = _read_table(file, sight, kinds, source_format, target_format)
    elif source_format is not None:
        raise DataError(f"{shown(source)} in memory has no format", "Leave out the format of the source.")
    else:
        table, guessed = table_of(source, _having(target_format, kinds, written=True))
    if tag is not None and isinstance(table, Qrels):
        raise DataError("judgments have no tag", "Leave out the tag, or choose the kind run.")
    to = target_format or _format_of(target, "run" if isinstance(table, Run) else "qrels")
    return Conversion(table, to, guessed, write_table(table, target, to, tag))


def table_of(given: Any, kinds: frozenset[Kind] = _BOTH) -> tuple[Run | Qrels, bool]:
    """Return judgments or a run in memory as a table, and whether its kind was only guessed.

    Raises
    ------
    DataError
        The object is neither.
    """
    if isinstance(given, (Run, Qrels)):
        return given, False
    given = list(given) if isinstance(given, Iterator) else given
    kinds = (kinds & could_be(given)) or kinds
    if kinds == {"qrels"}:
        return Qrels(given), False
    run = Run(given)
    whole = run.ranks is None and not (run.scores % 1).any()
    return (Qrels(given), True) if whole and "qrels" in kinds else (run, False)


def _having(name: str | None, kinds: frozenset[Kind], *, written: bool = False) -> frozenset[Kind]:
    """Reduce several possible kinds to those that have a format with this name, if one is given.

    Raises
    ------
    DataError
        There is none.
    """
    if len(kinds) == 1 or name is None:
        return kinds
    kinds = frozenset(kind for kind in kinds if name in formats_of(kind, written=written))
    if not kinds:
        raise DataError(f"unknown format {shown(name)}", f"Choose one of {', '.join(formats_of(*_BOTH))}.")
    return kinds


def _recognise(
    source: Source, sight: Sight, kinds: frozenset[Kind], name: str | None, target_format: str | None
) -> tuple[frozenset[Kind], Format | None]:
    """Return what a source may hold, as its beginning shows, and its format; None if one is named that is unknown."""
    fields = len(sight.lines[0].split()) if sight.lines else 0
    if name is not None:
        kinds = _having(name, kinds)
        named = [form for form in FORMATS if form.name == name and not kinds.isdisjoint(form.holds)]
        form = next((form for form in named if len(form.layout.split()) == fields), named[0] if named else None)
    else:
        form = format_of(sight, *kinds)
    if form is not None:
        return _having(target_format, kinds & {*form.holds}, written=True), form
    if len(kinds) > 1:
        if 0 < fields < 6 and fields not in (3, 4):  # else the reader reports what is wrong
            line = f"a line of {'1 field' if fields == 1 else f'{fields} fields'} has no format that can be converted"
            raise InputError(line, "A run has 6 fields, judgments have 4; or name its format.", file=name_of(source))
        kinds = frozenset(["qrels"] if fields == 4 else ["run"])
    (kind,) = kinds
    return kinds, None if name is not None else formats_of(kind)[USUAL[kind]]


def _read_table(
    source: Source, sight: Sight, kinds: frozenset[Kind], name: str | None, target_format: str | None
) -> tuple[Run | Qrels, bool]:
    """Read judgments or a run, whichever the beginning of the source shows; also return whether that was guessed."""
    kinds, form = _recognise(source, sight, kinds, name, target_format)
    if len(kinds) > 1 and form is not None:
        values: Any = imported(form.read)(source, JUDGMENT._replace(what="judgment or score", last=SCORE.names))
        if values.names and {name.lower() for name in values.names}.isdisjoint(SCORE.names):
            return values.qrels(), False
        return (values.qrels(), True) if values.whole() else (values.run(), False)
    (kind,) = kinds
    return reader_named(name if form is None else form.name, kind)(source), False


def write_while_reading(
    source: str,
    target: str,
    *,
    kind: Kind | None = None,
    source_format: str | None = None,
    target_format: str | None = None,
    tag: str | None = None,
) -> str | None:
    """Convert a file without holding it, if it can be read and written part by part; arguments as for `convert`.

    Returns
    -------
    str or None
        The target format; None if nothing was written, so that `convert` writes it or tells why not.
    """
    if not os.path.isfile(source) or (os.path.lexists(target) and not os.path.isfile(target)):
        return None
    try:
        sight, file = seen(source)
        either = _BOTH if kind is None else frozenset([kind])
        kinds, form = _recognise(file, sight, either, source_format, target_format)
        if form is None or not form.parts:
            return None
        kind, parts = imported(form.parts)(file, kinds)
        to = target_format or _format_of(target, kind)
        if "scores" in formats_of(kind)[to].lacks or (tag is not None and kind == "qrels"):
            return None
        tables: Any = whole_queries(parts, kind, source)
        table = next(tables)
        table.more = tables
        write_table(table, target, to, tag)
    except (TrecevalError, ValueError):
        return None
    return to


def _format_of(target: str | os.PathLike[str] | BinaryIO, kind: Kind) -> str:
    path = os.fspath(target) if isinstance(target, (str, os.PathLike)) else ""
    for packed in PACKED:
        path = path.removesuffix(packed)
    fitting = (name for name, form in formats_of(kind).items() if form.endings and path.endswith(form.endings))
    return next(fitting, USUAL[kind])
