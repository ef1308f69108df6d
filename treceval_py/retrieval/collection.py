"""Collections: a corpus, queries and possibly judgments, in the layouts that people have.

A layout is a table of file names for corpus, queries and judgments. A name that the caller gives replaces the layout's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, NoReturn

from treceval_py.corpora import named
from treceval_py.corpora.named import DATASETS, IR_DATASETS, matching, names_in, open_texts
from treceval_py.corpora.texts import COLUMN_BATCH, Listed, PlacedTexts, Texts
from treceval_py.data.qrels import Qrels
from treceval_py.errors import InputError, RunnerError
from treceval_py.io.named import read_qrels

PROTOCOLS = {"full": 1000, "truncated": 10}
"""All of it, or the first queries over the passages that are relevant for some more of them; documents per query."""

TRUNCATED_QUERIES = 100
"""The queries of the truncated protocol."""

TRUNCATED_POOL = 5000
"""The queries whose relevant passages are the corpus of the truncated protocol."""

CORPUS_OF = {"namespace-Pt/msmarco": "namespace-Pt/msmarco-corpus"}
"""Data sets of queries and positives, and those with their corpus."""


class Collection(NamedTuple):
    """A corpus, queries and judgments.

    Attributes
    ----------
    name : str
        Its name in messages.
    corpus : Texts
        The documents.
    queries : Texts
        The queries.
    qrels : Qrels or None
        The judgments, if there are any.
    qrels_name : str or None
        Their file or data set.
    notes : tuple of str
        Notes about how it was made, a sentence each.
    copies : mapping of str to str
        For each relevant document whose text occurs earlier in the corpus, the first document with this text; known
        only if texts were judged, not ids.
    """

    name: str
    corpus: Texts
    queries: Texts
    qrels: Qrels | None
    qrels_name: str | None
    notes: tuple[str, ...]
    copies: Mapping[str, str] = {}

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the names of what it was read from: files or data sets."""
        return self.corpus.name, self.queries.name, self.qrels_name or ""


class Parts(NamedTuple):
    """The files or data sets of a collection; ``""`` if unknown.

    Attributes
    ----------
    corpus, queries : str
        Names for `open_texts`.
    qrels : str
        A name for `read_qrels`.
    chosen : bool
        Whether queries or judgments were chosen by the split.
    judged_only : bool
        Whether only judged queries count.
    """

    corpus: str
    queries: str
    qrels: str
    chosen: bool = False
    judged_only: bool = False


class Layout(NamedTuple):
    """Patterns of the names in a folder, compressed or not; a group is the split.

    Attributes
    ----------
    corpus, queries, qrels : str
        The patterns.
    folder : str
        Where the judgments are.
    split : str
        The default split of the judgments, if the queries are not divided into splits.
    """

    corpus: str
    queries: str
    qrels: str
    folder: str = ""
    split: str = ""


