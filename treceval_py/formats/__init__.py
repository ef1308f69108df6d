"""Text to tables and back: TREC's formats, plain or compressed."""

from treceval_py.formats.trec import (
    JUDGMENT_FORMATS,
    Judgments,
    read_judgment_groups,
    read_preferences,
    read_qrels,
    read_run,
)
from treceval_py.formats.writing import write_qrels, write_run

__all__ = [
    "JUDGMENT_FORMATS",
    "Judgments",
    "read_judgment_groups",
    "read_preferences",
    "read_qrels",
    "read_run",
    "write_qrels",
    "write_run",
]
