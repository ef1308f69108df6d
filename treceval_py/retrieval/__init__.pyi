# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.corpora.reporting import Reporter as Reporter
from treceval_py.retrieval.collection import Collection as Collection
from treceval_py.retrieval.collection import open_collection as open_collection
from treceval_py.retrieval.devices import devices_for as devices_for
from treceval_py.retrieval.engines import Reranker as Reranker
from treceval_py.retrieval.external import Embedded as Embedded
from treceval_py.retrieval.external import Imported as Imported
from treceval_py.retrieval.external import read_vectors as read_vectors
from treceval_py.retrieval.indexing import IndexSettings as IndexSettings
from treceval_py.retrieval.lexical import Bm25 as Bm25
from treceval_py.retrieval.models import Model as Model
from treceval_py.retrieval.models import Settings as Settings
from treceval_py.retrieval.models import find_model as find_model
from treceval_py.retrieval.models import settings_for as settings_for
from treceval_py.retrieval.pipeline import Dense as Dense
from treceval_py.retrieval.pipeline import Jaccard as Jaccard
from treceval_py.retrieval.pipeline import Request as Request
from treceval_py.retrieval.pipeline import embed as embed
from treceval_py.retrieval.pipeline import retrieve as retrieve
from treceval_py.retrieval.planning import Forecast as Forecast
from treceval_py.retrieval.planning import forecast as forecast
from treceval_py.retrieval.reranking import Outcome as Outcome
from treceval_py.retrieval.reranking import rerank as rerank
from treceval_py.retrieval.similarity import cosine as cosine
from treceval_py.retrieval.similarity import euclidean_distance as euclidean_distance
from treceval_py.retrieval.similarity import inner_product as inner_product
from treceval_py.retrieval.similarity import jaccard as jaccard

__all__ = [
    "Collection",
    "open_collection",
    "devices_for",
    "Reranker",
    "IndexSettings",
    "Bm25",
    "Model",
    "Settings",
    "find_model",
    "settings_for",
    "Embedded",
    "Imported",
    "read_vectors",
    "Dense",
    "Jaccard",
    "Request",
    "embed",
    "retrieve",
    "Forecast",
    "forecast",
    "Outcome",
    "rerank",
    "Reporter",
    "cosine",
    "euclidean_distance",
    "inner_product",
    "jaccard",
]
