"""What a run is made from: a corpus, queries and, if there are any, judgments, found in the layouts that people have.

A layout is only a list of names: which file or data set has the corpus, which one the queries, which one the judgments
(`Parts`). A name that was given takes the place of the one that the layout has.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

from treceval_py.data.qrels import Qrels
from treceval_py.errors import InputError, RunnerError
from treceval_py.io.named import read_qrels
from treceval_py.io.source import peek
from treceval_py.io.texts import (
    COLUMN_BATCH,
    ColumnTexts,
    IrTexts,
    JsonTexts,
    Kind,
    Listed,
    Rows,
    TabbedTexts,
    Texts,
)
from treceval_py.retrieval.hub import INSTALL

__all__ = ["PROTOCOLS", "Collection", "open_collection", "open_texts"]

PROTOCOLS = ("full", "truncated")
"""All of it, or the first queries over the passages that are relevant for some more of them."""

TRUNCATED_QUERIES = 100
"""The queries of the truncated protocol."""

TRUNCATED_POOL = 5000
"""The queries whose relevant passages are the corpus of the truncated protocol."""

DATASETS = "datasets:"
"""What stands before a name or a folder that the library ``datasets`` reads."""

IR_DATASETS = "ir_datasets:"
"""What stands before a name of the package ``ir_datasets``."""

CORPUS_OF = {"namespace-Pt/msmarco": "namespace-Pt/msmarco-corpus"}
"""Data sets of queries and positives, and those with their corpus."""

DOCUMENT_TEXTS = ("content", "text", "passage")
DOCUMENT_IDS = ("id", "docid", "_id", "pid", "doc_id")
QUERY_TEXTS = ("query", "text")
QUERY_IDS = ("query_id", "id", "_id", "qid")
"""Columns of data sets; of several that are there, the first counts."""

_PACKED = r"(?:\.(?:gz|bz2|xz|zst|zstd))?"


class Collection(NamedTuple):
    """A corpus, queries and judgments.

    Attributes
    ----------
    name : str
        How messages call it.
    corpus : Texts
        The documents.
    queries : Texts
        The queries.
    qrels : Qrels or None
        The judgments, if there are any.
    qrels_name : str or None
        Where they come from.
    notes : tuple of str
        What people should know about how it was made, each a sentence.
    """

    name: str
    corpus: Texts
    queries: Texts
    qrels: Qrels | None
    qrels_name: str | None
    notes: tuple[str, ...]


class Given(NamedTuple):
    """The names that were given in place of those of a layout, and the split that was asked for."""

    corpus: str | None
    queries: str | None
    qrels: str | None
    split: str | None


class Parts(NamedTuple):
    """The files or data sets of a layout.

    Attributes
    ----------
    corpus, queries : str
        Names for `_texts`.
    qrels : str or None
        A name for `read_qrels`.
    judged_only : bool
        Whether only those queries count that have judgments.
    """

    corpus: str
    queries: str
    qrels: str | None
    judged_only: bool = False


def open_collection(
    source: str,
    *,
    corpus: str | None = None,
    queries: str | None = None,
    qrels: str | None = None,
    split: str | None = None,
    protocol: str = "full",
) -> Collection:
    """Find the corpus, the queries and the judgments of a collection.

    Texts are read later, but for what the queries or the corpus are chosen by.

    Parameters
    ----------
    source : str
        A folder in the layout of MS MARCO (``collection.tsv``, ``queries*.tsv``, ``qrels*.tsv`` or ``.txt``), of BEIR
        (``corpus.jsonl``, ``queries.jsonl``, ``qrels/SPLIT.tsv``) or of FlagEmbedding (``corpus.jsonl``,
        ``SPLIT_queries.jsonl``, ``SPLIT_qrels.jsonl``), each file plain or compressed; ``datasets:NAME_OR_FOLDER`` with
        the columns ``query`` and ``positive`` (a list of passages); ``ir_datasets:NAME``; or ``""`` where ``corpus``
        and ``queries`` are given.
    corpus, queries, qrels : str, optional
        A file, or a name with one of these prefixes, in place of the one that the source has.
    split : str, optional
        Which of several queries and judgments: ``dev.small``. By default the only one, ``test`` of BEIR, ``dev`` of
        ``datasets``.
    protocol : "full" or "truncated"
        Truncated: the first 100 queries, and a corpus of the documents that are relevant for the first 5,000. With
        ``datasets`` it is made of the positives of these rows as they stand, with those that come again.

    Returns
    -------
    Collection
        The collection.

    Raises
    ------
    InputError
        A part is missing, there are several and no split, a file cannot be read.
    RunnerError
        There is no such protocol, a package is not installed.
    """
    if protocol not in PROTOCOLS:
        raise RunnerError(f"unknown protocol {protocol!r}", f"There are {', '.join(PROTOCOLS)}.")
    given = Given(corpus, queries, qrels, split)
    _check_source(source, given)
    if source.startswith(DATASETS) and queries is None:
        return _of_positives(source, given, protocol)
    parts = _parts(source, given)
    _check_split(source, given, parts)
    documents, topics = open_texts(parts.corpus, "document"), open_texts(parts.queries, "query", split)
    judgments = None if parts.qrels is None else read_qrels(parts.qrels)
    notes = list[str]()
    if judgments is not None and parts.judged_only:
        topics = _judged(topics, judgments, notes)
    if protocol == "truncated":
        documents, topics, judgments = _truncated(documents, topics, judgments, source, notes)
    name = source or f"{documents.name}, {topics.name}"
    return _collection(name, documents, topics, judgments, parts.qrels, notes)


def _check_source(source: str, given: Given) -> None:
    """Refuse a source that is not there, though nothing of it may be used."""
    if not source:
        missing = [name for name, each in (("corpus", given.corpus), ("queries", given.queries)) if each is None]
        if len(missing) == 1:
            there = "queries" if missing == ["corpus"] else "corpus"
            what = f"without a folder the corpus and the queries are named each, and only the {there} is"
            raise InputError(what, f"Name the {missing[0]} too.")
    elif not source.startswith((DATASETS, IR_DATASETS)) and not os.path.exists(source):
        raise InputError("no such folder", "Give a folder, or datasets:NAME or ir_datasets:NAME.", file=source)


def _check_split(source: str, given: Given, parts: Parts) -> None:
    """Refuse a split that nothing is chosen by."""
    if given.split is None or _has_splits(parts.queries):
        return
    # Of BEIR's layout the split chooses the judgments, and of the others the queries too.
    of_queries = given.queries is None and not parts.judged_only
    of_judgments = given.qrels is None and parts.qrels is not None
    if source and not source.startswith((DATASETS, IR_DATASETS)) and (of_queries or of_judgments):
        return
    raise _no_splits(source or parts.queries)


def _has_splits(queries: str) -> bool:
    """Tell whether queries are of the library ``datasets``, which refuses the splits that it lacks."""
    if queries.startswith(DATASETS):
        return True
    return os.path.isdir(queries) and not _matching(_listed(queries), r"queries\.(?:tsv|jsonl)")


def _no_splits(name: str) -> InputError:
    return InputError("there are no splits to choose from", "Leave the split out.", file=name)


def _no_rows(name: str) -> InputError:
    return InputError("the data set has no rows", "Name one that has, or another split.", file=name)


def _listed(folder: str) -> list[str]:
    """Return the names in a folder, in order."""
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        what = f"cannot be read as a folder: {error.strerror}"
        raise InputError(what, "Check its permissions.", file=folder) from None


def _collection(
    name: str, corpus: Rows, queries: Rows, qrels: Qrels | None, qrels_name: str | None, notes: list[str]
) -> Collection:
    """Put the parts together, without judgments that are of other queries."""
    if qrels is not None and not any(qid in qrels for qid, _ in queries):
        notes.append(f"No query of {queries.name} is judged in {qrels_name}: the run will not be scored.")
        qrels = None
    return Collection(name, corpus, queries, qrels, None if qrels is None else qrels_name, tuple(notes))


def _parts(source: str, given: Given) -> Parts:
    """Return the names of the parts of a source, with the given ones in their places."""
    if given.corpus is not None and given.queries is not None and (given.qrels is not None or not source):
        return Parts(given.corpus, given.queries, given.qrels)
    if source.startswith(IR_DATASETS):
        judged = given.qrels or (source if _ir_dataset(source).has_qrels() else None)
        return Parts(given.corpus or source, given.queries or source, judged)
    if source.startswith(DATASETS):
        if given.corpus is None:
            raise _no_corpus(source)
        return Parts(given.corpus, given.queries or source, given.qrels)
    return _parts_of_folder(source, given)


# Folders.


def _parts_of_folder(folder: str, given: Given) -> Parts:
    try:
        files = sorted(os.listdir(folder))
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        what = "no such folder" if missing else f"cannot be read as a folder: {error.strerror}"
        todo = "Give a folder, or datasets:NAME or ir_datasets:NAME."
        raise InputError(what, todo, file=folder or "''") from None
    if _matching(files, r"collection\.tsv"):
        return _parts_of_msmarco(folder, files, given)
    if _matching(files, r"corpus\.jsonl"):
        if _matching(files, r"queries\.jsonl"):
            return _parts_of_beir(folder, files, given)
        if _matching(files, r"(.+)_queries\.jsonl"):
            return _parts_of_flagembedding(folder, files, given)
    for layout, pattern in ((_parts_of_msmarco, r"queries.*\.tsv"), (_parts_of_beir, r"queries\.jsonl")):
        if given.corpus is not None and _matching(files, pattern):
            return layout(folder, files, given)
    if given.queries is not None and _matching(files, r"corpus\.jsonl"):
        return _parts_of_beir(folder, files, given)
    if given.corpus is not None and given.queries is not None:
        return Parts(given.corpus, given.queries, given.qrels)
    what = (
        "the folder has neither MS MARCO's layout (collection.tsv, queries*.tsv) nor BEIR's (corpus.jsonl, "
        "queries.jsonl) nor FlagEmbedding's (corpus.jsonl, SPLIT_queries.jsonl)"
    )
    raise InputError(what, "Name the corpus and the queries each.", file=folder)


def _matching(files: Sequence[str], pattern: str) -> dict[str, str]:
    """Return the files whose names match, compressed or not, with what stands in the group of the pattern."""
    found = {file: re.fullmatch(pattern + _PACKED, file) for file in files}
    return {file: match[1] if match.re.groups else "" for file, match in found.items() if match}


def _only(folder: str, found: Iterable[str], wanted: str) -> str:
    """Return the path of the one file that was found."""
    files = list(found)
    if not files:
        raise InputError(f"there is no {wanted} in the folder", "Name the file.", file=folder)
    if len(files) > 1:
        raise InputError(f"there are several: {', '.join(files)}", "Name the file.", file=folder)
    return os.path.join(folder, files[0])


def _of_split(folder: str, found: Mapping[str, str], split: str, wanted: str) -> str:
    """Return the path of the file of a split; ``found`` are the splits of files."""
    there = [file for file, each in found.items() if each == split]
    if there:
        return _only(folder, there, wanted)
    has = ", ".join(sorted(filter(None, set(found.values())))) or "none with a split"
    what = f"there are no {wanted} of the split {split!r} (there are {has})"
    raise InputError(what, "Name another split, or the file.", file=folder)


def _parts_of_msmarco(folder: str, files: Sequence[str], given: Given) -> Parts:
    corpus = given.corpus or _only(folder, _matching(files, r"collection\.tsv"), "collection.tsv")
    queries, split = given.queries, _dotted(given.split or "")
    if queries is None:
        found = {file: _dotted(part) for file, part in _matching(files, r"queries(.*)\.tsv").items()}
        queries, split = _queries_of_split(folder, found, split, "Choose one with the split, as in dev.small.")
    qrels = given.qrels
    if qrels is None:
        judged = {file: _dotted(part) for file, part in _matching(files, r"qrels(.*)\.(?:tsv|txt)").items()}
        qrels = _qrels_of_split(folder, judged, split, named=given.split is not None)
    return Parts(corpus, queries, qrels)


def _dotted(part: str) -> str:
    """Return a split as MS MARCO's files write it: ``dev.small`` for ``.dev.small``, ``dev/small``, ``-dev-small``."""
    return re.sub(r"[-._/]+", ".", part).strip(".")


