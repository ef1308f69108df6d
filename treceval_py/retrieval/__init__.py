"""Make a run file from a corpus and queries: encode with a BGE model, search with Faiss, and resume after a stop.

>>> from treceval_py.retrieval import jaccard
>>> jaccard("to be or not to be", "to do is to be")
0.3333333333333333

The rest of the package does not import it. Heavy packages (the extra ``retrieve``) are imported where they are used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# The public names, by the module that has them. Type checkers see them in __init__.pyi, which docs/names.py makes.
_MODULES = {
    "treceval_py.retrieval.collection": "Collection open_collection",
    "treceval_py.retrieval.devices": "devices_for",
    "treceval_py.retrieval.indexing": "IndexSettings",
    "treceval_py.retrieval.lexical": "Bm25",
    "treceval_py.retrieval.models": "Model Settings find_model settings_for",
    "treceval_py.retrieval.external": "Embedded Imported read_vectors",
    "treceval_py.retrieval.pipeline": "Dense Jaccard Request embed retrieve",
    "treceval_py.retrieval.planning": "Forecast forecast",
    "treceval_py.retrieval.reranking": "Outcome Reranker rerank",
    "treceval_py.corpora.reporting": "Reporter",
    "treceval_py.retrieval.similarity": "cosine euclidean_distance inner_product jaccard",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    """Import a public name when it is used."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
