"""Collections: a corpus, queries and possibly judgments, in the layouts that people have.

A layout is a table of file names for corpus, queries and judgments. A name that the caller gives replaces the layout's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

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
    notes: tuple[str, ...] = ()
    copies: Mapping[str, str] = {}

    @property
    def qrels_name(self) -> str | None:
        """Return the file or data set of the judgments."""
        return None if self.qrels is None else self.qrels.name

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


LAYOUTS = (
    (r"collection\.tsv", r"queries(.*)\.tsv", r"qrels(.*)\.(?:tsv|txt)", ""),  # MS MARCO
    (r"corpus\.jsonl", r"queries\.jsonl", r"qrels/(.+)\.tsv", "test"),  # BEIR
    (r"corpus\.jsonl", r"(.+)_queries\.jsonl", r"(.+)_qrels\.jsonl", ""),  # FlagEmbedding
)
"""What folders are compared with: patterns of the names of corpus, queries and judgments, compressed or not, of which a
group is the split; and the default split of the judgments where queries are not divided into splits."""

TRUNCATED = (
    "Truncated protocol: the first {:,} queries, and as corpus the {:,} passages that are relevant for the first {:,}."
)
"""The note on the truncated protocol."""


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
    of_positives = source.startswith(DATASETS) and not given.queries
    made = (_of_positives if of_positives else _of_parts)(source, given, split, protocol)
    if made.qrels is None or any(qid in made.qrels for qid, _ in made.queries):
        return made
    unscored = f"No query of {made.queries.name} is judged in {made.qrels_name}: the run will not be scored."
    return made._replace(qrels=None, notes=(*made.notes, unscored))


def _of_parts(source: str, given: Parts, split: str | None, protocol: str) -> Collection:
    """Open a corpus, queries and judgments that are apart."""
    parts = _parts(source, given, named.dotted(split or ""))
    if split is not None and not parts.chosen and not named.has_splits(parts.queries):
        raise named.no_splits(source or parts.queries)
    corpus, queries = open_texts(parts.corpus, "document"), open_texts(parts.queries, "query", split)
    qrels = read_qrels(parts.qrels) if parts.qrels else None
    made = Collection(source or f"{corpus.name}, {queries.name}", corpus, queries, qrels)
    if qrels is not None and parts.judged_only:
        queries = Listed.chosen(queries, qrels)
        made = made._replace(queries=queries, notes=_about_judged(queries, qrels))
    return _truncated(made, corpus, queries) if protocol == "truncated" else made


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


def _parts_of_folder(folder: str, given: Parts, split: str) -> Parts:
    """Return the parts by the layout that has most of them."""
    files = names_in(folder)
    if os.path.isdir(os.path.join(folder, "qrels")):
        files += [f"qrels/{name}" for name in names_in(os.path.join(folder, "qrels"))]
    layouts = [([matching(files, pattern) for pattern in patterns], default) for *patterns, default in LAYOUTS]
    (corpora, queries, qrels), default = max(layouts, key=lambda layout: sum(map(bool, layout[0])))
    if not (given.corpus or corpora) or not (given.queries or queries):
        no_layout = (
            "the folder has neither MS MARCO's layout (collection.tsv, queries*.tsv) nor BEIR's (corpus.jsonl, "
            "queries.jsonl) nor FlagEmbedding's (corpus.jsonl, SPLIT_queries.jsonl)"
        )
        raise InputError(no_layout, "Name the corpus and the queries each.", file=folder)
    corpus = given.corpus or named.only(folder, corpora, "the corpus")
    # Those of no split are not preferred to the others where none is asked for.
    topics = given.queries or _of_split(folder, queries if split else dict.fromkeys(queries, ""), split, "queries")
    own = split or queries.get(os.path.basename(topics), "") or default
    judged = given.qrels or _of_split(folder, qrels, own, "judgments", needed=bool(default and qrels))
    chosen = bool(split) and split in (*queries.values(), *qrels.values())
    return Parts(corpus, topics, judged, chosen, judged_only=bool(default) and not given.queries)


def _of_split(folder: str, files: Mapping[str, str], split: str, kind: str, *, needed: bool = True) -> str:
    """Return the file of a split, else that of no split, else the only one if no split is asked for."""
    own = [file for file, of in files.items() if of == split] or [file for file, of in files.items() if not of]
    if some := own or ([] if split else list(files)):
        return named.only(folder, some, kind)
    if needed:
        has = ", ".join(sorted(set(files.values())))
        missing = f"there are no {kind} of the split {split!r} (there are {has})"
        raise InputError(missing, "Name another split, or the file.", file=folder)
    return ""


# Queries and their positives.


def _of_positives(source: str, given: Parts, split: str | None, protocol: str) -> Collection:
    """Open a data set of queries and positives."""
    data = named.dataset(source, split, "query")
    queries: PlacedTexts = named.columns(data, source, "query")
    known = CORPUS_OF.get(source.removeprefix(DATASETS))
    notes: tuple[str, ...] = ()
    if protocol == "truncated":
        if given.corpus:
            conflict = "the truncated protocol makes its corpus from the positives, and another one is given"
            raise InputError(conflict, "Leave out one of the two.", file=source)
        # The positives of the first rows in their order, with their positions as ids.
        pool = min(TRUNCATED_POOL, len(data))
        passages = [passage for row in islice(_positives(data, source), pool) for passage in row]
        corpus: PlacedTexts = Listed(source, "document", [(str(row), passage) for row, passage in enumerate(passages)])
        queries = Listed.first(queries, TRUNCATED_QUERIES)
        notes = (TRUNCATED.format(len(queries), len(passages), pool),)
    elif given.corpus or known is not None:
        corpus = open_texts(given.corpus or f"{DATASETS}{known}", "document")
    else:
        missing = "the data set has queries and positives, and the full protocol needs a corpus"
        raise InputError(missing, "Name it, or use the truncated protocol.", file=source)
    made = Collection(source, corpus, queries, read_qrels(given.qrels) if given.qrels else None, notes)
    return made if given.qrels else _judged(made, _positives(data, source))


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


def _judged(made: Collection, positives: Iterator[list[str]]) -> Collection:
    """Judge documents with the text of a positive as relevant, in one pass over the corpus; only positives are held."""
    rows: dict[str, list[str]] = {}
    relevant: dict[str, dict[str, int]] = {qid: {} for qid, _ in made.queries}
    for qid, passages in zip(relevant, positives, strict=False):  # the queries are those of the first rows
        for passage in passages:
            rows.setdefault(passage, []).append(qid)
    first, copies, notes = dict[str, str](), dict[str, str](), list(made.notes)
    for docid, text in made.corpus:
        if text in rows:
            if first.setdefault(text, docid) != docid:
                copies[docid] = first[text]
            for qid in rows[text]:
                relevant[qid][docid] = 1
    if len(first) < len(rows):
        notes.append(f"{len(rows) - len(first):,} of {len(rows):,} positives are not in the corpus.")
    if copies:
        repeated = len(set(copies.values()))
        notes.append(f"{repeated:,} of {len(rows):,} positives occur again in the corpus (copies: {len(copies):,}).")
    judged = {qid: documents for qid, documents in relevant.items() if documents}
    qrels = _named(judged, f"positives of {made.name}") if judged else None
    return made._replace(qrels=qrels, notes=tuple(notes), copies=copies)


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


def _about_judged(queries: Listed, qrels: Qrels) -> tuple[str, ...]:
    """Describe the queries that have judgments, to which BEIR limits itself too; refuse none."""
    if not len(queries):
        raise InputError(f"no query is judged in {qrels.name}", "Do the two belong together?", file=queries.name)
    notes = (f"Queries are the {len(queries):,} of {queries.name} that {qrels.name} judges, as BEIR has it.",)
    lost = len(qrels) - len(queries)
    return notes if not lost else (*notes, f"{lost:,} judged queries are not in {queries.name}.")


def _truncated(made: Collection, corpus: PlacedTexts, queries: PlacedTexts) -> Collection:
    """Keep the documents that are relevant for the first queries, the first of these, and their judgments."""
    if made.qrels is None:
        missing = "the truncated protocol takes its corpus from judgments, and there are none"
        raise InputError(missing, "Name the judgments, or use the full protocol.", file=made.name)
    pool = Listed.first(queries, TRUNCATED_POOL)
    first = Listed.first(pool, TRUNCATED_QUERIES)
    judged = {qid: made.qrels[qid] for qid, _ in pool if qid in made.qrels}
    relevant = {docid for judgments in judged.values() for docid, judgment in judgments.items() if judgment > 0}
    documents = Listed.chosen(corpus, relevant)
    if not len(documents):
        empty = f"no document is relevant for the first {len(pool):,} queries, so the truncated protocol has no corpus"
        raise InputError(empty, "Do corpus, queries and judgments belong together?", file=corpus.name)
    qrels = _named({qid: judged[qid] for qid, _ in first if qid in judged}, made.qrels.name)
    notes = (*made.notes, TRUNCATED.format(len(first), len(documents), len(pool)))
    return made._replace(corpus=documents, queries=first, qrels=qrels, notes=notes)