def _queries_of_split(folder: str, found: Mapping[str, str], split: str, todo: str) -> tuple[str, str]:
    """Return the path of the queries, and their split."""
    if split:
        return _of_split(folder, found, split, "queries"), split
    if len(found) > 1:
        what = f"there are queries of several splits: {', '.join(found)}"
        raise InputError(what, todo, file=folder)
    path = _only(folder, found, "file of queries")
    return path, found[os.path.basename(path)]


def _qrels_of_split(folder: str, found: Mapping[str, str], split: str, *, named: bool) -> str | None:
    """Return the path of the judgments: those of the split, of none, or, where no split was named, the only ones."""
    for wanted in (split, ""):
        there = [file for file, each in found.items() if each == wanted]
        if there:
            return _only(folder, there, "judgments")
    if named or not found:
        return None
    if len(found) > 1:
        what = f"there are judgments of several splits: {', '.join(found)}"
        raise InputError(what, "Choose one with the split, or name the file.", file=folder)
    return os.path.join(folder, next(iter(found)))


def _parts_of_beir(folder: str, files: Sequence[str], given: Given) -> Parts:
    corpus = given.corpus or _only(folder, _matching(files, r"corpus\.jsonl"), "corpus.jsonl")
    queries = given.queries or _only(folder, _matching(files, r"queries\.jsonl"), "queries.jsonl")
    qrels, within = given.qrels, os.path.join(folder, "qrels")
    if qrels is None and (os.path.isdir(within) or given.split is not None):
        found = _matching(_listed(within) if os.path.isdir(within) else [], r"(.+)\.tsv")
        qrels = _of_split(within, found, given.split or "test", "judgments")
    return Parts(corpus, queries, qrels, judged_only=given.queries is None)


