"""A pool as lines for annotation tools, and as tables: the documents, and the range of each run."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from treceval_py.data.ids import Ids, decode
from treceval_py.data.qrels import Qrels
from treceval_py.io.writing import written_as
from treceval_py.pooling.pooling import Pool
from treceval_py.rendering.envelope import Made
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Column, Document, Table


def lines_of(pool: Pool, *, reasons: bool) -> str:
    """Return lines ``qid 0 docid`` with a tab and the reason, or else with -1, as judgments that are to be made."""
    sizes = {qid: len(list(documents)) for qid, documents in groupby(pool.documents, lambda document: document.qid)}
    docids, offsets = Ids.from_text([document.docid for document in pool.documents]), np.cumsum([0, *sizes.values()])
    table = Qrels.from_columns([*sizes], offsets, docids, np.full(len(docids), -1))
    lines = decode(b"".join(written_as(table, "qrels")))
    if not reasons:
        return lines
    texts = zip(lines.splitlines(), pool.documents, strict=True)
    return "".join(f"{line.removesuffix(' -1')}\t{document.reason}\n" for line, document in texts)


def document_of(pool: Pool, _: Style) -> Document:
    """Return a pool as a document."""
    documents = Table(
        (
            Column("query", [document.qid for document in pool.documents], text=True, head=True),
            Column("docid", [document.docid for document in pool.documents], text=True, head=True),
            Column("rank", [document.rank for document in pool.documents]),
            Column("runs", [document.runs for document in pool.documents]),
            Column("reason", [document.reason for document in pool.documents], text=True),
        ),
        name="documents",
        title=f"Documents to judge, by {pool.method}",
    )
    ranges = Table(
        (
            Column("run", [run.name for run in pool.runs], text=True, head=True),
            Column("value", [run.value for run in pool.runs], title=pool.heading),
            Column("lowest", [run.lowest for run in pool.runs]),
            Column("highest", [run.highest for run in pool.runs]),
            Column("judged", [run.judged for run in pool.runs]),
        ),
        name="ranges",
        title="Over all labels of unjudged documents",
        notes=pool.notes,
    )
    return Document("pool", [documents, ranges], lambda _: Made(pool.judgments_name or None, notes=pool.notes))
