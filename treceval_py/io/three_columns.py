"""Text of three columns: MS MARCO's runs (``qid pid rank``) and BEIR's judgments (``query-id corpus-id score``).

With a field inserted after the query, both are TREC's judgments, which the compiled scanner reads.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treceval_py._types import IntArray, Source
from treceval_py.data.ids import Ids, encode
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import DEFAULT_TAG, Run
from treceval_py.errors import InputError
from treceval_py.io.lines import BEIR, MSMARCO, QRELS, RUN, Layout, is_header, no_data, read_block
from treceval_py.io.rows import Part, Rows, scanned
from treceval_py.io.source import name_of, numbered
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
    rows = Rows(name_of(source))
    for part in _parts(source, MSMARCO, QRELS, rows.name):
        ranks = part.rels
        assert ranks is not None
        if ranks.min() < 1:
            row = int(np.flatnonzero(ranks < 1)[0])
            what = f"rank '{ranks[row]}' is not 1 or more"
            raise InputError(what, "Ranks count from 1.", file=rows.name, line=part.lines[row])
        rows.add(part._replace(rels=None, scores=-ranks.astype(np.float64), ranks=ranks, tag=encode(DEFAULT_TAG)))
    if not rows.count:
        raise no_data(rows.name)
    return rows.run()


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
    rows = Rows(name_of(source))
    for part in _parts(source, BEIR, RUN, rows.name):
        rows.add(part)
    if not rows.count:
        raise no_data(rows.name)
    return rows.qrels()


def _parts(source: Source, layout: Layout, other: Layout, name: str) -> Iterator[Part]:
    """Yield the rows of a source; ``rels`` holds the third column."""
    begun = False
    for number, block in numbered(source, name):
        text, first = bytes(block), number
        if layout is BEIR and not begun:
            text, first = _without_header(text, first)
        part, error = _scanned(text, first, layout), None
        if part is None:
            part, error = _read_part(text, first, layout, other, name)
        if part is not None and part.docids:
            begun = True
            yield part
        if error is not None:
            raise error


def _without_header(text: bytes, first: int) -> tuple[bytes, int]:
    """Return a block without the lines up to its header, if its first line with data is one."""
    start, line = 0, first
    while start < len(text):
        end = text.index(b"\n", start) + 1
        head = text[start:end].strip()
        if head and not head.startswith(b"#"):
            return (text[end:], line + 1) if is_header(head) else (text, first)
        start, line = end, line + 1
    return text, first


def _scanned(text: bytes, first: int, layout: Layout) -> Part | None:
    """Read a block with the compiled scanner; None if it is not available or leaves the block to Python."""
    if scanner() is None or not text:
        return None
    # In tab-separated files, a field may contain other white space.
    if layout.separator is not None and any(white in text for white in b" \r\v\f"):
        return None
    written = _as_judgments(text)
    return None if written is None else scanned(memoryview(written), first, QRELS)


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


def _read_part(
    text: bytes, first: int, layout: Layout, other: Layout, name: str
) -> tuple[Part | None, InputError | None]:
    """Read a block with the Python reader, up to the first bad line; also return the error of that line."""
    if not text:
        return None, None
    block, error = read_block(text, first, layout, other, name)
    if not block.lines:
        return None, error
    starts = block.stretches()
    numbers: dict[bytes, int] = {}
    queries: IntArray = np.array(
        [numbers.setdefault(block.columns[0][start], len(numbers)) for start in starts[:-1].tolist()], dtype=np.int64
    )
    part = Part(
        qids=list(numbers),
        queries=queries,
        starts=starts,
        docids=Ids.from_bytes(block.columns[1]),
        rels=block.integers(2, "rank" if layout is MSMARCO else "judgment"),
        scores=None,
        ranks=None,
        tag=b"",
        lines=block.lines,
        num_lines=text.count(b"\n"),
    )
    return part, error