def _parts_of_flagembedding(folder: str, files: Sequence[str], given: Given) -> Parts:
    corpus = given.corpus or _only(folder, _matching(files, r"corpus\.jsonl"), "corpus.jsonl")
    queries, split = given.queries, given.split or ""
    if queries is None:
        found = _matching(files, r"(.+)_queries\.jsonl")
        queries, split = _queries_of_split(folder, found, split, "Choose one with the split, as in dev.")
    judged = _matching(files, r"(.+)_qrels\.jsonl")
    qrels = given.qrels or _qrels_of_split(folder, judged, split, named=True)
    return Parts(corpus, queries, qrels)


# Texts by name.


def open_texts(name: str, kind: Kind, split: str | None = None) -> Rows:
    """Open a file, a folder or a data set of texts.

    Parameters
    ----------
    name : str
        A file of ``id<tab>text`` or of JSON Lines, a folder with one, a table (Parquet, CSV), ``ir_datasets:NAME``, or
        ``datasets:NAME``.
    kind : {"document", "query"}
        What its texts are.
    split : str, optional
        The part of a data set.

    Raises
    ------
    InputError, RunnerError
        It cannot be opened, or the package that reads it is not installed.
    """
    if name.startswith(IR_DATASETS):
        return _ir_texts(name, kind)
    if name.startswith(DATASETS):
        return _column_texts(name, kind, split)
    if os.path.isdir(name):
        pattern = r"collection\.tsv|corpus\.jsonl" if kind == "document" else r"queries\.(?:tsv|jsonl)"
        found = _matching(_listed(name), f"(?:{pattern})")
        return open_texts(_only(name, found, ""), kind) if found else _column_texts(name, kind, split)
    if re.search(r"\.(?:parquet|csv)$", name):
        return _column_texts(name, kind, None)
    return JsonTexts(name, kind) if _is_json(name) else TabbedTexts(name, kind)


