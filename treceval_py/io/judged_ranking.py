"""Judged rankings: one file is both a run and the judgments of its documents."""

from __future__ import annotations

import numpy as np

from treceval_py._types import Source
from treceval_py.data.columns import QRELS
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import InputError
from treceval_py.io.rows import Rows, parts_of
from treceval_py.io.source import name_of, source_of
from treceval_py.io.writing import ranks_of


def read_judged_ranking(
    source: Source | None = None, threads: int | None = 1, *, text: str | None = None
) -> tuple[Qrels, Run]:
    """Read lines of ``qid Q0 docid rel`` whose order within a query is the ranking.

    Parameters
    ----------
    source : str, path or binary file
        The file, ``"-"`` for standard input, or an open binary file; plain, gzip, bzip2, xz or zstd.
    threads : int or None
        Threads that read; None for one per available core.
    text : str, optional
        The text of the file, instead of a source.

    Returns
    -------
    qrels : Qrels
        The judgments.
    run : Run
        The ranking. Its ranks are the positions of lines within their query, from 1; its scores are the negative ranks.

    Raises
    ------
    InputError
        The file cannot be read, a line is malformed, or a document occurs twice in a query.
    """
    try:
        qrels = Rows(name_of(given := source_of(source, text)), parts_of(given, QRELS, threads=threads)).qrels()
    except InputError as error:
        if error.what.endswith("not judgments"):
            raise InputError("this is a run, which has no judgments", file=error.file, line=error.line) from None
        raise
    ranks = ranks_of(qrels)
    columns = qrels.qids, qrels.offsets, qrels.docids, -ranks.astype(np.float64)
    return qrels, Run.from_columns(*columns, name=qrels.name, ranks=ranks)
