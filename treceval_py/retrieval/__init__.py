"""Make a run file from a corpus and queries: encode with a BGE model, search with Faiss, and resume after a stop.

>>> from treceval_py.retrieval import jaccard
>>> jaccard("to be or not to be", "to do is to be")
0.3333333333333333

The rest of the package does not import it. Heavy packages (the extra ``retrieve``) are imported where they are used.
"""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "retrieval.collection": "Collection open_collection",
        "retrieval.devices": "devices_for",
        "retrieval.engines": "Reranker",
        "retrieval.indexing": "IndexSettings",
        "retrieval.lexical": "Bm25",
        "retrieval.models": "Model Settings find_model settings_for",
        "retrieval.external": "Embedded Imported read_vectors",
        "retrieval.pipeline": "Dense Jaccard Request embed retrieve",
        "retrieval.planning": "Forecast forecast",
        "retrieval.reranking": "Outcome rerank",
        "corpora.reporting": "Reporter",
        "retrieval.similarity": "cosine euclidean_distance inner_product jaccard",
    },
)
