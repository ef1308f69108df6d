"""Open texts by name: files, folders, data sets of the libraries ``datasets`` and ``ir_datasets``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

from treceval_py.corpora.texts import ColumnTexts, IrTexts, JsonTexts, Kind, PlacedTexts, TabbedTexts, survey
from treceval_py.errors import InputError, RunnerError
from treceval_py.io.source import peek
from treceval_py.version import pip_install

DATASETS = "datasets:"
"""Prefix of a name or folder that the library ``datasets`` reads."""

IR_DATASETS = "ir_datasets:"
"""Prefix of a name in the package ``ir_datasets``."""

DOCUMENT_TEXTS = ("content", "text", "passage")
DOCUMENT_IDS = ("id", "docid", "_id", "pid", "doc_id")
QUERY_TEXTS = ("query", "text")
QUERY_IDS = ("query_id", "id", "_id", "qid")
"""Column names of data sets; the first one that exists is used."""

PORTION = 4096
"""Queries that are checked at a time."""

_PACKED = r"(?:\.(?:gz|bz2|xz|zst|zstd))?"

_IN_FOLDER = {"document": r"collection\.tsv|corpus\.jsonl", "query": r"queries\.(?:tsv|jsonl)"}
"""The file of texts in a folder given as corpus or as queries."""


def open_texts(name: str, kind: Kind, split: str | None = None) -> PlacedTexts:
    """Open a file, a folder or a data set of texts.

    Parameters
    ----------
    name : str
        A file of ``id<tab>text`` or of JSON Lines, a folder with one, a table (Parquet, CSV), ``ir_datasets:NAME``, or
        ``datasets:NAME``.
    kind : {"document", "query"}
        Documents or queries.
    split : str, optional
        The part of a data set.

    Raises
    ------
    InputError, RunnerError
        The texts cannot be opened, or the package that reads them is not installed.
    """
    if name.startswith(IR_DATASETS):
        data, texts = ir_dataset(name), "documents" if kind == "document" else "queries"
        if not (data.has_docs() if kind == "document" else data.has_queries()):
            raise InputError(f"the data set has no {texts}", f"Name one that has {texts}.", file=name)
        return IrTexts(data, name, kind)
    if os.path.isdir(name) and (files := matching(names_in(name), _IN_FOLDER[kind])):
        return open_texts(only(name, files, "texts"), kind)
    several = name.startswith(DATASETS) or os.path.isdir(name)
    if several or re.search(r"\.(?:parquet|csv)$", name):
        return columns(dataset(name, split if several and kind == "query" else None, kind), name, kind)
    return JsonTexts(name, kind) if _is_json(name) else TabbedTexts(name, kind)


def read_query_texts(name: str) -> dict[str, str]:
    """Read the texts of all queries, by their ids, from anything that `open_texts` opens.

    Raises
    ------
    InputError, RunnerError
        They cannot be opened, a line is malformed, or an id occurs twice.
    """
    texts = open_texts(name, "query")
    survey(texts, PORTION)
    return dict(texts)


def _is_json(path: str) -> bool:
    """Distinguish JSON from lines with tabs: by name or, if that is inconclusive, by the first byte."""
    known = re.search(r"\.(?:(tsv|txt)|jsonl?|ndjson)" + _PACKED + "$", path)
    if known is not None or not os.path.isfile(path):  # the reader refuses a missing file
        return known is not None and not known[1]
    head, _ = peek(path, 1 << 12)
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def ir_dataset(name: str) -> Any:
    """Return a data set of ``ir_datasets``; its contents are not loaded yet.

    Raises
    ------
    InputError, RunnerError
        There is no such data set, it cannot be loaded, or the package is not installed.
    """
    try:
        import ir_datasets  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise _not_installed("ir_datasets", name) from None
    try:
        return ir_datasets.load(name.removeprefix(IR_DATASETS))
    except KeyError:
        fault = "ir_datasets has no data set with this name"
        raise InputError(fault, "Its names are listed at https://ir-datasets.com.", file=name) from None
    except Exception as error:  # noqa: BLE001 - a download may fail in many ways, each with its own exception
        raise _unloadable(error, name) from None


def _not_installed(package: str, name: str) -> RunnerError:
    fault = f"the data set needs the package {package}, which is not installed"
    return RunnerError(fault, pip_install("retrieve"), file=name)


def _unloadable(error: Exception, name: str) -> InputError:
    reason = " ".join(str(error).strip().partition("\n")[0].split())[:200].rstrip(".") or type(error).__name__
    return InputError(f"the data set cannot be loaded: {reason}", "Check the name and the connection.", file=name)


# The library `datasets`.


def columns(data: Any, name: str, kind: Kind) -> ColumnTexts:
    """Return the texts in the columns of a data set loaded by `dataset`.

    Raises
    ------
    InputError
        The data set has no column of texts.
    """
    texts, ids = (DOCUMENT_TEXTS, DOCUMENT_IDS) if kind == "document" else (QUERY_TEXTS, QUERY_IDS)
    text = column_named(data, name, texts)
    identifier = next((column for column in ids if column in data.column_names), None)
    title = "title" if kind == "document" and text == "text" and "title" in data.column_names else None
    return ColumnTexts(data, name, kind, text=text, id=identifier, title=title)


def column_named(data: Any, name: str, wanted: Sequence[str]) -> str:
    """Return the first of the wanted columns that a data set has.

    Raises
    ------
    InputError
        The data set has none of them.
    """
    for column in wanted:
        if column in data.column_names:
            return column
    missing = " or ".join(f"'{column}'" for column in wanted)
    has = ", ".join(data.column_names)
    raise InputError(f"the data set has no column {missing} (it has {has})", "Rename the column.", file=name)


BUILDERS = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet", ".csv": "csv"}
"""The library's builder for a file, by the ending of its name."""


