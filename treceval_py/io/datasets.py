"""Judgments of data sets in the package ``ir_datasets``."""

from __future__ import annotations

import os

from treceval_py._types import Source
from treceval_py.data.objects import columns_of
from treceval_py.data.qrels import Qrels
from treceval_py.errors import DataError, InputError
from treceval_py.io.formats import DATASET
from treceval_py.version import pip_install


def read_dataset(source: Source) -> Qrels:
    """Read the judgments of a data set, ``ir_datasets:NAME``; the package may download it.

    Raises
    ------
    InputError
        The package is not installed, lacks or cannot load the data set, or the data set has no relevance judgments.
    """
    given = os.fspath(source) if isinstance(source, (str, os.PathLike)) else ""
    dataset = given.removeprefix(DATASET)
    name = DATASET + dataset
    if not dataset:
        raise InputError("no data set is named", "Give its name, such as ir_datasets:vaswani.", file=name)
    try:
        import ir_datasets  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        problem = "data sets need the package ir_datasets, which is not installed"
        raise InputError(problem, pip_install("datasets"), file=name) from None
    try:
        loaded = ir_datasets.load(dataset)
    except KeyError:
        problem = "ir_datasets has no data set with this name"
        raise InputError(problem, "Its names are listed at https://ir-datasets.com.", file=name) from None
    except Exception as error:  # noqa: BLE001 - a download may fail in many ways, each with its own exception
        raise _unloadable(error, name) from None
    try:
        rows = list(loaded.qrels_iter()) if loaded.has_qrels() else []
    except Exception as error:  # noqa: BLE001 - as above
        raise _unloadable(error, name) from None
    if not rows:
        raise InputError("the data set has no judgments", "Name one that has some, such as a part of it.", file=name)
    try:
        columns = columns_of(rows, "judgments")
    except DataError as error:
        raise InputError(error.what, error.todo, file=name) from None
    return Qrels.from_columns(*columns[:4], name=name)


def _unloadable(error: Exception, name: str) -> InputError:
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return InputError(f"the data set cannot be loaded: {reason}", "Check the connection and try again.", file=name)
