"""Text with fewer columns than TREC's: runs of MS MARCO, ColBERT and Tevatron, judgments of BEIR and of Cranfield.

With a field inserted after the query, MS MARCO's lines and judgments are TREC's judgments, which the compiled scanner
reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, repeat
from typing import cast

import numpy as np

from treceval_py._types import IntArray, Source
from treceval_py.data.columns import BEIR, COLBERT, CRANFIELD, MSMARCO, QRELS, TEVATRON, Layout, is_header
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import InputError
from treceval_py.io.rows import Part, gathered, read_part, scanned
from treceval_py.io.writing import TREC, Text, check_ids, judgment_lines, ranked, texts_of
from treceval_py.scan import scanner


def read_msmarco_run(source: Source) -> Run:
    """Read a run of MS MARCO: lines of ``qid pid rank``, separated by white space.

    Parameters
    ----------
    source : str, path or binary file
        The file, ``"-"`` for standard input, or an open binary file; plain, gzip, bzip2, xz or zstd.

    Returns
    -------
    Run
        The run. The file has no scores, so scores are the negative ranks: documents with the same rank are tied.

    Raises
    ------
    InputError
        The file cannot be read, a line is malformed, a rank is below 1, or a document occurs twice in a query.
    """
    return gathered(source, MSMARCO, part_of=_part_with_ranks).run()


def _part_with_ranks(block: tuple[int, memoryview], layout: Layout, name: str) -> tuple[Part | None, InputError | None]:
    part, error = _part_of(block, layout, name)
    if part is None or not part.qids:
        return part, error
    ranks = cast("IntArray", part.rels)
    if ranks.min() < 1:
        row = int(np.flatnonzero(ranks < 1)[0])
        problem = f"rank '{ranks[row]}' is not 1 or more"
        return None, InputError(problem, "Ranks count from 1.", file=name, line=part.lines[row])
    scores = -ranks.astype(np.float64)
    return part._replace(rels=None, scores=scores, ranks=ranks), error


def read_colbert_run(source: Source) -> Run:
    """Read a run of ColBERT: lines of ``qid pid rank score``; as for `read_msmarco_run`, with the ranks of TREC's."""
    return gathered(source, COLBERT).run()


def read_tevatron_run(source: Source) -> Run:
    """Read a run of Tevatron: lines of ``qid pid score``; as for `read_msmarco_run`."""
    return gathered(source, TEVATRON).run()


def read_cranfield(source: Source) -> Qrels:
    """Read judgments without the iteration: lines of ``qid docid rel``; as for `read_beir`."""
    return gathered(source, CRANFIELD, part_of=_part_of).qrels()


def read_beir(source: Source) -> Qrels:
    """Read judgments of BEIR: tab-separated lines of ``query-id corpus-id score``.

    The first line is a header with these names, which may be missing.

    Parameters
    ----------
    source : str, path or binary file
        The file, ``"-"`` for standard input, or an open binary file; plain, gzip, bzip2, xz or zstd.

    Returns
    -------
    Qrels
        The judgments. Ids may contain spaces.

    Raises
    ------
    InputError
        The file cannot be read, a line is malformed, or a document is judged twice for a query.
    """
    begun = False

    def part_of(block: tuple[int, memoryview], layout: Layout, name: str) -> tuple[Part | None, InputError | None]:
        nonlocal begun
        first, text = block[0], bytes(block[1])
        if not begun:
            text, first = _without_header(text, first)
        part, error = _part(text, first, layout, name)
        begun = begun or bool(part and part.qids)
        return part, error

    return gathered(source, BEIR, part_of=part_of).qrels()


def _without_header(text: bytes, first: int) -> tuple[bytes, int]:
    """Return a block without the lines up to its header, if its first line with data is one."""
    line = re.match(rb"(?:[ \t\v\f\r]*(?:#[^\n]*)?\n)*([^\n]*)\n?", text)
    if line is None or not is_header(line[1].strip()):
        return text, first
    return text[line.end() :], first + text.count(b"\n", 0, line.end())


def _part_of(block: tuple[int, memoryview], layout: Layout, name: str) -> tuple[Part | None, InputError | None]:
    return _part(bytes(block[1]), block[0], layout, name)


def _part(text: bytes, first: int, layout: Layout, name: str) -> tuple[Part | None, InputError | None]:
    """Read a block; result as for `read_part`."""
    # In tab-separated files, a field may contain other white space.
    has_spaces = layout.separator is not None and any(white in text for white in b" \r\v\f")
    written = None if scanner() is None or has_spaces or not text else _as_judgments(text)
    part = None if written is None else scanned(memoryview(written), first, QRELS)
    return (part, None) if part is not None else read_part(text, first, layout, name)


def _as_judgments(text: bytes) -> bytes | None:
    """Insert a field after the first one of each line; None if a line begins with white space."""
    raw = np.frombuffer(text, dtype=np.uint8)
    white = np.flatnonzero((raw == ord(" ")) | ((raw >= ord("\t")) & (raw <= ord("\r"))))
    ends = np.flatnonzero(raw[white] == ord("\n"))
    # The first white byte of a line is the one after the last byte of the previous line.
    firsts = white[np.concatenate([[0], ends[:-1] + 1])]
    starts = np.concatenate([[0], white[ends[:-1]] + 1])
    if (firsts == starts).any():
        return None
    inserted = np.tile(np.frombuffer(b" 0", dtype=np.uint8), len(firsts))
    return np.insert(raw, np.repeat(firsts, 2), inserted).tobytes()


def msmarco_run(run: Run, _: str) -> Iterator[bytes]:
    """Return a run in MS MARCO's format, as portions of text."""
    return _run_lines(run, "an MS MARCO file", "rank")


def colbert_run(run: Run, _: str) -> Iterator[bytes]:
    """Return a run in ColBERT's format, as portions of text."""
    return _run_lines(run, "a ColBERT file", "rank", "score")


def tevatron_run(run: Run, _: str) -> Iterator[bytes]:
    """Return a run in Tevatron's format, as portions of text."""
    return _run_lines(run, "a Tevatron file", "score")


def _run_lines(run: Run, where: str, *columns: str) -> Iterator[bytes]:
    """Return lines of query, document and these columns, separated by tabs."""
    check_ids(run, TREC._replace(where=where))
    for qid, docids, scores in ranked(run):
        values = {"rank": [b"%d" % rank for rank in range(1, len(docids) + 1)], "score": texts_of(scores)}
        rows = zip(repeat(qid), docids, *(values[column] for column in columns))
        yield b"".join([b"\t".join(row) + b"\n" for row in rows])


_BEIR = Text(re.compile(rb"[\t\r\n\0]"), "is empty or contains a tab or a line break", "a BEIR file")


def beir_qrels(qrels: Qrels, _: str) -> Iterator[bytes]:
    """Return judgments in BEIR's format, as portions of text."""
    return chain([b"query-id\tcorpus-id\tscore\n"], judgment_lines(qrels, b"%s\t%s\t%d\n", _BEIR))


def cranfield_qrels(qrels: Qrels, _: str) -> Iterator[bytes]:
    """Return judgments in three columns, as portions of text."""
    return judgment_lines(qrels, b"%s\t%s\t%d\n", TREC._replace(where="a file of three columns"))