LAYOUTS = (
    Layout(r"collection\.tsv", r"queries(.*)\.tsv", r"qrels(.*)\.(?:tsv|txt)"),  # MS MARCO
    Layout(r"corpus\.jsonl", r"queries\.jsonl", r"(.+)\.tsv", "qrels", "test"),  # BEIR
    Layout(r"corpus\.jsonl", r"(.+)_queries\.jsonl", r"(.+)_qrels\.jsonl"),  # FlagEmbedding
)
"""The layouts that folders are compared with."""


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

    Texts are read later, except those that the choice of queries or corpus depends on.

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
        The split of queries and judgments, such as ``dev.small``. Default: the only one; ``test`` for BEIR, ``dev`` for
        ``datasets``.
    protocol : "full" or "truncated"
        Truncated: the first 100 queries, and a corpus of the documents that are relevant for the first 5,000. With
        ``datasets``, the corpus is the positives of these rows in their order, duplicates included.

    Returns
    -------
    Collection
        The collection.

    Raises
    ------
    InputError
        A part is missing, there are several and no split, a file cannot be read.
    RunnerError
        The protocol is unknown, or a package is not installed.
    """
    if protocol not in PROTOCOLS:
        raise RunnerError(f"unknown protocol {protocol!r}", f"There are {', '.join(PROTOCOLS)}.")
    given = Parts(corpus or "", queries or "", qrels or "")
    if source.startswith(DATASETS) and not given.queries:
        return _of_positives(source, given, split, protocol)
    parts = _parts(source, given, named.dotted(split or ""))
    if split is not None and not parts.chosen and not named.has_splits(parts.queries):
        raise named.no_splits(source or parts.queries)
    documents, topics = open_texts(parts.corpus, "document"), open_texts(parts.queries, "query", split)
    judgments = read_qrels(parts.qrels) if parts.qrels else None
    notes = list[str]()
    if judgments is not None and parts.judged_only:
        topics = _judged(topics, judgments, notes)
    if protocol == "truncated":
        documents, topics, judgments = _truncated(documents, topics, judgments, source, notes)
    return _collection(source or f"{documents.name}, {topics.name}", documents, topics, judgments, notes)


def _collection(
    name: str,
    corpus: PlacedTexts,
    queries: PlacedTexts,
    qrels: Qrels | None,
    notes: list[str],
    copies: Mapping[str, str] = {},
) -> Collection:
    """Combine the parts; omit judgments of other queries."""
    if qrels is not None and not any(qid in qrels for qid, _ in queries):
        notes.append(f"No query of {queries.name} is judged in {qrels.name}: the run will not be scored.")
        qrels = None
    return Collection(name, corpus, queries, qrels, None if qrels is None else qrels.name, tuple(notes), copies)


def _parts(source: str, given: Parts, split: str) -> Parts:
    """Return the names of the parts of a source, with the given ones in their places."""
    if source.startswith(IR_DATASETS):
        judged = given.qrels or (source if named.ir_dataset(source).has_qrels() else "")
        return Parts(given.corpus or source, given.queries or source, judged)
    if source and not source.startswith(DATASETS):
        return _parts_of_folder(source, given, split)
    if not given.corpus or not given.queries:
        missing = "without a folder both the corpus and the queries must be named"
        raise InputError(missing, f"Name the {'queries' if given.corpus else 'corpus'} too.")
    return given


# Folders.


def _parts_of_folder(folder: str, given: Parts, split: str) -> Parts:
    """Return the parts by the layout that has what was not given, and most of what was."""
    files = names_in(folder)

    def there(layout: Layout) -> int:
        corpus, queries = (bool(matching(files, pattern)) for pattern in (layout.corpus, layout.queries))
        return corpus + queries if (given.corpus or corpus) and (given.queries or queries) else 0

    layout = max(LAYOUTS, key=there)
    if there(layout):
        return _parts_of_layout(folder, files, layout, given, split)
    if given.corpus and given.queries:
        return given
    no_layout = (
        "the folder has neither MS MARCO's layout (collection.tsv, queries*.tsv) nor BEIR's (corpus.jsonl, "
        "queries.jsonl) nor FlagEmbedding's (corpus.jsonl, SPLIT_queries.jsonl)"
    )
    raise InputError(no_layout, "Name the corpus and the queries each.", file=folder)


def _parts_of_layout(folder: str, files: Sequence[str], layout: Layout, given: Parts, split: str) -> Parts:
    corpus = given.corpus or named.only(folder, matching(files, layout.corpus), "the corpus")
    queries, qrels = given.queries, given.qrels
    if not queries:
        query_files = matching(files, layout.queries)
        there = query_files if layout.split else _of_split(query_files, split) if split else query_files
        queries = named.only(folder, there or _none(folder, query_files, "queries", split), "queries")
        split = split or query_files[os.path.basename(queries)]
    if not qrels:
        wanted = split or layout.split
        within = os.path.join(folder, layout.folder) if layout.folder else folder
        judgment_files = matching(names_in(within) if os.path.isdir(within) else [], layout.qrels)
        # Those of the split, else those of no split, else the only ones for queries of no split.
        there = _of_split(judgment_files, wanted) or _of_split(judgment_files, "") or ({} if wanted else judgment_files)
        if there or (judgment_files and layout.split):
            qrels = named.only(within, there or _none(within, judgment_files, "judgments", wanted), "judgments")
    chosen = not (given.queries or layout.split) or qrels != given.qrels
    return Parts(corpus, queries, qrels, chosen, judged_only=bool(layout.split) and not given.queries)


def _of_split(splits: Mapping[str, str], split: str) -> dict[str, str]:
    return {file: own for file, own in splits.items() if own == split}


def _none(folder: str, splits: Mapping[str, str], kind: str, split: str) -> NoReturn:
    has = ", ".join(sorted(filter(None, set(splits.values())))) or "none with a split"
    missing = f"there are no {kind} of the split {split!r} (there are {has})"
    raise InputError(missing, "Name another split, or the file.", file=folder)


# Queries and their positives.


def _of_positives(source: str, given: Parts, split: str | None, protocol: str) -> Collection:
    """Open a data set of queries and positives."""
    data = named.dataset(source, split, "query")
    queries: PlacedTexts = named.columns(data, source, "query")
    notes = list[str]()
    if protocol == "truncated":
        if given.corpus:
            conflict = "the truncated protocol makes its corpus from the positives, and another one is given"
            raise InputError(conflict, "Leave out one of the two.", file=source)
        # The positives of the first rows in their order, with their positions as ids.
        pool = min(TRUNCATED_POOL, len(data))
        passages = [passage for row in islice(_positives(data, source), pool) for passage in row]
        corpus: PlacedTexts = Listed(source, "document", [(str(row), passage) for row, passage in enumerate(passages)])
        queries = Listed.first(queries, TRUNCATED_QUERIES)
        notes.append(_about_truncated(len(queries), len(passages), pool))
    else:
        known = CORPUS_OF.get(source.removeprefix(DATASETS))
        if not given.corpus and known is None:
            missing = "the data set has queries and positives, and the full protocol needs a corpus"
            raise InputError(missing, "Name it, or use the truncated protocol.", file=source)
        corpus = open_texts(given.corpus or f"{DATASETS}{known}", "document")
    if given.qrels:
        return _collection(source, corpus, queries, read_qrels(given.qrels), notes)
    qrels, copies = _relevant(data, queries, corpus, source, notes)
    return _collection(source, corpus, queries, qrels, notes, copies)


def _positives(data: Any, name: str) -> Iterator[list[str]]:
    """Yield the positives of each row."""
    column, row = named.column_named(data, name, ("positive",)), 0
    for batch in data.select_columns([column]).with_format("arrow").iter(COLUMN_BATCH):
        for passages in batch.column(column).to_pylist():
            row += 1
            if not isinstance(passages, list) or not all(isinstance(passage, str) for passage in passages):
                not_texts = f"the value of column '{column}' is not a list of texts (row {row:,})"
                raise InputError(not_texts, "Give each query its passages in a list.", file=name)
            yield passages


def _relevant(
    data: Any, queries: PlacedTexts, corpus: PlacedTexts, source: str, notes: list[str]
) -> tuple[Qrels | None, dict[str, str]]:
    """Judge documents with the text of a positive as relevant, in one pass over the corpus; return the copies, too.

    The queries are those of the first rows. Only the positives are held.
    """
    qids = [qid for qid, _ in queries]
    rows: dict[str, list[int]] = {}
    for row, passages in enumerate(islice(_positives(data, source), len(qids))):
        for passage in passages:
            rows.setdefault(passage, []).append(row)
    first, copies = dict[str, str](), dict[str, str]()
    relevant: list[dict[str, int]] = [{} for _ in qids]
    for docid, text in corpus:
        if text in rows:
            if first.setdefault(text, docid) != docid:
                copies[docid] = first[text]
            for row in rows[text]:
                relevant[row][docid] = 1
    if len(first) < len(rows):
        notes.append(f"{len(rows) - len(first):,} of {len(rows):,} positives are not in the corpus.")
    if copies:
        repeated = len(set(copies.values()))
        notes.append(f"{repeated:,} of {len(rows):,} positives occur again in the corpus (copies: {len(copies):,}).")
    judged = {qid: documents for qid, documents in zip(qids, relevant, strict=True) if documents}
    return _named(judged, f"positives of {source}") if judged else None, copies


def judge_texts(collection: Collection, run: Mapping[str, Mapping[str, float]]) -> Qrels:
    """Return judgments by which recall counts a text once and nDCG each of its copies, at level 2.

    Parameters
    ----------
    collection : Collection
        A collection with judgments.
    run : Run or mapping
        For each query its documents, in order.

    Returns
    -------
    Qrels
        Of the copies of a relevant text, the one that the run ranks first is judged 2, and the others 1.
    """
    assert collection.qrels is not None
    judged = {}
    for qid, relevant in collection.qrels.items():
        first: dict[str, str] = {}
        for docid in (*filter(relevant.__contains__, run.get(qid, ())), *relevant):
            first.setdefault(collection.copies.get(docid, docid), docid)
        judged[qid] = dict.fromkeys(relevant, 1) | dict.fromkeys(first.values(), 2)
    return _named(judged, collection.qrels.name)


def _named(judgments: Mapping[str, Mapping[str, int]], name: str) -> Qrels:
    qrels = Qrels(judgments)
    qrels.name = name
    return qrels


# Selections.


def _judged(queries: PlacedTexts, qrels: Qrels, notes: list[str]) -> Listed:
    """Return the queries that have judgments, as BEIR does, in the order of their file."""
    chosen = Listed.chosen(queries, qrels)
    if not len(chosen):
        raise InputError(f"no query is judged in {qrels.name}", "Do the two belong together?", file=queries.name)
    notes.append(f"Queries are the {len(chosen):,} of {queries.name} that {qrels.name} judges, as BEIR has it.")
    if len(chosen) < len(qrels):
        notes.append(f"{len(qrels) - len(chosen):,} judged queries are not in {queries.name}.")
    return chosen


def _truncated(
    corpus: PlacedTexts, queries: PlacedTexts, qrels: Qrels | None, source: str, notes: list[str]
) -> tuple[Listed, Listed, Qrels]:
    """Return the documents that are relevant for the first queries, the first of these, and their judgments."""
    if qrels is None:
        missing = "the truncated protocol takes its corpus from judgments, and there are none"
        raise InputError(missing, "Name the judgments, or use the full protocol.", file=source or queries.name)
    pool = Listed.first(queries, TRUNCATED_POOL)
    first = Listed.first(pool, TRUNCATED_QUERIES)
    judged = {qid: qrels[qid] for qid, _ in pool if qid in qrels}
    relevant = {docid for judgments in judged.values() for docid, judgment in judgments.items() if judgment > 0}
    documents = Listed.chosen(corpus, relevant)
    if not len(documents):
        empty = f"no document is relevant for the first {len(pool):,} queries, so the truncated protocol has no corpus"
        raise InputError(empty, "Do corpus, queries and judgments belong together?", file=corpus.name)
    notes.append(_about_truncated(len(first), len(documents), len(pool)))
    return documents, first, _named({qid: judged[qid] for qid, _ in first if qid in judged}, qrels.name)


def _about_truncated(queries: int, documents: int, pool: int) -> str:
    return (
        f"Truncated protocol: the first {queries:,} queries, and as corpus the {documents:,} passages that are "
        f"relevant for the first {pool:,}."
    )
