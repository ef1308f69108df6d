"""Which documents to judge next, so that runs can be compared."""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(__name__, {"pooling.pooling": "Pool PoolDocument PoolRun pool"})