def _is_json(path: str) -> bool:
    """Tell JSON from lines with tabs: by the name, or, where it does not say, by the first byte."""
    if re.search(r"\.(?:tsv|txt)" + _PACKED + "$", path):
        return False
    if re.search(r"\.(?:jsonl?|ndjson)" + _PACKED + "$", path):
        return True
    if not os.path.isfile(path):
        return False  # what is no file is refused by whatever opens it
    head, _ = peek(path, 1 << 12)
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def _ir_dataset(name: str) -> Any:
    """Return a data set of ``ir_datasets``, of which nothing is loaded yet."""
    try:
        import ir_datasets  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise _not_installed("ir_datasets", name) from None
    try:
        return ir_datasets.load(name.removeprefix(IR_DATASETS))
    except KeyError:
        what = "ir_datasets knows no data set of this name"
        raise InputError(what, "Its names are listed at https://ir-datasets.com.", file=name) from None
    except Exception as error:  # noqa: BLE001 - anything may go wrong in a download, and each has its own exception
        raise _unloadable(error, name) from None


def _not_installed(package: str, name: str) -> RunnerError:
    what = f"the data set needs the package {package}, which is not installed"
    return RunnerError(what, INSTALL, file=name)


def _unloadable(error: Exception, name: str) -> InputError:
    lines = [" ".join(line.split()) for line in str(error).splitlines() if line.strip()]
    reason = lines[0][:200].rstrip(".") if lines else type(error).__name__
    return InputError(f"the data set cannot be loaded: {reason}", "Check the name and the connection.", file=name)


