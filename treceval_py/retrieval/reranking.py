"""Rerank the first documents of each query with a model that reads query and passage together.

Scores are those of FlagEmbedding's FlagReranker: the query is cut to three quarters of the length, then the passage to
what is left. They are logits: a sigmoid keeps the order but makes ties of high scores (from a logit of 16.6 on in
float32, of 8.3 in fp16).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import AnyArray, IntArray
from treceval_py.corpora.reporting import SILENT, Reporter
from treceval_py.corpora.texts import Texts, chunks, refuse_repeated
from treceval_py.data.ids import encode, quoted
from treceval_py.data.ranking import PLAIN, arrange
from treceval_py.errors import InputError
from treceval_py.io.digests import digest_of_file
from treceval_py.io.named import read_run
from treceval_py.retrieval.engines import PACKAGES, Reranker, reranker_maker
from treceval_py.retrieval.parts import Parts, key_of
from treceval_py.retrieval.pool import Task, loaded
from treceval_py.retrieval.shards import canonical, locked
from treceval_py.runs.record import provenance, read_sidecar, write_sidecar
from treceval_py.runs.writing import SearchResults, Written, check_output, check_tag, write_search_results

PAIRS = 1024
"""Approximate pairs scored together: a kill can cost this much work, some minutes of a CPU."""


class Outcome(NamedTuple):
    """What was done: the record beside the run, the counts of its lines, and what there is to note.

    Attributes
    ----------
    record : dict
        The record, as written beside the run.
    written : Written
        The counts of queries and lines.
    notes : tuple of str
        Remarks for the user.
    """

    record: dict[str, Any]
    written: Written
    notes: tuple[str, ...]


def rerank(
    run: str,
    output: str,
    reranker: Reranker,
    *,
    corpus: Texts,
    queries: Texts,
    work: str,
    tag: str = "reranked",
    reporter: Reporter = SILENT,
    command: Sequence[str] = (),
    paths: bool = True,
) -> Outcome:
    """Rerank the first documents of each query of a run, going on with what an earlier call left.

    Parameters
    ----------
    run : str
        The run file, in any format.
    output : str
        The run to write; its record is written beside it (``OUTPUT.json``).
    reranker : Reranker
        How to rerank.
    corpus, queries : Texts
        The texts of the run's documents and queries.
    work : str
        The folder that keeps scores until the run is whole.
    tag : str
        The last column of the run.
    reporter : Reporter
        Receives progress and notes.
    command : sequence of str
        The command line, for the record.
    paths : bool
        Record files with their folders, and the folder that relative paths start from.

    Returns
    -------
    Outcome
        The record, the counts of lines, and notes.

    Raises
    ------
    RunnerError
        The model cannot be used, or a package is missing.
    InputError
        The run cannot be read, or has documents or queries that are not among the texts.
    OutputError
        A file cannot be written.
    """
    reranker.check()
    check_tag(tag)
    check_files(run, output, corpus, queries)
    begun, model, length = datetime.now(UTC), reranker.model, reranker.settings.max_length
    # Batch size and device may change the last digits.
    decides = {
        "model": {"name": model.name, "revision": model.revision, "files": model.files},
        "precision": reranker.precision, "max_length": length, "query_max_length": length * 3 // 4,
    }  # fmt: skip
    with locked(work):
        first, size = read_run(run), max(1, PAIRS // reranker.depth)
        order = arrange(first, PLAIN).order
        ranked = [order[slice(*first.span(query))] for query in range(len(first))]
        heads = [list(first.docids.take(rows[: reranker.depth]).text()) for rows in ranked]
        pairs = [[(qid, docid) for docid in head] for qid, head in zip(first.qids, heads, strict=True)]
        groups = [list(chain(*pairs[start : start + size])) for start in range(0, len(pairs), size)]
        total = sum(map(len, heads))
        asked = _texts(queries, first.qids, "queries", reporter)
        passages = _texts(corpus, chain(*heads), "passages", reporter)
        texts, digest = hashlib.sha256(canonical([asked, passages])).hexdigest(), digest_of_file(run)
        key = key_of([digest, reranker.depth, texts, decides])
        parts, longest = Parts(os.path.join(work, "rerank", key), len(groups)), max(map(len, ranked))
        contents = [(part, [(asked[qid], passages[docid]) for qid, docid in groups[part]]) for part in parts.missing()]
        tasks = [Task(part, content, len(content)) for part, content in contents]
        notes = _score(tasks, total, reranker, parts, reporter) if tasks else ()
        scored = [parts.read(number) for number in range(len(groups))]
        scores = np.concatenate([part["scores"] for part in scored])
        results = _results(first.qids, ranked, reranker.depth, scores, longest)
        written, about = write_search_results(
            output, results, first.docids, tag, k=longest, queries=len(first), reporter=reporter
        )
        before = read_sidecar(run, digest)
        record = {
            "run": about,
            "reranker": {
                **decides, "depth": reranker.depth, "below": "keep", "pairs": total,
                "by": [json.loads(by) for by in dict.fromkeys(str(part["by"]) for part in scored)],
            },
            "first_stage": {"file": run, "sha256": digest, "record": before},
            "texts": {"passages": {"name": corpus.name}, "queries": {"name": queries.name}, "sha256": texts},
            # What was tuned on some queries is so when it is reranked, too.
            **({"tuned": before["tuned"]} if before is not None and "tuned" in before else {}),
            **provenance(command, begun, (*PACKAGES, "FlagEmbedding", "pyarrow"), paths=paths),
            "notes": notes,
        }  # fmt: skip
        record = write_sidecar(output, record, paths=paths)
        parts.clear()
    return Outcome(record, written, notes)


def check_files(run: str, output: str, corpus: Texts, queries: Texts) -> None:
    """Refuse a run that is not there or cannot be read more than once, and an output that cannot be written.

    Raises
    ------
    InputError
        The run is not a file.
    OutputError
        As of `treceval_py.runs.writing.check_output`.
    """
    check_output(output, [run, corpus.name, queries.name])
    if not os.path.isfile(run):  # scores are kept by the hash of its bytes
        gone = run != "-" and not os.path.exists(run)
        misuse = "no such file" if gone else "the run to rerank must be a file, as it is read more than once"
        raise InputError(misuse, "Check the name." if gone else "Save it to a file.", file=run)


def _texts(texts: Texts, ids: Iterable[str], side: str, reporter: Reporter) -> dict[str, str]:
    """Look up the texts of ids, and refuse ids that have none."""
    wanted = dict.fromkeys(ids)
    reporter.begin(f"read {side}", texts.known_count(), side)
    by_id: dict[str, str] = {}
    for chunk in chunks(texts, 10_000):
        for text_id, text in zip(chunk.ids, chunk.texts, strict=True):
            if text_id in by_id:
                refuse_repeated(texts, frozenset({hash(text_id)}))
            if text_id in wanted:
                by_id[text_id] = text
        reporter.advance(len(chunk.ids))
    reporter.end()
    if lost := [text_id for text_id in wanted if text_id not in by_id]:
        lack = f"{len(lost):,} of the {len(wanted):,} {side} to rerank are not there, such as {quoted(encode(lost[0]))}"
        raise InputError(lack, f"Give the {side} that the run was made with.", file=texts.name)
    return by_id


def _score(tasks: Sequence[Task], total: int, reranker: Reranker, parts: Parts, reporter: Reporter) -> tuple[str, ...]:
    """Score the groups that have no scores yet; return what there is to note."""
    with loaded(reranker_maker(reranker), reranker.devices, reranker.ray, "load the reranker", reporter) as pool:
        reporter.begin("rerank", total, "pairs", total - sum(task.size for task in tasks))
        for task, scores, by in pool.run(tasks, reporter.advance):
            parts.write(task.number, scores=scores, by=np.array(json.dumps(by, sort_keys=True)))
        reporter.end()
        for note in pool.notes:
            reporter.note(note)
        return pool.notes


def _results(
    qids: Sequence[str], ranked: Sequence[IntArray], depth: int, scores: AnyArray, longest: int
) -> Iterator[SearchResults]:
    """Yield queries with their new scores; below the depth, each document has 1 less than the one before."""
    for qid, rows in zip(qids, ranked, strict=True):
        new, scores = np.split(scores, [min(depth, len(rows))])
        below = new.min() - np.arange(1, len(rows) - len(new) + 1)
        padding = (0, longest - len(rows))
        positions, both = np.pad(rows, padding, constant_values=-1), np.pad(np.append(new, below), padding)
        yield SearchResults([qid], positions[None], both[None].astype(np.float32))
