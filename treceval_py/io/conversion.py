"""Convert judgments and runs from one format to another."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from treceval_py._types import Data, Source
from treceval_py.data.columns import JUDGMENT, SCORE
from treceval_py.data.ids import shown
from treceval_py.data.objects import could_be
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import DEFAULT_TAG, Run
from treceval_py.errors import DataError, InputError, OutputError
from treceval_py.io.named import QRELS_FORMATS, RUN_FORMATS, VALUES, Kind, Sight, read_qrels, read_run, seen
from treceval_py.io.source import name_of
from treceval_py.io.target import PACKED
from treceval_py.io.writing import QRELS_WRITERS, RUN_WRITERS, warn_of_bare, write_qrels, write_run, written_as

_ENDINGS = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
"""Formats of runs and of judgments, by the ending of a file's name."""

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
        What the target cannot hold, as sentences without a full stop.
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
        A format of `write_run` or `write_qrels`. Default: by the ending of the target's name (``.json``, ``.jsonl``,
        ``.parquet``, ``.tsv`` for MS MARCO's runs and BEIR's judgments), otherwise TREC's.
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
        The target cannot hold queries without documents.
    """
    if not isinstance(target, (str, os.PathLike)) and not hasattr(target, "writelines"):
        raise OutputError(f"{shown(target)} is not a file", "Give a path, or an open binary file.")
    if kind not in (None, "run", "qrels"):
        raise DataError(f"unknown kind {shown(kind)}", "Choose run or qrels.")
    kinds = _BOTH if kind is None else frozenset([kind])
    if isinstance(source, (str, os.PathLike)) or hasattr(source, "read"):
        sight, file = seen(cast("Source", source))
        kinds = _wanted(_kinds(kinds, source_format, sight, name_of(file)), target_format)
        table, guessed = _read(file, kinds, source_format or sight.format)
    elif source_format is not None:
        raise DataError(f"{shown(source)} in memory has no format", "Leave out the format of the source.")
    else:
        table, guessed = table_of(source, _wanted(kinds, target_format))
    if tag is not None and isinstance(table, Qrels):
        raise DataError("judgments have no tag", "Leave out the tag, or choose the kind run.")
    to = target_format or _format_of(target, "run" if isinstance(table, Run) else "qrels")
    if not isinstance(target, (str, os.PathLike)):
        target.writelines(written_as(table, to, tag))
        warn_of_bare(table, to)
    elif isinstance(table, Run):
        write_run(table, target, tag=tag, format=to)
    else:
        write_qrels(table, target, format=to)
    return Conversion(table, to, guessed, _lost(table, to, tag))


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


def _wanted(kinds: frozenset[Kind], target_format: str | None) -> frozenset[Kind]:
    """Reduce the possible kinds to those that the target format can hold, if more than one is left."""
    if len(kinds) == 1 or target_format is None:
        return kinds
    return kinds & _having(target_format, RUN_WRITERS, QRELS_WRITERS)


def _having(format: str, runs: Mapping[str, Any], judgments: Mapping[str, Any]) -> frozenset[Kind]:
    """Return the kinds that have a format with this name.

    Raises
    ------
    DataError
        Neither kind has one.
    """
    formats: dict[Kind, Mapping[str, Any]] = {"run": runs, "qrels": judgments}
    kinds = frozenset(kind for kind in formats if isinstance(format, str) and format in formats[kind])
    if not kinds:
        known = ", ".join(dict.fromkeys([*runs, *judgments]))
        raise DataError(f"unknown format {shown(format)}", f"Choose one of {known}.")
    return kinds


def _kinds(kinds: frozenset[Kind], source_format: str | None, sight: Sight, name: str) -> frozenset[Kind]:
    """Return the possible kinds of the source, from the caller's options and its beginning."""
    of_format = kinds if source_format is None else _having(source_format, RUN_FORMATS, QRELS_FORMATS)
    if len(kinds) == 1:  # a format of the other kind is refused when it is read
        return kinds
    if source_format not in (None, "msmarco"):
        return of_format
    if sight.format:
        return _BOTH if sight.format in RUN_FORMATS else frozenset(["qrels"])
    count = len(sight.fields)
    if count == 4:
        return frozenset(["qrels"])
    if count == 3 or count >= 6 or not count:  # the reader reports what is wrong with an empty or damaged file
        return frozenset(["run"])
    line = f"a line of {'1 field' if count == 1 else f'{count} fields'} has no format that can be converted"
    raise InputError(line, "A run has 6 or 3 fields, judgments have 4, or 3 with a header.", file=name)


_EITHER = JUDGMENT._replace(what="judgment or score", last=SCORE.names)


def _read(source: Source, kinds: frozenset[Kind], format: str) -> tuple[Run | Qrels, bool]:
    """Read the source; also return whether its kind was only guessed."""
    if kinds == {"run"}:
        return read_run(source, format or None), False
    if kinds == {"qrels"}:
        return read_qrels(source, format or None), False
    values = VALUES[format](source, _EITHER)
    if values.names and {name.lower() for name in values.names}.isdisjoint(SCORE.names):
        return values.qrels(), False
    return (values.qrels(), True) if values.whole() else (values.run(), False)


def _format_of(target: str | os.PathLike[str] | BinaryIO, kind: Kind) -> str:
    path = os.fspath(target) if isinstance(target, (str, os.PathLike)) else ""
    for packed in PACKED:
        path = path.removesuffix(packed)
    if path.endswith(".tsv"):
        return "msmarco" if kind == "run" else "beir"
    usual = "trec_results" if kind == "run" else "qrels"
    return next((name for ending, name in _ENDINGS.items() if path.endswith(ending)), usual)


def _lost(table: Run | Qrels, format: str, tag: str | None) -> tuple[str, ...]:
    """Return notes on the parts of a table that a format cannot hold."""
    lost = []
    if isinstance(table, Run):
        tag = table.tag if tag is None else tag
        ranked = table.ranks is not None and np.array_equal(table.scores, -table.ranks)
        if format == "msmarco" and not ranked:
            lost.append("MS MARCO's format has no scores, only ranks")
        if format in _WITHOUT_TAG and tag != DEFAULT_TAG:
            lost.append(f"{_WITHOUT_TAG[format]} has no tag, which was '{tag}'")
    return tuple(lost)


_WITHOUT_TAG = {"msmarco": "MS MARCO's format", "json": "JSON", "jsonl": "JSON Lines"}
