"""Text with fewer columns than TREC's: runs of MS MARCO, ColBERT and Tevatron, judgments of BEIR and of Cranfield.

With a field inserted after the query, MS MARCO's lines and judgments are TREC's judgments, which the compiled scanner
reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any, cast

import numpy as np

from treceval_py._types import IntArray, Source
from treceval_py.data.columns import BEIR, COLBERT, CRANFIELD, MSMARCO, QRELS, TEVATRON, Layout, is_header
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import InputError
from treceval_py.io.rows import Part, Rows, parts_of, read_part, scanned
from treceval_py.io.source import name_of
from treceval_py.io.writing import TREC, Lines, Text, by_row, checked, joined, judgment_lines, ranked, ranks_of
from treceval_py.scan import scanner


def _read(layout: Layout, source: Source) -> Rows:
    """Read lines of a layout; errors as for `named.read_run` and `named.read_qrels`."""
    return Rows(name_of(source), parts_of(source, layout, part_of=_part_of))


def read_run(layout: Layout, source: Source) -> Run:
    """Read a run. Without scores, these are the negative ranks: documents with the same rank are tied."""
    return _read(layout, source).run()


def read_qrels(layout: Layout, source: Source) -> Qrels:
    """Read judgments; those of BEIR may begin with a header, and their ids may contain spaces."""
    return _read(layout, source).qrels()


read_msmarco_run, read_colbert_run, read_tevatron_run = (
    partial(read_run, layout) for layout in (MSMARCO, COLBERT, TEVATRON)
)
read_beir, read_cranfield = partial(read_qrels, BEIR), partial(read_qrels, CRANFIELD)


def _part_of(block: tuple[int, memoryview], layout: Layout, name: str) -> tuple[Part | None, InputError | None]:
    """Read a block; result as for `read_part`."""
    first, text = block[0], bytes(block[1])
    # The lines up to BEIR's header, if the first line with data is one.
    head = re.match(rb"(?:[ \t\v\f\r]*(?:#[^\n]*)?\n)*([^\n]*)\n?", text) if layout is BEIR and first == 1 else None
    if head is not None and is_header(head[1].strip()):
        text, first = text[head.end() :], 1 + text.count(b"\n", 0, head.end())
    # In tab-separated files, a field may contain other white space.
    has_spaces = layout.separator is not None and any(white in text for white in b" \r\v\f")
    alike = layout in (MSMARCO, CRANFIELD, BEIR) and scanner() is not None and text and not has_spaces
    written = _as_judgments(text) if alike else None
    part, error = None if written is None else scanned(memoryview(written), first, QRELS), None
    if part is None:
        part, error = read_part(text, first, layout, name)
    if layout is not MSMARCO or part is None or not part.qids:
        return part, error
    ranks = cast("IntArray", part.rels)
    if ranks.min() < 1:
        row = int(np.flatnonzero(ranks < 1)[0])
        problem = f"rank '{ranks[row]}' is not 1 or more"
        return None, InputError(problem, "Ranks count from 1.", file=name, line=part.lines[row])
    return part._replace(rels=None, scores=-ranks.astype(np.float64), ranks=ranks), error


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


def _run_lines(where: str, columns: tuple[str, ...], run: Run, _: str) -> Iterator[Lines]:
    """Return lines of query, document and these columns, separated by tabs, as portions of text."""
    for part in map(ranked, checked(run, TREC._replace(where=where))):
        values = {"rank": ranks_of(part), "score": part.scores}
        cells: Iterator[Any] = chain.from_iterable((b"\t", values[column]) for column in columns)
        yield joined(by_row(part), b"\t", part.docids, *cells, b"\n")


msmarco_run = partial(_run_lines, "an MS MARCO file", ("rank",))
colbert_run = partial(_run_lines, "a ColBERT file", ("rank", "score"))
tevatron_run = partial(_run_lines, "a Tevatron file", ("score",))


_BEIR = Text(re.compile(rb"[\t\r\n\0]"), "is empty or contains a tab or a line break", "a BEIR file")


def beir_qrels(qrels: Qrels, _: str) -> Iterator[Lines]:
    """Return judgments in BEIR's format, as portions of text."""
    return chain([b"query-id\tcorpus-id\tscore\n"], judgment_lines(b"\t", b"\t", _BEIR, qrels, _))


cranfield_qrels = partial(judgment_lines, b"\t", b"\t", TREC._replace(where="a file of three columns"))