def dataset(name: str, split: str | None, kind: Kind) -> Any:
    """Load a split of a data set, from a folder or file if it exists, otherwise from the hub.

    Parameters
    ----------
    name : str
        Its name or path, with or without the prefix.
    split : str or None
        The split. Default: ``dev`` for queries and ``train`` for documents, or the only split of a folder.
    kind : {"document", "query"}
        Documents or queries.

    Returns
    -------
    datasets.Dataset
        The rows, at least one.

    Raises
    ------
    InputError, RunnerError
        The data set cannot be loaded, has no such split or no rows, or the package is not installed.
    """
    try:
        import datasets  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise _not_installed("datasets", name) from None
    place, default = name.removeprefix(DATASETS), "dev" if kind == "query" else "train"
    if not os.path.exists(place) and (not place or place.startswith((".", "~")) or os.path.isabs(place)):
        raise InputError("no such folder", "Check the name.", file=name)
    drawn = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        if os.path.exists(place):
            data = _local_dataset(datasets, place, name, split, default)
        else:
            data = datasets.load_dataset(place, split=split or default)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - from the hub, Arrow or the file system
        # The library's errors for a table without rows, saved or in a file.
        if not isinstance(error, (IndexError, StopIteration)) and "corresponds to no data" not in str(error):
            raise _unloadable(error, name) from None
        data = ()
    finally:
        if drawn:
            datasets.enable_progress_bars()
    if not data:
        raise InputError("the data set has no rows", "Name one that has rows, or another split.", file=name)
    return data


def _local_dataset(datasets: Any, place: str, name: str, split: str | None, default: str) -> Any:
    saved = any(os.path.exists(os.path.join(place, file)) for file in ("dataset_dict.json", "state.json"))
    splits = datasets.load_from_disk(place) if saved else _data_files(place, name)
    if saved and not isinstance(splits, datasets.DatasetDict):
        splits = {"": splits}
    if "" in splits and split is not None:
        raise no_splits(name)
    wanted = next(iter(splits)) if split is None and len(splits) == 1 else split or default
    if wanted not in splits:
        has = ", ".join(splits)
        raise InputError(f"the data set has no split {wanted!r} (it has {has})", "Name another split.", file=name)
    if saved:
        return splits[wanted]
    builder = BUILDERS[_stem(splits[wanted][0])[1]]
    return datasets.load_dataset(builder, data_files=splits[wanted], split="train")


def _stem(file: str) -> tuple[str, str]:
    """Split the path of a file into its stem and its ending, both without a compression suffix."""
    stem, ending = os.path.splitext(re.sub(_PACKED + "$", "", file))
    return stem, ending.lower()


def _data_files(place: str, name: str) -> dict[str, list[str]]:
    """Return data files by split: one file, or those in a folder or its subfolder ``data``, by the first words."""
    splits: dict[str, list[str]] = {}
    if not os.path.isdir(place):
        splits = {"": [place]} if _stem(place)[1] in BUILDERS else {}
    for within in (place, os.path.join(place, "data")):
        for file in names_in(within) if os.path.isdir(within) and not splits else []:
            stem, ending = _stem(file)
            if ending in BUILDERS:
                split = re.sub(r"-\d+-of-\d+(?:-[0-9a-f]+)?$", "", stem)
                splits.setdefault(split, []).append(os.path.join(within, file))
    if not splits:
        fault = f"there is neither a saved data set nor a data file ({', '.join(BUILDERS)})"
        raise InputError(fault, "Check the name.", file=name)
    return splits


def no_splits(name: str) -> InputError:
    """Return the error for a split of a source without splits."""
    return InputError("there are no splits to choose from", "Remove the split.", file=name)


def has_splits(name: str) -> bool:
    """Return whether the library ``datasets`` reads these queries; it refuses missing splits itself."""
    return name.startswith(DATASETS) or (os.path.isdir(name) and not matching(names_in(name), _IN_FOLDER["query"]))


# Folders.


def names_in(folder: str) -> list[str]:
    """Return the names in a folder, in order.

    Raises
    ------
    InputError
        The folder does not exist or cannot be read.
    """
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        todo = "Give a folder, or datasets:NAME or ir_datasets:NAME."
        raise InputError("no such folder", todo, file=folder) from None
    except OSError as error:
        fault = f"cannot be read as a folder: {error.strerror}"
        raise InputError(fault, "Give a folder that can be read.", file=folder) from None


def matching(files: Sequence[str], pattern: str) -> dict[str, str]:
    """Return the files whose names match a pattern, compressed or not, with their splits (the pattern's group)."""
    matches = [match for file in files if (match := re.fullmatch(pattern + _PACKED, file))]
    return {match[0]: dotted(match[1]) if match.re.groups else "" for match in matches}


def dotted(part: str) -> str:
    """Return a split as in MS MARCO's file names: ``dev.small`` for ``.dev.small``, ``dev/small``, ``-dev-small``."""
    return re.sub(r"[-._/]+", ".", part).strip(".")


def only(folder: str, files: Iterable[str], content: str) -> str:
    """Return the path of the only one of some files in a folder.

    Raises
    ------
    InputError
        There are several files.
    """
    there = list(files)
    if len(there) > 1:
        several = f"there are several files of {content}: {', '.join(there)}"
        raise InputError(several, "Choose one by its split, such as dev.small, or name the file.", file=folder)
    return os.path.join(folder, there[0])
