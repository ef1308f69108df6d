"""Read text into tables and write tables as text: TREC's and other formats, plain or compressed."""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "io.judged_ranking": "read_judged_ranking",
        "io.query_groups": "read_query_groups",
        "io.trec": "read_judgment_groups read_preferences",
        "io.writing": "write_qrels",
    },
)