def _ir_texts(name: str, kind: Kind) -> IrTexts:
    data = _ir_dataset(name)
    if not (data.has_docs() if kind == "document" else data.has_queries()):
        what = "documents" if kind == "document" else "queries"
        raise InputError(f"the data set has no {what}", f"Name one that has, for the {what}.", file=name)
    return IrTexts(data, name, kind)


# The library `datasets`.


def _column_texts(name: str, kind: Kind, split: str | None) -> ColumnTexts:
    data = _dataset(name, split if kind == "query" else None, "dev" if kind == "query" else "train")
    return _columns(data, name, kind)


def _columns(data: Any, name: str, kind: Kind) -> ColumnTexts:
    if not len(data):
        raise _no_rows(name)
    texts, ids = (DOCUMENT_TEXTS, DOCUMENT_IDS) if kind == "document" else (QUERY_TEXTS, QUERY_IDS)
    text = _column(data, name, texts)
    identifier = next((column for column in ids if column in data.column_names), None)
    title = "title" if kind == "document" and text == "text" and "title" in data.column_names else None
    return ColumnTexts(data, name, kind, text=text, id=identifier, title=title)


def _column(data: Any, name: str, wanted: Sequence[str]) -> str:
    """Return the first of some columns that a data set has."""
    for column in wanted:
        if column in data.column_names:
            return column
    missing = " or ".join(f"'{column}'" for column in wanted)
    has = ", ".join(data.column_names)
    raise InputError(f"the data set has no column {missing} (it has {has})", "Rename the column.", file=name)


def _dataset(name: str, split: str | None, default: str) -> Any:
    """Load a split of a data set: of a folder or a file that is there, otherwise of the hub.

    Parameters
    ----------
    name : str
        The name or the path, with or without its prefix.
    split : str or None
        The split that was asked for.
    default : str
        The one otherwise. A folder that has only one needs none.
    """
    try:
        import datasets  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise _not_installed("datasets", name) from None
    place = name.removeprefix(DATASETS)
    if not os.path.exists(place) and (not place or place.startswith((".", "~")) or os.path.isabs(place)):
        raise InputError("no such folder", "Check the name.", file=name)
    with _quiet(datasets):
        try:
            if os.path.exists(place):
                return _local_dataset(datasets, place, name, split, default)
            return datasets.load_dataset(place, split=split or default)
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001 - of the hub, of Arrow, of the file system
            raise _unloadable(error, name) from None


@contextmanager
def _quiet(datasets: Any) -> Iterator[None]:
    """Keep the library from drawing progress bars."""
    disabled = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if not disabled:
            datasets.enable_progress_bars()


BUILDERS = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet", ".csv": "csv"}
"""Which builder of the library reads a file, by how its name ends."""


