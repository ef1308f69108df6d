"""Judgments of a sample of the pool: lines of ``qid 0 docid stratum rel``, as for trec_eval's infAP and sample_eval."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treceval_py._types import Source
from treceval_py.data.columns import SAMPLED
from treceval_py.data.ids import Ids, decode
from treceval_py.data.qrels import Qrels
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
    blocks = [(block, block.integers(4, "judgment")) for block in read_blocks(source, SAMPLED)]
    qids, docids, strata = ([cell for block, _ in blocks for cell in block.columns[at]] for at in (0, 2, 3))
    lines = [line for block, _ in blocks for line in block.lines]
    records = Records.of_rows(map(decode, qids), docids, name_of(source), lines)
    return records.qrels(np.concatenate([rels for _, rels in blocks]), np.array([*map(decode, strata)], dtype=object))


def sampled_qrels(qrels: Qrels, _: str) -> Iterator[Lines]:
    """Return judgments with their strata, as portions of text; without strata, all are of one, ``1``."""
    for part in checked(qrels, TREC):
        strata = b"1" if part.strata is None else Ids.from_text(part.strata.tolist())
        yield joined(by_row(part), b" 0 ", part.docids, b" ", strata, b" ", part.rels, b"\n")
