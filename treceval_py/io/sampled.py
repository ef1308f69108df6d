"""Judgments of a sample of the pool: with strata, as for sample_eval, or with probabilities, as for statAP (prels)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from treceval_py._types import Source
from treceval_py.data.columns import PRELS, SAMPLED, Layout
from treceval_py.data.ids import Ids, decode, quoted
from treceval_py.data.qrels import Qrels
from treceval_py.data.sample import Sample
from treceval_py.io.lines import Block
from treceval_py.io.records import Records
from treceval_py.io.rows import read_blocks
from treceval_py.io.source import name_of
from treceval_py.io.writing import TREC, Lines, by_row, checked, joined


def read_sampled(source: Source) -> Qrels:
    """Read judgments with the stratum of each document; a negative judgment is in the pool but was not judged.

    Raises
    ------
    InputError
        The file cannot be read, a line is malformed, or a document is judged twice for a query.
    """
    return _read(source, SAMPLED, lambda block: Sample(np.array([*map(decode, block.columns[3])], dtype=object)))


def read_prels(source: Source) -> Qrels:
    """Read judgments with the probability with which each document was drawn; errors as for `read_sampled`."""
    return _read(source, PRELS, _probabilities)


def _probabilities(block: Block) -> Sample:
    known = block.columns[4]
    filled = block._replace(columns=(*block.columns[:4], [b"1" if text == b"NA" else text for text in known]))
    numbers, methods = filled.numbers(4, "probability"), block.integers(3, "method")
    wrong = np.flatnonzero((numbers < 0) | (numbers > 1))
    if len(wrong):
        todo = "Give a number from 0 to 1, or NA."
        block.refuse(int(wrong[0]), f"{quoted(known[wrong[0]])} is not a probability", todo)
    return Sample(None, np.where([text == b"NA" for text in known], np.nan, numbers), methods)


def _read(source: Source, layout: Layout, sample_of: Callable[[Block], Sample]) -> Qrels:
    blocks = list(read_blocks(source, layout))
    docid, rel = layout.fields.index("docid"), layout.fields.index("rel")
    qids, docids = ([cell for block in blocks for cell in block.columns[at]] for at in (0, docid))
    rels = np.concatenate([block.integers(rel, "judgment") for block in blocks])
    samples = [sample_of(block) for block in blocks]
    lines = [line for block in blocks for line in block.lines]
    return Records.of_rows(map(decode, qids), docids, name_of(source), lines).qrels(rels, Sample.joined(samples))


def sampled_qrels(qrels: Qrels, _: str) -> Iterator[Lines]:
    """Return judgments with their strata, as portions of text; without strata, all are of one, ``1``."""
    for part in checked(qrels, TREC):
        drawn = _drawn(part, "strata", b"1")
        yield joined(by_row(part), b" 0 ", part.docids, b" ", drawn, b" ", part.rels, b"\n")


def prels(qrels: Qrels, _: str) -> Iterator[Lines]:
    """Return judgments with their probabilities, as portions of text; without them, all were drawn for certain."""
    for part in checked(qrels, TREC):
        drawn = _drawn(part, "probabilities", b"1 1")
        yield joined(by_row(part), b" ", part.docids, b" ", part.rels, b" ", drawn, b"\n")


def _drawn(part: Qrels, by: str, certain: bytes) -> Ids | bytes:
    return Ids.from_text(part.sample.words) if part.sample is not None and part.sample.by == by else certain