def _local_dataset(datasets: Any, place: str, name: str, split: str | None, default: str) -> Any:
    if os.path.isdir(place) and any(
        os.path.exists(os.path.join(place, file)) for file in ("dataset_dict.json", "state.json")
    ):
        try:
            saved = datasets.load_from_disk(place)
        except IndexError:  # a table without rows is saved without a file, and the library looks at the first one
            raise _no_rows(name) from None
        if isinstance(saved, datasets.DatasetDict):
            return saved[_chosen(list(saved), name, split, default)]
        if split is not None:
            raise _no_splits(name)
        return saved
    files = _data_files(place) if os.path.isdir(place) else {"": [place]}
    if not files:
        endings = ", ".join(BUILDERS)
        what = f"the folder has no data set that was saved, and no files of data ({endings})"
        raise InputError(what, "Check the name.", file=name)
    if list(files) == [""] and split is not None:
        raise _no_splits(name)
    chosen = files[""] if list(files) == [""] else files[_chosen(list(files), name, split, default)]
    builders = {BUILDERS.get(_ending(file), "") for file in chosen}
    if len(builders) > 1 or "" in builders:
        what = f"files of several kinds or of an unknown one: {', '.join(map(os.path.basename, chosen))}"
        raise InputError(what, f"Give files of one kind ({', '.join(BUILDERS)}).", file=name)
    try:
        return datasets.load_dataset(builders.pop(), data_files=chosen, split="train")
    except (StopIteration, ValueError) as error:  # of an empty file, and of a table without rows
        if isinstance(error, StopIteration) or "corresponds to no data" in str(error):
            raise _no_rows(name) from None
        raise


def _ending(file: str) -> str:
    return os.path.splitext(re.sub(_PACKED + "$", "", file))[1].lower()


def _data_files(folder: str) -> dict[str, list[str]]:
    """Return the files of data in a folder, or in its folder ``data``, by split: the name without the number."""
    found: dict[str, list[str]] = {}
    for within in (folder, os.path.join(folder, "data")):
        for file in _listed(within) if os.path.isdir(within) and not found else []:
            if _ending(file) in BUILDERS:
                stem = os.path.splitext(re.sub(_PACKED + "$", "", file))[0]
                split = re.sub(r"-\d+-of-\d+(?:-[0-9a-f]+)?$", "", stem)
                found.setdefault(split, []).append(os.path.join(within, file))
    return found


def _chosen(splits: Sequence[str], name: str, split: str | None, default: str) -> str:
    """Return the split to use: the one that was asked for, the default, or the only one."""
    wanted = split or default
    if wanted in splits:
        return wanted
    if split is None and len(splits) == 1:
        return splits[0]
    has = ", ".join(splits)
    raise InputError(f"the data set has no split {wanted!r} (it has {has})", "Name another split.", file=name)


def _no_corpus(name: str) -> InputError:
    what = "the data set has queries and positives, and the full protocol needs a corpus"
    return InputError(what, "Name it, or use the truncated protocol.", file=name)


# Queries and their positives.


def _of_positives(source: str, given: Given, protocol: str) -> Collection:
    """Open a data set of queries and positives."""
    data = _dataset(source, given.split, "dev")
    queries: Rows = _columns(data, source, "query")
    notes = list[str]()
    if protocol == "truncated":
        corpus, queries = _truncated_positives(data, queries, source, given, notes)
    else:
        corpus = _corpus_of(source, given)
    if given.qrels is not None:
        return _collection(source, corpus, queries, read_qrels(given.qrels), given.qrels, notes)
    qrels = _relevant(data, queries, corpus, source, notes)
    return _collection(source, corpus, queries, qrels, None if qrels is None else qrels.name, notes)


def _truncated_positives(data: Any, queries: Rows, source: str, given: Given, notes: list[str]) -> tuple[Rows, Rows]:
    """Return the positives of the first rows as they stand, with their positions as ids, and the first queries."""
    if given.corpus is not None:
        what = "the truncated protocol makes its corpus from the positives, and another one is given"
        raise InputError(what, "Leave out one of the two.", file=source)
    pool = min(TRUNCATED_POOL, len(data))
    passages = [passage for row in islice(_positives(data, source), pool) for passage in row]
    first = Listed.first(queries, TRUNCATED_QUERIES)
    notes.append(_about_truncated(len(first), len(passages), pool))
    return Listed(source, "document", [(str(row), passage) for row, passage in enumerate(passages)]), first


