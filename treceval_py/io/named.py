"""Read runs and judgments in any format, named or recognised."""

from __future__ import annotations

import os
from typing import Any, cast

from treceval_py._types import Source
from treceval_py.data.ids import shown
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import DataError
from treceval_py.io.formats import DATASET, GLANCE, USUAL, Kind, Sight, format_of, formats_of, shows_enough, sight_of
from treceval_py.io.source import glance, source_of
from treceval_py.io.trec import Judgments


def read_run(source: Source | None = None, format: str | None = None, *, text: str | None = None) -> Run:
    """Read a run in any format.

    Parameters
    ----------
    source : str, path or binary file
        The file, ``"-"`` for standard input, or an open binary file; plain, gzip, bzip2, xz or zstd.
    format : str, optional
        The name of a format of runs, such as ``trec_results`` (lines of ``qid Q0 docid rank score tag``) or ``json``;
        all are in the documentation's table of formats. Default: detected.
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
    return cast("Run", _read(source_of(source, text), format, "run"))


def read_qrels(source: Source | None = None, format: str | None = None, *, text: str | None = None) -> Qrels:
    """Read relevance judgments in any format.

    Parameters
    ----------
    source : str, path or binary file
        The file, ``"-"`` for standard input, or an open binary file; plain, gzip, bzip2, xz or zstd. Or
        ``"ir_datasets:NAME"``, the judgments of a data set of that package.
    format : str, optional
        The name of a format of judgments, such as ``qrels`` (lines of ``qid iteration docid rel``) or ``beir``; all are
        in the documentation's table of formats. Default: detected.
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
    return cast("Qrels", _read(source_of(source, text), format, "qrels"))


def read_judgments(source: Source, format: str | None = None) -> Judgments:
    """Read judgments of any kind; parameters and errors as for `read_qrels`.

    Only relevance judgments are detected. Preferences (``prefs``, ``qrels_prefs``) and groups (``qrels_jg``) look like
    them and must be named.
    """
    return cast("Judgments", _read(source, format, "qrels", "judgments"))


def _read(source: Source, format: str | None, kind: Kind, *others: str) -> Any:
    name, source = recognised(source, kind) if format is None else (format, source)
    return reader_named(name, kind, *others)(source)


def reader_named(name: str | None, *kinds: str) -> Any:
    """Return the reader of a format for what is of one of these kinds.

    Raises
    ------
    DataError
        There is no format with this name.
    """
    formats = formats_of(*kinds)
    if not isinstance(name, str) or name not in formats:
        problem = f"unknown format {shown(name)} of {_CONTENTS[kinds]}"
        raise DataError(problem, f"Choose one of {', '.join(formats)}.")
    return formats[name].reader(kinds[0])


_CONTENTS = {("run",): "runs", ("qrels",): "relevance judgments", ("qrels", "judgments"): "judgments"}


def recognised(source: Source, kind: Kind, *, by_rank: bool = False) -> tuple[str, Source]:
    """Detect the format of judgments or of a run from its beginning.

    Parameters
    ----------
    source : str, path or binary file
        The source, compressed or not; or, for judgments, ``"ir_datasets:NAME"``.
    kind : "run" or "qrels"
        Whether a run or judgments are expected.
    by_rank : bool
        Whether documents are ordered by rank, so that three columns have ranks.

    Returns
    -------
    format : str
        The name of a format; TREC's if no other is seen, whose reader reports errors.
    source : Source
        The source to read from now on, as `glance` returns it.

    Raises
    ------
    InputError
        The source cannot be opened.
    """
    sight, source = seen(source)
    if by_rank and sight.lines and len(sight.lines[0].split()) == 3:
        return "msmarco", source
    form = format_of(sight, kind)
    return form.name if form is not None else USUAL[kind], source


def seen(source: Source) -> tuple[Sight, Source]:
    """Look at the beginning of a source; parameters and errors as for `recognised`."""
    if isinstance(source, (str, os.PathLike)) and os.fsdecode(source).startswith(DATASET):
        return sight_of(os.fsencode(source)), source
    head, ended, source = glance(source, GLANCE, shows_enough)
    return sight_of(head, ended), source
