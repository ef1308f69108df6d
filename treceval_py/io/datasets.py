"""Judgments of the data sets that the package ``ir_datasets`` knows."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from treceval_py._types import Source
from treceval_py.data.ids import Ids, encode, quoted
from treceval_py.data.qrels import Qrels
from treceval_py.errors import InputError
from treceval_py.io.records import Records, encoded

__all__ = ["PREFIX", "read_dataset"]

PREFIX = "ir_datasets:"
"""Prefix of the name of a data set that is given in place of a file."""


def read_dataset(source: Source) -> Qrels:
    """Read the judgments of a data set, ``ir_datasets:NAME``; the package may download it.

    Raises
    ------
    InputError
        The package is not installed, knows no such data set or cannot load it, or it has no relevance judgments.
    """
    given = os.fspath(source) if isinstance(source, (str, os.PathLike)) else ""
    dataset = given.removeprefix(PREFIX)
    name = PREFIX + dataset
    if not dataset:
        raise InputError("no data set is named", "Give its name, as in ir_datasets:vaswani.", file=name)
    try:
        import ir_datasets  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        what = "data sets need the package ir_datasets, which is not installed"
        raise InputError(what, "pip install 'treceval-py[datasets]'", file=name) from None
    try:
        found = ir_datasets.load(dataset)
    except KeyError:
        what = "ir_datasets knows no data set of this name"
        raise InputError(what, "Its names are listed at https://ir-datasets.com.", file=name) from None
    except Exception as error:  # noqa: BLE001 - anything may go wrong in a download, and each has its own exception
        raise _unloadable(error, name) from None
    if not found.has_qrels():
        raise InputError("the data set has no judgments", "Name one that has, such as a part of it.", file=name)
    try:
        rows = [(row.query_id, row.doc_id, row.relevance) for row in found.qrels_iter()]
    except AttributeError:
        what = "the judgments of the data set are not relevance judgments"
        raise InputError(what, "Write them to a file and name its format.", file=name) from None
    except Exception as error:  # noqa: BLE001 - as above
        raise _unloadable(error, name) from None
    return _qrels(rows, name)


def _unloadable(error: Exception, name: str) -> InputError:
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return InputError(f"the data set cannot be loaded: {reason}", "Check the connection and try again.", file=name)


def _qrels(rows: list[tuple[Any, Any, Any]], name: str) -> Qrels:
    if not rows:
        raise InputError("the data set has no judgments", "Name one that has, such as a part of it.", file=name)
    numbers: dict[str, int] = {}
    for qid, docid, _ in rows:
        if not (isinstance(qid, str) and isinstance(docid, str)):
            what = f"the ids of the data set are not text ({qid!r}, {docid!r})"
            raise InputError(what, "Write the judgments to a file.", file=name)
        numbers.setdefault(qid, len(numbers))
    records = Records(
        list(numbers),
        np.array([numbers[qid] for qid, _, _ in rows], dtype=np.int64),
        np.arange(len(rows) + 1),
        Ids.from_bytes(encoded([docid for _, docid, _ in rows], name)),
        name,
    )
    for row, (_, _, rel) in enumerate(rows):
        if isinstance(rel, bool) or not isinstance(rel, (int, np.integer)):
            raise records.error(row, "judgment", f"is {quoted(encode(str(rel)))}, which is not a whole number", "")
        if not -(2**63) <= rel < 2**63:
            raise records.error(row, "judgment", "is beyond 64 bits", "")
    return records.qrels(np.array([rel for _, _, rel in rows], dtype=np.int64))