def _corpus_of(source: str, given: Given) -> Rows:
    if given.corpus is not None:
        return open_texts(given.corpus, "document")
    known = CORPUS_OF.get(source.removeprefix(DATASETS))
    if known is None:
        raise _no_corpus(source)
    return open_texts(DATASETS + known, "document")


def _positives(data: Any, name: str) -> Iterator[list[str]]:
    """Yield the positives of each row."""
    column, row = _column(data, name, ("positive",)), 0
    for batch in data.select_columns([column]).with_format("arrow").iter(COLUMN_BATCH):
        for passages in batch.column(column).to_pylist():
            row += 1
            if not isinstance(passages, list) or not all(isinstance(passage, str) for passage in passages):
                what = f"the value of column '{column}' is no list of texts (row {row:,})"
                raise InputError(what, "Give each query its passages in a list.", file=name)
            yield passages


def _relevant(data: Any, queries: Rows, corpus: Rows, source: str, notes: list[str]) -> Qrels | None:
    """Judge relevant what has the text of a positive, in one pass over the corpus.

    The queries are those of the first rows. Only the positives are held.
    """
    qids = [qid for qid, _ in queries]
    rows: dict[str, list[int]] = {}
    for row, passages in enumerate(islice(_positives(data, source), len(qids))):
        for passage in passages:
            rows.setdefault(passage, []).append(row)
    found: list[dict[str, int]] = [{} for _ in qids]
    missing = set(rows)
    for docid, text in corpus:
        if text in rows:
            missing.discard(text)
            for row in rows[text]:
                found[row][docid] = 1
    if missing:
        notes.append(f"{len(missing):,} of {len(rows):,} positives are not in the corpus.")
    judged = {qid: documents for qid, documents in zip(qids, found, strict=True) if documents}
    return _named(judged, f"positives of {source}") if judged else None


def _named(judgments: Mapping[str, Mapping[str, int]], name: str) -> Qrels:
    qrels = Qrels(judgments)
    qrels.name = name
    return qrels


# Selections.


def _judged(queries: Rows, qrels: Qrels, notes: list[str]) -> Listed:
    """Return the queries that have judgments, as BEIR does, in the order of their file."""
    chosen = Listed.chosen(queries, qrels)
    if not len(chosen):
        raise InputError(f"no query is judged in {qrels.name}", "Do the two belong together?", file=queries.name)
    notes.append(f"Queries are the {len(chosen):,} of {queries.name} that {qrels.name} judges, as BEIR has it.")
    if len(chosen) < len(qrels):
        notes.append(f"{len(qrels) - len(chosen):,} judged queries are not in {queries.name}.")
    return chosen


def _truncated(
    corpus: Rows, queries: Rows, qrels: Qrels | None, source: str, notes: list[str]
) -> tuple[Listed, Listed, Qrels]:
    """Return the documents that are relevant for the first queries, the first of these, and their judgments."""
    if qrels is None:
        what = "the truncated protocol takes its corpus from judgments, and there are none"
        raise InputError(what, "Name the judgments, or use the full protocol.", file=source or queries.name)
    pool = Listed.first(queries, TRUNCATED_POOL)
    first = Listed.first(pool, TRUNCATED_QUERIES)
    relevant = {
        docid for qid, _ in pool if qid in qrels for docid, judgment in qrels[qid].items() if judgment > 0
    }  # fmt: skip
    documents = Listed.chosen(corpus, relevant)
    if not len(documents):
        what = f"no document is relevant for the first {len(pool):,} queries, so the truncated protocol has no corpus"
        raise InputError(what, "Do corpus, queries and judgments belong together?", file=corpus.name)
    notes.append(_about_truncated(len(first), len(documents), len(pool)))
    return documents, first, _named({qid: qrels[qid] for qid, _ in first if qid in qrels}, qrels.name)


def _about_truncated(queries: int, documents: int, pool: int) -> str:
    return (
        f"Truncated protocol: the first {queries:,} queries, and as corpus the {documents:,} passages that are "
        f"relevant for the first {pool:,}."
    )
