"""From a corpus and queries to a run file: encode with a BGE model, search with Faiss, and never do an hour twice.

>>> from treceval_py.retrieval import jaccard
>>> jaccard("to be or not to be", "to do is to be")
0.3333333333333333

Nothing of this is imported by the rest of the package, and its heavy packages (the extra ``retrieve``) are imported
where they are used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treceval_py.io.reporting import Reporter
    from treceval_py.retrieval.collection import Collection, open_collection
    from treceval_py.retrieval.devices import devices_for
    from treceval_py.retrieval.indexing import IndexSettings
    from treceval_py.retrieval.lexical import Bm25
    from treceval_py.retrieval.models import Model, Settings, find_model, settings_for
    from treceval_py.retrieval.pipeline import Dense, Jaccard, Outcome, Request, retrieve
    from treceval_py.retrieval.planning import Forecast, forecast
    from treceval_py.retrieval.similarity import cosine, euclidean_distance, inner_product, jaccard

_MODULES = {
    "treceval_py.retrieval.collection": "Collection open_collection",
    "treceval_py.retrieval.devices": "devices_for",
    "treceval_py.retrieval.indexing": "IndexSettings",
    "treceval_py.retrieval.lexical": "Bm25",
    "treceval_py.retrieval.models": "Model Settings find_model settings_for",
    "treceval_py.retrieval.pipeline": "Dense Jaccard Outcome Request retrieve",
    "treceval_py.retrieval.planning": "Forecast forecast",
    "treceval_py.io.reporting": "Reporter",
    "treceval_py.retrieval.similarity": "cosine euclidean_distance inner_product jaccard",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "Bm25",
    "Collection",
    "Dense",
    "Forecast",
    "IndexSettings",
    "Jaccard",
    "Model",
    "Outcome",
    "Reporter",
    "Request",
    "Settings",
    "cosine",
    "devices_for",
    "euclidean_distance",
    "find_model",
    "forecast",
    "inner_product",
    "jaccard",
    "open_collection",
    "retrieve",
    "settings_for",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is used."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
